//! Conditions of graphs, which kernels set by a function of the system.

use fusebox_ptx::CONDITION;

use crate::harness::{Card, TARGET};

/// Returns a module whose kernel sets the condition `p0`, in each thread to another value.
fn setter(declaration: &str, call: &str) -> String {
    format!(
        "{TARGET}{declaration}\n.visible .entry k(.param .u64 p0)\n{{\n.reg .u64 %h;\n.reg .u32 %v;\n\
         ld.param.u64 %h, [p0];\nmov.u32 %v, %tid.x;\nadd.u32 %v, %v, 7;\n{call}\nret;\n}}\n"
    )
}

const DECLARATION: &str = ".extern .func cudaGraphSetConditional\n(\n.param .b64 a,\n.param .b32 b\n);";
const CALL: &str = "call.uni cudaGraphSetConditional, (%h, %v);";

#[test]
fn a_kernel_sets_a_condition() {
    let mut card = Card::new();
    let value = card.unwritten(4);
    card.run(&setter(DECLARATION, CALL), 1, 1, &[CONDITION + value]).unwrap();
    assert_eq!(card.words(value, 1), [7]);
}

#[test]
fn other_addresses_and_unordered_threads_are_faults() {
    let mut card = Card::new();
    let value = card.unwritten(4);
    let text = setter(DECLARATION, CALL);
    let fault = card.run(&text, 1, 1, &[value]).unwrap_err().to_string();
    assert!(fault.contains("cudaGraphSetConditional") && fault.contains("out of bounds"), "{fault}");
    let fault = card.run(&text, 1, 64, &[CONDITION + value]).unwrap_err().to_string();
    assert!(fault.contains("race") && fault.contains("cudaGraphSetConditional"), "{fault}");
}

#[test]
fn functions_and_calls_that_are_not_supported() {
    let error = |declaration: &str, call: &str| Card::new().load(&setter(declaration, call)).unwrap_err().to_string();
    let cases = [
        (DECLARATION, "call.uni cudaGraphSetConditional, (%h);", "has two parameters"),
        (DECLARATION, "call.uni cudaGraphSetConditional, (%v, %h);", "declared as"),
        (DECLARATION, "call.uni (%v), cudaGraphSetConditional, (%h, %v);", "operands"),
        (DECLARATION, "call.uni vprintf, (%h, %v);", "the function vprintf is not defined in the module"),
        ("", CALL, "the function cudaGraphSetConditional is not defined"),
        (".extern .func other(.param .b64 a);", "call.uni other, (%h);", "the function other is not defined"),
        (".extern .func cudaGraphSetConditional(.param .b32 a, .param .b32 b);", "", "a parameter of 64 bits"),
    ];
    for (declaration, call, expected) in cases {
        let message = error(declaration, call);
        assert!(message.contains(expected), "{declaration} {call}: {message}");
    }
}
