//! The kernel interpreter on handwritten kernels.

use std::time::Duration;

use fusebox_interpreter::kernel::{KernelFault, Launch, execute};
use fusebox_kernel_text::parse;

const ALONE: Launch = Launch { blocks: 1, threads: 1, warp: 1, keeps_promises: false, limit: Duration::from_secs(10) };

/// A kernel of these operations, from `%0` to `%1`, both of eight `i32`.
fn run(operations: &str, input: [i32; 8], launch: &Launch) -> Result<Vec<i32>, KernelFault> {
    let text = format!(
        "\"func.func\"() ({{\n^bb0(%0: tensor<8xi32>, %1: tensor<8xi32>):\n{operations}\
         \n\"func.return\"(%1) : (tensor<8xi32>) -> ()\n}}) {{sym_name = \"k\", function_type = (tensor<8xi32>, tensor<8xi32>) \
         -> tensor<8xi32>}} : () -> ()\n\
         \"func.func\"() ({{\n^bb0(%0: i32, %1: i32):\n%2 = \"arith.addi\"(%0, %1) : (i32, i32) -> i32\
         \n\"func.return\"(%2) : (i32) -> ()\n}}) {{sym_name = \"sum\", function_type = (i32, i32) -> i32, \
         sym_visibility = \"private\"}} : () -> ()\n"
    );
    let functions = parse("k", &text).unwrap_or_else(|fault| unreachable!("{fault:?}\n{text}"));
    let bytes = input.iter().flat_map(|number| number.to_le_bytes()).collect();
    let after = execute(&functions, "k", vec![bytes, vec![0; 32]], launch)?;
    Ok(after[1].as_chunks::<4>().0.iter().map(|bytes| i32::from_le_bytes(*bytes)).collect())
}

/// One element per thread: `%10` is the thread, `%11` its element, `%20` the value that it writes.
fn of_each(operations: &str, input: [i32; 8], launch: &Launch) -> Result<Vec<i32>, KernelFault> {
    let around = format!(
        "%10 = \"gpu.thread_id\"() {{dimension = #gpu<dim x>}} : () -> index\n\
         %11 = \"tensor.extract\"(%0, %10) : (tensor<8xi32>, index) -> i32\n{operations}\n\
         %21 = \"tensor.insert\"(%20, %1, %10) : (i32, tensor<8xi32>, index) -> tensor<8xi32>"
    );
    run(&around, input, launch)
}

const EIGHT: Launch = Launch { threads: 8, warp: 4, ..ALONE };

#[test]
fn quotients_are_rounded_as_their_names_say() {
    let input = [-7, -6, -1, 0, 1, 5, 6, 7];
    let quotients = |kind: &str| {
        let operations = format!(
            "%12 = \"arith.constant\"() {{value = 3 : i32}} : () -> i32\n\
             %20 = \"arith.{kind}\"(%11, %12) : (i32, i32) -> i32"
        );
        of_each(&operations, input, &EIGHT).unwrap()
    };
    assert_eq!(quotients("divsi"), input.map(|x| x / 3));
    assert_eq!(quotients("floordivsi"), input.map(|x| x.div_euclid(3)));
    assert_eq!(quotients("ceildivsi"), input.map(|x| -((-x).div_euclid(3))));
    assert_eq!(quotients("remsi"), input.map(|x| x % 3));
    assert_eq!(quotients("divui"), input.map(|x| (x as u32 / 3) as i32));
}

#[test]
fn lanes_exchange_values_and_a_thread_that_is_gone_is_not_waited_for() {
    let reduced = "%20 = \"xla_gpu.shuffle_reduce\"(%11) {callee = @sum, max_distance = 2 : i64} : (i32) -> i32";
    let sums = of_each(reduced, [1, 2, 3, 4, 10, 20, 30, 40], &EIGHT).unwrap();
    assert_eq!([sums[0], sums[4]], [10, 100], "of warps of four lanes: {sums:?}");
    let divergent = "%12 = \"arith.constant\"() {value = 3 : i32} : () -> i32\n\
         %13 = \"arith.cmpi\"(%11, %12) {predicate = 2 : i64} : (i32, i32) -> i1\n\
         \"scf.if\"(%13) ({\n%14 = \"xla_gpu.sync_threads\"(%1) : (tensor<8xi32>) -> tensor<8xi32>\n\
         \"scf.yield\"() : () -> ()\n}, {\n\"scf.yield\"() : () -> ()\n}) : (i1) -> ()\n\
         %20 = \"arith.addi\"(%11, %12) : (i32, i32) -> i32";
    assert_eq!(of_each(divergent, [0, 1, 2, 3, 4, 5, 6, 7], &EIGHT).unwrap(), [3, 4, 5, 6, 7, 8, 9, 10]);
}

#[test]
fn an_index_out_of_bounds_is_told_with_its_operation() {
    let fault = of_each("%20 = \"arith.addi\"(%11, %11) : (i32, i32) -> i32", [0; 8], &Launch { threads: 9, ..EIGHT });
    let words = fault.unwrap_err().to_string();
    assert!(words.starts_with("tensor.extract at ") && words.ends_with("index 8 in a dimension of 8"), "{words}");
}

#[test]
fn a_promise_counts_only_where_it_is_to_be_kept() {
    let sum = "%20 = \"arith.addi\"(%11, %11) {overflowFlags = #arith.overflow<nsw>} : (i32, i32) -> i32";
    let input = [i32::MAX; 8];
    assert_eq!(of_each(sum, input, &EIGHT).unwrap(), [-2; 8]);
    let strict = Launch { keeps_promises: true, ..EIGHT };
    let words = of_each(sum, input, &strict).unwrap_err().to_string();
    assert!(words.contains("overflows, which it promises not to"), "{words}");
    assert_eq!(of_each(sum, [i32::MAX / 2; 8], &strict).unwrap(), [i32::MAX - 1; 8]);
}

#[test]
fn a_loop_without_end_is_given_up() {
    let endless = "%12 = \"arith.constant\"() {value = true} : () -> i1\n\
         \"scf.while\"() ({\n\"scf.condition\"(%12) : (i1) -> ()\n}, {\n\"scf.yield\"() : () -> ()\n}) : () -> ()";
    let limit = Duration::from_millis(50);
    assert_eq!(run(endless, [0; 8], &Launch { limit, ..ALONE }), Err(KernelFault::TooLong(limit)));
}

/// One word of each operand per sum. The bytes are the extremes of signed and unsigned bytes.
#[test]
fn words_of_bytes_are_multiplied_and_added_up() {
    let sums = |flags: &str| {
        let operations = format!(
            "%10 = \"arith.constant\"() {{value = 0 : index}} : () -> index\n\
             %11 = \"arith.constant\"() {{value = -1 : i8}} : () -> i8\n\
             %12 = \"arith.constant\"() {{value = -128 : i8}} : () -> i8\n\
             %13 = \"vector.from_elements\"(%11, %11, %11, %11, %12, %12, %12, %12) : (i8, i8, i8, i8, i8, i8, i8, i8) -> vector<8xi8>\n\
             %14 = \"vector.broadcast\"(%12) : (i8) -> vector<8xi8>\n\
             %15 = \"tensor.extract\"(%0, %10) : (tensor<8xi32>, index) -> i32\n\
             %16 = \"vector.broadcast\"(%15) : (i32) -> vector<2xi32>\n\
             %17 = \"xla_gpu.word_muli\"(%13, %14, %16) {{{flags}}} : (vector<8xi8>, vector<8xi8>, vector<2xi32>) -> vector<2xi32>\n\
             %18 = \"vector.extract\"(%17) {{static_position = array<i64: 0>}} : (vector<2xi32>) -> i32\n\
             %19 = \"vector.extract\"(%17) {{static_position = array<i64: 1>}} : (vector<2xi32>) -> i32\n\
             %20 = \"arith.constant\"() {{value = 1 : index}} : () -> index\n\
             %21 = \"tensor.insert\"(%18, %1, %10) : (i32, tensor<8xi32>, index) -> tensor<8xi32>\n\
             %22 = \"tensor.insert\"(%19, %21, %20) : (i32, tensor<8xi32>, index) -> tensor<8xi32>"
        );
        run(&operations, [7; 8], &ALONE).unwrap()[..2].to_vec()
    };
    assert_eq!(sums(""), [4 * 128 + 7, 4 * 128 * 128 + 7]);
    assert_eq!(sums("isZextLhs"), [-4 * 255 * 128 + 7, -4 * 128 * 128 + 7]);
    assert_eq!(sums("isZextRhs"), [-4 * 128 + 7, -4 * 128 * 128 + 7]);
    assert_eq!(sums("isZextLhs, isZextRhs"), [4 * 255 * 128 + 7, 4 * 128 * 128 + 7]);
}
