//! LLVM's passes.
//!
//! For this machine, the part of `default<O3>` that loops over elements profit from, in its order. Left out is what
//! has no object here (coroutines, exceptions, calls that are never made), packing of straight-line code
//! (`slp-vectorizer`), whose time grows with the square of an expression's depth, unrolling at LLVM's own
//! discretion: the vectoriser interleaves by itself, and short loops are written turn by turn before; copies of a loop for
//! each outcome of conditions that it does not change, and canonical loop variables (`indvars`): the stages before have split
//! loops and written variables that count in steps of one, and both take time that grows fast with the depth of a nest; and
//! passes that were seen to change nothing (`bdce`, `adce`, `loop-load-elim`, `loop-sink`). GPUs take LLVM's own pipeline,
//! into which their back ends insert passes.

/// After inlining, and between the steps that leave blocks behind.
const BLOCKS: &str =
    "simplifycfg<bonus-inst-threshold=1;switch-range-to-icmp;keep-loops;speculate-blocks;simplify-cond-branch>";
/// As above, when loops have their final form: also merges what both branches do.
const LATE_BLOCKS: &str = "simplifycfg<bonus-inst-threshold=1;switch-range-to-icmp;no-keep-loops;hoist-common-insts;\
sink-common-insts;speculate-blocks;simplify-cond-branch>";
/// Unrolls what takes four turns at most, vectors by then. Loops that must not be unrolled are not marked here but left
/// alone: the vectoriser takes such a mark to forbid interleaving, without which a sum waits for each addition.
const SHORT_LOOPS: &str = "loop-unroll<O3;full-unroll-max=4;no-partial;no-peeling;no-profile-peeling;no-runtime;\
no-upperbound>";
const COMBINE: &str = "instcombine<max-iterations=1;no-verify-fixpoint>";

/// For functions of vectors without loops.
pub(crate) const STRAIGHT: &str = "early-cse,instcombine<max-iterations=1;no-verify-fixpoint>";

/// The pipeline for the processor this runs on, in LLVM's notation.
pub(crate) fn on_host() -> String {
    // Declarations that only the vectoriser asks for have no use before.
    format!("always-inline,cgscc(inline),function({}),globaldce,constmerge", host())
}

fn host() -> String {
    [
        // Scalars: what was written once per use becomes one value.
        "sroa<modify-cfg>,early-cse<memssa>,correlated-propagation",
        BLOCKS,
        COMBINE,
        "reassociate",
        // Loops of one turn are none before what they compute on a condition is hoisted out of them.
        "loop(loop-rotate<header-duplication>,loop-deletion)",
        // Loops into the form that the vectoriser wants.
        "loop-mssa(loop-instsimplify,loop-simplifycfg,licm<allowspeculation>,loop-rotate<header-duplication>,\
         licm<allowspeculation>,simple-loop-unswitch<trivial>)",
        BLOCKS,
        COMBINE,
        "loop(loop-idiom,loop-deletion)",
        // Memory: what is read twice, written and read again, or never read.
        "sroa<modify-cfg>,gvn<>",
        COMBINE,
        "memcpyopt,dse,loop-mssa(licm<allowspeculation>)",
        LATE_BLOCKS,
        COMBINE,
        // Vectors.
        "loop(loop-rotate<header-duplication>,loop-deletion),loop-vectorize,infer-alignment",
        // Loops over the lanes of a tile of accumulators, which then need no memory.
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
