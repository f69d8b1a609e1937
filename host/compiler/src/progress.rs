//! Reports the progress of a compilation.

use std::sync::Arc;

/// A message about progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// Number of steps to come.
    Begun(usize),
    /// A pass over the program begins: its number from 1, the number of all passes, and its name.
    Pass(usize, usize, &'static str),
    /// Number of steps that are done. The steps of each kernel are selection, lowering and machine
    /// code.
    Done(usize),
}

/// Receiver of progress, called from any thread. By default no receiver is called.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<dyn Fn(Advance) + Send + Sync>>);

impl Progress {
    /// Calls `report` whenever steps begin or are done.
    pub fn to(report: impl Fn(Advance) + Send + Sync + 'static) -> Progress {
        Progress(Some(Arc::new(report)))
    }

    /// Passes a message on to the receiver.
    pub fn tell(&self, advance: Advance) {
        self.0.iter().for_each(|report| report(advance));
    }
}
