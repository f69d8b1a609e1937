// A thread's own memory is an alloca at the beginning, a constant table a global.
// target: cpu
func.func @k(%a: !llvm.ptr, %out: !llvm.ptr) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 1>} {
  %own = "xla_gpu.stack_memory"() {bytes = 32 : i64, alignment = 64 : i64} : () -> !llvm.ptr
  %table = "xla_gpu.constant_memory"() {value = dense<[3, 1, 4, 1]> : tensor<4xi32>} : () -> !llvm.ptr
  %i = arith.constant 0 : i64
  %n = "xla_gpu.load"(%table, %i) {alignment = 4 : i64} : (!llvm.ptr, i64) -> i32
  "xla_gpu.store"(%n, %own, %i) {alignment = 4 : i64} : (i32, !llvm.ptr, i64) -> ()
  %m = "xla_gpu.load"(%own, %i) {alignment = 4 : i64} : (!llvm.ptr, i64) -> i32
  "xla_gpu.store"(%m, %out, %i) {alignment = 4 : i64} : (i32, !llvm.ptr, i64) -> ()
  func.return
}
// -----
@constant = private unnamed_addr constant [16 x i8] c"\03\00\00\00\01\00\00\00\04\00\00\00\01\00\00\00", align 64

; Function Attrs: alwaysinline nounwind
define internal void @k.body(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
  %5 = alloca [32 x i8], align 64
  %6 = load i32, ptr @constant, align 4
  store i32 %6, ptr %5, align 4
  %7 = load i32, ptr %5, align 4
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
