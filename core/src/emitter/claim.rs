//! The demands that an emitter makes on a kernel whose *hero* is one of the emitter's operations.
//! The hero determines the iteration space of the kernel.

/// The demands that an emitter makes on the kernel of one operation. The host builds fusions from
/// the claims of all emitters and the [cost model](crate::cost). The host itself has no rules for
/// individual operations.
///
/// The default claim makes no demands: the operation costs the same in every kernel.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Claim {
    /// Position of the operation in the kernel.
    pub place: HeroPlace,
    /// Description of the kernel's iteration space, in the emitter's own notation. One kernel can
    /// compute several heroes with equal forms if their emitters are of one kind, for example
    /// reductions of the same dimensions or transposes with the same permutation. The form is empty
    /// if a kernel can compute only one hero.
    pub form: String,
    /// Extra cost, in [additions](crate::cost), if the kernel of another hero computes single
    /// elements of this operation where it needs them. Infinite if no other kernel can compute the
    /// elements.
    pub lost_inside: f64,
    /// Extra cost, in additions, if the kernel of another hero computes the elements of this
    /// operation in that hero's order, because one epilogue uses both operations.
    pub lost_beside: f64,
    /// Set if the kernel makes one pass over the elements of its operands. The kernel can then also
    /// write other results with the same indices.
    pub pass: Option<Pass>,
    /// Number of leading operands that are initial values of the results. Each of these operands
    /// becomes a kernel parameter that no other instruction reads. Only a root can therefore have
    /// initial values.
    pub starts_from: usize,
    /// Number of leading operands whose buffers the results may reuse if the operation is the root.
    /// These operands remain in buffers; the kernel does not compute them.
    pub updates: usize,
    /// For each operand, the number of elements that the kernel reads per element of the result. If
    /// this list is empty, the host derives the numbers from the operation's indexing maps.
    /// Indexing maps exist for all operations whose elements can be computed one by one.
    pub reads: Vec<f64>,
}

/// Position of a hero in its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum HeroPlace {
    /// The hero may have an epilogue of elementwise operations.
    #[default]
    BeforeEpilogue,
    /// The hero is the root. In any other position the operation is not a hero.
    Root,
}

/// One pass of a kernel over the elements of some operands. During the pass, the kernel can also
/// compute other heroes with equal forms, and other results that have one element per visited
/// element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Dimensions of the array of visited elements.
    pub dims: Vec<i64>,
    /// Number of leading operands that the pass reads, each at the index of the visited element.
    pub operands: usize,
}
