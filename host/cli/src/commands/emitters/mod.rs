//! `fusebox emitters`: lists emitters, and inspects, verifies and pins their files.

mod inspect;
mod list;
mod pinned;

use crate::arguments::{Emitters, EmittersCommand};
use crate::exit::Failure;

pub fn run(arguments: &Emitters) -> Result<(), Failure> {
    match &arguments.command {
        None => list::run(&arguments.list),
        Some(EmittersCommand::List(list)) => list::run(list),
        Some(EmittersCommand::Inspect(inspect)) => inspect::run(inspect),
        Some(EmittersCommand::Verify(verify)) => pinned::verify(verify),
        Some(EmittersCommand::Lock(lock)) => pinned::lock(lock),
    }
}
