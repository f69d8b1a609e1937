//! The demands of an emitter on a kernel whose *hero* is one of its operations. The kernel takes
//! the hero's iteration space.

/// The demands of an emitter on the kernel of one operation. The host builds its fusions from these
/// answers and the [cost model](crate::cost). It knows no operation by name.
///
/// The default describes an operation without demands: its cost is the same in every kernel.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Claim {
    /// Position of the operation in the kernel.
    pub place: HeroPlace,
    /// Description of the kernel's iteration space, in the emitter's own notation. One kernel can
    /// serve several heroes of equal form if their emitters are of one kind, for example reductions
    /// of the same dimensions or transposes with the same permutation. Empty if a kernel can serve
    /// only one hero.
    pub form: String,
    /// [Additions](crate::cost) lost if another hero's kernel computes single elements of this
    /// operation where it needs them. Infinite if no other kernel can compute them.
    pub lost_inside: f64,
    /// Additions lost if the kernel of another hero computes the elements in that hero's order,
    /// because one epilogue uses both.
    pub lost_beside: f64,
    /// Set if the kernel passes once over elements, so that it can write other results with the
    /// same indices.
    pub pass: Option<Pass>,
    /// Number of leading operands that are initial values of the results. Each becomes a kernel
    /// parameter with no other reader, so only a root can have them.
    pub starts_from: usize,
    /// Number of leading operands whose buffers the results may reuse if the operation is the root.
    /// These operands remain in buffers; the kernel does not compute them.
    pub updates: usize,
    /// For each operand, the elements read per element of the result. If empty, the indexing maps
    /// decide. Indexing maps exist for all operations whose elements can be computed one by one.
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

/// One pass of a kernel over the elements of some operands. On this pass the kernel can also
/// compute other results with one element per visited element, and other heroes of equal form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Dimensions of the elements.
    pub dims: Vec<i64>,
    /// Number of leading operands that the pass reads, each at the element's own index.
    pub operands: usize,
}
