//! Decides which results reuse the buffers of donated inputs.

use std::collections::HashSet;
use std::ops::Range;

use fusebox_core::hlo::{Computation, Module, Shape};

use super::leaf_count;
use crate::memory_use::SharedBuffer;

/// The inputs that the caller donates. The leaves of all parameters are numbered together, in
/// order. The leaves of the result are numbered separately, in order.
#[derive(Debug, Default)]
pub struct Donations {
    /// Leaves of the parameters that the program may write.
    pub donated: HashSet<usize>,
    /// For each leaf of the result, the leaf of the parameters whose buffer the result reuses.
    pub input_of: Vec<Option<usize>>,
}

impl Donations {
    /// Reads the donations from the module's header. Ignores an alias of leaves of different sizes:
    /// the result then gets its own buffer. If the header names an input as a donor without naming
    /// a result, assigns the input to the first result of equal shape that has no input yet.
    pub fn of(module: &Module, entry: &Computation) -> Donations {
        let parameters: Vec<&Shape> = entry.parameters().iter().map(|&id| &entry.instruction(id).shape).collect();
        let result = &entry.root_instruction().shape;
        let input = |number: i64, path: &[i64]| leaves_of_parameter(&parameters, number, path).unwrap_or(0..0);
        let inputs: Vec<&Shape> = parameters.iter().flat_map(|shape| arrays(shape)).collect();
        let outputs = arrays(result);
        let mut donations = Donations { donated: HashSet::new(), input_of: vec![None; outputs.len()] };
        for alias in &module.input_output_alias {
            let outputs_of = leaves_at(result, &alias.output).unwrap_or(0..0);
            for (input, output) in input(alias.parameter, &alias.parameter_index).zip(outputs_of) {
                if bytes(inputs[input]) == bytes(outputs[output]) {
                    donations.give(input, output);
                }
            }
        }
        for (parameter, path) in &module.buffer_donor {
            for input in input(*parameter, path).filter(|input| !donations.is_external(*input)).collect::<Vec<_>>() {
                let takes = |output: &usize| donations.input_of[*output].is_none() && inputs[input] == outputs[*output];
                match (0..outputs.len()).find(takes) {
                    Some(output) => donations.give(input, output),
                    None => donations.donated.extend([input]),
                }
            }
        }
        donations
    }

    fn is_external(&self, input: usize) -> bool {
        self.input_of.contains(&Some(input))
    }

    /// Assigns an input's buffer to one result.
    fn give(&mut self, input: usize, output: usize) {
        if !self.is_external(input) && self.input_of[output].is_none() {
            self.donated.insert(input);
            self.input_of[output] = Some(input);
        }
    }

    /// Describes for users which results share a buffer with an input.
    pub fn shared(&self, entry: &Computation) -> Vec<SharedBuffer> {
        let of_leaves = entry.parameters().into_iter().flat_map(|id| {
            let instruction = entry.instruction(id);
            std::iter::repeat_n(&instruction.name, leaf_count(&instruction.shape))
        });
        let names: Vec<&String> = of_leaves.collect();
        let places = self.input_of.iter().enumerate().filter_map(|(output, place)| Some((output, (*place)?)));
        places.map(|(output, input)| SharedBuffer { output, input, parameter: names[input].clone() }).collect()
    }
}

fn arrays(shape: &Shape) -> Vec<&Shape> {
    shape.leaves().into_iter().filter(|leaf| leaf.as_array().is_some()).collect()
}

fn bytes(leaf: &Shape) -> Option<i64> {
    leaf.as_array().map(|array| array.byte_size())
}

/// Returns the leaves at a path into a parameter, as numbers among the leaves of all parameters.
fn leaves_of_parameter(parameters: &[&Shape], number: i64, path: &[i64]) -> Option<Range<usize>> {
    let number = usize::try_from(number).ok()?;
    let before: usize = parameters.get(..number)?.iter().map(|shape| leaf_count(shape)).sum();
    let leaves = leaves_at(parameters.get(number)?, path)?;
    Some(before + leaves.start..before + leaves.end)
}

/// Returns the numbers of the array leaves at a path into a shape.
fn leaves_at(shape: &Shape, path: &[i64]) -> Option<Range<usize>> {
    let (mut shape, mut first) = (shape, 0);
    for &index in path {
        let index = usize::try_from(index).ok()?;
        let elements = shape.as_tuple()?;
        first += elements.get(..index)?.iter().map(leaf_count).sum::<usize>();
        shape = elements.get(index)?;
    }
    Some(first..first + leaf_count(shape))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fusebox_core::hlo::parse_module;

    fn of(header: &str) -> Donations {
        let text = format!(
            "HloModule m, {header}
ENTRY main {{ s = (f32[4], (f32[8], s32[4])) parameter(0)
  x = f32[4] parameter(1)
  a = f32[4] get-tuple-element(s), index=0
  ROOT t = (f32[4], f32[4]) tuple(x, a) }}"
        );
        let module = parse_module(&text, "test.hlo").unwrap();
        Donations::of(&module, module.entry_computation().unwrap())
    }

    #[test]
    fn aliases_are_followed_through_tuples() {
        let donations = of("input_output_alias={ {0}: (0, {1, 1}, may-alias), {1}: (1, {}, must-alias) }");
        assert_eq!(donations.input_of, [Some(2), Some(3)]);
    }

    #[test]
    fn what_does_not_fit_or_is_given_already_has_no_place() {
        let donations = of("input_output_alias={ {0}: (0, {1, 0}, may-alias), {1}: (1, {}, may-alias) }");
        assert_eq!(donations.input_of, [None, Some(3)]);
        let donations = of("input_output_alias={ {0}: (1, {}, may-alias), {1}: (1, {}, may-alias) }");
        assert_eq!(donations.input_of, [Some(3), None]);
    }

    #[test]
    fn donors_become_the_first_free_result_of_their_shape() {
        let donations = of("input_output_alias={ {0}: (1, {}, may-alias) }, buffer_donor={ (0, {0}), (0, {1, 1}) }");
        assert_eq!(donations.input_of, [Some(3), Some(0)]);
        assert_eq!(donations.donated, HashSet::from([0, 2, 3]), "an s32[4] may be written, and is no f32[4]");
    }
}
