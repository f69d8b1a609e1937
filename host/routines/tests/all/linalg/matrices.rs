//! Creates matrices that are hard to factorise, and calls routines on them.

use fusebox_core::hlo::{ElementType, Shape};
use num_complex::Complex;

use crate::support::{Random, Threads, module, results};

pub type C = Complex<f64>;
pub type Mat = faer::Mat<C>;

/// Element types, each with the letter that LAPACK uses for it.
pub const TYPES: [(ElementType, char); 4] =
    [(ElementType::F32, 's'), (ElementType::F64, 'd'), (ElementType::C64, 'c'), (ElementType::C128, 'z')];

/// Returns the unit roundoff: half the distance between one and the next larger number.
pub fn unit(ty: ElementType) -> f64 {
    match ty.real_part() {
        ElementType::F32 => f64::from(f32::EPSILON) / 2.0,
        _ => f64::EPSILON / 2.0,
    }
}

/// Names of the kinds of matrices.
pub const FAMILIES: [&str; 8] =
    ["random", "graded", "rank deficient", "clustered", "tiny", "huge", "defective", "sparse"];

/// A matrix whose elements are exact in the type, and a power of two that scales the matrix.
pub struct ScaledMatrix {
    pub ty: ElementType,
    pub family: &'static str,
    /// The matrix before it is scaled.
    pub matrix: Mat,
    pub factor: f64,
}

impl ScaledMatrix {
    pub fn new(random: &mut Random, ty: ElementType, family: usize, rows: usize, columns: usize) -> ScaledMatrix {
        let mut element = || C::new(random.signed(), if ty.is_complex() { random.signed() } else { 0.0 });
        let mut fill = |rows, columns| {
            let mut matrix = Mat::zeros(rows, columns);
            (0..rows).for_each(|i| (0..columns).for_each(|j| matrix[(i, j)] = element()));
            matrix
        };
        let size = rows.max(columns).max(1) as f64;
        let mut matrix = fill(rows, columns);
        let mut factor = 1.0;
        match FAMILIES[family] {
            "graded" => {
                for i in 0..rows {
                    (0..columns).for_each(|j| matrix[(i, j)] *= (-((i + j) as f64) * 20.0 / size).exp2());
                }
            }
            "rank deficient" => {
                let rank = rows.min(columns).div_ceil(2);
                matrix = fill(rows, rank) * fill(rank, columns);
            }
            "clustered" => {
                for i in 0..rows {
                    (0..columns).for_each(|j| matrix[(i, j)] *= unit(ty) * 8.0);
                    (0..columns).filter(|&j| j == i).for_each(|j| matrix[(i, j)] += (1 + i % 3) as f64);
                }
            }
            "tiny" | "huge" => {
                let exponent = if ty.real_part() == ElementType::F32 { 115 } else { 980 };
                factor = f64::from(if FAMILIES[family] == "tiny" { -exponent } else { exponent }).exp2();
            }
            "defective" => {
                for i in 0..rows {
                    let keep = |j: usize| if i == j || i + 1 == j { 1.0 } else { 0.0 };
                    (0..columns).for_each(|j| matrix[(i, j)] = C::new(keep(j), 0.0));
                }
            }
            "sparse" => {
                for i in 0..rows {
                    (0..columns).for_each(|j| {
                        let z = matrix[(i, j)] * 2.0;
                        matrix[(i, j)] =
                            if (i * 7 + j * 5) % 4 == 0 { C::new(z.re.round(), z.im.round()) } else { C::ZERO };
                    });
                }
            }
            _ => {}
        }
        let mut case = ScaledMatrix { ty, family: FAMILIES[family], matrix, factor };
        case.round();
        case
    }

    fn round(&mut self) {
        if self.ty.real_part() == ElementType::F32 {
            let round = |x: f64| f64::from(x as f32);
            for i in 0..self.matrix.nrows() {
                (0..self.matrix.ncols()).for_each(|j| {
                    let z = self.matrix[(i, j)];
                    self.matrix[(i, j)] = C::new(round(z.re), round(z.im));
                });
            }
        }
    }

    /// Makes the matrix Hermitian and, if `positive`, positive definite.
    pub fn hermitian(mut self, positive: bool) -> ScaledMatrix {
        let n = self.matrix.nrows();
        for i in 0..n {
            for j in 0..i {
                self.matrix[(j, i)] = self.matrix[(i, j)].conj();
            }
        }
        for i in 0..n {
            let diagonal = self.matrix[(i, i)].re;
            let off: f64 = (0..n).filter(|&j| j != i).map(|j| self.matrix[(i, j)].norm()).sum();
            self.matrix[(i, i)] = C::new(if positive { off + diagonal.abs() + 1e-3 } else { diagonal }, 0.0);
        }
        self.round();
        self
    }

    /// Returns the bytes of the scaled matrix in row-major order.
    pub fn bytes(&self) -> Vec<u8> {
        let rows = (0..self.matrix.nrows()).flat_map(|i| (0..self.matrix.ncols()).map(move |j| (i, j)));
        to_bytes(self.ty, rows.map(|at| self.matrix[at] * self.factor))
    }
}

pub fn to_bytes(ty: ElementType, values: impl Iterator<Item = C>) -> Vec<u8> {
    values
        .flat_map(|z| match ty {
            ElementType::F32 => (z.re as f32).to_le_bytes().to_vec(),
            ElementType::F64 => z.re.to_le_bytes().to_vec(),
            ElementType::C64 => [(z.re as f32).to_le_bytes(), (z.im as f32).to_le_bytes()].concat(),
            ElementType::C128 => [z.re.to_le_bytes(), z.im.to_le_bytes()].concat(),
            _ => (z.re as i32).to_le_bytes().to_vec(),
        })
        .collect()
}

fn from_bytes(ty: ElementType, bytes: &[u8]) -> Vec<C> {
    let single = |b: &[u8]| f64::from(f32::from_le_bytes(b.try_into().unwrap()));
    let double = |b: &[u8]| f64::from_le_bytes(b.try_into().unwrap());
    match ty {
        ElementType::F32 => bytes.chunks(4).map(|b| C::new(single(b), 0.0)).collect(),
        ElementType::F64 => bytes.chunks(8).map(|b| C::new(double(b), 0.0)).collect(),
        ElementType::C64 => bytes.chunks(8).map(|b| C::new(single(&b[..4]), single(&b[4..]))).collect(),
        ElementType::C128 => bytes.chunks(16).map(|b| C::new(double(&b[..8]), double(&b[8..]))).collect(),
        _ => bytes.chunks(4).map(|b| C::new(f64::from(i32::from_le_bytes(b.try_into().unwrap())), 0.0)).collect(),
    }
}

/// A result of a routine, with its declared shape.
#[derive(Clone, Debug)]
pub struct RoutineResult {
    pub ty: ElementType,
    pub dims: Vec<usize>,
    pub values: Vec<C>,
    pub bytes: Vec<u8>,
}

impl RoutineResult {
    pub fn matrix(&self) -> Mat {
        let [rows, columns] = self.dims[..] else { panic!("{:?} is no matrix", self.dims) };
        Mat::from_fn(rows, columns, |i, j| self.values[i * columns + j])
    }

    /// Returns the result as a matrix, divided by the factor of the operand.
    pub fn unscaled(&self, factor: f64) -> Mat {
        self.matrix() * faer::Scale(C::new(1.0 / factor, 0.0))
    }

    pub fn real(&self) -> Vec<f64> {
        self.values.iter().map(|z| z.re).collect()
    }

    pub fn status(&self) -> i32 {
        self.values[0].re as i32
    }
}

/// Executes one operation with one, two and seven threads. The results must be equal.
pub fn run(operation: &str, operands: &[(String, Vec<u8>)], result: &str) -> Vec<RoutineResult> {
    let parameters: String =
        operands.iter().enumerate().map(|(i, (shape, _))| format!("  p{i} = {shape} parameter({i})\n")).collect();
    let names = (0..operands.len()).map(|i| format!("p{i}")).collect::<Vec<_>>().join(", ");
    let call = operation.replace("()", &format!("({names})"));
    let text = format!("ENTRY e {{\n{parameters}  ROOT r = {result} {call}\n}}\n");
    let module = module(&text);
    let operands: Vec<&[u8]> = operands.iter().map(|(_, bytes)| &bytes[..]).collect();
    let results = results(&module, &operands, &[&Threads(2), &Threads(1), &Threads(7)]);
    let shapes = module.entry_computation().unwrap().root_instruction().shape.leaves();
    let found = shapes.into_iter().filter_map(Shape::as_array).zip(results).map(|(shape, result)| RoutineResult {
        ty: shape.element_type,
        dims: shape.dims.iter().map(|&size| size as usize).collect(),
        values: from_bytes(shape.element_type, result.bytes()),
        bytes: result.bytes().to_vec(),
    });
    found.collect()
}

/// Returns the text of a shape, for example `f32[2,3]`.
pub fn shape(ty: ElementType, dims: &[usize]) -> String {
    format!("{ty}[{}]", dims.iter().map(usize::to_string).collect::<Vec<_>>().join(","))
}

/// Calls a function of LAPACK on matrices. `name` is the name of the function without the letter of
/// the type.
pub fn lapack(
    ty: ElementType,
    name: &str,
    config: &str,
    operands: &[(String, Vec<u8>)],
    results: &[(ElementType, &[usize])],
) -> Vec<RoutineResult> {
    let letter = TYPES.iter().find(|(known, _)| *known == ty).unwrap().1;
    let config = if config.is_empty() { String::new() } else { format!(", backend_config={{{config}}}") };
    let call = format!("custom-call(), custom_call_target=\"lapack_{letter}{name}_ffi\"{config}");
    let shapes: Vec<String> = results.iter().map(|(ty, dims)| shape(*ty, dims)).collect();
    let result = if shapes.len() == 1 { shapes[0].clone() } else { format!("({})", shapes.join(", ")) };
    run(&call, operands, &result)
}

/// Returns the matrix of a case as an operand.
pub fn operand(case: &ScaledMatrix) -> (String, Vec<u8>) {
    (shape(case.ty, &[case.matrix.nrows(), case.matrix.ncols()]), case.bytes())
}

/// Returns the result of a call as an operand of the next call.
pub fn handed_on(found: &RoutineResult) -> (String, Vec<u8>) {
    (shape(found.ty, &found.dims), found.bytes.clone())
}
