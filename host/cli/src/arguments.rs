//! The command line.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use fusebox_choices::Cubins;
use fusebox_files::SizeLimit;
use fusebox_lowering::{Lowering, MlirPasses};
use fusebox_run::gpu::GpuChoice;
use fusebox_run::inputs::InputChoice;
use fusebox_run::stored::Trust;
use glob::Pattern;

use crate::commands::check_emitter::CheckEmitter;
use crate::commands::new_emitter::NewEmitter;
use crate::driver::DriverChoice;
use crate::progress::ProgressChoice;
use crate::{cubins, lowering, passes, sizes};

/// Name of a clap group. --force requires an argument of this group.
const FORCED: &str = "forced";

/// Compiles and runs HLO. The code generators are plugins.
#[derive(Debug, Parser)]
#[command(name = "fusebox", version, about)]
pub struct Arguments {
    /// The subcommand that is run.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compile a module, or load an executable, and run it once
    Run(Run),
    /// Measure compile time and run time
    Bench(Bench),
    /// Measure two choices of emitters, or two versions of fusebox, against each other
    Ab(Ab),
    /// Find the first pass, fusion or stage whose result is wrong
    Bisect(Bisect),
    /// Write a self-contained folder that reproduces one fusion
    Repro(Repro),
    /// Measure which emitter and knobs are fastest for each fusion, and store the choices for later
    /// runs
    Tune(Tune),
    /// Compile a module up to a stage
    Compile(Compile),
    /// List the available emitters; inspect, verify or pin their files
    Emitters(Emitters),
    /// Show which emitter builds each kernel, and why
    Explain(Explain),
    /// Print the indexing maps of each operation
    Indexing(Indexing),
    /// Lower one kernel's IR from one stage to another
    Lower(Lower),
    /// Print a shell script that completes command lines
    Completion(Completion),
    /// Print a manual page, as troff
    Man(Man),
    /// Create a crate for a new emitter, with working code to start from
    NewEmitter(NewEmitter),
    /// Check that the emitters of a library conform to the emitter interface
    CheckEmitter(CheckEmitter),
    /// Serve one emitter library over standard input and output
    #[command(name = fusebox_plugins::SERVE_COMMAND, hide = true)]
    ServeEmitter(ServeEmitter),
}

/// Arguments of every command that compiles a module.
#[derive(Clone, Debug, Args)]
pub struct CommonArguments {
    /// Module to read: HLO text (.hlo, .txt), a serialised HloModuleProto (.pb), StableHLO (.mlir,
    /// .mlirbc, .jax_export), or - for HLO text on standard input
    pub module: PathBuf,
    #[command(flatten)]
    pub compiling: CompilationArguments,
    #[command(flatten)]
    pub tuned: TunedChoice,
    /// Write the output of every phase to numbered files in this folder
    #[arg(long, value_name = "DIR")]
    pub dump_to: Option<PathBuf>,
}

/// Options that control the compilation.
#[derive(Clone, Debug, Args)]
pub struct CompilationArguments {
    /// Size limit of the module: bytes, or 512M, 4G, none
    #[arg(long, value_name = "SIZE", default_value_t)]
    pub file_limit: SizeLimit,
    /// Name of the module to read if the file contains several modules
    #[arg(long = "module", value_name = "NAME")]
    pub module_named: Option<String>,
    /// Sizes of all arguments, for a StableHLO program that does not state these sizes: `4x6,6x3,`
    /// for two arrays and a scalar. Default: the sizes of the arrays of --inputs
    #[arg(long, value_name = "SIZES", value_parser = sizes::parse)]
    pub shapes: Option<sizes::Sizes>,
    /// Values for constants that the text elides as `{...}`
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    pub elided_constants: ElidedConstants,
    /// Target to compile for: cpu, simt, cuda, sm_80, sm_90, gfx942, …
    #[arg(long, default_value = "cpu")]
    pub target: String,
    #[command(flatten)]
    pub emitters: EmitterChoice,
    /// Number of threads to compile and run with; 0 means one per processor
    #[arg(long, default_value_t = 0)]
    pub threads: usize,
    #[command(flatten)]
    pub gpu: GpuChoice,
    /// When to let NVIDIA's assembler ptxas make machine code for GPU kernels, in addition to the
    /// PTX. FUSEBOX_PTXAS may name the assembler's file
    #[arg(long, value_name = "WHEN", default_value = Cubins::default().name(), value_parser = cubins::parser())]
    pub cubins: Cubins,
    /// Memory limit of outputs and temporaries, without inputs and constants: bytes, or 512K, 64M,
    /// 2G. The compiler rematerialises values to stay within the limit, and fails if the program
    /// still exceeds the limit
    #[arg(long, value_name = "SIZE")]
    pub memory_limit: Option<SizeLimit>,
    /// Skip these HLO passes
    #[arg(long, value_name = "-NAME", value_delimiter = ',', allow_hyphen_values = true, value_parser = passes::parser())]
    pub passes: Vec<String>,
    /// Check the module after every HLO pass and after fusion
    #[arg(long)]
    pub verify_each: bool,
    /// Run a pipeline of MLIR's passes on every kernel after this stage of its lowering (kernel,
    /// inlined, memory, loops, indices or scalars); may be repeated
    #[arg(long, value_name = "STAGE=PIPELINE", value_parser = MlirPasses::parse)]
    pub mlir_passes: Vec<MlirPasses>,
    /// How to convert kernels to LLVM IR: with fusebox itself, or with MLIR's conversions (only for
    /// the cpu)
    #[arg(long, value_name = "HOW", default_value = Lowering::default().name(), value_parser = lowering::parser())]
    pub lowering: Lowering,
}

/// The values of constants that a text elides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ElidedConstants {
    /// Report an error
    #[default]
    Refuse,
    /// Set all elements to 0
    Zero,
    /// Set floats to random values from -1 to below 1, and all other types to 0 or 1. The values
    /// are the same in every run
    Random,
}

/// Options that choose emitters, and options that load emitters.
#[derive(Clone, Debug, Default, Args)]
#[command(group(ArgGroup::new(FORCED).multiple(true)))]
pub struct EmitterChoice {
    /// Prefer an emitter: kind=name, kind=name@version, kind=./file.so, or ./file.so for all kinds
    /// of the library; may be repeated.
    ///
    /// A chosen emitter builds every fusion of its kind that the emitter accepts. If the chosen
    /// emitters decline fusions, other emitters build the declined fusions, and a warning states
    /// the number of declined fusions. Instead of the kind, write fusion:GLOB or fingerprint:GLOB
    /// to choose fusions by name or by fingerprint; `fusebox explain` prints both. Knobs follow the
    /// name: `tiled-transpose{edge=64}`. If several options match a fusion, the last one wins;
    /// options naming a fusion override options naming a kind
    #[arg(long = "emitter", value_name = "SPEC", group = FORCED)]
    pub emitters: Vec<String>,
    /// Load this library; its emitters compete with all other emitters on equal terms. May be
    /// repeated
    #[arg(long, value_name = "FILE")]
    pub load: Vec<PathBuf>,
    /// Fail if an emitter chosen with --emitter declines a fusion of its kind. In repro, bisect and
    /// ab: also write to an output folder that is not empty, and replace files there
    #[arg(long, requires = FORCED)]
    pub force: bool,
    /// Set a knob of the emitters chosen with --emitter; may be repeated. Other emitters choose
    /// their knobs themselves
    #[arg(long = "knob", value_name = "NAME=VALUE")]
    pub knobs: Vec<String>,
    /// Run the emitters of each loaded library in a separate process
    #[arg(long)]
    pub isolate: bool,
    /// Memory limit of an isolated process: bytes, or 512M, 4G, none; default: 4G
    #[arg(long, value_name = "SIZE")]
    pub isolate_memory: Option<SizeLimit>,
    /// Time limit for one answer of an isolated process; default: 20 seconds
    #[arg(long, value_name = "SECONDS")]
    pub isolate_time: Option<NonZeroU32>,
    /// Time limit of a kernel on the cpu; default: 20 seconds for kernels of emitters that are not
    /// bundled, no limit for kernels of bundled emitters
    #[arg(long, value_name = "SECONDS")]
    pub kernel_time: Option<NonZeroU32>,
    /// Settings file to read. Default: fusebox.toml in the module's folder, or in the nearest
    /// folder above that contains a fusebox.toml
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Fail on plugins that fusebox.lock does not pin; in tune, measure nothing and fail on untuned
    /// fusions
    #[arg(long)]
    pub locked: bool,
    /// Ignore fusebox.toml
    #[arg(long, conflicts_with = "config")]
    pub no_config: bool,
}

/// Options for the choices that `fusebox tune` has stored.
#[derive(Clone, Debug, Default, Args)]
pub struct TunedChoice {
    /// File with the choices of `fusebox tune`; default: fusebox/tuned.redb in $XDG_CACHE_HOME or
    /// ~/.cache
    #[arg(long, value_name = "FILE")]
    pub tuned: Option<PathBuf>,
    /// Ignore the choices of `fusebox tune`
    #[arg(long, conflicts_with = "tuned")]
    pub no_tuned: bool,
}

/// Options for the cache of compiled programs.
#[derive(Clone, Debug, Default, Args)]
pub struct CacheChoice {
    /// Cache executables in this folder; default: the environment variable FUSEBOX_CACHE, if it is
    /// set. fusebox runs these executables, so use only a folder that you trust like a program
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// Size limit of the cache: bytes, or 512M, 4G, none; default: 2G. The least recently used
    /// executables are deleted first
    #[arg(long, value_name = "SIZE")]
    pub cache_limit: Option<SizeLimit>,
    /// Use no cache, even if FUSEBOX_CACHE or fusebox.toml names a cache
    #[arg(long, conflicts_with = "cache")]
    pub no_cache: bool,
}

/// `fusebox run`
#[derive(Debug, Args)]
pub struct Run {
    #[command(flatten)]
    pub common: CommonArguments,
    #[command(flatten)]
    pub cache: CacheChoice,
    #[command(flatten)]
    pub progress: ProgressChoice,
    #[command(flatten)]
    pub trust: Trust,
    #[command(flatten)]
    pub inputs: InputChoice,
    /// Write the results to this file, in the format of --inputs
    #[arg(long, value_name = "OUT.npz")]
    pub outputs: Option<PathBuf>,
    /// Evaluate the module with the reference interpreter instead of compiling it
    #[arg(long)]
    pub interpreter: bool,
    /// Compare the results with the interpreter's, and fail if they differ by more than rounding
    /// explains
    #[arg(long, conflicts_with = "interpreter")]
    pub check: bool,
    /// Print all elements of the results
    #[arg(long)]
    pub print: bool,
}

/// `fusebox bench`
#[derive(Debug, Args)]
pub struct Bench {
    #[command(flatten)]
    pub common: CommonArguments,
    #[command(flatten)]
    pub cache: CacheChoice,
    #[command(flatten)]
    pub progress: ProgressChoice,
    #[command(flatten)]
    pub inputs: InputChoice,
    /// Print a profile instead of the compile time and run time: the measured time, the bytes and
    /// the emitter of every step, and the step's roof (the least possible time) in percent of the
    /// measured time. With FILE, also write a trace for Perfetto
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    pub profile: Option<Option<PathBuf>>,
    /// Print one line of JSON
    #[arg(long)]
    pub json: bool,
}

/// `fusebox ab`
#[derive(Debug, Args)]
pub struct Ab {
    #[command(flatten)]
    pub common: CommonArguments,
    /// More modules, each compared separately. A summary of all modules follows the reports; with
    /// --json, each report is one line
    #[arg(value_name = "MODULE")]
    pub more: Vec<PathBuf>,
    #[command(flatten)]
    pub inputs: InputChoice,
    /// Side A: an emitter, written as for --emitter; mlir:STAGE=PIPELINE, as for --mlir-passes;
    /// lowering=HOW, as for --lowering; a fusebox.toml; or the path of another fusebox program. May
    /// be repeated. Default: fusebox's own choice. --emitter, --load, --knob, --mlir-passes and
    /// --lowering apply to both sides
    #[arg(long, value_name = "SPEC")]
    pub a: Vec<String>,
    /// Side B, written like side A
    #[arg(long, value_name = "SPEC", required = true)]
    pub b: Vec<String>,
    /// Compare only fusions whose name matches this pattern (* and ? are wildcards); default:
    /// fusions for which the sides build different kernels
    #[arg(long, value_name = "PATTERN")]
    pub fusion: Option<Pattern>,
    /// Number of pairs of runs; default: as many as a verdict needs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub pairs: Option<u32>,
    /// Write a page, index.html, into this folder: the report, plots, and the kernels after every
    /// stage. With several modules, each module gets a subfolder
    #[arg(long, value_name = "DIR", group = FORCED)]
    pub html: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `fusebox bisect`
#[derive(Debug, Args)]
pub struct Bisect {
    #[command(flatten)]
    pub common: CommonArguments,
    #[command(flatten)]
    pub inputs: InputChoice,
    /// Reference results: interpreter, or a file that `fusebox run --outputs` wrote
    #[arg(long, value_name = "interpreter|FILE.npz", default_value = "interpreter")]
    pub reference: PathBuf,
    /// Write a self-contained folder that reproduces the fault
    #[arg(short, long, value_name = "DIR", group = FORCED)]
    pub output: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `fusebox repro`
#[derive(Debug, Args)]
pub struct Repro {
    #[command(flatten)]
    pub common: CommonArguments,
    #[command(flatten)]
    pub inputs: InputChoice,
    /// Name of the fusion, as in the output of `fusebox explain`
    #[arg(long, value_name = "NAME")]
    pub fusion: String,
    /// The folder to write
    #[arg(short, long, value_name = "DIR", group = FORCED)]
    pub output: PathBuf,
}

/// `fusebox tune`
#[derive(Debug, Args)]
pub struct Tune {
    /// Modules to tune: HLO text (.hlo, .txt), serialised HloModuleProtos (.pb), or StableHLO
    /// (.mlir, .mlirbc, .jax_export)
    #[arg(required_unless_present = "import")]
    pub modules: Vec<PathBuf>,
    #[command(flatten)]
    pub compiling: CompilationArguments,
    #[command(flatten)]
    pub progress: ProgressChoice,
    /// File that stores the choices; default: fusebox/tuned.redb in $XDG_CACHE_HOME or ~/.cache
    #[arg(long, value_name = "FILE")]
    pub tuned: Option<PathBuf>,
    /// Measure all fusions, even fusions for which a choice is already stored
    #[arg(long, conflicts_with = "locked")]
    pub again: bool,
    /// Before tuning, import the choices from this file, written by --export
    #[arg(long, value_name = "FILE")]
    pub import: Option<PathBuf>,
    /// At the end, write the choices for these modules to this file, as TOML
    #[arg(long, value_name = "FILE")]
    pub export: Option<PathBuf>,
    /// Also print the differences between predicted and measured times
    #[arg(long)]
    pub predictions: bool,
    /// Tune fusions in isolation, without checking the choices in the whole program
    #[arg(long, conflicts_with = "inputs")]
    pub fusions_alone: bool,
    #[command(flatten)]
    pub inputs: InputChoice,
}

/// `fusebox compile`
#[derive(Debug, Args)]
pub struct Compile {
    #[command(flatten)]
    pub common: CommonArguments,
    #[command(flatten)]
    pub cache: CacheChoice,
    #[command(flatten)]
    pub progress: ProgressChoice,
    /// Stage to stop at
    #[arg(long, value_enum)]
    pub emit: Option<Emit>,
    /// PTX version as two or three digits, for sm_ targets
    #[arg(long, value_name = "NN")]
    pub ptx_version: Option<u32>,
    /// Output file; default: standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Stages at which `compile` can stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Emit {
    /// StableHLO text of the module as it was read, before all passes
    Stablehlo,
    /// HLO with fusions
    Hlo,
    /// Kernel IR before lowering
    Mlir,
    /// Kernel IR after its last stage, before translation to LLVM IR
    MlirLowered,
    /// LLVM IR after optimisation
    Llvm,
    /// PTX
    Ptx,
    /// Assembly
    Asm,
    /// Executable for `fusebox run`
    Executable,
}

/// `fusebox emitters`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Emitters {
    #[command(subcommand)]
    pub command: Option<EmittersCommand>,
    #[command(flatten)]
    pub list: EmittersList,
}

/// Subcommands of `fusebox emitters`. Without a subcommand, the emitters are listed.
#[derive(Debug, Subcommand)]
pub enum EmittersCommand {
    /// List the available emitters
    List(EmittersList),
    /// Show what a library states about itself, without running its code
    Inspect(Inspect),
    /// Compare the plugins of fusebox.toml with fusebox.lock, without running their code
    Verify(PinnedArguments),
    /// Record the hashes of the plugins of fusebox.toml in fusebox.lock
    Lock(PinnedArguments),
}

/// `fusebox emitters inspect`
#[derive(Debug, Args)]
pub struct Inspect {
    /// The library
    pub file: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `fusebox emitters verify` and `fusebox emitters lock`
#[derive(Debug, Args)]
pub struct PinnedArguments {
    /// Read this file instead of the fusebox.toml in the working directory or the nearest folder
    /// above it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `fusebox completion`
#[derive(Debug, Args)]
pub struct Completion {
    /// The shell
    pub shell: Shell,
}

/// `fusebox man`
#[derive(Debug, Args)]
pub struct Man {
    /// Command to document; default: fusebox itself
    pub command: Option<String>,
}

/// `fusebox emitters list`
#[derive(Debug, Args)]
pub struct EmittersList {
    #[command(flatten)]
    pub emitters: EmitterChoice,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `fusebox explain`
#[derive(Debug, Args)]
pub struct Explain {
    #[command(flatten)]
    pub common: CommonArguments,
    /// Show details of the fusions whose name matches this pattern (* and ? are wildcards):
    /// emitter, heroes, plan, maps, and why other emitters declined
    #[arg(long, value_name = "NAME", conflicts_with_all = ["ptxas", "why", "memory", "html"])]
    pub fusion: Option<Pattern>,
    /// Show the details of --fusion for every fusion, and the outcome of every bid
    #[arg(long, conflicts_with_all = ["fusion", "ptxas", "why", "memory", "html"])]
    pub all: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Instead of the table of kernels, show the report of NVIDIA's assembler on each kernel:
    /// registers, spills, shared memory and widest accesses. Kernels are compiled for the target,
    /// or for sm_80 and sm_90 if the target is not sm_NN
    #[arg(long)]
    pub ptxas: bool,
    /// Run the program once on the software driver, and show counts for each kernel instead of the
    /// table of kernels: executed instructions by class, sectors of memory, bank conflicts,
    /// divergent branches and occupancy, next to the predicted time. Needs --target cuda or sm_NN
    #[arg(long, conflicts_with_all = ["all", "ptxas", "why", "memory", "measure"])]
    pub counts: bool,
    #[command(flatten)]
    pub driver: DriverChoice,
    /// Instead of the table of kernels, show how passes and fusion treated the instruction with
    /// this name, and why
    #[arg(long, value_name = "INSTR", conflicts_with = "ptxas")]
    pub why: Option<String>,
    /// Run the program, and show the measured time of each kernel next to its predicted time
    #[arg(long, conflicts_with_all = ["ptxas", "why"])]
    pub measure: bool,
    /// Instead of the table of kernels, show the bytes of arguments, constants, outputs and
    /// temporaries, and the values that are alive at the peak of memory use
    #[arg(long, conflicts_with_all = ["ptxas", "why", "measure"])]
    pub memory: bool,
    /// Write a page with a graph of the program, in which each fusion can be opened
    #[arg(long, value_name = "FILE", conflicts_with_all = ["ptxas", "why", "memory", "json"])]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub inputs: InputChoice,
}

/// `fusebox indexing`
#[derive(Debug, Args)]
pub struct Indexing {
    /// Module to read: HLO text (.hlo, .txt), a serialised HloModuleProto (.pb), StableHLO (.mlir,
    /// .mlirbc, .jax_export), or - for HLO text on standard input
    pub module: PathBuf,
    /// Size limit of the module: bytes, or 512M, 4G, none
    #[arg(long, value_name = "SIZE", default_value_t)]
    pub file_limit: SizeLimit,
    /// Print maps from inputs to outputs instead of maps from outputs to inputs
    #[arg(long)]
    pub inverse: bool,
    /// Write the output of every phase to numbered files in this folder
    #[arg(long, value_name = "DIR")]
    pub dump_to: Option<PathBuf>,
}

/// `fusebox lower`
#[derive(Debug, Args)]
pub struct Lower {
    /// MLIR text of a kernel's functions, from a dump or written by hand in any form that MLIR
    /// parses; - for standard input
    pub kernel: PathBuf,
    /// Name of the kernel to lower if the text contains several kernels
    #[arg(long = "kernel", value_name = "NAME")]
    pub kernel_name: Option<String>,
    /// Stage of the input text
    #[arg(long, value_name = "STAGE", default_value = "kernel")]
    pub from: String,
    /// Stage to stop at: kernel, inlined, memory, loops, indices, scalars, llvm-dialect (only
    /// with --lowering mlir), llvm-unoptimized, llvm or asm
    #[arg(long, value_name = "STAGE", default_value = "scalars")]
    pub to: String,
    /// Target to lower for: cpu, simt, sm_80, sm_90, gfx942, …
    #[arg(long, default_value = "cpu")]
    pub target: String,
    /// Run a pipeline of MLIR's passes after this stage; may be repeated
    #[arg(long, value_name = "STAGE=PIPELINE", value_parser = MlirPasses::parse)]
    pub mlir_passes: Vec<MlirPasses>,
    /// How to convert kernels to LLVM IR: with fusebox itself, or with MLIR's conversions (only for
    /// the cpu)
    #[arg(long, value_name = "HOW", default_value = Lowering::default().name(), value_parser = lowering::parser())]
    pub lowering: Lowering,
    /// Size limit of the text: bytes, or 512M, 4G, none
    #[arg(long, value_name = "SIZE", default_value_t)]
    pub file_limit: SizeLimit,
}

/// Arguments of the hidden command that `--isolate` starts as a child process.
#[derive(Debug, Args)]
pub struct ServeEmitter {
    /// The library
    pub library: PathBuf,
    /// File that contains the bytes of the library
    #[arg(long)]
    pub content: PathBuf,
    /// Memory limit of this process in bytes
    #[arg(long)]
    pub memory: Option<u64>,
}
