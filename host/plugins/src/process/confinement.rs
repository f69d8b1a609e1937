//! Allows a plugin's process only the system calls for memory, threads, the time, and the pipes to
//! the host.
//!
//! The filter lists the allowed calls, because a list of the refused calls could not be complete. A
//! refused call fails with EPERM, like a call without permission.

use libc::{c_int, c_long};
use seccompiler::{
    BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter_all_threads,
};

/// Phase of the process.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The loader reads the library and the libraries that it depends on, and runs their
    /// constructors.
    Loading,
    /// The plugin answers requests. All code of the plugin is in memory.
    Serving,
}

/// Permanently refuses all system calls that the phase does not need, in all threads of this
/// process. A later phase can only refuse more.
///
/// # Errors
/// If the system has no filters for system calls, or if this process may not install filters.
pub fn confine(phase: Phase) -> Result<(), Error> {
    // `clone3` has its flags in memory, where a filter cannot read them. Without `clone3`, threads
    // start with `clone`.
    let unknown = vec![(libc::SYS_clone3, vec![])];
    apply_filter_all_threads(&program(unknown, libc::ENOSYS, ListedCalls::Refused)?)?;
    apply_filter_all_threads(&program(allowed(phase)?, libc::EPERM, ListedCalls::Allowed)?)
}

/// Whether a filter allows or refuses the calls in its list. A filter does the opposite with all
/// calls that are not in its list.
enum ListedCalls {
    Allowed,
    Refused,
}

type SyscallRules = Vec<(c_long, Vec<SeccompRule>)>;

fn program(rules: SyscallRules, error: c_int, listed: ListedCalls) -> Result<BpfProgram, Error> {
    let refused = SeccompAction::Errno(error.unsigned_abs());
    let (others, these) = match listed {
        ListedCalls::Allowed => (refused, SeccompAction::Allow),
        ListedCalls::Refused => (SeccompAction::Allow, refused),
    };
    let machine = std::env::consts::ARCH.try_into()?;
    Ok(SeccompFilter::new(rules.into_iter().collect(), others, these, machine)?.try_into()?)
}

fn allowed(phase: Phase) -> Result<SyscallRules, Error> {
    let any = |calls: &[c_long]| -> SyscallRules { calls.iter().map(|&call| (call, vec![])).collect() };
    let mut rules = any(ALWAYS);
    let thread = i64::from(libc::CLONE_THREAD).unsigned_abs();
    rules.push((libc::SYS_clone, masked(0, thread, thread)?));
    // A process aborts by sending a signal to itself. Process id 0 stands for the process's own
    // group. The process ends this group when the host ends.
    let own = u64::from(std::process::id());
    rules.push((libc::SYS_tgkill, masked(0, PID, own)?));
    rules.push((libc::SYS_kill, masked(0, PID, 0)?));
    if phase == Phase::Loading {
        rules.extend(any(LOADING));
        let changing = libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC | libc::O_APPEND;
        rules.push((libc::SYS_openat, masked(2, i64::from(changing).unsigned_abs(), 0)?));
    }
    Ok(rules)
}

/// Bits of an argument that contain a process id. The system ignores all other bits.
const PID: u64 = u32::MAX as u64;

/// Returns a rule that matches if the bits `mask` of an argument have this value.
fn masked(argument: u8, mask: u64, value: u64) -> Result<Vec<SeccompRule>, Error> {
    let comparison = SeccompCmpOp::MaskedEq(mask);
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Qword, comparison, value)?;
    Ok(vec![SeccompRule::new(vec![condition])?])
}

const ALWAYS: &[c_long] = &[
    // Memory. The limit of memory was set before.
    libc::SYS_brk,
    libc::SYS_madvise,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_munmap,
    // Open files: the pipes and standard error.
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_lseek,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_pread64,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_write,
    libc::SYS_writev,
    // Threads. A separate filter refuses `clone3`.
    libc::SYS_clone3,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_getpgid,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_getpgrp,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_set_robust_list,
    libc::SYS_sigaltstack,
    // The time, and random numbers for the keys of hash tables.
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_getrandom,
    libc::SYS_gettimeofday,
    libc::SYS_nanosleep,
];

/// System calls that find and read files, with the permissions of the process, and that change no
/// file.
const LOADING: &[c_long] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_access,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_fadvise64,
    libc::SYS_fcntl,
    libc::SYS_getcwd,
    libc::SYS_newfstatat,
    libc::SYS_prctl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_readlink,
    libc::SYS_readlinkat,
    libc::SYS_seccomp,
    libc::SYS_statx,
];
