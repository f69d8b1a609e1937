//! The words of MLIR text.

/// A word and where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'t> {
    pub(super) kind: TokenKind,
    pub(super) text: &'t str,
    pub(super) offset: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// `"…"`, with its quotes.
    Text,
    /// A name without a mark, or a number, or both: `tensor`, `0x7F`, `4x8xf32`, `1.5e-3`.
    Word,
    /// A name with a mark in front: `%0`, `^bb0`, `@f`, `#gpu`, `!t`.
    Marked,
    /// `->`
    Arrow,
    /// One character.
    Mark,
    /// Nothing is left.
    End,
}

impl Token<'_> {
    /// Whether it is this punctuation mark.
    pub(super) fn is(&self, mark: &str) -> bool {
        matches!(self.kind, TokenKind::Mark | TokenKind::Arrow) && self.text == mark
    }
}

/// Reads text word by word.
#[derive(Clone)]
pub(super) struct Tokens<'t> {
    text: &'t str,
    offset: usize,
}

impl<'t> Tokens<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Tokens { text, offset: 0 }
    }

    /// The next word; it stays the next.
    pub(super) fn peek(&self) -> Result<Token<'t>, (usize, String)> {
        self.clone().next()
    }

    /// Takes the next word.
    ///
    /// # Errors
    /// Where a text does not end, or there is a character that MLIR has no use for.
    pub(super) fn next(&mut self) -> Result<Token<'t>, (usize, String)> {
        self.skip_space();
        let (offset, rest) = (self.offset, self.text.as_bytes().get(self.offset..).unwrap_or_default());
        let Some(&first) = rest.first() else { return Ok(Token { kind: TokenKind::End, text: "", offset }) };
        let (kind, length) = match first {
            b'"' => (TokenKind::Text, text_length(rest).ok_or((offset, "a text in quotes does not end".to_owned()))?),
            b'@' if rest.get(1) == Some(&b'"') => {
                let length = text_length(&rest[1..]).ok_or((offset, "a text in quotes does not end".to_owned()))?;
                (TokenKind::Marked, 1 + length)
            }
            b'%' | b'^' | b'@' | b'#' | b'!' => {
                let name = rest[1..].iter().take_while(|&&byte| is_name(byte) || byte == b'-').count();
                (TokenKind::Marked, 1 + name)
            }
            b'-' if rest.get(1) == Some(&b'>') => (TokenKind::Arrow, 2),
            byte if is_name(byte) => (TokenKind::Word, word_length(rest)),
            byte if byte.is_ascii_punctuation() => (TokenKind::Mark, 1),
            _ => return Err((offset, "a character that is not part of the kernel IR".to_owned())),
        };
        self.offset += length;
        // Lengths end at ASCII characters, which begin no other character's bytes.
        Ok(Token { kind, text: self.text.get(offset..self.offset).unwrap_or_default(), offset })
    }

    fn skip_space(&mut self) {
        let bytes = self.text.as_bytes();
        loop {
            while bytes.get(self.offset).is_some_and(u8::is_ascii_whitespace) {
                self.offset += 1;
            }
            if !bytes[self.offset..].starts_with(b"//") {
                return;
            }
            self.offset += bytes[self.offset..].iter().take_while(|&&byte| byte != b'\n' && byte != b'\r').count();
        }
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$')
}

/// Up to the closing quote.
fn text_length(bytes: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\n' | b'\r' | 0 => return None,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// A number's exponent may have a sign.
fn word_length(bytes: &[u8]) -> usize {
    let number = bytes[0].is_ascii_digit() && !bytes.starts_with(b"0x");
    let mut length = 1;
    while let Some(&byte) = bytes.get(length) {
        let exponent = matches!(bytes[length - 1], b'e' | b'E') && matches!(byte, b'+' | b'-');
        match is_name(byte) || number && exponent {
            true => length += 1,
            false => break,
        }
    }
    length
}
