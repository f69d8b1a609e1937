//! Measures the time of calls to the loop emitter. The emitter is linked into this program in one
//! measurement, and loaded from a library in the other.
#![allow(clippy::unwrap_used, reason = "a bench may fail")]

use std::fmt::Write;
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Fusion};
use fusebox_core::hlo::parse_module;
use fusebox_core::plugin::convert::{decode_fusion, encode_fusion};
use fusebox_plugins::{LoadedEmitter, Registry};

/// Returns a fusion with a chain of `length` operations.
fn chain(length: usize) -> Fusion {
    let mut text = String::from("HloModule chain\n\nENTRY fused {\n  v0 = f32[1024,1024] parameter(0)\n");
    for i in 1..length {
        writeln!(text, "  v{i} = f32[1024,1024] add(v{}, v0)", i - 1).unwrap();
    }
    writeln!(text, "  ROOT root = f32[1024,1024] exponential(v{})\n}}", length - 1).unwrap();
    Fusion::new("fused", parse_module(&text, "chain").unwrap()).unwrap()
}

/// Returns the loop emitter twice. The first emitter is linked into this program. The second
/// emitter is loaded from the library that cargo has built in the folder of this program.
fn carriers() -> [(&'static str, LoadedEmitter); 2] {
    let is_loop = |emitter: &&LoadedEmitter| emitter.descriptor().name == "loop";
    let linked = Registry::new(fusebox_bundle::emitters()).unwrap();
    let mut library = Registry::default();
    let file = std::env::current_exe().unwrap().with_file_name("libfusebox_emitter_loop.so");
    library.load_library(&file).unwrap();
    let of = |registry: &Registry| registry.emitters().iter().find(is_loop).unwrap().clone();
    [("linked", of(&linked)), ("library", of(&library))]
}

fn ask(c: &mut Criterion) {
    let device = DeviceDescription::sm(90);
    let mut group = c.benchmark_group("consider, plan and emit");
    for (carrier, emitter) in carriers() {
        for length in [5, 50, 500] {
            let fusion = chain(length);
            group.bench_function(BenchmarkId::new(carrier, length), |b| {
                b.iter(|| {
                    black_box(emitter.consider(&fusion, &device).unwrap());
                    let plan = emitter.plan(&fusion, &device, &Configuration::default()).unwrap();
                    emitter.emit(&fusion, &device, &plan).unwrap()
                });
            });
        }
    }
}

fn carry(c: &mut Criterion) {
    let mut group = c.benchmark_group("carry a fusion");
    for length in [5, 50, 500] {
        let fusion = chain(length);
        group.bench_function(BenchmarkId::new("there", length), |b| {
            b.iter(|| decode_fusion(&encode_fusion(&fusion)).unwrap());
        });
    }
}

criterion_group!(benches, ask, carry);
criterion_main!(benches);
