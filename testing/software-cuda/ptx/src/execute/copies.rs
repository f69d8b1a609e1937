//! Copies from global to shared memory that proceed while the thread continues. The interpreter
//! moves the bytes when the thread waits for the copy. Until then, the target's bytes count as
//! never written, so that an early read is a fault.

use super::access::{Reach, Stop, addresses};
use super::pending::Copy;
use super::warp::Warp;
use crate::code::{AsyncCopy, CopyStep, LANES};
use crate::fault::{FaultKind, Space};
use crate::shadow::Page;

/// Executes a step of asynchronous copies.
pub fn step(warp: &mut Warp, step: &CopyStep, mask: u32, reach: &mut Reach) -> Result<(), Stop> {
    match step {
        CopyStep::Start(copy) => start(warp, copy, mask, reach),
        CopyStep::Commit => {
            warp.copies.commit(mask);
            Ok(())
        }
        CopyStep::Wait(most) => finish(warp.copies.wait(mask, *most), reach),
        CopyStep::WaitAll => finish(warp.copies.wait_for_all(mask), reach),
    }
}

fn start(warp: &mut Warp, copy: &AsyncCopy, mask: u32, reach: &mut Reach) -> Result<(), Stop> {
    let (to, from) = (addresses(warp, &copy.to), addresses(warp, &copy.from));
    let bytes = u64::from(copy.to.bytes);
    let read = copy.read_bytes.map(|register| *warp.registers.get(register));
    for lane in (0..LANES).filter(|lane| mask >> lane & 1 == 1) {
        let stop = |kind| Stop { lane, kind };
        for (space, address) in [(Space::Shared, to[lane]), (Space::Global, from[lane])] {
            if !address.is_multiple_of(bytes) {
                return Err(stop(FaultKind::Misaligned { space, address, alignment: bytes }));
            }
        }
        let read = read.map_or(bytes, |read| read[lane]);
        if read > bytes {
            let message = format!("cp.async reads {read} bytes and writes {bytes}");
            return Err(stop(FaultKind::Undefined { message }));
        }
        let copy = Copy { lane, group: None, to: to[lane], from: from[lane], bytes, read, site: copy.from.site };
        read_source(&copy, reach).map_err(stop)?;
        reach.note_shared(lane, copy.to, bytes, Page::note_unwritten).map_err(stop)?;
        warp.copies.start(copy);
    }
    reach.count_copy(&from, mask, bytes);
    Ok(())
}

/// Moves the bytes of copies that are complete.
fn finish(copies: Vec<Copy>, reach: &mut Reach) -> Result<(), Stop> {
    for copy in copies {
        let stop = |kind| Stop { lane: copy.lane, kind };
        let bytes = read_source(&copy, reach).map_err(stop)?;
        let start = reach.note_shared(copy.lane, copy.to, copy.bytes, Page::note_write).map_err(stop)?;
        reach.shared.bytes[start..start + bytes.len()].copy_from_slice(&bytes);
    }
    Ok(())
}

/// Reads the bytes of a copy from global memory. The interpreter reads the source at the start and
/// at the end of a copy, because other threads must not write the source in between.
fn read_source(copy: &Copy, reach: &mut Reach) -> Result<Vec<u8>, FaultKind> {
    let mut bytes = vec![0; copy.bytes as usize];
    reach.read_global(copy.lane, copy.from, &mut bytes[..copy.read as usize], copy.site)?;
    Ok(bytes)
}
