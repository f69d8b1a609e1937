//! Tests rewrites of small modules.

use fusebox_core::hlo::{
    ArrayLiteral, BinaryOp, ComputationId, ElementType, Extra, Literal, Module, Op, Shape, SliceDim, UnaryOp,
    parse_module, print_module, verify,
};

use crate::{EditError, call_order, restore_order, retain_computations, rewrite};

fn module(text: &str) -> Module {
    let module = parse_module(text, "test.hlo").unwrap_or_else(|faults| panic!("{}\n{text}", faults[0]));
    verify(&module).unwrap_or_else(|faults| panic!("{}\n{text}", faults[0]));
    module
}

const ONE: &str = "HloModule m
ENTRY e {
  x = f32[2,3]{0,1} parameter(0)
  ROOT y = f32[2,3]{0,1} rsqrt(x), sharding={replicated}, metadata={op_name=\"root\" source_line=7}, \
 frontend_attributes={k=\"v\"}, backend_config={\"a\":1}, result_accuracy={tolerance={atol=0,rtol=0,ulps=1}}
}";

/// Replaces the root of [`ONE`] by an instruction with operation `op`. Returns the attributes of
/// the new root.
fn extra_of(op: Op) -> Option<Extra> {
    let mut module = module(ONE);
    rewrite(&mut module, ComputationId(0), |edit, _, instruction| {
        let is_root = matches!(instruction.op, Op::Unary(_));
        Ok::<_, EditError>(is_root.then(|| {
            let operands = edit.operands(instruction);
            edit.add(op.clone(), operands)
        }))
    })
    .unwrap();
    verify(&module).unwrap();
    module.computations[0].root_instruction().extra.as_deref().cloned()
}

#[test]
fn attributes_are_inherited_by_the_rule() {
    let same_kind = extra_of(Op::Unary(UnaryOp::Rsqrt)).unwrap();
    assert!(same_kind.backend_config.is_some() && !same_kind.other.is_empty() && same_kind.sharding.is_some());
    let other_kind = extra_of(Op::Unary(UnaryOp::Sqrt)).unwrap();
    assert!(other_kind.backend_config.is_none() && other_kind.other.is_empty());
    assert_eq!(other_kind.sharding, same_kind.sharding);
    assert_eq!(other_kind.metadata.as_ref().unwrap().op_name, "root");
    assert_eq!(other_kind.frontend_attributes["k"], "v");
    let other_dims = extra_of(Op::Transpose { permutation: vec![1, 0] }).unwrap();
    assert!(other_dims.sharding.is_none() && other_dims.metadata.is_some());
}

#[test]
fn names_are_unique_and_layouts_stay() {
    let mut module = module(ONE);
    rewrite(&mut module, ComputationId(0), |edit, _, instruction| {
        let Op::Unary(UnaryOp::Rsqrt) = instruction.op else { return Ok::<_, EditError>(None) };
        let x = edit.operands(instruction)[0];
        let root = edit.unary(UnaryOp::Sqrt, x);
        let one = edit.filled_like(root, 1.0);
        Ok(Some(edit.binary(BinaryOp::Divide, one, root)))
    })
    .unwrap();
    verify(&module).unwrap_or_else(|faults| panic!("{}", faults[0]));
    let entry = module.entry_computation().unwrap();
    assert!(entry.root_instruction().shape.as_array().unwrap().layout.is_some());
    assert_eq!(entry.instructions.iter().filter(|it| it.name.starts_with('y')).count(), 4);
}

#[test]
fn an_invalid_instruction_is_an_error_at_its_origin() {
    let mut module = module(ONE);
    let before = module.clone();
    let fault = rewrite(&mut module, ComputationId(0), |edit, _, instruction| {
        let Op::Unary(_) = instruction.op else { return Ok(None) };
        let x = edit.operands(instruction)[0];
        let wide = edit.convert(x, ElementType::F64);
        Ok(Some(edit.binary(BinaryOp::Add, x, wide)))
    });
    let EditError(fault) = fault.unwrap_err();
    assert_eq!((fault.subject.as_deref(), fault.span.line, &*fault.file), (Some("y"), 4, "test.hlo"));
    assert!(fault.message.contains("f32[2,3]"), "{}", fault.message);
    assert_eq!(module, before);
}

#[test]
fn nothing_is_added_for_what_changes_nothing() {
    let mut module = module("ENTRY e {\n  x = f32[2,3] parameter(0)\n  ROOT y = f32[2,3] copy(x)\n}");
    rewrite(&mut module, ComputationId(0), |edit, _, instruction| {
        let Op::Copy = instruction.op else { return Ok::<_, EditError>(None) };
        let x = edit.operands(instruction)[0];
        let x = edit.reshape(x, &[2, 3]);
        let x = edit.transpose(x, &[0, 1]);
        let x = edit.convert(x, ElementType::F32);
        let x = edit.broadcast(x, &[2, 3], &[0, 1]);
        let x = edit.slice(x, vec![SliceDim::all(2), SliceDim::all(3)]);
        let zero = x;
        let x = edit.pad_along(x, zero, 0, 0, 0);
        let x = edit.concatenate(vec![x], 1);
        let pair = edit.tuple([x, x]);
        Ok(Some(edit.element(pair, 1)))
    })
    .unwrap();
    let names: Vec<&str> = module.computations[0].instructions.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["x", "y"], "only the tuple is new");
    assert_eq!(module.computations[0].root_instruction().name, "x");
}

#[test]
fn added_computations_come_before_their_callers() {
    let mut module = module(
        "HloModule m\n\nadd_f32 {\n  ROOT x = f32[] parameter(0)\n}\n\nENTRY e {\n  x = f32[8] parameter(0)\n  ROOT y = f32[8] copy(x)\n}",
    );
    let entry = module.entry.unwrap();
    rewrite(&mut module, entry, |edit, _, instruction| {
        let Op::Copy = instruction.op else { return Ok::<_, EditError>(None) };
        let x = edit.operands(instruction)[0];
        let sum = edit.combiner(BinaryOp::Add, ElementType::F32);
        assert_eq!(edit.combiner(BinaryOp::Add, ElementType::F32), sum);
        let outer = edit.computation("outer", |edit| {
            let a = edit.parameter(Shape::array(ElementType::F32, []));
            edit.call(sum, [a, a])
        });
        Ok(Some(edit.map(outer, &[x])))
    })
    .unwrap();
    let names = |module: &Module| module.computations.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&module), ["add_f32", "e", "add_f32.1", "outer"]);
    restore_order(&mut module);
    assert_eq!(names(&module), ["add_f32", "add_f32.1", "outer", "e"]);
    verify(&module).unwrap_or_else(|faults| panic!("{}\n{}", faults[0], print_module(&module)));
    assert!(call_order(&module).is_sorted());
    retain_computations(&mut module, |id| id != ComputationId(0));
    assert_eq!(names(&module), ["add_f32.1", "outer", "e"]);
    verify(&module).unwrap_or_else(|faults| panic!("{}\n{}", faults[0], print_module(&module)));
}

/// The interpreter applies each operation to the operation's identity and to sample values.
#[test]
fn the_identity_changes_nothing() {
    let samples = |ty: ElementType| -> Vec<Vec<u8>> {
        let size = ty.byte_size();
        let patterns: &[u64] = if ty == ElementType::Pred { &[0, 1] } else { &[0, 1, 0x7b, 0x85, 0x3c5a, 0x80] };
        let top = 1u64 << (ty.bits() - 1);
        let with_top: Vec<u64> = if ty == ElementType::Pred { Vec::new() } else { vec![top, top | 0x11] };
        patterns.iter().chain(&with_top).map(|value| value.to_le_bytes()[..size].to_vec()).collect()
    };
    let mut tried = 0;
    for ty in ["pred", "s8", "u8", "s16", "u32", "s64", "u64", "bf16", "f16", "f32", "f64"] {
        for op in ["add", "multiply", "maximum", "minimum", "and", "or", "xor"] {
            let text =
                format!("f {{ p = {ty}[] parameter(0)\n  q = {ty}[] parameter(1)\n  ROOT r = {ty}[] {op}(q, p) }}");
            let Ok(module) = parse_module(&text, "test.hlo") else { continue };
            let combiner = fusebox_core::hlo::Combiner::of(module.entry_computation().unwrap());
            let Some(identity) = combiner.and_then(|it| it.identity()) else { continue };
            tried += 1;
            for sample in samples(identity.element_type) {
                let value = Literal::Array(ArrayLiteral { data: sample.clone().into(), ..identity.clone() });
                let result =
                    fusebox_interpreter::evaluate(&module, &[Literal::Array(identity.clone()), value]).unwrap();
                assert_eq!(&result.as_array().unwrap().data[..], sample, "{op} of {ty}");
            }
        }
    }
    assert!(tried > 55, "{tried}");
}
