//! A position in the text, and the words, numbers and strings that begin there.

use crate::StablehloError;

pub(super) type Read<T> = Result<T, StablehloError>;

/// A position in the text of a file.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'t> {
    text: &'t str,
    file: &'t str,
    position: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str, file: &'t str) -> Self {
        Cursor { text, file, position: 0 }
    }

    /// Returns an error at the position.
    pub(super) fn error(&self, message: impl Into<String>) -> StablehloError {
        let before = &self.text[..self.position];
        let line = before.matches('\n').count() + 1;
        let column = before.len() - before.rfind('\n').map_or(0, |at| at + 1) + 1;
        StablehloError::Text { file: self.file.to_owned(), line, column, message: message.into() }
    }

    /// Skips spaces and comments, and returns the rest of the text.
    pub(super) fn rest(&mut self) -> &'t str {
        loop {
            let rest = &self.text[self.position..];
            let trimmed = rest.trim_start();
            self.position += rest.len() - trimmed.len();
            if !trimmed.starts_with("//") {
                return trimmed;
            }
            self.position += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    /// Skips `bytes` bytes. The new position must be the boundary of a character.
    pub(super) fn skip(&mut self, bytes: usize) {
        self.position += bytes;
    }

    pub(super) fn is_at_end(&mut self) -> bool {
        self.rest().is_empty()
    }

    pub(super) fn is_at(&mut self, expected: &str) -> bool {
        self.rest().starts_with(expected)
    }

    /// If the text continues with `expected`, skips this word or sign and returns true. Otherwise
    /// returns false.
    pub(super) fn eat(&mut self, expected: &str) -> bool {
        let follows = self.is_at(expected);
        if follows {
            self.position += expected.len();
        }
        follows
    }

    /// Skips the next word if it is exactly `expected`. Does not skip the beginning of a longer
    /// word.
    pub(super) fn eat_word(&mut self, expected: &str) -> bool {
        let mut ahead = *self;
        let follows = ahead.word() == expected;
        if follows {
            *self = ahead;
        }
        follows
    }

    pub(super) fn expect(&mut self, expected: &str) -> Read<()> {
        if self.eat(expected) {
            return Ok(());
        }
        let found: String = self.rest().chars().take(20).collect();
        Err(self.error(format!("`{expected}` is needed before `{}`", found.lines().next().unwrap_or_default())))
    }

    /// Reads the letters, digits and other characters that names consist of. Returns an empty text
    /// if the next character is not a part of a name.
    pub(super) fn word(&mut self) -> &'t str {
        self.while_is(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$' | '-'))
    }

    /// Reads characters as long as `is_part` is true for them.
    pub(super) fn while_is(&mut self, is_part: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        self.position += end;
        &rest[..end]
    }

    pub(super) fn name(&mut self) -> Read<&'t str> {
        match self.word() {
            "" => Err(self.error("a name is needed here")),
            word => Ok(word),
        }
    }

    pub(super) fn integer(&mut self) -> Read<i64> {
        let mut ahead = *self;
        let sign = if ahead.eat("-") { "-" } else { "" };
        let digits = ahead.while_is(|c| c.is_ascii_digit());
        let value = format!("{sign}{digits}").parse().map_err(|_| self.error("an integer is needed here"))?;
        *self = ahead;
        Ok(value)
    }

    /// Reads a name after a sign such as `%` or `@`. The name may be quoted.
    pub(super) fn marked(&mut self, sign: &str) -> Read<String> {
        self.expect(sign)?;
        if self.is_at("\"") { self.string() } else { self.name().map(str::to_owned) }
    }

    /// Reads a string in quotes. A backslash precedes a quote, a backslash, a letter for a control
    /// character, or two hexadecimal digits.
    pub(super) fn string(&mut self) -> Read<String> {
        self.expect("\"")?;
        let mut bytes = Vec::new();
        let mut rest = self.text[self.position..].bytes();
        loop {
            let before = rest.len();
            let byte = match rest.next() {
                None => return Err(self.error("the string has no end")),
                Some(b'"') => break,
                Some(b'\\') => match rest.next() {
                    Some(b'n') => b'\n',
                    Some(b't') => b'\t',
                    Some(escaped @ (b'"' | b'\\')) => escaped,
                    Some(high) => {
                        let digit = |byte: u8| (byte as char).to_digit(16);
                        match (digit(high), rest.next().and_then(digit)) {
                            (Some(high), Some(low)) => (16 * high + low) as u8,
                            _ => return Err(self.error("an unknown character after a backslash")),
                        }
                    }
                    None => return Err(self.error("the string has no end")),
                },
                Some(byte) => byte,
            };
            bytes.push(byte);
            self.position += before - rest.len();
        }
        self.position += 1;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Reads items that are separated by commas, between an opening and a closing sign.
    pub(super) fn list<T>(
        &mut self,
        [open, close]: [&str; 2],
        mut item: impl FnMut(&mut Self) -> Read<T>,
    ) -> Read<Vec<T>> {
        self.expect(open)?;
        let mut items = Vec::new();
        if self.eat(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if !self.eat(",") {
                self.expect(close)?;
                return Ok(items);
            }
        }
    }

    /// Reads integers in brackets.
    pub(super) fn integers(&mut self) -> Read<Vec<i64>> {
        self.list(["[", "]"], Cursor::integer)
    }

    /// Skips a pair of brackets and the text between them. Skips nested brackets and strings as
    /// wholes.
    pub(super) fn skip_bracketed(&mut self, open: char, close: char) -> Read<()> {
        self.expect(&open.to_string())?;
        let mut depth = 1;
        while depth > 0 {
            let rest = self.rest();
            match rest.chars().next() {
                None => return Err(self.error(format!("a `{close}` is missing"))),
                Some('"') => {
                    self.string()?;
                }
                Some(c) => {
                    depth += usize::from(c == open);
                    // The `>` of an arrow closes nothing.
                    if rest.starts_with("->") {
                        self.position += 1;
                    } else if c == close {
                        depth -= 1;
                    }
                    self.position += c.len_utf8();
                }
            }
        }
        Ok(())
    }
}
