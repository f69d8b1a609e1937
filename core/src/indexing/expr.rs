//! Integer expressions over the variables of a map.

use std::sync::Arc;

/// An integer expression. Cheap to clone; equality is structural.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Expr(Arc<ExprKind>);

/// What an expression is made of. Division and remainder are the mathematical ones: `floor(a / b)`
/// and `a - b * floor(a / b)`; divisors are positive constants in simplified maps.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ExprKind {
    /// A number.
    Constant(i64),
    /// `d<i>`.
    Dim(u32),
    /// `s<i>`, a range variable.
    Range(u32),
    /// `rt<i>`, a runtime variable.
    Runtime(u32),
    /// Sum.
    Add(Expr, Expr),
    /// Product.
    Mul(Expr, Expr),
    /// `floor(a / b)`.
    FloorDiv(Expr, Expr),
    /// Remainder, never negative for positive `b`.
    Mod(Expr, Expr),
    /// Smaller of two.
    Min(Expr, Expr),
    /// Larger of two.
    Max(Expr, Expr),
}

impl Expr {
    /// From its kind, as it is.
    pub fn new(kind: ExprKind) -> Self {
        Expr(Arc::new(kind))
    }

    /// A number.
    pub fn constant(value: i64) -> Self {
        Expr::new(ExprKind::Constant(value))
    }

    /// Dimension `d<index>`.
    pub fn dim(index: u32) -> Self {
        Expr::new(ExprKind::Dim(index))
    }

    /// Range variable `s<index>`.
    pub fn range(index: u32) -> Self {
        Expr::new(ExprKind::Range(index))
    }

    /// Runtime variable `rt<index>`.
    pub fn runtime(index: u32) -> Self {
        Expr::new(ExprKind::Runtime(index))
    }

    /// What it is made of.
    pub fn kind(&self) -> &ExprKind {
        &self.0
    }

    /// `floor(self / divisor)`.
    pub fn floor_div(self, divisor: impl Into<Expr>) -> Expr {
        Expr::new(ExprKind::FloorDiv(self, divisor.into()))
    }

    /// `self mod divisor`.
    pub fn modulo(self, divisor: impl Into<Expr>) -> Expr {
        Expr::new(ExprKind::Mod(self, divisor.into()))
    }
}

impl From<i64> for Expr {
    fn from(value: i64) -> Self {
        Expr::constant(value)
    }
}

impl<T: Into<Expr>> std::ops::Add<T> for Expr {
    type Output = Expr;
    fn add(self, other: T) -> Expr {
        Expr::new(ExprKind::Add(self, other.into()))
    }
}

impl<T: Into<Expr>> std::ops::Mul<T> for Expr {
    type Output = Expr;
    fn mul(self, other: T) -> Expr {
        Expr::new(ExprKind::Mul(self, other.into()))
    }
}
