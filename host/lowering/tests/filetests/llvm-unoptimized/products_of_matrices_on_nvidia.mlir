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
define ptx_kernel void @k(ptr addrspace(1) %0, ptr addrspace(1) %1) #0 {
  %3 = load <2 x i16>, ptr addrspace(1) %0, align 4
  %4 = bitcast <2 x i16> %3 to <2 x half>
  %5 = bitcast <2 x i16> %3 to <2 x half>
  %6 = bitcast <2 x i16> %3 to <2 x half>
  %7 = bitcast <2 x i16> %3 to <2 x half>
  %8 = bitcast <2 x i16> %3 to <2 x half>
  %9 = bitcast <2 x i16> %3 to <2 x half>
  %10 = call { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half> %4, <2 x half> %5, <2 x half> %6, <2 x half> %7, <2 x half> %8, <2 x half> %9, float 0.000000e+00, float 0.000000e+00, float 0.000000e+00, float 0.000000e+00) #2
  %11 = extractvalue { float, float, float, float } %10, 0
  %12 = extractvalue { float, float, float, float } %10, 1
  %13 = extractvalue { float, float, float, float } %10, 2
  %14 = extractvalue { float, float, float, float } %10, 3
  %15 = bitcast <2 x i16> %3 to i32
  %16 = bitcast <2 x i16> %3 to i32
  %17 = bitcast <2 x i16> %3 to i32
  %18 = bitcast <2 x i16> %3 to i32
  %19 = bitcast <2 x i16> %3 to i32
  %20 = bitcast <2 x i16> %3 to i32
  %21 = call { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.bf16(i32 %15, i32 %16, i32 %17, i32 %18, i32 %19, i32 %20, float %11, float %12, float %13, float %14) #2
  %22 = extractvalue { float, float, float, float } %21, 0
  %23 = extractvalue { float, float, float, float } %21, 1
  %24 = extractvalue { float, float, float, float } %21, 2
  %25 = extractvalue { float, float, float, float } %21, 3
  store float %25, ptr addrspace(1) %1, align 4
  ret void
}

; Function Attrs: nocallback nounwind memory(none)
declare { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, float, float, float, float) #1

; Function Attrs: nocallback nounwind memory(none)
declare { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.bf16(i32, i32, i32, i32, i32, i32, float, float, float, float) #1

attributes #0 = { nounwind "nvvm.reqntid"="32" }
attributes #1 = { nocallback nounwind memory(none) }
attributes #2 = { convergent }
