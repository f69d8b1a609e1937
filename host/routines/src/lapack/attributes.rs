//! Attributes of a LAPACK call.

use std::str::FromStr;

use fusebox_core::hlo::Instruction;

use crate::Unsupported;
use crate::attributes::Attributes;
use crate::operation::backend_config;

/// The attributes of a call. Reading an attribute fails if the attribute is missing.
#[derive(Debug)]
pub(super) struct RequiredAttributes(Attributes);

impl RequiredAttributes {
    /// Parses the attributes. Fails if the attributes are not a dictionary.
    pub fn of(instruction: &Instruction) -> Result<Self, Unsupported> {
        Attributes::new(backend_config(instruction)).map(RequiredAttributes)
    }

    /// Returns the value of an integer or boolean attribute.
    pub fn get<T: FromStr>(&self, name: &str) -> Result<T, Unsupported> {
        let missing = || Unsupported::new(format!("a backend_config without `{name}`"));
        self.0.get(name)?.ok_or_else(missing)
    }

    /// Returns the letter that an attribute holds as a character code. Converts the letter to upper
    /// case.
    pub fn letter(&self, name: &str) -> Result<char, Unsupported> {
        let code: i64 = self.get(name)?;
        let wrong = |_| Unsupported::new(format!("`{name} = {code}` in backend_config: expected the code of a letter"));
        u8::try_from(code).map(|code| char::from(code).to_ascii_uppercase()).map_err(wrong)
    }

    /// Whether the attribute is the letter `first`. Fails if the attribute is neither `first` nor
    /// `second`.
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
