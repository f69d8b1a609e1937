//! Does nothing. Cargo ignores the build dependencies of a package that has no build script, and
//! therefore also the features of these dependencies.

fn main() {}
