//! How far a compilation is, for whoever waits for it.

use std::sync::Arc;

/// What somebody who waits is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// So many steps are to come.
    Begun(usize),
    /// So many of them are done. Each kernel is chosen, lowered and made machine code of.
    Done(usize),
}

/// Who is told, from any thread; by default nobody.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<dyn Fn(Advance) + Send + Sync>>);

impl Progress {
    /// Calls this whenever there is news.
    pub fn to(told: impl Fn(Advance) + Send + Sync + 'static) -> Progress {
        Progress(Some(Arc::new(told)))
    }

    /// Passes on how far the work is.
    pub fn tell(&self, advance: Advance) {
        self.0.iter().for_each(|told| told(advance));
    }
}
