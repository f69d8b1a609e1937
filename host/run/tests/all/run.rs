//! Runs the program on executables that the test constructs.

use std::path::Path;
use std::process::{Command, Output};

use fusebox_core::hlo::{ArrayLiteral, ElementType, Literal};
use fusebox_runtime::{Allocation, AllocationKind, Binding, Executable, Slice, Target, Thunk, ValueShape, npz};

/// Returns an executable that copies its parameter to its result.
fn copy(target: Target) -> Executable {
    let slice = |allocation| Slice { allocation, offset: 0, bytes: 12 };
    let binding = |allocation| Binding {
        shape: ValueShape::Array("s32".into(), vec![3]),
        leaves: vec![slice(allocation)],
        sizes: Vec::new(),
    };
    let allocation = |kind| Allocation { bytes: 12, kind };
    Executable {
        name: "copy".into(),
        target,
        instruction_sets: Vec::new(),
        code: Vec::new(),
        kernels: Vec::new(),
        host_ops: Vec::new(),
        allocations: vec![allocation(AllocationKind::Parameter), allocation(AllocationKind::Result)],
        thunks: vec![Thunk::Copy { from: slice(0), to: slice(1) }],
        parameters: vec![binding(0)],
        result: binding(1),
    }
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fusebox-run")).args(arguments).current_dir(folder).output().unwrap()
}

fn three(values: [i32; 3]) -> Literal {
    let data: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    Literal::Array(ArrayLiteral { element_type: ElementType::S32, dims: vec![3], data: data.into() })
}

#[test]
fn inputs_go_through_an_executable_to_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("copy.fusebox"), copy(Target::Cpu).to_bytes().unwrap()).unwrap();
    npz::write_outputs(&at("in.npz"), &three([1, -2, 3])).unwrap();
    let output = run(folder.path(), &["copy.fusebox", "--inputs", "in.npz", "--outputs", "out.npz", "--print"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("{1, -2, 3}"));
    let shape = three([0; 3]).as_array().unwrap().shape();
    let read = npz::read_inputs(&at("out.npz"), &[fusebox_core::hlo::Shape::Array(shape)]).unwrap();
    assert_eq!(read, [three([1, -2, 3])]);
}

#[test]
fn a_measurement_is_one_line_of_json() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("copy.fusebox"), copy(Target::Cpu).to_bytes().unwrap()).unwrap();
    let output = run(folder.path(), &["copy.fusebox", "--bench"]);
    let line: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(line["runs"].as_u64().unwrap() >= 20, "{line}");
    assert_eq!(line["target"], "cpu");
}

#[test]
fn what_cannot_run_here_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let failed = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.path().join(name), bytes).unwrap();
        let output = run(folder.path(), &[name]);
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(failed("text.hlo", b"HloModule m").contains("executable"));
    // In format 3, the target is stored as a name.
    let mut older = copy(Target::Cpu).to_bytes().unwrap();
    older[8] = 3;
    let mut foreign = copy(Target::Cpu);
    foreign.instruction_sets = vec!["avx9999f".into()];
    let refused = failed("foreign.fusebox", &foreign.to_bytes().unwrap());
    assert!(refused.contains("a processor with avx9999f") && refused.contains("compile the module again"), "{refused}");
    assert!(
        failed("older.fusebox", &older)
            .contains("format 3, but this fusebox reads format 11: compile the module again")
    );
    if fusebox_runtime::describe_gpu().is_err() {
        assert!(failed("gpu.fusebox", &copy(Target::Cuda(90)).to_bytes().unwrap()).contains("no CUDA driver"));
    }
}

#[test]
fn a_required_signature_is_looked_for_beside_the_executable() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    write("copy.fusebox", &copy(Target::Cpu).to_bytes().unwrap());
    write("key.pub", b"untrusted comment: a key\nRWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3\n");
    let refused = |words: &str| {
        let output = run(folder.path(), &["copy.fusebox", "--require-signature", "key.pub"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && said.contains(words), "{said}");
    };
    refused("signature: cannot read copy.fusebox.minisig");
    write("copy.fusebox.minisig", b"no signature");
    refused("copy.fusebox.minisig is no minisign signature");
}
