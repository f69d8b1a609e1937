//! Builds CUDA graphs of sequences of thunks. One call launches a whole graph.

use std::collections::HashMap;
use std::sync::Arc;

use cudarc::driver::{CudaContext, DriverError, sys};

use super::condition::ConditionSetters;
use super::level::{Act, Decision, Level};
use super::module::LoadedFunction;
use super::node::{Content, add_conditional};
use crate::executable::DeviceStep;
use crate::machine::frame::Frame;
use crate::{RunError, Slice, Thunk};

/// A sequence of thunks that is ready to be launched.
#[derive(Debug)]
pub struct LoadedGraph {
    /// The addresses of all allocations at the last launch.
    addresses: Vec<*mut u8>,
    /// The nodes whose parameters contain addresses, including the nodes of graphs inside the
    /// graph.
    members: Vec<Member>,
    graph: sys::CUgraph,
    executable: sys::CUgraphExec,
    context: Arc<CudaContext>,
}

/// A node whose parameters contain addresses.
#[derive(Debug)]
struct Member {
    node: sys::CUgraphNode,
    work: MemberWork,
}

#[derive(Debug)]
enum MemberWork {
    Device(Thunk),
    Decide(u64, Decision),
}

/// The loaded kernels that the graphs of a program launch.
#[derive(Clone, Copy)]
pub struct GraphCode<'c> {
    pub kernels: &'c [LoadedFunction],
    /// `None` if the graphs contain no loops or branches, for example because the driver does not
    /// support conditions.
    pub setters: Option<&'c ConditionSetters>,
}

/// Adds nodes to a new graph.
struct Builder<'b> {
    code: GraphCode<'b>,
    frame: &'b Frame,
    context: &'b CudaContext,
    /// The driver's handle of each condition, by the number of the condition.
    conditions: HashMap<usize, u64>,
    members: Vec<Member>,
}

// SAFETY: any thread that has bound the context may use the driver's handles. The addresses are
// only compared.
unsafe impl Send for LoadedGraph {}

impl LoadedGraph {
    /// Builds a graph of nodes.
    pub fn new(
        context: &Arc<CudaContext>,
        code: GraphCode,
        level: &Level,
        frame: &Frame,
    ) -> Result<LoadedGraph, RunError> {
        let failed = |e| super::run_error("building a graph", e);
        let mut graph = std::ptr::null_mut();
        // SAFETY: the pointer is valid for the new handle.
        unsafe { sys::cuGraphCreate(&mut graph, 0) }.result().map_err(failed)?;
        let (addresses, executable) = (frame.addresses().to_vec(), std::ptr::null_mut());
        let mut made = LoadedGraph { addresses, members: Vec::new(), graph, executable, context: context.clone() };
        let (conditions, members) = (HashMap::new(), Vec::new());
        let mut builder = Builder { code, frame, context, conditions, members };
        builder.add(graph, level)?;
        made.members = builder.members;
        // SAFETY: the graph is complete, and the pointer is valid for the new handle.
        unsafe { sys::cuGraphInstantiateWithFlags(&mut made.executable, graph, 0) }.result().map_err(failed)?;
        Ok(made)
    }

    /// Launches the graph in a stream, with the addresses of a frame.
    pub fn launch(&mut self, code: GraphCode, frame: &Frame, stream: sys::CUstream) -> Result<(), RunError> {
        if self.addresses != frame.addresses() {
            self.update(code, frame)?;
        }
        // SAFETY: both handles are valid. The memory and the functions of the graph live as long as
        // the execution, which waits for the stream.
        unsafe { sys::cuGraphLaunch(self.executable, stream) }
            .result()
            .map_err(|e| super::run_error("launching a graph", e))
    }

    /// Sets the parameters of all nodes whose addresses have changed.
    fn update(&mut self, code: GraphCode, frame: &Frame) -> Result<(), RunError> {
        let moved = |slice: &Slice| {
            let number = slice.allocation as usize;
            self.addresses[number] != frame.addresses()[number]
        };
        for member in &self.members {
            let is_changed = match &member.work {
                MemberWork::Device(thunk) => match DeviceStep::of(thunk) {
                    Some(DeviceStep::Launch { arguments, .. }) => arguments.iter().any(moved),
                    Some(DeviceStep::Copy { from, to }) => moved(from) || moved(to),
                    None => false,
                },
                MemberWork::Decide(_, decision) => moved(&decision.place),
            };
            if is_changed {
                let content = member.work.content(code, frame)?;
                let replaced = content.replace(&self.context, self.executable, member.node);
                replaced.map_err(|e| super::run_error("updating a graph", e))?;
            }
        }
        self.addresses.clear();
        self.addresses.extend_from_slice(frame.addresses());
        Ok(())
    }
}

impl MemberWork {
    fn content(&self, code: GraphCode, frame: &Frame) -> Result<Content, RunError> {
        match self {
            MemberWork::Device(thunk) => match DeviceStep::of(thunk) {
                Some(step) => Content::of(code.kernels, &step, frame),
                None => Ok(Content::Nothing),
            },
            MemberWork::Decide(condition, decision) => {
                let setters = code.setters.ok_or_else(no_conditions)?;
                Ok(Content::deciding(setters, *condition, decision, frame))
            }
        }
    }
}

impl Builder<'_> {
    /// Adds the nodes of a level to a graph.
    fn add(&mut self, graph: sys::CUgraph, level: &Level) -> Result<(), RunError> {
        let failed = |e| super::run_error("building a graph", e);
        let mut nodes: Vec<sys::CUgraphNode> = Vec::with_capacity(level.0.len());
        for (act, place) in &level.0 {
            let before: Vec<sys::CUgraphNode> = place.after.iter().map(|&number| nodes[number]).collect();
            let node = match act {
                Act::Device(thunk) => self.add_member(graph, &before, MemberWork::Device(thunk.clone()))?,
                Act::Decide { condition, decision } => {
                    let handle = self.condition(graph, *condition).map_err(failed)?;
                    self.add_member(graph, &before, MemberWork::Decide(handle, decision.clone()))?
                }
                Act::Repeat { condition, body } => {
                    let repetition = sys::CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_WHILE;
                    self.add_body(graph, &before, (*condition, repetition), body)?
                }
                Act::Choose { condition, body } => {
                    let repetition = sys::CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_IF;
                    self.add_body(graph, &before, (*condition, repetition), body)?
                }
            };
            nodes.push(node);
        }
        Ok(())
    }

    fn add_member(
        &mut self,
        graph: sys::CUgraph,
        before: &[sys::CUgraphNode],
        work: MemberWork,
    ) -> Result<sys::CUgraphNode, RunError> {
        let content = work.content(self.code, self.frame)?;
        let node = content.add(self.context, graph, before).map_err(|e| super::run_error("building a graph", e))?;
        self.members.push(Member { node, work });
        Ok(node)
    }

    fn add_body(
        &mut self,
        graph: sys::CUgraph,
        before: &[sys::CUgraphNode],
        (condition, repetition): (usize, sys::CUgraphConditionalNodeType),
        body: &Level,
    ) -> Result<sys::CUgraphNode, RunError> {
        let added = self
            .condition(graph, condition)
            .and_then(|handle| add_conditional(self.context, graph, before, handle, repetition));
        let (node, inner) = added.map_err(|e| super::run_error("building a graph", e))?;
        self.add(inner, body)?;
        Ok(node)
    }

    /// Returns the handle of a condition. Creates the handle for the graph that first sets the
    /// condition. The node that depends on the condition is in the same graph.
    fn condition(&mut self, graph: sys::CUgraph, number: usize) -> Result<u64, DriverError> {
        if let Some(known) = self.conditions.get(&number) {
            return Ok(*known);
        }
        let mut handle = 0;
        // SAFETY: the graph and the context are valid, and the pointer is valid for the handle.
        unsafe { sys::cuGraphConditionalHandleCreate(&mut handle, graph, self.context.cu_ctx(), 0, 0) }.result()?;
        self.conditions.insert(number, handle);
        Ok(handle)
    }
}

/// Returns the error for a graph with a loop or a branch if the driver does not support conditions.
/// Callers prevent it.
fn no_conditions() -> RunError {
    RunError::Device("the driver has no conditions in graphs: run with --no-graphs".into())
}

impl Drop for LoadedGraph {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: each handle was made once and is destroyed once. No launch is running,
            // because executions wait for their end. No caller could handle an error.
            unsafe {
                if !self.executable.is_null() {
                    _ = sys::cuGraphExecDestroy(self.executable);
                }
                _ = sys::cuGraphDestroy(self.graph);
            }
        }
    }
}
