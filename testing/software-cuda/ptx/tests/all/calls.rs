//! Functions that kernels call.

use crate::harness::{Card, TARGET, kernel};

/// Returns a module with functions before a kernel with this body.
fn module(functions: &str, registers: &str, body: &str) -> String {
    kernel(1, registers, body).replace(TARGET, &format!("{TARGET}{functions}"))
}

/// A function that returns the sum of a number and a word in memory, or a copy of the number.
const PAIR: &str = ".func (.param .align 8 .b8 result[8]) pair(.param .b32 number, .param .b64 place)
{
.reg .b32 %a, %b;
.reg .b64 %p;
.reg .pred %q;
ld.param.b32 %a, [number];
setp.lt.u32 %q, %a, 3;
@%q bra L;
ld.param.b64 %p, [place];
ld.global.b32 %b, [%p];
add.u32 %b, %a, %b;
st.param.b32 [result], %b;
st.param.b32 [result+4], 7;
ret;
L:
st.param.v2.b32 [result], {%a, %a};
ret;
}
";

/// A call of the function with the number `%a`, into `%b` and `%c`.
const CALL: &str = "{ .param .b32 x; .param .b64 y; .param .align 8 .b8 z[8]; st.param.b32 [x], %a;
st.param.b64 [y], %p0; call.uni (z), pair, (x, y); ld.param.b32 %b, [z]; ld.param.b32 %c, [z+4]; }\n";
const REGISTERS: &str = ".reg .b32 %a, %b, %c; .reg .b64 %l; .reg .pred %q;";
const STORE: &str = "mul.wide.u32 %l, %tx, 8; add.u64 %l, %l, %p0; st.global.v2.b32 [%l+8], {%b, %c};";

fn run(functions: &str, body: &str, threads: u32) -> Vec<u32> {
    let mut card = Card::new();
    let array = card.array(&[&100u32.to_le_bytes()[..], &[0; 1020]].concat());
    let text = module(functions, REGISTERS, body);
    card.run(&text, 1, threads, &[array]).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    card.words(array + 8, 2 * threads as usize)
}

fn expected(number: u32) -> [u32; 2] {
    if number < 3 { [number; 2] } else { [number + 100, 7] }
}

#[test]
fn threads_return_from_several_places() {
    let found = run(PAIR, &format!("mov.u32 %a, %tx;\n{CALL}{STORE}"), 40);
    assert_eq!(found, (0..40).flat_map(expected).collect::<Vec<u32>>());
}

#[test]
fn a_function_is_called_by_functions_and_by_some_threads() {
    let outer = ".func twice(.param .b64 place);\n.func (.param .b32 out) other(.param .b32 in)\n{\n.reg .b32 %r<3>;\n\
        ld.param.b32 %r0, [in];\n{ .param .b32 p; .param .b64 q; .param .align 8 .b8 r[8];\nst.param.b32 [p], %r0;\n\
        st.param.b64 [q], 0;\ncall.uni (r), pair, (p, q);\nld.param.b32 %r1, [r+4]; }\nadd.u32 %r2, %r1, 1000;\n\
        st.param.b32 [out], %r2;\nret;\n}\n";
    let body = "mov.u32 %a, %tx; mov.u32 %b, 5; mov.u32 %c, 6; setp.lt.u32 %q, %tx, 2;\n\
        { .param .b32 i; .param .b32 o; st.param.b32 [i], %a; st.param.b32 [o], 9; @%q call (o), other, (i);\n\
        ld.param.b32 %b, [o]; }\n";
    let found = run(&format!("{PAIR}{outer}"), &format!("{body}{STORE}"), 4);
    assert_eq!(found, [1000, 6, 1001, 6, 9, 6, 9, 6]);
}

/// Checks that a fault in a function is at the line of the function.
#[test]
fn faults_are_in_the_function() {
    let mut card = Card::new();
    let array = card.unwritten(1024);
    let text = module(PAIR, REGISTERS, &format!("mov.u32 %a, %tx;\n{CALL}{STORE}"));
    let place = card.run(&text, 1, 8, &[array]).unwrap_err().place.unwrap();
    assert_eq!((&*place.instruction, place.thread[0]), ("ld.global.b32 %b, [%p];", 3));
    assert_eq!(text.lines().nth(place.line as usize - 1), Some("ld.global.b32 %b, [%p];"));
    // A result that the function does not write.
    let text =
        module(&PAIR.replace("st.param.b32 [result+4], 7;", ""), REGISTERS, &format!("mov.u32 %a, 5;\n{CALL}{STORE}"));
    let mut card = Card::new();
    let array = card.array(&[0; 1024]);
    let fault = card.run(&text, 1, 1, &[array]).unwrap_err().to_string();
    assert!(fault.contains("in local memory was never written"), "{fault}");
}

#[test]
fn calls_that_are_not_supported_are_refused() {
    let refused = |functions: &str, call: &str| {
        let text = module(functions, REGISTERS, call);
        Card::new().load(&text).map(|_| ()).unwrap_err().to_string()
    };
    let call = CALL.replace("call.uni (z), pair, (x, y);", "CALL");
    let with = |functions: &str, other: &str| refused(functions, &call.replace("CALL", other));
    assert!(with(PAIR, "call.uni (z), pear, (x, y);").contains("the function pear is not defined in the module"));
    assert!(with(PAIR, "call.uni (z), pair, (x);").contains("passes 1 variables; the function has 2"));
    assert!(with(PAIR, "call.uni (z), pair, (x, x);").contains("place has 8 bytes, but the call passes 4"));
    assert!(with(PAIR, "call.uni (z), pair, (%a, y);").contains("no .param variable"));
    assert!(with(PAIR, "call.uni (z), pair, (x, p0);").contains("a parameter of the kernel"));
    assert!(with(PAIR, "call (z), %l, (x, y), proto;").contains("name is in a register"));
    let endless = ".func endless()\n{\ncall endless;\nret;\n}\n";
    assert!(refused(endless, "call endless;").contains("the function endless calls itself"));
    let open = ".func open()\n{\n.reg .b32 %a;\nmov.u32 %a, 1;\n}\n";
    assert!(refused(open, "call open;").contains("does not end with ret"));
    let hidden = ".func hidden()\n{\nmov.u32 %a, 1;\nret;\n}\n";
    assert!(refused(hidden, "call hidden;").contains("%a is not a declared register"));
    assert!(refused(".func f(.reg .b32 a)\n{\nret;\n}\n", "").contains("parameters in registers"));
    assert!(refused("", "st.param.b32 [p0], 1;").contains("a parameter of a kernel is written"));
    let many: String = (0..24)
        .map(|n| format!(".func f{n}()\n{{\n{}ret;\n}}\n", format!("call f{};\n", n + 1).repeat(2)))
        .chain([".func f24()\n{\nret;\n}\n".to_owned()])
        .collect();
    assert!(refused(&many, "call f0;").contains("calls functions too often"));
}
