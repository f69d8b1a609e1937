//! Conditions, which kernels set, and nodes that execute graphs depending on a condition.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use fusebox_ptx::{CONDITION, Fault, Stamp};

use super::{Graph, Plan};
use crate::engine::{Engine, Ticket};
use crate::space::{Space, stamp};
use crate::status::{Answer, Status};
use crate::work::Job;

/// A condition: four bytes of the device's memory, which kernels set and a node reads.
#[derive(Debug)]
pub struct Condition {
    space: Arc<Space>,
    address: u64,
    /// The value at the start of each launch. Without it, the bytes count as never written until a
    /// kernel sets them.
    pub default: Option<u32>,
    /// The graph that contains the condition's node.
    graph: Weak<Graph>,
    has_node: AtomicBool,
}

/// How often a node executes which graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repetition {
    /// The first graph if the condition is not zero, else the second one if there is one.
    If,
    /// The graph, as long as the condition is not zero.
    While,
    /// The graph whose number is the condition's value.
    Switch,
}

/// A node that executes graphs depending on a condition.
#[derive(Debug)]
pub struct Conditional {
    pub condition: Arc<Condition>,
    pub repetition: Repetition,
    pub bodies: Vec<Arc<Graph>>,
    /// The handles of the graphs, which the caller reads from here.
    pub handles: Box<[usize]>,
}

/// A conditional node of a graph that was launched.
#[derive(Clone, Debug)]
pub struct Control {
    pub condition: Arc<Condition>,
    pub repetition: Repetition,
    pub bodies: Vec<Arc<Plan>>,
    pub engine: Arc<Engine<Job>>,
}

impl Condition {
    /// Makes a condition for a node of a graph.
    pub fn new(space: &Arc<Space>, graph: &Arc<Graph>, default: Option<u32>) -> Answer<Condition> {
        let address = space.memory.allocate(4, 4).map_err(|_| Status::OUT_OF_MEMORY)?;
        let (graph, has_node) = (Arc::downgrade(graph), AtomicBool::new(false));
        Ok(Condition { space: space.clone(), address, default, graph, has_node })
    }

    /// Returns the handle for the caller and for kernels.
    pub fn handle(&self) -> u64 {
        CONDITION + self.address
    }

    /// The address of the value.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Whether the condition is for a node of a graph.
    pub fn is_of(&self, graph: &Arc<Graph>) -> bool {
        std::ptr::eq(self.graph.as_ptr(), Arc::as_ptr(graph))
    }

    /// Gives the condition to a node of a graph. Fails for another graph than that of the
    /// condition, or if the condition has a node already.
    pub fn give_to(&self, graph: &Arc<Graph>) -> Answer {
        if !self.is_of(graph) || self.has_node.swap(true, Ordering::AcqRel) {
            return Err(Status::INVALID_VALUE);
        }
        Ok(())
    }

    /// Reads the value. The reading counts as the end of the earlier work of the node's lane, so
    /// that the node's graphs, which may set the condition again, are ordered after it.
    fn value(&self, ticket: &Ticket) -> Result<u32, Fault> {
        let mut bytes = [0; 4];
        let when = Stamp { position: ticket.position.saturating_sub(1), ..stamp(ticket) };
        self.space.memory.read(self.address, &mut bytes, &when)?;
        Ok(u32::from_le_bytes(bytes))
    }
}

impl Control {
    /// Executes the graphs. Their work is ordered before everything that waits for this work.
    pub fn perform(&self, ticket: &Ticket) -> Result<(), Fault> {
        let mut now = ticket.clone();
        let mut has_body = false;
        while let Some(body) = self.body(self.condition.value(&now)?) {
            has_body = true;
            let end = body.launch(&self.engine, &now.before);
            self.engine.finish_in_background(&end);
            // The next reading of the condition is ordered after the body.
            now.before = self.engine.completed(&end);
            if self.repetition != Repetition::While || self.condition.space.check().is_err() {
                break;
            }
        }
        if has_body {
            self.engine.finish_inner(ticket, &now.before);
        }
        Ok(())
    }

    fn body(&self, value: u32) -> Option<&Arc<Plan>> {
        match self.repetition {
            Repetition::If => self.bodies.get(usize::from(value == 0)),
            Repetition::While => self.bodies.first().filter(|_| value != 0),
            Repetition::Switch => self.bodies.get(value as usize),
        }
    }
}

impl Drop for Condition {
    fn drop(&mut self) {
        self.space.memory.release(self.address);
    }
}
