//! Checks the data of an untrusted executable before it runs. Checks that every index is in range,
//! that every slice is inside its allocation, and that sizes agree. Does not check the machine
//! code.

use std::collections::HashSet;

use fusebox_core::hlo::{ArrayShape, Shape};
use fusebox_thunks::nesting::{DEEPEST, too_deep};

use super::Executable;
use super::allocation::{ALIGNMENT, Allocation, AllocationKind, Slice};
use super::binding::{Binding, DynamicSize};
use super::cubin::Cubin;
use super::image::{Access, CodeImage, KernelImage};
use super::per_device::PerDevice;
use super::target::Target;
use super::thunk::Thunk;
use super::value_shape::ValueShape;

/// Maximum number of threads in a block. No GPU allows more threads in a block.
const MOST_THREADS: u32 = 1024;

/// Maximum number of devices of a manual computation. Each device is a thread of the host.
const MOST_DEVICES: usize = 1024;

impl Executable {
    /// Checks the executable. The error describes the first inconsistency that the check finds.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.allocations.iter().try_for_each(check_allocation)?;
        self.code.iter().try_for_each(check_code)?;
        self.kernels.iter().try_for_each(|kernel| self.check_kernel(kernel))?;
        let mut inputs = HashSet::new();
        for parameter in &self.parameters {
            self.check_binding(parameter)?;
            let sizes = parameter.sizes.iter().map(|size| &size.at);
            parameter
                .leaves
                .iter()
                .chain(sizes)
                .try_for_each(|leaf| Memory(&self.allocations).check_input(leaf, &mut inputs))?;
        }
        self.check_binding(&self.result)?;
        self.result.leaves.iter().try_for_each(|leaf| self.check_result(leaf))?;
        (0..).zip(&self.host_ops).try_for_each(|(number, op)| match &op.per_device {
            Some(code) => self.check_device_code(code, number),
            None => Ok(()),
        })?;
        self.steps(&self.allocations, self.host_ops.len()).check_thunks(&self.thunks, 0)
    }

    fn steps<'e>(&'e self, allocations: &'e [Allocation], host_ops: usize) -> Steps<'e> {
        Steps { executable: self, memory: Memory(allocations), host_ops }
    }

    /// Checks the code of the manual computation that host operation `number` starts. The code may
    /// execute only host operations with smaller numbers than `number`. So no manual computation
    /// can start itself.
    fn check_device_code(&self, code: &PerDevice, number: usize) -> Result<(), String> {
        if code.devices.is_empty() || code.devices.len() > MOST_DEVICES {
            return Err(format!("a manual computation has {} devices", code.devices.len()));
        }
        code.allocations.iter().try_for_each(check_allocation)?;
        let memory = Memory(&code.allocations);
        let mut inputs = HashSet::new();
        for operand in &code.operands {
            operand.check(code.devices.len())?;
            memory.check_slice(&operand.at)?;
            memory.check_input(&operand.at, &mut inputs)?;
        }
        let is_operand = |number: usize| u32::try_from(number).is_ok_and(|number| inputs.contains(&number));
        let mut kinds = code.allocations.iter().map(|it| &it.kind).enumerate();
        if kinds.any(|(number, kind)| *kind == AllocationKind::Parameter && !is_operand(number)) {
            return Err("memory of a device is for an operand that does not exist".into());
        }
        for result in &code.results {
            result.check(code.devices.len())?;
            memory.check_slice(&result.at)?;
        }
        self.steps(&code.allocations, number).check_thunks(&code.thunks, 0)
    }

    fn check_kernel(&self, kernel: &KernelImage) -> Result<(), String> {
        in_range("code image", kernel.code, self.code.len())?;
        let most_blocks = if self.target == Target::Cpu { i64::MAX as u64 } else { i32::MAX as u64 };
        if kernel.blocks > most_blocks || !(1..=MOST_THREADS).contains(&kernel.threads_per_block) {
            let (blocks, threads) = (kernel.blocks, kernel.threads_per_block);
            return Err(format!("kernel {} is launched with {blocks} blocks of {threads} threads", kernel.symbol));
        }
        let is_whole = |bytes: u64, element: u32| element > 0 && bytes.is_multiple_of(u64::from(element));
        match kernel.arguments.iter().position(|it| !is_whole(it.bytes, it.element_bytes)) {
            Some(number) => Err(format!("argument {number} of kernel {} is no array of its elements", kernel.symbol)),
            None => Ok(()),
        }
    }

    fn check_binding(&self, binding: &Binding) -> Result<(), String> {
        check_depth(&binding.shape, 0)?;
        let shape = binding.shape.to_shape().ok_or("an interface shape is invalid")?;
        let sizes: Vec<u64> =
            shape.leaves().iter().filter_map(|s| s.as_array()).map(|a| a.byte_size() as u64).collect();
        if sizes.len() != binding.leaves.len() {
            return Err("an interface value has the wrong number of leaves".into());
        }
        for (size, slice) in sizes.iter().zip(&binding.leaves) {
            Memory(&self.allocations).check_slice(slice)?;
            if *size != slice.bytes {
                return Err("an interface buffer has the wrong size".into());
            }
        }
        let arrays: Vec<&ArrayShape> = shape.leaves().into_iter().filter_map(Shape::as_array).collect();
        binding.sizes.iter().try_for_each(|size| self.check_dynamic_size(size, &arrays))
    }

    fn check_dynamic_size(&self, size: &DynamicSize, arrays: &[&ArrayShape]) -> Result<(), String> {
        Memory(&self.allocations).check_slice(&size.at)?;
        let bound = arrays.get(size.leaf as usize).and_then(|array| array.dims.get(size.dimension as usize));
        match bound.ok_or("a dynamic size is of a dimension that does not exist")? {
            _ if size.at.bytes != size_of::<i32>() as u64 => Err("a dynamic size is no s32".into()),
            &bound if i32::try_from(bound).is_err() => Err("a dynamic size has a bound beyond s32".into()),
            _ => Ok(()),
        }
    }

    /// Checks the allocation of a result. The next execution overwrites temporary memory, so
    /// temporary memory cannot hold a result.
    fn check_result(&self, leaf: &Slice) -> Result<(), String> {
        match Memory(&self.allocations).kind(leaf) {
            Some(AllocationKind::Temporary) => Err("a result is in temporary memory".into()),
            _ => Ok(()),
        }
    }
}

/// Checks the machine code for GPUs, because the GPU's driver reads the code without knowing the
/// size of the code.
fn check_code(code: &CodeImage) -> Result<(), String> {
    match code {
        CodeImage::Object { .. } => Ok(()),
        CodeImage::Ptx { cubins, .. } => cubins.iter().try_for_each(Cubin::check),
    }
}

/// Memory to which slices refer.
#[derive(Clone, Copy)]
struct Memory<'e>(&'e [Allocation]);

/// Thunks with their memory. The thunks may execute only the first `host_ops` host operations of
/// the executable.
#[derive(Clone, Copy)]
struct Steps<'e> {
    executable: &'e Executable,
    memory: Memory<'e>,
    host_ops: usize,
}

impl Steps<'_> {
    fn check_thunks(&self, thunks: &[Thunk], depth: usize) -> Result<(), String> {
        if depth > DEEPEST {
            return Err(too_deep());
        }
        for thunk in thunks {
            self.check_thunk(thunk)?;
            for (_, nested) in thunk.nested() {
                self.check_thunks(nested, depth + 1)?;
            }
        }
        Ok(())
    }

    fn check_thunk(&self, thunk: &Thunk) -> Result<(), String> {
        match thunk {
            Thunk::Kernel { kernel, arguments } => self.check_launch(*kernel, arguments),
            Thunk::Copy { from, to } => self.memory.check_copy(from, to),
            Thunk::HostOp { op, arguments, results } => {
                in_range("host operation", *op, self.host_ops)?;
                arguments.iter().try_for_each(|s| self.memory.check_slice(s))?;
                results.iter().try_for_each(|s| self.memory.check_written(s))?;
                check_disjoint(arguments, results)
            }
            Thunk::While { name, predicate, .. } => {
                self.memory.check_slice(predicate)?;
                match predicate.bytes {
                    1 => Ok(()),
                    bytes => Err(format!("the predicate of loop {name} has {bytes} bytes")),
                }
            }
            Thunk::Conditional { name, index, branches } => {
                self.memory.check_slice(index)?;
                match (index.bytes, branches.len()) {
                    (1, 2) | (4, 1..) => Ok(()),
                    (bytes, count) => {
                        Err(format!("conditional {name} has an index of {bytes} bytes for {count} branches"))
                    }
                }
            }
        }
    }

    fn check_launch(&self, kernel: u32, arguments: &[Slice]) -> Result<(), String> {
        in_range("kernel", kernel, self.executable.kernels.len())?;
        let expected = &self.executable.kernels[kernel as usize].arguments;
        if expected.len() != arguments.len() {
            return Err("a launch has the wrong number of arguments".into());
        }
        for (argument, slice) in expected.iter().zip(arguments) {
            if argument.bytes != slice.bytes {
                return Err("a launch has an argument of the wrong size".into());
            }
            match argument.access {
                Access::Read => self.memory.check_slice(slice)?,
                Access::WriteOnce | Access::InPlace | Access::Update => self.memory.check_written(slice)?,
            }
        }
        Ok(())
    }
}

impl Memory<'_> {
    /// Checks the allocation of an input. An input must occupy a whole allocation, because an
    /// execution uses the memory of the caller's buffer instead of this allocation. `inputs` are
    /// the allocations of the inputs that were checked before.
    fn check_input(&self, leaf: &Slice, inputs: &mut HashSet<u32>) -> Result<(), String> {
        let is_first = inputs.insert(leaf.allocation);
        match self.0.get(leaf.allocation as usize) {
            Some(Allocation { kind: AllocationKind::Parameter | AllocationKind::Donated, bytes })
                if is_first && *bytes == leaf.bytes =>
            {
                Ok(())
            }
            _ => Err("a parameter's memory is used for something else".into()),
        }
    }

    fn check_copy(&self, from: &Slice, to: &Slice) -> Result<(), String> {
        self.check_slice(from)?;
        self.check_written(to)?;
        if from.bytes != to.bytes || from.overlaps(to) {
            return Err("a copy's ends differ in size or overlap".into());
        }
        Ok(())
    }

    fn check_written(&self, slice: &Slice) -> Result<(), String> {
        self.check_slice(slice)?;
        if self.kind(slice).is_some_and(AllocationKind::is_writable) {
            Ok(())
        } else {
            Err("a step writes to a parameter or a constant".into())
        }
    }

    fn check_slice(&self, slice: &Slice) -> Result<(), String> {
        in_range("allocation", slice.allocation, self.0.len())?;
        let end = slice.offset.checked_add(slice.bytes).ok_or("a slice is too long")?;
        if end > self.0[slice.allocation as usize].bytes {
            return Err("a slice leaves its allocation".into());
        }
        if slice.offset.is_multiple_of(ALIGNMENT as u64) { Ok(()) } else { Err("a slice is not aligned".into()) }
    }

    fn kind(&self, slice: &Slice) -> Option<&AllocationKind> {
        self.0.get(slice.allocation as usize).map(|allocation| &allocation.kind)
    }
}

/// Checks that no result overlaps an argument or another result. Results must not overlap, because
/// a routine writes its results while it reads its arguments.
fn check_disjoint(arguments: &[Slice], results: &[Slice]) -> Result<(), String> {
    let start = |slice: &Slice| (slice.allocation, slice.offset);
    let mut written: Vec<&Slice> = results.iter().filter(|slice| slice.bytes > 0).collect();
    written.sort_by_key(|slice| start(slice));
    // The results do not overlap each other. So among the results that start before the argument
    // ends, only the last can overlap the argument.
    let is_written = |argument: &Slice| {
        let end = (argument.allocation, argument.offset + argument.bytes);
        let before = written.partition_point(|slice| start(slice) < end);
        argument.bytes > 0 && before > 0 && written[before - 1].overlaps(argument)
    };
    if written.windows(2).any(|pair| pair[0].overlaps(pair[1])) || arguments.iter().any(is_written) {
        Err("a result of a host operation shares memory with an operand or another result".into())
    } else {
        Ok(())
    }
}

fn check_allocation(allocation: &Allocation) -> Result<(), String> {
    match &allocation.kind {
        AllocationKind::Constant(data) if data.len() as u64 != allocation.bytes => {
            Err("a constant's size differs from its allocation's".into())
        }
        _ => Ok(()),
    }
}

fn check_depth(shape: &ValueShape, depth: usize) -> Result<(), String> {
    match shape {
        _ if depth > DEEPEST => Err(too_deep()),
        ValueShape::Tuple(elements) => elements.iter().try_for_each(|element| check_depth(element, depth + 1)),
        ValueShape::Array(..) | ValueShape::Token => Ok(()),
    }
}

fn in_range(what: &str, index: u32, len: usize) -> Result<(), String> {
    if (index as usize) < len { Ok(()) } else { Err(format!("{what} {index} does not exist")) }
}
