//! Distribution of a launch's blocks to the groups of a fusion. The first blocks compute the first
//! group, the next blocks the second group, and so on.

use fusebox_core::builder::{FunctionBuilder, IntPredicate, Type, Value};
use fusebox_core::indexing::{Constraint, Expr, IndexingMap, Interval};

/// Returns the first block of each group, and the total number of blocks.
pub fn first_blocks(counts: &[i64]) -> (Vec<i64>, i64) {
    let mut total = 0;
    let first = counts.iter().map(|count| {
        let first = total;
        total += count;
        first
    });
    (first.collect(), total)
}

/// Converts a map `(th, bl)[…]` over the blocks of one group to a map over all blocks.
pub fn over_all_blocks(map: &IndexingMap, first: i64, total: i64) -> IndexingMap {
    let count = map.dims[1].bounds.size() as i64;
    if first == 0 && count == total {
        return map.clone();
    }
    let local = Expr::dim(1) - first;
    let rewrite = |expr: &Expr| expr.substitute(&[Expr::dim(0), local.clone()], &range_exprs(map), &[]);
    let mut all = map.clone();
    all.dims[1].bounds = Interval::from_size(total);
    all.results = map.results.iter().map(rewrite).collect();
    all.constraints = map.constraints.iter().map(|c| Constraint::new(rewrite(&c.expr), c.bounds)).collect();
    all.constraints.push(Constraint::new(Expr::dim(1), Interval::new(first, first + count - 1)));
    all
}

fn range_exprs(map: &IndexingMap) -> Vec<Expr> {
    (0..map.ranges.len() as u32).map(Expr::range).collect()
}

/// A function that emits the code of a block. `body(builder, group, block within the group,
/// outputs)` returns the new outputs.
pub type BlockBody<'a> = dyn FnMut(&mut FunctionBuilder, usize, Value, &[Value]) -> Vec<Value> + 'a;

/// Runs `body(group, block within the group, outputs)` in the blocks of each group. All threads of
/// a block take the same branch.
pub fn by_group(
    b: &mut FunctionBuilder,
    block: Value,
    counts: &[i64],
    outputs: &[Value],
    body: &mut BlockBody<'_>,
) -> Vec<Value> {
    from_group(b, block, counts, 0, outputs, body)
}

fn from_group(
    b: &mut FunctionBuilder,
    block: Value,
    counts: &[i64],
    group: usize,
    outputs: &[Value],
    body: &mut BlockBody<'_>,
) -> Vec<Value> {
    let Some((&count, later)) = counts.split_first() else { return outputs.to_vec() };
    if later.is_empty() {
        return body(b, group, block, outputs);
    }
    let size = b.index(count);
    let own = b.cmpi(IntPredicate::Slt, block, size);
    let types: Vec<Type> = b.types_of(outputs);
    // Both closures need `body`, but only one closure runs at a time.
    let body = std::cell::RefCell::new(body);
    b.scf_if(
        own,
        &types,
        |b| (body.borrow_mut())(b, group, block, outputs),
        |b| {
            let rest = b.subi(block, size);
            from_group(b, rest, later, group + 1, outputs, *body.borrow_mut())
        },
    )
}
