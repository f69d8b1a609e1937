//! Checks bounds on the size of the generated functions, and refusals.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::support::{count, emit, fusion, subgraph_functions, symbols, try_emit, values};

/// Returns the chain `x_{i+1} = slice(pad(x_i)) + x_i`. Every value is read at two indices.
fn sharing_chain(depth: usize) -> String {
    let mut text = String::from("fusion { z = f32[] constant(0)\n x0 = f32[64] parameter(0)\n");
    for i in 0..depth {
        let next = i + 1;
        text += &format!(" p{i} = f32[65] pad(x{i}, z), padding=1_0\n s{i} = f32[64] slice(p{i}), slice={{[0:64]}}\n");
        text += &format!(" {}x{next} = f32[64] add(s{i}, x{i})\n", if next == depth { "ROOT " } else { "" });
    }
    text + "}"
}

#[test]
fn code_grows_linearly_with_a_sharing_chain() {
    let lines: Vec<usize> = [10, 20, 40, 80].map(|depth| emit(&sharing_chain(depth)).lines().count()).to_vec();
    assert_eq!(lines[1] - lines[0], (lines[2] - lines[1]) / 2, "{lines:?}");
    assert_eq!(lines[2] - lines[1], (lines[3] - lines[2]) / 2, "{lines:?}");
}

#[test]
fn a_long_chain_neither_overflows_the_stack_nor_one_function() {
    let mut text = String::from("fusion { x0 = f32[8] parameter(0)\n");
    for i in 0..20_000 {
        text += &format!(" {}x{} = f32[8] negate(x{i})\n", if i == 19_999 { "ROOT " } else { "" }, i + 1);
    }
    let text = emit(&(text + "}"));
    assert_eq!(count(&text, "arith.negf"), 20_000);
    assert!(symbols(&text).len() >= 20);
}

/// Returns the operation that computes `x{i}` from the previous value and from an earlier value.
type Step = fn(usize, usize) -> String;

const STEPS: [Step; 4] = [
    |last, _| format!("dynamic-update-slice(x{last}, u, s)"),
    |_, earlier| format!("dynamic-update-slice(x{earlier}, u, t)"),
    |last, earlier| format!("add(x{last}, x{earlier})"),
    |last, earlier| format!("select(q, x{last}, x{earlier})"),
];

/// A chain that alternates between two steps. The earlier value is `reach` steps back.
fn alternating_chain(steps: [Step; 2], reach: usize, depth: usize) -> String {
    let mut text = String::from(
        "fusion { x0 = s32[64] parameter(0)\n s = s32[] parameter(1)\n t = s32[] parameter(2)\n u = s32[3] parameter(3)\n \
         q = pred[64] parameter(4)\n",
    );
    for i in 1..=depth {
        let root = if i == depth { "ROOT " } else { "" };
        let value = steps[i % 2](i - 1, i.saturating_sub(reach));
        text += &format!(" {root}x{i} = s32[64] {value}\n");
    }
    text + "}"
}

#[test]
fn what_is_read_at_one_index_is_computed_once_at_any_depth() {
    for (first, second) in STEPS.iter().flat_map(|first| STEPS.map(|second| (*first, second))) {
        for (reach, depth) in [(1, 990), (2, 60), (2, 300), (3, 300), (3, 990), (7, 300), (2, 1500)] {
            let chain = alternating_chain([first, second], reach, depth);
            let text = emit(&chain);
            let calls = count(&text, "xla_gpu.pure_call");
            assert_eq!(calls, symbols(&text).len() - 1, "{reach} {depth} {chain:.700}");
        }
    }
}

#[test]
fn what_two_conditions_need_within_bounds_is_computed_before_them() {
    let mut text = String::from(
        "fusion { x0 = s32[64] parameter(0)\n s = s32[] parameter(1)\n t = s32[] parameter(2)\n u = s32[3] parameter(3)\n",
    );
    for i in 0..60 {
        let (root, next) = (if i == 59 { "ROOT " } else { "" }, i + 1);
        text += &format!(" a{i} = s32[64] dynamic-update-slice(x{i}, u, s)\n");
        text +=
            &format!(" b{i} = s32[64] dynamic-update-slice(x{i}, u, t)\n {root}x{next} = s32[64] add(a{i}, b{i})\n");
    }
    assert_eq!(symbols(&emit(&(text + "}"))).len(), 1);
}

#[test]
fn nested_conditions_stay_shallow() {
    let mut text = String::from("fusion { z = f32[] constant(0)\n x0 = f32[8] parameter(0)\n");
    for i in 0..300 {
        let root = if i == 299 { "ROOT " } else { "" };
        text += &format!(" {root}x{} = f32[{}] pad(x{i}, z), padding=1_0\n", i + 1, 9 + i);
    }
    let text = emit(&(text + "}"));
    let deepest = text.lines().map(|line| line.len() - line.trim_start().len()).max().unwrap_or(0);
    assert!(deepest < 80, "{deepest}");
}

#[test]
fn what_has_no_elementwise_form_is_refused_by_name_and_place() {
    let error = try_emit(
        "less { x = f32[] parameter(0)
           y = f32[] parameter(1)
           ROOT c = pred[] compare(x, y), direction=LT }
         ENTRY fusion { p = f32[4] parameter(0)
           s = f32[4] sort(p), dimensions={0}, to_apply=less
           ROOT n = f32[4] negate(s) }",
    )
    .unwrap_err();
    assert_eq!(error.to_string(), "test.hlo:5:12: sort s: has no elementwise form; keep it out of fusions");
}

#[test]
fn one_name_for_two_functions_is_refused() {
    let fusion = fusion("fusion { p = f32[4] parameter(0)\n e = f32[4] exponential(p)\n ROOT n = f32[4] negate(e) }");
    let calls = [values(&fusion, "k.f", &["e"]), values(&fusion, "k.f", &["n"])];
    let error = subgraph_functions(&fusion, &calls).unwrap_err().to_string();
    assert_eq!(error, "function @k.f: the name stands for two different functions");
}
