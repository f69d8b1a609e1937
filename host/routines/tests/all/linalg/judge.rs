//! Records errors of factorisations, in units of `n * u * norm`, and compares them with bounds.

use super::matrices::{Mat, ScaledMatrix, unit};

/// For each kind of error, the largest error and the case in which it occurred.
#[derive(Default)]
pub struct WorstErrors(Vec<(&'static str, f64, String)>);

impl WorstErrors {
    /// Records an error relative to `n * u * norm`.
    pub fn note(&mut self, kind: &'static str, case: &ScaledMatrix, error: f64, norm: f64) {
        let size = case.matrix.nrows().max(case.matrix.ncols()).max(1) as f64;
        let relative = if error == 0.0 { 0.0 } else { error / (size * unit(case.ty) * norm) };
        let what = || format!("{} {} {}x{}", case.ty, case.family, case.matrix.nrows(), case.matrix.ncols());
        match self.0.iter_mut().find(|(known, ..)| *known == kind) {
            None => self.0.push((kind, relative, what())),
            // NaN counts as the largest error.
            Some(entry) if relative > entry.1 || relative.is_nan() => *entry = (kind, relative, what()),
            Some(_) => {}
        }
    }

    /// Fails if an error exceeds its bound.
    pub fn check(&self, bounds: &[(&str, f64)]) {
        self.0.iter().for_each(|(kind, error, case)| println!("{kind}: {error:.3} ({case})"));
        for (kind, error, case) in &self.0 {
            let bound = bounds.iter().find(|(known, _)| known == kind).map_or(0.0, |(_, bound)| *bound);
            assert!(*error <= bound, "{kind}: {error} n u norm of {case}, at most {bound} is good");
        }
        assert_eq!(self.0.len(), bounds.len(), "a kind of error was not seen");
    }
}

/// Returns how far the columns are from orthonormal columns.
pub fn departure(q: &Mat) -> f64 {
    (q.adjoint() * q - Mat::identity(q.ncols(), q.ncols())).norm_l2()
}
