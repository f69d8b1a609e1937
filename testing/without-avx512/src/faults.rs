//! The handler of faulting CPUID instructions.

use std::arch::x86_64::{__cpuid_count, CpuidResult};
use std::ffi::{c_int, c_long, c_void};

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
    // SAFETY: zeros are a valid `sigaction`. The handler has the signature that SA_SIGINFO requires.
    let is_installed = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_fault as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        libc::sigaction(libc::SIGSEGV, &action, std::ptr::null_mut()) == 0
    };
    if !is_installed || !let_cpuid_fault(true) {
        eprintln!("without-avx512: this processor or this kernel cannot let CPUID instructions fault");
        std::process::exit(UNSUPPORTED);
    }
}

/// Sets whether CPUID instructions of this thread fault. Returns whether this is possible.
fn let_cpuid_fault(faults: bool) -> bool {
    // SAFETY: the call changes nothing but this setting of the thread.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_SET_CPUID, c_long::from(!faults)) == 0 }
}

extern "C" fn on_fault(_signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes pointers to the signal's information and to the registers of the
    // thread, which the handler alone uses.
    let (info, context) = unsafe { (&*info, &mut *context.cast::<libc::ucontext_t>()) };
    let registers = &mut context.uc_mcontext.gregs;
    let instruction = registers[libc::REG_RIP as usize] as *const [u8; 2];
    // SAFETY: a fault of this code comes from an instruction that the thread executed, so at least
    // its first byte is readable. An instruction of one byte at the end of a page does not fault so.
    if info.si_code != libc::SI_KERNEL || unsafe { *instruction } != CPUID {
        // The signal is that of another fault, which then ends the process.
        // SAFETY: the default action is a valid handler.
        unsafe { libc::signal(libc::SIGSEGV, libc::SIG_DFL) };
        return;
    }
    let [eax, ebx, ecx, edx] = [libc::REG_RAX, libc::REG_RBX, libc::REG_RCX, libc::REG_RDX].map(|at| at as usize);
    let answer = answer([registers[eax] as u32, registers[ecx] as u32]);
    registers[eax] = answer.eax.into();
    registers[ebx] = answer.ebx.into();
    registers[ecx] = answer.ecx.into();
    registers[edx] = answer.edx.into();
    registers[libc::REG_RIP as usize] += CPUID.len() as i64;
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
