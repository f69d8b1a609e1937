//! Conditions. A kernel sets a condition, and a conditional node of a graph reads it to decide
//! which graphs the node executes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fusebox_ptx::{CONDITION, Fault, Stamp};

use crate::engine::Ticket;
use crate::space::{Space, stamp};
use crate::status::{Answer, Status};

/// A condition: four bytes of the device's memory, which kernels set and a node reads.
#[derive(Debug)]
pub struct Condition {
    space: Arc<Space>,
    address: u64,
    /// The value at the start of each launch. Without a value, the bytes of the condition count as
    /// never written until a kernel sets them.
    pub default: Option<u32>,
    /// The address of the graph that contains the condition's node.
    graph: usize,
    has_node: AtomicBool,
}

/// Which of its graphs a conditional node executes, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repetition {
    /// Executes the first graph if the condition is not zero, else the second graph if the node has
    /// two.
    If,
    /// Executes the graph again and again, as long as the condition is not zero.
    While,
    /// Executes the graph whose number is the condition's value.
    Switch,
}

impl Condition {
    /// Makes a condition for a node of the graph at an address.
    pub fn new(space: &Arc<Space>, graph: usize, default: Option<u32>) -> Answer<Condition> {
        let address = space.memory.allocate(4, 4).map_err(|_| Status::OUT_OF_MEMORY)?;
        Ok(Condition { space: space.clone(), address, default, graph, has_node: AtomicBool::new(false) })
    }

    /// Returns the handle by which the caller and kernels name the condition.
    pub fn handle(&self) -> u64 {
        CONDITION + self.address
    }

    /// Returns the first error of the condition's context, if there is one.
    pub fn check(&self) -> Answer {
        self.space.check()
    }

    /// Returns the address of the condition's value in device memory.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Whether the condition is for a node of the graph at an address.
    pub fn is_of(&self, graph: usize) -> bool {
        self.graph == graph
    }

    /// Assigns the condition to a node of the graph at an address. Fails if the condition was made
    /// for another graph, or if the condition already has a node.
    pub fn give_to(&self, graph: usize) -> Answer {
        if !self.is_of(graph) || self.has_node.swap(true, Ordering::AcqRel) {
            return Err(Status::INVALID_VALUE);
        }
        Ok(())
    }

    /// Reads the value. In the order of work, the read counts as the last work before the node in
    /// the node's lane. Therefore the node's graphs, which may set the condition again, are ordered
    /// after the read.
    pub fn value(&self, ticket: &Ticket) -> Result<u32, Fault> {
        let mut bytes = [0; 4];
        let when = Stamp { position: ticket.position.saturating_sub(1), ..stamp(ticket) };
        self.space.memory.read(self.address, &mut bytes, &when)?;
        Ok(u32::from_le_bytes(bytes))
    }
}

impl Drop for Condition {
    fn drop(&mut self) {
        self.space.memory.release(self.address);
    }
}
