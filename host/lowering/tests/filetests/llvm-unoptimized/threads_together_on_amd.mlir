// On AMD a barrier is between two fences, and a lane reads from the address of another.
// target: gfx942
func.func @k(%a: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 128>} {
  %tile = "xla_gpu.shared_memory"() {bytes = 512 : i64, alignment = 16 : i64, offset = 0 : i64, element_bytes = 4 : i64} : () -> !llvm.ptr<3>
  %i = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %i) {alignment = 4 : i64} : (!llvm.ptr<1>, i64) -> f32
  "xla_gpu.store"(%x, %tile, %i) {alignment = 4 : i64} : (f32, !llvm.ptr<3>, i64) -> ()
  "xla_gpu.barrier"() {site = "k"} : () -> ()
  %y = "xla_gpu.load"(%tile, %i) {alignment = 4 : i64} : (!llvm.ptr<3>, i64) -> f32
  %bits = arith.bitcast %y : f32 to i32
  %moved = "xla_gpu.shuffle_down"(%bits) {distance = 4 : i64, lanes = 64 : i64, site = "k"} : (i32) -> i32
  "xla_gpu.store"(%moved, %out, %i) {alignment = 4 : i64} : (i32, !llvm.ptr<1>, i64) -> ()
  func.return
}
// -----
@tile = internal addrspace(3) global [512 x i8] poison, align 16

; Function Attrs: nounwind
define amdgpu_kernel void @k(ptr addrspace(1) %0, ptr addrspace(1) %1) #0 {
  %3 = load float, ptr addrspace(1) %0, align 4
  store float %3, ptr addrspace(3) @tile, align 4
  fence syncscope("workgroup") acq_rel
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acq_rel
  %4 = load float, ptr addrspace(3) @tile, align 4
  %5 = bitcast float %4 to i32
  %6 = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  %7 = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %6)
  %8 = add i32 %7, 4
  %9 = shl i32 %8, 2
  %10 = call i32 @llvm.amdgcn.ds.bpermute(i32 %9, i32 %5)
  store i32 %10, ptr addrspace(1) %1, align 4
  ret void
}

; Function Attrs: convergent nocallback nofree nounwind willreturn
declare void @llvm.amdgcn.s.barrier() #1

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind willreturn memory(none)
declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32) #2

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind willreturn memory(none)
declare i32 @llvm.amdgcn.mbcnt.hi(i32, i32) #2

; Function Attrs: convergent nocallback nofree nounwind willreturn memory(none)
declare i32 @llvm.amdgcn.ds.bpermute(i32, i32) #3

attributes #0 = { nounwind "amdgpu-flat-work-group-size"="128,128" }
attributes #1 = { convergent nocallback nofree nounwind willreturn }
attributes #2 = { nocallback nocreateundeforpoison nofree nosync nounwind willreturn memory(none) }
attributes #3 = { convergent nocallback nofree nounwind willreturn memory(none) }
