//! Products of matrices by a group of four warps: `wgmma`.

use super::matrix::{element, shape};
use super::reader::{Reader, Width};
use crate::code::{Element, GroupLeft, GroupProduct, GroupStep, Kind};
use crate::error::LoadError;
use crate::text::{Operand, Type};

/// `wgmma`.
pub fn step(reader: &mut Reader) -> Result<Kind, LoadError> {
    if !reader.is_specific || reader.capability != 90 {
        return reader.error("wgmma needs the target sm_90a");
    }
    reader.needs(90, 80)?;
    let action = reader.require(&["fence", "commit_group", "wait_group", "mma_async"].map(|name| (name, name)))?;
    if !reader.take("sync") || !reader.take("aligned") {
        return reader.error("wgmma needs .sync.aligned");
    }
    let step = match action {
        "fence" => reader.finish(0).map(|()| GroupStep::Fence)?,
        "commit_group" => reader.finish(0).map(|()| GroupStep::Commit)?,
        "wait_group" => {
            reader.finish(1)?;
            GroupStep::Wait(u32::try_from(reader.integer(0)?).unwrap_or(0))
        }
        _ => GroupStep::Product(Box::new(product(reader)?)),
    };
    Ok(Kind::Group(step))
}

fn product(reader: &mut Reader) -> Result<GroupProduct, LoadError> {
    let [m, columns, steps] = shape(reader)?;
    let (result, left, right) = (element(reader)?, element(reader)?, element(reader)?);
    let exists = match (result, left, right) {
        (Element::F32 | Element::F16, Element::F16, Element::F16) | (Element::F32, Element::Bf16, Element::Bf16) => {
            steps == 16
        }
        (Element::F32, Element::Tf32, Element::Tf32) => steps == 8,
        (Element::F32, Element::E4m3 | Element::E5m2, Element::E4m3 | Element::E5m2)
        | (Element::S32, Element::S8 | Element::U8, Element::S8 | Element::U8) => steps == 32,
        _ => false,
    };
    if m != 64 || !exists || columns % 8 != 0 || !(8..=256).contains(&columns) || result == Element::F16 {
        return reader.unknown();
    }
    let is_half = left.bits() == 16;
    let is_integer = result == Element::S32;
    let from_registers = matches!(reader.operand(1)?, Operand::Vector(_));
    // The scale of the sums, the signs of floats, and how operands of 16 bits in memory lie.
    let transposes = match (is_half, from_registers) {
        (false, _) => 0,
        (true, true) => 1,
        (true, false) => 2,
    };
    reader.finish(4 + if is_integer { 0 } else { 2 } + transposes)?;
    let count = columns / 2;
    let sums = reader.elements(0)?;
    if sums.len() != count {
        return reader.error(format!("the sums of this wgmma have {count} registers"));
    }
    let ty = if is_integer { Type::S(32) } else { Type::F(32) };
    let mut registers = Vec::with_capacity(count);
    for sum in sums {
        registers.push(reader.dest_of(sum, ty, Width::Exact)?);
    }
    let left_from = if from_registers {
        let elements = reader.elements(1)?;
        if elements.len() != 4 {
            return reader.error("the left operand of wgmma has 4 registers");
        }
        let all = elements.iter().map(|it| reader.source_of(it, Type::B(32), Width::Exact));
        GroupLeft::Registers(all.collect::<Result<_, _>>()?)
    } else {
        GroupLeft::Descriptor(reader.source(1, Type::B(64))?)
    };
    let right_descriptor = reader.source(2, Type::B(64))?;
    let adds = reader.predicate(3)?;
    // The sums are read, unless the predicate is false.
    registers.iter().for_each(|sum| reader.reads(*sum));
    let mut negates = [false; 2];
    let mut transposed = [false; 2];
    if !is_integer {
        for (side, negates) in negates.iter_mut().enumerate() {
            *negates = match reader.integer(4 + side)? {
                1 => false,
                -1 => true,
                _ => return reader.error("a sign of wgmma is 1 or -1"),
            };
        }
        for number in 0..transposes {
            let side = number + 2 - transposes;
            transposed[side] = match reader.integer(6 + number)? {
                0 => false,
                1 => true,
                _ => return reader.error("an operand of wgmma is transposed by 0 or 1"),
            };
        }
    }
    let sums = registers.into();
    Ok(GroupProduct {
        columns,
        steps,
        left,
        right,
        result,
        sums,
        left_from,
        right_descriptor,
        adds,
        negates,
        transposed,
    })
}
