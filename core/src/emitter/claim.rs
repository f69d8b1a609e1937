//! What an emitter wants where one of its operations is the *hero* of a kernel: the operation whose iteration space the
//! kernel takes.

/// An operation that a kernel may be made for, as the emitter that would write the kernel sees it. The host makes its
/// kernels of these answers and the [cost model](crate::cost): it knows no operation by name.
///
/// The default is an operation with nothing to ask for: where it is computed costs the same.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Claim {
    /// Where the operation stands in the kernel.
    pub place: HeroPlace,
    /// What the kernel goes through, in words of the emitter's own. One kernel can serve heroes of equal form, if the
    /// emitters are of one kind: reductions of the same dimensions, transposes that move alike. Empty: a kernel serves only
    /// one such hero.
    pub form: String,
    /// [Additions](crate::cost) lost if another's kernel computes all of its elements one by one, each where it is needed.
    /// Infinite: no other kernel can.
    pub lost_inside: f64,
    /// Additions lost if its elements are computed in the order of another hero, which it stands beside in an epilogue.
    pub lost_beside: f64,
    /// Present if the kernel goes once over elements that other results can be written at.
    pub pass: Option<Pass>,
    /// Leading operands whose values the results start from. Each becomes a parameter of the kernel that nothing else
    /// reads, so only a root can have them.
    pub starts_from: usize,
    /// Leading operands whose buffers the results may take over if the operation is the root: they stay in buffers, and
    /// are not computed in the kernel.
    pub updates: usize,
    /// For each operand, how many of its elements are read per element of the result. Empty: as indexing maps say, which
    /// there are of all operations whose elements can be computed one by one.
    pub reads: Vec<f64>,
}

/// Where a hero stands in its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum HeroPlace {
    /// Operations that work element by element may follow.
    #[default]
    BeforeEpilogue,
    /// It is the root. Elsewhere it is like any other operation, and no hero.
    Root,
}

/// One pass of a kernel over the elements of some operands. What has a result for each of these elements, or another hero of
/// equal form, can be computed on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Dimensions of the elements.
    pub dims: Vec<i64>,
    /// Leading operands that are read there, each at the element's own index.
    pub operands: usize,
}
