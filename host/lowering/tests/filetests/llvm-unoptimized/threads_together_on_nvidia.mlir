// A tile is shared memory, a barrier and an exchange of lanes an intrinsic.
// target: sm_90
func.func @k(%a: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 128>} {
  %tile = "xla_gpu.shared_memory"() {bytes = 512 : i64, alignment = 16 : i64, offset = 0 : i64, element_bytes = 4 : i64} : () -> !llvm.ptr<3>
  %i = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %i) {alignment = 4 : i64} : (!llvm.ptr<1>, i64) -> f32
  "xla_gpu.store"(%x, %tile, %i) {alignment = 4 : i64} : (f32, !llvm.ptr<3>, i64) -> ()
  "xla_gpu.barrier"() {site = "k"} : () -> ()
  %y = "xla_gpu.load"(%tile, %i) {alignment = 4 : i64} : (!llvm.ptr<3>, i64) -> f32
  %bits = arith.bitcast %y : f32 to i32
  %moved = "xla_gpu.shuffle_down"(%bits) {distance = 4 : i64, lanes = 32 : i64, site = "k"} : (i32) -> i32
  "xla_gpu.store"(%moved, %out, %i) {alignment = 4 : i64} : (i32, !llvm.ptr<1>, i64) -> ()
  func.return
}
// -----
@tile = internal addrspace(3) global [512 x i8] poison, align 16

; Function Attrs: nounwind
define ptx_kernel void @k(ptr addrspace(1) %0, ptr addrspace(1) %1) #0 !dbg !3 {
  %3 = load float, ptr addrspace(1) %0, align 4, !dbg !7
  store float %3, ptr addrspace(3) @tile, align 4, !dbg !10
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !11
  %4 = load float, ptr addrspace(3) @tile, align 4, !dbg !12
  %5 = bitcast float %4 to i32, !dbg !13
  %6 = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %5, i32 4, i32 31), !dbg !14
  store i32 %6, ptr addrspace(1) %1, align 4, !dbg !15
  ret void, !dbg !15
}

; Function Attrs: convergent nocallback nounwind
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #1

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i32 @llvm.nvvm.shfl.sync.down.i32(i32, i32, i32, i32) #2

attributes #0 = { nounwind "nvvm.reqntid"="128" }
attributes #1 = { convergent nocallback nounwind }
attributes #2 = { convergent nocallback nounwind memory(inaccessiblemem: readwrite) }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}

!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "fusebox", isOptimized: true, runtimeVersion: 0, emissionKind: DebugDirectivesOnly, splitDebugInlining: false)
!1 = !DIFile(filename: "kernels", directory: "")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "k", linkageName: "k", scope: !4, file: !4, type: !5, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!4 = !DIFile(filename: "k", directory: "")
!5 = !DISubroutineType(types: !6)
!6 = !{}
!7 = !DILocation(line: 6, column: 8, scope: !8)
!8 = !DILexicalBlockFile(scope: !3, file: !9, discriminator: 0)
!9 = !DIFile(filename: "threads_together_on_nvidia.mlir", directory: "")
!10 = !DILocation(line: 7, column: 3, scope: !8)
!11 = !DILocation(line: 8, column: 3, scope: !8)
!12 = !DILocation(line: 9, column: 8, scope: !8)
!13 = !DILocation(line: 10, column: 11, scope: !8)
!14 = !DILocation(line: 11, column: 12, scope: !8)
!15 = !DILocation(line: 12, column: 3, scope: !8)
