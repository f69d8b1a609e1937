//! Runs the whole compiler with emitters under test, and compares results with those of the
//! reference interpreter.

use fusebox_compiler::{Compilation, Emitters, Options, Phase, Source, compile};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Emitter};
use fusebox_core::hlo::{ArrayLiteral, ArrayShape, Literal, Module};
use fusebox_lowering::{Code, Runner, Target};
use fusebox_plugins::{Override, Registry, Spec, Subject};
use fusebox_runtime::{Executable, LoadedExecutable, ThreadOrder};

use crate::literals::{Closeness, difference, small_integers};
use crate::{Failure, Machine};

/// A compiler with a set of emitters. The compiler prefers the emitters that a list of choices
/// names.
#[derive(Clone)]
pub struct Compiler {
    registry: Registry,
    overrides: Vec<Override>,
    /// Whether compilation succeeds even if a chosen emitter builds no fusion.
    of_part: bool,
}

/// A compiled and executed module.
#[derive(Debug)]
pub struct Made {
    /// Names of the emitters that built the kernels.
    pub emitters: Vec<String>,
    /// Result of the program.
    pub result: Literal,
    /// The compiler's output.
    pub compilation: Compilation,
}

impl Compiler {
    /// Creates a compiler with the bundled emitters and the emitters `emitters`. An emitter that
    /// has the name of a bundled emitter replaces the bundled emitter. Emitters with other names
    /// come after the bundled emitters.
    ///
    /// # Errors
    /// If an emitter cannot describe itself.
    pub fn new(mut emitters: Vec<Box<dyn Emitter>>) -> Result<Compiler, Failure> {
        let mut all = Vec::new();
        for bundled in fusebox_bundle::emitters() {
            let name = bundled.descriptor().name;
            let own = emitters.iter().position(|emitter| emitter.descriptor().name == name);
            all.push(own.map_or(bundled, |own| emitters.remove(own)));
        }
        all.extend(emitters);
        let registry = Registry::new(all).map_err(|e| Failure::of("the emitters", "any machine", e, ""))?;
        Ok(Compiler::of(registry, Vec::new()))
    }

    /// Creates a compiler with only the emitters of `registry`, and with the choices `overrides`.
    /// The emitters may come from libraries.
    pub fn of(registry: Registry, overrides: Vec<Override>) -> Compiler {
        Compiler { registry, overrides, of_part: false }
    }

    /// Returns a compiler that allows choices without effect. A choice has no effect if passes
    /// change the fusion that the choice names.
    pub(crate) fn of_part(self) -> Compiler {
        Compiler { of_part: true, ..self }
    }

    /// Returns a compiler that prefers the emitters with these names. If one of the preferred
    /// emitters accepts a fusion, no other emitter builds the fusion.
    ///
    /// # Errors
    /// If there is no emitter with one of the names.
    pub fn preferring(mut self, names: &[&str]) -> Result<Compiler, Failure> {
        let emitters = names.iter().map(|name| self.number(name)).collect::<Result<Vec<usize>, Failure>>()?;
        let spec = names.join(", ");
        let subject = Subject::named("*").map_err(|error| Failure::of(&spec, "any machine", error, ""))?;
        let knobs = Configuration::default();
        self.overrides.push(Override { subject, emitters, knobs, spec, place: None, force: false });
        Ok(self.of_part())
    }

    /// Returns the number of the emitter with this name.
    pub(crate) fn number(&self, name: &str) -> Result<usize, Failure> {
        let found = self.registry.emitters().iter().position(|emitter| emitter.descriptor().name == *name);
        found.ok_or_else(|| Failure::of(name, "the list", "there is no such emitter", ""))
    }

    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Returns a compiler with an additional choice. The choice has the syntax of `--emitter`. The
    /// effect of the choice is that of `--emitter` together with `--force`.
    ///
    /// # Errors
    /// If there is no such emitter.
    pub fn choosing(mut self, choice: &str) -> Result<Compiler, Failure> {
        let spec: Spec = choice.parse().map_err(|e| Failure::of(choice, "any machine", e, ""))?;
        let chosen =
            Override::resolve(&self.registry, &spec, true).map_err(|e| Failure::of(choice, "any machine", e, ""))?;
        self.overrides.extend(chosen);
        Ok(self)
    }

    /// Compiles a fusion (or a module) for the [cpu](Machine::cpu) and the [simulated
    /// GPU](Machine::simt). Runs the kernels on small integers. The bits of the results must equal
    /// those of the interpreter. Returns, for each machine, the names of the emitters that built
    /// the kernels.
    ///
    /// # Errors
    /// If compilation or a run fails, if a result differs, or if a result depends on the order in
    /// which simulated threads run.
    pub fn check(&self, text: &str) -> Result<[String; 2], Failure> {
        self.check_on(text, [Machine::cpu(), Machine::simt()])
    }

    /// Checks a fusion (or a module) like [`Compiler::check`], but on the machines `machines`.
    ///
    /// # Errors
    /// The errors of [`Compiler::check`].
    pub fn check_on<const N: usize>(&self, text: &str, machines: [Machine; N]) -> Result<[String; N], Failure> {
        let inputs = inputs(text, small_integers)?;
        let made = self.compared(text, machines, &inputs, Closeness::Bits)?;
        Ok(made.map(|made| made.emitters.join(" ")))
    }

    /// Compiles a fusion (or a module), runs it on the inputs `inputs`, and compares the results
    /// with those of the interpreter.
    ///
    /// # Errors
    /// The errors of [`Compiler::check`].
    pub fn compared<const N: usize>(
        &self,
        text: &str,
        machines: [Machine; N],
        inputs: &[ArrayLiteral],
        closeness: Closeness,
    ) -> Result<[Made; N], Failure> {
        let expected = interpreted(text, inputs)?;
        let mut made = Vec::with_capacity(N);
        for machine in machines {
            let found = self.run(text, &machine, inputs)?;
            let fault = |fault| Failure::of(&found.emitters.join(" "), &machine.device.name, fault, text);
            if let Some(warning) = found.compilation.warnings.first() {
                return Err(fault(warning.clone()));
            }
            if let Some(difference) = difference(&found.result, &expected, closeness) {
                return Err(fault(difference));
            }
            made.push(found);
        }
        made.try_into().map_err(|_| Failure::of("all", "all machines", "some are missing", text))
    }

    /// Compiles and runs a fusion (or a module). On the simulated GPU, runs the fusion twice, with
    /// the threads in different orders. The results of both runs must be equal.
    ///
    /// # Errors
    /// If compilation or a run fails, or if the results of the two orders differ.
    pub fn run(&self, text: &str, machine: &Machine, inputs: &[ArrayLiteral]) -> Result<Made, Failure> {
        let orders: &[ThreadOrder] = match machine.target.runner() {
            Some(Runner::Simulator) => &[ThreadOrder::Forward, ThreadOrder::Reverse],
            _ => &[ThreadOrder::Forward],
        };
        self.run_in_orders(text, machine, inputs, orders)
    }

    /// Compiles a fusion (or a module), and runs it once for each order of the threads in `orders`.
    /// The results of all runs must be equal.
    ///
    /// # Errors
    /// The errors of [`Compiler::run`].
    pub fn run_in_orders(
        &self,
        text: &str,
        machine: &Machine,
        inputs: &[ArrayLiteral],
        orders: &[ThreadOrder],
    ) -> Result<Made, Failure> {
        let mut compilation = self.compile(text, machine, Phase::Run)?;
        let emitters: Vec<String> = compilation.kernels.iter().map(|kernel| kernel.emitter.name.clone()).collect();
        let fault = |fault: String| Failure::of(&emitters.join(" "), &machine.device.name, fault, text);
        let executable = compilation.executable.take().ok_or_else(|| fault("there is no executable".into()))?;
        let mut result: Option<Literal> = None;
        for &order in orders {
            let options = fusebox_runtime::Options { threads: 2, order, ..Default::default() };
            let found = Compiler::execute(&executable, inputs, &options);
            let found = found.map_err(|e| fault(format!("{order:?}: {e}")))?;
            if result.as_ref().is_some_and(|before| *before != found) {
                return Err(fault(format!("other results when threads run in the order {order:?}")));
            }
            result = Some(found);
        }
        let result = result.ok_or_else(|| fault("it was not run".into()))?;
        Ok(Made { emitters, result, compilation })
    }

    /// Runs a program and returns its result.
    pub(crate) fn execute(
        executable: &Executable,
        inputs: &[ArrayLiteral],
        options: &fusebox_runtime::Options,
    ) -> Result<Literal, String> {
        let program = LoadedExecutable::open(executable.clone(), options).map_err(|error| error.to_string())?;
        program.run(inputs).map_err(|error| error.to_string())
    }

    /// Returns the PTX of a module's kernels. `capability` is the compute capability: 80, 90, ….
    ///
    /// # Errors
    /// If the module cannot be compiled.
    pub fn ptx(&self, text: &str, capability: u32) -> Result<String, Failure> {
        self.ptx_for(text, &Machine::new(Target::nvptx(capability), DeviceDescription::sm(capability)))
    }

    /// Returns the PTX of a module's kernels. The machine must be one that executes PTX.
    ///
    /// # Errors
    /// If the module cannot be compiled.
    pub fn ptx_for(&self, text: &str, machine: &Machine) -> Result<String, Failure> {
        let made = self.compile(text, machine, Phase::Code)?;
        let ptx = made.lowered.code.iter().filter_map(|code| match code {
            Code::Ptx(text) => Some(text.as_str()),
            _ => None,
        });
        Ok(ptx.collect())
    }

    /// Compiles the text of a module up to a phase.
    ///
    /// # Errors
    /// If the module cannot be compiled.
    pub fn compile(&self, text: &str, machine: &Machine, until: Phase) -> Result<Compilation, Failure> {
        self.compile_source(&Source::text("fusion.hlo", text), machine, until)
    }

    /// Compiles a module up to a phase.
    ///
    /// # Errors
    /// If the module cannot be compiled.
    pub fn compile_source(&self, source: &Source, machine: &Machine, until: Phase) -> Result<Compilation, Failure> {
        let (registry, overrides) = (self.registry.clone(), self.overrides.clone());
        let emitters = Emitters { registry, overrides, of_part: self.of_part, ..Emitters::default() };
        let options = Options::new(machine.target.clone(), machine.device.clone(), emitters, until);
        compile(source, &options).map_err(|e| {
            let text = String::from_utf8_lossy(&source.bytes);
            Failure::of("the emitters", &machine.device.name, e, &text)
        })
    }
}

/// Returns the reference interpreter's result.
///
/// # Errors
/// If the text is invalid, or the interpreter fails.
pub fn interpreted(text: &str, inputs: &[ArrayLiteral]) -> Result<Literal, Failure> {
    let module = parsed(text)?;
    let literals: Vec<Literal> = inputs.iter().cloned().map(Literal::Array).collect();
    let fault = |fault| Failure::of("the interpreter", "any machine", fault, text);
    fusebox_interpreter::evaluate(&module, &literals).map_err(fault)
}

/// Parses and verifies a module.
pub(crate) fn parsed(text: &str) -> Result<Module, Failure> {
    Source::text("fusion.hlo", text).parse().map_err(|fault| Failure::of("the parser", "any machine", fault, text))
}

/// Returns one input for each parameter of a module. `filled` creates an input from the parameter's
/// shape and number.
///
/// # Errors
/// If the text is invalid, or a parameter is not an array.
pub fn inputs(
    text: &str,
    mut filled: impl FnMut(&ArrayShape, u64) -> ArrayLiteral,
) -> Result<Vec<ArrayLiteral>, Failure> {
    let fault = |fault: &str| Failure::of("the parser", "any machine", fault, text);
    let module = parsed(text)?;
    let computation = module.entry_computation().ok_or_else(|| fault("there is no computation"))?;
    let shapes = computation.parameters().into_iter().map(|id| computation.instruction(id).shape.as_array());
    let mut arrays = Vec::new();
    for (number, shape) in shapes.enumerate() {
        arrays.push(filled(shape.ok_or_else(|| fault("a parameter is no array"))?, number as u64));
    }
    Ok(arrays)
}
