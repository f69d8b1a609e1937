//! The names of a kernel: registers, variables, parameters and special registers; and the registers
//! that contain constants.

use std::collections::HashMap;

use crate::code::{Constant, Special};
use crate::error::LoadError;
use crate::fault::Space;
use crate::text::Type;

/// A register or a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Slot {
    Register(u32),
    Predicate(u32),
}

/// The meaning of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    Slot(Slot, Type),
    Variable { space: Space, address: u64 },
}

/// The names of a kernel.
#[derive(Debug, Default)]
pub struct Names<'t> {
    /// The scopes; the innermost scope is the last.
    scopes: Vec<Scope<'t>>,
    /// For each register and predicate, its name.
    pub registers: Vec<String>,
    pub predicates: Vec<String>,
    carry: Option<u32>,
    constants: HashMap<Constant, u32>,
    ordered_constants: Vec<(u32, Constant)>,
}

/// The names between two braces.
#[derive(Debug, Default)]
pub struct Scope<'t> {
    names: HashMap<&'t str, Meaning>,
    /// For each prefix, the first register with this prefix, the number of registers with this
    /// prefix, and their type.
    prefixes: HashMap<&'t str, (Slot, u32, Type)>,
}

/// The most registers of a kernel.
const MOST_REGISTERS: usize = 1 << 20;

impl<'t> Names<'t> {
    pub fn open(&mut self) {
        self.scopes.push(Scope::default());
    }

    /// Ends a scope. Returns whether a scope was open.
    pub fn close(&mut self) -> bool {
        self.scopes.pop().is_some()
    }

    /// Hides all names except the names of the module, while the decoder is in the code of another
    /// function.
    pub fn leave(&mut self) -> Vec<Scope<'t>> {
        self.scopes.split_off(1.min(self.scopes.len()))
    }

    /// Makes visible again all names that `leave` has hidden.
    pub fn enter(&mut self, outer: Vec<Scope<'t>>) {
        self.scopes.truncate(1);
        self.scopes.extend(outer);
    }

    fn scope(&mut self) -> &mut Scope<'t> {
        if self.scopes.is_empty() {
            self.open();
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    pub fn define_variable(&mut self, name: &'t str, space: Space, address: u64) -> bool {
        self.scope().names.insert(name, Meaning::Variable { space, address }).is_none()
    }

    /// Declares one register, or several registers whose names consist of a prefix and a number.
    pub fn declare(&mut self, ty: Type, name: &'t str, count: Option<u32>, line: u32) -> Result<(), LoadError> {
        let too_many = || LoadError::new(line, "the kernel has too many registers");
        let taken = self.registers.len() + self.predicates.len();
        if taken + count.unwrap_or(1) as usize > MOST_REGISTERS {
            return Err(too_many());
        }
        let first = match count {
            None => self.new_slot(ty, name.to_owned()),
            Some(count) => {
                let mut slots = (0..count).map(|number| self.new_slot(ty, format!("{name}{number}")));
                let Some(first) = slots.next() else { return Ok(()) };
                slots.for_each(drop);
                first
            }
        };
        let is_new = match count {
            None => self.scope().names.insert(name, Meaning::Slot(first, ty)).is_none(),
            Some(count) => self.scope().prefixes.insert(name, (first, count, ty)).is_none(),
        };
        if is_new { Ok(()) } else { Err(LoadError::new(line, format!("{name} is declared twice"))) }
    }

    fn new_slot(&mut self, ty: Type, name: String) -> Slot {
        let all = if ty == Type::Pred { &mut self.predicates } else { &mut self.registers };
        all.push(name);
        let number = all.len() as u32 - 1;
        if ty == Type::Pred { Slot::Predicate(number) } else { Slot::Register(number) }
    }

    /// Returns a new register for a result that the instruction discards.
    pub fn unwanted(&mut self, ty: Type) -> Slot {
        self.new_slot(ty, "_".into())
    }

    /// Returns the predicate that holds the carry of sums.
    pub fn carry(&mut self) -> u32 {
        if let Some(carry) = self.carry {
            return carry;
        }
        self.predicates.push("the carry".into());
        let carry = self.predicates.len() as u32 - 1;
        self.carry = Some(carry);
        carry
    }

    /// Returns the register that holds a constant.
    pub fn constant(&mut self, constant: Constant) -> u32 {
        if let Some(register) = self.constants.get(&constant) {
            return *register;
        }
        self.registers.push(String::new());
        let register = self.registers.len() as u32 - 1;
        self.constants.insert(constant, register);
        self.ordered_constants.push((register, constant));
        register
    }

    pub fn is_constant(&self, register: u32) -> bool {
        self.registers.get(register as usize).is_some_and(String::is_empty)
    }

    /// Returns the value of a register that contains a constant number, and `None` for any other
    /// register.
    pub fn value_of(&self, register: u32) -> Option<u64> {
        self.ordered_constants.iter().find_map(|(of, constant)| match constant {
            Constant::Value(value) if *of == register => Some(*value),
            _ => None,
        })
    }

    pub fn constants(&self) -> Vec<(u32, Constant)> {
        self.ordered_constants.clone()
    }

    pub fn find(&self, name: &str) -> Option<Meaning> {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let number = name[stem.len()..].parse::<u32>().ok();
        self.scopes.iter().rev().find_map(|scope| {
            let exact = scope.names.get(name).copied();
            exact.or_else(|| {
                let &(first, count, ty) = scope.prefixes.get(stem)?;
                let number = number.filter(|number| *number < count)?;
                Some(match first {
                    Slot::Register(first) => Meaning::Slot(Slot::Register(first + number), ty),
                    Slot::Predicate(first) => Meaning::Slot(Slot::Predicate(first + number), ty),
                })
            })
        })
    }
}

/// Returns a special register and its number of bits.
pub fn special(name: &str) -> Option<(Special, u32)> {
    let direction = |part: &str| ["x", "y", "z"].iter().position(|it| *it == part).map(|it| it as u8);
    if let Some((stem, part)) = name.split_once('.') {
        let direction = direction(part)?;
        return Some((
            match stem {
                "%tid" => Special::Thread(direction),
                "%ntid" => Special::Threads(direction),
                "%ctaid" => Special::Block(direction),
                "%nctaid" => Special::Blocks(direction),
                "%clusterid" => Special::Cluster(direction),
                "%nclusterid" => Special::Clusters(direction),
                "%cluster_ctaid" => Special::BlockInCluster(direction),
                "%cluster_nctaid" => Special::BlocksInCluster(direction),
                _ => return None,
            },
            32,
        ));
    }
    let bits = if name == "%gridid" { 64 } else { 32 };
    let special = match name {
        "%laneid" => Special::Lane,
        "%warpid" => Special::Warp,
        "%nwarpid" => Special::Warps,
        "WARP_SZ" => Special::WarpSize,
        "%lanemask_eq" => Special::LanesEqual,
        "%lanemask_lt" => Special::LanesBelow,
        "%lanemask_le" => Special::LanesUpTo,
        "%lanemask_gt" => Special::LanesAbove,
        "%lanemask_ge" => Special::LanesFrom,
        "%smid" => Special::Multiprocessor,
        "%nsmid" => Special::Multiprocessors,
        "%gridid" => Special::GridId,
        "%cluster_ctarank" => Special::RankInCluster,
        "%cluster_nctarank" => Special::SizeOfCluster,
        "%dynamic_smem_size" => Special::DynamicSharedBytes,
        "%total_smem_size" => Special::TotalSharedBytes,
        _ => return None,
    };
    Some((special, bits))
}
