//! Thunks, which are the steps of an execution: launches, copies, host operations, loops and
//! branches. The crate does not define how memory and code are represented. The users of the crate
//! choose the types by which thunks refer to memory and code.
//!
//! ```text
//!                        place    kernel   host operation
//! thunks of executables  slice    number   number            host/runtime
//! steps of composites    number   name     none              host/lowering
//! ```

#![forbid(unsafe_code)]

pub mod nesting;

use std::fmt::{Display, Write};

use serde::{Deserialize, Serialize};

use nesting::one_deeper;

/// One step of an execution. A place refers to memory that holds a value.
///
/// Executables in files contain thunks. So a change of the variants or fields of `Thunk`, or of
/// their order, changes the file format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Thunk<Place, Kernel, HostOp> {
    /// Launches a kernel.
    Kernel {
        /// The kernel.
        kernel: Kernel,
        /// Places of the arguments: parameters, followed by outputs.
        arguments: Vec<Place>,
    },
    /// Copies bytes between places of equal size that do not overlap.
    Copy {
        /// Place that is copied.
        from: Place,
        /// Place that receives the copy.
        to: Place,
    },
    /// Executes an operation by a host routine.
    HostOp {
        /// The operation.
        op: HostOp,
        /// Places of the array leaves of all operands.
        arguments: Vec<Place>,
        /// Places of the array leaves of the result.
        results: Vec<Place>,
    },
    /// Executes a loop. Each iteration first executes `condition`. If `predicate` is then true,
    /// the iteration executes `body` and the next iteration starts. Otherwise, the loop ends.
    While {
        /// Name of the instruction.
        name: String,
        /// Thunks that compute the predicate.
        #[serde(deserialize_with = "one_deeper")]
        condition: Vec<Thunk<Place, Kernel, HostOp>>,
        /// Place of the predicate, which is a single `pred`.
        predicate: Place,
        /// Thunks that compute the next state of the loop.
        #[serde(deserialize_with = "one_deeper")]
        body: Vec<Thunk<Place, Kernel, HostOp>>,
        /// Number of iterations, if it is known. If the number is known, the condition need not be
        /// executed: it has no side effects, and would end the loop after the same number of
        /// iterations.
        iterations: Option<u64>,
    },
    /// Executes one branch.
    Conditional {
        /// Name of the instruction.
        name: String,
        /// Place of the value that selects the branch. The value is a `pred` or an `s32`. A `pred`
        /// selects branch 0 if it is true, and branch 1 if it is false. An `s32` is the number of
        /// the branch. A number out of range selects the last branch.
        index: Place,
        /// Thunks of each branch.
        #[serde(deserialize_with = "one_deeper")]
        branches: Vec<Vec<Thunk<Place, Kernel, HostOp>>>,
    },
}

impl<Place, Kernel, HostOp> Thunk<Place, Kernel, HostOp> {
    /// Returns the sequences of thunks that are nested in this thunk, each with a name. A loop has
    /// a condition and a body, and a conditional has branches.
    pub fn nested(&self) -> Vec<(String, &[Self])> {
        match self {
            Thunk::While { condition, body, .. } => {
                vec![("condition".into(), condition.as_slice()), ("body".into(), body.as_slice())]
            }
            Thunk::Conditional { branches, .. } => {
                branches.iter().enumerate().map(|(i, b)| (format!("branch {i}"), b.as_slice())).collect()
            }
            Thunk::Kernel { .. } | Thunk::Copy { .. } | Thunk::HostOp { .. } => Vec::new(),
        }
    }

    fn nested_mut(&mut self) -> Vec<&mut [Self]> {
        match self {
            Thunk::While { condition, body, .. } => vec![condition, body],
            Thunk::Conditional { branches, .. } => branches.iter_mut().map(Vec::as_mut_slice).collect(),
            Thunk::Kernel { .. } | Thunk::Copy { .. } | Thunk::HostOp { .. } => Vec::new(),
        }
    }

    /// Returns the places of this thunk, without the places of nested thunks.
    pub fn places_mut(&mut self) -> Vec<&mut Place> {
        match self {
            Thunk::Kernel { arguments, .. } => arguments.iter_mut().collect(),
            Thunk::Copy { from, to } => vec![from, to],
            Thunk::HostOp { arguments, results, .. } => arguments.iter_mut().chain(results).collect(),
            Thunk::While { predicate: read, .. } | Thunk::Conditional { index: read, .. } => vec![read],
        }
    }

    /// Converts the places, kernels and host operations of this thunk and of nested thunks. Returns
    /// `None` if one of the conversions returns `None`.
    pub fn try_map<P, K, H>(
        &self,
        to_place: &impl Fn(&Place) -> Option<P>,
        to_kernel: &impl Fn(&Kernel) -> Option<K>,
        to_op: &impl Fn(&HostOp) -> Option<H>,
    ) -> Option<Thunk<P, K, H>> {
        let places = |list: &[Place]| list.iter().map(to_place).collect::<Option<Vec<P>>>();
        let inside = |list: &[Self]| -> Option<Vec<Thunk<P, K, H>>> {
            list.iter().map(|thunk| thunk.try_map(to_place, to_kernel, to_op)).collect()
        };
        Some(match self {
            Thunk::Kernel { kernel, arguments } => {
                Thunk::Kernel { kernel: to_kernel(kernel)?, arguments: places(arguments)? }
            }
            Thunk::Copy { from, to } => Thunk::Copy { from: to_place(from)?, to: to_place(to)? },
            Thunk::HostOp { op, arguments, results } => {
                Thunk::HostOp { op: to_op(op)?, arguments: places(arguments)?, results: places(results)? }
            }
            Thunk::While { name, condition, predicate, body, iterations } => {
                let (condition, body) = (inside(condition)?, inside(body)?);
                let (name, iterations) = (name.clone(), *iterations);
                Thunk::While { name, condition, predicate: to_place(predicate)?, body, iterations }
            }
            Thunk::Conditional { name, index, branches } => {
                let branches = branches.iter().map(|branch| inside(branch)).collect::<Option<_>>()?;
                Thunk::Conditional { name: name.clone(), index: to_place(index)?, branches }
            }
        })
    }
}

/// Returns all thunks, including nested ones. A thunk comes before the thunks that are nested in
/// it.
pub fn all<P, K, H>(thunks: &[Thunk<P, K, H>]) -> impl Iterator<Item = &Thunk<P, K, H>> {
    let mut open = vec![thunks.iter()];
    std::iter::from_fn(move || {
        loop {
            let Some(thunk) = open.last_mut()?.next() else {
                open.pop();
                continue;
            };
            open.extend(thunk.nested().into_iter().rev().map(|(_, nested)| nested.iter()));
            return Some(thunk);
        }
    })
}

/// Calls `f` for all thunks, including nested ones. If `f` replaces a thunk, the walk continues
/// with the nested thunks of the new thunk.
pub fn for_all<P, K, H>(thunks: &mut [Thunk<P, K, H>], f: &mut dyn FnMut(&mut Thunk<P, K, H>)) {
    for thunk in thunks {
        f(thunk);
        thunk.nested_mut().into_iter().for_each(|nested| for_all(nested, f));
    }
}

/// Names of the kernels and host operations to which thunks refer.
pub struct Names<'n, Kernel, HostOp> {
    /// Returns the name of a kernel.
    pub kernel: &'n dyn Fn(&Kernel) -> String,
    /// Returns the name of a host operation.
    pub host_op: &'n dyn Fn(&HostOp) -> String,
}

/// Writes a line of text for each thunk, with its action and its places. Nested thunks follow the
/// thunk that contains them, and are indented further than it. The outermost thunks are indented by
/// `depth` levels.
pub fn print<Place: Display, Kernel, HostOp>(
    text: &mut String,
    thunks: &[Thunk<Place, Kernel, HostOp>],
    depth: usize,
    names: &Names<'_, Kernel, HostOp>,
) {
    for thunk in thunks {
        let _ = writeln!(text, "{:1$}{2}", "", depth * 2, line(thunk, names));
        for (name, nested) in thunk.nested() {
            let _ = writeln!(text, "{:1$}{name}:", "", depth * 2 + 2);
            print(text, nested, depth + 2, names);
        }
    }
}

fn line<Place: Display, Kernel, HostOp>(
    thunk: &Thunk<Place, Kernel, HostOp>,
    names: &Names<'_, Kernel, HostOp>,
) -> String {
    match thunk {
        Thunk::Kernel { kernel, arguments } => format!("kernel {} {}", (names.kernel)(kernel), places(arguments)),
        Thunk::Copy { from, to } => format!("copy {from} -> {to}"),
        Thunk::HostOp { op, arguments, results } => {
            format!("host-op {} {} -> {}", (names.host_op)(op), places(arguments), places(results))
        }
        Thunk::While { name, predicate, iterations: None, .. } => format!("while {name} {predicate}"),
        Thunk::While { name, predicate, iterations: Some(number), .. } => {
            format!("while {name} {predicate}, {number} iterations")
        }
        Thunk::Conditional { name, index, .. } => format!("conditional {name} {index}"),
    }
}

fn places<Place: Display>(list: &[Place]) -> String {
    let items: Vec<String> = list.iter().map(Place::to_string).collect();
    format!("({})", items.join(", "))
}

#[cfg(test)]
mod tests;
