//! The text of a module as data. The names and types in this data are not resolved yet.

/// A module.
#[derive(Clone, Debug, Default)]
pub struct File<'t> {
    /// Version as major * 10 + minor, and its line.
    pub version: (u32, u32),
    /// The architecture, options, and the line.
    pub target: (&'t str, Vec<&'t str>, u32),
    pub address_size: Option<u32>,
    pub variables: Vec<Variable<'t>>,
    pub functions: Vec<Function<'t>>,
    /// Functions that the module declares without code. The code of a declared function follows in
    /// the text, or the system provides it.
    pub declared: Vec<Declaration<'t>>,
    /// Numbers and names of the source files.
    pub sources: Vec<(u64, &'t str)>,
}

/// A fundamental type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    Pred,
    B(u32),
    U(u32),
    S(u32),
    F(u32),
    Bf16,
    /// A type for pairs of elements in one register.
    F16x2,
    Bf16x2,
    F32x2,
}

/// A declaration of a variable in memory, or of a parameter.
#[derive(Clone, Debug)]
pub struct Variable<'t> {
    pub space: &'t str,
    pub name: &'t str,
    pub ty: Type,
    pub alignment: u64,
    /// Number of elements, or `None` for memory whose size the launch states.
    pub count: Option<u64>,
    pub initial: Vec<Operand<'t>>,
    pub line: u32,
}

/// A kernel, or a function that kernels call.
#[derive(Clone, Debug)]
pub struct Function<'t> {
    pub name: &'t str,
    pub is_kernel: bool,
    /// Variables for the results of a function that is no kernel.
    pub results: Vec<Variable<'t>>,
    pub parameters: Vec<Variable<'t>>,
    /// Directives such as `.maxntid` with their numbers.
    pub directives: Vec<(&'t str, Vec<u64>)>,
    pub body: Vec<Statement<'t>>,
    pub line: u32,
    /// Line of the closing brace.
    pub end: u32,
}

/// A declared function without code.
#[derive(Clone, Debug)]
pub struct Declaration<'t> {
    pub name: &'t str,
    pub results: Vec<Variable<'t>>,
    pub parameters: Vec<Variable<'t>>,
    pub line: u32,
}

#[derive(Clone, Debug)]
pub enum Statement<'t> {
    Label(&'t str, u32),
    Instruction(Instruction<'t>),
    Variable(Variable<'t>),
    /// Registers of a type: each name, and the number of registers if the name is a prefix.
    Registers(Type, Vec<(&'t str, Option<u32>)>, u32),
    /// Labels of `brx.idx`.
    Targets(&'t str, Vec<&'t str>),
    /// Number of the source file, and the line in it.
    Location(u64, u64),
    Pragma(&'t str, u32),
    Open,
    Close,
}

#[derive(Clone, Debug)]
pub struct Instruction<'t> {
    pub guard: Option<Guard<'t>>,
    pub mnemonic: &'t str,
    /// Without their dots.
    pub modifiers: Vec<&'t str>,
    pub operands: Vec<Operand<'t>>,
    pub line: u32,
}

/// The predicate before an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Guard<'t> {
    pub register: &'t str,
    pub is_negated: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Operand<'t> {
    /// A register, a special register, a variable or a label.
    Name(&'t str),
    /// The address of a variable plus a number of bytes.
    Offset(&'t str, i64),
    /// A negated predicate.
    Not(&'t str),
    Integer(i128),
    /// Bits of a float.
    Single(u32),
    Double(u64),
    Vector(Vec<Operand<'t>>),
    /// Results or operands of a call.
    List(Vec<Operand<'t>>),
    /// An address in brackets: a name or a number, plus a number of bytes.
    Address(Box<Operand<'t>>, i64),
    /// Two results, of which the second is a predicate.
    Pair(Box<Operand<'t>>, Box<Operand<'t>>),
    /// `_`, a result that is not wanted.
    Discard,
}

impl Type {
    /// Returns the type with this name. The name has no dot.
    pub fn named(name: &str) -> Option<Type> {
        let wide = |digits: &str, sizes: &[u32]| digits.parse().ok().filter(|bits| sizes.contains(bits));
        match name {
            "pred" => Some(Type::Pred),
            "bf16" => Some(Type::Bf16),
            "f16x2" => Some(Type::F16x2),
            "bf16x2" => Some(Type::Bf16x2),
            "f32x2" => Some(Type::F32x2),
            _ => match name.split_at_checked(1)? {
                ("b", digits) => wide(digits, &[8, 16, 32, 64, 128]).map(Type::B),
                ("u", digits) => wide(digits, &[8, 16, 32, 64]).map(Type::U),
                ("s", digits) => wide(digits, &[8, 16, 32, 64]).map(Type::S),
                ("f", digits) => wide(digits, &[16, 32, 64]).map(Type::F),
                _ => None,
            },
        }
    }

    /// Returns the number of bits. Predicates have one.
    pub fn bits(self) -> u32 {
        match self {
            Type::Pred => 1,
            Type::B(bits) | Type::U(bits) | Type::S(bits) | Type::F(bits) => bits,
            Type::Bf16 => 16,
            Type::F16x2 | Type::Bf16x2 => 32,
            Type::F32x2 => 64,
        }
    }

    /// Returns the number of bytes in memory.
    pub fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }
}
