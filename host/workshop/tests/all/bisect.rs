//! Plants faults in passes, fusions, emitters, stages of lowering and executables. Bisect must find
//! the part at fault.

use std::path::Path;
use std::sync::Arc;

use fusebox_compiler::{Departures, Options, Phase, Planted, Source};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{
    Configuration, Descriptor, EmitError, Emitter, Fusion, Kernel, KernelCode, Plan, Verdict as Answer,
};
use fusebox_core::hlo::{Literal, Module, Op, Opcode, UnaryOp};
use fusebox_core::ir::{Attribute, Function, OpKind, Operation, Region};
use fusebox_lowering::{Stage, Target};
use fusebox_plugins::Registry;
use fusebox_run::inputs::InputChoice;
use fusebox_runtime::Executable;
use fusebox_workshop::bisect::{BisectionSettings, BisectionVerdict, Suspect, bisect};

const MODULE: &str = "HloModule planted
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
ENTRY main {
  x = f32[64,64] parameter(0)
  y = f32[64,64] parameter(1)
  two = f32[] constant(2)
  twos = f32[64,64] broadcast(two), dimensions={}
  difference = f32[64,64] subtract(x, y)
  scaled = f32[64,64] multiply(difference, twos)
  turned = f32[64,64] transpose(scaled), dimensions={1,0}
  zero = f32[] constant(0)
  sums = f32[64] reduce(turned, zero), dimensions={1}, to_apply=sum
  grown = f32[64,64] exponential(scaled)
  result = f32[64,64] add(grown, y)
  ROOT both = (f32[64,64], f32[64]) tuple(result, sums)
}
";

const LOOP: &str = include_str!("../turns.hlo");

/// A program with a kernel, and a routine that reads the result of this kernel.
const CHAIN: &str = "HloModule chain
is_less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT less = pred[] compare(a, b), direction=LT
}
ENTRY main {
  x = f32[512] parameter(0)
  waves = f32[512] sine(x)
  ROOT in_order = f32[512] sort(waves), dimensions={0}, to_apply=is_less
}
";

/// A program in which the indices of reads differ from the indices of writes.
const PART: &str = "HloModule part
ENTRY main {
  x = f32[24,40] parameter(0)
  ROOT part = f32[23,37] slice(x), slice={[1:24],[3:40]}
}
";

/// A program with numbers of a type that no processor can compare.
const NARROW: &str = "HloModule narrow
ENTRY main {
  x = bf16[64] parameter(0)
  y = bf16[64] parameter(1)
  ROOT less = pred[64] compare(x, y), direction=LT
}
";

/// A program that adds a positive number and the largest number. The sum wraps, and is less than
/// both numbers.
const OVERFLOW: &str = "HloModule overflow
ENTRY main {
  x = s32[64] parameter(0)
  largest = s32[] constant(2147483647)
  all = s32[64] broadcast(largest), dimensions={}
  sum = s32[64] add(x, all)
  is_more = pred[64] compare(sum, x), direction=GT
  ROOT chosen = s32[64] select(is_more, x, sum)
}
";

fn settings(planted: Planted, emitters: Vec<Box<dyn Emitter>>) -> BisectionSettings {
    let target = Target::cpu();
    let all = emitters.into_iter().chain(fusebox_bundle::emitters()).collect();
    let compile = Options {
        departures: Departures { planted, ..Departures::default() },
        ..Options::new(target.clone(), target.device().clone(), Registry::new(all).unwrap(), Phase::Run)
    };
    let run = fusebox_runtime::Options { threads: 1, ..Default::default() };
    let inputs = InputChoice { seed: 1, ..InputChoice::default() };
    BisectionSettings { compile, run, target: "cpu".into(), inputs, reference: None, repro: None, force: false }
}

fn found(text: &str, planted: Planted) -> BisectionVerdict {
    bisect(&Source::text("planted.hlo", text), &settings(planted, Vec::new())).unwrap()
}

/// Plants a fault after a pass or after fusion.
fn after(step: &'static str, change: impl Fn(&mut Module) + Send + Sync + 'static) -> Planted {
    let plant = move |name: &str, module: &mut Module| {
        if name == step {
            change(module);
        }
    };
    Planted { module: Some(Arc::new(plant)), ..Planted::default() }
}

/// Plants a fault in every operation of a kind after a stage of lowering.
fn at(stage: Stage, kind: OpKind, change: impl Fn(&mut Operation) + Send + Sync + 'static) -> Planted {
    let plant = move |now: Stage, functions: &mut [Function]| {
        if now == stage {
            functions.iter_mut().for_each(|function| each(&mut function.body, kind, &change));
        }
    };
    Planted { kernel: Some(Arc::new(plant)), ..Planted::default() }
}

fn each(region: &mut Region, kind: OpKind, change: &dyn Fn(&mut Operation)) {
    for operation in &mut region.operations {
        if operation.kind == kind {
            change(operation);
        }
        operation.regions.iter_mut().for_each(|region| each(region, kind, change));
    }
}

/// Swaps the operands of all instructions of an opcode.
fn swapped(opcode: Opcode) -> impl Fn(&mut Module) {
    move |module| {
        let all = module.computations.iter_mut().flat_map(|computation| &mut computation.instructions);
        all.filter(|it| it.opcode() == opcode).for_each(|it| it.operands.swap(0, 1));
    }
}

fn pass(name: &str) -> Suspect {
    Suspect::Pass { name: name.into() }
}

#[test]
fn a_program_without_faults_has_none() {
    for text in [MODULE, LOOP, CHAIN, OVERFLOW] {
        assert_eq!(found(text, Planted::default()).suspect, Suspect::Nothing);
    }
}

#[test]
fn a_pass_that_swaps_operands() {
    let verdict = found(MODULE, after("movements", swapped(Opcode::Subtract)));
    assert_eq!(verdict.suspect, pass("movements"));
    assert_eq!(verdict.instructions_after, Some(1), "the subtraction alone: {verdict:?}");
}

#[test]
fn what_goes_wrong_is_written_down_small() {
    let folder = tempfile::tempdir().unwrap();
    let planted = after("movements", swapped(Opcode::Subtract));
    let settings = BisectionSettings { repro: Some(folder.path().join("r")), ..settings(planted, Vec::new()) };
    let verdict = bisect(&Source::text("planted.hlo", MODULE), &settings).unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.path().join("r").join(name)).unwrap();
    let module = read("module.hlo");
    assert!(module.contains("subtract(") && !module.contains("exponential("), "{module}");
    assert!(read("README.md").contains("Pass `movements` is at fault"), "{}", read("README.md"));
    assert!(read("check.sh").contains("run module.hlo --inputs inputs.npz --check"));
    assert!(verdict.words().contains("check.sh"), "{}", verdict.words());
}

#[test]
fn a_pass_that_gets_a_constant_wrong() {
    let verdict = found(
        MODULE,
        after("constant-folding", |module| {
            let all = module.computations.iter_mut().flat_map(|computation| &mut computation.instructions);
            for instruction in all {
                if let Op::Constant(Literal::Array(array)) = &mut instruction.op
                    && array.data[..] == 2f32.to_le_bytes()
                {
                    array.data = 3f32.to_le_bytes().to_vec().into();
                }
            }
        }),
    );
    assert_eq!(verdict.suspect, pass("constant-folding"));
}

#[test]
fn a_pass_that_takes_one_value_for_another() {
    let verdict = found(
        MODULE,
        after("common-subexpressions", |module| {
            let entry = module.entry.unwrap();
            let computation = &mut module.computations[entry.index()];
            let &[x, y, ..] = computation.parameters().as_slice() else { return };
            let adds = computation.instructions.iter_mut().filter(|it| it.opcode() == Opcode::Add);
            adds.flat_map(|add| &mut add.operands).filter(|operand| **operand == y).for_each(|operand| *operand = x);
        }),
    );
    assert_eq!(verdict.suspect, pass("common-subexpressions"));
}

#[test]
fn the_last_pass_in_a_loop() {
    let verdict = found(
        LOOP,
        after("dead-code", |module| {
            let all = module.computations.iter_mut().flat_map(|computation| &mut computation.instructions);
            all.filter(|it| it.opcode() == Opcode::Sine).for_each(|it| it.op = Op::Unary(UnaryOp::Cosine));
        }),
    );
    assert_eq!(verdict.suspect, pass("dead-code"));
}

#[test]
fn a_fusion_with_its_operands_in_the_wrong_order() {
    let verdict = found(
        MODULE,
        after("fuse", |module| {
            let entry = module.entry.unwrap();
            let of_sums = module.computations[entry.index()].instructions.iter_mut();
            let fusion = of_sums.rev().find(|it| it.opcode() == Opcode::Fusion && it.operands.len() > 1).unwrap();
            fusion.operands.swap(0, 1);
        }),
    );
    assert!(matches!(&verdict.suspect, Suspect::Fusion { instruction: Some(_) }), "{verdict:?}");
}

/// An emitter that wraps another emitter. It computes every element from a wrong element.
struct WrongElementEmitter(Box<dyn Emitter>);

impl WrongElementEmitter {
    fn like(name: &str) -> Box<dyn Emitter> {
        let mut all = fusebox_bundle::emitters();
        let place = all.iter().position(|emitter| emitter.descriptor().name == name).unwrap();
        Box::new(WrongElementEmitter(all.swap_remove(place)))
    }
}

impl Emitter for WrongElementEmitter {
    fn descriptor(&self) -> Descriptor {
        Descriptor { name: "careless".into(), ..self.0.descriptor() }
    }

    /// The predicted time equals that of the wrapped emitter. If times are equal, names decide, so
    /// this emitter is chosen.
    fn consider(&self, fusion: &Fusion, device: &DeviceDescription) -> Answer {
        self.0.consider(fusion, device)
    }

    fn plan(&self, fusion: &Fusion, device: &DeviceDescription, knobs: &Configuration) -> Result<Plan, EmitError> {
        self.0.plan(fusion, device, knobs)
    }

    fn emit(&self, fusion: &Fusion, device: &DeviceDescription, plan: &Plan) -> Result<Kernel, EmitError> {
        let mut kernel = self.0.emit(fusion, device, plan)?;
        if let KernelCode::Function(function) = &mut kernel.code {
            each(&mut function.body, OpKind::PureCall, &|call| {
                let last = call.operands.len() - 1;
                call.operands.swap(last, last - 1);
            });
        }
        Ok(kernel)
    }
}

#[test]
fn an_emitter_that_computes_other_elements() {
    let settings = settings(Planted::default(), vec![WrongElementEmitter::like("loop")]);
    let only_elements = MODULE.replace("tuple(result, sums)", "tuple(result, start)").replace(
        "sums = f32[64] reduce(turned, zero), dimensions={1}, to_apply=sum",
        "start = f32[64] broadcast(zero), dimensions={}",
    );
    let verdict = bisect(&Source::text("planted.hlo", &only_elements), &settings).unwrap();
    match &verdict.suspect {
        Suspect::Emitter { emitter, right, .. } => {
            assert!(emitter.starts_with("careless "), "{verdict:?}");
            assert!(right.iter().any(|name| name.contains("loop")), "{verdict:?}");
        }
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn assert_kernel(verdict: &BisectionVerdict, instructions: usize) {
    assert!(matches!(verdict.suspect, Suspect::Kernel { .. }), "{verdict:?}");
    assert_eq!(verdict.instructions_after, Some(instructions), "{verdict:?}");
}

#[track_caller]
fn assert_stage(verdict: &BisectionVerdict, wanted: Stage, last_right: Stage) {
    match &verdict.suspect {
        Suspect::Stage { stage, before, .. } => {
            assert_eq!([stage, before], [wanted.name(), last_right.name()], "{verdict:?}")
        }
        _ => panic!("{verdict:?}"),
    }
    assert_eq!(verdict.instructions_after, Some(1), "{verdict:?}");
}

#[test]
fn emission_that_adds_instead_of_subtracting() {
    assert_kernel(&found(MODULE, at(Stage::Kernel, OpKind::SubF, |it| it.kind = OpKind::AddF)), 1);
}

#[test]
fn inlining_that_loses_a_factor() {
    let verdict = found(LOOP, at(Stage::Inlined, OpKind::MulF, |it| it.kind = OpKind::AddF));
    assert_stage(&verdict, Stage::Inlined, Stage::Kernel);
}

#[test]
fn memory_whose_places_are_one_further() {
    let further = |load: &mut Operation| load.attributes.push(("offset".into(), Attribute::i64(1)));
    let verdict = found(MODULE, at(Stage::Memory, OpKind::Load, further));
    assert_stage(&verdict, Stage::Memory, Stage::Inlined);
}

#[test]
fn loops_that_compute_something_else() {
    let verdict = found(CHAIN, at(Stage::Loops, OpKind::Sin, |it| it.kind = OpKind::Cos));
    assert_stage(&verdict, Stage::Loops, Stage::Memory);
}

#[test]
fn loops_that_do_not_begin_at_the_beginning() {
    // After this fault, the loop starts at its step instead of at zero.
    let late = |turns: &mut Operation| turns.operands[0] = turns.operands[2];
    let verdict = found(MODULE, at(Stage::Loops, OpKind::For, late));
    assert_stage(&verdict, Stage::Loops, Stage::Memory);
}

#[test]
fn indices_of_elements_that_come_before() {
    // The result of this fault is at most the product, so it is still a valid index.
    let smaller = |product: &mut Operation| (product.kind, product.attributes) = (OpKind::AndI, Vec::new());
    let verdict = found(PART, at(Stage::Indices, OpKind::MulI, smaller));
    assert_stage(&verdict, Stage::Indices, Stage::Loops);
}

#[test]
fn scalars_whose_bits_are_elsewhere() {
    let verdict = found(NARROW, at(Stage::Scalars, OpKind::ShlI, |it| it.kind = OpKind::ShrUI));
    assert_stage(&verdict, Stage::Scalars, Stage::Indices);
}

#[test]
fn code_that_is_of_another_kernel() {
    let wave = |function: &str| PART.replace("slice(x), slice={[1:24],[3:40]}", function).replace("23,37", "24,40");
    let other = fusebox_compiler::compile(
        &Source::text("other.hlo", &wave("cosine(x)")),
        &settings(Planted::default(), Vec::new()).compile,
    );
    let code = other.unwrap().executable.unwrap().code;
    let exchange = move |executable: &mut Executable| executable.code.clone_from(&code);
    let planted = Planted { executable: Some(Arc::new(exchange)), ..Planted::default() };
    let verdict = found(&wave("sine(x)"), planted);
    assert!(matches!(verdict.suspect, Suspect::Code { .. }), "{verdict:?}");
}

#[test]
fn the_last_stage() {
    let verdict = found(MODULE, at(Stage::Scalars, OpKind::SubF, |it| it.kind = OpKind::AddF));
    assert_stage(&verdict, Stage::Scalars, Stage::Indices);
}

#[test]
fn a_stage_at_fault_has_its_kernel_before_and_after_it_in_files() {
    let folder = tempfile::tempdir().unwrap();
    let planted = at(Stage::Loops, OpKind::Sin, |it| it.kind = OpKind::Cos);
    let settings = BisectionSettings { repro: Some(folder.path().join("r")), ..settings(planted, Vec::new()) };
    let verdict = bisect(&Source::text("planted.hlo", CHAIN), &settings).unwrap();
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    let [before, after] = &verdict.kernel_ir[..] else { panic!("{verdict:?}") };
    assert!(read(before).contains("math.sin") && !read(before).contains("math.cos"), "{}", read(before));
    assert!(read(after).contains("math.cos"), "{}", read(after));
    let readme = read(&folder.path().join("r/README.md"));
    assert!(readme.contains("| memory | `stages/07-lowered.2-memory0.mlir` | right |"), "{readme}");
    assert!(readme.contains("| loops | `stages/07-lowered.3-loops0.mlir` | wrong: "), "{readme}");
    assert!(verdict.words().contains("Stage `loops` of lowering is at fault"), "{}", verdict.words());
}

#[test]
fn a_promise_to_llvm_that_does_not_hold() {
    let no_overflow = Attribute::raw("#arith.overflow<nsw>");
    let promise = move |sum: &mut Operation| sum.attributes = vec![("overflowFlags".into(), no_overflow.clone())];
    let verdict = found(OVERFLOW, at(Stage::Scalars, OpKind::AddI, promise));
    match &verdict.suspect {
        Suspect::Promise { stage, promise, .. } => {
            assert_eq!(stage, Stage::Scalars.name());
            assert!(promise.contains("overflows"), "{verdict:?}");
        }
        _ => panic!("{verdict:?}"),
    }
}

#[test]
fn steps_in_the_wrong_order() {
    let reverse = |executable: &mut Executable| {
        // A program that returns the values of single steps has more than one result.
        if executable.result.leaves.len() == 1 {
            executable.thunks.reverse();
        }
    };
    let planted = Planted { executable: Some(Arc::new(reverse)), ..Planted::default() };
    let verdict = found(CHAIN, planted);
    assert!(matches!(verdict.suspect, Suspect::Together | Suspect::Buffers { .. }), "{verdict:?}");
}
