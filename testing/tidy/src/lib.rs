//! Rules of the house that the compiler cannot check; see `tests/`.
