//! Compiles kernels to machine code, in batches on several threads.

mod batches;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};

use fusebox_core::emitter::WriteMode;
use fusebox_core::hlo::{Instruction, Module, Shape};
use fusebox_core::ir::Function;
use fusebox_lowering::{
    Argument, Batch, Code, Composite, KernelSource, LoweringError, NoStages, Origin, Origins, Rewritten, Stage,
    StagedBatch, StagedKernel, Stages, Target,
};
use fusebox_runtime::{Access, KernelArgument, KernelImage};

use crate::cache::{self, BatchCode};
use crate::progress::Advance;
use crate::schedule::Schedule;
use crate::select::Selected;
use crate::{Cached, CompileError, Dump, Options, Phase, pointwise};
use batches::{KernelBatch, called};

/// Machine code of all kernels and composites.
#[derive(Debug, Default)]
pub struct LoweredKernels {
    /// Machine code, one entry per batch.
    pub code: Vec<Code>,
    /// Descriptions of launchable functions for the runtime: one per launched kernel, then one per
    /// composite (a loop that is compiled to one function).
    pub images: Vec<KernelImage>,
    /// For each requested lowering stage, the printed text of each batch.
    pub texts: BTreeMap<Stage, Vec<String>>,
    /// The pieces of code that came from the cache, if there is a cache.
    pub cached: Option<Cached>,
    /// Reason why the code could not be written to the cache.
    pub warning: Option<String>,
}

/// A kernel that cannot be compiled.
#[derive(Debug)]
pub struct LoweringFailure {
    /// Index of the kernel.
    pub kernel: usize,
    /// The error of lowering.
    pub source: LoweringError,
}

/// Compiles all kernels and the composites of a schedule, or returns the kernel that cannot be
/// compiled. Collects the printed text of the requested lowering stages, or of all stages if dumps
/// are written.
pub fn lower(
    kernels: &[Selected],
    schedule: &Schedule,
    options: &Options,
) -> Result<Result<LoweredKernels, LoweringFailure>, CompileError> {
    let Options { target, dump, .. } = options;
    let compiled: Vec<&Selected> = kernels.iter().filter(|kernel| !kernel.is_routine()).collect();
    let launched: Vec<&Selected> = schedule.launched.iter().map(|&number| compiled[number as usize]).collect();
    let names = |kernels: &[&Selected]| -> BTreeSet<String> {
        kernels.iter().map(|kernel| kernel.unit.fusion.name.clone()).collect()
    };
    let inner = &names(&compiled) - &names(&launched);
    let sources: Vec<KernelSource> = compiled.iter().map(|kernel| source(kernel, target)).collect();
    let program = Program { sources: &sources, composites: &schedule.composites, inner: &inner, options };
    let mut lowered = LoweredKernels::default();
    let (batches, outcomes) = match options.store() {
        Some(_) => program.compiled_or_cached(),
        None => program.compiled(),
    };
    let mut pieces = Vec::with_capacity(outcomes.len());
    for (number, (piece, texts)) in outcomes.into_iter().enumerate() {
        dump_texts(dump, number, &texts)?;
        match piece {
            Ok(piece) => pieces.push(piece),
            Err(source) => return refused(source, kernels).map(Err),
        }
        texts.into_iter().for_each(|(stage, text)| lowered.texts.entry(stage).or_default().push(text));
    }
    lowered.cached = cache::found(&pieces, options);
    lowered.warning = cache::keep(&pieces, options).err().map(|error| format!("code is not in the cache: {error}"));
    lowered.code = pieces.into_iter().map(|piece| piece.code).collect();
    let batch_of = numbers_by_symbol(&batches, &sources);
    let batch_of = |symbol: &str| batch_of.get(symbol).copied().unwrap_or(0);
    let of_kernel = |kernel: &&Selected| image(kernel, batch_of(&kernel.unit.fusion.name));
    let of_composite = |composite: &Composite| image_of_composite(composite, &compiled, batch_of(&composite.name));
    lowered.images = launched.iter().map(of_kernel).chain(schedule.composites.iter().map(of_composite)).collect();
    Ok(Ok(lowered))
}

/// Returns, for each function, the number of the batch that contains it.
fn numbers_by_symbol<'b>(batches: &'b [KernelBatch], sources: &'b [KernelSource]) -> HashMap<&'b str, usize> {
    let numbered = batches.iter().zip(0..);
    numbered.flat_map(|(batch, number)| batch.symbols(sources).map(move |symbol| (symbol, number))).collect()
}

/// The kernels and composites of a program.
struct Program<'p> {
    sources: &'p [KernelSource],
    composites: &'p [Composite],
    /// Names of the kernels that only composites call.
    inner: &'p BTreeSet<String>,
    options: &'p Options,
}

/// The printed text of one batch after each wanted stage.
type Texts = BTreeMap<Stage, String>;
/// Batches, and the code and the texts of each batch.
type Outcomes = (Vec<KernelBatch>, Vec<(Result<BatchCode, LoweringError>, Texts)>);

impl<'p> Program<'p> {
    /// Compiles all kernels in batches that take about equally long.
    fn compiled(&self) -> Outcomes {
        let Options { target, threads, .. } = self.options;
        let sources: Vec<&'p KernelSource> = self.sources.iter().collect();
        let stage = |source: &&'p KernelSource| self.with_texts(|texts| StagedKernel::of(source, target, texts));
        let (staged, texts): (Vec<_>, Vec<Texts>) = in_parallel(&sources, *threads, &stage).into_iter().unzip();
        let staged = match staged.into_iter().collect::<Result<Vec<StagedKernel>, _>>() {
            Ok(staged) => staged,
            Err(error) => return (Vec::new(), vec![(Err(error), Texts::new())]),
        };
        let weights: Vec<usize> = staged.iter().map(|kernel| kernel.weight(target)).collect();
        // PTX and assembly must be one module in one file. Only object code can be several modules.
        let threads = if target.takes_several_modules() { *threads } else { 1 };
        let batches = batches::batches(self.sources, self.composites, &weights, threads);
        let compile = |batch: &KernelBatch| {
            let kernels = batch.kernels.iter().map(|&number| &staged[number]).collect();
            let staged = StagedBatch { kernels, composites: &batch.composites, inner: self.inner };
            let (code, of_module) = self.with_texts(|texts| fusebox_lowering::compile_staged(&staged, target, texts));
            self.options.progress.tell(Advance::Done(batch.kernels.len()));
            let mut all = Texts::new();
            for (stage, text) in batch.kernels.iter().flat_map(|&number| &texts[number]).chain(&of_module) {
                all.entry(*stage).or_default().push_str(text);
            }
            (code.map(BatchCode::new), all)
        };
        let outcomes = in_parallel(&batches, threads, &compile);
        (batches, outcomes)
    }

    /// Compiles the parts of the program that are not in the cache. Each part is a batch, because
    /// other programs contain other combinations of kernels. PTX and assembly are one batch.
    fn compiled_or_cached(&self) -> Outcomes {
        let Options { target, threads, .. } = self.options;
        let weights: Vec<usize> =
            self.sources.iter().map(|source| source.functions.iter().map(Function::size).sum()).collect();
        let batches = if target.takes_several_modules() {
            batches::sorted_parts(self.sources, self.composites, &weights)
        } else {
            batches::batches(self.sources, self.composites, &weights, 1)
        };
        let compile = |batch: &KernelBatch| {
            let kernels: Vec<KernelSource> = batch.kernels.iter().map(|&number| self.sources[number].clone()).collect();
            let source = Batch { kernels: &kernels, composites: &batch.composites, inner: self.inner };
            let (piece, texts) = self.with_texts(|texts| {
                cache::cached_or_compiled(&source, self.options, || {
                    fusebox_lowering::compile_batch(&source, target, texts)
                })
            });
            // Each kernel has two steps of progress here, and lowering reports the first. Code from
            // the cache skips lowering, so both steps are reported here.
            let steps = if piece.as_ref().is_ok_and(|piece| piece.was_cached) { 2 } else { 1 };
            self.options.progress.tell(Advance::Done(steps * kernels.len()));
            (piece, texts)
        };
        let outcomes = in_parallel(&batches, *threads, &compile);
        (batches, outcomes)
    }

    /// Calls `f` with a receiver of texts, and returns the texts in addition to the result.
    fn with_texts<T>(&self, f: impl FnOnce(&mut StageTexts) -> T) -> (T, Texts) {
        let mut texts = StageTexts::new(self.options);
        let result = f(&mut texts);
        (result, texts.texts)
    }
}

/// Compiles one kernel for arguments of any alignment.
pub fn lower_on_elements(kernel: &Selected, options: &Options) -> Result<Code, CompileError> {
    let mut source = source(kernel, &options.target);
    source.arguments.iter_mut().for_each(|argument| argument.alignment = 1);
    fusebox_lowering::compile(&[source], &options.target, &mut NoStages).map_err(|source| match source {
        LoweringError::Unsupported { .. } | LoweringError::NotConverted { .. } => {
            CompileError::Choice(source.to_string())
        }
        _ => internal(&source),
    })
}

/// Applies a function to all items on up to `threads` threads. A free thread takes the next item.
fn in_parallel<R: Sync, T: Send>(items: &[R], threads: usize, f: &(dyn Fn(&R) -> T + Sync)) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let work = || {
        let numbers = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        let items = numbers.map_while(|number| Some((number, items.get(number)?)));
        items.map(|(number, item)| (number, f(item))).collect()
    };
    let mut results: Vec<(usize, T)> = std::thread::scope(|scope| {
        let others = items.len().min(threads).saturating_sub(1);
        let others: Vec<_> = (0..others).map(|_| scope.spawn(work)).collect();
        let own: Vec<(usize, T)> = work();
        own.into_iter().chain(others.into_iter().flat_map(join)).collect()
    });
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

fn join<T>(handle: std::thread::ScopedJoinHandle<'_, T>) -> T {
    handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

impl Selected {
    /// Prints the kernel's functions as MLIR text, including the kernel's launch dimensions.
    pub fn text(&self, target: &Target) -> String {
        fusebox_lowering::kernel_text(&source(self, target))
    }
}

/// Converts a kernel to the input of lowering.
pub fn source(kernel: &Selected, target: &Target) -> KernelSource {
    let alignment = target.buffer_alignment() as u32;
    let fusion = &kernel.unit.fusion;
    let shared = shared_arguments(kernel);
    let argument = |(number, argument): (usize, KernelArgument)| {
        let no_alias = !shared.contains(&number);
        let read_only = argument.access == Access::Read && no_alias;
        Argument { bytes: argument.bytes, alignment, read_only, no_alias }
    };
    let arguments = arguments(kernel).into_iter().enumerate().map(argument).collect();
    KernelSource {
        entry: fusion.name.clone(),
        functions: kernel.functions.clone(),
        arguments,
        launch: kernel.plan.launch,
        shared_bytes: kernel.plan.shared_bytes,
        origins: if target.states_origins() { origins(&fusion.module) } else { Origins::default() },
    }
}

/// Returns the source file and line from which each instruction of a fusion comes. Leaves out
/// instructions whose name occurs in several computations.
fn origins(module: &Module) -> Origins {
    let all = || module.computations.iter().flat_map(|computation| &computation.instructions);
    let mut counts: HashMap<&str, usize> = HashMap::new();
    all().for_each(|instruction| *counts.entry(instruction.name.as_str()).or_default() += 1);
    let of_instruction = |instruction: &Instruction| {
        let (file, line) = module.line_of(instruction)?;
        Some((instruction.name.clone(), Origin { file: file.to_owned(), line }))
    };
    let unique = all().filter(|instruction| counts.get(instruction.name.as_str()) == Some(&1));
    unique.filter_map(of_instruction).collect::<BTreeMap<_, _>>().into()
}

/// Returns the numbers of the arguments that may share memory with another argument: outputs whose
/// initial value is a parameter, and these parameters. Leaves out an output and its parameter if
/// the kernel does not access the parameter: the output then has no alias, so LLVM may vectorise
/// reads of other arguments.
fn shared_arguments(kernel: &Selected) -> Vec<usize> {
    let parameters = kernel.unit.fusion.computation().parameters().len();
    let outputs = kernel.plan.outputs.iter().enumerate();
    let initial = outputs.filter_map(|(number, output)| Some((parameters + number, output.initial? as usize)));
    let is_met_twice = |(_, parameter): &(usize, usize)| pointwise::uses_parameter(kernel, *parameter);
    initial.filter(is_met_twice).flat_map(|(output, parameter)| [output, parameter]).collect()
}

fn image(kernel: &Selected, code: usize) -> KernelImage {
    KernelImage {
        symbol: kernel.unit.fusion.name.clone(),
        emitter: format!("{} {}", kernel.emitter.name, kernel.emitter.version),
        code: code as u32,
        blocks: kernel.plan.launch.blocks,
        threads_per_block: kernel.plan.launch.threads_per_block,
        shared_bytes: kernel.plan.shared_bytes,
        predicted_ns: Some((kernel.prediction.seconds * 1e9) as u64),
        arguments: arguments(kernel),
    }
}

/// Describes a composite for the runtime, which launches it like a kernel of one block.
fn image_of_composite(composite: &Composite, kernels: &[&Selected], code: usize) -> KernelImage {
    let numbers = kernels.iter().map(|kernel| kernel.unit.fusion.name.as_str()).zip(0..).collect();
    let emitters = called(composite, &numbers).into_iter().map(|number| &kernels[number].emitter);
    let emitters: BTreeSet<String> = emitters.map(|it| format!("{} {}", it.name, it.version)).collect();
    let argument = |argument: &Argument| KernelArgument {
        name: composite.name.clone(),
        bytes: argument.bytes,
        element_bytes: 1,
        access: if argument.read_only { Access::Read } else { Access::Update },
    };
    KernelImage {
        symbol: composite.name.clone(),
        emitter: format!("loop of {}", Vec::from_iter(emitters).join(", ")),
        code: code as u32,
        blocks: 1,
        threads_per_block: 1,
        shared_bytes: 0,
        predicted_ns: None,
        arguments: composite.arguments.iter().map(argument).collect(),
    }
}

/// Describes each argument, and how the kernel accesses it. Parameters come before outputs.
pub fn arguments(kernel: &Selected) -> Vec<KernelArgument> {
    let computation = kernel.unit.fusion.computation();
    let argument = |name: &str, shape: &Shape, access| {
        let array = shape.as_array();
        KernelArgument {
            name: name.into(),
            bytes: array.map_or(0, |array| array.byte_size() as u64),
            element_bytes: array.map_or(1, |array| array.element_type.byte_size() as u32),
            access,
        }
    };
    let parameters = computation.parameters().into_iter().map(|id| {
        let instruction = computation.instruction(id);
        argument(&instruction.name, &instruction.shape, Access::Read)
    });
    let roots = kernel.unit.fusion.roots.iter().map(|&root| computation.instruction(root));
    let leaves = roots.flat_map(|root| root.shape.leaves().into_iter().map(|leaf| (root.name.as_str(), leaf)));
    let outputs = leaves.zip(&kernel.plan.outputs).map(|((name, leaf), output)| {
        let access = match output.mode {
            WriteMode::Unique => Access::WriteOnce,
            WriteMode::InPlace => Access::InPlace,
            WriteMode::Atomic => Access::Update,
        };
        argument(name, leaf, access)
    });
    parameters.chain(outputs).collect()
}

/// Collects the printed texts of one batch after each wanted lowering stage.
struct StageTexts<'o> {
    options: &'o Options,
    texts: Texts,
}

impl<'o> StageTexts<'o> {
    fn new(options: &'o Options) -> StageTexts<'o> {
        StageTexts { options, texts: BTreeMap::new() }
    }
}

impl Stages for StageTexts<'_> {
    fn wants(&self, stage: Stage) -> bool {
        self.options.dump.is_active() || self.options.stages.contains(&stage)
    }

    fn optimises(&self) -> bool {
        !self.options.departures.unoptimised
    }

    fn rewrite(&mut self, mut kernel: Rewritten<'_>) -> Result<(), LoweringError> {
        if kernel.stage == Stage::Scalars {
            self.options.progress.tell(Advance::Done(1));
        }
        self.options.departures.in_kernel(&mut kernel)
    }

    fn stage(&mut self, stage: Stage, text: &str) {
        // A batch has one text for each stage, whose kernels come one after the other.
        self.texts.entry(stage).or_default().push_str(text);
    }
}

fn dump_texts(dump: &Dump, batch: usize, texts: &Texts) -> Result<(), CompileError> {
    for (stage, text) in texts {
        if let Some((phase, part, extension)) = dumped(*stage, batch) {
            dump.write(phase, &part, extension, || text.clone().into_bytes())?;
        }
    }
    Ok(())
}

/// Returns the phase, the part and the extension in the name of the file into which a batch is
/// dumped after a lowering stage. `None` for `Stage::Kernel`, because emission already dumps each
/// kernel.
fn dumped(stage: Stage, batch: usize) -> Option<(Phase, String, &'static str)> {
    let (phase, extension) = match stage {
        Stage::Kernel => return None,
        Stage::Inlined | Stage::Memory | Stage::Loops | Stage::Indices | Stage::Scalars | Stage::LlvmDialect => {
            (Phase::Lower, "mlir")
        }
        Stage::LlvmUnoptimized | Stage::Llvm => (Phase::Lower, "ll"),
        Stage::Assembly => (Phase::Code, "s"),
    };
    // The two forms of the dialect and of LLVM IR before optimisation have one number, so that the
    // names of dumps do not depend on the lowering.
    let order = stage as u8 - u8::from(stage > Stage::LlvmDialect);
    Some((phase, format!("{order}-{}{batch}", stage.name()), extension))
}

/// For a program with only one kernel, returns the name of the dump file that shows the kernel
/// after a lowering stage.
pub fn dump_of_stage(stage: Stage, kernel: &str) -> String {
    match dumped(stage, 0) {
        Some((phase, part, extension)) => phase.file_name(&part, extension),
        None => Phase::Emit.file_name(kernel, "mlir"),
    }
}

/// Decides whose fault an error of lowering is. Invalid or unsupported IR is the emitter's fault.
/// An error of LLVM is a bug in fusebox.
fn refused(source: LoweringError, kernels: &[Selected]) -> Result<LoweringFailure, CompileError> {
    match &source {
        LoweringError::Invalid { kernel, .. } | LoweringError::Unsupported { kernel, .. } => {
            match kernels.iter().position(|it| it.unit.fusion.name == *kernel) {
                Some(kernel) => Ok(LoweringFailure { kernel, source }),
                None => Err(internal(&source)),
            }
        }
        LoweringError::Target { .. } | LoweringError::MlirPasses { .. } | LoweringError::NotConverted { .. } => {
            Err(CompileError::Choice(source.to_string()))
        }
        _ => Err(internal(&source)),
    }
}

fn internal(error: &LoweringError) -> CompileError {
    CompileError::Internal { phase: Phase::Lower.name(), message: error.to_string() }
}
