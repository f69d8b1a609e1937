//! Defines thunks, the steps in the execution of a program.

use serde::{Deserialize, Serialize};

use super::Executable;
use super::allocation::{ALIGNMENT, Allocation, AllocationKind, HUGE_PAGE, Slice};
use super::binding::Binding;
use super::nesting::one_deeper;
use super::target::Target;
use super::value_shape::ValueShape;

/// One step in the execution of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Thunk {
    /// Launches a kernel.
    Kernel {
        /// Index of the kernel in [`Executable::kernels`].
        kernel: u32,
        /// Slices of the arguments: parameters, followed by outputs.
        arguments: Vec<Slice>,
    },
    /// Copies bytes between slices of equal size that do not overlap.
    Copy {
        /// Slice that is copied.
        from: Slice,
        /// Slice that receives the copy.
        to: Slice,
    },
    /// Executes an operation by a host routine.
    HostOp {
        /// Index of the operation in [`Executable::host_ops`].
        op: u32,
        /// Slices of the array leaves of all operands.
        arguments: Vec<Slice>,
        /// Slices of the array leaves of the result.
        results: Vec<Slice>,
    },
    /// Executes a loop. Each iteration first executes `condition`. If `predicate` is then true,
    /// `body` is executed and the next iteration starts, else the loop ends.
    While {
        /// Name of the instruction.
        name: String,
        /// Thunks that compute the predicate.
        #[serde(deserialize_with = "one_deeper")]
        condition: Vec<Thunk>,
        /// Slice of the predicate, one `pred`.
        predicate: Slice,
        /// Thunks that compute the next state of the loop.
        #[serde(deserialize_with = "one_deeper")]
        body: Vec<Thunk>,
    },
    /// Executes one branch.
    Conditional {
        /// Name of the instruction.
        name: String,
        /// Slice of the value that selects the branch. The value is a `pred` or an `s32`. A `pred`
        /// selects branch 0 if it is true, and branch 1 if it is false. An `s32` is the number of
        /// the branch. A number out of range selects the last branch.
        index: Slice,
        /// Thunks of each branch.
        #[serde(deserialize_with = "one_deeper")]
        branches: Vec<Vec<Thunk>>,
    },
}

impl Thunk {
    /// Returns a line of text for the user that describes the thunk's action and the thunk's
    /// slices.
    pub fn describe(&self, executable: &Executable) -> String {
        match self {
            Thunk::Kernel { kernel, arguments } => {
                format!("kernel {} {}", executable.kernels[*kernel as usize].symbol, slices(arguments))
            }
            Thunk::Copy { from, to } => format!("copy {from} -> {to}"),
            Thunk::HostOp { op, arguments, results } => {
                let op = &executable.host_ops[*op as usize];
                format!("host-op {} ({}) {} -> {}", op.name, op.opcode, slices(arguments), slices(results))
            }
            Thunk::While { name, predicate, .. } => format!("while {name} {predicate}"),
            Thunk::Conditional { name, index, .. } => format!("conditional {name} {index}"),
        }
    }

    /// Returns two texts for the user: the name of the thunk, and the emitter, routine or component
    /// that implements the thunk.
    pub fn name_and_maker(&self, executable: &Executable) -> (String, String) {
        match self {
            Thunk::Kernel { kernel, .. } => {
                let image = &executable.kernels[*kernel as usize];
                (image.symbol.clone(), image.emitter.clone())
            }
            Thunk::Copy { to, .. } => (format!("copy to {to}"), "runtime".into()),
            Thunk::HostOp { op, .. } => {
                let op = &executable.host_ops[*op as usize];
                (op.name.clone(), format!("host routine ({})", op.opcode))
            }
            Thunk::While { name, .. } | Thunk::Conditional { name, .. } => (name.clone(), "runtime".into()),
        }
    }

    /// Returns the number of bytes that the thunk reads and writes. Does not count the bytes of
    /// nested thunks.
    pub fn bytes(&self) -> u64 {
        let sum = |slices: &[Slice]| slices.iter().map(|slice| slice.bytes).fold(0, u64::saturating_add);
        match self {
            Thunk::Kernel { arguments, .. } => sum(arguments),
            Thunk::Copy { from, to } => from.bytes.saturating_add(to.bytes),
            Thunk::HostOp { arguments, results, .. } => sum(arguments).saturating_add(sum(results)),
            Thunk::While { .. } | Thunk::Conditional { .. } => 0,
        }
    }

    /// Returns the sequences of thunks that are nested in this thunk, each with a name. A loop has
    /// a condition and a body, and a conditional has branches.
    pub fn nested(&self) -> Vec<(String, &[Thunk])> {
        match self {
            Thunk::While { condition, body, .. } => {
                vec![("condition".into(), condition.as_slice()), ("body".into(), body.as_slice())]
            }
            Thunk::Conditional { branches, .. } => {
                branches.iter().enumerate().map(|(i, b)| (format!("branch {i}"), b.as_slice())).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl Executable {
    /// Returns an executable that only copies `bytes` bytes within one buffer. The times of kernels
    /// are compared with the time of this copy. The buffer is large enough for huge pages, which
    /// the buffers of whole programs use too.
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

    /// Removes all copies that are not in a loop or a branch. So a kernel that updates a buffer
    /// in-place starts from the result of the last execution.
    pub fn without_copies(mut self) -> Executable {
        self.thunks.retain(|thunk| !matches!(thunk, Thunk::Copy { .. }));
        self
    }
}

fn slices(list: &[Slice]) -> String {
    let items: Vec<String> = list.iter().map(Slice::to_string).collect();
    format!("({})", items.join(", "))
}
