//! Parses the attributes of custom calls. A registered function receives all of them, and a routine
//! looks for some by their names.

use std::sync::{Arc, Mutex};

use fusebox_core::hlo::ElementType::{BF16, F32, F64, Pred, S32, S64, U8};
use fusebox_routines::{
    ForeignCall, ForeignFunction, PreparedCall, Unsupported, Value, number_bytes, register_foreign_function,
    routine_for,
};

use crate::support::{execute, module};

type Entries = Vec<(String, Value)>;

/// A function that notes the attributes of its last call, which it then refuses.
#[derive(Default)]
struct Notes(Mutex<Entries>);

impl ForeignFunction for Notes {
    fn prepare(&self, call: &ForeignCall) -> Result<Box<dyn PreparedCall>, String> {
        self.0.lock().unwrap().clone_from(&call.attributes);
        Err("noted".into())
    }
}

/// Returns the text of a module that calls a function without operands.
fn call(target: &str, config: &str) -> String {
    // HLO text and Rust quote these texts in the same way.
    format!(
        "ENTRY e {{\n  ROOT c = u8[] custom-call(), custom_call_target=\"{target}\", backend_config={config:?}\n}}\n"
    )
}

/// Returns the attributes that a function which is registered as `target` receives.
fn received(target: &str, config: &str) -> Result<Entries, Unsupported> {
    let function = Arc::new(Notes::default());
    register_foreign_function(target, function.clone());
    let routine = routine_for(&module(&call(target, config)))?;
    assert!(execute(&*routine, &[], &mut [&mut [0]]).unwrap_err().to_string().contains("noted"));
    let entries = function.0.lock().unwrap().clone();
    Ok(entries)
}

/// Returns the description of the call of a callback with these attributes.
fn callback(config: &str) -> Result<String, Unsupported> {
    routine_for(&module(&call("fusebox_python_callback", config))).map(|routine| routine.describe())
}

#[test]
fn values_of_all_kinds_are_parsed() {
    let number = |element, text: &str| Value::Number(element, text.into());
    let numbers = |element, texts: &[&str]| Value::Numbers(element, texts.iter().map(|&it| it.into()).collect());
    let cases = [
        ("76 : ui8", number(U8, "76")),
        ("-3", number(S64, "-3")),
        ("1.5e+00 : f32", number(F32, "1.5e+00")),
        ("2.5", number(F64, "2.5")),
        ("true", Value::Flag(true)),
        (r#""a \"b\", \\ \41 = {""#, Value::Text("a \"b\", \\ A = {".into())),
        ("array<i32: 1, -2>", numbers(S32, &["1", "-2"])),
        ("array<f64>", numbers(F64, &[])),
        ("dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>", numbers(S32, &["1", "2", "3", "4"])),
        ("dense<1.0> : tensor<2xbf16>", numbers(BF16, &["1.0", "1.0"])),
        ("dense<true> : tensor<i1>", numbers(Pred, &["true"])),
        ("dense<\"0x01000000FF000000\"> : tensor<2xi32>", Value::Bytes(S32, vec![1, 0, 0, 0, 255, 0, 0, 0])),
        ("[1 : i64, \"x\"]", Value::List(vec![number(S64, "1"), Value::Text("x".into())])),
        (
            "{inner = 2 : i32, on}",
            Value::Dictionary(vec![("inner".into(), number(S32, "2")), ("on".into(), Value::Flag(true))]),
        ),
        ("@symbol", Value::Other("@symbol".into())),
    ];
    for (text, value) in cases {
        let entries = received("test.values", &format!("{{first = {text}, \"second.name\" = 7 : i64}}"));
        let expected = [("first".into(), value), ("second.name".into(), number(S64, "7"))];
        assert_eq!(entries.unwrap(), expected, "{text}");
        let described = callback(&format!("{{first = {text}, \"id\" = 7 : i64}}"));
        assert_eq!(described.as_deref(), Ok("a call of the process's function 7"), "{text}");
    }
}

#[test]
fn other_texts_are_empty_or_refused() {
    for empty in ["plain text", " {} "] {
        assert_eq!(received("test.texts", empty), Ok(Vec::new()), "{empty}");
    }
    for wrong in [
        "{",
        "{a = }",
        "{a = \"x}",
        "{a = 1} b",
        "{a = dense<[1]> : tensor<2xi32>}",
        "{= 1}",
        "{a b}",
        "{a = dense<1> : tensor<99999999999xi8>}",
        &format!("{{a = {}", "[".repeat(100_000)),
    ] {
        let refused = received("test.texts", wrong).unwrap_err();
        assert!(refused.to_string().contains("no MLIR dictionary"), "{wrong}: {refused}");
    }
    let refused = callback("{id = x}").unwrap_err();
    assert!(refused.to_string().contains("`id = x`"), "{refused}");
}

#[test]
fn numbers_have_the_bytes_of_their_types() {
    assert_eq!(number_bytes(S32, "-2").unwrap(), [254, 255, 255, 255]);
    assert_eq!(number_bytes(U8, "255").unwrap(), [255]);
    assert_eq!(number_bytes(F32, "1.5").unwrap(), 1.5_f32.to_le_bytes());
    assert_eq!(number_bytes(F32, "0x7FC00000").unwrap(), f32::NAN.to_le_bytes());
    assert_eq!(number_bytes(BF16, "1.0").unwrap(), [0x80, 0x3f]);
    assert_eq!(number_bytes(F64, "0.1").unwrap(), 0.1_f64.to_le_bytes());
    assert!(number_bytes(U8, "256").is_err() && number_bytes(S32, "x").is_err());
}
