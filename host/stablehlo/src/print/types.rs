//! Types as text.

use fusebox_core::hlo::ElementType;

use crate::program::Type;
use crate::tables::element_name;

/// Returns a type as text.
pub(super) fn r#type(of: &Type) -> String {
    match of {
        Type::Array { element, dims } => {
            let dims: String = dims.iter().map(|dim| dim.map_or("?x".to_owned(), |dim| format!("{dim}x"))).collect();
            format!("tensor<{dims}{}>", self::element(*element))
        }
        Type::Element(element) => self::element(*element),
        Type::Token => "!stablehlo.token".to_owned(),
        Type::Tuple(elements) => format!("tuple<{}>", list(elements)),
        Type::Function { inputs, results } => match &results[..] {
            [single] if !matches!(single, Type::Function { .. }) => format!("({}) -> {}", list(inputs), r#type(single)),
            _ => format!("({}) -> ({})", list(inputs), list(results)),
        },
        Type::None => "none".to_owned(),
        Type::Unsupported(name) => name.to_string(),
    }
}

fn list(types: &[Type]) -> String {
    types.iter().map(r#type).collect::<Vec<_>>().join(", ")
}

/// Returns an element type as text. For an integer of one bit, which StableHLO lacks, returns HLO's
/// name. MLIR rejects this name, and its error states where the type occurs.
pub(super) fn element(element: ElementType) -> String {
    element_name(element).unwrap_or_else(|| element.name().to_owned())
}
