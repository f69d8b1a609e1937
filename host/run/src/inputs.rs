//! Inputs of a run: from a file, or random.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use fusebox_core::hlo::{ArrayLiteral, ArrayShape, ElementType, FloatFormat, Literal, Shape};
use fusebox_core::random::SplitMix64;
use fusebox_runtime::npz::{NpzError, read_inputs};

/// Source of inputs.
#[derive(Clone, Debug, Default, Args)]
pub struct InputChoice {
    /// Inputs: arr_0, arr_1, … in parameter order, tuples flattened. Default: random
    #[arg(long, value_name = "IN.npz")]
    pub inputs: Option<PathBuf>,
    /// Seed of random inputs
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Arrays that the caller has in memory, instead of a file: one per array leaf of the
    /// parameters, in order.
    #[arg(skip)]
    pub arrays: Option<Arc<[ArrayLiteral]>>,
}

/// Reason why the inputs of a run cannot be loaded or generated.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The file cannot be read or does not match the parameters.
    #[error(transparent)]
    File(#[from] NpzError),
    /// Random inputs would take too many bytes.
    #[error("the module's parameters take {0} bytes, too many for random inputs")]
    TooMany(i64),
    /// There is not enough memory.
    #[error("{0} bytes of memory for random inputs are not available")]
    Memory(i64),
    /// The arrays that the caller has in memory do not match the parameters.
    #[error("the module has {expected} parameter arrays, but {found} inputs were given")]
    Count {
        /// Number of array leaves of all parameters.
        expected: usize,
        /// Number of arrays.
        found: usize,
    },
}

/// Returns one value per parameter.
///
/// # Errors
/// If the file cannot be read or does not match the parameters, if random inputs would be too
/// large, or if memory is short.
pub fn load(choice: &InputChoice, parameters: &[Shape]) -> Result<Vec<Literal>, InputError> {
    match (&choice.arrays, &choice.inputs) {
        (Some(arrays), _) => given(arrays, parameters),
        (None, Some(path)) => Ok(read_inputs(path, parameters)?),
        (None, None) => random(parameters, choice.seed),
    }
}

/// Returns the arrays as one value per parameter. The runtime checks the shapes of the arrays when
/// it executes a program with them.
fn given(arrays: &[ArrayLiteral], parameters: &[Shape]) -> Result<Vec<Literal>, InputError> {
    let expected = parameters.iter().flat_map(Shape::leaves).filter(|leaf| leaf.as_array().is_some()).count();
    let count = || InputError::Count { expected, found: arrays.len() };
    let mut rest = arrays.iter();
    let values = parameters.iter().map(|shape| value(shape, &mut rest)).collect::<Option<Vec<Literal>>>();
    values.filter(|_| rest.next().is_none()).ok_or_else(count)
}

fn value(shape: &Shape, arrays: &mut std::slice::Iter<'_, ArrayLiteral>) -> Option<Literal> {
    Some(match shape {
        Shape::Array(_) => Literal::Array(arrays.next()?.clone()),
        Shape::Tuple(elements) => {
            Literal::Tuple(elements.iter().map(|element| value(element, arrays)).collect::<Option<_>>()?)
        }
        Shape::Token | Shape::Opaque => Literal::Token,
    })
}

/// Returns all arrays that the values contain, in order.
pub fn arrays(values: &[Literal]) -> Vec<ArrayLiteral> {
    values.iter().flat_map(Literal::leaves).filter_map(Literal::as_array).cloned().collect()
}

/// Maximum number of bytes of random inputs. A module that needs more bytes of inputs surely has a
/// mistake.
const MOST_RANDOM_BYTES: i64 = 16 << 30;

/// Returns random values: floats with a standard deviation of about 1, small integers, and
/// predicates that are true with probability 1/2.
fn random(parameters: &[Shape], seed: u64) -> Result<Vec<Literal>, InputError> {
    let leaves = parameters.iter().flat_map(Shape::leaves).filter_map(Shape::as_array);
    let bytes = leaves.fold(0i64, |sum, leaf| sum.saturating_add(leaf.byte_size()));
    if bytes > MOST_RANDOM_BYTES {
        return Err(InputError::TooMany(bytes));
    }
    let mut random = Random(SplitMix64(seed ^ 0x9e37_79b9_7f4a_7c15));
    parameters.iter().map(|shape| random_value(shape, &mut random)).collect()
}

fn random_value(shape: &Shape, random: &mut Random) -> Result<Literal, InputError> {
    Ok(match shape {
        Shape::Array(array) => Literal::Array(random_array(array, random)?),
        Shape::Tuple(elements) => {
            Literal::Tuple(elements.iter().map(|element| random_value(element, random)).collect::<Result<_, _>>()?)
        }
        Shape::Token | Shape::Opaque => Literal::Token,
    })
}

fn random_array(shape: &ArrayShape, random: &mut Random) -> Result<ArrayLiteral, InputError> {
    let mut data = Vec::new();
    let bytes = shape.byte_size().max(0);
    data.try_reserve_exact(bytes as usize).map_err(|_| InputError::Memory(bytes))?;
    let scalars = if shape.element_type.is_complex() { 2 } else { 1 };
    for _ in 0..shape.element_count() * scalars {
        data.extend_from_slice(&random.element(shape.element_type.real_part()));
    }
    Ok(ArrayLiteral { element_type: shape.element_type, dims: shape.dims.clone(), data: data.into() })
}

struct Random(SplitMix64);

impl Random {
    /// Returns a scaled sum of four uniform numbers, with mean 0 and standard deviation 1.
    fn bell(&mut self) -> f64 {
        let sum: f64 = (0..4).map(|_| self.0.unit()).sum();
        (sum - 2.0) * 3f64.sqrt()
    }

    /// Returns the bytes of one random element.
    fn element(&mut self, element_type: ElementType) -> Vec<u8> {
        let width = element_type.byte_size();
        let bits = match (element_type, FloatFormat::of(element_type)) {
            (ElementType::F64, _) => self.bell().to_bits(),
            (ElementType::F32, _) => u64::from((self.bell() as f32).to_bits()),
            (_, Some(format)) => format.encode(self.bell()),
            (ElementType::Pred, None) => self.0.bits() >> 63,
            (other, None) => self.integer(other) as u64,
        };
        bits.to_le_bytes()[..width].to_vec()
    }

    fn integer(&mut self, element_type: ElementType) -> i64 {
        let bits = element_type.bits().min(5);
        let value = (self.0.bits() >> (64 - bits)) as i64;
        let half = 1i64 << (bits - 1);
        if element_type.is_signed_integer() { value - half } else { value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_in_memory_become_values_of_the_parameters() {
        let array = |value: u8| ArrayLiteral::new(ElementType::U8, vec![1], vec![value]).unwrap();
        let shape = || Shape::array(ElementType::U8, [1]);
        let parameters = [shape(), Shape::Tuple(vec![shape(), shape()])];
        let load = |count: u8| {
            let arrays = (1..=count).map(array).collect();
            load(&InputChoice { arrays: Some(arrays), ..InputChoice::default() }, &parameters)
        };
        let values = load(3).unwrap();
        assert_eq!(arrays(&values), [array(1), array(2), array(3)]);
        assert!(matches!(values[1], Literal::Tuple(_)));
        for count in [2, 4] {
            let error = load(count).unwrap_err().to_string();
            assert_eq!(error, format!("the module has 3 parameter arrays, but {count} inputs were given"));
        }
    }
}
