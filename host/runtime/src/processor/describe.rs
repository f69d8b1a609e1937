//! Describes the processor for emitters. The values come from Linux and from CPUID, and unknown
//! values have defaults. This module also finds the instruction sets that a program needs and the
//! processor lacks.

use std::path::Path;
use std::sync::OnceLock;

use fusebox_core::device::{DeviceDescription, NarrowProducts, instructions};
use fusebox_files::SizeLimit;

use super::instruction_sets::{TILES_OF_BF16, TILES_OF_INT8};

/// Directory in which Linux describes the first processor. All processors of the machine are
/// assumed to be equal.
const PROCESSOR: &str = "/sys/devices/system/cpu/cpu0";
/// Size limit for files that Linux provides. All of these files are much smaller.
const LIMIT: SizeLimit = SizeLimit::bytes(4096);
/// Maximum number of caches that Linux lists per processor. Level 1 has two caches, for data and
/// for instructions. Each of three further levels has one cache.
const MOST_CACHES: usize = 5;

/// Describes this machine's processor for a pool of `threads` threads.
pub fn describe_cpu(threads: usize) -> DeviceDescription {
    let usual = DeviceDescription::cpu(u32::try_from(threads).unwrap_or(u32::MAX));
    let cache = private_cache(Path::new(PROCESSOR));
    let (register_bytes, registers) = registers();
    DeviceDescription {
        vector_bytes: vector_bytes(),
        register_bytes,
        registers,
        tile_products: tile_products(),
        word_products: word_products(),
        cache_line_bytes: cache.as_ref().map_or(usual.cache_line_bytes, |cache| cache.line_bytes),
        core_cache_bytes: cache.map_or(usual.core_cache_bytes, |cache| cache.bytes),
        ..usual
    }
}

/// Returns the default width in bytes of vector loads and stores. Even on processors with 64-byte
/// registers, the width is at most 32, because rows are often too short for 64-byte vectors.
fn vector_bytes() -> u32 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx") {
        return 32;
    }
    16
}

/// Returns the size of a vector register in bytes, and the number of vector registers. Some
/// processors reduce their clock rate when they use 64-byte registers. The instruction set VBMI2
/// identifies processors without this drawback, so 64-byte registers are used only if the processor
/// has VBMI2.
fn registers() -> (u32, u32) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512vbmi2") {
        return (64, 32);
    } else if std::arch::is_x86_feature_detected!("avx") {
        return (32, 16);
    }
    (16, if cfg!(target_arch = "x86_64") { 16 } else { 32 })
}

/// Returns for which element types a program can use the processor's instructions for products of
/// tiles. The processor must have the instructions, and Linux must allow this process to use tile
/// registers.
fn tile_products() -> NarrowProducts {
    static KNOWN: OnceLock<NarrowProducts> = OnceLock::new();
    *KNOWN.get_or_init(|| {
        let has = instructions();
        if has != NarrowProducts::default() && request_tiles() { has } else { NarrowProducts::default() }
    })
}

/// Returns for which element types the processor has dot-product instructions with 64-byte vector
/// registers. A dot-product instruction multiplies words of adjacent narrow elements.
fn word_products() -> NarrowProducts {
    NarrowProducts { bf16: instructions::has("avx512bf16"), int8: instructions::has("avx512vnni") }
}

/// Returns for which element types the processor has instructions for products of tiles. CPUID
/// reports these instructions in its leaf of extended features.
#[cfg(target_arch = "x86_64")]
fn instructions() -> NarrowProducts {
    const BF16: u32 = 1 << 22;
    const TILE: u32 = 1 << 24;
    const INT8: u32 = 1 << 25;
    let features = extended_features().map_or(0, |features| features.edx);
    let has = |feature: u32| features & (TILE | feature) == TILE | feature;
    NarrowProducts { bf16: has(BF16), int8: has(INT8) }
}

#[cfg(target_arch = "x86_64")]
fn extended_features() -> Option<std::arch::x86_64::CpuidResult> {
    const LEAF: u32 = 7;
    (std::arch::x86_64::__cpuid(0).eax >= LEAF).then(|| std::arch::x86_64::__cpuid_count(LEAF, 0))
}

/// Whether the processor has the instruction `clflushopt`. With `clflushopt`, the processor evicts
/// many cache lines concurrently. With `clflush`, the processor evicts one cache line after
/// another.
#[cfg(target_arch = "x86_64")]
pub fn drops_many_lines_at_once() -> bool {
    const CLFLUSHOPT: u32 = 1 << 23;
    static KNOWN: OnceLock<bool> = OnceLock::new();
    *KNOWN.get_or_init(|| extended_features().is_some_and(|features| features.ebx & CLFLUSHOPT != 0))
}

#[cfg(not(target_arch = "x86_64"))]
fn instructions() -> NarrowProducts {
    NarrowProducts::default()
}

/// Asks Linux for permission to use tile registers in this process. Linux saves the tile registers
/// of each thread. The tile registers occupy 8 KiB per thread, so Linux saves them only on request.
/// Returns whether Linux agrees.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn request_tiles() -> bool {
    const ARCH_REQ_XCOMP_PERM: libc::c_int = 0x1023;
    const XFEATURE_XTILEDATA: libc::c_ulong = 18;
    // SAFETY: the system call takes two numbers and does not access memory of this process.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0 }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
fn request_tiles() -> bool {
    false
}

/// Returns the instruction sets in `needed` that this machine lacks, by LLVM's names. Requests tile
/// registers from Linux if necessary.
pub fn missing(needed: &[String]) -> Vec<String> {
    needed.iter().filter(|name| !has(name)).cloned().collect()
}

/// Whether programs on this machine can use the instruction set with this LLVM name.
fn has(name: &str) -> bool {
    match name {
        TILES_OF_BF16 => tile_products().bf16,
        TILES_OF_INT8 => tile_products().int8,
        other => instructions::has(other),
    }
}

#[derive(Debug, PartialEq)]
struct Cache {
    bytes: u64,
    line_bytes: u32,
}

/// Returns the largest cache that only one core uses. Linux numbers the caches by ascending level.
fn private_cache(processor: &Path) -> Option<Cache> {
    let siblings = text(&processor.join("topology/thread_siblings_list"))?;
    (0..MOST_CACHES).rev().find_map(|number| {
        let field = |name: &str| text(&processor.join(format!("cache/index{number}/{name}")));
        let is_own = field("shared_cpu_list")? == siblings && field("type")? != "Instruction";
        let kilobytes: u64 = if is_own { field("size")?.strip_suffix('K')?.parse().ok()? } else { return None };
        Some(Cache { bytes: kilobytes.checked_mul(1 << 10)?, line_bytes: field("coherency_line_size")?.parse().ok()? })
    })
}

fn text(path: &Path) -> Option<String> {
    Some(String::from_utf8(fusebox_files::read(path, LIMIT).ok()?).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_of_a_core_is_the_largest_that_others_do_not_share() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{text}\n")).unwrap();
        };
        write("topology/thread_siblings_list", "0,4");
        for (number, kind, size, shared) in [
            (0, "Data", "32K", "0,4"),
            (1, "Instruction", "4096K", "0,4"),
            (2, "Unified", "1280K", "0,4"),
            (3, "Unified", "30720K", "0-7"),
        ] {
            write(&format!("cache/index{number}/type"), kind);
            write(&format!("cache/index{number}/size"), size);
            write(&format!("cache/index{number}/shared_cpu_list"), shared);
            write(&format!("cache/index{number}/coherency_line_size"), "64");
        }
        assert_eq!(private_cache(folder.path()), Some(Cache { bytes: 1280 << 10, line_bytes: 64 }));
        assert_eq!(private_cache(&folder.path().join("cache")), None);
    }

    #[test]
    fn a_machine_has_no_instruction_set_that_it_does_not_know() {
        assert!(instructions::present().all(has));
        let needed = ["avx10.99-512", ""].map(String::from);
        assert_eq!(missing(&needed), needed);
    }

    #[test]
    fn what_is_asked_makes_sense() {
        let device = describe_cpu(3);
        assert_eq!(device.core_count, 3);
        assert!(device.is_single_threaded_block() && device.core_cache_bytes >= 16 << 10);
        assert!([32, 64, 128].contains(&device.cache_line_bytes) && [16, 32].contains(&device.vector_bytes));
        assert!([16, 32, 64].contains(&device.register_bytes) && [16, 32].contains(&device.registers));
    }
}
