//! The frame of emitters that are ways of doing one thing: what all of them have to know about a fusion is found out
//! once, and each says whether that suits it, what it would do, and how.
//!
//! ```text
//! Fusion ──Analysis::of──> problem     once per fusion, whoever of the family asks
//!          problem, device ──check──> verdict
//!                          ──plan───> Plan
//!                          ──emit───> Kernel
//! ```

use std::any::Any;

use super::{
    Bid, Candidate, Claim, Configuration, Decline, Descriptor, EmitError, Emitter, Fusion, Kernel, KernelKind, Plan,
    Verdict,
};
use crate::device::DeviceDescription;
use crate::hlo::Opcode;

/// What a family of emitters has to know about a fusion. It depends on the fusion alone, so it is found out once and
/// kept with the fusion, see [`Fusion::analysis`].
pub trait Analysis: Any + Send + Sync + Sized {
    /// Reads a fusion.
    ///
    /// # Errors
    /// Why the family does not take the fusion, whatever the device.
    fn of(fusion: &Fusion) -> Result<Self, Decline>;
}

/// A fusion that is to become a kernel for a device, and what is known about it.
pub struct Task<'a, P> {
    /// What the analysis found out.
    pub problem: &'a P,
    /// The fusion.
    pub fusion: &'a Fusion,
    /// The device.
    pub device: &'a DeviceDescription,
}

/// Blocks that a strategy is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocks {
    /// All blocks.
    Any,
    /// Blocks of one thread, as on the cpu.
    OfOneThread,
    /// Blocks of many threads.
    OfManyThreads,
}

impl Blocks {
    /// # Errors
    /// If the device's blocks are others.
    fn check(self, device: &DeviceDescription) -> Result<(), Decline> {
        match (self, device.is_single_threaded_block()) {
            (Blocks::OfOneThread, false) => Err(Decline::new("it is for blocks of one thread")),
            (Blocks::OfManyThreads, true) => Err(Decline::new("it is for blocks of many threads")),
            _ => Ok(()),
        }
    }
}

/// One way of writing kernels, out of a family that shares an analysis. [`emitters!`](crate::emitters) gives it a name
/// and makes it an [`Emitter`].
///
/// Where two ways can be compared on some fusion they are two strategies, and both accept it.
pub trait Strategy: Send + Sync {
    /// What it has to know about a fusion.
    type Problem: Analysis;

    /// Blocks that it is for; where there are others, it is not asked.
    fn blocks(&self) -> Blocks {
        Blocks::Any
    }

    /// See [`Emitter::anchors`].
    fn anchors(&self) -> Vec<Opcode> {
        Vec::new()
    }

    /// See [`Emitter::bid`].
    fn bid(&self, _candidate: &Candidate, _device: &DeviceDescription) -> Bid {
        Bid::decline("this emitter takes fusions as they are")
    }

    /// Whether this is a way to do it. How well it suits is seen from the plan.
    ///
    /// # Errors
    /// Why not, in words for the user.
    fn check(&self, _task: &Task<Self::Problem>) -> Result<(), Decline> {
        Ok(())
    }

    /// Whether it is for those who name it: it comes after all others that take a fusion.
    fn is_on_request(&self) -> bool {
        false
    }

    /// See [`Emitter::plan`]. Asked only for what passes the [check](Strategy::check).
    ///
    /// # Errors
    /// If the fusion cannot be handled after all, or `configuration` holds an impossible value.
    fn plan(&self, task: &Task<Self::Problem>, configuration: &Configuration) -> Result<Plan, EmitError>;

    /// See [`Emitter::emit`].
    ///
    /// # Errors
    /// If the kernel cannot be written.
    fn emit(&self, task: &Task<Self::Problem>, plan: &Plan) -> Result<Kernel, EmitError>;
}

/// A strategy with kind, name and version: an emitter. Made by [`emitters!`](crate::emitters).
pub struct Named<S> {
    kind: &'static str,
    name: &'static str,
    version: &'static str,
    heroes: &'static [Opcode],
    claim: ClaimOf,
    strategy: S,
}

/// What a family claims, see [`Emitter::claim`].
pub type ClaimOf = fn(&Candidate, &DeviceDescription) -> Option<Claim>;

impl<S: Strategy> Named<S> {
    /// The strategy under this name, in the version of its package.
    pub const fn new(kind: &'static str, name: &'static str, version: &'static str, strategy: S) -> Self {
        Named { kind, name, version, heroes: &[], claim: |_, _| None, strategy }
    }

    /// The same, with heroes and what is claimed for them, on devices that the strategy is for.
    pub const fn claiming(mut self, heroes: &'static [Opcode], claim: ClaimOf) -> Self {
        (self.heroes, self.claim) = (heroes, claim);
        self
    }

    /// Asks the strategy, if it is for the device and there is a problem for it.
    fn ask<T, E: From<Decline>>(
        &self,
        fusion: &Fusion,
        device: &DeviceDescription,
        question: impl FnOnce(&Task<S::Problem>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.strategy.blocks().check(device)?;
        let found = fusion.analysis::<S::Problem>();
        let problem = found.as_ref().as_ref().map_err(Decline::clone)?;
        question(&Task { problem, fusion, device })
    }
}

impl<S: Strategy> Emitter for Named<S> {
    fn descriptor(&self) -> Descriptor {
        let kind = KernelKind(self.kind.into());
        Descriptor { kind, name: self.name.into(), version: self.version.into() }
    }

    fn heroes(&self) -> Vec<Opcode> {
        self.heroes.to_vec()
    }

    fn claim(&self, hero: &Candidate, device: &DeviceDescription) -> Option<Claim> {
        self.strategy.blocks().check(device).ok()?;
        (self.claim)(hero, device)
    }

    fn anchors(&self) -> Vec<Opcode> {
        self.strategy.anchors()
    }

    fn bid(&self, candidate: &Candidate, device: &DeviceDescription) -> Bid {
        match self.strategy.blocks().check(device) {
            Ok(()) => self.strategy.bid(candidate, device),
            Err(decline) => Bid::Decline(decline),
        }
    }

    fn consider(&self, fusion: &Fusion, device: &DeviceDescription) -> Verdict {
        match self.ask(fusion, device, |task| self.strategy.check(task)).into() {
            Verdict::Accept if self.strategy.is_on_request() => Verdict::OnRequest,
            verdict => verdict,
        }
    }

    fn plan(
        &self,
        fusion: &Fusion,
        device: &DeviceDescription,
        configuration: &Configuration,
    ) -> Result<Plan, EmitError> {
        self.ask(fusion, device, |task| {
            self.strategy.check(task)?;
            self.strategy.plan(task, configuration)
        })
    }

    fn emit(&self, fusion: &Fusion, device: &DeviceDescription, plan: &Plan) -> Result<Kernel, EmitError> {
        self.ask(fusion, device, |task| self.strategy.emit(task, plan))
    }
}

/// Names the emitters of a crate that are [strategies](Strategy), all of one kind: like
/// [`export_emitters!`](crate::export_emitters), and a function `emitters()` that makes them, for tests. Once per crate.
///
/// What they [claim](Emitter::claim) stands once for all, after the kind: `heroes: [Opcode::Reduce] => claim_of_reduce,`.
///
/// ```
/// use fusebox_core::device::DeviceDescription;
/// use fusebox_core::emitter::*;
///
/// /// The fusion's only result.
/// struct OneResult;
///
/// impl Analysis for OneResult {
///     fn of(fusion: &Fusion) -> Result<Self, Decline> {
///         if fusion.roots.len() == 1 { Ok(OneResult) } else { Err(Decline::new("there are several results")) }
///     }
/// }
///
/// /// So many elements for each thread.
/// struct PerThread(u32);
///
/// impl Strategy for PerThread {
///     type Problem = OneResult;
///
///     fn plan(&self, _: &Task<OneResult>, _: &Configuration) -> Result<Plan, EmitError> {
///         Err(EmitError::new("left out here"))
///     }
///     fn emit(&self, _: &Task<OneResult>, _: &Plan) -> Result<Kernel, EmitError> {
///         Err(EmitError::new("left out here"))
///     }
/// }
///
/// fusebox_core::emitters! {
///     kind: "loop",
///     "one-per-thread" => PerThread(1),
///     "four-per-thread" => PerThread(4),
/// }
///
/// # fn main() {
/// let names: Vec<String> = emitters().iter().map(|emitter| emitter.descriptor().name).collect();
/// assert_eq!(names, ["one-per-thread", "four-per-thread"]);
/// assert_eq!(fusebox_core::plugin::linked_emitters().len(), 2);
/// # }
/// ```
#[macro_export]
macro_rules! emitters {
    (kind: $kind:literal, heroes: $heroes:tt => $claim:expr, $($name:literal => $strategy:expr),+ $(,)?) => {
        /// Makes the emitters of this crate.
        pub fn emitters() -> ::std::vec::Vec<::std::boxed::Box<dyn $crate::emitter::Emitter>> {
            ::std::vec![$(::std::boxed::Box::new(
                $crate::emitter::Named::new($kind, $name, env!("CARGO_PKG_VERSION"), $strategy).claiming(&$heroes, $claim)
            )),+]
        }

        $crate::export_emitters!($(
            $crate::emitter::StaticDescriptor { kind: $kind, name: $name, version: env!("CARGO_PKG_VERSION") } =>
            $crate::emitter::Named::new($kind, $name, env!("CARGO_PKG_VERSION"), $strategy).claiming(&$heroes, $claim)
        ),+);
    };
    (kind: $kind:literal, $($name:literal => $strategy:expr),+ $(,)?) => {
        $crate::emitters!(kind: $kind, heroes: [] => |_, _| None, $($name => $strategy),+);
    };
}
