; What code generation is warmed up with: the instructions that most kernels consist of.
define void @kernel(ptr noalias align 64 %in, ptr noalias align 64 %out, i64 %first, i64 %end) {
entry:
  %empty = icmp sge i64 %first, %end
  br i1 %empty, label %done, label %rows
rows:
  %row = phi i64 [ %first, %entry ], [ %next_row, %last ]
  %offset = mul nsw i64 %row, 4096
  %source = getelementptr inbounds float, ptr %in, i64 %offset
  %target = getelementptr inbounds float, ptr %out, i64 %offset
  br label %vectors
vectors:
  %at = phi i64 [ 0, %rows ], [ %next, %vectors ]
  %sum = phi <8 x float> [ zeroinitializer, %rows ], [ %more, %vectors ]
  %from = getelementptr inbounds float, ptr %source, i64 %at
  %x = load <8 x float>, ptr %from, align 32
  %y = fmul <8 x float> %x, splat (float 2.0)
  %above = fcmp ogt <8 x float> %y, %x
  %z = select <8 x i1> %above, <8 x float> %y, <8 x float> %x
  %t = call <8 x float> @llvm.fma.v8f32(<8 x float> %z, <8 x float> %x, <8 x float> %y)
  %i = fptosi <8 x float> %t to <8 x i32>
  %j = shl <8 x i32> %i, splat (i32 23)
  %k = bitcast <8 x i32> %j to <8 x float>
  %to = getelementptr inbounds float, ptr %target, i64 %at
  store <8 x float> %k, ptr %to, align 32
  %more = fadd <8 x float> %sum, %k
  %next = add nuw nsw i64 %at, 8
  %again = icmp ult i64 %next, 4088
  br i1 %again, label %vectors, label %scalars
scalars:
  %one = phi i64 [ %next, %vectors ], [ %next_one, %scalars ]
  %p = getelementptr inbounds float, ptr %source, i64 %one
  %a = load float, ptr %p, align 4
  %b = fdiv float %a, 3.0
  %q = getelementptr inbounds float, ptr %target, i64 %one
  store float %b, ptr %q, align 4
  %next_one = add nuw nsw i64 %one, 1
  %still = icmp ult i64 %next_one, 4096
  br i1 %still, label %scalars, label %last
last:
  %total = call reassoc float @llvm.vector.reduce.fadd.v8f32(float 0.0, <8 x float> %more)
  store float %total, ptr %target, align 4
  %next_row = add nsw i64 %row, 1
  %left = icmp slt i64 %next_row, %end
  br i1 %left, label %rows, label %done
done:
  ret void
}
