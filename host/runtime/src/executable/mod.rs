//! Executables, which are plain data: the compiler produces an executable, and the other folders of
//! this crate load and run it. This folder contains the types, the file format, and the checks that
//! make the data of an untrusted file safe to use. The folder uses no other folder of this crate.
//!
//! ```text
//! mod          the executable
//! target       the kind of machine on which it runs
//! image        its machine code, kernels and host operations   cubin
//! allocation   its memory: allocations and slices
//! per_device   code that several devices execute
//! thunk        the steps of its execution, as a tree of `fusebox_thunks`
//! binding      its parameters and its result                   value_shape
//! format       bytes of a file <-> executable
//! check        indices, sizes and slices of an untrusted file
//! ```

mod allocation;
mod binding;
mod check;
mod cubin;
mod format;
mod image;
mod per_device;
mod target;
mod thunk;
mod value_shape;

pub use allocation::{ALIGNMENT, Allocation, AllocationKind, HUGE_PAGE, Slice};
pub use binding::{Binding, DynamicSize};
pub use cubin::Cubin;
pub use format::FormatError;
pub use image::{Access, CodeImage, HostKernel, HostOp, KernelArgument, KernelImage};
pub use per_device::{DevicePart, PerDevice};
pub use target::Target;
pub use thunk::{DeviceStep, Thunk, bytes_moved};
pub use value_shape::ValueShape;

use serde::{Deserialize, Serialize};

/// A compiled program. The runtime does not check the machine code before it runs the code. So run
/// an executable file only if you would run any other program from the same source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Executable {
    /// Name of the HLO module.
    pub name: String,
    /// The kind of device for which the code is compiled.
    pub target: Target,
    /// LLVM's names of the instruction sets that the code may use. Omits instruction sets that
    /// every x86-64 processor has.
    pub instruction_sets: Vec<String>,
    /// Machine code. Kernels refer to this code by index.
    pub code: Vec<CodeImage>,
    /// Kernels. Thunks refer to these kernels by index.
    pub kernels: Vec<KernelImage>,
    /// Operations that host routines execute. Thunks refer to these operations by index.
    pub host_ops: Vec<HostOp>,
    /// Allocations of memory. Slices refer to these allocations by index.
    pub allocations: Vec<Allocation>,
    /// Thunks to execute, in order.
    pub thunks: Vec<Thunk>,
    /// The parameters of the entry computation, in order.
    pub parameters: Vec<Binding>,
    /// The result of the entry computation.
    pub result: Binding,
}
