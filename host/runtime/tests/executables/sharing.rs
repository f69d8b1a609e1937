//! Checks executables that many callers share: executions on several threads at the same time,
//! arguments and results without copies, donation, and results that are ready later.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::assembler::*;
use super::builder::*;
use fusebox_core::hlo::{ArrayLiteral, ElementType, Literal};
use fusebox_runtime::{
    Access, AllocationKind, Buffer, BufferPromise, BufferState, Device, DynamicSize, Executable, ExecuteOptions,
    ExecutionThread, ForeignMemory, HostOp, LoadedExecutable, Options, ResultMemory, RunError, Slice, Target, Thunk,
};

const CALLER: ExecuteOptions<'static> = by(ExecutionThread::Caller);
const DEVICE: ExecuteOptions<'static> = by(ExecutionThread::Device);
const AUTOMATIC: ExecuteOptions<'static> = by(ExecutionThread::Automatic);

const fn by(thread: ExecutionThread) -> ExecuteOptions<'static> {
    ExecuteOptions { keep: &[], thread, results: ResultMemory::Shared }
}

fn loaded(executable: &Executable) -> LoadedExecutable {
    LoadedExecutable::open(executable.clone(), &Options { threads: 2, ..Options::default() }).unwrap()
}

fn bytes(device: &Device, bytes: &[u8]) -> Buffer {
    Buffer::from_bytes(device, ElementType::U8, &[bytes.len() as i64], bytes).unwrap()
}

fn number(device: &Device, value: i32) -> Buffer {
    Buffer::from_bytes(device, ElementType::S32, &[1], &value.to_le_bytes()).unwrap()
}

fn value(buffer: &Buffer) -> i32 {
    i32::from_le_bytes(buffer.bytes().unwrap()[..].try_into().unwrap())
}

fn address(buffer: &Buffer) -> *const u8 {
    buffer.bytes().unwrap().as_ptr()
}

/// Returns a program that increments a number. Its kernel's time is predicted.
fn increment() -> Executable {
    let mut exe = executable(Target::Cpu, &[INCREMENT]);
    let input = parameter(&mut exe, "s32", 4, AllocationKind::Parameter);
    let out = temporary(&mut exe, 4);
    exe.thunks = vec![launch(&mut exe, "increment", 1, 1, &[(input, Access::Read), (out, Access::WriteOnce)])];
    exe.kernels[0].predicted_ns = Some(100);
    result(&mut exe, "s32", out);
    exe
}

/// Returns a program that overwrites the first four bytes of a donated input. The result is in the
/// input's memory.
fn filling() -> Executable {
    let mut exe = executable(Target::Cpu, &[FILL_4]);
    let input = parameter(&mut exe, "u8", 16, AllocationKind::Donated);
    let part = Slice { bytes: 4, ..input };
    exe.thunks = vec![launch(&mut exe, "fill_4", 1, 1, &[(part, Access::WriteOnce)])];
    result(&mut exe, "u8", input);
    exe
}

const FILLED: [u8; 16] = [0x55, 0x55, 0x55, 0x55, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7];

#[test]
fn parameters_constants_and_equal_leaves_share_their_memory() {
    let mut exe = executable(Target::Cpu, &[COPY_16]);
    let input = parameter(&mut exe, "u8", 16, AllocationKind::Parameter);
    let constant = allocation(&mut exe, 16, AllocationKind::Constant(vec![3; 16]));
    let copy = temporary(&mut exe, 16);
    exe.thunks = vec![launch(&mut exe, "copy_16", 1, 1, &[(input, Access::Read), (copy, Access::WriteOnce)])];
    results(&mut exe, &[("u8", input), ("u8", constant), ("u8", copy), ("u8", copy)]);
    let program = loaded(&exe);
    let input = bytes(program.device(), &[9; 16]);
    let [first, second] = [(); 2].map(|()| program.execute(&[&input], &CALLER).unwrap());
    assert_eq!([&first[0], &second[0]].map(address), [address(&input); 2]);
    assert_eq!(address(&first[1]), address(&second[1]), "the constant of the executable");
    assert_eq!(address(&first[2]), address(&first[3]));
    assert_ne!(address(&first[2]), address(&second[2]), "each execution has its own results");
    assert_eq!(first.iter().map(|it| it.bytes().unwrap()[0]).collect::<Vec<u8>>(), [9, 3, 9, 9]);
    drop((program, input));
    assert_eq!(first[1].bytes().unwrap()[..], [3; 16], "a constant outlives its executable");
    let Literal::Tuple(leaves) = loaded(&exe).to_literal(&second).unwrap() else { panic!() };
    assert_eq!(leaves.len(), 4);
}

#[test]
fn results_that_are_parameters_have_memory_of_their_own_on_demand() {
    let mut exe = executable(Target::Cpu, &[]);
    let kept = parameter(&mut exe, "u8", 16, AllocationKind::Parameter);
    let donated = parameter(&mut exe, "u8", 16, AllocationKind::Donated);
    results(&mut exe, &[("u8", kept), ("u8", kept), ("u8", donated), ("u8", donated)]);
    let program = loaded(&exe);
    for thread in [ExecutionThread::Caller, ExecutionThread::Device] {
        let (one, two) = (bytes(program.device(), &[1; 16]), bytes(program.device(), &[2; 16]));
        let before = [address(&one), address(&two)];
        let options = ExecuteOptions { thread, results: ResultMemory::Separate, ..CALLER };
        let outputs = program.execute(&[&one, &two], &options).unwrap();
        let mut places: Vec<*const u8> = outputs.iter().map(address).collect();
        assert_eq!((places[2], places.contains(&before[0])), (before[1], false));
        places.sort();
        places.dedup();
        assert_eq!(places.len(), 4);
        assert_eq!(outputs.iter().map(|it| it.bytes().unwrap()[15]).collect::<Vec<u8>>(), [1, 1, 2, 2]);
    }
}

#[test]
fn executions_in_steps_have_the_same_results_and_list_their_thunks() {
    let program = loaded(&increment());
    let argument = number(program.device(), 6);
    let (results, steps) = program.execute_in_steps(&[&argument], &CALLER).unwrap();
    assert_eq!((value(&results[0]), steps.len()), (7, 1));
    assert!(std::ptr::eq(steps[0].0, &program.executable().thunks[0]));
    assert!(program.execute_in_steps(&[], &CALLER).is_err());
}

#[repr(C, align(64))]
struct Aligned([u8; 16], Arc<AtomicBool>);

impl Drop for Aligned {
    fn drop(&mut self) {
        self.1.store(true, Ordering::Relaxed);
    }
}

#[test]
fn kernels_read_foreign_memory_where_it_is_and_its_results_keep_it() {
    let mut exe = executable(Target::Cpu, &[]);
    let input = parameter(&mut exe, "u8", 16, AllocationKind::Parameter);
    result(&mut exe, "u8", input);
    let program = loaded(&exe);
    let is_released = Arc::new(AtomicBool::new(false));
    let owner = Box::new(Aligned([5; 16], is_released.clone()));
    let at = owner.0.as_ptr();
    // SAFETY: the memory belongs to the owner, and nothing writes to it.
    let memory = unsafe { ForeignMemory::read_only(at, 16, owner) };
    let buffer = Buffer::from_foreign(program.device(), ElementType::U8, &[16], memory).unwrap();
    let results = program.execute(&[&buffer], &DEVICE).unwrap();
    buffer.delete();
    assert_eq!((address(&results[0]), is_released.load(Ordering::Relaxed)), (at, false));
    drop(results);
    // A thread of the device may still be about to drop its reference.
    drop((program, buffer));
    while !is_released.load(Ordering::Relaxed) {
        thread::yield_now();
    }
}

#[test]
fn a_donated_buffer_is_overwritten_and_deleted() {
    let program = loaded(&filling());
    for options in [CALLER, DEVICE] {
        let buffer = bytes(program.device(), &[7; 16]);
        let before = address(&buffer);
        let results = program.execute(&[&buffer], &options).unwrap();
        assert!(buffer.is_deleted());
        assert_eq!((address(&results[0]), &results[0].bytes().unwrap()[..]), (before, &FILLED[..]));
        assert_eq!(program.execute(&[&buffer], &options).unwrap_err(), RunError::DeletedInput { index: 0 });
    }
}

#[test]
fn memory_that_others_use_is_copied_before_it_is_overwritten() {
    let program = loaded(&filling());
    let is_copied = |buffer: &Buffer, options: &ExecuteOptions<'_>| {
        let before = buffer.bytes().unwrap();
        let results = program.execute(&[buffer], options).unwrap();
        assert_eq!((&before[..], &results[0].bytes().unwrap()[..]), (&[7; 16][..], &FILLED[..]));
        before.as_ptr() != address(&results[0])
    };
    let buffer = bytes(program.device(), &[7; 16]);
    assert!(is_copied(&buffer, &ExecuteOptions { keep: &[0], ..CALLER }));
    assert!(!buffer.is_deleted());
    assert!(is_copied(&buffer, &CALLER), "the bytes are borrowed");
    assert!(buffer.is_deleted());
    let error = program.execute(&[&buffer], &ExecuteOptions { keep: &[1], ..CALLER }).unwrap_err();
    assert_eq!(error, RunError::NoSuchInput { index: 1, count: 1 });
}

#[test]
fn only_writable_foreign_memory_is_overwritten() {
    let program = loaded(&filling());
    for is_writable in [false, true] {
        let is_released = Arc::new(AtomicBool::new(false));
        let mut owner = Box::new(Aligned([7; 16], is_released.clone()));
        let at = owner.0.as_mut_ptr();
        // SAFETY: the memory belongs to the owner, and no other code accesses it.
        let memory = unsafe {
            if is_writable { ForeignMemory::writable(at, 16, owner) } else { ForeignMemory::read_only(at, 16, owner) }
        };
        let buffer = Buffer::from_foreign(program.device(), ElementType::U8, &[16], memory).unwrap();
        let results = program.execute(&[&buffer], &CALLER).unwrap();
        assert_eq!(address(&results[0]) == at.cast_const(), is_writable);
        assert_eq!(results[0].bytes().unwrap()[..], FILLED);
        assert_eq!(is_released.load(Ordering::Relaxed), !is_writable, "the copy does not keep the original");
    }
}

#[test]
fn arguments_that_do_not_fit_are_refused_and_stay() {
    let mut exe = filling();
    let other = parameter(&mut exe, "u8", 16, AllocationKind::Parameter);
    results(&mut exe, &[("u8", other)]);
    let program = loaded(&exe);
    let device = program.device();
    let (one, two) = (bytes(device, &[7; 16]), bytes(device, &[8; 16]));
    let refused = |arguments: &[&Buffer]| {
        let error = program.execute(arguments, &CALLER).unwrap_err();
        assert!(!one.is_deleted(), "{error}");
        error
    };
    assert_eq!(refused(&[&one, &one]), RunError::DonatedTwice { index: 0, other: 1 });
    assert_eq!(refused(&[&one]), RunError::InputCount { expected: 2, found: 1 });
    assert!(matches!(refused(&[&one, &bytes(device, &[1; 8])]), RunError::InputShape { index: 1, .. }));
    assert!(matches!(refused(&[&one, &number(device, 1)]), RunError::InputShape { index: 1, .. }));
    let elsewhere = Device::open(Target::Cpu, &Options::default()).unwrap();
    assert_eq!(refused(&[&one, &bytes(&elsewhere, &[7; 16])]), RunError::OtherDevice { index: 1 });
    two.delete();
    assert_eq!(refused(&[&one, &two]), RunError::DeletedInput { index: 1 });
    let both = program.execute(&[&one, &one], &ExecuteOptions { keep: &[0], ..CALLER }).unwrap();
    assert_eq!(address(&both[0]), address(&one), "input 0 was a copy");
    assert!(matches!(LoadedExecutable::load(&elsewhere, Executable { target: Target::Simt, ..exe }), Err(error)
        if error.to_string().contains("the executable is for simt")));
}

#[test]
fn cheap_programs_run_on_their_callers_and_others_do_not() {
    let cheap = loaded(&increment());
    let device = cheap.device();
    let results = cheap.execute(&[&number(device, 1)], &AUTOMATIC).unwrap();
    assert_eq!((results[0].state(), value(&results[0])), (BufferState::Ready, 2));
    let (pending, promise) = Buffer::pending(device, ElementType::S32, &[1]);
    let results = cheap.execute(&[&pending], &AUTOMATIC).unwrap();
    assert_eq!(results[0].state(), BufferState::Pending);
    promise.set(&5i32.to_le_bytes()).unwrap();
    assert_eq!(value(&results[0]), 6);
    let mut unknown = increment();
    unknown.kernels[0].predicted_ns = None;
    let unknown = LoadedExecutable::load(device, unknown).unwrap();
    let results = unknown.execute(&[&number(device, 1)], &AUTOMATIC).unwrap();
    assert_eq!(value(&results[0]), 2);
}

#[test]
fn executions_start_when_their_arguments_are_ready_and_fail_with_them() {
    let program = loaded(&increment());
    let device = program.device();
    let chain = |first: &Buffer| {
        let mut buffers = vec![first.clone()];
        for _ in 0..5 {
            buffers.push(program.execute(&[&buffers[buffers.len() - 1]], &DEVICE).unwrap().remove(0));
        }
        buffers.remove(5)
    };
    let pending = || Buffer::pending(device, ElementType::S32, &[1]);
    let ((one, promise), (other, broken)) = (pending(), pending());
    let (last, failed) = (chain(&one), chain(&other));
    assert!(!last.is_ready() && !failed.is_ready());
    promise.set(&10i32.to_le_bytes()).unwrap();
    assert_eq!(value(&last), 15);
    BufferPromise::fail(broken, RunError::Device("gone".into()));
    assert_eq!(failed.wait(), Err(RunError::Device("gone".into())));
    assert_eq!(program.execute(&[&other], &CALLER).unwrap_err(), RunError::Device("gone".into()));
}

#[test]
fn a_pending_buffer_can_be_donated() {
    let program = loaded(&filling());
    let (pending, promise) = Buffer::pending(program.device(), ElementType::U8, &[16]);
    let first = program.execute(&[&pending], &DEVICE).unwrap();
    let second = program.execute(&[&first[0]], &DEVICE).unwrap();
    assert!(pending.is_deleted() && first[0].is_deleted() && !second[0].is_ready());
    promise.set(&[7; 16]).unwrap();
    assert_eq!(second[0].bytes().unwrap()[..], FILLED);
}

/// Executes one program on several threads at once. Each thread has a state, which it donates to
/// each execution, and other buffers, which it shares with the other threads or deletes early.
#[test]
fn threads_that_donate_and_delete_do_not_disturb_each_other() {
    let mut exe = executable(Target::Cpu, &[INCREMENT]);
    let state = parameter(&mut exe, "s32", 4, AllocationKind::Donated);
    let other = parameter(&mut exe, "s32", 4, AllocationKind::Parameter);
    let (next, out) = (temporary(&mut exe, 4), temporary(&mut exe, 4));
    exe.thunks = vec![
        launch(&mut exe, "increment", 1, 1, &[(state, Access::Read), (next, Access::WriteOnce)]),
        launch(&mut exe, "increment", 1, 1, &[(other, Access::Read), (out, Access::WriteOnce)]),
        Thunk::Copy { from: next, to: state },
    ];
    results(&mut exe, &[("s32", state), ("s32", out)]);
    let program = loaded(&exe);
    let shared = number(program.device(), 1000);
    thread::scope(|scope| {
        for first in 0..4 {
            let (program, shared) = (&program, &shared);
            scope.spawn(move || {
                let mut state = number(program.device(), first);
                for turn in 0..300 {
                    let options = [CALLER, DEVICE, AUTOMATIC, ExecuteOptions { keep: &[0], ..DEVICE }][turn % 4];
                    let own = number(program.device(), 5000);
                    let is_own = turn % 3 == 0;
                    let other = if is_own { &own } else { shared };
                    let mut results = program.execute(&[&state, other], &options).unwrap();
                    own.delete();
                    assert_eq!(state.is_deleted(), turn % 4 != 3);
                    if turn % 7 == 0 {
                        results[1].delete();
                    } else if turn % 5 == 0 {
                        assert_eq!(value(&results[1]), if is_own { 5001 } else { 1001 });
                    }
                    if turn % 4 == 3 {
                        assert_eq!(value(&state), first + turn as i32, "it was kept");
                    }
                    state = results.swap_remove(0);
                }
                assert_eq!(value(&state), first + 300);
            });
        }
    });
    assert_eq!(value(&shared), 1000);
}

#[test]
fn each_execution_has_its_own_random_numbers_and_loops() {
    let mut exe = executable(Target::Cpu, &[LESS_THAN_10, INCREMENT]);
    let numbers = temporary(&mut exe, 16);
    let (state, next, predicate) = (temporary(&mut exe, 4), temporary(&mut exe, 4), temporary(&mut exe, 1));
    let zero = allocation(&mut exe, 4, AllocationKind::Constant(vec![0; 4]));
    let counter = "HloModule m\nENTRY main {\n  ROOT s = u64[2] rng-get-and-update-state(), delta=3\n}\n";
    exe.host_ops = vec![HostOp {
        name: "counter".into(),
        opcode: "rng-get-and-update-state".into(),
        hlo: counter.into(),
        comparator: None,
        per_device: None,
    }];
    let condition =
        vec![launch(&mut exe, "less_than_10", 1, 1, &[(state, Access::Read), (predicate, Access::WriteOnce)])];
    let body = vec![
        Thunk::HostOp { op: 0, arguments: Vec::new(), results: vec![numbers] },
        launch(&mut exe, "increment", 1, 1, &[(state, Access::Read), (next, Access::WriteOnce)]),
        Thunk::Copy { from: next, to: state },
    ];
    exe.thunks = vec![
        Thunk::Copy { from: zero, to: state },
        Thunk::While { name: "loop".into(), condition, predicate, body, iterations: None },
    ];
    results(&mut exe, &[("u64", numbers), ("s32", state)]);
    let program = loaded(&exe);
    let expected = program.run(&[]).unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..200).for_each(|_| assert_eq!(program.run(&[]).unwrap(), expected)));
        }
    });
    let Literal::Tuple(leaves) = expected else { panic!() };
    assert_eq!(leaves[1].as_array().unwrap().data[..], 10i32.to_le_bytes());
}

#[test]
fn dynamic_sizes_come_and_go_with_buffers() {
    let mut exe = executable(Target::Cpu, &[]);
    let input = parameter(&mut exe, "s32", 16, AllocationKind::Parameter);
    let size = allocation(&mut exe, 4, AllocationKind::Parameter);
    exe.parameters[0].sizes = vec![DynamicSize { leaf: 0, dimension: 0, at: size }];
    results(&mut exe, &[("s32", input), ("s32", size)]);
    exe.result.sizes = vec![DynamicSize { leaf: 0, dimension: 0, at: size }];
    let program = loaded(&exe);
    let device = program.device();
    let data: Vec<u8> = [4i32, 5].iter().flat_map(|it| it.to_le_bytes()).collect();
    let short = Buffer::from_bytes(device, ElementType::S32, &[2], &data).unwrap();
    let results = program.execute(&[&short], &DEVICE).unwrap();
    assert_eq!((results[0].dims().unwrap(), results[0].shape().dims.clone()), (vec![2], vec![4]));
    assert_eq!(results[0].to_literal(), Ok(ArrayLiteral::new(ElementType::S32, vec![2], data).unwrap()));
    assert_eq!(value(&results[1]), 2);
    let again = program.execute(&[&results[0]], &CALLER).unwrap();
    assert_eq!((address(&again[0]), again[0].dims().unwrap()), (address(&results[0]), vec![2]), "not copied");
    let long = Buffer::from_bytes(device, ElementType::S32, &[5], &[0; 20]).unwrap();
    assert!(matches!(program.execute(&[&long], &CALLER), Err(RunError::InputShape { index: 0, .. })));
    let mut exact = executable(Target::Cpu, &[]);
    let input = parameter(&mut exact, "s32", 16, AllocationKind::Parameter);
    result(&mut exact, "s32", input);
    let exact = LoadedExecutable::load(device, exact).unwrap();
    assert!(matches!(exact.execute(&[&results[0]], &CALLER), Err(RunError::InputShape { index: 0, .. })));
}

#[test]
fn simulated_programs_are_shared_too() {
    let mut exe = executable(Target::Simt, &[WRITE_ELEMENT]);
    let out = temporary(&mut exe, 16);
    exe.thunks = vec![launch(&mut exe, "write_element", 1, 5, &[(out, Access::WriteOnce)])];
    result(&mut exe, "u8", out);
    let program = loaded(&exe);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let results = program.execute(&[], &DEVICE).unwrap();
                let Err(RunError::Kernel { report, .. }) = results[0].wait() else { panic!("no fault was found") };
                assert!(report.contains("out of bounds"), "{report}");
            });
        }
    });
}
