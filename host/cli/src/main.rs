//! `fusebox`: compiles and runs HLO.
//!
//! `commands/` contains one file per subcommand. The other files contain code that several
//! subcommands use.

mod arguments;
mod cache;
mod commands;
mod cubins;
mod driver;
mod emitters;
mod exit;
mod guard;
mod lowering;
mod module;
mod passes;
mod progress;
mod running;
mod shortage;
mod sizes;
mod source;
mod tuned;

use arguments::{Arguments, Command};
use fusebox_run::terminal;

/// The allocator of the whole program, including LLVM and MLIR. LLVM and MLIR allocate many small
/// blocks on many threads, so compiling takes about a tenth less time with this allocator than with
/// the C library's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let arguments: Arguments = match terminal::arguments() {
        Ok(arguments) => arguments,
        Err(code) => std::process::exit(code.into()),
    };
    // A process that serves an emitter needs no handlers: if it aborts, its parent process reports
    // the cause.
    if !matches!(arguments.command, Command::ServeEmitter(_)) {
        shortage::install_handlers();
    }
    fusebox_files::keep_inputs();
    exit::after(move || match &arguments.command {
        Command::Run(run) => commands::run::run(run),
        Command::Ab(ab) => commands::ab::run(ab),
        Command::Bisect(bisect) => commands::bisect::run(bisect),
        Command::Bench(bench) => commands::bench::run(bench),
        Command::CheckEmitter(check) => commands::check_emitter::run(check),
        Command::Compile(compile) => commands::compile::run(compile),
        Command::Emitters(emitters) => commands::emitters::run(emitters),
        Command::Completion(completion) => commands::completion::run(completion),
        Command::Man(man) => commands::man::run(man),
        Command::Explain(explain) => commands::explain::run(explain),
        Command::Indexing(indexing) => commands::indexing::run(indexing),
        Command::Lower(lower) => commands::lower::run(lower),
        Command::NewEmitter(new) => commands::new_emitter::run(new),
        Command::Repro(repro) => commands::repro::run(repro),
        Command::Tune(tune) => commands::tune::run(tune),
        Command::ServeEmitter(serve) => commands::serve_emitter::run(serve),
    })
}
