//! Argument and result types of the trait that emitters implement.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

use crate::hlo::{InstrId, Instruction};
use crate::ir;

/// The kind of fusion that an emitter handles, which users write as `kind` in `--emitter
/// kind=name`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KernelKind(pub String);

/// Identity of an emitter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Kind of fusion: `loop`, `reduce`, `transpose`, `scatter`, …
    pub kind: KernelKind,
    /// Name of the emitter in kebab-case, unique among the emitters of all kinds.
    pub name: String,
    /// Semantic version of the emitter.
    pub version: String,
}

/// A compile-time [`Descriptor`], which the host can read from a library's file without running the
/// library's code.
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

/// An emitter's answer to the question whether it takes a fusion.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Yes. Among the emitters that accept a fusion, the host prefers the emitter whose kernel has
    /// the shortest predicted time.
    Accept,
    /// The emitter takes the fusion, but ranks after all emitters that [accept](Verdict::Accept).
    /// The host uses this emitter only if the user selects it or no other emitter takes the fusion.
    OnRequest,
    /// The emitter does not take the fusion, for this reason.
    Decline(Decline),
}

impl Verdict {
    /// Whether the emitter takes the fusion.
    pub fn accepts(&self) -> bool {
        !matches!(self, Verdict::Decline(_))
    }
}

impl From<Result<(), Decline>> for Verdict {
    fn from(checked: Result<(), Decline>) -> Self {
        checked.map_or_else(Verdict::Decline, |()| Verdict::Accept)
    }
}

/// The reason why an emitter does not take a fusion, worded for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decline {
    /// The reason.
    pub reason: String,
    /// The instruction that the emitter cannot handle, if the reason concerns a single instruction.
    pub instruction: Option<String>,
}

impl Decline {
    /// Creates a reason that concerns the whole fusion.
    pub fn new(reason: impl Into<String>) -> Decline {
        Decline { reason: reason.into(), instruction: None }
    }

    /// Creates a reason that concerns one instruction.
    pub fn at(instruction: &Instruction, reason: impl Into<String>) -> Decline {
        Decline { reason: reason.into(), instruction: Some(instruction.name.clone()) }
    }
}

/// Values of an emitter's knobs, sorted by the names of the knobs. The emitter chooses the values
/// of knobs that are not set.
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

/// Formats the knobs with the syntax in which the option `--emitter` accepts them after an
/// emitter's name: `{tile=64,unroll=4}`. Writes nothing if no knob is set.
impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let knobs: Vec<String> = self.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if knobs.is_empty() { Ok(()) } else { write!(f, "{{{}}}", knobs.join(",")) }
    }
}

impl Configuration {
    /// Returns a copy with one knob set to a value.
    pub fn with(&self, name: &str, value: i64) -> Configuration {
        let mut other = self.clone();
        other.0.insert(name.to_owned(), value);
        other
    }

    /// Returns the configurations of `all` that differ from `self`, without duplicates.
    pub fn others(&self, all: impl IntoIterator<Item = Configuration>) -> Vec<Configuration> {
        let mut others: Vec<Configuration> = Vec::new();
        for other in all {
            if other != *self && !others.contains(&other) {
                others.push(other);
            }
        }
        others
    }

    /// Returns the value of the knob with this name, or `None` if the knob is not set.
    ///
    /// # Errors
    /// If the knob's value lies outside of `allowed`.
    pub fn knob(&self, name: &str, allowed: RangeInclusive<i64>) -> Result<Option<i64>, EmitError> {
        let wanted = || format!("{} to {}", allowed.start(), allowed.end());
        self.checked_knob(name, wanted, |value| allowed.contains(&value))
    }

    /// Returns the value of the knob with this name, or `None` if the knob is not set.
    ///
    /// # Errors
    /// If `allowed` rejects the knob's value. `wanted` describes the allowed values in words.
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

/// A subgraph function that a kernel calls. The host generates the body of the function.
///
/// The function takes all fusion parameters as tensors, then one `index` per dimension of the
/// indexed shape, then the injected scalars. The function returns the scalar values of the
/// instructions or roots, flattened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SubgraphCall {
    /// Name of the function.
    pub symbol: String,
    /// The values that the function computes.
    pub kind: SubgraphKind,
}

/// The computation of a subgraph function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SubgraphKind {
    /// The values of instructions at one index. The instructions have equal dimensions.
    Values {
        /// The instructions. The function has one scalar result per leaf of the instructions'
        /// shapes.
        instructions: Vec<InstrId>,
    },
    /// The values of roots at one index. The caller passes the values of `heroes` in order as
    /// injected scalars, one scalar per leaf of a hero's shape. The index is an index into the
    /// first root.
    Epilogue {
        /// Roots of equal dimensions. The function has one scalar result per leaf of the roots'
        /// shapes.
        roots: Vec<InstrId>,
        /// Instructions whose values the caller passes.
        heroes: Vec<InstrId>,
    },
    /// The computation that a reduce, scatter, … applies. The function takes and returns scalars.
    /// The function has neither tensor arguments nor an index.
    Combiner {
        /// The instruction that applies the computation.
        instruction: InstrId,
    },
}

/// The kernel that an emitter returns.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// The entry function, without the functions that it calls.
    pub code: KernelCode,
    /// The functions that the entry function calls.
    pub calls: Vec<SubgraphCall>,
}

/// The entry function of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum KernelCode {
    /// A function built with the [builder](crate::builder).
    Function(ir::Function),
    /// Text of one `func.func` operation in MLIR's generic form. The emitter may produce the text
    /// by any means.
    Text(String),
    /// No code: a routine of the host executes the fusion. The fusion must consist of one operation
    /// whose operands are the fusion's parameters in order. Only emitters that are bundled with the
    /// host return this variant, because only these emitters know the host's routines. The plan
    /// states the time that the routine takes. The maps of the routine's plan state only the
    /// elements that the routine writes.
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

/// The reason why an emitter that accepted a fusion could not plan or emit it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmitError {
    /// The fault, in words for the user.
    pub message: String,
    /// The instruction at fault, if the fault concerns a single instruction.
    pub instruction: Option<String>,
}

impl EmitError {
    /// Creates an error that concerns the whole fusion.
    pub fn new(message: impl Into<String>) -> EmitError {
        EmitError { message: message.into(), instruction: None }
    }
}

/// Turns a decline into an error. The error means that the host asked the emitter to plan or emit a
/// fusion that the emitter does not take.
impl From<Decline> for EmitError {
    fn from(Decline { reason, instruction }: Decline) -> EmitError {
        EmitError { message: reason, instruction }
    }
}

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
