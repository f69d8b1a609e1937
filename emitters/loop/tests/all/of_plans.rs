//! Checks that plans cover every output element exactly once, and that the emitter builds kernels
//! for the plans.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Fusion, Verdict};
use fusebox_core::hlo::{
    BinaryOp, Computation, ComputationId, DotDims, ElementType, InstrId, Instruction, Module, Op, Shape, SliceDim,
    Span, UnaryOp,
};
use fusebox_core::indexing::{Proof, covers_exactly_once};
use fusebox_emitter_loop::emitters;

use crate::planned;

fn fusion(instructions: Vec<Instruction>) -> Fusion {
    let root = InstrId(instructions.len() as u32 - 1);
    let fused = Computation { name: "fused".into(), instructions, root, execution_thread: None, span: Span::default() };
    let module = Module { computations: vec![fused], entry: Some(ComputationId(0)), ..Module::default() };
    Fusion::new("kernel", module).unwrap()
}

/// Returns a fusion that computes `-p` for an array of these dimensions.
fn negate(element: ElementType, dims: &[i64]) -> Fusion {
    let shape = Shape::array(element, dims);
    fusion(vec![
        Instruction::new("p", shape.clone(), Op::Parameter { number: 0 }, vec![]),
        Instruction::new("n", shape, Op::Unary(UnaryOp::Negate), vec![InstrId(0)]),
    ])
}

/// Returns a fusion that computes `(p + p, reshape(-p), p + p)`. Its results have two shapes, and
/// one root occurs twice.
fn two_shapes(dims: &[i64], reshaped: &[i64]) -> Fusion {
    let shape = Shape::array(ElementType::F32, dims);
    let other = Shape::array(ElementType::F32, reshaped);
    fusion(vec![
        Instruction::new("p", shape.clone(), Op::Parameter { number: 0 }, vec![]),
        Instruction::new("s", shape.clone(), Op::Binary(BinaryOp::Add), vec![InstrId(0), InstrId(0)]),
        Instruction::new("n", shape.clone(), Op::Unary(UnaryOp::Negate), vec![InstrId(0)]),
        Instruction::new("r", other.clone(), Op::Reshape, vec![InstrId(2)]),
        Instruction::new(
            "t",
            Shape::Tuple(vec![shape.clone(), other, shape]),
            Op::Tuple,
            vec![InstrId(1), InstrId(3), InstrId(1)],
        ),
    ])
}

/// Returns a small device. A few points suffice to occupy all its threads.
fn small_gpu() -> DeviceDescription {
    DeviceDescription { core_count: 1, max_threads_per_block: 128, ..DeviceDescription::sm(90) }
}

#[test]
fn every_shape_is_covered() {
    let shapes: [&[i64]; 12] = [
        &[],
        &[1],
        &[7],
        &[0],
        &[4, 0, 3],
        &[1, 1],
        &[2048],
        &[5, 129],
        &[3, 1, 200],
        &[40, 3, 5],
        &[1, 700],
        &[64, 64],
    ];
    for dims in shapes {
        for device in [small_gpu(), DeviceDescription::cpu(2)] {
            planned(&negate(ElementType::F32, dims), &device);
        }
    }
}

#[test]
fn results_of_different_shapes_are_covered() {
    for device in [small_gpu(), DeviceDescription::cpu(3)] {
        planned(&two_shapes(&[6, 50], &[300]), &device);
        planned(&two_shapes(&[600, 2], &[5, 2, 120]), &device);
    }
}

/// Checks two results of one shape. Both results read the same two parameters, or each reads a
/// different parameter.
#[test]
fn results_that_have_nothing_in_common_have_blocks_of_their_own() {
    let shape = Shape::array(ElementType::F32, [1000]);
    let of_two = |operands: [Vec<InstrId>; 2], op: fn() -> Op| {
        let [first, second] = operands;
        let parameter =
            |number| Instruction::new(format!("p{number}"), shape.clone(), Op::Parameter { number }, vec![]);
        fusion(vec![
            parameter(0),
            parameter(1),
            Instruction::new("a", shape.clone(), op(), first),
            Instruction::new("b", shape.clone(), op(), second),
            Instruction::new("t", Shape::Tuple(vec![shape.clone(); 2]), Op::Tuple, vec![InstrId(2), InstrId(3)]),
        ])
    };
    let (p, q) = (InstrId(0), InstrId(1));
    let together = of_two([vec![p, q], vec![q, p]], || Op::Binary(BinaryOp::Subtract));
    let apart = of_two([vec![p], vec![q]], || Op::Unary(UnaryOp::Negate));
    let gpu = small_gpu();
    let blocks = |fusion: &Fusion| planned(fusion, &gpu).launch.blocks;
    assert_eq!(blocks(&apart), 2 * blocks(&together));
    planned(&apart, &DeviceDescription::cpu(2));
}

/// Checks plans of large shapes. To enumerate their maps would take too long, so the host must
/// invert the maps.
#[test]
fn plans_of_large_shapes_are_proven() {
    let shapes: [&[i64]; 9] = [
        &[1_000_003],
        &[4096, 4096],
        &[50257, 768],
        &[3, 5_000_000],
        &[100, 1, 200_000],
        &[1_000_000, 3],
        &[8, 12, 1024, 64],
        &[7, 11, 13, 17, 19],
        &[2, 3, 100_003],
    ];
    for dims in shapes {
        for device in [DeviceDescription::sm(90), DeviceDescription::cpu(2)] {
            let fusion = negate(ElementType::F32, dims);
            let plan = emitters()[0].plan(&fusion, &device, &Configuration::default()).unwrap();
            for configuration in std::iter::once(&plan.configuration).chain(&plan.alternatives) {
                let map = &emitters()[0].plan(&fusion, &device, configuration).unwrap().outputs[0].maps[0];
                assert_eq!(covers_exactly_once(map, dims), Ok(Proof::Structural), "{dims:?}: {map}");
            }
        }
    }
}

#[test]
fn lanes_make_accesses_sixteen_bytes_wide() {
    let lanes = |element, dims: &[i64]| planned(&negate(element, dims), &small_gpu()).vector_lanes;
    assert_eq!(lanes(ElementType::F32, &[4096]), 4);
    assert_eq!(lanes(ElementType::BF16, &[64, 64]), 8);
    assert_eq!(lanes(ElementType::F64, &[4096]), 2);
    assert_eq!(lanes(ElementType::U8, &[4096]), 16);
    assert_eq!(lanes(ElementType::F32, &[4099]), 4, "the last thread computes three elements");
    assert_eq!(lanes(ElementType::BF16, &[63, 129]), 8, "the dimensions are merged");
    assert_eq!(lanes(ElementType::F32, &[256]), 2, "more lanes would leave threads of the core idle");
}

/// If the rows of a slice start in the middle of a vector, a thread reads an element at a time. So
/// adjacent threads read adjacent elements. If the rows start at a multiple of the vector, a thread
/// reads vectors.
#[test]
fn rows_that_are_read_from_the_middle_have_one_lane() {
    let sliced = |start: i64| {
        let dimension = |start, size| SliceDim { start, limit: start + size, stride: 1 };
        let dims = vec![dimension(0, 64), dimension(start, 120)];
        fusion(vec![
            Instruction::new("p", Shape::array(ElementType::F32, [64, 128]), Op::Parameter { number: 0 }, vec![]),
            Instruction::new("r", Shape::array(ElementType::F32, [64, 120]), Op::Slice { dims }, vec![InstrId(0)]),
        ])
    };
    assert_eq!(planned(&sliced(3), &small_gpu()).vector_lanes, 1);
    assert_eq!(planned(&sliced(4), &small_gpu()).vector_lanes, 4);
}

#[test]
fn a_small_fusion_is_one_block_of_the_cpu() {
    let cpu = DeviceDescription::cpu(8);
    assert_eq!(planned(&negate(ElementType::F32, &[100, 7]), &cpu).launch.blocks, 1);
    let large = emitters()[0].plan(&negate(ElementType::F32, &[4096, 4096]), &cpu, &Configuration::default()).unwrap();
    assert_eq!(large.launch.blocks, 128);
}

/// Checks the product of a vector and a matrix. It has few results, but each result reads many
/// elements.
#[test]
fn what_reads_much_is_shared_out() {
    let array = |dims: &[i64]| Shape::array(ElementType::F32, dims);
    let dims = DotDims { lhs_contracting: vec![0], rhs_contracting: vec![0], ..DotDims::default() };
    let product = fusion(vec![
        Instruction::new("v", array(&[512]), Op::Parameter { number: 0 }, vec![]),
        Instruction::new("m", array(&[512, 1024]), Op::Parameter { number: 1 }, vec![]),
        Instruction::new("d", array(&[1024]), Op::Dot(dims), vec![InstrId(0), InstrId(1)]),
    ]);
    let cpu = DeviceDescription::cpu(8);
    assert_eq!(planned(&negate(ElementType::F32, &[1024]), &cpu).launch.blocks, 1);
    assert!(planned(&product, &cpu).launch.blocks >= 8);
}

/// Returns the length of the innermost loop in a plan for one core. The fusion is `reshape(a[n,p] *
/// b[n,q])` or `reshape(-a[n,p,q])`.
fn innermost_loop(result: &[i64], is_product: bool) -> i64 {
    let array = |dims: &[i64]| Shape::array(ElementType::F32, dims);
    let (n, p, q) = (200, 7, 9);
    let parameter = |number, dims: &[i64]| Instruction::new("p", array(dims), Op::Parameter { number }, vec![]);
    let along = |operand, dimensions| {
        Instruction::new("along", array(&[n, p, q]), Op::Broadcast { dimensions }, vec![InstrId(operand)])
    };
    let reshape = |operand| Instruction::new("reshape", array(result), Op::Reshape, vec![InstrId(operand)]);
    let product = Op::Binary(BinaryOp::Multiply);
    let merged = if is_product {
        fusion(vec![
            parameter(0, &[n, p]),
            parameter(1, &[n, q]),
            along(0, vec![0, 1]),
            along(1, vec![0, 2]),
            Instruction::new("product", array(&[n, p, q]), product, vec![InstrId(2), InstrId(3)]),
            reshape(4),
        ])
    } else {
        fusion(vec![
            parameter(0, &[n, p, q]),
            Instruction::new("n", array(&[n, p, q]), Op::Unary(UnaryOp::Negate), vec![InstrId(0)]),
            reshape(1),
        ])
    };
    let plan = planned(&merged, &DeviceDescription::cpu(1));
    plan.outputs[0].maps[0].ranges.last().map_or(1, |range| range.bounds.upper + 1)
}

/// Checks that a merged dimension becomes several loops if readers need its parts. Otherwise the
/// kernel would divide the index of each element, and reads would become gathers.
#[test]
fn a_merged_dimension_that_readers_tell_apart_is_several_loops() {
    assert_eq!(innermost_loop(&[200, 63], true), 9);
    assert_eq!(innermost_loop(&[200 * 63], true), 9);
    assert_eq!(innermost_loop(&[100, 126], true), 9);
    assert_eq!(innermost_loop(&[9, 1400], true), 1400, "the operands' rows do not fit the result's");
    assert_eq!(innermost_loop(&[200, 63], false), 63, "the operand lies in memory as the result does");
}

#[test]
fn rows_with_a_remainder_are_merged_unless_they_are_long() {
    let ranges = |columns| {
        let plan = planned(&negate(ElementType::F32, &[1000, columns]), &DeviceDescription::cpu(1));
        plan.outputs[0].maps[0].ranges.iter().map(|range| range.bounds.upper + 1).collect::<Vec<i64>>()
    };
    assert_eq!(ranges(96).last(), Some(&96), "six vectors per row");
    assert_eq!(ranges(1001).last(), Some(&1001));
    let merged = |columns| ranges(columns).last().is_some_and(|&last| last > columns);
    assert!(merged(100), "each row would end with four single elements: {:?}", ranges(100));
    assert!(merged(32), "each row would be a short loop: {:?}", ranges(32));
}

#[test]
fn an_impossible_knob_is_an_error() {
    let fusion = negate(ElementType::F32, &[64]);
    for (name, value) in [("lanes", 3), ("lanes", 0), ("threads", 0), ("threads", 1 << 20)] {
        let configuration = Configuration([(name.to_owned(), value)].into());
        let error = emitters()[0].plan(&fusion, &small_gpu(), &configuration).unwrap_err();
        assert!(error.message.contains(name), "{error}");
    }
}

#[test]
fn tokens_absurd_sizes_and_sorts_are_declined() {
    let token = fusion(vec![Instruction::new("t", Shape::Token, Op::AfterAll, vec![])]);
    let absurd = negate(ElementType::U8, &[1 << 62]);
    let shape = Shape::array(ElementType::F32, [8]);
    let sort = fusion(vec![
        Instruction::new("p", shape.clone(), Op::Parameter { number: 0 }, vec![]),
        Instruction::new(
            "s",
            shape,
            Op::Sort { dimension: 0, is_stable: true, to_apply: ComputationId(0) },
            vec![InstrId(0)],
        ),
    ]);
    for fusion in [token, absurd, sort] {
        let Verdict::Decline(decline) = emitters()[0].consider(&fusion, &small_gpu()) else { panic!("accepted") };
        assert!(decline.instruction.is_some(), "{}", decline.reason);
    }
}

/// `BLESS=1` updates the expected texts.
#[test]
fn kernels_of_both_kinds() {
    let fusion = negate(ElementType::F32, &[256, 128]);
    for (device, file) in [(small_gpu(), "negate.gpu.mlir"), (DeviceDescription::cpu(2), "negate.cpu.mlir")] {
        let plan = emitters()[0].plan(&fusion, &device, &Configuration::default()).unwrap();
        let kernel = emitters()[0].emit(&fusion, &device, &plan).unwrap();
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(file);
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, kernel.code.to_string()).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap();
        assert_eq!(kernel.code.to_string(), expected, "{file} differs; run with BLESS=1 if that is intended");
    }
}
