//! Checks which targets have word products in vector registers, and the code of these products.

use crate::jit::{KernelSource, compile, contains_in_order, source, stages_of};
use fusebox_core::builder::{FunctionBuilder, Scalar, Type};
use fusebox_lowering::{NoStages, Stage, Target};

/// Returns a kernel that updates `words` sums. It adds a word product to each sum. The factors are
/// a word of the left operand, which is broadcast to all lanes, and a word of the right operand.
fn product(element: Scalar, is_unsigned: [bool; 2], words: i64) -> KernelSource {
    let (group, sum) = if element == Scalar::I8 { (4, Scalar::I32) } else { (2, Scalar::F32) };
    let mut b = FunctionBuilder::new("product");
    let arguments = [(group, element), (words * group, element), (words, sum)];
    let [left, right, output] = arguments.map(|(size, element)| b.argument(Type::tensor(&[size], element)));
    let zero = b.index(0);
    let word = b.vector_read(left, &[zero], group);
    let lanes: Vec<i64> = (0..words).flat_map(|_| 0..group).collect();
    let word = b.vector_shuffle(word, word, &lanes);
    let row = b.vector_read(right, &[zero], words * group);
    let sums = b.vector_read(output, &[zero], words);
    let sums = match sum {
        Scalar::F32 => b.word_mulf(word, row, sums),
        _ => b.word_muli(word, row, sums, is_unsigned),
    };
    let written = b.vector_write(sums, output, &[zero]);
    b.ret(&[written]);
    let bytes = 4 * words as u64;
    source("product", &b.finish().unwrap().to_string(), &[4, bytes, bytes], 1, 1, 1)
}

/// Checks that one instruction broadcasts a word from memory, and that another instruction
/// multiplies this word.
#[test]
fn words_are_multiplied_in_registers() {
    let available = Target::cpu().word_products();
    for (element, is_unsigned, intrinsic, instruction, is_available) in [
        (Scalar::BF16, [false, false], "llvm.x86.avx512bf16.dpbf16ps.512", "vdpbf16ps", available.bf16),
        (Scalar::I8, [true, false], "llvm.x86.avx512.vpdpbusd.512", "vpdpbusd", available.int8),
        (Scalar::I8, [false, true], "llvm.x86.avx512.vpdpbusd.512", "vpdpbusd", available.int8),
    ] {
        let kernel = product(element, is_unsigned, 16);
        if !is_available {
            let refused = compile(&[kernel], &Target::cpu(), &mut NoStages).unwrap_err().to_string();
            assert!(refused.contains("the target has no instruction for it"), "{refused}");
            continue;
        }
        let (_, stages) = stages_of(&kernel, &Target::cpu()).unwrap();
        contains_in_order(stages.get(Stage::LlvmUnoptimized), &[intrinsic]);
        contains_in_order(stages.get(Stage::Assembly), &["broadcast", instruction]);
    }
}

#[test]
fn what_no_instruction_does_is_refused() {
    let refused =
        |kernel: KernelSource, target: &Target| compile(&[kernel], target, &mut NoStages).unwrap_err().to_string();
    for is_unsigned in [[false; 2], [true; 2]] {
        let refused = refused(product(Scalar::I8, is_unsigned, 16), &Target::cpu());
        assert!(refused.contains("two signed or two unsigned bytes"), "{refused}");
    }
    for (name, words) in [("cpu", 8), ("simt", 16), ("sm_90", 16), ("gfx942", 16)] {
        for element in [Scalar::BF16, Scalar::I8] {
            let refused = refused(product(element, [true, false], words), &Target::named(name).unwrap());
            assert!(refused.contains("the target has no instruction for it"), "{name}: {refused}");
        }
    }
}
