; [["grid", "scheduling_rounds.end_alike", "scheduling_rounds.begin_in_place", "scheduling_rounds.followers", "scheduling_rounds.follows", "scheduling_rounds.have_followed", "scheduling_rounds.leave_round", "scheduling_rounds.leave_segment", "lane_scheduling.count_ends"], [["Context.bulk_copies", true], ["Context.mbarriers", true], ["Context.cluster_barriers", false], ["Context.warpgroup_products", true], ["Context.checked", false], ["Context.traced", false]], "0.50"]
; jit/translation/__init__.py jit/translation/conversions.py jit/translation/distinct_values.py jit/translation/expressions.py jit/translation/folding.py jit/translation/intrinsics.py jit/translation/ir.py jit/translation/rule_calls.py jit/translation/translator.py jit/translation/value_kinds.py language/__init__.py language/records.py language/rules.py language/types.py language/vectors.py rules/block_start.py rules/bulk_copies.py rules/clusters.py rules/lane_scheduling.py rules/mbarrier_words.py rules/mbarriers.py rules/memcheck.py rules/scheduling.py rules/scheduling_rounds.py rules/tensor_maps.py rules/warpgroup_products.py runtime/state.py
; db38ef67fb05b5048045b9a33dd6e11ed2c8ab0a4300298dbe418c9d72e465a8 5b1c94b3f117b2338d0bab1e9a3cbec8936080cc577edd60794653bce9d6f75e
source_filename = "<string>"

declare i32 @llvm.cttz.i32(i32, i1 immarg) #0

declare void @llvm.memset.p0.i64(ptr writeonly captures(none), i8, i64, i1 immarg) #1

declare void @llvm.memcpy.p0.p0.i64(ptr noalias writeonly captures(none), ptr noalias readonly captures(none), i64, i1 immarg) #2

define range(i32 0, 9) i32 @grid(ptr %context.given) local_unnamed_addr #3 {
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
  %.125.i.i = getelementptr i8, ptr %context.given, i64 328
  %.147.i.i = getelementptr i8, ptr %context.given, i64 304
  %.156.i.i = getelementptr i8, ptr %context.given, i64 32
  %.165.i.i = getelementptr i8, ptr %context.given, i64 288
  %.5.i4.i.i = getelementptr i8, ptr %context.given, i64 432
  %.9.i5.i.i = getelementptr i8, ptr %context.given, i64 436
  %.13.i6.i.i = getelementptr i8, ptr %context.given, i64 440
  %.19.i.i.i = getelementptr i8, ptr %context.given, i64 444
  %.23.i.i.i = getelementptr i8, ptr %context.given, i64 448
  %.9.i36.i = getelementptr i8, ptr %context.given, i64 112
  %.25.i.i = getelementptr i8, ptr %context.given, i64 96
  %.29.i41.i = getelementptr i8, ptr %context.given, i64 120
  %.8.i11.i = getelementptr i8, ptr %context.given, i64 192
  %.19.i.i125 = getelementptr i8, ptr %context.given, i64 192
  %.8.i7.i = getelementptr i8, ptr %context.given, i64 192
  %.5.i17.i = getelementptr i8, ptr %context.given, i64 432
  %.9.i18.i = getelementptr i8, ptr %context.given, i64 436
  %.13.i.i140 = getelementptr i8, ptr %context.given, i64 440
  %.19.i20.i = getelementptr i8, ptr %context.given, i64 444
  %.23.i.i142 = getelementptr i8, ptr %context.given, i64 448
  %.53.i147 = getelementptr i8, ptr %context.given, i64 312
  %.4.i21.i = getelementptr i8, ptr %context.given, i64 88
  %.14.i24.i = getelementptr i8, ptr %context.given, i64 80
  %.81.i161 = getelementptr i8, ptr %context.given, i64 264
  %.8.i47.i = getelementptr i8, ptr %context.given, i64 328
  %.34.i55.i = getelementptr i8, ptr %context.given, i64 200
  %.4.i.i.i = getelementptr i8, ptr %context.given, i64 88
  %.14.i.i80.i = getelementptr i8, ptr %context.given, i64 80
  %.5.i84.i = getelementptr i8, ptr %context.given, i64 272
  %.15.i85.i = getelementptr i8, ptr %context.given, i64 280
  %.17.i127.i = getelementptr i8, ptr %context.given, i64 264
  %.8.i.i131.i = getelementptr i8, ptr %context.given, i64 192
  %.127.i = getelementptr i8, ptr %context.given, i64 280
  %.5.i146.i = getelementptr i8, ptr %context.given, i64 432
  %.9.i147.i = getelementptr i8, ptr %context.given, i64 436
  %.13.i148.i = getelementptr i8, ptr %context.given, i64 440
  %.19.i151.i = getelementptr i8, ptr %context.given, i64 444
  %.23.i152.i = getelementptr i8, ptr %context.given, i64 448
  %.8.i93.i = getelementptr i8, ptr %context.given, i64 328
  %.34.i101.i = getelementptr i8, ptr %context.given, i64 200
  %.8.i32.i = getelementptr i8, ptr %context.given, i64 328
  %.34.i36.i = getelementptr i8, ptr %context.given, i64 200
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
  %.892.i = load i64, ptr %.7.i6, align 1
  %.1193.i = load i64, ptr %.10.i7, align 1
  %.1294.i = icmp ult i64 %.892.i, %.1193.i
  br i1 %.1294.i, label %do.4.lr.ph.i, label %scheduling.take_turns.exit

do.4.lr.ph.i:                                     ; preds = %after.17
  %.4.i8.i = getelementptr i8, ptr %.76, i64 40
  %.145.i = getelementptr i8, ptr %.76, i64 84
  %.35.i61.i = getelementptr i8, ptr %.76, i64 192
  %.5.i19.i = getelementptr i8, ptr %.76, i64 128
  br label %do.4.i

do.4.i:                                           ; preds = %while.3.backedge.i, %do.4.lr.ph.i
  %.895.i = phi i64 [ %.892.i, %do.4.lr.ph.i ], [ %.8.i, %while.3.backedge.i ]
  %.17.i = load ptr, ptr %.16.i, align 1
  %.21.i = getelementptr i32, ptr %.17.i, i64 %.895.i
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
  %.39.i = add i64 %.895.i, 1
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
  %.76.i = tail call i32 @converged(ptr %context.given, ptr %.76, ptr %.11.i13.i) #3
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
  switch i32 %result.0.i, label %scheduling.take_turns.exit.loopexit256 [
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
  %.105.i = tail call i32 %.104.i(ptr %context.given, ptr %.76, ptr %.11.i13.i) #3
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
  %.14.not.i90.i = icmp eq i16 %.8.i21.i, 0
  br i1 %.14.not.i90.i, label %scheduling.complete_counted.exit.i, label %do.11.i.preheader.i

do.11.i.preheader.i:                              ; preds = %after.120.i
  %.9.i22.i = zext i16 %.8.i21.i to i32
  br label %do.11.i.i

do.11.i.i:                                        ; preds = %do.11.i.i, %do.11.i.preheader.i
  %.3.0.i91.i = phi i32 [ %.17.i25.i, %do.11.i.i ], [ %.9.i22.i, %do.11.i.preheader.i ]
  %.15.i23.i = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.3.0.i91.i, i1 true)
  %.16.i24.i = add nsw i32 %.3.0.i91.i, -1
  %.17.i25.i = and i32 %.16.i24.i, %.3.0.i91.i
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
  %.15.i.i82.i = getelementptr i8, ptr %warp.0.i, i64 200
  %.16.i7.i.i = load i32, ptr %.15.i.i82.i, align 1
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
  %.111.i.i = getelementptr i8, ptr %warp.0.i, i64 184
  %.112.i.i = load i32, ptr %.111.i.i, align 1
  %.113.i.i = icmp eq i32 %.112.i.i, 0
  %.117.i.i = and i64 %.105.i.i, 15
  %.118.i.i = icmp eq i64 %.117.i.i, 0
  %or.cond.i79.i = select i1 %.113.i.i, i1 %.118.i.i, i1 false
  br i1 %or.cond.i79.i, label %then.106.i.i, label %after.107.i.i

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
  %.121.i.i = tail call fastcc i1 @scheduling.complete_copies(ptr %context.given, ptr %.76)
  br label %after.107.i.i

after.107.i.i:                                    ; preds = %then.106.i.i, %after.78.i.i
  %.126.i.i = load i64, ptr %.125.i.i, align 1
  %.127.not.i.i = icmp eq i64 %.126.i.i, 0
  br i1 %.127.not.i.i, label %after.123.i.i, label %then.122.i.i

then.122.i.i:                                     ; preds = %after.107.i.i
  %.8.i.i80.i = shl i64 %.126.i.i, 13
  %.9.i.i.i = xor i64 %.8.i.i80.i, %.126.i.i
  %.12.i.i.i = lshr i64 %.9.i.i.i, 7
  %.13.i.i.i = xor i64 %.12.i.i.i, %.9.i.i.i
  %.16.i.i81.i = shl i64 %.13.i.i.i, 17
  %.17.i.i.i = xor i64 %.16.i.i81.i, %.13.i.i.i
  store i64 %.17.i.i.i, ptr %.125.i.i, align 1
  %.132.i.i = and i64 %.13.i.i.i, 255
  store i64 %.132.i.i, ptr %.8.i67.i, align 1
  store i64 %.132.i.i, ptr %.56.i, align 1
  br label %after.123.i.i

after.123.i.i:                                    ; preds = %then.122.i.i, %after.107.i.i
  %.145.i.i = load i64, ptr %.103.i.i, align 1
  %.148.i.i = load i64, ptr %.147.i.i, align 1
  %.149.i.i = urem i64 %.145.i.i, %.148.i.i
  %.150.i.i = icmp eq i64 %.149.i.i, 0
  br i1 %.150.i.i, label %and.142.i.i, label %after.141.i.i

then.140.i.i:                                     ; preds = %and.142.i.i
  %.163.i.i = load i64, ptr %.84.i.i, align 1
  %.166.i.i = load i64, ptr %.165.i.i, align 1
  %.167.i.i = icmp ult i64 %.163.i.i, %.166.i.i
  br i1 %.167.i.i, label %scheduling.end_quantum.exit.i, label %after.141.i.i

after.141.i.i:                                    ; preds = %and.142.i.i, %then.140.i.i, %after.123.i.i
  %.172.i.i = load i64, ptr %.84.i.i, align 1
  %.173.i.i = icmp eq i64 %.172.i.i, 1
  br i1 %.173.i.i, label %scheduling.end_quantum.exit.i, label %after.169.i.i

and.142.i.i:                                      ; preds = %after.123.i.i
  %.152.i.i = load ptr, ptr %context.given, align 1
  %.154.i.i = load i64, ptr %.152.i.i, align 1
  %.157.i.i = load i64, ptr %.156.i.i, align 1
  %.158.i.i = icmp ult i64 %.154.i.i, %.157.i.i
  br i1 %.158.i.i, label %then.140.i.i, label %after.141.i.i

after.169.i.i:                                    ; preds = %after.141.i.i
  %.5.i.i14.i.i = load i64, ptr %.4.i.i.i.i, align 1
  %.122.not.i.i15.i.i = icmp eq i64 %.5.i.i14.i.i, 0
  br i1 %.122.not.i.i15.i.i, label %forget.exit.i26.i.i, label %do.8.i.i18.i.i

do.8.i.i18.i.i:                                   ; preds = %after.169.i.i, %do.8.i.i18.i.i
  %.6.03.i.i19.i.i = phi i64 [ %.21.i.i24.i.i, %do.8.i.i18.i.i ], [ 0, %after.169.i.i ]
  %.15.i.i20.i.i = load ptr, ptr %.14.i.i.i.i, align 1
  %.17.i.i21.i.i = mul i64 %.6.03.i.i19.i.i, 48
  %.18.i.i22.i.i = getelementptr i8, ptr %.15.i.i20.i.i, i64 %.17.i.i21.i.i
  %.19.i.i23.i.i = getelementptr i8, ptr %.18.i.i22.i.i, i64 8
  store i64 0, ptr %.19.i.i23.i.i, align 1
  %.21.i.i24.i.i = add nuw i64 %.6.03.i.i19.i.i, 1
  %.12.i.i25.i.i = icmp ult i64 %.21.i.i24.i.i, %.5.i.i14.i.i
  br i1 %.12.i.i25.i.i, label %do.8.i.i18.i.i, label %forget.exit.i26.i.i

forget.exit.i26.i.i:                              ; preds = %do.8.i.i18.i.i, %after.169.i.i
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

scheduling.end_quantum.exit.i:                    ; preds = %for.8.i.i.i, %for.8.i51.i.i, %then.24.i45.i.i, %forget.exit.i26.i.i, %after.141.i.i, %then.140.i.i, %or.82.i.i, %then.24.i.i.i, %forget.exit.i.i.i, %then.77.i.i, %after.31.i.i, %then.30.i.i
  %.173.not.i = phi i1 [ false, %then.30.i.i ], [ false, %then.24.i.i.i ], [ false, %after.31.i.i ], [ true, %after.141.i.i ], [ true, %then.77.i.i ], [ false, %then.140.i.i ], [ true, %or.82.i.i ], [ false, %forget.exit.i.i.i ], [ false, %for.8.i51.i.i ], [ false, %forget.exit.i26.i.i ], [ false, %then.24.i45.i.i ], [ false, %for.8.i.i.i ]
  %common.ret.op.i.i = phi i32 [ 1, %then.30.i.i ], [ 7, %then.24.i.i.i ], [ 2, %after.31.i.i ], [ 6, %after.141.i.i ], [ 6, %then.77.i.i ], [ 4, %then.140.i.i ], [ 6, %or.82.i.i ], [ 7, %forget.exit.i.i.i ], [ 7, %for.8.i51.i.i ], [ 7, %forget.exit.i26.i.i ], [ 7, %then.24.i45.i.i ], [ 7, %for.8.i.i.i ]
  br i1 %.173.not.i, label %while.3.backedge.i, label %scheduling.take_turns.exit

scheduling.take_turns.exit.loopexit256:           ; preds = %after.68.i
  br label %scheduling.take_turns.exit

scheduling.take_turns.exit:                       ; preds = %while.3.backedge.i, %else.90.i, %scheduling.end_quantum.exit.i, %after.68.i, %scheduling.take_turns.exit.loopexit256, %after.17
  %common.ret.op.i8 = phi i32 [ 3, %after.68.i ], [ 6, %after.17 ], [ 6, %while.3.backedge.i ], [ 3, %else.90.i ], [ %common.ret.op.i.i, %scheduling.end_quantum.exit.i ], [ 1, %scheduling.take_turns.exit.loopexit256 ]
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
  tail call fastcc void @block_start.begin(ptr %context.given, ptr %.54.i, i64 %.43.i)
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
  %.12161.not.i = icmp eq i64 %.5.i115, 0
  br i1 %.12161.not.i, label %after.10.i, label %do.8.lr.ph.i

do.8.lr.ph.i:                                     ; preds = %then.78
  %.4.i9.i = getelementptr i8, ptr %.85, i64 40
  %.5.i10.i = load ptr, ptr %.4.i9.i, align 1
  %.9.i12.i = load i64, ptr %.8.i11.i, align 1
  br label %do.8.i

do.8.i:                                           ; preds = %do.8.i, %do.8.lr.ph.i
  %alive.0163.i = phi i1 [ false, %do.8.lr.ph.i ], [ %spec.select.i, %do.8.i ]
  %.6.0162.i = phi i64 [ 0, %do.8.lr.ph.i ], [ %.23.i117, %do.8.i ]
  %.10.i13.i = mul i64 %.6.0162.i, %.9.i12.i
  %.11.i14.i = getelementptr i8, ptr %.5.i10.i, i64 %.10.i13.i
  %.19.i = getelementptr i8, ptr %.11.i14.i, i64 128
  %.20.i116 = load i32, ptr %.19.i, align 1
  %.21.not.i = icmp ne i32 %.20.i116, 0
  %spec.select.i = select i1 %.21.not.i, i1 true, i1 %alive.0163.i
  %.23.i117 = add nuw i64 %.6.0162.i, 1
  %.12.i118 = icmp ult i64 %.23.i117, %.5.i115
  br i1 %.12.i118, label %do.8.i, label %after.10.i

after.10.i:                                       ; preds = %do.8.i, %then.78
  %alive.0.lcssa.i = phi i1 [ false, %then.78 ], [ %spec.select.i, %do.8.i ]
  %.25.i119 = getelementptr i8, ptr %.85, i64 72
  %.26.i120 = load ptr, ptr %.25.i119, align 1
  br i1 %alive.0.lcssa.i, label %after.28.i, label %then.27.i

then.27.i:                                        ; preds = %after.10.i
  store i32 0, ptr %.85, align 1
  %.33.i121 = tail call fastcc i1 @scheduling.complete_copies(ptr %context.given, ptr nonnull %.85)
  %.5.i16.i = load i64, ptr %.10.i7, align 1
  %.124.not.i.i = icmp eq i64 %.5.i16.i, 0
  br i1 %.124.not.i.i, label %warpgroup_products.left_alone.exit.i, label %do.8.lr.ph.i.i122

do.8.lr.ph.i.i122:                                ; preds = %then.27.i
  %.14.i.i123 = getelementptr i8, ptr %.85, i64 40
  %.15.i.i124 = load ptr, ptr %.14.i.i123, align 1
  %.20.i.i126 = load i64, ptr %.19.i.i125, align 1
  br label %do.8.i.i127

for.7.i.i:                                        ; preds = %and.6.i.i.i153
  %.47.i.i = add nuw i64 %.6.05.i.i, 1
  %.12.i.i158 = icmp ult i64 %.47.i.i, %.5.i16.i
  br i1 %.12.i.i158, label %do.8.i.i127, label %warpgroup_products.left_alone.exit.i

do.8.i.i127:                                      ; preds = %for.7.i.i, %do.8.lr.ph.i.i122
  %.6.05.i.i = phi i64 [ 0, %do.8.lr.ph.i.i122 ], [ %.47.i.i, %for.7.i.i ]
  %.17.i.i128 = and i64 %.6.05.i.i, -4
  %.21.i.i129 = mul i64 %.17.i.i128, %.20.i.i126
  %.22.i.i130 = getelementptr i8, ptr %.15.i.i124, i64 %.21.i.i129
  %.34.i.i131 = mul i64 %.6.05.i.i, %.20.i.i126
  %.35.i.i132 = getelementptr i8, ptr %.15.i.i124, i64 %.34.i.i131
  %.38.i.i133 = getelementptr i8, ptr %.35.i.i132, i64 216
  %.40.i.i134 = getelementptr i8, ptr %.22.i.i130, i64 216
  %.8.i.i.i = load i32, ptr %.38.i.i133, align 1
  %.10.i.i.i = load i32, ptr %.40.i.i134, align 1
  %.11.i.i.i = icmp eq i32 %.8.i.i.i, %.10.i.i.i
  br i1 %.11.i.i.i, label %and.6.i.i.i153, label %no.4.i.i.i

no.4.i.i.i:                                       ; preds = %and.6.i.i.i153, %do.8.i.i127
  %.44.i.i = trunc i64 %.17.i.i128 to i32
  %.45.i.i = or disjoint i32 %.44.i.i, 1
  br label %warpgroup_products.left_alone.exit.i

and.6.i.i.i153:                                   ; preds = %do.8.i.i127
  %.13.i.i.i154 = getelementptr i8, ptr %.35.i.i132, i64 224
  %.14.i.i.i155 = load i32, ptr %.13.i.i.i154, align 1
  %.16.i.i.i156 = getelementptr i8, ptr %.22.i.i130, i64 224
  %.17.i.i.i157 = load i32, ptr %.16.i.i.i156, align 1
  %.18.i.i.i = icmp eq i32 %.14.i.i.i155, %.17.i.i.i157
  br i1 %.18.i.i.i, label %for.7.i.i, label %no.4.i.i.i

warpgroup_products.left_alone.exit.i:             ; preds = %for.7.i.i, %no.4.i.i.i, %then.27.i
  %common.ret.op.i.i135 = phi i32 [ %.45.i.i, %no.4.i.i.i ], [ 0, %then.27.i ], [ 0, %for.7.i.i ]
  %.40.not.i = icmp eq i32 %common.ret.op.i.i135, 0
  br i1 %.40.not.i, label %after.38.i, label %then.37.i

after.28.i:                                       ; preds = %after.10.i
  %.67.i = tail call fastcc i1 @scheduling.goes_on(ptr %context.given, ptr %.85)
  br i1 %.67.i, label %then.63.i, label %after.64.i

then.37.i:                                        ; preds = %warpgroup_products.left_alone.exit.i
  %.45.i136 = add i32 %common.ret.op.i.i135, -1
  %.46.i137 = zext i32 %.45.i136 to i64
  %.4.i5.i = getelementptr i8, ptr %.85, i64 40
  %.5.i6.i = load ptr, ptr %.4.i5.i, align 1
  %.9.i8.i = load i64, ptr %.8.i7.i, align 1
  %.10.i.i138 = mul i64 %.9.i8.i, %.46.i137
  %.11.i.i139 = getelementptr i8, ptr %.5.i6.i, i64 %.10.i.i138
  store i32 42, ptr %.5.i17.i, align 1
  store i32 0, ptr %.9.i18.i, align 1
  store i32 0, ptr %.13.i.i140, align 1
  %.15.i19.i = getelementptr i8, ptr %.11.i.i139, i64 200
  %.16.i.i141 = load i32, ptr %.15.i19.i, align 1
  store i32 %.16.i.i141, ptr %.19.i20.i, align 1
  store i64 0, ptr %.23.i.i142, align 1
  br label %after.79

after.38.i:                                       ; preds = %warpgroup_products.left_alone.exit.i
  %.49.i144 = getelementptr i8, ptr %.26.i120, i64 16
  %.50.i145 = load i64, ptr %.49.i144, align 1
  %.51.i146 = add i64 %.50.i145, -1
  store i64 %.51.i146, ptr %.49.i144, align 1
  %.54.i148 = load i64, ptr %.53.i147, align 1
  %.55.i = add i64 %.54.i148, 1
  store i64 %.55.i, ptr %.53.i147, align 1
  %.60.i = load i64, ptr %.49.i144, align 1
  %.61.not.i = icmp eq i64 %.60.i, 0
  br i1 %.61.not.i, label %after.79, label %then.56.i

then.56.i:                                        ; preds = %after.38.i
  %.5.i22.i = load i64, ptr %.4.i21.i, align 1
  %.122.not.i.i149 = icmp eq i64 %.5.i22.i, 0
  br i1 %.122.not.i.i149, label %after.79, label %do.8.i25.i

do.8.i25.i:                                       ; preds = %then.56.i, %do.8.i25.i
  %.6.03.i.i150 = phi i64 [ %.21.i29.i, %do.8.i25.i ], [ 0, %then.56.i ]
  %.15.i26.i = load ptr, ptr %.14.i24.i, align 1
  %.17.i27.i = mul i64 %.6.03.i.i150, 48
  %.18.i.i151 = getelementptr i8, ptr %.15.i26.i, i64 %.17.i27.i
  %.19.i28.i = getelementptr i8, ptr %.18.i.i151, i64 8
  store i64 0, ptr %.19.i28.i, align 1
  %.21.i29.i = add nuw i64 %.6.03.i.i150, 1
  %.12.i30.i152 = icmp ult i64 %.21.i29.i, %.5.i22.i
  br i1 %.12.i30.i152, label %do.8.i25.i, label %after.79

then.63.i:                                        ; preds = %after.28.i
  %.4.i31.i = getelementptr i8, ptr %.85, i64 48
  store i64 0, ptr %.4.i31.i, align 1
  %.9.i33.i = load i64, ptr %.8.i32.i, align 1
  %.10.not.i.i = icmp eq i64 %.9.i33.i, 0
  br i1 %.10.not.i.i, label %after.79, label %then.5.i.i

then.5.i.i:                                       ; preds = %then.63.i
  %.13.i35.i = load i64, ptr %.10.i7, align 1
  %.205.i.i = icmp ugt i64 %.13.i35.i, 1
  br i1 %.205.i.i, label %do.16.i.i, label %after.79

do.16.i.i:                                        ; preds = %then.5.i.i, %do.16.i.i
  %.14.06.i.i = phi i64 [ %.57.i.i189, %do.16.i.i ], [ 1, %then.5.i.i ]
  %.23.i37.i = load i64, ptr %.10.i7, align 1
  %.25.i.i183 = sub i64 %.23.i37.i, %.14.06.i.i
  %.5.i.i.i = load i64, ptr %.8.i32.i, align 1
  %.8.i.i38.i = shl i64 %.5.i.i.i, 13
  %.9.i.i.i184 = xor i64 %.8.i.i38.i, %.5.i.i.i
  %.12.i.i.i185 = lshr i64 %.9.i.i.i184, 7
  %.13.i.i39.i = xor i64 %.12.i.i.i185, %.9.i.i.i184
  %.16.i.i40.i = shl i64 %.13.i.i39.i, 17
  %.17.i.i41.i = xor i64 %.16.i.i40.i, %.13.i.i39.i
  store i64 %.17.i.i41.i, ptr %.8.i32.i, align 1
  %.31.i.i = add i64 %.25.i.i183, 1
  %.32.i.i186 = urem i64 %.17.i.i41.i, %.31.i.i
  %.35.i42.i = load ptr, ptr %.34.i36.i, align 1
  %.37.i.i = getelementptr i32, ptr %.35.i42.i, i64 %.25.i.i183
  %.38.i43.i = load i32, ptr %.37.i.i, align 1
  %.43.i.i187 = getelementptr i32, ptr %.35.i42.i, i64 %.32.i.i186
  %.44.i44.i = load i32, ptr %.43.i.i187, align 1
  store i32 %.44.i44.i, ptr %.37.i.i, align 1
  %.53.i.i = load ptr, ptr %.34.i36.i, align 1
  %.55.i.i188 = getelementptr i32, ptr %.53.i.i, i64 %.32.i.i186
  store i32 %.38.i43.i, ptr %.55.i.i188, align 1
  %.57.i.i189 = add nuw i64 %.14.06.i.i, 1
  %.20.i45.i = icmp ult i64 %.57.i.i189, %.13.i35.i
  br i1 %.20.i45.i, label %do.16.i.i, label %after.79

after.64.i:                                       ; preds = %after.28.i
  %.71.i159 = getelementptr i8, ptr %.26.i120, i64 8
  %.72.i160 = load i64, ptr %.71.i159, align 1
  %.79164.not.i = icmp eq i64 %.72.i160, 0
  br i1 %.79164.not.i, label %and.114.i, label %do.75.lr.ph.i

do.75.lr.ph.i:                                    ; preds = %after.64.i
  %.99.i = getelementptr i8, ptr %.85, i64 80
  br label %do.75.i

do.75.i:                                          ; preds = %after.91.i, %do.75.lr.ph.i
  %.73.0165.i = phi i64 [ 0, %do.75.lr.ph.i ], [ %.111.i, %after.91.i ]
  %.82.i = load ptr, ptr %.81.i161, align 1
  %.84.i162 = load i64, ptr %.26.i120, align 1
  %.86.i163 = add i64 %.84.i162, %.73.0165.i
  %.87.i164 = shl i64 %.86.i163, 3
  %.88.i = getelementptr i8, ptr %.82.i, i64 %.87.i164
  %.89.i = load ptr, ptr %.88.i, align 1
  %.94.i = load i32, ptr %.89.i, align 1
  %.95.not.i = icmp eq i32 %.94.i, 0
  br i1 %.95.not.i, label %after.91.i, label %and.92.i

then.90.i:                                        ; preds = %and.96.i
  %.4.i46.i = getelementptr i8, ptr %.85, i64 48
  store i64 0, ptr %.4.i46.i, align 1
  %.9.i48.i = load i64, ptr %.8.i47.i, align 1
  %.10.not.i49.i = icmp eq i64 %.9.i48.i, 0
  br i1 %.10.not.i49.i, label %block_start.begin_round.exit78.i, label %then.5.i50.i

then.5.i50.i:                                     ; preds = %then.90.i
  %.13.i52.i = load i64, ptr %.10.i7, align 1
  %.205.i53.i = icmp ugt i64 %.13.i52.i, 1
  br i1 %.205.i53.i, label %do.16.i56.i, label %block_start.begin_round.exit78.i

do.16.i56.i:                                      ; preds = %then.5.i50.i, %do.16.i56.i
  %.14.06.i57.i = phi i64 [ %.57.i76.i, %do.16.i56.i ], [ 1, %then.5.i50.i ]
  %.23.i58.i = load i64, ptr %.10.i7, align 1
  %.25.i59.i = sub i64 %.23.i58.i, %.14.06.i57.i
  %.5.i.i60.i = load i64, ptr %.8.i47.i, align 1
  %.8.i.i61.i = shl i64 %.5.i.i60.i, 13
  %.9.i.i62.i = xor i64 %.8.i.i61.i, %.5.i.i60.i
  %.12.i.i63.i = lshr i64 %.9.i.i62.i, 7
  %.13.i.i64.i = xor i64 %.12.i.i63.i, %.9.i.i62.i
  %.16.i.i65.i = shl i64 %.13.i.i64.i, 17
  %.17.i.i66.i = xor i64 %.16.i.i65.i, %.13.i.i64.i
  store i64 %.17.i.i66.i, ptr %.8.i47.i, align 1
  %.31.i67.i = add i64 %.25.i59.i, 1
  %.32.i68.i = urem i64 %.17.i.i66.i, %.31.i67.i
  %.35.i69.i = load ptr, ptr %.34.i55.i, align 1
  %.37.i70.i = getelementptr i32, ptr %.35.i69.i, i64 %.25.i59.i
  %.38.i71.i = load i32, ptr %.37.i70.i, align 1
  %.43.i72.i = getelementptr i32, ptr %.35.i69.i, i64 %.32.i68.i
  %.44.i73.i = load i32, ptr %.43.i72.i, align 1
  store i32 %.44.i73.i, ptr %.37.i70.i, align 1
  %.53.i74.i = load ptr, ptr %.34.i55.i, align 1
  %.55.i75.i = getelementptr i32, ptr %.53.i74.i, i64 %.32.i68.i
  store i32 %.38.i71.i, ptr %.55.i75.i, align 1
  %.57.i76.i = add nuw i64 %.14.06.i57.i, 1
  %.20.i77.i = icmp ult i64 %.57.i76.i, %.13.i52.i
  br i1 %.20.i77.i, label %do.16.i56.i, label %block_start.begin_round.exit78.i

block_start.begin_round.exit78.i:                 ; preds = %do.16.i56.i, %then.5.i50.i, %then.90.i
  %.5.i.i79.i = load i64, ptr %.4.i.i.i, align 1
  %.122.not.i.i.i = icmp eq i64 %.5.i.i79.i, 0
  br i1 %.122.not.i.i.i, label %forget.exit.i.i, label %do.8.i.i.i

do.8.i.i.i:                                       ; preds = %block_start.begin_round.exit78.i, %do.8.i.i.i
  %.6.03.i.i.i = phi i64 [ %.21.i.i.i, %do.8.i.i.i ], [ 0, %block_start.begin_round.exit78.i ]
  %.15.i.i.i176 = load ptr, ptr %.14.i.i80.i, align 1
  %.17.i.i81.i = mul i64 %.6.03.i.i.i, 48
  %.18.i.i82.i = getelementptr i8, ptr %.15.i.i.i176, i64 %.17.i.i81.i
  %.19.i.i.i177 = getelementptr i8, ptr %.18.i.i82.i, i64 8
  store i64 0, ptr %.19.i.i.i177, align 1
  %.21.i.i.i = add nuw i64 %.6.03.i.i.i, 1
  %.12.i.i83.i = icmp ult i64 %.21.i.i.i, %.5.i.i79.i
  br i1 %.12.i.i83.i, label %do.8.i.i.i, label %forget.exit.i.i

forget.exit.i.i:                                  ; preds = %do.8.i.i.i, %block_start.begin_round.exit78.i
  %.6.i.i178 = load i64, ptr %.5.i84.i, align 1
  %.136.not.i.i = icmp eq i64 %.6.i.i178, 0
  br i1 %.136.not.i.i, label %after.79, label %do.9.lr.ph.i.i

do.9.lr.ph.i.i:                                   ; preds = %forget.exit.i.i
  %.16.i86.i = load i64, ptr %.15.i85.i, align 1
  %invariant.op.i.i = add i64 %.16.i86.i, 1
  %.28.i.i179 = load ptr, ptr %.81.i161, align 1
  br label %do.9.i.i

for.8.i.i:                                        ; preds = %do.9.i.i
  %.48.i.i182 = add nuw i64 %.7.07.i.i, 1
  %.13.i91.i = icmp ult i64 %.48.i.i182, %.6.i.i178
  br i1 %.13.i91.i, label %do.9.i.i, label %after.79

do.9.i.i:                                         ; preds = %for.8.i.i, %do.9.lr.ph.i.i
  %.7.07.i.i = phi i64 [ 0, %do.9.lr.ph.i.i ], [ %.48.i.i182, %for.8.i.i ]
  %.19.reass.i.i = add i64 %invariant.op.i.i, %.7.07.i.i
  %.23.i87.i = urem i64 %.19.reass.i.i, %.6.i.i178
  %.30.i.i180 = shl i64 %.23.i87.i, 3
  %.31.i88.i = getelementptr i8, ptr %.28.i.i179, i64 %.30.i.i180
  %.32.i89.i = load ptr, ptr %.31.i88.i, align 1
  %.33.i.i181 = load i32, ptr %.32.i89.i, align 1
  %.34.not.i.i = icmp eq i32 %.33.i.i181, 0
  br i1 %.34.not.i.i, label %for.8.i.i, label %then.24.i.i

then.24.i.i:                                      ; preds = %do.9.i.i
  %.31.i88.i.le = getelementptr i8, ptr %.28.i.i179, i64 %.30.i.i180
  store i64 %.23.i87.i, ptr %.15.i85.i, align 1
  %.44.i90.i = load ptr, ptr %.31.i88.i.le, align 1
  store ptr %.44.i90.i, ptr %.19, align 1
  br label %after.79

after.91.i:                                       ; preds = %and.96.i, %and.92.i, %do.75.i
  %.111.i = add nuw i64 %.73.0165.i, 1
  %.79.i = icmp ult i64 %.111.i, %.72.i160
  br i1 %.79.i, label %do.75.i, label %and.114.i

and.92.i:                                         ; preds = %do.75.i
  %.100.i = load i32, ptr %.99.i, align 1
  %.101.i = zext i32 %.100.i to i64
  %.102.not.i = icmp eq i64 %.73.0165.i, %.101.i
  br i1 %.102.not.i, label %after.91.i, label %and.96.i

and.96.i:                                         ; preds = %and.92.i
  %.105.i165 = tail call fastcc i1 @scheduling.goes_on(ptr %context.given, ptr nonnull %.89.i)
  br i1 %.105.i165, label %then.90.i, label %after.91.i

then.112.i:                                       ; preds = %and.114.i
  %.4.i92.i = getelementptr i8, ptr %.85, i64 48
  store i64 0, ptr %.4.i92.i, align 1
  %.9.i94.i = load i64, ptr %.8.i93.i, align 1
  %.10.not.i95.i = icmp eq i64 %.9.i94.i, 0
  br i1 %.10.not.i95.i, label %after.79, label %then.5.i96.i

then.5.i96.i:                                     ; preds = %then.112.i
  %.13.i98.i = load i64, ptr %.10.i7, align 1
  %.205.i99.i = icmp ugt i64 %.13.i98.i, 1
  br i1 %.205.i99.i, label %do.16.i102.i, label %after.79

do.16.i102.i:                                     ; preds = %then.5.i96.i, %do.16.i102.i
  %.14.06.i103.i = phi i64 [ %.57.i122.i, %do.16.i102.i ], [ 1, %then.5.i96.i ]
  %.23.i104.i = load i64, ptr %.10.i7, align 1
  %.25.i105.i = sub i64 %.23.i104.i, %.14.06.i103.i
  %.5.i.i106.i = load i64, ptr %.8.i93.i, align 1
  %.8.i.i107.i = shl i64 %.5.i.i106.i, 13
  %.9.i.i108.i = xor i64 %.8.i.i107.i, %.5.i.i106.i
  %.12.i.i109.i = lshr i64 %.9.i.i108.i, 7
  %.13.i.i110.i = xor i64 %.12.i.i109.i, %.9.i.i108.i
  %.16.i.i111.i = shl i64 %.13.i.i110.i, 17
  %.17.i.i112.i = xor i64 %.16.i.i111.i, %.13.i.i110.i
  store i64 %.17.i.i112.i, ptr %.8.i93.i, align 1
  %.31.i113.i = add i64 %.25.i105.i, 1
  %.32.i114.i = urem i64 %.17.i.i112.i, %.31.i113.i
  %.35.i115.i = load ptr, ptr %.34.i101.i, align 1
  %.37.i116.i = getelementptr i32, ptr %.35.i115.i, i64 %.25.i105.i
  %.38.i117.i = load i32, ptr %.37.i116.i, align 1
  %.43.i118.i = getelementptr i32, ptr %.35.i115.i, i64 %.32.i114.i
  %.44.i119.i = load i32, ptr %.43.i118.i, align 1
  store i32 %.44.i119.i, ptr %.37.i116.i, align 1
  %.53.i120.i = load ptr, ptr %.34.i101.i, align 1
  %.55.i121.i = getelementptr i32, ptr %.53.i120.i, i64 %.32.i114.i
  store i32 %.38.i117.i, ptr %.55.i121.i, align 1
  %.57.i122.i = add nuw i64 %.14.06.i103.i, 1
  %.20.i123.i = icmp ult i64 %.57.i122.i, %.13.i98.i
  br i1 %.20.i123.i, label %do.16.i102.i, label %after.79

after.113.i:                                      ; preds = %and.114.i
  %.121.i = load i64, ptr %.26.i120, align 1
  %.5.i126.i = load i64, ptr %.71.i159, align 1
  %.1511.not.i.i = icmp eq i64 %.5.i126.i, 0
  br i1 %.1511.not.i.i, label %scheduling.to_report.exit.i, label %do.11.lr.ph.i.i166

do.11.lr.ph.i.i166:                               ; preds = %after.113.i
  %.18.i128.i = load ptr, ptr %.17.i127.i, align 1
  br label %do.11.i.i167

do.11.i.i167:                                     ; preds = %after.27.i.i, %do.11.lr.ph.i.i166
  %found.013.i.i = phi i64 [ %.5.i126.i, %do.11.lr.ph.i.i166 ], [ %found.1.i.i, %after.27.i.i ]
  %.9.012.i.i = phi i64 [ 0, %do.11.lr.ph.i.i166 ], [ %.64.i.i175, %after.27.i.i ]
  %.22.i132.i = add i64 %.9.012.i.i, %.121.i
  %.23.i133.i = shl i64 %.22.i132.i, 3
  %.24.i.i = getelementptr i8, ptr %.18.i128.i, i64 %.23.i133.i
  %.25.i134.i = load ptr, ptr %.24.i.i, align 1
  %.29.i.i168 = load i32, ptr %.25.i134.i, align 1
  %.30.not.i.i = icmp eq i32 %.29.i.i168, 0
  br i1 %.30.not.i.i, label %after.27.i.i, label %then.26.i.i

then.26.i.i:                                      ; preds = %do.11.i.i167
  %.33.i135.i = load i64, ptr %.10.i7, align 1
  %.409.not.i.i = icmp eq i64 %.33.i135.i, 0
  br i1 %.409.not.i.i, label %after.38.i.i, label %do.36.lr.ph.i.i

do.36.lr.ph.i.i:                                  ; preds = %then.26.i.i
  %.4.i.i136.i = getelementptr i8, ptr %.25.i134.i, i64 40
  %.5.i.i137.i = load ptr, ptr %.4.i.i136.i, align 1
  %.9.i.i138.i = load i64, ptr %.8.i.i131.i, align 1
  br label %do.36.i.i

after.27.i.i:                                     ; preds = %after.38.i.i, %do.11.i.i167
  %found.1.i.i = phi i64 [ %.62.i.i174, %after.38.i.i ], [ %found.013.i.i, %do.11.i.i167 ]
  %.64.i.i175 = add nuw i64 %.9.012.i.i, 1
  %.15.i145.i = icmp ult i64 %.64.i.i175, %.5.i126.i
  br i1 %.15.i145.i, label %do.11.i.i167, label %scheduling.to_report.exit.i

for.35.i.i:                                       ; preds = %do.36.i.i
  %.58.i.i = add nuw i64 %.34.010.i.i, 1
  %.40.i144.i = icmp ult i64 %.58.i.i, %.33.i135.i
  br i1 %.40.i144.i, label %do.36.i.i, label %after.38.i.i

do.36.i.i:                                        ; preds = %for.35.i.i, %do.36.lr.ph.i.i
  %.34.010.i.i = phi i64 [ 0, %do.36.lr.ph.i.i ], [ %.58.i.i, %for.35.i.i ]
  %.10.i.i139.i = mul i64 %.34.010.i.i, %.9.i.i138.i
  %.11.i.i140.i = getelementptr i8, ptr %.5.i.i137.i, i64 %.10.i.i139.i
  %.48.i141.i = getelementptr i8, ptr %.11.i.i140.i, i64 128
  %.49.i.i169 = load i32, ptr %.48.i141.i, align 1
  %.51.i.i = getelementptr i8, ptr %.11.i.i140.i, i64 180
  %.52.i.i170 = load i32, ptr %.51.i.i, align 1
  %.53.i142.i = xor i32 %.52.i.i170, -1
  %.54.i.i171 = and i32 %.49.i.i169, %.53.i142.i
  %.55.not.i.i = icmp eq i32 %.54.i.i171, 0
  br i1 %.55.not.i.i, label %for.35.i.i, label %scheduling.to_report.exit.i

after.38.i.i:                                     ; preds = %for.35.i.i, %then.26.i.i
  %.62.i.i174 = tail call i64 @llvm.umin.i64(i64 %found.013.i.i, i64 %.9.012.i.i)
  br label %after.27.i.i

scheduling.to_report.exit.i:                      ; preds = %after.27.i.i, %do.36.i.i, %after.113.i
  %common.ret.op.i143.i = phi i64 [ %.9.012.i.i, %do.36.i.i ], [ 0, %after.113.i ], [ %found.1.i.i, %after.27.i.i ]
  %.125.i = add i64 %common.ret.op.i143.i, %.121.i
  store i64 %.125.i, ptr %.127.i, align 1
  %.4.i.i172 = getelementptr i8, ptr %.85, i64 40
  %.5.i.i173 = load ptr, ptr %.4.i.i172, align 1
  store i32 3, ptr %.5.i146.i, align 1
  store i32 0, ptr %.9.i147.i, align 1
  store i32 0, ptr %.13.i148.i, align 1
  %.15.i149.i = getelementptr i8, ptr %.5.i.i173, i64 200
  %.16.i150.i = load i32, ptr %.15.i149.i, align 1
  store i32 %.16.i150.i, ptr %.19.i151.i, align 1
  store i64 0, ptr %.23.i152.i, align 1
  br label %after.79

and.114.i:                                        ; preds = %after.91.i, %after.64.i
  %.117.i = tail call fastcc i1 @scheduling.complete_copies(ptr %context.given, ptr %.85)
  br i1 %.117.i, label %then.112.i, label %after.113.i

after.79:                                         ; preds = %do.8.i25.i, %for.8.i.i, %do.16.i102.i, %do.16.i.i, %scheduling.to_report.exit.i, %then.5.i96.i, %then.112.i, %then.24.i.i, %forget.exit.i.i, %then.5.i.i, %then.63.i, %then.56.i, %after.38.i, %then.37.i, %scheduling.take_turns.exit
  %outcome.0 = phi i32 [ %common.ret.op.i8, %scheduling.take_turns.exit ], [ 1, %then.37.i ], [ 1, %scheduling.to_report.exit.i ], [ 6, %do.16.i102.i ], [ 7, %for.8.i.i ], [ 7, %then.24.i.i ], [ 6, %after.38.i ], [ 6, %then.56.i ], [ 6, %then.63.i ], [ 6, %then.5.i.i ], [ 7, %forget.exit.i.i ], [ 6, %do.16.i.i ], [ 6, %then.112.i ], [ 6, %then.5.i96.i ], [ 6, %do.8.i25.i ]
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

define noundef i1 @scheduling_rounds.end_alike(ptr readonly captures(none) %context.given, ptr captures(none) %cta.given, i32 %ended.given, i1 %noted.given) local_unnamed_addr #4 {
entry.1:
  switch i32 %ended.given, label %after.23 [
    i32 2, label %common.ret
    i32 3, label %common.ret.sink.split
  ]

common.ret.sink.split:                            ; preds = %after.22.i, %after.57.i, %entry.1
  %.85.i = getelementptr i8, ptr %cta.given, i64 48
  store i64 0, ptr %.85.i, align 1
  br label %common.ret

common.ret:                                       ; preds = %common.ret.sink.split, %entry.1, %or.5.i, %after.23
  %common.ret.op = phi i1 [ false, %or.5.i ], [ false, %after.23 ], [ false, %entry.1 ], [ true, %common.ret.sink.split ]
  ret i1 %common.ret.op

after.23:                                         ; preds = %entry.1
  %.31 = add i32 %ended.given, -4
  %.7.i = getelementptr i8, ptr %cta.given, i64 128
  %.9.i = zext i32 %.31 to i64
  %.10.i = getelementptr i32, ptr %.7.i, i64 %.9.i
  %.11.i = load i32, ptr %.10.i, align 1
  %.12.not.i = icmp eq i32 %.11.i, 0
  br i1 %.12.not.i, label %or.5.i, label %common.ret

or.5.i:                                           ; preds = %after.23
  %.15.i = getelementptr i8, ptr %cta.given, i64 192
  %.18.i = getelementptr i32, ptr %.15.i, i64 %.9.i
  %.19.i = load i32, ptr %.18.i, align 1
  %.20.not.i = icmp eq i32 %.19.i, 0
  br i1 %.20.not.i, label %or.13.i, label %common.ret

or.13.i:                                          ; preds = %or.5.i
  br i1 %noted.given, label %then.21.i, label %after.22.i

then.21.i:                                        ; preds = %or.13.i
  %.25.i = getelementptr i8, ptr %context.given, i64 184
  %.26.i = load i64, ptr %.25.i, align 1
  %.33.i14.not = icmp eq i64 %.26.i, 0
  br i1 %.33.i14.not, label %after.22.i, label %do.29.i.lr.ph

do.29.i.lr.ph:                                    ; preds = %then.21.i
  %.4.i10.i = getelementptr i8, ptr %cta.given, i64 40
  %.8.i12.i = getelementptr i8, ptr %context.given, i64 192
  br label %do.29.i

after.22.i:                                       ; preds = %do.29.i, %then.21.i, %or.13.i
  %.44.i = getelementptr i8, ptr %cta.given, i64 320
  %.47.i = getelementptr i32, ptr %.44.i, i64 %.9.i
  %.48.i = load i32, ptr %.47.i, align 1
  %.49.not.i = icmp eq i32 %.48.i, 0
  br i1 %.49.not.i, label %common.ret.sink.split, label %then.41.i

do.29.i:                                          ; preds = %do.29.i.lr.ph, %do.29.i
  %.27.0.i15 = phi i64 [ 0, %do.29.i.lr.ph ], [ %.40.i, %do.29.i ]
  %.5.i11.i = load ptr, ptr %.4.i10.i, align 1
  %.9.i13.i = load i64, ptr %.8.i12.i, align 1
  %.10.i14.i = mul i64 %.9.i13.i, %.27.0.i15
  %.11.i15.i = getelementptr i8, ptr %.5.i11.i, i64 %.10.i14.i
  %.4.i = getelementptr i8, ptr %.11.i15.i, i64 320
  %.7.i5 = getelementptr i32, ptr %.4.i, i64 %.9.i
  store i32 0, ptr %.7.i5, align 1
  %.9.i6 = getelementptr i8, ptr %.11.i15.i, i64 384
  %.12.i = getelementptr i32, ptr %.9.i6, i64 %.9.i
  store i32 0, ptr %.12.i, align 1
  %.14.i = getelementptr i8, ptr %.11.i15.i, i64 132
  store i32 0, ptr %.14.i, align 1
  %.40.i = add nuw i64 %.27.0.i15, 1
  %.33.i = icmp ult i64 %.40.i, %.26.i
  br i1 %.33.i, label %do.29.i, label %after.22.i

then.41.i:                                        ; preds = %after.22.i
  %.51.i = getelementptr i8, ptr %context.given, i64 184
  %.52.i = load i64, ptr %.51.i, align 1
  %.59.i16.not = icmp eq i64 %.52.i, 0
  br i1 %.59.i16.not, label %after.57.i, label %do.55.i.lr.ph

do.55.i.lr.ph:                                    ; preds = %then.41.i
  %.4.i.i = getelementptr i8, ptr %cta.given, i64 40
  %.8.i.i = getelementptr i8, ptr %context.given, i64 192
  %.65.i = getelementptr i8, ptr %cta.given, i64 256
  %.68.i = getelementptr i32, ptr %.65.i, i64 %.9.i
  br label %do.55.i

do.55.i:                                          ; preds = %do.55.i.lr.ph, %do.55.i
  %.53.0.i17 = phi i64 [ 0, %do.55.i.lr.ph ], [ %.81.i, %do.55.i ]
  %.5.i.i = load ptr, ptr %.4.i.i, align 1
  %.9.i.i = load i64, ptr %.8.i.i, align 1
  %.10.i.i = mul i64 %.9.i.i, %.53.0.i17
  %.11.i.i = getelementptr i8, ptr %.5.i.i, i64 %.10.i.i
  %.69.i = load i32, ptr %.68.i, align 1
  %.71.i = getelementptr i8, ptr %.11.i.i, i64 188
  store i32 %.69.i, ptr %.71.i, align 1
  %.77.i = load i32, ptr %.47.i, align 1
  %.79.i = getelementptr i8, ptr %.11.i.i, i64 192
  store i32 %.77.i, ptr %.79.i, align 1
  %.81.i = add nuw i64 %.53.0.i17, 1
  %.59.i = icmp ult i64 %.81.i, %.52.i
  br i1 %.59.i, label %do.55.i, label %after.57.i

after.57.i:                                       ; preds = %do.55.i, %then.41.i
  store i32 0, ptr %.10.i, align 1
  store i32 0, ptr %.18.i, align 1
  %.14.i12 = getelementptr i8, ptr %cta.given, i64 256
  %.17.i = getelementptr i32, ptr %.14.i12, i64 %.9.i
  store i32 0, ptr %.17.i, align 1
  store i32 0, ptr %.47.i, align 1
  br label %common.ret.sink.split
}

define noundef i1 @scheduling_rounds.begin_in_place(ptr readnone captures(none) %context.given, ptr readnone captures(none) %cta.given) local_unnamed_addr #5 {
entry.1:
  ret i1 false
}

define noundef i64 @scheduling_rounds.followers(ptr readnone captures(none) %context.given, ptr readnone captures(none) %cta.given) local_unnamed_addr #5 {
entry.1:
  ret i64 0
}

define void @scheduling_rounds.follows(ptr readnone captures(none) %context.given, ptr readnone captures(none) %cta.given) local_unnamed_addr #5 {
entry.1:
  ret void
}

define void @scheduling_rounds.have_followed(ptr captures(none) %context.given, ptr readnone captures(none) %cta.given, i64 %count.given) local_unnamed_addr #6 {
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

define void @scheduling_rounds.leave_round(ptr readonly captures(none) %context.given, ptr captures(none) %cta.given, ptr captures(none) %warp.given, i32 %before.given, i32 %ended.given, i32 %at.given) local_unnamed_addr #7 {
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

define void @scheduling_rounds.leave_segment(ptr readonly captures(none) %context.given, ptr readonly captures(none) %cta.given, ptr readonly captures(none) %first.given, ptr readonly captures(none) %warp.given, i32 %start.given, i32 %behind.given) local_unnamed_addr #4 {
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

define void @lane_scheduling.count_ends(ptr readonly captures(none) %context.given, ptr readonly captures(none) %warp.given) local_unnamed_addr #7 {
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

define internal fastcc void @block_start.begin(ptr captures(none) %context.given, ptr captures(none) %cta.given, i64 %number.given) unnamed_addr #3 {
entry.1:
  %.4 = getelementptr i8, ptr %cta.given, i64 88
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
  %.4.i19 = getelementptr i8, ptr %cta.given, i64 128
  %.9.i20 = getelementptr i8, ptr %cta.given, i64 192
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
  %.11445.not = icmp eq i64 %.107, 0
  br i1 %.11445.not, label %after.86, label %do.110.lr.ph

do.110.lr.ph:                                     ; preds = %else.92
  %.4.i13 = getelementptr i8, ptr %cta.given, i64 40
  %.8.i15 = getelementptr i8, ptr %context.given, i64 192
  br label %do.110

do.110:                                           ; preds = %do.110.lr.ph, %do.110
  %.108.046 = phi i64 [ 0, %do.110.lr.ph ], [ %.123, %do.110 ]
  %.5.i14 = load ptr, ptr %.4.i13, align 1
  %.9.i16 = load i64, ptr %.8.i15, align 1
  %.10.i17 = mul i64 %.9.i16, %.108.046
  %.11.i18 = getelementptr i8, ptr %.5.i14, i64 %.10.i17
  %.121 = load i64, ptr %.95, align 1
  %.4.i21 = getelementptr i8, ptr %.11.i18, i64 240
  %.5.i22 = load ptr, ptr %.4.i21, align 1
  %.8.i23 = shl i64 %.121, 5
  tail call void @llvm.memset.p0.i64(ptr align 1 %.5.i22, i8 -1, i64 %.8.i23, i1 false)
  %.11.i24 = getelementptr i8, ptr %.11.i18, i64 248
  store i64 %.121, ptr %.11.i24, align 1
  %.123 = add nuw i64 %.108.046, 1
  %.114 = icmp ult i64 %.123, %.107
  br i1 %.114, label %do.110, label %after.86

do.126:                                           ; preds = %after.86, %do.126
  %.124.047 = phi i64 [ 0, %after.86 ], [ %.135, %do.126 ]
  %.7.i = getelementptr i32, ptr %.4.i19, i64 %.124.047
  store i32 0, ptr %.7.i, align 1
  %.12.i = getelementptr i32, ptr %.9.i20, i64 %.124.047
  store i32 0, ptr %.12.i, align 1
  %.17.i = getelementptr i32, ptr %.14.i, i64 %.124.047
  store i32 0, ptr %.17.i, align 1
  %.22.i = getelementptr i32, ptr %.19.i, i64 %.124.047
  store i32 0, ptr %.22.i, align 1
  %.135 = add nuw nsw i64 %.124.047, 1
  %.130 = icmp samesign ult i64 %.124.047, 15
  br i1 %.130, label %do.126, label %after.128

after.128:                                        ; preds = %do.126
  store i32 1, ptr %cta.given, align 1
  store i32 0, ptr %.4, align 1
  %.144 = getelementptr i8, ptr %cta.given, i64 84
  %.150 = getelementptr i8, ptr %context.given, i64 184
  %.151 = load i64, ptr %.150, align 1
  %.15850.not = icmp eq i64 %.151, 0
  br i1 %.15850.not, label %after.156, label %do.154.lr.ph

do.154.lr.ph:                                     ; preds = %after.128
  %.4.i = getelementptr i8, ptr %cta.given, i64 40
  %.8.i = getelementptr i8, ptr %context.given, i64 192
  %.11.i26 = getelementptr i8, ptr %context.given, i64 172
  %.32.i = getelementptr i8, ptr %context.given, i64 172
  %.80.i = getelementptr i8, ptr %context.given, i64 418
  br label %do.154

do.154:                                           ; preds = %do.154.lr.ph, %block_start.begin_warp.exit
  %.152.051 = phi i64 [ 0, %do.154.lr.ph ], [ %.167, %block_start.begin_warp.exit ]
  %.5.i = load ptr, ptr %.4.i, align 1
  %.9.i = load i64, ptr %.8.i, align 1
  %.10.i = mul i64 %.9.i, %.152.051
  %.11.i = getelementptr i8, ptr %.5.i, i64 %.10.i
  %.17.i28 = getelementptr i8, ptr %.11.i, i64 832
  br label %do.5.i

do.5.i:                                           ; preds = %do.154, %do.5.i
  %.3.0.i48 = phi i64 [ 0, %do.154 ], [ %.21.i, %do.5.i ]
  %.12.i27 = load i32, ptr %.11.i26, align 1
  %.15.i = getelementptr i32, ptr %.11.i, i64 %.3.0.i48
  store i32 %.12.i27, ptr %.15.i, align 1
  %.19.i29 = getelementptr i32, ptr %.17.i28, i64 %.3.0.i48
  store i32 0, ptr %.19.i29, align 1
  %.21.i = add nuw nsw i64 %.3.0.i48, 1
  %.9.i25 = icmp samesign ult i64 %.3.0.i48, 31
  br i1 %.9.i25, label %do.5.i, label %after.7.i

after.7.i:                                        ; preds = %do.5.i
  %.23.i = getelementptr i8, ptr %.11.i, i64 196
  %.24.i = load i32, ptr %.23.i, align 1
  %.26.i = getelementptr i8, ptr %.11.i, i64 128
  store i32 %.24.i, ptr %.26.i, align 1
  %.28.i = getelementptr i8, ptr %.11.i, i64 132
  store i32 0, ptr %.28.i, align 1
  %.30.i = getelementptr i8, ptr %.11.i, i64 136
  store i32 0, ptr %.30.i, align 1
  %.33.i = load i32, ptr %.32.i, align 1
  %.35.i = getelementptr i8, ptr %.11.i, i64 140
  store i32 %.33.i, ptr %.35.i, align 1
  %.41.i = getelementptr i8, ptr %.11.i, i64 144
  %.45.i = getelementptr i8, ptr %.11.i, i64 208
  %.68.i = getelementptr i8, ptr %.11.i, i64 320
  %.72.i = getelementptr i8, ptr %.11.i, i64 384
  tail call void @llvm.memset.p0.i64(ptr noundef nonnull align 1 dereferenceable(44) %.41.i, i8 0, i64 44, i1 false)
  tail call void @llvm.memset.p0.i64(ptr noundef nonnull align 1 dereferenceable(24) %.45.i, i8 0, i64 24, i1 false)
  br label %do.62.i

do.62.i:                                          ; preds = %after.7.i, %do.62.i
  %.60.0.i49 = phi i64 [ 0, %after.7.i ], [ %.76.i, %do.62.i ]
  %.70.i = getelementptr i32, ptr %.68.i, i64 %.60.0.i49
  store i32 0, ptr %.70.i, align 1
  %.74.i = getelementptr i32, ptr %.72.i, i64 %.60.0.i49
  store i32 0, ptr %.74.i, align 1
  %.76.i = add nuw nsw i64 %.60.0.i49, 1
  %.66.i = icmp samesign ult i64 %.60.0.i49, 15
  br i1 %.66.i, label %do.62.i, label %after.64.i

after.64.i:                                       ; preds = %do.62.i
  %.81.i = load i8, ptr %.80.i, align 1
  %.82.not.i = icmp eq i8 %.81.i, 0
  br i1 %.82.not.i, label %block_start.begin_warp.exit, label %then.77.i

then.77.i:                                        ; preds = %after.64.i
  tail call void @clear.registers(ptr %.11.i) #3
  br label %block_start.begin_warp.exit

block_start.begin_warp.exit:                      ; preds = %after.64.i, %then.77.i
  %.167 = add nuw i64 %.152.051, 1
  %.158 = icmp ult i64 %.167, %.151
  br i1 %.158, label %do.154, label %after.156

after.156:                                        ; preds = %block_start.begin_warp.exit, %after.128
  store i32 1, ptr %.144, align 1
  %.4.i33 = getelementptr i8, ptr %cta.given, i64 48
  store i64 0, ptr %.4.i33, align 1
  %.8.i34 = getelementptr i8, ptr %context.given, i64 328
  %.9.i35 = load i64, ptr %.8.i34, align 1
  %.10.not.i = icmp eq i64 %.9.i35, 0
  br i1 %.10.not.i, label %block_start.begin_round.exit, label %then.5.i

then.5.i:                                         ; preds = %after.156
  %.13.i = load i64, ptr %.150, align 1
  %.205.i = icmp ugt i64 %.13.i, 1
  br i1 %.205.i, label %do.16.lr.ph.i, label %block_start.begin_round.exit

do.16.lr.ph.i:                                    ; preds = %then.5.i
  %.34.i = getelementptr i8, ptr %context.given, i64 200
  br label %do.16.i

do.16.i:                                          ; preds = %do.16.i, %do.16.lr.ph.i
  %.14.06.i = phi i64 [ 1, %do.16.lr.ph.i ], [ %.57.i44, %do.16.i ]
  %.23.i37 = load i64, ptr %.150, align 1
  %.25.i = sub i64 %.23.i37, %.14.06.i
  %.5.i.i = load i64, ptr %.8.i34, align 1
  %.8.i.i = shl i64 %.5.i.i, 13
  %.9.i.i = xor i64 %.8.i.i, %.5.i.i
  %.12.i.i = lshr i64 %.9.i.i, 7
  %.13.i.i = xor i64 %.12.i.i, %.9.i.i
  %.16.i.i = shl i64 %.13.i.i, 17
  %.17.i.i = xor i64 %.16.i.i, %.13.i.i
  store i64 %.17.i.i, ptr %.8.i34, align 1
  %.31.i = add i64 %.25.i, 1
  %.32.i38 = urem i64 %.17.i.i, %.31.i
  %.35.i39 = load ptr, ptr %.34.i, align 1
  %.37.i40 = getelementptr i32, ptr %.35.i39, i64 %.25.i
  %.38.i = load i32, ptr %.37.i40, align 1
  %.43.i41 = getelementptr i32, ptr %.35.i39, i64 %.32.i38
  %.44.i = load i32, ptr %.43.i41, align 1
  store i32 %.44.i, ptr %.37.i40, align 1
  %.53.i42 = load ptr, ptr %.34.i, align 1
  %.55.i43 = getelementptr i32, ptr %.53.i42, i64 %.32.i38
  store i32 %.38.i, ptr %.55.i43, align 1
  %.57.i44 = add nuw i64 %.14.06.i, 1
  %.20.i = icmp ult i64 %.57.i44, %.13.i
  br i1 %.20.i, label %do.16.i, label %block_start.begin_round.exit

block_start.begin_round.exit:                     ; preds = %do.16.i, %after.156, %then.5.i
  ret void
}

declare void @clear.registers(ptr) local_unnamed_addr

define internal fastcc noundef i1 @scheduling.complete_copies(ptr %context.given, ptr readonly captures(none) %cta.given) unnamed_addr #3 {
entry.1:
  %.48.i.i.i = alloca [16 x i8], align 64
  %.4 = getelementptr i8, ptr %cta.given, i64 72
  %.5 = load ptr, ptr %.4, align 1
  %.6 = getelementptr i8, ptr %.5, i64 24
  %.7 = load ptr, ptr %.6, align 1
  %.13.not = icmp eq ptr %.7, null
  br i1 %.13.not, label %no.9, label %and.11

no.9:                                             ; preds = %bulk_copies.complete_all.exit, %entry.1
  br label %chosen.10

chosen.10:                                        ; preds = %bulk_copies.complete_all.exit, %no.9
  %.19 = phi i1 [ false, %no.9 ], [ true, %bulk_copies.complete_all.exit ]
  ret i1 %.19

and.11:                                           ; preds = %entry.1
  %.4.i = load i64, ptr %.7, align 1
  %.6.i = getelementptr i8, ptr %.7, i64 8
  %.7.i = load i64, ptr %.6.i, align 1
  %.142.i = icmp ult i64 %.4.i, %.7.i
  br i1 %.142.i, label %do.10.lr.ph.i, label %after.12.i

do.10.lr.ph.i:                                    ; preds = %and.11
  %.16.i = getelementptr i8, ptr %.7, i64 40
  %.60.i.i.i = getelementptr inbounds nuw i8, ptr %.48.i.i.i, i64 8
  %.83.i.i.i = getelementptr i8, ptr %context.given, i64 368
  br label %do.10.i

do.10.i:                                          ; preds = %after.22.i, %do.10.lr.ph.i
  %some.04.i = phi i1 [ false, %do.10.lr.ph.i ], [ %some.1.i, %after.22.i ]
  %.8.03.i = phi i64 [ %.4.i, %do.10.lr.ph.i ], [ %.31.i, %after.22.i ]
  %.18.i = and i64 %.8.03.i, 127
  %.19.i = mul nuw nsw i64 %.18.i, 312
  %.20.i = getelementptr i8, ptr %.16.i, i64 %.19.i
  %.24.i = getelementptr i8, ptr %.20.i, i64 20
  %.25.i = load i32, ptr %.24.i, align 1
  %.26.not.i = icmp eq i32 %.25.i, 0
  br i1 %.26.not.i, label %after.22.i, label %then.21.i

after.12.i:                                       ; preds = %after.22.i, %and.11
  %some.0.lcssa.i = phi i1 [ false, %and.11 ], [ %some.1.i, %after.22.i ]
  %.11.i.i = load i64, ptr %.6.i, align 1
  %queue.given.promoted.i.i = load i64, ptr %.7, align 1
  %.12.not2.i.i = icmp eq i64 %queue.given.promoted.i.i, %.11.i.i
  br i1 %.12.not2.i.i, label %bulk_copies.complete_all.exit, label %and.6.i.i

do.4.i.i:                                         ; preds = %and.6.i.i
  %.25.i.i = add i64 %.813.i.i, 1
  store i64 %.25.i.i, ptr %.7, align 1
  %.12.not.i.i = icmp eq i64 %.25.i.i, %.11.i.i
  br i1 %.12.not.i.i, label %bulk_copies.complete_all.exit, label %and.6.i.i

and.6.i.i:                                        ; preds = %after.12.i, %do.4.i.i
  %.813.i.i = phi i64 [ %.25.i.i, %do.4.i.i ], [ %queue.given.promoted.i.i, %after.12.i ]
  %.17.i.i = and i64 %.813.i.i, 127
  %.18.i.i = mul nuw nsw i64 %.17.i.i, 312
  %.19.i.i = getelementptr i8, ptr %.7, i64 %.18.i.i
  %.20.i.i = getelementptr i8, ptr %.19.i.i, i64 60
  %.21.i.i = load i32, ptr %.20.i.i, align 1
  %.22.i.i = icmp eq i32 %.21.i.i, 0
  br i1 %.22.i.i, label %do.4.i.i, label %bulk_copies.complete_all.exit

then.21.i:                                        ; preds = %do.10.i
  %.6.i.i = getelementptr i8, ptr %.20.i, i64 56
  call void @llvm.lifetime.start.p0(ptr nonnull %.48.i.i.i)
  %.4.i.i.i = load i32, ptr %.20.i, align 1
  switch i32 %.4.i.i.i, label %else.44.i.i.i [
    i32 0, label %then.5.i.i.i
    i32 1, label %then.19.i.i.i
    i32 2, label %then.43.i.i.i
  ]

then.5.i.i.i:                                     ; preds = %then.21.i
  %.11.i.i.i = getelementptr i8, ptr %.20.i, i64 32
  %.12.i.i.i = load ptr, ptr %.11.i.i.i, align 1
  %.14.i.i.i = getelementptr i8, ptr %.20.i, i64 40
  %.15.i.i.i = load ptr, ptr %.14.i.i.i, align 1
  %.17.i.i.i = getelementptr i8, ptr %.20.i, i64 24
  %.18.i.i.i = load i64, ptr %.17.i.i.i, align 1
  call void @llvm.memcpy.p0.p0.i64(ptr align 1 %.12.i.i.i, ptr align 1 %.15.i.i.i, i64 %.18.i.i.i, i1 false)
  br label %after.7.i.i.i

after.7.i.i.i:                                    ; preds = %after.40.i.i.i.i, %else.62.i.i.i, %then.61.i.i.i, %tensor_maps.rows.exit.i.i.i.i, %then.19.i.i.i, %then.5.i.i.i
  %.99.i.i.i = getelementptr i8, ptr %.20.i, i64 48
  %.100.i.i.i = load ptr, ptr %.99.i.i.i, align 1
  %.101.i.i.i = icmp ne ptr %.100.i.i.i, null
  %0 = add i32 %.4.i.i.i, -6
  %1 = icmp ult i32 %0, -2
  %or.cond1.i.i.i = and i1 %1, %.101.i.i.i
  br i1 %or.cond1.i.i.i, label %then.95.i.i.i, label %after.96.i.i.i

then.19.i.i.i:                                    ; preds = %then.21.i
  %.26.i.i.i = getelementptr i8, ptr %.20.i, i64 32
  %.27.i.i.i = load ptr, ptr %.26.i.i.i, align 1
  %.29.i.i.i = getelementptr i8, ptr %.20.i, i64 40
  %.30.i.i.i = load ptr, ptr %.29.i.i.i, align 1
  %.32.i.i.i = getelementptr i8, ptr %.20.i, i64 24
  %.33.i.i.i = load i64, ptr %.32.i.i.i, align 1
  %.35.i.i.i = getelementptr i8, ptr %.20.i, i64 80
  %.36.i.i.i = load i32, ptr %.35.i.i.i, align 1
  %.38.i.i.i = getelementptr i8, ptr %.20.i, i64 84
  %.39.i.i.i = load i32, ptr %.38.i.i.i, align 1
  %.41.i.i.i = load ptr, ptr %.83.i.i.i, align 8
  %.42.i.i.i = call i32 %.41.i.i.i(ptr %context.given, ptr %.27.i.i.i, ptr %.30.i.i.i, i64 %.33.i.i.i, i32 %.36.i.i.i, i32 %.39.i.i.i) #3
  br label %after.7.i.i.i

then.43.i.i.i:                                    ; preds = %then.21.i
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 64 dereferenceable(16) %.48.i.i.i, i8 0, i64 16, i1 false)
  %.50.i.i.i = getelementptr i8, ptr %.20.i, i64 120
  %.52.i.i.i = load i64, ptr %.50.i.i.i, align 1
  store i64 %.52.i.i.i, ptr %.48.i.i.i, align 64
  %.57.i.i.i = getelementptr i8, ptr %.20.i, i64 128
  %.58.i.i.i = load i64, ptr %.57.i.i.i, align 1
  store i64 %.58.i.i.i, ptr %.60.i.i.i, align 8
  %.65.i.i.i = getelementptr i8, ptr %.20.i, i64 80
  %.66.i.i.i = load i32, ptr %.65.i.i.i, align 1
  %.67.not.i.i.i = icmp eq i32 %.66.i.i.i, 0
  %.87.i.i.i = getelementptr i8, ptr %.20.i, i64 32
  %.88.i.i.i = load ptr, ptr %.87.i.i.i, align 1
  %.91.i.i.i = getelementptr i8, ptr %.20.i, i64 24
  %.92.i.i.i = load i64, ptr %.91.i.i.i, align 1
  br i1 %.67.not.i.i.i, label %else.62.i.i.i, label %then.61.i.i.i

else.44.i.i.i:                                    ; preds = %then.21.i
  %.4.i.i.i.i = getelementptr i8, ptr %.20.i, i64 184
  %.6.i.i.i.i = getelementptr i8, ptr %.20.i, i64 152
  %.8.i.i.i.i = getelementptr i8, ptr %.20.i, i64 172
  %.7.i1.i.i.i.i.i = getelementptr i8, ptr %.20.i, i64 248
  %.8.i.i.i.i.i.i = load i64, ptr %.7.i1.i.i.i.i.i, align 1
  %.9.not.i.not.i.i.i.i.i = icmp eq i64 %.8.i.i.i.i.i.i, 0
  br i1 %.9.not.i.not.i.i.i.i.i, label %no.4.i.i.i.i.i, label %yes.3.i.i.i.i.i

yes.3.i.i.i.i.i:                                  ; preds = %else.44.i.i.i
  %.10.i58.i.i.i.i = getelementptr i8, ptr %.20.i, i64 272
  %.11.i59.i.i.i.i = load i64, ptr %.10.i58.i.i.i.i, align 1
  %.12.i60.i.i.i.i = and i64 %.11.i59.i.i.i.i, 4294967295
  br label %tensor_maps.row_bytes.exit.i.i.i.i

no.4.i.i.i.i.i:                                   ; preds = %else.44.i.i.i
  %.6.i.i2.i.i.i.i.i = getelementptr i8, ptr %.20.i, i64 232
  %.7.i.i3.i.i.i.i.i = load i64, ptr %.6.i.i2.i.i.i.i.i, align 1
  %.10.i.i4.i.i.i.i.i = lshr i64 %.7.i.i3.i.i.i.i.i, 56
  %.15.i.i.i.i.i.i = add nuw nsw i64 %.10.i.i4.i.i.i.i.i, 1
  br label %tensor_maps.row_bytes.exit.i.i.i.i

tensor_maps.row_bytes.exit.i.i.i.i:               ; preds = %no.4.i.i.i.i.i, %yes.3.i.i.i.i.i
  %.15.i.i.i.i.i = phi i64 [ %.12.i60.i.i.i.i, %yes.3.i.i.i.i.i ], [ %.15.i.i.i.i.i.i, %no.4.i.i.i.i.i ]
  %.6.i.i.i.i.i.i.i = getelementptr i8, ptr %.20.i, i64 192
  %.7.i.i.i.i.i.i.i = load i64, ptr %.6.i.i.i.i.i.i.i, align 1
  %2 = lshr i64 %.7.i.i.i.i.i.i.i, 5
  %.5.i.i.i.i.i.i = and i64 %2, 60
  %.6.i.i.i.i.i.i = lshr i64 2767075165217, %.5.i.i.i.i.i.i
  %.7.i.i.i.i.i.i = and i64 %.6.i.i.i.i.i.i, 15
  %.19.i.i.i.i.i = mul nuw nsw i64 %.7.i.i.i.i.i.i, %.15.i.i.i.i.i
  %.13.i.i.i.i = icmp eq i32 %.4.i.i.i, 3
  br i1 %.9.not.i.not.i.i.i.i.i, label %after.4.i.i.i.i.i, label %then.3.i.i.i.i.i

then.3.i.i.i.i.i:                                 ; preds = %tensor_maps.row_bytes.exit.i.i.i.i
  %.9.i64.i.i.i.i = getelementptr i8, ptr %.20.i, i64 272
  %.10.i65.i.i.i.i = load i64, ptr %.9.i64.i.i.i.i, align 1
  %.11.i66.i.i.i.i = lshr i64 %.10.i65.i.i.i.i, 32
  br label %tensor_maps.rows.exit.i.i.i.i

after.4.i.i.i.i.i:                                ; preds = %tensor_maps.row_bytes.exit.i.i.i.i
  %3 = trunc i64 %.7.i.i.i.i.i.i.i to i32
  %4 = lshr i32 %3, 4
  %5 = and i32 %4, 7
  %.6.i.i70.i.i.i.i = add nuw nsw i32 %5, 1
  %.14.i.i.i.i.i = zext nneg i32 %.6.i.i70.i.i.i.i to i64
  %.2110.not.i.i.i.i.i = icmp eq i32 %5, 0
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
  %.5.i64.i.i.i.i.i = getelementptr i8, ptr %.20.i, i64 256
  %.5.i67.i.i.i.i.i = getelementptr i8, ptr %.20.i, i64 264
  %.6.i.i153.i.i.i.i.i = getelementptr i8, ptr %.20.i, i64 208
  %.10.i225.i.i.i.i.i = getelementptr i8, ptr %.20.i, i64 272
  %.6.i.i2.i.i.i.i.i.i = getelementptr i8, ptr %.20.i, i64 232
  %.6.i.i109.i.i.i.i.i = getelementptr i8, ptr %.20.i, i64 216
  %.34.i.i.i.i = add nuw nsw i64 %.19.i.i.i.i.i, 15
  %.3543.i.i.i.i = lshr i64 %.34.i.i.i.i, 4
  %.42108.not.i.i.i.i = icmp eq i64 %.3543.i.i.i.i, 0
  %.52.i.i.i.i = getelementptr i8, ptr %.20.i, i64 88
  %.84.i.i.i.i = getelementptr i8, ptr %.20.i, i64 144
  %.170.i.i.i.i = getelementptr i8, ptr %.20.i, i64 40
  %.195.i.i.i.i = getelementptr i8, ptr %.20.i, i64 32
  %.204.i.i.i.i = getelementptr i8, ptr %.20.i, i64 80
  %.207.i.i.i.i = getelementptr i8, ptr %.20.i, i64 84
  %.215.i.i.i.i = getelementptr i8, ptr %.20.i, i64 48
  br label %do.18.i.i.i.i

do.18.i.i.i.i:                                    ; preds = %after.40.i.i.i.i, %do.18.lr.ph.i.i.i.i
  %.16.0111.i.i.i.i = phi i64 [ 0, %do.18.lr.ph.i.i.i.i ], [ %.230.i.i.i.i, %after.40.i.i.i.i ]
  %.7.i.i.i73.i.i.i.i = load i64, ptr %.6.i.i.i.i.i.i.i, align 1
  %.8.i.i74.i.i.i.i = load i64, ptr %.7.i1.i.i.i.i.i, align 1
  %.9.not.i.not.i75.i.i.i.i = icmp eq i64 %.8.i.i74.i.i.i.i, 0
  %6 = trunc i64 %.7.i.i.i73.i.i.i.i to i32
  %7 = lshr i32 %6, 4
  %8 = and i32 %7, 7
  br i1 %.9.not.i.not.i75.i.i.i.i, label %else.7.i.i.i.i.i, label %then.6.i.i.i.i.i

then.6.i.i.i.i.i:                                 ; preds = %do.18.i.i.i.i
  %9 = zext nneg i32 %8 to i64
  %.15.i76.i.i.i.i = add nsw i64 %9, -1
  %.19.i77.i.i.i.i = getelementptr i32, ptr %.6.i.i.i.i, i64 %9
  %.20.i.i.i.i.i = load i32, ptr %.19.i77.i.i.i.i, align 1
  %.21.i78.i.i.i.i = sext i32 %.20.i.i.i.i.i to i64
  %.30236.not.i.i.i.i.i = icmp eq i64 %.15.i76.i.i.i.i, 0
  br i1 %.30236.not.i.i.i.i.i, label %after.28.i.i.i.i.i, label %do.26.lr.ph.i.i.i.i.i

do.26.lr.ph.i.i.i.i.i:                            ; preds = %then.6.i.i.i.i.i
  %.6.i65.i.i.i.i.i = load i64, ptr %.5.i64.i.i.i.i.i, align 1
  %.6.i68.i.i.i.i.i = load i64, ptr %.5.i67.i.i.i.i.i, align 1
  br label %do.26.i.i.i.i.i

else.7.i.i.i.i.i:                                 ; preds = %do.18.i.i.i.i
  %.6.i63.i.i.i.i.i = add nuw nsw i32 %8, 1
  %.135.i.i.i.i.i = zext nneg i32 %.6.i63.i.i.i.i.i to i64
  %.142243.not.i.i.i.i.i = icmp eq i32 %8, 0
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
  %10 = and i64 %.12.i.i140.i.i.i.i.i, 1030792151040
  %.12.i7.i.i.i.i.i.i = shl i64 %.10.i6.i.i.i.i.i.i, 4
  %11 = and i64 %.12.i7.i.i.i.i.i.i, 68719476720
  %.18.i.i.i.i.i.i = or disjoint i64 %10, %11
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
  %12 = and i64 %.13.i150.i.i.i.i.i, 60
  %.9.i.i155.i.i.i.i.i = xor i64 %12, 32
  %.10.i.i156.i.i.i.i.i = lshr i64 %.7.i.i154.i.i.i.i.i, %.9.i.i155.i.i.i.i.i
  %.12.i.i157.i.i.i.i.i = shl i64 %.10.i.i156.i.i.i.i.i, 36
  %13 = and i64 %.12.i.i157.i.i.i.i.i, 1030792151040
  %.12.i7.i149.i.i.i.i.i = shl i64 %.10.i6.i148.i.i.i.i.i, 4
  %14 = and i64 %.12.i7.i149.i.i.i.i.i, 68719476720
  %.18.i158.i.i.i.i.i = or disjoint i64 %13, %14
  %.131.i.i.i.i.i = mul i64 %.18.i158.i.i.i.i.i, %.113.i.i.i.i.i
  %.132.i.i.i.i.i = add i64 %.131.i.i.i.i.i, %offset.0.lcssa.i.i.i.i.i
  br label %after.8.i.i.i.i.i

or.116.i.i.i.i.i:                                 ; preds = %after.28.i.i.i.i.i
  %.5.i91.i.i.i.i.i = shl nuw nsw i64 %9, 5
  %.6.i92.i.i.i.i.i = lshr i64 %9, 1
  %15 = getelementptr i64, ptr %.4.i.i.i.i, i64 %.6.i92.i.i.i.i.i
  %.6.i.i94.i.i.i.i.i = getelementptr i8, ptr %15, i64 32
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
  %16 = and i64 %.12.i.i175.i.i.i.i.i, 1030792151040
  %.12.i7.i167.i.i.i.i.i = shl i64 %.10.i6.i166.i.i.i.i.i, 4
  %17 = and i64 %.12.i7.i167.i.i.i.i.i, 68719476720
  %.18.i176.i.i.i.i.i = or disjoint i64 %16, %17
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
  %18 = lshr i64 %.7.i.i.i73.i.i.i.i, 5
  %.5.i.i84.i.i.i.i = and i64 %18, 60
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
  %19 = and i64 %.7.i55.i.i.i.i, 32768
  %.7.i.i.i.i.i = icmp eq i64 %19, 0
  %.9.i.i.i.i.i = shl i64 %.96.0105.i.i.i.i, 3
  %.10.i.i.i.i.i = and i64 %.9.i.i.i.i.i, 8
  %.11.i.i.i.i.i = lshr i64 32759, %.10.i.i.i.i.i
  %20 = trunc i64 %.11.i.i.i.i.i to i8
  %.106.i.i.i.i = select i1 %.7.i.i.i.i.i, i8 0, i8 %20
  %.109.i.i.i.i = load ptr, ptr %.195.i.i.i.i, align 1
  %21 = getelementptr i8, ptr %.109.i.i.i.i, i64 %.112.i.i.i.i
  %.115.i.i.i.i = getelementptr i8, ptr %21, i64 %.96.0105.i.i.i.i
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
  %22 = and i64 %.7.i52.i.i.i.i, 32768
  %.7.i45.i.i.i.i = icmp eq i64 %22, 0
  %.9.i46.i.i.i.i = shl i64 %.142.0107.i.i.i.i, 3
  %.10.i47.i.i.i.i = and i64 %.9.i46.i.i.i.i, 8
  %.11.i48.i.i.i.i = lshr i64 32759, %.10.i47.i.i.i.i
  %23 = trunc i64 %.11.i48.i.i.i.i to i8
  %.152.i.i.i.i = select i1 %.7.i45.i.i.i.i, i8 0, i8 %23
  %.155.i.i.i.i = load ptr, ptr %.195.i.i.i.i, align 1
  %24 = getelementptr i8, ptr %.155.i.i.i.i, i64 %.158.i.i.i.i
  %.161.i.i.i.i = getelementptr i8, ptr %24, i64 %.142.0107.i.i.i.i
  store i8 %.152.i.i.i.i, ptr %.161.i.i.i.i, align 1
  %.163.i.i.i.i = add nuw nsw i64 %.142.0107.i.i.i.i, 1
  %.148.i.i.i.i = icmp ult i64 %.163.i.i.i.i, %.49.i.i.i.i
  br i1 %.148.i.i.i.i, label %do.144.i.i.i.i, label %after.92.i.i.i.i

then.164.i.i.i.i:                                 ; preds = %else.91.i.i.i.i
  %.171.i.i.i.i = load ptr, ptr %.170.i.i.i.i, align 1
  %.174.i.i.i.i = add i64 %.64.i.i.i.i, %.71.i.i.i.i
  %.176.i.i.i.i = sub i64 %.174.i.i.i.i, %.44.i.i.i.i
  %.177.i.i.i.i = getelementptr i8, ptr %.171.i.i.i.i, i64 %.176.i.i.i.i
  %.182.i.i.i.i = load i32, ptr %.20.i, align 1
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
  %.81.i.i.i = getelementptr i8, ptr %.20.i, i64 84
  %.82.i.i.i = load i32, ptr %.81.i.i.i, align 1
  %.84.i.i.i = load ptr, ptr %.83.i.i.i, align 8
  %.85.i.i.i = call i32 %.84.i.i.i(ptr %context.given, ptr %.88.i.i.i, ptr nonnull %.48.i.i.i, i64 %.92.i.i.i, i32 %.79.i.i.i, i32 %.82.i.i.i) #3
  br label %after.7.i.i.i

else.62.i.i.i:                                    ; preds = %then.43.i.i.i
  call void @llvm.memcpy.p0.p0.i64(ptr align 1 %.88.i.i.i, ptr nonnull align 64 %.48.i.i.i, i64 %.92.i.i.i, i1 false)
  br label %after.7.i.i.i

then.95.i.i.i:                                    ; preds = %after.7.i.i.i
  %.112.i.i.i = getelementptr i8, ptr %.20.i, i64 24
  %.113.i.i.i = load i64, ptr %.112.i.i.i, align 1
  call void @llvm.memset.p0.i64(ptr nonnull align 1 %.100.i.i.i, i8 -1, i64 %.113.i.i.i, i1 false)
  br label %after.96.i.i.i

after.96.i.i.i:                                   ; preds = %then.95.i.i.i, %after.7.i.i.i
  %.118.i.i.i = load ptr, ptr %.6.i.i, align 1
  %.119.not.i.i.i = icmp eq ptr %.118.i.i.i, null
  br i1 %.119.not.i.i.i, label %bulk_copies.done.exit.i, label %then.114.i.i.i

then.114.i.i.i:                                   ; preds = %after.96.i.i.i
  %.125.i.i.i = load i64, ptr %.118.i.i.i, align 1
  %25 = and i64 %.125.i.i.i, 6917529027641081856
  %.33.not.i.i.i.i = icmp eq i64 %25, 2305843009213693952
  br i1 %.33.not.i.i.i.i, label %after.48.i.i.i.i, label %mbarrier_words.operated.exit.i.i.i

after.48.i.i.i.i:                                 ; preds = %then.114.i.i.i
  %.127.i.i.i = getelementptr i8, ptr %.20.i, i64 24
  %.128.i.i.i = load i64, ptr %.127.i.i.i, align 1
  %.65.i.i.i.i = lshr i64 %.125.i.i.i, 40
  %.66.i.i.i.i = and i64 %.65.i.i.i.i, 2097151
  %.70.i.i.i.i = icmp samesign ugt i64 %.66.i.i.i.i, 1048575
  %masksel.i.i.i.i = select i1 %.70.i.i.i.i, i64 -2097152, i64 0
  %spec.select.i6.i.i.i = or disjoint i64 %masksel.i.i.i.i, %.66.i.i.i.i
  %.76.i.i.i.i = sub i64 %spec.select.i6.i.i.i, %.128.i.i.i
  %26 = add i64 %.76.i.i.i.i, -1048576
  %.81.i.i.i.i = icmp ult i64 %26, -2097151
  br i1 %.81.i.i.i.i, label %mbarrier_words.operated.exit.i.i.i, label %after.78.i.i.i.i

after.78.i.i.i.i:                                 ; preds = %after.48.i.i.i.i
  %.62.i.i.i.i = lshr i64 %.125.i.i.i, 20
  %.63.i.i.i.i = and i64 %.62.i.i.i.i, 1048575
  %.60.i.i.i.i = and i64 %.125.i.i.i, 1048575
  %.88.i.i.i.i = and i64 %.76.i.i.i.i, 2097151
  %27 = or i64 %.88.i.i.i.i, %.60.i.i.i.i
  %or.cond1.i.i.i.i = icmp eq i64 %27, 0
  %28 = icmp slt i64 %.125.i.i.i, 0
  %29 = xor i1 %28, %or.cond1.i.i.i.i
  %pending.0.i.i.i.i = select i1 %or.cond1.i.i.i.i, i64 %.63.i.i.i.i, i64 %.60.i.i.i.i
  %.134.i7.i.i.i = shl nuw nsw i64 %.63.i.i.i.i, 20
  %.136.i8.i.i.i = shl nuw nsw i64 %.88.i.i.i.i, 40
  %.137.i.i.i.i = or disjoint i64 %.136.i8.i.i.i, %.134.i7.i.i.i
  %.139.i9.i.i.i = select i1 %29, i64 -9223372036854775808, i64 0
  %.140.i.i.i.i = or disjoint i64 %.139.i9.i.i.i, %.137.i.i.i.i
  %.143.i.i.i.i = or disjoint i64 %.140.i.i.i.i, %pending.0.i.i.i.i
  %.145.i.i.i.i = or disjoint i64 %.143.i.i.i.i, 2305843009213693952
  br label %mbarrier_words.operated.exit.i.i.i

mbarrier_words.operated.exit.i.i.i:               ; preds = %after.78.i.i.i.i, %after.48.i.i.i.i, %then.114.i.i.i
  %word.given.pn42.i.i.i.i = phi i64 [ %.125.i.i.i, %then.114.i.i.i ], [ %.145.i.i.i.i, %after.78.i.i.i.i ], [ %.125.i.i.i, %after.48.i.i.i.i ]
  store i64 %word.given.pn42.i.i.i.i, ptr %.118.i.i.i, align 1
  br label %bulk_copies.done.exit.i

bulk_copies.done.exit.i:                          ; preds = %mbarrier_words.operated.exit.i.i.i, %after.96.i.i.i
  store i32 0, ptr %.24.i, align 1
  call void @llvm.lifetime.end.p0(ptr nonnull %.48.i.i.i)
  br label %after.22.i

after.22.i:                                       ; preds = %bulk_copies.done.exit.i, %do.10.i
  %some.1.i = phi i1 [ true, %bulk_copies.done.exit.i ], [ %some.04.i, %do.10.i ]
  %.31.i = add nuw i64 %.8.03.i, 1
  %.14.i = icmp ult i64 %.31.i, %.7.i
  br i1 %.14.i, label %do.10.i, label %after.12.i

bulk_copies.complete_all.exit:                    ; preds = %do.4.i.i, %and.6.i.i, %after.12.i
  br i1 %some.0.lcssa.i, label %chosen.10, label %no.9
}

define internal fastcc noundef i1 @scheduling.goes_on(ptr readonly captures(none) %context.given, ptr captures(none) %cta.given) unnamed_addr #7 {
entry.1:
  %.4 = getelementptr i8, ptr %context.given, i64 184
  %.5 = load i64, ptr %.4, align 1
  %.1221.not = icmp eq i64 %.5, 0
  br i1 %.1221.not, label %and.61, label %do.8.lr.ph

do.8.lr.ph:                                       ; preds = %entry.1
  %.4.i = getelementptr i8, ptr %cta.given, i64 40
  %.5.i = load ptr, ptr %.4.i, align 1
  %.8.i = getelementptr i8, ptr %context.given, i64 192
  %.9.i = load i64, ptr %.8.i, align 1
  br label %do.8

do.8:                                             ; preds = %do.8.lr.ph, %after.18
  %waiting.025 = phi i32 [ 0, %do.8.lr.ph ], [ %waiting.1, %after.18 ]
  %free.024 = phi i32 [ 0, %do.8.lr.ph ], [ %.55, %after.18 ]
  %used.023 = phi i32 [ 0, %do.8.lr.ph ], [ %used.1, %after.18 ]
  %.6.022 = phi i64 [ 0, %do.8.lr.ph ], [ %.57, %after.18 ]
  %.10.i = mul i64 %.9.i, %.6.022
  %.11.i = getelementptr i8, ptr %.5.i, i64 %.10.i
  %.20 = getelementptr i8, ptr %.11.i, i64 128
  %.21 = load i32, ptr %.20, align 1
  %.22.not = icmp eq i32 %.21, 0
  br i1 %.22.not, label %after.18, label %then.17

then.17:                                          ; preds = %do.8
  %.29 = getelementptr i8, ptr %.11.i, i64 132
  %.30 = load i32, ptr %.29, align 1
  %.31 = icmp eq i32 %.21, %.30
  %.33 = zext i1 %.31 to i32
  %spec.select = add i32 %waiting.025, %.33
  %.36 = getelementptr i8, ptr %.11.i, i64 320
  %.37 = load <16 x i32>, ptr %.36, align 1
  %.38 = icmp ne <16 x i32> %.37, zeroinitializer
  %.39 = bitcast <16 x i1> %.38 to i16
  %.40 = zext i16 %.39 to i32
  %.41 = or i32 %used.023, %.40
  br label %after.18

after.18:                                         ; preds = %then.17, %do.8
  %used.1 = phi i32 [ %.41, %then.17 ], [ %used.023, %do.8 ]
  %waiting.1 = phi i32 [ %spec.select, %then.17 ], [ %waiting.025, %do.8 ]
  %.47 = getelementptr i8, ptr %.11.i, i64 132
  %.48 = load i32, ptr %.47, align 1
  %.50 = getelementptr i8, ptr %.11.i, i64 184
  %.51 = load i32, ptr %.50, align 1
  %.52 = or i32 %.51, %.48
  %.53 = xor i32 %.52, -1
  %.54 = and i32 %.21, %.53
  %.55 = or i32 %.54, %free.024
  %.57 = add nuw i64 %.6.022, 1
  %.12 = icmp ult i64 %.57, %.5
  br i1 %.12, label %do.8, label %and.61.loopexit

and.61.loopexit:                                  ; preds = %after.18
  %0 = icmp eq i32 %waiting.1, 0
  %1 = icmp ne i32 %.55, 0
  br label %and.61

and.61:                                           ; preds = %and.61.loopexit, %entry.1
  %used.0.lcssa = phi i32 [ 0, %entry.1 ], [ %used.1, %and.61.loopexit ]
  %free.0.lcssa = phi i1 [ false, %entry.1 ], [ %1, %and.61.loopexit ]
  %waiting.0.lcssa = phi i1 [ true, %entry.1 ], [ %0, %and.61.loopexit ]
  %.122.not.i = icmp eq i64 %.5, 0
  br i1 %.122.not.i, label %warpgroup_products.go_on.exit, label %do.8.lr.ph.i

do.8.lr.ph.i:                                     ; preds = %and.61
  %.14.i = getelementptr i8, ptr %cta.given, i64 40
  %.18.i = getelementptr i8, ptr %context.given, i64 192
  br label %do.8.i

do.8.i:                                           ; preds = %after.25.i, %do.8.lr.ph.i
  %some.04.i = phi i1 [ false, %do.8.lr.ph.i ], [ %some.1.i, %after.25.i ]
  %.6.03.i = phi i64 [ 0, %do.8.lr.ph.i ], [ %.43.i, %after.25.i ]
  %.15.i = load ptr, ptr %.14.i, align 1
  %.19.i = load i64, ptr %.18.i, align 1
  %.20.i = mul i64 %.19.i, %.6.03.i
  %.21.i = getelementptr i8, ptr %.15.i, i64 %.20.i
  %.28.i = getelementptr i8, ptr %.21.i, i64 228
  %.29.i = load i32, ptr %.28.i, align 1
  %.30.not.i = icmp eq i32 %.29.i, 0
  br i1 %.30.not.i, label %after.25.i, label %and.26.i

then.24.i:                                        ; preds = %warpgroup_products.lacks.exit.i, %and.26.i
  store i32 0, ptr %.28.i, align 1
  %.41.i = getelementptr i8, ptr %.21.i, i64 132
  store i32 0, ptr %.41.i, align 1
  br label %after.25.i

after.25.i:                                       ; preds = %warpgroup_products.lacks.exit.i, %then.24.i, %do.8.i
  %some.1.i = phi i1 [ %some.04.i, %warpgroup_products.lacks.exit.i ], [ true, %then.24.i ], [ %some.04.i, %do.8.i ]
  %.43.i = add nuw i64 %.6.03.i, 1
  %.12.i = icmp ult i64 %.43.i, %.5
  br i1 %.12.i, label %do.8.i, label %warpgroup_products.go_on.exit

and.26.i:                                         ; preds = %do.8.i
  %.4.i.i = getelementptr i8, ptr %.21.i, i64 200
  %.5.i.i = load i32, ptr %.4.i.i, align 1
  %.6.i.i = and i32 %.5.i.i, -4
  %.7.i.i = zext i32 %.6.i.i to i64
  %.10.i.i = add nuw nsw i64 %.7.i.i, 4
  %.13.i.i = load i64, ptr %.4, align 1
  %.15.i.i = tail call i64 @llvm.umin.i64(i64 %.10.i.i, i64 %.13.i.i)
  %.223.i.i = icmp ugt i64 %.13.i.i, %.7.i.i
  br i1 %.223.i.i, label %do.18.i.i, label %then.24.i

do.18.i.i:                                        ; preds = %and.26.i, %do.18.i.i
  %.16.04.i.i = phi i64 [ %.44.i.i, %do.18.i.i ], [ %.7.i.i, %and.26.i ]
  %.30.i.i = mul i64 %.16.04.i.i, %.19.i
  %.31.i.i = getelementptr i8, ptr %.15.i, i64 %.30.i.i
  %.37.i.i = getelementptr i8, ptr %.31.i.i, i64 216
  %.39.i.i = getelementptr i8, ptr %.31.i.i, i64 128
  %.40.i.i = load i32, ptr %.39.i.i, align 1
  %.8.i.i.i = load i32, ptr %.37.i.i, align 1
  %.10.i.i.i = icmp ult i32 %.8.i.i.i, %.29.i
  %.12.i.i.i = icmp ne i32 %.40.i.i, 0
  %or.cond.i.not.i.i = select i1 %.10.i.i.i, i1 %.12.i.i.i, i1 false
  %.44.i.i = add nuw nsw i64 %.16.04.i.i, 1
  %.22.i.i = icmp samesign uge i64 %.44.i.i, %.15.i.i
  %or.cond.not.i.i = select i1 %or.cond.i.not.i.i, i1 true, i1 %.22.i.i
  br i1 %or.cond.not.i.i, label %warpgroup_products.lacks.exit.i, label %do.18.i.i

warpgroup_products.lacks.exit.i:                  ; preds = %do.18.i.i
  br i1 %or.cond.i.not.i.i, label %after.25.i, label %then.24.i

warpgroup_products.go_on.exit:                    ; preds = %after.25.i, %and.61
  %some.0.lcssa.i = phi i1 [ false, %and.61 ], [ %some.1.i, %after.25.i ]
  %.76.not28 = icmp eq i32 %used.0.lcssa, 0
  %or.cond32 = select i1 %waiting.0.lcssa, i1 true, i1 %.76.not28
  br i1 %or.cond32, label %after.67, label %do.73

after.67:                                         ; preds = %do.73, %warpgroup_products.go_on.exit
  %opened.0 = phi i1 [ %some.0.lcssa.i, %warpgroup_products.go_on.exit ], [ %spec.select5, %do.73 ]
  %or.cond = select i1 %opened.0, i1 true, i1 %free.0.lcssa
  br i1 %or.cond, label %chosen.88, label %and.94

do.73:                                            ; preds = %warpgroup_products.go_on.exit, %do.73
  %.70.030 = phi i32 [ %.79, %do.73 ], [ %used.0.lcssa, %warpgroup_products.go_on.exit ]
  %opened.129 = phi i1 [ %spec.select5, %do.73 ], [ %some.0.lcssa.i, %warpgroup_products.go_on.exit ]
  %.77 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.70.030, i1 true)
  %.78 = add nsw i32 %.70.030, -1
  %.79 = and i32 %.78, %.70.030
  %.85 = tail call fastcc i1 @scheduling.try_to_open(ptr %context.given, ptr %cta.given, i32 %.77)
  %spec.select5 = select i1 %.85, i1 true, i1 %opened.129
  %.76.not = icmp eq i32 %.79, 0
  br i1 %.76.not, label %after.67, label %do.73

chosen.88:                                        ; preds = %after.14.i, %do.13.i.i, %and.94, %after.67
  %.98 = phi i1 [ true, %after.67 ], [ true, %do.13.i.i ], [ false, %and.94 ], [ false, %after.14.i ]
  ret i1 %.98

and.94:                                           ; preds = %after.67
  %.5.i9 = load i64, ptr %.4, align 1
  %.1210.i = icmp eq i64 %.5.i9, 0
  br i1 %.1210.i, label %chosen.88, label %do.8.lr.ph.i10

do.8.lr.ph.i10:                                   ; preds = %and.94
  %.4.i.i11 = getelementptr i8, ptr %cta.given, i64 40
  %.5.i.i12 = load ptr, ptr %.4.i.i11, align 1
  %.8.i.i = getelementptr i8, ptr %context.given, i64 192
  %.9.i.i = load i64, ptr %.8.i.i, align 1
  %.21.i.i = getelementptr i8, ptr %cta.given, i64 24
  %.30.i.i13 = getelementptr i8, ptr %context.given, i64 72
  br label %do.8.i14

do.8.i14:                                         ; preds = %after.14.i, %do.8.lr.ph.i10
  %.6.011.i = phi i64 [ 0, %do.8.lr.ph.i10 ], [ %.23.i, %after.14.i ]
  %.10.i.i15 = mul i64 %.6.011.i, %.9.i.i
  %.11.i.i = getelementptr i8, ptr %.5.i.i12, i64 %.10.i.i15
  %.5.i2.i = getelementptr i8, ptr %.11.i.i, i64 128
  %.6.i.i16 = load i32, ptr %.5.i2.i, align 1
  %.8.i3.i = getelementptr i8, ptr %.11.i.i, i64 132
  %.9.i4.i = load i32, ptr %.8.i3.i, align 1
  %.10.i5.i = xor i32 %.9.i4.i, -1
  %.11.i6.i = and i32 %.6.i.i16, %.10.i5.i
  %.24.i.i = getelementptr i8, ptr %.11.i.i, i64 2752
  %.43.i.i = getelementptr i8, ptr %.11.i.i, i64 3008
  br label %lanes.12.i.i

lanes.12.i.i:                                     ; preds = %do.13.i.i, %do.8.i14
  %.3.0.i.i = phi i32 [ %.11.i6.i, %do.8.i14 ], [ %.19.i.i, %do.13.i.i ]
  %.16.not.i.i = icmp eq i32 %.3.0.i.i, 0
  br i1 %.16.not.i.i, label %after.14.i, label %do.13.i.i

do.13.i.i:                                        ; preds = %lanes.12.i.i
  %.17.i.i = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.3.0.i.i, i1 true)
  %.18.i.i = add i32 %.3.0.i.i, -1
  %.19.i.i = and i32 %.18.i.i, %.3.0.i.i
  %.22.i.i17 = load ptr, ptr %.21.i.i, align 1
  %.26.i.i = zext nneg i32 %.17.i.i to i64
  %.27.i.i = getelementptr i64, ptr %.24.i.i, i64 %.26.i.i
  %.28.i.i = load i64, ptr %.27.i.i, align 1
  %.31.i.i18 = load ptr, ptr %.30.i.i13, align 1
  %.32.i.i = getelementptr i8, ptr %.31.i.i18, i64 16
  %.33.i.i = load i64, ptr %.32.i.i, align 1
  %.34.i.i = sub i64 %.28.i.i, %.33.i.i
  %.35.i.i = getelementptr i8, ptr %.22.i.i17, i64 %.34.i.i
  %.37.i.i19 = load i64, ptr %.35.i.i, align 1
  %.46.i.i = getelementptr i64, ptr %.43.i.i, i64 %.26.i.i
  %.47.i.i = load i64, ptr %.46.i.i, align 1
  %.5.i.i.i = xor i64 %.47.i.i, %.37.i.i19
  %.7.i.i.i = icmp slt i64 %.5.i.i.i, 0
  %.50.i.i = icmp eq i64 %.37.i.i19, 0
  %or.cond.i.i = or i1 %.50.i.i, %.7.i.i.i
  br i1 %or.cond.i.i, label %chosen.88, label %lanes.12.i.i

after.14.i:                                       ; preds = %lanes.12.i.i
  %.23.i = add nuw i64 %.6.011.i, 1
  %.12.not.i = icmp ult i64 %.23.i, %.5.i9
  br i1 %.12.not.i, label %do.8.i14, label %chosen.88
}

define internal fastcc i1 @scheduling.try_to_open(ptr readonly captures(none) %context.given, ptr captures(none) %cta.given, i32 range(i32 0, 16) %barrier.given) unnamed_addr #7 {
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

declare i64 @llvm.umin.i64(i64, i64) #8

declare i64 @llvm.umax.i64(i64, i64) #8

declare i64 @llvm.smin.i64(i64, i64) #8

declare void @llvm.lifetime.start.p0(ptr captures(none)) #9

declare void @llvm.lifetime.end.p0(ptr captures(none)) #9

attributes #0 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #1 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #2 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: readwrite) }
attributes #3 = { nounwind }
attributes #4 = { nofree norecurse nosync nounwind memory(write, argmem: readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none) }
attributes #5 = { mustprogress nofree norecurse nosync nounwind willreturn memory(none) }
attributes #6 = { mustprogress nofree norecurse nosync nounwind willreturn memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none) }
attributes #7 = { nofree norecurse nosync nounwind memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none) }
attributes #8 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #9 = { nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
