//! The text the builder prints, and the mistakes it finds.
#![allow(clippy::unwrap_used, reason = "tests")]

use fusebox_core::builder::{
    Attribute, Combination, FastMath, Float, FloatPredicate, FunctionBuilder, IntPredicate, KernelBuilder, Scalar, Type,
};
use fusebox_core::emitter::{Fusion, SubgraphKind};
use fusebox_core::hlo::{
    BinaryOp, Computation, ComputationId, ElementType, InstrId, Instruction, Module, Op, Shape, Span,
};
use fusebox_core::indexing::{Expr, IndexingMap, Variable};

/// `root = add(parameter 0, parameter 1)` of `f32[8,4]`.
fn addition() -> Fusion {
    let shape = Shape::array(ElementType::F32, vec![8, 4]);
    let instructions = vec![
        Instruction::new("a", shape.clone(), Op::Parameter { number: 0 }, vec![]),
        Instruction::new("b", shape.clone(), Op::Parameter { number: 1 }, vec![]),
        Instruction::new("sum", shape, Op::Binary(BinaryOp::Add), vec![InstrId(0), InstrId(1)]),
    ];
    let fused = Computation {
        name: "fused".into(),
        instructions,
        root: InstrId(2),
        execution_thread: None,
        span: Span::default(),
    };
    let module = Module { computations: vec![fused], entry: Some(ComputationId(0)), ..Module::default() };
    Fusion::new("addition", module).unwrap()
}

#[test]
fn kernel_text() {
    let fusion = addition();
    let mut kernel = KernelBuilder::new(&fusion);
    let roots = kernel.values(&fusion.roots);
    let map = IndexingMap {
        dims: vec![Variable::named("th", 8), Variable::named("bl", 1)],
        ranges: vec![Variable::from_size(4)],
        results: vec![Expr::dim(0) + Expr::dim(1) * 8, Expr::range(0)],
        ..IndexingMap::default()
    };
    let (point, outputs) = ([kernel.thread(), kernel.block()], kernel.outputs().to_vec());
    let written = kernel.indexed_loop(&map, &point, &outputs, &[0], |b, _, index, outputs| {
        let sum = b.call_subgraph(&roots, index, &[]);
        vec![b.insert(sum[0], outputs[0], index)]
    });
    let kernel = kernel.finish(&written).unwrap();
    let expected = r#""func.func"() ({
^bb0(%0: tensor<8x4xf32>, %1: tensor<8x4xf32>, %2: tensor<8x4xf32>):
  %3 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %4 = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %11 = "xla_gpu.loop"(%3, %4, %2) ({
  ^bb0(%5: index, %6: index, %7: index, %8: tensor<8x4xf32>):
    %9 = "xla_gpu.pure_call"(%0, %1, %6, %7) {callee = @addition.values.sum} : (tensor<8x4xf32>, tensor<8x4xf32>, index, index) -> f32
    %10 = "tensor.insert"(%9, %8, %6, %7) : (f32, tensor<8x4xf32>, index, index) -> tensor<8x4xf32>
    "xla_gpu.yield"(%10) : (tensor<8x4xf32>) -> ()
  }) {map = "(th, bl)[s0] -> (th + bl * 8, s0), domain: th in [0, 7], bl in [0, 0], s0 in [0, 3]", unroll = array<i64: 0>} : (index, index, tensor<8x4xf32>) -> tensor<8x4xf32>
  "func.return"(%11) : (tensor<8x4xf32>) -> ()
}) {sym_name = "addition", function_type = (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>, fusebox.entry} : () -> ()
"#;
    assert_eq!(kernel.mlir, expected);
    assert_eq!(kernel.calls.len(), 1);
    assert_eq!(kernel.calls[0].symbol, "addition.values.sum");
    assert_eq!(kernel.calls[0].kind, SubgraphKind::Values { instructions: fusion.roots.clone() });
}

#[test]
fn constants_keep_every_bit() {
    let mut b = FunctionBuilder::new("constants");
    b.float(f64::NAN, Scalar::F32);
    b.float(0.1, Scalar::BF16);
    b.float_bits(0x7F, Scalar::Float(Float::F8E4M3FN));
    b.int(-1, Scalar::Int(4));
    b.int(255, Scalar::I8);
    b.int(1, Scalar::I1);
    b.tensor_constant(&[2, 1], Scalar::I1, &[1, 0]);
    b.tensor_constant(&[2], Scalar::Int(4), &[0xFF, 7]);
    b.tensor_constant(&[0], Scalar::F32, &[]);
    b.ret(&[]);
    let text = b.finish().unwrap();
    let values: Vec<&str> = text.lines().filter_map(|line| line.split(['{', '}']).nth(1)).collect();
    let expected = [
        "value = 0x7FC00000 : f32",
        "value = 0x3DCD : bf16",
        "value = 0x7F : f8E4M3FN",
        "value = -1 : i4",
        "value = -1 : i8",
        "value = true",
        "value = dense<[[true], [false]]> : tensor<2x1xi1>",
        "value = dense<\"0x0F07\"> : tensor<2xi4>",
        "value = dense<> : tensor<0xf32>",
    ];
    assert_eq!(values[1..=expected.len()], expected);
}

#[test]
fn fastmath_and_control_flow() {
    let mut b = FunctionBuilder::new("f.helper");
    b.set_private();
    let (x, n) = (b.argument(Type::F32), b.argument(Type::INDEX));
    b.set_argument_attribute(n, "xla.range", Attribute::Array(vec![Attribute::i64(0), Attribute::i64(3)]));
    b.set_fastmath(FastMath::REASSOC | FastMath::CONTRACT);
    let zero = b.index(0);
    let positive = b.cmpi(IntPredicate::Sgt, n, zero);
    let chosen = b.scf_if(positive, &[Type::F32], |b| vec![b.mulf(x, x)], |_| vec![x]);
    let looped = b.scf_while(
        &[chosen[0]],
        |b, state| (b.cmpf(FloatPredicate::Olt, state[0], x), vec![state[0]]),
        |b, passed| vec![b.addf(passed[0], passed[0])],
    );
    b.ret(&looped);
    let text = b.finish().unwrap();
    assert!(
        text.contains("\"arith.mulf\"(%0, %0) {fastmath = #arith.fastmath<reassoc,contract>} : (f32, f32) -> f32"),
        "{text}"
    );
    assert!(
        text.contains("sym_visibility = \"private\", arg_attrs = [{}, {xla.range = [0 : i64, 3 : i64]}]"),
        "{text}"
    );
    assert!(text.contains("\"scf.condition\"("), "{text}");
}

/// What `finish` says after these calls.
fn mistake(record: impl FnOnce(&mut FunctionBuilder)) -> String {
    let mut b = FunctionBuilder::new("f");
    record(&mut b);
    b.ret(&[]);
    b.finish().unwrap_err().to_string()
}

#[test]
fn mistakes_name_the_operation() {
    let cast = mistake(|b| {
        let x = b.float(1.0, Scalar::F32);
        b.truncf(x, Scalar::F64);
    });
    assert_eq!(cast, "function f: arith.truncf: cannot take f32 to f64");
    let rank = mistake(|b| {
        let (t, i) = (b.empty(&[2, 2], Scalar::F32), b.index(0));
        b.extract(t, &[i]);
    });
    assert_eq!(rank, "function f: tensor.extract: 1 indices for tensor<2x2xf32>");
    let lane = mistake(|b| {
        let x = b.float(1.0, Scalar::F32);
        let vector = b.vector_broadcast(x, 4);
        b.vector_insert(x, vector, 4);
    });
    assert_eq!(lane, "function f: vector.insert: there is no lane 4 in vector<4xf32>");
    let row = mistake(|b| {
        let (t, i) = (b.empty(&[8, 2], Scalar::F32), b.index(0));
        b.vector_read(t, &[i, i], 4);
    });
    assert_eq!(row, "function f: vector.transfer_read: there are no 4 lanes in a row of tensor<8x2xf32>");
    let chosen = mistake(|b| {
        let x = b.float(1.0, Scalar::F32);
        let (four, two) = (b.vector_broadcast(x, 4), b.vector_broadcast(x, 2));
        b.vector_shuffle(four, two, &[0, 5]);
    });
    assert_eq!(chosen, "function f: vector.shuffle: vector<4xf32> and vector<2xf32> do not have the lanes [0, 5]");
    let combined = mistake(|b| {
        let x = b.float(1.0, Scalar::F32);
        let vector = b.vector_broadcast(x, 4);
        b.vector_reduction(Combination::Xor, vector);
    });
    assert_eq!(combined, "function f: vector.reduction: xor does not combine the lanes of vector<4xf32>");
    let scope = mistake(|b| {
        let (zero, four) = (b.index(0), b.index(4));
        let mut leaked = zero;
        b.scf_for(zero, four, four, &[], |_, i, _| {
            leaked = i;
            vec![]
        });
        b.addi(leaked, zero);
    });
    assert!(scope.starts_with("function f: arith.addi: operand 0 was made in a region that is closed"), "{scope}");
    let yielded = mistake(|b| {
        let zero = b.index(0);
        b.scf_for(zero, zero, zero, &[zero], |b, _, _| vec![b.bool(true)]);
    });
    assert_eq!(yielded, "function f: scf.for: a region yields (i1), it must yield (index)");
}

#[test]
fn only_the_first_mistake_is_reported() {
    let text = mistake(|b| {
        let (x, n) = (b.float(1.0, Scalar::F32), b.index(1));
        let poison = b.addf(x, n);
        let more = b.mulf(poison, x);
        b.insert(more, more, &[n]);
    });
    assert!(text.starts_with("function f: arith.addf:"), "{text}");
}

#[test]
fn wrong_result_of_a_kernel_is_refused() {
    let fusion = addition();
    let mut kernel = KernelBuilder::new(&fusion);
    let zero = kernel.index(0);
    let error = kernel.finish(&[zero]).unwrap_err();
    assert!(error.message.contains("func.return"), "{error}");
}
