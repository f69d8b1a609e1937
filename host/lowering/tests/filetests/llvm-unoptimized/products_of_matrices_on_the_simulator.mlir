// A lane hands its words and sums over, all of one width, and asks for each sum.
// target: simt
func.func @k(%a: !llvm.ptr, %out: !llvm.ptr) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 32>} {
  %i = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %i) {alignment = 4 : i64} : (!llvm.ptr, i64) -> vector<2xi16>
  %zero = arith.constant 0.0 : f32
  %half:4 = "xla_gpu.mma"(%x, %x, %x, %x, %x, %x, %zero, %zero, %zero, %zero) {product = "m16n8k16.f16", site = "k"} : (vector<2xi16>, vector<2xi16>, vector<2xi16>, vector<2xi16>, vector<2xi16>, vector<2xi16>, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  %sums:4 = "xla_gpu.mma"(%x, %x, %x, %x, %x, %x, %half#0, %half#1, %half#2, %half#3) {product = "m16n8k16.bf16", site = "k"} : (vector<2xi16>, vector<2xi16>, vector<2xi16>, vector<2xi16>, vector<2xi16>, vector<2xi16>, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  "xla_gpu.store"(%sums#3, %out, %i) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
  func.return
}
// -----
; Function Attrs: alwaysinline nounwind
define internal void @k.body(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
  %5 = load <2 x i16>, ptr %0, align 4
  %6 = bitcast <2 x i16> %5 to i32
  %7 = zext i32 %6 to i64
  %8 = bitcast <2 x i16> %5 to i32
  %9 = zext i32 %8 to i64
  %10 = bitcast <2 x i16> %5 to i32
  %11 = zext i32 %10 to i64
  %12 = bitcast <2 x i16> %5 to i32
  %13 = zext i32 %12 to i64
  %14 = bitcast <2 x i16> %5 to i32
  %15 = zext i32 %14 to i64
  %16 = bitcast <2 x i16> %5 to i32
  %17 = zext i32 %16 to i64
  call void @fusebox_simt_multiply(i32 1, i32 0, i64 %7, i64 %9, i64 %11, i64 %13, i64 %15, i64 %17, i64 0, i64 0, i64 0, i64 0)
  %18 = call i64 @fusebox_simt_sum(i32 0)
  %19 = trunc i64 %18 to i32
  %20 = bitcast i32 %19 to float
  %21 = call i64 @fusebox_simt_sum(i32 1)
  %22 = trunc i64 %21 to i32
  %23 = bitcast i32 %22 to float
  %24 = call i64 @fusebox_simt_sum(i32 2)
  %25 = trunc i64 %24 to i32
  %26 = bitcast i32 %25 to float
  %27 = call i64 @fusebox_simt_sum(i32 3)
  %28 = trunc i64 %27 to i32
  %29 = bitcast i32 %28 to float
  %30 = bitcast <2 x i16> %5 to i32
  %31 = zext i32 %30 to i64
  %32 = bitcast <2 x i16> %5 to i32
  %33 = zext i32 %32 to i64
  %34 = bitcast <2 x i16> %5 to i32
  %35 = zext i32 %34 to i64
  %36 = bitcast <2 x i16> %5 to i32
  %37 = zext i32 %36 to i64
  %38 = bitcast <2 x i16> %5 to i32
  %39 = zext i32 %38 to i64
  %40 = bitcast <2 x i16> %5 to i32
  %41 = zext i32 %40 to i64
  %42 = bitcast float %20 to i32
  %43 = zext i32 %42 to i64
  %44 = bitcast float %23 to i32
  %45 = zext i32 %44 to i64
  %46 = bitcast float %26 to i32
  %47 = zext i32 %46 to i64
  %48 = bitcast float %29 to i32
  %49 = zext i32 %48 to i64
  call void @fusebox_simt_multiply(i32 0, i32 0, i64 %31, i64 %33, i64 %35, i64 %37, i64 %39, i64 %41, i64 %43, i64 %45, i64 %47, i64 %49)
  %50 = call i64 @fusebox_simt_sum(i32 0)
  %51 = trunc i64 %50 to i32
  %52 = bitcast i32 %51 to float
  %53 = call i64 @fusebox_simt_sum(i32 1)
  %54 = trunc i64 %53 to i32
  %55 = bitcast i32 %54 to float
  %56 = call i64 @fusebox_simt_sum(i32 2)
  %57 = trunc i64 %56 to i32
  %58 = bitcast i32 %57 to float
  %59 = call i64 @fusebox_simt_sum(i32 3)
  %60 = trunc i64 %59 to i32
  %61 = bitcast i32 %60 to float
  store float %61, ptr %1, align 4
  ret void
}

declare void @fusebox_simt_multiply(i32, i32, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64)

declare i64 @fusebox_simt_sum(i32)

; Function Attrs: nounwind
define void @k(ptr %0, i64 %1, i64 %2) #1 {
  %4 = getelementptr inbounds ptr, ptr %0, i64 0
  %5 = load ptr, ptr %4, align 8
  %6 = getelementptr inbounds ptr, ptr %0, i64 1
  %7 = load ptr, ptr %6, align 8
  call void @k.body(ptr %5, ptr %7, i64 %1, i64 %2)
  ret void
}

attributes #0 = { alwaysinline nounwind }
attributes #1 = { nounwind }
