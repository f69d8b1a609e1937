//! The control flow of a kernel: where diverged threads meet again, and which registers might be
//! read before they are written.

use super::names::Slot;
use super::reader::Uses;

/// The control flow of an instruction.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    pub uses: Uses,
    /// Instructions that may be executed next, except the following one.
    pub targets: Vec<usize>,
    /// Whether the following instruction may be executed next.
    pub falls_through: bool,
    /// Whether the thread may end here.
    pub ends: bool,
    /// Whether threads whose guard does not hold skip the instruction.
    pub is_guarded: bool,
}

/// Result of the analysis of an instruction.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// The instruction at which all paths from this instruction meet. `None` if the paths do not
    /// meet.
    pub meets: Option<usize>,
    /// Registers and predicates that the instruction might read before they are written.
    pub unwritten: Vec<Slot>,
}

/// A sequence of instructions with one entry.
#[derive(Debug)]
struct Block {
    start: usize,
    end: usize,
    /// Numbers of the blocks that may follow. A number equal to the count of blocks stands for the
    /// end of the thread.
    next: Vec<usize>,
}

/// Analyses instructions.
pub fn analyse(flows: &[Flow]) -> Vec<Analysis> {
    let blocks = blocks(flows);
    let mut all = vec![Analysis::default(); flows.len()];
    let meeting = meeting_points(&blocks);
    for (block, meets) in blocks.iter().zip(meeting) {
        all[block.end - 1].meets = meets.map(|block| blocks[block].start);
    }
    find_unwritten(flows, &blocks, &mut all);
    all
}

fn blocks(flows: &[Flow]) -> Vec<Block> {
    let mut starts = vec![false; flows.len() + 1];
    starts[0] = true;
    starts[flows.len()] = true;
    for (at, flow) in flows.iter().enumerate() {
        flow.targets.iter().for_each(|target| starts[*target] = true);
        if !flow.targets.is_empty() || !flow.falls_through {
            starts[at + 1] = true;
        }
    }
    let bounds: Vec<usize> = (0..=flows.len()).filter(|at| starts[*at]).collect();
    let mut number = vec![0; flows.len() + 1];
    bounds.iter().enumerate().for_each(|(block, start)| number[*start] = block);
    bounds
        .windows(2)
        .map(|pair| {
            let (start, end) = (pair[0], pair[1]);
            let last = &flows[end - 1];
            let mut next: Vec<usize> = last.targets.iter().map(|target| number[*target]).collect();
            // The last instruction of a kernel does not fall through: the end of the text follows.
            if last.falls_through {
                next.push(number[end]);
            } else if last.ends {
                next.push(bounds.len() - 1);
            }
            next.sort_unstable();
            next.dedup();
            Block { start, end, next }
        })
        .collect()
}

/// Returns for each block the first block that all its paths reach: its immediate post-dominator.
fn meeting_points(blocks: &[Block]) -> Vec<Option<usize>> {
    let end = blocks.len();
    let mut before = vec![Vec::new(); end + 1];
    for (number, block) in blocks.iter().enumerate() {
        block.next.iter().for_each(|next| before[*next].push(number));
    }
    // Blocks in the order in which a search from the end along reversed edges leaves them.
    let mut order = Vec::with_capacity(end + 1);
    let mut seen = vec![false; end + 1];
    let mut open = vec![(end, 0)];
    seen[end] = true;
    while let Some((block, done)) = open.pop() {
        match before[block].get(done) {
            Some(&previous) => {
                open.push((block, done + 1));
                if !std::mem::replace(&mut seen[previous], true) {
                    open.push((previous, 0));
                }
            }
            None => order.push(block),
        }
    }
    let mut rank = vec![0; end + 1];
    order.iter().enumerate().for_each(|(place, block)| rank[*block] = place);
    let mut meets: Vec<Option<usize>> = vec![None; end + 1];
    meets[end] = Some(end);
    let common = |meets: &[Option<usize>], mut a: usize, mut b: usize| {
        while a != b {
            while rank[a] < rank[b] {
                a = meets[a].unwrap_or(end);
            }
            while rank[b] < rank[a] {
                b = meets[b].unwrap_or(end);
            }
        }
        a
    };
    let mut changes = true;
    while changes {
        changes = false;
        for &block in order.iter().rev().filter(|block| **block != end) {
            let mut known = blocks[block].next.iter().copied().filter(|next| meets[*next].is_some());
            let Some(first) = known.next() else { continue };
            let new = known.fold(first, |a, b| common(&meets, a, b));
            if meets[block] != Some(new) {
                meets[block] = Some(new);
                changes = true;
            }
        }
    }
    meets.truncate(end);
    meets.into_iter().map(|block| block.filter(|block| *block != end)).collect()
}

/// A set of registers and predicates, with one bit for each.
#[derive(Clone, PartialEq)]
struct Written(Vec<u64>);

impl Written {
    fn insert(&mut self, slot: usize) {
        self.0[slot / 64] |= 1 << (slot % 64);
    }

    fn contains(&self, slot: usize) -> bool {
        self.0[slot / 64] >> (slot % 64) & 1 == 1
    }

    fn intersect(&mut self, other: &Written) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own &= other);
    }
}

/// Returns the position of a register or predicate in a set: even for registers, odd for
/// predicates.
fn number(slot: Slot) -> usize {
    match slot {
        Slot::Register(register) => 2 * register as usize,
        Slot::Predicate(predicate) => 2 * predicate as usize + 1,
    }
}

fn find_unwritten(flows: &[Flow], blocks: &[Block], all: &mut [Analysis]) {
    let used = || flows.iter().flat_map(|flow| flow.uses.reads.iter().chain(&flow.uses.writes));
    let slots = used().map(|slot| number(*slot) + 1).max().unwrap_or(0);
    let everything = Written(vec![u64::MAX; slots.div_ceil(64)]);
    let mut entry = vec![everything.clone(); blocks.len()];
    entry[0] = Written(vec![0; slots.div_ceil(64)]);
    let apply = |written: &mut Written, flow: &Flow| {
        // A thread that skips the instruction does not write.
        if !flow.is_guarded {
            flow.uses.writes.iter().for_each(|slot| written.insert(number(*slot)));
        }
    };
    let mut open: Vec<usize> = (0..blocks.len()).rev().collect();
    while let Some(block) = open.pop() {
        let Block { start, end, next } = &blocks[block];
        let mut written = entry[block].clone();
        flows[*start..*end].iter().for_each(|flow| apply(&mut written, flow));
        for &next in next.iter().filter(|next| **next < blocks.len()) {
            let before = entry[next].clone();
            entry[next].intersect(&written);
            if entry[next] != before && !open.contains(&next) {
                open.push(next);
            }
        }
    }
    for (block, mut written) in blocks.iter().zip(entry) {
        for at in block.start..block.end {
            let reads = flows[at].uses.reads.iter().copied();
            let mut unwritten: Vec<Slot> = reads.filter(|slot| !written.contains(number(*slot))).collect();
            unwritten.sort_unstable();
            unwritten.dedup();
            all[at].unwritten = unwritten;
            apply(&mut written, &flows[at]);
        }
    }
}
