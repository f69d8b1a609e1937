//! Checks the analysis of fusions with reductions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use fusebox_core::analysis::{ReductionFusion, ReductionKind, Start, reductions};
use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::{BinaryOp, parse_module};

const COMPUTATIONS: &str = "
add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }
max { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] maximum(b, a) }
mean { n = f32[] parameter(0)\n s = f32[] parameter(1)\n m = f32[] parameter(2)\n t = f32[] parameter(3)
  u = f32[] add(n, m)\n v = f32[] add(s, t)\n ROOT r = (f32[], f32[]) tuple(u, v) }
wide { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = f64[] convert(a)\n d = f64[] convert(b)
  e = f64[] add(c, d)\n ROOT s = f32[] convert(e) }
mixed { a = f32[] parameter(0)\n b = bf16[] parameter(1)\n c = f32[] convert(b)\n ROOT s = f32[] add(a, c) }
powers { a = f8e8m0fnu[] parameter(0)\n b = f8e8m0fnu[] parameter(1)\n ROOT s = f8e8m0fnu[] add(a, b) }
";

fn fusion(body: &str) -> Fusion {
    let module = parse_module(&format!("{COMPUTATIONS}\nfusion {{ {body} }}"), "test.hlo").unwrap();
    Fusion::new("k", module).unwrap()
}

/// A group of reductions: its canonical sizes, its heroes, its roots with the numbers of their
/// heroes, and its side outputs.
type Described = (String, Vec<String>, Vec<(String, Vec<usize>)>, Vec<String>);

fn described(body: &str) -> Vec<Described> {
    let fusion = fusion(body);
    let found = reductions(&fusion).unwrap();
    let name = |id| fusion.computation().instruction(id).name.clone();
    let describe = |group: &fusebox_core::analysis::ReductionGroup| {
        (
            group.problem.to_string(),
            group.heroes.iter().map(|hero| name(hero.instruction)).collect(),
            group.roots.iter().map(|root| (name(root.instruction), root.heroes.clone())).collect(),
            group.sides.iter().map(|side| name(side.instruction)).collect(),
        )
    };
    found.groups.iter().map(describe).collect()
}

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn one_reduction_with_epilogue_and_side_output() {
    let found = described(
        "x = f32[8,16] parameter(0)\n z = f32[] constant(0)\n e = f32[8,16] exponential(x)
         r = f32[8] reduce(e, z), dimensions={1}, to_apply=add\n l = f32[8] log(r)\n y = f32[2,4] reshape(l)
         s = f32[128] reshape(e)\n ROOT t = (f32[2,4], f32[128], f32[8]) tuple(y, s, r)",
    );
    let roots = vec![("y".to_owned(), vec![0]), ("r".to_owned(), vec![0])];
    assert_eq!(found, [("row [1 reduced, 8 kept, 16 reduced]".to_owned(), texts(&["r"]), roots, texts(&["s"]))]);
}

#[test]
fn an_epilogue_of_two_reductions_has_two_heroes() {
    let found = described(
        "x = f32[8,16] parameter(0)\n z = f32[] constant(0)\n q = f32[8,16] multiply(x, x)
         a = f32[16] reduce(x, z), dimensions={0}, to_apply=add\n b = f32[16] reduce(q, z), dimensions={0}, to_apply=add
         c = f32[16] multiply(a, a)\n ROOT v = f32[16] subtract(b, c)",
    );
    let roots = vec![("v".to_owned(), vec![0, 1])];
    assert_eq!(found, [("column [1 kept, 8 reduced, 16 kept]".to_owned(), texts(&["a", "b"]), roots, vec![])]);
}

#[test]
fn reductions_that_share_nothing_have_groups_of_their_own() {
    let body = |second: &str| {
        format!(
            "x = f32[8,16] parameter(0)\n w = f32[8,16] parameter(1)\n z = f32[] constant(0)
             a = f32[8] reduce(x, z), dimensions={{1}}, to_apply=add
             b = f32[8] reduce({second}, z), dimensions={{1}}, to_apply=add\n ROOT t = (f32[8], f32[8]) tuple(a, b)"
        )
    };
    assert_eq!(described(&body("w")).len(), 2);
    assert_eq!(described(&body("x")).len(), 1);
}

#[test]
fn different_problems_are_different_groups() {
    let found = described(
        "x = f32[8,16] parameter(0)\n z = f32[] constant(0)\n a = f32[8] reduce(x, z), dimensions={1}, to_apply=add
         b = f32[16] reduce(x, z), dimensions={0}, to_apply=add\n ROOT t = (f32[8], f32[16]) tuple(a, b)",
    );
    let problems: Vec<&str> = found.iter().map(|group| group.0.as_str()).collect();
    assert_eq!(problems, ["row [1 reduced, 8 kept, 16 reduced]", "column [1 kept, 8 reduced, 16 kept]"]);
}

#[test]
fn outputs_are_numbered_by_leaf_and_roots_may_repeat() {
    let fusion = fusion(
        "x = f32[8,16] parameter(0)\n z = f32[] constant(0)
         r = (f32[8], f32[8]) reduce(x, x, z, z), dimensions={1}, to_apply=mean
         g = f32[8] get-tuple-element(r), index=1\n n = f32[8] negate(g)
         ROOT t = (f32[8], (f32[8], f32[8]), f32[8]) tuple(n, r, n)",
    );
    let ReductionFusion { groups, .. } = reductions(&fusion).unwrap();
    let outputs: Vec<&[(usize, usize)]> = groups[0].roots.iter().map(|root| root.outputs.as_slice()).collect();
    assert_eq!(outputs, [&[(0, 0), (3, 0)][..], &[(1, 0), (2, 1)]]);
}

#[test]
fn a_root_of_the_results_size_without_hero_is_written_with_the_results() {
    let found = described(
        "x = f32[8,16] parameter(0)\n w = f32[8] parameter(1)\n z = f32[] constant(0)
         r = f32[8] reduce(x, z), dimensions={1}, to_apply=add\n n = f32[8] negate(w)
         v = f32[8] reverse(r), dimensions={0}\n ROOT t = (f32[8], f32[8], f32[8]) tuple(r, n, v)",
    );
    let roots = vec![("r".to_owned(), vec![0]), ("n".to_owned(), vec![]), ("v".to_owned(), vec![])];
    assert_eq!(found[0].2, roots);
}

#[test]
fn initial_values_that_change_the_result_are_kept_apart() {
    let start = |initial: &str, combiner: &str| {
        let fusion = fusion(&format!(
            "x = f32[8,16] parameter(0)\n z = f32[] {initial}
             ROOT r = f32[8] reduce(x, z), dimensions={{1}}, to_apply={combiner}"
        ));
        reductions(&fusion).unwrap().groups[0].heroes[0].start
    };
    assert_eq!(start("constant(0)", "add"), Start::Initial);
    assert_eq!(start("constant(2)", "add"), Start::Neutral(BinaryOp::Add));
    assert_eq!(start("parameter(1)", "add"), Start::Neutral(BinaryOp::Add));
    assert_eq!(start("parameter(1)", "wide"), Start::Neutral(BinaryOp::Add));
    assert_eq!(start("parameter(1)", "max"), Start::Initial);
}

#[test]
fn refusals_say_why() {
    let reason = |body: &str| reductions(&fusion(body)).unwrap_err().reason;
    let none = reason("x = f32[8] parameter(0)\n ROOT y = f32[8] negate(x)");
    assert!(none.contains("no reduce"), "{none}");
    let size = reason(
        "x = f32[8,16] parameter(0)\n w = f32[5] parameter(1)\n z = f32[] constant(0)
         r = f32[8] reduce(x, z), dimensions={1}, to_apply=add\n n = f32[5] negate(w)
         ROOT t = (f32[8], f32[5]) tuple(r, n)",
    );
    assert!(size.contains("n has 5 elements"), "{size}");
    let mixed = reason(
        "x = bf16[8,16] parameter(0)\n z = f32[] constant(0)
         ROOT r = f32[8] reduce(x, z), dimensions={1}, to_apply=mixed",
    );
    assert!(mixed.contains("accumulates in another type"), "{mixed}");
    let powers = reason(
        "x = f8e8m0fnu[8,16] parameter(0)\n z = f8e8m0fnu[] constant(1)
         ROOT r = f8e8m0fnu[8] reduce(x, z), dimensions={1}, to_apply=powers",
    );
    assert!(powers.contains("no zero that several threads could start from"), "{powers}");
    let softmax = reason(
        "x = f32[8,16] parameter(0)\n z = f32[] constant(0)\n r = f32[8] reduce(x, z), dimensions={1}, to_apply=add
         b = f32[8,16] broadcast(r), dimensions={0}\n ROOT y = f32[8,16] divide(x, b)",
    );
    assert!(softmax.contains("no reduce leads to it"), "{softmax}");
}

#[test]
fn the_canonical_point_of_a_side_output_is_that_of_the_operand() {
    let fusion = fusion(
        "x = f32[2,3,5,7] parameter(0)\n z = f32[] constant(0)\n n = f32[2,3,5,7] negate(x)\n m = f32[6,35] reshape(n)
         r = f32[2,5] reduce(x, z), dimensions={1,3}, to_apply=add\n ROOT t = (f32[2,5], f32[6,35]) tuple(r, m)",
    );
    let group = &reductions(&fusion).unwrap().groups[0];
    assert_eq!((group.problem.kind, group.problem.dims), (ReductionKind::Row, [3, 10, 7]));
    for point in [[0, 0, 0], [2, 3, 6], [1, 9, 4]] {
        let operand = group.heroes[0].to_operand.evaluate(&point, &[], &[]);
        let position = ((operand[0] * 3 + operand[1]) * 5 + operand[2]) * 7 + operand[3];
        assert_eq!(group.sides[0].from_canonical.evaluate(&point, &[], &[]), [position / 35, position % 35]);
    }
}
