; [["async_copies.copy"], [], "0.50"]
; jit/translation/__init__.py jit/translation/conversions.py jit/translation/distinct_values.py jit/translation/expressions.py jit/translation/folding.py jit/translation/intrinsics.py jit/translation/ir.py jit/translation/rule_calls.py jit/translation/translator.py jit/translation/value_kinds.py language/__init__.py language/records.py language/rules.py language/types.py language/vectors.py rules/async_copies.py runtime/state.py
; 1e18f2075cdfb412a5d3bbace493274851c28bb3287fe8a24ccb6fedb59e84fb bd7179cfa8a5571abfb79411273cf4fb8a82ec2e68436b1826dd87204ca21a59
source_filename = "<string>"

declare void @llvm.memcpy.p0.p0.i64(ptr noalias writeonly captures(none), ptr noalias readonly captures(none), i64, i1 immarg) #0

declare i32 @llvm.cttz.i32(i32, i1 immarg) #1

declare void @llvm.memset.p0.i64(ptr writeonly captures(none), i8, i64, i1 immarg) #2

define noundef i1 @async_copies.copy(ptr %context.given, ptr %cta.given, ptr %warp.given, i32 %mask.given, ptr readonly captures(none) %to.given, i32 %to_start.given, ptr readonly captures(none) %source.given, i64 %source_start.given, ptr readonly captures(address_is_null) %counts.given, ptr %site.given, i32 %code.given, i32 %size.given) local_unnamed_addr #3 {
entry.1:
  switch i32 %size.given, label %after.20 [
    i32 4, label %then.3
    i32 8, label %then.19
  ]

common.ret:                                       ; preds = %do.38.i70, %lanes.65.i12.backedge, %do.38.i, %lanes.65.i.backedge, %do.38.i141, %lanes.65.i83.backedge, %after.20, %then.19, %then.3, %then.147.i119, %then.110.i122, %then.147.i48, %then.110.i51, %then.147.i, %then.110.i
  %common.ret.op = phi i1 [ false, %lanes.65.i83.backedge ], [ false, %then.3 ], [ true, %then.147.i ], [ false, %lanes.65.i12.backedge ], [ true, %then.110.i ], [ true, %then.147.i48 ], [ false, %lanes.65.i.backedge ], [ true, %then.110.i51 ], [ true, %then.147.i119 ], [ false, %then.19 ], [ true, %then.110.i122 ], [ false, %after.20 ], [ false, %do.38.i141 ], [ false, %do.38.i ], [ false, %do.38.i70 ]
  ret i1 %common.ret.op

then.3:                                           ; preds = %entry.1
  switch i32 %mask.given, label %do.66.i.lr.ph [
    i32 -1, label %and.5.i
    i32 0, label %common.ret
  ]

then.3.i:                                         ; preds = %and.74.i251
  %.22.i = getelementptr i8, ptr %.5.i213, i64 16
  %.23.i = load i64, ptr %.22.i, align 1
  %.24.i = trunc i64 %.23.i to i32
  %.25.i = sub i32 %to_start.given, %.24.i
  %.28.i = load i64, ptr %site.given, align 1
  %.29.i = sub i64 %source_start.given, %.28.i
  %.31.i = getelementptr i8, ptr %cta.given, i64 24
  %.32.i = load ptr, ptr %.31.i, align 1
  %.34.i = getelementptr i8, ptr %site.given, i64 16
  %.35.i = load ptr, ptr %.34.i, align 1
  %invariant.gep302 = getelementptr i8, ptr %.35.i, i64 %.29.i
  br label %do.38.i

do.66.i.lr.ph:                                    ; preds = %or.39.i234, %and.14.i219, %and.5.i, %after.7.i223, %and.74.i251, %after.38.i241, %then.3
  %.92.not.i = icmp eq ptr %counts.given, null
  %.134.i = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %mask.given, i1 false)
  br label %do.66.i

and.5.i:                                          ; preds = %then.3
  %.4.i212 = getelementptr i8, ptr %context.given, i64 72
  %.5.i213 = load ptr, ptr %.4.i212, align 1
  %.10.i214 = getelementptr i8, ptr %.5.i213, i64 24
  %.11.i215 = load i64, ptr %.10.i214, align 1
  %.13.i216 = icmp ult i64 %.11.i215, 4
  br i1 %.13.i216, label %do.66.i.lr.ph, label %or.8.i217

after.7.i223:                                     ; preds = %and.14.i219, %or.8.i217
  %.27.i224 = load <32 x i32>, ptr %to.given, align 1
  %.30.i225 = getelementptr i8, ptr %.5.i213, i64 16
  %.31.i226 = load i64, ptr %.30.i225, align 1
  %.32.i227 = trunc i64 %.31.i226 to i32
  %.33.i228 = sub i32 %to_start.given, %.32.i227
  %.34.i229 = insertelement <32 x i32> poison, i32 %.33.i228, i64 0
  %.35.i230 = shufflevector <32 x i32> %.34.i229, <32 x i32> poison, <32 x i32> zeroinitializer
  %.36.i231 = add <32 x i32> %.35.i230, %.27.i224
  %.46.i232 = and <32 x i32> %.36.i231, splat (i32 3)
  %0 = icmp ne <32 x i32> %.46.i232, zeroinitializer
  %1 = bitcast <32 x i1> %0 to i32
  %.49.i233 = icmp eq i32 %1, 0
  br i1 %.49.i233, label %or.39.i234, label %do.66.i.lr.ph

or.8.i217:                                        ; preds = %and.5.i
  %.16.not.i218 = icmp eq ptr %counts.given, null
  br i1 %.16.not.i218, label %after.7.i223, label %and.14.i219

and.14.i219:                                      ; preds = %or.8.i217
  %.18.i220 = load <32 x i32>, ptr %counts.given, align 1
  %2 = icmp ult <32 x i32> %.18.i220, splat (i32 4)
  %3 = bitcast <32 x i1> %2 to i32
  %.25.i221 = icmp eq i32 %3, 0
  br i1 %.25.i221, label %after.7.i223, label %do.66.i.lr.ph

after.38.i241:                                    ; preds = %or.39.i234
  %.63.i242 = load <32 x i64>, ptr %source.given, align 1
  %.66.i243 = load i64, ptr %site.given, align 1
  %.67.i244 = sub i64 %source_start.given, %.66.i243
  %.68.i245 = insertelement <32 x i64> poison, i64 %.67.i244, i64 0
  %.69.i246 = shufflevector <32 x i64> %.68.i245, <32 x i64> poison, <32 x i32> zeroinitializer
  %.70.i247 = add <32 x i64> %.69.i246, %.63.i242
  %.80.i248 = and <32 x i64> %.70.i247, splat (i64 3)
  %4 = icmp ne <32 x i64> %.80.i248, zeroinitializer
  %5 = bitcast <32 x i1> %4 to i32
  %.83.i249 = icmp eq i32 %5, 0
  br i1 %.83.i249, label %and.74.i251, label %do.66.i.lr.ph

or.39.i234:                                       ; preds = %after.7.i223
  %6 = trunc i64 %.11.i215 to i32
  %.56.i237 = add i32 %6, -4
  %.57.i238 = insertelement <32 x i32> poison, i32 %.56.i237, i64 0
  %.58.i239 = shufflevector <32 x i32> %.57.i238, <32 x i32> poison, <32 x i32> zeroinitializer
  %7 = icmp ugt <32 x i32> %.36.i231, %.58.i239
  %8 = bitcast <32 x i1> %7 to i32
  %.61.i240 = icmp eq i32 %8, 0
  br i1 %.61.i240, label %after.38.i241, label %do.66.i.lr.ph

and.74.i251:                                      ; preds = %after.38.i241
  %.88.i252 = lshr <32 x i64> %.70.i247, splat (i64 2)
  %.90.i253 = getelementptr i8, ptr %site.given, i64 8
  %.91.i254 = load i64, ptr %.90.i253, align 1
  %.92.i255 = insertelement <32 x i64> poison, i64 %.91.i254, i64 0
  %.93.i256 = shufflevector <32 x i64> %.92.i255, <32 x i64> poison, <32 x i32> zeroinitializer
  %9 = icmp uge <32 x i64> %.88.i252, %.93.i256
  %10 = bitcast <32 x i1> %9 to i32
  %.96.i257 = icmp eq i32 %10, 0
  br i1 %.96.i257, label %then.3.i, label %do.66.i.lr.ph

do.38.i:                                          ; preds = %then.3.i, %do.38.i
  %.36.0.i304 = phi i64 [ 0, %then.3.i ], [ %.62.i, %do.38.i ]
  %.46.i = getelementptr i32, ptr %to.given, i64 %.36.0.i304
  %.47.i = load i32, ptr %.46.i, align 1
  %.49.i = add i32 %.25.i, %.47.i
  %.50.i = zext i32 %.49.i to i64
  %.51.i = getelementptr i8, ptr %.32.i, i64 %.50.i
  %.55.i = getelementptr i64, ptr %source.given, i64 %.36.0.i304
  %.56.i = load i64, ptr %.55.i, align 1
  %gep303 = getelementptr i8, ptr %invariant.gep302, i64 %.56.i
  %11 = load i32, ptr %gep303, align 1
  store i32 %11, ptr %.51.i, align 1
  %.62.i = add nuw nsw i64 %.36.0.i304, 1
  %.42.i = icmp samesign ult i64 %.36.0.i304, 31
  br i1 %.42.i, label %do.38.i, label %common.ret

do.66.i:                                          ; preds = %do.66.i.lr.ph, %lanes.65.i.backedge
  %.63.0.i306 = phi i32 [ %mask.given, %do.66.i.lr.ph ], [ %.72.i, %lanes.65.i.backedge ]
  %.70.i = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.63.0.i306, i1 true)
  %.71.i = add i32 %.63.0.i306, -1
  %.72.i = and i32 %.71.i, %.63.0.i306
  %.75.i = zext nneg i32 %.70.i to i64
  %.76.i = getelementptr i32, ptr %to.given, i64 %.75.i
  %.77.i = load i32, ptr %.76.i, align 1
  %.79.i = add i32 %.77.i, %to_start.given
  %.80.i = zext i32 %.79.i to i64
  %.84.i = getelementptr i64, ptr %source.given, i64 %.75.i
  %.85.i = load i64, ptr %.84.i, align 1
  %.87.i = add i64 %.85.i, %source_start.given
  br i1 %.92.not.i, label %after.90.i, label %then.89.i

then.89.i:                                        ; preds = %do.66.i
  %.96.i = getelementptr i32, ptr %counts.given, i64 %.75.i
  %.97.i = load i32, ptr %.96.i, align 1
  %12 = tail call i32 @llvm.umin.i32(i32 %.97.i, i32 4)
  %.101.i = zext nneg i32 %12 to i64
  br label %after.90.i

after.90.i:                                       ; preds = %then.89.i, %do.66.i
  %count.0.i = phi i64 [ %.101.i, %then.89.i ], [ 4, %do.66.i ]
  %.109.i = tail call ptr @resolve(ptr %context.given, ptr %cta.given, ptr %warp.given, i32 %.70.i, i64 %.80.i, i64 4, i64 2, i32 1, i32 1, ptr null) #3
  %.113.i = icmp eq ptr %.109.i, null
  br i1 %.113.i, label %then.110.i, label %after.111.i

then.110.i:                                       ; preds = %after.90.i
  tail call void @record(ptr %context.given, ptr %warp.given, i32 10, i32 %code.given, i32 %.70.i, i64 %.80.i) #3
  br label %common.ret

after.111.i:                                      ; preds = %after.90.i
  %.122.i = icmp eq i64 %count.0.i, 0
  br i1 %.122.i, label %then.119.i, label %after.120.i

then.119.i:                                       ; preds = %after.111.i
  store i32 0, ptr %.109.i, align 1
  br label %lanes.65.i.backedge

lanes.65.i.backedge:                              ; preds = %then.10.i281, %then.3.i278, %then.119.i
  %.69.not.i = icmp eq i32 %.72.i, 0
  br i1 %.69.not.i, label %common.ret, label %do.66.i

after.120.i:                                      ; preds = %after.111.i
  %.131.i = icmp eq i64 %count.0.i, 4
  %.135.i = icmp eq i32 %.70.i, %.134.i
  %13 = select i1 %.131.i, i1 %.135.i, i1 false
  %.137.i = select i1 %13, ptr %site.given, ptr null
  %.146.i = tail call ptr @resolve(ptr %context.given, ptr %cta.given, ptr %warp.given, i32 %.70.i, i64 %.87.i, i64 %count.0.i, i64 2, i32 0, i32 0, ptr %.137.i) #3
  %.150.i = icmp eq ptr %.146.i, null
  br i1 %.150.i, label %then.147.i, label %then.3.i278

then.147.i:                                       ; preds = %after.120.i
  tail call void @record(ptr %context.given, ptr %warp.given, i32 9, i32 %code.given, i32 %.70.i, i64 %.87.i) #3
  br label %common.ret

then.3.i278:                                      ; preds = %after.120.i
  tail call void @llvm.memcpy.p0.p0.i64(ptr nonnull align 1 %.109.i, ptr nonnull align 1 %.146.i, i64 range(i64 0, 4294967296) %count.0.i, i1 false)
  br i1 %.131.i, label %lanes.65.i.backedge, label %then.10.i281

then.10.i281:                                     ; preds = %then.3.i278
  %.17.i282 = getelementptr i8, ptr %.109.i, i64 %count.0.i
  %.21.i283 = sub nuw nsw i64 4, %count.0.i
  tail call void @llvm.memset.p0.i64(ptr align 1 %.17.i282, i8 0, i64 %.21.i283, i1 false)
  br label %lanes.65.i.backedge

then.19:                                          ; preds = %entry.1
  switch i32 %mask.given, label %do.66.i15.lr.ph [
    i32 -1, label %and.5.i52
    i32 0, label %common.ret
  ]

then.3.i54:                                       ; preds = %and.74.i204
  %.22.i57 = getelementptr i8, ptr %.5.i166, i64 16
  %.23.i58 = load i64, ptr %.22.i57, align 1
  %.24.i59 = trunc i64 %.23.i58 to i32
  %.25.i60 = sub i32 %to_start.given, %.24.i59
  %.28.i61 = load i64, ptr %site.given, align 1
  %.29.i62 = sub i64 %source_start.given, %.28.i61
  %.31.i63 = getelementptr i8, ptr %cta.given, i64 24
  %.32.i64 = load ptr, ptr %.31.i63, align 1
  %.34.i65 = getelementptr i8, ptr %site.given, i64 16
  %.35.i66 = load ptr, ptr %.34.i65, align 1
  %invariant.gep = getelementptr i8, ptr %.35.i66, i64 %.29.i62
  br label %do.38.i70

do.66.i15.lr.ph:                                  ; preds = %or.39.i187, %and.14.i172, %and.5.i52, %after.7.i176, %and.74.i204, %after.38.i194, %then.19
  %.92.not.i27 = icmp eq ptr %counts.given, null
  %.134.i41 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %mask.given, i1 false)
  br label %do.66.i15

and.5.i52:                                        ; preds = %then.19
  %.4.i165 = getelementptr i8, ptr %context.given, i64 72
  %.5.i166 = load ptr, ptr %.4.i165, align 1
  %.10.i167 = getelementptr i8, ptr %.5.i166, i64 24
  %.11.i168 = load i64, ptr %.10.i167, align 1
  %.13.i169 = icmp ult i64 %.11.i168, 8
  br i1 %.13.i169, label %do.66.i15.lr.ph, label %or.8.i170

after.7.i176:                                     ; preds = %and.14.i172, %or.8.i170
  %.27.i177 = load <32 x i32>, ptr %to.given, align 1
  %.30.i178 = getelementptr i8, ptr %.5.i166, i64 16
  %.31.i179 = load i64, ptr %.30.i178, align 1
  %.32.i180 = trunc i64 %.31.i179 to i32
  %.33.i181 = sub i32 %to_start.given, %.32.i180
  %.34.i182 = insertelement <32 x i32> poison, i32 %.33.i181, i64 0
  %.35.i183 = shufflevector <32 x i32> %.34.i182, <32 x i32> poison, <32 x i32> zeroinitializer
  %.36.i184 = add <32 x i32> %.35.i183, %.27.i177
  %.46.i185 = and <32 x i32> %.36.i184, splat (i32 7)
  %14 = icmp ne <32 x i32> %.46.i185, zeroinitializer
  %15 = bitcast <32 x i1> %14 to i32
  %.49.i186 = icmp eq i32 %15, 0
  br i1 %.49.i186, label %or.39.i187, label %do.66.i15.lr.ph

or.8.i170:                                        ; preds = %and.5.i52
  %.16.not.i171 = icmp eq ptr %counts.given, null
  br i1 %.16.not.i171, label %after.7.i176, label %and.14.i172

and.14.i172:                                      ; preds = %or.8.i170
  %.18.i173 = load <32 x i32>, ptr %counts.given, align 1
  %16 = icmp ult <32 x i32> %.18.i173, splat (i32 8)
  %17 = bitcast <32 x i1> %16 to i32
  %.25.i174 = icmp eq i32 %17, 0
  br i1 %.25.i174, label %after.7.i176, label %do.66.i15.lr.ph

after.38.i194:                                    ; preds = %or.39.i187
  %.63.i195 = load <32 x i64>, ptr %source.given, align 1
  %.66.i196 = load i64, ptr %site.given, align 1
  %.67.i197 = sub i64 %source_start.given, %.66.i196
  %.68.i198 = insertelement <32 x i64> poison, i64 %.67.i197, i64 0
  %.69.i199 = shufflevector <32 x i64> %.68.i198, <32 x i64> poison, <32 x i32> zeroinitializer
  %.70.i200 = add <32 x i64> %.69.i199, %.63.i195
  %.80.i201 = and <32 x i64> %.70.i200, splat (i64 7)
  %18 = icmp ne <32 x i64> %.80.i201, zeroinitializer
  %19 = bitcast <32 x i1> %18 to i32
  %.83.i202 = icmp eq i32 %19, 0
  br i1 %.83.i202, label %and.74.i204, label %do.66.i15.lr.ph

or.39.i187:                                       ; preds = %after.7.i176
  %20 = trunc i64 %.11.i168 to i32
  %.56.i190 = add i32 %20, -8
  %.57.i191 = insertelement <32 x i32> poison, i32 %.56.i190, i64 0
  %.58.i192 = shufflevector <32 x i32> %.57.i191, <32 x i32> poison, <32 x i32> zeroinitializer
  %21 = icmp ugt <32 x i32> %.36.i184, %.58.i192
  %22 = bitcast <32 x i1> %21 to i32
  %.61.i193 = icmp eq i32 %22, 0
  br i1 %.61.i193, label %after.38.i194, label %do.66.i15.lr.ph

and.74.i204:                                      ; preds = %after.38.i194
  %.88.i205 = lshr <32 x i64> %.70.i200, splat (i64 3)
  %.90.i206 = getelementptr i8, ptr %site.given, i64 8
  %.91.i207 = load i64, ptr %.90.i206, align 1
  %.92.i208 = insertelement <32 x i64> poison, i64 %.91.i207, i64 0
  %.93.i209 = shufflevector <32 x i64> %.92.i208, <32 x i64> poison, <32 x i32> zeroinitializer
  %23 = icmp uge <32 x i64> %.88.i205, %.93.i209
  %24 = bitcast <32 x i1> %23 to i32
  %.96.i210 = icmp eq i32 %24, 0
  br i1 %.96.i210, label %then.3.i54, label %do.66.i15.lr.ph

do.38.i70:                                        ; preds = %then.3.i54, %do.38.i70
  %.36.0.i68299 = phi i64 [ 0, %then.3.i54 ], [ %.62.i79, %do.38.i70 ]
  %.46.i71 = getelementptr i32, ptr %to.given, i64 %.36.0.i68299
  %.47.i72 = load i32, ptr %.46.i71, align 1
  %.49.i73 = add i32 %.25.i60, %.47.i72
  %.50.i74 = zext i32 %.49.i73 to i64
  %.51.i75 = getelementptr i8, ptr %.32.i64, i64 %.50.i74
  %.55.i76 = getelementptr i64, ptr %source.given, i64 %.36.0.i68299
  %.56.i77 = load i64, ptr %.55.i76, align 1
  %gep = getelementptr i8, ptr %invariant.gep, i64 %.56.i77
  %25 = load i64, ptr %gep, align 1
  store i64 %25, ptr %.51.i75, align 1
  %.62.i79 = add nuw nsw i64 %.36.0.i68299, 1
  %.42.i69 = icmp samesign ult i64 %.36.0.i68299, 31
  br i1 %.42.i69, label %do.38.i70, label %common.ret

do.66.i15:                                        ; preds = %do.66.i15.lr.ph, %lanes.65.i12.backedge
  %.63.0.i13301 = phi i32 [ %mask.given, %do.66.i15.lr.ph ], [ %.72.i18, %lanes.65.i12.backedge ]
  %.70.i16 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.63.0.i13301, i1 true)
  %.71.i17 = add i32 %.63.0.i13301, -1
  %.72.i18 = and i32 %.71.i17, %.63.0.i13301
  %.75.i19 = zext nneg i32 %.70.i16 to i64
  %.76.i20 = getelementptr i32, ptr %to.given, i64 %.75.i19
  %.77.i21 = load i32, ptr %.76.i20, align 1
  %.79.i22 = add i32 %.77.i21, %to_start.given
  %.80.i23 = zext i32 %.79.i22 to i64
  %.84.i24 = getelementptr i64, ptr %source.given, i64 %.75.i19
  %.85.i25 = load i64, ptr %.84.i24, align 1
  %.87.i26 = add i64 %.85.i25, %source_start.given
  br i1 %.92.not.i27, label %after.90.i33, label %then.89.i28

then.89.i28:                                      ; preds = %do.66.i15
  %.96.i29 = getelementptr i32, ptr %counts.given, i64 %.75.i19
  %.97.i30 = load i32, ptr %.96.i29, align 1
  %26 = tail call i32 @llvm.umin.i32(i32 %.97.i30, i32 8)
  %.101.i32 = zext nneg i32 %26 to i64
  br label %after.90.i33

after.90.i33:                                     ; preds = %then.89.i28, %do.66.i15
  %count.0.i34 = phi i64 [ %.101.i32, %then.89.i28 ], [ 8, %do.66.i15 ]
  %.109.i35 = tail call ptr @resolve(ptr %context.given, ptr %cta.given, ptr %warp.given, i32 %.70.i16, i64 %.80.i23, i64 8, i64 3, i32 1, i32 1, ptr null) #3
  %.113.i36 = icmp eq ptr %.109.i35, null
  br i1 %.113.i36, label %then.110.i51, label %after.111.i37

then.110.i51:                                     ; preds = %after.90.i33
  tail call void @record(ptr %context.given, ptr %warp.given, i32 10, i32 %code.given, i32 %.70.i16, i64 %.80.i23) #3
  br label %common.ret

after.111.i37:                                    ; preds = %after.90.i33
  %.122.i38 = icmp eq i64 %count.0.i34, 0
  br i1 %.122.i38, label %then.119.i50, label %after.120.i39

then.119.i50:                                     ; preds = %after.111.i37
  store i64 0, ptr %.109.i35, align 1
  br label %lanes.65.i12.backedge

lanes.65.i12.backedge:                            ; preds = %then.10.i270, %then.3.i267, %then.119.i50
  %.69.not.i14 = icmp eq i32 %.72.i18, 0
  br i1 %.69.not.i14, label %common.ret, label %do.66.i15

after.120.i39:                                    ; preds = %after.111.i37
  %.131.i40 = icmp eq i64 %count.0.i34, 8
  %.135.i42 = icmp eq i32 %.70.i16, %.134.i41
  %27 = select i1 %.131.i40, i1 %.135.i42, i1 false
  %.137.i44 = select i1 %27, ptr %site.given, ptr null
  %.146.i45 = tail call ptr @resolve(ptr %context.given, ptr %cta.given, ptr %warp.given, i32 %.70.i16, i64 %.87.i26, i64 %count.0.i34, i64 3, i32 0, i32 0, ptr %.137.i44) #3
  %.150.i46 = icmp eq ptr %.146.i45, null
  br i1 %.150.i46, label %then.147.i48, label %then.3.i267

then.147.i48:                                     ; preds = %after.120.i39
  tail call void @record(ptr %context.given, ptr %warp.given, i32 9, i32 %code.given, i32 %.70.i16, i64 %.87.i26) #3
  br label %common.ret

then.3.i267:                                      ; preds = %after.120.i39
  tail call void @llvm.memcpy.p0.p0.i64(ptr nonnull align 1 %.109.i35, ptr nonnull align 1 %.146.i45, i64 range(i64 0, 4294967296) %count.0.i34, i1 false)
  br i1 %.131.i40, label %lanes.65.i12.backedge, label %then.10.i270

then.10.i270:                                     ; preds = %then.3.i267
  %.17.i271 = getelementptr i8, ptr %.109.i35, i64 %count.0.i34
  %.21.i272 = sub nuw nsw i64 8, %count.0.i34
  tail call void @llvm.memset.p0.i64(ptr align 1 %.17.i271, i8 0, i64 %.21.i272, i1 false)
  br label %lanes.65.i12.backedge

after.20:                                         ; preds = %entry.1
  switch i32 %mask.given, label %do.66.i86.lr.ph [
    i32 -1, label %and.5.i123
    i32 0, label %common.ret
  ]

then.3.i125:                                      ; preds = %and.74.i
  %.22.i128 = getelementptr i8, ptr %.5.i, i64 16
  %.23.i129 = load i64, ptr %.22.i128, align 1
  %.24.i130 = trunc i64 %.23.i129 to i32
  %.25.i131 = sub i32 %to_start.given, %.24.i130
  %.28.i132 = load i64, ptr %site.given, align 1
  %.29.i133 = sub i64 %source_start.given, %.28.i132
  %.31.i134 = getelementptr i8, ptr %cta.given, i64 24
  %.32.i135 = load ptr, ptr %.31.i134, align 1
  %.34.i136 = getelementptr i8, ptr %site.given, i64 16
  %.35.i137 = load ptr, ptr %.34.i136, align 1
  %invariant.gep307 = getelementptr i8, ptr %.35.i137, i64 %.29.i133
  br label %do.38.i141

do.66.i86.lr.ph:                                  ; preds = %or.39.i, %and.14.i, %and.5.i123, %after.7.i, %and.74.i, %after.38.i, %after.20
  %.92.not.i98 = icmp eq ptr %counts.given, null
  %.134.i112 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %mask.given, i1 false)
  br label %do.66.i86

and.5.i123:                                       ; preds = %after.20
  %.4.i = getelementptr i8, ptr %context.given, i64 72
  %.5.i = load ptr, ptr %.4.i, align 1
  %.10.i = getelementptr i8, ptr %.5.i, i64 24
  %.11.i = load i64, ptr %.10.i, align 1
  %.13.i = icmp ult i64 %.11.i, 16
  br i1 %.13.i, label %do.66.i86.lr.ph, label %or.8.i

after.7.i:                                        ; preds = %and.14.i, %or.8.i
  %.27.i = load <32 x i32>, ptr %to.given, align 1
  %.30.i = getelementptr i8, ptr %.5.i, i64 16
  %.31.i154 = load i64, ptr %.30.i, align 1
  %.32.i155 = trunc i64 %.31.i154 to i32
  %.33.i = sub i32 %to_start.given, %.32.i155
  %.34.i156 = insertelement <32 x i32> poison, i32 %.33.i, i64 0
  %.35.i157 = shufflevector <32 x i32> %.34.i156, <32 x i32> poison, <32 x i32> zeroinitializer
  %.36.i = add <32 x i32> %.35.i157, %.27.i
  %.46.i158 = and <32 x i32> %.36.i, splat (i32 15)
  %28 = icmp ne <32 x i32> %.46.i158, zeroinitializer
  %29 = bitcast <32 x i1> %28 to i32
  %.49.i159 = icmp eq i32 %29, 0
  br i1 %.49.i159, label %or.39.i, label %do.66.i86.lr.ph

or.8.i:                                           ; preds = %and.5.i123
  %.16.not.i = icmp eq ptr %counts.given, null
  br i1 %.16.not.i, label %after.7.i, label %and.14.i

and.14.i:                                         ; preds = %or.8.i
  %.18.i = load <32 x i32>, ptr %counts.given, align 1
  %30 = icmp ult <32 x i32> %.18.i, splat (i32 16)
  %31 = bitcast <32 x i1> %30 to i32
  %.25.i152 = icmp eq i32 %31, 0
  br i1 %.25.i152, label %after.7.i, label %do.66.i86.lr.ph

after.38.i:                                       ; preds = %or.39.i
  %.63.i = load <32 x i64>, ptr %source.given, align 1
  %.66.i = load i64, ptr %site.given, align 1
  %.67.i = sub i64 %source_start.given, %.66.i
  %.68.i = insertelement <32 x i64> poison, i64 %.67.i, i64 0
  %.69.i = shufflevector <32 x i64> %.68.i, <32 x i64> poison, <32 x i32> zeroinitializer
  %.70.i162 = add <32 x i64> %.69.i, %.63.i
  %.80.i163 = and <32 x i64> %.70.i162, splat (i64 15)
  %32 = icmp ne <32 x i64> %.80.i163, zeroinitializer
  %33 = bitcast <32 x i1> %32 to i32
  %.83.i = icmp eq i32 %33, 0
  br i1 %.83.i, label %and.74.i, label %do.66.i86.lr.ph

or.39.i:                                          ; preds = %after.7.i
  %34 = trunc i64 %.11.i to i32
  %.56.i161 = add i32 %34, -16
  %.57.i = insertelement <32 x i32> poison, i32 %.56.i161, i64 0
  %.58.i = shufflevector <32 x i32> %.57.i, <32 x i32> poison, <32 x i32> zeroinitializer
  %35 = icmp ugt <32 x i32> %.36.i, %.58.i
  %36 = bitcast <32 x i1> %35 to i32
  %.61.i = icmp eq i32 %36, 0
  br i1 %.61.i, label %after.38.i, label %do.66.i86.lr.ph

and.74.i:                                         ; preds = %after.38.i
  %.88.i = lshr <32 x i64> %.70.i162, splat (i64 4)
  %.90.i = getelementptr i8, ptr %site.given, i64 8
  %.91.i = load i64, ptr %.90.i, align 1
  %.92.i = insertelement <32 x i64> poison, i64 %.91.i, i64 0
  %.93.i = shufflevector <32 x i64> %.92.i, <32 x i64> poison, <32 x i32> zeroinitializer
  %37 = icmp uge <32 x i64> %.88.i, %.93.i
  %38 = bitcast <32 x i1> %37 to i32
  %.96.i164 = icmp eq i32 %38, 0
  br i1 %.96.i164, label %then.3.i125, label %do.66.i86.lr.ph

do.38.i141:                                       ; preds = %then.3.i125, %do.38.i141
  %.36.0.i139309 = phi i64 [ 0, %then.3.i125 ], [ %.62.i150, %do.38.i141 ]
  %.46.i142 = getelementptr i32, ptr %to.given, i64 %.36.0.i139309
  %.47.i143 = load i32, ptr %.46.i142, align 1
  %.49.i144 = add i32 %.25.i131, %.47.i143
  %.50.i145 = zext i32 %.49.i144 to i64
  %.51.i146 = getelementptr i8, ptr %.32.i135, i64 %.50.i145
  %.55.i147 = getelementptr i64, ptr %source.given, i64 %.36.0.i139309
  %.56.i148 = load i64, ptr %.55.i147, align 1
  %gep308 = getelementptr i8, ptr %invariant.gep307, i64 %.56.i148
  tail call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 1 dereferenceable(16) %.51.i146, ptr noundef nonnull align 1 dereferenceable(16) %gep308, i64 16, i1 false)
  %.62.i150 = add nuw nsw i64 %.36.0.i139309, 1
  %.42.i140 = icmp samesign ult i64 %.36.0.i139309, 31
  br i1 %.42.i140, label %do.38.i141, label %common.ret

do.66.i86:                                        ; preds = %do.66.i86.lr.ph, %lanes.65.i83.backedge
  %.63.0.i84311 = phi i32 [ %mask.given, %do.66.i86.lr.ph ], [ %.72.i89, %lanes.65.i83.backedge ]
  %.70.i87 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %.63.0.i84311, i1 true)
  %.71.i88 = add i32 %.63.0.i84311, -1
  %.72.i89 = and i32 %.71.i88, %.63.0.i84311
  %.75.i90 = zext nneg i32 %.70.i87 to i64
  %.76.i91 = getelementptr i32, ptr %to.given, i64 %.75.i90
  %.77.i92 = load i32, ptr %.76.i91, align 1
  %.79.i93 = add i32 %.77.i92, %to_start.given
  %.80.i94 = zext i32 %.79.i93 to i64
  %.84.i95 = getelementptr i64, ptr %source.given, i64 %.75.i90
  %.85.i96 = load i64, ptr %.84.i95, align 1
  %.87.i97 = add i64 %.85.i96, %source_start.given
  br i1 %.92.not.i98, label %after.90.i104, label %then.89.i99

then.89.i99:                                      ; preds = %do.66.i86
  %.96.i100 = getelementptr i32, ptr %counts.given, i64 %.75.i90
  %.97.i101 = load i32, ptr %.96.i100, align 1
  %39 = tail call i32 @llvm.umin.i32(i32 %.97.i101, i32 16)
  %.101.i103 = zext nneg i32 %39 to i64
  br label %after.90.i104

after.90.i104:                                    ; preds = %then.89.i99, %do.66.i86
  %count.0.i105 = phi i64 [ %.101.i103, %then.89.i99 ], [ 16, %do.66.i86 ]
  %.109.i106 = tail call ptr @resolve(ptr %context.given, ptr %cta.given, ptr %warp.given, i32 %.70.i87, i64 %.80.i94, i64 16, i64 4, i32 1, i32 1, ptr null) #3
  %.113.i107 = icmp eq ptr %.109.i106, null
  br i1 %.113.i107, label %then.110.i122, label %after.111.i108

then.110.i122:                                    ; preds = %after.90.i104
  tail call void @record(ptr %context.given, ptr %warp.given, i32 10, i32 %code.given, i32 %.70.i87, i64 %.80.i94) #3
  br label %common.ret

after.111.i108:                                   ; preds = %after.90.i104
  %.122.i109 = icmp eq i64 %count.0.i105, 0
  br i1 %.122.i109, label %then.119.i121, label %after.120.i110

then.119.i121:                                    ; preds = %after.111.i108
  tail call void @llvm.memset.p0.i64(ptr noundef nonnull align 1 dereferenceable(16) %.109.i106, i8 0, i64 16, i1 false)
  br label %lanes.65.i83.backedge

lanes.65.i83.backedge:                            ; preds = %then.10.i, %then.3.i260, %then.119.i121
  %.69.not.i85 = icmp eq i32 %.72.i89, 0
  br i1 %.69.not.i85, label %common.ret, label %do.66.i86

after.120.i110:                                   ; preds = %after.111.i108
  %.131.i111 = icmp eq i64 %count.0.i105, 16
  %.135.i113 = icmp eq i32 %.70.i87, %.134.i112
  %40 = select i1 %.131.i111, i1 %.135.i113, i1 false
  %.137.i115 = select i1 %40, ptr %site.given, ptr null
  %.146.i116 = tail call ptr @resolve(ptr %context.given, ptr %cta.given, ptr %warp.given, i32 %.70.i87, i64 %.87.i97, i64 %count.0.i105, i64 4, i32 0, i32 0, ptr %.137.i115) #3
  %.150.i117 = icmp eq ptr %.146.i116, null
  br i1 %.150.i117, label %then.147.i119, label %then.3.i260

then.147.i119:                                    ; preds = %after.120.i110
  tail call void @record(ptr %context.given, ptr %warp.given, i32 9, i32 %code.given, i32 %.70.i87, i64 %.87.i97) #3
  br label %common.ret

then.3.i260:                                      ; preds = %after.120.i110
  tail call void @llvm.memcpy.p0.p0.i64(ptr nonnull align 1 %.109.i106, ptr nonnull align 1 %.146.i116, i64 range(i64 0, 4294967296) %count.0.i105, i1 false)
  br i1 %.131.i111, label %lanes.65.i83.backedge, label %then.10.i

then.10.i:                                        ; preds = %then.3.i260
  %.17.i = getelementptr i8, ptr %.109.i106, i64 %count.0.i105
  %.21.i262 = sub nuw nsw i64 16, %count.0.i105
  tail call void @llvm.memset.p0.i64(ptr align 1 %.17.i, i8 0, i64 %.21.i262, i1 false)
  br label %lanes.65.i83.backedge
}

declare ptr @resolve(ptr, ptr, ptr, i32, i64, i64, i64, i32, i32, ptr) local_unnamed_addr

declare void @record(ptr, ptr, i32, i32, i32, i64) local_unnamed_addr

declare i32 @llvm.umin.i32(i32, i32) #4

attributes #0 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: readwrite) }
attributes #1 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #3 = { nounwind }
attributes #4 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
