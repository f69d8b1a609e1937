//! Collects the claims of emitters for operations that may be heroes.
//!
//! Only emitters whose heroes include the operation's opcode are asked. The answers are cached. The
//! cache key of an answer is the operation's form: opcode, attributes and shapes.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use fusebox_core::analysis::{self, hero_of};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Candidate, Claim, Fusion, HeroPlace, KernelKind, Parts};
use fusebox_core::hlo::{Computation, ComputationId, InstrId, Instruction, Module, Opcode, Shape, canonical_text};
use fusebox_edit::instruction_as_module;
use fusebox_plugins::KnownPlans;

use super::executor::{Executor, executor};
use crate::emitters::{Emitters, ask, planned};

/// Asks emitters which operations of one module they claim.
pub struct Claims<'a> {
    device: &'a DeviceDescription,
    emitters: &'a Emitters,
    known: &'a KnownPlans,
    claimants: HashMap<Opcode, Rc<[usize]>>,
    answers: HashMap<String, Option<Rc<SelectedClaim>>>,
    /// Cached predictions. The cache key is the form of the kernel. The cached value is the
    /// predicted seconds with the best emitter, or the reason why no emitter plans the kernel.
    seconds: RefCell<HashMap<String, Result<f64, String>>>,
    /// Failures of emitters, without repetitions.
    pub warnings: Vec<String>,
}

/// The claim that was selected for an operation.
#[derive(Debug)]
struct SelectedClaim {
    /// Kind of the claim's emitter.
    kind: KernelKind,
    claim: Claim,
}

/// The operations that emitters claim in one computation.
#[derive(Debug, Default)]
pub struct Heroes(HashMap<InstrId, Rc<SelectedClaim>>);

impl<'a> Claims<'a> {
    /// Creates an empty cache for these emitters. `known` are plans of the same emitters for the
    /// same device.
    pub fn new(device: &'a DeviceDescription, emitters: &'a Emitters, known: &'a KnownPlans) -> Claims<'a> {
        Claims {
            device,
            emitters,
            known,
            claimants: HashMap::new(),
            answers: HashMap::new(),
            seconds: RefCell::default(),
            warnings: Vec::new(),
        }
    }

    /// Returns the device for which emitters claim and predict.
    pub fn device(&self) -> &'a DeviceDescription {
        self.device
    }

    /// Returns the emitters that are asked for claims.
    pub fn emitters(&self) -> &'a Emitters {
        self.emitters
    }

    /// Returns the known plans of these emitters.
    pub fn known(&self) -> &'a KnownPlans {
        self.known
    }

    /// Predicts the seconds of a kernel with its best emitter. Plans each form of a kernel once.
    ///
    /// # Errors
    /// Returns a message if no emitter plans the kernel.
    pub fn seconds(&self, mut fusion: Fusion) -> Result<f64, String> {
        let form = canonical_text(&fusion.module);
        if let Some(known) = self.seconds.borrow().get(&form) {
            return known.clone();
        }
        let known = self.known.of_form(form.clone(), &mut fusion);
        let seconds = planned(&fusion, self.device, self.emitters, None, &known).map(|prediction| prediction.seconds);
        self.seconds.borrow_mut().insert(form, seconds.clone());
        seconds
    }

    /// Collects the claims for a computation.
    pub fn of(&mut self, module: &Module, id: ComputationId) -> Heroes {
        let computation = module.computation(id);
        let hero = |id| Some((id, self.claim_for(module, computation, id).filter(SelectedClaim::is_of_a_hero)?));
        Heroes(computation.ids().filter_map(hero).collect())
    }

    fn claim_for(&mut self, module: &Module, computation: &Computation, id: InstrId) -> Option<Rc<SelectedClaim>> {
        let instruction = computation.instruction(id);
        let shapes: Vec<Shape> =
            instruction.operands.iter().map(|&operand| computation.instruction(operand).shape.clone()).collect();
        self.hero_alone(module, instruction, &shapes)
    }

    /// Whether an emitter claims an instruction of a computation as a hero.
    pub fn is_hero(&mut self, module: &Module, computation: &Computation, id: InstrId) -> bool {
        self.claim_for(module, computation, id).as_ref().is_some_and(SelectedClaim::is_of_a_hero)
    }

    /// Whether an emitter claims an instruction. The instruction need not be in the module yet.
    pub fn is_claimed(&mut self, module: &Module, instruction: &Instruction, operands: &[Shape]) -> bool {
        self.hero_alone(module, instruction, operands).as_ref().is_some_and(SelectedClaim::is_of_a_hero)
    }

    /// Returns an order of an operand's dimensions in which a kernel reads the operand faster. The
    /// emitter that claims the instruction states the order. `None` if the emitter states only the
    /// current order, or none.
    pub fn order_of_operand(
        &mut self,
        module: &Module,
        computation: &Computation,
        id: InstrId,
        operand: usize,
    ) -> Option<Vec<i64>> {
        let claim = self.claim_for(module, computation, id)?;
        claim.claim.orders.get(operand).filter(|order| !order.is_sorted()).cloned()
    }

    /// Returns the parts into which a reduction is to be divided, as the emitter that claims the
    /// reduction states.
    pub fn parts(&mut self, module: &Module, computation: &Computation, id: InstrId) -> Option<Parts> {
        self.claim_for(module, computation, id)?.claim.parts.clone()
    }

    /// Whether the emitter that claims a product states that the product is to be computed as a
    /// multiplication and a sum.
    pub fn is_sum(&mut self, module: &Module, computation: &Computation, id: InstrId) -> bool {
        self.claim_for(module, computation, id).is_some_and(|claim| claim.claim.as_sum)
    }

    fn hero_alone(
        &mut self,
        module: &Module,
        instruction: &Instruction,
        shapes: &[Shape],
    ) -> Option<Rc<SelectedClaim>> {
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
        let alone = instruction_as_module(module, instruction, shapes);
        let form = canonical_text(&alone);
        if let Some(known) = self.answers.get(&form) {
            return known.clone();
        }
        let hero = Fusion::new(opcode.name(), alone).and_then(|mut region| {
            self.known.of_form(form.clone(), &mut region);
            self.best(&claimants, region).map(Rc::new)
        });
        self.answers.insert(form, hero.clone());
        hero
    }

    /// Selects the claim with the largest loss: the time that the hero loses in the iteration space
    /// of another hero. If two losses are equal, selects the claim of the emitter that was
    /// registered first. If the user has replaced an emitter, its replacements are asked first. If
    /// the replacements claim nothing, the replaced emitter is asked, and the replacements compute
    /// the kernels that the replaced emitter claims.
    fn best(&mut self, claimants: &[usize], region: Fusion) -> Option<SelectedClaim> {
        let anchor = region.computation().root;
        let is_elemental = region.computation().instruction(anchor).op.is_elemental();
        let candidate = Candidate { region, anchor };
        let mut best: Option<SelectedClaim> = None;
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
                // Other kernels cannot compute the elements of this operation one by one, or the
                // user has chosen this emitter.
                (claim.lost_inside, claim.lost_beside) = (f64::INFINITY, f64::INFINITY);
            }
            if best.as_ref().is_none_or(|best| most_lost(&claim) > most_lost(&best.claim)) {
                best = Some(SelectedClaim { kind: emitter.descriptor().kind.clone(), claim });
            }
        }
        best
    }
}

/// Returns, for each root of a fusion, the hero and the kind of the emitter that claims the hero.
pub fn heroes(
    fusion: &Fusion,
    device: &DeviceDescription,
    emitters: &Emitters,
) -> Vec<(analysis::Hero, Option<KernelKind>)> {
    let known = KnownPlans::default();
    let heroes = Claims::new(device, emitters, &known).of(&fusion.module, fusion.entry());
    let of_root = |&root: &InstrId| {
        let found = hero_of(fusion.computation(), root, |id| heroes.form(id, id == root));
        let kind = found.instruction.and_then(|id| heroes.0.get(&id)).map(|hero| hero.kind.clone());
        (found, kind)
    };
    fusion.roots.iter().map(of_root).collect()
}

/// Returns the time that a hero loses in the iteration space of another hero. The result is
/// negative for a claim without a hero, because such a claim is used only if there is no other
/// claim.
fn most_lost(claim: &Claim) -> f64 {
    match claim.place {
        HeroPlace::Nowhere => -1.0,
        HeroPlace::BeforeEpilogue | HeroPlace::Root => claim.lost_inside.max(claim.lost_beside),
    }
}

impl SelectedClaim {
    fn is_of_a_hero(self: &Rc<Self>) -> bool {
        self.claim.place != HeroPlace::Nowhere
    }
}

impl Heroes {
    /// Returns the claim of an emitter that would compute this instruction as a hero, if there is
    /// one.
    pub fn claim(&self, id: InstrId) -> Option<&Claim> {
        self.0.get(&id).map(|hero| &hero.claim)
    }

    /// Returns the claim for an instruction if an epilogue may follow the instruction.
    pub fn claim_before_epilogue(&self, id: InstrId) -> Option<&Claim> {
        self.claim(id).filter(|claim| claim.place == HeroPlace::BeforeEpilogue)
    }

    /// Whether one kernel can have both instructions as heroes.
    pub fn go_together(&self, a: InstrId, b: InstrId) -> bool {
        self.form(a, true).is_some_and(|form| !form.1.is_empty() && self.form(b, true) == Some(form))
    }

    /// Returns a key. Heroes with equal keys fit into one kernel. `is_root` states whether the hero
    /// is the root of its kernel; if not, an epilogue follows the hero. Returns `None` if the
    /// instruction cannot be a hero in this position.
    fn form(&self, id: InstrId, is_root: bool) -> Option<(&KernelKind, &str)> {
        let hero = self.0.get(&id).filter(|hero| is_root || hero.claim.place == HeroPlace::BeforeEpilogue)?;
        Some((&hero.kind, &hero.claim.form))
    }

    /// Whether a kernel computes the instruction if its value has a buffer.
    pub fn is_kernel(&self, computation: &Computation, id: InstrId) -> bool {
        executor(computation.instruction(id)) == Executor::Kernel || self.0.contains_key(&id)
    }

    /// Returns the operands that are the initial values of the instruction's results.
    pub fn initial_values<'c>(&self, computation: &'c Computation, id: InstrId) -> &'c [InstrId] {
        let count = self.claim(id).map_or(0, |claim| claim.starts_from);
        &computation.instruction(id).operands[..count]
    }

    /// Whether the root of a kernel may update `operand` in-place. An operand that is updated
    /// in-place remains in a buffer.
    pub fn is_updated_in_place(&self, computation: &Computation, root: InstrId, operand: InstrId) -> bool {
        self.updated_in_place(computation, root).contains(&operand)
    }

    /// Returns the operands that the root of a kernel may update in-place.
    pub fn updated_in_place<'c>(&self, computation: &'c Computation, root: InstrId) -> &'c [InstrId] {
        let count = self.claim(root).map_or(0, |claim| claim.starts_from.max(claim.updates));
        &computation.instruction(root).operands[..count]
    }
}
