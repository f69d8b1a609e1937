//! `fusebox man`: prints manual pages.

use clap::CommandFactory;
use fusebox_run::terminal;

use crate::arguments::{Arguments, Man};
use crate::exit::Failure;

pub fn run(arguments: &Man) -> Result<(), Failure> {
    let mut program = Arguments::command();
    program.build();
    let command = match &arguments.command {
        None => program,
        Some(name) => {
            let command = program.find_subcommand(name).filter(|command| !command.is_hide_set());
            command.ok_or_else(|| Failure::usage(format!("there is no command `{name}`")))?.clone()
        }
    };
    Ok(terminal::print(|out| clap_mangen::Man::new(command).render(&mut &mut *out))?)
}
