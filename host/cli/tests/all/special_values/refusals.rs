//! Checks the operations that a type does not have. The table of these operations must be complete,
//! and the verifier must accept all other operations.

use fusebox_core::hlo::{BinaryOp, UnaryOp};

use super::cases::OperationsModule;

const OF_BITS: &[&str] = &[
    "count-leading-zeros",
    "not",
    "popcnt",
    "and",
    "mulhi",
    "or",
    "shift-left",
    "shift-right-arithmetic",
    "shift-right-logical",
    "xor",
];

const OF_NUMBERS: &[&str] = &[
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atanh",
    "cbrt",
    "cosh",
    "cosine",
    "exponential",
    "exponential-minus-one",
    "imag",
    "log",
    "log-plus-one",
    "logistic",
    "real",
    "rsqrt",
    "sine",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "atan2",
];

const OF_REALS: &[&str] = &["ceil", "erf", "floor", "is-finite", "round-nearest-afz", "round-nearest-even"];

/// Returns the operations that the type does not have. Considers only operations without
/// attributes.
fn refused(ty: &str) -> Vec<&'static str> {
    let case = OperationsModule::all(ty.parse().unwrap());
    let has = |name: &str| case.steps.iter().any(|step| step.operation.starts_with(&format!("{name}(")));
    let unary = UnaryOp::ALL.iter().map(|op| op.opcode().name());
    let binary = BinaryOp::ALL.iter().map(|op| op.opcode().name());
    unary.chain(binary).filter(|name| !has(name)).collect()
}

fn assert_refused(types: &[&str], parts: &[&[&'static str]]) {
    let mut expected = parts.concat();
    expected.sort_unstable();
    for ty in types {
        let mut found = refused(ty);
        found.sort_unstable();
        assert_eq!(found, expected, "{ty}");
    }
}

#[test]
fn types_have_all_other_operations() {
    assert_refused(&["f32", "f64"], &[OF_BITS]);
    assert_refused(&["bf16", "f16", "f8e5m2", "f8e8m0fnu", "f4e2m1fn"], &[OF_BITS, &["complex"]]);
    assert_refused(&["c64", "c128"], &[OF_BITS, OF_REALS, &["complex", "remainder"]]);
    assert_refused(&["s2", "s8", "s64", "u4", "u32"], &[OF_NUMBERS, OF_REALS, &["complex"]]);
    let numeric: &[&str] = &["abs", "negate", "sign", "divide", "power", "remainder", "complex"];
    let bits: Vec<&str> = OF_BITS.iter().copied().filter(|op| !["not", "and", "or", "xor"].contains(op)).collect();
    assert_refused(&["pred"], &[OF_NUMBERS, OF_REALS, numeric, &bits]);
}
