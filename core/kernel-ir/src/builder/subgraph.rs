//! Calls of subgraph functions.

use super::{FunctionBuilder, Type, Value};

/// A declared subgraph function, which the kernel can call. A kernel builder declares the function.
#[derive(Clone, Debug)]
pub struct Subgraph {
    symbol: String,
    /// Leading arguments of every call: the fusion's parameters.
    captured: Vec<Value>,
    arguments: Vec<Type>,
    results: Vec<Type>,
}

impl Subgraph {
    /// Describes a declared function. Every call passes the values `captured`, and then arguments
    /// of the types `arguments`.
    pub fn new(symbol: String, captured: Vec<Value>, arguments: Vec<Type>, results: Vec<Type>) -> Subgraph {
        Subgraph { symbol, captured, arguments, results }
    }

    /// Returns the name of the function.
    pub fn symbol(&self) -> &str {
        &self.symbol
    }

    /// Returns the types of the function's scalar results.
    pub fn results(&self) -> &[Type] {
        &self.results
    }

    /// Returns a copy whose calls pass the tensor `tensor` in place of the parameter `instead_of`.
    /// `tensor` and `instead_of` have the same type.
    pub fn given(&self, tensor: Value, instead_of: Value) -> Subgraph {
        let captured = self.captured.iter().map(|&it| if it == instead_of { tensor } else { it }).collect();
        Subgraph { captured, ..self.clone() }
    }
}

impl FunctionBuilder {
    /// Calls a declared subgraph function at an index. If the function takes scalar arguments after
    /// the index, `injected` lists these arguments.
    #[track_caller]
    pub fn call_subgraph(&mut self, subgraph: &Subgraph, index: &[Value], injected: &[Value]) -> Vec<Value> {
        let found = self.types_of(&[index, injected].concat());
        if found != subgraph.arguments && !Self::any_poison(index) && !Self::any_poison(injected) {
            let list = |types: &[Type]| types.iter().map(Type::to_string).collect::<Vec<_>>().join(", ");
            let message = format!("called with ({}), it takes ({})", list(&found), list(&subgraph.arguments));
            self.refuse(format!("xla_gpu.pure_call @{}", subgraph.symbol), message);
        }
        let arguments = [subgraph.captured.as_slice(), index, injected].concat();
        self.pure_call(&subgraph.symbol, &arguments, &subgraph.results)
    }
}
