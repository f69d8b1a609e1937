//! Races between the threads of a launch, and orders that prevent them.

use fusebox_ptx::{FaultKind, Space};

use crate::harness::{Card, kernel};

/// Executes a body in two blocks of 64 threads with an array of 4096 zeros. Returns the fault, if
/// there is one.
fn outcome(body: &str) -> Option<FaultKind> {
    let mut card = Card::new();
    let array = card.array(&[0; 4096]);
    let registers = ".reg .b32 %a, %b; .reg .b64 %l, %m, %n; .reg .pred %q; .shared .align 16 .b8 tile[1024];";
    // `%l` is the address of the thread's element in shared memory, `%m` in global memory.
    let prefix = "mul.wide.u32 %m, %tx, 4; mov.b64 %l, tile; add.u64 %l, %l, %m; mul.wide.u32 %m, %gid, 4;\n\
                  add.u64 %m, %m, %p0; xor.b32 %b, %gid, 33; mul.wide.u32 %n, %b, 4; add.u64 %n, %n, %p0;\n";
    card.run(&kernel(1, registers, &format!("{prefix}{body}")), 2, 64, &[array]).err().map(|fault| fault.kind)
}

#[track_caller]
fn races(space: Space, body: &str) {
    match outcome(body) {
        Some(FaultKind::Race { space: found, .. }) if found == space => {}
        other => panic!("{body}: {other:?}"),
    }
}

#[track_caller]
fn is_ordered(body: &str) {
    let found = outcome(body);
    assert_eq!(found, None, "{body}");
}

#[test]
fn shared_memory_without_barrier() {
    races(Space::Shared, "st.shared.u32 [%l], %tx; ld.shared.u32 %a, [tile];");
    is_ordered("st.shared.u32 [%l], %tx; bar.sync 0; ld.shared.u32 %a, [tile];");
    // The missing second barrier: a warp writes again while others read.
    races(Space::Shared, "st.shared.u32 [%l], %tx; bar.sync 0; ld.shared.u32 %a, [tile]; st.shared.u32 [%l], %a;");
    is_ordered("st.shared.u32 [%l], %tx; bar.sync 0; ld.shared.u32 %a, [tile]; bar.sync 0; st.shared.u32 [%l], %a;");
    races(Space::Shared, "st.shared.u32 [tile], 1;");
    is_ordered("setp.eq.u32 %q, %tx, 0; @%q st.shared.u32 [tile], 1;");
}

/// Checks that lanes of a warp are ordered only by a barrier, even though they execute together.
#[test]
fn lanes_of_a_warp() {
    let body =
        "xor.b32 %a, %tx, 1; mul.wide.u32 %n, %a, 4; mov.b64 %m, tile; add.u64 %n, %n, %m; st.shared.u32 [%l], %tx; ";
    races(Space::Shared, &format!("{body}ld.shared.u32 %a, [%n];"));
    is_ordered(&format!("{body}bar.warp.sync -1; ld.shared.u32 %a, [%n];"));
}

#[test]
fn bytes_of_a_word_are_apart() {
    is_ordered("mov.b64 %l, tile; cvt.u64.u32 %m, %tx; add.u64 %l, %l, %m; st.shared.u8 [%l], %tx;");
    is_ordered("cvt.u64.u32 %m, %gid; add.u64 %m, %m, %p0; st.global.u8 [%m], %tx; ld.global.u8 %a, [%m];");
    races(Space::Global, "and.b32 %a, %gid, 31; cvt.u64.u32 %m, %a; add.u64 %m, %m, %p0; st.global.u8 [%m], %tx;");
    is_ordered("mul.wide.u32 %m, %gid, 2; add.u64 %m, %m, %p0; st.global.u16 [%m], %tx;");
}

#[test]
fn global_memory_in_a_block_and_between_blocks() {
    is_ordered("ld.global.u32 %a, [%n]; ld.global.u32 %b, [%p0];");
    is_ordered("ld.global.u32 %a, [%m]; st.global.u32 [%m], %tx;");
    races(Space::Global, "st.global.u32 [%m], %tx; ld.global.u32 %a, [%n];");
    is_ordered("st.global.u32 [%m], %tx; bar.sync 0; ld.global.u32 %a, [%n];");
    races(Space::Global, "st.global.u32 [%p0], %tx;");
    // A barrier does not order blocks.
    races(
        Space::Global,
        "add.u32 %b, %gid, 64; rem.u32 %b, %b, 128; mul.wide.u32 %n, %b, 4; add.u64 %n, %n, %p0;\n\
        st.global.u32 [%m], %tx; bar.sync 0; ld.global.u32 %a, [%n];",
    );
    races(Space::Global, "ld.global.u32 %a, [%p0]; setp.eq.u32 %q, %gid, 0; @%q st.global.u32 [%p0], 1;");
}

#[test]
fn memory_that_is_read_as_invariant() {
    is_ordered("ld.global.nc.u32 %a, [%m]; st.global.u32 [%m+512], %a;");
    races(Space::Global, "st.global.u32 [%m], %tx; ld.global.nc.u32 %a, [%m];");
}

#[test]
fn atomic_accesses() {
    is_ordered("red.global.add.u32 [%p0], 1; atom.global.max.u32 %a, [%p0], %tx;");
    races(Space::Global, "red.global.add.u32 [%p0], 1; ld.global.u32 %a, [%p0];");
    races(Space::Global, "red.global.add.u32 [%p0], 1; st.global.u32 [%p0], 1;");
    is_ordered("red.global.add.u32 [%p0], 1; ld.relaxed.gpu.global.u32 %a, [%p0]; ld.volatile.global.u32 %b, [%p0];");
    is_ordered(
        "setp.eq.u32 %q, %tx, 0; @%q st.shared.u32 [tile], 0; bar.sync 0; red.shared.add.u32 [tile], 1;\n\
        bar.sync 0; ld.shared.u32 %a, [tile];",
    );
    races(Space::Shared, "setp.eq.u32 %q, %tx, 0; @%q st.shared.u32 [tile], 0; red.shared.add.u32 [tile], 1;");
}

/// Checks barriers of some warps: they order only these.
#[test]
fn barriers_of_some_warps() {
    let text = |barrier: &str| {
        format!(
            "setp.ge.u32 %q, %tx, 32; @%q bra C; st.shared.u32 [%l], %tx; {barrier} bra E;\nC: {barrier}\n\
             ld.shared.u32 %a, [%l+-128];\nE:"
        )
    };
    is_ordered(&text("bar.sync 2, 64;"));
    races(Space::Shared, &text("bar.warp.sync -1;").replace("ld.shared", "bar.warp.sync -1; ld.shared"));
}
