//! Memory of a GPU that is kept for later results.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cudarc::driver::CudaSlice;

/// Maximum number of bytes of spare memory.
const MOST_BYTES: usize = 1 << 30;

/// Memory that nothing uses. Executions and copies release memory only after they have ended, so
/// the next user of the memory cannot disturb the previous user.
#[derive(Debug, Default)]
pub struct Spares(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Pieces by their sizes.
    pieces: BTreeMap<usize, Vec<CudaSlice<u8>>>,
    /// The sum of the sizes of all spare pieces.
    bytes: usize,
}

impl Spares {
    /// Returns a spare piece of exactly this size.
    pub fn take(&self, bytes: usize) -> Option<CudaSlice<u8>> {
        let mut state = self.lock();
        let piece = state.pieces.get_mut(&bytes)?.pop()?;
        state.bytes -= bytes;
        Some(piece)
    }

    /// Keeps a piece. If the spare memory would then exceed `MOST_BYTES`, frees the piece instead
    /// of keeping it.
    pub fn keep(&self, piece: CudaSlice<u8>) {
        let mut state = self.lock();
        if state.bytes + piece.len() <= MOST_BYTES {
            state.bytes += piece.len();
            state.pieces.entry(piece.len()).or_default().push(piece);
        }
    }

    /// Frees all spare memory. Returns whether there was spare memory.
    pub fn clear(&self) -> bool {
        let state = std::mem::take(&mut *self.lock());
        state.bytes > 0
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
