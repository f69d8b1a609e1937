//! Creates a module that applies all operations to the values of a type.

use std::ops::Range;

use fusebox_core::hlo::{
    ArrayLiteral, BinaryOp, Comparison, ComparisonType, ElementType, FloatFormat, UnaryOp, parse_module, verify,
};

use super::values;

/// Numbers of exponent bits and mantissa bits for `reduce-precision`. They include none, one, the
/// numbers of the types, and more than any type has.
const PRECISIONS: [(u32, u32); 13] =
    [(1, 0), (1, 1), (2, 0), (3, 1), (4, 3), (5, 0), (5, 10), (8, 0), (8, 7), (8, 23), (11, 1), (11, 52), (30, 60)];

/// The parameters that determine the size of a result.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum OperandSet {
    /// `u`
    Single,
    /// `x`, `y`, `z`, `p`
    Paired,
}

/// One operation of the module.
pub struct TestedOperation {
    /// The element type of the result.
    pub result: ElementType,
    /// Parameters that the operation reads.
    pub values: OperandSet,
    /// The size of a second dimension, if there is one.
    pub parts: Option<u32>,
    /// `opcode(operands), attributes`
    pub operation: String,
}

impl TestedOperation {
    fn shape(&self, [single, paired]: [usize; 2]) -> String {
        let count = if self.values == OperandSet::Single { single } else { paired };
        let parts = self.parts.map(|parts| format!(",{parts}")).unwrap_or_default();
        format!("{}[{count}{parts}]", self.result)
    }

    fn line(&self, number: usize, counts: [usize; 2]) -> String {
        format!("r{number} = {} {}", self.shape(counts), self.operation)
    }
}

/// A module that returns the results of many operations as one tuple. The parameter `u` holds the
/// values of the type. `x` and `y` hold all pairs of some of these values. `z` holds arbitrary
/// values, and `p` holds truth values.
pub struct OperationsModule {
    /// The type of all operands except `p`.
    pub element: ElementType,
    /// `u`, `x`, `y`, `z`, `p`.
    pub inputs: Vec<ArrayLiteral>,
    /// The operations, in the order of the results.
    pub steps: Vec<TestedOperation>,
}

impl OperationsModule {
    /// Returns a module with all operations that the verifier accepts for this type.
    pub fn all(element: ElementType) -> OperationsModule {
        let single = values::array(element, values::single(element));
        let paired = values::paired(element);
        let n = paired.len();
        let pairs =
            |pick: fn(usize, usize) -> usize| values::array(element, (0..n * n).map(|i| paired[pick(i, n)].clone()));
        let (x, y) = (pairs(|i, n| i / n), pairs(|i, n| i % n));
        let z = pairs(|i, n| (i / n * 5 + i % n * 3 + 1) % n);
        let p = values::array(ElementType::Pred, (0..n * n).map(|i| vec![u8::from(i % 3 == 0)]));
        let mut case = OperationsModule { element, inputs: vec![single, x, y, z, p], steps: Vec::new() };
        case.add_operations();
        case.add_comparisons();
        case.add_conversions();
        case.add_bitcasts();
        case.add_stochastic_conversions();
        for (exponent, mantissa) in PRECISIONS {
            let attributes = format!("exponent_bits={exponent}, mantissa_bits={mantissa}");
            case.add(element, OperandSet::Single, format!("reduce-precision(u), {attributes}"));
        }
        case
    }

    /// Returns the number of single values and the number of pairs.
    pub fn counts(&self) -> [usize; 2] {
        [self.inputs[0].dims[0] as usize, self.inputs[1].dims[0] as usize]
    }

    fn add_operations(&mut self) {
        let (element, part) = (self.element, self.element.real_part());
        for op in UnaryOp::ALL {
            let result = match op {
                UnaryOp::IsFinite => ElementType::Pred,
                UnaryOp::Abs | UnaryOp::Real | UnaryOp::Imag => part,
                _ => element,
            };
            self.add(result, OperandSet::Single, format!("{}(u)", op.opcode()));
        }
        for op in BinaryOp::ALL {
            let result = match (op, element) {
                (BinaryOp::Complex, ElementType::F64) => ElementType::C128,
                (BinaryOp::Complex, _) => ElementType::C64,
                _ => element,
            };
            self.add(result, OperandSet::Paired, format!("{}(x, y)", op.opcode()));
        }
        self.add(element, OperandSet::Paired, "clamp(z, x, y)".into());
        self.add(element, OperandSet::Paired, "select(p, x, y)".into());
    }

    fn add_comparisons(&mut self) {
        let orders = ComparisonType::ALL.iter().map(|order| format!(", type={order}"));
        for order in std::iter::once(String::new()).chain(orders) {
            for direction in Comparison::ALL {
                let operation = format!("compare(x, y), direction={direction}{order}");
                self.add(ElementType::Pred, OperandSet::Paired, operation);
            }
        }
    }

    fn add_conversions(&mut self) {
        for &to in ElementType::ALL {
            self.add(to, OperandSet::Single, "convert(u)".into());
        }
    }

    /// Adds bitcasts to every type of at most the same width, and bitcasts back from these types.
    fn add_bitcasts(&mut self) {
        let bits = |ty: ElementType| if ty == ElementType::Pred { 8 } else { ty.bits() };
        for &to in ElementType::ALL {
            let (from, width) = (bits(self.element), bits(to));
            if to == self.element || from % width != 0 {
                continue;
            }
            let parts = (from != width).then_some(from / width);
            let operation = "bitcast-convert(u)".into();
            let back = format!("bitcast-convert(r{})", self.steps.len());
            if self.add_step(TestedOperation { result: to, values: OperandSet::Single, parts, operation }) {
                self.add(self.element, OperandSet::Single, back);
            }
        }
    }

    fn add_stochastic_conversions(&mut self) {
        let Ok(random) = format!("u{}", self.element.bits()).parse() else { return };
        let bits = format!("r{}", self.steps.len());
        if self.element.is_float() && self.add(random, OperandSet::Paired, "bitcast-convert(y)".into()) {
            for &to in ElementType::ALL {
                self.add(to, OperandSet::Paired, format!("stochastic-convert(x, {bits})"));
            }
        }
    }

    fn add(&mut self, result: ElementType, values: OperandSet, operation: String) -> bool {
        self.add_step(TestedOperation { result, values, parts: None, operation })
    }

    /// Adds an operation if the verifier accepts it. Returns whether the verifier accepts it.
    fn add_step(&mut self, step: TestedOperation) -> bool {
        let counts = self.counts();
        let mut lines = self.parameters();
        // Some operations read another result: the last result, or the bits of a stochastic
        // conversion.
        let read = |number: usize| step.operation.contains(&format!("r{number})"));
        let others = self.steps.iter().enumerate().filter(|(number, _)| read(*number));
        lines.extend(others.map(|(number, other)| other.line(number, counts)));
        lines.push(format!("ROOT {}", step.line(self.steps.len(), counts)));
        let text = format!("HloModule m\nENTRY main {{\n{}\n}}\n", lines.join("\n"));
        let is_valid = parse_module(&text, "m").is_ok_and(|module| verify(&module).is_ok());
        if is_valid {
            self.steps.push(step);
        }
        is_valid
    }

    fn named_inputs(&self) -> impl Iterator<Item = (&'static str, &ArrayLiteral)> {
        ["u", "x", "y", "z", "p"].into_iter().zip(&self.inputs)
    }

    fn parameters(&self) -> Vec<String> {
        let declare = |(number, (name, input)): (usize, (&str, &ArrayLiteral))| {
            format!("{name} = {}[{}] parameter({number})", input.element_type, input.dims[0])
        };
        self.named_inputs().enumerate().map(declare).collect()
    }

    /// Returns the text of the module. Its operands are parameters.
    pub fn text(&self) -> String {
        self.module(self.parameters(), self.counts())
    }

    /// Returns the text of a module whose operands are constants. The constants hold a range of the
    /// single values and a range of the pairs.
    pub fn constant_text(&self, single: Range<usize>, pairs: Range<usize>) -> String {
        let counts = [single.len(), pairs.len()];
        let declare = |(name, input): (&str, &ArrayLiteral)| {
            let ty = input.element_type;
            let elements = if name == "u" { single.clone() } else { pairs.clone() };
            let size = ty.byte_size();
            let bytes = &input.data[elements.start * size..elements.end * size];
            let numbers: Vec<String> = bytes.chunks(size).map(|bytes| literal(ty, bytes)).collect();
            format!("{name} = {ty}[{}] constant({{{}}})", numbers.len(), numbers.join(", "))
        };
        self.module(self.named_inputs().map(declare).collect(), counts)
    }

    fn module(&self, mut lines: Vec<String>, counts: [usize; 2]) -> String {
        let steps = || self.steps.iter().enumerate();
        lines.extend(steps().map(|(number, step)| step.line(number, counts)));
        let names: Vec<String> = steps().map(|(number, _)| format!("r{number}")).collect();
        let shapes: Vec<String> = self.steps.iter().map(|step| step.shape(counts)).collect();
        lines.push(format!("ROOT t = ({}) tuple({})", shapes.join(", "), names.join(", ")));
        format!("HloModule m\nENTRY main {{\n  {}\n}}\n", lines.join("\n  "))
    }
}

/// Returns a number as HLO text.
fn literal(ty: ElementType, bytes: &[u8]) -> String {
    let size = bytes.len() as u32;
    let mut wide = [0; 16];
    wide[..bytes.len()].copy_from_slice(bytes);
    let bits = u128::from_le_bytes(wide);
    let float = |format: FloatFormat, bits: u128| {
        let x = format.decode(bits as u64);
        let payload = bits & ((1 << format.mantissa_bits) - 1);
        let sign = if x.is_sign_negative() { "-" } else { "" };
        match () {
            () if x.is_nan() && format.has_infinity() => format!("{sign}nan({payload:#x})"),
            () if x.is_nan() => format!("{sign}nan"),
            () => format!("{x:?}"),
        }
    };
    match FloatFormat::of(ty.real_part()) {
        Some(format) if ty.is_complex() => {
            let half = ty.bits() / 2;
            format!("({}, {})", float(format, bits & ((1 << half) - 1)), float(format, bits >> half))
        }
        Some(format) => float(format, bits),
        None if ty.is_signed_integer() => {
            let unused = 128 - 8 * size;
            ((bits << unused) as i128 >> unused).to_string()
        }
        None => bits.to_string(),
    }
}
