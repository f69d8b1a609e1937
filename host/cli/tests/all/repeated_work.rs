//! Checks, for many chains, that no kernel recomputes elements exponentially often. If the
//! recomputation of a shared value would multiply work, kernels must store the value. The simulator
//! counts the elements that kernels read. Consider a chain of `d` steps in which every reader
//! recomputes each value. A kernel would read an element of this chain `2^d` times.

use fusebox_conformance::{Compiler, Machine};
use fusebox_core::hlo::{ArrayLiteral, ElementType, Literal};
use fusebox_runtime::{ThreadOrder, trace_reads};

/// Number of elements of each value of a chain.
const ELEMENTS: usize = 16;
/// Largest number of reads per element of a step. Kernels compute some values a few times, and
/// windows and reductions read several elements.
const MOST_READS: usize = 64;
/// Largest number of reads per element, if the chain is already a fusion in the text. The compiler
/// keeps such a fusion if it computes each value at most 256 times, for each of the three elements
/// of a window.
const MOST_IN_FUSIONS: usize = 3 * 256;

/// Names of steps, and lines of HLO. The lines compute `x{i}` from the previous value and from an
/// earlier value. `%` stands for `i`.
const STEPS: [(&str, &str); 11] = [
    ("shifted", "p% = s32[17] pad(LAST, c), padding=1_0\n x% = s32[16] slice(p%), slice={[0:16]}"),
    (
        "neighbours",
        "a% = s32[15] slice(LAST), slice={[1:16]}\n p% = s32[16] pad(a%, c), padding=0_1\n x% = s32[16] add(p%, LAST)",
    ),
    ("sum", "x% = s32[16] add(LAST, EARLIER)"),
    ("updated", "x% = s32[16] dynamic-update-slice(LAST, u, s)"),
    (
        "update of both",
        "d% = s32[3] dynamic-slice(EARLIER, s), dynamic_slice_sizes={3}\n x% = s32[16] dynamic-update-slice(LAST, d%, t)",
    ),
    ("selected", "x% = s32[16] select(q, LAST, EARLIER)"),
    (
        "halves",
        "a% = s32[8] slice(LAST), slice={[4:12]}\n b% = s32[8] slice(EARLIER), slice={[8:16]}\n x% = s32[16] concatenate(a%, b%), dimensions={0}",
    ),
    ("reversed", "r% = s32[16] reverse(EARLIER), dimensions={0}\n x% = s32[16] subtract(LAST, r%)"),
    (
        "transposed",
        "m% = s32[4,4] reshape(LAST)\n t% = s32[4,4] transpose(m%), dimensions={1,0}\n v% = s32[16] reshape(t%)\n x% = s32[16] xor(v%, EARLIER)",
    ),
    ("windows", "x% = s32[16] reduce-window(LAST, z), window={size=3 pad=1_1}, to_apply=add"),
    (
        "centred",
        "w% = s32[] reduce(EARLIER, z), dimensions={0}, to_apply=add\n y% = s32[16] broadcast(w%), dimensions={}\n x% = s32[16] subtract(LAST, y%)",
    ),
];

const PARAMETERS: &str = "x0 = s32[16] parameter(0)\n u = s32[3] parameter(1)\n s = s32[] parameter(2)\n t = s32[] parameter(3)\n \
     q = pred[16] parameter(4)\n c = s32[] constant(7)\n z = s32[] constant(0)\n";

/// A chain that alternates between two steps. The earlier value is `reach` steps back.
struct AlternatingChain {
    steps: [usize; 2],
    reach: usize,
    depth: usize,
}

impl AlternatingChain {
    /// Returns a module. The chain is the entry of the module, or a fusion that the entry calls.
    fn text(&self, is_fusion: bool) -> String {
        let mut body = String::from(PARAMETERS);
        for i in 1..=self.depth {
            let (last, earlier) = (format!("x{}", i - 1), format!("x{}", i.saturating_sub(self.reach)));
            let step = STEPS[self.steps[i % 2]].1;
            let lines = step.replace("LAST", &last).replace("EARLIER", &earlier).replace('%', &i.to_string());
            body += &format!(" {lines}\n");
        }
        let root = format!(" x{} = ", self.depth);
        let body = body.replace(&root, &format!(" ROOT{root}"));
        let head =
            "HloModule m\nadd {\n a = s32[] parameter(0)\n b = s32[] parameter(1)\n ROOT r = s32[] add(a, b)\n}\n";
        if !is_fusion {
            return format!("{head}ENTRY e {{\n {body}}}\n");
        }
        let parameters: String = PARAMETERS.lines().take(5).map(|line| format!("{line}\n")).collect();
        format!(
            "{head}fused {{\n {body}}}\nENTRY e {{\n {parameters} ROOT f = s32[16] fusion(x0, u, s, t, q), kind=kLoop, \
             calls=fused\n}}\n"
        )
    }

    fn name(&self) -> String {
        let [first, second] = self.steps.map(|step| STEPS[step].0);
        format!("{first} and {second}, {} back, {} steps", self.reach, self.depth)
    }

    /// Runs the chain, which is either an entry or a fusion in the text. Returns the result and the
    /// number of elements that kernels read.
    fn check(&self, is_fusion: bool) -> (Literal, u64) {
        let (result, count) = run(&self.text(is_fusion));
        let most = if is_fusion { MOST_IN_FUSIONS } else { MOST_READS } * ELEMENTS * (self.depth + 1);
        assert!(count <= most as u64, "{}: {count} elements read, a fusion: {is_fusion}", self.name());
        (result, count)
    }
}

/// Runs a module on the simulator. Returns the result and the number of elements that kernels read.
fn run(text: &str) -> (Literal, u64) {
    let compiler = Compiler::new(fusebox_bundle::emitters()).unwrap_or_else(|failure| panic!("{failure}"));
    let orders = [ThreadOrder::Forward];
    let (made, launches) = trace_reads(|| compiler.run_in_orders(text, &Machine::simt(), &inputs(), &orders));
    let made = made.unwrap_or_else(|failure| panic!("{failure}"));
    (made.result, launches.iter().map(|launch| launch.count).sum())
}

fn inputs() -> [ArrayLiteral; 5] {
    let numbers = |numbers: &[i32]| numbers.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let array = |ty, dims: &[i64], data| ArrayLiteral::new(ty, dims.to_vec(), data).unwrap();
    let x: Vec<i32> = (0..ELEMENTS as i32).map(|x| x * 7 - 31).collect();
    [
        array(ElementType::S32, &[16], numbers(&x)),
        array(ElementType::S32, &[3], numbers(&[100, 200, 300])),
        array(ElementType::S32, &[], numbers(&[5])),
        array(ElementType::S32, &[], numbers(&[11])),
        array(ElementType::Pred, &[16], (0..16).map(|i| u8::from(i % 3 == 0)).collect()),
    ]
}

#[test]
fn no_chain_multiplies_work() {
    let pairs = (0..STEPS.len()).flat_map(|first| (first..STEPS.len()).map(move |second| [first, second]));
    // A fusion of the text that contains reductions may read a row again for each element. Emitters
    // decide this.
    let has_rows = |steps: [usize; 2]| steps.iter().any(|&step| STEPS[step].1.contains("reduce("));
    for (number, steps) in pairs.enumerate() {
        let chain = AlternatingChain { steps, reach: [1, 2, 3, 7][number % 4], depth: 30 };
        chain.check(number % 2 == 0 && !has_rows(steps));
    }
}

#[test]
fn no_long_chain_multiplies_work() {
    for (steps, reach) in [([1, 2], 2), ([3, 2], 2), ([9, 5], 3)] {
        let chain = AlternatingChain { steps, reach, depth: 1000 };
        let [(apart, read), (fused, _)] = [false, true].map(|is_fusion| chain.check(is_fusion));
        assert_eq!(apart, fused, "{}", chain.name());
        assert!(read >= ELEMENTS as u64, "{}: {read} elements read", chain.name());
    }
}
