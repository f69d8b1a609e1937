//! Tests which fusions change because an emitter claims a hero.

use std::path::Path;
use std::sync::Arc;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{
    Candidate, Claim, Configuration, Decline, Descriptor, EmitError, Emitter, Fusion, HeroPlace, Kernel, KernelKind,
    Parts, Pass, Plan, Verdict,
};
use fusebox_core::hlo::{Module, Op, Opcode, parse_module, print_module, verify};
use fusebox_core::plugin::serve;
use fusebox_plugins::{Override, Registry};

use super::bid_tests::fusions_of;
use super::{Claims, heroes};
use crate::Emitters;
use crate::kernels::collect;

/// An emitter of a kind that the host does not know.
struct TestClaimant {
    kind: &'static str,
    hero: Opcode,
    claim: fn(&Candidate) -> Option<Claim>,
}

impl Emitter for TestClaimant {
    fn descriptor(&self) -> Descriptor {
        let name = format!("{}-claimant", self.kind);
        Descriptor { kind: KernelKind(self.kind.into()), name, version: "1.0.0".into() }
    }

    fn heroes(&self) -> Vec<Opcode> {
        vec![self.hero]
    }

    fn claim(&self, hero: &Candidate, _: &DeviceDescription) -> Option<Claim> {
        let operation = hero.region.computation().instruction(hero.anchor);
        assert_eq!((operation.opcode(), hero.region.roots.as_slice()), (self.hero, [hero.anchor].as_slice()));
        (self.claim)(hero)
    }

    fn consider(&self, _: &Fusion, _: &DeviceDescription) -> Verdict {
        Verdict::Decline(Decline::new("only what is fused is looked at"))
    }

    fn plan(&self, _: &Fusion, _: &DeviceDescription, _: &Configuration) -> Result<Plan, EmitError> {
        Err(EmitError::new("only what is fused is looked at"))
    }

    fn emit(&self, _: &Fusion, _: &DeviceDescription, _: &Plan) -> Result<Kernel, EmitError> {
        Err(EmitError::new("only what is fused is looked at"))
    }
}

/// Returns the bundled emitters and these claimants.
fn with(claimants: Vec<TestClaimant>) -> Emitters {
    let mut all = fusebox_bundle::emitters();
    all.extend(claimants.into_iter().map(|claimant| Box::new(claimant) as Box<dyn Emitter>));
    Emitters { registry: Registry::new(all).unwrap(), ..Emitters::default() }
}

/// Returns the bundled emitters and a claimant. Fusebox calls the claimant as it calls a loaded
/// plugin.
fn with_carried(claimant: fn() -> TestClaimant) -> Emitters {
    let mut emitters = Emitters::bundled();
    let answers = move |request: &[u8]| serve(|| vec![Box::new(claimant()) as Box<dyn Emitter>], request);
    emitters.registry.add_answers(Path::new("claimant.so"), Arc::new(answers)).unwrap();
    emitters
}

/// Description of a fused module: the sorted names of each fusion's instructions, a text
/// `hero (kind)` for each root, and all warnings.
struct FusedModule {
    fusions: Vec<Vec<String>>,
    heroes: Vec<String>,
    warnings: Vec<String>,
}

fn cut(text: &str, emitters: &Emitters) -> FusedModule {
    let device = DeviceDescription::cpu(2);
    let reducers = "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }
turned { p = f32[256,128] parameter(0)\n y = f32[256,128] negate(p)\n ROOT back = f32[256,128] reverse(y), dimensions={0} }
lt { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = pred[] compare(a, b), direction=LT }";
    let mut module = parse_module(&format!("HloModule m\n{reducers}\nENTRY main {{ {text} }}"), "test.hlo")
        .unwrap_or_else(|faults| panic!("{}", faults[0]));
    let warnings =
        super::run(&mut module, &device, emitters, &fusebox_plugins::KnownPlans::default()).unwrap().warnings;
    verify(&module).unwrap_or_else(|faults| panic!("{}\n{}", faults[0], print_module(&module)));
    let mut fusions = fusions_of(&module);
    fusions.sort();
    let name = |fusion: &Fusion, id| fusion.computation().instruction(id).name.clone();
    let mut found: Vec<String> = Vec::new();
    for unit in collect(&module).units {
        for (hero, kind) in heroes(&unit.fusion, &device, emitters) {
            found.extend(hero.instruction.zip(kind).map(|(id, kind)| format!("{} ({kind})", name(&unit.fusion, id))));
        }
    }
    found.sort();
    FusedModule { fusions, heroes: found, warnings }
}

fn names(lists: &[&[&str]]) -> Vec<Vec<String>> {
    lists.iter().map(|list| list.iter().map(|&name| name.to_owned()).collect()).collect()
}

/// Reversed rows, an elementwise function of the reversed rows, and the sums of this function.
const TURNED: &str = "x = f32[256,128] parameter(0)
  zero = f32[] constant(0)
  back = f32[256,128] reverse(x), dimensions={0}
  wave = f32[256,128] exponential(back)
  sums = f32[256] reduce(wave, zero), dimensions={1}, to_apply=add
  ROOT all = (f32[256,128], f32[256]) tuple(wave, sums)";

/// Returns a claimant that claims reversals.
fn reversals() -> TestClaimant {
    TestClaimant {
        kind: "reversals",
        hero: Opcode::Reverse,
        claim: |_| Some(Claim { lost_inside: 1e6, lost_beside: 1e6, ..Claim::default() }),
    }
}

#[test]
fn an_operation_that_nobody_knew_as_a_hero_gets_its_kernel_with_the_epilogue_behind_it() {
    let without = cut(TURNED, &Emitters::bundled());
    assert_eq!(without.fusions, names(&[&["zero", "back", "wave", "sums"]]));
    assert_eq!(without.heroes, ["sums (reduce)"]);
    for emitters in [with(vec![reversals()]), with_carried(reversals)] {
        let asked = cut(TURNED, &emitters);
        assert_eq!(asked.fusions, names(&[&["back", "wave"], &["zero", "sums"]]));
        assert_eq!(asked.heroes, ["back (reversals)", "sums (reduce)"]);
        assert!(asked.warnings.is_empty(), "{:?}", asked.warnings);
    }
}

#[test]
fn what_other_results_can_be_written_on_the_way_of_is_merged_with_them() {
    let claim = |_: &Candidate| {
        let pass = Some(Pass { dims: vec![256, 128], operands: 1 });
        Some(Claim { lost_inside: 1e6, lost_beside: 1e6, pass, ..Claim::default() })
    };
    let text = "x = f32[256,128] parameter(0)
  back = f32[256,128] reverse(x), dimensions={0}
  wave = f32[256,128] exponential(x)
  ROOT all = (f32[256,128], f32[256,128]) tuple(back, wave)";
    let apart = cut(text, &with(vec![reversals()]));
    assert_eq!(apart.fusions, names(&[&["back"], &["wave"]]));
    let together = cut(text, &with(vec![TestClaimant { claim, ..reversals() }]));
    assert_eq!(together.fusions, names(&[&["back", "wave"]]));
}

#[test]
fn a_claim_that_costs_less_than_a_launch_elsewhere_changes_nothing_inside_of_others() {
    let claim = |_: &Candidate| Some(Claim { lost_inside: 100.0, lost_beside: 100.0, ..Claim::default() });
    let text = TURNED.replace("tuple(wave, sums)", "tuple(x, sums)");
    let usual = cut(&text, &Emitters::bundled());
    let asked = cut(&text, &with(vec![TestClaimant { claim, ..reversals() }]));
    assert_eq!(asked.fusions, usual.fusions);
    assert_eq!(cut(&text, &with(vec![reversals()])).fusions, names(&[&["back"], &["zero", "wave", "sums"]]));
}

#[test]
fn of_several_claims_the_one_that_loses_most_counts_and_then_the_first() {
    let little = |_: &Candidate| Some(Claim { lost_inside: 10.0, ..Claim::default() });
    let heroes_of = |claimants| cut(TURNED, &with(claimants)).heroes;
    let turned = |kind| TestClaimant { kind, ..reversals() };
    let kept = [TestClaimant { claim: little, ..turned("little") }, turned("much"), turned("later")];
    assert_eq!(heroes_of(kept.into()), ["back (much)", "sums (reduce)"]);
}

#[test]
fn an_update_in_place_is_a_root_that_nothing_of_what_it_starts_from_is_computed_in() {
    let text = "x = f32[256,128] parameter(0)
  y = f32[256,128] negate(x)
  back = f32[256,128] reverse(y), dimensions={0}
  ROOT wave = f32[256,128] exponential(back)";
    assert_eq!(cut(text, &Emitters::bundled()).fusions, names(&[&["y", "back", "wave"]]));
    let claim = |_: &Candidate| {
        let lost = f64::INFINITY;
        Some(Claim { place: HeroPlace::Root, starts_from: 1, lost_inside: lost, lost_beside: lost, ..Claim::default() })
    };
    let asked = cut(text, &with(vec![TestClaimant { claim, ..reversals() }]));
    assert_eq!(asked.fusions, names(&[&["back"], &["wave"], &["y"]]));
    // A fusion of the program text is dissolved if the initial value of a result is not a
    // parameter. Otherwise it is kept.
    let text = "x = f32[256,128] parameter(0)\n ROOT wave = f32[256,128] fusion(x), kind=kLoop, calls=turned";
    assert_eq!(cut(text, &Emitters::bundled()).fusions, names(&[&["y", "back"]]));
    let asked = cut(text, &with(vec![TestClaimant { claim, ..reversals() }]));
    assert_eq!(asked.fusions, names(&[&["back"], &["y"]]));
}

#[test]
fn what_reads_a_small_part_of_an_array_that_a_kernel_updates_has_a_buffer() {
    let fusions = |rows: usize, update: &str| {
        let text = format!(
            "x = f32[{rows},8] parameter(0)
  i = s32[] parameter(1)
  j = s32[] parameter(2)
  o = s32[] parameter(3)
  {update}"
        );
        cut(&text, &Emitters::bundled()).fusions
    };
    let row = "row = f32[1,8] dynamic-slice(x, i, o), dynamic_slice_sizes={1,8}\n wave = f32[1,8] sine(row)\n";
    let other = format!("{row} ROOT all = f32[256,8] dynamic-update-slice(x, wave, j, o)");
    assert_eq!(fusions(256, &other), names(&[&["row"], &["wave", "all"]]));
    // The update's kernel may read the row that it replaces.
    let same = other.replace("wave, j", "wave, i");
    assert_eq!(fusions(256, &same), names(&[&["row", "wave", "all"]]));
    // Copying two rows takes less time than executing another kernel. Writing half of an array
    // takes as long as copying all of it.
    let of_two = other.replace("[256,8] dynamic-update", "[2,8] dynamic-update");
    assert_eq!(fusions(2, &of_two), names(&[&["row", "wave", "all"]]));
    let half = other.replace("f32[1,8]", "f32[128,8]").replace("={1,8}", "={128,8}");
    assert_eq!(fusions(256, &half), names(&[&["row", "wave", "all"]]));
    // An earlier update of the same array has the same buffer.
    let second = format!(
        "{row} first = f32[256,8] dynamic-update-slice(x, wave, j, o)
  again = f32[1,8] dynamic-slice(x, j, o), dynamic_slice_sizes={{1,8}}
  ROOT all = f32[256,8] dynamic-update-slice(first, again, i, o)"
    );
    assert_eq!(fusions(256, &second), names(&[&["all"], &["row", "again"], &["wave", "first"]]));
}

#[test]
fn what_the_host_would_compute_is_a_kernel_if_an_emitter_asks_and_in_no_other_kernel() {
    let text = "x = f32[4096] parameter(0)
  y = f32[4096] negate(x)
  sorted = f32[4096] sort(y), dimensions={0}, to_apply=lt
  wave = f32[4096] exponential(sorted)
  half = f32[2048] slice(sorted), slice={[0:2048]}
  ROOT all = (f32[4096], f32[2048]) tuple(wave, half)";
    assert_eq!(cut(text, &Emitters::bundled()).fusions, names(&[&["half"], &["wave"], &["y"]]));
    let sorts = |claim| TestClaimant { kind: "sorts", hero: Opcode::Sort, claim };
    let asked = cut(text, &with(vec![sorts(|_| Some(Claim::default()))]));
    assert_eq!(asked.heroes, ["sorted (sorts)"]);
    assert_eq!(asked.fusions, names(&[&["half"], &["sorted"], &["wave"], &["y"]]));
    // A sorted element may come from any position of its row. The emitter's claim states that its
    // kernel reads each element of the row once.
    let asked = cut(text, &with(vec![sorts(|_| Some(Claim { reads: vec![1.0], ..Claim::default() }))]));
    assert_eq!(asked.fusions, names(&[&["half"], &["wave"], &["y", "sorted"]]));
}

#[test]
fn custom_calls_that_are_configured_otherwise_are_other_operations() {
    let text = "x = f32[64] parameter(0)
  one = f32[64] custom-call(x), custom_call_target=\"f\", backend_config=\"one\"
  two = f32[64] custom-call(x), custom_call_target=\"f\", backend_config=\"two\"
  ROOT all = (f32[64], f32[64]) tuple(one, two)";
    fn config(hero: &Candidate) -> Option<String> {
        let call = hero.region.computation().instruction(hero.anchor);
        call.extra.as_ref().and_then(|extra| extra.backend_config.clone())
    }
    let calls = |claim| TestClaimant { kind: "calls", hero: Opcode::CustomCall, claim };
    let first = cut(text, &with(vec![calls(|hero| (config(hero)? == "one").then(Claim::default))]));
    assert_eq!(first.heroes, ["one (calls)"]);
    let both = cut(text, &with(vec![calls(|_| Some(Claim::default()))]));
    assert_eq!(both.heroes, ["one (calls)", "two (calls)"]);
}

#[test]
fn who_is_put_in_charge_of_a_kind_and_claims_nothing_gets_the_kernels_there_are() {
    let of_reductions = |claim: fn(&Candidate) -> Option<Claim>, hero| {
        let mut emitters = with(vec![TestClaimant { kind: "mine", hero, claim }]);
        let number = emitters.registry.emitters().len() - 1;
        emitters.overrides.push(Override::of_kind(KernelKind("reduce".into()), vec![number], "reduce=mine-claimant"));
        cut(TURNED, &emitters).heroes
    };
    assert_eq!(of_reductions(|_| None, Opcode::Reduce), ["sums (reduce)"]);
    assert_eq!(of_reductions(|_| None, Opcode::Sine), ["sums (reduce)"]);
    assert_eq!(of_reductions(|_| Some(Claim::default()), Opcode::Reduce), ["sums (mine)"]);
}

#[test]
fn an_emitter_that_fails_while_claiming_is_passed_over_with_one_warning() {
    let text = TURNED.replace(
        "x = f32[256,128] parameter(0)",
        "w = f32[256,128] parameter(0)\n x = f32[256,128] reverse(w), dimensions={1}",
    );
    for (claim, words) in [
        ((|_| panic!("no claims today")) as fn(&Candidate) -> Option<Claim>, "it panicked: no claims today"),
        (|_| Some(Claim { lost_inside: f64::NAN, ..Claim::default() }), "the claim is wrong"),
    ] {
        let asked = cut(&text, &with(vec![TestClaimant { claim, ..reversals() }]));
        assert_eq!(asked.fusions, cut(&text, &Emitters::bundled()).fusions);
        let [warning] = asked.warnings.as_slice() else { panic!("{:?}", asked.warnings) };
        assert!(warning.contains("emitter reversals-claimant 1.0.0 (linked in) failed while claiming"), "{warning}");
        assert!(warning.contains(words), "{warning}");
    }
}

/// A product in a loop, with a loop-invariant right operand. Tests replace `DIM` by this operand's
/// contracted dimension.
const PRODUCT_IN_A_LOOP: &str = "HloModule m
condition { s = (s32[], f32[8,64], f32[64,64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(9)
  ROOT goes_on = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[8,64], f32[64,64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[8,64] get-tuple-element(s), index=1
  w = f32[64,64] get-tuple-element(s), index=2
  y = f32[8,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={DIM}
  ROOT t = (s32[], f32[8,64], f32[64,64]) tuple(next, y, w) }
ENTRY main { s = (s32[], f32[8,64], f32[64,64]) parameter(0)
  ROOT r = (s32[], f32[8,64], f32[64,64]) while(s), condition=condition, body=body }";

/// Returns a module after a pass.
fn passed(pass: &str, text: &str, emitters: &Emitters) -> Module {
    let mut module = parse_module(text, "test.hlo").unwrap_or_else(|faults| panic!("{}", faults[0]));
    let pass = crate::PASSES.iter().find(|it| it.name == pass).unwrap();
    pass.apply(
        &mut module,
        &mut Claims::new(&DeviceDescription::cpu(2), emitters, &fusebox_plugins::KnownPlans::default()),
        true,
    )
    .unwrap();
    verify(&module).unwrap_or_else(|faults| panic!("{}\n{}", faults[0], print_module(&module)));
    module
}

/// Whether the pass transposes the right operand before the loop, if the operand's dimension `dim`
/// is contracted.
fn is_transposed(dim: &str, emitters: &Emitters) -> bool {
    let module = passed("loop-invariants", &PRODUCT_IN_A_LOOP.replace("DIM", dim), emitters);
    let entry = module.entry_computation().unwrap();
    let found = entry.instructions.iter().any(|it| it.opcode() == Opcode::Transpose);
    assert_eq!(entry.instructions.len() > 2, found, "{}", print_module(&module));
    found
}

/// The bundled emitter wants the contracted dimension of the right operand to come first, and the
/// test's emitter wants the contracted dimension to come last.
#[test]
fn operands_in_loops_get_the_order_that_the_emitter_of_the_product_states() {
    let by_rows = || TestClaimant {
        kind: "products",
        hero: Opcode::Dot,
        claim: |hero| {
            let dot = hero.region.computation().instruction(hero.anchor);
            let Op::Dot(dims) = &dot.op else { return None };
            let rows_first = if dims.rhs_contracting == [0] { vec![1, 0] } else { Vec::new() };
            let lost = f64::INFINITY;
            Some(Claim { lost_inside: lost, orders: vec![Vec::new(), rows_first], ..Claim::default() })
        },
    };
    assert_eq!(["0", "1"].map(|dim| is_transposed(dim, &Emitters::bundled())), [false, true]);
    for emitters in [with(vec![by_rows()]), with_carried(by_rows)] {
        assert_eq!(["0", "1"].map(|dim| is_transposed(dim, &emitters)), [true, false]);
    }
}

/// Runs the pass that splits reductions. The program has one reduction, which sums exponentials of
/// `x[dims]` over the dimensions `reduced`. Returns the result dimensions of all reductions after
/// the pass.
fn reductions(dims: &[i64], reduced: &[i64], emitters: &Emitters) -> Vec<Vec<i64>> {
    let kept: Vec<i64> = (0..dims.len()).filter(|d| !reduced.contains(&(*d as i64))).map(|d| dims[d]).collect();
    let list = reduced.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    let text = format!(
        "HloModule m
add {{ a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }}
ENTRY main {{ x = f32{dims:?} parameter(0)
  zero = f32[] constant(0)
  y = f32{dims:?} exponential(x)
  ROOT r = f32{kept:?} reduce(y, zero), dimensions={{{list}}}, to_apply=add }}"
    );
    let module = passed("split-reductions", &text.replace(", ", ","), emitters);
    let found = module.entry_computation().unwrap().instructions.iter().filter(|it| it.opcode() == Opcode::Reduce);
    found.map(|it| it.shape.as_array().unwrap().dims.clone()).collect()
}

#[test]
fn reductions_are_split_into_the_parts_that_their_emitter_states() {
    fn claimed(parts: Parts) -> Option<Claim> {
        Some(Claim { lost_inside: f64::INFINITY, parts: Some(parts), ..Claim::default() })
    }
    const PARTS: Parts = Parts { count: 4, together: 1, arithmetic: f64::INFINITY, second: Vec::new() };
    fn sums(claim: fn(&Candidate) -> Option<Claim>) -> TestClaimant {
        TestClaimant { kind: "sums", hero: Opcode::Reduce, claim }
    }
    let bundled = Emitters::bundled();
    assert_eq!(reductions(&[1 << 20], &[0], &bundled), [vec![16], vec![]]);
    assert_eq!(reductions(&[64, 1 << 16], &[1], &bundled), [[64]]);
    let of_four = || sums(|_| claimed(PARTS));
    for emitters in [with(vec![of_four()]), with_carried(of_four)] {
        assert_eq!(reductions(&[1 << 20], &[0], &emitters), [vec![4], vec![]]);
        assert_eq!(reductions(&[64, 1 << 16], &[1], &emitters), [vec![64, 4], vec![64]]);
        // Such short parts do not pay for a second kernel.
        assert_eq!(reductions(&[1 << 15], &[0], &emitters), [[0; 0]]);
    }
    // Computing an exponential function takes longer than this kernel takes to read an element.
    let slow = with(vec![sums(|_| claimed(Parts { arithmetic: 1.0, ..PARTS }))]);
    assert_eq!(reductions(&[1 << 15], &[0], &slow), [vec![4], vec![]]);
    // A part of each of many results is a long piece of work.
    let wide = with(vec![sums(|_| claimed(Parts { together: 1 << 10, ..PARTS }))]);
    assert_eq!(reductions(&[64, 1 << 10], &[0], &wide), [vec![4, 1 << 10], vec![1 << 10]]);
    let majors_first = with(vec![sums(|_| claimed(Parts { count: 1, second: vec![1], ..PARTS }))]);
    assert_eq!(reductions(&[8, 8], &[0, 1], &majors_first), [vec![8], vec![]]);
    let nothing_first = with(vec![sums(|_| claimed(Parts { count: 1, second: vec![0, 1], ..PARTS }))]);
    assert_eq!(reductions(&[8, 8], &[0, 1], &nothing_first), [[0; 0]]);
    let whole = with(vec![sums(|_| Some(Claim { lost_inside: f64::INFINITY, ..Claim::default() }))]);
    assert_eq!(reductions(&[1 << 20], &[0], &whole), [[0; 0]]);
}

#[test]
fn products_are_sums_if_their_emitter_states_it() {
    let is_product = |rows: i64, emitters: &Emitters| {
        let text = format!(
            "HloModule m
ENTRY main {{ x = f32[1,{rows}] parameter(0)
  w = f32[{rows},512] parameter(1)
  ROOT y = f32[1,512] dot(x, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}} }}"
        );
        let module = passed("row-products", &text, emitters);
        module.entry_computation().unwrap().instructions.iter().any(|it| it.opcode() == Opcode::Dot)
    };
    let small_ones = || TestClaimant {
        kind: "products",
        hero: Opcode::Dot,
        claim: |hero| {
            let row = hero.region.computation().instruction(hero.region.computation().parameters()[0]);
            let as_sum = row.shape.as_array()?.dims == [1, 64];
            Some(Claim { lost_inside: f64::INFINITY, as_sum, ..Claim::default() })
        },
    };
    assert_eq!([64, 4096].map(|rows| is_product(rows, &Emitters::bundled())), [true, false]);
    for emitters in [with(vec![small_ones()]), with_carried(small_ones)] {
        assert_eq!([64, 4096].map(|rows| is_product(rows, &emitters)), [false, true]);
    }
}

#[test]
fn operations_that_an_emitter_claims_are_not_expanded() {
    let system = "HloModule m
ENTRY main { a = f32[3,3] parameter(0)
  b = f32[3,1] parameter(1)
  ROOT x = f32[3,1] triangular-solve(a, b), left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE }";
    let selection = "HloModule m
ge { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=GE }
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
ENTRY main { x = f32[8] parameter(0)
  s = f32[4] parameter(1)
  zero = f32[] constant(0)
  ROOT r = f32[8] select-and-scatter(x, s, zero), window={size=2 stride=2}, select=ge, scatter=add }";
    for (pass, text, hero) in
        [("small-systems", system, Opcode::TriangularSolve), ("selected-elements", selection, Opcode::SelectAndScatter)]
    {
        let is_kept = |emitters: &Emitters| {
            let module = passed(pass, text, emitters);
            module.entry_computation().unwrap().root_instruction().opcode() == hero
        };
        let claimant = TestClaimant { kind: "whole", hero, claim: |_| Some(Claim::default()) };
        assert_eq!([is_kept(&Emitters::bundled()), is_kept(&with(vec![claimant]))], [false, true]);
    }
}

#[test]
fn expensive_producers_are_fused_if_the_kernel_keeps_them() {
    let text = "x = f32[64,4] parameter(0)
  zero = f32[] constant(0)
  sums = f32[64] reduce(x, zero), dimensions={1}, to_apply=add
  ROOT sorted = f32[64] sort(sums), dimensions={0}, to_apply=lt";
    fn sorts(claim: fn(&Candidate) -> Option<Claim>) -> TestClaimant {
        TestClaimant { kind: "sorts", hero: Opcode::Sort, claim }
    }
    let apart = cut(text, &with(vec![sorts(|_| Some(Claim { reads: vec![1.0], ..Claim::default() }))]));
    assert_eq!(apart.fusions, names(&[&["sorted"], &["zero", "sums"]]));
    let keeping = || sorts(|_| Some(Claim { reads: vec![1.0], keeps_producers: true, ..Claim::default() }));
    for emitters in [with(vec![keeping()]), with_carried(keeping)] {
        assert_eq!(cut(text, &emitters).fusions, names(&[&["zero", "sums", "sorted"]]));
    }
}
