//! Planted faults: each is reported with its kernel, block, thread and line.

use fusebox_ptx::{Fault, FaultKind, Space};

use crate::harness::{Card, kernel};

/// Executes a body in two blocks of 64 threads, with an array of 1024 zeros, and returns the fault.
/// Checks that the place is the line with the mark `// here`.
fn fault(registers: &str, body: &str) -> Fault {
    let mut card = Card::new();
    let array = card.array(&[0; 1024]);
    let registers = format!(".reg .b32 %a, %b; .reg .b64 %l, %m; .reg .f32 %f<4>; .reg .pred %q; {registers}");
    let text = kernel(1, &registers, &body.replace("; //", ";//").replace("; ", ";\n"));
    let fault = card.run(&text, 2, 64, &[array]).err().unwrap_or_else(|| panic!("no fault in\n{text}"));
    let place = fault.place.as_ref().unwrap();
    let line = text.lines().nth(place.line as usize - 1).unwrap();
    assert!(line.contains("// here"), "{fault}");
    assert_eq!(place.instruction, line.trim());
    assert_eq!(place.kernel, "k");
    fault
}

/// Returns the block and the thread of a fault.
fn place(fault: &Fault) -> (u32, u32) {
    let place = fault.place.as_ref().unwrap();
    (place.block[0], place.thread[0])
}

#[test]
fn unwritten_registers() {
    let found = fault("", "setp.lt.u32 %q, %tx, 5; @%q mov.u32 %a, 1; add.u32 %b, %a, 1; // here");
    assert_eq!(found.kind, FaultKind::UnwrittenRegister { name: "%a".into() });
    assert_eq!(place(&found), (0, 5));
    let body = "mul.wide.u32 %l, %gid, 4; add.u64 %l, %l, %p0; setp.gt.u32 %q, %gid, 70; @%q bra A; mov.u32 %a, 2;\n\
                A: st.global.u32 [%l], %a; // here";
    let found = fault("", body);
    assert_eq!(found.kind, FaultKind::UnwrittenRegister { name: "%a".into() });
    assert_eq!(place(&found), (1, 7));
    let found = fault("", "@%q add.u32 %tx, %tx, 1; // here");
    assert_eq!(found.kind, FaultKind::UnwrittenRegister { name: "%q".into() });
}

/// Checks that a register that every path writes is accepted.
#[test]
fn registers_that_every_path_writes() {
    let body = "setp.lt.u32 %q, %tx, 5; @%q bra A; mov.u32 %a, 1; bra B;\nA: mov.u32 %a, 2;\nB: add.u32 %b, %a, 1;\n\
                mov.u32 %c, 0;\nL: @%q mov.u32 %c, 7; add.u32 %c, %c, 1; setp.lt.u32 %q, %c, 7; @%q bra L;";
    let text = kernel(0, ".reg .b32 %a, %b, %c; .reg .pred %q;", &body.replace("; ", ";\n"));
    Card::new().run(&text, 1, 64, &[]).unwrap_or_else(|fault| panic!("{fault}"));
}

#[test]
fn accesses_out_of_bounds() {
    let found = fault("", "ld.global.u32 %a, [%p0+1022+2]; // here".replace("1022+2", "1024").as_str());
    assert!(matches!(found.kind, FaultKind::OutOfBounds { space: Space::Global, bytes: 4, .. }), "{found}");
    assert!(found.to_string().contains("the access begins at byte 1024"), "{found}");
    let found = fault(
        "",
        "mul.wide.u32 %l, %gid, 16; add.u64 %l, %l, %p0; ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%l]; // here",
    );
    assert_eq!(place(&found), (1, 0));
    let found = fault("", "mov.b64 %l, 64; ld.global.u8 %a, [%l]; // here");
    assert!(found.to_string().contains("no allocation has a smaller address"), "{found}");
    let found = fault(
        ".shared .b32 tile[8];",
        "mul.wide.u32 %l, %tx, 4; mov.b64 %m, tile; add.u64 %l, %l, %m; st.shared.u32 [%l], %tx; // here",
    );
    assert!(matches!(found.kind, FaultKind::OutOfBounds { space: Space::Shared, .. }), "{found}");
    assert_eq!(place(&found).1, 8);
    let found = fault(".local .b32 depot[2];", "mov.u32 %a, 1; st.local.u32 [depot+8], %a; // here");
    assert!(matches!(found.kind, FaultKind::OutOfBounds { space: Space::Local, .. }), "{found}");
}

#[test]
fn misaligned_accesses() {
    let found = fault("", "mul.wide.u32 %l, %tx, 4; add.u64 %l, %l, %p0; ld.global.v2.f32 {%f0, %f1}, [%l]; // here");
    assert!(matches!(found.kind, FaultKind::Misaligned { space: Space::Global, alignment: 8, .. }), "{found}");
    assert_eq!(place(&found), (0, 1));
    let found = fault(".shared .align 4 .b8 tile[64];", "mov.u32 %a, 1; st.shared.u32 [tile+2], %a; // here");
    assert!(matches!(found.kind, FaultKind::Misaligned { space: Space::Shared, alignment: 4, .. }), "{found}");
    let found = fault("", "red.global.add.u32 [%p0+1], 1; // here");
    assert!(matches!(found.kind, FaultKind::Misaligned { alignment: 4, .. }), "{found}");
}

#[test]
fn bytes_that_were_never_written() {
    let mut card = Card::new();
    let array = card.unwritten(64);
    let fault = card
        .run(&kernel(1, ".reg .b32 %a;", "ld.global.u32 %a, [%p0+8]; add.u32 %a, %a, 1;"), 1, 1, &[array])
        .unwrap_err();
    assert_eq!(fault.kind, FaultKind::Uninitialized { space: Space::Global, address: array + 8 });
    let found = self::fault(".shared .b32 tile[8];", "ld.shared.u32 %a, [tile+4]; // here");
    assert!(matches!(found.kind, FaultKind::Uninitialized { space: Space::Shared, .. }), "{found}");
    let found = self::fault(".local .b32 depot[2];", "ld.local.u32 %a, [depot]; // here");
    assert!(matches!(found.kind, FaultKind::Uninitialized { space: Space::Local, address: 0 }), "{found}");
    let found = self::fault(".shared .b32 tile[8];", "atom.shared.add.u32 %a, [tile], 1; // here");
    assert!(matches!(found.kind, FaultKind::Uninitialized { space: Space::Shared, .. }), "{found}");
    let when = card.stamp();
    let fault = card.memory.read(array, &mut [0; 4], &when).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Uninitialized { .. }) && fault.place.is_none());
}

/// Checks that a byte that no instruction uses may be anything, if it is in bounds.
#[test]
fn unused_elements_of_vectors() {
    let body = "ld.global.v4.u32 {%a0, %a1, %a2, %a3}, [%p0]; add.u32 %a0, %a0, %a1; add.u32 %a0, %a0, %a2;\n\
                st.global.u32 [%p1], %a0;";
    let mut card = Card::new();
    let (array, to) = (card.unwritten(16), card.unwritten(4));
    let when = card.stamp();
    card.memory.write(array, &[1; 12], &when).unwrap();
    card.run(&kernel(2, ".reg .b32 %a<4>;", body), 1, 1, &[array, to]).unwrap_or_else(|fault| panic!("{fault}"));
    let used = body.replace("[%p1], %a0", "[%p1], %a3");
    let fault = card.run(&kernel(2, ".reg .b32 %a<4>;", &used), 1, 1, &[array, to]).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Uninitialized { .. }), "{fault}");
    let pragma = format!(".pragma \"used_bytes_mask 0xfff\";\n{used}");
    card.run(&kernel(2, ".reg .b32 %a<4>;", &pragma), 1, 1, &[array, to]).unwrap_or_else(|fault| panic!("{fault}"));
}

/// Checks loads of two elements of 16 bits each, of which the last is never written, and of a byte
/// beside one that is never written.
#[test]
fn unused_parts_of_registers() {
    let mut card = Card::new();
    let (array, to) = (card.unwritten(8), card.unwritten(8));
    let when = card.stamp();
    card.memory.write(array, &[1, 0x82, 3, 4, 5, 0x86], &when).unwrap();
    let mut run = |body: &str| {
        let registers = ".reg .b32 %a<3>; .reg .b64 %l<2>; .reg .b16 %h<5>; .reg .pred %q;";
        let load = "ld.global.v2.b32 {%a0, %a1}, [%p0];";
        card.run(&kernel(2, registers, &format!("{load} {body} st.global.b32 [%p1], %a2;")), 1, 1, &[array, to])
    };
    for right in [
        "mov.b32 {%h0, %h1}, %a1; cvt.u32.u16 %a2, %h0;",
        "mov.b32 {%h0, _}, %a1; cvt.s32.s16 %a2, %h0;",
        "and.b32 %a2, %a1, 0xffff;",
        "shl.b32 %a2, %a1, 16;",
        "shl.b32 %a0, %a1, 16; shr.s32 %a2, %a0, 16;",
        "prmt.b32 %a2, %a1, %a0, 0x5410;",
        "prmt.b32 %a2, %a0, %a1, 0xd4d4;",
        "mov.b64 %l0, {%a0, %a1}; shr.u64 %l1, %l0, 16; cvt.u32.u64 %a2, %l1;",
        "xor.b32 %a1, %a1, -1; and.b32 %a2, %a1, 255;",
        "st.global.b16 [%p1+4], %a1; mov.b32 %a2, %a0;",
        "setp.eq.u32 %q, %tx, 0; selp.b32 %a1, %a1, %a0, %q; and.b32 %a2, %a1, 1;",
    ] {
        run(right).unwrap_or_else(|fault| panic!("{fault}: {right}"));
    }
    for wrong in [
        "mov.b32 {%h0, %h1}, %a1; cvt.u32.u16 %a2, %h1;",
        "and.b32 %a2, %a1, 0x10000;",
        "shl.b32 %a2, %a1, 15;",
        "shr.s32 %a2, %a1, 31;",
        "prmt.b32 %a2, %a1, %a0, 0x5420;",
        "prmt.b32 %a2, %a0, %a1, 0xf4d4;",
        "mov.b64 %l0, {%a0, %a1}; shr.u64 %l1, %l0, 17; cvt.u32.u64 %a2, %l1;",
        "add.u32 %a2, %a1, 1; and.b32 %a2, %a2, 1;",
        "st.global.b32 [%p1+4], %a1; mov.b32 %a2, %a0;",
        "shl.b32 %a2, %a0, %a1;",
        "cvt.s64.s32 %l0, %a1; shr.u64 %l1, %l0, 40; cvt.u32.u64 %a2, %l1;",
    ] {
        let fault = run(wrong).err().unwrap_or_else(|| panic!("no fault: {wrong}"));
        assert!(matches!(fault.kind, FaultKind::Uninitialized { .. }), "{fault}: {wrong}");
    }
}

#[test]
fn accesses_after_a_free() {
    let mut card = Card::new();
    let (array, _other) = (card.array(&[0; 64]), card.array(&[0; 64]));
    let when = card.stamp();
    card.memory.free(array, &when).unwrap();
    let fault = card.run(&kernel(1, ".reg .b32 %a;", "ld.global.u32 %a, [%p0+4];"), 1, 1, &[array]).unwrap_err();
    assert_eq!(
        fault.to_string().lines().next(),
        Some(&*format!("4 bytes at {:#x} were freed: byte 4 of the 64 bytes at {array:#x}", array + 4))
    );
    let when = card.stamp();
    let twice = card.memory.free(array, &when).unwrap_err();
    assert!(twice.to_string().contains("is not the start of a live allocation"), "{twice}");
}

#[test]
fn barriers_that_some_threads_do_not_reach() {
    let found = fault("", "setp.lt.u32 %q, %tx, 32; @%q bra E; bar.sync 0; // here\nE:");
    assert!(matches!(found.kind, FaultKind::Barrier { .. }), "{found}");
    assert!(found.to_string().contains("barrier 0 is reached by 1 of 2 warps; warps [0] do not reach it"), "{found}");
    let found = fault("", "setp.lt.u32 %q, %tx, 8; @%q bra E; bar.sync 0; // here\nE:");
    assert!(matches!(found.kind, FaultKind::Divergence { .. }), "{found}");
    let found = fault("", "bar.sync 0, 48; // here");
    assert!(found.to_string().contains("48 threads of a barrier are no multiple of 32"), "{found}");
    let found = fault("", "bar.sync 16; // here");
    assert!(found.to_string().contains("barrier 16 does not exist"), "{found}");
}

#[test]
fn exchanges_with_lanes_that_do_not_take_part() {
    let found = fault("", "setp.lt.u32 %q, %tx, 8; @%q shfl.sync.down.b32 %a, %tx, 1, 31, -1; // here");
    assert!(found.to_string().contains("names lanes that do not execute it: 0xffffff00"), "{found}");
    let found = fault("", "setp.lt.u32 %q, %tx, 8; @%q shfl.sync.down.b32 %a, %tx, 1, 31, 0xff; // here");
    assert!(found.to_string().contains("shfl reads from lane 8, which does not execute it"), "{found}");
    let found = fault("", "shfl.sync.down.b32 %a, %tx, 1, 31, 0xff; // here");
    assert!(found.to_string().contains("does not contain the lane itself"), "{found}");
    let found = fault("", "setp.lt.u32 %q, %tx, 8; @%q bar.warp.sync -1; // here");
    assert!(matches!(found.kind, FaultKind::Divergence { .. }), "{found}");
    let found = fault(
        ".reg .b32 %r<8>; .reg .f32 %g<4>;",
        "setp.lt.u32 %q, %tx, 8; mov.u32 %r0, 0; mov.f32 %f0, 0f00000000; @%q mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%g0,%g1,%g2,%g3}, {%r0,%r0}, {%r0}, {%f0,%f0,%f0,%f0}; // here",
    );
    assert!(found.to_string().contains("all lanes must execute this instruction together"), "{found}");
}

#[test]
fn values_that_the_manual_does_not_specify() {
    let found = fault("", "sub.u32 %a, %tx, 3; div.u32 %b, %tx, %a; // here");
    assert!(found.to_string().contains("divided by zero"), "{found}");
    assert_eq!(place(&found), (0, 3));
    let found = fault("", "T: .branchtargets A, A;\nbrx.idx %tx, T; // here\nA: mov.u32 %a, 0;");
    assert!(found.to_string().contains("index 2 of brx.idx is beyond its 2 targets"), "{found}");
    let found = fault("", "trap; // here");
    assert_eq!(found.kind, FaultKind::Trap);
    let found = fault("", "L: // here\nbra L; // here");
    assert!(matches!(found.kind, FaultKind::NoEnd { .. }), "{found}");
}

#[test]
fn launches_that_do_not_fit_the_kernel() {
    let mut card = Card::new();
    let text = kernel(1, "", "").replace(")\n{", ")\n.reqntid 64\n{");
    let launch = |card: &mut Card, block: u32, parameters: &[u64]| {
        card.run(&text, 1, block, parameters).unwrap_err().to_string()
    };
    assert!(launch(&mut card, 32, &[0]).contains("launched with [32, 1, 1] threads; [64, 1, 1] are required"));
    assert!(launch(&mut card, 96, &[0]).contains("at most 64 are allowed"));
    assert!(launch(&mut card, 64, &[]).contains("gets 0 bytes of parameters; it has 8"));
    assert!(launch(&mut card, 64, &[0, 0]).contains("gets 16 bytes of parameters; it has 8"));
    assert!(card.run(&text, 0, 64, &[0]).unwrap_err().to_string().contains("is not allowed"));
}

/// Checks that a fault names the source location that the text states.
#[test]
fn faults_name_the_source() {
    let source = |body: &str| {
        let text = kernel(0, "", body).replace(".visible", ".file 1 \"model.hlo\"\n.visible");
        let text = text + ".section .debug_macinfo { }\n.file 2 \"HLO instruction %a.1, b.py\"\n";
        Card::new().run(&text, 1, 1, &[]).unwrap_err().place.unwrap().source
    };
    assert_eq!(source(".loc 1 12 3\ntrap;").as_deref(), Some("model.hlo:12"));
    assert_eq!(source(".loc 2 7 0\ntrap;").as_deref(), Some("HLO instruction %a.1, b.py:7"));
    assert_eq!(source(".loc 1 12 3\nmov.u32 %t0, 1;\n.loc 1 0 0\ntrap;"), None);
}
