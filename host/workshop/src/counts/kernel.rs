//! The counts of a kernel, in the form in which the software driver writes them
//! (`testing/software-cuda/ptx/src/counts.rs`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Bytes of a sector, which is the smallest unit that global memory moves.
pub const SECTOR_BYTES: u64 = 32;

/// Number of executed instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executed {
    /// Instructions of warps.
    pub warps: u64,
    /// Instructions of threads: an instruction of a warp counts once per active thread.
    pub threads: u64,
}

/// Traffic of one kind of access to global memory: reads, writes or atomics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Instructions of warps.
    pub accesses: u64,
    /// Bytes that threads access. Bytes that several threads of a warp access together count once.
    pub bytes: u64,
    /// Sectors that the accesses touch.
    pub sectors: u64,
    /// Sectors that the accesses would touch if the bytes of each access lay in as few sectors as
    /// possible.
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
    /// Additional turns that accesses to shared memory need because of bank conflicts. An access
    /// without a conflict needs one turn.
    pub bank_conflicts: u64,
    pub branches: u64,
    /// Branches that only some active threads of a warp take.
    pub divergent_branches: u64,
    pub barriers: u64,
}

impl Traffic {
    /// Returns `sectors` as a multiple of `perfect_sectors`, or `None` if there are no accesses.
    pub fn of_perfect(&self) -> Option<f64> {
        (self.perfect_sectors > 0).then(|| self.sectors as f64 / self.perfect_sectors as f64)
    }
}

impl KernelCounts {
    /// Returns the number of executed instructions, summed over all classes.
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
