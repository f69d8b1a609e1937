//! Damages kernel IR. Changes the text of kernels of real programs and their subgraph functions,
//! and passes the text directly to lowering.

use std::sync::LazyLock;

use fusebox_compiler::{Options, Phase, Source, compile};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::Plan;
use fusebox_lowering::{Argument, KernelSource, LoweringError, NoStages, Target as Machine};

use crate::compiled::registry;
use crate::random::Random;
use crate::seeds::Seeds;
use crate::worker::feeds;
use crate::{Outcome, Target, mutate};

/// Words that may occur in kernel IR.
pub static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| TEXT_OF_WORDS.split_whitespace().collect());

const TEXT_OF_WORDS: &str = r#"
    "arith.addi" "arith.divsi" "arith.floordivsi" "arith.remui" "arith.shli" "arith.cmpi" "arith.select"
    "arith.bitcast" "arith.extf" "arith.truncf" "arith.index_cast" "arith.constant" "arith.mulsi_extended"
    "arith.fptosi" "math.powf" "math.ctlz" "math.fma" "complex.create" "complex.re" "tensor.extract" "tensor.insert"
    "tensor.empty" "tensor.generate" "scf.for" "scf.if" "scf.while" "scf.condition" "scf.yield" "scf.index_switch"
    "scf.execute_region" "vector.broadcast" "vector.shuffle" "vector.extract" "vector.reduction"
    "vector.transfer_read" "vector.from_elements" "gpu.thread_id" "gpu.block_id" "gpu.barrier" "func.func" "func.call"
    "func.return" "xla_gpu.loop" "xla_gpu.pure_call" "xla_gpu.yield" "xla_gpu.atomic_rmw" "xla_gpu.shuffle_reduce" "xla_gpu.mma" "xla_gpu.wgmma"
    "xla_gpu.allocate_shared" "xla_gpu.sync_threads" "xla_gpu.predicated_insert" i1 i4 i8 i32 i64 i65 si8 f32 f64 bf16
    f8E4M3FN index complex tensor vector 4x8xf32 ?xf32 memref none dense array affine_map loc floordiv mod %0
"#;

/// A kernel in the form that lowering receives.
#[derive(Clone, Debug)]
struct Kernel {
    /// Arguments and launch of the kernel, without its functions.
    source: KernelSource,
    /// Text of the kernel's functions.
    text: String,
    /// Target of the kernel.
    target: Machine,
}

/// Returns the kernels of programs, for all targets.
fn kernels(programs: &[Source]) -> Vec<Kernel> {
    let targets = [
        (Machine::cpu(), DeviceDescription::cpu(4)),
        (Machine::simt(), DeviceDescription::simt()),
        (Machine::nvptx(80), DeviceDescription::sm(80)),
    ];
    programs
        .iter()
        .flat_map(|program| targets.iter().flat_map(|(target, device)| of(program, target, device)))
        .collect()
}

fn of(program: &Source, target: &Machine, device: &DeviceDescription) -> Vec<Kernel> {
    let Ok(registry) = registry() else { return Vec::new() };
    let options = Options::new(target.clone(), device.clone(), registry, Phase::Emit);
    let made = compile(program, &options).map(|made| made.kernels).unwrap_or_default();
    made.into_iter()
        .map(|kernel| {
            let bytes = sizes(&kernel.unit.fusion, &kernel.plan);
            let argument = |bytes| Argument { bytes, alignment: 64, read_only: false, no_alias: true };
            let source = KernelSource {
                entry: kernel.unit.fusion.name.clone(),
                functions: Vec::new(),
                arguments: bytes.into_iter().map(argument).collect(),
                launch: kernel.plan.launch,
                shared_bytes: kernel.plan.shared_bytes,
                origins: fusebox_lowering::Origins::default(),
            };
            let text = kernel.functions.iter().map(ToString::to_string).collect();
            Kernel { source, text, target: target.clone() }
        })
        .collect()
}

/// Returns the size of each parameter and output in bytes.
fn sizes(fusion: &fusebox_core::emitter::Fusion, plan: &Plan) -> Vec<u64> {
    let computation = fusion.computation();
    let roots =
        fusion.roots.iter().flat_map(|&root| computation.instruction(root).shape.leaves()).take(plan.outputs.len());
    let parameters = computation.parameters().into_iter().map(|id| &computation.instruction(id).shape);
    let bytes = |shape: &fusebox_core::hlo::Shape| shape.as_array().map_or(0, |array| array.byte_size() as u64);
    parameters.chain(roots).map(bytes).collect()
}

/// The target for kernel IR. It damages kernels of programs.
pub struct KernelIr {
    kernels: Vec<Kernel>,
}

impl KernelIr {
    /// Creates the target with the kernels of these seeds' programs.
    pub fn new(seeds: &Seeds) -> KernelIr {
        KernelIr { kernels: kernels(&seeds.programs()) }
    }
}

impl Target for KernelIr {
    fn run(&mut self, random: &mut Random, input: &mut Vec<u8>) -> Result<Outcome, String> {
        let Some(Kernel { mut source, text, target }) = damaged(&self.kernels, random) else { return Ok("nothing") };
        *input = text.clone().into_bytes();
        feeds(input)?;
        let compiled = fusebox_lowering::read(&source.entry, &text).and_then(|functions| {
            source.functions = functions;
            fusebox_lowering::compile(&[source], &target, &mut NoStages)
        });
        match compiled {
            Ok(_) => Ok("compiled"),
            Err(LoweringError::Invalid { .. }) => Ok("invalid"),
            Err(LoweringError::Unsupported { .. }) => Ok("unsupported"),
            Err(error) => Err(format!("called a bug of fusebox: {error}")),
        }
    }
}

/// Returns a random kernel with damaged text.
fn damaged(kernels: &[Kernel], random: &mut Random) -> Option<Kernel> {
    let (mut kernel, other) = (random.pick(kernels)?.clone(), random.pick(kernels)?);
    let (text, other) = (std::mem::take(&mut kernel.text), &other.text);
    kernel.text = if random.chance(8) {
        let mut bytes = text.into_bytes();
        mutate::bytes(random, &mut bytes, other.as_bytes());
        String::from_utf8_lossy(&bytes).into_owned()
    } else {
        mutate::ir(random, &text, other, &WORDS)
    };
    Some(kernel)
}
