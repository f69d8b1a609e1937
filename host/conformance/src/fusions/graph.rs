//! Builds a fusion, one operation at a time.

use fusebox_core::hlo::{ArrayLiteral, ElementType};

use super::chance::Chance;
use super::types;

/// Largest number of elements of a value.
pub const MOST_ELEMENTS: i64 = 12_000;
/// Largest number of parameters of a fusion.
const MOST_PARAMETERS: usize = 6;

/// A value of the fusion.
#[derive(Clone, Debug)]
pub struct Value {
    pub name: String,
    pub ty: ElementType,
    pub dims: Vec<i64>,
    /// Largest possible magnitude of the elements. All elements are whole numbers.
    pub bound: f64,
}

impl Value {
    pub fn count(&self) -> i64 {
        self.dims.iter().product()
    }

    pub fn rank(&self) -> usize {
        self.dims.len()
    }
}

/// A fusion under construction.
pub struct Graph {
    pub seed: u64,
    /// Numbers of the possible heroes. If this list is empty, all usual heroes are possible.
    pub kind: Vec<i64>,
    pub chance: Chance,
    pub values: Vec<Value>,
    lines: Vec<String>,
    /// The shapes of the parameters as text, and the contents of the parameters.
    parameters: Vec<(String, ArrayLiteral)>,
    /// Names and definitions of the combiners.
    combiners: Vec<(String, String)>,
}

impl Graph {
    pub fn new(seed: u64, kind: &[i64]) -> Graph {
        Graph {
            seed,
            kind: kind.to_vec(),
            chance: Chance::new(seed),
            values: Vec::new(),
            lines: Vec::new(),
            parameters: Vec::new(),
            combiners: Vec::new(),
        }
    }

    pub fn push(&mut self, ty: ElementType, dims: &[i64], bound: f64, operation: &str) -> Value {
        let name = self.named(&shape(ty, dims), operation);
        let value = Value { name, ty, dims: dims.to_vec(), bound: bound.min(types::largest(ty)) };
        self.values.push(value.clone());
        value
    }

    /// Appends an instruction whose shape is a tuple. Does not add the instruction to `values`.
    pub fn push_tuple(&mut self, shapes: &[(ElementType, &[i64])], operation: &str) -> String {
        let shapes: Vec<String> = shapes.iter().map(|(ty, dims)| shape(*ty, dims)).collect();
        self.named(&format!("({})", shapes.join(", ")), operation)
    }

    fn named(&mut self, shape: &str, operation: &str) -> String {
        let name = format!("v{}", self.lines.len());
        self.lines.push(format!("{name} = {shape} {operation}"));
        name
    }

    pub fn constant(&mut self, ty: ElementType, value: &str) -> Value {
        let bound = value.parse().map_or(1.0, f64::abs);
        self.push(ty, &[], bound, &format!("constant({value})"))
    }

    /// Adds a parameter. The elements of the parameter are in `range`. If there is no range, the
    /// elements are small integers.
    pub fn parameter_within(&mut self, ty: ElementType, dims: &[i64], range: Option<(i64, i64)>) -> Value {
        let number = self.parameters.len();
        let literal = types::filled(ty, dims, range, &mut self.chance);
        self.parameters.push((shape(ty, dims), literal));
        let bound = range.map_or(types::usual_bound(ty), |(low, high)| low.abs().max(high.abs()) as f64);
        self.push(ty, dims, bound, &format!("parameter({number})"))
    }

    /// Returns a value of this type and shape: an existing value, a new parameter, or a broadcast
    /// constant.
    pub fn another(&mut self, ty: ElementType, dims: &[i64]) -> Value {
        let known: Vec<Value> = self.values.iter().filter(|v| v.ty == ty && v.dims == dims).cloned().collect();
        if !known.is_empty() && !self.chance.once_in(3) {
            return self.chance.pick(&known);
        }
        if self.parameters.len() < MOST_PARAMETERS && !self.chance.once_in(4) {
            return self.parameter_within(ty, dims, None);
        }
        let text = match ty {
            ElementType::Pred => "true",
            ElementType::C64 => "(2, 1)",
            _ => "2",
        };
        let scalar = self.constant(ty, text);
        if dims.is_empty() {
            return scalar;
        }
        self.push(ty, dims, scalar.bound, &format!("broadcast({}), dimensions={{}}", scalar.name))
    }

    /// Adds a combiner that applies an operation to two scalars, and returns the combiner's name.
    pub fn combiner(&mut self, operation: &str, ty: ElementType) -> String {
        let name = format!("{operation}_{ty}");
        let text = format!(
            "{name} {{ a = {ty}[] parameter(0)\n  b = {ty}[] parameter(1)\n  ROOT r = {ty}[] {operation}(a, b) }}\n"
        );
        self.add_combiner(&name, text);
        name
    }

    /// Adds a combiner if the graph has no combiner with this name yet.
    pub fn add_combiner(&mut self, name: &str, text: String) {
        if self.combiners.iter().all(|(known, _)| known != name) {
            self.combiners.push((name.into(), text));
        }
    }

    /// Whether a value is a parameter or a constant.
    pub fn is_parameter_or_constant(&self, value: &Value) -> bool {
        let start = format!("{} = ", value.name);
        let line = self.lines.iter().find(|line| line.starts_with(&start));
        line.is_some_and(|line| line.contains(" parameter(") || line.contains(" constant("))
    }

    /// Completes the fusion. `roots` are the results of the fusion.
    pub fn finish(self, seed: u64, roots: &[Value]) -> Fusion {
        let name = format!("f{seed}");
        let types: Vec<String> = roots.iter().map(|root| shape(root.ty, &root.dims)).collect();
        let names: Vec<&str> = roots.iter().map(|root| root.name.as_str()).collect();
        let mut lines = self.lines;
        // If there is only one result, this result is the root. Otherwise the root is a tuple of
        // all results.
        let result = match roots {
            [_] => types[0].clone(),
            _ => format!("({})", types.join(", ")),
        };
        if let [root] = roots {
            let own = lines.iter_mut().find(|line| line.starts_with(&format!("{} = ", root.name)));
            own.into_iter().for_each(|line| line.insert_str(0, "ROOT "));
        } else {
            lines.push(format!("ROOT results = {result} tuple({})", names.join(", ")));
        }
        let computation = format!("{name} {{\n  {}\n}}\n", lines.join("\n  "));
        Fusion { seed, combiners: self.combiners, computation, parameters: self.parameters, results: types, result }
    }
}

/// A complete fusion with its inputs.
#[derive(Clone)]
pub struct Fusion {
    /// The seed that determined the fusion.
    pub seed: u64,
    /// Names and texts of the fusion's combiners.
    pub combiners: Vec<(String, String)>,
    pub computation: String,
    /// Shapes and contents of the fusion's parameters.
    pub parameters: Vec<(String, ArrayLiteral)>,
    /// Shapes of the fusion's results.
    pub results: Vec<String>,
    pub result: String,
}

impl Fusion {
    pub fn name(&self) -> String {
        format!("f{}", self.seed)
    }

    /// Returns the text in the form that `fusebox run` reads.
    pub fn text(&self) -> String {
        let combiners: String = self.combiners.iter().map(|(_, text)| text.as_str()).collect();
        format!("{combiners}{}", self.computation)
    }

    /// Returns the inputs for the fusion's parameters.
    pub fn inputs(&self) -> impl Iterator<Item = ArrayLiteral> + '_ {
        self.parameters.iter().map(|(_, array)| array.clone())
    }
}

/// Formats a shape, for example `f32[2,3]`.
pub fn shape(ty: ElementType, dims: &[i64]) -> String {
    format!("{ty}[{}]", list(dims))
}

/// Joins items with commas, for example `2,3`.
pub fn list<T: ToString>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}
