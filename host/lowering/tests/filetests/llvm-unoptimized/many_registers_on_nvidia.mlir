// Where a core need not hold several blocks, the assembler is told so.
// target: sm_90
func.func @k() attributes {fusebox.entry, fusebox.many_registers, fusebox.launch = array<i64: 1, 64>} {
  func.return
}
// -----
; Function Attrs: nounwind
define ptx_kernel void @k() #0 !dbg !3 {
  ret void
}

attributes #0 = { nounwind "nvvm.minctasm"="1" "nvvm.reqntid"="64" }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}

!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "fusebox", isOptimized: true, runtimeVersion: 0, emissionKind: DebugDirectivesOnly, splitDebugInlining: false)
!1 = !DIFile(filename: "kernels", directory: "")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "k", linkageName: "k", scope: !4, file: !4, type: !5, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!4 = !DIFile(filename: "k", directory: "")
!5 = !DISubroutineType(types: !6)
!6 = !{}
