; [["warpgroup_products.is_full", "warpgroup_products.begin", "warpgroup_products.commit", "warpgroup_products.completing_product", "warpgroup_products.complete"], [], "0.50"]
; jit/translation/__init__.py jit/translation/conversions.py jit/translation/distinct_values.py jit/translation/expressions.py jit/translation/folding.py jit/translation/intrinsics.py jit/translation/ir.py jit/translation/rule_calls.py jit/translation/translator.py jit/translation/value_kinds.py language/__init__.py language/records.py language/rules.py language/types.py language/vectors.py rules/warpgroup_products.py runtime/state.py
; 9486f1a4bf8a71bd5b568ebbe58ec6d2f052f914f664ba0bce19c2c36fc30437 71914db63004cddabc6efd9d5b079721f89902271898f1253f629b44dc13c08b
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

define i32 @warpgroup_products.completing_product(ptr readonly captures(none) %products.given, i32 %left.given) local_unnamed_addr #0 {
entry.1:
  %.6 = load i32, ptr %products.given, align 1
  %.8 = getelementptr i8, ptr %products.given, i64 4
  %.9 = load i32, ptr %.8, align 1
  %.10 = icmp eq i32 %.6, %.9
  br i1 %.10, label %common.ret, label %after.4

common.ret:                                       ; preds = %and.22, %entry.1, %after.21
  %common.ret.op = phi i32 [ %.39, %after.21 ], [ -1, %entry.1 ], [ -1, %and.22 ]
  ret i32 %common.ret.op

after.4:                                          ; preds = %entry.1
  %.12 = getelementptr i8, ptr %products.given, i64 144
  %.16 = shl i32 %.9, 5
  %0 = and i32 %.16, 2016
  %.18 = zext nneg i32 %0 to i64
  %.19 = getelementptr i8, ptr %.12, i64 %.18
  %.24.not = icmp eq i32 %left.given, -1
  br i1 %.24.not, label %after.21, label %and.22

after.21:                                         ; preds = %and.22, %after.4
  %.38 = getelementptr i8, ptr %.19, i64 16
  %.39 = load i32, ptr %.38, align 1
  br label %common.ret

and.22:                                           ; preds = %after.4
  %.26 = getelementptr i8, ptr %.19, i64 20
  %.27 = load i32, ptr %.26, align 1
  %.28 = zext i32 %.27 to i64
  %.30 = zext i32 %left.given to i64
  %.31 = add nuw nsw i64 %.28, %.30
  %.33 = getelementptr i8, ptr %products.given, i64 8
  %.34 = load i32, ptr %.33, align 1
  %.35 = zext i32 %.34 to i64
  %.36.not = icmp samesign ult i64 %.31, %.35
  br i1 %.36.not, label %after.21, label %common.ret
}

define void @warpgroup_products.complete(ptr captures(none) %products.given) local_unnamed_addr #1 {
entry.1:
  %.4 = getelementptr i8, ptr %products.given, i64 4
  %.5 = load i32, ptr %.4, align 1
  %.6 = add i32 %.5, 1
  store i32 %.6, ptr %.4, align 1
  ret void
}

attributes #0 = { mustprogress nofree norecurse nosync nounwind willreturn memory(argmem: read) }
attributes #1 = { mustprogress nofree norecurse nosync nounwind willreturn memory(argmem: readwrite) }
