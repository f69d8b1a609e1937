//! Vector versions of math functions, which compute the function in each lane.
//!
//! ```text
//! if c { a } else { b }     select(c, a, b)
//! while large { … }         is skipped; the lane needs the scalar function if `large` holds
//! return y                  if any lane needs it { y = the scalar function, lane by lane }
//! ```
//!
//! A vector version has no loops, because lanes would run different numbers of iterations. The
//! formulas of the library run their loops for rare arguments only.

use std::collections::HashMap;

use fusebox_core::ir::{Attribute, Combination, Function, OpKind, Operation, Region, Scalar, Type, Value};

use crate::stages::is_division;

/// Whether a function contains a loop.
pub(crate) fn has_loops(function: &Function) -> bool {
    function.body.operations.iter().any(contains_loop)
}

/// A math function without branches and loops.
pub(crate) struct Lanewise {
    function: Function,
    /// The condition under which the scalar function runs a loop. If the condition is true, the
    /// result of the function without loops is wrong.
    needs_loops: Option<Value>,
}

impl Lanewise {
    /// Returns `None` if a vector version would contain an operation that does not work lane by
    /// lane, or a division of integers, for which processors have no vector instruction.
    pub(crate) fn of(function: &Function, is_by_element: fn(OpKind) -> bool) -> Option<Lanewise> {
        let mut straight = Straight { types: function.types.clone(), ..Straight::default() };
        straight.region(&function.body)?;
        let results = straight.renamed(function.body.yielded());
        let needs_loops = straight.needs_loops.take();
        straight.operations.push(Operation::new(OpKind::Return, results, Vec::new()));
        let works_by_lane = |op: &Operation| match op.kind {
            OpKind::Constant | OpKind::Return => true,
            kind => is_by_element(kind) && !is_division(kind),
        };
        let Straight { types, operations, .. } = straight;
        operations.iter().all(works_by_lane).then(|| {
            let body = Region { arguments: function.body.arguments.clone(), operations };
            Lanewise { function: Function { types, body, ..function.clone() }, needs_loops }
        })
    }

    /// Returns the function's version for vectors of `lanes` lanes. `symbol` names the scalar
    /// function.
    pub(crate) fn in_lanes(&self, symbol: &str, lanes: u32) -> Function {
        let vector = |ty: &Type| match ty {
            Type::Scalar(element) => Type::vector(&[i64::from(lanes)], *element),
            other => other.clone(),
        };
        let mut function = self.function.clone();
        function.types = function.types.iter().map(vector).collect();
        function.results = function.results.iter().map(vector).collect();
        for op in &mut function.body.operations {
            if op.kind == OpKind::Constant {
                let ty = &function.types[op.result().number()];
                op.attributes.iter_mut().for_each(|(_, value)| *value = splat(value, ty.clone()));
            }
        }
        if let Some(needs_loops) = self.needs_loops {
            add_loops(&mut function, needs_loops, symbol);
        }
        function.renumber();
        function
    }
}

/// The straight-line operations written so far, in place of branches and loops.
#[derive(Default)]
struct Straight {
    types: Vec<Type>,
    operations: Vec<Operation>,
    /// For each argument or result of a loop, the value that replaces it.
    names: HashMap<Value, Value>,
    needs_loops: Option<Value>,
}

impl Straight {
    /// Writes the operations of a region without its terminator.
    fn region(&mut self, region: &Region) -> Option<()> {
        let (_, operations) = region.operations.split_last()?;
        operations.iter().try_for_each(|op| match (op.kind, &op.regions[..]) {
            (OpKind::If, [on_true, on_false]) => self.branch(op, [on_true, on_false]),
            (OpKind::While, [before, _]) => self.no_iteration(op, before),
            (_, []) => {
                let operands = self.renamed(&op.operands);
                self.operations.push(Operation { operands, ..op.clone() });
                Some(())
            }
            _ => None,
        })
    }

    /// Computes both sides of a branch and selects the results. If the side for a true condition
    /// contains a loop, computes only the other side, and adds the condition to the conditions
    /// under which a lane needs loops.
    fn branch(&mut self, op: &Operation, [on_true, on_false]: [&Region; 2]) -> Option<()> {
        let condition = self.renamed(&op.operands)[0];
        if on_true.operations.iter().any(contains_loop) {
            self.region(on_false)?;
            self.bind(&op.results, on_false.yielded());
            self.add_need(condition);
            return Some(());
        }
        self.region(on_true)?;
        self.region(on_false)?;
        let sides = [on_true, on_false].map(|side| self.renamed(side.yielded()));
        for (&result, (&yes, &no)) in op.results.iter().zip(sides[0].iter().zip(&sides[1])) {
            let select = Operation::new(OpKind::Select, vec![condition, yes, no], vec![result]);
            self.operations.push(Operation { place: op.place.clone(), ..select });
        }
        Some(())
    }

    /// Writes the operations that compute a loop's results if the loop runs no iteration.
    fn no_iteration(&mut self, op: &Operation, before: &Region) -> Option<()> {
        self.bind(&before.arguments, &op.operands);
        self.region(before)?;
        let (&condition, results) = before.yielded().split_first()?;
        self.bind(&op.results, results);
        let condition = self.renamed(&[condition])[0];
        self.add_need(condition);
        Some(())
    }

    fn add_need(&mut self, condition: Value) {
        self.needs_loops = Some(match self.needs_loops {
            None => condition,
            Some(other) => {
                let either = Function::add_value(&mut self.types, Type::Scalar(Scalar::Int(1)));
                self.operations.push(Operation::new(OpKind::OrI, vec![other, condition], vec![either]));
                either
            }
        });
    }

    fn bind(&mut self, values: &[Value], replacements: &[Value]) {
        let replacements = self.renamed(replacements);
        self.names.extend(values.iter().copied().zip(replacements));
    }

    fn renamed(&self, values: &[Value]) -> Vec<Value> {
        values.iter().map(|value| self.names.get(value).copied().unwrap_or(*value)).collect()
    }
}

fn contains_loop(op: &Operation) -> bool {
    let mut contains_loop = false;
    op.walk(&mut |inner| contains_loop |= inner.kind == OpKind::While);
    contains_loop
}

/// Adds a branch before the end of a vector version. If a lane needs loops, the branch calls the
/// scalar function for every lane.
fn add_loops(function: &mut Function, needs_loops: Value, symbol: &str) {
    let Some(end) = function.body.operations.pop() else { return };
    let (types, result) = (&mut function.types, end.operands[0]);
    let by_lane = calls_by_lane(types, &function.body.arguments, symbol, result);
    let unchanged = Operation::new(OpKind::Yield, vec![result], Vec::new());
    let unchanged = Region { arguments: Vec::new(), operations: vec![unchanged] };
    let any = Function::add_value(types, Type::Scalar(Scalar::Int(1)));
    let chosen = Function::add_value(types, types[result.number()].clone());
    let kind = vec![("kind".into(), Attribute::Combination(Combination::Or))];
    function.body.operations.extend([
        Operation { attributes: kind, ..Operation::new(OpKind::Reduction, vec![needs_loops], vec![any]) },
        Operation { regions: vec![by_lane, unchanged], ..Operation::new(OpKind::If, vec![any], vec![chosen]) },
        Operation { operands: vec![chosen], ..end },
    ]);
}

/// Returns a region that computes a vector by one call of a scalar function per lane. `like` has
/// the vector's type.
fn calls_by_lane(types: &mut Vec<Type>, arguments: &[Value], symbol: &str, like: Value) -> Region {
    let ty = types[like.number()].clone();
    let mut operations = Vec::new();
    let mut push = |types: &mut Vec<Type>, op: Operation, ty: Type| {
        let result = Function::add_value(types, ty);
        operations.push(Operation { results: vec![result], ..op });
        result
    };
    let callee = vec![("callee".into(), Attribute::symbol(symbol))];
    let mut elements = Vec::new();
    for lane in 0..ty.dims().iter().product() {
        let position = vec![("static_position".into(), Attribute::I64Array(vec![lane]))];
        let mut scalars = Vec::new();
        for &argument in arguments {
            let extract = Operation::new(OpKind::VectorExtract, vec![argument], Vec::new());
            let element = types[argument.number()].element();
            scalars.push(push(types, Operation { attributes: position.clone(), ..extract }, element.into()));
        }
        let call = Operation::new(OpKind::Call, scalars, Vec::new());
        elements.push(push(types, Operation { attributes: callee.clone(), ..call }, ty.element().into()));
    }
    let vector = push(types, Operation::new(OpKind::FromElements, elements, Vec::new()), ty);
    operations.push(Operation::new(OpKind::Yield, vec![vector], Vec::new()));
    Region { arguments: Vec::new(), operations }
}

/// Returns the constant vector whose lanes all have this value.
fn splat(value: &Attribute, ty: Type) -> Attribute {
    let bits = match value {
        Attribute::Float(bits, _) => *bits,
        other => other.as_integer().unwrap_or_default() as u64,
    };
    Attribute::Dense(ty.clone(), bits.to_le_bytes()[..ty.element().byte_size()].into())
}
