//! Products of matrices by a group of four warps, from shared memory.

use crate::harness::{Card, kernel, refused};

const COLUMNS: usize = 16;
const STEPS: usize = 16;

/// Returns a kernel that multiplies a matrix of 64 rows by one of 16 columns. The matrices lie in
/// shared memory, in squares of 8 lines of 16 bytes. A matrix has two squares along the steps, 1024
/// or 256 bytes apart.
fn group(transposed: [u32; 2], prepare: &str, around: [&str; 2]) -> String {
    let sums: Vec<String> = (0..COLUMNS / 2).map(|number| format!("%f{number}")).collect();
    let registers = format!(
        ".reg .pred %q; .reg .f32 %f<{}>; .reg .b32 %w; .reg .b64 %l<8>; .shared .align 128 .b8 tile[2560];",
        COLUMNS / 2
    );
    let mut body =
        "mov.b64 %l0, tile; mul.wide.u32 %l1, %tx, 4; add.u64 %l2, %l0, %l1; add.u64 %l3, %p0, %l1;\n".to_owned();
    for at in 0..5 {
        body += &format!("ld.global.b32 %w, [%l3+{}]; st.shared.b32 [%l2+{}], %w;\n", at * 512, at * 512);
    }
    body += prepare;
    // Squares of 128 bytes are adjacent across lines.
    body += "and.b64 %l4, %l0, 0x3ffff; shr.u64 %l4, %l4, 4; add.u64 %l5, %l4, 128;\n";
    body += &format!("or.b64 %l4, %l4, {}; or.b64 %l5, %l5, {};\n", 64u64 << 16 | 8 << 32, 16u64 << 16 | 8 << 32);
    sums.iter().for_each(|sum| body += &format!("mov.f32 {sum}, 0f3F800000;\n"));
    body += &format!(
        "setp.eq.u32 %q, 0, 0;\n{}\nwgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {{{}}}, %l4, %l5, %q, 1, 1, {}, {};\n\
         wgmma.commit_group.sync.aligned;\n{}\n",
        around[0],
        sums.join(", "),
        transposed[0],
        transposed[1],
        around[1]
    );
    body += "mul.wide.u32 %l6, %tx, 32; add.u64 %l6, %l6, %p1;\n";
    for (at, sum) in sums.iter().enumerate() {
        body += &format!("st.global.f32 [%l6+{}], {sum};\n", 4 * at);
    }
    kernel(2, &registers, &body)
}

const FENCED: &str = "fence.proxy.async.shared::cta; bar.sync 0;\n";
const COMPLETE: [&str; 2] = ["wgmma.fence.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"];

fn bytes(values: impl Fn(usize) -> f32) -> Vec<u8> {
    (0..1280).flat_map(|at| half::f16::from_f32(values(at)).to_le_bytes()).collect()
}

fn value(line: usize, step: usize) -> f32 {
    ((line * 5 + step * 3) % 7) as f32 - 3.0
}

#[test]
fn groups_multiply_matrices_in_shared_memory() {
    for transposed in [[0, 0], [1, 0], [0, 1], [1, 1]] {
        let place = |side: usize, lines: usize, line: usize, step: usize| {
            let (square, row, column) = match transposed[side] {
                0 => (line / 8 + step / 8 * lines / 8, line % 8, step % 8),
                _ => (line / 8 + step / 8 * lines / 8, step % 8, line % 8),
            };
            square * 64 + row * 8 + column
        };
        let mut elements = vec![0.0; 1280];
        for step in 0..STEPS {
            (0..64).for_each(|row| elements[place(0, 64, row, step)] = value(row, step));
            (0..COLUMNS).for_each(|column| elements[1024 + place(1, COLUMNS, column, step)] = value(column + 2, step));
        }
        let mut card = Card::new();
        let (from, to) = (card.array(&bytes(|at| elements[at])), card.unwritten(64 * 64));
        card.run(&group(transposed, FENCED, COMPLETE), 1, 128, &[from, to]).unwrap_or_else(|fault| panic!("{fault}"));
        for (at, bits) in card.words(to, 1024).into_iter().enumerate() {
            let (thread, number) = (at / 8, at % 8);
            let row = thread / 32 * 16 + thread % 32 / 4 + number / 2 % 2 * 8;
            let column = number / 4 * 8 + thread % 4 * 2 + number % 2;
            let expected: f32 = (0..STEPS).map(|step| value(row, step) * value(column + 2, step)).sum();
            assert_eq!(f32::from_bits(bits), expected + 1.0, "row {row}, column {column}, {transposed:?}");
        }
    }
}

fn fault(prepare: &str, around: [&str; 2]) -> String {
    let mut card = Card::new();
    let (from, to) = (card.array(&bytes(|_| 1.0)), card.unwritten(64 * 64));
    card.run(&group([0, 0], prepare, around), 1, 128, &[from, to]).unwrap_err().to_string()
}

#[test]
fn products_need_fences_and_waits() {
    let found = fault("bar.sync 0;\n", COMPLETE);
    assert!(found.contains("did not execute fence.proxy.async after its write"), "{found}");
    let found = fault("fence.proxy.async.shared::cta;\n", COMPLETE);
    assert!(found.contains("race in shared memory"), "{found}");
    let found = fault(FENCED, ["", COMPLETE[1]]);
    assert!(found.contains("wgmma.fence must come between"), "{found}");
    let found = fault(FENCED, [COMPLETE[0], ""]);
    assert!(found.contains("a wgmma that the warp has not waited for") && found.contains("st.global.f32"), "{found}");
    let found = fault(FENCED, [COMPLETE[0], "wgmma.wait_group.sync.aligned 1;"]);
    assert!(found.contains("a wgmma that the warp has not waited for"), "{found}");
}

#[test]
fn only_one_architecture_has_groups() {
    assert!(refused("", "wgmma.fence.sync.unaligned;").contains("wgmma needs .sync.aligned"));
    let text = kernel(0, "", "wgmma.fence.sync.aligned;").replace("sm_90a", "sm_90");
    let error = Card::new().load(&text).unwrap_err();
    assert!(error.to_string().contains("wgmma needs the target sm_90a"), "{error}");
}
