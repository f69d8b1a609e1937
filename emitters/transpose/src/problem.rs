//! Description of a fusion of transposes: the arrays that move, and the values that are read and
//! written. The description does not depend on a schedule.

use fusebox_core::analysis::{NormalTranspose, RootPlace, TransposeFusion};
use fusebox_core::builder::Scalar;
use fusebox_core::emitter::{Analysis, Decline, Fusion};
use fusebox_core::hlo::{ArrayShape, InstrId, Op};

/// Maximum number of bytes of a short row.
const SHORT_ROW_BYTES: i64 = 16;

/// A fusion around transposes with one normal form.
pub struct TransposeProblem {
    pub form: NormalTranspose,
    /// Arrays whose elements move, without duplicates.
    pub moved: Vec<MovedArray>,
    /// The transposes, each with the number of its operand in `moved`.
    pub heroes: Vec<(InstrId, usize)>,
    /// Instructions to compute at an index of the operand, grouped by dimensions.
    pub readings: Vec<IndexedValues>,
    /// Instructions to compute at an index of the result, grouped by dimensions.
    pub writings: Vec<IndexedValues>,
    /// Number of outputs.
    pub outputs: usize,
    /// Number of operations that compute the fusion's results from the transposes.
    pub epilogue_operations: usize,
}

/// An array whose elements move.
#[derive(Clone, Copy, Debug)]
pub struct MovedArray {
    /// The array, which is an operand of transposes.
    pub operand: InstrId,
    /// Whether the array is a parameter of the fusion.
    pub is_parameter: bool,
    /// Type of the array's elements.
    pub scalar: Scalar,
    /// Bytes of one element.
    pub bytes: i64,
    /// Bytes of one access. The kernel accesses the two parts of a complex number one by one.
    pub access_bytes: i64,
}

impl MovedArray {
    /// Whether vectors hold the array's elements in the same form as memory.
    pub fn fits_vectors(&self) -> bool {
        match self.scalar {
            Scalar::Int(bits) => bits.is_multiple_of(8),
            Scalar::Float(float) => float.bits().is_multiple_of(8),
            _ => false,
        }
    }
}

/// A group of instructions with equal dimensions. One function computes the values of the group.
#[derive(Default)]
pub struct IndexedValues {
    pub dims: Vec<i64>,
    pub instructions: Vec<InstrId>,
    /// Values that move, as pairs `(number in moved, number in instructions)`.
    pub moves: Vec<(usize, usize)>,
    /// Values that the kernel writes, as pairs `(output, number in instructions)`.
    pub outputs: Vec<(usize, usize)>,
}

impl Analysis for TransposeProblem {
    fn of(fusion: &Fusion) -> Result<Self, Decline> {
        let analysis = TransposeFusion::of(fusion)?;
        let mut problem = TransposeProblem {
            form: analysis.form,
            moved: Vec::new(),
            heroes: Vec::new(),
            readings: Vec::new(),
            writings: Vec::new(),
            outputs: fusion.roots.len(),
            epilogue_operations: operations_behind(fusion, &analysis.heroes),
        };
        for &hero in &analysis.heroes {
            problem.add_hero(fusion, hero)?;
        }
        for (output, (&root, place)) in fusion.roots.iter().zip(&analysis.roots).enumerate() {
            let dims = array(fusion, root)?.dims.clone();
            let parts = match place {
                RootPlace::Operand => &mut problem.readings,
                RootPlace::Result => &mut problem.writings,
            };
            let (part, number) = entry(parts, dims, root);
            part.outputs.push((output, number));
        }
        Ok(problem)
    }
}

impl TransposeProblem {
    fn add_hero(&mut self, fusion: &Fusion, hero: InstrId) -> Result<(), Decline> {
        let operand = fusion.computation().instruction(hero).operands[0];
        if let Some(number) = self.moved.iter().position(|moved| moved.operand == operand) {
            self.heroes.push((hero, number));
            return Ok(());
        }
        let shape = array(fusion, operand)?;
        let (part, number) = entry(&mut self.readings, shape.dims.clone(), operand);
        part.moves.push((self.moved.len(), number));
        let bytes = shape.element_type.byte_size() as i64;
        let scalar = Scalar::of_element(shape.element_type);
        let access_bytes = if matches!(scalar, Scalar::Complex(_)) { bytes / 2 } else { bytes };
        self.heroes.push((hero, self.moved.len()));
        let is_parameter = fusion.computation().parameters().contains(&operand);
        self.moved.push(MovedArray { operand, is_parameter, scalar, bytes, access_bytes });
        Ok(())
    }

    /// Returns the sum of the element sizes of all moved arrays, in bytes.
    pub fn bytes_together(&self) -> i64 {
        self.moved.iter().map(|moved| moved.bytes).sum()
    }

    /// Returns the number of bytes of the widest element among the moved arrays.
    pub fn widest(&self) -> i64 {
        self.moved.iter().map(|moved| moved.bytes).max().unwrap_or(1)
    }

    /// Whether rows are so short that the kernel moves each row through a tile like an element. If
    /// the kernel moved each row separately, each row would cost a memory transaction.
    pub fn has_short_rows(&self) -> bool {
        self.form.dims.last().is_some_and(|&row| row * self.widest() <= SHORT_ROW_BYTES)
    }

    /// Returns the number of bytes read and written if the fusion has only the transposes.
    pub fn traffic(&self) -> u64 {
        (2 * self.form.element_count() * self.bytes_together()) as u64
    }

    /// Whether the results are the transposes themselves, and their rows consist of whole cache
    /// lines of `line` elements.
    pub fn results_are_lines(&self, line: i64) -> bool {
        let heroes = self.hero_ids();
        let lines =
            |part: &IndexedValues| part.instructions == heroes && part.dims.last().is_some_and(|&row| row % line == 0);
        self.writings.iter().all(lines)
    }

    /// Whether the moved arrays are parameters whose rows consist of whole cache lines of `line`
    /// elements, and the reading loops write no outputs.
    pub fn operands_are_lines(&self, line: i64) -> bool {
        let lines =
            |part: &IndexedValues| part.outputs.is_empty() && part.dims.last().is_some_and(|&row| row % line == 0);
        self.moved.iter().all(|moved| moved.is_parameter && moved.fits_vectors()) && self.readings.iter().all(lines)
    }

    pub fn hero_ids(&self) -> Vec<InstrId> {
        self.heroes.iter().map(|&(hero, _)| hero).collect()
    }
}

/// Counts the operations that compute values from the transposes' results.
fn operations_behind(fusion: &Fusion, heroes: &[InstrId]) -> usize {
    let computation = fusion.computation();
    let mut behind = vec![false; computation.instructions.len()];
    heroes.iter().for_each(|hero| behind[hero.index()] = true);
    let mut count = 0;
    for id in computation.ids() {
        let instruction = computation.instruction(id);
        if instruction.operands.iter().any(|operand| behind[operand.index()]) {
            behind[id.index()] = true;
            let is_free = instruction.op.is_reshape() || matches!(instruction.op, Op::Tuple | Op::Copy);
            count += usize::from(!is_free);
        }
    }
    count
}

/// Returns the part with dimensions `dims`, and the number of the instruction in this part. Adds
/// the part or the instruction if necessary.
fn entry(parts: &mut Vec<IndexedValues>, dims: Vec<i64>, instruction: InstrId) -> (&mut IndexedValues, usize) {
    let at = parts.iter().position(|part| part.dims == dims).unwrap_or(parts.len());
    if at == parts.len() {
        parts.push(IndexedValues { dims, ..IndexedValues::default() });
    }
    let part = &mut parts[at];
    let number = part.instructions.iter().position(|&known| known == instruction);
    let number = number.unwrap_or_else(|| {
        part.instructions.push(instruction);
        part.instructions.len() - 1
    });
    (part, number)
}

fn array(fusion: &Fusion, id: InstrId) -> Result<&ArrayShape, Decline> {
    let instruction = fusion.computation().instruction(id);
    instruction.shape.as_array().ok_or_else(|| Decline::at(instruction, "it is no array"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
pub mod tests {
    use fusebox_core::hlo::parse_module;

    use super::*;

    /// Returns the problem of a single transpose.
    pub fn problem(element: &str, dims: &[i64], permutation: &[i64]) -> TransposeProblem {
        let list = |items: &[i64]| items.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
        let result: Vec<i64> = permutation.iter().map(|&dim| dims[dim as usize]).collect();
        let (dims, result, permutation) = (list(dims), list(&result), list(permutation));
        let text = format!(
            "fusion {{ x = {element}[{dims}] parameter(0)
             ROOT t = {element}[{result}] transpose(x), dimensions={{{permutation}}} }}"
        );
        TransposeProblem::of(&Fusion::new("kernel", parse_module(&text, "test.hlo").unwrap()).unwrap()).unwrap()
    }
}
