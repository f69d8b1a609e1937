//! The one place that prints: results to standard output, complaints to standard error.
//!
//! Whoever reads the output may stop early (`fusebox run m.hlo | head`): what was asked for is done, so the program ends
//! as if all had been read. A full disk behind standard output is an error. Standard error that cannot be written is
//! nothing anyone could be told of.

use std::io::{self, BufWriter, ErrorKind, Write};

use clap::Parser;
use clap::error::Error as UsageError;

/// Standard output did not take everything.
#[derive(Debug, thiserror::Error)]
#[error("cannot write standard output: {0}")]
pub struct PrintError(io::Error);

/// Prints what `write` writes, all of it before this returns.
///
/// # Errors
/// If standard output cannot be written, unless its reader is gone.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), PrintError> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let printed = write(&mut out).and_then(|()| out.flush());
    // What could not be written is not tried again.
    let (stdout, _) = out.into_parts();
    drop(stdout);
    judged(printed)
}

/// Prints text as it is.
///
/// # Errors
/// As [`print`].
pub fn print_text(text: &str) -> Result<(), PrintError> {
    print(|out| out.write_all(text.as_bytes()))
}

fn judged(printed: io::Result<()>) -> Result<(), PrintError> {
    match printed {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.map_err(PrintError),
    }
}

/// Writes a line to standard error, in one piece.
pub fn complain(text: &str) {
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// Reads the command line. What is to be printed instead of working (help, version, wrong usage) is printed here; the
/// exit code comes back.
///
/// # Errors
/// The exit code to end with.
pub fn arguments<A: Parser>() -> Result<A, u8> {
    A::try_parse().map_err(|answer| {
        let code = u8::try_from(answer.exit_code()).unwrap_or(2);
        match answered(&answer) {
            Err(error) if !answer.use_stderr() => {
                complain(&format!("error: {error}"));
                1
            }
            _ => code,
        }
    })
}

fn answered(answer: &UsageError) -> Result<(), PrintError> {
    judged(answer.print().and_then(|()| io::stdout().flush()))
}
