//! The out-of-tree example emitter conforms. In its own crate, with `fusebox-conformance` in
//! `[dev-dependencies]`, the test would only consist of the function below.
#![allow(clippy::panic, reason = "a test fails by panicking")]

#[path = "../../../examples/out-of-tree-emitter/src/lib.rs"]
mod simple_loop;

#[test]
fn simple_loop_conforms() {
    let report = fusebox_conformance::check(&simple_loop::SimpleLoop, "loop");
    println!("{:?}", report.unwrap_or_else(|failure| panic!("{failure}")));
}
