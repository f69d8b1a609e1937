//! Checks the parser of kernel IR.

use fusebox_core::ir::{Attribute, Float, Function, OpKind, Operation, Scalar, Type};
use fusebox_kernel_text::parse;

/// Returns the text of a function with this body.
fn text(body: &str) -> String {
    format!(
        "\"func.func\"() <{{function_type = (f32, index) -> f32, sym_name = \"f\"}}> ({{\n^bb0(%x: f32, %i: index):\n\
         {body}\n\"func.return\"(%x) : (f32) -> ()\n}}) {{fusebox.entry}} : () -> ()"
    )
}

#[track_caller]
fn read(body: &str) -> Function {
    parse("k", &text(body)).unwrap_or_else(|error| panic!("{body}: {error}")).remove(0)
}

fn complaint(text: &str) -> String {
    parse("k", text).unwrap_err().to_string()
}

/// Parses a constant and returns its value.
#[track_caller]
fn constant(value: &str, ty: &str) -> Attribute {
    let function = read(&format!("%c = \"arith.constant\"() {{value = {value}}} : () -> {ty}"));
    function.body.operations[0].attribute("value").unwrap().clone()
}

#[test]
fn all_forms_of_an_operation() {
    let function = read(
        r#"%c = "arith.constant"() <{value = true}> : () -> i1 loc("here")
  %r:2, %s = "scf.if"(%c) ({
    %a, %b = "arith.mului_extended"(%i, %i) : (index, index) -> (index, index)
    "scf.yield"(%a, %b, %x) {a, "b c" = [@g, @"h i", unit]} : (index, index, f32) -> () loc("in"("f.rs":3:4))
  }, {
  ^else:
    %a = "arith.addi"(%i, %i) : (index, index) -> index loc(fused["x", "g.rs":5:6])
    "scf.yield"(%a, %a, %x) : (index, index, f32) -> () loc(unknown)
  }) {fastmath = #arith.fastmath<nnan>, m = affine_map<(d0, d1) -> (d1)>} : (i1) -> (index, index, f32)
  // A comment with { and (.
  %n = "arith.addi"(%r#1, %r) : (index, index) -> index"#,
    );
    assert_eq!(function.name, "f");
    assert!(!function.private);
    assert_eq!(function.attribute("fusebox.entry"), Some(&Attribute::Unit));
    assert_eq!(function.results, [Type::F32]);
    let [_, branch, sum, _] = &function.body.operations[..] else { panic!("{function}") };
    assert_eq!(branch.attribute("m"), Some(&Attribute::raw("affine_map<(d0, d1) -> (d1)>")));
    assert_eq!(branch.results.len(), 3);
    assert_eq!(sum.operands, [branch.results[1], branch.results[0]]);
    let places = |operations: &[Operation]| operations.iter().map(|op| op.place.to_string()).collect::<Vec<_>>();
    assert_eq!(places(&function.body.operations), ["here", "k:4:14", "k:13:8", "k:14:1"]);
    assert_eq!(places(&branch.regions[0].operations), ["k:5:14", "in (f.rs:3:4)"]);
    assert_eq!(places(&branch.regions[1].operations), ["x (g.rs:5:6)", "unknown"]);
    assert_eq!(
        branch.regions[0].operations[1].attributes,
        [
            ("a".into(), Attribute::Unit),
            ("b c".into(), Attribute::Array(vec![Attribute::symbol("g"), Attribute::symbol("h i"), Attribute::Unit]))
        ]
    );
}

#[test]
fn several_functions_and_none() {
    assert_eq!(parse("k", "").unwrap(), []);
    let one = text("").replace("%", "%v");
    let two = parse("k", &(one.clone() + &one.replace("\"f\"", "\"g\", sym_visibility = \"private\""))).unwrap();
    assert!(!two[0].private && two[1].private && two[1].name == "g");
    assert_eq!(two[0].argument_attributes, [vec![], vec![]]);
    let given = one.replace("fusebox.entry", "arg_attrs = [{a = 1}, {}]");
    assert_eq!(parse("k", &given).unwrap()[0].argument_attributes[0], [("a".into(), Attribute::i64(1))]);
}

#[test]
fn integers_mean_signed_ones() {
    let int = |value: i64, ty: Scalar| Attribute::Int(value, ty.into());
    for (value, ty, expected) in [
        ("255 : i8", "i8", int(-1, Scalar::I8)),
        ("-128 : i8", "i8", int(-128, Scalar::I8)),
        ("0x7F : i8", "i8", int(127, Scalar::I8)),
        ("7", "i64", Attribute::i64(7)),
        ("18446744073709551615 : i64", "i64", Attribute::i64(-1)),
        ("-1 : i128", "i128", int(-1, Scalar::Int(128))),
        ("-9223372036854775808 : index", "index", int(i64::MIN, Scalar::Index)),
        ("1 : i1", "i1", Attribute::Bool(true)),
        ("-1 : i1", "i1", Attribute::Bool(true)),
        ("false", "i1", Attribute::Bool(false)),
    ] {
        assert_eq!(constant(value, ty), expected, "{value}");
    }
}

#[test]
fn floats_are_rounded_to_nearest_even() {
    for (value, bits, ty) in [
        ("1.0 : f32", 0x3F80_0000, Float::F32),
        ("-1.500000e-03 : f32", u64::from((-1.5e-3f32).to_bits()), Float::F32),
        // If this number were rounded to f64 first, the result would be one less.
        ("1.00000017881393432617187499 : f32", 0x3F80_0001, Float::F32),
        ("1.00000017881393432617187501 : f32", 0x3F80_0002, Float::F32),
        ("0x7FC00000 : f32", 0x7FC0_0000, Float::F32),
        ("-0.0 : f64", 1 << 63, Float::F64),
        ("0.1", 0.1f64.to_bits(), Float::F64),
        ("1.0e400 : f32", 0x7F80_0000, Float::F32),
        ("65520.0 : f16", 0x7C00, Float::F16),
        ("0.1 : bf16", 0x3DCD, Float::BF16),
        ("2.5 : f4E2M1FN", 4, Float::F4E2M1FN),
        ("0x7 : f4E2M1FN", 7, Float::F4E2M1FN),
    ] {
        assert_eq!(constant(value, &ty.name()), Attribute::Float(bits, ty), "{value}");
    }
}

#[test]
fn dense_constants_are_bytes_in_memory() {
    let splat = |bytes: &[u8], ty: &str| (Vec::from(bytes), ty.to_owned());
    for (value, (bytes, ty)) in [
        ("dense<[3, -1]>", splat(&[3, 0, 0xff, 0xff], "tensor<2xi16>")),
        ("dense<[[1, 2], [3, 4]]>", splat(&[1, 2, 3, 4], "tensor<2x2xi8>")),
        ("dense<-1>", splat(&[15], "tensor<8xi4>")),
        ("dense<5.0>", splat(&5f32.to_le_bytes(), "vector<4xf32>")),
        ("dense<[true, false]>", splat(&[1, 0], "tensor<2xi1>")),
        ("dense<\"0x05\">", splat(&[1, 0, 1], "tensor<3xi1>")),
        ("dense<\"0xFF\">", splat(&[1], "tensor<3xi1>")),
        ("dense<\"0xFFF7\">", splat(&[15, 7], "tensor<2xi4>")),
        ("dense<\"0x0102\">", splat(&[1, 2], "tensor<1000xi16>")),
        ("dense<>", splat(&[], "tensor<0xf32>")),
        ("dense<[]>", splat(&[], "tensor<0x4xf32>")),
        ("dense<1>", splat(&[], "tensor<0xi8>")),
        ("dense<1>", splat(&[1, 0, 0, 0, 0, 0, 0, 0], "vector<4xindex>")),
        ("dense<-2>", splat(&[&[254][..], &[255; 15]].concat(), "tensor<2xi128>")),
        ("dense<(1.0, -2.0)>", splat(&[0, 0, 128, 63, 0, 0, 0, 192], "tensor<3xcomplex<f32>>")),
        ("dense<7>", splat(&[7], "tensor<i8>")),
    ] {
        let Attribute::Dense(_, found) = constant(&format!("{value} : {ty}"), &ty) else { panic!("{value}") };
        assert_eq!(found[..], bytes[..], "{value} : {ty}");
    }
}

#[test]
fn maps_and_flags_are_read() {
    let function = read(
        r#"%a = "xla_gpu.apply_indexing"(%i) {map = "(d0) -> (d0 * 2), domain: d0 in [0, 3]"} : (index) -> index
%b = "gpu.thread_id"() {dimension = #gpu<dim x>, map = "no map", s = array<i32: 1, -2>, t = array<i64>} : () -> index"#,
    );
    let [apply, id, _] = &function.body.operations[..] else { panic!("{function}") };
    assert!(matches!(apply.attribute("map"), Some(Attribute::Map(map)) if map.results.len() == 1));
    assert_eq!((id.kind, id.attribute("map")), (OpKind::ThreadId, Some(&Attribute::str("no map"))));
    assert_eq!(id.attribute("dimension"), Some(&Attribute::raw("#gpu<dim x>")));
    assert_eq!(id.attribute("s"), Some(&Attribute::I32Array(vec![1, -2])));
    assert_eq!(id.integers("t"), Some(&[][..]));
}

#[test]
fn other_forms_are_refused_at_their_place() {
    for (text, expected) in [
        ("\narith.constant 1 : i32", "k:2:1: expected an operation in generic form"),
        ("} \"a\"() : () -> ()", "generic form"),
        ("\"func.func\"() : () -> (", "expected `(`"),
        ("\"func.func\"(}) : () -> ()", "expected `)`"),
        ("\"a", "does not end"),
        ("#map = affine_map<(d0) -> (d0)>", "generic form"),
        ("\"builtin.module\"() ({}) : () -> ()", "expected `\"func.func\"`"),
        ("\"func.func\"() ({}) {function_type = () -> ()} : () -> ()", "needs the attribute `sym_name`"),
        ("\"func.func\"() ({}) {sym_name = \"f\"} : () -> ()", "needs the attribute `function_type`"),
        ("\"func.func\"() ({}) {sym_name = \"f\", function_type = () -> ()} : () -> i32", "write `: () -> ()`"),
        (
            "\"func.func\"() ({}) {sym_name = \"f\", function_type = (f32) -> ()} : () -> ()",
            "differ from its `function_type`",
        ),
    ] {
        assert!(complaint(text).contains(expected), "{text}: {}", complaint(text));
    }
    for (body, expected) in [
        ("\"a.b\"() : () -> ()", "k:3:1: the operation `a.b` is not part of the kernel IR"),
        ("\"scf.yield\"() : () -> !x.y<!x.y<i1>>", "the type `!x.y` is not part"),
        ("\"scf.yield\"() {a = #map} : () -> ()", "the attribute `#map` is not part"),
        ("\"scf.yield\"() ({ ^a: \"scf.yield\"() : () -> () ^b: }) : () -> ()", "a region has one block"),
        ("\"scf.yield\"()[^a] : () -> ()", "expected `:`"),
        ("\"scf.yield\"() : () -> i32 \u{e9}", "not part of the kernel IR"),
        ("\"scf.yield\"(%a) : (f32) -> ()", "k:3:13: the value `%a` is not defined here"),
        ("\"scf.yield\"(%x#1) : (f32) -> ()", "`%x` has no result 1"),
        ("\"scf.yield\"(%x) : (f64) -> ()", "k:3:20: the operand is of type f32, not f64"),
        ("\"scf.yield\"(%x) : () -> ()", "more operands than types"),
        ("\"scf.yield\"() : (f32) -> ()", "more types than operands"),
        ("%a, %b = \"scf.yield\"() : () -> f32", "the operation has 1 results, 2 are named"),
        ("%i = \"scf.yield\"() : () -> f32", "k:3:1: there is a value `%i` already"),
        ("\"scf.yield\"() ({ %i = \"tensor.empty\"() : () -> f32 }) : () -> ()", "there is a value `%i` already"),
        ("%a = \"scf.if\"() ({ \"scf.yield\"(%a) : (f32) -> () }) : () -> f32", "`%a` is not defined here"),
        (
            "\"scf.if\"() ({ %a = \"tensor.empty\"() : () -> f32 }) : () -> ()\n\"scf.yield\"(%a) : (f32) -> ()",
            "k:4:13: the value `%a` is not defined here",
        ),
        ("\"scf.yield\"() {a, a} : () -> ()", "two attributes `a`"),
        ("\"scf.yield\"() <{a}> {a = 1} : () -> ()", "two attributes `a`"),
        ("\"scf.yield\"() {a = dense<[1, 2]> : tensor<3xi8>} : () -> ()", "2 elements where there should be 3"),
        ("\"scf.yield\"() {a = dense<\"0x0102\"> : tensor<4xf32>} : () -> ()", "2 bytes do not make a tensor<4xf32>"),
        ("\"scf.yield\"() {a = dense<1> : tensor<?xi8>} : () -> ()", "sizes of tensors and vectors are numbers"),
        ("\"scf.yield\"() {a = 1 : f32} : () -> ()", "floats have a point"),
        ("\"scf.yield\"() {a = 0xFFFFFFFFFFFF : f32} : () -> ()", "is no number of type f32"),
        ("\"scf.yield\"() {a = 1.0 : index} : () -> ()", "`1.0` is no number of type index"),
        ("\"scf.yield\"() {a = 256 : i8} : () -> ()", "`256` is no number of type i8"),
        ("\"scf.yield\"() {a = -129 : i8} : () -> ()", "`-129` is no number of type i8"),
        ("\"scf.yield\"() {a = 1 : i0} : () -> ()", "the type `i0` is not part"),
        ("\"scf.yield\"() {a = 99999999999999999999999999 : i64} : () -> ()", "is no number of type i64"),
        ("\"scf.yield\"() {a = 99999999999999999999999999 : i128} : () -> ()", "constants have no more bits"),
        ("\"scf.yield\"() {a = \"\\ff\"} : () -> ()", "not UTF-8"),
        ("\"scf.yield\"() {a = \"\\q\"} : () -> ()", "after `\\` in quotes"),
        (
            "%a = \"xla_gpu.apply_indexing\"(%i) {map = \"(d0) -> (d0\"} : (index) -> index",
            "k:3:6: 'xla_gpu.apply_indexing' has a map that does not parse",
        ),
    ] {
        let found = complaint(&text(body));
        assert!(found.contains(expected), "{body}: {found}");
    }
}

#[test]
fn there_is_a_bounded_amount_of_everything() {
    let nested = |open: &str, close: &str, depth: usize| open.repeat(depth) + &close.repeat(depth);
    let regions = |depth| text(&nested("\"scf.yield\"() ({", "}) : () -> ()", depth));
    assert!(complaint(&regions(200_000)).contains("65 nested regions; kernels have at most 64"));
    parse("k", &regions(63)).unwrap();

    let attribute = |value: &str| complaint(&text(&format!("\"scf.yield\"() {{b = {value}}} : () -> ()")));
    for value in [nested("[", "]", 100_000), nested("{a = ", "}", 1000), "affine_map".to_owned() + &"<".repeat(100)] {
        assert!(attribute(&value).contains("nested brackets"), "{}", attribute(&value));
    }
    let place = format!("\"scf.yield\"() : () -> () loc({}", "\"a\"(".repeat(1000));
    assert!(complaint(&text(&place)).contains("nested brackets"));
    for sum in ["d0 + ".repeat(1000), "-".repeat(1000), "d0 * ".repeat(1000)] {
        let map = attribute(&format!("affine_map<(d0) -> ({sum}d0)>"));
        assert!(map.contains("words in an affine map"), "{map}");
    }
    assert!(attribute(&"1".repeat(1000)).contains("1000 digits of a number"));
    let many: Vec<String> = (0..1000).map(|i| format!("a{i}")).collect();
    assert!(attribute(&format!("{{{}}}", many.join(", "))).contains("257 attributes of one operation"));
    let body = |body: &str| complaint(&text(body));
    assert!(body("\"scf.yield\"(%x#4294967295) : () -> ()").contains("`#4294967295` results"));
    assert!(body("%0:4000000000 = \"scf.yield\"() : () -> ()").contains("`4000000000` results"));
    for (ty, expected) in [
        ("vector<1000000000xf32>", "of 1000000000 lanes; vectors have at most 1024"),
        ("vector<0xf32>", "of 0 lanes"),
        ("vector<2x3xf32>", "of 2 dimensions; vectors have one"),
        ("!amx.tile<17x16xf32>", "in a tile of 17 rows of 16 f32; tile registers have at most 16 rows of 64 bytes"),
        ("!amx.tile<16x17xf32>", "in a tile of 16 rows of 17 f32"),
        ("!amx.tile<0x16xf32>", "in a tile of 0 rows of 16 f32"),
        ("!amx.tile<16x31xbf16>", "in a tile of 16 rows of 31 bf16"),
        ("!amx.tile<16x9223372036854775807xi32>", "in a tile of 16 rows of 9223372036854775807 i32"),
        ("!amx.tile<16x8xf64>", "in a tile of f64; tile registers are of i8, i32, bf16 or f32"),
        ("!amx.tile<16xf32>", "a tile has two dimensions, as in `16x32xbf16`"),
        ("i16000000", "of 16000000 bits; integers have at most 128"),
        ("tensor<4294967296x4294967296xf32>", "is not statically shaped, or larger than any memory"),
        (
            "tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>",
            "of 65 dimensions",
        ),
    ] {
        let found = body(&format!("%t = \"tensor.empty\"() : () -> {ty}"));
        assert!(found.contains(expected), "{ty}: {found}");
    }
}
