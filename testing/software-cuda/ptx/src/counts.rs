//! Counts of a kernel: instructions by class, memory traffic, bank conflicts, divergence.

use std::collections::BTreeMap;
use std::fmt::Write;

/// Number of executed instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// Instructions of warps.
    pub warps: u64,
    /// Instructions of threads: an instruction of a warp counts once for each active thread.
    pub threads: u64,
}

/// Traffic of a kind of access to global memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Instructions of warps.
    pub accesses: u64,
    /// Bytes that threads access. A byte counts once if several threads access it in the same
    /// instruction.
    pub bytes: u64,
    /// Sectors of 32 bytes that the accesses touch.
    pub sectors: u64,
    /// Smallest number of sectors that could contain the bytes of each access.
    pub perfect_sectors: u64,
}

/// Counts of a launch, or of several launches of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub launches: u64,
    pub blocks: u64,
    pub classes: BTreeMap<&'static str, Executed>,
    pub global_reads: Traffic,
    pub global_writes: Traffic,
    pub global_atomics: Traffic,
    pub shared_accesses: u64,
    /// Turns that the banks of shared memory need in addition to one turn for each part of an
    /// access. A part has at most 128 bytes.
    pub bank_conflicts: u64,
    pub branches: u64,
    /// Branches that only some active threads of a warp take.
    pub divergent_branches: u64,
    pub barriers: u64,
}

impl Executed {
    fn add(&mut self, other: Executed) {
        self.warps += other.warps;
        self.threads += other.threads;
    }
}

impl Traffic {
    fn add(&mut self, other: &Traffic) {
        self.accesses += other.accesses;
        self.bytes += other.bytes;
        self.sectors += other.sectors;
        self.perfect_sectors += other.perfect_sectors;
    }

    fn json(&self) -> String {
        let Traffic { accesses, bytes, sectors, perfect_sectors } = self;
        format!(
            "{{\"accesses\": {accesses}, \"bytes\": {bytes}, \"sectors\": {sectors}, \
             \"perfect_sectors\": {perfect_sectors}}}"
        )
    }
}

impl Counts {
    /// Adds executed instructions of a class.
    pub fn add_class(&mut self, class: &'static str, executed: Executed) {
        self.classes.entry(class).or_default().add(executed);
    }

    pub fn add(&mut self, other: &Counts) {
        self.launches += other.launches;
        self.blocks += other.blocks;
        other.classes.iter().for_each(|(class, executed)| self.add_class(class, *executed));
        self.global_reads.add(&other.global_reads);
        self.global_writes.add(&other.global_writes);
        self.global_atomics.add(&other.global_atomics);
        self.shared_accesses += other.shared_accesses;
        self.bank_conflicts += other.bank_conflicts;
        self.branches += other.branches;
        self.divergent_branches += other.divergent_branches;
        self.barriers += other.barriers;
    }

    /// Returns the number of instructions, summed over all threads.
    pub fn thread_instructions(&self) -> u64 {
        self.classes.values().map(|executed| executed.threads).sum()
    }

    /// Returns the counts as a JSON object.
    pub fn json(&self) -> String {
        let mut classes = String::new();
        for (class, Executed { warps, threads }) in &self.classes {
            let comma = if classes.is_empty() { "" } else { ", " };
            // Writing to a string cannot fail.
            _ = write!(classes, "{comma}\"{class}\": {{\"warps\": {warps}, \"threads\": {threads}}}");
        }
        let Counts {
            launches, blocks, shared_accesses, bank_conflicts, branches, divergent_branches, barriers, ..
        } = self;
        format!(
            "{{\"launches\": {launches}, \"blocks\": {blocks}, \"instructions\": {{{classes}}}, \
             \"global_reads\": {}, \"global_writes\": {}, \"global_atomics\": {}, \
             \"shared_accesses\": {shared_accesses}, \"bank_conflicts\": {bank_conflicts}, \
             \"branches\": {branches}, \"divergent_branches\": {divergent_branches}, \"barriers\": {barriers}}}",
            self.global_reads.json(),
            self.global_writes.json(),
            self.global_atomics.json()
        )
    }
}
