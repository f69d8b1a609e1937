//! The trait that emitters implement, and the registration of linked emitters.

use super::{Bid, Candidate, Claim, Configuration, Descriptor, EmitError, Fusion, Kernel, Plan, Verdict};
use crate::device::DeviceDescription;
use crate::hlo::Opcode;

/// A code generator for one kind of fusion.
///
/// An emitter must be pure and thread-safe: the same arguments give the same answer, byte for byte.
pub trait Emitter: Send + Sync {
    /// Returns the emitter's kind, name and version.
    fn descriptor(&self) -> Descriptor;

    /// Returns the operations that this emitter claims as heroes, see [`Emitter::claim`]. The list
    /// is empty if the emitter only takes fusions that the host builds from the claims of other
    /// emitters.
    fn heroes(&self) -> Vec<Opcode> {
        Vec::new()
    }

    /// Returns the emitter's demands on a kernel whose hero is the candidate's anchor. The anchor
    /// is one of the emitter's [heroes](Emitter::heroes). Returns `None` if the emitter has no
    /// demands for this operation. The candidate's region contains only the operation, with its
    /// operands as parameters. The host calls this method once for all operations with equal shapes
    /// and attributes. The answer must therefore depend only on shapes and attributes.
    fn claim(&self, _hero: &Candidate, _device: &DeviceDescription) -> Option<Claim> {
        None
    }

    /// Returns the operations around which this emitter bids, see [`Emitter::bid`]. The list is
    /// empty if the emitter makes no bids and accepts only fusions that the host builds without
    /// bids.
    fn anchors(&self) -> Vec<Opcode> {
        Vec::new()
    }

    /// Returns those instructions around an anchor that the emitter wants to compute in one kernel.
    /// If the host predicts that this kernel is faster than the kernels that it would build without
    /// the bid, the host turns the instructions into a fusion. The host then asks the emitter to
    /// [consider](Emitter::consider) and [plan](Emitter::plan) this fusion like any other fusion.
    /// This method must be cheap: it reads the region and builds nothing.
    fn bid(&self, _candidate: &Candidate, _device: &DeviceDescription) -> Bid {
        Bid::decline("this emitter makes no bids")
    }

    /// Decides whether the emitter takes the fusion. This method must be cheap: it reads the fusion
    /// and builds nothing.
    fn consider(&self, fusion: &Fusion, device: &DeviceDescription) -> Verdict;

    /// Chooses launch dimensions, indexing maps and knobs, before any code exists.
    ///
    /// # Errors
    /// If the emitter cannot handle the fusion after all, or if `configuration` contains an
    /// impossible value.
    fn plan(
        &self,
        fusion: &Fusion,
        device: &DeviceDescription,
        configuration: &Configuration,
    ) -> Result<Plan, EmitError>;

    /// Builds the kernel that the plan describes.
    ///
    /// # Errors
    /// If the emitter cannot build the kernel. The host adds the emitter's name to the error
    /// message.
    fn emit(&self, fusion: &Fusion, device: &DeviceDescription, plan: &Plan) -> Result<Kernel, EmitError>;
}

/// A statically linked emitter: `inventory::submit! { Registration { make: || Box::new(MyEmitter) }
/// }`.
pub struct Registration {
    /// Creates the emitter.
    pub make: fn() -> Box<dyn Emitter>,
}

inventory::collect!(Registration);
