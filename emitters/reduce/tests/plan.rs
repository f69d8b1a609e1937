//! Plans for devices with many threads: launches, who is chosen, every element written exactly once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Emitter, Fusion, Plan, Verdict};
use fusebox_core::hlo::{Shape, parse_module};
use fusebox_core::indexing::{Coverage, Proof, check_joint_coverage};
use fusebox_emitter_reduce::{Form, Reduce};

const COMPUTATIONS: &str = "
add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }
add_s8 { a = s8[] parameter(0)\n b = s8[] parameter(1)\n ROOT s = s8[] add(a, b) }
add_f64 { a = f64[] parameter(0)\n b = f64[] parameter(1)\n ROOT s = f64[] add(a, b) }
";

fn fusion(body: &str) -> Fusion {
    Fusion::new("k", parse_module(&format!("{COMPUTATIONS}\nfusion {{ {body} }}"), "test.hlo").unwrap()).unwrap()
}

/// A sum over some dimensions.
fn sum(ty: &str, dims: &[i64], reduced: &[i64]) -> Fusion {
    let list = |dims: &[i64]| dims.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    let kept: Vec<i64> = (0..dims.len()).filter(|d| !reduced.contains(&(*d as i64))).map(|d| dims[d]).collect();
    let add = if ty == "f32" { "add".to_owned() } else { format!("add_{ty}") };
    fusion(&format!(
        "x = {ty}[{}] parameter(0)\n z = {ty}[] constant(0)
         ROOT r = {ty}[{}] reduce(x, z), dimensions={{{}}}, to_apply={add}",
        list(dims),
        list(&kept),
        list(reduced)
    ))
}

/// The form with the highest score, first of equals.
fn chosen(fusion: &Fusion, device: &DeviceDescription) -> Form {
    let score = |form: Form| match Reduce(form).consider(fusion, device) {
        Verdict::Accept { score } => score,
        Verdict::Decline(_) => 0,
    };
    let best = Form::ALL.into_iter().max_by_key(|&form| score(form)).unwrap();
    assert!(score(best) > 100);
    best
}

fn assert_covers(fusion: &Fusion, plan: &Plan) -> Vec<Proof> {
    let roots = fusion.roots.iter().map(|&id| fusion.computation().instruction(id));
    let shapes: Vec<&Shape> = roots.flat_map(|root| root.shape.leaves()).collect();
    assert_eq!(shapes.len(), plan.outputs.len());
    let check = |(shape, output): (&&Shape, &fusebox_core::emitter::OutputPlan)| {
        let dims = &shape.as_array().unwrap().dims;
        check_joint_coverage(&output.maps, dims, Coverage::ExactlyOnce)
            .unwrap_or_else(|fault| panic!("{fault}: {dims:?} by {}", output.maps[0]))
    };
    shapes.iter().zip(&plan.outputs).map(check).collect()
}

/// The plans of all forms that accept, with all alternatives, cover; each gives a kernel.
fn check_all(fusion: &Fusion, device: &DeviceDescription) {
    for form in Form::ALL {
        let emitter = Reduce(form);
        if let Verdict::Decline(_) = emitter.consider(fusion, device) {
            continue;
        }
        let plan = emitter.plan(fusion, device, &Configuration::default()).unwrap();
        for configuration in std::iter::once(&plan.configuration).chain(&plan.alternatives) {
            let plan = emitter.plan(fusion, device, configuration).unwrap();
            assert_eq!(plan.configuration, *configuration, "{form:?}");
            assert_covers(fusion, &plan);
            assert!(plan.launch.threads_per_block.is_multiple_of(device.warp_size));
            assert!(plan.launch.threads_per_block <= device.max_threads_per_block);
            assert!(plan.shared_bytes <= device.shared_bytes_per_block);
            emitter.emit(fusion, device, &plan).unwrap();
        }
    }
}

#[test]
fn forms_follow_the_shape() {
    let device = DeviceDescription::sm(90);
    let cases: [(&[i64], &[i64], Form); 14] = [
        (&[4096, 4096], &[1], Form::Row),
        (&[8, 16, 4096], &[0, 2], Form::Row),
        (&[262_144, 32], &[1], Form::MultiRow),
        (&[1 << 20, 3], &[1], Form::MultiRow),
        (&[64, 1 << 16, 2], &[0, 2], Form::MultiRow),
        (&[1 << 24], &[0], Form::Scalar),
        (&[7, 9], &[0, 1], Form::Scalar),
        (&[4096, 4096], &[0], Form::Column),
        (&[64, 512, 256], &[1], Form::Column),
        (&[8, 100], &[0], Form::Column),
        (&[262_144, 32], &[0], Form::SmallColumn),
        (&[100, 256, 2], &[1], Form::SmallColumn),
        (&[100_000, 3], &[0], Form::SmallColumn),
        (&[100_000, 4, 4], &[1], Form::Column),
    ];
    for (dims, reduced, form) in cases {
        assert_eq!(chosen(&sum("f32", dims, reduced), &device), form, "{dims:?} {reduced:?}");
    }
}

#[test]
fn odd_sizes_are_covered() {
    let sizes = [1, 3, 32, 33, 100];
    let device = DeviceDescription::simt();
    for a in sizes {
        for b in sizes {
            check_all(&sum("f32", &[a, b], &[1]), &device);
            check_all(&sum("s8", &[a, b], &[0]), &device);
        }
        check_all(&sum("f64", &[a, 3, 5, a], &[1, 3]), &device);
        check_all(&sum("f32", &[a, 3, a, 4], &[0, 2]), &device);
        check_all(&sum("f32", &[a, 40, 6], &[1]), &device);
    }
}

#[test]
fn plans_of_large_problems_are_proven() {
    let device = DeviceDescription::sm(90);
    let cases: [(&[i64], &[i64]); 7] = [
        (&[4096, 4096], &[1]),
        (&[262_144, 32], &[1]),
        (&[1 << 20, 3], &[1]),
        (&[1 << 24], &[0]),
        (&[4096, 4096], &[0]),
        (&[64, 512, 256], &[1]),
        (&[262_144, 32], &[0]),
    ];
    for (dims, reduced) in cases {
        let fusion = sum("f32", dims, reduced);
        let form = chosen(&fusion, &device);
        let plan = Reduce(form).plan(&fusion, &device, &Configuration::default()).unwrap();
        println!("{form:?} {dims:?} {:?} {:?} {:?}", plan.launch, plan.configuration, assert_covers(&fusion, &plan));
        println!("   {}", plan.outputs[0].maps[0]);
    }
}
