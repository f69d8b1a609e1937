//! The scatter of a fusion.

use std::collections::HashSet;

use fusebox_core::analysis::{Combination, ScatterShape};
use fusebox_core::emitter::{Analysis, Decline, Fusion, Work};
use fusebox_core::hlo::{BinaryOp, Computation, ElementType, InstrId, Op};

/// More updates than any memory holds; below it, no count in a plan overflows.
const MOST_POINTS: i64 = 1 << 40;

/// Up to so many looks at an index vector, a walk over all slices costs so little that the outcome may as well be certain.
const CHEAP_WALK: i64 = 1 << 24;

/// What is to be done.
pub struct Problem {
    /// The scatter.
    pub instruction: InstrId,
    /// How its dimensions correspond.
    pub shape: ScatterShape,
    /// Numbers of the parameters that the outputs start from.
    pub initial: Vec<u32>,
    /// The index vectors.
    pub indices: InstrId,
    /// Whether their elements lie in another order in what is read, as those of a concatenate do.
    pub moves_indices: bool,
    /// Type of a component of them.
    pub index_type: ElementType,
    /// The updates, one for each output.
    pub updates: Vec<InstrId>,
    /// Element types of the outputs.
    pub elements: Vec<ElementType>,
    /// What becomes of each output's element.
    pub combinations: Vec<Combination>,
}

impl Analysis for Problem {
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
                    return Err(Decline::at(operand, "what is scattered into is read by another operation too"));
                }
                _ => return Err(Decline::at(operand, "what is scattered into is no parameter of the fusion")),
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
        Ok(Problem {
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

/// Whether an element of a value is computed from elements that have another number in the arrays
/// that the fusion reads.
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
            Op::Reshape | Op::Bitcast => pending.extend(&instruction.operands),
            op if op.is_elementwise() => pending.extend(&instruction.operands),
            _ => return true,
        }
    }
    false
}

impl Problem {
    /// # Errors
    /// If updates of one element cannot be combined by an atomic operation.
    pub fn check_atomic(&self) -> Result<(), Decline> {
        match self.is_order_free() || self.can_be_atomic() {
            true => Ok(()),
            false => Err(Decline::new("no atomic operation does what these updates need")),
        }
    }

    /// Whether the outcome is the same, bit by bit, in whatever order updates are combined.
    pub fn is_order_free(&self) -> bool {
        self.shape.unique || self.combinations.iter().zip(&self.elements).all(|(c, &e)| c.is_order_free(e))
    }

    /// Whether each output's element can be changed by one atomic operation: what is wider than eight bytes only
    /// by replacing it, or part by part.
    pub fn can_be_atomic(&self) -> bool {
        self.combinations.iter().zip(&self.elements).all(|(combination, element)| match combination {
            Combination::Joint => false,
            Combination::Replace => true,
            Combination::Binary(BinaryOp::Add) if element.is_complex() => true,
            _ => element.byte_size() <= 8,
        })
    }

    /// Updates of one operand.
    pub fn update_elements(&self) -> i64 {
        self.shape.slices().saturating_mul(self.shape.window_elements())
    }

    /// Whether there are few looks at index vectors if every element walks all slices.
    fn is_cheap_to_walk(&self) -> bool {
        self.shape.operand_elements().saturating_mul(self.shape.slices()) <= CHEAP_WALK
    }

    /// Updates of all operands.
    pub fn combined_elements(&self) -> i64 {
        self.update_elements().saturating_mul(self.shape.arrays as i64)
    }

    /// What threads do that combine so many updates at a time by atomic operations.
    pub fn atomically(&self, together: i64) -> Work {
        // Neighbours of sorted slices meet, and wait for each other.
        let meet = if self.shape.sorted && !self.shape.unique && together == 1 { 2.0 } else { 1.0 };
        match self.shape.unique {
            true => Work { additions: self.combined_elements() as f64, ..Work::default() },
            false => Work {
                atomics: meet * self.combined_elements() as f64 / together as f64,
                unordered: !self.is_order_free() && self.is_cheap_to_walk(),
                ..Work::default()
            },
        }
    }

    /// Bytes of the smallest element of an output.
    pub fn smallest_element(&self) -> i64 {
        self.elements.iter().map(|e| e.byte_size() as i64).min().unwrap_or(1)
    }

    /// Bytes of the widest element of an output.
    pub fn widest_element(&self) -> i64 {
        self.elements.iter().map(|e| e.byte_size() as i64).max().unwrap_or(1)
    }
}
