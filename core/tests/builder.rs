//! Checks the text that the builder prints, and the mistakes that the builder detects.
#![allow(clippy::unwrap_used, reason = "tests")]

use fusebox_core::builder::{
    Attribute, Combination, FastMath, Float, FloatPredicate, FunctionBuilder, IntPredicate, KernelBuilder, Scalar, Type,
};
use fusebox_core::emitter::{Fusion, SubgraphKind};
use fusebox_core::hlo::{
    BinaryOp, Computation, ComputationId, ElementType, InstrId, Instruction, Module, Op, Shape, Span,
};
use fusebox_core::indexing::{Expr, IndexingMap, Variable};

/// Returns a fusion that computes `root = add(parameter 0, parameter 1)` of `f32[8,4]`.
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
    assert_eq!(kernel.code.to_string(), expected);
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
    let text = b.finish().unwrap().to_string();
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
    let text = b.finish().unwrap().to_string();
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

/// Returns the error of `finish` after these calls of the builder.
fn mistake(record: impl FnOnce(&mut FunctionBuilder)) -> String {
    let mut b = FunctionBuilder::new("f");
    record(&mut b);
    b.ret(&[]);
    let error = b.finish().unwrap_err().to_string();
    error.rsplit_once(" [").map_or(error.clone(), |(mistake, _line)| mistake.to_owned())
}

#[test]
fn mistakes_name_the_operation() {
    let cast = mistake(|b| {
        let x = b.float(1.0, Scalar::F32);
        b.truncf(x, Scalar::F64);
    });
    assert_eq!(
        cast,
        "function f: arith.truncf: takes a floating-point number to one of fewer bits; it has (f32) -> (f64)"
    );
    let rank = mistake(|b| {
        let (t, i) = (b.empty(&[2, 2], Scalar::F32), b.index(0));
        b.extract(t, &[i]);
    });
    assert_eq!(
        rank,
        "function f: tensor.extract: takes 2 indices after the tensor; it has (tensor<2x2xf32>, index) -> (f32)"
    );
    let lane = mistake(|b| {
        let x = b.float(1.0, Scalar::F32);
        let vector = b.vector_broadcast(x, 4);
        b.vector_insert(x, vector, 4);
    });
    assert_eq!(lane, "function f: vector.insert: has no lane 4 in vector<4xf32>");
    let row = mistake(|b| {
        let (t, i) = (b.empty(&[8, 2], Scalar::F32), b.index(0));
        b.vector_read(t, &[i, i], 4);
    });
    assert!(
        row.contains("transfer_read: moves elements that are in a row of the tensor; it has (tensor<8x2xf32>"),
        "{row}"
    );
    let chosen = mistake(|b| {
        let x = b.float(1.0, Scalar::F32);
        let (four, two) = (b.vector_broadcast(x, 4), b.vector_broadcast(x, 2));
        b.vector_shuffle(four, two, &[0, 5]);
    });
    assert!(chosen.contains("shuffle: takes two vectors of one type and gives those of their lanes"), "{chosen}");
    let combined = mistake(|b| {
        let x = b.float(1.0, Scalar::F32);
        let vector = b.vector_broadcast(x, 4);
        b.vector_reduction(Combination::Xor, vector);
    });
    assert!(combined.contains("reduction: takes a vector whose lanes xor combines"), "{combined}");
    let scope = mistake(|b| {
        let (zero, four) = (b.index(0), b.index(4));
        let mut leaked = zero;
        b.scf_for(zero, four, four, &[], |_, i, _| {
            leaked = i;
            vec![]
        });
        b.addi(leaked, zero);
    });
    assert!(scope.starts_with("function f: arith.addi: operand 0 was created in a region that is closed"), "{scope}");
    let yielded = mistake(|b| {
        let zero = b.index(0);
        b.scf_for(zero, zero, zero, &[zero], |b, _, _| vec![b.bool(true)]);
    });
    assert_eq!(yielded, "function f: scf.for: has a region that yields (i1), it must yield (index)");
}

/// Checks that an error names the line that calls the builder, even if the call is in a closure
/// that the builder itself calls.
#[test]
fn mistakes_name_the_line() {
    let line = |record: &dyn Fn(&mut FunctionBuilder) -> u32| {
        let mut b = FunctionBuilder::new("f");
        let line = record(&mut b);
        b.ret(&[]);
        let error = b.finish().unwrap_err();
        assert!(error.to_string().ends_with(&format!(" [{}:{line}]", file!())), "{error}, not line {line}");
    };
    line(&|b| {
        let x = b.float(1.0, Scalar::F32);
        b.addi(x, x);
        line!() - 1
    });
    line(&|b| {
        let x = b.float(1.0, Scalar::F32);
        b.vector_write_past_caches(x, x, &[]);
        line!() - 1
    });
    line(&|b| {
        let zero = b.index(0);
        let mut leaked = zero;
        b.scf_for(zero, zero, zero, &[], |_, i, _| {
            leaked = i;
            vec![]
        });
        b.scf_for(zero, zero, zero, &[zero], |_, _, _| vec![leaked]);
        line!() - 1
    });
    line(&|b| {
        b.float(f64::NAN, Scalar::Float(Float::F4E2M1FN));
        line!() - 1
    });
    line(&|b| {
        b.argument(Type::vector(&[0], Scalar::F32));
        line!() - 1
    });
    let fusion = addition();
    let mut kernel = KernelBuilder::new(&fusion);
    let (roots, thread) = (kernel.values(&fusion.roots), kernel.thread());
    kernel.call_subgraph(&roots, &[thread], &[]);
    let line = line!() - 1;
    let outputs = kernel.outputs().to_vec();
    let error = kernel.finish(&outputs).unwrap_err().to_string();
    assert!(error.contains(&format!("[{}:{line}]", file!())), "{error}");
}

/// Checks that every memory access has a location. The location is an HLO instruction or a line of
/// Rust code.
#[test]
fn accesses_have_places() {
    let mut b = FunctionBuilder::new("f");
    let (tensor, i) = (b.argument(Type::tensor(&[8], Scalar::F32)), b.index(0));
    let first = line!() + 1;
    let element = b.extract(tensor, &[i]);
    let vector = b.vector_read(tensor, &[i], 4);
    let tensor = b.vector_write(vector, tensor, &[i]);
    let tensor = b.atomic_rmw(tensor, &[i], |b, old| b.addf(old, element));
    let tensor = b.sync_threads(&[tensor])[0];
    let sum = b.shuffle_reduce("combiner", &[element], 4)[0];
    b.set_place(Some("add.1"));
    b.insert(sum, tensor, &[i]);
    b.ret(&[]);
    let function = b.finish().unwrap();
    let mut places = Vec::new();
    function.body.walk(&mut |op| places.extend(op.kind.is_reported().then(|| op.place.to_string())));
    let lines = (first..first + 6).map(|line| format!("{}:{line}:", file!()));
    for (place, line) in places.iter().zip(lines) {
        assert!(place.starts_with(&line), "{place}, not {line}");
    }
    assert_eq!(places[6..], ["add.1"]);
    let text = function.to_string();
    assert!(!text.contains("builder.rs") && text.contains(" loc(\"add.1\")\n"), "{text}");
    assert!(format!("{function:#}").contains(&format!(" loc(\"{}\":{first}:21)\n", file!())), "{function:#}");
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

#[test]
fn literals_of_formulas_take_the_type_they_meet() {
    let written = |ty: Scalar, literal: i64| {
        let mut b = FunctionBuilder::new("f");
        let x = b.argument(ty);
        let sum = b.formula(&[x, x], |x| Ok::<_, ()>(x[0] + literal + (x[1] + literal))).unwrap();
        b.ret(&[sum]);
        b.finish().unwrap().to_string()
    };
    let narrow = written(Scalar::I8, -1);
    assert!(narrow.contains("value = -1 : i8"), "{narrow}");
    assert_eq!(narrow.matches("arith.constant").count(), 1, "each is there once: {narrow}");
    // Constants have at most 64 bits. For a wider type, the constant is sign-extended.
    let wide = written(Scalar::Int(128), -1);
    assert!(wide.contains("value = -1 : i64") && wide.contains("\"arith.extsi\"(%1) : (i64) -> i128"), "{wide}");
}
