//! The scatter of a fusion.

use std::collections::HashSet;

use fusebox_core::analysis::{Combination, ScatterShape};
use fusebox_core::emitter::{Analysis, Decline, Fusion, Work};
use fusebox_core::hlo::{BinaryOp, Computation, ElementType, InstrId, Op};

/// Maximum number of updates that the emitters accept, and maximum number of elements of the
/// operand. No memory holds more elements. Up to this number, the counts in a plan do not overflow.
const MOST_POINTS: i64 = 1 << 40;

/// Number of reads of index vectors up to which visiting all slices for every element is cheap. Up
/// to this number of reads, predictions penalise schedules whose results may differ from run to
/// run.
const CHEAP_WALK: i64 = 1 << 24;

/// The scatter of a fusion.
pub struct ScatterProblem {
    pub instruction: InstrId,
    /// Correspondence between the dimensions of the scatter's operands.
    pub shape: ScatterShape,
    /// Numbers of the parameters that are the initial values of the outputs.
    pub initial: Vec<u32>,
    pub indices: InstrId,
    /// Whether the fusion reads index vectors in an order that differs from their order in memory,
    /// for example because the fusion computes the index vectors by a concatenate.
    pub moves_indices: bool,
    /// Type of an index vector's components.
    pub index_type: ElementType,
    /// The updates, one for each output.
    pub updates: Vec<InstrId>,
    /// Element types of the outputs.
    pub elements: Vec<ElementType>,
    /// For each output, the operation that combines an element with its update.
    pub combinations: Vec<Combination>,
}

impl Analysis for ScatterProblem {
    fn of(fusion: &Fusion) -> Result<Self, Decline> {
        let computation = fusion.computation();
        let &[root] = fusion.roots.as_slice() else {
            return Err(Decline::new("the fusion has several results; a scatter is the only one of its kernel"));
        };
        let instruction = computation.instruction(root);
        if !matches!(instruction.op, Op::Scatter { .. }) {
            return Err(Decline::at(instruction, "the result is no scatter"));
        }
        let Some(shape) = ScatterShape::of(computation, instruction) else {
            return Err(Decline::at(instruction, "the dimension numbers are inconsistent"));
        };
        let (targets, rest) = instruction.operands.split_at(shape.arrays);
        let users = computation.users();
        let mut initial = Vec::new();
        for &target in targets {
            let operand = computation.instruction(target);
            let uses = instruction.operands.iter().filter(|&&o| o == target).count();
            match operand.op {
                Op::Parameter { number } if users[target.index()].len() == 1 && uses == 1 => {
                    initial.push(number as u32)
                }
                Op::Parameter { .. } => {
                    return Err(Decline::at(
                        operand,
                        "another operation also reads the array that the scatter updates",
                    ));
                }
                _ => {
                    return Err(Decline::at(
                        operand,
                        "the array that the scatter updates is no parameter of the fusion",
                    ));
                }
            }
        }
        let element = |id: InstrId| computation.instruction(id).shape.as_array().map(|array| array.element_type);
        let elements: Option<Vec<ElementType>> = targets.iter().map(|&id| element(id)).collect();
        let (Some(elements), Some(index_type)) = (elements, element(rest[0])) else {
            return Err(Decline::at(instruction, "an operand is no array"));
        };
        if !index_type.is_integer() {
            return Err(Decline::at(instruction, "the indices are no integers"));
        }
        if !shape.can_fit() {
            return Err(Decline::at(instruction, "a slice is larger than the operand"));
        }
        if shape.slices().saturating_mul(shape.window_elements()).max(shape.operand_elements()) > MOST_POINTS {
            return Err(Decline::at(instruction, "there are too many elements"));
        }
        Ok(ScatterProblem {
            instruction: root,
            initial,
            indices: rest[0],
            moves_indices: is_moved(computation, rest[0]),
            index_type,
            updates: rest[1..].to_vec(),
            elements,
            combinations: Combination::of(&fusion.module, instruction),
            shape,
        })
    }
}

/// Whether an element of a value depends on elements at a different row-major position of the
/// arrays that the fusion reads.
fn is_moved(computation: &Computation, value: InstrId) -> bool {
    let mut pending = vec![value];
    let mut seen = HashSet::new();
    while let Some(id) = pending.pop() {
        if !seen.insert(id) {
            continue;
        }
        let instruction = computation.instruction(id);
        let is_one =
            |id: InstrId| computation.instruction(id).shape.as_array().is_some_and(|array| array.element_count() == 1);
        match &instruction.op {
            Op::Parameter { .. } | Op::Constant(_) | Op::Iota { .. } => {}
            Op::Broadcast { .. } if is_one(instruction.operands[0]) => {}
            op if op.is_reshape() || op.is_elementwise() => pending.extend(&instruction.operands),
            _ => return true,
        }
    }
    false
}

impl ScatterProblem {
    /// # Errors
    /// If no atomic operation can combine updates of one element.
    pub fn check_atomic(&self) -> Result<(), Decline> {
        if self.is_order_free() || self.can_be_atomic() {
            Ok(())
        } else {
            Err(Decline::new("no atomic operation combines these updates"))
        }
    }

    /// Whether every order of updates gives bitwise the same result.
    pub fn is_order_free(&self) -> bool {
        self.shape.unique || self.combinations.iter().zip(&self.elements).all(|(c, &e)| c.is_order_free(e))
    }

    /// Whether atomic operations can update the outputs, one operation per element. For elements
    /// wider than eight bytes, an atomic operation can only replace the element. Complex numbers of
    /// any width can also be added, because the kernel adds the two parts separately.
    pub fn can_be_atomic(&self) -> bool {
        self.combinations.iter().zip(&self.elements).all(|(combination, element)| match combination {
            Combination::Joint => false,
            Combination::Replace => true,
            Combination::Binary(BinaryOp::Add) if element.is_complex() => true,
            _ => element.byte_size() <= 8,
        })
    }

    /// Returns the number of updates of one operand.
    pub fn update_elements(&self) -> i64 {
        self.shape.slices().saturating_mul(self.shape.window_elements())
    }

    /// Whether a kernel that visits all slices for every element reads few index vectors.
    fn is_cheap_to_walk(&self) -> bool {
        self.shape.operand_elements().saturating_mul(self.shape.slices()) <= CHEAP_WALK
    }

    /// Returns the number of updates of all operands.
    pub fn combined_elements(&self) -> i64 {
        self.update_elements().saturating_mul(self.shape.arrays as i64)
    }

    /// Returns the work if threads combine `together` updates before each atomic operation.
    pub fn atomically(&self, together: i64) -> Work {
        // If slices are sorted, adjacent updates often change the same element and wait for each
        // other.
        let meet = if self.shape.sorted && !self.shape.unique && together == 1 { 2.0 } else { 1.0 };
        if self.shape.unique {
            Work { additions: self.combined_elements() as f64, ..Work::default() }
        } else {
            Work {
                atomics: meet * self.combined_elements() as f64 / together as f64,
                unordered: !self.is_order_free() && self.is_cheap_to_walk(),
                ..Work::default()
            }
        }
    }

    /// Returns the number of bytes of the smallest element of an output.
    pub fn smallest_element(&self) -> i64 {
        self.elements.iter().map(|e| e.byte_size() as i64).min().unwrap_or(1)
    }

    /// Returns the number of bytes of the widest element of an output.
    pub fn widest_element(&self) -> i64 {
        self.elements.iter().map(|e| e.byte_size() as i64).max().unwrap_or(1)
    }
}
