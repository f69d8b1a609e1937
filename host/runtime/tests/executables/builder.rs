//! Builds executables by hand.

use fusebox_core::hlo::ElementType;
use fusebox_runtime::{
    Access, Allocation, AllocationKind, Binding, CodeImage, Executable, KernelArgument, KernelImage, Slice, Target,
    Thunk, ValueShape,
};

use super::assembler::{Function, object};

/// Returns an executable without parameters and without a result.
pub fn executable(target: Target, functions: &[Function]) -> Executable {
    Executable {
        name: "test".into(),
        target,
        instruction_sets: Vec::new(),
        code: vec![CodeImage::Object { bytes: object(functions), sites: vec!["store".into()] }],
        kernels: Vec::new(),
        host_ops: Vec::new(),
        allocations: Vec::new(),
        thunks: Vec::new(),
        parameters: Vec::new(),
        result: Binding { shape: ValueShape::Tuple(Vec::new()), leaves: Vec::new(), sizes: Vec::new() },
    }
}

/// Adds an allocation that thunks write.
pub fn temporary(executable: &mut Executable, bytes: u64) -> Slice {
    allocation(executable, bytes, AllocationKind::Temporary)
}

/// Adds an allocation.
pub fn allocation(executable: &mut Executable, bytes: u64, kind: AllocationKind) -> Slice {
    executable.allocations.push(Allocation { bytes, kind });
    Slice { allocation: executable.allocations.len() as u32 - 1, offset: 0, bytes }
}

/// Adds a kernel, and returns a thunk that launches it.
pub fn launch(
    executable: &mut Executable,
    name: &str,
    blocks: u64,
    threads: u32,
    arguments: &[(Slice, Access)],
) -> Thunk {
    executable.kernels.push(KernelImage {
        symbol: name.into(),
        emitter: "test 1.0.0".into(),
        code: 0,
        blocks,
        threads_per_block: threads,
        shared_bytes: 0,
        predicted_ns: None,
        arguments: arguments
            .iter()
            .map(|(s, access)| KernelArgument {
                name: String::new(),
                bytes: s.bytes,
                element_bytes: s.bytes.min(4) as u32,
                access: *access,
            })
            .collect(),
    });
    let kernel = executable.kernels.len() as u32 - 1;
    Thunk::Kernel { kernel, arguments: arguments.iter().map(|(s, _)| *s).collect() }
}

/// Makes a slice the only result, an array of one dimension.
pub fn result(executable: &mut Executable, element_type: &str, slice: Slice) {
    let kind = &mut executable.allocations[slice.allocation as usize].kind;
    if *kind == AllocationKind::Temporary {
        *kind = AllocationKind::Result;
    }
    let size: ElementType = element_type.parse().unwrap();
    let dims = vec![slice.bytes as i64 / size.byte_size() as i64];
    executable.result =
        Binding { shape: ValueShape::Array(element_type.into(), dims), leaves: vec![slice], sizes: Vec::new() };
}

/// Adds a parameter, an array of one dimension in an allocation of its own.
pub fn parameter(executable: &mut Executable, element_type: &str, bytes: u64, kind: AllocationKind) -> Slice {
    let slice = allocation(executable, bytes, kind);
    let size: ElementType = element_type.parse().unwrap();
    let dims = vec![bytes as i64 / size.byte_size() as i64];
    let shape = ValueShape::Array(element_type.into(), dims);
    executable.parameters.push(Binding { shape, leaves: vec![slice], sizes: Vec::new() });
    slice
}

/// Makes slices the results: a tuple of arrays of one dimension.
pub fn results(executable: &mut Executable, all: &[(&str, Slice)]) {
    let mut binding = Binding { shape: ValueShape::Token, leaves: Vec::new(), sizes: Vec::new() };
    let mut shapes = Vec::new();
    for &(element_type, slice) in all {
        result(executable, element_type, slice);
        shapes.push(executable.result.shape.clone());
        binding.leaves.push(slice);
    }
    binding.shape = ValueShape::Tuple(shapes);
    executable.result = binding;
}
