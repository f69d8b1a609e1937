//! Modules and launches of kernels.

use std::ffi::{CString, c_void};

use crate::cuda::*;

/// PTX of a kernel that adds a number to words, and of a kernel that copies words through shared
/// memory.
const PTX: &str = r"
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .u32 calls[2] = {5, 6};
.visible .entry add(.param .u64 words, .param .u32 number)
{
  .reg .b64 %r<4>;
  .reg .b32 %w<4>;
  ld.param.u64 %r0, [words];
  ld.param.u32 %w0, [number];
  cvta.to.global.u64 %r1, %r0;
  mov.u32 %w1, %tid.x;
  mul.wide.u32 %r2, %w1, 4;
  add.u64 %r3, %r1, %r2;
  ld.global.u32 %w2, [%r3];
  add.u32 %w3, %w2, %w0;
  st.global.u32 [%r3], %w3;
  ret;
}
.extern .shared .align 16 .b8 dynamic[];
.visible .entry shuffle(.param .u64 words)
{
  .reg .b64 %r<8>;
  .reg .b32 %w<6>;
  ld.param.u64 %r0, [words];
  cvta.to.global.u64 %r1, %r0;
  mov.u32 %w0, %tid.x;
  mul.wide.u32 %r2, %w0, 4;
  add.u64 %r3, %r1, %r2;
  ld.global.u32 %w1, [%r3];
  mov.u32 %w2, dynamic;
  shl.b32 %w3, %w0, 2;
  add.u32 %w4, %w2, %w3;
  st.shared.u32 [%w4], %w1;
  bar.sync 0;
  ld.shared.u32 %w5, [%w4];
  st.global.u32 [%r3], %w5;
  ret;
}
";

struct Loaded {
    module: usize,
    add: usize,
    shuffle: usize,
}

pub fn load(text: &str) -> Result<usize, u32> {
    let text = CString::new(text).unwrap();
    made(|module| cuModuleLoadDataEx(module, text.as_ptr(), 0, std::ptr::null(), std::ptr::null()))
}

pub fn function(module: usize, name: &str) -> Result<usize, u32> {
    let name = CString::new(name).unwrap();
    made(|function| cuModuleGetFunction(function, module, name.as_ptr()))
}

fn loaded() -> Loaded {
    let module = load(PTX).unwrap();
    Loaded { module, add: function(module, "add").unwrap(), shuffle: function(module, "shuffle").unwrap() }
}

fn launch(function: usize, threads: u32, shared: u32, stream: usize, values: &[*const c_void]) -> Result<(), u32> {
    cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, shared, stream, values.as_ptr(), std::ptr::null())
}

fn add(function: usize, address: u64, number: u32, threads: u32, stream: usize) -> Result<(), u32> {
    let values = [std::ptr::from_ref(&address).cast(), std::ptr::from_ref(&number).cast()];
    launch(function, threads, 0, stream, &values)
}

#[test]
fn a_kernel_gets_the_values_of_its_parameters_at_the_launch() {
    let _context = Context::new();
    let loaded = loaded();
    let (address, stream) = (allocate(32), stream());
    fill(address, 1, 8, stream).unwrap();
    add(loaded.add, address, 10, 8, stream).unwrap();
    add(loaded.add, address, 100, 4, stream).unwrap();
    cuStreamSynchronize(stream).unwrap();
    assert_eq!(words(address, 8), Ok(vec![111, 111, 111, 111, 11, 11, 11, 11]));
}

#[test]
fn a_buffer_of_parameters_has_the_size_that_the_kernel_declares() {
    let _context = Context::new();
    let loaded = loaded();
    let address = allocate(4);
    fill(address, 1, 1, 0).unwrap();
    let buffer = [address.to_le_bytes(), 7u64.to_le_bytes()].concat();
    let launch = |size: usize| {
        let extra: [*const c_void; 5] = [
            std::ptr::without_provenance(1),
            buffer.as_ptr().cast(),
            std::ptr::without_provenance(2),
            std::ptr::from_ref(&size).cast(),
            std::ptr::null(),
        ];
        cuLaunchKernel(loaded.add, 1, 1, 1, 1, 1, 1, 0, 0, std::ptr::null(), extra.as_ptr())
    };
    launch(12).unwrap();
    assert_eq!(launch(8), Err(INVALID_VALUE));
    assert_eq!(launch(16), Err(INVALID_VALUE));
    assert_eq!(words(address, 1), Ok(vec![8]));
}

#[test]
fn a_launch_beyond_the_limits_is_refused_and_does_not_stick() {
    let _context = Context::new();
    let loaded = loaded();
    let address = allocate(4);
    fill(address, 1, 1, 0).unwrap();
    assert_eq!(add(loaded.add, address, 1, 0, 0), Err(INVALID_VALUE));
    assert_eq!(add(loaded.add, address, 1, 1025, 0), Err(INVALID_VALUE));
    assert_eq!(launch(loaded.add, 1, 0, 0, &[std::ptr::null(), std::ptr::null()]), Err(INVALID_VALUE));
    let grid = cuLaunchKernel(loaded.add, 1, 65_536, 1, 1, 1, 1, 0, 0, std::ptr::null(), std::ptr::null());
    assert_eq!(grid, Err(INVALID_VALUE));
    assert_eq!(words(address, 1), Ok(vec![1]));
}

#[test]
fn more_shared_memory_than_usual_needs_an_attribute() {
    let _context = Context::new();
    let loaded = loaded();
    let address = allocate(4 * 64);
    fill(address, 3, 64, 0).unwrap();
    let values = [std::ptr::from_ref(&address).cast()];
    let shared = |bytes| launch(loaded.shuffle, 64, bytes, 0, &values);
    shared(256).unwrap();
    shared(48 << 10).unwrap();
    assert_eq!(shared((48 << 10) + 16), Err(INVALID_VALUE));
    assert_eq!(cuFuncSetAttribute(loaded.shuffle, 8, 228 << 10), Err(INVALID_VALUE));
    cuFuncSetAttribute(loaded.shuffle, 8, 100 << 10).unwrap();
    shared(100 << 10).unwrap();
    assert_eq!(words(address, 64), Ok(vec![3; 64]));
}

#[test]
fn too_little_shared_memory_is_a_fault() {
    let _context = Context::new();
    let loaded = loaded();
    let address = allocate(4 * 64);
    fill(address, 3, 64, 0).unwrap();
    launch(loaded.shuffle, 64, 128, 0, &[std::ptr::from_ref(&address).cast()]).unwrap();
    assert!(cuCtxSynchronize().is_err());
}

#[test]
fn kernels_of_unordered_streams_race() {
    let _context = Context::new();
    let loaded = loaded();
    let address = allocate(8);
    fill(address, 0, 2, 0).unwrap();
    cuCtxSynchronize().unwrap();
    let [first, second] = [stream(), stream()];
    add(loaded.add, address, 1, 1, first).unwrap();
    add(loaded.add, address + 4, 1, 1, second).unwrap();
    cuCtxSynchronize().unwrap();
    add(loaded.add, address, 1, 2, first).unwrap();
    add(loaded.add, address + 4, 1, 1, second).unwrap();
    assert_eq!(cuCtxSynchronize(), Err(LAUNCH_FAILED));
}

#[test]
fn a_kernel_stays_in_its_allocation_while_it_lives() {
    let _context = Context::new();
    let function = loaded().add;
    let (address, stream) = (allocate(4), stream());
    fill(address, 0, 1, stream).unwrap();
    add(function, address, 1, 1, stream).unwrap();
    cuStreamSynchronize(stream).unwrap();
    add(function, address, 1, 2, stream).unwrap();
    assert_eq!(cuStreamSynchronize(stream), Err(ILLEGAL_ADDRESS));
}

#[test]
fn a_kernel_does_not_access_freed_memory() {
    let _context = Context::new();
    let function = loaded().add;
    let (address, stream) = (allocate(4), stream());
    fill(address, 0, 1, stream).unwrap();
    cuMemFreeAsync(address, stream).unwrap();
    add(function, address, 1, 1, stream).unwrap();
    assert_eq!(cuStreamSynchronize(stream), Err(ILLEGAL_ADDRESS));
}

#[test]
fn a_misaligned_access_is_a_fault() {
    let _context = Context::new();
    let loaded = loaded();
    let address = allocate(8);
    fill(address, 0, 2, 0).unwrap();
    add(loaded.add, address + 2, 1, 1, 0).unwrap();
    assert_eq!(cuCtxSynchronize(), Err(716));
}

#[test]
fn a_kernel_is_not_executed_after_its_module_was_unloaded() {
    let _context = Context::new();
    let loaded = loaded();
    let (address, stream) = (allocate(4), stream());
    fill(address, 0, 1, stream).unwrap();
    add(loaded.add, address, 1, 1, stream).unwrap();
    cuModuleUnload(loaded.module).unwrap();
    assert_eq!(cuStreamSynchronize(stream), Err(LAUNCH_FAILED));
}

#[test]
fn handles_of_an_unloaded_module_are_invalid() {
    let _context = Context::new();
    let loaded = loaded();
    assert_eq!(function(loaded.module, "subtract"), Err(500));
    cuModuleUnload(loaded.module).unwrap();
    assert_eq!(add(loaded.add, allocate(4), 1, 1, 0), Err(INVALID_HANDLE));
    assert_eq!(cuModuleUnload(loaded.module), Err(INVALID_HANDLE));
}

#[test]
fn variables_of_a_module_hold_their_initial_values() {
    let _context = Context::new();
    let module = load(PTX).unwrap();
    let (name, mut bytes) = (CString::new("calls").unwrap(), 0);
    let address = made(|address| cuModuleGetGlobal_v2(address, &mut bytes, module, name.as_ptr())).unwrap();
    assert_eq!((bytes, words(address, 2)), (8, Ok(vec![5, 6])));
}

#[test]
fn broken_ptx_is_refused_with_a_message_in_the_callers_buffer() {
    let _context = Context::new();
    let text = CString::new(PTX.replace("add.u32 %w3", "frobnicate.u32 %w3")).unwrap();
    let mut log = [b'?'; 200];
    let options = [5u32, 6];
    let values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), log.len() as *mut c_void];
    let refused = made(|module| cuModuleLoadDataEx(module, text.as_ptr(), 2, options.as_ptr(), values.as_ptr()));
    assert_eq!(refused, Err(218));
    let end = log.iter().position(|byte| *byte == 0).unwrap();
    let log = String::from_utf8_lossy(&log[..end]);
    assert!(log.contains("frobnicate") && log.contains("line 17"), "{log}");
}

#[test]
fn ptx_that_is_too_new_is_refused() {
    let _context = Context::new();
    assert_eq!(load(&PTX.replace(".version 7.0", ".version 99.0")), Err(222));
    assert_eq!(load(&PTX.replace("sm_70", "sm_120").replace("7.0", "8.7")), Err(209));
}

/// The driver executes PTX only, and answers as a card of another architecture would.
#[test]
fn machine_code_is_refused_as_that_of_another_gpu() {
    let _context = Context::new();
    let of_machine = |machine: u8| {
        let mut header = [0u8; 64];
        header[..4].copy_from_slice(b"\x7fELF");
        header[18] = machine;
        made(|module| cuModuleLoadDataEx(module, header.as_ptr().cast(), 0, std::ptr::null(), std::ptr::null()))
    };
    let (nvidia, x86) = (190, 62);
    assert_eq!(of_machine(nvidia), Err(209));
    assert_eq!(of_machine(x86), Err(200));
}

#[test]
fn a_graph_launches_kernels_with_parameters_that_can_be_replaced() {
    let _context = Context::new();
    let loaded = loaded();
    let (address, other, stream) = (allocate(4), allocate(4), stream());
    fill(address, 0, 1, 0).unwrap();
    fill(other, 0, 1, 0).unwrap();
    cuCtxSynchronize().unwrap();
    let with = |address: &u64, number: &u32, act: &mut dyn FnMut(&Kernel)| {
        let values: [*const c_void; 2] = [std::ptr::from_ref(address).cast(), std::ptr::from_ref(number).cast()];
        act(&Kernel::new(loaded.add, &values));
    };
    let graph = made(|graph| cuGraphCreate(graph, 0)).unwrap();
    let mut node = 0;
    with(&address, &1, &mut |kernel| {
        cuGraphAddKernelNode_v2(&mut node, graph, std::ptr::null(), 0, kernel).unwrap();
    });
    let executable = made(|executable| cuGraphInstantiateWithFlags(executable, graph, 0)).unwrap();
    cuGraphLaunch(executable, stream).unwrap();
    // The launch before the replacement keeps its parameters.
    with(&other, &5, &mut |kernel| cuGraphExecKernelNodeSetParams_v2(executable, node, kernel).unwrap());
    cuGraphLaunch(executable, stream).unwrap();
    cuGraphLaunch(executable, stream).unwrap();
    cuStreamSynchronize(stream).unwrap();
    assert_eq!((words(address, 1), words(other, 1)), (Ok(vec![1]), Ok(vec![10])));
}
