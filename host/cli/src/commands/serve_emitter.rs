//! What a child process of `--isolate` does.

use crate::arguments::ServeEmitter;
use crate::exit::Failure;

/// Serves until the parent closes the pipe.
pub fn run(arguments: &ServeEmitter) -> Result<(), Failure> {
    fusebox_plugins::serve_library(&arguments.library, arguments.memory).map_err(Failure::input)
}
