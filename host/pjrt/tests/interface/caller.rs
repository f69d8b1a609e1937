//! A caller of the interface that knows only its documented layout: arguments are lists of words.
//! Every field of a struct occupies a word, except successive small integers, which tests pack.

use std::ffi::c_void;

use fusebox_pjrt::{GetPjrtApi, NAMES};

/// A failed call: code and message.
pub type Failure = (i32, String);

type Function = unsafe extern "C" fn(*mut u64) -> *mut c_void;

/// Bytes before the first function of the table: its header and its version.
const BEFORE_FUNCTIONS: usize = 40;

/// Returns a function of the table. `name` lacks the prefix that all names have.
pub fn function(name: &str) -> Function {
    let wanted = format!("PJRT_{name}");
    let at = NAMES.iter().position(|known| *known == wanted).unwrap_or_else(|| panic!("no function {wanted}"));
    // SAFETY: the table has a function per name, after its header and its version.
    unsafe {
        let first = GetPjrtApi().cast::<u8>().add(BEFORE_FUNCTIONS).cast::<Function>();
        first.add(at).read()
    }
}

/// Calls a function with a struct of `size` bytes.
pub fn call_sized<const N: usize>(name: &str, size: usize, fields: [u64; N]) -> Result<[u64; N], Failure> {
    let mut words = vec![size as u64, 0];
    words.extend(fields);
    // SAFETY: the words are the function's arguments.
    let error = unsafe { function(name)(words.as_mut_ptr()) };
    if error.is_null() { Ok(words[2..].try_into().unwrap()) } else { Err(failure(error)) }
}

/// Calls a function. Returns the fields after the call.
pub fn call<const N: usize>(name: &str, fields: [u64; N]) -> Result<[u64; N], Failure> {
    call_sized(name, 16 + 8 * N, fields)
}

/// Reads an error and destroys it.
pub fn failure(error: *mut c_void) -> Failure {
    let error = error as u64;
    let [_, start, bytes] = call("Error_Message", [error, GARBAGE, GARBAGE]).unwrap();
    let message = text(start, bytes);
    let [_, code] = call("Error_GetCode", [error, GARBAGE]).unwrap();
    call("Error_ForEachPayload", [error, 0, 0]).unwrap();
    call("Error_Destroy", [error]).unwrap();
    (code as i32, message)
}

/// Content of fields that the function must write.
pub const GARBAGE: u64 = 0xAAAA_AAAA_AAAA_AAAA;

/// Returns the text at an address.
pub fn text(start: u64, bytes: u64) -> String {
    String::from_utf8(list::<u8>(start, bytes)).unwrap()
}

/// Returns the elements at an address.
pub fn list<T: Copy>(start: u64, count: u64) -> Vec<T> {
    if count == 0 {
        return Vec::new();
    }
    // SAFETY: a function has returned the address and the count of its elements.
    unsafe { std::slice::from_raw_parts(start as *const T, count as usize) }.to_vec()
}

/// Returns the address of a value.
pub fn at<T: ?Sized>(value: &T) -> u64 {
    std::ptr::from_ref(value).cast::<u8>() as u64
}

/// A client with devices, which is destroyed at the end.
pub struct Client(pub u64);

impl Client {
    pub fn new(devices: i64) -> Client {
        let name = "num_devices";
        let option = [56, 0, at(name), name.len() as u64, 1, devices as u64, 1];
        let fields = [at(&option), 1, GARBAGE, GARBAGE, GARBAGE, GARBAGE, GARBAGE, GARBAGE, GARBAGE];
        Client(call("Client_Create", fields).unwrap()[6])
    }

    pub fn devices(&self) -> Vec<u64> {
        let [_, start, count] = call("Client_Devices", [self.0, GARBAGE, GARBAGE]).unwrap();
        list(start, count)
    }

    /// Returns the usual memory of the first device.
    pub fn memory(&self) -> u64 {
        call("Device_DefaultMemory", [self.devices()[0], GARBAGE]).unwrap()[1]
    }

    /// Compiles a program. Returns the executable.
    pub fn compile(&self, code: &[u8], options: &[u8]) -> Result<u64, Failure> {
        let format = "mlir";
        let program = [48, 0, at(code), code.len() as u64, at(format), format.len() as u64];
        let fields = [self.0, at(&program), at(options), options.len() as u64, GARBAGE];
        Ok(call("Client_Compile", fields)?[4])
    }

    /// Copies an array of floats to the first device. Returns the buffer.
    pub fn floats(&self, values: &[f32], dims: &[i64]) -> u64 {
        let [event, buffer] = self.upload(at(values), 11, dims, &[], 0).unwrap();
        call("Event_Destroy", [event]).unwrap();
        buffer
    }

    /// Creates a buffer from the array at an address. Returns the event and the buffer.
    pub fn upload(
        &self,
        data: u64,
        kind: u64,
        dims: &[i64],
        strides: &[i64],
        semantics: u64,
    ) -> Result<[u64; 2], Failure> {
        let stride_list = if strides.is_empty() { 0 } else { at(strides) };
        let (rank, strides) = (dims.len() as u64, strides.len() as u64);
        let memory = self.memory();
        let fields =
            [self.0, data, kind, at(dims), rank, stride_list, strides, semantics, 0, memory, 0, GARBAGE, GARBAGE];
        let fields = call("Client_BufferFromHostBuffer", fields)?;
        Ok([fields[11], fields[12]])
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        call("Client_Destroy", [self.0]).unwrap();
    }
}

/// Runs an executable on its device. Returns the outputs.
pub fn execute(executable: u64, arguments: &[u64], outputs: usize) -> Result<Vec<u64>, Failure> {
    execute_without(executable, arguments, outputs, &[])
}

/// Runs an executable without donating some of the arguments.
pub fn execute_without(
    executable: u64,
    arguments: &[u64],
    outputs: usize,
    not_donated: &[i64],
) -> Result<Vec<u64>, Failure> {
    let mut results = vec![GARBAGE; outputs];
    let event = start(executable, arguments, &mut results, not_donated)?;
    call("Event_Await", [event])?;
    call("Event_Destroy", [event]).unwrap();
    Ok(results)
}

/// Starts an execution. Returns its outputs and the event of its end.
pub fn execute_only<const N: usize>(executable: u64, arguments: &[u64]) -> Result<([u64; N], u64), Failure> {
    let mut results = [GARBAGE; N];
    let event = start(executable, arguments, &mut results, &[])?;
    Ok((results, event))
}

fn start(executable: u64, arguments: &[u64], results: &mut [u64], not_donated: &[i64]) -> Result<u64, Failure> {
    let options = [112, 0, 0, 0, 0, 0, 0, at(not_donated), not_donated.len() as u64, 0, 0, 0, 0, 0];
    let output_lists = [results.as_mut_ptr() as u64];
    let argument_lists = [at(arguments)];
    let mut events = [GARBAGE];
    let fields = [
        executable,
        at(&options),
        at(&argument_lists),
        1,
        arguments.len() as u64,
        at(&output_lists),
        events.as_mut_ptr() as u64,
        0,
    ];
    call("LoadedExecutable_Execute", fields)?;
    Ok(events[0])
}

/// Runs an executable on two devices, each with its own arguments. Returns the output of each one.
pub fn execute_on_two(executable: u64, arguments: [&[u64]; 2]) -> Result<[u64; 2], Failure> {
    let options: [u64; 14] = [112, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let (mut first, mut second, mut events) = ([GARBAGE], [GARBAGE], [GARBAGE; 2]);
    let output_lists = [first.as_mut_ptr() as u64, second.as_mut_ptr() as u64];
    let argument_lists = arguments.map(at);
    let count = arguments[0].len() as u64;
    let events_list = events.as_mut_ptr() as u64;
    let fields = [executable, at(&options), at(&argument_lists), 2, count, at(&output_lists), events_list, 0];
    call("LoadedExecutable_Execute", fields)?;
    for event in events {
        call("Event_Await", [event])?;
        call("Event_Destroy", [event]).unwrap();
    }
    Ok([first[0], second[0]])
}

/// Copies an array of floats to the host.
pub fn download(buffer: u64) -> Result<Vec<f32>, Failure> {
    let bytes = call("Buffer_ToHostBuffer", [buffer, 0, 0, GARBAGE, GARBAGE])?[3];
    let mut values = vec![0_f32; bytes as usize / 4];
    let fields = call("Buffer_ToHostBuffer", [buffer, 0, values.as_mut_ptr() as u64, bytes, GARBAGE])?;
    call("Event_Await", [fields[4]])?;
    call("Event_Destroy", [fields[4]]).unwrap();
    Ok(values)
}

/// Whether a buffer is deleted.
pub fn is_deleted(buffer: u64) -> bool {
    call("Buffer_IsDeleted", [buffer, GARBAGE]).unwrap()[1] & 0xFF == 1
}
