//! Expresses the work of the nodes of CUDA graphs as parameters of the driver's functions.

use std::ffi::c_void;

use cudarc::driver::sys::{self, CUdeviceptr};
use cudarc::driver::{CudaContext, DriverError};

use super::condition::ConditionSetters;
use super::level::Decision;
use super::module::LoadedFunction;
use crate::executable::DeviceStep;
use crate::machine::frame::Frame;
use crate::{RunError, Slice};

/// The work of a node.
pub enum Content {
    /// A launch without blocks, or a copy without bytes.
    Nothing,
    Launch(Launch),
    Copy(Box<sys::CUDA_MEMCPY3D>),
}

/// A launch of a kernel whose parameters are words of 64 bits.
pub struct Launch {
    function: sys::CUfunction,
    blocks: u32,
    threads: u32,
    words: Vec<u64>,
}

impl Content {
    /// Returns the work of a launch or a copy. The addresses come from `frame`.
    pub fn of(kernels: &[LoadedFunction], step: &DeviceStep, frame: &Frame) -> Result<Content, RunError> {
        let address = |slice: &Slice| frame.address(slice) as CUdeviceptr;
        Ok(match *step {
            DeviceStep::Launch { kernel, arguments } => {
                let function = &kernels[kernel as usize];
                match function.blocks()? {
                    0 => Content::Nothing,
                    blocks => {
                        let words = arguments.iter().map(address).collect();
                        let threads = function.image.threads_per_block;
                        Content::Launch(Launch { function: function.handle, blocks, threads, words })
                    }
                }
            }
            DeviceStep::Copy { from, .. } if from.bytes == 0 => Content::Nothing,
            DeviceStep::Copy { from, to } => {
                Content::Copy(Box::new(copy(address(from), address(to), from.bytes as usize)))
            }
        })
    }

    /// Returns the launch that sets a condition.
    pub fn deciding(setters: &ConditionSetters, condition: u64, decision: &Decision, frame: &Frame) -> Content {
        let [branch, last] = decision.branch;
        let words = vec![condition, frame.address(&decision.place) as u64, branch, last];
        Content::Launch(Launch { function: setters.function(decision.rule), blocks: 1, threads: 1, words })
    }

    /// Adds a node with this work to a graph. The node waits for the nodes in `before`.
    pub fn add(
        &self,
        context: &CudaContext,
        graph: sys::CUgraph,
        before: &[sys::CUgraphNode],
    ) -> Result<sys::CUgraphNode, DriverError> {
        let mut node = std::ptr::null_mut();
        let (list, count) = (before.as_ptr(), before.len());
        // SAFETY: the handles are valid, and the call copies the parameters.
        unsafe {
            match self {
                Content::Nothing => sys::cuGraphAddEmptyNode(&mut node, graph, list, count),
                Content::Launch(launch) => {
                    let mut words = launch.words.clone();
                    let mut pointers = pointers(&mut words);
                    let parameters = launch.parameters(&mut pointers);
                    sys::cuGraphAddKernelNode_v2(&mut node, graph, list, count, &parameters)
                }
                Content::Copy(copy) => {
                    sys::cuGraphAddMemcpyNode(&mut node, graph, list, count, &**copy, context.cu_ctx())
                }
            }
        }
        .result()?;
        Ok(node)
    }

    /// Replaces the work of a node of an executable graph by this work.
    pub fn replace(
        &self,
        context: &CudaContext,
        executable: sys::CUgraphExec,
        node: sys::CUgraphNode,
    ) -> Result<(), DriverError> {
        // SAFETY: as in `add`; the node belongs to the graph from which the executable was made, or
        // to a graph inside it.
        unsafe {
            match self {
                Content::Nothing => return Ok(()),
                Content::Launch(launch) => {
                    let mut words = launch.words.clone();
                    let mut pointers = pointers(&mut words);
                    let parameters = launch.parameters(&mut pointers);
                    sys::cuGraphExecKernelNodeSetParams_v2(executable, node, &parameters)
                }
                Content::Copy(copy) => sys::cuGraphExecMemcpyNodeSetParams(executable, node, &**copy, context.cu_ctx()),
            }
        }
        .result()
    }
}

impl Launch {
    fn parameters(&self, pointers: &mut [*mut c_void]) -> sys::CUDA_KERNEL_NODE_PARAMS {
        sys::CUDA_KERNEL_NODE_PARAMS {
            func: self.function,
            gridDimX: self.blocks,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: self.threads,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: 0,
            kernelParams: pointers.as_mut_ptr(),
            extra: std::ptr::null_mut(),
            kern: std::ptr::null_mut(),
            ctx: std::ptr::null_mut(),
        }
    }
}

/// Adds a node that executes an inner graph while a condition holds, or once if the condition
/// holds. Returns the node and the inner graph, which has no nodes yet.
pub fn add_conditional(
    context: &CudaContext,
    graph: sys::CUgraph,
    before: &[sys::CUgraphNode],
    condition: u64,
    repetition: sys::CUgraphConditionalNodeType,
) -> Result<(sys::CUgraphNode, sys::CUgraph), DriverError> {
    // SAFETY: all fields are numbers and pointers, for which zeros are valid.
    let mut parameters: sys::CUgraphNodeParams = unsafe { std::mem::zeroed() };
    parameters.type_ = sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL;
    parameters.__bindgen_anon_1.conditional = sys::CUDA_CONDITIONAL_NODE_PARAMS {
        handle: condition,
        type_: repetition,
        size: 1,
        phGraph_out: std::ptr::null_mut(),
        ctx: context.cu_ctx(),
    };
    let mut node = std::ptr::null_mut();
    let (list, count) = (before.as_ptr(), before.len());
    // SAFETY: the handles are valid. The driver sets the list of graphs, which has one graph, and
    // keeps it as long as the node. The edges have no data.
    let body = unsafe {
        sys::cuGraphAddNode_v2(&mut node, graph, list, std::ptr::null(), count, &mut parameters).result()?;
        *parameters.__bindgen_anon_1.conditional.phGraph_out
    };
    Ok((node, body))
}

/// Returns a pointer to each word.
pub fn pointers(words: &mut [u64]) -> Vec<*mut c_void> {
    words.iter_mut().map(|word| std::ptr::from_mut(word).cast()).collect()
}

/// Describes a copy of bytes on the device.
fn copy(from: CUdeviceptr, to: CUdeviceptr, bytes: usize) -> sys::CUDA_MEMCPY3D {
    sys::CUDA_MEMCPY3D {
        srcXInBytes: 0,
        srcY: 0,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
        srcHost: std::ptr::null(),
        srcDevice: from,
        srcArray: std::ptr::null_mut(),
        reserved0: std::ptr::null_mut(),
        srcPitch: bytes,
        srcHeight: 1,
        dstXInBytes: 0,
        dstY: 0,
        dstZ: 0,
        dstLOD: 0,
        dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
        dstHost: std::ptr::null_mut(),
        dstDevice: to,
        dstArray: std::ptr::null_mut(),
        reserved1: std::ptr::null_mut(),
        dstPitch: bytes,
        dstHeight: 1,
        WidthInBytes: bytes,
        Height: 1,
        Depth: 1,
    }
}
