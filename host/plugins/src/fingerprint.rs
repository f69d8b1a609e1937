//! Identifies fusions independently of names.

use std::fmt::{self, Write};
use std::str::FromStr;

use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::canonical_text;
use sha2::{Digest, Sha256};

/// A hash of a fusion's operations, shapes, layouts, literals and attributes, but not of names,
/// source locations or metadata. The fingerprint of a fusion is the same in every program and every
/// run, so files can contain fingerprints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint([u8; 16]);

impl Fingerprint {
    /// Computes the fingerprint of a fusion.
    pub fn of(fusion: &Fusion) -> Fingerprint {
        let digest: [u8; 32] = Sha256::digest(canonical_text(&fusion.module)).into();
        Fingerprint(std::array::from_fn(|i| digest[i]))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&hexadecimal(&self.0))
    }
}

impl FromStr for Fingerprint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let byte = |place: usize| u8::from_str_radix(text.get(2 * place..2 * place + 2)?, 16).ok();
        let bytes: Option<Vec<u8>> = (0..16).map(byte).collect();
        let known = bytes.and_then(|bytes| bytes.try_into().ok()).map(Fingerprint);
        let shown = known.filter(|it| it.to_string() == text);
        shown.ok_or_else(|| {
            format!("`{text}` is no fingerprint: 32 hexadecimal digits, as `fusebox explain` prints them")
        })
    }
}

/// Prints two digits for each byte.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use fusebox_core::hlo::parse_module;

    use super::*;

    fn of(text: &str) -> String {
        Fingerprint::of(&Fusion::new("f", parse_module(text, "test").unwrap()).unwrap()).to_string()
    }

    #[test]
    fn names_and_metadata_do_not_count_all_else_does() {
        let text = "HloModule m\nENTRY e {\n  p = f32[2,3]{1,0} parameter(0)\n  c = f32[] constant(1)\n  \
                    b = f32[2,3]{1,0} broadcast(c), dimensions={}\n  ROOT r = f32[2,3]{1,0} add(p, b)\n}\n";
        let first = of(text);
        // Users' files contain fingerprints, so fingerprints must not change between releases.
        assert_eq!(first, "d3d1f5dfc6b2dd21eb561ec88d15472b");
        assert_eq!(first.parse::<Fingerprint>().unwrap().to_string(), first);
        for wrong in ["", "d3", &first[1..], &first.replace('d', "+"), &first.replace('d', "D"), &format!("{first}00")]
        {
            assert!(wrong.parse::<Fingerprint>().is_err(), "{wrong}");
        }
        let renamed = text.replace("HloModule m", "HloModule other").replace("c = ", "one = ").replace("(c)", "(one)");
        assert_eq!(first, of(&renamed.replace("add(p, b)", "add(p, b), metadata={op_name=\"jit(f)\"}")));
        for (part, other) in [("2,3]", "3,2]"), ("{1,0}", "{0,1}"), ("constant(1)", "constant(2)"), ("add", "subtract")]
        {
            assert_ne!(first, of(&text.replace(part, other)), "{part} counts");
        }
    }
}
