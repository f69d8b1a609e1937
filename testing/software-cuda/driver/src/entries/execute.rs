//! Graphs that can be launched.

use std::sync::Arc;

use super::copy::{copy_3d, fill_rows};
use super::entry::entries;
use super::graph::job;
use super::launch::node_work;
use crate::abi::{Copy3d, FillNode, In, InstantiateParameters, KernelNode, Out, UpdateResult};
use crate::driver::{Driver, LoadedGraph};
use crate::graph::{Executable, NodeKind};
use crate::status::{Answer, Status};

/// Flags of an instantiation that have no effect in the software driver: free memory at launch,
/// upload, priorities.
const KNOWN_FLAGS: u64 = 1 | 2 | 8;

/// Makes a graph executable.
fn instantiate(driver: &Driver, to: Out<usize>, graph: usize, flags: u64) -> Answer {
    driver.current()?;
    if flags & !KNOWN_FLAGS != 0 {
        return Err(Status::NOT_SUPPORTED);
    }
    let graph = driver.graphs.get(graph)?;
    let executable = Executable::new(&driver.engine, &graph)?;
    to.set(driver.executables.add(Arc::new(LoadedGraph { executable, graph })))
}

/// Replaces the work of the step that belongs to a node.
fn replace(driver: &Driver, executable: usize, node: usize, kind: NodeKind) -> Answer {
    let executable = driver.executables.get(executable)?;
    let node = driver.nodes.get(node)?;
    executable.executable.replace(&node.graph, node.number, kind)
}

entries! {
    /// Makes a graph executable.
    fn cuGraphInstantiateWithFlags(executable: Out<usize>, graph: usize, flags: u64) |driver| {
        instantiate(driver, executable, graph, flags)
    }

    /// Makes a graph executable.
    fn cuGraphInstantiateWithParams(
        executable: Out<usize>, graph: usize, parameters: Out<InstantiateParameters>,
    ) |driver| {
        let given = parameters.get()?;
        let made = instantiate(driver, executable, graph, given.flags);
        parameters.set(InstantiateParameters { error_node: 0, result: u32::from(made.is_err()), ..given })?;
        made
    }

    /// Destroys an executable graph. The engine still executes the work that a launch has issued.
    fn cuGraphExecDestroy(executable: usize) |driver| { driver.executables.remove(executable).map(|_| ()) }

    /// Launches a graph after the earlier work of a stream.
    fn cuGraphLaunch(executable: usize, stream: usize) |driver| {
        let executable = driver.executables.get(executable)?;
        driver.stream(stream)?.launch(&executable.executable)
    }

    /// Prepares the launch of a graph. The software driver has nothing to prepare.
    fn cuGraphUpload(executable: usize, stream: usize) |driver| {
        driver.stream(stream)?;
        driver.executables.get(executable).map(|_| ())
    }

    /// Replaces the work of all steps of an executable graph by the work of the nodes of another
    /// graph. The other graph must have the same edges, and nodes of the same kinds.
    fn cuGraphExecUpdate_v2(executable: usize, graph: usize, result: Out<UpdateResult>) |driver| {
        let graph = driver.graphs.get(graph)?;
        let updated = driver.executables.get(executable)?.executable.update(&graph);
        let number = updated.map_or_else(|difference| difference.number, |()| 0);
        result.set_if_wanted(UpdateResult { result: number, node: 0, from_node: 0 })?;
        updated.map_err(|_| Status::GRAPH_EXEC_UPDATE_FAILURE)
    }

    /// Replaces the launch of a node in an executable graph.
    fn cuGraphExecKernelNodeSetParams_v2(executable: usize, node: usize, parameters: In<KernelNode>) |driver| {
        replace(driver, executable, node, job(driver, node_work(driver, &parameters.get()?)?)?)
    }

    /// Replaces the copy of a node in an executable graph.
    fn cuGraphExecMemcpyNodeSetParams(
        executable: usize, node: usize, copy: In<Copy3d>, _context: usize,
    ) |driver| {
        let work = crate::work::Work::Copy(copy_3d(driver, &copy.get()?)?);
        replace(driver, executable, node, job(driver, work)?)
    }

    /// Replaces the fill of a node in an executable graph.
    fn cuGraphExecMemsetNodeSetParams(
        executable: usize, node: usize, fill: In<FillNode>, _context: usize,
    ) |driver| {
        let work = crate::work::Work::Fill(fill_rows(&fill.get()?)?);
        replace(driver, executable, node, job(driver, work)?)
    }
}
