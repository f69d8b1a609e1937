//! What the threads of a block do together: tiles and barriers.
//!
//! On the cpu a block is one thread: a tile is memory on its stack, and barriers are nothing.

use super::function::{Done, Function};
use super::memory::tensor_bytes;
use super::slot::{Slot, Tensor};
use super::{Known, Reach};
use crate::Target;
use crate::error::Unsupported;
use crate::mlir::Operation;

/// Alignment of tiles on GPUs in bytes: that of the widest access.
const TILE_ALIGNMENT: u32 = 16;

impl Function<'_, '_, '_> {
    /// Whether a block is one thread. That it is one is checked.
    pub(super) fn is_single_thread(&self) -> Done<bool> {
        match self.translation.target {
            Target::Cpu if self.kernel.threads != 1 => Unsupported::because(format!(
                "a block has {} threads, of which the cpu runs one after the other",
                self.kernel.threads
            )),
            Target::Cpu => Ok(true),
            _ => Ok(false),
        }
    }

    pub(super) fn allocate_shared(&mut self, op: Operation) -> Done {
        let key = op.result(0).key();
        let tensor = match self.tiles.get(&key) {
            Some(&tensor) => tensor,
            None => self.new_tile(op)?,
        };
        self.tiles.insert(key, tensor);
        self.bind(op.result(0), Slot::Tensor(tensor));
        Ok(())
    }

    fn new_tile(&mut self, op: Operation) -> Done<Tensor> {
        let bytes = tensor_bytes(&op.result(0).ty())?;
        if self.is_single_thread()? {
            return self.stack_tensor(bytes);
        }
        let taken = self.kernel.shared_taken.saturating_add(bytes);
        if taken > self.kernel.shared_bytes {
            return Unsupported::because(format!(
                "the tiles up to this one take {taken} bytes of shared memory, the plan asks for {}",
                self.kernel.shared_bytes
            ));
        }
        let before = std::mem::replace(&mut self.kernel.shared_taken, taken);
        if self.translation.target == Target::Simt {
            return self.simulated_tile(op, before, bytes);
        }
        let space = self.translation.traits.shared_space;
        let pointer = self.llvm().add_shared_bytes(bytes, TILE_ALIGNMENT, space);
        let known = Known { alignment: TILE_ALIGNMENT, invariant: false, reported: false, reach: Reach::Block };
        Ok(Tensor::new(pointer, known))
    }

    pub(super) fn sync_threads(&mut self, op: Operation) -> Done {
        if !self.is_single_thread()? {
            self.barrier()?;
        }
        for (result, tensor) in op.results().zip(op.operands()) {
            let tensor = self.tensor(tensor)?;
            self.bind(result, Slot::Tensor(tensor));
        }
        Ok(())
    }

    fn barrier(&mut self) -> Done {
        if self.translation.target == Target::Simt {
            self.simulated_barrier();
            return Ok(());
        }
        let llvm = self.llvm();
        match self.translation.target {
            Target::Nvptx { .. } => {
                let number = llvm.const_int(llvm.int(32), 0);
                llvm.call_intrinsic("llvm.nvvm.barrier.cta.sync.aligned.all", &[], &[number]);
            }
            Target::Amdgpu { .. } => {
                llvm.fence("workgroup");
                llvm.call_intrinsic("llvm.amdgcn.s.barrier", &[], &[]);
                llvm.fence("workgroup");
            }
            Target::Cpu | Target::Simt => {}
        }
        Ok(())
    }
}
