//! Memory that is short where no code can say so. Large arrays are allocated by code that expects
//! failure; a small allocation, of ours or of LLVM's, ends in `abort`, which would look like a bug.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::SIGABRT;
use signal_hook::low_level;

/// Whether the allocator has found no memory.
static IS_SHORT: AtomicBool = AtomicBool::new(false);

const MESSAGE: &str =
    "error: this needs more memory than there is, or than a limit (`ulimit -v`, a container) allows\n";
const EXIT_CODE: i32 = 1;

/// From now on an abort for want of memory ends the process with a message and the code of a faulty
/// input; other aborts stay what they are.
pub fn is_told() {
    extern "C" fn note(error: c_int, _: *mut c_void) {
        if error == libc::ENOMEM {
            IS_SHORT.store(true, Ordering::Relaxed);
        }
    }
    let end = || {
        if IS_SHORT.load(Ordering::Relaxed) {
            // SAFETY: `write` may be called in a signal handler, and reads the message alone.
            unsafe { libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len()) };
            low_level::exit(EXIT_CODE);
        }
    };
    // SAFETY: `note` is a function, takes no argument, and only sets a flag.
    unsafe { libmimalloc_sys::mi_register_error(Some(note), std::ptr::null_mut()) };
    // SAFETY: `write` and `_exit`, which `end` calls, are safe in a signal handler. Without the
    // handler an abort is only less well told, so that an error is no reason to stop.
    let _ = unsafe { low_level::register(SIGABRT, end) };
}
