//! Copies and products that proceed while a warp executes other instructions.

use std::collections::VecDeque;

use crate::code::{LANES, each_lane};

/// The incomplete copies of a warp's threads.
#[derive(Clone, Debug, Default)]
pub struct Copies {
    all: Vec<Copy>,
    /// For each lane, the number of groups that the lane has made.
    groups: [u32; LANES],
}

#[derive(Clone, Copy, Debug)]
pub struct Copy {
    pub lane: usize,
    /// The number of the group that contains the copy. Each lane counts its own groups. `None`
    /// until the lane makes the group.
    pub group: Option<u32>,
    pub to: u64,
    pub from: u64,
    pub bytes: u64,
    /// Number of bytes to read. The copy fills the rest of the target with zeros.
    pub read: u64,
    pub site: u32,
}

impl Copies {
    /// If a lane of the mask has not waited for one of its copies, returns this lane.
    pub fn pending(&self, mask: u32) -> Option<usize> {
        self.all.iter().map(|copy| copy.lane).find(|lane| mask >> lane & 1 == 1)
    }

    pub fn start(&mut self, copy: Copy) {
        self.all.push(copy);
    }

    /// For each lane of a mask, makes a group of the lane's copies that belong to no group yet.
    pub fn commit(&mut self, mask: u32) {
        let Copies { all, groups } = self;
        for copy in all.iter_mut().filter(|copy| mask >> copy.lane & 1 == 1) {
            copy.group = copy.group.or(Some(groups[copy.lane]));
        }
        each_lane(mask, |lane| groups[lane] += 1);
    }

    /// Waits until each lane of a mask has at most `most` incomplete groups. Removes and returns
    /// the copies that this wait completes.
    pub fn wait(&mut self, mask: u32, most: u32) -> Vec<Copy> {
        self.completed(mask, |copy, groups| copy.group.is_some_and(|group| group + most < groups))
    }

    /// Removes and returns all copies of a mask's lanes.
    pub fn wait_for_all(&mut self, mask: u32) -> Vec<Copy> {
        self.completed(mask, |_, _| true)
    }

    /// Removes and returns all copies that belong to a lane of the mask and for which `is_complete`
    /// is true.
    fn completed(&mut self, mask: u32, is_complete: impl Fn(&Copy, u32) -> bool) -> Vec<Copy> {
        let groups = self.groups;
        let (done, rest) =
            self.all.drain(..).partition(|copy| mask >> copy.lane & 1 == 1 && is_complete(copy, groups[copy.lane]));
        self.all = rest;
        done
    }
}

/// Unfinished matrix products of a group of warps. These products may still access registers.
#[derive(Clone, Debug, Default)]
pub struct Flights {
    /// Registers of products that belong to no group yet.
    open: Vec<u32>,
    /// Registers of the products of each group, the oldest first.
    groups: VecDeque<Vec<u32>>,
    /// Whether the warp has executed a fence since another instruction wrote one of the registers.
    is_fenced: bool,
}

impl Flights {
    /// Records an access by another instruction. Returns whether an incomplete product may still
    /// access the register.
    pub fn touch(&mut self, register: u32, is_written: bool) -> bool {
        self.is_fenced &= !is_written;
        self.open.contains(&register) || self.groups.iter().any(|group| group.contains(&register))
    }

    pub fn fence(&mut self) {
        self.is_fenced = true;
    }

    /// Starts a product. Returns whether a fence separates the product from earlier writes of its
    /// registers.
    pub fn start(&mut self, registers: Vec<u32>) -> bool {
        self.open.extend(registers);
        self.is_fenced
    }

    pub fn commit(&mut self) {
        self.groups.push_back(std::mem::take(&mut self.open));
    }

    /// Waits until at most `most` groups are incomplete.
    pub fn wait(&mut self, most: u32) {
        while self.groups.len() > most as usize {
            self.groups.pop_front();
        }
    }
}
