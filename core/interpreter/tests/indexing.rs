//! Indexing maps against what the interpreter computes: an output element depends on exactly those input
//! elements that its maps name. Each input element is changed in turn, and the outputs that change are compared.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use fusebox_core::hlo::{ArrayLiteral, ArrayShape, ElementType, Literal, Module, parse_module, verify};
use fusebox_core::indexing::{Indexing, Reading, fusion_maps};
use fusebox_interpreter::evaluate;

/// Whether the maps of a parameter are exact, or may name elements that happen not to matter.
#[derive(Clone, Copy, PartialEq)]
enum Precision {
    Exact,
    AtLeast,
}
use Precision::{AtLeast, Exact};

/// Positive, so that no product hides a change; different, so that moving is seen.
fn input(shape: &ArrayShape, seed: i64) -> Vec<i64> {
    (0..shape.element_count()).map(|i| (i * 7 + seed * 5) % 11 + 1).collect()
}

fn literal(shape: &ArrayShape, values: &[i64]) -> Literal {
    let bytes: Vec<u8> = match shape.element_type {
        ElementType::F32 => values.iter().flat_map(|&v| (v as f32).to_le_bytes()).collect(),
        ElementType::S32 => values.iter().flat_map(|&v| (v as i32).to_le_bytes()).collect(),
        other => panic!("no inputs of {other:?}"),
    };
    Literal::Array(ArrayLiteral::new(shape.element_type, shape.dims.clone(), bytes).unwrap())
}

fn index(mut position: usize, dims: &[i64]) -> Vec<i64> {
    let mut index = vec![0; dims.len()];
    for (i, &size) in index.iter_mut().zip(dims).rev() {
        *i = position as i64 % size;
        position /= size as usize;
    }
    index
}

fn position(index: &[i64], dims: &[i64]) -> usize {
    index.iter().zip(dims).fold(0, |position, (i, size)| position * *size as usize + *i as usize)
}

struct Case {
    module: Module,
    shapes: Vec<ArrayShape>,
    inputs: Vec<Vec<i64>>,
}

impl Case {
    fn new(text: &str, integers: &[i64]) -> Case {
        let module = parse_module(&format!("HloModule case\n{text}"), "case.hlo").unwrap();
        assert_eq!(verify(&module), Ok(()), "{text}");
        let entry = module.entry_computation().unwrap();
        let parameters = entry.parameters();
        let shapes: Vec<ArrayShape> =
            parameters.iter().map(|id| entry.instruction(*id).shape.as_array().unwrap().clone()).collect();
        let mut integers = integers.iter().copied().cycle();
        let mut inputs = Vec::new();
        for (seed, shape) in shapes.iter().enumerate() {
            inputs.push(match shape.element_type {
                ElementType::S32 => (0..shape.element_count()).map(|_| integers.next().unwrap()).collect(),
                _ => input(shape, seed as i64),
            });
        }
        Case { module, shapes, inputs }
    }

    fn run(&self, inputs: &[Vec<i64>]) -> Vec<Vec<u8>> {
        let literals: Vec<Literal> = self.shapes.iter().zip(inputs).map(|(s, v)| literal(s, v)).collect();
        let result = evaluate(&self.module, &literals).unwrap();
        let array = result.as_array().unwrap().clone();
        array.data.chunks(array.element_type.byte_size()).map(<[u8]>::to_vec).collect()
    }

    /// The values of a map's runtime variables at a point: elements of parameters, clamped.
    fn runtime(&self, reading: &Reading, dims: &[i64], ranges: &[i64]) -> Vec<i64> {
        let entry = self.module.entry_computation().unwrap();
        let mut values = Vec::new();
        for (value, variable) in reading.runtime.iter().zip(&reading.map.runtime) {
            let parameter = entry.parameters().iter().position(|id| *id == value.instruction).unwrap();
            let at: Vec<i64> = value.index.iter().map(|e| e.eval(dims, ranges, &values)).collect();
            let read = self.inputs[parameter][position(&at, &self.shapes[parameter].dims)];
            values.push(read.clamp(variable.bounds.lower, variable.bounds.upper));
        }
        values
    }

    /// Pairs (input element, output element) that the maps of a parameter name.
    fn promised(&self, parameter: usize, readings: &[Reading], output: &[i64]) -> BTreeSet<(usize, usize)> {
        let mut pairs = BTreeSet::new();
        for reading in readings {
            let _ = reading.map.for_each_point(|point| {
                let runtime = self.runtime(reading, point.dims, point.ranges);
                if runtime == point.runtime {
                    let read = position(point.results, &self.shapes[parameter].dims);
                    pairs.insert((read, position(point.dims, output)));
                }
                ControlFlow::Continue(())
            });
        }
        pairs
    }

    /// Pairs that a change of the input shows.
    fn observed(&self, parameter: usize) -> BTreeSet<(usize, usize)> {
        let base = self.run(&self.inputs);
        let mut pairs = BTreeSet::new();
        for element in 0..self.inputs[parameter].len() {
            for change in [1000, 1] {
                let mut inputs = self.inputs.clone();
                inputs[parameter][element] += change;
                let changed = self.run(&inputs);
                let differ = (0..base.len()).filter(|&i| base[i] != changed[i]);
                pairs.extend(differ.map(|output| (element, output)));
            }
        }
        pairs
    }
}

/// Checks the maps of all parameters. `integers` fill integer parameters, which may be indices.
#[track_caller]
fn check(text: &str, integers: &[i64], precision: &[Precision]) {
    let case = Case::new(text, integers);
    let entry = case.module.entry.unwrap();
    let maps = fusion_maps(&case.module, entry);
    let output = case.module.computation(entry).root_instruction().shape.as_array().unwrap().dims.clone();
    assert_eq!(maps[0].parameters.len(), precision.len());
    for (parameter, (indexing, precision)) in maps[0].parameters.iter().zip(precision).enumerate() {
        let Indexing::Known(readings) = indexing else { panic!("{indexing:?}") };
        let promised = case.promised(parameter, readings, &output);
        let observed = case.observed(parameter);
        let missing = observed.difference(&promised).next();
        let name = |pair: &(usize, usize)| {
            format!("input {:?}, output {:?}", index(pair.0, &case.shapes[parameter].dims), index(pair.1, &output))
        };
        assert!(missing.is_none(), "{text}\nparameter {parameter}: not in {readings:?}: {}", name(missing.unwrap()));
        if *precision == Exact {
            let idle = promised.difference(&observed).next();
            assert!(
                idle.is_none(),
                "{text}\nparameter {parameter}: no effect: {} in {readings:?}",
                name(idle.unwrap())
            );
        }
    }
}

const ADD: &str = "add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, y) }\n";

#[test]
fn moving_elements() {
    for body in [
        "a = f32[3] parameter(0) ROOT b = f32[2,3,4] broadcast(a), dimensions={1}",
        "a = f32[2,3,4] parameter(0) ROOT b = f32[4,2,3] transpose(a), dimensions={2,0,1}",
        "a = f32[2,3,4] parameter(0) ROOT b = f32[2,3,4] reverse(a), dimensions={0,2}",
        "a = f32[10,7] parameter(0) ROOT b = f32[5,2] slice(a), slice={[1:10:2], [3:7:3]}",
        "a = f32[6,4] parameter(0) ROOT b = f32[8,3] reshape(a)",
        "a = f32[2,6,5] parameter(0) ROOT b = f32[3,4,1,5] reshape(a)",
        "a = f32[4,6]{0,1} parameter(0) c = f32[4,6]{0,1} negate(a) ROOT b = f32[6,4]{1,0} bitcast(c)",
        "a = f32[2,3,4]{1,0,2} parameter(0) ROOT b = f32[8,3]{0,1} bitcast(a)",
    ] {
        check(&format!("ENTRY e {{ {body} }}"), &[], &[Exact]);
    }
    check(
        "ENTRY e { a = f32[4,3] parameter(0) z = f32[] parameter(1) ROOT b = f32[9,6] pad(a, z), padding=1_1_1x4_-1_0 }",
        &[],
        &[Exact, AtLeast],
    );
    check(
        "ENTRY e { a = f32[2,3] parameter(0) b = f32[2,1] parameter(1) c = f32[2,4] parameter(2) \
         ROOT d = f32[2,8] concatenate(a, b, c), dimensions={1} }",
        &[],
        &[Exact, Exact, Exact],
    );
}

#[test]
fn reductions_windows_and_products() {
    let reduce = "a = f32[2,3,4] parameter(0) z = f32[] parameter(1) ROOT b = f32[3] reduce(a, z), dimensions={0,2}, to_apply=add";
    let window = "a = f32[7,5] parameter(0) z = f32[] parameter(1) ROOT b = f32[4,3] reduce-window(a, z), \
                  window={size=3x2 stride=2x1 pad=1_1x0_0 rhs_dilate=1x2}, to_apply=add";
    let dilated = "a = f32[4] parameter(0) z = f32[] parameter(1) ROOT b = f32[6] reduce-window(a, z), \
                   window={size=3 pad=1_0 lhs_dilate=2}, to_apply=add";
    for body in [reduce, window, dilated] {
        check(&format!("{ADD}ENTRY e {{ {body} }}"), &[], &[Exact, Exact]);
    }
    for body in [
        "a = f32[2,3,4] parameter(0) b = f32[4,2,5] parameter(1) ROOT c = f32[2,3,5] dot(a, b), lhs_batch_dims={0}, \
         lhs_contracting_dims={2}, rhs_batch_dims={1}, rhs_contracting_dims={0}",
        "a = f32[1,6,4] parameter(0) b = f32[3,4,2] parameter(1) ROOT c = f32[1,3,2] convolution(a, b), \
         window={size=3 stride=2 pad=1_0}, dim_labels=b0f_0io->b0f",
        "a = f32[2,5,6] parameter(0) b = f32[3,2,9] parameter(1) ROOT c = f32[2,7,9] convolution(a, b), \
         window={size=3 pad=0_0 lhs_dilate=2 rhs_reversal=1}, dim_labels=b0f_0io->b0f, feature_group_count=3",
        "a = f32[4,5,2] parameter(0) b = f32[2,2,6] parameter(1) ROOT c = f32[2,3,6] convolution(a, b), \
         window={size=2 rhs_dilate=2}, dim_labels=b0f_0io->b0f, batch_group_count=2",
    ] {
        check(&format!("ENTRY e {{ {body} }}"), &[], &[Exact, Exact]);
    }
    check(
        "ENTRY e { a = f32[1,2,4,3] parameter(0) b = f32[3,2,2,2] parameter(1) ROOT c = f32[1,3,3,3] convolution(a, b), \
         window={size=2x2 pad=0_0x1_0}, dim_labels=bf01_oi01->bf01 }",
        &[],
        &[Exact, Exact],
    );
}

#[test]
fn indices_known_at_run_time() {
    // Indices beyond the end are clamped.
    for indices in [[0, 1, 2, 0], [5, 3, 9, -4]] {
        check(
            "ENTRY e { a = f32[8,5] parameter(0) i = s32[] parameter(1) j = s32[] parameter(2) \
             ROOT b = f32[3,2] dynamic-slice(a, i, j), dynamic_slice_sizes={3,2} }",
            &indices,
            &[Exact, AtLeast, AtLeast],
        );
        check(
            "ENTRY e { a = f32[8] parameter(0) u = f32[3] parameter(1) i = s32[] parameter(2) \
             ROOT b = f32[8] dynamic-update-slice(a, u, i) }",
            &indices[1..],
            &[AtLeast, Exact, AtLeast],
        );
        check(
            "ENTRY e { a = f32[3,7,6] parameter(0) i = s32[4,2] parameter(1) ROOT b = f32[4,2,3] gather(a, i), \
             offset_dims={1,2}, collapsed_slice_dims={0}, start_index_map={0,2}, index_vector_dim=1, slice_sizes={1,2,3} }",
            &indices,
            &[Exact, AtLeast],
        );
        check(
            "ENTRY e { a = f32[5,4] parameter(0) i = s32[2,3] parameter(1) ROOT b = f32[2,2,3] gather(a, i), \
             offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=2, slice_sizes={1,2} }",
            &indices,
            &[Exact, AtLeast],
        );
        check(
            "ENTRY e { a = f32[2,9] parameter(0) i = s32[5,2] parameter(1) ROOT b = f32[5,2] gather(a, i), offset_dims={}, \
             collapsed_slice_dims={1}, start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={1}, \
             index_vector_dim=2, slice_sizes={1,1} }",
            &indices,
            &[Exact, AtLeast],
        );
    }
}

#[test]
fn whole_fusions() {
    check(
        "ENTRY e { p = f32[5,5] parameter(0) t = f32[5,5] transpose(p), dimensions={1,0} ROOT a = f32[5,5] add(p, t) }",
        &[],
        &[Exact],
    );
    check(
        &format!(
            "{ADD}ENTRY e {{ p = f32[4,6] parameter(0) zero = f32[] constant(0) s = f32[4] reduce(p, zero), dimensions={{1}}, \
             to_apply=add b = f32[4,6] broadcast(s), dimensions={{0}} d = f32[4,6] multiply(p, b) \
             r = f32[3,8] reshape(d) l = f32[3,3] slice(r), slice={{[0:3], [1:7:2]}} ROOT v = f32[3,3] reverse(l), dimensions={{1}} }}"
        ),
        &[],
        &[Exact],
    );
    // A gather from a slice of a padded array, at indices that are themselves sliced.
    check(
        "ENTRY e { a = f32[6,3] parameter(0) i = s32[7] parameter(1) zero = f32[] constant(0) \
         p = f32[9,3] pad(a, zero), padding=2_1_0x0_0_0 c = f32[6,3] slice(p), slice={[1:7], [0:3]} \
         ROOT g = f32[7,2] gather(c, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, \
         index_vector_dim=1, slice_sizes={1,2} }",
        &[0, 5, 2, 9, -1, 3, 1],
        &[Exact, AtLeast],
    );
    // Two dynamic slices, one after the other.
    check(
        "ENTRY e { a = f32[9,9] parameter(0) i = s32[] parameter(1) j = s32[] parameter(2) \
         b = f32[7,7] dynamic-slice(a, i, j), dynamic_slice_sizes={7,7} t = f32[7,7] transpose(b), dimensions={1,0} \
         ROOT c = f32[2,3] dynamic-slice(t, j, i), dynamic_slice_sizes={2,3} }",
        &[1, 4],
        &[Exact, AtLeast, AtLeast],
    );
}
