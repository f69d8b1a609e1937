//! Compares chains of row reductions by many threads with the interpreter, for several lengths,
//! numbers of rows, types and normalisations. Also checks which emitters accept the chains.

use fusebox_conformance::literals::{Closeness, filled, scattered};
use fusebox_conformance::{Compiler, Machine, Registry, assertions, inputs, named};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Configuration, Descriptor, EmitError, Emitter, Fusion, Kernel, Plan, Verdict};
use fusebox_emitter_reduce::emitters;

use crate::{check, check_by, compiler};

/// Returns a fusion. Its parameters `x` and `y` are matrices, `g` has an element per column, and
/// `h` has an element per row. In `body`, `E` stands for the element type, and `M` for the shape of
/// the matrices. `R` stands for the shape with a value per row, and `C` for the shape with a value
/// per column.
fn chain(element: &str, rows: i64, length: i64, body: &str) -> String {
    let text = format!(
        "add {{ a = E[] parameter(0)\n b = E[] parameter(1)\n ROOT r = E[] add(a, b) }}
max {{ a = E[] parameter(0)\n b = E[] parameter(1)\n ROOT r = E[] maximum(a, b) }}
first {{ v = E[] parameter(0)\n i = s32[] parameter(1)\n w = E[] parameter(2)\n j = s32[] parameter(3)
  gt = pred[] compare(v, w), direction=GT\n eq = pred[] compare(v, w), direction=EQ
  lt = pred[] compare(i, j), direction=LT\n tie = pred[] and(eq, lt)\n take = pred[] or(gt, tie)
  m = E[] select(take, v, w)\n k = s32[] select(take, i, j)\n ROOT t = (E[], s32[]) tuple(m, k) }}
fusion {{
  x = M parameter(0)
  y = M parameter(1)
  g = C parameter(2)
  h = R parameter(3)
  zero = E[] constant(0)
  low = E[] constant(-100)
{body}
}}"
    );
    let wide = format!("{element}[{rows},{length}]");
    let words = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    let replaced = words.map(|word| {
        let name = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let rest = &word[name.len()..];
        match name {
            "E" => format!("{element}{rest}"),
            "M" => format!("{wide}{rest}"),
            "I" => format!("s32[{rows},{length}]{rest}"),
            "J" => format!("s32[{rows}]{rest}"),
            "R" => format!("{element}[{rows}]{rest}"),
            "C" => format!("{element}[{length}]{rest}"),
            _ => word.to_owned(),
        }
    });
    replaced.collect()
}

/// Compares the results of this emitter with those of the interpreter.
fn takes(text: &str, emitter: &str) {
    assert_eq!(check_by(text, emitter)[1], emitter, "{text}");
}

/// Three consecutive reductions. Roots have a value per row or per element, and some roots are in
/// the middle of the chain. One value should be kept instead of being recomputed.
const THREE: &str = "
  m = R reduce(x, low), dimensions={1}, to_apply=max
  mb = M broadcast(m), dimensions={0}
  d = M subtract(mb, x)
  f = M add(d, y)
  s = R reduce(f, zero), dimensions={1}, to_apply=add
  t = R subtract(s, m)
  u = R add(t, h)
  ub = M broadcast(u), dimensions={0}
  gb = M broadcast(g), dimensions={1}
  e = M multiply(d, gb)
  p = M subtract(e, ub)
  n = R reduce(p, low), dimensions={1}, to_apply=max
  nb = M broadcast(n), dimensions={0}
  o = M subtract(p, nb)
  ROOT r = (M, R, M, R) tuple(o, u, d, n)";

#[test]
fn rows_of_every_length() {
    let cases = [
        (5000, 8, "warp-normalise"),
        (3, 2, "warp-normalise"),
        (1001, 9, "warp-normalise"),
        (37, 24, "warp-normalise"),
        (70, 64, "warp-normalise"),
        (2050, 100, "warp-normalise"),
        (4500, 31, "warp-normalise"),
        (300, 127, "block-normalise"),
        (1, 1000, "block-normalise"),
        (7, 1027, "block-normalise"),
        (3, 4096, "block-normalise"),
        (2, 9000, "block-normalise"),
    ];
    for (rows, length, emitter) in cases {
        takes(&chain("s32", rows, length, THREE), emitter);
    }
}

/// Checks rows with more elements than registers can hold. The elements are first kept in shared
/// memory. In longer rows, they are recomputed.
#[test]
fn long_rows() {
    takes(&chain("s32", 2, 40_960, THREE), "block-normalise");
    takes(&chain("s32", 2, 100_000, THREE), "block-normalise");
    takes(&chain("s32", 1, 33_001, THREE), "block-normalise");
    takes(&chain("s8", 3, 30_000, THREE), "block-normalise");
}

#[test]
fn element_types() {
    for (element, length) in
        [("f64", 300), ("bf16", 72), ("f16", 33), ("u8", 256), ("s64", 2000), ("c64", 90), ("c128", 500)]
    {
        // Complex numbers have no order.
        let body = if element.starts_with('c') { THREE.replace("=max", "=add") } else { THREE.to_owned() };
        let body = if element == "u8" { body.replace("low)", "zero)") } else { body };
        let text = chain(element, 21, length, &body);
        let text = if element == "u8" { text.replace("constant(-100)", "constant(100)") } else { text };
        let [_, emitter] = check(&text);
        assert!(emitter.ends_with("-normalise"), "{emitter}\n{text}");
    }
}

/// Checks a reduction to a maximum and its index. Later operations on the row use both values.
#[test]
fn reductions_of_several_values() {
    let body = "
  i = I iota(), iota_dimension=1
  none = s32[] constant(2147483647)
  a = (R, J) reduce(x, i, low, none), dimensions={1}, to_apply=first
  v = R get-tuple-element(a), index=0
  k = J get-tuple-element(a), index=1
  vb = M broadcast(v), dimensions={0}
  kb = I broadcast(k), dimensions={0}
  c = I subtract(i, kb)
  f = M convert(c)
  d = M subtract(x, vb)
  q = M add(d, f)
  s = R reduce(q, low), dimensions={1}, to_apply=max
  ROOT t = ((R, J), M, R) tuple(a, q, s)";
    for (rows, length) in [(19, 8), (1500, 20), (5, 100), (3, 700), (2, 6000), (1, 40_000)] {
        let [_, emitter] = check(&chain("f32", rows, length, body));
        assert!(emitter.ends_with("-normalise"), "{emitter}");
    }
}

/// Checks initial values that change the result. Such a value must be combined only once, for all
/// numbers of threads.
#[test]
fn initial_values_that_matter() {
    let body = "
  five = E[] constant(5)
  s = R reduce(x, five), dimensions={1}, to_apply=add
  sb = M broadcast(s), dimensions={0}
  d = M subtract(x, sb)
  t = R reduce(d, five), dimensions={1}, to_apply=add
  ROOT r = (R, R) tuple(t, s)";
    for (rows, length) in [(9, 5), (9, 48), (300, 17), (3, 1000), (2, 5000), (2, 50_000)] {
        let [_, emitter] = check(&chain("s32", rows, length, body));
        assert!(emitter.ends_with("-normalise"), "{emitter}");
    }
}

/// Checks rows of several dimensions, chains with other dimensions, and chains that only have a
/// result per row.
#[test]
fn rows_of_several_dimensions() {
    let body = "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }
fusion {
  x = f32[3,4,5,6] parameter(0)
  g = f32[6] parameter(1)
  zero = f32[] constant(0)
  s = f32[3,4] reduce(x, zero), dimensions={2,3}, to_apply=add
  f = f32[12] reshape(s)
  n = f32[12] negate(f)
  cb = f32[12,30] broadcast(n), dimensions={0}
  y = f32[12,30] reshape(x)
  d = f32[12,30] subtract(y, cb)
  z = f32[3,4,5,6] reshape(d)
  gb = f32[3,4,5,6] broadcast(g), dimensions={3}
  e = f32[3,4,5,6] multiply(z, gb)
  t = f32[3,4] reduce(e, zero), dimensions={2,3}, to_apply=add
  ROOT r = (f32[12], f32[3,4], f32[12,30]) tuple(f, t, d)
}";
    takes(body, "warp-normalise");
}

/// Compares results with those of the interpreter, for values between -2 and 2. They may differ by
/// a few units in the last place.
fn close(element: &str, rows: i64, length: i64, body: &str) {
    let text = chain(element, rows, length, body);
    let tolerance = match element {
        "f64" => 1e-13,
        "f32" => 4e-6,
        "f16" => 4e-3,
        _ => 4e-2,
    };
    // Multiples of 1/64 between -2 and 2.
    let value = |position, seed| scattered(position, seed, 257) / 64.0 - 2.0;
    let inputs = inputs(&text, |shape, seed| filled(shape, |position| value(position, seed))).unwrap();
    let made = compiler().compared(&text, [Machine::simt()], &inputs, Closeness::Within(tolerance));
    made.unwrap_or_else(|failure| panic!("{failure}"));
}

/// An emitter that plans with given knobs.
struct Set {
    inner: &'static dyn Emitter,
    knobs: Configuration,
}

impl Emitter for Set {
    fn descriptor(&self) -> Descriptor {
        Descriptor { name: "set".into(), ..self.inner.descriptor() }
    }

    fn consider(&self, _: &Fusion, _: &DeviceDescription) -> Verdict {
        Verdict::Accept
    }

    fn plan(&self, fusion: &Fusion, device: &DeviceDescription, _: &Configuration) -> Result<Plan, EmitError> {
        self.inner.plan(fusion, device, &self.knobs)
    }

    fn emit(&self, fusion: &Fusion, device: &DeviceDescription, plan: &Plan) -> Result<Kernel, EmitError> {
        self.inner.emit(fusion, device, plan)
    }
}

/// Checks that results are the same for all knobs. The alternatives together must use every kind of
/// storage for elements.
#[test]
fn alternatives_are_right() {
    let device = DeviceDescription::simt();
    let mut places = Vec::new();
    for (name, rows, length) in [
        ("warp-normalise", 70, 24),
        ("warp-normalise", 300, 33),
        ("warp-normalise", 5, 512),
        ("block-normalise", 3, 100),
        ("block-normalise", 7, 1001),
        ("block-normalise", 2, 9000),
        ("block-normalise", 2, 20_000),
    ] {
        let text = chain("s32", rows, length, THREE);
        let inputs = inputs(&text, |shape, _| filled(shape, |i| (i * 7919 % 23) as f64 - 9.0)).unwrap();
        let inner = named(emitters(), name).unwrap();
        let plan = inner.plan(&assertions::fusion(&text), &device, &Configuration::default()).unwrap();
        assert!(!plan.alternatives.is_empty(), "{plan:?}");
        for knobs in plan.alternatives {
            places.push(knobs.0["keep"]);
            let registry = Registry::new(vec![Box::new(Set { inner, knobs: knobs.clone() })]).unwrap();
            let made = Compiler::of(registry, Vec::new()).compared(&text, [Machine::simt()], &inputs, Closeness::Bits);
            made.unwrap_or_else(|failure| panic!("{name} with {knobs:?}: {failure}"));
        }
    }
    assert!((0..3).all(|place| places.contains(&place)), "{places:?}");
}

const SOFTMAX: &str = "
  m = R reduce(x, low), dimensions={1}, to_apply=max
  mb = M broadcast(m), dimensions={0}
  d = M subtract(x, mb)
  e = M exponential(d)
  s = R reduce(e, zero), dimensions={1}, to_apply=add
  sb = M broadcast(s), dimensions={0}
  ROOT r = M divide(e, sb)";

const LOG_SOFTMAX: &str = "
  m = R reduce(x, low), dimensions={1}, to_apply=max
  mb = M broadcast(m), dimensions={0}
  d = M subtract(x, mb)
  e = M exponential(d)
  s = R reduce(e, zero), dimensions={1}, to_apply=add
  l = R log(s)
  lb = M broadcast(l), dimensions={0}
  ROOT r = M subtract(d, lb)";

const SOFTMAX_GRADIENT: &str = "
  p = M multiply(x, y)
  s = R reduce(p, zero), dimensions={1}, to_apply=add
  sb = M broadcast(s), dimensions={0}
  d = M subtract(x, sb)
  q = M multiply(d, y)
  t = R reduce(q, zero), dimensions={1}, to_apply=add
  tb = M broadcast(t), dimensions={0}
  o = M subtract(q, tb)
  n = E[] constant(0.001)
  nb = M broadcast(n), dimensions={}
  ROOT r = M multiply(o, nb)";

const VARIANCE: &str = "
  n = E[] constant(LENGTH)
  nb = R broadcast(n), dimensions={}
  s = R reduce(x, zero), dimensions={1}, to_apply=add
  m = R divide(s, nb)
  mb = M broadcast(m), dimensions={0}
  d = M subtract(x, mb)
  q = M multiply(d, d)
  t = R reduce(q, zero), dimensions={1}, to_apply=add
  ROOT v = R divide(t, nb)";

const LAYER_NORM: &str = "
  n = E[] constant(LENGTH)
  nb = R broadcast(n), dimensions={}
  z = M add(x, y)
  s = R reduce(z, zero), dimensions={1}, to_apply=add
  m = R divide(s, nb)
  mb = M broadcast(m), dimensions={0}
  d = M subtract(z, mb)
  q = M multiply(d, d)
  t = R reduce(q, zero), dimensions={1}, to_apply=add
  v = R divide(t, nb)
  small = E[] constant(0.01)
  eb = R broadcast(small), dimensions={}
  w = R add(v, eb)
  i = R rsqrt(w)
  ib = M broadcast(i), dimensions={0}
  o = M multiply(d, ib)
  gb = M broadcast(g), dimensions={1}
  p = M multiply(o, gb)
  ROOT r = (M, M, R) tuple(p, z, i)";

const RMS_NORM: &str = "
  n = E[] constant(LENGTH)
  nb = R broadcast(n), dimensions={}
  q = M multiply(x, x)
  t = R reduce(q, zero), dimensions={1}, to_apply=add
  v = R divide(t, nb)
  i = R rsqrt(v)
  ib = M broadcast(i), dimensions={0}
  o = M multiply(x, ib)
  gb = M broadcast(g), dimensions={1}
  ROOT p = M multiply(o, gb)";

#[test]
fn normalisations() {
    let shapes = [(100, 8), (1, 63), (33, 128), (2112, 65), (5, 1000), (3, 4100), (2, 20_000)];
    for body in [SOFTMAX, LOG_SOFTMAX, VARIANCE, LAYER_NORM, RMS_NORM] {
        for (rows, length) in shapes {
            close("f32", rows, length, &body.replace("LENGTH", &length.to_string()));
        }
        for (rows, length) in [(20, 40), (3, 600)] {
            close("f64", rows, length, &body.replace("LENGTH", &length.to_string()));
        }
        // The errors of sums in these types grow with the length.
        close("bf16", 20, 24, &body.replace("LENGTH", "24"));
        close("f16", 20, 24, &body.replace("LENGTH", "24"));
    }
    for (rows, length) in [(100, 8), (33, 128), (5, 200)] {
        close("f64", rows, length, SOFTMAX_GRADIENT);
    }
}
