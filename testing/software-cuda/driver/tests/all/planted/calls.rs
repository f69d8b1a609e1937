//! Faults of calls: streams, events, graphs, captures, modules, memory.

use std::ffi::{CString, c_void};

use super::Planted;
use crate::cuda::*;

const UNSUPPORTED: u32 = 900;
const UNJOINED: u32 = 904;
const ISOLATION: u32 = 905;
const INVALID_PTX: u32 = 218;

/// A kernel that adds one to a word, and one that writes a word of shared memory.
const PTX: &str = ".version 7.0\n.target sm_80\n.address_size 64\n.extern .shared .align 16 .b8 dynamic[];\n\
    .visible .entry add(.param .u64 a)\n.maxntid 64\n{\n.reg .b64 %a;\n.reg .b32 %b;\nld.param.u64 %a, [a];\n\
    ld.global.u32 %b, [%a];\nadd.u32 %b, %b, 1;\nst.global.u32 [%a], %b;\nret;\n}\n\
    .visible .entry last()\n{\nst.shared.u32 [dynamic+60], 5;\nret;\n}\n";

fn load(text: &str) -> Result<usize, u32> {
    let text = CString::new(text).unwrap();
    made(|module| cuModuleLoadDataEx(module, text.as_ptr(), 0, std::ptr::null(), std::ptr::null()))
}

fn function(module: usize, name: &str) -> usize {
    let name = CString::new(name).unwrap();
    made(|function| cuModuleGetFunction(function, module, name.as_ptr())).unwrap()
}

/// Launches the kernel `add` in one thread.
fn add(function: usize, address: u64, stream: usize) -> Result<(), u32> {
    let values: [*const c_void; 1] = [std::ptr::from_ref(&address).cast()];
    cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, values.as_ptr(), std::ptr::null())
}

/// Returns the address of a word that is zero.
fn zero() -> u64 {
    let address = allocate(4);
    fill(address, 0, 1, 0).unwrap();
    cuCtxSynchronize().unwrap();
    address
}

/// Executes a function in a new context, with the kernel `add`, the address of a zero, and two
/// streams.
fn with_streams(run: fn(usize, u64, [usize; 2]) -> Result<(), u32>) -> Result<(), u32> {
    let _context = Context::new();
    let add = function(load(PTX).unwrap(), "add");
    run(add, zero(), [stream(), stream()])
}

fn allocate_on(stream: usize) -> u64 {
    made(|address| cuMemAllocAsync(address, 4, stream)).unwrap()
}

fn graph() -> usize {
    made(|graph| cuGraphCreate(graph, 0)).unwrap()
}

fn add_fill(graph: usize, address: u64) -> usize {
    let fill = Fill::words(address, 1, 1);
    made(|node| cuGraphAddMemsetNode(node, graph, std::ptr::null(), 0, &fill, 0)).unwrap()
}

fn instantiate(graph: usize) -> Result<usize, u32> {
    made(|executable| cuGraphInstantiateWithFlags(executable, graph, 0))
}

/// A place of the kernel `add`: its first load, in line 11 of the PTX.
const AT_LOAD: &str = "in kernel add, block [0, 0, 0], thread [0, 0, 0], line 11 of the PTX: ld.global.u32 %b, [%a];";

const fn planted(
    name: &'static str,
    run: fn() -> Result<(), u32>,
    error: u32,
    report: &'static [&'static str],
) -> Planted {
    Planted { name, run, error, report }
}

pub const ALL: &[Planted] = &[
    planted(
        "kernels of two streams that update one word",
        || {
            with_streams(|function, address, [first, second]| {
                add(function, address, first)?;
                add(function, address, second)?;
                cuCtxSynchronize()
            })
        },
        LAUNCH_FAILED,
        &["race across streams", "is not ordered after a write by work", AT_LOAD],
    ),
    planted(
        "a wait for an event of another stream than the one that writes",
        || {
            with_streams(|function, address, [first, second]| {
                let (event, third) = (event(), stream());
                add(function, address, first)?;
                cuEventRecord(event, third)?;
                cuStreamWaitEvent(second, event, 0)?;
                add(function, address, second)?;
                cuCtxSynchronize()
            })
        },
        LAUNCH_FAILED,
        &["race across streams", AT_LOAD],
    ),
    planted(
        "a wait for an event that was recorded before the write",
        || {
            with_streams(|function, address, [first, second]| {
                let event = event();
                cuEventRecord(event, first)?;
                add(function, address, first)?;
                cuStreamWaitEvent(second, event, 0)?;
                add(function, address, second)?;
                cuCtxSynchronize()
            })
        },
        LAUNCH_FAILED,
        &["race across streams", AT_LOAD],
    ),
    planted(
        "a wait for an event before it is recorded",
        || {
            with_streams(|function, address, [first, second]| {
                let event = event();
                add(function, address, first)?;
                cuStreamWaitEvent(second, event, 0)?;
                cuEventRecord(event, first)?;
                add(function, address, second)?;
                cuCtxSynchronize()
            })
        },
        LAUNCH_FAILED,
        &["race across streams", AT_LOAD],
    ),
    planted(
        "a kernel that is launched after its memory was freed",
        || {
            with_streams(|function, address, [first, _]| {
                cuMemFree_v2(address)?;
                add(function, address, first)?;
                cuCtxSynchronize()
            })
        },
        ILLEGAL_ADDRESS,
        &["were freed: byte 0 of the 4 bytes", AT_LOAD],
    ),
    planted(
        "a kernel that is launched after an asynchronous free",
        || {
            with_streams(|function, address, [first, _]| {
                cuMemFreeAsync(address, first)?;
                add(function, address, first)?;
                cuCtxSynchronize()
            })
        },
        ILLEGAL_ADDRESS,
        &["were freed", AT_LOAD],
    ),
    planted(
        "an asynchronous free that is not ordered after a kernel",
        || {
            with_streams(|function, address, [first, second]| {
                add(function, address, first)?;
                cuMemFreeAsync(address, second)?;
                cuCtxSynchronize()
            })
        },
        LAUNCH_FAILED,
        &["race across streams", "a free by work", "during the free of"],
    ),
    planted(
        "a kernel that is not ordered after an asynchronous allocation",
        || {
            with_streams(|function, _, [first, second]| {
                let address = allocate_on(first);
                fill(address, 0, 1, first)?;
                add(function, address, second)?;
                cuCtxSynchronize()
            })
        },
        ILLEGAL_ADDRESS,
        &["is not ordered after their asynchronous allocation by work", AT_LOAD],
    ),
    planted(
        "an asynchronous free that is not ordered after the allocation",
        || {
            with_streams(|_, _, [first, second]| {
                cuMemFreeAsync(allocate_on(first), second)?;
                cuCtxSynchronize()
            })
        },
        ILLEGAL_ADDRESS,
        &["is not ordered after their asynchronous allocation", "during the free of"],
    ),
    planted(
        "memory that is freed twice",
        || {
            with_streams(|_, address, [first, _]| {
                cuMemFreeAsync(address, first)?;
                cuMemFreeAsync(address, first)?;
                cuCtxSynchronize()
            })
        },
        LAUNCH_FAILED,
        &["is freed, but is not the start of a live allocation", "during the free of"],
    ),
    planted(
        "a copy to the host of bytes that were never written",
        || {
            with_streams(|_, _, _| {
                let address = allocate(8);
                fill(address, 1, 1, 0)?;
                words(address, 2).map(|_| ())
            })
        },
        LAUNCH_FAILED,
        &["in global memory was never written", "during the copy"],
    ),
    planted(
        "a copy beyond the end of an allocation",
        || {
            with_streams(|_, address, [first, _]| {
                let other = allocate(8);
                fill(other, 1, 2, first)?;
                cuMemcpyDtoDAsync_v2(address, other, 8, first)?;
                cuCtxSynchronize()
            })
        },
        ILLEGAL_ADDRESS,
        &["8 bytes of global memory", "the nearest allocation has 4 bytes", "during the copy"],
    ),
    planted(
        "an address of a device where one of the host belongs",
        || with_streams(|_, address, _| cuMemcpyHtoD_v2(address, allocate(4) as *const u8, 4)),
        INVALID_VALUE,
        &[],
    ),
    planted(
        "a graph with the address of freed memory",
        || {
            with_streams(|function, address, [first, _]| {
                let values: [*const c_void; 1] = [std::ptr::from_ref(&address).cast()];
                let (graph, mut node) = (graph(), 0);
                cuGraphAddKernelNode_v2(&mut node, graph, std::ptr::null(), 0, &Kernel::new(function, &values))?;
                let executable = instantiate(graph)?;
                cuGraphLaunch(executable, first)?;
                cuStreamSynchronize(first)?;
                cuMemFree_v2(address)?;
                let _other = allocate(4);
                cuGraphLaunch(executable, first)?;
                cuStreamSynchronize(first)
            })
        },
        ILLEGAL_ADDRESS,
        &["were freed", AT_LOAD],
    ),
    planted(
        "a graph whose nodes write one word without an edge",
        || {
            with_streams(|_, address, [first, _]| {
                let graph = graph();
                add_fill(graph, address);
                add_fill(graph, address);
                cuGraphLaunch(instantiate(graph)?, first)?;
                cuStreamSynchronize(first)
            })
        },
        LAUNCH_FAILED,
        &["race across streams", "during the fill"],
    ),
    planted(
        "a graph that is updated at a node of another graph",
        || {
            with_streams(|_, address, _| {
                let (graph, other) = (graph(), graph());
                add_fill(graph, address);
                let executable = instantiate(graph)?;
                add_fill(other, address);
                let node = add_fill(other, address);
                cuGraphExecMemsetNodeSetParams(executable, node, &Fill::words(address, 2, 1), 0)
            })
        },
        INVALID_VALUE,
        &[],
    ),
    planted(
        "a graph that is updated by one with another number of nodes",
        || {
            with_streams(|_, address, _| {
                let (graph, other) = (graph(), graph());
                add_fill(graph, address);
                let executable = instantiate(graph)?;
                add_fill(other, address);
                add_fill(other, address);
                cuGraphExecUpdate_v2(executable, other, &mut Updated::default())
            })
        },
        910,
        &[],
    ),
    planted(
        "a call that waits for a stream that is captured",
        || {
            with_streams(|_, _, [first, _]| {
                cuStreamBeginCapture_v2(first, 2)?;
                cuStreamSynchronize(first)
            })
        },
        UNSUPPORTED,
        &[],
    ),
    planted(
        "a capture with a branch that is not joined",
        || {
            with_streams(|function, address, [first, second]| {
                let event = event();
                cuStreamBeginCapture_v2(first, 2)?;
                cuEventRecord(event, first)?;
                cuStreamWaitEvent(second, event, 0)?;
                add(function, address, second)?;
                made(|graph| cuStreamEndCapture(first, graph)).map(|_| ())
            })
        },
        UNJOINED,
        &[],
    ),
    planted(
        "a capture that waits for work outside",
        || {
            with_streams(|_, _, [first, second]| {
                let event = event();
                cuEventRecord(event, second)?;
                cuStreamBeginCapture_v2(first, 2)?;
                cuStreamWaitEvent(first, event, 0)
            })
        },
        ISOLATION,
        &[],
    ),
    planted(
        "parameters of the wrong size",
        || {
            with_streams(|function, address, _| {
                let (bytes, size) = (address.to_le_bytes(), 4usize);
                let extra: [*const c_void; 5] = [
                    std::ptr::without_provenance(1),
                    bytes.as_ptr().cast(),
                    std::ptr::without_provenance(2),
                    std::ptr::from_ref(&size).cast(),
                    std::ptr::null(),
                ];
                cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, std::ptr::null(), extra.as_ptr())
            })
        },
        INVALID_VALUE,
        &[],
    ),
    planted(
        "a launch without the kernel's parameters",
        || {
            with_streams(|function, _, _| {
                cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, std::ptr::null(), std::ptr::null())
            })
        },
        INVALID_VALUE,
        &[],
    ),
    planted(
        "a launch with more threads than the kernel allows",
        || {
            with_streams(|function, address, _| {
                let values: [*const c_void; 1] = [std::ptr::from_ref(&address).cast()];
                cuLaunchKernel(function, 1, 1, 1, 65, 1, 1, 0, 0, values.as_ptr(), std::ptr::null())
            })
        },
        INVALID_VALUE,
        &[],
    ),
    planted(
        "a launch with too little shared memory",
        || {
            with_streams(|_, _, _| {
                let last = function(load(PTX)?, "last");
                cuLaunchKernel(last, 1, 1, 1, 1, 1, 1, 32, 0, std::ptr::null(), std::ptr::null())?;
                cuCtxSynchronize()
            })
        },
        ILLEGAL_ADDRESS,
        &[
            "the block has 32 bytes of shared memory",
            "in kernel last",
            "line 18 of the PTX: st.shared.u32 [dynamic+60], 5;",
        ],
    ),
    planted(
        "a launch with more shared memory than usual without the attribute",
        || {
            with_streams(|_, _, _| {
                let last = function(load(PTX)?, "last");
                cuLaunchKernel(last, 1, 1, 1, 1, 1, 1, 50 << 10, 0, std::ptr::null(), std::ptr::null())
            })
        },
        INVALID_VALUE,
        &[],
    ),
    planted(
        "a module that is unloaded before its kernel is executed",
        || {
            with_streams(|_, address, [first, _]| {
                let module = load(PTX)?;
                add(function(module, "add"), address, first)?;
                cuModuleUnload(module)?;
                cuStreamSynchronize(first)
            })
        },
        LAUNCH_FAILED,
        &["during the launch of kernel add"],
    ),
    planted(
        "a kernel of a module that was unloaded",
        || {
            with_streams(|_, address, [first, _]| {
                let module = load(PTX)?;
                let function = function(module, "add");
                cuModuleUnload(module)?;
                add(function, address, first)
            })
        },
        INVALID_HANDLE,
        &[],
    ),
    planted(
        "an event that was destroyed",
        || {
            with_streams(|_, _, [first, _]| {
                let event = event();
                cuEventDestroy_v2(event)?;
                cuEventRecord(event, first)
            })
        },
        INVALID_HANDLE,
        &[],
    ),
    planted(
        "a register of the wrong type",
        || with_streams(|_, _, _| load(&PTX.replace(".reg .b32 %b;", ".reg .b16 %b;")).map(|_| ())),
        INVALID_PTX,
        &["the module cannot be loaded: line 11: %b is declared as B(16), which does not fit B(32)"],
    ),
    planted(
        "a module that needs a newer version of PTX",
        || with_streams(|_, _, _| load(&PTX.replace("sm_80", "sm_90")).map(|_| ())),
        INVALID_PTX,
        &["line 2: the target sm_90 needs PTX 7.8"],
    ),
];
