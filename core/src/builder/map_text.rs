//! Text of indexing maps, as the `map` attribute holds it.

use crate::indexing::{Expr, ExprKind, IndexingMap, Interval, Variable};

/// `(d0, d1)[s0] -> (d0 * 4 + s0), domain: d0 in [0, 127], d1 in [0, 3], s0 in [0, 3], d0 mod 2 in [0, 0]`
pub(super) fn map_text(map: &IndexingMap) -> String {
    let names = |letter: &str, variables: &[Variable]| -> Vec<String> {
        (0..variables.len()).map(|i| format!("{letter}{i}")).collect()
    };
    let (dims, ranges, runtime) = (names("d", &map.dims), names("s", &map.ranges), names("rt", &map.runtime));
    let results: Vec<String> = map.results.iter().map(expr_text).collect();
    let mut text = format!("({})", dims.join(", "));
    if !ranges.is_empty() {
        text += &format!("[{}]", ranges.join(", "));
    }
    if !runtime.is_empty() {
        text += &format!("{{{}}}", runtime.join(", "));
    }
    text += &format!(" -> ({})", results.join(", "));
    let interval = |name: &str, bounds: Interval| format!("{name} in [{}, {}]", bounds.lower, bounds.upper);
    let variables = map.dims.iter().chain(&map.ranges).chain(&map.runtime);
    let mut domain: Vec<String> = [dims, ranges, runtime]
        .concat()
        .iter()
        .zip(variables)
        .map(|(name, variable)| interval(name, variable.bounds))
        .collect();
    domain.extend(map.constraints.iter().map(|c| interval(&expr_text(&c.expr), c.bounds)));
    if !domain.is_empty() {
        text += &format!(", domain: {}", domain.join(", "));
    }
    text
}

fn expr_text(expr: &Expr) -> String {
    let infix = |a: &Expr, operator: &str, b: &Expr| format!("{} {operator} {}", operand(a), operand(b));
    match expr.kind() {
        ExprKind::Constant(value) => value.to_string(),
        ExprKind::Dim(i) => format!("d{i}"),
        ExprKind::Range(i) => format!("s{i}"),
        ExprKind::Runtime(i) => format!("rt{i}"),
        ExprKind::Add(a, b) => infix(a, "+", b),
        ExprKind::Mul(a, b) => infix(a, "*", b),
        ExprKind::FloorDiv(a, b) => infix(a, "floordiv", b),
        ExprKind::Mod(a, b) => infix(a, "mod", b),
        ExprKind::Min(a, b) => format!("min({}, {})", expr_text(a), expr_text(b)),
        ExprKind::Max(a, b) => format!("max({}, {})", expr_text(a), expr_text(b)),
    }
}

fn operand(expr: &Expr) -> String {
    match expr.kind() {
        ExprKind::Add(..) | ExprKind::Mul(..) | ExprKind::FloorDiv(..) | ExprKind::Mod(..) => {
            format!("({})", expr_text(expr))
        }
        _ => expr_text(expr),
    }
}
