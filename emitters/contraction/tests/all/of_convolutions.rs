//! Checks the plans of convolutions. For every emitter, the plans must write every element once.
//! The bits of results must not depend on the number of cores.

use fusebox_conformance::{Machine, assertions, inputs, named, plans};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Fusion, Verdict};
use fusebox_core::hlo::{ArrayLiteral, ArrayShape};
use fusebox_emitter_contraction::emitters;
use fusebox_prediction::predict;

use crate::convolutions::convolution;
use crate::{compiler, machines};

const EMITTERS: [&str; 3] = ["contraction", "direct-convolution", "depthwise"];

fn wide() -> DeviceDescription {
    DeviceDescription { register_bytes: 64, registers: 32, ..DeviceDescription::cpu(2) }
}

/// Returns convolutions of real models. They include forward convolutions with channels last or
/// first, gradients of the input and of the kernel, convolutions with few or many channels,
/// depthwise convolutions, and a convolution with one dimension.
fn of_models() -> Vec<(&'static str, String)> {
    [
        (
            "direct-convolution",
            "f32[4,56,56,64]",
            "f32[3,3,64,64]",
            "f32[4,56,56,64]",
            "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f",
        ),
        (
            "direct-convolution",
            "f32[4,64,56,56]",
            "f32[64,64,3,3]",
            "f32[4,64,56,56]",
            "window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01",
        ),
        (
            "direct-convolution",
            "f32[4,56,56,64]",
            "f32[3,3,64,64]",
            "f32[4,56,56,64]",
            "window={size=3x3 pad=1_1x1_1 rhs_reversal=1x1}, dim_labels=b01f_01oi->b01f",
        ),
        (
            "direct-convolution",
            "f32[4,56,56,64]",
            "f32[4,56,56,64]",
            "f32[3,3,64,64]",
            "window={size=56x56 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf",
        ),
        (
            "direct-convolution",
            "f32[1,224,224,3]",
            "f32[7,7,3,64]",
            "f32[1,112,112,64]",
            "window={size=7x7 stride=2x2 pad=2_3x2_3}, dim_labels=b01f_01io->b01f",
        ),
        (
            "direct-convolution",
            "f32[4,7,7,512]",
            "f32[3,3,512,512]",
            "f32[4,7,7,512]",
            "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f",
        ),
        (
            "contraction",
            "f32[4,56,56,256]",
            "f32[1,1,256,64]",
            "f32[4,56,56,64]",
            "window={size=1x1}, dim_labels=b01f_01io->b01f",
        ),
        (
            "depthwise",
            "f32[4,56,56,64]",
            "f32[3,3,1,64]",
            "f32[4,56,56,64]",
            "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=64",
        ),
        (
            "depthwise",
            "f32[4,64,56,56]",
            "f32[64,1,3,3]",
            "f32[4,64,56,56]",
            "window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01, feature_group_count=64",
        ),
        (
            "contraction",
            "f32[2,3000,80]",
            "f32[3,80,96]",
            "f32[2,3000,96]",
            "window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f",
        ),
    ]
    .map(|(first, input, kernel, result, attributes)| (first, convolution(input, kernel, result, attributes)))
    .to_vec()
}

fn fusion(text: &str) -> Fusion {
    assertions::fusion(text)
}

#[test]
fn every_element_is_written_once() {
    for (_, text) in of_models() {
        for device in [DeviceDescription::cpu(1), DeviceDescription::cpu(8), wide()] {
            for name in EMITTERS {
                let emitter = named(emitters(), name).unwrap_or_else(|failure| panic!("{failure}"));
                if let Verdict::Accept = emitter.consider(&fusion(&text), &device) {
                    plans::check(emitter, &fusion(&text), &device).unwrap_or_else(|failure| panic!("{failure}"));
                }
            }
        }
    }
}

#[test]
fn the_fastest_is_predicted_to_be() {
    for (first, text) in of_models() {
        let fusion = fusion(&text);
        let seconds = EMITTERS.map(|name| {
            let emitter = named(emitters(), name).unwrap_or_else(|failure| panic!("{failure}"));
            match emitter.consider(&fusion, &wide()) {
                Verdict::Decline(_) => f64::INFINITY,
                _ => {
                    let plan = emitter.plan(&fusion, &wide(), &Default::default()).unwrap();
                    predict(&plan, &fusion, &wide()).seconds
                }
            }
        });
        let least = EMITTERS.iter().zip(seconds).min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        assert_eq!(*least.0, first, "{seconds:?} {text}");
    }
}

#[test]
fn reasons_are_given() {
    let declined = |name: &str, text: &str| {
        let emitter = named(emitters(), name).unwrap_or_else(|failure| panic!("{failure}"));
        match emitter.consider(&fusion(text), &wide()) {
            Verdict::Decline(decline) => decline.reason,
            accepted => panic!("{accepted:?}"),
        }
    };
    let usual = |element: &str, window: &str| {
        let attributes = format!("window={{size=3x3 {window}}}, dim_labels=b01f_01io->b01f");
        convolution(
            &format!("{element}[2,9,9,20]"),
            &format!("{element}[3,3,20,40]"),
            &format!("{element}[2,7,7,40]"),
            &attributes,
        )
    };
    assert_eq!(
        declined("depthwise", &usual("f32", "")),
        "each input element is used for 40 output features: for more than 4, packing it pays"
    );
    assert_eq!(
        declined("direct-convolution", &usual("s8", "")),
        "bytes multiply faster after packing, which converts them to floats"
    );
    let product = convolution(
        "f32[2,9,9,20]",
        "f32[1,1,20,40]",
        "f32[2,9,9,40]",
        "window={size=1x1}, dim_labels=b01f_01io->b01f",
    );
    assert_eq!(declined("direct-convolution", &product), "its windows do not overlap");
    let long = convolution(
        "f32[2,3000,80]",
        "f32[3,80,96]",
        "f32[2,3000,96]",
        "window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f",
    );
    assert_eq!(
        declined("direct-convolution", &long),
        "rows of 240160 elements with their buffers do not fit a block's 589824 bytes"
    );
    let huge = convolution(
        "f32[1125899906842624,9,9,0]",
        "f32[3,3,0,40]",
        "f32[1125899906842624,7,7,40]",
        "window={size=3x3}, dim_labels=b01f_01io->b01f",
    );
    for name in EMITTERS {
        assert_eq!(declined(name, &huge), "there are more products than any machine computes");
    }
    let far = convolution(
        "f32[2,9,9,20]",
        "f32[3,3,20,40]",
        "f32[2,7,1,40]",
        "window={size=3x3 pad=0_0x0_4294967296 stride=1x4294967296}, dim_labels=b01f_01io->b01f",
    )
    .replace("[2,7,1,40]", "[2,7,2,40]");
    for name in EMITTERS {
        assert_eq!(declined(name, &far), "its sizes or its window are too large for the index arithmetic");
    }
}

/// Checks that bits do not depend on blocks. Each element is a single chain of additions, in the
/// order of the steps. Blocks depend on cores and registers, but do not change this order.
#[test]
fn bits_do_not_depend_on_blocks() {
    let filled = |shape: &ArrayShape, number: u64| {
        let value = |i: i64| ((i * 7919 + number as i64) as f32).sin();
        let bytes: Vec<u8> = (0..shape.element_count()).flat_map(|i| value(i).to_le_bytes()).collect();
        ArrayLiteral::new(shape.element_type, shape.dims.clone(), bytes).unwrap()
    };
    for (emitter, input, kernel, result, attributes) in [
        (
            "contraction",
            "f32[2,20,20,24]",
            "f32[3,3,24,40]",
            "f32[2,20,20,40]",
            "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f",
        ),
        (
            "direct-convolution",
            "f32[2,20,20,24]",
            "f32[3,3,24,40]",
            "f32[2,20,20,40]",
            "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f",
        ),
        (
            "direct-convolution",
            "f32[2,20,20,24]",
            "f32[2,20,20,40]",
            "f32[3,3,24,40]",
            "window={size=20x20 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf",
        ),
        (
            "depthwise",
            "f32[2,20,20,24]",
            "f32[3,3,1,24]",
            "f32[2,20,20,24]",
            "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=24",
        ),
    ] {
        let text = convolution(input, kernel, result, attributes);
        let inputs = inputs(&text, filled).unwrap();
        let compiler =
            compiler().choosing(&format!("contraction={emitter}")).unwrap_or_else(|failure| panic!("{failure}"));
        let results = machines().into_iter().flat_map(|machine| {
            [1, 2, 16].map(|core_count| {
                let device = DeviceDescription { core_count, ..machine.device.clone() };
                compiler.run(&text, &Machine::new(machine.target.clone(), device), &inputs).unwrap().result
            })
        });
        let results: Vec<_> = results.collect();
        assert!(results.iter().all(|result| *result == results[0]), "{emitter} {text}");
    }
}
