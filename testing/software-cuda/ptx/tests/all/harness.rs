//! Runs small kernels, and single instructions on tables of values.

use fusebox_ptx::{Counts, DeviceKind, Fault, Launch, LoadError, Memory, Module, Settings, Stamp};

/// Memory of a device, and the number of the last piece of work.
pub struct Card {
    pub memory: Memory,
    pub kind: DeviceKind,
    last: u64,
    /// A seed for the errors of approximations.
    pub approximations: Option<u64>,
}

/// The target of the modules of tests.
pub const TARGET: &str = ".version 8.7\n.target sm_90a\n.address_size 64\n";

/// The target of modules for an `sm_100`.
const NEWER_TARGET: &str = ".version 8.7\n.target sm_100\n.address_size 64\n";

impl Card {
    pub fn new() -> Card {
        Card { memory: Memory::new(1 << 30), kind: DeviceKind::named("sm_90").unwrap(), last: 0, approximations: None }
    }

    pub fn stamp(&mut self) -> Stamp {
        self.last += 1;
        Stamp::in_order(self.last)
    }

    /// Allocates memory with these bytes.
    pub fn array(&mut self, bytes: &[u8]) -> u64 {
        let address = self.memory.allocate(bytes.len() as u64, 256).unwrap();
        let when = self.stamp();
        self.memory.write(address, bytes, &when).unwrap();
        address
    }

    /// Allocates memory that is never written.
    pub fn unwritten(&self, bytes: u64) -> u64 {
        self.memory.allocate(bytes, 256).unwrap()
    }

    pub fn read(&mut self, address: u64, bytes: usize) -> Vec<u8> {
        let mut all = vec![0; bytes];
        let when = self.stamp();
        self.memory.read(address, &mut all, &when).unwrap();
        all
    }

    pub fn words(&mut self, address: u64, count: usize) -> Vec<u32> {
        let bytes = self.read(address, 4 * count);
        bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    }

    pub fn load(&self, text: &str) -> Result<Module, LoadError> {
        Module::load(text, &self.kind, &self.memory)
    }

    /// Executes the only kernel of a module. The parameters are addresses.
    pub fn run(&mut self, text: &str, grid: u32, block: u32, parameters: &[u64]) -> Result<Counts, Fault> {
        self.run_with(text, [grid, 1, 1], [block, 1, 1], 0, parameters)
    }

    pub fn run_with(
        &mut self,
        text: &str,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_shared: u32,
        parameters: &[u64],
    ) -> Result<Counts, Fault> {
        let module = self.load(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let bytes: Vec<u8> = parameters.iter().flat_map(|parameter| parameter.to_le_bytes()).collect();
        let when = self.stamp();
        let launch = Launch { grid, block, cluster: [1; 3], dynamic_shared, parameters: &bytes, when };
        let settings = Settings { workers: 2, most_steps: 1 << 24, approximations: self.approximations };
        fusebox_ptx::execute(&module.kernels()[0], &launch, &self.memory, &settings)
    }
}

/// Returns a module with one kernel. The parameters are 64-bit numbers `p0`, `p1`, …, loaded to
/// `%p0`, `%p1`, …; `%tx` and `%gid` are the numbers of the thread in its block and in the grid.
pub fn kernel(parameters: usize, registers: &str, body: &str) -> String {
    let list: Vec<String> = (0..parameters).map(|number| format!(".param .u64 p{number}")).collect();
    let loads: String = (0..parameters).map(|number| format!("ld.param.u64 %p{number}, [p{number}];\n")).collect();
    format!(
        "{TARGET}.visible .entry k({})\n{{\n.reg .u64 %p<{}>;\n.reg .u32 %t0, %t1, %t2, %gid, %tx;\n{registers}\n\
         {loads}mov.u32 %tx, %tid.x;\nmov.u32 %t0, %ctaid.x;\nmov.u32 %t1, %ntid.x;\n\
         mad.lo.u32 %gid, %t0, %t1, %tx;\n{body}\nret;\n}}\n",
        list.join(", "),
        parameters + 1
    )
}

/// Returns the bits of a type's name, such as `s32`.
fn bits(ty: &str) -> u32 {
    match ty {
        "pred" => 32,
        _ => ty.trim_start_matches(char::is_alphabetic).parse().unwrap(),
    }
}

/// Executes an instruction for each row of operands. The instruction writes `%d`, of type `to`, and
/// reads `%a`, `%b`, `%c`, of the types `from`. A predicate's result is 0 or 1.
pub fn evaluate(instruction: &str, to: &str, from: &[&str], rows: &[Vec<u64>]) -> Vec<u64> {
    evaluate_on(Card::new(), instruction, to, from, rows)
}

/// As [`evaluate`], on a certain card.
pub fn evaluate_on(mut card: Card, instruction: &str, to: &str, from: &[&str], rows: &[Vec<u64>]) -> Vec<u64> {
    let names = ["a", "b", "c", "e"];
    let mut registers = format!(".reg .{to} %d;\n.reg .b32 %w;\n.reg .u64 %at;\n");
    let mut body = String::new();
    for (number, ty) in from.iter().enumerate() {
        let (name, size) = (names[number], bits(ty));
        registers += &format!(".reg .{ty} %{name};\n");
        body += &format!("mul.wide.u32 %at, %gid, {};\nadd.u64 %at, %at, %p{number};\n", size / 8);
        body += &format!("ld.global.b{size} %{name}, [%at];\n");
    }
    let size = bits(to);
    body += &format!("{instruction}\nmul.wide.u32 %at, %gid, {};\nadd.u64 %at, %at, %p{};\n", size / 8, from.len());
    body += &match to {
        "pred" => "selp.b32 %w, 1, 0, %d;\nst.global.b32 [%at], %w;\n".to_owned(),
        _ => format!("st.global.b{size} [%at], %d;\n"),
    };
    let mut parameters = Vec::new();
    for (number, ty) in from.iter().enumerate() {
        let bytes = bits(ty) as usize / 8;
        let column: Vec<u8> = rows.iter().flat_map(|row| row[number].to_le_bytes()[..bytes].to_vec()).collect();
        parameters.push(card.array(&column));
    }
    let bytes = size as usize / 8;
    let result = card.unwritten((rows.len() * bytes) as u64);
    parameters.push(result);
    let text = kernel(parameters.len(), &registers, &body);
    let text = if card.kind.name() == "sm_100" { text.replace(TARGET, NEWER_TARGET) } else { text };
    // Blocks of a size that leaves lanes of a warp without thread, but divides all rows.
    let block = (1..=64).rev().find(|block| rows.len().is_multiple_of(*block)).unwrap() as u32;
    card.run(&text, rows.len() as u32 / block, block, &parameters).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    let all = card.read(result, rows.len() * bytes);
    all.chunks(bytes).map(|value| value.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte))).collect()
}

/// Checks an instruction against rows of operands and the expected result.
pub fn check(instruction: &str, to: &str, from: &[&str], rows: &[(&[u64], u64)]) {
    let operands: Vec<Vec<u64>> = rows.iter().map(|(operands, _)| operands.to_vec()).collect();
    let found = evaluate(instruction, to, from, &operands);
    for ((operands, expected), found) in rows.iter().zip(found) {
        assert_eq!(found, *expected, "{instruction} of {operands:#x?}: {found:#x}, expected {expected:#x}");
    }
}

/// Checks an instruction with one operand against a function.
pub fn check_one(instruction: &str, [to, a]: [&str; 2], values: &[u64], expected: impl Fn(u64) -> u64) {
    let rows: Vec<(Vec<u64>, u64)> = values.iter().map(|&a| (vec![a], expected(a))).collect();
    check_rows(instruction, to, &[a], &rows);
}

/// Checks an instruction with two operands, for all pairs of values, against a function.
pub fn check_two(instruction: &str, [to, a, b]: [&str; 3], values: &[u64], expected: impl Fn(u64, u64) -> u64) {
    let pairs = values.iter().flat_map(|&a| values.iter().map(move |&b| (a, b)));
    let rows: Vec<(Vec<u64>, u64)> = pairs.map(|(a, b)| (vec![a, b], expected(a, b))).collect();
    check_rows(instruction, to, &[a, b], &rows);
}

/// Checks an instruction with three operands, for all triples of values, against a function.
pub fn check_three(
    instruction: &str,
    [to, a, b, c]: [&str; 4],
    values: &[u64],
    expected: impl Fn(u64, u64, u64) -> u64,
) {
    let mut rows = Vec::new();
    for &a in values {
        for &b in values {
            rows.extend(values.iter().map(|&c| (vec![a, b, c], expected(a, b, c))));
        }
    }
    check_rows(instruction, to, &[a, b, c], &rows);
}

fn check_rows(instruction: &str, to: &str, from: &[&str], rows: &[(Vec<u64>, u64)]) {
    let rows: Vec<(&[u64], u64)> = rows.iter().map(|(operands, result)| (&operands[..], *result)).collect();
    check(instruction, to, from, &rows);
}

/// Asserts that a module with an instruction is refused, and returns the message.
pub fn refused(registers: &str, body: &str) -> String {
    let error = Card::new().load(&kernel(1, registers, body)).err();
    error.unwrap_or_else(|| panic!("{body} is not refused")).to_string()
}

/// Numbers at the edges of integer types.
pub fn edges(bits: u32) -> Vec<u64> {
    let mask = u64::MAX >> (64 - bits);
    let top = 1u64 << (bits - 1);
    [0, 1, 2, 3, 7, 31, 100, top - 1, top, top + 1, mask - 1, mask, 0x5a5a_5a5a_5a5a_5a5a & mask, 0x1234_5678_9abc_def1]
        .map(|value| value & mask)
        .to_vec()
}

/// Singles at the edges: zeros, subnormals, normal numbers, infinities, NaN.
pub fn singles() -> Vec<u64> {
    let values =
        [0.0f32, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 3.0, 1e-3, 16777217.0, f32::MAX, f32::MIN, f32::INFINITY];
    let mut bits: Vec<u64> = values.iter().map(|value| u64::from(value.to_bits())).collect();
    bits.extend([
        1,
        0x8000_0001,
        0x7f_ffff,
        0x80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0xffc1_2345,
        0x3f7f_ffff,
        0x4b00_0001,
    ]);
    bits
}

/// Doubles at the edges.
pub fn doubles() -> Vec<u64> {
    let values =
        [0.0f64, -0.0, 1.0, -1.0, 0.1, 1.5, -2.5, 1e300, -1e300, 1e-310, f64::MAX, f64::INFINITY, 4503599627370497.0];
    values.iter().map(|value| value.to_bits()).collect()
}

/// Returns the single of bits, with the canonical NaN.
pub fn single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// Returns the bits of a single result; NaN is canonical.
pub fn bits_of(value: f32) -> u64 {
    if value.is_nan() { 0x7fff_ffff } else { u64::from(value.to_bits()) }
}
