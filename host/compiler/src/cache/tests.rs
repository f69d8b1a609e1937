//! Tests that a second compilation loads programs and code from the cache, and that each input of a
//! compilation changes the key.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::Configuration;
use fusebox_core::hlo::Elided;
use fusebox_files::{SizeLimit, Store};
use fusebox_lowering::Target;
use fusebox_plugins::{Fingerprint, Override, Registry};

use super::*;
use crate::Options;
use crate::{Departures, Emitters, Phase, Source, Tuned, compile};

/// A module of two kernels: a reduction of rows is not fused with a transpose.
const MODULE: &str = "HloModule m
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
ENTRY main {
  x = f32[40,50] parameter(0)
  zero = f32[] constant(0)
  t = f32[50,40] transpose(x), dimensions={1,0}
  s = f32[40] reduce(x, zero), dimensions={1}, to_apply=add
  ROOT r = (f32[50,40], f32[40]) tuple(t, s)
}
";

struct CacheFolder {
    _folder: tempfile::TempDir,
    options: Options,
}

fn place() -> CacheFolder {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), SizeLimit::none()).unwrap();
    let options = Options {
        threads: 2,
        cache: Cache::of(store),
        ..Options::new(Target::cpu(), DeviceDescription::cpu(2), Emitters::bundled(), Phase::Run)
    };
    CacheFolder { _folder: folder, options }
}

fn found(text: &str, options: &Options) -> Option<Cached> {
    compile_or_load(&Source::text("m.hlo", text), options).unwrap().cached
}

#[test]
fn a_program_is_compiled_once_and_a_kernel_too() {
    let CacheFolder { _folder, options } = place();
    let source = Source::text("m.hlo", MODULE);
    let first = compile_or_load(&source, &options).unwrap();
    assert_eq!(first.cached, Some(Cached::Code { found: 0, of: 2 }));
    let second = compile_or_load(&Source { name: "copy.hlo".into(), ..source.clone() }, &options).unwrap();
    assert_eq!((second.cached, &second.executable), (Some(Cached::Program), &first.executable));
    // `compile` returns more than the executable, without compiling kernels again.
    let whole = compile(&source, &options).unwrap();
    assert_eq!((whole.cached, whole.kernels.len()), (Some(Cached::Code { found: 2, of: 2 }), 2));
    assert_eq!(whole.executable, first.executable);
    let changed = MODULE.replace("constant(0)", "constant(1)");
    assert_eq!(found(&changed, &options), Some(Cached::Code { found: 1, of: 2 }), "the transpose stays");
    assert_eq!(found(MODULE, &Options { cache: Cache::default(), ..options }), None);
}

#[test]
fn code_that_has_to_be_one_module_is_kept_as_one() {
    let CacheFolder { _folder, options } = place();
    let options = Options { target: Target::nvptx(90), device: DeviceDescription::sm(90), ..options };
    assert_eq!(found(MODULE, &options), Some(Cached::Code { found: 0, of: 1 }));
    assert_eq!(found(MODULE, &options), Some(Cached::Program));
    // `compile` returns more than the executable, without compiling kernels again.
    let whole = compile(&Source::text("m.hlo", MODULE), &options).unwrap();
    assert_eq!(whole.cached, Some(Cached::Code { found: 1, of: 1 }));
}

#[test]
fn all_that_a_compilation_is_given_tells_its_program_from_others() {
    let CacheFolder { _folder, options } = place();
    let source = Source::text("m.hlo", MODULE);
    let bundled = fusebox_bundle::emitters;
    let registry = Registry::new(bundled().into_iter().rev().collect()).unwrap();
    let fusion = "0123456789abcdef0123456789abcdef".parse::<Fingerprint>().unwrap();
    let spec = "transpose=loop".parse().unwrap();
    let overrides = Override::resolve(&options.emitters.registry, &spec, false).unwrap();
    let tuned = Tuned { emitter: 1, knobs: Configuration::default(), spec: "loop".into() };
    let device = DeviceDescription { core_cache_bytes: 1, ..options.device.clone() };
    let without_passes = vec!["simplify"];
    let emitters = || options.emitters.clone();
    let with = |emitters: Emitters| Options { emitters, ..options.clone() };
    let keys = [
        (source.clone(), options.clone()),
        (Source::text("m.hlo", &MODULE.replace("40", "41")), options.clone()),
        (Source { format: crate::Format::Proto, ..source.clone() }, options.clone()),
        (Source { elided: Elided::Zero, ..source.clone() }, options.clone()),
        (Source { module: Some("m".into()), ..source.clone() }, options.clone()),
        (Source { sizes: Some(vec![vec![2]]), ..source.clone() }, options.clone()),
        (source.clone(), Options { target: Target::simt(), ..options.clone() }),
        (source.clone(), Options { target: Target::nvptx(90), ..options.clone() }),
        (source.clone(), Options { target: Target::nvptx(90).with_ptx_version(83), ..options.clone() }),
        (source.clone(), Options { device, ..options.clone() }),
        (source.clone(), Options { threads: 1, ..options.clone() }),
        (source.clone(), Options { memory_limit: Some(1 << 20), ..options.clone() }),
        (
            source.clone(),
            Options { departures: Departures { without_passes, ..Departures::default() }, ..options.clone() },
        ),
        (source.clone(), with(Emitters { registry, ..emitters() })),
        (source.clone(), with(Emitters { overrides, ..emitters() })),
        (source.clone(), with(Emitters { tuned: [(fusion, tuned)].into(), ..emitters() })),
        (source.clone(), with(Emitters { cuts: [(fusion, "apart".into())].into(), ..emitters() })),
        (source, with(Emitters { of_part: true, ..emitters() })),
    ];
    let mut keys: Vec<String> =
        keys.iter().map(|(source, options)| key::of_program(source, options).unwrap().to_string()).collect();
    let all = keys.len();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), all);
}

#[test]
fn texts_and_planted_faults_are_not_the_caches() {
    let CacheFolder { _folder, options } = place();
    found(MODULE, &options);
    let stages = vec![fusebox_lowering::Stage::Llvm];
    let made = compile_or_load(&Source::text("m.hlo", MODULE), &Options { stages, ..options.clone() }).unwrap();
    assert_eq!((made.cached, made.lowered.texts.len()), (None, 1));
    let departures = Departures { unoptimised: true, ..Departures::default() };
    assert_eq!(found(MODULE, &Options { departures, ..options }), None);
}

#[test]
fn what_cannot_be_kept_is_told() {
    let CacheFolder { _folder, options } = place();
    let store = Store::open(_folder.path(), SizeLimit::bytes(100)).unwrap();
    let options = Options { cache: Cache::of(store), ..options };
    let made = compile_or_load(&Source::text("m.hlo", MODULE), &options).unwrap();
    assert!(made.executable.is_some() && made.cached == Some(Cached::Code { found: 0, of: 2 }));
    assert!(matches!(&made.warnings[..], [told] if told.contains("more than 100")), "{:?}", made.warnings);
}
