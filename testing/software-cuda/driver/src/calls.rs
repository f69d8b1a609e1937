//! The number of calls of each function of the driver, and the bytes that calls move and allocate.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::counts::write_object;

/// Counts of calls with the names of functions as keys, and numbers of bytes with descriptions as
/// keys.
static NUMBERS: Mutex<BTreeMap<&'static str, u64>> = Mutex::new(BTreeMap::new());

/// Counts a call.
pub fn count(name: &'static str) {
    add(name, 1);
}

/// Adds a number to the count with this name.
pub fn add(name: &'static str, number: u64) {
    *NUMBERS.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_default() += number;
}

/// Raises the count with this name to `to`, if the count is smaller.
pub fn raise(name: &'static str, to: u64) {
    let mut numbers = NUMBERS.lock().unwrap_or_else(PoisonError::into_inner);
    let number = numbers.entry(name).or_default();
    *number = (*number).max(to);
}

/// Writes all counts to a file.
pub fn write(file: &Path) {
    let numbers = NUMBERS.lock().unwrap_or_else(PoisonError::into_inner);
    write_object(file, numbers.iter().map(|(name, number)| (*name, number.to_string())));
}
