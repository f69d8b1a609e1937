//! The functions outside an object that kernels may call.

unsafe extern "C" {
    fn memcpy(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8;
    fn memmove(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8;
    fn memset(to: *mut u8, value: i32, bytes: usize) -> *mut u8;
}

/// Functions that a machine provides for its kernels, in addition to the functions of this file.
/// Maps a name to an address; `None` for other names.
pub type ProvidedSymbols = dyn Fn(&str) -> Option<*const ()>;

/// Returns the address of the function with the given name; `None` if kernels may not call this
/// function.
pub fn address(name: &str, provided: &ProvidedSymbols) -> Option<u64> {
    let address = match name {
        "memcpy" => memcpy as *const () as u64,
        "memmove" => memmove as *const () as u64,
        "memset" => memset as *const () as u64,
        _ => return provided(name).map(|f| f as u64),
    };
    Some(address)
}
