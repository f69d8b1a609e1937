//! Barriers in shared memory, `mbarrier`, and bulk copies.

use super::memory::{ADVICE, Order, checked_space, order, take_all};
use super::reader::{Reader, Width};
use crate::code::{Access, Kind, PhaseStep};
use crate::error::LoadError;
use crate::fault::Space;
use crate::text::{Operand, Type};

/// Bytes of a barrier.
const BYTES: u32 = 8;

/// Reads the address of a barrier.
fn place(reader: &mut Reader, number: usize, space: Option<Space>) -> Result<Access, LoadError> {
    let (base, offset, of_variable) = reader.address(number)?;
    let space = checked_space(reader, space, of_variable)?;
    Ok(Access::plain(space, BYTES, base, offset))
}

/// `mbarrier`.
pub fn step(reader: &mut Reader) -> Result<Kind, LoadError> {
    reader.needs(80, 70)?;
    let actions = ["init", "inval", "arrive", "arrive_drop", "expect_tx", "test_wait", "try_wait"];
    let action = reader.require(&actions.map(|name| (name, name)))?;
    let expects = reader.take("expect_tx");
    let is_parity = reader.take("parity");
    if reader.take("noComplete") {
        return reader.unknown();
    }
    let (stated, space) = order(reader, Order::Weak)?;
    if !matches!(space, None | Some(Space::Shared)) || stated == Order::Volatile || reader.ty()? != Type::B(64) {
        return reader.unknown();
    }
    let is_wait = matches!(action, "test_wait" | "try_wait");
    if is_parity != is_wait && is_parity || expects && !action.starts_with("arrive") {
        return reader.unknown();
    }
    if expects || action == "try_wait" || action == "expect_tx" {
        reader.needs(90, 80)?;
    }
    let word = Type::B(32);
    let step = match action {
        "init" => {
            reader.finish(2)?;
            PhaseStep::Start { place: place(reader, 0, space)?, count: reader.source(1, word)? }
        }
        "inval" => {
            reader.finish(1)?;
            PhaseStep::End { place: place(reader, 0, space)? }
        }
        "expect_tx" => {
            reader.finish(2)?;
            PhaseStep::Expect { place: place(reader, 0, space)?, bytes: reader.source(1, word)? }
        }
        "arrive" | "arrive_drop" => {
            reader.finish_between(if expects { 3 } else { 2 }, 3)?;
            let place = place(reader, 1, space)?;
            let has_number = reader.instruction.operands.len() == 3;
            let number = if has_number { Some(reader.source(2, word)?) } else { None };
            let to = match reader.operand(0)? {
                Operand::Discard => None,
                operand => Some(reader.dest_of(operand, Type::B(64), Width::Exact)?),
            };
            let (count, expects) = if expects { (None, number) } else { (number, None) };
            PhaseStep::Arrive { place, to, count, expects, drops: action == "arrive_drop" }
        }
        _ => {
            let waits = action == "try_wait";
            reader.finish_between(3, if waits { 4 } else { 3 })?;
            let place = place(reader, 1, space)?;
            let phase = reader.source(2, if is_parity { word } else { Type::B(64) })?;
            let to = reader.predicate_dest(reader.operand(0)?)?;
            PhaseStep::Test { place, to, phase, is_parity, waits }
        }
    };
    Ok(Kind::Phase(Box::new(step)))
}

/// `cp.async.bulk`.
pub fn bulk(reader: &mut Reader) -> Result<Kind, LoadError> {
    reader.take("async");
    reader.take("bulk");
    reader.needs(90, 80)?;
    if reader.take("commit_group") {
        return reader.finish(0).map(|()| Kind::Nothing);
    }
    if reader.take("wait_group") {
        reader.take("read");
        return reader.finish(1).map(|()| Kind::Nothing);
    }
    let spaces = [("shared::cluster", Space::Shared), ("shared::cta", Space::Shared), ("global", Space::Global)];
    let (to, from) = (reader.require(&spaces)?, reader.require(&spaces)?);
    let access = |reader: &mut Reader, number: usize, space: Space| {
        let (base, offset, of_variable) = reader.address(number)?;
        checked_space(reader, Some(space), of_variable)?;
        Ok(Access::plain(Some(space), 16, base, offset))
    };
    let is_load = (to, from) == (Space::Shared, Space::Global);
    if to == from {
        return reader.unknown();
    }
    reader.require(if is_load { &[("mbarrier::complete_tx::bytes", ())] } else { &[("bulk_group", ())] })?;
    take_all(reader, &ADVICE);
    reader.finish(if is_load { 4 } else { 3 })?;
    let (to, from) = (access(reader, 0, to)?, access(reader, 1, from)?);
    let bytes = reader.source(2, Type::B(32))?;
    let step = if is_load {
        PhaseStep::Load { to, from, bytes, place: place(reader, 3, Some(Space::Shared))? }
    } else {
        PhaseStep::Store { to, from, bytes }
    };
    Ok(Kind::Phase(Box::new(step)))
}
