//! Runs programs on a GPU. If there is no GPU, each test prints that it is skipped. Two tests run
//! this test program again, with the software driver as NVIDIA's driver.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::os::unix::fs::symlink;
use std::process::Command;

use fusebox_core::hlo::{ArrayLiteral, ElementType, Literal};
use fusebox_runtime::measurement::Session;
use fusebox_runtime::{
    Access, Allocation, AllocationKind, Binding, Buffer, CodeImage, Cubin, Executable, ExecuteOptions, ExecutionThread,
    Graphs, KernelArgument, KernelImage, LoadError, LoadedExecutable, Options, Slice, Target, Thunk, ValueShape,
    describe_gpu,
};

/// PTX of a kernel that adds 1 to each of 64 words.
const INCREMENT: &str = r"
.version 7.0
.target sm_70
.address_size 64
.visible .entry increment(.param .u64 in, .param .u64 out)
{
  .reg .b64 %r<8>;
  .reg .b32 %w<4>;
  ld.param.u64 %r0, [in];
  ld.param.u64 %r1, [out];
  cvta.to.global.u64 %r2, %r0;
  cvta.to.global.u64 %r3, %r1;
  mov.u32 %w0, %tid.x;
  mul.wide.u32 %r4, %w0, 4;
  add.u64 %r5, %r2, %r4;
  add.u64 %r6, %r3, %r4;
  ld.global.u32 %w1, [%r5];
  add.u32 %w2, %w1, 1;
  st.global.u32 [%r6], %w2;
  ret;
}
";

const WORDS: usize = 64;
const BYTES: u64 = 4 * WORDS as u64;

/// Whether there is a GPU. If there is none, prints the reason.
fn gpu() -> bool {
    match describe_gpu() {
        Ok(_) => true,
        Err(why) => {
            eprintln!("skipped: {why}");
            false
        }
    }
}

fn ptx(text: &str) -> CodeImage {
    CodeImage::Ptx { text: text.into(), cubins: Vec::new() }
}

/// Returns an executable that increments its parameter `times` times, through temporaries.
fn executable(times: usize) -> Executable {
    let steps: Vec<[usize; 2]> = (0..times).map(|it| [it, it + 1]).collect();
    Executable { result: array(times), ..program(&steps, &[times]) }
}

fn slice(allocation: usize) -> Slice {
    Slice { allocation: allocation as u32, offset: 0, bytes: BYTES }
}

fn array(at: usize) -> Binding {
    Binding { shape: ValueShape::Array("s32".into(), vec![WORDS as i64]), leaves: vec![slice(at)], sizes: Vec::new() }
}

/// Returns an executable whose steps each write the incremented words of one allocation to another
/// one. The parameter is allocation 0. The result is a tuple of allocations.
fn program(steps: &[[usize; 2]], results: &[usize]) -> Executable {
    let argument = |access| KernelArgument { name: "words".into(), bytes: BYTES, element_bytes: 4, access };
    let step = |&[from, to]: &[usize; 2]| Thunk::Kernel { kernel: 0, arguments: vec![slice(from), slice(to)] };
    let kinds = (0..=steps.iter().flatten().copied().max().unwrap_or(0)).map(|number| match number {
        0 => AllocationKind::Parameter,
        _ if results.contains(&number) => AllocationKind::Result,
        _ => AllocationKind::Temporary,
    });
    let shapes = results.iter().map(|&result| array(result).shape).collect();
    let leaves = results.iter().map(|&result| slice(result)).collect();
    Executable {
        name: "increment".into(),
        target: Target::Cuda(70),
        instruction_sets: Vec::new(),
        code: vec![ptx(INCREMENT)],
        kernels: vec![KernelImage {
            symbol: "increment".into(),
            emitter: "test 1.0.0".into(),
            code: 0,
            blocks: 1,
            threads_per_block: WORDS as u32,
            shared_bytes: 0,
            predicted_ns: None,
            arguments: vec![argument(Access::Read), argument(Access::WriteOnce)],
        }],
        host_ops: Vec::new(),
        allocations: kinds.map(|kind| Allocation { bytes: BYTES, kind }).collect(),
        thunks: steps.iter().map(step).collect(),
        parameters: vec![array(0)],
        result: Binding { shape: ValueShape::Tuple(shapes), leaves, sizes: Vec::new() },
    }
}

fn words(values: impl Iterator<Item = i32>) -> ArrayLiteral {
    let data: Vec<u8> = values.flat_map(i32::to_le_bytes).collect();
    ArrayLiteral { element_type: ElementType::S32, dims: vec![WORDS as i64], data: data.into() }
}

#[test]
fn kernels_run_in_order_on_resident_inputs() {
    if !gpu() {
        return;
    }
    let mut program = Session::load(executable(3), &Options::default()).unwrap();
    let result = program.run(&[words(0..WORDS as i32)]).unwrap();
    assert_eq!(result.as_array().unwrap(), &words(3..WORDS as i32 + 3));
    let taken = program.execute().unwrap();
    assert!(taken.as_nanos() > 0);
    assert_eq!(program.result().unwrap(), result);
}

/// Executes one program on several threads, which share an input and pass on their results.
#[test]
fn threads_share_a_program_and_its_buffers() {
    if !gpu() {
        return;
    }
    let program = LoadedExecutable::open(executable(3), &Options::default()).unwrap();
    let input = Buffer::from_literal(program.device(), &words(0..WORDS as i32)).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut last = input.clone();
                for turn in 1..20 {
                    last = program.execute(&[&last], &ExecuteOptions::default()).unwrap().remove(0);
                    if turn % 5 == 0 {
                        assert_eq!(last.to_literal().unwrap(), words(3 * turn..WORDS as i32 + 3 * turn));
                    }
                }
            });
        }
    });
    assert_eq!(input.to_literal().unwrap(), words(0..WORDS as i32));
    let mut donating = executable(1);
    donating.allocations[0].kind = AllocationKind::Donated;
    donating.result = donating.parameters[0].clone();
    let donating = LoadedExecutable::load(program.device(), donating).unwrap();
    let results = donating.execute(&[&input], &ExecuteOptions::default()).unwrap();
    assert!(input.is_deleted());
    assert_eq!(results[0].to_literal().unwrap(), words(0..WORDS as i32));
}

#[test]
fn ptx_the_driver_refuses_is_an_error_with_its_reason() {
    if !gpu() {
        return;
    }
    let mut broken = executable(1);
    broken.code = vec![ptx(&INCREMENT.replace("add.u32", "frobnicate.u32"))];
    match LoadedExecutable::open(broken, &Options::default()) {
        Err(LoadError::Device(message)) => assert!(message.contains("frobnicate"), "{message}"),
        other => panic!("{other:?}"),
    }
}

/// Returns the header of an ELF file without any part, for a machine with this number.
fn elf(machine: u16) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    bytes[18..20].copy_from_slice(&machine.to_le_bytes());
    bytes[52..54].copy_from_slice(&64u16.to_le_bytes());
    bytes
}

/// The number of NVIDIA's GPUs among the machines of ELF files.
const NVIDIA: u16 = 190;

fn with_cubins(cubins: &[(&str, Vec<u8>)]) -> Executable {
    let cubin =
        |(architecture, bytes): &(&str, Vec<u8>)| Cubin { architecture: (*architecture).into(), bytes: bytes.clone() };
    let cubins = cubins.iter().map(cubin).collect();
    Executable { code: vec![CodeImage::Ptx { text: INCREMENT.into(), cubins }], ..executable(1) }
}

/// The software driver takes no machine code. The PTX is executed, and a remark says so.
#[test]
fn machine_code_that_the_driver_refuses_is_replaced_by_ptx() {
    if !is_inside() {
        return;
    }
    let both = with_cubins(&[("sm_80", elf(NVIDIA)), ("sm_90", elf(NVIDIA))]);
    let program = LoadedExecutable::open(both, &Options::default()).unwrap();
    let [remark] = program.remarks() else { panic!("{:?}", program.remarks()) };
    assert!(remark.contains("the machine code for sm_90") && remark.contains("NO_BINARY_FOR_GPU"), "{remark}");
    let result = program.run(&[words(0..WORDS as i32)]).unwrap();
    assert_eq!(result.as_array().unwrap(), &words(1..WORDS as i32 + 1));
}

#[test]
fn machine_code_for_other_cards_is_not_loaded() {
    if is_inside() {
        return;
    }
    let loads = |devices: &str| {
        let variables = [("SOFTWARE_CUDA_DEVICE", devices), ("FUSEBOX_CUBINS_OF", "sm_80 sm_90a")];
        counted("a_program_with_machine_code", &variables)["cuModuleLoadDataEx"]
    };
    // On a device of another architecture, only the PTX is loaded.
    assert_eq!(["sm_80", "sm_90", "sm_100"].map(loads), [2, 2, 1]);
}

/// Loads a program with machine code for the architectures that a variable names. Another test
/// counts the calls.
#[test]
fn a_program_with_machine_code() {
    let Ok(names) = std::env::var("FUSEBOX_CUBINS_OF") else { return };
    let cubins: Vec<_> = names.split(' ').map(|name| (name, elf(NVIDIA))).collect();
    LoadedExecutable::open(with_cubins(&cubins), &Options::default()).unwrap();
}

#[test]
fn machine_code_with_parts_outside_of_its_file_is_refused() {
    let mut cut = elf(NVIDIA);
    // A program header that would lie behind the end.
    cut[32..40].copy_from_slice(&64u64.to_le_bytes());
    cut[54..58].copy_from_slice(&[56, 0, 1, 0]);
    let mut segment = vec![0; 56];
    segment[32..40].copy_from_slice(&1000u64.to_le_bytes());
    let far = [cut.clone(), segment].concat();
    for (bytes, fault) in [
        (cut, "is no ELF file"),
        (far, "has parts outside of its file"),
        (elf(62), "is for another machine"),
        (INCREMENT.as_bytes().to_vec(), "is no ELF file"),
    ] {
        match LoadedExecutable::open(with_cubins(&[("sm_90", bytes)]), &Options::default()) {
            Err(LoadError::Object(message)) => assert!(message.contains(fault), "{message}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn code_for_a_newer_card_is_refused() {
    if !gpu() {
        return;
    }
    let mut newer = executable(1);
    newer.target = Target::Cuda(999);
    match LoadedExecutable::open(newer, &Options::default()) {
        Err(LoadError::Device(message)) => assert!(message.contains("sm_999"), "{message}"),
        other => panic!("{other:?}"),
    }
}

/// Runs a test of this program, or all tests, with the software driver. Returns the number of calls
/// of each function of the driver, as lines of JSON.
fn on_the_software_driver(test: Option<&str>, variables: &[(&str, &str)]) -> String {
    let program = std::env::current_exe().unwrap();
    let folder = tempfile::tempdir().unwrap();
    symlink(program.with_file_name("libsoftware_cuda.so"), folder.path().join("libcuda.so.1")).unwrap();
    let calls = folder.path().join("calls.json");
    let mut command = Command::new(&program);
    command.args(test.map(|test| ["--exact", test]).into_iter().flatten());
    command.env("LD_LIBRARY_PATH", folder.path()).env("SOFTWARE_CUDA_CALLS", &calls);
    command.env("FUSEBOX_ON_SOFTWARE_DRIVER", "1").envs(variables.iter().copied());
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&text));
    std::fs::read_to_string(calls).unwrap()
}

/// Whether a test of this program runs this program.
fn is_inside() -> bool {
    std::env::var_os("FUSEBOX_ON_SOFTWARE_DRIVER").is_some()
}

#[test]
fn all_tests_pass_on_the_software_driver() {
    if !is_inside() {
        assert!(on_the_software_driver(None, &[]).contains("cuLaunchKernel"));
    }
}

/// Executes a program as often as a variable says. Other tests count the calls.
#[test]
fn executions_in_the_steady_state() {
    let Some(times) = std::env::var("FUSEBOX_EXECUTIONS").ok().and_then(|times| times.parse().ok()) else { return };
    let program = LoadedExecutable::open(executable(3), &Options::default()).unwrap();
    let input = Buffer::from_literal(program.device(), &words(0..WORDS as i32)).unwrap();
    let options = ExecuteOptions { thread: ExecutionThread::Caller, ..ExecuteOptions::default() };
    for _ in 0..times {
        let results = program.execute(&[&input], &options).unwrap();
        drop(results);
    }
}

/// Returns the numbers of calls and bytes that the software driver has counted.
fn counted(test: &str, variables: &[(&str, &str)]) -> BTreeMap<String, i64> {
    let text = on_the_software_driver(Some(test), variables);
    let number = |line: &str| {
        let (name, number) = line.split_once(": ")?;
        Some((name.trim_matches([' ', '"']).to_string(), number.trim_end_matches(',').parse::<i64>().ok()?))
    };
    text.lines().filter_map(number).collect()
}

/// Three chains, of which the first and the last use the same temporary memory.
const CHAINS: [[usize; 2]; 6] = [[0, 1], [1, 2], [0, 3], [3, 4], [0, 1], [1, 5]];

/// Executes independent kernels on as many streams as a variable says. Another test counts the
/// calls.
#[test]
fn independent_kernels_on_streams() {
    let Some(streams) = std::env::var("FUSEBOX_STREAMS").ok().and_then(|streams| streams.parse().ok()) else { return };
    for graphs in [Graphs::Never, Graphs::Always] {
        let options = Options { streams: NonZeroUsize::new(streams), graphs, ..Options::default() };
        let program = LoadedExecutable::open(program(&CHAINS, &[2, 4, 5]), &options).unwrap();
        for start in [0, 100] {
            let result = program.run(&[words(start..start + WORDS as i32)]).unwrap();
            let Literal::Tuple(results) = result else { panic!("{result:?}") };
            let expected = Literal::Array(words(start + 2..start + WORDS as i32 + 2));
            assert_eq!(results, [expected.clone(), expected.clone(), expected]);
        }
    }
}

/// Chains of kernels go to different streams, unless they use the same memory. The software driver
/// reports no race in any order.
#[test]
fn chains_of_kernels_share_no_stream_unless_they_share_memory() {
    if is_inside() {
        return;
    }
    let calls = |streams: &str, seed: &str| {
        let variables = [("FUSEBOX_STREAMS", streams), ("SOFTWARE_CUDA_SEED", seed)];
        let counted = counted("independent_kernels_on_streams", &variables);
        ["cuStreamCreate", "cuEventRecord", "cuStreamWaitEvent"].map(|name| counted.get(name).copied().unwrap_or(0))
    };
    // The streams for transfers and for executions.
    assert_eq!(calls("1", "1"), [4, 0, 0]);
    // In each of the two executions without graphs, the second stream waits for the first one at
    // the beginning, and the first one for the second one at the end.
    for seed in ["1", "2", "3", "4", "5"] {
        assert_eq!(calls("4", seed), [5, 4, 4]);
    }
}

/// Counts the calls of the driver that further executions make: they launch a graph and wait for
/// it. They allocate, copy and update nothing.
#[test]
fn an_execution_in_the_steady_state_makes_three_calls() {
    if is_inside() {
        return;
    }
    let calls = |times: &str| counted("executions_in_the_steady_state", &[("FUSEBOX_EXECUTIONS", times)]);
    let (few, many) = (calls("10"), calls("110"));
    let more = many.iter().map(|(name, number)| (name.as_str(), number - few.get(name).unwrap_or(&0)));
    let more: Vec<(&str, i64)> = more.filter(|(_, number)| *number != 0).collect();
    assert_eq!(more, [("cuCtxGetCurrent", 100), ("cuGraphLaunch", 100), ("cuStreamSynchronize", 100)]);
}
