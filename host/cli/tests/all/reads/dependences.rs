//! Uses the interpreter to find the parameter elements on which the results of a fusion depend.

use fixedbitset::FixedBitSet;
use fusebox_compiler::Source;
use fusebox_core::hlo::{ArrayLiteral, Literal, Module, Op};

use super::values;

/// Compares the elements that a fusion's indexing maps predict with the elements on which its
/// results depend. Leaves out parameters whose elements are indices of other reads. A single
/// changed index does not reveal all dependences on this index.
pub fn check(text: &str, predicted: &[FixedBitSet]) -> Result<(), String> {
    let module = Source::text("m.hlo", text).parse().map_err(|e| e.to_string())?;
    let computation = module.entry_computation().ok_or("no fusion")?;
    let selects = computation.instructions.iter().any(|i| matches!(i.op, Op::SelectAndScatter { .. }));
    let shapes = computation.parameters().into_iter().map(|id| computation.instruction(id).shape.as_array().unwrap());
    let inputs: Vec<ArrayLiteral> = shapes.enumerate().map(|(seed, shape)| values(shape, seed as u64)).collect();
    let usual = results(&module, &inputs)?;
    for (number, (input, predicted)) in inputs.iter().zip(predicted).enumerate() {
        if input.element_type.is_signed_integer() {
            continue;
        }
        let mut found = FixedBitSet::with_capacity(input.element_count());
        for element in 0..input.element_count() {
            let mut changed = inputs.clone();
            changed[number] = with_other_value(input, element);
            if results(&module, &changed)? != usual {
                found.insert(element);
            }
        }
        let different: Vec<usize> = if selects {
            found.difference(predicted).take(6).collect()
        } else {
            found.symmetric_difference(predicted).take(6).collect()
        };
        if !different.is_empty() {
            return Err(format!(
                "parameter {number}: what results depend on and what maps say differ in {different:?}"
            ));
        }
    }
    Ok(())
}

fn results(module: &Module, inputs: &[ArrayLiteral]) -> Result<Literal, String> {
    let literals: Vec<Literal> = inputs.iter().cloned().map(Literal::Array).collect();
    fusebox_interpreter::evaluate(module, &literals).map_err(|e| e.to_string())
}

/// Returns the array with one element changed. The elements are numbers from 1 to 6. In a float,
/// flips a bit of the exponent. In other types, flips a bit of each byte.
fn with_other_value(array: &ArrayLiteral, element: usize) -> ArrayLiteral {
    let width = array.element_type.byte_size();
    let mut data = array.data.to_vec();
    let own = &mut data[element * width..][..width];
    if array.element_type.is_float() {
        own[width - 2] ^= 0x80
    } else {
        own.iter_mut().for_each(|byte| *byte ^= 1)
    }
    ArrayLiteral::new(array.element_type, array.dims.clone(), data).unwrap()
}
