//! What emitters ask for where one of their operations decides a kernel.
//!
//! Asked are those that name the operation's opcode among their heroes. Answers are remembered by form: operation,
//! attributes and shapes.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use fusebox_core::analysis::{self, hero_of};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Candidate, Claim, Fusion, HeroPlace, KernelKind};
use fusebox_core::hlo::{Computation, ComputationId, InstrId, Instruction, Module, Opcode, Shape, canonical_text};

use super::executor::{Executor, executor};
use crate::host_module;
use crate::select::{Emitters, ask, planned};

/// Asks emitters about the operations of one module.
pub struct Claims<'a> {
    device: &'a DeviceDescription,
    emitters: &'a Emitters,
    claimants: HashMap<Opcode, Rc<[usize]>>,
    answers: HashMap<String, Option<Rc<Hero>>>,
    /// By form of the kernel: seconds by the emitter that is best at it, or why there are none.
    seconds: RefCell<HashMap<String, Result<f64, String>>>,
    /// Emitters that gave no usable answer, each failure once.
    pub warnings: Vec<String>,
}

/// The claim that counts for an operation.
#[derive(Debug)]
struct Hero {
    /// Kind of the emitter whose claim it is.
    kind: KernelKind,
    claim: Claim,
}

/// The operations of one computation for which an emitter asks for something.
#[derive(Debug, Default)]
pub struct Heroes(HashMap<InstrId, Rc<Hero>>);

impl<'a> Claims<'a> {
    /// For these emitters.
    pub fn new(device: &'a DeviceDescription, emitters: &'a Emitters) -> Claims<'a> {
        Claims {
            device,
            emitters,
            claimants: HashMap::new(),
            answers: HashMap::new(),
            seconds: RefCell::default(),
            warnings: Vec::new(),
        }
    }

    /// The device that emitters are asked about.
    pub fn device(&self) -> &'a DeviceDescription {
        self.device
    }

    /// The emitters that are asked.
    pub fn emitters(&self) -> &'a Emitters {
        self.emitters
    }

    /// Seconds that a kernel is predicted to take by the emitter that is best at it; each form of a
    /// kernel is planned once.
    ///
    /// # Errors
    /// In words, if no emitter plans it.
    pub fn seconds(&self, fusion: &Fusion) -> Result<f64, String> {
        let form = canonical_text(&fusion.module);
        if let Some(known) = self.seconds.borrow().get(&form) {
            return known.clone();
        }
        let seconds = planned(fusion, self.device, self.emitters, None).map(|prediction| prediction.seconds);
        self.seconds.borrow_mut().insert(form, seconds.clone());
        seconds
    }

    /// What is asked for in a computation.
    pub fn of(&mut self, module: &Module, id: ComputationId) -> Heroes {
        let computation = module.computation(id);
        let hero = |id| Some((id, self.hero(module, computation, id)?));
        Heroes(computation.ids().filter_map(hero).collect())
    }

    fn hero(&mut self, module: &Module, computation: &Computation, id: InstrId) -> Option<Rc<Hero>> {
        let instruction = computation.instruction(id);
        let shapes: Vec<Shape> =
            instruction.operands.iter().map(|&operand| computation.instruction(operand).shape.clone()).collect();
        self.hero_alone(module, instruction, &shapes)
    }

    /// Whether an emitter would make a kernel of an instruction of the module, which may not stand there yet.
    pub fn is_claimed(&mut self, module: &Module, instruction: &Instruction, operands: &[Shape]) -> bool {
        self.hero_alone(module, instruction, operands).is_some()
    }

    fn hero_alone(&mut self, module: &Module, instruction: &Instruction, shapes: &[Shape]) -> Option<Rc<Hero>> {
        let emitters = self.emitters;
        let opcode = instruction.opcode();
        let claimants = self.claimants.entry(opcode).or_insert_with(|| emitters.claimants(opcode).into()).clone();
        if claimants.is_empty() {
            return None;
        }
        let arrays = |shape: &Shape| shape.leaves().iter().all(|leaf| leaf.as_array().is_some());
        let may_be_kernel = matches!(executor(instruction), Executor::Kernel | Executor::Host)
            && arrays(&instruction.shape)
            && shapes.iter().all(|shape| shape.as_array().is_some());
        if !may_be_kernel {
            return None;
        }
        let alone = host_module::of(module, instruction, shapes);
        let form = canonical_text(&alone);
        if let Some(known) = self.answers.get(&form) {
            return known.clone();
        }
        let hero = Fusion::new(opcode.name(), alone).and_then(|region| self.best(&claimants, region)).map(Rc::new);
        self.answers.insert(form, hero.clone());
        hero
    }

    /// Of several claims, the one of the emitter that says the most is lost without its kernel, then the first. An emitter
    /// that the user has replaced for its kind is asked if those in its place claim nothing: they take the kernels there are.
    fn best(&mut self, claimants: &[usize], region: Fusion) -> Option<Hero> {
        let anchor = region.computation().root;
        let is_elemental = region.computation().instruction(anchor).op.is_elemental();
        let candidate = Candidate { region, anchor };
        let mut best: Option<Hero> = None;
        let mut claimed: Vec<usize> = Vec::new();
        for &number in claimants {
            let in_its_place = self.emitters.replaced_by(number).unwrap_or_default();
            if in_its_place.iter().any(|other| claimed.contains(other)) {
                continue;
            }
            let emitter = &self.emitters.registry.emitters()[number];
            let mut claim = match ask(|| emitter.claim(&candidate, self.device)) {
                Ok(Some(claim)) => claim,
                Ok(None) => continue,
                Err(failure) => {
                    let failure = failure.to_string();
                    if !self.warnings.contains(&failure) {
                        self.warnings.push(failure);
                    }
                    continue;
                }
            };
            claimed.push(number);
            if !is_elemental || self.emitters.is_in_charge(number) {
                // No other kernel can compute its elements one by one, or the user wants kernels of this emitter.
                (claim.lost_inside, claim.lost_beside) = (f64::INFINITY, f64::INFINITY);
            }
            if best.as_ref().is_none_or(|best| most_lost(&claim) > most_lost(&best.claim)) {
                best = Some(Hero { kind: emitter.descriptor().kind.clone(), claim });
            }
        }
        best
    }
}

/// What emitters regard as the hero of each root of a fusion, and the kind of those who do.
pub fn heroes(
    fusion: &Fusion,
    device: &DeviceDescription,
    emitters: &Emitters,
) -> Vec<(analysis::Hero, Option<KernelKind>)> {
    let heroes = Claims::new(device, emitters).of(&fusion.module, fusion.entry());
    let of_root = |&root: &InstrId| {
        let found = hero_of(fusion.computation(), root, |id| heroes.form(id, id == root));
        let kind = found.instruction.and_then(|id| heroes.0.get(&id)).map(|hero| hero.kind.clone());
        (found, kind)
    };
    fusion.roots.iter().map(of_root).collect()
}

fn most_lost(claim: &Claim) -> f64 {
    claim.lost_inside.max(claim.lost_beside)
}

impl Heroes {
    /// What is asked for where this instruction decides a kernel.
    pub fn claim(&self, id: InstrId) -> Option<&Claim> {
        self.0.get(&id).map(|hero| &hero.claim)
    }

    /// The same if an epilogue may follow.
    pub fn claim_before_epilogue(&self, id: InstrId) -> Option<&Claim> {
        self.claim(id).filter(|claim| claim.place == HeroPlace::BeforeEpilogue)
    }

    /// Whether one kernel serves both.
    pub fn go_together(&self, a: InstrId, b: InstrId) -> bool {
        self.form(a, true).is_some_and(|form| !form.1.is_empty() && self.form(b, true) == Some(form))
    }

    /// Equal for what one kernel serves; `None` for what is no hero there.
    fn form(&self, id: InstrId, is_root: bool) -> Option<(&KernelKind, &str)> {
        let hero = self.0.get(&id).filter(|hero| is_root || hero.claim.place == HeroPlace::BeforeEpilogue)?;
        Some((&hero.kind, &hero.claim.form))
    }

    /// Whether a kernel computes the instruction where it has a buffer of its own.
    pub fn is_kernel(&self, computation: &Computation, id: InstrId) -> bool {
        executor(computation.instruction(id)) == Executor::Kernel || self.0.contains_key(&id)
    }

    /// The operands that the results start from.
    pub fn initial_values<'c>(&self, computation: &'c Computation, id: InstrId) -> &'c [InstrId] {
        let count = self.claim(id).map_or(0, |claim| claim.starts_from);
        &computation.instruction(id).operands[..count]
    }

    /// Whether `operand` is what the root of a kernel updates: it stays in a buffer, so that the update can be made there.
    pub fn is_updated_in_place(&self, computation: &Computation, root: InstrId, operand: InstrId) -> bool {
        self.updated_in_place(computation, root).contains(&operand)
    }

    /// What the root of a kernel updates.
    pub fn updated_in_place<'c>(&self, computation: &'c Computation, root: InstrId) -> &'c [InstrId] {
        let count = self.claim(root).map_or(0, |claim| claim.starts_from.max(claim.updates));
        &computation.instruction(root).operands[..count]
    }
}
