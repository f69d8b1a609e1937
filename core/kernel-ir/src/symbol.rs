//! Turns HLO names into parts of symbols.

/// Largest number of bytes in a part of a symbol. Symbols and names of dump files combine several
/// parts, and a file name has at most 255 bytes.
const MOST_PART_BYTES: usize = 80;

/// Keeps those characters of a name that are ASCII letters, digits, `_` or the character `also`.
/// Replaces all other characters by `_`. A long name is truncated, and a hash of the whole name is
/// appended.
pub fn symbol_part(name: &str, also: char) -> String {
    let valid = |c: char| if c.is_ascii_alphanumeric() || c == also { c } else { '_' };
    let clean: String = name.chars().map(valid).collect();
    if clean.len() <= MOST_PART_BYTES {
        return clean;
    }
    let hash = format!("_{:016x}", fnv1a(name.as_bytes()));
    clean[..MOST_PART_BYTES - hash.len()].to_owned() + &hash
}

/// Returns the 64-bit hash FNV-1a of the bytes, by Fowler, Noll and Vo.
pub fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_short_and_differ() {
        let name = |last: char| "n".repeat(250) + &last.to_string();
        let [a, b] = ['a', 'b'].map(|last| symbol_part(&name(last), '_'));
        assert!(a.len() == MOST_PART_BYTES && b.len() == MOST_PART_BYTES && a != b && a.starts_with("nnn"), "{a} {b}");
        assert_eq!(symbol_part("add.1-ü", '.'), "add.1__");
        assert_eq!(symbol_part("add.1", '_'), "add_1");
    }

    /// Compares hashes with the values that were published with the algorithm FNV-1a.
    #[test]
    fn hashes_are_the_published_ones() {
        assert_eq!(
            [b"".as_slice(), b"a", b"foobar"].map(fnv1a),
            [0xcbf2_9ce4_8422_2325, 0xaf63_dc4c_8601_ec8c, 0x8594_4171_f739_67e8]
        );
    }
}
