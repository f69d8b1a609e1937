//! The steps of a computation and their dependences.

use std::collections::{BTreeSet, HashSet};

use fusebox_core::hlo::{Computation, InstrId};

use super::region::Region;

/// A step: a part of the old computation that becomes one instruction of the new computation.
#[derive(Clone, Debug)]
pub enum SequenceStep {
    /// An unchanged instruction.
    Single(InstrId),
    /// A fusion.
    Kernel(Region),
}

impl SequenceStep {
    /// Returns the instructions whose values the step writes to buffers.
    pub fn results(&self) -> &[InstrId] {
        match self {
            SequenceStep::Single(id) => std::slice::from_ref(id),
            SequenceStep::Kernel(region) => &region.roots,
        }
    }

    /// Returns the values that the step reads.
    pub fn operands(&self, computation: &Computation) -> Vec<InstrId> {
        match self {
            SequenceStep::Single(id) => computation.instruction(*id).operands.clone(),
            SequenceStep::Kernel(region) => region.operands().collect(),
        }
    }
}

/// Steps with the values that connect them, in a valid order of execution. A step keeps its number
/// when other steps are joined to this step.
#[derive(Clone)]
pub struct StepGraph {
    /// The steps by number. `None` for a step that was joined to another.
    steps: Vec<Option<SequenceStep>>,
    /// The step that computes each value.
    producers: Vec<Option<usize>>,
    /// The steps that read each value, in order of their numbers.
    readers: Vec<Vec<usize>>,
    order: Vec<usize>,
    /// Position of each step in the order.
    position: Vec<usize>,
}

impl StepGraph {
    /// Creates a graph of steps that are in a valid order of execution.
    pub fn new(computation: &Computation, steps: Vec<SequenceStep>) -> StepGraph {
        let values = computation.instructions.len();
        let order: Vec<usize> = (0..steps.len()).collect();
        let (producers, readers) = (vec![None; values], vec![Vec::new(); values]);
        let mut graph = StepGraph { steps: Vec::new(), producers, readers, position: order.clone(), order };
        for (number, step) in steps.into_iter().enumerate() {
            step.operands(computation).into_iter().for_each(|value| graph.add_reader(value, number));
            step.results().iter().for_each(|value| graph.producers[value.index()] = Some(number));
            graph.steps.push(Some(step));
        }
        graph
    }

    /// Creates a graph with one step per instruction of a computation. Steps have the numbers of
    /// their instructions.
    pub fn of_instructions(computation: &Computation) -> StepGraph {
        StepGraph::new(computation, computation.ids().map(SequenceStep::Single).collect())
    }

    fn add_reader(&mut self, value: InstrId, step: usize) {
        let readers = &mut self.readers[value.index()];
        if let Err(place) = readers.binary_search(&step) {
            readers.insert(place, step);
        }
    }

    fn remove_reader(&mut self, value: InstrId, step: usize) {
        self.readers[value.index()].retain(|&reader| reader != step);
    }

    /// Returns the position of a step in the order.
    pub fn position(&self, step: usize) -> usize {
        self.position[step]
    }

    /// Returns the steps from one position to another, both included, in order.
    pub fn between(&self, first: usize, last: usize) -> impl Iterator<Item = &SequenceStep> {
        self.order[first..=last].iter().filter_map(|&step| self.steps[step].as_ref())
    }

    /// Returns the kernel of a step.
    pub fn region(&self, step: usize) -> Option<&Region> {
        match self.steps.get(step)? {
            Some(SequenceStep::Kernel(region)) => Some(region),
            _ => None,
        }
    }

    /// Returns the step that computes a value.
    pub fn producer(&self, value: InstrId) -> Option<usize> {
        self.producers[value.index()]
    }

    /// Returns the steps that read a value.
    pub fn readers(&self, value: InstrId) -> &[usize] {
        &self.readers[value.index()]
    }

    fn reads(&self, step: usize) -> Vec<InstrId> {
        self.region(step).map_or(Vec::new(), |region| region.operands().collect())
    }

    fn successors(&self, step: usize) -> BTreeSet<usize> {
        let made = self.steps[step].as_ref().map_or(&[][..], SequenceStep::results);
        made.iter().flat_map(|value| self.readers(*value)).copied().collect()
    }

    /// Whether two steps can be joined. Two steps can be joined if no path from one to the other
    /// contains a third step.
    pub fn may_join(&self, a: usize, b: usize) -> bool {
        self.may_join_within(a, b, usize::MAX)
    }

    /// Whether two steps can be joined, as in `may_join`. Returns false if more than `most` steps
    /// depend on the earlier step and precede the later step.
    pub fn may_join_within(&self, a: usize, b: usize, most: usize) -> bool {
        let (first, last) = self.in_order(a, b);
        let behind = self.behind(first, last, most);
        behind.is_some_and(|behind| !behind.iter().any(|&step| self.successors(step).contains(&last)))
    }

    fn in_order(&self, a: usize, b: usize) -> (usize, usize) {
        if self.position[a] < self.position[b] { (a, b) } else { (b, a) }
    }

    /// Returns the steps before `last` that depend on `first`. A path from `first` to `last` can
    /// lead only through steps that depend on `first`. `None` if there are more than `most` steps
    /// to return.
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

    /// Joins step `b` to step `a`, which becomes the kernel `merged`. Steps between `a` and `b`
    /// move after the kernel if they depend on the earlier of `a` and `b`.
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
        for step in [a, b] {
            self.reads(step).into_iter().for_each(|value| self.remove_reader(value, step));
        }
        self.steps[b] = None;
        self.put(a, merged);
    }

    /// Replaces a step by a kernel.
    fn put(&mut self, step: usize, region: Region) {
        region.operands().for_each(|value| self.add_reader(value, step));
        region.roots.iter().for_each(|value| self.producers[value.index()] = Some(step));
        self.steps[step] = Some(SequenceStep::Kernel(region));
    }

    /// Replaces single steps, including the steps of the kernel's roots, by a kernel. The kernel
    /// gets the number of the last replaced step, and precedes all steps that came after that step.
    /// Steps between position `from` and the last replaced step move after the kernel if they
    /// depend on the kernel.
    pub fn replace(&mut self, computation: &Computation, gone: &[InstrId], from: usize, region: Region) {
        let Some(kernel) = gone.iter().map(|id| id.index()).max_by_key(|&step| self.position[step]) else { return };
        let last = self.position[kernel];
        for &id in gone {
            let operands = &computation.instruction(id).operands;
            operands.iter().for_each(|&value| self.remove_reader(value, id.index()));
            self.steps[id.index()] = None;
        }
        let mut made: HashSet<InstrId> = region.roots.iter().copied().collect();
        let (mut before, mut behind, mut holes) = (Vec::new(), vec![kernel], Vec::new());
        for &number in &self.order[from.min(last)..=last] {
            match &self.steps[number] {
                None if number == kernel => {}
                None => holes.push(number),
                Some(step) if step.operands(computation).iter().any(|value| made.contains(value)) => {
                    made.extend(step.results());
                    behind.push(number);
                }
                Some(_) => before.push(number),
            }
        }
        let order = before.into_iter().chain(behind).chain(holes);
        for (position, number) in (from.min(last)..).zip(order) {
            self.order[position] = number;
            self.position[number] = position;
        }
        self.put(kernel, region);
    }

    /// Returns the steps in order, producers before consumers.
    pub fn into_steps(mut self) -> Vec<SequenceStep> {
        let order = std::mem::take(&mut self.order);
        order.into_iter().filter_map(|step| self.steps[step].take()).collect()
    }
}
