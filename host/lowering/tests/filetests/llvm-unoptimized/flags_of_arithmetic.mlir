// What the kernel IR allows to floats and knows of overflow LLVM is told, and nothing more.
// target: sm_90
func.func @k(%a: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 128>} {
  %i = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %i) {alignment = 4 : i64} : (!llvm.ptr<1>, i64) -> f32
  %n = "xla_gpu.load"(%a, %i) {alignment = 4 : i64} : (!llvm.ptr<1>, i64) -> i32
  %free = arith.addf %x, %x fastmath<reassoc,nsz> : f32
  %strict = arith.mulf %free, %x : f32
  %exact = arith.addi %n, %n overflow<nsw> : i32
  %wrapping = arith.muli %exact, %n : i32
  %float = arith.sitofp %wrapping : i32 to f32
  %r = arith.divf %strict, %float : f32
  "xla_gpu.store"(%r, %out, %i) {alignment = 4 : i64} : (f32, !llvm.ptr<1>, i64) -> ()
  func.return
}
// -----
; Function Attrs: nounwind
define ptx_kernel void @k(ptr addrspace(1) %0, ptr addrspace(1) %1) #0 !dbg !3 {
  %3 = load float, ptr addrspace(1) %0, align 4, !dbg !7
  %4 = load i32, ptr addrspace(1) %0, align 4, !dbg !10
  %5 = fadd reassoc nsz float %3, %3, !dbg !11
  %6 = fmul float %5, %3, !dbg !12
  %7 = add nsw i32 %4, %4, !dbg !13
  %8 = mul i32 %7, %4, !dbg !14
  %9 = sitofp i32 %8 to float, !dbg !15
  %10 = fdiv float %6, %9, !dbg !16
  store float %10, ptr addrspace(1) %1, align 4, !dbg !17
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
!9 = !DIFile(filename: "flags_of_arithmetic.mlir", directory: "")
!10 = !DILocation(line: 6, column: 8, scope: !8)
!11 = !DILocation(line: 7, column: 11, scope: !8)
!12 = !DILocation(line: 8, column: 13, scope: !8)
!13 = !DILocation(line: 9, column: 12, scope: !8)
!14 = !DILocation(line: 10, column: 15, scope: !8)
!15 = !DILocation(line: 11, column: 12, scope: !8)
!16 = !DILocation(line: 12, column: 8, scope: !8)
!17 = !DILocation(line: 13, column: 3, scope: !8)
