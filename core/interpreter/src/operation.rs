//! Dispatch of opcodes to the functions that evaluate them.

use fusebox_core::hlo::{ArrayShape, Computation, ElementType, Instruction, Op, Shape};

use crate::caller::Caller;
use crate::error::{Outcome, malformed, unsupported};
use crate::operands::Operands;
use crate::value::{Array, Data, Scalar, Value, dims_of};
use crate::{
    batch_norm, collective, contraction, convolution, custom_call, dynamic, elementwise, fft, gather, int4, linalg,
    movement, random, reduce, scan, scatter, sort, window,
};

/// Evaluates an instruction other than control flow.
pub(crate) fn evaluate(
    caller: &mut dyn Caller,
    computation: &Computation,
    instruction: &Instruction,
    operands: Vec<Value>,
) -> Outcome<Value> {
    let mut operands = Operands(operands);
    match &instruction.op {
        Op::Tuple => Ok(Value::Tuple(operands.0)),
        Op::GetTupleElement { index } => operands.element(*index),
        Op::OptBarrier | Op::Copy => match operands.0.len() {
            0 => malformed("an operand is missing"),
            _ => Ok(Value::one_or_tuple(operands.0)),
        },
        Op::AddDependency => operands.take_first(),
        Op::AfterAll => Ok(Value::Token),
        Op::PartitionId if let Some(device) = caller.device() => {
            Ok(Array::scalar(ElementType::U32, Scalar::Int(device.number)).into())
        }
        Op::Sort { dimension, to_apply, .. } => sort::sort(caller, operands.0, *dimension, *to_apply),
        Op::Reduce { dimensions, to_apply } => reduce::reduce(caller, &operands.0, dimensions, *to_apply),
        Op::ReduceWindow { window, to_apply } => window::reduce_window(caller, &operands.0, window, *to_apply),
        Op::Scatter { dims, to_apply } => scatter::scatter(caller, operands.0, dims, *to_apply),
        Op::Topk { k, largest, .. } => sort::topk(operands.array(0)?, *k, *largest),
        Op::Scan { .. } => scan::scan(caller, instruction, operands.0),
        Op::BatchNormTraining { epsilon, feature_index } => {
            batch_norm::training(operands.arrays()?, *epsilon, *feature_index)
        }
        Op::BatchNormInference { epsilon, feature_index } => {
            batch_norm::inference(operands.arrays()?, *epsilon, *feature_index)
        }
        Op::BatchNormGrad { epsilon, feature_index } => {
            batch_norm::gradient(operands.arrays()?, *epsilon, *feature_index)
        }
        Op::RngBitGenerator { .. } => random_bits(instruction, &operands),
        Op::CustomCall(attrs) => custom_call::evaluate(caller, instruction, attrs, operands),
        Op::Other { opcode, called, attributes } => {
            let called: Vec<_> = called.iter().flat_map(|(_, ids)| ids.iter().copied()).collect();
            collective::evaluate(caller, instruction, *opcode, attributes, &called, operands)
        }
        _ => {
            let shape = array_shape(instruction)?;
            if shape.has_dynamic_size() && instruction.op.is_elementwise() {
                dynamic::cut_alike(&mut operands)?;
            }
            let dims = dynamic::actual_dims(caller.module(), instruction, shape, &operands)?;
            let ty = shape.element_type;
            array_result(caller, computation, instruction, operands, ty, dims).map(Value::from)
        }
    }
}

fn array_shape(instruction: &Instruction) -> Outcome<&ArrayShape> {
    instruction.shape.as_array().map_or_else(|| malformed("the result must be an array"), Ok)
}

/// Evaluates an operation whose result is one array.
fn array_result(
    caller: &mut dyn Caller,
    computation: &Computation,
    instruction: &Instruction,
    mut operands: Operands,
    ty: ElementType,
    dims: Vec<usize>,
) -> Outcome<Array> {
    let computing = |x: &Array| int4::computing_type(&instruction.op, x.ty);
    match &instruction.op {
        Op::Unary(op) => elementwise::unary(*op, operands.array(0)?, ty, computing(operands.array(0)?)),
        Op::Binary(op) => {
            elementwise::binary(*op, operands.array(0)?, operands.array(1)?, computing(operands.array(0)?))
        }
        Op::Compare { direction, order } => {
            elementwise::compare(*direction, *order, operands.array(0)?, operands.array(1)?)
        }
        Op::Select => elementwise::select(operands.array(0)?, operands.array(1)?, operands.array(2)?),
        Op::Clamp => elementwise::clamp(operands.array(0)?, operands.array(1)?, operands.array(2)?),
        Op::Convert => elementwise::convert(operands.array(0)?, ty),
        Op::BitcastConvert => elementwise::bitcast_convert(operands.array(0)?, ty, dims),
        Op::StochasticConvert => elementwise::stochastic_convert(operands.array(0)?, operands.array(1)?, ty),
        Op::ReducePrecision { exponent_bits, mantissa_bits } => {
            elementwise::reduce_precision(operands.array(0)?, *exponent_bits, *mantissa_bits)
        }
        Op::Iota { dimension } => movement::iota(ty, dims, *dimension),
        Op::Broadcast { dimensions } => movement::broadcast(operands.array(0)?, dimensions, dims),
        Op::Reshape => movement::reshape(operands.take_first()?.into_array()?, dims),
        Op::Bitcast => bitcast(computation, instruction, operands, dims),
        Op::Transpose { permutation } => movement::transpose(operands.array(0)?, permutation),
        Op::Reverse { dimensions } => movement::reverse(operands.array(0)?, dimensions),
        Op::Concatenate { dimension } => movement::concatenate(&operands.rest(0)?, *dimension, ty, dims),
        Op::Slice { dims } => movement::slice(operands.array(0)?, dims),
        Op::Pad { dims: padding } => movement::pad(operands.array(0)?, operands.array(1)?, padding, dims),
        Op::DynamicSlice { .. } => movement::dynamic_slice(operands.array(0)?, &operands.rest(1)?, &dims),
        Op::DynamicUpdateSlice => {
            let array = operands.take_first()?.into_array()?;
            movement::dynamic_update_slice(array, operands.array(0)?, &operands.rest(1)?)
        }
        Op::Gather(numbers) => gather::gather(operands.array(0)?, operands.array(1)?, numbers, dims),
        Op::SelectAndScatter { window, select, scatter } => {
            window::select_and_scatter(caller, &operands.0, window, *select, *scatter)
        }
        Op::Map { to_apply, .. } => reduce::map(caller, &operands.0, *to_apply, ty),
        Op::Dot(numbers) => {
            let [lhs, rhs] = operands.arrays()?;
            // Products of floats are not computed in four bits. Only the sum of the products is
            // converted to a four-bit type.
            let integers = [lhs, rhs].iter().all(|x| x.ty.is_integer_or_pred());
            let wide = if integers { int4::computing_type(&instruction.op, ty) } else { ty };
            let result = contraction::dot(lhs, rhs, numbers, wide, dims)?;
            Ok(Array { ty, ..result })
        }
        Op::RaggedDot { dims: numbers, lhs_ragged_dims, rhs_group_dims } => {
            contraction::ragged_dot(operands.arrays()?, numbers, lhs_ragged_dims, rhs_group_dims, ty, dims)
        }
        Op::ScaledDot(numbers) => {
            let [lhs, rhs, lhs_scale, rhs_scale] = operands.arrays()?;
            let (lhs, rhs) = (contraction::scaled(lhs, lhs_scale)?, contraction::scaled(rhs, rhs_scale)?);
            contraction::dot(&lhs, &rhs, numbers, ty, dims)
        }
        Op::Convolution(attrs) => convolution::convolution(operands.array(0)?, operands.array(1)?, attrs, ty, dims),
        Op::Fft { kind, length } => fft::fft(operands.array(0)?, *kind, length, ty, dims),
        Op::Cholesky { lower } => linalg::cholesky(operands.array(0)?, *lower),
        Op::TriangularSolve { left_side, lower, unit_diagonal, transpose_a } => {
            let form = linalg::TriangularForm {
                left: *left_side,
                lower: *lower,
                unit_diagonal: *unit_diagonal,
                transpose: *transpose_a,
            };
            linalg::triangular_solve(operands.array(0)?, operands.array(1)?, form)
        }
        Op::Rng { distribution } => {
            let (a, b) = (operands.array(0)?.single()?, operands.array(1)?.single()?);
            caller.generator().rng(*distribution, a, b, ty, dims)
        }
        Op::RngGetAndUpdateState { delta } => caller.generator().get_and_update_state(*delta, ty, dims),
        Op::GetDimensionSize { dimension } => {
            let x = operands.array(0)?;
            let size = x.dims[movement::dimension_number(*dimension, x.rank())?];
            Ok(Array::new(ElementType::S32, Vec::new(), Data::Int(vec![size as i64])))
        }
        Op::SetDimensionSize { dimension } => {
            dynamic::set_dimension_size(operands, *dimension, array_shape(instruction)?)
        }
        Op::PartitionId | Op::ReplicaId => Ok(Array::scalar(ty, Scalar::Int(0))),
        op => unsupported(format!("{} in this place", op.opcode())),
    }
}

fn bitcast(
    computation: &Computation,
    instruction: &Instruction,
    mut operands: Operands,
    dims: Vec<usize>,
) -> Outcome<Array> {
    let operand_shape = instruction.operands.first().and_then(|&o| computation.instruction(o).shape.as_array());
    let (Some(operand_shape), Shape::Array(shape)) = (operand_shape, &instruction.shape) else {
        return malformed("bitcast takes and gives an array");
    };
    movement::bitcast(operands.take_first()?.into_array()?, operand_shape, shape, dims)
}

fn random_bits(instruction: &Instruction, operands: &Operands) -> Outcome<Value> {
    let (Op::RngBitGenerator { algorithm }, Some([_, Shape::Array(bits)])) =
        (&instruction.op, instruction.shape.as_tuple())
    else {
        return malformed("rng-bit-generator gives a state and an array");
    };
    random::bit_generator(operands.array(0)?, *algorithm, bits.element_type, dims_of(bits)?)
}
