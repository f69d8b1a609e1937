//! Reads declarations of variables and parameters.

use super::lexer::Token;
use super::syntax::{Operand, Type, Variable};
use super::tokens::Tokens;
use crate::error::LoadError;

/// State spaces of variables.
pub const SPACES: [&str; 5] = ["global", "const", "shared", "local", "param"];
/// Largest number of elements of a variable.
const MOST_ELEMENTS: u64 = 1 << 28;

impl<'t> Tokens<'t> {
    /// Reads the variables of a declaration. The caller has read the state space.
    pub fn variables(&mut self, space: &'t str, line: u32) -> Result<Vec<Variable<'t>>, LoadError> {
        let mut all = vec![self.variable(space, line)?];
        while self.has(b',')? {
            let first = &all[0];
            let (ty, alignment) = (first.ty, first.alignment);
            all.push(self.named_variable(space, ty, alignment, line)?);
        }
        self.sign(b';')?;
        Ok(all)
    }

    pub fn variable(&mut self, space: &'t str, line: u32) -> Result<Variable<'t>, LoadError> {
        let mut alignment = None;
        loop {
            match self.token {
                Token::Dotted("align") => {
                    self.next()?;
                    alignment = Some(self.integer()?);
                }
                Token::Dotted(name) => {
                    let Some(ty) = Type::named(name) else { return self.expected("a type") };
                    self.next()?;
                    if self.token == Token::Dotted("ptr") {
                        self.pointer()?;
                    }
                    let alignment = alignment.unwrap_or(u64::from(ty.bytes()));
                    return self.named_variable(space, ty, alignment, line);
                }
                _ => return self.expected("a type"),
            }
        }
    }

    /// Skips the attributes of a pointer parameter: the state space and the alignment of its
    /// address.
    fn pointer(&mut self) -> Result<(), LoadError> {
        self.next()?;
        loop {
            match self.token {
                Token::Dotted("align") => {
                    self.next()?;
                    self.integer()?;
                }
                Token::Dotted(space) if SPACES.contains(&space) => drop(self.next()?),
                _ => return Ok(()),
            }
        }
    }

    fn named_variable(
        &mut self,
        space: &'t str,
        ty: Type,
        alignment: u64,
        line: u32,
    ) -> Result<Variable<'t>, LoadError> {
        let name = self.word()?;
        let mut count = Some(1u64);
        while self.has(b'[')? {
            if self.has(b']')? {
                count = None;
                continue;
            }
            let elements = self.integer()?;
            count = count.and_then(|count| count.checked_mul(elements)).filter(|count| *count <= MOST_ELEMENTS);
            if count.is_none() {
                return self.error(format!("{name} has too many elements"));
            }
            self.sign(b']')?;
        }
        let mut initial = Vec::new();
        if self.has(b'=')? {
            self.initial(&mut initial)?;
        }
        Ok(Variable { space, name, ty, alignment, count, initial, line })
    }

    fn initial(&mut self, values: &mut Vec<Operand<'t>>) -> Result<(), LoadError> {
        if !self.has(b'{')? {
            values.push(self.operand()?);
            return Ok(());
        }
        while !self.has(b'}')? {
            self.initial(values)?;
            self.has(b',')?;
        }
        Ok(())
    }
}
