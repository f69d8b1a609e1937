//! Prints results to standard output and errors to standard error.
//!
//! The reader of the output may stop early (`fusebox run m.hlo | head`). If the reader stops early,
//! the program succeeds, because its work is done. A full disk behind standard output is an error.
//! Failures of writing to standard error are ignored, because there is no other place to report
//! them.

use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};

use clap::Parser;
use clap::error::Error as UsageError;

/// The error that standard output could not be written completely.
#[derive(Debug, thiserror::Error)]
#[error("cannot write standard output: {0}")]
pub struct PrintError(io::Error);

/// Prints the output of `write` and flushes it before returning.
///
/// # Errors
/// If standard output cannot be written. A reader of standard output that has stopped early is not
/// an error.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), PrintError> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    // Files and other programs get the text unchanged.
    let printed = if io::stdout().is_terminal() {
        write(&mut Harmless { out: &mut out, rest: Vec::new() })
    } else {
        write(&mut out)
    };
    let printed = printed.and_then(|()| out.flush());
    // Drops unwritten text, so that the buffer does not try to write it again.
    let (stdout, _) = out.into_parts();
    drop(stdout);
    judged(printed)
}

/// A writer that passes text through [`harmless`].
struct Harmless<W> {
    out: W,
    /// The first bytes of an incomplete character.
    rest: Vec<u8>,
}

impl<W: Write> Write for Harmless<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.rest.extend_from_slice(bytes);
        let mut shown = String::new();
        let mut taken = 0;
        for chunk in self.rest.utf8_chunks() {
            shown.push_str(&harmless(chunk.valid()));
            taken += chunk.valid().len();
            let is_cut_off = taken + chunk.invalid().len() == self.rest.len() && chunk.invalid().len() < 4;
            if !chunk.invalid().is_empty() && !is_cut_off {
                shown.push(char::REPLACEMENT_CHARACTER);
                taken += chunk.invalid().len();
            }
        }
        self.out.write_all(shown.as_bytes())?;
        self.rest.drain(..taken);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Prints text.
///
/// # Errors
/// If [`print()`] fails.
pub fn print_text(text: &str) -> Result<(), PrintError> {
    print(|out| out.write_all(text.as_bytes()))
}

fn judged(printed: io::Result<()>) -> Result<(), PrintError> {
    match printed {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.map_err(PrintError),
    }
}

/// Writes a line to standard error with a single write. The line may quote hostile text, so control
/// characters are replaced.
pub fn complain(text: &str) {
    let _ = io::stderr().write_all(format!("{}\n", harmless(text)).as_bytes());
}

/// Replaces characters that would control the terminal or reverse the text direction. Each of these
/// characters becomes one visible character, so that columns do not shift.
fn harmless(text: &str) -> String {
    text.chars().map(shown).collect()
}

fn shown(character: char) -> char {
    /// Code point of the first of Unicode's visible symbols for control characters. The symbols
    /// have the same order as the control characters.
    const PICTURES: u32 = 0x2400;
    match character {
        '\n' | '\t' => character,
        '\0'..='\u{1f}' => char::from_u32(PICTURES + u32::from(character)).unwrap_or(char::REPLACEMENT_CHARACTER),
        '\u{7f}' => '\u{2421}',
        '\u{80}'..='\u{9f}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            char::REPLACEMENT_CHARACTER
        }
        other => other,
    }
}

/// Reads the command line. Prints help, the version or a usage error if the program must print
/// these instead of running.
///
/// # Errors
/// If the program must end instead of running. The error is the exit code of the program.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_may_come_in_parts() {
        let text = "é\u{1b}[0m日\u{9b}本\n";
        for size in 1..6 {
            let mut shown = Vec::new();
            let mut out = Harmless { out: &mut shown, rest: Vec::new() };
            text.as_bytes().chunks(size).for_each(|part| out.write_all(part).unwrap());
            assert_eq!(String::from_utf8(shown).unwrap(), harmless(text), "{size}");
        }
        let mut shown = Vec::new();
        Harmless { out: &mut shown, rest: Vec::new() }.write_all(b"a\xff\x1bb").unwrap();
        assert_eq!(String::from_utf8(shown).unwrap(), "a\u{fffd}\u{241b}b");
    }

    #[test]
    fn nothing_that_is_quoted_steers_the_terminal() {
        let text = "m.hlo:1:2: error: `\u{1b}[31m`\n\tred\r\u{7}\u{7f}\u{9b}0m\u{202e}é日本 😀";
        let shown = harmless(text);
        assert_eq!(shown, "m.hlo:1:2: error: `␛[31m`\n\tred␍␇␡\u{fffd}0m\u{fffd}é日本 😀");
        assert_eq!(shown.chars().count(), text.chars().count());
        assert!((0..0x20).filter_map(char::from_u32).all(|c| !super::shown(c).is_control() || "\n\t".contains(c)));
    }
}
