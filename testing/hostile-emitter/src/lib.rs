//! An emitter library that misbehaves on purpose. The name of a fusion selects the fault of a call.
//! The environment variable `HOSTILE` selects the library at build time:
//!
//! | `HOSTILE` | the library |
//! | --- | --- |
//! | not set | `hostile 0.1.0`, and a harmless twin |
//! | `newer` | the same as 0.2.0 |
//! | `twins` | two emitters of one name and version |
//! | `nameless` | an emitter whose name is not one |
//! | `panic` | panics when it is to describe itself |

use fusebox_core::builder::{FunctionBuilder, IntPredicate, KernelBuilder, Scalar, Value};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{
    Bid, Candidate, Claim, Configuration, Descriptor, EmitError, Emitter, Fusion, Kernel, KernelCode, KernelKind,
    LaunchDimensions, OutputPlan, Plan, SubgraphCall, SubgraphKind, Verdict, Visit,
};
use fusebox_core::indexing::{Constraint, Expr, IndexingMap, Interval, Variable};

/// The misbehaving emitter.
struct Hostile;
/// A second emitter.
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

    fn claim(&self, hero: &Candidate, _: &DeviceDescription) -> Option<Claim> {
        match hero.region.name.as_str() {
            "panic_in_claim" => panic!("claimed in vain"),
            _ => None,
        }
    }

    fn bid(&self, candidate: &Candidate, _: &DeviceDescription) -> Bid {
        match candidate.region.name.as_str() {
            "panic_in_bid" => panic!("outbid"),
            _ => Bid::decline("it takes fusions as they are"),
        }
    }

    fn consider(&self, fusion: &Fusion, _: &DeviceDescription) -> Verdict {
        match fusion.name.as_str() {
            "panic_in_consider" => panic!("considered and found wanting"),
            "abort" => std::process::abort(),
            // SAFETY: none. No memory is mapped here, so that the write crashes the process.
            "segfault" => unsafe { std::ptr::without_provenance_mut::<u8>(8).write_volatile(1) },
            "hang" => std::thread::sleep(std::time::Duration::from_secs(3600)),
            "print" => println!("a line on standard output"),
            "hoard" => hoard(),
            "orphan" => leave_an_orphan(),
            _ => (),
        }
        Verdict::Accept
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
            // SAFETY: none. The host must detect the invalid UTF-8.
            "bad_text" => return Err(EmitError::new(unsafe { String::from_utf8_unchecked(vec![b'n', 0xff]) })),
            "break_out" => return Err(EmitError { message: break_out(), instruction: None }),
            "long_refusal" => return Err(EmitError { message: "no ".repeat(1 << 20), instruction: None }),
            "out_of_bounds" => map.results = vec![Expr::dim(0) + 1],
            "overlap" => map.results = vec![Expr::dim(0).floor_div(2)],
            "half" => {
                map.constraints = vec![Constraint { expr: Expr::dim(0), bounds: Interval::from_size(32) }];
            }
            "gap" => map.results = vec![Expr::dim(0) * 2],
            "rank" => map.results.push(Expr::constant(0)),
            "undeclared" => map.results = vec![Expr::range(7)],
            "wrong_result" => return Ok(one_thread(fusion)),
            "reads_astray" | "endless" => {
                launch = LaunchDimensions { blocks: 64, threads_per_block: 1 };
                map.dims = vec![Variable::named("th", 1), Variable::named("bl", 64)];
                map.results = vec![Expr::dim(1)];
            }
            "other_launch" => launch.blocks = 2,
            "too_many_threads" => launch.threads_per_block = 1 << 20,
            "no_blocks" => launch.blocks = 0,
            "too_much_shared" => shared_bytes = u32::MAX,
            "many_variables" => map.ranges = vec![Variable::named("s", 1); 1000],
            "many_constraints" => {
                map.constraints =
                    vec![Constraint { expr: Expr::dim(0) * Expr::dim(1), bounds: Interval::point(0) }; 1000];
            }
            "long_map" => map.results = vec![(0..1000).fold(Expr::dim(0), |sum, i| sum + i)],
            "slow_map" => {
                // Too complex to invert, and with many points.
                let part = |i: i64| (Expr::dim(0) * (i + 3)).floor_div(i + 2).modulo(7 + i) * Expr::range(0);
                map.ranges = vec![Variable::named("a", 1 << 16)];
                map.results = (0..150).map(part).reduce(|a, b| a + b).into_iter().collect();
            }
            _ => (),
        }
        let (mut notes, mut alternatives) = (vec![], vec![]);
        match fusion.name.as_str() {
            "many_notes" => notes = vec![String::new(); 1000],
            "long_note" => notes = vec!["x".repeat(1 << 20)],
            "many_alternatives" => alternatives = vec![Configuration::default(); 10_000],
            "different_each_time" => notes = vec![format!("{:?}", std::time::Instant::now())],
            "gigabyte" => notes = vec!["x".repeat(1 << 30)],
            "huge_plan" => notes = vec!["x".repeat(8 << 20)],
            _ => (),
        }
        let outputs = match fusion.name.as_str() {
            "no_outputs" => vec![],
            _ => vec![OutputPlan::unique(map)],
        };
        Ok(Plan { shared_bytes, alternatives, notes, ..Plan::new(launch, outputs) })
    }

    fn emit(&self, fusion: &Fusion, _: &DeviceDescription, plan: &Plan) -> Result<Kernel, EmitError> {
        let values = SubgraphKind::Values { instructions: fusion.roots.clone() };
        let kernel = |mlir: &str, symbol: &str| {
            let call = SubgraphCall { symbol: symbol.into(), kind: values.clone() };
            Ok(Kernel { code: KernelCode::Text(mlir.into()), calls: vec![call] })
        };
        match fusion.name.as_str() {
            "panic_in_emit" => std::panic::panic_any(7),
            "empty" => return kernel("", "empty.f"),
            "foreign_symbol" => return kernel("\"func.func\"()", "someone_else.f"),
            "invalid_ir" => return kernel("this is not MLIR", "invalid_ir.f"),
            "deep_regions" => {
                let (open, close) = ("\"scf.if\"() ({\n", "}) : () -> ()\n");
                let body = open.repeat(200_000) + &close.repeat(200_000);
                return kernel(&format!("\"func.func\"() ({{\n{body}}}) : () -> ()"), "deep_regions.f");
            }
            "huge_text" => return kernel(&" ".repeat(40 << 20), "huge_text.f"),
            "long_symbol" => return kernel("x", &format!("long_symbol.{}", "f".repeat(100_000))),
            "many_calls" => {
                let call = |i: usize| SubgraphCall { symbol: format!("many_calls.f{i}"), kind: values.clone() };
                return Ok(Kernel { code: KernelCode::Text("x".into()), calls: (0..100_000).map(call).collect() });
            }
            "unrolled" => return unrolled(fusion),
            "wrong_result" => return doubled(fusion, plan),
            "unsupported" => return unsupported(fusion),
            _ => (),
        }
        let mut kernel = KernelBuilder::new(fusion);
        let root = kernel.values(&fusion.roots);
        let mut index = match fusion.name.as_str() {
            "reads_astray" | "endless" => kernel.block(),
            _ => kernel.thread(),
        };
        let mut read = index;
        if fusion.name == "reads_astray" {
            let one = kernel.index(1);
            read = kernel.addi(index, one);
        }
        let mut value = kernel.call_subgraph(&root, &[read], &[]);
        let output = kernel.outputs()[0];
        if fusion.name == "wrong_type" {
            value[0] = kernel.addf(value[0], index);
        }
        if fusion.name == "endless" {
            index = without_end(&mut kernel, index);
        }
        if fusion.name == "astray" {
            let one = kernel.index(1);
            index = kernel.addi(index, one);
        }
        if VARIANT == "newer" {
            // Makes the kernel's text differ from that of 0.1.0.
            kernel.set_attribute("hostile.newer", fusebox_core::builder::Attribute::Unit);
        }
        let mut written = kernel.insert(value[0], output, &[index]);
        if fusion.name == "race" {
            // Every thread also writes the first element.
            let first = kernel.index(0);
            written = kernel.insert(value[0], written, &[first]);
        }
        kernel.finish(&[written])
    }
}

/// Adds an endless loop, and returns its result: the unchanged index.
fn without_end(kernel: &mut KernelBuilder, index: Value) -> Value {
    let goes_on = |kernel: &mut FunctionBuilder, state: &[Value]| {
        let zero = kernel.index(0);
        (kernel.cmpi(IntPredicate::Sge, state[0], zero), state.to_vec())
    };
    kernel.scf_while(&[index], goes_on, |_, state| state.to_vec())[0]
}

/// Allocates all available memory.
fn hoard() -> ! {
    let mut hoard = Vec::new();
    loop {
        hoard.push(vec![1u8; 16 << 20]);
    }
}

unsafe extern "C" {
    fn fork() -> i32;
}

/// Aborts, and leaves a child process that holds all its pipes.
fn leave_an_orphan() -> ! {
    // SAFETY: the new process only sleeps.
    if unsafe { fork() } == 0 {
        loop {
            std::thread::sleep(std::time::Duration::from_secs(60));
        }
    }
    std::process::abort()
}

/// Tries operations that an isolated process may and may not do. Returns the outcome of each.
fn break_out() -> String {
    use std::{env, fs, io, net, process, thread};
    let said = |result: io::Result<()>| match result {
        Ok(()) => "done".to_owned(),
        Err(error) => error.kind().to_string(),
    };
    let tries = [
        ("read", fs::read("/proc/self/status").map(drop)),
        ("write", fs::write(env::temp_dir().join("hostile"), "").map(drop)),
        ("remove", fs::remove_file(env::temp_dir().join("hostile"))),
        ("listen", net::TcpListener::bind("127.0.0.1:0").map(drop)),
        ("send", net::UdpSocket::bind("127.0.0.1:0").map(drop)),
        ("start", process::Command::new("true").status().map(drop)),
        ("thread", thread::Builder::new().spawn(|| ()).map(|thread| thread.join().unwrap_or_default())),
    ];
    tries.map(|(what, result)| format!("{what}: {}", said(result))).join(", ")
}

/// Returns a plan as fast as any other. Its stated visits rank it before a plan without visits.
fn one_thread(fusion: &Fusion) -> Plan {
    let map = IndexingMap {
        dims: vec![Variable::named("th", 1), Variable::named("bl", 1)],
        ranges: vec![Variable::named("i", 64)],
        results: vec![Expr::range(0)],
        ..IndexingMap::default()
    };
    let visits = vec![Visit { map: map.clone(), values: fusion.roots.clone(), given: Vec::new() }];
    let launch = LaunchDimensions { blocks: 1, threads_per_block: 1 };
    Plan { visits, ..Plan::new(launch, vec![OutputPlan::unique(map)]) }
}

/// Builds the kernel of that plan with a wrong result: every element is doubled.
fn doubled(fusion: &Fusion, plan: &Plan) -> Result<Kernel, EmitError> {
    let mut kernel = KernelBuilder::new(fusion);
    let root = kernel.values(&fusion.roots);
    let (thread, outputs) = ([kernel.thread(), kernel.block()], kernel.outputs().to_vec());
    let written = kernel.indexed_loop(&plan.outputs[0].maps[0], &thread, &outputs, &[], |kernel, _, index, state| {
        let value = kernel.call_subgraph(&root, index, &[])[0];
        let doubled = kernel.addf(value, value);
        vec![kernel.insert(doubled, state[0], index)]
    });
    kernel.finish(&written)
}

/// Builds a kernel with a loop to be unrolled a billion times.
fn unrolled(fusion: &Fusion) -> Result<Kernel, EmitError> {
    let mut kernel = KernelBuilder::new(fusion);
    let root = kernel.values(&fusion.roots);
    let index = kernel.thread();
    let value = kernel.call_subgraph(&root, &[index], &[]);
    let output = kernel.outputs()[0];
    let map = IndexingMap {
        ranges: vec![Variable::named("a", 1 << 15), Variable::named("b", 1 << 15)],
        results: vec![Expr::range(0)],
        ..IndexingMap::default()
    };
    let written = kernel.indexed_loop(&map, &[], &[output], &[0, 1], |kernel, _, _, state| {
        vec![kernel.insert(value[0], state[0], &[index])]
    });
    kernel.finish(&written)
}

/// Builds a valid kernel that no target can compile.
fn unsupported(fusion: &Fusion) -> Result<Kernel, EmitError> {
    let mut kernel = KernelBuilder::new(fusion);
    let root = kernel.values(&fusion.roots);
    let index = kernel.thread();
    let value = kernel.call_subgraph(&root, &[index], &[]);
    let output = kernel.outputs()[0];
    let short = kernel.truncf(value[0], Scalar::BF16);
    let sum = kernel.addf(short, short);
    let sum = kernel.extf(sum, Scalar::F32);
    let written = kernel.insert(sum, output, &[index]);
    kernel.finish(&[written])
}

impl Emitter for Twin {
    fn descriptor(&self) -> Descriptor {
        let name = if VARIANT == "twins" { "hostile" } else { "twin" };
        Descriptor { kind: KernelKind("twin".into()), name: name.into(), version: VERSION.into() }
    }

    fn consider(&self, _: &Fusion, _: &DeviceDescription) -> Verdict {
        Verdict::OnRequest
    }

    fn plan(&self, _: &Fusion, _: &DeviceDescription, _: &Configuration) -> Result<Plan, EmitError> {
        Err(EmitError { message: "a twin does nothing".into(), instruction: None })
    }

    fn emit(&self, _: &Fusion, _: &DeviceDescription, _: &Plan) -> Result<Kernel, EmitError> {
        Err(EmitError { message: "a twin does nothing".into(), instruction: None })
    }
}
