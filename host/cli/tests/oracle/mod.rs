//! A fusion compiled for cpu and simt, compared with the reference interpreter bit by bit, and who compiled it.

use fusebox_compiler::{Compilation, Dump, Emitters, Options, Phase, Source, compile};
use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{ArrayLiteral, ArrayShape, Literal};
use fusebox_lowering::Target;
use fusebox_plugins::{Override, Registry, Spec};
use fusebox_runtime::{Program, ThreadOrder};

/// Compiles the fusion and compares its results on both targets; gives the name of the emitter that each target's
/// kernel comes from. Values are small integers, so that results are exact.
pub fn check(text: &str) -> [String; 2] {
    check_on(text, [(Target::Cpu, DeviceDescription::cpu(2)), (Target::Simt, DeviceDescription::simt())], &[])
}

/// The same for devices of other sizes, and with choices as `--emitter` makes them.
pub fn check_on(text: &str, devices: [(Target, DeviceDescription); 2], choices: &[&str]) -> [String; 2] {
    let source = Source::text("fusion.hlo", text);
    let module = source.parse().unwrap_or_else(|e| panic!("{e}\n{text}"));
    let computation = module.entry_computation().unwrap();
    let shapes = computation.parameters().into_iter().map(|id| computation.instruction(id).shape.clone());
    let inputs: Vec<ArrayLiteral> =
        shapes.enumerate().map(|(seed, shape)| small_integers(shape.as_array().unwrap(), seed as u64)).collect();
    let literals: Vec<Literal> = inputs.iter().cloned().map(Literal::Array).collect();
    let expected = fusebox_interpreter::evaluate(&module, &literals).unwrap_or_else(|e| panic!("{e}\n{text}"));
    devices.map(|(target, device)| {
        let name = device.name.clone();
        let (made, found) =
            run(&source, target, device, choices, &inputs).unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
        assert!(made.warnings.is_empty(), "{name}: {:?}\n{text}", made.warnings);
        for (leaf, (found, expected)) in found.leaves().iter().zip(expected.leaves()).enumerate() {
            assert!(**found == *expected, "{name}, result {leaf}: {found:?} instead of {expected:?}\n{text}");
        }
        let emitters: Vec<String> = made.kernels.iter().map(|kernel| kernel.emitter.name.clone()).collect();
        emitters.join(" ")
    })
}

fn run(
    source: &Source,
    target: Target,
    device: DeviceDescription,
    choices: &[&str],
    inputs: &[ArrayLiteral],
) -> Result<(Compilation, Literal), String> {
    let registry = Registry::new(fusebox_bundle::emitters()).map_err(|e| e.to_string())?;
    let is_simulated = target == Target::Simt;
    let mut overrides = Vec::new();
    for choice in choices {
        let spec: Spec = choice.parse().map_err(|e| format!("{e}"))?;
        overrides.extend(Override::resolve(&registry, &spec, true).map_err(|e| e.to_string())?);
    }
    let options = Options {
        target,
        device,
        emitters: Emitters { registry, overrides, ..Emitters::default() },
        threads: 1,
        until: Phase::Run,
        stages: Vec::new(),
        dump: Dump::default(),
    };
    let mut made = compile(source, &options).map_err(|e| e.to_string())?;
    let executable = made.executable.take().ok_or("no executable")?;
    // Results must not depend on the order in which simulated threads run.
    let ordered = |order| {
        let mut program = Program::load(executable.clone(), &fusebox_runtime::Options { threads: 2, order })
            .map_err(|e| e.to_string())?;
        program.run(inputs).map_err(|e| format!("{order:?}: {e}"))
    };
    let found = ordered(ThreadOrder::Forward)?;
    if is_simulated && ordered(ThreadOrder::Reverse)? != found {
        return Err("other results when threads run in reverse order".into());
    }
    Ok((made, found))
}

/// Values 0 to 6 of any type, different for every parameter.
fn small_integers(shape: &ArrayShape, seed: u64) -> ArrayLiteral {
    use fusebox_core::hlo::{ElementType, FloatFormat};
    let part = shape.element_type.real_part();
    let count = shape.byte_size() as usize / part.byte_size();
    let data = (0..count as u64).flat_map(|i| {
        let value = ((i + 17 * seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % 7;
        let bits = match FloatFormat::of(part) {
            Some(format) => format.encode(value as f64),
            None if part == ElementType::Pred => value & 1,
            None => value,
        };
        bits.to_le_bytes()[..part.byte_size()].to_vec()
    });
    ArrayLiteral::new(shape.element_type, shape.dims.clone(), data.collect::<Vec<u8>>()).unwrap()
}
