//! Adds operations that combine elements: reductions and scatters.

use fusebox_core::hlo::ElementType;

use super::graph::{Graph, Value, list, shape};
use super::types::{self, largest, neutral, order_free_up_to};

impl Graph {
    fn combiners_for(ty: ElementType) -> &'static [&'static str] {
        match ty {
            ElementType::Pred => &["and", "or"],
            ElementType::C64 => &["add"],
            _ if ty.is_integer() => &["add", "maximum", "minimum", "multiply", "and", "or"],
            _ => &["add", "add", "maximum", "minimum", "multiply"],
        }
    }

    /// Returns a combiner that can combine `times` elements, and a bound on the magnitude of the
    /// results. The combiner is chosen so that the results do not depend on the order in which
    /// elements are combined.
    fn order_free_combiner(&mut self, x: &Value, times: i64) -> Option<(String, f64)> {
        let operation = self.chance.pick(Self::combiners_for(x.ty));
        let bound = match operation {
            "add" => x.bound * times as f64,
            "multiply" => x.bound.max(1.0).powf(times as f64),
            "and" | "or" => largest(x.ty),
            _ => x.bound,
        };
        if bound <= order_free_up_to(x.ty) {
            return Some((operation.into(), bound));
        }
        (!x.ty.is_complex() && x.ty != ElementType::Pred).then(|| ("maximum".into(), x.bound))
    }

    /// Returns the dimensions to reduce: the last dimension, the first, the middle one, all
    /// dimensions, or a random set.
    pub fn reduced_dims(&mut self, rank: usize) -> Vec<usize> {
        match self.chance.below(5) {
            0 => vec![rank - 1],
            1 => vec![0],
            2 => (0..rank).collect(),
            3 => vec![rank / 2],
            _ => (0..rank).filter(|_| self.chance.once_in(2)).collect(),
        }
    }

    pub fn reduce(&mut self, x: &Value) -> Value {
        let reduced = self.reduced_dims(x.rank());
        self.reduce_dims(x, &reduced)
    }

    pub fn reduce_dims(&mut self, x: &Value, reduced: &[usize]) -> Value {
        let times: i64 = reduced.iter().map(|&d| x.dims[d]).product();
        let Some((operation, bound)) = self.order_free_combiner(x, times) else { return x.clone() };
        let combiner = self.combiner(&operation, x.ty);
        let start = self.constant(x.ty, &neutral(&operation, x.ty));
        let text = format!("reduce({}, {}), dimensions={{{}}}, to_apply={combiner}", x.name, start.name, list(reduced));
        self.push(x.ty, &remaining(x, reduced), bound, &text)
    }

    /// Adds a reduction that computes the largest value and the first position of this value.
    pub fn argmax(&mut self, x: &Value) -> Vec<Value> {
        if x.ty.is_complex() || x.ty == ElementType::Pred || x.rank() == 0 {
            return vec![self.reduce(x)];
        }
        let reduced = [self.chance.below(x.rank() as i64) as usize];
        let (ty, s32) = (x.ty, ElementType::S32);
        let name = format!("argmax_{ty}");
        self.add_combiner(
            &name,
            format!(
                "{name} {{ a = {ty}[] parameter(0)\n  i = s32[] parameter(1)\n  b = {ty}[] parameter(2)\n  \
                 j = s32[] parameter(3)\n  more = pred[] compare(a, b), direction=GT\n  \
                 same = pred[] compare(a, b), direction=EQ\n  below = pred[] compare(i, j), direction=LT\n  \
                 tie = pred[] and(same, below)\n  first = pred[] or(more, tie)\n  v = {ty}[] select(first, a, b)\n  \
                 k = s32[] select(first, i, j)\n  ROOT r = ({ty}[], s32[]) tuple(v, k) }}\n"
            ),
        );
        let size = x.dims[reduced[0]];
        let position = self.push(s32, &x.dims, size as f64, &format!("iota(), iota_dimension={}", reduced[0]));
        let lowest = self.constant(ty, &neutral("maximum", ty));
        let last = self.constant(s32, "2147483647");
        let dims = remaining(x, &reduced);
        let text = format!(
            "reduce({}, {}, {}, {}), dimensions={{{}}}, to_apply={name}",
            x.name, position.name, lowest.name, last.name, reduced[0]
        );
        let both = self.push_tuple(&[(ty, &dims), (s32, &dims)], &text);
        let value = self.push(ty, &dims, x.bound, &format!("get-tuple-element({both}), index=0"));
        let place = self.push(s32, &dims, size as f64, &format!("get-tuple-element({both}), index=1"));
        vec![value, place]
    }

    /// Adds a reduction that computes the sum of the elements and the sum of their squares.
    pub fn moments(&mut self, x: &Value) -> Vec<Value> {
        let reduced = self.reduced_dims(x.rank());
        let times: i64 = reduced.iter().map(|&d| x.dims[d]).product();
        let bound = x.bound * x.bound.max(1.0) * times as f64;
        if x.ty.is_complex() || x.ty == ElementType::Pred || bound > order_free_up_to(x.ty) {
            return vec![self.reduce_dims(x, &reduced)];
        }
        let ty = x.ty;
        let name = format!("two_sums_{ty}");
        self.add_combiner(
            &name,
            format!(
                "{name} {{ a = {ty}[] parameter(0)\n  p = {ty}[] parameter(1)\n  b = {ty}[] parameter(2)\n  \
                 q = {ty}[] parameter(3)\n  s = {ty}[] add(a, b)\n  t = {ty}[] add(p, q)\n  \
                 ROOT r = ({ty}[], {ty}[]) tuple(s, t) }}\n"
            ),
        );
        let square = self.push(ty, &x.dims, x.bound * x.bound, &format!("multiply({}, {})", x.name, x.name));
        let zero = self.constant(ty, "0");
        let dims = remaining(x, &reduced);
        let text = format!(
            "reduce({}, {}, {}, {}), dimensions={{{}}}, to_apply={name}",
            x.name,
            square.name,
            zero.name,
            zero.name,
            list(&reduced)
        );
        let both = self.push_tuple(&[(ty, &dims), (ty, &dims)], &text);
        (0..2).map(|i| self.push(ty, &dims, bound, &format!("get-tuple-element({both}), index={i}"))).collect()
    }

    /// Adds a scatter that combines update rows with rows of a value. Some indices may occur twice,
    /// and some may be out of bounds.
    pub fn scatter(&mut self, ty: ElementType, dims: &[i64]) -> Value {
        let operand = self.another(ty, dims);
        self.scatter_into(operand)
    }

    /// Adds a scatter that combines update rows with rows of a parameter. No other instruction
    /// reads this parameter.
    pub fn scatter_into_parameter(&mut self, dims: &[i64]) -> Value {
        let ty = types::any(&mut self.chance);
        let operand = self.parameter_within(ty, dims, None);
        self.values.retain(|value| value.name != operand.name);
        self.scatter_into(operand)
    }

    fn scatter_into(&mut self, operand: Value) -> Value {
        let (ty, dims) = (operand.ty, &operand.dims.clone());
        let unique = self.chance.once_in(3);
        let count = if unique { 1 } else { 1 + self.chance.below(20) };
        let window = [&[count], &dims[1..]].concat();
        let updates = self.another(ty, &window);
        let updates = self.chain_keeping(updates, ty);
        let column = if self.chance.once_in(2) { vec![count, 1] } else { vec![count] };
        let indices = self.parameter_within(ElementType::S32, &column, Some((-1, dims[0])));
        let most = Value { bound: operand.bound.max(updates.bound), ..operand.clone() };
        let combiner = if unique && self.chance.once_in(2) {
            let name = format!("second_{ty}");
            let text = format!("{name} {{ a = {ty}[] parameter(0)\n  ROOT b = {ty}[] parameter(1) }}\n");
            self.add_combiner(&name, text);
            Some((name, most.bound))
        } else {
            let found = self.order_free_combiner(&most, count + 1);
            found.map(|(operation, bound)| (self.combiner(&operation, ty), bound))
        };
        let Some((combiner, bound)) = combiner else { return operand };
        let windows: Vec<usize> = (1..dims.len()).collect();
        let text = format!(
            "scatter({}, {}, {}), update_window_dims={{{}}}, inserted_window_dims={{0}}, \
             scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, unique_indices={unique}, to_apply={combiner}",
            operand.name,
            indices.name,
            updates.name,
            list(&windows)
        );
        self.push(ty, dims, bound, &text)
    }

    fn chain_keeping(&mut self, value: Value, ty: ElementType) -> Value {
        let next = self.chain(value.clone(), 2);
        if next.ty == ty { next } else { value }
    }
}

fn remaining(x: &Value, reduced: &[usize]) -> Vec<i64> {
    debug_assert!(reduced.iter().all(|&d| d < x.rank()), "{} has no dimensions {reduced:?}", shape(x.ty, &x.dims));
    (0..x.rank()).filter(|d| !reduced.contains(d)).map(|d| x.dims[d]).collect()
}
