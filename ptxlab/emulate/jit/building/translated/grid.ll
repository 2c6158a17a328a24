; [["grid", "scheduling_rounds.end_alike", "scheduling_rounds.begin_in_place", "scheduling_rounds.followers", "scheduling_rounds.follows", "scheduling_rounds.have_followed", "scheduling_rounds.leave_round", "scheduling_rounds.leave_segment", "lane_scheduling.count_ends"], [["Context.bulk_copies", false], ["Context.mbarriers", false], ["Context.cluster_barriers", false], ["Context.warpgroup_products", false], ["Context.checked", false], ["Context.traced", false]], "0.50"]
; jit/translation/__init__.py jit/translation/conversions.py jit/translation/distinct_values.py jit/translation/expressions.py jit/translation/folding.py jit/translation/intrinsics.py jit/translation/ir.py jit/translation/rule_calls.py jit/translation/translator.py jit/translation/value_kinds.py language/__init__.py language/records.py language/rules.py language/types.py language/vectors.py rules/block_start.py rules/clusters.py rules/lane_scheduling.py rules/memcheck.py rules/scheduling.py rules/scheduling_rounds.py runtime/state.py
; 09665ab747c9201d273483f24b46e7bc9b0a6d403d89be7bb02819694a0fc54d aa4fee833755828a7e53a0c2f6aeb2288997aecee5c200a1b68c44758365aa97
source_filename = "<string>"

declare i32 @llvm.cttz.i32(i32, i1 immarg) #0

declare void @llvm.memset.p0.i64(ptr writeonly captures(none), i8, i64, i1 immarg) #1

define range(i32 0, 9) i32 @grid(ptr %context.given) local_unnamed_addr #2 {
entry.1:
  %.9 = getelementptr i8, ptr %context.given, i64 144
  %.19 = getelementptr i8, ptr %context.given, i64 256
  %.26 = getelementptr i8, ptr %context.given, i64 8
  %.34 = getelementptr i8, ptr %context.given, i64 168
  %.4.i.i = getelementptr i8, ptr %context.given, i64 88
  %.14.i.i = getelementptr i8, ptr %context.given, i64 80
  %.5.i = getelementptr i8, ptr %context.given, i64 272
  %.15.i = getelementptr i8, ptr %context.given, i64 280
  %.27.i29 = getelementptr i8, ptr %context.given, i64 264
  %.6.i = getelementptr i8, ptr %context.given, i64 419
  %.22.i = getelementptr i8, ptr %context.given, i64 40
  %.25.i = getelementptr i8, ptr %context.given, i64 48
  %.11.i15 = getelementptr i8, ptr %context.given, i64 56
  %.16.i17 = getelementptr i8, ptr %context.given, i64 32
  %.57 = getelementptr i8, ptr %context.given, i64 32
  %.4.i.i72 = getelementptr i8, ptr %context.given, i64 88
  %.14.i.i76 = getelementptr i8, ptr %context.given, i64 80
  %.5.i86 = getelementptr i8, ptr %context.given, i64 272
  %.15.i90 = getelementptr i8, ptr %context.given, i64 280
  %.27.i93 = getelementptr i8, ptr %context.given, i64 264
  %.7.i36 = getelementptr i8, ptr %context.given, i64 208
  %.4.i.i42 = getelementptr i8, ptr %context.given, i64 216
  %.7.i.i43 = getelementptr i8, ptr %context.given, i64 240
  %.12.i.i44 = getelementptr i8, ptr %context.given, i64 220
  %.15.i.i45 = getelementptr i8, ptr %context.given, i64 244
  %.62.i.i = getelementptr i8, ptr %context.given, i64 248
  %.46.i46 = getelementptr i8, ptr %context.given, i64 264
  %.10.i7 = getelementptr i8, ptr %context.given, i64 184
  %.16.i = getelementptr i8, ptr %context.given, i64 200
  %.8.i10.i = getelementptr i8, ptr %context.given, i64 192
  %.56.i = getelementptr i8, ptr %context.given, i64 128
  %.97.i = getelementptr i8, ptr %context.given, i64 160
  %.4.i65.i = getelementptr i8, ptr %context.given, i64 152
  %.8.i67.i = getelementptr i8, ptr %context.given, i64 136
  %.26.i72.i = getelementptr i8, ptr %context.given, i64 320
  %.33.i75.i = getelementptr i8, ptr %context.given, i64 16
  %.68.i.i = getelementptr i8, ptr %context.given, i64 8
  %.84.i.i = getelementptr i8, ptr %context.given, i64 272
  %.4.i.i.i.i = getelementptr i8, ptr %context.given, i64 88
  %.14.i.i.i.i = getelementptr i8, ptr %context.given, i64 80
  %.15.i9.i.i = getelementptr i8, ptr %context.given, i64 280
  %.27.i.i.i = getelementptr i8, ptr %context.given, i64 264
  %.103.i.i = getelementptr i8, ptr %context.given, i64 296
  %.109.i.i = getelementptr i8, ptr %context.given, i64 328
  %.131.i.i = getelementptr i8, ptr %context.given, i64 304
  %.140.i.i = getelementptr i8, ptr %context.given, i64 32
  %.149.i.i = getelementptr i8, ptr %context.given, i64 288
  %.5.i4.i.i = getelementptr i8, ptr %context.given, i64 432
  %.9.i5.i.i = getelementptr i8, ptr %context.given, i64 436
  %.13.i6.i.i = getelementptr i8, ptr %context.given, i64 440
  %.19.i.i.i = getelementptr i8, ptr %context.given, i64 444
  %.23.i.i.i = getelementptr i8, ptr %context.given, i64 448
  %.9.i36.i = getelementptr i8, ptr %context.given, i64 112
  %.25.i.i = getelementptr i8, ptr %context.given, i64 96
  %.29.i41.i = getelementptr i8, ptr %context.given, i64 120
  %.8.i6.i = getelementptr i8, ptr %context.given, i64 192
  %.36.i126 = getelementptr i8, ptr %context.given, i64 312
  %.4.i10.i = getelementptr i8, ptr %context.given, i64 88
  %.14.i.i131 = getelementptr i8, ptr %context.given, i64 80
  %.8.i.i.i = getelementptr i8, ptr %context.given, i64 192
  %.64.i = getelementptr i8, ptr %context.given, i64 264
  %.8.i.i113.i = getelementptr i8, ptr %context.given, i64 192
  %.8.i60.i = getelementptr i8, ptr %context.given, i64 328
  %.34.i68.i = getelementptr i8, ptr %context.given, i64 200
  %.4.i.i92.i = getelementptr i8, ptr %context.given, i64 88
  %.14.i.i.i176 = getelementptr i8, ptr %context.given, i64 80
  %.5.i96.i = getelementptr i8, ptr %context.given, i64 272
  %.15.i97.i = getelementptr i8, ptr %context.given, i64 280
  %.17.i32.i = getelementptr i8, ptr %context.given, i64 264
  %.8.i.i36.i = getelementptr i8, ptr %context.given, i64 192
  %.102.i = getelementptr i8, ptr %context.given, i64 280
  %.5.i53.i = getelementptr i8, ptr %context.given, i64 432
  %.9.i54.i = getelementptr i8, ptr %context.given, i64 436
  %.13.i55.i = getelementptr i8, ptr %context.given, i64 440
  %.19.i57.i = getelementptr i8, ptr %context.given, i64 444
  %.23.i58.i = getelementptr i8, ptr %context.given, i64 448
  %.8.i17.i = getelementptr i8, ptr %context.given, i64 328
  %.34.i.i182 = getelementptr i8, ptr %context.given, i64 200
  br label %while.3

while.3:                                          ; preds = %after.79, %entry.1
  %.10 = load i64, ptr %.9, align 1
  %.11 = icmp slt i64 %.10, 1
  br i1 %.11, label %common.ret, label %after.7

common.ret:                                       ; preds = %forget.exit.i85, %then.16, %while.3, %for.8.i110, %then.87, %then.94, %then.31
  %common.ret.op = phi i32 [ %outcome.0, %then.87 ], [ 1, %then.94 ], [ 5, %then.31 ], [ 0, %for.8.i110 ], [ 2, %then.16 ], [ 0, %forget.exit.i85 ], [ 8, %while.3 ]
  ret i32 %common.ret.op

after.7:                                          ; preds = %while.3
  %.15 = add nsw i64 %.10, -1
  store i64 %.15, ptr %.9, align 1
  %.20 = load ptr, ptr %.19, align 1
  %.21 = load i32, ptr %.20, align 1
  %.22 = icmp eq i32 %.21, 0
  br i1 %.22, label %then.16, label %after.17

then.16:                                          ; preds = %after.7
  %.27 = load ptr, ptr %.26, align 1
  %.29 = load i32, ptr %.27, align 1
  %.30.not = icmp eq i32 %.29, 0
  br i1 %.30.not, label %after.24, label %common.ret

after.17.sink.split:                              ; preds = %then.24.i, %then.24.i104
  %.44.i107.sink.in = phi ptr [ %.31.i100.le, %then.24.i104 ], [ %.31.i32.le, %then.24.i ]
  %.44.i107.sink = load ptr, ptr %.44.i107.sink.in, align 1
  store ptr %.44.i107.sink, ptr %.19, align 1
  br label %after.17

after.17:                                         ; preds = %for.8.i, %chosen.33.i, %after.17.sink.split, %after.5.i, %forget.exit.i, %after.7
  %.76 = load ptr, ptr %.19, align 1
  %.7.i6 = getelementptr i8, ptr %.76, i64 48
  %.891.i = load i64, ptr %.7.i6, align 1
  %.1192.i = load i64, ptr %.10.i7, align 1
  %.1293.i = icmp ult i64 %.891.i, %.1192.i
  br i1 %.1293.i, label %do.4.lr.ph.i, label %scheduling.take_turns.exit

do.4.lr.ph.i:                                     ; preds = %after.17
  %.4.i8.i = getelementptr i8, ptr %.76, i64 40
  %.145.i = getelementptr i8, ptr %.76, i64 84
  %.35.i61.i = getelementptr i8, ptr %.76, i64 192
  %.5.i19.i = getelementptr i8, ptr %.76, i64 128
  br label %do.4.i

do.4.i:                                           ; preds = %while.3.backedge.i, %do.4.lr.ph.i
  %.894.i = phi i64 [ %.891.i, %do.4.lr.ph.i ], [ %.8.i, %while.3.backedge.i ]
  %.17.i = load ptr, ptr %.16.i, align 1
  %.21.i = getelementptr i32, ptr %.17.i, i64 %.894.i
  %.22.i9 = load i32, ptr %.21.i, align 1
  %.23.i10 = zext i32 %.22.i9 to i64
  %.5.i9.i = load ptr, ptr %.4.i8.i, align 1
  %.9.i11.i = load i64, ptr %.8.i10.i, align 1
  %.10.i12.i = mul i64 %.9.i11.i, %.23.i10
  %.11.i13.i = getelementptr i8, ptr %.5.i9.i, i64 %.10.i12.i
  %.28.i = getelementptr i8, ptr %.11.i13.i, i64 128
  %.29.i = load i32, ptr %.28.i, align 1
  %.31.i11 = getelementptr i8, ptr %.11.i13.i, i64 132
  %.32.i = load i32, ptr %.31.i11, align 1
  %.33.i12 = xor i32 %.32.i, -1
  %.34.i = and i32 %.29.i, %.33.i12
  %.35.i = icmp eq i32 %.34.i, 0
  br i1 %.35.i, label %then.25.i, label %after.26.i

then.25.i:                                        ; preds = %do.4.i
  %.39.i = add i64 %.894.i, 1
  store i64 %.39.i, ptr %.7.i6, align 1
  br label %while.3.backedge.i

while.3.backedge.i:                               ; preds = %scheduling.end_quantum.exit.i, %then.154.i, %then.146.i, %then.134.i, %scheduling.complete_counted.exit.i, %then.25.i
  %.8.i = load i64, ptr %.7.i6, align 1
  %.11.i = load i64, ptr %.10.i7, align 1
  %.12.i13 = icmp ult i64 %.8.i, %.11.i
  br i1 %.12.i13, label %do.4.i, label %scheduling.take_turns.exit

after.26.i:                                       ; preds = %do.4.i
  %.45.i = getelementptr i8, ptr %.11.i13.i, i64 136
  %.46.i = load i32, ptr %.45.i, align 1
  %.47.not.i = icmp eq i32 %.46.i, 0
  br i1 %.47.not.i, label %chosen.42.i, label %and.43.i

chosen.42.i:                                      ; preds = %and.6.i.i, %no.4.i.i, %and.43.i, %after.26.i
  %.50.i = phi i1 [ true, %and.6.i.i ], [ false, %after.26.i ], [ false, %no.4.i.i ], [ false, %and.43.i ]
  br i1 %.50.i, label %and.53.i, label %after.52.i

and.43.i:                                         ; preds = %after.26.i
  %.7.i.i = getelementptr i8, ptr %.11.i13.i, i64 160
  %.8.i16.i = load i32, ptr %.7.i.i, align 1
  %.11.i18.i = getelementptr i8, ptr %.11.i13.i, i64 208
  %.12.i.i = load i32, ptr %.11.i18.i, align 1
  %.15.i.i = getelementptr i8, ptr %.11.i13.i, i64 204
  %.16.i.i = load i32, ptr %.15.i.i, align 1
  %.20.i.i = getelementptr i8, ptr %.11.i13.i, i64 156
  %.21.i.i = load i32, ptr %.20.i.i, align 1
  %0 = or i32 %.8.i16.i, %.12.i.i
  %1 = or i32 %0, %.16.i.i
  %2 = or i32 %1, %.21.i.i
  %.22.i.i = or i32 %2, %.32.i
  %.28.i.i = getelementptr i8, ptr %.11.i13.i, i64 212
  %.29.i.i = load i32, ptr %.28.i.i, align 1
  %.30.i.i = icmp ne i32 %.29.i.i, 0
  %.33.i.i = icmp eq i32 %.22.i.i, 0
  %or.cond.i.i = select i1 %.30.i.i, i1 %.33.i.i, i1 false
  br i1 %or.cond.i.i, label %and.31.i.i, label %chosen.42.i

and.31.i.i:                                       ; preds = %and.43.i
  %.8.i27.i = getelementptr i8, ptr %.11.i13.i, i64 148
  %.9.i28.i = load i32, ptr %.8.i27.i, align 1
  %.10.i29.i = icmp eq i32 %.9.i28.i, 0
  br i1 %.10.i29.i, label %and.6.i.i, label %no.4.i.i

no.4.i.i:                                         ; preds = %and.6.i.i, %and.31.i.i
  br label %chosen.42.i

and.6.i.i:                                        ; preds = %and.31.i.i
  %.19.i.i = getelementptr i8, ptr %.11.i13.i, i64 144
  %.12.i30.i = load i32, ptr %.19.i.i, align 1
  %.13.i31.i = icmp ult i32 %.12.i30.i, 4096
  br i1 %.13.i31.i, label %chosen.42.i, label %no.4.i.i

then.51.i:                                        ; preds = %and.53.i
  store i32 0, ptr %.45.i, align 1
  %.62.i = getelementptr i8, ptr %.11.i13.i, i64 212
  %.63.i = load i32, ptr %.62.i, align 1
  %.65.i = getelementptr i8, ptr %.11.i13.i, i64 140
  store i32 %.63.i, ptr %.65.i, align 1
  br label %after.52.i

after.52.i:                                       ; preds = %and.53.i, %then.51.i, %chosen.42.i
  %.71.i = load i32, ptr %.45.i, align 1
  %.72.i = icmp eq i32 %.71.i, 0
  br i1 %.72.i, label %then.66.i, label %else.67.i

and.53.i:                                         ; preds = %chosen.42.i
  %.57.i = load i64, ptr %.56.i, align 1
  %.58.i = icmp sgt i64 %.57.i, -1
  br i1 %.58.i, label %then.51.i, label %after.52.i

then.66.i:                                        ; preds = %after.52.i
  %.76.i = tail call i32 @converged(ptr %context.given, ptr %.76, ptr %.11.i13.i) #2
  %.81.i = load ptr, ptr %.16.i, align 1
  %.84.i = load i64, ptr %.7.i6, align 1
  %.85.i = getelementptr i32, ptr %.81.i, i64 %.84.i
  %.86.i = load i32, ptr %.85.i, align 1
  %.87.i = zext i32 %.86.i to i64
  %.5.i.i = load ptr, ptr %.4.i8.i, align 1
  %.9.i.i = load i64, ptr %.8.i10.i, align 1
  %.10.i.i = mul i64 %.9.i.i, %.87.i
  %.11.i.i = getelementptr i8, ptr %.5.i.i, i64 %.10.i.i
  br label %after.68.i

else.67.i:                                        ; preds = %after.52.i
  br i1 %.50.i, label %after.68.i, label %else.90.i

after.68.i:                                       ; preds = %then.93.i, %else.67.i, %then.66.i
  %result.0.i = phi i32 [ %.76.i, %then.66.i ], [ %.105.i, %then.93.i ], [ 2, %else.67.i ]
  %warp.0.i = phi ptr [ %.11.i.i, %then.66.i ], [ %.11.i13.i, %then.93.i ], [ %.11.i13.i, %else.67.i ]
  switch i32 %result.0.i, label %scheduling.take_turns.exit.loopexit251 [
    i32 0, label %then.106.i
    i32 6, label %then.134.i
    i32 3, label %then.134.i
    i32 4, label %then.154.i
    i32 2, label %then.161.i
    i32 5, label %scheduling.take_turns.exit
  ]

else.90.i:                                        ; preds = %else.67.i
  %.98.i = load i64, ptr %.97.i, align 1
  %.99.not.i = icmp eq i64 %.98.i, 0
  br i1 %.99.not.i, label %scheduling.take_turns.exit, label %then.93.i

then.93.i:                                        ; preds = %else.90.i
  %.104.i = load ptr, ptr %.97.i, align 8
  %.105.i = tail call i32 %.104.i(ptr %context.given, ptr %.76, ptr %.11.i13.i) #2
  br label %after.68.i

then.106.i:                                       ; preds = %after.68.i
  %.114.i = getelementptr i8, ptr %warp.0.i, i64 128
  %.115.i = load i32, ptr %.114.i, align 1
  %.116.i = icmp eq i32 %.115.i, 0
  br i1 %.116.i, label %then.111.i, label %after.112.i

then.111.i:                                       ; preds = %then.106.i
  %.4.i32.i = getelementptr i8, ptr %warp.0.i, i64 200
  %.5.i33.i = load i32, ptr %.4.i32.i, align 1
  %.6.i34.i = lshr i32 %.5.i33.i, 2
  %.7.i35.i = zext nneg i32 %.6.i34.i to i64
  %.10.i37.i = load i64, ptr %.9.i36.i, align 1
  %.11.i38.i = mul i64 %.10.i37.i, %.7.i35.i
  %.14.i39.i = getelementptr i8, ptr %warp.0.i, i64 164
  %.15.i40.i = load i32, ptr %.14.i39.i, align 1
  %.20.not1.i.i = icmp eq i32 %.15.i40.i, 0
  br i1 %.20.not1.i.i, label %after.112.i, label %do.17.i.i

do.17.i.i:                                        ; preds = %then.111.i, %do.17.i.i
  %.12.02.i.i = phi i32 [ %.23.i.i, %do.17.i.i ], [ %.15.i40.i, %then.111.i ]
  %.21.i42.i = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.12.02.i.i, i1 true)
  %.22.i43.i = add i32 %.12.02.i.i, -1
  %.23.i.i = and i32 %.22.i43.i, %.12.02.i.i
  %.26.i.i = load ptr, ptr %.25.i.i, align 1
  %.30.i44.i = load ptr, ptr %.29.i41.i, align 1
  %.32.i.i = zext nneg i32 %.21.i42.i to i64
  %.33.i45.i = getelementptr i32, ptr %.30.i44.i, i64 %.32.i.i
  %.34.i.i = load i32, ptr %.33.i45.i, align 1
  %.35.i.i = zext i32 %.34.i.i to i64
  %.36.i.i = add i64 %.11.i38.i, %.35.i.i
  %.37.i46.i = shl i64 %.36.i.i, 4
  %.38.i.i = getelementptr i8, ptr %.26.i.i, i64 %.37.i46.i
  %.39.i.i = load i64, ptr %.38.i.i, align 1
  %.40.i.i = add i64 %.39.i.i, 1
  store i64 %.40.i.i, ptr %.38.i.i, align 1
  %.20.not.i.i = icmp eq i32 %.23.i.i, 0
  br i1 %.20.not.i.i, label %after.112.i, label %do.17.i.i

after.112.i:                                      ; preds = %do.17.i.i, %then.111.i, %then.106.i
  %.122.i = getelementptr i8, ptr %warp.0.i, i64 136
  %.123.i = load i32, ptr %.122.i, align 1
  %.124.not.i = icmp eq i32 %.123.i, 0
  br i1 %.124.not.i, label %after.120.i, label %then.119.i

then.119.i:                                       ; preds = %after.112.i
  %.5.i47.i = getelementptr i8, ptr %warp.0.i, i64 320
  %.6.i48.i = load <16 x i32>, ptr %.5.i47.i, align 1
  %.7.i49.i = icmp ne <16 x i32> %.6.i48.i, zeroinitializer
  %.8.i50.i = bitcast <16 x i1> %.7.i49.i to i16
  %.14.not8.i.i = icmp eq i16 %.8.i50.i, 0
  br i1 %.14.not8.i.i, label %after.120.i, label %do.11.lr.ph.i.i

do.11.lr.ph.i.i:                                  ; preds = %then.119.i
  %.9.i51.i = zext i16 %.8.i50.i to i32
  %.9.i4.i.i = load i32, ptr %.114.i, align 1
  %.10.not.i.i.i = icmp eq i32 %.9.i4.i.i, 0
  %.25.i52.i = getelementptr i8, ptr %warp.0.i, i64 384
  br label %do.11.i53.i

do.11.i53.i:                                      ; preds = %after.19.i.i, %do.11.lr.ph.i.i
  %.3.09.i.i = phi i32 [ %.9.i51.i, %do.11.lr.ph.i.i ], [ %.17.i56.i, %after.19.i.i ]
  %.16.i55.i = add nsw i32 %.3.09.i.i, -1
  %.17.i56.i = and i32 %.16.i55.i, %.3.09.i.i
  br i1 %.10.not.i.i.i, label %after.19.i.i, label %and.6.i.i.i

and.6.i.i.i:                                      ; preds = %do.11.i53.i
  %.15.i54.i = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.3.09.i.i, i1 true)
  %.14.i6.i.i = zext nneg i32 %.15.i54.i to i64
  %.15.i.i.i = getelementptr i32, ptr %.5.i47.i, i64 %.14.i6.i.i
  %.16.i.i.i = load i32, ptr %.15.i.i.i, align 1
  %.20.i.i.i = icmp eq i32 %.16.i.i.i, %.9.i4.i.i
  br i1 %.20.i.i.i, label %and.20.i.i, label %after.19.i.i

then.18.i.i:                                      ; preds = %and.20.i.i
  %.15.i.i.i.le = getelementptr i32, ptr %.5.i47.i, i64 %.14.i6.i.i
  %.28.i58.i.le = getelementptr i32, ptr %.25.i52.i, i64 %.14.i6.i.i
  %.38.i62.i = getelementptr i32, ptr %.35.i61.i, i64 %.14.i6.i.i
  %.39.i63.i = load i32, ptr %.38.i62.i, align 1
  %.40.i64.i = add i32 %.39.i63.i, 1
  store i32 %.40.i64.i, ptr %.38.i62.i, align 1
  store i32 0, ptr %.15.i.i.i.le, align 1
  store i32 0, ptr %.28.i58.i.le, align 1
  %.14.i.i.i = getelementptr i8, ptr %warp.0.i, i64 132
  store i32 0, ptr %.14.i.i.i, align 1
  br label %after.120.i

after.19.i.i:                                     ; preds = %and.20.i.i, %and.6.i.i.i, %do.11.i53.i
  %.14.not.i57.i = icmp eq i32 %.17.i56.i, 0
  br i1 %.14.not.i57.i, label %after.120.i, label %do.11.i53.i

and.20.i.i:                                       ; preds = %and.6.i.i.i
  %.28.i58.i = getelementptr i32, ptr %.25.i52.i, i64 %.14.i6.i.i
  %.29.i59.i = load i32, ptr %.28.i58.i, align 1
  %.33.i60.i = icmp eq i32 %.29.i59.i, %.9.i4.i.i
  br i1 %.33.i60.i, label %then.18.i.i, label %after.19.i.i

after.120.i:                                      ; preds = %after.19.i.i, %then.18.i.i, %then.119.i, %after.112.i
  %.6.i.i = load <16 x i32>, ptr %.5.i19.i, align 1
  %.7.i20.i = icmp ne <16 x i32> %.6.i.i, zeroinitializer
  %.8.i21.i = bitcast <16 x i1> %.7.i20.i to i16
  %.14.not.i89.i = icmp eq i16 %.8.i21.i, 0
  br i1 %.14.not.i89.i, label %scheduling.complete_counted.exit.i, label %do.11.i.preheader.i

do.11.i.preheader.i:                              ; preds = %after.120.i
  %.9.i22.i = zext i16 %.8.i21.i to i32
  br label %do.11.i.i

do.11.i.i:                                        ; preds = %do.11.i.i, %do.11.i.preheader.i
  %.3.0.i90.i = phi i32 [ %.17.i25.i, %do.11.i.i ], [ %.9.i22.i, %do.11.i.preheader.i ]
  %.15.i23.i = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.3.0.i90.i, i1 true)
  %.16.i24.i = add nsw i32 %.3.0.i90.i, -1
  %.17.i25.i = and i32 %.16.i24.i, %.3.0.i90.i
  %.21.i26.i = tail call fastcc i1 @scheduling.try_to_open(ptr %context.given, ptr %.76, i32 %.15.i23.i)
  %.14.not.i.i = icmp eq i32 %.17.i25.i, 0
  br i1 %.14.not.i.i, label %scheduling.complete_counted.exit.i, label %do.11.i.i

scheduling.complete_counted.exit.i:               ; preds = %do.11.i.i, %after.120.i
  %.132.i = load i64, ptr %.7.i6, align 1
  %.133.i = add i64 %.132.i, 1
  store i64 %.133.i, ptr %.7.i6, align 1
  br label %while.3.backedge.i

then.134.i:                                       ; preds = %after.68.i, %after.68.i
  %.141.i = icmp eq i32 %result.0.i, 6
  %.143.i = getelementptr i8, ptr %warp.0.i, i64 136
  store i32 1, ptr %.143.i, align 1
  store i32 0, ptr %.145.i, align 1
  br i1 %.141.i, label %then.146.i, label %while.3.backedge.i

then.146.i:                                       ; preds = %then.134.i
  %.152.i = load i64, ptr %.7.i6, align 1
  %.153.i = add i64 %.152.i, 1
  store i64 %.153.i, ptr %.7.i6, align 1
  br label %while.3.backedge.i

then.154.i:                                       ; preds = %after.68.i
  %.160.i = getelementptr i8, ptr %warp.0.i, i64 136
  store i32 0, ptr %.160.i, align 1
  br label %while.3.backedge.i

then.161.i:                                       ; preds = %after.68.i
  %.5.i66.i = load i64, ptr %.4.i65.i, align 1
  %.6.not.i.i = icmp eq i64 %.5.i66.i, 0
  %.9.i68.i = load i64, ptr %.8.i67.i, align 1
  %.12.i70.i = load i64, ptr %.56.i, align 1
  %3 = add i64 %.5.i66.i, %.12.i70.i
  %.17.i71.i = sub i64 %.9.i68.i, %3
  store i64 %.9.i68.i, ptr %.56.i, align 1
  store i64 0, ptr %.4.i65.i, align 1
  %.27.i73.i = load i64, ptr %.26.i72.i, align 1
  %.29.i74.i = add i64 %.27.i73.i, %.17.i71.i
  store i64 %.29.i74.i, ptr %.26.i72.i, align 1
  %.34.i76.i = load ptr, ptr %.33.i75.i, align 1
  %.37.i77.i = atomicrmw sub ptr %.34.i76.i, i64 %.17.i71.i monotonic, align 8
  %.39.i78.i = icmp slt i64 %.37.i77.i, %.17.i71.i
  br i1 %.39.i78.i, label %then.30.i.i, label %after.31.i.i

then.30.i.i:                                      ; preds = %then.161.i
  %.41.i.i = getelementptr i8, ptr %warp.0.i, i64 128
  %.42.i.i = load i32, ptr %.41.i.i, align 1
  %.43.i.i = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.42.i.i, i1 false)
  %.48.i.i = getelementptr i8, ptr %warp.0.i, i64 136
  %.49.i.i = load i32, ptr %.48.i.i, align 1
  %.50.i.i = icmp eq i32 %.49.i.i, 0
  %.52.i.i = getelementptr i8, ptr %warp.0.i, i64 140
  %.56.i.i = zext nneg i32 %.43.i.i to i64
  %.57.i.i = getelementptr i32, ptr %warp.0.i, i64 %.56.i.i
  %.59.in.i.i = select i1 %.50.i.i, ptr %.52.i.i, ptr %.57.i.i
  %.59.i.i = load i32, ptr %.59.in.i.i, align 1
  %.63.i.i = lshr i32 %.59.i.i, 1
  store i32 2, ptr %.5.i4.i.i, align 1
  store i32 %.63.i.i, ptr %.9.i5.i.i, align 1
  store i32 %.43.i.i, ptr %.13.i6.i.i, align 1
  %.15.i.i81.i = getelementptr i8, ptr %warp.0.i, i64 200
  %.16.i7.i.i = load i32, ptr %.15.i.i81.i, align 1
  store i32 %.16.i7.i.i, ptr %.19.i.i.i, align 1
  store i64 0, ptr %.23.i.i.i, align 1
  br label %scheduling.end_quantum.exit.i

after.31.i.i:                                     ; preds = %then.161.i
  %.69.i.i = load ptr, ptr %.68.i.i, align 1
  %.71.i.i = load i32, ptr %.69.i.i, align 1
  %.72.not.i.i = icmp eq i32 %.71.i.i, 0
  br i1 %.72.not.i.i, label %after.66.i.i, label %scheduling.end_quantum.exit.i

after.66.i.i:                                     ; preds = %after.31.i.i
  %.75.i.i = load i64, ptr %.7.i6, align 1
  %.76.i.i = add i64 %.75.i.i, 1
  store i64 %.76.i.i, ptr %.7.i6, align 1
  br i1 %.6.not.i.i, label %after.78.i.i, label %then.77.i.i

then.77.i.i:                                      ; preds = %after.66.i.i
  %.85.i.i = load i64, ptr %.84.i.i, align 1
  %.86.i.i = icmp eq i64 %.85.i.i, 1
  br i1 %.86.i.i, label %scheduling.end_quantum.exit.i, label %or.82.i.i

after.78.i.i:                                     ; preds = %after.66.i.i
  %.104.i.i = load i64, ptr %.103.i.i, align 1
  %.105.i.i = add i64 %.104.i.i, 1
  store i64 %.105.i.i, ptr %.103.i.i, align 1
  %.110.i.i = load i64, ptr %.109.i.i, align 1
  %.111.not.i.i = icmp eq i64 %.110.i.i, 0
  br i1 %.111.not.i.i, label %after.107.i.i, label %then.106.i.i

after.81.i.i:                                     ; preds = %or.82.i.i
  %.5.i.i.i.i = load i64, ptr %.4.i.i.i.i, align 1
  %.122.not.i.i.i.i = icmp eq i64 %.5.i.i.i.i, 0
  br i1 %.122.not.i.i.i.i, label %forget.exit.i.i.i, label %do.8.i.i.i.i

do.8.i.i.i.i:                                     ; preds = %after.81.i.i, %do.8.i.i.i.i
  %.6.03.i.i.i.i = phi i64 [ %.21.i.i.i.i, %do.8.i.i.i.i ], [ 0, %after.81.i.i ]
  %.15.i.i.i.i = load ptr, ptr %.14.i.i.i.i, align 1
  %.17.i.i.i.i = mul i64 %.6.03.i.i.i.i, 48
  %.18.i.i.i.i = getelementptr i8, ptr %.15.i.i.i.i, i64 %.17.i.i.i.i
  %.19.i.i.i.i = getelementptr i8, ptr %.18.i.i.i.i, i64 8
  store i64 0, ptr %.19.i.i.i.i, align 1
  %.21.i.i.i.i = add nuw i64 %.6.03.i.i.i.i, 1
  %.12.i.i.i.i = icmp ult i64 %.21.i.i.i.i, %.5.i.i.i.i
  br i1 %.12.i.i.i.i, label %do.8.i.i.i.i, label %forget.exit.i.i.i

forget.exit.i.i.i:                                ; preds = %do.8.i.i.i.i, %after.81.i.i
  %.6.i.i.i = load i64, ptr %.84.i.i, align 1
  %.136.not.i.i.i = icmp eq i64 %.6.i.i.i, 0
  br i1 %.136.not.i.i.i, label %scheduling.end_quantum.exit.i, label %do.9.lr.ph.i.i.i

do.9.lr.ph.i.i.i:                                 ; preds = %forget.exit.i.i.i
  %.16.i10.i.i = load i64, ptr %.15.i9.i.i, align 1
  %invariant.op.i.i.i = add i64 %.16.i10.i.i, 1
  %.28.i.i.i = load ptr, ptr %.27.i.i.i, align 1
  br label %do.9.i.i.i

for.8.i.i.i:                                      ; preds = %do.9.i.i.i
  %.48.i.i.i = add nuw i64 %.7.07.i.i.i, 1
  %.13.i12.i.i = icmp ult i64 %.48.i.i.i, %.6.i.i.i
  br i1 %.13.i12.i.i, label %do.9.i.i.i, label %scheduling.end_quantum.exit.i

do.9.i.i.i:                                       ; preds = %for.8.i.i.i, %do.9.lr.ph.i.i.i
  %.7.07.i.i.i = phi i64 [ 0, %do.9.lr.ph.i.i.i ], [ %.48.i.i.i, %for.8.i.i.i ]
  %.19.reass.i.i.i = add i64 %invariant.op.i.i.i, %.7.07.i.i.i
  %.23.i11.i.i = urem i64 %.19.reass.i.i.i, %.6.i.i.i
  %.30.i.i.i = shl i64 %.23.i11.i.i, 3
  %.31.i.i.i = getelementptr i8, ptr %.28.i.i.i, i64 %.30.i.i.i
  %.32.i.i.i = load ptr, ptr %.31.i.i.i, align 1
  %.33.i.i.i = load i32, ptr %.32.i.i.i, align 1
  %.34.not.i.i.i = icmp eq i32 %.33.i.i.i, 0
  br i1 %.34.not.i.i.i, label %for.8.i.i.i, label %then.24.i.i.i

then.24.i.i.i:                                    ; preds = %do.9.i.i.i
  %.31.i.i.i.le = getelementptr i8, ptr %.28.i.i.i, i64 %.30.i.i.i
  store i64 %.23.i11.i.i, ptr %.15.i9.i.i, align 1
  %.44.i.i.i = load ptr, ptr %.31.i.i.i.le, align 1
  store ptr %.44.i.i.i, ptr %.19, align 1
  br label %scheduling.end_quantum.exit.i

or.82.i.i:                                        ; preds = %then.77.i.i
  %.88.i.i = getelementptr i8, ptr %warp.0.i, i64 128
  %.89.i.i = load i32, ptr %.88.i.i, align 1
  %.91.i.i = getelementptr i8, ptr %warp.0.i, i64 132
  %.92.i.i = load i32, ptr %.91.i.i, align 1
  %.94.i.i = getelementptr i8, ptr %warp.0.i, i64 184
  %.95.i.i = load i32, ptr %.94.i.i, align 1
  %.96.i.i = or i32 %.95.i.i, %.92.i.i
  %.97.i.i = xor i32 %.96.i.i, -1
  %.98.i.i = and i32 %.89.i.i, %.97.i.i
  %.99.i.i = icmp eq i32 %.98.i.i, 0
  br i1 %.99.i.i, label %scheduling.end_quantum.exit.i, label %after.81.i.i

then.106.i.i:                                     ; preds = %after.78.i.i
  %.8.i.i79.i = shl i64 %.110.i.i, 13
  %.9.i.i.i = xor i64 %.8.i.i79.i, %.110.i.i
  %.12.i.i.i = lshr i64 %.9.i.i.i, 7
  %.13.i.i.i = xor i64 %.12.i.i.i, %.9.i.i.i
  %.16.i.i80.i = shl i64 %.13.i.i.i, 17
  %.17.i.i.i = xor i64 %.16.i.i80.i, %.13.i.i.i
  store i64 %.17.i.i.i, ptr %.109.i.i, align 1
  %.116.i.i = and i64 %.13.i.i.i, 255
  store i64 %.116.i.i, ptr %.8.i67.i, align 1
  store i64 %.116.i.i, ptr %.56.i, align 1
  br label %after.107.i.i

after.107.i.i:                                    ; preds = %then.106.i.i, %after.78.i.i
  %.132.i.i = load i64, ptr %.131.i.i, align 1
  %.133.i.i = urem i64 %.105.i.i, %.132.i.i
  %.134.i.i = icmp eq i64 %.133.i.i, 0
  br i1 %.134.i.i, label %and.126.i.i, label %after.125.i.i

then.124.i.i:                                     ; preds = %and.126.i.i
  %.147.i.i = load i64, ptr %.84.i.i, align 1
  %.150.i.i = load i64, ptr %.149.i.i, align 1
  %.151.i.i = icmp ult i64 %.147.i.i, %.150.i.i
  br i1 %.151.i.i, label %scheduling.end_quantum.exit.i, label %after.125.i.i

after.125.i.i:                                    ; preds = %and.126.i.i, %then.124.i.i, %after.107.i.i
  %.156.i.i = load i64, ptr %.84.i.i, align 1
  %.157.i.i = icmp eq i64 %.156.i.i, 1
  br i1 %.157.i.i, label %scheduling.end_quantum.exit.i, label %after.153.i.i

and.126.i.i:                                      ; preds = %after.107.i.i
  %.136.i.i = load ptr, ptr %context.given, align 1
  %.138.i.i = load i64, ptr %.136.i.i, align 1
  %.141.i.i = load i64, ptr %.140.i.i, align 1
  %.142.i.i = icmp ult i64 %.138.i.i, %.141.i.i
  br i1 %.142.i.i, label %then.124.i.i, label %after.125.i.i

after.153.i.i:                                    ; preds = %after.125.i.i
  %.5.i.i14.i.i = load i64, ptr %.4.i.i.i.i, align 1
  %.122.not.i.i15.i.i = icmp eq i64 %.5.i.i14.i.i, 0
  br i1 %.122.not.i.i15.i.i, label %forget.exit.i26.i.i, label %do.8.i.i18.i.i

do.8.i.i18.i.i:                                   ; preds = %after.153.i.i, %do.8.i.i18.i.i
  %.6.03.i.i19.i.i = phi i64 [ %.21.i.i24.i.i, %do.8.i.i18.i.i ], [ 0, %after.153.i.i ]
  %.15.i.i20.i.i = load ptr, ptr %.14.i.i.i.i, align 1
  %.17.i.i21.i.i = mul i64 %.6.03.i.i19.i.i, 48
  %.18.i.i22.i.i = getelementptr i8, ptr %.15.i.i20.i.i, i64 %.17.i.i21.i.i
  %.19.i.i23.i.i = getelementptr i8, ptr %.18.i.i22.i.i, i64 8
  store i64 0, ptr %.19.i.i23.i.i, align 1
  %.21.i.i24.i.i = add nuw i64 %.6.03.i.i19.i.i, 1
  %.12.i.i25.i.i = icmp ult i64 %.21.i.i24.i.i, %.5.i.i14.i.i
  br i1 %.12.i.i25.i.i, label %do.8.i.i18.i.i, label %forget.exit.i26.i.i

forget.exit.i26.i.i:                              ; preds = %do.8.i.i18.i.i, %after.153.i.i
  %.6.i28.i.i = load i64, ptr %.84.i.i, align 1
  %.136.not.i29.i.i = icmp eq i64 %.6.i28.i.i, 0
  br i1 %.136.not.i29.i.i, label %scheduling.end_quantum.exit.i, label %do.9.lr.ph.i30.i.i

do.9.lr.ph.i30.i.i:                               ; preds = %forget.exit.i26.i.i
  %.16.i32.i.i = load i64, ptr %.15.i9.i.i, align 1
  %invariant.op.i33.i.i = add i64 %.16.i32.i.i, 1
  %.28.i35.i.i = load ptr, ptr %.27.i.i.i, align 1
  br label %do.9.i36.i.i

for.8.i51.i.i:                                    ; preds = %do.9.i36.i.i
  %.48.i52.i.i = add nuw i64 %.7.07.i37.i.i, 1
  %.13.i53.i.i = icmp ult i64 %.48.i52.i.i, %.6.i28.i.i
  br i1 %.13.i53.i.i, label %do.9.i36.i.i, label %scheduling.end_quantum.exit.i

do.9.i36.i.i:                                     ; preds = %for.8.i51.i.i, %do.9.lr.ph.i30.i.i
  %.7.07.i37.i.i = phi i64 [ 0, %do.9.lr.ph.i30.i.i ], [ %.48.i52.i.i, %for.8.i51.i.i ]
  %.19.reass.i38.i.i = add i64 %invariant.op.i33.i.i, %.7.07.i37.i.i
  %.23.i39.i.i = urem i64 %.19.reass.i38.i.i, %.6.i28.i.i
  %.30.i40.i.i = shl i64 %.23.i39.i.i, 3
  %.31.i41.i.i = getelementptr i8, ptr %.28.i35.i.i, i64 %.30.i40.i.i
  %.32.i42.i.i = load ptr, ptr %.31.i41.i.i, align 1
  %.33.i43.i.i = load i32, ptr %.32.i42.i.i, align 1
  %.34.not.i44.i.i = icmp eq i32 %.33.i43.i.i, 0
  br i1 %.34.not.i44.i.i, label %for.8.i51.i.i, label %then.24.i45.i.i

then.24.i45.i.i:                                  ; preds = %do.9.i36.i.i
  %.31.i41.i.i.le = getelementptr i8, ptr %.28.i35.i.i, i64 %.30.i40.i.i
  store i64 %.23.i39.i.i, ptr %.15.i9.i.i, align 1
  %.44.i48.i.i = load ptr, ptr %.31.i41.i.i.le, align 1
  store ptr %.44.i48.i.i, ptr %.19, align 1
  br label %scheduling.end_quantum.exit.i

scheduling.end_quantum.exit.i:                    ; preds = %for.8.i.i.i, %for.8.i51.i.i, %then.24.i45.i.i, %forget.exit.i26.i.i, %after.125.i.i, %then.124.i.i, %or.82.i.i, %then.24.i.i.i, %forget.exit.i.i.i, %then.77.i.i, %after.31.i.i, %then.30.i.i
  %.173.not.i = phi i1 [ false, %then.30.i.i ], [ false, %then.24.i.i.i ], [ false, %after.31.i.i ], [ true, %after.125.i.i ], [ true, %then.77.i.i ], [ false, %then.124.i.i ], [ true, %or.82.i.i ], [ false, %forget.exit.i.i.i ], [ false, %for.8.i51.i.i ], [ false, %forget.exit.i26.i.i ], [ false, %then.24.i45.i.i ], [ false, %for.8.i.i.i ]
  %common.ret.op.i.i = phi i32 [ 1, %then.30.i.i ], [ 7, %then.24.i.i.i ], [ 2, %after.31.i.i ], [ 6, %after.125.i.i ], [ 6, %then.77.i.i ], [ 4, %then.124.i.i ], [ 6, %or.82.i.i ], [ 7, %forget.exit.i.i.i ], [ 7, %for.8.i51.i.i ], [ 7, %forget.exit.i26.i.i ], [ 7, %then.24.i45.i.i ], [ 7, %for.8.i.i.i ]
  br i1 %.173.not.i, label %while.3.backedge.i, label %scheduling.take_turns.exit

scheduling.take_turns.exit.loopexit251:           ; preds = %after.68.i
  br label %scheduling.take_turns.exit

scheduling.take_turns.exit:                       ; preds = %while.3.backedge.i, %else.90.i, %scheduling.end_quantum.exit.i, %after.68.i, %scheduling.take_turns.exit.loopexit251, %after.17
  %common.ret.op.i8 = phi i32 [ 3, %after.68.i ], [ 6, %after.17 ], [ 6, %while.3.backedge.i ], [ 3, %else.90.i ], [ %common.ret.op.i.i, %scheduling.end_quantum.exit.i ], [ 1, %scheduling.take_turns.exit.loopexit251 ]
  %.81 = icmp eq i32 %common.ret.op.i8, 6
  br i1 %.81, label %then.78, label %after.79

after.24:                                         ; preds = %then.16
  %.35 = load i32, ptr %.34, align 1
  %.36.not = icmp eq i32 %.35, 0
  br i1 %.36.not, label %after.32, label %then.31

then.31:                                          ; preds = %after.24
  %.34.le = getelementptr i8, ptr %context.given, i64 168
  store i32 0, ptr %.34.le, align 1
  br label %common.ret

after.32:                                         ; preds = %after.24
  %.45 = getelementptr i8, ptr %.20, i64 72
  %.46 = load ptr, ptr %.45, align 1
  %.47 = getelementptr i8, ptr %.46, i64 16
  %.48 = load i64, ptr %.47, align 1
  %.49 = icmp eq i64 %.48, 0
  br i1 %.49, label %then.39, label %else.40

then.39:                                          ; preds = %after.32
  %.7.i = load i8, ptr %.6.i, align 1
  %.8.not.i = icmp eq i8 %.7.i, 0
  br i1 %.8.not.i, label %after.4.i, label %then.3.i

then.3.i:                                         ; preds = %then.39
  %.10.i = load ptr, ptr %context.given, align 1
  %.12.i = load i64, ptr %.10.i, align 1
  %.14.i = add i64 %.12.i, 1
  store i64 %.14.i, ptr %.10.i, align 1
  br label %block_start.draw_ticket.exit

after.4.i:                                        ; preds = %then.39
  %.23.i = load i64, ptr %.22.i, align 1
  %.26.i = load i64, ptr %.25.i, align 1
  %.27.i = icmp eq i64 %.23.i, %.26.i
  br i1 %.27.i, label %then.19.i, label %after.20.i

then.19.i:                                        ; preds = %after.4.i
  %.4.i = load ptr, ptr %context.given, align 1
  %.6.i14 = load i64, ptr %.4.i, align 1
  %.12.i16 = load i64, ptr %.11.i15, align 1
  %.13.not.i = icmp eq i64 %.12.i16, 0
  br i1 %.13.not.i, label %block_start.draw_tickets.exit, label %and.9.i

then.7.i:                                         ; preds = %and.9.i
  %.24.i = sub nuw i64 %.17.i18, %.6.i14
  %.28.i20 = udiv i64 %.24.i, %.12.i16
  %.29.i21 = add i64 %.28.i20, 1
  %spec.store.select.i = tail call i64 @llvm.umin.i64(i64 %.29.i21, i64 64)
  br label %block_start.draw_tickets.exit

and.9.i:                                          ; preds = %then.19.i
  %.17.i18 = load i64, ptr %.16.i17, align 1
  %.18.i = icmp ult i64 %.6.i14, %.17.i18
  br i1 %.18.i, label %then.7.i, label %block_start.draw_tickets.exit

block_start.draw_tickets.exit:                    ; preds = %then.19.i, %then.7.i, %and.9.i
  %count.0.i = phi i64 [ %spec.store.select.i, %then.7.i ], [ 1, %and.9.i ], [ 1, %then.19.i ]
  %.38.i = atomicrmw add ptr %.4.i, i64 %count.0.i monotonic, align 8
  store i64 %.38.i, ptr %.22.i, align 1
  %.45.i19 = add i64 %.38.i, %count.0.i
  store i64 %.45.i19, ptr %.25.i, align 1
  br label %after.20.i

after.20.i:                                       ; preds = %block_start.draw_tickets.exit, %after.4.i
  %.31.i = load i64, ptr %.22.i, align 1
  %.33.i = add i64 %.31.i, 1
  store i64 %.33.i, ptr %.22.i, align 1
  br label %block_start.draw_ticket.exit

block_start.draw_ticket.exit:                     ; preds = %then.3.i, %after.20.i
  %common.ret.op.i = phi i64 [ %.12.i, %then.3.i ], [ %.31.i, %after.20.i ]
  %.58 = load i64, ptr %.57, align 1
  %.59 = icmp ult i64 %common.ret.op.i, %.58
  br i1 %.59, label %then.52, label %else.53

else.40:                                          ; preds = %after.32
  %.5.i.i22 = load i64, ptr %.4.i.i, align 1
  %.122.not.i.i = icmp eq i64 %.5.i.i22, 0
  br i1 %.122.not.i.i, label %forget.exit.i, label %do.8.i.i

do.8.i.i:                                         ; preds = %else.40, %do.8.i.i
  %.6.03.i.i = phi i64 [ %.21.i.i25, %do.8.i.i ], [ 0, %else.40 ]
  %.15.i.i23 = load ptr, ptr %.14.i.i, align 1
  %.17.i.i = mul i64 %.6.03.i.i, 48
  %.18.i.i = getelementptr i8, ptr %.15.i.i23, i64 %.17.i.i
  %.19.i.i24 = getelementptr i8, ptr %.18.i.i, i64 8
  store i64 0, ptr %.19.i.i24, align 1
  %.21.i.i25 = add nuw i64 %.6.03.i.i, 1
  %.12.i.i26 = icmp ult i64 %.21.i.i25, %.5.i.i22
  br i1 %.12.i.i26, label %do.8.i.i, label %forget.exit.i

forget.exit.i:                                    ; preds = %do.8.i.i, %else.40
  %.6.i27 = load i64, ptr %.5.i, align 1
  %.136.not.i = icmp eq i64 %.6.i27, 0
  br i1 %.136.not.i, label %after.17, label %do.9.lr.ph.i

do.9.lr.ph.i:                                     ; preds = %forget.exit.i
  %.16.i28 = load i64, ptr %.15.i, align 1
  %invariant.op.i = add i64 %.16.i28, 1
  %.28.i30 = load ptr, ptr %.27.i29, align 1
  br label %do.9.i

for.8.i:                                          ; preds = %do.9.i
  %.48.i = add nuw i64 %.7.07.i, 1
  %.13.i = icmp ult i64 %.48.i, %.6.i27
  br i1 %.13.i, label %do.9.i, label %after.17

do.9.i:                                           ; preds = %for.8.i, %do.9.lr.ph.i
  %.7.07.i = phi i64 [ 0, %do.9.lr.ph.i ], [ %.48.i, %for.8.i ]
  %.19.reass.i = add i64 %invariant.op.i, %.7.07.i
  %.23.i31 = urem i64 %.19.reass.i, %.6.i27
  %.30.i = shl i64 %.23.i31, 3
  %.31.i32 = getelementptr i8, ptr %.28.i30, i64 %.30.i
  %.32.i33 = load ptr, ptr %.31.i32, align 1
  %.33.i34 = load i32, ptr %.32.i33, align 1
  %.34.not.i = icmp eq i32 %.33.i34, 0
  br i1 %.34.not.i, label %for.8.i, label %then.24.i

then.24.i:                                        ; preds = %do.9.i
  %.31.i32.le = getelementptr i8, ptr %.28.i30, i64 %.30.i
  store i64 %.23.i31, ptr %.15.i, align 1
  br label %after.17.sink.split

then.52:                                          ; preds = %block_start.draw_ticket.exit
  %.63 = load ptr, ptr %.19, align 1
  %.64 = getelementptr i8, ptr %.63, i64 72
  %.65 = load ptr, ptr %.64, align 1
  %.8.i37 = load ptr, ptr %.7.i36, align 1
  %.9.not.i = icmp eq ptr %.8.i37, null
  br i1 %.9.not.i, label %after.5.i, label %then.4.i

then.4.i:                                         ; preds = %then.52
  %.14.i38 = getelementptr i64, ptr %.8.i37, i64 %common.ret.op.i
  %.15.i39 = load i64, ptr %.14.i38, align 1
  br label %after.5.i

after.5.i:                                        ; preds = %then.4.i, %then.52
  %number.0.i = phi i64 [ %.15.i39, %then.4.i ], [ %common.ret.op.i, %then.52 ]
  %.17.i40 = getelementptr i8, ptr %.65, i64 8
  %.18.i41 = load i64, ptr %.17.i40, align 1
  %.20.i = getelementptr i8, ptr %.65, i64 16
  store i64 %.18.i41, ptr %.20.i, align 1
  %.305.not.i = icmp eq i64 %.18.i41, 0
  br i1 %.305.not.i, label %after.17, label %do.26.i

do.26.i:                                          ; preds = %after.5.i, %chosen.33.i
  %.24.06.i = phi i64 [ %.57.i70, %chosen.33.i ], [ 0, %after.5.i ]
  %.36.i = load i64, ptr %.17.i40, align 1
  %.37.i = icmp eq i64 %.36.i, 1
  br i1 %.37.i, label %chosen.33.i, label %no.32.i

no.32.i:                                          ; preds = %do.26.i
  %.5.i.i47 = load i32, ptr %.4.i.i42, align 1
  %.8.i.i = load i32, ptr %.7.i.i43, align 1
  %.9.i.i48 = udiv i32 %.5.i.i47, %.8.i.i
  %.10.i.i49 = zext i32 %.9.i.i48 to i64
  %.13.i.i = load i32, ptr %.12.i.i44, align 1
  %.16.i.i50 = load i32, ptr %.15.i.i45, align 1
  %.17.i.i51 = udiv i32 %.13.i.i, %.16.i.i50
  %.18.i.i52 = zext i32 %.17.i.i51 to i64
  %.21.i.i53 = urem i64 %number.0.i, %.10.i.i49
  %.25.i.i54 = zext i32 %.8.i.i to i64
  %.26.i.i55 = mul nuw i64 %.21.i.i53, %.25.i.i54
  %.32.i.i56 = urem i64 %.24.06.i, %.25.i.i54
  %.33.i.i57 = add nuw i64 %.26.i.i55, %.32.i.i56
  %.36.i.i58 = udiv i64 %number.0.i, %.10.i.i49
  %.38.i.i59 = urem i64 %.36.i.i58, %.18.i.i52
  %.42.i.i60 = zext i32 %.16.i.i50 to i64
  %.43.i.i61 = mul nuw i64 %.38.i.i59, %.42.i.i60
  %.49.i.i62 = udiv i64 %.24.06.i, %.25.i.i54
  %.54.i.i = urem i64 %.49.i.i62, %.42.i.i60
  %.55.i.i = add nuw i64 %.54.i.i, %.43.i.i61
  %.60.i.i = udiv i64 %.36.i.i58, %.18.i.i52
  %.63.i.i63 = load i32, ptr %.62.i.i, align 1
  %.64.i.i = zext i32 %.63.i.i63 to i64
  %.65.i.i = mul i64 %.60.i.i, %.64.i.i
  %.76.i.i64 = udiv i64 %.49.i.i62, %.42.i.i60
  %.77.i.i = add i64 %.65.i.i, %.76.i.i64
  %.87.i.i = zext i32 %.13.i.i to i64
  %.88.i.i65 = mul i64 %.77.i.i, %.87.i.i
  %.89.i.i66 = add i64 %.55.i.i, %.88.i.i65
  %.90.i.i = zext i32 %.5.i.i47 to i64
  %.91.i.i67 = mul i64 %.89.i.i66, %.90.i.i
  %.92.i.i68 = add i64 %.33.i.i57, %.91.i.i67
  br label %chosen.33.i

chosen.33.i:                                      ; preds = %no.32.i, %do.26.i
  %.43.i = phi i64 [ %.92.i.i68, %no.32.i ], [ %number.0.i, %do.26.i ]
  %.47.i69 = load ptr, ptr %.46.i46, align 1
  %.49.i = load i64, ptr %.65, align 1
  %.51.i = add i64 %.49.i, %.24.06.i
  %.52.i = shl i64 %.51.i, 3
  %.53.i = getelementptr i8, ptr %.47.i69, i64 %.52.i
  %.54.i = load ptr, ptr %.53.i, align 1
  tail call fastcc void @block_start.begin(ptr %context.given, ptr %.54.i, i64 %.43.i, i1 false)
  %.57.i70 = add nuw i64 %.24.06.i, 1
  %.30.i71 = icmp ult i64 %.57.i70, %.18.i41
  br i1 %.30.i71, label %do.26.i, label %after.17

else.53:                                          ; preds = %block_start.draw_ticket.exit
  %.5.i.i73 = load i64, ptr %.4.i.i72, align 1
  %.122.not.i.i74 = icmp eq i64 %.5.i.i73, 0
  br i1 %.122.not.i.i74, label %forget.exit.i85, label %do.8.i.i77

do.8.i.i77:                                       ; preds = %else.53, %do.8.i.i77
  %.6.03.i.i78 = phi i64 [ %.21.i.i83, %do.8.i.i77 ], [ 0, %else.53 ]
  %.15.i.i79 = load ptr, ptr %.14.i.i76, align 1
  %.17.i.i80 = mul i64 %.6.03.i.i78, 48
  %.18.i.i81 = getelementptr i8, ptr %.15.i.i79, i64 %.17.i.i80
  %.19.i.i82 = getelementptr i8, ptr %.18.i.i81, i64 8
  store i64 0, ptr %.19.i.i82, align 1
  %.21.i.i83 = add nuw i64 %.6.03.i.i78, 1
  %.12.i.i84 = icmp ult i64 %.21.i.i83, %.5.i.i73
  br i1 %.12.i.i84, label %do.8.i.i77, label %forget.exit.i85

forget.exit.i85:                                  ; preds = %do.8.i.i77, %else.53
  %.6.i87 = load i64, ptr %.5.i86, align 1
  %.136.not.i88 = icmp eq i64 %.6.i87, 0
  br i1 %.136.not.i88, label %common.ret, label %do.9.lr.ph.i89

do.9.lr.ph.i89:                                   ; preds = %forget.exit.i85
  %.16.i91 = load i64, ptr %.15.i90, align 1
  %invariant.op.i92 = add i64 %.16.i91, 1
  %.28.i94 = load ptr, ptr %.27.i93, align 1
  br label %do.9.i95

for.8.i110:                                       ; preds = %do.9.i95
  %.48.i111 = add nuw i64 %.7.07.i96, 1
  %.13.i112 = icmp ult i64 %.48.i111, %.6.i87
  br i1 %.13.i112, label %do.9.i95, label %common.ret

do.9.i95:                                         ; preds = %for.8.i110, %do.9.lr.ph.i89
  %.7.07.i96 = phi i64 [ 0, %do.9.lr.ph.i89 ], [ %.48.i111, %for.8.i110 ]
  %.19.reass.i97 = add i64 %invariant.op.i92, %.7.07.i96
  %.23.i98 = urem i64 %.19.reass.i97, %.6.i87
  %.30.i99 = shl i64 %.23.i98, 3
  %.31.i100 = getelementptr i8, ptr %.28.i94, i64 %.30.i99
  %.32.i101 = load ptr, ptr %.31.i100, align 1
  %.33.i102 = load i32, ptr %.32.i101, align 1
  %.34.not.i103 = icmp eq i32 %.33.i102, 0
  br i1 %.34.not.i103, label %for.8.i110, label %then.24.i104

then.24.i104:                                     ; preds = %do.9.i95
  %.31.i100.le = getelementptr i8, ptr %.28.i94, i64 %.30.i99
  store i64 %.23.i98, ptr %.15.i90, align 1
  br label %after.17.sink.split

then.78:                                          ; preds = %scheduling.take_turns.exit
  %.85 = load ptr, ptr %.19, align 1
  %.5.i115 = load i64, ptr %.10.i7, align 1
  %.12175.not.i = icmp eq i64 %.5.i115, 0
  br i1 %.12175.not.i, label %after.10.i, label %do.8.lr.ph.i

do.8.lr.ph.i:                                     ; preds = %then.78
  %.4.i4.i = getelementptr i8, ptr %.85, i64 40
  %.5.i5.i = load ptr, ptr %.4.i4.i, align 1
  %.9.i7.i = load i64, ptr %.8.i6.i, align 1
  br label %do.8.i

do.8.i:                                           ; preds = %do.8.i, %do.8.lr.ph.i
  %alive.0177.i = phi i1 [ false, %do.8.lr.ph.i ], [ %spec.select.i, %do.8.i ]
  %.6.0176.i = phi i64 [ 0, %do.8.lr.ph.i ], [ %.23.i119, %do.8.i ]
  %.10.i.i116 = mul i64 %.6.0176.i, %.9.i7.i
  %.11.i.i117 = getelementptr i8, ptr %.5.i5.i, i64 %.10.i.i116
  %.19.i = getelementptr i8, ptr %.11.i.i117, i64 128
  %.20.i118 = load i32, ptr %.19.i, align 1
  %.21.not.i = icmp ne i32 %.20.i118, 0
  %spec.select.i = select i1 %.21.not.i, i1 true, i1 %alive.0177.i
  %.23.i119 = add nuw i64 %.6.0176.i, 1
  %.12.i120 = icmp ult i64 %.23.i119, %.5.i115
  br i1 %.12.i120, label %do.8.i, label %after.10.i

after.10.i:                                       ; preds = %do.8.i, %then.78
  %alive.0.lcssa.i = phi i1 [ false, %then.78 ], [ %spec.select.i, %do.8.i ]
  %.25.i121 = getelementptr i8, ptr %.85, i64 72
  %.26.i122 = load ptr, ptr %.25.i121, align 1
  br i1 %alive.0.lcssa.i, label %after.28.i, label %then.27.i

then.27.i:                                        ; preds = %after.10.i
  store i32 0, ptr %.85, align 1
  %.32.i123 = getelementptr i8, ptr %.26.i122, i64 16
  %.33.i124 = load i64, ptr %.32.i123, align 1
  %.34.i125 = add i64 %.33.i124, -1
  store i64 %.34.i125, ptr %.32.i123, align 1
  %.37.i127 = load i64, ptr %.36.i126, align 1
  %.38.i128 = add i64 %.37.i127, 1
  store i64 %.38.i128, ptr %.36.i126, align 1
  %.43.i129 = load i64, ptr %.32.i123, align 1
  %.44.not.i = icmp eq i64 %.43.i129, 0
  br i1 %.44.not.i, label %after.79, label %then.39.i

after.28.i:                                       ; preds = %after.10.i
  br i1 %.12175.not.i, label %chosen.60.i.i, label %do.8.lr.ph.i.i138

do.8.lr.ph.i.i138:                                ; preds = %after.28.i
  %.4.i.i.i = getelementptr i8, ptr %.85, i64 40
  %.5.i.i.i = load ptr, ptr %.4.i.i.i, align 1
  %.9.i.i.i139 = load i64, ptr %.8.i.i.i, align 1
  br label %do.8.i.i140

do.8.i.i140:                                      ; preds = %after.18.i.i, %do.8.lr.ph.i.i138
  %waiting.010.i.i = phi i32 [ 0, %do.8.lr.ph.i.i138 ], [ %waiting.1.i.i, %after.18.i.i ]
  %free.09.i.i = phi i32 [ 0, %do.8.lr.ph.i.i138 ], [ %.55.i.i155, %after.18.i.i ]
  %used.08.i.i = phi i32 [ 0, %do.8.lr.ph.i.i138 ], [ %used.1.i.i, %after.18.i.i ]
  %.6.07.i.i = phi i64 [ 0, %do.8.lr.ph.i.i138 ], [ %.57.i.i156, %after.18.i.i ]
  %.10.i.i.i = mul i64 %.6.07.i.i, %.9.i.i.i139
  %.11.i.i.i = getelementptr i8, ptr %.5.i.i.i, i64 %.10.i.i.i
  %.20.i.i141 = getelementptr i8, ptr %.11.i.i.i, i64 128
  %.21.i.i142 = load i32, ptr %.20.i.i141, align 1
  %.22.not.i.i = icmp eq i32 %.21.i.i142, 0
  br i1 %.22.not.i.i, label %after.18.i.i, label %then.17.i.i

then.17.i.i:                                      ; preds = %do.8.i.i140
  %.29.i.i143 = getelementptr i8, ptr %.11.i.i.i, i64 132
  %.30.i.i144 = load i32, ptr %.29.i.i143, align 1
  %.31.i.i = icmp eq i32 %.21.i.i142, %.30.i.i144
  %.33.i.i145 = zext i1 %.31.i.i to i32
  %spec.select.i.i = add i32 %waiting.010.i.i, %.33.i.i145
  %.36.i.i146 = getelementptr i8, ptr %.11.i.i.i, i64 320
  %.37.i.i = load <16 x i32>, ptr %.36.i.i146, align 1
  %.38.i.i147 = icmp ne <16 x i32> %.37.i.i, zeroinitializer
  %.39.i.i148 = bitcast <16 x i1> %.38.i.i147 to i16
  %.40.i.i149 = zext i16 %.39.i.i148 to i32
  %.41.i.i150 = or i32 %used.08.i.i, %.40.i.i149
  br label %after.18.i.i

after.18.i.i:                                     ; preds = %then.17.i.i, %do.8.i.i140
  %used.1.i.i = phi i32 [ %.41.i.i150, %then.17.i.i ], [ %used.08.i.i, %do.8.i.i140 ]
  %waiting.1.i.i = phi i32 [ %spec.select.i.i, %then.17.i.i ], [ %waiting.010.i.i, %do.8.i.i140 ]
  %.47.i.i = getelementptr i8, ptr %.11.i.i.i, i64 132
  %.48.i.i151 = load i32, ptr %.47.i.i, align 1
  %.50.i.i152 = getelementptr i8, ptr %.11.i.i.i, i64 184
  %.51.i.i = load i32, ptr %.50.i.i152, align 1
  %.52.i.i153 = or i32 %.51.i.i, %.48.i.i151
  %.53.i.i = xor i32 %.52.i.i153, -1
  %.54.i.i154 = and i32 %.21.i.i142, %.53.i.i
  %.55.i.i155 = or i32 %.54.i.i154, %free.09.i.i
  %.57.i.i156 = add nuw i64 %.6.07.i.i, 1
  %.12.i.i157 = icmp ult i64 %.57.i.i156, %.5.i115
  br i1 %.12.i.i157, label %do.8.i.i140, label %chosen.60.loopexit.i.i

chosen.60.loopexit.i.i:                           ; preds = %after.18.i.i
  %4 = icmp eq i32 %waiting.1.i.i, 0
  %5 = icmp ne i32 %.55.i.i155, 0
  br label %chosen.60.i.i

chosen.60.i.i:                                    ; preds = %chosen.60.loopexit.i.i, %after.28.i
  %used.0.lcssa.i.i = phi i32 [ 0, %after.28.i ], [ %used.1.i.i, %chosen.60.loopexit.i.i ]
  %free.0.lcssa.i.i = phi i1 [ false, %after.28.i ], [ %5, %chosen.60.loopexit.i.i ]
  %waiting.0.lcssa.i.i = phi i1 [ true, %after.28.i ], [ %4, %chosen.60.loopexit.i.i ]
  %.72.not13.i.i = icmp eq i32 %used.0.lcssa.i.i, 0
  %or.cond17.i.i = select i1 %waiting.0.lcssa.i.i, i1 true, i1 %.72.not13.i.i
  br i1 %or.cond17.i.i, label %scheduling.goes_on.exit.i, label %do.69.i.i

after.63.loopexit.i.i:                            ; preds = %do.69.i.i
  %6 = select i1 %spec.select5.i.i, i1 true, i1 %free.0.lcssa.i.i
  br label %scheduling.goes_on.exit.i

do.69.i.i:                                        ; preds = %chosen.60.i.i, %do.69.i.i
  %.66.015.i.i = phi i32 [ %.75.i.i158, %do.69.i.i ], [ %used.0.lcssa.i.i, %chosen.60.i.i ]
  %opened.114.i.i = phi i1 [ %spec.select5.i.i, %do.69.i.i ], [ false, %chosen.60.i.i ]
  %.73.i.i = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.66.015.i.i, i1 true)
  %.74.i.i = add nsw i32 %.66.015.i.i, -1
  %.75.i.i158 = and i32 %.74.i.i, %.66.015.i.i
  %.81.i.i = tail call fastcc i1 @scheduling.try_to_open(ptr readonly %context.given, ptr %.85, i32 %.73.i.i)
  %spec.select5.i.i = select i1 %.81.i.i, i1 true, i1 %opened.114.i.i
  %.72.not.i.i159 = icmp eq i32 %.75.i.i158, 0
  br i1 %.72.not.i.i159, label %after.63.loopexit.i.i, label %do.69.i.i

scheduling.goes_on.exit.i:                        ; preds = %after.63.loopexit.i.i, %chosen.60.i.i
  %opened.0.i.i = phi i1 [ %free.0.lcssa.i.i, %chosen.60.i.i ], [ %6, %after.63.loopexit.i.i ]
  br i1 %opened.0.i.i, label %then.46.i, label %after.47.i

then.39.i:                                        ; preds = %then.27.i
  %.5.i11.i = load i64, ptr %.4.i10.i, align 1
  %.122.not.i.i130 = icmp eq i64 %.5.i11.i, 0
  br i1 %.122.not.i.i130, label %after.79, label %do.8.i13.i

do.8.i13.i:                                       ; preds = %then.39.i, %do.8.i13.i
  %.6.03.i.i132 = phi i64 [ %.21.i14.i, %do.8.i13.i ], [ 0, %then.39.i ]
  %.15.i.i133 = load ptr, ptr %.14.i.i131, align 1
  %.17.i.i134 = mul i64 %.6.03.i.i132, 48
  %.18.i.i135 = getelementptr i8, ptr %.15.i.i133, i64 %.17.i.i134
  %.19.i.i136 = getelementptr i8, ptr %.18.i.i135, i64 8
  store i64 0, ptr %.19.i.i136, align 1
  %.21.i14.i = add nuw i64 %.6.03.i.i132, 1
  %.12.i15.i = icmp ult i64 %.21.i14.i, %.5.i11.i
  br i1 %.12.i15.i, label %do.8.i13.i, label %after.79

then.46.i:                                        ; preds = %scheduling.goes_on.exit.i
  %.4.i16.i = getelementptr i8, ptr %.85, i64 48
  store i64 0, ptr %.4.i16.i, align 1
  %.9.i18.i = load i64, ptr %.8.i17.i, align 1
  %.10.not.i.i = icmp eq i64 %.9.i18.i, 0
  br i1 %.10.not.i.i, label %after.79, label %then.5.i.i

then.5.i.i:                                       ; preds = %then.46.i
  %.13.i.i181 = load i64, ptr %.10.i7, align 1
  %.205.i.i = icmp ugt i64 %.13.i.i181, 1
  br i1 %.205.i.i, label %do.16.i.i, label %after.79

do.16.i.i:                                        ; preds = %then.5.i.i, %do.16.i.i
  %.14.06.i.i = phi i64 [ %.57.i28.i, %do.16.i.i ], [ 1, %then.5.i.i ]
  %.23.i.i183 = load i64, ptr %.10.i7, align 1
  %.25.i.i184 = sub i64 %.23.i.i183, %.14.06.i.i
  %.5.i.i20.i = load i64, ptr %.8.i17.i, align 1
  %.8.i.i21.i = shl i64 %.5.i.i20.i, 13
  %.9.i.i22.i = xor i64 %.8.i.i21.i, %.5.i.i20.i
  %.12.i.i.i185 = lshr i64 %.9.i.i22.i, 7
  %.13.i.i.i186 = xor i64 %.12.i.i.i185, %.9.i.i22.i
  %.16.i.i.i187 = shl i64 %.13.i.i.i186, 17
  %.17.i.i.i188 = xor i64 %.16.i.i.i187, %.13.i.i.i186
  store i64 %.17.i.i.i188, ptr %.8.i17.i, align 1
  %.31.i23.i = add i64 %.25.i.i184, 1
  %.32.i.i189 = urem i64 %.17.i.i.i188, %.31.i23.i
  %.35.i.i190 = load ptr, ptr %.34.i.i182, align 1
  %.37.i24.i = getelementptr i32, ptr %.35.i.i190, i64 %.25.i.i184
  %.38.i25.i = load i32, ptr %.37.i24.i, align 1
  %.43.i.i191 = getelementptr i32, ptr %.35.i.i190, i64 %.32.i.i189
  %.44.i.i = load i32, ptr %.43.i.i191, align 1
  store i32 %.44.i.i, ptr %.37.i24.i, align 1
  %.53.i26.i = load ptr, ptr %.34.i.i182, align 1
  %.55.i27.i = getelementptr i32, ptr %.53.i26.i, i64 %.32.i.i189
  store i32 %.38.i25.i, ptr %.55.i27.i, align 1
  %.57.i28.i = add nuw i64 %.14.06.i.i, 1
  %.20.i29.i = icmp ult i64 %.57.i28.i, %.13.i.i181
  br i1 %.20.i29.i, label %do.16.i.i, label %after.79

after.47.i:                                       ; preds = %scheduling.goes_on.exit.i
  %.54.i160 = getelementptr i8, ptr %.26.i122, i64 8
  %.55.i = load i64, ptr %.54.i160, align 1
  %.62178.not.i = icmp eq i64 %.55.i, 0
  br i1 %.62178.not.i, label %after.60.i, label %do.58.lr.ph.i

do.58.lr.ph.i:                                    ; preds = %after.47.i
  %.82.i = getelementptr i8, ptr %.85, i64 80
  br label %do.58.i

do.58.i:                                          ; preds = %after.74.i, %do.58.lr.ph.i
  %.56.0179.i = phi i64 [ 0, %do.58.lr.ph.i ], [ %.94.i, %after.74.i ]
  %.65.i161 = load ptr, ptr %.64.i, align 1
  %.67.i = load i64, ptr %.26.i122, align 1
  %.69.i = add i64 %.67.i, %.56.0179.i
  %.70.i = shl i64 %.69.i, 3
  %.71.i162 = getelementptr i8, ptr %.65.i161, i64 %.70.i
  %.72.i163 = load ptr, ptr %.71.i162, align 1
  %.77.i = load i32, ptr %.72.i163, align 1
  %.78.not.i = icmp eq i32 %.77.i, 0
  br i1 %.78.not.i, label %after.74.i, label %and.75.i

after.60.i:                                       ; preds = %after.74.i, %after.47.i
  %.96.i = load i64, ptr %.26.i122, align 1
  %.5.i31.i = load i64, ptr %.54.i160, align 1
  %.1511.not.i.i = icmp eq i64 %.5.i31.i, 0
  br i1 %.1511.not.i.i, label %scheduling.to_report.exit.i, label %do.11.lr.ph.i.i166

do.11.lr.ph.i.i166:                               ; preds = %after.60.i
  %.18.i33.i = load ptr, ptr %.17.i32.i, align 1
  br label %do.11.i.i167

do.11.i.i167:                                     ; preds = %after.27.i.i, %do.11.lr.ph.i.i166
  %found.013.i.i = phi i64 [ %.5.i31.i, %do.11.lr.ph.i.i166 ], [ %found.1.i.i, %after.27.i.i ]
  %.9.012.i.i = phi i64 [ 0, %do.11.lr.ph.i.i166 ], [ %.64.i.i175, %after.27.i.i ]
  %.22.i.i168 = add i64 %.9.012.i.i, %.96.i
  %.23.i37.i = shl i64 %.22.i.i168, 3
  %.24.i.i = getelementptr i8, ptr %.18.i33.i, i64 %.23.i37.i
  %.25.i38.i = load ptr, ptr %.24.i.i, align 1
  %.29.i39.i = load i32, ptr %.25.i38.i, align 1
  %.30.not.i.i = icmp eq i32 %.29.i39.i, 0
  br i1 %.30.not.i.i, label %after.27.i.i, label %then.26.i.i

then.26.i.i:                                      ; preds = %do.11.i.i167
  %.33.i40.i = load i64, ptr %.10.i7, align 1
  %.409.not.i.i = icmp eq i64 %.33.i40.i, 0
  br i1 %.409.not.i.i, label %after.38.i.i, label %do.36.lr.ph.i.i

do.36.lr.ph.i.i:                                  ; preds = %then.26.i.i
  %.4.i.i41.i = getelementptr i8, ptr %.25.i38.i, i64 40
  %.5.i.i42.i = load ptr, ptr %.4.i.i41.i, align 1
  %.9.i.i43.i = load i64, ptr %.8.i.i36.i, align 1
  br label %do.36.i.i

after.27.i.i:                                     ; preds = %after.38.i.i, %do.11.i.i167
  %found.1.i.i = phi i64 [ %.62.i.i174, %after.38.i.i ], [ %found.013.i.i, %do.11.i.i167 ]
  %.64.i.i175 = add nuw i64 %.9.012.i.i, 1
  %.15.i52.i = icmp ult i64 %.64.i.i175, %.5.i31.i
  br i1 %.15.i52.i, label %do.11.i.i167, label %scheduling.to_report.exit.i

for.35.i.i:                                       ; preds = %do.36.i.i
  %.58.i.i = add nuw i64 %.34.010.i.i, 1
  %.40.i51.i = icmp ult i64 %.58.i.i, %.33.i40.i
  br i1 %.40.i51.i, label %do.36.i.i, label %after.38.i.i

do.36.i.i:                                        ; preds = %for.35.i.i, %do.36.lr.ph.i.i
  %.34.010.i.i = phi i64 [ 0, %do.36.lr.ph.i.i ], [ %.58.i.i, %for.35.i.i ]
  %.10.i.i44.i = mul i64 %.34.010.i.i, %.9.i.i43.i
  %.11.i.i45.i = getelementptr i8, ptr %.5.i.i42.i, i64 %.10.i.i44.i
  %.48.i46.i = getelementptr i8, ptr %.11.i.i45.i, i64 128
  %.49.i.i169 = load i32, ptr %.48.i46.i, align 1
  %.51.i47.i = getelementptr i8, ptr %.11.i.i45.i, i64 180
  %.52.i48.i = load i32, ptr %.51.i47.i, align 1
  %.53.i49.i = xor i32 %.52.i48.i, -1
  %.54.i50.i = and i32 %.49.i.i169, %.53.i49.i
  %.55.not.i.i = icmp eq i32 %.54.i50.i, 0
  br i1 %.55.not.i.i, label %for.35.i.i, label %scheduling.to_report.exit.i

after.38.i.i:                                     ; preds = %for.35.i.i, %then.26.i.i
  %.62.i.i174 = tail call i64 @llvm.umin.i64(i64 %found.013.i.i, i64 %.9.012.i.i)
  br label %after.27.i.i

scheduling.to_report.exit.i:                      ; preds = %after.27.i.i, %do.36.i.i, %after.60.i
  %common.ret.op.i.i170 = phi i64 [ %.9.012.i.i, %do.36.i.i ], [ 0, %after.60.i ], [ %found.1.i.i, %after.27.i.i ]
  %.100.i = add i64 %common.ret.op.i.i170, %.96.i
  store i64 %.100.i, ptr %.102.i, align 1
  %.4.i.i171 = getelementptr i8, ptr %.85, i64 40
  %.5.i.i172 = load ptr, ptr %.4.i.i171, align 1
  store i32 3, ptr %.5.i53.i, align 1
  store i32 0, ptr %.9.i54.i, align 1
  store i32 0, ptr %.13.i55.i, align 1
  %.15.i56.i = getelementptr i8, ptr %.5.i.i172, i64 200
  %.16.i.i173 = load i32, ptr %.15.i56.i, align 1
  store i32 %.16.i.i173, ptr %.19.i57.i, align 1
  store i64 0, ptr %.23.i58.i, align 1
  br label %after.79

then.73.i:                                        ; preds = %scheduling.goes_on.exit168.i
  %.4.i59.i = getelementptr i8, ptr %.85, i64 48
  store i64 0, ptr %.4.i59.i, align 1
  %.9.i61.i = load i64, ptr %.8.i60.i, align 1
  %.10.not.i62.i = icmp eq i64 %.9.i61.i, 0
  br i1 %.10.not.i62.i, label %block_start.begin_round.exit91.i, label %then.5.i63.i

then.5.i63.i:                                     ; preds = %then.73.i
  %.13.i65.i = load i64, ptr %.10.i7, align 1
  %.205.i66.i = icmp ugt i64 %.13.i65.i, 1
  br i1 %.205.i66.i, label %do.16.i69.i, label %block_start.begin_round.exit91.i

do.16.i69.i:                                      ; preds = %then.5.i63.i, %do.16.i69.i
  %.14.06.i70.i = phi i64 [ %.57.i89.i, %do.16.i69.i ], [ 1, %then.5.i63.i ]
  %.23.i71.i = load i64, ptr %.10.i7, align 1
  %.25.i72.i = sub i64 %.23.i71.i, %.14.06.i70.i
  %.5.i.i73.i = load i64, ptr %.8.i60.i, align 1
  %.8.i.i74.i = shl i64 %.5.i.i73.i, 13
  %.9.i.i75.i = xor i64 %.8.i.i74.i, %.5.i.i73.i
  %.12.i.i76.i = lshr i64 %.9.i.i75.i, 7
  %.13.i.i77.i = xor i64 %.12.i.i76.i, %.9.i.i75.i
  %.16.i.i78.i = shl i64 %.13.i.i77.i, 17
  %.17.i.i79.i = xor i64 %.16.i.i78.i, %.13.i.i77.i
  store i64 %.17.i.i79.i, ptr %.8.i60.i, align 1
  %.31.i80.i = add i64 %.25.i72.i, 1
  %.32.i81.i = urem i64 %.17.i.i79.i, %.31.i80.i
  %.35.i82.i = load ptr, ptr %.34.i68.i, align 1
  %.37.i83.i = getelementptr i32, ptr %.35.i82.i, i64 %.25.i72.i
  %.38.i84.i = load i32, ptr %.37.i83.i, align 1
  %.43.i85.i = getelementptr i32, ptr %.35.i82.i, i64 %.32.i81.i
  %.44.i86.i = load i32, ptr %.43.i85.i, align 1
  store i32 %.44.i86.i, ptr %.37.i83.i, align 1
  %.53.i87.i = load ptr, ptr %.34.i68.i, align 1
  %.55.i88.i = getelementptr i32, ptr %.53.i87.i, i64 %.32.i81.i
  store i32 %.38.i84.i, ptr %.55.i88.i, align 1
  %.57.i89.i = add nuw i64 %.14.06.i70.i, 1
  %.20.i90.i = icmp ult i64 %.57.i89.i, %.13.i65.i
  br i1 %.20.i90.i, label %do.16.i69.i, label %block_start.begin_round.exit91.i

block_start.begin_round.exit91.i:                 ; preds = %do.16.i69.i, %then.5.i63.i, %then.73.i
  %.5.i.i93.i = load i64, ptr %.4.i.i92.i, align 1
  %.122.not.i.i.i = icmp eq i64 %.5.i.i93.i, 0
  br i1 %.122.not.i.i.i, label %forget.exit.i.i, label %do.8.i.i.i

do.8.i.i.i:                                       ; preds = %block_start.begin_round.exit91.i, %do.8.i.i.i
  %.6.03.i.i.i = phi i64 [ %.21.i.i.i, %do.8.i.i.i ], [ 0, %block_start.begin_round.exit91.i ]
  %.15.i.i.i177 = load ptr, ptr %.14.i.i.i176, align 1
  %.17.i.i94.i = mul i64 %.6.03.i.i.i, 48
  %.18.i.i.i = getelementptr i8, ptr %.15.i.i.i177, i64 %.17.i.i94.i
  %.19.i.i.i178 = getelementptr i8, ptr %.18.i.i.i, i64 8
  store i64 0, ptr %.19.i.i.i178, align 1
  %.21.i.i.i = add nuw i64 %.6.03.i.i.i, 1
  %.12.i.i95.i = icmp ult i64 %.21.i.i.i, %.5.i.i93.i
  br i1 %.12.i.i95.i, label %do.8.i.i.i, label %forget.exit.i.i

forget.exit.i.i:                                  ; preds = %do.8.i.i.i, %block_start.begin_round.exit91.i
  %.6.i.i179 = load i64, ptr %.5.i96.i, align 1
  %.136.not.i.i = icmp eq i64 %.6.i.i179, 0
  br i1 %.136.not.i.i, label %after.79, label %do.9.lr.ph.i.i

do.9.lr.ph.i.i:                                   ; preds = %forget.exit.i.i
  %.16.i98.i = load i64, ptr %.15.i97.i, align 1
  %invariant.op.i.i = add i64 %.16.i98.i, 1
  %.28.i.i180 = load ptr, ptr %.64.i, align 1
  br label %do.9.i.i

for.8.i.i:                                        ; preds = %do.9.i.i
  %.48.i105.i = add nuw i64 %.7.07.i.i, 1
  %.13.i106.i = icmp ult i64 %.48.i105.i, %.6.i.i179
  br i1 %.13.i106.i, label %do.9.i.i, label %after.79

do.9.i.i:                                         ; preds = %for.8.i.i, %do.9.lr.ph.i.i
  %.7.07.i.i = phi i64 [ 0, %do.9.lr.ph.i.i ], [ %.48.i105.i, %for.8.i.i ]
  %.19.reass.i.i = add i64 %invariant.op.i.i, %.7.07.i.i
  %.23.i99.i = urem i64 %.19.reass.i.i, %.6.i.i179
  %.30.i100.i = shl i64 %.23.i99.i, 3
  %.31.i101.i = getelementptr i8, ptr %.28.i.i180, i64 %.30.i100.i
  %.32.i102.i = load ptr, ptr %.31.i101.i, align 1
  %.33.i103.i = load i32, ptr %.32.i102.i, align 1
  %.34.not.i.i = icmp eq i32 %.33.i103.i, 0
  br i1 %.34.not.i.i, label %for.8.i.i, label %then.24.i.i

then.24.i.i:                                      ; preds = %do.9.i.i
  %.31.i101.i.le = getelementptr i8, ptr %.28.i.i180, i64 %.30.i100.i
  store i64 %.23.i99.i, ptr %.15.i97.i, align 1
  %.44.i104.i = load ptr, ptr %.31.i101.i.le, align 1
  store ptr %.44.i104.i, ptr %.19, align 1
  br label %after.79

after.74.i:                                       ; preds = %scheduling.goes_on.exit168.i, %and.75.i, %do.58.i
  %.94.i = add nuw i64 %.56.0179.i, 1
  %.62.i165 = icmp ult i64 %.94.i, %.55.i
  br i1 %.62.i165, label %do.58.i, label %after.60.i

and.75.i:                                         ; preds = %do.58.i
  %.83.i = load i32, ptr %.82.i, align 1
  %.84.i164 = zext i32 %.83.i to i64
  %.85.not.i = icmp eq i64 %.56.0179.i, %.84.i164
  br i1 %.85.not.i, label %after.74.i, label %and.79.i

and.79.i:                                         ; preds = %and.75.i
  %.5.i108.i = load i64, ptr %.10.i7, align 1
  %.126.not.i109.i = icmp eq i64 %.5.i108.i, 0
  br i1 %.126.not.i109.i, label %chosen.60.i151.i, label %do.8.lr.ph.i110.i

do.8.lr.ph.i110.i:                                ; preds = %and.79.i
  %.4.i.i111.i = getelementptr i8, ptr %.72.i163, i64 40
  %.5.i.i112.i = load ptr, ptr %.4.i.i111.i, align 1
  %.9.i.i114.i = load i64, ptr %.8.i.i113.i, align 1
  br label %do.8.i115.i

do.8.i115.i:                                      ; preds = %after.18.i137.i, %do.8.lr.ph.i110.i
  %waiting.010.i116.i = phi i32 [ 0, %do.8.lr.ph.i110.i ], [ %waiting.1.i139.i, %after.18.i137.i ]
  %free.09.i117.i = phi i32 [ 0, %do.8.lr.ph.i110.i ], [ %.55.i147.i, %after.18.i137.i ]
  %used.08.i118.i = phi i32 [ 0, %do.8.lr.ph.i110.i ], [ %used.1.i138.i, %after.18.i137.i ]
  %.6.07.i119.i = phi i64 [ 0, %do.8.lr.ph.i110.i ], [ %.57.i148.i, %after.18.i137.i ]
  %.10.i.i120.i = mul i64 %.6.07.i119.i, %.9.i.i114.i
  %.11.i.i121.i = getelementptr i8, ptr %.5.i.i112.i, i64 %.10.i.i120.i
  %.20.i122.i = getelementptr i8, ptr %.11.i.i121.i, i64 128
  %.21.i123.i = load i32, ptr %.20.i122.i, align 1
  %.22.not.i124.i = icmp eq i32 %.21.i123.i, 0
  br i1 %.22.not.i124.i, label %after.18.i137.i, label %then.17.i125.i

then.17.i125.i:                                   ; preds = %do.8.i115.i
  %.29.i126.i = getelementptr i8, ptr %.11.i.i121.i, i64 132
  %.30.i127.i = load i32, ptr %.29.i126.i, align 1
  %.31.i128.i = icmp eq i32 %.21.i123.i, %.30.i127.i
  %.33.i129.i = zext i1 %.31.i128.i to i32
  %spec.select.i130.i = add i32 %waiting.010.i116.i, %.33.i129.i
  %.36.i131.i = getelementptr i8, ptr %.11.i.i121.i, i64 320
  %.37.i132.i = load <16 x i32>, ptr %.36.i131.i, align 1
  %.38.i133.i = icmp ne <16 x i32> %.37.i132.i, zeroinitializer
  %.39.i134.i = bitcast <16 x i1> %.38.i133.i to i16
  %.40.i135.i = zext i16 %.39.i134.i to i32
  %.41.i136.i = or i32 %used.08.i118.i, %.40.i135.i
  br label %after.18.i137.i

after.18.i137.i:                                  ; preds = %then.17.i125.i, %do.8.i115.i
  %used.1.i138.i = phi i32 [ %.41.i136.i, %then.17.i125.i ], [ %used.08.i118.i, %do.8.i115.i ]
  %waiting.1.i139.i = phi i32 [ %spec.select.i130.i, %then.17.i125.i ], [ %waiting.010.i116.i, %do.8.i115.i ]
  %.47.i140.i = getelementptr i8, ptr %.11.i.i121.i, i64 132
  %.48.i141.i = load i32, ptr %.47.i140.i, align 1
  %.50.i142.i = getelementptr i8, ptr %.11.i.i121.i, i64 184
  %.51.i143.i = load i32, ptr %.50.i142.i, align 1
  %.52.i144.i = or i32 %.51.i143.i, %.48.i141.i
  %.53.i145.i = xor i32 %.52.i144.i, -1
  %.54.i146.i = and i32 %.21.i123.i, %.53.i145.i
  %.55.i147.i = or i32 %.54.i146.i, %free.09.i117.i
  %.57.i148.i = add nuw i64 %.6.07.i119.i, 1
  %.12.i149.i = icmp ult i64 %.57.i148.i, %.5.i108.i
  br i1 %.12.i149.i, label %do.8.i115.i, label %chosen.60.loopexit.i150.i

chosen.60.loopexit.i150.i:                        ; preds = %after.18.i137.i
  %7 = icmp eq i32 %waiting.1.i139.i, 0
  %8 = icmp ne i32 %.55.i147.i, 0
  br label %chosen.60.i151.i

chosen.60.i151.i:                                 ; preds = %chosen.60.loopexit.i150.i, %and.79.i
  %used.0.lcssa.i152.i = phi i32 [ 0, %and.79.i ], [ %used.1.i138.i, %chosen.60.loopexit.i150.i ]
  %free.0.lcssa.i153.i = phi i1 [ false, %and.79.i ], [ %8, %chosen.60.loopexit.i150.i ]
  %waiting.0.lcssa.i154.i = phi i1 [ true, %and.79.i ], [ %7, %chosen.60.loopexit.i150.i ]
  %.72.not13.i155.i = icmp eq i32 %used.0.lcssa.i152.i, 0
  %or.cond17.i156.i = select i1 %waiting.0.lcssa.i154.i, i1 true, i1 %.72.not13.i155.i
  br i1 %or.cond17.i156.i, label %scheduling.goes_on.exit168.i, label %do.69.i157.i

after.63.loopexit.i166.i:                         ; preds = %do.69.i157.i
  %9 = select i1 %spec.select5.i164.i, i1 true, i1 %free.0.lcssa.i153.i
  br label %scheduling.goes_on.exit168.i

do.69.i157.i:                                     ; preds = %chosen.60.i151.i, %do.69.i157.i
  %.66.015.i158.i = phi i32 [ %.75.i162.i, %do.69.i157.i ], [ %used.0.lcssa.i152.i, %chosen.60.i151.i ]
  %opened.114.i159.i = phi i1 [ %spec.select5.i164.i, %do.69.i157.i ], [ false, %chosen.60.i151.i ]
  %.73.i160.i = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.66.015.i158.i, i1 true)
  %.74.i161.i = add nsw i32 %.66.015.i158.i, -1
  %.75.i162.i = and i32 %.74.i161.i, %.66.015.i158.i
  %.81.i163.i = tail call fastcc i1 @scheduling.try_to_open(ptr readonly %context.given, ptr nonnull %.72.i163, i32 %.73.i160.i)
  %spec.select5.i164.i = select i1 %.81.i163.i, i1 true, i1 %opened.114.i159.i
  %.72.not.i165.i = icmp eq i32 %.75.i162.i, 0
  br i1 %.72.not.i165.i, label %after.63.loopexit.i166.i, label %do.69.i157.i

scheduling.goes_on.exit168.i:                     ; preds = %after.63.loopexit.i166.i, %chosen.60.i151.i
  %opened.0.i167.i = phi i1 [ %free.0.lcssa.i153.i, %chosen.60.i151.i ], [ %9, %after.63.loopexit.i166.i ]
  br i1 %opened.0.i167.i, label %then.73.i, label %after.74.i

after.79:                                         ; preds = %do.8.i13.i, %for.8.i.i, %do.16.i.i, %then.24.i.i, %forget.exit.i.i, %scheduling.to_report.exit.i, %then.5.i.i, %then.46.i, %then.39.i, %then.27.i, %scheduling.take_turns.exit
  %outcome.0 = phi i32 [ %common.ret.op.i8, %scheduling.take_turns.exit ], [ 7, %then.24.i.i ], [ 6, %do.16.i.i ], [ 1, %scheduling.to_report.exit.i ], [ 6, %then.27.i ], [ 6, %then.39.i ], [ 6, %then.46.i ], [ 6, %then.5.i.i ], [ 7, %forget.exit.i.i ], [ 7, %for.8.i.i ], [ 6, %do.8.i13.i ]
  %or.cond = icmp ult i32 %outcome.0, 6
  br i1 %or.cond, label %then.87, label %while.3

then.87:                                          ; preds = %after.79
  %.97 = icmp eq i32 %outcome.0, 1
  br i1 %.97, label %then.94, label %common.ret

then.94:                                          ; preds = %then.87
  %.99 = getelementptr i8, ptr %context.given, i64 8
  %.100 = load ptr, ptr %.99, align 1
  store i32 1, ptr %.100, align 1
  br label %common.ret
}

define noundef i1 @scheduling_rounds.end_alike(ptr captures(none) %context.given, ptr captures(none) %cta.given, i32 %ended.given, i1 %noted.given) local_unnamed_addr #2 {
entry.1:
  switch i32 %ended.given, label %after.23 [
    i32 2, label %then.3
    i32 3, label %then.22
  ]

then.3:                                           ; preds = %entry.1
  %.7.i = getelementptr i8, ptr %context.given, i64 8
  %.8.i = load ptr, ptr %.7.i, align 1
  %.10.i = load i32, ptr %.8.i, align 1
  %.11.not.i = icmp eq i32 %.10.i, 0
  br i1 %.11.not.i, label %or.5.i, label %then.3.i

then.3.i:                                         ; preds = %or.12.i, %or.5.i, %then.3
  %.24.i = getelementptr i8, ptr %context.given, i64 32
  %.25.i = load i64, ptr %.24.i, align 1
  br label %scheduling_rounds.next_ticket.exit

or.5.i:                                           ; preds = %then.3
  %.14.i = getelementptr i8, ptr %context.given, i64 168
  %.15.i = load i32, ptr %.14.i, align 1
  %.16.not.i = icmp eq i32 %.15.i, 0
  br i1 %.16.not.i, label %or.12.i, label %then.3.i

or.12.i:                                          ; preds = %or.5.i
  %.18.i = getelementptr i8, ptr %cta.given, i64 72
  %.19.i = load ptr, ptr %.18.i, align 1
  %.20.i = getelementptr i8, ptr %.19.i, i64 8
  %.21.i = load i64, ptr %.20.i, align 1
  %.22.not.i = icmp eq i64 %.21.i, 1
  br i1 %.22.not.i, label %or.28.i, label %then.3.i

then.26.i:                                        ; preds = %or.28.i
  %.37.i = getelementptr i8, ptr %context.given, i64 32
  %.38.i = load i64, ptr %.37.i, align 1
  br label %scheduling_rounds.next_ticket.exit

or.28.i:                                          ; preds = %or.12.i
  %.31.i = getelementptr i8, ptr %context.given, i64 144
  %.32.i = load i64, ptr %.31.i, align 1
  %.33.i = icmp slt i64 %.32.i, 1
  br i1 %.33.i, label %then.26.i, label %or.29.i

or.29.i:                                          ; preds = %or.28.i
  %.42.i = add nsw i64 %.32.i, -1
  store i64 %.42.i, ptr %.31.i, align 1
  %.6.i25 = getelementptr i8, ptr %context.given, i64 419
  %.7.i26 = load i8, ptr %.6.i25, align 1
  %.8.not.i = icmp eq i8 %.7.i26, 0
  br i1 %.8.not.i, label %after.4.i, label %then.3.i27

then.3.i27:                                       ; preds = %or.29.i
  %.10.i28 = load ptr, ptr %context.given, align 1
  %.12.i29 = load i64, ptr %.10.i28, align 1
  %.14.i30 = add i64 %.12.i29, 1
  store i64 %.14.i30, ptr %.10.i28, align 1
  br label %block_start.draw_ticket.exit

after.4.i:                                        ; preds = %or.29.i
  %.22.i32 = getelementptr i8, ptr %context.given, i64 40
  %.23.i = load i64, ptr %.22.i32, align 1
  %.25.i33 = getelementptr i8, ptr %context.given, i64 48
  %.26.i34 = load i64, ptr %.25.i33, align 1
  %.27.i = icmp eq i64 %.23.i, %.26.i34
  br i1 %.27.i, label %then.19.i, label %after.20.i

then.19.i:                                        ; preds = %after.4.i
  tail call fastcc void @block_start.draw_tickets(ptr %context.given)
  br label %after.20.i

after.20.i:                                       ; preds = %then.19.i, %after.4.i
  %.31.i35 = load i64, ptr %.22.i32, align 1
  %.33.i36 = add i64 %.31.i35, 1
  store i64 %.33.i36, ptr %.22.i32, align 1
  br label %block_start.draw_ticket.exit

block_start.draw_ticket.exit:                     ; preds = %then.3.i27, %after.20.i
  %common.ret.op.i31 = phi i64 [ %.12.i29, %then.3.i27 ], [ %.31.i35, %after.20.i ]
  %.49.i = getelementptr i8, ptr %context.given, i64 32
  %.50.i = load i64, ptr %.49.i, align 1
  %.51.i = icmp ult i64 %common.ret.op.i31, %.50.i
  br i1 %.51.i, label %then.45.i, label %scheduling_rounds.next_ticket.exit

then.45.i:                                        ; preds = %block_start.draw_ticket.exit
  %.53.i = getelementptr i8, ptr %context.given, i64 312
  %.54.i = load i64, ptr %.53.i, align 1
  %.55.i = add i64 %.54.i, 1
  store i64 %.55.i, ptr %.53.i, align 1
  br label %scheduling_rounds.next_ticket.exit

scheduling_rounds.next_ticket.exit:               ; preds = %then.3.i, %then.26.i, %block_start.draw_ticket.exit, %then.45.i
  %common.ret.op.i = phi i64 [ %.25.i, %then.3.i ], [ %.38.i, %then.26.i ], [ %common.ret.op.i31, %then.45.i ], [ %common.ret.op.i31, %block_start.draw_ticket.exit ]
  %.14 = getelementptr i8, ptr %context.given, i64 32
  %.15 = load i64, ptr %.14, align 1
  %.16.not = icmp ult i64 %common.ret.op.i, %.15
  br i1 %.16.not, label %after.11, label %common.ret

common.ret:                                       ; preds = %after.42.i, %or.5.i7, %after.23, %scheduling_rounds.next_ticket.exit, %then.22, %after.11
  %common.ret.op = phi i1 [ false, %scheduling_rounds.next_ticket.exit ], [ true, %after.11 ], [ true, %then.22 ], [ true, %after.42.i ], [ false, %or.5.i7 ], [ false, %after.23 ]
  ret i1 %common.ret.op

after.11:                                         ; preds = %scheduling_rounds.next_ticket.exit
  %.21 = xor i1 %noted.given, true
  tail call fastcc void @block_start.begin(ptr %context.given, ptr %cta.given, i64 %common.ret.op.i, i1 %.21)
  br label %common.ret

then.22:                                          ; preds = %entry.1
  %.27 = getelementptr i8, ptr %cta.given, i64 48
  store i64 0, ptr %.27, align 1
  br label %common.ret

after.23:                                         ; preds = %entry.1
  %.31 = add i32 %ended.given, -4
  %.7.i4 = getelementptr i8, ptr %cta.given, i64 128
  %.9.i = zext i32 %.31 to i64
  %.10.i5 = getelementptr i32, ptr %.7.i4, i64 %.9.i
  %.11.i = load i32, ptr %.10.i5, align 1
  %.12.not.i = icmp eq i32 %.11.i, 0
  br i1 %.12.not.i, label %or.5.i7, label %common.ret

or.5.i7:                                          ; preds = %after.23
  %.15.i8 = getelementptr i8, ptr %cta.given, i64 192
  %.18.i9 = getelementptr i32, ptr %.15.i8, i64 %.9.i
  %.19.i10 = load i32, ptr %.18.i9, align 1
  %.20.not.i = icmp eq i32 %.19.i10, 0
  br i1 %.20.not.i, label %or.13.i, label %common.ret

or.13.i:                                          ; preds = %or.5.i7
  br i1 %noted.given, label %then.21.i, label %after.22.i

then.21.i:                                        ; preds = %or.13.i
  %.25.i13 = getelementptr i8, ptr %context.given, i64 184
  %.26.i = load i64, ptr %.25.i13, align 1
  %.33.i1437.not = icmp eq i64 %.26.i, 0
  br i1 %.33.i1437.not, label %after.22.i, label %do.29.i.lr.ph

do.29.i.lr.ph:                                    ; preds = %then.21.i
  %.4.i10.i = getelementptr i8, ptr %cta.given, i64 40
  %.8.i12.i = getelementptr i8, ptr %context.given, i64 192
  br label %do.29.i

after.22.i:                                       ; preds = %do.29.i, %then.21.i, %or.13.i
  %.44.i11 = getelementptr i8, ptr %cta.given, i64 320
  %.47.i = getelementptr i32, ptr %.44.i11, i64 %.9.i
  %.48.i = load i32, ptr %.47.i, align 1
  %.49.not.i = icmp eq i32 %.48.i, 0
  br i1 %.49.not.i, label %after.42.i, label %then.41.i

do.29.i:                                          ; preds = %do.29.i.lr.ph, %do.29.i
  %.27.0.i38 = phi i64 [ 0, %do.29.i.lr.ph ], [ %.40.i, %do.29.i ]
  %.5.i11.i = load ptr, ptr %.4.i10.i, align 1
  %.9.i13.i = load i64, ptr %.8.i12.i, align 1
  %.10.i14.i = mul i64 %.9.i13.i, %.27.0.i38
  %.11.i15.i = getelementptr i8, ptr %.5.i11.i, i64 %.10.i14.i
  %.4.i = getelementptr i8, ptr %.11.i15.i, i64 320
  %.7.i15 = getelementptr i32, ptr %.4.i, i64 %.9.i
  store i32 0, ptr %.7.i15, align 1
  %.9.i16 = getelementptr i8, ptr %.11.i15.i, i64 384
  %.12.i = getelementptr i32, ptr %.9.i16, i64 %.9.i
  store i32 0, ptr %.12.i, align 1
  %.14.i17 = getelementptr i8, ptr %.11.i15.i, i64 132
  store i32 0, ptr %.14.i17, align 1
  %.40.i = add nuw i64 %.27.0.i38, 1
  %.33.i14 = icmp ult i64 %.40.i, %.26.i
  br i1 %.33.i14, label %do.29.i, label %after.22.i

then.41.i:                                        ; preds = %after.22.i
  %.51.i12 = getelementptr i8, ptr %context.given, i64 184
  %.52.i = load i64, ptr %.51.i12, align 1
  %.59.i39.not = icmp eq i64 %.52.i, 0
  br i1 %.59.i39.not, label %after.57.i, label %do.55.i.lr.ph

do.55.i.lr.ph:                                    ; preds = %then.41.i
  %.4.i.i = getelementptr i8, ptr %cta.given, i64 40
  %.8.i.i = getelementptr i8, ptr %context.given, i64 192
  %.65.i = getelementptr i8, ptr %cta.given, i64 256
  %.68.i = getelementptr i32, ptr %.65.i, i64 %.9.i
  br label %do.55.i

after.42.i:                                       ; preds = %after.57.i, %after.22.i
  %.85.i = getelementptr i8, ptr %cta.given, i64 48
  store i64 0, ptr %.85.i, align 1
  br label %common.ret

do.55.i:                                          ; preds = %do.55.i.lr.ph, %do.55.i
  %.53.0.i40 = phi i64 [ 0, %do.55.i.lr.ph ], [ %.81.i, %do.55.i ]
  %.5.i.i = load ptr, ptr %.4.i.i, align 1
  %.9.i.i = load i64, ptr %.8.i.i, align 1
  %.10.i.i = mul i64 %.9.i.i, %.53.0.i40
  %.11.i.i = getelementptr i8, ptr %.5.i.i, i64 %.10.i.i
  %.69.i = load i32, ptr %.68.i, align 1
  %.71.i = getelementptr i8, ptr %.11.i.i, i64 188
  store i32 %.69.i, ptr %.71.i, align 1
  %.77.i = load i32, ptr %.47.i, align 1
  %.79.i = getelementptr i8, ptr %.11.i.i, i64 192
  store i32 %.77.i, ptr %.79.i, align 1
  %.81.i = add nuw i64 %.53.0.i40, 1
  %.59.i = icmp ult i64 %.81.i, %.52.i
  br i1 %.59.i, label %do.55.i, label %after.57.i

after.57.i:                                       ; preds = %do.55.i, %then.41.i
  store i32 0, ptr %.10.i5, align 1
  store i32 0, ptr %.18.i9, align 1
  %.14.i23 = getelementptr i8, ptr %cta.given, i64 256
  %.17.i = getelementptr i32, ptr %.14.i23, i64 %.9.i
  store i32 0, ptr %.17.i, align 1
  store i32 0, ptr %.47.i, align 1
  br label %after.42.i
}

define noundef i1 @scheduling_rounds.begin_in_place(ptr captures(none) %context.given, ptr captures(none) %cta.given) local_unnamed_addr #3 {
entry.1:
  %.4 = getelementptr i8, ptr %cta.given, i64 4
  %.5 = load i32, ptr %.4, align 1
  %.6 = zext i32 %.5 to i64
  %.7 = add nuw nsw i64 %.6, 1
  %.9 = getelementptr i8, ptr %cta.given, i64 16
  %.10 = load i64, ptr %.9, align 1
  %.11 = add i64 %.10, 1
  %.16 = and i64 %.11, 31
  %.17 = icmp eq i64 %.16, 0
  br i1 %.17, label %common.ret, label %or.14

common.ret:                                       ; preds = %after.92, %or.106, %or.110, %or.61, %or.62, %or.67, %or.72, %after.13, %or.36, %or.43, %or.48, %entry.1, %or.14, %or.18, %or.25, %after.121
  %common.ret.op = phi i1 [ true, %after.121 ], [ false, %entry.1 ], [ false, %after.13 ], [ false, %or.61 ], [ false, %after.92 ], [ false, %or.25 ], [ false, %or.18 ], [ false, %or.14 ], [ false, %or.48 ], [ false, %or.43 ], [ false, %or.36 ], [ false, %or.72 ], [ false, %or.67 ], [ false, %or.62 ], [ false, %or.110 ], [ false, %or.106 ]
  ret i1 %common.ret.op

after.13:                                         ; preds = %or.25
  %.38 = getelementptr i8, ptr %context.given, i64 8
  %.39 = load ptr, ptr %.38, align 1
  %.41 = load i32, ptr %.39, align 1
  %.42.not = icmp eq i32 %.41, 0
  br i1 %.42.not, label %or.36, label %common.ret

or.14:                                            ; preds = %entry.1
  %.21 = getelementptr i8, ptr %context.given, i64 216
  %.22 = load i32, ptr %.21, align 1
  %.23 = zext i32 %.22 to i64
  %.24.not = icmp samesign ult i64 %.7, %.23
  br i1 %.24.not, label %or.18, label %common.ret

or.18:                                            ; preds = %or.14
  %.27 = getelementptr i8, ptr %cta.given, i64 32
  %.28 = load i64, ptr %.27, align 1
  %.29.not = icmp eq i64 %.28, 0
  br i1 %.29.not, label %or.25, label %common.ret

or.25:                                            ; preds = %or.18
  %.31 = getelementptr i8, ptr %cta.given, i64 64
  %.32 = load i64, ptr %.31, align 1
  %.33.not = icmp eq i64 %.32, 0
  br i1 %.33.not, label %after.13, label %common.ret

or.36:                                            ; preds = %after.13
  %.45 = getelementptr i8, ptr %context.given, i64 168
  %.46 = load i32, ptr %.45, align 1
  %.47.not = icmp eq i32 %.46, 0
  br i1 %.47.not, label %or.43, label %common.ret

or.43:                                            ; preds = %or.36
  %.50 = getelementptr i8, ptr %context.given, i64 144
  %.51 = load i64, ptr %.50, align 1
  %.52 = icmp slt i64 %.51, 1
  br i1 %.52, label %common.ret, label %or.48

or.48:                                            ; preds = %or.43
  %.54 = getelementptr i8, ptr %cta.given, i64 72
  %.55 = load ptr, ptr %.54, align 1
  %.56 = getelementptr i8, ptr %.55, i64 8
  %.57 = load i64, ptr %.56, align 1
  %.58.not = icmp eq i64 %.57, 1
  br i1 %.58.not, label %or.61, label %common.ret

after.60:                                         ; preds = %or.72
  %.86 = getelementptr i8, ptr %context.given, i64 40
  %.89 = getelementptr i8, ptr %context.given, i64 48
  %.94 = getelementptr i8, ptr %context.given, i64 419
  %.95 = load i8, ptr %.94, align 1
  %.96.not = icmp eq i8 %.95, 0
  br i1 %.96.not, label %after.92, label %then.91

or.61:                                            ; preds = %or.48
  %.64 = getelementptr i8, ptr %context.given, i64 418
  %.65 = load i8, ptr %.64, align 1
  %.66.not = icmp eq i8 %.65, 0
  br i1 %.66.not, label %or.62, label %common.ret

or.62:                                            ; preds = %or.61
  %.69 = getelementptr i8, ptr %context.given, i64 328
  %.70 = load i64, ptr %.69, align 1
  %.71.not = icmp eq i64 %.70, 0
  br i1 %.71.not, label %or.67, label %common.ret

or.67:                                            ; preds = %or.62
  %.74 = getelementptr i8, ptr %cta.given, i64 88
  %.75 = load i32, ptr %.74, align 1
  %.76.not = icmp eq i32 %.75, 0
  br i1 %.76.not, label %or.72, label %common.ret

or.72:                                            ; preds = %or.67
  %.78 = getelementptr i8, ptr %cta.given, i64 84
  %.79 = load i32, ptr %.78, align 1
  %.80 = icmp eq i32 %.79, 0
  br i1 %.80, label %common.ret, label %after.60

then.91:                                          ; preds = %after.60
  %.98 = load ptr, ptr %context.given, align 1
  %.102 = getelementptr i8, ptr %context.given, i64 32
  br label %after.92

after.92:                                         ; preds = %then.91, %after.60
  %ticket.0.in = phi ptr [ %.98, %then.91 ], [ %.86, %after.60 ]
  %end.0.in = phi ptr [ %.102, %then.91 ], [ %.89, %after.60 ]
  %ticket.0 = load i64, ptr %ticket.0.in, align 1
  %.109.not = icmp eq i64 %ticket.0, %.11
  br i1 %.109.not, label %or.106, label %common.ret

after.105:                                        ; preds = %or.110
  %.132 = add i64 %ticket.0, 1
  br i1 %.96.not, label %else.120, label %then.119

or.106:                                           ; preds = %after.92
  %end.0 = load i64, ptr %end.0.in, align 1
  %.113.not = icmp ult i64 %ticket.0, %end.0
  br i1 %.113.not, label %or.110, label %common.ret

or.110:                                           ; preds = %or.106
  %.116 = getelementptr i8, ptr %context.given, i64 32
  %.117 = load i64, ptr %.116, align 1
  %.118.not = icmp ult i64 %ticket.0, %.117
  br i1 %.118.not, label %after.105, label %common.ret

then.119:                                         ; preds = %after.105
  %.129 = load ptr, ptr %context.given, align 1
  store i64 %.132, ptr %.129, align 1
  br label %after.121

else.120:                                         ; preds = %after.105
  store i64 %.132, ptr %.86, align 1
  br label %after.121

after.121:                                        ; preds = %else.120, %then.119
  %.137 = load i64, ptr %.50, align 1
  %.138 = add i64 %.137, -1
  store i64 %.138, ptr %.50, align 1
  %.140 = getelementptr i8, ptr %context.given, i64 312
  %.141 = load i64, ptr %.140, align 1
  %.142 = add i64 %.141, 1
  store i64 %.142, ptr %.140, align 1
  %.144 = trunc nuw i64 %.7 to i32
  store i32 %.144, ptr %.4, align 1
  store i64 %.11, ptr %.9, align 1
  br label %common.ret
}

define range(i64 0, 32) i64 @scheduling_rounds.followers(ptr readonly captures(none) %context.given, ptr readonly captures(none) %cta.given) local_unnamed_addr #4 {
entry.1:
  %.4 = getelementptr i8, ptr %cta.given, i64 4
  %.5 = load i32, ptr %.4, align 1
  %.6 = zext i32 %.5 to i64
  %.7 = add nuw nsw i64 %.6, 1
  %.9 = getelementptr i8, ptr %cta.given, i64 16
  %.10 = load i64, ptr %.9, align 1
  %.11 = add i64 %.10, 1
  %.16 = and i64 %.11, 31
  %.17 = icmp eq i64 %.16, 0
  br i1 %.17, label %common.ret, label %or.14

common.ret:                                       ; preds = %after.87, %or.105, %or.109, %or.56, %or.57, %or.62, %or.67, %after.13, %or.36, %or.43, %entry.1, %or.14, %or.18, %or.25, %after.100
  %common.ret.op = phi i64 [ %.147, %after.100 ], [ 0, %entry.1 ], [ 0, %after.13 ], [ 0, %or.56 ], [ 0, %after.87 ], [ 0, %or.25 ], [ 0, %or.18 ], [ 0, %or.14 ], [ 0, %or.43 ], [ 0, %or.36 ], [ 0, %or.67 ], [ 0, %or.62 ], [ 0, %or.57 ], [ 0, %or.109 ], [ 0, %or.105 ]
  ret i64 %common.ret.op

after.13:                                         ; preds = %or.25
  %.38 = getelementptr i8, ptr %context.given, i64 8
  %.39 = load ptr, ptr %.38, align 1
  %.41 = load i32, ptr %.39, align 1
  %.42.not = icmp eq i32 %.41, 0
  br i1 %.42.not, label %or.36, label %common.ret

or.14:                                            ; preds = %entry.1
  %.21 = getelementptr i8, ptr %context.given, i64 216
  %.22 = load i32, ptr %.21, align 1
  %.23 = zext i32 %.22 to i64
  %.24.not = icmp samesign ult i64 %.7, %.23
  br i1 %.24.not, label %or.18, label %common.ret

or.18:                                            ; preds = %or.14
  %.27 = getelementptr i8, ptr %cta.given, i64 32
  %.28 = load i64, ptr %.27, align 1
  %.29.not = icmp eq i64 %.28, 0
  br i1 %.29.not, label %or.25, label %common.ret

or.25:                                            ; preds = %or.18
  %.31 = getelementptr i8, ptr %cta.given, i64 64
  %.32 = load i64, ptr %.31, align 1
  %.33.not = icmp eq i64 %.32, 0
  br i1 %.33.not, label %after.13, label %common.ret

or.36:                                            ; preds = %after.13
  %.45 = getelementptr i8, ptr %context.given, i64 168
  %.46 = load i32, ptr %.45, align 1
  %.47.not = icmp eq i32 %.46, 0
  br i1 %.47.not, label %or.43, label %common.ret

or.43:                                            ; preds = %or.36
  %.49 = getelementptr i8, ptr %cta.given, i64 72
  %.50 = load ptr, ptr %.49, align 1
  %.51 = getelementptr i8, ptr %.50, i64 8
  %.52 = load i64, ptr %.51, align 1
  %.53.not = icmp eq i64 %.52, 1
  br i1 %.53.not, label %or.56, label %common.ret

after.55:                                         ; preds = %or.67
  %.81 = getelementptr i8, ptr %context.given, i64 40
  %.84 = getelementptr i8, ptr %context.given, i64 48
  %.89 = getelementptr i8, ptr %context.given, i64 419
  %.90 = load i8, ptr %.89, align 1
  %.91.not = icmp eq i8 %.90, 0
  br i1 %.91.not, label %after.87, label %then.86

or.56:                                            ; preds = %or.43
  %.59 = getelementptr i8, ptr %context.given, i64 418
  %.60 = load i8, ptr %.59, align 1
  %.61.not = icmp eq i8 %.60, 0
  br i1 %.61.not, label %or.57, label %common.ret

or.57:                                            ; preds = %or.56
  %.64 = getelementptr i8, ptr %context.given, i64 328
  %.65 = load i64, ptr %.64, align 1
  %.66.not = icmp eq i64 %.65, 0
  br i1 %.66.not, label %or.62, label %common.ret

or.62:                                            ; preds = %or.57
  %.69 = getelementptr i8, ptr %cta.given, i64 88
  %.70 = load i32, ptr %.69, align 1
  %.71.not = icmp eq i32 %.70, 0
  br i1 %.71.not, label %or.67, label %common.ret

or.67:                                            ; preds = %or.62
  %.73 = getelementptr i8, ptr %cta.given, i64 84
  %.74 = load i32, ptr %.73, align 1
  %.75 = icmp eq i32 %.74, 0
  br i1 %.75, label %common.ret, label %after.55

then.86:                                          ; preds = %after.55
  %.93 = load ptr, ptr %context.given, align 1
  %.97 = getelementptr i8, ptr %context.given, i64 32
  br label %after.87

after.87:                                         ; preds = %then.86, %after.55
  %end.0.in = phi ptr [ %.97, %then.86 ], [ %.84, %after.55 ]
  %ticket.0.in = phi ptr [ %.93, %then.86 ], [ %.81, %after.55 ]
  %ticket.0 = load i64, ptr %ticket.0.in, align 1
  %end.0 = load i64, ptr %end.0.in, align 1
  %.104.not = icmp eq i64 %ticket.0, %.11
  %.108.not = icmp ult i64 %.11, %end.0
  %or.cond = select i1 %.104.not, i1 %.108.not, i1 false
  br i1 %or.cond, label %or.105, label %common.ret

after.100:                                        ; preds = %or.109
  %.121 = sub nuw nsw i64 32, %.16
  %.127 = sub nsw i64 %.23, %.7
  %.129 = tail call i64 @llvm.umin.i64(i64 %.121, i64 %.127)
  %.133 = sub i64 %end.0, %.11
  %.135 = tail call i64 @llvm.umin.i64(i64 %.129, i64 %.133)
  %.140 = sub i64 %.113, %.11
  %.145 = tail call i64 @llvm.umin.i64(i64 %.140, i64 %.117)
  %.147 = tail call i64 @llvm.umin.i64(i64 %.135, i64 %.145)
  br label %common.ret

or.105:                                           ; preds = %after.87
  %.112 = getelementptr i8, ptr %context.given, i64 32
  %.113 = load i64, ptr %.112, align 1
  %.114.not = icmp ult i64 %.11, %.113
  br i1 %.114.not, label %or.109, label %common.ret

or.109:                                           ; preds = %or.105
  %.116 = getelementptr i8, ptr %context.given, i64 144
  %.117 = load i64, ptr %.116, align 1
  %.118 = icmp slt i64 %.117, 1
  br i1 %.118, label %common.ret, label %after.100
}

define void @scheduling_rounds.follows(ptr readnone captures(none) %context.given, ptr readnone captures(none) %cta.given) local_unnamed_addr #5 {
entry.1:
  ret void
}

define void @scheduling_rounds.have_followed(ptr captures(none) %context.given, ptr readnone captures(none) %cta.given, i64 %count.given) local_unnamed_addr #3 {
entry.1:
  %.7 = getelementptr i8, ptr %context.given, i64 419
  %.8 = load i8, ptr %.7, align 1
  %.9.not = icmp eq i8 %.8, 0
  br i1 %.9.not, label %else.4, label %then.3

then.3:                                           ; preds = %entry.1
  %.11 = load ptr, ptr %context.given, align 1
  %.13 = load i64, ptr %.11, align 1
  %.15 = add i64 %.13, %count.given
  store i64 %.15, ptr %.11, align 1
  br label %after.5

else.4:                                           ; preds = %entry.1
  %.17 = getelementptr i8, ptr %context.given, i64 40
  %.18 = load i64, ptr %.17, align 1
  %.20 = add i64 %.18, %count.given
  store i64 %.20, ptr %.17, align 1
  br label %after.5

after.5:                                          ; preds = %else.4, %then.3
  %.22 = getelementptr i8, ptr %context.given, i64 144
  %.23 = load i64, ptr %.22, align 1
  %.25 = sub i64 %.23, %count.given
  store i64 %.25, ptr %.22, align 1
  %.27 = getelementptr i8, ptr %context.given, i64 312
  %.28 = load i64, ptr %.27, align 1
  %.30 = add i64 %.28, %count.given
  store i64 %.30, ptr %.27, align 1
  ret void
}

define void @scheduling_rounds.leave_round(ptr readonly captures(none) %context.given, ptr captures(none) %cta.given, ptr captures(none) %warp.given, i32 %before.given, i32 %ended.given, i32 %at.given) local_unnamed_addr #6 {
entry.1:
  %.4 = getelementptr i8, ptr %warp.given, i64 200
  %.5 = load i32, ptr %.4, align 1
  %.6 = zext i32 %.5 to i64
  %.1426.not = icmp eq i32 %.5, 0
  br i1 %.1426.not, label %after.12, label %do.10.lr.ph

do.10.lr.ph:                                      ; preds = %entry.1
  %.4.i = getelementptr i8, ptr %cta.given, i64 40
  %.8.i = getelementptr i8, ptr %context.given, i64 192
  %.20.i = add i32 %before.given, -4
  %.21.i = zext i32 %.20.i to i64
  br label %do.10

do.10:                                            ; preds = %do.10.lr.ph, %scheduling_rounds.settle.exit
  %.8.027 = phi i64 [ 0, %do.10.lr.ph ], [ %.21, %scheduling_rounds.settle.exit ]
  %.5.i = load ptr, ptr %.4.i, align 1
  %.9.i = load i64, ptr %.8.i, align 1
  %.10.i = mul i64 %.9.i, %.8.027
  %.11.i = getelementptr i8, ptr %.5.i, i64 %.10.i
  switch i32 %before.given, label %then.10.i [
    i32 2, label %scheduling_rounds.settle.exit.sink.split
    i32 3, label %scheduling_rounds.settle.exit
  ]

then.10.i:                                        ; preds = %do.10
  %.15.i = getelementptr i8, ptr %.11.i, i64 128
  %.16.i = load i32, ptr %.15.i, align 1
  %.18.i = getelementptr i8, ptr %.11.i, i64 320
  %.22.i = getelementptr i32, ptr %.18.i, i64 %.21.i
  store i32 %.16.i, ptr %.22.i, align 1
  br label %scheduling_rounds.settle.exit.sink.split

scheduling_rounds.settle.exit.sink.split:         ; preds = %do.10, %then.10.i
  %.sink31 = phi i64 [ 132, %then.10.i ], [ 128, %do.10 ]
  %.sink = phi i32 [ %.16.i, %then.10.i ], [ 0, %do.10 ]
  %.9.i14 = getelementptr i8, ptr %.11.i, i64 %.sink31
  store i32 %.sink, ptr %.9.i14, align 1
  br label %scheduling_rounds.settle.exit

scheduling_rounds.settle.exit:                    ; preds = %scheduling_rounds.settle.exit.sink.split, %do.10
  %.21 = add nuw nsw i64 %.8.027, 1
  %.14 = icmp samesign ult i64 %.21, %.6
  br i1 %.14, label %do.10, label %after.12

after.12:                                         ; preds = %scheduling_rounds.settle.exit, %entry.1
  switch i32 %ended.given, label %then.10.i17 [
    i32 1, label %after.23
    i32 2, label %after.23.sink.split
    i32 3, label %after.23
  ]

then.10.i17:                                      ; preds = %after.12
  %.15.i18 = getelementptr i8, ptr %warp.given, i64 128
  %.16.i19 = load i32, ptr %.15.i18, align 1
  %.18.i20 = getelementptr i8, ptr %warp.given, i64 320
  %.20.i21 = add i32 %ended.given, -4
  %.21.i22 = zext i32 %.20.i21 to i64
  %.22.i23 = getelementptr i32, ptr %.18.i20, i64 %.21.i22
  store i32 %.16.i19, ptr %.22.i23, align 1
  br label %after.23.sink.split

after.23.sink.split:                              ; preds = %after.12, %then.10.i17
  %.sink32 = phi i64 [ 132, %then.10.i17 ], [ 128, %after.12 ]
  %.16.i19.sink = phi i32 [ %.16.i19, %then.10.i17 ], [ 0, %after.12 ]
  %.27.i24 = getelementptr i8, ptr %warp.given, i64 %.sink32
  store i32 %.16.i19.sink, ptr %.27.i24, align 1
  br label %after.23

after.23:                                         ; preds = %after.23.sink.split, %after.12, %after.12
  %.31.not = icmp eq i32 %at.given, -1
  br i1 %.31.not, label %after.29, label %then.28

then.28:                                          ; preds = %after.23
  %.35 = getelementptr i8, ptr %context.given, i64 184
  %.36 = load i64, ptr %.35, align 1
  %.37.028 = add nuw nsw i64 %.6, 1
  %.4329 = icmp ult i64 %.37.028, %.36
  br i1 %.4329, label %do.39.lr.ph, label %after.29

do.39.lr.ph:                                      ; preds = %then.28
  %.4.i8 = getelementptr i8, ptr %cta.given, i64 40
  %.8.i10 = getelementptr i8, ptr %context.given, i64 192
  br label %do.39

after.29:                                         ; preds = %do.39, %then.28, %after.23
  %.54 = getelementptr i8, ptr %cta.given, i64 48
  store i64 %.6, ptr %.54, align 1
  ret void

do.39:                                            ; preds = %do.39.lr.ph, %do.39
  %.37.030 = phi i64 [ %.37.028, %do.39.lr.ph ], [ %.37.0, %do.39 ]
  %.5.i9 = load ptr, ptr %.4.i8, align 1
  %.9.i11 = load i64, ptr %.8.i10, align 1
  %.10.i12 = mul i64 %.9.i11, %.37.030
  %.11.i13 = getelementptr i8, ptr %.5.i9, i64 %.10.i12
  %.49 = getelementptr i8, ptr %.11.i13, i64 140
  store i32 %at.given, ptr %.49, align 1
  %.37.0 = add nuw i64 %.37.030, 1
  %.43 = icmp ult i64 %.37.0, %.36
  br i1 %.43, label %do.39, label %after.29
}

define void @scheduling_rounds.leave_segment(ptr readonly captures(none) %context.given, ptr readonly captures(none) %cta.given, ptr readonly captures(none) %first.given, ptr readonly captures(none) %warp.given, i32 %start.given, i32 %behind.given) local_unnamed_addr #7 {
entry.1:
  %.6.not = icmp eq i32 %behind.given, -1
  br i1 %.6.not, label %after.4, label %then.3

then.3:                                           ; preds = %entry.1
  %.8 = getelementptr i8, ptr %first.given, i64 200
  %.9 = load i32, ptr %.8, align 1
  %.12 = getelementptr i8, ptr %warp.given, i64 200
  %.13 = load i32, ptr %.12, align 1
  %.14 = zext i32 %.13 to i64
  %.2111 = icmp ult i32 %.9, %.13
  br i1 %.2111, label %do.17.lr.ph, label %after.4

do.17.lr.ph:                                      ; preds = %then.3
  %.10 = zext i32 %.9 to i64
  %.4.i = getelementptr i8, ptr %cta.given, i64 40
  %.8.i = getelementptr i8, ptr %context.given, i64 192
  br label %do.17

after.4:                                          ; preds = %do.17, %then.3, %entry.1
  %.31 = getelementptr i8, ptr %warp.given, i64 200
  %.32 = load i32, ptr %.31, align 1
  %.33 = zext i32 %.32 to i64
  %.36 = getelementptr i8, ptr %context.given, i64 184
  %.37 = load i64, ptr %.36, align 1
  %.38.013 = add nuw nsw i64 %.33, 1
  %.4414 = icmp ult i64 %.38.013, %.37
  br i1 %.4414, label %do.40.lr.ph, label %after.42

do.40.lr.ph:                                      ; preds = %after.4
  %.4.i5 = getelementptr i8, ptr %cta.given, i64 40
  %.8.i7 = getelementptr i8, ptr %context.given, i64 192
  br label %do.40

do.17:                                            ; preds = %do.17.lr.ph, %do.17
  %.15.012 = phi i64 [ %.10, %do.17.lr.ph ], [ %.29, %do.17 ]
  %.5.i = load ptr, ptr %.4.i, align 1
  %.9.i = load i64, ptr %.8.i, align 1
  %.10.i = mul i64 %.9.i, %.15.012
  %.11.i = getelementptr i8, ptr %.5.i, i64 %.10.i
  %.27 = getelementptr i8, ptr %.11.i, i64 140
  store i32 %behind.given, ptr %.27, align 1
  %.29 = add nuw nsw i64 %.15.012, 1
  %.21 = icmp samesign ult i64 %.29, %.14
  br i1 %.21, label %do.17, label %after.4

do.40:                                            ; preds = %do.40.lr.ph, %do.40
  %.38.015 = phi i64 [ %.38.013, %do.40.lr.ph ], [ %.38.0, %do.40 ]
  %.5.i6 = load ptr, ptr %.4.i5, align 1
  %.9.i8 = load i64, ptr %.8.i7, align 1
  %.10.i9 = mul i64 %.9.i8, %.38.015
  %.11.i10 = getelementptr i8, ptr %.5.i6, i64 %.10.i9
  %.50 = getelementptr i8, ptr %.11.i10, i64 140
  store i32 %start.given, ptr %.50, align 1
  %.38.0 = add nuw i64 %.38.015, 1
  %.44 = icmp ult i64 %.38.0, %.37
  br i1 %.44, label %do.40, label %after.42

after.42:                                         ; preds = %do.40, %after.4
  ret void
}

define void @lane_scheduling.count_ends(ptr readonly captures(none) %context.given, ptr readonly captures(none) %warp.given) local_unnamed_addr #6 {
entry.1:
  %.4 = getelementptr i8, ptr %warp.given, i64 200
  %.5 = load i32, ptr %.4, align 1
  %.6 = lshr i32 %.5, 2
  %.7 = zext nneg i32 %.6 to i64
  %.9 = getelementptr i8, ptr %context.given, i64 112
  %.10 = load i64, ptr %.9, align 1
  %.11 = mul i64 %.10, %.7
  %.14 = getelementptr i8, ptr %warp.given, i64 164
  %.15 = load i32, ptr %.14, align 1
  %.20.not1 = icmp eq i32 %.15, 0
  br i1 %.20.not1, label %after.18, label %do.17.lr.ph

do.17.lr.ph:                                      ; preds = %entry.1
  %.25 = getelementptr i8, ptr %context.given, i64 96
  %.29 = getelementptr i8, ptr %context.given, i64 120
  br label %do.17

do.17:                                            ; preds = %do.17.lr.ph, %do.17
  %.12.02 = phi i32 [ %.15, %do.17.lr.ph ], [ %.23, %do.17 ]
  %.21 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.12.02, i1 true)
  %.22 = add i32 %.12.02, -1
  %.23 = and i32 %.22, %.12.02
  %.26 = load ptr, ptr %.25, align 1
  %.30 = load ptr, ptr %.29, align 1
  %.32 = zext nneg i32 %.21 to i64
  %.33 = getelementptr i32, ptr %.30, i64 %.32
  %.34 = load i32, ptr %.33, align 1
  %.35 = zext i32 %.34 to i64
  %.36 = add i64 %.11, %.35
  %.37 = shl i64 %.36, 4
  %.38 = getelementptr i8, ptr %.26, i64 %.37
  %.39 = load i64, ptr %.38, align 1
  %.40 = add i64 %.39, 1
  store i64 %.40, ptr %.38, align 1
  %.20.not = icmp eq i32 %.23, 0
  br i1 %.20.not, label %after.18, label %do.17

after.18:                                         ; preds = %do.17, %entry.1
  ret void
}

define internal fastcc void @block_start.begin(ptr captures(none) %context.given, ptr captures(none) %cta.given, i64 %number.given, i1 %untouched.given) unnamed_addr #2 {
entry.1:
  %.4 = getelementptr i8, ptr %cta.given, i64 88
  %.5 = load i32, ptr %.4, align 1
  %.6.not = icmp eq i32 %.5, 0
  %.8 = getelementptr i8, ptr %cta.given, i64 4
  %.9 = load i32, ptr %.8, align 1
  %.10 = zext i32 %.9 to i64
  %.11 = add nuw nsw i64 %.10, 1
  %.18 = getelementptr i8, ptr %cta.given, i64 16
  %.19 = load i64, ptr %.18, align 1
  %.20 = add i64 %.19, 1
  %.21 = icmp eq i64 %number.given, %.20
  br i1 %.21, label %and.15, label %else.13

then.12:                                          ; preds = %and.15
  %.29 = trunc nuw i64 %.11 to i32
  store i32 %.29, ptr %.8, align 1
  br label %after.14

else.13:                                          ; preds = %and.15, %entry.1
  %.34 = getelementptr i8, ptr %context.given, i64 216
  %.35 = load i32, ptr %.34, align 1
  %.36 = zext i32 %.35 to i64
  %.37 = urem i64 %number.given, %.36
  %.38 = trunc nuw i64 %.37 to i32
  store i32 %.38, ptr %.8, align 1
  %.44 = load i32, ptr %.34, align 1
  %.45 = zext i32 %.44 to i64
  %.46 = udiv i64 %number.given, %.45
  %.48 = getelementptr i8, ptr %context.given, i64 220
  %.49 = load i32, ptr %.48, align 1
  %.50 = zext i32 %.49 to i64
  %.51 = urem i64 %.46, %.50
  %.52 = trunc nuw i64 %.51 to i32
  %.54 = getelementptr i8, ptr %cta.given, i64 8
  store i32 %.52, ptr %.54, align 1
  %.58 = load i32, ptr %.34, align 1
  %.59 = zext i32 %.58 to i64
  %.60 = udiv i64 %number.given, %.59
  %.63 = load i32, ptr %.48, align 1
  %.64 = zext i32 %.63 to i64
  %.65 = udiv i64 %.60, %.64
  %.66 = trunc i64 %.65 to i32
  %.68 = getelementptr i8, ptr %cta.given, i64 12
  store i32 %.66, ptr %.68, align 1
  br label %after.14

after.14:                                         ; preds = %else.13, %then.12
  store i64 %number.given, ptr %.18, align 1
  %.75 = getelementptr i8, ptr %cta.given, i64 32
  %.76 = load i64, ptr %.75, align 1
  %.77.not = icmp eq i64 %.76, 0
  br i1 %.77.not, label %after.73, label %then.72

and.15:                                           ; preds = %entry.1
  %.24 = getelementptr i8, ptr %context.given, i64 216
  %.25 = load i32, ptr %.24, align 1
  %.26 = zext i32 %.25 to i64
  %.27 = icmp samesign ult i64 %.11, %.26
  br i1 %.27, label %then.12, label %else.13

then.72:                                          ; preds = %after.14
  %.79 = getelementptr i8, ptr %cta.given, i64 24
  %.80 = load ptr, ptr %.79, align 1
  tail call void @llvm.memset.p0.i64(ptr align 1 %.80, i8 -1, i64 %.76, i1 false)
  br label %after.73

after.73:                                         ; preds = %then.72, %after.14
  %.88 = getelementptr i8, ptr %cta.given, i64 64
  %.89 = load i64, ptr %.88, align 1
  %.90.not = icmp eq i64 %.89, 0
  br i1 %.90.not, label %after.86, label %then.85

then.85:                                          ; preds = %after.73
  %.95 = getelementptr i8, ptr %context.given, i64 176
  %.96 = load i64, ptr %.95, align 1
  %.97 = icmp eq i64 %.96, 0
  br i1 %.97, label %then.91, label %else.92

after.86:                                         ; preds = %do.110, %else.92, %then.91, %after.73
  %.4.i25 = getelementptr i8, ptr %cta.given, i64 128
  %.9.i26 = getelementptr i8, ptr %cta.given, i64 192
  %.14.i = getelementptr i8, ptr %cta.given, i64 256
  %.19.i = getelementptr i8, ptr %cta.given, i64 320
  br label %do.126

then.91:                                          ; preds = %then.85
  %.99 = getelementptr i8, ptr %cta.given, i64 56
  %.100 = load ptr, ptr %.99, align 1
  tail call void @llvm.memset.p0.i64(ptr align 1 %.100, i8 -1, i64 %.89, i1 false)
  br label %after.86

else.92:                                          ; preds = %then.85
  %.106 = getelementptr i8, ptr %context.given, i64 184
  %.107 = load i64, ptr %.106, align 1
  %.11460.not = icmp eq i64 %.107, 0
  br i1 %.11460.not, label %after.86, label %do.110.lr.ph

do.110.lr.ph:                                     ; preds = %else.92
  %.4.i19 = getelementptr i8, ptr %cta.given, i64 40
  %.8.i21 = getelementptr i8, ptr %context.given, i64 192
  br label %do.110

do.110:                                           ; preds = %do.110.lr.ph, %do.110
  %.108.061 = phi i64 [ 0, %do.110.lr.ph ], [ %.123, %do.110 ]
  %.5.i20 = load ptr, ptr %.4.i19, align 1
  %.9.i22 = load i64, ptr %.8.i21, align 1
  %.10.i23 = mul i64 %.9.i22, %.108.061
  %.11.i24 = getelementptr i8, ptr %.5.i20, i64 %.10.i23
  %.121 = load i64, ptr %.95, align 1
  %.4.i27 = getelementptr i8, ptr %.11.i24, i64 240
  %.5.i28 = load ptr, ptr %.4.i27, align 1
  %.8.i29 = shl i64 %.121, 5
  tail call void @llvm.memset.p0.i64(ptr align 1 %.5.i28, i8 -1, i64 %.8.i29, i1 false)
  %.11.i30 = getelementptr i8, ptr %.11.i24, i64 248
  store i64 %.121, ptr %.11.i30, align 1
  %.123 = add nuw i64 %.108.061, 1
  %.114 = icmp ult i64 %.123, %.107
  br i1 %.114, label %do.110, label %after.86

do.126:                                           ; preds = %after.86, %do.126
  %.124.062 = phi i64 [ 0, %after.86 ], [ %.135, %do.126 ]
  %.7.i = getelementptr i32, ptr %.4.i25, i64 %.124.062
  store i32 0, ptr %.7.i, align 1
  %.12.i = getelementptr i32, ptr %.9.i26, i64 %.124.062
  store i32 0, ptr %.12.i, align 1
  %.17.i = getelementptr i32, ptr %.14.i, i64 %.124.062
  store i32 0, ptr %.17.i, align 1
  %.22.i = getelementptr i32, ptr %.19.i, i64 %.124.062
  store i32 0, ptr %.22.i, align 1
  %.135 = add nuw nsw i64 %.124.062, 1
  %.130 = icmp samesign ult i64 %.124.062, 15
  br i1 %.130, label %do.126, label %after.128

after.128:                                        ; preds = %do.126
  store i32 1, ptr %cta.given, align 1
  store i32 0, ptr %.4, align 1
  %.144 = getelementptr i8, ptr %cta.given, i64 84
  %.145 = load i32, ptr %.144, align 1
  %.146 = icmp eq i32 %.145, 0
  br i1 %.146, label %then.139, label %or.142

then.139:                                         ; preds = %after.128
  %.150 = getelementptr i8, ptr %context.given, i64 184
  %.151 = load i64, ptr %.150, align 1
  %.15867.not = icmp eq i64 %.151, 0
  br i1 %.15867.not, label %after.156, label %do.154.lr.ph

do.154.lr.ph:                                     ; preds = %then.139
  %.4.i13 = getelementptr i8, ptr %cta.given, i64 40
  %.8.i15 = getelementptr i8, ptr %context.given, i64 192
  %.11.i32 = getelementptr i8, ptr %context.given, i64 172
  %.32.i = getelementptr i8, ptr %context.given, i64 172
  %.80.i = getelementptr i8, ptr %context.given, i64 418
  br label %do.154

after.141:                                        ; preds = %block_start.begin_again.exit, %then.170, %or.174, %after.156
  %.4.i47 = getelementptr i8, ptr %cta.given, i64 48
  store i64 0, ptr %.4.i47, align 1
  %.8.i48 = getelementptr i8, ptr %context.given, i64 328
  %.9.i49 = load i64, ptr %.8.i48, align 1
  %.10.not.i = icmp eq i64 %.9.i49, 0
  br i1 %.10.not.i, label %block_start.begin_round.exit, label %then.5.i

then.5.i:                                         ; preds = %after.141
  %.12.i50 = getelementptr i8, ptr %context.given, i64 184
  %.13.i = load i64, ptr %.12.i50, align 1
  %.205.i = icmp ugt i64 %.13.i, 1
  br i1 %.205.i, label %do.16.lr.ph.i, label %block_start.begin_round.exit

do.16.lr.ph.i:                                    ; preds = %then.5.i
  %.34.i = getelementptr i8, ptr %context.given, i64 200
  br label %do.16.i

do.16.i:                                          ; preds = %do.16.i, %do.16.lr.ph.i
  %.14.06.i = phi i64 [ 1, %do.16.lr.ph.i ], [ %.57.i58, %do.16.i ]
  %.23.i51 = load i64, ptr %.12.i50, align 1
  %.25.i = sub i64 %.23.i51, %.14.06.i
  %.5.i.i = load i64, ptr %.8.i48, align 1
  %.8.i.i = shl i64 %.5.i.i, 13
  %.9.i.i = xor i64 %.8.i.i, %.5.i.i
  %.12.i.i = lshr i64 %.9.i.i, 7
  %.13.i.i = xor i64 %.12.i.i, %.9.i.i
  %.16.i.i = shl i64 %.13.i.i, 17
  %.17.i.i = xor i64 %.16.i.i, %.13.i.i
  store i64 %.17.i.i, ptr %.8.i48, align 1
  %.31.i = add i64 %.25.i, 1
  %.32.i52 = urem i64 %.17.i.i, %.31.i
  %.35.i53 = load ptr, ptr %.34.i, align 1
  %.37.i54 = getelementptr i32, ptr %.35.i53, i64 %.25.i
  %.38.i = load i32, ptr %.37.i54, align 1
  %.43.i55 = getelementptr i32, ptr %.35.i53, i64 %.32.i52
  %.44.i = load i32, ptr %.43.i55, align 1
  store i32 %.44.i, ptr %.37.i54, align 1
  %.53.i56 = load ptr, ptr %.34.i, align 1
  %.55.i57 = getelementptr i32, ptr %.53.i56, i64 %.32.i52
  store i32 %.38.i, ptr %.55.i57, align 1
  %.57.i58 = add nuw i64 %.14.06.i, 1
  %.20.i59 = icmp ult i64 %.57.i58, %.13.i
  br i1 %.20.i59, label %do.16.i, label %block_start.begin_round.exit

block_start.begin_round.exit:                     ; preds = %do.16.i, %after.141, %then.5.i
  ret void

or.142:                                           ; preds = %after.128
  %brmerge.not = select i1 %untouched.given, i1 %.6.not, i1 false
  br i1 %brmerge.not, label %or.174, label %then.170

do.154:                                           ; preds = %do.154.lr.ph, %block_start.begin_warp.exit
  %.152.068 = phi i64 [ 0, %do.154.lr.ph ], [ %.167, %block_start.begin_warp.exit ]
  %.5.i14 = load ptr, ptr %.4.i13, align 1
  %.9.i16 = load i64, ptr %.8.i15, align 1
  %.10.i17 = mul i64 %.9.i16, %.152.068
  %.11.i18 = getelementptr i8, ptr %.5.i14, i64 %.10.i17
  %.17.i34 = getelementptr i8, ptr %.11.i18, i64 832
  br label %do.5.i

do.5.i:                                           ; preds = %do.154, %do.5.i
  %.3.0.i65 = phi i64 [ 0, %do.154 ], [ %.21.i, %do.5.i ]
  %.12.i33 = load i32, ptr %.11.i32, align 1
  %.15.i = getelementptr i32, ptr %.11.i18, i64 %.3.0.i65
  store i32 %.12.i33, ptr %.15.i, align 1
  %.19.i35 = getelementptr i32, ptr %.17.i34, i64 %.3.0.i65
  store i32 0, ptr %.19.i35, align 1
  %.21.i = add nuw nsw i64 %.3.0.i65, 1
  %.9.i31 = icmp samesign ult i64 %.3.0.i65, 31
  br i1 %.9.i31, label %do.5.i, label %after.7.i

after.7.i:                                        ; preds = %do.5.i
  %.23.i = getelementptr i8, ptr %.11.i18, i64 196
  %.24.i = load i32, ptr %.23.i, align 1
  %.26.i = getelementptr i8, ptr %.11.i18, i64 128
  store i32 %.24.i, ptr %.26.i, align 1
  %.28.i = getelementptr i8, ptr %.11.i18, i64 132
  store i32 0, ptr %.28.i, align 1
  %.30.i = getelementptr i8, ptr %.11.i18, i64 136
  store i32 0, ptr %.30.i, align 1
  %.33.i = load i32, ptr %.32.i, align 1
  %.35.i = getelementptr i8, ptr %.11.i18, i64 140
  store i32 %.33.i, ptr %.35.i, align 1
  %.41.i = getelementptr i8, ptr %.11.i18, i64 144
  %.45.i = getelementptr i8, ptr %.11.i18, i64 208
  %.68.i = getelementptr i8, ptr %.11.i18, i64 320
  %.72.i = getelementptr i8, ptr %.11.i18, i64 384
  tail call void @llvm.memset.p0.i64(ptr noundef nonnull align 1 dereferenceable(44) %.41.i, i8 0, i64 44, i1 false)
  tail call void @llvm.memset.p0.i64(ptr noundef nonnull align 1 dereferenceable(24) %.45.i, i8 0, i64 24, i1 false)
  br label %do.62.i

do.62.i:                                          ; preds = %after.7.i, %do.62.i
  %.60.0.i66 = phi i64 [ 0, %after.7.i ], [ %.76.i, %do.62.i ]
  %.70.i = getelementptr i32, ptr %.68.i, i64 %.60.0.i66
  store i32 0, ptr %.70.i, align 1
  %.74.i = getelementptr i32, ptr %.72.i, i64 %.60.0.i66
  store i32 0, ptr %.74.i, align 1
  %.76.i = add nuw nsw i64 %.60.0.i66, 1
  %.66.i = icmp samesign ult i64 %.60.0.i66, 15
  br i1 %.66.i, label %do.62.i, label %after.64.i

after.64.i:                                       ; preds = %do.62.i
  %.81.i = load i8, ptr %.80.i, align 1
  %.82.not.i = icmp eq i8 %.81.i, 0
  br i1 %.82.not.i, label %block_start.begin_warp.exit, label %then.77.i

then.77.i:                                        ; preds = %after.64.i
  tail call void @clear.registers(ptr %.11.i18) #2
  br label %block_start.begin_warp.exit

block_start.begin_warp.exit:                      ; preds = %after.64.i, %then.77.i
  %.167 = add nuw i64 %.152.068, 1
  %.158 = icmp ult i64 %.167, %.151
  br i1 %.158, label %do.154, label %after.156

after.156:                                        ; preds = %block_start.begin_warp.exit, %then.139
  store i32 1, ptr %.144, align 1
  br label %after.141

then.170:                                         ; preds = %or.142, %or.174
  %.181 = getelementptr i8, ptr %context.given, i64 184
  %.182 = load i64, ptr %.181, align 1
  %.18963.not = icmp eq i64 %.182, 0
  br i1 %.18963.not, label %after.141, label %do.185.lr.ph

do.185.lr.ph:                                     ; preds = %then.170
  %.4.i = getelementptr i8, ptr %cta.given, i64 40
  %.8.i = getelementptr i8, ptr %context.given, i64 192
  %.9.i39 = getelementptr i8, ptr %context.given, i64 172
  %.20.i = getelementptr i8, ptr %context.given, i64 418
  br label %do.185

or.174:                                           ; preds = %or.142
  %.177 = getelementptr i8, ptr %context.given, i64 418
  %.178 = load i8, ptr %.177, align 1
  %.179.not = icmp eq i8 %.178, 0
  br i1 %.179.not, label %after.141, label %then.170

do.185:                                           ; preds = %do.185.lr.ph, %block_start.begin_again.exit
  %.183.064 = phi i64 [ 0, %do.185.lr.ph ], [ %.196, %block_start.begin_again.exit ]
  %.5.i = load ptr, ptr %.4.i, align 1
  %.9.i = load i64, ptr %.8.i, align 1
  %.10.i = mul i64 %.9.i, %.183.064
  %.11.i = getelementptr i8, ptr %.5.i, i64 %.10.i
  %.4.i36 = getelementptr i8, ptr %.11.i, i64 196
  %.5.i37 = load i32, ptr %.4.i36, align 1
  %.7.i38 = getelementptr i8, ptr %.11.i, i64 128
  store i32 %.5.i37, ptr %.7.i38, align 1
  %.10.i40 = load i32, ptr %.9.i39, align 1
  %.12.i41 = getelementptr i8, ptr %.11.i, i64 140
  store i32 %.10.i40, ptr %.12.i41, align 1
  %.14.i42 = getelementptr i8, ptr %.11.i, i64 164
  store i32 0, ptr %.14.i42, align 1
  %.16.i = getelementptr i8, ptr %.11.i, i64 168
  store i32 0, ptr %.16.i, align 1
  %.21.i43 = load i8, ptr %.20.i, align 1
  %.22.not.i = icmp eq i8 %.21.i43, 0
  br i1 %.22.not.i, label %block_start.begin_again.exit, label %then.17.i

then.17.i:                                        ; preds = %do.185
  tail call void @clear.registers(ptr %.11.i) #2
  br label %block_start.begin_again.exit

block_start.begin_again.exit:                     ; preds = %do.185, %then.17.i
  %.196 = add nuw i64 %.183.064, 1
  %.189 = icmp ult i64 %.196, %.182
  br i1 %.189, label %do.185, label %after.141
}

declare void @clear.registers(ptr) local_unnamed_addr

define internal fastcc void @block_start.draw_tickets(ptr captures(none) initializes((40, 56)) %context.given) unnamed_addr #8 {
entry.1:
  %.4 = load ptr, ptr %context.given, align 1
  %.6 = load i64, ptr %.4, align 1
  %.11 = getelementptr i8, ptr %context.given, i64 56
  %.12 = load i64, ptr %.11, align 1
  %.13.not = icmp eq i64 %.12, 0
  br i1 %.13.not, label %after.8, label %and.9

then.7:                                           ; preds = %and.9
  %.24 = sub nuw i64 %.17, %.6
  %.28 = udiv i64 %.24, %.12
  %.29 = add i64 %.28, 1
  %spec.store.select = tail call i64 @llvm.umin.i64(i64 %.29, i64 64)
  br label %after.8

after.8:                                          ; preds = %then.7, %and.9, %entry.1
  %count.0 = phi i64 [ %spec.store.select, %then.7 ], [ 1, %and.9 ], [ 1, %entry.1 ]
  %.38 = atomicrmw add ptr %.4, i64 %count.0 monotonic, align 8
  %.40 = getelementptr i8, ptr %context.given, i64 40
  store i64 %.38, ptr %.40, align 1
  %.45 = add i64 %.38, %count.0
  %.47 = getelementptr i8, ptr %context.given, i64 48
  store i64 %.45, ptr %.47, align 1
  ret void

and.9:                                            ; preds = %entry.1
  %.16 = getelementptr i8, ptr %context.given, i64 32
  %.17 = load i64, ptr %.16, align 1
  %.18 = icmp ult i64 %.6, %.17
  br i1 %.18, label %then.7, label %after.8
}

define internal fastcc i1 @scheduling.try_to_open(ptr readonly captures(none) %context.given, ptr captures(none) %cta.given, i32 range(i32 0, 16) %barrier.given) unnamed_addr #6 {
entry.1:
  %.4 = getelementptr i8, ptr %context.given, i64 184
  %.5 = load i64, ptr %.4, align 1
  %.1248.not = icmp eq i64 %.5, 0
  br i1 %.1248.not, label %after.10, label %do.8.lr.ph

do.8.lr.ph:                                       ; preds = %entry.1
  %.4.i18 = getelementptr i8, ptr %cta.given, i64 40
  %.5.i19 = load ptr, ptr %.4.i18, align 1
  %.8.i20 = getelementptr i8, ptr %context.given, i64 192
  %.9.i21 = load i64, ptr %.8.i20, align 1
  %.14.i35 = zext nneg i32 %barrier.given to i64
  br label %do.8

do.8:                                             ; preds = %do.8.lr.ph, %scheduling_rounds.waits_whole.exit
  %came.051 = phi i32 [ 0, %do.8.lr.ph ], [ %.22, %scheduling_rounds.waits_whole.exit ]
  %alive.050 = phi i32 [ 0, %do.8.lr.ph ], [ %.29, %scheduling_rounds.waits_whole.exit ]
  %.6.049 = phi i64 [ 0, %do.8.lr.ph ], [ %.31, %scheduling_rounds.waits_whole.exit ]
  %.10.i22 = mul i64 %.9.i21, %.6.049
  %.11.i23 = getelementptr i8, ptr %.5.i19, i64 %.10.i22
  %.8.i32 = getelementptr i8, ptr %.11.i23, i64 128
  %.9.i33 = load i32, ptr %.8.i32, align 1
  %.10.not.i = icmp eq i32 %.9.i33, 0
  br i1 %.10.not.i, label %no.4.i, label %and.6.i

no.4.i:                                           ; preds = %and.6.i, %do.8
  br label %scheduling_rounds.waits_whole.exit

and.6.i:                                          ; preds = %do.8
  %.12.i34 = getelementptr i8, ptr %.11.i23, i64 320
  %.15.i = getelementptr i32, ptr %.12.i34, i64 %.14.i35
  %.16.i = load i32, ptr %.15.i, align 1
  %.20.i = icmp eq i32 %.16.i, %.9.i33
  br i1 %.20.i, label %scheduling_rounds.waits_whole.exit, label %no.4.i

scheduling_rounds.waits_whole.exit:               ; preds = %no.4.i, %and.6.i
  %.21.i = phi i1 [ false, %no.4.i ], [ true, %and.6.i ]
  %.21 = zext i1 %.21.i to i32
  %.22 = add i32 %came.051, %.21
  %.27 = icmp ne i32 %.9.i33, 0
  %.28 = zext i1 %.27 to i32
  %.29 = add i32 %alive.050, %.28
  %.31 = add nuw i64 %.6.049, 1
  %.12 = icmp ult i64 %.31, %.5
  br i1 %.12, label %do.8, label %after.10

after.10:                                         ; preds = %scheduling_rounds.waits_whole.exit, %entry.1
  %alive.0.lcssa = phi i32 [ 0, %entry.1 ], [ %.29, %scheduling_rounds.waits_whole.exit ]
  %came.0.lcssa = phi i32 [ 0, %entry.1 ], [ %.22, %scheduling_rounds.waits_whole.exit ]
  %.33 = getelementptr i8, ptr %cta.given, i64 128
  %.35 = zext nneg i32 %barrier.given to i64
  %.36 = getelementptr i32, ptr %.33, i64 %.35
  %.37 = load i32, ptr %.36, align 1
  %.42.not = icmp eq i32 %.37, 0
  %.44 = lshr i32 %.37, 5
  %.46 = select i1 %.42.not, i32 %alive.0.lcssa, i32 %.44
  %.49 = getelementptr i8, ptr %cta.given, i64 192
  %.52 = getelementptr i32, ptr %.49, i64 %.35
  %.53 = load i32, ptr %.52, align 1
  %.54 = add i32 %.53, %came.0.lcssa
  %.60 = icmp ult i32 %.54, %.46
  %0 = or i32 %.37, %came.0.lcssa
  %or.cond = icmp eq i32 %0, 0
  %or.cond17 = or i1 %or.cond, %.60
  br i1 %or.cond17, label %common.ret, label %for.70.preheader

for.70.preheader:                                 ; preds = %after.10
  %.7553.not = icmp eq i64 %.5, 0
  br i1 %.7553.not, label %after.73, label %do.71.lr.ph

do.71.lr.ph:                                      ; preds = %for.70.preheader
  %.4.i = getelementptr i8, ptr %cta.given, i64 40
  %.8.i = getelementptr i8, ptr %context.given, i64 192
  %.88 = getelementptr i8, ptr %cta.given, i64 256
  %.91 = getelementptr i32, ptr %.88, i64 %.35
  %.96 = getelementptr i8, ptr %cta.given, i64 320
  %.99 = getelementptr i32, ptr %.96, i64 %.35
  br label %do.71

common.ret:                                       ; preds = %after.10, %after.73
  %common.ret.op = phi i1 [ %.108, %after.73 ], [ false, %after.10 ]
  ret i1 %common.ret.op

do.71:                                            ; preds = %do.71.lr.ph, %after.81
  %.69.054 = phi i64 [ 0, %do.71.lr.ph ], [ %.104, %after.81 ]
  %.5.i = load ptr, ptr %.4.i, align 1
  %.9.i = load i64, ptr %.8.i, align 1
  %.10.i = mul i64 %.9.i, %.69.054
  %.11.i = getelementptr i8, ptr %.5.i, i64 %.10.i
  %.8.i36 = getelementptr i8, ptr %.11.i, i64 128
  %.9.i37 = load i32, ptr %.8.i36, align 1
  %.10.not.i38 = icmp eq i32 %.9.i37, 0
  br i1 %.10.not.i38, label %after.81, label %and.6.i39

and.6.i39:                                        ; preds = %do.71
  %.12.i40 = getelementptr i8, ptr %.11.i, i64 320
  %.15.i42 = getelementptr i32, ptr %.12.i40, i64 %.35
  %.16.i43 = load i32, ptr %.15.i42, align 1
  %.20.i44 = icmp eq i32 %.16.i43, %.9.i37
  br i1 %.20.i44, label %then.80, label %after.81

after.73:                                         ; preds = %after.81, %for.70.preheader
  store i32 0, ptr %.36, align 1
  store i32 0, ptr %.52, align 1
  %.14.i31 = getelementptr i8, ptr %cta.given, i64 256
  %.17.i = getelementptr i32, ptr %.14.i31, i64 %.35
  store i32 0, ptr %.17.i, align 1
  %.19.i = getelementptr i8, ptr %cta.given, i64 320
  %.22.i = getelementptr i32, ptr %.19.i, i64 %.35
  store i32 0, ptr %.22.i, align 1
  %.108 = icmp ne i32 %came.0.lcssa, 0
  br label %common.ret

then.80:                                          ; preds = %and.6.i39
  %.4.i24 = getelementptr i8, ptr %.11.i, i64 320
  %.7.i = getelementptr i32, ptr %.4.i24, i64 %.35
  store i32 0, ptr %.7.i, align 1
  %.9.i25 = getelementptr i8, ptr %.11.i, i64 384
  %.12.i = getelementptr i32, ptr %.9.i25, i64 %.35
  store i32 0, ptr %.12.i, align 1
  %.14.i = getelementptr i8, ptr %.11.i, i64 132
  store i32 0, ptr %.14.i, align 1
  %.92 = load i32, ptr %.91, align 1
  %.94 = getelementptr i8, ptr %.11.i, i64 188
  store i32 %.92, ptr %.94, align 1
  %.100 = load i32, ptr %.99, align 1
  %.102 = getelementptr i8, ptr %.11.i, i64 192
  store i32 %.100, ptr %.102, align 1
  br label %after.81

after.81:                                         ; preds = %do.71, %and.6.i39, %then.80
  %.104 = add nuw i64 %.69.054, 1
  %.75 = icmp ult i64 %.104, %.5
  br i1 %.75, label %do.71, label %after.73
}

declare i32 @converged(ptr, ptr, ptr) local_unnamed_addr

declare i64 @llvm.umin.i64(i64, i64) #9

attributes #0 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #1 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #2 = { nounwind }
attributes #3 = { mustprogress nofree norecurse nosync nounwind willreturn memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none) }
attributes #4 = { mustprogress nofree norecurse nosync nounwind willreturn memory(read, inaccessiblemem: none, target_mem0: none, target_mem1: none) }
attributes #5 = { mustprogress nofree norecurse nosync nounwind willreturn memory(none) }
attributes #6 = { nofree norecurse nosync nounwind memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none) }
attributes #7 = { nofree norecurse nosync nounwind memory(write, argmem: readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none) }
attributes #8 = { mustprogress nofree norecurse nounwind willreturn memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none) }
attributes #9 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
