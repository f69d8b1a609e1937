//! Barriers in shared memory, and bulk copies.

use fusebox_ptx::FaultKind;

use crate::harness::{Card, kernel, refused};

/// Executes a body in 64 threads. `%p0` is the address of 256 words that hold their numbers. The
/// barrier is at `gate`, and `%one` holds in the first thread only. The result of each thread is
/// `%d`.
fn run(body: &str) -> Result<Vec<u32>, FaultKind> {
    let registers = ".reg .b32 %d, %a; .reg .b64 %l, %m, %n, %s; .reg .pred %one, %q, %first;\n\
                     .shared .align 128 .b8 tile[1024]; .shared .align 8 .b64 gate;";
    let prefix = "setp.eq.u32 %one, %tx, 0; setp.lt.u32 %first, %tx, 32; mul.wide.u32 %m, %tx, 4;\n\
                  mov.b64 %l, tile; add.u64 %l, %l, %m;\n";
    let suffix = "\nadd.u64 %n, %p1, %m; st.global.u32 [%n], %d;";
    let mut card = Card::new();
    let numbers: Vec<u8> = (0..256u32).flat_map(u32::to_le_bytes).collect();
    let (from, to) = (card.array(&numbers), card.unwritten(256));
    let text = kernel(2, registers, &format!("{prefix}{body}{suffix}"));
    card.run(&text, 1, 64, &[from, to]).map_err(|fault| fault.kind)?;
    Ok(card.words(to, 64))
}

#[track_caller]
fn undefined(body: &str, message: &str) {
    let found = run(body).unwrap_err().to_string();
    assert!(found.contains(message), "{body}: {found}");
}

const START: &str = "@%one mbarrier.init.shared.b64 [gate], 64; bar.sync 0;\n";
const WAIT: &str = "W: mbarrier.try_wait.shared::cta.b64 %q, [gate], %s; @!%q bra W;\n";
const OTHER: &str = "xor.b32 %a, %tx, 63; mul.wide.u32 %n, %a, 4; mov.b64 %s, tile; add.u64 %s, %s, %n;\n";

/// Checks that a phase orders the accesses of all threads, like a barrier of the block.
#[test]
fn phases_order_accesses() {
    let body = format!(
        "{START}st.shared.u32 [%l], %tx; mbarrier.arrive.shared.b64 %s, [gate];\n{WAIT}{OTHER}ld.shared.u32 %d, [%s];"
    );
    assert_eq!(run(&body), Ok((0..64).map(|tid| tid ^ 63).collect()));
    let early = body.replace(WAIT, "");
    assert!(matches!(run(&early), Err(FaultKind::Race { .. } | FaultKind::Uninitialized { .. })));
    let late = body.replace(&format!("{WAIT}{OTHER}"), &format!("st.shared.u32 [%l], 7;\n{WAIT}{OTHER}"));
    assert!(matches!(run(&late), Err(FaultKind::Race { .. })));
}

#[test]
fn phases_are_told_by_their_parity() {
    let arrive = "mbarrier.arrive.release.cta.shared::cta.b64 _, [gate];";
    let wait = |label: &str, parity: u32| {
        format!("{label}: mbarrier.test_wait.parity.shared.b64 %q, [gate], {parity}; @!%q bra {label};\n")
    };
    let body = format!(
        "{START}st.shared.u32 [%l], %tx; {arrive}\n{}{OTHER}ld.shared.u32 %d, [%s]; {arrive}\n{}\
         add.u32 %d, %d, 100; st.shared.u32 [%l], %d; bar.sync 0; ld.shared.u32 %d, [%s];",
        wait("A", 0),
        wait("B", 1)
    );
    assert_eq!(run(&body), Ok((0..64).map(|tid| tid + 100).collect()));
    // Before the first phase is complete, the phase before counts as complete.
    let before = format!("{START}mbarrier.test_wait.parity.shared.b64 %q, [gate], 1; selp.b32 %d, 1, 0, %q;");
    assert_eq!(run(&before), Ok(vec![1; 64]));
    let current = format!("{START}mbarrier.test_wait.parity.shared.b64 %q, [gate], 0; selp.b32 %d, 1, 0, %q;");
    assert_eq!(run(&current), Ok(vec![0; 64]));
}

#[test]
fn arrivals_have_counts() {
    let body = "@%one mbarrier.init.shared.b64 [gate], 96; bar.sync 0; mov.u32 %d, 5;\n\
                @%first mbarrier.arrive.shared.b64 %s, [gate], 2; @!%first mbarrier.arrive.shared.b64 %s, [gate];\n";
    assert_eq!(run(&format!("{body}{WAIT}")), Ok(vec![5; 64]));
    let dropped = "@%one mbarrier.init.shared.b64 [gate], 64; bar.sync 0; mov.u32 %d, 5;\n\
                   @%first mbarrier.arrive_drop.shared.b64 %s, [gate]; @!%first mbarrier.arrive.shared.b64 %s, [gate];\n";
    // The second phase needs only the other threads.
    let again = "mbarrier.arrive.shared.b64 %s, [gate];\n";
    let others = format!("{dropped}@%first bra E;\n{WAIT}{again}{}E:", WAIT.replace('W', "V"));
    assert_eq!(run(&others), Ok(vec![5; 64]));
    undefined(&format!("{START}mbarrier.arrive.shared.b64 %s, [gate], 65; mov.u32 %d, 0;"), "needs 64 more");
}

#[test]
fn barriers_are_initialised_once() {
    undefined("mov.u32 %d, 0; mbarrier.arrive.shared.b64 %s, [gate];", "no barrier was initialised");
    undefined("mov.u32 %d, 0; mbarrier.init.shared.b64 [gate], 1;", "is initialised twice");
    let twice = format!("{START}mov.u32 %d, 0; @%one mbarrier.init.shared.b64 [gate], 64;");
    undefined(&twice, "is initialised twice");
    let ended = format!(
        "{START}mov.u32 %d, 0; @%one mbarrier.inval.shared.b64 [gate]; bar.sync 0;\n\
                         mbarrier.arrive.shared.b64 %s, [gate];"
    );
    undefined(&ended, "no barrier was initialised");
    let stale = format!("{START}mov.u32 %d, 0; mov.b64 %s, 5; mbarrier.test_wait.shared.b64 %q, [gate], %s;");
    undefined(&stale, "only the current phase");
    undefined(&format!("{START}mov.u32 %d, 0; @%one ld.shared.u32 %d, [gate];"), "was never written");
    undefined(&format!("{START}mbarrier.arrive.shared.b64 %s, [gate+4]; mov.u32 %d, 0;"), "not a multiple of 8");
}

#[test]
fn a_wait_without_end_is_found() {
    let body =
        format!("{START}mov.u32 %d, 0; @%first mbarrier.arrive.shared.b64 %s, [gate]; @!%first mov.b64 %s, 0;\n{WAIT}");
    assert!(matches!(run(&body), Err(FaultKind::NoEnd { .. })));
}

const LOAD: &str = "@%one mbarrier.init.shared.b64 [gate], 1; bar.sync 0;\n\
    @%one mbarrier.arrive.expect_tx.shared.b64 _, [gate], 256;\n\
    @%one cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%p0], 256, [gate];\n";
const PARITY: &str = "W: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %q, [gate], 0; @!%q bra W;\n";

#[test]
fn bulk_copies_to_shared_memory() {
    let read = "ld.shared.u32 %d, [%l];";
    assert_eq!(run(&format!("{LOAD}{PARITY}{read}")), Ok((0..64).collect()));
    assert!(matches!(run(&format!("{LOAD}{read}")), Err(FaultKind::Uninitialized { .. })));
    // Another thread's wait does not help.
    let one = format!("{LOAD}@!%one bra E;\n{PARITY}E: {read}");
    assert!(matches!(run(&one), Err(FaultKind::Race { .. } | FaultKind::Uninitialized { .. })));
    let fewer = LOAD.replace("[gate], 256;", "[gate], 240;");
    assert!(matches!(run(&format!("{fewer}{PARITY}{read}")), Err(FaultKind::NoEnd { .. })));
    undefined(&format!("{}{PARITY}{read}", LOAD.replace("[%p0], 256", "[%p0], 250")), "no multiple of 16");
    let outside = LOAD.replace("[%p0], 256", "[%p0+1008], 256");
    assert!(matches!(run(&format!("{outside}{PARITY}{read}")), Err(FaultKind::OutOfBounds { .. })));
}

#[test]
fn bulk_copies_to_global_memory() {
    let store = "cp.async.bulk.global.shared::cta.bulk_group [%p1], [tile], 256; cp.async.bulk.commit_group;\n\
                 cp.async.bulk.wait_group.read 0; exit;";
    let body = |fence: &str| {
        format!("mov.u32 %d, 0; add.u32 %a, %tx, 7; st.shared.u32 [%l], %a; {fence} bar.sync 0; @!%one exit; {store}")
    };
    assert_eq!(run(&body("fence.proxy.async.shared::cta;")), Ok((7..71).collect()));
    undefined(&body(""), "did not execute fence.proxy.async");
}

#[test]
fn forms_that_do_not_exist_are_refused() {
    assert!(refused(".reg .pred %q;", "mbarrier.arrive.parity.shared.b64 _, [%p0];").contains("is not supported"));
    assert!(refused("", "cp.async.bulk.shared::cta.shared::cta [%p0], [%p0], 16;").contains("is not supported"));
    let text = kernel(1, ".reg .pred %q;", "mbarrier.try_wait.shared.b64 %q, [%p0], %p0;");
    let error = Card::new().load(&text.replace("8.7", "7.8").replace("sm_90a", "sm_80")).unwrap_err();
    assert!(error.to_string().contains("needs the target sm_90"), "{error}");
}
