//! Measures the run time of programs whose inputs are already in memory. Compiles the programs with
//! linked emitters, and again with the loop emitter from a library.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a bench may fail")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fusebox_benches::{PROGRAMS, compile, library, linked};
use fusebox_compiler::Phase;
use fusebox_core::hlo::{ArrayLiteral, ElementType, Shape};
use fusebox_runtime::Options;
use fusebox_runtime::measurement::Session;

fn programs(c: &mut Criterion) {
    let carriers = [("linked", linked().unwrap()), ("library", library().unwrap())];
    let mut group = c.benchmark_group("run");
    group.sample_size(20);
    for case in &PROGRAMS {
        for (carrier, emitters) in &carriers {
            let executable = compile(case.text, emitters, Phase::Run).unwrap().executable.unwrap();
            let mut session = Session::load(executable, &Options { threads: 2, ..Options::default() }).unwrap();
            let inputs: Vec<ArrayLiteral> = session.parameter_shapes().iter().map(filled).collect();
            session.set_inputs(&inputs).unwrap();
            session.execute().unwrap();
            let results = session.result().unwrap();
            let results = results.leaves().into_iter().filter_map(|leaf| leaf.as_array()).map(|array| array.data.len());
            let bytes: usize = inputs.iter().map(|array| array.data.len()).chain(results).sum();
            group.throughput(Throughput::Bytes(bytes as u64));
            group.bench_function(BenchmarkId::new(case.name, carrier), |b| b.iter(|| session.execute().unwrap()));
        }
    }
}

/// Returns an input. The elements of the input are small floats with both signs, or indices that
/// are in range.
fn filled(shape: &Shape) -> ArrayLiteral {
    let array = shape.as_array().unwrap();
    let count = array.element_count();
    let value = |i: i64| ((i * 7919) % 2001 - 1000) as f32 / 500.0;
    let data: Vec<u8> = match array.element_type {
        ElementType::F32 => (0..count).flat_map(|i| value(i).to_le_bytes()).collect(),
        ElementType::BF16 => (0..count).flat_map(|i| ((value(i).to_bits() >> 16) as u16).to_le_bytes()).collect(),
        ElementType::S32 => (0..count).flat_map(|i| ((i * 7919) as i32 & 0xffff).to_le_bytes()).collect(),
        other => panic!("no inputs of type {other}"),
    };
    ArrayLiteral::new(array.element_type, array.dims.clone(), data).unwrap()
}

criterion_group!(benches, programs);
criterion_main!(benches);
