//! Optimises LLVM modules and generates code for a target machine.

use std::ffi::{CStr, c_char};
use std::sync::{Once, OnceLock};

use fusebox_core::device::instructions;
use llvm_sys::core::*;
use llvm_sys::error::{LLVMConsumeError, LLVMDisposeErrorMessage, LLVMErrorRef, LLVMGetErrorMessage};
use llvm_sys::target::*;
use llvm_sys::target_machine::*;
use llvm_sys::transforms::pass_builder::*;

use super::module::{c_string, message};
use super::{Module, Val};
use crate::targets::Backend;

/// Generates code for one target.
pub(crate) struct Machine {
    raw: LLVMTargetMachineRef,
    triple: String,
    /// The processor for which LLVM tunes the code. `None` if LLVM tunes the code for the processor
    /// for which it generates the code.
    tuned_for: Option<&'static str>,
    /// Whether the target treats subnormal numbers as zeros.
    flushes: bool,
}

/// Format of the generated code.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    Object,
    Assembly,
}

impl Machine {
    pub(crate) fn new(backend: &Backend, flushes: bool) -> Result<Machine, String> {
        (backend.initialize)();
        let (triple, processor, features, tuned_for) = match backend.triple {
            None => {
                let Host { triple, base, processor, .. } = host();
                (triple.clone(), base.clone(), host_features(backend.without), Some(processor.as_str()))
            }
            Some(triple) => (triple.to_owned(), backend.processor.clone(), backend.features.clone(), None),
        };
        let mut found = std::ptr::null_mut();
        let mut error = std::ptr::null_mut();
        // SAFETY: strings are zero-terminated and live through the calls; the machine is checked
        // before use.
        let raw = unsafe {
            if LLVMGetTargetFromTriple(c_string(&triple).as_ptr(), &mut found, &mut error) != 0 {
                return Err(message(error));
            }
            LLVMCreateTargetMachine(
                found,
                c_string(&triple).as_ptr(),
                c_string(&processor).as_ptr(),
                c_string(&features).as_ptr(),
                LLVMCodeGenOptLevel::LLVMCodeGenLevelDefault,
                LLVMRelocMode::LLVMRelocPIC,
                LLVMCodeModel::LLVMCodeModelDefault,
            )
        };
        if raw.is_null() {
            Err("LLVM has no machine for it".into())
        } else {
            Ok(Machine { raw, triple, tuned_for, flushes })
        }
    }

    /// Sets the module's triple and data layout. This call must precede the module's first
    /// instruction.
    pub(crate) fn prepare(&self, module: &Module) {
        // SAFETY: the machine and the module are alive; LLVM copies the layout before it is
        // disposed of.
        unsafe {
            LLVMSetTarget(module.module, c_string(&self.triple).as_ptr());
            let layout = LLVMCreateTargetDataLayout(self.raw);
            LLVMSetModuleDataLayout(module.module, layout);
            LLVMDisposeTargetData(layout);
        }
    }

    /// Runs a pass pipeline in LLVM's notation over a module.
    pub(crate) fn optimize(&self, module: &Module, passes: &str) -> Result<(), String> {
        module.functions().for_each(|function| self.describe(module, function));
        // SAFETY: the module, the machine and the options are alive during the call.
        run_passes(passes, |passes, options| unsafe { LLVMRunPasses(module.module, passes, self.raw, options) })
    }

    /// Runs a pass pipeline in LLVM's notation over one function.
    pub(crate) fn optimize_function(&self, module: &Module, function: Val, passes: &str) -> Result<(), String> {
        self.describe(module, function);
        // SAFETY: the module, the machine and the options are alive during the call.
        run_passes(passes, |passes, options| unsafe { LLVMRunPassesOnFunction(function.0, passes, self.raw, options) })
    }

    /// Sets at most two attributes of a function. One names the processor to tune for, and the
    /// other states that subnormal numbers count as zeros. Without the attribute for subnormal
    /// numbers, LLVM would turn comparisons with zero into comparisons of bits.
    fn describe(&self, module: &Module, function: Val) {
        if let Some(processor) = self.tuned_for {
            module.add_string_attribute(function, "tune-cpu", processor);
        }
        if self.flushes {
            module.add_string_attribute(function, "denormal-fp-math", "preserve-sign,preserve-sign");
        }
    }

    pub(crate) fn emit(&self, module: &Module, kind: FileKind) -> Result<Vec<u8>, String> {
        let kind = match kind {
            FileKind::Object => LLVMCodeGenFileType::LLVMObjectFile,
            FileKind::Assembly => LLVMCodeGenFileType::LLVMAssemblyFile,
        };
        let mut error: *mut c_char = std::ptr::null_mut();
        let mut buffer = std::ptr::null_mut();
        // SAFETY: on success this function owns the buffer, copies its bytes and disposes of it.
        unsafe {
            if LLVMTargetMachineEmitToMemoryBuffer(self.raw, module.module, kind, &mut error, &mut buffer) != 0 {
                return Err(message(error));
            }
            let start = LLVMGetBufferStart(buffer).cast::<u8>();
            let bytes = std::slice::from_raw_parts(start, LLVMGetBufferSize(buffer)).to_vec();
            LLVMDisposeMemoryBuffer(buffer);
            module.sound().map(|()| bytes)
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // SAFETY: the machine is created once and disposed of once.
        unsafe { LLVMDisposeTargetMachine(self.raw) }
    }
}

/// Runs passes with the options common to all pipelines. Returns LLVM's message as the error.
fn run_passes(
    passes: &str,
    run: impl FnOnce(*const c_char, LLVMPassBuilderOptionsRef) -> LLVMErrorRef,
) -> Result<(), String> {
    // SAFETY: options are disposed of; an error is turned into its message, which frees it.
    unsafe {
        let options = LLVMCreatePassBuilderOptions();
        // Loops are unrolled only where a pipeline names the pass. Unrolling longer loops produces
        // much code, which takes long to compile and runs no faster, because the vectoriser
        // interleaves anyway.
        LLVMPassBuilderOptionsSetLoopUnrolling(options, 0);
        let error = run(c_string(passes).as_ptr(), options);
        LLVMDisposePassBuilderOptions(options);
        if error.is_null() {
            return Ok(());
        }
        let text = LLVMGetErrorMessage(error);
        if text.is_null() {
            LLVMConsumeError(error);
            return Err("unknown error".into());
        }
        let result = CStr::from_ptr(text).to_string_lossy().into_owned();
        LLVMDisposeErrorMessage(text);
        Err(result)
    }
}

/// Description of this machine in LLVM's notation.
struct Host {
    triple: String,
    /// The processor to generate code for. On x86-64, this is the baseline that every x86-64
    /// processor supports.
    base: String,
    /// Features of this machine beyond `base`.
    features: String,
    /// The processor to tune for. The name of this processor affects only LLVM's cost estimates and
    /// scheduling. The processor's name does not select instructions, because a virtual machine may
    /// lack instructions that the name implies.
    processor: String,
}

/// Returns the description of this machine. The first call queries LLVM, and later calls return the
/// stored description, because each query of a feature is a call to the hypervisor.
fn host() -> &'static Host {
    static HOST: OnceLock<Host> = OnceLock::new();
    HOST.get_or_init(|| {
        // SAFETY: all three functions return zero-terminated strings, which `message` frees.
        let (triple, processor, features) = unsafe {
            (message(LLVMGetDefaultTargetTriple()), message(LLVMGetHostCPUName()), message(LLVMGetHostCPUFeatures()))
        };
        if cfg!(target_arch = "x86_64") {
            // The list names only features that are present, because LLVM spends time on each
            // entry. Absent features need no entry, because `base` does not imply them.
            let present: Vec<&str> = features.split(',').filter(|feature| is_for_code(feature)).collect();
            Host {
                triple,
                base: "x86-64".into(),
                features: with_fast_reads(with_full_vectors(present.join(",")), &processor),
                processor,
            }
        } else {
            Host { triple, base: processor.clone(), features, processor }
        }
    })
}

/// Whether the compiler may use a feature of this machine. Executables record the instruction sets
/// that they need, and the runtime checks that the processor has these sets. So the compiler uses a
/// feature only if the runtime can check it. The compiler may use tile registers without this
/// check, because LLVM uses tile registers only where a kernel requests them.
fn is_for_code(feature: &str) -> bool {
    feature.strip_prefix('+').is_some_and(|name| instructions::has(name) || name.starts_with("amx-"))
}

/// Enables vectors as wide as the registers. On all of Intel's processors LLVM prefers vectors of
/// 256 bits to vectors of 512 bits, because the first processors with vectors of 512 bits lowered
/// their clock for these vectors. Intel's processors from Ice Lake on do not lower their clock for
/// vectors of 512 bits; the feature VBMI2 identifies these processors. On processors with VBMI2, a
/// compute-bound kernel takes a quarter to a third less time with vectors of 512 bits than with
/// vectors of 256 bits.
fn with_full_vectors(features: String) -> String {
    let later = features.split(',').any(|feature| feature == "+avx512vbmi2");
    if later { features + ",-prefer-256-bit" } else { features }
}

/// Intel's processors on which gathers are slow, in LLVM's notation. On these processors, a
/// speculatively executed gather could reveal data of other programs (Gather Data Sampling, Intel's
/// advisory INTEL-SA-00828). Microcode prevents this and makes gathers slow.
const SLOW_GATHERS: [&str; 9] = [
    "skylake",
    "skylake-avx512",
    "cascadelake",
    "cooperlake",
    "cannonlake",
    "icelake-client",
    "icelake-server",
    "tigerlake",
    "rocketlake",
];

/// Disables gathers where loads and inserts of single elements are faster. AMD's processors split a
/// gather or scatter into many operations: on Zen 4, reading a column of an array whose rows have
/// ten elements takes four times as long with gathers as with loads of single elements. On Intel's
/// Cascade Lake, finding the position of the largest of ten adjacent f64 takes 4.5 times as long
/// with gathers as with loads of single elements.
fn with_fast_reads(features: String, processor: &str) -> String {
    if processor.starts_with("znver") {
        features + ",+prefer-no-gather,+prefer-no-scatter"
    } else if SLOW_GATHERS.contains(&processor) {
        features + ",+prefer-no-gather"
    } else {
        features
    }
}

/// Returns the features of this machine in LLVM's notation. Omits each feature whose name begins
/// with one of the strings in `without`.
fn host_features(without: &[&str]) -> String {
    let is_left = |feature: &&str| !without.iter().any(|name| feature[1..].starts_with(name));
    host().features.split_terminator(',').filter(is_left).collect::<Vec<_>>().join(",")
}

/// Returns a text with all properties of this machine that generated code depends on. Omits each
/// feature whose name begins with one of the strings in `without`.
pub(crate) fn host_identity(without: &[&str]) -> String {
    let Host { triple, base, processor, .. } = host();
    format!("{triple} {base} {} {processor}", host_features(without))
}

/// Returns LLVM's version.
pub(crate) fn version() -> String {
    let [mut major, mut minor, mut patch] = [0; 3];
    // SAFETY: the three pointers are valid for writes.
    unsafe { LLVMGetVersion(&mut major, &mut minor, &mut patch) };
    format!("{major}.{minor}.{patch}")
}

/// Returns the instruction sets that code for this machine may use by default. Omits each
/// instruction set whose name begins with one of the strings in `without`.
pub(crate) fn host_instruction_sets(without: &[&str]) -> Vec<&'static str> {
    let features = host_features(without);
    let used: Vec<&str> = features.split(',').filter_map(|feature| feature.strip_prefix('+')).collect();
    instructions::present().filter(|name| used.contains(name)).collect()
}

/// Whether code for this machine may use a feature. `feature` is LLVM's name of the feature.
pub(crate) fn host_has(feature: &str) -> bool {
    host().features.split(',').any(|known| known.strip_prefix('+') == Some(feature))
}

pub(crate) fn initialize_host() {
    static ONCE: Once = Once::new();
    // SAFETY: initialisation is done once; all functions are LLVM's own.
    ONCE.call_once(|| unsafe {
        LLVM_InitializeNativeTarget();
        LLVM_InitializeNativeAsmPrinter();
    });
}

/// Turns off the vectorisation of straight-line code (SLP). SLP vectorises little on GPUs, and its
/// time grows with the square of an expression's depth. In LLVM 22, the option for SLP in the
/// settings of a pass pipeline has no effect.
pub(crate) fn disable_straight_line_vectorizer() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| set_option(c"-vectorize-slp=false"));
}

/// Turns off loop strength reduction for all targets of the process, because LLVM has only a global
/// switch for this pass. Loop strength reduction takes a sixth of the time of code generation, and
/// two thirds of this time for a loop that reads at many addresses. The addressing modes of x86
/// make most of the pass's work unnecessary.
pub(crate) fn disable_strength_reduction() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| set_option(c"-disable-lsr"));
}

/// Sets an LLVM option for the whole process. Each option may be set only once.
fn set_option(option: &CStr) {
    let arguments = [c"fusebox".as_ptr(), option.as_ptr()];
    // SAFETY: the arguments are two zero-terminated strings that outlive the call.
    unsafe { llvm_sys::support::LLVMParseCommandLineOptions(2, arguments.as_ptr(), std::ptr::null()) };
}

/// Expands to a closure that registers a GPU's back end by calling these LLVM functions once.
macro_rules! backend {
    ($($initialize:ident),+) => {
        || {
            static ONCE: std::sync::Once = std::sync::Once::new();
            $crate::llvm::disable_straight_line_vectorizer();
            // SAFETY: initialisation is done once; all functions are LLVM's own.
            ONCE.call_once(|| unsafe { $(llvm_sys::target::$initialize();)+ });
        }
    };
}
pub(crate) use backend;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_with_slow_gathers_load_single_elements() {
        let features = |processor| with_fast_reads("+avx2".into(), processor);
        assert_eq!(features("cascadelake"), "+avx2,+prefer-no-gather");
        assert_eq!(features("znver3"), "+avx2,+prefer-no-gather,+prefer-no-scatter");
        assert_eq!(features("sapphirerapids"), "+avx2");
    }

    /// Checks that executables name every instruction set that LLVM may use, except for tile
    /// registers, which LLVM uses only where a kernel requests them. A feature that begins with
    /// `prefer-` is not an instruction set.
    #[test]
    fn code_is_compiled_for_no_feature_that_an_executable_would_not_name() {
        let named = host_instruction_sets(&[]);
        for feature in host().features.split(',').filter_map(|feature| feature.strip_prefix('+')) {
            let is_choice = feature.starts_with("amx-") || feature.starts_with("prefer-");
            assert!(named.contains(&feature) || is_choice, "{feature}");
        }
    }
}
