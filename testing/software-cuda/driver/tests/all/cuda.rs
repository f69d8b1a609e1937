//! Calls of the driver in a form that is short in tests. The prototypes are those of `cuda.h`.

use std::ffi::{c_char, c_void};

use software_cuda as _;

pub const INVALID_VALUE: u32 = 1;
pub const OUT_OF_MEMORY: u32 = 2;
pub const INVALID_CONTEXT: u32 = 201;
pub const INVALID_HANDLE: u32 = 400;
pub const NOT_READY: u32 = 600;
pub const ILLEGAL_ADDRESS: u32 = 700;
pub const LAUNCH_FAILED: u32 = 719;
pub const NOT_SUPPORTED: u32 = 801;

macro_rules! prototypes {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?);)*) => {
        #[allow(non_snake_case)]
        mod raw {
            use super::*;
            unsafe extern "C" {
                $(pub fn $name($($argument: $type),*) -> u32;)*
            }
        }
        $(
            #[allow(non_snake_case, dead_code, clippy::too_many_arguments)]
            pub fn $name($($argument: $type),*) -> Result<(), u32> {
                // SAFETY: the tests pass valid pointers, or pointers that the driver must refuse.
                match unsafe { raw::$name($($argument),*) } {
                    0 => Ok(()),
                    error => Err(error),
                }
            }
        )*
    };
}

prototypes! {
    fn cuInit(flags: u32);
    fn cuArrayCreate_v2();
    fn cuDeviceGetAttribute(value: *mut i32, attribute: i32, device: i32);
    fn cuCtxCreate_v2(context: *mut usize, flags: u32, device: i32);
    fn cuCtxDestroy_v2(context: usize);
    fn cuCtxGetCurrent(context: *mut usize);
    fn cuCtxSetCurrent(context: usize);
    fn cuCtxSynchronize();
    fn cuDevicePrimaryCtxRetain(context: *mut usize, device: i32);
    fn cuDevicePrimaryCtxRelease_v2(device: i32);
    fn cuMemAlloc_v2(address: *mut u64, bytes: usize);
    fn cuMemFree_v2(address: u64);
    fn cuMemAllocAsync(address: *mut u64, bytes: usize, stream: usize);
    fn cuMemFreeAsync(address: u64, stream: usize);
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    fn cuMemHostAlloc(address: *mut *mut u8, bytes: usize, flags: u32);
    fn cuMemFreeHost(address: *mut u8);
    fn cuMemcpyHtoD_v2(to: u64, from: *const u8, bytes: usize);
    fn cuMemcpyDtoH_v2(to: *mut u8, from: u64, bytes: usize);
    fn cuMemcpyHtoDAsync_v2(to: u64, from: *const u8, bytes: usize, stream: usize);
    fn cuMemcpyDtoHAsync_v2(to: *mut u8, from: u64, bytes: usize, stream: usize);
    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: usize);
    fn cuMemcpy2D_v2(copy: *const Copy2d);
    fn cuMemsetD8Async(address: u64, value: u8, count: usize, stream: usize);
    fn cuMemsetD32Async(address: u64, value: u32, count: usize, stream: usize);
    fn cuStreamCreate(stream: *mut usize, flags: u32);
    fn cuStreamDestroy_v2(stream: usize);
    fn cuStreamSynchronize(stream: usize);
    fn cuStreamQuery(stream: usize);
    fn cuStreamWaitEvent(stream: usize, event: usize, flags: u32);
    fn cuLaunchHostFunc(stream: usize, function: extern "C" fn(*mut c_void), argument: *mut c_void);
    fn cuEventCreate(event: *mut usize, flags: u32);
    fn cuEventDestroy_v2(event: usize);
    fn cuEventRecord(event: usize, stream: usize);
    fn cuEventQuery(event: usize);
    fn cuEventSynchronize(event: usize);
    fn cuEventElapsedTime(milliseconds: *mut f32, from: usize, to: usize);
    fn cuStreamBeginCapture_v2(stream: usize, mode: u32);
    fn cuStreamEndCapture(stream: usize, graph: *mut usize);
    fn cuStreamIsCapturing(stream: usize, status: *mut u32);
    fn cuGraphCreate(graph: *mut usize, flags: u32);
    fn cuGraphDestroy(graph: usize);
    fn cuGraphAddMemsetNode(
        node: *mut usize, graph: usize, before: *const usize, count: usize, fill: *const Fill, context: usize,
    );
    fn cuGraphAddEmptyNode(node: *mut usize, graph: usize, before: *const usize, count: usize);
    fn cuGraphAddChildGraphNode(node: *mut usize, graph: usize, before: *const usize, count: usize, child: usize);
    fn cuGraphAddDependencies(graph: usize, from: *const usize, to: *const usize, count: usize);
    fn cuGraphGetNodes(graph: usize, nodes: *mut usize, count: *mut usize);
    fn cuGraphNodeGetType(node: usize, kind: *mut u32);
    fn cuGraphInstantiateWithFlags(executable: *mut usize, graph: usize, flags: u64);
    fn cuGraphLaunch(executable: usize, stream: usize);
    fn cuGraphExecDestroy(executable: usize);
    fn cuGraphExecMemsetNodeSetParams(executable: usize, node: usize, fill: *const Fill, context: usize);
    fn cuGraphAddKernelNode_v2(
        node: *mut usize, graph: usize, before: *const usize, count: usize, kernel: *const Kernel,
    );
    fn cuGraphExecKernelNodeSetParams_v2(executable: usize, node: usize, kernel: *const Kernel);
    fn cuGraphAddEventRecordNode(node: *mut usize, graph: usize, before: *const usize, count: usize, event: usize);
    fn cuGraphConditionalHandleCreate(handle: *mut u64, graph: usize, context: usize, default: u32, flags: u32);
    fn cuGraphAddNode_v2(
        node: *mut usize, graph: usize, before: *const usize, data: *const u64, count: usize,
        parameters: *mut Conditional,
    );
    fn cuGraphExecUpdate_v2(executable: usize, graph: usize, result: *mut Updated);
    fn cuModuleLoadDataEx(
        module: *mut usize, text: *const c_char, count: u32, options: *const u32, values: *const *mut c_void,
    );
    fn cuModuleUnload(module: usize);
    fn cuModuleGetFunction(function: *mut usize, module: usize, name: *const c_char);
    fn cuModuleGetGlobal_v2(address: *mut u64, bytes: *mut usize, module: usize, name: *const c_char);
    fn cuFuncSetAttribute(function: usize, attribute: i32, value: i32);
    fn cuLaunchKernel(
        function: usize, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32, shared: u32,
        stream: usize, values: *const *const c_void, extra: *const *const c_void,
    );
}

/// `CUDA_MEMSET_NODE_PARAMS`.
#[repr(C)]
pub struct Fill {
    pub address: u64,
    pub pitch: usize,
    pub value: u32,
    pub width: u32,
    pub columns: usize,
    pub rows: usize,
}

impl Fill {
    /// Returns a fill of words in a row.
    pub fn words(address: u64, value: u32, columns: usize) -> Fill {
        Fill { address, pitch: 0, value, width: 4, columns, rows: 1 }
    }
}

/// `CUDA_KERNEL_NODE_PARAMS_v2`.
#[repr(C)]
pub struct Kernel {
    pub function: usize,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
    pub values: *const *const c_void,
    pub extra: *const *const c_void,
    pub kernel: usize,
    pub context: usize,
}

impl Kernel {
    /// Returns a launch of one thread.
    pub fn new(function: usize, values: &[*const c_void]) -> Kernel {
        let extra = std::ptr::null();
        let (grid, block) = ([1; 3], [1; 3]);
        Kernel { function, grid, block, shared: 0, values: values.as_ptr(), extra, kernel: 0, context: 0 }
    }
}

/// `CUgraphNodeParams` of a conditional node.
#[repr(C)]
pub struct Conditional {
    kind: u32,
    reserved: [u32; 3],
    condition: u64,
    repetition: u32,
    size: u32,
    graphs: *const usize,
    context: usize,
    more: [u64; 26],
}

impl Conditional {
    pub fn new(condition: u64, repetition: u32, size: u32) -> Conditional {
        let graphs = std::ptr::null();
        Conditional { kind: 13, reserved: [0; 3], condition, repetition, size, graphs, context: 0, more: [0; 26] }
    }

    /// Returns the handles of the graphs that the driver has made.
    pub fn graphs(&self) -> Vec<usize> {
        // SAFETY: the driver has set the address of so many handles, which live as long as the
        // node.
        unsafe { std::slice::from_raw_parts(self.graphs, self.size as usize) }.to_vec()
    }
}

/// `CUDA_MEMCPY2D`, with the fields of the two sides as arrays of words: x, y, kind of memory, host
/// address, device address, array, pitch.
#[repr(C)]
pub struct Copy2d {
    pub from: [usize; 7],
    pub to: [usize; 7],
    pub width: usize,
    pub height: usize,
}

/// `CUgraphExecUpdateResultInfo`.
#[repr(C)]
#[derive(Default)]
pub struct Updated {
    pub result: u32,
    pub node: usize,
    pub from_node: usize,
}

/// Returns what a function writes to its first argument.
pub fn made<T: Default>(make: impl FnOnce(*mut T) -> Result<(), u32>) -> Result<T, u32> {
    let mut value = T::default();
    make(&mut value)?;
    Ok(value)
}

/// A context that is current in the test's thread, and is destroyed at the end.
pub struct Context(pub usize);

impl Context {
    pub fn new() -> Context {
        cuInit(0).unwrap();
        Context(made(|context| cuCtxCreate_v2(context, 0, 0)).unwrap())
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        _ = cuCtxDestroy_v2(self.0);
    }
}

pub fn allocate(bytes: usize) -> u64 {
    made(|address| cuMemAlloc_v2(address, bytes)).unwrap()
}

/// Returns a stream that is not ordered with the default stream.
pub fn stream() -> usize {
    made(|stream| cuStreamCreate(stream, 1)).unwrap()
}

pub fn event() -> usize {
    made(|event| cuEventCreate(event, 0)).unwrap()
}

pub fn fill(address: u64, value: u32, words: usize, stream: usize) -> Result<(), u32> {
    cuMemsetD32Async(address, value, words, stream)
}

/// Reads words of a device.
pub fn words(address: u64, count: usize) -> Result<Vec<u32>, u32> {
    let mut words = vec![0u32; count];
    cuMemcpyDtoH_v2(words.as_mut_ptr().cast(), address, 4 * count)?;
    Ok(words)
}
