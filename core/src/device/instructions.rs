//! Instruction sets that not every processor of an architecture has, by LLVM's names.
//!
//! Those that code generation may use by itself, and that a program can ask the processor for: code is compiled for these and for no
//! others, so that an executable can say all that it needs, and a machine can say whether it has that. Sets that code generation
//! uses only where it is told to, such as those for cryptography, are left out. So are tile registers, which also the operating
//! system has to grant: kernels that use them are known.

/// A set, and how the processor is asked for it.
struct InstructionSet {
    name: &'static str,
    is_present: fn() -> bool,
}

/// Of sets by LLVM's names the table, with the standard library's names.
#[cfg(target_arch = "x86_64")]
macro_rules! instruction_sets {
    ($($name:literal: $detected:tt,)*) => {
        &[$(InstructionSet { name: $name, is_present: || std::arch::is_x86_feature_detected!($detected) },)*]
    };
}

#[cfg(target_arch = "x86_64")]
const SETS: &[InstructionSet] = instruction_sets! {
    "sse3": "sse3",
    "ssse3": "ssse3",
    "sse4.1": "sse4.1",
    "sse4.2": "sse4.2",
    "sse4a": "sse4a",
    "popcnt": "popcnt",
    "lzcnt": "lzcnt",
    "bmi": "bmi1",
    "bmi2": "bmi2",
    "tbm": "tbm",
    "movbe": "movbe",
    "cx16": "cmpxchg16b",
    "pclmul": "pclmulqdq",
    "avx": "avx",
    "avx2": "avx2",
    "fma": "fma",
    "f16c": "f16c",
    "gfni": "gfni",
    "vpclmulqdq": "vpclmulqdq",
    "avxvnni": "avxvnni",
    "avxvnniint8": "avxvnniint8",
    "avxvnniint16": "avxvnniint16",
    "avxifma": "avxifma",
    "avxneconvert": "avxneconvert",
    "avx512f": "avx512f",
    "avx512cd": "avx512cd",
    "avx512bw": "avx512bw",
    "avx512dq": "avx512dq",
    "avx512vl": "avx512vl",
    "avx512ifma": "avx512ifma",
    "avx512vbmi": "avx512vbmi",
    "avx512vbmi2": "avx512vbmi2",
    "avx512vnni": "avx512vnni",
    "avx512bitalg": "avx512bitalg",
    "avx512vpopcntdq": "avx512vpopcntdq",
    "avx512bf16": "avx512bf16",
    "avx512fp16": "avx512fp16",
};

#[cfg(not(target_arch = "x86_64"))]
const SETS: &[InstructionSet] = &[];

/// Those that this machine's processor has and its operating system lets programs use.
pub fn present() -> impl Iterator<Item = &'static str> {
    SETS.iter().filter(|set| (set.is_present)()).map(|set| set.name)
}

/// Whether this machine has a set. It has none of those that the table does not name: no code for this machine was compiled to use
/// one.
pub fn has(name: &str) -> bool {
    present().any(|present| present == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_set_stands_once_and_those_present_are_had() {
        let mut names: Vec<&str> = SETS.iter().map(|set| set.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        assert!(present().all(has) && !has("") && !has("no-such-set"));
    }
}
