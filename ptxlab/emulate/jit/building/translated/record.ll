; [["record", "resolve", "miss", "miss.lanes", "access.lanes", "mark.lanes", "forget"], [], "0.50"]
; jit/translation/__init__.py jit/translation/conversions.py jit/translation/distinct_values.py jit/translation/expressions.py jit/translation/folding.py jit/translation/intrinsics.py jit/translation/ir.py jit/translation/rule_calls.py jit/translation/translator.py jit/translation/value_kinds.py language/__init__.py language/records.py language/rules.py language/types.py language/vectors.py rules/memcheck.py runtime/state.py
; c88dba40e5ec16104f08282b31897cbc94863432554e42f907cfa9e391f66d15 8dfe66e5e650eafc338ca41fdf88d6282c87367ec84df45e97c882b68869530c
source_filename = "<string>"

declare i32 @llvm.cttz.i32(i32, i1 immarg) #0

declare void @llvm.memset.p0.i64(ptr writeonly captures(none), i8, i64, i1 immarg) #1

define void @record(ptr writeonly captures(none) initializes((432, 456)) %context.given, ptr readonly captures(none) %warp.given, i32 %kind.given, i32 %code.given, i32 %lane.given, i64 %address.given) local_unnamed_addr #2 {
entry.1:
  %.5 = getelementptr i8, ptr %context.given, i64 432
  store i32 %kind.given, ptr %.5, align 1
  %.9 = getelementptr i8, ptr %context.given, i64 436
  store i32 %code.given, ptr %.9, align 1
  %.13 = getelementptr i8, ptr %context.given, i64 440
  store i32 %lane.given, ptr %.13, align 1
  %.15 = getelementptr i8, ptr %warp.given, i64 200
  %.16 = load i32, ptr %.15, align 1
  %.19 = getelementptr i8, ptr %context.given, i64 444
  store i32 %.16, ptr %.19, align 1
  %.23 = getelementptr i8, ptr %context.given, i64 448
  store i64 %address.given, ptr %.23, align 1
  ret void
}

define ptr @resolve(ptr captures(none) %context.given, ptr readonly captures(none) %cta.given, ptr readonly captures(none) %warp.given, i32 %lane.given, i64 %address.given, i64 %size.given, i64 %log2.given, i32 %space.given, i32 %write.given, ptr writeonly captures(address_is_null) %site.given) local_unnamed_addr #3 {
entry.1:
  %.4 = getelementptr i8, ptr %context.given, i64 736
  %.6 = getelementptr i8, ptr %context.given, i64 72
  %.7 = load ptr, ptr %.6, align 1
  %.15.not = icmp eq i32 %write.given, 0
  %.6.i22 = icmp eq i32 %space.given, 5
  br i1 %.6.i22, label %then.3.i, label %after.4.i

then.3.i:                                         ; preds = %entry.1
  %.10.i = add i64 %address.given, -140183437574144
  %.11.i = icmp ult i64 %.10.i, 524288
  br i1 %.11.i, label %memcheck.space_of.exit, label %after.8.i

after.4.i:                                        ; preds = %entry.1
  %.50.i = icmp eq i32 %space.given, 6
  %.52.i = icmp ult i64 %address.given, 524288
  %or.cond.i = select i1 %.50.i, i1 %.52.i, i1 false
  %.57.i = insertvalue { i32, i64 } undef, i32 %space.given, 0
  %spec.select.i = select i1 %or.cond.i, { i32, i64 } { i32 1, i64 undef }, { i32, i64 } %.57.i
  br label %memcheck.space_of.exit

after.8.i:                                        ; preds = %then.3.i
  %.20.i25 = icmp ult i64 %.10.i, 16777216
  br i1 %.20.i25, label %memcheck.space_of.exit, label %after.17.i

after.17.i:                                       ; preds = %after.8.i
  %.28.i = add i64 %address.given, -140179142606848
  %.29.i = icmp ult i64 %.28.i, 16777216
  br i1 %.29.i, label %memcheck.space_of.exit, label %after.26.i

after.26.i:                                       ; preds = %after.17.i
  %.37.i26 = add i64 %address.given, -140174847639552
  %.38.i = icmp ult i64 %.37.i26, 16777216
  %..i = select i1 %.38.i, { i32, i64 } { i32 3, i64 undef }, { i32, i64 } { i32 0, i64 undef }
  %.37.address.given.i = select i1 %.38.i, i64 %.37.i26, i64 %address.given
  br label %memcheck.space_of.exit

memcheck.space_of.exit:                           ; preds = %then.3.i, %after.4.i, %after.8.i, %after.17.i, %after.26.i
  %.pn.i23 = phi { i32, i64 } [ %spec.select.i, %after.4.i ], [ { i32 1, i64 undef }, %then.3.i ], [ { i32 6, i64 undef }, %after.8.i ], [ %..i, %after.26.i ], [ { i32 2, i64 undef }, %after.17.i ]
  %.10.pn.i = phi i64 [ %address.given, %after.4.i ], [ %.10.i, %then.3.i ], [ %.10.i, %after.8.i ], [ %.37.address.given.i, %after.26.i ], [ %.28.i, %after.17.i ]
  %.6.i = extractvalue { i32, i64 } %.pn.i23, 0
  switch i32 %.6.i, label %else.61.i [
    i32 1, label %then.8.i
    i32 6, label %then.21.i
    i32 2, label %then.52.i
    i32 3, label %then.60.i
  ]

then.8.i:                                         ; preds = %memcheck.space_of.exit
  %.14.i = getelementptr i8, ptr %.7, i64 24
  %.18.i = getelementptr i8, ptr %.7, i64 16
  %.19.i = load i64, ptr %.18.i, align 1
  %.20.i = sub i64 %.10.pn.i, %.19.i
  br label %after.10.i

after.10.i:                                       ; preds = %after.72.i, %then.60.i, %then.52.i, %then.21.i, %then.8.i
  %room.0.in.i = phi ptr [ %.14.i, %then.8.i ], [ %.27.i, %then.21.i ], [ %.58.i, %then.52.i ], [ %.66.i, %then.60.i ], [ %.89.i, %after.72.i ]
  %writable.0.i = phi i1 [ true, %then.8.i ], [ true, %then.21.i ], [ true, %then.52.i ], [ false, %then.60.i ], [ %.98.i, %after.72.i ]
  %index.0.i = phi i64 [ 0, %then.8.i ], [ %.31.i, %then.21.i ], [ 0, %then.52.i ], [ 0, %then.60.i ], [ %.83.i, %after.72.i ]
  %offset.0.i = phi i64 [ %.20.i, %then.8.i ], [ %.37.i, %then.21.i ], [ %.10.pn.i, %then.52.i ], [ %.10.pn.i, %then.60.i ], [ %.106.i, %after.72.i ]
  %room.0.i = load i64, ptr %room.0.in.i, align 1
  %.9.not.i = icmp ule i64 %size.given, %room.0.i
  %.13.i = sub nuw i64 %room.0.i, %size.given
  %.14.not.i = icmp ule i64 %offset.0.i, %.13.i
  %or.cond.i32.not = select i1 %.9.not.i, i1 %.14.not.i, i1 false
  br i1 %or.cond.i32.not, label %after.108.i, label %then.107.i

then.21.i:                                        ; preds = %memcheck.space_of.exit
  %.27.i = getelementptr i8, ptr %.7, i64 24
  %.30.i = lshr i64 %.10.pn.i, 19
  %.31.i = add nsw i64 %.30.i, -1
  %.33.i = and i64 %.10.pn.i, 524287
  %.35.i = getelementptr i8, ptr %.7, i64 16
  %.36.i = load i64, ptr %.35.i, align 1
  %.37.i = sub i64 %.33.i, %.36.i
  %.42.i = getelementptr i8, ptr %.7, i64 56
  %.43.i = load i64, ptr %.42.i, align 1
  %.44.not.i = icmp ult i64 %.31.i, %.43.i
  br i1 %.44.not.i, label %after.10.i, label %memcheck.judge.exit

then.52.i:                                        ; preds = %memcheck.space_of.exit
  %.58.i = getelementptr i8, ptr %.7, i64 32
  br label %after.10.i

then.60.i:                                        ; preds = %memcheck.space_of.exit
  %.66.i = getelementptr i8, ptr %.7, i64 48
  br label %after.10.i

else.61.i:                                        ; preds = %memcheck.space_of.exit
  %.4.i = getelementptr i8, ptr %.7, i64 8
  %.5.i = load i64, ptr %.4.i, align 1
  %.11.i2739.not = icmp eq i64 %.5.i, 0
  br i1 %.11.i2739.not, label %memcheck.allocation_before.exit, label %do.7.i.lr.ph

do.7.i.lr.ph:                                     ; preds = %else.61.i
  %.20.i30 = load ptr, ptr %.7, align 1
  br label %do.7.i

do.7.i:                                           ; preds = %do.7.i.lr.ph, %do.7.i
  %low.0.i41 = phi i64 [ 0, %do.7.i.lr.ph ], [ %low.1.i, %do.7.i ]
  %high.0.i40 = phi i64 [ %.5.i, %do.7.i.lr.ph ], [ %high.1.i, %do.7.i ]
  %.14.i29 = add i64 %low.0.i41, %high.0.i40
  %.15.i = lshr i64 %.14.i29, 1
  %.22.i = mul i64 %.15.i, 56
  %.23.i = getelementptr i8, ptr %.20.i30, i64 %.22.i
  %.24.i = load i64, ptr %.23.i, align 1
  %.26.not.i = icmp ugt i64 %.24.i, %address.given
  %.28.i31 = add nuw i64 %.15.i, 1
  %high.1.i = select i1 %.26.not.i, i64 %.15.i, i64 %high.0.i40
  %low.1.i = select i1 %.26.not.i, i64 %low.0.i41, i64 %.28.i31
  %.11.i27 = icmp ult i64 %low.1.i, %high.1.i
  br i1 %.11.i27, label %do.7.i, label %memcheck.allocation_before.exit

memcheck.allocation_before.exit:                  ; preds = %do.7.i, %else.61.i
  %low.0.i.lcssa = phi i64 [ 0, %else.61.i ], [ %low.1.i, %do.7.i ]
  %.74.i = icmp eq i64 %low.0.i.lcssa, 0
  br i1 %.74.i, label %then.71.i, label %after.72.i

then.71.i:                                        ; preds = %memcheck.allocation_before.exit
  %.77.i = insertvalue { i32, i32, i64, i64 } { i32 1, i32 undef, i64 undef, i64 undef }, i32 %.6.i, 1
  br label %memcheck.judge.exit

after.72.i:                                       ; preds = %memcheck.allocation_before.exit
  %.83.i = add i64 %low.0.i.lcssa, -1
  %.85.i = load ptr, ptr %.7, align 1
  %.87.i = mul i64 %.83.i, 56
  %.88.i = getelementptr i8, ptr %.85.i, i64 %.87.i
  %.89.i = getelementptr i8, ptr %.88.i, i64 8
  %.96.i = getelementptr i8, ptr %.88.i, i64 16
  %.97.i = load i64, ptr %.96.i, align 1
  %.98.i = icmp ne i64 %.97.i, 0
  %.105.i = load i64, ptr %.88.i, align 1
  %.106.i = sub i64 %address.given, %.105.i
  br label %after.10.i

then.107.i:                                       ; preds = %after.10.i
  %.115.i = insertvalue { i32, i32, i64, i64 } { i32 1, i32 undef, i64 undef, i64 undef }, i32 %.6.i, 1
  br label %memcheck.judge.exit

after.108.i:                                      ; preds = %after.10.i
  %notmask = shl nsw i64 -1, %log2.given
  %.124.i = xor i64 %notmask, -1
  %.125.i = and i64 %address.given, %.124.i
  %.126.not.i = icmp eq i64 %.125.i, 0
  br i1 %.126.not.i, label %after.121.i, label %then.120.i

then.120.i:                                       ; preds = %after.108.i
  %.129.i = insertvalue { i32, i32, i64, i64 } { i32 2, i32 undef, i64 undef, i64 undef }, i32 %.6.i, 1
  br label %memcheck.judge.exit

after.121.i:                                      ; preds = %after.108.i
  %brmerge.i = select i1 %.15.not, i1 true, i1 %writable.0.i
  br i1 %brmerge.i, label %after.135.i, label %then.134.i

then.134.i:                                       ; preds = %after.121.i
  %.141.i = insertvalue { i32, i32, i64, i64 } { i32 3, i32 undef, i64 undef, i64 undef }, i32 %.6.i, 1
  br label %memcheck.judge.exit

after.135.i:                                      ; preds = %after.121.i
  %.5.i34 = getelementptr i8, ptr %.7, i64 64
  %.6.i35 = load i64, ptr %.5.i34, align 1
  %.7.i36 = sub i64 %address.given, %.6.i35
  %.9.i = getelementptr i8, ptr %.7, i64 72
  %.10.i37 = load i64, ptr %.9.i, align 1
  %.11.i38 = icmp ult i64 %.7.i36, %.10.i37
  br i1 %.11.i38, label %then.146.i, label %after.147.i

then.146.i:                                       ; preds = %after.135.i
  %.170.i = getelementptr i8, ptr %.7, i64 80
  %.171.i = load ptr, ptr %.170.i, align 1
  %0 = lshr i64 %.7.i36, 1
  %.173.i = and i64 %0, 9223372036854775800
  %.174.i = getelementptr i8, ptr %.171.i, i64 %.173.i
  %.175.i = load i32, ptr %.174.i, align 1
  %.176.not.i = icmp eq i32 %.175.i, 0
  br i1 %.176.not.i, label %or.168.i, label %then.166.i

after.147.i:                                      ; preds = %or.168.i, %after.135.i
  %.194.i = insertvalue { i32, i32, i64, i64 } { i32 0, i32 undef, i64 undef, i64 undef }, i32 %.6.i, 1
  br label %memcheck.judge.exit

then.166.i:                                       ; preds = %or.168.i, %then.146.i
  %.187.i = insertvalue { i32, i32, i64, i64 } { i32 4, i32 undef, i64 undef, i64 undef }, i32 %.6.i, 1
  br label %memcheck.judge.exit

or.168.i:                                         ; preds = %then.146.i
  %.159.i = add i64 %size.given, %address.given
  %1 = xor i64 %.6.i35, -1
  %.164.i = add i64 %.159.i, %1
  %2 = lshr i64 %.164.i, 1
  %.181.i = and i64 %2, 9223372036854775800
  %.182.i = getelementptr i8, ptr %.171.i, i64 %.181.i
  %.183.i = load i32, ptr %.182.i, align 1
  %.184.not.i = icmp eq i32 %.183.i, 0
  br i1 %.184.not.i, label %after.147.i, label %then.166.i

memcheck.judge.exit:                              ; preds = %then.21.i, %then.71.i, %then.107.i, %then.120.i, %then.134.i, %after.147.i, %then.166.i
  %.pn.i = phi { i32, i32, i64, i64 } [ %.187.i, %then.166.i ], [ %.77.i, %then.71.i ], [ %.115.i, %then.107.i ], [ %.129.i, %then.120.i ], [ %.141.i, %then.134.i ], [ %.194.i, %after.147.i ], [ { i32 1, i32 6, i64 undef, i64 undef }, %then.21.i ]
  %.31.pn.i = phi i64 [ %index.0.i, %then.166.i ], [ 0, %then.71.i ], [ %index.0.i, %then.107.i ], [ %index.0.i, %then.120.i ], [ %index.0.i, %then.134.i ], [ %index.0.i, %after.147.i ], [ %.31.i, %then.21.i ]
  %.37.pn.i = phi i64 [ %offset.0.i, %then.166.i ], [ %.10.pn.i, %then.71.i ], [ %offset.0.i, %then.107.i ], [ %offset.0.i, %then.120.i ], [ %offset.0.i, %then.134.i ], [ %offset.0.i, %after.147.i ], [ %.37.i, %then.21.i ]
  %.17 = extractvalue { i32, i32, i64, i64 } %.pn.i, 0
  %.18 = extractvalue { i32, i32, i64, i64 } %.pn.i, 1
  %.24.not = icmp eq i32 %.17, 0
  br i1 %.24.not, label %after.22, label %common.ret

common.ret:                                       ; preds = %then.81, %yes.35, %no.36, %memcheck.judge.exit, %after.177, %then.156
  %common.ret.op = phi ptr [ %.204, %after.177 ], [ null, %memcheck.judge.exit ], [ %.56, %no.36 ], [ %.175, %then.156 ], [ %.44, %yes.35 ], [ null, %then.81 ]
  ret ptr %common.ret.op

after.22:                                         ; preds = %memcheck.judge.exit
  %3 = and i32 %.18, -2
  %or.cond = icmp eq i32 %3, 2
  br i1 %or.cond, label %then.25, label %after.26

then.25:                                          ; preds = %after.22
  %.31 = icmp eq i32 %.18, 3
  tail call void @llvm.memset.p0.i64(ptr noundef nonnull align 1 dereferenceable(16) %.4, i8 0, i64 16, i1 false)
  br i1 %.31, label %yes.35, label %no.36

after.26:                                         ; preds = %after.22
  %.65 = icmp eq i32 %.18, 6
  switch i32 %.18, label %else.59 [
    i32 6, label %then.58
    i32 1, label %then.58
  ]

yes.35:                                           ; preds = %then.25
  %.41 = getelementptr i8, ptr %context.given, i64 64
  %.42 = load ptr, ptr %.41, align 1
  %.44 = getelementptr i8, ptr %.42, i64 %.37.pn.i
  br label %common.ret

no.36:                                            ; preds = %then.25
  %.46 = getelementptr i8, ptr %warp.given, i64 240
  %.47 = load ptr, ptr %.46, align 1
  %.50 = getelementptr i8, ptr %.7, i64 40
  %.51 = load i64, ptr %.50, align 1
  %.52 = zext i32 %lane.given to i64
  %.53 = mul i64 %.51, %.52
  %4 = getelementptr i8, ptr %.47, i64 %.53
  %.56 = getelementptr i8, ptr %4, i64 %.37.pn.i
  br label %common.ret

then.58:                                          ; preds = %after.26, %after.26
  %.68 = sub i64 %address.given, %.37.pn.i
  %.72 = icmp eq i32 %space.given, 1
  br i1 %.72, label %then.69, label %after.70

else.59:                                          ; preds = %after.26
  %.115 = load ptr, ptr %.7, align 1
  %.117 = mul i64 %.31.pn.i, 56
  %.118 = getelementptr i8, ptr %.115, i64 %.117
  %.120 = load i64, ptr %.118, align 1
  %.122 = getelementptr i8, ptr %.118, i64 8
  %.123 = load i64, ptr %.122, align 1
  %.128 = getelementptr i8, ptr %.118, i64 32
  %.131 = getelementptr i8, ptr %.118, i64 40
  %.134 = getelementptr i8, ptr %.118, i64 48
  br label %after.60

after.60:                                         ; preds = %after.82, %else.59
  %room.0 = phi i64 [ %.79, %after.82 ], [ %.123, %else.59 ]
  %owner.0.pn = phi ptr [ %owner.0, %after.82 ], [ %.118, %else.59 ]
  %written.0.in = phi ptr [ %.106, %after.82 ], [ %.128, %else.59 ]
  %accesses.0.in = phi ptr [ %.109, %after.82 ], [ %.131, %else.59 ]
  %stride.0.in = phi ptr [ %.112, %after.82 ], [ %.134, %else.59 ]
  %base.1 = phi i64 [ %base.0, %after.82 ], [ %.120, %else.59 ]
  %stride.0 = load i64, ptr %stride.0.in, align 1
  %accesses.0 = load ptr, ptr %accesses.0.in, align 1
  %written.0 = load ptr, ptr %written.0.in, align 1
  %host.0.in = getelementptr i8, ptr %owner.0.pn, i64 24
  %host.0 = load ptr, ptr %host.0.in, align 1
  %.140 = icmp eq ptr %written.0, null
  %.144 = getelementptr i8, ptr %written.0, i64 %.37.pn.i
  %.145 = select i1 %.140, ptr null, ptr %.144
  store ptr %.145, ptr %.4, align 1
  %.149 = getelementptr i8, ptr %context.given, i64 744
  store ptr %accesses.0, ptr %.149, align 1
  %.152 = getelementptr i8, ptr %context.given, i64 752
  store i64 %stride.0, ptr %.152, align 1
  %.155 = getelementptr i8, ptr %context.given, i64 760
  store i64 %.37.pn.i, ptr %.155, align 1
  %.160 = icmp eq i32 %.18, 0
  br i1 %.160, label %and.158, label %after.157

then.69:                                          ; preds = %then.58
  %.74 = getelementptr i8, ptr %.7, i64 16
  %.75 = load i64, ptr %.74, align 1
  %.76 = add i64 %.75, 140183437574144
  br label %after.70

after.70:                                         ; preds = %then.69, %then.58
  %base.0 = phi i64 [ %.76, %then.69 ], [ %.68, %then.58 ]
  %.78 = getelementptr i8, ptr %.7, i64 24
  %.79 = load i64, ptr %.78, align 1
  br i1 %.65, label %then.81, label %after.82

then.81:                                          ; preds = %after.70
  %.86 = getelementptr i8, ptr %context.given, i64 264
  %.87 = load ptr, ptr %.86, align 1
  %.89 = getelementptr i8, ptr %cta.given, i64 72
  %.90 = load ptr, ptr %.89, align 1
  %.91 = load i64, ptr %.90, align 1
  %.93 = add i64 %.91, %.31.pn.i
  %.94 = shl i64 %.93, 3
  %.95 = getelementptr i8, ptr %.87, i64 %.94
  %.96 = load ptr, ptr %.95, align 1
  %.100 = load i32, ptr %.96, align 1
  %.101 = icmp eq i32 %.100, 0
  br i1 %.101, label %common.ret, label %after.82

after.82:                                         ; preds = %then.81, %after.70
  %owner.0 = phi ptr [ %.96, %then.81 ], [ %cta.given, %after.70 ]
  %.106 = getelementptr i8, ptr %owner.0, i64 392
  %.109 = getelementptr i8, ptr %owner.0, i64 400
  %.112 = getelementptr i8, ptr %owner.0, i64 408
  br label %after.60

then.156:                                         ; preds = %and.161
  %.175 = getelementptr i8, ptr %host.0, i64 %.37.pn.i
  br label %common.ret

after.157:                                        ; preds = %and.161, %and.158, %after.60
  %.179.not = icmp eq ptr %site.given, null
  br i1 %.179.not, label %after.177, label %then.176

and.158:                                          ; preds = %after.60
  %.163 = getelementptr i8, ptr %.7, i64 64
  %.164 = load i64, ptr %.163, align 1
  %.166 = sub i64 %.164, %base.1
  %.168 = icmp ult i64 %.166, %room.0
  br i1 %.168, label %and.161, label %after.157

and.161:                                          ; preds = %and.158
  %.170 = getelementptr i8, ptr %.7, i64 72
  %.171 = load i64, ptr %.170, align 1
  %.172.not = icmp eq i64 %.171, 0
  br i1 %.172.not, label %after.157, label %then.156

then.176:                                         ; preds = %after.157
  store i64 %base.1, ptr %site.given, align 1
  %.184 = sub i64 %room.0, %size.given
  %.186 = lshr i64 %.184, %log2.given
  %.187 = add i64 %.186, 1
  %.189 = getelementptr i8, ptr %site.given, i64 8
  store i64 %.187, ptr %.189, align 1
  %.192 = getelementptr i8, ptr %site.given, i64 16
  store ptr %host.0, ptr %.192, align 1
  %.195 = getelementptr i8, ptr %site.given, i64 24
  store ptr %written.0, ptr %.195, align 1
  %.198 = getelementptr i8, ptr %site.given, i64 32
  store ptr %accesses.0, ptr %.198, align 1
  %.201 = getelementptr i8, ptr %site.given, i64 40
  store i64 %stride.0, ptr %.201, align 1
  br label %after.177

after.177:                                        ; preds = %then.176, %after.157
  %.204 = getelementptr i8, ptr %host.0, i64 %.37.pn.i
  br label %common.ret
}

define range(i32 0, 3) i32 @miss(ptr captures(none) %context.given, ptr readonly captures(none) %cta.given, ptr readonly captures(none) %warp.given, i32 %mask.given, i64 %address.given, i64 %size.given, i64 %log2.given, i32 %space.given, i32 %write.given, ptr captures(address_is_null) %site.given, i32 %code.given) local_unnamed_addr #3 {
entry.1:
  %.4 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %mask.given, i1 false)
  %.17 = tail call ptr @resolve(ptr %context.given, ptr %cta.given, ptr %warp.given, i32 %.4, i64 %address.given, i64 %size.given, i64 %log2.given, i32 %space.given, i32 %write.given, ptr %site.given)
  %.18 = icmp eq ptr %.17, null
  br i1 %.18, label %then.5, label %after.6

common.ret:                                       ; preds = %and.10.i, %no.8.i, %then.5
  %common.ret.op = phi i32 [ 1, %then.5 ], [ 2, %no.8.i ], [ 0, %and.10.i ]
  ret i32 %common.ret.op

then.5:                                           ; preds = %entry.1
  %.5.i5 = getelementptr i8, ptr %context.given, i64 432
  store i32 1, ptr %.5.i5, align 1
  %.9.i = getelementptr i8, ptr %context.given, i64 436
  store i32 %code.given, ptr %.9.i, align 1
  %.13.i = getelementptr i8, ptr %context.given, i64 440
  store i32 %.4, ptr %.13.i, align 1
  %.15.i6 = getelementptr i8, ptr %warp.given, i64 200
  %.16.i7 = load i32, ptr %.15.i6, align 1
  %.19.i8 = getelementptr i8, ptr %context.given, i64 444
  store i32 %.16.i7, ptr %.19.i8, align 1
  %.23.i9 = getelementptr i8, ptr %context.given, i64 448
  store i64 %address.given, ptr %.23.i9, align 1
  br label %common.ret

after.6:                                          ; preds = %entry.1
  %.5.i = load i64, ptr %site.given, align 1
  %.6.i = sub i64 %address.given, %.5.i
  %notmask.i = shl nsw i64 -1, %log2.given
  %.14.i = xor i64 %notmask.i, -1
  %.15.i = and i64 %.6.i, %.14.i
  %.16.i = icmp eq i64 %.15.i, 0
  br i1 %.16.i, label %and.10.i, label %no.8.i

no.8.i:                                           ; preds = %and.10.i, %after.6
  br label %common.ret

and.10.i:                                         ; preds = %after.6
  %.19.i = lshr i64 %.6.i, %log2.given
  %.21.i = getelementptr i8, ptr %site.given, i64 8
  %.22.i = load i64, ptr %.21.i, align 1
  %.23.i = icmp ult i64 %.19.i, %.22.i
  br i1 %.23.i, label %common.ret, label %no.8.i
}

define range(i32 0, 3) i32 @miss.lanes(ptr captures(none) %context.given, ptr readonly captures(none) %cta.given, ptr readonly captures(none) %warp.given, i32 %mask.given, ptr readonly captures(none) %addresses.given, i64 %size.given, i64 %log2.given, i32 %space.given, i32 %write.given, ptr captures(address_is_null) %site.given, i32 %code.given) local_unnamed_addr #3 {
entry.1:
  %.28 = alloca [48 x i8], align 64
  %.4 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %mask.given, i1 false)
  %.11 = zext nneg i32 %.4 to i64
  %.12 = getelementptr i64, ptr %addresses.given, i64 %.11
  %.13 = load i64, ptr %.12, align 1
  %.17.i = tail call ptr @resolve(ptr %context.given, ptr readonly %cta.given, ptr readonly %warp.given, i32 %.4, i64 %.13, i64 %size.given, i64 %log2.given, i32 %space.given, i32 %write.given, ptr %site.given)
  %.18.i = icmp eq ptr %.17.i, null
  br i1 %.18.i, label %then.5.i, label %after.6.i

then.5.i:                                         ; preds = %entry.1
  %.5.i5.i = getelementptr i8, ptr %context.given, i64 432
  store i32 1, ptr %.5.i5.i, align 1
  %.9.i.i = getelementptr i8, ptr %context.given, i64 436
  store i32 %code.given, ptr %.9.i.i, align 1
  %.13.i.i = getelementptr i8, ptr %context.given, i64 440
  store i32 %.4, ptr %.13.i.i, align 1
  %.15.i6.i = getelementptr i8, ptr %warp.given, i64 200
  %.16.i7.i = load i32, ptr %.15.i6.i, align 1
  %.19.i8.i = getelementptr i8, ptr %context.given, i64 444
  store i32 %.16.i7.i, ptr %.19.i8.i, align 1
  %.23.i9.i = getelementptr i8, ptr %context.given, i64 448
  store i64 %.13, ptr %.23.i9.i, align 1
  br label %miss.exit

after.6.i:                                        ; preds = %entry.1
  %.5.i.i = load i64, ptr %site.given, align 1
  %.6.i.i = sub i64 %.13, %.5.i.i
  %notmask.i.i = shl nsw i64 -1, %log2.given
  %.14.i.i = xor i64 %notmask.i.i, -1
  %.15.i.i = and i64 %.6.i.i, %.14.i.i
  %.16.i.i = icmp eq i64 %.15.i.i, 0
  br i1 %.16.i.i, label %and.10.i.i, label %no.8.i.i

no.8.i.i:                                         ; preds = %and.10.i.i, %after.6.i
  br label %miss.exit

and.10.i.i:                                       ; preds = %after.6.i
  %.19.i.i = lshr i64 %.6.i.i, %log2.given
  %.21.i.i = getelementptr i8, ptr %site.given, i64 8
  %.22.i.i = load i64, ptr %.21.i.i, align 1
  %.23.i.i = icmp ult i64 %.19.i.i, %.22.i.i
  br i1 %.23.i.i, label %miss.exit, label %no.8.i.i

miss.exit:                                        ; preds = %then.5.i, %no.8.i.i, %and.10.i.i
  %common.ret.op.i = phi i32 [ 1, %then.5.i ], [ 2, %no.8.i.i ], [ 0, %and.10.i.i ]
  br i1 %.18.i, label %then.21, label %after.22

common.ret:                                       ; preds = %after.38, %then.77, %then.55, %then.21
  %common.ret.op = phi i32 [ 1, %then.21 ], [ 1, %then.55 ], [ 2, %then.77 ], [ %result.0.lcssa, %after.38 ]
  ret i32 %common.ret.op

then.21:                                          ; preds = %miss.exit
  tail call fastcc void @memcheck.note_lanes(ptr %context.given, i32 %mask.given, ptr %addresses.given)
  br label %common.ret

after.22:                                         ; preds = %miss.exit
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 64 dereferenceable(48) %.28, i8 0, i64 48, i1 false)
  %.34 = add i32 %mask.given, -1
  %.35 = and i32 %.34, %mask.given
  %.40.not39 = icmp eq i32 %.35, 0
  br i1 %.40.not39, label %after.38, label %do.37.lr.ph

do.37.lr.ph:                                      ; preds = %after.22
  %notmask.i = shl nsw i64 -1, %log2.given
  %.14.i = xor i64 %notmask.i, -1
  %.21.i = getelementptr i8, ptr %site.given, i64 8
  %.7.i = icmp eq i32 %space.given, 1
  %.21.i.i29 = getelementptr inbounds nuw i8, ptr %.28, i64 8
  %.33.i = getelementptr inbounds nuw i8, ptr %.28, i64 24
  %.46.i = getelementptr i8, ptr %context.given, i64 736
  %.48.i = getelementptr inbounds nuw i8, ptr %.28, i64 16
  br label %do.37

do.37:                                            ; preds = %do.37.lr.ph, %after.50
  %.31.041 = phi i32 [ %.35, %do.37.lr.ph ], [ %.43, %after.50 ]
  %result.040 = phi i32 [ %common.ret.op.i, %do.37.lr.ph ], [ %result.1, %after.50 ]
  %.41 = call range(i32 1, 33) i32 @llvm.cttz.i32(i32 %.31.041, i1 true)
  %.42 = add i32 %.31.041, -1
  %.43 = and i32 %.42, %.31.041
  %.46 = zext nneg i32 %.41 to i64
  %.47 = getelementptr i64, ptr %addresses.given, i64 %.46
  %.48 = load i64, ptr %.47, align 1
  %.5.i = load i64, ptr %site.given, align 1
  %.6.i = sub i64 %.48, %.5.i
  %.15.i = and i64 %.6.i, %.14.i
  %.16.i = icmp eq i64 %.15.i, 0
  br i1 %.16.i, label %and.10.i, label %no.8.i

no.8.i:                                           ; preds = %and.10.i, %do.37
  %.9.i = add i64 %.48, 140183437574144
  %.11.i = select i1 %.7.i, i64 %.9.i, i64 %.48
  %.5.i.i19 = load i64, ptr %.28, align 64
  %.6.i.i20 = sub i64 %.11.i, %.5.i.i19
  %.15.i.i23 = and i64 %.6.i.i20, %.14.i
  %.16.i.i24 = icmp eq i64 %.15.i.i23, 0
  br i1 %.16.i.i24, label %and.10.i.i27, label %no.8.i.i25

and.10.i:                                         ; preds = %do.37
  %.19.i = lshr i64 %.6.i, %log2.given
  %.22.i = load i64, ptr %.21.i, align 1
  %.23.i = icmp ult i64 %.19.i, %.22.i
  br i1 %.23.i, label %after.50, label %no.8.i

after.38:                                         ; preds = %after.50, %after.22
  %result.0.lcssa = phi i32 [ %common.ret.op.i, %after.22 ], [ %result.1, %after.50 ]
  %.80 = getelementptr i8, ptr %site.given, i64 8
  %.81 = load i64, ptr %.80, align 1
  %.83 = shl i64 %.81, %log2.given
  %.84 = icmp ugt i64 %.83, 2147483647
  br i1 %.84, label %then.77, label %common.ret

no.8.i.i25:                                       ; preds = %and.10.i.i27, %no.8.i
  %.28.i = call ptr @resolve(ptr %context.given, ptr readonly %cta.given, ptr readonly %warp.given, i32 range(i32 0, 32) %.41, i64 %.48, i64 %size.given, i64 %log2.given, i32 %space.given, i32 %write.given, ptr nonnull %.28)
  br label %memcheck.found_by.exit

and.10.i.i27:                                     ; preds = %no.8.i
  %.19.i.i28 = lshr i64 %.6.i.i20, %log2.given
  %.22.i.i30 = load i64, ptr %.21.i.i29, align 8
  %.23.i.i31 = icmp ult i64 %.19.i.i28, %.22.i.i30
  br i1 %.23.i.i31, label %after.13.i, label %no.8.i.i25

after.13.i:                                       ; preds = %and.10.i.i27
  %.34.i = load ptr, ptr %.33.i, align 8
  %.35.i = icmp eq ptr %.34.i, null
  %.43.i = getelementptr i8, ptr %.34.i, i64 %.6.i.i20
  %spec.select.i = select i1 %.35.i, ptr null, ptr %.43.i
  store ptr %spec.select.i, ptr %.46.i, align 1
  %.49.i = load ptr, ptr %.48.i, align 16
  %.54.i = getelementptr i8, ptr %.49.i, i64 %.6.i.i20
  br label %memcheck.found_by.exit

memcheck.found_by.exit:                           ; preds = %no.8.i.i25, %after.13.i
  %common.ret.op.i26 = phi ptr [ %.28.i, %no.8.i.i25 ], [ %.54.i, %after.13.i ]
  %.68 = icmp eq ptr %common.ret.op.i26, null
  br i1 %.68, label %then.55, label %after.50

after.50:                                         ; preds = %and.10.i, %memcheck.found_by.exit
  %result.1 = phi i32 [ 2, %memcheck.found_by.exit ], [ %result.040, %and.10.i ]
  %.40.not = icmp eq i32 %.43, 0
  br i1 %.40.not, label %after.38, label %do.37

then.55:                                          ; preds = %memcheck.found_by.exit
  %.5.i32 = getelementptr i8, ptr %context.given, i64 432
  store i32 1, ptr %.5.i32, align 1
  %.9.i33 = getelementptr i8, ptr %context.given, i64 436
  store i32 %code.given, ptr %.9.i33, align 1
  %.13.i = getelementptr i8, ptr %context.given, i64 440
  store i32 %.41, ptr %.13.i, align 1
  %.15.i34 = getelementptr i8, ptr %warp.given, i64 200
  %.16.i35 = load i32, ptr %.15.i34, align 1
  %.19.i36 = getelementptr i8, ptr %context.given, i64 444
  store i32 %.16.i35, ptr %.19.i36, align 1
  %.23.i37 = getelementptr i8, ptr %context.given, i64 448
  store i64 %.48, ptr %.23.i37, align 1
  call fastcc void @memcheck.note_lanes(ptr %context.given, i32 %mask.given, ptr %addresses.given)
  br label %common.ret

then.77:                                          ; preds = %after.38
  store i64 0, ptr %.80, align 1
  br label %common.ret
}

define range(i32 0, 2) i32 @access.lanes(ptr captures(none) %context.given, ptr readonly captures(none) %cta.given, ptr readonly captures(none) %warp.given, i32 %mask.given, ptr readonly captures(none) %addresses.given, i64 %extra.given, ptr captures(none) %data.given, i64 %width.given, i64 %parts.given, i64 %log2.given, i32 %space.given, i32 %write.given, i32 %code.given) local_unnamed_addr #4 {
entry.1:
  %.6 = alloca [96 x i8], align 64
  %.5 = mul i64 %parts.given, %width.given
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 64 dereferenceable(96) %.6, i8 0, i64 96, i1 false)
  %.13.not42 = icmp eq i32 %mask.given, 0
  br i1 %.13.not42, label %common.ret, label %do.10.lr.ph

do.10.lr.ph:                                      ; preds = %entry.1
  %notmask.i = shl nsw i64 -1, %log2.given
  %.14.i21 = xor i64 %notmask.i, -1
  %.7.i = icmp eq i32 %space.given, 1
  %.46.i = getelementptr i8, ptr %context.given, i64 736
  %.6740.not = icmp eq i64 %parts.given, 0
  %.81.not = icmp eq i32 %write.given, 0
  %.102.not = icmp eq i32 %write.given, 0
  %.104 = getelementptr i8, ptr %context.given, i64 736
  br label %do.10

do.10:                                            ; preds = %do.10.lr.ph, %after.99
  %latest.044 = phi i32 [ 0, %do.10.lr.ph ], [ %spec.select, %after.99 ]
  %.7.043 = phi i32 [ %mask.given, %do.10.lr.ph ], [ %.16, %after.99 ]
  %.14 = call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.7.043, i1 true)
  %.15 = add i32 %.7.043, -1
  %.16 = and i32 %.15, %.7.043
  %.19 = zext nneg i32 %.14 to i64
  %.20 = getelementptr i64, ptr %addresses.given, i64 %.19
  %.21 = load i64, ptr %.20, align 1
  %.23 = add i64 %.21, %extra.given
  %.28 = zext nneg i32 %latest.044 to i64
  %.29 = mul nuw nsw i64 %.28, 48
  %.30 = getelementptr i8, ptr %.6, i64 %.29
  %.5.i = load i64, ptr %.30, align 16
  %.6.i = sub i64 %.23, %.5.i
  %.15.i = and i64 %.6.i, %.14.i21
  %.16.i = icmp eq i64 %.15.i, 0
  br i1 %.16.i, label %and.10.i, label %no.8.i

no.8.i:                                           ; preds = %and.10.i, %do.10
  br label %memcheck.known.exit

and.10.i:                                         ; preds = %do.10
  %.19.i = lshr i64 %.6.i, %log2.given
  %.21.i = getelementptr i8, ptr %.30, i64 8
  %.22.i = load i64, ptr %.21.i, align 8
  %.23.i = icmp ult i64 %.19.i, %.22.i
  br i1 %.23.i, label %memcheck.known.exit, label %no.8.i

memcheck.known.exit:                              ; preds = %no.8.i, %and.10.i
  %not..24.i = phi i1 [ true, %no.8.i ], [ false, %and.10.i ]
  %.35 = zext i1 %not..24.i to i32
  %spec.select = xor i32 %latest.044, %.35
  %.38 = zext nneg i32 %spec.select to i64
  %.39 = mul nuw nsw i64 %.38, 48
  %.40 = getelementptr i8, ptr %.6, i64 %.39
  %.9.i = add i64 %.23, 140183437574144
  %.11.i = select i1 %.7.i, i64 %.9.i, i64 %.23
  %.5.i.i = load i64, ptr %.40, align 16
  %.6.i.i = sub i64 %.11.i, %.5.i.i
  %.15.i.i = and i64 %.6.i.i, %.14.i21
  %.16.i.i = icmp eq i64 %.15.i.i, 0
  br i1 %.16.i.i, label %and.10.i.i, label %no.8.i.i

no.8.i.i:                                         ; preds = %and.10.i.i, %memcheck.known.exit
  %.28.i = call ptr @resolve(ptr %context.given, ptr readonly %cta.given, ptr readonly %warp.given, i32 range(i32 0, 32) %.14, i64 %.23, i64 %.5, i64 %log2.given, i32 %space.given, i32 %write.given, ptr nonnull %.40)
  br label %memcheck.found_by.exit

and.10.i.i:                                       ; preds = %memcheck.known.exit
  %.19.i.i = lshr i64 %.6.i.i, %log2.given
  %.21.i.i = getelementptr i8, ptr %.40, i64 8
  %.22.i.i = load i64, ptr %.21.i.i, align 8
  %.23.i.i = icmp ult i64 %.19.i.i, %.22.i.i
  br i1 %.23.i.i, label %after.13.i, label %no.8.i.i

after.13.i:                                       ; preds = %and.10.i.i
  %.33.i = getelementptr i8, ptr %.40, i64 24
  %.34.i = load ptr, ptr %.33.i, align 8
  %.35.i32 = icmp eq ptr %.34.i, null
  %.43.i = getelementptr i8, ptr %.34.i, i64 %.6.i.i
  %spec.select.i = select i1 %.35.i32, ptr null, ptr %.43.i
  store ptr %spec.select.i, ptr %.46.i, align 1
  %.48.i = getelementptr i8, ptr %.40, i64 16
  %.49.i = load ptr, ptr %.48.i, align 16
  %.54.i = getelementptr i8, ptr %.49.i, i64 %.6.i.i
  br label %memcheck.found_by.exit

memcheck.found_by.exit:                           ; preds = %no.8.i.i, %after.13.i
  %common.ret.op.i = phi ptr [ %.28.i, %no.8.i.i ], [ %.54.i, %after.13.i ]
  %.54 = icmp eq ptr %common.ret.op.i, null
  br i1 %.54, label %then.51, label %for.62.preheader

for.62.preheader:                                 ; preds = %memcheck.found_by.exit
  br i1 %.6740.not, label %after.65, label %do.63

common.ret:                                       ; preds = %after.99, %entry.1, %then.51
  %common.ret.op = phi i32 [ 1, %then.51 ], [ 0, %entry.1 ], [ 0, %after.99 ]
  ret i32 %common.ret.op

then.51:                                          ; preds = %memcheck.found_by.exit
  %.5.i33 = getelementptr i8, ptr %context.given, i64 432
  store i32 1, ptr %.5.i33, align 1
  %.9.i34 = getelementptr i8, ptr %context.given, i64 436
  store i32 %code.given, ptr %.9.i34, align 1
  %.13.i35 = getelementptr i8, ptr %context.given, i64 440
  store i32 %.14, ptr %.13.i35, align 1
  %.15.i36 = getelementptr i8, ptr %warp.given, i64 200
  %.16.i37 = load i32, ptr %.15.i36, align 1
  %.19.i38 = getelementptr i8, ptr %context.given, i64 444
  store i32 %.16.i37, ptr %.19.i38, align 1
  %.23.i39 = getelementptr i8, ptr %context.given, i64 448
  store i64 %.23, ptr %.23.i39, align 1
  br label %common.ret

do.63:                                            ; preds = %for.62.preheader, %after.79
  %.61.041 = phi i64 [ %.97, %after.79 ], [ 0, %for.62.preheader ]
  %.70 = shl i64 %.61.041, 5
  %.73 = or disjoint i64 %.70, %.19
  %.75 = mul i64 %.73, %width.given
  %.76 = getelementptr i8, ptr %data.given, i64 %.75
  %.93 = mul i64 %.61.041, %width.given
  %.94 = getelementptr i8, ptr %common.ret.op.i, i64 %.93
  br i1 %.81.not, label %else.78, label %then.77

after.65:                                         ; preds = %after.79, %for.62.preheader
  br i1 %.102.not, label %after.99, label %and.100

then.77:                                          ; preds = %do.63
  switch i64 %width.given, label %else.24.i [
    i64 8, label %then.3.i22
    i64 4, label %then.13.i
    i64 2, label %then.23.i
  ]

then.3.i22:                                       ; preds = %then.77
  %.10.i = load i64, ptr %.76, align 1
  store i64 %.10.i, ptr %.94, align 1
  br label %after.79

then.13.i:                                        ; preds = %then.77
  %.20.i = load i32, ptr %.76, align 1
  store i32 %.20.i, ptr %.94, align 1
  br label %after.79

then.23.i:                                        ; preds = %then.77
  %.30.i = load i16, ptr %.76, align 1
  store i16 %.30.i, ptr %.94, align 1
  br label %after.79

else.24.i:                                        ; preds = %then.77
  %.35.i = load i8, ptr %.76, align 1
  store i8 %.35.i, ptr %.94, align 1
  br label %after.79

else.78:                                          ; preds = %do.63
  switch i64 %width.given, label %else.24.i29 [
    i64 8, label %then.3.i27
    i64 4, label %then.13.i25
    i64 2, label %then.23.i23
  ]

then.3.i27:                                       ; preds = %else.78
  %.10.i28 = load i64, ptr %.94, align 1
  store i64 %.10.i28, ptr %.76, align 1
  br label %after.79

then.13.i25:                                      ; preds = %else.78
  %.20.i26 = load i32, ptr %.94, align 1
  store i32 %.20.i26, ptr %.76, align 1
  br label %after.79

then.23.i23:                                      ; preds = %else.78
  %.30.i24 = load i16, ptr %.94, align 1
  store i16 %.30.i24, ptr %.76, align 1
  br label %after.79

else.24.i29:                                      ; preds = %else.78
  %.35.i30 = load i8, ptr %.94, align 1
  store i8 %.35.i30, ptr %.76, align 1
  br label %after.79

after.79:                                         ; preds = %else.24.i29, %then.23.i23, %then.13.i25, %then.3.i27, %else.24.i, %then.23.i, %then.13.i, %then.3.i22
  %.97 = add nuw i64 %.61.041, 1
  %.67 = icmp ult i64 %.97, %parts.given
  br i1 %.67, label %do.63, label %after.65

then.98:                                          ; preds = %and.100
  %.8.i = load i8, ptr %.105, align 1
  %.9.not.i = icmp eq i8 %.8.i, 85
  br i1 %.9.not.i, label %after.99, label %and.5.i

then.3.i:                                         ; preds = %and.5.i
  call void @llvm.memset.p0.i64(ptr nonnull align 1 %.105, i8 -1, i64 %.5, i1 false)
  br label %after.99

and.5.i:                                          ; preds = %then.98
  %0 = getelementptr i8, ptr %.105, i64 %.5
  %.13.i = getelementptr i8, ptr %0, i64 -1
  %.14.i = load i8, ptr %.13.i, align 1
  %.15.not.i = icmp eq i8 %.14.i, 85
  br i1 %.15.not.i, label %after.99, label %then.3.i

after.99:                                         ; preds = %and.5.i, %then.3.i, %then.98, %and.100, %after.65
  %.13.not = icmp eq i32 %.16, 0
  br i1 %.13.not, label %common.ret, label %do.10

and.100:                                          ; preds = %after.65
  %.105 = load ptr, ptr %.104, align 1
  %.106.not = icmp eq ptr %.105, null
  br i1 %.106.not, label %after.99, label %then.98
}

define void @mark.lanes(ptr captures(none) %written.given, ptr readonly captures(none) %offsets.given, i64 %extra.given, i32 %mask.given, i64 %size.given) local_unnamed_addr #5 {
entry.1:
  %.9.not1 = icmp eq i32 %mask.given, 0
  br i1 %.9.not1, label %after.7, label %do.6.lr.ph

do.6.lr.ph:                                       ; preds = %entry.1
  %0 = getelementptr i8, ptr %written.given, i64 %extra.given
  br label %do.6

do.6:                                             ; preds = %do.6.lr.ph, %memcheck.mark.exit
  %.3.02 = phi i32 [ %mask.given, %do.6.lr.ph ], [ %.12, %memcheck.mark.exit ]
  %.10 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.3.02, i1 true)
  %.11 = add i32 %.3.02, -1
  %.12 = and i32 %.11, %.3.02
  %.17 = zext nneg i32 %.10 to i64
  %.18 = getelementptr i32, ptr %offsets.given, i64 %.17
  %.19 = load i32, ptr %.18, align 1
  %.20 = zext i32 %.19 to i64
  %.22 = getelementptr i8, ptr %0, i64 %.20
  %.8.i = load i8, ptr %.22, align 1
  %.9.not.i = icmp eq i8 %.8.i, 85
  br i1 %.9.not.i, label %memcheck.mark.exit, label %and.5.i

then.3.i:                                         ; preds = %and.5.i
  tail call void @llvm.memset.p0.i64(ptr nonnull align 1 %.22, i8 -1, i64 %size.given, i1 false)
  br label %memcheck.mark.exit

and.5.i:                                          ; preds = %do.6
  %1 = getelementptr i8, ptr %.22, i64 %size.given
  %.13.i = getelementptr i8, ptr %1, i64 -1
  %.14.i = load i8, ptr %.13.i, align 1
  %.15.not.i = icmp eq i8 %.14.i, 85
  br i1 %.15.not.i, label %memcheck.mark.exit, label %then.3.i

memcheck.mark.exit:                               ; preds = %do.6, %then.3.i, %and.5.i
  %.9.not = icmp eq i32 %.12, 0
  br i1 %.9.not, label %after.7, label %do.6

after.7:                                          ; preds = %memcheck.mark.exit, %entry.1
  ret void
}

define void @forget(ptr readonly captures(none) %context.given) local_unnamed_addr #6 {
entry.1:
  %.4 = getelementptr i8, ptr %context.given, i64 88
  %.5 = load i64, ptr %.4, align 1
  %.122.not = icmp eq i64 %.5, 0
  br i1 %.122.not, label %after.10, label %do.8.lr.ph

do.8.lr.ph:                                       ; preds = %entry.1
  %.14 = getelementptr i8, ptr %context.given, i64 80
  br label %do.8

do.8:                                             ; preds = %do.8.lr.ph, %do.8
  %.6.03 = phi i64 [ 0, %do.8.lr.ph ], [ %.21, %do.8 ]
  %.15 = load ptr, ptr %.14, align 1
  %.17 = mul i64 %.6.03, 48
  %.18 = getelementptr i8, ptr %.15, i64 %.17
  %.19 = getelementptr i8, ptr %.18, i64 8
  store i64 0, ptr %.19, align 1
  %.21 = add nuw i64 %.6.03, 1
  %.12 = icmp ult i64 %.21, %.5
  br i1 %.12, label %do.8, label %after.10

after.10:                                         ; preds = %do.8, %entry.1
  ret void
}

define internal fastcc void @memcheck.note_lanes(ptr writeonly captures(none) initializes((472, 476)) %context.given, i32 %mask.given, ptr readonly captures(none) %addresses.given) unnamed_addr #7 {
entry.1:
  %.6 = getelementptr i8, ptr %context.given, i64 472
  store i32 %mask.given, ptr %.6, align 1
  %.13.not3 = icmp eq i32 %mask.given, 0
  br i1 %.13.not3, label %after.11, label %do.10.lr.ph

do.10.lr.ph:                                      ; preds = %entry.1
  %.24 = getelementptr i8, ptr %context.given, i64 480
  br label %do.10

do.10:                                            ; preds = %do.10.lr.ph, %do.10
  %.7.04 = phi i32 [ %mask.given, %do.10.lr.ph ], [ %.16, %do.10 ]
  %.14 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.7.04, i1 true)
  %.15 = add i32 %.7.04, -1
  %.16 = and i32 %.15, %.7.04
  %.19 = zext nneg i32 %.14 to i64
  %.20 = getelementptr i64, ptr %addresses.given, i64 %.19
  %.21 = load i64, ptr %.20, align 1
  %.27 = getelementptr i64, ptr %.24, i64 %.19
  store i64 %.21, ptr %.27, align 1
  %.13.not = icmp eq i32 %.16, 0
  br i1 %.13.not, label %after.11, label %do.10

after.11:                                         ; preds = %do.10, %entry.1
  ret void
}

attributes #0 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #1 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #2 = { mustprogress nofree norecurse nosync nounwind willreturn memory(argmem: readwrite) }
attributes #3 = { nofree norecurse nosync nounwind memory(read, argmem: readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none) }
attributes #4 = { nofree norecurse nosync nounwind memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none) }
attributes #5 = { nofree norecurse nosync nounwind memory(argmem: readwrite) }
attributes #6 = { nofree norecurse nosync nounwind memory(write, argmem: readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none) }
attributes #7 = { cold nofree noinline norecurse nosync nounwind memory(argmem: readwrite) }
