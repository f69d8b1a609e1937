//! The dictionary in a call's `backend_config`: `{uplo = 76 : ui8, left = true}`.

use crate::{Operation, Unsupported};

/// What a call asks for besides its operands.
#[derive(Debug)]
pub(super) struct Attributes<'a> {
    text: &'a str,
}

impl<'a> Attributes<'a> {
    pub fn of(operation: &Operation<'a>) -> Self {
        let text = operation.backend_config().trim();
        Attributes { text: text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text) }
    }

    fn get(&self, name: &str) -> Result<&'a str, Unsupported> {
        let entry = |part: &'a str| {
            let (found, value) = part.split_once('=')?;
            let value = value.split_once(" : ").map_or(value, |(value, _)| value);
            (found.trim().trim_matches('"') == name).then_some(value.trim())
        };
        let missing = || Unsupported::new(format!("a LAPACK call whose backend_config has no `{name}`"));
        self.text.split(',').find_map(entry).ok_or_else(missing)
    }

    pub fn flag(&self, name: &str) -> Result<bool, Unsupported> {
        match self.get(name)? {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            other => Err(Unsupported::new(format!("`{name} = {other}` in a LAPACK call: true or false is wanted"))),
        }
    }

    pub fn integer(&self, name: &str) -> Result<i64, Unsupported> {
        let value = self.get(name)?;
        let wrong = |_| Unsupported::new(format!("`{name} = {value}` in a LAPACK call: an integer is wanted"));
        value.parse().map_err(wrong)
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
