; [["warpgroup_products.is_full", "warpgroup_products.begin", "warpgroup_products.commit", "warpgroup_products.completing_product", "warpgroup_products.complete", "warpgroup_products.waited_for", "warpgroup_products.asked_for", "warpgroup_products.wait_for_warpgroup"], [], "0.50"]
; jit/translation/__init__.py jit/translation/conversions.py jit/translation/distinct_values.py jit/translation/expressions.py jit/translation/folding.py jit/translation/intrinsics.py jit/translation/ir.py jit/translation/rule_calls.py jit/translation/translator.py jit/translation/value_kinds.py language/__init__.py language/records.py language/rules.py language/types.py language/vectors.py rules/warpgroup_products.py runtime/state.py
; 2c1d48b02c0d98e7a3c9877854c3ec45ba6a9bc948c465d311b51f106fcd576b 528343c904a0ec3a771c3f9bb4a620988fc6d7b811ce30cf0f35035b11d7d1e1
source_filename = "<string>"

define i1 @warpgroup_products.is_full(ptr readonly captures(none) %products.given) local_unnamed_addr #0 {
entry.1:
  %.4 = load i32, ptr %products.given, align 1
  %.6 = getelementptr i8, ptr %products.given, i64 4
  %.7 = load i32, ptr %.6, align 1
  %.8 = sub i32 %.4, %.7
  %.9 = icmp eq i32 %.8, 64
  ret i1 %.9
}

define void @warpgroup_products.begin(ptr captures(none) %products.given, ptr captures(none) initializes((4, 8)) %executed.given, i32 %code.given, i64 %a.given, i64 %b.given, i1 %adds.given) local_unnamed_addr #1 {
entry.1:
  %.4 = getelementptr i8, ptr %products.given, i64 144
  %.6 = load i32, ptr %products.given, align 1
  %.7 = shl i32 %.6, 5
  %0 = and i32 %.7, 2016
  %.9 = zext nneg i32 %0 to i64
  %.10 = getelementptr i8, ptr %.4, i64 %.9
  %.13 = getelementptr i8, ptr %.10, i64 16
  store i32 %code.given, ptr %.13, align 1
  store i64 %a.given, ptr %.10, align 1
  %.18 = getelementptr i8, ptr %.10, i64 8
  store i64 %b.given, ptr %.18, align 1
  %.20 = zext i1 %adds.given to i32
  %.22 = getelementptr i8, ptr %.10, i64 24
  store i32 %.20, ptr %.22, align 1
  %.24 = getelementptr i8, ptr %products.given, i64 8
  %.25 = load i32, ptr %.24, align 1
  %.27 = getelementptr i8, ptr %.10, i64 20
  store i32 %.25, ptr %.27, align 1
  %.30 = add i32 %.6, 1
  store i32 %.30, ptr %products.given, align 1
  %.33 = load i32, ptr %executed.given, align 1
  %.34 = add i32 %.33, 1
  store i32 %.34, ptr %executed.given, align 1
  %.37 = getelementptr i8, ptr %executed.given, i64 4
  store i32 %code.given, ptr %.37, align 1
  %.39 = getelementptr i8, ptr %executed.given, i64 8
  %.40 = load i32, ptr %.39, align 1
  %.42 = add i32 %code.given, 1
  %.43 = xor i32 %.40, %.42
  %.44 = mul i32 %.43, 16777619
  store i32 %.44, ptr %.39, align 1
  ret void
}

define void @warpgroup_products.commit(ptr captures(none) %products.given) local_unnamed_addr #1 {
entry.1:
  %.4 = getelementptr i8, ptr %products.given, i64 8
  %.5 = load i32, ptr %.4, align 1
  %.6 = add i32 %.5, 1
  store i32 %.6, ptr %.4, align 1
  ret void
}

define i32 @warpgroup_products.completing_product(ptr readonly captures(none) %products.given, i32 %count.given) local_unnamed_addr #0 {
entry.1:
  %.7 = getelementptr i8, ptr %products.given, i64 4
  %.8 = load i32, ptr %.7, align 1
  %.10 = load i32, ptr %products.given, align 1
  %.11 = icmp ne i32 %.8, %.10
  %.16.not = icmp ult i32 %.8, %count.given
  %or.cond = select i1 %.11, i1 %.16.not, i1 false
  br i1 %or.cond, label %after.4, label %common.ret

common.ret:                                       ; preds = %entry.1, %after.4
  %common.ret.op = phi i32 [ %.27, %after.4 ], [ -1, %entry.1 ]
  ret i32 %common.ret.op

after.4:                                          ; preds = %entry.1
  %.22 = shl i32 %.8, 5
  %0 = and i32 %.22, 2016
  %.24 = zext nneg i32 %0 to i64
  %.25 = getelementptr i8, ptr %products.given, i64 %.24
  %.26 = getelementptr i8, ptr %.25, i64 160
  %.27 = load i32, ptr %.26, align 1
  br label %common.ret
}

define void @warpgroup_products.complete(ptr captures(none) %products.given) local_unnamed_addr #1 {
entry.1:
  %.4 = getelementptr i8, ptr %products.given, i64 4
  %.5 = load i32, ptr %.4, align 1
  %.6 = add i32 %.5, 1
  store i32 %.6, ptr %.4, align 1
  ret void
}

define i32 @warpgroup_products.waited_for(ptr readonly captures(none) %products.given, i32 %left.given) local_unnamed_addr #2 {
entry.1:
  %.4 = getelementptr i8, ptr %products.given, i64 4
  %.5 = load i32, ptr %.4, align 1
  %.12 = load i32, ptr %products.given, align 1
  %.13.not4 = icmp eq i32 %.5, %.12
  br i1 %.13.not4, label %after.8, label %and.9.lr.ph

and.9.lr.ph:                                      ; preds = %entry.1
  %.25 = zext i32 %left.given to i64
  %.28 = getelementptr i8, ptr %products.given, i64 8
  %.29 = load i32, ptr %.28, align 1
  %.30 = zext i32 %.29 to i64
  br label %and.9

do.7:                                             ; preds = %and.9
  %.33 = add i32 %count.05, 1
  %.13.not = icmp eq i32 %.33, %.12
  br i1 %.13.not, label %after.8, label %and.9

after.8:                                          ; preds = %do.7, %and.9, %entry.1
  %count.0.lcssa = phi i32 [ %.5, %entry.1 ], [ %.12, %do.7 ], [ %count.05, %and.9 ]
  ret i32 %count.0.lcssa

and.9:                                            ; preds = %and.9.lr.ph, %do.7
  %count.05 = phi i32 [ %.5, %and.9.lr.ph ], [ %.33, %do.7 ]
  %.17 = shl i32 %count.05, 5
  %0 = and i32 %.17, 2016
  %.19 = zext nneg i32 %0 to i64
  %.20 = getelementptr i8, ptr %products.given, i64 %.19
  %.21 = getelementptr i8, ptr %.20, i64 164
  %.22 = load i32, ptr %.21, align 1
  %.23 = zext i32 %.22 to i64
  %.26 = add nuw nsw i64 %.23, %.25
  %.31 = icmp samesign ult i64 %.26, %.30
  br i1 %.31, label %do.7, label %after.8
}

define i32 @warpgroup_products.asked_for(ptr readonly captures(none) %context.given, ptr readonly captures(none) %cta.given, ptr readonly captures(none) %warp.given) local_unnamed_addr #3 {
entry.1:
  %.4 = getelementptr i8, ptr %warp.given, i64 200
  %.5 = load i32, ptr %.4, align 1
  %.6 = and i32 %.5, -4
  %.7 = zext i32 %.6 to i64
  %.10 = add nuw nsw i64 %.7, 4
  %.12 = getelementptr i8, ptr %context.given, i64 184
  %.13 = load i64, ptr %.12, align 1
  %.15 = tail call i64 @llvm.umin.i64(i64 %.10, i64 %.13)
  %.224 = icmp ugt i64 %.13, %.7
  br i1 %.224, label %do.18.lr.ph, label %after.20

do.18.lr.ph:                                      ; preds = %entry.1
  %.25 = getelementptr i8, ptr %cta.given, i64 40
  %.26 = load ptr, ptr %.25, align 1
  %.29 = getelementptr i8, ptr %context.given, i64 192
  %.30 = load i64, ptr %.29, align 1
  br label %do.18

do.18:                                            ; preds = %do.18.lr.ph, %do.18
  %count.06 = phi i32 [ 0, %do.18.lr.ph ], [ %.38, %do.18 ]
  %.16.05 = phi i64 [ %.7, %do.18.lr.ph ], [ %.40, %do.18 ]
  %.31 = mul i64 %.30, %.16.05
  %.32 = getelementptr i8, ptr %.26, i64 %.31
  %.35 = getelementptr i8, ptr %.32, i64 228
  %.36 = load i32, ptr %.35, align 1
  %.38 = tail call i32 @llvm.umax.i32(i32 %count.06, i32 %.36)
  %.40 = add nuw nsw i64 %.16.05, 1
  %.22 = icmp samesign ult i64 %.40, %.15
  br i1 %.22, label %do.18, label %after.20

after.20:                                         ; preds = %do.18, %entry.1
  %count.0.lcssa = phi i32 [ 0, %entry.1 ], [ %.38, %do.18 ]
  ret i32 %count.0.lcssa
}

define void @warpgroup_products.wait_for_warpgroup(ptr readonly captures(none) %context.given, ptr readonly captures(none) %cta.given, ptr captures(none) %warp.given, i32 %count.given) local_unnamed_addr #4 {
entry.1:
  %.4.i = getelementptr i8, ptr %warp.given, i64 200
  %.5.i = load i32, ptr %.4.i, align 1
  %.6.i = and i32 %.5.i, -4
  %.7.i = zext i32 %.6.i to i64
  %.10.i = add nuw nsw i64 %.7.i, 4
  %.12.i = getelementptr i8, ptr %context.given, i64 184
  %.13.i = load i64, ptr %.12.i, align 1
  %.15.i = tail call i64 @llvm.umin.i64(i64 %.10.i, i64 %.13.i)
  %.223.i = icmp ugt i64 %.13.i, %.7.i
  br i1 %.223.i, label %do.18.lr.ph.i, label %after.4

do.18.lr.ph.i:                                    ; preds = %entry.1
  %.24.i = getelementptr i8, ptr %cta.given, i64 40
  %.25.i = load ptr, ptr %.24.i, align 1
  %.28.i = getelementptr i8, ptr %context.given, i64 192
  %.29.i = load i64, ptr %.28.i, align 1
  br label %do.18.i

do.18.i:                                          ; preds = %do.18.i, %do.18.lr.ph.i
  %.16.04.i = phi i64 [ %.7.i, %do.18.lr.ph.i ], [ %.44.i, %do.18.i ]
  %.30.i = mul i64 %.16.04.i, %.29.i
  %.31.i = getelementptr i8, ptr %.25.i, i64 %.30.i
  %.37.i = getelementptr i8, ptr %.31.i, i64 216
  %.39.i = getelementptr i8, ptr %.31.i, i64 128
  %.40.i = load i32, ptr %.39.i, align 1
  %.8.i.i = load i32, ptr %.37.i, align 1
  %.10.i.i = icmp ult i32 %.8.i.i, %count.given
  %.12.i.i = icmp ne i32 %.40.i, 0
  %or.cond.i.not.i = select i1 %.10.i.i, i1 %.12.i.i, i1 false
  %.44.i = add nuw nsw i64 %.16.04.i, 1
  %.22.i = icmp samesign uge i64 %.44.i, %.15.i
  %or.cond.not.i = select i1 %or.cond.i.not.i, i1 true, i1 %.22.i
  br i1 %or.cond.not.i, label %warpgroup_products.lacks.exit, label %do.18.i

warpgroup_products.lacks.exit:                    ; preds = %do.18.i
  br i1 %or.cond.i.not.i, label %then.3, label %after.4

then.3:                                           ; preds = %warpgroup_products.lacks.exit
  %.12 = getelementptr i8, ptr %warp.given, i64 228
  store i32 %count.given, ptr %.12, align 1
  %.14 = getelementptr i8, ptr %warp.given, i64 128
  %.15 = load i32, ptr %.14, align 1
  %.17 = getelementptr i8, ptr %warp.given, i64 132
  store i32 %.15, ptr %.17, align 1
  br label %after.4

after.4:                                          ; preds = %entry.1, %then.3, %warpgroup_products.lacks.exit
  ret void
}

declare i64 @llvm.umin.i64(i64, i64) #5

declare i32 @llvm.umax.i32(i32, i32) #5

attributes #0 = { mustprogress nofree norecurse nosync nounwind willreturn memory(argmem: read) }
attributes #1 = { mustprogress nofree norecurse nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { nofree norecurse nosync nounwind memory(argmem: read) }
attributes #3 = { nofree norecurse nosync nounwind memory(read, inaccessiblemem: none, target_mem0: none, target_mem1: none) }
attributes #4 = { nofree norecurse nosync nounwind memory(read, argmem: readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none) }
attributes #5 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
