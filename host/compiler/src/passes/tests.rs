//! Each pass before and after.

use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{ArrayLiteral, ElementType, Literal, Module, Opcode, parse_module, print_module, verify};

use super::PASSES;
use crate::CompileError;

fn module(text: &str) -> Module {
    let module = parse_module(text, "test.hlo").unwrap_or_else(|faults| panic!("{}", faults[0]));
    verify(&module).unwrap_or_else(|faults| panic!("{}", faults[0]));
    module
}

fn apply(pass: &str, text: &str) -> Result<String, CompileError> {
    let mut module = module(text);
    let (_, run) = PASSES.iter().find(|(name, _)| *name == pass).unwrap();
    run(&mut module, &DeviceDescription::cpu(2))?;
    verify(&module).unwrap_or_else(|faults| panic!("{}\n{}", faults[0], print_module(&module)));
    Ok(print_module(&module))
}

/// Lines of the entry computation, without indentation.
fn entry(pass: &str, text: &str) -> Vec<String> {
    let printed = apply(pass, text).unwrap();
    let body = printed.split("ENTRY").nth(1).unwrap();
    body.lines().skip(1).map(|l| l.trim().to_string()).take_while(|l| l != "}").collect()
}

#[test]
fn calls_are_inlined_at_every_site() {
    let text = "HloModule m
double { p = f32[2] parameter(0)
  ROOT a = f32[2] add(p, p) }
quadruple { q = f32[2] parameter(0)
  b = f32[2] call(q), to_apply=double
  ROOT c = f32[2] call(b), to_apply=double }
ENTRY main { x = f32[2] parameter(0)
  ROOT r = f32[2] call(x), to_apply=quadruple }";
    let lines = entry("inline-calls", text);
    assert_eq!(lines.len(), 3, "{lines:#?}");
    assert!(lines[1].contains("add(x, x)"), "{lines:#?}");
    assert!(lines[2].starts_with("ROOT") && lines[2].contains("add("), "{lines:#?}");
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
fn bitcasts_become_transposes_and_reshapes() {
    let text = "HloModule m
ENTRY main { x = f32[2,3]{1,0} parameter(0)
  t = f32[3,2]{0,1} bitcast(x)
  ROOT r = f32[6]{0} bitcast(t) }";
    let lines = entry("row-major", text);
    assert!(lines[1].contains("f32[3,2] transpose(x), dimensions={1,0}"), "{lines:#?}");
    assert!(lines[2].contains("f32[2,3] transpose("), "back to the order in memory: {lines:#?}");
    assert!(lines[3].contains("f32[6] reshape("), "{lines:#?}");
    assert!(!lines.iter().any(|l| l.contains("{1,0} p") || l.contains("bitcast")), "{lines:#?}");
}

#[test]
fn operations_without_effect_disappear() {
    let text = "HloModule m
ENTRY main { x = f32[2,3] parameter(0)
  a = f32[2,3] copy(x)
  b = f32[2,3] reshape(a)
  c = f32[2,3] transpose(b), dimensions={0,1}
  d = f32[2,3] broadcast(c), dimensions={0,1}
  e = f32[2,3] slice(d), slice={[0:2],[0:3]}
  f = f32[2,3] convert(e)
  n = s32[] get-dimension-size(f), dimensions={1}
  ROOT r = (f32[2,3], s32[]) tuple(f, n) }";
    let lines = entry("canonical-ops", text);
    assert_eq!(lines.len(), 3, "{lines:#?}");
    assert!(lines[1].contains("constant(3)"), "{lines:#?}");
    assert!(lines[2].contains("tuple(x, n)"), "{lines:#?}");
}

#[test]
fn tuples_taken_apart_disappear() {
    let text = "HloModule m
ENTRY main { x = f32[] parameter(0)
  y = (f32[], s32[]) parameter(1)
  t = (f32[], (f32[], s32[])) tuple(x, y)
  g = (f32[], s32[]) get-tuple-element(t), index=1
  a = f32[] get-tuple-element(g), index=0
  b = s32[] get-tuple-element(g), index=1
  ROOT r = (f32[], s32[]) tuple(a, b) }";
    let lines = apply("tuples", text).unwrap();
    assert!(lines.contains("ROOT y = "), "{lines}");
}

#[test]
fn empty_arrays_become_constants_and_reductions_of_nothing_their_initial_value() {
    let text = "HloModule m
add { p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT a = f32[] add(p, q) }
ENTRY main { x = f32[0,3] parameter(0)
  zero = f32[] constant(5)
  n = f32[0,3] negate(x)
  s = f32[3] reduce(n, zero), dimensions={0}, to_apply=add
  ROOT r = (f32[0,3], f32[3]) tuple(n, s) }";
    let lines = entry("empty-arrays", text);
    assert!(lines.iter().any(|l| l.contains("n = f32[0,3] constant(")), "{lines:#?}");
    assert!(lines.iter().any(|l| l.contains("s = f32[3] broadcast(zero), dimensions={}")), "{lines:#?}");
}

#[test]
fn small_operations_on_constants_are_evaluated() {
    let text = "HloModule m
ENTRY main { a = s32[] constant(3)
  b = s32[] constant(4)
  c = s32[] multiply(a, b)
  d = pred[] compare(c, a), direction=GT
  ROOT r = (s32[], pred[]) tuple(c, d) }";
    let lines = entry("constant-folding", text);
    assert!(lines.iter().any(|l| l.contains("c = s32[] constant(12)")), "{lines:#?}");
    assert!(lines.iter().any(|l| l.contains("d = pred[] constant(true)")), "{lines:#?}");
}

#[test]
fn equal_instructions_are_merged_and_random_ones_are_not() {
    let text = "HloModule m
ENTRY main { x = f32[2] parameter(0)
  a = f32[2] exponential(x)
  b = f32[2] exponential(x)
  zero = f32[] constant(0)
  one = f32[] constant(1)
  r0 = f32[2] rng(zero, one), distribution=rng_uniform
  r1 = f32[2] rng(zero, one), distribution=rng_uniform
  ROOT r = (f32[2], f32[2], f32[2], f32[2]) tuple(a, b, r0, r1) }";
    let printed = apply("common-subexpressions", text).unwrap();
    assert!(printed.contains("tuple(a, a, r0, r1)"), "{printed}");
}

#[test]
fn dead_code_goes_and_unused_computations_with_it() {
    let text = "HloModule m
unused { p = f32[] parameter(0)
  ROOT a = f32[] add(p, p) }
ENTRY main { x = f32[2] parameter(0)
  y = f32[2] parameter(1)
  d = f32[2] exponential(x)
  ROOT r = f32[2] negate(x) }";
    let printed = apply("dead-code", text).unwrap();
    assert!(!printed.contains("exponential") && !printed.contains("unused"), "{printed}");
    assert!(printed.contains("y = f32[2]"), "parameters stay: {printed}");
}

#[test]
fn what_is_not_supported_is_named_with_its_place() {
    let text = "HloModule m
ENTRY main {
  x = f32[2] parameter(0)
  ROOT r = f32[4] all-gather(x), dimensions={0}, replica_groups={{0,1}}
}";
    let error = apply("supported", text).unwrap_err().to_string();
    assert!(error.starts_with("test.hlo:4:") && error.contains("all-gather is not supported"), "{error}");
}

#[test]
fn four_bit_arithmetic_is_done_in_eight_bits_and_seen_uncut_by_the_conversion() {
    let text = "HloModule m
ENTRY main { x = s4[3] parameter(0)
  s = s4[3] add(x, x)
  w = s8[3] convert(s)
  c = s32[3] convert(s)
  ROOT t = (s8[3], s32[3]) tuple(w, c) }";
    let lines = entry("four-bit-integers", text).join("\n");
    let sum = lines.lines().find(|l| l.contains(" add(")).unwrap();
    assert!(sum.contains("s8[3]"), "{lines}");
    let name = sum.split(" = ").next().unwrap().trim();
    assert!(lines.contains(&format!("tuple({name}, ")), "the s8 result is the uncut sum\n{lines}");
    assert!(lines.lines().any(|l| l.contains("s4[3]") && l.contains(&format!("convert({name})"))), "{lines}");
}

/// A reduction of `x` over `dimensions` with the combiner `op`.
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
fn a_reduction_of_much_into_one_is_split_by_a_divisor() {
    let lines = entry("split-reductions", &reduction("f32", &[16777216], &[0], "add")).join("\n");
    assert!(lines.contains("f32[] constant(-0)") || lines.contains("f32[] constant(-0.0)"), "{lines}");
    assert!(lines.contains("f32[16,1048576] reshape(x)"), "{lines}");
    assert!(lines.contains("f32[16] reduce(") && lines.contains("dimensions={1}"), "{lines}");
    assert!(lines.lines().last().unwrap().contains("f32[] reduce(") && lines.contains("init)"), "{lines}");
    assert!(!lines.contains("pad("), "{lines}");
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
    ] {
        let lines = entry("split-reductions", &reduction("f32", dims, dimensions, "add"));
        assert_eq!(lines.len(), 3, "{lines:#?}");
    }
}

#[test]
fn without_a_divisor_only_a_known_combiner_pads() {
    let padded = entry("split-reductions", &reduction("s32", &[131071], &[0], "maximum")).join("\n");
    assert!(padded.contains("s32[] constant(-2147483648)") && padded.contains("padding=0_"), "{padded}");
    let alone = entry("split-reductions", &reduction("s32", &[131071], &[0], "subtract"));
    assert_eq!(alone.len(), 3, "{alone:#?}");
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
    ] {
        let text = reduction("s32", dims, dimensions, "add");
        let (before, mut after) = (module(&text), module(&text));
        let run = PASSES.iter().find(|(name, _)| *name == "split-reductions").unwrap().1;
        run(&mut after, &DeviceDescription::cpu(2)).unwrap();
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

#[test]
fn a_gpu_splits_long_rows_and_a_variadic_reduction_keeps_its_initial_values() {
    let text = "HloModule m
least { a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  l = pred[] compare(a, b), direction=LE
  v = f32[] select(l, a, b)
  k = s32[] select(l, i, j)
  ROOT t = (f32[], s32[]) tuple(v, k) }
ENTRY main { x = f32[16,1048576] parameter(0)
  n = s32[16,1048576] iota(), iota_dimension=1
  inf = f32[] constant(inf)
  zero = s32[] constant(0)
  ROOT r = (f32[16], s32[16]) reduce(x, n, inf, zero), dimensions={1}, to_apply=least }";
    let mut module = module(text);
    let run = PASSES.iter().find(|(name, _)| *name == "split-reductions").unwrap().1;
    run(&mut module, &DeviceDescription::sm(90)).unwrap();
    verify(&module).unwrap_or_else(|faults| panic!("{}", faults[0]));
    let printed = print_module(&module);
    assert!(printed.contains("(f32[16,64], s32[16,64]) reduce("), "{printed}");
    assert_eq!(printed.matches(", inf, zero), dimensions=").count(), 2, "{printed}");
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
fn a_cumulative_reduction_reads_few_elements_per_result() {
    let printed = apply("cumulative", &cumulative("f32", &[1000], "size=1000 pad=999_0", "add", "0")).unwrap();
    assert!(printed.contains("window={size=1x16 pad=0_0x15_0}"), "{printed}");
    assert!(!printed.contains("size=1000"), "{printed}");
    assert_eq!(printed.matches("map(").count(), 2, "two levels, and zero is the identity: {printed}");
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
    for (dims, window) in [
        (vec![1000], "size=1000 pad=999_0"),
        (vec![5000], "size=5000 pad=0_4999"),
        (vec![3, 40, 2], "size=1x40x1 pad=0_0x39_0x0_0"),
        (vec![70, 3], "size=70x1 pad=0_69x0_0"),
    ] {
        for (op, initial) in [("add", "0"), ("add", "5"), ("maximum", "-2147483648"), ("multiply", "1"), ("xor", "9")] {
            let text = cumulative("s32", &dims, window, op, initial);
            let rewritten = apply("cumulative", &text).unwrap();
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
fn movements_in_a_row_become_one() {
    let cases = [
        ("f32[6]", "a = f32[2,3] reshape(x)\n  ROOT r = f32[3,2] reshape(a)", "r = f32[3,2] reshape(x)"),
        ("f32[6]", "a = f32[1,6] reshape(x)\n  b = f32[6] reshape(a)\n  ROOT r = f32[6] negate(b)", "negate(x)"),
        (
            "f32[]",
            "a = f32[6] broadcast(x), dimensions={}\n  ROOT r = f32[2,3] reshape(a)",
            "r = f32[2,3] broadcast(x)",
        ),
        (
            "f32[3]",
            "a = f32[3,4] broadcast(x), dimensions={0}\n  ROOT r = f32[3,2,4] broadcast(a), dimensions={0,2}",
            "r = f32[3,2,4] broadcast(x), dimensions={0}",
        ),
        (
            "f32[3]",
            "a = f32[1,3,1] reshape(x)\n  ROOT r = f32[1,2,3,1] broadcast(a), dimensions={0,2,3}",
            "r = f32[1,2,3,1] broadcast(x), dimensions={2}",
        ),
        (
            "f32[2,3,4]",
            "a = f32[3,4,2] transpose(x), dimensions={1,2,0}\n  ROOT r = f32[4,2,3] transpose(a), dimensions={1,2,0}",
            "r = f32[4,2,3] transpose(x), dimensions={2,0,1}",
        ),
        ("f32[2,1,3]", "ROOT r = f32[1,2,3] transpose(x), dimensions={1,0,2}", "r = f32[1,2,3] reshape(x)"),
        (
            "f32[2,3]",
            "a = f32[3,2] transpose(x), dimensions={1,0}\n  ROOT r = f32[3] reduce(a, zero), dimensions={1}, to_apply=add",
            "r = f32[3] reduce(x, zero), dimensions={0}",
        ),
    ];
    for (shape, body, expected) in cases {
        let text = format!(
            "HloModule m
add {{ p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT s = f32[] add(p, q) }}
ENTRY main {{ x = {shape} parameter(0)
  zero = f32[] constant(0)
  {body} }}"
        );
        let lines = entry("movements", &text);
        assert!(lines.iter().any(|line| line.starts_with("ROOT") && line.contains(expected)), "{lines:#?}");
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
    let run = PASSES.iter().find(|(name, _)| *name == "movements").unwrap().1;
    run(&mut after, &DeviceDescription::cpu(2)).unwrap();
    verify(&after).unwrap_or_else(|faults| panic!("{}\n{}", faults[0], print_module(&after)));
    assert!(print_module(&after).contains("reduce(x, zero), dimensions={1}"), "{}", print_module(&after));
    let data: Vec<u8> = (0..120i32).flat_map(|n| (n * n).to_le_bytes()).collect();
    let input = ArrayLiteral { element_type: ElementType::S32, dims: vec![2, 3, 4, 5], data: data.into() };
    let value = |module: &Module| fusebox_interpreter::evaluate(module, &[Literal::Array(input.clone())]).unwrap();
    assert_eq!(value(&before), value(&after));
}

#[test]
fn sums_of_narrow_floats_are_rounded_once() {
    let text = "HloModule m
add { a = bf16[] parameter(0)
  b = bf16[] parameter(1)
  ROOT s = bf16[] add(a, b) }
max { a = bf16[] parameter(0)
  b = bf16[] parameter(1)
  ROOT s = bf16[] maximum(a, b) }
ENTRY main { x = bf16[8,16] parameter(0)
  z = bf16[] constant(0)
  r = bf16[8] reduce(x, z), dimensions={1}, to_apply=add
  m = bf16[8] reduce(x, z), dimensions={1}, to_apply=max
  ROOT t = (bf16[8], bf16[8]) tuple(r, m) }";
    let lines = entry("wide-sums", text);
    let reduces: Vec<&String> = lines.iter().filter(|line| line.contains("reduce(")).collect();
    assert!(reduces[0].contains("f32[8]") && reduces[0].contains("to_apply=wide_sum"), "{lines:#?}");
    assert!(reduces[1].contains("bf16[8]") && reduces[1].contains("to_apply=max"), "{lines:#?}");
    assert_eq!(lines.iter().filter(|line| line.contains("convert(")).count(), 3, "{lines:#?}");
}
