//! Reports a lack of memory if the code that allocates cannot report it. Code that allocates large
//! arrays handles a failed allocation itself. If a small allocation in fusebox or LLVM fails, the
//! process calls `abort`. Without a report, an abort for lack of memory would look like a bug.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::SIGABRT;
use signal_hook::low_level;

/// Whether an allocation has failed for lack of memory.
static IS_SHORT: AtomicBool = AtomicBool::new(false);

const MESSAGE: &str =
    "error: this needs more memory than there is, or than a limit (`ulimit -v`, a container) allows\n";
const EXIT_CODE: i32 = 1;

/// Installs handlers for aborts. If the process aborts for lack of memory, the handlers print a
/// message, and the exit code is that of a faulty input. The handlers do not change other aborts.
pub fn install_handlers() {
    extern "C" fn note(error: c_int, _: *mut c_void) {
        if error == libc::ENOMEM {
            IS_SHORT.store(true, Ordering::Relaxed);
        }
    }
    let end = || {
        if IS_SHORT.load(Ordering::Relaxed) {
            // SAFETY: `write` may be called in a signal handler, and reads only the message.
            unsafe { libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len()) };
            low_level::exit(EXIT_CODE);
        }
    };
    // SAFETY: `note` is a function, takes no argument, and only sets a flag.
    unsafe { libmimalloc_sys::mi_register_error(Some(note), std::ptr::null_mut()) };
    // SAFETY: `end` calls only `write` and `_exit`, which are safe in a signal handler. An error is
    // ignored, because without the handler only the message about an abort is missing.
    let _ = unsafe { low_level::register(SIGABRT, end) };
}
