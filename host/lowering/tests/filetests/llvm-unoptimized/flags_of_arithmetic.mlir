// What the kernel IR allows to floats and knows of overflow LLVM is told, and nothing more.
// target: sm_90
func.func @k(%a: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {fusebox.entry, fusebox.launch = array<i64: 8, 128>} {
  %i = arith.constant 0 : i64
  %x = "xla_gpu.load"(%a, %i) {alignment = 4 : i64} : (!llvm.ptr<1>, i64) -> f32
  %n = "xla_gpu.load"(%a, %i) {alignment = 4 : i64} : (!llvm.ptr<1>, i64) -> i32
  %free = arith.addf %x, %x fastmath<reassoc,nsz> : f32
  %strict = arith.mulf %free, %x : f32
  %exact = arith.addi %n, %n overflow<nsw> : i32
  %wrapping = arith.muli %exact, %n : i32
  %float = arith.sitofp %wrapping : i32 to f32
  %r = arith.divf %strict, %float : f32
  "xla_gpu.store"(%r, %out, %i) {alignment = 4 : i64} : (f32, !llvm.ptr<1>, i64) -> ()
  func.return
}
// -----
; Function Attrs: nounwind
define ptx_kernel void @k(ptr addrspace(1) %0, ptr addrspace(1) %1) #0 {
  %3 = load float, ptr addrspace(1) %0, align 4
  %4 = load i32, ptr addrspace(1) %0, align 4
  %5 = fadd reassoc nsz float %3, %3
  %6 = fmul float %5, %3
  %7 = add nsw i32 %4, %4
  %8 = mul i32 %7, %4
  %9 = sitofp i32 %8 to float
  %10 = fdiv float %6, %9
  store float %10, ptr addrspace(1) %1, align 4
  ret void
}

attributes #0 = { nounwind "nvvm.reqntid"="128" }
