//! The thunks of executables.

use super::Executable;
use super::allocation::{ALIGNMENT, Allocation, AllocationKind, HUGE_PAGE, Slice};
use super::binding::Binding;
use super::target::Target;
use super::value_shape::ValueShape;

/// One step in the execution of a program. The numbers of kernels and host operations are indices
/// into [`Executable::kernels`] and [`Executable::host_ops`].
pub type Thunk = fusebox_thunks::Thunk<Slice, u32, u32>;

/// A thunk that a GPU executes without the host.
#[derive(Clone, Copy, Debug)]
pub enum DeviceStep<'t> {
    Launch { kernel: u32, arguments: &'t [Slice] },
    Copy { from: &'t Slice, to: &'t Slice },
}

impl<'t> DeviceStep<'t> {
    /// Returns `None` for thunks that need the host.
    pub fn of(thunk: &'t Thunk) -> Option<DeviceStep<'t>> {
        match thunk {
            Thunk::Kernel { kernel, arguments } => Some(DeviceStep::Launch { kernel: *kernel, arguments }),
            Thunk::Copy { from, to } => Some(DeviceStep::Copy { from, to }),
            Thunk::HostOp { .. } | Thunk::While { .. } | Thunk::Conditional { .. } => None,
        }
    }
}

/// Returns the number of bytes that a thunk reads and writes. Does not count the bytes of nested
/// thunks.
pub fn bytes_moved(thunk: &Thunk) -> u64 {
    let sum = |slices: &[Slice]| slices.iter().map(|slice| slice.bytes).fold(0, u64::saturating_add);
    match thunk {
        Thunk::Kernel { arguments, .. } => sum(arguments),
        Thunk::Copy { from, to } => from.bytes.saturating_add(to.bytes),
        Thunk::HostOp { arguments, results, .. } => sum(arguments).saturating_add(sum(results)),
        Thunk::While { .. } | Thunk::Conditional { .. } => 0,
    }
}

impl Executable {
    /// Returns two texts for the user: the name of a thunk, and the emitter, routine or component
    /// that implements the thunk.
    pub fn name_and_maker(&self, thunk: &Thunk) -> (String, String) {
        match thunk {
            Thunk::Kernel { kernel, .. } => {
                let image = &self.kernels[*kernel as usize];
                (image.symbol.clone(), image.emitter.clone())
            }
            Thunk::Copy { to, .. } => (format!("copy to {to}"), "runtime".into()),
            Thunk::HostOp { op, .. } => {
                let op = &self.host_ops[*op as usize];
                (op.name.clone(), format!("host routine ({})", op.opcode))
            }
            Thunk::While { name, .. } | Thunk::Conditional { name, .. } => (name.clone(), "runtime".into()),
        }
    }

    /// Returns an executable that only copies `bytes` bytes within one buffer. The times of kernels
    /// are compared with the time of this copy. The buffer is large enough for huge pages, because
    /// the buffers of whole programs use huge pages too.
    pub fn copying(bytes: u64, target: Target) -> Executable {
        let end = bytes.next_multiple_of(ALIGNMENT as u64);
        let slice = |offset| Slice { allocation: 0, offset, bytes };
        let allocation =
            Allocation { bytes: (2 * end).next_multiple_of(HUGE_PAGE as u64), kind: AllocationKind::Temporary };
        Executable {
            name: "copy".into(),
            target,
            instruction_sets: Vec::new(),
            code: Vec::new(),
            kernels: Vec::new(),
            host_ops: Vec::new(),
            allocations: vec![allocation],
            thunks: vec![Thunk::Copy { from: slice(0), to: slice(end) }],
            parameters: Vec::new(),
            result: Binding { shape: ValueShape::Token, leaves: Vec::new(), sizes: Vec::new() },
        }
    }

    /// Removes all copies that are not in a loop or a branch. Without these copies, a kernel that
    /// updates a buffer in-place starts from the result of the previous execution.
    pub fn without_copies(mut self) -> Executable {
        self.thunks.retain(|thunk| !matches!(thunk, Thunk::Copy { .. }));
        self
    }
}
