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

define internal void @check.started(ptr %ctx, ptr %cta) noinline nounwind {
  %ck.p = getelementptr i8, ptr %cta, i64 ${CHECKS}
  %ck = load ptr, ptr %ck.p
  %linear.p = getelementptr i8, ptr %cta, i64 ${LINEAR}
  %linear = load i64, ptr %linear.p
  call void @"blocks.started"(ptr %ck, i64 %linear)
  ret void
}

; A barrier opens to %came waiting warps of %alive; %over: more than it counts, so that nobody has waited for the others.
define internal void @check.opened(ptr %ctx, ptr %cta, ptr %states, i64 %size, i64 %barrier, i32 %came, i32 %alive, i1 %over) noinline nounwind {
entry:
  %known = alloca [32 x i32], align 64
  %ck.p = getelementptr i8, ptr %cta, i64 ${CHECKS}
  %ck = load ptr, ptr %ck.p
  call void @serial(ptr %ctx, i32 0)
  %warps.p = getelementptr i8, ptr %ctx, i64 ${WARPS}
  %warps = load i64, ptr %warps.p
  %b4 = shl i64 %barrier, 2
  %ex = getelementptr i8, ptr %ck, i64 ${EXPECTED}
  %ex.p = getelementptr i8, ptr %ex, i64 %b4
  store i32 0, ptr %ex.p
  br label %who
who:
  %k = phi i64 [0, %entry], [%k1, %who.next]
  %waiting = phi i32 [0, %entry], [%waiting2, %who.next]
  %k.more = icmp ult i64 %k, %warps
  br i1 %k.more, label %who.look, label %clock
who.look:
  %o = mul i64 %k, %size
  %ws = getelementptr i8, ptr %states, i64 %o
  %live.p = getelementptr i8, ptr %ws, i64 ${LIVE}
  %live = load i32, ptr %live.p
  %bars = getelementptr i8, ptr %ws, i64 ${BAR}
  %bar.p = getelementptr i8, ptr %bars, i64 %b4
  %bar = load i32, ptr %bar.p
  %whole = icmp eq i32 %bar, %live
  %some = icmp ne i32 %live, 0
  %here = and i1 %whole, %some
  %k32 = trunc i64 %k to i32
  %here32 = zext i1 %here to i32
  %bit = shl i32 %here32, %k32
  %waiting2 = or i32 %waiting, %bit
  %first.p = getelementptr i8, ptr %ws, i64 ${FIRST_LIVE}
  %first = load i32, ptr %first.p
  %codes = getelementptr i8, ptr %ck, i64 ${BAR_CODE}
  %code.p = getelementptr i32, ptr %codes, i64 %k
  %code1 = load i32, ptr %code.p
  %gone0 = xor i32 %live, -1
  %gone = and i32 %first, %gone0
  %gone.any = icmp ne i32 %gone, 0
  %code.any = icmp ne i32 %code1, 0
  %wrong0 = and i1 %gone.any, %code.any
  %wrong1 = and i1 %wrong0, %here
  %wrong = and i1 %wrong1, ${SYNCHECK}
  br i1 %wrong, label %exited, label %who.next
exited:
  call void @serial(ptr %ctx, i32 0)
  %code = sub i32 %code1, 1
  %code64 = zext i32 %code to i64
  %me0 = call i64 @race.me(ptr %ck, ptr %ws, i64 %code64)
  %l32 = call i32 @llvm.cttz.i32(i32 %live, i1 false)
  %l64 = zext i32 %l32 to i64
  %me = or i64 %me0, %l64
  %g32 = call i32 @llvm.cttz.i32(i32 %gone, i1 false)
  %g64 = zext i32 %g32 to i64
  call void @note(ptr %ctx, ptr %cta, i64 ${EXITED}, i64 %me, i64 0, i64 -1, i64 %g64)
  br label %who.next
who.next:
  %k1 = add i64 %k, 1
  br label %who
clock:
  %t = call i32 @race.tick(ptr %ck)
  br i1 %over, label %nobody, label %order
nobody:
  %n.simple.p = getelementptr i8, ptr %ck, i64 ${SIMPLE}
  store i64 0, ptr %n.simple.p
  ret void
order:
  %row = shl i64 %barrier, 7
  %came.all = getelementptr i8, ptr %ck, i64 ${CAME}
  %came.row = getelementptr i8, ptr %came.all, i64 %row
  %came.v = load <32 x i32>, ptr %came.row, align 4
  %came.some = icmp ne <32 x i32> %came.v, zeroinitializer
  %came.bits = bitcast <32 x i1> %came.some to i32
  %came.none = icmp eq i32 %came.bits, 0
  %all = icmp eq i32 %came, %alive
  %everyone = and i1 %all, %came.none
  br i1 %everyone, label %full, label %part
full:
  %now = load i64, ptr %ck
  %full.p = getelementptr i8, ptr %ck, i64 ${FULL}
  store i64 %now, ptr %full.p
  ret void
; what all that came know together is known to those that waited
part:
  %simple.p = getelementptr i8, ptr %ck, i64 ${SIMPLE}
  store i64 0, ptr %simple.p
  call void @llvm.memset.p0.i64(ptr %known, i8 0, i64 128, i1 false)
  br label %gather
gather:
  %v = phi i64 [0, %part], [%v1, %gather.next]
  %v.more = icmp ult i64 %v, %warps
  br i1 %v.more, label %gather.look, label %spread
gather.look:
  %v32 = trunc i64 %v to i32
  %v.bit0 = lshr i32 %waiting, %v32
  %v.bit = and i32 %v.bit0, 1
  %v.waits = icmp ne i32 %v.bit, 0
  %v.came.p = getelementptr i32, ptr %came.row, i64 %v
  %v.came0 = load i32, ptr %v.came.p
  %v.came = select i1 %v.waits, i32 %t, i32 %v.came0
  %v.takes = icmp ne i32 %v.came, 0
  br i1 %v.takes, label %gather.go, label %gather.next
gather.go:
  %v.row = shl i64 %v, 7
  %sync = getelementptr i8, ptr %ck, i64 ${SYNC}
  %v.sync = getelementptr i8, ptr %sync, i64 %v.row
  %v.knows = load <32 x i32>, ptr %v.sync, align 4
  %sofar = load <32 x i32>, ptr %known, align 64
  %v.more.v = icmp ugt <32 x i32> %v.knows, %sofar
  %v.max = select <32 x i1> %v.more.v, <32 x i32> %v.knows, <32 x i32> %sofar
  store <32 x i32> %v.max, ptr %known, align 64
  %own.p = getelementptr i32, ptr %known, i64 %v
  %own = load i32, ptr %own.p
  %own.more = icmp ugt i32 %v.came, %own
  %own.new = select i1 %own.more, i32 %v.came, i32 %own
  store i32 %own.new, ptr %own.p
  br label %gather.next
gather.next:
  %v1 = add i64 %v, 1
  br label %gather
spread:
  %w = phi i64 [0, %gather], [%w1, %spread.next]
  %w.more = icmp ult i64 %w, %warps
  br i1 %w.more, label %spread.look, label %clear
spread.look:
  %w32 = trunc i64 %w to i32
  %w.bit0 = lshr i32 %waiting, %w32
  %w.bit = and i32 %w.bit0, 1
  %w.waits = icmp ne i32 %w.bit, 0
  br i1 %w.waits, label %spread.go, label %spread.next
spread.go:
  %w.row = shl i64 %w, 7
  %w.all = getelementptr i8, ptr %ck, i64 ${SYNC}
  %w.sync = getelementptr i8, ptr %w.all, i64 %w.row
  %w.knows = load <32 x i32>, ptr %w.sync, align 4
  %together = load <32 x i32>, ptr %known, align 64
  %w.more.v = icmp ugt <32 x i32> %w.knows, %together
  %w.max = select <32 x i1> %w.more.v, <32 x i32> %w.knows, <32 x i32> %together
  store <32 x i32> %w.max, ptr %w.sync, align 4
  br label %spread.next
spread.next:
  %w1 = add i64 %w, 1
  br label %spread
clear:
  call void @llvm.memset.p0.i64(ptr %came.row, i8 0, i64 128, i1 false)
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

; Lanes of %mask come to a barrier that wants %count threads (0: all), lanes of %skips pass it by. In the fast function
; %pc is 0; in the slow one it is where the lanes stand, and %behind where they will. %may: where lanes may come from.
define internal void @sync.barrier(ptr %ctx, ptr %cta, ptr %ws, i32 %mask, i32 %barrier, i32 %count, i64 %code, i32 %aligned, i32 %pc, i32 %behind, i32 %skips, ptr %may) noinline nounwind {
entry:
  %none = icmp eq i32 %mask, 0
  %high = icmp ugt i32 %barrier, 15
  %skip = or i1 %none, %high
  br i1 %skip, label %finish, label %begin
begin:
  call void @serial(ptr %ctx, i32 %mask)
  %ck.p = getelementptr i8, ptr %cta, i64 ${CHECKS}
  %ck = load ptr, ptr %ck.p
  %me0 = call i64 @race.me(ptr %ck, ptr %ws, i64 %code)
  %lane32 = call i32 @llvm.cttz.i32(i32 %mask, i1 false)
  %lane = zext i32 %lane32 to i64
  %me = or i64 %me0, %lane
  %wp = getelementptr i8, ptr %ws, i64 ${WARP_ID}
  %w = load i32, ptr %wp
  %code32 = trunc i64 %code to i32
  %ex = getelementptr i8, ptr %ck, i64 ${EXPECTED}
  %ex.p = getelementptr i32, ptr %ex, i32 %barrier
  %exc = getelementptr i8, ptr %ck, i64 ${EXPECTED_CODE}
  %exc.p = getelementptr i32, ptr %exc, i32 %barrier
  %exb = getelementptr i8, ptr %ck, i64 ${EXPECTED_BY}
  %exb.p = getelementptr i32, ptr %exb, i32 %barrier
  %had1 = load i32, ptr %ex.p
  %count1 = add i32 %count, 1
  %had.no = icmp eq i32 %had1, 0
  br i1 %had.no, label %expect, label %compare
expect:
  store i32 %count1, ptr %ex.p
  store i32 %code32, ptr %exc.p
  %w5 = shl i32 %w, 5
  %by = or i32 %w5, %lane32
  store i32 %by, ptr %exb.p
  br label %divergence
compare:
  %agree = icmp eq i32 %had1, %count1
  br i1 %agree, label %divergence, label %differ
differ:
  %had = sub i32 %had1, 1
  %oc32 = load i32, ptr %exc.p
  %ob32 = load i32, ptr %exb.p
  %oc = zext i32 %oc32 to i64
  %ob = zext i32 %ob32 to i64
  %oc.s = shl i64 %oc, ${CODE}
  %now = load i64, ptr %ck
  %o1 = or i64 %now, %oc.s
  %other = or i64 %o1, %ob
  %had.s = shl i32 %had, 16
  %val32 = or i32 %had.s, %count
  %val = zext i32 %val32 to i64
  call void @note(ptr %ctx, ptr %cta, i64 ${COUNTS}, i64 %me, i64 %other, i64 -1, i64 %val)
  br label %divergence
divergence:
  %bc = getelementptr i8, ptr %ck, i64 ${BAR_CODE}
  %bc.p = getelementptr i32, ptr %bc, i32 %w
  %code1 = add i32 %code32, 1
  %stamp = mul i32 %code1, %aligned
  store i32 %stamp, ptr %bc.p
  %live.p = getelementptr i8, ptr %ws, i64 ${LIVE}
  %live = load i32, ptr %live.p
  %not = xor i32 %mask, -1
  %others = and i32 %live, %not
  %any = icmp ne i32 %others, 0
  %loose = icmp eq i32 %aligned, 0
  %tight = xor i1 %loose, true
  %go = and i1 %any, %tight
  br i1 %go, label %apart, label %finish
apart:
  %wait.p = getelementptr i8, ptr %ws, i64 ${WAIT}
  %wait = load i32, ptr %wait.p
  %bars = getelementptr i8, ptr %ws, i64 ${BAR}
  %bar.p = getelementptr i32, ptr %bars, i32 %barrier
  %bar = load i32, ptr %bar.p
  %meets = getelementptr i8, ptr %ws, i64 ${MEETING}
  %fast = icmp eq i32 %pc, 0
  br label %loop
loop:
  %left = phi i32 [%others, %apart], [%rest, %next]
  %elsewhere = phi i32 [-1, %apart], [%elsewhere2, %next]
  %place = phi i32 [0, %apart], [%place2, %next]
  %stuck = phi i1 [false, %apart], [%stuck2, %next]
  %done = icmp eq i32 %left, 0
  br i1 %done, label %judge, label %look
look:
  %l = call i32 @llvm.cttz.i32(i32 %left, i1 false)
  %left1 = sub i32 %left, 1
  %rest = and i32 %left, %left1
  %bit = shl i32 1, %l
  %w.b = and i32 %wait, %bit
  %waits0 = icmp ne i32 %w.b, 0
  %mt.p = getelementptr i32, ptr %meets, i32 %l
  %mt = load i32, ptr %mt.p
  %meets.is = icmp ne i32 %mt, 0
  %meets.no = xor i1 %meets.is, true
  %waits = and i1 %waits0, %meets.no
  %b.b = and i32 %bar, %bit
  %b.is = icmp ne i32 %b.b, 0
  %pc.p = getelementptr i32, ptr %ws, i32 %l
  %pc.l0 = load i32, ptr %pc.p
  %pc.l = select i1 %fast, i32 %behind, i32 %pc.l0
  %at.behind = icmp eq i32 %pc.l, %behind
  %here0 = and i1 %b.is, %at.behind
  %here = and i1 %here0, %waits
  %slow = xor i1 %fast, true
  %here.too = and i1 %here, %slow
  br i1 %here.too, label %next, label %not.here
not.here:
  %before = icmp ult i32 %pc.l, %pc
  %c.l0 = lshr i32 %pc.l, 1
  %behind.c = lshr i32 %behind, 1
  %s.b = and i32 %skips, %bit
  %skips.it = icmp ne i32 %s.b, 0
  %c.l = select i1 %skips.it, i32 %behind.c, i32 %c.l0
  %may.p = getelementptr i8, ptr %may, i32 %c.l
  %may.b = load i8, ptr %may.p
  %away = icmp ne i8 %may.b, 0
  %may.any = or i1 %before, %away
  %skips.no = xor i1 %skips.it, true
  %may.come = and i1 %may.any, %skips.no
  %may.slow = and i1 %may.come, %slow
  %waits.no = xor i1 %waits, true
  %comes = and i1 %may.slow, %waits.no
  br i1 %comes, label %finish, label %stays
stays:
  %first = icmp eq i32 %elsewhere, -1
  %e.new = select i1 %first, i32 %l, i32 %elsewhere
  %p.new = select i1 %first, i32 %c.l, i32 %place
  %s.new = select i1 %first, i1 %waits, i1 %stuck
  br label %next
next:
  %elsewhere2 = phi i32 [%elsewhere, %look], [%e.new, %stays]
  %place2 = phi i32 [%place, %look], [%p.new, %stays]
  %stuck2 = phi i1 [%stuck, %look], [%s.new, %stays]
  br label %loop
judge:
  %e.no = icmp eq i32 %elsewhere, -1
  br i1 %e.no, label %finish, label %wrong
wrong:
  %e64 = zext i32 %elsewhere to i64
  %p64 = zext i32 %place to i64
  %o.me = call i64 @race.me(ptr %ck, ptr %ws, i64 %p64)
  %o.full = or i64 %o.me, %e64
  %s64 = zext i1 %stuck to i64
  call void @note(ptr %ctx, ptr %cta, i64 ${DIVERGENT}, i64 %me, i64 %o.full, i64 -1, i64 %s64)
  br label %finish
finish:
  ret void
}

; Lanes of %mask come to an instruction that lanes meet at, each with its mask of members.
define internal void @sync.members(ptr %ctx, ptr %cta, ptr %ws, i32 %mask, <32 x i32> %members, i64 %code) noinline nounwind {
entry:
  %named = alloca <32 x i32>, align 64
  %live.p = getelementptr i8, ptr %ws, i64 ${LIVE}
  %live = load i32, ptr %live.p
  %first.p = getelementptr i8, ptr %ws, i64 ${FIRST_LIVE}
  %first = load i32, ptr %first.p
  %dead = xor i32 %live, -1
  %gone = and i32 %first, %dead
  %own = and <32 x i32> %members, ${BITS}
  %own.no = icmp eq <32 x i32> %own, zeroinitializer
  %own.b = bitcast <32 x i1> %own.no to i32
  %omitted = and i32 %own.b, %mask
  %g0 = insertelement <32 x i32> poison, i32 %gone, i64 0
  %g = shufflevector <32 x i32> %g0, <32 x i32> poison, <32 x i32> zeroinitializer
  %lost.v = and <32 x i32> %members, %g
  %lost.ne = icmp ne <32 x i32> %lost.v, zeroinitializer
  %lost.b = bitcast <32 x i1> %lost.ne to i32
  %lost = and i32 %lost.b, %mask
  %wrong = or i32 %omitted, %lost
  %fine = icmp eq i32 %wrong, 0
  br i1 %fine, label %finish, label %begin
begin:
  call void @serial(ptr %ctx, i32 %mask)
  store <32 x i32> %members, ptr %named, align 64
  %ck.p = getelementptr i8, ptr %cta, i64 ${CHECKS}
  %ck = load ptr, ptr %ck.p
  %me0 = call i64 @race.me(ptr %ck, ptr %ws, i64 %code)
  %o.any = icmp ne i32 %omitted, 0
  br i1 %o.any, label %omits, label %names
omits:
  %ol = call i32 @llvm.cttz.i32(i32 %omitted, i1 false)
  %ol64 = zext i32 %ol to i64
  %o.me = or i64 %me0, %ol64
  %om.p = getelementptr i32, ptr %named, i64 %ol64
  %om = load i32, ptr %om.p
  %om64 = zext i32 %om to i64
  call void @note(ptr %ctx, ptr %cta, i64 ${OMITTED}, i64 %o.me, i64 0, i64 -1, i64 %om64)
  br label %names
names:
  %l.any = icmp ne i32 %lost, 0
  br i1 %l.any, label %exited, label %finish
exited:
  %ll = call i32 @llvm.cttz.i32(i32 %lost, i1 false)
  %ll64 = zext i32 %ll to i64
  %l.me = or i64 %me0, %ll64
  %lm.p = getelementptr i32, ptr %named, i64 %ll64
  %lm = load i32, ptr %lm.p
  %lg = and i32 %lm, %gone
  %lw = call i32 @llvm.cttz.i32(i32 %lg, i1 false)
  %lw64 = zext i32 %lw to i64
  call void @note(ptr %ctx, ptr %cta, i64 ${GONE_LANE}, i64 %l.me, i64 0, i64 -1, i64 %lw64)
  br label %finish
finish:
  ret void
}

; A shuffle: the lanes of %bad read what they should not, each a number of its own that explains it.
define internal void @sync.shuffle(ptr %ctx, ptr %cta, ptr %ws, i32 %bad, <32 x i32> %numbers, i64 %kind, i64 %code) noinline nounwind {
entry:
  %buffer = alloca <32 x i32>, align 64
  %fine = icmp eq i32 %bad, 0
  br i1 %fine, label %finish, label %begin
begin:
  call void @serial(ptr %ctx, i32 %bad)
  store <32 x i32> %numbers, ptr %buffer, align 64
  %ck.p = getelementptr i8, ptr %cta, i64 ${CHECKS}
  %ck = load ptr, ptr %ck.p
  %me0 = call i64 @race.me(ptr %ck, ptr %ws, i64 %code)
  %l = call i32 @llvm.cttz.i32(i32 %bad, i1 false)
  %l64 = zext i32 %l to i64
  %me = or i64 %me0, %l64
  %n.p = getelementptr i32, ptr %buffer, i64 %l64
  %n = load i32, ptr %n.p
  %n64 = zext i32 %n to i64
  call void @note(ptr %ctx, ptr %cta, i64 %kind, i64 %me, i64 0, i64 -1, i64 %n64)
  br label %finish
finish:
  ret void
}

; cp.async: lanes have asked for %n bytes each, to %offs. A copy's record: code (from bit 42), thread (from 32), group.
define internal void @copy.start(ptr %cta, ptr %ws, i32 %mask, ptr %offs, i64 %n, i64 %code) noinline nounwind {
entry:
  %ck.p = getelementptr i8, ptr %cta, i64 ${CHECKS}
  %ck = load ptr, ptr %ck.p
  %pend.p = getelementptr i8, ptr %cta, i64 ${PENDING_SHARED}
  %pend = load ptr, ptr %pend.p
  %none = icmp eq ptr %pend, null
  br i1 %none, label %finish, label %go
go:
  %copies.p = getelementptr i8, ptr %ck, i64 ${COPIES}
  store i64 1, ptr %copies.p
  %wp = getelementptr i8, ptr %ws, i64 ${WARP_ID}
  %w32 = load i32, ptr %wp
  %t0 = shl i32 %w32, 5
  %count = lshr i64 %n, 2
  %code.s = shl i64 %code, 42
  br label %loop
loop:
  %left = phi i32 [%mask, %go], [%rest, %next]
  %done = icmp eq i32 %left, 0
  br i1 %done, label %finish, label %body
body:
  %l = call i32 @llvm.cttz.i32(i32 %left, i1 false)
  %left1 = sub i32 %left, 1
  %rest = and i32 %left, %left1
  %t32 = or i32 %t0, %l
  %t = zext i32 %t32 to i64
  %cs = getelementptr i8, ptr %ck, i64 ${COMMITTED}
  %c.p = getelementptr i32, ptr %cs, i64 %t
  %c = load i32, ptr %c.p
  %c1 = add i32 %c, 1
  %group = zext i32 %c1 to i64
  %t.s = shl i64 %t, 32
  %r0 = or i64 %group, %t.s
  %r = or i64 %r0, %code.s
  %op = getelementptr i32, ptr %offs, i32 %l
  %o32 = load i32, ptr %op
  %w0 = lshr i32 %o32, 2
  %w = zext i32 %w0 to i64
  br label %word
word:
  %k = phi i64 [0, %body], [%k1, %word.go]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %word.go, label %next
word.go:
  %at = add i64 %w, %k
  %p = getelementptr i64, ptr %pend, i64 %at
  store i64 %r, ptr %p
  %k1 = add i64 %k, 1
  br label %word
next:
  br label %loop
finish:
  ret void
}

; cp.async: threads commit what they have asked for (%left -2), or wait until %left groups are under way; -1: for all.
define internal void @copy.wait(ptr %cta, ptr %ws, i32 %mask, i32 %left) noinline nounwind {
entry:
  %ck.p = getelementptr i8, ptr %cta, i64 ${CHECKS}
  %ck = load ptr, ptr %ck.p
  %wp = getelementptr i8, ptr %ws, i64 ${WARP_ID}
  %w32 = load i32, ptr %wp
  %t0 = shl i32 %w32, 5
  %commits = icmp eq i32 %left, -2
  %all = icmp eq i32 %left, -1
  %ends = or i1 %commits, %all
  %one = zext i1 %ends to i32
  br label %loop
loop:
  %lanes = phi i32 [%mask, %entry], [%rest, %next]
  %done = icmp eq i32 %lanes, 0
  br i1 %done, label %finish, label %body
body:
  %l = call i32 @llvm.cttz.i32(i32 %lanes, i1 false)
  %lanes1 = sub i32 %lanes, 1
  %rest = and i32 %lanes, %lanes1
  %t32 = or i32 %t0, %l
  %cs = getelementptr i8, ptr %ck, i64 ${COMMITTED}
  %c.p = getelementptr i32, ptr %cs, i32 %t32
  %c = load i32, ptr %c.p
  %c1 = add i32 %c, %one
  store i32 %c1, ptr %c.p
  br i1 %commits, label %next, label %finished
finished:
  %fs = getelementptr i8, ptr %ck, i64 ${FINISHED}
  %f.p = getelementptr i32, ptr %fs, i32 %t32
  %f = load i32, ptr %f.p
  %f0 = sub i32 %c, %left
  %f1 = select i1 %all, i32 %c1, i32 %f0
  %later = icmp sgt i32 %f1, %f
  %f2 = select i1 %later, i32 %f1, i32 %f
  store i32 %f2, ptr %f.p
  br label %next
next:
  br label %loop
finish:
  ret void
}

; Lanes read shared memory that may still be on its way. %members as for races.
define internal void @copy.reads(ptr %ctx, ptr %cta, ptr %ws, i32 %mask, ptr %offs, ptr %members) noinline nounwind {
entry:
  %ck.p = getelementptr i8, ptr %cta, i64 ${CHECKS}
  %ck = load ptr, ptr %ck.p
  %copies.p = getelementptr i8, ptr %ck, i64 ${COPIES}
  %copies = load i64, ptr %copies.p
  %none = icmp eq i64 %copies, 0
  br i1 %none, label %finish, label %go
go:
  call void @serial(ptr %ctx, i32 %mask)
  %pend.p = getelementptr i8, ptr %cta, i64 ${PENDING_SHARED}
  %pend = load ptr, ptr %pend.p
  %n = load i64, ptr %members
  br label %member
member:
  %k = phi i64 [0, %go], [%k1, %member.next]
  %k.more = icmp ult i64 %k, %n
  br i1 %k.more, label %member.go, label %finish
member.go:
  %k3 = mul i64 %k, 24
  %h = getelementptr i8, ptr %members, i64 %k3
  %mo.p = getelementptr i8, ptr %h, i64 8
  %mo = load i64, ptr %mo.p
  %ms.p = getelementptr i8, ptr %h, i64 16
  %ms = load i64, ptr %ms.p
  %mc.p = getelementptr i8, ptr %h, i64 24
  %mc = load i64, ptr %mc.p
  br label %lane
lane:
  %left = phi i32 [%mask, %member.go], [%rest, %lane.next]
  %done = icmp eq i32 %left, 0
  br i1 %done, label %member.next, label %lane.go
lane.go:
  %l = call i32 @llvm.cttz.i32(i32 %left, i1 false)
  %left1 = sub i32 %left, 1
  %rest = and i32 %left, %left1
  %op = getelementptr i32, ptr %offs, i32 %l
  %o32 = load i32, ptr %op
  %o64 = zext i32 %o32 to i64
  %first = add i64 %o64, %mo
  %behind = add i64 %first, %ms
  %w0 = lshr i64 %first, 2
  br label %word
word:
  %w = phi i64 [%w0, %lane.go], [%w1, %word.next]
  %at = shl i64 %w, 2
  %w.more = icmp ult i64 %at, %behind
  br i1 %w.more, label %word.go, label %lane.next
word.go:
  %p = getelementptr i64, ptr %pend, i64 %w
  %r = load i64, ptr %p
  %r.no = icmp eq i64 %r, 0
  br i1 %r.no, label %word.next, label %asked
asked:
  %group = trunc i64 %r to i32
  %t0 = lshr i64 %r, 32
  %t = and i64 %t0, 1023
  %fs = getelementptr i8, ptr %ck, i64 ${FINISHED}
  %f.p = getelementptr i32, ptr %fs, i64 %t
  %f = load i32, ptr %f.p
  %early = icmp slt i32 %f, %group
  br i1 %early, label %bad, label %arrived
arrived:
  store i64 0, ptr %p
  br label %word.next
bad:
  %me0 = call i64 @race.me(ptr %ck, ptr %ws, i64 0)
  %l64 = zext i32 %l to i64
  %me1 = or i64 %me0, %mc
  %me = or i64 %me1, %l64
  %now = load i64, ptr %ck
  %oc0 = lshr i64 %r, 42
  %oc = shl i64 %oc0, ${CODE}
  %o1 = or i64 %now, %oc
  %other = or i64 %o1, %t
  %a = add i64 %first, ${SHARED_START}
  call void @note(ptr %ctx, ptr %cta, i64 ${PENDING}, i64 %me, i64 %other, i64 %a, i64 0)
  br label %word.next
word.next:
  %w1 = add i64 %w, 1
  br label %word
lane.next:
  br label %lane
member.next:
  %k1 = add i64 %k, 1
  br label %member
finish:
  ret void
}
