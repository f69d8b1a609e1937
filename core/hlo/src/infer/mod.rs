//! Shape inference: computes the result shape of an operation, and checks that the operation is
//! valid.
//!
//! Each operation has a function in the file for its group of operations. The operation's function
//! checks operand counts, types, sizes and attributes, and returns the result's shape without
//! layout. If the operands do not determine the result (`reshape`, `convert`, `iota` …), this
//! function checks the declared shape instead.

mod contraction;
mod control;
mod dynamic_size;
mod elementwise;
mod extents;
mod indexed;
mod linear_algebra;
mod reduction;
mod reshaping;
mod shaping;
mod window;

pub use dynamic_size::{Extent, Source};
pub use extents::extents;
pub use window::window_output_size;

use super::{ArrayShape, Computation, ComputationId, ElementType, Module, Op, Shape};

/// The inferred result, or the reason why the operation is invalid.
pub(crate) type Inferred<T = Shape> = Result<T, String>;

/// The parameters and the result of a computation.
#[derive(Clone, Debug)]
pub struct Signature<'m> {
    /// Shapes of the parameters, by number.
    pub parameters: Vec<&'m Shape>,
    /// Shape of the root.
    pub result: &'m Shape,
}

impl Computation {
    /// Returns the signature of the computation; `None` if the root is out of range.
    pub fn signature(&self) -> Option<Signature<'_>> {
        let parameters = self.parameters().into_iter().map(|id| &self.instruction(id).shape).collect();
        Some(Signature { parameters, result: &self.instructions.get(self.root.index())?.shape })
    }
}

/// Infers the shape of an operation of a module. If the operands do not determine the result, this
/// function needs the `declared` shape.
///
/// # Errors
/// The error says in one sentence why the operation is invalid.
pub fn infer_shape(module: &Module, op: &Op, operands: &[&Shape], declared: Option<&Shape>) -> Result<Shape, String> {
    let callee = |id: ComputationId| module.computations.get(id.index()).and_then(Computation::signature);
    infer(&Site { op, operands, declared, callee: &callee })
}

/// Infers the shape of an operation as [`infer_shape`] does. `callee` returns the signatures of the
/// computations that the operation may call.
///
/// # Errors
/// The error says in one sentence why the operation is invalid.
pub fn infer_shape_with<'a>(
    op: &'a Op,
    operands: &'a [&'a Shape],
    declared: Option<&'a Shape>,
    callee: &'a dyn Fn(ComputationId) -> Option<Signature<'a>>,
) -> Result<Shape, String> {
    infer(&Site { op, operands, declared, callee })
}

/// An operation and everything that determines the shape of its result.
pub(crate) struct Site<'a> {
    pub op: &'a Op,
    pub operands: &'a [&'a Shape],
    pub declared: Option<&'a Shape>,
    pub callee: &'a dyn Fn(ComputationId) -> Option<Signature<'a>>,
}

impl<'a> Site<'a> {
    fn name(&self) -> &'static str {
        self.op.opcode().name()
    }

    fn operand_count(&self, expected: usize) -> Inferred<()> {
        let found = self.operands.len();
        ensure!(found == expected, "{} takes {expected} operands, found {found}", self.name());
        Ok(())
    }

    fn operand(&self, position: usize) -> Inferred<&'a Shape> {
        let found = self.operands.len();
        let missing = || format!("{} takes more than {position} operands, found {found}", self.name());
        self.operands.get(position).copied().ok_or_else(missing)
    }

    fn array(&self, position: usize) -> Inferred<&'a ArrayShape> {
        let shape = self.operand(position)?;
        shape.as_array().ok_or_else(|| format!("operand {position} of {} must be an array, is {shape}", self.name()))
    }

    /// Returns the only operand, which must be an array.
    fn only_array(&self) -> Inferred<&'a ArrayShape> {
        self.operand_count(1)?;
        self.array(0)
    }

    fn scalar(&self, position: usize) -> Inferred<&'a ArrayShape> {
        let array = self.array(position)?;
        ensure!(array.rank() == 0, "operand {position} of {} must be a scalar, is {array}", self.name());
        Ok(array)
    }

    fn declared(&self) -> Inferred<&'a Shape> {
        self.declared.ok_or_else(|| format!("{} needs a shape before its opcode", self.name()))
    }

    fn declared_array(&self) -> Inferred<&'a ArrayShape> {
        let shape = self.declared()?;
        shape.as_array().ok_or_else(|| format!("the result of {} must be an array, is {shape}", self.name()))
    }

    fn callee(&self, id: ComputationId) -> Inferred<Signature<'a>> {
        (self.callee)(id).ok_or_else(|| format!("{} calls a computation that is not in the module", self.name()))
    }
}

/// Checks that all dimension numbers are in range and distinct.
fn distinct_dims(what: &str, dims: &[i64], rank: usize) -> Inferred<()> {
    let mut seen = vec![false; rank];
    for &dim in dims {
        let place = usize::try_from(dim).ok().and_then(|dim| seen.get_mut(dim));
        let Some(place) = place else {
            return Err(format!("{what} names dimension {dim}, but there are {rank} dimensions"));
        };
        ensure!(!*place, "{what} names dimension {dim} twice");
        *place = true;
    }
    Ok(())
}

/// Checks that a dimension number is in range.
fn dimension(what: &str, dim: i64, rank: usize) -> Inferred<usize> {
    let found = usize::try_from(dim).ok().filter(|&dim| dim < rank);
    found.ok_or_else(|| format!("{what} is dimension {dim}, but there are {rank} dimensions"))
}

/// Returns the sizes of the dimensions `dims`. The caller has checked that these dimensions exist.
fn sizes_of(shape: &ArrayShape, dims: &[i64]) -> Vec<i64> {
    dims.iter().map(|&dim| shape.dims[dim as usize]).collect()
}

fn array(element_type: ElementType, dims: impl Into<Vec<i64>>) -> Inferred {
    Ok(Shape::array(element_type, dims))
}

/// Infers the shape of an operation's result.
pub(crate) fn infer(site: &Site) -> Inferred {
    match site.op {
        Op::Unary(op) => elementwise::unary(site, *op),
        Op::Binary(op) => elementwise::binary(site, *op),
        Op::Compare { order, .. } => elementwise::compare(site, *order),
        Op::Select => elementwise::select(site),
        Op::Clamp => elementwise::clamp(site),
        Op::Convert => elementwise::convert(site),
        Op::BitcastConvert => elementwise::bitcast_convert(site),
        Op::StochasticConvert => elementwise::stochastic_convert(site),
        Op::ReducePrecision { exponent_bits, mantissa_bits } => {
            elementwise::reduce_precision(site, *exponent_bits, *mantissa_bits)
        }
        Op::Constant(literal) => shaping::constant(site, literal),
        Op::Iota { dimension } => shaping::iota(site, *dimension),
        Op::Parameter { number } => shaping::parameter(site, *number),
        Op::Broadcast { dimensions } => shaping::broadcast(site, dimensions),
        Op::Reshape => shaping::reshape(site),
        Op::Bitcast => shaping::bitcast(site),
        Op::Transpose { permutation } => shaping::transpose(site, permutation),
        Op::Reverse { dimensions } => shaping::reverse(site, dimensions),
        Op::Concatenate { dimension } => shaping::concatenate(site, *dimension),
        Op::Slice { dims } => shaping::slice(site, dims),
        Op::Pad { dims } => shaping::pad(site, dims),
        Op::DynamicSlice { sizes } => indexed::dynamic_slice(site, sizes),
        Op::DynamicUpdateSlice => indexed::dynamic_update_slice(site),
        Op::Gather(dims) => indexed::gather(site, dims),
        Op::Scatter { dims, to_apply } => indexed::scatter(site, dims, *to_apply),
        Op::Reduce { dimensions, to_apply } => reduction::reduce(site, dimensions, *to_apply),
        Op::ReduceWindow { window, to_apply } => window::reduce_window(site, window, *to_apply),
        Op::SelectAndScatter { window, select, scatter } => window::select_and_scatter(site, window, *select, *scatter),
        Op::Map { dimensions, to_apply } => reduction::map(site, dimensions, *to_apply),
        Op::Scan { dimension, num_carries, .. } => reduction::scan(site, *dimension, *num_carries),
        Op::Sort { dimension, to_apply, .. } => reduction::sort(site, *dimension, *to_apply),
        Op::Topk { k, .. } => reduction::topk(site, *k),
        Op::Dot(dims) => contraction::dot(site, dims),
        Op::RaggedDot { dims, lhs_ragged_dims, rhs_group_dims } => {
            contraction::ragged_dot(site, dims, lhs_ragged_dims, rhs_group_dims)
        }
        Op::ScaledDot(dims) => contraction::scaled_dot(site, dims),
        Op::Convolution(attrs) => window::convolution(site, attrs),
        Op::Fft { kind, length } => linear_algebra::fft(site, *kind, length),
        Op::Cholesky { .. } => linear_algebra::cholesky(site),
        Op::TriangularSolve { left_side, .. } => linear_algebra::triangular_solve(site, *left_side),
        Op::BatchNormTraining { feature_index, .. } => linear_algebra::batch_norm_training(site, *feature_index),
        Op::BatchNormInference { feature_index, .. } => linear_algebra::batch_norm_inference(site, *feature_index),
        Op::BatchNormGrad { feature_index, .. } => linear_algebra::batch_norm_grad(site, *feature_index),
        Op::Rng { .. } => linear_algebra::rng(site),
        Op::RngBitGenerator { .. } => linear_algebra::rng_bit_generator(site),
        Op::RngGetAndUpdateState { .. } => linear_algebra::rng_state(site),
        Op::While { condition, body } => control::while_loop(site, *condition, *body),
        Op::Conditional { branches } => control::conditional(site, branches),
        Op::Call { to_apply } => control::call(site, *to_apply),
        Op::Fusion { calls, .. } => control::call(site, *calls),
        Op::CustomCall(attrs) => control::custom_call(site, attrs),
        Op::Tuple => control::tuple(site.operands),
        Op::GetTupleElement { index } => control::get_tuple_element(site, *index),
        Op::OptBarrier => control::one_or_tuple(site.operands),
        Op::AfterAll => control::after_all(site),
        Op::AddDependency => control::add_dependency(site),
        Op::Copy => control::copy(site),
        Op::GetDimensionSize { dimension } => control::get_dimension_size(site, *dimension),
        Op::SetDimensionSize { dimension } => control::set_dimension_size(site, *dimension),
        Op::PartitionId | Op::ReplicaId => control::device_number(site),
        Op::Other { .. } => site.declared().cloned(),
    }
}
