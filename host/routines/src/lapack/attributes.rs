//! Attributes of a LAPACK call.

use std::str::FromStr;

use fusebox_core::hlo::Instruction;

use crate::Unsupported;
use crate::attributes::Attributes;
use crate::operation::backend_config;

/// The attributes of a call, all of which are required.
#[derive(Debug)]
pub(super) struct RequiredAttributes<'a>(Attributes<'a>);

impl<'a> RequiredAttributes<'a> {
    pub fn of(instruction: &'a Instruction) -> Self {
        RequiredAttributes(Attributes::new(backend_config(instruction)))
    }

    /// Returns an integer or a flag.
    pub fn get<T: FromStr>(&self, name: &str) -> Result<T, Unsupported> {
        let missing = || Unsupported::new(format!("a backend_config without `{name}`"));
        self.0.get(name)?.ok_or_else(missing)
    }

    /// Returns a letter, which is stored as its code.
    pub fn letter(&self, name: &str) -> Result<char, Unsupported> {
        let code: i64 = self.get(name)?;
        let wrong = |_| Unsupported::new(format!("`{name} = {code}` in backend_config: expected the code of a letter"));
        u8::try_from(code).map(|code| char::from(code).to_ascii_uppercase()).map_err(wrong)
    }

    /// Whether the attribute is the first of two letters. Fails for other letters.
    pub fn is_first(&self, name: &str, [first, second]: [char; 2]) -> Result<bool, Unsupported> {
        match self.letter(name)? {
            letter if letter == first => Ok(true),
            letter if letter == second => Ok(false),
            letter => {
                Err(Unsupported::new(format!("`{name} = '{letter}'` in backend_config: expected {first} or {second}")))
            }
        }
    }
}
