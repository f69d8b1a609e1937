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
    /// compute several heroes if their forms are equal and their emitters have the same kind. For
    /// example, one kernel can compute several reductions over the same dimensions, or several
    /// transposes with the same permutation. The form is empty if a kernel can compute only one
    /// hero.
    pub form: String,
    /// Extra cost, in [additions](crate::cost), if the kernel of another hero computes this
    /// operation. The kernel of the other hero computes single elements of this operation at the
    /// points where it needs them. The cost is infinite if no kernel of another hero can compute
    /// these elements.
    pub lost_inside: f64,
    /// Extra cost, in additions, if one epilogue uses both this operation and another hero, so that
    /// the kernel of the other hero computes this operation. That kernel computes the elements of
    /// this operation in the order of the other hero.
    pub lost_beside: f64,
    /// The kernel's pass over the elements of its operands, if the kernel makes exactly one pass.
    /// During this pass over its operands, the kernel can also write other results that have the
    /// same indices as the operands.
    pub pass: Option<Pass>,
    /// Number of leading operands that are initial values of the results. Each operand that is an
    /// initial value becomes a kernel parameter that no other instruction of the kernel reads.
    /// Therefore only the root of a kernel can have operands that are initial values.
    pub starts_from: usize,
    /// Number of leading operands whose buffers the results may reuse if the operation is the root.
    /// An operand whose buffer may be reused remains in its buffer; the kernel does not compute
    /// this operand.
    pub updates: usize,
    /// For each operand, the number of elements that the kernel reads per element of the result. If
    /// this list is empty, the host derives these numbers of elements from the operation's indexing
    /// maps. Indexing maps exist for all operations whose elements can be computed one by one.
    pub reads: Vec<f64>,
    /// For each operand, a dimension order in which the kernel reads the operand faster than in the
    /// operand's own order. Dimension n of an array in dimension order `order` is dimension
    /// `order[n]` of the operand. An empty order means that the kernel already reads the operand
    /// well in the operand's own order. The host transposes an operand only if one transpose serves
    /// many runs of the kernel, for example before a loop. If the list of orders is empty, the
    /// kernel reads no operand faster in another order.
    pub orders: Vec<Vec<i64>>,
    /// The parts into which the emitter wants the host to divide a reduction. `None` if the emitter
    /// wants to compute the reduction in one step. The host divides only reductions.
    pub parts: Option<Parts>,
    /// Whether emitters compute an expensive producer of the operands, such as a product, only as
    /// often as [`Claim::reads`] states. If this field is false, the host assumes that a kernel
    /// computes an expensive producer again at each read that the indexing maps state.
    pub keeps_producers: bool,
    /// Whether the kernel of a product is slower than a kernel that multiplies elementwise and
    /// sums. If so, the host rewrites a product of a row and a matrix as a multiplication and a
    /// sum.
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
    /// The operation is not a hero. The emitter only states how passes should rewrite the
    /// operation: [`Claim::orders`], [`Claim::parts`] and [`Claim::as_sum`].
    Nowhere,
}

/// The division of a reduction into two steps. For each result of the reduction, the first step
/// reduces several parts of the elements separately, and the second step reduces the results of
/// these parts. The host divides a reduction if the parts are so long that the division saves more
/// time than the second kernel takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    /// Number of parts per result that the first step needs to use the whole device. The host may
    /// choose a smaller number of parts, or a number of parts that divides the size of a dimension.
    /// The number of parts is 1 if the reduction has enough results to use the whole device without
    /// a division.
    pub count: i64,
    /// Number of results whose elements the kernel reduces together, for example the number of
    /// columns that one core reads. For each of these results, one piece of work reduces one part
    /// of the result's elements.
    pub together: i64,
    /// Amount of arithmetic per element, in [bytes](crate::cost::arithmetic_bytes), that takes as
    /// long as the kernel takes to read and reduce the element. With more arithmetic per element
    /// than this amount, shorter parts pay off. The amount is infinite if arithmetic never takes
    /// longer than reading and reducing the element.
    pub arithmetic: f64,
    /// Reduced dimensions, in ascending order, that only the second step should reduce, even if the
    /// host does not divide the other dimensions.
    pub second: Vec<i64>,
}

/// One pass of a kernel over the elements of some operands. During the pass, the kernel can also
/// compute two other kinds of values: heroes with equal forms, and results that have one element
/// per visited element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Dimensions of the array of visited elements.
    pub dims: Vec<i64>,
    /// Number of leading operands that the pass reads, each at the index of the visited element.
    pub operands: usize,
}
