//! Races between pieces of work on several streams.

use fusebox_ptx::{Access, FaultKind, Launch, Memory, Module, Settings, Stamp};

use crate::harness::{Card, kernel};

fn stamp(stream: u32, position: u64, clock: &[u64]) -> Stamp {
    Stamp { stream, position, clock: clock.into() }
}

fn across(result: Result<(), fusebox_ptx::Fault>) -> (Access, (u32, u64), Access, (u32, u64)) {
    match result.unwrap_err().kind {
        FaultKind::RaceAcrossStreams { access, stream, position, other, other_stream, other_position, .. } => {
            (access, (stream, position), other, (other_stream, other_position))
        }
        other => panic!("{other}"),
    }
}

#[test]
fn copies_on_two_streams() {
    let memory = Memory::new(1 << 20);
    let at = memory.allocate(64, 256).unwrap();
    memory.write(at, &[1; 64], &stamp(1, 1, &[])).unwrap();
    // Stream 2 does not wait for stream 1.
    let found = across(memory.read(at, &mut [0; 64], &stamp(2, 1, &[0, 0])));
    assert_eq!(found, (Access::Read, (2, 1), Access::Write, (1, 1)));
    // After an event it does.
    memory.read(at, &mut [0; 64], &stamp(2, 2, &[0, 1, 1])).unwrap();
    let found = across(memory.write(at, &[2; 64], &stamp(1, 2, &[0, 1])));
    assert_eq!(found, (Access::Write, (1, 2), Access::Read, (2, 2)));
    memory.write(at, &[2; 64], &stamp(1, 3, &[0, 2, 2])).unwrap();
    memory.fill(at, &[3], 4, &stamp(1, 4, &[0, 3])).unwrap();
    let found = across(memory.fill(at, &[3], 64, &stamp(3, 1, &[0, 3])));
    assert_eq!(found.3, (1, 4));
}

/// Checks that a write must follow all reads, not only the last one.
#[test]
fn reads_on_several_streams() {
    let memory = Memory::new(1 << 20);
    let at = memory.allocate(64, 256).unwrap();
    memory.write(at, &[1; 64], &stamp(0, 1, &[])).unwrap();
    for stream in 1..4 {
        memory.read(at, &mut [0; 64], &stamp(stream, 1, &[1])).unwrap();
    }
    let found = across(memory.write(at, &[2; 64], &stamp(0, 2, &[1, 0, 1, 1])));
    assert_eq!(found, (Access::Write, (0, 2), Access::Read, (1, 1)));
    memory.write(at, &[2; 64], &stamp(0, 3, &[2, 1, 1, 1])).unwrap();
}

#[test]
fn frees_follow_all_accesses() {
    let memory = Memory::new(1 << 20);
    let [first, second] = [0, 1].map(|_| memory.allocate(64, 256).unwrap());
    memory.write(first, &[1; 64], &stamp(1, 1, &[])).unwrap();
    memory.write(second, &[1; 64], &stamp(1, 2, &[0, 1])).unwrap();
    let found = across(memory.free(first, &stamp(2, 1, &[])));
    assert_eq!(found, (Access::Free, (2, 1), Access::Write, (1, 1)));
    memory.free(second, &stamp(2, 2, &[0, 2])).unwrap();
    assert_eq!(memory.used(), 0);
}

/// Checks kernels on two streams: the fault has a place.
#[test]
fn kernels_on_two_streams() {
    let mut card = Card::new();
    let array = card.array(&[0; 256]);
    let text = kernel(
        1,
        ".reg .b32 %a; .reg .b64 %l;",
        "mul.wide.u32 %l, %tx, 4; add.u64 %l, %l, %p0;\n\
        ld.global.u32 %a, [%l]; st.global.u32 [%l], %a;",
    );
    let module = Module::load(&text, &card.kind, &card.memory).unwrap();
    let launch = |when: Stamp| {
        let parameters = array.to_le_bytes();
        let launch = Launch {
            grid: [1; 3],
            block: [64, 1, 1],
            cluster: [1; 3],
            dynamic_shared: 0,
            parameters: &parameters,
            when,
        };
        fusebox_ptx::execute(module.kernel("k").unwrap(), &launch, &card.memory, &Settings::default())
    };
    launch(stamp(1, 1, &[1])).unwrap();
    let fault = launch(stamp(2, 1, &[1])).unwrap_err();
    let place = fault.place.clone().unwrap();
    assert_eq!((place.thread, &*place.instruction), ([0; 3], "ld.global.u32 %a, [%l]; st.global.u32 [%l], %a;"));
    let found = across(Err(fault));
    assert_eq!((found.0, found.1, found.3), (Access::Read, (2, 1), (1, 1)));
    launch(stamp(2, 2, &[1, 1, 1])).unwrap();
}

/// Checks that a copy on the device keeps which bytes were never written.
#[test]
fn copies_keep_what_was_never_written() {
    let memory = Memory::new(1 << 20);
    let [from, to] = [0, 1].map(|_| memory.allocate(64, 256).unwrap());
    memory.write(from + 3, &[7; 10], &Stamp::in_order(1)).unwrap();
    memory.write(to, &[9; 64], &Stamp::in_order(2)).unwrap();
    memory.copy(from, to, 32, &Stamp::in_order(3)).unwrap();
    let mut bytes = [0; 10];
    memory.read(to + 3, &mut bytes, &Stamp::in_order(4)).unwrap();
    assert_eq!(bytes, [7; 10]);
    let fault = memory.read(to, &mut [0; 4], &Stamp::in_order(5)).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Uninitialized { address, .. } if address == to), "{fault}");
    memory.read(to + 32, &mut [0; 32], &Stamp::in_order(6)).unwrap();
    let fault = memory.copy(from, from + 16, 32, &Stamp::in_order(7)).unwrap_err();
    assert!(fault.to_string().contains("overlaps itself"), "{fault}");
}

#[test]
fn memory_is_limited() {
    let memory = Memory::new(1000);
    let first = memory.allocate(600, 1).unwrap();
    let error = memory.allocate(500, 1).unwrap_err();
    assert_eq!((error.bytes, error.free), (500, 400));
    memory.free(first, &Stamp::in_order(1)).unwrap();
    let second = memory.allocate(1000, 512).unwrap();
    assert_eq!(
        (second % 512, memory.used(), memory.most_used(), memory.allocation(second + 5)),
        (0, 1000, 1000, Some((second, 1000)))
    );
    let text = memory.write(second + 999, &[0; 2], &Stamp::in_order(2)).unwrap_err().to_string();
    assert!(text.contains("2 bytes of global memory"), "{text}");
}
