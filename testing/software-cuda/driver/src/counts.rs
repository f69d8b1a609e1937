//! Counts of each kernel, summed over all launches in the process.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use fusebox_ptx::Counts;

/// The counts of each kernel. The key is the kernel's name.
#[derive(Debug)]
pub struct KernelCounts {
    file: Option<PathBuf>,
    kernels: Mutex<BTreeMap<String, Counts>>,
}

impl KernelCounts {
    pub fn new(file: Option<PathBuf>) -> KernelCounts {
        KernelCounts { file, kernels: Mutex::default() }
    }

    /// Adds the counts of one launch.
    pub fn add(&self, kernel: &str, counts: &Counts) {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        kernels.entry(kernel.to_string()).or_default().add(counts);
    }

    /// Writes the counts to the file that the settings name. Writes an error to standard error
    /// instead of returning it, because the process ends.
    pub fn write(&self) {
        let Some(file) = &self.file else { return };
        let kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = kernels.iter().map(|(name, counts)| (name.as_str(), counts.json()));
        write_object(file, lines);
    }
}

/// Writes a JSON object with one field per line. The names of the fields must not contain
/// characters that JSON escapes.
pub fn write_object<'n>(file: &Path, fields: impl Iterator<Item = (&'n str, String)>) {
    let mut text = String::from("{\n");
    for (number, (name, value)) in fields.enumerate() {
        let comma = if number == 0 { "" } else { ",\n" };
        // Writing to a string cannot fail.
        _ = write!(text, "{comma}  \"{name}\": {value}");
    }
    text.push_str("\n}\n");
    if let Err(error) = std::fs::write(file, text) {
        eprintln!("software-cuda: {} cannot be written: {error}", file.display());
    }
}
