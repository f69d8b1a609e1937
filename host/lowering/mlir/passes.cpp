// MLIR's passes on the dialects of the kernel IR. MLIR's own list has all passes of all dialects: a
// program that contains MLIR would be twice as large with it.

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/Transforms/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/Transforms/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Dialect/Vector/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

// Registers the passes. To be called once in a process.
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
