//! `fusebox indexing`: prints the indexing maps of each operation, and of the whole computation.

use fusebox_compiler::Phase;
use fusebox_core::hlo::print_module;
use fusebox_core::indexing::describe;
use fusebox_run::terminal;

use crate::arguments::Indexing;
use crate::exit::Failure;
use crate::guard;
use crate::module::dump_to;
use crate::source;

pub fn run(arguments: &Indexing) -> Result<(), Failure> {
    guard::check_among([&arguments.module], [])?;
    let source = source::of_file(&arguments.module, arguments.file_limit)?;
    let module = source.parse()?;
    let dump = dump_to(arguments.dump_to.as_deref())?;
    dump.write(Phase::Parse, "", "hlo", || print_module(&module).into_bytes())?;
    Ok(terminal::print_text(&describe(&module, arguments.inverse))?)
}
