// The dialect `xla_gpu` for MLIR. The dialect defines effects, terminators and verifiers of
// operations. MLIR's passes and the stages of lowering then treat these operations in the same way.
// core/kernel-ir/src/operations.rs lists the operations. A test checks that each operation is registered.

#include "mlir-c/IR.h"
#include "mlir/CAPI/IR.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/InliningUtils.h"

namespace {

using namespace mlir;
using Effects = SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

// MLIR identifies a trait by the name that the C++ compiler gives to `Trait<Empty>`. MLIR was
// compiled by Clang, and GCC gives other names. So the operations compare with the names from
// Clang.
struct TraitNamed : mlir::detail::FallbackTypeIDResolver {
  static TypeID id(StringRef name) { return registerImplicitTypeID(name); }
};

#define HAS_TRAIT(Trait)                                                                                                 \
  static auto getHasTraitFn() {                                                                                          \
    return [](TypeID id) {                                                                                               \
      static const TypeID named = TraitNamed::id("mlir::OpTrait::" #Trait "<Empty>");                                    \
      return id == named;                                                                                                \
    };                                                                                                                   \
  }

// One trait for each effect. All operations with this effect have the trait. `Self` is the
// operation.

// Trait of operations without effects. MLIR may merge equal operations, drop unused operations, and
// hoist operations out of loops that may have no iteration.
template <typename Self>
struct Pure : OpTrait::TraitBase<Self, Pure> {
  void getEffects(Effects &) {}
  Speculation::Speculatability getSpeculatability() { return Speculation::Speculatable; }
};

// Trait of operations that read memory. If the kernel never writes the memory, the read has no
// effect: MLIR may move it, but must not add reads.
template <typename Self>
struct Reads : OpTrait::TraitBase<Self, Reads> {
  void getEffects(Effects &effects) {
    if (!this->getOperation()->hasAttr("invariant"))
      effects.emplace_back(MemoryEffects::Read::get());
  }
  Speculation::Speculatability getSpeculatability() { return Speculation::NotSpeculatable; }
};

template <typename Self>
struct Writes : OpTrait::TraitBase<Self, Writes> {
  void getEffects(Effects &effects) { effects.emplace_back(MemoryEffects::Write::get()); }
  Speculation::Speculatability getSpeculatability() { return Speculation::NotSpeculatable; }
};

// Trait of operations that read and write memory, wait for other threads, or need several threads
// together.
template <typename Self>
struct Memory : OpTrait::TraitBase<Self, Memory> {
  void getEffects(Effects &effects) {
    effects.emplace_back(MemoryEffects::Read::get());
    effects.emplace_back(MemoryEffects::Write::get());
  }
  Speculation::Speculatability getSpeculatability() { return Speculation::NotSpeculatable; }
};

// Trait of operations that allocate memory. Equal operations are separate allocations, so MLIR must
// not merge them.
template <typename Self>
struct Allocates : OpTrait::TraitBase<Self, Allocates> {
  void getEffects(Effects &effects) {
    for (OpResult result : this->getOperation()->getResults())
      effects.emplace_back(MemoryEffects::Allocate::get(), result);
  }
  Speculation::Speculatability getSpeculatability() { return Speculation::NotSpeculatable; }
};

// Checks that MLIR's verifier makes in addition to the checks of an operation's traits.
LogicalResult verifyPureCall(Operation *op) {
  auto callee = op->getAttrOfType<FlatSymbolRefAttr>("callee");
  if (!callee)
    return op->emitOpError("needs the symbol of a function, `callee`");
  return success();
}

LogicalResult verifyApplyIndexing(Operation *op) {
  if (!op->getAttrOfType<StringAttr>("map"))
    return op->emitOpError("needs an indexing map as text, `map`");
  for (Type type : llvm::concat<Type>(llvm::to_vector(op->getOperandTypes()), llvm::to_vector(op->getResultTypes())))
    if (!isa<IndexType>(type))
      return op->emitOpError("takes and gives indices, not ") << type;
  return success();
}

LogicalResult verifyLoop(Operation *op) {
  if (!op->getAttrOfType<StringAttr>("map"))
    return op->emitOpError("needs an indexing map as text, `map`");
  Region &body = op->getRegion(0);
  if (!body.hasOneBlock())
    return op->emitOpError("needs a body of one block");
  Block &block = body.front();
  unsigned results = op->getNumResults();
  if (block.getNumArguments() < results || op->getNumOperands() < results)
    return op->emitOpError("carries more values than its body or its operands have");
  if (block.empty() || block.back().getName().getStringRef() != "xla_gpu.yield")
    return op->emitOpError("needs a body that ends with xla_gpu.yield");
  if (block.back().getOperandTypes() != op->getResultTypes())
    return op->emitOpError("yields other types than its results have");
  for (unsigned at = 0; at < results; ++at) {
    Type carried = op->getResult(at).getType();
    if (op->getOperand(op->getNumOperands() - results + at).getType() != carried ||
        block.getArgument(block.getNumArguments() - results + at).getType() != carried)
      return op->emitOpError("carries ") << carried << " into operands or body arguments of other types";
  }
  return success();
}

LogicalResult verifyNothing(Operation *) { return success(); }

// Defines an operation by its name, number of regions, effect and verifier. The attributes are
// discardable attributes, because fusebox prints them in this form.
#define OPERATION(Class, name, Regions, Effect, verifier)                                                                \
  class Class                                                                                                            \
      : public Op<Class, OpTrait::Regions, OpTrait::VariadicResults, OpTrait::VariadicOperands,                          \
                  ConditionallySpeculatable::Trait, MemoryEffectOpInterface::Trait, Effect> {                            \
  public:                                                                                                                \
    using Op::Op;                                                                                                        \
    static StringRef getOperationName() { return "xla_gpu." name; }                                                      \
    static ArrayRef<StringRef> getAttributeNames() { return {}; }                                                        \
    LogicalResult verify() { return verifier(getOperation()); }                                                          \
  };

OPERATION(WordMulF, "word_mulf", ZeroRegions, Pure, verifyNothing)
OPERATION(WordMulI, "word_muli", ZeroRegions, Pure, verifyNothing)
OPERATION(ReadTile, "read_tile", ZeroRegions, Pure, verifyNothing)
OPERATION(WriteTile, "write_tile", ZeroRegions, Pure, verifyNothing)
OPERATION(ApplyIndexing, "apply_indexing", ZeroRegions, Pure, verifyApplyIndexing)
OPERATION(PredicatedExtract, "predicated_extract", ZeroRegions, Pure, verifyNothing)
OPERATION(PredicatedInsert, "predicated_insert", ZeroRegions, Pure, verifyNothing)
OPERATION(AllocateShared, "allocate_shared", ZeroRegions, Allocates, verifyNothing)
OPERATION(SyncThreads, "sync_threads", ZeroRegions, Memory, verifyNothing)
OPERATION(ShuffleReduce, "shuffle_reduce", ZeroRegions, Memory, verifyNothing)
OPERATION(AtomicRmw, "atomic_rmw", OneRegion, Memory, verifyNothing)
OPERATION(Mma, "mma", ZeroRegions, Memory, verifyNothing)
OPERATION(Wgmma, "wgmma", ZeroRegions, Memory, verifyNothing)
OPERATION(Load, "load", ZeroRegions, Reads, verifyNothing)
OPERATION(Store, "store", ZeroRegions, Writes, verifyNothing)
OPERATION(StackMemory, "stack_memory", ZeroRegions, Allocates, verifyNothing)
OPERATION(SharedMemory, "shared_memory", ZeroRegions, Allocates, verifyNothing)
OPERATION(ConstantMemory, "constant_memory", ZeroRegions, Allocates, verifyNothing)
OPERATION(AtomicCombine, "atomic_combine", ZeroRegions, Memory, verifyNothing)
OPERATION(AtomicStore, "atomic_store", ZeroRegions, Memory, verifyNothing)
OPERATION(Barrier, "barrier", ZeroRegions, Memory, verifyNothing)
OPERATION(ShuffleDown, "shuffle_down", ZeroRegions, Memory, verifyNothing)
OPERATION(ReportAccess, "report_access", ZeroRegions, Memory, verifyNothing)
OPERATION(ReportIndex, "report_index", ZeroRegions, Memory, verifyNothing)
OPERATION(ReportTurn, "report_turn", ZeroRegions, Memory, verifyNothing)
OPERATION(ReportDivision, "report_division", ZeroRegions, Memory, verifyNothing)

// A loop. The effects of a loop are the effects of the loop's body.
class Loop : public Op<Loop, OpTrait::OneRegion, OpTrait::VariadicResults, OpTrait::VariadicOperands, OpTrait::SingleBlock,
                       OpTrait::HasRecursiveMemoryEffects> {
public:
  using Op::Op;
  HAS_TRAIT(HasRecursiveMemoryEffects)
  static StringRef getOperationName() { return "xla_gpu.loop"; }
  static ArrayRef<StringRef> getAttributeNames() { return {}; }
  LogicalResult verify() { return verifyLoop(getOperation()); }
};

class Yield : public Op<Yield, OpTrait::ZeroRegions, OpTrait::ZeroResults, OpTrait::VariadicOperands, OpTrait::IsTerminator,
                        ConditionallySpeculatable::Trait, MemoryEffectOpInterface::Trait, Pure> {
public:
  using Op::Op;
  HAS_TRAIT(IsTerminator)
  static StringRef getOperationName() { return "xla_gpu.yield"; }
  static ArrayRef<StringRef> getAttributeNames() { return {}; }
};

// A call without effects, which MLIR's inliner may replace by the function's body.
class PureCall : public Op<PureCall, OpTrait::ZeroRegions, OpTrait::VariadicResults, OpTrait::VariadicOperands,
                           ConditionallySpeculatable::Trait, MemoryEffectOpInterface::Trait, Pure, ArgAndResultAttrsOpInterface::Trait,
                           CallOpInterface::Trait> {
public:
  using Op::Op;
  static StringRef getOperationName() { return "xla_gpu.pure_call"; }
  static ArrayRef<StringRef> getAttributeNames() { return {}; }
  LogicalResult verify() { return verifyPureCall(getOperation()); }

  CallInterfaceCallable getCallableForCallee() { return (*this)->getAttrOfType<FlatSymbolRefAttr>("callee"); }
  void setCalleeFromCallable(CallInterfaceCallable callee) { (*this)->setAttr("callee", cast<SymbolRefAttr>(callee)); }
  Operation::operand_range getArgOperands() { return (*this)->getOperands(); }
  MutableOperandRange getArgOperandsMutable() { return MutableOperandRange(getOperation()); }
  ArrayAttr getArgAttrsAttr() { return {}; }
  ArrayAttr getResAttrsAttr() { return {}; }
  void setArgAttrsAttr(ArrayAttr) {}
  void setResAttrsAttr(ArrayAttr) {}
  Attribute removeArgAttrsAttr() { return {}; }
  Attribute removeResAttrsAttr() { return {}; }
};

struct InlineAnything : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Operation *, bool) const final { return true; }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final { return true; }
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final { return true; }
};

class XlaGpu : public Dialect {
public:
  static StringRef getDialectNamespace() { return "xla_gpu"; }
  explicit XlaGpu(MLIRContext *context) : Dialect(getDialectNamespace(), context, TypeID::get<XlaGpu>()) {
    addOperations<WordMulF, WordMulI, ReadTile, WriteTile, ApplyIndexing, PredicatedExtract, PredicatedInsert,
                  AllocateShared, SyncThreads, ShuffleReduce, AtomicRmw, Mma, Wgmma, Load, Store, StackMemory,
                  SharedMemory, ConstantMemory, AtomicCombine, AtomicStore, Barrier, ShuffleDown, ReportAccess,
                  ReportIndex, ReportTurn, ReportDivision, Loop, Yield, PureCall>();
    addInterfaces<InlineAnything>();
  }
};

} // namespace

// Adds the dialect to a registry. Also registers the extension that lets MLIR inline functions of
// the dialect `func`.
extern "C" void fusebox_insert_xla_gpu(MlirDialectRegistry registry) {
  unwrap(registry)->insert<XlaGpu>();
  func::registerInlinerExtension(*unwrap(registry));
}
