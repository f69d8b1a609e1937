//! `fusebox-run`: runs what `fusebox compile --emit executable` made, without MLIR and LLVM.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use fusebox_run::{inputs, results, stored, timing_json};
use fusebox_runtime::{Effort, Options, Program, describe_gpu, measure};

/// Run an executable compiled by fusebox. It is machine code: trust its file like a program
#[derive(Parser)]
#[command(name = "fusebox-run", version)]
struct Arguments {
    /// What `fusebox compile --emit executable` made
    #[arg(required_unless_present = "device")]
    executable: Option<PathBuf>,
    #[command(flatten)]
    trust: stored::Trust,
    #[command(flatten)]
    inputs: inputs::InputChoice,
    /// Write the results here, as inputs are read
    #[arg(long, value_name = "OUT.npz")]
    outputs: Option<PathBuf>,
    /// Measure instead of printing results; prints one line of JSON
    #[arg(long)]
    bench: bool,
    /// Print all values
    #[arg(long)]
    print: bool,
    /// Threads to run with; 0: one per processor
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Print what the GPU here is, and stop
    #[arg(long)]
    device: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let Some(path) = arguments.executable.as_ref().filter(|_| !arguments.device) else {
        return print_device();
    };
    let bytes = std::fs::read(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    let executable = stored::read(path, &bytes, &arguments.trust)?;
    let target = executable.target.clone();
    let begin = Instant::now();
    let mut program = Program::load(executable, &Options { threads: arguments.threads, ..Options::default() })?;
    let load_ms = begin.elapsed().as_secs_f64() * 1e3;
    program.set_inputs(&inputs::arrays(&inputs::load(&arguments.inputs, &program.parameter_shapes())?))?;
    if arguments.bench {
        let timing = measure(&mut program, Effort::default())?;
        println!("{}", timing_json(load_ms, &timing, &target));
        return Ok(());
    }
    program.execute()?;
    let result = program.result()?;
    if let Some(path) = &arguments.outputs {
        fusebox_runtime::npz::write_outputs(path, &result)?;
    }
    print!("{}", results::describe(&result, arguments.print));
    Ok(())
}

fn print_device() -> Result<(), Box<dyn Error>> {
    let (capability, device) = describe_gpu()?;
    println!(
        "sm_{capability}: {} multiprocessors, {} MiB last-level cache, {:.0} GB/s",
        device.core_count,
        device.last_level_cache_bytes >> 20,
        device.memory_bandwidth / 1e9
    );
    Ok(())
}
