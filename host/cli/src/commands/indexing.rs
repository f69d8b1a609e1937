//! `fusebox indexing`: the indexing maps of each operation and of the fusion.

use fusebox_core::indexing::describe;

use crate::arguments::Indexing;
use crate::exit::Failure;
use crate::module;

/// Prints them.
pub fn run(arguments: &Indexing) -> Result<(), Failure> {
    let source = module::read(&arguments.module)?;
    print!("{}", describe(&source.parse()?, arguments.inverse));
    Ok(())
}
