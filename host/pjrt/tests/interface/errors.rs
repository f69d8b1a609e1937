//! Errors, and callers that break the rules of the interface.

use crate::caller::{Client, GARBAGE, call, call_sized, execute, failure, function};
use crate::executables::{ADDS, OPTIONS, options_with};

#[test]
fn errors_have_the_code_of_their_reason() {
    let client = Client::new(1);
    let code = |outcome: Result<u64, (i32, String)>| outcome.unwrap_err();
    let (invalid, message) = code(client.compile(b"no program", OPTIONS));
    assert_eq!(invalid, 3, "{message}");
    let (invalid, message) = code(client.compile(ADDS.as_bytes(), &options_with("xla_no_such_flag")));
    assert!(invalid == 3 && message.contains("No such compile option: 'xla_no_such_flag'"), "{message}");
    let (precondition, _) = {
        let executable = client.compile(ADDS.as_bytes(), OPTIONS).unwrap();
        call("LoadedExecutable_Delete", [executable]).unwrap();
        assert_eq!(call("LoadedExecutable_IsDeleted", [executable, GARBAGE]).unwrap()[1] & 0xFF, 1);
        let error = execute(executable, &[], 1).unwrap_err();
        call("LoadedExecutable_Destroy", [executable]).unwrap();
        error
    };
    assert_eq!(precondition, 9);
    let (unimplemented, message) = call::<1>("CopyToDeviceStream_Destroy", [0]).unwrap_err();
    assert_eq!(unimplemented, 12);
    assert!(message.contains("PJRT_CopyToDeviceStream_Destroy"), "{message}");
    let size = 1_i64 << 50;
    let fields = [client.0, &raw const size as u64, 1, 3, 0, 0, client.memory(), GARBAGE];
    let (exhausted, message) = call("Client_CreateUninitializedBuffer", fields).unwrap_err();
    assert!(exhausted == 8 && message.contains("bytes of memory are not available"), "{exhausted}: {message}");
}

#[test]
fn misuse_is_an_error_that_names_the_function() {
    let misused = |name: &str| call(name, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap_err();
    for name in [
        "Client_PlatformName",
        "Client_Compile",
        "Client_BufferFromHostBuffer",
        "Device_GetDescription",
        "Memory_Kind",
        "Buffer_ToHostBuffer",
        "Buffer_IncreaseExternalReferenceCount",
        "Executable_Name",
        "LoadedExecutable_Execute",
        "Event_IsReady",
        "Event_OnReady",
        "TopologyDescription_PlatformName",
        "Error_GetCode",
    ] {
        let (code, message) = misused(name);
        assert!(code == 3 && message.starts_with(&format!("PJRT_{name}: ")) && message.contains("null"), "{message}");
    }
    for name in ["Error_Destroy", "Event_Destroy", "Buffer_Destroy", "Executable_Destroy", "Client_Destroy"] {
        call(name, [0]).unwrap_or_else(|error| panic!("{name} of null: {error:?}"));
    }
    assert_eq!(call_sized("Client_PlatformName", 8, [0; 3]).unwrap_err().0, 3);
    // SAFETY: null is refused.
    let error = unsafe { function("Client_PlatformName")(std::ptr::null_mut()) };
    assert!(failure(error).1.contains("PJRT_Client_PlatformName"));
}

#[test]
fn arguments_must_fit_the_program() {
    let client = Client::new(2);
    let executable = client.compile(ADDS.as_bytes(), OPTIONS).unwrap();
    let good = client.floats(&[1.0, 2.0, 3.0], &[3]);
    let short = client.floats(&[1.0, 2.0], &[2]);
    let refused = |arguments: &[u64]| execute(executable, arguments, 1).unwrap_err();
    assert!(refused(&[good]).1.contains("takes 2 arguments, 1 are given"));
    let (code, message) = refused(&[good, short]);
    assert_eq!((code, message.as_str()), (3, "argument 1 is f32[2], the parameter f32[3]"));
    let elsewhere = call("Buffer_CopyToDevice", [good, client.devices()[1], GARBAGE]).unwrap()[2];
    assert!(refused(&[good, elsewhere]).1.contains("argument 1 is on device 1, the program on 0"));
    assert_eq!(refused(&[good, 0]).0, 3);
    call("Buffer_Delete", [short]).unwrap();
    for buffer in [good, short, elsewhere] {
        call("Buffer_Destroy", [buffer]).unwrap();
    }
    call("LoadedExecutable_Destroy", [executable]).unwrap();
}
