//! Operations of the library CHLO, which JAX uses for functions that StableHLO lacks.
//!
//! ```text
//! value.rs        formulas as code
//! error.rs        complementary and inverse error functions
//! gamma.rs        logarithm of the gamma function, and its derivative
//! zeta.rs         Hurwitz's zeta function, polygamma functions
//! bessel.rs       a modified Bessel function
//! bits.rs         neighbours of floats
//! complex.rs      square and conjugate
//! ```
//!
//! Portable artifacts contain a definition of each operation of CHLO. StableHLO text contains only
//! the operation, so this module has the same definitions: a program returns equal results whether
//! it is read from text or from an artifact. The formulas compute narrow floats in `f32`, and round
//! the result once.

mod bessel;
mod bits;
mod complex;
mod error;
mod gamma;
mod value;
mod zeta;

use std::cell::RefCell;
use std::sync::Arc;

use fusebox_core::hlo::{ElementType, InstrId, Op};

use self::value::Value;
use super::Imported;
use super::call::Call;
use super::elementwise::named;
use crate::program::Attribute;

/// Adds an operation of CHLO that the program defines by other operations. If HLO has the
/// operation, adds HLO's operation; otherwise adds a call of the function that contains the
/// definition. For complex numbers, always adds the call, because the definition is more accurate
/// near branch cuts than HLO's operation.
pub(super) fn composite(call: &mut Call) -> Imported<InstrId> {
    let operation = call.operation;
    let attributes = match operation.attribute("composite_attributes") {
        Some(Attribute::Dictionary(entries)) => &entries[..],
        _ => &[],
    };
    let is_complex = element_types(call).iter().any(|element_type| element_type.is_complex());
    match known(operation.text("name")?, attributes).filter(|_| !is_complex) {
        Some(op) => call.push(op),
        None => {
            let decomposition = operation.text("decomposition")?;
            call.call(decomposition)
        }
    }
}

/// Adds an operation of CHLO that the program does not define, because the program was read from
/// text.
pub(super) fn undefined(call: &mut Call, name: &str) -> Imported<InstrId> {
    if let Some(op) = known(name, &call.operation.attributes) {
        return call.push(op);
    }
    let types = element_types(call);
    let id = match (function(name, &types), &call.operands[..], &types[..]) {
        (Some(Function::OfOne(formula)), &[x], &[of_x]) => {
            let edit = RefCell::new(&mut *call.edit);
            formula(Value::new(&edit, x, of_x)).id
        }
        (Some(Function::OfTwo(formula)), &[x, y], &[of_x, of_y]) => {
            let edit = RefCell::new(&mut *call.edit);
            formula(Value::new(&edit, x, of_x), Value::new(&edit, y, of_y)).id
        }
        _ => {
            return call.unsupported(
                "HLO lacks the operation, and text does not define it: save the program as a portable artifact \
                 or with jax.export, which define it",
            );
        }
    };
    let declared = match call.importer.shape(call.operation) {
        Err(error) if !call.importer.is_refining => return Err(error),
        declared => declared.ok(),
    };
    if declared.is_some_and(|declared| *call.edit.shape(id) != declared) {
        return call.unsupported("the types of the operands and of the result must be equal");
    }
    Ok(id)
}

/// Returns the element types of the operands. Omits operands that are not arrays.
fn element_types(call: &Call) -> Vec<ElementType> {
    call.operands.iter().filter_map(|&id| call.edit.array(id)).map(|array| array.element_type).collect()
}

/// Returns the operation of HLO that computes an operation of CHLO.
fn known(name: &str, attributes: &[(Arc<str>, Attribute)]) -> Option<Op> {
    let integer = |wanted: &str| match attributes.iter().find(|(name, _)| &**name == wanted) {
        Some((_, Attribute::Integer(_, value))) => Some(*value),
        _ => None,
    };
    match name {
        "chlo.top_k" => Some(Op::Topk { k: integer("k")?, largest: true, is_stable: true }),
        _ => named(&name.strip_prefix("chlo.")?.replace('_', "-")),
    }
}

/// The formula of an operation that HLO lacks.
enum Function {
    OfOne(fn(Value) -> Value),
    OfTwo(for<'f> fn(Value<'f>, Value<'f>) -> Value<'f>),
}

/// Returns the formula of an operation for operands of these types.
fn function(name: &str, types: &[ElementType]) -> Option<Function> {
    use Function::{OfOne, OfTwo};
    let are = |is: fn(ElementType) -> bool| types.iter().all(|&element_type| is(element_type));
    Some(match name {
        "chlo.square" if are(ElementType::is_complex) => OfOne(complex::square),
        "chlo.square" => OfOne(|x| x * x),
        "chlo.conj" if are(ElementType::is_complex) => OfOne(complex::conjugate),
        "chlo.conj" => OfOne(|x| x),
        "chlo.next_after" if are(bits::has_neighbours) => OfTwo(bits::next_after),
        // The remaining functions are defined for real floats.
        _ if !are(ElementType::is_float) => return None,
        "chlo.atan" => OfOne(|x| x.atan2(1.0)),
        "chlo.erfc" => OfOne(|x| widened(x, error::erfc)),
        "chlo.erf_inv" => OfOne(|x| widened(x, error::erf_inv)),
        "chlo.lgamma" => OfOne(|x| widened(x, gamma::lgamma)),
        "chlo.digamma" => OfOne(|x| widened(x, gamma::digamma)),
        "chlo.bessel_i1e" => OfOne(|x| widened(x, bessel::bessel_i1e)),
        "chlo.zeta" => OfTwo(|x, q| widened_pair(x, q, zeta::zeta)),
        "chlo.polygamma" => OfTwo(|n, x| widened_pair(n, x, zeta::polygamma)),
        _ => return None,
    })
}

/// Computes a function of floats. Computes in `f32` if the floats are narrow.
fn widened<'f>(x: Value<'f>, function: fn(Value<'f>) -> Value<'f>) -> Value<'f> {
    function(x.converted(wide(x))).converted(x.element_type)
}

/// Computes a function of two operands as [`widened`] computes a function of one operand.
fn widened_pair<'f>(x: Value<'f>, y: Value<'f>, function: fn(Value<'f>, Value<'f>) -> Value<'f>) -> Value<'f> {
    function(x.converted(wide(x)), y.converted(wide(y))).converted(x.element_type)
}

fn wide(x: Value) -> ElementType {
    if x.is_double() { ElementType::F64 } else { ElementType::F32 }
}
