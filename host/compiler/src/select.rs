//! Fusion to emitter, plan and kernel, with the reasons.

use std::cell::Cell;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Descriptor, Fusion, Plan};
use fusebox_plugins::{LoadedEmitter, Origin, Override, Produced, Registry, Selection, produce};

use crate::prediction::{Prediction, predict};
use crate::{CompileError, kernels::Unit};

/// The emitters to choose from, and what the user decided about them.
#[derive(Clone, Default)]
pub struct Emitters {
    /// All there are.
    pub registry: Registry,
    /// What `--emitter` said.
    pub overrides: Vec<Override>,
}

/// A fusion with its emitter, plan and kernel.
#[derive(Clone, Debug)]
pub struct Selected {
    /// The fusion and its uses.
    pub unit: Unit,
    /// What became of every emitter.
    pub selection: Selection,
    /// Who made the kernel.
    pub emitter: Descriptor,
    /// What the kernel will do.
    pub plan: Plan,
    /// What the plan costs at least.
    pub prediction: Prediction,
    /// The entry function and its subgraph functions.
    pub functions: String,
    /// Things the user should know: emitters that failed and were passed over.
    pub warnings: Vec<String>,
}

/// Asks every emitter, and lets the best that delivers plan and emit.
pub fn select(unit: &Unit, device: &DeviceDescription, emitters: &Emitters) -> Result<Selected, CompileError> {
    let fusion = &unit.fusion;
    let selection = in_emitter(|| fusebox_plugins::select(&emitters.registry, fusion, device, &emitters.overrides))
        .map_err(|error| CompileError::Emitter(error.to_string()))?;
    let mut warnings = Vec::new();
    for &number in &selection.order {
        let emitter = &emitters.registry.emitters()[number];
        let made = in_emitter(|| produce(emitter, fusion, device, &Configuration::default()));
        match made.map_err(|failure| failure.to_string()).and_then(|produced| complete(emitter, fusion, produced)) {
            Ok((plan, functions)) => {
                let emitter = emitter.descriptor().clone();
                let prediction = predict(fusion, &plan, device);
                return Ok(Selected { unit: unit.clone(), selection, emitter, plan, prediction, functions, warnings });
            }
            Err(reason) if selection.forced => return Err(CompileError::Emitter(reason)),
            Err(reason) => warnings.push(reason),
        }
    }
    Err(CompileError::Emitter(warnings.join("\n")))
}

/// The kernel with the subgraph functions it calls. A library's IR is verified here, where the next emitter can
/// still take over; lowering verifies all.
fn complete(emitter: &LoadedEmitter, fusion: &Fusion, produced: Produced) -> Result<(Plan, String), String> {
    let Produced { plan, kernel } = produced;
    let subgraphs = fusebox_emission::subgraph_functions(fusion, &kernel.calls).map_err(|e| e.to_string())?;
    let functions = format!("{}\n{subgraphs}", kernel.mlir);
    if *emitter.origin() != Origin::Linked {
        fusebox_lowering::verify(&fusion.name, &functions)
            .map_err(|error| format!("emitter {}: {error}", emitter.identity()))?;
    }
    Ok((plan, functions))
}

thread_local! {
    static IN_EMITTER: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is asking an emitter, whose panic is contained and no bug of the host.
pub fn is_in_emitter() -> bool {
    IN_EMITTER.get()
}

fn in_emitter<T>(ask: impl FnOnce() -> T) -> T {
    IN_EMITTER.set(true);
    let answer = ask();
    IN_EMITTER.set(false);
    answer
}
