//! Instructions by which lanes of a warp exchange values.

use super::access::Stop;
use super::warp::Warp;
use crate::code::{Guard, LANES, Match, Shuffle, ShuffleMode, Vote, VoteBy, each_lane};
use crate::fault::FaultKind;

/// Checks the mask of lanes that an instruction states, and returns the mask. All executing lanes
/// must state the same mask. The mask must contain the executing lane itself; every other lane in
/// the mask must execute the same instruction or have ended.
pub fn members(warp: &Warp, register: u32, mask: u32, name: &str) -> Result<u32, Stop> {
    let values = warp.registers.get(register);
    let first = mask.trailing_zeros() as usize % LANES;
    let members = values[first] as u32;
    let mut stop = None;
    each_lane(mask, |lane| {
        let message = if values[lane] as u32 >> lane & 1 == 0 {
            format!("the mask {:#x} of {name} does not contain the lane itself", values[lane])
        } else if values[lane] as u32 != members {
            format!("lanes of {name} have different masks: {members:#x} and {:#x}", values[lane])
        } else if members & warp.live & !mask != 0 {
            let missing = members & warp.live & !mask;
            format!("the mask {members:#x} of {name} names lanes that do not execute it: {missing:#x}")
        } else {
            return;
        };
        stop = stop.take().or(Some(Stop { lane, kind: FaultKind::Divergence { message } }));
    });
    stop.map_or(Ok(members), Err)
}

fn holds(warp: &Warp, guard: Guard) -> u32 {
    let predicate = warp.registers.predicate(guard.predicate);
    if guard.is_negated { !predicate } else { predicate }
}

/// Executes `shfl.sync`. Returns an error if a lane reads from a lane that does not execute the
/// instruction.
pub fn shuffle(warp: &mut Warp, shuffle: &Shuffle, mask: u32) -> Result<(), Stop> {
    members(warp, shuffle.members, mask, "shfl")?;
    let value = *warp.registers.get(shuffle.value);
    let distance = *warp.registers.get(shuffle.distance);
    let clamp = *warp.registers.get(shuffle.clamp);
    let (mut results, mut inside, mut stop) = ([0; LANES], 0, None);
    each_lane(mask, |lane| {
        let own = lane as i64;
        let step = (distance[lane] & 31) as i64;
        let (bound, segment) = ((clamp[lane] & 31) as i64, (clamp[lane] >> 8 & 31) as i64);
        let last = own & segment | bound & !segment;
        let first = own & segment;
        let (from, fits) = match shuffle.mode {
            ShuffleMode::Up => (own - step, own - step >= last),
            ShuffleMode::Down => (own + step, own + step <= last),
            ShuffleMode::Butterfly => (own ^ step, own ^ step <= last),
            ShuffleMode::Index => (first | step & !segment, first | step & !segment <= last),
        };
        let from = if fits { from as usize % LANES } else { lane };
        inside |= u32::from(fits) << lane;
        if mask >> from & 1 == 0 && stop.is_none() {
            let message = format!("shfl reads from lane {from}, which does not execute it");
            stop = Some(Stop { lane, kind: FaultKind::Divergence { message } });
        }
        results[lane] = value[from];
    });
    if let Some(stop) = stop {
        return Err(stop);
    }
    warp.registers.set(shuffle.to, mask, |lane| results[lane]);
    if let Some(predicate) = shuffle.in_range {
        warp.registers.set_predicate(predicate, mask, inside);
    }
    Ok(())
}

/// Executes `vote.sync`, `redux.sync` and `elect.sync`.
pub fn vote(warp: &mut Warp, vote: &Vote, mask: u32) -> Result<(), Stop> {
    members(warp, vote.members, mask, "this instruction")?;
    let all_or_none = |holds: bool| if holds { u32::MAX } else { 0 };
    match vote.by {
        VoteBy::All(guard) => {
            let result = all_or_none(holds(warp, guard) & mask == mask);
            warp.registers.set_predicate(vote.to, mask, result);
        }
        VoteBy::Any(guard) => {
            let result = all_or_none(holds(warp, guard) & mask != 0);
            warp.registers.set_predicate(vote.to, mask, result);
        }
        VoteBy::Uniform(guard) => {
            let votes = holds(warp, guard) & mask;
            warp.registers.set_predicate(vote.to, mask, all_or_none(votes == 0 || votes == mask));
        }
        VoteBy::Ballot(guard) => {
            let votes = u64::from(holds(warp, guard) & mask);
            warp.registers.set(vote.to, mask, |_| votes);
        }
        VoteBy::Reduce(register, combine) => {
            let values = *warp.registers.get(register);
            let lanes = (0..LANES).filter(|lane| mask >> lane & 1 == 1);
            let result = lanes.map(|lane| values[lane]).reduce(combine).unwrap_or(0);
            warp.registers.set(vote.to, mask, |_| result);
        }
        VoteBy::Elect(predicate) => {
            let leader = mask.trailing_zeros();
            warp.registers.set(vote.to, mask, |_| u64::from(leader));
            warp.registers.set_predicate(predicate, mask, 1u32.checked_shl(leader).unwrap_or(0));
        }
    }
    Ok(())
}

/// Executes `match.sync`.
pub fn matched(warp: &mut Warp, matched: &Match, mask: u32) -> Result<(), Stop> {
    members(warp, matched.members, mask, "match")?;
    let values = *warp.registers.get(matched.value);
    let equal = |lane: usize| {
        let others = (0..LANES).filter(|other| mask >> other & 1 == 1 && values[*other] == values[lane]);
        others.fold(0u32, |all, other| all | 1 << other)
    };
    let mut results = [0; LANES];
    each_lane(mask, |lane| results[lane] = equal(lane));
    if matched.all {
        let is_equal = results[mask.trailing_zeros() as usize % LANES] == mask;
        let result = if is_equal { u64::from(mask) } else { 0 };
        warp.registers.set(matched.to, mask, |_| result);
        if let Some(predicate) = matched.predicate {
            warp.registers.set_predicate(predicate, mask, if is_equal { u32::MAX } else { 0 });
        }
    } else {
        warp.registers.set(matched.to, mask, |lane| u64::from(results[lane]));
    }
    Ok(())
}
