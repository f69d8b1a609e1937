// Vectors are LLVM's: lanes are taken, put, mixed and combined.
// target: cpu
func.func @k(%a: !llvm.ptr, %out: !llvm.ptr) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %i = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %i) {alignment = 16 : i64} : (!llvm.ptr, i64) -> vector<4xf32>
  %one = arith.constant dense<1.0> : vector<4xf32>
  %first = vector.extract %x[0] : f32 from vector<4xf32>
  %all = vector.broadcast %first : f32 to vector<4xf32>
  %fused = vector.fma %x, %all, %one : vector<4xf32>
  %mixed = vector.shuffle %fused, %x [0, 4, 1, 5] : vector<4xf32>, vector<4xf32>
  %put = vector.insert %first, %mixed [3] : f32 into vector<4xf32>
  %sum = vector.reduction <add>, %put fastmath<reassoc> : vector<4xf32> into f32
  "xla_gpu.store"(%sum, %out, %i) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
  func.return
}
// -----
; Function Attrs: alwaysinline nounwind
define internal void @k.body(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
  %5 = load <4 x float>, ptr %0, align 16
  %6 = extractelement <4 x float> %5, i64 0
  %7 = insertelement <4 x float> poison, float %6, i32 0
  %8 = shufflevector <4 x float> %7, <4 x float> %7, <4 x i32> zeroinitializer
  %9 = call <4 x float> @llvm.fma.v4f32(<4 x float> %5, <4 x float> %8, <4 x float> splat (float 1.000000e+00))
  %10 = shufflevector <4 x float> %9, <4 x float> %5, <4 x i32> <i32 0, i32 4, i32 1, i32 5>
  %11 = insertelement <4 x float> %10, float %6, i64 3
  %12 = call reassoc float @llvm.vector.reduce.fadd.v4f32(float -0.000000e+00, <4 x float> %11)
  store float %12, ptr %1, align 4
  ret void
}

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare <4 x float> @llvm.fma.v4f32(<4 x float>, <4 x float>, <4 x float>) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.vector.reduce.fadd.v4f32(float, <4 x float>) #2

; Function Attrs: nounwind
define void @k(ptr %0, i64 %1, i64 %2) #3 {
  %4 = getelementptr inbounds ptr, ptr %0, i64 0
  %5 = load ptr, ptr %4, align 8
  %6 = getelementptr inbounds ptr, ptr %0, i64 1
  %7 = load ptr, ptr %6, align 8
  br label %8

8:                                                ; preds = %11, %3
  %9 = phi i64 [ %1, %3 ], [ %12, %11 ]
  %10 = icmp slt i64 %9, %2
  br i1 %10, label %11, label %13

11:                                               ; preds = %8
  call void @k.body(ptr %5, ptr %7, i64 %9, i64 0)
  %12 = add nsw i64 %9, 1
  br label %8

13:                                               ; preds = %8
  ret void
}

attributes #0 = { alwaysinline nounwind }
attributes #1 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { nounwind }
