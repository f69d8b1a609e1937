//! Checks that an error contains the name of the kernel and the location.

use crate::jit::{KernelSource, compile, contains_in_order, source};
use fusebox_lowering::{LoweringError, NoStages, Target};

fn kernel(body: &str) -> KernelSource {
    let result = if body.contains("%done =") { "%done" } else { "%out" };
    let text = format!(
        r#""func.func"() <{{function_type = (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>, sym_name = "bad"}}> ({{
^bb0(%in: tensor<4xf32>, %out: tensor<4xf32>):
  %i = "arith.constant"() <{{value = 1 : index}}> : () -> index
{body}
  "func.return"({result}) : (tensor<4xf32>) -> ()
}}) {{fusebox.entry}} : () -> ()"#
    );
    source("bad", &text, &[16, 16], 1, 1, 1)
}

/// Returns the error message for a kernel with this body.
#[track_caller]
fn message(body: &str) -> String {
    match compile(&[kernel(body)], &Target::cpu(), &mut NoStages) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("compiled: {body}"),
    }
}

#[test]
fn invalid_ir_is_an_error_at_its_place() {
    for (body, parts) in [
        ("%x = ", ["kernel `bad`", "bad:5:3", "0 results, 1 are named"]),
        (r#"%x = "arith.addf"(%i, %i) : (index, index) -> index"#, ["kernel `bad`", "bad:4:6", "float"]),
        (r#"%x = "foo.bar"() : () -> f32"#, ["kernel `bad`", "bad:4:6", "`foo.bar` is not part of the kernel IR"]),
        (r#"%x = "tensor.extract"(%in) : (tensor<4xf32>) -> f32"#, ["kernel `bad`", "bad:4:6", "indices"]),
        (
            r#"%p = "xla_gpu.stack_memory"() {bytes = 4000000000 : i64, alignment = 64 : i64} : () -> !llvm.ptr"#,
            ["kernel `bad`", "bad:4:6", "only lowering may create"],
        ),
        (r#""xla_gpu.yield"() : () -> ()"#, ["kernel `bad`", "bad:4:1", "ends the body of a loop"]),
        (r#"%x = "xla_gpu.pure_call"(%i) : (index) -> f32"#, ["kernel `bad`", "bad:4:6", "`callee`"]),
        (
            r#"%x = "xla_gpu.apply_indexing"(%i) {map = "(d0) -> (d0"} : (index) -> index"#,
            ["kernel `bad`", "bad:4:6", "map that does not parse"],
        ),
        (
            r#"%x = "xla_gpu.apply_indexing"(%i) {map = "(d0, d1) -> (d0), domain: d0 in [0, 1], d1 in [0, 1]"} : (index) -> index"#,
            ["kernel `bad`", "bad:4:6", "1 operands, its map 2"],
        ),
        (
            r#"%x = "xla_gpu.loop"(%out) ({
^bb1(%state: tensor<4xf32>):
  "xla_gpu.yield"(%state) : (tensor<4xf32>) -> ()
}) {map = "()[s0] -> (s0), domain: s0 in [0, 3]"} : (tensor<4xf32>) -> tensor<4xf32>"#,
            ["kernel `bad`", "bad:4:6", "body of 1 arguments where its map asks for 3"],
        ),
        (
            r#"%t = "arith.constant"() <{value = true}> : () -> i1
%x = "xla_gpu.predicated_extract"(%t, %i, %in, %i) : (i1, index, tensor<4xf32>, index) -> index"#,
            ["kernel `bad`", "bad:5:6", "element type"],
        ),
    ] {
        contains_in_order(&message(body), &parts);
    }
}

#[test]
fn what_is_not_handled_is_named() {
    for (body, parts) in [
        (
            r#"%x = "xla_gpu.pure_call"(%i) {callee = @nowhere} : (index) -> f32
%done = "tensor.insert"(%x, %out, %i) : (f32, tensor<4xf32>, index) -> tensor<4xf32>"#,
            ["kernel `bad`: the emitted IR is invalid", "bad:4:6", "no function @nowhere"],
        ),
        (
            r#"%x = "tensor.extract"(%in, %i) : (tensor<4xf32>, index) -> f32
%done = "tensor.insert"(%x, %in, %i) : (f32, tensor<4xf32>, index) -> tensor<4xf32>"#,
            ["kernel `bad`: `tensor.insert`", "for cpu", "read-only"],
        ),
        (
            r#"%h = "arith.constant"() <{value = 1.0 : bf16}> : () -> bf16
%h2 = "arith.addf"(%h, %h) : (bf16, bf16) -> bf16
%x = "arith.extf"(%h2) : (bf16) -> f32
%done = "tensor.insert"(%x, %out, %i) : (f32, tensor<4xf32>, index) -> tensor<4xf32>"#,
            ["kernel `bad`: `arith.addf`", "for cpu", "extf, the operation, and truncf"],
        ),
        (
            r#"%d = "tensor.dim"(%in, %i) : (tensor<4xf32>, index) -> index
%x = "tensor.extract"(%in, %d) : (tensor<4xf32>, index) -> f32
%done = "tensor.insert"(%x, %out, %i) : (f32, tensor<4xf32>, index) -> tensor<4xf32>"#,
            ["kernel `bad`: the emitted IR is invalid", "bad:4:6", "`tensor.dim` is not part of the kernel IR"],
        ),
    ] {
        contains_in_order(&message(body), &parts);
    }
}

#[test]
fn the_kernel_at_fault_is_the_one_named() {
    let good = KernelSource {
        entry: "good".into(),
        functions: kernel("").functions.replace("\"bad\"", "\"good\""),
        ..kernel("")
    };
    let error = compile(&[good.clone(), kernel("%x = 3"), good], &Target::cpu(), &mut NoStages).unwrap_err();
    assert!(matches!(&error, LoweringError::Invalid { kernel, .. } if kernel == "bad"), "{error}");
}

#[test]
fn the_description_of_arguments_must_fit() {
    let mut small = kernel("");
    small.arguments[1].bytes = 15;
    let error = compile(&[small], &Target::cpu(), &mut NoStages).unwrap_err();
    contains_in_order(&error.to_string(), &["kernel `bad`: `func.func`", "15 bytes do not hold"]);
    let mut few = kernel("");
    few.arguments.pop();
    let error = compile(&[few], &Target::cpu(), &mut NoStages).unwrap_err();
    contains_in_order(&error.to_string(), &["has 2 arguments, the kernel is described with 1"]);
    let absent = KernelSource { entry: "absent".into(), ..kernel("") };
    let error = compile(&[absent], &Target::cpu(), &mut NoStages).unwrap_err();
    contains_in_order(&error.to_string(), &["kernel `absent`", "no function of the kernel's name"]);
}
