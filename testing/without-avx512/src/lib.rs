//! Answers the CPUID instructions of a program as a processor with AVX2 and FMA, but without
//! AVX-512, AVX-VNNI and AMX. The program is started with this library in `LD_PRELOAD`:
//!
//! ```text
//! LD_PRELOAD=target/debug/deps/libwithout_avx512.so fusebox bench module.hlo
//! ```
//!
//! Libraries choose their code by CPUID, so the whole process then executes the code that such a
//! processor would execute, at full speed. Linux lets a thread's CPUID instructions fault
//! (`ARCH_SET_CPUID` in arch_prctl(2)) if the processor is able to (CPUID faulting). The handler of
//! the fault executes the instruction and clears bits in the result. New threads and forked
//! processes inherit the setting. A program that a process executes preloads the library again.
//!
//! Instructions are not checked: code that uses AVX-512 without asking still works. The dynamic
//! loader asks before this library is loaded, so `memcpy` and its like may use AVX-512.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod faults;

/// Exit status of a program with this library on a machine that cannot let CPUID fault.
pub const UNSUPPORTED: i32 = 77;
