//! Compares the numbers of the program's generator with those of the interpreter.

use fusebox_core::hlo::{ArrayLiteral, ElementType, FloatFormat};
use fusebox_routines::{CallingThread, Context, Routine, SharedGenerator, routine_for};

use crate::support::{check_with_interpreter, module};

#[test]
fn numbers_are_those_of_the_interpreter() {
    for ty in ElementType::ALL.iter().copied().filter(|ty| !ty.is_complex()) {
        let scalar = |value: f64| {
            let bits = match FloatFormat::of(ty) {
                Some(format) => format.encode(value),
                None => value as u64 & (u64::MAX >> (64 - ty.bits().min(7))),
            };
            ArrayLiteral::new(ty, Vec::new(), bits.to_le_bytes()[..ty.byte_size()].to_vec()).unwrap()
        };
        let distributions: &[&str] = if ty.is_float() { &["rng_uniform", "rng_normal"] } else { &["rng_uniform"] };
        for distribution in distributions {
            let text = format!(
                "ENTRY e {{\n  a = {ty}[] parameter(0)\n  b = {ty}[] parameter(1)\n  ROOT r = {ty}[50] rng(a, b), distribution={distribution}\n}}\n"
            );
            check_with_interpreter(&module(&text), &[scalar(0.0), scalar(1.0)]);
        }
    }
}

#[test]
fn operations_of_an_execution_draw_on() {
    let module = module("ENTRY e {\n  ROOT s = u64[2] rng-get-and-update-state(), delta=3\n}\n");
    check_with_interpreter(&module, &[]);
    let generator = SharedGenerator::default();
    let context = Context { workers: &CallingThread, generator: &generator, collectives: None };
    let [a, b] = [(); 2].map(|()| routine_for(&module).unwrap());
    let run = |routine: &dyn Routine| {
        let mut result = [0; 16];
        routine.run(&[], &mut [&mut result], &context).unwrap();
        u128::from_le_bytes(result)
    };
    let first = run(&*a);
    let too_small = a.run(&[], &mut [&mut [0; 8]], &context);
    assert!(too_small.is_err(), "a routine that fails must not change the state");
    assert_eq!([run(&*b), run(&*a)], [first + 3, first + 6]);
}
