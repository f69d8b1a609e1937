//! The steps of a computation and what must come before what.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use fusebox_core::hlo::{Computation, InstrId};

use super::region::Region;

/// What becomes one instruction of the new sequence.
#[derive(Debug)]
pub enum Step {
    /// An instruction as it is.
    Single(InstrId),
    /// A fusion.
    Kernel(Region),
}

impl Step {
    /// The instructions whose values it leaves in buffers.
    pub fn makes(&self) -> &[InstrId] {
        match self {
            Step::Single(id) => std::slice::from_ref(id),
            Step::Kernel(region) => &region.roots,
        }
    }

    fn operands(&self, computation: &Computation) -> Vec<InstrId> {
        match self {
            Step::Single(id) => computation.instruction(*id).operands.clone(),
            Step::Kernel(region) => region.operands().collect(),
        }
    }
}

/// Steps with the values that connect them. A step keeps its number when others are joined to it.
pub struct Graph {
    /// `None`: joined to another.
    steps: Vec<Option<Step>>,
    makers: HashMap<InstrId, usize>,
    /// Per value, the steps that read it.
    readers: HashMap<InstrId, BTreeSet<usize>>,
}

impl Graph {
    /// The graph of steps in an order in which they may be executed.
    pub fn new(computation: &Computation, steps: Vec<Step>) -> Graph {
        let mut graph = Graph { steps: Vec::new(), makers: HashMap::new(), readers: HashMap::new() };
        for (number, step) in steps.into_iter().enumerate() {
            for value in step.operands(computation) {
                graph.readers.entry(value).or_default().insert(number);
            }
            step.makes().iter().for_each(|&value| {
                graph.makers.insert(value, number);
            });
            graph.steps.push(Some(step));
        }
        graph
    }

    /// The kernel of a step.
    pub fn region(&self, step: usize) -> Option<&Region> {
        match self.steps.get(step)? {
            Some(Step::Kernel(region)) => Some(region),
            _ => None,
        }
    }

    /// The step that makes a value.
    pub fn maker(&self, value: InstrId) -> Option<usize> {
        self.makers.get(&value).copied()
    }

    /// The steps that read a value.
    pub fn readers(&self, value: InstrId) -> Vec<usize> {
        self.readers.get(&value).into_iter().flatten().copied().collect()
    }

    fn successors(&self, step: usize) -> BTreeSet<usize> {
        let made = self.steps[step].as_ref().map_or(&[][..], Step::makes);
        made.iter().flat_map(|value| self.readers(*value)).collect()
    }

    /// Whether two steps can be one: neither needs the other by way of a third.
    pub fn may_join(&self, a: usize, b: usize) -> bool {
        !self.leads_around(a, b) && !self.leads_around(b, a)
    }

    fn leads_around(&self, from: usize, to: usize) -> bool {
        let mut pending: Vec<usize> = self.successors(from).into_iter().filter(|&next| next != to).collect();
        let mut seen: HashSet<usize> = pending.iter().copied().collect();
        while let Some(step) = pending.pop() {
            if step == to {
                return true;
            }
            pending.extend(self.successors(step).into_iter().filter(|next| seen.insert(*next)));
        }
        false
    }

    /// Makes `a` compute what both computed.
    pub fn join(&mut self, a: usize, b: usize, merged: Region) {
        for readers in self.readers.values_mut() {
            if readers.remove(&b) {
                readers.insert(a);
            }
        }
        for value in &merged.roots {
            self.makers.insert(*value, a);
            if let Some(readers) = self.readers.get_mut(value) {
                readers.remove(&a);
            }
        }
        self.steps[a] = Some(Step::Kernel(merged));
        self.steps[b] = None;
    }

    /// The steps, makers before readers, otherwise in the order of what they make.
    pub fn steps(mut self) -> Vec<Step> {
        let last = |step: &Step| step.makes().last().copied();
        let mut missing: BTreeMap<usize, usize> = BTreeMap::new();
        let present: Vec<usize> = (0..self.steps.len()).filter(|&step| self.steps[step].is_some()).collect();
        for &step in &present {
            self.successors(step).into_iter().for_each(|next| *missing.entry(next).or_default() += 1);
        }
        let key = |graph: &Graph, step: usize| (graph.steps[step].as_ref().and_then(last), step);
        let mut ready: BTreeSet<(Option<InstrId>, usize)> =
            present.iter().filter(|step| !missing.contains_key(step)).map(|&step| key(&self, step)).collect();
        let mut ordered = Vec::with_capacity(present.len());
        while let Some((_, step)) = ready.pop_first() {
            for next in self.successors(step) {
                if let Some(count) = missing.get_mut(&next) {
                    *count -= 1;
                    if *count == 0 {
                        ready.insert(key(&self, next));
                    }
                }
            }
            ordered.push(step);
        }
        ordered.into_iter().filter_map(|step| self.steps[step].take()).collect()
    }
}
