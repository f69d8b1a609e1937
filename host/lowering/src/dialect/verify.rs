//! What makes an `xla_gpu` operation valid.

use fusebox_core::indexing::IndexingMap;

use crate::mlir::{Operation, Type};

type Verdict = Result<(), String>;

fn ensure(holds: bool, message: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(message()) }
}

fn callee(op: Operation) -> Verdict {
    let symbol = op.attribute("callee").and_then(|attribute| attribute.symbol());
    ensure(symbol.is_some(), || "needs the attribute `callee`, a function's name".into())
}

fn no_regions(op: Operation) -> Verdict {
    ensure(op.region_count() == 0, || "has no regions".into())
}

/// The attribute `map`.
pub(crate) fn map_of(op: Operation) -> Result<IndexingMap, String> {
    let text = op.attribute("map").and_then(|attribute| attribute.string());
    let text = text.ok_or("needs the attribute `map`, an indexing map as a string")?;
    crate::indices::parse_map(text).map_err(|error| format!("has a map that does not parse: {error}"))
}

pub(super) fn pure_call(op: Operation) -> Verdict {
    callee(op)?;
    no_regions(op)
}

pub(super) fn apply_indexing(op: Operation) -> Verdict {
    no_regions(op)?;
    let map = map_of(op)?;
    let wanted = map.dims.len() + map.ranges.len() + map.runtime.len();
    ensure(op.operand_count() == wanted, || {
        format!("has {} operands, its map {wanted} variables", op.operand_count())
    })?;
    ensure(op.result_count() == map.results.len(), || {
        format!("has {} results, its map {}", op.result_count(), map.results.len())
    })?;
    let index = op.operands().chain(op.results()).all(|value| value.ty() == Type::Index);
    ensure(index, || "takes and gives values of type index".into())
}

pub(super) fn loops(op: Operation) -> Verdict {
    let map = map_of(op)?;
    let dims = map.dims.len() + map.runtime.len();
    let inits = op.operand_count().checked_sub(dims);
    let Some(inits) = inits else {
        return Err(format!("has {} operands, its map {dims} dimensions and runtime variables", op.operand_count()));
    };
    ensure(op.operands().take(dims).all(|value| value.ty() == Type::Index), || {
        "takes dimensions of type index".into()
    })?;
    let init_types: Vec<Type> = op.operands().skip(dims).map(|value| value.ty()).collect();
    let result_types: Vec<Type> = op.results().map(|value| value.ty()).collect();
    ensure(init_types == result_types, || "gives results of the types of its initial values".into())?;
    ensure(op.region_count() == 1, || "has one region".into())?;
    let Some(body) = op.block(0) else { return Err("has no body".into()) };
    let wanted = map.ranges.len() + map.results.len() + inits;
    ensure(body.argument_count() == wanted, || {
        format!("has a body of {} arguments where its map asks for {wanted}", body.argument_count())
    })?;
    let argument_types: Vec<Type> = body.arguments().map(|value| value.ty()).collect();
    let indices = map.ranges.len() + map.results.len();
    ensure(argument_types[..indices].iter().all(|ty| *ty == Type::Index), || {
        "has a body whose first arguments are of type index".into()
    })?;
    ensure(argument_types[indices..] == init_types[..], || "has a body that takes the iterated values last".into())?;
    let unroll = op.attribute("unroll").map(|attribute| attribute.integers().ok_or("has an `unroll` that is no array"));
    let unroll = unroll.transpose()?.unwrap_or_default();
    ensure(unroll.iter().all(|&range| usize::try_from(range).is_ok_and(|range| range < map.ranges.len())), || {
        format!("unrolls range variables {unroll:?} of {}", map.ranges.len())
    })
}

pub(super) fn yields(op: Operation) -> Verdict {
    let Some(parent) = op.parent() else { return Err("stands alone".into()) };
    let types: Vec<Type> = op.operands().map(|value| value.ty()).collect();
    match parent.name() {
        "xla_gpu.loop" => ensure(types == parent.results().map(|value| value.ty()).collect::<Vec<_>>(), || {
            "yields other types than its loop's results".into()
        }),
        "xla_gpu.atomic_rmw" => {
            let element = element_of(parent.operand(0).ty());
            ensure(types.len() == 1 && types.first() == element.as_ref(), || "yields one element of the tensor".into())
        }
        other => Err(format!("ends the body of a loop or atomic_rmw, not of `{other}`")),
    }
}

fn element_of(ty: Type) -> Option<Type> {
    match ty {
        Type::Tensor { element, .. } => Some(*element),
        _ => None,
    }
}

/// Operands from `first` are a tensor and one index per dimension; gives the element type.
fn indexed_tensor(op: Operation, first: usize) -> Result<Type, String> {
    let mut operands = op.operands().skip(first).map(|value| value.ty());
    let Some(Type::Tensor { shape, element }) = operands.next() else {
        return Err(format!("takes a tensor as operand {first}"));
    };
    let indices: Vec<Type> = operands.collect();
    ensure(indices.len() == shape.len() && indices.iter().all(|ty| *ty == Type::Index), || {
        format!("takes {} indices after the tensor", shape.len())
    })?;
    Ok(*element)
}

pub(super) fn predicated_extract(op: Operation) -> Verdict {
    no_regions(op)?;
    ensure(op.operand_count() >= 3 && op.result_count() == 1, || {
        "takes a condition, a fallback, a tensor and indices, and gives one element".into()
    })?;
    let element = indexed_tensor(op, 2)?;
    ensure(op.operand(0).ty() == Type::Integer(1), || "takes a condition of type i1".into())?;
    ensure(op.operand(1).ty() == element && op.result(0).ty() == element, || {
        "has a fallback and a result of the tensor's element type".into()
    })
}

pub(super) fn predicated_insert(op: Operation) -> Verdict {
    no_regions(op)?;
    ensure(op.operand_count() >= 3 && op.result_count() == 1, || {
        "takes a condition, an element, a tensor and indices, and gives the tensor".into()
    })?;
    let element = indexed_tensor(op, 2)?;
    ensure(op.operand(0).ty() == Type::Integer(1), || "takes a condition of type i1".into())?;
    ensure(op.operand(1).ty() == element, || "inserts an element of the tensor's type".into())?;
    ensure(op.result(0).ty() == op.operand(2).ty(), || "gives a tensor of the type it takes".into())
}

pub(super) fn allocate_shared(op: Operation) -> Verdict {
    no_regions(op)?;
    let tensor = op.result_count() == 1 && matches!(op.result(0).ty(), Type::Tensor { .. });
    ensure(tensor && op.operand_count() == 0, || "takes nothing and gives one tensor".into())
}

pub(super) fn sync_threads(op: Operation) -> Verdict {
    no_regions(op)?;
    let taken: Vec<Type> = op.operands().map(|value| value.ty()).collect();
    let given: Vec<Type> = op.results().map(|value| value.ty()).collect();
    ensure(taken == given && taken.iter().all(|ty| matches!(ty, Type::Tensor { .. })), || {
        "takes tensors and gives tensors of the same types".into()
    })
}

pub(super) fn shuffle_reduce(op: Operation) -> Verdict {
    no_regions(op)?;
    callee(op)?;
    let distance = op.attribute("max_distance").and_then(|attribute| attribute.integer());
    ensure(distance.is_some_and(|distance| distance > 0 && distance & (distance - 1) == 0), || {
        "needs the attribute `max_distance`, a power of two".into()
    })?;
    let taken: Vec<Type> = op.operands().map(|value| value.ty()).collect();
    let given: Vec<Type> = op.results().map(|value| value.ty()).collect();
    ensure(taken == given && !taken.is_empty(), || "takes values and gives values of the same types".into())
}

pub(super) fn atomic_rmw(op: Operation) -> Verdict {
    ensure(op.operand_count() >= 1 && op.result_count() == 1 && op.region_count() == 1, || {
        "takes a tensor and indices, gives the tensor, and has one region".into()
    })?;
    let element = indexed_tensor(op, 0)?;
    ensure(op.result(0).ty() == op.operand(0).ty(), || "gives a tensor of the type it takes".into())?;
    let arguments: Option<Vec<Type>> = op.block(0).map(|body| body.arguments().map(|value| value.ty()).collect());
    ensure(arguments == Some(vec![element]), || "has a body that takes the old element".into())
}
