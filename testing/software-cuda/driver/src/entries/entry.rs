//! The code that all functions of the C interface share.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::calls;
use crate::driver::Driver;
use crate::status::{Answer, Status};
use crate::work::is_in_host_call;

/// Counts a call, executes it and returns its result.
pub fn answer(name: &'static str, body: impl FnOnce(&'static Driver) -> Answer) -> Status {
    calls::count(name);
    if is_in_host_call() {
        Driver::get().reporter.report(&format!("{name} is called by a function that a stream calls"));
        return Status::NOT_PERMITTED;
    }
    // A panic must not leave Rust.
    match catch_unwind(AssertUnwindSafe(|| body(Driver::get()))) {
        Ok(Ok(())) => Status::SUCCESS,
        Ok(Err(status)) => status,
        Err(_) => Status::UNKNOWN,
    }
}

/// Defines functions of the C interface. After the list of arguments, a definition has a name
/// between bars. In the function's body, this name stands for the driver. The body returns an
/// `Answer`.
macro_rules! entries {
    ($($(#[$note:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) |$driver:ident| $body:block)*) => {$(
        $(#[$note])*
        ///
        /// # Safety
        /// The caller passes pointers that are valid or null, as NVIDIA's documentation of the
        /// driver requires.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> crate::status::Status {
            crate::entries::entry::answer(stringify!($name), |$driver| $body)
        }
    )*};
}

pub(crate) use entries;
