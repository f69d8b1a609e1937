//! Shardings, meshes and manual computations of the dialect `sdy` in text, against artifacts.

use std::fs;
use std::path::PathBuf;

use fusebox_core::hlo::{Module, print_module, verify};
use fusebox_stablehlo::{read_bytecode, read_text, to_hlo};

use crate::programs::canonical;

fn bytes(name: &str) -> Vec<u8> {
    fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/programs/sharded").join(name)).unwrap()
}

fn from_text(text: &str) -> Module {
    let module = to_hlo(&read_text(text, "text.mlir").unwrap_or_else(|error| panic!("{error}"))).unwrap();
    verify(&module).unwrap();
    module
}

#[test]
fn text_and_artifact_of_a_program_for_several_devices_are_equal() {
    let artifact = to_hlo(&read_bytecode(&bytes("shards.mlirbc"), "artifact").unwrap()).unwrap();
    verify(&artifact).unwrap();
    assert_eq!(artifact.num_partitions, 4);
    let hlo = print_module(&artifact);
    assert!(hlo.contains("xla.sdy.LocalToGlobalShape") && hlo.contains("xla.sdy.meshes={mesh = "), "{hlo}");
    for name in ["shards.mlir", "shards_generic.mlir"] {
        let text = from_text(&String::from_utf8(bytes(name)).unwrap());
        assert_eq!(canonical(text), canonical(artifact.clone()), "{name}");
    }
}

#[test]
fn all_parts_of_shardings_are_read() {
    let text = r#"
module @m attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=4], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>
  sdy.mesh @empty = <[]>
  func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", ?}p1, {"b":(1)2}], replicated={"b":(2)2}>},
                  %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<["c"=8]>, [{?}], unreduced={"c"}>}) -> (tensor<8x8xf32>, tensor<8xf32>) {
    %0 = sdy.sharding_constraint %a <@mesh, [{}, {"b", "a"}]> : tensor<8x8xf32>
    sdy.sharding_group %0 group_id=3 : tensor<8x8xf32>
    %1 = sdy.propagation_barrier %0 allowed_direction=BACKWARD : tensor<8x8xf32>
    return %1, %b : tensor<8x8xf32>, tensor<8xf32>
  }
}"#;
    let hlo = print_module(&from_text(text));
    for words in [
        r##"frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["a"=2, "b"=4], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>, empty = #sdy.mesh<[]>}}"##,
        r##"xla.sdy.sharding="#sdy.sharding<@mesh, [{\"a\", ?}p1, {\"b\":(1)2}], replicated={\"b\":(2)2}>""##,
        r##"xla.sdy.sharding="#sdy.sharding<mesh<[\"c\"=8]>, [{?}], unreduced={\"c\"}>""##,
        r##"xla.sdy.sharding="#sdy.sharding<@mesh, [{}, {\"b\", \"a\"}]>""##,
    ] {
        assert!(hlo.contains(words), "{words}\n{hlo}");
    }
}

/// A named computation is executed where it stands. A manual computation on one device has the
/// whole arrays.
#[test]
fn computations_of_one_device_are_inlined() {
    let text = r#"
sdy.mesh @mesh = <["a"=1]>
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sdy.named_computation<"inner">(%a) in_shardings=[<@mesh, [{"a"}]>] out_shardings=[<@mesh, [{}]>] (%b: tensor<4xf32>) {
    %1 = stablehlo.negate %b : tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %2 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"a"}]>] out_shardings=[<@mesh, [{"a"}]>] manual_axes={"a"} (%c: tensor<4xf32>) {
    %3 = stablehlo.abs %c : tensor<4xf32>
    sdy.return %3 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}"#;
    let names: Vec<&str> =
        from_text(text).entry_computation().unwrap().instructions.iter().map(|it| it.opcode().name()).collect();
    assert_eq!(names, ["parameter", "negate", "abs"]);
}

#[test]
fn faults_in_shardings_have_their_place() {
    for (sharding, wanted) in [
        ("<@mesh>", "p.mlir:1:70: `,` is needed before `>}) {}`"),
        ("<@mesh, [{\"x\"}], sharded={\"y\"}>", "p.mlir:1:80: a sharding has no sharded"),
        ("<@mesh, [{\"x\":2}]>", "p.mlir:1:78: `(` is needed before `2}]>}) {}`"),
    ] {
        let text = format!("func.func @main(%a: tensor<4xf32> {{sdy.sharding = #sdy.sharding{sharding}}}) {{}}");
        let error = read_text(&text, "p.mlir").unwrap_err().to_string();
        assert_eq!(error, wanted);
    }
}
