; [["bulk_instructions.issue_lanes", "bulk_instructions.finish_groups"], [], "0.50"]
; jit/translation/__init__.py jit/translation/conversions.py jit/translation/distinct_values.py jit/translation/expressions.py jit/translation/folding.py jit/translation/intrinsics.py jit/translation/ir.py jit/translation/rule_calls.py jit/translation/translator.py jit/translation/value_kinds.py language/__init__.py language/records.py language/rules.py language/types.py language/vectors.py rules/bulk_copies.py rules/bulk_instructions.py rules/mbarrier_words.py rules/memcheck.py rules/tensor_maps.py runtime/state.py
; 528aeabb79bf253896a4bcce35aa12e3cc12100838cf235088ba5762cb8a3766 c75cb6da2f9cc2593fabb426c65d8142b263bd9f697d9ed0eb5033449dd5d8e6
source_filename = "<string>"

declare i32 @llvm.cttz.i32(i32, i1 immarg) #0

declare void @llvm.memcpy.p0.p0.i64(ptr noalias writeonly captures(none), ptr noalias readonly captures(none), i64, i1 immarg) #1

declare void @llvm.memset.p0.i64(ptr writeonly captures(none), i8, i64, i1 immarg) #2

declare i32 @llvm.ctpop.i32(i32) #3

define noundef i1 @bulk_instructions.issue_lanes(ptr %context.given, ptr %cta.given, ptr %warp.given, i32 %mask.given, ptr readonly captures(none) %data.given, ptr readonly captures(none) %more.given, i32 %kind.given, i32 %grouped.given, i32 %multicast.given, i32 %source_space.given, i32 %operation.given, i32 %type.given, i64 %count.given, i32 %code.given) local_unnamed_addr #4 {
entry.1:
  %.28 = alloca [312 x i8], align 64
  %.6 = getelementptr i8, ptr %cta.given, i64 72
  %.7 = load ptr, ptr %.6, align 1
  %.8 = getelementptr i8, ptr %.7, i64 24
  %.9 = load ptr, ptr %.8, align 1
  %.10 = icmp eq ptr %.9, null
  %.24.not93 = icmp eq i32 %mask.given, 0
  %or.cond97 = select i1 %.10, i1 true, i1 %.24.not93
  br i1 %or.cond97, label %common.ret, label %do.21.lr.ph

do.21.lr.ph:                                      ; preds = %entry.1
  %.35 = getelementptr inbounds nuw i8, ptr %.28, i64 4
  %.37 = getelementptr i8, ptr %warp.given, i64 200
  %.43 = getelementptr inbounds nuw i8, ptr %.28, i64 8
  %.45 = getelementptr i8, ptr %cta.given, i64 80
  %.48 = getelementptr inbounds nuw i8, ptr %.28, i64 12
  %.51 = getelementptr inbounds nuw i8, ptr %.28, i64 80
  %.54 = getelementptr inbounds nuw i8, ptr %.28, i64 84
  %.57 = getelementptr inbounds nuw i8, ptr %.28, i64 24
  %.60 = getelementptr inbounds nuw i8, ptr %.28, i64 100
  %.62 = getelementptr inbounds nuw i8, ptr %.28, i64 104
  %.64 = getelementptr inbounds nuw i8, ptr %.28, i64 112
  %.69.not = icmp eq i32 %multicast.given, 0
  %.83 = icmp ugt i32 %kind.given, 2
  %.25.i = getelementptr i8, ptr %context.given, i64 252
  %.30.i = icmp ne i32 %source_space.given, 0
  %.34.i = icmp eq i32 %grouped.given, 0
  %.47.i = icmp eq i32 %kind.given, 2
  %.130.i = icmp ne i32 %source_space.given, 0
  %cond = icmp eq i32 %grouped.given, 0
  %or.cond35 = select i1 %.130.i, i1 %cond, i1 false
  %.137.i = getelementptr inbounds nuw i8, ptr %.28, i64 136
  %.143.not.i = icmp eq i32 %grouped.given, 0
  %.166.i = getelementptr inbounds nuw i8, ptr %.28, i64 32
  %.168.i = getelementptr i8, ptr %context.given, i64 736
  %.171.i = getelementptr inbounds nuw i8, ptr %.28, i64 48
  %.206.i = getelementptr inbounds nuw i8, ptr %.28, i64 40
  %.51.i = icmp eq i32 %source_space.given, 5
  %.63.i = getelementptr inbounds nuw i8, ptr %.28, i64 120
  %.73.i = getelementptr inbounds nuw i8, ptr %.28, i64 128
  %.80.i = icmp eq i64 %count.given, 16
  %.87.i = icmp eq i64 %count.given, 8
  %..i = select i1 %.87.i, i64 3, i64 2
  %.89.i = select i1 %.80.i, i64 4, i64 %..i
  %.101 = getelementptr inbounds nuw i8, ptr %.28, i64 152
  %.124 = getelementptr inbounds nuw i8, ptr %.28, i64 172
  %.66.i = getelementptr inbounds nuw i8, ptr %.28, i64 184
  %.22.i44.i = getelementptr inbounds nuw i8, ptr %.28, i64 248
  %.27.i.i = getelementptr inbounds nuw i8, ptr %.28, i64 256
  %.30.i.i = getelementptr inbounds nuw i8, ptr %.28, i64 264
  %.34.i.i = getelementptr inbounds nuw i8, ptr %.28, i64 272
  %.60.i.i = getelementptr inbounds nuw i8, ptr %.28, i64 192
  %.101.i = getelementptr inbounds nuw i8, ptr %.28, i64 152
  %.165.i = getelementptr inbounds nuw i8, ptr %.28, i64 172
  %.173.i = getelementptr inbounds nuw i8, ptr %.28, i64 136
  %.217.i = getelementptr inbounds nuw i8, ptr %.28, i64 40
  %.220.i = getelementptr inbounds nuw i8, ptr %.28, i64 32
  %.222.i = getelementptr i8, ptr %context.given, i64 736
  %.225.i = getelementptr inbounds nuw i8, ptr %.28, i64 48
  %.232.i = getelementptr inbounds nuw i8, ptr %.28, i64 144
  %.10.i67.i = getelementptr inbounds nuw i8, ptr %.28, i64 272
  %.6.i.i2.i.i = getelementptr inbounds nuw i8, ptr %.28, i64 232
  br label %do.21

common.ret.sink.split:                            ; preds = %then.191.i, %then.151.i, %then.110.i, %then.21.i, %then.140.i, %then.122.i, %then.192.i, %then.103.i, %then.84.i, %then.69.critedge.i, %then.50.i
  %.sink172 = phi i64 [ 128, %then.50.i ], [ 2, %then.69.critedge.i ], [ 3, %then.84.i ], [ 4, %then.103.i ], [ %.169.i22, %then.192.i ], [ 6, %then.122.i ], [ 5, %then.140.i ], [ 7, %then.21.i ], [ 1, %then.110.i ], [ %.106.i, %then.151.i ], [ %.106.i, %then.191.i ]
  %.sink = phi i64 [ 64, %then.50.i ], [ 0, %then.69.critedge.i ], [ 0, %then.84.i ], [ 0, %then.103.i ], [ 1, %then.192.i ], [ 0, %then.122.i ], [ 0, %then.140.i ], [ 0, %then.21.i ], [ 0, %then.110.i ], [ 16, %then.151.i ], [ 16, %then.191.i ]
  %.12.i39.i = getelementptr i8, ptr %context.given, i64 456
  store i64 %.sink172, ptr %.12.i39.i, align 1
  %.16.i.i34 = getelementptr i8, ptr %context.given, i64 464
  store i64 %.sink, ptr %.16.i.i34, align 1
  br label %common.ret

common.ret:                                       ; preds = %after.81, %tensor_maps.row_bytes.exit.i, %bulk_instructions.issue_bytes.exit, %common.ret.sink.split, %entry.1
  %common.ret.op = phi i1 [ true, %common.ret.sink.split ], [ false, %entry.1 ], [ true, %tensor_maps.row_bytes.exit.i ], [ false, %after.81 ], [ true, %bulk_instructions.issue_bytes.exit ]
  ret i1 %common.ret.op

do.21:                                            ; preds = %do.21.lr.ph, %after.81
  %.18.094 = phi i32 [ %mask.given, %do.21.lr.ph ], [ %.27, %after.81 ]
  %.25 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.18.094, i1 true)
  %.26 = add i32 %.18.094, -1
  %.27 = and i32 %.26, %.18.094
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 64 dereferenceable(312) %.28, i8 0, i64 312, i1 false)
  store i32 %kind.given, ptr %.28, align 64
  store i32 %code.given, ptr %.35, align 4
  %.38 = load i32, ptr %.37, align 1
  %.39 = shl i32 %.38, 5
  %.41 = or disjoint i32 %.39, %.25
  store i32 %.41, ptr %.43, align 8
  %.46 = load i32, ptr %.45, align 1
  store i32 %.46, ptr %.48, align 4
  store i32 %operation.given, ptr %.51, align 16
  store i32 %type.given, ptr %.54, align 4
  store i64 %count.given, ptr %.57, align 8
  store i32 %grouped.given, ptr %.60, align 4
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(16) %.62, i8 0, i64 16, i1 false)
  br i1 %.69.not, label %chosen.67, label %yes.65

yes.65:                                           ; preds = %do.21
  %0 = zext nneg i32 %.25 to i64
  %1 = getelementptr i64, ptr %data.given, i64 %0
  %.74 = getelementptr i8, ptr %1, i64 1024
  %.75 = load i64, ptr %.74, align 1
  %.76 = and i64 %.75, 65535
  %.77 = or disjoint i64 %.76, 65536
  br label %chosen.67

chosen.67:                                        ; preds = %do.21, %yes.65
  %.78 = phi i64 [ %.77, %yes.65 ], [ 0, %do.21 ]
  %.95 = zext nneg i32 %.25 to i64
  br i1 %.83, label %for.85.preheader, label %else.80

for.85.preheader:                                 ; preds = %chosen.67
  %invariant.gep = getelementptr i64, ptr %more.given, i64 %.95
  br label %do.86

else.80:                                          ; preds = %chosen.67
  %.7.i = getelementptr i64, ptr %data.given, i64 %.95
  %.8.i = load i64, ptr %.7.i, align 1
  %.13.i = getelementptr i8, ptr %.7.i, i64 256
  %.14.i = load i64, ptr %.13.i, align 1
  %.19.i = getelementptr i8, ptr %.7.i, i64 768
  %.20.i = load i64, ptr %.19.i, align 1
  %.26.i = load i32, ptr %.25.i, align 1
  %.27.i = icmp eq i32 %.26.i, 0
  %or.cond.i = select i1 %.27.i, i1 %.30.i, i1 false
  %or.cond = select i1 %or.cond.i, i1 %.34.i, i1 false
  br i1 %or.cond, label %then.21.i, label %after.22.i

then.21.i:                                        ; preds = %else.80
  tail call void @record(ptr %context.given, ptr %warp.given, i32 12, i32 %code.given, i32 range(i32 0, 32) %.25, i64 %.8.i) #4
  br label %common.ret.sink.split

after.22.i:                                       ; preds = %else.80
  br i1 %.47.i, label %then.43.i, label %after.44.i

then.43.i:                                        ; preds = %after.22.i
  br i1 %.51.i, label %then.48.i, label %after.49.i

after.44.i:                                       ; preds = %after.22.i
  %.105.i = getelementptr i8, ptr %.7.i, i64 512
  %.106.i = load i64, ptr %.105.i, align 1
  store i64 %.106.i, ptr %.57, align 8
  %.114.i = icmp ne i64 %.106.i, 0
  %.116.i = and i64 %.106.i, 15
  %.117.not.i = icmp eq i64 %.116.i, 0
  %or.cond40.i = and i1 %.114.i, %.117.not.i
  br i1 %or.cond40.i, label %after.111.i, label %then.110.i

then.48.i:                                        ; preds = %then.43.i
  %.10.i48.i = add i64 %.8.i, -140183437574144
  %.11.i49.i = icmp ult i64 %.10.i48.i, 524288
  br i1 %.11.i49.i, label %memcheck.space_of.exit63.i, label %after.8.i50.i

after.8.i50.i:                                    ; preds = %then.48.i
  %.20.i51.i = icmp ult i64 %.10.i48.i, 16777216
  br i1 %.20.i51.i, label %memcheck.space_of.exit63.i, label %after.17.i52.i

after.17.i52.i:                                   ; preds = %after.8.i50.i
  %.28.i53.i = add i64 %.8.i, -140179142606848
  %.29.i54.i = icmp ult i64 %.28.i53.i, 16777216
  br i1 %.29.i54.i, label %memcheck.space_of.exit63.i, label %after.26.i55.i

after.26.i55.i:                                   ; preds = %after.17.i52.i
  %.37.i56.i = add i64 %.8.i, -140174847639552
  %.38.i57.i = icmp ult i64 %.37.i56.i, 16777216
  %.37.address.given.i59.i = select i1 %.38.i57.i, i64 %.37.i56.i, i64 %.8.i
  %2 = select i1 %.38.i57.i, i32 3, i32 0
  br label %memcheck.space_of.exit63.i

memcheck.space_of.exit63.i:                       ; preds = %after.26.i55.i, %after.17.i52.i, %after.8.i50.i, %then.48.i
  %.pn.i60.i = phi i32 [ 2, %after.17.i52.i ], [ 1, %then.48.i ], [ 6, %after.8.i50.i ], [ %2, %after.26.i55.i ]
  %.10.pn.i61.i = phi i64 [ %.28.i53.i, %after.17.i52.i ], [ %.10.i48.i, %then.48.i ], [ %.10.i48.i, %after.8.i50.i ], [ %.37.address.given.i59.i, %after.26.i55.i ]
  %.12.i.i = icmp eq i32 %.pn.i60.i, 1
  %.14.i.i = icmp eq i32 %.pn.i60.i, 6
  %or.cond.i.i = or i1 %.12.i.i, %.14.i.i
  %.17.i.i = select i1 %or.cond.i.i, i64 %.10.pn.i61.i, i64 %.8.i
  %.10.i.i = add i64 %.20.i, -140183437574144
  %.11.i.i = icmp ult i64 %.10.i.i, 524288
  br i1 %.11.i.i, label %memcheck.space_of.exit.i, label %after.8.i.i

after.8.i.i:                                      ; preds = %memcheck.space_of.exit63.i
  %.20.i.i = icmp ult i64 %.10.i.i, 16777216
  br i1 %.20.i.i, label %memcheck.space_of.exit.i, label %after.17.i.i

after.17.i.i:                                     ; preds = %after.8.i.i
  %.28.i.i = add i64 %.20.i, -140179142606848
  %.29.i.i = icmp ult i64 %.28.i.i, 16777216
  br i1 %.29.i.i, label %memcheck.space_of.exit.i, label %after.26.i.i

after.26.i.i:                                     ; preds = %after.17.i.i
  %.37.i.i = add i64 %.20.i, -140174847639552
  %.38.i.i = icmp ult i64 %.37.i.i, 16777216
  %.37.address.given.i.i = select i1 %.38.i.i, i64 %.37.i.i, i64 %.20.i
  %3 = select i1 %.38.i.i, i32 3, i32 0
  br label %memcheck.space_of.exit.i

memcheck.space_of.exit.i:                         ; preds = %after.26.i.i, %after.17.i.i, %after.8.i.i, %memcheck.space_of.exit63.i
  %.pn.i.i = phi i32 [ 2, %after.17.i.i ], [ 1, %memcheck.space_of.exit63.i ], [ 6, %after.8.i.i ], [ %3, %after.26.i.i ]
  %.10.pn.i.i = phi i64 [ %.28.i.i, %after.17.i.i ], [ %.10.i.i, %memcheck.space_of.exit63.i ], [ %.10.i.i, %after.8.i.i ], [ %.37.address.given.i.i, %after.26.i.i ]
  %.12.i44.i = icmp eq i32 %.pn.i.i, 1
  %.14.i45.i = icmp eq i32 %.pn.i.i, 6
  %or.cond.i46.i = or i1 %.12.i44.i, %.14.i45.i
  %.17.i47.i = select i1 %or.cond.i46.i, i64 %.10.pn.i.i, i64 %.20.i
  br label %after.49.i

after.49.i:                                       ; preds = %memcheck.space_of.exit.i, %then.43.i
  %barrier.0.i = phi i64 [ %.17.i47.i, %memcheck.space_of.exit.i ], [ %.20.i, %then.43.i ]
  %to.0.i = phi i64 [ %.17.i.i, %memcheck.space_of.exit.i ], [ %.8.i, %then.43.i ]
  %.60.i = getelementptr i8, ptr %.7.i, i64 1280
  %.61.i = load i64, ptr %.60.i, align 1
  store i64 %.61.i, ptr %.63.i, align 8
  %.69.i = getelementptr i8, ptr %.7.i, i64 1536
  %.70.i = load i64, ptr %.69.i, align 1
  store i64 %.70.i, ptr %.73.i, align 64
  %.100.i = call fastcc i1 @bulk_instructions.send(ptr %context.given, ptr %cta.given, ptr %warp.given, ptr nonnull %.9, i32 range(i32 0, 32) %.25, ptr nonnull %.28, i64 %to.0.i, i64 %.89.i, i64 %barrier.0.i, i64 range(i64 0, 131072) %.78)
  br label %bulk_instructions.issue_bytes.exit

then.110.i:                                       ; preds = %after.44.i
  tail call void @record(ptr %context.given, ptr %warp.given, i32 12, i32 %code.given, i32 range(i32 0, 32) %.25, i64 %.106.i) #4
  br label %common.ret.sink.split

after.111.i:                                      ; preds = %after.44.i
  br i1 %or.cond35, label %after.139.i, label %then.126.i

then.126.i:                                       ; preds = %after.111.i
  store i64 %.106.i, ptr %.137.i, align 8
  br i1 %.143.not.i, label %after.139.i, label %then.138.i

then.138.i:                                       ; preds = %then.126.i
  %.150.i = tail call ptr @resolve(ptr %context.given, ptr %cta.given, ptr %warp.given, i32 range(i32 0, 32) %.25, i64 %.8.i, i64 %.106.i, i64 4, i32 0, i32 1, ptr null) #4
  %.154.i = icmp eq ptr %.150.i, null
  br i1 %.154.i, label %then.151.i, label %after.152.i

after.139.i:                                      ; preds = %after.111.i, %then.126.i
  %.190.i = tail call ptr @resolve(ptr %context.given, ptr %cta.given, ptr %warp.given, i32 range(i32 0, 32) %.25, i64 %.14.i, i64 %.106.i, i64 4, i32 %source_space.given, i32 0, ptr null) #4
  %.194.i = icmp eq ptr %.190.i, null
  br i1 %.194.i, label %then.191.i, label %after.192.i

then.151.i:                                       ; preds = %then.138.i
  %.35.le92 = getelementptr inbounds nuw i8, ptr %.28, i64 4
  %.159.i = load i32, ptr %.35.le92, align 4
  tail call void @record(ptr %context.given, ptr %warp.given, i32 10, i32 %.159.i, i32 range(i32 0, 32) %.25, i64 %.8.i) #4
  br label %common.ret.sink.split

after.152.i:                                      ; preds = %then.138.i
  store ptr %.150.i, ptr %.166.i, align 32
  %.169.i = load ptr, ptr %.168.i, align 1
  store ptr %.169.i, ptr %.171.i, align 16
  store i64 %.8.i, ptr %.64, align 16
  %.182.i = call fastcc i1 @bulk_instructions.send(ptr %context.given, ptr %cta.given, ptr %warp.given, ptr nonnull %.9, i32 range(i32 0, 32) %.25, ptr nonnull %.28, i64 %.14.i, i64 4, i64 0, i64 0)
  br label %bulk_instructions.issue_bytes.exit

then.191.i:                                       ; preds = %after.139.i
  %.35.le91 = getelementptr inbounds nuw i8, ptr %.28, i64 4
  %.199.i = load i32, ptr %.35.le91, align 4
  tail call void @record(ptr %context.given, ptr %warp.given, i32 9, i32 %.199.i, i32 range(i32 0, 32) %.25, i64 %.14.i) #4
  br label %common.ret.sink.split

after.192.i:                                      ; preds = %after.139.i
  store ptr %.190.i, ptr %.206.i, align 8
  br i1 %.130.i, label %else.208.i, label %then.207.i

then.207.i:                                       ; preds = %after.192.i
  store i64 %.14.i, ptr %.64, align 16
  br label %after.209.i

else.208.i:                                       ; preds = %after.192.i
  %.216.i = and i64 %.14.i, 524287
  store i64 %.216.i, ptr %.62, align 8
  br label %after.209.i

after.209.i:                                      ; preds = %else.208.i, %then.207.i
  %.228.i = call fastcc i1 @bulk_instructions.send(ptr %context.given, ptr %cta.given, ptr %warp.given, ptr nonnull %.9, i32 range(i32 0, 32) %.25, ptr nonnull %.28, i64 %.8.i, i64 4, i64 %.20.i, i64 range(i64 0, 131072) %.78)
  br label %bulk_instructions.issue_bytes.exit

bulk_instructions.issue_bytes.exit:               ; preds = %after.49.i, %after.152.i, %after.209.i
  %common.ret.op.i = phi i1 [ %.228.i, %after.209.i ], [ %.100.i, %after.49.i ], [ %.182.i, %after.152.i ]
  br i1 %common.ret.op.i, label %common.ret, label %after.81

after.81:                                         ; preds = %after.104.i, %bulk_instructions.issue_bytes.exit, %tensor_maps.row_bytes.exit.i
  %.24.not = icmp eq i32 %.27, 0
  br i1 %.24.not, label %common.ret, label %do.21

for.107.preheader:                                ; preds = %do.86
  %.118 = zext nneg i32 %.25 to i64
  br label %do.108

do.86:                                            ; preds = %for.85.preheader, %do.86
  %.84.083 = phi i64 [ 0, %for.85.preheader ], [ %.105, %do.86 ]
  %.idx13 = shl nuw nsw i64 %.84.083, 8
  %gep = getelementptr i8, ptr %invariant.gep, i64 %.idx13
  %.98 = load i64, ptr %gep, align 1
  %.99 = trunc i64 %.98 to i32
  %.103 = getelementptr i32, ptr %.101, i64 %.84.083
  store i32 %.99, ptr %.103, align 4
  %.105 = add nuw nsw i64 %.84.083, 1
  %.90 = icmp samesign ult i64 %.84.083, 4
  br i1 %.90, label %do.86, label %for.107.preheader

do.108:                                           ; preds = %for.107.preheader, %do.108
  %.106.084 = phi i64 [ 0, %for.107.preheader ], [ %.128, %do.108 ]
  %.idx = shl nuw nsw i64 %.106.084, 8
  %4 = getelementptr i8, ptr %more.given, i64 %.idx
  %5 = getelementptr i8, ptr %4, i64 1280
  %.120 = getelementptr i64, ptr %5, i64 %.118
  %.121 = load i64, ptr %.120, align 1
  %.122 = trunc i64 %.121 to i32
  %.126 = getelementptr i32, ptr %.124, i64 %.106.084
  store i32 %.122, ptr %.126, align 4
  %.128 = add nuw nsw i64 %.106.084, 1
  %.112 = icmp samesign ult i64 %.106.084, 2
  br i1 %.112, label %do.108, label %after.110

after.110:                                        ; preds = %do.108
  %.4.i = load i32, ptr %.28, align 64
  %.5.i = icmp ne i32 %.4.i, 3
  %6 = zext nneg i32 %.25 to i64
  %7 = getelementptr i64, ptr %data.given, i64 %6
  %.14.i14 = getelementptr i8, ptr %7, i64 256
  %.22.in.i = select i1 %.5.i, ptr %7, ptr %.14.i14
  %.22.i = load i64, ptr %.22.in.i, align 1
  %.39.in.i = select i1 %.5.i, ptr %.14.i14, ptr %7
  %.39.i15 = load i64, ptr %.39.in.i, align 1
  %8 = and i64 %.22.i, -16777216
  %.pn.i.i16 = icmp eq i64 %8, 140179142606848
  %.49.i = tail call ptr @resolve(ptr %context.given, ptr %cta.given, ptr %warp.given, i32 range(i32 0, 32) %.25, i64 %.22.i, i64 128, i64 6, i32 5, i32 0, ptr null) #4
  %.54.i = icmp eq ptr %.49.i, null
  %or.cond.i17 = or i1 %.pn.i.i16, %.54.i
  br i1 %or.cond.i17, label %then.50.i, label %after.51.i

then.50.i:                                        ; preds = %after.110
  %.35.le90 = getelementptr inbounds nuw i8, ptr %.28, i64 4
  %.61.i33 = load i32, ptr %.35.le90, align 4
  tail call void @record(ptr %context.given, ptr %warp.given, i32 9, i32 %.61.i33, i32 range(i32 0, 32) %.25, i64 %.22.i) #4
  br label %common.ret.sink.split

after.51.i:                                       ; preds = %after.110
  call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(128) %.66.i, ptr noundef nonnull align 1 dereferenceable(128) %.49.i, i64 128, i1 false)
  br label %do.5.i.i

do.5.i.i:                                         ; preds = %do.5.i.i, %after.51.i
  %more.07.i.i = phi i64 [ 0, %after.51.i ], [ %.15.i41.i, %do.5.i.i ]
  %.3.06.i.i = phi i64 [ 12, %after.51.i ], [ %.17.i42.i, %do.5.i.i ]
  %.13.i40.i = getelementptr i64, ptr %.66.i, i64 %.3.06.i.i
  %.14.i.i18 = load i64, ptr %.13.i40.i, align 8
  %.15.i41.i = or i64 %.14.i.i18, %more.07.i.i
  %.17.i42.i = add nuw nsw i64 %.3.06.i.i, 1
  %.9.i43.i = icmp samesign ult i64 %.3.06.i.i, 15
  br i1 %.9.i43.i, label %do.5.i.i, label %after.7.i.i

after.7.i.i:                                      ; preds = %do.5.i.i
  %.23.i45.i = load i64, ptr %.22.i44.i, align 8
  switch i64 %.23.i45.i, label %then.69.critedge.i [
    i64 0, label %then.18.i.i
    i64 1955, label %after.20.i.i
  ]

then.18.i.i:                                      ; preds = %after.7.i.i
  %.28.i48.i = load i64, ptr %.27.i.i, align 64
  %.31.i.i = load i64, ptr %.30.i.i, align 8
  %.35.i.i = load i64, ptr %.34.i.i, align 16
  %9 = or i64 %.28.i48.i, %.31.i.i
  %10 = or i64 %9, %.35.i.i
  %.37.i49.i = or i64 %10, %.15.i41.i
  br label %after.20.i.i

after.20.i.i:                                     ; preds = %then.18.i.i, %after.7.i.i
  %more.1.i.i = phi i64 [ %.37.i49.i, %then.18.i.i ], [ %.15.i41.i, %after.7.i.i ]
  %.50.i.i = load i64, ptr %.66.i, align 8
  %.51.not.i.i = icmp ne i64 %.50.i.i, 0
  %.56.i.i = and i64 %.50.i.i, 15
  %.57.i.i = icmp eq i64 %.56.i.i, 0
  %or.cond4.i.i = and i1 %.51.not.i.i, %.57.i.i
  br i1 %or.cond4.i.i, label %and.52.i.i, label %then.69.critedge.i

and.52.i.i:                                       ; preds = %after.20.i.i
  %.61.i.i = load i64, ptr %.60.i.i, align 64
  %.62.i.i = and i64 %.61.i.i, 4278190095
  %.63.i.i = icmp eq i64 %.62.i.i, 0
  %.66.i.i = icmp eq i64 %more.1.i.i, 0
  %or.cond.i47.i = select i1 %.63.i.i, i1 %.66.i.i, i1 false
  %11 = and i64 %.61.i.i, 112
  %.69.i.i = icmp samesign ult i64 %11, 80
  %or.cond5.i.i = select i1 %or.cond.i47.i, i1 %.69.i.i, i1 false
  br i1 %or.cond5.i.i, label %after.70.i, label %then.69.critedge.i

then.69.critedge.i:                               ; preds = %and.52.i.i, %after.20.i.i, %after.7.i.i
  %.35.le89 = getelementptr inbounds nuw i8, ptr %.28, i64 4
  %.77.i = load i32, ptr %.35.le89, align 4
  tail call void @record(ptr %context.given, ptr %warp.given, i32 12, i32 %.77.i, i32 range(i32 0, 32) %.25, i64 %.22.i) #4
  br label %common.ret.sink.split

after.70.i:                                       ; preds = %and.52.i.i
  %.82.i = load i32, ptr %.28, align 64
  %.83.i = icmp eq i32 %.82.i, 6
  %12 = and i64 %.61.i.i, 6144
  %.89.not.i = icmp eq i64 %12, 0
  %brmerge.i = select i1 %.89.not.i, i1 true, i1 %.83.i
  br i1 %brmerge.i, label %after.85.i, label %then.84.i

then.84.i:                                        ; preds = %after.70.i
  %.35.le88 = getelementptr inbounds nuw i8, ptr %.28, i64 4
  %.95.i = load i32, ptr %.35.le88, align 4
  tail call void @record(ptr %context.given, ptr %warp.given, i32 12, i32 %.95.i, i32 range(i32 0, 32) %.25, i64 %.22.i) #4
  br label %common.ret.sink.split

after.85.i:                                       ; preds = %after.70.i
  %.5.i.i = load i32, ptr %.101.i, align 8
  %.6.i28.i = zext i32 %.5.i.i to i64
  %13 = lshr i64 %.61.i.i, 5
  %.5.i.i.i = and i64 %13, 60
  %.6.i.i.i = lshr i64 2767075165217, %.5.i.i.i
  %.9.i.i = mul i64 %.6.i.i.i, %.6.i28.i
  %.10.i29.i = and i64 %.9.i.i, 15
  %.106.not.i = icmp eq i64 %.10.i29.i, 0
  br i1 %.106.not.i, label %after.104.i, label %then.103.i

then.103.i:                                       ; preds = %after.85.i
  %.35.le87 = getelementptr inbounds nuw i8, ptr %.28, i64 4
  %.111.i = load i32, ptr %.35.le87, align 4
  tail call void @record(ptr %context.given, ptr %warp.given, i32 12, i32 %.111.i, i32 range(i32 0, 32) %.25, i64 %.10.i29.i) #4
  br label %common.ret.sink.split

after.104.i:                                      ; preds = %after.85.i
  br i1 %.83.i, label %after.81, label %after.116.i

after.116.i:                                      ; preds = %after.104.i
  %14 = trunc i64 %.61.i.i to i32
  %15 = lshr exact i32 %14, 4
  %16 = and i32 %15, 7
  br label %do.7.i.i

for.6.i.i:                                        ; preds = %do.7.i.i
  %.28.i60.i = add nuw nsw i32 %.5.03.i.i, 1
  %.11.not.not.i.i = icmp samesign ult i32 %.5.03.i.i, %16
  br i1 %.11.not.not.i.i, label %do.7.i.i, label %tensor_maps.starts_before.exit.i

do.7.i.i:                                         ; preds = %for.6.i.i, %after.116.i
  %.5.03.i.i = phi i32 [ 0, %after.116.i ], [ %.28.i60.i, %for.6.i.i ]
  %.16.i58.i = zext nneg i32 %.5.03.i.i to i64
  %.17.i59.i = getelementptr i32, ptr %.101.i, i64 %.16.i58.i
  %.18.i.i = load i32, ptr %.17.i59.i, align 4
  %.19.i.i = icmp slt i32 %.18.i.i, 0
  br i1 %.19.i.i, label %then.12.i.i, label %for.6.i.i

then.12.i.i:                                      ; preds = %do.7.i.i
  %.25.i.i = sext i32 %.18.i.i to i64
  %.26.i62.i = sub nsw i64 0, %.25.i.i
  br label %tensor_maps.starts_before.exit.i

tensor_maps.starts_before.exit.i:                 ; preds = %for.6.i.i, %then.12.i.i
  %common.ret.op.i61.i = phi i64 [ %.26.i62.i, %then.12.i.i ], [ 0, %for.6.i.i ]
  %.126.not.i = icmp ne i64 %common.ret.op.i61.i, 0
  %brmerge26.not.i = and i1 %.5.i, %.126.not.i
  br i1 %brmerge26.not.i, label %then.122.i, label %after.123.i

then.122.i:                                       ; preds = %tensor_maps.starts_before.exit.i
  %.35.le86 = getelementptr inbounds nuw i8, ptr %.28, i64 4
  %.132.i31 = load i32, ptr %.35.le86, align 4
  tail call void @record(ptr %context.given, ptr %warp.given, i32 12, i32 %.132.i31, i32 range(i32 0, 32) %.25, i64 %common.ret.op.i61.i) #4
  br label %common.ret.sink.split

after.123.i:                                      ; preds = %tensor_maps.starts_before.exit.i
  %.6.i33.i = lshr i64 8351667851519, %.5.i.i.i
  %17 = trunc i64 %.6.i33.i to i32
  %.8.i.i = and i32 %17, 15
  store i32 %.8.i.i, ptr %.54, align 4
  %.145.i = icmp eq i32 %.82.i, 5
  br i1 %.145.i, label %and.142.i, label %after.141.i

then.140.i:                                       ; preds = %or.11.i.i, %and.10.i.i, %after.4.i.i
  %.35.le85 = getelementptr inbounds nuw i8, ptr %.28, i64 4
  %.157.i = load i32, ptr %.35.le85, align 4
  tail call void @record(ptr %context.given, ptr %warp.given, i32 12, i32 %.157.i, i32 range(i32 0, 32) %.25, i64 %.22.i) #4
  br label %common.ret.sink.split

after.141.i:                                      ; preds = %or.11.i.i, %and.10.i.i, %after.4.i.i, %after.123.i
  %.166.i20 = call fastcc { i1, i64, i64, i64 } @tensor_maps.reach(ptr nonnull %.66.i, ptr nonnull %.101.i, ptr nonnull %.165.i)
  %.167.i = extractvalue { i1, i64, i64, i64 } %.166.i20, 0
  %.168.i21 = extractvalue { i1, i64, i64, i64 } %.166.i20, 1
  %.170.i = extractvalue { i1, i64, i64, i64 } %.166.i20, 3
  store i64 %.170.i, ptr %.173.i, align 8
  br i1 %.167.i, label %then.174.i, label %after.175.i

and.142.i:                                        ; preds = %after.123.i
  %.148.i = load i32, ptr %.51, align 16
  %.6.i34.i = icmp samesign ugt i32 %.8.i.i, 7
  br i1 %.6.i34.i, label %then.3.i.i, label %after.4.i.i

then.3.i.i:                                       ; preds = %and.142.i
  %.13.i.i = icmp eq i32 %.8.i.i, 8
  br i1 %.13.i.i, label %and.10.i.i, label %or.11.i.i

after.4.i.i:                                      ; preds = %and.142.i
  %.20.i35.i = shl nuw nsw i32 %.8.i.i, 3
  %.22.i.i = add i32 %.148.i, %.20.i35.i
  %.23.i.i = zext nneg i32 %.22.i.i to i64
  %18 = shl nuw i64 1, %.23.i.i
  %19 = and i64 %18, 506373483218331647
  %.26.i.not.i = icmp eq i64 %19, 0
  br i1 %.26.i.not.i, label %then.140.i, label %after.141.i

and.10.i.i:                                       ; preds = %then.3.i.i
  %.17.old.i.i = icmp eq i32 %.148.i, 0
  br i1 %.17.old.i.i, label %after.141.i, label %then.140.i

or.11.i.i:                                        ; preds = %then.3.i.i
  %.15.i.i = icmp eq i32 %.8.i.i, 9
  %.17.i.i29 = icmp eq i32 %.148.i, 0
  %or.cond.i.i30 = select i1 %.15.i.i, i1 %.17.i.i29, i1 false
  br i1 %or.cond.i.i30, label %after.141.i, label %then.140.i

then.174.i:                                       ; preds = %after.141.i
  %.169.i22 = extractvalue { i1, i64, i64, i64 } %.166.i20, 2
  %.181.i = add i64 %.168.i21, %.50.i.i
  %.190.i24 = zext i1 %.5.i to i32
  %.191.i = tail call ptr @resolve(ptr %context.given, ptr %cta.given, ptr %warp.given, i32 range(i32 0, 32) %.25, i64 %.181.i, i64 %.169.i22, i64 0, i32 0, i32 %.190.i24, ptr null) #4
  %.195.i = icmp eq ptr %.191.i, null
  br i1 %.195.i, label %then.192.i, label %after.193.i

after.175.i:                                      ; preds = %after.213.i, %after.141.i
  %.230.i = sub i64 0, %.168.i21
  store i64 %.230.i, ptr %.232.i, align 16
  %.4.i.i = call fastcc i64 @tensor_maps.rows(ptr nonnull %.66.i)
  %.8.i.i.i = load i64, ptr %.22.i44.i, align 8
  %.9.not.i.not.i.i = icmp eq i64 %.8.i.i.i, 0
  br i1 %.9.not.i.not.i.i, label %no.4.i.i, label %yes.3.i.i

yes.3.i.i:                                        ; preds = %after.175.i
  %.11.i68.i = load i64, ptr %.10.i67.i, align 16
  %.12.i69.i23 = and i64 %.11.i68.i, 4294967295
  br label %tensor_maps.row_bytes.exit.i

no.4.i.i:                                         ; preds = %after.175.i
  %.7.i.i3.i.i = load i64, ptr %.6.i.i2.i.i, align 8
  %.10.i.i4.i.i = lshr i64 %.7.i.i3.i.i, 56
  %.15.i.i.i = add nuw nsw i64 %.10.i.i4.i.i, 1
  br label %tensor_maps.row_bytes.exit.i

tensor_maps.row_bytes.exit.i:                     ; preds = %no.4.i.i, %yes.3.i.i
  %.15.i70.i = phi i64 [ %.12.i69.i23, %yes.3.i.i ], [ %.15.i.i.i, %no.4.i.i ]
  %.7.i.i.i72.i = load i64, ptr %.60.i.i, align 64
  %20 = lshr i64 %.7.i.i.i72.i, 5
  %.5.i.i73.i = and i64 %20, 60
  %.6.i.i74.i = lshr i64 2767075165217, %.5.i.i73.i
  %.7.i.i75.i = and i64 %.6.i.i74.i, 15
  %.19.i76.i = mul i64 %.15.i70.i, %.4.i.i
  %.7.i38.i = mul i64 %.19.i76.i, %.7.i.i75.i
  store i64 %.7.i38.i, ptr %.57, align 8
  %.248.i = getelementptr i8, ptr %7, i64 768
  %.249.i = load i64, ptr %.248.i, align 1
  %.251.i = call fastcc i1 @bulk_instructions.send(ptr %context.given, ptr %cta.given, ptr %warp.given, ptr nonnull %.9, i32 range(i32 0, 32) %.25, ptr nonnull %.28, i64 %.39.i15, i64 7, i64 %.249.i, i64 range(i64 0, 131072) %.78)
  br i1 %.251.i, label %common.ret, label %after.81

then.192.i:                                       ; preds = %then.174.i
  %.35.le = getelementptr inbounds nuw i8, ptr %.28, i64 4
  %.203.i = select i1 %.5.i, i32 10, i32 9
  %.206.i26 = load i32, ptr %.35.le, align 4
  tail call void @record(ptr %context.given, ptr %warp.given, i32 range(i32 9, 13) %.203.i, i32 %.206.i26, i32 range(i32 0, 32) %.25, i64 %.181.i) #4
  br label %common.ret.sink.split

after.193.i:                                      ; preds = %then.174.i
  br i1 %.5.i, label %else.212.i, label %then.211.i

then.211.i:                                       ; preds = %after.193.i
  store ptr %.191.i, ptr %.217.i, align 8
  br label %after.213.i

else.212.i:                                       ; preds = %after.193.i
  store ptr %.191.i, ptr %.220.i, align 32
  %.223.i = load ptr, ptr %.222.i, align 1
  store ptr %.223.i, ptr %.225.i, align 16
  br label %after.213.i

after.213.i:                                      ; preds = %else.212.i, %then.211.i
  store i64 %.181.i, ptr %.64, align 16
  br label %after.175.i
}

define void @bulk_instructions.finish_groups(ptr %context.given, ptr readonly captures(none) %cta.given, ptr readonly captures(none) %warp.given, i32 %mask.given, i32 %left.given, i1 %commits.given) local_unnamed_addr #4 {
entry.1:
  %.6 = getelementptr i8, ptr %cta.given, i64 72
  %.7 = load ptr, ptr %.6, align 1
  %.8 = getelementptr i8, ptr %.7, i64 24
  %.9 = load ptr, ptr %.8, align 1
  %.10 = icmp eq ptr %.9, null
  %.24.not11 = icmp eq i32 %mask.given, 0
  %or.cond = select i1 %.10, i1 true, i1 %.24.not11
  br i1 %or.cond, label %common.ret, label %do.21.lr.ph

do.21.lr.ph:                                      ; preds = %entry.1
  %.29 = getelementptr i8, ptr %warp.given, i64 200
  %.46 = getelementptr i8, ptr %cta.given, i64 80
  %.4.i2 = getelementptr i8, ptr %.9, i64 16
  %.8.i4 = getelementptr i8, ptr %.9, i64 24
  %.6.i.i = getelementptr i8, ptr %.9, i64 8
  %.16.i.i = getelementptr i8, ptr %.9, i64 40
  %.40 = getelementptr i8, ptr %cta.given, i64 80
  %.4.i = getelementptr i8, ptr %.9, i64 16
  %.8.i = getelementptr i8, ptr %.9, i64 24
  br label %do.21

common.ret:                                       ; preds = %after.36, %entry.1
  ret void

do.21:                                            ; preds = %do.21.lr.ph, %after.36
  %.18.012 = phi i32 [ %mask.given, %do.21.lr.ph ], [ %.27, %after.36 ]
  %.25 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.18.012, i1 true)
  %.26 = add i32 %.18.012, -1
  %.27 = and i32 %.26, %.18.012
  %.30 = load i32, ptr %.29, align 1
  %.31 = shl i32 %.30, 5
  %.33 = or disjoint i32 %.31, %.25
  %.13.i = zext i32 %.33 to i64
  br i1 %commits.given, label %then.34, label %else.35

then.34:                                          ; preds = %do.21
  %.41 = load i32, ptr %.40, align 1
  %.5.i = load ptr, ptr %.4.i, align 1
  %.9.i = load i64, ptr %.8.i, align 1
  %.10.i = zext i32 %.41 to i64
  %.11.i = mul i64 %.9.i, %.10.i
  %0 = getelementptr i32, ptr %.5.i, i64 %.11.i
  %.15.i = getelementptr i32, ptr %0, i64 %.13.i
  %.16.i = load i32, ptr %.15.i, align 1
  %.17.i = add i32 %.16.i, 1
  store i32 %.17.i, ptr %.15.i, align 1
  br label %after.36

else.35:                                          ; preds = %do.21
  %.47 = load i32, ptr %.46, align 1
  %.5.i3 = load ptr, ptr %.4.i2, align 1
  %.9.i5 = load i64, ptr %.8.i4, align 1
  %.10.i6 = zext i32 %.47 to i64
  %.11.i7 = mul i64 %.9.i5, %.10.i6
  %1 = getelementptr i32, ptr %.5.i3, i64 %.11.i7
  %.15.i9 = getelementptr i32, ptr %1, i64 %.13.i
  %.16.i10 = load i32, ptr %.15.i9, align 1
  %.21.i = icmp ugt i32 %.16.i10, %left.given
  br i1 %.21.i, label %then.17.i, label %after.36

then.17.i:                                        ; preds = %else.35
  %.4.i.i = load i64, ptr %.9, align 1
  %.7.i.i = load i64, ptr %.6.i.i, align 1
  %.142.i.i = icmp ult i64 %.4.i.i, %.7.i.i
  br i1 %.142.i.i, label %do.10.lr.ph.i.i, label %after.12.i.i

do.10.lr.ph.i.i:                                  ; preds = %then.17.i
  %.28.i = sub nuw i32 %.16.i10, %left.given
  %2 = freeze i32 %.28.i
  br label %do.10.i.i

do.10.i.i:                                        ; preds = %after.22.i.i, %do.10.lr.ph.i.i
  %.8.03.i.i = phi i64 [ %.4.i.i, %do.10.lr.ph.i.i ], [ %.55.i.i, %after.22.i.i ]
  %.18.i.i = and i64 %.8.03.i.i, 127
  %.19.i.i = mul nuw nsw i64 %.18.i.i, 312
  %.20.i.i = getelementptr i8, ptr %.16.i.i, i64 %.19.i.i
  %.25.i.i = getelementptr i8, ptr %.20.i.i, i64 20
  %.26.i.i = load i32, ptr %.25.i.i, align 1
  %.27.not.i.i = icmp eq i32 %.26.i.i, 0
  br i1 %.27.not.i.i, label %after.22.i.i, label %and.23.i.i

after.12.i.i:                                     ; preds = %after.22.i.i, %then.17.i
  %.11.i.i.i = load i64, ptr %.6.i.i, align 1
  %queue.given.promoted.i.i.i = load i64, ptr %.9, align 1
  %.12.not2.i.i.i = icmp eq i64 %queue.given.promoted.i.i.i, %.11.i.i.i
  br i1 %.12.not2.i.i.i, label %after.36, label %and.6.i.i.i

do.4.i.i.i:                                       ; preds = %and.6.i.i.i
  %.25.i.i.i = add i64 %.813.i.i.i, 1
  store i64 %.25.i.i.i, ptr %.9, align 1
  %.12.not.i.i.i = icmp eq i64 %.25.i.i.i, %.11.i.i.i
  br i1 %.12.not.i.i.i, label %after.36, label %and.6.i.i.i

and.6.i.i.i:                                      ; preds = %after.12.i.i, %do.4.i.i.i
  %.813.i.i.i = phi i64 [ %.25.i.i.i, %do.4.i.i.i ], [ %queue.given.promoted.i.i.i, %after.12.i.i ]
  %.17.i.i.i = and i64 %.813.i.i.i, 127
  %.18.i.i.i = mul nuw nsw i64 %.17.i.i.i, 312
  %.19.i.i.i = getelementptr i8, ptr %.9, i64 %.18.i.i.i
  %.20.i.i.i = getelementptr i8, ptr %.19.i.i.i, i64 60
  %.21.i.i.i = load i32, ptr %.20.i.i.i, align 1
  %.22.i.i.i = icmp eq i32 %.21.i.i.i, 0
  br i1 %.22.i.i.i, label %do.4.i.i.i, label %after.36

then.21.i.i:                                      ; preds = %and.28.i.i
  %.43.i.i = getelementptr i8, ptr %.20.i.i, i64 16
  %.44.i.i = load i32, ptr %.43.i.i, align 1
  %3 = add i32 %.44.i.i, -1
  %or.cond.not.i.i = icmp ult i32 %3, %2
  br i1 %or.cond.not.i.i, label %then.39.i.i, label %after.22.i.i

after.22.i.i:                                     ; preds = %then.39.i.i, %and.28.i.i, %and.23.i.i, %then.21.i.i, %do.10.i.i
  %.55.i.i = add nuw i64 %.8.03.i.i, 1
  %.14.i.i = icmp ult i64 %.55.i.i, %.7.i.i
  br i1 %.14.i.i, label %do.10.i.i, label %after.12.i.i

and.23.i.i:                                       ; preds = %do.10.i.i
  %.30.i.i = getelementptr i8, ptr %.20.i.i, i64 12
  %.31.i.i = load i32, ptr %.30.i.i, align 1
  %.33.i.i = icmp eq i32 %.31.i.i, %.47
  br i1 %.33.i.i, label %and.28.i.i, label %after.22.i.i

and.28.i.i:                                       ; preds = %and.23.i.i
  %.35.i.i = getelementptr i8, ptr %.20.i.i, i64 8
  %.36.i.i = load i32, ptr %.35.i.i, align 1
  %.38.i.i = icmp eq i32 %.36.i.i, %.33
  br i1 %.38.i.i, label %then.21.i.i, label %after.22.i.i

then.39.i.i:                                      ; preds = %then.21.i.i
  tail call fastcc void @bulk_copies.done(ptr %context.given, ptr nonnull %.9, ptr %.20.i.i)
  br label %after.22.i.i

after.36:                                         ; preds = %and.6.i.i.i, %do.4.i.i.i, %after.12.i.i, %else.35, %then.34
  %.24.not = icmp eq i32 %.27, 0
  br i1 %.24.not, label %common.ret, label %do.21
}

define internal fastcc void @bulk_copies.done(ptr %context.given, ptr nonnull %queue.given, ptr %transfer.given) unnamed_addr #4 {
entry.1:
  %.48.i = alloca [16 x i8], align 64
  %.6 = getelementptr i8, ptr %transfer.given, i64 56
  %.7 = load ptr, ptr %.6, align 1
  %.8.not = icmp eq ptr %.7, null
  br i1 %.8.not, label %after.4, label %then.3

then.3:                                           ; preds = %entry.1
  %.13 = load i64, ptr %.7, align 1
  br label %after.4

after.4:                                          ; preds = %then.3, %entry.1
  %before.0 = phi i64 [ %.13, %then.3 ], [ 0, %entry.1 ]
  call void @llvm.lifetime.start.p0(ptr nonnull %.48.i)
  %.4.i = load i32, ptr %transfer.given, align 1
  switch i32 %.4.i, label %else.44.i [
    i32 0, label %then.5.i
    i32 1, label %then.19.i
    i32 2, label %then.43.i
  ]

then.5.i:                                         ; preds = %after.4
  %.11.i = getelementptr i8, ptr %transfer.given, i64 32
  %.12.i = load ptr, ptr %.11.i, align 1
  %.14.i = getelementptr i8, ptr %transfer.given, i64 40
  %.15.i = load ptr, ptr %.14.i, align 1
  %.17.i = getelementptr i8, ptr %transfer.given, i64 24
  %.18.i = load i64, ptr %.17.i, align 1
  tail call void @llvm.memcpy.p0.p0.i64(ptr align 1 %.12.i, ptr align 1 %.15.i, i64 %.18.i, i1 false)
  br label %after.7.i

after.7.i:                                        ; preds = %after.40.i.i, %else.62.i, %then.61.i, %tensor_maps.rows.exit.i.i, %then.19.i, %then.5.i
  %.99.i = getelementptr i8, ptr %transfer.given, i64 48
  %.100.i = load ptr, ptr %.99.i, align 1
  %.101.i = icmp ne ptr %.100.i, null
  %0 = add i32 %.4.i, -6
  %1 = icmp ult i32 %0, -2
  %or.cond1.i = and i1 %1, %.101.i
  br i1 %or.cond1.i, label %then.95.i, label %after.96.i

then.19.i:                                        ; preds = %after.4
  %.26.i = getelementptr i8, ptr %transfer.given, i64 32
  %.27.i = load ptr, ptr %.26.i, align 1
  %.29.i = getelementptr i8, ptr %transfer.given, i64 40
  %.30.i = load ptr, ptr %.29.i, align 1
  %.32.i = getelementptr i8, ptr %transfer.given, i64 24
  %.33.i = load i64, ptr %.32.i, align 1
  %.35.i = getelementptr i8, ptr %transfer.given, i64 80
  %.36.i = load i32, ptr %.35.i, align 1
  %.38.i = getelementptr i8, ptr %transfer.given, i64 84
  %.39.i = load i32, ptr %.38.i, align 1
  %.40.i = getelementptr i8, ptr %context.given, i64 368
  %.41.i = load ptr, ptr %.40.i, align 8
  %.42.i = tail call i32 %.41.i(ptr %context.given, ptr %.27.i, ptr %.30.i, i64 %.33.i, i32 %.36.i, i32 %.39.i) #4
  br label %after.7.i

then.43.i:                                        ; preds = %after.4
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 64 dereferenceable(16) %.48.i, i8 0, i64 16, i1 false)
  %.50.i = getelementptr i8, ptr %transfer.given, i64 120
  %.52.i = load i64, ptr %.50.i, align 1
  store i64 %.52.i, ptr %.48.i, align 64
  %.57.i = getelementptr i8, ptr %transfer.given, i64 128
  %.58.i = load i64, ptr %.57.i, align 1
  %.60.i = getelementptr inbounds nuw i8, ptr %.48.i, i64 8
  store i64 %.58.i, ptr %.60.i, align 8
  %.65.i = getelementptr i8, ptr %transfer.given, i64 80
  %.66.i = load i32, ptr %.65.i, align 1
  %.67.not.i = icmp eq i32 %.66.i, 0
  %.87.i = getelementptr i8, ptr %transfer.given, i64 32
  %.88.i = load ptr, ptr %.87.i, align 1
  %.91.i = getelementptr i8, ptr %transfer.given, i64 24
  %.92.i = load i64, ptr %.91.i, align 1
  br i1 %.67.not.i, label %else.62.i, label %then.61.i

else.44.i:                                        ; preds = %after.4
  %.4.i.i = getelementptr i8, ptr %transfer.given, i64 184
  %.6.i.i = getelementptr i8, ptr %transfer.given, i64 152
  %.8.i.i = getelementptr i8, ptr %transfer.given, i64 172
  %.7.i1.i.i.i = getelementptr i8, ptr %transfer.given, i64 248
  %.8.i.i.i.i = load i64, ptr %.7.i1.i.i.i, align 1
  %.9.not.i.not.i.i.i = icmp eq i64 %.8.i.i.i.i, 0
  br i1 %.9.not.i.not.i.i.i, label %no.4.i.i.i, label %yes.3.i.i.i

yes.3.i.i.i:                                      ; preds = %else.44.i
  %.10.i58.i.i = getelementptr i8, ptr %transfer.given, i64 272
  %.11.i59.i.i = load i64, ptr %.10.i58.i.i, align 1
  %.12.i60.i.i = and i64 %.11.i59.i.i, 4294967295
  br label %tensor_maps.row_bytes.exit.i.i

no.4.i.i.i:                                       ; preds = %else.44.i
  %.6.i.i2.i.i.i = getelementptr i8, ptr %transfer.given, i64 232
  %.7.i.i3.i.i.i = load i64, ptr %.6.i.i2.i.i.i, align 1
  %.10.i.i4.i.i.i = lshr i64 %.7.i.i3.i.i.i, 56
  %.15.i.i.i.i = add nuw nsw i64 %.10.i.i4.i.i.i, 1
  br label %tensor_maps.row_bytes.exit.i.i

tensor_maps.row_bytes.exit.i.i:                   ; preds = %no.4.i.i.i, %yes.3.i.i.i
  %.15.i.i.i = phi i64 [ %.12.i60.i.i, %yes.3.i.i.i ], [ %.15.i.i.i.i, %no.4.i.i.i ]
  %.6.i.i.i.i.i = getelementptr i8, ptr %transfer.given, i64 192
  %.7.i.i.i.i.i = load i64, ptr %.6.i.i.i.i.i, align 1
  %2 = lshr i64 %.7.i.i.i.i.i, 5
  %.5.i.i.i.i = and i64 %2, 60
  %.6.i.i.i.i = lshr i64 2767075165217, %.5.i.i.i.i
  %.7.i.i.i.i = and i64 %.6.i.i.i.i, 15
  %.19.i.i.i = mul nuw nsw i64 %.7.i.i.i.i, %.15.i.i.i
  %.13.i.i = icmp eq i32 %.4.i, 3
  br i1 %.9.not.i.not.i.i.i, label %after.4.i.i.i, label %then.3.i.i.i

then.3.i.i.i:                                     ; preds = %tensor_maps.row_bytes.exit.i.i
  %.9.i64.i.i = getelementptr i8, ptr %transfer.given, i64 272
  %.10.i65.i.i = load i64, ptr %.9.i64.i.i, align 1
  %.11.i66.i.i = lshr i64 %.10.i65.i.i, 32
  br label %tensor_maps.rows.exit.i.i

after.4.i.i.i:                                    ; preds = %tensor_maps.row_bytes.exit.i.i
  %3 = trunc i64 %.7.i.i.i.i.i to i32
  %4 = lshr i32 %3, 4
  %5 = and i32 %4, 7
  %.6.i.i70.i.i = add nuw nsw i32 %5, 1
  %.14.i.i.i = zext nneg i32 %.6.i.i70.i.i to i64
  %.2110.not.i.i.i = icmp eq i32 %5, 0
  br i1 %.2110.not.i.i.i, label %tensor_maps.rows.exit.i.i, label %do.17.i.i.i

do.17.i.i.i:                                      ; preds = %after.4.i.i.i, %do.17.i.i.i
  %count.012.i.i.i = phi i64 [ %.26.i.i.i, %do.17.i.i.i ], [ 1, %after.4.i.i.i ]
  %.15.011.i.i.i = phi i64 [ %.28.i.i.i, %do.17.i.i.i ], [ 1, %after.4.i.i.i ]
  %.10.i5.i.i.i = shl nuw nsw i64 %.15.011.i.i.i, 3
  %.12.i.i.i.i = add nuw nsw i64 %.10.i5.i.i.i, 440
  %.5.i.i.i.i.i = lshr i64 %.12.i.i.i.i, 6
  %.6.i.i6.i.i.i = getelementptr i64, ptr %.4.i.i, i64 %.5.i.i.i.i.i
  %.7.i.i7.i.i.i = load i64, ptr %.6.i.i6.i.i.i, align 1
  %.9.i.i.i.i.i = and i64 %.12.i.i.i.i, 56
  %.10.i.i8.i.i.i = lshr i64 %.7.i.i7.i.i.i, %.9.i.i.i.i.i
  %.12.i.i9.i.i.i = and i64 %.10.i.i8.i.i.i, 255
  %.10.i5.i.i.i.i = mul nuw nsw i64 %.15.011.i.i.i, 3
  %.11.i6.i.i.i.i = add nuw nsw i64 %.10.i5.i.i.i.i, 416
  %.5.i.i7.i.i.i.i = lshr i64 %.11.i6.i.i.i.i, 6
  %.6.i.i8.i.i.i.i = getelementptr i64, ptr %.4.i.i, i64 %.5.i.i7.i.i.i.i
  %.7.i.i9.i.i.i.i = load i64, ptr %.6.i.i8.i.i.i.i, align 1
  %.9.i.i10.i.i.i.i = and i64 %.11.i6.i.i.i.i, 63
  %.10.i.i11.i.i.i.i = lshr i64 %.7.i.i9.i.i.i.i, %.9.i.i10.i.i.i.i
  %.12.i.i12.i.i.i.i = and i64 %.10.i.i11.i.i.i.i, 7
  %.13.i13.i.i.i.i = add nuw nsw i64 %.12.i.i12.i.i.i.i, 1
  %.10.i.i.i.i = add nuw nsw i64 %.13.i13.i.i.i.i, %.12.i.i9.i.i.i
  %.14.i.i.i.i = udiv i64 %.10.i.i.i.i, %.13.i13.i.i.i.i
  %.26.i.i.i = mul i64 %.14.i.i.i.i, %count.012.i.i.i
  %.28.i.i.i = add nuw nsw i64 %.15.011.i.i.i, 1
  %.21.i.i.i = icmp samesign ult i64 %.28.i.i.i, %.14.i.i.i
  br i1 %.21.i.i.i, label %do.17.i.i.i, label %tensor_maps.rows.exit.i.i

tensor_maps.rows.exit.i.i:                        ; preds = %do.17.i.i.i, %after.4.i.i.i, %then.3.i.i.i
  %common.ret.op.i67.i.i = phi i64 [ %.11.i66.i.i, %then.3.i.i.i ], [ 1, %after.4.i.i.i ], [ %.26.i.i.i, %do.17.i.i.i ]
  %.2285.not.i.i = icmp eq i64 %common.ret.op.i67.i.i, 0
  br i1 %.2285.not.i.i, label %after.7.i, label %do.18.lr.ph.i.i

do.18.lr.ph.i.i:                                  ; preds = %tensor_maps.rows.exit.i.i
  %.34.i.i = add nuw nsw i64 %.19.i.i.i, 15
  %.3543.i.i = lshr i64 %.34.i.i, 4
  %.4283.not.i.i = icmp eq i64 %.3543.i.i, 0
  %.52.i.i = getelementptr i8, ptr %transfer.given, i64 88
  %.84.i.i = getelementptr i8, ptr %transfer.given, i64 144
  %.170.i.i = getelementptr i8, ptr %transfer.given, i64 40
  %.195.i.i = getelementptr i8, ptr %transfer.given, i64 32
  %.204.i.i = getelementptr i8, ptr %transfer.given, i64 80
  %.207.i.i = getelementptr i8, ptr %transfer.given, i64 84
  %.209.i.i = getelementptr i8, ptr %context.given, i64 368
  %.215.i.i = getelementptr i8, ptr %transfer.given, i64 48
  br label %do.18.i.i

do.18.i.i:                                        ; preds = %after.40.i.i, %do.18.lr.ph.i.i
  %.16.086.i.i = phi i64 [ 0, %do.18.lr.ph.i.i ], [ %.230.i.i, %after.40.i.i ]
  %.27.i.i = tail call fastcc { i1, i64, i64, i64 } @tensor_maps.row_place(ptr readonly %.4.i.i, ptr readonly %.6.i.i, ptr readonly %.8.i.i, i64 %.16.086.i.i)
  %.28.i.i = extractvalue { i1, i64, i64, i64 } %.27.i.i, 0
  %.29.i.i = extractvalue { i1, i64, i64, i64 } %.27.i.i, 1
  %.30.i.i = extractvalue { i1, i64, i64, i64 } %.27.i.i, 2
  %.31.i.i = extractvalue { i1, i64, i64, i64 } %.27.i.i, 3
  br i1 %.4283.not.i.i, label %after.40.i.i, label %do.38.lr.ph.i.i

do.38.lr.ph.i.i:                                  ; preds = %do.18.i.i
  %.56.i.i = mul i64 %.16.086.i.i, %.19.i.i.i
  br label %do.38.i.i

do.38.i.i:                                        ; preds = %after.92.i.i, %do.38.lr.ph.i.i
  %.36.084.i.i = phi i64 [ 0, %do.38.lr.ph.i.i ], [ %.228.i.i, %after.92.i.i ]
  %.44.i.i = shl nuw nsw i64 %.36.084.i.i, 4
  %.46.i.i = add nuw nsw i64 %.44.i.i, 16
  %.49.i.i = tail call i64 @llvm.umin.i64(i64 %.46.i.i, i64 %.19.i.i.i)
  %.53.i.i = load i64, ptr %.52.i.i, align 1
  %.57.i.i = add i64 %.44.i.i, %.56.i.i
  %.59.i.i = add i64 %.57.i.i, %.53.i.i
  %.7.i.i73.i.i = load i64, ptr %.6.i.i.i.i.i, align 1
  %.10.i.i74.i.i = lshr i64 %.7.i.i73.i.i, 13
  %.12.i.i75.i.i = and i64 %.10.i.i74.i.i, 3
  %.8.i.i.i = icmp eq i64 %.12.i.i75.i.i, 0
  br i1 %.8.i.i.i, label %tensor_maps.swizzled.exit.i.i, label %after.6.i.i.i

after.6.i.i.i:                                    ; preds = %do.38.i.i
  %.12.i76.i.i = lshr i64 %.59.i.i, 7
  %notmask.i.i.i = shl nsw i64 -1, %.12.i.i75.i.i
  %.15.i77.i.i = xor i64 %notmask.i.i.i, -1
  %.16.i.i.i = and i64 %.12.i76.i.i, %.15.i77.i.i
  %.17.i.i.i = shl nuw nsw i64 %.16.i.i.i, 4
  %.18.i.i.i = xor i64 %.17.i.i.i, %.59.i.i
  br label %tensor_maps.swizzled.exit.i.i

tensor_maps.swizzled.exit.i.i:                    ; preds = %after.6.i.i.i, %do.38.i.i
  %common.ret.op.i78.i.i = phi i64 [ %.18.i.i.i, %after.6.i.i.i ], [ %.59.i.i, %do.38.i.i ]
  %.64.i.i = sub i64 %common.ret.op.i78.i.i, %.53.i.i
  %.68.i.i = tail call i64 @llvm.umax.i64(i64 %.44.i.i, i64 %.30.i.i)
  %.71.i.i = tail call i64 @llvm.umin.i64(i64 %.68.i.i, i64 %.49.i.i)
  %.75.i.i = tail call i64 @llvm.umin.i64(i64 %.49.i.i, i64 %.31.i.i)
  %.78.i.i = tail call i64 @llvm.umax.i64(i64 %.75.i.i, i64 %.71.i.i)
  %spec.select.i.i = select i1 %.28.i.i, i64 %.78.i.i, i64 %.71.i.i
  %.85.i.i = load i64, ptr %.84.i.i, align 1
  %.87.i.i = add i64 %.71.i.i, %.29.i.i
  %.89.i.i = add i64 %.87.i.i, %.85.i.i
  br i1 %.13.i.i, label %for.97.preheader.i.i, label %else.91.i.i

for.97.preheader.i.i:                             ; preds = %tensor_maps.swizzled.exit.i.i
  %.10279.i.i = icmp samesign ult i64 %.44.i.i, %.71.i.i
  br i1 %.10279.i.i, label %do.98.lr.ph.i.i, label %after.100.i.i

do.98.lr.ph.i.i:                                  ; preds = %for.97.preheader.i.i
  %.112.i.i = sub i64 %.64.i.i, %.44.i.i
  br label %do.98.i.i

after.40.i.i:                                     ; preds = %after.92.i.i, %do.18.i.i
  %.230.i.i = add nuw i64 %.16.086.i.i, 1
  %.22.i.i = icmp ult i64 %.230.i.i, %common.ret.op.i67.i.i
  br i1 %.22.i.i, label %do.18.i.i, label %after.7.i

else.91.i.i:                                      ; preds = %tensor_maps.swizzled.exit.i.i
  %.168.i.i = icmp samesign ugt i64 %spec.select.i.i, %.71.i.i
  br i1 %.168.i.i, label %then.164.i.i, label %after.92.i.i

after.92.i.i:                                     ; preds = %do.144.i.i, %then.212.i.i, %after.180.i.i, %after.119.i.i, %else.91.i.i
  %.228.i.i = add nuw nsw i64 %.36.084.i.i, 1
  %.42.i.i = icmp samesign ult i64 %.228.i.i, %.3543.i.i
  br i1 %.42.i.i, label %do.38.i.i, label %after.40.i.i

do.98.i.i:                                        ; preds = %do.98.i.i, %do.98.lr.ph.i.i
  %.96.080.i.i = phi i64 [ %.44.i.i, %do.98.lr.ph.i.i ], [ %.117.i.i, %do.98.i.i ]
  %.7.i55.i.i = load i64, ptr %.6.i.i.i.i.i, align 1
  %6 = and i64 %.7.i55.i.i, 32768
  %.7.i.i.i = icmp eq i64 %6, 0
  %.9.i.i.i = shl i64 %.96.080.i.i, 3
  %.10.i.i.i = and i64 %.9.i.i.i, 8
  %.11.i.i.i = lshr i64 32759, %.10.i.i.i
  %7 = trunc i64 %.11.i.i.i to i8
  %.106.i.i = select i1 %.7.i.i.i, i8 0, i8 %7
  %.109.i.i = load ptr, ptr %.195.i.i, align 1
  %8 = getelementptr i8, ptr %.109.i.i, i64 %.112.i.i
  %.115.i.i = getelementptr i8, ptr %8, i64 %.96.080.i.i
  store i8 %.106.i.i, ptr %.115.i.i, align 1
  %.117.i.i = add nuw nsw i64 %.96.080.i.i, 1
  %.102.i.i = icmp samesign ult i64 %.117.i.i, %.71.i.i
  br i1 %.102.i.i, label %do.98.i.i, label %after.100.i.i

after.100.i.i:                                    ; preds = %do.98.i.i, %for.97.preheader.i.i
  %.122.i.i = icmp samesign ugt i64 %spec.select.i.i, %.71.i.i
  br i1 %.122.i.i, label %then.118.i.i, label %after.119.i.i

then.118.i.i:                                     ; preds = %after.100.i.i
  %.125.i.i = load ptr, ptr %.195.i.i, align 1
  %.128.i.i = add i64 %.64.i.i, %.71.i.i
  %.130.i.i = sub i64 %.128.i.i, %.44.i.i
  %.131.i.i = getelementptr i8, ptr %.125.i.i, i64 %.130.i.i
  %.134.i.i = load ptr, ptr %.170.i.i, align 1
  %.136.i.i = getelementptr i8, ptr %.134.i.i, i64 %.89.i.i
  %.139.i.i = sub nuw nsw i64 %spec.select.i.i, %.71.i.i
  tail call void @llvm.memcpy.p0.p0.i64(ptr align 1 %.131.i.i, ptr align 1 %.136.i.i, i64 %.139.i.i, i1 false)
  br label %after.119.i.i

after.119.i.i:                                    ; preds = %then.118.i.i, %after.100.i.i
  %.14881.i.i = icmp samesign ult i64 %spec.select.i.i, %.49.i.i
  br i1 %.14881.i.i, label %do.144.lr.ph.i.i, label %after.92.i.i

do.144.lr.ph.i.i:                                 ; preds = %after.119.i.i
  %.158.i.i = sub i64 %.64.i.i, %.44.i.i
  br label %do.144.i.i

do.144.i.i:                                       ; preds = %do.144.i.i, %do.144.lr.ph.i.i
  %.142.082.i.i = phi i64 [ %spec.select.i.i, %do.144.lr.ph.i.i ], [ %.163.i.i, %do.144.i.i ]
  %.7.i52.i.i = load i64, ptr %.6.i.i.i.i.i, align 1
  %9 = and i64 %.7.i52.i.i, 32768
  %.7.i45.i.i = icmp eq i64 %9, 0
  %.9.i46.i.i = shl i64 %.142.082.i.i, 3
  %.10.i47.i.i = and i64 %.9.i46.i.i, 8
  %.11.i48.i.i = lshr i64 32759, %.10.i47.i.i
  %10 = trunc i64 %.11.i48.i.i to i8
  %.152.i.i = select i1 %.7.i45.i.i, i8 0, i8 %10
  %.155.i.i = load ptr, ptr %.195.i.i, align 1
  %11 = getelementptr i8, ptr %.155.i.i, i64 %.158.i.i
  %.161.i.i = getelementptr i8, ptr %11, i64 %.142.082.i.i
  store i8 %.152.i.i, ptr %.161.i.i, align 1
  %.163.i.i = add nuw nsw i64 %.142.082.i.i, 1
  %.148.i.i = icmp ult i64 %.163.i.i, %.49.i.i
  br i1 %.148.i.i, label %do.144.i.i, label %after.92.i.i

then.164.i.i:                                     ; preds = %else.91.i.i
  %.171.i.i = load ptr, ptr %.170.i.i, align 1
  %.174.i.i = add i64 %.64.i.i, %.71.i.i
  %.176.i.i = sub i64 %.174.i.i, %.44.i.i
  %.177.i.i = getelementptr i8, ptr %.171.i.i, i64 %.176.i.i
  %.182.i.i = load i32, ptr %transfer.given, align 1
  %.183.i.i = icmp eq i32 %.182.i.i, 4
  %.186.i.i = load ptr, ptr %.195.i.i, align 1
  %.188.i.i = getelementptr i8, ptr %.186.i.i, i64 %.89.i.i
  %.192.i.i = sub nuw nsw i64 %spec.select.i.i, %.71.i.i
  br i1 %.183.i.i, label %then.178.i.i, label %else.179.i.i

then.178.i.i:                                     ; preds = %then.164.i.i
  tail call void @llvm.memcpy.p0.p0.i64(ptr align 1 %.188.i.i, ptr align 1 %.177.i.i, i64 %.192.i.i, i1 false)
  br label %after.180.i.i

else.179.i.i:                                     ; preds = %then.164.i.i
  %.205.i.i = load i32, ptr %.204.i.i, align 1
  %.208.i.i = load i32, ptr %.207.i.i, align 1
  %.210.i.i = load ptr, ptr %.209.i.i, align 8
  %.211.i.i = tail call i32 %.210.i.i(ptr %context.given, ptr %.188.i.i, ptr %.177.i.i, i64 %.192.i.i, i32 %.205.i.i, i32 %.208.i.i) #4
  br label %after.180.i.i

after.180.i.i:                                    ; preds = %else.179.i.i, %then.178.i.i
  %.216.i.i = load ptr, ptr %.215.i.i, align 1
  %.217.not.i.i = icmp eq ptr %.216.i.i, null
  br i1 %.217.not.i.i, label %after.92.i.i, label %then.212.i.i

then.212.i.i:                                     ; preds = %after.180.i.i
  %.222.i.i = getelementptr i8, ptr %.216.i.i, i64 %.89.i.i
  %.226.i.i = sub nsw i64 %spec.select.i.i, %.71.i.i
  tail call void @llvm.memset.p0.i64(ptr align 1 %.222.i.i, i8 -1, i64 %.226.i.i, i1 false)
  br label %after.92.i.i

then.61.i:                                        ; preds = %then.43.i
  %.79.i = add i32 %.66.i, -1
  %.81.i = getelementptr i8, ptr %transfer.given, i64 84
  %.82.i = load i32, ptr %.81.i, align 1
  %.83.i = getelementptr i8, ptr %context.given, i64 368
  %.84.i = load ptr, ptr %.83.i, align 8
  %.85.i = call i32 %.84.i(ptr %context.given, ptr %.88.i, ptr nonnull %.48.i, i64 %.92.i, i32 %.79.i, i32 %.82.i) #4
  br label %after.7.i

else.62.i:                                        ; preds = %then.43.i
  call void @llvm.memcpy.p0.p0.i64(ptr align 1 %.88.i, ptr nonnull align 64 %.48.i, i64 %.92.i, i1 false)
  br label %after.7.i

then.95.i:                                        ; preds = %after.7.i
  %.112.i = getelementptr i8, ptr %transfer.given, i64 24
  %.113.i = load i64, ptr %.112.i, align 1
  call void @llvm.memset.p0.i64(ptr nonnull align 1 %.100.i, i8 -1, i64 %.113.i, i1 false)
  br label %after.96.i

after.96.i:                                       ; preds = %then.95.i, %after.7.i
  %.118.i = load ptr, ptr %.6, align 1
  %.119.not.i = icmp eq ptr %.118.i, null
  br i1 %.119.not.i, label %bulk_copies.perform.exit, label %then.114.i

then.114.i:                                       ; preds = %after.96.i
  %.125.i = load i64, ptr %.118.i, align 1
  %12 = and i64 %.125.i, 6917529027641081856
  %.33.not.i.i = icmp eq i64 %12, 2305843009213693952
  br i1 %.33.not.i.i, label %after.48.i.i, label %mbarrier_words.operated.exit.i

after.48.i.i:                                     ; preds = %then.114.i
  %.127.i = getelementptr i8, ptr %transfer.given, i64 24
  %.128.i = load i64, ptr %.127.i, align 1
  %.65.i.i = lshr i64 %.125.i, 40
  %.66.i.i = and i64 %.65.i.i, 2097151
  %.70.i.i = icmp samesign ugt i64 %.66.i.i, 1048575
  %masksel.i.i = select i1 %.70.i.i, i64 -2097152, i64 0
  %spec.select.i6.i = or disjoint i64 %masksel.i.i, %.66.i.i
  %.76.i.i = sub i64 %spec.select.i6.i, %.128.i
  %13 = add i64 %.76.i.i, -1048576
  %.81.i.i = icmp ult i64 %13, -2097151
  br i1 %.81.i.i, label %mbarrier_words.operated.exit.i, label %after.78.i.i

after.78.i.i:                                     ; preds = %after.48.i.i
  %.62.i.i = lshr i64 %.125.i, 20
  %.63.i.i = and i64 %.62.i.i, 1048575
  %.60.i.i = and i64 %.125.i, 1048575
  %.88.i.i = and i64 %.76.i.i, 2097151
  %14 = or i64 %.88.i.i, %.60.i.i
  %or.cond1.i.i = icmp eq i64 %14, 0
  %15 = icmp slt i64 %.125.i, 0
  %16 = xor i1 %15, %or.cond1.i.i
  %pending.0.i.i = select i1 %or.cond1.i.i, i64 %.63.i.i, i64 %.60.i.i
  %.134.i7.i = shl nuw nsw i64 %.63.i.i, 20
  %.136.i8.i = shl nuw nsw i64 %.88.i.i, 40
  %.137.i.i = or disjoint i64 %.136.i8.i, %.134.i7.i
  %.139.i9.i = select i1 %16, i64 -9223372036854775808, i64 0
  %.140.i.i = or disjoint i64 %.139.i9.i, %.137.i.i
  %.143.i.i = or disjoint i64 %.140.i.i, %pending.0.i.i
  %.145.i.i = or disjoint i64 %.143.i.i, 2305843009213693952
  br label %mbarrier_words.operated.exit.i

mbarrier_words.operated.exit.i:                   ; preds = %after.78.i.i, %after.48.i.i, %then.114.i
  %word.given.pn42.i.i = phi i64 [ %.125.i, %then.114.i ], [ %.145.i.i, %after.78.i.i ], [ %.125.i, %after.48.i.i ]
  store i64 %word.given.pn42.i.i, ptr %.118.i, align 1
  br label %bulk_copies.perform.exit

bulk_copies.perform.exit:                         ; preds = %after.96.i, %mbarrier_words.operated.exit.i
  %.137.i = getelementptr i8, ptr %transfer.given, i64 20
  store i32 0, ptr %.137.i, align 1
  call void @llvm.lifetime.end.p0(ptr nonnull %.48.i)
  %.19 = getelementptr i8, ptr %context.given, i64 416
  %.20 = load i8, ptr %.19, align 1
  %.21.not = icmp eq i8 %.20, 0
  br i1 %.21.not, label %after.17, label %then.16

then.16:                                          ; preds = %bulk_copies.perform.exit
  %.26 = getelementptr i8, ptr %context.given, i64 384
  %.27 = load ptr, ptr %.26, align 8
  %.28 = call i32 %.27(ptr %context.given, ptr nonnull %queue.given, ptr %transfer.given, i64 %before.0) #4
  br label %after.17

after.17:                                         ; preds = %then.16, %bulk_copies.perform.exit
  %.32 = getelementptr i8, ptr %context.given, i64 417
  %.33 = load i8, ptr %.32, align 1
  %.34.not = icmp eq i8 %.33, 0
  br i1 %.34.not, label %after.30, label %then.29

then.29:                                          ; preds = %after.17
  %.38 = getelementptr i8, ptr %context.given, i64 400
  %.39 = load ptr, ptr %.38, align 8
  %.40 = call i32 %.39(ptr %context.given, ptr nonnull %queue.given, ptr %transfer.given) #4
  br label %after.30

after.30:                                         ; preds = %then.29, %after.17
  ret void
}

define internal fastcc i64 @tensor_maps.rows(ptr readonly captures(none) %map.given) unnamed_addr #5 {
entry.1:
  %.7.i = getelementptr i8, ptr %map.given, i64 64
  %.8.i = load i64, ptr %.7.i, align 1
  %.9.not.i.not = icmp eq i64 %.8.i, 0
  br i1 %.9.not.i.not, label %after.4, label %then.3

common.ret:                                       ; preds = %do.17, %after.4, %then.3
  %common.ret.op = phi i64 [ %.11, %then.3 ], [ 1, %after.4 ], [ %.26, %do.17 ]
  ret i64 %common.ret.op

then.3:                                           ; preds = %entry.1
  %.9 = getelementptr i8, ptr %map.given, i64 88
  %.10 = load i64, ptr %.9, align 1
  %.11 = lshr i64 %.10, 32
  br label %common.ret

after.4:                                          ; preds = %entry.1
  %.6.i.i = getelementptr i8, ptr %map.given, i64 8
  %.7.i.i = load i64, ptr %.6.i.i, align 1
  %0 = trunc i64 %.7.i.i to i32
  %1 = lshr i32 %0, 4
  %2 = and i32 %1, 7
  %.6.i = add nuw nsw i32 %2, 1
  %.14 = zext nneg i32 %.6.i to i64
  %.2110.not = icmp eq i32 %2, 0
  br i1 %.2110.not, label %common.ret, label %do.17

do.17:                                            ; preds = %after.4, %do.17
  %count.012 = phi i64 [ %.26, %do.17 ], [ 1, %after.4 ]
  %.15.011 = phi i64 [ %.28, %do.17 ], [ 1, %after.4 ]
  %.10.i5 = shl nuw nsw i64 %.15.011, 3
  %.12.i = add nuw nsw i64 %.10.i5, 440
  %.5.i.i = lshr i64 %.12.i, 6
  %.6.i.i6 = getelementptr i64, ptr %map.given, i64 %.5.i.i
  %.7.i.i7 = load i64, ptr %.6.i.i6, align 1
  %.9.i.i = and i64 %.12.i, 56
  %.10.i.i8 = lshr i64 %.7.i.i7, %.9.i.i
  %.12.i.i9 = and i64 %.10.i.i8, 255
  %.10.i5.i = mul nuw nsw i64 %.15.011, 3
  %.11.i6.i = add nuw nsw i64 %.10.i5.i, 416
  %.5.i.i7.i = lshr i64 %.11.i6.i, 6
  %.6.i.i8.i = getelementptr i64, ptr %map.given, i64 %.5.i.i7.i
  %.7.i.i9.i = load i64, ptr %.6.i.i8.i, align 1
  %.9.i.i10.i = and i64 %.11.i6.i, 63
  %.10.i.i11.i = lshr i64 %.7.i.i9.i, %.9.i.i10.i
  %.12.i.i12.i = and i64 %.10.i.i11.i, 7
  %.13.i13.i = add nuw nsw i64 %.12.i.i12.i, 1
  %.15.i = add nuw nsw i64 %.12.i.i12.i, 1
  %.10.i = add nuw nsw i64 %.15.i, %.12.i.i9
  %.14.i = udiv i64 %.10.i, %.13.i13.i
  %.26 = mul i64 %.14.i, %count.012
  %.28 = add nuw nsw i64 %.15.011, 1
  %.21 = icmp samesign ult i64 %.28, %.14
  br i1 %.21, label %do.17, label %common.ret
}

define internal fastcc { i1, i64, i64, i64 } @tensor_maps.row_place(ptr readonly captures(none) %map.given, ptr readonly captures(none) %place.given, ptr readonly captures(none) %shift.given, i64 %row.given) unnamed_addr #5 {
entry.1:
  %.6.i.i = getelementptr i8, ptr %map.given, i64 8
  %.7.i.i = load i64, ptr %.6.i.i, align 1
  %.7.i53 = getelementptr i8, ptr %map.given, i64 64
  %.8.i = load i64, ptr %.7.i53, align 1
  %.9.not.i.not = icmp eq i64 %.8.i, 0
  %0 = trunc i64 %.7.i.i to i32
  %1 = lshr i32 %0, 4
  %2 = and i32 %1, 7
  br i1 %.9.not.i.not, label %else.7, label %then.6

then.6:                                           ; preds = %entry.1
  %3 = zext nneg i32 %2 to i64
  %.15 = add nsw i64 %3, -1
  %.18 = zext nneg i32 %2 to i64
  %.19 = getelementptr i32, ptr %place.given, i64 %.18
  %.20 = load i32, ptr %.19, align 1
  %.21 = sext i32 %.20 to i64
  %.30236.not = icmp eq i64 %.15, 0
  br i1 %.30236.not, label %after.28, label %do.26.lr.ph

do.26.lr.ph:                                      ; preds = %then.6
  %.5.i64 = getelementptr i8, ptr %map.given, i64 72
  %.6.i65 = load i64, ptr %.5.i64, align 1
  %.5.i67 = getelementptr i8, ptr %map.given, i64 80
  %.6.i68 = load i64, ptr %.5.i67, align 1
  br label %do.26

else.7:                                           ; preds = %entry.1
  %.6.i63 = add nuw nsw i32 %2, 1
  %.135 = zext nneg i32 %.6.i63 to i64
  %.142243.not = icmp eq i32 %2, 0
  br i1 %.142243.not, label %after.8, label %do.138

after.8:                                          ; preds = %after.165, %else.7, %after.115
  %inside.2 = phi i1 [ %inside.4, %after.115 ], [ true, %else.7 ], [ %inside.5, %after.165 ]
  %offset.2 = phi i64 [ %.132, %after.115 ], [ 0, %else.7 ], [ %.180, %after.165 ]
  %.185 = load i32, ptr %place.given, align 1
  %.9.not.i.not.i = icmp eq i64 %.8.i, 0
  br i1 %.9.not.i.not.i, label %no.4.i, label %yes.3.i

yes.3.i:                                          ; preds = %after.8
  %.10.i225 = getelementptr i8, ptr %map.given, i64 88
  %.11.i226 = load i64, ptr %.10.i225, align 1
  %.12.i227 = and i64 %.11.i226, 4294967295
  br label %tensor_maps.row_bytes.exit

no.4.i:                                           ; preds = %after.8
  %.6.i.i2.i = getelementptr i8, ptr %map.given, i64 48
  %.7.i.i3.i = load i64, ptr %.6.i.i2.i, align 1
  %.10.i.i4.i = lshr i64 %.7.i.i3.i, 56
  %.15.i.i = add nuw nsw i64 %.10.i.i4.i, 1
  br label %tensor_maps.row_bytes.exit

tensor_maps.row_bytes.exit:                       ; preds = %yes.3.i, %no.4.i
  %.15.i228 = phi i64 [ %.12.i227, %yes.3.i ], [ %.15.i.i, %no.4.i ]
  %.186 = sext i32 %.185 to i64
  %.197 = sub nsw i64 0, %.186
  %4 = lshr i64 %.7.i.i, 5
  %.5.i = and i64 %4, 60
  %.6.i = lshr i64 2767075165217, %.5.i
  %.7.i = and i64 %.6.i, 15
  %5 = lshr i64 %.7.i.i, 5
  %.5.i.i231 = and i64 %5, 60
  %.6.i.i232 = lshr i64 2767075165217, %.5.i.i231
  %.7.i.i233 = and i64 %.6.i.i232, 15
  %.19.i = mul nuw nsw i64 %.15.i228, %.7.i.i233
  %.190 = udiv i64 %.19.i, %.7.i
  %.195 = icmp slt i32 %.185, 0
  %.198 = select i1 %.195, i64 %.197, i64 0
  %.6.i.i109 = getelementptr i8, ptr %map.given, i64 32
  %.7.i.i110 = load i64, ptr %.6.i.i109, align 1
  %.12.i.i112 = and i64 %.7.i.i110, 4294967295
  %reass.sub = sub nsw i64 %.12.i.i112, %.186
  %.202 = add nsw i64 %reass.sub, 1
  %spec.select = tail call i64 @llvm.smin.i64(i64 %.202, i64 %.190)
  %.213.not = icmp slt i64 %.198, %spec.select
  %inside.6 = select i1 %.213.not, i1 %inside.2, i1 false
  %low_end.0 = select i1 %.213.not, i64 %.198, i64 0
  %high_end.1 = select i1 %.213.not, i64 %spec.select, i64 0
  %.217 = mul nsw i64 %.7.i, %.186
  %.218 = add i64 %.217, %offset.2
  %.220 = insertvalue { i1, i64, i64, i64 } undef, i1 %inside.6, 0
  %.222 = insertvalue { i1, i64, i64, i64 } %.220, i64 %.218, 1
  %.225 = mul nsw i64 %low_end.0, %.7.i
  %.226 = insertvalue { i1, i64, i64, i64 } %.222, i64 %.225, 2
  %.229 = mul nsw i64 %high_end.1, %.7.i
  %.230 = insertvalue { i1, i64, i64, i64 } %.226, i64 %.229, 3
  ret { i1, i64, i64, i64 } %.230

do.26:                                            ; preds = %do.26.lr.ph, %chosen.48
  %offset.0240 = phi i64 [ 0, %do.26.lr.ph ], [ %.108, %chosen.48 ]
  %inside.0239 = phi i1 [ true, %do.26.lr.ph ], [ %spec.select234, %chosen.48 ]
  %carry.0238 = phi i64 [ %row.given, %do.26.lr.ph ], [ %.89, %chosen.48 ]
  %.24.0237 = phi i64 [ 0, %do.26.lr.ph ], [ %.36, %chosen.48 ]
  %.8.i66 = shl i64 %.24.0237, 4
  %.9.i = lshr i64 %.6.i65, %.8.i66
  %.10.i = and i64 %.9.i, 65535
  %.15.i = icmp samesign ugt i64 %.10.i, 32767
  %masksel = select i1 %.15.i, i64 -65536, i64 0
  %spec.select.i = or disjoint i64 %masksel, %.10.i
  %.36 = add nuw i64 %.24.0237, 1
  %.5.i75 = shl i64 %.36, 5
  %.6.i76 = add i64 %.5.i75, 256
  %.5.i.i = lshr i64 %.6.i76, 6
  %.6.i.i77 = getelementptr i64, ptr %map.given, i64 %.5.i.i
  %.7.i.i78 = load i64, ptr %.6.i.i77, align 1
  %.9.i.i = and i64 %.5.i75, 32
  %.10.i.i79 = lshr i64 %.7.i.i78, %.9.i.i
  %.12.i.i80 = and i64 %.10.i.i79, 4294967295
  %.8.i81 = add nuw nsw i64 %.12.i.i80, 1
  %.9.i70 = lshr i64 %.6.i68, %.8.i66
  %.10.i71 = and i64 %.9.i70, 65535
  %.15.i72 = icmp samesign ugt i64 %.10.i71, 32767
  %masksel235 = select i1 %.15.i72, i64 -65536, i64 0
  %spec.select.i74 = or disjoint i64 %masksel235, %.10.i71
  %.41 = add nsw i64 %.8.i81, %spec.select.i74
  %.10.i114 = mul i64 %.36, 3
  %.11.i115 = add i64 %.10.i114, 416
  %.5.i.i116 = lshr i64 %.11.i115, 6
  %.6.i.i117 = getelementptr i64, ptr %map.given, i64 %.5.i.i116
  %.7.i.i118 = load i64, ptr %.6.i.i117, align 1
  %.9.i.i119 = and i64 %.11.i115, 63
  %.10.i.i120 = lshr i64 %.7.i.i118, %.9.i.i119
  %.12.i.i121 = and i64 %.10.i.i120, 7
  %.13.i = add nuw nsw i64 %.12.i.i121, 1
  %.51 = icmp sgt i64 %.41, %spec.select.i
  br i1 %.51, label %yes.46, label %chosen.48

after.28:                                         ; preds = %chosen.48, %then.6
  %carry.0.lcssa = phi i64 [ %row.given, %then.6 ], [ %.89, %chosen.48 ]
  %inside.0.lcssa = phi i1 [ true, %then.6 ], [ %spec.select234, %chosen.48 ]
  %offset.0.lcssa = phi i64 [ 0, %then.6 ], [ %.108, %chosen.48 ]
  %.113 = add i64 %carry.0.lcssa, %.21
  %.118 = icmp slt i64 %.113, 0
  br i1 %.118, label %then.114, label %or.116

yes.46:                                           ; preds = %do.26
  %.54 = sub nsw i64 %.12.i.i121, %spec.select.i
  %.57 = add nsw i64 %.54, %.41
  %.59 = udiv i64 %.57, %.13.i
  br label %chosen.48

chosen.48:                                        ; preds = %do.26, %yes.46
  %.60 = phi i64 [ %.59, %yes.46 ], [ 1, %do.26 ]
  %.64 = getelementptr i32, ptr %place.given, i64 %.36
  %.65 = load i32, ptr %.64, align 1
  %.66 = sext i32 %.65 to i64
  %.68 = sub nsw i64 %.66, %spec.select.i
  %.70 = udiv i64 %.68, %.13.i
  %.73 = add i64 %.70, %carry.0238
  %.77 = urem i64 %.73, %.60
  %.79 = mul i64 %.77, %.13.i
  %.80 = add i64 %.79, %spec.select.i
  %.83 = getelementptr i32, ptr %shift.given, i64 %.24.0237
  %.84 = load i32, ptr %.83, align 1
  %.85 = sext i32 %.84 to i64
  %.86 = add i64 %.80, %.85
  %.89 = udiv i64 %.73, %.60
  %or.cond = icmp ule i64 %.86, %.12.i.i80
  %spec.select234 = select i1 %or.cond, i1 %inside.0239, i1 false
  %.6.i132 = shl i64 %.24.0237, 5
  %.7.i133 = add i64 %.6.i132, 96
  %.5.i2.i = lshr i64 %.7.i133, 6
  %.6.i3.i = getelementptr i64, ptr %map.given, i64 %.5.i2.i
  %.7.i4.i = load i64, ptr %.6.i3.i, align 1
  %.9.i5.i = and i64 %.7.i133, 32
  %.10.i6.i = lshr i64 %.7.i4.i, %.9.i5.i
  %.13.i134 = shl i64 %.24.0237, 2
  %.14.i = add i64 %.13.i134, 224
  %.5.i.i135 = lshr i64 %.14.i, 6
  %.6.i.i136 = getelementptr i64, ptr %map.given, i64 %.5.i.i135
  %.7.i.i137 = load i64, ptr %.6.i.i136, align 1
  %.9.i.i138 = and i64 %.14.i, 60
  %.10.i.i139 = lshr i64 %.7.i.i137, %.9.i.i138
  %.12.i.i140 = shl i64 %.10.i.i139, 36
  %6 = and i64 %.12.i.i140, 1030792151040
  %.12.i7.i = shl i64 %.10.i6.i, 4
  %7 = and i64 %.12.i7.i, 68719476720
  %.18.i = or disjoint i64 %6, %7
  %.107 = mul i64 %.18.i, %.86
  %.108 = add i64 %.107, %offset.0240
  %.30 = icmp ult i64 %.36, %.15
  br i1 %.30, label %do.26, label %after.28

then.114:                                         ; preds = %or.116, %after.28
  br label %after.115

after.115:                                        ; preds = %or.116, %then.114
  %inside.4 = phi i1 [ false, %then.114 ], [ %inside.0.lcssa, %or.116 ]
  %.5.i141 = add nsw i64 %.18, -1
  %.6.i142 = shl nsw i64 %.5.i141, 5
  %.7.i143 = add nsw i64 %.6.i142, 96
  %.5.i2.i144 = lshr i64 %.7.i143, 6
  %.6.i3.i145 = getelementptr i64, ptr %map.given, i64 %.5.i2.i144
  %.7.i4.i146 = load i64, ptr %.6.i3.i145, align 1
  %.9.i5.i147 = and i64 %.7.i143, 32
  %.10.i6.i148 = lshr i64 %.7.i4.i146, %.9.i5.i147
  %.13.i150 = shl nsw i64 %.5.i141, 2
  %.6.i.i153 = getelementptr i8, ptr %map.given, i64 24
  %.7.i.i154 = load i64, ptr %.6.i.i153, align 1
  %8 = and i64 %.13.i150, 60
  %.9.i.i155 = xor i64 %8, 32
  %.10.i.i156 = lshr i64 %.7.i.i154, %.9.i.i155
  %.12.i.i157 = shl i64 %.10.i.i156, 36
  %9 = and i64 %.12.i.i157, 1030792151040
  %.12.i7.i149 = shl i64 %.10.i6.i148, 4
  %10 = and i64 %.12.i7.i149, 68719476720
  %.18.i158 = or disjoint i64 %9, %10
  %.131 = mul i64 %.18.i158, %.113
  %.132 = add i64 %.131, %offset.0.lcssa
  br label %after.8

or.116:                                           ; preds = %after.28
  %.5.i91 = shl nuw nsw i64 %.18, 5
  %.6.i92 = lshr i64 %.18, 1
  %11 = getelementptr i64, ptr %map.given, i64 %.6.i92
  %.6.i.i94 = getelementptr i8, ptr %11, i64 32
  %.7.i.i95 = load i64, ptr %.6.i.i94, align 1
  %.9.i.i96 = and i64 %.5.i91, 32
  %.10.i.i97 = lshr i64 %.7.i.i95, %.9.i.i96
  %.12.i.i98 = and i64 %.10.i.i97, 4294967295
  %.124.not.not = icmp sgt i64 %.113, %.12.i.i98
  br i1 %.124.not.not, label %then.114, label %after.115

do.138:                                           ; preds = %else.7, %after.165
  %offset.1247 = phi i64 [ %.180, %after.165 ], [ 0, %else.7 ]
  %inside.1246 = phi i1 [ %inside.5, %after.165 ], [ true, %else.7 ]
  %left.0245 = phi i64 [ %.152, %after.165 ], [ %row.given, %else.7 ]
  %.136.0244 = phi i64 [ %.182, %after.165 ], [ 1, %else.7 ]
  %.10.i215 = shl nuw nsw i64 %.136.0244, 3
  %.12.i216 = add nuw nsw i64 %.10.i215, 440
  %.5.i.i218 = lshr i64 %.12.i216, 6
  %.6.i.i219 = getelementptr i64, ptr %map.given, i64 %.5.i.i218
  %.7.i.i220 = load i64, ptr %.6.i.i219, align 1
  %.9.i.i221 = and i64 %.12.i216, 56
  %.10.i.i222 = lshr i64 %.7.i.i220, %.9.i.i221
  %.12.i.i223 = and i64 %.10.i.i222, 255
  %.10.i5.i = mul nuw nsw i64 %.136.0244, 3
  %.11.i6.i = add nuw nsw i64 %.10.i5.i, 416
  %.5.i.i7.i = lshr i64 %.11.i6.i, 6
  %.6.i.i8.i = getelementptr i64, ptr %map.given, i64 %.5.i.i7.i
  %.7.i.i9.i = load i64, ptr %.6.i.i8.i, align 1
  %.9.i.i10.i = and i64 %.11.i6.i, 63
  %.10.i.i11.i = lshr i64 %.7.i.i9.i, %.9.i.i10.i
  %.12.i.i12.i = and i64 %.10.i.i11.i, 7
  %.13.i13.i = add nuw nsw i64 %.12.i.i12.i, 1
  %.15.i224 = add nuw nsw i64 %.12.i.i12.i, 1
  %.10.i179 = add nuw nsw i64 %.15.i224, %.12.i.i223
  %.14.i181 = udiv i64 %.10.i179, %.13.i13.i
  %.147 = urem i64 %left.0245, %.14.i181
  %.152 = udiv i64 %left.0245, %.14.i181
  %.155 = getelementptr i32, ptr %place.given, i64 %.136.0244
  %.156 = load i32, ptr %.155, align 1
  %.157 = sext i32 %.156 to i64
  %.162 = mul nuw nsw i64 %.13.i13.i, %.147
  %.163 = add nsw i64 %.162, %.157
  %.168 = icmp slt i64 %.163, 0
  br i1 %.168, label %then.164, label %or.166

then.164:                                         ; preds = %or.166, %do.138
  br label %after.165

after.165:                                        ; preds = %or.166, %then.164
  %inside.5 = phi i1 [ false, %then.164 ], [ %inside.1246, %or.166 ]
  %.5.i159 = add nsw i64 %.136.0244, -1
  %.6.i160 = shl i64 %.5.i159, 5
  %.7.i161 = add nuw nsw i64 %.6.i160, 96
  %.5.i2.i162 = lshr i64 %.7.i161, 6
  %.6.i3.i163 = getelementptr i64, ptr %map.given, i64 %.5.i2.i162
  %.7.i4.i164 = load i64, ptr %.6.i3.i163, align 1
  %.9.i5.i165 = and i64 %.7.i161, 32
  %.10.i6.i166 = lshr i64 %.7.i4.i164, %.9.i5.i165
  %.13.i168 = shl i64 %.5.i159, 2
  %.14.i169 = add nuw nsw i64 %.13.i168, 224
  %.5.i.i170 = lshr i64 %.14.i169, 6
  %.6.i.i171 = getelementptr i64, ptr %map.given, i64 %.5.i.i170
  %.7.i.i172 = load i64, ptr %.6.i.i171, align 1
  %.9.i.i173 = and i64 %.14.i169, 60
  %.10.i.i174 = lshr i64 %.7.i.i172, %.9.i.i173
  %.12.i.i175 = shl i64 %.10.i.i174, 36
  %12 = and i64 %.12.i.i175, 1030792151040
  %.12.i7.i167 = shl i64 %.10.i6.i166, 4
  %13 = and i64 %.12.i7.i167, 68719476720
  %.18.i176 = or disjoint i64 %12, %13
  %.179 = mul i64 %.18.i176, %.163
  %.180 = add i64 %.179, %offset.1247
  %.182 = add nuw nsw i64 %.136.0244, 1
  %.142 = icmp samesign ult i64 %.182, %.135
  br i1 %.142, label %do.138, label %after.8

or.166:                                           ; preds = %do.138
  %.5.i100 = shl i64 %.136.0244, 5
  %.6.i101 = add nuw nsw i64 %.5.i100, 256
  %.5.i.i102 = lshr i64 %.6.i101, 6
  %.6.i.i103 = getelementptr i64, ptr %map.given, i64 %.5.i.i102
  %.7.i.i104 = load i64, ptr %.6.i.i103, align 1
  %.9.i.i105 = and i64 %.5.i100, 32
  %.10.i.i106 = lshr i64 %.7.i.i104, %.9.i.i105
  %.12.i.i107 = and i64 %.10.i.i106, 4294967295
  %.173.not.not = icmp sgt i64 %.163, %.12.i.i107
  br i1 %.173.not.not, label %then.164, label %after.165
}

define internal fastcc noundef i1 @bulk_instructions.send(ptr %context.given, ptr %cta.given, ptr %warp.given, ptr nonnull %queue.given, i32 range(i32 0, 32) %lane.given, ptr nonnull readonly captures(none) %asked.given, i64 %shared.given, i64 range(i64 2, 8) %log2.given, i64 %barrier.given, i64 range(i64 0, 131072) %ranks.given) unnamed_addr #4 {
entry.1:
  %.4 = getelementptr i8, ptr %asked.given, i64 100
  %.5 = load i32, ptr %.4, align 1
  %.6 = icmp ne i32 %.5, 0
  %.12 = select i1 %.6, i32 9, i32 10
  %.17 = icmp ugt i64 %shared.given, 8912895
  %.21 = icmp ugt i64 %shared.given, 524287
  %or.cond = and i1 %.21, %.6
  %or.cond24 = select i1 %.17, i1 true, i1 %or.cond
  br i1 %or.cond24, label %then.13, label %after.14

common.ret:                                       ; preds = %after.84, %then.32.i, %then.60.i, %then.106, %then.13
  %common.ret.op = phi i1 [ true, %then.13 ], [ true, %then.32.i ], [ true, %then.106 ], [ true, %then.60.i ], [ false, %after.84 ]
  ret i1 %common.ret.op

then.13:                                          ; preds = %entry.1
  %.26 = getelementptr i8, ptr %asked.given, i64 4
  %.27 = load i32, ptr %.26, align 1
  %.31 = getelementptr i8, ptr %asked.given, i64 24
  %.32 = load i64, ptr %.31, align 1
  %.34 = shl nuw nsw i64 1, %log2.given
  tail call void @record(ptr %context.given, ptr %warp.given, i32 range(i32 9, 13) %.12, i32 %.27, i32 range(i32 0, 32) %lane.given, i64 %shared.given) #4
  %.12.i = getelementptr i8, ptr %context.given, i64 456
  store i64 %.32, ptr %.12.i, align 1
  %.16.i = getelementptr i8, ptr %context.given, i64 464
  store i64 %.34, ptr %.16.i, align 1
  br label %common.ret

after.14:                                         ; preds = %entry.1
  %.40 = icmp eq i64 %ranks.given, 0
  br i1 %.40, label %then.37, label %after.38

then.37:                                          ; preds = %after.14
  %.45 = icmp ult i64 %shared.given, 524288
  br i1 %.45, label %yes.41, label %no.42

after.38:                                         ; preds = %chosen.43, %after.14
  %blocks.0 = phi i64 [ %.55, %chosen.43 ], [ %ranks.given, %after.14 ]
  %.59 = getelementptr i8, ptr %context.given, i64 344
  %.60 = load ptr, ptr %.59, align 1
  %.61.not = icmp eq ptr %.60, null
  br i1 %.61.not, label %after.57, label %then.56

yes.41:                                           ; preds = %then.37
  %.47 = getelementptr i8, ptr %cta.given, i64 80
  %.48 = load i32, ptr %.47, align 1
  %.49 = zext nneg i32 %.48 to i64
  br label %chosen.43

no.42:                                            ; preds = %then.37
  %.5223 = lshr i64 %shared.given, 19
  %.53 = add nsw i64 %.5223, -1
  br label %chosen.43

chosen.43:                                        ; preds = %no.42, %yes.41
  %.49.pn = phi i64 [ %.49, %yes.41 ], [ %.53, %no.42 ]
  %.55 = shl nuw i64 1, %.49.pn
  br label %after.38

then.56:                                          ; preds = %after.38
  %.66 = getelementptr i8, ptr %asked.given, i64 4
  %.67 = load i32, ptr %.66, align 1
  %.68 = shl i32 %.67, 3
  %.69 = zext i32 %.68 to i64
  %.70 = getelementptr i64, ptr %.60, i64 %.69
  %.74 = trunc i64 %blocks.0 to i32
  %.75 = and i32 %.74, 65535
  %.5.i = load i64, ptr %.70, align 1
  %.6.i = add i64 %.5.i, 1
  store i64 %.6.i, ptr %.70, align 1
  %.11.i = load i32, ptr %.4, align 1
  %.12.not.i = icmp eq i32 %.11.i, 0
  br i1 %.12.not.i, label %after.8.i, label %then.7.i

then.7.i:                                         ; preds = %then.56
  %.14.i = getelementptr i8, ptr %.70, i64 48
  %.15.i = load i64, ptr %.14.i, align 1
  %.17.i = getelementptr i8, ptr %asked.given, i64 24
  %.18.i = load i64, ptr %.17.i, align 1
  %.19.i = add i64 %.18.i, %.15.i
  store i64 %.19.i, ptr %.14.i, align 1
  %.25.i = load i32, ptr %asked.given, align 1
  %.41.i = getelementptr i8, ptr %asked.given, i64 136
  %.42.i = load i64, ptr %.41.i, align 1
  switch i32 %.25.i, label %else.21.i [
    i32 1, label %then.20.i
    i32 5, label %then.20.i
  ]

after.8.i:                                        ; preds = %then.56
  %.45.i = getelementptr i8, ptr %.70, i64 8
  %.46.i = load i64, ptr %.45.i, align 1
  %.48.i = getelementptr i8, ptr %asked.given, i64 136
  %.49.i = load i64, ptr %.48.i, align 1
  %.50.i = add i64 %.49.i, %.46.i
  store i64 %.50.i, ptr %.45.i, align 1
  %.52.i = getelementptr i8, ptr %.70, i64 32
  %.53.i = load i64, ptr %.52.i, align 1
  %.56.i = load i64, ptr %.48.i, align 1
  %.58.i = tail call range(i32 0, 17) i32 @llvm.ctpop.i32(i32 range(i32 0, 65536) %.75)
  %.59.i = zext nneg i32 %.58.i to i64
  %.60.i = mul i64 %.56.i, %.59.i
  %.61.i = add i64 %.60.i, %.53.i
  store i64 %.61.i, ptr %.52.i, align 1
  %.63.i = getelementptr i8, ptr %.70, i64 40
  %.64.i = load i64, ptr %.63.i, align 1
  %.66.i = getelementptr i8, ptr %asked.given, i64 24
  %.67.i = load i64, ptr %.66.i, align 1
  %.71.i = mul i64 %.67.i, %.59.i
  %.72.i = add i64 %.71.i, %.64.i
  store i64 %.72.i, ptr %.63.i, align 1
  %.77.i = load i32, ptr %asked.given, align 1
  %.78.i = icmp ult i32 %.77.i, 3
  br i1 %.78.i, label %and.75.i, label %after.57

then.20.i:                                        ; preds = %then.7.i, %then.7.i
  %.31.i = getelementptr i8, ptr %.70, i64 24
  %.32.i = load i64, ptr %.31.i, align 1
  %.36.i = add i64 %.42.i, %.32.i
  store i64 %.36.i, ptr %.31.i, align 1
  br label %after.57

else.21.i:                                        ; preds = %then.7.i
  %.38.i = getelementptr i8, ptr %.70, i64 16
  %.39.i = load i64, ptr %.38.i, align 1
  %.43.i = add i64 %.42.i, %.39.i
  store i64 %.43.i, ptr %.38.i, align 1
  br label %after.57

then.73.i:                                        ; preds = %and.75.i
  %.87.not.i = icmp eq i32 %.77.i, 2
  br i1 %.87.not.i, label %after.84.i, label %then.83.i

and.75.i:                                         ; preds = %after.8.i
  %.81.i = load i64, ptr %.48.i, align 1
  %.82.i = icmp eq i64 %.81.i, 0
  br i1 %.82.i, label %then.73.i, label %after.57

then.83.i:                                        ; preds = %then.73.i
  %.89.i = getelementptr i8, ptr %.70, i64 48
  %.90.i = load i64, ptr %.89.i, align 1
  %.93.i = load i64, ptr %.66.i, align 1
  %.94.i = add i64 %.93.i, %.90.i
  store i64 %.94.i, ptr %.89.i, align 1
  br label %after.84.i

after.84.i:                                       ; preds = %then.83.i, %then.73.i
  %.96.i = getelementptr i8, ptr %.70, i64 56
  %.97.i = load i64, ptr %.96.i, align 1
  %.100.i = load i64, ptr %.66.i, align 1
  %.103.i = getelementptr i8, ptr %cta.given, i64 80
  %.104.i = load i32, ptr %.103.i, align 1
  %.105.i = shl nuw i32 1, %.104.i
  %.106.i = xor i32 %.105.i, -1
  %.107.i = and i32 %.75, %.106.i
  %.108.i = tail call range(i32 0, 17) i32 @llvm.ctpop.i32(i32 %.107.i)
  %.109.i = zext nneg i32 %.108.i to i64
  %.110.i = mul i64 %.100.i, %.109.i
  %.111.i = add i64 %.110.i, %.97.i
  store i64 %.111.i, ptr %.96.i, align 1
  br label %after.57

after.57:                                         ; preds = %after.84.i, %and.75.i, %else.21.i, %then.20.i, %after.8.i, %after.38
  %.4.i = and i64 %shared.given, 524287
  %invariant.op = or disjoint i64 %.4.i, 524288
  %.99 = getelementptr i8, ptr %asked.given, i64 24
  %.103 = xor i1 %.6, true
  %.104 = zext i1 %.103 to i32
  %.137 = getelementptr i8, ptr %context.given, i64 736
  %.6.i28 = getelementptr i8, ptr %queue.given, i64 8
  %.13.i = getelementptr i8, ptr %queue.given, i64 40
  %.32.i32 = getelementptr i8, ptr %queue.given, i64 40
  %.7.i41 = getelementptr i8, ptr %asked.given, i64 4
  %.12.i44 = getelementptr i8, ptr %asked.given, i64 8
  %.17.i47 = getelementptr i8, ptr %asked.given, i64 12
  %.29.i51 = getelementptr i8, ptr %asked.given, i64 32
  %.34.i54 = getelementptr i8, ptr %asked.given, i64 40
  %.39.i57 = getelementptr i8, ptr %asked.given, i64 48
  %.46.i60 = getelementptr i8, ptr %asked.given, i64 80
  %.51.i = getelementptr i8, ptr %asked.given, i64 84
  %.61.i65 = getelementptr i8, ptr %asked.given, i64 104
  %.66.i67 = getelementptr i8, ptr %asked.given, i64 112
  %.71.i69 = getelementptr i8, ptr %asked.given, i64 120
  %.79.i = getelementptr i8, ptr %asked.given, i64 128
  %.90.i70 = getelementptr i8, ptr %asked.given, i64 144
  %.102.i = getelementptr i8, ptr %asked.given, i64 184
  %.120.i = getelementptr i8, ptr %asked.given, i64 152
  %.138.i = getelementptr i8, ptr %asked.given, i64 172
  %.196 = icmp ne i64 %ranks.given, 0
  %.9.i78 = icmp ult i64 %barrier.given, 8912896
  %or.cond.not.i = select i1 %.196, i1 %.9.i78, i1 false
  %.14.i79 = icmp ugt i64 %barrier.given, 524287
  %.2011.i = lshr i64 %barrier.given, 19
  %.21.i = add nsw i64 %.2011.i, -1
  %.16.i95 = getelementptr i8, ptr %cta.given, i64 80
  %.4.i.i = and i64 %barrier.given, 524287
  %invariant.op127 = or disjoint i64 %.4.i.i, 524288
  %0 = trunc i64 %barrier.given to i32
  %.86.i = and i32 %0, 524287
  %.160 = getelementptr i8, ptr %queue.given, i64 16
  %.163 = getelementptr i8, ptr %cta.given, i64 80
  %.166 = getelementptr i8, ptr %queue.given, i64 24
  %.6.i98 = getelementptr i8, ptr %context.given, i64 416
  %.12.i101 = getelementptr i8, ptr %context.given, i64 376
  %.18.i104 = getelementptr i8, ptr %context.given, i64 417
  %.24.i106 = getelementptr i8, ptr %context.given, i64 392
  %brmerge = select i1 %.196, i1 true, i1 %.14.i79
  br label %do.78

do.78:                                            ; preds = %after.57, %after.84
  %.76.0125 = phi i64 [ 0, %after.57 ], [ %.202, %after.84 ]
  %1 = shl nuw nsw i64 1, %.76.0125
  %2 = and i64 %1, %blocks.0
  %.89.not = icmp eq i64 %2, 0
  br i1 %.89.not, label %after.84, label %then.83

then.83:                                          ; preds = %do.78
  %.6.i25 = shl nuw nsw i64 %.76.0125, 19
  %.8.i.reass = add nuw nsw i64 %.6.i25, %invariant.op
  %.100 = load i64, ptr %.99, align 1
  %.105 = tail call ptr @resolve(ptr %context.given, ptr %cta.given, ptr %warp.given, i32 %lane.given, i64 %.8.i.reass, i64 %.100, i64 %log2.given, i32 6, i32 %.104, ptr null) #4
  %.109 = icmp eq ptr %.105, null
  br i1 %.109, label %then.106, label %after.107

after.84:                                         ; preds = %then.15.i, %after.4.i, %do.78
  %.202 = add nuw nsw i64 %.76.0125, 1
  %.82 = icmp samesign ult i64 %.76.0125, 15
  br i1 %.82, label %do.78, label %common.ret

then.106:                                         ; preds = %then.83
  %.115 = getelementptr i8, ptr %cta.given, i64 80
  %.116 = load i32, ptr %.115, align 1
  %.117 = zext i32 %.116 to i64
  %.118 = icmp eq i64 %.76.0125, %.117
  %.121 = select i1 %.118, i64 %shared.given, i64 %.8.i.reass
  %.126 = getelementptr i8, ptr %asked.given, i64 4
  %.127 = load i32, ptr %.126, align 1
  %.132 = load i64, ptr %.99, align 1
  %.134 = shl nuw nsw i64 1, %log2.given
  tail call void @record(ptr %context.given, ptr %warp.given, i32 range(i32 9, 13) %.12, i32 %.127, i32 range(i32 0, 32) %lane.given, i64 %.121) #4
  %.12.i26 = getelementptr i8, ptr %context.given, i64 456
  store i64 %.132, ptr %.12.i26, align 1
  %.16.i27 = getelementptr i8, ptr %context.given, i64 464
  store i64 %.134, ptr %.16.i27, align 1
  br label %common.ret

after.107:                                        ; preds = %then.83
  %.138 = load ptr, ptr %.137, align 1
  %.7.i29 = load i64, ptr %.6.i28, align 1
  %.9.i = load i64, ptr %queue.given, align 1
  %.10.i30 = sub i64 %.7.i29, %.9.i
  %.11.i31 = icmp eq i64 %.10.i30, 128
  br i1 %.11.i31, label %then.3.i, label %bulk_copies.issue.exit

then.3.i:                                         ; preds = %after.107
  %.16.i37 = and i64 %.9.i, 127
  %.17.i38 = mul nuw nsw i64 %.16.i37, 312
  %.18.i39 = getelementptr i8, ptr %.13.i, i64 %.17.i38
  %.22.i = getelementptr i8, ptr %.18.i39, i64 20
  %.23.i = load i32, ptr %.22.i, align 1
  %.24.not.i = icmp eq i32 %.23.i, 0
  br i1 %.24.not.i, label %after.20.i, label %then.19.i

then.19.i:                                        ; preds = %then.3.i
  tail call fastcc void @bulk_copies.done(ptr %context.given, ptr nonnull %queue.given, ptr %.18.i39)
  br label %after.20.i

after.20.i:                                       ; preds = %then.19.i, %then.3.i
  %.29.i = load i64, ptr %queue.given, align 1
  %.30.i = add i64 %.29.i, 1
  store i64 %.30.i, ptr %queue.given, align 1
  br label %bulk_copies.issue.exit

bulk_copies.issue.exit:                           ; preds = %after.107, %after.20.i
  %.35.i33 = load i64, ptr %.6.i28, align 1
  %.36.i34 = and i64 %.35.i33, 127
  %.37.i = mul nuw nsw i64 %.36.i34, 312
  %.38.i35 = getelementptr i8, ptr %.32.i32, i64 %.37.i
  %.42.i36 = add i64 %.35.i33, 1
  store i64 %.42.i36, ptr %.6.i28, align 1
  %.44.i = getelementptr i8, ptr %.38.i35, i64 20
  store i32 1, ptr %.44.i, align 1
  %.4.i40 = load i32, ptr %asked.given, align 1
  store i32 %.4.i40, ptr %.38.i35, align 1
  %.8.i42 = load i32, ptr %.7.i41, align 1
  %.10.i43 = getelementptr i8, ptr %.38.i35, i64 4
  store i32 %.8.i42, ptr %.10.i43, align 1
  %.13.i45 = load i32, ptr %.12.i44, align 1
  %.15.i46 = getelementptr i8, ptr %.38.i35, i64 8
  store i32 %.13.i45, ptr %.15.i46, align 1
  %.18.i48 = load i32, ptr %.17.i47, align 1
  %.20.i = getelementptr i8, ptr %.38.i35, i64 12
  store i32 %.18.i48, ptr %.20.i, align 1
  %.22.i49 = getelementptr i8, ptr %.38.i35, i64 16
  store i32 0, ptr %.22.i49, align 1
  %.25.i50 = load i64, ptr %.99, align 1
  %.27.i = getelementptr i8, ptr %.38.i35, i64 24
  store i64 %.25.i50, ptr %.27.i, align 1
  %.30.i52 = load ptr, ptr %.29.i51, align 1
  %.32.i53 = getelementptr i8, ptr %.38.i35, i64 32
  store ptr %.30.i52, ptr %.32.i53, align 1
  %.35.i55 = load ptr, ptr %.34.i54, align 1
  %.37.i56 = getelementptr i8, ptr %.38.i35, i64 40
  store ptr %.35.i55, ptr %.37.i56, align 1
  %.40.i = load ptr, ptr %.39.i57, align 1
  %.42.i58 = getelementptr i8, ptr %.38.i35, i64 48
  store ptr %.40.i, ptr %.42.i58, align 1
  %.44.i59 = getelementptr i8, ptr %.38.i35, i64 56
  store ptr null, ptr %.44.i59, align 1
  %.47.i = load i32, ptr %.46.i60, align 1
  %.49.i61 = getelementptr i8, ptr %.38.i35, i64 80
  store i32 %.47.i, ptr %.49.i61, align 1
  %.52.i62 = load i32, ptr %.51.i, align 1
  %.54.i = getelementptr i8, ptr %.38.i35, i64 84
  store i32 %.52.i62, ptr %.54.i, align 1
  %.57.i = load i32, ptr %.4, align 1
  %.59.i64 = getelementptr i8, ptr %.38.i35, i64 100
  store i32 %.57.i, ptr %.59.i64, align 1
  %.62.i = load i64, ptr %.61.i65, align 1
  %.64.i66 = getelementptr i8, ptr %.38.i35, i64 104
  store i64 %.62.i, ptr %.64.i66, align 1
  %.67.i68 = load i64, ptr %.66.i67, align 1
  %.69.i = getelementptr i8, ptr %.38.i35, i64 112
  store i64 %.67.i68, ptr %.69.i, align 1
  %.73.i = load i64, ptr %.71.i69, align 1
  %.75.i = getelementptr i8, ptr %.38.i35, i64 120
  store i64 %.73.i, ptr %.75.i, align 1
  %.80.i = load i64, ptr %.79.i, align 1
  %.83.i = getelementptr i8, ptr %.38.i35, i64 128
  store i64 %.80.i, ptr %.83.i, align 1
  %.87.i = load i32, ptr %asked.given, align 1
  %.88.i = icmp ugt i32 %.87.i, 2
  br i1 %.88.i, label %then.84.i, label %bulk_instructions.fill_in.exit

then.84.i:                                        ; preds = %bulk_copies.issue.exit
  %.91.i = load i64, ptr %.90.i70, align 1
  %.93.i71 = getelementptr i8, ptr %.38.i35, i64 144
  store i64 %.91.i, ptr %.93.i71, align 1
  %.107.i72 = getelementptr i8, ptr %.38.i35, i64 184
  br label %do.96.i

for.113.preheader.i:                              ; preds = %do.96.i
  %.125.i = getelementptr i8, ptr %.38.i35, i64 152
  br label %do.114.i

do.96.i:                                          ; preds = %do.96.i, %then.84.i
  %.94.09.i = phi i64 [ 0, %then.84.i ], [ %.111.i76, %do.96.i ]
  %.104.i73 = getelementptr i64, ptr %.102.i, i64 %.94.09.i
  %.105.i74 = load i64, ptr %.104.i73, align 1
  %.109.i75 = getelementptr i64, ptr %.107.i72, i64 %.94.09.i
  store i64 %.105.i74, ptr %.109.i75, align 1
  %.111.i76 = add nuw nsw i64 %.94.09.i, 1
  %.100.i77 = icmp samesign ult i64 %.94.09.i, 15
  br i1 %.100.i77, label %do.96.i, label %for.113.preheader.i

for.131.preheader.i:                              ; preds = %do.114.i
  %.143.i = getelementptr i8, ptr %.38.i35, i64 172
  br label %do.132.i

do.114.i:                                         ; preds = %do.114.i, %for.113.preheader.i
  %.112.010.i = phi i64 [ 0, %for.113.preheader.i ], [ %.129.i, %do.114.i ]
  %.122.i = getelementptr i32, ptr %.120.i, i64 %.112.010.i
  %.123.i = load i32, ptr %.122.i, align 1
  %.127.i = getelementptr i32, ptr %.125.i, i64 %.112.010.i
  store i32 %.123.i, ptr %.127.i, align 1
  %.129.i = add nuw nsw i64 %.112.010.i, 1
  %.118.i = icmp samesign ult i64 %.112.010.i, 4
  br i1 %.118.i, label %do.114.i, label %for.131.preheader.i

do.132.i:                                         ; preds = %do.132.i, %for.131.preheader.i
  %.130.011.i = phi i64 [ 0, %for.131.preheader.i ], [ %.147.i, %do.132.i ]
  %.140.i = getelementptr i32, ptr %.138.i, i64 %.130.011.i
  %.141.i = load i32, ptr %.140.i, align 1
  %.145.i = getelementptr i32, ptr %.143.i, i64 %.130.011.i
  store i32 %.141.i, ptr %.145.i, align 1
  %.147.i = add nuw nsw i64 %.130.011.i, 1
  %.136.i = icmp samesign ult i64 %.130.011.i, 2
  br i1 %.136.i, label %do.132.i, label %bulk_instructions.fill_in.exit

bulk_instructions.fill_in.exit:                   ; preds = %do.132.i, %bulk_copies.issue.exit
  %.147 = getelementptr i8, ptr %.38.i35, i64 88
  store i64 %.4.i, ptr %.147, align 1
  %.149 = trunc nuw nsw i64 %.76.0125 to i32
  %.151 = getelementptr i8, ptr %.38.i35, i64 96
  store i32 %.149, ptr %.151, align 1
  br i1 %.6, label %then.152, label %else.153

then.152:                                         ; preds = %bulk_instructions.fill_in.exit
  store ptr %.105, ptr %.37.i56, align 1
  %.161 = load ptr, ptr %.160, align 1
  %.164 = load i32, ptr %.163, align 1
  %.167 = load i64, ptr %.166, align 1
  %.168 = zext i32 %.164 to i64
  %.169 = mul i64 %.167, %.168
  %.172 = load i32, ptr %.12.i44, align 1
  %.173 = zext i32 %.172 to i64
  %3 = getelementptr i32, ptr %.161, i64 %.169
  %.175 = getelementptr i32, ptr %3, i64 %.173
  %.176 = load i32, ptr %.175, align 1
  %.177 = add i32 %.176, 1
  store i32 %.177, ptr %.22.i49, align 1
  br label %after.154

else.153:                                         ; preds = %bulk_instructions.fill_in.exit
  store ptr %.105, ptr %.32.i53, align 1
  store ptr %.138, ptr %.42.i58, align 1
  %.76.0125.mux = select i1 %or.cond.not.i, i64 %.76.0125, i64 %.21.i
  br i1 %brmerge, label %after.5.i, label %yes.10.i

after.5.i:                                        ; preds = %else.153, %yes.10.i
  %target.0.i = phi i64 [ %.76.0125.mux, %else.153 ], [ %.18.i97, %yes.10.i ]
  %.6.i.i = shl nuw i64 %target.0.i, 19
  %.8.i.i.reass = add nuw i64 %.6.i.i, %invariant.op127
  %.31.i80 = tail call ptr @resolve(ptr %context.given, ptr %cta.given, ptr %warp.given, i32 range(i32 0, 32) %lane.given, i64 %.8.i.i.reass, i64 8, i64 3, i32 6, i32 1, ptr null) #4
  %.35.i81 = icmp eq ptr %.31.i80, null
  br i1 %.35.i81, label %then.32.i, label %after.33.i

yes.10.i:                                         ; preds = %else.153
  %.17.i96 = load i32, ptr %.16.i95, align 1
  %.18.i97 = zext i32 %.17.i96 to i64
  br label %after.5.i

then.32.i:                                        ; preds = %after.5.i
  %.44.i.le123 = getelementptr i8, ptr %.38.i35, i64 20
  %.10.i43.le120 = getelementptr i8, ptr %.38.i35, i64 4
  store i32 0, ptr %.44.i.le123, align 1
  %.43.i90 = getelementptr i8, ptr %cta.given, i64 80
  %.44.i91 = load i32, ptr %.43.i90, align 1
  %.45.i92 = zext i32 %.44.i91 to i64
  %.46.not.i = icmp eq i64 %target.0.i, %.45.i92
  %.50.i93 = select i1 %.46.not.i, i64 %.4.i.i, i64 %.8.i.i.reass
  %.55.i = load i32, ptr %.10.i43.le120, align 1
  tail call void @record(ptr %context.given, ptr %warp.given, i32 10, i32 %.55.i, i32 range(i32 0, 32) %lane.given, i64 %.50.i93) #4
  %.12.i.i = getelementptr i8, ptr %context.given, i64 456
  store i64 8, ptr %.12.i.i, align 1
  %.16.i.i = getelementptr i8, ptr %context.given, i64 464
  store i64 8, ptr %.16.i.i, align 1
  br label %common.ret

after.33.i:                                       ; preds = %after.5.i
  %.64.i82 = load i64, ptr %.31.i80, align 1
  %4 = and i64 %.64.i82, 6917529027641081856
  %.67.not.i = icmp eq i64 %4, 2305843009213693952
  br i1 %.67.not.i, label %after.61.i, label %then.60.i

then.60.i:                                        ; preds = %after.33.i
  %.44.i.le = getelementptr i8, ptr %.38.i35, i64 20
  %.10.i43.le = getelementptr i8, ptr %.38.i35, i64 4
  store i32 0, ptr %.44.i.le, align 1
  %.74.i = load i32, ptr %.10.i43.le, align 1
  tail call void @record(ptr %context.given, ptr %warp.given, i32 11, i32 %.74.i, i32 range(i32 0, 32) %lane.given, i64 1) #4
  %.12.i12.i = getelementptr i8, ptr %context.given, i64 456
  tail call void @llvm.memset.p0.i64(ptr noundef nonnull align 1 dereferenceable(16) %.12.i12.i, i8 0, i64 16, i1 false)
  br label %common.ret

after.61.i:                                       ; preds = %after.33.i
  store ptr %.31.i80, ptr %.44.i59, align 1
  %.81.i86 = trunc i64 %target.0.i to i32
  %.83.i87 = getelementptr i8, ptr %.38.i35, i64 64
  store i32 %.81.i86, ptr %.83.i87, align 1
  %.88.i88 = getelementptr i8, ptr %.38.i35, i64 68
  store i32 %.86.i, ptr %.88.i88, align 1
  br label %after.154

after.154:                                        ; preds = %after.61.i, %then.152
  %.7.i99 = load i8, ptr %.6.i98, align 1
  %.8.not.i = icmp eq i8 %.7.i99, 0
  br i1 %.8.not.i, label %after.4.i, label %then.3.i100

then.3.i100:                                      ; preds = %after.154
  %.13.i102 = load ptr, ptr %.12.i101, align 8
  %.14.i103 = tail call i32 %.13.i102(ptr %context.given, ptr nonnull %queue.given, ptr %.38.i35) #4
  br label %after.4.i

after.4.i:                                        ; preds = %then.3.i100, %after.154
  %.19.i105 = load i8, ptr %.18.i104, align 1
  %.20.not.i = icmp eq i8 %.19.i105, 0
  br i1 %.20.not.i, label %after.84, label %then.15.i

then.15.i:                                        ; preds = %after.4.i
  %.25.i107 = load ptr, ptr %.24.i106, align 8
  %.26.i = tail call i32 %.25.i107(ptr %context.given, ptr nonnull %queue.given, ptr %.38.i35) #4
  br label %after.84
}

declare ptr @resolve(ptr, ptr, ptr, i32, i64, i64, i64, i32, i32, ptr) local_unnamed_addr

declare void @record(ptr, ptr, i32, i32, i32, i64) local_unnamed_addr

define internal fastcc { i1, i64, i64, i64 } @tensor_maps.reach(ptr readonly captures(none) %map.given, ptr readonly captures(none) %place.given, ptr readonly captures(none) %shift.given) unnamed_addr #5 {
entry.1:
  %.7.i.i = getelementptr i8, ptr %map.given, i64 64
  %.8.i.i = load i64, ptr %.7.i.i, align 1
  %.9.not.i.not.i = icmp eq i64 %.8.i.i, 0
  br i1 %.9.not.i.not.i, label %after.4.i, label %then.3.i

then.3.i:                                         ; preds = %entry.1
  %.9.i = getelementptr i8, ptr %map.given, i64 88
  %.10.i = load i64, ptr %.9.i, align 1
  %.11.i = lshr i64 %.10.i, 32
  br label %tensor_maps.rows.exit

after.4.i:                                        ; preds = %entry.1
  %.6.i.i.i = getelementptr i8, ptr %map.given, i64 8
  %.7.i.i.i = load i64, ptr %.6.i.i.i, align 1
  %0 = trunc i64 %.7.i.i.i to i32
  %1 = lshr i32 %0, 4
  %2 = and i32 %1, 7
  %.6.i.i = add nuw nsw i32 %2, 1
  %.14.i = zext nneg i32 %.6.i.i to i64
  %.2110.not.i = icmp eq i32 %2, 0
  br i1 %.2110.not.i, label %tensor_maps.rows.exit, label %do.17.i

do.17.i:                                          ; preds = %after.4.i, %do.17.i
  %count.012.i = phi i64 [ %.26.i, %do.17.i ], [ 1, %after.4.i ]
  %.15.011.i = phi i64 [ %.28.i, %do.17.i ], [ 1, %after.4.i ]
  %.10.i5.i = shl nuw nsw i64 %.15.011.i, 3
  %.12.i.i = add nuw nsw i64 %.10.i5.i, 440
  %.5.i.i.i = lshr i64 %.12.i.i, 6
  %.6.i.i6.i = getelementptr i64, ptr %map.given, i64 %.5.i.i.i
  %.7.i.i7.i = load i64, ptr %.6.i.i6.i, align 1
  %.9.i.i.i = and i64 %.12.i.i, 56
  %.10.i.i8.i = lshr i64 %.7.i.i7.i, %.9.i.i.i
  %.12.i.i9.i = and i64 %.10.i.i8.i, 255
  %.10.i5.i.i = mul nuw nsw i64 %.15.011.i, 3
  %.11.i6.i.i = add nuw nsw i64 %.10.i5.i.i, 416
  %.5.i.i7.i.i = lshr i64 %.11.i6.i.i, 6
  %.6.i.i8.i.i = getelementptr i64, ptr %map.given, i64 %.5.i.i7.i.i
  %.7.i.i9.i.i = load i64, ptr %.6.i.i8.i.i, align 1
  %.9.i.i10.i.i = and i64 %.11.i6.i.i, 63
  %.10.i.i11.i.i = lshr i64 %.7.i.i9.i.i, %.9.i.i10.i.i
  %.12.i.i12.i.i = and i64 %.10.i.i11.i.i, 7
  %.13.i13.i.i = add nuw nsw i64 %.12.i.i12.i.i, 1
  %.10.i.i = add nuw nsw i64 %.13.i13.i.i, %.12.i.i9.i
  %.14.i.i = udiv i64 %.10.i.i, %.13.i13.i.i
  %.26.i = mul i64 %.14.i.i, %count.012.i
  %.28.i = add nuw nsw i64 %.15.011.i, 1
  %.21.i = icmp samesign ult i64 %.28.i, %.14.i
  br i1 %.21.i, label %do.17.i, label %tensor_maps.rows.exit

tensor_maps.rows.exit:                            ; preds = %do.17.i, %then.3.i, %after.4.i
  %common.ret.op.i = phi i64 [ %.11.i, %then.3.i ], [ 1, %after.4.i ], [ %.26.i, %do.17.i ]
  %.1113.not = icmp eq i64 %common.ret.op.i, 0
  br i1 %.1113.not, label %after.9, label %do.7

do.7:                                             ; preds = %tensor_maps.rows.exit, %after.22
  %low.018 = phi i64 [ %low.1, %after.22 ], [ 0, %tensor_maps.rows.exit ]
  %high.017 = phi i64 [ %high.1, %after.22 ], [ 0, %tensor_maps.rows.exit ]
  %some.016 = phi i1 [ %some.1, %after.22 ], [ false, %tensor_maps.rows.exit ]
  %inner.015 = phi i64 [ %inner.1, %after.22 ], [ 0, %tensor_maps.rows.exit ]
  %.5.014 = phi i64 [ %.52, %after.22 ], [ 0, %tensor_maps.rows.exit ]
  %.16 = tail call fastcc { i1, i64, i64, i64 } @tensor_maps.row_place(ptr %map.given, ptr %place.given, ptr %shift.given, i64 %.5.014)
  %.17 = extractvalue { i1, i64, i64, i64 } %.16, 0
  br i1 %.17, label %then.21, label %after.22

after.9:                                          ; preds = %after.22, %tensor_maps.rows.exit
  %inner.0.lcssa = phi i64 [ 0, %tensor_maps.rows.exit ], [ %inner.1, %after.22 ]
  %some.0.lcssa = phi i1 [ false, %tensor_maps.rows.exit ], [ %some.1, %after.22 ]
  %high.0.lcssa = phi i64 [ 0, %tensor_maps.rows.exit ], [ %high.1, %after.22 ]
  %low.0.lcssa = phi i64 [ 0, %tensor_maps.rows.exit ], [ %low.1, %after.22 ]
  %.54 = insertvalue { i1, i64, i64, i64 } undef, i1 %some.0.lcssa, 0
  %.56 = insertvalue { i1, i64, i64, i64 } %.54, i64 %low.0.lcssa, 1
  %.59 = sub i64 %high.0.lcssa, %low.0.lcssa
  %.60 = insertvalue { i1, i64, i64, i64 } %.56, i64 %.59, 2
  %.62 = insertvalue { i1, i64, i64, i64 } %.60, i64 %inner.0.lcssa, 3
  ret { i1, i64, i64, i64 } %.62

then.21:                                          ; preds = %do.7
  %.20 = extractvalue { i1, i64, i64, i64 } %.16, 3
  %.19 = extractvalue { i1, i64, i64, i64 } %.16, 2
  %.18 = extractvalue { i1, i64, i64, i64 } %.16, 1
  %.26 = add i64 %.18, %.19
  %.29 = add i64 %.18, %.20
  %3 = tail call i64 @llvm.umin.i64(i64 %.26, i64 %low.018)
  %spec.select = select i1 %some.016, i64 %3, i64 %.26
  %4 = tail call i64 @llvm.umax.i64(i64 %.29, i64 %high.017)
  %high.2 = select i1 %some.016, i64 %4, i64 %.29
  %.49 = sub i64 %inner.015, %.19
  %.50 = add i64 %.49, %.20
  br label %after.22

after.22:                                         ; preds = %then.21, %do.7
  %inner.1 = phi i64 [ %.50, %then.21 ], [ %inner.015, %do.7 ]
  %some.1 = phi i1 [ true, %then.21 ], [ %some.016, %do.7 ]
  %high.1 = phi i64 [ %high.2, %then.21 ], [ %high.017, %do.7 ]
  %low.1 = phi i64 [ %spec.select, %then.21 ], [ %low.018, %do.7 ]
  %.52 = add nuw i64 %.5.014, 1
  %.11 = icmp ult i64 %.52, %common.ret.op.i
  br i1 %.11, label %do.7, label %after.9
}

declare i64 @llvm.umin.i64(i64, i64) #6

declare i64 @llvm.umax.i64(i64, i64) #6

declare i64 @llvm.smin.i64(i64, i64) #6

declare void @llvm.lifetime.start.p0(ptr captures(none)) #7

declare void @llvm.lifetime.end.p0(ptr captures(none)) #7

attributes #0 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #1 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #3 = { mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #4 = { nounwind }
attributes #5 = { nofree norecurse nosync nounwind memory(argmem: read) }
attributes #6 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #7 = { nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
