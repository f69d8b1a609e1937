//! The code of a kernel in the form that the interpreter executes.

mod approximation;
mod registers;

use std::sync::Arc;

use crate::fault::Space;
pub use approximation::{Approximation, ErrorBound, Narrow};
pub(crate) use registers::lanes;
pub use registers::{
    ALL, LANES, LaneFn, Lanes, NEGATED, NO_RESULT, Operands, PLAIN, Registers, WITH_AND, WITH_OR, WITH_XOR, compare,
    compare_halves, compare_to_value, each_lane, four, one, test, three, two,
};

/// The code of a kernel.
#[derive(Clone, Debug)]
pub struct Code {
    pub steps: Vec<Step>,
    pub registers: usize,
    pub predicates: usize,
    /// Registers whose values do not change while a block runs.
    pub constants: Vec<(u32, Constant)>,
    /// Registers that might be read before they are written. [`Kind::Check`] and [`Kind::Mark`]
    /// contain indices into this list.
    pub tracked: Vec<Tracked>,
    /// Number of memory accesses in the code. Each memory access has its own [`Access::site`].
    pub sites: usize,
    /// Text of the module, for messages.
    pub text: Arc<str>,
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Step {
    pub guard: Option<Guard>,
    pub kind: Kind,
    /// Line in the text of the module.
    pub line: u32,
    /// Class of the instruction for counts. The checks and marks that the decoder adds have no
    /// class.
    pub class: Option<&'static str>,
    /// Number of the source file in the module's list of files, and the line in this file.
    pub location: Option<(u64, u64)>,
}

/// A predicate, or its negation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    pub predicate: u32,
    pub is_negated: bool,
}

/// The value of a register that does not change while a block runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Constant {
    Value(u64),
    /// A parameter's bytes. If `signed_bits` is a number, the sign of the bytes extends them to
    /// this number of bits; otherwise zeros extend them.
    Parameter {
        offset: u32,
        bytes: u32,
        signed_bits: Option<u32>,
    },
    Special(Special),
}

/// Special registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Special {
    /// Index of the thread in one dimension of the block.
    Thread(u8),
    Threads(u8),
    Block(u8),
    Blocks(u8),
    Cluster(u8),
    Clusters(u8),
    BlockInCluster(u8),
    BlocksInCluster(u8),
    RankInCluster,
    SizeOfCluster,
    Lane,
    Warp,
    Warps,
    WarpSize,
    /// Mask with one bit: that of the lane itself. The next four masks contain the lanes below, up
    /// to, above, and from this lane.
    LanesEqual,
    LanesBelow,
    LanesUpTo,
    LanesAbove,
    LanesFrom,
    Multiprocessor,
    Multiprocessors,
    GridId,
    DynamicSharedBytes,
    TotalSharedBytes,
}

/// A register whose writes are recorded.
#[derive(Clone, Debug)]
pub struct Tracked {
    pub name: String,
}

/// The effect of an instruction.
#[derive(Clone, Debug)]
pub enum Kind {
    Lanes(LaneFn, Operands),
    /// The division of integers, which checks the divisor in the register `from[1]`.
    Division(LaneFn, Operands),
    Approximate(Box<Approximation>),
    Load(Access),
    Store(Access),
    Atomic(Box<Atomic>),
    Branch {
        target: u32,
        reconverge: u32,
    },
    BranchIndexed {
        index: u32,
        targets: Box<[u32]>,
        reconverge: u32,
    },
    Exit,
    Trap,
    Barrier(Barrier),
    /// `bar.warp.sync`, with a register for the mask of lanes.
    WarpBarrier(u32),
    /// An instruction without effect for the interpreter: fences, prefetches.
    Nothing,
    /// Makes writes to shared memory visible to asynchronous instructions.
    AsyncFence,
    Copy(CopyStep),
    Phase(Box<PhaseStep>),
    Shuffle(Box<Shuffle>),
    Vote(Box<Vote>),
    Match(Box<Match>),
    ActiveMask {
        to: u32,
    },
    Clock {
        to: u32,
    },
    Matrix(Box<Matrix>),
    Group(GroupStep),
    /// Checks that the executing lanes have written a tracked register.
    Check(u32),
    /// Records that the executing lanes have written a tracked register.
    Mark(u32),
    /// Checks that no matrix product of a group of warps still writes or reads a register that the
    /// next instruction accesses.
    Settled {
        register: u32,
        is_written: bool,
    },
}

/// An access to memory.
#[derive(Clone, Debug)]
pub struct Access {
    /// `None` for a generic address.
    pub space: Option<Space>,
    /// Bytes of an element.
    pub bytes: u32,
    /// A load extends each element by the element's sign to this number of bits.
    pub signed_bits: Option<u32>,
    /// Registers of the elements; `None` for elements that the load discards.
    pub elements: Box<[Option<u32>]>,
    /// Register that contains the address, and the number of bytes to add to the address.
    pub base: u32,
    pub offset: i64,
    /// Mask of the accessed bytes that the kernel uses. `None` if the kernel uses all of them.
    pub used: Option<u64>,
    pub is_strong: bool,
    /// Whether no thread may write the memory while the kernel runs.
    pub is_invariant: bool,
    pub site: u32,
}

impl Access {
    /// Returns a weak access without elements.
    pub fn plain(space: Option<Space>, bytes: u32, base: u32, offset: i64) -> Access {
        Access {
            space,
            bytes,
            signed_bits: None,
            elements: Box::default(),
            base,
            offset,
            used: None,
            is_strong: false,
            is_invariant: false,
            site: 0,
        }
    }
}

/// The value of a graph's condition is four bytes in global memory. The handle of the condition is
/// this number plus the address of the value. Therefore no address is a valid handle.
pub const CONDITION: u64 = 1 << 62;

/// Addresses of the windows through which generic addresses reach shared and local memory.
pub const SHARED_WINDOW: u64 = 0x1_0000_0000;
pub const LOCAL_WINDOW: u64 = 0x2_0000_0000;
/// Bytes of a window.
pub const WINDOW_BYTES: u64 = 1 << 24;

/// An atomic access.
#[derive(Clone, Debug)]
pub struct Atomic {
    pub access: Access,
    pub to: Option<u32>,
    pub from: [u32; 2],
    /// Computes the new value from the old value and the operands.
    pub combine: fn(u64, u64, u64) -> u64,
}

/// A barrier of the block.
#[derive(Clone, Debug)]
pub struct Barrier {
    /// The register with the barrier's number, and the register with the number of threads.
    pub number: u32,
    pub threads: Option<u32>,
    pub waits: bool,
    /// Whether all threads of a warp execute the barrier together.
    pub is_aligned: bool,
    pub reduction: Option<BarrierReduction>,
}

/// A reduction of a predicate over the threads of a barrier.
#[derive(Clone, Copy, Debug)]
pub struct BarrierReduction {
    pub by: ReduceBy,
    pub predicate: Guard,
    /// The result: a predicate, or a register for the count.
    pub to: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReduceBy {
    And,
    Or,
    Count,
}

/// A step of asynchronous copies from global to shared memory, which proceed while the thread
/// continues.
#[derive(Clone, Debug)]
pub enum CopyStep {
    Start(Box<AsyncCopy>),
    /// Makes a group of the copies that the thread has started since the last group.
    Commit,
    /// Waits until at most this number of groups is incomplete.
    Wait(u32),
    /// Waits for all copies, including copies that belong to no group.
    WaitAll,
}

/// `cp.async`.
#[derive(Clone, Debug)]
pub struct AsyncCopy {
    /// Target and source of the copy, as accesses of `bytes` bytes each.
    pub to: Access,
    pub from: Access,
    /// Register with the number of bytes to read. The copy fills the rest of the target with zeros.
    /// `None` if the copy reads all bytes.
    pub read_bytes: Option<u32>,
}

/// A step of an `mbarrier`, or a bulk copy. An `mbarrier` is a barrier in shared memory. A phase of
/// an `mbarrier` completes when it needs no more arrivals and no more transferred bytes. Barriers
/// count the bytes of bulk copies to shared memory.
#[derive(Clone, Debug)]
pub enum PhaseStep {
    /// Initialises a barrier. In all steps, the field for a count or a state holds the number of
    /// the register that contains the count or the state.
    Start {
        place: Access,
        count: u32,
    },
    End {
        place: Access,
    },
    Arrive {
        place: Access,
        to: Option<u32>,
        count: Option<u32>,
        expects: Option<u32>,
        drops: bool,
    },
    Expect {
        place: Access,
        bytes: u32,
    },
    Test {
        place: Access,
        to: u32,
        phase: u32,
        is_parity: bool,
        waits: bool,
    },
    /// A copy from global to shared memory, whose bytes the barrier counts.
    Load {
        to: Access,
        from: Access,
        bytes: u32,
        place: Access,
    },
    /// A copy from shared to global memory.
    Store {
        to: Access,
        from: Access,
        bytes: u32,
    },
}

/// `shfl.sync`.
#[derive(Clone, Debug)]
pub struct Shuffle {
    pub mode: ShuffleMode,
    pub to: u32,
    pub in_range: Option<u32>,
    pub value: u32,
    pub distance: u32,
    /// Register that contains the clamp value and the mask of segments.
    pub clamp: u32,
    pub members: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShuffleMode {
    Up,
    Down,
    Butterfly,
    Index,
}

/// `vote.sync` and `redux.sync`.
#[derive(Clone, Debug)]
pub struct Vote {
    pub by: VoteBy,
    pub to: u32,
    pub members: u32,
}

#[derive(Clone, Copy, Debug)]
pub enum VoteBy {
    All(Guard),
    Any(Guard),
    Uniform(Guard),
    Ballot(Guard),
    /// Combines the values of a register over the lanes.
    Reduce(u32, fn(u64, u64) -> u64),
    /// Chooses one lane. This predicate becomes true in the chosen lane only.
    Elect(u32),
}

/// `match.sync`.
#[derive(Clone, Debug)]
pub struct Match {
    pub all: bool,
    pub to: u32,
    pub predicate: Option<u32>,
    pub value: u32,
    pub members: u32,
}

/// Instructions by which a warp multiplies or moves matrices.
#[derive(Clone, Debug)]
pub enum Matrix {
    Product(Product),
    /// Reads or writes matrices of 8 by 8 elements of 16 bits in shared memory.
    Move {
        stores: bool,
        transposed: bool,
        count: usize,
        registers: Box<[u32]>,
        access: Access,
    },
}

/// `mma.sync`.
#[derive(Clone, Debug)]
pub struct Product {
    pub shape: [usize; 3],
    pub left: Element,
    pub right: Element,
    pub sum: Element,
    pub result: Element,
    pub saturates: bool,
    pub to: Box<[u32]>,
    pub operands: [Box<[u32]>; 3],
}

/// The type of a matrix's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    F16,
    Bf16,
    Tf32,
    F32,
    F64,
    E4m3,
    E5m2,
    S8,
    U8,
    S4,
    U4,
    S32,
    Bit,
}

/// A step of the matrix products that four warps compute together.
#[derive(Clone, Debug)]
pub enum GroupStep {
    Fence,
    Commit,
    Wait(u32),
    Product(Box<GroupProduct>),
}

/// `wgmma.mma_async`.
#[derive(Clone, Debug)]
pub struct GroupProduct {
    pub columns: usize,
    pub steps: usize,
    pub left: Element,
    pub right: Element,
    pub result: Element,
    pub sums: Box<[u32]>,
    /// Registers of the left operand's elements, or of its descriptor.
    pub left_from: GroupLeft,
    pub right_descriptor: u32,
    /// Whether the product is added to the sums.
    pub adds: Guard,
    pub negates: [bool; 2],
    /// For each operand in shared memory, whether adjacent elements in memory have the same index
    /// in the contracted dimension.
    pub transposed: [bool; 2],
}

#[derive(Clone, Debug)]
pub enum GroupLeft {
    Registers(Box<[u32]>),
    Descriptor(u32),
}

impl GroupProduct {
    /// Returns the registers that the product may access until the warp has waited for the product.
    pub fn registers(&self) -> Vec<u32> {
        match &self.left_from {
            GroupLeft::Registers(left) => self.sums.iter().chain(left).copied().collect(),
            GroupLeft::Descriptor(_) => self.sums.to_vec(),
        }
    }
}

impl Element {
    /// Returns the number of bits.
    pub fn bits(self) -> usize {
        match self {
            Element::Bit => 1,
            Element::S4 | Element::U4 => 4,
            Element::E4m3 | Element::E5m2 | Element::S8 | Element::U8 => 8,
            Element::F16 | Element::Bf16 => 16,
            Element::Tf32 | Element::F32 | Element::S32 => 32,
            Element::F64 => 64,
        }
    }
}
