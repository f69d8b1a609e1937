//! Reads the text of a module.

mod lexer;
mod syntax;

use crate::error::LoadError;
use lexer::{Lexer, Token};
pub use syntax::{File, Function, Guard, Instruction, Operand, Statement, Type, Variable};

/// Reads a module.
pub fn parse(text: &str) -> Result<File<'_>, LoadError> {
    let mut lexer = Lexer::new(text);
    let token = lexer.next()?;
    Parser { line: lexer.line, lexer, token, last_line: 1 }.file()
}

struct Parser<'t> {
    lexer: Lexer<'t>,
    /// The token to read next, and its line.
    token: Token<'t>,
    line: u32,
    /// Line of the token that was read last.
    last_line: u32,
}

/// Directives of a kernel that numbers follow.
const FUNCTION_DIRECTIVES: [&str; 8] = [
    "maxntid",
    "reqntid",
    "minnctapersm",
    "maxnreg",
    "maxnctapersm",
    "maxclusterrank",
    "reqnctapercluster",
    "explicitcluster",
];
/// State spaces of variables.
const SPACES: [&str; 5] = ["global", "const", "shared", "local", "param"];
/// The most elements of a variable's initial value.
const MOST_ELEMENTS: u64 = 1 << 28;

impl<'t> Parser<'t> {
    fn error<T>(&self, message: impl Into<String>) -> Result<T, LoadError> {
        Err(LoadError::new(self.line, message))
    }

    fn expected<T>(&self, what: &str) -> Result<T, LoadError> {
        let found = match self.token {
            Token::Word(name) => name.to_owned(),
            Token::Dotted(name) => format!(".{name}"),
            Token::Sign(byte) => char::from(byte).to_string(),
            Token::End => "the end of the text".into(),
            other => format!("{other:?}"),
        };
        self.error(format!("expected {what}, found {found}"))
    }

    fn next(&mut self) -> Result<Token<'t>, LoadError> {
        let token = self.token;
        self.last_line = self.line;
        self.token = self.lexer.next()?;
        self.line = self.lexer.line;
        Ok(token)
    }

    /// Reads a sign if it is next.
    fn has(&mut self, sign: u8) -> Result<bool, LoadError> {
        let is_next = self.token == Token::Sign(sign);
        if is_next {
            self.next()?;
        }
        Ok(is_next)
    }

    fn sign(&mut self, sign: u8) -> Result<(), LoadError> {
        if self.has(sign)? { Ok(()) } else { self.expected(&format!("`{}`", char::from(sign))) }
    }

    fn word(&mut self) -> Result<&'t str, LoadError> {
        let Token::Word(name) = self.token else { return self.expected("a name") };
        self.next()?;
        Ok(name)
    }

    fn dotted(&mut self) -> Result<&'t str, LoadError> {
        let Token::Dotted(name) = self.token else { return self.expected("a directive") };
        self.next()?;
        Ok(name)
    }

    fn integer(&mut self) -> Result<u64, LoadError> {
        let Token::Integer(value) = self.token else { return self.expected("a number") };
        self.next()?;
        Ok(value)
    }

    /// Reads numbers with commas between.
    fn integers(&mut self) -> Result<Vec<u64>, LoadError> {
        let mut all = Vec::new();
        while let Token::Integer(_) = self.token {
            all.push(self.integer()?);
            if !self.has(b',')? {
                break;
            }
        }
        Ok(all)
    }

    fn file(mut self) -> Result<File<'t>, LoadError> {
        let mut file = File::default();
        while self.token != Token::End {
            let line = self.line;
            match self.dotted()? {
                "version" => {
                    let Token::Double(bits) = self.next()? else { return self.error("expected a version such as 8.0") };
                    file.version = ((f64::from_bits(bits) * 10.0).round() as u32, line);
                }
                "target" => {
                    let name = self.word()?;
                    let mut options = Vec::new();
                    while self.has(b',')? {
                        options.push(self.word()?);
                    }
                    file.target = (name, options, line);
                }
                "address_size" => file.address_size = Some(self.integer()? as u32),
                "file" => {
                    let number = self.integer()?;
                    let Token::Text(name) = self.next()? else { return self.error("expected the name of a file") };
                    while self.has(b',')? {
                        self.integer()?;
                    }
                    file.sources.push((number, name));
                }
                "visible" | "extern" | "weak" => {}
                "entry" => file.functions.push(self.function(line)?),
                "func" => return self.error("functions that are not kernels are not supported"),
                space if SPACES.contains(&space) => {
                    let variables = self.variables(space, line)?;
                    file.variables.extend(variables);
                }
                other => return Err(LoadError::new(line, format!("the directive .{other} is not supported"))),
            }
        }
        Ok(file)
    }

    fn function(&mut self, line: u32) -> Result<Function<'t>, LoadError> {
        let name = self.word()?;
        let mut parameters = Vec::new();
        if self.has(b'(')? && !self.has(b')')? {
            loop {
                let line = self.line;
                match self.dotted()? {
                    "param" => parameters.push(self.variable("param", line)?),
                    other => return Err(LoadError::new(line, format!("expected .param, found .{other}"))),
                }
                if self.has(b')')? {
                    break;
                }
                self.sign(b',')?;
            }
        }
        let mut directives = Vec::new();
        while let Token::Dotted(name) = self.token {
            if name == "pragma" {
                self.next()?;
                self.next()?;
                self.sign(b';')?;
                continue;
            }
            if !FUNCTION_DIRECTIVES.contains(&name) {
                return self.error(format!("the directive .{name} is not supported"));
            }
            self.next()?;
            directives.push((name, self.integers()?));
        }
        let (body, end) = self.body()?;
        Ok(Function { name, parameters, directives, body, line, end })
    }

    fn body(&mut self) -> Result<(Vec<Statement<'t>>, u32), LoadError> {
        self.sign(b'{')?;
        let (mut body, mut depth) = (Vec::new(), 1);
        loop {
            let line = self.line;
            if self.has(b'{')? {
                depth += 1;
                body.push(Statement::Open);
            } else if self.has(b'}')? {
                depth -= 1;
                if depth == 0 {
                    return Ok((body, line));
                }
                body.push(Statement::Close);
            } else {
                self.statement(&mut body)?;
            }
        }
    }

    fn statement(&mut self, body: &mut Vec<Statement<'t>>) -> Result<(), LoadError> {
        let line = self.line;
        match self.token {
            Token::Dotted(name) => {
                self.next()?;
                self.directive(name, line, body)
            }
            Token::Sign(b'@') => {
                self.next()?;
                let is_negated = self.has(b'!')?;
                let register = self.word()?;
                let guard = Some(Guard { register, is_negated });
                let mnemonic = self.word()?;
                body.push(Statement::Instruction(self.instruction(guard, mnemonic)?));
                Ok(())
            }
            Token::Sign(b';') => self.next().map(drop),
            _ => {
                let name = self.word()?;
                if !self.has(b':')? {
                    body.push(Statement::Instruction(self.instruction(None, name)?));
                } else if self.token == Token::Dotted("branchtargets") {
                    self.next()?;
                    body.push(Statement::Targets(name, self.labels()?));
                } else {
                    body.push(Statement::Label(name, line));
                }
                Ok(())
            }
        }
    }

    fn directive(&mut self, name: &'t str, line: u32, body: &mut Vec<Statement<'t>>) -> Result<(), LoadError> {
        match name {
            "reg" => {
                let ty = self.ty()?;
                let mut names = Vec::new();
                loop {
                    let name = self.word()?;
                    let count = if self.has(b'<')? { Some(self.integer()? as u32) } else { None };
                    if count.is_some() {
                        self.sign(b'>')?;
                    }
                    names.push((name, count));
                    if !self.has(b',')? {
                        break;
                    }
                }
                self.sign(b';')?;
                body.push(Statement::Registers(ty, names, line));
            }
            "pragma" => {
                let Token::Text(text) = self.next()? else { return self.error("expected the text of a pragma") };
                self.sign(b';')?;
                body.push(Statement::Pragma(text, line));
            }
            "loc" => {
                let (file, source) = (self.integer()?, self.integer()?);
                self.integer()?;
                // The rest states inlined calls.
                while self.line == self.last_line && self.token != Token::End {
                    self.next()?;
                }
                body.push(Statement::Location(file, source));
            }
            space if SPACES.contains(&space) => {
                body.extend(self.variables(space, line)?.into_iter().map(Statement::Variable));
            }
            other => return Err(LoadError::new(line, format!("the directive .{other} is not supported"))),
        }
        Ok(())
    }

    fn labels(&mut self) -> Result<Vec<&'t str>, LoadError> {
        let mut labels = vec![self.word()?];
        while self.has(b',')? {
            labels.push(self.word()?);
        }
        self.sign(b';')?;
        Ok(labels)
    }

    fn ty(&mut self) -> Result<Type, LoadError> {
        let line = self.line;
        let name = self.dotted()?;
        Type::named(name).ok_or_else(|| LoadError::new(line, format!(".{name} is not a type")))
    }

    /// Reads the variables of a declaration behind its state space.
    fn variables(&mut self, space: &'t str, line: u32) -> Result<Vec<Variable<'t>>, LoadError> {
        let mut all = vec![self.variable(space, line)?];
        while self.has(b',')? {
            let first = &all[0];
            let (ty, alignment) = (first.ty, first.alignment);
            all.push(self.named_variable(space, ty, alignment, line)?);
        }
        self.sign(b';')?;
        Ok(all)
    }

    fn variable(&mut self, space: &'t str, line: u32) -> Result<Variable<'t>, LoadError> {
        let mut alignment = None;
        loop {
            match self.token {
                Token::Dotted("align") => {
                    self.next()?;
                    // The alignment behind `.ptr` is a promise about the address, not a rule for the parameter.
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

    /// Reads what a parameter promises about its address.
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

    fn instruction(&mut self, guard: Option<Guard<'t>>, mnemonic: &'t str) -> Result<Instruction<'t>, LoadError> {
        let line = self.last_line;
        let mut modifiers = Vec::new();
        while let Token::Dotted(name) = self.token {
            self.next()?;
            modifiers.push(name);
        }
        let mut operands = Vec::new();
        while !self.has(b';')? {
            if !operands.is_empty() {
                self.sign(b',')?;
            }
            let operand = self.operand()?;
            operands.push(operand);
        }
        Ok(Instruction { guard, mnemonic, modifiers, operands, line })
    }

    fn operand(&mut self) -> Result<Operand<'t>, LoadError> {
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
            Token::Sign(b'{') => {
                self.next()?;
                let mut all = Vec::new();
                while !self.has(b'}')? {
                    if !all.is_empty() {
                        self.sign(b',')?;
                    }
                    all.push(self.operand()?);
                }
                Ok(Operand::Vector(all))
            }
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

    /// Reads a name; those of special registers consist of two parts.
    fn name(&mut self) -> Result<&'t str, LoadError> {
        let name = self.word()?;
        let Token::Dotted(part @ ("x" | "y" | "z" | "w")) = self.token else { return Ok(name) };
        self.next()?;
        Ok(joined(name, part))
    }

    /// Reads a sum's or a difference's right side.
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

/// Names of special registers with parts, as the decoder knows them.
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
