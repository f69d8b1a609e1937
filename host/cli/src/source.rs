//! Reads the files of modules.

use std::path::Path;

use fusebox_compiler::{Format, Source};
use fusebox_files::SizeLimit;

use crate::exit::Failure;

/// Reads a file, or standard input if the path is `-`. Also determines the format of the module.
pub fn of_file(path: &Path, limit: SizeLimit) -> Result<Source, Failure> {
    if path.as_os_str() == "-" {
        let bytes = fusebox_files::read_stream("standard input", std::io::stdin().lock(), limit)?;
        return Ok(Source::new("<stdin>".into(), bytes, Format::Text));
    }
    let format = Format::of_extension(path.extension().and_then(|it| it.to_str()).unwrap_or_default());
    Ok(Source::new(path.display().to_string(), fusebox_files::read(path, limit)?, format))
}
