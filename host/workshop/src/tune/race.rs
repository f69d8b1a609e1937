//! Finds the fastest contender by a race. Heats eliminate the slower half of the contenders early.
//! In the final, a timer compares each remaining contender with the first contender.

use std::collections::BTreeSet;
use std::time::Duration;

use fusebox_core::hlo::ArrayLiteral;
use fusebox_core::random::SplitMix64;
use fusebox_runtime::measurement::Session;
use fusebox_runtime::{Executable, Options};

use super::TuningSettings;
use super::database::{ContenderFigures, RaceOutcome};
use super::judge::{JudgedContenders, Racer};
use crate::WorkshopError;
use crate::measure::{Cache, Contest, DisturbanceWatch, Effort, ProgramComparison, time};
use crate::statistics::{Interval, MARGIN, Verdict};

/// Largest number of racers in the final, not counting the first racer.
const FINALISTS: usize = 3;
/// Number of samples of each racer in the first heat. Each later heat has twice as many samples as
/// the heat before.
const FIRST_SAMPLES: usize = 2;
/// A heat eliminates a racer whose time is more than this factor times the time of the fastest
/// racer, even if few racers are left. The first factor applies to the first heat, the second
/// factor to all later heats.
const CLEARLY_SLOWER: [f64; 2] = [1.5, 1.2];
/// Time limit of a comparison in the final. If a comparison reaches this limit without a clear
/// result, the compared racers count as equal.
const LONGEST_FINAL: Duration = Duration::from_secs(3);

/// A source of the times of racers.
pub trait Timer {
    /// Returns `samples` measured times of a racer, in microseconds. Each sample uses newly
    /// allocated memory.
    ///
    /// # Errors
    /// If a racer fails now although it ran before.
    fn time_isolated(
        &mut self,
        racer: &Racer,
        inputs: &[ArrayLiteral],
        samples: usize,
    ) -> Result<Vec<f64>, WorkshopError>;

    /// Returns the time of a racer divided by the time of the first racer. Runs `other` and `first`
    /// alternately.
    ///
    /// # Errors
    /// If `first` or `other` fails.
    fn against(&mut self, first: &Racer, other: &Racer, inputs: &[ArrayLiteral]) -> Result<Interval, WorkshopError>;

    /// Returns the time of the tuned program divided by the time of the untuned program. Also
    /// returns this ratio of times for each kernel in `kernels`.
    ///
    /// # Errors
    /// If the tuned or the untuned program fails.
    fn in_program(
        &mut self,
        untuned: &Executable,
        tuned: &Executable,
        inputs: &[ArrayLiteral],
        kernels: &BTreeSet<&str>,
    ) -> Result<ProgramComparison, WorkshopError>;
}

/// A timer that measures on this machine.
pub struct Stopwatch<'a> {
    options: &'a Options,
    effort: Effort,
    watch: DisturbanceWatch,
}

impl<'a> Stopwatch<'a> {
    pub fn new(options: &'a Options, seed: u64) -> Stopwatch<'a> {
        Stopwatch {
            options,
            effort: Effort { limit: LONGEST_FINAL, seed, pairs: None },
            watch: DisturbanceWatch::new(),
        }
    }
}

/// Returns the racer's executable without its copies, so that the timer measures the kernel alone.
/// A kernel that updates a buffer in-place needs a copy of the buffer only when it runs outside of
/// its program.
fn timed(racer: &Racer) -> Executable {
    racer.executable.clone().without_copies()
}

impl Timer for Stopwatch<'_> {
    fn time_isolated(
        &mut self,
        racer: &Racer,
        inputs: &[ArrayLiteral],
        samples: usize,
    ) -> Result<Vec<f64>, WorkshopError> {
        let sample = |_| {
            let mut session = Session::load(timed(racer), self.options)?;
            session.set_inputs(inputs)?;
            let _pinned = session.pin_threads();
            time(&mut session, Cache::Warm)
        };
        (0..samples).map(sample).collect()
    }

    fn against(&mut self, first: &Racer, other: &Racer, inputs: &[ArrayLiteral]) -> Result<Interval, WorkshopError> {
        let [a, b] = [first, other].map(timed);
        let contest = Contest { a: &a, b: &b, inputs, options: self.options };
        Ok(contest.measure(Cache::Warm, self.effort, &mut self.watch)?.ratio)
    }

    fn in_program(
        &mut self,
        untuned: &Executable,
        tuned: &Executable,
        inputs: &[ArrayLiteral],
        kernels: &BTreeSet<&str>,
    ) -> Result<ProgramComparison, WorkshopError> {
        Contest { a: untuned, b: tuned, inputs, options: self.options }.measure_kernels(kernels, self.effort.seed)
    }
}

/// Index of a racer, and all its measured times in microseconds.
struct RacerTimes {
    racer: usize,
    samples: Vec<f64>,
}

impl RacerTimes {
    /// Returns the shortest time. The shortest time is the best estimate, because disturbances, for
    /// example unfavourable addresses, only make a racer slower.
    fn best(&self) -> f64 {
        self.samples.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// Runs the race between all contenders with right results. Returns each contender's position in
/// the fixed order of contenders, and the contender's predicted and measured times. Returns `None`
/// if the tuning is interrupted.
///
/// # Errors
/// If a racer fails now although it ran before.
pub fn run(
    judged: &JudgedContenders,
    settings: &TuningSettings<'_>,
    timer: &mut dyn Timer,
) -> Result<Option<Vec<(usize, ContenderFigures)>>, WorkshopError> {
    let racers = &judged.racers;
    let Some((finalists, mut figures)) = heats(judged, settings, timer)? else { return Ok(None) };
    let first = finalists.iter().find(|times| times.racer == 0).map_or(f64::INFINITY, RacerTimes::best);
    for times in finalists {
        let (racer, alone) = (times.racer, times.best());
        let outcome = match racer {
            0 => RaceOutcome::First { us: alone },
            // This racer is so slow that pairs of times would not show that it is faster.
            _ if alone > first * MARGIN => RaceOutcome::Slower { us: alone },
            _ => {
                let ratio = timer.against(&racers[0], &racers[racer], &judged.inputs)?;
                RaceOutcome::Final { us: alone, ratio, in_program: None }
            }
        };
        figures.push(of(&racers[racer], outcome));
        if settings.is_stopped() {
            return Ok(None);
        }
    }
    Ok(Some(figures))
}

/// Runs heats until few racers are left. Never eliminates the first racer, because the final
/// compares the other racers with the first racer.
#[allow(clippy::type_complexity, reason = "those left, and what became of the others")]
fn heats(
    judged: &JudgedContenders,
    settings: &TuningSettings<'_>,
    timer: &mut dyn Timer,
) -> Result<Option<(Vec<RacerTimes>, Vec<(usize, ContenderFigures)>)>, WorkshopError> {
    let racers = &judged.racers;
    let mut left: Vec<RacerTimes> = (0..racers.len()).map(|racer| RacerTimes { racer, samples: Vec::new() }).collect();
    let mut random = SplitMix64(settings.seed);
    let mut figures = Vec::new();
    let mut samples = FIRST_SAMPLES;
    for heat in 0.. {
        if heat > 0 && left.len() <= FINALISTS + 1 {
            break;
        }
        left.sort_by_cached_key(|_| random.bits());
        for times in &mut left {
            if settings.is_stopped() {
                return Ok(None);
            }
            times.samples.extend(timer.time_isolated(&racers[times.racer], &judged.inputs, samples)?);
        }
        let limit = CLEARLY_SLOWER[heat.min(CLEARLY_SLOWER.len() - 1)];
        for times in eliminate(&mut left, limit) {
            figures.push(of(&racers[times.racer], RaceOutcome::Slower { us: times.best() }));
        }
        samples *= 2;
    }
    left.sort_by_key(|times| times.racer);
    Ok(Some((left, figures)))
}

/// Removes the eliminated racers from `left`, and returns them. Eliminates the racers that are
/// clearly slower than the fastest racer. If many racers are left, also eliminates the slower half.
fn eliminate(left: &mut Vec<RacerTimes>, limit: f64) -> Vec<RacerTimes> {
    left.sort_by(|a, b| a.best().total_cmp(&b.best()).then(a.racer.cmp(&b.racer)));
    let fastest = left.first().map_or(0.0, RacerTimes::best);
    let most = left.len().div_ceil(2).max(FINALISTS);
    let (mut place, mut gone) = (0, Vec::new());
    left.retain_mut(|times| {
        let stays = times.racer == 0 || place < most && times.best() <= limit * fastest;
        place += 1;
        if !stays {
            gone.push(RacerTimes { racer: times.racer, samples: std::mem::take(&mut times.samples) });
        }
        stays
    });
    gone
}

fn of(racer: &Racer, outcome: RaceOutcome) -> (usize, ContenderFigures) {
    (racer.place, ContenderFigures::of(racer.name.clone(), racer.predicted_us, outcome))
}

/// Returns the winner; `None` if no contender has a right result. Only the first contender, and
/// contenders that are significantly faster than the first contender, can win. Several contenders
/// may be about as fast as the fastest contender: the measurements do not show a difference above
/// the margin. In a repeated race, any contender that is about as fast as the fastest contender
/// could become the fastest. The winner is the first contender in the fixed order that is about as
/// fast as the fastest contender.
pub fn winner(figures: &[ContenderFigures]) -> Option<&str> {
    let ratio = |figures: &ContenderFigures| match &figures.outcome {
        RaceOutcome::Final { ratio, .. } if Verdict::of(ratio) == Verdict::Faster => Some(*ratio),
        RaceOutcome::First { .. } | RaceOutcome::Alone => Some(Interval { low: 1.0, ratio: 1.0, high: 1.0 }),
        _ => None,
    };
    // Each contender was measured against the first contender, not against other contenders.
    // Therefore two contenders are compared by the intervals of their ratios.
    let fastest = figures.iter().filter_map(ratio).min_by(|a, b| a.ratio.total_cmp(&b.ratio))?;
    let is_as_fast = |it: &&ContenderFigures| ratio(it).is_some_and(|ratio| ratio.low <= fastest.high * MARGIN);
    figures.iter().find(is_as_fast).map(|figures| figures.contender.as_str())
}

/// Returns the winner's time divided by the time of the first contender. The ratio is 1 if the
/// first contender is the winner.
pub fn ratio(figures: &[ContenderFigures], winner: &str) -> Interval {
    let same = Interval { low: 1.0, ratio: 1.0, high: 1.0 };
    let found = figures.iter().find(|figures| figures.contender == winner);
    match found.map(|figures| &figures.outcome) {
        Some(RaceOutcome::Final { ratio, .. }) => *ratio,
        _ => same,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn final_of(name: &str, ratio: f64) -> ContenderFigures {
        let ratio = Interval { low: ratio * 0.99, ratio, high: ratio * 1.01 };
        ContenderFigures::of(name.into(), 1.0, RaceOutcome::Final { us: 10.0 * ratio.ratio, ratio, in_program: None })
    }

    #[test]
    fn who_is_surely_faster_wins_and_ties_go_by_the_order() {
        let first = || ContenderFigures::of("first".into(), 1.0, RaceOutcome::First { us: 10.0 });
        assert_eq!(winner(&[first(), final_of("a", 0.985)]), Some("first"), "1.5 % is nothing");
        assert_eq!(winner(&[first(), final_of("a", 0.81), final_of("b", 0.80)]), Some("a"));
        assert_eq!(winner(&[first(), final_of("a", 0.85), final_of("b", 0.80)]), Some("b"));
        let rough = |name: &str| {
            let ratio = Interval { low: 0.78, ratio: 0.85, high: 0.95 };
            ContenderFigures::of(name.into(), 1.0, RaceOutcome::Final { us: 8.5, ratio, in_program: None })
        };
        assert_eq!(
            winner(&[first(), rough("a"), final_of("b", 0.80)]),
            Some("a"),
            "it may be the fastest another time"
        );
        let unsure = Interval { low: 0.7, ratio: 0.8, high: 1.1 };
        let unsure =
            ContenderFigures::of("a".into(), 1.0, RaceOutcome::Final { us: 8.0, ratio: unsure, in_program: None });
        assert_eq!(winner(&[first(), unsure]), Some("first"));
        let wrong = ContenderFigures::of("wrong".into(), 1.0, RaceOutcome::Refused("wrong".into()));
        assert_eq!(winner(std::slice::from_ref(&wrong)), None);
        assert_eq!(winner(&[wrong, first()]), Some("first"));
    }

    #[test]
    fn the_slower_half_leaves_and_the_first_stays() {
        let times = |racer: usize, us: f64| RacerTimes { racer, samples: vec![us] };
        let mut left: Vec<RacerTimes> = (0..10).map(|racer| times(racer, 20.0 - racer as f64)).collect();
        let gone = eliminate(&mut left, 2.0);
        assert_eq!(left.iter().map(|it| it.racer).collect::<Vec<_>>(), [9, 8, 7, 6, 5, 0]);
        assert_eq!(gone.len(), 4);
        let mut left = vec![times(0, 10.0), times(1, 16.0), times(2, 9.0)];
        assert_eq!(eliminate(&mut left, 1.5).iter().map(|it| it.racer).collect::<Vec<_>>(), [1]);
    }
}
