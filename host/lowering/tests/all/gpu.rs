//! Checks the text of kernels for GPUs. Does not run the kernels.

use std::collections::BTreeMap;

use crate::jit::{KernelSource, assemble, compile, contains_in_order, source};
use fusebox_lowering::{Code, LoweringError, NoStages, Origin, Target};

/// Returns a kernel in which each thread computes eight elements. They form two groups of four
/// contiguous elements.
fn vectorized(elements: u64) -> KernelSource {
    let text = r#"
"func.func"() <{function_type = (tensor<NxELEMENT>, tensor<NxELEMENT>) -> tensor<NxELEMENT>, sym_name = "scale"}> ({
^bb0(%a: tensor<NxELEMENT>, %out: tensor<NxELEMENT>):
  %thread = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
  %block = "gpu.block_id"() <{dimension = #gpu<dim x>}> : () -> index
  %result = "xla_gpu.loop"(%thread, %block, %out) ({
  ^bb1(%group: index, %lane: index, %i: index, %state: tensor<NxELEMENT>):
    %x = "tensor.extract"(%a, %i) : (tensor<NxELEMENT>, index) -> ELEMENT
    %y = "arith.addf"(%x, %x) : (ELEMENT, ELEMENT) -> ELEMENT
    %next = "tensor.insert"(%y, %state, %i) : (ELEMENT, tensor<NxELEMENT>, index) -> tensor<NxELEMENT>
    "xla_gpu.yield"(%next) : (tensor<NxELEMENT>) -> ()
  }) {map = "(th, bl)[s0, s1] -> (bl * 1024 + s0 * 512 + th * 4 + s1), domain: th in [0, 127], bl in [0, 63], s0 in [0, 1], s1 in [0, 3], bl * 1024 + s0 * 512 + th * 4 + s1 in [0, LAST]", unroll = array<i64: 1>} : (index, index, tensor<NxELEMENT>) -> tensor<NxELEMENT>
  "func.return"(%result) : (tensor<NxELEMENT>) -> ()
}) {fusebox.entry} : () -> ()
"#;
    let text = text.replace("NxELEMENT", &format!("{elements}xf32")).replace("ELEMENT", "f32");
    let text = text.replace("LAST", &(elements - 1).to_string());
    source("scale", &text, &[4 * elements, 4 * elements], 1, 64, 128)
}

/// Returns a kernel in which each thread negates sixteen contiguous bytes. An element has `bytes`
/// bytes.
fn narrow(element: &str, bytes: u64, body: &str) -> KernelSource {
    let lanes = 16 / bytes;
    let text = format!(
        r#"
"func.func"() <{{function_type = (tensor<65536x{element}>, tensor<65536x{element}>) -> tensor<65536x{element}>, sym_name = "negate"}}> ({{
^bb0(%a: tensor<65536x{element}>, %out: tensor<65536x{element}>):
  %thread = "gpu.thread_id"() <{{dimension = #gpu<dim x>}}> : () -> index
  %result = "xla_gpu.loop"(%thread, %out) ({{
  ^bb1(%lane: index, %i: index, %state: tensor<65536x{element}>):
    %x = "tensor.extract"(%a, %i) : (tensor<65536x{element}>, index) -> {element}
    {body}
    %next = "tensor.insert"(%y, %state, %i) : ({element}, tensor<65536x{element}>, index) -> tensor<65536x{element}>
    "xla_gpu.yield"(%next) : (tensor<65536x{element}>) -> ()
  }}) {{map = "(th)[s0] -> (th * {lanes} + s0), domain: th in [0, 127], s0 in [0, {last}]", unroll = array<i64: 0>}} : (index, tensor<65536x{element}>) -> tensor<65536x{element}>
  "func.return"(%result) : (tensor<65536x{element}>) -> ()
}}) {{fusebox.entry}} : () -> ()
"#,
        last = lanes - 1,
    );
    source("negate", &text, &[65536 * bytes, 65536 * bytes], 1, 1, 128)
}

#[test]
fn narrow_lanes_that_are_written_one_by_one_are_moved_together() {
    let subtract = |ty: &str| {
        format!(
            "%zero = \"arith.constant\"() <{{value = 0 : {ty}}}> : () -> {ty}\n\
             %y = \"arith.subi\"(%zero, %x) : ({ty}, {ty}) -> {ty}"
        )
    };
    let negate = |ty: &str| format!("%y = \"arith.negf\"(%x) : ({ty}) -> {ty}");
    for (element, bytes, body) in [
        ("bf16", 2, negate("bf16")),
        ("f16", 2, negate("f16")),
        ("f8E4M3FN", 1, negate("f8E4M3FN")),
        ("i16", 2, subtract("i16")),
        ("i8", 1, subtract("i8")),
        ("i4", 1, subtract("i4")),
    ] {
        for capability in [80, 90] {
            let text = ptx(&narrow(element, bytes, &body), capability, None);
            contains_in_order(&text, &["ld.global.nc.v4.b32", "st.global.v4.b32"]);
            assert_eq!(text.matches("st.global").count(), 1, "{element}:\n{text}");
            assemble(&text, capability);
        }
    }
}

fn ptx(kernel: &KernelSource, capability: u32, ptx_version: Option<u32>) -> String {
    match compile(
        std::slice::from_ref(kernel),
        &ptx_version.into_iter().fold(Target::nvptx(capability), Target::with_ptx_version),
        &mut NoStages,
    ) {
        Ok(Code::Ptx(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn neighbours_are_read_and_written_together() {
    for (elements, capability) in [(65536, 80), (65536, 90), (65000, 90)] {
        let text = ptx(&vectorized(elements), capability, None);
        let target = format!(".target sm_{capability}");
        contains_in_order(
            &text,
            &[&target, ".visible .entry scale(", ".reqntid 128", "ld.global.nc.v4.b32", "st.global.v4.b32"],
        );
        assert!(!text.contains("mul.lo.s64") && !text.contains("add.s64 \t%rd1"), "not in 32 bits:\n{text}");
        if let Some(report) = assemble(&text, capability) {
            contains_in_order(&report, &["0 bytes spill stores, 0 bytes spill loads"]);
        }
    }
}

#[test]
fn a_tail_that_is_no_multiple_of_four_is_checked_element_by_element() {
    let text = ptx(&vectorized(65533), 90, None);
    contains_in_order(&text, &["ld.global.nc.v4.b32", "st.global.v4.b32"]);
    contains_in_order(&text, &["st.global.b32"]);
    assemble(&text, 90);
}

#[test]
fn the_version_is_the_one_asked_for() {
    let kernel = vectorized(65536);
    assert!(ptx(&kernel, 90, Some(83)).contains(".version 8.3"));
    assert!(ptx(&kernel, 80, Some(87)).contains(".version 8.7"));
    let unknown = Target::nvptx(90).with_ptx_version(91);
    let error = compile(std::slice::from_ref(&kernel), &unknown, &mut NoStages).unwrap_err();
    assert!(matches!(&error, LoweringError::Target { .. }), "{error}");
    contains_in_order(&error.to_string(), &["sm_90", "does not write PTX 9.1"]);
    let unknown = Target::nvptx(91);
    let error = compile(&[kernel], &unknown, &mut NoStages).unwrap_err();
    contains_in_order(&error.to_string(), &["sm_91", "does not know it"]);
}

#[test]
fn amd_gets_assembly() {
    let target = Target::named("gfx942").unwrap();
    match compile(&[vectorized(65536)], &target, &mut NoStages) {
        Ok(Code::Assembly(text)) => contains_in_order(
            &text,
            &["gfx942", "scale:", "global_load_dwordx4", "global_store_dwordx4", "s_endpgm", ".amdhsa_kernel scale"],
        ),
        other => panic!("{other:?}"),
    }
}

/// Checks all compute capabilities that LLVM 22 supports, beginning with Volta.
#[test]
fn every_card_is_known() {
    for capability in [70, 75, 80, 86, 89, 90, 100, 103, 110, 120, 121] {
        let text = ptx(&vectorized(1 << 12), capability, None);
        assert!(text.contains(&format!(".target sm_{capability}")), "{capability}:\n{text}");
    }
}

/// Returns the lines of PTX that are not directives of source locations.
fn without_origins(text: &str) -> Vec<&str> {
    let is_origin =
        |line: &str| [".loc", ".file", ".section", "$L__tmp", "$L__func_"].iter().any(|start| line.starts_with(start));
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !is_origin(line)).collect()
}

/// Checks that PTX names the HLO instruction of each access, and that this changes nothing else.
#[test]
fn accesses_name_their_instructions() {
    let mut kernel = vectorized(65536);
    let plain = ptx(&kernel, 90, None);
    for (operation, place) in [("extract", "exp.1"), ("insert", "odd \\\"name\\\"")] {
        let start = kernel.functions.find(operation).unwrap();
        let end = start + kernel.functions[start..].find('\n').unwrap();
        kernel.functions.insert_str(end, &format!(" loc(\"{place}\")"));
    }
    let origin = Origin { file: "model.py".into(), line: 12 };
    kernel.origins = std::iter::once(("exp.1".to_owned(), origin)).collect::<BTreeMap<_, _>>().into();
    let text = ptx(&kernel, 90, None);
    contains_in_order(&text, &[".loc\t2 12 0", "ld.global.nc.v4.b32", ".loc\t3 1 0", "st.global.v4.b32"]);
    let files = [".file\t2 \"HLO instruction %exp.1, model.py\"", ".file\t3 \"HLO instruction %odd 'name'\""];
    contains_in_order(&text, &files);
    assert!(without_origins(&plain) == without_origins(&text), "{plain}\n{text}");
    assemble(&text, 90);
}
