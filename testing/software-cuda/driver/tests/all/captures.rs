//! Graphs that are captured from streams.

use crate::cuda::*;

const RELAXED: u32 = 2;

const UNSUPPORTED: u32 = 900;
const INVALIDATED: u32 = 901;
const UNMATCHED: u32 = 903;
const UNJOINED: u32 = 904;
const ISOLATION: u32 = 905;
const IMPLICIT: u32 = 906;

fn end(stream: usize) -> Result<usize, u32> {
    made(|graph| cuStreamEndCapture(stream, graph))
}

fn launch(graph: usize, stream: usize) -> Result<(), u32> {
    let executable = made(|executable| cuGraphInstantiateWithFlags(executable, graph, 0))?;
    cuGraphLaunch(executable, stream)?;
    cuStreamSynchronize(stream)
}

fn node_count(graph: usize) -> usize {
    let mut count = 0;
    cuGraphGetNodes(graph, std::ptr::null_mut(), &mut count).unwrap();
    count
}

#[test]
fn captured_work_is_executed_by_the_graph_alone() {
    let _context = Context::new();
    let (address, stream) = (allocate(8), stream());
    fill(address, 0, 2, stream).unwrap();
    cuStreamSynchronize(stream).unwrap();
    cuStreamBeginCapture_v2(stream, RELAXED).unwrap();
    assert_eq!(made(|status| cuStreamIsCapturing(stream, status)), Ok(1));
    fill(address, 1, 2, stream).unwrap();
    fill(address, 2, 1, stream).unwrap();
    let graph = end(stream).unwrap();
    assert_eq!(made(|status| cuStreamIsCapturing(stream, status)), Ok(0));
    assert_eq!((node_count(graph), words(address, 2)), (2, Ok(vec![0, 0])));
    launch(graph, stream).unwrap();
    assert_eq!(words(address, 2), Ok(vec![2, 1]));
}

#[test]
fn events_fork_and_join_a_capture() {
    let _context = Context::new();
    let address = allocate(12);
    let [stream, other] = [stream(), stream()];
    let [fork, join] = [event(), event()];
    cuStreamBeginCapture_v2(stream, RELAXED).unwrap();
    fill(address, 1, 2, stream).unwrap();
    cuEventRecord(fork, stream).unwrap();
    cuStreamWaitEvent(other, fork, 0).unwrap();
    fill(address + 4, 2, 1, other).unwrap();
    fill(address, 3, 1, stream).unwrap();
    cuEventRecord(join, other).unwrap();
    cuStreamWaitEvent(stream, join, 0).unwrap();
    cuMemcpyDtoDAsync_v2(address + 8, address + 4, 4, stream).unwrap();
    assert_eq!(made(|status| cuStreamIsCapturing(other, status)), Ok(1));
    let graph = end(stream).unwrap();
    assert_eq!(made(|status| cuStreamIsCapturing(other, status)), Ok(0));
    launch(graph, stream).unwrap();
    assert_eq!(words(address, 3), Ok(vec![3, 2, 2]));
}

#[test]
fn a_fork_that_is_not_joined_fails() {
    let _context = Context::new();
    let address = allocate(4);
    let [stream, other] = [stream(), stream()];
    let fork = event();
    cuStreamBeginCapture_v2(stream, RELAXED).unwrap();
    cuEventRecord(fork, stream).unwrap();
    cuStreamWaitEvent(other, fork, 0).unwrap();
    fill(address, 1, 1, other).unwrap();
    assert_eq!(end(other), Err(UNMATCHED));
    assert_eq!(end(stream), Err(UNJOINED));
}

#[test]
fn a_capture_does_not_wait_for_work_outside() {
    let _context = Context::new();
    let [stream, other] = [stream(), stream()];
    let outside = event();
    cuEventRecord(outside, other).unwrap();
    cuStreamBeginCapture_v2(stream, RELAXED).unwrap();
    assert_eq!(cuStreamWaitEvent(stream, outside, 0), Err(ISOLATION));
    assert_eq!(end(stream), Err(INVALIDATED));
}

#[test]
fn calls_that_wait_for_captured_work_invalidate_the_capture() {
    let _context = Context::new();
    let (address, stream, event) = (allocate(4), stream(), event());
    cuStreamBeginCapture_v2(stream, RELAXED).unwrap();
    assert_eq!(cuStreamSynchronize(stream), Err(UNSUPPORTED));
    assert_eq!(fill(address, 1, 1, stream), Err(INVALIDATED));
    assert_eq!(end(stream), Err(INVALIDATED));
    cuStreamBeginCapture_v2(stream, RELAXED).unwrap();
    cuEventRecord(event, stream).unwrap();
    assert_eq!(cuEventSynchronize(event), Err(907));
    assert_eq!(end(stream), Err(INVALIDATED));
}

#[test]
fn the_default_stream_does_not_wait_for_a_capture() {
    let _context = Context::new();
    let address = allocate(4);
    let blocking = made(|stream| cuStreamCreate(stream, 0)).unwrap();
    cuStreamBeginCapture_v2(blocking, RELAXED).unwrap();
    assert_eq!(fill(address, 1, 1, 0), Err(IMPLICIT));
    _ = end(blocking);
    fill(address, 1, 1, 0).unwrap();
    assert_eq!(words(address, 1), Ok(vec![1]));
}

#[test]
fn a_captured_copy_reads_the_host_at_each_launch() {
    let _context = Context::new();
    let (address, stream) = (allocate(4), stream());
    let mut word = Box::new(1u32);
    cuStreamBeginCapture_v2(stream, RELAXED).unwrap();
    cuMemcpyHtoDAsync_v2(address, std::ptr::from_ref(&*word).cast(), 4, stream).unwrap();
    let graph = end(stream).unwrap();
    launch(graph, stream).unwrap();
    assert_eq!(words(address, 1), Ok(vec![1]));
    *word = 2;
    launch(graph, stream).unwrap();
    assert_eq!(words(address, 1), Ok(vec![2]));
}
