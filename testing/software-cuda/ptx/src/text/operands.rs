//! Reads operands of instructions.

use super::lexer::Token;
use super::syntax::Operand;
use super::tokens::Tokens;
use crate::error::LoadError;

impl<'t> Tokens<'t> {
    pub fn operand(&mut self) -> Result<Operand<'t>, LoadError> {
        let operand = self.single_operand()?;
        if self.has(b'|')? {
            return Ok(Operand::Pair(Box::new(operand), Box::new(self.single_operand()?)));
        }
        Ok(operand)
    }

    fn single_operand(&mut self) -> Result<Operand<'t>, LoadError> {
        match self.token {
            Token::Word("_") => self.next().map(|_| Operand::Discard),
            Token::Word(_) => {
                let name = self.name()?;
                Ok(match self.displacement()? {
                    None => Operand::Name(name),
                    Some(offset) => Operand::Offset(name, offset),
                })
            }
            Token::Integer(value) => self.next().map(|_| Operand::Integer(i128::from(value))),
            Token::Single(bits) => self.next().map(|_| Operand::Single(bits)),
            Token::Double(bits) => self.next().map(|_| Operand::Double(bits)),
            Token::Sign(b'-') => {
                self.next()?;
                Ok(Operand::Integer(-i128::from(self.integer()?)))
            }
            Token::Sign(b'!') => {
                self.next()?;
                Ok(Operand::Not(self.word()?))
            }
            Token::Sign(b'{') => self.list(b'}').map(Operand::Vector),
            Token::Sign(b'(') => self.list(b')').map(Operand::List),
            Token::Sign(b'[') => {
                self.next()?;
                let base = match self.token {
                    Token::Integer(value) => self.next().map(|_| Operand::Integer(i128::from(value)))?,
                    _ => Operand::Name(self.name()?),
                };
                let offset = self.displacement()?.unwrap_or(0);
                self.sign(b']')?;
                Ok(Operand::Address(Box::new(base), offset))
            }
            _ => self.expected("an operand"),
        }
    }

    /// Reads the operands of a list up to the sign that closes it.
    fn list(&mut self, end: u8) -> Result<Vec<Operand<'t>>, LoadError> {
        self.next()?;
        let mut all = Vec::new();
        while !self.has(end)? {
            if !all.is_empty() {
                self.sign(b',')?;
            }
            all.push(self.operand()?);
        }
        Ok(all)
    }

    /// Reads a name. The name of a special register may consist of two parts.
    fn name(&mut self) -> Result<&'t str, LoadError> {
        let name = self.word()?;
        let Token::Dotted(part @ ("x" | "y" | "z" | "w")) = self.token else { return Ok(name) };
        self.next()?;
        Ok(joined(name, part))
    }

    /// Reads the right side of a sum or a difference, if there is one.
    fn displacement(&mut self) -> Result<Option<i64>, LoadError> {
        let sign = match self.token {
            Token::Sign(b'+') => 1,
            Token::Sign(b'-') => -1,
            _ => return Ok(None),
        };
        self.next()?;
        let is_negative = self.has(b'-')?;
        let value = self.integer()? as i64;
        Ok(Some(if is_negative { -sign * value } else { sign * value }))
    }
}

/// Full names of the special registers whose names have two parts, as the decoder knows them.
const WITH_PARTS: [&str; 28] = [
    "%tid.x",
    "%tid.y",
    "%tid.z",
    "%tid.w",
    "%ntid.x",
    "%ntid.y",
    "%ntid.z",
    "%ntid.w",
    "%ctaid.x",
    "%ctaid.y",
    "%ctaid.z",
    "%ctaid.w",
    "%nctaid.x",
    "%nctaid.y",
    "%nctaid.z",
    "%nctaid.w",
    "%clusterid.x",
    "%clusterid.y",
    "%clusterid.z",
    "%nclusterid.x",
    "%nclusterid.y",
    "%nclusterid.z",
    "%cluster_ctaid.x",
    "%cluster_ctaid.y",
    "%cluster_ctaid.z",
    "%cluster_nctaid.x",
    "%cluster_nctaid.y",
    "%cluster_nctaid.z",
];

/// Returns the full name of a special register, or the name if there is no such register.
fn joined<'t>(name: &'t str, part: &str) -> &'t str {
    let is_full = |full: &&&str| full.strip_suffix(part).and_then(|it| it.strip_suffix('.')) == Some(name);
    WITH_PARTS.iter().find(is_full).copied().unwrap_or(name)
}
