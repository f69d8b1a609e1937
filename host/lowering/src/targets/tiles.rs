//! Writes products of tiles in shared memory by `wgmma`, an instruction of NVIDIA's sm_90a. LLVM
//! has no intrinsic for `wgmma`.
//!
//! A tile consists of squares of 128 bytes without swizzling. A square has 8 lines by 8 steps. A
//! line is a row of the left operand or a column of the right operand; steps run along the
//! contracted dimension. A descriptor has the tile's address and the distances between squares.
//! Squares that are adjacent across lines are contiguous in memory. The distance between squares
//! that are adjacent along steps is a variable stride. (PTX manual, asynchronous warpgroup-level
//! matrix instructions.)

use fusebox_core::ir::{Float, GROUP_STEPS, TILE_SQUARE};

use super::{TileCode, TileProduct};
use crate::llvm::{Module, Op, Val};

pub(super) const CODE: TileCode = TileCode { ready, product };

/// Bytes of a square.
const SQUARE_BYTES: i64 = TILE_SQUARE * TILE_SQUARE * 2;
/// Mask of the address bits that a descriptor holds. The descriptor has the address in units of 16
/// bytes.
const ADDRESS_MASK: i64 = 0x3ffff;
const UNIT_BITS: i64 = 4;
/// Positions, in bits, of the two distances that a descriptor contains: the distance between
/// squares adjacent along steps, and the distance between squares adjacent across lines.
const STEPS_AT: i64 = 16;
const LINES_AT: i64 = 32;

/// Makes earlier stores visible to `wgmma`. `wgmma` accesses shared memory through another path
/// than loads and stores do.
fn ready(llvm: &Module) {
    llvm.call_assembly("fence.proxy.async.shared::cta;", "~{memory}", llvm.void(), &[]);
}

fn product(llvm: &Module, product: &TileProduct, places: [Val; 2], sums: &[Val]) -> Vec<Val> {
    let count = sums.len();
    let instructions = product.steps / GROUP_STEPS;
    let starts = [0, 1].map(|side| descriptor(llvm, places[side], product.strides[side]));
    // Each instruction covers two squares along steps.
    let further = |side: usize, number: i64| {
        let bytes = number * GROUP_STEPS / TILE_SQUARE * product.strides[side];
        llvm.binary(Op::LLVMAdd, starts[side], llvm.const_int(llvm.int(64), bytes >> UNIT_BITS))
    };
    let descriptors: Vec<Val> = (0..instructions).flat_map(|number| [further(0, number), further(1, number)]).collect();
    let element = if product.element == Float::F16 { "f16" } else { "bf16" };
    let turned = product.along_steps.map(|along_steps| i64::from(!along_steps));
    let all: Vec<String> = (0..count).map(|number| format!("${number}")).collect();
    let mut text = "{\n.reg .pred p;\nsetp.eq.u32 p, 0, 0;\nwgmma.fence.sync.aligned;\n".to_owned();
    for number in 0..instructions as usize {
        let (left, right) = (count + 2 * number, count + 2 * number + 1);
        text += &format!(
            "wgmma.mma_async.sync.aligned.m64n{}k16.f32.{element}.{element} {{{}}}, ${left}, ${right}, p, 1, 1, {}, {};\n",
            product.columns,
            all.join(", "),
            turned[0],
            turned[1]
        );
    }
    text += "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n}";
    let mut constraints = vec!["=f".to_owned(); count];
    constraints.extend(vec!["l".to_owned(); descriptors.len()]);
    constraints.extend((0..count).map(|number| number.to_string()));
    constraints.push("~{memory}".into());
    let types: Vec<_> = sums.iter().map(|&sum| llvm.type_of(sum)).collect();
    let arguments = [descriptors.as_slice(), sums].concat();
    let results = llvm.call_assembly(&text, &constraints.join(","), llvm.structure(&types), &arguments);
    (0..count).map(|number| llvm.field(results, number)).collect()
}

/// Writes the descriptor of a tile from its address and its stride along steps.
fn descriptor(llvm: &Module, place: Val, stride: i64) -> Val {
    let long = llvm.int(64);
    let constant = |value: i64| llvm.const_int(long, value);
    let address = llvm.cast(Op::LLVMPtrToInt, place, long);
    let address = llvm.binary(Op::LLVMAnd, address, constant(ADDRESS_MASK));
    let address = llvm.binary(Op::LLVMLShr, address, constant(UNIT_BITS));
    let apart = stride >> UNIT_BITS << STEPS_AT | SQUARE_BYTES >> UNIT_BITS << LINES_AT;
    llvm.binary(Op::LLVMOr, address, constant(apart))
}
