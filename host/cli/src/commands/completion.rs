//! `fusebox completion`: prints a completion script for a shell.

use clap::CommandFactory;
use fusebox_run::terminal;

use crate::arguments::{Arguments, Completion};
use crate::exit::Failure;

pub fn run(arguments: &Completion) -> Result<(), Failure> {
    // The generator panics if it writes to a broken pipe. So it writes to a buffer instead of
    // standard output.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "fusebox", &mut script);
    Ok(terminal::print(|out| out.write_all(&script))?)
}
