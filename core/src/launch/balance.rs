//! Numbers of blocks that keep all cores busy until the end of a kernel.

use crate::device::DeviceDescription;

/// Classes of kernels, which differ in the number of blocks per core. With several blocks per core,
/// one slow block delays the kernel little. But distributing a block takes time, and adjacent
/// blocks repeat work that one larger block would do only once. Kernels that repeat more work
/// therefore have fewer blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balance {
    /// Two blocks per core: one block computes while the other waits at a barrier.
    AcrossBarriers,
    /// Four blocks per core, for blocks that read and write whole tiles or rows.
    OfTiles,
    /// Eight blocks per core, for blocks of independent tasks of similar length.
    OfTasks,
    /// Sixteen blocks per core, for blocks that compute adjacent elements and share no work with
    /// other blocks.
    OfElements,
}

impl Balance {
    /// Returns the number of blocks on all cores of a device.
    pub fn blocks(self, device: &DeviceDescription) -> i64 {
        i64::from(device.core_count.max(1)) * self.blocks_per_core()
    }

    /// Returns the number of blocks per core.
    pub const fn blocks_per_core(self) -> i64 {
        match self {
            Balance::AcrossBarriers => 2,
            Balance::OfTiles => 4,
            Balance::OfTasks => 8,
            Balance::OfElements => 16,
        }
    }
}
