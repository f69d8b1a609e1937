//! Kernels to machine code, in as many batches as there are threads to compile them.

use std::collections::BTreeMap;

use fusebox_core::emitter::WriteMode;
use fusebox_core::hlo::Shape;
use fusebox_core::ir::Function;
use fusebox_lowering::{Argument, Code, KernelSource, LoweringError, NoStages, Stage, Stages, Target};
use fusebox_runtime::{Access, KernelArgument, KernelImage};

use crate::progress::Advance;
use crate::select::Selected;
use crate::{CompileError, Dump, Options, Phase};

/// Kernels below which a second thread is not worth its start.
const LEAST_PER_BATCH: usize = 2;

/// Machine code of all kernels.
#[derive(Debug, Default)]
pub struct Lowered {
    /// One per batch.
    pub code: Vec<Code>,
    /// One per kernel that is no routine.
    pub images: Vec<KernelImage>,
    /// The texts asked for; one per batch.
    pub texts: BTreeMap<Stage, Vec<String>>,
}

/// A kernel that cannot be compiled.
#[derive(Debug)]
pub struct Refused {
    /// Its number.
    pub kernel: usize,
    /// Why not.
    pub source: LoweringError,
}

/// Compiles all kernels, or says which one cannot be. Keeps the texts of wanted stages, and of all if dumps are written.
pub fn lower(kernels: &[Selected], options: &Options) -> Result<Result<Lowered, Refused>, CompileError> {
    let Options { target, threads, dump, .. } = options;
    // One PTX or assembly file is one module: only objects come in several.
    let threads = if target.takes_several_modules() { *threads } else { 1 };
    let batches = batches(kernels, threads);
    let compile = |batch: &Vec<usize>| {
        let mut texts = Texts::new(options);
        let sources: Vec<KernelSource> = batch.iter().map(|&index| source(&kernels[index], target)).collect();
        let code = fusebox_lowering::compile(&sources, target, &mut texts);
        options.progress.tell(Advance::Done(batch.len()));
        (code, texts.texts)
    };
    let mut lowered = Lowered::default();
    for (number, (code, texts)) in in_parallel(&batches, &compile).into_iter().enumerate() {
        dump_texts(dump, number, &texts)?;
        match code {
            Ok(code) => lowered.code.push(code),
            Err(source) => return refused(source, kernels).map(Err),
        }
        texts.into_iter().for_each(|(stage, text)| lowered.texts.entry(stage).or_default().push(text));
    }
    let batch_of = |index: &usize| batches.iter().position(|batch| batch.contains(index)).unwrap_or(0);
    lowered.images = compiled(kernels).map(|index| image(&kernels[index], batch_of(&index))).collect();
    Ok(Ok(lowered))
}

/// Numbers of those that are no routines.
fn compiled(kernels: &[Selected]) -> impl Iterator<Item = usize> {
    (0..kernels.len()).filter(|&index| !kernels[index].is_routine())
}

/// Compiles one kernel for arguments that stand anywhere in memory.
pub fn lower_on_elements(kernel: &Selected, options: &Options) -> Result<Code, CompileError> {
    let mut source = source(kernel, &options.target);
    source.arguments.iter_mut().for_each(|argument| argument.alignment = 1);
    fusebox_lowering::compile(&[source], &options.target, &mut NoStages).map_err(|source| match source {
        LoweringError::Unsupported { .. } => CompileError::Choice(source.to_string()),
        _ => internal(&source),
    })
}

/// Numbers of kernels, in batches of about equal work: the largest kernels first, each to the batch that
/// has least.
fn batches(kernels: &[Selected], threads: usize) -> Vec<Vec<usize>> {
    let mut by_size: Vec<usize> = compiled(kernels).collect();
    if by_size.is_empty() {
        return Vec::new();
    }
    let count = (by_size.len() / LEAST_PER_BATCH).clamp(1, threads.max(1));
    let work = |index: usize| kernels[index].functions.iter().map(Function::size).sum::<usize>();
    by_size.sort_by_key(|&index| std::cmp::Reverse(work(index)));
    let mut batches = vec![(0, Vec::new()); count];
    for index in by_size {
        if let Some((size, batch)) = batches.iter_mut().min_by_key(|(size, _)| *size) {
            *size += work(index);
            batch.push(index);
        }
    }
    batches.into_iter().map(|(_, batch)| batch).collect()
}

fn in_parallel<R: Send + Sync, T: Send>(items: &[R], f: &(dyn Fn(&R) -> T + Sync)) -> Vec<T> {
    let Some((last, others)) = items.split_last() else { return Vec::new() };
    std::thread::scope(|scope| {
        let handles: Vec<_> = others.iter().map(|item| scope.spawn(move || f(item))).collect();
        let last = f(last);
        let mut results: Vec<T> = handles.into_iter().map(join).collect();
        results.push(last);
        results
    })
}

fn join<T>(handle: std::thread::ScopedJoinHandle<'_, T>) -> T {
    handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

impl Selected {
    /// The kernel's functions as MLIR text, with what it is launched with.
    pub fn text(&self, target: &Target) -> String {
        fusebox_lowering::kernel_text(&source(self, target))
    }
}

/// A kernel as lowering takes it.
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
    }
}

/// Arguments that may be the same memory: outputs that start from a parameter's value, and these parameters.
fn shared_arguments(kernel: &Selected) -> Vec<usize> {
    let parameters = kernel.unit.fusion.computation().parameters().len();
    let outputs = kernel.plan.outputs.iter().enumerate();
    outputs.filter_map(|(number, output)| Some([parameters + number, output.initial? as usize])).flatten().collect()
}

fn image(kernel: &Selected, code: usize) -> KernelImage {
    KernelImage {
        symbol: kernel.unit.fusion.name.clone(),
        emitter: format!("{} {}", kernel.emitter.name, kernel.emitter.version),
        code: code as u32,
        blocks: kernel.plan.launch.blocks,
        threads_per_block: kernel.plan.launch.threads_per_block,
        shared_bytes: kernel.plan.shared_bytes,
        arguments: arguments(kernel),
    }
}

/// What each argument is and how it is used: parameters, then outputs.
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

/// Collects the texts of one batch.
struct Texts<'o> {
    options: &'o Options,
    texts: BTreeMap<Stage, String>,
}

impl<'o> Texts<'o> {
    fn new(options: &'o Options) -> Texts<'o> {
        Texts { options, texts: BTreeMap::new() }
    }
}

impl Stages for Texts<'_> {
    fn wants(&self, stage: Stage) -> bool {
        self.options.dump.is_active() || self.options.stages.contains(&stage)
    }

    fn optimises(&self) -> bool {
        !self.options.departures.unoptimised
    }

    fn rewrite(&mut self, stage: Stage, functions: &mut [Function]) {
        self.options.departures.planted.in_kernel(stage, functions);
        if stage == Stage::Scalars {
            self.options.progress.tell(Advance::Done(1));
        }
    }

    fn stage(&mut self, stage: Stage, text: &str) {
        self.texts.insert(stage, text.into());
    }
}

fn dump_texts(dump: &Dump, batch: usize, texts: &BTreeMap<Stage, String>) -> Result<(), CompileError> {
    for (stage, text) in texts {
        if let Some((phase, part, extension)) = dumped(*stage, batch) {
            dump.write(phase, &part, extension, || text.clone().into_bytes())?;
        }
    }
    Ok(())
}

/// Where a stage of a batch is dumped: phase, part and extension. The kernel as it was handed over is not: each one's emission is.
fn dumped(stage: Stage, batch: usize) -> Option<(Phase, String, &'static str)> {
    let (phase, extension) = match stage {
        Stage::Kernel => return None,
        Stage::Inlined | Stage::Memory | Stage::Loops | Stage::Indices | Stage::Scalars => (Phase::Lower, "mlir"),
        Stage::LlvmUnoptimized | Stage::Llvm => (Phase::Lower, "ll"),
        Stage::Assembly => (Phase::Code, "s"),
    };
    Some((phase, format!("{}-{}{batch}", stage as u8, stage.name()), extension))
}

/// Name of the dump that has a stage of a program's only kernel.
pub fn dump_of_stage(stage: Stage, kernel: &str) -> String {
    match dumped(stage, 0) {
        Some((phase, part, extension)) => phase.file_name(&part, extension),
        None => Phase::Emit.file_name(kernel, "mlir"),
    }
}

/// Invalid or unsupported IR is its emitter's fault; what LLVM refuses is fusebox's own.
fn refused(source: LoweringError, kernels: &[Selected]) -> Result<Refused, CompileError> {
    match &source {
        LoweringError::Invalid { kernel, .. } | LoweringError::Unsupported { kernel, .. } => {
            match kernels.iter().position(|it| it.unit.fusion.name == *kernel) {
                Some(kernel) => Ok(Refused { kernel, source }),
                None => Err(internal(&source)),
            }
        }
        LoweringError::Target { .. } => Err(CompileError::Choice(source.to_string())),
        _ => Err(internal(&source)),
    }
}

fn internal(error: &LoweringError) -> CompileError {
    CompileError::Internal { phase: Phase::Lower.name(), message: error.to_string() }
}
