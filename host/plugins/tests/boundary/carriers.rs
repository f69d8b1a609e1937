//! Checks that the answers of an emitter do not depend on its carrier. A carrier is a way to call
//! an emitter: as linked code, from a library, or in an isolated process.

use std::path::PathBuf;
use std::time::Duration;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Emitter, Fusion};
use fusebox_core::hlo::parse_module;
use fusebox_plugins::{LoadedEmitter, Origin, Produced, Registry, produce};

use crate::built::{bundled_loop, hostile, simple_loop};
use crate::{fusion_named, isolated_registry_of, registry_of};

/// Fusions with several results, a called computation, a constant without a short text, and unusual
/// names.
const FUSIONS: [&str; 3] = [
    "HloModule a

ENTRY fused {
  p = f32[33,7] parameter(0)
  c = f32[] constant(0.1)
  b = f32[33,7] broadcast(c), dimensions={}
  s.1-x = f32[33,7] multiply(p, b)
  r = f32[231] reshape(s.1-x)
  ROOT t = (f32[33,7], f32[231], f32[33,7]) tuple(s.1-x, r, p)
}
",
    "HloModule b

add {
  x = bf16[] parameter(0)
  y = bf16[] parameter(1)
  ROOT z = bf16[] add(x, y)
}

ENTRY fused {
  p = bf16[4096,512] parameter(0)
  zero = bf16[] constant(-0)
  ROOT sum = bf16[4096] reduce(p, zero), dimensions={1}, to_apply=add
}
",
    "HloModule c

ENTRY fused {
  ROOT i = c64[] parameter(0)
}
",
];

fn fusions() -> Vec<Fusion> {
    let parsed = FUSIONS.iter().enumerate();
    parsed.map(|(i, text)| Fusion::new(format!("f{i}"), parse_module(text, "test").unwrap()).unwrap()).collect()
}

/// Returns the verdict, the plan and the kernel of all fusions for all devices, as text.
fn answers(emitter: &LoadedEmitter) -> Vec<String> {
    let devices = [DeviceDescription::cpu(4), DeviceDescription::simt(), DeviceDescription::sm(80)];
    let mut answers = Vec::new();
    for fusion in fusions() {
        for device in &devices {
            let verdict = emitter.consider(&fusion, device).unwrap();
            let produced = produce(emitter, &fusion, device, &Configuration::default()).unwrap();
            let Produced { plan, kernel } = produced;
            // Linked emitters return functions. Other emitters return the text of functions.
            answers.push(format!("{verdict:?} {plan:?} {:?} {:#}", kernel.calls, kernel.code));
        }
    }
    answers
}

#[test]
fn linked_library_and_process_answer_alike() {
    let linked = Registry::new(fusebox_bundle::emitters()).unwrap();
    let linked = linked.emitters().iter().find(|emitter| emitter.descriptor().name == "loop").unwrap();
    let library = registry_of(&bundled_loop());
    let process = isolated_registry_of(&bundled_loop(), Duration::from_secs(60));
    let expected = answers(linked);
    assert_eq!(expected, answers(&library.emitters()[0]));
    assert_eq!(expected, answers(&process.emitters()[0]));
    assert_eq!(*linked.origin(), Origin::Linked);
    assert!(matches!(library.emitters()[0].origin(), Origin::Library(_)));
    assert!(matches!(process.emitters()[0].origin(), Origin::Process(_)));
}

#[test]
fn a_strangers_emitter_loads_and_works() {
    let registry = registry_of(&simple_loop());
    let emitter = &registry.emitters()[0];
    assert_eq!(emitter.descriptor().name, "simple-loop");
    for device in [DeviceDescription::cpu(4), DeviceDescription::simt()] {
        for dims in ["64", "", "3,1000,7", "0,4"] {
            let text = format!("ENTRY fused {{\n  ROOT p = s8[{dims}] parameter(0)\n}}\n");
            let fusion = Fusion::new("f", parse_module(&text, "test").unwrap()).unwrap();
            let produced = produce(emitter, &fusion, &device, &Configuration::default()).unwrap();
            assert!(produced.kernel.code.to_string().contains("xla_gpu.loop"));
        }
    }
}

#[test]
fn two_versions_of_one_emitter_side_by_side() {
    let mut registry = registry_of(&hostile(""));
    registry.load_library(&hostile("newer")).unwrap();
    let versions: Vec<String> = registry
        .emitters()
        .iter()
        .filter(|emitter| emitter.descriptor().name == "hostile")
        .map(|emitter| {
            let fusion = fusion_named("fine");
            let kernel = produce(emitter, &fusion, &DeviceDescription::simt(), &Configuration::default()).unwrap();
            let newer = kernel.kernel.code.to_string().contains("hostile.newer");
            format!("{} newer={newer}", emitter.descriptor().version)
        })
        .collect();
    assert_eq!(versions, ["0.1.0 newer=false", "0.2.0 newer=true"]);
}

#[test]
fn a_linked_emitter_that_panics_is_an_error_too() {
    struct Panicking;
    impl Emitter for Panicking {
        fn descriptor(&self) -> fusebox_core::emitter::Descriptor {
            let kind = fusebox_core::emitter::KernelKind("loop".into());
            fusebox_core::emitter::Descriptor { kind, name: "panicking".into(), version: "1.0.0".into() }
        }
        fn consider(&self, _: &Fusion, _: &DeviceDescription) -> fusebox_core::emitter::Verdict {
            panic!("linked and loaded")
        }
        fn plan(
            &self,
            _: &Fusion,
            _: &DeviceDescription,
            _: &Configuration,
        ) -> Result<fusebox_core::emitter::Plan, fusebox_core::emitter::EmitError> {
            panic!("linked and loaded")
        }
        fn emit(
            &self,
            _: &Fusion,
            _: &DeviceDescription,
            _: &fusebox_core::emitter::Plan,
        ) -> Result<fusebox_core::emitter::Kernel, fusebox_core::emitter::EmitError> {
            panic!("linked and loaded")
        }
    }
    let registry = Registry::new(vec![Box::new(Panicking)]).unwrap();
    let failure = registry.emitters()[0].consider(&fusion_named("f"), &DeviceDescription::simt()).unwrap_err();
    let expected = "emitter panicking 1.0.0 (linked in) failed while considering fusion f: it panicked: linked and loaded; \
                    this is a fault of the emitter; until it is fixed, choose another emitter with `--emitter`";
    assert_eq!(failure.to_string(), expected);
}

#[test]
fn the_plugin_library_links_no_llvm() {
    let names: Vec<PathBuf> = vec![bundled_loop(), simple_loop()];
    for library in names {
        let content = std::fs::read(&library).unwrap();
        let mentions = |needle: &[u8]| content.windows(needle.len()).any(|window| window == needle);
        assert!(!mentions(b"libMLIR") && !mentions(b"libLLVM.so"), "{}", library.display());
    }
}
