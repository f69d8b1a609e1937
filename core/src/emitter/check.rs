//! Checks the plan of an emitter. The kernel must write the elements of each output as the output's
//! mode requires. The kernel must also write nothing out of bounds, and stay within the device's
//! limits.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use super::{Analysis, Decline, Fusion, OutputPlan, Plan, Visit, Work, WriteMode};
use crate::device::DeviceDescription;
use crate::hlo::{ArrayShape, InstrId, Shape};
use crate::indexing::{Coverage, IndexingMap, Interval, Violation, check_coverage_within};
use crate::ir::limits;

/// Largest number of blocks in a grid dimension.
const MOST_BLOCKS: u64 = (1 << 31) - 1;

/// The name of an output in error messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedOutput {
    /// Index of the output among the flattened roots.
    pub number: usize,
    /// The line of the emitter's source that planned the output.
    pub place: Option<String>,
}

impl fmt::Display for PlannedOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "output {}", self.number)?;
        self.place.iter().try_for_each(|place| write!(f, " (planned at {place})"))
    }
}

/// A fault of a plan.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlanFault {
    /// The number of blocks or of threads per block is out of range.
    #[error("{what} is {found}, but the device allows 1 to {most}")]
    Launch {
        /// Name of the number that is out of range.
        what: &'static str,
        /// The planned number.
        found: u64,
        /// The device's limit.
        most: u64,
    },
    /// The kernel needs more shared memory than the device has.
    #[error("the plan needs {found} bytes of shared memory, but the device has {most}")]
    SharedMemory {
        /// The planned number of bytes.
        found: u32,
        /// The device's limit.
        most: u32,
    },
    /// The number of output maps differs from the number of outputs.
    #[error("the plan has {found} output maps, but the fusion has {wanted} outputs")]
    Outputs {
        /// The planned number.
        found: usize,
        /// The number of the fusion's outputs.
        wanted: usize,
    },
    /// The dimensions of an output map are not the threads and blocks of the launch, or the map is
    /// too costly to check.
    #[error("{output}: {reason}; the map is {map}")]
    Variables {
        /// The output.
        output: PlannedOutput,
        /// The fault.
        reason: String,
        /// The map.
        map: String,
    },
    /// The plan states an impossible amount of work: negative or not finite.
    #[error("the plan states work of {found} {what}: the number must be finite and not negative")]
    Work {
        /// Kind of work: additions, bytes of tiles, waits or atomic operations.
        what: &'static str,
        /// The planned amount.
        found: f64,
    },
    /// A visit of the plan is invalid.
    #[error("visit {visit}: {reason}")]
    Visit {
        /// Index of the visit.
        visit: usize,
        /// The fault.
        reason: String,
    },
    /// An output lacks the initial value that its mode requires, or the initial value is invalid.
    #[error("{output}: {reason}")]
    Initial {
        /// The output.
        output: PlannedOutput,
        /// The fault.
        reason: String,
    },
    /// The maps do not cover the elements of the output as the output's mode requires.
    #[error("{output} of shape {shape:?}: {violation}; the map is {map}")]
    Coverage {
        /// The output.
        output: PlannedOutput,
        /// Dimensions of the output.
        shape: Vec<i64>,
        /// The fault.
        violation: Box<Violation>,
        /// The map.
        map: String,
    },
}

/// Checks the plan of an emitter. The host calls this function before it asks the emitter for the
/// kernel.
///
/// # Errors
/// Returns the first fault.
pub fn check_plan(plan: &Plan, fusion: &Fusion, device: &DeviceDescription) -> Result<(), PlanFault> {
    let launch = plan.launch;
    in_range("the number of blocks", launch.blocks, MOST_BLOCKS)?;
    in_range("the number of threads in a block", launch.threads_per_block.into(), device.max_threads_per_block.into())?;
    if plan.shared_bytes > device.shared_bytes_per_block {
        return Err(PlanFault::SharedMemory { found: plan.shared_bytes, most: device.shared_bytes_per_block });
    }
    let shapes = output_shapes(fusion);
    if shapes.len() != plan.outputs.len() {
        return Err(PlanFault::Outputs { found: plan.outputs.len(), wanted: shapes.len() });
    }
    check_visits(plan, fusion)?;
    for (number, (output, shape)) in plan.outputs.iter().zip(shapes).enumerate() {
        let name = PlannedOutput { number, place: output.place.clone() };
        let fault =
            |map: &IndexingMap, reason| PlanFault::Variables { output: name.clone(), reason, map: map.to_string() };
        output.maps.iter().try_for_each(|map| check_variables(map, plan).map_err(|reason| fault(map, reason)))?;
        check_initial(&name, output, shape, fusion)?;
        check_elements(&name, output, shape, fusion)?;
    }
    Ok(())
}

/// Checks the visits and the other work that a plan states. The host predicts a kernel's time from
/// the visits and this other work.
///
/// # Errors
/// Returns the first fault.
pub fn check_visits(plan: &Plan, fusion: &Fusion) -> Result<(), PlanFault> {
    let Work { additions, tile_bytes, waits, atomics, .. } = plan.work;
    let stated =
        [("additions", additions), ("bytes of tiles", tile_bytes), ("waits", waits), ("atomic operations", atomics)];
    if let Some(&(what, found)) = stated.iter().find(|(_, found)| !found.is_finite() || *found < 0.0) {
        return Err(PlanFault::Work { what, found });
    }
    let mut visits = plan.visits.iter().enumerate();
    visits.try_for_each(|(number, visit)| {
        check_visit(visit, plan, fusion).map_err(|reason| PlanFault::Visit { visit: number, reason })
    })
}

fn in_range(what: &'static str, found: u64, most: u64) -> Result<(), PlanFault> {
    if (1..=most).contains(&found) { Ok(()) } else { Err(PlanFault::Launch { what, found, most }) }
}

/// Checks that a visit names existing instructions, indexes them with the right rank and uses the
/// launch's threads and blocks.
fn check_visit(visit: &Visit, plan: &Plan, fusion: &Fusion) -> Result<(), String> {
    check_variables(&visit.map, plan)?;
    let computation = fusion.computation();
    let known = |id: &InstrId| id.index() < computation.instructions.len();
    if !visit.values.iter().chain(&visit.given).all(known) {
        return Err("an instruction does not belong to the fusion".into());
    }
    let rank = |id: InstrId| computation.instruction(id).shape.leaves().first()?.as_array().map(ArrayShape::rank);
    match visit.values.iter().find(|&&id| rank(id) != Some(visit.map.results.len())) {
        None => Ok(()),
        Some(&id) => {
            Err(format!("the map does not have the rank of {}: {}", computation.instruction(id).name, visit.map))
        }
    }
}

/// Checks that the map's ranges of threads and blocks equal those of the launch. If a range of the
/// map were narrower, the threads outside of this range would run without a plan.
fn check_variables(map: &IndexingMap, plan: &Plan) -> Result<(), String> {
    let wanted = [
        ("thread", Interval::from_size(plan.launch.threads_per_block.into())),
        ("block", Interval::from_size(plan.launch.blocks as i64)),
    ];
    if map.dims.len() != wanted.len() {
        return Err(format!("the map has {} dimensions, it must have thread and block", map.dims.len()));
    }
    match map.dims.iter().zip(wanted).find(|(dim, (_, bounds))| dim.bounds != *bounds) {
        None => Ok(()),
        Some((dim, (name, bounds))) => Err(format!("the {name} is within {}, the launch says {bounds}", dim.bounds)),
    }
}

/// Checks the initial value of an output that the kernel does not write completely. The initial
/// value must be a parameter with as many bytes as the output.
fn check_initial(
    name: &PlannedOutput,
    output: &OutputPlan,
    shape: &ArrayShape,
    fusion: &Fusion,
) -> Result<(), PlanFault> {
    let fault = |reason: &str| Err(PlanFault::Initial { output: name.clone(), reason: reason.into() });
    let Some(initial) = output.initial else {
        return match output.mode {
            WriteMode::Unique => Ok(()),
            WriteMode::Atomic | WriteMode::InPlace => fault("is updated, but the plan names no initial value"),
        };
    };
    let computation = fusion.computation();
    let parameter = computation.parameters().get(initial as usize).map(|&id| &computation.instruction(id).shape);
    match parameter.and_then(Shape::as_array) {
        Some(array) if array.byte_size() == shape.byte_size() => Ok(()),
        Some(_) => fault("its initial value is a parameter of another size"),
        None => fault("its initial value is no parameter of the fusion"),
    }
}

/// The outputs of a fusion's plans whose elements are written as their modes require. The host
/// checks a plan several times: when an emitter bids, when the host ranks emitters, and before it
/// asks for the kernel.
#[derive(Default)]
struct CheckedOutputs(Mutex<Vec<CheckedOutput>>);

/// The facts that determine how often a kernel writes each element of an output.
#[derive(PartialEq)]
struct CheckedOutput {
    maps: Vec<IndexingMap>,
    mode: WriteMode,
    dims: Vec<i64>,
}

impl Analysis for CheckedOutputs {
    fn of(_: &Fusion) -> Result<Self, Decline> {
        Ok(CheckedOutputs::default())
    }
}

impl CheckedOutputs {
    fn contain(&self, output: &OutputPlan, shape: &ArrayShape) -> bool {
        let is_same = |it: &CheckedOutput| it.mode == output.mode && it.dims == shape.dims && it.maps == output.maps;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().any(is_same)
    }

    fn add(&self, output: &OutputPlan, shape: &ArrayShape) {
        let checked = CheckedOutput { maps: output.maps.clone(), mode: output.mode, dims: shape.dims.clone() };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(checked);
    }
}

fn check_elements(
    name: &PlannedOutput,
    output: &OutputPlan,
    shape: &ArrayShape,
    fusion: &Fusion,
) -> Result<(), PlanFault> {
    let coverage = match output.mode {
        WriteMode::Unique => Coverage::ExactlyOnce,
        WriteMode::InPlace => Coverage::AtMostOnce,
        WriteMode::Atomic => Coverage::InBounds,
    };
    let analysis = fusion.analysis::<CheckedOutputs>();
    let checked = analysis.as_ref().as_ref().ok();
    if checked.is_some_and(|checked| checked.contain(output, shape)) {
        return Ok(());
    }
    match check_coverage_within(&output.maps, &shape.dims, coverage, limits::MOST_EVALUATIONS) {
        Ok(_) => {
            checked.into_iter().for_each(|checked| checked.add(output, shape));
            Ok(())
        }
        Err(reason @ Violation::Costly { .. }) => {
            Err(PlanFault::Variables { output: name.clone(), reason: reason.to_string(), map: "not shown".into() })
        }
        Err(violation) => Err(PlanFault::Coverage {
            output: name.clone(),
            shape: shape.dims.clone(),
            violation: Box::new(violation),
            map: output.maps.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        }),
    }
}

fn output_shapes(fusion: &Fusion) -> Vec<&ArrayShape> {
    let roots = fusion.roots.iter().map(|&id| fusion.computation().instruction(id));
    roots.flat_map(|root| root.shape.leaves()).filter_map(Shape::as_array).collect()
}
