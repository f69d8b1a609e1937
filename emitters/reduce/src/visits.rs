//! Visits of a group, computed from the maps of any schedule.

use fusebox_core::analysis::ReductionGroup;
use fusebox_core::emitter::Visit;
use fusebox_core::hlo::InstrId;
use fusebox_core::indexing::IndexingMap;

/// Returns the visits of a group. The kernel visits operands and side outputs at the coordinates of
/// `walk`, and results at the coordinates of `kept`.
pub fn group_visits(group: &ReductionGroup, walk: &IndexingMap, kept: &IndexingMap) -> Vec<Visit> {
    let mut visits: Vec<Visit> = Vec::new();
    let mut add = |map: IndexingMap, value: InstrId, given: Vec<InstrId>| match visits
        .iter_mut()
        .find(|visit| visit.map == map && visit.given == given)
    {
        Some(visit) if visit.values.contains(&value) => {}
        Some(visit) => visit.values.push(value),
        None => visits.push(Visit { map, values: vec![value], given }),
    };
    for hero in &group.heroes {
        let operands = hero.values.iter().map(|value| value.operand);
        operands.for_each(|operand| add(applied(walk, &hero.to_operand), operand, Vec::new()));
    }
    for side in &group.sides {
        add(applied(walk, &side.from_canonical), side.instruction, Vec::new());
    }
    for root in &group.roots {
        let given = root.heroes.iter().map(|&hero| group.heroes[hero].instruction).collect();
        add(applied(kept, &root.from_kept), root.instruction, given);
    }
    visits
}

/// Returns the number of times that the kernel combines two values.
pub fn combinations(group: &ReductionGroup) -> f64 {
    let values: usize = group.heroes.iter().map(|hero| hero.values.len()).sum();
    group.problem.element_count() as f64 * values as f64
}

/// Returns the map that applies `first`, then `second`. By construction, the results of `first` are
/// within the dimensions of `second`, so the composition adds no constraint.
pub fn applied(first: &IndexingMap, second: &IndexingMap) -> IndexingMap {
    let results = second.results.iter().map(|expr| expr.substitute(&first.results, &[], &[])).collect();
    IndexingMap { results, ..first.clone() }
}
