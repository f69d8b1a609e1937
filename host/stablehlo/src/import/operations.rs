//! Operations by name.

use fusebox_core::hlo::{InstrId, Op, RandomAlgorithm, RandomDistribution};
use fusebox_edit::Builder;

use super::body::Body;
use super::call::Call;
use super::importer::Importer;
use super::location::unsupported;
use super::types::check_arrays;
use super::{
    Imported, chlo, collectives, contraction, custom_call, dynamic, elementwise, manual, movement, regions, whole,
};
use crate::program::Operation;

/// Adds the instructions of an operation.
pub(super) fn operation<'p>(
    importer: &mut Importer<'p>,
    edit: &mut Builder,
    body: &mut Body,
    operation: &'p Operation,
) -> Imported<()> {
    // A constant is added where it is used.
    if &*operation.name == "constant" {
        return Ok(());
    }
    let operands = importer.operands(edit, body, operation)?;
    // Among several devices, shardings say how arrays may be divided.
    let is_constraint = importer.devices > 1 && is_constraint(operation);
    if let Some(values) = passed_on(operation, &operands).filter(|_| !is_constraint) {
        operation.results.iter().zip(values).for_each(|(&result, &value)| body.set(result, value));
        return Ok(());
    }
    if dynamic::assertion(importer, body, operation)? {
        return Ok(());
    }
    let origin = importer.origin(operation)?;
    if importer.is_refining
        && let (Some(known), [result]) = (importer.computed(edit, body, operation, &operands), &operation.results[..])
    {
        let constant = edit.with_origin(origin, |edit| edit.constant(known.literal()));
        body.set(*result, constant);
        body.set_known(*result, known);
        return Ok(());
    }
    let added = edit.with_origin(origin, |edit| add(&mut Call { importer, edit, body, operation, operands }))?;
    check_arrays(edit.shape(added)).map_err(|message| unsupported(operation, message))?;
    importer.set_results(edit, body, operation, added);
    Ok(())
}

fn is_constraint(operation: &Operation) -> bool {
    let is_marked = ["mhlo.sharding", "mhlo.frontend_attributes"].iter().any(|it| operation.attribute(it).is_some());
    match &*operation.name {
        "sdy.sharding_constraint" => true,
        "custom_call" => operation.text("call_target_name") == Ok("Sharding") && is_marked,
        _ => false,
    }
}

/// If an operation only passes on its operands as its results, returns the operands. Returns `None`
/// for all other operations.
fn passed_on<'o>(operation: &Operation, operands: &'o [InstrId]) -> Option<&'o [InstrId]> {
    match &*operation.name {
        // Shardings are hints.
        "sdy.sharding_constraint" | "sdy.propagation_barrier" | "sdy.sharding_group" => Some(operands),
        // Around operations of other dialects, an artifact converts types to the same types.
        "builtin.unrealized_conversion_cast" => Some(operands),
        // The second function keeps JAX itself from removing the computation of its operand.
        "custom_call" if matches!(operation.text("call_target_name"), Ok("Sharding" | "dce_sink")) => Some(operands),
        _ => None,
    }
}

/// Adds the operation's instructions. Returns the last instruction.
fn add(call: &mut Call) -> Imported<InstrId> {
    let operation = call.operation;
    if let Some(added) = dynamic::dynamic(call)? {
        return Ok(added);
    }
    match &*operation.name {
        "case" | "if" | "while" | "sdy.manual_computation" | "sdy.named_computation" => regions::control(call),
        "map" | "reduce" | "reduce_window" | "scatter" | "select_and_scatter" | "sort" => regions::applying(call),
        "call" => {
            let callee = operation.text("callee")?;
            call.call(callee)
        }
        "sdy.sharding_constraint" => manual::constraint(call),
        "composite" => chlo::composite(call),
        "custom_call" => custom_call::custom_call(call),
        "all_gather"
        | "all_reduce"
        | "all_to_all"
        | "collective_broadcast"
        | "collective_permute"
        | "reduce_scatter" => collectives::collective(call),
        "convolution" | "dot" | "dot_general" | "chlo.ragged_dot" => contraction::contraction(call),
        "broadcast"
        | "broadcast_in_dim"
        | "concatenate"
        | "dynamic_slice"
        | "dynamic_update_slice"
        | "gather"
        | "get_dimension_size"
        | "iota"
        | "pad"
        | "reshape"
        | "reverse"
        | "slice"
        | "transpose" => movement::movement(call),
        "after_all" | "create_token" => call.push(Op::AfterAll),
        "optimization_barrier" => barrier(call),
        "partition_id" => call.push(Op::PartitionId),
        "replica_id" => call.push(Op::ReplicaId),
        "tuple" => call.push(Op::Tuple),
        "get_tuple_element" => call.push(Op::GetTupleElement { index: operation.integer("index")? }),
        "rng" => {
            let distribution = match operation.text("rng_distribution")? {
                "NORMAL" => RandomDistribution::Normal,
                _ => RandomDistribution::Uniform,
            };
            call.operands.truncate(2);
            call.push(Op::Rng { distribution })
        }
        "rng_bit_generator" => {
            let algorithm = match operation.text("rng_algorithm")? {
                "THREE_FRY" => RandomAlgorithm::ThreeFry,
                "PHILOX" => RandomAlgorithm::Philox,
                _ => RandomAlgorithm::Default,
            };
            call.push(Op::RngBitGenerator { algorithm })
        }
        "batch_norm_grad"
        | "batch_norm_inference"
        | "batch_norm_training"
        | "cholesky"
        | "fft"
        | "triangular_solve" => whole::whole(call),
        name if name.starts_with("chlo.") => chlo::undefined(call, name),
        _ => elementwise::elementwise(call),
    }
}

/// Adds an optimisation barrier. The HLO instruction has one operand: the only value of the
/// barrier, or a tuple of all its values.
fn barrier(call: &mut Call) -> Imported<InstrId> {
    match call.operands[..] {
        [_] => call.push(Op::OptBarrier),
        _ => {
            let values = std::mem::take(&mut call.operands);
            let tuple = call.edit.tuple(values);
            Ok(call.edit.add(Op::OptBarrier, [tuple]))
        }
    }
}
