//! The verdict of a bisection, as data and in words.

use std::path::PathBuf;

use serde::Serialize;

/// The part of fusebox that is at fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "at_fault", rename_all = "kebab-case")]
pub enum Suspect {
    /// No part of fusebox is at fault: the program's result is right.
    Nothing,
    /// The meaning of the module is at fault: the interpreter's result differs from the reference.
    Meaning,
    /// An HLO pass.
    Pass { name: String },
    /// Fusion, which chooses the instructions of each kernel.
    Fusion {
        /// The first instruction whose value changes.
        instruction: Option<String>,
    },
    /// The emitter of a fusion: other emitters build right kernels for the same fusion.
    Emitter {
        fusion: String,
        emitter: String,
        right: Vec<String>,
        /// Other emitters whose kernels are wrong too.
        wrong: Vec<String>,
        /// Reason why the stages of the kernel cannot be executed. `None` if the stages can be
        /// executed; then the kernel is wrong before the first stage.
        unknown: Option<String>,
    },
    /// The kernel of a fusion, if no emitter builds a right kernel for this fusion.
    Kernel {
        fusion: String,
        emitter: String,
        /// Other emitters whose kernels are wrong too.
        wrong: Vec<String>,
        /// Reason why the stages of the kernel cannot be executed. `None` if the stages can be
        /// executed; then the kernel is wrong before the first stage.
        unknown: Option<String>,
    },
    /// A stage of lowering: the kernel is right before the stage and wrong after it.
    Stage {
        fusion: String,
        emitter: String,
        stage: String,
        /// The last stage after which the kernel is right.
        before: String,
        /// Description of the kernel's fault after the stage.
        fault: String,
    },
    /// A stage of lowering that makes a false promise to LLVM. The kernel itself is right.
    Promise { fusion: String, emitter: String, stage: String, promise: String },
    /// The translation to LLVM IR, or LLVM's code generation: the kernel is right after the last
    /// stage of lowering.
    Code { fusion: String, emitter: String },
    /// LLVM's passes over a kernel.
    Optimisation { fusion: String, emitter: String },
    /// A step of the program that is not a kernel.
    Thunk { instruction: String, opcode: String },
    /// The assignment of buffers or the order of steps is at fault: the kernel's result is right in
    /// isolation.
    Buffers { fusion: String },
    /// No single step is at fault: the result of each step is right in isolation.
    Together,
}

/// The result of a bisection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BisectionVerdict {
    #[serde(flatten)]
    pub suspect: Suspect,
    /// The first difference between the result and the right result.
    pub difference: String,
    /// Number of instructions of the case before shrinking.
    pub instructions_before: Option<usize>,
    /// Number of instructions of the smallest case whose result is still wrong.
    pub instructions_after: Option<usize>,
    /// If a stage of lowering is at fault: two files, with the kernel before the stage and after
    /// it.
    pub kernel_ir: Vec<PathBuf>,
    /// The fault that the simulator finds in the wrong kernel.
    pub simulated: Option<String>,
    /// The folder that reproduces the fault.
    pub repro: Option<PathBuf>,
}

impl BisectionVerdict {
    pub(super) fn of(suspect: Suspect, difference: String) -> BisectionVerdict {
        let (instructions_before, instructions_after, simulated, repro) = (None, None, None, None);
        let kernel_ir = Vec::new();
        BisectionVerdict { suspect, difference, instructions_before, instructions_after, kernel_ir, simulated, repro }
    }

    /// Describes in words which part is at fault, the evidence for this, and where to search
    /// further.
    pub fn words(&self) -> String {
        let mut words = self.suspect.words();
        if !self.difference.is_empty() {
            words += &format!("\nFirst difference: {}.", self.difference);
        }
        if let Some(fault) = &self.simulated {
            words += &format!("\nOn the simulator: {fault}");
        }
        if let (Some(before), Some(after)) = (self.instructions_before, self.instructions_after) {
            words += &format!("\n{after} of {before} instructions suffice to reproduce it.");
        }
        if let [before, after] = &self.kernel_ir[..] {
            words += &format!("\nThe kernel before the stage: {}; after it: {}", before.display(), after.display());
        }
        if let Some(folder) = &self.repro {
            words += &format!("\nTo reproduce it: sh {}/check.sh", folder.display());
        }
        words
    }
}

impl Suspect {
    fn words(&self) -> String {
        match self {
            Suspect::Nothing => "Nothing is wrong: the compiled program gives what the reference gives.".into(),
            Suspect::Meaning => {
                "The interpreter, which compiles nothing, already disagrees with the reference: the module is \
                read wrongly, the interpreter is wrong, or the reference is of other inputs."
                    .into()
            }
            Suspect::Pass { name } => format!(
                "Pass `{name}` is at fault: it changes the meaning of the module. The interpreter shows this; nothing \
                 was compiled."
            ),
            Suspect::Fusion { instruction } => {
                let of = instruction.as_ref().map_or_else(String::new, |name| format!(" of `{name}`"));
                format!(
                    "The fusion{of} is at fault: the interpreter gets another result from the module with fusions than \
                     from the module without."
                )
            }
            Suspect::Emitter { fusion, emitter, right, wrong, unknown } => format!(
                "Emitter {emitter} is at fault: its kernel of fusion `{fusion}` is wrong {}, and that of {} is right.{}",
                before_lowering(unknown.as_deref()),
                right.join(", "),
                also(wrong)
            ),
            Suspect::Kernel { fusion, emitter, wrong, unknown } => format!(
                "The kernel of fusion `{fusion}` by emitter {emitter} is wrong {}, and no emitter has a right one: {} \
                 is at fault.{}",
                before_lowering(unknown.as_deref()),
                if unknown.is_some() { "the emitter, emission or lowering" } else { "the emitter or emission" },
                also(wrong)
            ),
            Suspect::Stage { fusion, emitter, stage, before, fault } => format!(
                "Stage `{stage}` of lowering is at fault: the kernel of fusion `{fusion}` by emitter {emitter} is \
                 right after `{before}` and wrong after it ({fault}). The interpreter of kernels shows this; no code \
                 was generated."
            ),
            Suspect::Promise { fusion, emitter, stage, promise } => format!(
                "Stage `{stage}` of lowering is at fault: it makes LLVM a false promise about the kernel of fusion \
                 `{fusion}` by emitter {emitter} ({promise}), and LLVM's passes, which rely on it, make the kernel \
                 wrong."
            ),
            Suspect::Code { fusion, emitter } => format!(
                "The LLVM IR of the kernel of fusion `{fusion}` by emitter {emitter} is at fault, or the code that \
                 LLVM generates from it: the kernel is right after the last stage of lowering, and wrong when it runs, \
                 also without LLVM's passes."
            ),
            Suspect::Optimisation { fusion, emitter } => format!(
                "LLVM's passes make the kernel of fusion `{fusion}` by emitter {emitter} wrong: without them it is \
                 right. Either they are at fault, or lowering's promises about aliases are false; its other promises \
                 hold."
            ),
            Suspect::Thunk { instruction, opcode } => format!(
                "Instruction `{instruction}` ({opcode}), which no kernel executes, is wrong: its routine is at fault, or the \
                 buffers it reads and writes."
            ),
            Suspect::Buffers { fusion } => format!(
                "Fusion `{fusion}` is right alone and wrong in the program: the buffers it reads and writes are at fault, or \
                 the order of steps."
            ),
            Suspect::Together => {
                "Every step is right alone when its result is kept, but the program is wrong: the cause is a buffer \
                 that is reused too early, the order of steps, or rounding that adds up over many steps."
                    .into()
            }
        }
    }
}

fn before_lowering(unknown: Option<&str>) -> String {
    match unknown {
        Some(reason) => format!("also without LLVM's passes (the stage at fault is unknown: {reason})"),
        None => "before any stage of lowering".into(),
    }
}

fn also(wrong: &[String]) -> String {
    if wrong.is_empty() { String::new() } else { format!(" The kernels of {} are wrong too.", wrong.join(", ")) }
}
