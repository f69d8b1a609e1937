//! The state of a warp: its registers, and where its threads are.

use super::pending::{Copies, Flights};
use crate::code::{ALL, Code, Constant, LANES, Lanes, Registers, Special};
use crate::numbers::integer::{mask, signed};

/// Threads that execute the same instruction.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub pc: u32,
    pub mask: u32,
    /// The instruction at which these threads meet the threads that wait in the frame below.
    /// [`NOWHERE`] if they never meet.
    pub meets: u32,
}

pub const NOWHERE: u32 = u32::MAX;

/// Whether a warp can execute, waits at a barrier, or has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Ready,
    AtBarrier(u32),
    Ended,
}

#[derive(Clone, Debug)]
pub struct Warp {
    pub registers: Registers,
    /// The threads of the last frame execute; the others wait.
    pub frames: Vec<Frame>,
    /// Threads that have not ended.
    pub live: u32,
    pub state: State,
    /// For each tracked register, the lanes that wrote it.
    pub written: Vec<u32>,
    /// Executed instructions.
    pub steps: u64,
    /// Copies that the threads have not waited for.
    pub copies: Copies,
    /// Matrix products of groups of warps. The warp has not yet waited for these products.
    pub flights: Flights,
    /// Local memory of all threads, one thread after the other; and for each byte, whether a thread
    /// has written it.
    pub local: Vec<u8>,
    pub local_written: Vec<bool>,
}

/// The position of a block, and the sizes that special registers contain.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    pub block: [u32; 3],
    pub grid: [u32; 3],
    pub threads: [u32; 3],
    pub cluster: [u32; 3],
    pub linear: u32,
    pub multiprocessors: u32,
    pub dynamic_shared: u32,
    pub total_shared: u32,
}

impl Position {
    pub fn thread_count(&self) -> u32 {
        self.threads.iter().product()
    }

    /// Returns the index of a thread in each dimension of the block.
    pub fn thread(&self, number: u32) -> [u32; 3] {
        let [x, y, _] = self.threads;
        [number % x, number / x % y, number / x / y]
    }

    fn special(&self, special: Special, warp: u32, lane: u32) -> u64 {
        let below = (1u64 << lane) - 1;
        let lane_bit = 1u64 << lane;
        let all = u64::from(ALL);
        let at = |values: [u32; 3], direction: u8| u64::from(values[usize::from(direction) % 3]);
        let ratio = |from: [u32; 3], by: [u32; 3]| [0, 1, 2].map(|at| from[at] / by[at].max(1));
        let in_cluster = [0, 1, 2].map(|at| self.block[at] % self.cluster[at].max(1));
        match special {
            Special::Thread(direction) => at(self.thread(warp * LANES as u32 + lane), direction),
            Special::Threads(direction) => at(self.threads, direction),
            Special::Block(direction) => at(self.block, direction),
            Special::Blocks(direction) => at(self.grid, direction),
            Special::Cluster(direction) => at(ratio(self.block, self.cluster), direction),
            Special::Clusters(direction) => at(ratio(self.grid, self.cluster), direction),
            Special::BlockInCluster(direction) => at(in_cluster, direction),
            Special::BlocksInCluster(direction) => at(self.cluster, direction),
            Special::RankInCluster => {
                let [x, y, z] = in_cluster.map(u64::from);
                x + u64::from(self.cluster[0]) * (y + u64::from(self.cluster[1]) * z)
            }
            Special::SizeOfCluster => self.cluster.iter().map(|size| u64::from(*size)).product(),
            Special::Lane => u64::from(lane),
            Special::Warp => u64::from(warp),
            Special::Warps => u64::from(self.thread_count().div_ceil(LANES as u32)),
            Special::WarpSize => LANES as u64,
            Special::LanesEqual => lane_bit,
            Special::LanesBelow => below,
            Special::LanesUpTo => below | lane_bit,
            Special::LanesAbove => all & !(below | lane_bit),
            Special::LanesFrom => all & !below,
            Special::Multiprocessor => u64::from(self.linear % self.multiprocessors.max(1)),
            Special::Multiprocessors => u64::from(self.multiprocessors),
            Special::GridId => 0,
            Special::DynamicSharedBytes => u64::from(self.dynamic_shared),
            Special::TotalSharedBytes => u64::from(self.total_shared),
        }
    }
}

impl Warp {
    pub fn new(code: &Code, local_bytes: u32) -> Warp {
        Warp {
            registers: Registers { values: vec![[0; LANES]; code.registers], predicates: vec![0; code.predicates] },
            frames: Vec::new(),
            live: 0,
            state: State::Ended,
            written: vec![0; code.tracked.len()],
            steps: 0,
            copies: Copies::default(),
            flights: Flights::default(),
            local: vec![0; local_bytes as usize * LANES],
            local_written: vec![false; local_bytes as usize * LANES],
        }
    }

    /// Prepares the warp for the first instruction of a block.
    pub fn start(&mut self, code: &Code, number: u32, position: &Position, parameters: &[u8]) {
        let threads = position.thread_count() - number * LANES as u32;
        self.live = if threads >= LANES as u32 { ALL } else { (1 << threads) - 1 };
        self.frames.clear();
        self.frames.push(Frame { pc: 0, mask: self.live, meets: NOWHERE });
        self.state = State::Ready;
        self.written.fill(0);
        self.steps = 0;
        self.copies = Copies::default();
        self.flights = Flights::default();
        self.local_written.fill(false);
        for (register, constant) in &code.constants {
            self.registers.values[*register as usize] = match *constant {
                Constant::Value(value) => [value; LANES],
                Constant::Parameter { offset, bytes, signed_bits } => {
                    [parameter(parameters, offset as usize, bytes as usize, signed_bits); LANES]
                }
                Constant::Special(special) => {
                    let mut lanes: Lanes = [0; LANES];
                    (0..).zip(&mut lanes).for_each(|(lane, to)| *to = position.special(special, number, lane));
                    lanes
                }
            };
        }
    }

    /// Removes threads that have ended.
    pub fn end(&mut self, mask: u32) {
        self.live &= !mask;
        self.frames.iter_mut().for_each(|frame| frame.mask &= !mask);
        self.frames.retain(|frame| frame.mask != 0);
    }

    /// Executes a branch for the threads of the last frame: the threads in `takes` continue at
    /// `target`, and the other threads at the next instruction.
    pub fn branch(&mut self, target: u32, takes: u32, meets: u32) {
        let last = self.frames.len() - 1;
        let frame = &mut self.frames[last];
        let stays = frame.mask & !takes;
        if stays == 0 {
            frame.pc = target;
            return;
        }
        frame.pc += 1;
        if takes == 0 {
            return;
        }
        let next = frame.pc;
        self.part(&[(next, stays), (target, takes)], meets);
    }

    /// Divides the threads of the last frame into parts that continue at different instructions.
    pub fn part(&mut self, parts: &[(u32, u32)], meets: u32) {
        let last = self.frames.len() - 1;
        let frame = &mut self.frames[last];
        if meets == NOWHERE || frame.meets == meets {
            self.frames.pop();
        } else {
            frame.pc = meets;
        }
        let parts = parts.iter().filter(|(pc, _)| *pc != meets);
        self.frames.extend(parts.map(|&(pc, mask)| Frame { pc, mask, meets }));
    }
}

/// Returns a parameter's value. The decoder has checked that the parameters contain all bytes of
/// the value.
fn parameter(parameters: &[u8], offset: usize, bytes: usize, signed_bits: Option<u32>) -> u64 {
    let bytes = parameters.get(offset..offset + bytes).unwrap_or_default();
    extended(bytes, signed_bits)
}

/// Returns the value of bytes. If `signed_bits` is a number, extends the value by its sign to this
/// number of bits; otherwise extends the value by zeros.
#[inline(always)]
pub fn extended(bytes: &[u8], signed_bits: Option<u32>) -> u64 {
    let value = match *bytes {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => 0,
    };
    match signed_bits {
        Some(bits) => signed(value, 8 * bytes.len() as u32) as u64 & mask(bits),
        None => value,
    }
}
