//! Assembles kernels with NVIDIA's assembler, and parses its report: registers, spills, shared
//! memory.

use std::path::Path;

use fusebox_compiler::{Assembler, AssemblerError};
use serde::Serialize;

/// Folder with the assembler that `setup.sh` has downloaded.
const FETCHED: &str = ".tools";

/// Resources of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KernelQuality {
    pub kernel: String,
    /// Number of registers of a thread.
    pub registers: u32,
    /// Number of bytes that the kernel and its callees spill from registers to memory.
    pub spill_stores: u32,
    /// Number of spilled bytes that the kernel and its callees load back from memory.
    pub spill_loads: u32,
    /// Number of bytes of a thread's stack.
    pub stack: u32,
    /// Bytes of shared memory of a block.
    pub shared: u32,
    /// Number of bytes of the widest read of global memory by one thread.
    pub widest_read: u32,
    /// Number of bytes of the widest write of global memory by one thread.
    pub widest_write: u32,
}

/// Largest numbers of registers, threads and blocks of a multiprocessor. The number of registers
/// that a warp gets is a multiple of `REGISTERS_AT_A_TIME`.
const REGISTERS: u32 = 65536;
const THREADS: u32 = 2048;
const BLOCKS: u32 = 32;
const REGISTERS_AT_A_TIME: u32 = 256;

impl KernelQuality {
    /// Returns how many threads can be resident on a multiprocessor if blocks have this size, as a
    /// fraction of the multiprocessor's limit. Registers, shared memory and the number of blocks
    /// limit the number of threads. The result is for data-centre GPUs with this compute capability
    /// (`80`, `90`).
    pub fn occupancy(&self, threads_per_block: u32, capability: u32) -> f64 {
        let shared = if capability >= 90 { 228 << 10 } else { 164 << 10 };
        let warps = threads_per_block.div_ceil(32).max(1);
        let registers = warps * (self.registers * 32).next_multiple_of(REGISTERS_AT_A_TIME);
        let by_registers = REGISTERS.checked_div(registers).unwrap_or(BLOCKS);
        // The system uses 1 KiB of shared memory per block.
        let by_shared = shared / (self.shared + (1 << 10));
        let blocks = by_registers.min(by_shared).min(BLOCKS).min(THREADS / (warps * 32));
        f64::from(blocks * warps * 32) / f64::from(THREADS)
    }
}

/// Assembles PTX for a target (`sm_90`). Returns the resources of each kernel, in the order of the
/// assembler's report.
///
/// # Errors
/// If there is no assembler, or the assembler rejects the code.
pub fn measure(ptx: &str, target: &str) -> Result<Vec<KernelQuality>, AssemblerError> {
    let mut kernels = parse_report(&assembler()?.assemble(ptx, target)?.report);
    for kernel in &mut kernels {
        (kernel.widest_read, kernel.widest_write) = widest_accesses(ptx, &kernel.kernel);
    }
    Ok(kernels)
}

/// Returns the assembler: that of the compiler, or else the one that `setup.sh` has downloaded.
///
/// # Errors
/// If there is no assembler.
pub fn assembler() -> Result<Assembler, AssemblerError> {
    Assembler::find(&[Path::new(FETCHED)])
}

fn parse_report(report: &str) -> Vec<KernelQuality> {
    let mut kernels: Vec<KernelQuality> = Vec::new();
    for line in report.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let kernel = rest.split('\'').next().unwrap_or_default().to_owned();
            kernels.push(KernelQuality { kernel, ..KernelQuality::default() });
        }
        let Some(kernel) = kernels.last_mut() else { continue };
        // `8 bytes stack frame, 4 bytes spill stores, …`; `Used 18 registers, used 1 barriers, 512
        // bytes smem`
        let parts = line.rsplit(": ").next().unwrap_or_default().split(", ");
        for (number, what) in parts.filter_map(|part| part.trim_start_matches("Used ").trim().split_once(' ')) {
            let Ok(number) = number.parse::<u32>() else { continue };
            match what {
                "registers" => kernel.registers = number,
                "bytes smem" => kernel.shared = number,
                "bytes stack frame" => kernel.stack += number,
                "bytes spill stores" => kernel.spill_stores += number,
                "bytes spill loads" => kernel.spill_loads += number,
                _ => {}
            }
        }
    }
    kernels
}

/// Returns the numbers of bytes of the widest read and of the widest write of global memory.
/// Considers only the kernel's body, not the functions that it calls.
fn widest_accesses(ptx: &str, kernel: &str) -> (u32, u32) {
    let start = format!(".entry {kernel}(");
    let mut lines = ptx.lines().skip_while(|line| !line.contains(&start)).take_while(|line| *line != "}");
    lines.by_ref().fold((0, 0), |(read, write), line| {
        let instruction = line.split_whitespace().find(|word| word.contains(".global")).unwrap_or_default();
        match instruction.split('.').next() {
            Some("ld") => (read.max(bytes_of(instruction)), write),
            Some("st") => (read, write.max(bytes_of(instruction))),
            _ => (read, write),
        }
    })
}

/// Returns how many bytes an instruction accesses, for example 16 for `ld.global.nc.v4.b32`.
fn bytes_of(instruction: &str) -> u32 {
    let parts = || instruction.split('.').skip(1);
    let number = |prefix: char| parts().find_map(|part| part.strip_prefix(prefix)?.parse::<u32>().ok());
    let bits = ['b', 'u', 's', 'f'].into_iter().find_map(number).unwrap_or(0);
    bits / 8 * number('v').unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read() {
        let report = "ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'a' for 'sm_90'
ptxas info    : Function properties for a
    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 48 registers, used 1 barriers, 8 bytes cumulative stack size, 512 bytes smem
ptxas info    : Function properties for a_$_callee
    0 bytes stack frame, 12 bytes spill stores, 4 bytes spill loads
ptxas info    : Compiling entry function 'b' for 'sm_90'
ptxas info    : Function properties for b
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 18 registers, used 0 barriers
";
        let kernels = parse_report(report);
        let (spill_stores, spill_loads) = (12, 4);
        let a = KernelQuality { registers: 48, spill_stores, spill_loads, stack: 8, shared: 512, ..named("a") };
        assert_eq!(kernels, [a, KernelQuality { registers: 18, ..named("b") }]);
    }

    #[test]
    fn what_is_scarcest_bounds_the_threads_at_work() {
        let of = |registers, shared, threads| KernelQuality { registers, shared, ..named("a") }.occupancy(threads, 90);
        assert_eq!([of(32, 0, 256), of(64, 0, 256), of(255, 0, 256)], [1.0, 0.5, 0.125]);
        assert_eq!([of(32, 47 << 10, 256), of(32, 0, 32)], [0.5, 0.5]);
    }

    fn named(kernel: &str) -> KernelQuality {
        KernelQuality { kernel: kernel.into(), ..KernelQuality::default() }
    }

    #[test]
    fn the_widest_access_of_each_kernel_is_found() {
        let ptx = ".visible .entry a(
{
	ld.global.nc.v4.b32 	{%r1, %r2, %r3, %r4}, [%rd1];
	@%p1 st.global.b16 	[%rd1], %rs1;
	st.global.v2.b64 	[%rd1], {%rd1, %rd2};
	ld.shared.v4.b64 	{%rd1}, [%rd1];
}
.visible .entry b(
{
	ld.global.b8 	%rs1, [%rd1];
}
";
        assert_eq!(widest_accesses(ptx, "a"), (16, 16));
        assert_eq!(widest_accesses(ptx, "b"), (1, 0));
    }
}
