//! Contexts, handles, and errors that stick.

use crate::cuda::*;

#[test]
fn calls_need_a_current_context() {
    cuInit(0).unwrap();
    assert_eq!(made(|address| cuMemAlloc_v2(address, 4)), Err(INVALID_CONTEXT));
    let context = Context::new();
    assert_eq!(made(cuCtxGetCurrent), Ok(context.0));
    let address = allocate(4);
    cuCtxSetCurrent(0).unwrap();
    assert_eq!(cuMemFree_v2(address), Err(INVALID_CONTEXT));
    cuCtxSetCurrent(context.0).unwrap();
    cuMemFree_v2(address).unwrap();
    assert_eq!(cuCtxSetCurrent(77), Err(INVALID_CONTEXT));
}

#[test]
fn the_primary_context_lives_as_long_as_it_is_used() {
    cuInit(0).unwrap();
    let first = made(|context| cuDevicePrimaryCtxRetain(context, 0)).unwrap();
    assert_eq!(made(|context| cuDevicePrimaryCtxRetain(context, 0)), Ok(first));
    cuDevicePrimaryCtxRelease_v2(0).unwrap();
    cuCtxSetCurrent(first).unwrap();
    cuDevicePrimaryCtxRelease_v2(0).unwrap();
    assert_eq!(cuCtxSetCurrent(first), Err(INVALID_CONTEXT));
}

#[test]
fn handles_of_destroyed_or_other_objects_are_invalid() {
    let _context = Context::new();
    let (stream, event) = (stream(), event());
    assert_eq!(cuEventRecord(stream, stream), Err(INVALID_HANDLE));
    assert_eq!(cuStreamSynchronize(event), Err(INVALID_HANDLE));
    cuStreamDestroy_v2(stream).unwrap();
    assert_eq!(cuStreamSynchronize(stream), Err(INVALID_HANDLE));
    cuEventDestroy_v2(event).unwrap();
    assert_eq!(cuEventDestroy_v2(event), Err(INVALID_HANDLE));
    assert_eq!(cuModuleUnload(event), Err(INVALID_HANDLE));
}

#[test]
fn an_error_sticks_to_its_context_alone() {
    let failed = Context::new();
    let (address, stream) = (allocate(4), stream());
    fill(address, 1, 2, stream).unwrap();
    // The fill has not been executed yet, so that other calls succeed.
    cuMemFree_v2(allocate(4)).unwrap_err();
    assert_eq!(cuStreamSynchronize(stream), Err(ILLEGAL_ADDRESS));
    assert_eq!(cuCtxSynchronize(), Err(ILLEGAL_ADDRESS));
    assert_eq!(made(|address| cuMemAlloc_v2(address, 4)), Err(ILLEGAL_ADDRESS));
    let other = Context::new();
    let address = allocate(4);
    fill(address, 3, 1, 0).unwrap();
    assert_eq!(words(address, 1), Ok(vec![3]));
    drop(other);
    drop(failed);
}

#[test]
fn attributes_describe_the_device() {
    cuInit(0).unwrap();
    let attribute = |number| made(|value| cuDeviceGetAttribute(value, number, 0));
    assert_eq!((attribute(75), attribute(76)), (Ok(9), Ok(0)));
    assert_eq!((attribute(8), attribute(97)), (Ok(49_152), Ok(232_448)));
    assert_eq!(attribute(9999), Err(INVALID_VALUE));
}

#[test]
fn a_refused_function_says_that_it_is_not_supported() {
    cuInit(0).unwrap();
    assert_eq!(cuArrayCreate_v2(), Err(NOT_SUPPORTED));
}
