//! A collective operation: its arrays, and what each device of a group receives.

use std::fmt;

use fusebox_core::hlo::{ArrayShape, BinaryOp, Collective, CollectiveKind};

use super::combine::combine;
use super::pieces::{Blocks, copy};
use crate::elements::scratch;
use crate::error::{RoutineError, Unsupported};
use crate::operation::Operation;

/// The arrays that a device sends, one per operand.
pub type SentArrays = Vec<Vec<u8>>;

/// A collective operation on arrays of known shapes.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectiveCall {
    /// Name of the instruction.
    pub name: String,
    /// Name of the operation.
    pub opcode: String,
    /// The kind and the groups of the exchange.
    pub collective: Collective,
    operands: Vec<ArrayShape>,
    results: Vec<ArrayShape>,
}

impl CollectiveCall {
    /// Reads an operation and checks its shapes.
    ///
    /// # Errors
    /// If fusebox does not support the operation.
    pub fn of(operation: &Operation) -> Result<CollectiveCall, Unsupported> {
        let instruction = operation.instruction;
        let collective = Collective::of(operation.module, instruction).map_err(Unsupported)?;
        let arrays = |list: Vec<&ArrayShape>| list.into_iter().cloned().collect();
        let call = CollectiveCall {
            name: instruction.name.clone(),
            opcode: instruction.opcode().name().to_owned(),
            collective,
            operands: arrays(operation.arguments()),
            results: arrays(operation.results()),
        };
        call.check()?;
        Ok(call)
    }

    /// Checks everything about the operation that does not depend on the number of devices in a
    /// group.
    fn check(&self) -> Result<(), Unsupported> {
        let CollectiveCall { operands, results, .. } = self;
        let wrong = |message: &str| Err(Unsupported::new(format!("{} {message}", self.opcode)));
        if operands.len() != results.len() {
            return wrong("with unequal numbers of operands and results");
        }
        for (operand, result) in operands.iter().zip(results) {
            let along = match self.collective.kind {
                CollectiveKind::AllGather(d)
                | CollectiveKind::ReduceScatter(_, d)
                | CollectiveKind::AllToAll(Some(d)) => Some(d),
                _ => None,
            };
            if along.is_some_and(|d| d >= operand.dims.len()) {
                return wrong("along a dimension that does not exist");
            }
            let is_equal = |d: usize| operand.dims[d] == result.dims[d];
            let may_differ = !matches!(self.collective.kind, CollectiveKind::AllToAll(_));
            let same_rank = operand.element_type == result.element_type && operand.dims.len() == result.dims.len();
            if !same_rank || !(0..operand.dims.len()).all(|d| (may_differ && along == Some(d)) || is_equal(d)) {
                return wrong("whose results do not fit its operands");
            }
            if let Some(op) = self.combiner().filter(|op| combine(*op, operand.element_type).is_none()) {
                let (op, element) = (op.opcode().name(), operand.element_type);
                return wrong(&format!("by {op} of {element} is not supported"));
            }
        }
        match self.collective.kind {
            CollectiveKind::AllToAll(None) if operands.windows(2).any(|pair| pair[0] != pair[1]) => {
                wrong("of operands with different shapes")
            }
            _ => Ok(()),
        }
    }

    fn combiner(&self) -> Option<BinaryOp> {
        match self.collective.kind {
            CollectiveKind::AllReduce(op) | CollectiveKind::ReduceScatter(op, _) => Some(op),
            _ => None,
        }
    }

    /// Checks that the shapes fit a group of this size.
    ///
    /// # Errors
    /// If the shapes do not fit.
    pub fn check_group(&self, size: usize) -> Result<(), RoutineError> {
        let size = size as i64;
        let fits = |operand: &ArrayShape, result: &ArrayShape| match self.collective.kind {
            CollectiveKind::AllGather(d) => operand.dims[d].checked_mul(size) == Some(result.dims[d]),
            CollectiveKind::ReduceScatter(_, d) => result.dims[d].checked_mul(size) == Some(operand.dims[d]),
            CollectiveKind::AllToAll(Some(d)) => operand.dims[d] % size == 0,
            CollectiveKind::AllToAll(None) => self.operands.len() as i64 == size,
            _ => true,
        };
        if self.operands.iter().zip(&self.results).all(|(operand, result)| fits(operand, result)) {
            Ok(())
        } else {
            Err(RoutineError::Value(format!("the shapes do not fit a group of {size} devices")))
        }
    }

    /// Whether another operation exchanges arrays of the same shapes in the same way.
    pub fn is_same_exchange(&self, other: &CollectiveCall) -> bool {
        self.collective == other.collective && self.operands == other.operands && self.results == other.results
    }

    /// Returns copies of arrays that a device sends.
    ///
    /// # Errors
    /// If memory is short, or an array has the wrong size.
    pub fn copied(&self, sent: &[&[u8]]) -> Result<SentArrays, RoutineError> {
        if !sent.iter().map(|bytes| bytes.len() as i64).eq(self.operands.iter().map(ArrayShape::byte_size)) {
            return Err(RoutineError::Buffer);
        }
        let copy = |bytes: &&[u8]| {
            let mut copy = scratch::<u8>(bytes.len())?;
            copy.copy_from_slice(bytes);
            Ok(copy)
        };
        sent.iter().map(copy).collect()
    }

    /// Returns the source arrays of a group: [`CollectiveCall::receive`] copies from these arrays
    /// the elements that each device receives. `sent` contains the arrays of all devices of the
    /// group, in the order of the devices' ranks. If the operation combines arrays, returns only
    /// the combined arrays.
    pub fn together(&self, mut sent: Vec<SentArrays>) -> Vec<SentArrays> {
        let Some(op) = self.combiner() else { return sent };
        let others = sent.split_off(1);
        for (number, shape) in self.operands.iter().enumerate() {
            let Some(combine) = combine(op, shape.element_type) else { continue };
            for other in &others {
                combine(op, shape.element_type, &mut sent[0][number], &other[number]);
            }
        }
        sent
    }

    /// Writes the arrays that a device receives. `together` is the result of
    /// [`CollectiveCall::together`] for the group of the device, and `rank` is the rank of the
    /// device in this group.
    ///
    /// # Errors
    /// If an array has the wrong size.
    pub fn receive(
        &self,
        (group, rank): (&[i64], usize),
        together: &[SentArrays],
        received: &mut [&mut [u8]],
    ) -> Result<(), RoutineError> {
        let shapes = self.operands.iter().zip(&self.results);
        for (number, ((operand, result), to)) in shapes.zip(received.iter_mut()).enumerate() {
            let element = operand.element_type.byte_size();
            let from = |rank: usize| together[rank][number].as_slice();
            let outcome = match &self.collective.kind {
                CollectiveKind::AllReduce(_) | CollectiveKind::Broadcast => whole(from(0), to),
                CollectiveKind::ReduceScatter(_, d) => {
                    let (source, target) =
                        (Blocks::along(&operand.dims, *d, element), Blocks::along(&result.dims, *d, element));
                    copy((from(0), source, rank * target.size), (to, target, 0), target.size)
                }
                CollectiveKind::AllGather(d) => {
                    let (source, target) =
                        (Blocks::along(&operand.dims, *d, element), Blocks::along(&result.dims, *d, element));
                    (0..group.len())
                        .try_for_each(|it| copy((from(it), source, 0), (to, target, it * source.size), source.size))
                }
                CollectiveKind::AllToAll(Some(d)) => {
                    let blocks = Blocks::along(&operand.dims, *d, element);
                    let part = blocks.size / group.len();
                    (0..group.len())
                        .try_for_each(|it| copy((from(it), blocks, rank * part), (to, blocks, it * part), part))
                }
                CollectiveKind::AllToAll(None) => whole(&together[number][rank], to),
                CollectiveKind::Permute(pairs) => {
                    let source = pairs.iter().find(|(_, target)| *target == group[rank]).map(|(source, _)| source);
                    match source.and_then(|source| group.iter().position(|it| it == source)) {
                        Some(source) => whole(from(source), to),
                        None => {
                            to.fill(0);
                            Some(())
                        }
                    }
                }
            };
            outcome.ok_or(RoutineError::Buffer)?;
        }
        Ok(())
    }
}

fn whole(from: &[u8], to: &mut [u8]) -> Option<()> {
    (from.len() == to.len()).then(|| to.copy_from_slice(from))
}

impl fmt::Display for CollectiveCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an exchange among devices: {}", self.opcode)?;
        self.combiner().map_or(Ok(()), |op| write!(f, " by {}", op.opcode()))
    }
}
