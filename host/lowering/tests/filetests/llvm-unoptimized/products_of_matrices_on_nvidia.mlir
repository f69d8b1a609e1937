// A product is an intrinsic; its words are of 32 bits, or pairs of half.
// target: sm_80
func.func @k(%a: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 32>} {
  %i = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %i) {alignment = 4 : i64} : (!llvm.ptr<1>, i64) -> vector<2xi16>
  %zero = arith.constant 0.0 : f32
  %half:4 = "xla_gpu.mma"(%x, %x, %x, %x, %x, %x, %zero, %zero, %zero, %zero) {product = "m16n8k16.f16", site = "k"} : (vector<2xi16>, vector<2xi16>, vector<2xi16>, vector<2xi16>, vector<2xi16>, vector<2xi16>, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  %sums:4 = "xla_gpu.mma"(%x, %x, %x, %x, %x, %x, %half#0, %half#1, %half#2, %half#3) {product = "m16n8k16.bf16", site = "k"} : (vector<2xi16>, vector<2xi16>, vector<2xi16>, vector<2xi16>, vector<2xi16>, vector<2xi16>, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  "xla_gpu.store"(%sums#3, %out, %i) {alignment = 4 : i64} : (f32, !llvm.ptr<1>, i64) -> ()
  func.return
}
// -----
; Function Attrs: nounwind
define ptx_kernel void @k(ptr addrspace(1) %0, ptr addrspace(1) %1) #0 !dbg !3 {
  %3 = load <2 x i16>, ptr addrspace(1) %0, align 4, !dbg !7
  %4 = bitcast <2 x i16> %3 to <2 x half>, !dbg !10
  %5 = bitcast <2 x i16> %3 to <2 x half>, !dbg !10
  %6 = bitcast <2 x i16> %3 to <2 x half>, !dbg !10
  %7 = bitcast <2 x i16> %3 to <2 x half>, !dbg !10
  %8 = bitcast <2 x i16> %3 to <2 x half>, !dbg !10
  %9 = bitcast <2 x i16> %3 to <2 x half>, !dbg !10
  %10 = call { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half> %4, <2 x half> %5, <2 x half> %6, <2 x half> %7, <2 x half> %8, <2 x half> %9, float 0.000000e+00, float 0.000000e+00, float 0.000000e+00, float 0.000000e+00) #2, !dbg !10
  %11 = extractvalue { float, float, float, float } %10, 0, !dbg !10
  %12 = extractvalue { float, float, float, float } %10, 1, !dbg !10
  %13 = extractvalue { float, float, float, float } %10, 2, !dbg !10
  %14 = extractvalue { float, float, float, float } %10, 3, !dbg !10
  %15 = bitcast <2 x i16> %3 to i32, !dbg !11
  %16 = bitcast <2 x i16> %3 to i32, !dbg !11
  %17 = bitcast <2 x i16> %3 to i32, !dbg !11
  %18 = bitcast <2 x i16> %3 to i32, !dbg !11
  %19 = bitcast <2 x i16> %3 to i32, !dbg !11
  %20 = bitcast <2 x i16> %3 to i32, !dbg !11
  %21 = call { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.bf16(i32 %15, i32 %16, i32 %17, i32 %18, i32 %19, i32 %20, float %11, float %12, float %13, float %14) #2, !dbg !11
  %22 = extractvalue { float, float, float, float } %21, 0, !dbg !11
  %23 = extractvalue { float, float, float, float } %21, 1, !dbg !11
  %24 = extractvalue { float, float, float, float } %21, 2, !dbg !11
  %25 = extractvalue { float, float, float, float } %21, 3, !dbg !11
  store float %25, ptr addrspace(1) %1, align 4, !dbg !12
  ret void, !dbg !12
}

; Function Attrs: nocallback nounwind memory(none)
declare { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, float, float, float, float) #1

; Function Attrs: nocallback nounwind memory(none)
declare { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.bf16(i32, i32, i32, i32, i32, i32, float, float, float, float) #1

attributes #0 = { nounwind "nvvm.reqntid"="32" }
attributes #1 = { nocallback nounwind memory(none) }
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
!7 = !DILocation(line: 5, column: 8, scope: !8)
!8 = !DILexicalBlockFile(scope: !3, file: !9, discriminator: 0)
!9 = !DIFile(filename: "products_of_matrices_on_nvidia.mlir", directory: "")
!10 = !DILocation(line: 7, column: 13, scope: !8)
!11 = !DILocation(line: 8, column: 13, scope: !8)
!12 = !DILocation(line: 9, column: 3, scope: !8)
