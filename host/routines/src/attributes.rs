//! Parses the dictionary in a custom call's `backend_config`, which is MLIR text: `{uplo = 76 :
//! ui8, largest = true, name = "x", steps = array<i64: 1, 2>}`.

use std::str::FromStr;

use fusebox_core::hlo::ElementType;

use crate::Unsupported;

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A boolean. An attribute without a value counts as true.
    Flag(bool),
    /// The text of a number. If the text states no type, an integer has the type `s64` and any
    /// other number has the type `f64`.
    Number(ElementType, String),
    /// A text.
    Text(String),
    /// The texts of an array's numbers, in row-major order.
    Numbers(ElementType, Vec<String>),
    /// The bytes of an array.
    Bytes(ElementType, Vec<u8>),
    /// Values of any types.
    List(Vec<Value>),
    /// Values with names.
    Dictionary(Vec<(String, Value)>),
    /// The text of another value: a type, a symbol.
    Other(String),
}

/// The attributes of a custom call.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Attributes {
    entries: Vec<(String, Value)>,
}

impl Attributes {
    /// Parses the text of a `backend_config`. If the text is not a dictionary, the result has no
    /// attributes.
    ///
    /// # Errors
    /// If the text begins with `{` but is no dictionary.
    pub fn new(text: &str) -> Result<Attributes, Unsupported> {
        if !text.trim_start().starts_with('{') {
            return Ok(Attributes::default());
        }
        let mut parser = Parser { text, at: 0, depth: 0 };
        let entries = parser.dictionary()?;
        parser.skip_spaces();
        if parser.at < text.len() { Err(parser.wrong("nothing")) } else { Ok(Attributes { entries }) }
    }

    /// Returns the attributes with their names, in the order of the text.
    pub fn into_entries(self) -> Vec<(String, Value)> {
        self.entries
    }

    /// Returns the value of the attribute `name`, or `None` if the attribute is missing. The value
    /// can be a number of any type, a flag (`true` or `false`) or a text.
    ///
    /// # Errors
    /// If the value cannot be parsed as `T`.
    pub fn get<T: FromStr>(&self, name: &str) -> Result<Option<T>, Unsupported> {
        let entry = self.entries.iter().find(|(known, _)| known == name);
        let value = |(name, value): &(String, Value)| {
            let text = match value {
                Value::Number(_, text) | Value::Text(text) | Value::Other(text) => text.clone(),
                Value::Flag(flag) => flag.to_string(),
                _ => String::new(),
            };
            text.parse().map_err(|_| Unsupported::new(format!("`{name} = {text}` in backend_config")))
        };
        entry.map(value).transpose()
    }
}

/// A position in the text.
struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_spaces(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn wrong(&self, expected: &str) -> Unsupported {
        let found: String = self.rest().chars().take(20).collect();
        Unsupported::new(format!("a backend_config that is no MLIR dictionary: expected {expected}, found `{found}`"))
    }

    /// Skips spaces. If the text after the spaces begins with `word`, skips `word` and returns
    /// `true`.
    fn take(&mut self, word: &str) -> bool {
        self.skip_spaces();
        let is_next = self.rest().starts_with(word);
        self.at += if is_next { word.len() } else { 0 };
        is_next
    }

    fn expect(&mut self, word: &str) -> Result<(), Unsupported> {
        if self.take(word) { Ok(()) } else { Err(self.wrong(&format!("`{word}`"))) }
    }

    /// Returns the text from the current position to the first of the characters `ends`, without
    /// the spaces at its beginning and end.
    fn until(&mut self, ends: &[char]) -> &str {
        self.skip_spaces();
        let start = self.at;
        self.at += self.rest().find(ends).unwrap_or(self.rest().len());
        self.text[start..self.at].trim_end()
    }

    /// Parses a list of items, which commas separate and the text `end` ends. `item` parses one
    /// item.
    fn list<T>(
        &mut self,
        end: &str,
        mut item: impl FnMut(&mut Self) -> Result<T, Unsupported>,
    ) -> Result<Vec<T>, Unsupported> {
        let mut items = Vec::new();
        while !self.take(end) {
            if !items.is_empty() {
                self.expect(",")?;
            }
            items.push(item(self)?);
        }
        Ok(items)
    }

    fn dictionary(&mut self) -> Result<Vec<(String, Value)>, Unsupported> {
        self.expect("{")?;
        self.list("}", |parser| {
            let is_quoted = parser.take("\"");
            let name = if is_quoted { parser.quoted()? } else { parser.until(&['=', ',', '}', ' ']).to_owned() };
            if name.is_empty() {
                return Err(parser.wrong("a name"));
            }
            let value = if parser.take("=") { parser.value()? } else { Value::Flag(true) };
            Ok((name, value))
        })
    }

    fn value(&mut self) -> Result<Value, Unsupported> {
        self.depth += 1;
        let value = if self.depth > MOST_DEPTH { Err(self.wrong("less nesting")) } else { self.value_inside() };
        self.depth -= 1;
        value
    }

    fn value_inside(&mut self) -> Result<Value, Unsupported> {
        self.skip_spaces();
        if self.rest().starts_with('{') {
            return self.dictionary().map(Value::Dictionary);
        }
        if self.take("[") {
            return self.list("]", Parser::value).map(Value::List);
        }
        if self.take("\"") {
            return self.quoted().map(Value::Text);
        }
        if self.take("array<") {
            let element = element_type(self.until(&[':', '>'])).ok_or_else(|| self.wrong("a type of numbers"))?;
            self.take(":");
            return Ok(Value::Numbers(element, self.list(">", |parser| Ok(parser.until(&[',', '>']).to_owned()))?));
        }
        if self.take("dense<") {
            return self.dense();
        }
        let text = self.until(&[',', '}', ']', ':', ' ']).to_owned();
        let typed = if self.take(":") { Some(self.until(&[',', '}', ']']).to_owned()) } else { None };
        let is_number = text.starts_with(|first: char| first.is_ascii_digit() || "+-".contains(first));
        match (text.as_str(), typed) {
            ("", _) => Err(self.wrong("a value")),
            ("true" | "false", _) => Ok(Value::Flag(text == "true")),
            ("unit", None) => Ok(Value::Flag(true)),
            (_, None) if is_number => Ok(Value::Number(untyped(&text), text)),
            (_, Some(name)) if is_number => {
                let element = element_type(&name).ok_or_else(|| Unsupported::new(format!("numbers of type {name}")))?;
                Ok(Value::Number(element, text))
            }
            (_, typed) => Ok(Value::Other(typed.map_or(text.clone(), |typed| format!("{text} : {typed}")))),
        }
    }

    /// Parses the elements of `dense<…> : tensor<…>`: a single value for all elements, nested lists
    /// of values, or a text with the bytes in hexadecimal digits.
    fn dense(&mut self) -> Result<Value, Unsupported> {
        let mut numbers = Vec::new();
        let mut bytes = None;
        self.skip_spaces();
        let is_list = self.rest().starts_with('[');
        loop {
            if self.take("\"0x") {
                let digits = self.quoted()?;
                bytes = Some(from_hexadecimal(&digits).ok_or_else(|| self.wrong("hexadecimal digits"))?);
            } else if self.take(">") {
                break;
            } else if !self.take("[") && !self.take("]") && !self.take(",") {
                let number = self.until(&[',', ']', '>']).to_owned();
                if number.is_empty() {
                    return Err(self.wrong("a number"));
                }
                numbers.push(number);
            }
        }
        self.expect(":")?;
        self.expect("tensor<")?;
        let shape = self.until(&['>']).to_owned();
        self.expect(">")?;
        let (dims, element) = shape.rsplit_once('x').map_or(("", shape.as_str()), |(dims, element)| (dims, element));
        let element = element_type(element).ok_or_else(|| Unsupported::new(format!("an attribute of type {shape}")))?;
        let sizes = dims.split('x').filter(|it| !it.is_empty()).map(str::parse::<usize>);
        let count = sizes.product::<Result<usize, _>>().map_err(|_| self.wrong("the sizes of an array"))?;
        let of_one = |width: usize| count.checked_mul(width).filter(|&bytes| bytes <= MOST_BYTES);
        let total = of_one(element.byte_size()).ok_or_else(|| self.wrong("a smaller array"))?;
        match bytes {
            Some(bytes) if bytes.len() == element.byte_size() => Ok(Value::Bytes(element, bytes.repeat(count))),
            Some(bytes) if bytes.len() == total => Ok(Value::Bytes(element, bytes)),
            None if numbers.len() == 1 && !is_list => Ok(Value::Numbers(element, vec![numbers.swap_remove(0); count])),
            None if numbers.len() == count => Ok(Value::Numbers(element, numbers)),
            _ => Err(self.wrong(&format!("{count} numbers"))),
        }
    }

    /// Parses the rest of a text in quotes.
    fn quoted(&mut self) -> Result<String, Unsupported> {
        let mut bytes = Vec::new();
        let mut rest = self.rest().bytes().enumerate();
        while let Some((_, byte)) = rest.next() {
            match byte {
                b'"' => {
                    self.at += rest.next().map_or(self.rest().len(), |(next, _)| next);
                    return String::from_utf8(bytes).map_err(|_| Unsupported::new("a text that is not UTF-8"));
                }
                b'\\' => match rest.next().map(|(_, byte)| byte) {
                    Some(b'n') => bytes.push(b'\n'),
                    Some(b't') => bytes.push(b'\t'),
                    Some(first) if first.is_ascii_hexdigit() => {
                        let second = rest.next().map_or('?', |(_, byte)| char::from(byte));
                        let digits = [char::from(first), second].iter().collect::<String>();
                        bytes.push(u8::from_str_radix(&digits, 16).map_err(|_| self.wrong("two hexadecimal digits"))?);
                    }
                    Some(other) => bytes.push(other),
                    None => break,
                },
                other => bytes.push(other),
            }
        }
        Err(self.wrong("the end of a text"))
    }
}

/// Largest depth of nested values. The limit protects the stack: executables are untrusted, and the
/// parser is recursive.
const MOST_DEPTH: usize = 64;

/// Largest number of bytes of an array in an attribute.
const MOST_BYTES: usize = 1 << 28;

/// Returns the element type that has the name `name` in MLIR, for example `i32`, `si32`, `ui8`,
/// `i1`, `f8E4M3FN`.
fn element_type(name: &str) -> Option<ElementType> {
    let name = name.trim().to_ascii_lowercase();
    let hlo = match (name.as_str(), name.strip_prefix("ui"), name.strip_prefix("si").or(name.strip_prefix('i'))) {
        ("i1", ..) => "pred".to_owned(),
        ("index", ..) => "s64".to_owned(),
        (_, Some(bits), _) => format!("u{bits}"),
        (_, _, Some(bits)) => format!("s{bits}"),
        _ => name,
    };
    hlo.parse().ok()
}

/// Returns the type of a number whose text states no type.
fn untyped(number: &str) -> ElementType {
    let is_integer = number.starts_with("0x") || !number.contains(['.', 'e', 'E']);
    if is_integer { ElementType::S64 } else { ElementType::F64 }
}

fn from_hexadecimal(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

/// Returns the bytes of a number in memory.
///
/// # Errors
/// If the text is not a number of this type.
pub fn number_bytes(element: ElementType, text: &str) -> Result<Vec<u8>, Unsupported> {
    let width = element.byte_size();
    let bits = match text {
        "true" => Some(1),
        "false" => Some(0),
        _ if text.starts_with("0x") => u64::from_str_radix(&text[2..], 16).ok(),
        _ if element.is_integer_or_pred() => {
            // A negative integer has the bits of its two's complement.
            let value = text.parse::<i128>().ok();
            let half = 1_i128 << (element.bits() - 1);
            let fits = |value: &i128| if *value < 0 { *value >= -half } else { *value < 2 * half };
            value.filter(fits).map(|value| value as u64)
        }
        _ => text.parse().ok().and_then(|value| element.float_format().map(|format| format.encode(value))),
    };
    let wrong = || Unsupported::new(format!("the number {text} of type {element} in backend_config"));
    bits.map(|bits| bits.to_le_bytes()[..width.min(8)].to_vec()).ok_or_else(wrong)
}
