//! Finds the operand elements from which an instruction computes an element. The result also states
//! the loops and conditions that code generation needs.

use super::{Reading, Reason, Site, of_operand, window};
use crate::{Expr, ExprKind, Variable};
use fusebox_hlo::{Computation, InstrId, Instruction, Op, Shape};

/// All operand elements from which an instruction computes an element. An instruction with several
/// results computes one element of each result, all at the same index.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// Loop nests. Each nest is inside the previous nest. The variables of all nests, numbered
    /// consecutively, are the range variables of every map in `reads`.
    pub loops: Vec<Vec<Variable>>,
    /// The reads, in the order of the operands. The list omits an operand that is only an index
    /// into another operand. The map of the indexed operand uses the index as a runtime variable.
    pub reads: Vec<OperandRead>,
    /// Further indices that the operation itself uses. A `bitcast-convert` to a narrower type uses
    /// the number of the part within the wider element. A `select-and-scatter` uses the row-major
    /// positions of the element and of a candidate under the same window.
    pub indices: Vec<Expr>,
}

/// A read of an operand. The read happens at each point in the domain of its map.
#[derive(Clone, Debug, PartialEq)]
pub struct OperandRead {
    /// Index of the operand.
    pub operand: usize,
    /// The instruction that is read: the operand itself, or, if the operand is a `tuple` in the
    /// same computation, the instruction that computes the tuple's element.
    pub instruction: InstrId,
    /// Map from the index of the result to the index that is read. `access` does not simplify the
    /// map, so that the map keeps every range variable.
    pub reading: Reading,
    /// Number of another read, which replaces this read: code skips this read at all points that
    /// satisfy the constraints of the other read.
    pub unless: Option<usize>,
}

/// Returns the operand elements that are needed to compute one element of each result of an
/// instruction. [`output_to_input`](super::output_to_input) returns only the sets of elements,
/// without loops and conditions.
///
/// # Errors
/// The error says in words for the user why the elements are unknown.
pub fn access(computation: &Computation, instruction: &Instruction) -> Result<Access, String> {
    let site = Site { computation, id: None, instruction };
    let mut access = Access { loops: Vec::new(), reads: Vec::new(), indices: Vec::new() };
    for operand in 0..instruction.op.first_index().unwrap_or(instruction.operands.len()) {
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

/// Number of operand elements that an instruction combines into one element, at most `i64::MAX`.
/// The number exceeds 1 for reductions, products and convolutions.
pub fn combined_elements(computation: &Computation, instruction: &Instruction) -> i64 {
    match instruction.op {
        // Only these operations have loops. For all other operations, this function skips the
        // analysis, because callers ask often.
        Op::Reduce { .. } | Op::ReduceWindow { .. } | Op::Dot(_) | Op::Convolution(_) => {
            access(computation, instruction).map_or(1, |access| access.turns(access.loops.len()))
        }
        _ => 1,
    }
}

impl Access {
    /// Number of loop nests that must surround the code for an expression of a map. The innermost
    /// surrounding nest has a variable that the expression uses.
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

    /// Number of iterations of the first `nests` nests together, at most `i64::MAX`.
    pub fn turns(&self, nests: usize) -> i64 {
        let sizes = self.loops.iter().take(nests).flatten().map(|variable| variable.bounds.size());
        sizes.fold(1i64, |n, size| n.saturating_mul(i64::try_from(size).unwrap_or(i64::MAX)))
    }

    /// Handles a `bitcast-convert` between elements of different widths. If the result's elements
    /// are narrower, each of them is a part of an operand element, and the number of the part
    /// becomes an index. If the result's elements are wider, each of them consists of several
    /// operand elements, and the function adds one read per operand element.
    fn parts(&mut self, site: Site) -> Result<(), Reason> {
        let (output, operand) = (site.output_dims(0)?, site.operand_dims(0)?);
        if output.len() > operand.len() {
            self.indices.push(Expr::dim(operand.len() as u32));
        }
        let Some(&parts) = operand.get(output.len()) else { return Ok(()) };
        let Some(whole) = self.reads.pop() else { return Ok(()) };
        ensure!(parts <= MOST_PARTS, "an element consists of {parts} parts; the limit is {MOST_PARTS}");
        for part in 0..parts {
            let mut read = whole.clone();
            read.reading.map.ranges.clear();
            read.reading.map.results[output.len()] = Expr::constant(part);
            self.reads.push(read);
        }
        Ok(())
    }
}

/// Largest number of parts of an element. Elements that are not complex have at most 64 bits.
const MOST_PARTS: i64 = 64;

/// Finds the instruction that computes a leaf of `id`, and looks through tuples. Returns the found
/// instruction, and the number of the leaf in this instruction's shape.
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
