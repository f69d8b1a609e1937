//! Adds elementwise operations. The operations of this file occur before, between and after
//! operations that move or combine elements.

use fusebox_core::hlo::{ElementType, FloatFormat};

use super::graph::{Graph, Value, list};
use super::types::{self, largest, order_free_up_to};

impl Graph {
    /// Applies at most `most` elementwise operations to a value.
    pub fn chain(&mut self, value: Value, most: i64) -> Value {
        let steps = self.chance.below(most + 1);
        (0..steps).fold(value, |value, _| self.elementwise(&value))
    }

    /// Applies one elementwise operation. The dimensions do not change, but the element type may
    /// change.
    pub fn elementwise(&mut self, x: &Value) -> Value {
        match self.chance.below(10) {
            0 => self.unary(x),
            1 => self.converted(x),
            2 => self.chosen(x),
            3 => self.with_broadcast(x),
            _ => self.binary(x),
        }
    }

    fn unary(&mut self, x: &Value) -> Value {
        let operation = match x.ty {
            ElementType::Pred => "not",
            _ if x.ty.is_unsigned_integer() => "not",
            ElementType::C64 => "negate",
            _ if x.ty.is_integer() && x.ty != ElementType::S4 => self.chance.pick(&["negate", "abs", "not"]),
            _ => self.chance.pick(&["negate", "abs"]),
        };
        let bound = if operation == "not" { largest(x.ty) } else { x.bound };
        self.push(x.ty, &x.dims, bound, &format!("{operation}({})", x.name))
    }

    fn binary(&mut self, x: &Value) -> Value {
        let y = self.another(x.ty, &x.dims);
        let operation = match x.ty {
            ElementType::Pred => self.chance.pick(&["and", "or", "xor"]),
            ElementType::C64 => self.chance.pick(&["add", "subtract", "multiply"]),
            _ if x.ty.is_integer() => {
                self.chance.pick(&["add", "subtract", "multiply", "maximum", "minimum", "and", "xor"])
            }
            _ => self.chance.pick(&["add", "subtract", "multiply", "maximum", "minimum"]),
        };
        let bound = match operation {
            "multiply" if x.ty == ElementType::C64 => 2.0 * x.bound * y.bound,
            "multiply" => x.bound * y.bound,
            "and" | "or" | "xor" => largest(x.ty),
            "maximum" | "minimum" => x.bound.max(y.bound),
            _ => x.bound + y.bound,
        };
        // Floats beyond this bound are rounded. In a complex product, the order of roundings is
        // unspecified.
        if bound > order_free_up_to(x.ty) {
            let bound = x.bound.max(y.bound);
            return match x.ty {
                ElementType::C64 => x.clone(),
                _ => self.push(x.ty, &x.dims, bound, &format!("maximum({}, {})", x.name, y.name)),
            };
        }
        self.push(x.ty, &x.dims, bound, &format!("{operation}({}, {})", x.name, y.name))
    }

    /// Converts a value to a random type that can represent all its elements.
    pub fn converted(&mut self, x: &Value) -> Value {
        let ty = types::any(&mut self.chance);
        let fits = match ty {
            ElementType::C64 => !x.ty.is_complex() && x.bound <= order_free_up_to(ty),
            ElementType::Pred => x.bound <= 1.0 && !x.ty.is_float(),
            _ if FloatFormat::of(ty).is_some() => x.bound <= order_free_up_to(ty),
            _ => x.bound <= largest(ty) && !(ty.is_unsigned_integer() && x.ty.is_float()),
        };
        if ty == x.ty || x.ty.is_complex() || !fits {
            return x.clone();
        }
        // Conversion to an unsigned type turns a negative number into a large one.
        let bound = if ty.is_unsigned_integer() { largest(ty) } else { x.bound };
        self.push(ty, &x.dims, bound, &format!("convert({})", x.name))
    }

    fn chosen(&mut self, x: &Value) -> Value {
        let (y, z) = (self.another(x.ty, &x.dims), self.another(x.ty, &x.dims));
        let direction = if x.ty.is_complex() { "EQ" } else { self.chance.pick(&["LT", "GE", "EQ"]) };
        let condition = self.push(
            ElementType::Pred,
            &x.dims,
            1.0,
            &format!("compare({}, {}), direction={direction}", x.name, y.name),
        );
        let operation = format!("select({}, {}, {})", condition.name, x.name, z.name);
        self.push(x.ty, &x.dims, x.bound.max(z.bound), &operation)
    }

    /// Broadcasts a smaller array to the dimensions of a value, for example along the value's rows
    /// or columns. Then combines the value with a second value of the same shape, which is often
    /// the broadcast array.
    fn with_broadcast(&mut self, x: &Value) -> Value {
        let kept: Vec<usize> = (0..x.rank()).filter(|_| self.chance.once_in(2)).collect();
        let dims: Vec<i64> = kept.iter().map(|&d| x.dims[d]).collect();
        let small = self.another(x.ty, &dims);
        let operation = format!("broadcast({}), dimensions={{{}}}", small.name, list(&kept));
        self.push(x.ty, &x.dims, small.bound, &operation);
        self.binary(x)
    }
}
