//! Checks that the example emitter outside of the workspace conforms. An emitter's own crate needs
//! `fusebox-conformance` in its `[dev-dependencies]`. Its test then consists only of the function
//! below.
#![allow(clippy::panic, reason = "a test fails by panicking")]

#[path = "../../../examples/out-of-tree-emitter/src/lib.rs"]
mod simple_loop;

#[test]
fn simple_loop_conforms() {
    let report = fusebox_conformance::check(&simple_loop::SimpleLoop, "loop");
    println!("{:?}", report.unwrap_or_else(|failure| panic!("{failure}")));
}
