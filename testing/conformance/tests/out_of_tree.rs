//! The example of an emitter outside of the tree conforms. In the tests of its own crate, with
//! `fusebox-conformance` among the `[dev-dependencies]`, the function below would be all there is.
#![allow(clippy::panic, reason = "a test fails by panicking")]

#[path = "../../../examples/out-of-tree-emitter/src/lib.rs"]
mod simple_loop;

#[test]
fn simple_loop_conforms() {
    let report = fusebox_conformance::check(&simple_loop::SimpleLoop, "loop");
    println!("{:?}", report.unwrap_or_else(|failure| panic!("{failure}")));
}
