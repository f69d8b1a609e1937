//! Heroes of fusions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use fusebox_core::analysis::{HeroKind, hero_to_root, heroes};
use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::parse_module;

const ADD: &str = "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }\n";

/// `(name of the hero, its kind, the reason)` of each root.
fn found(body: &str) -> Vec<(String, HeroKind, String)> {
    let module = parse_module(&format!("{ADD}\nfusion {{ {body} }}"), "test.hlo").unwrap();
    let fusion = Fusion::new("k", module).unwrap();
    let name = |id| fusion.computation().instruction(id).name.clone();
    heroes(&fusion).into_iter().map(|h| (name(h.instruction), h.kind, h.reason)).collect()
}

fn only(body: &str) -> (String, HeroKind) {
    let all = found(body);
    assert_eq!(all.len(), 1);
    (all[0].0.clone(), all[0].1)
}

#[test]
fn a_reduce_is_found_through_its_epilogue() {
    let body = "x = f32[8,16] parameter(0)\n z = f32[] constant(0)\n e = f32[8,16] exponential(x)
        r = f32[8] reduce(e, z), dimensions={1}, to_apply=add\n l = f32[8] log(r)\n ROOT y = f32[2,4] reshape(l)";
    assert_eq!(only(body), ("r".into(), HeroKind::Reduce));
}

#[test]
fn elementwise_roots_are_their_own_heroes() {
    let body = "x = f32[8,16] parameter(0)\n ROOT y = f32[8,16] negate(x)";
    assert_eq!(only(body), ("y".into(), HeroKind::None));
}

#[test]
fn a_hero_that_is_broadcast_again_is_none() {
    let body = "x = f32[8,16] parameter(0)\n z = f32[] constant(0)
        r = f32[8] reduce(x, z), dimensions={1}, to_apply=add
        b = f32[8,16] broadcast(r), dimensions={0}\n ROOT y = f32[8,16] divide(x, b)";
    assert_eq!(only(body).1, HeroKind::None);
}

#[test]
fn two_candidates_are_none_and_the_reason_names_both() {
    let body = "x = f32[8,16] parameter(0)\n t = f32[16,8] transpose(x), dimensions={1,0}
        w = f32[8,8] parameter(1)\n u = f32[16,8] concatenate(w, w), dimensions={0}\n ROOT y = f32[16,8] add(t, u)";
    let all = found(body);
    assert_eq!(all[0].1, HeroKind::None);
    assert!(all[0].2.contains('t') && all[0].2.contains('u'), "{}", all[0].2);
}

#[test]
fn transposes_of_one_form_are_one_hero() {
    let body = "x = f32[8,16] parameter(0)\n t = f32[16,8] transpose(x), dimensions={1,0}
        w = f32[2,4,16] parameter(1)\n u = f32[16,2,4] transpose(w), dimensions={2,0,1}
        v = f32[16,8] reshape(u)\n ROOT y = f32[16,8] add(t, v)";
    let all = found(body);
    assert_eq!((all[0].0.as_str(), all[0].1), ("t", HeroKind::Transpose));
    assert!(all[0].2.starts_with("t, u "), "{}", all[0].2);
}

#[test]
fn transposes_of_unit_dimensions_move_nothing() {
    let body = "x = f32[1,16] parameter(0)\n ROOT t = f32[16,1] transpose(x), dimensions={1,0}";
    assert_eq!(only(body).1, HeroKind::None);
    let body = "x = f32[4,16] parameter(0)\n ROOT t = f32[16,4] transpose(x), dimensions={1,0}";
    assert_eq!(only(body), ("t".into(), HeroKind::Transpose));
}

#[test]
fn every_root_has_its_hero() {
    let body = "x = f32[8,16] parameter(0)\n z = f32[] constant(0)\n n = f32[8,16] negate(x)
        r = f32[8] reduce(n, z), dimensions={1}, to_apply=add\n ROOT t = (f32[8,16], f32[8]) tuple(n, r)";
    let kinds: Vec<_> = found(body).into_iter().map(|(name, kind, _)| (name, kind)).collect();
    assert_eq!(kinds, [("n".into(), HeroKind::None), ("r".into(), HeroKind::Reduce)]);
}

#[test]
fn positions_are_kept_from_hero_to_root() {
    let module = parse_module(
        "fusion { x = f32[4,6] parameter(0)\n t = f32[6,4] transpose(x), dimensions={1,0}\n ROOT y = f32[3,8] reshape(t) }",
        "test.hlo",
    )
    .unwrap();
    let body = module.entry_computation().unwrap();
    let hero = body.instruction(body.find("t").unwrap());
    let map = hero_to_root(hero, body.root_instruction()).unwrap();
    for (i, j) in (0..6).flat_map(|i| (0..4).map(move |j| (i, j))) {
        let at = i * 4 + j;
        assert_eq!(map.evaluate(&[i, j], &[], &[]), [at / 8, at % 8]);
    }
}
