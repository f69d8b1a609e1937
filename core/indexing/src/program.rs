//! Evaluates expressions, and compiles them to straight-line code for evaluation at many points.

use super::expr::{Expr, ExprKind, ExprMap};
use super::interval::{floor_div, floor_mod};

/// Expression size above which evaluation compiles the expression first, because a large expression
/// may contain shared subexpressions.
const INTERPRETED_SIZE: u32 = 256;

/// Several expressions that are compiled together. A run computes each distinct subexpression once.
#[derive(Clone, Debug)]
pub struct Program {
    steps: Vec<Step>,
    results: Vec<u32>,
    values: Vec<i64>,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Constant(i64),
    Dim(u32),
    Range(u32),
    Runtime(u32),
    Add(u32, u32),
    Mul(u32, u32),
    FloorDiv(u32, u32),
    Mod(u32, u32),
    Min(u32, u32),
    Max(u32, u32),
}

impl Program {
    /// Compiles expressions.
    pub fn new(exprs: &[Expr]) -> Self {
        let mut program = Program { steps: Vec::new(), results: Vec::new(), values: Vec::new() };
        let mut slots = ExprMap::default();
        program.results = exprs.iter().map(|expr| program.compile(expr, &mut slots)).collect();
        program.values = vec![0; program.steps.len()];
        program
    }

    fn compile(&mut self, expr: &Expr, slots: &mut ExprMap<u32>) -> u32 {
        if let Some(&slot) = slots.get(expr) {
            return slot;
        }
        let operands = expr.kind().operands().map(|(a, b)| (self.compile(a, slots), self.compile(b, slots)));
        let (a, b) = operands.unwrap_or((0, 0));
        self.steps.push(match expr.kind() {
            ExprKind::Constant(value) => Step::Constant(*value),
            ExprKind::Dim(i) => Step::Dim(*i),
            ExprKind::Range(i) => Step::Range(*i),
            ExprKind::Runtime(i) => Step::Runtime(*i),
            ExprKind::Add(..) => Step::Add(a, b),
            ExprKind::Mul(..) => Step::Mul(a, b),
            ExprKind::FloorDiv(..) => Step::FloorDiv(a, b),
            ExprKind::Mod(..) => Step::Mod(a, b),
            ExprKind::Min(..) => Step::Min(a, b),
            ExprKind::Max(..) => Step::Max(a, b),
        });
        let slot = self.steps.len() as u32 - 1;
        slots.insert(expr.clone(), slot);
        slot
    }

    /// Evaluates all expressions, and writes one value per expression to `results`. A variable is 0
    /// if the slices contain no value for it.
    pub fn run(&mut self, dims: &[i64], ranges: &[i64], runtime: &[i64], results: &mut [i64]) {
        let variable = |values: &[i64], i: u32| values.get(i as usize).copied().unwrap_or(0);
        for (slot, step) in self.steps.iter().enumerate() {
            let value = |i: u32| self.values[i as usize];
            self.values[slot] = match *step {
                Step::Constant(value) => value,
                Step::Dim(i) => variable(dims, i),
                Step::Range(i) => variable(ranges, i),
                Step::Runtime(i) => variable(runtime, i),
                Step::Add(a, b) => value(a).wrapping_add(value(b)),
                Step::Mul(a, b) => value(a).wrapping_mul(value(b)),
                Step::FloorDiv(a, b) => floor_div(value(a), value(b)),
                Step::Mod(a, b) => floor_mod(value(a), value(b)),
                Step::Min(a, b) => value(a).min(value(b)),
                Step::Max(a, b) => value(a).max(value(b)),
            };
        }
        for (result, &slot) in results.iter_mut().zip(&self.results) {
            *result = self.values[slot as usize];
        }
    }
}

impl Expr {
    /// Returns the value of the expression for these values of the variables. A variable is 0 if
    /// the slices contain no value for it. Arithmetic wraps on overflow.
    pub fn eval(&self, dims: &[i64], ranges: &[i64], runtime: &[i64]) -> i64 {
        if self.size() > INTERPRETED_SIZE {
            let mut values = [0];
            Program::new(std::slice::from_ref(self)).run(dims, ranges, runtime, &mut values);
            return values[0];
        }
        self.eval_tree(dims, ranges, runtime)
    }

    fn eval_tree(&self, dims: &[i64], ranges: &[i64], runtime: &[i64]) -> i64 {
        match (self.kind(), self.kind().operands()) {
            (kind, Some((a, b))) => kind.apply(a.eval_tree(dims, ranges, runtime), b.eval_tree(dims, ranges, runtime)),
            (ExprKind::Constant(value), None) => *value,
            (variable, None) => variable.pick(dims, ranges, runtime).copied().unwrap_or(0),
        }
    }
}
