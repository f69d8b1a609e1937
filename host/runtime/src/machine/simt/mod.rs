//! Simulates GPU kernels on the host, thread by thread. Detects errors that a GPU does not detect,
//! such as data races.
//!
//! ```text
//! grid        blocks, one after the other
//! simulator     interleaved warps and threads; barriers, shuffles, tiles
//! fibers          the coroutines that run threads
//! product       matrix products
//! checker       every access: bounds, races, reads of unwritten elements        history, fault
//! ```
//!
//! A kernel that is compiled for the simulator reports every memory access before it makes the
//! access. So the simulator can prevent accesses out of bounds.

mod checker;
mod fault;
mod fibers;
mod grid;
mod history;
mod order;
mod product;
mod simulator;
mod trace;

use std::cell::Cell;

pub use grid::run_grid;
pub use order::ThreadOrder;
pub use trace::{LaunchReads, trace_reads};

use fusebox_core::ir::{Float, MatrixProduct};

use fault::FaultKind;
use history::AccessKind;
use product::TileProduct;
use simulator::{ACCESS_COST, Simulator};

thread_local! {
    /// The simulator of the grid that is running on this thread of the host.
    static CURRENT: Cell<*const Simulator> = const { Cell::new(std::ptr::null()) };
}

/// Returns the address of a function of the simulator that kernels may call; `None` for other
/// names.
pub fn symbol(name: &str) -> Option<*const ()> {
    Some(match name {
        "fusebox_simt_access" => fusebox_simt_access as *const (),
        "fusebox_simt_turn" => fusebox_simt_turn as *const (),
        "fusebox_simt_division" => fusebox_simt_division as *const (),
        "fusebox_simt_index" => fusebox_simt_index as *const (),
        "fusebox_simt_shared" => fusebox_simt_shared as *const (),
        "fusebox_simt_barrier" => fusebox_simt_barrier as *const (),
        "fusebox_simt_shuffle_down" => fusebox_simt_shuffle_down as *const (),
        "fusebox_simt_multiply" => fusebox_simt_multiply as *const (),
        "fusebox_simt_sum" => fusebox_simt_sum as *const (),
        "fusebox_simt_multiply_tiles" => fusebox_simt_multiply_tiles as *const (),
        _ => return None,
    })
}

/// Returns the simulator that runs the calling kernel.
fn current() -> Option<&'static Simulator> {
    // SAFETY: `run_grid` sets the pointer to a simulator that lives until the grid has ended. Only
    // this thread uses the simulator. No caller of this function keeps the reference after it
    // returns.
    unsafe { CURRENT.get().as_ref() }
}

/// Checks an access to `bytes` bytes at the address `place` of the tensor that starts at `tensor`.
/// A kernel calls this function before each access. `site` is the number of the access's position
/// in the kernel's code.
extern "C" fn fusebox_simt_access(tensor: *const u8, place: *const u8, bytes: i32, kind: i32, site: i32) {
    let Some(simulator) = current() else { return };
    let kind = match kind {
        0 => AccessKind::Read,
        1 => AccessKind::Write,
        _ => AccessKind::Atomic,
    };
    let bytes = u64::from(bytes.unsigned_abs());
    simulator.count(ACCESS_COST);
    let allowed = simulator.checker.borrow_mut().access(tensor as u64, place as u64, bytes, kind, site);
    if !allowed {
        simulator.stop();
    }
}

extern "C" fn fusebox_simt_turn(site: i32) {
    if let Some(simulator) = current() {
        simulator.turn(site);
    }
}

/// Records an invalid integer division and stops the grid. A kernel calls this function before it
/// would divide by zero, or would divide the lowest number by -1.
extern "C" fn fusebox_simt_division(site: i32) {
    let Some(simulator) = current() else { return };
    simulator.checker.borrow_mut().fault(FaultKind::Division, site);
    simulator.stop();
}

/// Records an invalid index and stops the grid. A kernel calls this function before it would use an
/// index that is not below the dimension's size.
extern "C" fn fusebox_simt_index(tensor: *const u8, dimension: i32, index: i64, size: i64, site: i32) {
    let Some(simulator) = current() else { return };
    simulator.checker.borrow_mut().index_out_of_bounds(tensor as u64, dimension, index, size, site);
    simulator.stop();
}

/// Returns the address of a tile of shared memory in the running block.
extern "C" fn fusebox_simt_shared(number: i64, bytes: i64, element_bytes: i32) -> *mut u8 {
    let Some(simulator) = current() else { return std::ptr::null_mut() };
    match simulator.tile(number, bytes.unsigned_abs(), element_bytes.unsigned_abs()) {
        Some(address) => address,
        None => {
            simulator.stop();
            std::ptr::null_mut()
        }
    }
}

/// Waits until all threads of the block have reached the barrier at `site`.
extern "C" fn fusebox_simt_barrier(site: i32) {
    if let Some(simulator) = current() {
        simulator.barrier(site);
    }
}

/// Exchanges words between lanes. Sends `word` to the lane whose number is smaller by `distance`,
/// and returns the word of the lane whose number is larger by `distance`. Returns `word` if no lane
/// has this larger number.
extern "C" fn fusebox_simt_shuffle_down(word: u64, distance: i32, site: i32) -> u64 {
    current().map_or(word, |simulator| simulator.shuffle_down(word, distance, site))
}

/// Computes a matrix product together with the other lanes of the warp. `number` is the number of
/// the product. `w0` to `w9` are the lane's words of the operands, followed by the lane's sums.
#[allow(clippy::too_many_arguments, reason = "words are handed over in registers")]
extern "C" fn fusebox_simt_multiply(
    number: i32,
    site: i32,
    w0: u64,
    w1: u64,
    w2: u64,
    w3: u64,
    w4: u64,
    w5: u64,
    w6: u64,
    w7: u64,
    w8: u64,
    w9: u64,
) {
    let product = usize::try_from(number).ok().and_then(|number| MatrixProduct::ALL.get(number));
    if let (Some(simulator), Some(&product)) = (current(), product) {
        simulator.multiply(product, [w0, w1, w2, w3, w4, w5, w6, w7, w8, w9], site);
    }
}

/// Returns sum `number` of the running thread's last matrix product.
extern "C" fn fusebox_simt_sum(number: i32) -> u64 {
    current().map_or(0, |simulator| simulator.sum(number))
}

/// Multiplies two tiles and adds the product to the sums. The running thread computes only its
/// `columns / 2` elements of the product, one per sum.
#[allow(clippy::too_many_arguments, reason = "a kernel calls it")]
extern "C" fn fusebox_simt_multiply_tiles(
    left: *const u8,
    left_place: *const u8,
    right: *const u8,
    right_place: *const u8,
    sums: *mut f32,
    columns: i32,
    steps: i32,
    left_stride: i32,
    right_stride: i32,
    left_along_steps: i32,
    right_along_steps: i32,
    is_f16: i32,
    site: i32,
) {
    let Some(simulator) = current() else { return };
    let product = TileProduct {
        element: if is_f16 != 0 { Float::F16 } else { Float::BF16 },
        columns: columns.into(),
        steps: steps.into(),
        strides: [left_stride.into(), right_stride.into()],
        along_steps: [left_along_steps != 0, right_along_steps != 0],
    };
    let count = usize::try_from(product.columns / 2).unwrap_or(0);
    // SAFETY: the kernel passes a pointer to `count` sums, and no other code uses these sums during
    // the call.
    let sums = unsafe { std::slice::from_raw_parts_mut(sums, count) };
    let tiles = [(left, left_place), (right, right_place)];
    let read = |side: usize, offset: i64| {
        let (tensor, place) = tiles[side];
        let place = place.wrapping_offset(offset as isize);
        simulator.count(ACCESS_COST);
        let allowed = simulator.checker.borrow_mut().access(tensor as u64, place as u64, 2, AccessKind::Read, site);
        // SAFETY: the checker has verified that the two bytes lie in the tile.
        allowed.then(|| unsafe { place.cast::<u16>().read_unaligned() })
    };
    if product.add(simulator.thread() as i64, sums, read).is_none() {
        simulator.stop();
    }
}
