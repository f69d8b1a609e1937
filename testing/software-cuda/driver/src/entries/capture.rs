//! Captures of streams.

use std::sync::Arc;

use super::entry::entries;
use super::graph::node_numbers;
use crate::abi::{In, Out};
use crate::capture::{Mode, Session};
use crate::driver::Driver;
use crate::graph::Graph;
use crate::status::{Answer, Status};

/// The states of a stream's capture in the C interface.
const NOT_CAPTURING: u32 = 0;
const CAPTURING: u32 = 1;
const INVALIDATED: u32 = 2;

fn mode(number: u32) -> Answer<Mode> {
    match number {
        0 => Ok(Mode::Global),
        1 => Ok(Mode::Thread),
        2 => Ok(Mode::Relaxed),
        _ => Err(Status::INVALID_VALUE),
    }
}

/// Begins a capture that adds the work of a stream to `graph`, after the nodes `after`.
fn begin(driver: &Driver, stream: usize, graph: Arc<Graph>, after: Vec<usize>, mode: Mode) -> Answer {
    let stream = driver.stream(stream)?;
    let session = stream.begin_capture(|lane| Session::new(lane, mode, graph, after))?;
    driver.add_session(&session);
    Ok(())
}

/// Returns the state of a stream's capture as a number of the C interface, and the capture.
fn state(driver: &Driver, stream: usize) -> Answer<(u32, Option<Arc<Session>>)> {
    let session = driver.stream(stream)?.capture();
    let number = match &session {
        None => NOT_CAPTURING,
        Some(session) if session.is_active() => CAPTURING,
        Some(_) => INVALIDATED,
    };
    Ok((number, session))
}

entries! {
    /// Begins a capture of a stream.
    fn cuStreamBeginCapture_v2(stream: usize, number: u32) |driver| {
        begin(driver, stream, Arc::default(), Vec::new(), mode(number)?)
    }

    /// Begins a capture that adds the work of a stream to an existing graph.
    fn cuStreamBeginCaptureToGraph(
        stream: usize, graph: usize, nodes: In<usize>, _edges: In<u8>, count: usize, number: u32,
    ) |driver| {
        let graph = driver.graphs.get(graph)?;
        let after = node_numbers(driver, &graph, nodes, count)?;
        begin(driver, stream, graph, after, mode(number)?)
    }

    /// Ends a capture of a stream.
    fn cuStreamEndCapture(stream: usize, graph: Out<usize>) |driver| {
        graph.set_if_wanted(0)?;
        let made = driver.stream(stream)?.end_capture()?;
        let known = driver.graphs.all().into_iter().find(|(_, other)| Arc::ptr_eq(other, &made));
        graph.set(known.map_or_else(|| driver.graphs.add(made), |(handle, _)| handle))
    }

    /// Says whether a stream is capturing.
    fn cuStreamIsCapturing(stream: usize, status: Out<u32>) |driver| { status.set(state(driver, stream)?.0) }

    /// Returns the identifying number of a stream's capture. The software driver does not return
    /// the graph and the nodes of a capture.
    fn cuStreamGetCaptureInfo_v2(
        stream: usize, status: Out<u32>, number: Out<u64>, graph: Out<usize>, nodes: Out<usize>, count: Out<usize>,
    ) |driver| {
        let (state, session) = state(driver, stream)?;
        if !graph.is_null() || !nodes.is_null() || !count.is_null() {
            return Err(Status::NOT_SUPPORTED);
        }
        status.set(state)?;
        number.set_if_wanted(session.map_or(0, |session| session.number))
    }

    /// Changes the nodes that the next work of a capturing stream waits for: flag 0 adds nodes,
    /// flag 1 replaces them.
    fn cuStreamUpdateCaptureDependencies(stream: usize, nodes: In<usize>, count: usize, flags: u32) |driver| {
        let stream = driver.stream(stream)?;
        let session = stream.capture().ok_or(Status::ILLEGAL_STATE)?;
        stream.set_frontier(node_numbers(driver, &session.graph, nodes, count)?, flags == 0)
    }
}
