//! Loads, stores, vectors, state spaces and generic addresses.

use crate::harness::{Card, kernel};

/// Executes a body in one thread with an array of these bytes. Returns `count` words of results.
fn words(registers: &str, body: &str, bytes: &[u8], count: usize) -> Vec<u32> {
    let mut card = Card::new();
    let (from, to) = (card.array(bytes), card.unwritten(4 * count as u64));
    card.run(&kernel(2, registers, body), 1, 1, &[from, to]).unwrap_or_else(|fault| panic!("{fault}"));
    card.words(to, count)
}

#[test]
fn elements_of_every_size_are_extended() {
    let registers = ".reg .b16 %h; .reg .b32 %w<5>; .reg .b64 %l;";
    let body = "ld.global.u8 %w0, [%p0+3]; ld.global.s8 %w1, [%p0+3]; ld.global.s16 %w2, [%p0+2];\n\
                ld.global.b8 %h, [%p0+3]; cvt.u32.u16 %w3, %h; ld.global.s32 %l, [%p0]; shr.u64 %l, %l, 32;\n\
                cvt.u32.u64 %w4, %l;\n\
                st.global.u32 [%p1], %w0; st.global.u32 [%p1+4], %w1; st.global.u32 [%p1+8], %w2;\n\
                st.global.u32 [%p1+12], %w3; st.global.u32 [%p1+16], %w4;";
    let found = words(registers, body, &[1, 2, 0x83, 0x84], 5);
    assert_eq!(found, [0x84, 0xffff_ff84, 0xffff_8483, 0x84, 0xffff_ffff]);
}

#[test]
fn vectors_are_moved_in_order() {
    let bytes: Vec<u8> = (0..32).collect();
    let registers = ".reg .b32 %w<4>; .reg .b64 %l<2>; .reg .b16 %h<4>;";
    let body = "ld.global.v4.b32 {%w0, %w1, %w2, %w3}, [%p0+16]; st.global.v4.b32 [%p1], {%w3, %w2, %w1, %w0};\n\
                ld.global.nc.v2.b64 {%l0, %l1}, [%p0]; st.global.v2.u64 [%p1+16], {%l1, %l0};\n\
                ld.global.v4.b16 {%h0, _, %h2, %h3}, [%p0]; st.global.v2.b16 [%p1+32], {%h2, %h0};\n\
                ld.global.L1::no_allocate.v2.b8 {%h0, %h1}, [%p0+30]; st.global.v2.b8 [%p1+36], {%h1, %h0};\n\
                st.global.v2.b8 [%p1+38], {%h1, %h1};";
    let found = words(registers, body, &bytes, 10);
    let word = |at: u32| u32::from_le_bytes([at as u8, at as u8 + 1, at as u8 + 2, at as u8 + 3]);
    let expected =
        [word(28), word(24), word(20), word(16), word(8), word(12), word(0), word(4), 0x0100_0504, 0x1f1f_1e1f];
    assert_eq!(found, expected);
}

#[test]
fn shared_and_local_memory() {
    let registers = ".reg .b32 %w<4>; .reg .b64 %l<4>; .shared .align 16 .b8 tile[64]; .local .align 4 .b8 depot[16];";
    let body = "mov.b32 %w0, 77; mov.b64 %l0, tile; st.shared.b32 [%l0+8], %w0; ld.shared.b32 %w1, [tile+8];\n\
                mov.b64 %l1, depot; st.local.b32 [%l1+4], %w1; ld.local.b32 %w2, [depot+4];\n\
                st.global.b32 [%p1], %w2;\n\
                cvta.shared.u64 %l2, %l0; ld.b32 %w3, [%l2+8]; st.global.b32 [%p1+4], %w3;\n\
                cvta.local.u64 %l2, %l1; ld.b32 %w3, [%l2+4]; st.global.b32 [%p1+8], %w3;\n\
                cvta.to.shared.u64 %l3, %l2; cvta.to.global.u64 %l3, %p0; ld.u8 %w3, [%l3]; st.global.b32 [%p1+12], %w3;";
    assert_eq!(words(registers, body, &[9], 4), [77, 77, 77, 9]);
}

#[test]
fn addresses_tell_their_space() {
    let registers = ".reg .pred %q; .reg .b32 %w; .reg .b64 %l; .shared .b32 tile;";
    let mut body = "mov.b64 %l, tile; cvta.shared.u64 %l, %l;\n".to_owned();
    for (at, (space, address)) in
        [("shared", "%l"), ("global", "%l"), ("global", "%p0"), ("local", "%p0")].iter().enumerate()
    {
        body +=
            &format!("isspacep.{space} %q, {address}; selp.b32 %w, 1, 0, %q; st.global.b32 [%p1+{}], %w;\n", 4 * at);
    }
    assert_eq!(words(registers, &body, &[9], 4), [1, 0, 1, 0]);
}

#[test]
fn dynamic_shared_memory_follows_static() {
    let text = kernel(
        1,
        ".reg .b32 %w<2>; .shared .b32 fixed;",
        "mov.b32 %w0, 5; st.shared.b32 [more+60], %w0; \
        ld.shared.b32 %w1, [more+60]; st.global.b32 [%p0], %w1;",
    );
    let text = text.replace(".visible .entry", ".extern .shared .align 16 .b8 more[];\n.visible .entry");
    let mut card = Card::new();
    let to = card.unwritten(4);
    card.run_with(&text, [1; 3], [1; 3], 64, &[to]).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(card.words(to, 1), [5]);
    let fault = card.run_with(&text, [1; 3], [1; 3], 32, &[to]).unwrap_err();
    assert!(fault.to_string().contains("4 bytes of shared memory"), "{fault}");
}

#[test]
fn variables_of_a_module_have_initial_values() {
    let text = kernel(
        1,
        ".reg .b32 %w; .reg .b64 %l;",
        "ld.const.b32 %w, [table+4]; st.global.b32 [%p0], %w;\n\
        mov.b64 %l, state; ld.global.b32 %w, [%l]; st.global.b32 [%p0+4], %w; ld.global.b32 %w, [zeros+4];\n\
        st.global.b32 [%p0+8], %w; ld.global.b32 %w, [bytes]; st.global.b32 [%p0+12], %w;",
    );
    let variables = ".const .align 4 .u32 table[2] = {1, 0xdead};\n.global .f32 state = 0f3F800000;\n\
                     .global .u32 zeros[2];\n.global .align 4 .b8 bytes[4] = {1, 2, 3, 255};\n.visible .entry";
    let text = text.replace(".visible .entry", variables);
    let mut card = Card::new();
    let to = card.unwritten(16);
    card.run(&text, 1, 1, &[to]).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(card.words(to, 4), [0xdead, 0x3f80_0000, 0, 0xff03_0201]);
    let module = card.load(&text).unwrap();
    assert_eq!(module.global("state").map(|(_, bytes)| bytes), Some(4));
    let before = card.memory.used();
    module.unload(&card.memory);
    assert_eq!(card.memory.used(), before - 8 - 4 - 8 - 4);
}

/// Checks the counted sectors of 32 bytes, and the conflicts of banks.
#[test]
fn traffic_is_counted() {
    let at = |shift: u32| format!("mul.wide.u32 %l, %tx, {shift}; add.u64 %m, %p0, %l; ld.global.b32 %w, [%m];");
    let counts = |body: &str| {
        let mut card = Card::new();
        let from = card.array(&[0; 4096]);
        let text = kernel(1, ".reg .b32 %w; .reg .b64 %l, %m; .shared .align 4 .b8 tile[4096];", body);
        card.run(&text, 1, 32, &[from]).unwrap_or_else(|fault| panic!("{fault}"))
    };
    let reads = |shift| counts(&at(shift)).global_reads;
    let of =
        |traffic: fusebox_ptx::Traffic| [traffic.accesses, traffic.bytes, traffic.sectors, traffic.perfect_sectors];
    assert_eq!(of(reads(4)), [1, 128, 4, 4]);
    assert_eq!(of(reads(8)), [1, 128, 8, 4]);
    assert_eq!(of(reads(32)), [1, 128, 32, 4]);
    assert_eq!(of(reads(0)), [1, 4, 1, 1]);
    let conflicts = |shift: u32| {
        let counts = counts(&format!(
            "mul.wide.u32 %l, %tx, {shift}; mov.b64 %m, tile; add.u64 %m, %m, %l; \
            st.shared.b32 [%m], %tx;"
        ));
        (counts.shared_accesses, counts.bank_conflicts)
    };
    assert_eq!([4, 8, 128, 12].map(conflicts), [(1, 0), (1, 1), (1, 31), (1, 0)]);
    let all = counts(&at(4));
    assert_eq!(all.classes["global loads"], fusebox_ptx::Executed { warps: 1, threads: 32 });
    assert!(all.json().contains("\"sectors\": 4"), "{}", all.json());
}
