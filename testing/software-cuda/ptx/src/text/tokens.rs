//! Reads the tokens of a module, with one token of lookahead.

use super::lexer::{Lexer, Token};
use super::syntax::Type;
use crate::error::LoadError;

/// The tokens from the current position on.
pub struct Tokens<'t> {
    lexer: Lexer<'t>,
    /// The token to read next, and its line.
    pub token: Token<'t>,
    pub line: u32,
    /// Line of the token that was read last.
    pub last_line: u32,
}

impl<'t> Tokens<'t> {
    pub fn new(text: &'t str) -> Result<Tokens<'t>, LoadError> {
        let mut lexer = Lexer::new(text);
        let token = lexer.next()?;
        Ok(Tokens { line: lexer.line, lexer, token, last_line: 1 })
    }

    pub fn error<T>(&self, message: impl Into<String>) -> Result<T, LoadError> {
        Err(LoadError::new(self.line, message))
    }

    pub fn expected<T>(&self, what: &str) -> Result<T, LoadError> {
        let found = match self.token {
            Token::Word(name) => name.to_owned(),
            Token::Dotted(name) => format!(".{name}"),
            Token::Sign(byte) => char::from(byte).to_string(),
            Token::End => "the end of the text".into(),
            other => format!("{other:?}"),
        };
        self.error(format!("expected {what}, found {found}"))
    }

    pub fn next(&mut self) -> Result<Token<'t>, LoadError> {
        let token = self.token;
        self.last_line = self.line;
        self.token = self.lexer.next()?;
        self.line = self.lexer.line;
        Ok(token)
    }

    /// Reads a sign if it is next.
    pub fn has(&mut self, sign: u8) -> Result<bool, LoadError> {
        let is_next = self.token == Token::Sign(sign);
        if is_next {
            self.next()?;
        }
        Ok(is_next)
    }

    pub fn sign(&mut self, sign: u8) -> Result<(), LoadError> {
        if self.has(sign)? { Ok(()) } else { self.expected(&format!("`{}`", char::from(sign))) }
    }

    pub fn word(&mut self) -> Result<&'t str, LoadError> {
        let Token::Word(name) = self.token else { return self.expected("a name") };
        self.next()?;
        Ok(name)
    }

    pub fn dotted(&mut self) -> Result<&'t str, LoadError> {
        let Token::Dotted(name) = self.token else { return self.expected("a directive") };
        self.next()?;
        Ok(name)
    }

    pub fn integer(&mut self) -> Result<u64, LoadError> {
        let Token::Integer(value) = self.token else { return self.expected("a number") };
        self.next()?;
        Ok(value)
    }

    /// Reads a list of numbers that commas separate.
    pub fn integers(&mut self) -> Result<Vec<u64>, LoadError> {
        let mut all = Vec::new();
        while let Token::Integer(_) = self.token {
            all.push(self.integer()?);
            if !self.has(b',')? {
                break;
            }
        }
        Ok(all)
    }

    pub fn ty(&mut self) -> Result<Type, LoadError> {
        let line = self.line;
        let name = self.dotted()?;
        Type::named(name).ok_or_else(|| LoadError::new(line, format!(".{name} is not a type")))
    }
}
