//! Tests schedules by executing their thunks on bytes. The interpreter executes the kernels. The
//! results must equal the results of the module, regardless of which values share a buffer.

use fusebox_core::emitter::{LaunchDimensions, OutputPlan, Plan};
use fusebox_core::hlo::{
    ArrayLiteral, ArrayShape, ElementType, Literal, Module, Op, Shape, parse_module, print_module, verify,
};
use fusebox_core::indexing::IndexingMap;
use fusebox_lowering::{Composite, Step};
use fusebox_runtime::{AllocationKind, Slice, Thunk};

use super::{BufferRules, PlannedFusion, Schedule, schedule};
use crate::kernels::{self, Kernels};

struct ScheduledModule {
    module: Module,
    kernels: Kernels,
    plans: Vec<Plan>,
    schedule: Schedule,
}

fn compiled(text: &str) -> ScheduledModule {
    compiled_with(text, false)
}

fn parsed(text: &str) -> Module {
    let module = parse_module(text, "test.hlo").unwrap_or_else(|faults| panic!("{}\n{text}", faults[0]));
    verify(&module).unwrap_or_else(|faults| panic!("{}\n{text}", faults[0]));
    module
}

fn compiled_with(text: &str, runs_alone: bool) -> ScheduledModule {
    let mut module = parsed(text);
    crate::fuse::run(
        &mut module,
        &fusebox_core::device::DeviceDescription::cpu(2),
        &crate::Emitters::bundled(),
        &fusebox_plugins::KnownPlans::default(),
    )
    .unwrap();
    scheduled(module, runs_alone)
}

/// Schedules a module without creating further fusions.
fn scheduled(module: Module, runs_alone: bool) -> ScheduledModule {
    let kernels = kernels::collect(&module);
    let plans: Vec<Plan> = kernels.units.iter().map(plan).collect();
    let planned =
        |(number, plan)| PlannedFusion { plan, kernel: Some(number as u32), runs_alone, seconds: 1e-6, pairs: &[] };
    let planned = plans.iter().enumerate().map(planned);
    let rules = BufferRules { alignment: 64, is_concurrent: true };
    let schedule = schedule(&module, &kernels, &planned.collect::<Vec<_>>(), rules).unwrap();
    ScheduledModule { module, kernels, plans, schedule }
}

/// Returns the plan that an emitter would make: updates of a parameter are in-place.
fn plan(unit: &kernels::KernelUnit) -> Plan {
    let computation = unit.fusion.computation();
    let root = computation.root_instruction();
    let updated = match root.op {
        Op::DynamicUpdateSlice => match computation.instruction(root.operands[0]).op {
            Op::Parameter { number } => Some(number as u32),
            _ => None,
        },
        _ => None,
    };
    let dims = root.shape.as_array().map_or(Vec::new(), |array| array.dims.clone());
    let map = IndexingMap::identity(&dims);
    let output = updated.map_or(OutputPlan::unique(map.clone()), |number| OutputPlan::in_place(map, number));
    Plan::new(LaunchDimensions { blocks: 1, threads_per_block: 1 }, vec![output])
}

struct Machine<'a> {
    compiled: &'a ScheduledModule,
    memory: Vec<Vec<u8>>,
    steps: usize,
}

impl Machine<'_> {
    fn read(&self, slice: &Slice) -> Vec<u8> {
        self.memory[slice.allocation as usize][slice.offset as usize..(slice.offset + slice.bytes) as usize].to_vec()
    }

    fn write(&mut self, slice: &Slice, data: &[u8]) {
        let allocation = &self.compiled.schedule.allocations[slice.allocation as usize];
        assert!(allocation.kind.is_writable(), "{slice} is not to be written");
        self.memory[slice.allocation as usize][slice.offset as usize..(slice.offset + slice.bytes) as usize]
            .copy_from_slice(data);
    }

    fn run(&mut self, thunks: &[Thunk]) {
        for thunk in thunks {
            self.steps += 1;
            assert!(self.steps < 100_000);
            match thunk {
                Thunk::Kernel { kernel, arguments } => self.kernel(*kernel as usize, arguments),
                Thunk::Copy { from, to } => self.write(to, &self.read(from)),
                Thunk::HostOp { .. } => unreachable!("no such operation in these tests"),
                Thunk::While { condition, predicate, body, .. } => loop {
                    self.run(condition);
                    if self.read(predicate)[0] == 0 {
                        break;
                    }
                    self.run(body);
                },
                Thunk::Conditional { index, branches, .. } => {
                    let value = self.read(index);
                    let choice = if value.len() == 1 { usize::from(value[0] == 0) } else { value[0] as usize };
                    self.run(&branches[choice.min(branches.len() - 1)]);
                }
            }
        }
    }

    fn kernel(&mut self, kernel: usize, arguments: &[Slice]) {
        let fusion = &self.compiled.kernels.units[kernel].fusion;
        let computation = fusion.computation();
        let parameters = computation.parameters();
        let (inputs, outputs) = arguments.split_at(parameters.len());
        for (output, plan) in outputs.iter().zip(&self.compiled.plans[kernel].outputs) {
            let initial = plan.initial.map(|number| inputs[number as usize]);
            if let Some(initial) = initial {
                assert_eq!(self.read(output), self.read(&initial), "the initial value of {}", fusion.name);
            }
            let shared = |input: &&Slice| input.overlaps(output);
            let allowed = usize::from(initial.is_some_and(|initial| initial == *output));
            assert_eq!(inputs.iter().filter(shared).count(), allowed, "{}", fusion.name);
        }
        let literals: Vec<Literal> = parameters
            .iter()
            .zip(inputs)
            .map(|(&id, slice)| literal(computation.instruction(id).shape.as_array().unwrap(), self.read(slice)))
            .collect();
        let result = fusebox_interpreter::evaluate(&fusion.module, &literals).unwrap();
        for (leaf, output) in result.leaves().into_iter().zip(outputs) {
            self.write(output, &leaf.as_array().unwrap().data);
        }
    }
}

fn literal(shape: &ArrayShape, data: Vec<u8>) -> Literal {
    Literal::Array(ArrayLiteral { element_type: shape.element_type, dims: shape.dims.clone(), data: data.into() })
}

/// Executes the schedule and compares the results with the interpreter's. Returns the compiled
/// module.
fn check(text: &str) -> ScheduledModule {
    check_schedule(compiled(text), text)
}

fn check_schedule(compiled: ScheduledModule, text: &str) -> ScheduledModule {
    let mut memory: Vec<Vec<u8>> = Vec::new();
    for allocation in &compiled.schedule.allocations {
        memory.push(match &allocation.kind {
            AllocationKind::Constant(data) => data.clone(),
            _ => vec![0xee; allocation.bytes as usize],
        });
    }
    let mut inputs = Vec::new();
    let mut next = 1i32;
    for binding in &compiled.schedule.parameters {
        let shape = binding.shape.to_shape().unwrap();
        let Shape::Array(array) = &shape else { panic!("arrays only") };
        assert_eq!(array.element_type, ElementType::S32);
        let values = (0..array.element_count() as i32).map(|number| next + 7 * number);
        let data: Vec<u8> = values.flat_map(i32::to_le_bytes).collect();
        next += 1000;
        let slice = binding.leaves[0];
        memory[slice.allocation as usize][slice.offset as usize..][..data.len()].copy_from_slice(&data);
        inputs.push(literal(array, data));
    }
    let mut machine = Machine { compiled: &compiled, memory, steps: 0 };
    machine.run(&compiled.schedule.thunks);
    let expected = fusebox_interpreter::evaluate(&compiled.module, &inputs).unwrap();
    let expected: Vec<&ArrayLiteral> = expected.leaves().into_iter().filter_map(Literal::as_array).collect();
    for (leaf, slice) in expected.iter().zip(&compiled.schedule.result.leaves) {
        let found = machine.read(slice);
        assert_eq!(found, &leaf.data[..], "{}\n{text}", print_module(&compiled.module));
    }
    compiled
}

fn copies(thunks: &[Thunk]) -> usize {
    let nested = |thunk: &Thunk| thunk.nested().iter().map(|(_, inner)| copies(inner)).sum::<usize>();
    thunks.iter().map(|thunk| usize::from(matches!(thunk, Thunk::Copy { .. })) + nested(thunk)).sum()
}

fn body(thunks: &[Thunk]) -> &[Thunk] {
    thunks.iter().find_map(|t| if let Thunk::While { body, .. } = t { Some(&body[..]) } else { None }).unwrap()
}

const COUNT: &str = "cond { s = (s32[], s32[4], s32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT }";

/// Returns a loop of three iterations over two arrays. `body` computes `a` and `b` from `x` and
/// `y`.
fn counting(body: &str) -> String {
    format!(
        "HloModule m
{COUNT}
body {{ s = (s32[], s32[4], s32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = s32[4] get-tuple-element(s), index=1
  y = s32[4] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  u = s32[1] broadcast(i), dimensions={{}}
  {body}
  ROOT t = (s32[], s32[4], s32[4]) tuple(j, a, b) }}
ENTRY main {{ zero = s32[] constant(0)
  p = s32[4] parameter(0)
  q = s32[4] parameter(1)
  n = s32[4] negate(p)
  s = (s32[], s32[4], s32[4]) tuple(zero, n, q)
  w = (s32[], s32[4], s32[4]) while(s), condition=cond, body=body
  x = s32[4] get-tuple-element(w), index=1
  y = s32[4] get-tuple-element(w), index=2
  ROOT r = (s32[4], s32[4]) tuple(x, y) }}"
    )
}

#[test]
fn an_update_of_a_value_nobody_needs_is_made_in_place() {
    let compiled = check(
        "HloModule m
ENTRY main { p = s32[4] parameter(0)
  u = s32[1] parameter(1)
  i = s32[] parameter(2)
  n = s32[4] negate(p)
  d = s32[4] dynamic-update-slice(n, u, i)
  ROOT e = s32[4] dynamic-update-slice(d, u, i) }",
    );
    assert_eq!(copies(&compiled.schedule.thunks), 0);
}

#[test]
fn parameters_constants_and_values_needed_later_are_copied_first() {
    for root in ["tuple(d, p)", "tuple(d, n)", "tuple(d, c)"] {
        let updated = &root[9..10];
        let compiled = check(&format!(
            "HloModule m
ENTRY main {{ p = s32[4] parameter(0)
  c = s32[4] constant({{1, 2, 3, 4}})
  u = s32[1] parameter(1)
  i = s32[] parameter(2)
  n = s32[4] negate(p)
  d = s32[4] dynamic-update-slice({updated}, u, i)
  ROOT r = (s32[4], s32[4]) {root} }}"
        ));
        assert_eq!(copies(&compiled.schedule.thunks), 1, "{root}");
    }
}

#[test]
fn an_operand_that_shows_the_old_value_otherwise_forbids_the_place() {
    let compiled = check(
        "HloModule m
fused { n = s32[4] parameter(0)
  r = s32[2,2] parameter(1)
  i = s32[] parameter(2)
  t = s32[1,2] slice(r), slice={[1:2],[0:2]}
  u = s32[2] reshape(t)
  ROOT d = s32[4] dynamic-update-slice(n, u, i) }
ENTRY main { p = s32[4] parameter(0)
  i = s32[] parameter(1)
  n = s32[4] negate(p)
  r = s32[2,2] reshape(n)
  ROOT f = s32[4] fusion(n, r, i), kind=kLoop, calls=fused }",
    );
    assert_eq!(copies(&compiled.schedule.thunks), 1);
}

#[test]
fn a_loop_that_updates_its_state_copies_nothing() {
    let invariant = check(&counting("a = s32[4] dynamic-update-slice(x, u, i)\n  b = s32[4] reshape(y)"));
    let arrays =
        |thunks: &[Thunk]| thunks.iter().filter(|t| matches!(t, Thunk::Copy { from, .. } if from.bytes > 4)).count();
    assert_eq!(arrays(body(&invariant.schedule.thunks)), 0);
    assert_eq!(arrays(&invariant.schedule.thunks), 0, "the invariant parameter and the fresh value stay in place");
}

#[test]
fn states_that_change_places_come_out_right() {
    check(&counting("a = s32[4] reshape(y)\n  b = s32[4] reshape(x)"));
    check(&counting("a = s32[4] dynamic-update-slice(y, u, i)\n  b = s32[4] reshape(x)"));
    check(&counting("a = s32[4] dynamic-update-slice(y, u, i)\n  b = s32[4] dynamic-update-slice(x, u, i)"));
    check(&counting("a = s32[4] dynamic-update-slice(x, u, i)\n  b = s32[4] reshape(x)"));
    check(&counting("a = s32[4] negate(y)\n  b = s32[4] dynamic-update-slice(a, u, i)"));
    check(&counting("a = s32[4] add(x, y)\n  b = s32[4] dynamic-update-slice(x, u, i)"));
}

/// The text of a program with random operations on arrays of four elements.
struct RandomProgram {
    seed: u64,
    text: String,
    names: Vec<String>,
}

impl RandomProgram {
    fn below(&mut self, bound: usize) -> usize {
        self.seed = self.seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.seed >> 33) as usize % bound
    }

    fn any(&mut self) -> String {
        let number = self.below(self.names.len());
        self.names[number].clone()
    }

    fn grow(&mut self, prefix: &str, count: usize, callees: &[&str]) {
        for number in 0..count {
            let (name, a, b) = (format!("{prefix}{number}"), self.any(), self.any());
            let kind = self.below(if callees.is_empty() { 5 } else { 7 });
            self.text += &match kind {
                0 => format!("  {name} = s32[4] add({a}, {b})\n"),
                1 => format!("  {name} = s32[4] reverse({a}), dimensions={{0}}\n"),
                2 | 3 => format!(
                    "  {name}u = s32[2] slice({b}), slice={{[1:3]}}\n  {name}v = s32[2] negate({name}u)\n  \
                     {name} = s32[4] dynamic-update-slice({a}, {name}v, i)\n"
                ),
                4 => format!("  {name}r = s32[2,2] reshape({a})\n  {name} = s32[4] reshape({name}r)\n"),
                5 => format!(
                    "  {name}t = (s32[], s32[4], s32[4]) tuple(i, {a}, {b})\n  \
                     {name}w = (s32[], s32[4], s32[4]) while({name}t), condition=cond, body={}\n  \
                     {name}o = s32[4] get-tuple-element({name}w), index=1\n  \
                     {name} = s32[4] get-tuple-element({name}w), index=2\n",
                    callees[0]
                ),
                _ => format!(
                    "  {name}t = (s32[], s32[4], s32[4]) tuple(i, {a}, {b})\n  \
                     {name}c = (s32[], s32[4], s32[4]) conditional(i, {name}t, {name}t), branch_computations={{{}, {}}}\n  \
                     {name}o = s32[4] get-tuple-element({name}c), index=1\n  \
                     {name} = s32[4] get-tuple-element({name}c), index=2\n",
                    callees[0], callees[1]
                ),
            };
            if kind >= 5 {
                self.names.push(format!("{name}o"));
            }
            self.names.push(name);
        }
    }
}

fn random_body(seed: u64, name: &str, callees: &[&str]) -> String {
    let text = format!(
        "{name} {{ s = (s32[], s32[4], s32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = s32[4] get-tuple-element(s), index=1
  y = s32[4] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)\n"
    );
    let mut lines = RandomProgram { seed, text, names: vec!["x".into(), "y".into()] };
    let count = 1 + lines.below(5);
    lines.grow("v", count, callees);
    let (a, b) = (lines.any(), lines.any());
    lines.text + &format!("  ROOT t = (s32[], s32[4], s32[4]) tuple(j, {a}, {b}) }}\n")
}

#[test]
fn random_programs_compute_what_the_module_says() {
    for seed in 0..400 {
        let inner = random_body(seed * 3 + 1, "inner", &[]);
        let other = random_body(seed * 3 + 2, "other", &["inner", "inner"]);
        let entry = "ENTRY main { p = s32[4] parameter(0)
  q = s32[4] parameter(1)
  i = s32[] constant(0)
  c = s32[4] constant({5, 6, 7, 8})
  n = s32[4] negate(p)\n";
        let names = ["p", "q", "c", "n"].map(String::from).to_vec();
        let mut lines = RandomProgram { seed, text: entry.into(), names };
        lines.grow("e", 6, &["other", "inner"]);
        let (a, b) = (lines.any(), lines.any());
        for donated in ["", ", input_output_alias={ {0}: (0, {}, may-alias), {2}: (1, {}, may-alias) }"] {
            check(&format!(
                "HloModule m{donated}\n{COUNT}\n{inner}{other}{}  ROOT r = (s32[4], s32[4], s32[4]) tuple({a}, {b}, e5) }}",
                lines.text
            ));
        }
    }
}

/// Compiles a program with two parameters. The first parameter is donated to the first result.
fn donating(body: &str) -> ScheduledModule {
    let compiled = check(&format!(
        "HloModule m, input_output_alias={{ {{0}}: (0, {{}}, may-alias) }}
ENTRY main {{ p = s32[4] parameter(0)
  q = s32[4] parameter(1)
  i = s32[] constant(1)
  u = s32[2] slice(q), slice={{[1:3]}}
  {body} }}"
    ));
    let Schedule { parameters, result, memory, .. } = &compiled.schedule;
    assert_eq!(result.leaves[0], parameters[0].leaves[0]);
    assert_eq!((memory.shared[0].output, memory.shared[0].input, &*memory.shared[0].parameter), (0, 0, "p"));
    compiled
}

#[test]
fn a_donated_input_is_updated_where_it_stands() {
    let compiled = donating("d = s32[4] dynamic-update-slice(p, u, i)\n  ROOT r = (s32[4], s32[4]) tuple(d, q)");
    assert_eq!(copies(&compiled.schedule.thunks), 0);
    assert_eq!(compiled.schedule.memory.outputs, 0, "one result is an input, the other stands in one");
}

#[test]
fn a_result_is_made_in_the_donated_buffer_once_nobody_reads_it() {
    let compiled = donating(
        "n = s32[4] reverse(p), dimensions={0}\n  d = s32[4] dynamic-update-slice(q, u, i)\n  \
         r = s32[4] reverse(n), dimensions={0}\n  ROOT t = (s32[4], s32[4]) tuple(d, n)",
    );
    assert_eq!(copies(&compiled.schedule.thunks), 1, "of `q`, whose value is updated and which is not donated");
}

#[test]
fn an_alias_that_cannot_be_had_costs_one_copy() {
    donating("ROOT t = (s32[4], s32[4]) tuple(q, p)");
    donating("ROOT t = (s32[4], s32[4]) tuple(p, p)");
    donating("n = s32[4] reverse(p), dimensions={0}\n  ROOT t = (s32[4], s32[4]) tuple(n, p)");
    let compiled = donating("n = s32[4] reverse(p), dimensions={0}\n  ROOT t = (s32[4], s32[4]) tuple(n, q)");
    assert_eq!(copies(&compiled.schedule.thunks), 1, "a kernel does not write what it reads");
}

#[test]
fn a_loop_runs_on_donated_state() {
    let text = counting("a = s32[4] dynamic-update-slice(x, u, i)\n  b = s32[4] reshape(y)");
    let text = text.replace("n = s32[4] negate(p)", "n = s32[4] reshape(p)");
    let donated = text.replace("HloModule m", "HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }");
    let arrays = |compiled: &ScheduledModule| {
        compiled.schedule.thunks.iter().filter(|t| matches!(t, Thunk::Copy { from, .. } if from.bytes > 4)).count()
    };
    assert_eq!(arrays(&check(&text)), 1);
    assert_eq!(arrays(&check(&donated)), 0);
}

#[test]
fn a_loop_of_small_steps_becomes_a_function() {
    let text = counting("a = s32[4] add(x, y)\n  b = s32[4] dynamic-update-slice(y, u, i)");
    let schedule = compiled_with(&text, true).schedule;
    let [composite] = &schedule.composites[..] else { panic!("{:?}", schedule.composites) };
    // The arguments are the state: the iteration number, `a` and `b`. The state, and buffers that
    // only the loop uses, are local to the function.
    let mut sizes: Vec<u64> = composite.arguments.iter().map(|it| it.bytes).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [4, 16, 16]);
    assert!(composite.arguments.iter().all(|it| it.no_alias && !it.read_only), "{composite:?}");
    let copies = |composite: &Composite| {
        composite.steps.iter().filter(|step| matches!(step, Step::Copy { .. })).cloned().collect::<Vec<Step>>()
    };
    let copied: Vec<[bool; 2]> = copies(composite)
        .iter()
        .map(|step| if let Step::Copy { from, to } = step { [*from < 3, *to < 3] } else { unreachable!() })
        .collect();
    assert_eq!(copied, [[[true, false]; 3], [[false, true]; 3]].concat());
    // The composite's number follows those of the kernels that are still launched.
    let launch = schedule.launched.len() as u32;
    assert!(schedule.thunks.iter().any(|thunk| matches!(thunk, Thunk::Kernel { kernel, .. } if *kernel == launch)));
    assert!(!schedule.thunks.iter().any(|thunk| matches!(thunk, Thunk::While { .. })));

    let large = compiled_with(&text.replace("s32[4]", "s32[4096]"), true).schedule;
    assert_eq!(copies(&large.composites[0]).len(), 2, "only the number is small: {:?}", large.composites);
    let sorting = text.replace("add(x, y)", "cholesky(x)");
    let sorting = sorting.replace("s32[4]", "f32[4,4]").replace("dynamic-update-slice(y, u, i)", "negate(y)");
    assert_eq!(compiled_with(&sorting, true).schedule.composites, []);
    assert_eq!(compiled_with(&text, false).schedule.composites, []);
}

#[test]
fn loops_nested_deep_are_a_function_only_inside() {
    let mut text = String::from(
        "HloModule m\nc { s = s32[] parameter(0)\n n = s32[] constant(3)\n ROOT l = pred[] compare(s, n), direction=LT }\n\
         f0 { s = s32[] parameter(0)\n o = s32[] constant(1)\n ROOT j = s32[] add(s, o) }\n",
    );
    for i in 1..100 {
        let inner = i - 1;
        text += &format!("f{i} {{ s = s32[] parameter(0)\n ROOT w = s32[] while(s), condition=c, body=f{inner} }}\n");
    }
    text += "ENTRY e { p = s32[] parameter(0)\n ROOT w = s32[] while(p), condition=c, body=f99 }\n";
    let compiled = compiled_with(&text, true);
    fn loops(steps: &[Step]) -> usize {
        let nested = |step: &Step| match step {
            Step::While { condition, body, .. } => 1 + loops(condition).max(loops(body)),
            _ => 0,
        };
        steps.iter().map(nested).max().unwrap_or(0)
    }
    let [composite] = compiled.schedule.composites.as_slice() else { panic!("one composite") };
    assert_eq!(loops(&composite.steps), 24);
}

/// Only the loop reads the constant, but the constant receives its value outside of the loop.
#[test]
fn a_constant_is_given_to_a_loop() {
    let text = counting(
        "k = s32[4] constant({5, 6, 7, 8})\n  a = s32[4] add(x, k)\n  b = s32[4] dynamic-update-slice(y, u, i)",
    );
    let schedule = compiled_with(&text, true).schedule;
    let read = schedule.composites[0].arguments.iter().filter(|it| it.read_only).map(|it| it.bytes);
    assert_eq!(read.collect::<Vec<u64>>(), [16], "{:?}", schedule.composites);
}

/// Before the loop, the order of the program takes less memory than the order that frees memory
/// early. In the loop, the order that frees memory early takes less memory than the order of the
/// program.
#[test]
fn each_computation_at_the_peak_has_the_order_that_suits_it() {
    let wide = |elements: u32| {
        format!(
            "wide{elements} {{ x = s32[8] parameter(0)
  z = s32[] constant(0)
  ROOT w = s32[{elements}] pad(x, z), padding=0_{}
}}
narrow{elements} {{ w = s32[{elements}] parameter(0)
  ROOT n = s32[8] slice(w), slice={{[{}:{elements}]}}
}}
",
            elements - 8,
            elements - 8
        )
    };
    let text = format!(
        "HloModule m
{}{}{}sum {{ a = s32[8] parameter(0)
  b = s32[8] parameter(1)
  ROOT c = s32[8] add(a, b)
}}
last {{ w = s32[8000] parameter(0)
  n = s32[8] slice(w), slice={{[7992:8000]}}
  b = s32[8] parameter(1)
  ROOT c = s32[8] add(n, b)
}}
next {{ i = s32[] parameter(0)
  one = s32[] constant(1)
  ROOT j = s32[] add(i, one)
}}
less {{ i = s32[] parameter(0)
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT
}}
cond {{ s = (s32[], s32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  ROOT c = pred[] fusion(i), kind=kLoop, calls=less
}}
body {{ s = (s32[], s32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = s32[8] get-tuple-element(s), index=1
  a = s32[10000] fusion(x), kind=kLoop, calls=wide10000
  b = s32[10000] fusion(x), kind=kLoop, calls=wide10000
  an = s32[8] fusion(a), kind=kLoop, calls=narrow10000
  bn = s32[8] fusion(b), kind=kLoop, calls=narrow10000
  y = s32[8] fusion(an, bn), kind=kLoop, calls=sum
  j = s32[] fusion(i), kind=kLoop, calls=next
  ROOT t = (s32[], s32[8]) tuple(j, y)
}}
ENTRY main {{ p = s32[8] parameter(0)
  zero = s32[] constant(0)
  large = s32[15000] fusion(p), kind=kLoop, calls=wide15000
  small = s32[8] fusion(large), kind=kLoop, calls=narrow15000
  kept = s32[8000] fusion(p), kind=kLoop, calls=wide8000
  start = (s32[], s32[8]) tuple(zero, small)
  loop = (s32[], s32[8]) while(start), condition=cond, body=body
  end = s32[8] get-tuple-element(loop), index=1
  ROOT r = s32[8] fusion(kept, end), kind=kLoop, calls=last
}}
",
        wide(8000),
        wide(10000),
        wide(15000)
    );
    let compiled = check_schedule(scheduled(parsed(&text), false), &text);
    let peak = compiled.schedule.memory.peak;
    assert!((72_000..73_000).contains(&peak), "{peak}");
}
