//! Launches of kernels and calls of the host.

use std::ffi::c_void;
use std::sync::Arc;

use super::entry::entries;
use crate::abi::{In, KernelNode, KernelParameters, LaunchAttribute, LaunchConfig};
use crate::driver::Driver;
use crate::module::Function;
use crate::space::Space;
use crate::status::{Answer, Status};
use crate::work::{HostCall, HostFunction, Launch, Shape, Work};

/// The numbers that name entries in a list of extra options: the buffer of the parameters, and the
/// size of this buffer.
const BUFFER: usize = 1;
const BUFFER_BYTES: usize = 2;

/// Attributes of a launch.
const COOPERATIVE: u32 = 2;
const CLUSTER: u32 = 4;

/// Collects the bytes of the parameters of a launch.
fn parameters(space: &Space, function: &Function, given: KernelParameters) -> Answer<Arc<[u8]>> {
    let kernel = &function.kernel;
    let mut bytes = vec![0; kernel.parameter_bytes() as usize];
    if !given.values.is_null() {
        if !given.extra.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        for (number, parameter) in kernel.parameters.iter().enumerate() {
            let value = given.values.at(number)?.list(parameter.bytes as usize)?;
            bytes[parameter.offset as usize..][..value.len()].copy_from_slice(&value);
        }
        return Ok(bytes.into());
    }
    if given.extra.is_null() {
        return if bytes.is_empty() { Ok(bytes.into()) } else { Err(Status::INVALID_VALUE) };
    }
    let (buffer, size) = buffer(given.extra)?;
    if size != bytes.len() {
        let (name, declared) = (&kernel.name, bytes.len());
        space.reporter.report(&format!(
            "the launch of kernel {name} is refused: it passes {size} bytes of parameters, the PTX declares {declared}"
        ));
        return Err(Status::INVALID_VALUE);
    }
    Ok(buffer.list(size)?.into())
}

/// Finds the buffer and its size in a list of extra options.
fn buffer(extra: In<*const c_void>) -> Answer<(In<u8>, usize)> {
    let (mut buffer, mut size) = (None, None);
    for pair in 0.. {
        let value = || extra.at(2 * pair + 1);
        match extra.at(2 * pair)? as usize {
            BUFFER => buffer = Some(In::from_pointer(value()?.cast())),
            BUFFER_BYTES => size = Some(In::<usize>::from_pointer(value()?.cast()).get()?),
            _ => break,
        }
    }
    buffer.zip(size).ok_or(Status::INVALID_VALUE)
}

/// Checks a launch against all limits, and returns the work that launches the kernel.
fn work(driver: &Driver, function: usize, shape: Shape, given: KernelParameters) -> Answer<Work> {
    let space = driver.current()?.space.clone();
    let function = driver.functions.get(function)?;
    let parameters = parameters(&space, &function, given)?;
    let launch = Launch { function, shape, parameters };
    launch.check(&space)?;
    Ok(Work::Launch(launch))
}

/// Returns the work of a graph's node that launches a kernel.
pub fn node_work(driver: &Driver, node: &KernelNode) -> Answer<Work> {
    let shape = Shape::new(node.grid, node.block, node.dynamic_shared);
    work(driver, node.function, shape, KernelParameters { values: node.values, extra: node.extra })
}

/// Applies an attribute to the shape of a launch.
fn apply(attribute: &LaunchAttribute, shape: &mut Shape) -> Answer {
    match attribute.number {
        COOPERATIVE => shape.is_cooperative = attribute.value[0] != 0,
        CLUSTER => shape.cluster = [0, 1, 2].map(|axis| attribute.value[axis]),
        // Attributes that do not change what a launch computes: none, window of the cache, how the
        // host waits, policy of clusters, priority, domains of memory, preferred shared memory.
        0 | 1 | 3 | 5 | 8 | 9 | 10 | 14 => {}
        _ => return Err(Status::NOT_SUPPORTED),
    }
    Ok(())
}

entries! {
    /// Launches a kernel.
    fn cuLaunchKernel(
        function: usize, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        dynamic_shared: u32, stream: usize, values: In<In<u8>>, extra: In<*const c_void>,
    ) |driver| {
        let stream = driver.stream(stream)?;
        let shape = Shape::new([grid_x, grid_y, grid_z], [block_x, block_y, block_z], dynamic_shared);
        stream.submit(work(driver, function, shape, KernelParameters { values, extra })?)
    }

    /// Launches a kernel with attributes.
    fn cuLaunchKernelEx(
        config: In<LaunchConfig>, function: usize, values: In<In<u8>>, extra: In<*const c_void>,
    ) |driver| {
        let config = config.get()?;
        let stream = driver.stream(config.stream)?;
        let mut shape = Shape::new(config.grid, config.block, config.dynamic_shared);
        for attribute in config.attributes.list(config.attribute_count as usize)? {
            apply(&attribute, &mut shape)?;
        }
        stream.submit(work(driver, function, shape, KernelParameters { values, extra })?)
    }

    /// Launches a kernel whose blocks wait for each other.
    fn cuLaunchCooperativeKernel(
        function: usize, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        dynamic_shared: u32, stream: usize, values: In<In<u8>>,
    ) |driver| {
        let stream = driver.stream(stream)?;
        let shape = Shape::new([grid_x, grid_y, grid_z], [block_x, block_y, block_z], dynamic_shared);
        let given = KernelParameters { values, extra: In::NULL };
        stream.submit(work(driver, function, Shape { is_cooperative: true, ..shape }, given)?)
    }

    /// Calls a function of the host after the earlier work of a stream.
    fn cuLaunchHostFunc(
        stream: usize, function: Option<unsafe extern "C" fn(*mut c_void)>, argument: usize,
    ) |driver| {
        let function = HostFunction::Plain(function.ok_or(Status::INVALID_VALUE)?);
        driver.stream(stream)?.call(HostCall { function, argument })
    }

    /// After the earlier work of a stream, calls a function of the host with the stream's status.
    fn cuStreamAddCallback(
        stream: usize, function: Option<unsafe extern "C" fn(usize, Status, *mut c_void)>, argument: usize, flags: u32,
    ) |driver| {
        let function = HostFunction::WithStatus(function.ok_or(Status::INVALID_VALUE)?, stream);
        if flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        driver.stream(stream)?.call(HostCall { function, argument })
    }
}
