//! Checks vectors of contiguous elements, and vectors that accumulate in loops.

use crate::jit::{self, Buffer, KernelSource, compile, compile_and_run, contains_in_order, source, stages_of};
use fusebox_core::builder::{Combination, FastMath, Float, FunctionBuilder, Scalar, Type};
use fusebox_lowering::{Code, NoStages, Stage, Target};

/// Returns a kernel that copies rows of 128 groups. Each thread moves `lanes` elements, optionally
/// through a tile.
fn copy(element: Scalar, bytes: u64, lanes: i64, through_tile: bool) -> KernelSource {
    let count = 128 * lanes;
    let ty = Type::tensor(&[4, count], element);
    let mut b = FunctionBuilder::new("copy");
    let (input, output) = (b.argument(ty.clone()), b.argument(ty));
    let (row, thread, width) = (b.block_id(), b.thread_id(), b.index(lanes));
    let first = b.muli(thread, width);
    let mut vector = b.vector_read(input, &[row, first], lanes);
    if through_tile {
        let tile = b.allocate_shared(&[128 * lanes], element);
        let tile = b.vector_write(vector, tile, &[first]);
        let tile = b.sync_threads(&[tile])[0];
        let last = b.index(127);
        let other = b.subi(last, thread);
        let from = b.muli(other, width);
        vector = b.vector_read(tile, &[from], lanes);
    }
    let written = b.vector_write(vector, output, &[row, first]);
    b.ret(&[written]);
    let size = 4 * count as u64 * bytes;
    source("copy", &b.finish().unwrap().to_string(), &[size, size], 1, 4, 128)
}

fn ptx(kernel: KernelSource, capability: u32) -> String {
    match compile(&[kernel], &Target::nvptx(capability), &mut NoStages) {
        Ok(Code::Ptx(text)) => {
            jit::assemble(&text, capability);
            text
        }
        Ok(other) => panic!("{other:?}"),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn rows_of_any_type_are_accesses_of_sixteen_bytes() {
    for (element, bytes) in [
        (Scalar::F32, 4),
        (Scalar::F64, 8),
        (Scalar::I64, 8),
        (Scalar::BF16, 2),
        (Scalar::F16, 2),
        (Scalar::I16, 2),
        (Scalar::I8, 1),
        (Scalar::Int(4), 1),
        (Scalar::I1, 1),
        (Scalar::Float(Float::F8E4M3FN), 1),
    ] {
        let wide = if bytes == 8 { "v2.b64" } else { "v4.b32" };
        for capability in [80, 90] {
            let text = ptx(copy(element, bytes, 16 / bytes as i64, false), capability);
            contains_in_order(&text, &[&format!("ld.global.nc.{wide}"), &format!("st.global.{wide}")]);
        }
        let text = ptx(copy(element, bytes, 16 / bytes as i64, true), 90);
        let [load, store] = ["ld.shared.", "st.shared."].map(|access| format!("{access}{wide}"));
        contains_in_order(&text, &[&store, "bar.sync", &load]);
        // The kernel accesses eight and four bytes at a time.
        let text = ptx(copy(element, bytes, 8 / bytes as i64, false), 90);
        assert!(["st.global.v2.b32", "st.global.b64"].iter().any(|wide| text.contains(wide)), "{text}");
        if bytes < 8 {
            contains_in_order(&ptx(copy(element, bytes, 4 / bytes as i64, false), 90), &["st.global.b32"]);
        }
        let target = Target::named("gfx942").unwrap();
        let Ok(Code::Assembly(text)) =
            compile(&[copy(element, bytes, 16 / bytes as i64, true)], &target, &mut NoStages)
        else {
            panic!("not compiled")
        };
        contains_in_order(&text, &["global_load_dwordx4", "s_barrier", "global_store_dwordx4"]);
    }
}

#[test]
fn narrow_elements_keep_their_meaning() {
    let mut kernel = copy(Scalar::I1, 1, 128, false);
    kernel.launch.threads_per_block = 1;
    let values: Vec<u8> = (0..65536u32).map(|i| (i % 3) as u8).collect();
    let mut buffers = [Buffer::of(&values), Buffer::of(&vec![9u8; values.len()])];
    compile_and_run(&kernel, &mut buffers);
    let moved: Vec<u8> = buffers[1].values();
    // Thread 0 moves the first 128 elements of each row.
    let width = 128 * 128;
    assert!((0..128).all(|i| moved[width + i] == u8::from(values[width + i] != 0)));
    assert_eq!(moved[128], 9);
}

/// Returns a function that sums each column of a 100 × 16 matrix, and then adds these sums.
fn columns(element: Scalar) -> FunctionBuilder {
    let mut b = FunctionBuilder::new("columns");
    let input = b.argument(Type::tensor(&[100, 16], element));
    let sums = b.argument(Type::tensor(&[16], element));
    let total = b.argument(Type::tensor(&[1], element));
    let (zero, one, rows) = (b.index(0), b.index(1), b.index(100));
    let start = b.zero(&Type::Scalar(element));
    let start = b.vector_broadcast(start, 16);
    let all = b.scf_for(zero, rows, one, &[start], |b, row, state| {
        let own = b.vector_read(input, &[row, zero], 16);
        vec![if element.is_integer() { b.addi(state[0], own) } else { b.addf(state[0], own) }]
    });
    let sums = b.vector_write(all[0], sums, &[zero]);
    b.set_fastmath(FastMath::REASSOC);
    let sum = b.vector_reduction(Combination::Add, all[0]);
    let total = b.insert(sum, total, &[zero]);
    b.ret(&[sums, total]);
    b
}

#[test]
fn accumulators_are_vectors() {
    let kernel = source("columns", &columns(Scalar::F32).finish().unwrap().to_string(), &[6400, 64, 4], 2, 1, 1);
    let (_, stages) = stages_of(&kernel, &Target::cpu()).unwrap();
    let llvm = stages.get(Stage::Llvm);
    assert!(llvm.contains("phi <16 x float>") || llvm.contains("phi <8 x float>"), "{llvm}");
    let values: Vec<f32> = (0..1600).map(|i| (i % 37) as f32).collect();
    let mut buffers = [Buffer::of(&values), Buffer::of(&[0f32; 16]), Buffer::of(&[0f32])];
    compile_and_run(&kernel, &mut buffers);
    let wanted: Vec<f32> = (0..16).map(|column| (0..100).map(|row| values[16 * row + column]).sum()).collect();
    assert_eq!(buffers[1].values::<f32>(), wanted);
    assert_eq!(buffers[2].values::<f32>(), [wanted.iter().sum::<f32>()]);

    let kernel = source("columns", &columns(Scalar::I8).finish().unwrap().to_string(), &[1600, 16, 1], 2, 1, 1);
    let values: Vec<u8> = (0..1600).map(|i| (i % 251) as u8).collect();
    let mut buffers = [Buffer::of(&values), Buffer::of(&[0u8; 16]), Buffer::of(&[0u8])];
    compile_and_run(&kernel, &mut buffers);
    let sum = |all: &[u8]| all.iter().fold(0u8, |sum, &value| sum.wrapping_add(value));
    let wanted: Vec<u8> =
        (0..16).map(|column| sum(&(0..100).map(|row| values[16 * row + column]).collect::<Vec<_>>())).collect();
    assert_eq!(buffers[1].values::<u8>(), wanted);
    assert_eq!(buffers[2].values::<u8>(), [sum(&wanted)]);
}

#[test]
fn lanes_are_taken_and_replaced() {
    let mut b = FunctionBuilder::new("swap");
    let input = b.argument(Type::tensor(&[4], Scalar::F32));
    let output = b.argument(Type::tensor(&[4], Scalar::F32));
    let zero = b.index(0);
    let vector = b.vector_read(input, &[zero], 4);
    let (first, last) = (b.vector_extract(vector, 0), b.vector_extract(vector, 3));
    let swapped = b.vector_insert(last, vector, 0);
    let swapped = b.vector_insert(first, swapped, 3);
    let written = b.vector_write(swapped, output, &[zero]);
    b.ret(&[written]);
    let mut buffers = [Buffer::of(&[1f32, 2.0, 3.0, 4.0]), Buffer::of(&[0f32; 4])];
    compile_and_run(&source("swap", &b.finish().unwrap().to_string(), &[16, 16], 1, 1, 1), &mut buffers);
    assert_eq!(buffers[1].values::<f32>(), [4.0, 2.0, 3.0, 1.0]);
}

/// Returns a kernel that interleaves the two halves of sixteen numbers. The kernel writes the
/// result with or without non-temporal stores.
fn interleaved(past_caches: bool) -> KernelSource {
    let mut b = FunctionBuilder::new("interleaved");
    let ty = Type::tensor(&[16], Scalar::F32);
    let (input, output) = (b.argument(ty.clone()), b.argument(ty));
    let (zero, eight) = (b.index(0), b.index(8));
    let (first, second) = (b.vector_read(input, &[zero], 8), b.vector_read(input, &[eight], 8));
    let lanes: Vec<i64> = (0..8).flat_map(|lane| [lane, 8 + lane]).collect();
    let all = b.vector_shuffle(first, second, &lanes);
    let write = if past_caches { FunctionBuilder::vector_write_past_caches } else { FunctionBuilder::vector_write };
    let written = write(&mut b, all, output, &[zero]);
    b.ret(&[written]);
    source("interleaved", &b.finish().unwrap().to_string(), &[64, 64], 1, 1, 1)
}

#[test]
fn lanes_of_two_vectors_are_chosen() {
    let values: Vec<f32> = (0..16).map(|i| i as f32).collect();
    let mut buffers = [Buffer::of(&values), Buffer::of(&[0f32; 16])];
    compile_and_run(&interleaved(false), &mut buffers);
    let wanted: Vec<f32> = (0..8).flat_map(|i| [i as f32, (8 + i) as f32]).collect();
    assert_eq!(buffers[1].values::<f32>(), wanted);
}

#[test]
fn writes_past_the_caches_arrive() {
    let mut buffers = [Buffer::of(&[1f32; 16]), Buffer::of(&[0f32; 16])];
    compile_and_run(&interleaved(true), &mut buffers);
    assert_eq!(buffers[1].values::<f32>(), [1f32; 16]);
    ptx(interleaved(true), 90);
}

#[test]
fn transfers_beyond_the_contract_are_refused() {
    let text = r#"
"func.func"() <{function_type = (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>, sym_name = "bad"}> ({
^bb0(%in: tensor<4x4xf32>, %out: tensor<4x4xf32>):
  %zero = "arith.constant"() <{value = 0 : index}> : () -> index
  %pad = "arith.constant"() <{value = 0.0 : f32}> : () -> f32
  %v = "vector.transfer_read"(%in, %zero, %zero, %pad) <{in_bounds = [BOUNDS], operandSegmentSizes = array<i32: 1, 2, 1, 0>, permutation_map = affine_map<(d0, d1) -> (ALONG)>}> : (tensor<4x4xf32>, index, index, f32) -> vector<4xf32>
  %done = "vector.transfer_write"(%v, %out, %zero, %zero) <{in_bounds = [true], operandSegmentSizes = array<i32: 1, 1, 2, 0>, permutation_map = affine_map<(d0, d1) -> (d1)>}> : (vector<4xf32>, tensor<4x4xf32>, index, index) -> tensor<4x4xf32>
  "func.return"(%done) : (tensor<4x4xf32>) -> ()
}) {fusebox.entry} : () -> ()
"#;
    for (bounds, along, message) in [("true", "d0", "along the last dimension"), ("false", "d1", "must be in bounds")] {
        let text = text.replace("BOUNDS", bounds).replace("ALONG", along);
        let error = compile(&[source("bad", &text, &[64, 64], 1, 1, 1)], &Target::cpu(), &mut NoStages).unwrap_err();
        contains_in_order(&error.to_string(), &["vector.transfer_read", message]);
    }
    let text = text.replace("BOUNDS", "true").replace("ALONG", "d1");
    compile(&[source("bad", &text, &[64, 64], 1, 1, 1)], &Target::cpu(), &mut NoStages).unwrap();
}
