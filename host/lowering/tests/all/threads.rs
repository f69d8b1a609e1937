//! Checks tiles, barriers, shuffles and atomic updates. The tests run them on the cpu and check
//! their PTX.

use crate::jit::{self, Buffer, KernelSource, compile, compile_and_run, contains_in_order, source, stages_of};
use fusebox_core::builder::{FunctionBuilder, IntPredicate, Scalar, Type};
use fusebox_lowering::{Code, NoStages, Stage, Target};

/// Returns a function `@combine` of two scalars of type `ty`.
fn combiner(ty: &str, body: &str) -> String {
    format!(
        r#"
"func.func"() <{{function_type = ({ty}, {ty}) -> {ty}, sym_name = "combine", sym_visibility = "private"}}> ({{
^bb0(%a: {ty}, %b: {ty}):
  {body}
  "func.return"(%r) : ({ty}) -> ()
}}) : () -> ()
"#
    )
}

/// Returns a kernel that reduces 256 elements with the combiner. Shuffles reduce the elements of a
/// warp. The results of the warps are reduced through a tile.
fn block_reduction(ty: &str, bytes: u64, body: &str, threads: u32) -> KernelSource {
    let per_thread = 256 / threads;
    let warps = threads.div_ceil(32);
    let text = format!(
        r#"
"func.func"() <{{function_type = (tensor<256x{ty}>, tensor<1x{ty}>) -> tensor<1x{ty}>, sym_name = "reduce"}}> ({{
^bb0(%in: tensor<256x{ty}>, %out: tensor<1x{ty}>):
  %thread = "gpu.thread_id"() <{{dimension = #gpu<dim x>}}> : () -> index
  %zero = "arith.constant"() <{{value = 0 : index}}> : () -> index
  %first = "xla_gpu.apply_indexing"(%thread) {{map = "(d0) -> (d0 * {per_thread}), domain: d0 in [0, {last}]"}} : (index) -> index
  %init = "tensor.extract"(%in, %first) : (tensor<256x{ty}>, index) -> {ty}
  %partial = "xla_gpu.loop"(%thread, %init) ({{
  ^bb1(%s: index, %i: index, %acc: {ty}):
    %x = "tensor.extract"(%in, %i) : (tensor<256x{ty}>, index) -> {ty}
    %y = "xla_gpu.pure_call"(%acc, %x) {{callee = @combine}} : ({ty}, {ty}) -> {ty}
    "xla_gpu.yield"(%y) : ({ty}) -> ()
  }}) {{map = "(d0)[s0] -> (d0 * {per_thread} + s0), domain: d0 in [0, {last}], s0 in [1, {last_own}]"}} : (index, {ty}) -> {ty}
  %warp = "xla_gpu.shuffle_reduce"(%partial) {{callee = @combine, max_distance = 16 : i64}} : ({ty}) -> {ty}
  %lane, %number = "xla_gpu.apply_indexing"(%thread) {{map = "(d0) -> (d0 mod 32, d0 floordiv 32), domain: d0 in [0, {last}]"}} : (index) -> (index, index)
  %leads = "arith.cmpi"(%lane, %zero) <{{predicate = 0 : i64}}> : (index, index) -> i1
  %tile = "xla_gpu.allocate_shared"() : () -> tensor<{warps}x{ty}>
  %written = "xla_gpu.predicated_insert"(%leads, %warp, %tile, %number) : (i1, {ty}, tensor<{warps}x{ty}>, index) -> tensor<{warps}x{ty}>
  %synced = "xla_gpu.sync_threads"(%written) : (tensor<{warps}x{ty}>) -> tensor<{warps}x{ty}>
  %is_first = "arith.cmpi"(%thread, %zero) <{{predicate = 0 : i64}}> : (index, index) -> i1
  %done = "scf.if"(%is_first) ({{
    %start = "tensor.extract"(%synced, %zero) : (tensor<{warps}x{ty}>, index) -> {ty}
    %sum = "xla_gpu.loop"(%start) ({{
    ^bb2(%w: index, %at: index, %total: {ty}):
      %own = "tensor.extract"(%synced, %at) : (tensor<{warps}x{ty}>, index) -> {ty}
      %more = "xla_gpu.pure_call"(%total, %own) {{callee = @combine}} : ({ty}, {ty}) -> {ty}
      "xla_gpu.yield"(%more) : ({ty}) -> ()
    }}) {{map = "()[s0] -> (s0), domain: s0 in [1, {last_warp}]"}} : ({ty}) -> {ty}
    %put = "tensor.insert"(%sum, %out, %zero) : ({ty}, tensor<1x{ty}>, index) -> tensor<1x{ty}>
    "scf.yield"(%put) : (tensor<1x{ty}>) -> ()
  }}, {{
    "scf.yield"(%out) : (tensor<1x{ty}>) -> ()
  }}) : (i1) -> tensor<1x{ty}>
  "func.return"(%done) : (tensor<1x{ty}>) -> ()
}}) {{fusebox.entry}} : () -> ()
"#,
        last = threads - 1,
        last_own = per_thread - 1,
        last_warp = warps.saturating_sub(1).max(1),
    );
    let text = if warps == 1 { text.replace("s0 in [1, 1]", "s0 in [1, 0]") } else { text };
    source("reduce", &(text + &combiner(ty, body)), &[256 * bytes, bytes], 1, 1, threads)
}

fn ptx(kernel: &KernelSource, capability: u32) -> String {
    let target = Target::nvptx(capability);
    match compile(std::slice::from_ref(kernel), &target, &mut NoStages) {
        Ok(Code::Ptx(text)) => {
            if let Some(report) = jit::assemble(&text, capability) {
                contains_in_order(&report, &["0 bytes spill stores, 0 bytes spill loads"]);
            }
            text
        }
        Ok(other) => panic!("{other:?}"),
        Err(error) => panic!("{error}"),
    }
}

fn amd(kernel: &KernelSource) -> String {
    let target = Target::named("gfx942").unwrap();
    match compile(std::slice::from_ref(kernel), &target, &mut NoStages) {
        Ok(Code::Assembly(text)) => text,
        Ok(other) => panic!("{other:?}"),
        Err(error) => panic!("{error}"),
    }
}

const ADD_F32: &str = "%r = \"arith.addf\"(%a, %b) : (f32, f32) -> f32";

#[test]
fn on_the_cpu_a_block_of_one_thread_reduces_alone() {
    let values: Vec<f32> = (0..256).map(|i| i as f32 * 0.5).collect();
    let mut buffers = [Buffer::of(&values), Buffer::of(&[0f32])];
    let kernel = block_reduction("f32", 4, ADD_F32, 1);
    compile_and_run(&kernel, &mut buffers);
    assert_eq!(buffers[1].values::<f32>(), [255.0 * 256.0 / 4.0]);
    // A tile with a single element becomes a register.
    let (_, stages) = stages_of(&kernel, &Target::cpu()).unwrap();
    assert!(!stages.get(Stage::Llvm).contains("alloca"), "{}", stages.get(Stage::Llvm));
}

#[test]
fn a_block_of_many_threads_needs_a_gpu() {
    let error = compile(&[block_reduction("f32", 4, ADD_F32, 32)], &Target::cpu(), &mut NoStages).unwrap_err();
    contains_in_order(&error.to_string(), &["a block has 32 threads"]);
}

#[test]
fn tiles_take_no_more_than_the_plan_says() {
    let mut kernel = block_reduction("f32", 4, ADD_F32, 128);
    kernel.shared_bytes = 16;
    ptx(&kernel, 90);
    kernel.shared_bytes = 15;
    let target = Target::nvptx(90);
    let error = compile(&[kernel], &target, &mut NoStages).unwrap_err();
    contains_in_order(&error.to_string(), &["xla_gpu.allocate_shared", "take 16 bytes", "asks for 15"]);
}

#[test]
fn warps_reduce_by_shuffles_and_blocks_through_a_tile() {
    for capability in [80, 90] {
        let text = ptx(&block_reduction("f32", 4, ADD_F32, 128), capability);
        contains_in_order(
            &text,
            &[
                ".entry reduce(",
                ".shared .align 16 .b8",
                "[16];",
                "shfl.sync.down.b32",
                ", 16, 31, -1;",
                "add.rn.f32",
                ", 8, 31, -1;",
                ", 4, 31, -1;",
                ", 2, 31, -1;",
                ", 1, 31, -1;",
                "add.rn.f32",
                "st.shared.b32",
                "bar.sync",
                "ld.shared.v4.b32",
                "st.global.b32",
            ],
        );
        assert_eq!(text.matches("shfl.sync").count(), 5, "{text}");
    }
    let text = amd(&block_reduction("f32", 4, ADD_F32, 128));
    contains_in_order(&text, &["ds_bpermute_b32", "ds_write", "s_barrier", "ds_read", "global_store"]);
    assert_eq!(text.matches("ds_bpermute_b32").count(), 5, "{text}");
}

#[test]
fn lanes_exchange_values_of_every_width() {
    for (ty, bytes, body, words) in [
        ("f64", 8, "%r = \"arith.addf\"(%a, %b) : (f64, f64) -> f64", 2),
        ("i64", 8, "%r = \"arith.maxsi\"(%a, %b) : (i64, i64) -> i64", 2),
        ("i32", 4, "%r = \"arith.muli\"(%a, %b) : (i32, i32) -> i32", 1),
        ("i16", 2, "%r = \"arith.minui\"(%a, %b) : (i16, i16) -> i16", 1),
        ("i8", 1, "%r = \"arith.addi\"(%a, %b) : (i8, i8) -> i8", 1),
        ("i4", 1, "%r = \"arith.maxsi\"(%a, %b) : (i4, i4) -> i4", 1),
        ("i1", 1, "%r = \"arith.andi\"(%a, %b) : (i1, i1) -> i1", 1),
        ("f8E4M3FN", 1, "%r = \"arith.maximumf\"(%a, %b) : (f8E4M3FN, f8E4M3FN) -> f8E4M3FN", 1),
        (
            "bf16",
            2,
            "%x = \"arith.extf\"(%a) : (bf16) -> f32\n%y = \"arith.extf\"(%b) : (bf16) -> f32\n\
             %z = \"arith.addf\"(%x, %y) : (f32, f32) -> f32\n%r = \"arith.truncf\"(%z) : (f32) -> bf16",
            1,
        ),
        ("f16", 2, "%r = \"arith.maximumf\"(%a, %b) : (f16, f16) -> f16", 1),
        ("complex<f32>", 8, COMPLEX_SUM, 2),
        ("complex<f64>", 16, &COMPLEX_SUM.replace("f32", "f64"), 4),
    ] {
        let kernel = block_reduction(ty, bytes, body, 128);
        for capability in [80, 90] {
            let text = ptx(&kernel, capability);
            assert_eq!(text.matches("shfl.sync.down.b32").count(), 5 * words, "{ty}:\n{text}");
        }
        let text = amd(&kernel);
        assert_eq!(text.matches("ds_bpermute_b32").count(), 5 * words, "{ty}:\n{text}");
        compile(&[block_reduction(ty, bytes, body, 1)], &Target::cpu(), &mut NoStages).unwrap();
    }
}

const COMPLEX_SUM: &str = "%ar = \"complex.re\"(%a) : (complex<f32>) -> f32\n\
    %br = \"complex.re\"(%b) : (complex<f32>) -> f32\n%re = \"arith.addf\"(%ar, %br) : (f32, f32) -> f32\n\
    %ai = \"complex.im\"(%a) : (complex<f32>) -> f32\n%bi = \"complex.im\"(%b) : (complex<f32>) -> f32\n\
    %im = \"arith.addf\"(%ai, %bi) : (f32, f32) -> f32\n\
    %r = \"complex.create\"(%re, %im) : (f32, f32) -> complex<f32>";

#[test]
fn several_values_are_exchanged_together() {
    let text = r#"
"func.func"() <{function_type = (tensor<32xf32>, tensor<1xi64>) -> tensor<1xi64>, sym_name = "argmax"}> ({
^bb0(%in: tensor<32xf32>, %out: tensor<1xi64>):
  %thread = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
  %zero = "arith.constant"() <{value = 0 : index}> : () -> index
  %x = "tensor.extract"(%in, %thread) : (tensor<32xf32>, index) -> f32
  %i = "arith.index_cast"(%thread) : (index) -> i64
  %best:2 = "xla_gpu.shuffle_reduce"(%x, %i) {callee = @larger, max_distance = 16 : i64} : (f32, i64) -> (f32, i64)
  %first = "arith.cmpi"(%thread, %zero) <{predicate = 0 : i64}> : (index, index) -> i1
  %done = "xla_gpu.predicated_insert"(%first, %best#1, %out, %zero) : (i1, i64, tensor<1xi64>, index) -> tensor<1xi64>
  "func.return"(%done) : (tensor<1xi64>) -> ()
}) {fusebox.entry} : () -> ()
"func.func"() <{function_type = (f32, i64, f32, i64) -> (f32, i64), sym_name = "larger", sym_visibility = "private"}> ({
^bb0(%a: f32, %i: i64, %b: f32, %j: i64):
  %c = "arith.cmpf"(%a, %b) <{predicate = 2 : i64}> : (f32, f32) -> i1
  %x = "arith.select"(%c, %a, %b) : (i1, f32, f32) -> f32
  %k = "arith.select"(%c, %i, %j) : (i1, i64, i64) -> i64
  "func.return"(%x, %k) : (f32, i64) -> ()
}) : () -> ()
"#;
    let found = ptx(&source("argmax", text, &[128, 8], 1, 1, 32), 80);
    // The upper half of the index is known to be zero, so the kernel need not shuffle the upper
    // half.
    assert!(found.matches("shfl.sync.down.b32").count() >= 10, "{found}");
}

/// Returns a kernel in which each thread twice writes a value, waits at a barrier and reads the
/// value of another thread. The values are in a tile or in the output itself.
fn neighbours(tile: bool) -> KernelSource {
    let ty = Type::tensor(&[128], Scalar::F32);
    let mut b = FunctionBuilder::new("neighbours");
    let (input, output) = (b.argument(ty.clone()), b.argument(ty));
    let (thread, last) = (b.thread_id(), b.index(127));
    let other = b.subi(last, thread);
    let mut place = if tile { b.allocate_shared(&[128], Scalar::F32) } else { output };
    let mut value = b.extract(input, &[thread]);
    for _ in 0..2 {
        place = b.insert(value, place, &[thread]);
        place = b.sync_threads(&[place])[0];
        let theirs = b.extract(place, &[other]);
        value = b.addf(value, theirs);
        place = b.sync_threads(&[place])[0];
    }
    let written = b.insert(value, if tile { output } else { place }, &[thread]);
    b.ret(&[written]);
    source("neighbours", &b.finish().unwrap().to_string(), &[512, 512], 1, 1, 128)
}

#[test]
fn accesses_stay_on_their_side_of_a_barrier() {
    for (tile, memory) in [(true, "shared"), (false, "global")] {
        let text = ptx(&neighbours(tile), 90);
        let (store, load) = (format!("st.{memory}.b32"), format!("ld.{memory}.b32"));
        let turn = [&store, "bar.sync", &load, "bar.sync"];
        contains_in_order(&text, &[turn, turn].concat());
    }
}

#[test]
fn tiles_are_carried_through_loops_and_branches() {
    let ty = Type::tensor(&[128], Scalar::F32);
    let mut b = FunctionBuilder::new("carried");
    let (input, output) = (b.argument(ty.clone()), b.argument(ty));
    let (thread, zero, one, turns) = (b.thread_id(), b.index(0), b.index(1), b.index(7));
    let tile = b.allocate_shared(&[128], Scalar::F32);
    let start = b.extract(input, &[thread]);
    let tile = b.insert(start, tile, &[thread]);
    let is_first = b.cmpi(IntPredicate::Eq, thread, zero);
    let after = b.scf_for(zero, turns, one, &[tile], |b, _, state| {
        let tile = b.sync_threads(state)[0];
        let old = b.extract(tile, &[zero]);
        let changed = b.scf_if(
            is_first,
            &[Type::tensor(&[128], Scalar::F32)],
            |b| {
                let more = b.addf(old, old);
                vec![b.insert(more, tile, &[zero])]
            },
            |_| vec![tile],
        );
        b.sync_threads(&changed)
    });
    let value = b.extract(after[0], &[thread]);
    let written = b.insert(value, output, &[thread]);
    b.ret(&[written]);
    let mut kernel = source("carried", &b.finish().unwrap().to_string(), &[512, 512], 1, 1, 128);
    let text = ptx(&kernel, 80);
    assert_eq!(text.matches("bar.sync").count(), 2, "{text}");
    kernel.launch.threads_per_block = 1;
    let mut buffers = [Buffer::of(&[3f32; 128]), Buffer::of(&[0f32; 128])];
    compile_and_run(&kernel, &mut buffers);
    assert_eq!(buffers[1].values::<f32>()[0], 3.0 * 128.0);
}

#[test]
fn shuffles_need_whole_warps() {
    let target = Target::nvptx(90);
    let mut kernel = block_reduction("f32", 4, ADD_F32, 128);
    kernel.launch.threads_per_block = 48;
    let error = compile(std::slice::from_ref(&kernel), &target, &mut NoStages).unwrap_err();
    contains_in_order(&error.to_string(), &["xla_gpu.shuffle_reduce", "48 threads is not made of warps of 32"]);
    // A block smaller than a warp counts as one warp.
    kernel.launch.threads_per_block = 16;
    let error = compile(std::slice::from_ref(&kernel), &target, &mut NoStages).unwrap_err();
    contains_in_order(&error.to_string(), &["distance of 16 reaches over more than the 16 lanes"]);
    kernel.launch.threads_per_block = 32;
    kernel.functions = kernel.functions.replace("max_distance = 16", "max_distance = 4");
    kernel.launch.threads_per_block = 8;
    contains_in_order(&ptx(&kernel, 90), &[", 4, 31, 255;", ", 2, 31, 255;", ", 1, 31, 255;"]);
}
