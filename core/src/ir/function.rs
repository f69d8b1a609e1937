//! Functions, regions, operations.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::{Attribute, OpKind, Type};

/// A value: argument of a function or of a region, or result of an operation. Belongs to one function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub(crate) u32);

impl Value {
    /// Its number in the function, from 0 without gaps.
    pub fn number(self) -> usize {
        self.0 as usize
    }
}

/// Where an operation comes from, as far as that is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Place {
    /// Name of the HLO instruction that it is for.
    pub instruction: Option<Arc<str>>,
    /// File, line and column of the text that it was read from, or of the Rust code that built it.
    pub source: Option<(Arc<str>, u32, u32)>,
}

/// An operation and what is nested in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// Which one.
    pub kind: OpKind,
    /// The values it takes.
    pub operands: Vec<Value>,
    /// The values it gives.
    pub results: Vec<Value>,
    /// By name, in the order they are printed.
    pub attributes: Vec<(Cow<'static, str>, Attribute)>,
    /// Each of one block.
    pub regions: Vec<Region>,
    /// Where it comes from.
    pub place: Place,
}

/// A region of one block, which ends with a terminator.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Region {
    /// The block's arguments.
    pub arguments: Vec<Value>,
    /// In order.
    pub operations: Vec<Operation>,
}

/// A function.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Its symbol.
    pub name: String,
    /// Whether it is seen in its module only.
    pub private: bool,
    /// Attributes beside name, type and visibility.
    pub attributes: Vec<(Cow<'static, str>, Attribute)>,
    /// Attributes of the arguments, one list each, or none at all.
    pub argument_attributes: Vec<Vec<(Cow<'static, str>, Attribute)>>,
    /// Types of what it returns.
    pub results: Vec<Type>,
    /// Arguments and operations.
    pub body: Region,
    /// Types of all values, by number.
    pub types: Vec<Type>,
}

impl Function {
    /// Type of a value.
    pub fn type_of(&self, value: Value) -> &Type {
        &self.types[value.number()]
    }

    /// Types of several values.
    pub fn types_of(&self, values: &[Value]) -> Vec<Type> {
        values.iter().map(|&value| self.type_of(value).clone()).collect()
    }

    /// A new value of this type, which nothing defines yet.
    pub fn new_value(&mut self, ty: Type) -> Value {
        Function::add_value(&mut self.types, ty)
    }

    /// The next value after those of these types.
    pub fn add_value(types: &mut Vec<Type>, ty: Type) -> Value {
        types.push(ty);
        Value(types.len() as u32 - 1)
    }

    /// An attribute of the function.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        find(&self.attributes, name)
    }

    /// Numbers the values anew, in the order of their definition and without gaps, as reading the function's text does.
    pub fn renumber(&mut self) {
        fn define(region: &Region, order: &mut Vec<Value>) {
            order.extend(&region.arguments);
            for operation in &region.operations {
                operation.regions.iter().for_each(|region| define(region, order));
                order.extend(&operation.results);
            }
        }
        let mut order = Vec::new();
        define(&self.body, &mut order);
        let mut numbers = vec![0; self.types.len()];
        for (number, value) in order.iter().enumerate() {
            numbers[value.number()] = number as u32;
        }
        self.types = self.types_of(&order);
        self.body.rename(&numbers);
    }

    /// Number of operations, with those nested in others.
    pub fn size(&self) -> usize {
        let mut size = 0;
        self.body.walk(&mut |_| size += 1);
        size
    }
}

impl Operation {
    /// An operation without attributes, regions and place.
    pub fn new(kind: OpKind, operands: Vec<Value>, results: Vec<Value>) -> Operation {
        Operation { kind, operands, results, attributes: Vec::new(), regions: Vec::new(), place: Place::default() }
    }

    /// The attribute of this name.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        find(&self.attributes, name)
    }

    /// The attribute of this name as an integer.
    pub fn integer(&self, name: &str) -> Option<i64> {
        self.attribute(name).and_then(Attribute::as_integer)
    }

    /// The attribute of this name as a list of integers.
    pub fn integers(&self, name: &str) -> Option<&[i64]> {
        match self.attribute(name) {
            Some(Attribute::I64Array(values)) => Some(values),
            _ => None,
        }
    }

    /// The function that the attribute `callee` names.
    pub fn callee(&self) -> Option<&str> {
        match self.attribute("callee") {
            Some(Attribute::Symbol(name)) => Some(name),
            _ => None,
        }
    }

    /// The result of an operation that has one.
    pub fn result(&self) -> Value {
        self.results[0]
    }

    /// Calls `visit` for this operation and everything nested in it, outer ones first.
    pub fn walk<'o>(&'o self, visit: &mut dyn FnMut(&'o Operation)) {
        visit(self);
        self.regions.iter().for_each(|region| region.walk(visit));
    }
}

impl Region {
    /// Calls `visit` for everything nested in it, outer ones first.
    pub fn walk<'o>(&'o self, visit: &mut dyn FnMut(&'o Operation)) {
        self.operations.iter().for_each(|operation| operation.walk(visit));
    }

    /// Gives each value the number that stands at its own.
    pub(super) fn rename(&mut self, numbers: &[u32]) {
        let rename = |values: &mut Vec<Value>| values.iter_mut().for_each(|value| value.0 = numbers[value.number()]);
        rename(&mut self.arguments);
        for operation in &mut self.operations {
            rename(&mut operation.operands);
            rename(&mut operation.results);
            operation.regions.iter_mut().for_each(|region| region.rename(numbers));
        }
    }

    /// What the region hands on at its end.
    pub fn yielded(&self) -> &[Value] {
        self.operations.last().map_or(&[], |last| &last.operands)
    }
}

fn find<'a>(attributes: &'a [(Cow<'static, str>, Attribute)], name: &str) -> Option<&'a Attribute> {
    attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.instruction, &self.source) {
            (Some(instruction), Some((file, line, column))) => write!(f, "{instruction} ({file}:{line}:{column})"),
            (Some(instruction), None) => f.write_str(instruction),
            (None, Some((file, line, column))) => write!(f, "{file}:{line}:{column}"),
            (None, None) => f.write_str("unknown"),
        }
    }
}
