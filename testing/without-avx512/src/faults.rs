//! Lets CPUID instructions fault, on processors with *CPUID faulting*.

use std::ffi::c_long;

/// `ARCH_SET_CPUID` of arch_prctl(2). With the argument 0, CPUID instructions fault. With the
/// argument 1, they do not.
const ARCH_SET_CPUID: c_long = 0x1012;

/// Sets whether CPUID instructions of this thread fault. Returns whether this is possible.
pub fn let_cpuid_fault(faults: bool) -> bool {
    // SAFETY: the call changes nothing but this setting of the thread.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_SET_CPUID, c_long::from(!faults)) == 0 }
}
