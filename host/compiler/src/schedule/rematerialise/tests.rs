//! Tests the least limit that an error names.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{LaunchDimensions, OutputPlan, Plan};
use fusebox_core::hlo::parse_module;
use fusebox_core::indexing::IndexingMap;

use super::{BufferRules, PlannedFusion, Program, within};
use crate::kernels::{self, KernelUnit};
use crate::{CompileError, Emitters, fuse};

fn plan(unit: &KernelUnit) -> Plan {
    let shapes = unit.fusion.output_shapes();
    let outputs = shapes
        .iter()
        .filter_map(|shape| shape.as_array())
        .map(|shape| OutputPlan::unique(IndexingMap::identity(&shape.dims)));
    Plan::new(LaunchDimensions { blocks: 1, threads_per_block: 1 }, outputs.collect())
}

/// Returns the least limit that the program can meet, if it cannot meet `limit`.
fn least(program: &Program<'_>, limit: u64) -> Option<u64> {
    match within(limit, program, program.scheduled().unwrap()) {
        Ok(_) => None,
        Err(CompileError::MemoryLimit { least, .. }) => Some(least),
        Err(other) => panic!("{other}"),
    }
}

/// Number of values of a program.
const VALUES: usize = 8;

/// Returns a program with values of many sizes. Each value is computed from two earlier values.
/// Some values are needed late.
fn program(mut seed: u64) -> String {
    let mut below = |n: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % n
    };
    let mut sizes = vec![8 + below(60)];
    let (mut matrices, mut text) = (String::new(), String::new());
    let mut dot = |text: &mut String, name: &str, from: usize, sizes: [usize; 2]| {
        let [rows, columns] = sizes;
        let number = matrices.lines().count() + 1;
        matrices += &format!("  w{number} = f32[{rows},{columns}] parameter({number})\n");
        *text += &format!(
            "  {name} = f32[{columns}] dot(v{from}, w{number}), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}\n"
        );
    };
    for i in 1..VALUES {
        let size = 8 + below(60) * if below(3) == 0 { 8 } else { 1 };
        let [a, b] = [below(i), i - 1];
        dot(&mut text, &format!("a{i}"), a, [sizes[a], size]);
        dot(&mut text, &format!("b{i}"), b, [sizes[b], size]);
        text += &format!("  v{i} = f32[{size}] add(a{i}, b{i})\n");
        sizes.push(size);
    }
    format!(
        "HloModule m\nENTRY e {{\n  v0 = f32[{}] parameter(0)\n{matrices}{text}  ROOT r = f32[{}] negate(v{})\n}}",
        sizes[0],
        sizes[VALUES - 1],
        VALUES - 1
    )
}

#[test]
fn the_least_that_is_named_works_and_one_byte_less_does_not() {
    for seed in 0..3 {
        let text = program(seed);
        let mut module = parse_module(&text, "test.hlo").unwrap();
        fuse::run(
            &mut module,
            &DeviceDescription::cpu(2),
            &Emitters::bundled(),
            &fusebox_plugins::KnownPlans::default(),
        )
        .unwrap();
        let kernels = kernels::collect(&module);
        let plans: Vec<Plan> = kernels.units.iter().map(plan).collect();
        let planned = |(number, plan)| PlannedFusion {
            plan,
            kernel: Some(number as u32),
            runs_alone: false,
            seconds: 1e-6 * (1 + number % 5) as f64,
            pairs: &[],
        };
        let planned: Vec<PlannedFusion> = plans.iter().enumerate().map(planned).collect();
        let rules = BufferRules { alignment: 64, is_concurrent: false };
        let program = Program { module, kernels, planned: &planned, rules };
        let named = least(&program, 0).unwrap();
        let much = program.scheduled().unwrap().memory.written();
        assert!(named <= much);
        for limit in [0, named.midpoint(much)] {
            let Some(named) = least(&program, limit) else { continue };
            assert!(named > limit, "{named} of {limit}");
            assert_eq!(least(&program, named), None, "{named} is named for {limit}: {text}");
            assert!(least(&program, named - 1).is_some(), "one byte less than {named} will do: {text}");
        }
    }
}
