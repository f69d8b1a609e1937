//! Implements `sort`, which sorts one or more arrays along one dimension by a comparator. A line
//! consists of the elements along the sorted dimension. The lines at the same position in all
//! arrays undergo the same permutation.
//!
//! ```text
//! comparator   the keys that the comparator compares
//! by_values    one array whose keys determine the values: sorts keys and decodes values
//! by_index     sorts keys with their positions, then permutes all arrays
//! radix        radix sort of words by some of their bytes
//! network      sorts several lines at once, one per vector lane
//! merge        merge sort by any comparator
//! ```
//!
//! Every sort is stable, even if the operation does not require a stable sort. So the results do
//! not depend on the choice of the sorting algorithm.

mod by_index;
mod by_values;
mod comparator;
mod merge;
mod network;
mod radix;

use std::sync::Arc;

use fusebox_core::hlo::{ArrayShape, Computation, ComputationId, Op};

use crate::lines::{AlignedMemory, LineDecomposition, for_each_part, transpose};
use crate::{Companions, Comparator, Context, Operation, Routine, RoutineError, Unsupported, Workers};

use by_index::ByIndex;
use by_values::ByValues;

/// Approximate number of elements per part of the work. A part has at least one whole line.
const PART: usize = 1 << 15;

#[derive(Debug)]
struct Sort {
    lines: LineDecomposition,
    /// For each array, the size of an element in bytes.
    element_bytes: Vec<usize>,
    by: SortMethod,
}

#[derive(Debug)]
enum SortMethod {
    Values(ByValues),
    Index(ByIndex),
}

/// Returns the comparator's computation if the compiler must compile it, because the keys of the
/// comparator are not recognised.
pub fn comparator_to_compile(operation: &Operation) -> Option<ComputationId> {
    let Op::Sort { to_apply, .. } = operation.instruction.op else { return None };
    let comparator = operation.module.computation(to_apply);
    comparator::keys(comparator, &operation.arguments()).is_none().then_some(to_apply)
}

/// Creates the routine of `sort`. If the keys of the operation's comparator are not recognised, the
/// routine calls the compiled comparator.
pub fn make(operation: &Operation, companions: &Companions) -> Result<Box<dyn Routine>, Unsupported> {
    let Op::Sort { dimension, to_apply, .. } = operation.instruction.op else {
        return Err(Unsupported::new("a sort that is none"));
    };
    let arrays = operation.arguments();
    let first = operation.argument(0)?;
    if arrays.iter().any(|array| array.dims != first.dims) {
        return Err(Unsupported::new("sorting arrays of different sizes together"));
    }
    let lines = LineDecomposition::of(first, dimension)?;
    if u32::try_from(lines.length).is_err() {
        return Err(Unsupported::new("sorting lines of more than 2^32 elements"));
    }
    let by = by(operation.module.computation(to_apply), &arrays, companions.comparator.clone())?;
    let element_bytes = arrays.iter().map(|array| array.element_type.byte_size()).collect();
    Ok(Box::new(Sort { lines, element_bytes, by }))
}

fn by(
    comparator: &Computation,
    arrays: &[&ArrayShape],
    compiled: Option<Arc<dyn Comparator>>,
) -> Result<SortMethod, Unsupported> {
    let wanted = || Unsupported::new("sort by a comparator that is not compiled");
    Ok(match comparator::keys(comparator, arrays) {
        None => SortMethod::Index(ByIndex::compiled(compiled.ok_or_else(wanted)?)),
        Some(keys) => match (&keys[..], arrays) {
            ([key], [_]) if key.stride == 1 => SortMethod::Values(ByValues::new(key.clone())),
            _ => SortMethod::Index(ByIndex::keys(keys)),
        },
    })
}

impl Routine for Sort {
    fn run(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], context: &Context<'_>) -> Result<(), RoutineError> {
        let workers = context.workers;
        let LineDecomposition { length, inner, .. } = self.lines;
        let fits = arguments.iter().zip(results.iter()).all(|(argument, result)| argument.len() == result.len());
        if !fits || [arguments.len(), results.len()] != [self.element_bytes.len(); 2] {
            return Err(RoutineError::Buffer);
        }
        if self.lines.are_trivial() {
            results.iter_mut().zip(arguments).for_each(|(result, argument)| result.copy_from_slice(argument));
            return Ok(());
        }
        if inner == 1 {
            return self.last_dimension(arguments, results, workers);
        }
        let memory = |bytes: &[u8]| AlignedMemory::zeroed(bytes.len());
        let mut lines = arguments.iter().map(|bytes| memory(bytes)).collect::<Result<Vec<_>, _>>()?;
        let mut sorted = arguments.iter().map(|bytes| memory(bytes)).collect::<Result<Vec<_>, _>>()?;
        for ((lines, argument), &bytes) in lines.iter_mut().zip(arguments).zip(&self.element_bytes) {
            transpose(argument, lines.bytes_mut(), (length, inner), bytes, workers)?;
        }
        let arrays: Vec<&[u8]> = lines.iter().map(AlignedMemory::bytes).collect();
        self.last_dimension(
            &arrays,
            &mut sorted.iter_mut().map(AlignedMemory::bytes_mut).collect::<Vec<_>>(),
            workers,
        )?;
        for ((result, sorted), &bytes) in results.iter_mut().zip(&sorted).zip(&self.element_bytes) {
            transpose(sorted.bytes(), result, (inner, length), bytes, workers)?;
        }
        Ok(())
    }

    fn describe(&self) -> String {
        match &self.by {
            SortMethod::Values(by) => by.describe(),
            SortMethod::Index(by) => by.describe(),
        }
    }
}

impl Sort {
    fn last_dimension(
        &self,
        arrays: &[&[u8]],
        results: &mut [&mut [u8]],
        workers: &dyn Workers,
    ) -> Result<(), RoutineError> {
        let LineDecomposition { length, .. } = self.lines;
        if length >= radix::LONG {
            return self.long_lines(arrays, results, workers);
        }
        for_each_part(workers, self.lines, PART, arrays, results, |arrays, results| match &self.by {
            SortMethod::Values(by) => by.lines(arrays, results, length),
            SortMethod::Index(by) => by.lines(arrays, results, length, &self.element_bytes),
        })
    }

    fn long_lines(
        &self,
        arrays: &[&[u8]],
        results: &mut [&mut [u8]],
        workers: &dyn Workers,
    ) -> Result<(), RoutineError> {
        let LineDecomposition { length, .. } = self.lines;
        for line in 0..self.lines.count() {
            let part = |bytes: usize| line * length * bytes..(line + 1) * length * bytes;
            let sizes = self.element_bytes.iter();
            let arrays: Vec<&[u8]> = arrays.iter().zip(sizes.clone()).map(|(array, &b)| &array[part(b)]).collect();
            let mut results: Vec<&mut [u8]> =
                results.iter_mut().zip(sizes).map(|(result, &b)| &mut result[part(b)]).collect();
            match &self.by {
                SortMethod::Values(by) => by.long_line(&arrays, &mut results, workers)?,
                SortMethod::Index(by) => by.long_line(&arrays, &mut results, &self.element_bytes, workers)?,
            }
        }
        Ok(())
    }
}
