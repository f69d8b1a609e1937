// The operations of a math function wait for each other: the jump that closes a loop over large arrays asks LLVM to compute four vectors in one iteration.
// target: cpu
func.func @k(%a: !llvm.ptr {fusebox.bytes = 262144 : i64, fusebox.read_only}, %out: !llvm.ptr {fusebox.bytes = 262144 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %elements = arith.constant 65536 : i64
  "scf.for"(%c0, %elements, %c1) ({
  ^bb0(%n: i64):
    %x = "xla_gpu.load"(%a, %n) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
    %y = func.call @fusebox_tanh_f32(%x) : (f32) -> f32
    "xla_gpu.store"(%y, %out, %n) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
    scf.yield
  }) : (i64, i64, i64) -> ()
  func.return
}
func.func private @fusebox_tanh_f32(%x: f32) -> f32 {
  func.return %x : f32
}

// -----
; Function Attrs: alwaysinline nounwind
define internal void @k.body(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
  br label %5

5:                                                ; preds = %8, %4
  %6 = phi i64 [ 0, %4 ], [ %13, %8 ]
  %7 = icmp slt i64 %6, 65536
  br i1 %7, label %8, label %14

8:                                                ; preds = %5
  %9 = getelementptr inbounds float, ptr %0, i64 %6
  %10 = load float, ptr %9, align 4
  %11 = call float @fusebox_tanh_f32(float %10)
  %12 = getelementptr inbounds float, ptr %1, i64 %6
  store float %11, ptr %12, align 4
  %13 = add nsw i64 %6, 1
  br label %5, !llvm.loop !0

14:                                               ; preds = %5
  ret void
}

; Function Attrs: alwaysinline nounwind
define internal float @fusebox_tanh_f32(float %0) #0 {
  %2 = call float @llvm.fabs.f32(float %0)
  %3 = fcmp ogt float %2, 1.000000e+01
  %4 = select i1 %3, float 1.000000e+01, float %2
  %5 = call float @llvm.fma.f32(float %4, float 0x4007154760000000, float 0x4168000000000000)
  %6 = fsub float %5, 0x4168000000000000
  %7 = call float @llvm.fma.f32(float %6, float 0xBFD62E4300000000, float %4)
  %8 = bitcast float %5 to i32
  %9 = shl i32 %8, 23
  %10 = add i32 %9, 1065353216
  %11 = bitcast i32 %10 to float
  %12 = fmul float %7, %11
  %13 = fsub float %11, 1.000000e+00
  %14 = call float @llvm.fma.f32(float %12, float 2.000000e+00, float %13)
  %15 = call float @llvm.fma.f32(float 0x3FB6B39D20000000, float %7, float 0x3FD123E480000000)
  %16 = call float @llvm.fma.f32(float %15, float %7, float 0x3FE55574E0000000)
  %17 = call float @llvm.fma.f32(float %16, float %7, float 0x3FF5554940000000)
  %18 = call float @llvm.fma.f32(float %17, float %7, float 0x3FFFFFFFE0000000)
  %19 = fmul float %12, %7
  %20 = call float @llvm.fma.f32(float %18, float %19, float %14)
  %21 = fadd float %20, 2.000000e+00
  %22 = fdiv float %20, %21
  %23 = call float @llvm.copysign.f32(float %22, float %0)
  ret float %23
}

; Function Attrs: nounwind
define void @k(ptr %0, i64 %1, i64 %2) #1 {
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

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.fabs.f32(float) #2

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.fma.f32(float, float, float) #2

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.copysign.f32(float, float) #2

attributes #0 = { alwaysinline nounwind }
attributes #1 = { nounwind }
attributes #2 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }

!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.interleave.count", i32 4}
