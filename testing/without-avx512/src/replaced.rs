//! CPUID instructions that are replaced by invalid ones, on processors on which they cannot fault.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::transmute;
use std::ops::Range;
use std::ptr::null_mut;
use std::slice;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

use iced_x86::{Code, Decoder, DecoderOptions};
use libc::{dl_iterate_phdr, dl_phdr_info};
use memchr::memmem;

use crate::answer::CPUID;

/// The two bytes of the instruction UD2, which raises SIGILL.
const INVALID: [u8; 2] = [0x0f, 0x0b];

/// Addresses of replaced instructions in ascending order. Null if CPUID instructions can fault.
/// Earlier lists are leaked, because a handler in another thread may be about to read them.
static REPLACED: AtomicPtr<Vec<usize>> = AtomicPtr::new(null_mut());

/// Whether the instruction at this address was replaced.
pub fn is_replaced(at: usize) -> bool {
    // SAFETY: lists are never freed.
    let list = unsafe { REPLACED.load(Ordering::Acquire).as_ref() };
    list.is_some_and(|list| list.binary_search(&at).is_ok())
}

/// Objects of the dynamic loader.
struct Loaded {
    /// Number of objects that the loader has removed so far.
    removed: u64,
    /// Addresses of the code of the objects.
    code: Vec<Range<usize>>,
    /// Addresses of the CPUID instructions in code that `CHANGED` lacks.
    found: Vec<usize>,
}

/// The objects at the last call of [`replace_in_loaded_code`].
static CHANGED: Mutex<Loaded> = Mutex::new(Loaded { removed: 0, code: Vec::new(), found: Vec::new() });

/// Replaces the CPUID instructions of the program and of all its libraries except this one.
/// Returns false if the system refuses to let code be changed.
pub fn replace_in_loaded_code() -> bool {
    let mut changed = CHANGED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut now = (Loaded { removed: 0, code: Vec::new(), found: Vec::new() }, &*changed);
    // SAFETY: `collect` has the type that the function requires, and its argument is this pair.
    unsafe { dl_iterate_phdr(Some(collect), (&raw mut now).cast()) };
    let mut loaded = now.0;
    let new = std::mem::take(&mut loaded.found);
    *changed = loaded;
    // SAFETY: lists are never freed.
    let earlier = unsafe { REPLACED.load(Ordering::Acquire).as_ref() };
    let mut all: Vec<usize> = earlier.into_iter().flatten().chain(&new).copied().collect();
    all.sort_unstable();
    // The handler knows an instruction before the instruction can raise the signal.
    REPLACED.store(Box::leak(Box::new(all)), Ordering::Release);
    new.into_iter().all(replace)
}

/// Collects the code of one object, and its CPUID instructions. The loader removes no object during
/// the call.
///
/// # Safety
/// The arguments are those of a callback of `dl_iterate_phdr`.
unsafe extern "C" fn collect(object: *mut dl_phdr_info, _size: usize, pair: *mut c_void) -> c_int {
    // SAFETY: the loader passes an object, and the caller its pair.
    let (object, (loaded, changed)) = unsafe { (&*object, &mut *pair.cast::<(Loaded, &Loaded)>()) };
    loaded.removed = object.dlpi_subs;
    // SAFETY: the name is null or a string.
    let name = if object.dlpi_name.is_null() { c"" } else { unsafe { CStr::from_ptr(object.dlpi_name) } };
    // The kernel's own library is not writable.
    if name.to_bytes().starts_with(b"linux-vdso") {
        return 0;
    }
    // SAFETY: the object has this many headers.
    for header in unsafe { slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into()) } {
        let is_code = header.p_flags & (libc::PF_X | libc::PF_R) == libc::PF_X | libc::PF_R;
        if header.p_type == libc::PT_LOAD && is_code {
            let start = (object.dlpi_addr + header.p_vaddr) as usize;
            let code = start..start + header.p_filesz as usize;
            // A new object may lie where a removed one was.
            let is_new = changed.removed != loaded.removed || !changed.code.contains(&code);
            if is_new && !code.contains(&(collect as *const () as usize)) {
                // SAFETY: the loader has mapped this readable part of the file.
                let bytes = unsafe { slice::from_raw_parts(start as *const u8, code.len()) };
                loaded.found.extend(instructions(bytes).map(|at| start + at));
            }
            loaded.code.push(code);
        }
    }
    0
}

/// Positions of the CPUID instructions in code.
fn instructions(code: &[u8]) -> impl Iterator<Item = usize> {
    memmem::find_iter(code, &CPUID).filter(|&at| is_instruction(code, at))
}

/// Whether the two bytes at `at` are a CPUID instruction, and not a part of another instruction.
///
/// Instructions of x86 have different lengths. If code is decoded from several starting positions,
/// the decoded sequences of instructions soon agree. Therefore the function decodes from up to 32
/// starting positions, which are 33 to 64 bytes before `at`. Each decoded sequence votes on whether
/// an instruction begins at `at`.
fn is_instruction(code: &[u8], at: usize) -> bool {
    let starts = at.saturating_sub(64)..at.saturating_sub(32).max(1);
    let (mut for_it, mut against) = (0, 0);
    for start in starts {
        let mut decoder = Decoder::new(64, &code[start..], DecoderOptions::NONE);
        while start + decoder.position() < at && decoder.decode().code() != Code::INVALID {}
        match start + decoder.position() {
            position if position == at => for_it += 1,
            position if position > at => against += 1,
            _ => {}
        }
    }
    for_it > against
}

/// Replaces the instruction at this address. Returns false if the system refuses.
fn replace(at: usize) -> bool {
    // SAFETY: the call has no arguments that could be wrong.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let (first, end) = (at / page * page, at + INVALID.len());
    let protect = |protection| {
        // SAFETY: the pages hold code of this process, which stays executable and readable.
        unsafe { libc::mprotect(first as *mut c_void, end - first, protection) == 0 }
    };
    let code = libc::PROT_READ | libc::PROT_EXEC;
    if !protect(code | libc::PROT_WRITE) {
        return false;
    }
    // SAFETY: the bytes are writable, and they are one instruction of the same length. A thread
    // that executes it reads the old or the new second byte, as the first one is the same.
    unsafe { (at as *mut [u8; 2]).write_unaligned(INVALID) };
    protect(code)
}

/// Replaces the function of libc, so that the CPUID instructions of libraries that are opened later
/// are replaced too.
///
/// # Safety
/// The caller obeys the rules of `dlopen`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void {
    type Open = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;
    // SAFETY: the function has this type, and a null pointer is `None`.
    let function: Option<Open> = unsafe { transmute(libc::dlsym(libc::RTLD_NEXT, c"dlopen".as_ptr())) };
    // SAFETY: the caller's promise.
    let library = function.map_or(null_mut(), |function| unsafe { function(file, flags) });
    let are_replaced = !REPLACED.load(Ordering::Acquire).is_null();
    if are_replaced && !library.is_null() && !replace_in_loaded_code() {
        eprintln!("without-avx512: CPUID instructions of an opened library cannot be replaced");
        std::process::exit(1);
    }
    library
}
