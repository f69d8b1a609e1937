//! Runs operations of kernel IR on this machine, and compares the results with the definitions of
//! the operations.

use crate::jit::elementwise::{apply, apply2};
use crate::jit::{self, Buffer, compile_and_run, source};

#[test]
fn integers_of_every_width() {
    let values: Vec<u8> = (0..=255).collect();
    let shifted: Vec<u8> = apply(
        "i8",
        "i8",
        "%c = \"arith.constant\"() <{value = 1 : i8}> : () -> i8\n%r = \"arith.shrsi\"(%x0, %c) : (i8, i8) -> i8",
        &values,
    );
    assert!(values.iter().zip(&shifted).all(|(&x, &y)| y as i8 == x as i8 >> 1));
    // A byte holds a number of four bits. The upper four bits of the byte do not matter.
    let negated: Vec<u8> = apply(
        "i4",
        "i4",
        "%c = \"arith.constant\"() <{value = 0 : i4}> : () -> i4\n%r = \"arith.subi\"(%c, %x0) : (i4, i4) -> i4",
        &values,
    );
    assert!(values.iter().zip(&negated).all(|(&x, &y)| y == x.wrapping_neg() & 15));
    let widened: Vec<i32> = apply("i4", "i32", "%r = \"arith.extsi\"(%x0) : (i4) -> i32", &values);
    assert!(values.iter().zip(&widened).all(|(&x, &y)| y == i32::from((x << 4) as i8 >> 4)));
    // Every nonzero byte is read as true, and true is written as one.
    let not: Vec<u8> = apply(
        "i1",
        "i1",
        "%c = \"arith.constant\"() <{value = true}> : () -> i1\n%r = \"arith.xori\"(%x0, %c) : (i1, i1) -> i1",
        &values,
    );
    assert!(values.iter().zip(&not).all(|(&x, &y)| y == u8::from(x == 0)));
}

#[test]
fn high_halves_of_products() {
    let left = [u64::MAX, 3, 1 << 63, 0x1234_5678_9abc_def0];
    let right = [u64::MAX, 5, 2, 0xfedc_ba98_7654_3210];
    let high: Vec<u64> =
        apply2("i64", "i64", "%l, %r = \"arith.mului_extended\"(%x0, %x1) : (i64, i64) -> (i64, i64)", &left, &right);
    assert!((0..4).all(|i| high[i] == ((u128::from(left[i]) * u128::from(right[i])) >> 64) as u64));
    let high: Vec<i64> =
        apply2("i64", "i64", "%l, %r = \"arith.mulsi_extended\"(%x0, %x1) : (i64, i64) -> (i64, i64)", &left, &right);
    assert!((0..4).all(|i| high[i] == ((i128::from(left[i] as i64) * i128::from(right[i] as i64)) >> 64) as i64));
}

#[test]
fn quotients_round_as_asked() {
    let left: Vec<i32> = (-40..40).collect();
    let right: Vec<i32> = (0..80).map(|i| if i % 2 == 0 { 7 } else { -3 }).collect();
    for (op, meaning) in [
        ("floordivsi", (|a, b| (a as f64 / b as f64).floor() as i32) as fn(i32, i32) -> i32),
        ("ceildivsi", |a, b| (a as f64 / b as f64).ceil() as i32),
        ("divsi", |a, b| a / b),
        ("remsi", |a, b| a % b),
    ] {
        let body = format!("%r = \"arith.{op}\"(%x0, %x1) : (i32, i32) -> i32");
        let found: Vec<i32> = apply2("i32", "i32", &body, &left, &right);
        assert!((0..80).all(|i| found[i] == meaning(left[i], right[i])), "{op}");
    }
}

#[test]
fn remainders_of_floats_are_exact() {
    let mut left = vec![5.5f64, -5.5, 1e300, 3.0, f64::INFINITY, 1.0, f64::NAN, 0.0, -0.0, 5e-324, 1e-310, 1e308, 7.0];
    let mut right = vec![2.0f64, 2.0, 3e-7, -3.0, 2.0, 0.0, 1.0, 1.0, 1.0, 2.5e-323, 3e-320, 5e-324, f64::INFINITY];
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        f64::from_bits(state)
    };
    for _ in 0..500 {
        left.push(random());
        right.push(random());
    }
    let body = |ty: &str| format!("%r = \"arith.remf\"(%x0, %x1) : ({ty}, {ty}) -> {ty}");
    let found: Vec<f64> = apply2("f64", "f64", &body("f64"), &left, &right);
    for i in 0..left.len() {
        let wanted = left[i] % right[i];
        assert!(
            found[i].to_bits() == wanted.to_bits() || found[i].is_nan() && wanted.is_nan(),
            "{:e} rem {:e}: {:e}",
            left[i],
            right[i],
            found[i]
        );
    }
    let left: Vec<f32> = left.iter().map(|&x| f32::from_bits((x.to_bits() >> 20) as u32)).collect();
    let right: Vec<f32> = right.iter().map(|&x| f32::from_bits((x.to_bits() >> 17) as u32)).collect();
    let found: Vec<f32> = apply2("f32", "f32", &body("f32"), &left, &right);
    for i in 0..left.len() {
        let wanted = left[i] % right[i];
        assert!(
            found[i].to_bits() == wanted.to_bits() || found[i].is_nan() && wanted.is_nan(),
            "{:e} rem {:e}: {:e}",
            left[i],
            right[i],
            found[i]
        );
    }
}

#[test]
fn remainders_by_powers_of_two_are_exact() {
    let mut values: Vec<f32> =
        vec![8.0, -8.0, 8.5, -0.0, 1e-40, -1e-45, f32::MAX, f32::MIN, f32::INFINITY, f32::NAN, 3.0];
    values.extend((0..500u32).map(|i| f32::from_bits(i.wrapping_mul(2654435769))));
    // A subnormal divisor would count as zero.
    let divisors = [1.0f32, -1.0, 8.0, 65536.0, 2f32.powi(126), 2f32.powi(127), 0.5, f32::MIN_POSITIVE];
    for divisor in divisors {
        let bits = divisor.to_bits();
        let constant = format!("%y = \"arith.constant\"() {{value = 0x{bits:08X} : f32}} : () -> f32");
        let body = format!("{constant}\n%r = \"arith.remf\"(%x0, %y) : (f32, f32) -> f32");
        let found: Vec<f32> = apply("f32", "f32", &body, &values);
        for (&x, found) in values.iter().zip(found) {
            let wanted = x % divisor;
            assert!(
                found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan(),
                "{x:e} rem {divisor:e}: {found:e}"
            );
        }
    }
}

#[test]
fn rounding_and_extremes() {
    let values = [0.5f32, -0.5, 2.5, 1.5, 0.49999997, 8388609.0, -2.5, f32::INFINITY, f32::NAN, -0.0];
    let round: Vec<f32> = apply("f32", "f32", "%r = \"math.round\"(%x0) : (f32) -> f32", &values);
    let even: Vec<f32> = apply("f32", "f32", "%r = \"math.roundeven\"(%x0) : (f32) -> f32", &values);
    for (i, value) in values.iter().enumerate() {
        assert!(round[i].to_bits() == value.round().to_bits() || value.is_nan(), "{value} {}", round[i]);
        assert!(even[i].to_bits() == value.round_ties_even().to_bits() || value.is_nan(), "{value} {}", even[i]);
    }
    let other = [1f32, 1.0, f32::NAN, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let max: Vec<f32> = apply2("f32", "f32", "%r = \"arith.maximumf\"(%x0, %x1) : (f32, f32) -> f32", &values, &other);
    assert!(max[2].is_nan() && max[8].is_nan() && max[9].to_bits() == 0 && max[0] == 1.0);
    let min: Vec<f32> = apply2("f32", "f32", "%r = \"arith.minimumf\"(%x0, %x1) : (f32, f32) -> f32", &values, &other);
    assert!(min[2].is_nan() && min[9].to_bits() == (-0f32).to_bits() && min[1] == -0.5);
}

#[test]
fn math_comes_from_the_library_and_is_vectorized() {
    let values: Vec<f32> = (0..1000).map(|i| i as f32 * 0.17 - 87.0).collect();
    let body = "%r = \"math.exp\"(%x0) : (f32) -> f32";
    let found: Vec<f32> = apply("f32", "f32", body, &values);
    for (value, found) in values.iter().zip(&found) {
        let exact = f64::from(*value).exp();
        assert!((f64::from(*found) - exact).abs() <= 2e-7 * exact, "exp {value}: {found}");
    }
    let kernel = jit::elementwise::kernel("unary", &[("f32", 4)], ("f32", 4), 1000, body);
    let (_, stages) = jit::stages_of(&kernel, &fusebox_lowering::Target::cpu()).unwrap();
    jit::contains_in_order(stages.get(fusebox_lowering::Stage::Llvm), &["define void @unary", "vector.body", "fadd <"]);
}

#[test]
fn complex_numbers_are_pairs() {
    let values = [[1f32, 2.0], [-3.0, 0.5]];
    let body = r#"%re = "complex.re"(%x0) : (complex<f32>) -> f32
    %im = "complex.im"(%x0) : (complex<f32>) -> f32
    %c = "complex.constant"() <{value = [1.0 : f32, 10.0 : f32]}> : () -> complex<f32>
    %ten = "complex.im"(%c) : (complex<f32>) -> f32
    %big = "arith.mulf"(%re, %ten) : (f32, f32) -> f32
    %r = "complex.create"(%im, %big) : (f32, f32) -> complex<f32>"#;
    let found: Vec<[f32; 2]> = apply("complex<f32>", "complex<f32>", body, &values);
    assert_eq!(found, [[2.0, 10.0], [0.5, -30.0]]);
}

/// Returns a kernel of one block. `body` reads `%in`, writes to `%out`, and defines `%done`.
fn whole(input: &str, output: &str, bytes: [u64; 2], body: &str) -> jit::KernelSource {
    let text = format!(
        r#""func.func"() <{{function_type = ({input}, {output}) -> {output}, sym_name = "whole"}}> ({{
        ^bb0(%in: {input}, %out: {output}):
        {body}
        "func.return"(%done) : ({output}) -> ()
        }}) {{fusebox.entry}} : () -> ()
        "func.func"() <{{function_type = (f32, f32) -> (f32, f32), sym_name = "whole.both", sym_visibility = "private"}}> ({{
        ^bb0(%a: f32, %b: f32):
          %s = "arith.addf"(%a, %b) : (f32, f32) -> f32
          %d = "arith.subf"(%a, %b) : (f32, f32) -> f32
          "func.return"(%s, %d) : (f32, f32) -> ()
        }}) : () -> ()"#
    );
    source("whole", &text, &bytes, 1, 1, 1)
}

#[test]
fn control_flow_carries_values_and_tensors() {
    let body = r#"
    %c0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %c1 = "arith.constant"() <{value = 1 : index}> : () -> index
    %c3 = "arith.constant"() <{value = 3 : index}> : () -> index
    %c10 = "arith.constant"() <{value = 10 : index}> : () -> index
    %zero = "arith.constant"() <{value = 0.0 : f32}> : () -> f32
    %t, %sum = "scf.for"(%c0, %c10, %c3, %out, %zero) ({
    ^bb1(%i: index, %state: tensor<16xf32>, %acc: f32):
      %x = "tensor.extract"(%in, %i) : (tensor<16xf32>, index) -> f32
      %even = "arith.remsi"(%i, %c3) : (index, index) -> index
      %is = "arith.cmpi"(%even, %c0) <{predicate = 0 : i64}> : (index, index) -> i1
      %y, %u = "scf.if"(%is) ({
        %n = "tensor.insert"(%x, %state, %i) : (f32, tensor<16xf32>, index) -> tensor<16xf32>
        "scf.yield"(%x, %n) : (f32, tensor<16xf32>) -> ()
      }, {
        "scf.yield"(%zero, %state) : (f32, tensor<16xf32>) -> ()
      }) : (i1) -> (f32, tensor<16xf32>)
      %next = "arith.addf"(%acc, %y) : (f32, f32) -> f32
      "scf.yield"(%u, %next) : (tensor<16xf32>, f32) -> ()
    }) : (index, index, index, tensor<16xf32>, f32) -> (tensor<16xf32>, f32)
    %s, %d = "xla_gpu.pure_call"(%sum, %zero) {callee = @whole.both} : (f32, f32) -> (f32, f32)
    %w:2 = "scf.while"(%d, %c0) ({
    ^bb1(%v: f32, %n: index):
      %goes = "arith.cmpi"(%n, %c3) <{predicate = 2 : i64}> : (index, index) -> i1
      %m = "arith.addi"(%n, %c1) : (index, index) -> index
      "scf.condition"(%goes, %v, %m) : (i1, f32, index) -> ()
    }, {
    ^bb1(%v: f32, %n: index):
      %twice = "arith.addf"(%v, %v) : (f32, f32) -> f32
      "scf.yield"(%twice, %n) : (f32, index) -> ()
    }) : (f32, index) -> (f32, index)
    %last = "arith.addi"(%w#1, %c10) : (index, index) -> index
    %done = "tensor.insert"(%w#0, %t, %last) : (f32, tensor<16xf32>, index) -> tensor<16xf32>"#;
    let kernel = whole("tensor<16xf32>", "tensor<16xf32>", [64, 64], body);
    let input: Vec<f32> = (0..16).map(|i| i as f32 + 1.0).collect();
    let mut buffers = [Buffer::of(&input), Buffer::of(&[0f32; 16])];
    compile_and_run(&kernel, &mut buffers);
    let mut wanted = [0f32; 16];
    for i in [0, 3, 6, 9] {
        wanted[i] = input[i];
    }
    wanted[14] = 8.0 * (1.0 + 4.0 + 7.0 + 10.0);
    assert_eq!(buffers[1].values::<f32>(), wanted);
}

#[test]
fn only_what_is_allowed_is_read_and_written() {
    let body = r#"
    %c0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %c4 = "arith.constant"() <{value = 4 : index}> : () -> index
    %pad = "arith.constant"() <{value = -1.0 : f32}> : () -> f32
    %done = "xla_gpu.loop"(%out) ({
    ^bb1(%s: index, %i: index, %from: index, %state: tensor<8xf32>):
      %low = "arith.cmpi"(%from, %c0) <{predicate = 5 : i64}> : (index, index) -> i1
      %high = "arith.cmpi"(%from, %c4) <{predicate = 2 : i64}> : (index, index) -> i1
      %inside = "arith.andi"(%low, %high) : (i1, i1) -> i1
      %x = "xla_gpu.predicated_extract"(%inside, %pad, %in, %from) : (i1, f32, tensor<4xf32>, index) -> f32
      %next = "xla_gpu.predicated_insert"(%high, %x, %state, %i) : (i1, f32, tensor<8xf32>, index) -> tensor<8xf32>
      "xla_gpu.yield"(%next) : (tensor<8xf32>) -> ()
    }) {map = "()[s0] -> (s0, s0 - 2), domain: s0 in [0, 7]"} : (tensor<8xf32>) -> tensor<8xf32>"#;
    let kernel = whole("tensor<4xf32>", "tensor<8xf32>", [16, 32], body);
    let mut buffers = [Buffer::of(&[10f32, 11.0, 12.0, 13.0]), Buffer::of(&[7f32; 8])];
    compile_and_run(&kernel, &mut buffers);
    assert_eq!(buffers[1].values::<f32>(), [-1.0, -1.0, 10.0, 11.0, 12.0, 13.0, 7.0, 7.0]);
}

#[test]
fn constants_of_every_kind_of_tensor() {
    let body = r#"
    %table = "arith.constant"() <{value = dense<[3, 1, 2, 0]> : tensor<4xi32>}> : () -> tensor<4xi32>
    %mask = "arith.constant"() <{value = dense<[true, false, true, true]> : tensor<4xi1>}> : () -> tensor<4xi1>
    %splat = "arith.constant"() <{value = dense<5.0> : tensor<4xf32>}> : () -> tensor<4xf32>
    %zero = "arith.constant"() <{value = 0.0 : f32}> : () -> f32
    %done = "xla_gpu.loop"(%out) ({
    ^bb1(%s: index, %i: index, %state: tensor<4xf32>):
      %at = "tensor.extract"(%table, %i) : (tensor<4xi32>, index) -> i32
      %from = "arith.index_cast"(%at) : (i32) -> index
      %x = "tensor.extract"(%in, %from) : (tensor<4xf32>, index) -> f32
      %y = "tensor.extract"(%splat, %i) : (tensor<4xf32>, index) -> f32
      %sum = "arith.addf"(%x, %y) : (f32, f32) -> f32
      %set = "tensor.extract"(%mask, %i) : (tensor<4xi1>, index) -> i1
      %z = "arith.select"(%set, %sum, %zero) : (i1, f32, f32) -> f32
      %next = "tensor.insert"(%z, %state, %i) : (f32, tensor<4xf32>, index) -> tensor<4xf32>
      "xla_gpu.yield"(%next) : (tensor<4xf32>) -> ()
    }) {map = "()[s0] -> (s0), domain: s0 in [0, 3]"} : (tensor<4xf32>) -> tensor<4xf32>"#;
    let kernel = whole("tensor<4xf32>", "tensor<4xf32>", [16, 16], body);
    let mut buffers = [Buffer::of(&[10f32, 20.0, 30.0, 40.0]), Buffer::of(&[0f32; 4])];
    compile_and_run(&kernel, &mut buffers);
    assert_eq!(buffers[1].values::<f32>(), [45.0, 0.0, 35.0, 15.0]);
}

#[test]
fn tensors_without_elements_are_memory_of_their_own() {
    let body = r#"
    %c0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %c1 = "arith.constant"() <{value = 1 : index}> : () -> index
    %x0 = "tensor.extract"(%in, %c0) : (tensor<2xf32>, index) -> f32
    %x1 = "tensor.extract"(%in, %c1) : (tensor<2xf32>, index) -> f32
    %a = "tensor.empty"() : () -> tensor<2xf32>
    %b = "tensor.empty"() : () -> tensor<2xf32>
    %a1 = "tensor.insert"(%x0, %a, %c0) : (f32, tensor<2xf32>, index) -> tensor<2xf32>
    %b1 = "tensor.insert"(%x1, %b, %c0) : (f32, tensor<2xf32>, index) -> tensor<2xf32>
    %y0 = "tensor.extract"(%a1, %c0) : (tensor<2xf32>, index) -> f32
    %y1 = "tensor.extract"(%b1, %c0) : (tensor<2xf32>, index) -> f32
    %half = "tensor.insert"(%y0, %out, %c0) : (f32, tensor<2xf32>, index) -> tensor<2xf32>
    %done = "tensor.insert"(%y1, %half, %c1) : (f32, tensor<2xf32>, index) -> tensor<2xf32>"#;
    let kernel = whole("tensor<2xf32>", "tensor<2xf32>", [8, 8], body);
    let mut buffers = [Buffer::of(&[1f32, 2.0]), Buffer::of(&[0f32; 2])];
    compile_and_run(&kernel, &mut buffers);
    assert_eq!(buffers[1].values::<f32>(), [1.0, 2.0]);
}
