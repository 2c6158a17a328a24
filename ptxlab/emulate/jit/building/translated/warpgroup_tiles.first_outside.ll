; [["warpgroup_tiles.first_outside", "warpgroup_tiles.fragment_a", "warpgroup_tiles.fragment_b"], [], "0.50"]
; jit/translation/__init__.py jit/translation/conversions.py jit/translation/distinct_values.py jit/translation/expressions.py jit/translation/folding.py jit/translation/intrinsics.py jit/translation/ir.py jit/translation/rule_calls.py jit/translation/translator.py jit/translation/value_kinds.py language/__init__.py language/records.py language/rules.py language/types.py language/vectors.py rules/warpgroup_tiles.py runtime/state.py
; e970672b3d82477d4cd05ae1c1b88bd467a782f6efd09308767b42aefecaacb7 f6974d6af2a4b180ce8f3f7f60de33998ee785f3ae5bf014d910d5788f53e75f
source_filename = "<string>"

declare void @llvm.memcpy.p0.p0.i64(ptr noalias writeonly captures(none), ptr noalias readonly captures(none), i64, i1 immarg) #0

define range(i64 0, 4294967296) i64 @warpgroup_tiles.first_outside(i64 %descriptor.given, i32 %first_line.given, i32 %lines.given, i32 %first_piece.given, i32 %pieces.given, i1 %mn_major.given, i32 %start.given, i32 %size.given) local_unnamed_addr #1 {
entry.1:
  %.109.not = icmp eq i32 %lines.given, 0
  br i1 %.109.not, label %common.ret, label %for.13.preheader.lr.ph

for.13.preheader.lr.ph:                           ; preds = %entry.1
  %.187.not = icmp eq i32 %pieces.given, 0
  %0 = trunc i64 %descriptor.given to i32
  %1 = lshr i32 %0, 12
  %.11.i = and i32 %1, 262128
  %sh.diff.i = lshr i64 %descriptor.given, 28
  %tr.sh.diff.i = trunc i64 %sh.diff.i to i32
  %.16.i = and i32 %tr.sh.diff.i, 262128
  %.22.i = lshr i64 %descriptor.given, 62
  %.23.i = trunc nuw nsw i64 %.22.i to i32
  %.7.i = icmp eq i64 %.22.i, 0
  %.10.i = lshr exact i32 16, %.23.i
  %.12.i = select i1 %.7.i, i32 1, i32 %.10.i
  %.30.i = icmp eq i64 %.22.i, 0
  %2 = select i1 %.30.i, i1 %mn_major.given, i1 false
  %stride.0.i = select i1 %2, i32 %.11.i, i32 %.16.i
  %3 = select i1 %.30.i, i1 %mn_major.given, i1 false
  %leading.0.i = select i1 %3, i32 %.16.i, i32 %.11.i
  %.18.i = lshr i64 %descriptor.given, 49
  %4 = trunc nuw nsw i64 %.18.i to i32
  %.20.i = and i32 %4, 7
  %5 = sub nuw nsw i32 4, %.23.i
  %6 = select i1 %.7.i, i32 0, i32 %5
  %7 = and i32 %0, 16383
  %8 = add nsw i32 %.12.i, -1
  %9 = sub nuw nsw i32 4, %.23.i
  %10 = select i1 %.7.i, i32 0, i32 %9
  %.64.i = add nsw i32 %.12.i, -1
  br label %for.13.preheader

for.13.preheader:                                 ; preds = %for.13.preheader.lr.ph, %after.16
  %.4.010 = phi i32 [ 0, %for.13.preheader.lr.ph ], [ %.46, %after.16 ]
  br i1 %.187.not, label %after.16, label %do.14.lr.ph

do.14.lr.ph:                                      ; preds = %for.13.preheader
  %.22 = add i32 %.4.010, %first_line.given
  %.37.i = and i32 %.22, 7
  %.39.i = shl nuw nsw i32 %.37.i, %6
  %11 = add nuw nsw i32 %.39.i, %7
  %.43.i = lshr i32 %.22, 3
  %.45.i = mul i32 %.43.i, %stride.0.i
  br label %do.14

common.ret:                                       ; preds = %after.16, %entry.1, %then.28
  %common.ret.op = phi i64 [ %.42, %then.28 ], [ 0, %entry.1 ], [ 0, %after.16 ]
  ret i64 %common.ret.op

for.13:                                           ; preds = %or.30
  %.44 = add nuw i32 %.12.08, 1
  %.18 = icmp ult i32 %.44, %pieces.given
  br i1 %.18, label %do.14, label %after.16

do.14:                                            ; preds = %do.14.lr.ph, %for.13
  %.12.08 = phi i32 [ 0, %do.14.lr.ph ], [ %.44, %for.13 ]
  %.25 = add i32 %.12.08, %first_piece.given
  %.49.i = and i32 %.25, %8
  %12 = add nuw nsw i32 %11, %.49.i
  %13 = shl nuw nsw i32 %12, 4
  %.54.i6 = lshr i32 %.25, %10
  %.56.i = mul i32 %.54.i6, %leading.0.i
  %.51.i = add i32 %.56.i, %.45.i
  %.57.i = add i32 %.51.i, %13
  %.60.i = lshr i32 %.57.i, 7
  %.62.i = sub nsw i32 %.60.i, %.20.i
  %.65.i = and i32 %.62.i, %.64.i
  %.66.i = shl nuw nsw i32 %.65.i, 4
  %.67.i = xor i32 %.66.i, %.57.i
  %.33 = icmp ult i32 %.67.i, %start.given
  br i1 %.33, label %then.28, label %or.30

after.16:                                         ; preds = %for.13, %for.13.preheader
  %.46 = add nuw i32 %.4.010, 1
  %.10 = icmp ult i32 %.46, %lines.given
  br i1 %.10, label %for.13.preheader, label %common.ret

then.28:                                          ; preds = %or.30, %do.14
  %narrow = or disjoint i32 %.67.i, 1
  %.42 = zext i32 %narrow to i64
  br label %common.ret

or.30:                                            ; preds = %do.14
  %reass.sub = sub nuw i32 %.67.i, %start.given
  %.37 = add i32 %reass.sub, 16
  %.39 = icmp ugt i32 %.37, %size.given
  br i1 %.39, label %then.28, label %for.13
}

define void @warpgroup_tiles.fragment_a(ptr readonly captures(none) %shared.given, i32 %start.given, i64 %descriptor.given, i1 %mn_major.given, i32 %first_row.given, i32 %lines.given, ptr writeonly captures(none) %out.given) local_unnamed_addr #2 {
entry.1:
  br i1 %mn_major.given, label %for.54.preheader, label %for.7.preheader

for.7.preheader:                                  ; preds = %entry.1
  %0 = trunc i64 %descriptor.given to i32
  %1 = lshr i32 %0, 12
  %.11.i = and i32 %1, 262128
  %sh.diff.i = lshr i64 %descriptor.given, 28
  %tr.sh.diff.i = trunc i64 %sh.diff.i to i32
  %.16.i = and i32 %tr.sh.diff.i, 262128
  %.22.i = lshr i64 %descriptor.given, 62
  %.23.i = trunc nuw nsw i64 %.22.i to i32
  %.7.i42 = icmp eq i64 %.22.i, 0
  %.10.i43 = lshr exact i32 16, %.23.i
  %.12.i44 = select i1 %.7.i42, i32 1, i32 %.10.i43
  %.18.i = lshr i64 %descriptor.given, 49
  %2 = trunc nuw nsw i64 %.18.i to i32
  %.20.i = and i32 %2, 7
  %3 = sub nuw nsw i32 4, %.23.i
  %4 = select i1 %.7.i42, i32 0, i32 %3
  %5 = and i32 %0, 16383
  %6 = xor i32 %.12.i44, -1
  %7 = sub nuw nsw i32 4, %.23.i
  %8 = select i1 %.7.i42, i32 0, i32 %7
  %.64.i = add nsw i32 %.12.i44, -1
  br label %for.14.preheader

for.54.preheader:                                 ; preds = %entry.1
  %.5955.not = icmp eq i32 %lines.given, 0
  br i1 %.5955.not, label %common.ret, label %for.61.preheader.lr.ph

for.61.preheader.lr.ph:                           ; preds = %for.54.preheader
  %.70 = lshr i32 %first_row.given, 3
  %9 = trunc i64 %descriptor.given to i32
  %10 = lshr i32 %9, 12
  %.11.i17 = and i32 %10, 262128
  %sh.diff.i18 = lshr i64 %descriptor.given, 28
  %tr.sh.diff.i19 = trunc i64 %sh.diff.i18 to i32
  %.16.i20 = and i32 %tr.sh.diff.i19, 262128
  %.22.i21 = lshr i64 %descriptor.given, 62
  %.23.i22 = trunc nuw nsw i64 %.22.i21 to i32
  %.7.i = icmp eq i64 %.22.i21, 0
  %.10.i = lshr exact i32 16, %.23.i22
  %.12.i = select i1 %.7.i, i32 1, i32 %.10.i
  %.30.i24 = icmp eq i64 %.22.i21, 0
  %stride.0.i = select i1 %.30.i24, i32 %.11.i17, i32 %.16.i20
  %leading.0.i = select i1 %.30.i24, i32 %.16.i20, i32 %.11.i17
  %.18.i25 = lshr i64 %descriptor.given, 49
  %11 = trunc nuw nsw i64 %.18.i25 to i32
  %.20.i26 = and i32 %11, 7
  %12 = sub nuw nsw i32 4, %.23.i22
  %13 = select i1 %.7.i, i32 0, i32 %12
  %14 = and i32 %9, 16383
  %15 = add nsw i32 %.12.i, -1
  %16 = sub nuw nsw i32 4, %.23.i22
  %17 = select i1 %.7.i, i32 0, i32 %16
  %.64.i38 = add nsw i32 %.12.i, -1
  br label %for.61.preheader

for.14.preheader:                                 ; preds = %for.7.preheader, %after.17
  %.6.051 = phi i64 [ 0, %for.7.preheader ], [ %.51, %after.17 ]
  %18 = trunc nuw nsw i64 %.6.051 to i32
  %.25 = add i32 %first_row.given, %18
  %.37.i = and i32 %.25, 7
  %.39.i = shl nuw nsw i32 %.37.i, %4
  %19 = add nuw nsw i32 %.39.i, %5
  %.43.i = lshr i32 %.25, 3
  %.45.i = mul i32 %.43.i, %.16.i
  %20 = shl nuw nsw i64 %.6.051, 4
  %21 = and i64 %20, 128
  %.37 = and i64 %20, 112
  %invariant.gep = getelementptr i8, ptr %out.given, i64 %21
  %invariant.gep48 = getelementptr i8, ptr %invariant.gep, i64 %.37
  br label %do.15

common.ret:                                       ; preds = %after.17, %after.64, %for.54.preheader
  ret void

do.15:                                            ; preds = %for.14.preheader, %do.15
  %.13.050 = phi i64 [ 0, %for.14.preheader ], [ %.49, %do.15 ]
  %.27 = trunc nuw nsw i64 %.13.050 to i32
  %.49.i = and i32 %.27, %6
  %22 = add nuw nsw i32 %19, %.49.i
  %23 = shl nuw nsw i32 %22, 4
  %.54.i45 = lshr i32 %.27, %8
  %.56.i = mul nuw nsw i32 %.54.i45, %.11.i
  %.51.i = add i32 %.56.i, %.45.i
  %.57.i = add i32 %.51.i, %23
  %.60.i = lshr i32 %.57.i, 7
  %.62.i = sub nsw i32 %.60.i, %.20.i
  %.65.i = and i32 %.62.i, %.64.i
  %.66.i = shl nuw nsw i32 %.65.i, 4
  %.67.i = xor i32 %.66.i, %.57.i
  %24 = shl nuw nsw i64 %.13.050, 8
  %gep49 = getelementptr i8, ptr %invariant.gep48, i64 %24
  %.45 = sub i32 %.67.i, %start.given
  %.46 = zext i32 %.45 to i64
  %.47 = getelementptr i8, ptr %shared.given, i64 %.46
  tail call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 1 dereferenceable(16) %gep49, ptr noundef nonnull align 1 dereferenceable(16) %.47, i64 16, i1 false)
  %.49 = add nuw nsw i64 %.13.050, 1
  %.19 = icmp eq i64 %.13.050, 0
  br i1 %.19, label %do.15, label %after.17

after.17:                                         ; preds = %do.15
  %.51 = add nuw nsw i64 %.6.051, 1
  %.12 = icmp samesign ult i64 %.6.051, 15
  br i1 %.12, label %for.14.preheader, label %common.ret

for.61.preheader:                                 ; preds = %for.61.preheader.lr.ph, %after.64
  %.53.056 = phi i32 [ 0, %for.61.preheader.lr.ph ], [ %.115, %after.64 ]
  %.37.i27 = and i32 %.53.056, 7
  %.39.i28 = shl nuw nsw i32 %.37.i27, %13
  %25 = add nuw nsw i32 %.39.i28, %14
  %.43.i29 = lshr i32 %.53.056, 3
  %.45.i30 = mul i32 %.43.i29, %stride.0.i
  %26 = lshr i32 %.53.056, 2
  %.84 = and i32 %26, 1073741822
  %.86 = zext nneg i32 %.84 to i64
  %.91 = shl i32 %.53.056, 1
  %.92 = and i32 %.91, 14
  %.93 = zext nneg i32 %.92 to i64
  %invariant.gep53 = getelementptr i8, ptr %out.given, i64 %.93
  br label %do.62

do.62:                                            ; preds = %for.61.preheader, %after.99
  %.60.054 = phi i64 [ 0, %for.61.preheader ], [ %.113, %after.99 ]
  %.72 = trunc nuw nsw i64 %.60.054 to i32
  %.73 = add nuw nsw i32 %.70, %.72
  %.49.i31 = and i32 %.73, %15
  %27 = add nuw nsw i32 %25, %.49.i31
  %28 = shl nuw nsw i32 %27, 4
  %.54.i3346 = lshr i32 %.73, %17
  %.56.i34 = mul i32 %.54.i3346, %leading.0.i
  %.51.i32 = add i32 %.56.i34, %.45.i30
  %.57.i35 = add i32 %.51.i32, %28
  %.60.i36 = lshr i32 %.57.i35, 7
  %.62.i37 = sub nsw i32 %.60.i36, %.20.i26
  %.65.i39 = and i32 %.62.i37, %.64.i38
  %.66.i40 = shl nuw nsw i32 %.65.i39, 4
  %.67.i41 = xor i32 %.66.i40, %.57.i35
  %.78 = sub i32 %.67.i41, %start.given
  %.79 = zext i32 %.78 to i64
  %.80 = getelementptr i8, ptr %shared.given, i64 %.79
  %.87 = add nuw nsw i64 %.60.054, %.86
  %.88 = shl nuw nsw i64 %.87, 7
  %gep = getelementptr i8, ptr %invariant.gep53, i64 %.88
  br label %do.97

after.64:                                         ; preds = %after.99
  %.115 = add nuw i32 %.53.056, 1
  %.59 = icmp ult i32 %.115, %lines.given
  br i1 %.59, label %for.61.preheader, label %common.ret

do.97:                                            ; preds = %do.62, %do.97
  %.95.052 = phi i64 [ 0, %do.62 ], [ %.111, %do.97 ]
  %.104 = getelementptr i16, ptr %.80, i64 %.95.052
  %.105 = load i16, ptr %.104, align 1
  %.109.idx = shl nuw nsw i64 %.95.052, 4
  %.109 = getelementptr i8, ptr %gep, i64 %.109.idx
  store i16 %.105, ptr %.109, align 1
  %.111 = add nuw nsw i64 %.95.052, 1
  %.101 = icmp samesign ult i64 %.95.052, 7
  br i1 %.101, label %do.97, label %after.99

after.99:                                         ; preds = %do.97
  %.113 = add nuw nsw i64 %.60.054, 1
  %.66 = icmp eq i64 %.60.054, 0
  br i1 %.66, label %do.62, label %after.64
}

define void @warpgroup_tiles.fragment_b(ptr readonly captures(none) %shared.given, i32 %start.given, i64 %descriptor.given, i1 %mn_major.given, i32 %columns.given, i32 %pieces.given, ptr writeonly captures(none) %out.given) local_unnamed_addr #2 {
entry.1:
  br i1 %mn_major.given, label %after.4, label %for.8.preheader

for.8.preheader:                                  ; preds = %entry.1
  %.1353.not = icmp eq i32 %columns.given, 0
  br i1 %.1353.not, label %common.ret, label %for.16.preheader.lr.ph

for.16.preheader.lr.ph:                           ; preds = %for.8.preheader
  %.2151.not = icmp eq i32 %pieces.given, 0
  %0 = trunc i64 %descriptor.given to i32
  %1 = lshr i32 %0, 12
  %.11.i = and i32 %1, 262128
  %sh.diff.i = lshr i64 %descriptor.given, 28
  %tr.sh.diff.i = trunc i64 %sh.diff.i to i32
  %.16.i = and i32 %tr.sh.diff.i, 262128
  %.22.i = lshr i64 %descriptor.given, 62
  %.23.i = trunc nuw nsw i64 %.22.i to i32
  %.7.i45 = icmp eq i64 %.22.i, 0
  %.10.i46 = lshr exact i32 16, %.23.i
  %.12.i47 = select i1 %.7.i45, i32 1, i32 %.10.i46
  %.18.i = lshr i64 %descriptor.given, 49
  %2 = trunc nuw nsw i64 %.18.i to i32
  %.20.i = and i32 %2, 7
  %3 = sub nuw nsw i32 4, %.23.i
  %4 = select i1 %.7.i45, i32 0, i32 %3
  %5 = and i32 %0, 16383
  %6 = add nsw i32 %.12.i47, -1
  %7 = sub nuw nsw i32 4, %.23.i
  %8 = select i1 %.7.i45, i32 0, i32 %7
  %.64.i = add nsw i32 %.12.i47, -1
  br label %for.16.preheader

after.4:                                          ; preds = %entry.1
  %.52 = shl i32 %pieces.given, 3
  %.5958.not = icmp eq i32 %.52, 0
  br i1 %.5958.not, label %common.ret, label %do.55.lr.ph

do.55.lr.ph:                                      ; preds = %after.4
  %.61 = lshr i32 %columns.given, 3
  %.6856.not = icmp eq i32 %.61, 0
  %9 = trunc i64 %descriptor.given to i32
  %10 = lshr i32 %9, 12
  %.11.i20 = and i32 %10, 262128
  %sh.diff.i21 = lshr i64 %descriptor.given, 28
  %tr.sh.diff.i22 = trunc i64 %sh.diff.i21 to i32
  %.16.i23 = and i32 %tr.sh.diff.i22, 262128
  %.22.i24 = lshr i64 %descriptor.given, 62
  %.23.i25 = trunc nuw nsw i64 %.22.i24 to i32
  %.7.i = icmp eq i64 %.22.i24, 0
  %.10.i = lshr exact i32 16, %.23.i25
  %.12.i = select i1 %.7.i, i32 1, i32 %.10.i
  %.30.i27 = icmp eq i64 %.22.i24, 0
  %stride.0.i = select i1 %.30.i27, i32 %.11.i20, i32 %.16.i23
  %leading.0.i = select i1 %.30.i27, i32 %.16.i23, i32 %.11.i20
  %.18.i28 = lshr i64 %descriptor.given, 49
  %11 = trunc nuw nsw i64 %.18.i28 to i32
  %.20.i29 = and i32 %11, 7
  %12 = sub nuw nsw i32 4, %.23.i25
  %13 = select i1 %.7.i, i32 0, i32 %12
  %14 = and i32 %9, 16383
  %15 = add nsw i32 %.12.i, -1
  %16 = sub nuw nsw i32 4, %.23.i25
  %17 = select i1 %.7.i, i32 0, i32 %16
  %.64.i41 = add nsw i32 %.12.i, -1
  br label %do.55

for.16.preheader:                                 ; preds = %for.16.preheader.lr.ph, %after.19
  %.7.054 = phi i32 [ 0, %for.16.preheader.lr.ph ], [ %.50, %after.19 ]
  br i1 %.2151.not, label %after.19, label %do.17.lr.ph

do.17.lr.ph:                                      ; preds = %for.16.preheader
  %.37.i = and i32 %.7.054, 7
  %.39.i = shl nuw nsw i32 %.37.i, %4
  %18 = add nuw nsw i32 %.39.i, %5
  %.43.i = lshr i32 %.7.054, 3
  %.45.i = mul i32 %.43.i, %.16.i
  %.29 = mul i32 %.43.i, %pieces.given
  %.34 = shl i32 %.7.054, 4
  %.35 = and i32 %.34, 112
  br label %do.17

common.ret:                                       ; preds = %after.19, %after.66, %for.8.preheader, %after.4
  ret void

do.17:                                            ; preds = %do.17.lr.ph, %do.17
  %.15.052 = phi i32 [ 0, %do.17.lr.ph ], [ %.48, %do.17 ]
  %.49.i = and i32 %.15.052, %6
  %19 = add nuw nsw i32 %18, %.49.i
  %20 = shl nuw nsw i32 %19, 4
  %.54.i48 = lshr i32 %.15.052, %8
  %.56.i = mul i32 %.54.i48, %.11.i
  %.51.i = add i32 %.56.i, %.45.i
  %.57.i = add i32 %.51.i, %20
  %.60.i = lshr i32 %.57.i, 7
  %.62.i = sub nsw i32 %.60.i, %.20.i
  %.65.i = and i32 %.62.i, %.64.i
  %.66.i = shl nuw nsw i32 %.65.i, 4
  %.67.i = xor i32 %.66.i, %.57.i
  %.31 = add i32 %.15.052, %.29
  %.32 = shl i32 %.31, 7
  %.36 = or disjoint i32 %.32, %.35
  %.39 = zext i32 %.36 to i64
  %.40 = getelementptr i8, ptr %out.given, i64 %.39
  %.44 = sub i32 %.67.i, %start.given
  %.45 = zext i32 %.44 to i64
  %.46 = getelementptr i8, ptr %shared.given, i64 %.45
  tail call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 1 dereferenceable(16) %.40, ptr noundef nonnull align 1 dereferenceable(16) %.46, i64 16, i1 false)
  %.48 = add nuw i32 %.15.052, 1
  %.21 = icmp ult i32 %.48, %pieces.given
  br i1 %.21, label %do.17, label %after.19

after.19:                                         ; preds = %do.17, %for.16.preheader
  %.50 = add nuw i32 %.7.054, 1
  %.13 = icmp ult i32 %.50, %columns.given
  br i1 %.13, label %for.16.preheader, label %common.ret

do.55:                                            ; preds = %do.55.lr.ph, %after.66
  %.53.059 = phi i32 [ 0, %do.55.lr.ph ], [ %.114, %after.66 ]
  br i1 %.6856.not, label %after.66, label %do.64.lr.ph

do.64.lr.ph:                                      ; preds = %do.55
  %.37.i30 = and i32 %.53.059, 7
  %.39.i31 = shl nuw nsw i32 %.37.i30, %13
  %21 = add nuw nsw i32 %.39.i31, %14
  %.43.i32 = lshr i32 %.53.059, 3
  %.45.i33 = mul i32 %.43.i32, %stride.0.i
  %.90 = shl i32 %.53.059, 1
  %.91 = and i32 %.90, 14
  %.92 = zext nneg i32 %.91 to i64
  %invariant.gep = getelementptr i8, ptr %out.given, i64 %.92
  br label %do.64

do.64:                                            ; preds = %do.64.lr.ph, %after.98
  %.62.057 = phi i32 [ 0, %do.64.lr.ph ], [ %.112, %after.98 ]
  %.49.i34 = and i32 %.62.057, %15
  %22 = add nuw nsw i32 %21, %.49.i34
  %23 = shl nuw nsw i32 %22, 4
  %.54.i3649 = lshr i32 %.62.057, %17
  %.56.i37 = mul i32 %.54.i3649, %leading.0.i
  %.51.i35 = add i32 %.56.i37, %.45.i33
  %.57.i38 = add i32 %.51.i35, %23
  %.60.i39 = lshr i32 %.57.i38, 7
  %.62.i40 = sub nsw i32 %.60.i39, %.20.i29
  %.65.i42 = and i32 %.62.i40, %.64.i41
  %.66.i43 = shl nuw nsw i32 %.65.i42, 4
  %.67.i44 = xor i32 %.66.i43, %.57.i38
  %.76 = sub i32 %.67.i44, %start.given
  %.77 = zext i32 %.76 to i64
  %.78 = getelementptr i8, ptr %shared.given, i64 %.77
  %.82 = mul i32 %.62.057, %pieces.given
  %.85 = add i32 %.82, %.43.i32
  %.86 = shl i32 %.85, 7
  %.87 = zext i32 %.86 to i64
  %gep = getelementptr i8, ptr %invariant.gep, i64 %.87
  br label %do.96

after.66:                                         ; preds = %after.98, %do.55
  %.114 = add nuw i32 %.53.059, 1
  %.59 = icmp ult i32 %.114, %.52
  br i1 %.59, label %do.55, label %common.ret

do.96:                                            ; preds = %do.64, %do.96
  %.94.055 = phi i64 [ 0, %do.64 ], [ %.110, %do.96 ]
  %.103 = getelementptr i16, ptr %.78, i64 %.94.055
  %.104 = load i16, ptr %.103, align 1
  %.108.idx = shl nuw nsw i64 %.94.055, 4
  %.108 = getelementptr i8, ptr %gep, i64 %.108.idx
  store i16 %.104, ptr %.108, align 1
  %.110 = add nuw nsw i64 %.94.055, 1
  %.100 = icmp samesign ult i64 %.94.055, 7
  br i1 %.100, label %do.96, label %after.98

after.98:                                         ; preds = %do.96
  %.112 = add nuw nsw i32 %.62.057, 1
  %.68 = icmp samesign ult i32 %.112, %.61
  br i1 %.68, label %do.64, label %after.66
}

attributes #0 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: readwrite) }
attributes #1 = { nofree norecurse nosync nounwind memory(none) }
attributes #2 = { nofree norecurse nosync nounwind memory(argmem: readwrite) }
