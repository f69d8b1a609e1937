//! The updates of a fusion, and its other results.

use fusebox_core::emitter::Decline;
use fusebox_core::hlo::{Computation, InstrId, Literal, Op};
use fusebox_core::indexing::{Expr, IndexingMap, Interval, Variable, dim_exprs};

/// The results of a fusion: updates, and other results.
pub struct UpdateFusion {
    /// The updates, without duplicates.
    pub updates: Vec<Update>,
    /// Results that are not updates.
    pub others: Vec<OtherResult>,
}

/// A dynamic-update-slice.
pub struct Update {
    pub instruction: InstrId,
    /// The update: operand 1 of the instruction.
    pub slice: InstrId,
    /// Dimensions of the slice.
    pub dims: Vec<i64>,
    /// Start indices of the slice, per dimension.
    pub starts: Vec<StartIndex>,
    /// The instructions from operand 0 to the updated parameter. All instructions except the
    /// parameter are reshapes.
    pub chain: Vec<InstrId>,
    /// Number of the parameter.
    pub parameter: u32,
    /// Outputs that contain the updated array. An entry consists of the number of the output, and
    /// the map from an index of the dynamic-update-slice to an index of the output.
    pub outputs: Vec<(usize, IndexingMap)>,
}

/// A start index.
pub enum StartIndex {
    /// A constant, already clamped.
    Fixed(i64),
    /// An element of an integer array.
    Value {
        /// The array.
        instruction: InstrId,
        /// Index of the element, or `None` for a scalar.
        at: Option<i64>,
        /// Largest start index for which the slice is inside the array.
        limit: i64,
    },
}

/// A result that is not an update.
pub struct OtherResult {
    /// The result.
    pub root: InstrId,
    /// Dimensions of the result.
    pub dims: Vec<i64>,
    /// Numbers of the outputs to which the kernel writes the result, one number per leaf.
    pub outputs: Vec<usize>,
}

impl Update {
    /// Returns the output from which the kernel reads elements before it replaces them. The
    /// returned output initially contains the parameter's elements. If the kernel reads the
    /// elements from the output instead of the parameter, reads and writes use the same pointer, so
    /// LLVM need not prove that two pointers do not alias. Returns `None` if the output has another
    /// type than the parameter, or if there are several outputs.
    pub fn replaced(&self, computation: &Computation, roots: &[InstrId]) -> Option<usize> {
        let [(output, _)] = self.outputs[..] else { return None };
        let mut outputs = roots.iter().flat_map(|&root| computation.instruction(root).shape.leaves());
        let parameters = computation.parameters().into_iter();
        let mut leaves = parameters.flat_map(|id| computation.instruction(id).shape.leaves());
        (leaves.nth(self.parameter as usize) == outputs.nth(output)).then_some(output)
    }

    /// # Errors
    /// If the instruction does not update a parameter of the same element type.
    pub fn new(computation: &Computation, id: InstrId) -> Result<Self, Decline> {
        let instruction = computation.instruction(id);
        let array = |id: InstrId| computation.instruction(id).shape.as_array();
        let (Some(&operand), Some(&slice)) = (instruction.operands.first(), instruction.operands.get(1)) else {
            return Err(decline(computation, id, "has no update"));
        };
        let (Some(target), Some(update)) = (array(operand), array(slice)) else {
            return Err(decline(computation, id, "updates no array"));
        };
        let chain = reshaped(computation, operand);
        let last = chain.last().copied().unwrap_or(operand);
        let Op::Parameter { number } = computation.instruction(last).op else {
            let name = &computation.instruction(last).name;
            let reason =
                format!("updates {name}, which is no parameter: the rest of the result has to be computed too");
            return Err(decline(computation, id, &reason));
        };
        if array(last).map(|array| array.element_type) != Some(target.element_type) {
            return Err(decline(computation, id, "updates a parameter of another element type"));
        }
        let limits: Vec<i64> = target.dims.iter().zip(&update.dims).map(|(dim, size)| dim - size).collect();
        Ok(Update {
            instruction: id,
            slice,
            dims: update.dims.clone(),
            starts: starts(computation, &instruction.operands[2..], &limits),
            chain,
            parameter: number as u32,
            outputs: Vec::new(),
        })
    }

    /// Returns the map from an index of the slice to an index of the whole array. Start indices
    /// that are not constant become runtime variables of the map.
    pub fn to_whole(&self) -> IndexingMap {
        let mut map = IndexingMap::from_tensor_sizes(dim_exprs(self.dims.len()), &self.dims, &[]);
        for (result, start) in map.results.iter_mut().zip(&self.starts) {
            let start = match start {
                StartIndex::Fixed(start) => Expr::constant(*start),
                StartIndex::Value { limit, .. } => {
                    let name = format!("start{}", map.runtime.len());
                    map.runtime.push(Variable { bounds: Interval::new(0, *limit), name });
                    Expr::runtime(map.runtime.len() as u32 - 1)
                }
            };
            *result = result.clone() + start;
        }
        map
    }

    /// Returns three numbers that the number of lanes must divide: the length of the update's rows,
    /// the length of the whole array's rows, and the update's start in a row. If the number of
    /// lanes divides all three numbers, an aligned vector of the update is also an aligned vector
    /// of the whole array. If the start is not constant, the third number is 1.
    pub fn alignments(&self, computation: &Computation) -> [i64; 3] {
        let start = match self.starts.last() {
            Some(StartIndex::Fixed(start)) => *start,
            Some(StartIndex::Value { .. }) => 1,
            None => 0,
        };
        let whole = computation.instruction(self.instruction).shape.as_array().and_then(|array| array.dims.last());
        [self.dims.last().copied().unwrap_or(1), whole.copied().unwrap_or(1), start]
    }

    /// Returns the instructions that compute start indices.
    pub fn start_values(&self) -> Vec<InstrId> {
        let value = |start: &StartIndex| match start {
            StartIndex::Fixed(_) => None,
            StartIndex::Value { instruction, .. } => Some(*instruction),
        };
        self.starts.iter().filter_map(value).collect()
    }

    /// Returns the number of elements that the kernel writes.
    pub fn element_count(&self) -> i64 {
        self.dims.iter().product()
    }
}

/// Returns the start indices. The operands are one scalar per dimension, or one vector.
fn starts(computation: &Computation, operands: &[InstrId], limits: &[i64]) -> Vec<StartIndex> {
    let is_vector = |&id: &InstrId| computation.instruction(id).shape.as_array().is_some_and(|array| array.rank() == 1);
    let vector = operands.first().copied().filter(is_vector);
    let start = |(k, &limit): (usize, &i64)| {
        let (instruction, at) = match vector {
            Some(vector) => (vector, Some(k as i64)),
            None => (operands.get(k).copied().unwrap_or(InstrId(0)), None),
        };
        let known = match &computation.instruction(instruction).op {
            Op::Constant(Literal::Array(literal)) => literal.as_integer(),
            _ => None,
        };
        match known {
            _ if limit == 0 => StartIndex::Fixed(0),
            Some(value) => StartIndex::Fixed(value.clamp(0, limit)),
            None => StartIndex::Value { instruction, at, limit },
        }
    };
    limits.iter().enumerate().map(start).collect()
}

/// Returns the chain of instructions that begins with `from` and follows the operands of reshapes.
/// The last instruction is not a reshape.
pub fn reshaped(computation: &Computation, from: InstrId) -> Vec<InstrId> {
    let mut chain = vec![from];
    let mut id = from;
    loop {
        let instruction = computation.instruction(id);
        let element_type = |id: InstrId| computation.instruction(id).shape.as_array().map(|array| array.element_type);
        match (&instruction.op, instruction.operands.as_slice()) {
            (op, &[operand]) if op.is_reshape() && element_type(operand) == element_type(id) => {
                chain.push(operand);
                id = operand;
            }
            _ => return chain,
        }
    }
}

/// Returns a decline whose reason is the name of an instruction and `what`.
pub fn decline(computation: &Computation, id: InstrId, what: &str) -> Decline {
    let instruction = computation.instruction(id);
    Decline::at(instruction, format!("{} {what}", instruction.name))
}
