//! Describes the slices of a scatter's updates, and how the scatter combines updates with its
//! operand.
//!
//! A *slice* is the part of the updates that one index vector assigns to a position in the operand.
//! The scatter dimensions of the updates enumerate the slices. The scatter combines the slice's
//! element at window coordinates `w` with the operand's element at index `start + w`. The index
//! vector and the batching dimensions determine `start`. A slice that is not completely inside the
//! operand is ignored.

use crate::hlo::{ArrayShape, BinaryOp, Computation, ElementType, InstrId, Instruction, Module, Op, ScatterDims};
use crate::indexing::Expr;

/// The start of a slice in one dimension of the operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceStart {
    /// The slice starts at 0.
    Zero,
    /// The slice starts at this component of the index vector.
    Component(usize),
    /// The slice starts at its own coordinate in this scatter dimension. In a batching dimension,
    /// every slice starts at its own coordinate.
    Batch(usize),
}

/// One dimension of a scatter's operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperandDim {
    /// Size of the operand in this dimension.
    pub size: i64,
    /// Size of a slice in this dimension; 1 if the updates lack the dimension.
    pub window: i64,
    /// The dimension of the updates that corresponds to this dimension of the operand, if there is
    /// one.
    pub update_dim: Option<usize>,
    /// Origin of a slice's start in this dimension: zero, the index vector or a batching dimension.
    pub start: SliceStart,
}

impl OperandDim {
    /// Returns the largest start for which a slice is inside the operand.
    pub fn last_start(&self) -> i64 {
        self.size - self.window
    }
}

/// How the dimensions of a scatter's operand, updates and indices correspond.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScatterShape {
    /// Number of operands, which is also the number of updates and the number of results.
    pub arrays: usize,
    /// Dimensions of the operand.
    pub operand: Vec<OperandDim>,
    /// Dimensions of the updates.
    pub updates: Vec<i64>,
    /// The scatter dimensions, which enumerate slices. Each pair has the number and the size of a
    /// dimension of the updates.
    pub scatter_dims: Vec<(usize, i64)>,
    /// Dimensions of the indices.
    pub indices: Vec<i64>,
    /// The dimension of the indices along which the components of an index vector are stored;
    /// `None` if index vectors are scalars.
    pub vector_dim: Option<usize>,
    /// For each component of an index vector, the operand dimension in which this component is the
    /// start of a slice.
    pub components: Vec<usize>,
    /// Whether the program promises that index vectors are in ascending order.
    pub sorted: bool,
    /// Whether the program promises that no two updates overlap.
    pub unique: bool,
}

impl ScatterShape {
    /// Returns the shape of a scatter; `None` if `instruction` is not a scatter, or if its
    /// dimension numbers are inconsistent.
    pub fn of(computation: &Computation, instruction: &Instruction) -> Option<Self> {
        let Op::Scatter { dims, .. } = &instruction.op else { return None };
        let arrays = instruction.operands.len() / 2;
        let array = |position: usize| -> Option<&ArrayShape> {
            computation.instruction(*instruction.operands.get(position)?).shape.as_array()
        };
        Self::from_dims(dims, arrays, array(0)?, array(arrays)?, array(arrays + 1)?)
    }

    fn from_dims(
        dims: &ScatterDims,
        arrays: usize,
        operand: &ArrayShape,
        indices: &ArrayShape,
        updates: &ArrayShape,
    ) -> Option<Self> {
        let rank = updates.dims.len();
        let is_window = |dim: &usize| dims.update_window_dims.contains(&(*dim as i64));
        let scatter_dims: Vec<(usize, i64)> =
            (0..rank).filter(|d| !is_window(d)).map(|d| (d, updates.dims[d])).collect();
        let vector_at = usize::try_from(dims.index_vector_dim).ok()?;
        let vector_dim = (vector_at < indices.dims.len()).then_some(vector_at);
        let mut windows = dims.update_window_dims.iter();
        let mut operand_dims = Vec::with_capacity(operand.dims.len());
        for (number, &size) in operand.dims.iter().enumerate() {
            let here = |list: &[i64]| list.iter().position(|&d| d == number as i64);
            let batch = here(&dims.input_batching_dims);
            let update_dim = match here(&dims.inserted_window_dims).or(batch) {
                Some(_) => None,
                None => Some(usize::try_from(*windows.next()?).ok()?),
            };
            let start = match (batch, here(&dims.scatter_dims_to_operand_dims)) {
                (Some(batch), _) => {
                    let dim = usize::try_from(*dims.scatter_indices_batching_dims.get(batch)?).ok()?;
                    SliceStart::Batch(dim - usize::from(vector_dim.is_some_and(|vector| dim > vector)))
                }
                (None, Some(component)) => SliceStart::Component(component),
                (None, None) => SliceStart::Zero,
            };
            let window = update_dim.map_or(Some(1), |dim| updates.dims.get(dim).copied())?;
            operand_dims.push(OperandDim { size, window, update_dim, start });
        }
        let components = dims.scatter_dims_to_operand_dims.iter().map(|&d| usize::try_from(d).ok());
        let shape = ScatterShape {
            arrays,
            operand: operand_dims,
            updates: updates.dims.clone(),
            scatter_dims,
            indices: indices.dims.clone(),
            vector_dim,
            components: components.collect::<Option<_>>()?,
            sorted: dims.indices_are_sorted,
            unique: dims.unique_indices,
        };
        let batches = shape.operand.iter().filter_map(|dim| match dim.start {
            SliceStart::Batch(at) => Some(at),
            SliceStart::Zero | SliceStart::Component(_) => None,
        });
        let consistent = windows.next().is_none() && batches.max().is_none_or(|at| at < shape.scatter_dims.len());
        consistent.then_some(shape)
    }

    /// Number of slices.
    pub fn slices(&self) -> i64 {
        product(self.scatter_dims.iter().map(|&(_, size)| size))
    }

    /// Number of elements of a slice.
    pub fn window_elements(&self) -> i64 {
        product(self.operand.iter().map(|dim| dim.window))
    }

    /// Number of elements of an operand.
    pub fn operand_elements(&self) -> i64 {
        product(self.operand.iter().map(|dim| dim.size))
    }

    /// Returns the operand dimensions that correspond to a dimension of the updates.
    pub fn window_dims(&self) -> Vec<usize> {
        (0..self.operand.len()).filter(|&d| self.operand[d].update_dim.is_some()).collect()
    }

    /// Whether slices are small enough to fit into the operand.
    pub fn can_fit(&self) -> bool {
        self.operand.iter().all(|dim| dim.window <= dim.size)
    }

    /// Returns the index of an element of the updates. `slice` has one coordinate per scatter
    /// dimension; `window` has one coordinate per operand dimension.
    pub fn update_index<T: Clone>(&self, slice: &[T], window: &[T]) -> Vec<T> {
        let spans = |dim: usize| self.operand.iter().position(|operand| operand.update_dim == Some(dim));
        let coordinate = |dim: usize| match spans(dim) {
            Some(operand) => window.get(operand).cloned(),
            None => slice.get(self.scatter_dims.iter().position(|&(d, _)| d == dim)?).cloned(),
        };
        (0..self.updates.len()).filter_map(coordinate).collect()
    }

    /// Returns the index at which the indices array stores one component of a slice's index vector.
    pub fn component_index<T: Clone>(&self, slice: &[T], component: T) -> Vec<T> {
        let mut index = slice.to_vec();
        if let Some(at) = self.vector_dim {
            index.insert(at.min(index.len()), component);
        }
        index
    }

    /// Returns the index of the operand's element with which the scatter combines an element of the
    /// updates. `starts` has one entry per component of an index vector.
    pub fn landing(&self, slice: &[Expr], window: &[Expr], starts: &[Expr]) -> Vec<Expr> {
        let coordinate = |(dim, window): (&OperandDim, &Expr)| match dim.start {
            SliceStart::Zero => window.clone(),
            SliceStart::Component(component) => starts[component].clone() + window.clone(),
            SliceStart::Batch(at) => slice[at].clone() + window.clone(),
        };
        self.operand.iter().zip(window).map(coordinate).collect()
    }
}

/// How a scatter combines an update with an element of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combination {
    /// The update replaces the element.
    Replace,
    /// The element remains unchanged.
    Keep,
    /// One associative and commutative operation combines operand and update.
    Binary(BinaryOp),
    /// Another computation, whose result depends only on the element and the update.
    Alone,
    /// A computation whose result also depends on other operands of a variadic scatter.
    Joint,
}

impl Combination {
    /// Returns for each operand how a scatter combines updates with the operand's elements.
    pub fn of(module: &Module, instruction: &Instruction) -> Vec<Combination> {
        let Op::Scatter { to_apply, .. } = &instruction.op else { return Vec::new() };
        let applied = module.computation(*to_apply);
        let arrays = instruction.operands.len() / 2;
        let root = applied.root_instruction();
        let results = match root.op {
            Op::Tuple => root.operands.clone(),
            _ => vec![applied.root],
        };
        (0..arrays)
            .map(|number| results.get(number).map_or(Combination::Joint, |&r| of_result(applied, r, number, arrays)))
            .collect()
    }

    /// Whether the updates of one element give bitwise equal results in every order.
    pub fn is_order_free(self, element: ElementType) -> bool {
        match self {
            Combination::Keep => true,
            Combination::Binary(BinaryOp::Add | BinaryOp::Multiply) => element.is_integer_or_pred(),
            Combination::Binary(BinaryOp::Maximum | BinaryOp::Minimum) => !element.is_complex(),
            Combination::Binary(BinaryOp::And | BinaryOp::Or | BinaryOp::Xor) => true,
            Combination::Binary(_) | Combination::Replace | Combination::Alone | Combination::Joint => false,
        }
    }
}

fn of_result(applied: &Computation, result: InstrId, number: usize, arrays: usize) -> Combination {
    let parameter = |id: InstrId| match applied.instruction(id).op {
        Op::Parameter { number } => usize::try_from(number).ok(),
        _ => None,
    };
    let own = [number, number + arrays];
    let instruction = applied.instruction(result);
    match &instruction.op {
        Op::Parameter { .. } if parameter(result) == Some(own[0]) => Combination::Keep,
        Op::Parameter { .. } if parameter(result) == Some(own[1]) => Combination::Replace,
        Op::Binary(op) => {
            let read: Vec<_> = instruction.operands.iter().map(|&id| parameter(id)).collect();
            let both = |a: usize, b: usize| read == [Some(own[a]), Some(own[b])];
            if op.is_commutative() && (both(0, 1) || both(1, 0)) {
                Combination::Binary(*op)
            } else {
                alone_or_joint(applied, result, own)
            }
        }
        _ => alone_or_joint(applied, result, own),
    }
}

fn alone_or_joint(applied: &Computation, result: InstrId, own: [usize; 2]) -> Combination {
    let mut needed = vec![false; applied.instructions.len()];
    needed[result.index()] = true;
    for id in applied.ids().rev().filter(|id| *id <= result) {
        if !needed[id.index()] {
            continue;
        }
        let instruction = applied.instruction(id);
        if let Op::Parameter { number } = instruction.op
            && !own.iter().any(|&own| own as i64 == number)
        {
            return Combination::Joint;
        }
        instruction.operands.iter().for_each(|o| needed[o.index()] = true);
    }
    Combination::Alone
}

fn product(sizes: impl Iterator<Item = i64>) -> i64 {
    sizes.fold(1, |n, size| n.saturating_mul(size))
}
