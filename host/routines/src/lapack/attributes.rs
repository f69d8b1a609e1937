//! What a call asks for besides its operands.

use crate::attributes::Attributes;
use crate::{Operation, Unsupported};

/// The attributes of a call, each of which must be there.
#[derive(Debug)]
pub(super) struct Asked<'a>(Attributes<'a>);

impl<'a> Asked<'a> {
    pub fn of(operation: &Operation<'a>) -> Self {
        Asked(Attributes::new(operation.backend_config()))
    }

    pub fn flag(&self, name: &str) -> Result<bool, Unsupported> {
        let missing = || Unsupported::new(format!("a LAPACK call whose backend_config has no flag `{name}`"));
        self.0.flag(name).ok_or_else(missing)
    }

    pub fn integer(&self, name: &str) -> Result<i64, Unsupported> {
        let missing = || Unsupported::new(format!("a LAPACK call whose backend_config has no integer `{name}`"));
        self.0.integer(name).ok_or_else(missing)
    }

    /// A letter, given as its code.
    pub fn letter(&self, name: &str) -> Result<char, Unsupported> {
        let code = self.integer(name)?;
        let wrong = |_| Unsupported::new(format!("`{name} = {code}` in a LAPACK call: a letter's code is wanted"));
        u8::try_from(code).map(|code| char::from(code).to_ascii_uppercase()).map_err(wrong)
    }

    /// A letter out of two: whether it is the first.
    pub fn is_first(&self, name: &str, [first, second]: [char; 2]) -> Result<bool, Unsupported> {
        match self.letter(name)? {
            letter if letter == first => Ok(true),
            letter if letter == second => Ok(false),
            letter => {
                Err(Unsupported::new(format!("`{name} = '{letter}'` in a LAPACK call: {first} or {second} is wanted")))
            }
        }
    }
}
