; [["spread", "gather.up", "sync.lanes", "diverging.sync_waiting"], [], "0.50"]
; jit/translation/__init__.py jit/translation/conversions.py jit/translation/distinct_values.py jit/translation/expressions.py jit/translation/folding.py jit/translation/intrinsics.py jit/translation/ir.py jit/translation/rule_calls.py jit/translation/translator.py jit/translation/value_kinds.py language/__init__.py language/records.py language/rules.py language/types.py language/vectors.py rules/diverging.py runtime/state.py
; 8101686c186988065e092a0453ddbe545ee5bde7c77aec5bb987c71f6a331fad a47cf97af9b867cd34031794dde9343e0c5459250ed96c290e2cefe69c72e9eb
source_filename = "<string>"

declare i32 @llvm.cttz.i32(i32, i1 immarg) #0

define void @spread(ptr captures(none) %state.given, ptr readonly captures(none) %table.given, i32 %number.given) local_unnamed_addr #1 {
entry.1:
  %.109.not = icmp eq i32 %number.given, 0
  br i1 %.109.not, label %after.8, label %do.6

do.6:                                             ; preds = %entry.1, %after.29
  %.4.010 = phi i32 [ %.134, %after.29 ], [ 0, %entry.1 ]
  %.13 = zext i32 %.4.010 to i64
  %.14 = shl nuw nsw i64 %.13, 6
  %.15 = getelementptr i8, ptr %table.given, i64 %.14
  %.18 = load i32, ptr %.15, align 1
  %.19 = zext i32 %.18 to i64
  %.20 = getelementptr i8, ptr %state.given, i64 %.19
  %.23 = getelementptr i8, ptr %.15, i64 4
  %.24 = load i32, ptr %.23, align 1
  %.25 = zext i32 %.24 to i64
  %.26 = getelementptr i8, ptr %state.given, i64 %.25
  %.31 = getelementptr i8, ptr %.15, i64 20
  %.32 = load i32, ptr %.31, align 1
  %.33.not = icmp eq i32 %.32, 0
  %.54 = getelementptr i8, ptr %.15, i64 8
  %.55 = load i32, ptr %.54, align 1
  br i1 %.33.not, label %else.28, label %then.27

after.8:                                          ; preds = %after.29, %entry.1
  ret void

then.27:                                          ; preds = %do.6
  %.15.i = icmp eq i32 %.55, 8
  br i1 %.15.i, label %yes.9.i, label %no.10.i

yes.9.i:                                          ; preds = %then.27
  %.18.i = load i64, ptr %.26, align 1
  br label %chosen.11.i

no.10.i:                                          ; preds = %then.27
  %.21.i = load i32, ptr %.26, align 1
  %.22.i = zext i32 %.21.i to i64
  br label %chosen.11.i

chosen.11.i:                                      ; preds = %no.10.i, %yes.9.i
  %.23.i = phi i64 [ %.18.i, %yes.9.i ], [ %.22.i, %no.10.i ]
  %.5.i8.i = zext i32 %.32 to i64
  %.6.i9.i = getelementptr i8, ptr %table.given, i64 %.5.i8.i
  %.29.i = load <32 x i64>, ptr %.6.i9.i, align 1
  %.33.i = getelementptr i8, ptr %.15, i64 32
  %.34.i = load i32, ptr %.33.i, align 1
  %.35.not.i = icmp eq i32 %.34.i, 0
  br i1 %.35.not.i, label %after.31.i, label %then.30.i

then.30.i:                                        ; preds = %chosen.11.i
  %.38.i = getelementptr i8, ptr %.15, i64 36
  %.39.i = load i32, ptr %.38.i, align 1
  %.40.i = zext i32 %.39.i to i64
  %.41.i = getelementptr i8, ptr %state.given, i64 %.40.i
  %.49.i = icmp eq i32 %.55, 4
  br i1 %.49.i, label %yes.55.i, label %or.45.i

after.31.i:                                       ; preds = %chosen.57.i, %chosen.11.i
  %more.0.i = phi <32 x i64> [ %.78.i, %chosen.57.i ], [ %.29.i, %chosen.11.i ]
  %.82.i = getelementptr i8, ptr %.15, i64 24
  %.83.i = load i32, ptr %.82.i, align 1
  %.84.not.i = icmp eq i32 %.83.i, 0
  br i1 %.84.not.i, label %after.80.i, label %then.79.i

or.45.i:                                          ; preds = %then.30.i
  %.51.i = getelementptr i8, ptr %.15, i64 24
  %.52.i = load i32, ptr %.51.i, align 1
  %.53.i.not = icmp eq i32 %.52.i, 0
  br i1 %.53.i.not, label %no.56.i, label %yes.55.i

yes.55.i:                                         ; preds = %or.45.i, %then.30.i
  %.61.i = load i32, ptr %.41.i, align 1
  %.62.i = zext i32 %.61.i to i64
  br label %chosen.57.i

no.56.i:                                          ; preds = %or.45.i
  %.65.i = load i64, ptr %.41.i, align 1
  br label %chosen.57.i

chosen.57.i:                                      ; preds = %no.56.i, %yes.55.i
  %.66.i = phi i64 [ %.62.i, %yes.55.i ], [ %.65.i, %no.56.i ]
  %.5.i6.i = zext i32 %.34.i to i64
  %.6.i7.i = getelementptr i8, ptr %table.given, i64 %.5.i6.i
  %.73.i = load <32 x i64>, ptr %.6.i7.i, align 1
  %.75.i = insertelement <32 x i64> poison, i64 %.66.i, i64 0
  %.76.i = shufflevector <32 x i64> %.75.i, <32 x i64> poison, <32 x i32> zeroinitializer
  %.77.i = mul <32 x i64> %.76.i, %.73.i
  %.78.i = add <32 x i64> %.77.i, %.29.i
  br label %after.31.i

then.79.i:                                        ; preds = %after.31.i
  %.89.i = zext i32 %.83.i to i64
  %.90.i = getelementptr i8, ptr %state.given, i64 %.89.i
  %.92.i = load i32, ptr %.90.i, align 1
  %.94.i = zext i32 %.92.i to i64
  %.95.i = insertelement <32 x i64> poison, i64 %.94.i, i64 0
  %.96.i = shufflevector <32 x i64> %.95.i, <32 x i64> poison, <32 x i32> zeroinitializer
  %.98.i = add <32 x i64> %.96.i, %more.0.i
  %.100.i = and <32 x i64> %.98.i, splat (i64 4294967295)
  %.104.i = getelementptr i8, ptr %.15, i64 28
  %.105.i = load i32, ptr %.104.i, align 1
  %.106.not.i = icmp eq i32 %.105.i, 0
  br i1 %.106.not.i, label %after.102.i, label %then.101.i

after.80.i:                                       ; preds = %after.102.i, %after.31.i
  %more.1.i = phi <32 x i64> [ %.116.i, %after.102.i ], [ %more.0.i, %after.31.i ]
  %.120.i = getelementptr i8, ptr %.15, i64 40
  %.121.i = load i32, ptr %.120.i, align 1
  %.122.not.i = icmp eq i32 %.121.i, 0
  br i1 %.122.not.i, label %diverging.all_lanes.exit, label %then.117.i

then.101.i:                                       ; preds = %then.79.i
  %sext.i = shl <32 x i64> %.98.i, splat (i64 32)
  %.109.i = ashr exact <32 x i64> %sext.i, splat (i64 32)
  br label %after.102.i

after.102.i:                                      ; preds = %then.101.i, %then.79.i
  %more.2.i = phi <32 x i64> [ %.109.i, %then.101.i ], [ %.100.i, %then.79.i ]
  %.112.i = getelementptr i8, ptr %.15, i64 48
  %.113.i = load i64, ptr %.112.i, align 1
  %.114.i = insertelement <32 x i64> poison, i64 %.113.i, i64 0
  %.115.i = shufflevector <32 x i64> %.114.i, <32 x i64> poison, <32 x i32> zeroinitializer
  %.116.i = mul <32 x i64> %.115.i, %more.2.i
  br label %after.80.i

then.117.i:                                       ; preds = %after.80.i
  %.5.i.i = zext i32 %.121.i to i64
  %.6.i.i = getelementptr i8, ptr %table.given, i64 %.5.i.i
  %.129.i = load <32 x i64>, ptr %.6.i.i, align 1
  %.130.i = add <32 x i64> %.129.i, %more.1.i
  br label %diverging.all_lanes.exit

diverging.all_lanes.exit:                         ; preds = %after.80.i, %then.117.i
  %more.3.i = phi <32 x i64> [ %.130.i, %then.117.i ], [ %more.1.i, %after.80.i ]
  %.133.i = insertelement <32 x i64> poison, i64 %.23.i, i64 0
  %.134.i = shufflevector <32 x i64> %.133.i, <32 x i64> poison, <32 x i32> zeroinitializer
  %.135.i = add <32 x i64> %more.3.i, %.134.i
  br i1 %.15.i, label %then.38, label %else.39

else.28:                                          ; preds = %do.6
  switch i32 %.55, label %else.101 [
    i32 8, label %then.50
    i32 4, label %then.63
    i32 2, label %do.87
    i32 1, label %do.109
  ]

after.29:                                         ; preds = %do.109, %do.87, %else.101, %then.63, %then.50, %then.38, %else.39
  %.134 = add nuw i32 %.4.010, 1
  %.10 = icmp ult i32 %.134, %number.given
  br i1 %.10, label %do.6, label %after.8

then.38:                                          ; preds = %diverging.all_lanes.exit
  store <32 x i64> %.135.i, ptr %.20, align 1
  br label %after.29

else.39:                                          ; preds = %diverging.all_lanes.exit
  %.49 = trunc <32 x i64> %.135.i to <32 x i32>
  store <32 x i32> %.49, ptr %.20, align 1
  br label %after.29

then.50:                                          ; preds = %else.28
  %.60 = load i64, ptr %.26, align 1
  %.61 = insertelement <32 x i64> poison, i64 %.60, i64 0
  %.62 = shufflevector <32 x i64> %.61, <32 x i64> poison, <32 x i32> zeroinitializer
  store <32 x i64> %.62, ptr %.20, align 1
  br label %after.29

then.63:                                          ; preds = %else.28
  %.73 = load i32, ptr %.26, align 1
  %0 = insertelement <32 x i32> poison, i32 %.73, i64 0
  %.77 = shufflevector <32 x i32> %0, <32 x i32> poison, <32 x i32> zeroinitializer
  store <32 x i32> %.77, ptr %.20, align 1
  br label %after.29

do.87:                                            ; preds = %else.28, %do.87
  %.85.08 = phi i64 [ %.99, %do.87 ], [ 0, %else.28 ]
  %.94 = load i16, ptr %.26, align 1
  %.97 = getelementptr i16, ptr %.20, i64 %.85.08
  store i16 %.94, ptr %.97, align 1
  %.99 = add nuw nsw i64 %.85.08, 1
  %.91 = icmp samesign ult i64 %.85.08, 31
  br i1 %.91, label %do.87, label %after.29

else.101:                                         ; preds = %else.28
  %.127 = load i8, ptr %.26, align 1
  %.128.not = icmp ne i8 %.127, 0
  %.130 = sext i1 %.128.not to i32
  store i32 %.130, ptr %.20, align 1
  br label %after.29

do.109:                                           ; preds = %else.28, %do.109
  %.107.07 = phi i64 [ %.121, %do.109 ], [ 0, %else.28 ]
  %.116 = load i8, ptr %.26, align 1
  %.119 = getelementptr i8, ptr %.20, i64 %.107.07
  store i8 %.116, ptr %.119, align 1
  %.121 = add nuw nsw i64 %.107.07, 1
  %.113 = icmp samesign ult i64 %.107.07, 31
  br i1 %.113, label %do.109, label %after.29
}

define noundef i1 @gather.up(ptr captures(none) %state.given, ptr readonly %table.given, i32 %number.given, i32 %mask.given, i64 %changed.given) local_unnamed_addr #1 {
entry.1:
  %.1245 = icmp eq i32 %number.given, 0
  br i1 %.1245, label %common.ret, label %do.8.lr.ph

do.8.lr.ph:                                       ; preds = %entry.1
  %.4 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %mask.given, i1 false)
  %.34.i.i = bitcast i32 %mask.given to <32 x i1>
  %.23.i.i = bitcast i32 %mask.given to <32 x i1>
  %.21.i59.i = zext nneg i32 %.4 to i64
  %.16.i62.i = zext nneg i32 %.4 to i64
  %.31.i = zext nneg i32 %.4 to i64
  %.41.not186.i = icmp eq i32 %mask.given, 0
  %.34.i45.i = bitcast i32 %mask.given to <32 x i1>
  %.23.i53.i = bitcast i32 %mask.given to <32 x i1>
  %.61.i = zext nneg i32 %.4 to i64
  %.80.i = bitcast i32 %mask.given to <32 x i1>
  %.27.i = zext nneg i32 %.4 to i64
  %.54.i = bitcast i32 %mask.given to <32 x i1>
  %.166 = zext nneg i32 %.4 to i64
  %.175.not38 = icmp eq i32 %mask.given, 0
  %.128 = zext nneg i32 %.4 to i64
  %.137.not41 = icmp eq i32 %mask.given, 0
  %.101 = zext nneg i32 %.4 to i64
  %.111 = bitcast i32 %mask.given to <32 x i1>
  %.74 = zext nneg i32 %.4 to i64
  %.84 = bitcast i32 %mask.given to <32 x i1>
  br label %do.8

do.8:                                             ; preds = %do.8.lr.ph, %next.9
  %.6.046 = phi i32 [ 0, %do.8.lr.ph ], [ %.224, %next.9 ]
  %.15 = zext i32 %.6.046 to i64
  %.16 = shl nuw nsw i64 %.15, 6
  %.17 = getelementptr i8, ptr %table.given, i64 %.16
  %.20 = load i32, ptr %.17, align 1
  %.21 = zext i32 %.20 to i64
  %.22 = getelementptr i8, ptr %state.given, i64 %.21
  %.25 = getelementptr i8, ptr %.17, i64 4
  %.26 = load i32, ptr %.25, align 1
  %.27 = zext i32 %.26 to i64
  %.28 = getelementptr i8, ptr %state.given, i64 %.27
  %.33 = getelementptr i8, ptr %.17, i64 12
  %.34 = load i32, ptr %.33, align 1
  %.35 = zext nneg i32 %.34 to i64
  %0 = shl nuw i64 1, %.35
  %1 = and i64 %0, %changed.given
  %.38 = icmp eq i64 %1, 0
  br i1 %.38, label %next.9, label %after.30

next.9:                                           ; preds = %diverging.lanes_match.exit.i, %after.41, %do.8
  %.224 = add nuw i32 %.6.046, 1
  %.12.not = icmp ult i32 %.224, %number.given
  br i1 %.12.not, label %do.8, label %common.ret

common.ret:                                       ; preds = %next.9, %after.41, %entry.1
  %.12.lcssa = phi i1 [ true, %entry.1 ], [ true, %next.9 ], [ false, %after.41 ]
  ret i1 %.12.lcssa

after.30:                                         ; preds = %do.8
  %.43 = getelementptr i8, ptr %.17, i64 32
  %.44 = load i32, ptr %.43, align 1
  %.45.not = icmp eq i32 %.44, 0
  br i1 %.45.not, label %else.40, label %then.39

then.39:                                          ; preds = %after.30
  %.13.i99.i = getelementptr i8, ptr %.17, i64 8
  %.14.i100.i = load i32, ptr %.13.i99.i, align 1
  %.15.i101.i = icmp eq i32 %.14.i100.i, 8
  br i1 %.15.i101.i, label %yes.9.i182.i, label %no.10.i102.i

yes.9.i182.i:                                     ; preds = %then.39
  %.18.i183.i = load i64, ptr %.28, align 1
  br label %chosen.11.i105.i

no.10.i102.i:                                     ; preds = %then.39
  %.21.i103.i = load i32, ptr %.28, align 1
  %.22.i104.i = zext i32 %.21.i103.i to i64
  br label %chosen.11.i105.i

chosen.11.i105.i:                                 ; preds = %no.10.i102.i, %yes.9.i182.i
  %.23.i106.i = phi i64 [ %.18.i183.i, %yes.9.i182.i ], [ %.22.i104.i, %no.10.i102.i ]
  %.26.i107.i = getelementptr i8, ptr %.17, i64 20
  %.27.i108.i = load i32, ptr %.26.i107.i, align 1
  %.5.i8.i109.i = zext i32 %.27.i108.i to i64
  %.6.i9.i110.i = getelementptr i8, ptr %table.given, i64 %.5.i8.i109.i
  %.29.i111.i = load <32 x i64>, ptr %.6.i9.i110.i, align 1
  %.38.i116.i = getelementptr i8, ptr %.17, i64 36
  %.39.i117.i = load i32, ptr %.38.i116.i, align 1
  %.40.i118.i = zext i32 %.39.i117.i to i64
  %.41.i119.i = getelementptr i8, ptr %state.given, i64 %.40.i118.i
  %.49.i121.i = icmp eq i32 %.14.i100.i, 4
  br i1 %.49.i121.i, label %yes.55.i179.i, label %or.45.i122.i

or.45.i122.i:                                     ; preds = %chosen.11.i105.i
  %.51.i123.i = getelementptr i8, ptr %.17, i64 24
  %.52.i124.i = load i32, ptr %.51.i123.i, align 1
  %.53.i125.not.i = icmp eq i32 %.52.i124.i, 0
  br i1 %.53.i125.not.i, label %no.56.i126.i, label %yes.55.i179.i

yes.55.i179.i:                                    ; preds = %or.45.i122.i, %chosen.11.i105.i
  %.61.i180.i = load i32, ptr %.41.i119.i, align 1
  %.62.i181.i = zext i32 %.61.i180.i to i64
  br label %chosen.57.i128.i

no.56.i126.i:                                     ; preds = %or.45.i122.i
  %.65.i127.i = load i64, ptr %.41.i119.i, align 1
  br label %chosen.57.i128.i

chosen.57.i128.i:                                 ; preds = %no.56.i126.i, %yes.55.i179.i
  %.66.i129.i = phi i64 [ %.62.i181.i, %yes.55.i179.i ], [ %.65.i127.i, %no.56.i126.i ]
  %.5.i6.i131.i = zext i32 %.44 to i64
  %.6.i7.i132.i = getelementptr i8, ptr %table.given, i64 %.5.i6.i131.i
  %.73.i133.i = load <32 x i64>, ptr %.6.i7.i132.i, align 1
  %.75.i134.i = insertelement <32 x i64> poison, i64 %.66.i129.i, i64 0
  %.76.i135.i = shufflevector <32 x i64> %.75.i134.i, <32 x i64> poison, <32 x i32> zeroinitializer
  %.77.i136.i = mul <32 x i64> %.76.i135.i, %.73.i133.i
  %.78.i137.i = add <32 x i64> %.77.i136.i, %.29.i111.i
  %.82.i140.i = getelementptr i8, ptr %.17, i64 24
  %.83.i141.i = load i32, ptr %.82.i140.i, align 1
  %.84.not.i142.i = icmp eq i32 %.83.i141.i, 0
  br i1 %.84.not.i142.i, label %after.80.i165.i, label %then.79.i143.i

then.79.i143.i:                                   ; preds = %chosen.57.i128.i
  %.89.i144.i = zext i32 %.83.i141.i to i64
  %.90.i145.i = getelementptr i8, ptr %state.given, i64 %.89.i144.i
  %.92.i146.i = load i32, ptr %.90.i145.i, align 1
  %.94.i147.i = zext i32 %.92.i146.i to i64
  %.95.i148.i = insertelement <32 x i64> poison, i64 %.94.i147.i, i64 0
  %.96.i149.i = shufflevector <32 x i64> %.95.i148.i, <32 x i64> poison, <32 x i32> zeroinitializer
  %.98.i150.i = add <32 x i64> %.96.i149.i, %.78.i137.i
  %.100.i151.i = and <32 x i64> %.98.i150.i, splat (i64 4294967295)
  %.104.i152.i = getelementptr i8, ptr %.17, i64 28
  %.105.i153.i = load i32, ptr %.104.i152.i, align 1
  %.106.not.i154.i = icmp eq i32 %.105.i153.i, 0
  br i1 %.106.not.i154.i, label %after.102.i158.i, label %then.101.i155.i

after.80.i165.i:                                  ; preds = %after.102.i158.i, %chosen.57.i128.i
  %more.1.i166.i = phi <32 x i64> [ %.116.i164.i, %after.102.i158.i ], [ %.78.i137.i, %chosen.57.i128.i ]
  %.120.i167.i = getelementptr i8, ptr %.17, i64 40
  %.121.i168.i = load i32, ptr %.120.i167.i, align 1
  %.122.not.i169.i = icmp eq i32 %.121.i168.i, 0
  br i1 %.122.not.i169.i, label %diverging.all_lanes.exit184.i, label %then.117.i170.i

then.101.i155.i:                                  ; preds = %then.79.i143.i
  %sext.i156.i = shl <32 x i64> %.98.i150.i, splat (i64 32)
  %.109.i157.i = ashr exact <32 x i64> %sext.i156.i, splat (i64 32)
  br label %after.102.i158.i

after.102.i158.i:                                 ; preds = %then.101.i155.i, %then.79.i143.i
  %more.2.i159.i = phi <32 x i64> [ %.109.i157.i, %then.101.i155.i ], [ %.100.i151.i, %then.79.i143.i ]
  %.112.i160.i = getelementptr i8, ptr %.17, i64 48
  %.113.i161.i = load i64, ptr %.112.i160.i, align 1
  %.114.i162.i = insertelement <32 x i64> poison, i64 %.113.i161.i, i64 0
  %.115.i163.i = shufflevector <32 x i64> %.114.i162.i, <32 x i64> poison, <32 x i32> zeroinitializer
  %.116.i164.i = mul <32 x i64> %.115.i163.i, %more.2.i159.i
  br label %after.80.i165.i

then.117.i170.i:                                  ; preds = %after.80.i165.i
  %.5.i.i171.i = zext i32 %.121.i168.i to i64
  %.6.i.i172.i = getelementptr i8, ptr %table.given, i64 %.5.i.i171.i
  %.129.i173.i = load <32 x i64>, ptr %.6.i.i172.i, align 1
  %.130.i174.i = add <32 x i64> %.129.i173.i, %more.1.i166.i
  br label %diverging.all_lanes.exit184.i

diverging.all_lanes.exit184.i:                    ; preds = %then.117.i170.i, %after.80.i165.i
  %more.3.i175.i = phi <32 x i64> [ %.130.i174.i, %then.117.i170.i ], [ %more.1.i166.i, %after.80.i165.i ]
  %.133.i176.i = insertelement <32 x i64> poison, i64 %.23.i106.i, i64 0
  %.134.i177.i = shufflevector <32 x i64> %.133.i176.i, <32 x i64> poison, <32 x i32> zeroinitializer
  %.135.i178.i = add <32 x i64> %more.3.i175.i, %.134.i177.i
  br i1 %.15.i101.i, label %then.12.i.i, label %after.13.i.i

then.12.i.i:                                      ; preds = %diverging.all_lanes.exit184.i
  %.19.i.i = load <32 x i64>, ptr %.22, align 1
  %.21.i.i = icmp ne <32 x i64> %.19.i.i, %.135.i178.i
  %.24.i.i = and <32 x i1> %.21.i.i, %.23.i.i
  br label %diverging.lanes_match.exit.i

after.13.i.i:                                     ; preds = %diverging.all_lanes.exit184.i
  %.29.i.i = load <32 x i32>, ptr %.22, align 1
  %.31.i.i = trunc <32 x i64> %.135.i178.i to <32 x i32>
  %.32.i.i = icmp ne <32 x i32> %.29.i.i, %.31.i.i
  %.35.i.i = and <32 x i1> %.32.i.i, %.34.i.i
  br label %diverging.lanes_match.exit.i

diverging.lanes_match.exit.i:                     ; preds = %after.13.i.i, %then.12.i.i
  %common.ret.op.in.in.i.i = phi <32 x i1> [ %.24.i.i, %then.12.i.i ], [ %.35.i.i, %after.13.i.i ]
  %common.ret.op.in.i.i = bitcast <32 x i1> %common.ret.op.in.in.i.i to i32
  %common.ret.op.i.i = icmp eq i32 %common.ret.op.in.i.i, 0
  br i1 %common.ret.op.i.i, label %next.9, label %after.4.i

after.4.i:                                        ; preds = %diverging.lanes_match.exit.i
  %.12.i25 = getelementptr i8, ptr %.17, i64 16
  %.13.i = load i32, ptr %.12.i25, align 1
  %.5.i.i = zext i32 %.13.i to i64
  %.6.i.i = getelementptr i8, ptr %table.given, i64 %.5.i.i
  %.5.i31.i = zext i32 %.44 to i64
  %.6.i32.i = getelementptr i8, ptr %table.given, i64 %.5.i31.i
  br i1 %.15.i101.i, label %then.8.i.i, label %after.9.i.i

then.8.i.i:                                       ; preds = %after.4.i
  %.17.i63.i = getelementptr i64, ptr %.22, i64 %.16.i62.i
  %.18.i.i = load i64, ptr %.17.i63.i, align 1
  br label %diverging.lane_of.exit.i

after.9.i.i:                                      ; preds = %after.4.i
  %.22.i.i = getelementptr i32, ptr %.22, i64 %.21.i59.i
  %.23.i60.i = load i32, ptr %.22.i.i, align 1
  %.26.i.i = sext i32 %.23.i60.i to i64
  br label %diverging.lane_of.exit.i

diverging.lane_of.exit.i:                         ; preds = %after.9.i.i, %then.8.i.i
  %common.ret.op.i61.i = phi i64 [ %.18.i.i, %then.8.i.i ], [ %.26.i.i, %after.9.i.i ]
  %.32.i = getelementptr i64, ptr %.6.i.i, i64 %.31.i
  %.33.i = load i64, ptr %.32.i, align 1
  %.34.i26 = sub i64 %common.ret.op.i61.i, %.33.i
  br i1 %.41.not186.i, label %after.39.i, label %do.38.lr.ph.i

do.38.lr.ph.i:                                    ; preds = %diverging.lane_of.exit.i
  %.55.i27 = getelementptr i64, ptr %.6.i32.i, i64 %.31.i
  %.56.i = load i64, ptr %.55.i27, align 1
  br label %do.38.i

do.38.i:                                          ; preds = %after.46.i, %do.38.lr.ph.i
  %stride.0188.i = phi i64 [ 0, %do.38.lr.ph.i ], [ %stride.1.i, %after.46.i ]
  %.35.0187.i = phi i32 [ %mask.given, %do.38.lr.ph.i ], [ %.44.i30, %after.46.i ]
  %.42.i28 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.35.0187.i, i1 true)
  %.43.i29 = add i32 %.35.0187.i, -1
  %.44.i30 = and i32 %.43.i29, %.35.0187.i
  %.49.i = zext nneg i32 %.42.i28 to i64
  %.50.i31 = getelementptr i64, ptr %.6.i32.i, i64 %.49.i
  %.51.i = load i64, ptr %.50.i31, align 1
  %.57.i = sub i64 %.51.i, %.56.i
  %.58.i = icmp eq i64 %.57.i, 1
  br i1 %.58.i, label %then.45.i, label %after.46.i

after.39.i:                                       ; preds = %after.46.i, %diverging.lane_of.exit.i
  %stride.0.lcssa.i = phi i64 [ 0, %diverging.lane_of.exit.i ], [ %stride.1.i, %after.46.i ]
  %.83.i = icmp eq i32 %.14.i100.i, 4
  br i1 %.83.i, label %then.77.i, label %else.78.i

then.45.i:                                        ; preds = %do.38.i
  br i1 %.15.i101.i, label %then.8.i76.i, label %after.9.i70.i

then.8.i76.i:                                     ; preds = %then.45.i
  %.17.i78.i = getelementptr i64, ptr %.22, i64 %.49.i
  %.18.i79.i = load i64, ptr %.17.i78.i, align 1
  br label %diverging.lane_of.exit80.i

after.9.i70.i:                                    ; preds = %then.45.i
  %.22.i72.i = getelementptr i32, ptr %.22, i64 %.49.i
  %.23.i73.i = load i32, ptr %.22.i72.i, align 1
  %.26.i74.i = sext i32 %.23.i73.i to i64
  br label %diverging.lane_of.exit80.i

diverging.lane_of.exit80.i:                       ; preds = %after.9.i70.i, %then.8.i76.i
  %common.ret.op.i75.i = phi i64 [ %.18.i79.i, %then.8.i76.i ], [ %.26.i74.i, %after.9.i70.i ]
  %.66.i = getelementptr i64, ptr %.6.i.i, i64 %.49.i
  %.67.i37 = load i64, ptr %.66.i, align 1
  %2 = add i64 %.34.i26, %.67.i37
  %.70.i = sub i64 %common.ret.op.i75.i, %2
  br label %after.46.i

after.46.i:                                       ; preds = %diverging.lane_of.exit80.i, %do.38.i
  %stride.1.i = phi i64 [ %.70.i, %diverging.lane_of.exit80.i ], [ %stride.0188.i, %do.38.i ]
  %.41.not.i = icmp eq i32 %.44.i30, 0
  br i1 %.41.not.i, label %after.39.i, label %do.38.i

then.77.i:                                        ; preds = %after.39.i
  %.85.i = trunc i64 %stride.0.lcssa.i to i32
  %.88.i33 = getelementptr i8, ptr %.17, i64 36
  %.89.i34 = load i32, ptr %.88.i33, align 1
  %.90.i = zext i32 %.89.i34 to i64
  %.91.i = getelementptr i8, ptr %state.given, i64 %.90.i
  store i32 %.85.i, ptr %.91.i, align 1
  %.97.i = getelementptr i64, ptr %.6.i32.i, i64 %.31.i
  %.98.i = load i64, ptr %.97.i, align 1
  %.100.i35 = mul i64 %.98.i, %stride.0.lcssa.i
  %.101.i36 = sub i64 %.34.i26, %.100.i35
  %.102.i = trunc i64 %.101.i36 to i32
  store i32 %.102.i, ptr %.28, align 1
  br label %after.79.i

else.78.i:                                        ; preds = %after.39.i
  br i1 %.84.not.i142.i, label %then.105.i, label %else.106.i

after.79.i:                                       ; preds = %after.166.i, %then.105.i, %then.77.i
  %.6.i84.i = load i32, ptr %.25, align 1
  %.7.i85.i = zext i32 %.6.i84.i to i64
  %.8.i.i = getelementptr i8, ptr %state.given, i64 %.7.i85.i
  %.14.i.i = load i32, ptr %.13.i99.i, align 1
  %.15.i87.i = icmp eq i32 %.14.i.i, 8
  br i1 %.15.i87.i, label %yes.9.i.i, label %no.10.i.i

yes.9.i.i:                                        ; preds = %after.79.i
  %.18.i94.i = load i64, ptr %.8.i.i, align 1
  br label %chosen.11.i.i

no.10.i.i:                                        ; preds = %after.79.i
  %.21.i88.i = load i32, ptr %.8.i.i, align 1
  %.22.i89.i = zext i32 %.21.i88.i to i64
  br label %chosen.11.i.i

chosen.11.i.i:                                    ; preds = %no.10.i.i, %yes.9.i.i
  %.23.i90.i = phi i64 [ %.18.i94.i, %yes.9.i.i ], [ %.22.i89.i, %no.10.i.i ]
  %.27.i.i = load i32, ptr %.26.i107.i, align 1
  %.5.i8.i.i = zext i32 %.27.i.i to i64
  %.6.i9.i.i = getelementptr i8, ptr %table.given, i64 %.5.i8.i.i
  %.29.i92.i = load <32 x i64>, ptr %.6.i9.i.i, align 1
  %.34.i93.i = load i32, ptr %.43, align 1
  %.35.not.i.i = icmp eq i32 %.34.i93.i, 0
  br i1 %.35.not.i.i, label %after.31.i.i, label %then.30.i.i

then.30.i.i:                                      ; preds = %chosen.11.i.i
  %.38.i.i = getelementptr i8, ptr %.17, i64 36
  %.39.i.i = load i32, ptr %.38.i.i, align 1
  %.40.i.i = zext i32 %.39.i.i to i64
  %.41.i.i = getelementptr i8, ptr %state.given, i64 %.40.i.i
  %.49.i.i = icmp eq i32 %.14.i.i, 4
  br i1 %.49.i.i, label %yes.55.i.i, label %or.45.i.i

after.31.i.i:                                     ; preds = %chosen.57.i.i, %chosen.11.i.i
  %more.0.i.i = phi <32 x i64> [ %.78.i.i, %chosen.57.i.i ], [ %.29.i92.i, %chosen.11.i.i ]
  %.83.i.i = load i32, ptr %.82.i140.i, align 1
  %.84.not.i.i = icmp eq i32 %.83.i.i, 0
  br i1 %.84.not.i.i, label %after.80.i.i, label %then.79.i.i

or.45.i.i:                                        ; preds = %then.30.i.i
  %.52.i.i = load i32, ptr %.82.i140.i, align 1
  %.53.i.not.i = icmp eq i32 %.52.i.i, 0
  br i1 %.53.i.not.i, label %no.56.i.i, label %yes.55.i.i

yes.55.i.i:                                       ; preds = %or.45.i.i, %then.30.i.i
  %.61.i.i = load i32, ptr %.41.i.i, align 1
  %.62.i.i = zext i32 %.61.i.i to i64
  br label %chosen.57.i.i

no.56.i.i:                                        ; preds = %or.45.i.i
  %.65.i.i = load i64, ptr %.41.i.i, align 1
  br label %chosen.57.i.i

chosen.57.i.i:                                    ; preds = %no.56.i.i, %yes.55.i.i
  %.66.i.i = phi i64 [ %.62.i.i, %yes.55.i.i ], [ %.65.i.i, %no.56.i.i ]
  %.5.i6.i.i = zext i32 %.34.i93.i to i64
  %.6.i7.i.i = getelementptr i8, ptr %table.given, i64 %.5.i6.i.i
  %.73.i.i = load <32 x i64>, ptr %.6.i7.i.i, align 1
  %.75.i.i = insertelement <32 x i64> poison, i64 %.66.i.i, i64 0
  %.76.i.i = shufflevector <32 x i64> %.75.i.i, <32 x i64> poison, <32 x i32> zeroinitializer
  %.77.i.i = mul <32 x i64> %.76.i.i, %.73.i.i
  %.78.i.i = add <32 x i64> %.77.i.i, %.29.i92.i
  br label %after.31.i.i

then.79.i.i:                                      ; preds = %after.31.i.i
  %.89.i.i = zext i32 %.83.i.i to i64
  %.90.i.i = getelementptr i8, ptr %state.given, i64 %.89.i.i
  %.92.i.i = load i32, ptr %.90.i.i, align 1
  %.94.i.i = zext i32 %.92.i.i to i64
  %.95.i.i = insertelement <32 x i64> poison, i64 %.94.i.i, i64 0
  %.96.i.i = shufflevector <32 x i64> %.95.i.i, <32 x i64> poison, <32 x i32> zeroinitializer
  %.98.i.i = add <32 x i64> %.96.i.i, %more.0.i.i
  %.100.i.i = and <32 x i64> %.98.i.i, splat (i64 4294967295)
  %.104.i.i = getelementptr i8, ptr %.17, i64 28
  %.105.i.i = load i32, ptr %.104.i.i, align 1
  %.106.not.i.i = icmp eq i32 %.105.i.i, 0
  br i1 %.106.not.i.i, label %after.102.i.i, label %then.101.i.i

after.80.i.i:                                     ; preds = %after.102.i.i, %after.31.i.i
  %more.1.i.i = phi <32 x i64> [ %.116.i.i, %after.102.i.i ], [ %more.0.i.i, %after.31.i.i ]
  %.121.i.i = load i32, ptr %.120.i167.i, align 1
  %.122.not.i.i = icmp eq i32 %.121.i.i, 0
  br i1 %.122.not.i.i, label %diverging.all_lanes.exit.i, label %then.117.i.i

then.101.i.i:                                     ; preds = %then.79.i.i
  %sext.i.i = shl <32 x i64> %.98.i.i, splat (i64 32)
  %.109.i.i = ashr exact <32 x i64> %sext.i.i, splat (i64 32)
  br label %after.102.i.i

after.102.i.i:                                    ; preds = %then.101.i.i, %then.79.i.i
  %more.2.i.i = phi <32 x i64> [ %.109.i.i, %then.101.i.i ], [ %.100.i.i, %then.79.i.i ]
  %.112.i.i = getelementptr i8, ptr %.17, i64 48
  %.113.i.i = load i64, ptr %.112.i.i, align 1
  %.114.i.i = insertelement <32 x i64> poison, i64 %.113.i.i, i64 0
  %.115.i.i = shufflevector <32 x i64> %.114.i.i, <32 x i64> poison, <32 x i32> zeroinitializer
  %.116.i.i = mul <32 x i64> %.115.i.i, %more.2.i.i
  br label %after.80.i.i

then.117.i.i:                                     ; preds = %after.80.i.i
  %.5.i.i.i = zext i32 %.121.i.i to i64
  %.6.i.i.i = getelementptr i8, ptr %table.given, i64 %.5.i.i.i
  %.129.i.i = load <32 x i64>, ptr %.6.i.i.i, align 1
  %.130.i.i = add <32 x i64> %.129.i.i, %more.1.i.i
  br label %diverging.all_lanes.exit.i

diverging.all_lanes.exit.i:                       ; preds = %then.117.i.i, %after.80.i.i
  %more.3.i.i = phi <32 x i64> [ %.130.i.i, %then.117.i.i ], [ %more.1.i.i, %after.80.i.i ]
  %.133.i.i = insertelement <32 x i64> poison, i64 %.23.i90.i, i64 0
  %.134.i.i = shufflevector <32 x i64> %.133.i.i, <32 x i64> poison, <32 x i32> zeroinitializer
  %.135.i.i = add <32 x i64> %more.3.i.i, %.134.i.i
  %.9.i35.i = load i32, ptr %.17, align 1
  %.10.i36.i = zext i32 %.9.i35.i to i64
  %.11.i37.i = getelementptr i8, ptr %state.given, i64 %.10.i36.i
  br i1 %.15.i87.i, label %then.12.i50.i, label %after.13.i41.i

then.12.i50.i:                                    ; preds = %diverging.all_lanes.exit.i
  %.19.i51.i = load <32 x i64>, ptr %.11.i37.i, align 1
  %.21.i52.i = icmp ne <32 x i64> %.19.i51.i, %.135.i.i
  %.24.i54.i = and <32 x i1> %.21.i52.i, %.23.i53.i
  br label %diverging.lanes_match.exit55.i

after.13.i41.i:                                   ; preds = %diverging.all_lanes.exit.i
  %.29.i42.i = load <32 x i32>, ptr %.11.i37.i, align 1
  %.31.i43.i = trunc <32 x i64> %.135.i.i to <32 x i32>
  %.32.i44.i = icmp ne <32 x i32> %.29.i42.i, %.31.i43.i
  %.35.i46.i = and <32 x i1> %.32.i44.i, %.34.i45.i
  br label %diverging.lanes_match.exit55.i

diverging.lanes_match.exit55.i:                   ; preds = %after.13.i41.i, %then.12.i50.i
  %common.ret.op.in.in.i47.i = phi <32 x i1> [ %.24.i54.i, %then.12.i50.i ], [ %.35.i46.i, %after.13.i41.i ]
  %common.ret.op.in.i48.i = bitcast <32 x i1> %common.ret.op.in.in.i47.i to i32
  %common.ret.op.i49.i = icmp eq i32 %common.ret.op.in.i48.i, 0
  br label %after.41

then.105.i:                                       ; preds = %else.78.i
  %.115.i = getelementptr i8, ptr %.17, i64 36
  %.116.i = load i32, ptr %.115.i, align 1
  %.117.i = zext i32 %.116.i to i64
  %.118.i = getelementptr i8, ptr %state.given, i64 %.117.i
  store i64 %stride.0.lcssa.i, ptr %.118.i, align 1
  %.124.i = getelementptr i64, ptr %.6.i32.i, i64 %.31.i
  %.125.i = load i64, ptr %.124.i, align 1
  %.127.i = mul i64 %.125.i, %stride.0.lcssa.i
  %.128.i = sub i64 %.34.i26, %.127.i
  store i64 %.128.i, ptr %.28, align 1
  br label %after.79.i

else.106.i:                                       ; preds = %else.78.i
  %.12.i81.i = tail call i64 @llvm.abs.i64(i64 %stride.0.lcssa.i, i1 false)
  %.134.i = getelementptr i8, ptr %.17, i64 48
  %.135.i = load i64, ptr %.134.i, align 1
  %.12.i82.i = tail call i64 @llvm.abs.i64(i64 %.135.i, i1 false)
  %.137.i = udiv i64 %.12.i81.i, %.12.i82.i
  %.144.i = xor i64 %.135.i, %stride.0.lcssa.i
  %.148.i = sub i64 0, %.137.i
  %.146.not185.i = icmp slt i64 %.144.i, 0
  %spec.select.i = select i1 %.146.not185.i, i64 %.148.i, i64 %.137.i
  %.152.i = getelementptr i64, ptr %.6.i9.i110.i, i64 %.31.i
  %.153.i = load i64, ptr %.152.i, align 1
  %.157.i = getelementptr i64, ptr %.6.i32.i, i64 %.31.i
  %.158.i = load i64, ptr %.157.i, align 1
  %.160.i = mul i64 %.158.i, %spec.select.i
  %.161.i = add i64 %.160.i, %.153.i
  br i1 %.41.not186.i, label %after.166.i, label %do.165.i

do.165.i:                                         ; preds = %else.106.i, %do.165.i
  %.162.0191.i = phi i32 [ %.171.i, %do.165.i ], [ %mask.given, %else.106.i ]
  %least.0190.i = phi i64 [ %.187.i, %do.165.i ], [ %.161.i, %else.106.i ]
  %.169.i = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.162.0191.i, i1 true)
  %.170.i = add i32 %.162.0191.i, -1
  %.171.i = and i32 %.170.i, %.162.0191.i
  %.175.i = zext nneg i32 %.169.i to i64
  %.176.i = getelementptr i64, ptr %.6.i9.i110.i, i64 %.175.i
  %.177.i = load i64, ptr %.176.i, align 1
  %.181.i = getelementptr i64, ptr %.6.i32.i, i64 %.175.i
  %.182.i = load i64, ptr %.181.i, align 1
  %.184.i = mul i64 %.182.i, %spec.select.i
  %.185.i = add i64 %.184.i, %.177.i
  %.187.i = tail call i64 @llvm.smin.i64(i64 %least.0190.i, i64 %.185.i)
  %.168.not.i = icmp eq i32 %.171.i, 0
  br i1 %.168.not.i, label %after.166.i, label %do.165.i

after.166.i:                                      ; preds = %do.165.i, %else.106.i
  %least.0.lcssa.i = phi i64 [ %.161.i, %else.106.i ], [ %.187.i, %do.165.i ]
  %.189.i = trunc i64 %spec.select.i to i32
  %.192.i = getelementptr i8, ptr %.17, i64 36
  %.193.i = load i32, ptr %.192.i, align 1
  %.194.i = zext i32 %.193.i to i64
  %.195.i = getelementptr i8, ptr %state.given, i64 %.194.i
  store i32 %.189.i, ptr %.195.i, align 1
  %3 = trunc i64 %least.0.lcssa.i to i32
  %.199.i = sub i32 0, %3
  %.203.i = load i32, ptr %.82.i140.i, align 1
  %.204.i = zext i32 %.203.i to i64
  %.205.i = getelementptr i8, ptr %state.given, i64 %.204.i
  store i32 %.199.i, ptr %.205.i, align 1
  %.212.i = load i64, ptr %.157.i, align 1
  %.214.i = mul i64 %.212.i, %stride.0.lcssa.i
  %.215.i = sub i64 %.34.i26, %.214.i
  %.219.i = load i64, ptr %.134.i, align 1
  %.220.i = mul i64 %.219.i, %least.0.lcssa.i
  %.221.i = add i64 %.215.i, %.220.i
  store i64 %.221.i, ptr %.28, align 1
  br label %after.79.i

else.40:                                          ; preds = %after.30
  %.56 = getelementptr i8, ptr %.17, i64 20
  %.57 = load i32, ptr %.56, align 1
  %.58.not = icmp eq i32 %.57, 0
  br i1 %.58.not, label %else.53, label %then.52

after.41:                                         ; preds = %diverging.lanes_match.exit55.i, %after.173, %else.158, %after.135, %then.92, %then.65, %diverging.lanes_agree.exit
  %same.0 = phi i1 [ %spec.select, %else.158 ], [ %common.ret.op.i, %diverging.lanes_agree.exit ], [ %.87.not, %then.65 ], [ %.114.not, %then.92 ], [ %same.1.lcssa, %after.135 ], [ %same.2.lcssa, %after.173 ], [ %common.ret.op.i49.i, %diverging.lanes_match.exit55.i ]
  br i1 %same.0, label %next.9, label %common.ret

then.52:                                          ; preds = %else.40
  %.5.i = getelementptr i8, ptr %.17, i64 16
  %.6.i = load i32, ptr %.5.i, align 1
  %.5.i23 = zext i32 %.6.i to i64
  %.6.i24 = getelementptr i8, ptr %table.given, i64 %.5.i23
  %.22.i = getelementptr i8, ptr %.17, i64 8
  %.23.i = load i32, ptr %.22.i, align 1
  %.24.i = icmp eq i32 %.23.i, 4
  br i1 %.24.i, label %then.19.i, label %after.20.i

then.19.i:                                        ; preds = %then.52
  %.28.i = getelementptr i32, ptr %.22, i64 %.27.i
  %.29.i = load i32, ptr %.28.i, align 1
  %.34.i = getelementptr i64, ptr %.6.i24, i64 %.27.i
  %.35.i = load i64, ptr %.34.i, align 1
  %4 = trunc i64 %.35.i to i32
  %.37.i = sub i32 %.29.i, %4
  store i32 %.37.i, ptr %.28, align 1
  %.42.i = zext i32 %.37.i to i64
  %.43.i = insertelement <32 x i64> poison, i64 %.42.i, i64 0
  %.44.i = shufflevector <32 x i64> %.43.i, <32 x i64> poison, <32 x i32> zeroinitializer
  %.46.i = load <32 x i64>, ptr %.6.i24, align 1
  %.47.i = add <32 x i64> %.44.i, %.46.i
  %.48.i = trunc <32 x i64> %.47.i to <32 x i32>
  %.50.i = load <32 x i32>, ptr %.22, align 1
  %.52.i = icmp ne <32 x i32> %.50.i, %.48.i
  %.55.i = and <32 x i1> %.52.i, %.54.i
  br label %diverging.lanes_agree.exit

after.20.i:                                       ; preds = %then.52
  %.62.i = getelementptr i64, ptr %.22, i64 %.61.i
  %.63.i = load i64, ptr %.62.i, align 1
  %.67.i = getelementptr i64, ptr %.6.i24, i64 %.61.i
  %.68.i = load i64, ptr %.67.i, align 1
  %.69.i = sub i64 %.63.i, %.68.i
  %.71.i = load <32 x i64>, ptr %.22, align 1
  %.73.i = insertelement <32 x i64> poison, i64 %.69.i, i64 0
  %.74.i = shufflevector <32 x i64> %.73.i, <32 x i64> poison, <32 x i32> zeroinitializer
  %.76.i = load <32 x i64>, ptr %.6.i24, align 1
  %.77.i = add <32 x i64> %.74.i, %.76.i
  %.78.i = icmp ne <32 x i64> %.71.i, %.77.i
  %.81.i = and <32 x i1> %.78.i, %.80.i
  %.88.i = getelementptr i8, ptr %.17, i64 24
  %.89.i = load i32, ptr %.88.i, align 1
  %.90.not.i = icmp eq i32 %.89.i, 0
  br i1 %.90.not.i, label %after.86.i, label %then.85.i

then.85.i:                                        ; preds = %after.20.i
  %.92.i = getelementptr i8, ptr %.17, i64 56
  %.93.i = load i64, ptr %.92.i, align 1
  %5 = trunc i64 %.93.i to i32
  %.95.i = sub i32 0, %5
  %.100.i = zext i32 %.89.i to i64
  %.101.i = getelementptr i8, ptr %state.given, i64 %.100.i
  store i32 %.95.i, ptr %.101.i, align 1
  %.106.i = load i64, ptr %.92.i, align 1
  %.108.i = getelementptr i8, ptr %.17, i64 48
  %.109.i = load i64, ptr %.108.i, align 1
  %.110.i = mul i64 %.109.i, %.106.i
  %.111.i = add i64 %.110.i, %.69.i
  br label %after.86.i

after.86.i:                                       ; preds = %then.85.i, %after.20.i
  %wide.0.i = phi i64 [ %.111.i, %then.85.i ], [ %.69.i, %after.20.i ]
  store i64 %wide.0.i, ptr %.28, align 1
  br label %diverging.lanes_agree.exit

diverging.lanes_agree.exit:                       ; preds = %then.19.i, %after.86.i
  %common.ret.op.in.in.i = phi <32 x i1> [ %.55.i, %then.19.i ], [ %.81.i, %after.86.i ]
  %common.ret.op.in.i = bitcast <32 x i1> %common.ret.op.in.in.i to i32
  %common.ret.op.i = icmp eq i32 %common.ret.op.in.i, 0
  br label %after.41

else.53:                                          ; preds = %else.40
  %.69 = getelementptr i8, ptr %.17, i64 8
  %.70 = load i32, ptr %.69, align 1
  switch i32 %.70, label %else.158 [
    i32 8, label %then.65
    i32 4, label %then.92
    i32 2, label %then.119
    i32 1, label %then.157
  ]

then.65:                                          ; preds = %else.53
  %.75 = getelementptr i64, ptr %.22, i64 %.74
  %.76 = load i64, ptr %.75, align 1
  %.78 = load <32 x i64>, ptr %.22, align 1
  %.80 = insertelement <32 x i64> poison, i64 %.76, i64 0
  %.81 = shufflevector <32 x i64> %.80, <32 x i64> poison, <32 x i32> zeroinitializer
  %.82 = icmp ne <32 x i64> %.78, %.81
  %.85 = and <32 x i1> %.82, %.84
  %.86 = bitcast <32 x i1> %.85 to i32
  %.87.not = icmp eq i32 %.86, 0
  store i64 %.76, ptr %.28, align 1
  br label %after.41

then.92:                                          ; preds = %else.53
  %.102 = getelementptr i32, ptr %.22, i64 %.101
  %.103 = load i32, ptr %.102, align 1
  %.105 = load <32 x i32>, ptr %.22, align 1
  %.107 = insertelement <32 x i32> poison, i32 %.103, i64 0
  %.108 = shufflevector <32 x i32> %.107, <32 x i32> poison, <32 x i32> zeroinitializer
  %.109 = icmp ne <32 x i32> %.105, %.108
  %.112 = and <32 x i1> %.109, %.111
  %.113 = bitcast <32 x i1> %.112 to i32
  %.114.not = icmp eq i32 %.113, 0
  store i32 %.103, ptr %.28, align 1
  br label %after.41

then.119:                                         ; preds = %else.53
  %.129 = getelementptr i16, ptr %.22, i64 %.128
  %.130 = load i16, ptr %.129, align 1
  br i1 %.137.not41, label %after.135, label %do.134

do.134:                                           ; preds = %then.119, %chosen.143
  %same.143 = phi i1 [ %.153, %chosen.143 ], [ true, %then.119 ]
  %.131.042 = phi i32 [ %.140, %chosen.143 ], [ %mask.given, %then.119 ]
  %.139 = add i32 %.131.042, -1
  %.140 = and i32 %.139, %.131.042
  br i1 %same.143, label %and.144, label %no.142

after.135:                                        ; preds = %chosen.143, %then.119
  %same.1.lcssa = phi i1 [ true, %then.119 ], [ %.153, %chosen.143 ]
  store i16 %.130, ptr %.28, align 1
  br label %after.41

no.142:                                           ; preds = %and.144, %do.134
  br label %chosen.143

chosen.143:                                       ; preds = %and.144, %no.142
  %.153 = phi i1 [ false, %no.142 ], [ true, %and.144 ]
  %.137.not = icmp eq i32 %.140, 0
  br i1 %.137.not, label %after.135, label %do.134

and.144:                                          ; preds = %do.134
  %.138 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.131.042, i1 true)
  %.148 = zext nneg i32 %.138 to i64
  %.149 = getelementptr i16, ptr %.22, i64 %.148
  %.150 = load i16, ptr %.149, align 1
  %.152 = icmp eq i16 %.150, %.130
  br i1 %.152, label %chosen.143, label %no.142

then.157:                                         ; preds = %else.53
  %.167 = getelementptr i8, ptr %.22, i64 %.166
  %.168 = load i8, ptr %.167, align 1
  br i1 %.175.not38, label %after.173, label %do.172

else.158:                                         ; preds = %else.53
  %.197 = load i32, ptr %.22, align 1
  %.199 = and i32 %.197, %mask.given
  %.205 = icmp eq i32 %.199, 0
  %.208 = icmp eq i32 %.199, %mask.given
  %spec.select = or i1 %.205, %.208
  %.217 = zext i1 %.208 to i8
  store i8 %.217, ptr %.28, align 1
  br label %after.41

do.172:                                           ; preds = %then.157, %chosen.181
  %.169.040 = phi i32 [ %.178, %chosen.181 ], [ %mask.given, %then.157 ]
  %same.239 = phi i1 [ %.191, %chosen.181 ], [ true, %then.157 ]
  %.177 = add i32 %.169.040, -1
  %.178 = and i32 %.177, %.169.040
  br i1 %same.239, label %and.182, label %no.180

after.173:                                        ; preds = %chosen.181, %then.157
  %same.2.lcssa = phi i1 [ true, %then.157 ], [ %.191, %chosen.181 ]
  store i8 %.168, ptr %.28, align 1
  br label %after.41

no.180:                                           ; preds = %and.182, %do.172
  br label %chosen.181

chosen.181:                                       ; preds = %and.182, %no.180
  %.191 = phi i1 [ false, %no.180 ], [ true, %and.182 ]
  %.175.not = icmp eq i32 %.178, 0
  br i1 %.175.not, label %after.173, label %do.172

and.182:                                          ; preds = %do.172
  %.176 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.169.040, i1 true)
  %.186 = zext nneg i32 %.176 to i64
  %.187 = getelementptr i8, ptr %.22, i64 %.186
  %.188 = load i8, ptr %.187, align 1
  %.190 = icmp eq i8 %.188, %.168
  br i1 %.190, label %chosen.181, label %no.180
}

define void @sync.lanes(ptr captures(none) %warp.given, i32 %mask.given) local_unnamed_addr #1 {
entry.1:
  %.8.not19 = icmp eq i32 %mask.given, 0
  br i1 %.8.not19, label %after.6, label %do.5.lr.ph

do.5.lr.ph:                                       ; preds = %entry.1
  %.12 = getelementptr i8, ptr %warp.given, i64 960
  %.23 = getelementptr i8, ptr %warp.given, i64 128
  %.27 = getelementptr i8, ptr %warp.given, i64 832
  %.57 = getelementptr i8, ptr %warp.given, i64 1856
  %.76 = getelementptr i8, ptr %warp.given, i64 1984
  %.84 = getelementptr i8, ptr %warp.given, i64 1088
  %.95 = getelementptr i8, ptr %warp.given, i64 132
  %.103 = getelementptr i8, ptr %warp.given, i64 160
  br label %do.5

do.5:                                             ; preds = %do.5.lr.ph, %while.4.backedge
  %left.020 = phi i32 [ %mask.given, %do.5.lr.ph ], [ %left.0.be, %while.4.backedge ]
  %.10 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %left.020, i1 true)
  %.14 = zext nneg i32 %.10 to i64
  %.15 = getelementptr i32, ptr %.12, i64 %.14
  %.16 = load i32, ptr %.15, align 1
  %.19 = shl nuw i32 1, %.10
  %.21 = or i32 %.16, %.19
  %.24 = load i32, ptr %.23, align 1
  %.25 = and i32 %.21, %.24
  %.28 = load <32 x i32>, ptr %.27, align 1
  %.36 = getelementptr i32, ptr %.27, i64 %.14
  %.37 = load i32, ptr %.36, align 1
  %.38 = insertelement <32 x i32> poison, i32 %.37, i64 0
  %.39 = shufflevector <32 x i32> %.38, <32 x i32> poison, <32 x i32> zeroinitializer
  %.40 = icmp eq <32 x i32> %.28, %.39
  %.41 = bitcast <32 x i1> %.40 to i32
  %.43 = and i32 %.25, %.41
  %.45.not = icmp eq i32 %.43, %.25
  br i1 %.45.not, label %after.30, label %then.29

after.6:                                          ; preds = %while.4.backedge, %entry.1
  ret void

then.29:                                          ; preds = %do.5
  %.48 = add i32 %left.020, -1
  %.49 = and i32 %.48, %left.020
  br label %while.4.backedge

while.4.backedge:                                 ; preds = %then.29, %after.72
  %left.0.be = phi i32 [ %.49, %then.29 ], [ %.112, %after.72 ]
  %.8.not = icmp eq i32 %left.0.be, 0
  br i1 %.8.not, label %after.6, label %do.5

after.30:                                         ; preds = %do.5
  %.53 = bitcast i32 %.25 to <32 x i1>
  %.55 = select <32 x i1> %.53, <32 x i32> zeroinitializer, <32 x i32> %.28
  store <32 x i32> %.55, ptr %.27, align 1
  %.58 = load <32 x i32>, ptr %.57, align 1
  %.65 = insertelement <32 x i32> poison, i32 %.25, i64 0
  %.66 = shufflevector <32 x i32> %.65, <32 x i32> poison, <32 x i32> zeroinitializer
  %.67 = select <32 x i1> %.53, <32 x i32> %.66, <32 x i32> %.58
  store <32 x i32> %.67, ptr %.57, align 1
  br label %do.70

do.70:                                            ; preds = %after.30, %do.70
  %.68.018 = phi i64 [ 0, %after.30 ], [ %.93, %do.70 ]
  %.78 = shl nuw nsw i64 %.68.018, 5
  %.79 = getelementptr i64, ptr %.76, i64 %.78
  %.87 = getelementptr i64, ptr %.84, i64 %.78
  %.88 = load <32 x i64>, ptr %.87, align 1
  %.90 = load <32 x i64>, ptr %.79, align 1
  %.91 = select <32 x i1> %.53, <32 x i64> %.88, <32 x i64> %.90
  store <32 x i64> %.91, ptr %.79, align 1
  %.93 = add nuw nsw i64 %.68.018, 1
  %.74 = icmp samesign ult i64 %.68.018, 2
  br i1 %.74, label %do.70, label %after.72

after.72:                                         ; preds = %do.70
  %.96 = load i32, ptr %.95, align 1
  %.98 = xor i32 %.25, -1
  %.99 = and i32 %.96, %.98
  store i32 %.99, ptr %.95, align 1
  %.104 = load i32, ptr %.103, align 1
  %.106 = or i32 %.104, %.25
  store i32 %.106, ptr %.103, align 1
  %.112 = and i32 %left.020, %.98
  br label %while.4.backedge
}

define void @diverging.sync_waiting(ptr captures(none) %warp.given) local_unnamed_addr #1 {
entry.1:
  %.5 = getelementptr i8, ptr %warp.given, i64 832
  %.6 = load <32 x i32>, ptr %.5, align 1
  %.7 = icmp ne <32 x i32> %.6, zeroinitializer
  %.8 = bitcast <32 x i1> %.7 to i32
  %.10 = getelementptr i8, ptr %warp.given, i64 128
  %.11 = load i32, ptr %.10, align 1
  %.12 = and i32 %.11, %.8
  %.8.not19.i = icmp eq i32 %.12, 0
  br i1 %.8.not19.i, label %sync.lanes.exit, label %do.5.lr.ph.i

do.5.lr.ph.i:                                     ; preds = %entry.1
  %.12.i = getelementptr i8, ptr %warp.given, i64 960
  %.57.i = getelementptr i8, ptr %warp.given, i64 1856
  %.76.i = getelementptr i8, ptr %warp.given, i64 1984
  %.84.i = getelementptr i8, ptr %warp.given, i64 1088
  %.95.i = getelementptr i8, ptr %warp.given, i64 132
  %.103.i = getelementptr i8, ptr %warp.given, i64 160
  br label %do.5.i

do.5.i:                                           ; preds = %while.4.backedge.i, %do.5.lr.ph.i
  %left.020.i = phi i32 [ %.12, %do.5.lr.ph.i ], [ %left.0.be.i, %while.4.backedge.i ]
  %.10.i = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %left.020.i, i1 true)
  %.14.i = zext nneg i32 %.10.i to i64
  %.15.i = getelementptr i32, ptr %.12.i, i64 %.14.i
  %.16.i = load i32, ptr %.15.i, align 1
  %.19.i = shl nuw i32 1, %.10.i
  %.21.i = or i32 %.19.i, %.16.i
  %.24.i = load i32, ptr %.10, align 1
  %.25.i = and i32 %.21.i, %.24.i
  %.28.i = load <32 x i32>, ptr %.5, align 1
  %.36.i = getelementptr i32, ptr %.5, i64 %.14.i
  %.37.i = load i32, ptr %.36.i, align 1
  %.38.i = insertelement <32 x i32> poison, i32 %.37.i, i64 0
  %.39.i = shufflevector <32 x i32> %.38.i, <32 x i32> poison, <32 x i32> zeroinitializer
  %.40.i = icmp eq <32 x i32> %.28.i, %.39.i
  %.41.i = bitcast <32 x i1> %.40.i to i32
  %.43.i = and i32 %.25.i, %.41.i
  %.45.not.i = icmp eq i32 %.43.i, %.25.i
  br i1 %.45.not.i, label %after.30.i, label %then.29.i

then.29.i:                                        ; preds = %do.5.i
  %.48.i = add i32 %left.020.i, -1
  %.49.i = and i32 %.48.i, %left.020.i
  br label %while.4.backedge.i

while.4.backedge.i:                               ; preds = %after.72.i, %then.29.i
  %left.0.be.i = phi i32 [ %.49.i, %then.29.i ], [ %.112.i, %after.72.i ]
  %.8.not.i = icmp eq i32 %left.0.be.i, 0
  br i1 %.8.not.i, label %sync.lanes.exit, label %do.5.i

after.30.i:                                       ; preds = %do.5.i
  %.53.i = bitcast i32 %.25.i to <32 x i1>
  %.55.i = select <32 x i1> %.53.i, <32 x i32> zeroinitializer, <32 x i32> %.28.i
  store <32 x i32> %.55.i, ptr %.5, align 1
  %.58.i = load <32 x i32>, ptr %.57.i, align 1
  %.65.i = insertelement <32 x i32> poison, i32 %.25.i, i64 0
  %.66.i = shufflevector <32 x i32> %.65.i, <32 x i32> poison, <32 x i32> zeroinitializer
  %.67.i = select <32 x i1> %.53.i, <32 x i32> %.66.i, <32 x i32> %.58.i
  store <32 x i32> %.67.i, ptr %.57.i, align 1
  br label %do.70.i

do.70.i:                                          ; preds = %do.70.i, %after.30.i
  %.68.018.i = phi i64 [ 0, %after.30.i ], [ %.93.i, %do.70.i ]
  %.78.i = shl nuw nsw i64 %.68.018.i, 5
  %.79.i = getelementptr i64, ptr %.76.i, i64 %.78.i
  %.87.i = getelementptr i64, ptr %.84.i, i64 %.78.i
  %.88.i = load <32 x i64>, ptr %.87.i, align 1
  %.90.i = load <32 x i64>, ptr %.79.i, align 1
  %.91.i = select <32 x i1> %.53.i, <32 x i64> %.88.i, <32 x i64> %.90.i
  store <32 x i64> %.91.i, ptr %.79.i, align 1
  %.93.i = add nuw nsw i64 %.68.018.i, 1
  %.74.i = icmp samesign ult i64 %.68.018.i, 2
  br i1 %.74.i, label %do.70.i, label %after.72.i

after.72.i:                                       ; preds = %do.70.i
  %.96.i = load i32, ptr %.95.i, align 1
  %.98.i = xor i32 %.25.i, -1
  %.99.i = and i32 %.96.i, %.98.i
  store i32 %.99.i, ptr %.95.i, align 1
  %.104.i = load i32, ptr %.103.i, align 1
  %.106.i = or i32 %.104.i, %.25.i
  store i32 %.106.i, ptr %.103.i, align 1
  %.112.i = and i32 %left.020.i, %.98.i
  br label %while.4.backedge.i

sync.lanes.exit:                                  ; preds = %while.4.backedge.i, %entry.1
  ret void
}

declare i64 @llvm.smin.i64(i64, i64) #2

declare i64 @llvm.abs.i64(i64, i1 immarg) #3

attributes #0 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #1 = { nofree norecurse nosync nounwind memory(argmem: readwrite) }
attributes #2 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
