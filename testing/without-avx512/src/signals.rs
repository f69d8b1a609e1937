//! The signals of CPUID instructions, and those that the program handles itself.

use std::ffi::{c_int, c_void};
use std::mem::{transmute, zeroed};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

use libc::{siginfo_t, ucontext_t};

use crate::answer::{CPUID, answer};
use crate::faults::let_cpuid_fault;
use crate::replaced;

/// SIGSEGV if CPUID instructions fault, SIGILL if they are replaced. 0 before [`start`].
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// The dynamic loader calls this function before `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    let faults = let_cpuid_fault(true) && let_cpuid_fault(false);
    let signal = if faults { libc::SIGSEGV } else { libc::SIGILL };
    // SAFETY: zeros are a valid `sigaction`.
    let mut action: libc::sigaction = unsafe { zeroed() };
    action.sa_sigaction = on_signal as *const () as libc::sighandler_t;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
    // SAFETY: the handler has the signature that SA_SIGINFO requires.
    let is_installed = unsafe { set_action(signal, &action, null_mut()) } == 0;
    SIGNAL.store(signal, Ordering::Release);
    let is_started = is_installed && if faults { let_cpuid_fault(true) } else { replaced::replace_in_loaded_code() };
    if !is_started {
        eprintln!("without-avx512: CPUID instructions of this process can neither fault nor be replaced");
        std::process::exit(1);
    }
}

extern "C" fn on_signal(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes pointers to the signal's information and to the registers of the
    // thread. No other code uses them while the handler runs.
    let (code, registers) = unsafe { ((*info).si_code, &mut (*context.cast::<ucontext_t>()).uc_mcontext.gregs) };
    let at = registers[libc::REG_RIP as usize] as usize;
    let is_cpuid = match signal {
        libc::SIGILL => code > 0 && replaced::is_replaced(at),
        // SAFETY: the kernel sends SIGSEGV with SI_KERNEL for an instruction that it could read.
        _ => code == libc::SI_KERNEL && unsafe { *(at as *const [u8; 2]) } == CPUID,
    };
    if !is_cpuid {
        return forward(signal, info, context);
    }
    let [eax, ebx, ecx, edx] = [libc::REG_RAX, libc::REG_RBX, libc::REG_RCX, libc::REG_RDX].map(|at| at as usize);
    let leaf = [registers[eax] as u32, registers[ecx] as u32];
    let answer = match signal {
        libc::SIGILL => answer(leaf),
        _ => {
            let_cpuid_fault(false);
            let answer = answer(leaf);
            let_cpuid_fault(true);
            answer
        }
    };
    registers[eax] = answer.eax.into();
    registers[ebx] = answer.ebx.into();
    registers[ecx] = answer.ecx.into();
    registers[edx] = answer.edx.into();
    registers[libc::REG_RIP as usize] += CPUID.len() as i64;
}

/// The action that the program has set for the signal. This action serves all causes of the signal
/// other than CPUID instructions. Null if there is none.
static OF_PROGRAM: AtomicPtr<libc::sigaction> = AtomicPtr::new(null_mut());

/// Replaces the function of libc, so that a handler of the program does not replace the handler of
/// this library.
///
/// # Safety
/// The caller obeys the rules of `sigaction`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    if signal != SIGNAL.load(Ordering::Acquire) {
        // SAFETY: the caller's promise.
        return unsafe { set_action(signal, new, old) };
    }
    // Earlier actions are leaked, because another thread may be about to read them.
    // SAFETY: the caller passes a valid pointer or null.
    let previous = match unsafe { new.as_ref() } {
        Some(new) => OF_PROGRAM.swap(Box::leak(Box::new(*new)), Ordering::AcqRel),
        None => OF_PROGRAM.load(Ordering::Acquire),
    };
    if !old.is_null() {
        // SAFETY: actions are never freed, zeros are the default action, and `old` is valid.
        unsafe { *old = previous.as_ref().copied().unwrap_or_else(|| zeroed()) };
    }
    0
}

/// Replaces the function of libc, as [`sigaction`] does.
///
/// # Safety
/// The caller obeys the rules of `signal`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn signal(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    // SAFETY: zeros are a valid `sigaction`.
    let (mut new, mut old): (libc::sigaction, libc::sigaction) = unsafe { zeroed() };
    new.sa_sigaction = handler;
    new.sa_flags = libc::SA_RESTART;
    // SAFETY: the caller's promise for the handler. Both pointers are valid.
    let is_set = unsafe { sigaction(signal, &new, &mut old) } == 0;
    if is_set { old.sa_sigaction } else { libc::SIG_ERR }
}

/// Calls the function `sigaction` of libc.
///
/// # Safety
/// The caller obeys the rules of `sigaction`.
unsafe fn set_action(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    type SigAction = unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;
    // SAFETY: the function has this type, and a null pointer is `None`.
    let function: Option<SigAction> = unsafe { transmute(libc::dlsym(libc::RTLD_NEXT, c"sigaction".as_ptr())) };
    // SAFETY: the caller's promise.
    function.map_or(-1, |function| unsafe { function(signal, new, old) })
}

/// Calls the program's handler. If there is no handler, restores the default action: the cause of
/// the signal then occurs again and ends the process. A signal that another process sent is raised
/// again.
fn forward(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: actions are never freed.
    let of_program = unsafe { OF_PROGRAM.load(Ordering::Acquire).as_ref() };
    match of_program.filter(|action| ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.sa_sigaction)) {
        None => {
            // SAFETY: zeros are the default action, and `info` is valid in the handler.
            unsafe {
                set_action(signal, &zeroed(), null_mut());
                if (*info).si_code <= 0 {
                    libc::raise(signal);
                }
            }
        }
        Some(action) if action.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: with SA_SIGINFO, the handler has this type.
            let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = unsafe { transmute(action.sa_sigaction) };
            handler(signal, info, context);
        }
        Some(action) => {
            // SAFETY: without SA_SIGINFO, the handler has this type.
            let handler: extern "C" fn(c_int) = unsafe { transmute(action.sa_sigaction) };
            handler(signal);
        }
    }
}
