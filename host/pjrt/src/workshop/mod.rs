//! The exported functions by which the Python package calls the tools of fusebox. The library
//! exports these functions in addition to the functions of PJRT. Each tool takes a request in JSON
//! and replies in JSON.
//!
//! ```text
//! interface   calls and replies; a panic becomes an error
//! explain     which emitter builds each kernel, and why
//! profile     times of the steps of all executions
//! ab          two sets of options, measured alternately
//! tune        the fastest emitter of each fusion, for later compilations
//! ```

mod ab;
mod explain;
mod interface;
mod profile;
mod tune;

pub use interface::{Reply, ToolCall};

/// Defines exported functions, each of which calls a tool.
macro_rules! exported {
    ($($(#[$doc:meta])* $name:ident: $tool:path,)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// `call` points to a call whose bytes are valid. `reply` points to memory for a reply,
        /// which the caller gives to [`FuseboxFree`] once.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(call: *const ToolCall, reply: *mut Reply) {
            // SAFETY: the caller's promise.
            unsafe { interface::answer($tool, call, reply) }
        }
    )*};
}

exported! {
    /// Explains a program.
    FuseboxExplain: explain::explain,
    /// Begins the profile of all executions.
    FuseboxBeginProfile: profile::begin,
    /// Ends the profile and returns it.
    FuseboxEndProfile: profile::end,
    /// Compares a program with two sets of options.
    FuseboxAb: ab::ab,
    /// Tunes a program.
    FuseboxTune: tune::tune,
}

/// Ends the tuning that another thread runs, as soon as the current measurement of the tuning is
/// complete.
#[unsafe(no_mangle)]
pub extern "C" fn FuseboxInterrupt() {
    tune::interrupt();
}

/// Frees a reply.
///
/// # Safety
/// `reply` points to a reply of one of the functions above that was not freed before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn FuseboxFree(reply: *mut Reply) {
    // SAFETY: the caller's promise.
    unsafe { interface::freed(reply) }
}
