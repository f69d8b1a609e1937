//! Checks `atomic_rmw`: its results on the cpu with several concurrent blocks, and its instructions
//! in PTX.

use crate::jit::{self, Buffer, KernelSource, compile, compile_and_run, contains_in_order, source};
use fusebox_lowering::{Code, NoStages, Target};

/// Returns a kernel of 64 blocks with `threads` threads each. The kernel combines element `i` of
/// the input with element `i mod 8` of the output. `body` computes `%r` from `%old` and `%x`.
fn histogram(ty: &str, bytes: u64, body: &str, threads: u32) -> KernelSource {
    let per_block = 16;
    let text = format!(
        r#"
"func.func"() <{{function_type = (tensor<1024x{ty}>, tensor<8x{ty}>) -> tensor<8x{ty}>, sym_name = "update"}}> ({{
^bb0(%in: tensor<1024x{ty}>, %out: tensor<8x{ty}>):
  %thread = "gpu.thread_id"() <{{dimension = #gpu<dim x>}}> : () -> index
  %block = "gpu.block_id"() <{{dimension = #gpu<dim x>}}> : () -> index
  %result = "xla_gpu.loop"(%thread, %block, %out) ({{
  ^bb1(%s: index, %i: index, %at: index, %state: tensor<8x{ty}>):
    %x = "tensor.extract"(%in, %i) : (tensor<1024x{ty}>, index) -> {ty}
    %next = "xla_gpu.atomic_rmw"(%state, %at) ({{
    ^bb2(%old: {ty}):
      {body}
      "xla_gpu.yield"(%r) : ({ty}) -> ()
    }}) : (tensor<8x{ty}>, index) -> tensor<8x{ty}>
    "xla_gpu.yield"(%next) : (tensor<8x{ty}>) -> ()
  }}) {{map = "(th, bl)[s0] -> (bl * {per_block} + th * {own} + s0, (bl * {per_block} + th * {own} + s0) mod 8), domain: th in [0, {last}], bl in [0, 63], s0 in [0, {last_own}]"}} : (index, index, tensor<8x{ty}>) -> tensor<8x{ty}>
  "func.return"(%result) : (tensor<8x{ty}>) -> ()
}}) {{fusebox.entry}} : () -> ()
"#,
        own = per_block / threads,
        last = threads - 1,
        last_own = per_block / threads - 1,
    );
    source("update", &text, &[1024 * bytes, 8 * bytes], 1, 64, threads)
}

fn narrow_sum(ty: &str) -> String {
    format!(
        "%wide = \"arith.extf\"(%old) : ({ty}) -> f32\n%other = \"arith.extf\"(%x) : ({ty}) -> f32\n\
         %sum = \"arith.addf\"(%wide, %other) : (f32, f32) -> f32\n%r = \"arith.truncf\"(%sum) : (f32) -> {ty}"
    )
}

fn simple(op: &str, ty: &str) -> String {
    format!("%r = \"arith.{op}\"(%old, %x) : ({ty}, {ty}) -> {ty}")
}

const COMPLEX_SUM: &str = "%ar = \"complex.re\"(%old) : (complex<f32>) -> f32\n\
    %br = \"complex.re\"(%x) : (complex<f32>) -> f32\n%re = \"arith.addf\"(%ar, %br) : (f32, f32) -> f32\n\
    %ai = \"complex.im\"(%old) : (complex<f32>) -> f32\n%bi = \"complex.im\"(%x) : (complex<f32>) -> f32\n\
    %im = \"arith.addf\"(%bi, %ai) : (f32, f32) -> f32\n\
    %r = \"complex.create\"(%re, %im) : (f32, f32) -> complex<f32>";

/// Returns the eight results of combining 1024 values.
fn expected<T: Copy>(values: &[T], start: &[T; 8], combine: impl Fn(T, T) -> T) -> Vec<T> {
    let mut all = *start;
    values.iter().enumerate().for_each(|(i, &value)| all[i % 8] = combine(all[i % 8], value));
    all.to_vec()
}

#[track_caller]
fn check<T: Copy + PartialEq + std::fmt::Debug>(
    ty: &str,
    body: &str,
    values: Vec<T>,
    start: [T; 8],
    combine: impl Fn(T, T) -> T,
) {
    let wanted = expected(&values, &start, combine);
    let mut kernel = histogram(ty, size_of::<T>() as u64, body, 1);
    let mut buffers = [Buffer::of(&values), Buffer::of(&start)];
    compile_and_run(&kernel, &mut buffers);
    assert_eq!(buffers[1].values::<T>(), wanted, "{ty}, many blocks: {body}");
    // A single block needs no atomic instruction.
    kernel.functions = kernel.functions.replace("bl in [0, 63], s0 in [0, 15]", "bl in [0, 0], s0 in [0, 1023]");
    kernel.launch.blocks = 1;
    let mut buffers = [Buffer::of(&values), Buffer::of(&start)];
    compile_and_run(&kernel, &mut buffers);
    assert_eq!(buffers[1].values::<T>(), wanted, "{ty}, one block: {body}");
}

fn numbers<T>(make: impl Fn(u64) -> T) -> Vec<T> {
    (0..1024u64).map(|i| make((i * 7919 + 13) % 1021)).collect()
}

#[test]
fn updates_of_every_type_on_the_cpu() {
    check("i32", &simple("addi", "i32"), numbers(|v| v as i32 - 500), [1; 8], |a, b| a.wrapping_add(b));
    check("i64", &simple("minsi", "i64"), numbers(|v| v as i64 - 500), [7; 8], i64::min);
    check("i16", &simple("maxui", "i16"), numbers(|v| v as u16 * 60), [9; 8], u16::max);
    check("i8", &simple("addi", "i8"), numbers(|v| v as u8), [250; 8], u8::wrapping_add);
    check("i8", &simple("muli", "i8"), numbers(|v| v as u8 | 1), [3; 8], u8::wrapping_mul);
    check("i32", &simple("xori", "i32"), numbers(|v| v as u32 * 77), [0; 8], |a, b| a ^ b);
    check("i1", &simple("andi", "i1"), numbers(|v| u8::from(v % 1000 != 0)), [1; 8], |a, b| a & b);
    check("i1", &simple("xori", "i1"), numbers(|v| u8::from(v % 3 == 0)), [1; 8], |a, b| a ^ b);
    check("i4", &simple("addi", "i4"), numbers(|v| v as u8 & 15), [3; 8], |a, b| (a + b) & 15);
    check("f32", &simple("addf", "f32"), numbers(|v| v as f32 * 0.5), [-1.0; 8], |a, b| a + b);
    check("f64", &simple("maximumf", "f64"), numbers(|v| v as f64 * 0.5), [-1.0; 8], f64::max);
    check("f64", &simple("mulf", "f64"), numbers(|v| 1.0 + (v % 2) as f64), [0.5; 8], |a, b| a * b);
    // Sums of small integers, which are exact in bf16 and f16.
    let bf16 = |v: u64| ((v % 2) as f32).to_bits() >> 16;
    check("bf16", &narrow_sum("bf16"), numbers(|v| bf16(v) as u16), [0; 8], |a, b| {
        let wide = |bits: u16| f32::from_bits(u32::from(bits) << 16);
        ((wide(a) + wide(b)).to_bits() >> 16) as u16
    });
    check("complex<f32>", COMPLEX_SUM, numbers(|v| [v as f32, 2.0 * v as f32]), [[1.0, 2.0]; 8], |a, b| {
        [a[0] + b[0], a[1] + b[1]]
    });
    let wide = COMPLEX_SUM.replace("f32", "f64");
    check("complex<f64>", &wide, numbers(|v| [v as f64, 0.5]), [[1.0, 2.0]; 8], |a, b| [a[0] + b[0], a[1] + b[1]]);
}

#[test]
fn the_last_of_one_blocks_values_stays() {
    let body = "%r = \"arith.addf\"(%x, %x) : (f32, f32) -> f32";
    let kernel = histogram("f32", 4, body, 1);
    let mut buffers = [Buffer::of(&numbers(|v| v as f32)), Buffer::of(&[0f32; 8])];
    compile_and_run(&kernel, &mut buffers);
    let last: Vec<f32> = numbers(|v| 2.0 * v as f32)[1016..].to_vec();
    assert_eq!(buffers[1].values::<f32>(), last);
}

fn ptx(ty: &str, bytes: u64, body: &str, capability: u32) -> String {
    let target = Target::nvptx(capability);
    match compile(&[histogram(ty, bytes, body, 16)], &target, &mut NoStages) {
        Ok(Code::Ptx(text)) => {
            jit::assemble(&text, capability);
            text
        }
        Ok(other) => panic!("{other:?}"),
        Err(error) => panic!("{ty}: {error}"),
    }
}

#[test]
fn gpus_have_instructions_for_common_updates() {
    for (ty, bytes, body, instruction) in [
        ("f32", 4, simple("addf", "f32"), "global.add.f32"),
        ("f64", 8, simple("addf", "f64"), "global.add.f64"),
        ("f16", 2, narrow_sum("f16"), "global.add.noftz.f16"),
        ("i32", 4, simple("addi", "i32"), "global.add.u32"),
        ("i32", 4, simple("minsi", "i32"), "global.min.s32"),
        ("i32", 4, simple("maxui", "i32"), "global.max.u32"),
        ("i64", 8, simple("addi", "i64"), "global.add.u64"),
        ("i64", 8, simple("minui", "i64"), "global.min.u64"),
        ("i64", 8, simple("xori", "i64"), "global.xor.b64"),
        ("i32", 4, simple("ori", "i32"), "global.or.b32"),
        ("complex<f32>", 8, COMPLEX_SUM.into(), "global.add.f32"),
        ("complex<f64>", 16, COMPLEX_SUM.replace("f32", "f64"), "global.add.f64"),
        ("f32", 4, simple("mulf", "f32"), "global.cas.b32"),
        ("f64", 8, simple("maximumf", "f64"), "global.cas.b64"),
        ("i8", 1, simple("addi", "i8"), "global.cas.b32"),
        ("i1", 1, simple("ori", "i1"), "global.cas.b32"),
        ("f8E5M2", 1, simple("maximumf", "f8E5M2"), "global.cas.b32"),
        ("bf16", 2, simple("maximumf", "bf16"), "global.cas.b32"),
        ("f32", 4, "%r = \"arith.negf\"(%x) : (f32) -> f32".into(), "st.relaxed.gpu.global.b32"),
        ("i8", 1, "%r = \"arith.addi\"(%x, %x) : (i8, i8) -> i8".into(), "st.relaxed.gpu.global.b8"),
    ] {
        for capability in [80, 90] {
            let text = ptx(ty, bytes, &body, capability);
            assert!(text.contains(instruction), "{ty}, {instruction}:\n{text}");
        }
        let target = Target::named("gfx942").unwrap();
        compile(&[histogram(ty, bytes, &body, 16)], &target, &mut NoStages).unwrap();
    }
    contains_in_order(&ptx("bf16", 2, &narrow_sum("bf16"), 90), &["global.add.noftz.bf16"]);
    contains_in_order(&ptx("bf16", 2, &narrow_sum("bf16"), 80), &["global.cas.b32"]);
}

#[test]
fn sixteen_bytes_are_replaced_but_not_combined_on_gpus() {
    let wide = "complex<f64>";
    let negated = COMPLEX_SUM.replace("f32", "f64").replace("addf", "mulf");
    let target = Target::nvptx(80);
    let error = compile(&[histogram(wide, 16, &negated, 16)], &target, &mut NoStages).unwrap_err();
    contains_in_order(&error.to_string(), &["xla_gpu.atomic_rmw", "16 bytes"]);
    let replaced = COMPLEX_SUM.replace("f32", "f64").replace("%old", "%x");
    contains_in_order(&ptx(wide, 16, &replaced, 80), &["st.global.v2.b64"]);
}

/// Checks an update that changes nothing. LLVM detects this, and must still be able to compile the
/// rest of the loop.
#[test]
fn an_update_that_changes_nothing_compiles_everywhere() {
    for body in
        ["%r = \"arith.maximumf\"(%old, %old) : (f32, f32) -> f32", "%r = \"arith.bitcast\"(%old) : (f32) -> f32"]
    {
        for capability in [80, 90] {
            ptx("f32", 4, body, capability);
        }
        for target in [Target::cpu(), Target::simt(), Target::named("gfx942").unwrap()] {
            compile(&[histogram("f32", 4, body, 16)], &target, &mut NoStages).unwrap();
        }
    }
}
