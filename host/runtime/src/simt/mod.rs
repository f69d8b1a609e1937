//! Runs GPU kernels on the processor, thread by thread, and checks what a GPU would not.
//!
//! A kernel in simt form tells of every access to global memory before it makes it
//! (`fusebox_simt_access`). The simulator runs the grid on a coroutine: an access out of bounds suspends
//! it for good, so the access itself never happens.

mod checker;
mod grid;

use std::cell::Cell;

pub use grid::run_grid;

use checker::Checker;

thread_local! {
    /// The checker of the grid that runs on this thread.
    static CURRENT: Cell<*mut Checker> = const { Cell::new(std::ptr::null_mut()) };
}

/// Address of a simulator function that kernels may call.
pub fn symbol(name: &str) -> Option<*const ()> {
    match name {
        "fusebox_simt_access" => Some(fusebox_simt_access as *const ()),
        "fusebox_simt_index" => Some(fusebox_simt_index as *const ()),
        _ => None,
    }
}

/// A kernel is about to access `bytes` bytes at `place` of a tensor; `site` numbers the place in its code.
extern "C" fn fusebox_simt_access(_tensor: *const u8, place: *const u8, bytes: i32, kind: i32, site: i32) {
    let current = CURRENT.get();
    if current.is_null() {
        return;
    }
    // SAFETY: `run_grid` sets the pointer to a checker that lives until the grid has ended, and only
    // this thread uses it.
    let checker = unsafe { &mut *current };
    if !checker.access(place as u64, u64::from(bytes.unsigned_abs()), kind != 0, site) {
        checker.abandon_grid();
    }
}

/// A kernel is about to use an index that is not below `size`.
extern "C" fn fusebox_simt_index(tensor: *const u8, dimension: i32, index: i64, size: i64, site: i32) {
    let current = CURRENT.get();
    if current.is_null() {
        return;
    }
    // SAFETY: as in `fusebox_simt_access`.
    let checker = unsafe { &mut *current };
    checker.index_out_of_bounds(tensor as u64, dimension, index, size, site);
    checker.abandon_grid();
}
