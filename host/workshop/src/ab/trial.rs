//! Compiles one program or fusion with both sides, compares the results and measures the times.

use fusebox_compiler::Source;
use fusebox_core::hlo::Literal;
use fusebox_run::inputs;
use fusebox_runtime::{Binding, Executable, LoadedExecutable, Target};

use super::judge::ResultJudgement;
use super::report::{Comparison, MeasuredTimes};
use super::settings::{ComparisonSettings, Trial};
use super::side::{CompiledSide, Side};
use crate::WorkshopError;
use crate::compare::Agreement;
use crate::measure::{Cache, Contest, DisturbanceWatch, Series};
use crate::roof::{MachineSpeeds, Roof};
use crate::statistics::Summary;

/// Number of times that each side compiles a module. The report states the shortest time.
const COMPILATIONS: usize = 3;
/// A compilation of at least this many milliseconds is not repeated.
const LONG_COMPILATION: f64 = 500.0;

/// One module, compiled by both sides.
pub struct CompiledSides {
    pub a: CompiledSide,
    pub b: CompiledSide,
    /// Whether to measure without the copies of values that kernels update in-place. In a whole
    /// program, perhaps no later instruction reads the old value; then no copy is needed. A fusion
    /// in isolation first copies the value, and this copy may take far longer than the kernel.
    /// Without the copy, the kernel updates the result of its previous execution.
    in_place: bool,
}

impl CompiledSides {
    /// Compiles a program, or a part of one, with both sides.
    ///
    /// # Errors
    /// If a side cannot compile the program, or the shapes of parameters or results differ between
    /// the sides.
    pub fn compile(
        a: &Side,
        b: &Side,
        source: &Source,
        of_part: bool,
        settings: &ComparisonSettings,
    ) -> Result<CompiledSides, WorkshopError> {
        let mut made = (a.compile(source, of_part, settings)?, b.compile(source, of_part, settings)?);
        for _ in 1..COMPILATIONS {
            for (side, made) in [(a, &mut made.0), (b, &mut made.1)] {
                let best = &mut made.figures.compile_ms;
                if *best < LONG_COMPILATION {
                    *best = best.min(side.compile(source, of_part, settings)?.figures.compile_ms);
                }
            }
        }
        let (a, b) = made;
        let shapes = |executable: &Executable| -> Vec<_> {
            executable.parameters.iter().chain([&executable.result]).map(Binding::to_shape).collect()
        };
        if shapes(&a.executable) == shapes(&b.executable) {
            Ok(CompiledSides { a, b, in_place: of_part })
        } else {
            Err(WorkshopError::Interface("the sides disagree on shapes of parameters or results".into()))
        }
    }

    /// Judges the results of both sides and compares them. Also measures the times of both sides,
    /// unless a result is wrong or the target is the simulator.
    ///
    /// # Errors
    /// If the inputs cannot be loaded, or a program fails.
    pub fn compare(
        &self,
        name: &str,
        trial: &Trial<'_>,
        watch: &mut DisturbanceWatch,
    ) -> Result<Comparison, WorkshopError> {
        let settings = trial.settings;
        let (inputs, [of_a, of_b]) = self.results(trial)?;
        let judged = ResultJudgement::of(trial, &inputs, [&of_a, &of_b])?;
        let results = Agreement::of(&of_a, &of_b);
        let target = self.a.executable.target;
        // The time of the simulator is not the time of the kernel. The time of a kernel with a
        // wrong result is worthless.
        let is_timed = target != Target::Simt && !judged.is_wrong();
        let caches: &[Cache] = if is_timed { &[Cache::Warm, Cache::Cold] } else { &[] };
        let (a, b) = (self.timed(&self.a.executable), self.timed(&self.b.executable));
        let contest = Contest { a: &a, b: &b, inputs: &inputs::arrays(&inputs), options: &settings.run };
        let mut machine = MachineSpeeds::new(target, &settings.run);
        let measure = |&cache: &Cache| {
            let series = contest.measure(cache, settings.effort, watch)?;
            let mut roof = |made: &CompiledSide| machine.roof(made.figures.work(), cache);
            Ok(measured(&series, cache, [roof(&self.a)?, roof(&self.b)?]))
        };
        let measured = caches.iter().map(measure).collect::<Result<Vec<_>, WorkshopError>>()?;
        let (a, b) = (self.a.figures.clone(), self.b.figures.clone());
        Ok(Comparison { name: name.to_owned(), a, b, judged, results, measured })
    }

    /// Returns the inputs, and the results of both sides on these inputs.
    fn results(&self, trial: &Trial<'_>) -> Result<(Vec<Literal>, [Literal; 2]), WorkshopError> {
        let run = &trial.settings.run;
        let a = LoadedExecutable::open(self.a.executable.clone(), run)?;
        let values = inputs::load(trial.choice, &a.parameter_shapes())?;
        let arrays = inputs::arrays(&values);
        let of_a = a.run(&arrays)?;
        drop(a);
        let of_b = LoadedExecutable::open(self.b.executable.clone(), run)?.run(&arrays)?;
        Ok((values, [of_a, of_b]))
    }

    fn timed(&self, executable: &Executable) -> Executable {
        let timed = executable.clone();
        if self.in_place { timed.without_copies() } else { timed }
    }
}

fn measured(series: &Series, cache: Cache, roof: [Roof; 2]) -> MeasuredTimes {
    let times: Vec<[f64; 2]> = series.pairs().map(|pair| [pair.a, pair.b]).collect();
    let summary = |side: usize| Summary::of(&times.iter().map(|pair| pair[side]).collect::<Vec<f64>>());
    MeasuredTimes {
        cache,
        a_us: summary(0),
        b_us: summary(1),
        ratio: series.ratio,
        verdict: series.verdict,
        repeated: series.repeated(),
        disturbed: series.disturbed(),
        roof,
        times,
    }
}
