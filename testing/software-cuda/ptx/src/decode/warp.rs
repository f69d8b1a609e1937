//! Branches, barriers, and instructions of several lanes.

use super::reader::Reader;
use crate::code::{Barrier, BarrierReduction, Kind, Match, ReduceBy, Shuffle, ShuffleMode, Vote, VoteBy};
use crate::error::LoadError;
use crate::numbers::integer as int;
use crate::text::{Operand, Type};

const WORD: Type = Type::B(32);

/// Returns the two parts of an operand such as `d|p`: the instruction's result and the
/// instruction's predicate. An operand without `|` has no predicate.
fn pair<'r, 't>(
    reader: &Reader<'r, 't>,
    number: usize,
) -> Result<(&'r Operand<'t>, Option<&'r Operand<'t>>), LoadError> {
    Ok(match reader.operand(number)? {
        Operand::Pair(first, second) => (first, Some(second)),
        single => (single, None),
    })
}

/// `shfl.sync`.
pub fn shuffle(reader: &mut Reader) -> Result<Kind, LoadError> {
    if !reader.take("sync") {
        return reader.error("shfl without .sync is not allowed from PTX 6.4 on");
    }
    let modes = [
        ("up", ShuffleMode::Up),
        ("down", ShuffleMode::Down),
        ("bfly", ShuffleMode::Butterfly),
        ("idx", ShuffleMode::Index),
    ];
    let mode = reader.require(&modes)?;
    if reader.ty()? != WORD {
        return reader.unknown();
    }
    reader.finish(5)?;
    let [value, distance, clamp, members] = [1, 2, 3, 4].map(|number| reader.source(number, WORD));
    let (value, distance, clamp, members) = (value?, distance?, clamp?, members?);
    let (to, in_range) = pair(reader, 0)?;
    let to = reader.dest_of(to, WORD, super::reader::Width::Exact)?;
    let in_range = in_range.map(|operand| reader.predicate_dest(operand)).transpose()?;
    Ok(Kind::Shuffle(Box::new(Shuffle { mode, to, in_range, value, distance, clamp, members })))
}

/// `vote.sync`.
pub fn vote(reader: &mut Reader) -> Result<Kind, LoadError> {
    if !reader.take("sync") {
        return reader.error("vote without .sync is not allowed from PTX 6.4 on");
    }
    let make: fn(_) -> VoteBy = reader.require(&[
        ("all", VoteBy::All as fn(_) -> _),
        ("any", VoteBy::Any),
        ("uni", VoteBy::Uniform),
        ("ballot", VoteBy::Ballot),
    ])?;
    let ty = reader.ty()?;
    reader.finish(3)?;
    let by = make(reader.predicate(1)?);
    let members = reader.source(2, WORD)?;
    let to = match (ty, &by) {
        (Type::B(32), VoteBy::Ballot(_)) => reader.dest(0, WORD)?,
        (Type::Pred, VoteBy::All(_) | VoteBy::Any(_) | VoteBy::Uniform(_)) => {
            reader.predicate_dest(reader.operand(0)?)?
        }
        _ => return reader.unknown(),
    };
    Ok(Kind::Vote(Box::new(Vote { by, to, members })))
}

/// `redux.sync`.
pub fn reduce(reader: &mut Reader) -> Result<Kind, LoadError> {
    if !reader.take("sync") {
        return reader.unknown();
    }
    reader.needs(80, 70)?;
    let op = reader.require(&["add", "min", "max", "and", "or", "xor"].map(|name| (name, name)))?;
    let ty = reader.ty()?;
    let f: fn(u64, u64) -> u64 = match (op, ty) {
        ("add", Type::U(32) | Type::S(32)) => int::add::<32>,
        ("min", Type::U(32)) => int::min::<32, false>,
        ("min", Type::S(32)) => int::min::<32, true>,
        ("max", Type::U(32)) => int::max::<32, false>,
        ("max", Type::S(32)) => int::max::<32, true>,
        ("and", Type::B(32)) => |a, b| a & b,
        ("or", Type::B(32)) => |a, b| a | b,
        ("xor", Type::B(32)) => |a, b| a ^ b,
        _ => return reader.unknown(),
    };
    reader.finish(3)?;
    let (value, members) = (reader.source(1, ty)?, reader.source(2, WORD)?);
    let to = reader.dest(0, ty)?;
    Ok(Kind::Vote(Box::new(Vote { by: VoteBy::Reduce(value, f), to, members })))
}

/// `elect.sync`.
pub fn elect(reader: &mut Reader) -> Result<Kind, LoadError> {
    if !reader.take("sync") {
        return reader.unknown();
    }
    reader.needs(90, 80)?;
    reader.finish(2)?;
    let members = reader.source(1, WORD)?;
    let (to, Some(predicate)) = pair(reader, 0)? else { return reader.error("elect has two results") };
    let to = reader.dest_of(to, WORD, super::reader::Width::Exact)?;
    let predicate = reader.predicate_dest(predicate)?;
    Ok(Kind::Vote(Box::new(Vote { by: VoteBy::Elect(predicate), to, members })))
}

/// `match.sync`.
pub fn matched(reader: &mut Reader) -> Result<Kind, LoadError> {
    let all = reader.require(&[("any", false), ("all", true)])?;
    if !reader.take("sync") {
        return reader.unknown();
    }
    let ty = reader.ty()?;
    if !matches!(ty, Type::B(32 | 64)) {
        return reader.unknown();
    }
    reader.finish(3)?;
    let (value, members) = (reader.source(1, ty)?, reader.source(2, WORD)?);
    let (to, predicate) = pair(reader, 0)?;
    if predicate.is_some() && !all {
        return reader.error("match.any has one result");
    }
    let to = reader.dest_of(to, WORD, super::reader::Width::Exact)?;
    let predicate = predicate.map(|operand| reader.predicate_dest(operand)).transpose()?;
    Ok(Kind::Match(Box::new(Match { all, to, predicate, value, members })))
}

/// `activemask`.
pub fn active_mask(reader: &mut Reader) -> Result<Kind, LoadError> {
    if reader.ty()? != WORD {
        return reader.unknown();
    }
    reader.finish(1)?;
    Ok(Kind::ActiveMask { to: reader.dest(0, WORD)? })
}

/// `bar` and `barrier`.
pub fn barrier(reader: &mut Reader) -> Result<Kind, LoadError> {
    let is_short = reader.instruction.mnemonic == "bar";
    if is_short && reader.take("warp") {
        if !reader.take("sync") {
            return reader.unknown();
        }
        reader.finish(1)?;
        return Ok(Kind::WarpBarrier(reader.source(0, WORD)?));
    }
    reader.take("cta");
    let action = reader.require(&["sync", "arrive", "red"].map(|name| (name, name)))?;
    let reduce_by = [("popc", ReduceBy::Count), ("and", ReduceBy::And), ("or", ReduceBy::Or)];
    let by = if action == "red" { Some(reader.require(&reduce_by)?) } else { None };
    let is_aligned = reader.take("aligned") || is_short;
    let Some(by) = by else {
        let least = if action == "arrive" { 2 } else { 1 };
        reader.finish_between(least, 2)?;
        let number = reader.source(0, WORD)?;
        let has_threads = reader.instruction.operands.len() == 2;
        let threads = if has_threads { Some(reader.source(1, WORD)?) } else { None };
        return Ok(Kind::Barrier(Barrier { number, threads, waits: action == "sync", is_aligned, reduction: None }));
    };
    let ty = reader.ty()?;
    reader.finish_between(3, 4)?;
    let number = reader.source(1, WORD)?;
    let last = reader.instruction.operands.len() - 1;
    let threads = if last == 3 { Some(reader.source(2, WORD)?) } else { None };
    let predicate = reader.predicate(last)?;
    let to = match (by, ty) {
        (ReduceBy::Count, Type::U(32)) => reader.dest(0, WORD)?,
        (ReduceBy::And | ReduceBy::Or, Type::Pred) => reader.predicate_dest(reader.operand(0)?)?,
        _ => return reader.unknown(),
    };
    let reduction = Some(BarrierReduction { by, predicate, to });
    Ok(Kind::Barrier(Barrier { number, threads, waits: true, is_aligned, reduction }))
}

/// `mov` from a clock.
pub fn clock(reader: &mut Reader, ty: Type) -> Result<Kind, LoadError> {
    reader.finish(2)?;
    Ok(Kind::Clock { to: reader.dest(0, ty)? })
}

/// `nanosleep`.
pub fn sleep(reader: &mut Reader) -> Result<Kind, LoadError> {
    reader.ty()?;
    reader.finish(1)?;
    reader.source(0, Type::U(32))?;
    Ok(Kind::Nothing)
}
