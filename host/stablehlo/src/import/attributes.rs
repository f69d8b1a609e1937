//! Typed access to the attributes of an operation.

use std::str::FromStr;

use super::Imported;
use super::location::unsupported;
use crate::program::{Attribute, Constant, Operation};

impl Operation {
    fn missing<T>(&self, name: &str, kind: &str) -> Imported<T> {
        Err(unsupported(self, format!("the attribute {name} must be {kind}")))
    }

    /// Returns an integer.
    pub(super) fn integer(&self, name: &str) -> Imported<i64> {
        match self.attribute(name) {
            Some(Attribute::Integer(_, value)) => Ok(*value),
            _ => self.missing(name, "an integer"),
        }
    }

    /// Returns an integer attribute, or zero if the attribute is absent, because the text form
    /// omits zeros.
    pub(super) fn integer_or_zero(&self, name: &str) -> Imported<i64> {
        if self.attribute(name).is_some() { self.integer(name) } else { Ok(0) }
    }

    /// Returns a float.
    pub(super) fn float(&self, name: &str) -> Imported<f64> {
        match self.attribute(name) {
            Some(Attribute::Float(_, value)) => Ok(*value),
            _ => self.missing(name, "a float"),
        }
    }

    /// Returns a boolean, or `false` if the attribute is absent.
    pub(super) fn flag(&self, name: &str) -> Imported<bool> {
        match self.attribute(name) {
            Some(Attribute::Bool(value)) => Ok(*value),
            Some(Attribute::Unit) => Ok(true),
            None => Ok(false),
            _ => self.missing(name, "a boolean"),
        }
    }

    /// Returns a string, a symbol, or the name of an enumeration's value.
    pub(super) fn text(&self, name: &str) -> Imported<&str> {
        match self.attribute(name).and_then(Attribute::as_text) {
            Some(text) => Ok(text),
            None => self.missing(name, "a string"),
        }
    }

    /// Returns the HLO value with the name that the attribute contains.
    pub(super) fn named<T: FromStr>(&self, name: &str) -> Imported<T> {
        let text = self.text(name)?;
        text.parse().map_err(|_| unsupported(self, format!("the value {text} of {name} is not supported")))
    }

    /// Returns a list of integers. An absent list is empty.
    pub(super) fn integers(&self, name: &str) -> Imported<Vec<i64>> {
        let list = match self.attribute(name) {
            None => Some(Vec::new()),
            Some(attribute) => attribute.integers(),
        };
        list.map_or_else(|| self.missing(name, "a list of integers"), Ok)
    }

    /// Returns a list of integers with one entry per dimension. If the list is absent, each entry
    /// is `usual`.
    pub(super) fn per_dimension(&self, name: &str, rank: usize, usual: i64) -> Imported<Vec<i64>> {
        match self.integers(name)? {
            list if list.is_empty() => Ok(vec![usual; rank]),
            list if list.len() == rank => Ok(list),
            list => Err(unsupported(self, format!("{name} has {} entries for {rank} dimensions", list.len()))),
        }
    }

    /// Returns a pair of integers per dimension: the rows of a matrix with two columns. If the
    /// matrix is absent, all integers are zero.
    pub(super) fn pairs(&self, name: &str, rank: usize) -> Imported<Vec<[i64; 2]>> {
        let flat = self.per_dimension(name, 2 * rank, 0)?;
        Ok(flat.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect())
    }

    /// Returns a constant array.
    pub(super) fn constant(&self, name: &str) -> Imported<&Constant> {
        match self.attribute(name) {
            Some(Attribute::Array(constant)) => Ok(constant),
            _ => self.missing(name, "an array"),
        }
    }
}
