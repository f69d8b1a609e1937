//! Internal consistency of an executable: every index in range, every slice inside its allocation.

use crate::{AllocationKind, Binding, Executable, Slice, Thunk};

impl Executable {
    /// Checks what running relies on, so that a damaged file is an error and not a crash.
    pub(crate) fn check(&self) -> Result<(), String> {
        for allocation in &self.allocations {
            if let AllocationKind::Constant(data) = &allocation.kind
                && data.len() as u64 != allocation.bytes
            {
                return Err("a constant's size differs from its allocation's".into());
            }
        }
        for kernel in &self.kernels {
            in_range("code image", kernel.code, self.code.len())?;
        }
        for binding in self.parameters.iter().chain([&self.result]) {
            self.check_binding(binding)?;
        }
        self.check_thunks(&self.thunks)
    }

    fn check_binding(&self, binding: &Binding) -> Result<(), String> {
        let shape = binding.shape.to_shape().ok_or("an interface shape is invalid")?;
        let sizes: Vec<u64> =
            shape.leaves().iter().filter_map(|s| s.as_array()).map(|a| a.byte_size() as u64).collect();
        if sizes.len() != binding.leaves.len() {
            return Err("an interface value has the wrong number of leaves".into());
        }
        for (size, slice) in sizes.iter().zip(&binding.leaves) {
            self.check_slice(slice)?;
            if *size != slice.bytes {
                return Err("an interface buffer has the wrong size".into());
            }
        }
        Ok(())
    }

    fn check_thunks(&self, thunks: &[Thunk]) -> Result<(), String> {
        for thunk in thunks {
            self.check_thunk(thunk)?;
            for (_, nested) in thunk.nested() {
                self.check_thunks(nested)?;
            }
        }
        Ok(())
    }

    fn check_thunk(&self, thunk: &Thunk) -> Result<(), String> {
        match thunk {
            Thunk::Kernel { kernel, arguments } => self.check_launch(*kernel, arguments),
            Thunk::Copy { from, to } => self.check_copy(from, to),
            Thunk::HostOp { op, arguments, results } => {
                in_range("host operation", *op, self.host_ops.len())?;
                arguments.iter().try_for_each(|s| self.check_slice(s))?;
                results.iter().try_for_each(|s| self.check_written(s))
            }
            Thunk::While { predicate, .. } => self.check_slice(predicate),
            Thunk::Conditional { index, branches, .. } if branches.is_empty() => {
                Err(format!("a conditional on {index} has no branches"))
            }
            Thunk::Conditional { index, .. } => self.check_slice(index),
        }
    }

    fn check_launch(&self, kernel: u32, arguments: &[Slice]) -> Result<(), String> {
        in_range("kernel", kernel, self.kernels.len())?;
        let expected = &self.kernels[kernel as usize].arguments;
        if expected.len() != arguments.len() {
            return Err("a launch has the wrong number of arguments".into());
        }
        for (argument, slice) in expected.iter().zip(arguments) {
            if argument.bytes != slice.bytes {
                return Err("a launch has an argument of the wrong size".into());
            }
            match argument.access {
                crate::Access::Read => self.check_slice(slice)?,
                _ => self.check_written(slice)?,
            }
        }
        Ok(())
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
        match self.allocations[slice.allocation as usize].kind {
            AllocationKind::Temporary => Ok(()),
            _ => Err("a step writes to a parameter or a constant".into()),
        }
    }

    fn check_slice(&self, slice: &Slice) -> Result<(), String> {
        in_range("allocation", slice.allocation, self.allocations.len())?;
        let end = slice.offset.checked_add(slice.bytes).ok_or("a slice is too long")?;
        if end > self.allocations[slice.allocation as usize].bytes {
            return Err("a slice leaves its allocation".into());
        }
        Ok(())
    }
}

fn in_range(what: &str, index: u32, len: usize) -> Result<(), String> {
    if (index as usize) < len { Ok(()) } else { Err(format!("{what} {index} does not exist")) }
}
