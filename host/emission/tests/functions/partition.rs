//! Which function an instruction ends up in.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::support::{count, emit, fusion, id, symbols, try_emit, values};
use fusebox_core::emitter::{SubgraphCall, SubgraphKind};
use fusebox_emission::subgraph_functions;

#[test]
fn equal_indices_share_one_function() {
    let text = emit(
        "fusion { p = f32[8] parameter(0)
           e = f32[8] exponential(p)
           n = f32[8] negate(e)
           ROOT a = f32[8] add(e, n) }",
    );
    assert_eq!(symbols(&text), ["k.root0"]);
    assert_eq!(count(&text, "math.exp"), 1);
}

#[test]
fn different_indices_start_a_function() {
    let text = emit(
        "fusion { p = f32[3] parameter(0)
           e = f32[3] exponential(p)
           a = f32[2] slice(e), slice={[0:2]}
           b = f32[2] slice(e), slice={[1:3]}
           ROOT s = f32[2] add(a, b) }",
    );
    assert_eq!(symbols(&text), ["k.root0", "k.e"]);
    assert_eq!(count(&text, "math.exp"), 1);
    assert_eq!(count(&text, "xla_gpu.pure_call"), 2);
}

#[test]
fn index_changes_that_cancel_are_seen_through() {
    let text = emit(
        "fusion { p = f32[4,6] parameter(0)
           e = f32[4,6] exponential(p)
           t = f32[6,4] transpose(e), dimensions={1,0}
           u = f32[4,6] transpose(t), dimensions={1,0}
           r = f32[24] reshape(e)
           v = f32[4,6] reshape(r)
           s = f32[4,6] add(u, v)
           ROOT a = f32[4,6] add(s, e) }",
    );
    assert_eq!(symbols(&text), ["k.root0"]);
    assert_eq!(count(&text, "xla_gpu.apply_indexing"), 0);
}

#[test]
fn cheap_values_are_written_by_each_reader() {
    let text = emit(
        "fusion { p = f32[4,4] parameter(0)
           c = f32[] constant(2)
           b = f32[4,4] broadcast(c), dimensions={}
           t = f32[4,4] transpose(b), dimensions={1,0}
           x = f32[4,4] transpose(p), dimensions={1,0}
           m = f32[4,4] multiply(p, b)
           n = f32[4,4] multiply(x, t)
           ROOT a = f32[4,4] add(m, n) }",
    );
    assert_eq!(symbols(&text), ["k.root0"]);
}

#[test]
fn two_loops_share_what_they_read_through_a_function() {
    let text = emit(
        "add { x = f32[] parameter(0)
           y = f32[] parameter(1)
           ROOT s = f32[] add(x, y) }
         ENTRY fusion { p = f32[4,16] parameter(0)
           z = f32[] constant(0)
           e = f32[4,16] exponential(p)
           r = f32[4] reduce(e, z), dimensions={1}, to_apply=add
           q = f32[4] reduce(e, z), dimensions={1}, to_apply=add
           ROOT a = f32[4] multiply(r, q) }",
    );
    assert_eq!(symbols(&text), ["k.root0", "k.e"]);
    assert_eq!(count(&text, "math.exp"), 1);
}

#[test]
fn what_a_loop_does_not_change_is_computed_before_it() {
    let text = emit(
        "max { x = f32[] parameter(0)
           y = f32[] parameter(1)
           ROOT s = f32[] maximum(x, y) }
         add { x = f32[] parameter(0)
           y = f32[] parameter(1)
           ROOT s = f32[] add(x, y) }
         ENTRY fusion { p = f32[4,16] parameter(0)
           low = f32[] constant(-inf)
           z = f32[] constant(0)
           m = f32[4] reduce(p, low), dimensions={1}, to_apply=max
           b = f32[4,16] broadcast(m), dimensions={0}
           d = f32[4,16] subtract(p, b)
           ROOT r = f32[4] reduce(d, z), dimensions={1}, to_apply=add }",
    );
    assert_eq!(symbols(&text), ["k.root0"]);
    let loops: Vec<&str> = text.lines().filter(|line| line.contains("xla_gpu.loop")).collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    assert_eq!(loops.len(), 2);
    assert_eq!(indent(loops[0]), indent(loops[1]), "the maximum is not recomputed for every element");
}

#[test]
fn a_value_behind_two_conditions_is_not_computed_without_either() {
    // Both concatenations read `e` at equal indices, each only in its own first half.
    let text = emit(
        "fusion { p = f32[4] parameter(0)
           e = f32[4] exponential(p)
           q = f32[4] parameter(1)
           a = f32[8] concatenate(e, q), dimensions={0}
           b = f32[8] concatenate(e, q), dimensions={0}
           ROOT s = f32[8] add(a, b) }",
    );
    assert_eq!(symbols(&text), ["k.root0", "k.e"]);
}

#[test]
fn roots_at_one_index_share_a_function_and_other_roots_call_it() {
    let fusion = fusion(
        "fusion { p = f32[4,4] parameter(0)
           e = f32[4,4] exponential(p)
           n = f32[4,4] negate(e)
           t = f32[4,4] transpose(e), dimensions={1,0}
           ROOT r = (f32[4,4], f32[4,4], f32[4,4]) tuple(e, n, t) }",
    );
    let together = [values(&fusion, "k.all", &["e", "n"])];
    assert_eq!(symbols(&subgraph_functions(&fusion, &together).unwrap()), ["k.all"]);
    let apart = [values(&fusion, "k.same", &["e", "n"]), values(&fusion, "k.other", &["t"])];
    let text = subgraph_functions(&fusion, &apart).unwrap();
    assert_eq!(symbols(&text), ["k.same", "k.other", "k.e"]);
    assert_eq!(count(&text, "math.exp"), 1);
}

#[test]
fn an_epilogue_takes_the_hero_as_an_argument() {
    let fusion = fusion(
        "fusion { p = f32[4,6] parameter(0)
           q = f32[6,4] parameter(1)
           l = f32[4,6] log(p)
           h = f32[6,4] transpose(l), dimensions={1,0}
           e = f32[6,4] exponential(h)
           ROOT r = f32[6,4] add(e, q) }",
    );
    let epilogue = SubgraphCall {
        symbol: "k.epilogue".into(),
        kind: SubgraphKind::Epilogue { roots: vec![id(&fusion, "r")], heroes: vec![id(&fusion, "h")] },
    };
    let text = subgraph_functions(&fusion, &[values(&fusion, "k.hero", &["l"]), epilogue]).unwrap();
    assert_eq!(symbols(&text), ["k.hero", "k.epilogue"]);
    let (hero, epilogue) = text.split_once("k.hero").unwrap();
    assert_eq!((count(hero, "math.log"), count(epilogue, "math.log")), (1, 0));
    assert!(text.contains("(tensor<4x6xf32>, tensor<6x4xf32>, index, index, f32) -> f32"));
}

#[test]
fn injected_values_reach_the_functions_an_epilogue_calls() {
    let fusion = fusion(
        "fusion { p = f32[4,4] parameter(0)
           h = f32[4,4] negate(p)
           e = f32[4,4] exponential(h)
           t = f32[4,4] transpose(e), dimensions={1,0}
           ROOT r = f32[4,4] add(e, t) }",
    );
    let epilogue = SubgraphCall {
        symbol: "k.epilogue".into(),
        kind: SubgraphKind::Epilogue { roots: vec![id(&fusion, "r")], heroes: vec![id(&fusion, "h")] },
    };
    let text = subgraph_functions(&fusion, &[epilogue]).unwrap();
    assert_eq!(symbols(&text), ["k.epilogue", "k.epilogue.e"]);
    let call = text.lines().find(|line| line.contains("pure_call")).unwrap();
    assert!(call.contains("(tensor<4x4xf32>, index, index, f32) -> f32"), "{call}");
}

#[test]
fn a_combiner_is_a_function_of_scalars() {
    let fusion = fusion(
        "add { x = f32[] parameter(0)
           y = f32[] parameter(1)
           ROOT s = f32[] add(x, y) }
         ENTRY fusion { p = f32[4] parameter(0)
           z = f32[] constant(0)
           ROOT r = f32[] reduce(p, z), dimensions={0}, to_apply=add }",
    );
    let call = SubgraphCall { symbol: "k.add".into(), kind: SubgraphKind::Combiner { instruction: id(&fusion, "r") } };
    let text = subgraph_functions(&fusion, &[call]).unwrap();
    assert_eq!(symbols(&text), ["k.add"]);
    assert!(text.contains("(f32, f32) -> f32") && text.contains("fastmath<reassoc>"), "{text}");
}

/// `x_{i+1} = slice(pad(x_i)) + x_i`: every value has readers at two indices.
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
fn names_are_symbols_and_unique() {
    let text = emit(
        "fusion { p = f32[3] parameter(0)
           e-1 = f32[3] exponential(p)
           e_1 = f32[3] negate(e-1)
           a = f32[2] slice(e-1), slice={[0:2]}
           b = f32[2] slice(e_1), slice={[1:3]}
           c = f32[2] slice(e_1), slice={[0:2]}
           d = f32[2] add(a, b)
           ROOT s = f32[2] add(c, d) }",
    );
    assert_eq!(symbols(&text), ["k.root0", "k.e_1", "k.e_1_2"]);
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
