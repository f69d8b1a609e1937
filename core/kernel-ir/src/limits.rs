//! Limits for the answers of plugins, and for the kernels that lowering accepts.
//!
//! The host checks every answer of a plugin against these limits before it recurses over the
//! answer, allocates memory for it or spends time on it. Each limit is far above the needs of any
//! honest emitter; some comments state the largest value measured in the corpus. Each limit is also
//! low enough to protect the host. An answer that reaches all limits at once does not crash the
//! host, and costs the host only seconds, and at most two gigabytes of memory.

/// Largest number of bytes of an answer without a kernel, that is, an answer to any question except
/// `Emit`. Plans in the corpus have up to 5 thousand bytes.
pub const MOST_ANSWER_BYTES: usize = 4 << 20;
/// Largest number of bytes of an answer that contains a kernel. The kernel's text contains calls of
/// subgraph functions but not their bodies, and has up to 300 thousand bytes in the corpus. If a
/// message consists of the smallest possible parts, the decoded message takes forty times the size
/// of the encoded message.
pub const MOST_KERNEL_BYTES: usize = 32 << 20;

/// Largest number of emitters of one library.
pub const MOST_EMITTERS: usize = 256;
/// Largest number of bytes of an emitter's kind, name or version. Every message about an emitter
/// contains the emitter's kind, name and version.
pub const MOST_NAME_BYTES: usize = 128;
/// Largest number of bytes of a reason, a remark or a panic's message. The user sees reasons,
/// remarks and messages of panics.
pub const MOST_MESSAGE_BYTES: usize = 16 << 10;

/// Largest number of remarks of a plan.
pub const MOST_NOTES: usize = 256;
/// Largest number of alternatives of a plan. For each alternative, the tuner measures one more
/// kernel.
pub const MOST_ALTERNATIVES: usize = 4096;
/// Largest number of knobs of a configuration.
pub const MOST_KNOBS: usize = 256;
/// Largest number of maps of one output. Each map covers a part of the output's elements. Checking
/// more than this number of maps against each other would take too long.
pub const MOST_MAPS: usize = 1024;
/// Largest number of visits of a plan. The prediction of a plan's time analyses each visit. Plans
/// in the corpus have up to 60 visits.
pub const MOST_VISITS: usize = 1024;
/// Largest total number of instructions that the visits of a plan name. An instruction that several
/// visits name counts several times.
pub const MOST_VISITED_INSTRUCTIONS: usize = 1 << 16;
/// Largest number of variables of an indexing map. A tensor has few dimensions, and a kernel has
/// few loops per dimension.
pub const MOST_VARIABLES: usize = 256;
/// Largest number of constraints of an indexing map. Simplification combines each constraint with
/// all others.
pub const MOST_CONSTRAINTS: usize = 256;
/// Largest number of nodes of the expressions of one indexing map.
pub const MOST_MAP_NODES: usize = 10_000;
/// Largest number of nodes of the expressions of all maps of a plan. Simplifying takes about a
/// microsecond per node.
pub const MOST_PLAN_NODES: usize = 1 << 20;
/// Largest depth of an expression. Every operation on an expression recurses over the nodes of the
/// expression.
pub use fusebox_indexing::MAX_DEPTH as MOST_EXPRESSION_DEPTH;
/// Largest number of parts into which a claim divides a reduction. Every device has fewer threads
/// than this limit.
pub const MOST_PARTS: usize = 1 << 20;
/// Largest number of bytes of a claim's form. The form describes a kernel's iteration space, and
/// lists only a few dimensions.
pub const MOST_FORM_BYTES: usize = 4 << 10;
/// Largest amount of work for which a check evaluates a map point by point. The work is the number
/// of the map's points times the number of nodes in its expressions.
pub const MOST_EVALUATIONS: u64 = 1 << 31;

/// Largest number of functions that a kernel calls.
pub const MOST_CALLS: usize = 1 << 16;
/// Largest total number of instructions of the functions that a kernel calls. An instruction that
/// belongs to several functions counts several times.
pub const MOST_CALLED_INSTRUCTIONS: usize = 1 << 22;
/// Largest number of bytes that follow the kernel's name in the name of a function.
pub const MOST_SYMBOL_BYTES: usize = 256;

/// Largest number of bytes of a kernel's text, including its subgraph functions. Each function
/// names all parameters, so 400 functions with 400 parameters have 14 million bytes.
pub const MOST_TEXT_BYTES: usize = 1 << 30;
/// Largest number of operations of a kernel's text. Each operation takes about 200 bytes of memory
/// in the kernel IR, and more in LLVM.
pub const MOST_OPERATIONS: usize = 4 << 20;
/// Largest depth of nested regions. Parser, verifier, rewrites and printer recurse over regions, on
/// threads with stacks of 2 MiB. Loops nest about as deeply as a tensor has dimensions.
pub const MOST_NESTED_REGIONS: usize = 64;
/// Largest depth of nested brackets in types and attributes. A dense constant has one level per
/// dimension.
pub const MOST_NESTED_BRACKETS: usize = 64;
/// Largest number of attributes of an operation. The parser compares each attribute with all other
/// attributes of the operation.
pub const MOST_ATTRIBUTES: usize = 256;
/// Largest number of characters of a number.
pub const MOST_DIGITS: usize = 64;
/// Largest number of results of an operation.
pub const MOST_RESULTS: u32 = 1 << 16;
/// Largest number of tokens of one affine map. The map of a vector transfer has about as many
/// tokens as the tensor has dimensions.
pub const MOST_AFFINE_TOKENS: usize = 256;
/// Largest number of bits of an integer. Products and complex numbers of the widest types have 128
/// bits.
pub const MOST_BITS: u32 = 128;
/// Largest number of lanes of a vector. LLVM splits a long vector into registers, and generates one
/// instruction for each register.
pub const MOST_LANES: u64 = 1024;
/// Largest number of dimensions of a tensor.
pub const MOST_DIMENSIONS: usize = 64;
/// Largest number of operations of a kernel after unrolling loops and inlining subgraph functions.
pub const MOST_WRITTEN: u64 = 8 << 20;
/// Largest number of copies of a loop's body after the loop and the loops around it are unrolled.
/// The time of LLVM's passes over straight-line address arithmetic grows with the square of the
/// number of copies: a thousand copies for an NVIDIA GPU take 12 s.
pub const MOST_COPIES: u64 = 512;
/// Largest number of bytes of a thread's private tensors. Private tensors are on the thread's
/// stack, which has 2 MiB on the cpu.
pub const MOST_STACK_BYTES: u64 = 1 << 20;
/// Largest number of bytes of a thread's private tensors in the simulator. The simulator's threads
/// are coroutines with stacks of 256 KiB.
pub const MOST_SIMULATED_STACK_BYTES: u64 = 128 << 10;
