//! Checks the emitter's plans for a cpu and a GPU, and its bid. The tests run no kernels;
//! `fusebox check-emitter --module FILE` runs the kernels.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Bid, Candidate, Configuration, Emitter, Fusion, Verdict, check_plan, check_visits};
use fusebox_core::hlo::parse_module;
use simple_own::SimpleOwn;

fn fusion(body: &str) -> Fusion {
    let text = format!(
        "add {{
           a = f32[] parameter(0)
           b = f32[] parameter(1)
           ROOT c = f32[] add(a, b)
         }}
         fusion {{
           {body}
         }}"
    );
    Fusion::new("fusion", parse_module(&text, "fusion.hlo").unwrap()).unwrap()
}

/// Returns a fusion that divides each row of an array of this size by the row's sum.
fn shares(rows: i64, columns: i64) -> Fusion {
    fusion(&format!(
        "x = f32[{rows},{columns}] parameter(0)
         zero = f32[] constant(0)
         sums = f32[{rows}] reduce(x, zero), dimensions={{1}}, to_apply=add
         spread = f32[{rows},{columns}] broadcast(sums), dimensions={{0}}
         ROOT shares = f32[{rows},{columns}] divide(x, spread)"
    ))
}

#[test]
fn every_element_is_written_once_whatever_the_size() {
    for device in [DeviceDescription::cpu(4), DeviceDescription::sm(90)] {
        for (rows, columns) in [(1, 2), (1, 997), (31, 33), (128, 64), (5, 4099)] {
            let fusion = shares(rows, columns);
            assert_eq!(SimpleOwn.consider(&fusion, &device), Verdict::Accept);
            let plan = SimpleOwn.plan(&fusion, &device, &Configuration::default()).unwrap();
            check_plan(&plan, &fusion, &device).unwrap();
            check_visits(&plan, &fusion).unwrap();
            SimpleOwn.emit(&fusion, &device, &plan).unwrap();
        }
    }
}

#[test]
fn it_asks_for_what_goes_back_into_the_rows_and_for_nothing_else() {
    let region = fusion(
        "x = f32[8,64] parameter(0)
         zero = f32[] constant(0)
         squares = f32[8,64] multiply(x, x)
         sums = f32[8] reduce(squares, zero), dimensions={1}, to_apply=add
         roots = f32[8] sqrt(sums)
         spread = f32[8,64] broadcast(roots), dimensions={0}
         shares = f32[8,64] divide(x, spread)
         turned = f32[64,8] transpose(shares), dimensions={1,0}
         ROOT negated = f32[64,8] negate(turned)",
    );
    let computation = region.computation();
    let anchor = computation.find("sums").unwrap();
    let Bid::Take { instructions } =
        SimpleOwn.bid(&Candidate { region: region.clone(), anchor }, &DeviceDescription::cpu(4))
    else {
        unreachable!()
    };
    let names: Vec<&str> = instructions.iter().map(|&id| computation.instruction(id).name.as_str()).collect();
    assert_eq!(names, ["zero", "squares", "sums", "roots", "spread", "shares"]);
}

#[test]
fn what_it_cannot_do_is_declined_in_words() {
    let loops = fusion(
        "x = f32[8] parameter(0)
         ROOT y = f32[8] negate(x)",
    );
    let Verdict::Decline(decline) = SimpleOwn.consider(&loops, &DeviceDescription::cpu(4)) else { unreachable!() };
    assert_eq!(decline.reason, "there is no reduction of contiguous rows");
}
