//! The number of calls of each function of the driver.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::counts::write_object;

static CALLS: Mutex<BTreeMap<&'static str, u64>> = Mutex::new(BTreeMap::new());

/// Counts a call.
pub fn count(name: &'static str) {
    *CALLS.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_default() += 1;
}

/// Writes the numbers of calls to a file.
pub fn write(file: &Path) {
    let calls = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
    write_object(file, calls.iter().map(|(name, number)| (*name, number.to_string())));
}
