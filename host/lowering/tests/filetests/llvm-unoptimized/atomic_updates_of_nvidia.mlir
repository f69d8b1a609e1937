// One instruction where there is one, else a loop that exchanges the bits if they are still what was read.
// target: sm_90
func.func @k(%a: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 128>} {
  %i = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %i) {alignment = 4 : i64} : (!llvm.ptr<1>, i64) -> f32
  %n = "xla_gpu.load"(%a, %i) {alignment = 4 : i64} : (!llvm.ptr<1>, i64) -> i32
  "xla_gpu.atomic_combine"(%n, %out, %i) {alignment = 4 : i64, threads = "device", by = "arith.maxsi", element = i32} : (i32, !llvm.ptr<1>, i64) -> ()
  "xla_gpu.atomic_combine"(%x, %out, %i) {alignment = 4 : i64, threads = "device", by = "arith.addf", element = f32} : (f32, !llvm.ptr<1>, i64) -> ()
  "xla_gpu.atomic_store"(%n, %out, %i) {alignment = 4 : i64, threads = "device"} : (i32, !llvm.ptr<1>, i64) -> ()
  "xla_gpu.atomic_rmw"(%out, %i) ({
  ^bb0(%bits: i32):
    %old = arith.bitcast %bits : i32 to f32
    %new = arith.mulf %old, %x : f32
    %newbits = arith.bitcast %new : f32 to i32
    "xla_gpu.yield"(%newbits) : (i32) -> ()
  }) {alignment = 4 : i64, threads = "device"} : (!llvm.ptr<1>, i64) -> ()
  func.return
}
// -----
; Function Attrs: nounwind
define ptx_kernel void @k(ptr addrspace(1) %0, ptr addrspace(1) %1) #0 !dbg !3 {
  %3 = load float, ptr addrspace(1) %0, align 4, !dbg !7
  %4 = load i32, ptr addrspace(1) %0, align 4, !dbg !10
  %5 = atomicrmw max ptr addrspace(1) %1, i32 %4 syncscope("device") monotonic, align 4, !dbg !11
  %6 = atomicrmw fadd ptr addrspace(1) %1, float %3 syncscope("device") monotonic, align 4, !dbg !12
  store atomic i32 %4, ptr addrspace(1) %1 syncscope("device") monotonic, align 4, !dbg !13
  %7 = load atomic i32, ptr addrspace(1) %1 syncscope("device") unordered, align 4, !dbg !14
  br label %8, !dbg !14

8:                                                ; preds = %14, %2
  %9 = phi i32 [ %7, %2 ], [ %16, %14 ], !dbg !14
  %10 = bitcast i32 %9 to float, !dbg !15
  %11 = fmul float %10, %3, !dbg !16
  %12 = bitcast float %11 to i32, !dbg !17
  %13 = icmp eq i32 %12, %9, !dbg !17
  br i1 %13, label %18, label %14, !dbg !17

14:                                               ; preds = %8
  %15 = cmpxchg ptr addrspace(1) %1, i32 %9, i32 %12 syncscope("device") monotonic monotonic, align 4, !dbg !17
  %16 = extractvalue { i32, i1 } %15, 0, !dbg !17
  %17 = extractvalue { i32, i1 } %15, 1, !dbg !17
  br i1 %17, label %18, label %8, !dbg !17

18:                                               ; preds = %14, %8
  ret void, !dbg !17
}

attributes #0 = { nounwind "nvvm.reqntid"="128" }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}

!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "fusebox", isOptimized: true, runtimeVersion: 0, emissionKind: DebugDirectivesOnly, splitDebugInlining: false)
!1 = !DIFile(filename: "kernels", directory: "")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "k", linkageName: "k", scope: !4, file: !4, type: !5, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!4 = !DIFile(filename: "k", directory: "")
!5 = !DISubroutineType(types: !6)
!6 = !{}
!7 = !DILocation(line: 5, column: 8, scope: !8)
!8 = !DILexicalBlockFile(scope: !3, file: !9, discriminator: 0)
!9 = !DIFile(filename: "atomic_updates_of_nvidia.mlir", directory: "")
!10 = !DILocation(line: 6, column: 8, scope: !8)
!11 = !DILocation(line: 7, column: 3, scope: !8)
!12 = !DILocation(line: 8, column: 3, scope: !8)
!13 = !DILocation(line: 9, column: 3, scope: !8)
!14 = !DILocation(line: 10, column: 3, scope: !8)
!15 = !DILocation(line: 12, column: 12, scope: !8)
!16 = !DILocation(line: 13, column: 12, scope: !8)
!17 = !DILocation(line: 14, column: 16, scope: !8)
