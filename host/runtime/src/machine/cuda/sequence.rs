//! Sequences of launches and copies that were executed before.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::CudaContext;

use super::graph::LoadedGraph;
use super::module::LoadedFunction;
use super::order::{Accesses, Place, places};
use crate::executable::DeviceStep;
use crate::machine::frame::Frame;
use crate::{KernelImage, RunError, Thunk};

/// The sequences of a program, by the addresses and the numbers of their thunks.
#[derive(Debug, Default)]
pub struct Sequences(Mutex<HashMap<(usize, usize), Sequence>>);

/// A sequence of launches and copies. The order between two of its members is that of the sequence
/// where they access the same memory, and open otherwise.
#[derive(Debug)]
pub struct Sequence {
    key: (usize, usize),
    thunks: Vec<Thunk>,
    places: Vec<Place>,
    graph: Option<LoadedGraph>,
}

impl Sequences {
    /// Takes a sequence out of the collection, or makes a new one. Also returns whether it is new.
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
        let images: Vec<&KernelImage> = kernels.iter().map(|function| &function.image).collect();
        let steps = thunks.iter().filter_map(DeviceStep::of);
        let accesses: Vec<Accesses> = steps.map(|step| Accesses::of(&step, &images)).collect();
        Sequence { key, thunks: thunks.to_vec(), places: places(&accesses, streams), graph: None }
    }

    /// Returns the places of the thunks among all streams.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// Returns the graph of the sequence. Builds it when it is needed for the first time.
    pub fn graph(
        &mut self,
        context: &Arc<CudaContext>,
        kernels: &[LoadedFunction],
        frame: &Frame,
    ) -> Result<&mut LoadedGraph, RunError> {
        let graph = match self.graph.take() {
            Some(graph) => graph,
            None => LoadedGraph::new(context, kernels, &self.thunks, &self.places, frame)?,
        };
        Ok(self.graph.insert(graph))
    }
}
