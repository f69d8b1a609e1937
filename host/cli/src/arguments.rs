//! The command line.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use fusebox_files::SizeLimit;
use fusebox_run::inputs::InputChoice;
use fusebox_run::stored::Trust;
use glob::Pattern;

use crate::commands::check_emitter::CheckEmitter;
use crate::commands::new_emitter::NewEmitter;
use crate::passes;
use crate::progress::ProgressChoice;

/// The arguments that --force belongs to.
const FORCED: &str = "forced";

/// Compiles and runs HLO; its code generators are plugins.
#[derive(Debug, Parser)]
#[command(name = "fusebox", version, about)]
pub struct Arguments {
    /// What to do.
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
    /// Find the first pass, fusion or stage whose result goes wrong
    Bisect(Bisect),
    /// Write a folder that alone reproduces one fusion
    Repro(Repro),
    /// Measure for each fusion which emitter and which knobs are fastest, and keep it for later runs
    Tune(Tune),
    /// Compile a module up to a stage
    Compile(Compile),
    /// List the emitters found; inspect, verify or pin their files
    Emitters(Emitters),
    /// Tell which emitter makes which kernel, and why
    Explain(Explain),
    /// Print the indexing maps of each operation
    Indexing(Indexing),
    /// Take one kernel's IR from a stage of lowering to another
    Lower(Lower),
    /// Print a script that completes command lines
    Completion(Completion),
    /// Print a manual page, as troff
    Man(Man),
    /// Write a crate with an emitter of your own to begin with
    NewEmitter(NewEmitter),
    /// Check that the emitters of a library do what they promise
    CheckEmitter(CheckEmitter),
    /// Serve one emitter library over standard input and output
    #[command(name = fusebox_plugins::SERVE_COMMAND, hide = true)]
    ServeEmitter(ServeEmitter),
}

/// What every command that compiles takes.
#[derive(Clone, Debug, Args)]
pub struct Common {
    /// HLO text (.hlo, .txt), a serialised HloModuleProto (.pb), or - for text on standard input
    pub module: PathBuf,
    #[command(flatten)]
    pub compiling: Compiling,
    #[command(flatten)]
    pub tuned: TunedChoice,
    /// Write what every phase made to numbered files in this folder
    #[arg(long, value_name = "DIR")]
    pub dump_to: Option<PathBuf>,
}

/// How modules are compiled, whatever for.
#[derive(Clone, Debug, Args)]
pub struct Compiling {
    /// Largest module that is read: bytes, or 512M, 4G, none
    #[arg(long, value_name = "SIZE", default_value_t)]
    pub file_limit: SizeLimit,
    /// The module of this name, where a file has several
    #[arg(long = "module", value_name = "NAME")]
    pub module_named: Option<String>,
    /// What becomes of constants that were left out of the text, `{...}`
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    pub elided_constants: ElidedConstants,
    /// cpu, simt, cuda, sm_80, sm_90, gfx942, …
    #[arg(long, default_value = "cpu")]
    pub target: String,
    #[command(flatten)]
    pub emitters: EmitterChoice,
    /// Threads to compile and run with; 0: one per processor
    #[arg(long, default_value_t = 0)]
    pub threads: usize,
    /// Most memory for results and what is made on the way, inputs and constants aside: bytes, or 512K, 64M, 2G. Values are
    /// computed twice where that saves enough; it is an error if it does not
    #[arg(long, value_name = "SIZE")]
    pub memory_limit: Option<SizeLimit>,
    /// Leave these passes over HLO out
    #[arg(long, value_name = "-NAME", value_delimiter = ',', allow_hyphen_values = true, value_parser = passes::parser())]
    pub passes: Vec<String>,
}

/// What becomes of constants whose values a text leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ElidedConstants {
    /// They are an error
    #[default]
    Refuse,
    /// All elements are 0
    Zero,
    /// Floats from -1 to below 1, all else 0 or 1; the same in every run
    Random,
}

/// Which emitters to use, and how to reach them.
#[derive(Clone, Debug, Default, Args)]
#[command(group(ArgGroup::new(FORCED).multiple(true)))]
pub struct EmitterChoice {
    /// kind=name, kind=name@version, kind=./file.so, or ./file.so for all kinds it offers; may be repeated
    ///
    /// Its emitters are in charge of what they take of the kind; what they decline goes to the others and is counted.
    /// Instead of the kind also fusion:GLOB or fingerprint:GLOB, as `fusebox explain` prints them; knobs stand behind the
    /// name: `tiled-transpose{edge=64}`. The last choice that is about a fusion counts, those that name fusions before those that
    /// name kinds
    #[arg(long = "emitter", value_name = "SPEC", group = FORCED)]
    pub emitters: Vec<String>,
    /// Load this library; its emitters bid like the others. May be repeated
    #[arg(long, value_name = "FILE")]
    pub load: Vec<PathBuf>,
    /// It is an error if emitters chosen with --emitter decline anything of their kind; and a folder for results, of repro, bisect and
    /// ab, may hold something already: files of the same names are replaced
    #[arg(long, requires = FORCED)]
    pub force: bool,
    /// Set a knob of the emitters that --emitter puts in charge; may be repeated. Others plan as they choose themselves
    #[arg(long = "knob", value_name = "NAME=VALUE")]
    pub knobs: Vec<String>,
    /// Run every emitter in a process of its own
    #[arg(long)]
    pub isolate: bool,
    /// Memory of such a process: bytes, or 512M, 4G, none; 4G by default
    #[arg(long, value_name = "SIZE")]
    pub isolate_memory: Option<SizeLimit>,
    /// Time that such a process has for an answer; 20 by default
    #[arg(long, value_name = "SECONDS")]
    pub isolate_time: Option<NonZeroU32>,
    /// Time that a kernel may take on the cpu. Without this option, 20 for kernels of emitters that
    /// are not bundled, no limit for others
    #[arg(long, value_name = "SECONDS")]
    pub kernel_time: Option<NonZeroU32>,
    /// Go by this file instead of the fusebox.toml in the module's folder or the nearest above it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Change nothing that is kept: plugins that fusebox.lock does not pin are refused, and so is measuring what is not tuned
    #[arg(long)]
    pub locked: bool,
    /// Go by no fusebox.toml
    #[arg(long, conflicts_with = "config")]
    pub no_config: bool,
}

/// Whether to go by what `fusebox tune` has measured.
#[derive(Clone, Debug, Default, Args)]
pub struct TunedChoice {
    /// Where it is kept; by default fusebox/tuned.redb in $XDG_CACHE_HOME or ~/.cache
    #[arg(long, value_name = "FILE")]
    pub tuned: Option<PathBuf>,
    /// Do not go by it
    #[arg(long, conflicts_with = "tuned")]
    pub no_tuned: bool,
}

/// Where compiled programs are kept.
#[derive(Clone, Debug, Default, Args)]
pub struct CacheChoice {
    /// Keep what is compiled in this folder, and take from there what was compiled before; by default FUSEBOX_CACHE, if that is set.
    /// What is in it is run: trust it like a program
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// Most that is kept: bytes, or 512M, 4G, none; 2G by default. What was not used for longest goes
    #[arg(long, value_name = "SIZE")]
    pub cache_limit: Option<SizeLimit>,
    /// Keep nothing, whatever FUSEBOX_CACHE and fusebox.toml say
    #[arg(long, conflicts_with = "cache")]
    pub no_cache: bool,
}

/// `fusebox run`
#[derive(Debug, Args)]
pub struct Run {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub cache: CacheChoice,
    #[command(flatten)]
    pub progress: ProgressChoice,
    #[command(flatten)]
    pub trust: Trust,
    #[command(flatten)]
    pub inputs: InputChoice,
    /// Write the results here, as inputs are read
    #[arg(long, value_name = "OUT.npz")]
    pub outputs: Option<PathBuf>,
    /// Evaluate with the reference interpreter instead of compiling
    #[arg(long)]
    pub interpreter: bool,
    /// Compare the results with the interpreter's: it is an error if they are further apart than rounding explains
    #[arg(long, conflicts_with = "interpreter")]
    pub check: bool,
    /// Print all values
    #[arg(long)]
    pub print: bool,
}

/// `fusebox bench`
#[derive(Debug, Args)]
pub struct Bench {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub cache: CacheChoice,
    #[command(flatten)]
    pub progress: ProgressChoice,
    #[command(flatten)]
    pub inputs: InputChoice,
    /// Instead: time, bytes and share of the roof of every step, and who made it; with FILE also a trace that Perfetto opens
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
    pub common: Common,
    /// More modules, each compared by itself; a summary of all comes last, and with --json every report is a line
    #[arg(value_name = "MODULE")]
    pub more: Vec<PathBuf>,
    #[command(flatten)]
    pub inputs: InputChoice,
    /// Side A: an emitter, as --emitter takes it, or the program of another fusebox; may be repeated. Without: what fusebox
    /// chooses by itself. --emitter, --load and --knob are for both sides
    #[arg(long, value_name = "SPEC")]
    pub a: Vec<String>,
    /// Side B
    #[arg(long, value_name = "SPEC", required = true)]
    pub b: Vec<String>,
    /// Compare the fusions of these names alone (* and ? stand for others); without: those of which the sides make different
    /// kernels
    #[arg(long, value_name = "PATTERN")]
    pub fusion: Option<Pattern>,
    /// Pairs of runs; without: as many as a verdict takes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub pairs: Option<u32>,
    /// Write the report with plots and the kernels of every stage as a page into this folder: index.html; of several modules into
    /// one folder in it for each
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
    pub common: Common,
    #[command(flatten)]
    pub inputs: InputChoice,
    /// What is right: interpreter, or a file of results, as --outputs writes them
    #[arg(long, value_name = "interpreter|FILE.npz", default_value = "interpreter")]
    pub reference: PathBuf,
    /// Write a folder that alone reproduces what goes wrong
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
    pub common: Common,
    #[command(flatten)]
    pub inputs: InputChoice,
    /// The fusion, as `fusebox explain` names it
    #[arg(long, value_name = "NAME")]
    pub fusion: String,
    /// The folder
    #[arg(short, long, value_name = "DIR", group = FORCED)]
    pub output: PathBuf,
}

/// `fusebox tune`
#[derive(Debug, Args)]
pub struct Tune {
    /// HLO text (.hlo, .txt), or serialised HloModuleProtos (.pb)
    #[arg(required_unless_present = "import")]
    pub modules: Vec<PathBuf>,
    #[command(flatten)]
    pub compiling: Compiling,
    #[command(flatten)]
    pub progress: ProgressChoice,
    /// Where choices are kept; by default fusebox/tuned.redb in $XDG_CACHE_HOME or ~/.cache
    #[arg(long, value_name = "FILE")]
    pub tuned: Option<PathBuf>,
    /// Measure also what has been measured before
    #[arg(long, conflicts_with = "locked")]
    pub again: bool,
    /// Before all else take the choices of this file, which --export has written
    #[arg(long, value_name = "FILE")]
    pub import: Option<PathBuf>,
    /// At the end write the choices for these modules here, as TOML
    #[arg(long, value_name = "FILE")]
    pub export: Option<PathBuf>,
    /// Print also how far predicted times are from measured ones
    #[arg(long)]
    pub predictions: bool,
    /// Go by what each fusion takes by itself, and do not run whole programs
    #[arg(long, conflicts_with = "inputs")]
    pub fusions_alone: bool,
    #[command(flatten)]
    pub inputs: InputChoice,
}

/// `fusebox compile`
#[derive(Debug, Args)]
pub struct Compile {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub cache: CacheChoice,
    #[command(flatten)]
    pub progress: ProgressChoice,
    /// The stage to stop at
    #[arg(long, value_enum)]
    pub emit: Option<Emit>,
    /// PTX version as two or three digits, for sm_ targets
    #[arg(long, value_name = "NN")]
    pub ptx_version: Option<u32>,
    /// Where to write; standard output by default
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Stages `compile` can stop at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Emit {
    /// HLO with fusions
    Hlo,
    /// Kernels as emitters and emission wrote them
    Mlir,
    /// Kernels after the last stage of the kernel IR, before they are written as LLVM IR
    MlirLowered,
    /// LLVM IR after optimisation
    Llvm,
    /// PTX
    Ptx,
    /// Assembly
    Asm,
    /// What `run` loads
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

/// What to do with emitters; nothing: list them.
#[derive(Debug, Subcommand)]
pub enum EmittersCommand {
    /// List the emitters found
    List(EmittersList),
    /// Tell what a library says of itself, without running any of it
    Inspect(Inspect),
    /// Compare the plugins of fusebox.toml with fusebox.lock, without running any of them
    Verify(Pinned),
    /// Pin the plugins of fusebox.toml as they are, in fusebox.lock
    Lock(Pinned),
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
pub struct Pinned {
    /// Go by this file instead of the fusebox.toml in the working directory or the nearest above it
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
    /// The command; without one, the page of fusebox
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
    pub common: Common,
    /// All of the fusions of this name (* and ? stand for others): the emitter, reasons of those
    /// that decline, heroes, plan, maps
    #[arg(long, value_name = "NAME", conflicts_with_all = ["ptxas", "why", "memory", "html"])]
    pub fusion: Option<Pattern>,
    /// The same of every fusion, and what became of what emitters asked for
    #[arg(long, conflicts_with_all = ["fusion", "ptxas", "why", "memory", "html"])]
    pub all: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Instead: registers, spills, shared memory and widest accesses of each kernel, by NVIDIA's assembler, for the
    /// target, or for sm_80 and sm_90 if that is no NVIDIA GPU
    #[arg(long)]
    pub ptxas: bool,
    /// Instead: what became of the instruction of this name, and why it is in the fusions it is in, or in none
    #[arg(long, value_name = "INSTR", conflicts_with = "ptxas")]
    pub why: Option<String>,
    /// Run the program, and show what kernels take beside what was predicted
    #[arg(long, conflicts_with_all = ["ptxas", "why"])]
    pub measure: bool,
    /// Instead: what memory is needed for, in bytes, and who is alive at the peak
    #[arg(long, conflicts_with_all = ["ptxas", "why", "measure"])]
    pub memory: bool,
    /// Write a page with a graph of the program, in which every fusion opens
    #[arg(long, value_name = "FILE", conflicts_with_all = ["ptxas", "why", "memory", "json"])]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub inputs: InputChoice,
}

/// `fusebox indexing`
#[derive(Debug, Args)]
pub struct Indexing {
    /// HLO text (.hlo, .txt), a serialised HloModuleProto (.pb), or - for text on standard input
    pub module: PathBuf,
    /// Largest module that is read: bytes, or 512M, 4G, none
    #[arg(long, value_name = "SIZE", default_value_t)]
    pub file_limit: SizeLimit,
    /// From inputs to outputs instead of from outputs to inputs
    #[arg(long)]
    pub inverse: bool,
    /// Write what every phase made to numbered files in this folder
    #[arg(long, value_name = "DIR")]
    pub dump_to: Option<PathBuf>,
}

/// `fusebox lower`
#[derive(Debug, Args)]
pub struct Lower {
    /// Functions of a kernel as MLIR text: from a dump, or written by hand in any form MLIR reads; - for standard input
    pub kernel: PathBuf,
    /// The kernel to take of a text that holds several
    #[arg(long = "kernel", value_name = "NAME")]
    pub kernel_name: Option<String>,
    /// The stage that the text is at
    #[arg(long, value_name = "STAGE", default_value = "kernel")]
    pub from: String,
    /// The stage to stop at: kernel, inlined, memory, loops, indices, scalars, llvm-unoptimized, llvm or asm
    #[arg(long, value_name = "STAGE", default_value = "scalars")]
    pub to: String,
    /// cpu, simt, sm_80, sm_90, gfx942, …
    #[arg(long, default_value = "cpu")]
    pub target: String,
    /// Largest text that is read: bytes, or 512M, 4G, none
    #[arg(long, value_name = "SIZE", default_value_t)]
    pub file_limit: SizeLimit,
}

/// What `--isolate` starts.
#[derive(Debug, Args)]
pub struct ServeEmitter {
    /// The library
    pub library: PathBuf,
    /// The file with its bytes
    #[arg(long)]
    pub content: PathBuf,
    /// Bytes of memory it may take
    #[arg(long)]
    pub memory: Option<u64>,
}
