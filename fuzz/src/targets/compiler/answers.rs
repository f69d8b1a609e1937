//! Damages the answers that emitters give to the host, as a faulty plugin would. The bundled
//! emitters give the answers, and all kinds of questions occur.
//!
//! A case compiles a program with the bundled emitters. These emitters exchange bytes with the
//! host, like emitters of a library. The case changes one answer: its bytes, a field of its
//! message, or a text in the message. If the answer passes all checks, compilation continues. If
//! the target is the simulator, the program is then run.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

use fusebox_compiler::{CompileError, Options, Phase, Source, compile};
use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{ArrayLiteral, ArrayShape, ElementType, Shape};
use fusebox_core::plugin::schema::{self, Question, Request, Response};
use fusebox_core::plugin::serve;
use fusebox_lowering::{Runner, Target as Machine};
use fusebox_plugins::Registry;
use fusebox_runtime::{Executable, LoadedExecutable};
use prost::Message;

use super::kernel_ir::WORDS;
use crate::random::Random;
use crate::seeds::Seeds;
use crate::worker::{damaged_code_runs, feeds};
use crate::{Outcome, Target, mutate};

thread_local! {
    /// The change to one answer in the current case.
    static DAMAGE: RefCell<Option<Damage>> = const { RefCell::new(None) };
}

/// The change to one answer to `question`. The changed answer follows `answers_before` other
/// answers to this question.
struct Damage {
    question: Question,
    answers_before: usize,
    random: Random,
    /// An earlier answer of the same kind. Damaged answers copy parts of it.
    last: Vec<u8>,
    done: bool,
}

/// The target for answers. It compiles programs, and damages an answer of the emitters.
pub struct Answers {
    programs: Vec<Source>,
}

impl Answers {
    /// Creates the target with the programs of these seeds.
    pub fn new(seeds: &Seeds) -> Answers {
        Answers { programs: seeds.programs() }
    }
}

impl Target for Answers {
    fn run(&mut self, random: &mut Random, input: &mut Vec<u8>) -> Result<Outcome, String> {
        let Some(source) = random.pick(&self.programs) else { return Ok("nothing") };
        input.clone_from(&source.bytes);
        feeds(input)?;
        case(source, random)
    }
}

/// Compiles a program with one changed answer, and runs it if the target is the simulator.
fn case(source: &Source, random: &mut Random) -> Result<Outcome, String> {
    let question = match random.below(9) {
        0..3 => Question::Emit,
        3..5 => Question::Plan,
        5 => Question::Consider,
        6 => Question::Claim,
        7 => Question::Bid,
        _ => Question::Describe,
    };
    let (target, device) = match random.below(6) {
        0 | 1 => (Machine::cpu(), DeviceDescription::cpu(4)),
        2 => (Machine::nvptx(80), DeviceDescription::sm(80)),
        _ => (Machine::simt(), DeviceDescription::simt()),
    };
    let answers_before = match question {
        Question::Describe => 0,
        Question::Consider | Question::Claim => random.below(8),
        _ => random.below(6).saturating_sub(3),
    };
    let runs = target.runner() == Some(Runner::Simulator);
    set_damage(Some(Damage { question, answers_before, random: random.clone(), last: Vec::new(), done: false }));
    let mut registry = Registry::default();
    if registry.add_answers(Path::new("damaged.so"), Arc::new(answer)).is_err() {
        return Ok("library-refused");
    }
    let made = compile(source, &Options::new(target, device, registry, Phase::Run));
    let changed = DAMAGE.with_borrow_mut(|damage| damage.take().is_some_and(|damage| damage.done));
    match made {
        Err(CompileError::Internal { message, .. }) => Err(format!("called a bug of fusebox: {message}")),
        Err(_) => Ok("refused"),
        Ok(_) if !changed => Ok("no-such-answer"),
        Ok(made) => match made.executable.filter(|_| runs) {
            None => Ok("compiled"),
            Some(executable) => {
                damaged_code_runs();
                run(executable, random)
            }
        },
    }
}

fn set_damage(damage: Option<Damage>) {
    DAMAGE.with_borrow_mut(|current| *current = damage);
}

/// Returns the answer of the bundled emitters to a request. Damages the answer that the current
/// case selects.
fn answer(request: &[u8]) -> Vec<u8> {
    let answer = serve(fusebox_bundle::emitters, request);
    let question = Request::decode(request).map_or(Question::Unknown, |request| request.question());
    DAMAGE.with_borrow_mut(|damage| match damage {
        Some(damage) if damage.question == question && !damage.done => match damage.answers_before.checked_sub(1) {
            Some(left) => {
                damage.answers_before = left;
                damage.last.clone_from(&answer);
                answer
            }
            None => {
                damage.done = true;
                damaged(&mut damage.random, answer, &damage.last)
            }
        },
        _ => answer,
    })
}

fn damaged(random: &mut Random, mut answer: Vec<u8>, last: &[u8]) -> Vec<u8> {
    if random.chance(4) {
        mutate::bytes(random, &mut answer, last);
        return answer;
    }
    let (Ok(mut response), Ok(last)) = (Response::decode(&*answer), Response::decode(last)) else { return answer };
    change(random, &mut response, &last);
    response.encode_to_vec()
}

/// Changes some fields of the message.
fn change(random: &mut Random, response: &mut Response, last: &Response) {
    for _ in 0..=random.below(2) {
        if random.chance(50) {
            response.failure =
                Some(schema::Failure { fault: random.number() as i32, message: String::new(), instruction: None });
        }
        let place = random.below(response.emitters.len());
        match response.emitters.get_mut(place) {
            Some(_) if random.chance(4) => {
                let copy = response.emitters[place].clone();
                response.emitters.push(copy);
            }
            Some(emitter) => {
                let field =
                    [&mut emitter.kind, &mut emitter.name, &mut emitter.version].into_iter().nth(random.below(3));
                field.into_iter().for_each(|field| *field = text(random, field));
            }
            None => {}
        }
        if let Some(verdict) = &mut response.verdict {
            verdict.on_request = random.chance(2);
        }
        if let Some(claim) = &mut response.claim {
            change_claim(random, claim);
        }
        if let Some(bid) = &mut response.bid {
            let place = random.below(bid.instructions.len());
            match random.below(3) {
                0 => bid.instructions.extend(bid.instructions.get(place).cloned()),
                1 => bid.instructions.iter_mut().skip(place).take(1).for_each(|name| *name = text(random, name)),
                _ => bid.instructions.truncate(place),
            }
        }
        if let Some(plan) = &mut response.plan {
            change_plan(random, plan, last.plan.as_ref());
        }
        if let Some(kernel) = &mut response.kernel {
            change_kernel(random, kernel, last.kernel.as_ref());
        }
    }
}

fn text(random: &mut Random, text: &str) -> String {
    mutate::ir(random, text, text, &WORDS).trim_end().to_owned()
}

fn change_claim(random: &mut Random, claim: &mut schema::Claim) {
    let lost = [0.0, 1e9, f64::INFINITY, f64::NAN, -1.0][random.below(5)];
    match random.below(13) {
        0 => claim.is_root = !claim.is_root,
        1 => claim.form = text(random, &claim.form),
        2 => claim.form.clear(),
        3 => claim.lost_inside = lost,
        4 => claim.lost_beside = lost,
        5 => claim.pass = Some(schema::Pass { dims: vec![random.number()], operands: random.below(3) as u64 }),
        6 => claim.starts_from = random.below(4) as u64,
        7 => claim.updates = random.number() as u64,
        8 => claim.reads.push(lost),
        9 => {
            let (count, together, second) = (random.number(), random.number(), vec![random.number()]);
            claim.parts = Some(schema::Parts { count, together, arithmetic: lost, second });
        }
        10 => claim.keeps_producers = !claim.keeps_producers,
        11 => claim.as_sum = !claim.as_sum,
        _ => claim.reads.iter_mut().for_each(|read| *read = lost),
    }
}

fn change_plan(random: &mut Random, plan: &mut schema::Plan, last: Option<&schema::Plan>) {
    let place = random.below(plan.outputs.len());
    match random.below(18) {
        0 => plan.blocks = random.number() as u64,
        1 => plan.threads_per_block = random.number() as u32,
        2 => plan.shared_bytes = random.number() as u32,
        3 => plan.vector_lanes = random.number() as u32,
        4 => plan.outputs.extend(plan.outputs.get(place).cloned()),
        5 => drop(plan.outputs.pop()),
        6 => plan.outputs.extend(last.and_then(|last| last.outputs.first().cloned())),
        14 => change_visit(random, plan),
        15 => plan.visits.extend(plan.visits.first().cloned()),
        16 => plan.work.get_or_insert_default().additions = f64::from_bits(random.number() as u64),
        17 => plan.work.get_or_insert_default().tile_bytes = f64::from_bits(random.number() as u64),
        7 => plan.notes.extend(std::iter::repeat_n("x".repeat(random.below(1 << 12)), random.below(400))),
        8 => {
            let knobs = plan.configuration.get_or_insert_default();
            let number = random.number();
            match knobs.knobs.values_mut().next() {
                Some(knob) if random.chance(2) => *knob = number,
                _ => drop(knobs.knobs.insert("unknown".into(), number)),
            }
        }
        _ => {
            let Some(output) = plan.outputs.get_mut(place) else { return };
            let map = random.below(output.maps.len());
            match random.below(8) {
                0 => output.mode = random.number() as i32,
                1 => output.initial = Some(random.number() as u32),
                2 => output.maps.extend(output.maps.get(map).cloned()),
                3 => drop(output.maps.pop()),
                _ => output.maps.iter_mut().skip(map).take(1).for_each(|map| *map = text(random, map)),
            }
        }
    }
}

fn change_visit(random: &mut Random, plan: &mut schema::Plan) {
    let place = random.below(plan.visits.len());
    let Some(visit) = plan.visits.get_mut(place) else { return };
    match random.below(4) {
        0 => std::mem::swap(&mut visit.values, &mut visit.given),
        1 => visit.values.extend(visit.values.first().cloned()),
        2 => drop(visit.given.pop()),
        _ => visit.map = text(random, &visit.map),
    }
}

fn change_kernel(random: &mut Random, kernel: &mut schema::Kernel, last: Option<&schema::Kernel>) {
    let place = random.below(kernel.calls.len());
    let other = last.map_or(kernel.mlir.as_str(), |last| last.mlir.as_str()).to_owned();
    match (random.below(10), kernel.calls.get_mut(place)) {
        (0, Some(call)) => call.symbol = text(random, &call.symbol),
        (1, Some(call)) => call.kind = random.below(4) as i32,
        (2, Some(call)) => call.instructions.extend(call.instructions.first().cloned()),
        (3, Some(call)) => std::mem::swap(&mut call.instructions, &mut call.heroes),
        (4, Some(_)) => drop(kernel.calls.remove(place)),
        (5, Some(call)) => {
            let copy = call.clone();
            kernel.calls.push(copy);
        }
        _ => kernel.mlir = mutate::ir(random, &kernel.mlir, &other, &WORDS),
    }
}

/// Runs an executable on the simulator with random inputs.
fn run(executable: Executable, random: &mut Random) -> Result<Outcome, String> {
    let program = match LoadedExecutable::open(executable, &fusebox_runtime::Options::default()) {
        Ok(program) => program,
        Err(error) => return Err(format!("not loaded: {error}")),
    };
    let shapes = program.parameter_shapes();
    let arrays = shapes.iter().flat_map(Shape::leaves).filter_map(Shape::as_array);
    let inputs: Vec<ArrayLiteral> = arrays.filter_map(|array| input(array, random)).collect();
    Ok(match program.run(&inputs) {
        Ok(_) => "ran",
        Err(_) => "ran-with-a-fault-found",
    })
}

fn input(shape: &ArrayShape, random: &mut Random) -> Option<ArrayLiteral> {
    let mask = if shape.element_type == ElementType::Pred { 1 } else { 0x3f };
    let bytes: Vec<u8> = (0..shape.byte_size()).map(|_| random.bits() as u8 & mask).collect();
    ArrayLiteral::new(shape.element_type, shape.dims.clone(), bytes).ok()
}
