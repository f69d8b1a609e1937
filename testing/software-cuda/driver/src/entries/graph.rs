//! Graphs that a caller builds node by node.

use std::sync::Arc;

use super::copy::{copy_3d, fill_rows};
use super::entry::entries;
use super::launch::node_work;
use crate::abi::{Copy3d, FillNode, HostNode, In, KernelNode, Out};
use crate::driver::{Driver, NodeHandle};
use crate::graph::{Graph, NodeKind};
use crate::status::{Answer, Status};
use crate::work::{HostCall, HostFunction, Job, Work};

/// Returns the number of a node, which must be a node of this graph.
fn number_of_node(driver: &Driver, graph: &Arc<Graph>, node: usize) -> Answer<usize> {
    let found = driver.nodes.get(node)?;
    if Arc::ptr_eq(&found.graph, graph) { Ok(found.number) } else { Err(Status::INVALID_VALUE) }
}

/// Returns the numbers of a list of nodes.
pub fn node_numbers(driver: &Driver, graph: &Arc<Graph>, nodes: In<usize>, count: usize) -> Answer<Vec<usize>> {
    nodes.list(count)?.into_iter().map(|node| number_of_node(driver, graph, node)).collect()
}

/// Returns the handles of nodes, and creates a handle for each node that has none yet.
fn handles_of_nodes(driver: &Driver, graph: &Arc<Graph>, numbers: &[usize]) -> Vec<usize> {
    let all = driver.nodes.all();
    let handle = |&number: &usize| {
        let known = all.iter().find(|(_, node)| node.number == number && Arc::ptr_eq(&node.graph, graph));
        known.map_or_else(|| new_handle(driver, graph, number), |(handle, _)| *handle)
    };
    numbers.iter().map(handle).collect()
}

fn new_handle(driver: &Driver, graph: &Arc<Graph>, number: usize) -> usize {
    driver.nodes.add(Arc::new(NodeHandle { graph: graph.clone(), number }))
}

/// Writes a list of handles and the number of written handles. If the caller passes no memory for
/// handles, writes only the number of all handles.
fn set_handles(to: Out<usize>, count: Out<usize>, handles: &[usize]) -> Answer {
    if to.is_null() {
        return count.set(handles.len());
    }
    let room = count.get()?;
    to.set_list(handles, room)?;
    // The caller's memory may have room for more handles than the list contains.
    count.set(handles.len().min(room))
}

/// Where to add a node: the graph, and the nodes that come before the new node.
#[derive(Clone, Copy)]
pub struct Position {
    pub graph: usize,
    pub before: In<usize>,
    pub count: usize,
}

/// Adds a node to a graph and writes its handle.
pub fn add(driver: &Driver, node: Out<usize>, position: Position, kind: NodeKind) -> Answer {
    let graph = driver.graphs.get(position.graph)?;
    let before = node_numbers(driver, &graph, position.before, position.count)?;
    let number = graph.add(kind, before)?;
    node.set(new_handle(driver, &graph, number))
}

/// Returns a node that executes work in the current context.
pub fn job(driver: &Driver, work: Work) -> Answer<NodeKind> {
    Ok(NodeKind::Job(Job { space: driver.current()?.space.clone(), work }))
}

fn host_call(node: &HostNode) -> Answer<Work> {
    let function = HostFunction::Plain(node.function.ok_or(Status::INVALID_VALUE)?);
    Ok(Work::Call(HostCall { function, argument: node.argument }))
}

/// Replaces the work of a node.
fn replace(driver: &Driver, node: usize, kind: NodeKind) -> Answer {
    let node = driver.nodes.get(node)?;
    node.graph.replace(node.number, kind)
}

/// Adds or removes edges.
fn set_edges(driver: &Driver, graph: usize, [from, to]: [In<usize>; 2], count: usize, exist: bool) -> Answer {
    let graph = driver.graphs.get(graph)?;
    let [from, to] = [node_numbers(driver, &graph, from, count)?, node_numbers(driver, &graph, to, count)?];
    from.into_iter().zip(to).try_for_each(|(from, to)| graph.set_edge(from, to, exist))
}

entries! {
    /// Makes a graph without nodes.
    fn cuGraphCreate(graph: Out<usize>, flags: u32) |driver| {
        driver.current()?;
        if flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        graph.set(driver.graphs.add(Arc::default()))
    }

    /// Destroys a graph. Executable graphs that were made from this graph stay valid.
    fn cuGraphDestroy(graph: usize) |driver| {
        let mut open = vec![driver.graphs.remove(graph)?];
        while let Some(graph) = open.pop() {
            driver.nodes.remove_if(|node| Arc::ptr_eq(&node.graph, &graph));
            driver.forget_conditions(&graph);
            let bodies = graph.bodies();
            driver.graphs.remove_if(|other| bodies.iter().any(|body| std::ptr::eq(&**body, other)));
            open.extend(bodies);
        }
        Ok(())
    }

    /// Copies a graph.
    fn cuGraphClone(copy: Out<usize>, graph: usize) |driver| {
        let copied = driver.graphs.get(graph)?.copied();
        copy.set(driver.graphs.add(Arc::new(copied)))
    }

    /// Adds a node that launches a kernel.
    fn cuGraphAddKernelNode_v2(
        node: Out<usize>, graph: usize, before: In<usize>, count: usize, parameters: In<KernelNode>,
    ) |driver| {
        let kind = job(driver, node_work(driver, &parameters.get()?)?)?;
        add(driver, node, Position { graph, before, count }, kind)
    }

    /// Adds a copy.
    fn cuGraphAddMemcpyNode(
        node: Out<usize>, graph: usize, before: In<usize>, count: usize, copy: In<Copy3d>, _context: usize,
    ) |driver| {
        let kind = job(driver, Work::Copy(copy_3d(driver, &copy.get()?)?))?;
        add(driver, node, Position { graph, before, count }, kind)
    }

    /// Adds a fill.
    fn cuGraphAddMemsetNode(
        node: Out<usize>, graph: usize, before: In<usize>, count: usize, fill: In<FillNode>, _context: usize,
    ) |driver| {
        let kind = job(driver, Work::Fill(fill_rows(&fill.get()?)?))?;
        add(driver, node, Position { graph, before, count }, kind)
    }

    /// Adds a node that calls a function of the host.
    fn cuGraphAddHostNode(
        node: Out<usize>, graph: usize, before: In<usize>, count: usize, parameters: In<HostNode>,
    ) |driver| {
        let kind = job(driver, host_call(&parameters.get()?)?)?;
        add(driver, node, Position { graph, before, count }, kind)
    }

    /// Adds a node that only orders other nodes.
    fn cuGraphAddEmptyNode(node: Out<usize>, graph: usize, before: In<usize>, count: usize) |driver| {
        add(driver, node, Position { graph, before, count }, job(driver, Work::Nothing)?)
    }

    /// Adds a node that contains a copy of a graph.
    fn cuGraphAddChildGraphNode(
        node: Out<usize>, graph: usize, before: In<usize>, count: usize, child: usize,
    ) |driver| {
        let child = driver.graphs.get(child)?.copied();
        add(driver, node, Position { graph, before, count }, NodeKind::Child(Arc::new(child)))
    }

    /// Adds a node that records an event.
    fn cuGraphAddEventRecordNode(
        node: Out<usize>, graph: usize, before: In<usize>, count: usize, event: usize,
    ) |driver| {
        let signal = driver.events.get(event)?.signal.clone();
        let job = Job { space: driver.current()?.space.clone(), work: Work::Nothing };
        add(driver, node, Position { graph, before, count }, NodeKind::Record(job, signal))
    }

    /// Adds a node that waits for an event.
    fn cuGraphAddEventWaitNode(
        node: Out<usize>, graph: usize, before: In<usize>, count: usize, event: usize,
    ) |driver| {
        let signal = driver.events.get(event)?.signal.clone();
        let job = Job { space: driver.current()?.space.clone(), work: Work::Nothing };
        add(driver, node, Position { graph, before, count }, NodeKind::Wait(job, signal))
    }

    /// Adds a node that frees an allocation.
    fn cuGraphAddMemFreeNode(
        node: Out<usize>, graph: usize, before: In<usize>, count: usize, address: u64,
    ) |driver| {
        add(driver, node, Position { graph, before, count }, job(driver, Work::Free(address))?)
    }

    /// Removes a node and its edges.
    fn cuGraphDestroyNode(node: usize) |driver| {
        let node = driver.nodes.remove(node)?;
        node.graph.remove(node.number)
    }

    /// Adds edges.
    fn cuGraphAddDependencies(graph: usize, from: In<usize>, to: In<usize>, count: usize) |driver| {
        set_edges(driver, graph, [from, to], count, true)
    }

    /// Removes edges.
    fn cuGraphRemoveDependencies(graph: usize, from: In<usize>, to: In<usize>, count: usize) |driver| {
        set_edges(driver, graph, [from, to], count, false)
    }

    /// Returns the nodes of a graph.
    fn cuGraphGetNodes(graph: usize, nodes: Out<usize>, count: Out<usize>) |driver| {
        let graph = driver.graphs.get(graph)?;
        set_handles(nodes, count, &handles_of_nodes(driver, &graph, &graph.numbers()))
    }

    /// Returns the nodes that wait for no other node.
    fn cuGraphGetRootNodes(graph: usize, nodes: Out<usize>, count: Out<usize>) |driver| {
        let graph = driver.graphs.get(graph)?;
        let ordered = graph.ordered()?;
        let roots: Vec<usize> =
            ordered.iter().filter(|(_, node)| node.after.is_empty()).map(|(number, _)| *number).collect();
        set_handles(nodes, count, &handles_of_nodes(driver, &graph, &roots))
    }

    /// Returns the nodes for which a node waits.
    fn cuGraphNodeGetDependencies(node: usize, nodes: Out<usize>, count: Out<usize>) |driver| {
        let node = driver.nodes.get(node)?;
        let before: Vec<usize> = node.graph.node(node.number)?.after.into_iter().collect();
        set_handles(nodes, count, &handles_of_nodes(driver, &node.graph, &before))
    }

    /// Returns the kind of a node as a number of the C interface.
    fn cuGraphNodeGetType(node: usize, kind: Out<u32>) |driver| {
        let node = driver.nodes.get(node)?;
        kind.set(node.graph.node(node.number)?.kind.number())
    }

    /// Replaces the launch of a node.
    fn cuGraphKernelNodeSetParams_v2(node: usize, parameters: In<KernelNode>) |driver| {
        replace(driver, node, job(driver, node_work(driver, &parameters.get()?)?)?)
    }

    /// Replaces the copy of a node.
    fn cuGraphMemcpyNodeSetParams(node: usize, copy: In<Copy3d>) |driver| {
        replace(driver, node, job(driver, Work::Copy(copy_3d(driver, &copy.get()?)?))?)
    }

    /// Replaces the fill of a node.
    fn cuGraphMemsetNodeSetParams(node: usize, fill: In<FillNode>) |driver| {
        replace(driver, node, job(driver, Work::Fill(fill_rows(&fill.get()?)?))?)
    }
}
