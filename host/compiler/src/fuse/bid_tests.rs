//! Tests which bids of an emitter become fusions.

use std::path::Path;
use std::sync::Arc;

use fusebox_core::builder::KernelBuilder;
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{
    Bid, Candidate, Configuration, Descriptor, EmitError, Emitter, Fusion, Kernel, KernelKind, LaunchDimensions,
    OutputPlan, Plan, Verdict,
};
use fusebox_core::hlo::{InstrId, Module, Op, Opcode, parse_module, print_module, verify};
use fusebox_core::indexing::{Expr, IndexingMap, Variable};
use fusebox_core::plugin::serve;
use fusebox_plugins::{Override, Registry};

use crate::{BidRecord, Emitters};

/// An emitter whose anchors are sines. The emitter bids for the instructions whose names `wanted`
/// returns.
struct TestBidder {
    wanted: fn(&Candidate) -> Vec<String>,
    accepts: bool,
}

impl Emitter for TestBidder {
    fn descriptor(&self) -> Descriptor {
        Descriptor { kind: KernelKind("waves".into()), name: "asker".into(), version: "1.0.0".into() }
    }

    fn anchors(&self) -> Vec<Opcode> {
        vec![Opcode::Sine]
    }

    fn bid(&self, candidate: &Candidate, _: &DeviceDescription) -> Bid {
        let computation = candidate.region.computation();
        assert_eq!(computation.instruction(candidate.anchor).opcode(), Opcode::Sine);
        let named = |name: &String| computation.find(name).unwrap_or(InstrId(u32::MAX));
        match (self.wanted)(candidate) {
            names if names.is_empty() => Bid::decline("no wave is large enough"),
            names => Bid::Take { instructions: names.iter().map(named).collect() },
        }
    }

    fn consider(&self, _: &Fusion, _: &DeviceDescription) -> Verdict {
        if self.accepts {
            Verdict::Accept
        } else {
            Verdict::Decline(fusebox_core::emitter::Decline { reason: "not today".into(), instruction: None })
        }
    }

    fn plan(&self, fusion: &Fusion, _: &DeviceDescription, _: &Configuration) -> Result<Plan, EmitError> {
        let outputs = fusion.output_shapes().into_iter().filter_map(|shape| shape.as_array()).map(|array| {
            OutputPlan::unique(IndexingMap {
                dims: vec![Variable::named("th", 1), Variable::named("bl", 1)],
                ranges: array.dims.iter().map(|&size| Variable::named("i", size)).collect(),
                results: (0..array.rank() as u32).map(Expr::range).collect(),
                ..IndexingMap::default()
            })
        });
        Ok(Plan::new(LaunchDimensions { blocks: 1, threads_per_block: 1 }, outputs.collect()))
    }

    fn emit(&self, fusion: &Fusion, _: &DeviceDescription, _: &Plan) -> Result<Kernel, EmitError> {
        KernelBuilder::new(fusion).finish(&[])
    }
}

/// A program with a sine and elementwise operations, one of which reads reversed elements. The
/// program's arrays are so large that fusion does not merge kernels in order to save launches. The
/// arrays are so small that fusion does not merge kernels in order to save memory traffic.
const PROGRAM: &str = "HloModule m
ENTRY main {
  x = f16[10000] parameter(0)
  half = f16[] constant(0.5)
  halves = f16[10000] broadcast(half), dimensions={}
  first = f16[10000] sine(x)
  second = f16[10000] multiply(first, halves)
  back = f16[10000] reverse(second), dimensions={0}
  third = f16[10000] add(back, first)
  other = f16[10000] subtract(third, halves)
  ROOT all = (f16[10000], f16[10000], f16[10000]) tuple(second, third, other)
}";

fn emitters(bidder: TestBidder) -> Emitters {
    let mut all = fusebox_bundle::emitters();
    all.push(Box::new(bidder));
    Emitters { registry: Registry::new(all).unwrap(), ..Emitters::default() }
}

/// Returns, for each fusion, the names of its instructions except parameters, and the records of
/// all bids.
fn fused(emitters: &Emitters) -> (Vec<Vec<String>>, Vec<BidRecord>) {
    fused_of(PROGRAM, emitters)
}

fn fused_of(program: &str, emitters: &Emitters) -> (Vec<Vec<String>>, Vec<BidRecord>) {
    let mut module = parse_module(program, "test.hlo").unwrap();
    let records =
        super::run(&mut module, &DeviceDescription::cpu(1), emitters, &fusebox_plugins::KnownPlans::default())
            .unwrap()
            .bids;
    verify(&module).unwrap_or_else(|faults| panic!("{}\n{}", faults[0], print_module(&module)));
    (fusions_of(&module), records)
}

/// Returns, for each fusion, the names of its instructions except parameters.
pub fn fusions_of(module: &Module) -> Vec<Vec<String>> {
    let entry = module.entry_computation().unwrap();
    let members = |op: &Op| match op {
        Op::Fusion { calls, .. } => Some(module.computation(*calls)),
        _ => None,
    };
    let fusions = entry.instructions.iter().filter_map(|it| members(&it.op)).map(|computation| {
        let inside = computation.instructions.iter().filter(|it| !matches!(it.op, Op::Parameter { .. } | Op::Tuple));
        inside.map(|it| it.name.clone()).collect()
    });
    fusions.collect()
}

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(|name| (*name).to_owned()).collect()
}

/// Returns the outcome of a bidder's only bid, which must not change the fusions.
fn outcome(bidder: TestBidder) -> String {
    let (fusions, records) = fused(&emitters(bidder));
    let (usual, _) = fused(&Emitters::bundled());
    assert_eq!(fusions, usual, "{records:?}");
    assert_eq!(records.len(), 1, "{records:?}");
    assert_eq!((records[0].anchor.as_str(), records[0].emitter.as_str()), ("first", "asker 1.0.0 (linked in)"));
    records[0].outcome.clone()
}

#[test]
fn what_an_emitter_takes_is_one_kernel_with_all_that_is_read_elsewhere_as_results() {
    let wanted = |_: &Candidate| names(&["halves", "half", "first", "second"]);
    let (fusions, records) = fused(&emitters(TestBidder { wanted, accepts: true }));
    assert!(records[0].outcome.contains("takes 4 instructions"), "{records:?}");
    let own = fusions.iter().find(|fusion| fusion.contains(&"second".to_owned())).unwrap();
    assert_eq!(*own, names(&["half", "halves", "first", "second"]));
    // Other readers of the broadcast recompute the broadcast from the constant.
    let rest: Vec<&Vec<String>> = fusions.iter().filter(|fusion| *fusion != own).collect();
    assert!(rest.iter().all(|fusion| !fusion.contains(&"first".to_owned())), "{fusions:?}");
    assert!(rest.iter().any(|fusion| fusion.contains(&"halves".to_owned())), "{fusions:?}");
}

#[test]
fn what_follows_cheaply_from_another_result_is_computed_again_where_it_is_read() {
    let text = "HloModule m
ENTRY main {
  x = f16[10000] parameter(0)
  y = f16[10000] parameter(1)
  one = f16[] constant(1)
  ones = f16[10000] broadcast(one), dimensions={}
  first = f16[10000] sine(x)
  square = f16[10000] multiply(first, first)
  rest = f16[10000] subtract(ones, square)
  both = f16[10000] multiply(first, y)
  wave = f16[10000] cosine(first)
  moved = f16[10000] add(first, ones)
  back = f16[10000] reverse(moved), dimensions={0}
  a = f16[10000] add(back, rest)
  b = f16[10000] add(a, both)
  c = f16[10000] add(b, wave)
  ROOT all = (f16[10000], f16[10000]) tuple(c, first)
}";
    let wanted = |_: &Candidate| names(&["one", "ones", "first", "square", "rest", "both", "wave", "moved"]);
    let mut emitters = emitters(TestBidder { wanted, accepts: true });
    let number = bidder(&emitters);
    emitters.overrides.push(Override::of_kind(KernelKind("waves".into()), vec![number], "waves=asker"));
    let (fusions, records) = fused_of(text, &emitters);
    // The kernel writes four values: the program's result, a value with two inputs, an expensive
    // value, and a value that another kernel reads at another index.
    assert_eq!(fusions[0], names(&["one", "ones", "first", "both", "wave", "moved"]), "{records:?}");
    let reads = |fusion: &&Vec<String>| fusion.contains(&"a".to_owned());
    let reader = fusions.iter().find(reads).unwrap();
    assert!(["square", "rest"].iter().all(|name| reader.contains(&(*name).to_owned())), "{fusions:?}");
}

#[test]
fn a_region_shows_what_is_around_an_anchor_and_what_is_read_elsewhere() {
    let wanted = |candidate: &Candidate| {
        let region = &candidate.region;
        let computation = region.computation();
        let parameters: Vec<&str> =
            computation.parameters().iter().map(|&id| computation.instruction(id).name.as_str()).collect();
        assert_eq!(parameters, ["param_0.x"]);
        let results: Vec<&str> = region.roots.iter().map(|&id| computation.instruction(id).name.as_str()).collect();
        assert_eq!(results, ["second", "third", "other"]);
        Vec::new()
    };
    assert_eq!(outcome(TestBidder { wanted, accepts: true }), "no wave is large enough");
}

#[test]
fn what_only_uses_the_same_constant_is_not_around() {
    let wanted = |candidate: &Candidate| {
        let names = &candidate.region.computation().instructions;
        let has = |name: &str| names.iter().any(|it| it.name == name);
        assert!(has("half") && has("halves") && has("first") != has("second"), "{:?}", candidate.region.module);
        Vec::new()
    };
    let text = "HloModule m
ENTRY main {
  x = f32[64] parameter(0)
  y = f32[64] parameter(1)
  half = f32[] constant(0.5)
  halves = f32[64] broadcast(half), dimensions={}
  first = f32[64] sine(x)
  less = f32[64] multiply(first, halves)
  second = f32[64] sine(y)
  least = f32[64] multiply(second, halves)
  ROOT all = (f32[64], f32[64]) tuple(less, least)
}";
    let mut module = parse_module(text, "test.hlo").unwrap();
    let emitters = emitters(TestBidder { wanted, accepts: true });
    let records =
        super::run(&mut module, &DeviceDescription::cpu(1), &emitters, &fusebox_plugins::KnownPlans::default())
            .unwrap()
            .bids;
    let asked: Vec<&str> = records.iter().map(|record| record.anchor.as_str()).collect();
    assert_eq!(asked, ["first", "second"], "{records:?}");
    assert!(records.iter().all(|record| record.outcome == "no wave is large enough"), "{records:?}");
}

#[test]
fn a_bid_that_depends_on_itself_is_refused() {
    let wanted = |_: &Candidate| names(&["first", "second", "third"]);
    let said = outcome(TestBidder { wanted, accepts: true });
    assert!(said.contains("third needs an instruction that the bid leaves out"), "{said}");
}

#[test]
fn bids_on_nothing_twice_or_elsewhere_are_refused() {
    for wanted in [
        |_: &Candidate| names(&["first", "first"]),
        |_: &Candidate| names(&["second"]),
        |_: &Candidate| names(&["param_0.x", "first"]),
        |_: &Candidate| names(&["nowhere", "first"]),
    ] {
        let said = outcome(TestBidder { wanted, accepts: true });
        assert!(said.contains("its bid"), "{said}");
    }
}

#[test]
fn an_emitter_that_declines_what_it_asked_for_does_not_get_it() {
    let wanted = |_: &Candidate| names(&["first", "second"]);
    let said = outcome(TestBidder { wanted, accepts: false });
    assert!(said.contains("declines its own bid: not today"), "{said}");
}

#[test]
fn a_bid_that_takes_longer_than_without_it_is_passed_over() {
    // The bid takes half of a kernel, so both halves would read the sine.
    let wanted = |_: &Candidate| names(&["first"]);
    let said = outcome(TestBidder { wanted, accepts: true });
    assert!(said.contains("instead of"), "{said}");
}

#[test]
fn an_emitter_that_the_user_has_replaced_for_its_kind_is_not_asked() {
    let wanted = |_: &Candidate| names(&["first", "second"]);
    let mut emitters = emitters(TestBidder { wanted, accepts: true });
    emitters.overrides.push(Override::of_kind(KernelKind("waves".into()), vec![0], "waves=loop"));
    let (fusions, records) = fused(&emitters);
    assert_eq!(fusions, fused(&Emitters::bundled()).0);
    assert!(records.is_empty(), "{records:?}");
}

#[test]
fn an_emitter_that_fails_while_bidding_is_passed_over_with_a_warning() {
    let wanted = |_: &Candidate| panic!("no bid today");
    let emitters = emitters(TestBidder { wanted, accepts: true });
    let mut module = parse_module(PROGRAM, "test.hlo").unwrap();
    let warnings =
        super::run(&mut module, &DeviceDescription::cpu(1), &emitters, &fusebox_plugins::KnownPlans::default())
            .unwrap()
            .warnings;
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert!(warning.contains("emitter asker 1.0.0 (linked in) failed while bidding on"), "{warning}");
    assert!(warning.contains("no bid today"), "{warning}");
}

/// Returns the bidding emitter's number in the registry.
fn bidder(emitters: &Emitters) -> usize {
    emitters.registry.emitters().len() - 1
}

#[test]
fn an_emitter_that_the_user_puts_in_charge_gets_what_it_bids_on_whatever_is_predicted() {
    let wanted = |_: &Candidate| names(&["first", "second", "back"]);
    let mut emitters = emitters(TestBidder { wanted, accepts: true });
    let lost = fused(&emitters);
    assert!(lost.1[0].outcome.starts_with("would take"), "{lost:?}");
    let number = bidder(&emitters);
    emitters.overrides.push(Override::of_kind(KernelKind("waves".into()), vec![number], "waves=asker"));
    let (fusions, records) = fused(&emitters);
    assert!(fusions.iter().any(|fusion| fusion.ends_with(&names(&["first", "second", "back"]))), "{fusions:?}");
    assert!(records[0].outcome.ends_with(", because the user chose `asker@1.0.0`"), "{records:?}");
}

#[test]
fn where_predictions_do_not_tell_cuts_apart_a_decision_is_gone_by() {
    let wanted = |_: &Candidate| names(&["halves", "half", "first", "second"]);
    let mut emitters = emitters(TestBidder { wanted, accepts: true });
    let module = || parse_module(PROGRAM, "test.hlo").unwrap();
    let cuts =
        super::run(&mut module(), &DeviceDescription::cpu(1), &emitters, &fusebox_plugins::KnownPlans::default())
            .unwrap()
            .cuts;
    let [cut] = cuts.as_slice() else { panic!("{cuts:?}") };
    assert_eq!(cut.anchor, "first");
    let ways: Vec<(&str, usize)> =
        cut.ways.iter().map(|way| (way.name.as_str(), fusions_of(&way.module).len())).collect();
    assert_eq!(ways, [("asker@1.0.0", 1), ("apart", 2)]);

    emitters.cuts.insert(cut.fingerprint, "apart".into());
    let (fusions, records) = fused(&emitters);
    assert_eq!(fusions, fused(&Emitters::bundled()).0);
    assert!(records[0].outcome.contains("tuned: `fusebox tune` chose `apart`"), "{records:?}");
    // No emitter has this name, so the prediction decides.
    emitters.cuts.insert(cut.fingerprint, "nobody@1.0.0".into());
    assert!(fused(&emitters).1[0].outcome.starts_with("takes 4 instructions"));
}

#[test]
fn cuts_whose_predictions_differ_much_are_no_question() {
    let wanted = |_: &Candidate| names(&["first", "second", "back"]);
    let emitters = emitters(TestBidder { wanted, accepts: true });
    let mut module = parse_module(PROGRAM, "test.hlo").unwrap();
    assert!(
        super::run(&mut module, &DeviceDescription::cpu(1), &emitters, &fusebox_plugins::KnownPlans::default())
            .unwrap()
            .cuts
            .is_empty()
    );
}

/// The cut that a loaded emitter bids for is measured regardless of the prediction.
#[test]
fn the_cut_that_a_loaded_emitter_asks_for_is_a_question_always() {
    fn bidder() -> Vec<Box<dyn Emitter>> {
        let wanted = |_: &Candidate| names(&["first", "second", "back"]);
        vec![Box::new(TestBidder { wanted, accepts: true })]
    }
    let mut emitters = Emitters::bundled();
    let answers = Arc::new(|request: &[u8]| serve(bidder, request));
    emitters.registry.add_answers(Path::new("asker.so"), answers).unwrap();
    let mut module = parse_module(PROGRAM, "test.hlo").unwrap();
    let cuts = super::run(&mut module, &DeviceDescription::cpu(1), &emitters, &fusebox_plugins::KnownPlans::default())
        .unwrap()
        .cuts;
    let [cut] = cuts.as_slice() else { panic!("{cuts:?}") };
    let ways: Vec<&str> = cut.ways.iter().map(|way| way.name.as_str()).collect();
    assert_eq!(ways, ["apart", "asker@1.0.0"]);
}

/// Another kernel reads the halves of a normalised row, and can compute the halves itself. A bid
/// for the normalised rows would have to store the rows for that kernel. So the bid does not pay,
/// although the bid's kernel is faster than the host's kernels for the same instructions.
#[test]
fn a_bid_counts_what_it_stores_for_readers() {
    let program = "HloModule m
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
ENTRY main {
  x = f32[4096,128] parameter(0)
  zero = f32[] constant(0)
  squares = f32[4096,128] multiply(x, x)
  norms = f32[4096] reduce(squares, zero), dimensions={1}, to_apply=sum
  roots = f32[4096] rsqrt(norms)
  scales = f32[4096,128] broadcast(roots), dimensions={0}
  rows = f32[4096,128] multiply(x, scales)
  low = f32[4096,64] slice(rows), slice={[0:4096], [0:64]}
  high = f32[4096,64] slice(rows), slice={[0:4096], [64:128]}
  sums = f32[4096,64] add(low, high)
  differences = f32[4096,64] subtract(low, high)
  RESULT
}";
    let bundled = Emitters { registry: Registry::new(fusebox_bundle::emitters()).unwrap(), ..Emitters::default() };
    let decided = |result: &str| {
        let (fusions, records) = fused_of(&program.replace("RESULT", result), &bundled);
        let wanted = records.into_iter().find(|record| record.outcome.contains(" us instead of ")).unwrap();
        (fusions, wanted.outcome)
    };
    let (fusions, outcome) = decided("ROOT all = f32[4096,128] concatenate(sums, differences), dimensions={1}");
    assert!(outcome.starts_with("would take ") && outcome.ends_with(", with the kernels around it"), "{outcome}");
    assert!(
        fusions.iter().all(|names| !names.contains(&"rows".into()) || names.contains(&"all".into())),
        "{fusions:?}"
    );
    // A result of the program is stored in any case.
    let (_, outcome) = decided("ROOT all = (f32[4096,128]) tuple(rows)");
    assert!(outcome.starts_with("takes ") && !outcome.contains("around it"), "{outcome}");
}
