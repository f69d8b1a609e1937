//! Checks `examples/embed`, which executes a compiled module on several threads. The example is
//! compiled as a part of this test.

#[path = "../../../../examples/embed/src/main.rs"]
mod example;

use crate::program::Workplace;

const MODULE: &str = "HloModule m
ENTRY main {
  x = f32[1000] parameter(0)
  y = f32[1000] parameter(1)
  one = f32[] constant(1)
  ones = f32[1000] broadcast(one), dimensions={}
  product = f32[1000] multiply(x, y)
  ROOT r = f32[1000] add(product, ones)
}
";

#[test]
fn the_example_executes_one_program_on_several_threads() {
    let place = Workplace::with_module(MODULE);
    place.run(&["compile", "m.hlo", "--emit", "executable", "-o", "m.fusebox"]).succeeded();
    let results = example::execute(&place.path("m.fusebox"), 4).unwrap();
    let expected = |number: usize| vec![(number * number + 1) as f32; 1000];
    assert_eq!(results, (0..4).map(expected).collect::<Vec<_>>());
    let error = example::execute(&place.path("m.hlo"), 1).unwrap_err().to_string();
    assert!(error.contains("not a fusebox executable"), "{error}");
}
