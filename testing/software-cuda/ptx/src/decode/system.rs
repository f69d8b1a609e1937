//! Functions of the system. The only function of the system is `cudaGraphSetConditional`, by which
//! a kernel sets the value of a graph's condition.

use super::reader::{Reader, Width};
use crate::code::{Access, CONDITION, Kind};
use crate::error::LoadError;
use crate::fault::Space;
use crate::text::{Declaration, Operand, Type};

const SET_CONDITION: &str = "cudaGraphSetConditional";

/// Whether the system has a function of this name.
pub fn has(name: &str) -> bool {
    name == SET_CONDITION
}

/// Checks the types in a declaration of a function of the system.
pub fn check(function: &Declaration) -> Result<(), LoadError> {
    let Declaration { name, results, parameters, line } = function;
    let bits: Vec<u32> = parameters.iter().map(|it| it.ty.bits() * it.count.unwrap_or(0) as u32).collect();
    if bits != [64, 32] || !results.is_empty() {
        return Err(LoadError::new(*line, format!("{name} has a parameter of 64 bits, one of 32 bits, and no result")));
    }
    Ok(())
}

/// `call`. A kernel sets a condition by a store to the memory of the condition's value, so that
/// unordered accesses to the condition are races.
pub fn call(reader: &mut Reader) -> Result<Kind, LoadError> {
    reader.choose(&[("uni", ())]);
    reader.finish(2)?;
    let (Operand::Name(name), Operand::List(arguments)) = (reader.operand(0)?, reader.operand(1)?) else {
        return reader.error("a call of the system has a name, and parameters in parentheses");
    };
    let [handle, value] = arguments.as_slice() else { return reader.error(format!("{name} has two parameters")) };
    let handle = reader.source_of(handle, Type::B(64), Width::Exact)?;
    let value = reader.source_of(value, Type::B(32), Width::Exact)?;
    let to_value = -(CONDITION as i64);
    let access = Access::plain(Some(Space::Global), Type::B(32).bytes(), handle, to_value);
    Ok(Kind::Store(Access { elements: [Some(value)].into(), ..access }))
}
