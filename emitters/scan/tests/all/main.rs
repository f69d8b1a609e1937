//! Checks the plans of the emitters, and compares their kernels with the reference interpreter.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod of_plans;

use fusebox_conformance::fusions::Chance;
use fusebox_conformance::literals::{Closeness, mixed, small_integers};
use fusebox_conformance::{Compiler, Machine, Target, inputs};
use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{ArrayLiteral, ArrayShape, ElementType};
use fusebox_emitter_scan::emitters;

/// A program that computes the running combination of an array along a dimension.
pub struct Program<'a> {
    pub element: &'a str,
    pub dims: &'a [i64],
    pub along: usize,
    pub is_backward: bool,
    pub combiner: &'a str,
    pub initial: &'a str,
}

impl Program<'_> {
    /// Returns the shape and the window of the `reduce-window`.
    fn window(&self) -> (String, String) {
        let dims: Vec<String> = self.dims.iter().map(i64::to_string).collect();
        let of = |d: usize| {
            let (size, rest) = if d == self.along { (self.dims[d], self.dims[d] - 1) } else { (1, 0) };
            let pad = if self.is_backward { format!("0_{rest}") } else { format!("{rest}_0") };
            (size.to_string(), pad)
        };
        let (sizes, pads): (Vec<String>, Vec<String>) = (0..self.dims.len()).map(of).unzip();
        (format!("{}[{}]", self.element, dims.join(",")), format!("size={} pad={}", sizes.join("x"), pads.join("x")))
    }

    /// Returns the text of the module. The lines `before` define `x`, and the lines `after` read
    /// `r`. In both, `S` stands for the shape.
    pub fn text(&self, before: &str, after: &str) -> String {
        let (shape, window) = self.window();
        let Program { element, combiner, initial, .. } = self;
        format!(
            "HloModule m\nc {{ a = {element}[] parameter(0)\n b = {element}[] parameter(1)\n {combiner} }}\n\
             ENTRY main {{ p = S parameter(0)\n {before}\n i = {element}[] constant({initial})\n \
             r = S reduce-window(x, i), window={{{window}}}, to_apply=c\n {after} }}\n"
        )
        .replace('S', &shape)
        .replace("T[]", &format!("{element}[]"))
    }

    pub fn plain(&self) -> String {
        self.text("x = S negate(p)", "ROOT n = S negate(r)")
    }
}

/// Checks results on processors with different registers. Returns the emitters for the first
/// processor.
fn check(text: &str, closeness: Closeness, values: impl FnMut(&ArrayShape, u64) -> ArrayLiteral) -> Vec<String> {
    let wide = DeviceDescription { register_bytes: 64, registers: 32, ..DeviceDescription::cpu(2) };
    let compiler = Compiler::new(emitters()).unwrap_or_else(|failure| panic!("{failure}"));
    let inputs = inputs(text, values).unwrap();
    let made = compiler.compared(text, [Machine::cpu(), Machine::new(Target::cpu(), wide)], &inputs, closeness);
    made.unwrap_or_else(|failure| panic!("{text}\n{failure}"))[0].emitters.clone()
}

/// Number of steps in a chunk. The steps of a chunk are summed first, and then the sum of the
/// preceding steps is added.
const CHUNK: usize = 32;
const ADD: &str = "ROOT s = T[] add(a, b)";
const MAX: &str = "ROOT s = T[] maximum(a, b)";
/// A combiner that is associative but not commutative. It returns the second operand, or the first
/// operand if the second is zero. So zero is the identity.
const LATEST: &str = "z = T[] constant(0)\n e = pred[] compare(b, z), direction=EQ\n ROOT s = T[] select(e, a, b)";

#[test]
fn lines_in_memory_and_across_it() {
    let places: [(&[i64], usize); 8] = [
        (&[70, 100], 1),
        (&[100, 70], 0),
        (&[3, 65, 7], 1),
        (&[2, 33, 200], 1),
        (&[257, 3], 0),
        (&[1, 40], 1),
        (&[2, 1025], 1),
        (&[40], 0),
    ];
    for (dims, along) in places {
        for is_backward in [false, true] {
            for (element, combiner) in
                [("s32", ADD), ("f32", ADD), ("f64", ADD), ("s64", LATEST), ("u8", MAX), ("s16", LATEST)]
            {
                let initial = if combiner == LATEST { "0" } else { "3" };
                let program = Program { element, dims, along, is_backward, combiner, initial };
                let made = check(&program.plain(), Closeness::Bits, small_integers);
                assert!(made.iter().all(|name| name.ends_with("-scan")) && made.len() == 1, "{made:?}");
            }
        }
    }
}

#[test]
fn what_stands_around_is_part_of_the_kernel() {
    let program =
        Program { element: "f32", dims: &[60, 90], along: 1, is_backward: false, combiner: ADD, initial: "0" };
    let before = "q = S parameter(1)\n x = S add(p, q)";
    let after = "f = bf16[60,90] convert(r)\n d = f32[5400] reshape(r)\n m = S multiply(r, p)\n \
                 ROOT t = (bf16[60,90], S, f32[5400]) tuple(f, m, d)";
    let text = program.text(before, after).replace("ENTRY main", "fusion");
    assert_eq!(check(&text, Closeness::Bits, small_integers), ["line-scan"]);
    let program = Program { dims: &[90, 60], along: 0, ..program };
    let text = program.text(before, after).replace("60,90", "90,60").replace("ENTRY main", "fusion");
    assert_eq!(check(&text, Closeness::Bits, small_integers), ["column-scan"]);
}

#[test]
fn sums_of_narrow_floats_are_rounded_at_the_end() {
    for element in ["bf16", "f16"] {
        for (dims, along) in [(&[20, 300], 1), (&[300, 80], 0)] {
            let program = Program { element, dims, along, is_backward: false, combiner: ADD, initial: "0" };
            let made = check(&program.plain(), Closeness::Bits, small_integers);
            assert!(made.iter().all(|name| name.ends_with("-scan")), "{made:?}");
        }
    }
}

#[test]
fn combinations_that_take_long_are_made_of_vectors_and_right() {
    let combiner = "m = T[] maximum(a, b)\n d = T[] subtract(a, b)\n n = T[] abs(d)\n k = T[] negate(n)\n e = T[] exponential(k)\n \
                    l = T[] log-plus-one(e)\n ROOT s = T[] add(m, l)";
    let program =
        Program { element: "f32", dims: &[128, 200], along: 1, is_backward: false, combiner, initial: "-inf" };
    let mut chance = Chance::new(3);
    let text = program.text("x = S abs(p)", "ROOT n = S negate(r)");
    let made = check(&text, Closeness::Units, |shape, _| mixed(shape, &mut chance));
    assert_eq!(made, ["column-scan"]);
}

#[test]
fn complex_numbers_are_combined_too() {
    let program =
        Program { element: "c64", dims: &[20, 70], along: 0, is_backward: true, combiner: ADD, initial: "(0, 0)" };
    check(&program.text("x = S negate(p)", "ROOT n = S negate(r)"), Closeness::Bits, small_integers);
}

#[test]
fn a_long_line_is_cut_into_many_and_the_initial_value_takes_part_once() {
    for is_backward in [false, true] {
        let program = Program { element: "s32", dims: &[5_003], along: 0, is_backward, combiner: ADD, initial: "5" };
        let made = check(&program.plain(), Closeness::Bits, small_integers);
        assert!(made.iter().any(|name| name == "line-scan"), "{made:?}");
    }
}

/// Checks the rounding errors of sums of many steps. The errors must grow with the number and the
/// length of chunks. In a plain running sum, they would grow with the number of steps.
#[test]
fn sums_of_many_steps_stay_close() {
    const STEPS: usize = 65536;
    let program =
        Program { element: "f32", dims: &[8, STEPS as i64], along: 1, is_backward: false, combiner: ADD, initial: "0" };
    let value = 0.1f32;
    let dims = program.dims.to_vec();
    let input = ArrayLiteral::new(ElementType::F32, dims, value.to_le_bytes().repeat(8 * STEPS)).unwrap();
    let compiler = Compiler::new(emitters()).unwrap_or_else(|failure| panic!("{failure}"));
    let made = compiler.run(&program.text("x = S copy(p)", "ROOT n = S copy(r)"), &Machine::cpu(), &[input]);
    let made = made.unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(made.emitters, ["line-scan"]);
    let result = made.result.as_array().unwrap().clone();
    let found: Vec<f32> =
        result.data.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect();
    let worst = |sums: &mut dyn Iterator<Item = f32>| -> f64 {
        let exact = (1..=STEPS).map(|count| count as f64 * f64::from(value));
        sums.zip(exact).map(|(sum, exact)| (f64::from(sum) - exact).abs() / exact).fold(0.0, f64::max)
    };
    let chunks = STEPS / CHUNK;
    let allowed = (CHUNK + 2 * chunks.isqrt()) as f64 * f64::from(f32::EPSILON) / 2.0;
    let plain = worst(&mut (0..STEPS).scan(0f32, |sum, _| {
        *sum += value;
        Some(*sum)
    }));
    assert!(plain > allowed, "the bound of {allowed:e} tells nothing: a running sum is off by {plain:e}");
    for line in found.chunks(STEPS) {
        let off = worst(&mut line.iter().copied());
        assert!(off <= allowed, "off by {off:e}, {allowed:e} is allowed");
    }
}
