; Where the pieces of a matrix lie in memory. %shape: the pieces' number, lines less one, bytes of a line, log2 of the
; bytes of a piece, whether it is written; then for each piece its line, first byte and lane. Fills %pointers, and in
; %shadows where writes are noted (0: nowhere). 0, or 1 when a fault has been recorded.
define internal i32 @wmma.find(ptr %ctx, ptr %cta, ptr %ws, i64 %base, i64 %stride, i32 %space, i32 %code, ptr %shape, ptr %pointers, ptr %shadows) noinline nounwind {
entry:
  %own.p = getelementptr i8, ptr %ctx, i64 ${Context.found.written}
  %count32 = load i32, ptr %shape
  %count = zext i32 %count32 to i64
  %s1 = getelementptr i32, ptr %shape, i64 1
  %lines32 = load i32, ptr %s1
  %lines = zext i32 %lines32 to i64
  %s2 = getelementptr i32, ptr %shape, i64 2
  %row32 = load i32, ptr %s2
  %row = zext i32 %row32 to i64
  %s3 = getelementptr i32, ptr %shape, i64 3
  %log32 = load i32, ptr %s3
  %log = zext i32 %log32 to i64
  %s4 = getelementptr i32, ptr %shape, i64 4
  %write = load i32, ptr %s4
  %pieces = getelementptr i32, ptr %shape, i64 5
  %size = shl i64 1, %log
  %low = sub i64 %size, 1
  %span0 = mul i64 %stride, %lines
  %span = add i64 %span0, %row
  %small = icmp ult i64 %stride, 16777216
  %askew = and i64 %stride, %low
  %straight = icmp eq i64 %askew, 0
  %generic = icmp eq i32 %space, 5
  %b.own = sub i64 %base, ${LOCAL_WINDOW}
  %b.local0 = icmp ult i64 %b.own, ${WINDOW_SIZE}
  %b.local = and i1 %b.local0, %generic
  %b.shared = xor i1 %b.local, true
  %try0 = and i1 %small, %straight
  %try = and i1 %try0, %b.shared
  br i1 %try, label %whole, label %apart
whole:
  %first = call ptr @resolve(ptr %ctx, ptr %cta, ptr %ws, i32 0, i64 %base, i64 %span, i64 %log, i32 %space, i32 %write, ptr null)
  %one = icmp ne ptr %first, null
  %first.shadow = load i64, ptr %own.p
  br i1 %one, label %fill, label %apart
fill:
  %k = phi i64 [0, %whole], [%k1, %fill]
  %o = mul i64 %k, 3
  %lp = getelementptr i32, ptr %pieces, i64 %o
  %line = load i32, ptr %lp
  %sp = getelementptr i32, ptr %lp, i64 1
  %start = load i32, ptr %sp
  %line64 = zext i32 %line to i64
  %start64 = zext i32 %start to i64
  %down = mul i64 %line64, %stride
  %off = add i64 %down, %start64
  %here = getelementptr i8, ptr %first, i64 %off
  %pp = getelementptr ptr, ptr %pointers, i64 %k
  store ptr %here, ptr %pp
  %has = icmp ne i64 %first.shadow, 0
  %moved = add i64 %first.shadow, %off
  %own = select i1 %has, i64 %moved, i64 0
  %hp = getelementptr i64, ptr %shadows, i64 %k
  store i64 %own, ptr %hp
  %k1 = add i64 %k, 1
  %more = icmp ult i64 %k1, %count
  br i1 %more, label %fill, label %found
apart:
  %j = phi i64 [0, %entry], [0, %whole], [%j1, %next]
  %a.o = mul i64 %j, 3
  %a.lp = getelementptr i32, ptr %pieces, i64 %a.o
  %a.line = load i32, ptr %a.lp
  %a.sp = getelementptr i32, ptr %a.lp, i64 1
  %a.start = load i32, ptr %a.sp
  %a.np = getelementptr i32, ptr %a.lp, i64 2
  %a.lane = load i32, ptr %a.np
  %a.line64 = zext i32 %a.line to i64
  %a.start64 = zext i32 %a.start to i64
  %a.down = mul i64 %a.line64, %stride
  %a.off = add i64 %a.down, %a.start64
  %a.addr = add i64 %base, %a.off
  %a.p = call ptr @resolve(ptr %ctx, ptr %cta, ptr %ws, i32 %a.lane, i64 %a.addr, i64 %size, i64 %log, i32 %space, i32 %write, ptr null)
  %a.own = sub i64 %a.addr, ${LOCAL_WINDOW}
  %a.local0 = icmp ult i64 %a.own, ${WINDOW_SIZE}
  %a.local = and i1 %a.local0, %generic
  %a.shared = xor i1 %a.local, true
  %a.there = icmp ne ptr %a.p, null
  %a.ok = and i1 %a.there, %a.shared
  br i1 %a.ok, label %next, label %wrong
wrong:
  call void @record(ptr %ctx, ptr %ws, i32 ${OUT_OF_MEMORY_RANGE}, i32 %code, i32 %a.lane, i64 %a.addr)
  ret i32 1
next:
  %a.pp = getelementptr ptr, ptr %pointers, i64 %j
  store ptr %a.p, ptr %a.pp
  %a.shadow = load i64, ptr %own.p
  %a.hp = getelementptr i64, ptr %shadows, i64 %j
  store i64 %a.shadow, ptr %a.hp
  %j1 = add i64 %j, 1
  %a.more = icmp ult i64 %j1, %count
  br i1 %a.more, label %apart, label %found
found:
  ret i32 0
}

; Notes that the pieces have been written.
define internal void @wmma.mark(ptr %shape, ptr %shadows) noinline nounwind {
entry:
  %count = load i32, ptr %shape
  %s3 = getelementptr i32, ptr %shape, i64 3
  %log32 = load i32, ptr %s3
  %log = zext i32 %log32 to i64
  %size = shl i64 1, %log
  br label %mark
mark:
  %m = phi i32 [0, %entry], [%m1, %marked]
  %m.p = getelementptr i64, ptr %shadows, i32 %m
  %shadow = load i64, ptr %m.p
  %has = icmp ne i64 %shadow, 0
  br i1 %has, label %marking, label %marked
marking:
  %to = inttoptr i64 %shadow to ptr
  call void @llvm.memset.p0.i64(ptr %to, i8 -1, i64 %size, i1 false)
  br label %marked
marked:
  %m1 = add i32 %m, 1
  %more = icmp ult i32 %m1, %count
  br i1 %more, label %mark, label %stored
stored:
  ret void
}
