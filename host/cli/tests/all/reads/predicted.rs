//! Uses indexing maps to find the parameter elements that the roots of a fusion need.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use fixedbitset::FixedBitSet;
use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::{ArrayLiteral, InstrId, Instruction, Literal, Op, Shape};
use fusebox_core::indexing::{Access, Expr, OperandRead, Program, access, fusion_maps};

/// Largest number of points at which a map is evaluated. More points would take too long.
const MOST_POINTS: u64 = 4_000_000;

/// State of the search for the elements that a fusion needs.
struct NeededElements<'f> {
    fusion: &'f Fusion,
    inputs: &'f [ArrayLiteral],
    /// For each instruction, the elements that are needed in any leaf of its value.
    needed: Vec<FixedBitSet>,
    /// Values of all instructions. They are computed when they are first needed.
    values: Option<Vec<Literal>>,
}

/// Returns, for each parameter, the row-major numbers of the elements that the roots need. An
/// output may update the buffer of a parameter, and `starts` holds this parameter for each output.
/// The error states why no prediction is possible.
pub fn reads(fusion: &Fusion, inputs: &[ArrayLiteral], starts: &[Option<usize>]) -> Result<Vec<FixedBitSet>, String> {
    let computation = fusion.computation();
    let sets = computation.instructions.iter().map(|it| FixedBitSet::with_capacity(most_elements(it)));
    let needed = sets.collect();
    let mut needs = NeededElements { fusion, inputs, needed, values: None };
    let mut in_place = BTreeSet::new();
    let mut output = 0;
    for &root in &fusion.roots {
        let leaves = computation.instruction(root).shape.leaves().len();
        if starts[output..output + leaves].iter().any(Option::is_some) {
            in_place.insert(root);
        }
        output += leaves;
        let count: i64 = dims(computation.instruction(root))?.iter().product();
        needs.needed[root.index()].insert_range(..count as usize);
    }
    for id in computation.ids().rev() {
        if !needs.needed[id.index()].is_clear() {
            needs.of_operands(id, in_place.contains(&id))?;
        }
    }
    Ok(computation.parameters().into_iter().map(|id| needs.needed[id.index()].clone()).collect())
}

impl NeededElements<'_> {
    /// Marks elements of the operands as needed. The needed elements of the instruction are
    /// computed from them.
    fn of_operands(&mut self, id: InstrId, in_place: bool) -> Result<(), String> {
        let instruction = self.fusion.computation().instruction(id);
        if matches!(instruction.op, Op::Parameter { .. } | Op::Constant(_) | Op::Iota { .. }) {
            return Ok(());
        }
        let access = access(self.fusion.computation(), instruction)
            .map_err(|_| format!("no maps of {}", instruction.opcode()))?;
        for read in &access.reads {
            // If an output updates the operand's buffer in place, the kernel does not read the
            // elements outside of the update.
            if !(in_place && read.unless.is_some()) {
                self.of_read(id, &access, read)?;
            }
        }
        Ok(())
    }

    fn of_read(&mut self, id: InstrId, access: &Access, read: &OperandRead) -> Result<(), String> {
        let computation = self.fusion.computation();
        let (from, to) = (dims(computation.instruction(id))?, dims(computation.instruction(read.instruction))?);
        let map = &read.reading.map;
        let exprs: Vec<Expr> = map.results.iter().chain(map.constraints.iter().map(|c| &c.expr)).cloned().collect();
        let nests = exprs.iter().map(|expr| access.loops_around(expr)).max().unwrap_or(0);
        let turns: Vec<i64> =
            access.loops.iter().take(nests).flatten().map(|variable| variable.bounds.size() as i64).collect();
        let points = self.needed[id.index()].count_ones(..) as u64 * turns.iter().product::<i64>().unsigned_abs();
        if points > MOST_POINTS {
            return Err("too large".into());
        }
        let hidden = read.unless.map(|other| &access.reads[other]);
        let mut program = Program::new(&exprs);
        let mut values = vec![0; exprs.len()];
        let needed = self.needed[id.index()].clone();
        let mut at = vec![0; from.len()];
        let mut turn_at = vec![0; turns.len()];
        for number in needed.ones() {
            delinearize(number, from, &mut at);
            if let Some(other) = hidden {
                let runtime = self.runtime(other, &at, &[])?;
                let holds = |c: &fusebox_core::indexing::Constraint| c.bounds.contains(c.expr.eval(&at, &[], &runtime));
                if other.reading.map.constraints.iter().all(holds) {
                    continue;
                }
            }
            let runtime = self.runtime(read, &at, &[])?;
            for turn in 0..turns.iter().product::<i64>() as usize {
                delinearize(turn, &turns, &mut turn_at);
                program.run(&at, &turn_at, &runtime, &mut values);
                let (results, constrained) = values.split_at(map.results.len());
                if map.constraints.iter().zip(constrained).all(|(c, &value)| c.bounds.contains(value)) {
                    self.needed[read.instruction.index()].insert(linearized(results, to)?);
                }
            }
        }
        Ok(())
    }

    /// Returns the values of a read's runtime variables. Marks the elements that hold these values
    /// as needed.
    fn runtime(&mut self, read: &OperandRead, at: &[i64], ranges: &[i64]) -> Result<Vec<i64>, String> {
        let mut runtime = Vec::new();
        for (variable, value) in read.reading.map.runtime.iter().zip(&read.reading.runtime) {
            let index: Vec<i64> = value.index.iter().map(|expr| expr.eval(at, ranges, &runtime)).collect();
            let number = linearized(&index, dims(self.fusion.computation().instruction(value.instruction))?)?;
            // A variable with a single possible value needs no read.
            if variable.bounds.lower == variable.bounds.upper {
                runtime.push(variable.bounds.lower);
                continue;
            }
            self.needed[value.instruction.index()].insert(number);
            let read = self.integer(value.instruction, number)?;
            runtime.push(read.clamp(variable.bounds.lower, variable.bounds.upper));
        }
        Ok(runtime)
    }

    /// Returns one element of an instruction's value.
    fn integer(&mut self, id: InstrId, number: usize) -> Result<i64, String> {
        if self.values.is_none() {
            let (module, entry) = (&self.fusion.module, self.fusion.entry());
            let mut values: Vec<Literal> = Vec::new();
            for instruction in &self.fusion.computation().instructions {
                let value = match &instruction.op {
                    Op::Parameter { number } => Literal::Array(self.inputs[*number as usize].clone()),
                    _ => {
                        let operands: Vec<Literal> =
                            instruction.operands.iter().map(|operand| values[operand.index()].clone()).collect();
                        let id = InstrId(values.len() as u32);
                        fusebox_interpreter::evaluate_instruction(module, entry, id, &operands)
                            .map_err(|e| e.to_string())?
                    }
                };
                values.push(value);
            }
            self.values = Some(values);
        }
        let array = self.values.as_ref().and_then(|values| values[id.index()].as_array()).ok_or("no array")?;
        let width = array.element_type.byte_size();
        let start = number * width;
        let element = ArrayLiteral::new(array.element_type, Vec::new(), array.data[start..start + width].to_vec());
        element.ok().and_then(|element| element.as_integer()).ok_or_else(|| "an index that is no integer".into())
    }
}

/// Checks that the composed and simplified maps from the roots to the parameters lead to the same
/// elements. Leaves out maps that need runtime values.
pub fn composed_maps_agree(fusion: &Fusion, predicted: &[FixedBitSet]) -> Result<(), String> {
    let computation = fusion.computation();
    let maps = fusion_maps(&fusion.module, fusion.entry());
    let shows_through = computation.instructions.iter().any(|i| matches!(i.op, Op::DynamicUpdateSlice));
    'parameters: for (number, &parameter) in computation.parameters().iter().enumerate() {
        let sizes = dims(computation.instruction(parameter))?;
        let mut found = FixedBitSet::with_capacity(most_elements(computation.instruction(parameter)));
        for root in &maps {
            let Some(readings) = root.parameters[number].known() else { continue 'parameters };
            for reading in readings {
                if !reading.runtime.is_empty() || reading.map.box_size() > MOST_POINTS {
                    continue 'parameters;
                }
                let _ = reading.map.for_each_point(|point| {
                    if let Ok(number) = linearized(point.results, sizes) {
                        found.insert(number);
                    }
                    ControlFlow::Continue(())
                });
            }
        }
        let expected = &predicted[number];
        let different: Vec<usize> = if shows_through {
            expected.difference(&found).take(6).collect()
        } else {
            found.symmetric_difference(expected).take(6).collect()
        };
        if !different.is_empty() {
            return Err(format!(
                "parameter {number}: composed maps lead to {} elements, single ones to {}: {different:?}",
                found.count_ones(..),
                expected.count_ones(..)
            ));
        }
    }
    Ok(())
}

/// Returns the dimensions that all leaves of an instruction's shape have.
fn dims(instruction: &Instruction) -> Result<&[i64], String> {
    let leaves = instruction.shape.leaves();
    let mut sizes = leaves.iter().filter_map(|leaf| Shape::as_array(leaf)).map(|array| array.dims.as_slice());
    let first = sizes.next().ok_or("no array")?;
    if sizes.all(|other| other == first) { Ok(first) } else { Err("results of different dimensions".into()) }
}

/// Returns the largest number of elements of a leaf.
fn most_elements(instruction: &Instruction) -> usize {
    let leaves = instruction.shape.leaves();
    let arrays = leaves.iter().filter_map(|leaf| Shape::as_array(leaf));
    arrays.map(|array| array.element_count() as usize).max().unwrap_or(0)
}

/// Writes the index of an element. `number` is the row-major number of the element.
fn delinearize(mut number: usize, sizes: &[i64], index: &mut [i64]) {
    for place in (0..sizes.len()).rev() {
        let size = sizes[place] as usize;
        index[place] = (number % size) as i64;
        number /= size;
    }
}

fn linearized(index: &[i64], sizes: &[i64]) -> Result<usize, String> {
    let mut number = 0;
    let mut inside = index.len() == sizes.len();
    for place in 0..index.len().min(sizes.len()) {
        inside &= 0 <= index[place] && index[place] < sizes[place];
        number = number * sizes[place] + index[place];
    }
    if inside { Ok(number as usize) } else { Err(format!("a map leads to {index:?} of {sizes:?}")) }
}
