//! Operations by name.

use fusebox_core::hlo::{InstrId, Op, RandomAlgorithm, RandomDistribution};
use fusebox_edit::Builder;

use super::body::Body;
use super::functions::Importer;
use super::location::unsupported;
use super::{Imported, collectives, contraction, custom_call, elementwise, movement, regions, whole};
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
    if let Some(values) = passed_on(operation, &operands) {
        operation.results.iter().zip(values).for_each(|(&result, &value)| body.set(result, value));
        return Ok(());
    }
    let origin = importer.origin(operation)?;
    let added = edit.with_origin(origin, |edit| {
        let mut call = Call { importer, edit, body, operation, operands };
        call.add()
    })?;
    importer.set_results(edit, body, operation, added);
    Ok(())
}

/// Returns the results of an operation that only returns its operands.
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

/// An operation that is being converted.
pub(super) struct Call<'c, 'p, 'e, 'm> {
    pub importer: &'c mut Importer<'p>,
    pub edit: &'e mut Builder<'m>,
    pub body: &'c mut Body,
    pub operation: &'p Operation,
    pub operands: Vec<InstrId>,
}

impl Call<'_, '_, '_, '_> {
    /// Adds the operation's instructions. Returns the last one.
    fn add(&mut self) -> Imported<InstrId> {
        let operation = self.operation;
        match &*operation.name {
            "case" | "if" | "while" | "sdy.manual_computation" | "sdy.named_computation" => regions::control(self),
            "map" | "reduce" | "reduce_window" | "scatter" | "select_and_scatter" | "sort" => regions::applying(self),
            "call" => {
                let callee = operation.text("callee")?;
                self.call(callee)
            }
            "composite" => custom_call::composite(self),
            "custom_call" => custom_call::custom_call(self),
            name if name.starts_with("chlo.") => custom_call::of_library(self, name),
            "all_gather"
            | "all_reduce"
            | "all_to_all"
            | "collective_broadcast"
            | "collective_permute"
            | "reduce_scatter" => collectives::collective(self),
            "convolution" | "dot" | "dot_general" => contraction::contraction(self),
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
            | "transpose" => movement::movement(self),
            "after_all" | "create_token" => self.push(Op::AfterAll),
            "optimization_barrier" => self.barrier(),
            "partition_id" => self.push(Op::PartitionId),
            "replica_id" => self.push(Op::ReplicaId),
            "tuple" => self.push(Op::Tuple),
            "get_tuple_element" => self.push(Op::GetTupleElement { index: operation.integer("index")? }),
            "rng" => {
                let distribution = match operation.text("rng_distribution")? {
                    "NORMAL" => RandomDistribution::Normal,
                    _ => RandomDistribution::Uniform,
                };
                self.operands.truncate(2);
                self.push(Op::Rng { distribution })
            }
            "rng_bit_generator" => {
                let algorithm = match operation.text("rng_algorithm")? {
                    "THREE_FRY" => RandomAlgorithm::ThreeFry,
                    "PHILOX" => RandomAlgorithm::Philox,
                    _ => RandomAlgorithm::Default,
                };
                self.push(Op::RngBitGenerator { algorithm })
            }
            "batch_norm_grad"
            | "batch_norm_inference"
            | "batch_norm_training"
            | "cholesky"
            | "fft"
            | "triangular_solve" => whole::whole(self),
            _ => elementwise::elementwise(self),
        }
    }

    /// Adds an instruction with the operation's operands and results.
    pub(super) fn push(&mut self, op: Op) -> Imported<InstrId> {
        let shape = self.importer.shape(self.operation)?;
        let operands = std::mem::take(&mut self.operands);
        Ok(self.edit.add_shaped(op, shape, operands))
    }

    /// Calls a function with the operation's operands.
    pub(super) fn call(&mut self, callee: &str) -> Imported<InstrId> {
        let to_apply = self.importer.function(callee, self.operation)?;
        self.push(Op::Call { to_apply })
    }

    /// The operand of the HLO instruction is a tuple of all values of the barrier.
    fn barrier(&mut self) -> Imported<InstrId> {
        match self.operands[..] {
            [_] => self.push(Op::OptBarrier),
            _ => {
                let values = std::mem::take(&mut self.operands);
                let tuple = self.edit.tuple(values);
                Ok(self.edit.add(Op::OptBarrier, [tuple]))
            }
        }
    }

    /// Returns the sizes of the result's dimensions.
    pub(super) fn result_dims(&self) -> Imported<Vec<i64>> {
        let shape = self.importer.shape(self.operation)?;
        let array = shape.as_array().ok_or_else(|| unsupported(self.operation, "the result must be an array"))?;
        Ok(array.dims.clone())
    }

    /// Returns the number of dimensions of an operand.
    pub(super) fn rank(&self, operand: usize) -> usize {
        self.operands.get(operand).map_or(0, |&id| self.edit.dims(id).len())
    }

    /// Returns an error at the operation.
    pub(super) fn unsupported<T>(&self, message: impl Into<String>) -> Imported<T> {
        Err(unsupported(self.operation, message))
    }

    /// Returns the operands as an array. Fails if the operation does not have `N` operands.
    pub(super) fn exactly<const N: usize>(&self) -> Imported<[InstrId; N]> {
        let count = self.operands.len();
        <[InstrId; N]>::try_from(&self.operands[..])
            .or_else(|_| self.unsupported(format!("{N} operands are needed, not {count}")))
    }
}
