//! The whole way from a module's text to an executable, as one function.

use std::time::{Duration, Instant};

use fusebox_core::device::{DeviceDescription, NarrowProducts};
use fusebox_core::hlo::{Module, PrintOptions, print_module, print_module_with};
use fusebox_lowering::{Code, Composite, Runner, Stage, Target};
use fusebox_runtime::{CodeImage, Executable, HostOp, TILES_OF_BF16, TILES_OF_INT8};

use crate::fuse::{BidRecord, Claims, Cut, Reason, Told};
use crate::lower::{Lowered, Refused, lower};
use crate::pointwise::{self, Pair};
use crate::progress::{Advance, Progress};
use crate::schedule::{Made, Memory, Schedule, rematerialise, schedule};
use crate::select::{Emitters, Selected, check_choices, instead, select};
use crate::source::Source;
use crate::{Cache, Cached, CompileError, Departures, Dump, Phase, comparators, kernels, passes, report, steps};

/// Constants of more elements are left out where the same module is written after every pass.
const MOST_CONSTANT_ELEMENTS: usize = 4096;

/// Steps of progress for each kernel: it is chosen, lowered, and made machine code of.
const STEPS: usize = 3;

/// What to compile for, and how.
#[derive(Clone)]
pub struct Options {
    /// The machine.
    pub target: Target,
    /// The machine as emitters see it.
    pub device: DeviceDescription,
    /// Who may make kernels.
    pub emitters: Emitters,
    /// Threads to compile with.
    pub threads: usize,
    /// The last phase wanted.
    pub until: Phase,
    /// Stages of lowering whose text is wanted.
    pub stages: Vec<Stage>,
    /// Where to write what each phase made.
    pub dump: Dump,
    /// What is done otherwise than usual.
    pub departures: Departures,
    /// Most bytes of outputs and temporaries. Values are computed twice where less memory is needed by that.
    pub memory_limit: Option<u64>,
    /// Who is told how far the work is.
    pub progress: Progress,
    /// What earlier compilations have left.
    pub cache: Cache,
}

/// What a compilation made, as far as it was asked to go.
#[derive(Debug, Default)]
pub struct Compilation {
    /// The module with its fusions.
    pub fused: Module,
    /// What became of the bids of emitters that ask for fusions.
    pub bids: Vec<BidRecord>,
    /// Why instructions are in the fusions they are in, or in none.
    pub reasons: Vec<Reason>,
    /// Regions that might as well be cut into kernels otherwise.
    pub cuts: Vec<Cut>,
    /// The kernels with their emitters and plans.
    pub kernels: Vec<Selected>,
    /// Loops that are functions of several kernels.
    pub composites: Vec<Composite>,
    /// Machine code and texts.
    pub lowered: Lowered,
    /// What memory is needed for, of an executable.
    pub memory: Option<Memory>,
    /// What the runtime loads.
    pub executable: Option<Executable>,
    /// Emitters that failed and were passed over.
    pub warnings: Vec<String>,
    /// What was in the cache, if there is one.
    pub cached: Option<Cached>,
    /// Time from text to here.
    pub elapsed: Duration,
}

/// Compiles a module. The calls stand in the order of [`Phase`].
///
/// # Errors
/// If the module is malformed or unsupported, a chosen emitter fails, or a dump cannot be written.
pub fn compile(source: &Source, options: &Options) -> Result<Compilation, CompileError> {
    let begin = Instant::now();
    let mut made = Compilation::default();
    let module = source.parse()?;
    dump_hlo(options, Phase::Parse, &module)?;
    let module = simplify(module, options)?;
    made.fused = fused(module, options, &mut made)?;
    finish(made, options, begin)
}

/// Compiles a module whose fusions are made: all that comes after [`Step::Fuse`](crate::Step::Fuse).
///
/// # Errors
/// As [`compile`].
pub fn compile_fused(fused: Module, options: &Options) -> Result<Compilation, CompileError> {
    finish(Compilation { fused, ..Compilation::default() }, options, Instant::now())
}

fn finish(mut made: Compilation, options: &Options, begin: Instant) -> Result<Compilation, CompileError> {
    if options.until > Phase::Fuse {
        select_emitters(&mut made, options)?;
    }
    if options.until >= Phase::Emit {
        let schedule = lowered(&mut made, options)?;
        made.composites.clone_from(&schedule.composites);
        made.memory = (options.until > Phase::Code).then(|| schedule.memory.clone());
        if options.until > Phase::Code {
            made.executable = Some(assembled(&made, schedule, options)?);
        }
    }
    made.elapsed = begin.elapsed();
    Ok(made)
}

fn simplify(mut module: Module, options: &Options) -> Result<Module, CompileError> {
    let mut before = if options.dump.is_active() { shortened_hlo(&module) } else { Vec::new() };
    let mut claims = Claims::new(&options.device, &options.emitters);
    for (number, passes::Pass { name, .. }) in passes::PASSES.iter().enumerate() {
        steps::pass(number, &mut module, &mut claims, options)?;
        if !options.dump.is_active() {
            continue;
        }
        // A pass that changed nothing leaves no file.
        let after = shortened_hlo(&module);
        if after != before {
            options.dump.write(Phase::Passes, &format!("{:02}-{name}", number + 1), "hlo", || after.clone())?;
            before = after;
        }
    }
    dump_hlo(options, Phase::Passes, &module)?;
    Ok(module)
}

fn fused(mut module: Module, options: &Options, made: &mut Compilation) -> Result<Module, CompileError> {
    Told { bids: made.bids, reasons: made.reasons, cuts: made.cuts, warnings: made.warnings } =
        steps::fuse(&mut module, options)?;
    dump_hlo(options, Phase::Fuse, &module)?;
    Ok(module)
}

fn select_emitters(made: &mut Compilation, options: &Options) -> Result<(), CompileError> {
    let units = kernels::collect(&made.fused).units;
    let steps = if options.until > Phase::Emit { STEPS } else { 1 };
    options.progress.tell(Advance::Begun(steps * units.len()));
    for unit in &units {
        let selected = select(unit, options)?;
        dump_selected(&selected, options)?;
        made.warnings.extend(selected.failures.iter().map(ToString::to_string));
        made.kernels.push(selected);
        options.progress.tell(Advance::Done(1));
    }
    made.warnings.extend(check_choices(&made.kernels, &made.bids, &options.emitters)?);
    Ok(())
}

fn dump_selected(selected: &Selected, options: &Options) -> Result<(), CompileError> {
    let name = &selected.unit.fusion.name;
    options.dump.write(Phase::Select, name, "txt", || report::selection(selected).into_bytes())?;
    options.dump.write(Phase::Plan, name, "txt", || selected.plan.to_string().into_bytes())?;
    options.dump.write(Phase::Emit, name, "mlir", || selected.text(&options.target).into_bytes())
}

/// Makes the schedule and, if wanted, machine code. An emitter whose kernel cannot be compiled gives way to the next that takes
/// the fusion.
fn lowered(made: &mut Compilation, options: &Options) -> Result<Schedule, CompileError> {
    loop {
        let schedule = scheduled_in_place(made, options)?;
        if options.until <= Phase::Emit {
            return Ok(schedule);
        }
        let Refused { kernel, source } = match lower(&made.kernels, &schedule, options)? {
            Ok(lowered) => {
                made.cached = lowered.cached;
                made.warnings.extend(lowered.warning.clone());
                made.lowered = lowered;
                return Ok(schedule);
            }
            Err(refused) => refused,
        };
        let refused = made.kernels.remove(kernel);
        let told = refused.failures.len();
        let other = instead(refused, source, options)?;
        dump_selected(&other, options)?;
        made.warnings.extend(other.failures[told..].iter().map(ToString::to_string));
        made.kernels.insert(kernel, other);
    }
}

/// The schedule, once outputs take the places of parameters that nobody needs any more.
fn scheduled_in_place(made: &mut Compilation, options: &Options) -> Result<Schedule, CompileError> {
    let schedule = scheduled(made, options, None)?;
    if schedule.in_place.is_empty() && options.memory_limit.is_none() {
        return Ok(schedule);
    }
    for (unit, pair) in schedule.in_place {
        pointwise::let_stand_in_place(&mut made.kernels[unit], pair);
    }
    scheduled(made, options, options.memory_limit)
}

fn scheduled(made: &Compilation, options: &Options, limit: Option<u64>) -> Result<Schedule, CompileError> {
    let pairs: Vec<Vec<Pair>> = made.kernels.iter().map(pointwise::pairs).collect();
    let mut numbers = 0..;
    let units = made.kernels.iter().zip(&pairs).map(|(kernel, pairs)| {
        let number = if kernel.is_routine() { None } else { numbers.next() };
        Made {
            plan: &kernel.plan,
            kernel: number,
            runs_alone: runs_alone(kernel, options),
            seconds: kernel.prediction.seconds,
            pairs,
        }
    });
    let units: Vec<Made> = units.collect();
    let (kernels, alignment) = (kernels::collect(&made.fused), options.target.buffer_alignment());
    let schedule = schedule(&made.fused, &kernels, &units, alignment)?;
    match limit {
        Some(limit) if schedule.memory.written() > limit => {
            let program = rematerialise::Program { module: made.fused.clone(), kernels, made: &units, alignment };
            rematerialise::within(limit, &program, schedule)
        }
        _ => Ok(schedule),
    }
}

/// Whether one thread executes a kernel. Tile registers are configured at the beginning of a function, for one kernel.
fn runs_alone(kernel: &Selected, options: &Options) -> bool {
    let uses_tiles = || NarrowProducts::of_tiles(&kernel.functions) != NarrowProducts::default();
    options.target.takes_composites() && kernel.is_better_alone(&options.device) && !uses_tiles()
}

fn assembled(made: &Compilation, schedule: Schedule, options: &Options) -> Result<Executable, CompileError> {
    let Schedule { thunks, allocations, mut host_ops, comparators, parameters, result, .. } = schedule;
    for (number, module, comparator) in comparators {
        host_ops[number].comparator = Some(comparators::compile(&module, comparator, options)?);
    }
    let code = made.lowered.code.iter().map(image).collect::<Result<Vec<_>, _>>()?;
    let name = made.fused.name.clone();
    let (target, kernels) = (runs_on(&options.target)?, made.lowered.images.clone());
    let instruction_sets = instruction_sets(&made.kernels, &host_ops, &options.target);
    let mut executable =
        Executable { name, target, instruction_sets, code, kernels, host_ops, allocations, thunks, parameters, result };
    options.departures.planted.in_executable(&mut executable);
    options.dump.write(Phase::Schedule, "", "txt", || report::thunks(&executable, &made.composites).into_bytes())?;
    Ok(executable)
}

/// Instruction sets that a program may use: those that its code is compiled for, and tile registers
/// if a kernel uses them. Comparators run on the host whatever the target is.
fn instruction_sets(kernels: &[Selected], host_ops: &[HostOp], target: &Target) -> Vec<String> {
    let mut sets = target.instruction_sets();
    if sets.is_empty() && host_ops.iter().any(|op| op.comparator.is_some()) {
        sets = comparators::target(target).instruction_sets();
    }
    let uses = |tiles: fn(NarrowProducts) -> bool| {
        kernels.iter().any(|kernel| tiles(NarrowProducts::of_tiles(&kernel.functions)))
    };
    sets.extend(uses(|tiles| tiles.bf16).then_some(TILES_OF_BF16));
    sets.extend(uses(|tiles| tiles.int8).then_some(TILES_OF_INT8));
    sets.into_iter().map(str::to_owned).collect()
}

fn image(code: &Code) -> Result<CodeImage, CompileError> {
    match code {
        Code::Object { bytes, sites } => Ok(CodeImage::Object { bytes: bytes.clone(), sites: sites.clone() }),
        Code::Ptx(text) => Ok(CodeImage::Ptx(text.clone())),
        Code::Assembly(_) => Err(assembly_only()),
    }
}

fn runs_on(target: &Target) -> Result<fusebox_runtime::Target, CompileError> {
    match target.runner().ok_or_else(assembly_only)? {
        Runner::Cpu => Ok(fusebox_runtime::Target::Cpu),
        Runner::Simulator => Ok(fusebox_runtime::Target::Simt),
        Runner::Cuda(capability) => Ok(fusebox_runtime::Target::Cuda(capability)),
    }
}

fn assembly_only() -> CompileError {
    CompileError::Choice("this target compiles to assembly only; ask for `--emit asm`".into())
}

fn dump_hlo(options: &Options, phase: Phase, module: &Module) -> Result<(), CompileError> {
    options.dump.write(phase, "", "hlo", || hlo(module))
}

fn hlo(module: &Module) -> Vec<u8> {
    print_module(module).into_bytes()
}

/// Without the values of large constants: what passes made together has them.
fn shortened_hlo(module: &Module) -> Vec<u8> {
    let options = PrintOptions { elide_above: Some(MOST_CONSTANT_ELEMENTS), ..PrintOptions::default() };
    print_module_with(module, &options).into_bytes()
}
