//! Implements the LAPACK functions that JAX calls on cpus, for example `lapack_dgetrf_ffi`.
//!
//! Operands and results have leading batch dimensions. The results have LAPACK's format. Factors
//! are packed into one matrix, pivots are numbered from 1, and each reflector has a scalar factor
//! (tau). The last result of most functions is a status, which is zero on success.

mod attributes;
mod call;
mod condensed;
mod eigen;
mod orthogonal;
mod shapes;
mod solve;
mod triangular;

use fusebox_core::hlo::{ElementType, Op};

use crate::{Operation, Routine, Unsupported};
pub use solve::{make_cholesky, make_triangular_solve};
pub use triangular::TriangularSystem;

/// Calls `$make` with the Rust type of the element type `$ty`.
macro_rules! for_type {
    ($ty:expr, $make:ident($($argument:expr),*)) => {
        match $ty {
            ElementType::F32 => $make::<f32>($($argument),*),
            ElementType::F64 => $make::<f64>($($argument),*),
            ElementType::C64 => $make::<num_complex::Complex<f32>>($($argument),*),
            ElementType::C128 => $make::<num_complex::Complex<f64>>($($argument),*),
            ty => Err(Unsupported::new(format!("elements of {ty}"))),
        }
    };
}
use for_type;

/// Creates the routine of a custom call with a target `lapack_…_ffi`.
pub fn make(operation: &Operation) -> Result<Box<dyn Routine>, Unsupported> {
    let Op::CustomCall(call) = &operation.instruction.op else {
        return Err(Unsupported::new("a LAPACK function that is not called"));
    };
    let unknown = || Unsupported::new("this target");
    let name = call.target.strip_prefix("lapack_").and_then(|name| name.strip_suffix("_ffi")).ok_or_else(unknown)?;
    let (prefix, function) = name.split_at_checked(1).ok_or_else(unknown)?;
    let ty = operation.argument(0)?.element_type;
    let letter = match ty {
        ElementType::F32 => "s",
        ElementType::F64 => "d",
        ElementType::C64 => "c",
        ElementType::C128 => "z",
        _ => "",
    };
    if prefix != letter {
        return Err(Unsupported::new(format!("elements of {ty}")));
    }
    match function {
        "potrf" => for_type!(ty, potrf(operation)),
        "getrf" => for_type!(ty, getrf(operation)),
        "trsm" => for_type!(ty, trsm(operation)),
        "gtsv" => for_type!(ty, gtsv(operation)),
        "geqrf" => for_type!(ty, geqrf(operation)),
        "geqp3" => for_type!(ty, geqp3(operation)),
        "orgqr" | "ungqr" => for_type!(ty, orgqr(operation)),
        "ormqr" | "unmqr" => for_type!(ty, ormqr(operation)),
        "gehrd" => for_type!(ty, gehrd(operation)),
        "sytrd" | "hetrd" => for_type!(ty, sytrd(operation)),
        "syevd" | "heevd" => for_type!(ty, syevd(operation)),
        "gesdd" | "gesvd" => for_type!(ty, gesdd(operation)),
        "gees" => for_type!(ty, gees(operation)),
        "geev" => for_type!(ty, geev(operation)),
        _ => Err(unknown()),
    }
}

use condensed::{gehrd, sytrd};
use eigen::{gees, geev, gesdd, syevd};
use orthogonal::{geqp3, geqrf, orgqr, ormqr};
use solve::{getrf, gtsv, potrf, trsm};
