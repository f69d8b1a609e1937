//! Tests passes on modules that are too many or too large for test files. The rewritten modules
//! must compute the same values, and their size must be bounded.

use std::fmt::Write;

use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{
    ArrayLiteral, ArrayShape, ElementType, Literal, Module, Op, Opcode, parse_module, print_module, verify,
};

use super::PASSES;
use super::joined_products::{groups, joined};
use crate::fuse::Claims;
use crate::{CompileError, Emitters};

fn module(text: &str) -> Module {
    let module = parse_module(text, "test.hlo").unwrap_or_else(|faults| panic!("{}", faults[0]));
    verify(&module).unwrap_or_else(|faults| panic!("{}", faults[0]));
    module
}

fn apply(pass: &str, text: &str) -> Result<String, CompileError> {
    apply_for(&DeviceDescription::cpu(2), pass, text)
}

fn apply_for(device: &DeviceDescription, pass: &str, text: &str) -> Result<String, CompileError> {
    let mut module = module(text);
    let pass = PASSES.iter().find(|it| it.name == pass).unwrap();
    pass.apply(
        &mut module,
        &mut Claims::new(device, &Emitters::bundled(), &fusebox_plugins::KnownPlans::default()),
        true,
    )?;
    verify(&module).unwrap_or_else(|faults| panic!("{}\n{}", faults[0], print_module(&module)));
    Ok(print_module(&module))
}

/// Returns the lines of the entry computation, without indentation.
fn entry(pass: &str, text: &str) -> Vec<String> {
    let printed = apply(pass, text).unwrap();
    let body = printed.split("ENTRY").nth(1).unwrap();
    body.lines().skip(1).map(|l| l.trim().to_string()).take_while(|l| l != "}").collect()
}

#[test]
fn doubling_calls_are_refused_before_memory_is_full() {
    let mut text = String::from("HloModule m\nf0 { p = f32[] parameter(0)\n  ROOT a = f32[] add(p, p) }\n");
    for level in 1..60 {
        let callee = level - 1;
        text += &format!(
            "f{level} {{ p = f32[] parameter(0)\n  a = f32[] call(p), to_apply=f{callee}\n  ROOT b = f32[] call(a), to_apply=f{callee} }}\n"
        );
    }
    text += "ENTRY main { x = f32[] parameter(0)\n  ROOT r = f32[] call(x), to_apply=f59 }";
    let error = apply("inline-calls", &text).unwrap_err().to_string();
    assert!(error.contains("calls nest so deeply"), "{error}");
}

#[test]
fn doubling_branches_stay_before_memory_is_full() {
    let mut text = String::from("HloModule m\nf0 { p = f32[] parameter(0)\n  ROOT a = f32[] add(p, p) }\n");
    for level in 1..60 {
        let of = format!("branch_computations={{f{0}, f{0}}}", level - 1);
        text += &format!(
            "f{level} {{ p = f32[] parameter(0)\n  yes = pred[] constant(true)\n  \
             a = f32[] conditional(yes, p, p), {of}\n  ROOT b = f32[] conditional(yes, a, a), {of} }}\n"
        );
    }
    text += "ENTRY main { p = f32[] parameter(0)\n  yes = pred[] constant(true)\n  \
             ROOT r = f32[] conditional(yes, p, p), branch_computations={f59, f59} }";
    let made = apply("control-flow", &text).unwrap();
    assert!(made.contains("conditional(") && made.lines().count() < 40_000);
}

/// Returns a reduction of `x` over `dimensions` with the combiner `op`.
fn reduction(ty: &str, dims: &[i64], dimensions: &[i64], op: &str) -> String {
    let kept: Vec<i64> = (0..dims.len()).filter(|d| !dimensions.contains(&(*d as i64))).map(|d| dims[d]).collect();
    format!(
        "HloModule m
f {{ p = {ty}[] parameter(0)
  q = {ty}[] parameter(1)
  ROOT s = {ty}[] {op}(p, q) }}
ENTRY main {{ x = {ty}{dims:?} parameter(0)
  init = {ty}[] constant(3)
  ROOT r = {ty}{kept:?} reduce(x, init), dimensions={{{}}}, to_apply=f }}",
        dimensions.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
    )
    .replace(", ", ",")
}

#[test]
fn enough_independent_rows_or_columns_stay_together() {
    for (dims, dimensions) in [
        (&[4096, 4096][..], &[1][..]),
        (&[4096, 4096], &[0]),
        (&[16, 1048576], &[1]),
        (&[64, 512, 256], &[1]),
        (&[1000], &[0]),
        (&[30, 32], &[0]),
        (&[100, 9, 32], &[0, 2]),
        (&[63, 90, 5], &[0, 2]),
    ] {
        let lines = entry("split-reductions", &reduction("f32", dims, dimensions, "add"));
        assert_eq!(lines.len(), 3, "{lines:#?}");
    }
}

#[test]
fn a_split_reduction_gives_the_same() {
    for (dims, dimensions) in [
        (&[65536][..], &[0][..]),
        (&[65539], &[0]),
        (&[8192, 9], &[0]),
        (&[3, 32768], &[1]),
        (&[2, 3, 16384], &[0, 2]),
        (&[2, 40000, 3], &[0, 1]),
        (&[300, 300], &[0, 1]),
        (&[1, 600, 2, 100], &[1, 3]),
        (&[100, 9, 5], &[0, 2]),
        (&[90, 7, 3, 4], &[0, 2, 3]),
        (&[2, 40_000, 3, 2], &[0, 1, 3]),
    ] {
        let text = reduction("s32", dims, dimensions, "add");
        let (before, mut after) = (module(&text), module(&text));
        let pass = PASSES.iter().find(|pass| pass.name == "split-reductions").unwrap();
        pass.apply(
            &mut after,
            &mut Claims::new(&DeviceDescription::cpu(2), &Emitters::bundled(), &fusebox_plugins::KnownPlans::default()),
            true,
        )
        .unwrap();
        verify(&after).unwrap_or_else(|faults| panic!("{}\n{}", faults[0], print_module(&after)));
        let reductions =
            after.entry_computation().unwrap().instructions.iter().filter(|i| i.opcode() == Opcode::Reduce).count();
        assert_eq!(reductions, 2, "{dims:?} {dimensions:?}");
        let count: i64 = dims.iter().product();
        let data: Vec<u8> = (0..count as i32).flat_map(|n| (n % 1000 - 499).to_le_bytes()).collect();
        let input = ArrayLiteral { element_type: ElementType::S32, dims: dims.to_vec(), data: data.into() };
        let value = |module: &Module| fusebox_interpreter::evaluate(module, &[Literal::Array(input.clone())]).unwrap();
        assert_eq!(value(&before), value(&after), "{dims:?} {dimensions:?}");
    }
}

fn cumulative(ty: &str, dims: &[i64], window: &str, op: &str, initial: &str) -> String {
    let dims: Vec<String> = dims.iter().map(i64::to_string).collect();
    let shape = format!("{ty}[{}]", dims.join(","));
    format!(
        "HloModule m
op {{ a = {ty}[] parameter(0)
  b = {ty}[] parameter(1)
  ROOT c = {ty}[] {op}(a, b) }}
ENTRY main {{ x = {shape} parameter(0)
  z = {ty}[] constant({initial})
  ROOT r = {shape} reduce-window(x, z), window={{{window}}}, to_apply=op }}"
    )
}

#[test]
fn other_windows_stay() {
    for window in ["size=1000 pad=998_1", "size=999 pad=998_0", "size=1000 pad=0_999 rhs_reversal=1"] {
        let text = cumulative("f32", &[1000], window, "add", "0");
        assert_eq!(apply("cumulative", &text).unwrap(), print_module(&module(&text)), "{window}");
    }
    let short = cumulative("f32", &[32], "size=32 pad=31_0", "add", "0");
    assert_eq!(apply("cumulative", &short).unwrap(), print_module(&module(&short)));
}

#[test]
fn a_cumulative_reduction_in_blocks_gives_the_same() {
    // On a GPU no emitter claims scans. On the cpu an emitter claims scans that are not too long.
    let (gpu, cpu) = (DeviceDescription::sm(90), DeviceDescription::cpu(2));
    for (device, dims, window) in [
        (&gpu, vec![1000], "size=1000 pad=999_0"),
        (&gpu, vec![5000], "size=5000 pad=0_4999"),
        (&gpu, vec![3, 40, 2], "size=1x40x1 pad=0_0x39_0x0_0"),
        (&gpu, vec![70, 3], "size=70x1 pad=0_69x0_0"),
        (&cpu, vec![17000], "size=17000 pad=16999_0"),
        (&cpu, vec![17000], "size=17000 pad=0_16999"),
    ] {
        for (op, initial) in [("add", "0"), ("add", "5"), ("maximum", "-2147483648"), ("multiply", "1"), ("xor", "9")] {
            let text = cumulative("s32", &dims, window, op, initial);
            let rewritten = apply_for(device, "cumulative", &text).unwrap();
            assert_ne!(rewritten, print_module(&module(&text)), "{window}");
            let count: i64 = dims.iter().product();
            let data: Vec<u8> = (0..count).flat_map(|i| ((i * 7919 % 23 - 11) as i32).to_le_bytes()).collect();
            let input =
                Literal::Array(ArrayLiteral { element_type: ElementType::S32, dims: dims.clone(), data: data.into() });
            let run = |text: &str| fusebox_interpreter::evaluate(&module(text), std::slice::from_ref(&input)).unwrap();
            assert_eq!(run(&rewritten), run(&text), "{op} {initial} {window}");
        }
    }
}

#[test]
fn a_reduction_before_its_transpose_gives_the_same() {
    let text = "HloModule m
add { p = s32[] parameter(0)
  q = s32[] parameter(1)
  ROOT s = s32[] add(p, q) }
ENTRY main { x = s32[2,3,4,5] parameter(0)
  zero = s32[] constant(0)
  t = s32[5,3,2,4] transpose(x), dimensions={3,1,0,2}
  ROOT r = s32[5,2,4] reduce(t, zero), dimensions={1}, to_apply=add }";
    let (before, mut after) = (module(text), module(text));
    let pass = PASSES.iter().find(|pass| pass.name == "movements").unwrap();
    pass.apply(
        &mut after,
        &mut Claims::new(&DeviceDescription::cpu(2), &Emitters::bundled(), &fusebox_plugins::KnownPlans::default()),
        true,
    )
    .unwrap();
    verify(&after).unwrap_or_else(|faults| panic!("{}\n{}", faults[0], print_module(&after)));
    let data: Vec<u8> = (0..120i32).flat_map(|n| (n * n).to_le_bytes()).collect();
    let input = ArrayLiteral { element_type: ElementType::S32, dims: vec![2, 3, 4, 5], data: data.into() };
    let value = |module: &Module| fusebox_interpreter::evaluate(module, &[Literal::Array(input.clone())]).unwrap();
    assert_eq!(value(&before), value(&after));
}

/// The common operand is the left operand of some products, and the right operand of others. The
/// products have batches, several free dimensions, and parts of different lengths.
#[test]
fn joined_products_give_the_same() {
    let dims = |left: i64, right: i64| {
        format!(
            "lhs_batch_dims={{0}}, lhs_contracting_dims={{{left}}}, rhs_batch_dims={{0}}, rhs_contracting_dims={{{right}}}"
        )
    };
    let (mut lines, mut results) = (String::from("x = f32[2,3,4] parameter(0)\n"), Vec::new());
    for (number, length) in [3, 5, 3, 3].into_iter().enumerate() {
        let (shape, parameter) = (format!("f32[2,4,{length},2]"), number + 1);
        writeln!(lines, "w{number} = {shape} parameter({parameter})").unwrap();
        writeln!(lines, "r{number} = f32[2,3,{length},2] dot(x, w{number}), {}", dims(2, 1)).unwrap();
        writeln!(lines, "l{number} = f32[2,{length},2,3] dot(w{number}, x), {}", dims(1, 2)).unwrap();
        results.extend([format!("r{number}"), format!("l{number}")]);
    }
    let shapes = [3, 5, 3, 3].map(|length| format!("f32[2,3,{length},2], f32[2,{length},2,3]")).join(", ");
    let root = format!("ROOT r = ({shapes}) tuple({})", results.join(", "));
    let before = module(&format!("HloModule m\nENTRY main {{\n{lines}{root}\n}}\n"));
    let entry = before.entry.unwrap();
    let mut after = before.clone();
    let old = before.computation(entry);
    joined(&before, old, &groups(old)).unwrap().put_into(&mut after, entry);
    verify(&after).unwrap_or_else(|faults| panic!("{}\n{}", faults[0], print_module(&after)));
    let products = after.entry_computation().unwrap().instructions.iter().filter(|it| matches!(it.op, Op::Dot(_)));
    assert_eq!(products.count(), 2, "{}", print_module(&after));
    let entry = before.computation(entry);
    let shapes = entry.parameters().into_iter().map(|id| entry.instruction(id).shape.as_array().unwrap());
    let value = |(number, array): (usize, &ArrayShape)| {
        let data: Vec<u8> =
            (0..array.element_count()).flat_map(|n| ((n * n + number as i64) as f32).to_le_bytes()).collect();
        Literal::Array(ArrayLiteral { element_type: array.element_type, dims: array.dims.clone(), data: data.into() })
    };
    let values: Vec<Literal> = shapes.enumerate().map(value).collect();
    let [before, after] = [before, after].map(|module| fusebox_interpreter::evaluate(&module, &values).unwrap());
    assert_eq!(before, after);
}

/// Evaluates the test files of `simplify` on zeros of both signs, infinities and extremes. The
/// results must be equal to the last bit. The test file of quotients by reciprocals is excluded,
/// because the rewritten quotients round less often.
#[test]
fn what_is_simplified_gives_the_same_bits() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests/passes");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let exact = files.filter(|file| !file.ends_with("quotients_by_reciprocals.hlo"));
    let texts = exact.map(|file| std::fs::read_to_string(file).unwrap());
    let texts: Vec<String> = texts.filter(|text| text.contains("// pass: simplify\n")).collect();
    assert!(texts.len() >= 4);
    for text in texts {
        let before = module(text.split("// -----").next().unwrap());
        let after = module(&apply("simplify", &print_module(&before)).unwrap());
        let entry = before.entry_computation().unwrap();
        let parameters = entry.parameters();
        let shapes = parameters.iter().map(|&id| entry.instruction(id).shape.as_array().unwrap());
        let values: Vec<Literal> = shapes.map(|array| extremes(array.element_type, &array.dims)).collect();
        let [before, after] = [before, after].map(|module| fusebox_interpreter::evaluate(&module, &values).unwrap());
        assert_eq!(before, after, "{text}");
    }
}

fn extremes(element_type: ElementType, dims: &[i64]) -> Literal {
    let size = element_type.byte_size();
    let top = 1u64 << (8 * size - 1);
    // Integers get their extremes. Floats get both zeros, an infinity, and other numbers.
    let patterns = [0, top, if size == 4 { 0xff80_0000 } else { top - 1 }, 0x0101_0101_3f8c_cccd];
    let patterns = if element_type == ElementType::Pred { [0, 1, 1, 0] } else { patterns };
    let count = dims.iter().product::<i64>() as usize;
    let data: Vec<u8> = (0..count).flat_map(|i| patterns[(i + i / 7) % 4].to_le_bytes()[..size].to_vec()).collect();
    Literal::Array(ArrayLiteral { element_type, dims: dims.to_vec(), data: data.into() })
}

/// No check before the passes compares the shapes in these modules, so the passes must report the
/// error at the instruction with the wrong shape.
#[test]
fn shapes_that_do_not_fit_are_refused_at_their_instruction() {
    let start = "s = ((f32[4]), f32[4], s32[]) async-start(x), calls=shorter\n ROOT r = f32[4] async-done(s)";
    let bits = "y = c64[2] reshape(z)\n ROOT r = f64[2] bitcast(y)";
    for (passes, body, words) in [
        (&["one-device", "supported"][..], start, "async-start is not supported"),
        (&["row-major"][..], bits, "between real and complex"),
    ] {
        let text = format!(
            "HloModule m\nshorter {{ ROOT p = f32[3] parameter(0) }}\nENTRY e {{ x = f32[4] parameter(0)\n \
             z = c64[2] parameter(1)\n {body} }}"
        );
        let mut module = parse_module(&text, "test.hlo").unwrap();
        let emitters = Emitters::bundled();
        let device = DeviceDescription::cpu(2);
        let known = fusebox_plugins::KnownPlans::default();
        let mut claims = Claims::new(&device, &emitters, &known);
        let passes = passes.iter().map(|name| PASSES.iter().find(|pass| pass.name == *name).unwrap());
        let fault = passes.map(|pass| pass.apply(&mut module, &mut claims, false)).find_map(Result::err).unwrap();
        assert!(!fault.is_internal() && fault.to_string().contains(words), "{fault}");
    }
}
