//! Checks that the program rematerialises values if memory is limited, and that the bits of the
//! results do not change.

use crate::program::Workplace;

/// Returns layers of two products each. As in a training step, the program reads the results of the
/// second products again, in reverse order. To rematerialise a second product, the program needs
/// the result of the first product. At that time, no other instruction reads this result.
fn layers(count: usize) -> String {
    let mut text = String::new();
    for layer in 1..=count {
        let before = layer - 1;
        text += &format!(
            "  u{layer} = f32[64,32] dot(h{before}, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  h{layer} = f32[64,32] dot(u{layer}, v), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
        );
    }
    text += &format!("  g{count} = f32[64,32] copy(h{count})\n");
    for layer in (1..=count).rev() {
        let before = layer - 1;
        text += &format!(
            "  m{layer} = f32[64,32] multiply(g{layer}, h{layer})
  g{before} = f32[64,32] dot(m{layer}, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}\n"
        );
    }
    text
}

const PARAMETERS: &str = "  h0 = f32[64,32] parameter(0)
  w = f32[32,32] parameter(1)
  v = f32[32,32] parameter(2)\n";

/// Returns a program that runs all layers once.
fn once(count: usize) -> String {
    format!("HloModule m\nENTRY main {{\n{PARAMETERS}{}  ROOT r = f32[64,32] copy(g0)\n}}\n", layers(count))
}

/// Returns a program that runs all layers in each iteration of a loop.
fn repeated(count: usize) -> String {
    const STATE: &str = "(s32[], f32[64,32], f32[32,32], f32[32,32])";
    let layers = layers(count);
    format!(
        "HloModule m
body {{
  s = {STATE} parameter(0)
  n = s32[] get-tuple-element(s), index=0
  h0 = f32[64,32] get-tuple-element(s), index=1
  w = f32[32,32] get-tuple-element(s), index=2
  v = f32[32,32] get-tuple-element(s), index=3
  one = s32[] constant(1)
  next = s32[] add(n, one)
{layers}  t = f32[64,32] tanh(g0)
  ROOT r = {STATE} tuple(next, t, w, v)
}}
condition {{
  s = {STATE} parameter(0)
  n = s32[] get-tuple-element(s), index=0
  limit = s32[] constant(20)
  ROOT c = pred[] compare(n, limit), direction=LT
}}
ENTRY main {{
{PARAMETERS}  zero = s32[] constant(0)
  state = {STATE} tuple(zero, h0, w, v)
  loop = {STATE} while(state), condition=condition, body=body
  ROOT r = f32[64,32] get-tuple-element(loop), index=1
}}
"
    )
}

/// Returns the number of bytes of outputs and temporaries.
fn written(place: &Workplace, flags: &[&str]) -> u64 {
    let told = place.run(&[&["explain", "m.hlo", "--memory", "--json"], flags].concat()).succeeded();
    let memory: serde_json::Value = serde_json::from_str(&told).unwrap();
    memory["outputs"].as_u64().unwrap() + memory["temporaries"].as_u64().unwrap()
}

/// Checks that the program runs with this percentage of the memory that it needs without a limit.
fn runs_with(text: &str, percent: u64) {
    let place = Workplace::with_module(text);
    let allowed = written(&place, &[]) * percent / 100;
    let limit = allowed.to_string();
    assert!(written(&place, &["--memory-limit", &limit]) <= allowed);
    let expected = place.run(&["run", "m.hlo", "--print"]).succeeded();
    let found = place.run(&["run", "m.hlo", "--print", "--memory-limit", &limit, "--check"]).succeeded();
    assert_eq!(found, expected, "the same kernels on the same values");
}

#[test]
fn what_a_value_is_made_of_is_made_again_with_it() {
    runs_with(&once(8), 45);
}

#[test]
fn a_loop_keeps_to_the_limit_too() {
    runs_with(&repeated(8), 55);
}

#[test]
fn every_command_that_compiles_knows_the_limit() {
    let place = Workplace::with_module(&once(8));
    let limit = (written(&place, &[]) * 6 / 10).to_string();
    let expected = place.run(&["run", "m.hlo", "--print"]).succeeded();
    place.run(&["bench", "m.hlo", "--memory-limit", &limit]).succeeded();
    place.run(&["compile", "m.hlo", "--memory-limit", &limit, "--emit", "executable", "-o", "e"]).succeeded();
    assert_eq!(place.run(&["run", "e", "--print"]).succeeded(), expected);
}

#[test]
fn a_limit_that_cannot_be_kept_is_an_error_that_says_what_is_alive() {
    let place = Workplace::with_module(&once(8));
    let refused = place.run(&["run", "m.hlo", "--memory-limit", "4K"]);
    refused.failed(1, &["but the limit is 4096", "alive at the peak: ", "bytes)"]);
}
