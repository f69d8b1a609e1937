//! Sequences of launches and copies as CUDA graphs, which one call launches.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::sys::{self, CUdeviceptr};
use cudarc::driver::{CudaContext, DriverError};

use super::module::LoadedFunction;
use super::order::Place;
use crate::executable::DeviceStep;
use crate::machine::frame::Frame;
use crate::{RunError, Slice, Thunk};

/// A sequence of launches and copies that is ready to be launched.
#[derive(Debug)]
pub struct LoadedGraph {
    thunks: Vec<Thunk>,
    /// The addresses of all allocations at the last launch.
    addresses: Vec<*mut u8>,
    /// For each thunk, its node.
    nodes: Vec<sys::CUgraphNode>,
    graph: sys::CUgraph,
    executable: sys::CUgraphExec,
    context: Arc<CudaContext>,
}

// SAFETY: any thread that has bound the context may use the driver's handles. The addresses are
// only compared.
unsafe impl Send for LoadedGraph {}

impl LoadedGraph {
    /// Builds the graph of a sequence of launches and copies, each at its place.
    pub fn new(
        context: &Arc<CudaContext>,
        kernels: &[LoadedFunction],
        thunks: &[Thunk],
        places: &[Place],
        frame: &Frame,
    ) -> Result<LoadedGraph, RunError> {
        let failed = |e| super::run_error("building a graph", e);
        let mut graph = std::ptr::null_mut();
        // SAFETY: the pointer is valid for the new handle.
        unsafe { sys::cuGraphCreate(&mut graph, 0) }.result().map_err(failed)?;
        let mut made = LoadedGraph {
            thunks: thunks.to_vec(),
            addresses: frame.addresses().to_vec(),
            nodes: Vec::with_capacity(thunks.len()),
            graph,
            executable: std::ptr::null_mut(),
            context: context.clone(),
        };
        for (step, place) in thunks.iter().filter_map(DeviceStep::of).zip(places) {
            let before: Vec<sys::CUgraphNode> = place.after.iter().map(|&number| made.nodes[number]).collect();
            let node = made.add(&before, &Content::of(kernels, &step, frame)?).map_err(failed)?;
            made.nodes.push(node);
        }
        // SAFETY: the graph is complete, and the pointer is valid for the new handle.
        unsafe { sys::cuGraphInstantiateWithFlags(&mut made.executable, graph, 0) }.result().map_err(failed)?;
        Ok(made)
    }

    /// Launches the graph in a stream, with the addresses of a frame.
    pub fn launch(&mut self, kernels: &[LoadedFunction], frame: &Frame, stream: sys::CUstream) -> Result<(), RunError> {
        if self.addresses != frame.addresses() {
            self.update(kernels, frame)?;
        }
        // SAFETY: both handles are valid. The memory and the functions of the graph live as long as
        // the execution, which waits for the stream.
        unsafe { sys::cuGraphLaunch(self.executable, stream) }
            .result()
            .map_err(|e| super::run_error("launching a graph", e))
    }

    /// Sets the parameters of all nodes whose addresses have changed.
    fn update(&mut self, kernels: &[LoadedFunction], frame: &Frame) -> Result<(), RunError> {
        let failed = |e| super::run_error("updating a graph", e);
        let moved = |slice: &Slice| {
            let number = slice.allocation as usize;
            self.addresses[number] != frame.addresses()[number]
        };
        for (step, &node) in self.thunks.iter().filter_map(DeviceStep::of).zip(&self.nodes) {
            let is_changed = match step {
                DeviceStep::Launch { arguments, .. } => arguments.iter().any(moved),
                DeviceStep::Copy { from, to } => moved(from) || moved(to),
            };
            if is_changed {
                self.replace(node, &Content::of(kernels, &step, frame)?).map_err(failed)?;
            }
        }
        self.addresses.clear();
        self.addresses.extend_from_slice(frame.addresses());
        Ok(())
    }

    fn add(&self, before: &[sys::CUgraphNode], content: &Content) -> Result<sys::CUgraphNode, DriverError> {
        let mut node = std::ptr::null_mut();
        let (list, count) = (before.as_ptr(), before.len());
        // SAFETY: the handles are valid, and the call copies the parameters.
        unsafe {
            match content {
                Content::Nothing => sys::cuGraphAddEmptyNode(&mut node, self.graph, list, count),
                Content::Launch(launch) => {
                    let mut addresses = launch.addresses.clone();
                    let mut pointers = pointers(&mut addresses);
                    let parameters = launch.parameters(&mut pointers);
                    sys::cuGraphAddKernelNode_v2(&mut node, self.graph, list, count, &parameters)
                }
                Content::Copy(copy) => {
                    sys::cuGraphAddMemcpyNode(&mut node, self.graph, list, count, &**copy, self.context.cu_ctx())
                }
            }
        }
        .result()?;
        Ok(node)
    }

    fn replace(&self, node: sys::CUgraphNode, content: &Content) -> Result<(), DriverError> {
        // SAFETY: as in `add`; the node belongs to the graph from which the executable was made.
        unsafe {
            match content {
                Content::Nothing => return Ok(()),
                Content::Launch(launch) => {
                    let mut addresses = launch.addresses.clone();
                    let mut pointers = pointers(&mut addresses);
                    let parameters = launch.parameters(&mut pointers);
                    sys::cuGraphExecKernelNodeSetParams_v2(self.executable, node, &parameters)
                }
                Content::Copy(copy) => {
                    sys::cuGraphExecMemcpyNodeSetParams(self.executable, node, &**copy, self.context.cu_ctx())
                }
            }
        }
        .result()
    }
}

impl Drop for LoadedGraph {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: each handle was made once and is destroyed once. No launch is running,
            // because executions wait for their end. No caller could handle an error.
            unsafe {
                if !self.executable.is_null() {
                    _ = sys::cuGraphExecDestroy(self.executable);
                }
                _ = sys::cuGraphDestroy(self.graph);
            }
        }
    }
}

/// The work of a node.
enum Content<'k> {
    /// A launch without blocks, or a copy without bytes.
    Nothing,
    Launch(Launch<'k>),
    Copy(Box<sys::CUDA_MEMCPY3D>),
}

/// A launch of a kernel.
struct Launch<'k> {
    function: &'k LoadedFunction,
    blocks: u32,
    addresses: Vec<CUdeviceptr>,
}

impl<'k> Content<'k> {
    fn of(kernels: &'k [LoadedFunction], step: &DeviceStep, frame: &Frame) -> Result<Content<'k>, RunError> {
        let address = |slice: &Slice| frame.address(slice) as CUdeviceptr;
        Ok(match *step {
            DeviceStep::Launch { kernel, arguments } => {
                let function = &kernels[kernel as usize];
                match function.blocks()? {
                    0 => Content::Nothing,
                    blocks => {
                        let addresses = arguments.iter().map(address).collect();
                        Content::Launch(Launch { function, blocks, addresses })
                    }
                }
            }
            DeviceStep::Copy { from, .. } if from.bytes == 0 => Content::Nothing,
            DeviceStep::Copy { from, to } => {
                Content::Copy(Box::new(copy(address(from), address(to), from.bytes as usize)))
            }
        })
    }
}

impl Launch<'_> {
    fn parameters(&self, pointers: &mut [*mut c_void]) -> sys::CUDA_KERNEL_NODE_PARAMS {
        sys::CUDA_KERNEL_NODE_PARAMS {
            func: self.function.handle,
            gridDimX: self.blocks,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: self.function.image.threads_per_block,
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

/// Returns a pointer to each address.
pub fn pointers(addresses: &mut [CUdeviceptr]) -> Vec<*mut c_void> {
    addresses.iter_mut().map(|address| std::ptr::from_mut(address).cast()).collect()
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
