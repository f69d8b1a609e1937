//! Orders items by predicted times that are not exact.

use std::cmp::Ordering;

/// Largest ratio of two predicted times that are treated as equal. The model is not more precise
/// than this ratio. The ratio was chosen without a measurement of its own.
const EQUAL: f64 = 1.05;

/// Sorts by predicted seconds, and treats nearly equal times as equal. The fastest item and the
/// items with nearly equal times form the first group; the remaining items are grouped in the same
/// way. Within each group, the total order `otherwise` decides.
pub fn order<T>(list: &mut [T], seconds: impl Fn(&T) -> f64, otherwise: impl Fn(&T, &T) -> Ordering) {
    list.sort_by(|a, b| seconds(a).total_cmp(&seconds(b)).then_with(|| otherwise(a, b)));
    let mut rest = list;
    while let Some(first) = rest.first() {
        let fastest = seconds(first);
        let equal = rest.iter().take_while(|item| seconds(item) <= fastest * EQUAL).count().max(1);
        let (group, later) = rest.split_at_mut(equal);
        group.sort_by(&otherwise);
        rest = later;
    }
}
