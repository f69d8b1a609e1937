//! Limits of a plugin's answers and of the kernels that lowering accepts.
//!
//! The host checks every answer of a plugin against these limits before it recurses over it,
//! allocates for it or spends time on it. Each limit is far above the needs of any honest emitter;
//! comments give the largest value measured in the corpus. Each is small enough that an answer at
//! all limits costs seconds and at most a gigabyte or two, and does not bring down the host.

/// Bytes of an answer to describe, consider and plan. Plans in the corpus have up to 5 thousand.
pub const MOST_ANSWER_BYTES: usize = 4 << 20;
/// Bytes of an answer with a kernel. Its text contains calls of subgraph functions but not their
/// bodies: up to 300 thousand in the corpus. A message of the smallest parts takes forty times its
/// size when decoded.
pub const MOST_KERNEL_BYTES: usize = 32 << 20;

/// Emitters of one library.
pub const MOST_EMITTERS: usize = 256;
/// Bytes of an emitter's kind, name or version. Every message about the emitter contains them.
pub const MOST_NAME_BYTES: usize = 128;
/// Bytes of a reason, a remark or a panic's message. The user sees these.
pub const MOST_MESSAGE_BYTES: usize = 16 << 10;

/// Remarks of a plan.
pub const MOST_NOTES: usize = 256;
/// Alternatives of a plan. Each is one more kernel to measure.
pub const MOST_ALTERNATIVES: usize = 4096;
/// Knobs of a configuration.
pub const MOST_KNOBS: usize = 256;
/// Maps of one output, each for a part of its elements. Checking more of them against each other
/// takes too long.
pub const MOST_MAPS: usize = 1024;
/// Visits of a plan. Predicting its time analyses each of them. Up to 60 in the corpus.
pub const MOST_VISITS: usize = 1024;
/// Instructions named by all visits of a plan, counted once per visit.
pub const MOST_VISITED_INSTRUCTIONS: usize = 1 << 16;
/// Variables of an indexing map. A tensor has few dimensions, and a kernel few loops for each.
pub const MOST_VARIABLES: usize = 256;
/// Constraints of an indexing map. Simplification combines each with all others.
pub const MOST_CONSTRAINTS: usize = 256;
/// Nodes of the expressions of one indexing map.
pub const MOST_MAP_NODES: usize = 10_000;
/// Nodes of the expressions of all maps of a plan. Simplifying takes about a microsecond per node.
pub const MOST_PLAN_NODES: usize = 1 << 20;
/// Depth of an expression. Every operation on expressions recurses over them.
pub use crate::indexing::MAX_DEPTH as MOST_EXPRESSION_DEPTH;
/// Bytes of a claim's form, which lists a few dimensions.
pub const MOST_FORM_BYTES: usize = 4 << 10;
/// Points of a map times the nodes of its expressions, where a check evaluates the map point by
/// point.
pub const MOST_EVALUATIONS: u64 = 1 << 31;

/// Functions that a kernel calls.
pub const MOST_CALLS: usize = 1 << 16;
/// Instructions of all functions that a kernel calls, counted once per function.
pub const MOST_CALLED_INSTRUCTIONS: usize = 1 << 22;
/// Bytes of a function's name after the kernel's name.
pub const MOST_SYMBOL_BYTES: usize = 256;

/// Bytes of a kernel's text with its subgraph functions. Each function names all parameters: 400
/// functions with 400 parameters have 14 million.
pub const MOST_TEXT_BYTES: usize = 1 << 30;
/// Operations of a kernel's text. Each takes about 200 bytes, and more than that in LLVM.
pub const MOST_OPERATIONS: usize = 4 << 20;
/// Depth of nested regions. Parser, verifier, rewrites and printer recurse over them, on threads
/// with stacks of 2 MiB. Loops nest about as deeply as a tensor has dimensions.
pub const MOST_NESTED_REGIONS: usize = 64;
/// Depth of nested brackets in types and attributes. A dense constant has one level per dimension.
pub const MOST_NESTED_BRACKETS: usize = 64;
/// Attributes of an operation. Each is compared with all others.
pub const MOST_ATTRIBUTES: usize = 256;
/// Characters of a number.
pub const MOST_DIGITS: usize = 64;
/// Results of an operation.
pub const MOST_RESULTS: u32 = 1 << 16;
/// Tokens of one affine map. Maps of vector transfers have about as many as the tensor has
/// dimensions.
pub const MOST_AFFINE_TOKENS: usize = 256;
/// Bits of an integer. Products and complex numbers of the widest types have this many.
pub const MOST_BITS: u32 = 128;
/// Lanes of a vector. LLVM splits longer vectors into registers, with one instruction for each.
pub const MOST_LANES: u64 = 1024;
/// Dimensions of a tensor.
pub const MOST_DIMENSIONS: usize = 64;
/// Operations of a kernel after unrolling loops and inlining subgraph functions.
pub const MOST_WRITTEN: u64 = 8 << 20;
/// Copies of a loop's body after unrolling, including unrolled loops around it. The time of LLVM's
/// passes over straight-line address arithmetic grows with the square of the copies: a thousand for
/// an NVIDIA GPU take 12 s.
pub const MOST_COPIES: u64 = 512;
/// Bytes of a thread's private tensors. They are on its stack, which has 2 MiB on the cpu.
pub const MOST_STACK_BYTES: u64 = 1 << 20;
/// Bytes of a thread's private tensors in the simulator, whose threads are coroutines with stacks
/// of 256 KiB.
pub const MOST_SIMULATED_STACK_BYTES: u64 = 128 << 10;
