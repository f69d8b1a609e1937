//! The functions beside PJRT: requests in JSON, replies in JSON, errors.

use fusebox_pjrt::{
    FuseboxAb, FuseboxBeginProfile, FuseboxEndProfile, FuseboxExplain, FuseboxFree, FuseboxTune, Reply, ToolCall,
};
use serde_json::{Value, json};

type Tool = unsafe extern "C" fn(*const ToolCall, *mut Reply);

const PROGRAM: &str = r#"
module @jit_f {
  func.func public @main(%arg0: tensor<8xf32> loc("x")) -> tensor<8xf32> {
    %0 = stablehlo.sine %arg0 : tensor<8xf32> loc("sin"("train.py":12:4))
    return %0 : tensor<8xf32>
  }
}
"#;

/// The layout of a call: three pairs of an address and a length.
#[repr(C)]
struct Call([usize; 6]);

/// The layout of a reply.
#[repr(C)]
struct Answer {
    code: i32,
    text: *const u8,
    length: usize,
}

/// Calls a tool. Returns the code and the text of the reply.
fn call(tool: Tool, request: &str, program: &str, arrays: &[&[u8]]) -> (i32, String) {
    let places: Vec<[usize; 2]> = arrays.iter().map(|bytes| [bytes.as_ptr().addr(), bytes.len()]).collect();
    let parts = [request.as_ptr().addr(), request.len(), program.as_ptr().addr(), program.len()];
    let call = Call([parts[0], parts[1], parts[2], parts[3], places.as_ptr().addr(), places.len()]);
    let mut answer = Answer { code: -1, text: std::ptr::null(), length: 0 };
    let reply = (&raw mut answer).cast::<Reply>();
    // SAFETY: the call and the reply have the layouts of the interface, and the bytes are valid.
    unsafe {
        tool((&raw const call).cast(), reply);
        let text = String::from_utf8(std::slice::from_raw_parts(answer.text, answer.length).to_vec()).unwrap();
        let code = answer.code;
        FuseboxFree(reply);
        (code, text)
    }
}

fn succeeded((code, text): (i32, String)) -> Value {
    assert_eq!(code, 0, "{text}");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_program_is_explained_with_its_lines() {
    let request = json!({"name": "f", "options": {}, "fusion": null, "all": false}).to_string();
    let reply = succeeded(call(FuseboxExplain, &request, PROGRAM, &[]));
    let kernels = reply["kernels"].as_array().unwrap();
    assert_eq!((kernels.len(), &kernels[0]["emitter"]), (1, &json!("loop")));
    assert_eq!(kernels[0]["roofline"]["lines"], json!(["train.py:12"]));
    assert!(reply["text"].as_str().unwrap().contains("train.py:12"), "{reply}");
    assert!(reply["html"].as_str().unwrap().contains("<svg"));
}

#[test]
fn faults_of_a_caller_are_errors() {
    assert_eq!(call(FuseboxExplain, "{", PROGRAM, &[]).0, 3);
    assert_eq!(call(FuseboxExplain, "{}", PROGRAM, &[]).0, 3);
    let request = json!({"name": "f", "options": {}, "fusion": null, "all": false}).to_string();
    assert_eq!(call(FuseboxExplain, &request, "no program", &[]).0, 3);
    let mut answer = Answer { code: 0, text: std::ptr::null(), length: 0 };
    let reply = (&raw mut answer).cast::<Reply>();
    // SAFETY: a null call is refused, and the reply is freed once.
    unsafe {
        FuseboxExplain(std::ptr::null(), reply);
        assert_eq!(answer.code, 3);
        FuseboxFree(reply);
    }
    let sides =
        json!({"name": "f", "options": {}, "a": {}, "b": {}, "fusion": null, "pairs": 1, "stages": false}).to_string();
    for (arrays, fault) in [
        (&[][..], "the program takes 1 arguments, 0 are given"),
        (&[&[0; 31][..]][..], "argument 0 has 31 bytes, not 32"),
    ] {
        assert_eq!(call(FuseboxAb, &sides, PROGRAM, arrays), (3, fault.to_owned()));
        let tuned = json!({"name": "f", "options": {}, "again": false}).to_string();
        assert_eq!(call(FuseboxTune, &tuned, PROGRAM, arrays), (3, fault.to_owned()));
    }
}

#[test]
fn sides_are_compared_on_the_arguments() {
    let request = json!({"name": "f", "options": {}, "a": {}, "b": {"fusebox.emitter": "lowering=mlir"}, "fusion": null, "pairs": 1,
               "stages": true});
    let reply = succeeded(call(FuseboxAb, &request.to_string(), PROGRAM, &[&[0; 32]]));
    assert_eq!(
        (&reply["report"]["a"], &reply["report"]["b"]),
        (&json!("what fusebox chooses"), &json!("lowering=mlir"))
    );
    assert_eq!(reply["report"]["program"]["judged"]["verdict"], "right");
    assert!(reply["html"].as_str().unwrap().contains("Kernels by stage"));
}

#[test]
fn a_profile_begins_and_ends_once() {
    assert_eq!(call(FuseboxEndProfile, "{}", "", &[]).0, 9);
    assert_eq!(succeeded(call(FuseboxBeginProfile, "{}", "", &[])), Value::Null);
    assert_eq!(call(FuseboxBeginProfile, "{}", "", &[]).0, 9);
    let reply = succeeded(call(FuseboxEndProfile, "{}", "", &[]));
    assert!(reply["profile"]["rows"].as_array().unwrap().iter().all(|row| row["program"].is_string()), "{reply}");
    let trace: Value = serde_json::from_str(reply["trace"].as_str().unwrap()).unwrap();
    assert!(trace["traceEvents"].is_array());
}
