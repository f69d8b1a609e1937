//! The lowering `mlir`: it computes the same bits as fusebox's own writer, and refuses operations
//! and targets that it does not have.

use fusebox_core::builder::{FunctionBuilder, Scalar, Type};
use fusebox_lowering::{Lowering, LoweringError, NoStages, Stage, Target, lower, read_kernel};

use crate::jit::{self, Buffer, KernelSource, source};

/// Lowers a kernel of the last stage by MLIR's conversions.
fn lowered(text: &str, target: Target, to: Stage) -> Result<String, LoweringError> {
    lower(&read_kernel("k", text, None).unwrap(), &target.with_lowering(Lowering::Mlir), Stage::Scalars, to, &[])
}

const BARRIER: &str = r#"
func.func @k(%a: !llvm.ptr, %out: !llvm.ptr) attributes {fusebox.entry} {
  "xla_gpu.barrier"() {site = "a barrier"} : () -> () loc("wait")
  func.return
}"#;

#[test]
fn an_operation_without_conversion_is_named() {
    let error = lowered(BARRIER, Target::cpu(), Stage::LlvmUnoptimized).unwrap_err();
    let LoweringError::NotConverted { kernel, operation, location, .. } = &error else { panic!("{error}") };
    assert_eq!((kernel.as_str(), operation.as_str()), ("k", "xla_gpu.barrier"));
    assert!(location.contains("wait"), "{location}");
    let text = error.to_string();
    assert!(text.starts_with("kernel `k`: the lowering `mlir` cannot convert `xla_gpu.barrier` at "), "{text}");
}

#[test]
fn other_targets_are_refused() {
    for target in ["simt", "sm_90", "gfx942"] {
        let error = lowered(BARRIER, Target::named(target).unwrap(), Stage::LlvmUnoptimized).unwrap_err().to_string();
        assert!(error.contains("the lowering `mlir` is only for the cpu"), "{error}");
    }
}

#[test]
fn only_one_lowering_has_the_stage_of_the_dialect() {
    let kernel = read_kernel("k", BARRIER, None).unwrap();
    let error = lower(&kernel, &Target::cpu(), Stage::Scalars, Stage::LlvmDialect, &[]).unwrap_err().to_string();
    assert!(error.contains("add --lowering mlir"), "{error}");
}

#[test]
fn targets_differ_by_their_lowering() {
    let [own, other] = Lowering::ALL.map(|lowering| Target::cpu().with_lowering(lowering).identity());
    assert_ne!(own, other);
    assert_eq!(Lowering::parse("mlir").unwrap(), Lowering::Mlir);
    let error = Lowering::parse("llvm").unwrap_err().to_string();
    assert!(error.contains("the lowerings are fusebox, mlir"), "{error}");
}

/// Returns a kernel of `blocks` blocks that computes `function` of many elements.
fn elementwise(blocks: u64, functions: usize) -> KernelSource {
    let count = 64;
    let mut b = FunctionBuilder::new("k");
    let shape = [blocks as i64 * count];
    let [input, output] = [(); 2].map(|()| b.argument(Type::tensor(&shape, Scalar::F32)));
    let block = b.block_id();
    let (zero, one, size) = (b.index(0), b.index(1), b.index(count));
    let start = b.muli(block, size);
    let written = b.scf_for(zero, size, one, &[output], |b, number, outputs| {
        let place = b.addi(start, number);
        let mut value = b.extract(input, &[place]);
        for _ in 0..functions {
            value = b.exp(value);
            value = b.sin(value);
            value = b.tanh(value);
        }
        vec![b.insert(value, outputs[0], &[place])]
    });
    b.ret(&[written[0]]);
    let bytes = 4 * blocks * count as u64;
    source("k", &b.finish().unwrap().to_string(), &[bytes, bytes], 1, blocks, 1)
}

/// Few functions are copied into the kernel; many are called, and LLVM's vectoriser chooses vector
/// functions, which MLIR also converts.
#[test]
fn copied_and_called_functions_have_equal_bits() {
    for functions in [1, 12] {
        let kernel = elementwise(3, functions);
        let input: Vec<f32> = (0..192).map(|number| number as f32 * 0.037 - 3.0).collect();
        let results = Lowering::ALL.map(|lowering| {
            let target = Target::cpu().with_lowering(lowering);
            let mut buffers = [Buffer::of(&input), Buffer::of(&[0f32; 192])];
            let code = jit::compile(std::slice::from_ref(&kernel), &target, &mut NoStages);
            jit::run(&jit::object(code.unwrap()), "k", &mut buffers, 0, 3);
            buffers[1].values::<u32>()
        });
        assert_eq!(results[0], results[1], "{functions} functions");
    }
}
