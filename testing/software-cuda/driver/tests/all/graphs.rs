//! Graphs that are built node by node.

use crate::cuda::*;

fn graph() -> usize {
    made(|graph| cuGraphCreate(graph, 0)).unwrap()
}

fn add_fill(graph: usize, before: &[usize], fill: &Fill) -> Result<usize, u32> {
    made(|node| cuGraphAddMemsetNode(node, graph, before.as_ptr(), before.len(), fill, 0))
}

fn instantiate(graph: usize) -> Result<usize, u32> {
    made(|executable| cuGraphInstantiateWithFlags(executable, graph, 0))
}

#[test]
fn a_graph_is_executed_in_the_order_of_its_edges_at_each_launch() {
    let _context = Context::new();
    let (address, graph, stream) = (allocate(8), graph(), stream());
    let first = add_fill(graph, &[], &Fill::words(address, 1, 2)).unwrap();
    let _second = add_fill(graph, &[first], &Fill::words(address + 4, 2, 1)).unwrap();
    let executable = instantiate(graph).unwrap();
    cuGraphDestroy(graph).unwrap();
    for _ in 0..3 {
        fill(address, 0, 2, stream).unwrap();
        cuGraphLaunch(executable, stream).unwrap();
    }
    cuStreamSynchronize(stream).unwrap();
    assert_eq!(words(address, 2), Ok(vec![1, 2]));
    cuGraphExecDestroy(executable).unwrap();
    assert_eq!(cuGraphLaunch(executable, stream), Err(INVALID_HANDLE));
}

#[test]
fn nodes_without_an_edge_race() {
    let _context = Context::new();
    let (address, graph, stream) = (allocate(8), graph(), stream());
    let first = add_fill(graph, &[], &Fill::words(address, 1, 2)).unwrap();
    let second = add_fill(graph, &[], &Fill::words(address + 4, 2, 1)).unwrap();
    let racing = instantiate(graph).unwrap();
    cuGraphAddDependencies(graph, &first, &second, 1).unwrap();
    cuGraphLaunch(instantiate(graph).unwrap(), stream).unwrap();
    cuStreamSynchronize(stream).unwrap();
    cuGraphLaunch(racing, stream).unwrap();
    assert_eq!(cuStreamSynchronize(stream), Err(LAUNCH_FAILED));
}

#[test]
fn a_graph_is_ordered_with_the_work_of_its_stream() {
    let _context = Context::new();
    let (address, graph) = (allocate(4), graph());
    add_fill(graph, &[], &Fill::words(address, 1, 1)).unwrap();
    let executable = instantiate(graph).unwrap();
    let [stream, other] = [stream(), stream()];
    cuGraphLaunch(executable, stream).unwrap();
    fill(address, 2, 1, stream).unwrap();
    cuCtxSynchronize().unwrap();
    assert_eq!(words(address, 1), Ok(vec![2]));
    cuGraphLaunch(executable, stream).unwrap();
    // The launches of one graph are ordered, even in different streams.
    cuGraphLaunch(executable, other).unwrap();
    cuCtxSynchronize().unwrap();
    cuGraphLaunch(executable, stream).unwrap();
    fill(address, 3, 1, other).unwrap();
    assert_eq!(cuCtxSynchronize(), Err(LAUNCH_FAILED));
}

#[test]
fn edges_form_no_cycle() {
    let _context = Context::new();
    let graph = graph();
    let empty = |before: &[usize]| made(|node| cuGraphAddEmptyNode(node, graph, before.as_ptr(), before.len()));
    let first = empty(&[]).unwrap();
    let second = empty(&[first]).unwrap();
    assert_eq!(cuGraphAddDependencies(graph, &first, &second, 1), Err(INVALID_VALUE));
    cuGraphAddDependencies(graph, &second, &first, 1).unwrap();
    assert_eq!(instantiate(graph), Err(INVALID_VALUE));
}

#[test]
fn an_executable_graph_keeps_its_work_until_it_is_updated() {
    let _context = Context::new();
    let (address, built, stream) = (allocate(4), graph(), stream());
    let node = add_fill(built, &[], &Fill::words(address, 1, 1)).unwrap();
    let executable = instantiate(built).unwrap();
    let result = || {
        cuGraphLaunch(executable, stream).unwrap();
        cuStreamSynchronize(stream).unwrap();
        words(address, 1).unwrap()[0]
    };
    assert_eq!(result(), 1);
    cuGraphExecMemsetNodeSetParams(executable, node, &Fill::words(address, 2, 1), 0).unwrap();
    assert_eq!(result(), 2);
    let other = graph();
    let first = add_fill(other, &[], &Fill::words(address, 3, 1)).unwrap();
    let mut updated = Updated::default();
    cuGraphExecUpdate_v2(executable, other, &mut updated).unwrap();
    assert_eq!((result(), updated.result), (3, 0));
    add_fill(other, &[first], &Fill::words(address, 4, 1)).unwrap();
    assert_eq!(cuGraphExecUpdate_v2(executable, other, &mut updated), Err(910));
    assert_eq!((result(), updated.result), (3, 2));
}

#[test]
fn a_graph_with_a_stale_address_fails() {
    let _context = Context::new();
    let (address, graph, stream) = (allocate(4), graph(), stream());
    add_fill(graph, &[], &Fill::words(address, 1, 1)).unwrap();
    let executable = instantiate(graph).unwrap();
    cuGraphLaunch(executable, stream).unwrap();
    cuStreamSynchronize(stream).unwrap();
    cuMemFree_v2(address).unwrap();
    let _other = allocate(4);
    cuGraphLaunch(executable, stream).unwrap();
    assert_eq!(cuStreamSynchronize(stream), Err(ILLEGAL_ADDRESS));
}

#[test]
fn a_child_is_executed_between_the_nodes_before_and_after() {
    let _context = Context::new();
    let (address, outer, inner, stream) = (allocate(4), graph(), graph(), stream());
    let inner_first = add_fill(inner, &[], &Fill::words(address, 2, 1)).unwrap();
    add_fill(inner, &[inner_first], &Fill::words(address, 3, 1)).unwrap();
    let before = add_fill(outer, &[], &Fill::words(address, 1, 1)).unwrap();
    let child = made(|node| cuGraphAddChildGraphNode(node, outer, &before, 1, inner)).unwrap();
    cuGraphLaunch(instantiate(outer).unwrap(), stream).unwrap();
    cuStreamSynchronize(stream).unwrap();
    assert_eq!(words(address, 1), Ok(vec![3]));
    add_fill(outer, &[child], &Fill::words(address, 4, 1)).unwrap();
    cuGraphLaunch(instantiate(outer).unwrap(), stream).unwrap();
    cuStreamSynchronize(stream).unwrap();
    assert_eq!(words(address, 1), Ok(vec![4]));
}
