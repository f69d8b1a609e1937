//! Reads the modifiers and the operands of an instruction, strictly: each modifier occurs once and
//! in its order, and each operand has the right type.

use super::names::{Meaning, Names, Slot, special};
use crate::code::{Constant, Guard};
use crate::error::LoadError;
use crate::fault::Space;
use crate::text::{Instruction, Operand, Type};

/// Registers and predicates that an instruction reads and writes.
#[derive(Clone, Debug, Default)]
pub struct Uses {
    pub reads: Vec<Slot>,
    pub writes: Vec<Slot>,
}

/// Reads an instruction.
pub struct Reader<'r, 't> {
    pub instruction: &'r Instruction<'t>,
    /// Number of modifiers that were read.
    modifier: usize,
    pub names: &'r mut Names<'t>,
    pub uses: Uses,
    /// Compute capability of the target, and whether the target allows instructions of its own
    /// architecture only.
    pub capability: u32,
    pub is_specific: bool,
    pub version: u32,
}

/// How an instruction's type constrains the type of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// The register has the type's size and a compatible kind.
    Exact,
    /// The register may be wider, and its kind does not matter.
    Relaxed,
}

impl<'r, 't> Reader<'r, 't> {
    pub fn new(
        instruction: &'r Instruction<'t>,
        names: &'r mut Names<'t>,
        (capability, is_specific): (u32, bool),
        version: u32,
    ) -> Reader<'r, 't> {
        Reader { instruction, modifier: 0, names, uses: Uses::default(), capability, is_specific, version }
    }

    pub fn error<T>(&self, message: impl Into<String>) -> Result<T, LoadError> {
        Err(LoadError::new(self.instruction.line, message))
    }

    /// Fails if the target's capability or the PTX version is lower than an instruction needs.
    pub fn needs(&self, capability: u32, version: u32) -> Result<(), LoadError> {
        let name = self.instruction.mnemonic;
        if self.capability < capability {
            return self.error(format!("this form of {name} needs the target sm_{capability}"));
        }
        if self.version < version {
            return self.error(format!("this form of {name} needs PTX {}.{}", version / 10, version % 10));
        }
        Ok(())
    }

    pub fn peek(&self) -> Option<&'t str> {
        self.instruction.modifiers.get(self.modifier).copied()
    }

    /// Reads a modifier if it is next.
    pub fn take(&mut self, name: &str) -> bool {
        let is_next = self.peek() == Some(name);
        self.modifier += usize::from(is_next);
        is_next
    }

    /// Reads the next modifier if the table contains it, and returns its value in the table.
    pub fn choose<T: Copy>(&mut self, table: &[(&str, T)]) -> Option<T> {
        let found = table.iter().find(|(name, _)| self.peek() == Some(*name)).map(|(_, value)| *value);
        self.modifier += usize::from(found.is_some());
        found
    }

    /// Reads the next modifier, and returns its value in the table. Fails if the table does not
    /// contain it.
    pub fn require<T: Copy>(&mut self, table: &[(&str, T)]) -> Result<T, LoadError> {
        if let Some(found) = self.choose(table) {
            return Ok(found);
        }
        let names: Vec<String> = table.iter().map(|(name, _)| format!(".{name}")).collect();
        self.error(format!("expected one of {} {}", names.join(" "), self.found()))
    }

    fn found(&self) -> String {
        let mnemonic = self.instruction.mnemonic;
        match self.peek() {
            Some(name) => format!("in {mnemonic}, found .{name}"),
            None => format!("at the end of {mnemonic}'s modifiers"),
        }
    }

    /// Reads a type.
    pub fn ty(&mut self) -> Result<Type, LoadError> {
        match self.peek().and_then(Type::named) {
            Some(ty) => {
                self.modifier += 1;
                Ok(ty)
            }
            None => self.error(format!("expected a type {}", self.found())),
        }
    }

    /// Checks that the reader has read all modifiers, and that the instruction has the right number
    /// of operands.
    pub fn finish(&self, operands: usize) -> Result<(), LoadError> {
        self.finish_between(operands, operands)
    }

    pub fn finish_between(&self, least: usize, most: usize) -> Result<(), LoadError> {
        let name = self.instruction.mnemonic;
        if let Some(modifier) = self.peek() {
            return self.error(format!("the modifier .{modifier} is not supported at this place of {name}"));
        }
        let found = self.instruction.operands.len();
        if found < least || found > most {
            return self.error(format!("{name} has {found} operands, expected {least}"));
        }
        Ok(())
    }

    /// Returns an error for a combination of types and modifiers that does not exist.
    pub fn unknown<T>(&self) -> Result<T, LoadError> {
        let Instruction { mnemonic, modifiers, .. } = self.instruction;
        let dotted: String = modifiers.iter().map(|name| format!(".{name}")).collect();
        self.error(format!("{mnemonic}{dotted} is not supported"))
    }

    pub fn operand(&self, number: usize) -> Result<&'r Operand<'t>, LoadError> {
        match self.instruction.operands.get(number) {
            Some(operand) => Ok(operand),
            None => self.error(format!("{} lacks operand {}", self.instruction.mnemonic, number + 1)),
        }
    }

    /// Returns the register of an operand that the instruction reads.
    pub fn source(&mut self, number: usize, ty: Type) -> Result<u32, LoadError> {
        let operand = self.operand(number)?;
        self.source_of(operand, ty, Width::Exact)
    }

    /// Returns the register of an operand that the instruction reads. For a number, returns a
    /// register that contains the number as a constant.
    pub fn source_of(&mut self, operand: &Operand<'t>, ty: Type, width: Width) -> Result<u32, LoadError> {
        let register = match operand {
            Operand::Name(name) => match self.names.find(name) {
                Some(Meaning::Slot(Slot::Register(register), of)) => {
                    self.check_type(name, of, ty, width)?;
                    register
                }
                Some(Meaning::Slot(Slot::Predicate(_), _)) => {
                    return self.error(format!("{name} is a predicate, expected a register"));
                }
                Some(Meaning::Variable { address, .. }) => self.names.constant(Constant::Value(address)),
                None => match special(name) {
                    Some((special, bits)) if bits == ty.bits() || bits < ty.bits() && width == Width::Relaxed => {
                        self.names.constant(Constant::Special(special))
                    }
                    Some(_) => return self.error(format!("{name} does not have {} bits", ty.bits())),
                    None => return self.error(format!("{name} is not declared")),
                },
            },
            Operand::Offset(name, offset) => match self.names.find(name) {
                Some(Meaning::Variable { address, .. }) => {
                    self.names.constant(Constant::Value(address.wrapping_add_signed(*offset)))
                }
                _ => return self.error(format!("{name} is not a variable")),
            },
            number => {
                let bits = self.literal(number, ty)?;
                self.names.constant(Constant::Value(bits))
            }
        };
        self.read(Slot::Register(register));
        Ok(register)
    }

    /// Returns the bits that represent a number in an operand of the type `ty`.
    pub fn literal(&self, operand: &Operand, ty: Type) -> Result<u64, LoadError> {
        let bits = ty.bits();
        match operand {
            Operand::Integer(value) => {
                let fits = *value < 1 << bits && *value >= -(1 << (bits - 1));
                let is_float = matches!(ty, Type::F(_));
                if !fits || is_float {
                    return self.error(format!("{value} is not a number of {bits} bits of this type"));
                }
                Ok(*value as u64 & crate::numbers::integer::mask(bits))
            }
            Operand::Single(value) if bits == 32 => Ok(u64::from(*value)),
            Operand::Double(value) if bits == 64 => Ok(*value),
            Operand::Double(value) if ty == Type::F(32) => Ok(u64::from((f64::from_bits(*value) as f32).to_bits())),
            other => self.error(format!("{other:?} is not an operand of {bits} bits")),
        }
    }

    fn check_type(&self, name: &str, found: Type, wanted: Type, width: Width) -> Result<(), LoadError> {
        let (has, wants) = (found.bits(), wanted.bits());
        let fits = match width {
            Width::Relaxed => has >= wants,
            Width::Exact => {
                let kinds = match (found, wanted) {
                    (Type::F(_), Type::U(_) | Type::S(_)) | (Type::U(_) | Type::S(_), Type::F(_)) => false,
                    _ => true,
                };
                has == wants && kinds
            }
        };
        if fits {
            return Ok(());
        }
        self.error(format!("{name} is declared as {found:?}, which does not fit {wanted:?}"))
    }

    fn read(&mut self, slot: Slot) {
        let is_constant = matches!(slot, Slot::Register(register) if self.names.is_constant(register));
        if !is_constant {
            self.uses.reads.push(slot);
        }
    }

    /// Records that the instruction reads a register in addition to its operands.
    pub fn reads(&mut self, register: u32) {
        self.read(Slot::Register(register));
    }

    /// Returns the register of an operand that the instruction writes.
    pub fn dest(&mut self, number: usize, ty: Type) -> Result<u32, LoadError> {
        let operand = self.operand(number)?;
        self.dest_of(operand, ty, Width::Exact)
    }

    pub fn dest_of(&mut self, operand: &Operand<'t>, ty: Type, width: Width) -> Result<u32, LoadError> {
        let slot = match operand {
            Operand::Discard => self.names.unwanted(ty),
            Operand::Name(name) => match self.names.find(name) {
                Some(Meaning::Slot(slot, of)) => {
                    self.check_type(name, of, ty, width)?;
                    slot
                }
                _ => return self.error(format!("{name} is not a declared register")),
            },
            _ => return self.error("a result is not a register"),
        };
        self.uses.writes.push(slot);
        match slot {
            Slot::Register(register) => Ok(register),
            Slot::Predicate(_) => self.error("a result is a predicate, expected a register"),
        }
    }

    /// Returns a predicate that the instruction writes.
    pub fn predicate_dest(&mut self, operand: &Operand<'t>) -> Result<u32, LoadError> {
        let slot = match operand {
            Operand::Discard => self.names.unwanted(Type::Pred),
            Operand::Name(name) => match self.names.find(name) {
                Some(Meaning::Slot(slot, _)) => slot,
                _ => return self.error(format!("{name} is not declared")),
            },
            _ => return self.error("a result is not a predicate"),
        };
        self.uses.writes.push(slot);
        match slot {
            Slot::Predicate(predicate) => Ok(predicate),
            Slot::Register(_) => self.error("a result is a register, expected a predicate"),
        }
    }

    /// Returns the hidden predicate that holds the carry of sums.
    pub fn carry(&mut self, reads: bool, writes: bool) -> u32 {
        let predicate = self.names.carry();
        if reads {
            self.read(Slot::Predicate(predicate));
        }
        if writes {
            self.uses.writes.push(Slot::Predicate(predicate));
        }
        predicate
    }

    /// Returns a predicate that the instruction reads.
    pub fn predicate(&mut self, number: usize) -> Result<Guard, LoadError> {
        let (name, is_negated) = match self.operand(number)? {
            Operand::Name(name) => (name, false),
            Operand::Not(name) => (name, true),
            _ => return self.error("an operand is not a predicate"),
        };
        self.predicate_named(name, is_negated)
    }

    pub fn predicate_named(&mut self, name: &str, is_negated: bool) -> Result<Guard, LoadError> {
        match self.names.find(name) {
            Some(Meaning::Slot(slot @ Slot::Predicate(predicate), _)) => {
                self.read(slot);
                Ok(Guard { predicate, is_negated })
            }
            Some(_) => self.error(format!("{name} is not a predicate")),
            None => self.error(format!("{name} is not declared")),
        }
    }

    /// Returns the value of an operand that is a number.
    pub fn integer(&self, number: usize) -> Result<i64, LoadError> {
        match self.operand(number)? {
            Operand::Integer(value) => match i64::try_from(*value) {
                Ok(value) => Ok(value),
                Err(_) => self.error(format!("{value} is too large")),
            },
            _ => self.error("an operand is not a number"),
        }
    }

    /// Returns the elements of a vector, or the operand alone.
    pub fn elements(&self, number: usize) -> Result<&'r [Operand<'t>], LoadError> {
        Ok(match self.operand(number)? {
            Operand::Vector(all) => all,
            single => std::slice::from_ref(single),
        })
    }

    /// Returns an address: the register, the bytes to add, and the state space of a variable.
    pub fn address(&mut self, number: usize) -> Result<(u32, i64, Option<Space>), LoadError> {
        let Operand::Address(base, offset) = self.operand(number)? else {
            return self.error("an operand is not an address");
        };
        match &**base {
            Operand::Name(name) => match self.names.find(name) {
                Some(Meaning::Variable { space, address }) => {
                    Ok((self.names.constant(Constant::Value(address)), *offset, Some(space)))
                }
                Some(Meaning::Slot(
                    Slot::Register(register),
                    Type::B(64 | 32) | Type::U(64 | 32) | Type::S(64 | 32),
                )) => {
                    self.read(Slot::Register(register));
                    Ok((register, *offset, None))
                }
                Some(_) => self.error(format!("{name} cannot be an address")),
                None => self.error(format!("{name} is not declared")),
            },
            Operand::Integer(value) => {
                let value = Constant::Value(*value as u64);
                Ok((self.names.constant(value), *offset, None))
            }
            _ => self.error("an operand is not an address"),
        }
    }
}
