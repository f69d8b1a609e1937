//! The verdict of a bisection, as data and in words.

use std::path::PathBuf;

use serde::Serialize;

/// The part of fusebox that is at fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "at_fault", rename_all = "kebab-case")]
pub enum Suspect {
    /// None: the program is right.
    Nothing,
    /// The interpreter itself disagrees with the reference.
    Meaning,
    /// An HLO pass.
    Pass { name: String },
    /// The choice of instructions in one fusion.
    Fusion {
        /// The first instruction whose value changes.
        instruction: Option<String>,
    },
    /// The emitter of a fusion: others build a right kernel of it.
    Emitter {
        fusion: String,
        emitter: String,
        right: Vec<String>,
        /// Other emitters whose kernels are wrong too.
        wrong: Vec<String>,
        /// Why the stages of the kernel cannot be executed; `None`: the kernel is wrong before the
        /// first stage.
        unknown: Option<String>,
    },
    /// The kernel of a fusion for which no emitter builds a right kernel.
    Kernel {
        fusion: String,
        emitter: String,
        /// Other emitters whose kernels are wrong too.
        wrong: Vec<String>,
        /// As in `Emitter`.
        unknown: Option<String>,
    },
    /// A stage of lowering: the kernel is right before it and wrong after it.
    Stage {
        fusion: String,
        emitter: String,
        stage: String,
        /// The last stage after which the kernel is right.
        before: String,
        /// How the kernel is wrong after the stage.
        fault: String,
    },
    /// A stage that makes LLVM a false promise about a right kernel.
    Promise { fusion: String, emitter: String, stage: String, promise: String },
    /// The translation of the last stage, which is right, to LLVM IR, or LLVM's code generation.
    Code { fusion: String, emitter: String },
    /// LLVM's passes over a kernel.
    Optimisation { fusion: String, emitter: String },
    /// A step of the program that is no kernel.
    Thunk { instruction: String, opcode: String },
    /// The buffers or the order of steps: the kernel is right in isolation.
    Buffers { fusion: String },
    /// No single step: each is right in isolation.
    Together,
}

/// The result of a bisection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    #[serde(flatten)]
    pub suspect: Suspect,
    /// The first difference in the result.
    pub difference: String,
    /// Number of instructions of the case before shrinking.
    pub instructions_before: Option<usize>,
    /// Number of instructions of the smallest case that still goes wrong.
    pub instructions_after: Option<usize>,
    /// If a stage of lowering is at fault, the files with the kernel before and after it.
    pub kernel_ir: Vec<PathBuf>,
    /// The fault that the simulator finds in the wrong kernel.
    pub simulated: Option<String>,
    /// The folder that reproduces the fault.
    pub repro: Option<PathBuf>,
}

impl Verdict {
    pub(super) fn of(suspect: Suspect, difference: String) -> Verdict {
        let (instructions_before, instructions_after, simulated, repro) = (None, None, None, None);
        let kernel_ir = Vec::new();
        Verdict { suspect, difference, instructions_before, instructions_after, kernel_ir, simulated, repro }
    }

    /// Describes for people what is at fault, how that is known, and where to look.
    pub fn words(&self) -> String {
        let mut words = self.suspect.words();
        if !self.difference.is_empty() {
            words += &format!("\nWhere it goes wrong first: {}.", self.difference);
        }
        if let Some(fault) = &self.simulated {
            words += &format!("\nOn the simulator: {fault}");
        }
        if let (Some(before), Some(after)) = (self.instructions_before, self.instructions_after) {
            words += &format!("\nOf {before} instructions {after} suffice to see it.");
        }
        if let [before, after] = &self.kernel_ir[..] {
            words += &format!("\nThe kernel before the stage: {}; after it: {}", before.display(), after.display());
        }
        if let Some(folder) = &self.repro {
            words += &format!("\nTo see it again: sh {}/check.sh", folder.display());
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
                "Pass `{name}` is at fault: before it the module means what it should, after it something else. It is the \
                 interpreter that says so; nothing was compiled for that."
            ),
            Suspect::Fusion { instruction } => {
                let of = instruction.as_ref().map_or_else(String::new, |name| format!(" of `{name}`"));
                format!(
                    "The fusion{of} is at fault: the interpreter gets something else from the module with fusions than from \
                     the same one without."
                )
            }
            Suspect::Emitter { fusion, emitter, right, wrong, unknown } => format!(
                "Emitter {emitter} is at fault: its kernel of fusion `{fusion}` is wrong {}, and that of {} is right.{}",
                before_lowering(unknown.as_deref()),
                right.join(", "),
                also(wrong)
            ),
            Suspect::Kernel { fusion, emitter, wrong, unknown } => format!(
                "The kernel of fusion `{fusion}` by emitter {emitter} is wrong {}, and nobody makes a right one: {} is at \
                 fault.{}",
                before_lowering(unknown.as_deref()),
                if unknown.is_some() { "the emitter, emission or lowering" } else { "the emitter or emission" },
                also(wrong)
            ),
            Suspect::Stage { fusion, emitter, stage, before, fault } => format!(
                "Stage `{stage}` of lowering is at fault: the kernel of fusion `{fusion}` by emitter {emitter} is right after \
                 `{before}` and wrong after it ({fault}). It is the interpreter of kernels that says so; no code was made for \
                 that."
            ),
            Suspect::Promise { fusion, emitter, stage, promise } => format!(
                "Stage `{stage}` of lowering is at fault: it promises LLVM of the kernel of fusion `{fusion}` by emitter \
                 {emitter} what does not hold ({promise}), and LLVM's passes, which build on it, make the kernel wrong."
            ),
            Suspect::Code { fusion, emitter } => format!(
                "What is written as LLVM IR of the kernel of fusion `{fusion}` by emitter {emitter} is at fault, or the code \
                 that LLVM makes of it: the kernel is right after the last stage of lowering, and wrong when it runs, also \
                 without LLVM's passes."
            ),
            Suspect::Optimisation { fusion, emitter } => format!(
                "LLVM's passes make the kernel of fusion `{fusion}` by emitter {emitter} wrong: without them it is right. \
                 Either they are at fault, or what lowering promises them of aliases does not hold: its other promises do."
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
                "Every step is right by itself when its result is kept, and the program is wrong: buffers \
                that are used again too early, the order of steps, or rounding that adds up over many steps."
                    .into()
            }
        }
    }
}

fn before_lowering(unknown: Option<&str>) -> String {
    match unknown {
        Some(reason) => format!("also without LLVM's passes (which stage makes it wrong is not told: {reason})"),
        None => "before any stage of lowering".into(),
    }
}

fn also(wrong: &[String]) -> String {
    if wrong.is_empty() { String::new() } else { format!(" So are those of {}.", wrong.join(", ")) }
}
