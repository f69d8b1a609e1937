//! Random numbers. `rng` uses the interpreter's own generator, which has a fixed seed.
//! `rng-bit-generator` gives exactly the bits that XLA defines.

use std::f64::consts::TAU;

use fusebox_core::hlo::{ElementType, RandomAlgorithm, RandomDistribution};
use fusebox_core::random::SplitMix64;

use crate::error::{Outcome, ensure, unsupported};
use crate::number;
use crate::value::{Array, Data, Scalar, Value, element_count};

/// Generator for `rng` and `rng-get-and-update-state`. The generator gives the same sequence in
/// every evaluation.
pub(crate) struct Generator {
    random: SplitMix64,
    /// The next result of `rng-get-and-update-state`.
    counter: u128,
}

impl Default for Generator {
    fn default() -> Self {
        Generator { random: SplitMix64(0x5eed_f00d_cafe_0001), counter: 0x7012_9543_2a3f_0c51 }
    }
}

impl Generator {
    fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.random.unit(), self.random.unit());
        (-2.0 * u.ln()).sqrt() * (TAU * v).cos()
    }

    /// Evaluates `rng`: uniform in `[a, b)`, or normal with mean `a` and deviation `b`.
    pub fn rng(
        &mut self,
        distribution: RandomDistribution,
        a: Scalar,
        b: Scalar,
        ty: ElementType,
        dims: Vec<usize>,
    ) -> Outcome<Array> {
        let count = element_count(&dims)?;
        let mut data = Data::with_capacity(ty, count);
        for _ in 0..count {
            data.push(match (distribution, a, b) {
                (RandomDistribution::Uniform, Scalar::Int(a), Scalar::Int(b)) => {
                    Scalar::Int(number::wrap(ty, self.uniform_int(ty, a, b)))
                }
                (RandomDistribution::Uniform, Scalar::Float(a), Scalar::Float(b)) => {
                    Scalar::Float(self.uniform_float(ty, a, b))
                }
                (RandomDistribution::Normal, Scalar::Float(mean), Scalar::Float(deviation)) => {
                    Scalar::Float(number::round(ty, mean + deviation * self.normal()))
                }
                _ => return unsupported(format!("{distribution} of {ty}")),
            })?;
        }
        Ok(Array::new(ty, dims, data))
    }

    fn uniform_int(&mut self, ty: ElementType, a: i64, b: i64) -> i64 {
        if ty == ElementType::Pred {
            return (self.random.bits() & 1) as i64;
        }
        let range = (b as u64).wrapping_sub(a as u64);
        if range == 0 { a } else { a.wrapping_add((self.random.bits() % range) as i64) }
    }

    fn uniform_float(&mut self, ty: ElementType, a: f64, b: f64) -> f64 {
        // Rounding may give the excluded end of the range. In this case, the generator draws
        // another number, but only a limited number of times.
        for _ in 0..64 {
            let x = number::round(ty, a + self.random.unit() * (b - a));
            if x < b {
                return x;
            }
        }
        a
    }

    /// Evaluates `rng-get-and-update-state`: returns the state and increases it by `delta`.
    pub fn get_and_update_state(&mut self, delta: i64, ty: ElementType, dims: Vec<usize>) -> Outcome<Array> {
        ensure!(ty == ElementType::U64 && dims == [2], "the state of rng-get-and-update-state is u64[2]");
        let state = self.counter;
        self.counter = state.wrapping_add_signed(i128::from(delta));
        Ok(Array::new(ty, dims, Data::Int(vec![state as i64, (state >> 64) as i64])))
    }
}

/// Evaluates `rng-bit-generator`: returns the new state and the random bits. `rng_default` stands
/// for Philox, as in XLA:CPU.
pub(crate) fn bit_generator(
    state: &Array,
    algorithm: RandomAlgorithm,
    ty: ElementType,
    dims: Vec<usize>,
) -> Outcome<Value> {
    if !ty.is_integer() || ty.bits() < 8 {
        return unsupported(format!("rng-bit-generator of {ty}"));
    }
    if state.ty != ElementType::U64 {
        return unsupported(format!("an rng-bit-generator state of {}", state.ty));
    }
    let words: Vec<u64> = state.ints()?.iter().map(|&x| x as u64).collect();
    element_count(&dims)?;
    let (new_state, bits) = match (algorithm, words.as_slice()) {
        (RandomAlgorithm::ThreeFry, &[key, counter]) => threefry_bits(key, counter, ty, &dims),
        (RandomAlgorithm::Default | RandomAlgorithm::Philox, &[_, _] | &[_, _, _]) => {
            philox_bits(&words, ty, dims.iter().product())
        }
        _ => return unsupported(format!("{algorithm} with a state of {} words", words.len())),
    };
    let bits = bits.into_iter().map(|x| number::wrap(ty, x as i64)).collect();
    let new_state = Data::Int(new_state.into_iter().map(|x| x as i64).collect());
    let state = Array::new(state.ty, state.dims.clone(), new_state);
    Ok(Value::Tuple(vec![state.into(), Array::new(ty, dims, Data::Int(bits)).into()]))
}

fn halves(x: u64) -> [u32; 2] {
    [x as u32, (x >> 32) as u32]
}

fn joined(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// Computes Threefry 2x32 with 20 rounds.
fn threefry(key: [u32; 2], counter: [u32; 2]) -> [u32; 2] {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    let keys = [key[0], key[1], key[0] ^ key[1] ^ 0x1bd1_1bda];
    let [mut x, mut y] = [counter[0].wrapping_add(keys[0]), counter[1].wrapping_add(keys[1])];
    for group in 0..5u32 {
        for rotation in ROTATIONS[group as usize % 2] {
            x = x.wrapping_add(y);
            y = y.rotate_left(rotation) ^ x;
        }
        let next = (group + 1) as usize;
        x = x.wrapping_add(keys[next % 3]);
        y = y.wrapping_add(keys[(next + 1) % 3]).wrapping_add(group + 1);
    }
    [x, y]
}

/// Generates bits with Threefry. Each element of 64 bits consists of the two words of one Threefry
/// block. For narrower elements, the array of blocks has half the size along one dimension: two
/// elements that are adjacent along this dimension receive the two words of one block.
fn threefry_bits(key: u64, counter: u64, ty: ElementType, dims: &[usize]) -> (Vec<u64>, Vec<u64>) {
    let block = |i: usize| threefry(halves(key), halves(counter.wrapping_add(i as u64)));
    let count: usize = dims.iter().product();
    if ty.bits() == 64 {
        let bits = (0..count).map(block).map(|[low, high]| joined(low, high)).collect();
        return (vec![key, counter.wrapping_add(count as u64)], bits);
    }
    let split = split_dimension(dims);
    let length = split.map_or(1, |d| dims[d]);
    let inner: usize = split.map_or(1, |d| dims[d + 1..].iter().product());
    let half = length.div_ceil(2);
    let place = |i: usize| {
        let (outer, along, within) = (i / (length * inner), i / inner % length, i % inner);
        (((outer * half) + along / 2) * inner + within, along % 2)
    };
    let bits = (0..count).map(place).map(|(at, word)| u64::from(block(at)[word])).collect();
    let blocks = count.checked_div(length).unwrap_or(0) * half;
    (vec![key, counter.wrapping_add(blocks as u64)], bits)
}

/// Returns the first dimension of even size. If all sizes are odd, returns the first of the largest
/// dimensions.
fn split_dimension(dims: &[usize]) -> Option<usize> {
    let largest = dims.iter().max()?;
    dims.iter().position(|d| d.is_multiple_of(2)).or_else(|| dims.iter().position(|d| d == largest))
}

/// Computes Philox 4x32 with 10 rounds.
fn philox(mut key: [u32; 2], mut x: [u32; 4]) -> [u32; 4] {
    for _ in 0..10 {
        let first = u64::from(x[0]) * 0xd251_1f53;
        let second = u64::from(x[2]) * 0xcd9e_8d57;
        let ([low0, high0], [low1, high1]) = (halves(first), halves(second));
        x = [high1 ^ x[1] ^ key[0], low1, high0 ^ x[3] ^ key[1], low0];
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    x
}

/// Generates bits with Philox. The state consists of the key and a counter of one or two words.
fn philox_bits(state: &[u64], ty: ElementType, count: usize) -> (Vec<u64>, Vec<u64>) {
    let high = state.get(2).copied().unwrap_or(state[0]);
    let counter = u128::from(state[1]) | u128::from(high) << 64;
    let words_per_element = if ty.bits() == 64 { 2 } else { 1 };
    let blocks = (count * words_per_element).div_ceil(4);
    let block = |i: usize| {
        let counter = counter.wrapping_add(i as u128);
        let ([a, b], [c, d]) = (halves(counter as u64), halves((counter >> 64) as u64));
        philox(halves(state[0]), [a, b, c, d])
    };
    let words: Vec<u32> = (0..blocks).flat_map(block).collect();
    let bits = if words_per_element == 2 {
        words.chunks_exact(2).take(count).map(|pair| joined(pair[0], pair[1])).collect()
    } else {
        words.into_iter().take(count).map(u64::from).collect()
    };
    let end = counter.wrapping_add(blocks as u128);
    let mut new_state = vec![state[0], end as u64, (end >> 64) as u64];
    new_state.truncate(state.len());
    (new_state, bits)
}
