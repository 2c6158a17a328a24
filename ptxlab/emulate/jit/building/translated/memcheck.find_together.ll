; [["memcheck.find_together", "memcheck.find_lanes"], [], "0.50"]
; jit/translation/__init__.py jit/translation/conversions.py jit/translation/distinct_values.py jit/translation/expressions.py jit/translation/folding.py jit/translation/intrinsics.py jit/translation/ir.py jit/translation/rule_calls.py jit/translation/translator.py jit/translation/value_kinds.py language/__init__.py language/records.py language/rules.py language/types.py language/vectors.py rules/memcheck.py runtime/state.py
; c88dba40e5ec16104f08282b31897cbc94863432554e42f907cfa9e391f66d15 94f523d7ff81d696816df54d21b41389620b73ddbe8b783372f3268eeeb98070
source_filename = "<string>"

declare void @llvm.memset.p0.i64(ptr writeonly captures(none), i8, i64, i1 immarg) #0

declare i32 @llvm.cttz.i32(i32, i1 immarg) #1

define ptr @memcheck.find_together(ptr %context.given, ptr %cta.given, ptr %warp.given, i32 %mask.given, ptr readonly captures(none) %addresses.given, i64 %size.given, i64 %log2.given, i32 %space.given, ptr %site.given) local_unnamed_addr #2 {
entry.1:
  %.6 = icmp eq i32 %mask.given, 0
  br i1 %.6, label %common.ret, label %after.4

common.ret:                                       ; preds = %or.43, %and.10.i29, %after.16, %no.8.i, %entry.1, %after.93
  %common.ret.op = phi ptr [ %.133, %after.93 ], [ null, %entry.1 ], [ null, %no.8.i ], [ null, %after.16 ], [ null, %and.10.i29 ], [ null, %or.43 ]
  ret ptr %common.ret.op

after.4:                                          ; preds = %entry.1
  %.8 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %mask.given, i1 true)
  %.13 = icmp eq i32 %space.given, 1
  %. = select i1 %.13, i64 140183437574144, i64 0
  %.20 = zext nneg i32 %.8 to i64
  %.21 = getelementptr i64, ptr %addresses.given, i64 %.20
  %.22 = load i64, ptr %.21, align 1
  %.24 = add i64 %.22, %.
  %.5.i = load i64, ptr %site.given, align 1
  %.6.i = sub i64 %.24, %.5.i
  %notmask.i = shl nsw i64 -1, %log2.given
  %.14.i20 = xor i64 %notmask.i, -1
  %.15.i = and i64 %.6.i, %.14.i20
  %.16.i = icmp eq i64 %.15.i, 0
  br i1 %.16.i, label %and.10.i, label %no.8.i

no.8.i:                                           ; preds = %and.10.i, %after.4
  %.40 = tail call ptr @resolve(ptr %context.given, ptr %cta.given, ptr %warp.given, i32 %.8, i64 %.22, i64 %size.given, i64 %log2.given, i32 %space.given, i32 1, ptr nonnull %site.given) #2
  %.45 = icmp eq ptr %.40, null
  br i1 %.45, label %common.ret, label %or.43

and.10.i:                                         ; preds = %after.4
  %.19.i = lshr i64 %.6.i, %log2.given
  %.21.i = getelementptr i8, ptr %site.given, i64 8
  %.22.i = load i64, ptr %.21.i, align 1
  %.23.i = icmp ult i64 %.19.i, %.22.i
  br i1 %.23.i, label %after.16, label %no.8.i

after.16:                                         ; preds = %and.10.i29, %and.10.i
  %.57 = load i64, ptr %site.given, align 1
  %.59 = sub i64 %.57, %.
  %.61 = load <32 x i64>, ptr %addresses.given, align 1
  %.63 = insertelement <32 x i64> poison, i64 %.59, i64 0
  %.64 = shufflevector <32 x i64> %.63, <32 x i64> poison, <32 x i32> zeroinitializer
  %.65 = sub <32 x i64> %.61, %.64
  %.69 = bitcast i32 %mask.given to <32 x i1>
  %.72 = add i64 %size.given, -1
  %.73 = insertelement <32 x i64> poison, i64 %.72, i64 0
  %.74 = shufflevector <32 x i64> %.73, <32 x i64> poison, <32 x i32> zeroinitializer
  %.75 = and <32 x i64> %.65, %.74
  %.76 = icmp ne <32 x i64> %.75, zeroinitializer
  %.79 = insertelement <32 x i64> poison, i64 %log2.given, i64 0
  %.80 = shufflevector <32 x i64> %.79, <32 x i64> poison, <32 x i32> zeroinitializer
  %.81 = lshr <32 x i64> %.65, %.80
  %.83 = getelementptr i8, ptr %site.given, i64 8
  %.84 = load i64, ptr %.83, align 1
  %.85 = insertelement <32 x i64> poison, i64 %.84, i64 0
  %.86 = shufflevector <32 x i64> %.85, <32 x i64> poison, <32 x i32> zeroinitializer
  %.87 = icmp uge <32 x i64> %.81, %.86
  %.88 = or <32 x i1> %.76, %.87
  %.89 = and <32 x i1> %.88, %.69
  %.90 = bitcast <32 x i1> %.89 to i32
  %.91.not = icmp eq i32 %.90, 0
  br i1 %.91.not, label %after.67, label %common.ret

or.43:                                            ; preds = %no.8.i
  %.51 = load i64, ptr %.21, align 1
  %.53 = add i64 %.51, %.
  %.5.i21 = load i64, ptr %site.given, align 1
  %.6.i22 = sub i64 %.53, %.5.i21
  %.15.i25 = and i64 %.6.i22, %.14.i20
  %.16.i26 = icmp eq i64 %.15.i25, 0
  br i1 %.16.i26, label %and.10.i29, label %common.ret

and.10.i29:                                       ; preds = %or.43
  %.19.i30 = lshr i64 %.6.i22, %log2.given
  %.21.i31 = getelementptr i8, ptr %site.given, i64 8
  %.22.i32 = load i64, ptr %.21.i31, align 1
  %.23.i33 = icmp ult i64 %.19.i30, %.22.i32
  br i1 %.23.i33, label %after.16, label %common.ret

after.67:                                         ; preds = %after.16
  %.96 = getelementptr i8, ptr %site.given, i64 24
  %.97 = load ptr, ptr %.96, align 1
  %.98 = icmp ne ptr %.97, null
  %.100 = icmp ne i32 %space.given, 1
  %or.cond = select i1 %.98, i1 %.100, i1 false
  br i1 %or.cond, label %do.104, label %after.93

after.93:                                         ; preds = %memcheck.mark.exit, %after.67
  %.124 = getelementptr i8, ptr %site.given, i64 16
  %.125 = load ptr, ptr %.124, align 1
  %.130 = load i64, ptr %.21, align 1
  %.132 = sub i64 %.130, %.59
  %.133 = getelementptr i8, ptr %.125, i64 %.132
  br label %common.ret

do.104:                                           ; preds = %after.67, %memcheck.mark.exit
  %.101.035 = phi i32 [ %.110, %memcheck.mark.exit ], [ %mask.given, %after.67 ]
  %.108 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.101.035, i1 true)
  %.109 = add i32 %.101.035, -1
  %.110 = and i32 %.109, %.101.035
  %.113 = load ptr, ptr %.96, align 1
  %.116 = zext nneg i32 %.108 to i64
  %.117 = getelementptr i64, ptr %addresses.given, i64 %.116
  %.118 = load i64, ptr %.117, align 1
  %.120 = sub i64 %.118, %.59
  %.121 = getelementptr i8, ptr %.113, i64 %.120
  %.8.i = load i8, ptr %.121, align 1
  %.9.not.i = icmp eq i8 %.8.i, 85
  br i1 %.9.not.i, label %memcheck.mark.exit, label %and.5.i

then.3.i:                                         ; preds = %and.5.i
  tail call void @llvm.memset.p0.i64(ptr nonnull align 1 %.121, i8 -1, i64 %size.given, i1 false)
  br label %memcheck.mark.exit

and.5.i:                                          ; preds = %do.104
  %0 = getelementptr i8, ptr %.121, i64 %size.given
  %.13.i = getelementptr i8, ptr %0, i64 -1
  %.14.i = load i8, ptr %.13.i, align 1
  %.15.not.i = icmp eq i8 %.14.i, 85
  br i1 %.15.not.i, label %memcheck.mark.exit, label %then.3.i

memcheck.mark.exit:                               ; preds = %do.104, %then.3.i, %and.5.i
  %.107.not = icmp eq i32 %.110, 0
  br i1 %.107.not, label %after.93, label %do.104
}

define i1 @memcheck.find_lanes(ptr %context.given, ptr %cta.given, ptr %warp.given, i32 %mask.given, ptr readonly captures(none) %addresses.given, i64 %size.given, i64 %log2.given, i32 %space.given, i32 %code.given, ptr captures(none) %places.given) local_unnamed_addr #2 {
entry.1:
  %.3 = alloca [48 x i8], align 64
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 64 dereferenceable(48) %.3, i8 0, i64 48, i1 false)
  %cond = icmp eq i32 %mask.given, 0
  br i1 %cond, label %common.ret, label %do.9.lr.ph

do.9.lr.ph:                                       ; preds = %entry.1
  %.7.i = icmp eq i32 %space.given, 1
  %notmask.i.i = shl nsw i64 -1, %log2.given
  %.14.i.i = xor i64 %notmask.i.i, -1
  %.21.i.i = getelementptr inbounds nuw i8, ptr %.3, i64 8
  %.33.i = getelementptr inbounds nuw i8, ptr %.3, i64 24
  %.46.i = getelementptr i8, ptr %context.given, i64 736
  %.48.i = getelementptr inbounds nuw i8, ptr %.3, i64 16
  %.50 = getelementptr i8, ptr %context.given, i64 736
  br label %do.9

do.9:                                             ; preds = %do.9.lr.ph, %after.31
  %.6.012 = phi i32 [ %mask.given, %do.9.lr.ph ], [ %.15, %after.31 ]
  %.13 = call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.6.012, i1 true)
  %.23 = zext nneg i32 %.13 to i64
  %.24 = getelementptr i64, ptr %addresses.given, i64 %.23
  %.25 = load i64, ptr %.24, align 1
  %.9.i = add i64 %.25, 140183437574144
  %.11.i = select i1 %.7.i, i64 %.9.i, i64 %.25
  %.5.i.i = load i64, ptr %.3, align 64
  %.6.i.i = sub i64 %.11.i, %.5.i.i
  %.15.i.i = and i64 %.6.i.i, %.14.i.i
  %.16.i.i = icmp eq i64 %.15.i.i, 0
  br i1 %.16.i.i, label %and.10.i.i, label %no.8.i.i

no.8.i.i:                                         ; preds = %and.10.i.i, %do.9
  %.28.i = call ptr @resolve(ptr %context.given, ptr %cta.given, ptr %warp.given, i32 range(i32 0, 32) %.13, i64 %.25, i64 %size.given, i64 %log2.given, i32 %space.given, i32 1, ptr nonnull %.3) #2
  br label %memcheck.found_by.exit

and.10.i.i:                                       ; preds = %do.9
  %.19.i.i = lshr i64 %.6.i.i, %log2.given
  %.22.i.i = load i64, ptr %.21.i.i, align 8
  %.23.i.i = icmp ult i64 %.19.i.i, %.22.i.i
  br i1 %.23.i.i, label %after.13.i, label %no.8.i.i

after.13.i:                                       ; preds = %and.10.i.i
  %.34.i = load ptr, ptr %.33.i, align 8
  %.35.i = icmp eq ptr %.34.i, null
  %.43.i = getelementptr i8, ptr %.34.i, i64 %.6.i.i
  %spec.select.i = select i1 %.35.i, ptr null, ptr %.43.i
  store ptr %spec.select.i, ptr %.46.i, align 1
  %.49.i = load ptr, ptr %.48.i, align 16
  %.54.i = getelementptr i8, ptr %.49.i, i64 %.6.i.i
  br label %memcheck.found_by.exit

memcheck.found_by.exit:                           ; preds = %no.8.i.i, %after.13.i
  %common.ret.op.i = phi ptr [ %.28.i, %no.8.i.i ], [ %.54.i, %after.13.i ]
  %.33 = icmp eq ptr %common.ret.op.i, null
  br i1 %.33, label %then.30, label %after.31

common.ret:                                       ; preds = %after.76, %entry.1, %then.30
  %.12.not10 = phi i1 [ true, %then.30 ], [ false, %entry.1 ], [ false, %after.76 ]
  ret i1 %.12.not10

then.30:                                          ; preds = %memcheck.found_by.exit
  %.24.le = getelementptr i64, ptr %addresses.given, i64 %.23
  %.42 = load i64, ptr %.24.le, align 1
  call void @record(ptr %context.given, ptr %warp.given, i32 1, i32 %code.given, i32 %.13, i64 %.42) #2
  br label %common.ret

after.31:                                         ; preds = %memcheck.found_by.exit
  %.14 = add i32 %.6.012, -1
  %.15 = and i32 %.14, %.6.012
  %.47 = shl nuw nsw i64 %.23, 4
  %.48 = getelementptr i8, ptr %places.given, i64 %.47
  store ptr %common.ret.op.i, ptr %.48, align 1
  %.51 = load ptr, ptr %.50, align 1
  %.57 = getelementptr i8, ptr %.48, i64 8
  store ptr %.51, ptr %.57, align 1
  %.12.not.not = icmp eq i32 %.15, 0
  br i1 %.12.not.not, label %do.61, label %do.9

do.61:                                            ; preds = %after.31, %after.76
  %.58.015 = phi i32 [ %.67, %after.76 ], [ %mask.given, %after.31 ]
  %.65 = call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.58.015, i1 true)
  %.66 = add i32 %.58.015, -1
  %.67 = and i32 %.66, %.58.015
  %0 = shl nuw nsw i32 %.65, 4
  %.71 = zext nneg i32 %0 to i64
  %.72 = getelementptr i8, ptr %places.given, i64 %.71
  %.73 = getelementptr i8, ptr %.72, i64 8
  %.74 = load ptr, ptr %.73, align 1
  %.78.not = icmp eq ptr %.74, null
  br i1 %.78.not, label %after.76, label %then.75

then.75:                                          ; preds = %do.61
  %.8.i = load i8, ptr %.74, align 1
  %.9.not.i = icmp eq i8 %.8.i, 85
  br i1 %.9.not.i, label %after.76, label %and.5.i

then.3.i:                                         ; preds = %and.5.i
  call void @llvm.memset.p0.i64(ptr nonnull align 1 %.74, i8 -1, i64 %size.given, i1 false)
  br label %after.76

and.5.i:                                          ; preds = %then.75
  %1 = getelementptr i8, ptr %.74, i64 %size.given
  %.13.i = getelementptr i8, ptr %1, i64 -1
  %.14.i = load i8, ptr %.13.i, align 1
  %.15.not.i = icmp eq i8 %.14.i, 85
  br i1 %.15.not.i, label %after.76, label %then.3.i

after.76:                                         ; preds = %and.5.i, %then.3.i, %then.75, %do.61
  %.64.not = icmp eq i32 %.67, 0
  br i1 %.64.not, label %common.ret, label %do.61
}

declare void @record(ptr, ptr, i32, i32, i32, i64) local_unnamed_addr

declare ptr @resolve(ptr, ptr, ptr, i32, i64, i64, i64, i32, i32, ptr) local_unnamed_addr

attributes #0 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #1 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nounwind }
