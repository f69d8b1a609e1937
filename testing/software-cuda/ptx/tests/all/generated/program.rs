//! Random programs: as text, and executed by the second definitions of their instructions.

use super::operations::{ALL, Class, Operation};

/// Registers of each class.
pub const WORDS: usize = 8;
pub const OTHERS: usize = 4;
pub const THREADS: usize = 64;

/// A register: its class and its number.
#[derive(Clone, Copy, Debug)]
pub struct Register(Class, usize);

pub enum Statement {
    Apply {
        operation: &'static Operation,
        to: Register,
        from: Vec<Register>,
        guard: Option<(usize, bool)>,
    },
    /// A branch by a predicate, or by its negation.
    If {
        predicate: usize,
        is_negated: bool,
        then: Vec<Statement>,
        otherwise: Vec<Statement>,
    },
    /// A loop with a number of iterations that the low bits of a register tell.
    Repeat {
        count: usize,
        body: Vec<Statement>,
    },
}

/// The registers of a thread.
#[derive(Clone, Debug, Default)]
pub struct State {
    pub words: [u64; WORDS],
    pub longs: [u64; OTHERS],
    pub singles: [u64; OTHERS],
    pub doubles: [u64; OTHERS],
    pub predicates: [u64; OTHERS],
}

/// A generator of random numbers.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ value >> 31
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// Returns an integer that is often small, or near the ends of its range.
    fn integer(&mut self) -> u64 {
        let value = self.next();
        match self.below(4) {
            0 => value & 0x3f,
            1 => (value & 7).wrapping_neg(),
            2 => 1 << (value & 63),
            _ => value,
        }
    }

    fn float(&mut self) -> f64 {
        let value = (self.next() as i64 >> 40) as f64;
        match self.below(6) {
            0 => 0.0,
            1 => value * 1e-45,
            2 => f64::INFINITY.copysign(value),
            3 => value * 1e30,
            _ => value / 16.0,
        }
    }

    /// Returns the registers of a thread at the start.
    pub fn state(&mut self) -> State {
        State {
            words: [(); WORDS].map(|()| self.integer() & 0xffff_ffff),
            longs: [(); OTHERS].map(|()| self.integer()),
            singles: [(); OTHERS].map(|()| u64::from((self.float() as f32).to_bits())),
            doubles: [(); OTHERS].map(|()| self.float().to_bits()),
            predicates: [(); OTHERS].map(|()| self.next() & 1),
        }
    }

    fn register(&mut self, class: Class) -> Register {
        Register(class, self.below(if class == Class::Word { WORDS } else { OTHERS }))
    }

    pub fn statements(&mut self, count: usize, depth: usize) -> Vec<Statement> {
        (0..count).map(|_| self.statement(depth)).collect()
    }

    /// Returns an instruction with random registers.
    pub fn application(&mut self, operation: &'static Operation) -> Statement {
        let from = operation.from.iter().map(|class| self.register(*class)).collect();
        let guard = (self.below(8) == 0).then(|| (self.below(OTHERS), self.below(2) == 1));
        Statement::Apply { operation, to: self.register(operation.to), from, guard }
    }

    fn statement(&mut self, depth: usize) -> Statement {
        let inner = |random: &mut Random| {
            let count = 1 + random.below(4);
            random.statements(count, depth - 1)
        };
        match self.below(12) {
            0 if depth > 0 => Statement::If {
                predicate: self.below(OTHERS),
                is_negated: self.below(2) == 1,
                then: inner(self),
                otherwise: if self.below(2) == 1 { inner(self) } else { Vec::new() },
            },
            1 if depth > 0 => Statement::Repeat { count: self.below(WORDS), body: inner(self) },
            _ => {
                let operation = &ALL[self.below(ALL.len())];
                self.application(operation)
            }
        }
    }
}

impl State {
    fn place(&mut self, Register(class, number): Register) -> &mut u64 {
        match class {
            Class::Word => &mut self.words[number],
            Class::Long => &mut self.longs[number],
            Class::Single => &mut self.singles[number],
            Class::Double => &mut self.doubles[number],
            Class::Predicate => &mut self.predicates[number],
        }
    }

    /// Executes statements. Adds up how often each operation occurs.
    pub fn execute(&mut self, statements: &[Statement], counts: &mut [usize]) {
        for statement in statements {
            match statement {
                Statement::Apply { operation, to, from, guard } => {
                    if guard.is_some_and(|(predicate, is_negated)| (self.predicates[predicate] == 1) == is_negated) {
                        continue;
                    }
                    let operands: Vec<u64> = from.iter().map(|register| *self.place(*register)).collect();
                    *self.place(*to) = (operation.result)(&operands);
                    if let Some(at) = ALL.iter().position(|other| std::ptr::eq(other, *operation)) {
                        counts[at] += 1;
                    }
                }
                Statement::If { predicate, is_negated, then, otherwise } => {
                    let takes = (self.predicates[*predicate] == 1) != *is_negated;
                    self.execute(if takes { then } else { otherwise }, counts);
                }
                Statement::Repeat { count, body } => {
                    (0..self.words[*count] & 3).for_each(|_| self.execute(body, counts));
                }
            }
        }
    }
}

/// Writes the text of statements.
#[derive(Default)]
pub struct Writer {
    pub text: String,
    labels: usize,
    /// Number of counters of loops.
    pub counters: usize,
}

fn name(Register(class, number): Register) -> String {
    let letter = match class {
        Class::Word => "w",
        Class::Long => "l",
        Class::Single => "s",
        Class::Double => "d",
        Class::Predicate => "p",
    };
    format!("%{letter}{number}")
}

impl Writer {
    fn line(&mut self, line: &str) {
        self.text += line;
        self.text.push('\n');
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }

    pub fn write(&mut self, statements: &[Statement]) {
        for statement in statements {
            match statement {
                Statement::Apply { operation, to, from, guard } => {
                    let mut text = operation.text.replace("$d", &name(*to));
                    for (number, register) in from.iter().enumerate() {
                        text = text.replace(&format!("${number}"), &name(*register));
                    }
                    let guard = guard.map(|(predicate, no)| format!("@{}%p{predicate} ", if no { "!" } else { "" }));
                    // Only the last instruction writes the result.
                    let (before, last) = text.rsplit_once('\n').map_or(("", &*text), |(before, last)| (before, last));
                    if !before.is_empty() {
                        self.line(before);
                    }
                    self.line(&format!("{}{last}", guard.unwrap_or_default()));
                }
                Statement::If { predicate, is_negated, then, otherwise } => {
                    let (other, end) = (self.label(), self.label());
                    self.line(&format!("@{}%p{predicate} bra {other};", if *is_negated { "" } else { "!" }));
                    self.write(then);
                    self.line(&format!("bra {end};\n{other}:"));
                    self.write(otherwise);
                    self.line(&format!("{end}:"));
                }
                Statement::Repeat { count, body } => {
                    let (start, end, counter) = (self.label(), self.label(), self.counters);
                    self.counters += 1;
                    self.line(&format!("and.b32 %n{counter}, %w{count}, 3;\n{start}:"));
                    self.line(&format!("setp.eq.u32 %q, %n{counter}, 0;\n@%q bra {end};"));
                    self.line(&format!("sub.u32 %n{counter}, %n{counter}, 1;"));
                    self.write(body);
                    self.line(&format!("bra {start};\n{end}:"));
                }
            }
        }
    }
}
