; What the checks do out of line: notes, written bytes, barriers, masks. Races are in races.ll.

; For what is here still: rules of races, with the arguments of the engine's functions.
define internal i64 @race.me(ptr %ck, ptr %ws, i64 %code) nounwind {
  %now = load i64, ptr %ck
  %c = shl i64 %code, ${CODE}
  %wp = getelementptr i8, ptr %ws, i64 ${WARP_ID}
  %w32 = load i32, ptr %wp
  %w = zext i32 %w32 to i64
  %ws5 = shl i64 %w, 5
  %a = or i64 %now, %c
  %b = or i64 %a, %ws5
  ret i64 %b
}

define internal void @race.hazard(ptr %ctx, ptr %cta, ptr %p, i64 %stride, i64 %address, i64 %me, i1 %write) nounwind {
  %g.p = getelementptr i8, ptr %ctx, i64 ${CHECK}
  %g = load ptr, ptr %g.p
  %ck.p = getelementptr i8, ptr %cta, i64 ${CHECKS}
  %ck = load ptr, ptr %ck.p
  call void @"races.hazard"(ptr %g, ptr %ck, ptr %p, i64 %stride, i64 %address, i64 %me, i1 %write)
  ret void
}

define internal void @race.keep(ptr %ctx, ptr %cta, ptr %p, i64 %stride, i64 %me, i1 %write) nounwind {
  %g.p = getelementptr i8, ptr %ctx, i64 ${CHECK}
  %g = load ptr, ptr %g.p
  %ck.p = getelementptr i8, ptr %cta, i64 ${CHECKS}
  %ck = load ptr, ptr %ck.p
  call void @"races.remember"(ptr %g, ptr %ck, ptr %p, i64 %stride, i64 %me, i1 %write)
  ret void
}

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

define internal void @check.started(ptr %ctx, ptr %cta) noinline nounwind {
  %ck.p = getelementptr i8, ptr %cta, i64 ${CHECKS}
  %ck = load ptr, ptr %ck.p
  %linear.p = getelementptr i8, ptr %cta, i64 ${LINEAR}
  %linear = load i64, ptr %linear.p
  call void @"blocks.started"(ptr %ck, i64 %linear)
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
  %missing = call i64 @init.first(ptr %sh, i64 %n)
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
  %g.p = getelementptr i8, ptr %ctx, i64 ${CHECK}
  %g = load ptr, ptr %g.p
  %mem.p = getelementptr i8, ptr %g, i64 ${STORE_MEMORY}
  store ptr %p, ptr %mem.p
  %mem.start.p = getelementptr i8, ptr %g, i64 ${STORE_MEMORY_START}
  store i64 %addr, ptr %mem.start.p
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

; The first of %n bytes that is not 255; %n if all are.
define internal i64 @init.first(ptr %p, i64 %n) noinline nounwind {
entry:
  br label %big
big:
  %i = phi i64 [0, %entry], [%i64, %big.same]
  %j = add i64 %i, 64
  %big.fits = icmp ule i64 %j, %n
  br i1 %big.fits, label %big.look, label %four
big.look:
  %bp = getelementptr i8, ptr %p, i64 %i
  %b = load <16 x i32>, ptr %bp, align 1
  %b.ne = icmp ne <16 x i32> %b, splat (i32 -1)
  %b.bits = bitcast <16 x i1> %b.ne to i16
  %b.ok = icmp eq i16 %b.bits, 0
  br i1 %b.ok, label %big.same, label %four
big.same:
  %i64 = add i64 %i, 64
  br label %big
four:
  %k = phi i64 [%i, %big], [%i, %big.look], [%k4, %four.same]
  %l = add i64 %k, 4
  %four.fits = icmp ule i64 %l, %n
  br i1 %four.fits, label %four.look, label %one
four.look:
  %fp = getelementptr i8, ptr %p, i64 %k
  %f = load i32, ptr %fp, align 1
  %f.ok = icmp eq i32 %f, -1
  br i1 %f.ok, label %four.same, label %one
four.same:
  %k4 = add i64 %k, 4
  br label %four
one:
  %m = phi i64 [%k, %four], [%k, %four.look], [%m1, %one.same]
  %one.fits = icmp ult i64 %m, %n
  br i1 %one.fits, label %one.look, label %finish
one.look:
  %op = getelementptr i8, ptr %p, i64 %m
  %o = load i8, ptr %op
  %o.ok = icmp eq i8 %o, -1
  br i1 %o.ok, label %one.same, label %finish
one.same:
  %m1 = add i64 %m, 1
  br label %one
finish:
  ret i64 %m
}

; Some byte that a segment reads was not written: says for each access of it which lane's is the first. %offs: 32 offsets
; from the start of the allocation; %shadow: its record of writes.
define internal void @init.report(ptr %ctx, ptr %cta, ptr %ws, i32 %mask, ptr %shadow, ptr %offs, i64 %address, ptr %members) noinline nounwind {
entry:
  call void @serial(ptr %ctx, i32 %mask)
  %ck.p = getelementptr i8, ptr %cta, i64 ${CHECKS}
  %ck = load ptr, ptr %ck.p
  %me0 = call i64 @race.me(ptr %ck, ptr %ws, i64 0)
  %n = load i64, ptr %members
  br label %loop
loop:
  %k = phi i64 [0, %entry], [%k1, %next]
  %more = icmp ult i64 %k, %n
  br i1 %more, label %member, label %finish
member:
  %k3 = mul i64 %k, 24
  %h = getelementptr i8, ptr %members, i64 %k3
  %o.p = getelementptr i8, ptr %h, i64 8
  %o = load i64, ptr %o.p
  %s.p = getelementptr i8, ptr %h, i64 16
  %s = load i64, ptr %s.p
  %c.p = getelementptr i8, ptr %h, i64 24
  %c = load i64, ptr %c.p
  %me1 = or i64 %me0, %c
  br label %lanes
lanes:
  %left = phi i32 [%mask, %member], [%rest, %lane.next]
  %done = icmp eq i32 %left, 0
  br i1 %done, label %next, label %lane
lane:
  %l = call i32 @llvm.cttz.i32(i32 %left, i1 false)
  %left1 = sub i32 %left, 1
  %rest = and i32 %left, %left1
  %l64 = zext i32 %l to i64
  %op = getelementptr i32, ptr %offs, i64 %l64
  %o32 = load i32, ptr %op
  %o64 = zext i32 %o32 to i64
  %at = add i64 %o64, %o
  %p = getelementptr i8, ptr %shadow, i64 %at
  %first = call i64 @init.first(ptr %p, i64 %s)
  %ok = icmp eq i64 %first, %s
  br i1 %ok, label %lane.next, label %bad
lane.next:
  br label %lanes
bad:
  %me = or i64 %me1, %l64
  %a0 = add i64 %address, %at
  %a = add i64 %a0, %first
  call void @note(ptr %ctx, ptr %cta, i64 ${UNINITIALISED}, i64 %me, i64 0, i64 %a, i64 0)
  br label %next
next:
  %k1 = add i64 %k, 1
  br label %loop
finish:
  ret void
}

; One address for all lanes: %ranges is a count, and for each stretch its offset and bytes.
define internal i1 @init.ranges(ptr %shadow, i64 %off, ptr %ranges) noinline nounwind {
entry:
  %n = load i64, ptr %ranges
  br label %loop
loop:
  %k = phi i64 [0, %entry], [%k1, %good]
  %more = icmp ult i64 %k, %n
  br i1 %more, label %body, label %finish
body:
  %k2 = shl i64 %k, 4
  %h = getelementptr i8, ptr %ranges, i64 %k2
  %o.p = getelementptr i8, ptr %h, i64 8
  %o = load i64, ptr %o.p
  %s.p = getelementptr i8, ptr %h, i64 16
  %s = load i64, ptr %s.p
  %at = add i64 %off, %o
  %p = getelementptr i8, ptr %shadow, i64 %at
  %first = call i64 @init.first(ptr %p, i64 %s)
  %ok = icmp eq i64 %first, %s
  br i1 %ok, label %good, label %bad
good:
  %k1 = add i64 %k, 1
  br label %loop
bad:
  ret i1 false
finish:
  ret i1 true
}

; 32 addresses that lie as %pattern says: is all written that they read?
define internal i1 @init.group(i32 %mask, ptr %shadow, ptr %offs, i32 %pattern, ptr %ranges, ptr %members) noinline nounwind {
entry:
  %o0.32 = load i32, ptr %offs
  %o0 = zext i32 %o0.32 to i64
  %h.p = getelementptr i8, ptr %offs, i64 64
  %o16.32 = load i32, ptr %h.p
  %o16 = zext i32 %o16.32 to i64
  %n = load i64, ptr %members
  switch i32 %pattern, label %any [i32 0, label %rows i32 4, label %rows i32 1, label %one i32 5, label %halves]
one:
  %r1 = call i1 @init.ranges(ptr %shadow, i64 %o0, ptr %ranges)
  ret i1 %r1
halves:
  %r2 = call i1 @init.ranges(ptr %shadow, i64 %o0, ptr %ranges)
  %r3 = call i1 @init.ranges(ptr %shadow, i64 %o16, ptr %ranges)
  %r4 = and i1 %r2, %r3
  ret i1 %r4
rows:
  %half = icmp eq i32 %pattern, 4
  %lanes = select i1 %half, i64 16, i64 32
  br label %row
row:
  %k = phi i64 [0, %rows], [%k1, %row.good]
  %k.more = icmp ult i64 %k, %n
  br i1 %k.more, label %row.go, label %good
row.go:
  %k3 = mul i64 %k, 24
  %mh = getelementptr i8, ptr %members, i64 %k3
  %mo.p = getelementptr i8, ptr %mh, i64 8
  %mo = load i64, ptr %mo.p
  %ms.p = getelementptr i8, ptr %mh, i64 16
  %ms = load i64, ptr %ms.p
  %bytes = mul i64 %ms, %lanes
  %ra = add i64 %o0, %mo
  %ra.p = getelementptr i8, ptr %shadow, i64 %ra
  %ra.f = call i64 @init.first(ptr %ra.p, i64 %bytes)
  %ra.ok = icmp eq i64 %ra.f, %bytes
  br i1 %ra.ok, label %row.second, label %bad
row.second:
  br i1 %half, label %row.half, label %row.good
row.half:
  %rb = add i64 %o16, %mo
  %rb.p = getelementptr i8, ptr %shadow, i64 %rb
  %rb.f = call i64 @init.first(ptr %rb.p, i64 %bytes)
  %rb.ok = icmp eq i64 %rb.f, %bytes
  br i1 %rb.ok, label %row.good, label %bad
row.good:
  %k1 = add i64 %k, 1
  br label %row
any:
  %o32 = load <32 x i32>, ptr %offs, align 4
  %m = bitcast i32 %mask to <32 x i1>
  br label %member
member:
  %j = phi i64 [0, %any], [%j1, %member.good]
  %j.more = icmp ult i64 %j, %n
  br i1 %j.more, label %member.go, label %good
member.go:
  %j3 = mul i64 %j, 24
  %jh = getelementptr i8, ptr %members, i64 %j3
  %jo.p = getelementptr i8, ptr %jh, i64 8
  %jo = load i64, ptr %jo.p
  %js.p = getelementptr i8, ptr %jh, i64 16
  %js = load i64, ptr %js.p
  %from = getelementptr i8, ptr %shadow, i64 %jo
  %words = icmp uge i64 %js, 4
  br i1 %words, label %word, label %lane.by.lane
word:
  %w = phi i64 [0, %member.go], [%w4, %word.good]
  %w.more = icmp ult i64 %w, %js
  br i1 %w.more, label %word.go, label %member.good
word.go:
  %wp = getelementptr i8, ptr %from, i64 %w
  %o64 = zext <32 x i32> %o32 to <32 x i64>
  %ps = getelementptr i8, ptr %wp, <32 x i64> %o64
  %x = call <32 x i32> @llvm.masked.gather.v32i32.v32p0(<32 x ptr> align 1 %ps, <32 x i1> %m, <32 x i32> splat (i32 -1))
  %x.ne = icmp ne <32 x i32> %x, splat (i32 -1)
  %x.bits = bitcast <32 x i1> %x.ne to i32
  %x.ok = icmp eq i32 %x.bits, 0
  br i1 %x.ok, label %word.good, label %bad
word.good:
  %w4 = add i64 %w, 4
  br label %word
lane.by.lane:
  %left = phi i32 [%mask, %member.go], [%rest, %lane.good]
  %done = icmp eq i32 %left, 0
  br i1 %done, label %member.good, label %lane
lane:
  %l = call i32 @llvm.cttz.i32(i32 %left, i1 false)
  %left1 = sub i32 %left, 1
  %rest = and i32 %left, %left1
  %l64 = zext i32 %l to i64
  %lop = getelementptr i32, ptr %offs, i64 %l64
  %lo32 = load i32, ptr %lop
  %lo = zext i32 %lo32 to i64
  %lp = getelementptr i8, ptr %from, i64 %lo
  %lf = call i64 @init.first(ptr %lp, i64 %js)
  %l.ok = icmp eq i64 %lf, %js
  br i1 %l.ok, label %lane.good, label %bad
lane.good:
  br label %lane.by.lane
member.good:
  %j1 = add i64 %j, 1
  br label %member
good:
  ret i1 true
bad:
  ret i1 false
}

; What lanes store to shared memory is written.
define internal void @init.mark(i32 %mask, ptr %shadow, ptr %offs, i32 %pattern, i64 %at, i64 %n) noinline nounwind {
entry:
  %o0.32 = load i32, ptr %offs
  %o0 = zext i32 %o0.32 to i64
  %h.p = getelementptr i8, ptr %offs, i64 64
  %o16.32 = load i32, ptr %h.p
  %o16 = zext i32 %o16.32 to i64
  %base = getelementptr i8, ptr %shadow, i64 %at
  switch i32 %pattern, label %any [i32 0, label %row i32 4, label %rows]
row:
  %p = getelementptr i8, ptr %base, i64 %o0
  %all = shl i64 %n, 5
  call void @llvm.memset.p0.i64(ptr %p, i8 -1, i64 %all, i1 false)
  ret void
rows:
  %half = shl i64 %n, 4
  %p0 = getelementptr i8, ptr %base, i64 %o0
  call void @llvm.memset.p0.i64(ptr %p0, i8 -1, i64 %half, i1 false)
  %p1 = getelementptr i8, ptr %base, i64 %o16
  call void @llvm.memset.p0.i64(ptr %p1, i8 -1, i64 %half, i1 false)
  ret void
any:
  %s = ptrtoint ptr %shadow to i64
  call void @mark.lanes(i64 %s, ptr %offs, i64 %at, i32 %mask, i64 %n)
  ret void
}
