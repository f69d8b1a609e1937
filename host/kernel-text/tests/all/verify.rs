//! Checks that valid functions are accepted, and checks the errors of invalid functions.
//!
//! `malformed/NAME.mlir` is a text with one fault, and `malformed/NAME.expected` contains the
//! error. `FUSEBOX_BLESS=1` updates the expected errors.

use std::fmt::Write;
use std::path::Path;

use fusebox_core::builder::{Attribute, FunctionBuilder, Scalar, Type};
use fusebox_core::ir::{Form, Function, OpKind, Operation, Region, verify};
use fusebox_kernel_text::parse;
use proptest::prelude::*;

use crate::built::{Choices, callees, function};

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn what_the_builder_makes_is_valid(choices in prop::collection::vec(any::<u32>(), 0..300)) {
        let mut functions = vec![function(&mut Choices(&choices))];
        functions.extend(callees(&functions[0]));
        let verdict = verify(&functions);
        prop_assert!(verdict.is_ok(), "{}\n{}", verdict.unwrap_err(), functions[0]);
    }
}

#[test]
fn malformed_files_are_refused_with_their_messages() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/malformed");
    let bless = std::env::var_os("FUSEBOX_BLESS").is_some();
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str().map(str::to_owned))
        .filter(|name| name.ends_with(".mlir"))
        .collect();
    names.sort();
    assert!(names.len() >= 60, "only {} malformed texts", names.len());
    let mut differences = String::new();
    for name in names {
        let text = std::fs::read_to_string(folder.join(&name)).unwrap();
        let functions = parse(&name, &text).unwrap_or_else(|error| panic!("{error}"));
        let found = match verify(&functions) {
            Ok(()) => panic!("{name} is accepted"),
            Err(error) => format!("{error}\n"),
        };
        let expected_path = folder.join(name.replace(".mlir", ".expected"));
        if bless {
            std::fs::write(&expected_path, &found).unwrap();
        }
        let expected = std::fs::read_to_string(&expected_path).unwrap_or_default();
        if expected != found {
            write!(differences, "{name} expected\n{expected}found\n{found}\n").unwrap();
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

/// Returns a function whose body consists of these operations and a return.
fn of_operations(operations: Vec<Operation>, types: Vec<Type>) -> Function {
    let mut body = Region { arguments: Vec::new(), operations };
    body.operations.push(Operation::new(OpKind::Return, Vec::new(), Vec::new()));
    Function {
        name: "f".into(),
        private: false,
        attributes: Vec::new(),
        argument_attributes: Vec::new(),
        results: Vec::new(),
        body,
        types,
    }
}

/// Checks that the operation table describes every operation. The verifier must refuse an empty
/// operation of each kind by a specific rule.
#[test]
fn every_operation_has_a_rule() {
    for &kind in OpKind::ALL {
        let verdict = verify(&[of_operations(vec![Operation::new(kind, Vec::new(), Vec::new())], Vec::new())]);
        // A barrier needs no tensors.
        if kind == OpKind::SyncThreads {
            verdict.unwrap();
            continue;
        }
        let error = verdict.unwrap_err().to_string();
        assert!(!error.contains("without a rule"), "{error}");
        let names_what_is_missing =
            ["; it has () -> ()", "needs the attribute"].iter().any(|part| error.contains(part));
        assert!(kind.form() == Form::Own || names_what_is_missing, "{error}");
    }
}

#[test]
fn values_are_defined_once_and_before_they_are_used() {
    let mut made = FunctionBuilder::new("f");
    let one = made.index(1);
    made.addi(one, one);
    made.ret(&[]);
    let valid = made.finish().unwrap();
    verify(std::slice::from_ref(&valid)).unwrap();

    let complaint = |change: &dyn Fn(&mut Function)| {
        let mut function = valid.clone();
        change(&mut function);
        verify(&[function]).unwrap_err().to_string()
    };
    let early = complaint(&|function| function.body.operations.swap(0, 1));
    assert!(early.contains("'arith.addi' takes as operand 0 a value that is not defined there"), "{early}");
    let twice = complaint(&|function| function.body.operations[1].results = vec![one]);
    assert!(twice.contains("'arith.addi' defines a value that is defined before"), "{twice}");
    let untyped = complaint(&|function| function.types.truncate(1));
    assert!(untyped.contains("'arith.addi' defines a value that is defined before, or has no type"), "{untyped}");
    let huge = complaint(&|function| function.types[1] = Type::tensor(&[i64::MAX, 4], Scalar::F32));
    assert!(huge.contains("'arith.addi' has a value whose tensor is not statically shaped, or larger than"), "{huge}");
    let endless = complaint(&|function| _ = function.body.operations.pop());
    assert!(endless.contains("the function @f has a region that does not end with `func.return`"), "{endless}");
    let text = complaint(&|function| function.argument_attributes = vec![vec![("a".into(), Attribute::Unit)]]);
    assert!(text.contains("the function @f has attributes of 1 arguments, and 0 arguments"), "{text}");
}

#[test]
fn regions_are_nested_so_deep() {
    let mut inner = Operation::new(OpKind::Yield, Vec::new(), Vec::new());
    for _ in 0..100 {
        let mut outer = Operation::new(OpKind::IndexSwitch, Vec::new(), Vec::new());
        outer.regions.push(Region { arguments: Vec::new(), operations: vec![inner] });
        inner = outer;
    }
    let error = verify(&[of_operations(vec![inner], Vec::new())]).unwrap_err().to_string();
    assert!(error.contains("is nested in 65 regions; kernels have at most 64 nested regions"), "{error}");
}
