//! The processor as emitters see it: what Linux and the instruction set tell, the usual where they do not.

use std::path::Path;

use fusebox_core::device::DeviceDescription;
use fusebox_files::SizeLimit;

/// What Linux knows of the first processor, which is taken to be like the others.
const PROCESSOR: &str = "/sys/devices/system/cpu/cpu0";
/// More than any of these files has.
const LIMIT: SizeLimit = SizeLimit::bytes(4096);
/// Of one core's data, its instructions, and three levels more.
const MOST_CACHES: usize = 5;

/// This machine's processor, with a pool of so many workers.
pub fn describe_cpu(threads: usize) -> DeviceDescription {
    let usual = DeviceDescription::cpu(u32::try_from(threads).unwrap_or(u32::MAX));
    let cache = private_cache(Path::new(PROCESSOR));
    let (register_bytes, registers) = registers();
    DeviceDescription {
        vector_bytes: vector_bytes(),
        register_bytes,
        registers,
        cache_line_bytes: cache.as_ref().map_or(usual.cache_line_bytes, |cache| cache.line_bytes),
        core_cache_bytes: cache.map_or(usual.core_cache_bytes, |cache| cache.bytes),
        ..usual
    }
}

/// Bytes of accesses that suit all code: also where there are registers of 64 bytes, rows are often too short for them.
fn vector_bytes() -> u32 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx") {
        return 32;
    }
    16
}

/// Bytes of a vector register, and how many there are. Those of 64 bytes count only where they cost no clock rate, which
/// VBMI2 tells.
fn registers() -> (u32, u32) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512vbmi2") {
        return (64, 32);
    } else if std::arch::is_x86_feature_detected!("avx") {
        return (32, 16);
    }
    (16, if cfg!(target_arch = "x86_64") { 16 } else { 32 })
}

#[derive(Debug, PartialEq)]
struct Cache {
    bytes: u64,
    line_bytes: u32,
}

/// The largest cache that only the threads of one core share. Caches are numbered by level.
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
    fn what_is_asked_makes_sense() {
        let device = describe_cpu(3);
        assert_eq!(device.core_count, 3);
        assert!(device.is_single_threaded_block() && device.core_cache_bytes >= 16 << 10);
        assert!([32, 64, 128].contains(&device.cache_line_bytes) && [16, 32].contains(&device.vector_bytes));
        assert!([16, 32, 64].contains(&device.register_bytes) && [16, 32].contains(&device.registers));
    }
}
