//! Checks that plans write every element exactly once, for all sizes and values of knobs. Also
//! checks that the emitters decline unsuitable operations.

use fusebox_conformance::{assertions, plans};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Emitter, Verdict};
use fusebox_emitter_scan::emitters;

use crate::{ADD, Program};

fn scan(dims: &[i64], along: usize, is_backward: bool) -> String {
    let program = Program { element: "f32", dims, along, is_backward, combiner: ADD, initial: "0" };
    program.plain().replace("HloModule m\n", "").replace("ENTRY main", "fusion")
}

#[test]
fn every_element_is_written_once() {
    let places: [(&[i64], usize); 7] = [
        (&[70, 100], 1),
        (&[100, 70], 0),
        (&[3, 65, 7], 1),
        (&[2, 33, 2000], 1),
        (&[5], 0),
        (&[4096, 1024], 1),
        (&[1024, 4096], 0),
    ];
    for (dims, along) in places {
        for is_backward in [false, true] {
            let fusion = assertions::fusion(&scan(dims, along, is_backward));
            for threads in [1, 8] {
                let device = DeviceDescription::cpu(threads);
                for emitter in emitters() {
                    let emitter: &'static dyn Emitter = Box::leak(emitter);
                    if let Verdict::Accept = emitter.consider(&fusion, &device) {
                        plans::check(emitter, &fusion, &device).unwrap_or_else(|failure| panic!("{dims:?} {failure}"));
                    }
                }
            }
        }
    }
}

#[test]
fn other_windows_and_gpus_are_declined_in_words() {
    let pooling = "c { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }\n\
                   fusion { x = f32[8,100] parameter(0)\n i = f32[] constant(0)\n \
                   ROOT r = f32[8,99] reduce-window(x, i), window={size=1x2}, to_apply=c }";
    let reason =
        |text: &str, device: &DeviceDescription| match emitters()[0].consider(&assertions::fusion(text), device) {
            Verdict::Decline(decline) => decline.reason,
            other => panic!("{other:?}"),
        };
    assert!(reason(pooling, &DeviceDescription::cpu(2)).contains("no cumulative reduce-window"));
    assert!(reason(&scan(&[8, 100], 1, false), &DeviceDescription::simt()).contains("one thread"));
}
