//! Compiles a sort's comparator to a kernel for the cpu if no routine recognises the comparator.
//!
//! Sorts are host operations, so their comparators run on the host for every target.

use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::{ComputationId, Module, Op};
use fusebox_edit::{calling, with_callees};
use fusebox_lowering::{Code, Runner, Target};
use fusebox_plugins::KnownPlans;
use fusebox_runtime::HostKernel;

use crate::kernels::KernelUnit;
use crate::lower::lower_on_elements;
use crate::select::select;
use crate::{CompileError, Options, Phase};

/// Name of the comparator's function.
const SYMBOL: &str = "comparator";

/// Returns the target of a program's comparators: the program's own target if the program runs on
/// the cpu, else the default cpu.
pub fn target(program: &Target) -> Target {
    if program.runner() == Some(Runner::Cpu) { program.clone() } else { Target::cpu() }
}

/// Compiles a comparator to a kernel. The comparator is an ordinary fusion of scalars.
///
/// # Errors
/// If no emitter computes the comparator.
pub fn compile(module: &Module, comparator: ComputationId, options: &Options) -> Result<HostKernel, CompileError> {
    let computation = module.computation(comparator);
    let target = target(&options.target);
    let device = target.device().clone();
    let options = Options { target, device, ..options.clone() };
    let alone = if computation.instructions.iter().any(|it| matches!(it.op, Op::While { .. } | Op::Conditional { .. }))
    {
        // A fusion cannot contain loops or branches, except in a computation that `map` applies to
        // its elements.
        applied(module, comparator)
    } else {
        with_callees(module, computation.clone(), SYMBOL)
    };
    let no_kernel = || {
        let message = "no kernel can compute this comparator: it must take numbers, not tuples".to_owned();
        CompileError::at_computation(module, computation, message)
    };
    let fusion = Fusion::new(SYMBOL, alone).ok_or_else(no_kernel)?;
    let unit = KernelUnit { fusion, uses: vec![computation.name.clone()], kept: 0 };
    let selected = select(&unit, &options, &KnownPlans::default())
        .map_err(|why| CompileError::at_computation(module, computation, why.to_string()))?;
    if selected.plan.launch.blocks != 1 {
        let message = format!("a comparator is launched with {} blocks", selected.plan.launch.blocks);
        return Err(CompileError::Internal { phase: Phase::Plan.name(), message });
    }
    let emitter = format!("{} {}", selected.emitter.name, selected.emitter.version);
    match lower_on_elements(&selected, &options)? {
        Code::Object { bytes, .. } => Ok(HostKernel { object: bytes, symbol: SYMBOL.into(), emitter }),
        _ => Err(CompileError::Internal { phase: Phase::Code.name(), message: "a comparator is no object".into() }),
    }
}

/// Builds a module whose entry applies a computation to its parameters.
fn applied(module: &Module, id: ComputationId) -> Module {
    let entry = calling(module, id, SYMBOL, Op::Map { dimensions: Vec::new(), to_apply: id });
    with_callees(module, entry, SYMBOL)
}
