//! Exchanges between the lanes of a warp.

use crate::harness::{Card, kernel};

/// Executes a body in a warp. The result of each lane is `%d`.
fn warp(registers: &str, body: &str) -> Vec<u32> {
    let body = format!("{body}\nmul.wide.u32 %at, %tx, 4; add.u64 %at, %at, %p0; st.global.b32 [%at], %d;");
    let mut card = Card::new();
    let to = card.unwritten(128);
    let text = kernel(1, &format!(".reg .b32 %d; .reg .b64 %at; {registers}"), &body);
    card.run(&text, 1, 32, &[to]).unwrap_or_else(|fault| panic!("{fault}"));
    card.words(to, 32)
}

#[test]
fn shuffles_of_every_mode() {
    let lanes = |f: fn(u32) -> u32| (0..32).map(f).collect::<Vec<_>>();
    assert_eq!(
        warp("", "shfl.sync.down.b32 %d, %tx, 4, 31, -1;"),
        lanes(|lane| if lane < 28 { lane + 4 } else { lane })
    );
    assert_eq!(warp("", "shfl.sync.up.b32 %d, %tx, 3, 0, -1;"), lanes(|lane| if lane < 3 { lane } else { lane - 3 }));
    assert_eq!(warp("", "shfl.sync.bfly.b32 %d, %tx, 5, 31, -1;"), lanes(|lane| lane ^ 5));
    assert_eq!(warp("", "shfl.sync.idx.b32 %d, %tx, 7, 31, -1;"), lanes(|_| 7));
    // Segments of 8 lanes: the mask of the segment is in bits 8 to 12.
    let segments = "shfl.sync.down.b32 %d, %tx, 2, 0x181f, -1;";
    assert_eq!(warp("", segments), lanes(|lane| if lane % 8 < 6 { lane + 2 } else { lane }));
    assert_eq!(warp("", "shfl.sync.idx.b32 %d, %tx, 1, 0x181f, -1;"), lanes(|lane| lane / 8 * 8 + 1));
    let in_range = "shfl.sync.down.b32 %x|%q, %tx, 4, 31, -1; selp.b32 %d, 1, 0, %q;";
    assert_eq!(warp(".reg .pred %q; .reg .b32 %x;", in_range), lanes(|lane| u32::from(lane < 28)));
}

#[test]
fn votes() {
    let registers = ".reg .pred %q, %x;";
    let vote = |text: &str| warp(registers, &format!("setp.lt.u32 %q, %tx, 5; {text}"));
    assert_eq!(vote("vote.sync.ballot.b32 %d, %q, -1;"), [31; 32]);
    assert_eq!(vote("vote.sync.ballot.b32 %d, !%q, -1;"), [!31; 32]);
    assert_eq!(vote("vote.sync.any.pred %x, %q, -1; selp.b32 %d, 1, 0, %x;"), [1; 32]);
    assert_eq!(vote("vote.sync.all.pred %x, %q, -1; selp.b32 %d, 1, 0, %x;"), [0; 32]);
    assert_eq!(vote("vote.sync.uni.pred %x, %q, -1; selp.b32 %d, 1, 0, %x;"), [0; 32]);
    assert_eq!(vote("setp.lt.u32 %q, %tx, 99; vote.sync.uni.pred %x, %q, -1; selp.b32 %d, 1, 0, %x;"), [1; 32]);
    assert_eq!(warp("", "activemask.b32 %d;"), [u32::MAX; 32]);
}

#[test]
fn reductions() {
    assert_eq!(warp("", "redux.sync.add.u32 %d, %tx, -1;"), [496; 32]);
    assert_eq!(warp("", "redux.sync.max.u32 %d, %tx, -1;"), [31; 32]);
    let signed = "sub.s32 %x, %tx, 5; redux.sync.min.s32 %d, %x, -1;";
    assert_eq!(warp(".reg .b32 %x;", signed), [(-5i32) as u32; 32]);
    assert_eq!(warp("", "redux.sync.or.b32 %d, %tx, -1;"), [31; 32]);
    assert_eq!(warp("", "redux.sync.and.b32 %d, %tx, -1;"), [0; 32]);
    assert_eq!(warp("", "redux.sync.xor.b32 %d, %tx, -1;"), [0; 32]);
    let elected = warp(".reg .pred %q; .reg .b32 %x;", "elect.sync %x|%q, -1; selp.b32 %d, 1, 0, %q;");
    assert_eq!(elected.iter().sum::<u32>(), 1);
}

#[test]
fn matches() {
    let registers = ".reg .b32 %x; .reg .pred %q;";
    let any = warp(registers, "and.b32 %x, %tx, 1; match.any.sync.b32 %d, %x, -1;");
    assert_eq!(any[..2], [0x5555_5555, 0xaaaa_aaaa]);
    let all = warp(registers, "match.all.sync.b32 %x|%q, %tx, -1; selp.b32 %d, 7, 9, %q;");
    assert_eq!(all, [9; 32]);
}

/// Checks special registers, in a grid of several blocks.
#[test]
fn special_registers() {
    let body = "mov.u32 %a, %laneid; mov.u32 %b, %warpid; mad.lo.u32 %a, %b, 100, %a; mov.u32 %b, %nctaid.x;\n\
                mad.lo.u32 %a, %b, 10000, %a; mov.u32 %b, %ntid.x; mad.lo.u32 %a, %b, 100000, %a;\n\
                mul.wide.u32 %at, %gid, 4; add.u64 %at, %at, %p0; st.global.b32 [%at], %a;";
    let mut card = Card::new();
    let to = card.unwritten(4 * 80);
    let text = kernel(1, ".reg .b32 %a, %b; .reg .b64 %at;", body);
    card.run(&text, 2, 40, &[to]).unwrap_or_else(|fault| panic!("{fault}"));
    let expected: Vec<u32> = (0..80).map(|at| 4_020_000 + at % 40 / 32 * 100 + at % 40 % 32).collect();
    assert_eq!(card.words(to, 80), expected);
    let masks = "mov.u32 %a, %lanemask_lt; mov.u32 %b, %lanemask_ge; add.u32 %d, %a, %b;";
    assert_eq!(warp(".reg .b32 %a, %b;", masks), [u32::MAX; 32]);
    assert_eq!(warp("", "mov.u32 %d, %lanemask_eq;")[5], 32);
}

/// Checks the indices of threads and blocks of three dimensions.
#[test]
fn indices_of_three_dimensions() {
    let mut body = "mov.u32 %a, 0;\n".to_owned();
    for register in ["tid.x", "tid.y", "tid.z", "ctaid.x", "ctaid.y", "ctaid.z"] {
        body += &format!("mov.u32 %b, %{register}; mad.lo.u32 %a, %a, 10, %b;\n");
    }
    // The number of the thread in the grid.
    for (register, size) in [("ctaid.z", 2), ("ctaid.y", 2), ("ctaid.x", 2), ("tid.z", 3), ("tid.y", 2), ("tid.x", 4)] {
        body += &format!("mov.u32 %b, %{register}; mad.lo.u32 %n, %n, {size}, %b;\n");
    }
    body = format!("mov.u32 %n, 0;\n{body}mul.wide.u32 %at, %n, 4; add.u64 %at, %at, %p0; st.global.b32 [%at], %a;");
    let mut card = Card::new();
    let to = card.unwritten(4 * 8 * 24);
    let text = kernel(1, ".reg .b32 %a, %b, %n; .reg .b64 %at;", &body);
    card.run_with(&text, [2, 2, 2], [4, 2, 3], 0, &[to]).unwrap_or_else(|fault| panic!("{fault}"));
    let found = card.words(to, 8 * 24);
    for (at, value) in found.iter().enumerate() {
        let (block, thread) = (at / 24, at % 24);
        let digits = [thread % 4, thread / 4 % 2, thread / 8, block % 2, block / 2 % 2, block / 4];
        assert_eq!(*value as usize, digits.iter().fold(0, |all, digit| all * 10 + digit));
    }
}
