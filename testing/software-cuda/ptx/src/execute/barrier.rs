//! The barriers of a block, and the order of accesses that follows from them.

use crate::shadow::WARPS;

/// Barriers of a block.
const BARRIERS: usize = 16;

/// The order of the accesses of a block's warps. The block has a clock that advances at each
/// synchronisation.
#[derive(Clone, Debug)]
pub struct Order {
    pub tick: u32,
    /// `known[a][b]` is a tick: the accesses of warp `b` before this tick are ordered before the
    /// next access of warp `a`.
    pub known: Vec<[u32; WARPS]>,
}

/// A barrier that some warps may have reached.
#[derive(Clone, Debug, Default)]
struct Barrier {
    /// Mask of the warps that have reached the barrier, and mask of the warps that wait at the
    /// barrier.
    arrived: u32,
    waiting: u32,
    /// Number of warps that must reach the barrier, once a warp has stated this number.
    needs: Option<u32>,
    /// For each warp, a tick: the warp's accesses before this tick are ordered before the barrier's
    /// end.
    joined: [u32; WARPS],
    /// The combined predicates of the threads: their logical and, their logical or, and the number
    /// of true predicates.
    all: bool,
    any: bool,
    count: u64,
}

/// The result of a barrier that is complete.
#[derive(Clone, Copy, Debug)]
pub struct Complete {
    /// Warps that waited.
    pub waiting: u32,
    pub all: bool,
    pub any: bool,
    pub count: u64,
}

#[derive(Clone, Debug)]
pub struct Barriers {
    all: Vec<Barrier>,
    warps: u32,
}

impl Order {
    pub fn new(warps: usize) -> Order {
        Order { tick: 1, known: vec![[0; WARPS]; warps] }
    }

    pub fn restart(&mut self) {
        self.tick = 1;
        self.known.fill([0; WARPS]);
    }

    /// Orders all earlier accesses of a warp's threads before all later accesses of the warp.
    pub fn synchronise_warp(&mut self, warp: u32) {
        self.tick += 1;
        self.known[warp as usize][warp as usize] = self.tick;
    }
}

impl Barriers {
    pub fn new(warps: u32) -> Barriers {
        Barriers { all: vec![Barrier::default(); BARRIERS], warps }
    }

    pub fn restart(&mut self) {
        self.all.fill(Barrier::default());
    }

    /// Records that a warp reaches a barrier. `values` are two masks: the lanes that reach the
    /// barrier, and the lanes for which the predicate holds. Returns the result if the barrier is
    /// complete.
    pub fn arrive(
        &mut self,
        number: u32,
        warp: u32,
        needs: Option<u32>,
        waits: bool,
        values: (u32, u32),
        order: &mut Order,
    ) -> Result<Option<Complete>, String> {
        let warps = self.warps;
        let Some(barrier) = self.all.get_mut(number as usize) else {
            return Err(format!("barrier {number} does not exist: a block has {BARRIERS}"));
        };
        if barrier.arrived >> warp & 1 == 1 {
            return Err(format!("the warp reaches barrier {number} again before the barrier is complete"));
        }
        let needs = needs.unwrap_or(warps);
        if barrier.needs.is_some_and(|other| other != needs) {
            return Err(format!("warps state different numbers of threads for barrier {number}"));
        }
        if barrier.arrived == 0 {
            *barrier = Barrier { all: true, ..Barrier::default() };
        }
        barrier.needs = Some(needs);
        barrier.arrived |= 1 << warp;
        barrier.waiting |= u32::from(waits) << warp;
        let (lanes, holds) = values;
        barrier.all &= holds & lanes == lanes;
        barrier.any |= holds & lanes != 0;
        barrier.count += u64::from((holds & lanes).count_ones());
        let known = &order.known[warp as usize];
        barrier.joined.iter_mut().zip(known).for_each(|(joined, known)| *joined = (*joined).max(*known));
        barrier.joined[warp as usize] = order.tick + 1;
        if !waits {
            // Accesses after the arrival are not ordered before the end of the barrier.
            order.tick += 1;
        }
        if barrier.arrived.count_ones() < needs {
            return Ok(None);
        }
        let Barrier { waiting, all, any, count, mut joined, .. } = std::mem::take(barrier);
        order.tick += 1;
        for warp in (0..WARPS).filter(|warp| waiting >> warp & 1 == 1) {
            joined[warp] = order.tick;
        }
        for warp in (0..order.known.len()).filter(|warp| waiting >> warp & 1 == 1) {
            order.known[warp].iter_mut().zip(&joined).for_each(|(known, joined)| *known = (*known).max(*joined));
        }
        Ok(Some(Complete { waiting, all, any, count }))
    }

    /// Describes a barrier that some warps wait for.
    pub fn describe(&self, number: u32) -> String {
        let Some(barrier) = self.all.get(number as usize) else { return String::new() };
        let (arrived, needs) = (barrier.arrived.count_ones(), barrier.needs.unwrap_or(self.warps));
        let missing: Vec<u32> = (0..self.warps).filter(|warp| barrier.arrived >> warp & 1 == 0).collect();
        format!("barrier {number} is reached by {arrived} of {needs} warps; warps {missing:?} do not reach it")
    }
}
