//! Plans for blocks of one thread: they cover every output exactly once, in every configuration, and give every core
//! something to do.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Emitter, Fusion, Plan, Verdict};
use fusebox_core::hlo::{Shape, parse_module};
use fusebox_core::indexing::covers_exactly_once;
use fusebox_emitter_reduce::{Form, Reduce, RowNormalise};

const ADD: &str = "add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }
";

fn fusion(body: &str) -> Fusion {
    let text = format!("{ADD}fusion {{\n{body}\n}}\n");
    let module = parse_module(&text, "fusion.hlo").unwrap_or_else(|faults| panic!("{}\n{text}", faults[0]));
    Fusion::new("kernel", module).unwrap()
}

fn sum(dims: &str, reduced: &str, kept: &str) -> Fusion {
    fusion(&format!(
        "x = f32[{dims}] parameter(0)\nz = f32[] constant(0)\nROOT r = f32[{kept}] reduce(x, z), dimensions={{{reduced}}}, to_apply=add"
    ))
}

fn covers(fusion: &Fusion, plan: &Plan) {
    let roots = fusion.roots.iter().flat_map(|&id| fusion.computation().instruction(id).shape.leaves());
    let shapes: Vec<_> = roots.filter_map(Shape::as_array).collect();
    assert_eq!(shapes.len(), plan.outputs.len());
    for (shape, output) in shapes.iter().zip(&plan.outputs) {
        for map in &output.maps {
            covers_exactly_once(map, &shape.dims).unwrap_or_else(|violation| panic!("{violation}: {map}"));
            assert_eq!(map.dims[1].bounds.upper + 1, plan.launch.blocks as i64);
        }
    }
}

/// The plan, after it and its alternatives were checked and emitted.
fn planned(emitter: &dyn Emitter, fusion: &Fusion, cores: u32) -> Plan {
    let device = DeviceDescription::cpu(cores);
    let plan = emitter.plan(fusion, &device, &Configuration::default()).unwrap();
    let others = plan.alternatives.iter().map(|knobs| emitter.plan(fusion, &device, knobs).unwrap());
    for plan in others.chain([plan.clone()]) {
        covers(fusion, &plan);
        emitter.emit(fusion, &device, &plan).unwrap();
        // Made again from its own configuration, it is the same.
        assert_eq!(emitter.plan(fusion, &device, &plan.configuration).unwrap().launch, plan.launch);
    }
    plan
}

#[test]
fn forms_and_blocks() {
    let cases = [
        ("4096,4096", "1", "4096", Form::Row, 32),
        ("70,1000", "1", "70", Form::Row, 2),
        ("262144,32", "1", "262144", Form::MultiRow, 32),
        ("1000", "0", "", Form::Scalar, 1),
        ("4096,4096", "0", "4096", Form::Column, 8),
        ("64,512,256", "1", "64,256", Form::Column, 32),
        ("1000,100", "0", "100", Form::Column, 2),
        ("4096,5", "0", "5", Form::SmallColumn, 1),
    ];
    for (dims, reduced, kept, form, blocks) in cases {
        let fusion = sum(dims, reduced, kept);
        let verdicts = Form::ALL.map(|form| Reduce(form).consider(&fusion, &DeviceDescription::cpu(2)));
        let accepting: Vec<Form> = Form::ALL
            .into_iter()
            .zip(verdicts)
            .filter(|(_, verdict)| matches!(verdict, Verdict::Accept { .. }))
            .map(|(form, _)| form)
            .collect();
        assert_eq!(accepting, [form], "{dims} over {reduced}");
        let plan = planned(&Reduce(form), &fusion, 2);
        assert_eq!(plan.launch.blocks, blocks, "{dims} over {reduced}");
        assert_eq!(plan.launch.threads_per_block, 1);
    }
}

#[test]
fn odd_sizes_and_groups_of_different_problems() {
    for (dims, reduced, kept) in [("7,1001,3", "1", "7,3"), ("1,9,977", "0,2", "9"), ("33,40000,2", "1", "33,2")] {
        let fusion = sum(dims, reduced, kept);
        let taken = Form::ALL
            .into_iter()
            .find(|form| matches!(Reduce(*form).consider(&fusion, &DeviceDescription::cpu(3)), Verdict::Accept { .. }));
        planned(&Reduce(taken.unwrap()), &fusion, 3);
    }
    let two = fusion(
        "x = f32[600,500] parameter(0)
y = f32[90,70] parameter(1)
z = f32[] constant(0)
n = f32[600,500] negate(x)
r = f32[600] reduce(n, z), dimensions={1}, to_apply=add
c = f32[70] reduce(y, z), dimensions={0}, to_apply=add
ROOT t = (f32[600], f32[70], f32[600,500]) tuple(r, c, n)",
    );
    planned(&Reduce(Form::Row), &two, 2);
}

#[test]
fn chains_take_rows() {
    let text = |rows: i64, length: i64| {
        format!(
            "x = f32[{rows},{length}] parameter(0)
z = f32[] constant(0)
s = f32[{rows}] reduce(x, z), dimensions={{1}}, to_apply=add
b = f32[{rows},{length}] broadcast(s), dimensions={{0}}
d = f32[{rows},{length}] subtract(x, b)
q = f32[{rows},{length}] multiply(d, d)
v = f32[{rows}] reduce(q, z), dimensions={{1}}, to_apply=add
ROOT t = (f32[{rows},{length}], f32[{rows}]) tuple(d, v)"
        )
    };
    for (rows, length, blocks) in [(4096, 4096, 32), (7, 33, 1), (10, 50_000, 10)] {
        let fusion = fusion(&text(rows, length));
        assert!(matches!(RowNormalise.consider(&fusion, &DeviceDescription::cpu(2)), Verdict::Accept { .. }));
        assert_eq!(planned(&RowNormalise, &fusion, 2).launch.blocks, blocks);
        // Threads of a block have to work together on a row, which this kernel does not provide for.
        assert!(matches!(RowNormalise.consider(&fusion, &DeviceDescription::sm(90)), Verdict::Decline(_)));
    }
    let plain = sum("64,64", "1", "64");
    assert!(matches!(RowNormalise.consider(&plain, &DeviceDescription::cpu(2)), Verdict::Decline(_)));
}
