//! Instruction sets that a processor may lack, by LLVM's names.

/// LLVM's name of the instruction set that multiplies tiles of `bf16`.
pub const TILES_OF_BF16: &str = "amx-bf16";
/// LLVM's name of the instruction set that multiplies tiles of bytes.
pub const TILES_OF_INT8: &str = "amx-int8";

/// Returns the last words of an error message. These words name a target for machines without the
/// instruction sets `missing`. Returns an empty text if no target supports these machines.
pub fn or_without(missing: &[String]) -> &'static str {
    let are_all = |are: fn(&str) -> bool| missing.iter().all(|name| are(name));
    if are_all(|name| [TILES_OF_BF16, TILES_OF_INT8].contains(&name)) {
        ", or with `--target cpu,-amx`"
    } else if are_all(|name| name.starts_with("avx512") || name.starts_with("amx-")) {
        ", or with `--target cpu,-avx512`"
    } else {
        ""
    }
}
