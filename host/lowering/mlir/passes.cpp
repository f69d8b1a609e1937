// Registers MLIR's passes on the dialects of the kernel IR, the conversions of these dialects to the
// dialect `llvm`, and the translation of this dialect to LLVM IR. MLIR's own functions register the
// passes and translations of all dialects. With them, the program would be twice as large.

#include "mlir-c/IR.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/CAPI/IR.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Affine/Transforms/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"
// Needs the headers above.
#include "mlir/Dialect/Vector/Transforms/VectorTransformsEnums.h.inc"

// The conversions are registered by what creates each of them, as MLIR's `Conversion/Passes.h` does.
// The header itself includes the conversions of all dialects and takes 20 s to compile. The headers
// of the passes that are declared here define whole dialects, and took a third of the time to
// compile this file.
namespace mlir {
std::unique_ptr<Pass> createConvertComplexToStandardPass();
std::unique_ptr<Pass> createConvertVectorToLLVMPass();
namespace vector {
std::unique_ptr<Pass> createLowerVectorMaskPass();
std::unique_ptr<Pass> createLowerVectorMultiReductionPass(VectorMultiReductionLowering option);
std::unique_ptr<Pass> createLowerVectorToFromElementsToShuffleTree();
} // namespace vector
} // namespace mlir

// Registers the passes. Call it once per process.
extern "C" void fusebox_register_passes() {
  mlir::registerTransformsPasses();
  mlir::affine::registerAffinePasses();
  mlir::arith::registerArithPasses();
  mlir::func::registerFuncPasses();
  mlir::math::registerMathPasses();
  mlir::registerSCFPasses();
  mlir::registerPass([] { return mlir::vector::createLowerVectorMaskPass(); });
  mlir::registerPass([] {
    using mlir::vector::VectorMultiReductionLowering;
    return mlir::vector::createLowerVectorMultiReductionPass(VectorMultiReductionLowering::InnerParallel);
  });
  mlir::registerPass([] { return mlir::vector::createLowerVectorToFromElementsToShuffleTree(); });
  mlir::registerPass([] { return mlir::createConvertComplexToStandardPass(); });
  mlir::registerPass([] { return mlir::createLowerAffinePass(); });
  mlir::registerPass([] { return mlir::createSCFToControlFlowPass(); });
  mlir::registerPass([] { return mlir::createConvertVectorToLLVMPass(); });
  mlir::registerPass([] { return mlir::createConvertMathToLLVMPass(); });
  mlir::registerPass([] { return mlir::createArithToLLVMConversionPass(); });
  mlir::registerPass([] { return mlir::createConvertControlFlowToLLVMPass(); });
  mlir::registerPass([] { return mlir::createConvertFuncToLLVMPass(); });
  mlir::registerPass([] { return mlir::createReconcileUnrealizedCastsPass(); });
}

// Adds the translations of the dialects that remain after the conversions.
extern "C" void fusebox_insert_translations(MlirDialectRegistry registry) {
  mlir::registerBuiltinDialectTranslation(*unwrap(registry));
  mlir::registerLLVMDialectTranslation(*unwrap(registry));
}

// States facts about loops that the conversions lose. The conversion of a loop copies the attribute
// `llvm.loop_annotation` of the loop to the jump that closes the loop, but the translation reads
// another attribute of the jump. The conversion also forgets that the counter of a loop, which is the
// first value that the jump passes on, does not overflow.
extern "C" void fusebox_annotate_loops(MlirOperation module) {
  mlir::Attribute noWish = mlir::parseAttribute("#llvm.loop_annotation<>", unwrap(module)->getContext());
  unwrap(module)->walk([noWish](mlir::LLVM::BrOp jump) {
    auto wish = mlir::dyn_cast_or_null<mlir::LLVM::LoopAnnotationAttr>(jump->removeDiscardableAttr("llvm.loop_annotation"));
    if (!wish)
      return;
    if (wish != noWish)
      jump.setLoopAnnotationAttr(wish);
    if (jump.getDestOperands().empty())
      return;
    if (auto step = jump.getDestOperands().front().getDefiningOp<mlir::LLVM::AddOp>())
      step.setOverflowFlags(mlir::LLVM::IntegerOverflowFlags::nsw);
  });
}
