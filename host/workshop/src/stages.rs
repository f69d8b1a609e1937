//! A kernel in every stage of lowering, each executed by the interpreter of kernels: which of them still means what the fusion
//! means.

use std::fmt;
use std::time::Duration;

use fusebox_compiler::{Options, Phase, Selected, compile, dump_of_stage};
use fusebox_core::hlo::{ArrayLiteral, Literal};
use fusebox_interpreter::kernel::{KernelFault, Launch, execute};
use fusebox_lowering::{KernelSource, Stage, read_kernel};

use crate::WorkshopError;
use crate::case::Case;

/// The longest that one stage is executed.
const LIMIT: Duration = Duration::from_secs(20);

/// What became of a kernel by one stage.
#[derive(Clone, Debug)]
pub struct Judged {
    pub stage: Stage,
    /// Name of the dump that has it.
    pub file: String,
    pub judgement: Judgement,
}

/// Whether a kernel means what its fusion means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    Right,
    /// In words, what it does instead.
    Wrong(String),
    /// In words, why nobody can say.
    Unknown(String),
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Judgement::Right => f.write_str("right"),
            Judgement::Wrong(fault) => write!(f, "wrong: {fault}"),
            Judgement::Unknown(reason) => write!(f, "not executed: {reason}"),
        }
    }
}

/// A fusion's kernel, stage by stage.
pub struct Stages<'c> {
    case: &'c Case,
    meant: Literal,
    kernel: Selected,
    texts: Vec<(Stage, String)>,
    warp: u32,
}

impl<'c> Stages<'c> {
    /// The stages of the kernel that is made of a fusion; `None` if the case is none, or no kernel is made of it.
    ///
    /// # Errors
    /// If it cannot be compiled or interpreted.
    pub fn of(case: &'c Case, options: &Options) -> Result<Option<Stages<'c>>, WorkshopError> {
        if !case.module.bare {
            return Ok(None);
        }
        let stages = Stage::ALL[..=Stage::Scalars as usize].to_vec();
        let mut made = compile(&case.source(), &Options { stages, until: Phase::Code, ..options.clone() })?;
        let (Some(kernel), true) = (made.kernels.pop(), made.kernels.is_empty()) else { return Ok(None) };
        let texts = made.lowered.texts.into_iter().filter(|(stage, _)| *stage <= Stage::Scalars);
        let texts: Vec<(Stage, String)> = texts.filter_map(|(stage, mut texts)| Some((stage, texts.pop()?))).collect();
        let is_compiled = !kernel.is_routine();
        let (meant, warp) = (case.meant()?, options.device.warp_size);
        Ok(is_compiled.then_some(Stages { case, meant, kernel, texts, warp }))
    }

    /// The kernel's name.
    pub fn kernel(&self) -> &str {
        &self.kernel.unit.fusion.name
    }

    /// The stages in order, up to the first that is wrong, or takes so long that later ones do too.
    ///
    /// # Errors
    /// If the fusion cannot be interpreted.
    pub fn judged(&self) -> Result<Vec<Judged>, WorkshopError> {
        let mut all = Vec::new();
        for (stage, text) in &self.texts {
            let found = self.executed(text, false);
            let is_last = matches!(found, Err(KernelFault::TooLong(_)));
            let judgement = self.judgement(found)?;
            let is_last = is_last || matches!(judgement, Judgement::Wrong(_));
            all.push(Judged { stage: *stage, file: dump_of_stage(*stage, self.kernel()), judgement });
            if is_last {
                break;
            }
        }
        Ok(all)
    }

    /// The first stage in which an operation promises what does not hold, and in words which. What is promised is told LLVM from
    /// the stage on in which indices are integers.
    pub fn broken_promise(&self) -> Option<(Stage, String)> {
        let stages = self.texts.iter().filter(|(stage, _)| *stage >= Stage::Indices);
        let mut broken = stages.filter_map(|(stage, text)| match self.executed(text, true) {
            Err(fault @ KernelFault::Undefined { .. }) => Some((*stage, fault.to_string())),
            _ => None,
        });
        broken.next()
    }

    fn judgement(&self, found: Result<Literal, KernelFault>) -> Result<Judgement, WorkshopError> {
        Ok(match found {
            Ok(found) => match self.case.difference_between(&found, &self.meant)? {
                Some(difference) => Judgement::Wrong(difference),
                None => Judgement::Right,
            },
            Err(fault @ KernelFault::Undefined { .. }) => Judgement::Wrong(fault.to_string()),
            Err(fault) => Judgement::Unknown(fault.to_string()),
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

    /// The parameters' values, and the outputs as the kernel finds them.
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

/// A value of this one's shape, with these elements.
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
