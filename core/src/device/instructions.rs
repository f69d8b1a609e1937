//! Optional instruction sets of an architecture, identified by their LLVM names.
//!
//! The table lists the sets that code generation uses by default and that a program can detect at
//! run time. The compiler generates code only for sets in the table. An executable can therefore
//! list all instruction sets that its code needs, and a program can check whether the machine has
//! all instruction sets of this list. The table omits sets that code generation uses only on
//! request, such as cryptographic instructions. The table also omits the instructions on tile
//! registers, because the operating system must permit a program to use tile registers. The
//! compiler knows which kernels use tile registers.

/// An instruction set, and the function that detects it.
struct InstructionSet {
    name: &'static str,
    is_present: fn() -> bool,
}

/// Builds the table from pairs: LLVM's name of a set, and the name that the standard library uses.
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

/// Returns the sets that the processor has and that the operating system lets programs use.
pub fn present() -> impl Iterator<Item = &'static str> {
    SETS.iter().filter(|set| (set.is_present)()).map(|set| set.name)
}

/// Whether this machine has an instruction set. Returns `false` for sets outside the table, because
/// no code is compiled for these sets.
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
