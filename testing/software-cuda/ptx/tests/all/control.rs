//! Branches, divergence and barriers.

use crate::harness::{Card, kernel, refused};

/// Executes a body in `threads` threads. The result of each thread is `%d`.
fn threads(threads: u32, registers: &str, body: &str) -> Vec<u32> {
    let body = format!("{body}\nmul.wide.u32 %at, %tx, 4; add.u64 %at, %at, %p0; st.global.b32 [%at], %d;");
    let mut card = Card::new();
    let to = card.unwritten(4 * u64::from(threads));
    let text = kernel(1, &format!(".reg .b32 %d; .reg .b64 %at; .reg .pred %q<4>; {registers}"), &body);
    card.run(&text, 1, threads, &[to]).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    card.words(to, threads as usize)
}

#[test]
fn loops_end_for_each_thread() {
    let body = "mov.u32 %d, 0; mov.u32 %i, 0;\nL: setp.ge.u32 %q0, %i, %tx; @%q0 bra E;\n\
                add.u32 %d, %d, %i; add.u32 %i, %i, 1; bra L;\nE:";
    let expected: Vec<u32> = (0..70u32).map(|tid| (0..tid).sum()).collect();
    assert_eq!(threads(70, ".reg .u32 %i;", body), expected);
}

/// Checks that threads meet again after a branch, so that a shuffle of all lanes is allowed.
#[test]
fn threads_meet_after_a_branch() {
    let body = "and.b32 %i, %tx, 1; setp.eq.u32 %q0, %i, 0; @%q0 bra A;\nadd.u32 %i, %tx, 100; bra.uni B;\n\
                A: add.u32 %i, %tx, 200;\nB: shfl.sync.bfly.b32 %d, %i, 1, 31, -1;";
    let expected: Vec<u32> = (0..32).map(|lane| (lane ^ 1) + if lane % 2 == 0 { 100 } else { 200 }).collect();
    assert_eq!(threads(32, ".reg .u32 %i;", body), expected);
}

#[test]
fn nested_branches_and_early_exits() {
    let body = "mov.u32 %d, 1; setp.lt.u32 %q0, %tx, 8; setp.lt.u32 %q1, %tx, 4;\n@!%q0 bra E; add.u32 %d, %d, 1;\n\
                @%q1 bra M; add.u32 %d, %d, 10; bra N;\nM: add.u32 %d, %d, 100;\nN: add.u32 %d, %d, 1000;\nE:";
    let found = threads(32, "", body);
    assert_eq!((found[0], found[5], found[9]), (1102, 1012, 1));
    // Threads that end leave the others, which still execute what needs all live lanes.
    let body = "mul.wide.u32 %at, %tx, 4; add.u64 %at, %at, %p0; st.global.b32 [%at], %tx;\n\
                setp.ge.u32 %q0, %tx, 16; @%q0 exit; shfl.sync.down.b32 %d, %tx, 1, 31, 0xffff;";
    let found = threads(32, "", &body.replace("31, 0xffff", "0x101f, 0xffff"));
    assert_eq!((found[0], found[14], found[20]), (1, 15, 20));
}

#[test]
fn indexed_branches() {
    let body = "and.b32 %i, %tx, 3; T: .branchtargets A, B, C, B; brx.idx %i, T;\nA: mov.u32 %d, 10; bra E;\n\
                B: mov.u32 %d, 20; bra E;\nC: mov.u32 %d, 30;\nE: add.u32 %d, %d, 1;";
    let found = threads(32, ".reg .u32 %i;", body);
    assert_eq!(found[..5], [11, 21, 31, 21, 11]);
}

#[test]
fn guarded_instructions_affect_some_lanes() {
    let body = "mov.u32 %d, 5; setp.lt.u32 %q0, %tx, 3; @%q0 add.u32 %d, %d, %tx; @!%q0 mov.u32 %d, 9;";
    assert_eq!(threads(32, "", body)[..5], [5, 6, 7, 9, 9]);
}

/// Checks that a barrier orders writes to shared memory before reads by other warps.
#[test]
fn barriers_order_accesses() {
    let body = "mul.wide.u32 %at, %tx, 4; mov.b64 %l, tile; add.u64 %at, %at, %l; st.shared.u32 [%at], %tx;\n\
                bar.sync 0; xor.b32 %i, %tx, 127; mul.wide.u32 %at, %i, 4; add.u64 %at, %at, %l;\n\
                ld.shared.u32 %d, [%at];";
    let expected: Vec<u32> = (0..128).map(|tid| tid ^ 127).collect();
    assert_eq!(threads(128, ".reg .u32 %i; .reg .b64 %l; .shared .align 4 .b8 tile[512];", body), expected);
    let other = body.replace("bar.sync 0;", "barrier.cta.sync.aligned 3, 128;");
    assert_eq!(threads(128, ".reg .u32 %i; .reg .b64 %l; .shared .align 4 .b8 tile[512];", &other), expected);
}

#[test]
fn barriers_reduce_predicates() {
    let reduce = |text: &str| threads(64, "", &format!("setp.lt.u32 %q0, %tx, 40; {text}"))[0];
    assert_eq!(reduce("barrier.cta.red.popc.aligned.u32 %d, 1, %q0;"), 40);
    assert_eq!(reduce("bar.red.popc.u32 %d, 1, 64, !%q0;"), 24);
    assert_eq!(reduce("bar.red.and.pred %q1, 1, %q0; selp.b32 %d, 1, 0, %q1;"), 0);
    assert_eq!(reduce("bar.red.or.pred %q1, 1, %q0; selp.b32 %d, 1, 0, %q1;"), 1);
}

/// Checks a producer and a consumer, of which only the consumer waits.
#[test]
fn arrivals_do_not_wait() {
    let body = "mov.u32 %d, 0; setp.lt.u32 %q0, %tx, 32; @%q0 bra P; bar.sync 1, 64; ld.shared.u32 %d, [tile]; bra E;\n\
                P: setp.eq.u32 %q1, %tx, 0; @%q1 st.shared.u32 [tile], 42; bar.warp.sync -1; bar.arrive 1, 64;\nE:";
    let found = threads(64, ".shared .u32 tile;", body);
    assert_eq!((found[0], found[40]), (0, 42));
}

/// Checks that warps take turns, so that one may wait for a flag that another one writes.
#[test]
fn warps_make_progress() {
    let body = "mov.u32 %d, 0; setp.ge.u32 %q0, %tx, 32; @%q0 bra W;\n\
                L: ld.volatile.global.u32 %i, [%p1]; setp.eq.u32 %q1, %i, 0; @%q1 bra L; mov.u32 %d, %i; bra E;\n\
                W: setp.eq.u32 %q2, %tx, 32; @%q2 st.volatile.global.u32 [%p1], 7;\nE:\n\
                mul.wide.u32 %at, %tx, 4; add.u64 %at, %at, %p0; st.global.b32 [%at], %d;";
    let mut card = Card::new();
    let (to, flag) = (card.unwritten(256), card.array(&[0; 4]));
    let text = kernel(2, ".reg .b32 %d, %i; .reg .b64 %at; .reg .pred %q<4>;", body);
    card.run(&text, 1, 64, &[to, flag]).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(card.words(to, 64)[..33], [&[7; 32][..], &[0]].concat());
}

#[test]
fn text_that_goes_nowhere_is_refused() {
    assert!(refused("", "bra NOWHERE;").contains("the label NOWHERE is not defined"));
    assert!(refused(".reg .pred %q;", "A: bra A; A:").contains("the label A is defined twice"));
    let text = kernel(0, "", "").replace("ret;", "");
    let error = Card::new().load(&text).unwrap_err();
    assert!(error.to_string().contains("does not end with ret or exit"), "{error}");
}
