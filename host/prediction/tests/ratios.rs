//! Checks requirements on predicted times. They concern the ratios between plans for one fusion.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::*;
use fusebox_core::hlo::{InstrId, parse_module};
use fusebox_core::indexing::IndexingMap;
use fusebox_prediction::*;

const SUM: &str = "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }
max { c = f32[] parameter(0)\n d = f32[] parameter(1)\n ROOT m = f32[] maximum(c, d) }\n";

fn fusion(text: &str) -> Fusion {
    Fusion::new("f", parse_module(&format!("{SUM}f {{ {text} }}"), "test.hlo").unwrap()).unwrap()
}

/// Returns a plan with one output. The map `written` states where each thread writes. The launch
/// has the threads and blocks of this map.
fn plan(written: &str) -> Plan {
    let map: IndexingMap = written.parse().unwrap();
    let [threads, blocks] = [0, 1].map(|dim| map.dims[dim].bounds.size());
    let launch = LaunchDimensions { blocks, threads_per_block: threads as u32 };
    Plan::new(launch, vec![OutputPlan::unique(map)])
}

fn visit(fusion: &Fusion, map: &str, value: &str, given: &[&str]) -> Visit {
    let id = |name: &str| -> InstrId { fusion.computation().find(name).unwrap() };
    Visit { map: map.parse().unwrap(), values: vec![id(value)], given: given.iter().map(|name| id(name)).collect() }
}

/// Returns the predicted time in microseconds, without the time of the launch.
fn time(plan: &Plan, fusion: &Fusion, device: &DeviceDescription) -> f64 {
    assert_eq!(check_plan(plan, fusion, device), Ok(()));
    (predict(plan, fusion, device).seconds - device.launch_seconds) * 1e6
}

/// Returns a cpu with two cores that start their blocks immediately.
fn cpu() -> DeviceDescription {
    DeviceDescription { share_seconds: 0.0, ..DeviceDescription::cpu(2) }
}

const ROWS: &str = "(th, bl)[row, point] -> (bl * 32 + row, point), domain: th in [0, 0], bl in [0, 31], row in [0, 31], \
                    point in [0, 1023]";

#[test]
fn reading_across_memory_takes_longer_unless_the_array_is_small() {
    let copy = fusion("x = f32[1024,1024] parameter(0)\n ROOT y = f32[1024,1024] negate(x)");
    let turned = fusion("x = f32[1024,1024] parameter(0)\n ROOT y = f32[1024,1024] transpose(x), dimensions={1,0}");
    let [along, across] = [&copy, &turned].map(|fusion| time(&plan(ROWS), fusion, &cpu()));
    assert!(across > 4.0 * along, "{across} {along}");
    let small =
        "(th, bl)[row, point] -> (row, point), domain: th in [0, 0], bl in [0, 0], row in [0, 31], point in [0, 31]";
    let copy = fusion("x = f32[32,32] parameter(0)\n ROOT y = f32[32,32] negate(x)");
    let turned = fusion("x = f32[32,32] parameter(0)\n ROOT y = f32[32,32] transpose(x), dimensions={1,0}");
    let [along, across] = [&copy, &turned].map(|fusion| time(&plan(small), fusion, &cpu()));
    assert!(across > along && across < 8.0 * along, "{across} {along}");
}

#[test]
fn threads_of_a_warp_that_read_across_memory_fetch_whole_pieces_of_lines() {
    let written = "(th, bl)[] -> (bl floordiv 8, (bl mod 8) * 128 + th), domain: th in [0, 127], bl in [0, 8191]";
    let copy = fusion("x = f32[1024,1024] parameter(0)\n ROOT y = f32[1024,1024] negate(x)");
    let turned = fusion("x = f32[1024,1024] parameter(0)\n ROOT y = f32[1024,1024] transpose(x), dimensions={1,0}");
    let gpu = DeviceDescription::sm(90);
    let [along, across] = [&copy, &turned].map(|fusion| time(&plan(written), fusion, &gpu));
    assert!(across > 2.0 * along && across < 10.0 * along, "{across} {along}");
}

/// Checks chains of combinations. Without regrouping, each combination waits for the previous
/// combination. A kernel with several partial results states its visits. On a cpu, sums are
/// vectorised, but maxima are not.
#[test]
fn what_one_thread_combines_waits_for_each_addition_unless_it_is_regrouped() {
    let sums = fusion(
        "x = f32[1024,1024] parameter(0)\n z = f32[] constant(0)
         ROOT y = f32[1024] reduce(x, z), dimensions={1}, to_apply=add",
    );
    let one = plan("(th, bl)[row] -> (bl * 32 + row), domain: th in [0, 0], bl in [0, 31], row in [0, 31]");
    let several = Plan { visits: vec![visit(&sums, ROWS, "x", &[])], ..one.clone() };
    let rows_of_one = one.clone();
    let [one, several] = [&one, &several].map(|plan| time(plan, &sums, &cpu()));
    assert!((0.9..1.1).contains(&(one / several)), "{one} {several}");
    let largest = fusion(
        "x = f32[1024,1024] parameter(0)\n z = f32[] constant(0)
         ROOT y = f32[1024] reduce(x, z), dimensions={1}, to_apply=max",
    );
    let waiting = time(&rows_of_one, &largest, &cpu());
    assert!(waiting > 5.0 * one, "{waiting} {one}");
    let gpu = DeviceDescription::sm(90);
    let alone = plan("(th, bl)[] -> (bl * 128 + th), domain: th in [0, 127], bl in [0, 7]");
    let rows = "(th, bl)[step, lane] -> (bl, (step * 128 + th) * 4 + lane), domain: th in [0, 127], bl in [0, 1023], \
                step in [0, 1], lane in [0, 3]";
    let first = "(th, bl)[] -> (bl), domain: th in [0, 127], bl in [0, 1023], th in [0, 0]";
    let shared = Plan { visits: vec![visit(&sums, rows, "x", &[])], ..plan(first) };
    let [alone, shared] = [&alone, &shared].map(|plan| time(plan, &sums, &gpu));
    assert!(alone > 10.0 * shared, "{alone} {shared}");
}

/// Compares two plans. The first plan computes the sum once per element, and the second computes it
/// once per row.
#[test]
fn what_is_given_is_not_computed_again() {
    let share = fusion(
        "x = f32[1024,1024] parameter(0)\n z = f32[] constant(0)
         s = f32[1024] reduce(x, z), dimensions={1}, to_apply=add
         b = f32[1024,1024] broadcast(s), dimensions={0}
         ROOT y = f32[1024,1024] divide(x, b)",
    );
    let visits = vec![visit(&share, ROWS, "x", &[]), visit(&share, ROWS, "y", &["s"])];
    let [again, once] = [plan(ROWS), Plan { visits, ..plan(ROWS) }].map(|plan| time(&plan, &share, &cpu()));
    assert!(again > 50.0 * once, "{again} {once}");
}

/// Checks a value that does not depend on a loop: the maximum of all elements does not depend on
/// the element that the sum adds.
#[test]
fn what_does_not_depend_on_a_loop_is_computed_before_it() {
    let shifted = |largest: &str| {
        fusion(&format!(
            "x = f32[1024] parameter(0)\n z = f32[] constant(0)\n m = f32[] {largest}
             b = f32[1024] broadcast(m), dimensions={{}}\n d = f32[1024] subtract(x, b)
             ROOT y = f32[] reduce(d, z), dimensions={{0}}, to_apply=add"
        ))
    };
    let one = plan("(th, bl)[] -> (), domain: th in [0, 0], bl in [0, 0]");
    let largest = shifted("reduce(x, z), dimensions={0}, to_apply=max");
    let [with, without] = [largest, shifted("constant(0)")].map(|fusion| time(&one, &fusion, &cpu()));
    let alone = fusion(
        "x = f32[1024] parameter(0)\n z = f32[] constant(0)\n ROOT y = f32[] reduce(x, z), dimensions={0}, to_apply=max",
    );
    let alone = time(&one, &alone, &cpu());
    assert!((0.5..1.5).contains(&((with - without) / alone)), "{with} {without} {alone}");
}

#[test]
fn a_launch_on_several_cores_takes_longer_to_begin() {
    let copy = fusion("x = f32[64] parameter(0)\n ROOT y = f32[64] negate(x)");
    let plans = [
        plan("(th, bl)[i] -> (bl * 64 + i), domain: th in [0, 0], bl in [0, 0], i in [0, 63]"),
        plan("(th, bl)[i] -> (bl * 32 + i), domain: th in [0, 0], bl in [0, 1], i in [0, 31]"),
        plan("(th, bl)[i] -> (bl * 2 + i), domain: th in [0, 0], bl in [0, 31], i in [0, 1]"),
    ];
    let device = DeviceDescription::cpu(2);
    let [one, two, many] = [0, 1, 2].map(|number| predict(&plans[number], &copy, &device).seconds);
    assert!(one < two && two < many && one < 1e-7, "{one} {two} {many}");
}

#[test]
fn functions_take_as_long_as_their_type_lets_them() {
    let time_of = |element: &str, operation: &str| {
        let text = format!(
            "x = {element}[1024] parameter(0)\n y = {element}[1024] parameter(1)\n c = {element}[] constant(3)
             b = {element}[1024] broadcast(c), dimensions={{}}\n ROOT z = {element}[1024] {operation}"
        );
        let one = plan("(th, bl)[i] -> (i), domain: th in [0, 0], bl in [0, 0], i in [0, 1023]");
        time(&one, &fusion(&text), &cpu())
    };
    let times = |element: &str, operation: &str, other: &str| time_of(element, operation) / time_of(element, other);
    assert!(times("s32", "divide(x, y)", "add(x, y)") > 4.0, "integers are divided one by one");
    assert!(times("s32", "divide(x, b)", "add(x, y)") < 4.0, "but not by a constant");
    assert!(times("f32", "remainder(x, y)", "divide(x, y)") > 4.0);
    assert!(times("f64", "sine(x)", "exponential(x)") > 2.0, "its argument is reduced");
    assert!(times("c64", "power(x, y)", "exponential(x)") > 4.0);
}

#[test]
fn cores_share_blocks_and_the_last_round_may_leave_some_idle() {
    let exps = fusion("x = f32[1536] parameter(0)\n ROOT y = f32[1536] exponential(x)");
    let blocks = |count: i64| {
        let share = 1536 / count;
        let map = format!(
            "(th, bl)[i] -> (bl * {share} + i), domain: th in [0, 0], bl in [0, {}], i in [0, {}]",
            count - 1,
            share - 1
        );
        time(&plan(&map), &exps, &cpu())
    };
    let (one, two, three) = (blocks(1), blocks(2), blocks(3));
    assert!((1.9..2.1).contains(&(one / two)) && (1.2..1.5).contains(&(three / two)), "{one} {two} {three}");
}

#[test]
fn lines_that_are_only_written_need_not_be_read_first() {
    let copy = fusion("x = f32[8192,1024] parameter(0)\n ROOT y = f32[8192,1024] negate(x)");
    let rows = "(th, bl)[row, point] -> (bl * 256 + row, point), domain: th in [0, 0], bl in [0, 31], row in [0, 255], \
                point in [0, 1023]";
    let past = Plan { work: Work { past_caches: true, ..Work::default() }, ..plan(rows) };
    let [usual, past] = [&plan(rows), &past].map(|plan| time(plan, &copy, &cpu()));
    assert!((1.4..1.6).contains(&(usual / past)), "{usual} {past}");
}

#[test]
fn other_work_counts() {
    let copy = fusion("x = f32[4096] parameter(0)\n ROOT y = f32[4096] negate(x)");
    let written = "(th, bl)[] -> (bl * 128 + th), domain: th in [0, 127], bl in [0, 31]";
    let gpu = DeviceDescription::sm(90);
    let with = |work: Work| time(&Plan { work, ..plan(written) }, &copy, &gpu);
    let none = with(Work::default());
    for work in [
        Work { additions: 1e7, ..Work::default() },
        Work { tile_bytes: 1e8, ..Work::default() },
        Work { waits: 100.0, ..Work::default() },
        Work { atomics: 1e6, ..Work::default() },
        Work { unordered: true, ..Work::default() },
    ] {
        assert!(with(work.clone()) > 2.0 * none, "{work:?}");
    }
    // The prediction is finite, whatever work the plan states.
    for nonsense in [f64::NAN, f64::INFINITY, -1e30] {
        let work = Work { additions: nonsense, tile_bytes: nonsense, waits: nonsense, ..Work::default() };
        assert_eq!(predict(&Plan { work, ..plan(written) }, &copy, &gpu), predict(&plan(written), &copy, &gpu));
    }
}

#[test]
fn what_another_core_has_written_takes_longer_to_fetch_than_to_compute_with() {
    let rows = |rows: i64, op: &str| {
        let f = fusion(&format!("x = f32[{rows},256] parameter(0)\n ROOT y = f32[{rows},256] {op}(x)"));
        let plan = plan(&format!(
            "(th, bl)[row, point] -> (bl * {0} + row, point), domain: th in [0, 0], bl in [0, 1], row in [0, {1}], \
             point in [0, 255]",
            rows / 2,
            rows / 2 - 1
        ));
        (predict(&plan, &f, &DeviceDescription::cpu(2)), plan)
    };
    let is_alone = |(prediction, plan): &(Prediction, Plan), kept: u64| {
        is_better_alone(plan, prediction, kept, &DeviceDescription::cpu(2))
    };
    let (small, large) = (rows(64, "negate"), rows(2048, "negate"));
    assert!(is_alone(&small, 0) && !is_alone(&large, 0));
    // If the caches of both cores still hold most of the operands, the cores fetch less.
    let several = rows(100, "exponential");
    assert!(is_alone(&several, 0) && !is_alone(&several, several.0.read + several.0.written));
    // One core always runs a kernel of one block.
    let (prediction, mut one) = large;
    one.launch.blocks = 1;
    assert!(is_better_alone(&one, &prediction, 0, &DeviceDescription::cpu(2)));
}

#[test]
fn the_fastest_comes_first_and_of_those_as_fast_the_first_by_name() {
    let mut list = [(1.07, 'a'), (1.0, 'c'), (1.04, 'b'), (1.1, 'd'), (5.0, 'a')];
    order(&mut list, |it| it.0, |a, b| a.1.cmp(&b.1));
    assert_eq!(list, [(1.04, 'b'), (1.0, 'c'), (1.07, 'a'), (1.1, 'd'), (5.0, 'a')]);
}

#[test]
fn stated_work_is_finite_and_not_negative() {
    let copy = fusion("x = f32[1024,1024] parameter(0)\n ROOT y = f32[1024,1024] negate(x)");
    let fault = |work: Work| check_visits(&Plan { work, ..plan(ROWS) }, &copy).map_err(|fault| fault.to_string());
    assert_eq!(fault(Work { additions: 1e9, waits: 2.0, ..Work::default() }), Ok(()));
    for (work, words) in [
        (Work { additions: -1.0, ..Work::default() }, "-1 additions"),
        (Work { tile_bytes: f64::INFINITY, ..Work::default() }, "inf bytes of tiles"),
        (Work { waits: f64::NAN, ..Work::default() }, "NaN waits"),
        (Work { atomics: -0.5, ..Work::default() }, "-0.5 atomic operations"),
    ] {
        assert!(fault(work).unwrap_err().contains(words), "{words}");
    }
}

#[test]
fn visits_must_be_of_the_launch_and_of_the_fusion() {
    let copy = fusion("x = f32[1024,1024] parameter(0)\n ROOT y = f32[1024,1024] negate(x)");
    let fault =
        |visit: Visit| check_visits(&Plan { visits: vec![visit], ..plan(ROWS) }, &copy).unwrap_err().to_string();
    let good = visit(&copy, ROWS, "x", &[]);
    assert_eq!(
        fault(Visit { given: vec![InstrId(9)], ..good.clone() }),
        "visit 0: an instruction does not belong to the fusion"
    );
    let flat = "(th, bl)[row] -> (bl), domain: th in [0, 0], bl in [0, 31], row in [0, 0]";
    assert!(fault(Visit { map: flat.parse().unwrap(), ..good.clone() }).contains("does not have the rank of x"));
    let other = ROWS.replace("bl in [0, 31]", "bl in [0, 7]");
    assert!(fault(Visit { map: other.parse().unwrap(), ..good }).contains("the launch says"));
}

/// Checks that arbitrary visits, which a plugin may state, are predicted in little time and without
/// overflow.
#[test]
fn loops_longer_than_numbers_are_predicted_too() {
    let fusion = fusion("x = f32[1024] parameter(0)\n ROOT y = f32[1024] negate(x)");
    for (threads, device) in [(1, cpu()), (32, DeviceDescription::sm(90))] {
        for size in [i64::MAX / 2, i64::MAX - 1] {
            let last = threads - 1;
            let mut plan = plan(&format!(
                "(th, bl)[i] -> (i * {threads} + th), domain: th in [0, {last}], bl in [0, 0], i in [0, {}]",
                1024 / threads - 1
            ));
            let longest = format!(
                "(th, bl)[a, b] -> (a), domain: th in [0, {last}], bl in [0, 0], a in [0, {size}], b in [0, 3]"
            );
            plan.visits = vec![visit(&fusion, &longest, "y", &[])];
            assert!(time(&plan, &fusion, &device) > 1e9, "{size} {}", device.name);
        }
    }
}

/// Checks a sum of rows, and the additional work that a plan states.
#[test]
fn a_prediction_is_the_sum_of_its_parts() {
    let sums = fusion(
        "x = f32[1024,1024] parameter(0)\n y = f32[1024,1024] multiply(x, x)\n zero = f32[] constant(0)\n \
         s = f32[1024] reduce(y, zero), dimensions={1}, to_apply=add\n ROOT r = f32[1024] negate(s)",
    );
    let written = "(th, bl)[row] -> (bl * 32 + row), domain: th in [0, 0], bl in [0, 31], row in [0, 31]";
    let visits = vec![visit(&sums, ROWS, "y", &[]), visit(&sums, written, "r", &["s"])];
    let work = Work { additions: 1e6, atomics: 2.0, ..Work::default() };
    let plan = Plan { visits, work, ..plan(written) };
    let parts = breakdown(&plan, &sums, &cpu());
    let of: Vec<&[InstrId]> = parts.visits.iter().map(|(values, _)| values.as_slice()).collect();
    assert_eq!(of, [plan.visits[0].values.as_slice(), plan.visits[1].values.as_slice()]);
    let [elements, results] = [parts.visits[0].1, parts.visits[1].1];
    // Only the first visit reads x from memory, and it reads x once.
    assert!((elements.bytes / (4 << 20) as f64 - 1.0).abs() < 0.01 && results.bytes == 0.0, "{parts:?}");
    assert!(elements.additions > 100.0 * results.additions && parts.writes.bytes >= 4096.0, "{parts:?}");
    assert_eq!(parts.work.additions, 1e6 + 2.0 * 128.0);
    assert_eq!(parts.times.seconds(), predict(&plan, &sums, &cpu()).seconds);
    // Additional arithmetic increases only the computing time.
    let more = Plan { work: Work { additions: 2e6, ..plan.work }, ..plan.clone() };
    let more = breakdown(&more, &sums, &cpu());
    assert!(more.times.computing > parts.times.computing && more.times.memory == parts.times.memory, "{more:?}");
    assert_eq!(more.visits, parts.visits);
}

#[test]
fn small_windows_are_computed_for_neighbouring_points_at_once() {
    let map = "(th, bl)[row, column, point] -> (row, column, point), domain: th in [0, 0], bl in [0, 0], row in [0, 55], \
               column in [0, 55], point in [0, 63]";
    let pooled = |size: i64| {
        fusion(&format!(
            "x = f32[{size},{size},64] parameter(0)\n zero = f32[] constant(0)\n ROOT r = f32[56,56,64] reduce-window(x, zero), \
             window={{size={window}x{window}x1}}, to_apply=max",
            window = size - 55
        ))
    };
    let copy = fusion("x = f32[56,56,64] parameter(0)\n ROOT y = f32[56,56,64] negate(x)");
    let copied = time(&plan(map), &copy, &cpu());
    // A point needs nine maxima of vectors. Each cache line is read once for all channels.
    let [small, large] = [58, 65].map(|size| time(&plan(map), &pooled(size), &cpu()));
    assert!(small > copied && small < 10.0 * copied, "{small} {copied}");
    // A loop that is not unrolled combines one element after another.
    assert!(large > 20.0 * small, "{large} {small}");
}
