//! Compares the solutions of linear systems with the interpreter.

use fusebox_conformance::literals::{Closeness, filled, scattered};
use fusebox_conformance::{Compiler, Machine, inputs};

/// Complex numbers with a modulus slightly above one have reciprocals whose computation passes
/// through subnormal numbers. The cpu target flushes these elsewhere.
#[test]
fn complex_triangular_systems() {
    let compiler = Compiler::new(Vec::new()).unwrap();
    for (part, complex) in [("f32", "c64"), ("f64", "c128")] {
        for n in 1..=5 {
            let solve = |number: usize, form: &str| {
                format!("  r{number} = {complex}[{n},3] triangular-solve(a, b), left_side=true, {form}\n")
            };
            let text = format!(
                "HloModule m\nENTRY e {{\n  x = {part}[{n},{n}] parameter(0)\n  y = {part}[{n},3] parameter(1)\n  \
                 a = {complex}[{n},{n}] complex(x, x)\n  b = {complex}[{n},3] complex(y, y)\n{}{}{}  \
                 ROOT t = ({complex}[{n},3], {complex}[{n},3], {complex}[{n},3]) tuple(r0, r1, r2)\n}}\n",
                solve(0, "lower=true, transpose_a=NO_TRANSPOSE"),
                solve(1, "lower=false, transpose_a=NO_TRANSPOSE"),
                solve(2, "lower=true, transpose_a=ADJOINT"),
            );
            let given = inputs(&text, |shape, seed| {
                let is_square = shape.dims[0] == shape.dims[1] && seed == 0;
                filled(shape, |position| match position % (n + 1) {
                    0 if is_square => 0.9,
                    _ => scattered(position, seed, 100) / 1000.0,
                })
            });
            let given = given.unwrap_or_else(|failure| panic!("{failure}"));
            let machines = [Machine::cpu(), Machine::simt()];
            let compared = compiler.compared(&text, machines, &given, Closeness::Within(1e-5));
            compared.unwrap_or_else(|failure| panic!("{complex} {n}: {failure}"));
        }
    }
}
