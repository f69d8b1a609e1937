//! `fusebox`: compiles and runs HLO.
//!
//! One file a subcommand in `commands/`; the others serve them all.

mod arguments;
mod commands;
mod emitters;
mod exit;
mod module;
mod ptxas;
mod target;

use clap::Parser;

use arguments::{Arguments, Command};
use fusebox_lowering::WarmUp;

fn main() {
    let arguments = Arguments::parse();
    exit::after(move || {
        let _warm_up = warm_up(&arguments.command);
        run(&arguments.command)
    })
}

/// Code generation for the cpu begins to warm up while the module is read.
fn warm_up(command: &Command) -> Option<WarmUp> {
    let common = match command {
        Command::Run(run) if !run.interpreter => &run.common,
        Command::Bench(bench) => &bench.common,
        Command::Compile(compile) => &compile.common,
        _ => return None,
    };
    matches!(common.target.as_str(), "cpu" | "simt").then(WarmUp::begin)
}

fn run(command: &Command) -> Result<(), exit::Failure> {
    match command {
        Command::Run(run) => commands::run::run(run),
        Command::Bench(bench) => commands::bench::run(bench),
        Command::Compile(compile) => commands::compile::run(compile),
        Command::Emitters(emitters) => commands::emitters::run(emitters),
        Command::Explain(explain) => commands::explain::run(explain),
        Command::Indexing(indexing) => commands::indexing::run(indexing),
        Command::ServeEmitter(serve) => commands::serve_emitter::run(serve),
    }
}
