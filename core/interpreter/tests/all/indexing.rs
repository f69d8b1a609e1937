//! Gather and scatter.

use crate::support::{self, ADD, array, values, vector, with};

const SET: &str = "set { a = f32[] parameter(0)\n ROOT b = f32[] parameter(1) }";

fn table() -> fusebox_core::hlo::Literal {
    array(&[3, 2], &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0])
}

#[test]
fn gathered_rows_are_moved_inside() {
    let text = "x = f32[3,2] parameter(0)\ni = s32[4] parameter(1)\nROOT r = f32[4,2] gather(x, i), offset_dims={1}, \
        collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,2}";
    let result = with(&[], text, &[table(), vector(&[2i32, 0, 9, -5])]);
    assert_eq!(values::<f32>(&result), [5.0, 6.0, 1.0, 2.0, 5.0, 6.0, 1.0, 2.0]);
}

#[test]
fn the_index_vector_may_come_first() {
    let text = "x = f32[3,2] parameter(0)\ni = s32[2,3] parameter(1)\nROOT r = f32[3] gather(x, i), offset_dims={}, \
        collapsed_slice_dims={0,1}, start_index_map={1,0}, index_vector_dim=0, slice_sizes={1,1}";
    let indices = array(&[2, 3], &[0i32, 1, 1, 2, 0, 1]);
    assert_eq!(values::<f32>(&with(&[], text, &[table(), indices])), [5.0, 2.0, 4.0]);
}

#[test]
fn gathering_in_batches() {
    let text = "x = f32[3,2] parameter(0)\ni = s32[3,1] parameter(1)\nROOT r = f32[3] gather(x, i), offset_dims={}, \
        collapsed_slice_dims={1}, operand_batching_dims={0}, start_indices_batching_dims={0}, start_index_map={1}, \
        index_vector_dim=1, slice_sizes={1,1}";
    assert_eq!(values::<f32>(&with(&[], text, &[table(), array(&[3, 1], &[1i32, 0, 1])])), [2.0, 3.0, 6.0]);
}

#[test]
fn scattered_sums_and_overwrites() {
    let scatter = |to_apply: &str| {
        let text = format!(
            "x = f32[4] parameter(0)\ni = s32[5] parameter(1)\nu = f32[5] parameter(2)\nROOT r = f32[4] scatter(x, i, u), \
            update_window_dims={{}}, inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, \
            to_apply={to_apply}"
        );
        let inputs = [vector(&[0f32; 4]), vector(&[1i32, 3, 1, 4, -1]), vector(&[1f32, 2.0, 3.0, 4.0, 5.0])];
        values::<f32>(&with(&[ADD, SET], &text, &inputs))
    };
    // The scatter leaves out indices that are out of bounds. The last of several writes to an
    // element wins.
    assert_eq!(scatter("add"), [0.0, 4.0, 0.0, 2.0]);
    assert_eq!(scatter("set"), [0.0, 3.0, 0.0, 2.0]);
}

#[test]
fn windows_that_stick_out_are_left_out_whole() {
    let text = "x = f32[5] parameter(0)\ni = s32[2,1] parameter(1)\nu = f32[2,2] parameter(2)\nROOT r = f32[5] scatter(x, i, u), \
        update_window_dims={1}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=set";
    let inputs = [vector(&[0f32; 5]), array(&[2, 1], &[4i32, 3]), array(&[2, 2], &[1f32, 2.0, 3.0, 4.0])];
    assert_eq!(values::<f32>(&with(&[SET], text, &inputs)), [0.0, 0.0, 0.0, 3.0, 4.0]);
}

#[test]
fn scattering_several_arrays() {
    let both = "both { a = f32[] parameter(0)\n b = s32[] parameter(1)\n c = f32[] parameter(2)\n d = s32[] parameter(3)\n\
        s = f32[] add(a, c)\n m = s32[] maximum(b, d)\n ROOT t = (f32[], s32[]) tuple(s, m) }";
    let text = "x = f32[2] parameter(0)\ny = s32[2] parameter(1)\ni = s32[3] parameter(2)\nu = f32[3] parameter(3)\n\
        v = s32[3] parameter(4)\nROOT r = (f32[2], s32[2]) scatter(x, y, i, u, v), update_window_dims={}, \
        inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=both";
    let inputs = [
        vector(&[0f32, 0.0]),
        vector(&[5i32, 5]),
        vector(&[0i32, 0, 1]),
        vector(&[1f32, 2.0, 3.0]),
        vector(&[9i32, 1, 2]),
    ];
    let results = support::elements(&with(&[both], text, &inputs));
    assert_eq!(values::<f32>(&results[0]), [3.0, 3.0]);
    assert_eq!(values::<i32>(&results[1]), [9, 5]);
}
