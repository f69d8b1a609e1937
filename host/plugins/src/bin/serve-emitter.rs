//! Serves one plugin library over standard input and output, like `fusebox serve-emitter`. Tests of
//! isolated plugins use this program, because these tests have no `fusebox` binary.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [command, library, _, content, rest @ ..] = arguments.as_slice() else { return ExitCode::from(2) };
    let memory = rest.get(1).and_then(|bytes| bytes.to_str()?.parse().ok());
    match fusebox_plugins::serve_library(library.as_ref(), content.as_ref(), memory, |_| ()) {
        Ok(()) if command == fusebox_plugins::SERVE_COMMAND => ExitCode::SUCCESS,
        Ok(()) => ExitCode::from(2),
        Err(_) => ExitCode::FAILURE,
    }
}
