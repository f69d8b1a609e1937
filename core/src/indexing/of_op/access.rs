//! What an element of an instruction is computed from, in the form in which code for it is written.

use super::{Reading, Reason, Site, of_operand, window};
use crate::hlo::{Computation, InstrId, Instruction, Op, Shape};
use crate::indexing::{Expr, ExprKind, Variable};

/// Everything that an element of an instruction takes from its operands. If the instruction has several results, all
/// of them are computed together, at one index.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// Nests of loops, each inside the last one. Their variables, counted through all nests, are the range variables of
    /// every map below.
    pub loops: Vec<Vec<Variable>>,
    /// What is read, in the order of the operands. Operands that only say where others are read are not among them, but
    /// behind the runtime variables of the others' maps.
    pub reads: Vec<OperandRead>,
    /// Further indices that the operation itself computes with: which part of a wider element (`bitcast-convert`),
    /// row-major positions of the element and of a candidate (`select-and-scatter`).
    pub indices: Vec<Expr>,
}

/// An element of an operand that is read wherever its map is defined.
#[derive(Clone, Debug, PartialEq)]
pub struct OperandRead {
    /// Number of the operand.
    pub operand: usize,
    /// What is read: the operand, or the element of it if it is a tuple put together in the same computation.
    pub instruction: InstrId,
    /// From the result's index. Not simplified: every range variable is in its place.
    pub reading: Reading,
    /// Number of another read, where this one takes place: where that one's constraints do not hold.
    pub unless: Option<usize>,
}

/// How every result of an instruction is computed. See [`output_to_input`](super::output_to_input) for the sets of
/// elements alone.
///
/// # Errors
/// Why nothing is known of that, in words for the user.
pub fn access(computation: &Computation, instruction: &Instruction) -> Result<Access, String> {
    let site = Site { computation, id: None, instruction };
    let mut access = Access { loops: Vec::new(), reads: Vec::new(), indices: Vec::new() };
    let values = (0..site.instruction.operands.len()).filter(|&operand| !says_where(&site.instruction.op, operand));
    for operand in values {
        for reading in of_operand(site, operand, 0)? {
            let (instruction, leaf) = source(site, site.instruction.operands[operand], reading.leaf)?;
            let reading = reading.of_leaf(leaf);
            access.reads.push(OperandRead { operand, instruction, reading, unless: None });
        }
    }
    match &site.instruction.op {
        Op::BitcastConvert => access.parts(site)?,
        Op::DynamicUpdateSlice => access.reads[0].unless = Some(1),
        Op::SelectAndScatter { window, .. } => access.indices = window::candidate(site, window)?,
        _ => {}
    }
    let longest = access.reads.iter().map(|read| &read.reading.map.ranges).max_by_key(|ranges| ranges.len());
    let ranges = longest.cloned().unwrap_or_default();
    access.loops = match &site.instruction.op {
        Op::SelectAndScatter { .. } => ranges.chunks(ranges.len().div_ceil(2).max(1)).map(<[_]>::to_vec).collect(),
        Op::Reduce { .. } | Op::ReduceWindow { .. } | Op::Dot(_) | Op::Convolution(_) => vec![ranges],
        _ if ranges.is_empty() => Vec::new(),
        _ => vec![ranges],
    };
    Ok(access)
}

/// How many elements of its operands an instruction combines into one: above 1 where something is reduced. Saturates.
pub fn combined_elements(computation: &Computation, instruction: &Instruction) -> i64 {
    match instruction.op {
        // The only ones with loops; asked often, of all instructions.
        Op::Reduce { .. } | Op::ReduceWindow { .. } | Op::Dot(_) | Op::Convolution(_) => {
            access(computation, instruction).map_or(1, |access| access.turns(access.loops.len()))
        }
        _ => 1,
    }
}

impl Access {
    /// How many of the nests an expression of a map depends on: all up to the innermost one whose variables it names.
    pub fn loops_around(&self, expr: &Expr) -> usize {
        let mut nests = 0;
        expr.visit_leaves(&mut |leaf| {
            let ExprKind::Range(number) = leaf else { return };
            let mut end = 0;
            let holds = self.loops.iter().position(|nest| {
                end += nest.len();
                (*number as usize) < end
            });
            nests = nests.max(holds.map_or(0, |nest| nest + 1));
        });
        nests
    }

    /// The turns that a number of its nests take together; saturates.
    pub fn turns(&self, nests: usize) -> i64 {
        let sizes = self.loops.iter().take(nests).flatten().map(|variable| variable.bounds.size());
        sizes.fold(1i64, |n, size| n.saturating_mul(i64::try_from(size).unwrap_or(i64::MAX)))
    }

    /// The narrower side of a `bitcast-convert`: a part of an element by its number, or an element from all its parts.
    fn parts(&mut self, site: Site) -> Result<(), Reason> {
        let (output, operand) = (site.output_dims(0)?, site.operand_dims(0)?);
        if output.len() > operand.len() {
            self.indices.push(Expr::dim(operand.len() as u32));
        }
        let Some(&parts) = operand.get(output.len()) else { return Ok(()) };
        let Some(whole) = self.reads.pop() else { return Ok(()) };
        ensure!(parts <= MOST_PARTS, "an element is made of {parts} parts; {MOST_PARTS} is the most there are");
        for part in 0..parts {
            let mut read = whole.clone();
            read.reading.map.ranges.clear();
            read.reading.map.results[output.len()] = Expr::constant(part);
            self.reads.push(read);
        }
        Ok(())
    }
}

/// Parts of the widest element that is no pair: 64 bits, one by one.
const MOST_PARTS: i64 = 64;

/// Whether an operand only says where others are read.
fn says_where(op: &Op, operand: usize) -> bool {
    match op {
        Op::DynamicSlice { .. } | Op::Gather(_) => operand >= 1,
        Op::DynamicUpdateSlice => operand >= 2,
        _ => false,
    }
}

/// The instruction that makes a leaf of an instruction, and which of its own leaves that is: tuples are looked through.
fn source(site: Site, mut id: InstrId, mut leaf: usize) -> Result<(InstrId, usize), Reason> {
    loop {
        let instruction = site.computation.instruction(id);
        match &instruction.op {
            Op::Tuple => {
                let holder = site.computation.holder_of_leaf(instruction, leaf);
                (id, leaf) = holder.ok_or("the tuple has no such element")?;
            }
            _ if !matches!(instruction.shape, Shape::Tuple(_)) => return Ok((id, leaf)),
            Op::OptBarrier | Op::Copy => id = instruction.operands[0],
            Op::GetTupleElement { .. } | Op::Parameter { .. } => {
                return Err("nested tuples and tuple parameters are not followed".into());
            }
            _ => return Ok((id, leaf)),
        }
    }
}
