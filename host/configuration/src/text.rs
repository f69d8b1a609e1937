//! Parses TOML text, and reports faults with their position.

use std::path::Path;

use fusebox_files::SizeLimit;
use serde::de::DeserializeOwned;

use crate::{FileError, FilePosition};

/// Maximum size of a configuration file.
const MOST_BYTES: SizeLimit = SizeLimit::bytes(1 << 20);

/// Reads the text of a file.
pub fn read(path: &Path) -> Result<String, FileError> {
    String::from_utf8(fusebox_files::read(path, MOST_BYTES)?).map_err(|error| {
        let end = error.utf8_error().valid_up_to();
        let place = FilePosition::at(path, &String::from_utf8_lossy(&error.as_bytes()[..end]), end);
        FileError::Invalid { place, message: "this is no UTF-8 text".into() }
    })
}

/// Parses the text of a file.
pub fn parse<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, FileError> {
    toml::from_str(text).map_err(|error| {
        let place = FilePosition::at(path, text, error.span().map_or(0, |span| span.start));
        FileError::Invalid { place, message: with_nearest_key(error.message()) }
    })
}

/// Rewrites the parser's message on an unknown key,
/// ``unknown field `a`, expected one of `b`, `c` ``, and adds the known key with the most similar
/// name.
fn with_nearest_key(message: &str) -> String {
    let words: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let Some((unknown, known)) = words.split_first().filter(|_| message.starts_with("unknown field")) else {
        return message.into();
    };
    let nearest = known.iter().min_by_key(|key| strsim::damerau_levenshtein(unknown, key));
    let nearest = nearest.map_or_else(String::new, |key| format!("did you mean `{key}`? "));
    format!("unknown key `{unknown}`; {nearest}The keys here are {}", known.join(", "))
}
