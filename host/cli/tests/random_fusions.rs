//! Random graphs of operations that move, choose and sum elements, each compiled as one fusion, against the
//! reference interpreter. Values are integers, so results are exact; every graph shares values at several
//! indices, which is where the partitioner could go wrong.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod compiled;

use fusebox_compiler::Source;
use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{ArrayLiteral, ElementType, Literal};
use fusebox_lowering::Target;

use compiled::run;

const COMBINERS: &str = "add { a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT r = s32[] add(a, b) }
max { a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT r = s32[] maximum(a, b) }
";

#[test]
fn forty_graphs_for_cpu() {
    (0..40).for_each(|seed| check(seed, Target::Cpu, &DeviceDescription::cpu(1)));
}

#[test]
fn twenty_graphs_for_simt() {
    (100..120).for_each(|seed| check(seed, Target::Simt, &DeviceDescription::simt()));
}

fn check(seed: u64, target: Target, device: &DeviceDescription) {
    let mut graph = Graph::new(seed);
    for _ in 0..6 + graph.below(30) {
        graph.grow();
    }
    let text = graph.text();
    let inputs: Vec<ArrayLiteral> = graph.parameters.clone().iter().map(|dims| graph.input(dims)).collect();
    let source = Source::text("case.hlo", &text);
    let module = source.parse().unwrap_or_else(|e| panic!("{e}\n{text}"));
    let literals: Vec<Literal> = inputs.iter().cloned().map(Literal::Array).collect();
    let expected = fusebox_interpreter::evaluate(&module, &literals).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let found = run(&source, target, device.clone(), &inputs).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert!(found == expected, "seed {seed}\n{text}");
}

#[derive(Clone)]
struct Value {
    name: String,
    dims: Vec<i64>,
}

/// A fusion that grows by an operation at a time.
struct Graph {
    state: u64,
    lines: Vec<String>,
    values: Vec<Value>,
    parameters: Vec<Vec<i64>>,
}

impl Graph {
    fn new(seed: u64) -> Self {
        let mut graph = Graph { state: seed, lines: Vec::new(), values: Vec::new(), parameters: Vec::new() };
        for number in 0..2 {
            let dims: Vec<i64> = (0..=graph.below(3)).map(|_| 1 + graph.below(6)).collect();
            graph.parameter(number, dims);
        }
        graph.parameter(2, Vec::new());
        graph.push(Vec::new(), "constant(3)".into());
        graph
    }

    fn parameter(&mut self, number: usize, dims: Vec<i64>) {
        self.push(dims.clone(), format!("parameter({number})"));
        self.parameters.push(dims);
    }

    /// The text without ENTRY, which makes it one fusion. The last value and an earlier one are its results.
    fn text(&mut self) -> String {
        let count = self.values.len();
        let first = self.parameters.len() + 1;
        let early = first + self.below((count - first).max(1) as i64) as usize;
        let roots = [&self.values[count - 1], &self.values[early.min(count - 1)]];
        let (types, names): (Vec<String>, Vec<&str>) =
            roots.iter().map(|root| (shape(&root.dims), root.name.as_str())).unzip();
        let (types, names) = (types.join(", "), names.join(", "));
        format!("{COMBINERS}fusion {{\n  {}\n  ROOT t = ({types}) tuple({names}) }}\n", self.lines.join("\n  "))
    }

    fn input(&mut self, dims: &[i64]) -> ArrayLiteral {
        let count: i64 = dims.iter().product();
        let data: Vec<u8> = (0..count).flat_map(|_| (self.below(13) as i32 - 4).to_le_bytes()).collect();
        ArrayLiteral::new(ElementType::S32, dims.to_vec(), data).unwrap()
    }

    /// SplitMix64, below `n`.
    fn below(&mut self, n: i64) -> i64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 1) as i64 % n
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as i64) as usize].clone()
    }

    /// A value that fits, one of the last if it can be.
    fn value(&mut self, fits: impl Fn(&[i64]) -> bool) -> Option<Value> {
        let fitting: Vec<Value> = self.values.iter().filter(|value| fits(&value.dims)).cloned().collect();
        let recent = if self.below(3) > 0 { fitting.len().saturating_sub(8) } else { 0 };
        (!fitting.is_empty()).then(|| self.pick(&fitting[recent..]))
    }

    fn push(&mut self, dims: Vec<i64>, operation: String) {
        let name = format!("v{}", self.values.len());
        self.lines.push(format!("{name} = {} {operation}", shape(&dims)));
        self.values.push(Value { name, dims });
    }

    fn grow(&mut self) {
        let Some(x) = self.value(|dims| !dims.is_empty() && dims.iter().product::<i64>() < 400) else { return };
        match self.below(13) {
            0..=2 => self.elementwise(&x),
            3 => self.reshape(&x),
            4 => self.transpose(&x),
            5 => self.slice(&x),
            6 => self.pad(&x),
            7 => self.concatenate(&x),
            8 => self.broadcast(&x),
            9 => self.reduce(&x),
            10 => self.dynamic_slice(&x),
            11 => self.dynamic_update_slice(&x),
            _ => self.gather(&x),
        }
    }

    fn elementwise(&mut self, x: &Value) {
        let op = self.pick(&["add", "subtract", "multiply", "maximum", "and", "xor"]);
        let Some(y) = self.value(|dims| dims == x.dims) else { return };
        self.push(x.dims.clone(), format!("{op}({}, {})", x.name, y.name));
    }

    /// The prime factors of the size in another order, some of them joined.
    fn reshape(&mut self, x: &Value) {
        let mut rest: i64 = x.dims.iter().product();
        let mut dims: Vec<i64> = Vec::new();
        while rest > 1 {
            let factor = (2..=rest).find(|factor| rest % factor == 0).unwrap();
            rest /= factor;
            match dims.last_mut() {
                Some(last) if self.below(2) == 0 => *last *= factor,
                _ => dims.insert(0, factor),
            }
        }
        if self.below(3) == 0 {
            dims.push(1);
        }
        self.push(dims, format!("reshape({})", x.name));
    }

    fn transpose(&mut self, x: &Value) {
        let turn = self.below(x.dims.len() as i64) as usize;
        let permutation: Vec<usize> = (0..x.dims.len()).map(|d| (d + turn) % x.dims.len()).collect();
        let dims = permutation.iter().map(|&d| x.dims[d]).collect();
        self.push(dims, format!("transpose({}), dimensions={{{}}}", x.name, list(&permutation)));
    }

    fn slice(&mut self, x: &Value) {
        let (mut parts, mut dims) = (Vec::new(), Vec::new());
        for &size in &x.dims {
            let start = self.below(size);
            let limit = start + 1 + self.below(size - start);
            let stride = 1 + self.below(2);
            parts.push(format!("[{start}:{limit}:{stride}]"));
            dims.push((limit - start + stride - 1) / stride);
        }
        self.push(dims, format!("slice({}), slice={{{}}}", x.name, list(&parts)));
    }

    fn pad(&mut self, x: &Value) {
        let (mut parts, mut dims) = (Vec::new(), Vec::new());
        for &size in &x.dims {
            let (mut low, mut high, interior) = (self.below(4) - 1, self.below(4) - 1, self.below(2));
            let inner = size + (size - 1) * interior;
            if inner + low + high < 1 {
                (low, high) = (0, 0);
            }
            parts.push(format!("{low}_{high}_{interior}"));
            dims.push(inner + low + high);
        }
        self.push(dims, format!("pad({}, v3), padding={}", x.name, parts.join("x")));
    }

    fn concatenate(&mut self, x: &Value) {
        let d = self.below(x.dims.len() as i64) as usize;
        let fits = |dims: &[i64]| dims.len() == x.dims.len() && (0..dims.len()).all(|k| k == d || dims[k] == x.dims[k]);
        let Some(y) = self.value(fits) else { return };
        let mut dims = x.dims.clone();
        dims[d] += y.dims[d];
        self.push(dims, format!("concatenate({}, {}), dimensions={{{d}}}", x.name, y.name));
    }

    fn broadcast(&mut self, x: &Value) {
        let at = self.below(x.dims.len() as i64 + 1) as usize;
        let mut dims = x.dims.clone();
        dims.insert(at, 1 + self.below(3));
        let kept: Vec<usize> = (0..dims.len()).filter(|&d| d != at).collect();
        self.push(dims, format!("broadcast({}), dimensions={{{}}}", x.name, list(&kept)));
    }

    fn reduce(&mut self, x: &Value) {
        let mut reduced: Vec<usize> = (0..x.dims.len()).collect();
        reduced.retain(|_| self.below(2) == 0);
        let dims = (0..x.dims.len()).filter(|d| !reduced.contains(d)).map(|d| x.dims[d]).collect();
        let combiner = self.pick(&["add", "max"]);
        let operation = format!("reduce({}, v2), dimensions={{{}}}, to_apply={combiner}", x.name, list(&reduced));
        self.push(dims, operation);
    }

    fn starts(&mut self, x: &Value) -> String {
        let starts: Vec<String> = x.dims.iter().filter_map(|_| self.value(<[i64]>::is_empty)).map(|v| v.name).collect();
        starts.join(", ")
    }

    fn dynamic_slice(&mut self, x: &Value) {
        let dims: Vec<i64> = x.dims.iter().map(|&size| 1 + self.below(size)).collect();
        let (starts, sizes) = (self.starts(x), list(&dims));
        self.push(dims, format!("dynamic-slice({}, {starts}), dynamic_slice_sizes={{{sizes}}}", x.name));
    }

    fn dynamic_update_slice(&mut self, x: &Value) {
        let fits = |dims: &[i64]| dims.len() == x.dims.len() && dims.iter().zip(&x.dims).all(|(a, b)| a <= b);
        let Some(update) = self.value(fits) else { return };
        let starts = self.starts(x);
        self.push(x.dims.clone(), format!("dynamic-update-slice({}, {}, {starts})", x.name, update.name));
    }

    /// Rows chosen by a vector.
    fn gather(&mut self, x: &Value) {
        let Some(rows) = self.value(|dims| dims.len() == 1) else { return };
        let dims = [&rows.dims, &x.dims[1..]].concat();
        let offsets: Vec<usize> = (1..dims.len()).collect();
        let sizes = [&[1], &x.dims[1..]].concat();
        let operation = format!(
            "gather({}, {}), offset_dims={{{}}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, index_vector_dim=1, slice_sizes={{{}}}",
            x.name,
            rows.name,
            list(&offsets),
            list(&sizes)
        );
        self.push(dims, operation);
    }
}

fn shape(dims: &[i64]) -> String {
    format!("s32[{}]", list(dims))
}

fn list<T: ToString>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}
