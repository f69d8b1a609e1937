//! Decides which executions run on their calling threads.

use fusebox_thunks::all;

use crate::{Executable, Thunk, bytes_moved};

/// Maximum time of a cheap program in nanoseconds. To wake another thread takes about as long.
const MOST_NS: u64 = 20_000;
/// Maximum number of thunks of a cheap program.
const MOST_THUNKS: usize = 64;
/// Number of bytes that a thread reads or writes in a nanosecond, as a low estimate.
const MOVED_BYTES_PER_NS: u64 = 4;

/// Whether an execution takes about as long as waking another thread, or less. Only programs that
/// consist of kernels and copies can be cheap: the number of iterations of a loop is not known, and
/// the work of a host operation may grow faster than its bytes.
pub fn is_cheap(executable: &Executable) -> bool {
    let nanoseconds = |thunk: &Thunk| match thunk {
        Thunk::Kernel { kernel, .. } => executable.kernels[*kernel as usize].predicted_ns,
        Thunk::HostOp { .. } => None,
        other if other.nested().is_empty() => Some(bytes_moved(other) / MOVED_BYTES_PER_NS),
        _ => None,
    };
    let mut total = 0u64;
    let mut thunks = all(&executable.thunks);
    let is_short = thunks.by_ref().take(MOST_THUNKS).all(|thunk| {
        total = total.saturating_add(nanoseconds(thunk).unwrap_or(u64::MAX));
        total <= MOST_NS
    });
    is_short && thunks.next().is_none()
}
