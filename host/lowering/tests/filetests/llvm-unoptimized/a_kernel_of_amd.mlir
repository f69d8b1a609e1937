// The same for AMD, with its calling convention and its intrinsics.
// target: gfx942
func.func @k(%a: !llvm.ptr<1> {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 4096 : i64, llvm.noalias, llvm.readonly}, %out: !llvm.ptr<1> {fusebox.bytes = 4096 : i64, fusebox.alignment = 64 : i64, llvm.align = 64 : i64, llvm.nonnull, llvm.noundef, llvm.dereferenceable = 4096 : i64, llvm.noalias}) attributes {fusebox.entry, fusebox.launch = array<i64: 1, 64>} {
  %t = gpu.thread_id x
  %thread = arith.index_cast %t : index to i32
  %i = "arith.extui"(%thread) {nonNeg} : (i32) -> i64
  %x = "xla_gpu.load"(%a, %i) {alignment = 4 : i64, invariant} : (!llvm.ptr<1>, i64) -> f32
  "xla_gpu.store"(%x, %out, %i) {alignment = 4 : i64} : (f32, !llvm.ptr<1>, i64) -> ()
  func.return
}
// -----
; Function Attrs: nounwind
define amdgpu_kernel void @k(ptr addrspace(1) noalias noundef nonnull readonly align 64 dereferenceable(4096) %0, ptr addrspace(1) noalias noundef nonnull align 64 dereferenceable(4096) %1) #0 {
  %3 = call range(i32 0, 64) i32 @llvm.amdgcn.workitem.id.x()
  %4 = zext nneg i32 %3 to i64
  %5 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %4
  %6 = load float, ptr addrspace(1) %5, align 4, !invariant.load !0
  %7 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %4
  store float %6, ptr addrspace(1) %7, align 4
  ret void
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x() #1

attributes #0 = { nounwind "amdgpu-flat-work-group-size"="64,64" }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }

!0 = !{}
