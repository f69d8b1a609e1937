//! `dot`, `ragged-dot` and `scaled-dot`.

use std::ops::Range;

use fusebox_core::hlo::{DotDims, ElementType, accumulation_type};

use crate::error::{Outcome, ensure, malformed, unsupported};
use crate::gather::others;
use crate::movement::{dimension_numbers, transpose_by};
use crate::number::{self, Complex, LongSum};
use crate::strided::{for_each_index, permuted, strides};
use crate::value::{Array, Data, Scalar, element_count};

/// Computes sums of products over the contracting dimensions. Integers wrap. Floats narrower than
/// `f64` are summed in `f64`, and `f64` is summed with twice the precision of `f64`. Each sum is
/// rounded once.
pub(crate) fn dot(lhs: &Array, rhs: &Array, numbers: &DotDims, ty: ElementType, dims: Vec<usize>) -> Outcome<Array> {
    let sums = Sums::of(lhs.ty, rhs.ty, ty);
    let lhs = Side::new(lhs, &numbers.lhs_batch, &numbers.lhs_contracting, sums)?;
    let rhs = Side::new(rhs, &numbers.rhs_batch, &numbers.rhs_contracting, sums)?;
    let fits = lhs.batch == rhs.batch && lhs.contracted == rhs.contracted;
    ensure!(fits, "the batch or contracting dimensions of the operands differ in size");
    let expected: Vec<usize> = [lhs.batch.clone(), lhs.free.clone(), rhs.free.clone()].concat();
    ensure!(expected == dims, "dot gives {expected:?}, but is declared as {dims:?}");
    let (rows, columns, length) =
        (lhs.free.iter().product::<usize>(), rhs.free.iter().product::<usize>(), lhs.length());
    let batches = lhs.batch.iter().product();
    products(&lhs, &rhs, sums, batches, dims, |b, i, j| Some((b * rows + i, b * columns + j, 0..length)))
}

/// Computes one element for each combination of a number below `outer`, a row of the left operand
/// and a column of the right operand. For each combination, `of` chooses one run of contracted
/// elements in each operand, and a range within both runs. Each element is the inner product of the
/// two chosen runs over the chosen range. If `of` returns `None`, the element is zero.
fn products(
    left: &Side,
    right: &Side,
    sums: Sums,
    outer: usize,
    dims: Vec<usize>,
    of: impl Fn(usize, usize, usize) -> Option<(usize, usize, Range<usize>)>,
) -> Outcome<Array> {
    let (rows, columns): (usize, usize) = (left.free.iter().product(), right.free.iter().product());
    let (ty, length) = (sums.result, left.length());
    let mut data = Data::with_capacity(ty, element_count(&dims)?);
    for o in 0..outer {
        for i in 0..rows {
            for j in 0..columns {
                data.push(match of(o, i, j) {
                    Some((l, r, run)) => {
                        let (l, r) = (l * length + run.start, r * length + run.start);
                        match (length, run.len()) {
                            (1, 1) => sums.product(left.data.get(l), right.data.get(r))?,
                            (_, terms) => sums.inner_product(&left.data, l, &right.data, r, terms)?,
                        }
                    }
                    None => Scalar::zero(ty),
                })?;
            }
        }
    }
    ensure!(data.len() == dims.iter().product::<usize>(), "the result of ragged-dot does not have the declared size");
    Ok(Array::new(ty, dims, data))
}

/// One operand of a dot, transposed so that batch, free and contracting dimensions follow each
/// other in this order. The elements have the kind of the sum (integer, float or complex).
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
        ensure!(order.len() == x.rank(), "a dimension of dot is both batch and contracting, or named twice");
        let data = sums.operand(transpose_by(x, &order)?);
        Ok(Side { batch: permuted(&x.dims, &batch), free, contracted: permuted(&x.dims, &contracting), data })
    }

    /// Returns the length of a run of contracted elements, which is the product of the contracting
    /// dimensions.
    fn length(&self) -> usize {
        self.contracted.iter().product()
    }
}

/// The type in which a dot or convolution adds products, and the type of its result.
#[derive(Clone, Copy)]
pub(crate) struct Sums {
    /// The type in which products are added.
    pub accumulation: ElementType,
    result: ElementType,
}

impl Sums {
    /// Chooses the accumulation type for the types of the operands and of the result.
    pub fn of(lhs: ElementType, rhs: ElementType, result: ElementType) -> Self {
        Sums { accumulation: accumulation_type(lhs, rhs, result), result }
    }

    /// Converts an operand to the kind of the accumulation type (integer, float or complex).
    /// Elements that already have the kind of the accumulation type need no conversion: integers
    /// wrap at the end, and floats are never wider than the sum.
    pub fn operand(self, x: Array) -> Data {
        let to = self.accumulation;
        let same_kind = match &x.data {
            Data::Int(_) => to.is_integer_or_pred(),
            Data::Float(_) => to.is_float(),
            Data::Complex(_) => to.is_complex(),
        };
        if same_kind {
            return x.data;
        }
        let mut converted = Data::with_capacity(to, x.len());
        for i in 0..x.len() {
            // `convert` returns the kind of its target, so pushing cannot fail.
            let _ = converted.push(number::convert(x.ty, to, x.data.get(i)));
        }
        converted
    }

    /// Multiplies two runs of elements pairwise and sums the products. Converts the sum to the type
    /// of the result.
    pub fn inner_product(self, lhs: &Data, lhs_at: usize, rhs: &Data, rhs_at: usize, length: usize) -> Outcome<Scalar> {
        Ok(self.finish(self.unrounded(lhs, lhs_at, rhs, rhs_at, length)?))
    }

    /// Computes the sum of a single product, which is the product itself. A zero product thus keeps
    /// its sign, which a sum that starts from 0 would lose. XLA and the compiler also rewrite a dot
    /// with a single product as a multiplication.
    fn product(self, x: Scalar, y: Scalar) -> Outcome<Scalar> {
        Ok(self.finish(match (x, y) {
            (Scalar::Int(x), Scalar::Int(y)) => Scalar::Int(x.wrapping_mul(y)),
            (Scalar::Float(x), Scalar::Float(y)) => Scalar::Float(x * y),
            (Scalar::Complex(x), Scalar::Complex(y)) => Scalar::Complex(x.multiply(y)),
            _ => return malformed("the operands mix integers, floats and complex numbers"),
        }))
    }

    /// Multiplies two runs of elements pairwise and sums the products, without rounding or wrapping
    /// the sum. Both operands have the kind of the accumulation type.
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
            _ => malformed("the operands mix integers, floats and complex numbers"),
        }
    }

    /// Converts a sum to the result's type. If the result is a float, the sum is rounded only once.
    /// If the result is of another kind (an integer, a truth value), the sum is first rounded to
    /// the accumulation type.
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

/// Computes a dot whose ragged dimension is divided into groups. Each group consists of rows,
/// contracted elements or batches, and uses separate weights. The operands are lhs, rhs and the
/// group sizes.
pub(crate) fn ragged_dot(
    operands: [&Array; 3],
    numbers: &DotDims,
    ragged: &[i64],
    group: &[i64],
    ty: ElementType,
    dims: Vec<usize>,
) -> Outcome<Array> {
    let [lhs, rhs, sizes] = operands;
    let sums = Sums::of(lhs.ty, rhs.ty, ty);
    match (ragged, group) {
        (&[ragged], _) if numbers.lhs_contracting.contains(&ragged) => {
            if !numbers.lhs_batch.is_empty() || numbers.lhs_contracting.len() != 1 {
                return unsupported("ragged-dot with a ragged contracting dimension and batch dimensions");
            }
            ragged_contracting(lhs, rhs, sizes, numbers, sums, dims)
        }
        (&[ragged], &[group]) => {
            let mut numbers = numbers.clone();
            numbers.rhs_batch.push(group);
            ragged_rows(operands, &numbers, ragged, sums, dims)
        }
        // If the ragged dimension is a batch dimension, every group consists of whole batches. An
        // ordinary dot then gives the result.
        (&[_], _) => dot(lhs, rhs, numbers, ty, dims),
        _ => malformed("ragged-dot has one ragged dimension"),
    }
}

/// Assigns a group to each element along the ragged dimension, per batch. Elements beyond the last
/// group have no group (`None`).
struct Groups<'a> {
    sizes: &'a Array,
    batches: Vec<usize>,
}

impl<'a> Groups<'a> {
    /// Creates the groups. `sizes` has the dimensions `[groups]` or `[batch…, groups]`.
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

/// Computes a dot whose ragged dimension is a free dimension of the left operand. Rows of the
/// result that belong to no group are zero. The last batch dimension of the right operand
/// enumerates the groups.
fn ragged_rows(
    [lhs, rhs, sizes]: [&Array; 3],
    numbers: &DotDims,
    ragged: i64,
    sums: Sums,
    dims: Vec<usize>,
) -> Outcome<Array> {
    let left = Side::new(lhs, &numbers.lhs_batch, &numbers.lhs_contracting, sums)?;
    let right = Side::new(rhs, &numbers.rhs_batch, &numbers.rhs_contracting, sums)?;
    let taken = |d: &i64| numbers.lhs_batch.contains(d) || numbers.lhs_contracting.contains(d);
    let Some(ragged) = (0..lhs.rank() as i64).filter(|d| !taken(d)).position(|d| d == ragged) else {
        return malformed("the ragged dimension is no dimension of the left operand");
    };
    let (batches, size) = (left.batch.iter().product(), left.free[ragged]);
    let groups = Groups::new(sizes, &left.batch)?;
    let groups = (0..batches).map(|batch| groups.of_batch(batch, size)).collect::<Outcome<Vec<_>>>()?;
    let count = right.batch.last().copied().unwrap_or(0);
    let inner: usize = left.free[ragged + 1..].iter().product();
    let (rows, columns, length): (usize, usize, usize) =
        (left.free.iter().product(), right.free.iter().product(), left.length());
    products(&left, &right, sums, batches, dims, |b, i, j| {
        let group = groups[b][i / inner % size].filter(|&g| g < count)?;
        Some((b * rows + i, (b * count + group) * columns + j, 0..length))
    })
}

/// Computes a dot whose ragged dimension is contracted. The first dimension of the result
/// enumerates the groups.
fn ragged_contracting(
    lhs: &Array,
    rhs: &Array,
    sizes: &Array,
    numbers: &DotDims,
    sums: Sums,
    dims: Vec<usize>,
) -> Outcome<Array> {
    let left = Side::new(lhs, &[], &numbers.lhs_contracting, sums)?;
    let right = Side::new(rhs, &[], &numbers.rhs_contracting, sums)?;
    let groups = Groups::new(sizes, &[])?.of_batch(0, left.length())?;
    products(&left, &right, sums, sizes.len(), dims, |group, i, j| {
        let start = groups.iter().position(|&of| of == Some(group)).unwrap_or(0);
        Some((i, j, start..start + groups.iter().filter(|&&of| of == Some(group)).count()))
    })
}

/// Multiplies an operand of `scaled-dot` by its scales. Each scale applies to a block of elements.
/// A scalar scale applies to all elements.
pub(crate) fn scaled(x: &Array, scale: &Array) -> Outcome<Array> {
    let pairs = || x.dims.iter().zip(&scale.dims);
    let fits = scale.rank() == 0 || scale.rank() == x.rank() && pairs().all(|(&d, &s)| s != 0 && d % s == 0);
    ensure!(fits, "the scales do not divide the operand");
    let blocks: Vec<usize> = pairs().map(|(&d, &s)| d / s).collect();
    let steps = strides(&scale.dims);
    let (values, scales) = (x.floats()?, scale.floats()?);
    let mut product = Vec::with_capacity(values.len());
    for_each_index(&x.dims, |index| {
        let block = index.iter().zip(&blocks).zip(&steps);
        let at: isize = block.map(|((&i, &size), &step)| (i / size) as isize * step).sum();
        product.push(values[product.len()] * scales[at as usize]);
        Outcome::Ok(())
    })?;
    Ok(Array::new(ElementType::F64, x.dims.clone(), Data::Float(product)))
}
