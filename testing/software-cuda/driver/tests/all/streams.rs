//! Streams and events, and races that they do not prevent.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::cuda::*;

#[test]
fn an_event_orders_the_work_of_two_streams() {
    let _context = Context::new();
    let (address, event) = (allocate(4), event());
    let [first, second] = [stream(), stream()];
    fill(address, 1, 1, first).unwrap();
    cuEventRecord(event, first).unwrap();
    cuStreamWaitEvent(second, event, 0).unwrap();
    fill(address, 2, 1, second).unwrap();
    cuStreamSynchronize(second).unwrap();
    assert_eq!(words(address, 1), Ok(vec![2]));
}

#[test]
fn unordered_work_on_the_same_bytes_is_a_race() {
    let _context = Context::new();
    let address = allocate(8);
    let [first, second] = [stream(), stream()];
    fill(address, 1, 2, first).unwrap();
    fill(address + 4, 2, 1, second).unwrap();
    assert_eq!(cuCtxSynchronize(), Err(LAUNCH_FAILED));
}

#[test]
fn unordered_work_on_different_bytes_is_no_race() {
    let _context = Context::new();
    let address = allocate(8);
    let [first, second] = [stream(), stream()];
    fill(address, 1, 1, first).unwrap();
    fill(address + 4, 2, 1, second).unwrap();
    cuCtxSynchronize().unwrap();
    assert_eq!(words(address, 2), Ok(vec![1, 2]));
}

#[test]
fn an_event_that_is_recorded_too_early_orders_too_little() {
    let _context = Context::new();
    let (address, event) = (allocate(4), event());
    let [first, second] = [stream(), stream()];
    cuEventRecord(event, first).unwrap();
    fill(address, 1, 1, first).unwrap();
    cuStreamWaitEvent(second, event, 0).unwrap();
    fill(address, 2, 1, second).unwrap();
    assert_eq!(cuCtxSynchronize(), Err(LAUNCH_FAILED));
}

#[test]
fn a_free_that_is_not_ordered_after_a_read_is_a_race() {
    let _context = Context::new();
    let (address, other) = (allocate(4), allocate(4));
    let [first, second] = [stream(), stream()];
    fill(address, 1, 1, 0).unwrap();
    cuCtxSynchronize().unwrap();
    cuMemcpyDtoDAsync_v2(other, address, 4, first).unwrap();
    cuMemFreeAsync(address, second).unwrap();
    assert!(cuCtxSynchronize().is_err());
}

/// Returns memory of an asynchronous allocation.
fn allocate_on(stream: usize) -> u64 {
    made(|address| cuMemAllocAsync(address, 4, stream)).unwrap()
}

#[test]
fn an_asynchronous_allocation_orders_the_work_of_its_stream_alone() {
    let _context = Context::new();
    let [first, second] = [stream(), stream()];
    let (address, event) = (allocate_on(first), event());
    cuEventRecord(event, first).unwrap();
    cuStreamWaitEvent(second, event, 0).unwrap();
    fill(address, 1, 1, second).unwrap();
    cuStreamSynchronize(second).unwrap();
    assert_eq!(words(address, 1), Ok(vec![1]));
    cuMemFreeAsync(address, second).unwrap();
    cuCtxSynchronize().unwrap();
    // The allocation is executed, but not ordered.
    let address = allocate_on(first);
    fill(address, 1, 1, first).unwrap();
    fill(address, 2, 1, second).unwrap();
    assert_eq!(cuCtxSynchronize(), Err(ILLEGAL_ADDRESS));
}

#[test]
fn work_before_an_asynchronous_allocation_does_not_reach_the_memory() {
    let _context = Context::new();
    let [first, second] = [stream(), stream()];
    let address = allocate_on(first);
    fill(address, 1, 1, second).unwrap();
    assert_eq!(cuStreamSynchronize(second), Err(ILLEGAL_ADDRESS));
}

#[test]
fn a_free_that_is_not_ordered_after_the_allocation_is_a_fault() {
    let _context = Context::new();
    let [first, second] = [stream(), stream()];
    cuMemFreeAsync(allocate_on(first), second).unwrap();
    assert_eq!(cuCtxSynchronize(), Err(ILLEGAL_ADDRESS));
}

#[test]
fn work_after_an_asynchronous_free_does_not_reach_the_memory() {
    let _context = Context::new();
    let [first, second] = [stream(), stream()];
    let (address, event) = (allocate_on(first), event());
    cuEventRecord(event, first).unwrap();
    cuStreamWaitEvent(second, event, 0).unwrap();
    cuMemFreeAsync(address, first).unwrap();
    cuStreamSynchronize(first).unwrap();
    fill(address, 1, 1, second).unwrap();
    assert_eq!(cuStreamSynchronize(second), Err(ILLEGAL_ADDRESS));
}

#[test]
fn a_host_that_waits_orders_two_streams() {
    let _context = Context::new();
    let address = allocate(4);
    let [first, second] = [stream(), stream()];
    fill(address, 1, 1, first).unwrap();
    while let Err(error) = cuStreamQuery(first) {
        assert_eq!(error, NOT_READY);
    }
    fill(address, 2, 1, second).unwrap();
    cuCtxSynchronize().unwrap();
    assert_eq!(words(address, 1), Ok(vec![2]));
}

#[test]
fn the_default_stream_is_ordered_with_blocking_streams_alone() {
    let _context = Context::new();
    let address = allocate(4);
    let blocking = made(|stream| cuStreamCreate(stream, 0)).unwrap();
    fill(address, 1, 1, blocking).unwrap();
    fill(address, 2, 1, 0).unwrap();
    fill(address, 3, 1, blocking).unwrap();
    cuCtxSynchronize().unwrap();
    assert_eq!(words(address, 1), Ok(vec![3]));
    fill(address, 4, 1, stream()).unwrap();
    fill(address, 5, 1, 0).unwrap();
    assert_eq!(cuCtxSynchronize(), Err(LAUNCH_FAILED));
}

#[test]
fn events_measure_time_when_they_are_finished() {
    let _context = Context::new();
    let [from, to] = [event(), event()];
    let stream = stream();
    let elapsed = || made(|milliseconds| cuEventElapsedTime(milliseconds, from, to));
    assert_eq!(elapsed(), Err(INVALID_HANDLE));
    // Calls of other tests may execute the work of this test, so a function of the host delays the
    // events until the test has queried them.
    cuLaunchHostFunc(stream, pass_gate, std::ptr::null_mut()).unwrap();
    cuEventRecord(from, stream).unwrap();
    cuEventRecord(to, stream).unwrap();
    wait_for(&IS_GATE_REACHED);
    let early = [elapsed().map(|_| ()), cuEventQuery(to)];
    IS_GATE_OPEN.store(true, Ordering::SeqCst);
    cuEventSynchronize(to).unwrap();
    assert_eq!(early, [Err(NOT_READY); 2]);
    cuEventQuery(to).unwrap();
    assert!(elapsed().unwrap() >= 0.0);
    let untimed = made(|event| cuEventCreate(event, 2)).unwrap();
    cuEventRecord(untimed, stream).unwrap();
    assert_eq!(made(|milliseconds| cuEventElapsedTime(milliseconds, from, untimed)), Err(INVALID_HANDLE));
}

static IS_GATE_REACHED: AtomicBool = AtomicBool::new(false);
static IS_GATE_OPEN: AtomicBool = AtomicBool::new(false);

/// Returns when a test has opened the gate.
extern "C" fn pass_gate(_: *mut c_void) {
    IS_GATE_REACHED.store(true, Ordering::SeqCst);
    wait_for(&IS_GATE_OPEN);
}

fn wait_for(flag: &AtomicBool) {
    while !flag.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
}

static CALLED: AtomicU32 = AtomicU32::new(0);

extern "C" fn note(argument: *mut c_void) {
    // The driver must refuse calls by functions that it calls.
    let refused = cuCtxSynchronize() == Err(800);
    CALLED.store(argument as u32 + u32::from(refused), Ordering::SeqCst);
}

#[test]
fn a_stream_calls_a_function_of_the_host_without_a_call_that_waits() {
    let _context = Context::new();
    cuLaunchHostFunc(stream(), note, 41 as *mut c_void).unwrap();
    while CALLED.load(Ordering::SeqCst) == 0 {
        std::thread::yield_now();
    }
    assert_eq!(CALLED.load(Ordering::SeqCst), 42);
}
