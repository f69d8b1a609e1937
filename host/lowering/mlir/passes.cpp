// Registers MLIR's passes on the dialects of the kernel IR. MLIR's own function registers the
// passes of all dialects. With it, the program would be twice as large.

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/Transforms/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/Transforms/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Dialect/Vector/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

// Registers the passes. Call it once per process.
extern "C" void fusebox_register_passes() {
  mlir::registerTransformsPasses();
  mlir::affine::registerAffinePasses();
  mlir::arith::registerArithPasses();
  mlir::func::registerFuncPasses();
  mlir::math::registerMathPasses();
  mlir::registerSCFPasses();
  mlir::vector::registerVectorPasses();
  mlir::registerConvertComplexToStandardPass();
  mlir::registerLowerAffinePass();
  mlir::registerSCFToControlFlowPass();
}
