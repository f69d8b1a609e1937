// Sums go over in memory of the thread, and come back there.
// target: simt
func.func @k(%out: !llvm.ptr) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 128>} {
  %left = "xla_gpu.shared_memory"() {bytes = 4096 : i64, alignment = 16 : i64, offset = 0 : i64, element_bytes = 2 : i64} : () -> !llvm.ptr
  %right = "xla_gpu.shared_memory"() {bytes = 512 : i64, alignment = 16 : i64, offset = 4096 : i64, element_bytes = 2 : i64} : () -> !llvm.ptr
  %room = "xla_gpu.stack_memory"() {bytes = 16 : i64, alignment = 64 : i64} : () -> !llvm.ptr
  %i = arith.constant 0 : i64
  %second = arith.constant 1024 : i64
  %zero = arith.constant 0.0 : f32
  "xla_gpu.barrier"() {site = "k", readies_tiles} : () -> ()
  %sums:4 = "xla_gpu.wgmma"(%zero, %zero, %zero, %zero, %left, %second, %right, %i, %room) {along_steps = array<i64: 1, 0>, columns = 8 : i64, steps = 16 : i64, strides = array<i64: 512, 64>, element = bf16, site = "k"} : (f32, f32, f32, f32, !llvm.ptr, i64, !llvm.ptr, i64, !llvm.ptr) -> (f32, f32, f32, f32)
  "xla_gpu.store"(%sums#3, %out, %i) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
  func.return
}
// -----
; Function Attrs: alwaysinline nounwind
define internal void @k.body(ptr %0, i64 %1, i64 %2) #0 {
  %4 = call ptr @fusebox_simt_shared(i64 0, i64 4096, i32 2)
  %5 = call ptr @fusebox_simt_shared(i64 4096, i64 512, i32 2)
  %6 = alloca [16 x i8], align 64
  call void @fusebox_simt_barrier(i32 0)
  %7 = getelementptr inbounds i16, ptr %4, i64 1024
  %8 = getelementptr inbounds i32, ptr %6, i64 0
  store float 0.000000e+00, ptr %8, align 4
  %9 = getelementptr inbounds i32, ptr %6, i64 1
  store float 0.000000e+00, ptr %9, align 4
  %10 = getelementptr inbounds i32, ptr %6, i64 2
  store float 0.000000e+00, ptr %10, align 4
  %11 = getelementptr inbounds i32, ptr %6, i64 3
  store float 0.000000e+00, ptr %11, align 4
  %12 = getelementptr inbounds i32, ptr %6, i64 0
  %13 = getelementptr inbounds i32, ptr %6, i64 1
  %14 = getelementptr inbounds i32, ptr %6, i64 2
  %15 = getelementptr inbounds i32, ptr %6, i64 3
  call void @fusebox_simt_multiply_tiles(ptr %4, ptr %7, ptr %5, ptr %5, ptr %6, i32 8, i32 16, i32 1024, i32 128, i32 1, i32 0, i32 0, i32 0)
  %16 = load float, ptr %12, align 4
  %17 = load float, ptr %13, align 4
  %18 = load float, ptr %14, align 4
  %19 = load float, ptr %15, align 4
  store float %19, ptr %0, align 4
  ret void
}

declare ptr @fusebox_simt_shared(i64, i64, i32)

declare void @fusebox_simt_barrier(i32)

declare void @fusebox_simt_multiply_tiles(ptr, ptr, ptr, ptr, ptr, i32, i32, i32, i32, i32, i32, i32, i32)

; Function Attrs: nounwind
define void @k(ptr %0, i64 %1, i64 %2) #1 {
  %4 = getelementptr inbounds ptr, ptr %0, i64 0
  %5 = load ptr, ptr %4, align 8
  call void @k.body(ptr %5, i64 %1, i64 %2)
  ret void
}

attributes #0 = { alwaysinline nounwind }
attributes #1 = { nounwind }
