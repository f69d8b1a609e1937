//! What was found, as data and in words.

use std::path::PathBuf;

use serde::Serialize;

/// Who is at fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "at_fault", rename_all = "kebab-case")]
pub enum Suspect {
    /// Nobody: the program is right.
    Nothing,
    /// The interpreter itself disagrees with the reference.
    Meaning,
    /// A pass over HLO.
    Pass { name: String },
    /// What was put into one fusion.
    Fusion {
        /// The first instruction whose value is another then.
        instruction: Option<String>,
    },
    /// The emitter of a fusion: others make a right kernel of it.
    Emitter {
        fusion: String,
        emitter: String,
        right: Vec<String>,
        /// Others whose kernels are wrong too.
        wrong: Vec<String>,
    },
    /// The kernel of a fusion, of which no emitter makes a right one.
    Kernel {
        fusion: String,
        emitter: String,
        /// Others whose kernels are wrong too.
        wrong: Vec<String>,
    },
    /// LLVM's passes over a kernel.
    Optimisation { fusion: String, emitter: String },
    /// A step of the program that is no kernel.
    Thunk { instruction: String, opcode: String },
    /// Where a kernel that is right alone reads and writes.
    Buffers { fusion: String },
    /// No step alone.
    Together,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    #[serde(flatten)]
    pub suspect: Suspect,
    /// Where its result differs first.
    pub difference: String,
    /// Instructions of what goes wrong, as it was found.
    pub instructions_before: Option<usize>,
    /// Instructions of the smallest that still goes wrong.
    pub instructions_after: Option<usize>,
    /// The folder that reproduces it.
    pub repro: Option<PathBuf>,
}

impl Verdict {
    pub(super) fn of(suspect: Suspect, difference: String) -> Verdict {
        Verdict { suspect, difference, instructions_before: None, instructions_after: None, repro: None }
    }

    /// For people: who is at fault, how that is known, and where to look.
    pub fn words(&self) -> String {
        let mut words = self.suspect.words();
        if !self.difference.is_empty() {
            words += &format!("\nWhere it goes wrong first: {}.", self.difference);
        }
        if let (Some(before), Some(after)) = (self.instructions_before, self.instructions_after) {
            words += &format!("\nOf {before} instructions {after} suffice to see it.");
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
            Suspect::Emitter { fusion, emitter, right, wrong } => format!(
                "Emitter {emitter} is at fault: its kernel of fusion `{fusion}` is wrong, also without LLVM's passes, and \
                 that of {} is right.{}",
                right.join(", "),
                also(wrong)
            ),
            Suspect::Kernel { fusion, emitter, wrong } => format!(
                "The kernel of fusion `{fusion}` by emitter {emitter} is wrong, also without LLVM's passes, and nobody makes \
                 a right one: the emitter, emission or lowering is at fault.{}",
                also(wrong)
            ),
            Suspect::Optimisation { fusion, emitter } => format!(
                "LLVM's passes make the kernel of fusion `{fusion}` by emitter {emitter} wrong: without them it is right. \
                 Either they are at fault, or what lowering promises them (aliases, alignment, no overflow) does not hold."
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

fn also(wrong: &[String]) -> String {
    if wrong.is_empty() { String::new() } else { format!(" So are those of {}.", wrong.join(", ")) }
}
