//! Checks the maps of operations and of fusions.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use fusebox_hlo::{Module, Op, parse_module};
use fusebox_indexing::{Indexing, Reading, describe, fusion_maps, input_to_output, output_to_input};

/// Parses a module with this text.
fn module(body: &str) -> Module {
    parse_module(&format!("HloModule test\n{body}"), "test.hlo").unwrap()
}

fn texts(indexing: &Indexing) -> Vec<String> {
    match indexing {
        Indexing::Known(readings) => readings.iter().map(|reading| reading.map.to_string()).collect(),
        Indexing::Unknown(reason) => vec![format!("unknown: {reason}")],
    }
}

/// Returns the maps of every operand of the entry's root.
fn of_root(module: &Module) -> Vec<Indexing> {
    let entry = module.entry.unwrap();
    output_to_input(module, entry, module.computation(entry).root, 0)
}

#[track_caller]
fn check(entry: &str, expected: &[&[&str]]) {
    let module = module(entry);
    let found: Vec<Vec<String>> = of_root(&module).iter().map(texts).collect();
    assert_eq!(found, expected, "{entry}");
    relations_agree(&module);
}

/// Enumerates a map. Returns triples of an output index, an operand index, and runtime values.
fn pairs(reading: &Reading, swapped: bool) -> BTreeSet<(Vec<i64>, Vec<i64>, Vec<i64>)> {
    let mut pairs = BTreeSet::new();
    let _ = reading.map.for_each_point(|point| {
        let (from, to) = (point.dims.to_vec(), point.results.to_vec());
        let (output, input) = if swapped { (to, from) } else { (from, to) };
        pairs.insert((output, input, point.runtime.to_vec()));
        ControlFlow::Continue(())
    });
    pairs
}

/// Checks that both directions describe the same relation.
#[track_caller]
fn relations_agree(module: &Module) {
    let entry = module.entry.unwrap();
    let root = module.computation(entry).root;
    for (operand, indexing) in of_root(module).iter().enumerate() {
        let Indexing::Known(readings) = indexing else { continue };
        let Indexing::Known(back) = input_to_output(module, entry, root, operand, 0) else { panic!("no way back") };
        let there: BTreeSet<_> = readings.iter().flat_map(|reading| pairs(reading, false)).collect();
        let back: BTreeSet<_> = back.iter().flat_map(|reading| pairs(reading, true)).collect();
        assert_eq!(there, back, "operand {operand}");
    }
}

#[test]
fn elementwise() {
    let same = "(d0, d1) -> (d0, d1), domain: d0 in [0, 3], d1 in [0, 4]";
    let scalar = "(d0, d1) -> (), domain: d0 in [0, 3], d1 in [0, 4]";
    check(
        "ENTRY e { a = f32[4,5] parameter(0) b = f32[4,5] parameter(1) ROOT c = f32[4,5] add(a, b) }",
        &[&[same], &[same]],
    );
    check(
        "ENTRY e { p = pred[] parameter(0) a = f32[4,5] parameter(1) ROOT c = f32[4,5] select(p, a, a) }",
        &[&[scalar], &[same], &[same]],
    );
    check("ENTRY e { ROOT i = s32[4] iota(), iota_dimension=0 }", &[]);
}

#[test]
fn moving_elements() {
    check(
        "ENTRY e { a = f32[3] parameter(0) ROOT b = f32[2,3,4] broadcast(a), dimensions={1} }",
        &[&["(d0, d1, d2) -> (d1), domain: d0 in [0, 1], d1 in [0, 2], d2 in [0, 3]"]],
    );
    check(
        "ENTRY e { a = f32[2,3,4] parameter(0) ROOT b = f32[4,2,3] transpose(a), dimensions={2,0,1} }",
        &[&["(d0, d1, d2) -> (d1, d2, d0), domain: d0 in [0, 3], d1 in [0, 1], d2 in [0, 2]"]],
    );
    check(
        "ENTRY e { a = f32[2,3] parameter(0) ROOT b = f32[2,3] reverse(a), dimensions={1} }",
        &[&["(d0, d1) -> (d0, d1 * -1 + 2), domain: d0 in [0, 1], d1 in [0, 2]"]],
    );
    check(
        "ENTRY e { a = f32[10,50] parameter(0) ROOT b = f32[5,20] slice(a), slice={[1:10:2], [3:43:2]} }",
        &[&["(d0, d1) -> (d0 * 2 + 1, d1 * 2 + 3), domain: d0 in [0, 4], d1 in [0, 19]"]],
    );
    check(
        "ENTRY e { a = f32[2,3] parameter(0) b = f32[2,4] parameter(1) ROOT c = f32[2,7] concatenate(a, b), dimensions={1} }",
        &[
            &["(d0, d1) -> (d0, d1), domain: d0 in [0, 1], d1 in [0, 6], d1 in [0, 2]"],
            &["(d0, d1) -> (d0, d1 - 3), domain: d0 in [0, 1], d1 in [0, 6], d1 in [3, 6]"],
        ],
    );
    check(
        "ENTRY e { a = f32[4,4] parameter(0) z = f32[] parameter(1) ROOT b = f32[12,16] pad(a, z), padding=1_4_1x4_8_0 }",
        &[
            &["(d0, d1) -> ((d0 + 1) floordiv 2 - 1, d1 - 4), domain: d0 in [0, 11], d1 in [0, 15], d0 in [1, 7], \
               d1 in [4, 7], (d0 + 1) mod 2 in [0, 0]"],
            &["(d0, d1) -> (), domain: d0 in [0, 11], d1 in [0, 15]"],
        ],
    );
    check(
        "ENTRY e { a = f32[4,4] parameter(0) z = f32[] parameter(1) ROOT b = f32[2,5] pad(a, z), padding=-1_-1x1_0 }",
        &[
            &["(d0, d1) -> (d0 + 1, d1 - 1), domain: d0 in [0, 1], d1 in [0, 4], d1 in [1, 4]"],
            &["(d0, d1) -> (), domain: d0 in [0, 1], d1 in [0, 4]"],
        ],
    );
}

#[test]
fn reshapes_and_bitcasts() {
    check(
        "ENTRY e { a = f32[4,8] parameter(0) ROOT b = f32[32] reshape(a) }",
        &[&["(d0) -> (d0 floordiv 8, d0 mod 8), domain: d0 in [0, 31]"]],
    );
    check(
        "ENTRY e { a = f32[32] parameter(0) ROOT b = f32[4,1,8] reshape(a) }",
        &[&["(d0, d1, d2) -> (d0 * 8 + d2), domain: d0 in [0, 3], d1 in [0, 0], d2 in [0, 7]"]],
    );
    check(
        "ENTRY e { a = f32[4,8,12] parameter(0) ROOT b = f32[32,3,4] reshape(a) }",
        &[&[
            "(d0, d1, d2) -> (d0 floordiv 8, d0 mod 8, d1 * 4 + d2), domain: d0 in [0, 31], d1 in [0, 2], d2 in [0, 3]",
        ]],
    );
    check(
        "ENTRY e { a = f32[6,4] parameter(0) ROOT b = f32[8,3] reshape(a) }",
        &[&["(d0, d1) -> ((d0 * 3 + d1) floordiv 4, (d0 * 3 + d1) mod 4), domain: d0 in [0, 7], d1 in [0, 2]"]],
    );
    check(
        "ENTRY e { a = f32[4,6]{0,1} parameter(0) ROOT b = f32[6,4]{1,0} bitcast(a) }",
        &[&["(d0, d1) -> (d1, d0), domain: d0 in [0, 5], d1 in [0, 3]"]],
    );
    check(
        "ENTRY e { a = f32[2,3,4]{1,0,2} parameter(0) ROOT b = f32[8,3]{1,0} bitcast(a) }",
        &[&["(d0, d1) -> (d0 mod 2, d1, d0 floordiv 2), domain: d0 in [0, 7], d1 in [0, 2]"]],
    );
    check(
        "ENTRY e { a = u8[3,4] parameter(0) ROOT b = u32[3] bitcast-convert(a) }",
        &[&["(d0)[s0] -> (d0, s0), domain: d0 in [0, 2], s0 in [0, 3]"]],
    );
}

const ADD: &str = "add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, y) }\n";

#[test]
fn reductions_and_windows() {
    check(
        &format!(
            "{ADD}ENTRY e {{ a = f32[2,3,4] parameter(0) z = f32[] parameter(1) \
                  ROOT b = f32[3] reduce(a, z), dimensions={{0,2}}, to_apply=add }}"
        ),
        &[
            &["(d0)[s0, s1] -> (s0, d0, s1), domain: d0 in [0, 2], s0 in [0, 1], s1 in [0, 3]"],
            &["(d0) -> (), domain: d0 in [0, 2]"],
        ],
    );
    check(
        &format!(
            "{ADD}ENTRY e {{ a = f32[7,5] parameter(0) z = f32[] parameter(1) \
                  ROOT b = f32[4,5] reduce-window(a, z), window={{size=3x1 stride=2x1 pad=1_1x0_0}}, to_apply=add }}"
        ),
        &[
            &["(d0, d1)[s0] -> (d0 * 2 + s0 - 1, d1), domain: d0 in [0, 3], d1 in [0, 4], s0 in [0, 2], \
               d0 * 2 + s0 in [1, 7]"],
            &["(d0, d1) -> (), domain: d0 in [0, 3], d1 in [0, 4]"],
        ],
    );
    check(
        &format!(
            "{ADD}ENTRY e {{ a = f32[4] parameter(0) z = f32[] parameter(1) \
                  ROOT b = f32[5] reduce-window(a, z), window={{size=3 lhs_dilate=2}}, to_apply=add }}"
        ),
        &[
            &["(d0)[s0] -> ((d0 + s0) floordiv 2), domain: d0 in [0, 4], s0 in [0, 2], (d0 + s0) mod 2 in [0, 0]"],
            &["(d0) -> (), domain: d0 in [0, 4]"],
        ],
    );
    check(
        "less { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = pred[] compare(x, y), direction=LT }\n\
         ENTRY e { a = f32[3,4] parameter(0) ROOT b = f32[3,4] sort(a), dimensions={1}, to_apply=less }",
        &[&["(d0, d1)[s0] -> (d0, s0), domain: d0 in [0, 2], d1 in [0, 3], s0 in [0, 3]"]],
    );
}

#[test]
fn contractions() {
    check(
        "ENTRY e { a = f32[4,38,17,11,18,10] parameter(0) b = f32[17,10,16,18,22,38] parameter(1) \
         ROOT c = f32[10,38,4,11,16,22] dot(a, b), lhs_contracting_dims={2,4}, rhs_contracting_dims={0,3}, \
         lhs_batch_dims={5,1}, rhs_batch_dims={1,5} }"
            .replace("17", "2")
            .replace("38", "3")
            .replace("18", "2")
            .replace("22", "2")
            .replace("16", "2")
            .replace("11", "2")
            .as_str(),
        &[
            &["(d0, d1, d2, d3, d4, d5)[s0, s1] -> (d2, d1, s0, d3, s1, d0), domain: d0 in [0, 9], d1 in [0, 2], \
               d2 in [0, 3], d3 in [0, 1], d4 in [0, 1], d5 in [0, 1], s0 in [0, 1], s1 in [0, 1]"],
            &["(d0, d1, d2, d3, d4, d5)[s0, s1] -> (s0, d0, d4, s1, d5, d1), domain: d0 in [0, 9], d1 in [0, 2], \
               d2 in [0, 3], d3 in [0, 1], d4 in [0, 1], d5 in [0, 1], s0 in [0, 1], s1 in [0, 1]"],
        ],
    );
    check(
        "ENTRY e { a = f32[1,6,4] parameter(0) k = f32[3,4,2] parameter(1) \
         ROOT c = f32[1,3,2] convolution(a, k), window={size=3 stride=2 pad=1_0}, dim_labels=b0f_0io->b0f }",
        &[
            &["(d0, d1, d2)[s0, s1] -> (0, d1 * 2 + s0 - 1, s1), domain: d0 in [0, 0], d1 in [0, 2], d2 in [0, 1], \
               s0 in [0, 2], s1 in [0, 3], d1 * 2 + s0 in [1, 6]"],
            &["(d0, d1, d2)[s0, s1] -> (s0, s1, d2), domain: d0 in [0, 0], d1 in [0, 2], d2 in [0, 1], s0 in [0, 2], \
                 s1 in [0, 3], d1 * 2 + s0 in [1, 6]"],
        ],
    );
    check(
        "ENTRY e { a = f32[2,5,6] parameter(0) k = f32[3,2,9] parameter(1) ROOT c = f32[2,7,9] convolution(a, k), \
         window={size=3 pad=0_0 lhs_dilate=2 rhs_reversal=1}, dim_labels=b0f_0io->b0f, feature_group_count=3 }",
        &[
            &["(d0, d1, d2)[s0, s1] -> (d0, (d1 + s0) floordiv 2, s1 + (d2 floordiv 3) * 2), domain: d0 in [0, 1], \
               d1 in [0, 6], d2 in [0, 8], s0 in [0, 2], s1 in [0, 1], (d1 + s0) mod 2 in [0, 0]"],
            &["(d0, d1, d2)[s0, s1] -> (s0 * -1 + 2, s1, d2), domain: d0 in [0, 1], d1 in [0, 6], d2 in [0, 8], \
               s0 in [0, 2], s1 in [0, 1], (d1 + s0) mod 2 in [0, 0]"],
        ],
    );
}

#[test]
fn indices_known_at_run_time() {
    let slice = "ENTRY e { a = f32[8,5] parameter(0) i = s32[] parameter(1) j = s32[] constant(7) \
                 ROOT b = f32[3,2] dynamic-slice(a, i, j), dynamic_slice_sizes={3,2} }";
    check(
        slice,
        &[
            &["(d0, d1){rt0} -> (d0 + rt0, d1 + 3), domain: d0 in [0, 2], d1 in [0, 1], rt0 in [0, 5]"],
            &["(d0, d1) -> (), domain: d0 in [0, 2], d1 in [0, 1]"],
            &["(d0, d1) -> (), domain: d0 in [0, 2], d1 in [0, 1]"],
        ],
    );
    let module = module(slice);
    let Indexing::Known(readings) = &of_root(&module)[0] else { panic!() };
    let value = &readings[0].runtime[0];
    assert_eq!(module.computation(value.computation.unwrap()).instruction(value.instruction).name, "i");
    assert!(value.index.is_empty());

    check(
        "ENTRY e { a = f32[8] parameter(0) u = f32[3] parameter(1) i = s32[] parameter(2) \
         ROOT b = f32[8] dynamic-update-slice(a, u, i) }",
        &[
            &["(d0) -> (d0), domain: d0 in [0, 7]"],
            &["(d0){rt0} -> (d0 - rt0), domain: d0 in [0, 7], rt0 in [0, 5], d0 - rt0 in [0, 2]"],
            &["(d0) -> (), domain: d0 in [0, 7]"],
        ],
    );
    check(
        "ENTRY e { a = f32[3,7,6] parameter(0) i = s32[4,2] parameter(1) ROOT b = f32[4,2,3] gather(a, i), \
         offset_dims={1,2}, collapsed_slice_dims={0}, start_index_map={0,2}, index_vector_dim=1, slice_sizes={1,2,3} }",
        &[
            &["(d0, d1, d2){rt0, rt1} -> (rt0, d1, d2 + rt1), domain: d0 in [0, 3], d1 in [0, 1], d2 in [0, 2], \
               rt0 in [0, 2], rt1 in [0, 3]"],
            &["(d0, d1, d2)[s0] -> (d0, s0), domain: d0 in [0, 3], d1 in [0, 1], d2 in [0, 2], s0 in [0, 1]"],
        ],
    );
    check(
        "ENTRY e { a = f32[2,9] parameter(0) i = s32[5,2] parameter(1) ROOT b = f32[5,2] gather(a, i), offset_dims={}, \
         collapsed_slice_dims={1}, start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={1}, \
         index_vector_dim=2, slice_sizes={1,1} }",
        &[
            &["(d0, d1){rt0} -> (d1, rt0), domain: d0 in [0, 4], d1 in [0, 1], rt0 in [0, 8]"],
            &["(d0, d1) -> (d0, d1), domain: d0 in [0, 4], d1 in [0, 1]"],
        ],
    );
}

#[test]
fn a_gathers_runtime_values_name_their_element() {
    let module = module(
        "ENTRY e { a = f32[30,7] parameter(0) i = s32[4,1] parameter(1) ROOT b = f32[4,7] gather(a, i), offset_dims={1}, \
         collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,7} }",
    );
    let report = describe(&module, true);
    assert!(
        report.contains("reads a: (d0, d1){rt0} -> (rt0, d1), domain: d0 in [0, 3], d1 in [0, 6], rt0 in [0, 29]"),
        "{report}"
    );
    assert!(report.contains("rt0 = i[d0, 0]"), "{report}");
    assert!(report.contains("from a: (d0, d1)[s0]{rt0} -> (s0, d1)"), "{report}");
    assert!(report.contains("rt0 = i[s0, 0]"), "{report}");
}

#[test]
fn scatters_say_where_updates_land() {
    let module = module(&format!(
        "{ADD}ENTRY e {{ a = f32[9,8] parameter(0) i = s32[4,1] parameter(1) u = f32[4,8] parameter(2) \
         ROOT b = f32[9,8] scatter(a, i, u), update_window_dims={{1}}, inserted_window_dims={{0}}, \
         scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=add }}"
    ));
    let entry = module.entry.unwrap();
    let landing = input_to_output(&module, entry, module.computation(entry).root, 2, 0);
    assert_eq!(texts(&landing), ["(d0, d1){rt0} -> (rt0, d1), domain: d0 in [0, 3], d1 in [0, 7], rt0 in [0, 8]"]);
    let reads = of_root(&module);
    assert_eq!(texts(&reads[0]), ["(d0, d1) -> (d0, d1), domain: d0 in [0, 8], d1 in [0, 7]"]);
    assert!(matches!(&reads[2], Indexing::Unknown(reason) if reason.contains("run time")));
}

#[test]
fn what_is_not_known_is_said() {
    let module = module("ENTRY e { a = f32[4,4] parameter(0) ROOT b = f32[4,4] cholesky(a), lower=true }");
    assert_eq!(
        of_root(&module),
        [Indexing::Unknown("cholesky: indexing maps of this operation are not supported".into())]
    );
    assert_eq!(fusion_maps(&module, module.entry.unwrap())[0].parameters, of_root(&module));
}

/// Returns the maps of a fusion's parameters.
fn of_fusion(text: &str) -> Vec<Vec<String>> {
    let module = module(text);
    fusion_maps(&module, module.entry.unwrap())[0].parameters.iter().map(texts).collect()
}

#[test]
fn fusions_compose_and_forget_duplicates() {
    let square = "domain: d0 in [0, 4], d1 in [0, 4]";
    assert_eq!(
        of_fusion(
            "ENTRY e { p = f32[5,5] parameter(0) t = f32[5,5] transpose(p), dimensions={1,0} \
             n = f32[5,5] negate(t) a = f32[5,5] add(p, n) ROOT s = f32[5,5] subtract(a, t) }"
        ),
        [[format!("(d0, d1) -> (d0, d1), {square}"), format!("(d0, d1) -> (d1, d0), {square}")]]
    );
    let softmax = of_fusion(&format!(
        "max {{ x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] maximum(x, y) }}\n{ADD}\
         ENTRY e {{ p = f32[2,65,125] parameter(0) low = f32[] constant(-inf) zero = f32[] constant(0) \
         m = f32[2,65] reduce(p, low), dimensions={{2}}, to_apply=max \
         mb = f32[2,65,125] broadcast(m), dimensions={{0,1}} d = f32[2,65,125] subtract(p, mb) \
         x = f32[2,65,125] exponential(d) s = f32[2,65] reduce(x, zero), dimensions={{2}}, to_apply=add \
         sb = f32[2,65,125] broadcast(s), dimensions={{0,1}} ROOT q = f32[2,65,125] divide(x, sb) }}"
    ));
    let cube = "d0 in [0, 1], d1 in [0, 64], d2 in [0, 124]";
    let mut found = softmax[0].clone();
    found.sort();
    assert_eq!(
        found,
        [
            format!("(d0, d1, d2) -> (d0, d1, d2), domain: {cube}"),
            format!("(d0, d1, d2)[s0] -> (d0, d1, s0), domain: {cube}, s0 in [0, 124]")
        ]
    );
}

#[test]
fn a_diamond_of_slices_keeps_distinct_offsets() {
    let mut text = "ENTRY e { p = f32[64] parameter(0) ".to_owned();
    let mut last = "p".to_owned();
    for level in 0..40 {
        let (from, to) = (64 - level, 63 - level);
        text += &format!(
            "a{level} = f32[{to}] slice({last}), slice={{[0:{to}]}} b{level} = f32[{to}] slice({last}), slice={{[1:{from}]}} "
        );
        text += &format!("{}c{level} = f32[{to}] add(a{level}, b{level}) ", if level == 39 { "ROOT " } else { "" });
        last = format!("c{level}");
    }
    let maps = of_fusion(&(text + "}"));
    assert_eq!(maps[0].len(), 41);
    assert!(maps[0].contains(&"(d0) -> (d0 + 40), domain: d0 in [0, 23]".to_owned()));
}

#[test]
fn tuples_and_nested_fusions_are_seen_through() {
    let module = module(&format!(
        "{ADD}pair {{ x = f32[] parameter(0) y = f32[] parameter(1) v = f32[] parameter(2) w = f32[] parameter(3) \
           s = f32[] add(x, v) t = f32[] add(y, w) ROOT r = (f32[], f32[]) tuple(s, t) }}\n\
         inner {{ p = f32[4,6] parameter(0) q = f32[6] parameter(1) z = f32[] constant(0) b = f32[4,6] broadcast(q), dimensions={{1}} \
           r = (f32[4], f32[4]) reduce(p, b, z, z), dimensions={{1}}, to_apply=pair \
           g = f32[4] get-tuple-element(r), index=1 n = f32[6] negate(q) ROOT t = (f32[4], f32[6]) tuple(g, n) }}\n\
         ENTRY e {{ a = f32[6,4] parameter(0) c = f32[6] parameter(1) at = f32[4,6] transpose(a), dimensions={{1,0}} \
           f = (f32[4], f32[6]) fusion(at, c), kind=kInput, calls=inner \
           x = f32[4] get-tuple-element(f), index=0 ROOT y = f32[6] get-tuple-element(f), index=1 }}"
    ));
    let entry = module.entry.unwrap();
    let fusion = module.computation(entry).find("f").unwrap();
    let reduced = "(d0)[s0] -> (d0, s0), domain: d0 in [0, 3], s0 in [0, 5]";
    let first: Vec<_> = output_to_input(&module, entry, fusion, 0).iter().map(texts).collect();
    assert_eq!(first, [vec![reduced], vec!["(d0)[s0] -> (s0), domain: d0 in [0, 3], s0 in [0, 5]"]]);
    let second: Vec<_> = output_to_input(&module, entry, fusion, 1).iter().map(texts).collect();
    assert_eq!(second, [vec![], vec!["(d0) -> (d0), domain: d0 in [0, 5]"]]);
    let x = module.computation(entry).find("x").unwrap();
    let through = fusebox_indexing::maps_from(&module, entry, x, 0);
    assert_eq!(texts(&through.parameters[0]), ["(d0)[s0] -> (s0, d0), domain: d0 in [0, 3], s0 in [0, 5]"]);
    assert_eq!(fusion_maps(&module, entry)[0].parameters[0], Indexing::Known(vec![]));
}

#[test]
fn attributes_that_do_not_fit_are_no_panic() {
    let mut module = module("ENTRY e { a = f32[2,3] parameter(0) ROOT b = f32[2,3] negate(a) }");
    let entry = module.entry.unwrap();
    let root = module.computation(entry).root;
    let bad = [
        Op::Transpose { permutation: vec![7, -1] },
        Op::Broadcast { dimensions: vec![9] },
        Op::Concatenate { dimension: -3 },
        Op::Reverse { dimensions: vec![5] },
        Op::Slice { dims: vec![] },
        Op::Pad { dims: vec![] },
        Op::DynamicSlice { sizes: vec![1, 1] },
        Op::Gather(Default::default()),
        Op::Convolution(Box::default()),
        Op::Dot(fusebox_hlo::DotDims { lhs_contracting: vec![4], ..Default::default() }),
        Op::GetTupleElement { index: -4 },
        Op::Sort { dimension: 8, is_stable: false, to_apply: entry },
    ];
    for op in bad {
        module.computations[entry.index()].instructions[root.index()].op = op.clone();
        let maps = output_to_input(&module, entry, root, 0);
        assert!(maps.iter().all(|map| matches!(map, Indexing::Unknown(_))), "{op:?}: {maps:?}");
        let _ = (input_to_output(&module, entry, root, 0, 0), input_to_output(&module, entry, root, 3, 2));
        let _ = describe(&module, true);
    }
}
