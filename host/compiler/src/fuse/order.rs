//! The steps of a computation and what must come before what.

use std::collections::{BTreeSet, HashMap, HashSet};

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

/// Steps with the values that connect them, in an order in which they may be executed. A step keeps its number when others are
/// joined to it.
pub struct Graph {
    /// `None`: joined to another.
    steps: Vec<Option<Step>>,
    makers: HashMap<InstrId, usize>,
    /// Per value, the steps that read it.
    readers: HashMap<InstrId, BTreeSet<usize>>,
    order: Vec<usize>,
    /// Per step, where it stands in the order.
    position: Vec<usize>,
}

impl Graph {
    /// The graph of steps in an order in which they may be executed.
    pub fn new(computation: &Computation, steps: Vec<Step>) -> Graph {
        let order: Vec<usize> = (0..steps.len()).collect();
        let (makers, readers, position) = (HashMap::new(), HashMap::new(), order.clone());
        let mut graph = Graph { steps: Vec::new(), makers, readers, order, position };
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

    fn reads(&self, step: usize) -> Vec<InstrId> {
        self.region(step).map_or(Vec::new(), |region| region.operands().collect())
    }

    fn successors(&self, step: usize) -> BTreeSet<usize> {
        let made = self.steps[step].as_ref().map_or(&[][..], Step::makes);
        made.iter().flat_map(|value| self.readers(*value)).collect()
    }

    /// Whether two steps can be one: neither needs the other by way of a third.
    pub fn may_join(&self, a: usize, b: usize) -> bool {
        self.may_join_within(a, b, usize::MAX)
    }

    /// The same; of those that more steps lie between than `most`, not known.
    pub fn may_join_within(&self, a: usize, b: usize, most: usize) -> bool {
        let (first, last) = self.in_order(a, b);
        let behind = self.behind(first, last, most);
        behind.is_some_and(|behind| !behind.iter().any(|&step| self.successors(step).contains(&last)))
    }

    fn in_order(&self, a: usize, b: usize) -> (usize, usize) {
        if self.position[a] < self.position[b] { (a, b) } else { (b, a) }
    }

    /// What needs the first step and stands before the last: nothing else can lead from the one to the other. `None` if that is
    /// more than `most`.
    fn behind(&self, first: usize, last: usize, most: usize) -> Option<HashSet<usize>> {
        let stands_between = |step: &usize| self.position[*step] < self.position[last];
        let mut behind: HashSet<usize> = self.successors(first).into_iter().filter(stands_between).collect();
        let mut pending: Vec<usize> = behind.iter().copied().collect();
        while let Some(step) = pending.pop() {
            if behind.len() > most {
                return None;
            }
            let next = self.successors(step).into_iter().filter(stands_between);
            pending.extend(next.filter(|&next| behind.insert(next)));
        }
        Some(behind)
    }

    /// Makes `a` compute what both computed. What needs the first of the two comes after them from now on.
    pub fn join(&mut self, a: usize, b: usize, merged: Region) {
        let (first, last) = self.in_order(a, b);
        let behind = self.behind(first, last, usize::MAX).unwrap_or_default();
        let between = self.position[first]..=self.position[last];
        let (after, mut order): (Vec<usize>, Vec<usize>) = self.order[between.clone()]
            .iter()
            .filter(|&&step| step != a && step != b)
            .partition(|step| behind.contains(step));
        order.extend([a, b]);
        order.extend(after);
        for (position, step) in between.zip(order) {
            self.order[position] = step;
            self.position[step] = position;
        }
        for value in self.reads(a).into_iter().chain(self.reads(b)) {
            if let Some(readers) = self.readers.get_mut(&value) {
                readers.retain(|&reader| reader != a && reader != b);
            }
        }
        merged.operands().for_each(|value| {
            self.readers.entry(value).or_default().insert(a);
        });
        merged.roots.iter().for_each(|&value| {
            self.makers.insert(value, a);
        });
        self.steps[a] = Some(Step::Kernel(merged));
        self.steps[b] = None;
    }

    /// The steps, makers before readers.
    pub fn steps(mut self) -> Vec<Step> {
        let order = std::mem::take(&mut self.order);
        order.into_iter().filter_map(|step| self.steps[step].take()).collect()
    }
}
