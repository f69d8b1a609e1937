//! Checks a kernel without reading its IR. Lowering verifies the IR.

use std::collections::HashSet;

use fusebox_core::emitter::{Fusion, Kernel, KernelCode, SubgraphKind};
use fusebox_core::hlo::InstrId;

/// Checks the list of functions that a kernel calls.
///
/// # Errors
/// A message if the kernel has no text, if an instruction does not exist, or if a symbol is used
/// twice or does not begin with the fusion's name.
pub fn check_kernel(kernel: &Kernel, fusion: &Fusion) -> Result<(), String> {
    if matches!(&kernel.code, KernelCode::Text(text) if text.trim().is_empty()) {
        return Err("it has no text".into());
    }
    let prefix = format!("{}.", fusion.name);
    let mut symbols = HashSet::new();
    for call in &kernel.calls {
        let symbol = &call.symbol;
        let rest = symbol.strip_prefix(&prefix).unwrap_or_default();
        if rest.is_empty() || !rest.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-$".contains(&b)) {
            return Err(format!("function `{symbol}`: the name must be `{prefix}` and letters, digits, . _ - $"));
        }
        if !symbols.insert(symbol) {
            return Err(format!("function `{symbol}` is listed twice"));
        }
        let unknown =
            instructions_of(&call.kind).into_iter().find(|id| id.index() >= fusion.computation().instructions.len());
        if let Some(id) = unknown {
            return Err(format!("function `{symbol}`: the fusion has no instruction number {}", id.index()));
        }
    }
    Ok(())
}

fn instructions_of(kind: &SubgraphKind) -> Vec<InstrId> {
    match kind {
        SubgraphKind::Values { instructions } => instructions.clone(),
        SubgraphKind::Epilogue { roots, heroes } => [roots.as_slice(), heroes].concat(),
        SubgraphKind::Combiner { instruction } => vec![*instruction],
    }
}
