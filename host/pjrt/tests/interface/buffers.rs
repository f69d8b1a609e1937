//! Buffers: copies in all directions, shared memory, errors, deletion.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::caller::{Client, GARBAGE, at, call, download, is_deleted, list, text};

fn destroy(buffer: u64) {
    call("Buffer_Destroy", [buffer]).unwrap();
}

fn is_ready(event: u64) -> bool {
    call("Event_IsReady", [event, GARBAGE]).unwrap()[1] & 0xFF == 1
}

#[test]
fn arrays_with_any_strides_become_row_major() {
    let client = Client::new(1);
    let values: Vec<f32> = (0..6).map(|value| value as f32).collect();
    let [event, columns] = client.upload(at(&*values), 11, &[3, 2], &[4, 12], 0).unwrap();
    assert!(is_ready(event));
    call("Event_Destroy", [event]).unwrap();
    assert_eq!(download(columns).unwrap(), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    // The target lists columns first, as the source does.
    let dims = [0_i64, 1];
    let layout = [80, 0, 64, 0, at(&dims), 2, 0, 0, 0, 0];
    let mut target = [0_f32; 6];
    let fields = [columns, at(&layout), target.as_mut_ptr() as u64, 24, GARBAGE];
    call("Event_Destroy", [call("Buffer_ToHostBuffer", fields).unwrap()[4]]).unwrap();
    assert_eq!(target, *values);
    // A layout without dimensions is the usual one. One that lacks a dimension is none.
    let with = |layout: &[u64; 10], target: &mut [f32; 6]| {
        call("Buffer_ToHostBuffer", [columns, at(layout), target.as_mut_ptr() as u64, 24, GARBAGE])
    };
    call("Event_Destroy", [with(&[80, 0, 64, 0, 0, 0, 0, 0, 0, 0], &mut target).unwrap()[4]]).unwrap();
    assert_eq!(target, [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    let refused = with(&[80, 0, 64, 0, at(&dims), 1, 0, 0, 0, 0], &mut target).unwrap_err();
    assert!(refused.1.contains("[0] is no layout of an array with the dimensions [3, 2]"), "{refused:?}");
    let [_, start, rank] = call("Buffer_Dimensions", [columns, GARBAGE, GARBAGE]).unwrap();
    assert_eq!(list::<i64>(start, rank), [3, 2]);
    let layout = call("Buffer_GetMemoryLayout", [columns; 11]).unwrap();
    assert_eq!((list::<i64>(layout[5], layout[6]), layout[9], layout[10] as u32), (vec![1, 0], 0, 0));
    destroy(columns);
}

#[test]
fn narrow_integers_are_extended() {
    let client = Client::new(1);
    let values = [0x0D_u8, 0x72];
    for (kind, expected) in [(21, [0xFD_u8, 0x02]), (22, [0x0D, 0x02])] {
        let [event, buffer] = client.upload(at(&values), kind, &[2], &[1], 2).unwrap();
        let mut target = [0_u8; 2];
        let fields = call("Buffer_ToHostBuffer", [buffer, 0, target.as_mut_ptr() as u64, 2, GARBAGE]).unwrap();
        assert_eq!(target, expected);
        call("Event_Destroy", [event]).unwrap();
        call("Event_Destroy", [fields[4]]).unwrap();
        destroy(buffer);
    }
}

/// Memory at a multiple of 64 bytes.
#[repr(align(64))]
struct Aligned([f32; 2048]);

#[test]
fn memory_of_the_caller_is_shared_until_the_buffer_ends() {
    let client = Client::new(1);
    let values = Box::new(Aligned([1.5; 2048]));
    let [event, buffer] = client.upload(at(&values.0), 11, &[2048], &[4], 2).unwrap();
    assert!(!is_ready(event));
    assert_eq!(call("Buffer_UnsafePointer", [buffer, GARBAGE]).unwrap()[1], at(&values.0));
    // A view outlives the deletion of the buffer, and so does the memory.
    call("Buffer_IncreaseExternalReferenceCount", [buffer]).unwrap();
    let view = call("Buffer_OpaqueDeviceMemoryDataPointer", [buffer, GARBAGE]).unwrap()[1];
    call("Buffer_Delete", [buffer]).unwrap();
    assert!(is_deleted(buffer) && !is_ready(event));
    assert_eq!(list::<f32>(view, 2048), values.0);
    call("Buffer_DecreaseExternalReferenceCount", [buffer]).unwrap();
    assert!(is_ready(event));
    assert_eq!(call("Buffer_DecreaseExternalReferenceCount", [buffer]).unwrap_err().0, 3);
    call("Event_Destroy", [event]).unwrap();
    destroy(buffer);
}

unsafe extern "C" fn count(_: *mut c_void, calls: *mut c_void) {
    // SAFETY: the test passes a counter that outlives the buffer.
    unsafe { &*calls.cast::<AtomicU64>() }.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn a_view_of_the_callers_memory_calls_the_caller_at_its_end() {
    let client = Client::new(1);
    let values = Box::new(Aligned([2.5; 2048]));
    for offset in [0, 1] {
        let calls = AtomicU64::new(0);
        let dims = [2040_i64];
        let data = at(&values.0) + 4 * offset;
        let fields = [
            client.0,
            data,
            at(&dims),
            1,
            11,
            0,
            client.devices()[0],
            count as *const () as u64,
            at(&calls),
            0,
            GARBAGE,
            0,
        ];
        let buffer = call("Client_CreateViewOfDeviceBuffer", fields).unwrap()[10];
        assert_eq!(download(buffer).unwrap(), values.0[..2040]);
        // Memory that is not aligned is copied, so the caller gets it back at once.
        assert_eq!(calls.load(Ordering::Relaxed), offset);
        destroy(buffer);
        assert_eq!(calls.load(Ordering::Relaxed), 1);
    }
}

#[test]
fn a_view_that_fails_leaves_the_memory_to_the_caller() {
    let client = Client::new(1);
    let values = Box::new(Aligned([2.5; 2048]));
    let calls = AtomicU64::new(0);
    let fails = |data: u64, dims: &[i64], device: u64| {
        let callback = count as *const () as u64;
        let (rank, at_dims, at_calls) = (dims.len() as u64, at(dims), at(&calls));
        let fields = [client.0, data, at_dims, rank, 11, 0, device, callback, at_calls, 0, GARBAGE, 0];
        assert_eq!(call("Client_CreateViewOfDeviceBuffer", fields).unwrap_err().0, 3);
        assert_eq!(calls.load(Ordering::Relaxed), 0);
    };
    fails(0, &[8], client.devices()[0]);
    fails(at(&values.0), &[-1], client.devices()[0]);
}

#[test]
fn copies_are_independent() {
    let client = Client::new(2);
    let buffer = client.floats(&[1.0, 2.0], &[2]);
    let device = client.devices()[1];
    let copy = call("Buffer_CopyToDevice", [buffer, device, GARBAGE]).unwrap()[2];
    let memories = call("Device_AddressableMemories", [device, GARBAGE, GARBAGE]).unwrap();
    let pinned: u64 = list(memories[1], memories[2])[1];
    let moved = call("Buffer_CopyToMemory", [copy, pinned, GARBAGE]).unwrap()[2];
    call("Buffer_Delete", [buffer]).unwrap();
    assert_eq!((download(copy).unwrap(), download(moved).unwrap()), (vec![1.0, 2.0], vec![1.0, 2.0]));
    assert_eq!(call("Buffer_Memory", [moved, GARBAGE]).unwrap()[1], pinned);
    assert_eq!(call("Buffer_Device", [copy, GARBAGE]).unwrap()[1], device);
    assert_eq!(download(buffer).unwrap_err().0, 3);
    let shape = [1_i64, 8];
    let bytes = call("Buffer_Bitcast", [copy, 6, at(&shape), 2, 0, GARBAGE]).unwrap()[5];
    assert_eq!(call("Buffer_ElementType", [bytes, GARBAGE]).unwrap()[1] as u32, 6);
    assert_eq!(call("Buffer_OnDeviceSizeInBytes", [bytes, GARBAGE]).unwrap()[1], 8);
    let mut raw = [0_f32; 1];
    let fields = call("Buffer_CopyRawToHost", [copy, raw.as_mut_ptr() as u64, 4, 4, GARBAGE]).unwrap();
    call("Event_Destroy", [fields[4]]).unwrap();
    assert_eq!(raw, [2.0]);
    assert_eq!(call("Buffer_CopyRawToHost", [copy, raw.as_mut_ptr() as u64, 8, 4, GARBAGE]).unwrap_err().0, 3);
    for buffer in [buffer, copy, moved, bytes] {
        destroy(buffer);
    }
}

#[test]
fn the_error_of_a_buffer_is_that_of_its_event() {
    let client = Client::new(1);
    let (dims, message) = ([2_i64], "lost");
    let fields = [client.0, 13, at(message), 4, at(&dims), 1, 11, 0, client.memory(), GARBAGE, 0, 0];
    let buffer = call("Client_CreateErrorBuffer", fields).unwrap()[9];
    let event = call("Buffer_ReadyEvent", [buffer, GARBAGE]).unwrap()[1];
    assert_eq!(call("Event_Error", [event]), Err((13, "lost".into())));
    call("Event_Destroy", [event]).unwrap();
    assert_eq!(download(buffer), Err((13, "lost".into())));
    assert!(!is_deleted(buffer));
    let copy = call("Buffer_CopyToMemory", [buffer, client.memory(), GARBAGE]).unwrap()[2];
    assert_eq!(download(copy), Err((13, "lost".into())));
    destroy(copy);
    destroy(buffer);
}

#[test]
fn memory_in_use_is_counted() {
    let client = Client::new(1);
    let use_of = || call("Device_MemoryStats", [client.devices()[0]; 22]).unwrap();
    let buffer = client.floats(&[0.0; 1000], &[1000]);
    assert_eq!((use_of()[1], use_of()[2]), (4000, 4000));
    destroy(buffer);
    assert_eq!((use_of()[1], use_of()[2]), (0, 4000));
    call("Device_ClearMemoryStats", [client.devices()[0]]).unwrap();
    assert_eq!(use_of()[2], 0);
    let [_, start, bytes] = call("Memory_DebugString", [client.memory(), GARBAGE, GARBAGE]).unwrap();
    assert_eq!(text(start, bytes), "FuseboxMemory(device=0, kind=device)");
}
