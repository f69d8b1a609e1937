//! A framework for families of emitters that compute the same kind of fusion by different
//! strategies. All emitters of a family use one analysis of the fusion. From the result of this
//! analysis, each emitter decides whether it takes the fusion, plans the kernel and emits the
//! kernel.
//!
//! ```text
//! Fusion ──Analysis::of──> problem     once per fusion, for the whole family
//!          problem, device ──check──> verdict
//!                          ──plan───> Plan
//!                          ──emit───> Kernel
//! ```

use super::{
    Analysis, Bid, Candidate, Claim, Configuration, Decline, Descriptor, EmitError, Emitter, Fusion, Kernel,
    KernelKind, Plan, Verdict,
};
use crate::device::DeviceDescription;
use crate::hlo::Opcode;

/// A fusion, the device that will run its kernel, and the result of the analysis.
pub struct Task<'a, P> {
    /// The result of the analysis.
    pub problem: &'a P,
    /// The fusion.
    pub fusion: &'a Fusion,
    /// The device.
    pub device: &'a DeviceDescription,
}

/// The block sizes that a strategy supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocks {
    /// Blocks of any size.
    Any,
    /// Blocks of one thread, as on the cpu.
    OfOneThread,
    /// Blocks of many threads.
    OfManyThreads,
}

impl Blocks {
    /// # Errors
    /// If the device has blocks of a size that the strategy does not support.
    fn check(self, device: &DeviceDescription) -> Result<(), Decline> {
        match (self, device.is_single_threaded_block()) {
            (Blocks::OfOneThread, false) => Err(Decline::new("it requires blocks of one thread, as on the cpu")),
            (Blocks::OfManyThreads, true) => Err(Decline::new("it requires blocks of many threads, as on a GPU")),
            _ => Ok(()),
        }
    }
}

/// A strategy for building kernels. All strategies of a family use the same analysis.
/// [`emitters!`](crate::emitters) gives a strategy a name and turns it into an [`Emitter`].
///
/// To compare two methods of building the kernel of a fusion, write two strategies that both accept
/// the fusion.
pub trait Strategy: Send + Sync {
    /// The analysis that the strategy needs.
    type Problem: Analysis;

    /// Returns the block sizes that the strategy supports. The emitter declines every fusion on
    /// devices with other block sizes.
    fn blocks(&self) -> Blocks {
        Blocks::Any
    }

    /// See [`Emitter::anchors`].
    fn anchors(&self) -> Vec<Opcode> {
        Vec::new()
    }

    /// See [`Emitter::bid`].
    fn bid(&self, _candidate: &Candidate, _device: &DeviceDescription) -> Bid {
        Bid::decline("this emitter makes no bids")
    }

    /// Checks that the strategy can handle the fusion. This check does not judge the kernel's
    /// speed, which the host predicts from the plan.
    ///
    /// # Errors
    /// Returns the reason why the strategy cannot handle the fusion, worded for the user.
    fn check(&self, _task: &Task<Self::Problem>) -> Result<(), Decline> {
        Ok(())
    }

    /// Whether the strategy takes fusions only on request. If a strategy takes fusions only on
    /// request, the host uses the strategy only in two cases: the user names it, or no other
    /// emitter takes the fusion.
    fn is_on_request(&self) -> bool {
        false
    }

    /// See [`Emitter::plan`]. Called only for fusions that pass the [check](Strategy::check).
    ///
    /// # Errors
    /// If the strategy cannot handle the fusion after all, or if `configuration` contains an
    /// impossible value.
    fn plan(&self, task: &Task<Self::Problem>, configuration: &Configuration) -> Result<Plan, EmitError>;

    /// See [`Emitter::emit`].
    ///
    /// # Errors
    /// If the strategy cannot build the kernel.
    fn emit(&self, task: &Task<Self::Problem>, plan: &Plan) -> Result<Kernel, EmitError>;
}

/// An emitter that consists of a strategy, a kind, a name and a version.
/// [`emitters!`](crate::emitters) creates values of this type.
pub struct Named<S> {
    kind: &'static str,
    name: &'static str,
    version: &'static str,
    heroes: &'static [Opcode],
    claim: ClaimOf,
    strategy: S,
}

/// The function that computes the claims of a family of emitters, see [`Emitter::claim`].
pub type ClaimOf = fn(&Candidate, &DeviceDescription) -> Option<Claim>;

impl<S: Strategy> Named<S> {
    /// Names a strategy. `version` is the version of the strategy's package.
    pub const fn new(kind: &'static str, name: &'static str, version: &'static str, strategy: S) -> Self {
        Named { kind, name, version, heroes: &[], claim: |_, _| None, strategy }
    }

    /// Adds heroes, and the function that computes the claims for these heroes. The emitter calls
    /// this function only for devices that the strategy supports.
    pub const fn claiming(mut self, heroes: &'static [Opcode], claim: ClaimOf) -> Self {
        (self.heroes, self.claim) = (heroes, claim);
        self
    }

    /// If the strategy supports the device and the analysis succeeds, calls `question` with the
    /// result of the analysis. If the strategy does not support the device or the analysis fails,
    /// returns the decline.
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

/// Exports the [strategies](Strategy) of a crate as emitters of one kind. Works like
/// [`export_emitters!`](crate::export_emitters). Also defines a function `emitters()`, which
/// creates the emitters for tests. Use this macro once per crate.
///
/// To give all emitters of the crate a common [claim](Emitter::claim), write the heroes and the
/// claim function after the kind: `heroes: [Opcode::Reduce] => claim_of_reduce,`.
///
/// ```
/// use fusebox_core::device::DeviceDescription;
/// use fusebox_core::emitter::*;
///
/// /// A fusion with one result.
/// struct OneResult;
///
/// impl Analysis for OneResult {
///     fn of(fusion: &Fusion) -> Result<Self, Decline> {
///         if fusion.roots.len() == 1 { Ok(OneResult) } else { Err(Decline::new("there are several results")) }
///     }
/// }
///
/// /// Elements per thread.
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
        /// Creates the emitters of this crate.
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
