//! Graphs of work, which a caller builds node by node or captures from streams.
//!
//! ```text
//! condition.rs   conditions, and the nodes that they control
//! plan.rs        the steps of a graph and their lanes
//! executable.rs  graphs that can be launched
//! ```

mod condition;
mod executable;
mod plan;

pub use condition::{Condition, Repetition};
pub use executable::Executable;
pub use plan::Plan;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::signal::Signal;
use crate::space::Space;
use crate::status::{Answer, Status};
use crate::work::{Job, Work};

/// The work of a node.
#[derive(Clone, Debug)]
pub enum NodeKind {
    Job(Job),
    /// A copy of another graph, made when the node was added.
    Child(Arc<Graph>),
    /// Records an event.
    Record(Job, Arc<Signal>),
    /// Waits for an event: for the last recording that precedes the launch of the graph.
    Wait(Job, Arc<Signal>),
    /// Executes the graphs that a condition selects.
    Conditional(Arc<Space>, Arc<Conditional>),
}

/// A node that executes graphs depending on a condition.
#[derive(Debug)]
pub struct Conditional {
    pub condition: Arc<Condition>,
    pub repetition: Repetition,
    pub bodies: Vec<Arc<Graph>>,
    /// The handles of the graphs. The caller reads the handles from this memory.
    pub handles: Box<[usize]>,
}

/// A node and the nodes after which it is executed.
#[derive(Clone, Debug)]
pub struct Node {
    pub kind: NodeKind,
    pub after: BTreeSet<usize>,
}

/// A graph of work. The numbers of its nodes do not change when other nodes are removed.
#[derive(Debug, Default)]
pub struct Graph {
    nodes: Mutex<Vec<Option<Node>>>,
    /// Whether a conditional node executes the graph.
    is_body: bool,
}

impl NodeKind {
    /// Returns the number that stands for the kind of node in the C interface.
    pub fn number(&self) -> u32 {
        match self {
            NodeKind::Job(job) => match job.work {
                Work::Launch(_) => 0,
                Work::Copy(_) => 1,
                Work::Fill(_) => 2,
                Work::Call(_) => 3,
                Work::Allocate(_) => 10,
                Work::Free(_) => 11,
                Work::Record(_) | Work::Issuing(_) | Work::Nothing => 5,
            },
            NodeKind::Child(_) => 4,
            NodeKind::Wait(..) => 6,
            NodeKind::Record(..) => 7,
            NodeKind::Conditional(..) => 13,
        }
    }
}

impl NodeKind {
    /// Whether the graph of a conditional node may contain a node of this kind: a launch, a copy, a
    /// fill, a child graph, a conditional node or an empty node.
    fn is_allowed_in_bodies(&self) -> bool {
        match self {
            NodeKind::Job(job) => {
                matches!(job.work, Work::Launch(_) | Work::Copy(_) | Work::Fill(_) | Work::Nothing)
            }
            NodeKind::Child(_) | NodeKind::Conditional(..) => true,
            NodeKind::Record(..) | NodeKind::Wait(..) => false,
        }
    }
}

impl Graph {
    /// Returns a number that no other live graph has.
    pub fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Returns a copy of the graph. Later changes of the graph do not change the copy.
    pub fn copied(&self) -> Graph {
        Graph { nodes: Mutex::new(self.lock().clone()), is_body: false }
    }

    /// Returns a graph without nodes for a conditional node.
    pub fn body() -> Graph {
        Graph { is_body: true, ..Graph::default() }
    }

    /// Returns the graphs of all conditional nodes.
    pub fn bodies(&self) -> Vec<Arc<Graph>> {
        let nodes = self.lock();
        let conditionals = nodes.iter().flatten().filter_map(|node| match &node.kind {
            NodeKind::Conditional(_, conditional) => Some(conditional),
            _ => None,
        });
        conditionals.flat_map(|conditional| conditional.bodies.iter().cloned()).collect()
    }

    /// Adds a node that is executed after other nodes, and returns its number.
    pub fn add(&self, kind: NodeKind, after: impl IntoIterator<Item = usize>) -> Answer<usize> {
        if self.is_body && !kind.is_allowed_in_bodies() {
            return Err(Status::NOT_SUPPORTED);
        }
        let mut nodes = self.lock();
        let after: BTreeSet<usize> = after.into_iter().collect();
        if after.iter().any(|&number| !nodes.get(number).is_some_and(Option::is_some)) {
            return Err(Status::INVALID_VALUE);
        }
        nodes.push(Some(Node { kind, after }));
        Ok(nodes.len() - 1)
    }

    /// Removes a node and its edges.
    pub fn remove(&self, number: usize) -> Answer {
        let mut nodes = self.lock();
        nodes.get_mut(number).and_then(Option::take).ok_or(Status::INVALID_VALUE)?;
        nodes.iter_mut().flatten().for_each(|node| _ = node.after.remove(&number));
        Ok(())
    }

    /// Adds an edge, or removes an edge. Fails if the edge to add already exists, or if the edge to
    /// remove does not exist.
    pub fn set_edge(&self, from: usize, to: usize, exists: bool) -> Answer {
        let mut nodes = self.lock();
        if from == to || !nodes.get(from).is_some_and(Option::is_some) {
            return Err(Status::INVALID_VALUE);
        }
        let node = nodes.get_mut(to).and_then(Option::as_mut).ok_or(Status::INVALID_VALUE)?;
        let changed = if exists { node.after.insert(from) } else { node.after.remove(&from) };
        changed.then_some(()).ok_or(Status::INVALID_VALUE)
    }

    /// Returns a node.
    pub fn node(&self, number: usize) -> Answer<Node> {
        self.lock().get(number).cloned().flatten().ok_or(Status::INVALID_VALUE)
    }

    /// Replaces the work of a node by work of the same kind.
    pub fn replace(&self, number: usize, kind: NodeKind) -> Answer {
        let mut nodes = self.lock();
        let node = nodes.get_mut(number).and_then(Option::as_mut).ok_or(Status::INVALID_VALUE)?;
        if node.kind.number() != kind.number() {
            return Err(Status::INVALID_VALUE);
        }
        node.kind = kind;
        Ok(())
    }

    /// Returns the numbers of all nodes.
    pub fn numbers(&self) -> Vec<usize> {
        self.lock().iter().enumerate().filter_map(|(number, node)| node.as_ref().map(|_| number)).collect()
    }

    /// Returns all nodes with their numbers, each after the nodes that it depends on. Fails if the
    /// edges form a cycle.
    pub fn ordered(&self) -> Answer<Vec<(usize, Node)>> {
        let nodes = self.lock();
        let mut open: Vec<(usize, &Node)> =
            nodes.iter().enumerate().filter_map(|(number, node)| Some((number, node.as_ref()?))).collect();
        let (mut ordered, mut done) = (Vec::new(), BTreeSet::new());
        while !open.is_empty() {
            let before = ordered.len();
            open.retain(|(number, node)| {
                let is_ready = node.after.is_subset(&done);
                if is_ready {
                    done.insert(*number);
                    ordered.push((*number, (*node).clone()));
                }
                !is_ready
            });
            if ordered.len() == before {
                return Err(Status::INVALID_VALUE);
            }
        }
        Ok(ordered)
    }

    /// Returns the given nodes and all nodes before them.
    pub fn up_to(&self, ends: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
        let nodes = self.lock();
        let (mut reached, mut open) = (BTreeSet::new(), Vec::from_iter(ends));
        while let Some(number) = open.pop() {
            if let Some(node) = nodes.get(number).and_then(Option::as_ref)
                && reached.insert(number)
            {
                open.extend(&node.after);
            }
        }
        reached
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Option<Node>>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
