//! Launches of kernels.

use std::sync::Arc;

use fusebox_ptx::{Fault, FaultKind, execute};

use crate::device::{MOST_BLOCKS, MOST_THREADS};
use crate::engine::Ticket;
use crate::module::Function;
use crate::space::{Space, stamp};
use crate::status::{Answer, Status};

/// A launch of a kernel with its parameters.
#[derive(Clone, Debug)]
pub struct Launch {
    pub function: Arc<Function>,
    pub shape: Shape,
    /// The bytes of the parameters, at the offsets that the kernel declares.
    pub parameters: Arc<[u8]>,
}

/// The blocks, threads and shared memory of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub cluster: [u32; 3],
    pub dynamic_shared: u32,
    /// Whether all blocks must be on the device at the same time.
    pub is_cooperative: bool,
}

impl Shape {
    /// Returns a shape without clusters.
    pub fn new(grid: [u32; 3], block: [u32; 3], dynamic_shared: u32) -> Shape {
        Shape { grid, block, cluster: [1; 3], dynamic_shared, is_cooperative: false }
    }

    fn threads(&self) -> u32 {
        self.block.iter().fold(1, |product, &size| product.saturating_mul(size))
    }
}

impl Launch {
    /// Checks the launch against the limits of the kernel and of the device. Reports the limit that
    /// the launch exceeds.
    pub fn check(&self, space: &Space) -> Answer {
        self.exceeded(space).map_or(Ok(()), |(status, why)| {
            let name = &self.function.kernel.name;
            space.reporter.report(&format!("the launch of kernel {name} is refused: {why}"));
            Err(status)
        })
    }

    /// Returns the limit that the launch exceeds.
    fn exceeded(&self, space: &Space) -> Option<(Status, String)> {
        let Shape { grid, block, cluster, dynamic_shared, is_cooperative } = &self.shape;
        let (kernel, kind) = (&self.function.kernel, &space.device.kind);
        let invalid = |why: String| Some((Status::INVALID_VALUE, why));
        let within =
            |sizes: &[u32; 3], most: &[u32; 3]| sizes.iter().zip(most).all(|(size, most)| (1..=*most).contains(size));
        if !within(grid, &MOST_BLOCKS) {
            return invalid(format!("the grid is {grid:?} blocks, from 1 to {MOST_BLOCKS:?} are possible"));
        }
        let threads = self.shape.threads();
        if !within(block, &MOST_THREADS) || threads > kind.max_threads_per_block {
            let most = kind.max_threads_per_block;
            return invalid(format!(
                "a block is {block:?} threads, from 1 to {MOST_THREADS:?} and {most} are possible"
            ));
        }
        if threads > kernel.max_threads {
            return invalid(format!("a block has {threads} threads, the PTX allows {}", kernel.max_threads));
        }
        if let Some(required) = kernel.required_threads.filter(|required| required != block) {
            return invalid(format!("a block is {block:?} threads, the PTX requires {required:?}"));
        }
        let most_shared = self.function.dynamic_shared();
        if *dynamic_shared > most_shared {
            return invalid(format!(
                "it asks for {dynamic_shared} bytes of dynamic shared memory, the function allows {most_shared} besides \
                 {} static ones",
                kernel.shared_bytes
            ));
        }
        if kernel.shared_bytes + dynamic_shared > kind.shared_bytes_opt_in {
            return invalid(format!("a block has at most {} bytes of shared memory", kind.shared_bytes_opt_in));
        }
        let blocks_per_cluster: u32 = cluster.iter().product();
        let divides = grid.iter().zip(cluster).all(|(blocks, cluster)| *cluster > 0 && blocks % cluster == 0);
        if !divides || blocks_per_cluster > kind.max_blocks_per_cluster {
            let why = format!("clusters of {cluster:?} blocks do not fit a grid of {grid:?} blocks or the device");
            return Some((Status::INVALID_CLUSTER_SIZE, why));
        }
        let blocks: u64 = grid.iter().map(|&size| u64::from(size)).product();
        let resident = space.device.resident_blocks(threads, kernel.shared_bytes + dynamic_shared);
        let resident = u64::from(resident) * u64::from(kind.multiprocessors);
        if *is_cooperative && blocks > resident {
            let why = format!("{blocks} blocks cannot be on the device at once, {resident} can");
            return Some((Status::COOPERATIVE_LAUNCH_TOO_LARGE, why));
        }
        None
    }

    /// Executes the kernel.
    pub fn perform(&self, space: &Space, ticket: &Ticket) -> Result<(), Fault> {
        let kernel = &self.function.kernel;
        if !self.function.is_loaded() {
            let message = format!("kernel {} is executed after its module was unloaded", kernel.name);
            return Err(Fault::of_driver(FaultKind::Launch { message }));
        }
        let launch = fusebox_ptx::Launch {
            grid: self.shape.grid,
            block: self.shape.block,
            cluster: self.shape.cluster,
            dynamic_shared: self.shape.dynamic_shared,
            parameters: &self.parameters,
            when: stamp(ticket),
        };
        let counts = execute(kernel, &launch, &space.memory, &space.settings)?;
        space.counts.add(&kernel.name, &counts);
        Ok(())
    }
}
