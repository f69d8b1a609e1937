//! Expands `scan` to a loop. Its state holds the number of finished steps, the inputs, the outputs
//! so far, and the carries.

use fusebox_core::hlo::{ArrayShape, Instruction, Module, Op, Shape, print_module};

use super::{array, list, plain, zero};
use crate::host_module;

/// The arrays of the loop's state in order. Before these arrays, the state has an element that
/// counts the finished steps.
struct ScanState<'a> {
    inputs: Vec<&'a ArrayShape>,
    outputs: Vec<&'a ArrayShape>,
    carries: Vec<&'a ArrayShape>,
    dimension: usize,
    length: i64,
    is_reverse: bool,
}

/// Returns the text of the expansion: a module with the same operands and results as the scan.
pub fn text(module: &Module, scan: &Instruction, operands: &[Shape], results: &[Shape]) -> Result<String, String> {
    let Op::Scan { dimension, num_carries, is_reverse, to_apply, .. } = scan.op else {
        return Err("a scan that is none".into());
    };
    let arrays = |shapes: &[Shape]| shapes.iter().all(|shape| shape.as_array().is_some());
    let carried = usize::try_from(num_carries).unwrap_or(usize::MAX);
    let split = |all: &[Shape]| all.len().checked_sub(carried).filter(|_| arrays(all));
    let (Some(inputs), Some(outputs)) = (split(operands), split(results)) else {
        return Err("scan takes and gives arrays, the last of them carries".into());
    };
    let of = |shapes: &'_ [Shape]| shapes.iter().filter_map(Shape::as_array).cloned().collect::<Vec<_>>();
    let (given, made) = (of(operands), of(results));
    let first = given[..inputs].first().or(made[..outputs].first());
    let dimension = usize::try_from(dimension).map_err(|_| "a scan along a negative dimension".to_owned())?;
    let length = first.and_then(|array| array.dims.get(dimension)).copied();
    let length = length.ok_or("scan has neither inputs nor outputs, so it has no length")?;
    let parts = ScanState {
        inputs: given[..inputs].iter().collect(),
        outputs: made[..outputs].iter().collect(),
        carries: given[inputs..].iter().collect(),
        dimension,
        length,
        is_reverse,
    };
    let fits = |array: &&ArrayShape| array.dims.get(dimension) == Some(&length);
    if !parts.inputs.iter().chain(&parts.outputs).all(fits) {
        return Err("the inputs and outputs of a scan differ in length".into());
    }
    // The computations that the scan calls, without the entry.
    let mut called = host_module::of(module, scan, operands);
    called.computations.pop();
    called.entry = None;
    let applied = &module.computation(to_apply).name;
    Ok(print_module(&called) + &parts.condition() + &parts.body(applied, results) + &parts.entry(scan, results))
}

impl ScanState<'_> {
    fn state(&self) -> String {
        let all = self.inputs.iter().chain(&self.outputs).chain(&self.carries).map(|shape| plain(shape));
        format!("(s64[], {})", all.collect::<Vec<_>>().join(", "))
    }

    /// Returns the dimensions of the part of an array that one step of the scan uses: first with
    /// the scanned dimension, which has size 1, then without this dimension.
    fn step(&self, shape: &ArrayShape) -> (Vec<i64>, Vec<i64>) {
        let (mut slice, mut element) = (shape.dims.clone(), shape.dims.clone());
        slice[self.dimension] = 1;
        element.remove(self.dimension);
        (slice, element)
    }

    fn starts(&self, shape: &ArrayShape) -> String {
        let start = |dim: usize| if dim == self.dimension { "at" } else { "zero" };
        (0..shape.rank()).map(start).collect::<Vec<_>>().join(", ")
    }

    fn condition(&self) -> String {
        format!(
            "scan_condition {{
  s = {} parameter(0)
  i = s64[] get-tuple-element(s), index=0
  n = s64[] constant({})
  ROOT r = pred[] compare(i, n), direction=LT
}}
",
            self.state(),
            self.length
        )
    }

    fn body(&self, applied: &str, results: &[Shape]) -> String {
        let state = self.state();
        let at = if self.is_reverse {
            format!("  last = s64[] constant({})\n  at = s64[] subtract(last, i)\n", self.length - 1)
        } else {
            "  at = s64[] copy(i)\n".into()
        };
        let mut text = format!(
            "scan_body {{
  s = {state} parameter(0)
  i = s64[] get-tuple-element(s), index=0
  one = s64[] constant(1)
  zero = s64[] constant(0)
  next = s64[] add(i, one)
{at}"
        );
        let element = |text: &mut String, name: &str, number: usize, shape: &ArrayShape, place: usize| {
            *text += &format!("  {name}{number} = {} get-tuple-element(s), index={place}\n", plain(shape));
        };
        let mut arguments = Vec::new();
        let mut state_after = vec!["next".to_owned()];
        for (number, shape) in self.inputs.iter().enumerate() {
            let (slice, one) = self.step(shape);
            let (ty, starts) = (shape.element_type, self.starts(shape));
            element(&mut text, "in", number, shape, 1 + number);
            text += &format!(
                "  slice{number} = {} dynamic-slice(in{number}, {starts}), dynamic_slice_sizes={{{}}}\n",
                array(ty, &slice),
                list(&slice)
            );
            text += &format!("  x{number} = {} reshape(slice{number})\n", array(ty, &one));
            arguments.push(format!("x{number}"));
            state_after.push(format!("in{number}"));
        }
        let first_carry = 1 + self.inputs.len() + self.outputs.len();
        for (number, shape) in self.carries.iter().enumerate() {
            element(&mut text, "carry", number, shape, first_carry + number);
            arguments.push(format!("carry{number}"));
        }
        let of_step = |(number, shape): (usize, &Shape)| match (shape.as_array(), number < self.outputs.len()) {
            (Some(array_shape), true) => array(array_shape.element_type, &self.step(array_shape).1),
            (Some(array_shape), false) => plain(array_shape),
            (None, _) => shape.to_string(),
        };
        let made: Vec<String> = results.iter().enumerate().map(of_step).collect();
        text += &format!("  r = ({}) call({}), to_apply={applied}\n", made.join(", "), arguments.join(", "));
        for (number, shape) in self.outputs.iter().enumerate() {
            let (slice, one) = self.step(shape);
            let (ty, starts) = (shape.element_type, self.starts(shape));
            element(&mut text, "out", number, shape, 1 + self.inputs.len() + number);
            text += &format!("  y{number} = {} get-tuple-element(r), index={number}\n", array(ty, &one));
            text += &format!("  part{number} = {} reshape(y{number})\n", array(ty, &slice));
            text += &format!(
                "  next_out{number} = {} dynamic-update-slice(out{number}, part{number}, {starts})\n",
                plain(shape)
            );
            state_after.push(format!("next_out{number}"));
        }
        for (number, shape) in self.carries.iter().enumerate() {
            let place = self.outputs.len() + number;
            text += &format!("  next_carry{number} = {} get-tuple-element(r), index={place}\n", plain(shape));
            state_after.push(format!("next_carry{number}"));
        }
        text + &format!("  ROOT t = {state} tuple({})\n}}\n", state_after.join(", "))
    }

    fn entry(&self, scan: &Instruction, results: &[Shape]) -> String {
        let state = self.state();
        let mut text = String::from("ENTRY e {\n  zero = s64[] constant(0)\n");
        let given = self.inputs.iter().chain(&self.carries).enumerate();
        given.for_each(|(number, shape)| text += &format!("  p{number} = {} parameter({number})\n", plain(shape)));
        for (number, shape) in self.outputs.iter().enumerate() {
            let ty = shape.element_type;
            text += &format!("  zero{number} = {ty}[] constant({})\n", zero(ty));
            text += &format!("  out{number} = {} broadcast(zero{number}), dimensions={{}}\n", plain(shape));
        }
        let inputs = (0..self.inputs.len()).map(|number| format!("p{number}"));
        let outputs = (0..self.outputs.len()).map(|number| format!("out{number}"));
        let carries = (self.inputs.len()..scan.operands.len()).map(|number| format!("p{number}"));
        let start: Vec<String> = ["zero".to_owned()].into_iter().chain(inputs).chain(outputs).chain(carries).collect();
        text += &format!("  t = {state} tuple({})\n", start.join(", "));
        text += &format!("  w = {state} while(t), condition=scan_condition, body=scan_body\n");
        let shapes: Vec<String> = results.iter().filter_map(Shape::as_array).map(plain).collect();
        for (number, shape) in shapes.iter().enumerate() {
            let place = 1 + self.inputs.len() + number;
            text += &format!("  r{number} = {shape} get-tuple-element(w), index={place}\n");
        }
        let names: Vec<String> = (0..shapes.len()).map(|number| format!("r{number}")).collect();
        text + &format!("  ROOT r = ({}) tuple({})\n}}\n", shapes.join(", "), names.join(", "))
    }
}
