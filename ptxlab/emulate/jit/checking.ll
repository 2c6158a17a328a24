; What the checks do out of line: notes, written bytes, barriers, masks. Races are in races.ll.

; Another warp-instruction: see ptxlab.emulate.rules.notes.
define internal void @serial(ptr %ctx, i32 %mask) nounwind {
  %g.p = getelementptr i8, ptr %ctx, i64 ${CHECK}
  %g = load ptr, ptr %g.p
  call void @"notes.serial"(ptr %g, i32 %mask)
  ret void
}

define internal void @note(ptr %ctx, ptr %cta, i64 %kind, i64 %me, i64 %other, i64 %address, i64 %value) noinline nounwind {
  %g.p = getelementptr i8, ptr %ctx, i64 ${CHECK}
  %g = load ptr, ptr %g.p
  %ck.p = getelementptr i8, ptr %cta, i64 ${CHECKS}
  %ck = load ptr, ptr %ck.p
  call void @"notes.note"(ptr %g, ptr %ck, i64 %kind, i64 %me, i64 %other, i64 %address, i64 %value)
  ret void
}

; Lane by lane, where 32 addresses lie here and there, and for atomics: %kind 0 reads, 1 writes, 2 does both. Out of
; range it does nothing: the access itself will say so.
define internal void @check.each(ptr %ctx, ptr %cta, ptr %ws, i32 %mask, ptr %addrs, i64 %extra, i64 %n, i64 %lg, i32 %space, i32 %kind, i64 %code, i64 %flags) noinline nounwind {
entry:
  %ps = alloca [32 x ptr], align 64
  %strides = alloca [32 x i64], align 64
  call void @serial(ptr %ctx, i32 %mask)
  %ck.p = getelementptr i8, ptr %cta, i64 ${CHECKS}
  %ck = load ptr, ptr %ck.p
  %me0 = call i64 @race.me(ptr %ck, ptr %ws, i64 %code)
  %me1 = or i64 %me0, %flags
  %write = icmp ne i32 %kind, 0
  %write32 = zext i1 %write to i32
  %reads = icmp ne i32 %kind, 1
  %count = lshr i64 %n, ${LOG_GRANULE}
  br label %loop
loop:
  %left = phi i32 [%mask, %entry], [%rest, %next]
  %done = icmp eq i32 %left, 0
  br i1 %done, label %keep, label %body
body:
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 false)
  %left1 = sub i32 %left, 1
  %rest = and i32 %left, %left1
  %lane64 = zext i32 %lane to i64
  %me = or i64 %me1, %lane64
  %ap = getelementptr i64, ptr %addrs, i64 %lane64
  %a0 = load i64, ptr %ap
  %addr = add i64 %a0, %extra
  %pp = getelementptr ptr, ptr %ps, i64 %lane64
  store ptr null, ptr %pp
  %p = call ptr @resolve(ptr %ctx, ptr %cta, ptr %ws, i32 %lane, i64 %addr, i64 %n, i64 %lg, i32 %space, i32 %write32, ptr null)
  %bad = icmp eq ptr %p, null
  br i1 %bad, label %finish, label %init
init:
  %sh.p = getelementptr i8, ptr %ctx, i64 ${SHADOW}
  %sh = load ptr, ptr %sh.p
  %sh.any = icmp ne ptr %sh, null
  %look0 = and i1 %sh.any, %reads
  %look = and i1 %look0, ${INITCHECK}
  br i1 %look, label %bytes, label %race
bytes:
  %missing = call i64 @"initcheck.first_unwritten"(ptr %sh, i64 %n)
  %whole = icmp eq i64 %missing, %n
  br i1 %whole, label %race, label %unwritten
unwritten:
  %where = add i64 %addr, %missing
  call void @note(ptr %ctx, ptr %cta, i64 ${UNINITIALISED}, i64 %me, i64 0, i64 %where, i64 0)
  br label %race
race:
  %marks = and i1 %sh.any, %write
  br i1 %marks, label %mark, label %marked
mark:
  call void @llvm.memset.p0.i64(ptr %sh, i8 -1, i64 %n, i1 false)
  br label %marked
marked:
  %r.p = getelementptr i8, ptr %ctx, i64 ${RACE}
  %r = load ptr, ptr %r.p
  %r.no = icmp eq ptr %r, null
  br i1 %r.no, label %next, label %words
words:
  %st.p = getelementptr i8, ptr %ctx, i64 ${RACE_STRIDE}
  %st = load i64, ptr %st.p
  %of.p = getelementptr i8, ptr %ctx, i64 ${RACE_OFFSET}
  %of = load i64, ptr %of.p
  %word = lshr i64 %of, ${LOG_GRANULE}
  %w0 = getelementptr i64, ptr %r, i64 %word
  store ptr %w0, ptr %pp
  %sp = getelementptr i64, ptr %strides, i64 %lane64
  store i64 %st, ptr %sp
  br label %word.loop
word.loop:
  %j = phi i64 [0, %words], [%j1, %word.go]
  %j.more = icmp ult i64 %j, %count
  br i1 %j.more, label %word.go, label %next
word.go:
  %wj = getelementptr i64, ptr %w0, i64 %j
  %jo = shl i64 %j, ${LOG_GRANULE}
  %ja = add i64 %addr, %jo
  call void @race.hazard(ptr %ctx, ptr %cta, ptr %wj, i64 %st, i64 %ja, i64 %me, i1 %write)
  %j1 = add i64 %j, 1
  br label %word.loop
next:
  br label %loop
keep:
  %l = phi i32 [32, %loop], [%l1, %keep.next]
  %l.no = icmp eq i32 %l, 0
  br i1 %l.no, label %finish, label %keep.look
keep.look:
  %l1 = sub i32 %l, 1
  %l.bit0 = lshr i32 %mask, %l1
  %l.bit = and i32 %l.bit0, 1
  %l.on = icmp ne i32 %l.bit, 0
  br i1 %l.on, label %keep.lane, label %keep.next
keep.lane:
  %l64 = zext i32 %l1 to i64
  %kp = getelementptr ptr, ptr %ps, i64 %l64
  %kw = load ptr, ptr %kp
  %kw.no = icmp eq ptr %kw, null
  br i1 %kw.no, label %keep.next, label %keep.words
keep.words:
  %ksp = getelementptr i64, ptr %strides, i64 %l64
  %ks = load i64, ptr %ksp
  %kme = or i64 %me1, %l64
  br label %keep.word
keep.word:
  %m = phi i64 [0, %keep.words], [%m1, %keep.go]
  %m.more = icmp ult i64 %m, %count
  br i1 %m.more, label %keep.go, label %keep.next
keep.go:
  %kwm = getelementptr i64, ptr %kw, i64 %m
  %old = load i64, ptr %kwm
  %o.diff = xor i64 %old, %kme
  %o.rest = and i64 %o.diff, -1056
  %o.same = icmp eq i64 %o.rest, 0
  %o.many0 = and i1 %o.same, %write
  %o.many = select i1 %o.many0, i64 1024, i64 0
  %kme.many = or i64 %kme, %o.many
  call void @race.keep(ptr %ctx, ptr %cta, ptr %kwm, i64 %ks, i64 %kme.many, i1 %write)
  %m1 = add i64 %m, 1
  br label %keep.word
keep.next:
  br label %keep
finish:
  ret void
}
