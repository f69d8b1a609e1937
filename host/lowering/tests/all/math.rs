//! Compares the math library with references. For f32, the references are the f64 functions of
//! another library, and arguments cover all exponents. For f64, the reference is a table of exact
//! values. Both types are also checked at special arguments.

use std::collections::BTreeMap;
use std::fmt::Debug;

use crate::jit::{
    Buffer, KernelSource, compile, compile_and_run, contains_in_order, elementwise, flushed as flushed_mode, object,
    run, source, stages_of,
};
use fusebox_core::builder::Abilities;
use fusebox_core::ir::{OpKind, verify};
use fusebox_core::random::SplitMix64;
use fusebox_lowering::{Lowering, NoStages, Stage, Target, math};

/// Number of arguments that a block processes.
const CHUNK: usize = 1 << 16;
const BLOCKS: usize = 16;

#[derive(Clone, Copy)]
enum Reference {
    One(fn(f64) -> f64),
    /// Reference of an operation that does not flush subnormal numbers.
    OfSubnormalsToo(fn(f64) -> f64),
    Two(fn(f64, f64) -> f64),
}

/// Each case has an operation, its reference, and the largest allowed error in ulps, for f32 and
/// for f64.
const CASES: &[(&str, Reference, f64, f64)] = &[
    ("math.exp", Reference::One(libm::exp), 0.91, 0.96),
    ("math.exp2", Reference::One(libm::exp2), 0.88, 0.88),
    ("math.expm1", Reference::One(libm::expm1), 1.44, 1.9),
    ("math.log", Reference::One(libm::log), 0.93, 0.82),
    ("math.log2", Reference::One(libm::log2), 1.24, 1.2),
    ("math.log10", Reference::One(libm::log10), 1.56, 1.5),
    ("math.log1p", Reference::One(libm::log1p), 1.53, 1.4),
    ("math.sin", Reference::One(libm::sin), 0.51, 0.77),
    ("math.cos", Reference::One(libm::cos), 0.51, 0.77),
    ("math.tan", Reference::One(libm::tan), 1.97, 2.1),
    ("math.sinh", Reference::One(libm::sinh), 1.6, 1.5),
    ("math.cosh", Reference::One(libm::cosh), 1.58, 1.5),
    ("math.tanh", Reference::One(libm::tanh), 2.61, 2.5),
    ("math.asin", Reference::One(libm::asin), 1.2, 1.2),
    ("math.acos", Reference::One(libm::acos), 1.08, 1.1),
    ("math.atan", Reference::One(libm::atan), 1.25, 1.85),
    ("math.atan2", Reference::Two(libm::atan2), 1.6, 1.8),
    ("math.asinh", Reference::One(libm::asinh), 1.77, 1.5),
    ("math.acosh", Reference::One(|x| if x < 1.0 { f64::NAN } else { libm::acosh(x) }), 1.6, 1.5),
    ("math.atanh", Reference::One(libm::atanh), 1.65, 1.5),
    ("math.powf", Reference::Two(libm::pow), 0.54, 0.95),
    ("math.cbrt", Reference::OfSubnormalsToo(libm::cbrt), 0.501, 0.501),
    ("math.rsqrt", Reference::One(|x| 1.0 / x.sqrt()), 0.51, 0.51),
    ("math.erf", Reference::One(libm::erf), 1.66, 1.0),
    ("math.erfc", Reference::One(libm::erfc), 0.51, 3.1),
    ("arith.remf", Reference::Two(libm::fmod), 0.0, 0.0),
];

/// Arguments that are a special case of some function.
const SPECIAL: &[f64] = &[
    0.0,
    f64::INFINITY,
    f64::NAN,
    f64::from_bits(1),
    f64::MIN_POSITIVE,
    f64::MAX,
    1.0,
    0.5,
    2.0,
    3.0,
    1e-10,
    10.0,
    // The exponentials of these f32 are the smallest normal numbers, and the largest finite one.
    87.336540,
    87.336548,
    88.722832,
    88.722839,
    89.0,
    104.0,
    126.0,
    128.0,
    710.0,
    746.0,
    1024.0,
    1e10,
    1e16,
    9007199254740993.0,
    1e22,
];

trait Float: Copy + Debug + 'static {
    const NAME: &'static str;
    const BYTES: u64;
    const DIGITS: i32;
    const SMALLEST: i32;
    const LARGEST: f64;
    fn of_random(bits: u64) -> Self;
    fn rounded(value: f64) -> Self;
    fn wide(self) -> f64;
    /// Returns the number, or zero if the number is subnormal and this machine flushes it.
    fn counting(self) -> f64 {
        flushed::<Self>(self.wide())
    }
}

/// Returns zero for a subnormal number if this machine flushes.
fn flushed<T: Float>(number: f64) -> f64 {
    let is_subnormal = number.abs() < 2f64.powi(T::SMALLEST + T::DIGITS);
    if is_subnormal && cfg!(target_arch = "x86_64") { 0f64.copysign(number) } else { number }
}

impl Float for f32 {
    const NAME: &'static str = "f32";
    const BYTES: u64 = 4;
    const DIGITS: i32 = 23;
    const SMALLEST: i32 = -149;
    const LARGEST: f64 = f32::MAX as f64;
    fn of_random(bits: u64) -> f32 {
        f32::from_bits(bits as u32)
    }
    fn rounded(value: f64) -> f32 {
        value as f32
    }
    fn wide(self) -> f64 {
        self.into()
    }
}

impl Float for f64 {
    const NAME: &'static str = "f64";
    const BYTES: u64 = 8;
    const DIGITS: i32 = 52;
    const SMALLEST: i32 = -1074;
    const LARGEST: f64 = f64::MAX;
    fn of_random(bits: u64) -> f64 {
        f64::from_bits(bits)
    }
    fn rounded(value: f64) -> f64 {
        value
    }
    fn wide(self) -> f64 {
        self
    }
}

/// Returns the exponent of the ulp of numbers near `value`.
fn ulp_exponent<T: Float>(value: f64) -> i32 {
    let exponent = ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    (exponent - T::DIGITS).max(T::SMALLEST)
}

/// Returns the distance in ulps between `got` and `expected` + `offset` ulps. The distance is
/// infinite if only one of the two is NaN or infinite, or if zeros have different signs.
fn error<T: Float>(got: T, expected: f64, offset: f64) -> f64 {
    let (got, nearest) = (got.wide(), T::rounded(expected).wide());
    if flushed::<T>(got) == 0.0 && flushed::<T>(nearest) == 0.0 && got.is_sign_negative() == nearest.is_sign_negative()
    {
        return 0.0;
    }
    if got.is_nan() || nearest.is_nan() {
        return if got.is_nan() && nearest.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if got == nearest && (got.is_infinite() || got == 0.0) {
        let same = got.is_sign_negative() == nearest.is_sign_negative();
        return if same { (expected - nearest).abs().min(0.5) } else { f64::INFINITY };
    }
    if got.is_infinite() || nearest.is_infinite() {
        let finite = |x: f64| if x.is_infinite() { T::LARGEST.copysign(x) } else { x };
        return if finite(got) == finite(nearest) { 1.0 } else { f64::INFINITY };
    }
    // Scale in two steps, because the inverse of a small ulp overflows.
    let digits = -ulp_exponent::<T>(expected);
    let difference = (got - expected) * 2f64.powi(digits / 2) * 2f64.powi(digits - digits / 2);
    (difference - offset).abs()
}

/// Returns a kernel that applies an operation to `CHUNK` elements per block.
fn kernel<T: Float>(operation: &str, operands: usize) -> KernelSource {
    let name = format!("{}_{}", operation.replace('.', "_"), T::NAME);
    let (count, last) = (CHUNK * BLOCKS, CHUNK - 1);
    let tensor = format!("tensor<{count}x{}>", T::NAME);
    let list = |of: &dyn Fn(usize) -> String| (0..operands).map(of).collect::<Vec<_>>().join(", ");
    let types = vec![tensor.as_str(); operands + 1].join(", ");
    let parameters = list(&|i| format!("%a{i}: {tensor}"));
    let extracts: String = (0..operands)
        .map(|i| format!("    %x{i} = \"tensor.extract\"(%a{i}, %i) : ({tensor}, index) -> {}\n", T::NAME))
        .collect();
    let (values, scalars) = (list(&|i| format!("%x{i}")), vec![T::NAME; operands].join(", "));
    let element = T::NAME;
    let text = format!(
        r#""func.func"() <{{function_type = ({types}) -> {tensor}, sym_name = "{name}"}}> ({{
^bb0({parameters}, %out: {tensor}):
  %block = "gpu.block_id"() <{{dimension = #gpu<dim x>}}> : () -> index
  %result = "xla_gpu.loop"(%block, %out) ({{
  ^bb1(%s: index, %i: index, %state: {tensor}):
{extracts}    %y = "{operation}"({values}) : ({scalars}) -> {element}
    %next = "tensor.insert"(%y, %state, %i) : ({element}, {tensor}, index) -> {tensor}
    "xla_gpu.yield"(%next) : ({tensor}) -> ()
  }}) {{map = "(d0)[s0] -> (d0 * {CHUNK} + s0), domain: d0 in [0, {}], s0 in [0, {last}]"}} : (index, {tensor}) -> {tensor}
  "func.return"(%result) : ({tensor}) -> ()
}}) {{fusebox.entry}} : () -> ()
"#,
        BLOCKS - 1
    );
    source(&name, &text, &vec![count as u64 * T::BYTES; operands + 1], 1, BLOCKS as u64, 1)
}

/// All kernels of a type, compiled together.
struct Library {
    object: Vec<u8>,
}

impl Library {
    fn new<T: Float>(target: &Target) -> Library {
        let kernels: Vec<KernelSource> = CASES.iter().map(|case| kernel::<T>(case.0, operands(case.1))).collect();
        let code = compile(&kernels, target, &mut NoStages).unwrap_or_else(|error| panic!("{error}"));
        Library { object: object(code) }
    }

    /// Applies the operation to all arguments. There are at most `CHUNK` · `BLOCKS` arguments.
    fn apply<T: Float>(&self, operation: &str, arguments: &[Vec<T>]) -> Vec<T> {
        let count = arguments[0].len();
        let padded = |values: &Vec<T>| {
            let mut values = values.clone();
            values.resize(CHUNK * BLOCKS, T::rounded(1.0));
            Buffer::of(&values)
        };
        let mut buffers: Vec<Buffer> = arguments.iter().map(padded).collect();
        let results = vec![T::rounded(0.0); CHUNK * BLOCKS];
        buffers.push(Buffer::of(&results));
        let name = format!("{}_{}", operation.replace('.', "_"), T::NAME);
        flushed_mode(|| run(&self.object, &name, &mut buffers, 0, count.div_ceil(CHUNK) as i64));
        let mut results = buffers[arguments.len()].values::<T>();
        results.truncate(count);
        results
    }
}

/// Returns two targets: this processor with AVX-512, and without AVX-512.
fn processors() -> [Target; 2] {
    [Target::cpu(), Target::named("cpu,-avx512").unwrap()]
}

fn operands(reference: Reference) -> usize {
    match reference {
        Reference::One(_) | Reference::OfSubnormalsToo(_) => 1,
        Reference::Two(_) => 2,
    }
}

/// Returns the largest error over all arguments, and a description of the argument at which the
/// largest error occurs.
fn worst<T: Float>(arguments: &[Vec<T>], results: &[T], expected: impl Fn(usize) -> (f64, f64)) -> (f64, String) {
    let mut worst = (-1.0, 0);
    for (at, &result) in results.iter().enumerate() {
        let (value, offset) = expected(at);
        let error = error(result, value, offset);
        if error > worst.0 {
            worst = (error, at);
        }
    }
    let (error, at) = worst;
    let arguments: Vec<T> = arguments.iter().map(|values| values[at]).collect();
    (error, format!("{error:.3} ulp at {arguments:?}: {:?} instead of {:e}", results[at], expected(at).0))
}

fn reference_value<T: Float>(reference: Reference, arguments: &[Vec<T>], at: usize) -> f64 {
    match reference {
        Reference::One(f) => f(arguments[0][at].counting()),
        Reference::OfSubnormalsToo(f) => f(arguments[0][at].wide()),
        Reference::Two(f) => f(arguments[0][at].counting(), arguments[1][at].counting()),
    }
}

/// Returns arguments. Half of them are random bit patterns. The other half lie where functions are
/// most curved.
fn points(count: usize, seed: u64) -> Vec<f32> {
    let mut random = SplitMix64(seed);
    let point = |at: usize| {
        let bits = random.bits();
        match at % 2 {
            0 => f32::of_random(bits),
            _ => ((bits >> 11) as f64 * 2f64.powi(-53) * 8.0 - 4.0) as f32,
        }
    };
    (0..count).map(point).collect()
}

#[test]
fn f32_is_accurate_everywhere() {
    processors().iter().for_each(|target| f32_is_accurate(&Library::new::<f32>(target)));
}

fn f32_is_accurate(library: &Library) {
    let count = CHUNK * BLOCKS;
    let failures: Vec<String> = CASES
        .iter()
        .filter_map(|&(operation, reference, bound, _)| {
            let arguments: Vec<Vec<f32>> = (0..operands(reference)).map(|i| points(count, 22 + i as u64)).collect();
            let results = library.apply(operation, &arguments);
            let (error, place) = worst(&arguments, &results, |at| (reference_value(reference, &arguments, at), 0.0));
            (error > bound).then(|| format!("{operation}: {place}"))
        })
        .collect();
    assert!(failures.is_empty(), "{failures:#?}");
}

/// A row of the table: the arguments, the value nearest to the exact value, and the distance
/// between these two values in ulps.
type Row = (Vec<f64>, f64, f64);

/// Returns the rows of each operation.
fn table() -> BTreeMap<&'static str, Vec<Row>> {
    let mut rows: BTreeMap<&str, Vec<Row>> = BTreeMap::new();
    for line in include_str!("math/reference_f64.tsv").lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        let [operation, arguments @ .., value, offset] = &columns[..] else { panic!("{line}") };
        let number = |text: &str| f64::from_bits(u64::from_str_radix(text, 16).unwrap());
        let arguments = arguments.iter().map(|text| number(text)).collect();
        rows.entry(operation).or_default().push((arguments, number(value), offset.parse().unwrap()));
    }
    rows
}

#[test]
fn f64_is_accurate_where_the_table_looks() {
    processors().iter().for_each(|target| f64_is_accurate(&Library::new::<f64>(target)));
}

fn f64_is_accurate(library: &Library) {
    let table = table();
    let failures: Vec<String> = CASES
        .iter()
        .filter_map(|&(operation, reference, _, bound)| {
            let counts = |row: &&Row| row.0.iter().all(|&x| x.counting() == x);
            let rows: Vec<&Row> = table[operation].iter().filter(counts).collect();
            let column = |i: usize| rows.iter().map(|row| row.0[i]).collect::<Vec<f64>>();
            let arguments: Vec<Vec<f64>> = (0..operands(reference)).map(column).collect();
            let results = library.apply(operation, &arguments);
            let (error, place) = worst(&arguments, &results, |at| (rows[at].1, rows[at].2));
            // The table's offsets are rounded to a thousandth.
            (error > bound + 0.001).then(|| format!("{operation}: {place}"))
        })
        .collect();
    assert!(failures.is_empty(), "{failures:#?}");
}

fn special_arguments<T: Float>(operands: usize) -> Vec<Vec<T>> {
    let signed: Vec<T> = SPECIAL.iter().flat_map(|&x| [x, -x]).map(T::rounded).collect();
    let signed = [signed, [1e-45, -1e-45, 1.2e-38, 3.4028234663852886e38].map(T::rounded).to_vec()].concat();
    if operands == 1 {
        return vec![signed];
    }
    let pairs: Vec<(T, T)> = signed.iter().flat_map(|&x| signed.iter().map(move |&y| (x, y))).collect();
    vec![pairs.iter().map(|pair| pair.0).collect(), pairs.iter().map(|pair| pair.1).collect()]
}

fn special_arguments_are_right<T: Float>(slack: f64, bound: impl Fn(&(&str, Reference, f64, f64)) -> f64) {
    let libraries = processors().map(|target| Library::new::<T>(&target));
    let cases = libraries.iter().flat_map(|library| CASES.iter().map(move |case| (library, case)));
    let failures: Vec<String> = cases
        .filter_map(|(library, case)| {
            let arguments = special_arguments::<T>(operands(case.1));
            let results = library.apply(case.0, &arguments);
            let (error, place) = worst(&arguments, &results, |at| (reference_value(case.1, &arguments, at), 0.0));
            (error > bound(case) + slack).then(|| format!("{}: {place}", case.0))
        })
        .collect();
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn special_arguments_in_f32() {
    special_arguments_are_right::<f32>(0.0, |case| case.2);
}

#[test]
fn special_arguments_in_f64() {
    // The reference itself has errors of up to an ulp here.
    special_arguments_are_right::<f64>(1.0, |case| case.3);
}

#[test]
fn f32_functions_become_vector_code() {
    for &(operation, reference, ..) in CASES {
        if operation == "arith.remf" {
            continue;
        }
        let source = kernel::<f32>(operation, operands(reference));
        let (_, stages) = stages_of(&source, &Target::cpu()).unwrap_or_else(|error| panic!("{error}"));
        let optimised = stages.get(Stage::Llvm);
        contains_in_order(optimised, &["x float> "]);
        let scalar_call = optimised.lines().find(|line| line.contains("call float") || line.contains("call double"));
        assert_eq!(scalar_call, None, "{operation}");
    }
}

/// Returns a kernel that applies an operation to f64 elements.
fn of_doubles(operation: &str, operands: usize, count: u64) -> KernelSource {
    let (values, types) = (["%x0", "%x1"][..operands].join(", "), vec!["f64"; operands].join(", "));
    let body = format!("%r = \"{operation}\"({values}) : ({types}) -> f64\n");
    elementwise::kernel("doubles", &[("f64", 8); 2], ("f64", 8), count, &body)
}

#[test]
fn vectors_of_rare_arguments_have_the_bits_of_scalars() {
    const COUNT: usize = 61;
    // Vectors without rare arguments, with one, and with several. The rare arguments, and the rare
    // quotients, need loops.
    let rare = |at: usize| at > 24 && at.is_multiple_of(5);
    let left: Vec<f64> =
        (0..COUNT).map(|at| if rare(at) { 1e300 / at as f64 } else { at as f64 * 0.3 - 7.0 }).collect();
    let right: Vec<f64> = (0..COUNT).map(|at| at as f64 * 0.01 + 0.7).collect();
    for (operation, operands) in [("math.sin", 1), ("math.cos", 1), ("math.tan", 1), ("arith.remf", 2)] {
        for lowering in Lowering::ALL {
            let target = Target::cpu().with_lowering(lowering);
            let results = |length: usize| {
                let kernel = of_doubles(operation, operands, length as u64);
                let code = compile(std::slice::from_ref(&kernel), &target, &mut NoStages);
                let object = object(code.unwrap_or_else(|error| panic!("{error}")));
                let chunks = left.chunks(length).zip(right.chunks(length));
                let of_chunk = |(left, right)| {
                    let mut buffers = [Buffer::of(left), Buffer::of(right), Buffer::of(&vec![0f64; length])];
                    run(&object, &kernel.entry, &mut buffers, 0, kernel.launch.blocks as i64);
                    buffers[2].values::<u64>()
                };
                chunks.flat_map(of_chunk).collect::<Vec<u64>>()
            };
            assert_eq!(results(COUNT), results(1), "{operation}, {lowering:?}");
        }
        let stages = stages_of(&of_doubles(operation, operands, COUNT as u64), &Target::cpu());
        let (_, stages) = stages.unwrap_or_else(|error| panic!("{error}"));
        contains_in_order(stages.get(Stage::Llvm), &["x double> @fusebox_", "_f64.called.x"]);
    }
}

/// Returns a kernel that applies an operation repeatedly to its own result. If the operation has
/// two operands, the other operand is `%x1`.
fn chain(operation: &str, operands: usize, links: usize, count: usize) -> KernelSource {
    let types = vec!["f32"; operands].join(", ");
    let link = |at: usize| {
        let before = if at == 0 { "%x0".to_owned() } else { format!("%c{}", at - 1) };
        let result = if at + 1 == links { "%r".to_owned() } else { format!("%c{at}") };
        let values = [before.as_str(), "%x1"][..operands].join(", ");
        format!("{result} = \"{operation}\"({values}) : ({types}) -> f32\n")
    };
    let body: String = (0..links).map(link).collect();
    elementwise::kernel("chain", &[("f32", 4), ("f32", 4)], ("f32", 4), count as u64, &body)
}

#[test]
fn long_chains_call_functions_of_vectors_that_compute_the_same_bits() {
    const LINKS: usize = 24;
    // This number is not a multiple of any vector width, so the kernel also calls the scalar
    // function.
    let (start, other) = (points(1003, 5), points(1003, 6));
    for (operation, operands) in [("math.sin", 1), ("math.atan2", 2)] {
        let source = |links| chain(operation, operands, links, start.len());
        let of_chain = |links: usize, values: &[f32]| {
            let mut buffers = [Buffer::of(values), Buffer::of(&other), Buffer::of(&vec![0f32; values.len()])];
            compile_and_run(&source(links), &mut buffers);
            buffers[2].values::<f32>()
        };
        let (_, stages) = stages_of(&source(LINKS), &Target::cpu()).unwrap_or_else(|error| panic!("{error}"));
        contains_in_order(stages.get(Stage::Llvm), &["x float> @fusebox_", ".called.x"]);
        let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<u32>>();
        let link_by_link = (0..LINKS).fold(start.clone(), |values, _| of_chain(1, &values));
        assert_eq!(bits(of_chain(LINKS, &start)), bits(link_by_link), "{operation}");
    }
}

#[test]
fn every_operation_compiles_for_nvidia_without_calls() {
    let target = Target::nvptx(80);
    for &(operation, reference, ..) in CASES {
        for source in [kernel::<f32>(operation, operands(reference)), kernel::<f64>(operation, operands(reference))] {
            let (_, stages) = stages_of(&source, &target).unwrap_or_else(|error| panic!("{error}"));
            let ptx = stages.get(Stage::Assembly);
            assert!(!ptx.contains(".extern"), "{operation} in {}", source.entry);
        }
    }
}

#[test]
fn definitions_are_each_given_once_and_in_order() {
    let exp = math::symbol_for(OpKind::Exp, 32).unwrap();
    let tanh = math::symbol_for(OpKind::Tanh, 64).unwrap();
    let abilities = Abilities { fma: true, branches: true, flushes: false };
    let functions = math::definitions([tanh, exp, tanh], abilities).unwrap();
    let names: Vec<&str> = functions.iter().map(|function| function.name.as_str()).collect();
    assert_eq!(names, ["fusebox_exp_f32", "fusebox_tanh_f64"]);
    assert_eq!(functions, math::definitions([exp, tanh], abilities).unwrap());
    assert_eq!(math::symbol_for(OpKind::Exp, 16), None);
    let unknown = math::definitions(["fusebox_nothing_f32"], abilities).unwrap_err();
    assert!(unknown.to_string().contains("fusebox_nothing_f32"));
}

#[test]
fn without_fma_no_function_multiplies_and_adds_at_once() {
    let symbols: Vec<&str> = math::operations()
        .flat_map(|operation| [32, 64].map(|bits| math::symbol_for(operation, bits).unwrap()))
        .collect();
    let fused = |fma: bool| {
        let abilities = Abilities { fma, branches: true, flushes: false };
        let functions = math::definitions(symbols.iter().copied(), abilities).unwrap();
        verify(&functions).unwrap();
        let mut fused = 0;
        functions.iter().for_each(|f| f.body.walk(&mut |op| fused += usize::from(op.kind == OpKind::Fma)));
        fused
    };
    assert!(fused(true) > 0);
    assert_eq!(fused(false), 0);
}

#[test]
fn where_threads_run_together_no_function_branches() {
    let symbols: Vec<&str> = math::operations().map(|operation| math::symbol_for(operation, 32).unwrap()).collect();
    let branching = |branches: bool| {
        let abilities = Abilities { fma: true, branches, flushes: false };
        let functions = math::definitions(symbols.iter().copied(), abilities).unwrap();
        let mut branching = 0;
        functions.iter().for_each(|f| f.body.walk(&mut |op| branching += usize::from(op.kind == OpKind::If)));
        branching
    };
    assert!(branching(true) > 0);
    assert_eq!(branching(false), 0);
}
