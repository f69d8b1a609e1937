//! Checks `fusebox explain`: the reason for the place of each instruction, the comparison of
//! fusions with the roof, and the page in a real browser.

use crate::program::Workplace;
use serde_json::Value;

/// A softmax: a sum and a division by this sum read an exponential. A pass removes an addition of
/// zeros.
const MODULE: &str = "HloModule softmax
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
ENTRY main {
  x = f32[512,128] parameter(0)
  zero = f32[] constant(0)
  zeros = f32[512,128] broadcast(zero), dimensions={}
  same = f32[512,128] add(x, zeros)
  unread = f32[512,128] sine(x)
  grown = f32[512,128] exponential(x)
  sums = f32[512] reduce(grown, zero), dimensions={1}, to_apply=add
  all = f32[512,128] broadcast(sums), dimensions={0}
  parts = f32[512,128] divide(grown, all)
  turned = f32[128,512] transpose(parts), dimensions={1,0}
  ROOT both = (f32[128,512], f32[512]) tuple(turned, sums)
}
";

fn why(place: &Workplace, name: &str) -> String {
    place.run(&["explain", "m.hlo", "--why", name]).succeeded()
}

#[test]
fn instructions_say_where_they_are_and_why() {
    let place = Workplace::with_module(MODULE);
    let asked = why(&place, "all");
    assert!(asked.contains("around `sums`: row-normalise"), "an emitter has asked for all of it: {asked}");
    let dead = why(&place, "unread");
    assert!(dead.contains("pass `dead-code` removes it"), "{dead}");
    assert!(!dead.contains("fusion `"), "{dead}");
}

/// Checks that fusion gives a reason for each instruction. Fusion decides about instructions for
/// which no emitter bids.
#[test]
fn fusion_has_a_reason_for_each_instruction() {
    let text = "HloModule m\nENTRY main {\n x = f32[64] parameter(0)\n y = f32[64] sine(x)\n z = f32[64] add(y, x)\n
        s = f32[64] sort(z), dimensions={0}, to_apply=less\n ROOT r = f32[64] negate(s)\n}\n";
    let less =
        "less {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT l = pred[] compare(a, b), direction=LT\n}\n";
    let place = Workplace::with_module(&text.replacen("ENTRY", &format!("{less}ENTRY"), 1));
    for (name, reason) in [
        ("y", "in `main`: it is computed inside the kernel of `z`"),
        ("z", "in `main`: it is the result of a kernel: `s` reads it, and cannot be fused with its producers"),
        ("s", "in `main`: a routine of the host computes it"),
        ("r", "in `main`: it is the result of a kernel: it is the computation's result"),
    ] {
        let told = why(&place, name);
        assert!(told.contains(reason), "{told}");
    }
}

#[test]
fn a_name_that_is_none_is_told_names_like_it() {
    let place = Workplace::with_module(MODULE);
    place.run(&["explain", "m.hlo", "--why", "turne"]).failed(2, &["no instruction is called `turne`", "turned"]);
}

#[test]
fn fusions_stand_beside_the_roof_with_measured_times() {
    let place = Workplace::with_module(MODULE);
    let out = place.run(&["explain", "m.hlo", "--json", "--measure"]).succeeded();
    let kernels: Value = serde_json::from_str(&out).unwrap();
    for kernel in kernels.as_array().unwrap() {
        let row = &kernel["roofline"];
        assert_eq!(row["bytes"], kernel["bytes_read"].as_u64().unwrap() + kernel["bytes_written"].as_u64().unwrap());
        // Computing, memory and waiting overlap. So the longest of the three times counts fully,
        // and a quarter of each other time counts.
        let part = |name: &str| kernel["prediction"][name].as_f64().unwrap();
        let parts = ["computing_us", "memory_us", "waiting_us"].map(part);
        let longest = parts.iter().copied().fold(0.0, f64::max);
        let sum = part("launch_us") + part("unordered_us") + 0.75 * longest + 0.25 * parts.iter().sum::<f64>();
        assert!((sum / kernel["predicted_us"].as_f64().unwrap() - 1.0).abs() < 1e-6, "{kernel}");
        assert!(!kernel["prediction"]["visits"].as_array().unwrap().is_empty(), "{kernel}");
        assert!(row["measured_us"].as_f64().unwrap() > 0.0 && row["roof_us"].as_f64().unwrap() > 0.0, "{row}");
    }
    let predicted = place.run(&["explain", "m.hlo", "--all"]).succeeded();
    assert!(predicted.contains("bound by") && !predicted.contains("geometric mean"), "{predicted}");
    let measured = place.run(&["explain", "m.hlo", "--measure"]).succeeded();
    assert!(measured.contains("measured us") && measured.contains("geometric mean"), "{measured}");
}

/// Some work does not count for the roof. If an array is updated in place, its unchanged rest does
/// not count. Zeros between elements of a dilated operand, sums that windows share, and elements
/// that no index reads do not count either. The roof also assumes that several `bf16` products are
/// computed at a time.
#[test]
fn no_kernel_is_predicted_above_the_roof() {
    let programs = [
        "ENTRY main { x = f32[4096,2048] parameter(0)\n u = f32[16,2048] parameter(1)\n i = s32[] parameter(2)\n \
         zero = s32[] constant(0)\n ROOT r = f32[4096,2048] dynamic-update-slice(x, u, i, zero) }",
        "ENTRY main { x = f32[2,28,28,64] parameter(0)\n k = f32[4,4,64,32] parameter(1)\n ROOT r = f32[2,56,56,32] \
         convolution(x, k), window={size=4x4 pad=2_2x2_2 lhs_dilate=2x2}, dim_labels=b01f_01io->b01f }",
        "sum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }
         ENTRY main { x = f32[4096,1024] parameter(0)\n zero = f32[] constant(0)\n ROOT r = f32[4096,1024] \
         reduce-window(x, zero), window={size=1x1024 pad=0_0x1023_0}, to_apply=sum }",
        "ENTRY main { x = f32[1000000,64] parameter(0)\n i = s32[1000,1] parameter(1)\n ROOT r = f32[1000,64] gather(x, i), \
         offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,64} }",
        "ENTRY main { x = bf16[512,512] parameter(0)\n y = bf16[512,512] parameter(1)\n ROOT r = bf16[512,512] dot(x, y), \
         lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
        "ENTRY main { x = f32[512,512] parameter(0)\n y = f32[512,512] parameter(1)\n ROOT r = f32[512,512] dot(x, y), \
         lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
    ];
    for program in programs {
        let place = Workplace::with_module(&format!("HloModule m\n{program}"));
        for target in ["cpu", "sm_90"] {
            let table = place.run(&["explain", "m.hlo", "--target", target]).succeeded();
            let shares =
                table.lines().filter_map(|line| line.strip_suffix(" %")?.split_whitespace().last()?.parse().ok());
            let shares: Vec<f64> = shares.collect();
            assert!(
                !shares.is_empty() && shares.iter().all(|&share| share > 0.0 && share <= 100.0),
                "{target} {table}"
            );
        }
    }
}

/// A program with kernels of 4 and of 400,000 elements, and a sort. One of the kernels is used
/// twice.
const SIZES: &str = "HloModule sizes
less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT
}
ENTRY main {
  x = f32[4] parameter(0)
  y = f32[1000,400] parameter(1)
  small = f32[4] sine(x)
  turned = f32[400,1000] transpose(y), dimensions={1,0}
  sorted = f32[4] sort(small), dimensions={0}, to_apply=less
  ROOT all = (f32[4], f32[400,1000]) tuple(sorted, turned)
}
";

#[test]
fn a_table_comes_first_and_the_rest_on_demand() {
    let place = Workplace::with_module(SIZES);
    let table = place.run(&["explain", "m.hlo"]).succeeded();
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0].join(" "), "fusion emitter instructions launch predicted us of roof");
    // The kernel with the longest time comes first. A time below a microsecond is not printed as
    // zero.
    assert_eq!((lines[1][0], lines[2][0]), ("fused_turned", "fused_small"), "{table}");
    let predicted: Vec<f64> = lines[1..3].iter().map(|line| line[7].parse().unwrap()).collect();
    assert!(predicted[0] > 1.0 && (0.001..1.0).contains(&predicted[1]), "{table}");
    for line in &lines[1..3] {
        let [_, _, version, instructions, blocks, "x", threads, _, share, "%"] = line[..] else { panic!("{table}") };
        assert!(version.contains('.') && instructions.parse::<usize>().unwrap() > 0);
        assert!(blocks.parse::<u64>().unwrap() > 0 && threads == "1" && share.parse::<f64>().unwrap() <= 100.0);
    }
    assert!(table.contains("sorted: sort is executed by a host routine") && !table.contains("declines"), "{table}");
    assert_eq!(lines.len(), 5, "{table}");

    let one = place.run(&["explain", "m.hlo", "--fusion", "fused_small"]).succeeded();
    assert!(one.starts_with("fused_small: ") && one.contains("declines") && one.contains("bound by"), "{one}");
    assert!(!one.contains("fused_turned") && !one.contains("0.0 us"), "{one}");
    let all = place.run(&["explain", "m.hlo", "--all"]).succeeded();
    assert!(all.contains(one.lines().next().unwrap()) && all.contains("\nfused_turned: "), "{all}");
    assert_eq!(all.matches("\n  roots: ").count(), 2);
    let some: Value =
        serde_json::from_str(&place.run(&["explain", "m.hlo", "--fusion", "*turned", "--json"]).succeeded()).unwrap();
    assert_eq!(some.as_array().unwrap().len(), 1);
    place.run(&["explain", "m.hlo", "--fusion", "none"]).failed(2, &["no fusion matches `none`", "fused_small"]);
    place.run(&["explain", "m.hlo", "--fusion", "none", "--all"]).failed(2, &["--all"]);
    let nothing = Workplace::with_module("HloModule m\nENTRY e {\n  ROOT x = f32[4] parameter(0)\n}\n");
    assert!(nothing.run(&["explain", "m.hlo"]).succeeded().contains("the program computes nothing"));
}

/// Opens the page in a browser and checks its content after its script has run.
#[test]
fn the_page_opens_in_a_browser_without_network_and_without_complaints() {
    let place = Workplace::with_module(MODULE);
    place.run(&["explain", "m.hlo", "--html", "page.html"]).succeeded();
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    let kernel =
        page.split("id=\"").filter_map(|rest| rest.split('"').next()).find(|id| id.starts_with("kernel-")).unwrap();
    let Some(shown) = place.opened_page("page.html", &format!("#{kernel}")) else { return };
    assert!(shown.contains(&format!("<details id=\"{kernel}\" open=\"\">")), "a link to a kernel opens it: {shown}");
    for name in ["parts", "turned", "sums"] {
        assert!(shown.contains(&format!(">{name}</text>")), "{name} has a box");
    }
}

/// A program with three values of 4096 bytes and a result of 4096 bytes. Two of the three values
/// are live at a time.
const CHAIN: &str = "HloModule chain
ENTRY main {
  x = f32[32,32] parameter(0)
  a = f32[32,32] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = f32[32,32] dot(a, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  c = f32[32,32] dot(b, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT d = f32[32,32] dot(c, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
";

#[test]
fn the_memory_of_a_program_is_accounted_for() {
    let place = Workplace::with_module(CHAIN);
    let memory: Value =
        serde_json::from_str(&place.run(&["explain", "m.hlo", "--memory", "--json"]).succeeded()).unwrap();
    for (what, bytes) in [("arguments", 4096), ("outputs", 4096), ("temporaries", 4096), ("peak", 8192), ("waste", 0)] {
        assert_eq!(memory[what], bytes, "{what}: {memory}");
    }
    assert_eq!(memory["alive"].as_array().unwrap().len(), 2, "{memory}");
    let text = place.run(&["explain", "m.hlo", "--memory"]).succeeded();
    assert!(text.contains("4096 bytes, steps 1 to 2: "), "{text}");
}
