// Rows of a product with a vector read the same vector: the jump that closes the outer loop asks LLVM to compute four rows in one loop.
// target: cpu
func.func @k(%matrix: !llvm.ptr, %vector: !llvm.ptr, %out: !llvm.ptr) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %rows = arith.constant 12 : i64
  %columns = arith.constant 100 : i64
  %zero = arith.constant 0.0 : f32
  "scf.for"(%c0, %rows, %c1) ({
  ^bb0(%row: i64):
    %sum = "scf.for"(%c0, %columns, %c1, %zero) ({
    ^bb0(%n: i64, %now: f32):
      %start = arith.muli %row, %columns : i64
      %at = arith.addi %start, %n : i64
      %x = "xla_gpu.load"(%matrix, %at) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
      %y = "xla_gpu.load"(%vector, %n) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
      %product = arith.mulf %x, %y : f32
      %next = arith.addf %now, %product fastmath<reassoc> : f32
      scf.yield %next : f32
    }) : (i64, i64, i64, f32) -> f32
    "xla_gpu.store"(%sum, %out, %row) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
    scf.yield
  }) : (i64, i64, i64) -> ()
  func.return
}

// -----
; Function Attrs: alwaysinline nounwind
define internal void @k.body(ptr %0, ptr %1, ptr %2, i64 %3, i64 %4) #0 {
  br label %6

6:                                                ; preds = %25, %5
  %7 = phi i64 [ 0, %5 ], [ %27, %25 ]
  %8 = icmp slt i64 %7, 12
  br i1 %8, label %9, label %10

9:                                                ; preds = %6
  br label %11

10:                                               ; preds = %6
  ret void

11:                                               ; preds = %15, %9
  %12 = phi i64 [ 0, %9 ], [ %24, %15 ]
  %13 = phi float [ 0.000000e+00, %9 ], [ %23, %15 ]
  %14 = icmp slt i64 %12, 100
  br i1 %14, label %15, label %25

15:                                               ; preds = %11
  %16 = mul i64 %7, 100
  %17 = add i64 %16, %12
  %18 = getelementptr inbounds float, ptr %0, i64 %17
  %19 = load float, ptr %18, align 4
  %20 = getelementptr inbounds float, ptr %1, i64 %12
  %21 = load float, ptr %20, align 4
  %22 = fmul float %19, %21
  %23 = fadd reassoc float %13, %22
  %24 = add nsw i64 %12, 1
  br label %11

25:                                               ; preds = %11
  %26 = getelementptr inbounds float, ptr %2, i64 %7
  store float %13, ptr %26, align 4
  %27 = add nsw i64 %7, 1
  br label %6, !llvm.loop !0
}

; Function Attrs: nounwind
define void @k(ptr %0, i64 %1, i64 %2) #1 {
  %4 = getelementptr inbounds ptr, ptr %0, i64 0
  %5 = load ptr, ptr %4, align 8
  %6 = getelementptr inbounds ptr, ptr %0, i64 1
  %7 = load ptr, ptr %6, align 8
  %8 = getelementptr inbounds ptr, ptr %0, i64 2
  %9 = load ptr, ptr %8, align 8
  br label %10

10:                                               ; preds = %13, %3
  %11 = phi i64 [ %1, %3 ], [ %14, %13 ]
  %12 = icmp slt i64 %11, %2
  br i1 %12, label %13, label %15

13:                                               ; preds = %10
  call void @k.body(ptr %5, ptr %7, ptr %9, i64 %11, i64 0)
  %14 = add nsw i64 %11, 1
  br label %10

15:                                               ; preds = %10
  ret void
}

attributes #0 = { alwaysinline nounwind }
attributes #1 = { nounwind }

!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.unroll_and_jam.count", i32 4}
