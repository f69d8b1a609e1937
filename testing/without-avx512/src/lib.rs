//! Answers the CPUID instructions of a program as a processor with AVX2 and FMA, but without
//! AVX-512, AVX-VNNI and AMX. The program is started with this library in `LD_PRELOAD`:
//!
//! ```text
//! LD_PRELOAD=target/debug/deps/libwithout_avx512.so fusebox bench module.hlo
//! ```
//!
//! Libraries choose their code by CPUID, so the whole process then executes the code that such a
//! processor would execute, at full speed. A CPUID instruction raises a signal, whose handler
//! executes the instruction and clears bits in the result. There are two ways to raise the signal:
//!
//! * On processors with *CPUID faulting*, Linux lets the CPUID instructions of a thread fault
//!   (`ARCH_SET_CPUID` in arch_prctl(2)). New threads and forked processes inherit the setting.
//! * On other processors, the CPUID instructions in the code of the program and of its libraries
//!   are replaced by invalid instructions. Libraries that are opened later are changed when
//!   `dlopen` returns. The constructors of these libraries, and code that is compiled at run time,
//!   see the real processor.
//!
//! If the process executes another program, this program preloads the library again.
//!
//! Instructions are not checked: code that uses AVX-512 without asking still works. The dynamic
//! loader asks before this library is loaded, so `memcpy` and its like may use AVX-512.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod answer;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod faults;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod replaced;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod signals;
