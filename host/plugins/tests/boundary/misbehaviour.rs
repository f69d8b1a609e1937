//! Checks loaded plugins that misbehave. Each time, the host must return an error with the name of
//! the plugin, and must continue.

use std::time::Duration;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::Configuration;
use fusebox_plugins::{Registry, produce};

use crate::built::hostile;
use crate::{fusion_named, isolated_registry_of, registry_of};

/// Returns the error for a fusion of this name.
pub fn complaint(registry: &Registry, name: &str) -> String {
    let device = DeviceDescription::simt();
    let fusion = fusion_named(name);
    let emitter = &registry.emitters()[0];
    let verdict = emitter.consider(&fusion, &device);
    let produced =
        verdict.and_then(|_| produce(emitter, &fusion, &device, &Configuration::default()).map_err(|it| it.failure));
    let message = produced.unwrap_err().to_string();
    assert!(message.starts_with("emitter hostile 0.1.0 ("), "{message}");
    assert!(message.contains(&format!("fusion {name}")), "{message}");
    message
}

const COMPLAINTS: [(&str, &str); 30] = [
    ("panic_in_consider", "while considering fusion panic_in_consider: it panicked: considered and found wanting"),
    ("panic_in_plan", "while planning fusion panic_in_plan: it panicked: index out of bounds"),
    ("panic_in_emit", "while emitting fusion panic_in_emit: it panicked: a value that is no text"),
    ("refuse", "not today [at root]"),
    ("out_of_bounds", "of shape [64]: element [64] is outside of [64]"),
    ("overlap", "is reached twice"),
    ("gap", "is outside of [64]"),
    ("rank", "the map has 2 results, but the shape has 1 dimensions"),
    ("undeclared", "output 0"),
    ("other_launch", "the block is within [0, 0], the launch says [0, 1]"),
    ("too_many_threads", "the number of threads in a block is 1048576, but the device allows 1 to 1024"),
    ("no_blocks", "the number of blocks is 0, but the device allows 1 to"),
    ("too_much_shared", "4294967295 bytes of shared memory, but the device has 49152"),
    ("no_outputs", "0 output maps, but the fusion has 1 outputs"),
    ("empty", "the kernel is wrong: it has no text"),
    ("foreign_symbol", "function `someone_else.f`: the name must be `foreign_symbol.`"),
    ("long_refusal", "… (cut)"),
    ("many_variables", "the variables of a map: 1002; 256 is the limit"),
    ("many_constraints", "the constraints of a map: 1000; 256 is the limit"),
    ("slow_map", "the check of the maps takes"),
    ("many_notes", "the number of the plan's remarks: 1000; 256 is the limit"),
    ("long_note", "the bytes of a remark: 1048576; 16384 is the limit"),
    ("many_alternatives", "the number of alternative configurations: 10000; 4096 is the limit"),
    ("huge_text", "; 33554432 is the limit"),
    ("long_symbol", "the bytes of a function's name: 100001; 256 is the limit"),
    ("many_calls", "the number of functions that the kernel calls: 100000; 65536 is the limit"),
    ("huge_plan", "the bytes of its answer: "),
    // This panic is repeated, because the first panic must leave no state behind.
    ("panic_in_plan", "it panicked: index out of bounds: the len is 0 but the index is 1 (at src/lib.rs:"),
    ("overlap", "is reached twice"),
    ("out_of_bounds", "the map is (th, bl) -> (th + 1)"),
];

#[test]
fn in_this_process() {
    let registry = registry_of(&hostile(""));
    for (name, expected) in COMPLAINTS {
        let message = complaint(&registry, name);
        assert!(message.contains(expected), "{name}: {message}");
    }
    let fusion = fusion_named("fine");
    produce(&registry.emitters()[0], &fusion, &DeviceDescription::simt(), &Configuration::default()).unwrap();
}

#[test]
fn in_a_process_of_its_own() {
    let registry = isolated_registry_of(&hostile(""), Duration::from_secs(60));
    for (name, expected) in COMPLAINTS {
        let message = complaint(&registry, name);
        assert!(message.contains(expected) && message.contains(", isolated)"), "{name}: {message}");
    }
    let fusion = fusion_named("fine");
    produce(&registry.emitters()[0], &fusion, &DeviceDescription::simt(), &Configuration::default()).unwrap();
}

#[test]
fn death_of_the_process_is_an_error_and_the_next_call_starts_another() {
    let registry = isolated_registry_of(&hostile(""), Duration::from_secs(60));
    for _ in 0..2 {
        let message = complaint(&registry, "abort");
        assert!(message.contains("its process died (signal 6)"), "{message}");
    }
    let fusion = fusion_named("fine");
    produce(&registry.emitters()[0], &fusion, &DeviceDescription::simt(), &Configuration::default()).unwrap();
}

#[test]
fn a_process_that_hangs_is_ended() {
    let registry = isolated_registry_of(&hostile(""), Duration::from_secs(3));
    let message = complaint(&registry, "hang");
    assert!(message.contains("did not answer within 3 s and was ended"), "{message}");
}

#[test]
fn what_a_plugin_prints_does_not_get_between_the_frames() {
    let registry = isolated_registry_of(&hostile(""), Duration::from_secs(60));
    let fusion = fusion_named("print");
    registry.emitters()[0].consider(&fusion, &DeviceDescription::simt()).unwrap();
}
