//! The table, clients, devices, memories and topologies.

use fusebox_pjrt::{GetPjrtApi, NAMES};

use crate::caller::{Client, GARBAGE, call, function, list, text};

#[test]
fn every_function_of_the_table_is_there() {
    // SAFETY: the table begins with its size and its version.
    let words = unsafe { std::slice::from_raw_parts(GetPjrtApi().cast::<u64>(), 143) };
    assert_eq!(words[0], 1144);
    assert_eq!((words[2], words[4] as u32, (words[4] >> 32) as u32), (24, 0, 112));
    assert_eq!(NAMES.len(), words[5..].len());
    assert!(words[5..].iter().all(|&function| function != 0));
}

#[test]
fn the_library_names_the_version_of_programs() {
    call::<0>("Plugin_Initialize", []).unwrap();
    let [start, count] = call("Plugin_Attributes", [GARBAGE; 2]).unwrap();
    let attributes: Vec<[u64; 7]> = list(start, count);
    let version = attributes.iter().find(|it| text(it[2], it[3]) == "stablehlo_current_version").unwrap();
    assert_eq!(list::<i64>(version[5], version[6]), [1, 13, 7]);
}

#[test]
fn a_client_has_devices_with_memories() {
    let client = Client::new(2);
    let [_, start, bytes] = call("Client_PlatformName", [client.0, GARBAGE, GARBAGE]).unwrap();
    assert_eq!(text(start, bytes), "fusebox");
    assert_eq!(call("Client_ProcessIndex", [client.0, GARBAGE]).unwrap()[1] as u32, 0);
    let devices = client.devices();
    assert_eq!(devices.len(), 2);
    assert_eq!(call("Client_LookupDevice", [client.0, 1, GARBAGE]).unwrap()[2], devices[1]);
    for (number, &device) in devices.iter().enumerate() {
        let description = call("Device_GetDescription", [device, GARBAGE]).unwrap()[1];
        assert_eq!(call("DeviceDescription_Id", [description, GARBAGE]).unwrap()[1] as u32, number as u32);
        let [_, start, bytes] = call("DeviceDescription_Kind", [description, GARBAGE, GARBAGE]).unwrap();
        assert_eq!(text(start, bytes), "fusebox cpu");
        let [_, count, _] = call("DeviceDescription_Attributes", [description, GARBAGE, GARBAGE]).unwrap();
        let [_, _, others, _, deleter] =
            call("Device_GetAttributes", [device, GARBAGE, GARBAGE, GARBAGE, GARBAGE]).unwrap();
        assert_eq!((count, others), (0, 0));
        assert_ne!(deleter, 0, "a caller calls the deleter");
        let [_, start, count] = call("Device_AddressableMemories", [device, GARBAGE, GARBAGE]).unwrap();
        let kinds: Vec<String> = Vec::from_iter(list::<u64>(start, count).into_iter().map(|memory| {
            // SAFETY: the interface defines the first word of a memory.
            assert_eq!(unsafe { (memory as *const u64).read() }, 0, "a memory has no functions");
            let [_, start, bytes] = call("Memory_Kind", [memory, GARBAGE, GARBAGE]).unwrap();
            let [_, places, count] = call("Memory_AddressableByDevices", [memory, GARBAGE, GARBAGE]).unwrap();
            assert_eq!(list::<u64>(places, count), [device]);
            text(start, bytes)
        }));
        assert_eq!(kinds, ["device", "pinned_host", "unpinned_host"]);
    }
    let statistics = call("Device_MemoryStats", [devices[0]; 22]).unwrap();
    assert_eq!((statistics[1], statistics[3] & 0xFF), (0, 1), "nothing is in use, and the peak is known");
}

#[test]
fn devices_are_assigned_in_order() {
    let client = Client::new(3);
    let mut numbers = [-1_i32; 3];
    let counts = 1_u64 | 3 << 32;
    call("Client_DefaultDeviceAssignment", [client.0, counts, 3, numbers.as_mut_ptr() as u64]).unwrap();
    assert_eq!(numbers, [0, 1, 2]);
    let counts = 2_u64 | 3 << 32;
    call("Client_DefaultDeviceAssignment", [client.0, counts, 6, numbers.as_mut_ptr() as u64]).unwrap_err();
}

#[test]
fn a_topology_survives_its_bytes() {
    let client = Client::new(2);
    let own = call("Client_TopologyDescription", [client.0, GARBAGE]).unwrap()[1];
    let [_, start, bytes, owner, deleter] =
        call("TopologyDescription_Serialize", [own, GARBAGE, GARBAGE, GARBAGE, GARBAGE]).unwrap();
    let [_, _, read] = call("TopologyDescription_Deserialize", [start, bytes, GARBAGE]).unwrap();
    assert_ne!(deleter, 0);
    // SAFETY: the deleter takes the owner.
    unsafe { std::mem::transmute::<u64, unsafe extern "C" fn(u64)>(deleter)(owner) };
    let [_, _, count] = call("TopologyDescription_GetDeviceDescriptions", [read, GARBAGE, GARBAGE]).unwrap();
    assert_eq!(count, 2);
    let fingerprint = |topology| call("TopologyDescription_Fingerprint", [topology, GARBAGE]).unwrap()[1];
    assert_eq!(fingerprint(own), fingerprint(read));
    call("TopologyDescription_Destroy", [read]).unwrap();
    call("TopologyDescription_Deserialize", [start, 0, GARBAGE]).unwrap_err();
}

#[test]
fn a_destroyed_client_is_refused() {
    let client = std::mem::ManuallyDrop::new(Client::new(1)).0;
    let topology = call("Client_TopologyDescription", [client, GARBAGE]).unwrap()[1];
    call("Client_Destroy", [client]).unwrap();
    for failure in [
        call("Client_Devices", [client, GARBAGE, GARBAGE]).unwrap_err(),
        call("Client_Destroy", [client]).map(|_| [0; 3]).unwrap_err(),
        call("TopologyDescription_PlatformName", [topology, GARBAGE, GARBAGE]).unwrap_err(),
    ] {
        assert!(failure.0 == 3 && failure.1.contains("has been destroyed"), "{failure:?}");
    }
}

#[test]
fn structs_may_be_shorter_or_longer_than_the_table_defines_them() {
    let client = Client::new(1);
    // A caller that is older lacks the field for the result, which must stay as it is.
    let mut older = [24, 0, client.0, GARBAGE, GARBAGE];
    // SAFETY: the words are the function's arguments.
    assert!(unsafe { function("Client_PlatformName")(older.as_mut_ptr()) }.is_null());
    assert_eq!(older[3..], [GARBAGE, GARBAGE]);
    // A result of one byte has no padding behind it.
    let mut exact = [25, 0, client.devices()[0], GARBAGE];
    // SAFETY: as above.
    assert!(unsafe { function("Device_IsAddressable")(exact.as_mut_ptr()) }.is_null());
    assert_eq!(exact[3], GARBAGE & !0xFF | 1);
    // A caller that is newer passes a field that this version does not know.
    let mut newer = [48, 0, client.0, 0, 0, GARBAGE];
    // SAFETY: as above.
    assert!(unsafe { function("Client_PlatformName")(newer.as_mut_ptr()) }.is_null());
    assert_eq!((text(newer[3], newer[4]).as_str(), newer[5]), ("fusebox", GARBAGE));
}
