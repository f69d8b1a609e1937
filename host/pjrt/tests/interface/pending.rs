//! Buffers whose elements are computed after the call that returns them.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::caller::{Client, GARBAGE, at, call, download, execute, execute_only, is_deleted};
use crate::executables::{ADDS, OPTIONS};

/// A program that adds its argument to itself many times, one time after the other.
const COUNTS: &str = r#"module @jit_counts {
  func.func public @main(%arg0: tensor<3xf32>) -> tensor<3xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<i32>, tensor<3xf32>
    cond {
      %c_1 = stablehlo.constant dense<1000000> : tensor<i32>
      %1 = stablehlo.compare LT, %iterArg, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %c_1 = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %iterArg, %c_1 : tensor<i32>
      %2 = stablehlo.add %iterArg_0, %arg0 : tensor<3xf32>
      stablehlo.return %1, %2 : tensor<i32>, tensor<3xf32>
    }
    return %0#1 : tensor<3xf32>
  }
}
"#;

/// Sum that the program computes from 1.
const COUNTED: f32 = 1_000_001.0;

unsafe extern "C" fn destroy_and_count(error: *mut c_void, calls: *mut c_void) {
    assert!(error.is_null());
    // SAFETY: the test passes a counter that outlives the event.
    unsafe { &*calls.cast::<AtomicU64>() }.fetch_add(1, Ordering::SeqCst);
}

fn destroy(buffers: &[u64]) {
    for &buffer in buffers {
        call("Buffer_Destroy", [buffer]).unwrap();
    }
}

#[test]
fn everything_waits_for_pending_elements() {
    let client = Client::new(1);
    let (counts, adds) = (client.compile(COUNTS.as_bytes(), OPTIONS), client.compile(ADDS.as_bytes(), OPTIONS));
    let (counts, adds) = (counts.unwrap(), adds.unwrap());
    let ones = client.floats(&[1.0; 3], &[3]);
    let ([sum], event) = execute_only(counts, &[ones]).unwrap();
    // The caller destroys the event at once, and its callback is called in spite of this.
    let calls = AtomicU64::new(0);
    call("Event_OnReady", [event, destroy_and_count as *const () as u64, at(&calls)]).unwrap();
    call("Event_Destroy", [event]).unwrap();
    let copy = call("Buffer_CopyToMemory", [sum, client.memory(), GARBAGE]).unwrap()[2];
    let mut target = [0_f32; 3];
    let fields = [sum, 0, target.as_mut_ptr() as u64, 12, GARBAGE];
    let copied = call("Buffer_ToHostBuffer", fields).unwrap()[4];
    // A pending buffer is an argument, and is donated. The copies above still get its elements.
    let twice = execute(adds, &[sum, copy], 1).unwrap()[0];
    assert!(is_deleted(sum) && !is_deleted(copy));
    assert_eq!(download(twice).unwrap(), [2.0 * COUNTED; 3]);
    call("Event_Await", [copied]).unwrap();
    call("Event_Destroy", [copied]).unwrap();
    assert_eq!(target, [COUNTED; 3]);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    destroy(&[ones, sum, copy, twice]);
    // The executables, and even the client, may end before their results are computed.
    let ones = client.floats(&[1.0; 3], &[3]);
    let ([last], event) = execute_only(counts, &[ones]).unwrap();
    call("Event_Destroy", [event]).unwrap();
    for executable in [counts, adds] {
        call("LoadedExecutable_Destroy", [executable]).unwrap();
    }
    drop(client);
    assert_eq!(download(last).unwrap(), [COUNTED; 3]);
    destroy(&[ones, last]);
}
