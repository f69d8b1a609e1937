//! Reports for the user: faults of kernels, and calls that the driver refuses.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Writes reports to standard error, and to a file if the settings name one.
#[derive(Debug)]
pub struct Reporter {
    file: Option<PathBuf>,
    /// A thread locks this mutex while it writes a report, so that the reports of several threads
    /// do not mix.
    turn: Mutex<()>,
}

impl Reporter {
    pub fn new(file: Option<PathBuf>) -> Reporter {
        Reporter { file, turn: Mutex::default() }
    }

    /// Writes a report.
    pub fn report(&self, text: &str) {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let text = text.trim_end();
        eprintln!("software-cuda: {text}");
        let Some(file) = &self.file else { return };
        let written = OpenOptions::new().create(true).append(true).open(file);
        if let Err(error) = written.and_then(|mut open| writeln!(open, "{text}")) {
            eprintln!("software-cuda: the report cannot be written to {}: {error}", file.display());
        }
    }
}
