// A loop is a test before every turn; what it carries are phis. Its wish is metadata of the branch back.
// target: sm_90
func.func @k(%a: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 128>} {
  %i = arith.constant 0 : i64
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %c0 = arith.constant 0 : i32
  %zero = arith.constant 0.0 : f32
  %sum = "scf.for"(%c0, %c3, %c1, %zero) ({
  ^bb0(%n: i32, %now: f32):
    %at = "arith.extui"(%n) {nonNeg} : (i32) -> i64
  %x = "xla_gpu.load"(%a, %at) {alignment = 4 : i64} : (!llvm.ptr<1>, i64) -> f32
    %next = arith.addf %now, %x : f32
    scf.yield %next : f32
  }) {fusebox.unroll = "never"} : (i32, i32, i32, f32) -> f32
  "xla_gpu.store"(%sum, %out, %i) {alignment = 4 : i64} : (f32, !llvm.ptr<1>, i64) -> ()
  func.return
}
// -----
; Function Attrs: nounwind
define ptx_kernel void @k(ptr addrspace(1) %0, ptr addrspace(1) %1) #0 !dbg !3 {
  br label %3, !dbg !7

3:                                                ; preds = %7, %2
  %4 = phi i32 [ 0, %2 ], [ %12, %7 ], !dbg !7
  %5 = phi float [ 0.000000e+00, %2 ], [ %11, %7 ], !dbg !7
  %6 = icmp slt i32 %4, 3, !dbg !7
  br i1 %6, label %7, label %13, !dbg !7

7:                                                ; preds = %3
  %8 = zext nneg i32 %4 to i64, !dbg !10
  %9 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %8, !dbg !11
  %10 = load float, ptr addrspace(1) %9, align 4, !dbg !11
  %11 = fadd float %5, %10, !dbg !12
  %12 = add nsw i32 %4, 1, !dbg !12
  br label %3, !dbg !12, !llvm.loop !13

13:                                               ; preds = %3
  store float %5, ptr addrspace(1) %1, align 4, !dbg !15
  ret void, !dbg !15
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
!7 = !DILocation(line: 9, column: 10, scope: !8)
!8 = !DILexicalBlockFile(scope: !3, file: !9, discriminator: 0)
!9 = !DIFile(filename: "loops_carry_values.mlir", directory: "")
!10 = !DILocation(line: 11, column: 11, scope: !8)
!11 = !DILocation(line: 12, column: 8, scope: !8)
!12 = !DILocation(line: 13, column: 13, scope: !8)
!13 = distinct !{!13, !14}
!14 = !{!"llvm.loop.unroll.disable"}
!15 = !DILocation(line: 16, column: 3, scope: !8)
