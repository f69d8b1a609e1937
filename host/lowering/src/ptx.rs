//! What LLVM can be asked for on NVIDIA. Of a processor or PTX version that it does not know it only warns, on the
//! standard error stream, and takes another.

use crate::Target;
use crate::error::LoweringError;

/// Compute capabilities that LLVM 22 generates code for and that fusebox is meant for.
const CAPABILITIES: [u32; 13] = [70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 120];
/// The newest PTX version that LLVM 22 writes.
const NEWEST_PTX: u32 = 90;

/// Checks what is asked for before LLVM sees it.
pub(crate) fn check(target: &Target) -> Result<(), String> {
    let Target::Nvptx { capability, ptx_version } = target else { return Ok(()) };
    if !CAPABILITIES.contains(capability) {
        return Err(format!("LLVM 22 does not know it; known are {CAPABILITIES:?}"));
    }
    match ptx_version {
        Some(version) if *version > NEWEST_PTX => Err(format!(
            "LLVM 22 does not write PTX {}.{}; the newest is {}.{}",
            version / 10,
            version % 10,
            NEWEST_PTX / 10,
            NEWEST_PTX % 10
        )),
        _ => Ok(()),
    }
}

/// The text, if its head is what the target asks for.
pub(crate) fn checked(text: String, target: &Target) -> Result<String, LoweringError> {
    let Target::Nvptx { capability, ptx_version } = target else { return Ok(text) };
    let wrong = |reason: String| Err(LoweringError::Target { target: target.to_string(), reason });
    let directive =
        |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim).unwrap_or_default();
    let processor = directive(".target").split(',').next().unwrap_or_default();
    if processor != format!("sm_{capability}") {
        return wrong(format!("this LLVM does not know it and generates code for `{processor}`"));
    }
    if let Some(version) = ptx_version {
        let wanted = format!("{}.{}", version / 10, version % 10);
        let found = directive(".version");
        if found != wanted {
            return wrong(format!("this LLVM does not write PTX {wanted} but {found}; ask for an older version"));
        }
    }
    Ok(text)
}
