; One atomic operation, lane by lane in lane order: %xs holds the operands, %out gets the old values.
define internal i32 @${FUNCTION}(ptr %ctx, ptr %cta, ptr %ws, i32 %mask, ptr %addrs, ptr %xs, ptr %out, i32 %space, i32 %code) noinline nounwind {
entry:
  br label %loop
loop:
  %left = phi i32 [%mask, %entry], [%rest, %next]
  %done = icmp eq i32 %left, 0
  br i1 %done, label %finish, label %body
body:
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 false)
  %left1 = sub i32 %left, 1
  %rest = and i32 %left, %left1
  %lane64 = zext i32 %lane to i64
  %ap = getelementptr i64, ptr %addrs, i64 %lane64
  %addr = load i64, ptr %ap
  %p = call ptr @resolve(ptr %ctx, ptr %cta, ptr %ws, i32 %lane, i64 %addr, i64 ${SIZE}, i64 ${LOG2}, i32 %space, i32 1, ptr null)
  %ok = icmp ne ptr %p, null
  br i1 %ok, label %do, label %bad
do:
${ACT}
  %shadow.p = getelementptr i8, ptr %ctx, i64 ${Context.found.written}
  %sh = load i64, ptr %shadow.p
  %has = icmp ne i64 %sh, 0
  br i1 %has, label %mark, label %next
mark:
  %shp = inttoptr i64 %sh to ptr
  call void @llvm.memset.p0.i64(ptr %shp, i8 -1, i64 ${SIZE}, i1 false)
  br label %next
next:
  br label %loop
finish:
  ret i32 0
bad:
  call void @record(ptr %ctx, ptr %ws, i32 ${OUT_OF_MEMORY_RANGE}, i32 %code, i32 %lane, i64 %addr)
  ret i32 1
}
