//! Sequences of thunks that were executed before.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::CudaContext;

use super::graph::{GraphCode, LoadedGraph};
use super::level::Level;
use super::module::LoadedFunction;
use super::order::{Accesses, Place, places};
use crate::executable::DeviceStep;
use crate::machine::frame::Frame;
use crate::{KernelImage, RunError, Thunk};

/// The sequences of a program. The key of a sequence is the address of its first thunk and the
/// number of its thunks.
#[derive(Debug, Default)]
pub struct Sequences(Mutex<HashMap<(usize, usize), Sequence>>);

/// A sequence of thunks that a GPU executes without the host. Thunks that access the same memory
/// are executed in the order of the sequence. The order of other thunks is open.
#[derive(Debug)]
pub struct Sequence {
    key: (usize, usize),
    thunks: Vec<Thunk>,
    /// The stream of each thunk, and the earlier thunks for which it waits. `None` if the sequence
    /// contains loops or branches: only launches and copies are divided among streams.
    places: Option<Vec<Place>>,
    graph: Option<LoadedGraph>,
}

impl Sequences {
    /// Removes the sequence of these thunks from the collection, or creates a new sequence. Also
    /// returns whether the sequence is new.
    pub fn take(&self, thunks: &[Thunk], kernels: &[LoadedFunction], streams: usize) -> (Sequence, bool) {
        let key = (thunks.as_ptr() as usize, thunks.len());
        let known = self.lock().remove(&key).filter(|known| known.thunks == thunks);
        let is_new = known.is_none();
        (known.unwrap_or_else(|| Sequence::new(key, thunks, kernels, streams)), is_new)
    }

    /// Keeps a sequence for its next execution.
    pub fn keep(&self, sequence: Sequence) {
        self.lock().insert(sequence.key, sequence);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(usize, usize), Sequence>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sequence {
    fn new(key: (usize, usize), thunks: &[Thunk], kernels: &[LoadedFunction], streams: usize) -> Sequence {
        let images = images(kernels);
        let accesses = |thunk| DeviceStep::of(thunk).map(|step| Accesses::of(&step, &images));
        let accesses = thunks.iter().map(accesses).collect::<Option<Vec<Accesses>>>();
        let places = accesses.map(|accesses| places(&accesses, streams));
        Sequence { key, thunks: thunks.to_vec(), places, graph: None }
    }

    /// Returns the stream of each thunk, and the earlier thunks for which it waits. Returns `None`
    /// if the sequence contains loops or branches.
    pub fn places(&self) -> Option<&[Place]> {
        self.places.as_deref()
    }

    /// Returns the graph of the sequence. The first call builds the graph.
    pub fn graph(
        &mut self,
        context: &Arc<CudaContext>,
        code: GraphCode,
        streams: usize,
        frame: &Frame,
    ) -> Result<&mut LoadedGraph, RunError> {
        let graph = match self.graph.take() {
            Some(graph) => graph,
            None => {
                let needs_host = || RunError::Device("a graph cannot contain a routine of the host".into());
                let level = Level::of(&self.thunks, &images(code.kernels), streams).ok_or_else(needs_host)?;
                LoadedGraph::new(context, code, &level, frame)?
            }
        };
        Ok(self.graph.insert(graph))
    }
}

fn images(kernels: &[LoadedFunction]) -> Vec<&KernelImage> {
    kernels.iter().map(|function| &function.image).collect()
}
