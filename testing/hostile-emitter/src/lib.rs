//! Misbehaves on purpose. What it does at a call is in the fusion's name; what it is at all is decided when it is
//! built, by the environment variable `HOSTILE`:
//!
//! | `HOSTILE` | the library |
//! | --- | --- |
//! | not set | `hostile 0.1.0`, and a harmless twin |
//! | `newer` | the same as 0.2.0 |
//! | `twins` | two emitters of one name and version |
//! | `nameless` | an emitter whose name is not one |
//! | `panic` | panics when it is to describe itself |

use fusebox_core::builder::KernelBuilder;
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{
    Configuration, Descriptor, EmitError, Emitter, Fusion, Kernel, KernelKind, LaunchDimensions, OutputPlan, Plan,
    SubgraphCall, SubgraphKind, Verdict,
};
use fusebox_core::indexing::{Expr, IndexingMap, Variable};

/// Misbehaves.
struct Hostile;
/// Only there to be a second emitter.
struct Twin;

const VARIANT: &str = match option_env!("HOSTILE") {
    Some(variant) => variant,
    None => "",
};

const VERSION: &str = match VARIANT.as_bytes() {
    b"newer" => "0.2.0",
    _ => "0.1.0",
};

fusebox_core::export_emitters!(Hostile, Twin);

impl Emitter for Hostile {
    fn descriptor(&self) -> Descriptor {
        let name = match VARIANT {
            "panic" => panic!("no description today"),
            "nameless" => "not a name\n",
            _ => "hostile",
        };
        Descriptor { kind: KernelKind("loop".into()), name: name.into(), version: VERSION.into() }
    }

    fn consider(&self, fusion: &Fusion, _: &DeviceDescription) -> Verdict {
        match fusion.name.as_str() {
            "panic_in_consider" => panic!("considered and found wanting"),
            "abort" => std::process::abort(),
            "hang" => std::thread::sleep(std::time::Duration::from_secs(3600)),
            "print" => println!("a line on standard output"),
            _ => (),
        }
        Verdict::Accept { score: 900 }
    }

    fn plan(&self, fusion: &Fusion, _: &DeviceDescription, _: &Configuration) -> Result<Plan, EmitError> {
        // Every fusion of the tests has one result, f32[64].
        let mut launch = LaunchDimensions { blocks: 1, threads_per_block: 64 };
        let mut map = IndexingMap {
            dims: vec![Variable::named("th", 64), Variable::named("bl", 1)],
            results: vec![Expr::dim(0)],
            ..IndexingMap::default()
        };
        let mut shared_bytes = 0;
        match fusion.name.as_str() {
            "panic_in_plan" => {
                let nothing: Vec<u32> = vec![];
                launch.threads_per_block = nothing[fusion.roots.len()];
            }
            "refuse" => {
                let error = EmitError { message: "not today".into(), instruction: Some("root".into()) };
                return Err(error);
            }
            "out_of_bounds" => map.results = vec![Expr::dim(0) + 1],
            "overlap" => map.results = vec![Expr::dim(0).floor_div(2)],
            "gap" => map.results = vec![Expr::dim(0) * 2],
            "rank" => map.results.push(Expr::constant(0)),
            "undeclared" => map.results = vec![Expr::range(7)],
            "other_launch" => launch.blocks = 2,
            "too_many_threads" => launch.threads_per_block = 1 << 20,
            "no_blocks" => launch.blocks = 0,
            "too_much_shared" => shared_bytes = u32::MAX,
            _ => (),
        }
        let outputs = match fusion.name.as_str() {
            "no_outputs" => vec![],
            _ => vec![OutputPlan::unique(map)],
        };
        Ok(Plan {
            launch,
            shared_bytes,
            outputs,
            vector_lanes: 1,
            configuration: Configuration::default(),
            alternatives: vec![],
            notes: vec![],
        })
    }

    fn emit(&self, fusion: &Fusion, _: &DeviceDescription, plan: &Plan) -> Result<Kernel, EmitError> {
        let values = SubgraphKind::Values { instructions: fusion.roots.clone() };
        let kernel = |mlir: &str, symbol: &str| {
            let call = SubgraphCall { symbol: symbol.into(), kind: values.clone() };
            Ok(Kernel { mlir: mlir.into(), calls: vec![call] })
        };
        match fusion.name.as_str() {
            "panic_in_emit" => std::panic::panic_any(7),
            "empty" => return kernel("", "empty.f"),
            "foreign_symbol" => return kernel("\"func.func\"()", "someone_else.f"),
            "invalid_ir" => return kernel("this is not MLIR", "invalid_ir.f"),
            _ => (),
        }
        let mut kernel = KernelBuilder::new(fusion);
        let root = kernel.values(&fusion.roots);
        let index = kernel.thread();
        let value = kernel.call_subgraph(&root, &[index], &[]);
        let output = kernel.outputs()[0];
        if VARIANT == "newer" {
            // Another text than that of 0.1.0, to tell them apart.
            kernel.set_attribute("hostile.newer", fusebox_core::builder::Attribute::Unit);
        }
        let written = kernel.insert(value[0], output, &[index]);
        let _ = plan;
        kernel.finish(&[written])
    }
}

impl Emitter for Twin {
    fn descriptor(&self) -> Descriptor {
        let name = if VARIANT == "twins" { "hostile" } else { "twin" };
        Descriptor { kind: KernelKind("twin".into()), name: name.into(), version: VERSION.into() }
    }

    fn consider(&self, _: &Fusion, _: &DeviceDescription) -> Verdict {
        Verdict::Accept { score: 0 }
    }

    fn plan(&self, _: &Fusion, _: &DeviceDescription, _: &Configuration) -> Result<Plan, EmitError> {
        Err(EmitError { message: "a twin does nothing".into(), instruction: None })
    }

    fn emit(&self, _: &Fusion, _: &DeviceDescription, _: &Plan) -> Result<Kernel, EmitError> {
        Err(EmitError { message: "a twin does nothing".into(), instruction: None })
    }
}
