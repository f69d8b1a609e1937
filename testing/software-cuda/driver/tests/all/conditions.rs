//! Graphs with loops and branches, whose conditions kernels set.

use crate::cuda::*;
use crate::kernels::{function, load};

/// A kernel that adds 1 to the word at `p1` and sets the condition `p0` to the difference of the
/// word at `p2` and the sum, and a kernel that sets the condition to the word at `p1`.
const KERNELS: &str = "
.version 7.0
.target sm_80
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 a, .param .b32 b);
.visible .entry count(.param .u64 p0, .param .u64 p1, .param .u64 p2)
{
  .reg .b64 %r<3>;
  .reg .b32 %w<3>;
  ld.param.u64 %r0, [p0];
  ld.param.u64 %r1, [p1];
  ld.param.u64 %r2, [p2];
  ld.global.u32 %w0, [%r1];
  ld.global.u32 %w1, [%r2];
  add.u32 %w0, %w0, 1;
  st.global.u32 [%r1], %w0;
  sub.u32 %w2, %w1, %w0;
  call.uni cudaGraphSetConditional, (%r0, %w2);
  ret;
}
.visible .entry set(.param .u64 p0, .param .u64 p1, .param .u64 p2)
{
  .reg .b64 %r<2>;
  .reg .b32 %w;
  ld.param.u64 %r0, [p0];
  ld.param.u64 %r1, [p1];
  ld.global.u32 %w, [%r1];
  call.uni cudaGraphSetConditional, (%r0, %w);
  ret;
}
";

const IF: u32 = 0;
const WHILE: u32 = 1;
const SWITCH: u32 = 2;

fn graph() -> usize {
    made(|graph| cuGraphCreate(graph, 0)).unwrap()
}

fn condition(graph: usize, default: Option<u32>) -> u64 {
    made(|handle| cuGraphConditionalHandleCreate(handle, graph, 0, default.unwrap_or(0), u32::from(default.is_some())))
        .unwrap()
}

/// Adds a conditional node, and returns the node and its graphs.
fn add_conditional(
    graph: usize,
    before: &[usize],
    condition: u64,
    repetition: u32,
    size: u32,
) -> Result<(usize, Vec<usize>), u32> {
    let mut parameters = Conditional::new(condition, repetition, size);
    let node =
        made(|node| cuGraphAddNode_v2(node, graph, before.as_ptr(), std::ptr::null(), before.len(), &mut parameters))?;
    Ok((node, parameters.graphs()))
}

struct Kernels {
    count: usize,
    set: usize,
}

impl Kernels {
    fn load() -> Kernels {
        let module = load(KERNELS).unwrap();
        Kernels { count: function(module, "count").unwrap(), set: function(module, "set").unwrap() }
    }
}

fn add_launch(graph: usize, before: &[usize], kernel: usize, values: [u64; 3]) -> usize {
    let pointers = values.each_ref().map(|value| std::ptr::from_ref(value).cast());
    let node = Kernel::new(kernel, &pointers);
    made(|to| cuGraphAddKernelNode_v2(to, graph, before.as_ptr(), before.len(), &node)).unwrap()
}

fn launch(graph: usize, stream: usize) -> Result<(), u32> {
    let executable = made(|executable| cuGraphInstantiateWithFlags(executable, graph, 0))?;
    cuGraphLaunch(executable, stream)
}

#[test]
fn a_loop_ends_when_its_condition_is_zero() {
    let _context = Context::new();
    let (kernels, stream) = (Kernels::load(), stream());
    let [counter, limit] = [allocate(4), allocate(4)];
    let graph = graph();
    let again = condition(graph, Some(1));
    let (node, bodies) = add_conditional(graph, &[], again, WHILE, 1).unwrap();
    add_launch(bodies[0], &[], kernels.count, [again, counter, limit]);
    // The sum of the loop is read after the loop.
    let after = condition(graph, None);
    let set = add_launch(graph, &[node], kernels.set, [after, counter, 0]);
    let (_, bodies) = add_conditional(graph, &[set], after, IF, 1).unwrap();
    made(|node| cuGraphAddMemsetNode(node, bodies[0], std::ptr::null(), 0, &Fill::words(limit, 77, 1), 0)).unwrap();
    let executable = made(|executable| cuGraphInstantiateWithFlags(executable, graph, 0)).unwrap();
    for times in [5, 1] {
        fill(counter, 0, 1, stream).unwrap();
        fill(limit, times, 1, stream).unwrap();
        cuGraphLaunch(executable, stream).unwrap();
        cuStreamSynchronize(stream).unwrap();
        assert_eq!([words(counter, 1), words(limit, 1)], [Ok(vec![times]), Ok(vec![77])]);
    }
}

#[test]
fn branches_are_chosen_by_the_value() {
    let _context = Context::new();
    let (kernels, stream) = (Kernels::load(), stream());
    for (repetition, size, value, expected) in
        [(IF, 1, 0, 9), (IF, 1, 5, 0), (IF, 2, 0, 1), (IF, 2, 1, 0), (SWITCH, 3, 2, 2), (SWITCH, 3, 3, 9)]
    {
        let [index, result] = [allocate(4), allocate(4)];
        fill(index, value, 1, stream).unwrap();
        fill(result, 9, 1, stream).unwrap();
        let graph = graph();
        let chosen = condition(graph, None);
        let set = add_launch(graph, &[], kernels.set, [chosen, index, 0]);
        let (_, bodies) = add_conditional(graph, &[set], chosen, repetition, size).unwrap();
        for (number, body) in bodies.iter().enumerate() {
            made(|node| {
                cuGraphAddMemsetNode(node, *body, std::ptr::null(), 0, &Fill::words(result, number as u32, 1), 0)
            })
            .unwrap();
        }
        launch(graph, stream).unwrap();
        cuStreamSynchronize(stream).unwrap();
        assert_eq!(words(result, 1), Ok(vec![expected]), "{repetition} of {size} with {value}");
    }
}

#[test]
fn nodes_that_no_edge_orders_after_a_body_race() {
    for is_ordered in [true, false] {
        let _context = Context::new();
        let (kernels, stream) = (Kernels::load(), stream());
        let [counter, limit] = [allocate(4), allocate(4)];
        fill(counter, 0, 1, stream).unwrap();
        fill(limit, 3, 1, stream).unwrap();
        let graph = graph();
        let again = condition(graph, Some(1));
        let (node, bodies) = add_conditional(graph, &[], again, WHILE, 1).unwrap();
        add_launch(bodies[0], &[], kernels.count, [again, counter, limit]);
        let before = if is_ordered { vec![node] } else { vec![] };
        let count = before.len();
        made(|node| cuGraphAddMemsetNode(node, graph, before.as_ptr(), count, &Fill::words(counter, 7, 1), 0)).unwrap();
        launch(graph, stream).unwrap();
        let expected = if is_ordered { Ok(()) } else { Err(LAUNCH_FAILED) };
        assert_eq!(cuStreamSynchronize(stream), expected);
    }
}

#[test]
fn another_stream_that_does_not_wait_for_the_loop_races() {
    let _context = Context::new();
    let (kernels, [stream, other]) = (Kernels::load(), [stream(), stream()]);
    let [counter, limit] = [allocate(4), allocate(4)];
    fill(counter, 0, 1, stream).unwrap();
    fill(limit, 3, 1, stream).unwrap();
    cuStreamSynchronize(stream).unwrap();
    let graph = graph();
    let again = condition(graph, Some(1));
    let (_, bodies) = add_conditional(graph, &[], again, WHILE, 1).unwrap();
    add_launch(bodies[0], &[], kernels.count, [again, counter, limit]);
    launch(graph, stream).unwrap();
    let event = event();
    cuEventRecord(event, stream).unwrap();
    cuStreamWaitEvent(other, event, 0).unwrap();
    fill(counter, 2, 1, other).unwrap();
    assert_eq!(cuStreamSynchronize(other), Ok(()));
    // Nothing orders the loop after this fill.
    fill(counter, 2, 1, other).unwrap();
    launch(graph, stream).unwrap();
    assert_eq!(cuStreamSynchronize(stream), Err(LAUNCH_FAILED));
}

#[test]
fn parameters_in_a_body_are_replaced_for_later_launches() {
    let _context = Context::new();
    let (kernels, stream) = (Kernels::load(), stream());
    let [counter, limit, other] = [allocate(4), allocate(4), allocate(4)];
    [(counter, 0), (limit, 3), (other, 0)]
        .iter()
        .for_each(|(address, value)| fill(*address, *value, 1, stream).unwrap());
    let graph = graph();
    let again = condition(graph, Some(1));
    let (_, bodies) = add_conditional(graph, &[], again, WHILE, 1).unwrap();
    let node = add_launch(bodies[0], &[], kernels.count, [again, counter, limit]);
    let executable = made(|executable| cuGraphInstantiateWithFlags(executable, graph, 0)).unwrap();
    cuGraphLaunch(executable, stream).unwrap();
    // The first launch has not started yet.
    let values = [again, other, limit];
    let pointers = values.each_ref().map(|value| std::ptr::from_ref(value).cast());
    let replaced = Kernel::new(kernels.count, &pointers);
    cuGraphExecKernelNodeSetParams_v2(executable, node, &replaced).unwrap();
    cuGraphLaunch(executable, stream).unwrap();
    cuStreamSynchronize(stream).unwrap();
    assert_eq!([words(counter, 1), words(other, 1)], [Ok(vec![3]), Ok(vec![3])]);
}

#[test]
fn conditions_of_two_contexts_are_different() {
    let contexts = [Context::new(), Context::new()];
    let graphs = contexts.each_ref().map(|context| {
        cuCtxSetCurrent(context.0).unwrap();
        let graph = graph();
        (graph, condition(graph, Some(0)))
    });
    for (context, (graph, handle)) in contexts.iter().zip(graphs) {
        cuCtxSetCurrent(context.0).unwrap();
        add_conditional(graph, &[], handle, WHILE, 1).unwrap();
    }
}

#[test]
fn conditions_that_break_the_rules() {
    let _context = Context::new();
    let stream = stream();
    let [graph, other] = [graph(), graph()];
    let handle = condition(graph, Some(0));
    assert_eq!(add_conditional(other, &[], handle, WHILE, 1).unwrap_err(), INVALID_VALUE);
    assert_eq!(add_conditional(graph, &[], handle + 1, WHILE, 1).unwrap_err(), INVALID_VALUE);
    assert_eq!(add_conditional(graph, &[], handle, WHILE, 2).unwrap_err(), INVALID_VALUE);
    let (_, bodies) = add_conditional(graph, &[], handle, WHILE, 1).unwrap();
    assert_eq!(add_conditional(graph, &[], handle, WHILE, 1).unwrap_err(), INVALID_VALUE);
    let event = event();
    let recorded = made(|node| cuGraphAddEventRecordNode(node, bodies[0], std::ptr::null(), 0, event));
    assert_eq!(recorded, Err(NOT_SUPPORTED));
    // A condition without a value.
    let unset = condition(graph, None);
    add_conditional(graph, &[], unset, IF, 1).unwrap();
    launch(graph, stream).unwrap();
    assert_eq!(cuStreamSynchronize(stream), Err(LAUNCH_FAILED));
}
