//! Atomic updates.

use crate::harness::{Card, kernel, refused};

/// Updates a number by one instruction. Returns the old number and the new one.
fn updated(instruction: &str, bits: u32, old: u64, [first, second]: [u64; 2]) -> (u64, u64) {
    let bytes = bits as usize / 8;
    let registers = format!(".reg .b{bits} %d, %a, %b; .reg .b64 %l;");
    let body = format!(
        "ld.global.b{bits} %a, [%p1]; ld.global.b{bits} %b, [%p1+8];\n{instruction}\nst.global.b{bits} [%p2], %d;"
    );
    let mut card = Card::new();
    let place = card.array(&old.to_le_bytes()[..bytes]);
    let operands = card.array(&[first.to_le_bytes(), second.to_le_bytes()].concat());
    let to = card.unwritten(bytes as u64);
    card.run(&kernel(3, &registers, &body), 1, 1, &[place, operands, to]).unwrap_or_else(|fault| panic!("{fault}"));
    let mut value = |address| card.read(address, bytes).iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte));
    (value(to), value(place))
}

fn check(name: &str, bits: u32, old: u64, operands: [u64; 2], new: u64) {
    let third = if name.contains(".cas.") { ", %b" } else { "" };
    let instruction = format!("atom.{name} %d, [%p0], %a{third};");
    let found = updated(&instruction, bits, old, operands);
    assert_eq!(found, (old, new), "{instruction} {old:#x} {operands:#x?}: {found:#x?}");
}

#[test]
fn every_update_of_every_type() {
    check("global.add.u32", 32, u32::MAX.into(), [3, 0], 2);
    check("global.add.s32", 32, 5, [(-7i32) as u32 as u64, 0], (-2i32) as u32 as u64);
    check("global.add.u64", 64, u64::MAX, [3, 0], 2);
    check("relaxed.gpu.global.add.f32", 32, 0x3f80_0000, [0x4000_0000, 0], 0x4040_0000);
    check("global.add.f64", 64, 1f64.to_bits(), [0.5f64.to_bits(), 0], 1.5f64.to_bits());
    check("global.add.noftz.f16", 16, 0x3c00, [0x3c00, 0], 0x4000);
    check("global.add.noftz.bf16", 16, 0x3f80, [0x3f80, 0], 0x4000);
    check("global.add.noftz.f16x2", 32, 0x3c00_4000, [0x3c00_3c00, 0], 0x4000_4200);
    check("global.add.noftz.bf16x2", 32, 0x3f80_4000, [0x3f80_3f80, 0], 0x4000_4040);
    check("global.min.s32", 32, 5, [u32::MAX.into(), 0], u32::MAX.into());
    check("global.min.u32", 32, 5, [u32::MAX.into(), 0], 5);
    check("global.max.s64", 64, 5, [u64::MAX, 0], 5);
    check("acq_rel.sys.global.max.u64", 64, 5, [u64::MAX, 0], u64::MAX);
    check("global.and.b32", 32, 0xff, [0xf0f, 0], 0xf);
    check("global.or.b64", 64, 0xf0 << 40, [0xf << 40, 0], 0xff << 40);
    check("global.xor.b32", 32, 0xff, [0xf0f, 0], 0xff0);
    check("global.exch.b32", 32, 1, [2, 0], 2);
    check("global.cas.b32", 32, 1, [1, 9], 9);
    check("global.cas.b32", 32, 1, [2, 9], 1);
    check("global.cas.b64", 64, 1 << 40, [1 << 40, 9], 9);
    check("global.cas.b16", 16, 7, [7, 9], 9);
    check("global.inc.u32", 32, 4, [5, 0], 5);
    check("global.inc.u32", 32, 5, [5, 0], 0);
    check("global.dec.u32", 32, 0, [5, 0], 5);
    check("global.dec.u32", 32, 9, [5, 0], 5);
    check("global.dec.u32", 32, 3, [5, 0], 2);
}

/// Checks that additions to global memory flush subnormal numbers, and those to shared memory do
/// not.
#[test]
fn subnormals_are_flushed_in_global_memory() {
    check("global.add.f32", 32, 1, [0, 0], 0);
    let body = "mov.b32 %w, 1; st.shared.b32 [tile], %w; mov.b32 %d, 1; red.shared.add.f32 [tile], %d;\n\
                ld.shared.b32 %w, [tile]; st.global.b32 [%p0], %w;";
    let mut card = Card::new();
    let to = card.unwritten(4);
    let text = kernel(1, ".reg .b32 %w, %d; .shared .b32 tile;", body);
    card.run(&text, 1, 1, &[to]).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(card.words(to, 1), [2]);
}

#[test]
fn threads_of_all_blocks_update_one_number() {
    let mut card = Card::new();
    let place = card.array(&[0; 4]);
    let text = kernel(1, "", "red.global.add.u32 [%p0], 1;");
    let counts = card.run(&text, 50, 96, &[place]).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(card.words(place, 1), [50 * 96]);
    assert_eq!(counts.global_atomics.accesses, 150);
}

#[test]
fn forms_that_do_not_exist_are_refused() {
    for text in [
        "atom.global.add.s64 %l, [%p0], %l;",
        "red.global.exch.b32 [%p0], %w;",
        "atom.global.add.f16 %h, [%p0], %h;",
        "atom.weak.global.add.u32 %w, [%p0], %w;",
        "atom.local.add.u32 %w, [%p0], %w;",
    ] {
        let message = refused(".reg .b32 %w; .reg .b64 %l; .reg .b16 %h;", text);
        assert!(message.contains("is not supported"), "{text}: {message}");
    }
}
