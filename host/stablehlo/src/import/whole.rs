//! Operations that compute all elements of their results together.

use fusebox_core::hlo::{InstrId, Op, Transpose};

use super::Imported;
use super::call::Call;

/// Adds a Fourier transform, a factorisation, a triangular solve or a normalisation.
pub(super) fn whole(call: &mut Call) -> Imported<InstrId> {
    let operation = call.operation;
    let epsilon = || operation.float("epsilon").map(|it| it as f32);
    let feature_index = || operation.integer("feature_index");
    let op = match &*operation.name {
        "batch_norm_grad" => Op::BatchNormGrad { epsilon: epsilon()?, feature_index: feature_index()? },
        "batch_norm_inference" => Op::BatchNormInference { epsilon: epsilon()?, feature_index: feature_index()? },
        "batch_norm_training" => Op::BatchNormTraining { epsilon: epsilon()?, feature_index: feature_index()? },
        "cholesky" => Op::Cholesky { lower: operation.flag("lower")? },
        "fft" => Op::Fft { kind: operation.named("fft_type")?, length: operation.integers("fft_length")? },
        _ => Op::TriangularSolve {
            left_side: operation.flag("left_side")?,
            lower: operation.flag("lower")?,
            unit_diagonal: operation.flag("unit_diagonal")?,
            transpose_a: operation.named::<Transpose>("transpose_a")?,
        },
    };
    call.push(op)
}
