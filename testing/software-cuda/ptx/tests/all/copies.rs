//! Copies to shared memory that proceed while the thread continues.

use fusebox_ptx::FaultKind;

use crate::harness::{Card, kernel, refused};

/// Executes a body in 64 threads. `%l` is the address of a thread's 16 bytes in shared memory, and
/// `%m` in an array of words that hold their numbers. The result of each thread is `%d`.
fn run(body: &str) -> Result<Vec<u32>, FaultKind> {
    let registers = ".reg .b32 %d, %a; .reg .b64 %l, %m, %n; .reg .pred %q; .shared .align 16 .b8 tile[1024];";
    let prefix = "mul.wide.u32 %m, %tx, 16; mov.b64 %l, tile; add.u64 %l, %l, %m; add.u64 %m, %m, %p0;\n";
    let suffix = "\nmul.wide.u32 %n, %tx, 4; add.u64 %n, %n, %p1; st.global.u32 [%n], %d;";
    let mut card = Card::new();
    let numbers: Vec<u8> = (0..256u32).flat_map(u32::to_le_bytes).collect();
    let (from, to) = (card.array(&numbers), card.unwritten(256));
    let result = card.run(&kernel(2, registers, &format!("{prefix}{body}{suffix}")), 1, 64, &[from, to]);
    result.map_err(|fault| fault.kind)?;
    Ok(card.words(to, 64))
}

fn numbers(f: impl Fn(u32) -> u32) -> Result<Vec<u32>, FaultKind> {
    Ok((0..64).map(f).collect())
}

#[test]
fn copies_of_every_size() {
    for (size, first, last) in [("cg", 16, 12), ("ca", 16, 12), ("ca", 8, 4), ("ca", 4, 0)] {
        let body = format!(
            "cp.async.{size}.shared.global [%l], [%m], {first}; cp.async.commit_group; cp.async.wait_group 0;\n\
             ld.shared.u32 %d, [%l+{last}];"
        );
        assert_eq!(run(&body), numbers(|tid| tid * 4 + last / 4), "{body}");
    }
    let all = "cp.async.ca.shared::cta.global.L2::128B [%l], [%m], 4; cp.async.wait_all; ld.shared.u32 %d, [%l];";
    assert_eq!(run(all), numbers(|tid| tid * 4));
}

#[test]
fn bytes_beyond_the_source_are_zero() {
    let body = "cp.async.ca.shared.global [%l], [%m], 8, 4; cp.async.wait_all; ld.shared.v2.u32 {%d, %a}, [%l];\n\
                mad.lo.u32 %d, %a, 1000, %d;";
    assert_eq!(run(body), numbers(|tid| tid * 4));
    let nothing = body.replace("8, 4;", "8, 0;");
    assert_eq!(run(&nothing), numbers(|_| 0));
}

#[test]
fn groups_complete_in_order() {
    let two = "cp.async.ca.shared.global [%l], [%m], 4; cp.async.commit_group;\n\
               cp.async.ca.shared.global [%l+4], [%m+4], 4; cp.async.commit_group;\n";
    let first = format!("{two}cp.async.wait_group 1; ld.shared.u32 %d, [%l]; cp.async.wait_group 0;");
    assert_eq!(run(&first), numbers(|tid| tid * 4));
    let second = format!("{two}cp.async.wait_group 1; ld.shared.u32 %d, [%l+4]; cp.async.wait_group 0;");
    assert!(matches!(run(&second), Err(FaultKind::Uninitialized { .. })));
    // A copy that belongs to no group is not waited for.
    let open = "cp.async.ca.shared.global [%l], [%m], 4; cp.async.wait_group 0; ld.shared.u32 %d, [%l];";
    assert!(matches!(run(open), Err(FaultKind::Uninitialized { .. })));
}

/// Checks that other threads see a copy only after the thread has waited and a barrier.
#[test]
fn other_threads_need_a_barrier() {
    let of = |order: &str| {
        format!(
            "cp.async.ca.shared.global [%l], [%m], 4; cp.async.commit_group; {order}\n\
             xor.b32 %a, %tx, 63; mul.wide.u32 %m, %a, 16; mov.b64 %l, tile; add.u64 %l, %l, %m;\n\
             ld.shared.u32 %d, [%l]; cp.async.wait_all;"
        )
    };
    assert_eq!(run(&of("cp.async.wait_group 0; bar.sync 0;")), numbers(|tid| (tid ^ 63) * 4));
    assert!(matches!(run(&of("bar.sync 0; cp.async.wait_group 0;")), Err(FaultKind::Uninitialized { .. })));
    assert!(matches!(
        run(&of("cp.async.wait_group 0;")),
        Err(FaultKind::Race { .. } | FaultKind::Uninitialized { .. })
    ));
}

#[test]
fn threads_wait_before_they_end() {
    let body = "cp.async.ca.shared.global [%l], [%m], 4; cp.async.commit_group; mov.u32 %d, 0;";
    let found = run(body).unwrap_err().to_string();
    assert!(found.contains("ends without waiting for its cp.async"), "{found}");
    let misaligned = "cp.async.cg.shared.global [%l], [%m+4], 16; cp.async.wait_all; mov.u32 %d, 0;";
    assert!(matches!(run(misaligned), Err(FaultKind::Misaligned { alignment: 16, .. })));
    let outside = "cp.async.cg.shared.global [%l+1008], [%m], 16; cp.async.wait_all; mov.u32 %d, 0;";
    assert!(matches!(run(outside), Err(FaultKind::OutOfBounds { .. })));
    assert!(refused("", "cp.async.cg.shared.global [%p0], [%p0], 8;").contains("does not copy 8 bytes"));
}
