//! Adds operations that move elements.

use fusebox_core::hlo::ElementType;

use super::graph::{Graph, MOST_ELEMENTS, Value, list};

impl Graph {
    /// Adds a reshape to new dimensions. The size of each new dimension is 1, a prime factor of the
    /// number of elements, or a product of such prime factors.
    pub fn reshape(&mut self, x: &Value) -> Value {
        let mut rest = x.count();
        let mut dims: Vec<i64> = Vec::new();
        while rest > 1 {
            let factor = (2..=rest).find(|factor| rest % factor == 0).unwrap_or(rest);
            rest /= factor;
            let joins = dims.len() > 3 || self.chance.once_in(2);
            match dims.last_mut() {
                Some(last) if joins => *last *= factor,
                _ => dims.insert(0, factor),
            }
        }
        if self.chance.once_in(3) {
            let at = self.chance.below(dims.len() as i64 + 1) as usize;
            dims.insert(at, 1);
        }
        self.push(x.ty, &dims, x.bound, &format!("reshape({})", x.name))
    }

    pub fn transpose(&mut self, x: &Value) -> Value {
        let permutation = self.chance.permutation(x.rank());
        self.transpose_by(x, &permutation)
    }

    pub fn transpose_by(&mut self, x: &Value, permutation: &[usize]) -> Value {
        let dims: Vec<i64> = permutation.iter().map(|&d| x.dims[d]).collect();
        let operation = format!("transpose({}), dimensions={{{}}}", x.name, list(permutation));
        self.push(x.ty, &dims, x.bound, &operation)
    }

    pub fn reverse(&mut self, x: &Value) -> Value {
        let dims: Vec<usize> = (0..x.rank()).filter(|_| self.chance.once_in(2)).collect();
        self.push(x.ty, &x.dims, x.bound, &format!("reverse({}), dimensions={{{}}}", x.name, list(&dims)))
    }

    pub fn slice(&mut self, x: &Value) -> Value {
        let (mut parts, mut dims) = (Vec::new(), Vec::new());
        for &size in &x.dims {
            let start = if self.chance.once_in(2) { 0 } else { self.chance.below(size) };
            let limit = start + 1 + self.chance.below(size - start);
            let stride = if self.chance.once_in(4) { 2 } else { 1 };
            parts.push(format!("[{start}:{limit}:{stride}]"));
            dims.push((limit - start + stride - 1) / stride);
        }
        self.push(x.ty, &dims, x.bound, &format!("slice({}), slice={{{}}}", x.name, parts.join(",")))
    }

    pub fn pad(&mut self, x: &Value) -> Value {
        let (mut parts, mut dims) = (Vec::new(), Vec::new());
        for &size in &x.dims {
            let (mut low, mut high) = (self.chance.below(5) - 1, self.chance.below(5) - 1);
            let interior = i64::from(self.chance.once_in(4));
            let inner = size + (size - 1) * interior;
            if inner + low + high < 1 {
                (low, high) = (0, 0);
            }
            parts.push(format!("{low}_{high}_{interior}"));
            dims.push(inner + low + high);
        }
        if dims.iter().product::<i64>() > MOST_ELEMENTS {
            return x.clone();
        }
        let value = self.another(x.ty, &[]);
        let operation = format!("pad({}, {}), padding={}", x.name, value.name, parts.join("x"));
        self.push(x.ty, &dims, x.bound.max(value.bound), &operation)
    }

    pub fn concatenate(&mut self, x: &Value) -> Value {
        let d = self.chance.below(x.rank() as i64) as usize;
        let mut operands = vec![x.clone()];
        for _ in 0..1 + self.chance.below(3) {
            let mut dims = x.dims.clone();
            if self.chance.once_in(2) {
                dims[d] = 1 + self.chance.below(x.dims[d] + 3);
            }
            let other = self.another(x.ty, &dims);
            operands.push(self.chain_of_same_type(other));
        }
        let mut dims = x.dims.clone();
        dims[d] = operands.iter().map(|operand| operand.dims[d]).sum();
        if dims.iter().product::<i64>() > MOST_ELEMENTS {
            return x.clone();
        }
        let names: Vec<String> = operands.iter().map(|operand| operand.name.clone()).collect();
        let bound = operands.iter().map(|operand| operand.bound).fold(0.0, f64::max);
        self.push(x.ty, &dims, bound, &format!("concatenate({}), dimensions={{{d}}}", names.join(", ")))
    }

    /// Applies an elementwise operation. If the operation changes the type, returns the value
    /// unchanged.
    fn chain_of_same_type(&mut self, value: Value) -> Value {
        let next = self.elementwise(&value);
        if next.ty == value.ty { next } else { value }
    }

    pub fn broadcast(&mut self, x: &Value) -> Value {
        let at = self.chance.below(x.rank() as i64 + 1) as usize;
        let mut dims = x.dims.clone();
        dims.insert(at, self.chance.pick(&[1, 2, 3, 5, 32]));
        if dims.iter().product::<i64>() > MOST_ELEMENTS || dims.len() > 5 {
            return x.clone();
        }
        let kept: Vec<usize> = (0..dims.len()).filter(|&d| d != at).collect();
        self.push(x.ty, &dims, x.bound, &format!("broadcast({}), dimensions={{{}}}", x.name, list(&kept)))
    }

    /// Returns the names of scalars that state where a slice starts, one per dimension. Some starts
    /// are out of bounds and are clamped at run time.
    fn starts(&mut self, x: &Value) -> String {
        let starts: Vec<String> = x
            .dims
            .iter()
            .map(|&size| {
                if self.chance.once_in(3) {
                    self.constant(ElementType::S32, "1").name
                } else {
                    self.parameter_within(ElementType::S32, &[], Some((-2, size + 1))).name
                }
            })
            .collect();
        starts.join(", ")
    }

    pub fn dynamic_slice(&mut self, x: &Value) -> Value {
        let dims: Vec<i64> = x.dims.iter().map(|&size| 1 + self.chance.below(size)).collect();
        let (starts, sizes) = (self.starts(x), list(&dims));
        let operation = format!("dynamic-slice({}, {starts}), dynamic_slice_sizes={{{sizes}}}", x.name);
        self.push(x.ty, &dims, x.bound, &operation)
    }

    pub fn dynamic_update_slice(&mut self, x: &Value) -> Value {
        let dims: Vec<i64> = x.dims.iter().map(|&size| 1 + self.chance.below(size)).collect();
        let update = self.another(x.ty, &dims);
        let update = self.chain_of_same_type(update);
        let starts = self.starts(x);
        let operation = format!("dynamic-update-slice({}, {}, {starts})", x.name, update.name);
        self.push(x.ty, &x.dims, x.bound.max(update.bound), &operation)
    }

    /// Adds a gather of rows. Some of the row indices are out of bounds.
    pub fn gather(&mut self, x: &Value) -> Value {
        let row: i64 = x.dims[1..].iter().product();
        let count = 1 + self.chance.below((MOST_ELEMENTS / row.max(1)).clamp(1, 40));
        let rows = self.parameter_within(ElementType::S32, &[count], Some((-1, x.dims[0])));
        let dims = [&[count], &x.dims[1..]].concat();
        let offsets: Vec<usize> = (1..dims.len()).collect();
        let sizes = [&[1], &x.dims[1..]].concat();
        let operation = format!(
            "gather({}, {}), offset_dims={{{}}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, index_vector_dim=1, \
             slice_sizes={{{}}}",
            x.name,
            rows.name,
            list(&offsets),
            list(&sizes)
        );
        self.push(x.ty, &dims, x.bound, &operation)
    }
}
