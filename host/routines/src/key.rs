//! Encodes values as unsigned integers, so that the integers have the order of the values.

use bytemuck::Pod;
use fusebox_core::hlo::{ElementType, FloatFormat, Specials};

/// An order of the values of one type. Encodes each value as an unsigned integer, which is called
/// the code of the value. The codes, compared as integers, have the order of the values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// Width of a value in bytes: 1, 2, 4 or 8.
    pub bytes: u32,
    code: Encoding,
    /// Whether NaNs are unordered, as in comparisons of IEEE 754. Codes do not express that NaNs
    /// are unordered.
    pub is_partial: bool,
}

/// Groups of values that the order considers equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MergedValues {
    /// Bits that replace zeros of both signs.
    pub zero: Option<u64>,
    /// Bits that replace all NaNs.
    pub nan: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Encoding {
    /// The code of a one-byte value comes from a table.
    Table(Box<CodeTables>),
    /// The code is XOR of `flip` and the bits of the value.
    Integer { flip: u64 },
    /// The code is XOR of `flip` and the integer that [`Bits::ordered`] returns for the merged bits
    /// of the value.
    Float { flip: u64, infinity: u64, merged: MergedValues },
}

/// Tables that map the bits of one-byte values to codes, and codes to bits.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CodeTables {
    codes: [u8; 256],
    /// For each code, the bits of one value with this code.
    values: [u8; 256],
    is_nan: [bool; 256],
}

impl Order {
    /// Supported widths of values in bytes.
    const BYTES: [u32; 4] = [1, 2, 4, 8];

    /// Returns the order of the values of a real type, or `None` for other types. If `is_partial`
    /// is true, floats have the order of IEEE 754 comparisons. Otherwise floats have the total
    /// order of IEEE 754. In both orders, zeros and NaNs are first replaced as `merged` specifies.
    /// If `is_partial` is true, zeros of both signs are always merged.
    pub fn new(ty: ElementType, merged: MergedValues, is_partial: bool, is_descending: bool) -> Option<Order> {
        let bytes = ty.byte_size() as u32;
        if ty.is_complex() || !Order::BYTES.contains(&bytes) {
            return None;
        }
        let format = FloatFormat::of(ty);
        let merged = if is_partial { MergedValues { zero: Some(0), ..merged } } else { merged };
        // If `merged` replaces all NaNs by a number, all values are ordered.
        let are_nans_left = |format: FloatFormat| merged.nan.is_none_or(|bits| format.is_nan(bits));
        let is_partial = is_partial && format.is_some_and(are_nans_left);
        let all = u64::MAX >> (64 - 8 * bytes);
        let descending = if is_descending { all } else { 0 };
        let sign = 1 << (8 * bytes - 1);
        let code = match format {
            _ if bytes == 1 => Encoding::Table(Box::new(CodeTables::new(ty, merged, is_descending))),
            Some(format) => Encoding::Float { flip: descending, infinity: format.infinity_bits(), merged },
            None if ty.is_signed_integer() => Encoding::Integer { flip: descending ^ sign },
            None => Encoding::Integer { flip: descending },
        };
        Some(Order { bytes, code, is_partial })
    }

    /// Returns every code that may encode several values with different bits.
    pub fn shared_codes(&self) -> Vec<u64> {
        match &self.code {
            Encoding::Integer { .. } => Vec::new(),
            Encoding::Float { flip, merged, .. } => {
                let code = |bits: u64| match self.bytes {
                    2 => u64::from((bits as u16).ordered()) ^ flip,
                    4 => u64::from((bits as u32).ordered()) ^ flip,
                    _ => bits.ordered() ^ flip,
                };
                merged.zero.into_iter().chain(merged.nan).map(code).collect()
            }
            Encoding::Table(tables) => {
                let mut counts = [0u32; 256];
                tables.codes.iter().for_each(|&code| counts[usize::from(code)] += 1);
                (0..256).filter(|&code| counts[code as usize] > 1).collect()
            }
        }
    }

    /// Returns the code of one value.
    pub fn encode_one<B: Bits>(&self, value: B) -> B {
        let mut code = B::ZERO;
        self.encode(&[value], |_, it| code = it);
        code
    }

    /// Calls `put` with the index and code of each value. Returns whether any value differs from
    /// the value that its code decodes to.
    #[inline]
    pub fn encode<B: Bits>(&self, values: &[B], mut put: impl FnMut(usize, B)) -> bool {
        match &self.code {
            Encoding::Table(tables) => {
                let mut changed = false;
                for (at, value) in values.iter().enumerate() {
                    let code = tables.codes[value.low_byte()];
                    changed |= usize::from(tables.values[usize::from(code)]) != value.low_byte();
                    put(at, B::of(code.into()));
                }
                changed
            }
            Encoding::Integer { flip } => {
                let flip = B::of(*flip);
                values.iter().enumerate().for_each(|(at, &value)| put(at, value ^ flip));
                false
            }
            Encoding::Float { flip, infinity, merged } => {
                let (flip, infinity) = (B::of(*flip), B::of(*infinity));
                match merged {
                    MergedValues { zero: None, nan: None } => {
                        values.iter().enumerate().for_each(|(at, &value)| put(at, value.ordered() ^ flip));
                        false
                    }
                    _ => {
                        let (zero, nan) = (merged.zero.map(B::of), merged.nan.map(B::of));
                        let mut changed = B::ZERO;
                        for (at, &value) in values.iter().enumerate() {
                            let merged = value.merged(infinity, zero, nan);
                            changed = changed | (merged ^ value);
                            put(at, merged.ordered() ^ flip);
                        }
                        changed != B::ZERO
                    }
                }
            }
        }
    }

    /// Decodes each code to a value.
    #[inline]
    pub fn decode<B: Bits>(&self, codes: impl Iterator<Item = B>, values: &mut [B]) {
        let pairs = values.iter_mut().zip(codes);
        match &self.code {
            Encoding::Table(tables) => {
                pairs.for_each(|(value, code)| *value = B::of(tables.values[code.low_byte()].into()))
            }
            Encoding::Integer { flip } => pairs.for_each(|(value, code)| *value = code ^ B::of(*flip)),
            Encoding::Float { flip, .. } => pairs.for_each(|(value, code)| *value = (code ^ B::of(*flip)).unordered()),
        }
    }

    /// Whether the bits represent a NaN.
    pub fn is_nan<B: Bits>(&self, value: B) -> bool {
        match &self.code {
            Encoding::Table(tables) => tables.is_nan[value.low_byte()],
            Encoding::Integer { .. } => false,
            Encoding::Float { infinity, .. } => value.magnitude() > B::of(*infinity),
        }
    }
}

impl CodeTables {
    fn new(ty: ElementType, merged: MergedValues, is_descending: bool) -> CodeTables {
        let mut tables = CodeTables { codes: [0; 256], values: [0; 256], is_nan: [false; 256] };
        for bits in (0..=255u8).rev() {
            let at = usize::from(bits);
            let (code, is_nan) = match FloatFormat::of(ty) {
                None if ty.is_signed_integer() => (bits ^ 0x80, false),
                None => (bits, false),
                Some(format) => {
                    let is_nan = format.is_nan(bits.into());
                    let is_zero = format.decode(bits.into()) == 0.0;
                    let merged = match (is_nan, is_zero) {
                        (true, _) => merged.nan,
                        (_, true) => merged.zero,
                        _ => None,
                    };
                    (ordered_byte(format, merged.map_or(bits, |bits| bits as u8)), is_nan)
                }
            };
            let code = if is_descending { !code } else { code };
            (tables.codes[at], tables.values[usize::from(code)], tables.is_nan[at]) = (code, bits, is_nan);
        }
        tables
    }
}

/// Returns the code of a float of at most eight bits, in total order. In some types, the bits of
/// negative zero represent a NaN. This NaN gets the lowest code.
fn ordered_byte(format: FloatFormat, bits: u8) -> u8 {
    let sign = format.sign_bit() as u8;
    let magnitude = bits & sign.wrapping_sub(1);
    match () {
        () if !format.signed => bits,
        () if bits & sign == 0 => 0x80 + magnitude,
        () if format.specials != Specials::NanNegativeZero => 0x7f - magnitude,
        () if magnitude == 0 => 0,
        () => 0x80 - magnitude,
    }
}

/// An unsigned integer that holds the bits of a value.
pub trait Bits:
    Pod
    + Ord
    + Into<u64>
    + Send
    + Sync
    + std::ops::BitXor<Output = Self>
    + std::ops::BitOr<Output = Self>
    + std::ops::BitAnd<Output = Self>
    + std::ops::Not<Output = Self>
{
    /// No bit set.
    const ZERO: Self;
    /// The number in which only the highest bit is set.
    const SIGN: Self;

    /// Truncates a number to the width of this type.
    fn of(bits: u64) -> Self;

    /// Returns a number with all bits set if the highest bit of `self` is set, else zero.
    fn sign_mask(self) -> Self;

    /// Returns the low byte, as an index into a table of 256 entries.
    fn low_byte(self) -> usize;

    /// Returns the number with its highest bit cleared.
    #[inline]
    fn magnitude(self) -> Self {
        self & !Self::SIGN
    }

    /// Converts the bits of a float to an unsigned integer, so that the integers have the order of
    /// the floats. The bits of a float consist of a sign and a magnitude.
    #[inline]
    fn ordered(self) -> Self {
        self ^ (self.sign_mask() | Self::SIGN)
    }

    /// Inverts [`Bits::ordered`].
    #[inline]
    fn unordered(self) -> Self {
        self ^ (!self.sign_mask() | Self::SIGN)
    }

    /// Merges zeros and NaNs. Returns `zero` for a zero if `zero` is set, and `nan` for a NaN if
    /// `nan` is set. Otherwise returns the bits unchanged. `infinity` holds the bits of positive
    /// infinity.
    #[inline]
    fn merged(self, infinity: Self, zero: Option<Self>, nan: Option<Self>) -> Self {
        let merged = if self.magnitude() == Self::ZERO { zero.unwrap_or(self) } else { self };
        if self.magnitude() > infinity { nan.unwrap_or(merged) } else { merged }
    }
}

macro_rules! bits {
    ($($type:ty, $signed:ty;)*) => { $(
        impl Bits for $type {
            const ZERO: Self = 0;
            const SIGN: Self = 1 << (<$type>::BITS - 1);

            #[inline]
            fn of(bits: u64) -> Self {
                bits as $type
            }

            #[inline]
            fn sign_mask(self) -> Self {
                (self as $signed >> (<$type>::BITS - 1)) as $type
            }

            #[inline]
            fn low_byte(self) -> usize {
                self as usize & 0xff
            }
        }
    )* };
}

bits! {
    u8, i8;
    u16, i16;
    u32, i32;
    u64, i64;
}
