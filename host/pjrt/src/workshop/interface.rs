//! The interface of the tools: a call has a request in JSON, a program and arrays. The reply is
//! JSON or the message of an error.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fusebox_compiler::{Format, Source};
use fusebox_core::hlo::{ArrayLiteral, Module, Shape};
use fusebox_run::inputs::InputChoice;
use fusebox_workshop::WorkshopError;
use fusebox_workshop::case::Case;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::abi::panic_message;
use crate::element::extend;
use crate::error::{Answer, Error};
use crate::options::UserOptions;

/// Bytes of the caller.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CallerBytes {
    data: *const u8,
    length: usize,
}

/// A call of a tool.
#[repr(C)]
pub struct ToolCall {
    /// The request in JSON.
    request: CallerBytes,
    /// The program, a portable artifact of StableHLO.
    program: CallerBytes,
    /// The elements of the arguments, each in row-major order.
    arrays: *const CallerBytes,
    count: usize,
}

/// The reply of a tool. The code is 0 if `text` is JSON. If `text` is the message of an error, the
/// code is the code of this error.
#[repr(C)]
pub struct Reply {
    code: i32,
    text: *mut u8,
    length: usize,
}

/// Options by name.
pub type NamedOptions = BTreeMap<String, String>;

/// A call of a tool, with slices instead of pointers.
pub struct Request<'c> {
    json: &'c [u8],
    program: &'c [u8],
    arrays: Vec<&'c [u8]>,
}

/// Calls a tool. A panic of the tool becomes an error.
///
/// # Safety
/// `call` is null or points to a call whose bytes are valid. `reply` points to memory for a reply,
/// which the caller passes to [`freed`] once.
pub unsafe fn answer(tool: fn(&Request<'_>) -> Answer<Value>, call: *const ToolCall, reply: *mut Reply) {
    let guarded = || {
        // SAFETY: the caller's promise.
        tool(&unsafe { Request::of(call) }?)
    };
    let outcome = catch_unwind(AssertUnwindSafe(guarded))
        .unwrap_or_else(|panic| Err(Error::internal(format!("fusebox has a bug: {}", panic_message(&*panic)))));
    let (code, text) = match outcome {
        Ok(value) => (0, value.to_string()),
        Err(error) => (error.code.0, error.message),
    };
    let text = Box::leak(text.into_bytes().into_boxed_slice());
    // SAFETY: the caller's promise.
    unsafe { reply.write(Reply { code, text: text.as_mut_ptr(), length: text.len() }) };
}

/// Frees a reply.
///
/// # Safety
/// `reply` points to a reply that [`answer`] has written and that was not freed before.
pub unsafe fn freed(reply: *mut Reply) {
    // SAFETY: the text is the leaked box of `answer`.
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut((*reply).text, (*reply).length)) });
}

impl CallerBytes {
    /// # Safety
    /// The bytes are valid for `'c`.
    unsafe fn get<'c>(self) -> &'c [u8] {
        if self.length == 0 {
            return &[];
        }
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.data, self.length) }
    }
}

impl<'c> Request<'c> {
    /// # Safety
    /// `call` is null or points to a call whose bytes are valid for `'c`.
    unsafe fn of(call: *const ToolCall) -> Answer<Request<'c>> {
        // SAFETY: the caller's promise.
        let call = unsafe { call.as_ref() }.ok_or_else(|| Error::misuse("the call is null"))?;
        let numbers = 0..call.count;
        // SAFETY: the caller's promise.
        let arrays = numbers.map(|number| unsafe { (*call.arrays.add(number)).get() }).collect();
        // SAFETY: the caller's promise.
        Ok(unsafe { Request { json: call.request.get(), program: call.program.get(), arrays } })
    }

    /// Reads the request.
    pub fn read<T: DeserializeOwned>(&self) -> Answer<T> {
        serde_json::from_slice(self.json).map_err(|error| Error::misuse(format!("a request of a tool: {error}")))
    }

    /// Returns the program.
    pub fn source(&self, name: &str) -> Source {
        Source::new(name.into(), self.program.to_vec(), Format::Stablehlo)
    }

    /// Returns the arguments as inputs of the program.
    pub fn inputs(&self, module: &Module) -> Answer<InputChoice> {
        let parameters = Case::parameters(module);
        if parameters.iter().any(|shape| !matches!(shape, Shape::Array(_))) {
            return Err(Error::unimplemented("the program has ordered effects, so it cannot be repeated"));
        }
        let (wanted, given) = (parameters.len(), self.arrays.len());
        if wanted != given {
            return Err(Error::invalid(format!("the program takes {wanted} arguments, {given} are given")));
        }
        let array = |((number, shape), bytes): ((usize, &Shape), &&[u8])| {
            let shape = shape.as_array().ok_or_else(|| Error::internal("a parameter is no array"))?;
            let mut bytes = bytes.to_vec();
            extend(shape.element_type, &mut bytes);
            ArrayLiteral::new(shape.element_type, shape.dims.clone(), bytes).map_err(|wanted| {
                Error::invalid(format!("argument {number} has {} bytes, not {wanted}", self.arrays[number].len()))
            })
        };
        let arrays = parameters.iter().enumerate().zip(&self.arrays).map(array).collect::<Answer<Vec<_>>>()?;
        Ok(InputChoice { arrays: Some(arrays.into()), ..InputChoice::default() })
    }
}

/// Reads the options from the environment variables, and adds `options`, which are those of one
/// program.
pub fn user_options(options: NamedOptions) -> Answer<UserOptions> {
    UserOptions::of_environment()?.with(options)
}

/// Returns the text that `write` writes.
pub fn text(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Answer<String> {
    let mut text = Vec::new();
    write(&mut text).map_err(|error| Error::internal(error.to_string()))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

impl From<WorkshopError> for Error {
    fn from(error: WorkshopError) -> Error {
        match error {
            WorkshopError::Compile(error) => error.into(),
            WorkshopError::Load(error) => error.into(),
            WorkshopError::Run(error) => error.into(),
            other => Error::invalid(other.to_string()),
        }
    }
}
