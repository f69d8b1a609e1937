//! Checks the heroes of fusions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use fusebox_core::analysis::{hero_of, hero_to_root, moves_elements};
use fusebox_core::emitter::Fusion;
use fusebox_core::hlo::{Opcode, parse_module};

const ADD: &str = "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }\n";

/// Returns, for each root, the name of the hero and the reason. Heroes are reductions, concatenates
/// and transposes that move elements. The form of a hero is its opcode.
fn found(body: &str) -> Vec<(Option<String>, String)> {
    let module = parse_module(&format!("{ADD}\nfusion {{ {body} }}"), "test.hlo").unwrap();
    let fusion = Fusion::new("k", module).unwrap();
    let computation = fusion.computation();
    let form = |id| {
        let instruction = computation.instruction(id);
        let opcode = instruction.opcode();
        (matches!(opcode, Opcode::Reduce | Opcode::Concatenate) || moves_elements(instruction)).then_some(opcode)
    };
    let heroes = fusion.roots.iter().map(|&root| hero_of(computation, root, form));
    heroes.map(|hero| (hero.instruction.map(|id| computation.instruction(id).name.clone()), hero.reason)).collect()
}

fn only(body: &str) -> Option<String> {
    let all = found(body);
    assert_eq!(all.len(), 1);
    all[0].0.clone()
}

#[test]
fn a_reduce_is_found_through_its_epilogue() {
    let body = "x = f32[8,16] parameter(0)\n z = f32[] constant(0)\n e = f32[8,16] exponential(x)
        r = f32[8] reduce(e, z), dimensions={1}, to_apply=add\n l = f32[8] log(r)\n ROOT y = f32[2,4] reshape(l)";
    assert_eq!(only(body), Some("r".into()));
}

#[test]
fn elementwise_roots_have_no_hero() {
    let body = "x = f32[8,16] parameter(0)\n ROOT y = f32[8,16] negate(x)";
    assert_eq!(only(body), None);
}

#[test]
fn a_hero_that_is_broadcast_again_is_none() {
    let body = "x = f32[8,16] parameter(0)\n z = f32[] constant(0)
        r = f32[8] reduce(x, z), dimensions={1}, to_apply=add
        b = f32[8,16] broadcast(r), dimensions={0}\n ROOT y = f32[8,16] divide(x, b)";
    assert_eq!(only(body), None);
}

#[test]
fn two_forms_are_none_and_the_reason_names_both() {
    let body = "x = f32[8,16] parameter(0)\n t = f32[16,8] transpose(x), dimensions={1,0}
        w = f32[8,8] parameter(1)\n u = f32[16,8] concatenate(w, w), dimensions={0}\n ROOT y = f32[16,8] add(t, u)";
    assert_eq!(found(body), [(None, "both t and u could be the hero".into())]);
}

#[test]
fn several_of_one_form_have_the_nearest_as_hero() {
    let body = "x = f32[8,16] parameter(0)\n t = f32[16,8] transpose(x), dimensions={1,0}
        w = f32[2,4,16] parameter(1)\n u = f32[16,2,4] transpose(w), dimensions={2,0,1}
        v = f32[16,8] reshape(u)\n ROOT y = f32[16,8] add(t, v)";
    let reason = "one kernel computes t, u, and only elementwise operations follow";
    assert_eq!(found(body), [(Some("t".into()), reason.into())]);
}

#[test]
fn transposes_of_unit_dimensions_move_nothing() {
    let body = "x = f32[1,16] parameter(0)\n ROOT t = f32[16,1] transpose(x), dimensions={1,0}";
    assert_eq!(only(body), None);
    let body = "x = f32[4,16] parameter(0)\n ROOT t = f32[16,4] transpose(x), dimensions={1,0}";
    assert_eq!(only(body), Some("t".into()));
}

#[test]
fn every_root_has_its_hero() {
    let body = "x = f32[8,16] parameter(0)\n z = f32[] constant(0)\n n = f32[8,16] negate(x)
        r = f32[8] reduce(n, z), dimensions={1}, to_apply=add\n ROOT t = (f32[8,16], f32[8]) tuple(n, r)";
    let heroes: Vec<_> = found(body).into_iter().map(|(hero, _)| hero).collect();
    assert_eq!(heroes, [None, Some("r".into())]);
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
