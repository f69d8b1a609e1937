//! Checks that the compiler refuses a kernel that exceeds a limit, before the kernel takes much
//! time. The error must contain the name of the kernel and the limit.

use std::time::{Duration, Instant};

use crate::jit::{KernelSource, compile, source};
use fusebox_lowering::{NoStages, Target};

/// Returns a kernel. It consists of an entry function with this body and of the functions in
/// `more`.
fn kernel(body: &str, more: &str) -> KernelSource {
    let result = if body.contains("%done =") || body.contains("%done:") { "%done" } else { "%out" };
    let text = format!(
        r#""func.func"() <{{function_type = (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>, sym_name = "bad"}}> ({{
^bb0(%in: tensor<4xf32>, %out: tensor<4xf32>):
  %i = "arith.constant"() <{{value = 1 : index}}> : () -> index
{body}
  "func.return"({result}) : (tensor<4xf32>) -> ()
}}) {{fusebox.entry}} : () -> ()
{more}"#
    );
    source("bad", &text, &[16, 16], 1, 1, 1)
}

fn compiled(kernel: KernelSource, target: &Target) -> Result<(), String> {
    compile(&[kernel], target, &mut NoStages).map(drop).map_err(|error| error.to_string())
}

/// Returns the error message for a kernel with this body. The error must occur quickly.
#[track_caller]
fn message(body: &str, more: &str, target: &Target) -> String {
    let start = Instant::now();
    let message = compiled(kernel(body, more), target).unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert!(message.contains("kernel `bad`"), "{message}");
    message
}

#[test]
fn regions_are_nested_so_deep() {
    let nested = |depth: usize| {
        let open = "\"scf.if\"(%c) ({\n".repeat(depth);
        let close = "\"scf.yield\"() : () -> ()\n}, {\n}) : (i1) -> ()\n".repeat(depth);
        format!("%c = \"arith.constant\"() <{{value = true}}> : () -> i1\n{open}{close}")
    };
    let text = message(&nested(200_000), "", &Target::cpu());
    assert!(text.contains("nested regions; kernels have at most"), "{text}");
    compiled(kernel(&nested(60), ""), &Target::cpu()).unwrap();
}

#[test]
fn values_are_so_large() {
    for (body, expected) in [
        (
            r#"%f = "arith.constant"() <{value = dense<1.0> : vector<1000000000xf32>}> : () -> vector<1000000000xf32>"#,
            "of 1000000000 lanes; vectors have at most 1024",
        ),
        (
            r#"%f = "arith.constant"() <{value = 1 : i16000000}> : () -> i16000000"#,
            "of 16000000 bits; integers have at most 128",
        ),
        (
            r#"%f = "tensor.empty"() : () -> tensor<1000000000xf32>
%x = "tensor.extract"(%f, %i) : (tensor<1000000000xf32>, index) -> f32
%done = "tensor.insert"(%x, %out, %i) : (f32, tensor<4xf32>, index) -> tensor<4xf32>"#,
            "a thread's own tensors up to this one take 4000000000",
        ),
        (
            r#"%f = "tensor.empty"() : () -> tensor<4294967296x4294967296xf32>"#,
            "is not statically shaped, or larger than any memory",
        ),
    ] {
        for target in [Target::cpu(), Target::simt()] {
            let text = message(body, "", &target);
            assert!(text.contains(expected), "{body}: {text}");
        }
    }
    // The product of these sizes overflows to 0.
    let mut huge = kernel("", "");
    huge.functions = huge.functions.replace("tensor<4xf32>", "tensor<4294967296x4294967296xf32>");
    let text = compiled(huge, &Target::cpu()).unwrap_err();
    assert!(text.contains("larger than any memory"), "{text}");
}

/// Returns a fully unrolled loop over `points` points.
fn unrolled(points: i64) -> String {
    format!(
        r#"%done = "xla_gpu.loop"(%out) ({{
^bb1(%a: index, %b: index, %state: tensor<4xf32>):
  %x = "tensor.extract"(%in, %i) : (tensor<4xf32>, index) -> f32
  %next = "tensor.insert"(%x, %state, %i) : (f32, tensor<4xf32>, index) -> tensor<4xf32>
  "xla_gpu.yield"(%next) : (tensor<4xf32>) -> ()
}}) {{map = "()[s0] -> (s0), domain: s0 in [1, {points}]", unroll = array<i64: 0>}} : (tensor<4xf32>) -> tensor<4xf32>"#
    )
}

#[test]
fn loops_are_unrolled_so_often() {
    for points in [513, 1_000_000_000, i64::MAX] {
        let text = message(&unrolled(points), "", &Target::cpu());
        assert!(text.contains("copies, with the loops around it; loops have at most 512"), "{text}");
    }
    compiled(kernel(&unrolled(512), ""), &Target::cpu()).unwrap();
}

fn function(name: &str, body: &str) -> String {
    format!(
        r#""func.func"() <{{function_type = (f32, f32) -> f32, sym_name = "{name}", sym_visibility = "private"}}> ({{
^bb0(%x: f32, %y: f32):
{body}
  "func.return"(%z) : (f32) -> ()
}}) : () -> ()
"#
    )
}

#[test]
fn functions_do_not_call_each_other_in_a_circle() {
    let call = |callee: &str| format!(r#"%z = "xla_gpu.pure_call"(%x, %y) {{callee = @{callee}}} : (f32, f32) -> f32"#);
    let reduce = |callee: &str| {
        format!(r#"%z = "xla_gpu.shuffle_reduce"(%x) {{callee = @{callee}, max_distance = 1 : i64}} : (f32) -> f32"#)
    };
    let used = r#"%x = "tensor.extract"(%in, %i) : (tensor<4xf32>, index) -> f32
%y = "xla_gpu.pure_call"(%x, %x) {callee = @f} : (f32, f32) -> f32
%done = "tensor.insert"(%y, %out, %i) : (f32, tensor<4xf32>, index) -> tensor<4xf32>"#;
    for functions in
        [function("f", &call("f")), function("f", &call("g")) + &function("g", &call("f")), function("f", &reduce("f"))]
    {
        for target in [Target::cpu(), Target::simt()] {
            let text = message(used, &functions, &target);
            assert!(text.contains("calls itself, directly or through other functions"), "{text}");
        }
    }
}

#[test]
fn combiners_within_combiners_are_written_out_so_often() {
    // Each function contains the previous one twice.
    let reduce = |callee: String, value: &str, result: &str| {
        format!(
            r#"{result} = "xla_gpu.shuffle_reduce"({value}) {{callee = @{callee}, max_distance = 1 : i64}} : (f32) -> f32"#
        )
    };
    let of = |i: usize| {
        let callee = format!("f{}", i - 1);
        function(&format!("f{i}"), &(reduce(callee.clone(), "%x", "%w") + "\n" + &reduce(callee, "%w", "%z")))
    };
    let functions: String =
        function("f0", r#"%z = "arith.addf"(%x, %y) : (f32, f32) -> f32"#) + &(1..60).map(of).collect::<String>();
    let body = format!(
        r#"%x = "tensor.extract"(%in, %i) : (tensor<4xf32>, index) -> f32
{}
%done = "tensor.insert"(%y, %out, %i) : (f32, tensor<4xf32>, index) -> tensor<4xf32>"#,
        reduce("f59".into(), "%x", "%y")
    );
    let text = message(&body, &functions, &Target::simt());
    assert!(text.contains("combiners written out"), "{text}");
}

#[test]
fn a_call_that_expects_more_results_than_there_are_is_refused() {
    let functions = function("f", r#"%z = "arith.addf"(%x, %y) : (f32, f32) -> f32"#);
    let body = r#"%x = "tensor.extract"(%in, %i) : (tensor<4xf32>, index) -> f32
%y, %z = "xla_gpu.pure_call"(%x, %x) {callee = @f} : (f32, f32) -> (f32, f32)
%w = "arith.addf"(%z, %z) : (f32, f32) -> f32
%done = "tensor.insert"(%w, %out, %i) : (f32, tensor<4xf32>, index) -> tensor<4xf32>"#;
    let text = message(body, &functions, &Target::cpu());
    assert!(text.contains("operands or results differ from those of the function @f"), "{text}");
}

#[test]
fn chains_of_index_arithmetic_take_time_in_proportion_to_their_length() {
    for (operation, second) in [("muli", "%j"), ("minsi", "%n"), ("maxsi", "%n")] {
        let read = r#"%l0 = "arith.index_cast"(%k) : (i32) -> index"#;
        let chain: String = (1..400)
            .map(|i| {
                let before = i - 1;
                let other = if second == "%j" { format!("%l{before}") } else { format!("%m{before}") };
                format!(
                    "%l{i} = \"arith.{operation}\"(%l{before}, {other}) : (index, index) -> index\n\
                     %m{i} = \"arith.addi\"(%l{i}, %l{before}) : (index, index) -> index\n"
                )
            })
            .collect();
        let body = format!(
            r#"%f = "tensor.extract"(%in, %i) : (tensor<4xf32>, index) -> f32
%k = "arith.bitcast"(%f) : (f32) -> i32
{read}
%m0 = "arith.addi"(%l0, %i) : (index, index) -> index
{chain}
%x = "tensor.extract"(%in, %l399) : (tensor<4xf32>, index) -> f32
%done = "tensor.insert"(%x, %out, %i) : (f32, tensor<4xf32>, index) -> tensor<4xf32>"#
        );
        for target in [Target::cpu(), Target::simt(), Target::nvptx(80)] {
            let start = Instant::now();
            compiled(kernel(&body, ""), &target).unwrap();
            assert!(start.elapsed() < Duration::from_secs(20), "{operation} for {target}: {:?}", start.elapsed());
        }
    }
}

#[test]
fn a_factor_without_a_positive_counterpart_is_a_factor() {
    let body = r#"%done = "xla_gpu.loop"(%i, %out) ({
^bb1(%a: index, %b: index, %state: tensor<4xf32>):
  %x = "tensor.extract"(%in, %i) : (tensor<4xf32>, index) -> f32
  %next = "tensor.insert"(%x, %state, %i) : (f32, tensor<4xf32>, index) -> tensor<4xf32>
  "xla_gpu.yield"(%next) : (tensor<4xf32>) -> ()
}) {map = "(d0)[s0] -> (s0), domain: d0 in [0, 3], s0 in [0, 9], s0 * -9223372036854775808 + d0 in [-5, 5]"} : (index, tensor<4xf32>) -> tensor<4xf32>"#;
    for target in [Target::cpu(), Target::simt()] {
        compiled(kernel(body, ""), &target).unwrap();
    }
}

/// Checks kernels with odd words. Each kernel either compiles or is an error, and the test does not
/// require more.
#[test]
fn odd_words_are_no_danger() {
    let constants = [
        "dense<1> : tensor<9223372036854775807xi8>",
        "dense<1> : tensor<0xi8>",
        "dense<[]> : tensor<0xf32>",
        "dense<> : tensor<0xf32>",
        "dense<\"0x\"> : tensor<4xf32>",
        "dense<\"0x0102\"> : tensor<4xf32>",
        "dense<\"0x01020304\"> : tensor<4xf32>",
        "dense<\"0xFF\"> : tensor<8xi1>",
        "dense<true> : vector<4xi1>",
        "dense<1> : vector<4xindex>",
        "dense<(1.0, 2.0)> : tensor<3xcomplex<f32>>",
        "dense<(1.0, 2.0)> : vector<3xcomplex<f32>>",
        "dense<1> : tensor<?xi32>",
        "dense<1> : tensor<2x?xi32>",
        "dense<1> : vector<[4]xi32>",
        "dense<1> : vector<2x3xi32>",
        "dense<1.0> : tensor<4xf8E4M3FN>",
        "dense<1> : tensor<4xi4>",
        "dense<1> : tensor<4xsi8>",
        "dense<1> : tensor<4xi999>",
        "dense_resource<a> : tensor<4xf32>",
        "sparse<[[0, 0]], [1]> : tensor<3x4xi32>",
        "strided<[1], offset: 2>",
        "unit",
        "1",
        "1 : i0",
        "-1 : i1",
        "1 : ui8",
        "1 : f32",
        "0x7FC00000 : f32",
        "0xFFFFFFFFFFFF : f32",
        "1.0 : index",
        "99999999999999999999999999 : i64",
        "99999999999999999999999999 : index",
        "9223372036854775807 : index",
        "[1.0 : f32, 2.0 : f32] : complex<f32>",
        "loc(unknown)",
        "@a::@b",
        "affine_map<(d0) -> (d0 floordiv 0)>",
        "affine_map<(d0) -> (d0 mod 0)>",
        "affine_map<(d0) -> (9223372036854775807 * 9223372036854775807 + d0)>",
        "affine_set<(d0) : (d0 >= 0)>",
        "#gpu<dim q>",
        "#gpu<dim",
        "#arith.fastmath<>",
        "#vector.kind<add>",
    ];
    let types = [
        "f32",
        "index",
        "i1",
        "i0",
        "tensor<4xf32>",
        "vector<4xf32>",
        "vector<0xf32>",
        "complex<f32>",
        "complex<i8>",
        "memref<4xf32>",
        "memref<4xf32, affine_map<(d0) -> (d0)>>",
        "tuple<>",
        "none",
        "tensor<*xf32>",
        "vector<f32>",
        "vector<4xindex>",
    ];
    for value in constants {
        let ty = value.rsplit_once(" : ").map_or("f32", |(_, ty)| ty);
        for ty in [ty, "f32", "index"] {
            for name in ["value", "map", "callee", "static_position", "mask", "predicate", "unroll"] {
                let body = format!("%f = \"arith.constant\"() {{{name} = {value}}} : () -> {ty}");
                let _ = compiled(kernel(&body, ""), &Target::cpu());
            }
        }
    }
    let operations = [
        "arith.addi",
        "arith.addf",
        "arith.select",
        "arith.cmpi",
        "arith.cmpf",
        "arith.bitcast",
        "arith.extf",
        "arith.truncf",
        "arith.index_cast",
        "arith.index_castui",
        "arith.mulsi_extended",
        "arith.fptosi",
        "arith.sitofp",
        "arith.negf",
        "arith.floordivsi",
        "arith.shli",
        "arith.addui_extended",
        "arith.scaling_extf",
        "math.exp",
        "math.ctlz",
        "math.fma",
        "math.powf",
        "math.isnan",
        "math.fpowi",
        "math.sincos",
        "complex.create",
        "complex.re",
        "complex.abs",
        "tensor.extract",
        "tensor.insert",
        "tensor.empty",
        "tensor.cast",
        "tensor.from_elements",
        "tensor.generate",
        "tensor.pack",
        "scf.for",
        "scf.if",
        "scf.while",
        "scf.index_switch",
        "scf.parallel",
        "scf.forall",
        "scf.reduce",
        "scf.yield",
        "scf.condition",
        "vector.broadcast",
        "vector.extract",
        "vector.insert",
        "vector.shuffle",
        "vector.fma",
        "vector.reduction",
        "vector.transfer_read",
        "vector.transfer_write",
        "vector.from_elements",
        "vector.contract",
        "vector.multi_reduction",
        "vector.shape_cast",
        "vector.mask",
        "vector.warp_execute_on_lane_0",
        "vector.type_cast",
        "vector.outerproduct",
        "gpu.thread_id",
        "gpu.block_id",
        "gpu.barrier",
        "gpu.launch",
        "gpu.shuffle",
        "gpu.func",
        "gpu.module",
        "func.call",
        "func.call_indirect",
        "func.constant",
        "func.func",
        "func.return",
        "xla_gpu.loop",
        "xla_gpu.yield",
        "xla_gpu.pure_call",
        "xla_gpu.apply_indexing",
        "xla_gpu.predicated_extract",
        "xla_gpu.predicated_insert",
        "xla_gpu.allocate_shared",
        "xla_gpu.sync_threads",
        "xla_gpu.shuffle_reduce",
        "xla_gpu.atomic_rmw",
        "xla_gpu.mma",
        "xla_gpu.wgmma",
        "xla_gpu.word_mulf",
        "xla_gpu.word_muli",
        "builtin.module",
        "builtin.unrealized_conversion_cast",
        "cf.br",
        "cf.cond_br",
        "ub.poison",
    ];
    let values = [("%in", "tensor<4xf32>"), ("%i", "index"), ("%c", "f32")];
    for operation in operations {
        for ty in types {
            for count in 0..4 {
                let operands: Vec<&str> =
                    values.iter().map(|(name, _)| *name).cycle().skip(count % 2).take(count).collect();
                let taken: Vec<&str> = values.iter().map(|(_, ty)| *ty).cycle().skip(count % 2).take(count).collect();
                let (operands, taken) = (operands.join(", "), taken.join(", "));
                for regions in [
                    "",
                    "({})",
                    "({ \"scf.yield\"() : () -> () })",
                    "({ ^a(%z: index): \"xla_gpu.yield\"() : () -> () })",
                ] {
                    for result in [ty, "()"] {
                        let name = if result == "()" { "" } else { "%r = " };
                        let body = format!(
                            "%c = \"arith.constant\"() {{value = 1.0 : f32}} : () -> f32\n\
                             {name}\"{operation}\"({operands}) {regions} : ({taken}) -> {result}"
                        );
                        let _ = compiled(kernel(&body, ""), &Target::cpu());
                    }
                }
            }
        }
    }
}
