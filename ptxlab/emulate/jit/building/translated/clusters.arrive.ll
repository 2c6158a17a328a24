; [["clusters.arrive", "clusters.wait"], [], "0.50"]
; jit/translation/__init__.py jit/translation/conversions.py jit/translation/distinct_values.py jit/translation/expressions.py jit/translation/folding.py jit/translation/intrinsics.py jit/translation/ir.py jit/translation/rule_calls.py jit/translation/translator.py jit/translation/value_kinds.py language/__init__.py language/records.py language/rules.py language/types.py language/vectors.py rules/clusters.py runtime/state.py
; fcaf617c2c57f736d3754b54db71ea5e916bb2754f145978449ad74f1e1d8ef6 edc107cf491e14f2db86c32ada8b9c0a3b7f68aee7bc3f57a27cf052fad500fe
source_filename = "<string>"

define void @clusters.arrive(ptr captures(none) %warp.given, i32 %mask.given) local_unnamed_addr #0 {
entry.1:
  %.4 = getelementptr i8, ptr %warp.given, i64 172
  %.5 = load i32, ptr %.4, align 1
  %.7 = or i32 %.5, %mask.given
  store i32 %.7, ptr %.4, align 1
  ret void
}

define void @clusters.wait(ptr captures(none) %warp.given, i32 %mask.given) local_unnamed_addr #0 {
entry.1:
  %.4 = getelementptr i8, ptr %warp.given, i64 180
  %.5 = load i32, ptr %.4, align 1
  %.7 = or i32 %.5, %mask.given
  store i32 %.7, ptr %.4, align 1
  %.9 = getelementptr i8, ptr %warp.given, i64 132
  %.10 = load i32, ptr %.9, align 1
  %.12 = or i32 %.10, %mask.given
  store i32 %.12, ptr %.9, align 1
  ret void
}

attributes #0 = { mustprogress nofree norecurse nosync nounwind willreturn memory(argmem: readwrite) }
