//! The trait an emitter implements and the values it exchanges.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

use super::{Bid, Candidate, Claim, Fusion, Plan};
use crate::device::DeviceDescription;
use crate::hlo::{InstrId, Instruction, Opcode};
use crate::ir;

/// Kind of fusion an emitter is for: the `kind` of `--emitter kind=name`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KernelKind(pub String);

/// Who an emitter is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Kind of fusion: `loop`, `reduce`, `transpose`, `scatter`, …
    pub kind: KernelKind,
    /// Name, unique among emitters of any kind; kebab-case.
    pub name: String,
    /// Semantic version of the emitter.
    pub version: String,
}

/// A [`Descriptor`] that is known when the crate is compiled, so that a library can say it without being run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaticDescriptor {
    /// See [`Descriptor::kind`].
    pub kind: &'static str,
    /// See [`Descriptor::name`].
    pub name: &'static str,
    /// See [`Descriptor::version`].
    pub version: &'static str,
}

impl From<StaticDescriptor> for Descriptor {
    fn from(StaticDescriptor { kind, name, version }: StaticDescriptor) -> Descriptor {
        Descriptor { kind: KernelKind(kind.into()), name: name.into(), version: version.into() }
    }
}

/// The answer to "will you take this fusion?"
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Yes. Among those who accept, the one whose plan is [predicted](super::predict) to take the least time comes first.
    Accept,
    /// Yes, after all emitters that [accept](Verdict::Accept): where the user puts this emitter in
    /// charge, or no other takes the fusion.
    OnRequest,
    /// No, and why.
    Decline(Decline),
}

impl Verdict {
    /// Whether it is a yes.
    pub fn accepts(&self) -> bool {
        !matches!(self, Verdict::Decline(_))
    }
}

impl From<Result<(), Decline>> for Verdict {
    fn from(checked: Result<(), Decline>) -> Self {
        checked.map_or_else(Verdict::Decline, |()| Verdict::Accept)
    }
}

/// Why an emitter does not take a fusion, in words for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decline {
    /// The reason.
    pub reason: String,
    /// The instruction that is in the way, if one is.
    pub instruction: Option<String>,
}

impl Decline {
    /// A reason that concerns the whole fusion.
    pub fn new(reason: impl Into<String>) -> Decline {
        Decline { reason: reason.into(), instruction: None }
    }

    /// A reason that lies in an instruction.
    pub fn at(instruction: &Instruction, reason: impl Into<String>) -> Decline {
        Decline { reason: reason.into(), instruction: Some(instruction.name.clone()) }
    }
}

/// Values of an emitter's knobs: names to integers, in name order. Empty: the emitter chooses.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Configuration(pub BTreeMap<String, i64>);

impl<'a> FromIterator<(&'a str, i64)> for Configuration {
    fn from_iter<I: IntoIterator<Item = (&'a str, i64)>>(knobs: I) -> Configuration {
        Configuration(knobs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

impl<const N: usize> From<[(&str, i64); N]> for Configuration {
    fn from(knobs: [(&str, i64); N]) -> Configuration {
        knobs.into_iter().collect()
    }
}

/// As in a SPEC behind an emitter's name: `{tile=64,unroll=4}`; nothing if it is empty.
impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let knobs: Vec<String> = self.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if knobs.is_empty() { Ok(()) } else { write!(f, "{{{}}}", knobs.join(",")) }
    }
}

impl Configuration {
    /// The same with one knob set to a value.
    pub fn with(&self, name: &str, value: i64) -> Configuration {
        let mut other = self.clone();
        other.0.insert(name.to_owned(), value);
        other
    }

    /// Those of `all` that differ from this one, each once.
    pub fn others(&self, all: impl IntoIterator<Item = Configuration>) -> Vec<Configuration> {
        let mut others: Vec<Configuration> = Vec::new();
        for other in all {
            if other != *self && !others.contains(&other) {
                others.push(other);
            }
        }
        others
    }

    /// The knob of that name, if it is set.
    ///
    /// # Errors
    /// If its value is outside of `allowed`.
    pub fn knob(&self, name: &str, allowed: RangeInclusive<i64>) -> Result<Option<i64>, EmitError> {
        let wanted = || format!("{} to {}", allowed.start(), allowed.end());
        self.checked_knob(name, wanted, |value| allowed.contains(&value))
    }

    /// The knob of that name, if it is set.
    ///
    /// # Errors
    /// If its value is not `allowed`; `wanted` says in words what is.
    pub fn checked_knob<W: fmt::Display>(
        &self,
        name: &str,
        wanted: impl FnOnce() -> W,
        allowed: impl FnOnce(i64) -> bool,
    ) -> Result<Option<i64>, EmitError> {
        match self.0.get(name) {
            Some(&value) if !allowed(value) => {
                Err(EmitError::new(format!("knob {name} is {value}, it must be {}", wanted())))
            }
            value => Ok(value.copied()),
        }
    }
}

/// A subgraph function that a kernel calls and the host has to write.
///
/// The function takes all fusion parameters as tensors, then one `index` per dimension of `indexed_by`'s
/// shape, then the injected scalars; it returns the scalar values of `values`, flattened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SubgraphCall {
    /// Name of the function.
    pub symbol: String,
    /// What it computes.
    pub kind: SubgraphKind,
}

/// What a subgraph function computes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SubgraphKind {
    /// The values of instructions of equal dimensions, at one index.
    Values {
        /// The instructions; one scalar result per leaf of their shapes.
        instructions: Vec<InstrId>,
    },
    /// The values of roots, where the values of `heroes` are given instead of computed. The index is in
    /// the dimensions of the first root. The injected scalars are the heroes' leaves in order.
    Epilogue {
        /// Roots of equal dimensions; one scalar result per leaf.
        roots: Vec<InstrId>,
        /// Instructions whose values are passed in.
        heroes: Vec<InstrId>,
    },
    /// The computation applied by a reduce, scatter, … : scalars in, scalars out, no tensors, no index.
    Combiner {
        /// The instruction that applies the computation.
        instruction: InstrId,
    },
}

/// A kernel as an emitter hands it over.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// The entry function and nothing else.
    pub code: KernelCode,
    /// The functions it calls.
    pub calls: Vec<SubgraphCall>,
}

/// The entry function of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum KernelCode {
    /// As the [builder](crate::builder) makes it.
    Function(ir::Function),
    /// Generic MLIR text of one `func.func` operation, by whatever means it was written.
    Text(String),
    /// None: the fusion is one operation on its parameters, in order, which a routine of the host executes. For emitters that
    /// come with the host, which know what routines it has. The plan says how long it takes, its maps nothing but which elements
    /// there are.
    Routine,
}

impl fmt::Display for KernelCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelCode::Function(function) => function.fmt(f),
            KernelCode::Text(text) => f.write_str(text),
            KernelCode::Routine => f.write_str("// a routine of the host\n"),
        }
    }
}

/// Why an emitter that accepted a fusion could not plan or emit it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmitError {
    /// What went wrong, in words for the user.
    pub message: String,
    /// The instruction concerned, if one is.
    pub instruction: Option<String>,
}

impl EmitError {
    /// An error that concerns the whole fusion.
    pub fn new(message: impl Into<String>) -> EmitError {
        EmitError { message: message.into(), instruction: None }
    }
}

/// What an emitter says of a fusion that it should not have been given.
impl From<Decline> for EmitError {
    fn from(Decline { reason, instruction }: Decline) -> EmitError {
        EmitError { message: reason, instruction }
    }
}

/// A code generator for one kind of fusion.
///
/// Pure and thread-safe: the same arguments give the same answer, byte for byte.
pub trait Emitter: Send + Sync {
    /// Kind, name and version.
    fn descriptor(&self) -> Descriptor;

    /// Operations that kernels of this emitter are made for, see [`Emitter::claim`]. None: it takes fusions as others ask for
    /// them.
    fn heroes(&self) -> Vec<Opcode> {
        Vec::new()
    }

    /// What the emitter wants where an operation of its [heroes](Emitter::heroes), the candidate's anchor, decides a kernel;
    /// `None` if it wants nothing for this one. The candidate's region is that operation alone, with its operands as parameters.
    /// Asked once for all operations of equal shapes and attributes, so it must depend on nothing
    /// else.
    fn claim(&self, _hero: &Candidate, _device: &DeviceDescription) -> Option<Claim> {
        None
    }

    /// Operations around which the emitter wants to be offered parts of programs, see [`Emitter::bid`]. None: it takes
    /// fusions as the host makes them.
    fn anchors(&self) -> Vec<Opcode> {
        Vec::new()
    }

    /// Which instructions around an anchor one kernel of this emitter would compute. The host makes them a fusion if that
    /// is predicted to take less time than what it would make of them otherwise; then the emitter is asked to
    /// [consider](Emitter::consider) and [plan](Emitter::plan) it like any other. Cheap: reads the region, builds nothing.
    fn bid(&self, _candidate: &Candidate, _device: &DeviceDescription) -> Bid {
        Bid::decline("this emitter takes fusions as they are")
    }

    /// Whether to take the fusion. Cheap: reads the fusion, builds nothing.
    fn consider(&self, fusion: &Fusion, device: &DeviceDescription) -> Verdict;

    /// Launch dimensions, indexing maps and knobs, before any code.
    ///
    /// # Errors
    /// If the fusion cannot be handled after all, or `configuration` holds an impossible value.
    fn plan(
        &self,
        fusion: &Fusion,
        device: &DeviceDescription,
        configuration: &Configuration,
    ) -> Result<Plan, EmitError>;

    /// The kernel that the plan describes.
    ///
    /// # Errors
    /// If the kernel cannot be written; the host names the emitter in its message.
    fn emit(&self, fusion: &Fusion, device: &DeviceDescription, plan: &Plan) -> Result<Kernel, EmitError>;
}

/// A statically linked emitter: `inventory::submit! { Registration::new(|| Box::new(MyEmitter)) }`.
pub struct Registration {
    /// Makes the emitter.
    pub make: fn() -> Box<dyn Emitter>,
}

inventory::collect!(Registration);

impl fmt::Display for EmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.instruction {
            Some(name) => write!(f, " [at {name}]"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for EmitError {}

impl fmt::Display for KernelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
