//! Reports the time that tuning saves, and the emitters that save it.

use std::collections::BTreeMap;
use std::io::{self, Write};

use fusebox_core::times::microseconds;

use super::choice::StoredChoice;
use super::database::{ContenderFigures, RaceOutcome};
use super::misprediction::{self, FASTER};
use super::tuned::{DecisionOrigin, TunedQuestion, gained};
use crate::statistics::median;

/// The result of tuning a program.
#[derive(Clone, Debug, Default)]
pub struct TuningReport {
    /// The program's file.
    pub module: String,
    /// The decisions about cuts, followed by the decisions about fusions. The decisions about cuts
    /// are in the order in which tuning made them, and so are the decisions about fusions.
    pub rows: Vec<TunedQuestion>,
    /// Number of fusions whose emitter the user has chosen.
    pub chosen_by_user: usize,
    /// Number of fusions and regions for which an interrupt prevented a decision.
    pub interrupted: usize,
    /// Warnings of the compiler and of tuning.
    pub warnings: Vec<String>,
}

/// Writes how much faster tuning makes the kernels: for each fusion whose choice has changed, for
/// each emitter, and in total. Also lists the rejected contenders.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_summary(out: &mut dyn Write, reports: &[TuningReport]) -> io::Result<()> {
    let rows = || reports.iter().flat_map(|report| report.rows.iter().map(move |row| (report, row)));
    for (report, row) in rows() {
        let StoredChoice { fusion, spec, instead_of } = &row.decision.chosen;
        let fusion = if row.is_cut() { format!("around {fusion}") } else { fusion.clone() };
        if row.is_changed() {
            let gain =
                if row.decision.figures.is_empty() { "as it was imported".to_owned() } else { gained(row.ratio()) };
            let in_program = row.in_program(spec).map_or(String::new(), |it| format!(", {it} in the whole program"));
            writeln!(out, "{} {fusion}: {spec} instead of {instead_of}, {gain}{in_program}", report.module)?;
            misprediction::why(row).map_or(Ok(()), |why| writeln!(out, "  {why}"))?;
        }
        for figures in row.decision.figures.iter().filter(|figures| figures.contender != *spec) {
            if let Some(found) = row.in_program(&figures.contender) {
                let name = &figures.contender;
                writeln!(
                    out,
                    "{} {fusion}: {name} is faster alone, but {found} in the whole program: {spec} is kept",
                    report.module
                )?;
            }
        }
        for figures in &row.decision.figures {
            if let RaceOutcome::Refused(reason) = &figures.outcome {
                let reason = reason.lines().next().unwrap_or_default();
                writeln!(out, "{} {fusion}: {} is refused: {reason}", report.module, figures.contender)?;
            }
        }
        if row.origin == DecisionOrigin::Nobody {
            writeln!(out, "{} {fusion}: no emitter computes it correctly; no choice is kept", report.module)?;
        }
    }
    let fusions = || rows().map(|(_, row)| row).filter(|row| !row.is_cut());
    let cuts = || rows().map(|(_, row)| row).filter(|row| row.is_cut());
    by_emitter(out, fusions())?;
    let (all, changed) = (fusions().count(), fusions().filter(|row| row.is_changed()).count());
    let known = fusions().filter(|row| row.origin == DecisionOrigin::Known).count();
    let users: usize = reports.iter().map(|report| report.chosen_by_user).sum();
    let users = if users > 0 { format!("; {users} more are chosen by the user") } else { String::new() };
    writeln!(out, "{all} fusions, {known} of them known, {changed} with another choice than untuned{users}")?;
    if cuts().next().is_some() {
        let (all, changed) = (cuts().count(), cuts().filter(|row| row.is_changed()).count());
        writeln!(out, "{all} regions that can be cut in several ways, {changed} cut differently than untuned")?;
    }
    let timed = || fusions().filter_map(|row| Some((row, row.first_us()? * row.uses as f64)));
    // Tuning times the fusions that result from the chosen cuts. Where tuning has changed a cut,
    // the untuned program has other fusions.
    let gained_by = |row: &TunedQuestion| Some(row.first_us()? * (1.0 - row.ratio().ratio) * row.uses as f64);
    let by_cuts: f64 = cuts().filter(|row| row.is_changed()).filter_map(gained_by).sum();
    let before: f64 = timed().map(|(_, us)| us).sum::<f64>() + by_cuts;
    let after: f64 = timed().map(|(row, us)| us * row.ratio().ratio).sum();
    if before > 0.0 {
        let (before, after) = (microseconds(before, 1), microseconds(after, 1));
        writeln!(out, "their kernels together: {before} us untuned, {after} us tuned")?;
    }
    Ok(())
}

/// Writes a line for each emitter that replaced another emitter. The emitter with the most wins
/// comes first.
fn by_emitter<'a>(out: &mut dyn Write, rows: impl Iterator<Item = &'a TunedQuestion>) -> io::Result<()> {
    let mut gains: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for row in rows.filter(|row| row.is_changed() && !row.decision.figures.is_empty()) {
        let name = row.decision.chosen.spec.split(['@', '{']).next().unwrap_or_default();
        gains.entry(name).or_default().push(row.ratio().ratio);
    }
    let mut gains: Vec<_> = gains.into_iter().collect();
    gains.sort_by_key(|(_, ratios)| std::cmp::Reverse(ratios.len()));
    for (name, ratios) in gains {
        let mean = ratios.iter().map(|ratio| -ratio.ln()).sum::<f64>() / ratios.len() as f64;
        writeln!(
            out,
            "{name} has won {} fusions, {:.2} times as fast in the geometric mean",
            ratios.len(),
            mean.exp()
        )?;
    }
    Ok(())
}

/// Largest number of rows in the table of predictions.
const WORST: usize = 10;

/// Writes a comparison of predicted and measured times: the median error of all contenders, and the
/// largest errors. Also writes how often the predicted times of two contenders have the same order
/// as their measured times.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_predictions(out: &mut dyn Write, reports: &[TuningReport]) -> io::Result<()> {
    let rows = reports.iter().flat_map(|report| report.rows.iter().map(move |row| (report, row)));
    let all = rows.flat_map(|(report, row)| row.decision.figures.iter().map(move |figures| (report, row, figures)));
    let error = |(report, row, figures): (_, _, &'_ ContenderFigures)| {
        let (predicted, measured) = (figures.predicted_us?, figures.measured_us()?);
        Some((measured / predicted, predicted, measured, report, row, figures.contender.clone()))
    };
    let mut errors: Vec<(f64, f64, f64, &TuningReport, &TunedQuestion, String)> = all.filter_map(error).collect();
    errors.sort_by(|a, b| b.0.ln().abs().total_cmp(&a.0.ln().abs()));
    let typical = median(errors.iter().map(|(error, ..)| error.ln().abs()).collect()).exp();
    writeln!(
        out,
        "{} kernels measured, half of them off by less than a factor of {typical:.2}; the worst:",
        errors.len()
    )?;
    for (error, predicted, measured, report, row, of) in errors.into_iter().take(WORST) {
        let name = format!("{} {}", report.module, row.decision.chosen.fusion);
        let factor = error.ln().abs().exp();
        let (predicted, measured) = (microseconds(predicted, 2), microseconds(measured, 2));
        writeln!(out, "  {factor:>8.2}: {predicted} us predicted, {measured} us measured, {name}: {of}")?;
    }
    let known = reports.iter().flat_map(|report| &report.rows).flat_map(ordered);
    let (mut right, mut all) = (0, 0);
    for is_right in known {
        all += 1;
        right += usize::from(is_right);
    }
    if all > 0 {
        let share = 100.0 * f64::from(right as u32) / f64::from(all as u32);
        writeln!(
            out,
            "of {all} pairs for one fusion whose times differ by over 10 %, {share:.1} % are predicted in that order"
        )?;
    }
    Ok(())
}

/// Considers each pair of contenders whose measured times clearly differ. Returns for each pair
/// whether the predicted times have the same order as the measured times.
fn ordered(row: &TunedQuestion) -> Vec<bool> {
    let time = |figures: &ContenderFigures| Some((figures.predicted_us?, figures.measured_us()?));
    let times: Vec<(f64, f64)> = row.decision.figures.iter().filter_map(time).collect();
    let pairs = times.iter().flat_map(|a| times.iter().map(move |b| (a, b)));
    let clear = pairs.filter(|(a, b)| b.1 > a.1 * FASTER);
    clear.map(|(a, b)| a.0 < b.0).collect()
}
