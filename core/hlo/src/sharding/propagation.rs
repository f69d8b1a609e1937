//! Derives the shardings of a program's results if the program does not state them. The sources are
//! the shardings of the program's parameters, constraints and manual computations. The analysis
//! propagates shardings from operands to results.

use super::axes::{AxisSharding, MeshAxis, axis_shardings};
use super::manual::ManualComputation;
use super::mesh::Meshes;
use crate::{Computation, ComputationId, Extent, Extra, Instruction, Module, Op, Shape, extents};

/// Largest depth of nested calls that the propagation follows.
const MOST_LEVELS: usize = 32;

/// For each dimension of an array, the axes that divide it.
type Dims = Vec<Vec<MeshAxis>>;

/// The axes that are known to divide the dimensions of a value.
#[derive(Clone, Debug)]
enum Known {
    Array(Dims),
    Tuple(Vec<Known>),
}

impl Known {
    /// Nothing is known.
    fn nothing(shape: &Shape) -> Known {
        match shape {
            Shape::Array(array) => Known::Array(vec![Vec::new(); array.dims.len()]),
            Shape::Tuple(elements) => Known::Tuple(elements.iter().map(Known::nothing).collect()),
            _ => Known::Array(Vec::new()),
        }
    }

    fn dims(&self) -> &[Vec<MeshAxis>] {
        match self {
            Known::Array(dims) => dims,
            Known::Tuple(_) => &[],
        }
    }

    fn element(&self, index: usize) -> Option<&Known> {
        match self {
            Known::Tuple(elements) => elements.get(index),
            array => Some(array).filter(|_| index == 0),
        }
    }

    /// Adds the axes that are known for another value, which is equal to this value.
    fn with(&self, other: &Known) -> Known {
        match (self, other) {
            (Known::Tuple(own), Known::Tuple(others)) if own.len() == others.len() => {
                Known::Tuple(own.iter().zip(others).map(|(own, other)| own.with(other)).collect())
            }
            (Known::Array(own), Known::Array(others)) if own.len() == others.len() => {
                Known::Array(merged(own.len(), &[own, others]))
            }
            _ => self.clone(),
        }
    }
}

/// For each dimension, copies the axes from the first array in `all` that has axes for this
/// dimension. Skips axes if the result already uses one of them for another dimension.
fn merged(rank: usize, all: &[&[Vec<MeshAxis>]]) -> Dims {
    let mut result: Dims = vec![Vec::new(); rank];
    for dims in all.iter().filter(|dims| dims.len() == rank) {
        for (dimension, axes) in dims.iter().enumerate() {
            let is_used = axes.iter().any(|axis| result.iter().flatten().any(|used| used.name == axis.name));
            if result[dimension].is_empty() && !is_used {
                result[dimension].clone_from(axes);
            }
        }
    }
    result
}

/// Returns the sharding of each result of the entry, on the module's largest mesh. Ignores
/// shardings that instructions state for other meshes.
pub(super) fn of_results(module: &Module, meshes: &Meshes) -> Vec<AxisSharding> {
    let Some(entry) = module.entry else { return Vec::new() };
    let Some(mesh) = meshes.largest() else { return Vec::new() };
    let computation = module.computation(entry);
    let parameters = computation.parameters().into_iter().map(|id| {
        let instruction = computation.instruction(id);
        stated(instruction, meshes).map_or_else(|| Known::nothing(&instruction.shape), |(dims, _)| Known::Array(dims))
    });
    let known = Propagation { module, meshes }.of_computation(entry, &parameters.collect::<Vec<_>>(), 0);
    let elements = match &known {
        Known::Tuple(elements) => &elements[..],
        single => std::slice::from_ref(single),
    };
    let shape = &computation.root_instruction().shape;
    let shapes = shape.as_tuple().unwrap_or(std::slice::from_ref(shape));
    let of_result = |(known, shape): (&Known, &Shape)| {
        let mut dims = known.dims().to_vec();
        for (axes, size) in dims.iter_mut().zip(shape.as_array().map_or(&[][..], |array| &array.dims)) {
            let parts = axes.iter().map(|axis| match axis.part {
                Some((_, size)) => Some(size),
                None => mesh.axis(&axis.name).ok().map(|number| mesh.axes[number].1),
            });
            let parts = parts.collect::<Option<Vec<i64>>>().map(|sizes| sizes.iter().product::<i64>());
            if parts.is_none_or(|parts| parts < 1 || size % parts != 0) {
                axes.clear();
            }
        }
        AxisSharding { mesh: mesh.clone(), open: vec![true; dims.len()], dims, unreduced: Vec::new() }
    };
    elements.iter().zip(shapes).map(of_result).collect()
}

/// Returns the sharding that an instruction states, and whether each dimension may be divided
/// further.
fn stated(instruction: &Instruction, meshes: &Meshes) -> Option<(Dims, Vec<bool>)> {
    let Extra { frontend_attributes, .. } = instruction.extra.as_deref()?;
    let text = frontend_attributes.get("xla.sdy.sharding")?;
    let sharding = axis_shardings(text, meshes).ok()?.into_iter().next()?;
    let rank = instruction.shape.as_array()?.dims.len();
    (sharding.dims.len() == rank && Some(&sharding.mesh) == meshes.largest()).then_some((sharding.dims, sharding.open))
}

struct Propagation<'m> {
    module: &'m Module,
    meshes: &'m Meshes,
}

impl Propagation<'_> {
    /// Returns the axes that are known to divide a computation's result.
    fn of_computation(&self, id: ComputationId, arguments: &[Known], level: usize) -> Known {
        let computation = self.module.computation(id);
        if level > MOST_LEVELS {
            return Known::nothing(&computation.root_instruction().shape);
        }
        let mut known: Vec<Known> = Vec::with_capacity(computation.instructions.len());
        for instruction in &computation.instructions {
            let operands: Vec<&Known> = instruction.operands.iter().map(|operand| &known[operand.index()]).collect();
            known.push(self.of_instruction(computation, instruction, &operands, arguments, level));
        }
        known.swap_remove(computation.root.index())
    }

    fn of_instruction(
        &self,
        computation: &Computation,
        instruction: &Instruction,
        operands: &[&Known],
        arguments: &[Known],
        level: usize,
    ) -> Known {
        let nothing = || Known::nothing(&instruction.shape);
        let owned = || operands.iter().map(|&it| it.clone()).collect::<Vec<Known>>();
        match &instruction.op {
            Op::Parameter { number } => arguments.get(*number as usize).cloned().unwrap_or_else(nothing),
            Op::Tuple => Known::Tuple(owned()),
            Op::GetTupleElement { index } => {
                operands.first().and_then(|it| it.element(*index as usize)).cloned().unwrap_or_else(nothing)
            }
            Op::OptBarrier => operands.first().map_or_else(nothing, |&it| it.clone()),
            Op::Call { to_apply } => self.of_computation(*to_apply, &owned(), level + 1),
            Op::While { body, .. } => match operands {
                [initial] => initial.with(&self.of_computation(*body, &owned(), level + 1)),
                _ => nothing(),
            },
            Op::Conditional { branches } => match (branches.first(), operands.get(1)) {
                (Some(branch), Some(argument)) => {
                    self.of_computation(*branch, std::slice::from_ref(argument), level + 1)
                }
                _ => nothing(),
            },
            Op::CustomCall(call) => self.of_custom_call(&call.target, instruction, operands).unwrap_or_else(nothing),
            _ => {
                let shapes: Vec<&Shape> =
                    instruction.operands.iter().map(|&id| &computation.instruction(id).shape).collect();
                let leaves = instruction.shape.leaves();
                let are_arrays = leaves.iter().all(|leaf| leaf.as_array().is_some());
                if are_arrays { of_operation(instruction, operands, &shapes) } else { nothing() }
            }
        }
    }

    fn of_custom_call(&self, target: &str, instruction: &Instruction, operands: &[&Known]) -> Option<Known> {
        let manual = || {
            let attributes = &instruction.extra.as_ref()?.frontend_attributes;
            ManualComputation::read(attributes, self.meshes).ok()
        };
        match target {
            ManualComputation::DIVIDE => {
                let axes = manual()?.axes;
                let free = |known: &Known| {
                    let kept =
                        |dims: &Vec<MeshAxis>| dims.iter().filter(|axis| !axes.contains(&axis.name)).cloned().collect();
                    Known::Array(known.dims().iter().map(kept).collect())
                };
                Some(one_or_tuple(operands.iter().map(|it| free(it)).collect()))
            }
            ManualComputation::JOIN => {
                let manual = manual()?;
                let whole = |(known, sharding): (&&Known, &AxisSharding)| {
                    let dims = sharding.dims.iter().zip(known.dims());
                    Known::Array(dims.map(|(own, free)| own.iter().chain(free).cloned().collect()).collect())
                };
                Some(one_or_tuple(operands.iter().zip(&manual.outputs).map(whole).collect()))
            }
            _ => {
                let operand = operands.first()?;
                let Some((dims, open)) = stated(instruction, self.meshes) else {
                    return (operand.dims().len() == instruction.shape.as_array()?.dims.len())
                        .then(|| (*operand).clone());
                };
                // A closed dimension stays as it is stated.
                let free = operand.dims().iter().zip(&open);
                let free: Dims = free.map(|(axes, is_open)| if *is_open { axes.clone() } else { Vec::new() }).collect();
                Some(Known::Array(merged(dims.len(), &[&dims, &free])))
            }
        }
    }
}

fn one_or_tuple(mut known: Vec<Known>) -> Known {
    if known.len() == 1 { known.remove(0) } else { Known::Tuple(known) }
}

/// Returns the axes that are known to divide the result of an operation on arrays. To find these
/// axes, the function treats each divided dimension of an operand as dynamic. If the size of a
/// result dimension equals the size of a divided dimension, or is proportional to it, the axes of
/// the divided dimension also divide the result dimension.
fn of_operation(instruction: &Instruction, operands: &[&Known], shapes: &[&Shape]) -> Known {
    let arrays = instruction.shape.leaves().into_iter().filter_map(Shape::as_array);
    let mut results: Vec<Dims> = arrays.map(|array| vec![Vec::new(); array.dims.len()]).collect();
    for (operand, known) in operands.iter().enumerate() {
        for (dimension, axes) in known.dims().iter().enumerate().filter(|(_, axes)| !axes.is_empty()) {
            let mut shapes: Vec<Shape> = shapes.iter().map(|&shape| shape.clone()).collect();
            shapes[operand].arrays_mut().into_iter().for_each(|array| array.set_dynamic(dimension));
            let extents = extents(&instruction.op, &shapes.iter().collect::<Vec<_>>(), &instruction.shape);
            for (extents, dims) in extents.iter().zip(&mut results) {
                let is_used =
                    |dims: &Dims| axes.iter().any(|axis| dims.iter().flatten().any(|used| used.name == axis.name));
                for at in 0..dims.len() {
                    let follows = matches!(extents.get(at), Some(Extent::Same(_) | Extent::Scaled { .. }));
                    if follows && dims[at].is_empty() && !is_used(dims) {
                        dims[at].clone_from(axes);
                    }
                }
            }
        }
    }
    let mut results: Vec<Known> = results.into_iter().map(Known::Array).collect();
    if instruction.shape.as_array().is_some() { results.swap_remove(0) } else { Known::Tuple(results) }
}
