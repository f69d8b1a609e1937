//! The handler of faulting CPUID instructions.

use std::arch::x86_64::{__cpuid_count, CpuidResult};
use std::ffi::{c_int, c_long, c_void};
use std::mem::{transmute, zeroed};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use libc::{siginfo_t, ucontext_t};

use crate::UNSUPPORTED;

/// `ARCH_SET_CPUID` of arch_prctl(2). Its argument is 0 if CPUID faults, else 1.
const ARCH_SET_CPUID: c_long = 0x1012;

/// The two bytes of the instruction CPUID.
const CPUID: [u8; 2] = [0x0f, 0xa2];

/// Bits that are cleared in the answer of one leaf. Intel's *Software Developer's Manual*, volume
/// 2A, lists the leaves at the instruction CPUID.
struct Cleared {
    /// Values of EAX and ECX.
    leaf: [u32; 2],
    eax: u32,
    ebx: u32,
    ecx: u32,
    edx: u32,
}

const ALL: u32 = u32::MAX;

const CLEARED: &[Cleared] = &[
    Cleared {
        leaf: [7, 0],
        eax: 0,
        // AVX512F, DQ, IFMA, PF, ER, CD, BW, VL.
        ebx: bits(&[16, 17, 21, 26, 27, 28, 30, 31]),
        // AVX512_VBMI, VBMI2, GFNI, VNNI, BITALG, VPOPCNTDQ.
        ecx: bits(&[1, 6, 8, 11, 12, 14]),
        // AVX512_4VNNIW, 4FMAPS, VP2INTERSECT, AMX-BF16, AVX512_FP16, AMX-TILE, AMX-INT8.
        edx: bits(&[2, 3, 8, 22, 23, 24, 25]),
    },
    Cleared {
        leaf: [7, 1],
        // AVX-VNNI, AVX512_BF16, AMX-FP16, AVX-IFMA.
        eax: bits(&[4, 5, 21, 23]),
        ebx: 0,
        ecx: 0,
        // AVX-VNNI-INT8, AVX-NE-CONVERT, AMX-COMPLEX, AVX-VNNI-INT16, AVX10.
        edx: bits(&[4, 5, 8, 10, 19]),
    },
    // State of mask registers, of 512-bit registers and of tiles.
    Cleared { leaf: [0xd, 0], eax: bits(&[5, 6, 7, 17, 18]), ebx: 0, ecx: 0, edx: 0 },
    // Tiles, their products, and AVX10.
    Cleared { leaf: [0x1d, 0], eax: ALL, ebx: ALL, ecx: ALL, edx: ALL },
    Cleared { leaf: [0x1d, 1], eax: ALL, ebx: ALL, ecx: ALL, edx: ALL },
    Cleared { leaf: [0x1e, 0], eax: ALL, ebx: ALL, ecx: ALL, edx: ALL },
    Cleared { leaf: [0x24, 0], eax: ALL, ebx: ALL, ecx: ALL, edx: ALL },
];

const fn bits(positions: &[u32]) -> u32 {
    let (mut mask, mut at) = (0, 0);
    while at < positions.len() {
        mask |= 1 << positions[at];
        at += 1;
    }
    mask
}

/// The dynamic loader calls this function before `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    // SAFETY: zeros are a valid `sigaction`.
    let mut action: libc::sigaction = unsafe { zeroed() };
    action.sa_sigaction = on_fault as *const () as libc::sighandler_t;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
    // SAFETY: the handler has the signature that SA_SIGINFO requires.
    let is_installed = unsafe { set_action(libc::SIGSEGV, &action, null_mut()) } == 0;
    if !is_installed || !let_cpuid_fault(true) {
        eprintln!("without-avx512: this processor or this kernel cannot let CPUID instructions fault");
        std::process::exit(UNSUPPORTED);
    }
}

/// The action for SIGSEGV that the program has set, which serves all other faults. Null if there is
/// none.
static OF_PROGRAM: AtomicPtr<libc::sigaction> = AtomicPtr::new(null_mut());

/// Replaces the function of libc, so that a handler of the program does not replace the one of this
/// library.
///
/// # Safety
/// That of `sigaction`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    if signal != libc::SIGSEGV {
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
/// That of `signal`.
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
/// That of `sigaction`.
unsafe fn set_action(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    type SigAction = unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;
    // SAFETY: the function has this type, and a null pointer is `None`.
    let function: Option<SigAction> = unsafe { transmute(libc::dlsym(libc::RTLD_NEXT, c"sigaction".as_ptr())) };
    // SAFETY: the caller's promise.
    function.map_or(-1, |function| unsafe { function(signal, new, old) })
}

/// Sets whether CPUID instructions of this thread fault. Returns whether this is possible.
fn let_cpuid_fault(faults: bool) -> bool {
    // SAFETY: the call changes nothing but this setting of the thread.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_SET_CPUID, c_long::from(!faults)) == 0 }
}

extern "C" fn on_fault(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes pointers to the signal's information and to the registers of the
    // thread. No other code uses them while the handler runs.
    let (code, registers) = unsafe { ((*info).si_code, &mut (*context.cast::<ucontext_t>()).uc_mcontext.gregs) };
    let instruction = registers[libc::REG_RIP as usize] as *const [u8; 2];
    // SAFETY: the kernel sends a signal with SI_KERNEL for an instruction that it could read.
    if code != libc::SI_KERNEL || unsafe { *instruction } != CPUID {
        return forward(signal, info, context);
    }
    let [eax, ebx, ecx, edx] = [libc::REG_RAX, libc::REG_RBX, libc::REG_RCX, libc::REG_RDX].map(|at| at as usize);
    let answer = answer([registers[eax] as u32, registers[ecx] as u32]);
    registers[eax] = answer.eax.into();
    registers[ebx] = answer.ebx.into();
    registers[ecx] = answer.ecx.into();
    registers[edx] = answer.edx.into();
    registers[libc::REG_RIP as usize] += CPUID.len() as i64;
}

/// Calls the program's handler. Without one, the fault occurs again and ends the process, and a
/// signal that another process sent is raised again.
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

/// Executes the instruction with these values in EAX and ECX, and clears bits in its result.
fn answer(leaf: [u32; 2]) -> CpuidResult {
    let_cpuid_fault(false);
    let mut answer = __cpuid_count(leaf[0], leaf[1]);
    let_cpuid_fault(true);
    for cleared in CLEARED.iter().filter(|cleared| cleared.leaf == leaf) {
        answer.eax &= !cleared.eax;
        answer.ebx &= !cleared.ebx;
        answer.ecx &= !cleared.ecx;
        answer.edx &= !cleared.edx;
    }
    answer
}
