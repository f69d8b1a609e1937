//! LLVM's passes.
//!
//! For this machine, the pipeline has the passes of `default<O3>` that improve loops over elements,
//! in the same order.
//!
//! * The pipeline omits passes for features that kernels do not use (coroutines, exceptions,
//!   certain calls).
//! * The pipeline omits the vectorisation of straight-line code (`slp-vectorizer`), because its
//!   time grows with the square of an expression's depth.
//! * The pipeline omits unrolling by LLVM's own heuristics, because the vectoriser interleaves
//!   anyway, and earlier stages unroll short loops.
//! * The pipeline omits non-trivial loop unswitching and canonical loop variables (`indvars`),
//!   because earlier stages split loops and write loop variables that advance by one. The time of
//!   loop unswitching and of `indvars` grows fast with the depth of a loop nest.
//! * The pipeline omits passes that changed nothing in tests (`bdce`, `adce`, `loop-load-elim`,
//!   `loop-sink`).
//!
//! The second half of the pipeline vectorises loops and cleans up. If a function's innermost loops
//! compute with vectors already, as in matrix products, a few passes replace the second half of the
//! pipeline. These few passes produce the same code as the second half, and take a tenth of its
//! time. If each function of a module has such an innermost loop, the first half is shorter too:
//! so the products and convolutions of `benches/small` compile in 0.9 of the time, and run as fast.
//! If all innermost loops of the module compute with vectors, no pass looks for loops that fill or
//! copy memory: lowering writes these loops as single operations.
//!
//! For GPUs, lowering runs LLVM's own pipeline, into which LLVM's back ends for GPUs insert passes.

/// Cleans up blocks after inlining and after passes that leave superfluous blocks.
const BLOCKS: &str =
    "simplifycfg<bonus-inst-threshold=1;switch-range-to-icmp;keep-loops;speculate-blocks;simplify-cond-branch>";
/// Like `BLOCKS`, for loops in their final form. Also merges operations that both sides of a branch
/// contain.
const LATE_BLOCKS: &str = "simplifycfg<bonus-inst-threshold=1;switch-range-to-icmp;no-keep-loops;hoist-common-insts;\
sink-common-insts;speculate-blocks;simplify-cond-branch>";
/// Fully unrolls loops of at most four iterations, counted after vectorisation. The options of
/// `loop-unroll` exclude all longer loops. Metadata that disables the unrolling of a loop would
/// also keep the vectoriser from interleaving the loop. In a loop that is not interleaved, each
/// addition of a sum waits for the preceding addition.
const SHORT_LOOPS: &str = "loop-unroll<O3;full-unroll-max=4;no-partial;no-peeling;no-profile-peeling;no-runtime;\
no-upperbound>";
/// Replaces loops that copy or fill memory by single operations.
const SCALAR_LOOPS: &str = "loop(loop-idiom,loop-deletion)";
const COMBINE: &str = "instcombine<max-iterations=1;no-verify-fixpoint>";

/// Pipeline for functions whose innermost loops all compute with vectors already. The pipeline
/// consists of the passes after vectorisation that may still find work.
const VECTORISED: &str = "vector-combine,infer-alignment,div-rem-pairs,\
simplifycfg<bonus-inst-threshold=1;switch-range-to-icmp;keep-loops;speculate-blocks;simplify-cond-branch>";

/// Pipeline for the vector versions of math functions, which have no loops of their own.
pub(crate) const STRAIGHT: &str = "early-cse,instcombine<max-iterations=1;no-verify-fixpoint>";

/// Passes over a module, in LLVM's notation.
#[derive(Clone, Debug)]
pub(crate) struct Passes {
    /// Passes over the whole module.
    pub(crate) first: String,
    /// Passes over each function.
    pub(crate) of_functions: Option<FunctionPasses>,
    /// Passes over the whole module, after all others.
    pub(crate) last: Option<String>,
}

/// Passes over a function, in two halves. The function's loops decide which pipeline runs in each
/// half.
#[derive(Clone, Debug)]
pub(crate) struct FunctionPasses {
    /// First half, unless `around_vectors` runs.
    pub(crate) scalar: String,
    /// First half, if some innermost loops of each function of the module compute with vectors.
    pub(crate) around_vectors: String,
    /// First half, if all innermost loops of the module compute with vectors.
    pub(crate) between_vectors: String,
    /// Second half, if LLVM may vectorise a loop: vectorisation and the passes that clean up after
    /// it.
    pub(crate) vectorising: String,
    /// Second half, if all innermost loops compute with vectors already.
    pub(crate) vectorised: String,
}

impl Passes {
    /// Creates a pipeline of passes over whole modules.
    pub(crate) fn of_modules(passes: &str) -> Passes {
        Passes { first: passes.into(), of_functions: None, last: None }
    }
}

/// Returns the pipeline for this machine's processor.
pub(crate) fn on_host() -> Passes {
    Passes {
        first: "always-inline,cgscc(inline)".into(),
        of_functions: Some(FunctionPasses {
            scalar: scalar(),
            around_vectors: around_vectors(SCALAR_LOOPS),
            between_vectors: around_vectors(""),
            vectorising: vectorising(),
            vectorised: VECTORISED.into(),
        }),
        // `globaldce` runs last, because the declarations of vector functions have no uses before
        // the vectoriser runs.
        last: Some("globaldce,constmerge".into()),
    }
}

/// Returns the passes before vectorisation.
fn scalar() -> String {
    [
        // Merges equal scalar values, because earlier stages write some values once per use.
        "sroa<modify-cfg>,early-cse<memssa>,correlated-propagation",
        BLOCKS,
        COMBINE,
        "reassociate",
        // Loops of one iteration are removed before `licm` hoists conditional operations out of
        // them. All loops are rotated before the first is deleted, because each rotation makes LLVM
        // forget its analysis of the loops around it.
        "loop(loop-rotate<header-duplication>),loop(loop-deletion)",
        // Brings loops into the form that the vectoriser needs.
        "loop-mssa(loop-instsimplify,loop-simplifycfg,licm<allowspeculation>,loop-rotate<header-duplication>,\
         licm<allowspeculation>,simple-loop-unswitch<trivial>)",
        BLOCKS,
        COMBINE,
        SCALAR_LOOPS,
        // Removes repeated reads, reads of values just written, and writes that no operation reads.
        "sroa<modify-cfg>,gvn<>",
        COMBINE,
        "memcpyopt,dse,loop-mssa(licm<allowspeculation>)",
        LATE_BLOCKS,
        COMBINE,
    ]
    .join(",")
}

/// Returns the passes before vectorisation for functions whose emitter has vectorised loops. The
/// passes are those of [`scalar`] that simplify the computation of addresses, and `on_loops`.
fn around_vectors(on_loops: &str) -> String {
    let passes = [
        "sroa<modify-cfg>,early-cse<memssa>,correlated-propagation",
        BLOCKS,
        COMBINE,
        "reassociate",
        "loop(loop-rotate<header-duplication>)",
        "loop-mssa(loop-instsimplify,loop-simplifycfg,licm<allowspeculation>,simple-loop-unswitch<trivial>)",
        on_loops,
        "gvn<>",
        COMBINE,
        "dse",
        LATE_BLOCKS,
    ];
    passes.into_iter().filter(|passes| !passes.is_empty()).collect::<Vec<_>>().join(",")
}

/// Returns the passes for functions that may have loops to vectorise.
fn vectorising() -> String {
    [
        // Unrolls and jams the loops that have a hint (`hints::jam`), then vectorises loops.
        "loop(loop-rotate<header-duplication>,loop-deletion),loop(loop-unroll-and-jam),loop-vectorize,infer-alignment",
        // Unrolls loops over the lanes of a tile of accumulators. The accumulators then need no
        // memory.
        SHORT_LOOPS,
        COMBINE,
        LATE_BLOCKS,
        "vector-combine",
        "sroa<preserve-cfg>,infer-alignment",
        COMBINE,
        "loop-mssa(licm<allowspeculation>),instsimplify,div-rem-pairs",
        BLOCKS,
    ]
    .join(",")
}
