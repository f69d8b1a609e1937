//! Describes the array leaves of a program's parameters and result, and the memory of each leaf.

use std::collections::HashMap;
use std::sync::Arc;

use fusebox_core::hlo::{ArrayShape, Shape};

use crate::{AllocationKind, Binding, Executable, Slice};

/// The array leaves of all parameters and of the result.
#[derive(Debug)]
pub struct Interface {
    /// The array leaves of all parameters, in order.
    pub inputs: Vec<Input>,
    /// The array leaves of the result, in order.
    pub outputs: Vec<Output>,
    /// The allocations that each execution allocates for its results.
    pub results: Vec<u32>,
}

/// An array leaf of a parameter. The leaf occupies a whole allocation.
#[derive(Debug)]
pub struct Input {
    /// The allocation of the input. An execution uses the memory of the caller's buffer as this
    /// allocation.
    pub allocation: u32,
    /// The shape. For a dynamic dimension, the shape states the bound.
    pub shape: Arc<ArrayShape>,
    /// Whether an execution may overwrite the array.
    pub is_donated: bool,
    /// The dynamic dimensions, each with the slice to which an execution writes the actual size.
    pub sizes: Vec<(usize, Slice)>,
}

/// An array leaf of the result.
#[derive(Debug)]
pub struct Output {
    /// The bytes of the array.
    pub slice: Slice,
    /// The shape. For a dynamic dimension, the shape states the bound.
    pub shape: Arc<ArrayShape>,
    /// The memory that contains the slice.
    pub origin: Origin,
    /// The dynamic dimensions, each with the slice that holds its actual size.
    pub sizes: Vec<(usize, Slice)>,
}

/// The memory that holds a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The memory for the allocation with this index in [`Interface::results`].
    Result(usize),
    /// The memory of the input with this number.
    Input(usize),
    /// The memory of a constant.
    Constant,
    /// The actual size of a dynamic dimension of an input. The result is a copy of this size,
    /// because the next execution writes another size to the same memory.
    Size,
}

/// The memory of results that are parameters: the parameter's memory, or separate memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResultMemory {
    /// The result shares the memory of the parameter.
    #[default]
    Shared,
    /// A result that is a parameter is a copy of the parameter. For each donated parameter, the
    /// first result that is this parameter is not a copy. So results that are parameters share no
    /// memory.
    Separate,
}

impl Interface {
    /// Returns the interface of a checked executable.
    pub fn of(executable: &Executable) -> Interface {
        let kind = |slice: &Slice| &executable.allocations[slice.allocation as usize].kind;
        let mut inputs = Vec::new();
        for binding in &executable.parameters {
            for (slice, shape, sizes) in leaves(binding) {
                let is_donated = *kind(&slice) == AllocationKind::Donated;
                inputs.push(Input { allocation: slice.allocation, shape, is_donated, sizes });
            }
        }
        let input_of: HashMap<u32, usize> = inputs.iter().map(|input| input.allocation).zip(0..).collect();
        let is_result = |&number: &u32| executable.allocations[number as usize].kind == AllocationKind::Result;
        let results: Vec<u32> = (0..executable.allocations.len() as u32).filter(is_result).collect();
        let origin = |slice: &Slice| {
            let result = results.binary_search(&slice.allocation).ok().map(Origin::Result);
            let input = || input_of.get(&slice.allocation).copied().map(Origin::Input);
            let is_constant = matches!(kind(slice), AllocationKind::Constant(_));
            result.or_else(input).unwrap_or(if is_constant { Origin::Constant } else { Origin::Size })
        };
        let output = |(slice, shape, sizes)| Output { slice, shape, origin: origin(&slice), sizes };
        let outputs = leaves(&executable.result).into_iter().map(output).collect();
        Interface { inputs, outputs, results }
    }
}

/// The slice, the shape and the dynamic dimensions of an array leaf.
type Leaf = (Slice, Arc<ArrayShape>, Vec<(usize, Slice)>);

/// Returns the array leaves of a parameter or of the result.
fn leaves(binding: &Binding) -> Vec<Leaf> {
    let shape = binding.to_shape().unwrap_or(Shape::Token);
    let arrays = shape.leaves().into_iter().filter_map(Shape::as_array);
    let leaf = |((number, shape), slice): ((usize, &ArrayShape), &Slice)| {
        let sizes = binding.sizes.iter().filter(|size| size.leaf as usize == number);
        (*slice, Arc::new(shape.clone()), sizes.map(|size| (size.dimension as usize, size.at)).collect())
    };
    arrays.enumerate().zip(&binding.leaves).map(leaf).collect()
}
