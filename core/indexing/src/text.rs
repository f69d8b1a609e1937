//! The textual form of expressions and maps.
//!
//! ```text
//! (th, bl)[s0]{rt0} -> ((bl * 128 + th) floordiv 8, s0 + rt0),
//!   domain: th in [0, 127], bl in [0, 7], s0 in [0, 3], rt0 in [0, 4], bl * 128 + th in [0, 999]
//! ```
//!
//! The text of a map is a single line. The text contains the names of the map's variables.
//! Variables without a name are written as `d<i>`, `s<i>` or `rt<i>`. The first interval of a
//! variable contains its bounds. All other intervals in the text are constraints. Parsing is the
//! inverse of printing.

use std::fmt::{self, Write};

use fusebox_hlo::text::joined;

use super::{Constraint, Expr, ExprKind, IndexingMap, Variable};

/// The names of a map's variables.
#[derive(Default)]
pub(super) struct Names(pub(super) Vec<(String, ExprKind)>);

impl Names {
    /// Returns the names to print. A variable gets its own name if this name is an identifier that
    /// is not used yet, else the default name.
    fn of(map: &IndexingMap) -> Names {
        let mut names = Names::default();
        for (kind, variable) in variables(map) {
            let own = is_free_name(&variable.name) && names.find(&variable.name).is_none();
            let name = if own { variable.name.clone() } else { default_name(&kind) };
            names.0.push((name, kind));
        }
        names
    }

    pub(super) fn find(&self, name: &str) -> Option<&ExprKind> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, kind)| kind)
    }

    fn write(&self, f: &mut impl Write, leaf: &ExprKind) -> fmt::Result {
        match self.0.iter().find(|(_, kind)| kind == leaf) {
            Some((name, _)) => f.write_str(name),
            None => f.write_str(&default_name(leaf)),
        }
    }
}

/// Returns every variable of a map, with the expression that refers to it.
pub(super) fn variables(map: &IndexingMap) -> impl Iterator<Item = (ExprKind, &Variable)> {
    fn group(list: &[Variable], kind: fn(u32) -> ExprKind) -> impl Iterator<Item = (ExprKind, &Variable)> {
        list.iter().enumerate().map(move |(i, variable)| (kind(i as u32), variable))
    }
    group(&map.dims, ExprKind::Dim)
        .chain(group(&map.ranges, ExprKind::Range))
        .chain(group(&map.runtime, ExprKind::Runtime))
}

pub(super) fn default_name(leaf: &ExprKind) -> String {
    match leaf {
        ExprKind::Dim(i) => format!("d{i}"),
        ExprKind::Range(i) => format!("s{i}"),
        ExprKind::Runtime(i) => format!("rt{i}"),
        _ => String::new(),
    }
}

/// Returns the variable with this default name.
pub(super) fn default_variable(name: &str) -> Option<ExprKind> {
    let number = |prefix: &str| {
        let digits = name.strip_prefix(prefix)?;
        let number: u32 = digits.parse().ok()?;
        (number.to_string() == digits).then_some(number)
    };
    number("rt")
        .map(ExprKind::Runtime)
        .or_else(|| number("d").map(ExprKind::Dim))
        .or_else(|| number("s").map(ExprKind::Range))
}

/// Whether a variable may be printed with this name.
pub(super) fn is_free_name(name: &str) -> bool {
    let word = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let starts = name.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    let keyword = matches!(name, "floordiv" | "mod" | "min" | "max" | "in" | "domain");
    word && starts && !keyword && default_variable(name).is_none()
}

/// The position of an expression within its parent. The position decides whether the expression
/// needs parentheses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    Top,
    RightOfPlus,
    Factor,
}

fn write_expr(f: &mut impl Write, expr: &Expr, names: &Names, context: Context) -> fmt::Result {
    let parenthesised = match expr.kind() {
        ExprKind::Add(..) => context != Context::Top,
        ExprKind::Mul(..) | ExprKind::FloorDiv(..) | ExprKind::Mod(..) => context == Context::Factor,
        _ => false,
    };
    if parenthesised {
        f.write_char('(')?;
    }
    match expr.kind() {
        ExprKind::Constant(value) => write!(f, "{value}")?,
        ExprKind::Add(a, b) => write_sum(f, a, b, names)?,
        ExprKind::Mul(a, b) => write_binary(f, a, " * ", b, names)?,
        ExprKind::FloorDiv(a, b) => write_binary(f, a, " floordiv ", b, names)?,
        ExprKind::Mod(a, b) => write_binary(f, a, " mod ", b, names)?,
        ExprKind::Min(a, b) => write_call(f, "min", a, b, names)?,
        ExprKind::Max(a, b) => write_call(f, "max", a, b, names)?,
        leaf => names.write(f, leaf)?,
    }
    if parenthesised { f.write_char(')') } else { Ok(()) }
}

/// Writes `a + b`. Writes a difference if `b` is negative and the parser builds the same expression
/// from the difference.
fn write_sum(f: &mut impl Write, a: &Expr, b: &Expr, names: &Names) -> fmt::Result {
    write_expr(f, a, names, Context::Top)?;
    if let Some(value) = b.as_constant()
        && value < 0
        && value != i64::MIN
    {
        return write!(f, " - {}", -value);
    }
    if let ExprKind::Mul(x, c) = b.kind()
        && let Some(c) = c.as_constant()
        && c < 0
        && c != i64::MIN
    {
        if c < -1 {
            f.write_str(" - ")?;
            return write_binary(f, x, " * ", &Expr::constant(-c), names);
        }
        if !matches!(x.kind(), ExprKind::Mul(..) | ExprKind::Constant(_)) {
            f.write_str(" - ")?;
            return write_expr(f, x, names, Context::RightOfPlus);
        }
    }
    f.write_str(" + ")?;
    write_expr(f, b, names, Context::RightOfPlus)
}

fn write_binary(f: &mut impl Write, a: &Expr, symbol: &str, b: &Expr, names: &Names) -> fmt::Result {
    write_expr(f, a, names, Context::Factor)?;
    f.write_str(symbol)?;
    write_expr(f, b, names, Context::Factor)
}

fn write_call(f: &mut impl Write, name: &str, a: &Expr, b: &Expr, names: &Names) -> fmt::Result {
    write!(f, "{name}(")?;
    write_expr(f, a, names, Context::Top)?;
    f.write_str(", ")?;
    write_expr(f, b, names, Context::Top)?;
    f.write_char(')')
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_expr(f, self, &Names::default(), Context::Top)
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.expr, self.bounds)
    }
}

impl fmt::Display for IndexingMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Names::of(self);
        let (dims, rest) = names.0.split_at(self.dims.len());
        let (ranges, runtime) = rest.split_at(self.ranges.len());
        write_group(f, dims, '(', ')')?;
        if !ranges.is_empty() {
            write_group(f, ranges, '[', ']')?;
        }
        if !runtime.is_empty() {
            write_group(f, runtime, '{', '}')?;
        }
        f.write_str(" -> (")?;
        for (i, result) in self.results.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { ", " })?;
            write_expr(f, result, &names, Context::Top)?;
        }
        f.write_char(')')?;
        let mut separator = ", domain: ";
        for ((name, _), (_, variable)) in names.0.iter().zip(variables(self)) {
            write!(f, "{separator}{name} in {}", variable.bounds)?;
            separator = ", ";
        }
        for constraint in &self.constraints {
            f.write_str(separator)?;
            write_expr(f, &constraint.expr, &names, Context::Top)?;
            write!(f, " in {}", constraint.bounds)?;
            separator = ", ";
        }
        Ok(())
    }
}

fn write_group(f: &mut impl Write, names: &[(String, ExprKind)], open: char, close: char) -> fmt::Result {
    write!(f, "{open}{}{close}", joined(names.iter().map(|(name, _)| name), ", "))
}

impl IndexingMap {
    /// Returns the printed names of the variables: dimensions, range variables, runtime variables.
    pub fn variable_names(&self) -> Vec<String> {
        Names::of(self).0.into_iter().map(|(name, _)| name).collect()
    }
}
