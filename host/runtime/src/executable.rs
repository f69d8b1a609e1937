//! Defines executables. An executable is plain data that the compiler produces and the runtime
//! loads.

use fusebox_core::hlo::Shape;
use serde::{Deserialize, Serialize};

use crate::memory::{ALIGNMENT, HUGE_PAGE};
use crate::nesting::one_deeper;
use crate::{Target, ValueShape};

/// A compiled program. The runtime does not check the machine code before it runs the code. So run
/// an executable file only if you would run any other program from the same source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Executable {
    /// Name of the HLO module.
    pub name: String,
    /// The kind of device for which the code is compiled.
    pub target: Target,
    /// LLVM's names of the instruction sets that the code may use. Omits instruction sets that
    /// every processor has.
    pub instruction_sets: Vec<String>,
    /// Machine code. Kernels refer to it by index.
    pub code: Vec<CodeImage>,
    /// Kernels. Thunks refer to them by index.
    pub kernels: Vec<KernelImage>,
    /// Operations that host routines execute. Thunks refer to them by index.
    pub host_ops: Vec<HostOp>,
    /// Allocations of memory. Slices refer to them by index.
    pub allocations: Vec<Allocation>,
    /// Thunks to execute, in order.
    pub thunks: Vec<Thunk>,
    /// The parameters of the entry computation, in order.
    pub parameters: Vec<Binding>,
    /// The result of the entry computation.
    pub result: Binding,
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

    /// Returns pairs of allocations that two programs can exchange. A pair consists of the number
    /// of an allocation of `self` and the number of an allocation of `other`. Both allocations of a
    /// pair have the same size. Either both hold the same parameter, or both hold temporary values.
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

    /// Removes all copies that are not in a loop or a branch. So a kernel that updates a buffer
    /// in-place starts from the result of the last execution.
    pub fn without_copies(mut self) -> Executable {
        self.thunks.retain(|thunk| !matches!(thunk, Thunk::Copy { .. }));
        self
    }
}

/// A parameter or the result of a program, and the slices that hold its array leaves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// Shape of the value.
    pub shape: ValueShape,
    /// Slices of the array leaves, in depth-first order.
    pub leaves: Vec<Slice>,
    /// The sizes of dynamic dimensions. `shape` holds the bounds of these dimensions.
    pub sizes: Vec<DynamicSize>,
}

/// A dynamic dimension of an array leaf. The array has memory for a maximum number of elements
/// along this dimension, but only the first elements are valid. The program's memory also holds the
/// number of valid elements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DynamicSize {
    /// Index of the array leaf in its binding.
    pub leaf: u32,
    /// Index of the dimension.
    pub dimension: u32,
    /// Slice that holds the number of valid elements, an `s32`.
    pub at: Slice,
}

impl Binding {
    /// Returns the shape of the value. The dimensions in `sizes` are dynamic. Returns `None` if an
    /// element type is unknown or a dimension is negative.
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
        /// Content of the object file.
        bytes: Vec<u8>,
        /// Descriptions of positions in the kernels' code, for the simulator. A kernel reports a
        /// position by its index in this list.
        sites: Vec<String>,
    },
    /// PTX text.
    Ptx(String),
}

/// A kernel: its function, its arguments, and the numbers of blocks and threads that execute it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelImage {
    /// Name of the function in the code.
    pub symbol: String,
    /// Name and version of the emitter that wrote the kernel, for messages.
    pub emitter: String,
    /// Index of the kernel's code in [`Executable::code`].
    pub code: u32,
    /// Number of blocks. On the cpu, the thread pool distributes the blocks.
    pub blocks: u64,
    /// Number of threads in a block.
    pub threads_per_block: u32,
    /// Size of the dynamic shared memory of a block in bytes.
    pub shared_bytes: u32,
    /// Arguments of the kernel: its parameters, followed by its outputs.
    pub arguments: Vec<KernelArgument>,
}

/// A buffer that a kernel takes as an argument, and the kernel's kind of access to the buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelArgument {
    /// Name of the instruction whose value the buffer holds, for messages.
    pub name: String,
    /// Size of the buffer in bytes.
    pub bytes: u64,
    /// Size of one element in bytes.
    pub element_bytes: u32,
    /// How the kernel accesses the buffer.
    pub access: Access,
}

/// The accesses that a kernel may make to an argument. The simulator checks every access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Access {
    /// The kernel only reads elements.
    Read,
    /// The kernel writes every element exactly once.
    WriteOnce,
    /// The buffer holds a value when the kernel starts. The kernel writes each element at most
    /// once.
    InPlace,
    /// The kernel reads and writes elements any number of times and in any order.
    Update,
}

/// An HLO operation that a host routine executes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostOp {
    /// Name of the instruction in the program.
    pub name: String,
    /// Opcode of the instruction.
    pub opcode: String,
    /// Text of an HLO module. The root of the entry computation is the operation, and the
    /// parameters of the entry computation are the operands.
    pub hlo: String,
    /// The compiled comparator of a sort, if no routine implements the comparator.
    pub comparator: Option<HostKernel>,
}

/// A kernel on scalars that runs on the host, also for GPU targets. The kernel's arguments are
/// pointers to the parameters, followed by pointers to the results. The pointers may be unaligned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostKernel {
    /// A relocatable x86-64 ELF object.
    pub object: Vec<u8>,
    /// Name of the function in the object.
    pub symbol: String,
    /// Name and version of the emitter that wrote the kernel, for messages.
    pub emitter: String,
}

/// A contiguous piece of the program's memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocation {
    /// Size in bytes.
    pub bytes: u64,
    /// Use of the allocation.
    pub kind: AllocationKind,
}

/// Use of an allocation: the values that it holds, and the time when these values are written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AllocationKind {
    /// Holds an array leaf of an input. The runtime fills the allocation before a run, and thunks
    /// only read it.
    Parameter,
    /// Holds an array leaf of a donated input. The runtime fills the allocation before a run.
    /// Thunks may use the allocation like temporary memory, also for results.
    Donated,
    /// Holds these bytes. The runtime fills the allocation once, when it loads the program, and
    /// thunks only read it.
    Constant(Vec<u8>),
    /// Memory that thunks write and read.
    Temporary,
}

/// A range of bytes of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Slice {
    /// Index of the allocation in [`Executable::allocations`].
    pub allocation: u32,
    /// Offset of the first byte in the allocation, a multiple of the buffer alignment.
    pub offset: u64,
    /// Size in bytes.
    pub bytes: u64,
}

impl AllocationKind {
    /// Whether thunks may write to an allocation of this kind.
    pub fn is_writable(&self) -> bool {
        matches!(self, AllocationKind::Donated | AllocationKind::Temporary)
    }
}

impl Slice {
    /// Whether the slices have a byte in common.
    pub fn overlaps(&self, other: &Slice) -> bool {
        self.allocation == other.allocation
            && self.offset < other.offset + other.bytes
            && other.offset < self.offset + self.bytes
    }
}

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

impl std::fmt::Display for Slice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}[{}..{}]", self.allocation, self.offset, self.offset + self.bytes)
    }
}

fn slices(list: &[Slice]) -> String {
    let items: Vec<String> = list.iter().map(Slice::to_string).collect();
    format!("({})", items.join(", "))
}
