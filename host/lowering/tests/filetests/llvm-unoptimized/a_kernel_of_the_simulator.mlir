// A thread of the simulator is one call; it tells of what it does with the numbers of places.
// target: simt
func.func @k(%a: !llvm.ptr, %out: !llvm.ptr) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 128>} {
  %t = gpu.thread_id x
  %thread = arith.index_cast %t : index to i64
  "xla_gpu.report_access"(%a, %thread) {alignment = 4 : i64, bytes = 4 : i64, element_bytes = 4 : i64, kind = 0 : i64, site = "k: the read"} : (!llvm.ptr, i64) -> ()
  %x = "xla_gpu.load"(%a, %thread) {alignment = 4 : i64} : (!llvm.ptr, i64) -> f32
  "xla_gpu.barrier"() {site = "k: the barrier"} : () -> ()
  "xla_gpu.report_turn"() {site = "k: a loop"} : () -> ()
  "xla_gpu.store"(%x, %out, %thread) {alignment = 4 : i64} : (f32, !llvm.ptr, i64) -> ()
  func.return
}
// -----
; Function Attrs: alwaysinline nounwind
define internal void @k.body(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
  %5 = getelementptr inbounds i32, ptr %0, i64 %3
  call void @fusebox_simt_access(ptr %0, ptr %5, i32 4, i32 0, i32 0)
  %6 = getelementptr inbounds float, ptr %0, i64 %3
  %7 = load float, ptr %6, align 4
  call void @fusebox_simt_barrier(i32 1)
  call void @fusebox_simt_turn(i32 2)
  %8 = getelementptr inbounds float, ptr %1, i64 %3
  store float %7, ptr %8, align 4
  ret void
}

declare void @fusebox_simt_access(ptr, ptr, i32, i32, i32)

declare void @fusebox_simt_barrier(i32)

declare void @fusebox_simt_turn(i32)

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
