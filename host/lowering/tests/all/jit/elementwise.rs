//! Creates kernels that apply some operations to every element.

use super::{Buffer, KernelSource, compile_and_run, source};

/// Returns a kernel `name` for `count` elements. `body` computes `%r` from `%x0`, `%x1`, … and the
/// index `%i`.
pub fn kernel(name: &str, inputs: &[(&str, u64)], output: (&str, u64), count: u64, body: &str) -> KernelSource {
    let tensor = |element: &str| format!("tensor<{count}x{element}>");
    let out = tensor(output.0);
    let mut types: Vec<String> = inputs.iter().map(|(element, _)| tensor(element)).collect();
    types.push(out.clone());
    let arguments: Vec<String> = types.iter().enumerate().map(|(at, ty)| format!("%a{at}: {ty}")).collect();
    let loads: String = inputs
        .iter()
        .enumerate()
        .map(|(at, (element, _))| {
            format!("    %x{at} = \"tensor.extract\"(%a{at}, %i) : ({}, index) -> {element}\n", tensor(element))
        })
        .collect();
    let last = inputs.len();
    let text = format!(
        r#"
"func.func"() <{{function_type = ({types}) -> {out}, sym_name = "{name}"}}> ({{
^bb0({arguments}):
  %block = "gpu.block_id"() <{{dimension = #gpu<dim x>}}> : () -> index
  %result = "xla_gpu.loop"(%block, %a{last}) ({{
  ^bb1(%s: index, %i: index, %state: {out}):
{loads}    {body}
    %next = "tensor.insert"(%r, %state, %i) : ({element}, {out}, index) -> {out}
    "xla_gpu.yield"(%next) : ({out}) -> ()
  }}) {{map = "(d0)[s0] -> (d0 * {half} + s0), domain: d0 in [0, 1], s0 in [0, {end}], d0 * {half} + s0 in [0, {limit}]"}} : (index, {out}) -> {out}
  "func.return"(%result) : ({out}) -> ()
}}) {{fusebox.entry}} : () -> ()
"#,
        types = types.join(", "),
        arguments = arguments.join(", "),
        element = output.0,
        half = count.div_ceil(2),
        end = count.div_ceil(2) - 1,
        limit = count - 1,
    );
    let mut sizes: Vec<u64> = inputs.iter().map(|(_, bytes)| bytes * count).collect();
    sizes.push(output.1 * count);
    source(name, &text, &sizes, 1, 2, 1)
}

/// Applies the operations to `values`, and returns the results.
pub fn apply<A: Copy, R: Copy + Default>(from: &str, to: &str, body: &str, values: &[A]) -> Vec<R> {
    let kernel =
        kernel("unary", &[(from, size_of::<A>() as u64)], (to, size_of::<R>() as u64), values.len() as u64, body);
    let mut buffers = [Buffer::of(values), Buffer::of(&vec![R::default(); values.len()])];
    compile_and_run(&kernel, &mut buffers);
    buffers[1].values()
}

/// Applies the operations to two operands, and returns the results.
pub fn apply2<A: Copy, R: Copy + Default>(from: &str, to: &str, body: &str, left: &[A], right: &[A]) -> Vec<R> {
    let bytes = size_of::<A>() as u64;
    let count = left.len() as u64;
    let kernel = kernel("binary", &[(from, bytes), (from, bytes)], (to, size_of::<R>() as u64), count, body);
    let mut buffers = [Buffer::of(left), Buffer::of(right), Buffer::of(&vec![R::default(); left.len()])];
    compile_and_run(&kernel, &mut buffers);
    buffers[2].values()
}
