//! Creates random functions with every construct of the builder.

use fusebox_core::builder::{
    Attribute, Combination, FastMath, Float, FloatPredicate, FunctionBuilder, IntPredicate, Scalar, Type, Value,
};
use fusebox_core::indexing::{Expr, IndexingMap, Variable};
use fusebox_core::ir::{Form, Function, MatrixProduct, OpKind};

/// Numbers that determine the next operations.
pub struct Choices<'a>(pub &'a [u32]);

impl Choices<'_> {
    fn next(&mut self, below: usize) -> usize {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first as usize % below
    }

    fn of<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.next(from.len())]
    }
}

const INTS: [Scalar; 7] =
    [Scalar::Index, Scalar::Int(4), Scalar::I8, Scalar::I32, Scalar::I64, Scalar::I1, Scalar::Int(128)];
const FLOATS: [Scalar; 6] = [
    Scalar::F32,
    Scalar::F64,
    Scalar::BF16,
    Scalar::F16,
    Scalar::Float(Float::F8E4M3FN),
    Scalar::Float(Float::F4E2M1FN),
];

/// Returns a function with about as many operations as there are choices.
pub fn function(choices: &mut Choices<'_>) -> Function {
    let mut b = FunctionBuilder::new(choices.of(&["f", "kernel.values.sum", "a name", "ä\"\\\n"]));
    if choices.next(2) == 1 {
        b.set_private();
    }
    b.set_attribute("fusebox.entry", Attribute::Unit);
    let tensor = b.argument(Type::tensor(&[4, 8], Scalar::F32));
    let row = b.argument(Type::tensor(&[64], Scalar::Complex(Float::F64)));
    if choices.next(2) == 1 {
        let range = Attribute::Array(vec![Attribute::i64(0), Attribute::str("q\"\u{1}"), Attribute::Bool(true)]);
        b.set_argument_attribute(row, "xla.range", range);
    }
    let mut values = vec![tensor, row];
    block(&mut b, choices, &mut values, 0);
    b.ret(&[values[values.len() - 1], tensor]);
    b.finish().unwrap()
}

/// Returns a function for each function that `function` calls.
pub fn callees(function: &Function) -> Vec<Function> {
    let mut made: Vec<Function> = Vec::new();
    function.body.walk(&mut |operation| {
        let Some(name) = operation.callee() else { return };
        let mut b = FunctionBuilder::new(name);
        let mut types = function.types_of(&operation.operands);
        if operation.kind == OpKind::ShuffleReduce {
            types.extend_from_within(..);
        }
        let arguments: Vec<Value> = types.iter().map(|ty| b.argument(ty.clone())).collect();
        let result = |b: &mut FunctionBuilder, ty: &Type| {
            let argument = arguments.iter().copied().find(|&argument| b.type_of(argument) == ty);
            argument.unwrap_or_else(|| b.zero(ty))
        };
        let results: Vec<Value> = function.types_of(&operation.results).iter().map(|ty| result(&mut b, ty)).collect();
        b.ret(&results);
        if made.iter().all(|function| function.name != name) {
            made.push(b.finish().unwrap());
        }
    });
    made
}

/// Adds operations on these values. Appends the results of the operations to the values.
fn block(b: &mut FunctionBuilder, choices: &mut Choices<'_>, values: &mut Vec<Value>, depth: usize) {
    for _ in 0..choices.next(12) + 2 {
        if choices.0.is_empty() {
            return;
        }
        b.set_fastmath(choices.of(&[FastMath::NONE, FastMath::FAST, FastMath::REASSOC | FastMath::NSZ]));
        b.set_place(choices.of(&[None, Some("add.1"), Some("a \"b\"")]));
        match choices.next(13) {
            0..=2 => values.push(constant(b, choices)),
            3..=5 => values.extend(simple(b, choices, values)),
            6 => vectors(b, choices, values),
            7 => tensors(b, choices, values),
            8 if depth < 4 => control(b, choices, values, depth),
            9 if depth < 4 => loops(b, choices, values, depth),
            10 => {
                let arguments = [choices.of(values), choices.of(values)];
                let name = format!("f.callee.{}", b.index(0).number());
                values.extend(b.pure_call(&name, &arguments, &[Type::F32, Type::INDEX]));
                b.call(&(name + "\u{e9}"), &arguments, &[]);
            }
            11 => {
                let (re, im) = (b.float(1.5, Scalar::F32), b.float(-2.0, Scalar::F32));
                let number = b.complex(re, im);
                values.extend([number, b.re(number), b.im(number)]);
            }
            _ => values.extend([b.thread_id(), b.block_id()]),
        }
    }
}

fn constant(b: &mut FunctionBuilder, choices: &mut Choices<'_>) -> Value {
    let number = choices.next(1 << 20) as i64 * 0x9E37_79B9 - (1 << 40);
    match choices.next(5) {
        0 => {
            let ty = choices.of(&INTS);
            b.int(number, ty)
        }
        1 => {
            let ty = choices.of(&FLOATS);
            b.float(number as f64 / 1e6, ty)
        }
        2 => b.float_bits(number as u64 & 0xff, choices.of(&FLOATS[..5])),
        3 => {
            let element = choices.of(&[Scalar::I1, Scalar::Int(4), Scalar::F32, Scalar::Complex(Float::F32)]);
            let dims = choices.of(&[&[2i64, 3] as &[i64], &[1], &[0, 5], &[]]);
            let count = dims.iter().product::<i64>() as usize * element.byte_size();
            let bytes: Vec<u8> = (0..count).map(|at| (number >> (at % 5 * 8)) as u8).collect();
            b.tensor_constant(dims, element, &bytes)
        }
        _ => {
            let element = choices.of(&[Scalar::I1, Scalar::I8, Scalar::F32, Scalar::Index]);
            b.zero(&Type::vector(&[choices.of(&[1, 4, 16])], element))
        }
    }
}

/// Builds an operation that the operation table describes completely, or a comparison, or a select.
fn simple(b: &mut FunctionBuilder, choices: &mut Choices<'_>, values: &[Value]) -> Option<Value> {
    let a = choices.of(values);
    let ty = b.type_of(a).clone();
    if matches!(ty, Type::Tensor(..)) {
        return None;
    }
    let same: Vec<Value> = values.iter().copied().filter(|&value| *b.type_of(value) == ty).collect();
    let (other, third) = (choices.of(&same), choices.of(&same));
    let kind = choices.of(OpKind::ALL);
    let (int, float) = (ty.element().is_integer(), matches!(ty.element(), Scalar::Float(_)));
    Some(match kind.form() {
        Form::IntBinary if int => b.int_binary(kind, a, other),
        Form::IntUnary if int => b.int_unary(kind, a),
        Form::FloatBinary if float => b.float_binary(kind, a, other),
        Form::FloatUnary if float => b.float_unary(kind, a),
        Form::FloatTernary if float => b.fma(a, other, third),
        Form::Own if int => b.cmpi(choices.of(&[IntPredicate::Eq, IntPredicate::Uge]), a, other),
        Form::Own if float => b.cmpf(choices.of(&[FloatPredicate::Oeq, FloatPredicate::Uno]), a, other),
        _ if ty == Type::I1 => b.select(a, other, third),
        _ if ty == Type::INDEX => b.index_cast(a, Scalar::I32),
        _ if ty.element() == Scalar::F32 => b.bitcast(a, Scalar::I32),
        _ if ty.element() == Scalar::I8 => b.extsi(a, Scalar::I64),
        _ => return None,
    })
}

fn vectors(b: &mut FunctionBuilder, choices: &mut Choices<'_>, values: &mut Vec<Value>) {
    let (tensor, at) = (values[0], b.index(1));
    let read = b.vector_read(tensor, &[at, at], 4);
    let element = b.vector_extract(read, 3);
    let all = b.vector_broadcast(element, 4);
    let inserted = b.vector_insert(element, all, 1);
    let shuffled = b.vector_shuffle(read, inserted, &[0, 7, 3]);
    let written = match choices.next(2) {
        0 => b.vector_write(inserted, tensor, &[at, at]),
        _ => b.vector_write_past_caches(read, tensor, &[at, at]),
    };
    let elements = b.vector_from_elements(&[element, element]);
    let sum = b.vector_reduction(choices.of(&[Combination::Add, Combination::MaximumF]), shuffled);
    let byte = b.int(3, Scalar::I8);
    let (bytes, sums) = (b.vector_broadcast(byte, 16), b.zero(&Type::vector(&[4], Scalar::I32)));
    let of_words = b.word_muli(bytes, bytes, sums, [choices.next(2) == 1, choices.next(2) == 1]);
    values.extend([read, shuffled, written, elements, sum, of_words]);
}

fn tensors(b: &mut FunctionBuilder, choices: &mut Choices<'_>, values: &mut Vec<Value>) {
    let (tensor, at) = (values[0], b.index(1));
    let element = b.extract(tensor, &[at, at]);
    let inserted = b.insert(element, tensor, &[at, at]);
    let condition = b.bool(choices.next(2) == 1);
    let read = b.predicated_extract(condition, element, tensor, &[at, at]);
    let written = b.predicated_insert(condition, read, tensor, &[at, at]);
    let (empty, shared) = (b.empty(&[3], Scalar::I8), b.allocate_shared(&[2, 2], Scalar::F32));
    let after = b.sync_threads(&[shared, empty]);
    let reduced = b.shuffle_reduce("f.combiner", &[element, read], 16);
    let updated = b.atomic_rmw(tensor, &[at, at], |b, old| b.addf(old, element));
    let number = b.float(0.5, Scalar::F64);
    let sums = b.matrix_product(MatrixProduct::F64, &[number], &[number], &[number, number]);
    let tiles = [8, 2].map(|lines| b.allocate_shared(&[1, 2, lines, 8, 8], Scalar::Float(Float::BF16)));
    let (tile, places) = (b.index(0), [at; 4]);
    let place = [&[tile], places.as_slice()].concat();
    let of_tiles = b.tile_product(tiles, [&place, &place], [true, choices.next(2) == 1], &[element; 8]);
    values.extend([inserted, written, reduced[1], updated, after[0], sums[1], of_tiles[7]]);
}

fn control(b: &mut FunctionBuilder, choices: &mut Choices<'_>, values: &mut Vec<Value>, depth: usize) {
    let state = choices.of(values);
    let ty = b.type_of(state).clone();
    let inside = |b: &mut FunctionBuilder, choices: &mut Choices<'_>, values: &[Value]| {
        let mut values = values.to_vec();
        block(b, choices, &mut values, depth + 1);
    };
    let (zero, one, condition) = (b.index(0), b.index(1), b.bool(true));
    let results = match choices.next(3) {
        0 => b.scf_for(zero, one, one, &[state], |b, index, state| {
            inside(b, choices, &[values.as_slice(), &[index, state[0]]].concat());
            vec![state[0]]
        }),
        1 => {
            let mut regions = choices.0.split_at(choices.0.len() / 2);
            let (first, second) = (&mut Choices(regions.0), &mut Choices(regions.1));
            let results = b.scf_if(
                condition,
                &[ty],
                |b| {
                    inside(b, first, values);
                    vec![state]
                },
                |b| {
                    inside(b, second, values);
                    vec![state]
                },
            );
            regions.1 = second.0;
            choices.0 = regions.1;
            results
        }
        _ => b.scf_while(
            &[state],
            |_, state| (condition, vec![state[0], zero]),
            |b, passed| {
                inside(b, choices, &[values.as_slice(), passed].concat());
                vec![passed[0]]
            },
        ),
    };
    values.extend(results);
}

fn loops(b: &mut FunctionBuilder, choices: &mut Choices<'_>, values: &mut Vec<Value>, depth: usize) {
    let map = IndexingMap {
        dims: vec![Variable::named("th", 128)],
        ranges: vec![Variable::from_size(4), Variable::from_size(3)],
        results: vec![Expr::dim(0) * 4 + Expr::range(0), (Expr::dim(0) + Expr::range(1) * -3).floor_div(7)],
        ..IndexingMap::default()
    };
    let thread = b.thread_id();
    let state = choices.of(values);
    let results =
        b.indexed_loop(&map, &[thread], &[state], choices.of(&[&[] as &[usize], &[1]]), |b, ranges, at, state| {
            let mut values = [values.as_slice(), ranges, at, state].concat();
            values.extend(b.apply_indexing(&map, &[thread, ranges[0], at[0]]));
            block(b, choices, &mut values, depth + 1);
            vec![state[0]]
        });
    values.extend(results);
}
