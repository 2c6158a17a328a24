; [["lane_scheduling.go_on"], [], "0.50"]
; jit/translation/__init__.py jit/translation/conversions.py jit/translation/distinct_values.py jit/translation/expressions.py jit/translation/folding.py jit/translation/intrinsics.py jit/translation/ir.py jit/translation/rule_calls.py jit/translation/translator.py jit/translation/value_kinds.py language/__init__.py language/records.py language/rules.py language/types.py language/vectors.py rules/lane_scheduling.py runtime/state.py
; b650e26edba496fef7b923c1add82446c006aa7e45a46fab8dd453709a02de95 26d1c18836ac0e3074a9965415166c27d033a2a2fae0f9bae1e058aa5aa1ffa1
source_filename = "<string>"

declare i32 @llvm.cttz.i32(i32, i1 immarg) #0

declare i32 @llvm.vector.reduce.umin.v32i32(<32 x i32>) #0

define i32 @lane_scheduling.go_on(ptr captures(none) %context.given, ptr captures(none) %warp.given) local_unnamed_addr #1 {
entry.1:
  %.4 = getelementptr i8, ptr %warp.given, i64 128
  %.5 = load i32, ptr %.4, align 1
  %.7 = getelementptr i8, ptr %warp.given, i64 132
  %.8 = load i32, ptr %.7, align 1
  %.9 = xor i32 %.8, -1
  %.10 = and i32 %.5, %.9
  %.14 = icmp eq i32 %.10, 0
  br i1 %.14, label %common.ret, label %after.12

common.ret:                                       ; preds = %then.40.i, %after.7.i, %after.12, %entry.1
  %common.ret.op = phi i32 [ 0, %entry.1 ], [ 0, %after.12 ], [ %going.0.i, %after.7.i ], [ %going.0.i, %then.40.i ]
  ret i32 %common.ret.op

after.12:                                         ; preds = %entry.1
  %.16 = getelementptr i8, ptr %context.given, i64 128
  %.17 = load i64, ptr %.16, align 1
  %.18 = add i64 %.17, -1
  store i64 %.18, ptr %.16, align 1
  %.25 = icmp sgt i64 %.18, -1
  br i1 %.25, label %yes.19, label %common.ret

yes.19:                                           ; preds = %after.12
  %.4.i = load <32 x i32>, ptr %warp.given, align 1
  %.9.i = getelementptr i8, ptr %warp.given, i64 160
  %.10.i = load i32, ptr %.9.i, align 1
  %.11.not.i = icmp eq i32 %.10.i, 0
  br i1 %.11.not.i, label %else.6.i, label %then.5.i

then.5.i:                                         ; preds = %yes.19
  %.5.i4 = bitcast i32 %.10.i to <32 x i1>
  %.7.i5 = select <32 x i1> %.5.i4, <32 x i32> %.4.i, <32 x i32> splat (i32 -1)
  %.8.i6 = tail call i32 @llvm.vector.reduce.umin.v32i32(<32 x i32> %.7.i5)
  %.9.i7 = insertelement <32 x i32> poison, i32 %.8.i6, i64 0
  %.10.i8 = shufflevector <32 x i32> %.9.i7, <32 x i32> poison, <32 x i32> zeroinitializer
  %.11.i9 = icmp eq <32 x i32> %.4.i, %.10.i8
  %.12.i10 = bitcast <32 x i1> %.11.i9 to i32
  %.14.i11 = and i32 %.10.i, %.12.i10
  br label %after.7.i

else.6.i:                                         ; preds = %yes.19
  %.5.i = bitcast i32 %.10 to <32 x i1>
  %.7.i = select <32 x i1> %.5.i, <32 x i32> %.4.i, <32 x i32> splat (i32 -1)
  %.8.i = tail call i32 @llvm.vector.reduce.umin.v32i32(<32 x i32> %.7.i)
  %.9.i2 = insertelement <32 x i32> poison, i32 %.8.i, i64 0
  %.10.i3 = shufflevector <32 x i32> %.9.i2, <32 x i32> poison, <32 x i32> zeroinitializer
  %.11.i = icmp eq <32 x i32> %.4.i, %.10.i3
  %.12.i = bitcast <32 x i1> %.11.i to i32
  %.14.i = and i32 %.10, %.12.i
  %.23.i = getelementptr i8, ptr %warp.given, i64 144
  %.8.i12 = getelementptr i8, ptr %warp.given, i64 148
  %.9.i13 = load i32, ptr %.8.i12, align 1
  %.10.i14 = icmp eq i32 %.9.i13, 0
  br i1 %.10.i14, label %and.6.i, label %then.3.i

and.6.i:                                          ; preds = %else.6.i
  %.12.i16 = load i32, ptr %.23.i, align 1
  %.13.i = icmp ult i32 %.12.i16, 4096
  br i1 %.13.i, label %after.7.i, label %after.4.i

after.7.i:                                        ; preds = %and.6.i, %lane_scheduling.next_lane.exit, %then.5.i
  %going.0.i = phi i32 [ %.14.i11, %then.5.i ], [ %.39.i, %lane_scheduling.next_lane.exit ], [ %.14.i, %and.6.i ]
  %.45.i = load i32, ptr %.4, align 1
  %.46.i = icmp eq i32 %going.0.i, %.45.i
  br i1 %.46.i, label %then.40.i, label %common.ret

then.3.i:                                         ; preds = %else.6.i
  %.13.i21 = getelementptr i8, ptr %warp.given, i64 152
  %.14.i22 = load i32, ptr %.13.i21, align 1
  %0 = shl nuw i32 1, %.14.i22
  %1 = and i32 %0, %.10
  %.17.not.i = icmp eq i32 %1, 0
  br i1 %.17.not.i, label %after.10.i, label %then.9.i

after.4.i:                                        ; preds = %and.6.i, %after.10.i
  %.9.i.i = load i32, ptr %.8.i12, align 1
  %.10.i.i = icmp eq i32 %.9.i.i, 0
  br i1 %.10.i.i, label %and.6.i.i, label %no.4.i.i

no.4.i.i:                                         ; preds = %and.6.i.i, %after.4.i
  store i32 0, ptr %.23.i, align 1
  %.35.i23 = getelementptr i8, ptr %warp.given, i64 156
  store i32 0, ptr %.35.i23, align 1
  %.43.i = icmp eq i32 %.14.i, %.10
  br i1 %.43.i, label %then.40.i26, label %after.41.i

and.6.i.i:                                        ; preds = %after.4.i
  %.12.i.i = load i32, ptr %.23.i, align 1
  %.13.i.i = icmp ult i32 %.12.i.i, 4096
  br i1 %.13.i.i, label %then.27.i, label %no.4.i.i

then.9.i:                                         ; preds = %then.3.i
  %.21.i = add i32 %.9.i13, -1
  store i32 %.21.i, ptr %.8.i12, align 1
  br label %lane_scheduling.next_lane.exit

after.10.i:                                       ; preds = %then.3.i
  store i32 0, ptr %.8.i12, align 1
  br label %after.4.i

then.27.i:                                        ; preds = %and.6.i.i
  %.32.i = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.14.i, i1 false)
  br label %lane_scheduling.next_lane.exit

then.40.i26:                                      ; preds = %no.4.i.i
  %.45.i27 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.14.i, i1 false)
  br label %lane_scheduling.next_lane.exit

after.41.i:                                       ; preds = %no.4.i.i
  %.39.i24 = xor i32 %.14.i, %.10
  %.48.i25 = getelementptr i8, ptr %warp.given, i64 152
  %.49.i = load i32, ptr %.48.i25, align 1
  %.50.i = zext nneg i32 %.49.i to i64
  %.51.i = shl i64 4294967294, %.50.i
  %.52.i = trunc i64 %.51.i to i32
  %.53.i = and i32 %.39.i24, %.52.i
  %.58.not.i = icmp eq i32 %.53.i, 0
  %.61.i = select i1 %.58.not.i, i32 %.39.i24, i32 %.53.i
  %.62.i = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.61.i, i1 true)
  store i32 %.62.i, ptr %.48.i25, align 1
  store i32 64, ptr %.8.i12, align 1
  br label %lane_scheduling.next_lane.exit

lane_scheduling.next_lane.exit:                   ; preds = %then.9.i, %then.27.i, %then.40.i26, %after.41.i
  %common.ret.op.i = phi i32 [ %.14.i22, %then.9.i ], [ %.32.i, %then.27.i ], [ %.45.i27, %then.40.i26 ], [ %.62.i, %after.41.i ]
  %.33.i = extractelement <32 x i32> %.4.i, i32 %common.ret.op.i
  %.34.i = insertelement <32 x i32> poison, i32 %.33.i, i64 0
  %.35.i = shufflevector <32 x i32> %.34.i, <32 x i32> poison, <32 x i32> zeroinitializer
  %.36.i = icmp eq <32 x i32> %.4.i, %.35.i
  %.37.i = bitcast <32 x i1> %.36.i to i32
  %.39.i = and i32 %.10, %.37.i
  br label %after.7.i

then.40.i:                                        ; preds = %after.7.i
  %.48.i = getelementptr i8, ptr %warp.given, i64 144
  tail call void @llvm.memset.p0.i64(ptr noundef nonnull align 1 dereferenceable(16) %.48.i, i8 0, i64 16, i1 false)
  br label %common.ret
}

declare void @llvm.memset.p0.i64(ptr writeonly captures(none), i8, i64, i1 immarg) #2

attributes #0 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #1 = { mustprogress nofree norecurse nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { nocallback nofree nounwind willreturn memory(argmem: write) }
