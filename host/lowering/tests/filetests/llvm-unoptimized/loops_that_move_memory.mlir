// A loop that fills a tile with zeros, and a loop that copies an argument to a tile, are single operations, which run
// only if the loops have iterations. The other loops stay: they store another number, copy within one tile, or write an
// argument.
// target: cpu
func.func @k(%a: !llvm.ptr {llvm.noalias, llvm.readonly}, %out: !llvm.ptr {llvm.noalias}) attributes {fusebox.entry, fusebox.launch = array<i64: 4, 1>} {
  %c1 = arith.constant 1 : i64
  %c3 = arith.constant 3 : i64
  %c64 = arith.constant 64 : i64
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %id = gpu.block_id x
  %block = arith.index_cast %id : index to i64
  %tile = "xla_gpu.stack_memory"() {bytes = 512 : i64, alignment = 64 : i64} : () -> !llvm.ptr
  scf.for %i = %c1 to %block step %c1 : i64 {
    %row = arith.muli %block, %c3 : i64
    %at = arith.addi %row, %i : i64
    "xla_gpu.store"(%zero, %tile, %at) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
    scf.yield
  }
  scf.for %i = %block to %c64 step %c1 : i64 {
    %at = arith.addi %i, %c3 : i64
    %x = "xla_gpu.load"(%a, %at) {alignment = 4 : i64, offset = -2 : i64} : (!llvm.ptr, i64) -> f32
    "xla_gpu.store"(%x, %tile, %i) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
    scf.yield
  }
  scf.for %i = %c1 to %block step %c1 : i64 {
    "xla_gpu.store"(%one, %tile, %i) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
    scf.yield
  }
  scf.for %i = %c1 to %block step %c1 : i64 {
    %x = "xla_gpu.load"(%tile, %i) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
    "xla_gpu.store"(%x, %tile, %i) {alignment = 4 : i64, offset = 1 : i64} : (f32, !llvm.ptr, i64) -> ()
    scf.yield
  }
  scf.for %i = %c1 to %block step %c1 : i64 {
    %x = "xla_gpu.load"(%tile, %i) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
    "xla_gpu.store"(%x, %out, %i) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
    scf.yield
  }
  func.return
}

// -----
; Function Attrs: alwaysinline nounwind
define internal void @k.body(ptr readonly %0, ptr noalias %1, i64 %2, i64 %3) #0 {
  %5 = alloca [512 x i8], align 64
  %6 = icmp slt i64 1, %2
  br i1 %6, label %7, label %13

7:                                                ; preds = %4
  %8 = mul i64 %2, 3
  %9 = add i64 %8, 1
  %10 = getelementptr inbounds float, ptr %5, i64 %9
  %11 = sub nsw i64 %2, 1
  %12 = mul nsw i64 %11, 4
  call void @llvm.memset.p0.i64(ptr align 4 %10, i8 0, i64 %12, i1 false)
  br label %13

13:                                               ; preds = %7, %4
  %14 = icmp slt i64 %2, 64
  br i1 %14, label %15, label %22

15:                                               ; preds = %13
  %16 = add i64 %2, 3
  %17 = getelementptr inbounds float, ptr %0, i64 %16
  %18 = getelementptr inbounds float, ptr %17, i64 -2
  %19 = getelementptr inbounds float, ptr %5, i64 %2
  %20 = sub nsw i64 64, %2
  %21 = mul nsw i64 %20, 4
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %19, ptr align 4 %18, i64 %21, i1 false)
  br label %22

22:                                               ; preds = %15, %13
  br label %23

23:                                               ; preds = %26, %22
  %24 = phi i64 [ 1, %22 ], [ %28, %26 ]
  %25 = icmp slt i64 %24, %2
  br i1 %25, label %26, label %29

26:                                               ; preds = %23
  %27 = getelementptr inbounds float, ptr %5, i64 %24
  store float 1.000000e+00, ptr %27, align 4
  %28 = add nsw i64 %24, 1
  br label %23

29:                                               ; preds = %23
  br label %30

30:                                               ; preds = %33, %29
  %31 = phi i64 [ 1, %29 ], [ %38, %33 ]
  %32 = icmp slt i64 %31, %2
  br i1 %32, label %33, label %39

33:                                               ; preds = %30
  %34 = getelementptr inbounds float, ptr %5, i64 %31
  %35 = load float, ptr %34, align 4
  %36 = getelementptr inbounds float, ptr %5, i64 %31
  %37 = getelementptr inbounds float, ptr %36, i64 1
  store float %35, ptr %37, align 4
  %38 = add nsw i64 %31, 1
  br label %30

39:                                               ; preds = %30
  br label %40

40:                                               ; preds = %43, %39
  %41 = phi i64 [ 1, %39 ], [ %47, %43 ]
  %42 = icmp slt i64 %41, %2
  br i1 %42, label %43, label %48

43:                                               ; preds = %40
  %44 = getelementptr inbounds float, ptr %5, i64 %41
  %45 = load float, ptr %44, align 4
  %46 = getelementptr inbounds float, ptr %1, i64 %41
  store float %45, ptr %46, align 4
  %47 = add nsw i64 %41, 1
  br label %40

48:                                               ; preds = %40
  ret void
}

; Function Attrs: nocallback nofree nounwind willreturn memory(argmem: write)
declare void @llvm.memset.p0.i64(ptr writeonly captures(none), i8, i64, i1 immarg) #1

; Function Attrs: nocallback nofree nounwind willreturn memory(argmem: readwrite)
declare void @llvm.memcpy.p0.p0.i64(ptr noalias writeonly captures(none), ptr noalias readonly captures(none), i64, i1 immarg) #2

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
attributes #1 = { nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #2 = { nocallback nofree nounwind willreturn memory(argmem: readwrite) }
attributes #3 = { nounwind }
