//! Tests the check of the requirements on a plan. The tests of an emitter may also call this check.
#![allow(clippy::unwrap_used, reason = "tests")]

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Fusion, LaunchDimensions, OutputPlan, Plan, PlanFault, WriteMode, check_plan};
use fusebox_core::hlo::parse_module;
use fusebox_core::indexing::{Expr, IndexingMap, Variable};

/// Returns the fault of a plan with this output, for an array of 64 elements. The plan has one
/// thread per element.
fn fault(output: OutputPlan) -> Option<PlanFault> {
    let text = "f { x = f32[64] parameter(0)\n  y = f32[32] parameter(1)\n  ROOT r = f32[64] negate(x) }";
    let fusion = Fusion::new("f", parse_module(text, "test").unwrap()).unwrap();
    let plan = Plan::new(LaunchDimensions { blocks: 1, threads_per_block: 64 }, vec![output]);
    check_plan(&plan, &fusion, &DeviceDescription::simt()).err()
}

fn written(element: Expr) -> IndexingMap {
    IndexingMap {
        dims: vec![Variable::named("th", 64), Variable::named("bl", 1)],
        results: vec![element],
        ..IndexingMap::default()
    }
}

#[test]
fn every_element_is_written_once_or_as_the_plan_says() {
    let thread = || Expr::dim(0);
    assert_eq!(fault(OutputPlan::unique(written(thread()))), None);
    assert_eq!(fault(OutputPlan::unique(written(Expr::constant(63) - thread()))), None);
    for element in [thread() + 1, thread().floor_div(2), thread() * 2] {
        let found = fault(OutputPlan::unique(written(element)));
        assert!(matches!(found, Some(PlanFault::Coverage { .. })), "{found:?}");
    }
    // An update may leave elements unwritten if the initial content of its output is a parameter of
    // the same size in bytes.
    let half = written(thread().floor_div(2));
    assert_eq!(fault(OutputPlan { mode: WriteMode::Atomic, ..OutputPlan::in_place(half.clone(), 0) }), None);
    for initial in [1, 2] {
        let found = fault(OutputPlan { mode: WriteMode::Atomic, ..OutputPlan::in_place(half.clone(), initial) });
        assert!(matches!(found, Some(PlanFault::Initial { .. })), "{found:?}");
    }
    let of_another_launch = IndexingMap { dims: vec![Variable::named("th", 32); 2], ..written(thread()) };
    assert!(matches!(fault(OutputPlan::unique(of_another_launch)), Some(PlanFault::Variables { .. })));
}

#[test]
fn a_checked_output_does_not_excuse_another_one() {
    let text = "f { x = f32[64] parameter(0)\n  ROOT r = f32[64] negate(x) }";
    let fusion = Fusion::new("f", parse_module(text, "test").unwrap()).unwrap();
    let fault = |output: OutputPlan| {
        let plan = Plan::new(LaunchDimensions { blocks: 1, threads_per_block: 64 }, vec![output]);
        check_plan(&plan, &fusion, &DeviceDescription::simt()).err()
    };
    // Each element is written twice, which only an atomic update may do.
    let twice = || written(Expr::dim(0).floor_div(2));
    assert_eq!(fault(OutputPlan { mode: WriteMode::Atomic, ..OutputPlan::in_place(twice(), 0) }), None);
    for _ in 0..2 {
        assert!(matches!(fault(OutputPlan::unique(twice())), Some(PlanFault::Coverage { .. })));
        assert_eq!(fault(OutputPlan::unique(written(Expr::dim(0)))), None);
    }
}
