//! The executable: what the compiler hands to the runtime, as plain data.

use fusebox_core::hlo::Shape;
use serde::{Deserialize, Serialize};

use crate::memory::{ALIGNMENT, HUGE_PAGE};
use crate::nesting::one_deeper;
use crate::{Target, ValueShape};

/// A compiled program. Its code is run as it is: one from a file is to be trusted like a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Executable {
    /// Name of the HLO module.
    pub name: String,
    /// What it runs on.
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
    /// What to do, in order.
    pub thunks: Vec<Thunk>,
    /// One per parameter of the entry computation.
    pub parameters: Vec<Binding>,
    /// The result of the entry computation.
    pub result: Binding,
}

impl Executable {
    /// One that copies so many bytes within a buffer, and does nothing else: what kernels are measured against. As the buffers of
    /// a whole program do, this one has pages of the largest size.
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

    /// Numbers of allocations of both, of equal size, that hold the same parameter or serve for temporary values.
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

    /// The same without its copies, except in loops and branches; what a kernel updates in place then begins as what the
    /// last execution left there.
    pub fn without_copies(mut self) -> Executable {
        self.thunks.retain(|thunk| !matches!(thunk, Thunk::Copy { .. }));
        self
    }
}

/// A value of the program's interface and where its leaves stand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// Its shape.
    pub shape: ValueShape,
    /// One per array leaf, depth first.
    pub leaves: Vec<Slice>,
    /// Where the sizes of its dynamic dimensions stand. Of those the shape says the bounds.
    pub sizes: Vec<DynamicSize>,
}

/// A dimension of which an array fills only so many elements, the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DynamicSize {
    /// Number of the array leaf.
    pub leaf: u32,
    /// The dimension.
    pub dimension: u32,
    /// Where its size stands, an `s32`.
    pub at: Slice,
}

impl Binding {
    /// The shape it stands for, dynamic where sizes are; `None` if an element type is unknown or a size negative.
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
        /// For the simulator: the places in the kernels that accesses are reported from, by number.
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

/// What a kernel does with one argument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelArgument {
    /// Name of the instruction whose value it holds, for people.
    pub name: String,
    /// Size of the buffer.
    pub bytes: u64,
    /// Size of one element.
    pub element_bytes: u32,
    /// How it is used.
    pub access: Access,
}

/// How a kernel uses an argument; the simulator holds it to this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Access {
    /// Only read.
    Read,
    /// Every element written exactly once.
    WriteOnce,
    /// Holds a value when the kernel starts, of which every element is replaced at most once.
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
    /// The comparator of a sort, where no routine knows what it compares.
    pub comparator: Option<HostKernel>,
}

/// A kernel on scalars for the processor, whatever the target is: the parameters' places, then the results', none of them
/// aligned.
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
    /// What it is for.
    pub kind: AllocationKind,
}

/// What an allocation is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AllocationKind {
    /// Filled with a leaf of an input before a run; never written by thunks.
    Parameter,
    /// Filled with a leaf of a donated input before a run; from then on the program's own, as temporary memory is. Results
    /// may stand in it.
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
    /// One line for people: what it does and to which bytes.
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

    /// For people: what it is called, and who made or does it.
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

    /// Bytes of everything that it reads and writes by itself.
    pub fn bytes(&self) -> u64 {
        let sum = |slices: &[Slice]| slices.iter().map(|slice| slice.bytes).fold(0, u64::saturating_add);
        match self {
            Thunk::Kernel { arguments, .. } => sum(arguments),
            Thunk::Copy { from, to } => from.bytes.saturating_add(to.bytes),
            Thunk::HostOp { arguments, results, .. } => sum(arguments).saturating_add(sum(results)),
            Thunk::While { .. } | Thunk::Conditional { .. } => 0,
        }
    }

    /// The named sequences inside, in order of execution.
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
