//! Writes the results of each phase to numbered files.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use crate::{CompileError, Phase};

/// Folder of the dumps. By default nothing is dumped.
#[derive(Clone, Debug, Default)]
pub struct Dump {
    folder: Option<PathBuf>,
}

impl Dump {
    /// Dumps into a folder, and creates the folder if it does not exist.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub fn to(folder: impl Into<PathBuf>) -> Result<Dump, CompileError> {
        let folder = folder.into();
        let failed = |source| CompileError::DumpFolder { path: folder.display().to_string(), source };
        std::fs::create_dir_all(&folder).map_err(failed)?;
        Ok(Dump { folder: Some(folder) })
    }

    /// Whether anything is dumped. If nothing is dumped, callers need not print the texts for a
    /// dump.
    pub fn is_active(&self) -> bool {
        self.folder.is_some()
    }

    /// Writes one file if dumps are active. `part` names a kernel or a pass if a phase writes
    /// several files.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(
        &self,
        phase: Phase,
        part: &str,
        extension: &str,
        text: impl FnOnce() -> Vec<u8>,
    ) -> Result<(), CompileError> {
        self.stream(phase, part, extension, |out| out.write_all(&text()))
    }

    /// Writes one file with `write` if dumps are active. Use this function for contents that are
    /// too large to hold in memory.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn stream(
        &self,
        phase: Phase,
        part: &str,
        extension: &str,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), CompileError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let path = folder.join(phase.file_name(part, extension));
        Ok(fusebox_files::replace(&path, |file| {
            let mut out = BufWriter::new(file);
            write(&mut out)?;
            out.flush()
        })?)
    }
}
