//! Whether two names stand for one file.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::WriteError;

/// Refuses an output that is one of the inputs, under whatever name: a mistyped command must not cost the user data.
/// `-` stands for standard input.
///
/// # Errors
/// [`WriteError::IsInput`].
pub fn refuse_inputs<'a>(
    output: &Path,
    inputs: impl IntoIterator<Item = &'a (impl AsRef<Path> + ?Sized + 'a)>,
) -> Result<(), WriteError> {
    let Some(written) = identity(output) else { return Ok(()) };
    let is_written = |input: &&Path| match input.to_str() {
        Some("-") => identity(Path::new("/dev/stdin")) == Some(written),
        _ => identity(input) == Some(written),
    };
    match inputs.into_iter().map(AsRef::as_ref).find(is_written) {
        Some(input) => Err(WriteError::IsInput { path: output.into(), input: input.into() }),
        None => Ok(()),
    }
}

/// Device and number of a regular file. There is nothing to lose in others.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let found = std::fs::metadata(path).ok().filter(|found| found.is_file())?;
    Some((found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_recognised_under_all_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("in"), b"1").unwrap();
        std::fs::write(at("other"), b"1").unwrap();
        std::os::unix::fs::symlink("in", at("link")).unwrap();
        std::fs::hard_link(at("in"), at("hard")).unwrap();
        for name in ["in", "link", "hard", "./in"] {
            let error = refuse_inputs(&at(name), [at("other").as_path(), &at("in")]).unwrap_err();
            assert!(error.is_usage() && error.to_string().contains("same file as the input"), "{error}");
        }
        for name in ["other", "new"] {
            refuse_inputs(&at(name), [at("in").as_path(), &at("none")]).unwrap();
        }
        refuse_inputs(Path::new("/dev/null"), [Path::new("/dev/null")]).unwrap();
    }
}
