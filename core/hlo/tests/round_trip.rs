//! Checks that a module is the same after it has been printed or serialised and read again.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use fusebox_hlo::{
    ArrayLiteral, ArrayShape, Computation, ElementType, FloatFormat, InstrId, Instruction, Literal, Module, Op, Opcode,
    PrintOptions, Shape, Span, parse_module, print_module, print_module_with, read_proto, verify, write_proto,
};
use proptest::prelude::*;

const EVERY_OPCODE: &str = include_str!("every_opcode.hlo");

fn parsed(text: &str) -> Module {
    let mut module = parse_module(text, "test.hlo").unwrap_or_else(|faults| panic!("{}\n{text}", faults[0]));
    module.clear_source();
    module
}

/// Prints the module in both styles, serialises it, reads the results, and compares them with the
/// module.
fn assert_survives(module: &Module) {
    for percent in [false, true] {
        let text = print_module_with(module, &PrintOptions { percent, ..PrintOptions::default() });
        assert_eq!(&parsed(&text), module, "{text}");
    }
    assert_eq!(&read_proto(&write_proto(module)).unwrap(), module);
}

#[test]
fn every_opcode_is_read_verified_printed_and_serialised() {
    let module = parsed(EVERY_OPCODE);
    if let Err(faults) = verify(&module) {
        panic!("{}", faults.iter().map(|fault| format!("{fault}\n")).collect::<String>());
    }
    let used: Vec<Opcode> = module.computations.iter().flat_map(|c| &c.instructions).map(Instruction::opcode).collect();
    let missing: Vec<&Opcode> = Opcode::ALL.iter().filter(|opcode| !used.contains(opcode)).collect();
    assert!(missing.is_empty(), "not in every_opcode.hlo: {missing:?}");
    assert_survives(&module);
}

#[test]
fn optimised_text_with_tables_survives() {
    let text = r#"HloModule jit_f, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, must-alias) }, buffer_donor={ (0, {}) }, entry_computation_layout={(f32[2]{0:T(128)S(1)}, s4[3]{0:E(4)})->(f32[2]{0}, s4[3]{0:E(4)})}, allow_spmd_sharding_propagation_to_output={true}, num_partitions=2

FileNames
1 "a \"b\".py"

FunctionNames
1 "f"
2 "<lambda>"

FileLocations
1 {file_name_id=1 function_name_id=2 line=3 end_line=4 column=5 end_column=6}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=1 parent_frame_id=2}

%fused (p: f32[2]) -> f32[2] {
  %p = f32[2]{0:T(128)S(1)} parameter(0)
  ROOT %s = f32[2]{0} sine(f32[2]{0:T(128)S(1)} %p), metadata={op_name="jit(f)/sin" stack_frame_id=2}
}, execution_thread="side"

ENTRY %main (x: f32[2], q: s4[3]) -> (f32[2], s4[3]) {
  %x = f32[2]{0:T(128)S(1)} parameter(0), sharding={devices=[2]<=[2]}
  %q = s4[3]{0:E(4)} parameter(1), sharding={{replicated}, {devices=[1,2]0,1 last_tile_dim_replicate}}
  %f = f32[2]{0} fusion(%x), kind=kLoop, calls=%fused, backend_config={"a":[1,{"b":"}"}],"c":"\"{"}
  %c = f32[2]{0} custom-call(%x), custom_call_target="t\"u", backend_config="plain \"text\"\n", control-predecessors={%f}
  %t = (f32[2]{0}, s4[3]{0:E(4)}, /*index=2*/f32[2]{0}) tuple(%f, %q, /*index=2*/%c)
  %g = f32[2]{0} add(%t#0, %t#2)
  ROOT %r = (f32[2]{0}, s4[3]{0:E(4)}) tuple(%g, %t#1)
}
"#;
    let module = parsed(text);
    verify(&module).unwrap();
    assert!(module.is_scheduled);
    assert_eq!(module.num_partitions, 2);
    assert_eq!(module.debug_tables.stack_frames[1].parent_frame_id, 2);
    let entry = module.entry_computation().unwrap();
    let extra = |name: &str| entry.instruction(entry.find(name).unwrap()).extra.clone().unwrap();
    assert_eq!(extra("f").backend_config.unwrap(), r#"{"a":[1,{"b":"}"}],"c":"\"{"}"#);
    assert_eq!(extra("c").backend_config.unwrap(), "plain \"text\"\n");
    assert_eq!(extra("c").control_predecessors, [entry.find("f").unwrap()]);
    assert_eq!(module.computations[0].execution_thread.as_deref(), Some("side"));
    assert_survives(&module);
}

#[test]
fn shapes_may_be_left_out_where_they_follow() {
    let module = parsed(
        "HloModule m\nsum {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT z = add(x, y)\n}\nENTRY e {\n  \
         a = f32[2,3] parameter(0)\n  z = f32[] constant(0)\n  n = negate(a)\n  c = compare(a, n), direction=LT\n  \
         t = transpose(n), dimensions={1,0}\n  d = dot(a, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n  \
         r = reduce(a, z), dimensions={1}, to_apply=sum\n  ROOT all = tuple(c, d, r, multiply(a, abs(n)))\n}\n",
    );
    verify(&module).unwrap();
    let shape = &module.entry_computation().unwrap().root_instruction().shape;
    assert_eq!(shape.to_string(), "(pred[2,3], f32[2,2], f32[2], f32[2,3])");
    assert_survives(&module);
}

#[test]
fn text_without_entry_is_bare() {
    let named = parsed(
        "f {\n  ROOT a = f32[] parameter(0)\n}\nfusion {\n  ROOT a = f32[] parameter(0)\n}\ng {\n  ROOT a = f32[] parameter(0)\n}\n",
    );
    assert_eq!((named.bare, named.entry_computation().unwrap().name.as_str()), (true, "fusion"));
    let last = parsed("f {\n  ROOT a = f32[] parameter(0)\n}\ng {\n  ROOT a = f32[] parameter(0)\n}\n");
    assert_eq!((last.bare, last.entry_computation().unwrap().name.as_str()), (true, "g"));
    let lone = parsed("ROOT c = f32[2] add(f32[2] %a, f32[2] %b)\n");
    assert_eq!(lone.entry_computation().unwrap().parameters().len(), 2);
    verify(&lone).unwrap();
    for module in [named, last] {
        assert_survives(&module);
    }
}

/// Names that other writers of protobuf may choose, and misleading names.
const STRANGE_NAMES: &[&str] = &[
    "",
    " ",
    "a b",
    "a_b",
    "a\nb",
    "a\tb = f32[] add(c, d)",
    "%x",
    "%",
    "ROOT",
    "ENTRY",
    "HloModule",
    "StackFrames",
    "f32",
    "true",
    "inf",
    "parameter",
    "a=b",
    "a,b",
    "a)b",
    "(",
    "{",
    "}",
    "é",
    "\u{1b}[31mred\u{1b}[0m",
    "\0",
    "a->b",
    "->",
    "...",
    "..",
    "1e5",
    "1e+5",
    "-5",
    "-",
    ".",
    "a..b",
    "a.",
    "//c",
    "/*index=0*/",
    "\"q\"",
    "'",
    "\\",
    "to_apply",
    "x/y",
    "main",
    "\u{202e}rtl",
    "n_ROOT",
    "_",
    "a#b",
];

#[test]
fn names_that_only_protobuf_can_hold_give_way_to_others() {
    for &first in STRANGE_NAMES {
        for &second in STRANGE_NAMES.iter().filter(|&&second| second != first) {
            let mut module = parsed(
                "HloModule m\n\nf {\n  p = f32[2]{0} parameter(0)\n  ROOT n = f32[2]{0} negate(p)\n}\n\nENTRY e {\n  \
                 x = f32[2]{0} parameter(0)\n  y = f32[2]{0} call(x), to_apply=f\n  ROOT z = f32[2]{0} add(y, x)\n}\n",
            );
            module.name = first.into();
            let longest = first.repeat(300);
            for (computation, [own, a, b]) in
                module.computations.iter_mut().zip([[first, second, &longest], [second, first, ""]])
            {
                computation.name = own.into();
                computation.instructions[0].name = a.into();
                computation.instructions[1].name = b.into();
            }
            if longest.is_empty() || first.is_empty() {
                module.computations[0].instructions[1].name = "own".into();
                module.computations[1].instructions[1].name = "own".into();
            }
            let read = read_proto(&write_proto(&module)).unwrap();
            verify(&read)
                .unwrap_or_else(|faults| panic!("{first:?} {second:?}: {}\n{}", faults[0], print_module(&read)));
            assert_survives(&read);
            // If text can express a name, the name stays unchanged.
            if !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') {
                assert_eq!(read.computations[0].name, first);
            }
        }
    }
}

#[test]
fn asynchronous_forms_become_calls_of_one_operation() {
    let module = parsed(
        "HloModule m\nENTRY e {\n  a = f32[8] parameter(0)\n  \
         s = ((f32[8]), f32[4], s32[]) slice-start(a), slice={[0:4]}, async_execution_thread=\"x\"\n  \
         u = ((f32[8]), f32[4], s32[]) slice-update(s)\n  ROOT d = f32[4] slice-done(u)\n}\n",
    );
    verify(&module).unwrap();
    let wrapped = &module.computations[0];
    assert_eq!(wrapped.root_instruction().opcode(), Opcode::Slice);
    let start = &module.entry_computation().unwrap().instructions[1];
    assert_eq!(start.opcode(), Opcode::AsyncStart);
    assert_survives(&module);
}

#[test]
fn constants_are_read_to_the_bit() {
    let value = |shape: &str, text: &str| {
        let module = parsed(&format!("HloModule m\nENTRY e {{\n  ROOT a = {shape} constant({text})\n}}\n"));
        match &module.entry_computation().unwrap().root_instruction().op {
            Op::Constant(Literal::Array(array)) => array.data.to_vec(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(value("f32[]", "-nan"), 0xffc0_0000u32.to_le_bytes());
    assert_eq!(value("f32[]", "nan(0x400001)"), 0x7fc0_0001u32.to_le_bytes());
    assert_eq!(value("f16[]", "-inf"), 0xfc00u16.to_le_bytes());
    assert_eq!(value("bf16[]", "1.00390625"), 0x3f80u16.to_le_bytes());
    assert_eq!(value("bf16[]", "1.01171875"), 0x3f82u16.to_le_bytes());
    assert_eq!(value("f32[]", "-0"), 0x8000_0000u32.to_le_bytes());
    assert_eq!(value("f8e4m3fn[3]", "{448, 0.102, nan}"), [0x7e, 0x1d, 0x7f]);
    assert_eq!(value("s4[3]", "{-8, -1, 7}"), [0xf8, 0xff, 7]);
    assert_eq!(value("u4[2]", "{15, 0}"), [15, 0]);
    assert_eq!(value("pred[4]", "{true, 0, 1, false}"), [1, 0, 1, 0]);
    assert_eq!(value("u64[]", "18446744073709551615"), [255; 8]);
    assert_eq!(value("c64[1]", "{(1, -2)}"), [1f32.to_le_bytes(), (-2f32).to_le_bytes()].concat());
    assert_eq!(
        value("s32[2,1,2]", "{ { {1, -2} }, { /*i=1*/ {3, 4} } }"),
        [1i32, -2, 3, 4].map(i32::to_le_bytes).concat()
    );
    assert_eq!(value("s32[2,0]", "{ {}, {} }"), []);
    assert_eq!(value("s32[0,2]", "{ }"), []);
}

/// Returns a module with a single constant.
fn constant_module(element_type: ElementType, dims: Vec<i64>, data: Vec<u8>) -> Module {
    let literal = ArrayLiteral::new(element_type, dims.clone(), data).unwrap();
    let shape = Shape::Array(ArrayShape::new(element_type, dims));
    let root = Instruction::new("c", shape, Op::Constant(Literal::Array(literal)), Vec::new());
    let computation = Computation {
        name: "e".to_owned(),
        instructions: vec![root],
        root: InstrId(0),
        execution_thread: None,
        span: Span::default(),
    };
    let mut module = Module { name: "m".to_owned(), computations: vec![computation], ..Module::default() };
    module.entry = Some(fusebox_hlo::ComputationId(0));
    (module.replica_count, module.num_partitions) = (1, 1);
    module
}

/// Returns the bytes of an arbitrary valid element of this type, as a literal stores them.
fn element(element_type: ElementType, random: u64) -> Vec<u8> {
    let bits = element_type.bits();
    let size = element_type.byte_size();
    let kept = if bits >= 64 { random } else { random & ((1 << bits) - 1) };
    let value = if element_type.is_signed_integer() && bits < 8 {
        ((kept << (64 - bits)) as i64 >> (64 - bits)) as u64
    } else {
        kept
    };
    if element_type.is_complex() {
        let part = element_type.real_part();
        return [element(part, random), element(part, random.rotate_left(17))].concat();
    }
    value.to_le_bytes()[..size].to_vec()
}

proptest! {
    #[test]
    fn any_constant_survives(
        kind in 0..ElementType::ALL.len(),
        dims in prop::collection::vec(0i64..4, 0..4),
        random in prop::collection::vec(any::<u64>(), 64),
    ) {
        let element_type = ElementType::ALL[kind];
        let count = dims.iter().product::<i64>() as usize;
        let data: Vec<u8> = (0..count).flat_map(|at| element(element_type, random[at])).collect();
        let module = constant_module(element_type, dims, data);
        prop_assert_eq!(parsed(&print_module(&module)), module.clone());
        prop_assert_eq!(read_proto(&write_proto(&module)).unwrap(), module);
    }

    #[test]
    fn decoding_and_encoding_f32_patterns_is_exact(bits in any::<u32>()) {
        let format = FloatFormat::of(ElementType::F32).unwrap();
        let value = format.decode(bits.into());
        let expected = f32::from_bits(bits);
        prop_assert!(value == f64::from(expected) || (value.is_nan() && expected.is_nan()));
        if !expected.is_nan() {
            prop_assert_eq!(format.encode(value), u64::from(bits));
        }
    }
}
