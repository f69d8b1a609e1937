//! Reads the text of a module.

mod lexer;
mod operands;
mod syntax;
mod tokens;
mod variables;

use crate::error::LoadError;
use lexer::Token;
pub use syntax::{Declaration, File, Function, Guard, Instruction, Operand, Statement, Type, Variable};
use tokens::Tokens;
use variables::SPACES;

/// Reads a module.
pub fn parse(text: &str) -> Result<File<'_>, LoadError> {
    Tokens::new(text)?.file()
}

/// Directives of a kernel or of a function that numbers may follow.
const FUNCTION_DIRECTIVES: [&str; 9] = [
    "noreturn",
    "maxntid",
    "reqntid",
    "minnctapersm",
    "maxnreg",
    "maxnctapersm",
    "maxclusterrank",
    "reqnctapercluster",
    "explicitcluster",
];
impl<'t> Tokens<'t> {
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
                "section" => self.section()?,
                "visible" | "extern" | "weak" => {}
                "entry" => self.function(&mut file, line, true)?,
                "func" => self.function(&mut file, line, false)?,
                space if SPACES.contains(&space) => {
                    let variables = self.variables(space, line)?;
                    file.variables.extend(variables);
                }
                other => return Err(LoadError::new(line, format!("the directive .{other} is not supported"))),
            }
        }
        Ok(file)
    }

    /// Skips a section, which contains only debug information.
    fn section(&mut self) -> Result<(), LoadError> {
        self.dotted()?;
        self.sign(b'{')?;
        while !self.has(b'}')? {
            if self.token == Token::End {
                return self.error("a section has no end");
            }
            self.next()?;
        }
        Ok(())
    }

    /// Reads the variables of a list of parameters, if there is one.
    fn parameters(&mut self) -> Result<Vec<Variable<'t>>, LoadError> {
        let mut parameters = Vec::new();
        if self.has(b'(')? && !self.has(b')')? {
            loop {
                let line = self.line;
                match self.dotted()? {
                    "param" => parameters.push(self.variable("param", line)?),
                    "reg" => {
                        let message = "parameters in registers are not supported; use .param";
                        return Err(LoadError::new(line, message));
                    }
                    other => return Err(LoadError::new(line, format!("expected .param, found .{other}"))),
                }
                if self.has(b')')? {
                    break;
                }
                self.sign(b',')?;
            }
        }
        Ok(parameters)
    }

    /// Reads a function, or the declaration of a function whose body is elsewhere.
    fn function(&mut self, file: &mut File<'t>, line: u32, is_kernel: bool) -> Result<(), LoadError> {
        let results = if is_kernel { Vec::new() } else { self.parameters()? };
        let name = self.word()?;
        let parameters = self.parameters()?;
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
        if self.has(b';')? {
            file.declared.push(Declaration { name, results, parameters, line });
            return Ok(());
        }
        let (body, end) = self.body()?;
        file.functions.push(Function { name, is_kernel, results, parameters, directives, body, line, end });
        Ok(())
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
}
