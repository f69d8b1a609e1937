// Where maps put together compute again what their operands do, each is computed from the values of its operands.
// target: cpu
func.func @k(%a: !llvm.ptr {fusebox.bytes = 4096 : i64, fusebox.read_only}, %out: !llvm.ptr {fusebox.bytes = 4096 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 6, 10>} {
  %r0 = gpu.block_id x
  %c0 = gpu.thread_id x
  %r1, %c1 = "xla_gpu.apply_indexing"(%r0, %c0) {map = "(d0, d1) -> ((50 - d0 * 10 + d1) floordiv 12, (50 - d0 * 10 + d1) mod 12), domain: d0 in [0, 5], d1 in [0, 9]"} : (index, index) -> (index, index)
  %r2, %c2 = "xla_gpu.apply_indexing"(%r1, %c1) {map = "(d0, d1) -> ((d1 * 5 + d0) floordiv 10, 9 - (d1 * 5 + d0) mod 10), domain: d0 in [0, 4], d1 in [0, 11]"} : (index, index) -> (index, index)
  %r3, %c3 = "xla_gpu.apply_indexing"(%r2, %c2) {map = "(d0, d1) -> ((50 - d0 * 10 + d1) floordiv 12, (50 - d0 * 10 + d1) mod 12), domain: d0 in [0, 5], d1 in [0, 9]"} : (index, index) -> (index, index)
  %r4, %c4 = "xla_gpu.apply_indexing"(%r3, %c3) {map = "(d0, d1) -> ((d1 * 5 + d0) floordiv 10, 9 - (d1 * 5 + d0) mod 10), domain: d0 in [0, 4], d1 in [0, 11]"} : (index, index) -> (index, index)
  %r5, %c5 = "xla_gpu.apply_indexing"(%r4, %c4) {map = "(d0, d1) -> ((50 - d0 * 10 + d1) floordiv 12, (50 - d0 * 10 + d1) mod 12), domain: d0 in [0, 5], d1 in [0, 9]"} : (index, index) -> (index, index)
  %r6, %c6 = "xla_gpu.apply_indexing"(%r5, %c5) {map = "(d0, d1) -> ((d1 * 5 + d0) floordiv 10, 9 - (d1 * 5 + d0) mod 10), domain: d0 in [0, 4], d1 in [0, 11]"} : (index, index) -> (index, index)
  %r7, %c7 = "xla_gpu.apply_indexing"(%r6, %c6) {map = "(d0, d1) -> ((50 - d0 * 10 + d1) floordiv 12, (50 - d0 * 10 + d1) mod 12), domain: d0 in [0, 5], d1 in [0, 9]"} : (index, index) -> (index, index)
  %r8, %c8 = "xla_gpu.apply_indexing"(%r7, %c7) {map = "(d0, d1) -> ((d1 * 5 + d0) floordiv 10, 9 - (d1 * 5 + d0) mod 10), domain: d0 in [0, 4], d1 in [0, 11]"} : (index, index) -> (index, index)
  %r9, %c9 = "xla_gpu.apply_indexing"(%r8, %c8) {map = "(d0, d1) -> ((50 - d0 * 10 + d1) floordiv 12, (50 - d0 * 10 + d1) mod 12), domain: d0 in [0, 5], d1 in [0, 9]"} : (index, index) -> (index, index)
  %r10, %c10 = "xla_gpu.apply_indexing"(%r9, %c9) {map = "(d0, d1) -> ((d1 * 5 + d0) floordiv 10, 9 - (d1 * 5 + d0) mod 10), domain: d0 in [0, 4], d1 in [0, 11]"} : (index, index) -> (index, index)
  %r11, %c11 = "xla_gpu.apply_indexing"(%r10, %c10) {map = "(d0, d1) -> ((50 - d0 * 10 + d1) floordiv 12, (50 - d0 * 10 + d1) mod 12), domain: d0 in [0, 5], d1 in [0, 9]"} : (index, index) -> (index, index)
  %r12, %c12 = "xla_gpu.apply_indexing"(%r11, %c11) {map = "(d0, d1) -> ((d1 * 5 + d0) floordiv 10, 9 - (d1 * 5 + d0) mod 10), domain: d0 in [0, 4], d1 in [0, 11]"} : (index, index) -> (index, index)
  %ten = arith.constant 10 : index
  %row = arith.muli %r12, %ten : index
  %at = arith.addi %row, %c12 : index
  %x = "xla_gpu.load"(%a, %at) {alignment = 64 : i64} : (!llvm.ptr, index) -> f32
  "xla_gpu.store"(%x, %out, %at) {alignment = 64 : i64} : (f32, !llvm.ptr, index) -> ()
  func.return
}

// -----
"func.func"() ({
^bb0(%0: !llvm.ptr, %1: !llvm.ptr):
  %2 = "gpu.block_id"() {dimension = #gpu<dim x>} : () -> index
  %3 = "arith.index_cast"(%2) : (index) -> i64
  %4 = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %5 = "arith.index_cast"(%4) : (index) -> i64
  %6 = "arith.constant"() {value = 10 : i64} : () -> i64
  %7 = "arith.constant"() {value = 50 : i64} : () -> i64
  %8 = "arith.constant"() {value = 12 : i32} : () -> i32
  %9 = "arith.constant"() {value = 4 : i64} : () -> i64
  %10 = "arith.constant"() {value = 0 : i64} : () -> i64
  %11 = "arith.constant"() {value = 5 : i64} : () -> i64
  %12 = "arith.constant"() {value = 55 : i64} : () -> i64
  %13 = "arith.constant"() {value = 45 : i64} : () -> i64
  %14 = "arith.constant"() {value = 25 : i64} : () -> i64
  %15 = "arith.constant"() {value = 250 : i64} : () -> i64
  %16 = "arith.constant"() {value = 1270 : i64} : () -> i64
  %17 = "arith.constant"() {value = 59 : i64} : () -> i64
  %18 = "arith.constant"() {value = 125 : i64} : () -> i64
  %19 = "arith.constant"() {value = 1495 : i64} : () -> i64
  %20 = "arith.constant"() {value = 2 : i32} : () -> i32
  %21 = "arith.muli"(%3, %6) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %22 = "arith.subi"(%5, %21) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %23 = "arith.addi"(%22, %7) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %24 = "arith.trunci"(%23) : (i64) -> i32
  %25 = "arith.divui"(%24, %8) : (i32, i32) -> i32
  %26 = "arith.extui"(%25) {nonNeg} : (i32) -> i64
  %27 = "arith.subi"(%26, %9) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %28 = "arith.subi"(%10, %27) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %29 = "arith.trunci"(%23) : (i64) -> i32
  %30 = "arith.remui"(%29, %8) : (i32, i32) -> i32
  %31 = "arith.extui"(%30) {nonNeg} : (i32) -> i64
  %32 = "arith.muli"(%31, %11) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %33 = "arith.subi"(%28, %32) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %34 = "arith.addi"(%33, %12) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %35 = "arith.trunci"(%34) : (i64) -> i32
  %36 = "arith.divui"(%35, %8) : (i32, i32) -> i32
  %37 = "arith.extui"(%36) {nonNeg} : (i32) -> i64
  %38 = "arith.subi"(%37, %9) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %39 = "arith.subi"(%10, %38) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %40 = "arith.muli"(%3, %7) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %41 = "arith.muli"(%5, %11) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %42 = "arith.subi"(%40, %41) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %43 = "arith.subi"(%42, %27) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %44 = "arith.addi"(%43, %13) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %45 = "arith.trunci"(%44) : (i64) -> i32
  %46 = "arith.remui"(%45, %8) : (i32, i32) -> i32
  %47 = "arith.extui"(%46) {nonNeg} : (i32) -> i64
  %48 = "arith.muli"(%47, %11) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %49 = "arith.subi"(%39, %48) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %50 = "arith.addi"(%49, %12) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %51 = "arith.trunci"(%50) : (i64) -> i32
  %52 = "arith.divui"(%51, %8) : (i32, i32) -> i32
  %53 = "arith.extui"(%52) {nonNeg} : (i32) -> i64
  %54 = "arith.subi"(%53, %9) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %55 = "arith.addi"(%54, %9) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %56 = "arith.muli"(%5, %14) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %57 = "arith.muli"(%27, %11) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %58 = "arith.addi"(%56, %57) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %59 = "arith.muli"(%3, %15) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %60 = "arith.subi"(%58, %59) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %61 = "arith.subi"(%60, %38) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %62 = "arith.addi"(%61, %16) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %63 = "arith.trunci"(%62) : (i64) -> i32
  %64 = "arith.remui"(%63, %8) : (i32, i32) -> i32
  %65 = "arith.extui"(%64) {nonNeg} : (i32) -> i64
  %66 = "arith.subi"(%10, %55) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %67 = "arith.muli"(%65, %11) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %68 = "arith.subi"(%66, %67) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %69 = "arith.addi"(%68, %17) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %70 = "arith.trunci"(%69) : (i64) -> i32
  %71 = "arith.divui"(%70, %8) : (i32, i32) -> i32
  %72 = "arith.extui"(%71) {nonNeg} : (i32) -> i64
  %73 = "arith.subi"(%72, %9) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %74 = "arith.subi"(%10, %73) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %75 = "arith.trunci"(%69) : (i64) -> i32
  %76 = "arith.remui"(%75, %8) : (i32, i32) -> i32
  %77 = "arith.extui"(%76) {nonNeg} : (i32) -> i64
  %78 = "arith.muli"(%77, %11) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %79 = "arith.subi"(%74, %78) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %80 = "arith.addi"(%79, %12) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %81 = "arith.trunci"(%80) : (i64) -> i32
  %82 = "arith.divui"(%81, %8) : (i32, i32) -> i32
  %83 = "arith.extui"(%82) {nonNeg} : (i32) -> i64
  %84 = "arith.subi"(%83, %9) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %85 = "arith.subi"(%10, %84) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %86 = "arith.muli"(%55, %11) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %87 = "arith.muli"(%65, %14) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %88 = "arith.addi"(%86, %87) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %89 = "arith.subi"(%88, %73) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %90 = "arith.trunci"(%89) : (i64) -> i32
  %91 = "arith.remui"(%90, %8) : (i32, i32) -> i32
  %92 = "arith.extui"(%91) {nonNeg} : (i32) -> i64
  %93 = "arith.muli"(%92, %11) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %94 = "arith.subi"(%85, %93) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %95 = "arith.addi"(%94, %12) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %96 = "arith.trunci"(%95) : (i64) -> i32
  %97 = "arith.divui"(%96, %8) : (i32, i32) -> i32
  %98 = "arith.extui"(%97) {nonNeg} : (i32) -> i64
  %99 = "arith.subi"(%98, %9) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %100 = "arith.addi"(%99, %9) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %101 = "arith.muli"(%73, %11) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %102 = "arith.muli"(%55, %14) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %103 = "arith.subi"(%101, %102) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %104 = "arith.muli"(%65, %18) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %105 = "arith.subi"(%103, %104) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %106 = "arith.subi"(%105, %84) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %107 = "arith.addi"(%106, %19) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %108 = "arith.trunci"(%107) : (i64) -> i32
  %109 = "arith.remui"(%108, %8) : (i32, i32) -> i32
  %110 = "arith.extui"(%109) {nonNeg} : (i32) -> i64
  %111 = "arith.trunci"(%110) : (i64) -> i32
  %112 = "arith.divui"(%111, %20) : (i32, i32) -> i32
  %113 = "arith.extui"(%112) {nonNeg} : (i32) -> i64
  %114 = "arith.muli"(%113, %6) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %115 = "arith.subi"(%114, %100) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %116 = "arith.trunci"(%110) : (i64) -> i32
  %117 = "arith.remui"(%116, %20) : (i32, i32) -> i32
  %118 = "arith.extui"(%117) {nonNeg} : (i32) -> i64
  %119 = "arith.muli"(%118, %11) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %120 = "arith.subi"(%115, %119) {overflowFlags = #arith.overflow<nsw>} : (i64, i64) -> i64
  %121 = "xla_gpu.load"(%0, %120) {alignment = 4 : i64, offset = 9 : i64} : (!llvm.ptr, i64) -> f32
  "xla_gpu.store"(%121, %1, %120) {alignment = 4 : i64, offset = 9 : i64} : (f32, !llvm.ptr, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "k", function_type = (!llvm.ptr, !llvm.ptr) -> (), arg_attrs = [{fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, fusebox.read_only}, {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64}], fusebox.entry, fusebox.launch = array<i64: 6, 10>, fusebox.shared_bytes = 49152 : i64} : () -> ()
