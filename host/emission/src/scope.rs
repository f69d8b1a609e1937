//! Functions, and the scopes in which their values are available.

use fusebox_core::builder::Type;

/// Number of a function of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u32);

/// Number of a scope of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScopeId(pub u32);

/// A region of a function in which values are available.
pub struct Scope {
    pub function: FunctionId,
    /// The scope around this scope. `None` for a function's body.
    pub parent: Option<ScopeId>,
    /// Number of scopes around this scope.
    pub depth: u32,
    pub kind: ScopeKind,
}

/// The kind of a scope.
pub enum ScopeKind {
    Body,
    /// A nest of loops over ranges of these sizes. The loops carry values of the types `state`.
    Loop {
        sizes: Vec<i64>,
        state: Vec<Type>,
    },
    /// One branch of a conditional.
    Branch,
}
