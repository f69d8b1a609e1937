//! Compares fusions of the scatter emitters with the interpreter, on cpu and simt.

use fusebox_conformance::{Compiler, Machine, Target, assemble};
use fusebox_core::device::DeviceDescription;
use fusebox_emitter_scatter::emitters;

use crate::check;

/// A fusion whose root is a scatter, and the combiner of the scatter.
struct Case {
    combiner: String,
    /// Text of the parameters and of the prologue.
    body: String,
    /// Type and dimensions of the result.
    result: String,
    operands: &'static str,
    numbers: String,
}

impl Case {
    fn text(&self) -> String {
        let Case { combiner, body, result, operands, numbers } = self;
        format!(
            "{combiner}\nfusion {{\n{body}\n  ROOT s = {result} scatter({operands}), {numbers}, to_apply=combine\n}}\n"
        )
    }

    /// Checks the case on a small GPU, which a few threads occupy completely, and on a processor
    /// with one core.
    fn check_small(&self) {
        let gpu = DeviceDescription { core_count: 1, max_threads_per_core: 64, ..DeviceDescription::simt() };
        let text = self.text();
        scatters(&text, None, [(Target::cpu(), DeviceDescription::cpu(1)), (Target::simt(), gpu)]);
    }

    /// Checks the case only on processors. With many threads, it would be undefined which update an
    /// element keeps.
    fn check_on_processors(&self) {
        let text = self.text();
        scatters(&text, None, [1, 2].map(|cores| (Target::cpu(), DeviceDescription::cpu(cores))));
    }

    /// Checks the case with the emitter that keeps the order of updates.
    fn check_in_order(&self) {
        let gpu = DeviceDescription { core_count: 2, ..DeviceDescription::simt() };
        let text = self.text();
        let devices = [(Target::cpu(), DeviceDescription::cpu(3)), (Target::simt(), gpu)];
        let made = scatters(&text, Some("scatter=scatter-in-order"), devices);
        assert_eq!(made, ["scatter-in-order"; 2], "{text}");
    }

    /// Asserts that a scatter emitter accepts the fusion on both targets, and that the results are
    /// right.
    fn check(&self) {
        scatters(
            &self.text(),
            None,
            [(Target::cpu(), DeviceDescription::cpu(2)), (Target::simt(), DeviceDescription::simt())],
        );
    }
}

/// Checks results on these devices with this choice of an emitter. Returns the emitters of the
/// kernels. They must be scatter emitters.
fn scatters(text: &str, choice: Option<&str>, devices: [(Target, DeviceDescription); 2]) -> [String; 2] {
    let machines = devices.map(|(target, device)| Machine::new(target, device));
    let made = compiler(choice).check_on(text, machines).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(made.iter().all(|name| name.contains("scatter")), "{made:?}\n{text}");
    made
}

fn compiler(choice: Option<&str>) -> Compiler {
    let compiler = Compiler::new(emitters()).unwrap();
    choice.into_iter().fold(compiler, |compiler, choice| compiler.choosing(choice).unwrap())
}

fn combiner(element: &str, op: &str) -> String {
    format!(
        "combine {{\n  p = {element}[] parameter(0)\n  q = {element}[] parameter(1)\n  ROOT r = {element}[] {op}(p, q)\n}}"
    )
}

/// Returns a combiner that replaces the element by the update.
fn replace(element: &str) -> String {
    format!("combine {{\n  p = {element}[] parameter(0)\n  ROOT q = {element}[] parameter(1)\n}}")
}

/// Returns a scatter that updates `slices` rows of a `[rows, columns]` operand. Indices are 0 to 6,
/// so many indices are equal. If there are fewer rows, some indices are out of bounds.
fn rows(combiner: String, element: &str, [rows, columns, slices]: [i64; 3], attributes: &str) -> Case {
    Case {
        combiner,
        body: format!(
            "  x = {element}[{rows},{columns}] parameter(0)\n  i = s32[{slices}] parameter(1)\n  \
             u = {element}[{slices},{columns}] parameter(2)"
        ),
        result: format!("{element}[{rows},{columns}]"),
        operands: "x, i, u",
        numbers: format!(
            "update_window_dims={{1}}, inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, \
             index_vector_dim=1{attributes}"
        ),
    }
}

/// Returns a scatter that updates single elements of a vector. The prologue computes the indices
/// `i` from the parameter `j`.
fn elements(combiner: String, element: &str, [size, slices]: [i64; 2], prologue: &str, attributes: &str) -> Case {
    Case {
        combiner,
        body: format!(
            "  x = {element}[{size}] parameter(0)\n  j = s32[{slices}] parameter(1)\n  u = {element}[{slices}] parameter(2)\n{prologue}"
        ),
        result: format!("{element}[{size}]"),
        operands: "x, i, u",
        numbers: format!(
            "update_window_dims={{}}, inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, \
             index_vector_dim=1{attributes}"
        ),
    }
}

const ADD: &str = "add";

#[test]
fn every_combiner_with_duplicates_and_out_of_bounds() {
    for element in ["s8", "u16", "s32", "u64", "bf16", "f32", "f64"] {
        for op in ["add", "multiply", "minimum", "maximum", "subtract"] {
            rows(combiner(element, op), element, [5, 9, 23], "").check();
        }
        rows(replace(element), element, [5, 9, 23], "").check();
    }
    for element in ["pred", "s32", "u8", "s64"] {
        for op in ["and", "or", "xor"] {
            rows(combiner(element, op), element, [5, 12, 23], "").check();
        }
    }
}

#[test]
fn narrow_and_wide_elements() {
    for element in ["f8e4m3fn", "f8e5m2", "s4", "u4", "f16", "c64", "c128"] {
        // A sum of more than two numbers rounds several times, but the interpreter rounds once.
        let op = if element.starts_with('f') { "maximum" } else { ADD };
        rows(combiner(element, op), element, [5, 9, 11], "").check();
        rows(replace(element), element, [5, 9, 11], "").check();
        elements(combiner(element, op), element, [5, 40], "  i = s32[40] negate(j)", "").check();
    }
}

/// Checks atomic updates. With this many slices, threads update atomically, and no thread visits
/// all slices.
#[test]
fn atomic_updates() {
    for (element, op) in [
        ("f32", "add"),
        ("s32", "add"),
        ("u8", "add"),
        ("f64", "add"),
        ("bf16", "maximum"),
        ("f16", "add"),
        ("c64", "add"),
    ] {
        rows(combiner(element, op), element, [1000, 20, 900], "").check();
    }
    rows(combiner("s16", "minimum"), "s16", [7, 301, 90], "").check();
    elements(combiner("u32", ADD), "u32", [7, 5000], "  i = s32[5000] negate(j)", "").check();
}

#[test]
fn unique_indices() {
    let shuffled = "  k = s32[600] iota(), iota_dimension=0\n  c = s32[] constant(599)\n  b = s32[600] broadcast(c), dimensions={}\n  \
                    i = s32[600] subtract(b, k)";
    for element in ["f32", "s8", "bf16", "c128", "s4"] {
        elements(combiner(element, "subtract"), element, [600, 600], shuffled, ", unique_indices=true").check();
        elements(replace(element), element, [590, 600], shuffled, ", unique_indices=true").check();
    }
    let mut case = rows(combiner("f32", ADD), "f32", [600, 64, 500], ", unique_indices=true");
    case.body = case.body.replace("i = s32[500] parameter(1)", "i = s32[500] iota(), iota_dimension=0");
    case.body = case.body.replace("parameter(2)", "parameter(1)");
    case.check();
}

/// Checks sorted indices. They form runs of equal indices in ascending order. The first indices are
/// negative, and the last indices are out of bounds.
#[test]
fn sorted_indices() {
    let runs = |count: i64, run: i64| {
        format!(
            "  k = s32[{count}] iota(), iota_dimension=0\n  c = s32[] constant({run})\n  b = s32[{count}] broadcast(c), dimensions={{}}\n  \
             d = s32[{count}] divide(k, b)\n  e = s32[] constant(2)\n  f = s32[{count}] broadcast(e), dimensions={{}}\n  \
             i = s32[{count}] subtract(d, f)"
        )
    };
    for (element, op) in [("f32", "add"), ("s32", "maximum"), ("u8", "add"), ("f64", "multiply"), ("s16", "xor")] {
        for run in [1, 7, 40] {
            let case =
                elements(combiner(element, op), element, [90, 700], &runs(700, run), ", indices_are_sorted=true");
            case.check();
            case.check_small();
        }
    }
    // Too many for each element to walk all of them, although the order of a sum matters.
    for run in [3, 50_000] {
        let case =
            elements(combiner("f32", ADD), "f32", [300, 60_000], &runs(60_000, run), ", indices_are_sorted=true");
        case.check_small();
    }
    for (element, op, columns) in [("f32", ADD, 64), ("f32", ADD, 3), ("bf16", "maximum", 200), ("s32", ADD, 1000)] {
        for run in [1, 6, 300] {
            let mut case = rows(combiner(element, op), element, [100, columns, 900], ", indices_are_sorted=true");
            case.body = case
                .body
                .replace("  i = s32[900] parameter(1)", &runs(900, run))
                .replace("parameter(2)", "parameter(1)");
            case.check();
            case.check_small();
        }
    }
}

#[test]
fn index_types_at_their_limits() {
    for (index, value) in [
        ("s8", "-1"),
        ("u8", "255"),
        ("s16", "-32768"),
        ("s64", "-9223372036854775808"),
        ("u64", "18446744073709551615"),
        ("u32", "4294967295"),
        ("s64", "4294967297"),
        ("s32", "300"),
    ] {
        let body = format!(
            "  x = s32[300] parameter(0)\n  j = {index}[40] parameter(1)\n  c = {index}[] constant({value})\n  \
             b = {index}[40] broadcast(c), dimensions={{}}\n  z = {index}[] constant(3)\n  y = {index}[40] broadcast(z), dimensions={{}}\n  \
             p = pred[40] compare(j, y), direction=LT\n  i = {index}[40] select(p, j, b)\n  u = s32[40] parameter(2)"
        );
        Case { body, ..elements(combiner("s32", ADD), "s32", [300, 40], "", "") }.check();
    }
}

#[test]
fn general_dimension_numbers() {
    let cases = [
        // Windows of a matrix; the starts have another order than the operand's dimensions.
        (
            "f32[8,9]",
            "s32[5,2]",
            "f32[5,3,2]",
            "update_window_dims={1,2}, inserted_window_dims={}, scatter_dims_to_operand_dims={1,0}, index_vector_dim=1",
        ),
        // In the updates, the window is the first dimension and the slices are the last.
        (
            "f32[8,9]",
            "s32[7,2]",
            "f32[4,7]",
            "update_window_dims={0}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0,1}, index_vector_dim=1",
        ),
        // Window and slices interleaved, index vectors along the first dimension.
        (
            "f32[8,9,4]",
            "s32[2,5,3]",
            "f32[5,4,3,2]",
            "update_window_dims={1,3}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1,0}, index_vector_dim=0",
        ),
        // A single slice.
        (
            "f32[8,9]",
            "s32[2]",
            "f32[3,4]",
            "update_window_dims={0,1}, inserted_window_dims={}, scatter_dims_to_operand_dims={0,1}, index_vector_dim=0",
        ),
        // A window that always starts at 0 and is smaller than the operand.
        (
            "f32[8,9]",
            "s32[6]",
            "f32[6,5]",
            "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1",
        ),
        // Batching dimensions at different positions of operand and indices.
        (
            "f32[4,7,3]",
            "s32[3,5,4,1]",
            "f32[3,5,4]",
            "update_window_dims={}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, input_batching_dims={0,2}, scatter_indices_batching_dims={2,0}, index_vector_dim=3",
        ),
        (
            "f32[4,7,6]",
            "s32[4,5]",
            "f32[4,5,6]",
            "update_window_dims={2}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, input_batching_dims={0}, scatter_indices_batching_dims={0}, index_vector_dim=2",
        ),
        // Empty index vectors: every slice is the whole operand.
        (
            "f32[3,4]",
            "s32[5,0]",
            "f32[5,3,4]",
            "update_window_dims={1,2}, inserted_window_dims={}, scatter_dims_to_operand_dims={}, index_vector_dim=1",
        ),
        // One element.
        (
            "f32[]",
            "s32[5,0]",
            "f32[5]",
            "update_window_dims={}, inserted_window_dims={}, scatter_dims_to_operand_dims={}, index_vector_dim=1",
        ),
    ];
    for (operand, indices, updates, numbers) in cases {
        for combiner in [combiner("f32", ADD), replace("f32")] {
            Case {
                combiner,
                body: format!(
                    "  x = {operand} parameter(0)\n  i = {indices} parameter(1)\n  u = {updates} parameter(2)"
                ),
                result: operand.into(),
                operands: "x, i, u",
                numbers: numbers.into(),
            }
            .check();
        }
    }
}

/// Checks several blocks on the cpu. The blocks divide columns, rows, slices of a batch, or slices
/// with unique indices.
#[test]
fn blocks_of_one_thread_share_the_work() {
    rows(combiner("f32", ADD), "f32", [7, 256, 4000], "").check();
    rows(replace("f32"), "f32", [5, 3, 60_001], "").check();
    elements(combiner("f32", ADD), "f32", [5, 100_003], "  i = s32[100003] negate(j)", "").check();
    let spread = "  k = s32[100000] iota(), iota_dimension=0\n  c = s32[] constant(7)\n  b = s32[100000] broadcast(c), dimensions={}\n  \
                  m = s32[100000] multiply(k, b)\n  d = s32[] constant(1009)\n  e = s32[100000] broadcast(d), dimensions={}\n  \
                  i = s32[100000] remainder(m, e)";
    for element in ["f32", "u8"] {
        elements(combiner(element, ADD), element, [1000, 100_000], spread, "").check();
        elements(replace(element), element, [1000, 100_000], spread, "").check_on_processors();
    }
    Case {
        combiner: combiner("s32", ADD),
        body: "  x = s32[40,7] parameter(0)\n  i = s32[40,2000] parameter(1)\n  u = s32[40,2000] parameter(2)".into(),
        result: "s32[40,7]".into(),
        operands: "x, i, u",
        numbers: "update_window_dims={}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, \
                  input_batching_dims={0}, scatter_indices_batching_dims={0}, index_vector_dim=2"
            .into(),
    }
    .check();
    // Windows of three rows: two blocks share a window across their border.
    Case {
        combiner: combiner("s32", ADD),
        body: "  x = s32[9] parameter(0)\n  i = s32[40000,1] parameter(1)\n  u = s32[40000,3] parameter(2)".into(),
        result: "s32[9]".into(),
        operands: "x, i, u",
        numbers:
            "update_window_dims={1}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, index_vector_dim=1"
                .into(),
    }
    .check();
}

/// Checks updates that must be applied one after another. The result depends on the order, because
/// the combiner is a difference or keeps the last of several updates.
#[test]
fn in_order() {
    // Enough slices for blocks to list those of their rows.
    for columns in [1, 3, 64, 300] {
        let slices = 20_000_000 / (1000 * columns) + 1030;
        rows(replace("f32"), "f32", [1000, columns, slices], "").check_in_order();
    }
    let spread = "  k = s32[20000] iota(), iota_dimension=0\n  c = s32[] constant(7)\n  b = s32[20000] broadcast(c), dimensions={}\n  \
                  m = s32[20000] multiply(k, b)\n  d = s32[] constant(1009)\n  e = s32[20000] broadcast(d), dimensions={}\n  \
                  i = s32[20000] remainder(m, e)";
    elements(replace("s16"), "s16", [1000, 20_000], spread, "").check_in_order();
    elements(combiner("f32", ADD), "f32", [1000, 20_000], spread, "").check_in_order();
    elements(combiner("f32", "subtract"), "f32", [1000, 30], "  i = s32[30] negate(j)", "").check_in_order();
    // Rows of two dimensions, in another order and with columns between them.
    Case {
        combiner: replace("f32"),
        body: "  x = f32[40,20,30] parameter(0)\n  i = s32[5000,2] parameter(1)\n  u = f32[20,5000] parameter(2)"
            .into(),
        result: "f32[40,20,30]".into(),
        operands: "x, i, u",
        numbers:
            "update_window_dims={0}, inserted_window_dims={0,2}, scatter_dims_to_operand_dims={2,0}, index_vector_dim=1"
                .into(),
    }
    .check_in_order();
}

/// Combiner that computes the maximum and its index.
const ARG_MAX: &str = "combine {
  v = f32[] parameter(0)
  i = s32[] parameter(1)
  w = f32[] parameter(2)
  j = s32[] parameter(3)
  ge = pred[] compare(v, w), direction=GE
  m = f32[] select(ge, v, w)
  k = s32[] select(ge, i, j)
  ROOT t = (f32[], s32[]) tuple(m, k)
}";

#[test]
fn several_operands() {
    let pair = |slices: i64| {
        format!(
            "  x = f32[5,9] parameter(0)\n  y = s32[5,9] parameter(1)\n  i = s32[{slices}] parameter(2)\n  \
             u = f32[{slices},9] parameter(3)\n  v = s32[{slices},9] parameter(4)"
        )
    };
    let sums = "combine {\n  a = f32[] parameter(0)\n  b = s32[] parameter(1)\n  c = f32[] parameter(2)\n  d = s32[] parameter(3)\n  \
                s = f32[] add(a, c)\n  m = s32[] maximum(d, b)\n  ROOT t = (f32[], s32[]) tuple(s, m)\n}";
    for (combiner, slices) in [(ARG_MAX, 30), (sums, 30), (ARG_MAX, 8000), (sums, 50_000)] {
        Case {
            combiner: combiner.into(),
            body: pair(slices),
            result: "(f32[5,9], s32[5,9])".into(),
            operands: "x, y, i, u, v",
            numbers:
                "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1"
                    .into(),
        }
        .check();
    }
}

#[test]
fn prologues_of_indices_and_updates() {
    let case = rows(combiner("f32", ADD), "f32", [5, 9, 23], "");
    let body = "  x = f32[5,9] parameter(0)
  a = s64[2,23] parameter(1)
  b = s64[1,23] slice(a), slice={[1:2], [0:23]}
  i = s64[23] reshape(b)
  t = bf16[9,23] parameter(2)
  w = bf16[23,9] transpose(t), dimensions={1,0}
  v = f32[23,9] convert(w)
  u = f32[23,9] negate(v)";
    Case { body: body.into(), ..case }.check();
}

/// Checks instructions around a scatter. Its operand has another reader, and its result has an
/// elementwise user. Other kernels must compute this reader and this user.
#[test]
fn surroundings_are_other_kernels() {
    let text = format!(
        "{}\nfusion {{
  x = f32[5,9] parameter(0)
  i = s32[5] parameter(1)
  n = f32[5,9] negate(x)
  s = f32[5,9] scatter(n, i, n), update_window_dims={{1}}, inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, \
         index_vector_dim=1, to_apply=combine
  m = f32[5,9] scatter(x, i, x), update_window_dims={{1}}, inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, \
         index_vector_dim=1, to_apply=combine
  ROOT e = f32[5,9] subtract(s, m)
}}\n",
        combiner("f32", ADD)
    );
    // Both scatters compile to the same code.
    assert_eq!(check(&text), ["loop slab-scatter loop", "loop owned-scatter loop"]);
}

/// Compiles the case to PTX for two compute capabilities. NVIDIA's assembler must accept both
/// without spills. Returns the PTX for the second capability.
fn ptx(case: &Case, choice: Option<&str>) -> String {
    let texts = [80, 90].map(|capability| {
        let ptx = compiler(choice).ptx(&case.text(), capability).unwrap();
        let report = assemble(&ptx, &format!("sm_{capability}")).unwrap_or_else(|report| panic!("{report}"));
        assert!(report.is_none_or(|report| report.contains(" 0 bytes spill stores")), "{ptx}");
        ptx
    });
    texts[1].clone()
}

#[test]
fn nvidia_gets_native_atomics_and_wide_reads() {
    let sum = ptx(&rows(combiner("f32", ADD), "f32", [1000, 256, 2000], ""), Some("scatter=atomic-scatter"));
    assert!(sum.contains("ld.global.nc.v4.b32"), "{sum}");
    assert_eq!(sum.matches("atom.global.add.f32").count(), 4, "{sum}");
    for (element, op, instruction) in [
        ("s32", "maximum", "atom.global.max.s32"),
        ("u32", "minimum", "atom.global.min.u32"),
        ("u64", "add", "atom.global.add.u64"),
    ] {
        let text = ptx(&rows(combiner(element, op), element, [9000, 64, 9000], ""), None);
        assert!(text.contains(instruction), "{text}");
    }
    let product = ptx(&rows(combiner("f32", "multiply"), "f32", [9000, 64, 9000], ""), None);
    assert!(product.contains("cas.b32"), "nothing native multiplies: {product}");
}

#[test]
fn nvidia_gets_no_atomics_where_none_are_needed() {
    let unique = ptx(&rows(combiner("f32", ADD), "f32", [9000, 256, 2000], ", unique_indices=true"), None);
    assert!(unique.contains("st.global.v4.b32") && !unique.contains("atom"), "{unique}");
    let in_order = ptx(&rows(combiner("f32", ADD), "f32", [9000, 256, 2000], ""), Some("scatter=scatter-in-order"));
    assert!(in_order.contains("bar") && in_order.contains("ld.shared") && !in_order.contains("atom"), "{in_order}");
}

/// Checks that a kernel has one atomic operation per run of equal indices, not one per index.
#[test]
fn nvidia_gets_runs_of_sorted_indices_in_registers() {
    let sorted = rows(combiner("f32", ADD), "f32", [90_000, 256, 90_000], ", indices_are_sorted=true");
    let text = ptx(&sorted, None);
    assert!(text.matches("add.rn.f32").count() >= 4 && text.contains("ld.global.nc.v4.b32"), "{text}");
}

#[test]
fn no_updates() {
    let mut case = rows(combiner("f32", ADD), "f32", [5, 9, 0], "");
    case.result = "f32[5,9]".into();
    let text = case.text();
    check(&text);
}
