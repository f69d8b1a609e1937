//! Executes kernels, warp by warp, on several threads.

mod access;
mod approximate;
mod barrier;
mod block;
mod copies;
mod group;
mod lanes;
mod matrix;
mod pending;
mod phases;
mod traffic;
mod warp;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::code::Code;
use crate::counts::{Counts, Executed};
use block::Worker;
pub use block::{BlockFault, Grid};
pub use warp::Position;

/// Executes all blocks of a grid.
pub fn run(grid: &Grid, workers: usize) -> Result<Counts, BlockFault> {
    let [x, y, _] = grid.position.grid;
    let blocks: u32 = grid.position.grid.iter().product();
    let (next, stops) = (AtomicU32::new(0), AtomicBool::new(false));
    let results = Mutex::new((Counts::default(), vec![Executed::default(); grid.code.steps.len()], Vec::new()));
    let work = || {
        let mut worker = Worker::new(grid);
        let mut fault = None;
        while !stops.load(Ordering::Relaxed) {
            let linear = next.fetch_add(1, Ordering::Relaxed);
            if linear >= blocks {
                break;
            }
            if let Err(found) = worker.run([linear % x, linear / x % y, linear / x / y], linear) {
                stops.store(true, Ordering::Relaxed);
                fault = Some(found);
            }
        }
        let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
        let (counts, executed, faults) = &mut *results;
        counts.add(&worker.counts);
        executed.iter_mut().zip(&worker.executed).for_each(|(all, own)| {
            all.warps += own.warps;
            all.threads += own.threads;
        });
        faults.extend(fault);
    };
    let workers = workers.clamp(1, blocks.max(1) as usize);
    if workers == 1 {
        work();
    } else {
        std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    }
    let (mut counts, executed, faults) = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(first) = faults.into_iter().min_by_key(|fault| fault.linear) {
        return Err(first);
    }
    counts.launches = 1;
    classify(grid.code, &executed, &mut counts);
    Ok(counts)
}

fn classify(code: &Code, executed: &[Executed], counts: &mut Counts) {
    for (step, executed) in code.steps.iter().zip(executed) {
        if let Some(class) = step.class.filter(|_| executed.warps > 0) {
            counts.add_class(class, *executed);
        }
    }
}
