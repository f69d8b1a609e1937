//! Checks plans for a cpu and a GPU without running kernels; `fusebox check-emitter` runs the
//! kernels.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Emitter, Fusion, Verdict, check_plan, check_visits};
use fusebox_core::hlo::parse_module;
use simple_loop::SimpleLoop;

fn fusion(text: &str) -> Fusion {
    Fusion::new("fusion", parse_module(text, "fusion.hlo").unwrap()).unwrap()
}

/// Returns a fusion on an array of this size that the emitter accepts.
fn taken(rows: i64, columns: i64) -> Fusion {
    fusion(&format!(
        "fusion {{
           x = f32[{rows},{columns}] parameter(0)
           y = f32[{rows},{columns}] exponential(x)
           ROOT z = f32[{rows},{columns}] multiply(x, y)
         }}"
    ))
}

#[test]
fn every_element_is_written_once_whatever_the_size() {
    for device in [DeviceDescription::cpu(4), DeviceDescription::sm(90)] {
        for (rows, columns) in [(1, 1), (1, 997), (31, 33), (128, 64), (5, 4099)] {
            let fusion = taken(rows, columns);
            assert_eq!(SimpleLoop.consider(&fusion, &device), Verdict::Accept);
            let first = SimpleLoop.plan(&fusion, &device, &Configuration::default()).unwrap();
            for configuration in std::iter::once(&first.configuration).chain(&first.alternatives) {
                let plan = SimpleLoop.plan(&fusion, &device, configuration).unwrap();
                check_plan(&plan, &fusion, &device).unwrap();
                check_visits(&plan, &fusion).unwrap();
                assert_eq!(SimpleLoop.emit(&fusion, &device, &plan), SimpleLoop.emit(&fusion, &device, &plan));
                SimpleLoop.emit(&fusion, &device, &plan).unwrap();
            }
        }
    }
}

#[test]
fn what_it_cannot_do_is_declined_in_words() {
    let sort = fusion(
        "less { a = f32[] parameter(0)
           b = f32[] parameter(1)
           ROOT c = pred[] compare(a, b), direction=LT }
         fusion { x = f32[8] parameter(0)
           ROOT y = f32[8] sort(x), dimensions={0}, to_apply=less }",
    );
    let Verdict::Decline(decline) = SimpleLoop.consider(&sort, &DeviceDescription::cpu(4)) else { unreachable!() };
    assert_eq!(decline.reason, "its elements cannot be computed one by one");
}
