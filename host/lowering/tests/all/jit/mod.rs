//! Loads object files with LLVM's own loader and runs them. Only tests use this loader.

pub mod elementwise;

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_void};
use std::ptr;

use fusebox_core::emitter::LaunchDimensions;
use fusebox_lowering::{Argument, Code, LoweringError, Origins, Stage, Stages, Target};
use llvm_sys::core::LLVMCreateMemoryBufferWithMemoryRangeCopy;
use llvm_sys::error::{LLVMErrorRef, LLVMGetErrorMessage};
use llvm_sys::orc2::lljit::*;
use llvm_sys::orc2::*;

type Kernel = unsafe extern "C" fn(*const *mut c_void, i64, i64);

/// A cache line with the alignment that kernels require.
#[repr(align(64))]
#[derive(Clone)]
struct Line(#[allow(dead_code, reason = "kernels read it through a pointer")] [u8; 64]);

/// The memory of one argument of a kernel.
#[derive(Clone)]
pub struct Buffer {
    lines: Vec<Line>,
    bytes: usize,
}

impl Buffer {
    pub fn of<T: Copy>(values: &[T]) -> Self {
        let bytes = std::mem::size_of_val(values);
        let mut buffer = Buffer { lines: vec![Line([0xee; 64]); bytes.div_ceil(64).max(1)], bytes };
        // SAFETY: the data is plain, and the destination has at least the size of the data.
        unsafe { ptr::copy_nonoverlapping(values.as_ptr().cast::<u8>(), buffer.lines.as_mut_ptr().cast(), bytes) };
        buffer
    }

    pub fn address(&self) -> usize {
        self.lines.as_ptr() as usize
    }

    pub fn values<T: Copy>(&self) -> Vec<T> {
        let count = self.bytes / size_of::<T>();
        // SAFETY: the memory is initialised, aligned to 64 bytes and has `self.bytes` bytes.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast::<T>(), count).to_vec() }
    }
}

/// An access that a kernel for the simulator has reported.
#[derive(Clone, Debug)]
pub struct Access {
    pub tensor: usize,
    pub pointer: usize,
    pub bytes: i32,
    pub kind: i32,
    pub site: i32,
}

thread_local! {
    static ACCESSES: RefCell<Vec<Access>> = const { RefCell::new(Vec::new()) };
}

extern "C" fn record_access(tensor: *const c_void, pointer: *const c_void, bytes: i32, kind: i32, site: i32) {
    let (tensor, pointer) = (tensor as usize, pointer as usize);
    ACCESSES.with_borrow_mut(|all| all.push(Access { tensor, pointer, bytes, kind, site }));
}

extern "C" fn ignore_turn(_site: i32) {}

extern "C" fn refuse_index(_: *const c_void, dimension: i32, index: i64, size: i64, _: i32) {
    panic!("index {index} of dimension {dimension} is not below {size}");
}

/// Returns the accesses that this thread's kernels have reported since the last call of this
/// function.
pub fn accesses() -> Vec<Access> {
    ACCESSES.with_borrow_mut(std::mem::take)
}

fn check(error: LLVMErrorRef) {
    // SAFETY: the message of an error is a zero-terminated string.
    assert!(error.is_null(), "{:?}", unsafe { CStr::from_ptr(LLVMGetErrorMessage(error)) });
}

/// Stages of lowering, recorded as text.
#[derive(Default)]
pub struct Recorded(pub Vec<(Stage, String)>);

impl Stages for Recorded {
    fn wants(&self, _: Stage) -> bool {
        true
    }

    fn stage(&mut self, stage: Stage, text: &str) {
        self.0.push((stage, text.to_owned()));
    }
}

impl Recorded {
    pub fn get(&self, stage: Stage) -> &str {
        &self.0.iter().find(|(known, _)| *known == stage).expect("the stage was offered").1
    }
}

/// A kernel. Its functions are text.
#[derive(Clone)]
pub struct KernelSource {
    pub entry: String,
    pub functions: String,
    pub arguments: Vec<Argument>,
    pub launch: LaunchDimensions,
    pub shared_bytes: u32,
    pub origins: Origins,
}

/// Reads the kernels and compiles them.
pub fn compile(kernels: &[KernelSource], target: &Target, stages: &mut dyn Stages) -> Result<Code, LoweringError> {
    fusebox_lowering::compile(&read(kernels)?, target, stages)
}

pub fn read(kernels: &[KernelSource]) -> Result<Vec<fusebox_lowering::KernelSource>, LoweringError> {
    let read = |kernel: &KernelSource| -> Result<fusebox_lowering::KernelSource, LoweringError> {
        Ok(fusebox_lowering::KernelSource {
            entry: kernel.entry.clone(),
            functions: fusebox_lowering::read(&kernel.entry, &kernel.functions)?,
            arguments: kernel.arguments.clone(),
            launch: kernel.launch,
            shared_bytes: kernel.shared_bytes,
            origins: kernel.origins.clone(),
        })
    };
    kernels.iter().map(read).collect()
}

/// Returns a kernel that writes its last `outputs` arguments.
pub fn source(name: &str, functions: &str, sizes: &[u64], outputs: usize, blocks: u64, threads: u32) -> KernelSource {
    let inputs = sizes.len() - outputs;
    let argument = |(position, &bytes): (usize, &u64)| Argument {
        bytes,
        alignment: 64,
        read_only: position < inputs,
        no_alias: true,
    };
    KernelSource {
        entry: name.into(),
        functions: functions.into(),
        arguments: sizes.iter().enumerate().map(argument).collect(),
        launch: LaunchDimensions { blocks, threads_per_block: threads },
        shared_bytes: 48 << 10,
        origins: Origins::default(),
    }
}

pub fn stages_of(kernel: &KernelSource, target: &Target) -> Result<(Code, Recorded), LoweringError> {
    let mut stages = Recorded::default();
    let code = compile(std::slice::from_ref(kernel), target, &mut stages)?;
    Ok((code, stages))
}

/// Checks that `text` contains `parts` in this order.
#[track_caller]
pub fn contains_in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => panic!("no `{part}` (in this order) in:\n{text}"),
        }
    }
}

pub fn object(code: Code) -> Vec<u8> {
    match code {
        Code::Object { bytes, .. } => bytes,
        other => panic!("not an object: {other:?}"),
    }
}

/// Calls the kernel of an object file for the blocks `first..end`.
pub fn run(object: &[u8], name: &str, buffers: &mut [Buffer], first: i64, end: i64) {
    // SAFETY: the object was compiled for this machine. The buffers have the size and alignment
    // that the kernel's arguments declare.
    unsafe {
        let mut jit = ptr::null_mut();
        check(LLVMOrcCreateLLJIT(&mut jit, LLVMOrcCreateLLJITBuilder()));
        let library = LLVMOrcLLJITGetMainJITDylib(jit);
        let mut generator = ptr::null_mut();
        let prefix = LLVMOrcLLJITGetGlobalPrefix(jit);
        let own = LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(&mut generator, prefix, None, ptr::null_mut());
        check(own);
        LLVMOrcJITDylibAddGenerator(library, generator);
        let symbol = |name: &CStr, function: *const ()| {
            let exported = LLVMJITSymbolGenericFlags::LLVMJITSymbolGenericFlagsExported as u8;
            let flags = LLVMJITSymbolFlags { GenericFlags: exported, TargetFlags: 0 };
            LLVMOrcCSymbolMapPair {
                Name: LLVMOrcLLJITMangleAndIntern(jit, name.as_ptr()),
                Sym: LLVMJITEvaluatedSymbol { Address: function as usize as u64, Flags: flags },
            }
        };
        let mut symbols = [
            symbol(c"fusebox_simt_access", record_access as *const ()),
            symbol(c"fusebox_simt_index", refuse_index as *const ()),
            symbol(c"fusebox_simt_turn", ignore_turn as *const ()),
        ];
        check(LLVMOrcJITDylibDefine(library, LLVMOrcAbsoluteSymbols(symbols.as_mut_ptr(), symbols.len())));
        let buffer =
            LLVMCreateMemoryBufferWithMemoryRangeCopy(object.as_ptr().cast(), object.len(), c"object".as_ptr());
        check(LLVMOrcLLJITAddObjectFile(jit, library, buffer));
        let mut address = 0;
        let name = CString::new(name).unwrap();
        check(LLVMOrcLLJITLookup(jit, &mut address, name.as_ptr()));
        let kernel: Kernel = std::mem::transmute(address as usize);
        let pointers: Vec<*mut c_void> = buffers.iter_mut().map(|buffer| buffer.lines.as_mut_ptr().cast()).collect();
        kernel(pointers.as_ptr(), first, end);
        check(LLVMOrcDisposeLLJIT(jit));
    }
}

/// Runs a kernel with the floating-point mode of the runtime. In this mode, the machine flushes
/// subnormal numbers to zero.
#[cfg(target_arch = "x86_64")]
pub fn flushed(call: impl FnOnce()) {
    let mut before = 0u32;
    // SAFETY: the instruction only stores the register in a variable.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut before, options(nostack, preserves_flags)) };
    let during = before | 1 << 15 | 1 << 6;
    // SAFETY: the mode only changes the handling of subnormal numbers, and only until the kernel
    // returns.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const during, options(nostack, preserves_flags)) };
    call();
    // SAFETY: the instruction restores the old value of the register.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const before, options(nostack, preserves_flags)) };
}

#[cfg(not(target_arch = "x86_64"))]
pub fn flushed(call: impl FnOnce()) {
    call();
}

/// Compiles a kernel for this machine and runs all its blocks.
pub fn compile_and_run(kernel: &KernelSource, buffers: &mut [Buffer]) {
    let code = compile(std::slice::from_ref(kernel), &Target::cpu(), &mut fusebox_lowering::NoStages);
    let bytes = object(code.unwrap_or_else(|error| panic!("{error}")));
    run(&bytes, &kernel.entry, buffers, 0, kernel.launch.blocks as i64);
}

/// Runs NVIDIA's assembler on PTX if it is installed. Returns its report.
pub fn assemble(text: &str, capability: u32) -> Option<String> {
    let program = std::env::var_os("FUSEBOX_PTXAS").map_or_else(
        || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/ptxas"),
        std::path::PathBuf::from,
    );
    if !program.exists() {
        eprintln!("skipped: no ptxas at {}", program.display());
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kernel.ptx");
    std::fs::write(&file, text).unwrap();
    let output = std::process::Command::new(program)
        .args(["-v", &format!("-arch=sm_{capability}"), "-o", "/dev/null"])
        .arg(&file)
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{report}\n{text}");
    Some(report)
}
