//! The entry point of every function of the interface, and the errors that entry points return.

use std::any::Any;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::types::{Header, Text, read_struct};
use crate::error::{Answer, Error};

/// The struct with the arguments of a function. Any bytes must be valid values of the struct's
/// fields, because a caller does not initialise the fields for results.
pub trait Arguments: Sized {
    /// The function's name in the interface.
    const NAME: &'static str;
}

/// A function of the interface. The function reads its arguments from fields of a struct and writes
/// its results to other fields of this struct.
pub trait Call: Arguments {
    fn call(&mut self) -> Answer;
}

/// Defines structs of arguments. Each definition states the struct's name in Rust, the function's
/// name in the interface, and the fields after the header.
macro_rules! arguments {
    ($($(#[$doc:meta])* $name:ident($function:literal) { $($field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[repr(C)]
        pub struct $name {
            header: $crate::abi::Header,
            $(pub $field: $type,)*
        }

        impl $crate::abi::Arguments for $name {
            const NAME: &'static str = $function;
        }
    )*};
}
pub(crate) use arguments;

/// Calls a function on the caller's struct. If the struct is shorter than this version of the
/// interface defines it, calls the function on a copy of the struct and then copies the struct
/// back. In the copy, a field that the caller's struct lacks is zero. A result for which the
/// caller's struct has no field is dropped. A panic of the function becomes an error.
///
/// # Safety
/// `arguments` is null or points to the function's struct, whose pointers follow the rules of the
/// interface.
pub unsafe extern "C" fn entry<A: Call>(arguments: *mut A) -> *mut ErrorObject {
    // SAFETY: the caller's promise.
    let call = || unsafe { guarded(arguments) };
    let error = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => return std::ptr::null_mut(),
        Ok(Err(Error { code, message, is_misuse: true })) => Error::new(code, format!("{}: {message}", A::NAME)),
        Ok(Err(error)) => error,
        Err(panic) => Error::internal(format!("{}: fusebox has a bug: {}", A::NAME, panic_message(&*panic))),
    };
    ErrorObject::of(error)
}

unsafe fn guarded<A: Call>(arguments: *mut A) -> Answer {
    if arguments.is_null() {
        return Err(Error::misuse("a pointer to a struct is null"));
    }
    // SAFETY: the struct begins with its size.
    let size = unsafe { arguments.cast::<usize>().read_unaligned() };
    if size >= size_of::<A>() && arguments.is_aligned() {
        // SAFETY: the caller's struct has all fields, any bytes are valid for them, and the caller
        // does not use the struct during the call.
        return unsafe { &mut *arguments }.call();
    }
    // SAFETY: the caller's promise, as above.
    let mut own = unsafe { read_struct(arguments.cast_const()) }?;
    if size < size_of::<Header>() {
        return Err(Error::misuse(format!("the arguments have a size of {size} bytes, which is no struct")));
    }
    let outcome = own.call();
    // SAFETY: the caller's struct has `size` bytes.
    unsafe {
        std::ptr::copy_nonoverlapping((&raw const own).cast::<u8>(), arguments.cast(), size.min(size_of::<A>()));
    }
    outcome
}

/// Returns the message of a panic.
pub fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown panic")
}

/// An error as callers see it. The first word of an error points to the table of the error's
/// functions.
#[repr(C)]
pub struct ErrorObject {
    functions: *const ErrorFunctions,
    error: Error,
}

/// The table of the functions that a caller calls for an error.
#[repr(C)]
struct ErrorFunctions {
    size: usize,
    instance_size: usize,
    extension: *const c_void,
    destroy: unsafe extern "C" fn(*mut ErrorDestroy) -> *mut ErrorObject,
    message: unsafe extern "C" fn(*mut ErrorMessage) -> *mut ErrorObject,
    get_code: unsafe extern "C" fn(*mut ErrorGetCode) -> *mut ErrorObject,
    for_each_payload: unsafe extern "C" fn(*mut ErrorForEachPayload) -> *mut ErrorObject,
}

// SAFETY: the only pointer is null.
unsafe impl Sync for ErrorFunctions {}

static ERROR_FUNCTIONS: ErrorFunctions = ErrorFunctions {
    size: size_of::<ErrorFunctions>(),
    instance_size: size_of::<ErrorObject>(),
    extension: std::ptr::null(),
    destroy: entry::<ErrorDestroy>,
    message: entry::<ErrorMessage>,
    get_code: entry::<ErrorGetCode>,
    for_each_payload: entry::<ErrorForEachPayload>,
};

impl ErrorObject {
    /// Hands an error over to the caller.
    pub fn of(error: Error) -> *mut ErrorObject {
        Box::into_raw(Box::new(ErrorObject { functions: &raw const ERROR_FUNCTIONS, error }))
    }
}

arguments! {
    ErrorDestroy("PJRT_Error_Destroy") { error: *mut ErrorObject, }
    ErrorMessage("PJRT_Error_Message") { error: *const ErrorObject, message: Text, }
    ErrorGetCode("PJRT_Error_GetCode") { error: *const ErrorObject, code: i32, }
    ErrorForEachPayload("PJRT_Error_ForEachPayload") {
        error: *const ErrorObject,
        visitor: *const c_void,
        user_argument: *mut c_void,
    }
}

/// Returns the error behind a caller's pointer.
///
/// # Safety
/// The pointer is null, or [`entry`] has returned it and the caller has not destroyed the error.
unsafe fn error<'a>(object: *const ErrorObject) -> Answer<&'a Error> {
    // SAFETY: the caller's promise.
    let object = unsafe { object.as_ref() };
    object.map(|object| &object.error).ok_or_else(|| Error::misuse("the error is null"))
}

impl Call for ErrorDestroy {
    fn call(&mut self) -> Answer {
        if !self.error.is_null() {
            // SAFETY: the pointer comes from `ErrorObject::of`, and a caller destroys an error
            // once.
            drop(unsafe { Box::from_raw(self.error) });
        }
        Ok(())
    }
}

impl Call for ErrorMessage {
    fn call(&mut self) -> Answer {
        // SAFETY: the rule of the interface.
        self.message = Text::of(&unsafe { error(self.error) }?.message);
        Ok(())
    }
}

impl Call for ErrorGetCode {
    fn call(&mut self) -> Answer {
        // SAFETY: the rule of the interface.
        self.code = unsafe { error(self.error) }?.code.0;
        Ok(())
    }
}

impl Call for ErrorForEachPayload {
    /// Errors of fusebox have no payloads, so this function does not call the visitor.
    fn call(&mut self) -> Answer {
        // SAFETY: the rule of the interface.
        unsafe { error(self.error) }.map(|_| ())
    }
}
