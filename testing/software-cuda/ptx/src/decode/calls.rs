//! Calls of functions. The decoder inlines a copy of a function at each call, so that the analyses
//! of a kernel see all code of the kernel. Parameters and results of a call are in local memory.

use std::collections::HashMap;

use super::names::Meaning;
use super::reader::Reader;
use super::{Decoder, Draft, MOST_BYTES, system};
use crate::code::{Guard, Kind, LOCAL_WINDOW, Step};
use crate::error::LoadError;
use crate::fault::Space;
use crate::text::{Declaration, Function, Instruction, Operand, Variable};

/// The label that follows a copy of a function.
const END: &str = "the end of the function";
/// Largest number of instructions of a kernel, including all copies of functions.
const MOST_INSTRUCTIONS: usize = 1 << 18;

/// The functions of a module, and the copies of functions that the decoder has begun.
pub struct Calls<'t> {
    functions: HashMap<&'t str, &'t Function<'t>>,
    /// Names of the declared functions that the system provides.
    system: Vec<&'t str>,
    /// Number of the copy that the decoder decodes now; 0 stands for the kernel itself.
    pub copy: u32,
    /// Number of copies so far.
    copies: u32,
    /// Names of the functions that are being copied.
    active: Vec<&'t str>,
    /// Size in bytes of each parameter or result of a call. The key is the generic address of the
    /// variable.
    sizes: HashMap<u64, u64>,
}

impl<'t> Calls<'t> {
    /// Fails if the module declares a function of the system with wrong types.
    pub fn new(functions: &'t [Function<'t>], declared: &'t [Declaration<'t>]) -> Result<Calls<'t>, LoadError> {
        let own = functions.iter().filter(|function| !function.is_kernel);
        let functions: HashMap<_, _> = own.map(|function| (function.name, function)).collect();
        let elsewhere = declared.iter().filter(|function| !functions.contains_key(function.name));
        let of_system: Vec<_> = elsewhere.filter(|function| system::has(function.name)).collect();
        of_system.iter().try_for_each(|function| system::check(function))?;
        let system = of_system.iter().map(|function| function.name).collect();
        Ok(Calls { functions, system, copy: 0, copies: 0, active: Vec::new(), sizes: HashMap::new() })
    }

    /// Whether a call names a function that the system provides.
    pub fn is_of_system(&self, instruction: &Instruction) -> bool {
        let mut names = instruction.operands.iter().filter_map(|operand| match operand {
            Operand::Name(name) => Some(*name),
            _ => None,
        });
        names.next().is_some_and(|name| self.system.contains(&name))
    }
}

/// `ret` in a function: a branch to the end of the copy.
pub fn returned<'t>(reader: &mut Reader<'_, 't>) -> Result<(Kind, Vec<&'t str>), LoadError> {
    reader.choose(&[("uni", ())]);
    reader.finish(0)?;
    Ok((Kind::Branch { target: 0, reconverge: 0 }, vec![END]))
}

fn bytes(variable: &Variable) -> u64 {
    u64::from(variable.ty.bytes()) * variable.count.unwrap_or(0)
}

impl<'t> Decoder<'t> {
    /// Declares a variable for a parameter or a result of a call.
    pub fn parameter_of_call(&mut self, variable: &'t Variable<'t>) -> Result<(), LoadError> {
        let error = |message: String| Err(LoadError::new(variable.line, message));
        let bytes = bytes(variable);
        if !variable.alignment.is_power_of_two() || bytes == 0 || bytes > MOST_BYTES {
            return error(format!("the size or the alignment of {} is not allowed", variable.name));
        }
        let place = self.local.next_multiple_of(variable.alignment);
        self.local = place + bytes;
        let address = LOCAL_WINDOW + place;
        if !self.names.define_variable(variable.name, Space::Parameter, address) {
            return error(format!("{} is declared twice", variable.name));
        }
        self.calls.sizes.insert(address, bytes);
        Ok(())
    }

    /// `call`: inlines a copy of the called function.
    pub fn call(&mut self, instruction: &'t Instruction<'t>) -> Result<(), LoadError> {
        let error = |message: String| Err(LoadError::new(instruction.line, message));
        if !matches!(instruction.modifiers[..], [] | ["uni"]) {
            return error(format!("call.{} is not supported", instruction.modifiers.join(".")));
        }
        let none: &[Operand] = &[];
        let (results, name, parameters) = match &instruction.operands[..] {
            [Operand::List(results), Operand::Name(name), Operand::List(parameters)] => {
                (&results[..], *name, &parameters[..])
            }
            [Operand::List(results), Operand::Name(name)] => (&results[..], *name, none),
            [Operand::Name(name), Operand::List(parameters)] => (none, *name, &parameters[..]),
            [Operand::Name(name)] => (none, *name, none),
            _ => return error("calls of functions whose name is in a register are not supported".into()),
        };
        let Some(&function) = self.calls.functions.get(name) else {
            return error(format!("the function {name} is not defined in the module"));
        };
        if self.calls.active.contains(&name) {
            return error(format!("the function {name} calls itself, which is not supported"));
        }
        let results = self.addresses(instruction, results, &function.results)?;
        let parameters = self.addresses(instruction, parameters, &function.parameters)?;
        let copy = self.calls.copies + 1;
        self.skip_unless_guarded(instruction, copy)?;
        self.calls.copies = copy;
        let (outer_copy, outer) = (std::mem::replace(&mut self.calls.copy, copy), self.names.leave());
        self.calls.active.push(name);
        self.names.open();
        let variables = function.results.iter().chain(&function.parameters);
        for (variable, address) in variables.zip(results.into_iter().chain(parameters)) {
            self.names.define_variable(variable.name, Space::Parameter, address);
        }
        self.names.open();
        self.copied(function)?;
        self.calls.active.pop();
        self.names.enter(outer);
        self.calls.copy = outer_copy;
        Ok(())
    }

    fn copied(&mut self, function: &'t Function<'t>) -> Result<(), LoadError> {
        for statement in &function.body {
            self.statement(statement)?;
            if self.drafts.len() > MOST_INSTRUCTIONS {
                return Err(LoadError::new(function.line, "the kernel calls functions too often"));
            }
        }
        let ends = |last: &Draft| {
            last.guard.is_none() && matches!(last.step.kind, Kind::Branch { .. } | Kind::Exit | Kind::Trap)
        };
        if !self.drafts.last().is_some_and(ends) {
            return Err(LoadError::new(function.end, format!("the function {} does not end with ret", function.name)));
        }
        self.labels.insert((self.calls.copy, END), self.drafts.len());
        Ok(())
    }

    /// Adds a branch by which the threads whose guard does not hold skip a copy.
    fn skip_unless_guarded(&mut self, instruction: &'t Instruction<'t>, copy: u32) -> Result<(), LoadError> {
        let Some(guard) = instruction.guard else { return Ok(()) };
        let (capability, version) = ((self.target.capability, self.target.is_specific), self.target.version);
        let mut reader = Reader::new(instruction, &mut self.names, capability, version);
        let Guard { predicate, is_negated } = reader.predicate_named(guard.register, guard.is_negated)?;
        let uses = std::mem::take(&mut reader.uses);
        let guard = Some(Guard { predicate, is_negated: !is_negated });
        let kind = Kind::Branch { target: 0, reconverge: 0 };
        let step = Step { guard, kind, line: instruction.line, class: Some("branches"), location: self.location };
        self.drafts.push(Draft { step, guard, uses, passed: None, targets: vec![(copy, END)] });
        Ok(())
    }

    /// Returns the addresses of the variables that a call passes.
    fn addresses(
        &self,
        instruction: &Instruction,
        passed: &[Operand<'t>],
        declared: &[Variable<'t>],
    ) -> Result<Vec<u64>, LoadError> {
        let error = |message: String| LoadError::new(instruction.line, message);
        if passed.len() != declared.len() {
            let (found, wanted) = (passed.len(), declared.len());
            return Err(error(format!("the call passes {found} variables; the function has {wanted}")));
        }
        let address = |(operand, variable): (&Operand<'t>, &Variable<'t>)| {
            let found = match operand {
                Operand::Name(name) => self.names.find(name),
                _ => None,
            };
            let Some(Meaning::Variable { space: Space::Parameter, address }) = found else {
                return Err(error(format!(
                    "{operand:?} is no .param variable, and nothing else can be passed to a function"
                )));
            };
            match self.calls.sizes.get(&address) {
                Some(&size) if size == bytes(variable) => Ok(address),
                Some(size) => {
                    let (name, wanted) = (variable.name, bytes(variable));
                    Err(error(format!("{name} has {wanted} bytes, but the call passes {size}")))
                }
                None => Err(error(format!("{operand:?} is a parameter of the kernel, which cannot be passed on"))),
            }
        };
        passed.iter().zip(declared).map(address).collect()
    }
}
