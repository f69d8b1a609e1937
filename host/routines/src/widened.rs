//! Adapts routines on `f32` to narrower floats: widens the arguments to `f32`, and rounds the
//! results.

use fusebox_core::hlo::{ElementType, FloatFormat};

use crate::{Context, Routine, RoutineError, Unsupported, scratch};

/// A routine whose arguments and results have a narrow float type. The routine executes another
/// routine, on `f32`.
#[derive(Debug)]
struct WidenedRoutine {
    inner: Box<dyn Routine>,
    format: FloatFormat,
    /// Size of an element of the narrow type in bytes.
    width: usize,
}

/// Adapts a routine on `f32` to arguments and results with elements of type `ty`.
pub fn widened(inner: Box<dyn Routine>, ty: ElementType) -> Result<Box<dyn Routine>, Unsupported> {
    let format = FloatFormat::of(ty).ok_or_else(|| Unsupported::new(format!("an array of {ty} computed in f32")))?;
    Ok(Box::new(WidenedRoutine { inner, format, width: ty.byte_size() }))
}

impl WidenedRoutine {
    fn widen(&self, bytes: &[u8]) -> Result<Vec<f32>, RoutineError> {
        let mut values = scratch(bytes.len() / self.width)?;
        for (value, element) in values.iter_mut().zip(bytes.chunks_exact(self.width)) {
            let bits = element.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
            *value = self.format.decode(bits) as f32;
        }
        Ok(values)
    }
}

impl Routine for WidenedRoutine {
    fn run(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], context: &Context<'_>) -> Result<(), RoutineError> {
        let wide = arguments.iter().map(|bytes| self.widen(bytes)).collect::<Result<Vec<_>, _>>()?;
        let counts = results.iter().map(|result| result.len() / self.width);
        let mut found = counts.map(scratch::<f32>).collect::<Result<Vec<_>, _>>()?;
        let arguments: Vec<&[u8]> = wide.iter().map(|values| bytemuck::cast_slice(values)).collect();
        let mut wide_results: Vec<&mut [u8]> =
            found.iter_mut().map(|values| bytemuck::cast_slice_mut(values)).collect();
        self.inner.run(&arguments, &mut wide_results, context)?;
        for (result, values) in results.iter_mut().zip(&found) {
            for (element, value) in result.chunks_exact_mut(self.width).zip(values) {
                let bits = self.format.encode(f64::from(*value)).to_le_bytes();
                element.copy_from_slice(&bits[..element.len()]);
            }
        }
        Ok(())
    }

    fn needs_subnormals(&self) -> bool {
        self.inner.needs_subnormals()
    }

    fn describe(&self) -> String {
        format!("{}, in f32", self.inner.describe())
    }
}
