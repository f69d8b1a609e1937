//! Checks plans for a cpu and a GPU without running kernels; `fusebox check-emitter` runs the
//! kernels.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Emitter, Fusion, Verdict, check_plan, check_visits};
use fusebox_core::hlo::parse_module;
use simple_transpose::SimpleTranspose;

fn fusion(text: &str) -> Fusion {
    Fusion::new("fusion", parse_module(text, "fusion.hlo").unwrap()).unwrap()
}

/// Returns a fusion on an array of this size that the emitter accepts.
fn taken(rows: i64, columns: i64) -> Fusion {
    fusion(&format!(
        "fusion {{
           x = f32[{rows},{columns}] parameter(0)
           y = f32[{columns},{rows}] transpose(x), dimensions={{1,0}}
           ROOT z = f32[{columns},{rows}] exponential(y)
         }}"
    ))
}

#[test]
fn every_element_is_written_once_whatever_the_size() {
    for device in [DeviceDescription::cpu(4), DeviceDescription::sm(90)] {
        for (rows, columns) in [(2, 3), (2, 997), (31, 33), (128, 64), (5, 4099)] {
            let fusion = taken(rows, columns);
            assert_eq!(SimpleTranspose.consider(&fusion, &device), Verdict::Accept);
            let first = SimpleTranspose.plan(&fusion, &device, &Configuration::default()).unwrap();
            for configuration in std::iter::once(&first.configuration).chain(&first.alternatives) {
                let plan = SimpleTranspose.plan(&fusion, &device, configuration).unwrap();
                check_plan(&plan, &fusion, &device).unwrap();
                check_visits(&plan, &fusion).unwrap();
                assert_eq!(
                    SimpleTranspose.emit(&fusion, &device, &plan),
                    SimpleTranspose.emit(&fusion, &device, &plan)
                );
                SimpleTranspose.emit(&fusion, &device, &plan).unwrap();
            }
        }
    }
}

#[test]
fn what_it_cannot_do_is_declined_in_words() {
    let loops = fusion(
        "fusion { x = f32[8] parameter(0)
 ROOT y = f32[8] negate(x) }",
    );
    let Verdict::Decline(decline) = SimpleTranspose.consider(&loops, &DeviceDescription::cpu(4)) else {
        unreachable!()
    };
    assert_eq!(decline.reason, "no result is a transpose followed by elementwise operations");
}
