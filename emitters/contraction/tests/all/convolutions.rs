//! Checks convolutions of real models, and random convolutions.
//!
//! `FUSEBOX_CONVOLUTIONS` sets the number of random convolutions, and `FUSEBOX_CONVOLUTION_SEED`
//! sets the first seed.

use fusebox_conformance::fusions::Chance;
use fusebox_conformance::literals::Closeness;
use fusebox_conformance::{inputs, literals};
use fusebox_core::hlo::{WindowDim, window_output_size};

use crate::random::{followed, list, setting};
use crate::{compiler, exact, machines, makers};

/// Returns a fusion that convolves `input` with `kernel`.
pub fn convolution(input: &str, kernel: &str, result: &str, attributes: &str) -> String {
    format!(
        "fusion {{
  x = {input} parameter(0)
  w = {kernel} parameter(1)
  ROOT c = {result} convolution(x, w), {attributes}
}}
"
    )
}

/// Asserts that an emitter of products compiles the only kernel. Each emitter that accepts the
/// fusion must compute right results.
fn contracts(text: &str) {
    for maker in makers(&exact(text)) {
        assert!(["contraction", "direct-convolution"].contains(&maker.as_str()), "{maker} makes {text}");
    }
    let taken = ["contraction", "direct-convolution"].map(|emitter| is_taken(emitter, text));
    assert!(taken[0], "{text}");
}

#[test]
fn forward() {
    for (input, kernel, result, attributes) in [
        // Channels last with padding; few channels with a stride; channels first; a plain product.
        (
            "f32[2,9,14,20]",
            "f32[3,3,20,40]",
            "f32[2,9,14,40]",
            "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f",
        ),
        (
            "f32[1,30,30,3]",
            "f32[7,7,3,33]",
            "f32[1,15,15,33]",
            "window={size=7x7 stride=2x2 pad=2_3x2_3}, dim_labels=b01f_01io->b01f",
        ),
        (
            "f32[2,20,9,14]",
            "f32[40,20,3,3]",
            "f32[2,40,9,14]",
            "window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01",
        ),
        ("f32[2,9,14,20]", "f32[1,1,20,40]", "f32[2,9,14,40]", "window={size=1x1}, dim_labels=b01f_01io->b01f"),
        ("f32[3,200,5]", "f32[8,5,20]", "f32[3,97,20]", "window={size=8 stride=2}, dim_labels=b0f_0io->b0f"),
        (
            "f32[2,5,6,7,8]",
            "f32[2,3,3,8,16]",
            "f32[2,4,6,5,16]",
            "window={size=2x3x3 pad=0_0x1_1x0_0}, dim_labels=b012f_012io->b012f",
        ),
        ("f32[40,60]", "f32[60,50]", "f32[40,50]", "dim_labels=bf_io->bf"),
    ] {
        contracts(&convolution(input, kernel, result, attributes));
    }
}

#[test]
fn gradients() {
    for (input, kernel, result, attributes) in [
        // Gradients of the input without and with a stride, then gradients of the kernel.
        (
            "f32[2,9,14,20]",
            "f32[3,3,40,20]",
            "f32[2,9,14,40]",
            "window={size=3x3 pad=1_1x1_1 rhs_reversal=1x1}, dim_labels=b01f_01oi->b01f",
        ),
        (
            "f32[2,9,7,20]",
            "f32[3,3,40,20]",
            "f32[2,18,14,40]",
            "window={size=3x3 pad=1_2x1_2 lhs_dilate=2x2 rhs_reversal=1x1}, dim_labels=b01f_01oi->b01f",
        ),
        (
            "f32[2,20,9,7]",
            "f32[20,40,3,3]",
            "f32[2,40,18,14]",
            "window={size=3x3 pad=1_2x1_2 lhs_dilate=2x2 rhs_reversal=1x1}, dim_labels=bf01_io01->bf01",
        ),
        (
            "f32[2,9,14,20]",
            "f32[2,9,14,40]",
            "f32[3,3,20,40]",
            "window={size=9x14 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf",
        ),
        (
            "f32[2,18,14,20]",
            "f32[2,9,7,40]",
            "f32[3,3,20,40]",
            "window={size=9x7 pad=0_1x0_1 rhs_dilate=2x2}, dim_labels=f01b_i01o->01bf",
        ),
        (
            "f32[2,20,9,14]",
            "f32[2,40,9,14]",
            "f32[20,40,3,3]",
            "window={size=9x14 pad=1_1x1_1}, dim_labels=fb01_io01->bf01",
        ),
    ] {
        contracts(&convolution(input, kernel, result, attributes));
    }
}

#[test]
fn groups() {
    for (input, kernel, result, attributes) in [
        (
            "f32[2,9,14,24]",
            "f32[3,3,8,36]",
            "f32[2,9,14,36]",
            "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=3",
        ),
        (
            "f32[2,24,9,14]",
            "f32[36,8,3,3]",
            "f32[2,36,9,14]",
            "window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01, feature_group_count=3",
        ),
        (
            "f32[6,9,14,20]",
            "f32[3,3,20,36]",
            "f32[2,9,14,36]",
            "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, batch_group_count=3",
        ),
    ] {
        contracts(&convolution(input, kernel, result, attributes));
    }
}

#[test]
fn padding_that_crops_and_windows_beside_the_input() {
    for (input, kernel, result, attributes) in [
        (
            "f32[2,9,14,20]",
            "f32[3,3,20,40]",
            "f32[2,5,8,40]",
            "window={size=3x3 pad=-1_-1x-3_-1}, dim_labels=b01f_01io->b01f",
        ),
        (
            "f32[2,4,3,20]",
            "f32[2,2,20,40]",
            "f32[2,13,16,40]",
            "window={size=2x2 pad=5_5x9_5}, dim_labels=b01f_01io->b01f",
        ),
        (
            "f32[2,20,4,3]",
            "f32[40,20,2,2]",
            "f32[2,40,13,16]",
            "window={size=2x2 pad=5_5x9_5}, dim_labels=bf01_oi01->bf01",
        ),
    ] {
        contracts(&convolution(input, kernel, result, attributes));
    }
}

#[test]
fn what_stands_around_is_fused() {
    contracts(
        "fusion {
  x = bf16[2,9,14,20] parameter(0)
  w = f32[3,3,20,40] parameter(1)
  bias = f32[40] parameter(2)
  residual = f32[2,9,14,40] parameter(3)
  xf = f32[2,9,14,20] convert(x)
  zero = f32[] constant(0)
  xp = f32[2,11,16,20] pad(xf, zero), padding=0_0x1_1x1_1x0_0
  c = f32[2,9,14,40] convolution(xp, w), window={size=3x3}, dim_labels=b01f_01io->b01f
  b = f32[2,9,14,40] broadcast(bias), dimensions={3}
  s = f32[2,9,14,40] add(c, b)
  z = f32[2,9,14,40] broadcast(zero), dimensions={}
  m = f32[2,9,14,40] maximum(s, z)
  r = f32[2,9,14,40] add(m, residual)
  ROOT h = bf16[2,9,14,40] convert(r)
}
",
    );
}

#[test]
fn what_is_left_to_the_loop() {
    for (input, kernel, result, attributes) in [
        // No elements, no channels.
        (
            "f32[0,9,14,20]",
            "f32[3,3,20,40]",
            "f32[0,9,14,40]",
            "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f",
        ),
        (
            "f32[2,9,14,0]",
            "f32[3,3,0,40]",
            "f32[2,9,14,40]",
            "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f",
        ),
    ] {
        assert_eq!(makers(&exact(&convolution(input, kernel, result, attributes))), ["loop", "loop"]);
    }
}

/// Returns a window for at most `size` elements.
fn window(chance: &mut Chance, size: i64) -> WindowDim {
    let is_plain = chance.once_in(2);
    let rarely = |chance: &mut Chance, most: i64| if is_plain { 1 } else { chance.pick(&[1, 1, 2, most]) };
    let (stride, window_dilation, base_dilation) = (rarely(chance, 3), rarely(chance, 3), rarely(chance, 3));
    // Sometimes as large as the input, as in a gradient of a kernel.
    let extent = chance.pick(&[1, 2, 3, 3, 5, size.max(1)]);
    let padding = |chance: &mut Chance| chance.pick(&[0, 0, 1, 1, 2, extent - 1, -1, extent + 1]);
    let (padding_low, padding_high) = (padding(chance), padding(chance));
    let reversal = chance.once_in(4);
    WindowDim { size: extent, stride, padding_low, padding_high, window_dilation, base_dilation, reversal }
}

/// Returns the dimensions `[a, b, spatial…]` in a random order, and their labels.
fn labelled(chance: &mut Chance, letters: [char; 2], sizes: [i64; 2], spatial: &[i64]) -> (String, Vec<i64>) {
    let last: Vec<char> = (0..spatial.len()).map(|dim| char::from(b'0' + dim as u8)).collect();
    let (all, dims) = ([&letters[..], &last].concat(), [&sizes[..], spatial].concat());
    let usual: [Vec<usize>; 2] =
        [(0..all.len()).collect(), [vec![0], (2..all.len()).collect::<Vec<_>>(), vec![1]].concat()];
    let order = match chance.below(4) {
        0 => chance.permutation(all.len()),
        1 => usual[0].clone(),
        _ => usual[1].clone(),
    };
    (order.iter().map(|&of| all[of]).collect(), order.iter().map(|&of| dims[of]).collect())
}

fn each_dim(window: &[WindowDim], of: impl Fn(&WindowDim) -> String) -> String {
    window.iter().map(of).collect::<Vec<_>>().join("x")
}

fn written(window: &[WindowDim]) -> String {
    if window.is_empty() {
        return String::new();
    }
    format!(
        "window={{size={} stride={} pad={} lhs_dilate={} rhs_dilate={} rhs_reversal={}}}, ",
        each_dim(window, |dim| dim.size.to_string()),
        each_dim(window, |dim| dim.stride.to_string()),
        each_dim(window, |dim| format!("{}_{}", dim.padding_low, dim.padding_high)),
        each_dim(window, |dim| dim.base_dilation.to_string()),
        each_dim(window, |dim| dim.window_dilation.to_string()),
        each_dim(window, |dim| i64::from(dim.reversal).to_string()),
    )
}

fn random(seed: u64) -> String {
    let chance = &mut Chance::new(seed);
    let rank = chance.pick(&[0, 1, 2, 2, 2, 3]);
    let most = [400, 60, 14, 6][rank];
    let spatial: Vec<i64> = (0..rank).map(|_| chance.below(most + 1)).collect();
    let window: Vec<WindowDim> = spatial.iter().map(|&size| window(chance, size)).collect();
    let outputs: Vec<i64> =
        spatial.iter().zip(&window).map(|(&size, dim)| window_output_size(size, dim).unwrap()).collect();
    // Every fourth convolution has many groups of few features, for emitters that take nothing
    // else.
    let is_narrow = seed % 4 == 3;
    let (all_groups, all_features): (&[[i64; 2]], &[i64]) = if is_narrow {
        (&[[12, 1], [40, 1], [1, 12], [1, 1]], &[1, 1, 2, 4])
    } else {
        (&[[1, 1], [1, 1], [1, 1], [2, 1], [1, 3], [5, 1]], &[1, 2, 5, 16, 33, 64, 70])
    };
    let [feature_groups, batch_groups] = chance.pick(all_groups);
    let (images, channels) = (chance.pick(&[0, 1, 1, 2, 2, 3]), chance.pick(&[1, 3, 4, 16, 31, 64, 0]));
    let channels = if is_narrow { channels.min(2) } else { channels };
    let features = chance.pick(all_features);
    let (all_images, all_channels) = (images * batch_groups, channels * feature_groups);
    let features = features * feature_groups * batch_groups;
    let kernel: Vec<i64> = window.iter().map(|dim| dim.size).collect();
    let (left, left_dims) = labelled(chance, ['b', 'f'], [all_images, all_channels], &spatial);
    let (right, right_dims) = labelled(chance, ['i', 'o'], [channels, features], &kernel);
    let (out, dims) = labelled(chance, ['b', 'f'], [images, features], &outputs);
    let (a, b, c) = chance.pick(&[
        ("f32", "f32", "f32"),
        ("f32", "f32", "f32"),
        ("f64", "f64", "f64"),
        ("bf16", "bf16", "bf16"),
        ("bf16", "bf16", "f32"),
        ("f16", "f16", "f32"),
        ("f8e4m3fn", "f8e4m3fn", "f32"),
        ("s8", "s8", "s32"),
        ("u8", "u8", "s32"),
        ("s32", "s32", "s32"),
        ("s16", "s16", "s16"),
    ]);
    let [left_shape, right_shape, shape] =
        [(a, &left_dims), (b, &right_dims), (c, &dims)].map(|(element, dims)| format!("{element}[{}]", list(dims)));
    let mut text = format!("  x = {left_shape} parameter(0)\n  w = {right_shape} parameter(1)\n");
    // Narrow floats represent few integers.
    let x = if a.starts_with("f8") { "x".to_owned() } else { followed(chance, &mut text, "x", &left_shape, true) };
    text.push_str(&format!(
        "  c = {shape} convolution({x}, w), {}dim_labels={left}_{right}->{out}, feature_group_count={feature_groups}, \
batch_group_count={batch_groups}\n  r = {shape} parameter(2)\n  e = {shape} add(c, r)\n",
        written(&window)
    ));
    let last = chance.pick(&["c", "e"]);
    let last = if c == "bf16" { last.to_owned() } else { followed(chance, &mut text, last, &shape, true) };
    format!("fusion {{\n{text}  ROOT root = {shape} copy({last})\n}}\n")
}

/// Whether an emitter accepts the fusion. If so, also checks the results.
fn is_taken(emitter: &str, text: &str) -> bool {
    let compiler = compiler().choosing(&format!("contraction={emitter}")).unwrap_or_else(|failure| panic!("{failure}"));
    let inputs = inputs(text, literals::small_integers).unwrap();
    match compiler.compared(text, machines(), &inputs, Closeness::Bits) {
        Ok(made) => made[0].emitters == [emitter],
        Err(failure) if ["does not accept", "made no kernel"].iter().any(|words| failure.fault.contains(words)) => {
            false
        }
        Err(failure) => panic!("{failure}"),
    }
}

#[test]
fn convolutions_that_nobody_wrote() {
    let first = setting("FUSEBOX_CONVOLUTION_SEED", 1);
    let count = setting("FUSEBOX_CONVOLUTIONS", 60);
    let mut taken = 0;
    for seed in first..first + count {
        let text = random(seed);
        // Alternates between the emitter with the best prediction and each single emitter.
        taken += u64::from(match seed % 4 {
            0 => exact(&text)[0].emitters != ["loop"],
            1 => is_taken("contraction", &text),
            2 => is_taken("direct-convolution", &text),
            _ => is_taken("depthwise", &text),
        });
    }
    assert!(taken * 4 > count, "{taken} of {count} are taken");
}

#[test]
fn depthwise() {
    for (input, kernel, result, attributes) in [
        // Channels last and first; with a stride; with several features per group; with several
        // channels per group; gradients; longer than a row.
        (
            "f32[2,9,14,20]",
            "f32[3,3,1,20]",
            "f32[2,9,14,20]",
            "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=20",
        ),
        (
            "f32[2,20,9,14]",
            "f32[20,1,3,3]",
            "f32[2,20,9,14]",
            "window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01, feature_group_count=20",
        ),
        (
            "f32[2,9,14,20]",
            "f32[3,3,1,20]",
            "f32[2,5,7,20]",
            "window={size=3x3 stride=2x2 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=20",
        ),
        (
            "f32[2,20,65,130]",
            "f32[20,1,3,3]",
            "f32[2,20,33,65]",
            "window={size=3x3 stride=2x2 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01, feature_group_count=20",
        ),
        (
            "f32[2,9,14,20]",
            "f32[3,3,1,40]",
            "f32[2,9,14,40]",
            "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=20",
        ),
        (
            "f32[2,9,7,20]",
            "f32[3,3,1,20]",
            "f32[2,18,14,20]",
            "window={size=3x3 pad=1_2x1_2 lhs_dilate=2x2 rhs_reversal=1x1}, dim_labels=b01f_01io->b01f, feature_group_count=20",
        ),
        (
            "f32[2,9,14,20]",
            "f32[2,9,14,20]",
            "f32[3,3,1,20]",
            "window={size=9x14 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf, batch_group_count=20",
        ),
        (
            "f32[2,3000,7]",
            "f32[4,1,7]",
            "f32[2,3000,7]",
            "window={size=4 pad=3_0}, dim_labels=b0f_0io->b0f, feature_group_count=7",
        ),
        (
            "bf16[1,60,70,1]",
            "f32[5,5,1,1]",
            "f32[1,60,70,1]",
            "window={size=5x5 pad=2_2x2_2}, dim_labels=b01f_01io->b01f",
        ),
    ] {
        let text = convolution(input, kernel, result, attributes);
        assert!(is_taken("depthwise", &text), "{text}");
        assert!(!makers(&exact(&text)).contains(&"loop".to_owned()), "{text}");
    }
}
