; [["discards.discard"], [], "0.50"]
; jit/translation/__init__.py jit/translation/conversions.py jit/translation/distinct_values.py jit/translation/expressions.py jit/translation/folding.py jit/translation/intrinsics.py jit/translation/ir.py jit/translation/rule_calls.py jit/translation/translator.py jit/translation/value_kinds.py language/__init__.py language/records.py language/rules.py language/types.py language/vectors.py rules/discards.py runtime/state.py
; a2c2b271c9875fa57388e076aed3975ac64552895a5920cad0fa95f298b27912 43ad015358d24cc31e15398ef0562d9ad48a2a9d1075aac73a87c38756e46569
source_filename = "<string>"

declare i32 @llvm.cttz.i32(i32, i1 immarg) #0

declare void @llvm.memset.p0.i64(ptr writeonly captures(none), i8, i64, i1 immarg) #1

define noundef i1 @discards.discard(ptr %context.given, ptr %cta.given, ptr %warp.given, i32 %mask.given, ptr readonly captures(none) %addresses.given, i32 %code.given) local_unnamed_addr #2 {
entry.1:
  br label %lanes.5

lanes.5:                                          ; preds = %do.6, %entry.1
  %.3.0 = phi i32 [ %mask.given, %entry.1 ], [ %.12, %do.6 ]
  %.9.not.not.not.not.not = icmp ne i32 %.3.0, 0
  br i1 %.9.not.not.not.not.not, label %do.6, label %lanes.34.preheader

lanes.34.preheader:                               ; preds = %lanes.5
  %.38.not9 = icmp eq i32 %mask.given, 0
  br i1 %.38.not9, label %common.ret, label %do.35.lr.ph

do.35.lr.ph:                                      ; preds = %lanes.34.preheader
  %.58 = getelementptr i8, ptr %context.given, i64 736
  br label %do.35

do.6:                                             ; preds = %lanes.5
  %.10 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.3.0, i1 true)
  %.11 = add i32 %.3.0, -1
  %.12 = and i32 %.11, %.3.0
  %.15 = zext nneg i32 %.10 to i64
  %.16 = getelementptr i64, ptr %addresses.given, i64 %.15
  %.17 = load i64, ptr %.16, align 1
  %.25 = tail call ptr @resolve(ptr %context.given, ptr %cta.given, ptr %warp.given, i32 %.10, i64 %.17, i64 128, i64 7, i32 0, i32 1, ptr null) #2
  %.26 = icmp eq ptr %.25, null
  br i1 %.26, label %then.18, label %lanes.5

common.ret:                                       ; preds = %after.53, %lanes.34.preheader, %then.18
  ret i1 %.9.not.not.not.not.not

then.18:                                          ; preds = %do.6
  tail call void @record(ptr %context.given, ptr %warp.given, i32 1, i32 %code.given, i32 %.10, i64 %.17) #2
  br label %common.ret

do.35:                                            ; preds = %do.35.lr.ph, %after.53
  %.32.010 = phi i32 [ %mask.given, %do.35.lr.ph ], [ %.41, %after.53 ]
  %.39 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.32.010, i1 true)
  %.40 = add i32 %.32.010, -1
  %.41 = and i32 %.40, %.32.010
  %.48 = zext nneg i32 %.39 to i64
  %.49 = getelementptr i64, ptr %addresses.given, i64 %.48
  %.50 = load i64, ptr %.49, align 1
  %.51 = tail call ptr @resolve(ptr %context.given, ptr %cta.given, ptr %warp.given, i32 %.39, i64 %.50, i64 128, i64 7, i32 0, i32 1, ptr null) #2
  %.55.not = icmp eq ptr %.51, null
  br i1 %.55.not, label %after.53, label %then.52

then.52:                                          ; preds = %do.35
  %.59 = load ptr, ptr %.58, align 1
  tail call void @llvm.memset.p0.i64(ptr noundef nonnull align 1 dereferenceable(128) %.51, i8 -1, i64 128, i1 false)
  %.8.not.i = icmp eq ptr %.59, null
  br i1 %.8.not.i, label %after.53, label %then.5.i

then.5.i:                                         ; preds = %then.52
  tail call void @llvm.memset.p0.i64(ptr noundef nonnull align 1 dereferenceable(128) %.59, i8 0, i64 128, i1 false)
  br label %after.53

after.53:                                         ; preds = %then.5.i, %then.52, %do.35
  %.38.not = icmp eq i32 %.41, 0
  br i1 %.38.not, label %common.ret, label %do.35
}

declare ptr @resolve(ptr, ptr, ptr, i32, i64, i64, i64, i32, i32, ptr) local_unnamed_addr

declare void @record(ptr, ptr, i32, i32, i32, i64) local_unnamed_addr

attributes #0 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #1 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #2 = { nounwind }
