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

/// Flags of an instantiation that change nothing here: free memory at launch, upload, priorities.
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

/// Replaces what the step of a node does.
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

    /// Destroys an executable graph. Work that a launch has issued will still be executed.
    fn cuGraphExecDestroy(executable: usize) |driver| { driver.executables.remove(executable).map(|_| ()) }

    /// Launches a graph after the earlier work of a stream.
    fn cuGraphLaunch(executable: usize, stream: usize) |driver| {
        let executable = driver.executables.get(executable)?;
        driver.stream(stream)?.launch(&executable.executable)
    }

    /// Prepares a launch, for which there is nothing to do here.
    fn cuGraphUpload(executable: usize, stream: usize) |driver| {
        driver.stream(stream)?;
        driver.executables.get(executable).map(|_| ())
    }

    /// Replaces everything that an executable graph does by what another graph of the same form
    /// does.
    fn cuGraphExecUpdate_v2(executable: usize, graph: usize, result: Out<UpdateResult>) |driver| {
        let graph = driver.graphs.get(graph)?;
        let updated = driver.executables.get(executable)?.executable.update(&graph);
        let number = updated.map_or_else(|difference| difference.number, |()| 0);
        result.set_if_wanted(UpdateResult { result: number, node: 0, from_node: 0 })?;
        updated.map_err(|_| Status::GRAPH_EXEC_UPDATE_FAILURE)
    }

    /// Replaces a launch of an executable graph.
    fn cuGraphExecKernelNodeSetParams_v2(executable: usize, node: usize, parameters: In<KernelNode>) |driver| {
        replace(driver, executable, node, job(driver, node_work(driver, &parameters.get()?)?)?)
    }

    /// Replaces a copy of an executable graph.
    fn cuGraphExecMemcpyNodeSetParams(
        executable: usize, node: usize, copy: In<Copy3d>, _context: usize,
    ) |driver| {
        let work = crate::work::Work::Copy(copy_3d(driver, &copy.get()?)?);
        replace(driver, executable, node, job(driver, work)?)
    }

    /// Replaces a fill of an executable graph.
    fn cuGraphExecMemsetNodeSetParams(
        executable: usize, node: usize, fill: In<FillNode>, _context: usize,
    ) |driver| {
        let work = crate::work::Work::Fill(fill_rows(&fill.get()?)?);
        replace(driver, executable, node, job(driver, work)?)
    }
}
