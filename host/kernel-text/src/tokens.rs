//! Splits MLIR text into tokens.

/// A token with its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'t> {
    pub(super) kind: TokenKind,
    pub(super) text: &'t str,
    /// Offset of the token's first byte in the text.
    pub(super) offset: usize,
    pub(super) at: At,
}

/// Line and column of a token, both from 1. Columns count bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct At {
    pub(super) line: u32,
    pub(super) column: u32,
}

/// A fault with its position.
pub(super) struct Fault {
    pub(super) at: At,
    pub(super) message: String,
}

pub(super) type Read<T = ()> = Result<T, Fault>;

impl At {
    /// Returns a fault at this position.
    pub(super) fn fault<T>(self, message: impl Into<String>) -> Read<T> {
        Err(Fault { at: self, message: message.into() })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// `"…"`, with its quotes.
    Text,
    /// A name without a leading mark such as `%`, a number, or a mixture of both: `tensor`, `0x7F`,
    /// `4x8xf32`, `1.5e-3`.
    Word,
    /// A name with a mark in front: `%0`, `^bb0`, `@f`, `#gpu`, `!t`.
    Marked,
    /// `->`
    Arrow,
    /// A punctuation mark of one character.
    Mark,
    /// The end of the text.
    End,
}

impl<'t> Token<'t> {
    /// Whether the token is the punctuation mark `mark`.
    pub(super) fn is(&self, mark: &str) -> bool {
        self.kind == TokenKind::Mark && self.text == mark
    }

    /// Whether the token is the word `word`.
    pub(super) fn is_word(&self, word: &str) -> bool {
        self.kind == TokenKind::Word && self.text == word
    }

    /// Whether the token is a name with the leading mark `mark`.
    pub(super) fn is_marked(&self, mark: char) -> bool {
        self.kind == TokenKind::Marked && self.text.starts_with(mark)
    }

    /// Returns the value if there is one, else a fault with this message.
    pub(super) fn known<T>(&self, value: Option<T>, words: impl FnOnce() -> String) -> Read<T> {
        value.map_or_else(|| self.at.fault(words()), Ok)
    }

    /// Returns the token in quotes, for messages.
    pub(super) fn quoted(&self) -> String {
        match self.kind {
            TokenKind::End => "the end of the text".into(),
            _ => format!("`{}`", self.text.chars().take(40).collect::<String>()),
        }
    }
}

/// Reads text token by token, with one token of lookahead.
#[derive(Clone)]
pub(super) struct Tokens<'t> {
    text: &'t str,
    /// Offset of the first byte after the lookahead token.
    offset: usize,
    line: u32,
    line_start: usize,
    next: Token<'t>,
}

impl<'t> Tokens<'t> {
    pub(super) fn of(text: &'t str) -> Read<Self> {
        let next = Token { kind: TokenKind::End, text: "", offset: 0, at: At { line: 1, column: 1 } };
        let mut tokens = Tokens { text, offset: 0, line: 1, line_start: 0, next };
        tokens.next = tokens.read()?;
        Ok(tokens)
    }

    /// Returns the next token without consuming it.
    pub(super) fn peek(&self) -> Token<'t> {
        self.next
    }

    /// Consumes the next token.
    ///
    /// # Errors
    /// If the token after the consumed one is a text without closing quote, or a character that is
    /// not part of the kernel IR.
    pub(super) fn next(&mut self) -> Read<Token<'t>> {
        let after = self.read()?;
        Ok(std::mem::replace(&mut self.next, after))
    }

    /// Returns the text from one token to another, both included.
    pub(super) fn between(&self, first: Token<'t>, last: Token<'t>) -> &'t str {
        self.text.get(first.offset..last.offset + last.text.len()).unwrap_or_default()
    }

    fn read(&mut self) -> Read<Token<'t>> {
        self.skip_space();
        let (offset, rest) = (self.offset, self.text.as_bytes().get(self.offset..).unwrap_or_default());
        let at = At { line: self.line, column: (offset - self.line_start + 1) as u32 };
        let Some(&first) = rest.first() else { return Ok(Token { kind: TokenKind::End, text: "", offset, at }) };
        let quoted = |from: usize| match text_length(&rest[from..]) {
            Some(length) => Ok(from + length),
            None => at.fault("a text in quotes does not end"),
        };
        let (kind, length) = match first {
            b'"' => (TokenKind::Text, quoted(0)?),
            b'@' if rest.get(1) == Some(&b'"') => (TokenKind::Marked, quoted(1)?),
            b'%' | b'^' | b'@' | b'#' | b'!' => {
                let name = rest[1..].iter().take_while(|&&byte| is_name(byte) || byte == b'-').count();
                (TokenKind::Marked, 1 + name)
            }
            b'-' if rest.get(1) == Some(&b'>') => (TokenKind::Arrow, 2),
            byte if is_name(byte) => (TokenKind::Word, word_length(rest)),
            byte if byte.is_ascii_punctuation() => (TokenKind::Mark, 1),
            _ => return at.fault("a character that is not part of the kernel IR"),
        };
        self.offset += length;
        // Tokens end at ASCII characters, so a slice never splits a character of several bytes.
        Ok(Token { kind, text: self.text.get(offset..self.offset).unwrap_or_default(), offset, at })
    }

    fn skip_space(&mut self) {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.offset) {
            match byte {
                b'\n' => {
                    self.offset += 1;
                    self.line += 1;
                    self.line_start = self.offset;
                }
                _ if byte.is_ascii_whitespace() => self.offset += 1,
                b'/' if bytes.get(self.offset + 1) == Some(&b'/') => {
                    self.offset +=
                        bytes[self.offset..].iter().take_while(|&&byte| byte != b'\n' && byte != b'\r').count();
                }
                _ => return,
            }
        }
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$')
}

/// Returns the length of a text in quotes, including both quotes.
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

/// Returns the length of a word. The exponent of a number may have a sign.
fn word_length(bytes: &[u8]) -> usize {
    let number = bytes[0].is_ascii_digit() && !bytes.starts_with(b"0x");
    let mut length = 1;
    while let Some(&byte) = bytes.get(length) {
        let exponent = matches!(bytes[length - 1], b'e' | b'E') && matches!(byte, b'+' | b'-');
        if !(is_name(byte) || number && exponent) {
            break;
        }
        length += 1;
    }
    length
}

/// Returns the text between quotes, with MLIR's escapes resolved.
pub(super) fn unquoted(token: Token<'_>) -> Read<String> {
    let inner = token.text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(token.text);
    if !inner.contains('\\') {
        return Ok(inner.to_owned());
    }
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        match rest.next() {
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(byte @ (b'"' | b'\\')) => bytes.push(byte),
            first => match (digit(first), digit(rest.next())) {
                (Some(high), Some(low)) => bytes.push((high * 16 + low) as u8),
                _ => {
                    return token.at.fault("after `\\` in quotes comes `n`, `t`, `\"`, `\\` or two hexadecimal digits");
                }
            },
        }
    }
    token.known(String::from_utf8(bytes).ok(), || "the text in quotes is not UTF-8".into())
}
