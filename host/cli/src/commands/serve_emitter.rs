//! The hidden command that a child process of `--isolate` runs.

use fusebox_run::terminal;

use crate::arguments::ServeEmitter;
use crate::exit::Failure;

/// Answers requests until the parent process closes the pipe.
pub fn run(arguments: &ServeEmitter) -> Result<(), Failure> {
    let warn = |text: &str| terminal::complain(&format!("warning: {text}"));
    fusebox_plugins::serve_library(&arguments.library, &arguments.content, arguments.memory, warn)
        .map_err(Failure::input)
}
