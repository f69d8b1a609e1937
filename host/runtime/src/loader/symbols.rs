//! The functions outside an object that kernels may call.

use crate::simt;

unsafe extern "C" {
    fn memcpy(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8;
    fn memmove(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8;
    fn memset(to: *mut u8, value: i32, bytes: usize) -> *mut u8;
}

/// Returns the address of the function with the given name; `None` if kernels may not call this
/// function.
pub fn address(name: &str) -> Option<u64> {
    let address = match name {
        "memcpy" => memcpy as *const () as u64,
        "memmove" => memmove as *const () as u64,
        "memset" => memset as *const () as u64,
        _ => return simt::symbol(name).map(|f| f as u64),
    };
    Some(address)
}
