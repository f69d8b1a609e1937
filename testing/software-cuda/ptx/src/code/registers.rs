//! The registers of a warp. An instruction reads and writes all 32 lanes at once.

/// Threads of a warp.
pub const LANES: usize = 32;

/// Mask of all lanes.
pub const ALL: u32 = u32::MAX;

/// A register of 32 threads. Values narrower than 64 bits have zeros in the upper bits.
pub type Lanes = [u64; LANES];

/// The registers of a warp.
#[derive(Clone, Debug, Default)]
pub struct Registers {
    pub values: Vec<Lanes>,
    /// Predicates, as masks of lanes.
    pub predicates: Vec<u32>,
}

/// Numbers of the registers that an instruction accesses. For an instruction on predicates, the
/// numbers are those of predicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operands {
    pub to: u32,
    pub from: [u32; 4],
    /// A second result, or a number whose meaning the instruction defines.
    pub extra: u32,
}

/// Executes an instruction that affects only registers, for the lanes of a mask.
pub type LaneFn = fn(&mut Registers, &Operands, u32);

/// Calls a function with the number of each lane in a mask.
#[inline(always)]
pub fn each_lane(mask: u32, mut apply: impl FnMut(usize)) {
    if mask == ALL {
        (0..LANES).for_each(apply);
    } else {
        let mut rest = mask;
        while rest != 0 {
            apply(rest.trailing_zeros() as usize);
            rest &= rest - 1;
        }
    }
}

impl Registers {
    #[inline(always)]
    pub fn get(&self, register: u32) -> &Lanes {
        &self.values[register as usize]
    }

    /// Writes a register in the lanes of a mask.
    #[inline(always)]
    pub fn set(&mut self, register: u32, mask: u32, value: impl Fn(usize) -> u64) {
        let to = &mut self.values[register as usize];
        each_lane(mask, |lane| to[lane] = value(lane));
    }

    #[inline(always)]
    pub fn predicate(&self, predicate: u32) -> u32 {
        self.predicates[predicate as usize]
    }

    /// Writes a predicate in the lanes of a mask.
    #[inline(always)]
    pub fn set_predicate(&mut self, predicate: u32, mask: u32, value: u32) {
        let to = &mut self.predicates[predicate as usize];
        *to = *to & !mask | value & mask;
    }
}

/// Applies a function to one register.
#[inline(always)]
pub fn one(registers: &mut Registers, at: &Operands, mask: u32, f: impl Fn(u64) -> u64) {
    let a = *registers.get(at.from[0]);
    registers.set(at.to, mask, |lane| f(a[lane]));
}

/// Applies a function to two registers.
#[inline(always)]
pub fn two(registers: &mut Registers, at: &Operands, mask: u32, f: impl Fn(u64, u64) -> u64) {
    let [a, b] = [at.from[0], at.from[1]].map(|from| *registers.get(from));
    registers.set(at.to, mask, |lane| f(a[lane], b[lane]));
}

/// Applies a function to three registers.
#[inline(always)]
pub fn three(registers: &mut Registers, at: &Operands, mask: u32, f: impl Fn(u64, u64, u64) -> u64) {
    let [a, b, c] = [at.from[0], at.from[1], at.from[2]].map(|from| *registers.get(from));
    registers.set(at.to, mask, |lane| f(a[lane], b[lane], c[lane]));
}

/// Applies a function to four registers.
#[inline(always)]
pub fn four(registers: &mut Registers, at: &Operands, mask: u32, f: impl Fn(u64, u64, u64, u64) -> u64) {
    let [a, b, c, d] = at.from.map(|from| *registers.get(from));
    registers.set(at.to, mask, |lane| f(a[lane], b[lane], c[lane], d[lane]));
}

/// Stands for the second result of a comparison that has only one result.
pub const NO_RESULT: u32 = u32::MAX;

/// Values of `from[3]` of a comparison, which state how the result is combined with the predicate
/// `from[2]`.
pub const PLAIN: u32 = 0;
pub const WITH_AND: u32 = 1;
pub const WITH_OR: u32 = 2;
pub const WITH_XOR: u32 = 3;
/// Flag in `from[3]` of a comparison: the predicate `from[2]` is negated.
pub const NEGATED: u32 = 4;

/// Compares two registers. Combines the result and its negation with a predicate, and writes them
/// to the predicates `to` and `extra`.
#[inline(always)]
pub fn compare(registers: &mut Registers, at: &Operands, mask: u32, f: impl Fn(u64, u64) -> bool) {
    let holds = compared(registers, at, f);
    finish_comparison(registers, at, mask, [holds, !holds]);
}

/// Returns the lanes where a comparison of two registers holds.
#[inline(always)]
fn compared(registers: &Registers, at: &Operands, f: impl Fn(u64, u64) -> bool) -> u32 {
    let (a, b) = (registers.get(at.from[0]), registers.get(at.from[1]));
    (0..LANES).fold(0, |all, lane| all | u32::from(f(a[lane], b[lane])) << lane)
}

/// Combines the two results of a comparison with a predicate, and writes them to the predicates
/// `to` and `extra`.
pub fn finish_comparison(registers: &mut Registers, at: &Operands, mask: u32, results: [u32; 2]) {
    let [first, second] = match at.from[3] & 3 {
        PLAIN => results,
        how => {
            let other = registers.predicate(at.from[2]);
            let other = if at.from[3] & NEGATED == 0 { other } else { !other };
            results.map(|result| match how {
                WITH_AND => result & other,
                WITH_OR => result | other,
                _ => result ^ other,
            })
        }
    };
    registers.set_predicate(at.to, mask, first);
    if at.extra != NO_RESULT {
        registers.set_predicate(at.extra, mask, second);
    }
}

/// Compares the halves of two registers of 32 bits, and writes the results to two predicates.
pub fn compare_halves(registers: &mut Registers, at: &Operands, mask: u32, f: impl Fn(u64, u64) -> bool) {
    let low = compared(registers, at, |a, b| f(a & 0xffff, b & 0xffff));
    let high = compared(registers, at, |a, b| f(a >> 16, b >> 16));
    finish_comparison(registers, at, mask, [low, high]);
}

/// Compares two registers, and writes the number `extra` where the comparison holds, else zero.
pub fn compare_to_value(registers: &mut Registers, at: &Operands, mask: u32, f: impl Fn(u64, u64) -> bool) {
    let value = u64::from(at.extra);
    two(registers, at, mask, |a, b| if f(a, b) { value } else { 0 });
}

/// Tests a register, and writes the result to a predicate.
#[inline(always)]
pub fn test(registers: &mut Registers, at: &Operands, mask: u32, f: impl Fn(u64) -> bool) {
    let a = registers.get(at.from[0]);
    let holds = (0..LANES).fold(0, |all, lane| all | u32::from(f(a[lane])) << lane);
    registers.set_predicate(at.to, mask, holds);
}

/// Defines the function of an instruction on registers, and returns a pointer to this function.
macro_rules! lanes {
    ($apply:ident, $f:expr) => {{
        fn run(registers: &mut $crate::code::Registers, at: &$crate::code::Operands, mask: u32) {
            $crate::code::$apply(registers, at, mask, $f)
        }
        run as $crate::code::LaneFn
    }};
}
pub(crate) use lanes;
