//! Divides the text of a module into tokens.

use crate::error::LoadError;

/// A token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Token<'t> {
    /// A name. The name may begin with `%` or `$`.
    Word(&'t str),
    /// A name that follows a dot, without the dot.
    Dotted(&'t str),
    Integer(u64),
    Single(u32),
    Double(u64),
    /// The text between quotation marks.
    Text(&'t str),
    Sign(u8),
    End,
}

/// The tokens of a text, one after the other.
#[derive(Clone, Debug)]
pub struct Lexer<'t> {
    text: &'t str,
    at: usize,
    pub line: u32,
}

impl<'t> Lexer<'t> {
    pub fn new(text: &'t str) -> Lexer<'t> {
        Lexer { text, at: 0, line: 1 }
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Skips space and comments, and counts lines.
    fn skip(&mut self) -> Result<(), LoadError> {
        loop {
            let rest = &self.text[self.at..];
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                let end = rest.find("*/").ok_or_else(|| LoadError::new(self.line, "a comment has no end"))?;
                self.line += rest[..end].matches('\n').count() as u32;
                self.at += end + 2;
            } else if self.byte(0).is_ascii_whitespace() {
                self.line += u32::from(self.byte(0) == b'\n');
                self.at += 1;
            } else {
                return Ok(());
            }
        }
    }

    /// Reads and returns the text up to the first byte that does not satisfy a condition.
    fn take(&mut self, accept: impl Fn(u8) -> bool) -> &'t str {
        let rest = &self.text[self.at..];
        let length = rest.bytes().position(|byte| !accept(byte)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// Returns the next token.
    pub fn next(&mut self) -> Result<Token<'t>, LoadError> {
        self.skip()?;
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$';
        Ok(match self.byte(0) {
            0 if self.at >= self.text.len() => Token::End,
            b'%' => {
                let start = self.at;
                self.at += 1;
                self.take(is_name);
                Token::Word(&self.text[start..self.at])
            }
            b'"' => {
                self.at += 1;
                let text = self.take(|byte| byte != b'"');
                self.at += 1;
                Token::Text(text)
            }
            b'.' if is_name(self.byte(1)) => {
                self.at += 1;
                Token::Dotted(self.dotted(is_name))
            }
            byte if byte.is_ascii_digit() => self.number()?,
            byte if is_name(byte) => Token::Word(self.take(is_name)),
            byte if byte.is_ascii_graphic() => {
                self.at += 1;
                Token::Sign(byte)
            }
            byte => return Err(LoadError::new(self.line, format!("byte {byte:#x} is not allowed in PTX"))),
        })
    }

    /// Reads a name, which may consist of several parts joined by `::`.
    fn dotted(&mut self, is_name: impl Fn(u8) -> bool) -> &'t str {
        let start = self.at;
        self.take(&is_name);
        while self.byte(0) == b':' && self.byte(1) == b':' {
            self.at += 2;
            self.take(&is_name);
        }
        &self.text[start..self.at]
    }

    fn number(&mut self) -> Result<Token<'t>, LoadError> {
        let word = self.take(|byte| byte.is_ascii_alphanumeric());
        let line = self.line;
        let wrong = || LoadError::new(line, format!("{word} is not a number"));
        let of_base = |digits: &str, base: u32| u64::from_str_radix(digits.trim_end_matches('U'), base);
        let parsed = match word.as_bytes() {
            [b'0', b'f' | b'F', ..] if word.len() == 10 => {
                return u32::from_str_radix(&word[2..], 16).map(Token::Single).map_err(|_| wrong());
            }
            [b'0', b'd' | b'D', ..] if word.len() == 18 => {
                return u64::from_str_radix(&word[2..], 16).map(Token::Double).map_err(|_| wrong());
            }
            [b'0', b'x' | b'X', ..] => of_base(&word[2..], 16),
            [b'0', b'b' | b'B', ..] => of_base(&word[2..], 2),
            [b'0', _, ..] if word != "0U" => of_base(&word[1..], 8),
            _ if self.byte(0) == b'.' && self.byte(1).is_ascii_digit() => {
                self.at += 1;
                let fraction = self.take(|byte| byte.is_ascii_digit());
                let value: f64 = format!("{word}.{fraction}").parse().map_err(|_| wrong())?;
                return Ok(Token::Double(value.to_bits()));
            }
            _ => of_base(word, 10),
        };
        parsed.map(Token::Integer).map_err(|_| wrong())
    }
}
