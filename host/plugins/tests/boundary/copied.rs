//! The example, copied to where a stranger would have it, by the steps of the documentation.

use std::path::Path;
use std::process::Command;

use crate::registry_of;

#[test]
fn the_copied_example_builds_by_the_documented_steps() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let guide = std::fs::read_to_string(root.join("docs/writing-an-emitter.md")).unwrap();
    let (_, steps) = guide.split_once("```sh\n").unwrap();
    let (steps, _) = steps.split_once("```").unwrap();
    assert!(steps.contains("cp -r $FUSEBOX/examples/out-of-tree-emitter my-emitter"), "{steps}");
    let folder = tempfile::tempdir().unwrap();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("copied");
    let output = Command::new("sh")
        .args(["-e", "-c", steps])
        .current_dir(folder.path())
        .env("FUSEBOX", &root)
        .env("CARGO_TARGET_DIR", &target)
        // What is tested is that it builds; this way it does so in half the time.
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let registry = registry_of(&target.join("release/libsimple_loop.so"));
    assert_eq!(registry.emitters()[0].descriptor().name, "simple-loop");
}
