; [["mbarriers.operate"], [], "0.50"]
; jit/translation/__init__.py jit/translation/conversions.py jit/translation/distinct_values.py jit/translation/expressions.py jit/translation/folding.py jit/translation/intrinsics.py jit/translation/ir.py jit/translation/rule_calls.py jit/translation/translator.py jit/translation/value_kinds.py language/__init__.py language/records.py language/rules.py language/types.py language/vectors.py rules/bulk_copies.py rules/clusters.py rules/lane_scheduling.py rules/mbarrier_words.py rules/mbarriers.py rules/memcheck.py rules/tensor_maps.py runtime/state.py
; 4bf7934b3ea679cd68c2907ef7925cc25407427481e3ff0bd694ad9cd6f56c31 9be9c23af0cd178e076ab19471083c90d65368fc6ea2378940192241fd8be3b4
source_filename = "<string>"

declare void @llvm.memset.p0.i64(ptr writeonly captures(none), i8, i64, i1 immarg) #0

declare i32 @llvm.cttz.i32(i32, i1 immarg) #1

declare void @llvm.memcpy.p0.p0.i64(ptr noalias writeonly captures(none), ptr noalias readonly captures(none), i64, i1 immarg) #2

define noundef i1 @mbarriers.operate(ptr %context.given, ptr %cta.given, ptr %warp.given, ptr %block.given, i32 %mask.given, ptr %addresses.given, ptr %xs.given, ptr readonly captures(none) %ys.given, ptr captures(none) %results.given, i32 %action.given, i32 %flags.given, i32 %space.given, i32 %code.given) local_unnamed_addr #3 {
entry.1:
  %.48.i.i.i = alloca [16 x i8], align 64
  %.3 = alloca [256 x i8], align 64
  %.4 = alloca [256 x i8], align 64
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 64 dereferenceable(256) %.3, i8 0, i64 256, i1 false)
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 64 dereferenceable(256) %.4, i8 0, i64 256, i1 false)
  %.11.not189.not = icmp eq i32 %mask.given, 0
  br i1 %.11.not189.not, label %after.9, label %do.8.lr.ph

do.8.lr.ph:                                       ; preds = %entry.1
  %.6.i59 = icmp eq i32 %space.given, 5
  %.50.i = icmp eq i32 %space.given, 6
  %.57.i = insertvalue { i32, i64 } undef, i32 %space.given, 0
  %.50.i62 = icmp eq i32 %space.given, 6
  %.57.i65 = insertvalue { i32, i64 } undef, i32 %space.given, 0
  %.38 = icmp eq i32 %action.given, 2
  %.66 = icmp eq i32 %action.given, 3
  %.69 = getelementptr i8, ptr %cta.given, i64 72
  %.92 = getelementptr i8, ptr %cta.given, i64 80
  %.60.i.i.i = getelementptr inbounds nuw i8, ptr %.48.i.i.i, i64 8
  %.83.i.i.i = getelementptr i8, ptr %context.given, i64 368
  %.19.i2.i = getelementptr i8, ptr %context.given, i64 416
  %.26.i.i = getelementptr i8, ptr %context.given, i64 384
  %.32.i.i = getelementptr i8, ptr %context.given, i64 417
  %.38.i.i = getelementptr i8, ptr %context.given, i64 400
  %.6.i115 = icmp eq i32 %action.given, 0
  %.107.i = and i32 %flags.given, 1
  %.108.not.i = icmp eq i32 %.107.i, 0
  %.123.i = and i32 %flags.given, 2
  %.124.not.i = icmp eq i32 %.123.i, 0
  %.4.i = getelementptr i8, ptr %warp.given, i64 184
  %.15.i88 = getelementptr i8, ptr %warp.given, i64 2752
  %.23.i = getelementptr i8, ptr %warp.given, i64 3008
  %.196 = and i32 %flags.given, 4
  %.197.not = icmp eq i32 %.196, 0
  %.205 = getelementptr i8, ptr %warp.given, i64 184
  %.214 = getelementptr i8, ptr %warp.given, i64 2752
  %.224 = getelementptr i8, ptr %warp.given, i64 3008
  %.230 = getelementptr i8, ptr %warp.given, i64 3264
  br label %do.8

do.8:                                             ; preds = %do.8.lr.ph, %after.170
  %done.0193 = phi i32 [ 0, %do.8.lr.ph ], [ %.239, %after.170 ]
  %failed.0192 = phi i32 [ 0, %do.8.lr.ph ], [ %failed.1, %after.170 ]
  %ended.0191 = phi i32 [ 0, %do.8.lr.ph ], [ %ended.1, %after.170 ]
  %.5.0190 = phi i32 [ %mask.given, %do.8.lr.ph ], [ %.14, %after.170 ]
  %.12 = call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.5.0190, i1 true)
  %.13 = add i32 %.5.0190, -1
  %.14 = and i32 %.13, %.5.0190
  %.18 = zext nneg i32 %.12 to i64
  %.19 = getelementptr i64, ptr %addresses.given, i64 %.18
  %.20 = load i64, ptr %.19, align 1
  br i1 %.6.i59, label %then.3.i, label %after.4.i

then.3.i:                                         ; preds = %do.8
  %.10.i = add i64 %.20, -140183437574144
  %.11.i = icmp ult i64 %.10.i, 524288
  br i1 %.11.i, label %memcheck.space_of.exit, label %after.8.i

after.4.i:                                        ; preds = %do.8
  %.52.i = icmp ult i64 %.20, 524288
  %or.cond.i = select i1 %.50.i, i1 %.52.i, i1 false
  %spec.select.i = select i1 %or.cond.i, { i32, i64 } { i32 1, i64 undef }, { i32, i64 } %.57.i
  br label %memcheck.space_of.exit

after.8.i:                                        ; preds = %then.3.i
  %.20.i = icmp ult i64 %.10.i, 16777216
  br i1 %.20.i, label %memcheck.space_of.exit, label %after.17.i

after.17.i:                                       ; preds = %after.8.i
  %.28.i = add i64 %.20, -140179142606848
  %.29.i = icmp ult i64 %.28.i, 16777216
  br i1 %.29.i, label %memcheck.space_of.exit, label %after.26.i

after.26.i:                                       ; preds = %after.17.i
  %.37.i = add i64 %.20, -140174847639552
  %.38.i = icmp ult i64 %.37.i, 16777216
  %..i = select i1 %.38.i, { i32, i64 } { i32 3, i64 undef }, { i32, i64 } { i32 0, i64 undef }
  %.37.address.given.i = select i1 %.38.i, i64 %.37.i, i64 %.20
  br label %memcheck.space_of.exit

memcheck.space_of.exit:                           ; preds = %then.3.i, %after.4.i, %after.8.i, %after.17.i, %after.26.i
  %.pn.i = phi { i32, i64 } [ %spec.select.i, %after.4.i ], [ { i32 1, i64 undef }, %then.3.i ], [ { i32 6, i64 undef }, %after.8.i ], [ %..i, %after.26.i ], [ { i32 2, i64 undef }, %after.17.i ]
  %.10.pn.i = phi i64 [ %.20, %after.4.i ], [ %.10.i, %then.3.i ], [ %.10.i, %after.8.i ], [ %.37.address.given.i, %after.26.i ], [ %.28.i, %after.17.i ]
  %.6.i = extractvalue { i32, i64 } %.pn.i, 0
  %.12.i = icmp eq i32 %.6.i, 1
  %.15.i = select i1 %.12.i, i64 %.10.pn.i, i64 %.20
  br i1 %.6.i59, label %then.3.i70, label %after.4.i61

then.3.i70:                                       ; preds = %memcheck.space_of.exit
  %.10.i71 = add i64 %.20, -140183437574144
  %.11.i72 = icmp ult i64 %.10.i71, 524288
  br i1 %.11.i72, label %memcheck.space_of.exit83, label %after.8.i73

after.4.i61:                                      ; preds = %memcheck.space_of.exit
  %.52.i63 = icmp ult i64 %.20, 524288
  %or.cond.i64 = select i1 %.50.i62, i1 %.52.i63, i1 false
  %spec.select.i66 = select i1 %or.cond.i64, { i32, i64 } { i32 1, i64 undef }, { i32, i64 } %.57.i65
  br label %memcheck.space_of.exit83

after.8.i73:                                      ; preds = %then.3.i70
  %.20.i74 = icmp ult i64 %.10.i71, 16777216
  br i1 %.20.i74, label %memcheck.space_of.exit83, label %after.17.i75

after.17.i75:                                     ; preds = %after.8.i73
  %0 = and i64 %.20, -16777216
  %.29.i77 = icmp eq i64 %0, 140179142606848
  br i1 %.29.i77, label %memcheck.space_of.exit83, label %after.26.i78

after.26.i78:                                     ; preds = %after.17.i75
  %1 = and i64 %.20, -16777216
  %.38.i80 = icmp eq i64 %1, 140174847639552
  %..i81 = select i1 %.38.i80, { i32, i64 } { i32 3, i64 undef }, { i32, i64 } { i32 0, i64 undef }
  br label %memcheck.space_of.exit83

memcheck.space_of.exit83:                         ; preds = %then.3.i70, %after.4.i61, %after.8.i73, %after.17.i75, %after.26.i78
  %.pn.i67 = phi { i32, i64 } [ %spec.select.i66, %after.4.i61 ], [ { i32 1, i64 undef }, %then.3.i70 ], [ { i32 6, i64 undef }, %after.8.i73 ], [ %..i81, %after.26.i78 ], [ { i32 2, i64 undef }, %after.17.i75 ]
  %.29 = extractvalue { i32, i64 } %.pn.i67, 0
  %.36 = icmp eq i32 %.29, 6
  %or.cond = select i1 %.36, i1 %.38, i1 false
  %spec.select = select i1 %or.cond, i32 %space.given, i32 1
  %.47 = call ptr @resolve(ptr %context.given, ptr %cta.given, ptr %warp.given, i32 %.12, i64 %.15.i, i64 8, i64 3, i32 %spec.select, i32 1, ptr null) #3
  %.51 = icmp eq ptr %.47, null
  br i1 %.51, label %then.48, label %after.49

after.9.loopexit:                                 ; preds = %after.170
  %2 = icmp eq i32 %failed.1, %mask.given
  %3 = icmp ne i32 %ended.1, 0
  br label %after.9

after.9:                                          ; preds = %after.9.loopexit, %entry.1
  %ended.0.lcssa = phi i1 [ false, %entry.1 ], [ %3, %after.9.loopexit ]
  %failed.0.lcssa = phi i1 [ true, %entry.1 ], [ %2, %after.9.loopexit ]
  %.244 = icmp ne i32 %action.given, 3
  %.246 = and i32 %flags.given, 4
  %.247.not = icmp eq i32 %.246, 0
  %or.cond55 = select i1 %.244, i1 true, i1 %.247.not
  br i1 %or.cond55, label %after.241, label %then.240

common.ret:                                       ; preds = %after.241, %then.287, %mbarriers.worth_telling.exit, %after.135, %then.48
  %.11.not180 = phi i1 [ false, %after.241 ], [ false, %then.287 ], [ false, %mbarriers.worth_telling.exit ], [ true, %after.135 ], [ true, %then.48 ]
  ret i1 %.11.not180

then.48:                                          ; preds = %memcheck.space_of.exit83
  %.19.le = getelementptr i64, ptr %addresses.given, i64 %.18
  %.60 = load i64, ptr %.19.le, align 1
  call void @record(ptr %context.given, ptr %warp.given, i32 1, i32 %code.given, i32 %.12, i64 %.60) #3
  br label %common.ret

after.49:                                         ; preds = %memcheck.space_of.exit83
  br i1 %.66, label %and.64, label %after.63

then.62:                                          ; preds = %and.67
  %.93 = load i32, ptr %.92, align 1
  %.95 = trunc i64 %.15.i to i32
  %.4.i104 = load i64, ptr %.72, align 1
  %.6.i105 = getelementptr i8, ptr %.72, i64 8
  %.7.i106 = load i64, ptr %.6.i105, align 1
  %.144.i = icmp ult i64 %.4.i104, %.7.i106
  br i1 %.144.i, label %do.10.lr.ph.i, label %after.12.i107

do.10.lr.ph.i:                                    ; preds = %then.62
  %.16.i108 = getelementptr i8, ptr %.72, i64 40
  br label %do.10.i

do.10.i:                                          ; preds = %after.22.i, %do.10.lr.ph.i
  %.8.05.i = phi i64 [ %.4.i104, %do.10.lr.ph.i ], [ %.48.i, %after.22.i ]
  %.18.i109 = and i64 %.8.05.i, 127
  %.19.i110 = mul nuw nsw i64 %.18.i109, 312
  %.20.i111 = getelementptr i8, ptr %.16.i108, i64 %.19.i110
  %.25.i = getelementptr i8, ptr %.20.i111, i64 20
  %.26.i112 = load i32, ptr %.25.i, align 1
  %.27.not.i = icmp eq i32 %.26.i112, 0
  br i1 %.27.not.i, label %after.22.i, label %and.23.i

after.12.i107:                                    ; preds = %after.22.i, %then.62
  %.11.i.i = load i64, ptr %.6.i105, align 1
  %queue.given.promoted.i.i = load i64, ptr %.72, align 1
  %.12.not2.i.i = icmp eq i64 %queue.given.promoted.i.i, %.11.i.i
  br i1 %.12.not2.i.i, label %after.63, label %and.6.i.i

do.4.i.i:                                         ; preds = %and.6.i.i
  %.25.i.i = add i64 %.813.i.i, 1
  store i64 %.25.i.i, ptr %.72, align 1
  %.12.not.i.i = icmp eq i64 %.25.i.i, %.11.i.i
  br i1 %.12.not.i.i, label %after.63, label %and.6.i.i

and.6.i.i:                                        ; preds = %after.12.i107, %do.4.i.i
  %.813.i.i = phi i64 [ %.25.i.i, %do.4.i.i ], [ %queue.given.promoted.i.i, %after.12.i107 ]
  %.17.i.i = and i64 %.813.i.i, 127
  %.18.i.i = mul nuw nsw i64 %.17.i.i, 312
  %.19.i.i = getelementptr i8, ptr %.72, i64 %.18.i.i
  %.20.i.i = getelementptr i8, ptr %.19.i.i, i64 60
  %.21.i.i = load i32, ptr %.20.i.i, align 1
  %.22.i.i = icmp eq i32 %.21.i.i, 0
  br i1 %.22.i.i, label %do.4.i.i, label %after.63

then.21.i:                                        ; preds = %and.33.i
  %.6.i.i = getelementptr i8, ptr %.20.i111, i64 56
  %.7.i.i = load ptr, ptr %.6.i.i, align 1
  %.8.not.i.i = icmp eq ptr %.7.i.i, null
  br i1 %.8.not.i.i, label %after.4.i.i, label %then.3.i.i

then.3.i.i:                                       ; preds = %then.21.i
  %.13.i.i = load i64, ptr %.7.i.i, align 1
  br label %after.4.i.i

after.4.i.i:                                      ; preds = %then.3.i.i, %then.21.i
  %before.0.i.i = phi i64 [ %.13.i.i, %then.3.i.i ], [ 0, %then.21.i ]
  call void @llvm.lifetime.start.p0(ptr nonnull %.48.i.i.i)
  %.4.i.i.i = load i32, ptr %.20.i111, align 1
  switch i32 %.4.i.i.i, label %else.44.i.i.i [
    i32 0, label %then.5.i.i.i
    i32 1, label %then.19.i.i.i
    i32 2, label %then.43.i.i.i
  ]

then.5.i.i.i:                                     ; preds = %after.4.i.i
  %.11.i.i.i = getelementptr i8, ptr %.20.i111, i64 32
  %.12.i.i.i = load ptr, ptr %.11.i.i.i, align 1
  %.14.i.i.i = getelementptr i8, ptr %.20.i111, i64 40
  %.15.i.i.i = load ptr, ptr %.14.i.i.i, align 1
  %.17.i.i.i = getelementptr i8, ptr %.20.i111, i64 24
  %.18.i.i.i = load i64, ptr %.17.i.i.i, align 1
  call void @llvm.memcpy.p0.p0.i64(ptr align 1 %.12.i.i.i, ptr align 1 %.15.i.i.i, i64 %.18.i.i.i, i1 false)
  br label %after.7.i.i.i

after.7.i.i.i:                                    ; preds = %after.40.i.i.i.i, %else.62.i.i.i, %then.61.i.i.i, %tensor_maps.rows.exit.i.i.i.i, %then.19.i.i.i, %then.5.i.i.i
  %.99.i.i.i = getelementptr i8, ptr %.20.i111, i64 48
  %.100.i.i.i = load ptr, ptr %.99.i.i.i, align 1
  %.101.i.i.i = icmp ne ptr %.100.i.i.i, null
  %4 = add i32 %.4.i.i.i, -6
  %5 = icmp ult i32 %4, -2
  %or.cond1.i.i.i = and i1 %5, %.101.i.i.i
  br i1 %or.cond1.i.i.i, label %then.95.i.i.i, label %after.96.i.i.i

then.19.i.i.i:                                    ; preds = %after.4.i.i
  %.26.i.i.i = getelementptr i8, ptr %.20.i111, i64 32
  %.27.i.i.i = load ptr, ptr %.26.i.i.i, align 1
  %.29.i.i.i = getelementptr i8, ptr %.20.i111, i64 40
  %.30.i.i.i = load ptr, ptr %.29.i.i.i, align 1
  %.32.i.i.i = getelementptr i8, ptr %.20.i111, i64 24
  %.33.i.i.i = load i64, ptr %.32.i.i.i, align 1
  %.35.i.i.i = getelementptr i8, ptr %.20.i111, i64 80
  %.36.i.i.i = load i32, ptr %.35.i.i.i, align 1
  %.38.i.i.i = getelementptr i8, ptr %.20.i111, i64 84
  %.39.i.i.i = load i32, ptr %.38.i.i.i, align 1
  %.41.i.i.i = load ptr, ptr %.83.i.i.i, align 8
  %.42.i.i.i = call i32 %.41.i.i.i(ptr %context.given, ptr %.27.i.i.i, ptr %.30.i.i.i, i64 %.33.i.i.i, i32 %.36.i.i.i, i32 %.39.i.i.i) #3
  br label %after.7.i.i.i

then.43.i.i.i:                                    ; preds = %after.4.i.i
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 64 dereferenceable(16) %.48.i.i.i, i8 0, i64 16, i1 false)
  %.50.i.i.i = getelementptr i8, ptr %.20.i111, i64 120
  %.52.i.i.i = load i64, ptr %.50.i.i.i, align 1
  store i64 %.52.i.i.i, ptr %.48.i.i.i, align 64
  %.57.i.i.i = getelementptr i8, ptr %.20.i111, i64 128
  %.58.i.i.i = load i64, ptr %.57.i.i.i, align 1
  store i64 %.58.i.i.i, ptr %.60.i.i.i, align 8
  %.65.i.i.i = getelementptr i8, ptr %.20.i111, i64 80
  %.66.i.i.i = load i32, ptr %.65.i.i.i, align 1
  %.67.not.i.i.i = icmp eq i32 %.66.i.i.i, 0
  %.87.i.i.i = getelementptr i8, ptr %.20.i111, i64 32
  %.88.i.i.i = load ptr, ptr %.87.i.i.i, align 1
  %.91.i.i.i = getelementptr i8, ptr %.20.i111, i64 24
  %.92.i.i.i = load i64, ptr %.91.i.i.i, align 1
  br i1 %.67.not.i.i.i, label %else.62.i.i.i, label %then.61.i.i.i

else.44.i.i.i:                                    ; preds = %after.4.i.i
  %.4.i.i.i.i = getelementptr i8, ptr %.20.i111, i64 184
  %.6.i.i.i.i = getelementptr i8, ptr %.20.i111, i64 152
  %.8.i.i.i.i = getelementptr i8, ptr %.20.i111, i64 172
  %.7.i1.i.i.i.i.i = getelementptr i8, ptr %.20.i111, i64 248
  %.8.i.i.i.i.i.i = load i64, ptr %.7.i1.i.i.i.i.i, align 1
  %.9.not.i.not.i.i.i.i.i = icmp eq i64 %.8.i.i.i.i.i.i, 0
  br i1 %.9.not.i.not.i.i.i.i.i, label %no.4.i.i.i.i.i, label %yes.3.i.i.i.i.i

yes.3.i.i.i.i.i:                                  ; preds = %else.44.i.i.i
  %.10.i58.i.i.i.i = getelementptr i8, ptr %.20.i111, i64 272
  %.11.i59.i.i.i.i = load i64, ptr %.10.i58.i.i.i.i, align 1
  %.12.i60.i.i.i.i = and i64 %.11.i59.i.i.i.i, 4294967295
  br label %tensor_maps.row_bytes.exit.i.i.i.i

no.4.i.i.i.i.i:                                   ; preds = %else.44.i.i.i
  %.6.i.i2.i.i.i.i.i = getelementptr i8, ptr %.20.i111, i64 232
  %.7.i.i3.i.i.i.i.i = load i64, ptr %.6.i.i2.i.i.i.i.i, align 1
  %.10.i.i4.i.i.i.i.i = lshr i64 %.7.i.i3.i.i.i.i.i, 56
  %.15.i.i.i.i.i.i = add nuw nsw i64 %.10.i.i4.i.i.i.i.i, 1
  br label %tensor_maps.row_bytes.exit.i.i.i.i

tensor_maps.row_bytes.exit.i.i.i.i:               ; preds = %no.4.i.i.i.i.i, %yes.3.i.i.i.i.i
  %.15.i.i.i.i.i = phi i64 [ %.12.i60.i.i.i.i, %yes.3.i.i.i.i.i ], [ %.15.i.i.i.i.i.i, %no.4.i.i.i.i.i ]
  %.6.i.i.i.i.i.i.i = getelementptr i8, ptr %.20.i111, i64 192
  %.7.i.i.i.i.i.i.i = load i64, ptr %.6.i.i.i.i.i.i.i, align 1
  %6 = lshr i64 %.7.i.i.i.i.i.i.i, 5
  %.5.i.i.i.i.i.i = and i64 %6, 60
  %.6.i.i.i.i.i.i = lshr i64 2767075165217, %.5.i.i.i.i.i.i
  %.7.i.i.i.i.i.i = and i64 %.6.i.i.i.i.i.i, 15
  %.19.i.i.i.i.i = mul nuw nsw i64 %.7.i.i.i.i.i.i, %.15.i.i.i.i.i
  %.13.i.i.i.i = icmp eq i32 %.4.i.i.i, 3
  br i1 %.9.not.i.not.i.i.i.i.i, label %after.4.i.i.i.i.i, label %then.3.i.i.i.i.i

then.3.i.i.i.i.i:                                 ; preds = %tensor_maps.row_bytes.exit.i.i.i.i
  %.9.i64.i.i.i.i = getelementptr i8, ptr %.20.i111, i64 272
  %.10.i65.i.i.i.i = load i64, ptr %.9.i64.i.i.i.i, align 1
  %.11.i66.i.i.i.i = lshr i64 %.10.i65.i.i.i.i, 32
  br label %tensor_maps.rows.exit.i.i.i.i

after.4.i.i.i.i.i:                                ; preds = %tensor_maps.row_bytes.exit.i.i.i.i
  %7 = trunc i64 %.7.i.i.i.i.i.i.i to i32
  %8 = lshr i32 %7, 4
  %9 = and i32 %8, 7
  %.6.i.i70.i.i.i.i = add nuw nsw i32 %9, 1
  %.14.i.i.i.i.i = zext nneg i32 %.6.i.i70.i.i.i.i to i64
  %.2110.not.i.i.i.i.i = icmp eq i32 %9, 0
  br i1 %.2110.not.i.i.i.i.i, label %tensor_maps.rows.exit.i.i.i.i, label %do.17.i.i.i.i.i

do.17.i.i.i.i.i:                                  ; preds = %after.4.i.i.i.i.i, %do.17.i.i.i.i.i
  %count.012.i.i.i.i.i = phi i64 [ %.26.i.i.i.i.i, %do.17.i.i.i.i.i ], [ 1, %after.4.i.i.i.i.i ]
  %.15.011.i.i.i.i.i = phi i64 [ %.28.i.i.i.i.i, %do.17.i.i.i.i.i ], [ 1, %after.4.i.i.i.i.i ]
  %.10.i5.i.i.i.i.i = shl nuw nsw i64 %.15.011.i.i.i.i.i, 3
  %.12.i.i.i.i.i.i = add nuw nsw i64 %.10.i5.i.i.i.i.i, 440
  %.5.i.i.i.i.i.i.i = lshr i64 %.12.i.i.i.i.i.i, 6
  %.6.i.i6.i.i.i.i.i = getelementptr i64, ptr %.4.i.i.i.i, i64 %.5.i.i.i.i.i.i.i
  %.7.i.i7.i.i.i.i.i = load i64, ptr %.6.i.i6.i.i.i.i.i, align 1
  %.9.i.i.i.i.i.i.i = and i64 %.12.i.i.i.i.i.i, 56
  %.10.i.i8.i.i.i.i.i = lshr i64 %.7.i.i7.i.i.i.i.i, %.9.i.i.i.i.i.i.i
  %.12.i.i9.i.i.i.i.i = and i64 %.10.i.i8.i.i.i.i.i, 255
  %.10.i5.i.i.i.i.i.i = mul nuw nsw i64 %.15.011.i.i.i.i.i, 3
  %.11.i6.i.i.i.i.i.i = add nuw nsw i64 %.10.i5.i.i.i.i.i.i, 416
  %.5.i.i7.i.i.i.i.i.i = lshr i64 %.11.i6.i.i.i.i.i.i, 6
  %.6.i.i8.i.i.i.i.i.i = getelementptr i64, ptr %.4.i.i.i.i, i64 %.5.i.i7.i.i.i.i.i.i
  %.7.i.i9.i.i.i.i.i.i = load i64, ptr %.6.i.i8.i.i.i.i.i.i, align 1
  %.9.i.i10.i.i.i.i.i.i = and i64 %.11.i6.i.i.i.i.i.i, 63
  %.10.i.i11.i.i.i.i.i.i = lshr i64 %.7.i.i9.i.i.i.i.i.i, %.9.i.i10.i.i.i.i.i.i
  %.12.i.i12.i.i.i.i.i.i = and i64 %.10.i.i11.i.i.i.i.i.i, 7
  %.13.i13.i.i.i.i.i.i = add nuw nsw i64 %.12.i.i12.i.i.i.i.i.i, 1
  %.10.i.i.i.i.i.i = add nuw nsw i64 %.13.i13.i.i.i.i.i.i, %.12.i.i9.i.i.i.i.i
  %.14.i.i.i.i.i.i = udiv i64 %.10.i.i.i.i.i.i, %.13.i13.i.i.i.i.i.i
  %.26.i.i.i.i.i = mul i64 %.14.i.i.i.i.i.i, %count.012.i.i.i.i.i
  %.28.i.i.i.i.i = add nuw nsw i64 %.15.011.i.i.i.i.i, 1
  %.21.i.i.i.i.i = icmp samesign ult i64 %.28.i.i.i.i.i, %.14.i.i.i.i.i
  br i1 %.21.i.i.i.i.i, label %do.17.i.i.i.i.i, label %tensor_maps.rows.exit.i.i.i.i

tensor_maps.rows.exit.i.i.i.i:                    ; preds = %do.17.i.i.i.i.i, %after.4.i.i.i.i.i, %then.3.i.i.i.i.i
  %common.ret.op.i67.i.i.i.i = phi i64 [ %.11.i66.i.i.i.i, %then.3.i.i.i.i.i ], [ 1, %after.4.i.i.i.i.i ], [ %.26.i.i.i.i.i, %do.17.i.i.i.i.i ]
  %.22110.not.i.i.i.i = icmp eq i64 %common.ret.op.i67.i.i.i.i, 0
  br i1 %.22110.not.i.i.i.i, label %after.7.i.i.i, label %do.18.lr.ph.i.i.i.i

do.18.lr.ph.i.i.i.i:                              ; preds = %tensor_maps.rows.exit.i.i.i.i
  %.5.i64.i.i.i.i.i = getelementptr i8, ptr %.20.i111, i64 256
  %.5.i67.i.i.i.i.i = getelementptr i8, ptr %.20.i111, i64 264
  %.6.i.i153.i.i.i.i.i = getelementptr i8, ptr %.20.i111, i64 208
  %.10.i225.i.i.i.i.i = getelementptr i8, ptr %.20.i111, i64 272
  %.6.i.i2.i.i.i.i.i.i = getelementptr i8, ptr %.20.i111, i64 232
  %.6.i.i109.i.i.i.i.i = getelementptr i8, ptr %.20.i111, i64 216
  %.34.i.i.i.i = add nuw nsw i64 %.19.i.i.i.i.i, 15
  %.3543.i.i.i.i = lshr i64 %.34.i.i.i.i, 4
  %.42108.not.i.i.i.i = icmp eq i64 %.3543.i.i.i.i, 0
  %.52.i.i.i.i = getelementptr i8, ptr %.20.i111, i64 88
  %.84.i.i.i.i = getelementptr i8, ptr %.20.i111, i64 144
  %.170.i.i.i.i = getelementptr i8, ptr %.20.i111, i64 40
  %.195.i.i.i.i = getelementptr i8, ptr %.20.i111, i64 32
  %.204.i.i.i.i = getelementptr i8, ptr %.20.i111, i64 80
  %.207.i.i.i.i = getelementptr i8, ptr %.20.i111, i64 84
  %.215.i.i.i.i = getelementptr i8, ptr %.20.i111, i64 48
  br label %do.18.i.i.i.i

do.18.i.i.i.i:                                    ; preds = %after.40.i.i.i.i, %do.18.lr.ph.i.i.i.i
  %.16.0111.i.i.i.i = phi i64 [ 0, %do.18.lr.ph.i.i.i.i ], [ %.230.i.i.i.i, %after.40.i.i.i.i ]
  %.7.i.i.i73.i.i.i.i = load i64, ptr %.6.i.i.i.i.i.i.i, align 1
  %.8.i.i74.i.i.i.i = load i64, ptr %.7.i1.i.i.i.i.i, align 1
  %.9.not.i.not.i75.i.i.i.i = icmp eq i64 %.8.i.i74.i.i.i.i, 0
  %10 = trunc i64 %.7.i.i.i73.i.i.i.i to i32
  %11 = lshr i32 %10, 4
  %12 = and i32 %11, 7
  br i1 %.9.not.i.not.i75.i.i.i.i, label %else.7.i.i.i.i.i, label %then.6.i.i.i.i.i

then.6.i.i.i.i.i:                                 ; preds = %do.18.i.i.i.i
  %13 = zext nneg i32 %12 to i64
  %.15.i76.i.i.i.i = add nsw i64 %13, -1
  %.19.i77.i.i.i.i = getelementptr i32, ptr %.6.i.i.i.i, i64 %13
  %.20.i.i.i.i.i = load i32, ptr %.19.i77.i.i.i.i, align 1
  %.21.i78.i.i.i.i = sext i32 %.20.i.i.i.i.i to i64
  %.30236.not.i.i.i.i.i = icmp eq i64 %.15.i76.i.i.i.i, 0
  br i1 %.30236.not.i.i.i.i.i, label %after.28.i.i.i.i.i, label %do.26.lr.ph.i.i.i.i.i

do.26.lr.ph.i.i.i.i.i:                            ; preds = %then.6.i.i.i.i.i
  %.6.i65.i.i.i.i.i = load i64, ptr %.5.i64.i.i.i.i.i, align 1
  %.6.i68.i.i.i.i.i = load i64, ptr %.5.i67.i.i.i.i.i, align 1
  br label %do.26.i.i.i.i.i

else.7.i.i.i.i.i:                                 ; preds = %do.18.i.i.i.i
  %.6.i63.i.i.i.i.i = add nuw nsw i32 %12, 1
  %.135.i.i.i.i.i = zext nneg i32 %.6.i63.i.i.i.i.i to i64
  %.142243.not.i.i.i.i.i = icmp eq i32 %12, 0
  br i1 %.142243.not.i.i.i.i.i, label %after.8.i.i.i.i.i, label %do.138.i.i.i.i.i

after.8.i.i.i.i.i:                                ; preds = %after.165.i.i.i.i.i, %after.115.i.i.i.i.i, %else.7.i.i.i.i.i
  %inside.2.i.i.i.i.i = phi i1 [ %inside.4.i.i.i.i.i, %after.115.i.i.i.i.i ], [ true, %else.7.i.i.i.i.i ], [ %inside.5.i.i.i.i.i, %after.165.i.i.i.i.i ]
  %offset.2.i.i.i.i.i = phi i64 [ %.132.i.i.i.i.i, %after.115.i.i.i.i.i ], [ 0, %else.7.i.i.i.i.i ], [ %.180.i.i.i.i.i, %after.165.i.i.i.i.i ]
  %.185.i.i.i.i.i = load i32, ptr %.6.i.i.i.i, align 1
  br i1 %.9.not.i.not.i75.i.i.i.i, label %no.4.i.i.i.i.i.i, label %yes.3.i.i.i.i.i.i

yes.3.i.i.i.i.i.i:                                ; preds = %after.8.i.i.i.i.i
  %.11.i226.i.i.i.i.i = load i64, ptr %.10.i225.i.i.i.i.i, align 1
  %.12.i227.i.i.i.i.i = and i64 %.11.i226.i.i.i.i.i, 4294967295
  br label %tensor_maps.row_place.exit.i.i.i.i

no.4.i.i.i.i.i.i:                                 ; preds = %after.8.i.i.i.i.i
  %.7.i.i3.i.i.i.i.i.i = load i64, ptr %.6.i.i2.i.i.i.i.i.i, align 1
  %.10.i.i4.i.i.i.i.i.i = lshr i64 %.7.i.i3.i.i.i.i.i.i, 56
  %.15.i.i.i.i.i.i.i = add nuw nsw i64 %.10.i.i4.i.i.i.i.i.i, 1
  br label %tensor_maps.row_place.exit.i.i.i.i

do.26.i.i.i.i.i:                                  ; preds = %chosen.48.i.i.i.i.i, %do.26.lr.ph.i.i.i.i.i
  %offset.0240.i.i.i.i.i = phi i64 [ 0, %do.26.lr.ph.i.i.i.i.i ], [ %.108.i.i.i.i.i, %chosen.48.i.i.i.i.i ]
  %inside.0239.i.i.i.i.i = phi i1 [ true, %do.26.lr.ph.i.i.i.i.i ], [ %spec.select234.i.i.i.i.i, %chosen.48.i.i.i.i.i ]
  %carry.0238.i.i.i.i.i = phi i64 [ %.16.0111.i.i.i.i, %do.26.lr.ph.i.i.i.i.i ], [ %.89.i.i.i.i.i, %chosen.48.i.i.i.i.i ]
  %.24.0237.i.i.i.i.i = phi i64 [ 0, %do.26.lr.ph.i.i.i.i.i ], [ %.36.i.i.i.i.i, %chosen.48.i.i.i.i.i ]
  %.8.i66.i.i.i.i.i = shl i64 %.24.0237.i.i.i.i.i, 4
  %.9.i.i.i.i.i.i = lshr i64 %.6.i65.i.i.i.i.i, %.8.i66.i.i.i.i.i
  %.10.i.i79.i.i.i.i = and i64 %.9.i.i.i.i.i.i, 65535
  %.15.i.i80.i.i.i.i = icmp samesign ugt i64 %.10.i.i79.i.i.i.i, 32767
  %masksel.i.i.i.i.i = select i1 %.15.i.i80.i.i.i.i, i64 -65536, i64 0
  %spec.select.i.i.i.i.i.i = or disjoint i64 %masksel.i.i.i.i.i, %.10.i.i79.i.i.i.i
  %.36.i.i.i.i.i = add nuw i64 %.24.0237.i.i.i.i.i, 1
  %.5.i75.i.i.i.i.i = shl i64 %.36.i.i.i.i.i, 5
  %.6.i76.i.i.i.i.i = add i64 %.5.i75.i.i.i.i.i, 256
  %.5.i.i.i81.i.i.i.i = lshr i64 %.6.i76.i.i.i.i.i, 6
  %.6.i.i77.i.i.i.i.i = getelementptr i64, ptr %.4.i.i.i.i, i64 %.5.i.i.i81.i.i.i.i
  %.7.i.i78.i.i.i.i.i = load i64, ptr %.6.i.i77.i.i.i.i.i, align 1
  %.9.i.i.i82.i.i.i.i = and i64 %.5.i75.i.i.i.i.i, 32
  %.10.i.i79.i.i.i.i.i = lshr i64 %.7.i.i78.i.i.i.i.i, %.9.i.i.i82.i.i.i.i
  %.12.i.i80.i.i.i.i.i = and i64 %.10.i.i79.i.i.i.i.i, 4294967295
  %.8.i81.i.i.i.i.i = add nuw nsw i64 %.12.i.i80.i.i.i.i.i, 1
  %.9.i70.i.i.i.i.i = lshr i64 %.6.i68.i.i.i.i.i, %.8.i66.i.i.i.i.i
  %.10.i71.i.i.i.i.i = and i64 %.9.i70.i.i.i.i.i, 65535
  %.15.i72.i.i.i.i.i = icmp samesign ugt i64 %.10.i71.i.i.i.i.i, 32767
  %masksel235.i.i.i.i.i = select i1 %.15.i72.i.i.i.i.i, i64 -65536, i64 0
  %spec.select.i74.i.i.i.i.i = or disjoint i64 %masksel235.i.i.i.i.i, %.10.i71.i.i.i.i.i
  %.41.i.i.i.i.i = add nsw i64 %.8.i81.i.i.i.i.i, %spec.select.i74.i.i.i.i.i
  %.10.i114.i.i.i.i.i = mul i64 %.36.i.i.i.i.i, 3
  %.11.i115.i.i.i.i.i = add i64 %.10.i114.i.i.i.i.i, 416
  %.5.i.i116.i.i.i.i.i = lshr i64 %.11.i115.i.i.i.i.i, 6
  %.6.i.i117.i.i.i.i.i = getelementptr i64, ptr %.4.i.i.i.i, i64 %.5.i.i116.i.i.i.i.i
  %.7.i.i118.i.i.i.i.i = load i64, ptr %.6.i.i117.i.i.i.i.i, align 1
  %.9.i.i119.i.i.i.i.i = and i64 %.11.i115.i.i.i.i.i, 63
  %.10.i.i120.i.i.i.i.i = lshr i64 %.7.i.i118.i.i.i.i.i, %.9.i.i119.i.i.i.i.i
  %.12.i.i121.i.i.i.i.i = and i64 %.10.i.i120.i.i.i.i.i, 7
  %.13.i.i.i.i.i.i = add nuw nsw i64 %.12.i.i121.i.i.i.i.i, 1
  %.51.i.i.i.i.i = icmp sgt i64 %.41.i.i.i.i.i, %spec.select.i.i.i.i.i.i
  br i1 %.51.i.i.i.i.i, label %yes.46.i.i.i.i.i, label %chosen.48.i.i.i.i.i

after.28.i.i.i.i.i:                               ; preds = %chosen.48.i.i.i.i.i, %then.6.i.i.i.i.i
  %carry.0.lcssa.i.i.i.i.i = phi i64 [ %.16.0111.i.i.i.i, %then.6.i.i.i.i.i ], [ %.89.i.i.i.i.i, %chosen.48.i.i.i.i.i ]
  %inside.0.lcssa.i.i.i.i.i = phi i1 [ true, %then.6.i.i.i.i.i ], [ %spec.select234.i.i.i.i.i, %chosen.48.i.i.i.i.i ]
  %offset.0.lcssa.i.i.i.i.i = phi i64 [ 0, %then.6.i.i.i.i.i ], [ %.108.i.i.i.i.i, %chosen.48.i.i.i.i.i ]
  %.113.i.i.i.i.i = add i64 %carry.0.lcssa.i.i.i.i.i, %.21.i78.i.i.i.i
  %.118.i.i.i.i.i = icmp slt i64 %.113.i.i.i.i.i, 0
  br i1 %.118.i.i.i.i.i, label %then.114.i.i.i.i.i, label %or.116.i.i.i.i.i

yes.46.i.i.i.i.i:                                 ; preds = %do.26.i.i.i.i.i
  %.54.i.i.i.i.i = sub nsw i64 %.12.i.i121.i.i.i.i.i, %spec.select.i.i.i.i.i.i
  %.57.i.i.i.i.i = add nsw i64 %.54.i.i.i.i.i, %.41.i.i.i.i.i
  %.59.i.i.i.i.i = udiv i64 %.57.i.i.i.i.i, %.13.i.i.i.i.i.i
  br label %chosen.48.i.i.i.i.i

chosen.48.i.i.i.i.i:                              ; preds = %yes.46.i.i.i.i.i, %do.26.i.i.i.i.i
  %.60.i.i.i.i.i = phi i64 [ %.59.i.i.i.i.i, %yes.46.i.i.i.i.i ], [ 1, %do.26.i.i.i.i.i ]
  %.64.i.i.i.i.i = getelementptr i32, ptr %.6.i.i.i.i, i64 %.36.i.i.i.i.i
  %.65.i.i.i.i.i = load i32, ptr %.64.i.i.i.i.i, align 1
  %.66.i.i.i.i.i = sext i32 %.65.i.i.i.i.i to i64
  %.68.i.i.i.i.i = sub nsw i64 %.66.i.i.i.i.i, %spec.select.i.i.i.i.i.i
  %.70.i.i.i.i.i = udiv i64 %.68.i.i.i.i.i, %.13.i.i.i.i.i.i
  %.73.i.i.i.i.i = add i64 %.70.i.i.i.i.i, %carry.0238.i.i.i.i.i
  %.77.i.i.i.i.i = urem i64 %.73.i.i.i.i.i, %.60.i.i.i.i.i
  %.79.i.i.i.i.i = mul i64 %.77.i.i.i.i.i, %.13.i.i.i.i.i.i
  %.80.i.i.i.i.i = add i64 %.79.i.i.i.i.i, %spec.select.i.i.i.i.i.i
  %.83.i.i.i.i.i = getelementptr i32, ptr %.8.i.i.i.i, i64 %.24.0237.i.i.i.i.i
  %.84.i.i.i.i.i = load i32, ptr %.83.i.i.i.i.i, align 1
  %.85.i.i.i.i.i = sext i32 %.84.i.i.i.i.i to i64
  %.86.i.i.i.i.i = add i64 %.80.i.i.i.i.i, %.85.i.i.i.i.i
  %.89.i.i.i.i.i = udiv i64 %.73.i.i.i.i.i, %.60.i.i.i.i.i
  %or.cond.i.i.i.i.i = icmp ule i64 %.86.i.i.i.i.i, %.12.i.i80.i.i.i.i.i
  %spec.select234.i.i.i.i.i = select i1 %or.cond.i.i.i.i.i, i1 %inside.0239.i.i.i.i.i, i1 false
  %.6.i132.i.i.i.i.i = shl i64 %.24.0237.i.i.i.i.i, 5
  %.7.i133.i.i.i.i.i = add i64 %.6.i132.i.i.i.i.i, 96
  %.5.i2.i.i.i.i.i.i = lshr i64 %.7.i133.i.i.i.i.i, 6
  %.6.i3.i.i.i.i.i.i = getelementptr i64, ptr %.4.i.i.i.i, i64 %.5.i2.i.i.i.i.i.i
  %.7.i4.i.i.i.i.i.i = load i64, ptr %.6.i3.i.i.i.i.i.i, align 1
  %.9.i5.i.i.i.i.i.i = and i64 %.7.i133.i.i.i.i.i, 32
  %.10.i6.i.i.i.i.i.i = lshr i64 %.7.i4.i.i.i.i.i.i, %.9.i5.i.i.i.i.i.i
  %.13.i134.i.i.i.i.i = shl i64 %.24.0237.i.i.i.i.i, 2
  %.14.i.i83.i.i.i.i = add i64 %.13.i134.i.i.i.i.i, 224
  %.5.i.i135.i.i.i.i.i = lshr i64 %.14.i.i83.i.i.i.i, 6
  %.6.i.i136.i.i.i.i.i = getelementptr i64, ptr %.4.i.i.i.i, i64 %.5.i.i135.i.i.i.i.i
  %.7.i.i137.i.i.i.i.i = load i64, ptr %.6.i.i136.i.i.i.i.i, align 1
  %.9.i.i138.i.i.i.i.i = and i64 %.14.i.i83.i.i.i.i, 60
  %.10.i.i139.i.i.i.i.i = lshr i64 %.7.i.i137.i.i.i.i.i, %.9.i.i138.i.i.i.i.i
  %.12.i.i140.i.i.i.i.i = shl i64 %.10.i.i139.i.i.i.i.i, 36
  %14 = and i64 %.12.i.i140.i.i.i.i.i, 1030792151040
  %.12.i7.i.i.i.i.i.i = shl i64 %.10.i6.i.i.i.i.i.i, 4
  %15 = and i64 %.12.i7.i.i.i.i.i.i, 68719476720
  %.18.i.i.i.i.i.i = or disjoint i64 %14, %15
  %.107.i.i.i.i.i = mul i64 %.18.i.i.i.i.i.i, %.86.i.i.i.i.i
  %.108.i.i.i.i.i = add i64 %.107.i.i.i.i.i, %offset.0240.i.i.i.i.i
  %.30.i.i.i.i.i = icmp ult i64 %.36.i.i.i.i.i, %.15.i76.i.i.i.i
  br i1 %.30.i.i.i.i.i, label %do.26.i.i.i.i.i, label %after.28.i.i.i.i.i

then.114.i.i.i.i.i:                               ; preds = %or.116.i.i.i.i.i, %after.28.i.i.i.i.i
  br label %after.115.i.i.i.i.i

after.115.i.i.i.i.i:                              ; preds = %or.116.i.i.i.i.i, %then.114.i.i.i.i.i
  %inside.4.i.i.i.i.i = phi i1 [ false, %then.114.i.i.i.i.i ], [ %inside.0.lcssa.i.i.i.i.i, %or.116.i.i.i.i.i ]
  %.6.i142.i.i.i.i.i = shl nsw i64 %.15.i76.i.i.i.i, 5
  %.7.i143.i.i.i.i.i = add nsw i64 %.6.i142.i.i.i.i.i, 96
  %.5.i2.i144.i.i.i.i.i = lshr i64 %.7.i143.i.i.i.i.i, 6
  %.6.i3.i145.i.i.i.i.i = getelementptr i64, ptr %.4.i.i.i.i, i64 %.5.i2.i144.i.i.i.i.i
  %.7.i4.i146.i.i.i.i.i = load i64, ptr %.6.i3.i145.i.i.i.i.i, align 1
  %.9.i5.i147.i.i.i.i.i = and i64 %.7.i143.i.i.i.i.i, 32
  %.10.i6.i148.i.i.i.i.i = lshr i64 %.7.i4.i146.i.i.i.i.i, %.9.i5.i147.i.i.i.i.i
  %.13.i150.i.i.i.i.i = shl nsw i64 %.15.i76.i.i.i.i, 2
  %.7.i.i154.i.i.i.i.i = load i64, ptr %.6.i.i153.i.i.i.i.i, align 1
  %16 = and i64 %.13.i150.i.i.i.i.i, 60
  %.9.i.i155.i.i.i.i.i = xor i64 %16, 32
  %.10.i.i156.i.i.i.i.i = lshr i64 %.7.i.i154.i.i.i.i.i, %.9.i.i155.i.i.i.i.i
  %.12.i.i157.i.i.i.i.i = shl i64 %.10.i.i156.i.i.i.i.i, 36
  %17 = and i64 %.12.i.i157.i.i.i.i.i, 1030792151040
  %.12.i7.i149.i.i.i.i.i = shl i64 %.10.i6.i148.i.i.i.i.i, 4
  %18 = and i64 %.12.i7.i149.i.i.i.i.i, 68719476720
  %.18.i158.i.i.i.i.i = or disjoint i64 %17, %18
  %.131.i.i.i.i.i = mul i64 %.18.i158.i.i.i.i.i, %.113.i.i.i.i.i
  %.132.i.i.i.i.i = add i64 %.131.i.i.i.i.i, %offset.0.lcssa.i.i.i.i.i
  br label %after.8.i.i.i.i.i

or.116.i.i.i.i.i:                                 ; preds = %after.28.i.i.i.i.i
  %.5.i91.i.i.i.i.i = shl nuw nsw i64 %13, 5
  %.6.i92.i.i.i.i.i = lshr i64 %13, 1
  %19 = getelementptr i64, ptr %.4.i.i.i.i, i64 %.6.i92.i.i.i.i.i
  %.6.i.i94.i.i.i.i.i = getelementptr i8, ptr %19, i64 32
  %.7.i.i95.i.i.i.i.i = load i64, ptr %.6.i.i94.i.i.i.i.i, align 1
  %.9.i.i96.i.i.i.i.i = and i64 %.5.i91.i.i.i.i.i, 32
  %.10.i.i97.i.i.i.i.i = lshr i64 %.7.i.i95.i.i.i.i.i, %.9.i.i96.i.i.i.i.i
  %.12.i.i98.i.i.i.i.i = and i64 %.10.i.i97.i.i.i.i.i, 4294967295
  %.124.not.not.i.i.i.i.i = icmp sgt i64 %.113.i.i.i.i.i, %.12.i.i98.i.i.i.i.i
  br i1 %.124.not.not.i.i.i.i.i, label %then.114.i.i.i.i.i, label %after.115.i.i.i.i.i

do.138.i.i.i.i.i:                                 ; preds = %else.7.i.i.i.i.i, %after.165.i.i.i.i.i
  %offset.1247.i.i.i.i.i = phi i64 [ %.180.i.i.i.i.i, %after.165.i.i.i.i.i ], [ 0, %else.7.i.i.i.i.i ]
  %inside.1246.i.i.i.i.i = phi i1 [ %inside.5.i.i.i.i.i, %after.165.i.i.i.i.i ], [ true, %else.7.i.i.i.i.i ]
  %left.0245.i.i.i.i.i = phi i64 [ %.152.i.i.i.i.i, %after.165.i.i.i.i.i ], [ %.16.0111.i.i.i.i, %else.7.i.i.i.i.i ]
  %.136.0244.i.i.i.i.i = phi i64 [ %.182.i.i.i.i.i, %after.165.i.i.i.i.i ], [ 1, %else.7.i.i.i.i.i ]
  %.10.i215.i.i.i.i.i = shl nuw nsw i64 %.136.0244.i.i.i.i.i, 3
  %.12.i216.i.i.i.i.i = add nuw nsw i64 %.10.i215.i.i.i.i.i, 440
  %.5.i.i218.i.i.i.i.i = lshr i64 %.12.i216.i.i.i.i.i, 6
  %.6.i.i219.i.i.i.i.i = getelementptr i64, ptr %.4.i.i.i.i, i64 %.5.i.i218.i.i.i.i.i
  %.7.i.i220.i.i.i.i.i = load i64, ptr %.6.i.i219.i.i.i.i.i, align 1
  %.9.i.i221.i.i.i.i.i = and i64 %.12.i216.i.i.i.i.i, 56
  %.10.i.i222.i.i.i.i.i = lshr i64 %.7.i.i220.i.i.i.i.i, %.9.i.i221.i.i.i.i.i
  %.12.i.i223.i.i.i.i.i = and i64 %.10.i.i222.i.i.i.i.i, 255
  %.10.i5.i.i87.i.i.i.i = mul nuw nsw i64 %.136.0244.i.i.i.i.i, 3
  %.11.i6.i.i88.i.i.i.i = add nuw nsw i64 %.10.i5.i.i87.i.i.i.i, 416
  %.5.i.i7.i.i89.i.i.i.i = lshr i64 %.11.i6.i.i88.i.i.i.i, 6
  %.6.i.i8.i.i90.i.i.i.i = getelementptr i64, ptr %.4.i.i.i.i, i64 %.5.i.i7.i.i89.i.i.i.i
  %.7.i.i9.i.i91.i.i.i.i = load i64, ptr %.6.i.i8.i.i90.i.i.i.i, align 1
  %.9.i.i10.i.i92.i.i.i.i = and i64 %.11.i6.i.i88.i.i.i.i, 63
  %.10.i.i11.i.i93.i.i.i.i = lshr i64 %.7.i.i9.i.i91.i.i.i.i, %.9.i.i10.i.i92.i.i.i.i
  %.12.i.i12.i.i94.i.i.i.i = and i64 %.10.i.i11.i.i93.i.i.i.i, 7
  %.13.i13.i.i95.i.i.i.i = add nuw nsw i64 %.12.i.i12.i.i94.i.i.i.i, 1
  %.10.i179.i.i.i.i.i = add nuw nsw i64 %.13.i13.i.i95.i.i.i.i, %.12.i.i223.i.i.i.i.i
  %.14.i181.i.i.i.i.i = udiv i64 %.10.i179.i.i.i.i.i, %.13.i13.i.i95.i.i.i.i
  %.147.i.i.i.i.i = urem i64 %left.0245.i.i.i.i.i, %.14.i181.i.i.i.i.i
  %.152.i.i.i.i.i = udiv i64 %left.0245.i.i.i.i.i, %.14.i181.i.i.i.i.i
  %.155.i.i.i.i.i = getelementptr i32, ptr %.6.i.i.i.i, i64 %.136.0244.i.i.i.i.i
  %.156.i.i.i.i.i = load i32, ptr %.155.i.i.i.i.i, align 1
  %.157.i.i.i.i.i = sext i32 %.156.i.i.i.i.i to i64
  %.162.i.i.i.i.i = mul nuw nsw i64 %.13.i13.i.i95.i.i.i.i, %.147.i.i.i.i.i
  %.163.i.i.i.i.i = add nsw i64 %.162.i.i.i.i.i, %.157.i.i.i.i.i
  %.168.i.i.i.i.i = icmp slt i64 %.163.i.i.i.i.i, 0
  br i1 %.168.i.i.i.i.i, label %then.164.i.i.i.i.i, label %or.166.i.i.i.i.i

then.164.i.i.i.i.i:                               ; preds = %or.166.i.i.i.i.i, %do.138.i.i.i.i.i
  br label %after.165.i.i.i.i.i

after.165.i.i.i.i.i:                              ; preds = %or.166.i.i.i.i.i, %then.164.i.i.i.i.i
  %inside.5.i.i.i.i.i = phi i1 [ false, %then.164.i.i.i.i.i ], [ %inside.1246.i.i.i.i.i, %or.166.i.i.i.i.i ]
  %.5.i159.i.i.i.i.i = add nsw i64 %.136.0244.i.i.i.i.i, -1
  %.6.i160.i.i.i.i.i = shl i64 %.5.i159.i.i.i.i.i, 5
  %.7.i161.i.i.i.i.i = add nuw nsw i64 %.6.i160.i.i.i.i.i, 96
  %.5.i2.i162.i.i.i.i.i = lshr i64 %.7.i161.i.i.i.i.i, 6
  %.6.i3.i163.i.i.i.i.i = getelementptr i64, ptr %.4.i.i.i.i, i64 %.5.i2.i162.i.i.i.i.i
  %.7.i4.i164.i.i.i.i.i = load i64, ptr %.6.i3.i163.i.i.i.i.i, align 1
  %.9.i5.i165.i.i.i.i.i = and i64 %.7.i161.i.i.i.i.i, 32
  %.10.i6.i166.i.i.i.i.i = lshr i64 %.7.i4.i164.i.i.i.i.i, %.9.i5.i165.i.i.i.i.i
  %.13.i168.i.i.i.i.i = shl i64 %.5.i159.i.i.i.i.i, 2
  %.14.i169.i.i.i.i.i = add nuw nsw i64 %.13.i168.i.i.i.i.i, 224
  %.5.i.i170.i.i.i.i.i = lshr i64 %.14.i169.i.i.i.i.i, 6
  %.6.i.i171.i.i.i.i.i = getelementptr i64, ptr %.4.i.i.i.i, i64 %.5.i.i170.i.i.i.i.i
  %.7.i.i172.i.i.i.i.i = load i64, ptr %.6.i.i171.i.i.i.i.i, align 1
  %.9.i.i173.i.i.i.i.i = and i64 %.14.i169.i.i.i.i.i, 60
  %.10.i.i174.i.i.i.i.i = lshr i64 %.7.i.i172.i.i.i.i.i, %.9.i.i173.i.i.i.i.i
  %.12.i.i175.i.i.i.i.i = shl i64 %.10.i.i174.i.i.i.i.i, 36
  %20 = and i64 %.12.i.i175.i.i.i.i.i, 1030792151040
  %.12.i7.i167.i.i.i.i.i = shl i64 %.10.i6.i166.i.i.i.i.i, 4
  %21 = and i64 %.12.i7.i167.i.i.i.i.i, 68719476720
  %.18.i176.i.i.i.i.i = or disjoint i64 %20, %21
  %.179.i.i.i.i.i = mul i64 %.18.i176.i.i.i.i.i, %.163.i.i.i.i.i
  %.180.i.i.i.i.i = add i64 %.179.i.i.i.i.i, %offset.1247.i.i.i.i.i
  %.182.i.i.i.i.i = add nuw nsw i64 %.136.0244.i.i.i.i.i, 1
  %.142.i.i.i.i.i = icmp samesign ult i64 %.182.i.i.i.i.i, %.135.i.i.i.i.i
  br i1 %.142.i.i.i.i.i, label %do.138.i.i.i.i.i, label %after.8.i.i.i.i.i

or.166.i.i.i.i.i:                                 ; preds = %do.138.i.i.i.i.i
  %.5.i100.i.i.i.i.i = shl i64 %.136.0244.i.i.i.i.i, 5
  %.6.i101.i.i.i.i.i = add nuw nsw i64 %.5.i100.i.i.i.i.i, 256
  %.5.i.i102.i.i.i.i.i = lshr i64 %.6.i101.i.i.i.i.i, 6
  %.6.i.i103.i.i.i.i.i = getelementptr i64, ptr %.4.i.i.i.i, i64 %.5.i.i102.i.i.i.i.i
  %.7.i.i104.i.i.i.i.i = load i64, ptr %.6.i.i103.i.i.i.i.i, align 1
  %.9.i.i105.i.i.i.i.i = and i64 %.5.i100.i.i.i.i.i, 32
  %.10.i.i106.i.i.i.i.i = lshr i64 %.7.i.i104.i.i.i.i.i, %.9.i.i105.i.i.i.i.i
  %.12.i.i107.i.i.i.i.i = and i64 %.10.i.i106.i.i.i.i.i, 4294967295
  %.173.not.not.i.i.i.i.i = icmp sgt i64 %.163.i.i.i.i.i, %.12.i.i107.i.i.i.i.i
  br i1 %.173.not.not.i.i.i.i.i, label %then.164.i.i.i.i.i, label %after.165.i.i.i.i.i

tensor_maps.row_place.exit.i.i.i.i:               ; preds = %no.4.i.i.i.i.i.i, %yes.3.i.i.i.i.i.i
  %.15.i228.i.i.i.i.i = phi i64 [ %.12.i227.i.i.i.i.i, %yes.3.i.i.i.i.i.i ], [ %.15.i.i.i.i.i.i.i, %no.4.i.i.i.i.i.i ]
  %.186.i.i.i.i.i = sext i32 %.185.i.i.i.i.i to i64
  %.197.i.i.i.i.i = sub nsw i64 0, %.186.i.i.i.i.i
  %22 = lshr i64 %.7.i.i.i73.i.i.i.i, 5
  %.5.i.i84.i.i.i.i = and i64 %22, 60
  %.6.i.i85.i.i.i.i = lshr i64 2767075165217, %.5.i.i84.i.i.i.i
  %.7.i.i86.i.i.i.i = and i64 %.6.i.i85.i.i.i.i, 15
  %.195.i.i.i.i.i = icmp slt i32 %.185.i.i.i.i.i, 0
  %.198.i.i.i.i.i = select i1 %.195.i.i.i.i.i, i64 %.197.i.i.i.i.i, i64 0
  %.7.i.i110.i.i.i.i.i = load i64, ptr %.6.i.i109.i.i.i.i.i, align 1
  %.12.i.i112.i.i.i.i.i = and i64 %.7.i.i110.i.i.i.i.i, 4294967295
  %reass.sub = sub nsw i64 %.12.i.i112.i.i.i.i.i, %.186.i.i.i.i.i
  %.202.i.i.i.i.i = add nsw i64 %reass.sub, 1
  %spec.select.i.i.i.i.i = call i64 @llvm.smin.i64(i64 %.202.i.i.i.i.i, i64 %.15.i228.i.i.i.i.i)
  %.213.not.i.i.i.i.i = icmp slt i64 %.198.i.i.i.i.i, %spec.select.i.i.i.i.i
  %inside.6.i.i.i.i.i = select i1 %.213.not.i.i.i.i.i, i1 %inside.2.i.i.i.i.i, i1 false
  %low_end.0.i.i.i.i.i = select i1 %.213.not.i.i.i.i.i, i64 %.198.i.i.i.i.i, i64 0
  %high_end.1.i.i.i.i.i = select i1 %.213.not.i.i.i.i.i, i64 %spec.select.i.i.i.i.i, i64 0
  %.217.i.i.i.i.i = mul nsw i64 %.7.i.i86.i.i.i.i, %.186.i.i.i.i.i
  %.218.i.i.i.i.i = add i64 %.217.i.i.i.i.i, %offset.2.i.i.i.i.i
  %.225.i.i.i.i.i = mul nsw i64 %low_end.0.i.i.i.i.i, %.7.i.i86.i.i.i.i
  %.229.i.i.i.i.i = mul nsw i64 %high_end.1.i.i.i.i.i, %.7.i.i86.i.i.i.i
  br i1 %.42108.not.i.i.i.i, label %after.40.i.i.i.i, label %do.38.lr.ph.i.i.i.i

do.38.lr.ph.i.i.i.i:                              ; preds = %tensor_maps.row_place.exit.i.i.i.i
  %.56.i.i.i.i = mul i64 %.16.0111.i.i.i.i, %.19.i.i.i.i.i
  br label %do.38.i.i.i.i

do.38.i.i.i.i:                                    ; preds = %after.92.i.i.i.i, %do.38.lr.ph.i.i.i.i
  %.36.0109.i.i.i.i = phi i64 [ 0, %do.38.lr.ph.i.i.i.i ], [ %.228.i.i.i.i, %after.92.i.i.i.i ]
  %.44.i.i.i.i = shl nuw nsw i64 %.36.0109.i.i.i.i, 4
  %.46.i.i.i.i = add nuw nsw i64 %.44.i.i.i.i, 16
  %.49.i.i.i.i = call i64 @llvm.umin.i64(i64 %.46.i.i.i.i, i64 %.19.i.i.i.i.i)
  %.53.i.i.i.i = load i64, ptr %.52.i.i.i.i, align 1
  %.57.i.i.i.i = add i64 %.44.i.i.i.i, %.56.i.i.i.i
  %.59.i.i.i.i = add i64 %.57.i.i.i.i, %.53.i.i.i.i
  %.7.i.i97.i.i.i.i = load i64, ptr %.6.i.i.i.i.i.i.i, align 1
  %.10.i.i98.i.i.i.i = lshr i64 %.7.i.i97.i.i.i.i, 13
  %.12.i.i99.i.i.i.i = and i64 %.10.i.i98.i.i.i.i, 3
  %.8.i.i.i.i.i = icmp eq i64 %.12.i.i99.i.i.i.i, 0
  br i1 %.8.i.i.i.i.i, label %tensor_maps.swizzled.exit.i.i.i.i, label %after.6.i.i.i.i.i

after.6.i.i.i.i.i:                                ; preds = %do.38.i.i.i.i
  %.12.i100.i.i.i.i = lshr i64 %.59.i.i.i.i, 7
  %notmask.i.i.i.i.i = shl nsw i64 -1, %.12.i.i99.i.i.i.i
  %.15.i101.i.i.i.i = xor i64 %notmask.i.i.i.i.i, -1
  %.16.i.i.i.i.i = and i64 %.12.i100.i.i.i.i, %.15.i101.i.i.i.i
  %.17.i.i.i.i.i = shl nuw nsw i64 %.16.i.i.i.i.i, 4
  %.18.i102.i.i.i.i = xor i64 %.17.i.i.i.i.i, %.59.i.i.i.i
  br label %tensor_maps.swizzled.exit.i.i.i.i

tensor_maps.swizzled.exit.i.i.i.i:                ; preds = %after.6.i.i.i.i.i, %do.38.i.i.i.i
  %common.ret.op.i103.i.i.i.i = phi i64 [ %.18.i102.i.i.i.i, %after.6.i.i.i.i.i ], [ %.59.i.i.i.i, %do.38.i.i.i.i ]
  %.64.i.i.i.i = sub i64 %common.ret.op.i103.i.i.i.i, %.53.i.i.i.i
  %.68.i.i.i.i = call i64 @llvm.umax.i64(i64 %.44.i.i.i.i, i64 %.225.i.i.i.i.i)
  %.71.i.i.i.i = call i64 @llvm.umin.i64(i64 %.68.i.i.i.i, i64 %.49.i.i.i.i)
  %.75.i.i.i.i = call i64 @llvm.umin.i64(i64 %.49.i.i.i.i, i64 %.229.i.i.i.i.i)
  %.78.i.i.i.i = call i64 @llvm.umax.i64(i64 %.75.i.i.i.i, i64 %.71.i.i.i.i)
  %spec.select.i.i.i.i = select i1 %inside.6.i.i.i.i.i, i64 %.78.i.i.i.i, i64 %.71.i.i.i.i
  %.85.i.i.i.i = load i64, ptr %.84.i.i.i.i, align 1
  %.87.i.i.i.i = add i64 %.218.i.i.i.i.i, %.71.i.i.i.i
  %.89.i.i.i.i = add i64 %.87.i.i.i.i, %.85.i.i.i.i
  br i1 %.13.i.i.i.i, label %for.97.preheader.i.i.i.i, label %else.91.i.i.i.i

for.97.preheader.i.i.i.i:                         ; preds = %tensor_maps.swizzled.exit.i.i.i.i
  %.102104.i.i.i.i = icmp samesign ult i64 %.44.i.i.i.i, %.71.i.i.i.i
  br i1 %.102104.i.i.i.i, label %do.98.lr.ph.i.i.i.i, label %after.100.i.i.i.i

do.98.lr.ph.i.i.i.i:                              ; preds = %for.97.preheader.i.i.i.i
  %.112.i.i.i.i = sub i64 %.64.i.i.i.i, %.44.i.i.i.i
  br label %do.98.i.i.i.i

after.40.i.i.i.i:                                 ; preds = %after.92.i.i.i.i, %tensor_maps.row_place.exit.i.i.i.i
  %.230.i.i.i.i = add nuw i64 %.16.0111.i.i.i.i, 1
  %.22.i.i.i.i = icmp ult i64 %.230.i.i.i.i, %common.ret.op.i67.i.i.i.i
  br i1 %.22.i.i.i.i, label %do.18.i.i.i.i, label %after.7.i.i.i

else.91.i.i.i.i:                                  ; preds = %tensor_maps.swizzled.exit.i.i.i.i
  %.168.i.i.i.i = icmp samesign ugt i64 %spec.select.i.i.i.i, %.71.i.i.i.i
  br i1 %.168.i.i.i.i, label %then.164.i.i.i.i, label %after.92.i.i.i.i

after.92.i.i.i.i:                                 ; preds = %do.144.i.i.i.i, %then.212.i.i.i.i, %after.180.i.i.i.i, %after.119.i.i.i.i, %else.91.i.i.i.i
  %.228.i.i.i.i = add nuw nsw i64 %.36.0109.i.i.i.i, 1
  %.42.i.i.i.i = icmp samesign ult i64 %.228.i.i.i.i, %.3543.i.i.i.i
  br i1 %.42.i.i.i.i, label %do.38.i.i.i.i, label %after.40.i.i.i.i

do.98.i.i.i.i:                                    ; preds = %do.98.i.i.i.i, %do.98.lr.ph.i.i.i.i
  %.96.0105.i.i.i.i = phi i64 [ %.44.i.i.i.i, %do.98.lr.ph.i.i.i.i ], [ %.117.i.i.i.i, %do.98.i.i.i.i ]
  %.7.i55.i.i.i.i = load i64, ptr %.6.i.i.i.i.i.i.i, align 1
  %23 = and i64 %.7.i55.i.i.i.i, 32768
  %.7.i.i.i.i.i = icmp eq i64 %23, 0
  %.9.i.i.i.i.i = shl i64 %.96.0105.i.i.i.i, 3
  %.10.i.i.i.i.i = and i64 %.9.i.i.i.i.i, 8
  %.11.i.i.i.i.i = lshr i64 32759, %.10.i.i.i.i.i
  %24 = trunc i64 %.11.i.i.i.i.i to i8
  %.106.i.i.i.i = select i1 %.7.i.i.i.i.i, i8 0, i8 %24
  %.109.i.i.i.i = load ptr, ptr %.195.i.i.i.i, align 1
  %25 = getelementptr i8, ptr %.109.i.i.i.i, i64 %.112.i.i.i.i
  %.115.i.i.i.i = getelementptr i8, ptr %25, i64 %.96.0105.i.i.i.i
  store i8 %.106.i.i.i.i, ptr %.115.i.i.i.i, align 1
  %.117.i.i.i.i = add nuw nsw i64 %.96.0105.i.i.i.i, 1
  %.102.i.i.i.i = icmp samesign ult i64 %.117.i.i.i.i, %.71.i.i.i.i
  br i1 %.102.i.i.i.i, label %do.98.i.i.i.i, label %after.100.i.i.i.i

after.100.i.i.i.i:                                ; preds = %do.98.i.i.i.i, %for.97.preheader.i.i.i.i
  %.122.i.i.i.i = icmp samesign ugt i64 %spec.select.i.i.i.i, %.71.i.i.i.i
  br i1 %.122.i.i.i.i, label %then.118.i.i.i.i, label %after.119.i.i.i.i

then.118.i.i.i.i:                                 ; preds = %after.100.i.i.i.i
  %.125.i.i.i.i = load ptr, ptr %.195.i.i.i.i, align 1
  %.128.i.i.i.i = add i64 %.64.i.i.i.i, %.71.i.i.i.i
  %.130.i.i.i.i = sub i64 %.128.i.i.i.i, %.44.i.i.i.i
  %.131.i.i.i.i = getelementptr i8, ptr %.125.i.i.i.i, i64 %.130.i.i.i.i
  %.134.i.i.i.i = load ptr, ptr %.170.i.i.i.i, align 1
  %.136.i.i.i.i = getelementptr i8, ptr %.134.i.i.i.i, i64 %.89.i.i.i.i
  %.139.i.i.i.i = sub nuw nsw i64 %spec.select.i.i.i.i, %.71.i.i.i.i
  call void @llvm.memcpy.p0.p0.i64(ptr align 1 %.131.i.i.i.i, ptr align 1 %.136.i.i.i.i, i64 %.139.i.i.i.i, i1 false)
  br label %after.119.i.i.i.i

after.119.i.i.i.i:                                ; preds = %then.118.i.i.i.i, %after.100.i.i.i.i
  %.148106.i.i.i.i = icmp samesign ult i64 %spec.select.i.i.i.i, %.49.i.i.i.i
  br i1 %.148106.i.i.i.i, label %do.144.lr.ph.i.i.i.i, label %after.92.i.i.i.i

do.144.lr.ph.i.i.i.i:                             ; preds = %after.119.i.i.i.i
  %.158.i.i.i.i = sub i64 %.64.i.i.i.i, %.44.i.i.i.i
  br label %do.144.i.i.i.i

do.144.i.i.i.i:                                   ; preds = %do.144.i.i.i.i, %do.144.lr.ph.i.i.i.i
  %.142.0107.i.i.i.i = phi i64 [ %spec.select.i.i.i.i, %do.144.lr.ph.i.i.i.i ], [ %.163.i.i.i.i, %do.144.i.i.i.i ]
  %.7.i52.i.i.i.i = load i64, ptr %.6.i.i.i.i.i.i.i, align 1
  %26 = and i64 %.7.i52.i.i.i.i, 32768
  %.7.i45.i.i.i.i = icmp eq i64 %26, 0
  %.9.i46.i.i.i.i = shl i64 %.142.0107.i.i.i.i, 3
  %.10.i47.i.i.i.i = and i64 %.9.i46.i.i.i.i, 8
  %.11.i48.i.i.i.i = lshr i64 32759, %.10.i47.i.i.i.i
  %27 = trunc i64 %.11.i48.i.i.i.i to i8
  %.152.i.i.i.i = select i1 %.7.i45.i.i.i.i, i8 0, i8 %27
  %.155.i.i.i.i = load ptr, ptr %.195.i.i.i.i, align 1
  %28 = getelementptr i8, ptr %.155.i.i.i.i, i64 %.158.i.i.i.i
  %.161.i.i.i.i = getelementptr i8, ptr %28, i64 %.142.0107.i.i.i.i
  store i8 %.152.i.i.i.i, ptr %.161.i.i.i.i, align 1
  %.163.i.i.i.i = add nuw nsw i64 %.142.0107.i.i.i.i, 1
  %.148.i.i.i.i = icmp ult i64 %.163.i.i.i.i, %.49.i.i.i.i
  br i1 %.148.i.i.i.i, label %do.144.i.i.i.i, label %after.92.i.i.i.i

then.164.i.i.i.i:                                 ; preds = %else.91.i.i.i.i
  %.171.i.i.i.i = load ptr, ptr %.170.i.i.i.i, align 1
  %.174.i.i.i.i = add i64 %.64.i.i.i.i, %.71.i.i.i.i
  %.176.i.i.i.i = sub i64 %.174.i.i.i.i, %.44.i.i.i.i
  %.177.i.i.i.i = getelementptr i8, ptr %.171.i.i.i.i, i64 %.176.i.i.i.i
  %.182.i.i.i.i = load i32, ptr %.20.i111, align 1
  %.183.i.i.i.i = icmp eq i32 %.182.i.i.i.i, 4
  %.186.i.i.i.i = load ptr, ptr %.195.i.i.i.i, align 1
  %.188.i.i.i.i = getelementptr i8, ptr %.186.i.i.i.i, i64 %.89.i.i.i.i
  %.192.i.i.i.i = sub nuw nsw i64 %spec.select.i.i.i.i, %.71.i.i.i.i
  br i1 %.183.i.i.i.i, label %then.178.i.i.i.i, label %else.179.i.i.i.i

then.178.i.i.i.i:                                 ; preds = %then.164.i.i.i.i
  call void @llvm.memcpy.p0.p0.i64(ptr align 1 %.188.i.i.i.i, ptr align 1 %.177.i.i.i.i, i64 %.192.i.i.i.i, i1 false)
  br label %after.180.i.i.i.i

else.179.i.i.i.i:                                 ; preds = %then.164.i.i.i.i
  %.205.i.i.i.i = load i32, ptr %.204.i.i.i.i, align 1
  %.208.i.i.i.i = load i32, ptr %.207.i.i.i.i, align 1
  %.210.i.i.i.i = load ptr, ptr %.83.i.i.i, align 8
  %.211.i.i.i.i = call i32 %.210.i.i.i.i(ptr %context.given, ptr %.188.i.i.i.i, ptr %.177.i.i.i.i, i64 %.192.i.i.i.i, i32 %.205.i.i.i.i, i32 %.208.i.i.i.i) #3
  br label %after.180.i.i.i.i

after.180.i.i.i.i:                                ; preds = %else.179.i.i.i.i, %then.178.i.i.i.i
  %.216.i.i.i.i = load ptr, ptr %.215.i.i.i.i, align 1
  %.217.not.i.i.i.i = icmp eq ptr %.216.i.i.i.i, null
  br i1 %.217.not.i.i.i.i, label %after.92.i.i.i.i, label %then.212.i.i.i.i

then.212.i.i.i.i:                                 ; preds = %after.180.i.i.i.i
  %.222.i.i.i.i = getelementptr i8, ptr %.216.i.i.i.i, i64 %.89.i.i.i.i
  %.226.i.i.i.i = sub nsw i64 %spec.select.i.i.i.i, %.71.i.i.i.i
  call void @llvm.memset.p0.i64(ptr align 1 %.222.i.i.i.i, i8 -1, i64 %.226.i.i.i.i, i1 false)
  br label %after.92.i.i.i.i

then.61.i.i.i:                                    ; preds = %then.43.i.i.i
  %.79.i.i.i = add i32 %.66.i.i.i, -1
  %.81.i.i.i = getelementptr i8, ptr %.20.i111, i64 84
  %.82.i.i.i = load i32, ptr %.81.i.i.i, align 1
  %.84.i.i.i = load ptr, ptr %.83.i.i.i, align 8
  %.85.i.i.i = call i32 %.84.i.i.i(ptr %context.given, ptr %.88.i.i.i, ptr nonnull %.48.i.i.i, i64 %.92.i.i.i, i32 %.79.i.i.i, i32 %.82.i.i.i) #3
  br label %after.7.i.i.i

else.62.i.i.i:                                    ; preds = %then.43.i.i.i
  call void @llvm.memcpy.p0.p0.i64(ptr align 1 %.88.i.i.i, ptr nonnull align 64 %.48.i.i.i, i64 %.92.i.i.i, i1 false)
  br label %after.7.i.i.i

then.95.i.i.i:                                    ; preds = %after.7.i.i.i
  %.112.i.i.i = getelementptr i8, ptr %.20.i111, i64 24
  %.113.i.i.i = load i64, ptr %.112.i.i.i, align 1
  call void @llvm.memset.p0.i64(ptr nonnull align 1 %.100.i.i.i, i8 -1, i64 %.113.i.i.i, i1 false)
  br label %after.96.i.i.i

after.96.i.i.i:                                   ; preds = %then.95.i.i.i, %after.7.i.i.i
  %.118.i.i.i = load ptr, ptr %.6.i.i, align 1
  %.119.not.i.i.i = icmp eq ptr %.118.i.i.i, null
  br i1 %.119.not.i.i.i, label %bulk_copies.perform.exit.i.i, label %then.114.i.i.i

then.114.i.i.i:                                   ; preds = %after.96.i.i.i
  %.125.i.i.i = load i64, ptr %.118.i.i.i, align 1
  %29 = and i64 %.125.i.i.i, 6917529027641081856
  %.33.not.i.i.i.i = icmp eq i64 %29, 2305843009213693952
  br i1 %.33.not.i.i.i.i, label %after.29.i.i.i.i, label %mbarrier_words.operated.exit.i.i.i

after.29.i.i.i.i:                                 ; preds = %then.114.i.i.i
  %.127.i.i.i = getelementptr i8, ptr %.20.i111, i64 24
  %.128.i.i.i = load i64, ptr %.127.i.i.i, align 1
  %.65.i.i.i.i = lshr i64 %.125.i.i.i, 40
  %.66.i.i.i.i = and i64 %.65.i.i.i.i, 2097151
  %.70.i.i.i.i = icmp samesign ugt i64 %.66.i.i.i.i, 1048575
  %masksel.i.i.i.i = select i1 %.70.i.i.i.i, i64 -2097152, i64 0
  %spec.select.i6.i.i.i = or disjoint i64 %masksel.i.i.i.i, %.66.i.i.i.i
  %.76.i.i.i.i = sub i64 %spec.select.i6.i.i.i, %.128.i.i.i
  %30 = add i64 %.76.i.i.i.i, -1048576
  %.81.i.i.i.i = icmp ult i64 %30, -2097151
  br i1 %.81.i.i.i.i, label %mbarrier_words.operated.exit.i.i.i, label %after.78.i.i.i.i

after.78.i.i.i.i:                                 ; preds = %after.29.i.i.i.i
  %.62.i.i.i.i = lshr i64 %.125.i.i.i, 20
  %.60.i.i.i.i = and i64 %.125.i.i.i, 1048575
  %.88.i.i.i.i = and i64 %.76.i.i.i.i, 2097151
  %expected.0.i.i.i.i = and i64 %.62.i.i.i.i, 1048575
  %31 = or i64 %.88.i.i.i.i, %.60.i.i.i.i
  %or.cond1.i.i.i.i = icmp eq i64 %31, 0
  %32 = icmp slt i64 %.125.i.i.i, 0
  %33 = xor i1 %32, %or.cond1.i.i.i.i
  %spec.select12.i.i.i = select i1 %or.cond1.i.i.i.i, i64 %expected.0.i.i.i.i, i64 %.60.i.i.i.i
  %.134.i8.i.i.i = shl nuw nsw i64 %expected.0.i.i.i.i, 20
  %.136.i9.i.i.i = shl nuw nsw i64 %.88.i.i.i.i, 40
  %.137.i.i.i.i = or disjoint i64 %.136.i9.i.i.i, %.134.i8.i.i.i
  %.139.i10.i.i.i = select i1 %33, i64 -9223372036854775808, i64 0
  %.140.i.i.i.i = or disjoint i64 %.139.i10.i.i.i, %.137.i.i.i.i
  %.143.i.i.i.i = or disjoint i64 %.140.i.i.i.i, %spec.select12.i.i.i
  %.145.i.i.i.i = or disjoint i64 %.143.i.i.i.i, 2305843009213693952
  br label %mbarrier_words.operated.exit.i.i.i

mbarrier_words.operated.exit.i.i.i:               ; preds = %after.78.i.i.i.i, %after.29.i.i.i.i, %then.114.i.i.i
  %.125.pn.i.i.i = phi i64 [ %.125.i.i.i, %then.114.i.i.i ], [ %.145.i.i.i.i, %after.78.i.i.i.i ], [ %.125.i.i.i, %after.29.i.i.i.i ]
  store i64 %.125.pn.i.i.i, ptr %.118.i.i.i, align 1
  br label %bulk_copies.perform.exit.i.i

bulk_copies.perform.exit.i.i:                     ; preds = %mbarrier_words.operated.exit.i.i.i, %after.96.i.i.i
  store i32 0, ptr %.25.i, align 1
  call void @llvm.lifetime.end.p0(ptr nonnull %.48.i.i.i)
  %.20.i3.i = load i8, ptr %.19.i2.i, align 1
  %.21.not.i.i = icmp eq i8 %.20.i3.i, 0
  br i1 %.21.not.i.i, label %after.17.i.i, label %then.16.i.i

then.16.i.i:                                      ; preds = %bulk_copies.perform.exit.i.i
  %.27.i.i = load ptr, ptr %.26.i.i, align 8
  %.28.i.i = call i32 %.27.i.i(ptr %context.given, ptr nonnull %.72, ptr %.20.i111, i64 %before.0.i.i) #3
  br label %after.17.i.i

after.17.i.i:                                     ; preds = %then.16.i.i, %bulk_copies.perform.exit.i.i
  %.33.i.i = load i8, ptr %.32.i.i, align 1
  %.34.not.i.i = icmp eq i8 %.33.i.i, 0
  br i1 %.34.not.i.i, label %after.22.i, label %then.29.i.i

then.29.i.i:                                      ; preds = %after.17.i.i
  %.39.i.i = load ptr, ptr %.38.i.i, align 8
  %.40.i.i = call i32 %.39.i.i(ptr %context.given, ptr nonnull %.72, ptr %.20.i111) #3
  br label %after.22.i

after.22.i:                                       ; preds = %and.33.i, %and.28.i, %and.23.i, %then.29.i.i, %after.17.i.i, %do.10.i
  %.48.i = add nuw i64 %.8.05.i, 1
  %.14.i = icmp ult i64 %.48.i, %.7.i106
  br i1 %.14.i, label %do.10.i, label %after.12.i107

and.23.i:                                         ; preds = %do.10.i
  %.30.i = getelementptr i8, ptr %.20.i111, i64 16
  %.31.i = load i32, ptr %.30.i, align 1
  %.32.i = icmp eq i32 %.31.i, 0
  br i1 %.32.i, label %and.28.i, label %after.22.i

and.28.i:                                         ; preds = %and.23.i
  %.35.i113 = getelementptr i8, ptr %.20.i111, i64 64
  %.36.i = load i32, ptr %.35.i113, align 1
  %.38.i114 = icmp eq i32 %.36.i, %.93
  br i1 %.38.i114, label %and.33.i, label %after.22.i

and.33.i:                                         ; preds = %and.28.i
  %.40.i = getelementptr i8, ptr %.20.i111, i64 68
  %.41.i = load i32, ptr %.40.i, align 1
  %.43.i = icmp eq i32 %.41.i, %.95
  br i1 %.43.i, label %then.21.i, label %after.22.i

after.63:                                         ; preds = %and.6.i.i, %do.4.i.i, %after.12.i107, %and.67, %and.64, %after.49
  %.98 = load i64, ptr %.47, align 1
  %.102 = getelementptr i64, ptr %.3, i64 %.18
  store i64 %.98, ptr %.102, align 8
  %.105 = load i64, ptr %.47, align 1
  %.111 = getelementptr i64, ptr %xs.given, i64 %.18
  %.112 = load i64, ptr %.111, align 1
  %.116 = getelementptr i64, ptr %ys.given, i64 %.18
  %.117 = load i64, ptr %.116, align 1
  br i1 %.6.i115, label %then.3.i120, label %after.4.i116

then.3.i120:                                      ; preds = %after.63
  %34 = add i64 %.112, -1048576
  %or.cond.i121 = icmp ult i64 %34, -1048575
  br i1 %or.cond.i121, label %then.7.i, label %after.8.i122

after.4.i116:                                     ; preds = %after.63
  %35 = and i64 %.105, 6917529027641081856
  %.33.not.i = icmp eq i64 %35, 2305843009213693952
  br i1 %.33.not.i, label %after.29.i, label %then.28.i

then.7.i:                                         ; preds = %then.3.i120
  %.16.i125 = insertvalue { i32, i64, i64 } { i32 4, i64 undef, i64 undef }, i64 %.105, 1
  br label %mbarrier_words.operated.exit

after.8.i122:                                     ; preds = %then.3.i120
  %.22.i123 = mul nuw nsw i64 %.112, 1048577
  %.24.i = or disjoint i64 %.22.i123, 2305843009213693952
  %.25.i124 = insertvalue { i32, i64, i64 } { i32 0, i64 undef, i64 undef }, i64 %.24.i, 1
  br label %mbarrier_words.operated.exit

then.28.i:                                        ; preds = %after.4.i116
  %.36.i117 = insertvalue { i32, i64, i64 } { i32 1, i64 undef, i64 undef }, i64 %.105, 1
  br label %mbarrier_words.operated.exit

after.29.i:                                       ; preds = %after.4.i116
  switch i32 %action.given, label %after.48.i [
    i32 1, label %mbarrier_words.operated.exit
    i32 3, label %then.47.i
  ]

then.47.i:                                        ; preds = %after.29.i
  %.53.i = insertvalue { i32, i64, i64 } { i32 0, i64 undef, i64 undef }, i64 %.105, 1
  %.5.i.i = xor i64 %.112, %.105
  %.5.i.lobit.i = lshr i64 %.5.i.i, 63
  br label %mbarrier_words.operated.exit

after.48.i:                                       ; preds = %after.29.i
  %.60.i = and i64 %.105, 1048575
  %.62.i = lshr i64 %.105, 20
  %.65.i = lshr i64 %.105, 40
  %.66.i = and i64 %.65.i, 2097151
  %.70.i = icmp samesign ugt i64 %.66.i, 1048575
  %masksel.i = select i1 %.70.i, i64 -2097152, i64 0
  %spec.select.i119 = or disjoint i64 %masksel.i, %.66.i
  %.76.i = add i64 %spec.select.i119, %.117
  %36 = add i64 %.76.i, -1048576
  %.81.i = icmp ult i64 %36, -2097151
  br i1 %.81.i, label %then.77.i, label %after.78.i

then.77.i:                                        ; preds = %after.48.i
  %.84.i = insertvalue { i32, i64, i64 } { i32 5, i64 undef, i64 undef }, i64 %.105, 1
  br label %mbarrier_words.operated.exit

after.78.i:                                       ; preds = %after.48.i
  %.88.i = and i64 %.76.i, 2097151
  %.90.i = lshr i64 %.105, 63
  %.95.i = icmp ugt i64 %.112, %.60.i
  br i1 %.95.i, label %then.91.i, label %after.92.i

then.91.i:                                        ; preds = %after.78.i
  %.98.i = insertvalue { i32, i64, i64 } { i32 2, i64 undef, i64 undef }, i64 %.105, 1
  br label %mbarrier_words.operated.exit

after.92.i:                                       ; preds = %after.78.i
  %.103.i = sub nuw nsw i64 %.60.i, %.112
  %.111.i = select i1 %.108.not.i, i64 0, i64 %.112
  %spec.select42.i = sub nsw i64 %.62.i, %.111.i
  %expected.0.i = and i64 %spec.select42.i, 1048575
  %37 = or i64 %.88.i, %.103.i
  %or.cond1.i = icmp eq i64 %37, 0
  br i1 %or.cond1.i, label %then.113.i, label %after.114.i

then.113.i:                                       ; preds = %after.92.i
  br i1 %.124.not.i, label %after.121.i, label %then.120.i

after.114.i:                                      ; preds = %after.121.i, %after.92.i
  %parity.0.i = phi i64 [ %.132.i, %after.121.i ], [ %.90.i, %after.92.i ]
  %pending.0.i = phi i64 [ %expected.0.i, %after.121.i ], [ %.103.i, %after.92.i ]
  %.134.i = shl nuw nsw i64 %expected.0.i, 20
  %.136.i = shl nuw nsw i64 %.88.i, 40
  %.137.i = or disjoint i64 %.136.i, %.134.i
  %.139.i = shl nuw i64 %parity.0.i, 63
  %.140.i = or disjoint i64 %.139.i, %.137.i
  %.143.i = or i64 %pending.0.i, %.140.i
  %.145.i = or i64 %.143.i, 2305843009213693952
  %.146.i = insertvalue { i32, i64, i64 } { i32 0, i64 undef, i64 undef }, i64 %.145.i, 1
  br label %mbarrier_words.operated.exit

then.120.i:                                       ; preds = %then.113.i
  %.127.i = insertvalue { i32, i64, i64 } { i32 3, i64 undef, i64 undef }, i64 %.105, 1
  br label %mbarrier_words.operated.exit

after.121.i:                                      ; preds = %then.113.i
  %.132.i = xor i64 %.90.i, 1
  br label %after.114.i

mbarrier_words.operated.exit:                     ; preds = %then.7.i, %after.8.i122, %then.28.i, %after.29.i, %then.47.i, %then.77.i, %then.91.i, %after.114.i, %then.120.i
  %.16.pn.i = phi { i32, i64, i64 } [ %.16.i125, %then.7.i ], [ %.25.i124, %after.8.i122 ], [ %.36.i117, %then.28.i ], [ %.127.i, %then.120.i ], [ %.53.i, %then.47.i ], [ %.84.i, %then.77.i ], [ %.98.i, %then.91.i ], [ %.146.i, %after.114.i ], [ { i32 0, i64 0, i64 undef }, %after.29.i ]
  %word.given.pn.i = phi i64 [ %.105, %then.7.i ], [ %.105, %after.8.i122 ], [ %.105, %then.28.i ], [ %.105, %then.120.i ], [ %.5.i.lobit.i, %then.47.i ], [ %.105, %then.77.i ], [ %.105, %then.91.i ], [ %.105, %after.114.i ], [ %.105, %after.29.i ]
  %.119 = extractvalue { i32, i64, i64 } %.16.pn.i, 0
  %.120 = extractvalue { i32, i64, i64 } %.16.pn.i, 1
  %.125 = getelementptr i64, ptr %.4, i64 %.18
  store i64 %.120, ptr %.125, align 8
  %.129 = getelementptr i64, ptr %results.given, i64 %.18
  store i64 %word.given.pn.i, ptr %.129, align 1
  %.133.not = icmp eq i32 %.119, 0
  br i1 %.133.not, label %after.131, label %then.130

and.64:                                           ; preds = %after.49
  %.70 = load ptr, ptr %.69, align 1
  %.71 = getelementptr i8, ptr %.70, i64 24
  %.72 = load ptr, ptr %.71, align 1
  %.73.not = icmp eq ptr %.72, null
  br i1 %.73.not, label %after.63, label %and.67

and.67:                                           ; preds = %and.64
  %.76 = load i64, ptr %.47, align 1
  %.80 = getelementptr i64, ptr %xs.given, i64 %.18
  %.81 = load i64, ptr %.80, align 1
  %.5.i = xor i64 %.81, %.76
  %.7.i84 = icmp slt i64 %.5.i, 0
  br i1 %.7.i84, label %after.63, label %then.62

then.130:                                         ; preds = %mbarrier_words.operated.exit
  %.137.not = icmp eq ptr %block.given, null
  br i1 %.137.not, label %after.135, label %then.134

after.131:                                        ; preds = %mbarrier_words.operated.exit
  store i64 %.120, ptr %.47, align 1
  br i1 %.66, label %then.169, label %after.170

then.134:                                         ; preds = %then.130
  %.141 = getelementptr i8, ptr %warp.given, i64 200
  %.142 = load i32, ptr %.141, align 1
  %.153 = getelementptr i8, ptr %context.given, i64 360
  %.154 = load ptr, ptr %.153, align 8
  %.155 = call i32 %.154(ptr %context.given, ptr nonnull %block.given, i32 %.142, i32 %done.0193, i32 %code.given, i32 %action.given, i32 %flags.given, i32 %.12, i32 %.119, ptr %addresses.given, ptr %xs.given, ptr nonnull %.3, ptr nonnull %.4) #3
  br label %after.135

after.135:                                        ; preds = %then.134, %then.130
  %.161 = zext nneg i32 %.119 to i64
  call void @record(ptr %context.given, ptr %warp.given, i32 11, i32 %code.given, i32 %.12, i64 %.161) #3
  br label %common.ret

then.169:                                         ; preds = %after.131
  %.180 = load i64, ptr %.129, align 1
  %.181.not = icmp eq i64 %.180, 0
  br i1 %.181.not, label %else.174, label %then.173

after.170:                                        ; preds = %or.13.i, %after.12.i, %then.173, %else.174, %then.193, %after.131
  %ended.1 = phi i32 [ %ended.0191, %after.131 ], [ %ended.0191, %then.193 ], [ %ended.0191, %else.174 ], [ %38, %after.12.i ], [ %ended.0191, %or.13.i ], [ %ended.0191, %then.173 ]
  %failed.1 = phi i32 [ %failed.0192, %after.131 ], [ %.203, %then.193 ], [ %failed.0192, %else.174 ], [ %failed.0192, %after.12.i ], [ %failed.0192, %or.13.i ], [ %failed.0192, %then.173 ]
  %.237 = shl nuw i32 1, %.12
  %.239 = or i32 %done.0193, %.237
  %.11.not.not = icmp eq i32 %.14, 0
  br i1 %.11.not.not, label %after.9.loopexit, label %do.8

then.173:                                         ; preds = %then.169
  %.5.i85 = load i32, ptr %.4.i, align 1
  %.8.i = shl nuw i32 1, %.12
  %.10.i87 = and i32 %.5.i85, %.8.i
  %.18.i = getelementptr i64, ptr %.15.i88, i64 %.18
  %.19.i = load i64, ptr %.18.i, align 1
  %.21.not.i = icmp eq i64 %.19.i, %.15.i
  br i1 %.21.not.i, label %or.13.i, label %after.170

after.12.i:                                       ; preds = %or.13.i
  %.35.i = xor i32 %.10.i87, %.5.i85
  store i32 %.35.i, ptr %.4.i, align 1
  %38 = or i32 %.10.i87, %ended.0191
  br label %after.170

or.13.i:                                          ; preds = %then.173
  %.190 = load i64, ptr %.111, align 1
  %.26.i = getelementptr i64, ptr %.23.i, i64 %.18
  %.27.i = load i64, ptr %.26.i, align 1
  %.29.not.i = icmp eq i64 %.27.i, %.190
  br i1 %.29.not.i, label %after.12.i, label %after.170

else.174:                                         ; preds = %then.169
  br i1 %.197.not, label %after.170, label %then.193

then.193:                                         ; preds = %else.174
  %.201 = shl nuw i32 1, %.12
  %.203 = or i32 %failed.0192, %.201
  %.206 = load i32, ptr %.205, align 1
  %.211 = or i32 %.206, %.201
  store i32 %.211, ptr %.205, align 1
  %.217 = getelementptr i64, ptr %.214, i64 %.18
  store i64 %.15.i, ptr %.217, align 1
  %.222 = load i64, ptr %.111, align 1
  %.227 = getelementptr i64, ptr %.224, i64 %.18
  store i64 %.222, ptr %.227, align 1
  %.233 = getelementptr i32, ptr %.230, i64 %.18
  store i32 %code.given, ptr %.233, align 1
  br label %after.170

then.240:                                         ; preds = %after.9
  %.253.not = icmp ne i32 %mask.given, 0
  %or.cond56 = select i1 %.253.not, i1 %failed.0.lcssa, i1 false
  %.262 = getelementptr i8, ptr %warp.given, i64 136
  %.263 = load i32, ptr %.262, align 1
  %.264.not = icmp ne i32 %.263, 0
  %or.cond1 = select i1 %or.cond56, i1 true, i1 %ended.0.lcssa
  %or.cond57 = select i1 %.264.not, i1 %or.cond1, i1 false
  br i1 %or.cond57, label %then.258, label %after.259

after.241:                                        ; preds = %and.5.i, %then.3.i100, %then.283, %after.259, %after.9
  %.291.not = icmp eq ptr %block.given, null
  br i1 %.291.not, label %common.ret, label %and.289

then.258:                                         ; preds = %then.240
  %.270 = getelementptr i8, ptr %warp.given, i64 144
  br i1 %or.cond56, label %and.276, label %and.18.i

after.259.sink.split:                             ; preds = %then.3.i92, %then.16.i
  %.sink = phi i32 [ 0, %then.16.i ], [ %.15.i94, %then.3.i92 ]
  store i32 %.sink, ptr %.270, align 1
  br label %after.259

after.259:                                        ; preds = %after.27.i, %after.259.sink.split, %and.276, %and.18.i, %then.240
  br i1 %or.cond56, label %then.283, label %after.241

then.3.i92:                                       ; preds = %or.61.i, %and.47.i
  %.10.i93 = load i32, ptr %.270, align 1
  %.15.i94 = call i32 @llvm.usub.sat.i32(i32 %.10.i93, i32 255)
  br label %after.259.sink.split

then.16.i:                                        ; preds = %and.18.i
  %.27.i91 = add nuw nsw i32 %.22.i, 1
  store i32 %.27.i91, ptr %.21.i, align 1
  br label %after.259.sink.split

and.18.i:                                         ; preds = %then.258
  %.21.i = getelementptr i8, ptr %warp.given, i64 156
  %.22.i = load i32, ptr %.21.i, align 1
  %.23.i90 = icmp ult i32 %.22.i, 65536
  br i1 %.23.i90, label %then.16.i, label %after.259

and.276:                                          ; preds = %then.258
  %.4.i126 = getelementptr i8, ptr %cta.given, i64 72
  %.5.i127 = load ptr, ptr %.4.i126, align 1
  %.7.i128 = getelementptr i8, ptr %.5.i127, i64 8
  %.8.i129 = load i64, ptr %.7.i128, align 1
  %.1510.not.i = icmp eq i64 %.8.i129, 0
  br i1 %.1510.not.i, label %after.259, label %do.11.lr.ph.i

do.11.lr.ph.i:                                    ; preds = %and.276
  %.17.i = getelementptr i8, ptr %context.given, i64 264
  %.18.i130 = load ptr, ptr %.17.i, align 1
  %.20.i131 = load i64, ptr %.5.i127, align 1
  %.32.i132 = getelementptr i8, ptr %context.given, i64 184
  %.8.i.i = getelementptr i8, ptr %context.given, i64 192
  %.64.i = getelementptr i8, ptr %cta.given, i64 80
  %.70.i133 = getelementptr i8, ptr %warp.given, i64 200
  br label %do.11.i

do.11.i:                                          ; preds = %after.27.i, %do.11.lr.ph.i
  %.9.011.i = phi i64 [ 0, %do.11.lr.ph.i ], [ %.77.i, %after.27.i ]
  %.22.i134 = add i64 %.9.011.i, %.20.i131
  %.23.i135 = shl i64 %.22.i134, 3
  %.24.i136 = getelementptr i8, ptr %.18.i130, i64 %.23.i135
  %.25.i137 = load ptr, ptr %.24.i136, align 1
  %.29.i138 = load i32, ptr %.25.i137, align 1
  %.30.not.i = icmp eq i32 %.29.i138, 0
  br i1 %.30.not.i, label %after.27.i, label %then.26.i

then.26.i:                                        ; preds = %do.11.i
  %.33.i = load i64, ptr %.32.i132, align 1
  %.408.not.i = icmp eq i64 %.33.i, 0
  br i1 %.408.not.i, label %after.27.i, label %do.36.lr.ph.i

do.36.lr.ph.i:                                    ; preds = %then.26.i
  %.4.i.i = getelementptr i8, ptr %.25.i137, i64 40
  %.5.i.i139 = load ptr, ptr %.4.i.i, align 1
  %.9.i.i = load i64, ptr %.8.i.i, align 1
  br label %do.36.i

after.27.i:                                       ; preds = %after.46.i, %then.26.i, %do.11.i
  %.77.i = add nuw i64 %.9.011.i, 1
  %.15.i148 = icmp ult i64 %.77.i, %.8.i129
  br i1 %.15.i148, label %do.11.i, label %after.259

do.36.i:                                          ; preds = %after.46.i, %do.36.lr.ph.i
  %.34.09.i = phi i64 [ 0, %do.36.lr.ph.i ], [ %.75.i, %after.46.i ]
  %.10.i.i = mul i64 %.34.09.i, %.9.i.i
  %.11.i.i140 = getelementptr i8, ptr %.5.i.i139, i64 %.10.i.i
  %.49.i = getelementptr i8, ptr %.11.i.i140, i64 128
  %.50.i141 = load i32, ptr %.49.i, align 1
  %.52.i142 = getelementptr i8, ptr %.11.i.i140, i64 132
  %.53.i143 = load i32, ptr %.52.i142, align 1
  %.55.i = getelementptr i8, ptr %.11.i.i140, i64 184
  %.56.i = load i32, ptr %.55.i, align 1
  %.57.i144 = or i32 %.56.i, %.53.i143
  %.58.i = xor i32 %.57.i144, -1
  %.59.i = and i32 %.50.i141, %.58.i
  %.60.not.i = icmp eq i32 %.59.i, 0
  br i1 %.60.not.i, label %after.46.i, label %and.47.i

after.46.i:                                       ; preds = %or.61.i, %do.36.i
  %.75.i = add nuw i64 %.34.09.i, 1
  %.40.i147 = icmp ult i64 %.75.i, %.33.i
  br i1 %.40.i147, label %do.36.i, label %after.27.i

and.47.i:                                         ; preds = %do.36.i
  %.65.i145 = load i32, ptr %.64.i, align 1
  %.66.i146 = zext i32 %.65.i145 to i64
  %.67.not.i = icmp eq i64 %.9.011.i, %.66.i146
  br i1 %.67.not.i, label %or.61.i, label %then.3.i92

or.61.i:                                          ; preds = %and.47.i
  %.71.i = load i32, ptr %.70.i133, align 1
  %.72.i = zext i32 %.71.i to i64
  %.73.not.i = icmp eq i64 %.34.09.i, %.72.i
  br i1 %.73.not.i, label %after.46.i, label %then.3.i92

then.283:                                         ; preds = %after.259
  %.7.i95 = getelementptr i8, ptr %context.given, i64 128
  %.8.i96 = load i64, ptr %.7.i95, align 1
  %.9.i = icmp sgt i64 %.8.i96, -1
  br i1 %.9.i, label %and.5.i, label %after.241

then.3.i100:                                      ; preds = %and.5.i
  %.15.i101 = getelementptr i8, ptr %context.given, i64 152
  %.16.i = load i64, ptr %.15.i101, align 1
  %.20.i102 = add nuw i64 %.8.i96, 1
  %.21.i103 = add i64 %.20.i102, %.16.i
  store i64 %.21.i103, ptr %.15.i101, align 1
  store i64 -1, ptr %.7.i95, align 1
  br label %after.241

and.5.i:                                          ; preds = %then.283
  %.11.i98 = getelementptr i8, ptr %context.given, i64 328
  %.12.i99 = load i64, ptr %.11.i98, align 1
  %.13.i = icmp eq i64 %.12.i99, 0
  br i1 %.13.i, label %then.3.i100, label %after.241

then.287:                                         ; preds = %do.16.i, %mbarriers.worth_telling.exit
  %.305 = load i32, ptr %.294, align 1
  %.314 = getelementptr i8, ptr %context.given, i64 360
  %.315 = load ptr, ptr %.314, align 8
  %.316 = call i32 %.315(ptr %context.given, ptr nonnull %block.given, i32 %.305, i32 %mask.given, i32 %code.given, i32 %action.given, i32 %flags.given, i32 0, i32 0, ptr %addresses.given, ptr %xs.given, ptr nonnull %.3, ptr nonnull %.4) #3
  br label %common.ret

and.289:                                          ; preds = %after.241
  %.294 = getelementptr i8, ptr %warp.given, i64 200
  %.295 = load i32, ptr %.294, align 1
  %.6.not.i = icmp eq i32 %action.given, 3
  br i1 %.6.not.i, label %lanes.15.i, label %then.3.i149

then.3.i149:                                      ; preds = %and.289
  %.8.i150 = getelementptr i8, ptr %block.given, i64 41472
  %.9.i151 = load i64, ptr %.8.i150, align 1
  %.10.i152 = add i64 %.9.i151, 1
  store i64 %.10.i152, ptr %.8.i150, align 1
  %.12.i153 = icmp ne i32 %mask.given, 0
  br label %mbarriers.worth_telling.exit

lanes.15.i:                                       ; preds = %and.289, %do.16.i
  %.13.0.i = phi i32 [ %.22.i157, %do.16.i ], [ %mask.given, %and.289 ]
  %.19.not.i = icmp eq i32 %.13.0.i, 0
  br i1 %.19.not.i, label %after.17.i162, label %do.16.i

do.16.i:                                          ; preds = %lanes.15.i
  %.20.i155 = call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.13.0.i, i1 true)
  %.21.i156 = add i32 %.13.0.i, -1
  %.22.i157 = and i32 %.21.i156, %.13.0.i
  %.27.i158 = zext nneg i32 %.20.i155 to i64
  %.28.i159 = getelementptr i64, ptr %results.given, i64 %.27.i158
  %.29.i160 = load i64, ptr %.28.i159, align 1
  %.30.not.i161 = icmp eq i64 %.29.i160, 0
  br i1 %.30.not.i161, label %lanes.15.i, label %then.287

after.17.i162:                                    ; preds = %lanes.15.i
  %.32.i163 = getelementptr i8, ptr %block.given, i64 41472
  %.33.i164 = load i64, ptr %.32.i163, align 1
  %.34.i = mul i64 %.33.i164, -7046029254386353131
  %.36.i165 = zext i32 %code.given to i64
  %.37.i166 = shl nuw i64 %.36.i165, 32
  %.39.i = zext i32 %mask.given to i64
  %.40.i167 = or disjoint i64 %.37.i166, %.39.i
  %.41.i168 = xor i64 %.34.i, %.40.i167
  %.43.i169 = getelementptr i8, ptr %block.given, i64 34376
  %.45.i = zext i32 %.295 to i64
  %.48.idx.i = shl nuw nsw i64 %.45.i, 4
  %.48.i170 = getelementptr i8, ptr %.43.i169, i64 %.48.idx.i
  %.49.i171 = load i64, ptr %.48.i170, align 1
  %.51.i = icmp eq i64 %.49.i171, %.41.i168
  store i64 %.41.i168, ptr %.48.i170, align 1
  br i1 %.51.i, label %yes.60.i, label %chosen.62.i

yes.60.i:                                         ; preds = %after.17.i162
  %.70.i174 = getelementptr i8, ptr %.48.i170, i64 8
  %.71.i175 = load i64, ptr %.70.i174, align 1
  %.72.i176 = add i64 %.71.i175, 1
  br label %chosen.62.i

chosen.62.i:                                      ; preds = %yes.60.i, %after.17.i162
  %.73.i = phi i64 [ %.72.i176, %yes.60.i ], [ 0, %after.17.i162 ]
  %.80.i = getelementptr i8, ptr %.48.i170, i64 8
  store i64 %.73.i, ptr %.80.i, align 1
  %.86.not.i = icmp ne i32 %mask.given, 0
  %.95.i172 = and i64 %.73.i, 255
  %.96.i = icmp eq i64 %.95.i172, 0
  %or.cond.i173 = select i1 %.86.not.i, i1 %.96.i, i1 false
  br label %mbarriers.worth_telling.exit

mbarriers.worth_telling.exit:                     ; preds = %then.3.i149, %chosen.62.i
  %common.ret.op.i154 = phi i1 [ %.12.i153, %then.3.i149 ], [ %or.cond.i173, %chosen.62.i ]
  br i1 %common.ret.op.i154, label %then.287, label %common.ret
}

declare ptr @resolve(ptr, ptr, ptr, i32, i64, i64, i64, i32, i32, ptr) local_unnamed_addr

declare void @record(ptr, ptr, i32, i32, i32, i64) local_unnamed_addr

declare i32 @llvm.usub.sat.i32(i32, i32) #4

declare i64 @llvm.umin.i64(i64, i64) #4

declare i64 @llvm.umax.i64(i64, i64) #4

declare i64 @llvm.smin.i64(i64, i64) #4

declare void @llvm.lifetime.start.p0(ptr captures(none)) #5

declare void @llvm.lifetime.end.p0(ptr captures(none)) #5

attributes #0 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #1 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: readwrite) }
attributes #3 = { nounwind }
attributes #4 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #5 = { nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
