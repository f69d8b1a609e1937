//! How far factorisations are off, in units of `n * u * norm`, and what is too far.

use super::matrices::{Case, Mat, unit};

/// The largest error of each kind, and the case that had it.
#[derive(Default)]
pub struct Worst(Vec<(&'static str, f64, String)>);

impl Worst {
    /// Notes an error relative to `n * u * norm`.
    pub fn note(&mut self, kind: &'static str, case: &Case, error: f64, norm: f64) {
        let size = case.matrix.nrows().max(case.matrix.ncols()).max(1) as f64;
        let relative = if error == 0.0 { 0.0 } else { error / (size * unit(case.ty) * norm) };
        let what = || format!("{} {} {}x{}", case.ty, case.family, case.matrix.nrows(), case.matrix.ncols());
        match self.0.iter_mut().find(|(known, ..)| *known == kind) {
            None => self.0.push((kind, relative, what())),
            // What is not a number is the worst of all.
            Some(entry) if relative > entry.1 || relative.is_nan() => *entry = (kind, relative, what()),
            Some(_) => {}
        }
    }

    /// Fails if an error is beyond its bound.
    pub fn check(&self, bounds: &[(&str, f64)]) {
        self.0.iter().for_each(|(kind, error, case)| println!("{kind}: {error:.3} ({case})"));
        for (kind, error, case) in &self.0 {
            let bound = bounds.iter().find(|(known, _)| known == kind).map_or(0.0, |(_, bound)| *bound);
            assert!(*error <= bound, "{kind}: {error} n u norm of {case}, at most {bound} is good");
        }
        assert_eq!(self.0.len(), bounds.len(), "a kind of error was not seen");
    }
}

/// How far the columns are from orthonormal.
pub fn departure(q: &Mat) -> f64 {
    (q.adjoint() * q - Mat::identity(q.ncols(), q.ncols())).norm_l2()
}
