// Several blocks may run at once on the cpu: it has instructions for integers, floats are exchanged.
// target: cpu
func.func @k(%a: !llvm.ptr, %out: !llvm.ptr) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 1>} {
  %i = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %i) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
  %n = "xla_gpu.load"(%a, %i) {alignment = 4 : i64} : (!llvm.ptr, i64) -> i32
  "xla_gpu.atomic_combine"(%n, %out, %i) {alignment = 4 : i64, threads = "", by = "arith.addi", element = i32} : (i32, !llvm.ptr, i64) -> ()
  "xla_gpu.atomic_rmw"(%out, %i) ({
  ^bb0(%bits: i32):
    %old = arith.bitcast %bits : i32 to f32
    %new = arith.maximumf %old, %x : f32
    %newbits = arith.bitcast %new : f32 to i32
    "xla_gpu.yield"(%newbits) : (i32) -> ()
  }) {alignment = 4 : i64, threads = ""} : (!llvm.ptr, i64) -> ()
  func.return
}

// -----
; Function Attrs: alwaysinline nounwind
define internal void @k.body(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
  %5 = load float, ptr %0, align 4
  %6 = load i32, ptr %0, align 4
  %7 = atomicrmw add ptr %1, i32 %6 monotonic, align 4
  %8 = load atomic i32, ptr %1 unordered, align 4
  br label %9

9:                                                ; preds = %15, %4
  %10 = phi i32 [ %8, %4 ], [ %17, %15 ]
  %11 = bitcast i32 %10 to float
  %12 = call float @llvm.maximum.f32(float %11, float %5)
  %13 = bitcast float %12 to i32
  %14 = icmp eq i32 %13, %10
  br i1 %14, label %19, label %15

15:                                               ; preds = %9
  %16 = cmpxchg ptr %1, i32 %10, i32 %13 monotonic monotonic, align 4
  %17 = extractvalue { i32, i1 } %16, 0
  %18 = extractvalue { i32, i1 } %16, 1
  br i1 %18, label %19, label %9

19:                                               ; preds = %15, %9
  ret void
}

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.maximum.f32(float, float) #1

; Function Attrs: nounwind
define void @k(ptr %0, i64 %1, i64 %2) #2 {
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
attributes #2 = { nounwind }
