//! Rules of the house that the compiler cannot check; see `tests/`.

#![forbid(unsafe_code)]
