//! Checks the inference of shapes from operands and attributes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use fusebox_hlo::{Opcode, WindowDim, parse_module, verify, window_output_size};

const PRELUDE: &str = "HloModule m

sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT z = f32[] add(x, y)
}

ge {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT z = pred[] compare(x, y), direction=GE
}

arg_max {
  x = f32[] parameter(0)
  i = s32[] parameter(1)
  y = f32[] parameter(2)
  j = s32[] parameter(3)
  ROOT t = (f32[], s32[]) tuple(x, i)
}

pair {
  x = f32[4] parameter(0)
  c = s32[] constant(1)
  ROOT t = (f32[4], s32[]) tuple(x, c)
}

ENTRY e {
";

/// Returns the inferred shape of the last instruction. The text omits this shape.
fn inferred(parameters: &[&str], operation: &str) -> Result<String, String> {
    let mut text = String::from(PRELUDE);
    for (number, shape) in parameters.iter().enumerate() {
        text += &format!("  p{number} = {shape} parameter({number})\n");
    }
    text += &format!("  ROOT r = {operation}\n}}\n");
    let module = parse_module(&text, "m").map_err(|faults| faults[0].message.clone())?;
    verify(&module).map_err(|faults| faults[0].message.clone())?;
    match module.entry_computation() {
        Some(entry) => Ok(entry.root_instruction().shape.to_string()),
        None => panic!("no entry"),
    }
}

/// Each case has the shapes of the operands, the operation, and the shape of the result.
const CASES: &[(&[&str], &str, &str)] = &[
    (&["f32[2,3]"], "negate(p0)", "f32[2,3]"),
    (&["c64[2,3]"], "abs(p0)", "f32[2,3]"),
    (&["c128[2]"], "imag(p0)", "f64[2]"),
    (&["f32[2]"], "is-finite(p0)", "pred[2]"),
    (&["f64[2]", "f64[2]"], "complex(p0, p1)", "c128[2]"),
    (&["s8[2]", "s8[2]"], "compare(p0, p1), direction=EQ", "pred[2]"),
    (&["pred[]", "s8[2]", "s8[2]"], "select(p0, p1, p2)", "s8[2]"),
    (&["f32[]", "f32[4]", "f32[]"], "clamp(p0, p1, p2)", "f32[4]"),
    (&["f32[2,3,4]"], "transpose(p0), dimensions={2,0,1}", "f32[4,2,3]"),
    (&["f32[2,3]"], "reverse(p0), dimensions={1}", "f32[2,3]"),
    (&["s4[2,3]", "s4[2,5]"], "concatenate(p0, p1), dimensions={1}", "s4[2,8]"),
    (&["f32[8]", "f32[]"], "pad(p0, p1), padding=1_2_3", "f32[32]"),
    (&["f32[8]", "f32[]"], "pad(p0, p1), padding=-3_-2", "f32[3]"),
    (&["f32[0]", "f32[]"], "pad(p0, p1), padding=1_2_3", "f32[3]"),
    (
        &["f32[6,7]", "s32[2,5]"],
        "gather(p0, p1), offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={0,1}, index_vector_dim=0, \
         slice_sizes={1,1}",
        "f32[5]",
    ),
    (
        &["f32[6,7]", "s32[5]"],
        "gather(p0, p1), offset_dims={0}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, \
         slice_sizes={1,3}",
        "f32[3,5]",
    ),
    (
        &["f32[3,6,7]", "s32[3,5,1]"],
        "gather(p0, p1), offset_dims={2}, collapsed_slice_dims={1}, start_index_map={1}, index_vector_dim=2, \
         operand_batching_dims={0}, start_indices_batching_dims={0}, slice_sizes={1,1,7}",
        "f32[3,5,7]",
    ),
    (
        &["f32[6,3]", "s32[4,1]", "f32[4,3]"],
        "scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, \
         index_vector_dim=1, to_apply=sum",
        "f32[6,3]",
    ),
    (&["f32[2,3,4]", "f32[]"], "reduce(p0, p1), dimensions={2,0}, to_apply=sum", "f32[3]"),
    (
        &["f32[2,3]", "s32[2,3]", "f32[]", "s32[]"],
        "reduce(p0, p1, p2, p3), dimensions={1}, to_apply=arg_max",
        "(f32[2], s32[2])",
    ),
    (
        &["f32[8,9]", "f32[]"],
        "reduce-window(p0, p1), window={size=2x3 stride=2x1 pad=1_0x0_2 rhs_dilate=1x2}, to_apply=sum",
        "f32[4,7]",
    ),
    (
        &["f32[4,6]", "f32[2,3]", "f32[]"],
        "select-and-scatter(p0, p1, p2), window={size=2x2 stride=2x2}, select=ge, scatter=sum",
        "f32[4,6]",
    ),
    (&["f32[4,6]", "f32[4,6]"], "map(p0, p1), dimensions={0,1}, to_apply=sum", "f32[4,6]"),
    (&["f32[4,6]"], "sort(p0), dimensions={1}, to_apply=ge", "f32[4,6]"),
    (&["f32[4,6]"], "topk(p0), k=2, largest=true", "(f32[4,2], s32[4,2])"),
    (
        &["f32[2,8,3]", "f32[2,3,5]"],
        "dot(p0, p1), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}",
        "f32[2,8,5]",
    ),
    (
        &["f32[1,9,9,3]", "f32[3,3,3,8]"],
        "convolution(p0, p1), window={size=3x3 stride=2x2 pad=1_1x1_1}, dim_labels=b01f_01io->b01f",
        "f32[1,5,5,8]",
    ),
    (
        &["f32[1,4,4,6]", "f32[2,2,2,9]"],
        "convolution(p0, p1), window={size=2x2 lhs_dilate=2x2}, dim_labels=b01f_01io->b01f, feature_group_count=3",
        "f32[1,6,6,9]",
    ),
    (&["f32[6,4]", "f32[4,8]"], "convolution(p0, p1), dim_labels=bf_io->bf, batch_group_count=2", "f32[3,8]"),
    (&["c64[3,8]"], "fft(p0), fft_type=FFT, fft_length={8}", "c64[3,8]"),
    (&["f64[3,8]"], "fft(p0), fft_type=RFFT, fft_length={3,8}", "c128[3,5]"),
    (&["c64[3,5]"], "fft(p0), fft_type=IRFFT, fft_length={9}", "f32[3,9]"),
    (&["f32[7,4,4]"], "cholesky(p0), lower=true", "f32[7,4,4]"),
    (
        &["f32[4,4]", "f32[4,2]"],
        "triangular-solve(p0, p1), left_side=true, lower=true, transpose_a=NO_TRANSPOSE",
        "f32[4,2]",
    ),
    (
        &["f32[2,3]", "f32[3]", "f32[3]"],
        "batch-norm-training(p0, p1, p2), epsilon=0.1, feature_index=1",
        "(f32[2,3], f32[3], f32[3])",
    ),
    (&["f32[4]"], "call(p0), to_apply=pair", "(f32[4], s32[])"),
    (&["s32[]", "f32[4]", "f32[4]"], "conditional(p0, p1, p2), branch_computations={pair, pair}", "(f32[4], s32[])"),
    (&["(f32[4], s32[])"], "get-tuple-element(p0), index=1", "s32[]"),
    (&["f32[4]", "s32[]"], "tuple(p0, p1)", "(f32[4], s32[])"),
    (&["f32[4]"], "opt-barrier(p0)", "f32[4]"),
    (&["token[]", "token[]"], "after-all(p0, p1)", "token[]"),
    (&["f32[4]", "token[]"], "add-dependency(p0, p1)", "f32[4]"),
    (&["f32[4,5]"], "get-dimension-size(p0), dimensions={1}", "s32[]"),
];

#[test]
fn shapes_follow_from_operands() {
    for (parameters, operation, expected) in CASES {
        assert_eq!(inferred(parameters, operation).as_deref(), Ok(*expected), "{operation} of {parameters:?}");
    }
}

#[test]
fn shapes_that_do_not_follow_must_be_written() {
    for opcode in [Opcode::Convert, Opcode::Reshape, Opcode::Bitcast, Opcode::BitcastConvert, Opcode::CustomCall] {
        let attributes = if opcode == Opcode::CustomCall { ", custom_call_target=\"f\"" } else { "" };
        let message = inferred(&["f32[2]"], &format!("{opcode}(p0){attributes}")).unwrap_err();
        assert_eq!(message, format!("{opcode} needs a shape before its opcode"));
    }
}

#[test]
fn windows_do_not_overflow() {
    let window = |size, stride, padding_high| WindowDim { size, stride, padding_high, ..WindowDim::default() };
    assert_eq!(window_output_size(10, &window(3, 2, 0)), Some(4));
    assert_eq!(window_output_size(2, &window(3, 1, 0)), Some(0));
    assert_eq!(window_output_size(0, &window(1, 1, 0)), Some(0));
    assert_eq!(window_output_size(10, &window(3, 0, 0)), None);
    assert_eq!(window_output_size(10, &window(3, 1, i64::MAX)), None);
    assert_eq!(window_output_size(i64::MAX, &WindowDim { base_dilation: 2, ..window(1, 1, 0) }), None);
}

/// Each case has the shapes of the operands, the operation, and words of the message.
const REFUSED: &[(&[&str], &str, &str)] = &[
    (
        &["s8[1,3,1]", "u8[3,1,1]"],
        "f32[1,1,1] convolution(p0, p1), window={size=3}, dim_labels=b0f_0io->b0f",
        "only if one type holds all values of the other",
    ),
    (
        &["c64[1,3,1]", "f64[3,1,1]"],
        "c64[1,1,1] convolution(p0, p1), window={size=3}, dim_labels=b0f_0io->b0f",
        "only if one type holds all values of the other",
    ),
    (&["c64[2]", "c64[2]"], "compare(p0, p1), direction=LT, type=TOTALORDER", "does not suit operands of type c64"),
    (&["c64[2]", "c64[2]"], "remainder(p0, p1)", "remainder needs integer or float types"),
    (&["pred[2]", "pred[2]"], "remainder(p0, p1)", "remainder needs integer or float types"),
    (&["pred[2]", "pred[2]"], "divide(p0, p1)", "divide needs number types"),
    (&["pred[2]", "pred[2]"], "power(p0, p1)", "power needs number types"),
];

#[test]
fn operations_that_a_type_does_not_have_are_refused() {
    for (parameters, operation, message) in REFUSED {
        let found = inferred(parameters, operation).unwrap_err();
        assert!(found.contains(message), "{operation}: {found}");
    }
    let mixed = ["s16[1,3,1]", "u8[3,1,1]"];
    let convolution = "f32[1,1,1] convolution(p0, p1), window={size=3}, dim_labels=b0f_0io->b0f";
    assert_eq!(inferred(&mixed, convolution).unwrap(), "f32[1,1,1]");
}
