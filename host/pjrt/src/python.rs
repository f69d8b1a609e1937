//! Calls of Python functions by programs. The Python package sets one C function, through which
//! programs call all Python functions.

use std::ffi::c_void;
use std::sync::Arc;

use fusebox_routines::set_callback;

/// Largest number of bytes of an error's message.
const MOST_MESSAGE: usize = 1 << 16;

/// The memory of an operand or a result.
#[repr(C)]
struct Array {
    data: *mut c_void,
    bytes: usize,
}

/// A C function that calls the Python function with a given number. If the call fails, the C
/// function writes the error's message to the memory that its last two arguments describe, and
/// returns the length of the message. If the call succeeds, the C function returns 0.
pub type Trampoline = unsafe extern "C" fn(u64, *const c_void, usize, *const c_void, usize, *mut u8, usize) -> usize;

/// Sets the C function that calls Python functions.
#[unsafe(no_mangle)]
pub extern "C" fn FuseboxSetPythonCallback(trampoline: Trampoline) {
    set_callback(Arc::new(move |number, arguments, results| {
        let arguments: Vec<Array> =
            arguments.iter().map(|it| Array { data: it.as_ptr().cast_mut().cast(), bytes: it.len() }).collect();
        let results: Vec<Array> =
            results.iter_mut().map(|it| Array { data: it.as_mut_ptr().cast(), bytes: it.len() }).collect();
        let mut message = vec![0_u8; MOST_MESSAGE];
        // SAFETY: the function of the Python package only reads the operands, and writes the
        // results and the message within their bytes.
        let length = unsafe {
            trampoline(
                number,
                arguments.as_ptr().cast(),
                arguments.len(),
                results.as_ptr().cast(),
                results.len(),
                message.as_mut_ptr(),
                message.len(),
            )
        };
        if length == 0 {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&message[..length.min(MOST_MESSAGE)]).into_owned();
        Err(format!("CpuCallback error calling callback: {text}"))
    }));
}
