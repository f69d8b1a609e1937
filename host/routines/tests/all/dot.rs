//! Compares products of matrices with those of the interpreter.

use fusebox_core::hlo::{ArrayLiteral, ElementType, FloatFormat};
use fusebox_routines::{Workers, routine_for};

use crate::support::{Random, Threads, check_with_interpreter, module, results};

fn filled(element: ElementType, count: usize) -> Vec<u8> {
    let number = |i: usize| (i * 7919 % 13) as f64 - 6.0;
    let part = element.real_part();
    let single = |i: usize| FloatFormat::of(part).unwrap().encode(number(i)).to_le_bytes()[..part.byte_size()].to_vec();
    (0..count * element.byte_size() / part.byte_size()).flat_map(single).collect()
}

/// Compares the routine's product of small integers with the interpreter's product. Sums of small
/// integers are exact in any order.
fn check(element: ElementType, left: &[i64], right: &[i64], result: &[i64], roles: &str) {
    let list = |dims: &[i64]| dims.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    let text = format!(
        "ENTRY e {{\n  a = {element}[{}] parameter(0)\n  b = {element}[{}] parameter(1)\n  ROOT r = {element}[{}] dot(a, b), {roles}\n}}\n",
        list(left),
        list(right),
        list(result)
    );
    let operand = |dims: &[i64]| {
        let bytes = filled(element, dims.iter().product::<i64>() as usize);
        ArrayLiteral::new(element, dims.to_vec(), bytes).unwrap()
    };
    check_with_interpreter(&module(&text), &[operand(left), operand(right)]);
}

#[test]
fn products_of_all_forms_and_types() {
    use ElementType::{BF16, C64, C128, F16, F32, F64};
    for element in [F32, F64, C64, C128, BF16, F16] {
        check(element, &[33, 70], &[70, 41], &[33, 41], "lhs_contracting_dims={1}, rhs_contracting_dims={0}");
        check(element, &[70, 33], &[41, 70], &[33, 41], "lhs_contracting_dims={0}, rhs_contracting_dims={1}");
        check(element, &[70], &[41, 70], &[41], "lhs_contracting_dims={0}, rhs_contracting_dims={1}");
        check(element, &[5, 0], &[0, 4], &[5, 4], "lhs_contracting_dims={1}, rhs_contracting_dims={0}");
        check(element, &[0, 5], &[5, 4], &[0, 4], "lhs_contracting_dims={1}, rhs_contracting_dims={0}");
        check(element, &[3, 4, 7], &[7, 5, 2], &[3, 4, 5, 2], "lhs_contracting_dims={2}, rhs_contracting_dims={0}");
        check(element, &[6, 2, 3], &[2, 3, 5], &[6, 5], "lhs_contracting_dims={1,2}, rhs_contracting_dims={0,1}");
        check(
            element,
            &[2, 7, 3, 9],
            &[3, 9, 5, 2],
            &[2, 3, 7, 5],
            "lhs_batch_dims={0,2}, lhs_contracting_dims={3}, rhs_batch_dims={3,0}, rhs_contracting_dims={1}",
        );
    }
}

#[test]
fn bands_of_rows_and_of_columns_are_shared_out() {
    use ElementType::{F32, F64};
    for [rows, columns] in [[301, 129], [129, 301]] {
        let result = [rows, columns];
        check(F32, &[rows, 90], &[90, columns], &result, "lhs_contracting_dims={1}, rhs_contracting_dims={0}");
        check(F64, &[90, rows], &[columns, 90], &result, "lhs_contracting_dims={0}, rhs_contracting_dims={1}");
    }
}

/// Sums of fractions depend on the order of the additions. So the bits would change if the bands of
/// another number of threads were computed by another algorithm.
#[test]
fn the_number_of_threads_does_not_change_bits() {
    let by: [&dyn Workers; 5] = [&Threads(1), &Threads(2), &Threads(3), &Threads(7), &Threads(16)];
    let mut random = Random::new(7);
    for element in [ElementType::F32, ElementType::F64, ElementType::C64, ElementType::C128] {
        for [rows, steps, columns] in [[273, 601, 129], [65, 700, 530], [300, 520, 64], [40, 530, 1000]] {
            let module = module(&format!(
                "ENTRY e {{\n  a = {element}[{rows},{steps}] parameter(0)\n  b = {element}[{columns},{steps}] parameter(1)\n  \
                 ROOT r = {element}[{rows},{columns}] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}\n}}\n"
            ));
            let part = FloatFormat::of(element.real_part()).unwrap();
            let mut operand = |count: usize| -> Vec<u8> {
                let parts = count * element.byte_size() / element.real_part().byte_size();
                let number = |_| part.encode(random.unit() - 0.5).to_le_bytes();
                (0..parts).map(number).flat_map(|bytes| bytes[..element.real_part().byte_size()].to_vec()).collect()
            };
            let (left, right) = (operand(rows * steps), operand(columns * steps));
            results(&module, &[&left, &right], &by);
        }
    }
}

#[test]
fn other_products_are_refused_in_words() {
    let text = "ENTRY e {\n  a = f32[2,3,4] parameter(0)\n  b = f32[4,3,5] parameter(1)\n  \
                ROOT r = f32[2,5] dot(a, b), lhs_contracting_dims={1,2}, rhs_contracting_dims={1,0}\n}\n";
    let refused = routine_for(&module(text)).unwrap_err();
    assert!(refused.to_string().contains("not adjacent"), "{refused}");
}
