// Registers operations of a dialect at run time, described by data and checked by Rust callbacks.
//
// MLIR's own run-time operations (IRDL) have neither traits nor effects: no terminators, no CSE, no DCE.
// This is the smallest model of an operation that has both.

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/IR/ExtensibleDialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/InliningUtils.h"

#include <mutex>

using namespace mlir;

// MLIR identifies a trait by the name that the compiler prints for it applied to a local class `Empty`. Clang,
// which built MLIR, prints that class's bare name, GCC also where it is. A global one is printed alike by both.
struct Empty {};
template <template <typename> class Trait>
static bool isTrait(TypeID id) {
  return id == TypeID::get<Trait<Empty>>();
}

extern "C" {

// Keep in step with `Trait` and `Effect` in src/dialect/registration.rs.
enum FuseboxTrait : uint32_t { kTerminator = 1, kSingleBlock = 2, kRecursiveEffects = 4 };
enum FuseboxEffect : uint32_t { kNone = 0, kRead = 1, kWrite = 2, kAllocate = 4, kUnknown = 8 };

struct FuseboxOperation {
  MlirStringRef name;
  uint32_t traits;
  uint32_t effects;
  MlirLogicalResult (*verify)(MlirOperation);
};
}

namespace {

template <uint32_t kEffects>
struct Effects : MemoryEffectOpInterface::FallbackModel<Effects<kEffects>> {
  void getEffects(Operation *,
                  SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) const {
    if (kEffects & kRead)
      effects.emplace_back(MemoryEffects::Read::get());
    if (kEffects & kWrite)
      effects.emplace_back(MemoryEffects::Write::get());
    if (kEffects & kAllocate)
      effects.emplace_back(MemoryEffects::Allocate::get());
  }
};

struct AlwaysSpeculatable : ConditionallySpeculatable::FallbackModel<AlwaysSpeculatable> {
  Speculation::Speculatability getSpeculatability(Operation *) const {
    return Speculation::Speculatable;
  }
};

struct InlineEverything : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Operation *, bool) const final { return true; }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final { return true; }
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final { return true; }
};

TypeID freshTypeID() {
  static std::mutex mutex;
  static auto *allocator = new TypeIDAllocator;
  std::lock_guard<std::mutex> guard(mutex);
  return allocator->allocate();
}

mlir::detail::InterfaceMap interfacesFor(uint32_t effects) {
  mlir::detail::InterfaceMap map;
  switch (effects) {
  case kNone:
    map.insertModels<Effects<kNone>, AlwaysSpeculatable>();
    break;
  case kRead:
    map.insertModels<Effects<kRead>>();
    break;
  case kWrite:
    map.insertModels<Effects<kWrite>>();
    break;
  case kRead | kWrite:
    map.insertModels<Effects<kRead | kWrite>>();
    break;
  case kAllocate:
    map.insertModels<Effects<kAllocate>>();
    break;
  default: // unknown effects: no interface, so no pass touches the operation
    break;
  }
  return map;
}

class DescribedOperation final : public OperationName::Impl {
public:
  DescribedOperation(const FuseboxOperation &described, Dialect *dialect)
      : Impl(StringAttr::get(dialect->getContext(), unwrap(described.name)), dialect, freshTypeID(),
             interfacesFor(described.effects)),
        traits(described.traits), verifyCallback(described.verify) {}

  bool hasTrait(TypeID id) final {
    if ((traits & kTerminator) && (isTrait<OpTrait::IsTerminator>(id) || isTrait<OpTrait::ReturnLike>(id)))
      return true;
    if ((traits & kSingleBlock) && isTrait<OpTrait::SingleBlock>(id))
      return true;
    return (traits & kRecursiveEffects) && isTrait<OpTrait::HasRecursiveMemoryEffects>(id);
  }

  LogicalResult verifyInvariants(Operation *op) final { return unwrap(verifyCallback(wrap(op))); }

  LogicalResult verifyRegionInvariants(Operation *op) final {
    if (traits & kSingleBlock)
      for (Region &region : op->getRegions())
        if (!region.hasOneBlock())
          return op->emitOpError("expects regions of one block");
    return success();
  }

  OperationName::ParseAssemblyFn getParseAssemblyFn() final {
    return [](OpAsmParser &parser, OperationState &) -> ParseResult {
      return parser.emitError(parser.getNameLoc(), "is written in generic form: \"dialect.operation\"(...)");
    };
  }
  void printAssembly(Operation *op, OpAsmPrinter &printer, StringRef) final { printer.printGenericOp(op); }

  LogicalResult foldHook(Operation *, ArrayRef<Attribute>, SmallVectorImpl<OpFoldResult> &) final {
    return failure();
  }
  void getCanonicalizationPatterns(RewritePatternSet &, MLIRContext *) final {}

  // Attributes are all discardable; there are no properties.
  void populateDefaultAttrs(const OperationName &, NamedAttrList &) final {}
  std::optional<Attribute> getInherentAttr(Operation *, StringRef) final { return std::nullopt; }
  void setInherentAttr(Operation *op, StringAttr name, Attribute value) final {
    op->setDiscardableAttr(name, value);
  }
  void populateInherentAttrs(Operation *, NamedAttrList &) final {}
  LogicalResult verifyInherentAttrs(OperationName, NamedAttrList &,
                                    function_ref<InFlightDiagnostic()>) final {
    return success();
  }
  int getOpPropertyByteSize() final { return 0; }
  void initProperties(OperationName, OpaqueProperties, OpaqueProperties) final {}
  void deleteProperties(OpaqueProperties) final {}
  void populateDefaultProperties(OperationName, OpaqueProperties) final {}
  LogicalResult setPropertiesFromAttr(OperationName, OpaqueProperties, Attribute,
                                      function_ref<InFlightDiagnostic()> emitError) final {
    emitError() << "takes its attributes in braces, without angle brackets";
    return failure();
  }
  Attribute getPropertiesAsAttr(Operation *) final { return {}; }
  void copyProperties(OpaqueProperties, OpaqueProperties) final {}
  bool compareProperties(OpaqueProperties, OpaqueProperties) final { return true; }
  llvm::hash_code hashProperties(OpaqueProperties) final { return llvm::hash_code(0); }

private:
  uint32_t traits;
  MlirLogicalResult (*verifyCallback)(MlirOperation);
};

} // namespace

extern "C" void fuseboxRegisterOperations(MlirContext context, MlirStringRef dialectName,
                                          const FuseboxOperation *operations, size_t count) {
  DynamicDialect *dialect = unwrap(context)->getOrLoadDynamicDialect(
      unwrap(dialectName),
      [](DynamicDialect *dialect) { dialect->addInterface(std::make_unique<InlineEverything>(dialect)); });
  for (size_t i = 0; i < count; ++i)
    RegisteredOperationName::insert(std::make_unique<DescribedOperation>(operations[i], dialect), {});
}

extern "C" void fuseboxEmitError(MlirOperation op, MlirStringRef message) {
  unwrap(op)->emitOpError(unwrap(message));
}
