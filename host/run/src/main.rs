//! `fusebox-run`: runs executables that `fusebox compile --emit executable` wrote, without MLIR and
//! LLVM.

#![forbid(unsafe_code)]

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use fusebox_files::{SizeLimit, WriteError};
use fusebox_run::{gpu, inputs, results, stored, terminal, timing_json};
use fusebox_runtime::measurement::{Effort, Session, measure};
use fusebox_runtime::{LoadedExecutable, Options, describe_gpu};

/// Run an executable compiled by fusebox. The executable is machine code, so run only executables
/// that you trust
#[derive(Parser)]
#[command(name = "fusebox-run", version)]
struct Arguments {
    /// Executable, as `fusebox compile --emit executable` writes it
    #[arg(required_unless_present = "device")]
    executable: Option<PathBuf>,
    #[command(flatten)]
    trust: stored::Trust,
    #[command(flatten)]
    inputs: inputs::InputChoice,
    /// Largest executable to read: bytes, or 512M, 4G, none
    #[arg(long, value_name = "SIZE", default_value_t)]
    file_limit: SizeLimit,
    /// Write the results here, in the format of inputs
    #[arg(long, value_name = "OUT.npz")]
    outputs: Option<PathBuf>,
    /// Measure instead of printing results; prints one line of JSON
    #[arg(long)]
    bench: bool,
    /// Print all values
    #[arg(long)]
    print: bool,
    /// Number of threads; 0: one per processor
    #[arg(long, default_value_t = 0)]
    threads: usize,
    #[command(flatten)]
    gpu: gpu::GpuChoice,
    /// Describe this machine's GPU and exit
    #[arg(long)]
    device: bool,
}

fn main() -> ExitCode {
    let arguments: Arguments = match terminal::arguments() {
        Ok(arguments) => arguments,
        Err(code) => return code.into(),
    };
    fusebox_files::keep_inputs();
    std::panic::set_hook(Box::new(|panic| {
        terminal::complain(&format!(
            "internal error: {panic}\nThis is a bug in fusebox. Please report it with the executable."
        ));
    }));
    match catch_unwind(AssertUnwindSafe(|| run(&arguments))) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            terminal::complain(&format!("error: {error}"));
            ExitCode::from(exit_code(error.as_ref()))
        }
        Err(_) => ExitCode::from(3),
    }
}

/// Returns 2 if the error is a mistake in the command line. Returns 1 for all other errors, which
/// are faults of a file or of the machine.
fn exit_code(error: &(dyn Error + 'static)) -> u8 {
    if error.downcast_ref().is_some_and(WriteError::is_usage) { 2 } else { 1 }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let Some(path) = arguments.executable.as_ref().filter(|_| !arguments.device) else {
        return print_device();
    };
    let read = [Some(path), arguments.inputs.inputs.as_ref(), arguments.trust.require_signature.as_ref()];
    read.into_iter().flatten().for_each(|path| fusebox_files::will_read(path));
    arguments.outputs.iter().try_for_each(|output| fusebox_files::check_output(output))?;
    let bytes = fusebox_files::read(path, arguments.file_limit)?;
    let executable = stored::read(path, &bytes, &arguments.trust)?;
    let target = executable.target.to_string();
    let begin = Instant::now();
    let collective_limit = fusebox_run::collective_limit()?;
    let options = Options { threads: arguments.threads, collective_limit, ..Options::default() };
    let options = arguments.gpu.applied(options);
    let program = LoadedExecutable::open(executable, &options)?;
    fusebox_run::print_remarks(&program);
    let load_ms = begin.elapsed().as_secs_f64() * 1e3;
    let values = inputs::arrays(&inputs::load(&arguments.inputs, &program.parameter_shapes())?);
    if arguments.bench {
        let mut session = Session::new(&program)?;
        session.set_inputs(&values)?;
        let timing = measure(&mut session, Effort::default())?;
        terminal::print_text(&format!("{}\n", timing_json(load_ms, &timing, &target)))?;
        return Ok(());
    }
    let result = program.run(&values)?;
    if let Some(path) = &arguments.outputs {
        fusebox_runtime::npz::write_outputs(path, &result)?;
    }
    Ok(terminal::print(|out| results::write(out, &result, if arguments.print { usize::MAX } else { 0 }))?)
}

fn print_device() -> Result<(), Box<dyn Error>> {
    let (capability, device) = describe_gpu()?;
    Ok(terminal::print_text(&format!(
        "sm_{capability}: {} multiprocessors, {:.0} GB/s\n",
        device.core_count,
        device.memory_bandwidth / 1e9
    ))?)
}
