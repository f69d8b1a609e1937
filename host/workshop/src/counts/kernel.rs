//! The counts of a kernel, in the form in which the software driver writes them
//! (`testing/software-cuda/ptx/src/counts.rs`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Bytes of a sector, the least amount that global memory moves.
pub const SECTOR_BYTES: u64 = 32;

/// Number of executed instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executed {
    /// Instructions of warps.
    pub warps: u64,
    /// Instructions of threads: each warp's instruction counts for its active threads.
    pub threads: u64,
}

/// Traffic of a kind of access to global memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Instructions of warps.
    pub accesses: u64,
    /// Bytes that threads access. Bytes that several threads of a warp access together count once.
    pub bytes: u64,
    /// Sectors that the accesses touch.
    pub sectors: u64,
    /// Least number of sectors that could hold the bytes of each access.
    pub perfect_sectors: u64,
}

/// Counts of all launches of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelCounts {
    pub launches: u64,
    pub blocks: u64,
    /// Instructions by class.
    pub instructions: BTreeMap<String, Executed>,
    pub global_reads: Traffic,
    pub global_writes: Traffic,
    pub global_atomics: Traffic,
    pub shared_accesses: u64,
    /// Turns that the banks of shared memory need beyond one per access.
    pub bank_conflicts: u64,
    pub branches: u64,
    /// Branches that only some active threads of a warp take.
    pub divergent_branches: u64,
    pub barriers: u64,
}

impl Traffic {
    /// Returns the number of touched sectors as a multiple of the least number, or `None` if there
    /// are no accesses.
    pub fn of_perfect(&self) -> Option<f64> {
        (self.perfect_sectors > 0).then(|| self.sectors as f64 / self.perfect_sectors as f64)
    }
}

impl KernelCounts {
    /// Returns the instructions of all classes.
    pub fn executed(&self) -> Executed {
        let sum = |all: Executed, one: &Executed| Executed {
            warps: all.warps + one.warps,
            threads: all.threads + one.threads,
        };
        self.instructions.values().fold(Executed::default(), sum)
    }

    /// Returns the bytes of all sectors that accesses to global memory touch.
    pub fn moved_bytes(&self) -> u64 {
        let sectors = [&self.global_reads, &self.global_writes, &self.global_atomics].map(|it| it.sectors);
        sectors.iter().sum::<u64>() * SECTOR_BYTES
    }
}
