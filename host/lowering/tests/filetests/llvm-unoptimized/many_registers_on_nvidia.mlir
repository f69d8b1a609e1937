// Where a core need not hold several blocks, the assembler is told so.
// target: sm_90
func.func @k() attributes {fusebox.entry, fusebox.many_registers, fusebox.launch = array<i64: 1, 64>} {
  func.return
}
// -----
; Function Attrs: nounwind
define ptx_kernel void @k() #0 {
  ret void
}

attributes #0 = { nounwind "nvvm.minctasm"="1" "nvvm.reqntid"="64" }
