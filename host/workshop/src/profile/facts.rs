//! Facts about the steps of a program. The program's executable does not contain these facts.

use std::collections::BTreeMap;

use fusebox_compiler::Compilation;
use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{Module, Op};
use fusebox_thunks::{Thunk, all};
use serde::{Deserialize, Serialize};

use crate::lines::SourceLines;
use crate::roof::{Roof, WorkAmount};

/// Facts about a kernel, about a loop that is compiled to one function with several kernels, or
/// about an operation of the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepFacts {
    /// The symbol of the kernel, or the name of the operation.
    pub name: String,
    /// The prediction for one launch of a kernel. `None` for a loop, whose number of iterations is
    /// unknown.
    pub predicted: Option<PredictedLaunch>,
    /// Lines of the user's program.
    pub lines: SourceLines,
}

/// The prediction for one launch of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictedLaunch {
    pub us: f64,
    pub work: WorkAmount,
    /// The roof that follows from the device description.
    pub roof: Roof,
}

impl StepFacts {
    /// Returns the facts about all kernels, composites and host operations that a compilation
    /// contains. `device` is the device for which the program was compiled.
    pub fn of(made: &Compilation, device: &DeviceDescription) -> Vec<StepFacts> {
        let kernels = made.kernels.iter().map(|kernel| {
            let work = WorkAmount::of(kernel, device);
            let roof = Roof::described(work, device);
            StepFacts {
                name: kernel.unit.fusion.name.clone(),
                predicted: Some(PredictedLaunch { us: kernel.prediction.seconds * 1e6, work, roof }),
                lines: SourceLines::of_kernel(kernel),
            }
        });
        let mut facts: Vec<StepFacts> = kernels.collect();
        for composite in &made.composites {
            let mut lines = SourceLines::default();
            for step in all(&composite.steps) {
                let Thunk::Kernel { kernel, .. } = step else { continue };
                facts.iter().filter(|it| it.name == *kernel).for_each(|it| lines.extend(&it.lines));
            }
            facts.push(StepFacts { name: composite.name.clone(), predicted: None, lines });
        }
        facts.extend(of_host(&made.fused));
        facts
    }
}

/// Returns the facts about the instructions that the host may execute. A host operation has the
/// name of its instruction. Instructions of several computations may have the same name.
fn of_host(fused: &Module) -> Vec<StepFacts> {
    let mut lines: BTreeMap<&str, SourceLines> = BTreeMap::new();
    for instruction in fused.computations.iter().flat_map(|it| &it.instructions) {
        let is_free = matches!(
            instruction.op,
            Op::Fusion { .. } | Op::Parameter { .. } | Op::Constant(_) | Op::Tuple | Op::GetTupleElement { .. }
        );
        let of_instruction = SourceLines::of_instruction(instruction);
        if !is_free && !of_instruction.is_empty() {
            lines.entry(&instruction.name).or_default().extend(&of_instruction);
        }
    }
    lines.into_iter().map(|(name, lines)| StepFacts { name: name.into(), predicted: None, lines }).collect()
}
