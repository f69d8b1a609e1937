//! Explains why the predictions did not choose the winner, if the winner is more than a tenth
//! faster than the untuned choice. The explanation names the prediction that is wrong.

use fusebox_core::times::microseconds;

use super::database::ContenderFigures;
use super::tuned::TunedQuestion;

/// If the measured times of two contenders have at least this ratio, the contender with the shorter
/// time counts as faster.
pub(super) const FASTER: f64 = 1.1;

/// Predicted and measured microseconds of one contender.
struct PredictionCheck<'r> {
    name: &'r str,
    predicted: f64,
    measured: f64,
    longest: Option<&'static str>,
}

impl PredictionCheck<'_> {
    fn of<'r>(row: &'r TunedQuestion, name: &str) -> Option<PredictionCheck<'r>> {
        let found: &ContenderFigures = row.decision.figures.iter().find(|figures| figures.contender == name)?;
        let (predicted, measured) = (found.predicted_us?, found.measured_us()?);
        Some(PredictionCheck { name: &found.contender, predicted, measured, longest: row.longest.get(name).copied() })
    }

    /// Returns the factor between predicted and measured time. The factor is at least 1, whichever
    /// time is longer.
    fn error(&self) -> f64 {
        (self.measured / self.predicted).ln().abs().exp()
    }

    fn words(&self) -> String {
        let of = self.longest.map_or_else(String::new, |part| format!(", most of it {part}"));
        let (predicted, measured) = (microseconds(self.predicted, 2), microseconds(self.measured, 2));
        format!("{} us predicted for {}{of}, {measured} us measured", predicted, self.name)
    }
}

/// Describes why the predictions did not choose the winner. Returns `None` if the winner is at most
/// a tenth faster than the untuned choice, or was not measured.
pub fn why(row: &TunedQuestion) -> Option<String> {
    let chosen = &row.decision.chosen;
    if chosen.spec == chosen.instead_of || row.ratio().ratio * FASTER > 1.0 {
        return None;
    }
    let emitter = |spec: &str| spec.split('{').next().unwrap_or_default().to_owned();
    let (first, winner) = (PredictionCheck::of(row, &chosen.instead_of)?, PredictionCheck::of(row, &chosen.spec)?);
    let both = format!("{}; {}", first.words(), winner.words());
    let cause = if winner.predicted < first.predicted && emitter(first.name) == emitter(winner.name) {
        "the predictions have this order, but an untuned emitter chooses its own knobs".to_owned()
    } else if winner.predicted < first.predicted {
        "the predictions have this order, but the difference is too small to count, or the emitter takes fusions only \
         on request"
            .to_owned()
    } else {
        let off = if winner.error() > first.error() { &winner } else { &first };
        let direction = if off.measured > off.predicted { "short" } else { "long" };
        format!("the prediction for {} is too {direction} by a factor of {:.2}", off.name, off.error())
    };
    Some(format!("{both}: {cause}"))
}
