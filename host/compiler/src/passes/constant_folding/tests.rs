//! Compares folded values with those of the reference interpreter, for all operations and types.

use std::collections::BTreeMap;

use fusebox_core::hlo::{
    ArrayLiteral, ArrayShape, BinaryOp, Comparison, ElementType, Instruction, Literal, Module, Op, Shape, SliceDim,
    UnaryOp, verify,
};
use fusebox_core::random::SplitMix64;
use fusebox_edit::instruction_as_module;

use super::value;

/// Number of elements of the operands.
const COUNT: usize = 12;

fn below(random: &mut SplitMix64, count: u64) -> u64 {
    random.bits() % count
}

/// Returns an array of small numbers, of extremes or of random bits.
fn operand(random: &mut SplitMix64, ty: ElementType, dims: &[i64]) -> Literal {
    let part = ty.real_part();
    let size = part.byte_size();
    let small = below(random, 2) == 0;
    let mut data = Vec::new();
    let count = dims.iter().product::<i64>() as usize * ty.byte_size() / size;
    for _ in 0..count {
        let number = below(random, 17) as i64 - 8;
        let extreme = [0, 1, u64::MAX, 1 << (8 * size - 1), (1 << (8 * size - 1)) - 1][below(random, 5) as usize];
        let any = if below(random, 3) == 0 { extreme } else { random.bits() };
        let bits = match part.float_format() {
            Some(format) if small => format.encode(number as f64 / 2.0),
            _ if small => number as u64,
            _ => any,
        };
        data.extend(&stored(part, bits).to_le_bytes()[..size]);
    }
    Literal::Array(ArrayLiteral::new(ty, dims.to_vec(), data).unwrap())
}

/// Returns the bits of a value as literals store them.
fn stored(ty: ElementType, bits: u64) -> u64 {
    let unused = 64 - ty.bits();
    if ty.is_signed_integer() { ((bits << unused) as i64 >> unused) as u64 } else { bits << unused >> unused }
}

/// Returns the interpreter's value of an operation. `None` if the operation is invalid.
fn interpreted(instruction: &Instruction, operands: &[Literal]) -> Option<Literal> {
    let shapes: Vec<Shape> = operands.iter().map(Literal::shape).collect();
    let module = instruction_as_module(&Module::default(), instruction, &shapes);
    verify(&module).ok()?;
    fusebox_interpreter::evaluate(&module, operands).ok()
}

/// Folds operations whose operands have these types, and checks each value. Returns how often the
/// operation was valid, and how often it was folded.
fn folded(random: &mut SplitMix64, op: &Op, result: ElementType, operands: &[ElementType]) -> [usize; 2] {
    let mut counts = [0; 2];
    for turn in 0..24 {
        // A single element is an operand of every element of the result.
        let dims = if turn % 4 == 0 { vec![1] } else { vec![COUNT as i64] };
        let operands: Vec<Literal> = operands.iter().map(|&ty| operand(random, ty, &dims)).collect();
        let shape = Shape::Array(ArrayShape::new(result, dims));
        let instruction = Instruction::new("r", shape, op.clone(), Vec::new());
        let Some(expected) = interpreted(&instruction, &operands) else { return counts };
        counts[0] += 1;
        let Some(found) = value(&instruction, &operands) else { continue };
        counts[1] += 1;
        assert_eq!(found, expected, "{op:?} {operands:?}");
    }
    counts
}

#[test]
fn elementwise_operations_give_what_the_interpreter_gives() {
    let mut random = SplitMix64(1);
    let mut counts: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    let mut check = |name: String, op: Op, result, operands: &[ElementType]| {
        let [valid, folded] = folded(&mut random, &op, result, operands);
        let known = counts.entry(name).or_default();
        *known = [known[0] + valid, known[1] + folded];
    };
    let pred = ElementType::Pred;
    for &ty in ElementType::ALL {
        for &op in UnaryOp::ALL {
            let result = if op == UnaryOp::IsFinite { pred } else { ty };
            check(format!("{op:?}"), Op::Unary(op), result, &[ty]);
        }
        for &op in BinaryOp::ALL {
            check(format!("{op:?}"), Op::Binary(op), ty, &[ty, ty]);
        }
        for &direction in Comparison::ALL {
            check("compare".into(), Op::Compare { direction, order: None }, pred, &[ty, ty]);
        }
        check("select".into(), Op::Select, ty, &[pred, ty, ty]);
        for &to in ElementType::ALL {
            check(format!("convert to {to}"), Op::Convert, to, &[ty]);
            check("bitcast-convert".into(), Op::BitcastConvert, to, &[ty]);
        }
    }
    let valid = |name: &str| counts.get(name).map_or(0, |counts| counts[0]);
    let is_folded = |name: &str| counts.get(name).is_some_and(|counts| counts[1] > 0);
    for name in ["Add", "Subtract", "Multiply", "Divide", "Remainder", "Maximum", "Minimum", "And", "Or", "Xor"] {
        assert!(is_folded(name), "{name}");
    }
    for name in ["ShiftLeft", "ShiftRightLogical", "Abs", "Negate", "Not", "Sign", "IsFinite", "Sqrt", "Floor", "Ceil"]
    {
        assert!(is_folded(name), "{name}");
    }
    for name in ["compare", "select", "bitcast-convert", "convert to s32", "convert to f32", "convert to bf16"] {
        assert!(is_folded(name), "{name}");
    }
    // Targets compute these functions with different errors.
    for name in ["Cosine", "Power", "Tanh", "Rsqrt"] {
        assert!(valid(name) > 0 && !is_folded(name), "{name}");
    }
}

#[test]
fn movements_give_what_the_interpreter_gives() {
    let mut random = SplitMix64(2);
    let slice = |start, limit, stride| SliceDim { start, limit, stride };
    for (op, dims) in [
        (Op::Reshape, [4, 3]),
        (Op::Transpose { permutation: vec![1, 0] }, [4, 3]),
        (Op::Reverse { dimensions: vec![1] }, [3, 4]),
        (Op::Slice { dims: vec![slice(1, 3, 1), slice(0, 4, 2)] }, [2, 2]),
    ] {
        for &ty in ElementType::ALL {
            let operand = operand(&mut random, ty, &[3, 4]);
            let shape = Shape::Array(ArrayShape::new(ty, dims.to_vec()));
            let instruction = Instruction::new("r", shape, op.clone(), Vec::new());
            let expected = interpreted(&instruction, std::slice::from_ref(&operand));
            assert!(expected.is_some(), "{op:?} {ty}");
            assert_eq!(value(&instruction, &[operand]), expected, "{op:?} {ty}");
        }
    }
}

/// Targets differ in the bits of NaN, and in whether they flush subnormal numbers to zero.
#[test]
fn what_targets_compute_differently_stays() {
    let scalar = |value: f32| {
        Literal::Array(ArrayLiteral::new(ElementType::F32, Vec::new(), value.to_le_bytes().to_vec()).unwrap())
    };
    let folded = |op, a, b| {
        let operands = [scalar(a), scalar(b)];
        value(&Instruction::new("r", operands[0].shape(), Op::Binary(op), Vec::new()), &operands)
    };
    assert_eq!(folded(BinaryOp::Multiply, 1e-20, 1e-10), Some(scalar(1e-20 * 1e-10)));
    assert_eq!(folded(BinaryOp::Multiply, 1e-20, 1e-20), None);
    assert_eq!(folded(BinaryOp::Add, 1e-40, 1.0), None);
    assert_eq!(folded(BinaryOp::Divide, 0.0, 0.0), None);
    assert_eq!(folded(BinaryOp::Add, f32::NAN, 1.0), None);
    assert_eq!(folded(BinaryOp::Maximum, 0.0, -0.0), None);
    assert_eq!(folded(BinaryOp::Divide, 1.0, 0.0), Some(scalar(f32::INFINITY)));
}
