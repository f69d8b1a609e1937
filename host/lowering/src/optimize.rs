//! LLVM's passes.
//!
//! For this machine, the pipeline has the passes of `default<O3>` that improve loops over elements,
//! in the same order. The pipeline omits:
//!
//! * passes for features that kernels do not use (coroutines, exceptions, certain calls),
//! * vectorisation of straight-line code (`slp-vectorizer`), because its time grows with the square
//!   of an expression's depth,
//! * unrolling by LLVM's own heuristics: the vectoriser interleaves anyway, and earlier stages
//!   unroll short loops,
//! * loop unswitching, except for trivial cases, and canonical loop variables (`indvars`). Earlier
//!   stages split loops and write loop variables that advance by one. The time of both passes grows
//!   fast with the depth of a loop nest,
//! * passes that changed nothing in tests (`bdce`, `adce`, `loop-load-elim`, `loop-sink`).
//!
//! GPUs use LLVM's own pipeline, into which their back ends insert passes.

/// Cleans up blocks after inlining and after passes that leave superfluous blocks.
const BLOCKS: &str =
    "simplifycfg<bonus-inst-threshold=1;switch-range-to-icmp;keep-loops;speculate-blocks;simplify-cond-branch>";
/// Like `BLOCKS`, for loops in their final form. Also merges operations that both branches contain.
const LATE_BLOCKS: &str = "simplifycfg<bonus-inst-threshold=1;switch-range-to-icmp;no-keep-loops;hoist-common-insts;\
sink-common-insts;speculate-blocks;simplify-cond-branch>";
/// Fully unrolls loops of at most four iterations, counted after vectorisation. These options, and
/// not metadata that disables unrolling, exclude all longer loops. With this metadata, the
/// vectoriser would not interleave a loop. Without interleaving, each addition of a sum waits for
/// the preceding addition.
const SHORT_LOOPS: &str = "loop-unroll<O3;full-unroll-max=4;no-partial;no-peeling;no-profile-peeling;no-runtime;\
no-upperbound>";
const COMBINE: &str = "instcombine<max-iterations=1;no-verify-fixpoint>";

/// Pipeline for the vector versions of math functions, which have no loops.
pub(crate) const STRAIGHT: &str = "early-cse,instcombine<max-iterations=1;no-verify-fixpoint>";

/// Returns the pipeline for this machine's processor in LLVM's notation.
pub(crate) fn on_host() -> String {
    // `globaldce` runs last, because the declarations of vector functions have no uses before the
    // vectoriser runs.
    format!("always-inline,cgscc(inline),function({}),globaldce,constmerge", host())
}

fn host() -> String {
    [
        // Merges equal scalar values, because earlier stages write some values once per use.
        "sroa<modify-cfg>,early-cse<memssa>,correlated-propagation",
        BLOCKS,
        COMBINE,
        "reassociate",
        // Loops of one iteration are removed before `licm` hoists conditional operations out of
        // them.
        "loop(loop-rotate<header-duplication>,loop-deletion)",
        // Brings loops into the form that the vectoriser needs.
        "loop-mssa(loop-instsimplify,loop-simplifycfg,licm<allowspeculation>,loop-rotate<header-duplication>,\
         licm<allowspeculation>,simple-loop-unswitch<trivial>)",
        BLOCKS,
        COMBINE,
        "loop(loop-idiom,loop-deletion)",
        // Removes repeated reads, reads of values just written, and writes that no operation reads.
        "sroa<modify-cfg>,gvn<>",
        COMBINE,
        "memcpyopt,dse,loop-mssa(licm<allowspeculation>)",
        LATE_BLOCKS,
        COMBINE,
        // Vectorises loops.
        "loop(loop-rotate<header-duplication>,loop-deletion),loop-vectorize,infer-alignment",
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
