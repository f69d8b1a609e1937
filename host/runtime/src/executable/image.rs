//! Defines the code of an executable: machine code, kernels, and operations of host routines.

use serde::{Deserialize, Serialize};

use super::cubin::Cubin;
use super::per_device::PerDevice;

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
    /// Code for NVIDIA GPUs.
    Ptx {
        /// The code as PTX text, which the driver can assemble for any GPU that is new enough for
        /// the PTX.
        text: String,
        /// The code as machine code for some architectures. The driver loads this code without
        /// assembling it.
        cubins: Vec<Cubin>,
    },
}

/// A kernel: its function, its arguments, and the numbers of blocks and threads that execute it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelImage {
    /// Name of the function in the code.
    pub symbol: String,
    /// Name and version of the emitter that wrote the kernel, for messages.
    pub emitter: String,
    /// Index of the kernel's code in [`Executable::code`](super::Executable::code).
    pub code: u32,
    /// Number of blocks. On the cpu, the thread pool distributes the blocks.
    pub blocks: u64,
    /// Number of threads in a block.
    pub threads_per_block: u32,
    /// Size of the dynamic shared memory of a block in bytes.
    pub shared_bytes: u32,
    /// The compiler's prediction of the time of a launch, in nanoseconds. `None` if the compiler
    /// does not predict the time, because the kernel executes a loop of the HLO program.
    pub predicted_ns: Option<u64>,
    /// Arguments of the kernel: its parameters, followed by its outputs.
    pub arguments: Vec<KernelArgument>,
}

/// A buffer that is an argument of a kernel, and how the kernel accesses the buffer.
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
    /// The code of a manual computation. This code may execute only host operations with smaller
    /// numbers than this host operation.
    pub per_device: Option<PerDevice>,
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
