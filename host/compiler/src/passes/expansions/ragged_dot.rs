//! `ragged-dot`: rows along the ragged dimension belong to groups, and each group has its own
//! matrix.
//!
//! If the ragged dimension is free, the expansion multiplies with the matrices of all groups and
//! keeps for each row the result of its group. If the ragged dimension is contracted, the expansion
//! repeats the operands for each group, with zeros for the elements of other groups.

use fusebox_core::hlo::{ArrayShape, DotDims, ElementType};

use super::scaled_dot::numbers;
use super::{array, list, nothing, plain, zero};

/// Combiners for sums and disjunctions.
const COMBINERS: &str = "sum_s64 {
  a = s64[] parameter(0)
  b = s64[] parameter(1)
  ROOT r = s64[] add(a, b)
}
any {
  a = pred[] parameter(0)
  b = pred[] parameter(1)
  ROOT r = pred[] or(a, b)
}
";

/// Returns the text of the expansion. Operands: left, right, sizes of the groups (`[groups]` or
/// `[batch…, groups]`).
pub fn text(
    dims: &DotDims,
    ragged: &[i64],
    group: Option<i64>,
    [lhs, rhs, sizes]: [&ArrayShape; 3],
    result: &ArrayShape,
) -> Result<String, String> {
    let &[ragged] = ragged else { return Err("ragged-dot has one ragged dimension".into()) };
    let parameters = format!(
        "ENTRY e {{\n  l = {} parameter(0)\n  r = {} parameter(1)\n  s = {} parameter(2)\n",
        plain(lhs),
        plain(rhs),
        plain(sizes)
    );
    let sums = |ty: ElementType| {
        format!(
            "{COMBINERS}sum {{\n  a = {ty}[] parameter(0)\n  b = {ty}[] parameter(1)\n  ROOT r = {ty}[] add(a, b)\n}}\n"
        )
    };
    let length = usize::try_from(ragged).ok().and_then(|at| lhs.dims.get(at)).copied().unwrap_or(0);
    let bounds = bounds(sizes, length);
    let begin = sums(result.element_type) + &parameters;
    if let Some(at) = dims.lhs_contracting.iter().position(|&dim| dim == ragged) {
        if !dims.lhs_batch.is_empty() || dims.lhs_contracting.len() != 1 || sizes.rank() != 1 {
            return Err("ragged-dot with a ragged contracting dimension and further ones is not supported".into());
        }
        return Ok(begin + &bounds + &contracted(dims, at, [lhs, rhs, sizes], result));
    }
    match group {
        Some(group) => Ok(begin + &bounds + &rows(dims, ragged, group, [lhs, rhs, sizes], result)?),
        // If the ragged dimension is a batch dimension, the batches already separate the groups.
        None => Ok(format!("{parameters}  ROOT d = {} dot(l, r), {}\n}}\n", plain(result), numbers(dims))),
    }
}

/// Writes `start` and `end`: for each group, the range of its rows.
fn bounds(sizes: &ArrayShape, length: i64) -> String {
    let (rank, groups) = (sizes.rank(), sizes.dims.last().copied().unwrap_or(0));
    let all = array(ElementType::S64, &sizes.dims);
    let pairs = [&sizes.dims[..], &[groups]].concat();
    let (pairs, are_counted) = (array(ElementType::S64, &pairs), array(ElementType::Pred, &pairs));
    let (own, last) = (list(&(0..rank as i64).collect::<Vec<_>>()), rank as i64 - 1);
    format!(
        "  zero = s64[] constant(0)
  length = s64[] constant({length})
  zeros = {all} broadcast(zero), dimensions={{}}
  lengths = {all} broadcast(length), dimensions={{}}
  wide = {all} convert(s)
  positive = {all} maximum(wide, zeros)
  size = {all} minimum(positive, lengths)
  sizes = {pairs} broadcast(size), dimensions={{{own}}}
  other = {pairs} iota(), iota_dimension={last}
  own = {pairs} iota(), iota_dimension={rank}
  is_counted = {are_counted} compare(other, own), direction=LE
  none = {pairs} broadcast(zero), dimensions={{}}
  before = {pairs} select(is_counted, sizes, none)
  end = {all} reduce(before, zero), dimensions={{{last}}}, to_apply=sum_s64
  start = {all} subtract(end, size)
"
    )
}

/// Writes the mask `in`: for each element of an array, whether its index along dimension `row`
/// belongs to its group. `dims`: the dimensions of the array that correspond to the dimensions of
/// the sizes.
fn is_in(prefix: &str, sizes: &[i64], row: usize, dims: &[i64]) -> String {
    let (rows, are_in, dims) = (array(ElementType::S64, sizes), array(ElementType::Pred, sizes), list(dims));
    format!(
        "  {prefix}starts = {rows} broadcast(start), dimensions={{{dims}}}
  {prefix}ends = {rows} broadcast(end), dimensions={{{dims}}}
  {prefix}row = {rows} iota(), iota_dimension={row}
  {prefix}is_after = {are_in} compare({prefix}row, {prefix}starts), direction=GE
  {prefix}is_before = {are_in} compare({prefix}row, {prefix}ends), direction=LT
  {prefix}in = {are_in} and({prefix}is_after, {prefix}is_before)
"
    )
}

fn rows(
    dims: &DotDims,
    ragged: i64,
    group: i64,
    [lhs, rhs, sizes]: [&ArrayShape; 3],
    result: &ArrayShape,
) -> Result<String, String> {
    let free = |rank: usize, batch: &[i64], contracting: &[i64]| -> Vec<i64> {
        (0..rank as i64).filter(|dim| !batch.contains(dim) && !contracting.contains(dim)).collect()
    };
    let left = free(lhs.rank(), &dims.lhs_batch, &dims.lhs_contracting);
    let right = free(rhs.rank(), &dims.rhs_batch, &dims.rhs_contracting);
    let place = |list: &[i64], dim: i64| list.iter().position(|&it| it == dim);
    let (Some(row), Some(group)) = (place(&left, ragged), place(&right, group)) else {
        return Err("the ragged dimension of ragged-dot is no free one".into());
    };
    let batch = dims.lhs_batch.len();
    let (row, group) = (batch + row, batch + left.len() + group);
    if sizes.rank() != 1 && sizes.rank() != batch + 1 {
        return Err("the group sizes of ragged-dot have neither one dimension nor the batch's".into());
    }
    let mut all = result.dims.clone();
    all.insert(group, sizes.dims.last().copied().unwrap_or(0));
    let ty = result.element_type;
    let (products, kept, any) = (array(ty, &all), plain(result), array(ElementType::Pred, &result.dims));
    let of_sizes: Vec<i64> = (0..sizes.rank() as i64 - 1).chain([group as i64]).collect();
    Ok(format!(
        "  d = {products} dot(l, r), {}
{}  nothing = {ty}[] constant({})
  nothings = {products} broadcast(nothing), dimensions={{}}
  of_group = {products} select(in, d, nothings)
  total = {kept} reduce(of_group, nothing), dimensions={{{group}}}, to_apply=sum
  false = pred[] constant(false)
  has_group = {any} reduce(in, false), dimensions={{{group}}}, to_apply=any
  nil = {ty}[] constant({})
  nils = {kept} broadcast(nil), dimensions={{}}
  ROOT rows = {kept} select(has_group, total, nils)
}}
",
        numbers(dims),
        is_in("", &all, row, &of_sizes),
        nothing(ty),
        zero(ty),
    ))
}

fn contracted(dims: &DotDims, at: usize, [lhs, rhs, sizes]: [&ArrayShape; 3], result: &ArrayShape) -> String {
    let mut text = String::new();
    for (name, operand, contracting) in [("l", lhs, &dims.lhs_contracting), ("r", rhs, &dims.rhs_contracting)] {
        let repeated = [&sizes.dims[..], &operand.dims].concat();
        let (shape, ty) = (array(operand.element_type, &repeated), operand.element_type);
        let own: Vec<i64> = (1..=operand.rank() as i64).collect();
        text += &is_in(name, &repeated, 1 + contracting[at] as usize, &[0]);
        text += &format!(
            "  {name}all = {shape} broadcast({name}), dimensions={{{}}}
  {name}nil = {ty}[] constant({})
  {name}nils = {shape} broadcast({name}nil), dimensions={{}}
  {name}own = {shape} select({name}in, {name}all, {name}nils)
",
            list(&own),
            zero(ty)
        );
    }
    let moved = |list: &[i64]| list.iter().map(|dim| dim + 1).collect();
    let dims = DotDims {
        lhs_batch: vec![0],
        rhs_batch: vec![0],
        lhs_contracting: moved(&dims.lhs_contracting),
        rhs_contracting: moved(&dims.rhs_contracting),
        ..dims.clone()
    };
    text + &format!("  ROOT d = {} dot(lown, rown), {}\n}}\n", plain(result), numbers(&dims))
}
