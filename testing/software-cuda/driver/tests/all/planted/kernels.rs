//! Faults of kernels.

use std::ffi::{CString, c_void};

use crate::cuda::*;

/// A kernel with a fault at the line with `// here`.
pub struct Faulty {
    /// Name of the fault, as in the list of the document.
    pub name: &'static str,
    pub registers: &'static str,
    /// Statements that end in `; `. `%p0` is the address of 1024 bytes that are zero, `%p1` of 1024
    /// bytes that are never written, `%tx` the number of the thread, `%gid` its number in the grid.
    pub body: &'static str,
    pub error: u32,
    /// A part of the report.
    pub report: &'static str,
    /// The block and the thread that are reported.
    pub place: (u32, u32),
}

const MISALIGNED: u32 = 716;
const ASSERT: u32 = 710;

/// The own place in a tile of 64 words.
const TILE: &str = ".shared .align 16 .b8 tile[256];";
/// The tile and a barrier of 64 arrivals, which threads wait for by their state.
const GATE: &str = ".shared .align 16 .b8 tile[256]; .shared .align 8 .b64 gate;";

impl Faulty {
    /// Returns the text of the module.
    pub fn text(&self) -> String {
        let body = self.body.replace("; //", ";//").replace("; ", ";\n");
        format!(
            ".version 8.7\n.target sm_90a\n.address_size 64\n\
             .visible .entry planted(.param .u64 a, .param .u64 b)\n{{\n\
             .reg .b64 %p<2>, %l, %m, %n, %s;\n.reg .b32 %a, %b, %c, %t0, %t1, %gid, %tx, %r<8>;\n\
             .reg .f32 %f<4>;\n.reg .pred %q, %one;\n{}\n\
             ld.param.u64 %p0, [a];\nld.param.u64 %p1, [b];\nmov.u32 %tx, %tid.x;\nmov.u32 %t0, %ctaid.x;\n\
             mov.u32 %t1, %ntid.x;\nmad.lo.u32 %gid, %t0, %t1, %tx;\nsetp.eq.u32 %one, %tx, 0;\n\
             mul.wide.u32 %m, %tx, 4;\n{}\n{body}\nret;\n}}\n",
            self.registers,
            if self.registers.contains("tile") { "mov.b64 %l, tile;\nadd.u64 %l, %l, %m;" } else { "" }
        )
    }

    /// Executes the kernel in two blocks of 64 threads.
    pub fn run(&self) -> Result<(), u32> {
        let _context = Context::new();
        let text = CString::new(self.text()).unwrap();
        let module = made(|it| cuModuleLoadDataEx(it, text.as_ptr(), 0, std::ptr::null(), std::ptr::null()))?;
        let function = made(|it| cuModuleGetFunction(it, module, c"planted".as_ptr()))?;
        let (zeros, unwritten) = (allocate(1024), allocate(1024));
        fill(zeros, 0, 256, 0)?;
        let values: [*const c_void; 2] = [std::ptr::from_ref(&zeros).cast(), std::ptr::from_ref(&unwritten).cast()];
        cuLaunchKernel(function, 2, 1, 1, 64, 1, 1, 0, 0, values.as_ptr(), std::ptr::null())?;
        cuCtxSynchronize()
    }
}

const fn faulty(
    name: &'static str,
    registers: &'static str,
    body: &'static str,
    (error, report): (u32, &'static str),
    place: (u32, u32),
) -> Faulty {
    Faulty { name, registers, body, error, report, place }
}

pub const ALL: &[Faulty] = &[
    faulty(
        "a missing barrier between a write and a read of shared memory",
        TILE,
        "st.shared.u32 [%l], 0; bar.sync 0; xor.b32 %a, %tx, 32; mul.wide.u32 %n, %a, 4; mov.b64 %s, tile; \
         add.u64 %s, %s, %n; st.shared.u32 [%l], %tx; // here\nld.shared.u32 %a, [%s];",
        (LAUNCH_FAILED, "race in shared memory"),
        (0, 32),
    ),
    faulty(
        "two threads that write one word of shared memory",
        TILE,
        "st.shared.u32 [tile], %tx; // here\n",
        (LAUNCH_FAILED, "a write by this thread and a write by thread 0 of block 0 are not ordered"),
        (0, 1),
    ),
    faulty(
        "two threads of a block that write one word of global memory",
        "",
        "st.global.u32 [%p0], %tx; // here\n",
        (LAUNCH_FAILED, "race in global memory"),
        (0, 1),
    ),
    faulty(
        "two blocks that write one word of global memory",
        "",
        "@%one st.global.u32 [%p0], %gid; // here\n",
        (LAUNCH_FAILED, "race in global memory"),
        (1, 0),
    ),
    faulty(
        "an atomic access and a plain write of one word",
        "",
        "@!%one red.global.add.u32 [%p0], 1; @%one st.global.u32 [%p0], 7; // here\n",
        (LAUNCH_FAILED, "race in global memory"),
        (0, 0),
    ),
    faulty(
        "a read through the read-only cache of memory that the kernel writes",
        "",
        "add.u64 %l, %p0, %m; setp.eq.u32 %q, %t0, 0; @%q st.global.u32 [%l], 1; \
         @%q ld.global.nc.u32 %a, [%l]; // here\n",
        (LAUNCH_FAILED, "race in global memory"),
        (0, 0),
    ),
    faulty(
        "a read of shared memory that was never written",
        TILE,
        "ld.shared.u32 %a, [%l]; // here\nst.global.u32 [%p1], %a;",
        (LAUNCH_FAILED, "the byte at 0x400 in shared memory was never written"),
        (0, 0),
    ),
    faulty(
        "a read of global memory that was never written",
        "",
        "ld.global.u32 %a, [%p1+8]; // here\nst.global.u32 [%p1], %a;",
        (LAUNCH_FAILED, "in global memory was never written"),
        (0, 0),
    ),
    faulty(
        "a read of local memory that was never written",
        ".local .b32 depot[2];",
        "ld.local.u32 %a, [depot+4]; // here\n",
        (LAUNCH_FAILED, "the byte at 0x4 in local memory was never written"),
        (0, 0),
    ),
    faulty(
        "a read of a register that some threads have not written",
        "",
        "setp.lt.u32 %q, %tx, 5; @%q mov.u32 %a, 1; add.u32 %b, %a, 1; // here\n",
        (LAUNCH_FAILED, "register %a is read before it is written"),
        (0, 5),
    ),
    faulty(
        "an access one element beyond an array in global memory",
        "",
        "mul.wide.u32 %m, %gid, 8; add.u64 %l, %p0, %m; st.global.u32 [%l+8], %tx; // here\n",
        (ILLEGAL_ADDRESS, "the nearest allocation has 1024 bytes"),
        (1, 63),
    ),
    faulty(
        "an access one element beyond an array in shared memory",
        TILE,
        "st.shared.u32 [%l+4], %tx; // here\n",
        (ILLEGAL_ADDRESS, "the block has 256 bytes of shared memory"),
        (0, 63),
    ),
    faulty(
        "an access one element beyond an array in local memory",
        ".local .b32 depot[2];",
        "st.local.u32 [depot+8], %tx; // here\n",
        (ILLEGAL_ADDRESS, "a thread has 8 bytes of local memory"),
        (0, 0),
    ),
    faulty(
        "an access through a null pointer",
        "",
        "mov.b64 %l, 0; ld.global.u32 %a, [%l+16]; // here\n",
        (ILLEGAL_ADDRESS, "no allocation has a smaller address"),
        (0, 0),
    ),
    faulty(
        "a vector access at an address of a single element",
        "",
        "add.u64 %l, %p0, %m; ld.global.v2.f32 {%f0, %f1}, [%l]; // here\n",
        (MISALIGNED, "in global memory is not a multiple of 8"),
        (0, 1),
    ),
    faulty(
        "an access to shared memory at an odd address",
        TILE,
        "st.shared.u32 [tile+2], %tx; // here\n",
        (MISALIGNED, "in shared memory is not a multiple of 4"),
        (0, 0),
    ),
    faulty(
        "a barrier that some threads of a warp do not reach",
        "",
        "setp.lt.u32 %q, %tx, 8; @%q bra E; bar.sync 0; // here\nE:",
        (LAUNCH_FAILED, "only 24 threads of the warp execute the barrier"),
        (0, 8),
    ),
    faulty(
        "a barrier that some warps do not reach",
        "",
        "setp.lt.u32 %q, %tx, 32; @%q bra E; bar.sync 0; // here\nE:",
        (LAUNCH_FAILED, "barrier 0 is reached by 1 of 2 warps"),
        (0, 32),
    ),
    faulty(
        "a barrier for a number of threads that is no multiple of a warp",
        "",
        "bar.sync 0, 48; // here\n",
        (LAUNCH_FAILED, "48 threads of a barrier are no multiple of 32"),
        (0, 0),
    ),
    faulty(
        "a shuffle from a lane that does not take part",
        "",
        "setp.lt.u32 %q, %tx, 8; @%q shfl.sync.down.b32 %a, %tx, 1, 31, 0xff; // here\n",
        (LAUNCH_FAILED, "shfl reads from lane 8, which does not execute it"),
        (0, 7),
    ),
    faulty(
        "a shuffle whose mask names lanes that do not take part",
        "",
        "setp.lt.u32 %q, %tx, 8; @%q shfl.sync.bfly.b32 %a, %tx, 1, 31, -1; // here\n",
        (LAUNCH_FAILED, "names lanes that do not execute it: 0xffffff00"),
        (0, 0),
    ),
    faulty(
        "a product of matrices that some lanes do not execute",
        "",
        "setp.lt.u32 %q, %tx, 8; mov.u32 %r0, 0; mov.f32 %f0, 0f00000000; @%q mma.sync.aligned.m16n8k8.row.col.\
         f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r0}, {%r0}, {%f0,%f0,%f0,%f0}; // here\n",
        (LAUNCH_FAILED, "all lanes must execute this instruction together"),
        (0, 8),
    ),
    faulty(
        "a read of an asynchronous copy whose group is not complete",
        TILE,
        "add.u64 %m, %m, %p0; cp.async.ca.shared.global [%l], [%m], 4; cp.async.commit_group; \
         cp.async.wait_group 1; ld.shared.u32 %a, [%l]; // here\ncp.async.wait_all;",
        (LAUNCH_FAILED, "in shared memory was never written"),
        (0, 0),
    ),
    faulty(
        "a read of an asynchronous copy that belongs to no group",
        TILE,
        "add.u64 %m, %m, %p0; cp.async.ca.shared.global [%l], [%m], 4; cp.async.wait_group 0; \
         ld.shared.u32 %a, [%l]; // here\ncp.async.wait_all;",
        (LAUNCH_FAILED, "in shared memory was never written"),
        (0, 0),
    ),
    faulty(
        "a thread that ends before its asynchronous copy",
        TILE,
        "add.u64 %m, %m, %p0; cp.async.ca.shared.global [%l], [%m], 4; ret; // here\n",
        (LAUNCH_FAILED, "the thread ends without waiting for its cp.async"),
        (0, 0),
    ),
    faulty(
        "more arrivals at a barrier in shared memory than it expects",
        GATE,
        "@%one mbarrier.init.shared.b64 [gate], 32; bar.sync 0; mbarrier.arrive.shared.b64 %s, [gate], 33; // here\n",
        (LAUNCH_FAILED, "needs 32 more"),
        (0, 0),
    ),
    faulty(
        "a barrier in shared memory that was not initialised",
        GATE,
        "mbarrier.arrive.shared.b64 %s, [gate]; // here\n",
        (LAUNCH_FAILED, "no barrier was initialised"),
        (0, 0),
    ),
    faulty(
        "a barrier in shared memory that is initialised twice",
        GATE,
        "mbarrier.init.shared.b64 [gate], 64; // here\n",
        (LAUNCH_FAILED, "is initialised twice"),
        (0, 1),
    ),
    faulty(
        "an integer that is divided by zero",
        "",
        "sub.u32 %a, %tx, 3; div.u32 %b, %tx, %a; // here\n",
        (LAUNCH_FAILED, "an integer is divided by zero"),
        (0, 3),
    ),
    faulty(
        "an index beyond the targets of a branch",
        "",
        "T: .branchtargets A, A;\nbrx.idx %tx, T; // here\nA: mov.u32 %a, 0;",
        (LAUNCH_FAILED, "index 2 of brx.idx is beyond its 2 targets"),
        (0, 2),
    ),
    faulty("a trap", "", "@%one trap; // here\n", (ASSERT, "trap"), (0, 0)),
];
