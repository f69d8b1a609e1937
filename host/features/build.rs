//! Does nothing. Cargo ignores build dependencies, and so their features, of a package without a
//! build script.

fn main() {}
