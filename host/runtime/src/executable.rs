//! The executable: plain data that the compiler hands to the runtime.

use fusebox_core::hlo::Shape;
use serde::{Deserialize, Serialize};

use crate::memory::{ALIGNMENT, HUGE_PAGE};
use crate::nesting::one_deeper;
use crate::{Target, ValueShape};

/// A compiled program. The runtime runs its code unchecked, so trust an executable file only as you
/// would trust a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Executable {
    /// Name of the HLO module.
    pub name: String,
    /// Device that the code is compiled for.
    pub target: Target,
    /// Instruction sets that the code may use and that not every processor has, by LLVM's names.
    pub instruction_sets: Vec<String>,
    /// Machine code; kernels refer to it by index.
    pub code: Vec<CodeImage>,
    /// Kernels; thunks refer to them by index.
    pub kernels: Vec<KernelImage>,
    /// Operations executed by host routines; thunks refer to them by index.
    pub host_ops: Vec<HostOp>,
    /// Buffers; slices refer to them by index.
    pub allocations: Vec<Allocation>,
    /// Steps to execute, in order.
    pub thunks: Vec<Thunk>,
    /// One per parameter of the entry computation.
    pub parameters: Vec<Binding>,
    /// The result of the entry computation.
    pub result: Binding,
}

impl Executable {
    /// Returns an executable that only copies `bytes` bytes within a buffer. Kernels are measured
    /// against it. Like the buffers of a whole program, its buffer uses pages of the largest size.
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

    /// Returns pairs of allocation numbers, one of `self` and one of `other`, with equal sizes.
    /// Both allocations of a pair hold the same parameter, or both hold temporary values.
    pub(crate) fn exchangeable(&self, other: &Executable) -> Vec<(usize, usize)> {
        let parameters = |it: &Executable| -> Vec<usize> {
            it.parameters.iter().flat_map(|it| &it.leaves).map(|leaf| leaf.allocation as usize).collect()
        };
        let mut pairs: Vec<(usize, usize)> = parameters(self).into_iter().zip(parameters(other)).collect();
        pairs.retain(|&(own, number)| self.allocations[own].bytes == other.allocations[number].bytes);
        let temporary = |it: &Executable| -> Vec<(usize, u64)> {
            let all = it.allocations.iter().enumerate().filter(|(_, it)| it.kind == AllocationKind::Temporary);
            all.map(|(number, allocation)| (number, allocation.bytes)).collect()
        };
        let mut free = temporary(other);
        for (own, bytes) in temporary(self) {
            if let Some(place) = free.iter().position(|&(_, others)| others == bytes) {
                pairs.push((own, free.remove(place).0));
            }
        }
        pairs
    }

    /// Removes all copies except those in loops and branches. A kernel that updates a buffer
    /// in-place then starts from the result of the last execution.
    pub fn without_copies(mut self) -> Executable {
        self.thunks.retain(|thunk| !matches!(thunk, Thunk::Copy { .. }));
        self
    }
}

/// A value of the program's interface and the slices of its leaves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// Its shape.
    pub shape: ValueShape,
    /// One per array leaf, depth first.
    pub leaves: Vec<Slice>,
    /// Sizes of its dynamic dimensions; `shape` has their bounds.
    pub sizes: Vec<DynamicSize>,
}

/// A dynamic dimension: only its first elements are valid, and their number is stored as a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DynamicSize {
    /// Number of the array leaf.
    pub leaf: u32,
    /// The dimension.
    pub dimension: u32,
    /// Slice of its size, an `s32`.
    pub at: Slice,
}

impl Binding {
    /// Converts to a shape whose dimensions in `sizes` are dynamic. `None` if an element type is
    /// unknown or a size is negative.
    pub fn to_shape(&self) -> Option<Shape> {
        let mut shape = self.shape.to_shape()?;
        let mut leaves = shape.arrays_mut();
        for size in &self.sizes {
            if let Some(array) = leaves.get_mut(size.leaf as usize) {
                array.set_dynamic(size.dimension as usize);
            }
        }
        Some(shape)
    }
}

/// Machine code of one or more kernels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CodeImage {
    /// A relocatable x86-64 ELF object.
    Object {
        /// The file.
        bytes: Vec<u8>,
        /// For the simulator: descriptions of positions in the kernels' code, by the number that an
        /// access reports.
        sites: Vec<String>,
    },
    /// PTX text.
    Ptx(String),
}

/// One kernel: its code and how it is launched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelImage {
    /// Name of the function in the code.
    pub symbol: String,
    /// Name and version of the emitter that wrote it, for people.
    pub emitter: String,
    /// Index into [`Executable::code`].
    pub code: u32,
    /// Blocks; on the cpu, tasks of the pool.
    pub blocks: u64,
    /// Threads in a block.
    pub threads_per_block: u32,
    /// Dynamic shared memory in bytes.
    pub shared_bytes: u32,
    /// Parameters, then outputs.
    pub arguments: Vec<KernelArgument>,
}

/// An argument of a kernel and how the kernel uses it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelArgument {
    /// Name of the instruction whose value it holds, for people.
    pub name: String,
    /// Size of the buffer in bytes.
    pub bytes: u64,
    /// Size of one element in bytes.
    pub element_bytes: u32,
    /// How the kernel uses it.
    pub access: Access,
}

/// How a kernel may use an argument. The simulator checks this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Access {
    /// Elements are only read.
    Read,
    /// Every element is written exactly once.
    WriteOnce,
    /// Holds a value when the kernel starts; the kernel replaces each element at most once.
    InPlace,
    /// Read and written in any number and order.
    Update,
}

/// An HLO operation executed by a host routine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostOp {
    /// Name of the instruction in the program.
    pub name: String,
    /// Its opcode.
    pub opcode: String,
    /// A module whose entry takes the operands as parameters and whose root is the operation.
    pub hlo: String,
    /// The compiled comparator of a sort, if no routine implements its comparison.
    pub comparator: Option<HostKernel>,
}

/// A kernel on scalars that runs on the host for every target. Its arguments are unaligned pointers
/// to the parameters, then to the results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostKernel {
    /// A relocatable x86-64 ELF object.
    pub object: Vec<u8>,
    /// Name of the function in it.
    pub symbol: String,
    /// Name and version of the emitter that wrote it, for people.
    pub emitter: String,
}

/// Memory of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocation {
    /// Size in bytes.
    pub bytes: u64,
    /// Use of the allocation.
    pub kind: AllocationKind,
}

/// Use of an allocation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AllocationKind {
    /// Filled with a leaf of an input before a run; never written by thunks.
    Parameter,
    /// Filled with a leaf of a donated input before a run. The program may then use it like
    /// temporary memory, also for results.
    Donated,
    /// Filled once, at loading, with these bytes; never written by thunks.
    Constant(Vec<u8>),
    /// Written and read by thunks.
    Temporary,
}

/// Part of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Slice {
    /// Index into [`Executable::allocations`].
    pub allocation: u32,
    /// First byte; a multiple of the buffer alignment.
    pub offset: u64,
    /// Size in bytes.
    pub bytes: u64,
}

impl AllocationKind {
    /// Whether thunks may write it.
    pub fn is_writable(&self) -> bool {
        matches!(self, AllocationKind::Donated | AllocationKind::Temporary)
    }
}

impl Slice {
    /// Whether the two share bytes.
    pub fn overlaps(&self, other: &Slice) -> bool {
        self.allocation == other.allocation
            && self.offset < other.offset + other.bytes
            && other.offset < self.offset + self.bytes
    }
}

/// One step of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Thunk {
    /// Launches a kernel.
    Kernel {
        /// Index into [`Executable::kernels`].
        kernel: u32,
        /// Parameters, then outputs.
        arguments: Vec<Slice>,
    },
    /// Copies bytes between slices of equal size that do not overlap.
    Copy {
        /// Source.
        from: Slice,
        /// Destination.
        to: Slice,
    },
    /// Executes an operation on the host.
    HostOp {
        /// Index into [`Executable::host_ops`].
        op: u32,
        /// Leaves of the operands.
        arguments: Vec<Slice>,
        /// Leaves of the result.
        results: Vec<Slice>,
    },
    /// Repeats `body` as long as `condition` leaves a true `predicate`.
    While {
        /// Name of the instruction.
        name: String,
        /// Computes the predicate.
        #[serde(deserialize_with = "one_deeper")]
        condition: Vec<Thunk>,
        /// One `pred`.
        predicate: Slice,
        /// Computes the next state.
        #[serde(deserialize_with = "one_deeper")]
        body: Vec<Thunk>,
    },
    /// Executes one branch.
    Conditional {
        /// Name of the instruction.
        name: String,
        /// A `pred` (true takes branch 0) or an `s32` (out of range takes the last branch).
        index: Slice,
        /// The branches.
        #[serde(deserialize_with = "one_deeper")]
        branches: Vec<Vec<Thunk>>,
    },
}

impl Thunk {
    /// Describes the thunk in one line for people: its action and its slices.
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

    /// Returns, for people, the name of the thunk and the emitter or routine behind it.
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

    /// Returns the bytes that the thunk itself reads and writes, without nested thunks.
    pub fn bytes(&self) -> u64 {
        let sum = |slices: &[Slice]| slices.iter().map(|slice| slice.bytes).fold(0, u64::saturating_add);
        match self {
            Thunk::Kernel { arguments, .. } => sum(arguments),
            Thunk::Copy { from, to } => from.bytes.saturating_add(to.bytes),
            Thunk::HostOp { arguments, results, .. } => sum(arguments).saturating_add(sum(results)),
            Thunk::While { .. } | Thunk::Conditional { .. } => 0,
        }
    }

    /// Returns the nested sequences of thunks with their names, in order of execution.
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

impl std::fmt::Display for Slice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}[{}..{}]", self.allocation, self.offset, self.offset + self.bytes)
    }
}

fn slices(list: &[Slice]) -> String {
    let items: Vec<String> = list.iter().map(Slice::to_string).collect();
    format!("({})", items.join(", "))
}
