//! Products of matrices by a warp. Matrices are in memory, row after row, and each lane loads its
//! elements as the manual's figures say.

use crate::harness::{Card, kernel, refused};

/// A kind of product: its shape, types, bits of the elements, and the place of elements in lanes.
struct Kind {
    name: &'static str,
    shape: [usize; 3],
    /// Bits of an operand's element and of a sum.
    bits: [usize; 2],
    /// Returns the row and the step of an element of the left operand in a lane.
    left: fn(usize, usize) -> (usize, usize),
    /// Returns the step and the column of an element of the right operand in a lane.
    right: fn(usize, usize) -> (usize, usize),
    sum: fn(usize, usize) -> (usize, usize),
}

/// The place of a sum of 16 rows: two adjacent columns in a row, then in the row 8 below.
fn sum_of_16(lane: usize, i: usize) -> (usize, usize) {
    (lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2)
}

/// Packs the elements of each lane into registers, and multiplies.
fn product(kind: &Kind, left: &[u64], right: &[u64], sums: &[u64]) -> Vec<u64> {
    let [m, n, k] = kind.shape;
    let register = if kind.bits[0] == 64 { 64 } else { 32 };
    let sum_register = kind.bits[1].max(32);
    let mut card = Card::new();
    let mut arrays = Vec::new();
    let mut pack = |count: usize, bits: usize, register: usize, element: &dyn Fn(usize, usize) -> u64| {
        let in_register = register / bits;
        let mut bytes = Vec::new();
        for lane in 0..32 {
            for number in 0..count / 32 / in_register {
                let word = (0..in_register)
                    .fold(0, |word, place| word | element(lane, number * in_register + place) << (place * bits));
                bytes.extend_from_slice(&word.to_le_bytes()[..register / 8]);
            }
        }
        arrays.push((card.array(&bytes), count / 32 / in_register, register));
    };
    pack(m * k, kind.bits[0], register, &|lane, i| {
        let (row, step) = (kind.left)(lane, i);
        left[row * k + step]
    });
    pack(n * k, kind.bits[0], register, &|lane, i| {
        let (step, column) = (kind.right)(lane, i);
        right[step * n + column]
    });
    pack(m * n, kind.bits[1], sum_register, &|lane, i| {
        let (row, column) = (kind.sum)(lane, i);
        sums[row * n + column]
    });
    let (mut registers, mut body) = (".reg .b64 %at;\n".to_owned(), String::new());
    let mut lists = Vec::new();
    for (operand, (_, count, bits)) in arrays.iter().enumerate() {
        let name = ["a", "b", "c"][operand];
        registers += &format!(".reg .b{bits} %{name}<{count}>;\n");
        body += &format!("mul.wide.u32 %at, %tx, {}; add.u64 %at, %at, %p{operand};\n", count * bits / 8);
        for number in 0..*count {
            body += &format!("ld.global.b{bits} %{name}{number}, [%at+{}];\n", number * bits / 8);
        }
        lists.push((0..*count).map(|number| format!("%{name}{number}")).collect::<Vec<_>>().join(", "));
    }
    let (_, count, bits) = arrays[2];
    registers += &format!(".reg .b{bits} %d<{count}>;\n");
    let results: Vec<String> = (0..count).map(|number| format!("%d{number}")).collect();
    body += &format!(
        "mma.sync.aligned.{} {{{}}}, {{{}}}, {{{}}}, {{{}}};\n",
        kind.name,
        results.join(", "),
        lists[0],
        lists[1],
        lists[2]
    );
    body += &format!("mul.wide.u32 %at, %tx, {}; add.u64 %at, %at, %p3;\n", count * bits / 8);
    for (number, result) in results.iter().enumerate() {
        body += &format!("st.global.b{bits} [%at+{}], {result};\n", number * bits / 8);
    }
    let to = card.unwritten((32 * count * bits / 8) as u64);
    let parameters = [arrays[0].0, arrays[1].0, arrays[2].0, to];
    card.run(&kernel(4, &registers, &body), 1, 32, &parameters).unwrap_or_else(|fault| panic!("{fault}"));
    let bytes = card.read(to, 32 * count * bits / 8);
    let mut all = vec![0; m * n];
    let per_lane = m * n / 32;
    for (at, element) in bytes.chunks(kind.bits[1] / 8).enumerate() {
        let (row, column) = (kind.sum)(at / per_lane, at % per_lane);
        all[row * n + column] = element.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte));
    }
    all
}

/// Multiplies small integers, whose products and sums are exact in every type.
fn check(kind: &Kind, encode: fn(i64) -> u64, encode_sum: fn(i64) -> u64) {
    let [m, n, k] = kind.shape;
    let value = |at: usize| (at * 7 % 11) as i64 - 5;
    let left: Vec<u64> = (0..m * k).map(|at| encode(value(at))).collect();
    let right: Vec<u64> = (0..k * n).map(|at| encode(value(at + 3))).collect();
    let sums: Vec<u64> = (0..m * n).map(|at| encode_sum(value(at + 5))).collect();
    let expected: Vec<u64> = (0..m * n)
        .map(|at| {
            let (row, column) = (at / n, at % n);
            let products = (0..k).map(|step| value(row * k + step) * value(step * n + column + 3));
            encode_sum(products.sum::<i64>() + value(at + 5))
        })
        .collect();
    assert_eq!(product(kind, &left, &right, &sums), expected, "{}", kind.name);
}

fn f16(value: i64) -> u64 {
    u64::from(half::f16::from_f32(value as f32).to_bits())
}

fn bf16(value: i64) -> u64 {
    u64::from(half::bf16::from_f32(value as f32).to_bits())
}

fn f32(value: i64) -> u64 {
    u64::from((value as f32).to_bits())
}

fn f64(value: i64) -> u64 {
    (value as f64).to_bits()
}

fn s32(value: i64) -> u64 {
    u64::from(value as u32)
}

#[test]
fn products_of_16_bits() {
    let left: fn(usize, usize) -> (usize, usize) = |lane, i| {
        let row = if i < 2 || (4..6).contains(&i) { lane / 4 } else { lane / 4 + 8 };
        (row, lane % 4 * 2 + i % 2 + if i >= 4 { 8 } else { 0 })
    };
    let right: fn(usize, usize) -> (usize, usize) =
        |lane, i| (lane % 4 * 2 + i % 2 + if i >= 2 { 8 } else { 0 }, lane / 4);
    let of = |name, steps, sum| Kind { name, shape: [16, 8, steps], bits: [16, sum], left, right, sum: sum_of_16 };
    check(&of("m16n8k16.row.col.f32.bf16.bf16.f32", 16, 32), bf16, f32);
    check(&of("m16n8k8.row.col.f32.bf16.bf16.f32", 8, 32), bf16, f32);
    check(&of("m16n8k16.row.col.f32.f16.f16.f32", 16, 32), f16, f32);
    check(&of("m16n8k8.row.col.f32.f16.f16.f32", 8, 32), f16, f32);
    check(&of("m16n8k16.row.col.f16.f16.f16.f16", 16, 16), f16, f16);
}

#[test]
fn products_of_bytes_and_nibbles() {
    let left: fn(usize, usize) -> (usize, usize) = |lane, i| {
        let row = if i < 4 || (8..12).contains(&i) { lane / 4 } else { lane / 4 + 8 };
        (row, lane % 4 * 4 + i % 4 + if i >= 8 { 16 } else { 0 })
    };
    let right: fn(usize, usize) -> (usize, usize) =
        |lane, i| (lane % 4 * 4 + i % 4 + if i >= 4 { 16 } else { 0 }, lane / 4);
    let of = |name, steps| Kind { name, shape: [16, 8, steps], bits: [8, 32], left, right, sum: sum_of_16 };
    let byte: fn(i64) -> u64 = |value| u64::from(value as u8);
    check(&of("m16n8k32.row.col.s32.s8.s8.s32", 32), byte, s32);
    check(&of("m16n8k16.row.col.s32.s8.s8.s32", 16), byte, s32);
    check(&of("m16n8k32.row.col.satfinite.s32.s8.s8.s32", 32), byte, s32);
    let e4m3: fn(i64) -> u64 = |value| {
        let magnitude = [0u64, 0x38, 0x40, 0x44, 0x48, 0x4a][value.unsigned_abs() as usize];
        magnitude | if value < 0 { 0x80 } else { 0 }
    };
    check(&of("m16n8k32.row.col.f32.e4m3.e4m3.f32", 32), e4m3, f32);
    let nibble_left: fn(usize, usize) -> (usize, usize) = |lane, i| {
        let row = if i < 8 || (16..24).contains(&i) { lane / 4 } else { lane / 4 + 8 };
        (row, lane % 4 * 8 + i % 8 + if i >= 16 { 32 } else { 0 })
    };
    let nibble_right: fn(usize, usize) -> (usize, usize) =
        |lane, i| (lane % 4 * 8 + i % 8 + if i >= 8 { 32 } else { 0 }, lane / 4);
    let of_nibbles = Kind {
        name: "m16n8k64.row.col.s32.s4.s4.s32",
        shape: [16, 8, 64],
        bits: [4, 32],
        left: nibble_left,
        right: nibble_right,
        sum: sum_of_16,
    };
    check(&of_nibbles, |value| value as u64 & 15, s32);
}

#[test]
fn products_of_words() {
    let left: fn(usize, usize) -> (usize, usize) =
        |lane, i| (lane / 4 + i % 2 * 8, lane % 4 + if i >= 2 { 4 } else { 0 });
    let right: fn(usize, usize) -> (usize, usize) = |lane, i| (lane % 4 + 4 * i, lane / 4);
    let of = |name, steps| Kind { name, shape: [16, 8, steps], bits: [32, 32], left, right, sum: sum_of_16 };
    check(&of("m16n8k8.row.col.f32.tf32.tf32.f32", 8), f32, f32);
    check(&of("m16n8k4.row.col.f32.tf32.tf32.f32", 4), f32, f32);
}

#[test]
fn products_of_doubles() {
    let small = Kind {
        name: "m8n8k4.row.col.f64.f64.f64.f64",
        shape: [8, 8, 4],
        bits: [64, 64],
        left: |lane, _| (lane / 4, lane % 4),
        right: |lane, _| (lane % 4, lane / 4),
        sum: |lane, i| (lane / 4, lane % 4 * 2 + i),
    };
    check(&small, f64, f64);
    let large = Kind {
        name: "m16n8k8.row.col.f64.f64.f64.f64",
        shape: [16, 8, 8],
        bits: [64, 64],
        left: |lane, i| (lane / 4 + i % 2 * 8, lane % 4 + i / 2 * 4),
        right: |lane, i| (lane % 4 + 4 * i, lane / 4),
        sum: sum_of_16,
    };
    check(&large, f64, f64);
}

/// Checks that matrices of 8 by 8 elements come to the lanes that a product needs.
#[test]
fn matrices_are_loaded_and_stored() {
    let registers = ".reg .b32 %r<4>; .reg .b64 %l, %at, %m; .shared .align 16 .b8 tile[512];";
    // The elements are numbered in the order of memory.
    let fill = "mov.b64 %l, tile; mul.wide.u32 %m, %tx, 16; add.u64 %m, %m, %l; mul.lo.u32 %r0, %tx, 8;\n\
                mad.lo.u32 %r0, %r0, 65537, 65536; add.u32 %r1, %r0, 131074; add.u32 %r2, %r1, 131074;\n\
                add.u32 %r3, %r2, 131074; st.shared.v4.b32 [%m], {%r0, %r1, %r2, %r3}; bar.sync 0;\n";
    let store = "mul.wide.u32 %at, %tx, 16; add.u64 %at, %at, %p0; st.global.v4.b32 [%at], {%r0, %r1, %r2, %r3};";
    let run = |body: &str| {
        let mut card = Card::new();
        let to = card.unwritten(512);
        let text = kernel(1, registers, &format!("{fill}{body}{store}"));
        card.run(&text, 1, 32, &[to]).unwrap_or_else(|fault| panic!("{fault}"));
        card.words(to, 128)
    };
    let found = run("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, [%m];\n");
    for lane in 0..32 {
        for matrix in 0..4 {
            let first = (matrix * 64 + lane / 4 * 8 + lane % 4 * 2) as u32;
            assert_eq!(found[lane * 4 + matrix], first | (first + 1) << 16);
        }
    }
    let found = run("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r0, %r1, %r2, %r3}, [%m];\n");
    for lane in 0..32 {
        for matrix in 0..4 {
            let first = (matrix * 64 + lane % 4 * 2 * 8 + lane / 4) as u32;
            assert_eq!(found[lane * 4 + matrix], first | (first + 8) << 16);
        }
    }
    let found = run("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, [%m]; bar.sync 0;\n\
         stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%m], {%r0, %r1, %r2, %r3}; bar.sync 0;\n\
         ld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [%m];\n");
    for lane in 0..32 {
        let transposed = |at: u32| (lane as u32 / 8) * 64 + at * 8 + lane as u32 % 8;
        for word in 0..4 {
            let at = word as u32 * 2;
            assert_eq!(found[lane * 4 + word], transposed(at) | transposed(at + 1) << 16);
        }
    }
}

#[test]
fn shapes_that_do_not_exist_are_refused() {
    let registers = ".reg .b32 %r<8>;";
    let of = |name: &str| {
        refused(
            registers,
            &format!("mma.sync.aligned.{name} {{%r0, %r1, %r2, %r3}}, {{%r4, %r5}}, {{%r6}}, {{%r0, %r1, %r2, %r3}};"),
        )
    };
    assert!(of("m16n8k32.row.col.f32.f16.f16.f32").contains("is not supported"));
    assert!(of("m16n8k8.col.row.f32.f16.f16.f32").contains("left operand in rows"));
    assert!(of("m16n8k16.row.col.f32.f16.f16.f32").contains("operand 1 of mma has 4 registers"));
}
