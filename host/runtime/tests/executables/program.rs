//! Checks executables that are constructed by hand: loading, linking, thunks, simulation and
//! storage.

use super::assembler::*;
use super::builder::*;
use fusebox_core::hlo::{ArrayLiteral, ElementType, Literal};
use fusebox_runtime::measurement::Session;
use fusebox_runtime::{
    Access, AllocationKind, Binding, CodeImage, Executable, HostOp, LoadError, LoadedExecutable, Options, RunError,
    Slice, Target, Thunk, ValueShape,
};

fn run(executable: &Executable) -> Result<Vec<u8>, RunError> {
    let program = LoadedExecutable::open(executable.clone(), &Options { threads: 3, ..Options::default() }).unwrap();
    program.run(&[]).map(|value| match value {
        Literal::Array(array) => array.data.to_vec(),
        other => panic!("{other:?}"),
    })
}

#[test]
fn calls_table_entries_and_constants_are_linked() {
    let mut exe = executable(Target::Cpu, &[COPY_16, STORE_CONSTANT, FILL_4]);
    let (a, b) = (temporary(&mut exe, 128), temporary(&mut exe, 128));
    let [part, other_part] = [0, 64].map(|offset| move |of: Slice, bytes| Slice { offset, bytes, ..of });
    exe.thunks = vec![
        launch(&mut exe, "store_constant", 1, 1, &[(part(a, 4), Access::WriteOnce)]),
        launch(&mut exe, "fill_4", 1, 1, &[(other_part(a, 4), Access::WriteOnce)]),
        launch(&mut exe, "copy_16", 1, 1, &[(part(a, 16), Access::Read), (part(b, 16), Access::WriteOnce)]),
        launch(&mut exe, "copy_16", 1, 1, &[(other_part(a, 16), Access::Read), (other_part(b, 16), Access::WriteOnce)]),
    ];
    result(&mut exe, "u32", b);
    let mut expected = [0; 128];
    expected[..4].copy_from_slice(&CONSTANT.to_le_bytes());
    expected[64..68].fill(0x55);
    assert_eq!(run(&exe).unwrap(), expected);
}

#[test]
fn an_unknown_symbol_is_named() {
    let exe = executable(Target::Cpu, &[CALL_UNKNOWN]);
    let error = LoadedExecutable::open(exe, &Options::default()).unwrap_err();
    assert!(matches!(&error, LoadError::Object(text) if text.contains("launch_missiles")), "{error}");
}

#[test]
fn garbage_is_no_object() {
    let mut exe = executable(Target::Cpu, &[]);
    exe.code = vec![CodeImage::Object { bytes: b"not an object".to_vec(), sites: Vec::new() }];
    assert!(matches!(LoadedExecutable::open(exe, &Options::default()), Err(LoadError::Object(_))));
}

#[test]
fn all_blocks_run() {
    let mut exe = executable(Target::Cpu, &[NUMBER_BLOCKS]);
    let out = temporary(&mut exe, 200);
    exe.thunks = vec![launch(&mut exe, "number_blocks", 200, 1, &[(out, Access::WriteOnce)])];
    result(&mut exe, "u8", out);
    assert_eq!(run(&exe).unwrap(), (0..200).collect::<Vec<u8>>());
}

#[test]
fn inputs_that_are_set_are_there_in_every_run() {
    let mut exe = executable(Target::Cpu, &[FILL_4]);
    let input = allocation(&mut exe, 16, AllocationKind::Donated);
    exe.parameters =
        vec![Binding { shape: ValueShape::Array("u8".into(), vec![16]), leaves: vec![input], sizes: Vec::new() }];
    let seen = temporary(&mut exe, 16);
    let part = Slice { bytes: 4, ..input };
    exe.thunks =
        vec![Thunk::Copy { from: input, to: seen }, launch(&mut exe, "fill_4", 1, 1, &[(part, Access::WriteOnce)])];
    result(&mut exe, "u8", seen);
    let mut session = Session::load(exe, &Options { threads: 1, ..Options::default() }).unwrap();
    session.execute().unwrap();
    assert_eq!(session.execute(), Err(RunError::Taken { index: 0 }));
    session.set_inputs(&[ArrayLiteral::new(ElementType::U8, vec![16], vec![7; 16]).unwrap()]).unwrap();
    for run in 0..3 {
        session.execute().unwrap();
        let Literal::Array(array) = session.result().unwrap() else { panic!() };
        assert_eq!(&array.data[..], [7; 16], "run {run}");
    }
}

/// Creates a program that returns the first or the second of its two parameters. The allocations of
/// the parameters are in the same order.
fn chooser(second: bool) -> Session {
    let mut exe = executable(Target::Cpu, &[]);
    let mut slices: Vec<Slice> = (0..2).map(|_| allocation(&mut exe, 4, AllocationKind::Parameter)).collect();
    let out = temporary(&mut exe, 4);
    if second {
        slices.reverse();
    }
    let parameter = |slice: &Slice| Binding {
        shape: ValueShape::Array("u32".into(), vec![1]),
        leaves: vec![*slice],
        sizes: Vec::new(),
    };
    exe.parameters = slices.iter().map(parameter).collect();
    exe.thunks = vec![Thunk::Copy { from: slices[usize::from(second)], to: out }];
    result(&mut exe, "u32", out);
    let mut program = Session::load(exe, &Options { threads: 1, ..Options::default() }).unwrap();
    let input = |value: u32| ArrayLiteral::new(ElementType::U32, vec![1], value.to_le_bytes().to_vec()).unwrap();
    program.set_inputs(&[input(1), input(2)]).unwrap();
    program.execute().unwrap();
    program
}

#[test]
fn programs_that_exchange_memory_keep_their_inputs() {
    let (mut first, mut second) = (chooser(false), chooser(true));
    let value = |program: &mut Session| program.result().unwrap().as_array().unwrap().data[0];
    assert_eq!([value(&mut first), value(&mut second)], [1, 2]);
    first.exchange_memory(&mut second);
    assert_eq!([value(&mut first), value(&mut second)], [2, 1], "each finds the other's last result");
    for program in [&mut first, &mut second] {
        program.evict().unwrap();
        program.execute().unwrap();
    }
    assert_eq!([value(&mut first), value(&mut second)], [1, 2]);
}

#[test]
fn a_loop_runs_until_its_predicate_is_false() {
    let mut exe = executable(Target::Cpu, &[LESS_THAN_10, INCREMENT]);
    let (state, next, predicate) = (temporary(&mut exe, 4), temporary(&mut exe, 4), temporary(&mut exe, 1));
    let condition =
        vec![launch(&mut exe, "less_than_10", 1, 1, &[(state, Access::Read), (predicate, Access::WriteOnce)])];
    let body = vec![
        launch(&mut exe, "increment", 1, 1, &[(state, Access::Read), (next, Access::WriteOnce)]),
        Thunk::Copy { from: next, to: state },
    ];
    exe.thunks = vec![Thunk::While { name: "loop".into(), condition, predicate, body, iterations: None }];
    result(&mut exe, "s32", state);
    assert_eq!(run(&exe).unwrap(), 10i32.to_le_bytes());
}

#[test]
fn branches_are_chosen_by_predicate_and_by_index() {
    let index = |bytes: &[u8]| {
        let mut exe = executable(Target::Cpu, &[]);
        let values: Vec<Slice> =
            (1..=3u8).map(|v| allocation(&mut exe, 1, AllocationKind::Constant(vec![v]))).collect();
        let choice = allocation(&mut exe, bytes.len() as u64, AllocationKind::Constant(bytes.to_vec()));
        let out = temporary(&mut exe, 1);
        let count = if bytes.len() == 1 { 2 } else { 3 };
        let branches = values[..count].iter().map(|&from| vec![Thunk::Copy { from, to: out }]).collect();
        exe.thunks = vec![Thunk::Conditional { name: "choose".into(), index: choice, branches }];
        result(&mut exe, "u8", out);
        run(&exe).unwrap()[0]
    };
    assert_eq!(index(&[1]), 1, "true takes branch 0");
    assert_eq!(index(&[0]), 2, "false takes branch 1");
    assert_eq!(index(&2i32.to_le_bytes()), 3);
    assert_eq!(index(&(-1i32).to_le_bytes()), 3, "out of range takes the last");
    assert_eq!(index(&9i32.to_le_bytes()), 3, "out of range takes the last");
}

#[test]
fn host_operations_are_executed_by_routines() {
    let mut exe = executable(Target::Cpu, &[]);
    let input = allocation(&mut exe, 12, AllocationKind::Parameter);
    let out = temporary(&mut exe, 12);
    exe.host_ops = vec![HostOp {
        name: "sharded".into(),
        opcode: "custom-call".into(),
        hlo: "HloModule m\nENTRY main {\n  p = s32[3] parameter(0)\n  ROOT r = s32[3] custom-call(p), \
              custom_call_target=\"Sharding\"\n}\n"
            .into(),
        comparator: None,
        per_device: None,
    }];
    exe.thunks = vec![Thunk::HostOp { op: 0, arguments: vec![input], results: vec![out] }];
    exe.parameters =
        vec![Binding { shape: ValueShape::Array("s32".into(), vec![3]), leaves: vec![input], sizes: Vec::new() }];
    result(&mut exe, "s32", out);
    let program = LoadedExecutable::open(exe, &Options { threads: 1, ..Options::default() }).unwrap();
    let bytes: Vec<u8> = [1i32, 2, 3].iter().flat_map(|v| v.to_le_bytes()).collect();
    let array = ArrayLiteral::new(ElementType::S32, vec![3], bytes).unwrap();
    let same: Vec<u8> = [1i32, 2, 3].iter().flat_map(|v| v.to_le_bytes()).collect();
    for _ in 0..2 {
        let value = program.run(std::slice::from_ref(&array)).unwrap();
        assert_eq!(value.as_array().unwrap().data.as_ref(), same.as_slice());
    }
    let wrong = ArrayLiteral::new(ElementType::S32, vec![2], vec![0; 8]).unwrap();
    assert!(matches!(program.run(&[wrong]), Err(RunError::InputShape { index: 0, .. })));
    assert!(matches!(program.run(&[]), Err(RunError::InputCount { expected: 1, found: 0 })));
}

fn simt(bytes: u64, threads: u32) -> Result<Vec<u8>, RunError> {
    let mut exe = executable(Target::Simt, &[WRITE_ELEMENT]);
    let out = temporary(&mut exe, bytes);
    exe.thunks = vec![launch(&mut exe, "write_element", 1, threads, &[(out, Access::WriteOnce)])];
    result(&mut exe, "u8", out);
    run(&exe)
}

#[test]
fn the_simulator_accepts_an_exact_cover() {
    simt(16, 4).unwrap();
}

#[test]
fn the_simulator_stops_an_access_out_of_bounds() {
    let report = simt(16, 5).unwrap_err().to_string();
    assert!(report.contains("out of bounds") && report.contains("thread 4 of block 0: store"), "{report}");
}

#[test]
fn the_simulator_notices_what_is_not_written() {
    let report = simt(32, 4).unwrap_err().to_string();
    assert!(report.contains("element 4 of output 0 is never written"), "{report}");
}

#[test]
fn a_stored_executable_comes_back() {
    let mut exe = executable(Target::Cpu, &[COPY_16]);
    let (a, b) = (temporary(&mut exe, 16), temporary(&mut exe, 16));
    exe.thunks = vec![launch(&mut exe, "copy_16", 1, 1, &[(a, Access::Read), (b, Access::WriteOnce)])];
    let bytes = exe.to_bytes().unwrap();
    assert!(Executable::is_executable(&bytes));
    assert_eq!(Executable::from_bytes(&bytes).unwrap(), exe);
}

#[test]
fn code_for_a_gpu_that_is_not_here_is_refused_with_a_reason() {
    if fusebox_runtime::describe_gpu().is_err() {
        let error = LoadedExecutable::open(executable(Target::Cuda(90), &[]), &Options::default()).unwrap_err();
        assert!(error.to_string().contains("no CUDA driver"), "{error}");
    }
}
