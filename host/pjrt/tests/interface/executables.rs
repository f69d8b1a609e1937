//! Compilation, execution, donation, storage.

use prost::Message;

use crate::caller::{
    Client, GARBAGE, at, call, download, execute, execute_on_two, execute_without, is_deleted, list, text,
};

/// A program that adds two arrays, and may write the sum over the first one.
pub const ADDS: &str = r#"module @jit_f {
  func.func public @main(%arg0: tensor<3xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<3xf32>) -> tensor<3xf32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<3xf32>
    return %0 : tensor<3xf32>
  }
}
"#;

/// Options for device 0: replicas, partitions, and the assignment of one device.
pub const OPTIONS: &[u8] = &[0x1A, 14, 0x20, 1, 0x28, 1, 0x4A, 8, 0x08, 1, 0x10, 1, 0x1A, 2, 0x08, 0];

/// Returns options in which the user has set an option.
pub fn options_with(name: &str) -> Vec<u8> {
    #[derive(Clone, PartialEq, Message)]
    struct Entry {
        #[prost(string, tag = "1")]
        name: String,
        #[prost(message, optional, tag = "2")]
        value: Option<Value>,
    }
    #[derive(Clone, PartialEq, Message)]
    struct Value {
        #[prost(string, tag = "1")]
        text: String,
    }
    let entry = Entry { name: name.into(), value: Some(Value { text: "cpu".into() }) }.encode_to_vec();
    [OPTIONS, &[0x3A, entry.len() as u8], &entry].concat()
}

fn adds(client: &Client) -> u64 {
    client.compile(ADDS.as_bytes(), OPTIONS).unwrap()
}

fn destroy(executable: u64, buffers: &[u64]) {
    call("LoadedExecutable_Destroy", [executable]).unwrap();
    for &buffer in buffers {
        call("Buffer_Destroy", [buffer]).unwrap();
    }
}

#[test]
fn a_portable_artifact_runs() {
    let client = Client::new(1);
    let artifact = include_bytes!("../../../stablehlo/tests/programs/add.mlirbc");
    let executable = client.compile(artifact, OPTIONS).unwrap();
    let (ones, twos) = (client.floats(&[1.0; 20], &[4, 5]), client.floats(&[2.0; 20], &[4, 5]));
    let outputs = execute(executable, &[ones, twos], 1).unwrap();
    assert_eq!(download(outputs[0]).unwrap(), [5.0; 20]);
    assert!(!is_deleted(ones) && !is_deleted(twos));
    destroy(executable, &[ones, twos, outputs[0]]);
}

#[test]
fn a_donated_argument_is_deleted() {
    let client = Client::new(1);
    let executable = adds(&client);
    let (a, b) = (client.floats(&[1.0, 2.0, 3.0], &[3]), client.floats(&[10.0, 20.0, 30.0], &[3]));
    let kept = execute_without(executable, &[a, b], 1, &[0]).unwrap()[0];
    assert!(!is_deleted(a));
    assert_eq!(download(a).unwrap(), [1.0, 2.0, 3.0]);
    // The caller sees the memory of the array, so the donation must not change it.
    call("Buffer_IncreaseExternalReferenceCount", [a]).unwrap();
    let view = call("Buffer_OpaqueDeviceMemoryDataPointer", [a, GARBAGE]).unwrap()[1];
    let sum = execute(executable, &[a, b], 1).unwrap()[0];
    assert!(is_deleted(a) && !is_deleted(b));
    assert_eq!(list::<f32>(view, 3), [1.0, 2.0, 3.0]);
    call("Buffer_DecreaseExternalReferenceCount", [a]).unwrap();
    for output in [kept, sum] {
        assert_eq!(download(output).unwrap(), [11.0, 22.0, 33.0]);
    }
    assert_eq!(execute(executable, &[a, b], 1).unwrap_err().0, 3, "the array is gone");
    let (code, message) = execute(executable, &[b, b], 1).unwrap_err();
    assert!(code == 3 && message.contains("Attempt to donate a buffer which is also used"), "{message}");
    assert!(!is_deleted(b), "a refused call donates nothing");
    destroy(executable, &[a, b, kept, sum]);
}

#[test]
fn a_failed_argument_fails_the_outputs() {
    let client = Client::new(1);
    let executable = adds(&client);
    let (dims, message) = ([3_i64], "lost");
    let fields = [client.0, 13, at(message), 4, at(&dims), 1, 11, 0, client.memory(), GARBAGE, 0, 0];
    let failed = call("Client_CreateErrorBuffer", fields).unwrap()[9];
    let good = client.floats(&[1.0, 2.0, 3.0], &[3]);
    assert_eq!(execute(executable, &[good, failed], 1), Err((13, "lost".into())));
    destroy(executable, &[failed, good]);
}

#[test]
fn facts_about_an_executable() {
    let client = Client::new(1);
    let loaded = adds(&client);
    let executable = call("LoadedExecutable_GetExecutable", [loaded, GARBAGE]).unwrap()[1];
    call("LoadedExecutable_Destroy", [loaded]).unwrap();
    let string = |name| {
        let [_, start, bytes] = call(name, [executable, GARBAGE, GARBAGE]).unwrap();
        text(start, bytes)
    };
    assert_eq!(string("Executable_Name"), "jit_f");
    assert_eq!(string("Executable_Fingerprint").len(), 64);
    let number = |name| call(name, [executable, GARBAGE]).unwrap()[1];
    assert_eq!((number("Executable_NumOutputs"), number("Executable_NumReplicas")), (1, 1));
    assert!(number("Executable_SizeOfGeneratedCodeInBytes") > 0);
    let [_, start, count] = call("Executable_OutputElementTypes", [executable, GARBAGE, GARBAGE]).unwrap();
    assert_eq!(list::<i32>(start, count), [11]);
    let [_, count, dims, ranks] = call("Executable_OutputDimensions", [executable, GARBAGE, GARBAGE, GARBAGE]).unwrap();
    assert_eq!((list::<u64>(ranks, count), list::<i64>(dims, 1)), (vec![1], vec![3]));
    let [_, count, names, lengths] =
        call("Executable_OutputMemoryKinds", [executable, GARBAGE, GARBAGE, GARBAGE]).unwrap();
    let (names, lengths) = (list::<u64>(names, count), list::<u64>(lengths, count));
    assert_eq!(text(names[0], lengths[0]), "device");
    let [_, count, start] = call("Executable_GetCostAnalysis", [executable, GARBAGE, GARBAGE]).unwrap();
    let costs: Vec<(String, f32)> = Vec::from_iter(
        list::<[u64; 7]>(start, count).into_iter().map(|it| (text(it[2], it[3]), f32::from_bits(it[5] as u32))),
    );
    assert_eq!(costs, [("flops".to_owned(), 3.0), ("bytes accessed".to_owned(), 36.0)]);
    let statistics = call("Executable_GetCompiledMemoryStats", [executable; 16]).unwrap();
    assert_eq!(statistics[2..5], [24, 12, 12], "arguments, outputs, outputs in arguments");
    call("Executable_Destroy", [executable]).unwrap();
}

#[test]
fn an_executable_returns_the_assignment_of_its_device() {
    let client = Client::new(1);
    let loaded = adds(&client);
    let [_, start, bytes, owner, deleter] =
        call("LoadedExecutable_GetDeviceAssignment", [loaded, GARBAGE, GARBAGE, GARBAGE, GARBAGE]).unwrap();
    assert_eq!(list::<u8>(start, bytes), OPTIONS[8..]);
    // SAFETY: the deleter takes the owner.
    unsafe { std::mem::transmute::<u64, unsafe extern "C" fn(u64)>(deleter)(owner) };
    let [_, start, count] = call("LoadedExecutable_AddressableDevices", [loaded, GARBAGE, GARBAGE]).unwrap();
    assert_eq!(list::<u64>(start, count), client.devices());
    let [_, start, count] = call("LoadedExecutable_AddressableDeviceLogicalIds", [loaded, GARBAGE, GARBAGE]).unwrap();
    assert_eq!(list::<[i32; 2]>(start, count), [[0, 0]]);
    destroy(loaded, &[]);
}

#[test]
fn a_stored_executable_runs_again() {
    let client = Client::new(1);
    let loaded = adds(&client);
    let [_, start, bytes, owner, deleter] =
        call("Executable_Serialize", [loaded, GARBAGE, GARBAGE, GARBAGE, GARBAGE]).unwrap();
    let stored = list::<u8>(start, bytes);
    // SAFETY: the deleter takes the owner.
    unsafe { std::mem::transmute::<u64, unsafe extern "C" fn(u64)>(deleter)(owner) };
    let fields =
        |bytes: &[u8]| [client.0, at(bytes), bytes.len() as u64, GARBAGE, at(OPTIONS), OPTIONS.len() as u64, 0];
    let restored = call("Executable_DeserializeAndLoad", fields(&stored)).unwrap()[3];
    let (a, b) = (client.floats(&[1.0, 2.0, 3.0], &[3]), client.floats(&[1.0; 3], &[3]));
    let outputs = execute(restored, &[a, b], 1).unwrap();
    assert_eq!(download(outputs[0]).unwrap(), [2.0, 3.0, 4.0]);
    let cut = &stored[..stored.len() - 1];
    for damaged in [cut, &stored[1..]] {
        let (code, message) = call("Executable_DeserializeAndLoad", fields(damaged)).unwrap_err();
        assert!(code == 3 && message.contains("compile the program again"), "{message}");
    }
    destroy(loaded, &[a, b, outputs[0]]);
    destroy(restored, &[]);
}

#[test]
fn several_threads_compile_and_run() {
    let client = Client::new(1);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let client = &client;
            scope.spawn(move || {
                let executable = adds(client);
                for _ in 0..20 {
                    let (a, b) = (client.floats(&[thread as f32; 3], &[3]), client.floats(&[1.0; 3], &[3]));
                    let outputs = execute(executable, &[a, b], 1).unwrap();
                    assert_eq!(download(outputs[0]).unwrap(), [thread as f32 + 1.0; 3]);
                    for buffer in [a, b, outputs[0]] {
                        call("Buffer_Destroy", [buffer]).unwrap();
                    }
                }
                destroy(executable, &[]);
            });
        }
    });
}

/// A program for two devices. Each one has a half of the argument, and a half of the result, in
/// another order of the devices.
const HALVES: &str = r#"
module @halves attributes {mhlo.num_partitions = 2 : i32} {
  func.func public @main(%arg0: tensor<4xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}) -> (tensor<4xf32> {mhlo.sharding = "{devices=[2]1,0}"}) {
    %0 = stablehlo.reverse %arg0, dims = [0] : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
"#;

/// Options for two partitions, the first one on device 1.
const ON_TWO: &[u8] = &[0x1A, 18, 0x20, 1, 0x28, 2, 0x4A, 12, 0x08, 1, 0x10, 2, 0x1A, 2, 0x08, 1, 0x1A, 2, 0x08, 0];

#[test]
fn each_device_has_its_parts_of_arrays() {
    let client = Client::new(2);
    let devices = client.devices();
    let executable = client.compile(HALVES.as_bytes(), ON_TWO).unwrap();
    let of_executable = call("LoadedExecutable_AddressableDevices", [executable, GARBAGE, GARBAGE]).unwrap();
    assert_eq!(list::<u64>(of_executable[1], of_executable[2]), [devices[1], devices[0]]);
    let on_first = client.floats(&[3.0, 4.0], &[2]);
    let first = client.floats(&[1.0, 2.0], &[2]);
    let on_second = call("Buffer_CopyToDevice", [first, devices[1], GARBAGE]).unwrap()[2];
    let outputs = execute_on_two(executable, [&[on_second], &[on_first]]).unwrap();
    assert_eq!(outputs.map(|output| download(output).unwrap()), [[2.0, 1.0], [4.0, 3.0]]);
    let (code, message) = execute_on_two(executable, [&[on_first], &[on_second]]).unwrap_err();
    assert!(code == 3 && message.contains("is on device 0, the program on 1"), "{message}");
    let (code, message) = execute(executable, &[on_first], 1).unwrap_err();
    assert!(code == 3 && message.contains("a program for 2 devices is to run on 1"), "{message}");
    destroy(executable, &[on_first, first, on_second, outputs[0], outputs[1]]);
}

#[test]
fn replicas_and_missing_devices_are_refused() {
    let client = Client::new(1);
    let replicas = [0x1A, 4, 0x20, 2, 0x28, 1];
    let (code, message) = client.compile(ADDS.as_bytes(), &replicas).unwrap_err();
    assert!(code == 12 && message.contains("2 replicas"), "{message}");
    let partitions = [0x1A, 4, 0x20, 1, 0x28, 2];
    let (code, message) = client.compile(ADDS.as_bytes(), &partitions).unwrap_err();
    assert!(code == 3 && message.contains("there is no device 1"), "{message}");
}
