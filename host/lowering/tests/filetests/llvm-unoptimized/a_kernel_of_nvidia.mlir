// A kernel of PTX: what is known of its buffers, the size of its blocks, and the ranges of its ids.
// target: sm_90
func.func @k(%a: !llvm.ptr<1> {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 4096 : i64, llvm.noalias, llvm.readonly}, %out: !llvm.ptr<1> {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 4096 : i64, llvm.noalias}) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 128>} {
  %b = gpu.block_id x
  %block = arith.index_cast %b : index to i32
  %t = gpu.thread_id x
  %thread = arith.index_cast %t : index to i32
  %c128 = arith.constant 128 : i32
  %base = arith.muli %block, %c128 overflow<nsw> : i32
  %at = arith.addi %base, %thread overflow<nsw> : i32
  %i = "arith.extui"(%at) {nonNeg} : (i32) -> i64
  %x = "xla_gpu.load"(%a, %i) {alignment = 4 : i64, invariant} : (!llvm.ptr<1>, i64) -> f32
  "xla_gpu.store"(%x, %out, %i) {alignment = 4 : i64} : (f32, !llvm.ptr<1>, i64) -> ()
  func.return
}
// -----
; Function Attrs: nounwind
define ptx_kernel void @k(ptr addrspace(1) noalias noundef nonnull readonly align 64 dereferenceable(4096) %0, ptr addrspace(1) noalias noundef nonnull align 64 dereferenceable(4096) %1) #0 !dbg !3 {
  %3 = call range(i32 0, 8) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !dbg !7
  %4 = call range(i32 0, 128) i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !10
  %5 = mul nsw i32 %3, 128, !dbg !11
  %6 = add nsw i32 %5, %4, !dbg !12
  %7 = zext nneg i32 %6 to i64, !dbg !13
  %8 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %7, !dbg !14
  %9 = load float, ptr addrspace(1) %8, align 4, !dbg !14, !invariant.load !6
  %10 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %7, !dbg !15
  store float %9, ptr addrspace(1) %10, align 4, !dbg !15
  ret void, !dbg !15
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1

attributes #0 = { nounwind "nvvm.reqntid"="128" }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}

!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "fusebox", isOptimized: true, runtimeVersion: 0, emissionKind: DebugDirectivesOnly, splitDebugInlining: false)
!1 = !DIFile(filename: "kernels", directory: "")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "k", linkageName: "k", scope: !4, file: !4, type: !5, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!4 = !DIFile(filename: "k", directory: "")
!5 = !DISubroutineType(types: !6)
!6 = !{}
!7 = !DILocation(line: 4, column: 8, scope: !8)
!8 = !DILexicalBlockFile(scope: !3, file: !9, discriminator: 0)
!9 = !DIFile(filename: "a_kernel_of_nvidia.mlir", directory: "")
!10 = !DILocation(line: 6, column: 8, scope: !8)
!11 = !DILocation(line: 9, column: 11, scope: !8)
!12 = !DILocation(line: 10, column: 9, scope: !8)
!13 = !DILocation(line: 11, column: 8, scope: !8)
!14 = !DILocation(line: 12, column: 8, scope: !8)
!15 = !DILocation(line: 13, column: 3, scope: !8)
