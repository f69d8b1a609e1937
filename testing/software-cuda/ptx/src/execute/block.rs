//! Executes a block: executes the warps in turn, each warp until it waits, ends, or its turn is
//! over.

use super::access::{self, Place, Reach, Stop};
use super::barrier::{Barriers, Complete, Order};
use super::phases::{self, Phases};
use super::warp::{Position, State, Warp};
use super::{approximate, copies, group, lanes, matrix};
use crate::code::{ALL, Barrier, Code, GroupStep, Guard, Kind, LANES, Operands, ReduceBy, Step, each_lane};
use crate::counts::{Counts, Executed};
use crate::fault::FaultKind;
use crate::memory::Session;
use crate::shadow::Page;
use crate::works::{Work, Works};

/// The data that all blocks of a launch share.
pub struct Grid<'a> {
    pub code: &'a Code,
    pub session: &'a Session<'a>,
    pub parameters: &'a [u8],
    pub reserved_shared: u32,
    pub local_bytes: u32,
    pub most_steps: u64,
    /// A seed from which the interpreter draws the errors of approximations.
    pub approximations: Option<u64>,
    /// The position of a block. The worker sets `block` and `linear` for each block.
    pub position: Position,
}

/// Executes blocks, one after the other.
pub struct Worker<'a> {
    grid: &'a Grid<'a>,
    warps: Vec<Warp>,
    barriers: Barriers,
    phases: Phases,
    order: Order,
    shared: Page,
    shared_work: Work,
    /// For each thread, the tick of its last fence for asynchronous instructions.
    fenced: Vec<u32>,
    hints: Vec<usize>,
    position: Position,
    pub counts: Counts,
    /// For each step of the code, how often it was executed.
    pub executed: Vec<Executed>,
}

/// A fault of a thread of a block.
#[derive(Debug)]
pub struct BlockFault {
    pub kind: FaultKind,
    pub block: [u32; 3],
    pub linear: u32,
    /// Number of the thread in the block.
    pub thread: u32,
    /// Number of the step.
    pub step: u32,
}

/// The consequence of a step for its warp.
enum Next {
    Continue,
    /// The warp pauses, so that other warps execute.
    Pause,
}

/// Number of instructions that a warp executes in one turn. Other warps execute after the turn, so
/// that a warp can wait in a loop for another warp.
const TURN: u32 = 1 << 14;

/// Returns the memory that a warp can access, without borrowing the warps.
macro_rules! reach {
    ($worker:ident, $number:ident) => {
        reach!($worker, $number, $worker.order)
    };
    ($worker:ident, $number:ident, $order:expr) => {
        Reach {
            session: $worker.grid.session,
            parameters: $worker.grid.parameters,
            place: Place {
                block: $worker.position.linear,
                warp: $number as u32,
                tick: $order.tick,
                known: &$order.known[$number],
            },
            shared: &mut $worker.shared,
            shared_work: &$worker.shared_work,
            reserved_shared: u64::from($worker.grid.reserved_shared),
            fenced: &$worker.fenced,
            hints: &mut $worker.hints,
            counts: &mut $worker.counts,
        }
    };
}
impl<'a> Worker<'a> {
    pub fn new(grid: &'a Grid<'a>) -> Worker<'a> {
        let threads = grid.position.thread_count();
        let warps = threads.div_ceil(LANES as u32);
        Worker {
            grid,
            warps: vec![Warp::new(grid.code, grid.local_bytes); warps as usize],
            barriers: Barriers::new(warps),
            phases: Phases::default(),
            order: Order::new(warps as usize),
            shared: Page::new(grid.position.total_shared as usize + grid.reserved_shared as usize),
            shared_work: Works::default().begin_first(),
            fenced: vec![0; threads as usize],
            hints: vec![0; grid.code.sites],
            position: grid.position,
            counts: Counts::default(),
            executed: vec![Executed::default(); grid.code.steps.len()],
        }
    }

    /// Executes a block.
    pub fn run(&mut self, block: [u32; 3], linear: u32) -> Result<(), BlockFault> {
        self.position.block = block;
        self.position.linear = linear;
        self.barriers.restart();
        self.phases = Phases::default();
        self.order.restart();
        self.shared.forget();
        self.fenced.fill(0);
        for (number, warp) in (0..).zip(&mut self.warps) {
            warp.start(self.grid.code, number, &self.position, self.grid.parameters);
        }
        self.counts.blocks += 1;
        loop {
            let mut progresses = false;
            for warp in 0..self.warps.len() {
                if self.warps[warp].state == State::Ready {
                    progresses = true;
                    self.turn(warp)?;
                }
            }
            if !progresses {
                return self.ended();
            }
        }
    }

    /// Returns a fault if a warp still waits at a barrier when no warp can continue.
    fn ended(&self) -> Result<(), BlockFault> {
        let waiting = self.warps.iter().enumerate().find_map(|(number, warp)| match warp.state {
            State::AtBarrier(barrier) => Some((number, barrier)),
            _ => None,
        });
        let Some((warp, barrier)) = waiting else { return Ok(()) };
        let message = self.barriers.describe(barrier);
        let step = self.warps[warp].frames.last().map_or(0, |frame| frame.pc.saturating_sub(1));
        Err(self.fault(warp, step, Stop { lane: 0, kind: FaultKind::Barrier { message } }))
    }

    fn fault(&self, warp: usize, step: u32, stop: Stop) -> BlockFault {
        let Position { block, linear, .. } = self.position;
        let thread = (warp * LANES + stop.lane) as u32;
        BlockFault { kind: stop.kind, block, linear, thread, step }
    }

    /// Executes a warp until it waits, ends, or its turn is over.
    fn turn(&mut self, number: usize) -> Result<(), BlockFault> {
        let code = self.grid.code;
        for _ in 0..TURN {
            let warp = &mut self.warps[number];
            let Some(frame) = warp.frames.last().copied() else {
                warp.state = State::Ended;
                return Ok(());
            };
            if frame.pc == frame.meets {
                warp.frames.pop();
                continue;
            }
            let step = &code.steps[frame.pc as usize];
            let mask = match step.guard {
                None => frame.mask,
                Some(guard) => frame.mask & holds(warp, guard),
            };
            let executed = &mut self.executed[frame.pc as usize];
            executed.warps += 1;
            executed.threads += u64::from(mask.count_ones());
            // Most instructions affect only registers.
            if let Kind::Lanes(run, operands) = &step.kind {
                if mask != 0 {
                    run(&mut warp.registers, operands, mask);
                }
                let last = warp.frames.len() - 1;
                warp.frames[last].pc += 1;
                continue;
            }
            match self.step(number, step, frame.mask, mask).map_err(|stop| self.fault(number, frame.pc, stop))? {
                Next::Continue => {}
                Next::Pause => return self.check_steps(number),
            }
        }
        self.warps[number].steps += u64::from(TURN);
        self.check_steps(number)
    }

    /// Checks that a warp does not execute too many instructions.
    fn check_steps(&self, number: usize) -> Result<(), BlockFault> {
        let warp = &self.warps[number];
        if warp.steps > self.grid.most_steps {
            let kind = FaultKind::NoEnd { steps: warp.steps };
            let step = warp.frames.last().map_or(0, |frame| frame.pc);
            return Err(self.fault(number, step, Stop { lane: 0, kind }));
        }
        Ok(())
    }

    /// Executes an instruction that affects more than registers. `active` are the lanes that are at
    /// this instruction, and `mask` are the active lanes whose guard holds.
    fn step(&mut self, number: usize, step: &Step, active: u32, mask: u32) -> Result<Next, Stop> {
        let warp = &mut self.warps[number];
        let last = warp.frames.len() - 1;
        match &step.kind {
            Kind::Branch { target, reconverge } => {
                self.counts.branches += 1;
                self.counts.divergent_branches += u64::from(mask != 0 && mask != active);
                warp.branch(*target, mask, *reconverge);
                return Ok(Next::Continue);
            }
            Kind::BranchIndexed { index, targets, reconverge } => {
                self.counts.branches += 1;
                let parts = branch_indexed(warp, *index, targets, active, mask)?;
                self.counts.divergent_branches += u64::from(parts.len() > 1);
                match parts[..] {
                    [(pc, _)] => warp.frames[last].pc = pc,
                    _ => warp.part(&parts, *reconverge),
                }
                return Ok(Next::Continue);
            }
            Kind::Exit => {
                if let Some(lane) = warp.copies.pending(mask) {
                    let message = "the thread ends without waiting for its cp.async".into();
                    return Err(Stop { lane, kind: FaultKind::Undefined { message } });
                }
                warp.frames[last].pc += 1;
                warp.end(mask);
                return Ok(Next::Continue);
            }
            _ => {}
        }
        warp.frames[last].pc += 1;
        if mask == 0 {
            return Ok(Next::Continue);
        }
        match &step.kind {
            Kind::Division(run, operands) => {
                check_divisor(warp, operands, mask)?;
                run(&mut warp.registers, operands, mask);
            }
            Kind::Approximate(of) => approximate::execute(warp, of, mask, self.grid.approximations),
            Kind::Load(of) => access::load(warp, of, mask, &mut reach!(self, number))?,
            Kind::Store(of) => access::store(warp, of, mask, &mut reach!(self, number))?,
            Kind::Atomic(atomic) => access::atomic(warp, atomic, mask, &mut reach!(self, number))?,
            Kind::Barrier(barrier) => return self.barrier(number, barrier, mask),
            Kind::WarpBarrier(members) => {
                lanes::members(warp, *members, mask, "bar.warp.sync")?;
                self.order.synchronise_warp(number as u32);
            }
            Kind::AsyncFence => {
                self.order.tick += 1;
                let (fenced, tick) = (&mut self.fenced[number * LANES..], self.order.tick);
                each_lane(mask, |lane| fenced[lane] = tick);
            }
            Kind::Phase(step) => {
                let before = self.order.clone();
                let mut reach = reach!(self, number, before);
                if phases::step(&mut self.phases, warp, step, mask, &mut self.order, &mut reach)? {
                    // Other warps complete the phase. A wait counts as a turn, which limits waits
                    // that do not end.
                    warp.steps += u64::from(TURN);
                    return Ok(Next::Pause);
                }
            }
            Kind::Copy(step) => copies::step(warp, step, mask, &mut reach!(self, number))?,
            Kind::Shuffle(shuffle) => lanes::shuffle(warp, shuffle, mask)?,
            Kind::Vote(vote) => lanes::vote(warp, vote, mask)?,
            Kind::Match(matched) => lanes::matched(warp, matched, mask)?,
            Kind::ActiveMask { to } => warp.registers.set(*to, mask, |_| u64::from(mask)),
            Kind::Clock { to } => {
                let clock = u64::from(self.order.tick);
                warp.registers.set(*to, mask, |_| clock);
            }
            Kind::Matrix(of) => {
                all_together(mask)?;
                matrix::execute(warp, of, &mut reach!(self, number))?;
            }
            Kind::Group(step) => {
                all_together(mask)?;
                match step {
                    GroupStep::Product(product) => group::multiply(warp, product, &mut reach!(self, number))?,
                    GroupStep::Fence => warp.flights.fence(),
                    GroupStep::Commit => warp.flights.commit(),
                    GroupStep::Wait(most) => warp.flights.wait(*most),
                }
            }
            Kind::Settled { register, is_written } => {
                if warp.flights.touch(*register, *is_written) {
                    let message = "a wgmma that the warp has not waited for may still access a register".into();
                    let lane = mask.trailing_zeros() as usize;
                    return Err(Stop { lane, kind: FaultKind::Undefined { message } });
                }
            }
            Kind::Check(register) => {
                let missing = mask & !warp.written[*register as usize];
                if missing != 0 {
                    let name = self.grid.code.tracked[*register as usize].name.clone();
                    let lane = missing.trailing_zeros() as usize;
                    return Err(Stop { lane, kind: FaultKind::UnwrittenRegister { name } });
                }
            }
            Kind::Mark(register) => warp.written[*register as usize] |= mask,
            Kind::Trap => return Err(Stop { lane: mask.trailing_zeros() as usize, kind: FaultKind::Trap }),
            Kind::Nothing | Kind::Lanes(..) | Kind::Branch { .. } | Kind::BranchIndexed { .. } | Kind::Exit => {}
        }
        Ok(Next::Continue)
    }

    fn barrier(&mut self, number: usize, barrier: &Barrier, mask: u32) -> Result<Next, Stop> {
        let warp = &mut self.warps[number];
        if mask != warp.live {
            let why = if barrier.is_aligned { "" } else { ", which the interpreter does not support" };
            let (all, count) = (warp.live, mask.count_ones());
            let message = format!("only {count} threads of the warp execute the barrier, {mask:#x} of {all:#x}{why}");
            return Err(Stop { lane: mask.trailing_zeros() as usize, kind: FaultKind::Divergence { message } });
        }
        let undefined = |message: String| Stop { lane: 0, kind: FaultKind::Barrier { message } };
        let uniform = |register: u32| {
            let values = warp.registers.get(register);
            let first = values[mask.trailing_zeros() as usize % LANES] as u32;
            let is_same = (0..LANES).all(|lane| mask >> lane & 1 == 0 || values[lane] as u32 == first);
            if is_same { Ok(first) } else { Err(undefined("threads of a warp name different barriers".into())) }
        };
        let id = uniform(barrier.number)?;
        let needs = match barrier.threads.map(uniform).transpose()? {
            Some(threads) if threads % LANES as u32 != 0 || threads == 0 => {
                return Err(undefined(format!("{threads} threads of a barrier are no multiple of {LANES}")));
            }
            threads => threads.map(|threads| threads / LANES as u32),
        };
        let holds = barrier.reduction.map_or(0, |reduction| holds(warp, reduction.predicate));
        self.counts.barriers += 1;
        warp.state = if barrier.waits { State::AtBarrier(id) } else { State::Ready };
        let arrived = self.barriers.arrive(id, number as u32, needs, barrier.waits, (mask, holds), &mut self.order);
        if let Some(complete) = arrived.map_err(undefined)? {
            self.release(&complete);
        }
        Ok(if barrier.waits { Next::Pause } else { Next::Continue })
    }

    /// Continues the warps that wait at a barrier, and writes the result of the barrier's
    /// reduction.
    fn release(&mut self, complete: &Complete) {
        let code = self.grid.code;
        for (_, warp) in (0..).zip(&mut self.warps).filter(|(number, _)| complete.waiting >> number & 1 == 1) {
            warp.state = State::Ready;
            let step = warp.frames.last().and_then(|frame| code.steps.get(frame.pc as usize - 1));
            let Some(Kind::Barrier(Barrier { reduction: Some(reduction), .. })) = step.map(|step| &step.kind) else {
                continue;
            };
            let all_or_none = |holds: bool| if holds { ALL } else { 0 };
            let live = warp.live;
            match reduction.by {
                ReduceBy::And => warp.registers.set_predicate(reduction.to, live, all_or_none(complete.all)),
                ReduceBy::Or => warp.registers.set_predicate(reduction.to, live, all_or_none(complete.any)),
                ReduceBy::Count => warp.registers.set(reduction.to, live, |_| complete.count),
            }
        }
    }
}

fn holds(warp: &Warp, guard: Guard) -> u32 {
    let predicate = warp.registers.predicate(guard.predicate);
    if guard.is_negated { !predicate } else { predicate }
}

/// Checks that all lanes of a warp execute an instruction together.
fn all_together(mask: u32) -> Result<(), Stop> {
    if mask == ALL {
        return Ok(());
    }
    let message = format!("all lanes must execute this instruction together, but only {mask:#x} do");
    Err(Stop { lane: (!mask).trailing_zeros() as usize, kind: FaultKind::Divergence { message } })
}

fn check_divisor(warp: &Warp, operands: &Operands, mask: u32) -> Result<(), Stop> {
    let divisors = warp.registers.get(operands.from[1]);
    let zero = (0..LANES).find(|lane| mask >> lane & 1 == 1 && divisors[*lane] == 0);
    match zero {
        None => Ok(()),
        Some(lane) => {
            let message = "an integer is divided by zero, whose result is not specified".into();
            Err(Stop { lane, kind: FaultKind::Undefined { message } })
        }
    }
}

/// Groups the lanes of an indexed branch by their targets. Lanes whose guard does not hold continue
/// after the branch.
fn branch_indexed(warp: &Warp, index: u32, targets: &[u32], active: u32, mask: u32) -> Result<Vec<(u32, u32)>, Stop> {
    let indices = warp.registers.get(index);
    let mut parts: Vec<(u32, u32)> = Vec::new();
    let mut wrong = None;
    each_lane(active, |lane| {
        let target = if mask >> lane & 1 == 0 {
            warp.frames.last().map(|frame| frame.pc + 1)
        } else {
            targets.get(indices[lane] as usize).copied()
        };
        let Some(target) = target else {
            wrong = wrong.or(Some(lane));
            return;
        };
        match parts.iter_mut().find(|(pc, _)| *pc == target) {
            Some((_, lanes)) => *lanes |= 1 << lane,
            None => parts.push((target, 1 << lane)),
        }
    });
    match wrong {
        None => Ok(parts),
        Some(lane) => {
            let message = format!("index {} of brx.idx is beyond its {} targets", indices[lane], targets.len());
            Err(Stop { lane, kind: FaultKind::Undefined { message } })
        }
    }
}
