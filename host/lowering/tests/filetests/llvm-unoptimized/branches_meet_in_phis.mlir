// A branch is two blocks that meet in a third.
// target: sm_90
func.func @k(%a: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 128>} {
  %i = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %i) {alignment = 4 : i64} : (!llvm.ptr<1>, i64) -> f32
  %zero = arith.constant 0.0 : f32
  %positive = arith.cmpf ogt, %x, %zero : f32
  %r = scf.if %positive -> f32 {
    %root = math.sqrt %x : f32
    scf.yield %root : f32
  } else {
    scf.yield %zero : f32
  }
  "xla_gpu.store"(%r, %out, %i) {alignment = 4 : i64} : (f32, !llvm.ptr<1>, i64) -> ()
  func.return
}
// -----
; Function Attrs: nounwind
define ptx_kernel void @k(ptr addrspace(1) %0, ptr addrspace(1) %1) #0 !dbg !3 {
  %3 = load float, ptr addrspace(1) %0, align 4, !dbg !7
  %4 = fcmp ogt float %3, 0.000000e+00, !dbg !10
  br i1 %4, label %5, label %7, !dbg !11

5:                                                ; preds = %2
  %6 = call float @llvm.sqrt.f32(float %3), !dbg !12
  br label %8, !dbg !12

7:                                                ; preds = %2
  br label %8, !dbg !12

8:                                                ; preds = %7, %5
  %9 = phi float [ %6, %5 ], [ 0.000000e+00, %7 ], !dbg !12
  store float %9, ptr addrspace(1) %1, align 4, !dbg !13
  ret void, !dbg !13
}

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.sqrt.f32(float) #1

attributes #0 = { nounwind "nvvm.reqntid"="128" }
attributes #1 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }

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
!9 = !DIFile(filename: "branches_meet_in_phis.mlir", directory: "")
!10 = !DILocation(line: 7, column: 15, scope: !8)
!11 = !DILocation(line: 8, column: 8, scope: !8)
!12 = !DILocation(line: 9, column: 13, scope: !8)
!13 = !DILocation(line: 14, column: 3, scope: !8)
