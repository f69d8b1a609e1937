//! Measures how long it takes to compile a text to an executable. Compiles programs with linked
//! emitters, and again with the loop emitter from a library. Also compiles chains of several
//! depths. In a chain, each value has several users.
//!
//! Also prints the code size of each chain. The code size must grow linearly with the depth of the
//! chain.
#![allow(clippy::unwrap_used, reason = "a bench may fail")]

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use fusebox_benches::{PROGRAMS, compile, library, linked, sharing_chain};
use fusebox_compiler::Phase;
use fusebox_runtime::CodeImage;

fn programs(c: &mut Criterion) {
    let carriers = [("linked", linked().unwrap()), ("library", library().unwrap())];
    let mut group = c.benchmark_group("compile");
    group.sample_size(20);
    for case in &PROGRAMS {
        for (carrier, emitters) in &carriers {
            group.bench_function(BenchmarkId::new(case.name, carrier), |b| {
                b.iter(|| compile(case.text, emitters, Phase::Run).unwrap());
            });
        }
    }
}

fn chains(c: &mut Criterion) {
    let emitters = linked().unwrap();
    let mut group = c.benchmark_group("sharing chain");
    group.sample_size(10);
    for (form, bare) in [("one fusion", true), ("program", false)] {
        for depth in [10, 20, 40, 80] {
            let text = sharing_chain(depth, bare);
            let executable = compile(&text, &emitters, Phase::Run).unwrap().executable.unwrap();
            let bytes: usize = executable.code.iter().map(size).sum();
            println!("{form}, depth {depth}: {bytes} bytes of code in {} kernels", executable.kernels.len());
            group.bench_function(BenchmarkId::new(form, depth), |b| {
                b.iter(|| compile(&text, &emitters, Phase::Run).unwrap());
            });
        }
    }
}

fn size(image: &CodeImage) -> usize {
    match image {
        CodeImage::Object { bytes, .. } => bytes.len(),
        CodeImage::Ptx { text, .. } => text.len(),
    }
}

criterion_group!(benches, programs, chains);
criterion_main!(benches);
