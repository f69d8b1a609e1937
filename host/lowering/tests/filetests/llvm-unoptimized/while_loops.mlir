// A loop with a condition of its own is one block for it and one for the turn.
// target: cpu
func.func @k(%a: !llvm.ptr, %out: !llvm.ptr) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %i = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %i) {alignment = 4 : i64} : (!llvm.ptr, i64) -> i32
  %c10 = arith.constant 10 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.while (%now = %x) : (i32) -> i32 {
    %below = arith.cmpi slt, %now, %c10 : i32
    scf.condition(%below) %now : i32
  } do {
  ^bb0(%now: i32):
    %next = arith.addi %now, %c1 : i32
    scf.yield %next : i32
  }
  "xla_gpu.store"(%r, %out, %i) {alignment = 4 : i64} : (i32, !llvm.ptr, i64) -> ()
  func.return
}
// -----
; Function Attrs: alwaysinline nounwind
define internal void @k.body(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
  %5 = load i32, ptr %0, align 4
  br label %6

6:                                                ; preds = %9, %4
  %7 = phi i32 [ %5, %4 ], [ %10, %9 ]
  %8 = icmp slt i32 %7, 10
  br i1 %8, label %9, label %11

9:                                                ; preds = %6
  %10 = add i32 %7, 1
  br label %6

11:                                               ; preds = %6
  store i32 %7, ptr %1, align 4
  ret void
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

attributes #0 = { alwaysinline nounwind }
attributes #1 = { nounwind }
