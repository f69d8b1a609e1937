//! Foreign functions: functions of XLA's interface that users register with `jax.ffi`, and that
//! JAX's own libraries contain.
//!
//! The Python package passes the addresses of a foreign function's stages to
//! [`FuseboxRegisterForeignFunction`]. Programs call a foreign function by its name
//! (`host/routines/src/foreign.rs`).

mod abi;
mod api;
mod frame;

use std::ffi::c_void;
use std::sync::Arc;

use fusebox_core::hlo::ArrayShape;
use fusebox_routines::{ForeignCall, ForeignFunction, PreparedCall, Workers, register_foreign_function};

use self::abi::{
    EXECUTE, Handler, INITIALIZE, INSTANTIATE, METADATA, Metadata, MetadataExtension, PREPARE, VERSION, Version,
};
use self::api::{CallContext, ForeignError, Future, States};
use self::frame::{ArrayList, Attributes, frame};
use crate::abi::Header;
use crate::strides::{copy, dense};

/// The addresses of the functions for the stages of a foreign function. Only the function for the
/// last stage, `execute`, must exist.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Stages {
    instantiate: Option<Handler>,
    prepare: Option<Handler>,
    initialize: Option<Handler>,
    execute: Option<Handler>,
}

/// A registered function.
struct Registered {
    stages: Stages,
    execute: Handler,
}

impl ForeignFunction for Registered {
    fn prepare(&self, call: &ForeignCall) -> Result<Box<dyn PreparedCall>, String> {
        let prepared = Prepared {
            stages: self.stages,
            execute: self.execute,
            operands: Layouts::new(&call.operands)?,
            results: Layouts::new(&call.results)?,
            attributes: Attributes::new(&call.attributes)?,
            states: Arc::default(),
        };
        if let Some(instantiate) = self.stages.instantiate {
            let none = ArrayList::new(&[], &[]);
            prepared.stage(instantiate, INSTANTIATE, &CallContext::of(&prepared.states), (&none, &none))?;
        }
        Ok(Box::new(prepared))
    }
}

/// A call of a registered function.
struct Prepared {
    stages: Stages,
    execute: Handler,
    operands: Layouts,
    results: Layouts,
    attributes: Attributes,
    /// The states that the foreign function has stored for all executions of the call.
    states: Arc<States>,
}

impl PreparedCall for Prepared {
    fn execute(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], _: &dyn Workers) -> Result<(), String> {
        let operands = self.operands.scratch();
        let mut operand_addresses = Vec::new();
        for (at, (argument, mut scratch)) in arguments.iter().zip(operands).enumerate() {
            // Functions do not write operands, although the interface has no constant arrays.
            let mut address = argument.as_ptr().cast_mut().cast::<c_void>();
            if let Some(scratch) = &mut scratch {
                address = scratch.as_mut_ptr().cast();
                self.operands.copy(at, (argument.as_ptr(), false), address.cast());
            }
            operand_addresses.push((address, scratch));
        }
        let results_scratch = self.results.scratch();
        let mut result_addresses = Vec::new();
        for (result, mut scratch) in results.iter_mut().zip(results_scratch) {
            let own = result.as_mut_ptr().cast::<c_void>();
            let address = scratch.as_mut().map_or(own, |scratch| scratch.as_mut_ptr().cast());
            result_addresses.push((address, scratch));
        }
        let addresses = |list: &[(*mut c_void, Option<Vec<u128>>)]| list.iter().map(|(it, _)| *it).collect::<Vec<_>>();
        let operands = ArrayList::new(&self.operands.shapes, &addresses(&operand_addresses));
        let result_list = ArrayList::new(&self.results.shapes, &addresses(&result_addresses));
        let context = CallContext::of(&self.states);
        let stages =
            [(self.stages.prepare, PREPARE), (self.stages.initialize, INITIALIZE), (Some(self.execute), EXECUTE)];
        for (handler, stage) in stages {
            handler.map_or(Ok(()), |handler| self.stage(handler, stage, &context, (&operands, &result_list)))?;
        }
        for (at, (result, (address, scratch))) in results.iter_mut().zip(&result_addresses).enumerate() {
            if scratch.is_some() {
                self.results.copy(at, (address.cast_const().cast(), true), result.as_mut_ptr());
            }
        }
        Ok(())
    }
}

impl Prepared {
    /// Calls the function of a stage, and waits until the function's work is complete.
    fn stage(
        &self,
        handler: Handler,
        stage: i32,
        context: &CallContext,
        arrays: (&ArrayList, &ArrayList),
    ) -> Result<(), String> {
        let mut frame = frame(stage, (&raw const *context).cast_mut().cast(), arrays, &self.attributes);
        // SAFETY: the frame has the form of the interface, and all its parts outlive the call.
        let error = unsafe { ForeignError::taken(handler(&raw mut frame)) };
        if let Some(error) = error {
            return Err(error.message());
        }
        if frame.future.is_null() {
            return Ok(());
        }
        // SAFETY: the function has made this future for this call.
        unsafe { Future::wait(frame.future) }
    }
}

/// Arrays with the layouts in which a function reads or writes them.
struct Layouts {
    shapes: Vec<ArrayShape>,
    /// For each array that is not row-major, its strides and the strides of a row-major array with
    /// the same dimensions, in bytes. For a row-major array, `None`.
    strides: Vec<Option<(Vec<i64>, Vec<i64>)>>,
}

impl Layouts {
    fn new(shapes: &[ArrayShape]) -> Result<Layouts, String> {
        let strides = shapes.iter().map(|shape| {
            let rows: Vec<i64> = (0..shape.rank() as i64).rev().collect();
            let order = shape.layout.as_ref().map(|layout| &layout.minor_to_major);
            let order: Vec<i64> =
                order.map_or_else(|| rows.clone(), |order| order.iter().map(|&dim| dim as i64).collect());
            let width = shape.element_type.byte_size();
            let strides = |order: &[i64]| dense(&shape.dims, order, width).map_err(|error| error.message);
            let (own, usual) = (strides(&order)?, strides(&rows)?);
            Ok(if crate::strides::are_equal(&shape.dims, &own, &usual) { None } else { Some((own, usual)) })
        });
        let strides = strides.collect::<Result<_, String>>()?;
        Ok(Layouts { shapes: shapes.to_vec(), strides })
    }

    /// Allocates memory for a copy of each array that is not row-major.
    fn scratch(&self) -> impl Iterator<Item = Option<Vec<u128>>> + '_ {
        self.shapes.iter().zip(&self.strides).map(|(shape, strides)| {
            let words = (shape.byte_size() as usize).div_ceil(size_of::<u128>());
            strides.as_ref().map(|_| vec![0; words.max(1)])
        })
    }

    /// Copies array `at` from its own layout to the row-major layout, or in the other direction.
    /// `from.1` states whether the source has the array's own layout.
    fn copy(&self, at: usize, from: (*const u8, bool), to: *mut u8) {
        let Some((own, usual)) = &self.strides[at] else { return };
        let (source, target) = if from.1 { (own, usual) } else { (usual, own) };
        let shape = &self.shapes[at];
        // SAFETY: both memories have the bytes of the array, and do not overlap.
        unsafe { copy(&shape.dims, shape.element_type.byte_size(), (from.0, source), (to, target)) };
    }
}

/// Registers a function under a name. `stages` contains the addresses of the functions for the
/// stages of the registered function. If an error occurs, writes the error's message to `message`
/// and returns the length of the message; otherwise returns 0.
///
/// # Safety
/// The name has `name_bytes` bytes, the message has room for `capacity` bytes, and the functions
/// are those of XLA's interface and exist as long as the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn FuseboxRegisterForeignFunction(
    name: *const u8,
    name_bytes: usize,
    stages: *const Stages,
    message: *mut u8,
    capacity: usize,
) -> usize {
    // SAFETY: the caller's promise.
    let (name, stages) = unsafe { (std::slice::from_raw_parts(name, name_bytes), *stages) };
    let outcome = match stages.execute {
        Some(execute) => fits(execute).map(|()| {
            register_foreign_function(&String::from_utf8_lossy(name), Arc::new(Registered { stages, execute }));
        }),
        None => Err("a foreign function without the stage `execute`".to_owned()),
    };
    let text = outcome.err().unwrap_or_default();
    let length = text.len().min(capacity);
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), message, length) };
    length
}

/// Asks a function for its version of the interface, and refuses versions that fusebox does not
/// have.
fn fits(handler: Handler) -> Result<(), String> {
    let mut metadata = Metadata {
        size: size_of::<Metadata>(),
        version: Version { header: Header::of(size_of::<Version>()), major: VERSION.0, minor: VERSION.1 },
        traits: 0,
        state_type: 0,
    };
    let mut extension = MetadataExtension {
        size: size_of::<MetadataExtension>(),
        kind: METADATA,
        next: std::ptr::null_mut(),
        metadata: &raw mut metadata,
    };
    let (none, no_attributes) = (ArrayList::new(&[], &[]), Attributes::new(&[])?);
    let context = CallContext::of(&Arc::default());
    let mut frame = frame(EXECUTE, (&raw const context).cast_mut().cast(), (&none, &none), &no_attributes);
    frame.header = Header::with_extension(frame.header.size, (&raw mut extension).cast());
    // SAFETY: the frame has the form of the interface, and asks for facts only.
    if let Some(error) = unsafe { ForeignError::taken(handler(&raw mut frame)) } {
        return Err(error.message());
    }
    let (major, minor) = (metadata.version.major, metadata.version.minor);
    if (major, minor) > VERSION || major != VERSION.0 {
        let (own, of_own) = VERSION;
        return Err(format!(
            "a foreign function of version {major}.{minor} of XLA's interface; fusebox has {own}.{of_own}"
        ));
    }
    Ok(())
}
