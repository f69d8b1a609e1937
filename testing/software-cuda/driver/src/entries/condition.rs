//! Conditions of graphs, and nodes that execute graphs depending on a condition.

use std::sync::{Arc, PoisonError};

use super::entry::entries;
use super::graph::{Position, add};
use crate::abi::{ConditionalNode, In, Out};
use crate::driver::Driver;
use crate::graph::{Condition, Conditional, Graph, NodeKind, Repetition};
use crate::status::{Answer, Status};

/// The flag of a condition that has a value at the start of each launch.
const HAS_DEFAULT: u32 = 1;
/// The number that stands for conditional nodes among the kinds of nodes.
const CONDITIONAL: u32 = 13;

/// The first version of CUDA with conditions.
const FIRST_VERSION: i32 = 12_040;

/// Fails if the settings describe a driver that is too old for conditions.
fn check_version(driver: &Driver) -> Answer {
    if driver.settings.version < FIRST_VERSION { Err(Status::NOT_SUPPORTED) } else { Ok(()) }
}

/// Adds a conditional node, and writes the handles of its new graphs.
fn add_conditional(driver: &Driver, node: Out<usize>, position: Position, to: Out<ConditionalNode>) -> Answer {
    check_version(driver)?;
    let parameters = to.get()?;
    if parameters.kind != CONDITIONAL {
        return Err(Status::NOT_SUPPORTED);
    }
    let (repetition, most) = match parameters.repetition {
        0 => (Repetition::If, 2),
        1 => (Repetition::While, 1),
        2 => (Repetition::Switch, u32::MAX),
        _ => return Err(Status::INVALID_VALUE),
    };
    if !(1..=most).contains(&parameters.size) {
        return Err(Status::INVALID_VALUE);
    }
    let graph = driver.graphs.get(position.graph)?;
    let space = driver.current()?.space.clone();
    let key = (space.number, parameters.condition);
    let known = driver.conditions.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
    let condition = known.ok_or(Status::INVALID_VALUE)?;
    condition.give_to(graph.address())?;
    let bodies: Vec<Arc<Graph>> = (0..parameters.size).map(|_| Arc::new(Graph::body())).collect();
    let handles = bodies.iter().map(|body| driver.graphs.add(body.clone())).collect();
    let conditional = Arc::new(Conditional { condition, repetition, bodies, handles });
    add(driver, node, position, NodeKind::Conditional(space, conditional.clone()))?;
    to.set(ConditionalNode { graphs: conditional.handles.as_ptr(), ..parameters })
}

entries! {
    /// Makes a condition for a node of a graph.
    fn cuGraphConditionalHandleCreate(
        handle: Out<u64>, graph: usize, _context: usize, default: u32, flags: u32,
    ) |driver| {
        check_version(driver)?;
        if flags & !HAS_DEFAULT != 0 {
            return Err(Status::INVALID_VALUE);
        }
        let space = driver.current()?.space.clone();
        let graph = driver.graphs.get(graph)?;
        let condition = Condition::new(&space, graph.address(), (flags & HAS_DEFAULT != 0).then_some(default))?;
        handle.set(condition.handle())?;
        let mut conditions = driver.conditions.lock().unwrap_or_else(PoisonError::into_inner);
        conditions.insert((space.number, condition.handle()), Arc::new(condition));
        Ok(())
    }

    /// Adds a node. In the software driver, this function adds only conditional nodes.
    fn cuGraphAddNode(
        node: Out<usize>, graph: usize, before: In<usize>, count: usize, parameters: Out<ConditionalNode>,
    ) |driver| {
        add_conditional(driver, node, Position { graph, before, count }, parameters)
    }

    /// Adds a conditional node. Refuses edges that have data.
    fn cuGraphAddNode_v2(
        node: Out<usize>, graph: usize, before: In<usize>, data: In<u64>, count: usize,
        parameters: Out<ConditionalNode>,
    ) |driver| {
        if !data.is_null() {
            return Err(Status::NOT_SUPPORTED);
        }
        add_conditional(driver, node, Position { graph, before, count }, parameters)
    }
}
