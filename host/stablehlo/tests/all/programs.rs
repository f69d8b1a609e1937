//! Programs that JAX wrote (`programs/make.py`), read in all forms, against JAX's own conversion.

use std::fs;
use std::path::PathBuf;

use fusebox_core::hlo::{ArrayLiteral, ArrayShape, Literal, Module, Shape, parse_module, print_module, verify};
use fusebox_core::random::SplitMix64;
use fusebox_interpreter::evaluate;
use fusebox_stablehlo::{StablehloError, is_bytecode, read_bytecode, read_export, read_text, to_hlo};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/programs")
}

/// Returns the names of all programs.
pub fn names() -> Vec<String> {
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let artifacts = files.filter(|path| path.extension().is_some_and(|it| it == "mlirbc"));
    let mut names: Vec<String> = artifacts.map(|it| it.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    assert!(names.len() >= 25, "{names:?}");
    names
}

fn bytes(name: &str, kind: &str) -> Vec<u8> {
    fs::read(folder().join(format!("{name}.{kind}"))).unwrap()
}

pub fn from_artifact(name: &str) -> Module {
    let program = read_bytecode(&bytes(name, "mlirbc"), "program").unwrap_or_else(|error| panic!("{name}: {error}"));
    to_hlo(&program).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn from_text(name: &str) -> Module {
    let text = String::from_utf8(bytes(name, "mlir")).unwrap();
    let program = read_text(&text, "program").unwrap_or_else(|error| panic!("{name}: {error}"));
    to_hlo(&program).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the text of a module without its name and metadata, and with numbers for names of
/// instructions.
pub fn canonical(mut module: Module) -> String {
    module.name.clear();
    for computation in &mut module.computations {
        for (number, instruction) in computation.instructions.iter_mut().enumerate() {
            instruction.name = format!("v{number}");
            if let Some(extra) = &mut instruction.extra {
                extra.metadata = None;
            }
        }
    }
    print_module(&module)
}

/// Returns random values: floats from -1 to 1, and small integers.
pub fn arguments(module: &Module) -> Vec<Literal> {
    let mut random = SplitMix64(7);
    let entry = module.entry_computation().unwrap();
    let shapes = entry.parameters().into_iter().map(|id| entry.instruction(id).shape.clone());
    shapes.map(|shape| Literal::Array(random_array(shape.as_array().unwrap(), &mut random))).collect()
}

fn random_array(shape: &ArrayShape, random: &mut SplitMix64) -> ArrayLiteral {
    let element = || match shape.element_type.float_format() {
        Some(format) => format.encode(2.0 * random.unit() - 1.0),
        None => random.bits() % 4,
    };
    let size = shape.element_type.byte_size();
    let elements = std::iter::repeat_with(element).take(shape.element_count() as usize);
    let data: Vec<u8> = elements.flat_map(|bits| bits.to_le_bytes()[..size].to_vec()).collect();
    ArrayLiteral::new(shape.element_type, shape.dims.clone(), data).unwrap()
}

#[test]
fn results_are_those_of_jax_own_conversion() {
    for name in names() {
        let jax = parse_module(&String::from_utf8(bytes(&name, "hlo")).unwrap(), "jax").unwrap();
        let arguments = arguments(&jax);
        let expected = evaluate(&jax, &arguments).unwrap();
        let forms = [from_artifact(&name), from_text(&name)];
        let results: Vec<Literal> = Vec::from_iter(forms.iter().map(|module| {
            verify(module).unwrap_or_else(|faults| panic!("{name}: {faults:?}"));
            evaluate(module, &arguments).unwrap_or_else(|error| panic!("{name}: {error}"))
        }));
        // JAX writes these functions out, and HLO has them as operations.
        if name == "erf" {
            assert_eq!(results[0], results[1]);
            assert!(print_module(&from_artifact(&name)).contains(" erf("));
            continue;
        }
        for result in results {
            assert_eq!(result, expected, "{name}");
        }
    }
}

#[test]
fn files_of_jax_export_contain_an_artifact() {
    let file = bytes("softmax", "jax_export");
    let artifact = read_export(&file, "softmax.jax_export").unwrap();
    assert!(is_bytecode(artifact));
    let module = to_hlo(&read_bytecode(artifact, "softmax").unwrap()).unwrap();
    assert_eq!(canonical(module), canonical(from_artifact("softmax")));
    for other in [bytes("softmax", "mlirbc"), bytes("softmax", "hlo"), Vec::new()] {
        let error = read_export(&other, "other").unwrap_err();
        assert_eq!(error.to_string(), "other: byte 0: this is not a file of jax.export, or it has no program");
    }
}

#[test]
fn instructions_name_the_line_of_python() {
    for module in [from_artifact("loop"), from_text("loop")] {
        let instructions = module.computations.iter().flat_map(|computation| &computation.instructions);
        let sine = instructions.clone().find(|it| it.opcode().name() == "sine").unwrap();
        let metadata = sine.extra.as_ref().unwrap().metadata.as_ref().unwrap();
        assert_eq!((&*metadata.op_name, &*metadata.source_file), ("jit(loop)/while/body/sin", "make.py"));
        assert!((20..40).contains(&metadata.source_line), "{metadata:?}");
    }
}

#[test]
fn loops_carry_values_from_outside() {
    let text = "
func.func @main(%a: tensor<f32>, %n: tensor<i32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %1:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<f32>
    cond {
    %2 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %2 = stablehlo.add %i, %one : tensor<i32>
    %3 = stablehlo.add %x, %a : tensor<f32>
    stablehlo.return %2, %3 : tensor<i32>, tensor<f32>
  }
  return %1#1 : tensor<f32>
}";
    let module = to_hlo(&read_text(text, "loop.mlir").unwrap()).unwrap();
    verify(&module).unwrap();
    let scalar = |bytes: [u8; 4], shape: &Shape| {
        Literal::Array(ArrayLiteral::new(shape.as_array().unwrap().element_type, Vec::new(), bytes.to_vec()).unwrap())
    };
    let entry = module.entry_computation().unwrap();
    let shapes: Vec<&Shape> = entry.parameters().into_iter().map(|id| &entry.instruction(id).shape).collect();
    let arguments = [scalar(1.5f32.to_le_bytes(), shapes[0]), scalar(3i32.to_le_bytes(), shapes[1])];
    assert_eq!(evaluate(&module, &arguments).unwrap(), scalar(6f32.to_le_bytes(), shapes[0]));
}

#[test]
fn predicates_may_be_hexadecimal_digits() {
    let of = |digits: &str, count: usize| {
        let text = format!(
            "func.func @main() -> tensor<{count}xi1> {{\n  %0 = stablehlo.constant dense<\"0x{digits}\"> : tensor<{count}xi1>\n  \
             return %0 : tensor<{count}xi1>\n}}"
        );
        let module =
            read_text(&text, "p.mlir").and_then(|program| to_hlo(&program)).map_err(|error| error.to_string())?;
        let Literal::Array(result) = evaluate(&module, &[]).unwrap() else { panic!("no array") };
        Ok(result.data.to_vec())
    };
    assert_eq!(of("0100FF", 3), Ok(vec![1, 0, 1]));
    assert_eq!(of("01", 10), Ok(vec![1; 10]));
    assert_eq!(of("0505", 20), Err("p.mlir:2:44: the constant needs 20 bytes of pred".to_owned()));
}

#[test]
fn what_is_not_supported_is_named_with_its_place() {
    let error = |body: &str| {
        let text = format!(
            "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {{\n  {body}\n  return %1 : tensor<4xf32>\n}}"
        );
        let module = read_text(&text, "p.mlir").and_then(|program| to_hlo(&program));
        module.map(|_| ()).unwrap_err().to_string()
    };
    let place = "loc(\"train.py\":12:3)";
    for (body, message) in [
        (
            format!("%1 = stablehlo.uniform_quantize %a : (tensor<4xf32>) -> tensor<4xf32> {place}"),
            "train.py:12: uniform_quantize: the operation is not supported",
        ),
        (
            format!("%1 = chlo.broadcast_zeta %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {place}"),
            "train.py:12: chlo.broadcast_zeta: HLO lacks the operation, and text does not define it: save the program as a \
             portable artifact or with jax.export, which define it",
        ),
        (
            format!("%1 = chlo.erfc %a : tensor<4xf32> -> tensor<4xf64> {place}"),
            "train.py:12: chlo.erfc: the types of the operands and of the result must be equal",
        ),
        (
            "%1 = chlo.scan(%a) inits (%a) dimension=0".into(),
            "p.mlir:2:8: chlo.scan in text is not supported: save the program as a portable artifact",
        ),
        (
            format!("%1 = stablehlo.reshape %a : (tensor<4xf32>) -> tensor<?xf32> {place}"),
            "train.py:12: reshape: a size is known only when the program runs, and no arguments determine it",
        ),
        (
            format!(
                "%1 = \"stablehlo.dot_general\"(%a, %a) <{{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions \
                 = [0], rhs_batching_dimensions = [0]>, precision_config = [#stablehlo<precision SOME>, \
                 #stablehlo<precision DEFAULT>]}}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {place}"
            ),
            "train.py:12: dot_general: the precision `some`",
        ),
        ("%1 = stablehlo.add %a, %b : tensor<4xf32>".into(), "p.mlir:2:26: there is no value %b#0 before"),
        ("%1 = stablehlo.add %a, %a tensor<4xf32>".into(), "p.mlir:2:29: the types of add are missing"),
        (
            "%1 = stablehlo.pad %a, %a, lo = [1] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>".into(),
            "p.mlir:2:30: pad has no lo",
        ),
    ] {
        assert_eq!(error(&body), message);
    }
    let shapes = error("%1 = stablehlo.concatenate %a, %a, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>");
    assert!(shapes.contains("is declared as f32[4], but gives f32[8]"), "{shapes}");
}

/// Changes bytes of all programs at random. Readers return an error or a program; nothing panics.
#[test]
fn damaged_programs_are_errors() {
    let mut random = SplitMix64(11);
    let mut faults = 0;
    for name in names() {
        for kind in ["mlirbc", "mlir"] {
            let original = bytes(&name, kind);
            for _ in 0..400 {
                let mut damaged = original.clone();
                for _ in 0..1 + random.bits() % 4 {
                    let at = random.bits() as usize % damaged.len();
                    match random.bits() % 4 {
                        0 => damaged[at] = random.bits() as u8,
                        1 => damaged[at] ^= 1 << (random.bits() % 8),
                        2 => drop(damaged.remove(at)),
                        _ => damaged.insert(at, random.bits() as u8),
                    }
                }
                faults += usize::from(converted(&damaged).is_err());
            }
        }
        let artifact = bytes(&name, "mlirbc");
        for size in 0..artifact.len() {
            assert!(read_bytecode(&artifact[..size], "short").is_err(), "{name}: {size}");
        }
    }
    assert!(faults > 5_000, "{faults}");
}

fn converted(bytes: &[u8]) -> Result<Module, StablehloError> {
    let program = if is_bytecode(bytes) {
        read_bytecode(bytes, "damaged")?
    } else {
        read_text(&String::from_utf8_lossy(bytes), "damaged")?
    };
    to_hlo(&program)
}

#[test]
fn approximately_largest_elements_are_the_largest() {
    let text = r#"module @m {
  func.func private @greater(%arg0: tensor<f32>, %arg1: tensor<f32>, %arg2: tensor<i32>, %arg3: tensor<i32>) -> tensor<i1> {
    %0 = stablehlo.compare GT, %arg0, %arg1, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    return %0 : tensor<i1>
  }
  func.func public @main(%arg0: tensor<5xf32>) -> (tensor<2xf32>, tensor<2xi32>) {
    %0 = stablehlo.iota dim = 0 : tensor<5xi32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %c = stablehlo.constant dense<-1> : tensor<i32>
    %1:2 = stablehlo.custom_call @ApproxTopK(%arg0, %0, %cst, %c) {called_computations = [@greater], mhlo.backend_config = {reduction_dim = 0 : i64, top_k = 2 : i64}} : (tensor<5xf32>, tensor<5xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
    return %1#0, %1#1 : tensor<2xf32>, tensor<2xi32>
  }
}
"#;
    let module = to_hlo(&read_text(text, "largest").unwrap()).unwrap();
    verify(&module).unwrap();
    let values = [1.0_f32, 4.0, 2.0, 5.0, 3.0].iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let argument = ArrayLiteral::new(fusebox_core::hlo::ElementType::F32, vec![5], values).unwrap();
    let Literal::Tuple(results) = evaluate(&module, &[Literal::Array(argument)]).unwrap() else { panic!("no tuple") };
    let Literal::Array(indices) = &results[1] else { panic!("no array") };
    assert_eq!(indices.data[..], [3, 0, 0, 0, 1, 0, 0, 0]);
}
