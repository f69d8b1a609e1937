//! Converts choices to readable text and back. `fusebox tune --export` writes the text, and
//! `--import` reads it.

use std::collections::BTreeMap;
use std::path::Path;

use fusebox_files::{ReadError, SizeLimit};
use fusebox_plugins::Spec;
use serde::{Deserialize, Serialize};

use super::choice::{Choices, StoredChoice};
use super::question::Question;

/// Size limit of the file.
const MOST_BYTES: SizeLimit = SizeLimit::bytes(64 << 20);

const HEAD: &str = "# The emitter of each fusion, as `fusebox tune` has measured it. `fusebox tune --import` reads\n\
                    # this file. By device; `instead_of` is the untuned choice. `cut-` stands before regions that can\n\
                    # be cut into kernels in several ways: around the instruction `fusion`, by the bid of emitter\n\
                    # `spec`, or `apart`, as without its fusion.\n";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TuningLockFile {
    device: BTreeMap<String, BTreeMap<String, StoredChoice>>,
}

/// The reason why a file of choices cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The content of the file is invalid.
    #[error("{file}: error: {message}")]
    Invalid {
        /// Name of the file.
        file: String,
        /// The first fault.
        message: String,
    },
}

/// Formats choices as text. Equal choices result in equal text.
///
/// # Errors
/// If a name cannot be written as TOML.
pub fn write(choices: &Choices) -> Result<String, toml::ser::Error> {
    let by_text = |(device, choices): (&String, &BTreeMap<Question, StoredChoice>)| {
        let choices = choices.iter().map(|(question, chosen)| (question.to_string(), chosen.clone()));
        (device.clone(), choices.collect())
    };
    let written = TuningLockFile { device: choices.iter().map(by_text).collect() };
    Ok(format!("{HEAD}\n{}", toml::to_string(&written)?))
}

/// Reads choices from a file that `fusebox tune --export` has written.
///
/// # Errors
/// If the file cannot be read, or its content is invalid.
pub fn read(path: &Path) -> Result<Choices, LockError> {
    let invalid = |message: String| LockError::Invalid { file: path.display().to_string(), message };
    let bytes = fusebox_files::read(path, MOST_BYTES)?;
    let text = String::from_utf8(bytes).map_err(|error| invalid(error.to_string()))?;
    let written: TuningLockFile = toml::from_str(&text).map_err(|error| invalid(error.to_string()))?;
    let mut choices = Choices::new();
    for (device, written) in written.device {
        for (question, chosen) in written {
            let question = question.parse().map_err(invalid)?;
            for spec in [&chosen.spec, &chosen.instead_of] {
                spec.parse::<Spec>().map_err(|error| invalid(error.to_string()))?;
            }
            choices.entry(device.clone()).or_default().insert(question, chosen);
        }
    }
    Ok(choices)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let chosen = |spec: &str| StoredChoice {
            fusion: "fused_add".into(),
            spec: spec.into(),
            instead_of: "vector-loop@0.1.0".into(),
        };
        let question = |text: &str| text.parse::<Question>().unwrap();
        let of_cpu = BTreeMap::from([
            (question("d3d1f5dfc6b2dd21eb561ec88d15472b"), chosen("loop@0.1.0{unroll=4}")),
            (question("cut-d3d1f5dfc6b2dd21eb561ec88d15472b"), chosen("apart")),
        ]);
        let choices = Choices::from([("cpu: 2 threads, 01234567".to_owned(), of_cpu)]);
        let text = write(&choices).unwrap();
        assert!(
            text.contains(
                "[device.\"cpu: 2 threads, 01234567\".d3d1f5dfc6b2dd21eb561ec88d15472b]\nfusion = \"fused_add\"\n\
             spec = \"loop@0.1.0{unroll=4}\"\ninstead_of = \"vector-loop@0.1.0\"\n"
            ) && text.contains(
                "[device.\"cpu: 2 threads, 01234567\".cut-d3d1f5dfc6b2dd21eb561ec88d15472b]\nfusion = \"fused_add\"\n\
             spec = \"apart\"\n"
            ),
            "{text}"
        );
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tuned.toml");
        fusebox_files::write(&path, text.as_bytes()).unwrap();
        assert_eq!(read(&path).unwrap(), choices);
        for (part, other, wanted) in [
            ("d3d1f5df", "d3d1f5dg", "is no fingerprint"),
            ("unroll=4", "unroll=x", "emitter spec"),
            ("instead_of", "insted_of", "missing field `instead_of`"),
        ] {
            fusebox_files::write(&path, text.replacen(part, other, 2).as_bytes()).unwrap();
            let message = read(&path).unwrap_err().to_string();
            assert!(message.contains(wanted), "{message}");
        }
    }
}
