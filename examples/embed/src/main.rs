//! Executes a compiled module on several threads. The parameters and the result of the module are
//! arrays of `f32`.
//!
//! ```text
//! fusebox compile MODULE.hlo --emit executable -o FILE
//! embed FILE
//! ```

#![forbid(unsafe_code)]

use std::error::Error;
use std::path::Path;
use std::thread;

use fusebox_runtime::{ArrayShape, Buffer, Device, Executable, ExecuteOptions, LoadedExecutable, Options};

pub type Failure = Box<dyn Error + Send + Sync>;

/// Loads an executable and executes it on `threads` threads at the same time. In the inputs of each
/// thread, every element is the thread's number. Returns the elements of each thread's first
/// result.
pub fn execute(file: &Path, threads: usize) -> Result<Vec<Vec<f32>>, Failure> {
    let executable = Executable::from_bytes(&std::fs::read(file)?)?;
    let device = Device::open(executable.target, &Options::default())?;
    let program = LoadedExecutable::load(&device, executable)?;
    let call = |number: usize| -> Result<Vec<f32>, Failure> {
        let filled = |shape: &ArrayShape| {
            let bytes = (number as f32).to_le_bytes().repeat(shape.element_count() as usize);
            Buffer::from_bytes(&device, shape.element_type, &shape.dims, &bytes)
        };
        let arguments = program.inputs().map(filled).collect::<Result<Vec<Buffer>, _>>()?;
        let arguments: Vec<&Buffer> = arguments.iter().collect();
        // The results may be ready later. To read the bytes waits for them, and does not copy them.
        let results = program.execute(&arguments, &ExecuteOptions::default())?;
        let bytes = results.first().ok_or("the module has no result")?.bytes()?;
        Ok(bytes.as_chunks::<4>().0.iter().map(|element| f32::from_le_bytes(*element)).collect())
    };
    thread::scope(|scope| {
        let calls: Vec<_> = (0..threads).map(|number| scope.spawn(move || call(number))).collect();
        calls.into_iter().map(|call| call.join().map_err(|_| "a thread panicked")?).collect()
    })
}

#[allow(dead_code, reason = "the test calls `execute` instead")]
fn main() -> Result<(), Failure> {
    let file = std::env::args().nth(1).ok_or("usage: embed FILE")?;
    for (number, elements) in execute(Path::new(&file), 4)?.iter().enumerate() {
        println!("thread {number}: {:?}", &elements[..elements.len().min(8)]);
    }
    Ok(())
}
