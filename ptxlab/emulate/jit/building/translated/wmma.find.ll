; [["wmma.find", "wmma.mark"], [], "0.50"]
; jit/translation/__init__.py jit/translation/conversions.py jit/translation/distinct_values.py jit/translation/expressions.py jit/translation/folding.py jit/translation/intrinsics.py jit/translation/ir.py jit/translation/rule_calls.py jit/translation/translator.py jit/translation/value_kinds.py language/__init__.py language/records.py language/rules.py language/types.py language/vectors.py rules/matrix_access.py rules/memcheck.py runtime/state.py
; 3a5e1fa08ec826cea73c337820d9805885913dddec1813e0d19f660eb1116c84 938438af578c79c0b36ffe9a1f34b8ef987b645ce5a9b9dc576aa15ed9a6c784
source_filename = "<string>"

declare void @llvm.memset.p0.i64(ptr writeonly captures(none), i8, i64, i1 immarg) #0

define noundef i1 @wmma.find(ptr %context.given, ptr %cta.given, ptr %warp.given, i64 %base.given, i64 %stride.given, i32 %space.given, i32 %code.given, ptr readonly captures(none) %tile.given, ptr readonly captures(none) %pieces.given, ptr writeonly captures(none) %places.given) local_unnamed_addr #1 {
entry.1:
  %.4 = getelementptr i8, ptr %tile.given, i64 12
  %.5 = load i32, ptr %.4, align 1
  %.6 = zext i32 %.5 to i64
  %.7 = shl nuw i64 1, %.6
  %.6.i = icmp eq i32 %space.given, 5
  br i1 %.6.i, label %then.3.i, label %after.4.i

then.3.i:                                         ; preds = %entry.1
  %.10.i = add i64 %base.given, -140183437574144
  %.11.i = icmp ult i64 %.10.i, 524288
  br i1 %.11.i, label %memcheck.space_of.exit, label %after.8.i

after.4.i:                                        ; preds = %entry.1
  %.50.i = icmp eq i32 %space.given, 6
  %.52.i = icmp ult i64 %base.given, 524288
  %or.cond.i = select i1 %.50.i, i1 %.52.i, i1 false
  %.57.i = insertvalue { i32, i64 } undef, i32 %space.given, 0
  %spec.select.i = select i1 %or.cond.i, { i32, i64 } { i32 1, i64 undef }, { i32, i64 } %.57.i
  br label %memcheck.space_of.exit

after.8.i:                                        ; preds = %then.3.i
  %.20.i = icmp ult i64 %.10.i, 16777216
  br i1 %.20.i, label %memcheck.space_of.exit, label %after.17.i

after.17.i:                                       ; preds = %after.8.i
  %0 = and i64 %base.given, -16777216
  %.29.i = icmp eq i64 %0, 140179142606848
  br i1 %.29.i, label %memcheck.space_of.exit, label %after.26.i

after.26.i:                                       ; preds = %after.17.i
  %1 = and i64 %base.given, -16777216
  %.38.i = icmp eq i64 %1, 140174847639552
  %..i = select i1 %.38.i, { i32, i64 } { i32 3, i64 undef }, { i32, i64 } { i32 0, i64 undef }
  br label %memcheck.space_of.exit

memcheck.space_of.exit:                           ; preds = %then.3.i, %after.4.i, %after.8.i, %after.17.i, %after.26.i
  %.pn.i = phi { i32, i64 } [ %spec.select.i, %after.4.i ], [ { i32 1, i64 undef }, %then.3.i ], [ { i32 6, i64 undef }, %after.8.i ], [ %..i, %after.26.i ], [ { i32 2, i64 undef }, %after.17.i ]
  %.17 = icmp ult i64 %stride.given, 16777216
  br i1 %.17, label %and.15, label %after.14

then.13:                                          ; preds = %and.15
  %.28 = getelementptr i8, ptr %tile.given, i64 4
  %.29 = load i32, ptr %.28, align 1
  %.30 = zext i32 %.29 to i64
  %.31 = mul nuw nsw i64 %stride.given, %.30
  %.33 = getelementptr i8, ptr %tile.given, i64 8
  %.34 = load i32, ptr %.33, align 1
  %.35 = zext i32 %.34 to i64
  %.36 = add nuw nsw i64 %.31, %.35
  %.47 = getelementptr i8, ptr %tile.given, i64 16
  %.48 = load i32, ptr %.47, align 1
  %.50 = tail call ptr @resolve(ptr %context.given, ptr %cta.given, ptr %warp.given, i32 0, i64 %base.given, i64 %.36, i64 %.6, i32 %space.given, i32 %.48, ptr null) #1
  %.54.not = icmp eq ptr %.50, null
  br i1 %.54.not, label %after.14, label %then.51

after.14:                                         ; preds = %then.13, %and.15, %memcheck.space_of.exit
  %.108 = load i32, ptr %tile.given, align 1
  %.11559.not = icmp eq i32 %.108, 0
  br i1 %.11559.not, label %common.ret, label %do.111.lr.ph

do.111.lr.ph:                                     ; preds = %after.14
  %.150 = getelementptr i8, ptr %tile.given, i64 16
  %.50.i29 = icmp eq i32 %space.given, 6
  %.57.i32 = insertvalue { i32, i64 } undef, i32 %space.given, 0
  %.184 = getelementptr i8, ptr %context.given, i64 736
  br label %do.111

and.15:                                           ; preds = %memcheck.space_of.exit
  %.11 = extractvalue { i32, i64 } %.pn.i, 0
  %.21 = add nuw i64 %.7, 16777215
  %.22 = and i64 %.21, %stride.given
  %.23 = icmp eq i64 %.22, 0
  %.25 = icmp ne i32 %.11, 2
  %or.cond = select i1 %.23, i1 %.25, i1 false
  br i1 %or.cond, label %then.13, label %after.14

then.51:                                          ; preds = %then.13
  %.56 = getelementptr i8, ptr %context.given, i64 736
  %.57 = load ptr, ptr %.56, align 1
  %.59 = load i32, ptr %tile.given, align 1
  %.6657.not = icmp eq i32 %.59, 0
  br i1 %.6657.not, label %common.ret, label %do.62.lr.ph

do.62.lr.ph:                                      ; preds = %then.51
  %.94 = icmp eq ptr %.57, null
  br label %do.62

do.62:                                            ; preds = %do.62.lr.ph, %do.62
  %.60.058 = phi i32 [ 0, %do.62.lr.ph ], [ %.106, %do.62 ]
  %.69 = zext i32 %.60.058 to i64
  %.70 = shl nuw nsw i64 %.69, 4
  %.71 = getelementptr i8, ptr %pieces.given, i64 %.70
  %.72 = load i32, ptr %.71, align 1
  %.78 = getelementptr i8, ptr %.71, i64 4
  %.79 = load i32, ptr %.78, align 1
  %.5.i = zext i32 %.72 to i64
  %.6.i51 = mul nuw nsw i64 %stride.given, %.5.i
  %.8.i = zext i32 %.79 to i64
  %.9.i = add nuw nsw i64 %.6.i51, %.8.i
  %.84 = getelementptr i8, ptr %.50, i64 %.9.i
  %.89 = getelementptr i8, ptr %places.given, i64 %.70
  store ptr %.84, ptr %.89, align 1
  %.97 = getelementptr i8, ptr %.57, i64 %.9.i
  %.98 = select i1 %.94, ptr null, ptr %.97
  %.104 = getelementptr i8, ptr %.89, i64 8
  store ptr %.98, ptr %.104, align 1
  %.106 = add nuw i32 %.60.058, 1
  %.66 = icmp ult i32 %.106, %.59
  br i1 %.66, label %do.62, label %common.ret

common.ret:                                       ; preds = %do.62, %after.160, %then.51, %after.14, %then.159
  %common.ret.op = phi i1 [ true, %then.159 ], [ false, %after.14 ], [ false, %then.51 ], [ false, %after.160 ], [ false, %do.62 ]
  ret i1 %common.ret.op

do.111:                                           ; preds = %do.111.lr.ph, %after.160
  %.109.060 = phi i32 [ 0, %do.111.lr.ph ], [ %.193, %after.160 ]
  %.119 = zext i32 %.109.060 to i64
  %.120 = shl nuw nsw i64 %.119, 4
  %.121 = getelementptr i8, ptr %pieces.given, i64 %.120
  %.122 = load i32, ptr %.121, align 1
  %.128 = getelementptr i8, ptr %.121, i64 4
  %.129 = load i32, ptr %.128, align 1
  %.5.i52 = zext i32 %.122 to i64
  %.6.i53 = mul i64 %stride.given, %.5.i52
  %.8.i54 = zext i32 %.129 to i64
  %.9.i55 = add i64 %base.given, %.8.i54
  %.132 = add i64 %.9.i55, %.6.i53
  %.141 = getelementptr i8, ptr %.121, i64 8
  %.142 = load i32, ptr %.141, align 1
  %.147 = load i32, ptr %.4, align 1
  %.151 = load i32, ptr %.150, align 1
  %.152 = zext i32 %.147 to i64
  %.153 = tail call ptr @resolve(ptr %context.given, ptr %cta.given, ptr %warp.given, i32 %.142, i64 %.132, i64 %.7, i64 %.152, i32 %space.given, i32 %.151, ptr null) #1
  br i1 %.6.i, label %then.3.i37, label %after.4.i28

then.3.i37:                                       ; preds = %do.111
  %.10.i38 = add i64 %.132, -140183437574144
  %.11.i39 = icmp ult i64 %.10.i38, 524288
  br i1 %.11.i39, label %memcheck.space_of.exit50, label %after.8.i40

after.4.i28:                                      ; preds = %do.111
  %.52.i30 = icmp ult i64 %.132, 524288
  %or.cond.i31 = select i1 %.50.i29, i1 %.52.i30, i1 false
  %spec.select.i33 = select i1 %or.cond.i31, { i32, i64 } { i32 1, i64 undef }, { i32, i64 } %.57.i32
  br label %memcheck.space_of.exit50

after.8.i40:                                      ; preds = %then.3.i37
  %.20.i41 = icmp ult i64 %.10.i38, 16777216
  br i1 %.20.i41, label %memcheck.space_of.exit50, label %after.17.i42

after.17.i42:                                     ; preds = %after.8.i40
  %2 = and i64 %.132, -16777216
  %.29.i44 = icmp eq i64 %2, 140179142606848
  br i1 %.29.i44, label %memcheck.space_of.exit50, label %after.26.i45

after.26.i45:                                     ; preds = %after.17.i42
  %3 = and i64 %.132, -16777216
  %.38.i47 = icmp eq i64 %3, 140174847639552
  %..i48 = select i1 %.38.i47, { i32, i64 } { i32 3, i64 undef }, { i32, i64 } { i32 0, i64 undef }
  br label %memcheck.space_of.exit50

memcheck.space_of.exit50:                         ; preds = %then.3.i37, %after.4.i28, %after.8.i40, %after.17.i42, %after.26.i45
  %.pn.i34 = phi { i32, i64 } [ %spec.select.i33, %after.4.i28 ], [ { i32 1, i64 undef }, %then.3.i37 ], [ { i32 6, i64 undef }, %after.8.i40 ], [ %..i48, %after.26.i45 ], [ { i32 2, i64 undef }, %after.17.i42 ]
  %.157 = extractvalue { i32, i64 } %.pn.i34, 0
  %.163 = icmp eq ptr %.153, null
  %.165 = icmp eq i32 %.157, 2
  %or.cond1 = select i1 %.163, i1 true, i1 %.165
  br i1 %or.cond1, label %then.159, label %after.160

then.159:                                         ; preds = %memcheck.space_of.exit50
  %.141.le = getelementptr i8, ptr %.121, i64 8
  %.175 = load i32, ptr %.141.le, align 1
  tail call void @record(ptr %context.given, ptr %warp.given, i32 1, i32 %code.given, i32 %.175, i64 %.132) #1
  br label %common.ret

after.160:                                        ; preds = %memcheck.space_of.exit50
  %.182 = getelementptr i8, ptr %places.given, i64 %.120
  store ptr %.153, ptr %.182, align 1
  %.185 = load ptr, ptr %.184, align 1
  %.191 = getelementptr i8, ptr %.182, i64 8
  store ptr %.185, ptr %.191, align 1
  %.193 = add nuw i32 %.109.060, 1
  %.115 = icmp ult i32 %.193, %.108
  br i1 %.115, label %do.111, label %common.ret
}

define void @wmma.mark(ptr readonly captures(none) %tile.given, ptr readonly captures(none) %places.given) local_unnamed_addr #2 {
entry.1:
  %.4 = load i32, ptr %tile.given, align 1
  %.112.not = icmp eq i32 %.4, 0
  br i1 %.112.not, label %after.9, label %do.7.lr.ph

do.7.lr.ph:                                       ; preds = %entry.1
  %.26 = getelementptr i8, ptr %tile.given, i64 12
  br label %do.7

do.7:                                             ; preds = %do.7.lr.ph, %after.20
  %.5.03 = phi i32 [ 0, %do.7.lr.ph ], [ %.31, %after.20 ]
  %.14 = zext i32 %.5.03 to i64
  %.15 = shl nuw nsw i64 %.14, 4
  %.16 = getelementptr i8, ptr %places.given, i64 %.15
  %.17 = getelementptr i8, ptr %.16, i64 8
  %.18 = load ptr, ptr %.17, align 1
  %.22.not = icmp eq ptr %.18, null
  br i1 %.22.not, label %after.20, label %then.19

after.9:                                          ; preds = %after.20, %entry.1
  ret void

then.19:                                          ; preds = %do.7
  %.27 = load i32, ptr %.26, align 1
  %.28 = zext nneg i32 %.27 to i64
  %.29 = shl nuw i64 1, %.28
  tail call void @llvm.memset.p0.i64(ptr noundef nonnull align 1 dereferenceable(1) %.18, i8 -1, i64 %.29, i1 false)
  br label %after.20

after.20:                                         ; preds = %then.19, %do.7
  %.31 = add nuw i32 %.5.03, 1
  %.11 = icmp ult i32 %.31, %.4
  br i1 %.11, label %do.7, label %after.9
}

declare ptr @resolve(ptr, ptr, ptr, i32, i64, i64, i64, i32, i32, ptr) local_unnamed_addr

declare void @record(ptr, ptr, i32, i32, i32, i64) local_unnamed_addr

attributes #0 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #1 = { nounwind }
attributes #2 = { nofree norecurse nosync nounwind memory(write, argmem: readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none) }
