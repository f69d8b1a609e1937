//! Reduction to Hessenberg form.

use super::Matrix;
use super::householder::{apply_left, apply_right, reflector};
use crate::number::Complex;

/// Computes `Qᴴ A Q` with zeros below the first subdiagonal in rows and columns `low..high`. Below
/// the first subdiagonal, the first result stores the reflectors' tails instead of zeros. The
/// second result contains the taus of the reflectors.
pub(crate) fn hessenberg(mut a: Matrix, low: usize, high: usize) -> (Matrix, Vec<Complex>) {
    let n = a.rows;
    let mut taus = vec![Complex::ZERO; n.saturating_sub(1)];
    for (j, tau) in taus.iter_mut().enumerate().take(high.saturating_sub(1)).skip(low) {
        let below: Vec<Complex> = (j + 2..high).map(|r| a.get(r, j)).collect();
        let h = reflector(a.get(j + 1, j), &below);
        *tau = h.tau;
        apply_right(&mut a, &h.tail, h.tau, j + 1, 0..high);
        apply_left(&mut a, &h.tail, h.tau.conjugate(), j + 1, j + 1..n);
        a.set(j + 1, j, h.beta);
        h.tail.iter().enumerate().for_each(|(i, v)| a.set(j + 2 + i, j, *v));
    }
    (a, taus)
}
