; [["half_conversions.widened", "half_conversions.narrowed"], [], "0.50"]
; jit/translation/__init__.py jit/translation/conversions.py jit/translation/distinct_values.py jit/translation/expressions.py jit/translation/folding.py jit/translation/intrinsics.py jit/translation/ir.py jit/translation/rule_calls.py jit/translation/translator.py jit/translation/value_kinds.py language/__init__.py language/records.py language/rules.py language/types.py language/vectors.py rules/half_conversions.py runtime/state.py
; 78915a0fdfcf4b747f58cd04321b6a0a66d26b9a537d1d0d804c336f5a62a78c b951e182d6626b1de7fbcb886bba8b203cef67f6c51977e421f39ee7c1cb2230
source_filename = "<string>"

declare i32 @llvm.ctlz.i32(i32, i1 immarg) #0

define i32 @half_conversions.widened(i16 %half.given) local_unnamed_addr #1 {
entry.1:
  %.4 = and i16 %half.given, -32768
  %.5 = zext i16 %.4 to i32
  %.6 = shl nuw i32 %.5, 16
  %.8 = and i16 %half.given, 32767
  %.9 = zext nneg i16 %.8 to i32
  %.13 = icmp samesign ugt i16 %.8, 31744
  br i1 %.13, label %then.10, label %after.11

common.ret:                                       ; preds = %after.27, %after.36, %then.26, %then.20, %then.10
  %common.ret.op = phi i32 [ %.19, %then.10 ], [ %.25, %then.20 ], [ %.34, %then.26 ], [ %.53, %after.36 ], [ %.6, %after.27 ]
  ret i32 %common.ret.op

then.10:                                          ; preds = %entry.1
  %.17 = shl nuw nsw i32 %.9, 13
  %.18 = or disjoint i32 %.6, %.17
  %.19 = or i32 %.18, 2143289344
  br label %common.ret

after.11:                                         ; preds = %entry.1
  %.23 = icmp eq i16 %.8, 31744
  br i1 %.23, label %then.20, label %after.21

then.20:                                          ; preds = %after.11
  %.25 = or disjoint i32 %.6, 2139095040
  br label %common.ret

after.21:                                         ; preds = %after.11
  %.29 = icmp samesign ugt i16 %.8, 1023
  br i1 %.29, label %then.26, label %after.27

then.26:                                          ; preds = %after.21
  %.32 = shl nuw nsw i32 %.9, 13
  %.33 = add nuw nsw i32 %.32, 939524096
  %.34 = or disjoint i32 %.33, %.6
  br label %common.ret

after.27:                                         ; preds = %after.21
  %.38 = icmp eq i16 %.8, 0
  br i1 %.38, label %common.ret, label %after.36

after.36:                                         ; preds = %after.27
  %.41 = tail call range(i32 22, 33) i32 @llvm.ctlz.i32(i32 %.9, i1 true)
  %.42 = xor i32 %.41, 31
  %0 = shl nuw nsw i32 %.41, 23
  %.50 = sub nuw nsw i32 23, %.42
  %.51 = shl i32 %.9, %.50
  %.52 = and i32 %.51, 8388607
  %reass.sub = sub nsw i32 %.52, %0
  %1 = add nsw i32 %reass.sub, 1124073472
  %.53 = add nuw nsw i32 %1, %.6
  br label %common.ret
}

define i16 @half_conversions.narrowed(i32 %single.given) local_unnamed_addr #1 {
entry.1:
  %.4 = lshr i32 %single.given, 16
  %.5 = trunc nuw i32 %.4 to i16
  %.6 = and i16 %.5, -32768
  %.8 = and i32 %single.given, 2147483647
  %.12 = icmp samesign ugt i32 %.8, 2139095040
  br i1 %.12, label %then.9, label %after.10

common.ret:                                       ; preds = %after.28, %after.71, %then.27, %then.21, %then.9
  %common.ret.op = phi i16 [ %.20, %then.9 ], [ %.26, %then.21 ], [ %.43, %then.27 ], [ %.88, %after.71 ], [ %.6, %after.28 ]
  ret i16 %common.ret.op

then.9:                                           ; preds = %entry.1
  %.17 = lshr i32 %single.given, 13
  %0 = trunc i32 %.17 to i16
  %.19 = and i16 %0, 511
  %.15 = or disjoint i16 %.19, %.6
  %.20 = or disjoint i16 %.15, 32256
  br label %common.ret

after.10:                                         ; preds = %entry.1
  %.24 = icmp samesign ugt i32 %.8, 1199566847
  br i1 %.24, label %then.21, label %after.22

then.21:                                          ; preds = %after.10
  %.26 = or disjoint i16 %.6, 31744
  br label %common.ret

after.22:                                         ; preds = %after.10
  %.30 = icmp samesign ugt i32 %.8, 947912703
  br i1 %.30, label %then.27, label %after.28

then.27:                                          ; preds = %after.22
  %.32 = lshr i32 %single.given, 13
  %.33 = and i32 %.32, 1
  %.37 = add i32 %single.given, 134221823
  %.40 = add i32 %.37, %.33
  %.41 = lshr i32 %.40, 13
  %.42 = trunc i32 %.41 to i16
  %.43 = or i16 %.6, %.42
  br label %common.ret

after.28:                                         ; preds = %after.22
  %.50 = icmp samesign ult i32 %.8, 855638016
  br i1 %.50, label %common.ret, label %after.48

after.48:                                         ; preds = %after.28
  %.45 = lshr i32 %.8, 23
  %.46 = sub nuw nsw i32 126, %.45
  %.53 = and i32 %single.given, 8388607
  %.54 = or disjoint i32 %.53, 8388608
  %.57 = lshr i32 %.54, %.46
  %.60 = zext nneg i32 %.46 to i64
  %notmask = shl nsw i64 -1, %.60
  %1 = trunc nsw i64 %notmask to i32
  %.63 = xor i32 %1, -1
  %.64 = and i32 %.54, %.63
  %.66 = sub nuw nsw i32 125, %.45
  %.67 = zext nneg i32 %.66 to i64
  %.68 = shl nuw nsw i64 1, %.67
  %.69 = trunc nuw nsw i64 %.68 to i32
  %.75 = icmp ugt i32 %.64, %.69
  br i1 %.75, label %then.70, label %or.72

then.70:                                          ; preds = %or.72, %after.48
  %2 = trunc nuw nsw i32 %.57 to i16
  %extract.t = add nuw nsw i16 %2, 1
  br label %after.71

after.71:                                         ; preds = %or.72, %then.70
  %whole.0.off0 = phi i16 [ %extract.t, %then.70 ], [ %extract.t22, %or.72 ]
  %.88 = or i16 %whole.0.off0, %.6
  br label %common.ret

or.72:                                            ; preds = %after.48
  %.79 = icmp ne i32 %.64, %.69
  %extract.t22 = trunc nuw nsw i32 %.57 to i16
  %.81 = and i32 %.57, 1
  %.82.not = icmp eq i32 %.81, 0
  %or.cond = select i1 %.79, i1 true, i1 %.82.not
  br i1 %or.cond, label %after.71, label %then.70
}

attributes #0 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #1 = { mustprogress nofree norecurse nosync nounwind willreturn memory(none) }
