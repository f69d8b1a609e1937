//! Checks the PTX of reductions. It must have wide accesses and shuffles, and barriers only where
//! they are needed. NVIDIA's assembler must accept it without spills.

use fusebox_conformance::assemble;

use crate::compiler;

/// Requirements on a kernel: mnemonics, and the number of times that each must occur.
struct Wanted {
    text: String,
    reads: (&'static str, usize),
    shuffles: usize,
    barriers: usize,
}

fn reduce(element: &str, dims: &str, reduced: &str, kept: &str) -> String {
    format!(
        "HloModule m\nadd {{\n  a = {element}[] parameter(0)\n  b = {element}[] parameter(1)
  ROOT s = {element}[] add(a, b)\n}}\nENTRY e {{\n  x = {element}[{dims}] parameter(0)\n  z = {element}[] constant(0)
  ROOT r = {element}[{kept}] reduce(x, z), dimensions={{{reduced}}}, to_apply=add\n}}\n"
    )
}

/// Checks the kernel for both compute capabilities. Returns the PTX for the second one.
fn check(wanted: &Wanted) -> String {
    check_by(wanted, "reduce")
}

/// Checks the kernel like `check`, but with the named emitter.
fn check_by(wanted: &Wanted, name: &str) -> String {
    let compiler = compiler().choosing(&format!("reduce={name}")).unwrap();
    let mut last = String::new();
    for capability in [80, 90] {
        let ptx = compiler.ptx(&wanted.text, capability).unwrap_or_else(|failure| panic!("{failure}"));
        let count = |mnemonic: &str| ptx.lines().filter(|line| line.contains(mnemonic)).count();
        let (read, number) = wanted.reads;
        assert_eq!(count(read), number, "{read}\n{ptx}");
        assert_eq!(count("ld.global"), number, "other reads than {read}\n{ptx}");
        assert_eq!(count("shfl.sync.down"), wanted.shuffles, "{ptx}");
        assert_eq!(count("bar.sync"), wanted.barriers, "{ptx}");
        assert_eq!(count("atom.") + count("red.global") + count(".local."), 0, "{ptx}");
        if let Some(report) = assemble(&ptx, &format!("sm_{capability}")).unwrap() {
            assert!(report.contains(" 0 bytes spill stores, 0 bytes spill loads"), "{report}");
        }
        assert_eq!(count(".visible .entry"), 1, "{ptx}");
        last = ptx;
    }
    last
}

/// Returns a softmax. It computes the exponentials of the elements minus the maximum of their row,
/// and divides these exponentials by their sum.
fn softmax(element: &str, rows: i64, length: i64) -> String {
    let (wide, narrow) = (format!("{element}[{rows},{length}]"), format!("{element}[{rows}]"));
    format!(
        "HloModule m
add {{ a = {element}[] parameter(0)\n b = {element}[] parameter(1)\n ROOT s = {element}[] add(a, b) }}
max {{ a = {element}[] parameter(0)\n b = {element}[] parameter(1)\n ROOT s = {element}[] maximum(a, b) }}
ENTRY e {{
  x = {wide} parameter(0)
  zero = {element}[] constant(0)
  low = {element}[] constant(-inf)
  m = {narrow} reduce(x, low), dimensions={{1}}, to_apply=max
  mb = {wide} broadcast(m), dimensions={{0}}
  d = {wide} subtract(x, mb)
  e = {wide} exponential(d)
  s = {narrow} reduce(e, zero), dimensions={{1}}, to_apply=add
  sb = {wide} broadcast(s), dimensions={{0}}
  ROOT r = {wide} divide(e, sb)
}}
"
    )
}

fn counted(ptx: &str, mnemonic: &str) -> usize {
    ptx.lines().filter(|line| line.contains(mnemonic)).count()
}

#[test]
fn rows_are_read_in_vectors_and_meet_in_shared_memory() {
    let text = reduce("f32", "4096,4096", "1", "4096");
    check(&Wanted { text, reads: ("ld.global.nc.v4", 8), shuffles: 5 + 2, barriers: 1 });
}

#[test]
fn a_warp_that_owns_a_row_needs_no_barrier() {
    let text = reduce("f32", "65536,1024", "1", "65536");
    check_by(&Wanted { text, reads: ("ld.global.nc.v4", 8), shuffles: 5, barriers: 0 }, "row-reduce");
}

#[test]
fn short_rows_share_a_warp() {
    let text = reduce("f32", "262144,32", "1", "262144");
    check(&Wanted { text, reads: ("ld.global.nc.v4", 1), shuffles: 3, barriers: 0 });
}

#[test]
fn tiny_rows_are_read_together() {
    let text = reduce("f32", "1048576,3", "1", "1048576");
    check(&Wanted { text, reads: ("ld.global.nc.v4", 3), shuffles: 0, barriers: 0 });
}

#[test]
fn bytes_are_read_sixteen_at_a_time() {
    let text = reduce("s8", "65536,2048", "1", "65536");
    check(&Wanted { text, reads: ("ld.global.nc.v4", 8), shuffles: 4, barriers: 0 });
}

#[test]
fn neighbouring_columns_are_read_together() {
    let text = reduce("f32", "640,512,256", "1", "640,256");
    check(&Wanted { text, reads: ("ld.global.nc.v4", 4), shuffles: 4 * 3, barriers: 1 });
}

#[test]
fn few_columns_are_read_as_a_line() {
    let text = reduce("f32", "500,2048,32", "1", "500,32");
    check_by(&Wanted { text, reads: ("ld.global.nc.v4", 4), shuffles: 4 * 5, barriers: 1 }, "small-column-reduce");
}

#[test]
fn a_softmax_reads_each_row_once() {
    let text = softmax("f32", 4096, 4096);
    let ptx = check(&Wanted { text, reads: ("ld.global.nc.v4", 4), shuffles: 2 * 5, barriers: 2 });
    assert_eq!((counted(&ptx, "st.global.v4"), counted(&ptx, "st.global")), (4, 4), "{ptx}");
    // Each warp writes a partial result, and all threads read these as vectors.
    assert_eq!((counted(&ptx, "st.shared"), counted(&ptx, "ld.shared.v4"), counted(&ptx, "ld.shared")), (2, 4, 4));
}

#[test]
fn a_softmax_of_short_rows_has_several_in_a_warp() {
    let text = softmax("bf16", 65536, 64);
    let ptx = check(&Wanted { text, reads: ("ld.global.nc.v4", 1), shuffles: 2 * 3, barriers: 2 });
    assert_eq!((counted(&ptx, "st.global.v4"), counted(&ptx, "st.global")), (1, 1), "{ptx}");
}

#[test]
fn a_softmax_of_long_rows_reads_them_once_per_phase() {
    let text = softmax("f32", 1024, 100_000);
    // Each of the three phases has iterations of two units and a remainder. There are too many
    // warps for every thread to read all partial results.
    check(&Wanted { text, reads: ("ld.global.nc.v4", 3 * 3), shuffles: 2 * (5 + 5), barriers: 2 * 2 });
}
