//! The answers of a processor without AVX-512.

use std::arch::x86_64::{__cpuid_count, CpuidResult};

/// The two bytes of the instruction CPUID.
pub const CPUID: [u8; 2] = [0x0f, 0xa2];

/// Bits that are cleared in the answer of one leaf. Intel's *Software Developer's Manual*, volume
/// 2A, lists the leaves at the instruction CPUID.
struct Cleared {
    /// Values of EAX and ECX.
    leaf: [u32; 2],
    eax: u32,
    ebx: u32,
    ecx: u32,
    edx: u32,
}

const ALL: u32 = u32::MAX;

const CLEARED: &[Cleared] = &[
    Cleared {
        leaf: [7, 0],
        eax: 0,
        // AVX512F, DQ, IFMA, PF, ER, CD, BW, VL.
        ebx: bits(&[16, 17, 21, 26, 27, 28, 30, 31]),
        // AVX512_VBMI, VBMI2, GFNI, VNNI, BITALG, VPOPCNTDQ.
        ecx: bits(&[1, 6, 8, 11, 12, 14]),
        // AVX512_4VNNIW, 4FMAPS, VP2INTERSECT, AMX-BF16, AVX512_FP16, AMX-TILE, AMX-INT8.
        edx: bits(&[2, 3, 8, 22, 23, 24, 25]),
    },
    Cleared {
        leaf: [7, 1],
        // AVX-VNNI, AVX512_BF16, AMX-FP16, AVX-IFMA.
        eax: bits(&[4, 5, 21, 23]),
        ebx: 0,
        ecx: 0,
        // AVX-VNNI-INT8, AVX-NE-CONVERT, AMX-COMPLEX, AVX-VNNI-INT16, AVX10.
        edx: bits(&[4, 5, 8, 10, 19]),
    },
    // State of mask registers, of 512-bit registers and of tiles.
    Cleared { leaf: [0xd, 0], eax: bits(&[5, 6, 7, 17, 18]), ebx: 0, ecx: 0, edx: 0 },
    // Tiles, their products, and AVX10.
    Cleared { leaf: [0x1d, 0], eax: ALL, ebx: ALL, ecx: ALL, edx: ALL },
    Cleared { leaf: [0x1d, 1], eax: ALL, ebx: ALL, ecx: ALL, edx: ALL },
    Cleared { leaf: [0x1e, 0], eax: ALL, ebx: ALL, ecx: ALL, edx: ALL },
    Cleared { leaf: [0x24, 0], eax: ALL, ebx: ALL, ecx: ALL, edx: ALL },
];

const fn bits(positions: &[u32]) -> u32 {
    let (mut mask, mut at) = (0, 0);
    while at < positions.len() {
        mask |= 1 << positions[at];
        at += 1;
    }
    mask
}

/// Executes the instruction with these values in EAX and ECX, and clears bits in its result.
pub fn answer(leaf: [u32; 2]) -> CpuidResult {
    let mut answer = __cpuid_count(leaf[0], leaf[1]);
    for cleared in CLEARED.iter().filter(|cleared| cleared.leaf == leaf) {
        answer.eax &= !cleared.eax;
        answer.ebx &= !cleared.ebx;
        answer.ecx &= !cleared.ecx;
        answer.edx &= !cleared.edx;
    }
    answer
}
