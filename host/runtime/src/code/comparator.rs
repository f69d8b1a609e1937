//! Compiled comparators of sorts.

use std::ffi::c_void;

use fusebox_core::hlo::Shape;
use fusebox_routines::Comparator;

use super::kernel::CpuFunction;
use super::loader::LoadedObject;
use crate::{HostKernel, LoadError};

/// A comparator that is loaded and can be called.
#[derive(Debug)]
pub struct CompiledComparator {
    function: CpuFunction,
    /// For each operand of the sort, the size of an element in bytes.
    element_bytes: Vec<usize>,
    /// Keeps the code of `function` mapped.
    _object: LoadedObject,
}

impl CompiledComparator {
    /// Loads the comparator of a sort whose operands have the shapes `operands`. Fails if the
    /// object cannot be linked or lacks the function.
    pub fn load(kernel: &HostKernel, operands: &[Shape]) -> Result<CompiledComparator, LoadError> {
        let object = LoadedObject::load(&kernel.object, &[], &|_| None)?;
        let missing = || LoadError::Object(format!("kernel {} is not in its object", kernel.symbol));
        let address = object.function(&kernel.symbol).ok_or_else(missing)?;
        // SAFETY: the compiler emits this signature for kernels that run on the host's processor.
        let function = unsafe { std::mem::transmute::<*const u8, CpuFunction>(address) };
        let arrays = operands.iter().filter_map(Shape::as_array);
        let element_bytes = arrays.map(|array| array.element_type.byte_size()).collect();
        Ok(CompiledComparator { function, element_bytes, _object: object })
    }
}

impl Comparator for CompiledComparator {
    fn on<'a>(&'a self, lines: &'a [&'a [u8]]) -> Box<dyn FnMut(usize, usize) -> bool + 'a> {
        let lengths = lines.iter().zip(&self.element_bytes).map(|(line, bytes)| line.len() / bytes);
        let length = if lines.len() == self.element_bytes.len() { lengths.min().unwrap_or(0) } else { 0 };
        let mut places = vec![std::ptr::null_mut::<c_void>(); 2 * lines.len() + 1];
        Box::new(move |first, second| {
            if first >= length || second >= length {
                return false;
            }
            let mut is_before = 0u8;
            for ((places, line), bytes) in places.chunks_exact_mut(2).zip(lines).zip(&self.element_bytes) {
                let place = |at: usize| line[at * bytes..].as_ptr().cast_mut().cast();
                (places[0], places[1]) = (place(first), place(second));
            }
            if let Some(result) = places.last_mut() {
                *result = (&raw mut is_before).cast();
            }
            // SAFETY: the kernel reads one element through each pointer except the last, and writes
            // one byte through the last pointer. `places` has exactly these pointers. The kernel
            // accepts unaligned pointers and does not keep them.
            unsafe { (self.function)(places.as_ptr(), 0, 1) };
            is_before & 1 == 1
        })
    }
}
