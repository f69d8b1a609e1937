//! Checks which targets have tile registers, and the code of tile products.

use crate::jit::{KernelSource, compile, contains_in_order, source, stages_of};
use fusebox_core::builder::{FunctionBuilder, Scalar, Type};
use fusebox_lowering::{NoStages, Stage, Target};

/// Number of products that are accumulated in one tile. They are too many to unroll.
const PARTS: i64 = 6;

/// Returns a kernel that multiplies `[16, PARTS * steps]` by `[PARTS * groups, columns]`. Each tile
/// product multiplies `steps` columns of the left operand. The right operand interleaves groups of
/// elements of a column. A group has 32 bits. A row of a tile has 64 bytes. The tiles of the right
/// operand have `groups` rows.
fn product(element: Scalar, is_unsigned: [bool; 2], groups: i64) -> KernelSource {
    let (columns, sum) = if element == Scalar::I8 { (64, Scalar::I32) } else { (32, Scalar::F32) };
    let steps = columns / 16 * groups;
    let left = Type::tensor(&[16, PARTS * steps], element);
    let right = Type::tensor(&[PARTS * groups, columns], element);
    let mut b = FunctionBuilder::new("product");
    let [left, right, output] = [left, right, Type::tensor(&[16, 16], sum)].map(|ty| b.argument(ty));
    let (zero, parts, one) = (b.index(0), b.index(PARTS), b.index(1));
    let (columns_of_part, rows) = (b.index(steps), b.index(groups));
    let start = b.tile_zero([16, 16], sum);
    let sums = b.scf_for(zero, parts, one, &[start], |b, part, sums| {
        let (step, group) = (b.muli(part, columns_of_part), b.muli(part, rows));
        let x = b.read_tile(left, &[zero, step], [16, steps]);
        let y = b.read_tile(right, &[group, zero], [groups, columns]);
        vec![match sum {
            Scalar::F32 => b.tile_mulf(x, y, sums[0]),
            _ => b.tile_muli(x, y, sums[0], is_unsigned),
        }]
    });
    let written = b.write_tile(sums[0], output, &[zero, zero]);
    b.ret(&[written]);
    let bytes = (64 * PARTS * groups) as u64;
    source("product", &b.finish().unwrap().to_string(), &[bytes, bytes, 1024], 1, 1, 1)
}

/// Checks LLVM's intrinsics and the processor's instructions.
#[test]
fn loops_carry_tiles_in_registers() {
    let available = Target::cpu().tile_products();
    for (element, is_unsigned, name, is_available) in [
        (Scalar::BF16, [false, false], "tdpbf16ps", available.bf16),
        (Scalar::I8, [false, false], "tdpbssd", available.int8),
        (Scalar::I8, [false, true], "tdpbsud", available.int8),
        (Scalar::I8, [true, false], "tdpbusd", available.int8),
        (Scalar::I8, [true, true], "tdpbuud", available.int8),
    ] {
        let kernel = product(element, is_unsigned, 16);
        if !is_available {
            let refused = compile(&[kernel], &Target::cpu(), &mut NoStages).unwrap_err().to_string();
            assert!(refused.contains("the target has no"), "{refused}");
            continue;
        }
        let (_, stages) = stages_of(&kernel, &Target::cpu()).unwrap();
        let written = [
            "x86_amx @llvm.x86.tilezero.internal(i16 16, i16 64)",
            "phi x86_amx",
            "x86_amx @llvm.x86.tileloadd64.internal(i16 16, i16 64, ptr %",
            "x86_amx @llvm.x86.tileloadd64.internal(i16 16, i16 64, ptr %",
            &format!("x86_amx @llvm.x86.{name}.internal(i16 16, i16 64, i16 64, x86_amx"),
            "void @llvm.x86.tilestored64.internal(i16 16, i16 64, ptr %",
        ];
        contains_in_order(stages.get(Stage::LlvmUnoptimized), &written);
        let assembly = stages.get(Stage::Assembly);
        contains_in_order(assembly, &["ldtilecfg", "tilezero", "tileloadd", name, "tilestored", "tilerelease"]);
        // The code must configure the registers only once and must not spill a tile.
        for once in ["ldtilecfg", "tilestored"] {
            assert_eq!(assembly.matches(once).count(), 1, "{once} in\n{assembly}");
        }
    }
}

#[test]
fn other_targets_have_none() {
    for name in ["cpu,-amx", "simt", "sm_90", "gfx942"] {
        let target = Target::named(name).unwrap();
        for element in [Scalar::BF16, Scalar::I8] {
            let refused = compile(&[product(element, [false; 2], 16)], &target, &mut NoStages).unwrap_err().to_string();
            assert!(refused.contains("has no tile registers"), "{name}: {refused}");
        }
    }
}

/// Checks that tiles of two shapes are refused. LLVM would run out of registers of one shape.
#[test]
fn tiles_of_two_shapes_are_refused() {
    if !Target::cpu().tile_products().bf16 {
        eprintln!("skipped: this processor has no tile registers");
        return;
    }
    let kernel = product(Scalar::BF16, [false; 2], 8);
    let refused = compile(&[kernel], &Target::cpu(), &mut NoStages).unwrap_err().to_string();
    assert!(refused.contains("tile registers of a kernel must have equal numbers of rows"), "{refused}");
}
