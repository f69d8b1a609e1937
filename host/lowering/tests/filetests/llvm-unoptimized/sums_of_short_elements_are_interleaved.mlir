// A loop that adds numbers and writes elements of two bytes: the jump that closes it asks LLVM to compute eight vectors in one iteration.
// target: cpu
func.func @k(%a: !llvm.ptr {fusebox.bytes = 1048576 : i64, fusebox.read_only}, %out: !llvm.ptr {fusebox.bytes = 1048576 : i64}) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %elements = arith.constant 4096 : i64
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 16 : i32
  %sum = "scf.for"(%c0, %elements, %c1, %zero) ({
  ^bb0(%n: i64, %before: f32):
    %x = "xla_gpu.load"(%a, %n) {alignment = 2 : i64} : (!llvm.ptr, i64) -> i16
    %wide = arith.extui %x : i16 to i32
    %bits = arith.shli %wide, %half : i32
    %number = arith.bitcast %bits : i32 to f32
    %y = func.call @fusebox_exp_f32(%number) : (f32) -> f32
    %after = arith.addf %before, %y fastmath<reassoc> : f32
    %result = arith.bitcast %y : f32 to i32
    %upper = arith.shrui %result, %half : i32
    %short = arith.trunci %upper : i32 to i16
    "xla_gpu.store"(%short, %out, %n) {alignment = 2 : i64} : (i16, !llvm.ptr, i64) -> ()
    scf.yield %after : f32
  }) : (i64, i64, i64, f32) -> f32
  "xla_gpu.store"(%sum, %out, %c0) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
  func.return
}
func.func private @fusebox_exp_f32(%x: f32) -> f32 {
  func.return %x : f32
}
// -----
; Function Attrs: alwaysinline nounwind
define internal void @k.body(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
  br label %5

5:                                                ; preds = %9, %4
  %6 = phi i64 [ 0, %4 ], [ %21, %9 ]
  %7 = phi float [ 0.000000e+00, %4 ], [ %16, %9 ]
  %8 = icmp slt i64 %6, 4096
  br i1 %8, label %9, label %22

9:                                                ; preds = %5
  %10 = getelementptr inbounds i16, ptr %0, i64 %6
  %11 = load i16, ptr %10, align 2
  %12 = zext i16 %11 to i32
  %13 = shl i32 %12, 16
  %14 = bitcast i32 %13 to float
  %15 = call float @fusebox_exp_f32(float %14)
  %16 = fadd reassoc float %7, %15
  %17 = bitcast float %15 to i32
  %18 = lshr i32 %17, 16
  %19 = trunc i32 %18 to i16
  %20 = getelementptr inbounds i16, ptr %1, i64 %6
  store i16 %19, ptr %20, align 2
  %21 = add nsw i64 %6, 1
  br label %5, !llvm.loop !0

22:                                               ; preds = %5
  store float %7, ptr %1, align 4
  ret void
}

; Function Attrs: alwaysinline nounwind
define internal float @fusebox_exp_f32(float %0) #0 {
  %2 = fcmp uge float %0, 0xC055D589E0000000
  %3 = fcmp ogt float %0, 8.900000e+01
  %4 = select i1 %3, float 8.900000e+01, float %0
  %5 = call float @llvm.fma.f32(float %4, float 0x3FF7154760000000, float 0x4168000000000000)
  %6 = fsub float %5, 0x4168000000000000
  %7 = call float @llvm.fma.f32(float %6, float 0xBFE6300000000000, float %4)
  %8 = call float @llvm.fma.f32(float %6, float 0x3F2BD01060000000, float %7)
  %9 = call float @llvm.fma.f32(float 0x3F56CF2A20000000, float %8, float 0x3F81244E60000000)
  %10 = call float @llvm.fma.f32(float %9, float %8, float 0x3FA5555280000000)
  %11 = call float @llvm.fma.f32(float %10, float %8, float 0x3FC5554820000000)
  %12 = call float @llvm.fma.f32(float %11, float %8, float 5.000000e-01)
  %13 = call float @llvm.fma.f32(float %12, float %8, float 1.000000e+00)
  %14 = call float @llvm.fma.f32(float %13, float %8, float 1.000000e+00)
  %15 = bitcast float %14 to i32
  %16 = bitcast float %5 to i32
  %17 = shl i32 %16, 23
  %18 = add i32 %15, %17
  %19 = icmp sgt i32 %18, 2139095040
  %20 = select i1 %19, i32 2139095040, i32 %18
  %21 = bitcast i32 %20 to float
  %22 = call float @llvm.fma.f32(float %4, float 0.000000e+00, float %21)
  %23 = select i1 %2, float %22, float 0.000000e+00
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
declare float @llvm.fma.f32(float, float, float) #2

attributes #0 = { alwaysinline nounwind }
attributes #1 = { nounwind }
attributes #2 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }

!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.interleave.count", i32 8}
