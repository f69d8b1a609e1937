//! Chooses, for each mnemonic, the function that reads the instruction.

use super::float::Modes;
use super::reader::Reader;
use super::{
    approximate, atomics, carry, compare, convert, copies, float, group, integer, matrix, memory, phases, system, warp,
};
use crate::code::Kind;
use crate::error::LoadError;
use crate::text::{Operand, Type};

fn is_float(ty: Type) -> bool {
    matches!(ty, Type::F(_) | Type::Bf16 | Type::F16x2 | Type::Bf16x2 | Type::F32x2)
}

/// Reads an instruction other than a branch.
pub fn decode(reader: &mut Reader) -> Result<Kind, LoadError> {
    match reader.instruction.mnemonic {
        mnemonic if carry::is_carried(mnemonic, &reader.instruction.modifiers) => carry::sum(reader),
        "add" | "sub" => {
            let modes = Modes::read(reader);
            let ty = reader.ty()?;
            if is_float(ty) {
                return float::binary(reader, ty, modes);
            }
            if modes.rounding.is_some() || modes.flushes {
                return reader.unknown();
            }
            integer::sum(reader, ty, modes.saturates)
        }
        "mul" if matches!(reader.peek(), Some("lo" | "hi" | "wide")) => integer::product(reader),
        "mul" => {
            let modes = Modes::read(reader);
            let ty = reader.ty()?;
            if is_float(ty) { float::binary(reader, ty, modes) } else { reader.unknown() }
        }
        "mad" if matches!(reader.peek(), Some("lo" | "hi" | "wide")) => integer::product_sum(reader),
        "fma" | "mad" => float::fma(reader),
        "mul24" | "mad24" => integer::product_24(reader),
        "sad" => integer::distance(reader),
        "div" | "rem" => match reader.peek().and_then(Type::named) {
            Some(ty @ (Type::U(_) | Type::S(_))) => {
                reader.ty()?;
                integer::quotient(reader, ty)
            }
            _ if reader.instruction.mnemonic == "div" => {
                float::quotient(reader).map(|kind| approximate::bounded(reader.instruction, kind))
            }
            _ => reader.unknown(),
        },
        "rcp" | "sqrt" => float::root(reader).map(|kind| approximate::bounded(reader.instruction, kind)),
        "ex2" | "lg2" | "sin" | "cos" | "tanh" | "rsqrt" => {
            float::approximate(reader).map(|kind| approximate::bounded(reader.instruction, kind))
        }
        "min" | "max" => match reader.peek().and_then(Type::named) {
            Some(ty @ (Type::U(_) | Type::S(_))) => {
                reader.ty()?;
                integer::extremum(reader, ty)
            }
            _ if reader.take("relu") => integer::extremum_above_zero(reader),
            _ => {
                let flushes = reader.take("ftz");
                float::extremum(reader, flushes)
            }
        },
        "abs" | "neg" => match reader.peek().and_then(Type::named) {
            Some(ty @ (Type::U(_) | Type::S(_))) => {
                reader.ty()?;
                integer::sign(reader, ty)
            }
            _ => {
                let flushes = reader.take("ftz");
                float::sign(reader, flushes)
            }
        },
        "copysign" => float::copy_sign(reader),
        "testp" => compare::test(reader),
        "popc" | "clz" | "brev" => integer::count(reader),
        "bfind" => integer::find(reader),
        "bfe" | "bfi" => integer::field(reader),
        "bmsk" | "szext" => integer::bit_mask(reader),
        "shl" | "shr" => integer::shift(reader),
        "shf" => integer::funnel_shift(reader),
        "prmt" => integer::permute(reader),
        "lop3" => integer::lookup(reader),
        "dp4a" | "dp2a" => integer::dot(reader),
        "and" | "or" | "xor" | "not" | "cnot" => match reader.ty()? {
            Type::Pred if reader.instruction.mnemonic != "cnot" => compare::logic(reader),
            ty => integer::logic(reader, ty),
        },
        "mov" => moved(reader),
        "setp" => compare::set_predicate(reader),
        "set" => compare::set_value(reader),
        "selp" => compare::select(reader),
        "slct" => compare::select_by_sign(reader),
        "cvt" if reader.peek() == Some("pack") => convert::pack(reader),
        "cvt" => convert::convert(reader),
        "cvta" => memory::convert_address(reader),
        "isspacep" => memory::is_space(reader),
        "ld" => memory::load(reader),
        "st" => memory::store(reader),
        "atom" | "red" => atomics::atomic(reader),
        "cp" if reader.instruction.modifiers.get(1) == Some(&"bulk") => phases::bulk(reader),
        "cp" => copies::step(reader),
        "mbarrier" => phases::step(reader),
        "fence" | "membar" => memory::fence(reader),
        "prefetch" | "prefetchu" => memory::prefetch(reader),
        "bar" | "barrier" => warp::barrier(reader),
        "shfl" => warp::shuffle(reader),
        "vote" => warp::vote(reader),
        "match" => warp::matched(reader),
        "redux" => warp::reduce(reader),
        "elect" => warp::elect(reader),
        "activemask" => warp::active_mask(reader),
        "nanosleep" => warp::sleep(reader),
        "mma" => matrix::product(reader),
        "ldmatrix" | "stmatrix" => matrix::moved(reader),
        "wgmma" => group::step(reader),
        "call" => system::call(reader),
        "ret" => {
            reader.choose(&[("uni", ())]);
            reader.finish(0)?;
            Ok(Kind::Exit)
        }
        "exit" => reader.finish(0).map(|()| Kind::Exit),
        "trap" => reader.finish(0).map(|()| Kind::Trap),
        other => reader.error(format!("the instruction {other} is not supported")),
    }
}

fn moved(reader: &mut Reader) -> Result<Kind, LoadError> {
    let ty = reader.ty()?;
    match reader.operand(1)? {
        _ if ty == Type::Pred => compare::logic(reader),
        Operand::Name("%clock" | "%clock_hi" | "%globaltimer_lo" | "%globaltimer_hi") if ty.bits() == 32 => {
            warp::clock(reader, ty)
        }
        Operand::Name("%clock64" | "%globaltimer") if ty.bits() == 64 => warp::clock(reader, ty),
        _ => integer::moved(reader, ty),
    }
}

/// Returns the class of an instruction, for counts.
pub fn class(mnemonic: &str, modifiers: &[&str]) -> &'static str {
    let has = |name: &str| modifiers.contains(&name);
    match mnemonic {
        "ld" if has("shared") => "shared loads",
        "st" if has("shared") => "shared stores",
        "ld" if has("param") => "parameters",
        "ld" if has("local") => "local loads",
        "st" if has("local") => "local stores",
        "ld" => "global loads",
        "st" => "global stores",
        "atom" | "red" => "atomics",
        "mma" | "wgmma" => "matrix products",
        "ldmatrix" | "stmatrix" => "matrix moves",
        "cp" => "copies",
        "bra" | "brx" | "call" | "ret" | "exit" | "trap" => "branches",
        "bar" | "barrier" | "mbarrier" | "fence" | "membar" => "synchronisation",
        "shfl" | "vote" | "match" | "redux" | "elect" | "activemask" => "lanes",
        "cvt" | "cvta" => "conversions",
        "mov" | "selp" | "slct" | "prmt" => "moves",
        "setp" | "set" | "testp" | "isspacep" => "comparisons",
        "and" | "or" | "xor" | "not" | "cnot" | "lop3" | "shl" | "shr" | "shf" => "logic",
        _ if has("f64") => "f64",
        _ if has("f32") || has("f32x2") => "f32",
        _ if ["f16", "f16x2", "bf16", "bf16x2"].iter().any(|name| has(name)) => "f16",
        _ => "integers",
    }
}
