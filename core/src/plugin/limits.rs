//! The most that a plugin may answer, and that a kernel may ask of lowering.
//!
//! Whatever a plugin says is measured against these before anything recurses over it, allocates for it or takes time for
//! it. Each is far above what any honest emitter needs (the largest met in the corpus is given where it was measured),
//! and small enough that an answer at all of its limits costs seconds and less than a gigabyte or two, not the host.

/// Bytes of an answer to describe, consider and plan. A plan of the corpus has up to 5 thousand.
pub const MOST_ANSWER_BYTES: usize = 4 << 20;
/// Bytes of an answer with a kernel. Its text has subgraph functions called, not written out: up to 300 thousand in the corpus.
/// A message of the smallest parts takes forty times its size when it is read.
pub const MOST_KERNEL_BYTES: usize = 32 << 20;

/// Emitters of one library.
pub const MOST_EMITTERS: usize = 256;
/// Bytes of an emitter's kind, name or version: they are in every message about it.
pub const MOST_NAME_BYTES: usize = 128;
/// Bytes of a reason, a remark or a panic's message, which are shown to the user.
pub const MOST_MESSAGE_BYTES: usize = 16 << 10;

/// Remarks of a plan.
pub const MOST_NOTES: usize = 256;
/// Alternatives of a plan: each is one more kernel to measure.
pub const MOST_ALTERNATIVES: usize = 4096;
/// Knobs of a configuration.
pub const MOST_KNOBS: usize = 256;
/// Maps of one output: parts that share its elements. More are not checked against each other in reasonable time.
pub const MOST_MAPS: usize = 1024;
/// Visits of a plan: each is walked through when its time is predicted. Up to 60 in the corpus.
pub const MOST_VISITS: usize = 1024;
/// Instructions that all visits of a plan name, each counted in every one.
pub const MOST_VISITED_INSTRUCTIONS: usize = 1 << 16;
/// Variables of an indexing map. A tensor has few dimensions, and a kernel few loops for each.
pub const MOST_VARIABLES: usize = 256;
/// Constraints of an indexing map: each is simplified under all others.
pub const MOST_CONSTRAINTS: usize = 256;
/// Nodes of the expressions of one indexing map.
pub const MOST_MAP_NODES: usize = 10_000;
/// The same of all maps of a plan: simplifying takes about a microsecond for each.
pub const MOST_PLAN_NODES: usize = 1 << 20;
/// Depth of an expression: all that is done with one recurses over it.
pub use crate::indexing::MAX_DEPTH as MOST_EXPRESSION_DEPTH;
/// Bytes of the form of a claim: a few dimensions, written out.
pub const MOST_FORM_BYTES: usize = 4 << 10;
/// Elements times nodes of the map that says where they go, where a map has to be tried point by point.
pub const MOST_EVALUATIONS: u64 = 1 << 31;

/// Functions that a kernel calls.
pub const MOST_CALLS: usize = 1 << 16;
/// Instructions of all functions that a kernel calls, each counted in every function it is part of.
pub const MOST_CALLED_INSTRUCTIONS: usize = 1 << 22;
/// Bytes of a function's name after the kernel's own.
pub const MOST_SYMBOL_BYTES: usize = 256;

/// Bytes of a kernel's text with its subgraph functions, which name all parameters each: 400 of either make 14 million.
pub const MOST_TEXT_BYTES: usize = 1 << 30;
/// Operations of a kernel's text. Each takes some 200 bytes, and more than that in LLVM.
pub const MOST_OPERATIONS: usize = 4 << 20;
/// Regions within regions: whatever reads, checks, rewrites or prints them recurses over them, on threads with stacks of
/// 2 MiB. Loops in loops are about as many as a tensor has dimensions.
pub const MOST_NESTED_REGIONS: usize = 64;
/// Brackets within brackets in types and attributes: a dense constant has one for each dimension.
pub const MOST_NESTED_BRACKETS: usize = 64;
/// Attributes of an operation, each of which is compared with all others.
pub const MOST_ATTRIBUTES: usize = 256;
/// Characters of a number.
pub const MOST_DIGITS: usize = 64;
/// Results of an operation.
pub const MOST_RESULTS: u32 = 1 << 16;
/// Tokens of one affine map. Those of vector transfers have about as many as the tensor has dimensions.
pub const MOST_AFFINE_TOKENS: usize = 256;
/// Bits of an integer: products and complex numbers of the widest types have as many.
pub const MOST_BITS: u32 = 128;
/// Lanes of a vector: LLVM takes longer ones apart into registers, one instruction for each.
pub const MOST_LANES: u64 = 1024;
/// Dimensions of a tensor.
pub const MOST_DIMENSIONS: usize = 64;
/// Operations of a kernel after loops are unrolled and subgraph functions are put where they are called.
pub const MOST_WRITTEN: u64 = 8 << 20;
/// Copies of a loop's body that unrolling writes, loops around it counted in. The time of LLVM's
/// passes over straight-line address arithmetic grows with the square of the copies: a thousand
/// for an NVIDIA GPU take 12 s.
pub const MOST_COPIES: u64 = 512;
/// Bytes that the tensors of a thread's own take. They are on its stack, of 2 MiB on the cpu.
pub const MOST_STACK_BYTES: u64 = 1 << 20;
/// The same in the simulator, whose threads are coroutines with stacks of 256 KiB.
pub const MOST_SIMULATED_STACK_BYTES: u64 = 128 << 10;
