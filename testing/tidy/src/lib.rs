//! Checks rules of this project that the compiler cannot check. The checks are in `tests/`.

#![forbid(unsafe_code)]
