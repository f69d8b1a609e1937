// A loop is a test before every turn; what it carries are phis. Its wish is metadata of the branch back.
// target: sm_90
func.func @k(%a: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 128>} {
  %i = arith.constant 0 : i64
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %c0 = arith.constant 0 : i32
  %zero = arith.constant 0.0 : f32
  %sum = "scf.for"(%c0, %c3, %c1, %zero) ({
  ^bb0(%n: i32, %now: f32):
    %at = "arith.extui"(%n) {nonNeg} : (i32) -> i64
  %x = "xla_gpu.load"(%a, %at) {alignment = 4 : i64} : (!llvm.ptr<1>, i64) -> f32
    %next = arith.addf %now, %x : f32
    scf.yield %next : f32
  }) {fusebox.unroll = "never"} : (i32, i32, i32, f32) -> f32
  "xla_gpu.store"(%sum, %out, %i) {alignment = 4 : i64} : (f32, !llvm.ptr<1>, i64) -> ()
  func.return
}
// -----
; Function Attrs: nounwind
define ptx_kernel void @k(ptr addrspace(1) %0, ptr addrspace(1) %1) #0 {
  br label %3

3:                                                ; preds = %7, %2
  %4 = phi i32 [ 0, %2 ], [ %12, %7 ]
  %5 = phi float [ 0.000000e+00, %2 ], [ %11, %7 ]
  %6 = icmp slt i32 %4, 3
  br i1 %6, label %7, label %13

7:                                                ; preds = %3
  %8 = zext nneg i32 %4 to i64
  %9 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %8
  %10 = load float, ptr addrspace(1) %9, align 4
  %11 = fadd float %5, %10
  %12 = add nsw i32 %4, 1
  br label %3, !llvm.loop !0

13:                                               ; preds = %3
  store float %5, ptr addrspace(1) %1, align 4
  ret void
}

attributes #0 = { nounwind "nvvm.reqntid"="128" }

!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.unroll.disable"}
