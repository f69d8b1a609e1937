//! Executes thunks on a GPU, in one stream.

use std::borrow::Cow;
use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::sys::{self, CUdeviceptr};
use cudarc::driver::{CudaSlice, DevicePtr, result};

use fusebox_routines::{CallingThread, Context, Product};

use super::device::Device;
use super::module::{LoadedFunction, LoadedModule};
use super::product::{CublasLibrary, LoadedProduct};
use super::{load_error, run_error};
use crate::code::LoadedHostOp;
use crate::machine::thunks::Machine;
use crate::{Allocation, AllocationKind, Buffer, CodeImage, Executable, LoadError, RunError, Slice, Thunk};

/// A program that is loaded on a GPU.
#[derive(Debug)]
pub struct Cuda {
    kernels: Vec<LoadedFunction>,
    host_ops: Vec<LoadedHostOp>,
    /// For each host operation, the matrix product that the GPU computes instead of the host.
    /// `None` if the host executes the operation.
    products: Vec<Option<LoadedProduct>>,
    buffers: Vec<CudaSlice<u8>>,
    device: Device,
}

impl Cuda {
    /// Loads the code and allocates the buffers on the GPU. The code is compiled for the compute
    /// capability `wanted`. Fails if there is no GPU, if the GPU is older than `wanted`, or if
    /// memory is short.
    pub fn load(executable: &Executable, wanted: u32, host_ops: Vec<LoadedHostOp>) -> Result<Cuda, LoadError> {
        let device = Device::open()?;
        check_capability(wanted, device.capability()?)?;
        let modules = executable.code.iter().map(|code| module(&device, code)).collect::<Result<Vec<_>, _>>()?;
        let products = products(&device, &host_ops)?;
        let kernel = |image: &crate::KernelImage| modules[image.code as usize].function(image);
        let kernels = executable.kernels.iter().map(kernel).collect::<Result<Vec<_>, _>>()?;
        let buffers = executable.allocations.iter().map(|a| allocate(&device, a)).collect::<Result<Vec<_>, _>>()?;
        device.stream.synchronize().map_err(|e| load_error("filling buffers", e))?;
        Ok(Cuda { kernels, host_ops, products, buffers, device })
    }

    fn address(&self, slice: &Slice) -> CUdeviceptr {
        let buffer = &self.buffers[slice.allocation as usize];
        let (start, _) = buffer.device_ptr(&self.device.stream);
        start + slice.offset
    }

    /// Copies the bytes of a slice to new host memory, which has the alignment that routines need.
    fn fetched(&self, slice: &Slice) -> Result<Buffer, RunError> {
        let mut bytes = buffer(slice)?;
        self.fetch(slice, bytes.as_mut_slice())?;
        Ok(bytes)
    }

    fn fetch(&self, slice: &Slice, bytes: &mut [u8]) -> Result<(), RunError> {
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: as in `write`.
        unsafe { result::memcpy_dtoh_async(bytes, self.address(slice), self.device.stream.cu_stream()) }
            .and_then(|()| self.device.stream.synchronize())
            .map_err(|e| run_error("copying from the GPU", e))
    }
}

impl Machine for Cuda {
    /// Executes thunks and waits for their end. Returns the elapsed time, measured by the GPU.
    fn execute(&mut self, thunks: &[Thunk]) -> Result<Duration, RunError> {
        let failed = |e| run_error("running on the GPU", e);
        self.device.context.bind_to_thread().map_err(failed)?;
        let timed = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
        let start = self.device.stream.record_event(timed).map_err(failed)?;
        self.run(thunks)?;
        let end = self.device.stream.record_event(timed).map_err(failed)?;
        self.device.stream.synchronize().map_err(failed)?;
        let milliseconds = start.elapsed_ms(&end).map_err(failed)?;
        Ok(Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1e3))
    }

    fn launch(&mut self, kernel: u32, arguments: &[Slice]) -> Result<(), RunError> {
        let function = &self.kernels[kernel as usize];
        let image = &function.image;
        let mut addresses: Vec<CUdeviceptr> = arguments.iter().map(|s| self.address(s)).collect();
        let mut parameters: Vec<*mut c_void> = addresses.iter_mut().map(|a| std::ptr::from_mut(a).cast()).collect();
        let blocks = u32::try_from(image.blocks)
            .map_err(|_| RunError::Device(format!("kernel {} has {} blocks", image.symbol, image.blocks)))?;
        if blocks == 0 {
            return Ok(());
        }
        // SAFETY: the arguments are the buffers that the compiler has assigned, in the order of the
        // kernel's parameters. The buffers live as long as the program, and the program waits for
        // its kernels. Shared memory is static, so the launch requests none.
        unsafe {
            result::launch_kernel(
                function.handle,
                (blocks, 1, 1),
                (image.threads_per_block, 1, 1),
                0,
                self.device.stream.cu_stream(),
                &mut parameters,
            )
        }
        .map_err(|e| run_error(&format!("launching kernel {}", image.symbol), e))
    }

    fn copy(&mut self, from: &Slice, to: &Slice) -> Result<(), RunError> {
        let (source, target) = (self.address(from), self.address(to));
        // SAFETY: both slices lie in their allocations, have equal sizes and do not overlap
        // (checked at load).
        unsafe { result::memcpy_dtod_async(target, source, from.bytes as usize, self.device.stream.cu_stream()) }
            .map_err(|e| run_error("copying on the GPU", e))
    }

    fn read(&self, slice: &Slice) -> Result<Cow<'_, [u8]>, RunError> {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(slice.bytes as usize).map_err(|_| RunError::Memory { bytes: slice.bytes })?;
        bytes.resize(slice.bytes as usize, 0);
        self.fetch(slice, &mut bytes)?;
        Ok(Cow::Owned(bytes))
    }

    fn write(&mut self, slice: &Slice, bytes: &[u8]) -> Result<(), RunError> {
        let to = self.address(slice);
        // SAFETY: the slice lies within its allocation (checked at load) and is as long as `bytes`
        // (checked by the caller). The synchronisation ensures that `bytes` is alive until the
        // driver has read it.
        unsafe { result::memcpy_htod_async(to, bytes, self.device.stream.cu_stream()) }
            .and_then(|()| self.device.stream.synchronize())
            .map_err(|e| run_error("copying to the GPU", e))
    }

    /// Evicts the program's memory from the GPU's cache by writing twice as many other bytes as the
    /// cache holds.
    fn evict(&mut self) -> Result<(), RunError> {
        let failed = |e| run_error("clearing the GPU's cache", e);
        let attribute = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE;
        let cache = self.device.context.attribute(attribute).map_err(failed)?;
        let zeros = self.device.stream.alloc_zeros::<u8>(2 * cache.unsigned_abs() as usize).map_err(failed)?;
        drop(zeros);
        self.device.stream.synchronize().map_err(failed)
    }

    fn host_op(&mut self, op: u32, arguments: &[Slice], results: &[Slice]) -> Result<(), RunError> {
        if let (Some(product), [left, right], [to]) = (&self.products[op as usize], arguments, results) {
            return product.run(&self.device, [self.address(left), self.address(right)], self.address(to));
        }
        let inputs = arguments.iter().map(|slice| self.fetched(slice)).collect::<Result<Vec<_>, _>>()?;
        let inputs: Vec<&[u8]> = inputs.iter().map(Buffer::as_slice).collect();
        let mut outputs = results.iter().map(buffer).collect::<Result<Vec<_>, _>>()?;
        let mut written: Vec<&mut [u8]> = outputs.iter_mut().map(Buffer::as_mut_slice).collect();
        self.host_ops[op as usize].execute(&inputs, &mut written, &Context { workers: &CallingThread })?;
        results.iter().zip(&outputs).try_for_each(|(slice, output)| self.write(slice, output.as_slice()))
    }
}

/// Loads a cuBLASLt product for each host operation that is a matrix product. Omits products
/// without elements and products with a contracted dimension of size 0, because the host executes
/// these products.
fn products(device: &Device, ops: &[LoadedHostOp]) -> Result<Vec<Option<LoadedProduct>>, LoadError> {
    let all: Vec<Option<&Product>> = ops.iter().map(|op| op.product().filter(|product| !product.is_empty())).collect();
    if all.iter().all(Option::is_none) {
        return Ok(all.into_iter().map(|_| None).collect());
    }
    let library = CublasLibrary::open(device)?;
    let load = |product: Option<&Product>| product.map(|product| LoadedProduct::load(&library, product.clone()));
    all.into_iter().map(|product| load(product).transpose()).collect()
}

/// Allocates host memory with the size of a slice.
fn buffer(slice: &Slice) -> Result<Buffer, RunError> {
    let bytes = usize::try_from(slice.bytes).ok();
    bytes.and_then(Buffer::zeroed).ok_or(RunError::Memory { bytes: slice.bytes })
}

/// Checks that the code was compiled for this GPU or an older GPU. Code for an older GPU can run.
fn check_capability(wanted: u32, card: u32) -> Result<(), LoadError> {
    if wanted <= card {
        return Ok(());
    }
    Err(LoadError::Device(format!(
        "the executable is for sm_{wanted}, this GPU is sm_{card}: compile for --target sm_{card} or older"
    )))
}

fn module(device: &Device, code: &CodeImage) -> Result<Arc<LoadedModule>, LoadError> {
    match code {
        CodeImage::Ptx(text) => Ok(Arc::new(LoadedModule::load(&device.context, text)?)),
        CodeImage::Object { .. } => Err(LoadError::Object("code of a GPU program is no PTX".into())),
    }
}

fn allocate(device: &Device, allocation: &Allocation) -> Result<CudaSlice<u8>, LoadError> {
    // Allocate at least one byte: the driver refuses empty allocations, and an empty value needs an
    // address, too.
    let bytes = usize::try_from(allocation.bytes).map_err(|_| LoadError::Memory { bytes: allocation.bytes })?.max(1);
    let mut buffer =
        device.stream.alloc_zeros::<u8>(bytes).map_err(|_| LoadError::Memory { bytes: allocation.bytes })?;
    if let AllocationKind::Constant(data) = &allocation.kind
        && !data.is_empty()
    {
        device.stream.memcpy_htod(data, &mut buffer).map_err(|e| load_error("copying a constant to the GPU", e))?;
    }
    Ok(buffer)
}
