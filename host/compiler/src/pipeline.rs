//! The whole compilation from a module's text to an executable, as one function.

use std::time::{Duration, Instant};

use fusebox_core::device::NarrowProducts;
use fusebox_core::hlo::{Module, PrintOptions, print_module, print_module_with};
use fusebox_lowering::{Code, Composite, Runner, Target};
use fusebox_plugins::KnownPlans;
use fusebox_runtime::{CodeImage, Executable, HostOp, TILES_OF_BF16, TILES_OF_INT8};

use crate::fuse::{BidRecord, Claims, Cut, FusionOutcome, Reason};
use crate::lower::{LoweredKernels, LoweringFailure, lower};
use crate::pointwise::{self, InPlacePair};
use crate::progress::Advance;
use crate::schedule::{BufferRules, PlannedFusion, Schedule, rematerialise, schedule};
use crate::select::{Selected, check_choices, instead, select};
use crate::source::Source;
use crate::{Cached, CompileError, MemoryUse, Options, Phase, cache, comparators, kernels, passes, report, steps};

/// The dump after each pass contains the values of a constant only if the constant has at most this
/// many elements.
const MOST_CONSTANT_ELEMENTS: usize = 4096;

/// Number of steps of progress for each kernel: selection, lowering, machine code.
const STEPS: usize = 3;

/// Results of a compilation up to the last requested phase.
#[derive(Debug, Default)]
pub struct Compilation {
    /// The module with its fusions.
    pub fused: Module,
    /// Outcomes of the emitters' bids.
    pub bids: Vec<BidRecord>,
    /// Decisions of fusion about instructions, with reasons.
    pub reasons: Vec<Reason>,
    /// Regions that fusion can cut into kernels in several ways, and for which predictions do not
    /// decide which way is the fastest.
    pub cuts: Vec<Cut>,
    /// The kernels with their emitters and plans.
    pub kernels: Vec<Selected>,
    /// Loops that are compiled to one function with several kernels.
    pub composites: Vec<Composite>,
    /// Machine code and texts.
    pub lowered: LoweredKernels,
    /// Memory that the executable needs, by purpose.
    pub memory: Option<MemoryUse>,
    /// The executable for the runtime.
    pub executable: Option<Executable>,
    /// Warnings, for example that an emitter failed and another emitter replaces it.
    pub warnings: Vec<String>,
    /// The parts of the compilation's result that came from the cache, if there is a cache.
    pub cached: Option<Cached>,
    /// Time of the compilation.
    pub elapsed: Duration,
}

/// Compiles a module. Runs the phases in the order of [`Phase`].
///
/// # Errors
/// If the module is malformed or unsupported, a chosen emitter fails, or a dump cannot be written.
pub fn compile(source: &Source, options: &Options) -> Result<Compilation, CompileError> {
    let begin = Instant::now();
    let mut compilation = Compilation::default();
    let module = source.parse()?;
    dump_hlo(options, Phase::Parse, &module)?;
    let known = KnownPlans::default();
    let module = simplify(module, options, &known)?;
    compilation.fused = fused(module, options, &known, &mut compilation)?;
    finish(compilation, options, &known, begin)
}

/// Compiles a module that has fusions: runs the phases after [`Step::Fuse`](crate::Step::Fuse).
///
/// # Errors
/// If [`compile`] fails.
pub fn compile_fused(fused: Module, options: &Options) -> Result<Compilation, CompileError> {
    finish(Compilation { fused, ..Compilation::default() }, options, &KnownPlans::default(), Instant::now())
}

fn finish(
    mut compilation: Compilation,
    options: &Options,
    known: &KnownPlans,
    begin: Instant,
) -> Result<Compilation, CompileError> {
    if options.until > Phase::Fuse {
        select_emitters(&mut compilation, options, known)?;
    }
    if options.until >= Phase::Emit {
        let schedule = lowered(&mut compilation, options)?;
        compilation.composites.clone_from(&schedule.composites);
        compilation.memory = (options.until > Phase::Code).then(|| schedule.memory.clone());
        if options.until > Phase::Code {
            let code = images(&mut compilation, options)?;
            compilation.executable = Some(assembled(&compilation, schedule, code, options)?);
        }
    }
    compilation.elapsed = begin.elapsed();
    Ok(compilation)
}

fn simplify(mut module: Module, options: &Options, known: &KnownPlans) -> Result<Module, CompileError> {
    let mut before = if options.dump.is_active() { shortened_hlo(&module) } else { Vec::new() };
    let mut claims = Claims::new(&options.device, &options.emitters, known);
    for (number, passes::Pass { name, .. }) in passes::PASSES.iter().enumerate() {
        options.progress.tell(Advance::Pass(number + 1, passes::PASSES.len(), name));
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

fn fused(
    mut module: Module,
    options: &Options,
    known: &KnownPlans,
    compilation: &mut Compilation,
) -> Result<Module, CompileError> {
    FusionOutcome {
        bids: compilation.bids,
        reasons: compilation.reasons,
        cuts: compilation.cuts,
        warnings: compilation.warnings,
    } = steps::fuse(&mut module, options, known)?;
    dump_hlo(options, Phase::Fuse, &module)?;
    Ok(module)
}

fn select_emitters(compilation: &mut Compilation, options: &Options, known: &KnownPlans) -> Result<(), CompileError> {
    let units = kernels::collect(&compilation.fused).units;
    let steps = if options.until > Phase::Emit { STEPS } else { 1 };
    options.progress.tell(Advance::Begun(steps * units.len()));
    for unit in &units {
        let selected = select(unit, options, known).map_err(|error| error.about(&unit.fusion))?;
        dump_selected(&selected, options)?;
        compilation.warnings.extend(selected.failures.iter().map(ToString::to_string));
        compilation.kernels.push(selected);
        options.progress.tell(Advance::Done(1));
    }
    compilation.warnings.extend(check_choices(&compilation.kernels, &compilation.bids, &options.emitters)?);
    Ok(())
}

fn dump_selected(selected: &Selected, options: &Options) -> Result<(), CompileError> {
    let name = &selected.unit.fusion.name;
    options.dump.write(Phase::Select, name, "txt", || report::selection(selected).into_bytes())?;
    options.dump.write(Phase::Plan, name, "txt", || selected.plan.to_string().into_bytes())?;
    options.dump.write(Phase::Emit, name, "mlir", || selected.text(&options.target).into_bytes())
}

/// Builds the schedule and, if requested, machine code. If a kernel cannot be compiled, this
/// function replaces the kernel by that of the next emitter that accepts the fusion.
fn lowered(compilation: &mut Compilation, options: &Options) -> Result<Schedule, CompileError> {
    loop {
        let schedule = scheduled_in_place(compilation, options)?;
        if options.until <= Phase::Emit {
            return Ok(schedule);
        }
        let LoweringFailure { kernel, source } = match lower(&compilation.kernels, &schedule, options)? {
            Ok(lowered) => {
                compilation.cached = lowered.cached;
                compilation.warnings.extend(lowered.warning.clone());
                compilation.lowered = lowered;
                return Ok(schedule);
            }
            Err(refused) => refused,
        };
        let refused = compilation.kernels.remove(kernel);
        let reported = refused.failures.len();
        let fusion = refused.unit.fusion.clone();
        let other = instead(refused, source, options).map_err(|error| error.about(&fusion))?;
        dump_selected(&other, options)?;
        compilation.warnings.extend(other.failures[reported..].iter().map(ToString::to_string));
        compilation.kernels.insert(kernel, other);
    }
}

/// Rewrites kernels so that they write outputs in-place into parameters that have no later user.
/// Builds the schedule of the rewritten kernels.
fn scheduled_in_place(compilation: &mut Compilation, options: &Options) -> Result<Schedule, CompileError> {
    let schedule = scheduled(compilation, options, None)?;
    if schedule.in_place.is_empty() && options.memory_limit.is_none() {
        return Ok(schedule);
    }
    for (unit, pair) in schedule.in_place {
        pointwise::write_in_place(&mut compilation.kernels[unit], pair);
    }
    scheduled(compilation, options, options.memory_limit)
}

fn scheduled(compilation: &Compilation, options: &Options, limit: Option<u64>) -> Result<Schedule, CompileError> {
    let pairs: Vec<Vec<InPlacePair>> = compilation.kernels.iter().map(pointwise::pairs).collect();
    let mut numbers = 0..;
    let units = compilation.kernels.iter().zip(&pairs).map(|(kernel, pairs)| {
        let number = if kernel.is_routine() { None } else { numbers.next() };
        PlannedFusion {
            plan: &kernel.plan,
            kernel: number,
            runs_alone: runs_alone(kernel, options),
            seconds: kernel.prediction.seconds,
            pairs,
        }
    });
    let units: Vec<PlannedFusion> = units.collect();
    let kernels = kernels::collect(&compilation.fused);
    let is_concurrent = matches!(options.target.runner(), Some(Runner::Cuda(_)));
    let rules = BufferRules { alignment: options.target.buffer_alignment(), is_concurrent };
    let schedule = schedule(&compilation.fused, &kernels, &units, rules)?;
    match limit {
        Some(limit) if schedule.memory.written() > limit => {
            let program = rematerialise::Program { module: compilation.fused.clone(), kernels, planned: &units, rules };
            rematerialise::within(limit, &program, schedule)
        }
        _ => Ok(schedule),
    }
}

/// Whether one thread executes a kernel. Kernels with tile registers are excluded, because a
/// function configures these registers only once, at its beginning, for a single kernel.
fn runs_alone(kernel: &Selected, options: &Options) -> bool {
    let uses_tiles = || NarrowProducts::of_tiles(&kernel.functions) != NarrowProducts::default();
    options.target.takes_composites() && kernel.is_better_alone(&options.device) && !uses_tiles()
}

fn assembled(
    compilation: &Compilation,
    schedule: Schedule,
    code: Vec<CodeImage>,
    options: &Options,
) -> Result<Executable, CompileError> {
    let Schedule { thunks, allocations, mut host_ops, comparators, parameters, result, .. } = schedule;
    for (number, module, comparator) in comparators {
        host_ops[number].comparator = Some(comparators::compile(&module, comparator, options)?);
    }
    let name = compilation.fused.name.clone();
    let (target, kernels) = (runs_on(&options.target)?, compilation.lowered.images.clone());
    let instruction_sets = instruction_sets(&compilation.kernels, &host_ops, &options.target);
    let mut executable =
        Executable { name, target, instruction_sets, code, kernels, host_ops, allocations, thunks, parameters, result };
    options.departures.planted.in_executable(&mut executable);
    options
        .dump
        .write(Phase::Schedule, "", "txt", || report::thunks(&executable, &compilation.composites).into_bytes())?;
    Ok(executable)
}

/// Returns the instruction sets that a program may use: the target's, and tile registers if a
/// kernel uses them. For every target, comparators run on the host, and use the host's instruction
/// sets.
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

/// Returns the code for the runtime. Adds machine code to PTX if there is an assembler.
fn images(compilation: &mut Compilation, options: &Options) -> Result<Vec<CodeImage>, CompileError> {
    let Compilation { lowered, warnings, .. } = compilation;
    let image = |code: &Code| match code {
        Code::Object { bytes, sites } => Ok(CodeImage::Object { bytes: bytes.clone(), sites: sites.clone() }),
        Code::Ptx(text) => {
            let cubin = |assembler| cache::cached_or_assembled(text, assembler, options, warnings);
            let cubins = options.assembler.iter().map(cubin).collect::<Result<_, _>>()?;
            Ok(CodeImage::Ptx { text: text.clone(), cubins })
        }
        Code::Assembly(_) => Err(assembly_only()),
    };
    lowered.code.iter().map(image).collect()
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

/// Prints a module without the values of large constants. The dump after all passes contains the
/// values of all constants.
fn shortened_hlo(module: &Module) -> Vec<u8> {
    let options = PrintOptions { elide_above: Some(MOST_CONSTANT_ELEMENTS), ..PrintOptions::default() };
    print_module_with(module, &options).into_bytes()
}
