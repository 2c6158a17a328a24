; [["fill.local"], [], "0.50"]
; jit/translation/__init__.py jit/translation/conversions.py jit/translation/distinct_values.py jit/translation/expressions.py jit/translation/folding.py jit/translation/intrinsics.py jit/translation/ir.py jit/translation/rule_calls.py jit/translation/translator.py jit/translation/value_kinds.py language/__init__.py language/records.py language/rules.py language/types.py language/vectors.py rules/lazy_fill.py runtime/state.py
; 94531c5c45654dd61b7e9e9dd423c07a0b097da1022550600a2d882eb7d6c6a2 b81f825359bb56493f57802fcb16ca3ddd7e336d9a4f3c6f42f8324347e831c2
source_filename = "<string>"

declare i32 @llvm.cttz.i32(i32, i1 immarg) #0

declare void @llvm.memset.p0.i64(ptr writeonly captures(none), i8, i64, i1 immarg) #1

define void @fill.local(ptr captures(none) %warp.given, ptr readonly captures(none) %addresses.given, i32 %mask.given, i64 %size.given, i64 %stride.given) local_unnamed_addr #2 {
entry.1:
  %.4 = getelementptr i8, ptr %warp.given, i64 248
  %.5 = load i64, ptr %.4, align 1
  %.12.not6 = icmp eq i32 %mask.given, 0
  br i1 %.12.not6, label %after.10, label %do.9

do.9:                                             ; preds = %entry.1, %do.9
  %end.08 = phi i64 [ %.25, %do.9 ], [ %.5, %entry.1 ]
  %.6.07 = phi i32 [ %.15, %do.9 ], [ %mask.given, %entry.1 ]
  %.13 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.6.07, i1 true)
  %.14 = add i32 %.6.07, -1
  %.15 = and i32 %.14, %.6.07
  %.19 = zext nneg i32 %.13 to i64
  %.20 = getelementptr i64, ptr %addresses.given, i64 %.19
  %.21 = load i64, ptr %.20, align 1
  %.23 = add i64 %.21, %size.given
  %.25 = tail call i64 @llvm.umax.i64(i64 %end.08, i64 %.23)
  %.12.not = icmp eq i32 %.15, 0
  br i1 %.12.not, label %after.10, label %do.9

after.10:                                         ; preds = %do.9, %entry.1
  %end.0.lcssa = phi i64 [ %.5, %entry.1 ], [ %.25, %do.9 ]
  %.32.not = icmp eq i64 %end.0.lcssa, %.5
  br i1 %.32.not, label %after.27, label %then.26

then.26:                                          ; preds = %after.10
  %.34 = add i64 %end.0.lcssa, 511
  %.355 = and i64 %.34, -512
  %.39 = tail call i64 @llvm.umin.i64(i64 %.355, i64 %stride.given)
  %.41 = getelementptr i8, ptr %warp.given, i64 240
  %.42 = load ptr, ptr %.41, align 1
  %.46 = shl i64 %.5, 5
  %.47 = getelementptr i8, ptr %.42, i64 %.46
  %.53 = sub i64 %.39, %.5
  %.54 = shl i64 %.53, 5
  tail call void @llvm.memset.p0.i64(ptr align 1 %.47, i8 -1, i64 %.54, i1 false)
  store i64 %.39, ptr %.4, align 1
  br label %after.27

after.27:                                         ; preds = %then.26, %after.10
  ret void
}

declare i64 @llvm.umin.i64(i64, i64) #3

declare i64 @llvm.umax.i64(i64, i64) #3

attributes #0 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #1 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #2 = { nofree norecurse nosync nounwind memory(write, argmem: readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none) }
attributes #3 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
