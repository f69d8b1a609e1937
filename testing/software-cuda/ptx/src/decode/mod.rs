//! Decodes kernels: resolves names and types, and chooses a function for each instruction.

mod approximate;
mod atomics;
mod calls;
mod carry;
mod compare;
mod convert;
mod copies;
mod demand;
mod float;
mod flow;
mod group;
mod instruction;
mod integer;
mod matrix;
mod memory;
mod names;
mod phases;
mod reader;
mod system;
mod warp;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::code::{Access, Code, Constant, CopyStep, GroupStep, Guard, Kind, Matrix, PhaseStep, Step, Tracked};
use crate::error::LoadError;
use crate::fault::Space;
use crate::text::{Declaration, Function, Instruction, Operand, Statement, Variable};
use calls::Calls;
use demand::{Passed, Reading};
use flow::Flow;
use names::{Names, Slot};
use reader::{Reader, Uses};

/// The target that a module states.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub capability: u32,
    /// Whether the target allows instructions that exist on its own architecture only.
    pub is_specific: bool,
    pub version: u32,
}

/// A kernel's code and the memory that its variables need.
#[derive(Debug)]
pub struct Decoded {
    pub code: Code,
    pub shared_bytes: u32,
    pub local_bytes: u32,
}

/// A variable of the module, which all kernels can access.
#[derive(Clone, Debug)]
pub struct ModuleVariable<'t> {
    pub variable: &'t Variable<'t>,
    pub space: Space,
    /// The address, for variables in global and constant memory.
    pub address: u64,
}

/// An instruction with its control flow. The targets of a branch are labels, until the decoder
/// knows the positions of all labels.
struct Draft<'t> {
    step: Step,
    guard: Option<Guard>,
    uses: Uses,
    /// The bits that the instruction passes on, as [`demand::passed`] returns them.
    passed: Option<Vec<Passed>>,
    targets: Vec<Label<'t>>,
}

/// A label, and the number of the function's copy that contains it. The number 0 stands for the
/// kernel itself.
type Label<'t> = (u32, &'t str);

struct Decoder<'t> {
    names: Names<'t>,
    target: Target,
    drafts: Vec<Draft<'t>>,
    labels: HashMap<Label<'t>, usize>,
    tables: HashMap<Label<'t>, Vec<&'t str>>,
    calls: Calls<'t>,
    /// The bytes that the next load uses, as a pragma states.
    used: Option<u64>,
    location: Option<(u64, u64)>,
    shared: u64,
    local: u64,
    parameter_bytes: u64,
    sites: u32,
}

/// Largest size in bytes of a variable of a kernel.
const MOST_BYTES: u64 = 1 << 24;

/// Decodes a kernel. The `reserved` bytes of shared memory, which the system uses, precede the
/// kernel's shared memory.
pub fn decode<'t>(
    function: &'t Function<'t>,
    functions: &'t [Function<'t>],
    declared: &'t [Declaration<'t>],
    variables: &[ModuleVariable<'t>],
    target: Target,
    reserved: u32,
    text: &Arc<str>,
) -> Result<Decoded, LoadError> {
    let mut decoder = Decoder {
        names: Names::default(),
        target,
        drafts: Vec::new(),
        labels: HashMap::new(),
        tables: HashMap::new(),
        calls: Calls::new(functions, declared)?,
        used: None,
        location: None,
        shared: u64::from(reserved),
        local: 0,
        parameter_bytes: 0,
        sites: 0,
    };
    decoder.names.open();
    for ModuleVariable { variable, space, address } in variables {
        match space {
            Space::Shared => decoder.variable(variable)?,
            _ => drop(decoder.names.define_variable(variable.name, *space, *address)),
        }
    }
    decoder.names.open();
    let mut offset = 0;
    for parameter in &function.parameters {
        let bytes = u64::from(parameter.ty.bytes()) * parameter.count.unwrap_or(1);
        offset = u64::next_multiple_of(offset, parameter.alignment.max(1));
        decoder.names.define_variable(parameter.name, Space::Parameter, offset);
        offset += bytes;
    }
    decoder.parameter_bytes = offset;
    decoder.names.open();
    function.body.iter().try_for_each(|statement| decoder.statement(statement))?;
    decoder.finish(function, text, reserved)
}

impl<'t> Decoder<'t> {
    fn statement(&mut self, statement: &'t Statement<'t>) -> Result<(), LoadError> {
        match statement {
            Statement::Open => self.names.open(),
            Statement::Close => drop(self.names.close()),
            Statement::Label(name, line) => {
                if self.labels.insert((self.calls.copy, name), self.drafts.len()).is_some() {
                    return Err(LoadError::new(*line, format!("the label {name} is defined twice")));
                }
            }
            Statement::Targets(name, labels) => {
                self.tables.insert((self.calls.copy, name), labels.clone());
            }
            // Line 0 means that the source is not known.
            Statement::Location(file, line) => self.location = (*line > 0).then_some((*file, *line)),
            Statement::Pragma(text, line) => self.pragma(text, *line)?,
            Statement::Registers(ty, names, line) => {
                names.iter().try_for_each(|(name, count)| self.names.declare(*ty, name, *count, *line))?;
            }
            Statement::Variable(variable) => self.variable(variable)?,
            Statement::Instruction(instruction) => self.instruction(instruction)?,
        }
        Ok(())
    }

    fn pragma(&mut self, text: &str, line: u32) -> Result<(), LoadError> {
        if let Some(mask) = text.strip_prefix("used_bytes_mask ") {
            let digits = mask.trim().trim_start_matches("0x");
            let parsed = u64::from_str_radix(digits, 16);
            self.used = Some(parsed.map_err(|_| LoadError::new(line, format!("{mask} is not a mask of bytes")))?);
        }
        Ok(())
    }

    fn variable(&mut self, variable: &'t Variable<'t>) -> Result<(), LoadError> {
        let error = |message: String| Err(LoadError::new(variable.line, message));
        let bytes = u64::from(variable.ty.bytes()) * variable.count.unwrap_or(0);
        let (space, end) = match variable.space {
            "shared" => (Space::Shared, &mut self.shared),
            "local" => (Space::Local, &mut self.local),
            "param" => return self.parameter_of_call(variable),
            other => return error(format!("variables in .{other} memory are not supported in a kernel")),
        };
        if !variable.alignment.is_power_of_two() || bytes > MOST_BYTES {
            return error(format!("the size or the alignment of {} is not allowed", variable.name));
        }
        let address = end.next_multiple_of(variable.alignment);
        *end = address + bytes;
        if !self.names.define_variable(variable.name, space, address) {
            return error(format!("{} is declared twice", variable.name));
        }
        Ok(())
    }

    fn instruction(&mut self, instruction: &'t Instruction<'t>) -> Result<(), LoadError> {
        if instruction.mnemonic == "call" && !self.calls.is_of_system(instruction) {
            return self.call(instruction);
        }
        let Target { capability, is_specific, version } = self.target;
        let mut reader = Reader::new(instruction, &mut self.names, (capability, is_specific), version);
        let guard = match instruction.guard {
            Some(guard) => Some(reader.predicate_named(guard.register, guard.is_negated)?),
            None => None,
        };
        let (mut kind, targets) = match instruction.mnemonic {
            "bra" => branch(&mut reader)?,
            "brx" => {
                let (tables, copy) = (&self.tables, self.calls.copy);
                indexed_branch(&mut reader, |name| tables.get(&(copy, name)))?
            }
            "ret" if self.calls.copy != 0 => calls::returned(&mut reader)?,
            _ => (instruction::decode(&mut reader)?, Vec::new()),
        };
        let uses = std::mem::take(&mut reader.uses);
        let used = self.used.take();
        if let Some(access) = access_of(&mut kind) {
            access.used = used;
            access.site = self.sites;
            self.sites += 1;
        }
        let class = Some(instruction::class(instruction.mnemonic, &instruction.modifiers));
        let step = Step { guard, kind, line: instruction.line, class, location: self.location };
        let targets = targets.into_iter().map(|label| (self.calls.copy, label)).collect();
        let passed = demand::passed(instruction, &self.names);
        self.drafts.push(Draft { step, guard, uses, passed, targets });
        Ok(())
    }

    /// Marks for each load which bytes have an effect. LLVM loads a vector of four elements for an
    /// array of three; the bytes of the fourth element may have any value.
    fn forget_idle_bytes(&mut self) {
        let read = |draft: &'_ Draft<'t>| (draft.uses.reads.clone(), draft.passed.clone());
        let code: Vec<_> = self.drafts.iter().map(read).collect();
        let code: Vec<Reading> = code.iter().map(|(reads, passed)| Reading { reads, passed }).collect();
        let deciding = demand::deciding(&code, self.names.registers.len());
        for draft in &mut self.drafts {
            let Kind::Load(access) = &mut draft.step.kind else { continue };
            if let Some(used) = demand::deciding_bytes(access, &deciding) {
                access.used = Some(access.used.unwrap_or(u64::MAX) & used);
            }
        }
    }

    /// Resolves labels, and adds the checks that need knowledge of the control flow.
    fn finish(mut self, function: &Function, text: &Arc<str>, reserved: u32) -> Result<Decoded, LoadError> {
        self.forget_idle_bytes();
        let labels = &self.labels;
        let end = self.drafts.len();
        let resolved = |draft: &Draft| {
            let resolve = |label: &Label| match labels.get(label) {
                Some(&at) if at < end => Ok(at),
                Some(_) => Err(LoadError::new(function.end, format!("no instruction follows the label {}", label.1))),
                None => Err(LoadError::new(draft.step.line, format!("the label {} is not defined", label.1))),
            };
            draft.targets.iter().map(resolve).collect::<Result<Vec<_>, _>>()
        };
        let mut flows = Vec::with_capacity(end);
        for draft in &self.drafts {
            let is_guarded = draft.guard.is_some();
            let (falls_through, ends) = match draft.step.kind {
                Kind::Branch { .. } | Kind::BranchIndexed { .. } => (is_guarded, false),
                // Threads that end leave the others, and need not meet them again.
                Kind::Exit | Kind::Trap => (is_guarded, !is_guarded),
                _ => (true, false),
            };
            let targets = resolved(draft)?;
            flows.push(Flow { uses: draft.uses.clone(), targets, falls_through, ends, is_guarded });
        }
        if flows.last().is_none_or(|last| last.falls_through) {
            return Err(LoadError::new(function.end, "the kernel does not end with ret or exit"));
        }
        let analyses = flow::analyse(&flows);
        for (_, constant) in self.names.constants() {
            if let Constant::Parameter { offset, bytes, .. } = constant
                && u64::from(offset) + u64::from(bytes) > self.parameter_bytes
            {
                return Err(LoadError::new(function.line, format!("byte {offset} is beyond the parameters")));
            }
        }
        let code = self.assembled(&flows, analyses, text);
        Ok(Decoded { code, shared_bytes: self.shared as u32 - reserved, local_bytes: self.local as u32 })
    }

    /// Returns the code, with added checks of the registers that an instruction might read before
    /// they are written.
    fn assembled(&self, flows: &[Flow], analyses: Vec<flow::Analysis>, text: &Arc<str>) -> Code {
        let mut tracked: HashMap<Slot, u32> = HashMap::new();
        let mut names = Vec::new();
        for slot in analyses.iter().flat_map(|analysis| &analysis.unwritten) {
            tracked.entry(*slot).or_insert_with(|| {
                names.push(Tracked { name: self.name(*slot) });
                names.len() as u32 - 1
            });
        }
        let written = |flow: &Flow| -> Vec<u32> {
            flow.uses.writes.iter().filter_map(|slot| tracked.get(slot).copied()).collect()
        };
        let of_groups = self.registers_of_groups();
        let settled = |draft: &Draft| -> Vec<Kind> {
            if of_groups.is_empty() || matches!(draft.step.kind, Kind::Group(_)) {
                return Vec::new();
            }
            let (reads, writes) = (draft.uses.reads.iter(), draft.uses.writes.iter());
            let all = reads.map(|slot| (slot, false)).chain(writes.map(|slot| (slot, true)));
            all.filter(|(slot, _)| of_groups.contains(slot))
                .filter_map(|(slot, is_written)| match slot {
                    Slot::Register(register) => Some(Kind::Settled { register: *register, is_written }),
                    Slot::Predicate(_) => None,
                })
                .collect()
        };
        // Number of the first step of each instruction.
        let mut first = Vec::with_capacity(flows.len());
        let mut next = 0;
        for ((draft, flow), analysis) in self.drafts.iter().zip(flows).zip(&analyses) {
            first.push(next);
            let checks = analysis.unwritten.len() + settled(draft).len();
            next += (checks + 1 + written(flow).len()) as u32;
        }
        let mut steps = Vec::with_capacity(next as usize);
        for ((draft, flow), analysis) in self.drafts.iter().zip(flows).zip(analyses) {
            let around = |kind: Kind, guard| Step {
                guard,
                kind,
                line: draft.step.line,
                class: None,
                location: draft.step.location,
            };
            for slot in &analysis.unwritten {
                // The guard itself is read by every thread.
                let is_guard = draft.guard.is_some_and(|guard| Slot::Predicate(guard.predicate) == *slot);
                let guard = draft.guard.filter(|_| !is_guard);
                steps.push(around(Kind::Check(tracked[slot]), guard));
            }
            steps.extend(settled(draft).into_iter().map(|kind| around(kind, draft.guard)));
            let meets = analysis.meets.map_or(u32::MAX, |at| first[at]);
            let targets: Vec<u32> = flow.targets.iter().map(|target| first[*target]).collect();
            steps.push(Step { kind: placed(&draft.step.kind, &targets, meets), ..draft.step.clone() });
            steps.extend(written(flow).into_iter().map(|number| around(Kind::Mark(number), draft.guard)));
        }
        Code {
            steps,
            registers: self.names.registers.len(),
            predicates: self.names.predicates.len(),
            constants: self.names.constants(),
            tracked: names,
            sites: self.sites as usize,
            text: text.clone(),
        }
    }

    /// Returns the registers that matrix products of groups of warps access while other
    /// instructions execute.
    fn registers_of_groups(&self) -> HashSet<Slot> {
        let products = self.drafts.iter().filter_map(|draft| match &draft.step.kind {
            Kind::Group(GroupStep::Product(product)) => Some(product.registers()),
            _ => None,
        });
        products.flatten().map(Slot::Register).collect()
    }

    fn name(&self, slot: Slot) -> String {
        match slot {
            Slot::Register(register) => self.names.registers[register as usize].clone(),
            Slot::Predicate(predicate) => self.names.predicates[predicate as usize].clone(),
        }
    }
}

/// Returns the memory access of an instruction, if it has one.
fn access_of(kind: &mut Kind) -> Option<&mut Access> {
    match kind {
        Kind::Load(access) | Kind::Store(access) => Some(access),
        Kind::Atomic(atomic) => Some(&mut atomic.access),
        Kind::Copy(CopyStep::Start(copy)) => Some(&mut copy.from),
        Kind::Phase(step) => match &mut **step {
            PhaseStep::Load { from: access, .. } | PhaseStep::Store { to: access, .. } => Some(access),
            _ => None,
        },
        Kind::Matrix(matrix) => match &mut **matrix {
            Matrix::Move { access, .. } => Some(access),
            Matrix::Product(_) => None,
        },
        _ => None,
    }
}

/// Returns a copy of an instruction, in which a branch has its resolved targets.
fn placed(kind: &Kind, targets: &[u32], reconverge: u32) -> Kind {
    match kind {
        Kind::Branch { .. } => Kind::Branch { target: targets[0], reconverge },
        Kind::BranchIndexed { index, .. } => Kind::BranchIndexed { index: *index, targets: targets.into(), reconverge },
        other => other.clone(),
    }
}

/// `bra`.
fn branch<'t>(reader: &mut Reader<'_, 't>) -> Result<(Kind, Vec<&'t str>), LoadError> {
    reader.choose(&[("uni", ())]);
    reader.finish(1)?;
    match reader.operand(0)? {
        Operand::Name(label) => Ok((Kind::Branch { target: 0, reconverge: 0 }, vec![*label])),
        _ => reader.error("the target of bra is not a label"),
    }
}

/// `brx.idx`.
fn indexed_branch<'t: 'd, 'd>(
    reader: &mut Reader<'_, 't>,
    table: impl Fn(&'t str) -> Option<&'d Vec<&'t str>>,
) -> Result<(Kind, Vec<&'t str>), LoadError> {
    if !reader.take("idx") {
        return reader.unknown();
    }
    reader.choose(&[("uni", ())]);
    reader.finish(2)?;
    let index = reader.source(0, crate::text::Type::U(32))?;
    let labels = match reader.operand(1)? {
        Operand::Name(name) => table(name),
        _ => None,
    };
    match labels {
        Some(labels) => Ok((Kind::BranchIndexed { index, targets: Box::default(), reconverge: 0 }, labels.clone())),
        None => reader.error("the targets of brx.idx are not declared"),
    }
}
