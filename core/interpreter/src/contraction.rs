//! `dot`, `ragged-dot` and `scaled-dot`.

use fusebox_core::hlo::{DotDims, ElementType, accumulation_type};

use crate::error::{Outcome, malformed};
use crate::gather::others;
use crate::movement::{dimension_numbers, transpose_by};
use crate::number::{self, Complex, LongSum};
use crate::strided::permuted;
use crate::value::{Array, Data, Scalar, element_count, is_int_kind};

/// Sums of products over the contracting dimensions. Integers wrap; floats are summed in `f64`, `f64`
/// in twice its precision, and rounded once.
pub(crate) fn dot(lhs: &Array, rhs: &Array, numbers: &DotDims, ty: ElementType, dims: Vec<usize>) -> Outcome<Array> {
    let sums = Sums::of(lhs.ty, rhs.ty, ty);
    let lhs = Side::new(lhs, &numbers.lhs_batch, &numbers.lhs_contracting, sums)?;
    let rhs = Side::new(rhs, &numbers.rhs_batch, &numbers.rhs_contracting, sums)?;
    if lhs.batch != rhs.batch || lhs.contracted != rhs.contracted {
        return malformed("the batch or contracting dimensions of the operands differ in size");
    }
    let expected: Vec<usize> = [lhs.batch.clone(), lhs.free.clone(), rhs.free.clone()].concat();
    if expected != dims {
        return malformed(format!("the result of dot is {expected:?}, announced is {dims:?}"));
    }
    let length: usize = lhs.contracted.iter().product();
    let (rows, columns): (usize, usize) = (lhs.free.iter().product(), rhs.free.iter().product());
    let batches: usize = lhs.batch.iter().product();
    let mut data = Data::with_capacity(ty, element_count(&dims)?);
    for b in 0..batches {
        for i in b * rows..(b + 1) * rows {
            for j in b * columns..(b + 1) * columns {
                data.push(sums.inner_product(&lhs.data, i * length, &rhs.data, j * length, length)?)?;
            }
        }
    }
    Ok(Array::new(ty, dims, data))
}

/// One operand of a dot: batch, then free, then contracting dimensions, of the kind in which is summed.
struct Side {
    batch: Vec<usize>,
    free: Vec<usize>,
    contracted: Vec<usize>,
    data: Data,
}

impl Side {
    fn new(x: &Array, batch: &[i64], contracting: &[i64], sums: Sums) -> Outcome<Self> {
        let batch = dimension_numbers(batch, x.rank())?;
        let contracting = dimension_numbers(contracting, x.rank())?;
        let mut order = batch.clone();
        order.extend(others(&[batch.clone(), contracting.clone()].concat(), x.rank()));
        let free = permuted(&x.dims, &order[batch.len()..]);
        order.extend(&contracting);
        if order.len() != x.rank() {
            return malformed("a dimension of dot is both batch and contracting, or named twice");
        }
        let data = sums.operand(transpose_by(x, &order)?);
        Ok(Side { batch: permuted(&x.dims, &batch), free, contracted: permuted(&x.dims, &contracting), data })
    }
}

/// In which type a dot or convolution adds, and what type it gives.
#[derive(Clone, Copy)]
pub(crate) struct Sums {
    /// The type in which products are added.
    pub accumulation: ElementType,
    result: ElementType,
}

impl Sums {
    /// For operands and a result of these types.
    pub fn of(lhs: ElementType, rhs: ElementType, result: ElementType) -> Self {
        Sums { accumulation: accumulation_type(lhs, rhs, result), result }
    }

    /// An operand in the kind of the accumulation. Within a kind nothing needs to be converted: integers wrap
    /// at the end, and floats are never wider than the sum.
    pub fn operand(self, x: Array) -> Data {
        let to = self.accumulation;
        let same_kind = match &x.data {
            Data::Int(_) => is_int_kind(to),
            Data::Float(_) => to.is_float(),
            Data::Complex(_) => to.is_complex(),
        };
        if same_kind {
            return x.data;
        }
        let mut converted = Data::with_capacity(to, x.len());
        for i in 0..x.len() {
            // `convert` gives the kind of its target, so pushing cannot fail.
            let _ = converted.push(number::convert(x.ty, to, x.data.get(i)));
        }
        converted
    }

    /// The sum of products of two runs of elements, as an element of the result.
    pub fn inner_product(self, lhs: &Data, lhs_at: usize, rhs: &Data, rhs_at: usize, length: usize) -> Outcome<Scalar> {
        Ok(self.finish(self.unrounded(lhs, lhs_at, rhs, rhs_at, length)?))
    }

    /// The sum of products of two runs of elements of the accumulation's kind, not yet rounded or wrapped.
    pub fn unrounded(self, lhs: &Data, lhs_at: usize, rhs: &Data, rhs_at: usize, length: usize) -> Outcome<Scalar> {
        match (lhs, rhs) {
            (Data::Int(a), Data::Int(b)) => {
                let pairs = a[lhs_at..lhs_at + length].iter().zip(&b[rhs_at..rhs_at + length]);
                Ok(Scalar::Int(pairs.fold(0i64, |sum, (&x, &y)| sum.wrapping_add(x.wrapping_mul(y)))))
            }
            (Data::Float(a), Data::Float(b)) => {
                let (a, b) = (&a[lhs_at..lhs_at + length], &b[rhs_at..rhs_at + length]);
                // Products of narrower types are exact in `f64`.
                Ok(Scalar::Float(if self.accumulation == ElementType::F64 { long_sum(a, b) } else { plain_sum(a, b) }))
            }
            (Data::Complex(a), Data::Complex(b)) => {
                Ok(Scalar::Complex(complex_sum(&a[lhs_at..lhs_at + length], &b[rhs_at..rhs_at + length])))
            }
            _ => malformed("the operands differ in kind"),
        }
    }

    /// A sum converted to the result's type. To a float it is rounded only once; what follows from it by more than
    /// rounding (an integer, a truth value) follows from a number of the accumulation's type.
    pub fn finish(self, sum: Scalar) -> Scalar {
        let rounds_only = self.result.is_float() || self.result.is_complex();
        let sum = match sum {
            Scalar::Int(x) => Scalar::Int(number::wrap(self.accumulation, x)),
            Scalar::Float(x) if !rounds_only => Scalar::Float(number::round(self.accumulation, x)),
            Scalar::Complex(z) if !rounds_only => Scalar::Complex(number::round_complex(self.accumulation, z)),
            sum => sum,
        };
        number::convert(self.accumulation, self.result, sum)
    }
}

fn plain_sum(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |sum, (x, y)| sum + x * y)
}

fn long_sum(a: &[f64], b: &[f64]) -> f64 {
    let mut sum = LongSum::default();
    a.iter().zip(b).for_each(|(&x, &y)| sum.add_product(x, y));
    sum.value()
}

fn complex_sum(a: &[Complex], b: &[Complex]) -> Complex {
    let (mut re, mut im) = (LongSum::default(), LongSum::default());
    for (x, y) in a.iter().zip(b) {
        re.add_product(x.re, y.re);
        re.add_product(-x.im, y.im);
        im.add_product(x.re, y.im);
        im.add_product(x.im, y.re);
    }
    Complex { re: re.value(), im: im.value() }
}

/// A dot in which groups of rows (or of contracted elements, or of batches) use different weights.
/// Operands: lhs, rhs, group sizes.
pub(crate) fn ragged_dot(
    operands: [&Array; 3],
    numbers: &DotDims,
    ragged: &[i64],
    group: &[i64],
    ty: ElementType,
    dims: Vec<usize>,
) -> Outcome<Array> {
    let [lhs, rhs, sizes] = operands;
    let &[ragged] = ragged else {
        return malformed("ragged-dot has one ragged dimension");
    };
    if numbers.lhs_contracting.contains(&ragged) {
        return ragged_contracting(lhs, rhs, sizes, numbers, ragged, ty, dims);
    }
    let mut plain = numbers.clone();
    if let &[group] = group {
        return ragged_rows(lhs, rhs, sizes, numbers, ragged, group, ty, dims);
    }
    // A ragged batch dimension: every group lies in the batch anyway.
    plain.algorithm.clear();
    dot(lhs, rhs, &plain, ty, dims)
}

/// Which group each element along the ragged dimension belongs to, per batch; `None` beyond the last.
struct Groups<'a> {
    sizes: &'a Array,
    batches: Vec<usize>,
}

impl<'a> Groups<'a> {
    /// `sizes` is `[groups]` or `[batch…, groups]`.
    fn new(sizes: &'a Array, batches: &[usize]) -> Outcome<Self> {
        match sizes.dims.split_last() {
            Some((_, outer)) if outer.is_empty() || outer == batches => Ok(Groups { sizes, batches: batches.to_vec() }),
            _ => malformed("the group sizes have neither one dimension nor the batch's"),
        }
    }

    fn of_batch(&self, batch: usize, length: usize) -> Outcome<Vec<Option<usize>>> {
        let count = self.sizes.dims.last().copied().unwrap_or(0);
        let first = if self.sizes.rank() == 1 || self.batches.is_empty() { 0 } else { batch * count };
        let mut groups = Vec::with_capacity(length);
        for (g, &size) in self.sizes.ints()?[first..first + count].iter().enumerate() {
            let end = (groups.len() + usize::try_from(size).unwrap_or(0)).min(length);
            groups.resize(end, Some(g));
        }
        groups.resize(length, None);
        Ok(groups)
    }
}

/// The ragged dimension is a free dimension of the left operand; rows of no group are zero.
#[allow(clippy::too_many_arguments, reason = "these are the operands and attributes of ragged-dot")]
fn ragged_rows(
    lhs: &Array,
    rhs: &Array,
    sizes: &Array,
    numbers: &DotDims,
    ragged: i64,
    group: i64,
    ty: ElementType,
    dims: Vec<usize>,
) -> Outcome<Array> {
    let mut rhs_numbers = numbers.clone();
    rhs_numbers.rhs_batch.push(group);
    // Every group's whole product, the group as last batch dimension of the right side.
    let sums = Sums::of(lhs.ty, rhs.ty, ty);
    let left = Side::new(lhs, &numbers.lhs_batch, &numbers.lhs_contracting, sums)?;
    let right = Side::new(rhs, &rhs_numbers.rhs_batch, &numbers.rhs_contracting, sums)?;
    let groups_count = right.batch.last().copied().unwrap_or(0);
    let groups = Groups::new(sizes, &left.batch)?;
    let ragged_at = {
        let batch_and_contracting = [numbers.lhs_batch.clone(), numbers.lhs_contracting.clone()].concat();
        let free: Vec<i64> = (0..lhs.rank() as i64).filter(|d| !batch_and_contracting.contains(d)).collect();
        match free.iter().position(|&d| d == ragged) {
            Some(at) => at,
            None => return malformed("the ragged dimension is no dimension of the left operand"),
        }
    };
    let inner: usize = left.free[ragged_at + 1..].iter().product();
    let length: usize = left.contracted.iter().product();
    let (rows, columns): (usize, usize) = (left.free.iter().product(), right.free.iter().product());
    let mut data = Data::with_capacity(ty, element_count(&dims)?);
    for b in 0..left.batch.iter().product() {
        let of_row = groups.of_batch(b, left.free[ragged_at])?;
        for i in 0..rows {
            let weights = of_row[i / inner.max(1) % left.free[ragged_at].max(1)].filter(|&g| g < groups_count);
            for j in 0..columns {
                let at = |g: usize| ((b * groups_count + g) * columns + j) * length;
                data.push(match weights {
                    Some(g) => {
                        let start = (b * rows + i) * length;
                        sums.inner_product(&left.data, start, &right.data, at(g), length)?
                    }
                    None => Scalar::zero(ty),
                })?;
            }
        }
    }
    if data.len() != dims.iter().product::<usize>() {
        return malformed("the result of ragged-dot has another size than announced");
    }
    Ok(Array::new(ty, dims, data))
}

/// The ragged dimension is contracted: one result per group, in front.
fn ragged_contracting(
    lhs: &Array,
    rhs: &Array,
    sizes: &Array,
    numbers: &DotDims,
    ragged: i64,
    ty: ElementType,
    dims: Vec<usize>,
) -> Outcome<Array> {
    if !numbers.lhs_batch.is_empty() || numbers.lhs_contracting.len() != 1 {
        return crate::error::unsupported("ragged-dot with a ragged contracting dimension and batch dimensions");
    }
    let sums = Sums::of(lhs.ty, rhs.ty, ty);
    let left = Side::new(lhs, &[], &[ragged], sums)?;
    let right = Side::new(rhs, &[], &numbers.rhs_contracting, sums)?;
    let length = left.contracted[0];
    let of_element = Groups::new(sizes, &[])?.of_batch(0, length)?;
    let (rows, columns): (usize, usize) = (left.free.iter().product(), right.free.iter().product());
    let mut data = Data::with_capacity(ty, element_count(&dims)?);
    for g in 0..sizes.len() {
        let start = of_element.iter().position(|&of| of == Some(g)).unwrap_or(0);
        let run = of_element.iter().filter(|&&of| of == Some(g)).count();
        for i in 0..rows {
            for j in 0..columns {
                let (a, b) = (i * length + start, j * length + start);
                data.push(sums.inner_product(&left.data, a, &right.data, b, run)?)?;
            }
        }
    }
    if data.len() != dims.iter().product::<usize>() {
        return malformed("the result of ragged-dot has another size than announced");
    }
    Ok(Array::new(ty, dims, data))
}

/// An operand of `scaled-dot` times its scales, each of which holds for a block of elements.
pub(crate) fn scaled(x: &Array, scale: &Array) -> Outcome<Array> {
    if scale.rank() != x.rank() || scale.dims.iter().zip(&x.dims).any(|(&s, &d)| s == 0 || d % s != 0) {
        return if scale.rank() == 0 {
            times(x, scale, &[])
        } else {
            malformed("the scales do not divide the operand")
        };
    }
    let blocks: Vec<usize> = x.dims.iter().zip(&scale.dims).map(|(&d, &s)| d / s).collect();
    times(x, scale, &blocks)
}

fn times(x: &Array, scale: &Array, blocks: &[usize]) -> Outcome<Array> {
    let steps = crate::strided::strides(&scale.dims);
    let (values, scales) = (x.floats()?, scale.floats()?);
    let mut product = Vec::with_capacity(values.len());
    crate::strided::for_each_index(&x.dims, |index| {
        let block = index.iter().zip(blocks).zip(&steps);
        let at: isize = block.map(|((&i, &size), &step)| (i / size) as isize * step).sum();
        product.push(values[product.len()] * scales[at as usize]);
        Outcome::Ok(())
    })?;
    Ok(Array::new(ElementType::F64, x.dims.clone(), Data::Float(product)))
}
