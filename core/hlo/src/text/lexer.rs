//! Reads words, numbers, strings and punctuation from a range of the text.
//!
//! HLO text has no token grammar that is independent of context (`2x3`, `0_1x0_0`,
//! `b01f_01io->b01f` and `1e-5` overlap). So a [`Cursor`] returns *words*. A word is a sequence, as
//! long as possible, of characters that can occur in names and numbers. The caller decides the
//! meaning of a word.

use super::source::{Fault, Parse};

/// Words that cannot be names, even after `%`, because they begin a header, a table, an entry
/// computation or a root.
const KEYWORDS: &[&str] = &["HloModule", "ENTRY", "ROOT", "FileNames", "FunctionNames", "FileLocations", "StackFrames"];

/// Whether the parser reads a text as one name.
#[cfg(feature = "proto")]
pub(crate) fn can_be_name(text: &str) -> bool {
    matches!(Cursor::new(text).name(""), Ok((name, 0)) if name == text)
}

/// A position in a range of the text.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'t> {
    text: &'t str,
    pos: usize,
    end: usize,
}

impl<'t> Cursor<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Cursor { text, pos: 0, end: text.len() }
    }

    fn bytes(&self) -> &'t [u8] {
        &self.text.as_bytes()[..self.end]
    }

    /// Skips blanks and comments, and returns the byte offset of the next character.
    pub(crate) fn at(&mut self) -> usize {
        self.skip_blank();
        self.pos
    }

    /// Moves to another offset.
    pub(crate) fn move_to(&mut self, at: usize) {
        self.pos = at.min(self.end);
    }

    /// Whether the next byte is `byte`. Does not skip blanks.
    pub(crate) fn touches(&self, byte: u8) -> bool {
        self.bytes().get(self.pos) == Some(&byte)
    }

    /// Skips blanks and comments. Stops at an unterminated comment, so that the caller reports it.
    fn skip_blank(&mut self) {
        let bytes = self.bytes();
        while let Some(&byte) = bytes.get(self.pos) {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => self.pos += 1,
                b'/' => match skip_comment(bytes, self.pos) {
                    Some(after) => self.pos = after,
                    None => return,
                },
                _ => return,
            }
        }
    }

    pub(crate) fn peek(&mut self) -> Option<u8> {
        self.skip_blank();
        self.bytes().get(self.pos).copied()
    }

    pub(crate) fn is_done(&mut self) -> bool {
        self.peek().is_none()
    }

    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.pos += usize::from(found);
        found
    }

    pub(crate) fn looks_at(&mut self, symbol: &str) -> bool {
        self.skip_blank();
        self.bytes()[self.pos..].starts_with(symbol.as_bytes())
    }

    pub(crate) fn eat_symbol(&mut self, symbol: &str) -> bool {
        let found = self.looks_at(symbol);
        self.pos += if found { symbol.len() } else { 0 };
        found
    }

    pub(crate) fn expect(&mut self, byte: u8, context: &str) -> Parse<()> {
        if self.eat(byte) {
            return Ok(());
        }
        Err(self.unexpected(&format!("`{}` {context}", byte as char)))
    }

    /// Returns a fault whose message contains `expected` and the text that the parser found
    /// instead.
    pub(crate) fn unexpected(&mut self, expected: &str) -> Fault {
        let at = self.at();
        Fault::new(at, format!("expected {expected}, found {}", self.describe_next()))
    }

    fn describe_next(&mut self) -> String {
        let Some(byte) = self.peek() else { return "the end of the text".to_owned() };
        if self.looks_at("/*") {
            return "a comment that does not end".to_owned();
        }
        if matches!(byte, b'"' | b'\'') {
            return "a string".to_owned();
        }
        match self.clone().word() {
            Some(word) if word.len() <= 40 => format!("`{word}`"),
            Some(word) => format!("`{}…`", word.chars().take(40).collect::<String>()),
            None => format!("`{}`", self.text[self.pos..].chars().next().unwrap_or(' ')),
        }
    }

    /// Reads the next word, if there is one.
    pub(crate) fn word(&mut self) -> Option<&'t str> {
        self.skip_blank();
        let bytes = self.bytes();
        let start = self.pos;
        let numeric = matches!(bytes.get(start), Some(b'0'..=b'9' | b'-' | b'.'));
        let mut end = start;
        while let Some(&byte) = bytes.get(end) {
            let next = bytes.get(end + 1).copied();
            let belongs = match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => true,
                b'-' => next != Some(b'>'),
                // XLA generates names like `constant.3..sunk`. A number does not contain two
                // adjacent points, and `...` is not a word.
                b'.' => next != Some(b'.') || (end > start && !numeric),
                b'+' => numeric && end > start && matches!(bytes[end - 1], b'e' | b'E'),
                _ => false,
            };
            if !belongs {
                break;
            }
            end += 1;
        }
        self.pos = end;
        (end > start).then(|| &self.text[start..end])
    }

    pub(crate) fn peek_word(&self) -> Option<&'t str> {
        self.clone().word()
    }

    pub(crate) fn expect_word(&mut self, what: &str) -> Parse<&'t str> {
        self.skip_blank();
        let copy = *self;
        self.word().ok_or_else(|| { copy }.unexpected(what))
    }

    /// Reads the next word if it is `word`.
    pub(crate) fn eat_word(&mut self, word: &str) -> bool {
        let mut ahead = *self;
        let found = ahead.word() == Some(word);
        if found {
            *self = ahead;
        }
        found
    }

    /// Reads a name with or without `%`. Returns the name and its offset.
    pub(crate) fn name(&mut self, what: &str) -> Parse<(&'t str, usize)> {
        let at = self.at();
        self.eat(b'%');
        let word = self.expect_word(what)?;
        if KEYWORDS.contains(&word) {
            Err(Fault::new(at, format!("expected {what}, found the keyword `{word}`")))
        } else {
            Ok((word, at))
        }
    }

    pub(crate) fn integer(&mut self, what: &str) -> Parse<i64> {
        let at = self.at();
        let word = self.expect_word(what)?;
        parse_integer(word).ok_or_else(|| Fault::new(at, format!("expected {what} (a 64-bit integer), found `{word}`")))
    }

    /// Reads an integer that serialised modules store in 32 bits.
    pub(crate) fn integer32(&mut self, what: &str) -> Parse<i64> {
        let at = self.at();
        let number = self.integer(what)?;
        match i32::try_from(number) {
            Ok(_) => Ok(number),
            Err(_) => Err(Fault::new(at, format!("{what} is {number}, which has more than 32 bits"))),
        }
    }

    /// Reads a list like `{1,2,3}`. The list may be empty.
    pub(crate) fn integers(&mut self, what: &str) -> Parse<Vec<i64>> {
        self.expect(b'{', &format!("before {what}"))?;
        self.list(b'}', |cursor| cursor.integer(what))
    }

    /// Reads the only integer of a braced list.
    pub(crate) fn only_integer(&mut self, what: &str) -> Parse<i64> {
        let at = self.at();
        match self.integers("an integer")?[..] {
            [only] => Ok(only),
            ref list => Err(Fault::new(at, format!("`{what}` takes exactly one dimension, found {}", list.len()))),
        }
    }

    /// Reads comma-separated items up to and including the closing byte. The caller has read the
    /// opening byte.
    pub(crate) fn list<T>(&mut self, close: u8, mut item: impl FnMut(&mut Self) -> Parse<T>) -> Parse<Vec<T>> {
        let mut items = Vec::new();
        if self.eat(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.eat(close) {
                return Ok(items);
            }
            self.expect(b',', &format!("or `{}` after a list element", close as char))?;
        }
    }

    /// Reads a quoted string and resolves its escapes.
    pub(crate) fn string(&mut self, what: &str) -> Parse<String> {
        let at = self.at();
        if !matches!(self.peek(), Some(b'"' | b'\'')) {
            return Err(self.unexpected(&format!("{what} in quotes")));
        }
        match skip_string(self.bytes(), self.pos) {
            Some(after) => {
                let content = &self.text[self.pos + 1..after - 1];
                self.pos = after;
                Ok(unescape(content))
            }
            None => Err(Fault::new(at, "this string does not end")),
        }
    }

    /// Reads a pair of brackets and returns its text, including the brackets.
    pub(crate) fn balanced(&mut self) -> Parse<&'t str> {
        let start = self.at();
        self.skip_balanced()?;
        Ok(&self.text[start..self.pos])
    }

    /// Returns a cursor over the text inside the next pair of brackets, and moves `self` behind the
    /// pair.
    pub(crate) fn inside(&mut self) -> Parse<Cursor<'t>> {
        let start = self.at();
        self.skip_balanced()?;
        Ok(Cursor { text: self.text, pos: start + 1, end: self.pos - 1 })
    }

    /// Returns the text of the range that the cursor has not read yet.
    pub(crate) fn rest(&self) -> &'t str {
        &self.text[self.pos..self.end]
    }

    /// Reads all unread text of the range.
    pub(crate) fn rest_of_value(&mut self) -> &'t str {
        let rest = self.rest().trim();
        self.pos = self.end;
        rest
    }

    /// Fails if unread text remains.
    pub(crate) fn finish(&mut self, what: &str) -> Parse<()> {
        if self.is_done() { Ok(()) } else { Err(self.unexpected(&format!("nothing more in {what}"))) }
    }

    /// Skips a pair of brackets and everything between them. Does not recurse, because the nesting
    /// depth of the brackets has no limit.
    fn skip_balanced(&mut self) -> Parse<()> {
        let start = self.pos;
        let bytes = self.bytes();
        let mut open: Vec<u8> = Vec::new();
        while let Some(&byte) = bytes.get(self.pos) {
            match byte {
                b'{' | b'[' | b'(' => open.push(byte),
                b'}' | b']' | b')' if open.pop() != Some(opening(byte)) => {
                    return Err(Fault::new(self.pos, format!("`{}` closes nothing", byte as char)));
                }
                b'"' | b'\'' => {
                    let after = skip_string(bytes, self.pos);
                    self.pos = after.ok_or_else(|| Fault::new(self.pos, "this string does not end"))?;
                    continue;
                }
                b'/' => {
                    self.pos = skip_comment(bytes, self.pos).unwrap_or(self.pos + 1);
                    continue;
                }
                _ => {}
            }
            self.pos += 1;
            if open.is_empty() {
                return Ok(());
            }
        }
        Err(Fault::new(start, format!("this `{}` is not closed", bytes[start] as char)))
    }

    /// Reads the value of an attribute. The value ends before the first comma, blank or closing
    /// bracket outside of nested brackets. A blank before an opening brace or square bracket does
    /// not end the value. Returns a cursor over the value, and moves `self` behind the value.
    pub(crate) fn attribute_value(&mut self) -> Parse<Cursor<'t>> {
        self.skip_blank();
        let start = self.pos;
        let bytes = self.bytes();
        while let Some(&byte) = bytes.get(self.pos) {
            match byte {
                b',' | b'}' | b')' | b']' => break,
                b'{' | b'[' | b'(' => self.skip_balanced()?,
                b'"' | b'\'' => match skip_string(bytes, self.pos) {
                    Some(after) => self.pos = after,
                    None => return Err(Fault::new(self.pos, "this string does not end")),
                },
                // `mesh['x'=2] {'x'}` is one value.
                b' ' if matches!(bytes.get(self.pos + 1), Some(b'{' | b'[')) => self.pos += 1,
                b' ' | b'\t' | b'\n' | b'\r' => break,
                _ => self.pos += 1,
            }
        }
        Ok(Cursor { text: self.text, pos: start, end: self.pos })
    }

    /// Skips the statement that starts at an offset. Stops at the first line end outside of
    /// brackets, or at the brace that closes the computation's body. Always moves past `start`.
    pub(crate) fn skip_statement(&mut self, start: usize) {
        self.pos = start;
        let bytes = self.bytes();
        while let Some(&byte) = bytes.get(self.pos) {
            match byte {
                b'\n' => return,
                b'}' if self.pos > start => return,
                b'{' | b'[' | b'(' if self.skip_balanced().is_err() => {
                    self.pos = start;
                    return self.skip_line();
                }
                b'{' | b'[' | b'(' => {}
                _ => self.pos += 1,
            }
        }
    }

    /// Skips the computation that starts at an offset. Stops after the next `}` at the beginning of
    /// a line.
    pub(crate) fn skip_body(&mut self, start: usize) {
        let rest = &self.bytes()[start..];
        let end = rest.windows(2).position(|pair| pair == b"\n}").map_or(rest.len(), |n| n + 2);
        self.pos = self.pos.max(start + end);
    }

    /// Skips to the start of the next line.
    pub(crate) fn skip_line(&mut self) {
        let rest = &self.bytes()[self.pos..];
        self.pos += rest.iter().position(|&byte| byte == b'\n').map_or(rest.len(), |n| n + 1);
    }
}

fn opening(closing: u8) -> u8 {
    match closing {
        b'}' => b'{',
        b']' => b'[',
        _ => b'(',
    }
}

/// Returns the offset after the comment that starts at `start`; `None` if no comment starts there
/// or if the comment does not end.
fn skip_comment(bytes: &[u8], start: usize) -> Option<usize> {
    let find = |pattern: &[u8], from: usize| bytes[from..].windows(pattern.len()).position(|w| w == pattern);
    match bytes.get(start + 1)? {
        b'/' => Some(find(b"\n", start).map_or(bytes.len(), |n| start + n)),
        b'*' => find(b"*/", start + 2).map(|n| start + 2 + n + 2),
        _ => None,
    }
}

/// Returns the offset after the string that starts at `start`; `None` if the string does not end.
fn skip_string(bytes: &[u8], start: usize) -> Option<usize> {
    let quote = bytes[start];
    let mut pos = start + 1;
    while let Some(&byte) = bytes.get(pos) {
        match byte {
            b'\\' => pos += 2,
            _ if byte == quote => return Some(pos + 1),
            _ => pos += 1,
        }
    }
    None
}

/// Resolves C escapes and keeps other text unchanged.
fn unescape(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut pos = 0;
    while pos < bytes.len() {
        if bytes[pos] != b'\\' || pos + 1 == bytes.len() {
            out.push(bytes[pos]);
            pos += 1;
            continue;
        }
        pos += 2;
        match bytes[pos - 1] {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            b'a' => out.push(7),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'v' => out.push(11),
            b'x' => out.push(take_digits(bytes, &mut pos, 2, 16)),
            b'0'..=b'7' => {
                pos -= 1;
                out.push(take_digits(bytes, &mut pos, 3, 8));
            }
            other => out.push(other),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn take_digits(bytes: &[u8], pos: &mut usize, at_most: usize, radix: u32) -> u8 {
    let mut value = 0u32;
    for _ in 0..at_most {
        let Some(digit) = bytes.get(*pos).and_then(|&byte| (byte as char).to_digit(radix)) else { break };
        value = value * radix + digit;
        *pos += 1;
    }
    value as u8
}

/// Parses a 64-bit integer. A value above `i64::MAX` that fits into `u64` keeps its bits, as in
/// XLA's parser.
pub(crate) fn parse_integer(word: &str) -> Option<i64> {
    word.parse::<i64>().ok().or_else(|| word.parse::<u64>().ok().map(|value| value as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        let mut cursor = Cursor::new(text);
        std::iter::from_fn(|| cursor.word()).collect()
    }

    #[test]
    fn words_are_names_and_numbers() {
        assert_eq!(
            words("a.1_b-c 1e+10 -3.5e-2 0_1x-1_0 /* no */ x // y"),
            ["a.1_b-c", "1e+10", "-3.5e-2", "0_1x-1_0", "x"]
        );
        assert_eq!(words("b01f_01io->b01f"), ["b01f_01io"]);
        assert_eq!(words("a+b"), ["a"]);
        assert_eq!(words("constant.3..sunk.2 ..."), ["constant.3..sunk.2"]);
    }

    #[test]
    fn attribute_values_end_where_the_value_ends() {
        let value = |text: &'static str| Cursor::new(text).attribute_value().map(|v| v.rest()).unwrap();
        assert_eq!(value("{a,{b}}, x=1"), "{a,{b}}");
        assert_eq!(value("[2,4]<=[8]T(1,0), x=1"), "[2,4]<=[8]T(1,0)");
        assert_eq!(value("mesh['a'=2] {'a'}, x"), "mesh['a'=2] {'a'}");
        assert_eq!(value("\"a, } b\", x"), "\"a, } b\"");
        assert_eq!(value("b01f_01io->b01f\n  y"), "b01f_01io->b01f");
        assert_eq!(value("{\"a\":\"}\\\"\"}\n}"), "{\"a\":\"}\\\"\"}");
    }

    #[test]
    fn balanced_text_may_be_nested_without_bound() {
        let text = "{".repeat(100_000);
        assert!(Cursor::new(&text).balanced().unwrap_err().message.contains("not closed"));
        let text = "{".repeat(100_000) + &"}".repeat(100_000);
        assert_eq!(Cursor::new(&text).balanced().unwrap().len(), 200_000);
        assert!(Cursor::new("{]").balanced().unwrap_err().message.contains("closes nothing"));
    }

    #[test]
    fn strings_lose_their_escapes() {
        assert_eq!(Cursor::new(r#""a\"b\n\x41\101\\""#).string("x").unwrap(), "a\"b\nAA\\");
        assert!(Cursor::new("\"abc").string("x").unwrap_err().message.contains("does not end"));
    }
}
