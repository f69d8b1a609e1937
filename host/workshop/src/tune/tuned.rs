//! The decision on one question.

use serde::Serialize;

use super::database::{ContenderFigures, Decision, RaceOutcome};
use super::largest_part::LargestParts;
use super::question::Question;
use super::race;
use crate::statistics::Interval;

/// Origin of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionOrigin {
    /// This run measured the choice.
    Measured,
    /// The choice was stored before this run.
    Known,
    /// There is no choice, because no contender has a right result.
    Nobody,
}

/// The decision for a fusion, or for a region that can be cut in several ways.
#[derive(Clone, Debug)]
pub struct TunedQuestion {
    pub question: Question,
    /// Name of the fusion in this program, or of the region's anchor.
    pub name: String,
    pub decision: Decision,
    /// Number of occurrences of the fusion in the program.
    pub uses: usize,
    pub origin: DecisionOrigin,
    /// Name of the largest part of each contender's predicted time, for example memory.
    pub longest: LargestParts,
}

impl TunedQuestion {
    /// Whether the choice differs from the choice without tuning.
    pub(super) fn is_changed(&self) -> bool {
        self.decision.chosen.spec != self.decision.chosen.instead_of
    }

    /// Whether the question is about a cut.
    pub(super) fn is_cut(&self) -> bool {
        matches!(self.question, Question::Cut(_))
    }

    /// Returns the winner's time divided by the time of the first contender with a right result.
    pub fn ratio(&self) -> Interval {
        race::ratio(&self.decision.figures, &self.decision.chosen.spec)
    }

    /// Describes how much faster the whole program is with a contender; `None` if tuning did not
    /// try the contender in the whole program.
    pub(super) fn in_program(&self, contender: &str) -> Option<String> {
        let found = self.decision.figures.iter().find(|figures| figures.contender == contender)?;
        match found.outcome {
            RaceOutcome::Final { in_program, .. } => in_program.map(gained),
            _ => None,
        }
    }

    /// Returns the measured time of the first contender with a right result, in microseconds.
    pub(super) fn first_us(&self) -> Option<f64> {
        let first = self.decision.figures.iter().find(|figures| matches!(figures.outcome, RaceOutcome::First { .. }));
        first.and_then(ContenderFigures::measured_us)
    }
}

/// Describes a ratio of times as a speed-up, together with its interval.
pub(super) fn gained(Interval { low, ratio, high }: Interval) -> String {
    format!("{:.2} times as fast ({:.2} to {:.2})", 1.0 / ratio, 1.0 / high, 1.0 / low)
}
