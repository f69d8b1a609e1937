//! Barriers in shared memory, and bulk copies. A barrier counts the arrivals of threads and the
//! bytes of bulk copies. A phase of the barrier completes when it needs no more arrivals and no
//! more bytes. The interpreter moves the bytes of a bulk copy to shared memory when a thread tests
//! the barrier. Until then, the target's bytes count as never written.

use std::collections::HashMap;

use super::access::{Reach, Stop, addresses};
use super::barrier::Order;
use super::warp::Warp;
use crate::code::{Access, LANES, PhaseStep, SHARED_WINDOW};
use crate::fault::{FaultKind, Space};
use crate::shadow::{Page, WARPS};

/// The barriers of a block, by their addresses.
#[derive(Clone, Debug, Default)]
pub struct Phases {
    all: HashMap<u64, Phase>,
    copies: Vec<Copy>,
}

#[derive(Clone, Debug)]
struct Phase {
    /// Arrivals that each phase needs.
    count: u64,
    /// Arrivals that the current phase still needs.
    pending: u64,
    /// Bytes that the current phase still expects. The number is negative if a copy transferred
    /// bytes before a thread announced them.
    bytes: i64,
    /// Number of complete phases.
    complete: u64,
    /// Two ticks for each warp. The warp's accesses before the first tick are ordered before the
    /// end of the current phase. The warp's accesses before the second tick are ordered before the
    /// end of the last complete phase.
    joined: [u32; WARPS],
    ordered: [u32; WARPS],
}

/// A bulk copy to shared memory.
#[derive(Clone, Copy, Debug)]
struct Copy {
    warp: u32,
    lane: usize,
    tick: u32,
    to: u64,
    from: u64,
    bytes: u64,
    barrier: u64,
    site: u32,
}

/// The most arrivals of a phase.
const MOST_ARRIVALS: u64 = (1 << 20) - 1;

fn undefined(message: impl Into<String>) -> FaultKind {
    FaultKind::Undefined { message: message.into() }
}

impl Phase {
    fn arrive(&mut self, count: u64, warp: u32, order: &mut Order) -> Result<(), FaultKind> {
        if count == 0 || count > self.pending {
            let pending = self.pending;
            return Err(undefined(format!("{count} arrivals at a barrier whose phase needs {pending} more")));
        }
        self.pending -= count;
        let known = &order.known[warp as usize];
        self.joined.iter_mut().zip(known).for_each(|(joined, known)| *joined = (*joined).max(*known));
        self.joined[warp as usize] = self.joined[warp as usize].max(order.tick + 1);
        // Later accesses of the warp are not ordered before the end of the phase.
        order.tick += 1;
        self.finish();
        Ok(())
    }

    /// Completes the phase if it needs no more arrivals and no more bytes.
    fn finish(&mut self) {
        if self.pending == 0 && self.bytes == 0 {
            self.complete += 1;
            self.pending = self.count;
            self.ordered = self.joined;
        }
    }
}

impl Phases {
    fn find(&mut self, address: u64) -> Result<&mut Phase, FaultKind> {
        let message = || undefined(format!("no barrier was initialised at {address:#x} in shared memory"));
        self.all.get_mut(&address).ok_or_else(message)
    }

    /// Moves the bytes of the copies that a barrier counts.
    fn transfer(&mut self, address: u64, reach: &mut Reach) -> Result<(), FaultKind> {
        let (done, rest): (Vec<_>, Vec<_>) = self.copies.drain(..).partition(|copy| copy.barrier == address);
        self.copies = rest;
        for copy in done {
            let bytes = reach.read_bulk(copy.lane, copy.from, copy.bytes, copy.site)?;
            let own = (reach.place.warp, reach.place.tick);
            (reach.place.warp, reach.place.tick) = (copy.warp, copy.tick);
            let noted = reach.note_shared(copy.lane, copy.to, copy.bytes, Page::note_write);
            (reach.place.warp, reach.place.tick) = own;
            let start = noted?;
            reach.shared.bytes[start..start + bytes.len()].copy_from_slice(&bytes);
            let phase = self.find(address)?;
            phase.bytes -= copy.bytes as i64;
            phase.joined[copy.warp as usize] = phase.joined[copy.warp as usize].max(copy.tick + 1);
            phase.finish();
        }
        Ok(())
    }
}

/// Executes a step of a barrier or of a bulk copy for the lanes of a mask. Returns whether a lane
/// waits.
pub fn step(
    phases: &mut Phases,
    warp: &mut Warp,
    step: &PhaseStep,
    mask: u32,
    order: &mut Order,
    reach: &mut Reach,
) -> Result<bool, Stop> {
    let mut waits = false;
    for lane in (0..LANES).filter(|lane| mask >> lane & 1 == 1) {
        waits |= lane_step(phases, warp, step, lane, order, reach).map_err(|kind| Stop { lane, kind })?;
    }
    Ok(waits)
}

/// Returns the address of a barrier.
fn barrier(warp: &Warp, place: &Access, lane: usize) -> Result<u64, FaultKind> {
    let address = aligned(warp, place, lane)?;
    Ok(if place.space.is_none() { address.wrapping_sub(SHARED_WINDOW) } else { address })
}

/// Returns the address of a lane's access. Fails if the address is not aligned.
fn aligned(warp: &Warp, access: &Access, lane: usize) -> Result<u64, FaultKind> {
    let (address, alignment) = (addresses(warp, access)[lane], u64::from(access.bytes));
    if address.is_multiple_of(alignment) {
        return Ok(address);
    }
    Err(FaultKind::Misaligned { space: access.space.unwrap_or(Space::Shared), address, alignment })
}

fn lane_step(
    phases: &mut Phases,
    warp: &mut Warp,
    step: &PhaseStep,
    lane: usize,
    order: &mut Order,
    reach: &mut Reach,
) -> Result<bool, FaultKind> {
    let number = |warp: &Warp, register: u32| warp.registers.get(register)[lane];
    let own = reach.place.warp;
    match step {
        PhaseStep::Start { place, count } => {
            let (address, count) = (barrier(warp, place, lane)?, number(warp, *count));
            if count == 0 || count > MOST_ARRIVALS {
                return Err(undefined(format!("a barrier cannot count {count} arrivals")));
            }
            // Other instructions must not access the bytes.
            reach.note_shared(lane, address, u64::from(place.bytes), Page::note_unwritten)?;
            let (joined, ordered) = ([0; WARPS], [0; WARPS]);
            let phase = Phase { count, pending: count, bytes: 0, complete: 0, joined, ordered };
            if phases.all.insert(address, phase).is_some() {
                return Err(undefined(format!("the barrier at {address:#x} in shared memory is initialised twice")));
            }
        }
        PhaseStep::End { place } => {
            let address = barrier(warp, place, lane)?;
            phases.find(address)?;
            phases.all.remove(&address);
        }
        PhaseStep::Arrive { place, to, count, expects, drops } => {
            let address = barrier(warp, place, lane)?;
            let count = count.map_or(1, |count| number(warp, count));
            let expects = expects.map_or(0, |expects| number(warp, expects));
            let phase = phases.find(address)?;
            let state = phase.complete;
            phase.bytes += expects as i64;
            phase.count -= if *drops { count.min(phase.count) } else { 0 };
            phase.arrive(count, own, order)?;
            if let Some(to) = to {
                warp.registers.values[*to as usize][lane] = state;
            }
        }
        PhaseStep::Expect { place, bytes } => {
            let bytes = number(warp, *bytes);
            phases.find(barrier(warp, place, lane)?)?.bytes += bytes as i64;
        }
        PhaseStep::Test { place, to, phase, is_parity, waits } => {
            let address = barrier(warp, place, lane)?;
            phases.transfer(address, reach)?;
            let (found, wanted) = (phases.find(address)?, number(warp, *phase));
            let is_complete = if *is_parity { found.complete & 1 != wanted & 1 } else { found.complete > wanted };
            if !is_parity && !(wanted..=wanted + 1).contains(&found.complete) {
                return Err(undefined("a thread may test only the current phase of a barrier and the one before"));
            }
            if is_complete {
                let known = &mut order.known[own as usize];
                known.iter_mut().zip(&found.ordered).for_each(|(known, ordered)| *known = (*known).max(*ordered));
            }
            warp.registers.set_predicate(*to, 1 << lane, if is_complete { u32::MAX } else { 0 });
            return Ok(*waits && !is_complete);
        }
        PhaseStep::Load { to, from, bytes, place } => {
            let (to_address, from_address) = (aligned(warp, to, lane)?, aligned(warp, from, lane)?);
            let (barrier, bytes) = (barrier(warp, place, lane)?, bulk_bytes(number(warp, *bytes))?);
            phases.find(barrier)?;
            reach.read_bulk(lane, from_address, bytes, from.site)?;
            reach.note_shared(lane, to_address, bytes, Page::note_unwritten)?;
            let tick = reach.place.tick;
            let (to, from, site) = (to_address, from_address, from.site);
            phases.copies.push(Copy { warp: own, lane, tick, to, from, bytes, barrier, site });
        }
        PhaseStep::Store { to, from, bytes } => {
            let (to_address, from_address) = (aligned(warp, to, lane)?, aligned(warp, from, lane)?);
            let bytes = bulk_bytes(number(warp, *bytes))?;
            let mut moved = vec![0; bytes as usize];
            reach.read_shared_asynchronously(from_address, &mut moved, from).map_err(|stop| stop.kind)?;
            reach.write_bulk(lane, to_address, &moved, to.site)?;
        }
    }
    Ok(false)
}

fn bulk_bytes(bytes: u64) -> Result<u64, FaultKind> {
    let fits = bytes.is_multiple_of(16);
    if fits { Ok(bytes) } else { Err(undefined(format!("a bulk copy of {bytes} bytes, which is no multiple of 16"))) }
}
