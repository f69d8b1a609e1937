// A product of tiles is assembly, of descriptors that say where squares lie.
// target: sm_90a
func.func @k(%out: !llvm.ptr<1>) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 128>} {
  %left = "xla_gpu.shared_memory"() {bytes = 4096 : i64, alignment = 16 : i64, offset = 0 : i64, element_bytes = 2 : i64} : () -> !llvm.ptr<3>
  %right = "xla_gpu.shared_memory"() {bytes = 512 : i64, alignment = 16 : i64, offset = 4096 : i64, element_bytes = 2 : i64} : () -> !llvm.ptr<3>
  %i = arith.constant 0 : i64
  %second = arith.constant 1024 : i64
  %zero = arith.constant 0.0 : f32
  "xla_gpu.barrier"() {site = "k", readies_tiles} : () -> ()
  %sums:4 = "xla_gpu.wgmma"(%zero, %zero, %zero, %zero, %left, %second, %right, %i) {along_steps = array<i64: 1, 0>, columns = 8 : i64, steps = 16 : i64, strides = array<i64: 512, 64>, element = bf16, site = "k"} : (f32, f32, f32, f32, !llvm.ptr<3>, i64, !llvm.ptr<3>, i64) -> (f32, f32, f32, f32)
  "xla_gpu.store"(%sums#3, %out, %i) {alignment = 4 : i64} : (f32, !llvm.ptr<1>, i64) -> ()
  func.return
}
// -----
@tile = internal addrspace(3) global [4096 x i8] poison, align 16
@tile1 = internal addrspace(3) global [512 x i8] poison, align 16

; Function Attrs: nounwind
define ptx_kernel void @k(ptr addrspace(1) %0) #0 !dbg !3 {
  call void asm sideeffect "fence.proxy.async.shared::cta;", "~{memory}"() #2, !dbg !7
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !7
  %2 = and i64 ptrtoint (ptr addrspace(3) getelementptr inbounds (i16, ptr addrspace(3) @tile, i64 1024) to i64), 262143, !dbg !10
  %3 = lshr i64 %2, 4, !dbg !10
  %4 = or i64 %3, 34363932672, !dbg !10
  %5 = and i64 ptrtoint (ptr addrspace(3) @tile1 to i64), 262143, !dbg !10
  %6 = lshr i64 %5, 4, !dbg !10
  %7 = or i64 %6, 34360262656, !dbg !10
  %8 = add i64 %4, 0, !dbg !10
  %9 = add i64 %7, 0, !dbg !10
  %10 = call { float, float, float, float } asm sideeffect "{\0A.reg .pred p;\0Asetp.eq.u32 p, 0, 0;\0Awgmma.fence.sync.aligned;\0Awgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, $4, $5, p, 1, 1, 0, 1;\0Awgmma.commit_group.sync.aligned;\0Awgmma.wait_group.sync.aligned 0;\0A}", "=f,=f,=f,=f,l,l,0,1,2,3,~{memory}"(i64 %8, i64 %9, float 0.000000e+00, float 0.000000e+00, float 0.000000e+00, float 0.000000e+00) #2, !dbg !10
  %11 = extractvalue { float, float, float, float } %10, 0, !dbg !10
  %12 = extractvalue { float, float, float, float } %10, 1, !dbg !10
  %13 = extractvalue { float, float, float, float } %10, 2, !dbg !10
  %14 = extractvalue { float, float, float, float } %10, 3, !dbg !10
  store float %14, ptr addrspace(1) %0, align 4, !dbg !11
  ret void, !dbg !11
}

; Function Attrs: convergent nocallback nounwind
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #1

attributes #0 = { nounwind "nvvm.reqntid"="128" }
attributes #1 = { convergent nocallback nounwind }
attributes #2 = { convergent }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}

!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "fusebox", isOptimized: true, runtimeVersion: 0, emissionKind: DebugDirectivesOnly, splitDebugInlining: false)
!1 = !DIFile(filename: "kernels", directory: "")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "k", linkageName: "k", scope: !4, file: !4, type: !5, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!4 = !DIFile(filename: "k", directory: "")
!5 = !DISubroutineType(types: !6)
!6 = !{}
!7 = !DILocation(line: 9, column: 3, scope: !8)
!8 = !DILexicalBlockFile(scope: !3, file: !9, discriminator: 0)
!9 = !DIFile(filename: "products_of_tiles_on_nvidia.mlir", directory: "")
!10 = !DILocation(line: 10, column: 13, scope: !8)
!11 = !DILocation(line: 11, column: 3, scope: !8)
