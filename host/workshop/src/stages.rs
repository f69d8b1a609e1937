//! Executes the kernel of each stage of lowering with the kernel interpreter, to find the first
//! stage after which the kernel's result is wrong.

use std::fmt;
use std::time::Duration;

use fusebox_compiler::{Options, Phase, Selected, compile, dump_of_stage};
use fusebox_core::hlo::{ArrayLiteral, Literal};
use fusebox_interpreter::kernel::{KernelFault, Launch, execute};
use fusebox_lowering::{KernelSource, Stage, read_kernel};

use crate::WorkshopError;
use crate::case::Case;

/// Time limit for the execution of a kernel after one stage.
const LIMIT: Duration = Duration::from_secs(20);

/// A stage, and whether the kernel is right after this stage.
#[derive(Clone, Debug)]
pub struct JudgedStage {
    pub stage: Stage,
    /// Name of the dump file that contains the kernel after this stage.
    pub file: String,
    pub judgement: StageJudgement,
}

/// Whether a kernel computes its fusion's result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StageJudgement {
    Right,
    /// The kernel's result is wrong; with a description of the fault.
    Wrong(String),
    /// The kernel cannot be executed, with the reason.
    Unknown(String),
}

impl fmt::Display for StageJudgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StageJudgement::Right => f.write_str("right"),
            StageJudgement::Wrong(fault) => write!(f, "wrong: {fault}"),
            StageJudgement::Unknown(reason) => write!(f, "not executed: {reason}"),
        }
    }
}

/// A fusion's kernel after each stage.
pub struct KernelStages<'c> {
    case: &'c Case,
    meant: Literal,
    kernel: Selected,
    texts: Vec<(Stage, String)>,
    warp: u32,
}

impl<'c> KernelStages<'c> {
    /// Compiles a fusion and returns the stages of its kernel. Returns `None` if the case is not a
    /// fusion, has several kernels, or is executed by a routine.
    ///
    /// # Errors
    /// If the fusion cannot be compiled or interpreted.
    pub fn of(case: &'c Case, options: &Options) -> Result<Option<KernelStages<'c>>, WorkshopError> {
        if !case.module.bare {
            return Ok(None);
        }
        let stages = Stage::ALL[..=Stage::Scalars as usize].to_vec();
        let mut made = compile(&case.source(), &Options { stages, until: Phase::Code, ..options.clone() })?;
        let (Some(kernel), true) = (made.kernels.pop(), made.kernels.is_empty()) else { return Ok(None) };
        let texts = made.lowered.texts.into_iter().filter(|(stage, _)| *stage <= Stage::Scalars);
        let texts: Vec<(Stage, String)> = texts.filter_map(|(stage, mut texts)| Some((stage, texts.pop()?))).collect();
        let is_compiled = !kernel.is_routine();
        let (meant, warp) = (case.expected_result()?, options.device.warp_size);
        Ok(is_compiled.then_some(KernelStages { case, meant, kernel, texts, warp }))
    }

    /// Returns the kernel's name.
    pub fn kernel(&self) -> &str {
        &self.kernel.unit.fusion.name
    }

    /// Executes the kernel after each stage in order. Stops after the first stage with a wrong
    /// result. Also stops if a stage exceeds the time limit, because later stages would exceed the
    /// limit too.
    ///
    /// # Errors
    /// If the fusion cannot be interpreted.
    pub fn judged(&self) -> Result<Vec<JudgedStage>, WorkshopError> {
        let mut all = Vec::new();
        for (stage, text) in &self.texts {
            let found = self.executed(text, false);
            let is_last = matches!(found, Err(KernelFault::TooLong(_)));
            let judgement = self.judgement(found)?;
            let is_last = is_last || matches!(judgement, StageJudgement::Wrong(_));
            all.push(JudgedStage { stage: *stage, file: dump_of_stage(*stage, self.kernel()), judgement });
            if is_last {
                break;
            }
        }
        Ok(all)
    }

    /// Returns the first stage after which an operation makes a false promise, and a description of
    /// the promise. Checks only the stages from `Indices` on, because promises of earlier stages do
    /// not reach LLVM.
    pub fn broken_promise(&self) -> Option<(Stage, String)> {
        let stages = self.texts.iter().filter(|(stage, _)| *stage >= Stage::Indices);
        let mut broken = stages.filter_map(|(stage, text)| match self.executed(text, true) {
            Err(fault @ KernelFault::Undefined { .. }) => Some((*stage, fault.to_string())),
            _ => None,
        });
        broken.next()
    }

    fn judgement(&self, found: Result<Literal, KernelFault>) -> Result<StageJudgement, WorkshopError> {
        Ok(match found {
            Ok(found) => match self.case.difference_between(&found, &self.meant)? {
                Some(difference) => StageJudgement::Wrong(difference),
                None => StageJudgement::Right,
            },
            Err(fault @ KernelFault::Undefined { .. }) => StageJudgement::Wrong(fault.to_string()),
            Err(fault) => StageJudgement::Unknown(fault.to_string()),
        })
    }

    fn executed(&self, text: &str, keeps_promises: bool) -> Result<Literal, KernelFault> {
        let read = read_kernel(self.kernel(), text, Some(self.kernel()));
        let source = read.map_err(|error| KernelFault::Malformed(error.to_string()))?;
        let buffers = self.buffers(&source);
        let inputs = buffers.len().saturating_sub(self.kernel.plan.outputs.len());
        let (blocks, threads) = (source.launch.blocks, source.launch.threads_per_block);
        let launch = Launch { blocks, threads, warp: self.warp, keeps_promises, limit: LIMIT };
        let after = execute(&source.functions, &source.entry, buffers, &launch)?;
        Ok(with_leaves(&self.meant, &mut after.into_iter().skip(inputs)))
    }

    /// Returns the bytes of the parameters, followed by the initial bytes of the outputs.
    fn buffers(&self, source: &KernelSource) -> Vec<Vec<u8>> {
        let data = |input: &Literal| input.as_array().map(|array| array.data.to_vec()).unwrap_or_default();
        let mut buffers: Vec<Vec<u8>> = self.case.inputs.iter().map(data).collect();
        let sizes = source.arguments.iter().skip(buffers.len()).map(|argument| argument.bytes as usize);
        let outputs = self.kernel.plan.outputs.iter().zip(sizes);
        let outputs = outputs.map(|(output, bytes)| match output.initial {
            Some(parameter) => self.case.inputs.get(parameter as usize).map(data).unwrap_or_default(),
            None => vec![0; bytes],
        });
        let outputs: Vec<Vec<u8>> = outputs.collect();
        buffers.extend(outputs);
        buffers
    }
}

/// Returns a value of the same shape as `like`. `leaves` contains the bytes of each array.
fn with_leaves(like: &Literal, leaves: &mut dyn Iterator<Item = Vec<u8>>) -> Literal {
    match like {
        Literal::Tuple(elements) => {
            Literal::Tuple(elements.iter().map(|element| with_leaves(element, leaves)).collect())
        }
        Literal::Array(array) => {
            Literal::Array(ArrayLiteral { data: leaves.next().unwrap_or_default().into(), ..array.clone() })
        }
        Literal::Token => Literal::Token,
    }
}
