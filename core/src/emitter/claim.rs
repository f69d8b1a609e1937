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
    /// compute several heroes if their forms are equal and their emitters have the same kind.
    /// Examples are reductions over the same dimensions, and transposes with the same permutation.
    /// The form is empty if a kernel can compute only one hero.
    pub form: String,
    /// Extra cost, in [additions](crate::cost), if the kernel of another hero computes this
    /// operation. That kernel computes single elements of the operation where it needs them. The
    /// cost is infinite if no other kernel can compute the elements.
    pub lost_inside: f64,
    /// Extra cost, in additions, if the kernel of another hero computes this operation because one
    /// epilogue uses both operations. The kernel then computes the elements of this operation in
    /// the order of the other hero.
    pub lost_beside: f64,
    /// The kernel's pass over the elements of its operands, if the kernel makes exactly one pass.
    /// In this pass, the kernel can also write other results that have the same indices.
    pub pass: Option<Pass>,
    /// Number of leading operands that are initial values of the results. Each of these operands
    /// becomes a kernel parameter that no other instruction of the kernel reads. Only a root can
    /// therefore have initial values.
    pub starts_from: usize,
    /// Number of leading operands whose buffers the results may reuse if the operation is the root.
    /// These operands remain in buffers; the kernel does not compute them.
    pub updates: usize,
    /// For each operand, the number of elements that the kernel reads per element of the result. If
    /// this list is empty, the host derives the numbers from the operation's indexing maps.
    /// Indexing maps exist for all operations whose elements can be computed one by one.
    pub reads: Vec<f64>,
    /// For each operand, the order of its dimensions in which the kernel reads the operand faster:
    /// dimension n of the array in this order is dimension `order[n]` of the operand. An empty
    /// order means that the operand is read well as it is. The host transposes an operand only if
    /// it can do so once for many runs of the kernel, for example before a loop. If this list is
    /// empty, no operand has a better order.
    pub orders: Vec<Vec<i64>>,
    /// The parts into which the emitter wants a reduction to be divided. `None` if the emitter
    /// wants to compute the reduction in one step. Only reductions are divided.
    pub parts: Option<Parts>,
    /// Whether emitters compute an expensive producer of the operands, such as a product, only as
    /// often as [`Claim::reads`] states. If false, the host assumes that a kernel computes such a
    /// producer again at each read of the indexing maps.
    pub keeps_producers: bool,
    /// Whether a product is faster as a multiplication and a sum. The host rewrites a product of a
    /// row and a matrix to this form.
    pub as_sum: bool,
}

/// Position of a hero in its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum HeroPlace {
    /// The hero may have an epilogue of elementwise operations.
    #[default]
    BeforeEpilogue,
    /// The hero must be the root of the kernel. In any other position, the operation is not a hero.
    Root,
    /// The operation is not a hero. The emitter only states in which form passes should leave the
    /// operation: [`Claim::orders`], [`Claim::parts`] and [`Claim::as_sum`].
    Nowhere,
}

/// The division of a reduction into two steps. The first step reduces several parts of each
/// result's elements, and the second step reduces the results of the parts. The host divides a
/// reduction if the parts are so long that the division saves more time than the second kernel
/// takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    /// Number of parts of each result's elements with which the first step uses the whole device.
    /// The host may choose a smaller number, or a number that divides a dimension. The number is 1
    /// if the results alone use the whole device.
    pub count: i64,
    /// Number of results whose elements the kernel reduces together, for example the number of
    /// columns that one core reads. A part of each of these results is one piece of work.
    pub together: i64,
    /// Arithmetic per element, in [bytes](crate::cost::arithmetic_bytes), that takes as long as the
    /// kernel takes to read and reduce the element. With more arithmetic, shorter parts pay off.
    /// The number is infinite if arithmetic never takes longer.
    pub arithmetic: f64,
    /// Reduced dimensions, in ascending order, that only the second step should reduce, even if the
    /// host does not divide the other dimensions.
    pub second: Vec<i64>,
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
