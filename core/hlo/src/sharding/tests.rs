//! Tests of the text forms of shardings and groups.

use super::*;
use crate::parse_module;

const HEADER: &str = r#"HloModule m, num_partitions=8, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["a"=2, "b"=4]>, empty_mesh = #sdy.mesh<[]>}}"#;

fn meshes() -> Meshes {
    let text = format!("{HEADER}\nENTRY e {{\n  ROOT x = f32[4] parameter(0)\n}}\n");
    Meshes::of(&parse_module(&text, "m.hlo").unwrap()).unwrap()
}

fn tiling(text: &str) -> Tiling {
    let sharding = axis_shardings(&format!("#sdy.sharding<@mesh, {text}>"), &meshes()).unwrap().remove(0);
    Tiling::of_axes(&sharding).unwrap()
}

#[test]
fn axes_and_device_lists_describe_the_same_parts() {
    for (axes, devices, rank) in [
        (r#"[{"a"}, {"b"}]"#, "{devices=[2,4]<=[8]}", 2),
        (r#"[{"b"}, {?}], replicated={"a"}"#, "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}", 2),
        (r#"[{"b", "a"}p1]"#, "{devices=[8]0,4,1,5,2,6,3,7}", 1),
        (r#"[{"b":(1)2}]"#, "{devices=[2,4]0,1,4,5,2,3,6,7 last_tile_dims={replicated}}", 1),
        ("[{}, {}]", "{replicated}", 2),
        (
            r#"[{"b":(1)2}], unreduced={"a"}"#,
            "{devices=[2,2,2]0,4,1,5,2,6,3,7 last_tile_dims={replicated, unreduced}}",
            1,
        ),
    ] {
        let tiling = tiling(axes);
        assert_eq!(Tiling::parse(devices, 8, rank), Ok(tiling.clone()), "{axes}");
        assert_eq!(Tiling::parse(&tiling.to_string(), 8, rank), Ok(tiling), "{axes}");
    }
}

#[test]
fn tiles_at_the_end_may_be_smaller_or_empty() {
    let tiling = tiling(r#"[{"b"}]"#);
    let parts: Vec<_> = (0..4).map(|device| tiling.part(device, &[5]).remove(0)).collect();
    assert_eq!(parts, [0..2, 2..4, 4..5, 5..5]);
    assert_eq!((tiling.tile_dims(&[5]), tiling.tile_dims(&[8])), (None, Some(vec![2])));
}

#[test]
fn other_shardings_are_refused() {
    for text in ["{manual}", "{devices=[2]0,1", "{devices=[2,4]<=[8] last_tile_dims={manual}}", "{devices=[4]0,1,2,2}"]
    {
        assert!(Tiling::parse(text, 8, 1).is_err(), "{text}");
    }
    for text in [r#"#sdy.sharding<@other, [{}]>"#, r#"#sdy.sharding<@mesh, [{"a"]>"#] {
        assert!(axis_shardings(text, &meshes()).is_err(), "{text}");
    }
}

#[test]
fn a_manual_computation_runs_once_per_combination_of_its_axes() {
    let attributes = [
        ("xla.sdy.in_shardings", r#"#sdy.sharding_per_value<[<@mesh, [{"b", ?}, {"a"}]>]>"#),
        ("xla.sdy.manual_axes", r#"#sdy<manual_axes{"b"}>"#),
    ];
    let attributes = attributes.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let manual = ManualComputation::read(&attributes, &meshes()).unwrap();
    assert_eq!(manual.devices(), [0, 1, 2, 3]);
    assert_eq!(manual.together_with(6).into_iter().collect::<Vec<_>>(), [4, 5, 6, 7]);
    assert_eq!(manual.input(0).unwrap().part(2, &[8, 8]), [4..6, 0..8]);
    assert_eq!(ManualComputation::read(&manual.attributes(), &Meshes::default()), Ok(manual));
}

fn groups_of(device: i64, groups: &str) -> Result<Option<Vec<i64>>, String> {
    let text = format!(
        "{HEADER}\nadd {{ a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }}\nENTRY e {{\n  \
         x = f32[4] parameter(0)\n  ROOT y = f32[4] all-reduce(x), channel_id=1, replica_groups={groups}, \
         use_global_device_ids=true, to_apply=add\n}}\n"
    );
    let module = parse_module(&text, "m.hlo").unwrap();
    let root = module.entry_computation().unwrap().root_instruction();
    let collective = Collective::of(&module, root)?;
    assert_eq!(collective.kind, CollectiveKind::AllReduce(crate::BinaryOp::Add));
    Ok(collective.group_of(device, &[0, 1, 2, 3, 4, 5, 6, 7]))
}

#[test]
fn groups_have_three_forms() {
    assert_eq!(groups_of(3, "{}"), Ok(Some((0..8).collect())));
    assert_eq!(groups_of(3, "{{0,1},{3,2}}"), Ok(Some(vec![3, 2])));
    assert_eq!(groups_of(4, "{{0,1},{3,2}}"), Ok(None));
    assert_eq!(groups_of(3, "[4,2]<=[2,4]T(1,0)"), Ok(Some(vec![3, 7])));
    assert_eq!(groups_of(3, "mesh['a'=2,'b'=4] {'a'}"), Ok(Some(vec![3, 7])));
    for wrong in ["{{0,1},{1,2}}", "[4,2]<=[4]", "mesh['a'=2] {'c'}"] {
        assert!(groups_of(1, wrong).is_err(), "{wrong}");
    }
}
