; [["warpgroup_tiles.first_outside", "warpgroup_tiles.fragment_a", "warpgroup_tiles.fragment_b"], [], "0.50"]
; jit/translation/__init__.py jit/translation/conversions.py jit/translation/distinct_values.py jit/translation/expressions.py jit/translation/folding.py jit/translation/intrinsics.py jit/translation/ir.py jit/translation/rule_calls.py jit/translation/translator.py jit/translation/value_kinds.py language/__init__.py language/records.py language/rules.py language/types.py language/vectors.py rules/warpgroup_tiles.py runtime/state.py
; 703c23a0d106379ac96d0a65c3fefa265fbc2ea87a97ce2e5f371f0ef9641017 cfceba7dfdd6220709a1a211411fc05191b0824c7c077ec13cb7e0ab585fc288
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
  %.28.not.i = icmp eq i64 %.22.i, 0
  %.31.i = lshr exact i64 16, %.22.i
  %.32.i = trunc nuw nsw i64 %.31.i to i32
  %wide.0.i = select i1 %.28.not.i, i32 1, i32 %.32.i
  %2 = select i1 %.28.not.i, i1 %mn_major.given, i1 false
  %stride.0.i = select i1 %2, i32 %.11.i, i32 %.16.i
  %3 = select i1 %.28.not.i, i1 %mn_major.given, i1 false
  %leading.0.i = select i1 %3, i32 %.16.i, i32 %.11.i
  %.18.i = lshr i64 %descriptor.given, 49
  %4 = trunc nuw nsw i64 %.18.i to i32
  %.20.i = and i32 %4, 7
  %5 = trunc nuw nsw i64 %.22.i to i32
  %6 = sub nuw nsw i32 4, %5
  %7 = select i1 %.28.not.i, i32 0, i32 %6
  %8 = and i32 %0, 16383
  %9 = add nuw nsw i32 %wide.0.i, 268435455
  %10 = trunc nuw nsw i64 %.22.i to i32
  %11 = sub nuw nsw i32 4, %10
  %12 = select i1 %.28.not.i, i32 0, i32 %11
  %.68.i = add nsw i32 %wide.0.i, -1
  br label %for.13.preheader

for.13.preheader:                                 ; preds = %for.13.preheader.lr.ph, %after.16
  %.4.010 = phi i32 [ 0, %for.13.preheader.lr.ph ], [ %.46, %after.16 ]
  br i1 %.187.not, label %after.16, label %do.14.lr.ph

do.14.lr.ph:                                      ; preds = %for.13.preheader
  %.22 = add i32 %.4.010, %first_line.given
  %.41.i = and i32 %.22, 7
  %.43.i = shl nuw nsw i32 %.41.i, %7
  %13 = add nuw nsw i32 %.43.i, %8
  %.47.i = lshr i32 %.22, 3
  %.49.i = mul i32 %.47.i, %stride.0.i
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
  %.53.i = and i32 %.25, %9
  %14 = add nuw nsw i32 %13, %.53.i
  %15 = shl i32 %14, 4
  %.58.i6 = lshr i32 %.25, %12
  %.60.i = mul i32 %.58.i6, %leading.0.i
  %.55.i = add i32 %.60.i, %.49.i
  %.61.i = add i32 %.55.i, %15
  %.64.i = lshr i32 %.61.i, 7
  %.66.i = sub nsw i32 %.64.i, %.20.i
  %.69.i = and i32 %.66.i, %.68.i
  %.70.i = shl nuw nsw i32 %.69.i, 4
  %.71.i = xor i32 %.70.i, %.61.i
  %.33 = icmp ult i32 %.71.i, %start.given
  br i1 %.33, label %then.28, label %or.30

after.16:                                         ; preds = %for.13, %for.13.preheader
  %.46 = add nuw i32 %.4.010, 1
  %.10 = icmp ult i32 %.46, %lines.given
  br i1 %.10, label %for.13.preheader, label %common.ret

then.28:                                          ; preds = %or.30, %do.14
  %narrow = or disjoint i32 %.71.i, 1
  %.42 = zext i32 %narrow to i64
  br label %common.ret

or.30:                                            ; preds = %do.14
  %reass.sub = sub nuw i32 %.71.i, %start.given
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
  %.28.not.i = icmp eq i64 %.22.i, 0
  %.31.i = lshr exact i64 16, %.22.i
  %.32.i = trunc nuw nsw i64 %.31.i to i32
  %wide.0.i = select i1 %.28.not.i, i32 1, i32 %.32.i
  %.18.i = lshr i64 %descriptor.given, 49
  %2 = trunc nuw nsw i64 %.18.i to i32
  %.20.i = and i32 %2, 7
  %3 = trunc nuw nsw i64 %.22.i to i32
  %4 = sub nuw nsw i32 4, %3
  %5 = select i1 %.28.not.i, i32 0, i32 %4
  %6 = and i32 %0, 16383
  %7 = xor i32 %wide.0.i, -1
  %8 = trunc nuw nsw i64 %.22.i to i32
  %9 = sub nuw nsw i32 4, %8
  %10 = select i1 %.28.not.i, i32 0, i32 %9
  %.68.i = add nsw i32 %wide.0.i, -1
  br label %for.14.preheader

for.54.preheader:                                 ; preds = %entry.1
  %.5953.not = icmp eq i32 %lines.given, 0
  br i1 %.5953.not, label %common.ret, label %for.61.preheader.lr.ph

for.61.preheader.lr.ph:                           ; preds = %for.54.preheader
  %.70 = lshr i32 %first_row.given, 3
  %11 = trunc i64 %descriptor.given to i32
  %12 = lshr i32 %11, 12
  %.11.i17 = and i32 %12, 262128
  %sh.diff.i18 = lshr i64 %descriptor.given, 28
  %tr.sh.diff.i19 = trunc i64 %sh.diff.i18 to i32
  %.16.i20 = and i32 %tr.sh.diff.i19, 262128
  %.22.i21 = lshr i64 %descriptor.given, 62
  %.28.not.i22 = icmp eq i64 %.22.i21, 0
  %.31.i23 = lshr exact i64 16, %.22.i21
  %.32.i24 = trunc nuw nsw i64 %.31.i23 to i32
  %wide.0.i25 = select i1 %.28.not.i22, i32 1, i32 %.32.i24
  %stride.0.i = select i1 %.28.not.i22, i32 %.11.i17, i32 %.16.i20
  %leading.0.i = select i1 %.28.not.i22, i32 %.16.i20, i32 %.11.i17
  %.18.i26 = lshr i64 %descriptor.given, 49
  %13 = trunc nuw nsw i64 %.18.i26 to i32
  %.20.i27 = and i32 %13, 7
  %14 = trunc nuw nsw i64 %.22.i21 to i32
  %15 = sub nuw nsw i32 4, %14
  %16 = select i1 %.28.not.i22, i32 0, i32 %15
  %17 = and i32 %11, 16383
  %18 = add nuw nsw i32 %wide.0.i25, 268435455
  %19 = trunc nuw nsw i64 %.22.i21 to i32
  %20 = sub nuw nsw i32 4, %19
  %21 = select i1 %.28.not.i22, i32 0, i32 %20
  %.68.i39 = add nsw i32 %wide.0.i25, -1
  br label %for.61.preheader

for.14.preheader:                                 ; preds = %for.7.preheader, %after.17
  %.6.049 = phi i64 [ 0, %for.7.preheader ], [ %.51, %after.17 ]
  %22 = trunc nuw nsw i64 %.6.049 to i32
  %.25 = add i32 %first_row.given, %22
  %.41.i = and i32 %.25, 7
  %.43.i = shl nuw nsw i32 %.41.i, %5
  %23 = add nuw nsw i32 %.43.i, %6
  %.47.i = lshr i32 %.25, 3
  %.49.i = mul i32 %.47.i, %.16.i
  %24 = shl nuw nsw i64 %.6.049, 4
  %25 = and i64 %24, 128
  %.37 = and i64 %24, 112
  %invariant.gep = getelementptr i8, ptr %out.given, i64 %25
  %invariant.gep46 = getelementptr i8, ptr %invariant.gep, i64 %.37
  br label %do.15

common.ret:                                       ; preds = %after.17, %after.64, %for.54.preheader
  ret void

do.15:                                            ; preds = %for.14.preheader, %do.15
  %.13.048 = phi i64 [ 0, %for.14.preheader ], [ %.49, %do.15 ]
  %.27 = trunc nuw nsw i64 %.13.048 to i32
  %.53.i = and i32 %.27, %7
  %26 = add nuw nsw i32 %23, %.53.i
  %27 = shl nuw nsw i32 %26, 4
  %.58.i43 = lshr i32 %.27, %10
  %.60.i = mul nuw nsw i32 %.58.i43, %.11.i
  %.55.i = add i32 %.60.i, %.49.i
  %.61.i = add i32 %.55.i, %27
  %.64.i = lshr i32 %.61.i, 7
  %.66.i = sub nsw i32 %.64.i, %.20.i
  %.69.i = and i32 %.66.i, %.68.i
  %.70.i = shl nuw nsw i32 %.69.i, 4
  %.71.i = xor i32 %.70.i, %.61.i
  %28 = shl nuw nsw i64 %.13.048, 8
  %gep47 = getelementptr i8, ptr %invariant.gep46, i64 %28
  %.45 = sub i32 %.71.i, %start.given
  %.46 = zext i32 %.45 to i64
  %.47 = getelementptr i8, ptr %shared.given, i64 %.46
  tail call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 1 dereferenceable(16) %gep47, ptr noundef nonnull align 1 dereferenceable(16) %.47, i64 16, i1 false)
  %.49 = add nuw nsw i64 %.13.048, 1
  %.19 = icmp eq i64 %.13.048, 0
  br i1 %.19, label %do.15, label %after.17

after.17:                                         ; preds = %do.15
  %.51 = add nuw nsw i64 %.6.049, 1
  %.12 = icmp samesign ult i64 %.6.049, 15
  br i1 %.12, label %for.14.preheader, label %common.ret

for.61.preheader:                                 ; preds = %for.61.preheader.lr.ph, %after.64
  %.53.054 = phi i32 [ 0, %for.61.preheader.lr.ph ], [ %.115, %after.64 ]
  %.41.i28 = and i32 %.53.054, 7
  %.43.i29 = shl nuw nsw i32 %.41.i28, %16
  %29 = add nuw nsw i32 %.43.i29, %17
  %.47.i30 = lshr i32 %.53.054, 3
  %.49.i31 = mul i32 %.47.i30, %stride.0.i
  %30 = lshr i32 %.53.054, 2
  %.84 = and i32 %30, 1073741822
  %.86 = zext nneg i32 %.84 to i64
  %.91 = shl i32 %.53.054, 1
  %.92 = and i32 %.91, 14
  %.93 = zext nneg i32 %.92 to i64
  %invariant.gep51 = getelementptr i8, ptr %out.given, i64 %.93
  br label %do.62

do.62:                                            ; preds = %for.61.preheader, %after.99
  %.60.052 = phi i64 [ 0, %for.61.preheader ], [ %.113, %after.99 ]
  %.72 = trunc nuw nsw i64 %.60.052 to i32
  %.73 = add nuw nsw i32 %.70, %.72
  %.53.i32 = and i32 %.73, %18
  %31 = add nuw nsw i32 %29, %.53.i32
  %32 = shl i32 %31, 4
  %.58.i3444 = lshr i32 %.73, %21
  %.60.i35 = mul i32 %.58.i3444, %leading.0.i
  %.55.i33 = add i32 %.60.i35, %.49.i31
  %.61.i36 = add i32 %.55.i33, %32
  %.64.i37 = lshr i32 %.61.i36, 7
  %.66.i38 = sub nsw i32 %.64.i37, %.20.i27
  %.69.i40 = and i32 %.66.i38, %.68.i39
  %.70.i41 = shl nuw nsw i32 %.69.i40, 4
  %.71.i42 = xor i32 %.70.i41, %.61.i36
  %.78 = sub i32 %.71.i42, %start.given
  %.79 = zext i32 %.78 to i64
  %.80 = getelementptr i8, ptr %shared.given, i64 %.79
  %.87 = add nuw nsw i64 %.60.052, %.86
  %.88 = shl nuw nsw i64 %.87, 7
  %gep = getelementptr i8, ptr %invariant.gep51, i64 %.88
  br label %do.97

after.64:                                         ; preds = %after.99
  %.115 = add nuw i32 %.53.054, 1
  %.59 = icmp ult i32 %.115, %lines.given
  br i1 %.59, label %for.61.preheader, label %common.ret

do.97:                                            ; preds = %do.62, %do.97
  %.95.050 = phi i64 [ 0, %do.62 ], [ %.111, %do.97 ]
  %.104 = getelementptr i16, ptr %.80, i64 %.95.050
  %.105 = load i16, ptr %.104, align 1
  %.109.idx = shl nuw nsw i64 %.95.050, 4
  %.109 = getelementptr i8, ptr %gep, i64 %.109.idx
  store i16 %.105, ptr %.109, align 1
  %.111 = add nuw nsw i64 %.95.050, 1
  %.101 = icmp samesign ult i64 %.95.050, 7
  br i1 %.101, label %do.97, label %after.99

after.99:                                         ; preds = %do.97
  %.113 = add nuw nsw i64 %.60.052, 1
  %.66 = icmp eq i64 %.60.052, 0
  br i1 %.66, label %do.62, label %after.64
}

define void @warpgroup_tiles.fragment_b(ptr readonly captures(none) %shared.given, i32 %start.given, i64 %descriptor.given, i1 %mn_major.given, i32 %columns.given, i32 %pieces.given, ptr writeonly captures(none) %out.given) local_unnamed_addr #2 {
entry.1:
  br i1 %mn_major.given, label %after.4, label %for.8.preheader

for.8.preheader:                                  ; preds = %entry.1
  %.1351.not = icmp eq i32 %columns.given, 0
  br i1 %.1351.not, label %common.ret, label %for.16.preheader.lr.ph

for.16.preheader.lr.ph:                           ; preds = %for.8.preheader
  %.2149.not = icmp eq i32 %pieces.given, 0
  %0 = trunc i64 %descriptor.given to i32
  %1 = lshr i32 %0, 12
  %.11.i = and i32 %1, 262128
  %sh.diff.i = lshr i64 %descriptor.given, 28
  %tr.sh.diff.i = trunc i64 %sh.diff.i to i32
  %.16.i = and i32 %tr.sh.diff.i, 262128
  %.22.i = lshr i64 %descriptor.given, 62
  %.28.not.i = icmp eq i64 %.22.i, 0
  %.31.i = lshr exact i64 16, %.22.i
  %.32.i = trunc nuw nsw i64 %.31.i to i32
  %wide.0.i = select i1 %.28.not.i, i32 1, i32 %.32.i
  %.18.i = lshr i64 %descriptor.given, 49
  %2 = trunc nuw nsw i64 %.18.i to i32
  %.20.i = and i32 %2, 7
  %3 = trunc nuw nsw i64 %.22.i to i32
  %4 = sub nuw nsw i32 4, %3
  %5 = select i1 %.28.not.i, i32 0, i32 %4
  %6 = and i32 %0, 16383
  %7 = add nuw nsw i32 %wide.0.i, 268435455
  %8 = trunc nuw nsw i64 %.22.i to i32
  %9 = sub nuw nsw i32 4, %8
  %10 = select i1 %.28.not.i, i32 0, i32 %9
  %.68.i = add nsw i32 %wide.0.i, -1
  br label %for.16.preheader

after.4:                                          ; preds = %entry.1
  %.52 = shl i32 %pieces.given, 3
  %.5956.not = icmp eq i32 %.52, 0
  br i1 %.5956.not, label %common.ret, label %do.55.lr.ph

do.55.lr.ph:                                      ; preds = %after.4
  %.61 = lshr i32 %columns.given, 3
  %.6854.not = icmp eq i32 %.61, 0
  %11 = trunc i64 %descriptor.given to i32
  %12 = lshr i32 %11, 12
  %.11.i20 = and i32 %12, 262128
  %sh.diff.i21 = lshr i64 %descriptor.given, 28
  %tr.sh.diff.i22 = trunc i64 %sh.diff.i21 to i32
  %.16.i23 = and i32 %tr.sh.diff.i22, 262128
  %.22.i24 = lshr i64 %descriptor.given, 62
  %.28.not.i25 = icmp eq i64 %.22.i24, 0
  %.31.i26 = lshr exact i64 16, %.22.i24
  %.32.i27 = trunc nuw nsw i64 %.31.i26 to i32
  %wide.0.i28 = select i1 %.28.not.i25, i32 1, i32 %.32.i27
  %stride.0.i = select i1 %.28.not.i25, i32 %.11.i20, i32 %.16.i23
  %leading.0.i = select i1 %.28.not.i25, i32 %.16.i23, i32 %.11.i20
  %.18.i29 = lshr i64 %descriptor.given, 49
  %13 = trunc nuw nsw i64 %.18.i29 to i32
  %.20.i30 = and i32 %13, 7
  %14 = trunc nuw nsw i64 %.22.i24 to i32
  %15 = sub nuw nsw i32 4, %14
  %16 = select i1 %.28.not.i25, i32 0, i32 %15
  %17 = and i32 %11, 16383
  %18 = add nuw nsw i32 %wide.0.i28, 268435455
  %19 = trunc nuw nsw i64 %.22.i24 to i32
  %20 = sub nuw nsw i32 4, %19
  %21 = select i1 %.28.not.i25, i32 0, i32 %20
  %.68.i42 = add nsw i32 %wide.0.i28, -1
  br label %do.55

for.16.preheader:                                 ; preds = %for.16.preheader.lr.ph, %after.19
  %.7.052 = phi i32 [ 0, %for.16.preheader.lr.ph ], [ %.50, %after.19 ]
  br i1 %.2149.not, label %after.19, label %do.17.lr.ph

do.17.lr.ph:                                      ; preds = %for.16.preheader
  %.41.i = and i32 %.7.052, 7
  %.43.i = shl nuw nsw i32 %.41.i, %5
  %22 = add nuw nsw i32 %.43.i, %6
  %.47.i = lshr i32 %.7.052, 3
  %.49.i = mul i32 %.47.i, %.16.i
  %.29 = mul i32 %.47.i, %pieces.given
  %.34 = shl i32 %.7.052, 4
  %.35 = and i32 %.34, 112
  br label %do.17

common.ret:                                       ; preds = %after.19, %after.66, %for.8.preheader, %after.4
  ret void

do.17:                                            ; preds = %do.17.lr.ph, %do.17
  %.15.050 = phi i32 [ 0, %do.17.lr.ph ], [ %.48, %do.17 ]
  %.53.i = and i32 %.15.050, %7
  %23 = add nuw nsw i32 %22, %.53.i
  %24 = shl i32 %23, 4
  %.58.i46 = lshr i32 %.15.050, %10
  %.60.i = mul i32 %.58.i46, %.11.i
  %.55.i = add i32 %.60.i, %.49.i
  %.61.i = add i32 %.55.i, %24
  %.64.i = lshr i32 %.61.i, 7
  %.66.i = sub nsw i32 %.64.i, %.20.i
  %.69.i = and i32 %.66.i, %.68.i
  %.70.i = shl nuw nsw i32 %.69.i, 4
  %.71.i = xor i32 %.70.i, %.61.i
  %.31 = add i32 %.15.050, %.29
  %.32 = shl i32 %.31, 7
  %.36 = or disjoint i32 %.32, %.35
  %.39 = zext i32 %.36 to i64
  %.40 = getelementptr i8, ptr %out.given, i64 %.39
  %.44 = sub i32 %.71.i, %start.given
  %.45 = zext i32 %.44 to i64
  %.46 = getelementptr i8, ptr %shared.given, i64 %.45
  tail call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 1 dereferenceable(16) %.40, ptr noundef nonnull align 1 dereferenceable(16) %.46, i64 16, i1 false)
  %.48 = add nuw i32 %.15.050, 1
  %.21 = icmp ult i32 %.48, %pieces.given
  br i1 %.21, label %do.17, label %after.19

after.19:                                         ; preds = %do.17, %for.16.preheader
  %.50 = add nuw i32 %.7.052, 1
  %.13 = icmp ult i32 %.50, %columns.given
  br i1 %.13, label %for.16.preheader, label %common.ret

do.55:                                            ; preds = %do.55.lr.ph, %after.66
  %.53.057 = phi i32 [ 0, %do.55.lr.ph ], [ %.114, %after.66 ]
  br i1 %.6854.not, label %after.66, label %do.64.lr.ph

do.64.lr.ph:                                      ; preds = %do.55
  %.41.i31 = and i32 %.53.057, 7
  %.43.i32 = shl nuw nsw i32 %.41.i31, %16
  %25 = add nuw nsw i32 %.43.i32, %17
  %.47.i33 = lshr i32 %.53.057, 3
  %.49.i34 = mul i32 %.47.i33, %stride.0.i
  %.90 = shl i32 %.53.057, 1
  %.91 = and i32 %.90, 14
  %.92 = zext nneg i32 %.91 to i64
  %invariant.gep = getelementptr i8, ptr %out.given, i64 %.92
  br label %do.64

do.64:                                            ; preds = %do.64.lr.ph, %after.98
  %.62.055 = phi i32 [ 0, %do.64.lr.ph ], [ %.112, %after.98 ]
  %.53.i35 = and i32 %.62.055, %18
  %26 = add nuw nsw i32 %25, %.53.i35
  %27 = shl i32 %26, 4
  %.58.i3747 = lshr i32 %.62.055, %21
  %.60.i38 = mul i32 %.58.i3747, %leading.0.i
  %.55.i36 = add i32 %.60.i38, %.49.i34
  %.61.i39 = add i32 %.55.i36, %27
  %.64.i40 = lshr i32 %.61.i39, 7
  %.66.i41 = sub nsw i32 %.64.i40, %.20.i30
  %.69.i43 = and i32 %.66.i41, %.68.i42
  %.70.i44 = shl nuw nsw i32 %.69.i43, 4
  %.71.i45 = xor i32 %.70.i44, %.61.i39
  %.76 = sub i32 %.71.i45, %start.given
  %.77 = zext i32 %.76 to i64
  %.78 = getelementptr i8, ptr %shared.given, i64 %.77
  %.82 = mul i32 %.62.055, %pieces.given
  %.85 = add i32 %.82, %.47.i33
  %.86 = shl i32 %.85, 7
  %.87 = zext i32 %.86 to i64
  %gep = getelementptr i8, ptr %invariant.gep, i64 %.87
  br label %do.96

after.66:                                         ; preds = %after.98, %do.55
  %.114 = add nuw i32 %.53.057, 1
  %.59 = icmp ult i32 %.114, %.52
  br i1 %.59, label %do.55, label %common.ret

do.96:                                            ; preds = %do.64, %do.96
  %.94.053 = phi i64 [ 0, %do.64 ], [ %.110, %do.96 ]
  %.103 = getelementptr i16, ptr %.78, i64 %.94.053
  %.104 = load i16, ptr %.103, align 1
  %.108.idx = shl nuw nsw i64 %.94.053, 4
  %.108 = getelementptr i8, ptr %gep, i64 %.108.idx
  store i16 %.104, ptr %.108, align 1
  %.110 = add nuw nsw i64 %.94.053, 1
  %.100 = icmp samesign ult i64 %.94.053, 7
  br i1 %.100, label %do.96, label %after.98

after.98:                                         ; preds = %do.96
  %.112 = add nuw nsw i32 %.62.055, 1
  %.68 = icmp samesign ult i32 %.112, %.61
  br i1 %.68, label %do.64, label %after.66
}

attributes #0 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: readwrite) }
attributes #1 = { nofree norecurse nosync nounwind memory(none) }
attributes #2 = { nofree norecurse nosync nounwind memory(argmem: readwrite) }
