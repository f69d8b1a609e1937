//! Checks the reports of the simulator. Each kernel exists twice, with one fault and without it.
//!
//! A file of `kernels/` contains both kernels. A line that ends in `// broken` belongs only to the
//! faulty kernel. A line that ends in `// correct` belongs only to the correct kernel. The first
//! lines of the file specify the launch, and the expected report for the faulty kernel:
//!
//! ```text
//! // launch: BLOCKS x THREADS, BYTES shared
//! // in|out|in_place|update: TYPE[ELEMENTS]         one line per argument; element i holds i
//! // says: WORDS                                    one line per phrase; of the compiler or of the simulator
//! ```
//!
//! Both kernels run with several orders of the threads. In every order, the simulator must detect
//! the fault, and the correct kernel must compute the same results.

use std::path::{Path, PathBuf};

use fusebox_compiler::{Phase, Source};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::LaunchDimensions;
use fusebox_core::hlo::{ArrayShape, ElementType, Shape};
use fusebox_lowering::{Argument, Code, KernelSource, NoStages, Target, compile, generic_form};
use fusebox_plugins::Registry;
use fusebox_runtime::measurement::Session;
use fusebox_runtime::{
    Access, Allocation, AllocationKind, Binding, CodeImage, Executable, KernelArgument, KernelImage, LoadedExecutable,
    Options, Slice, ThreadOrder, Thunk, ValueShape,
};

const ORDERS: [ThreadOrder; 3] = [ThreadOrder::Forward, ThreadOrder::Reverse, ThreadOrder::Seeded(5)];

#[test]
fn every_broken_kernel_is_caught_and_its_twin_is_not() {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 20, "{} kernels", files.len());
    let failures: Vec<String> = files.iter().filter_map(|file| check(file).err()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn a_report_names_what_the_program_calls_it() {
    let text = "fusion {\n  p = f32[40] parameter(0)\n  ROOT twice = f32[40] add(p, p)\n}\n";
    let registry = Registry::new(fusebox_bundle::emitters()).unwrap();
    let options = fusebox_compiler::Options::new(Target::simt(), DeviceDescription::simt(), registry, Phase::Run);
    let made = fusebox_compiler::compile(&Source::text("m.hlo", text), &options).unwrap();
    let mut executable = made.executable.unwrap();
    // Give the kernel a buffer that lacks the last element.
    executable.kernels[0].arguments[0].bytes -= 4;
    let Thunk::Kernel { arguments, .. } = &mut executable.thunks[0] else { panic!("no kernel") };
    arguments[0].bytes -= 4;
    let mut session = Session::load(executable, &Options::default()).unwrap();
    let report = session.execute().unwrap_err().to_string();
    for words in ["out of bounds", "parameter 0 (p)", "fusion: tensor.extract at twice", "of block 0"] {
        assert!(report.contains(words), "`{words}` is not in {report}");
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels")
}

fn check(file: &Path) -> Result<(), String> {
    let name = file.file_stem().unwrap().to_string_lossy().into_owned();
    let case = KernelFile::parse(&std::fs::read_to_string(file).unwrap());
    assert!(!case.says.is_empty(), "{name} says nothing");
    let run = |functions: &str, order| case.run(functions, order);
    let clean = |order| run(&case.correct, order).map_err(|e| format!("{name}, correct, {order:?}: {e}"));
    let first = clean(ORDERS[0])?;
    for order in ORDERS {
        if clean(order)? != first {
            return Err(format!("{name}, correct: other results in {order:?}"));
        }
        let Err(report) = run(&case.broken, order) else {
            return Err(format!("{name}, broken, {order:?}: nothing is noticed"));
        };
        if let Some(missing) = case.says.iter().find(|words| !report.contains(*words)) {
            return Err(format!("{name}, broken, {order:?}: `{missing}` is not in\n{report}"));
        }
    }
    Ok(())
}

/// A file of `kernels/`.
struct KernelFile {
    launch: LaunchDimensions,
    shared_bytes: u32,
    arguments: Vec<(Access, ArrayShape)>,
    says: Vec<String>,
    broken: String,
    correct: String,
}

impl KernelFile {
    fn parse(text: &str) -> KernelFile {
        let without = |mark: &str| text.lines().filter(|line| !line.ends_with(mark)).collect::<Vec<_>>().join("\n");
        let mut case = KernelFile {
            launch: LaunchDimensions { blocks: 1, threads_per_block: 1 },
            shared_bytes: 0,
            arguments: Vec::new(),
            says: Vec::new(),
            broken: without("// correct"),
            correct: without("// broken"),
        };
        for line in text.lines().filter_map(|line| line.strip_prefix("// ")) {
            let Some((key, value)) = line.split_once(": ") else { continue };
            match key {
                "launch" => {
                    let numbers: Vec<u32> =
                        value.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect();
                    case.launch = LaunchDimensions { blocks: numbers[0].into(), threads_per_block: numbers[1] };
                    case.shared_bytes = numbers.get(2).copied().unwrap_or(0);
                }
                "in" => case.arguments.push((Access::Read, array(value))),
                "out" => case.arguments.push((Access::WriteOnce, array(value))),
                "in_place" => case.arguments.push((Access::InPlace, array(value))),
                "update" => case.arguments.push((Access::Update, array(value))),
                "says" => case.says.push(value.into()),
                _ => {}
            }
        }
        case
    }

    /// Runs the kernel. Returns the bytes of all buffers that the kernel writes.
    fn run(&self, functions: &str, order: ThreadOrder) -> Result<Vec<u8>, String> {
        let argument = |(access, shape): &(Access, ArrayShape)| Argument {
            bytes: shape.byte_size() as u64,
            alignment: 64,
            read_only: *access == Access::Read,
            no_alias: true,
        };
        let source = KernelSource {
            entry: "kernel".into(),
            functions: generic_form("kernel", functions)
                .and_then(|text| fusebox_lowering::read("kernel", &text))
                .map_err(|e| e.to_string())?,
            arguments: self.arguments.iter().map(argument).collect(),
            launch: self.launch,
            shared_bytes: self.shared_bytes,
            origins: fusebox_lowering::Origins::default(),
        };
        let code = compile(&[source], &Target::simt(), &mut NoStages).map_err(|e| e.to_string())?;
        let Code::Object { bytes, sites } = code else { panic!("not an object") };
        let executable = self.executable(CodeImage::Object { bytes, sites });
        let program = LoadedExecutable::open(executable, &Options { threads: 1, order, ..Options::default() })
            .map_err(|e| e.to_string())?;
        let result = program.run(&[]).map_err(|e| e.to_string())?;
        Ok(result.leaves().iter().flat_map(|leaf| leaf.as_array().unwrap().data.to_vec()).collect())
    }

    /// Returns a program that launches the kernel once. The buffers contain 0, 1, 2, …. The program
    /// returns the buffers that the kernel writes.
    fn executable(&self, code: CodeImage) -> Executable {
        let (mut allocations, mut thunks, mut slices) = (Vec::new(), Vec::new(), Vec::new());
        for (_, shape) in &self.arguments {
            let bytes = shape.byte_size() as u64;
            let whole = |allocation: usize| Slice { allocation: allocation as u32, offset: 0, bytes };
            allocations.push(Allocation { bytes, kind: AllocationKind::Constant(counting(shape)) });
            allocations.push(Allocation { bytes, kind: AllocationKind::Result });
            let (from, to) = (whole(allocations.len() - 2), whole(allocations.len() - 1));
            thunks.push(Thunk::Copy { from, to });
            slices.push(to);
        }
        thunks.push(Thunk::Kernel { kernel: 0, arguments: slices.clone() });
        let described = |(access, shape): &(Access, ArrayShape)| KernelArgument {
            name: String::new(),
            bytes: shape.byte_size() as u64,
            element_bytes: shape.element_type.byte_size() as u32,
            access: *access,
        };
        let written = |(access, _): &&(Access, ArrayShape)| *access != Access::Read;
        let shapes = self.arguments.iter().filter(written).map(|(_, shape)| Shape::Array(shape.clone())).collect();
        let results = self.arguments.iter().zip(&slices).filter(|(a, _)| a.0 != Access::Read).map(|(_, &s)| s);
        Executable {
            name: "kernel".into(),
            target: fusebox_runtime::Target::Simt,
            instruction_sets: Vec::new(),
            code: vec![code],
            kernels: vec![KernelImage {
                symbol: "kernel".into(),
                emitter: "test 1.0.0".into(),
                code: 0,
                blocks: self.launch.blocks,
                threads_per_block: self.launch.threads_per_block,
                shared_bytes: self.shared_bytes,
                predicted_ns: None,
                arguments: self.arguments.iter().map(described).collect(),
            }],
            host_ops: Vec::new(),
            allocations,
            thunks,
            parameters: Vec::new(),
            result: Binding {
                shape: ValueShape::from(&Shape::Tuple(shapes)),
                leaves: results.collect(),
                sizes: Vec::new(),
            },
        }
    }
}

/// Parses a shape of the form `f32[64]`.
fn array(text: &str) -> ArrayShape {
    let (ty, dims) = text.trim_end_matches(']').split_once('[').unwrap();
    let dims: Vec<i64> = dims.split(',').map(|size| size.parse().unwrap()).collect();
    ArrayShape::new(ty.parse::<ElementType>().unwrap(), dims)
}

fn counting(shape: &ArrayShape) -> Vec<u8> {
    let values = 0..shape.element_count() as i32;
    match shape.element_type {
        ElementType::F32 => values.flat_map(|value| (value as f32).to_le_bytes()).collect(),
        ElementType::S32 => values.flat_map(i32::to_le_bytes).collect(),
        other => panic!("no values of {other:?}"),
    }
}
