//! Shape inference of operations that apply a computation along dimensions.

use super::control::one_or_tuple;
use super::{Inferred, Signature, Site, array, dimension, distinct_dims};
use crate::{ArrayShape, ComputationId, ElementType, Shape};

/// Returns the elements of a tuple. For other shapes, returns the shape itself as the only element.
fn elements_of(shape: &Shape) -> &[Shape] {
    shape.as_tuple().unwrap_or(std::slice::from_ref(shape))
}

/// Whether two types differ at most in precision.
fn same_kind(a: ElementType, b: ElementType) -> bool {
    a == b || (a.is_float() && b.is_float()) || (a.is_complex() && b.is_complex())
}

/// Checks the signature of a combiner. The combiner's parameters must be accumulators followed by
/// values, all of them scalars of the given types. The combiner's results must be new accumulators.
/// Returns the types of the accumulators. The types of the accumulators may differ from `types` in
/// precision.
pub(super) fn scalar_function(site: &Site, id: ComputationId, types: &[ElementType]) -> Inferred<Vec<ElementType>> {
    let callee = site.callee(id)?;
    let wrong = |what: &str| {
        let wanted: Vec<&str> = types.iter().map(|element_type| element_type.name()).collect();
        format!(
            "the computation that {} applies must take accumulators and values, each {}, and give accumulators: {what}",
            site.name(),
            wanted.join(", ")
        )
    };
    let count = types.len();
    let results = elements_of(callee.result);
    let parameter_count = callee.parameters.len();
    ensure!(parameter_count == 2 * count, "{}", wrong(&format!("it takes {parameter_count} parameters")));
    ensure!(results.len() == count, "{}", wrong(&format!("it gives {}", callee.result)));
    let scalar = |shape: &Shape| shape.as_array().filter(|array| array.rank() == 0).map(|array| array.element_type);
    let mut accumulators = Vec::with_capacity(count);
    for (position, &element_type) in types.iter().enumerate() {
        let fits = |found: Option<ElementType>| found.is_some_and(|found| same_kind(found, element_type));
        let result = scalar(&results[position]).filter(|&found| fits(Some(found)));
        let Some(result) = result else { return Err(wrong(&format!("it gives {}", callee.result))) };
        let accumulator = callee.parameters[position];
        ensure!(scalar(accumulator) == Some(result), "{}", wrong(&format!("parameter {position} is {accumulator}")));
        let value = callee.parameters[count + position];
        ensure!(fits(scalar(value)), "{}", wrong(&format!("parameter {} is {value}", count + position)));
        accumulators.push(result);
    }
    Ok(accumulators)
}

/// Returns the arrays of a reduction. Checks that the operands are n arrays of equal dimensions,
/// followed by n scalars. The scalars are the initial values.
pub(super) fn reduced_arrays<'a>(site: &Site<'a>) -> Inferred<Vec<&'a ArrayShape>> {
    let count = site.operands.len() / 2;
    let even = site.operands.len().is_multiple_of(2) && count > 0;
    ensure!(even, "{} takes n arrays and n initial values, found {} operands", site.name(), site.operands.len());
    let arrays: Vec<&ArrayShape> = (0..count).map(|position| site.array(position)).collect::<Inferred<_>>()?;
    for (position, array) in arrays.iter().enumerate() {
        let same = array.dims == arrays[0].dims;
        ensure!(same, "the arrays of {} must have equal dimensions, found {} and {array}", site.name(), arrays[0]);
        let initial = site.scalar(count + position)?;
        let fits = same_kind(initial.element_type, array.element_type);
        ensure!(fits, "the initial value for {array} is {initial}, of another type");
    }
    Ok(arrays)
}

/// Returns the shape of one array, or of a tuple of several arrays of equal dimensions.
pub(super) fn arrays_or_tuple(types: &[ElementType], dims: &[i64]) -> Inferred {
    match types {
        [single] => array(*single, dims),
        _ => Ok(Shape::Tuple(types.iter().map(|&element_type| Shape::array(element_type, dims)).collect())),
    }
}

pub(super) fn reduce(site: &Site, dimensions: &[i64], to_apply: ComputationId) -> Inferred {
    let arrays = reduced_arrays(site)?;
    let first = arrays[0];
    distinct_dims("reduce's `dimensions`", dimensions, first.rank())?;
    let types: Vec<ElementType> = arrays.iter().map(|array| array.element_type).collect();
    let results = scalar_function(site, to_apply, &types)?;
    let kept = first.dims.iter().enumerate().filter(|&(dim, _)| !dimensions.contains(&(dim as i64)));
    let dims: Vec<i64> = kept.map(|(_, &size)| size).collect();
    arrays_or_tuple(&results, &dims)
}

/// Checks that a computation takes `of_each` elements of each operand, and that the operands have
/// equal dimensions.
fn takes_elements(site: &Site, what: &str, callee: &Signature, of_each: usize) -> Inferred<()> {
    let first = site.array(0)?;
    for (position, parameter) in callee.parameters.iter().enumerate() {
        let (operand, name) = (site.array(position / of_each)?, site.name());
        ensure!(operand.dims == first.dims, "the operands of {name} must have equal dimensions: {first}, {operand}");
        let wanted = Shape::array(operand.element_type, []);
        let fits = parameter.same_structure(&wanted);
        ensure!(fits, "parameter {position} of {what} must be {wanted}, is {parameter}");
    }
    Ok(())
}

pub(super) fn map(site: &Site, dimensions: &[i64], to_apply: ComputationId) -> Inferred {
    let first = site.array(0)?;
    let callee = site.callee(to_apply)?;
    let counts = (callee.parameters.len(), site.operands.len());
    ensure!(counts.0 == counts.1, "map has {} operands, its computation takes {} parameters", counts.1, counts.0);
    takes_elements(site, "map's computation", &callee, 1)?;
    let all = dimensions.is_empty() || dimensions.iter().copied().eq(0..first.rank() as i64);
    ensure!(all, "map's `dimensions` must be all dimensions of {first} in order");
    let result = callee.result.as_array().filter(|array| array.rank() == 0);
    let result = result.ok_or_else(|| format!("map's computation must give a scalar, gives {}", callee.result))?;
    array(result.element_type, first.dims.clone())
}

pub(super) fn scan(site: &Site, dim: i64, num_carries: i64) -> Inferred {
    let declared = site.declared()?;
    let results = elements_of(declared);
    let carries = usize::try_from(num_carries).ok();
    let carries = carries.filter(|&count| count <= site.operands.len() && count <= results.len());
    let Some(carries) = carries else {
        return Err(format!("scan has {num_carries} carries, but {} operands", site.operands.len()));
    };
    let inputs = site.operands.len() - carries;
    for position in 0..inputs {
        dimension("scan's dimension", dim, site.array(position)?.rank())?;
    }
    for (initial, result) in site.operands[inputs..].iter().zip(&results[results.len() - carries..]) {
        ensure!(initial.same_structure(result), "a carry of scan starts as {initial} and ends as {result}");
    }
    Ok(declared.clone())
}

pub(super) fn sort(site: &Site, dim: i64, comparator: ComputationId) -> Inferred {
    let first = site.array(0)?;
    dimension("sort's dimension", dim, first.rank())?;
    let callee = site.callee(comparator)?;
    let is_predicate = callee.result.same_structure(&Shape::array(ElementType::Pred, []));
    ensure!(is_predicate, "the comparator of sort must give pred[], gives {}", callee.result);
    let counts = (callee.parameters.len(), site.operands.len());
    let wanted = 2 * counts.1;
    ensure!(counts.0 == wanted, "the comparator of sort must take {wanted} parameters, takes {}", counts.0);
    takes_elements(site, "the comparator", &callee, 2)?;
    one_or_tuple(site.operands)
}

pub(super) fn topk(site: &Site, k: i64) -> Inferred {
    let operand = site.only_array()?;
    let Some((&last, outer)) = operand.dims.split_last() else {
        return Err("topk needs at least one dimension".to_owned());
    };
    ensure!(0 <= k && k <= last, "topk takes {k} of the {last} elements in the last dimension of {operand}");
    let dims = [outer, &[k]].concat();
    let values = Shape::array(operand.element_type, dims.clone());
    Ok(Shape::Tuple(vec![values, Shape::array(ElementType::S32, dims)]))
}
