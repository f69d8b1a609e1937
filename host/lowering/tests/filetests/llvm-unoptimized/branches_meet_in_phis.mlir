// A branch is two blocks that meet in a third.
// target: sm_90
func.func @k(%a: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 128>} {
  %i = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %i) {alignment = 4 : i64} : (!llvm.ptr<1>, i64) -> f32
  %zero = arith.constant 0.0 : f32
  %positive = arith.cmpf ogt, %x, %zero : f32
  %r = scf.if %positive -> f32 {
    %root = math.sqrt %x : f32
    scf.yield %root : f32
  } else {
    scf.yield %zero : f32
  }
  "xla_gpu.store"(%r, %out, %i) {alignment = 4 : i64} : (f32, !llvm.ptr<1>, i64) -> ()
  func.return
}
// -----
; Function Attrs: nounwind
define ptx_kernel void @k(ptr addrspace(1) %0, ptr addrspace(1) %1) #0 {
  %3 = load float, ptr addrspace(1) %0, align 4
  %4 = fcmp ogt float %3, 0.000000e+00
  br i1 %4, label %5, label %7

5:                                                ; preds = %2
  %6 = call float @llvm.sqrt.f32(float %3)
  br label %8

7:                                                ; preds = %2
  br label %8

8:                                                ; preds = %7, %5
  %9 = phi float [ %6, %5 ], [ 0.000000e+00, %7 ]
  store float %9, ptr addrspace(1) %1, align 4
  ret void
}

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.sqrt.f32(float) #1

attributes #0 = { nounwind "nvvm.reqntid"="128" }
attributes #1 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
