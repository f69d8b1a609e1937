//! Modules and functions.

use std::ffi::{CStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use super::entry::entries;
use crate::abi::{In, Out};
use crate::driver::Driver;
use crate::module::{Module, Refusal};
use crate::status::{Answer, Status};

/// Options for the addresses and the sizes of the caller's message buffers.
const INFO_LOG: u32 = 3;
const INFO_LOG_BYTES: u32 = 4;
const ERROR_LOG: u32 = 5;
const ERROR_LOG_BYTES: u32 = 6;

/// Options of the assembler: the number and the value of each option. The type of a value is a
/// pointer, but some values are numbers.
#[derive(Clone, Copy)]
struct Options {
    count: u32,
    numbers: In<u32>,
    values: In<*mut c_void>,
}

impl Options {
    const NONE: Options = Options { count: 0, numbers: In::NULL, values: In::NULL };

    fn value(&self, number: u32) -> Answer<Option<*mut c_void>> {
        let numbers = self.numbers.list(self.count as usize)?;
        let position = numbers.iter().position(|other| *other == number);
        position.map(|position| self.values.at(position)).transpose()
    }

    /// Writes a message to the caller's buffer, if the caller passed a buffer.
    fn write_log(&self, buffer: u32, bytes: u32, text: &str) -> Answer {
        let (Some(buffer), Some(room)) = (self.value(buffer)?, self.value(bytes)?) else { return Ok(()) };
        let room = room as usize;
        if buffer.is_null() || room == 0 {
            return Ok(());
        }
        let text: Vec<u8> = text.bytes().take(room - 1).chain([0]).collect();
        Out::from_pointer(buffer.cast::<u8>()).set_list(&text, room)
    }
}

/// Assembles and loads PTX.
fn load(driver: &Driver, to: Out<usize>, text: &[u8], options: Options) -> Answer {
    let context = driver.current()?;
    let loaded = match std::str::from_utf8(text) {
        Ok(text) => Module::load(&context.space, text),
        Err(_) => Err(Refusal { status: Status::INVALID_IMAGE, log: "the image is no PTX".into() }),
    };
    match loaded {
        Ok(module) => {
            options.write_log(INFO_LOG, INFO_LOG_BYTES, "")?;
            options.write_log(ERROR_LOG, ERROR_LOG_BYTES, "")?;
            to.set(driver.modules.add(Arc::new(module)))
        }
        Err(Refusal { status, log }) => {
            driver.reporter.report(&format!("the module cannot be loaded: {log}"));
            options.write_log(ERROR_LOG, ERROR_LOG_BYTES, &log)?;
            Err(status)
        }
    }
}

/// Returns the PTX text in the caller's memory. Machine code begins with other bytes than a text.
/// The software driver executes only PTX, so it refuses machine code with the error of a GPU of
/// another architecture. The caller then loads the PTX that belongs to the machine code.
fn ptx(image: In<c_char>) -> Answer<&'static CStr> {
    const OBJECT: [u8; 4] = *b"\x7fELF";
    const ARCHIVE: [u8; 4] = 0xba55_ed50u32.to_le_bytes();
    /// The offset of the machine's number in the header of an ELF file, and the number that stands
    /// for NVIDIA's GPUs.
    const MACHINE: (usize, u16) = (18, 190);
    let first = image.list(1)?[0] as u8;
    if first != OBJECT[0] && first != ARCHIVE[0] {
        return image.text();
    }
    if image.list(4)?.iter().zip(OBJECT).all(|(byte, expected)| *byte as u8 == expected) {
        let machine = &image.list(MACHINE.0 + 2)?[MACHINE.0..];
        if u16::from_le_bytes([machine[0] as u8, machine[1] as u8]) != MACHINE.1 {
            return Err(Status::INVALID_IMAGE);
        }
    }
    Err(Status::NO_BINARY_FOR_GPU)
}

fn function_name(name: In<c_char>) -> Answer<&'static str> {
    name.text()?.to_str().map_err(|_| Status::NOT_FOUND)
}

entries! {
    /// Loads PTX from a file.
    fn cuModuleLoad(module: Out<usize>, path: In<c_char>) |driver| {
        let path = std::ffi::OsStr::from_bytes(path.text()?.to_bytes());
        let text = std::fs::read(path).map_err(|_| Status::FILE_NOT_FOUND)?;
        load(driver, module, &text, Options::NONE)
    }

    /// Loads PTX.
    fn cuModuleLoadData(module: Out<usize>, image: In<c_char>) |driver| {
        load(driver, module, ptx(image)?.to_bytes(), Options::NONE)
    }

    /// Loads PTX with options. Only the options for message buffers have an effect.
    fn cuModuleLoadDataEx(
        module: Out<usize>, image: In<c_char>, count: u32, numbers: In<u32>, values: In<*mut c_void>,
    ) |driver| {
        load(driver, module, ptx(image)?.to_bytes(), Options { count, numbers, values })
    }

    /// Unloads a module.
    fn cuModuleUnload(module: usize) |driver| {
        driver.current()?;
        driver.modules.remove(module)?.unload();
        driver.functions.remove_if(|function| !function.is_loaded());
        Ok(())
    }

    /// Returns a function of a module.
    fn cuModuleGetFunction(function: Out<usize>, module: usize, name: In<c_char>) |driver| {
        driver.current()?;
        let found = driver.modules.get(module)?.function(function_name(name)?)?;
        let known = driver.functions.all().into_iter().find(|(_, other)| Arc::ptr_eq(other, &found));
        function.set(known.map_or_else(|| driver.functions.add(found), |(handle, _)| handle))
    }

    /// Returns the number of functions of a module.
    fn cuModuleGetFunctionCount(count: Out<u32>, module: usize) |driver| {
        count.set(driver.modules.get(module)?.functions().len() as u32)
    }

    /// Returns the address and the size of a variable of a module.
    fn cuModuleGetGlobal_v2(address: Out<u64>, bytes: Out<usize>, module: usize, name: In<c_char>) |driver| {
        driver.current()?;
        let (found, size) = driver.modules.get(module)?.variable(function_name(name)?)?;
        address.set_if_wanted(found)?;
        bytes.set_if_wanted(size as usize)
    }

    /// Returns 1, the mode in which the driver loads functions together with their module.
    fn cuModuleGetLoadingMode(mode: Out<u32>) |_driver| { mode.set(1) }

    /// Returns an attribute of a function.
    fn cuFuncGetAttribute(value: Out<i32>, attribute: i32, function: usize) |driver| {
        let space = driver.current()?.space.clone();
        value.set(driver.functions.get(function)?.attribute(attribute, &space)?)
    }

    /// Sets an attribute of a function. Attribute 8 is the largest size of dynamic shared memory.
    /// The attributes for the division between cache and shared memory (9) and for larger clusters
    /// (14) have no effect.
    fn cuFuncSetAttribute(function: usize, attribute: i32, value: i32) |driver| {
        let space = driver.current()?.space.clone();
        let function = driver.functions.get(function)?;
        match attribute {
            8 => function.set_dynamic_shared(value, &space),
            9 | 14 => Ok(()),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    /// Accepts a preferred division between cache and shared memory. The preference has no effect
    /// in the software driver.
    fn cuFuncSetCacheConfig(function: usize, _configuration: u32) |driver| {
        driver.functions.get(function).map(|_| ())
    }

    /// Returns the offset and the size in bytes of a function's parameter.
    fn cuFuncGetParamInfo(function: usize, number: usize, offset: Out<usize>, bytes: Out<usize>) |driver| {
        let function = driver.functions.get(function)?;
        let parameter = function.kernel.parameters.get(number).ok_or(Status::INVALID_VALUE)?;
        offset.set(parameter.offset as usize)?;
        bytes.set_if_wanted(parameter.bytes as usize)
    }

    /// Returns the number of blocks that a multiprocessor executes at once, as threads and shared
    /// memory limit it. On a GPU, registers limit this number, too, but NVIDIA's assembler chooses
    /// the number of registers.
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: Out<i32>, function: usize, threads: i32, dynamic_shared: usize,
    ) |driver| {
        let space = driver.current()?.space.clone();
        let function = driver.functions.get(function)?;
        let shared = function.kernel.shared_bytes + dynamic_shared as u32;
        blocks.set(space.device.resident_blocks(threads.unsigned_abs(), shared) as i32)
    }
}
