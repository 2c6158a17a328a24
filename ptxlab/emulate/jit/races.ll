; The rules of `ptxlab.emulate.rules.races` for compiled code. %ck is what the checks know of a CTA, %base the records of an
; allocation: a writer for each word, a stride further a reader, a stride further another reader.

; A record's fixed part for a warp now: block, time, code, warp.
define internal i64 @race.me(ptr %ck, ptr %ws, i64 %code) noinline nounwind {
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

; The clock of a CTA goes on; the new time. At its end it stands still, and all that follows counts as ordered.
define internal i32 @race.tick(ptr %ck) noinline nounwind {
  %now = load i64, ptr %ck
  %t0 = lshr i64 %now, ${TIME}
  %t1 = and i64 %t0, 262143
  %last = icmp eq i64 %t1, 262143
  %step = select i1 %last, i64 0, i64 ${ONE_TICK}
  %next = add i64 %now, %step
  store i64 %next, ptr %ck
  %n0 = lshr i64 %next, ${TIME}
  %n1 = and i64 %n0, 262143
  %n = trunc i64 %n1 to i32
  ret i32 %n
}

; Lanes of a warp have met.
define internal void @race.together(ptr %cta, ptr %ws) noinline nounwind {
  %ck.p = getelementptr i8, ptr %cta, i64 ${CHECKS}
  %ck = load ptr, ptr %ck.p
  %t = call i32 @race.tick(ptr %ck)
  %wp = getelementptr i8, ptr %ws, i64 ${WARP_ID}
  %w32 = load i32, ptr %wp
  %w = zext i32 %w32 to i64
  %o = mul i64 %w, 132
  %s = getelementptr i8, ptr %ck, i64 ${SYNC}
  %p = getelementptr i8, ptr %s, i64 %o
  store i32 %t, ptr %p
  ret void
}

; Lanes of %mask come to meet, each the lanes that it names.
define internal void @race.meet(ptr %cta, ptr %ws, i32 %mask, <32 x i32> %members) noinline nounwind {
entry:
  %named = alloca <32 x i32>, align 64
  store <32 x i32> %members, ptr %named, align 64
  %live.p = getelementptr i8, ptr %ws, i64 ${LIVE}
  %live = load i32, ptr %live.p
  br label %loop
loop:
  %left = phi i32 [%mask, %entry], [%rest, %next]
  %done = icmp eq i32 %left, 0
  br i1 %done, label %finish, label %body
body:
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 false)
  %m.p = getelementptr i32, ptr %named, i32 %lane
  %m = load i32, ptr %m.p
  %left1 = sub i32 %left, 1
  %rest0 = and i32 %left, %left1
  %m.not = xor i32 %m, -1
  %rest = and i32 %rest0, %m.not
  %missing = and i32 %live, %m.not
  %all = icmp eq i32 %missing, 0
  br i1 %all, label %whole, label %part
whole:
  call void @race.together(ptr %cta, ptr %ws)
  br label %next
part:
  call void @race.part(ptr %cta, ptr %ws, i32 %m)
  br label %next
next:
  br label %loop
finish:
  ret void
}

; Some lanes of a warp have met. As long as such sets are apart or within each other, nobody knows of others through them.
define internal void @race.part(ptr %cta, ptr %ws, i32 %m) noinline nounwind {
entry:
  %ck.p = getelementptr i8, ptr %cta, i64 ${CHECKS}
  %ck = load ptr, ptr %ck.p
  %t = call i32 @race.tick(ptr %ck)
  %wp = getelementptr i8, ptr %ws, i64 ${WARP_ID}
  %w32 = load i32, ptr %wp
  %w = zext i32 %w32 to i64
  %parts = getelementptr i8, ptr %ck, i64 ${PARTS}
  %row = shl i64 %w, 6
  %slots = getelementptr i8, ptr %parts, i64 %row
  br label %loop
loop:
  %k = phi i64 [0, %entry], [%k1, %next]
  %more = icmp ult i64 %k, 8
  br i1 %more, label %look, label %whole
look:
  %o = shl i64 %k, 3
  %s = getelementptr i8, ptr %slots, i64 %o
  %held = load i32, ptr %s
  %free = icmp eq i32 %held, 0
  %same = icmp eq i32 %held, %m
  %here = or i1 %free, %same
  br i1 %here, label %keep, label %compare
keep:
  store i32 %m, ptr %s
  %t.p = getelementptr i8, ptr %s, i64 4
  store i32 %t, ptr %t.p
  ret void
compare:
  %both = and i32 %held, %m
  %apart = icmp eq i32 %both, 0
  %inner = icmp eq i32 %both, %m
  %outer = icmp eq i32 %both, %held
  %nested = or i1 %inner, %outer
  %fine = or i1 %apart, %nested
  br i1 %fine, label %next, label %whole
next:
  %k1 = add i64 %k, 1
  br label %loop
whole:
  %so = mul i64 %w, 132
  %sync = getelementptr i8, ptr %ck, i64 ${SYNC}
  %sp = getelementptr i8, ptr %sync, i64 %so
  store i32 %t, ptr %sp
  ret void
}

; Whether two lanes of a warp have met since a time, without all the others.
define internal i1 @race.met(ptr %ck, i64 %w, i64 %rec, i64 %me, i32 %t) noinline nounwind {
entry:
  %a = and i64 %rec, 31
  %b = and i64 %me, 31
  %a.bit = shl i64 1, %a
  %b.bit = shl i64 1, %b
  %two64 = or i64 %a.bit, %b.bit
  %two = trunc i64 %two64 to i32
  %parts = getelementptr i8, ptr %ck, i64 ${PARTS}
  %row = shl i64 %w, 6
  %slots = getelementptr i8, ptr %parts, i64 %row
  br label %loop
loop:
  %k = phi i64 [0, %entry], [%k1, %next]
  %more = icmp ult i64 %k, 8
  br i1 %more, label %look, label %no
look:
  %o = shl i64 %k, 3
  %s = getelementptr i8, ptr %slots, i64 %o
  %held = load i32, ptr %s
  %free = icmp eq i32 %held, 0
  br i1 %free, label %no, label %compare
compare:
  %t.p = getelementptr i8, ptr %s, i64 4
  %when = load i32, ptr %t.p
  %since = icmp ult i32 %t, %when
  %in = and i32 %held, %two
  %both = icmp eq i32 %in, %two
  %yes = and i1 %since, %both
  br i1 %yes, label %found, label %next
next:
  %k1 = add i64 %k, 1
  br label %loop
found:
  ret i1 true
no:
  ret i1 false
}

; The launch's times of a CTA: at its last fence (its own clock), of its first fence, of its last strong access.
define internal ptr @race.times(ptr %ctx, i64 %record) noinline nounwind {
  %g.p = getelementptr i8, ptr %ctx, i64 ${CHECK}
  %g = load ptr, ptr %g.p
  %t.p = getelementptr i8, ptr %g, i64 ${BLOCKS_AT}
  %t = load ptr, ptr %t.p
  %b = lshr i64 %record, 48
  %o = shl i64 %b, 4
  %p = getelementptr i8, ptr %t, i64 %o
  ret ptr %p
}

define internal void @race.fence(ptr %ctx, ptr %cta, ptr %ws) noinline nounwind {
  %ck.p = getelementptr i8, ptr %cta, i64 ${CHECKS}
  %ck = load ptr, ptr %ck.p
  %t = call i32 @race.tick(ptr %ck)
  %wp = getelementptr i8, ptr %ws, i64 ${WARP_ID}
  %w32 = load i32, ptr %wp
  %fs = getelementptr i8, ptr %ck, i64 ${FENCED}
  %f = getelementptr i32, ptr %fs, i32 %w32
  store i32 %t, ptr %f
  %is = getelementptr i8, ptr %ck, i64 ${FIRST_FENCE}
  %i = getelementptr i32, ptr %is, i32 %w32
  %i0 = load i32, ptr %i
  %i.no = icmp eq i32 %i0, 0
  %i1 = select i1 %i.no, i32 %t, i32 %i0
  store i32 %i1, ptr %i
  %g.p = getelementptr i8, ptr %ctx, i64 ${CHECK}
  %g = load ptr, ptr %g.p
  %g0 = load i32, ptr %g
  %g1 = add i32 %g0, 1
  store i32 %g1, ptr %g
  %now = load i64, ptr %ck
  %b = call ptr @race.times(ptr %ctx, i64 %now)
  store i32 %t, ptr %b
  %b4 = getelementptr i8, ptr %b, i64 4
  %b0 = load i32, ptr %b4
  %b.no = icmp eq i32 %b0, 0
  %b1 = select i1 %b.no, i32 %g1, i32 %b0
  store i32 %b1, ptr %b4
  ret void
}

define internal void @race.acquire(ptr %ctx, ptr %cta, ptr %ws) noinline nounwind {
  %ck.p = getelementptr i8, ptr %cta, i64 ${CHECKS}
  %ck = load ptr, ptr %ck.p
  %now = load i64, ptr %ck
  %t0 = lshr i64 %now, ${TIME}
  %t1 = and i64 %t0, 262143
  %t = trunc i64 %t1 to i32
  %wp = getelementptr i8, ptr %ws, i64 ${WARP_ID}
  %w32 = load i32, ptr %wp
  %as = getelementptr i8, ptr %ck, i64 ${ACQUIRED}
  %a = getelementptr i32, ptr %as, i32 %w32
  store i32 %t, ptr %a
  %g.p = getelementptr i8, ptr %ctx, i64 ${CHECK}
  %g = load ptr, ptr %g.p
  %g0 = load i32, ptr %g
  %b = call ptr @race.times(ptr %ctx, i64 %now)
  %b8 = getelementptr i8, ptr %b, i64 8
  store i32 %g0, ptr %b8
  ret void
}

; A warp has passed `bar.arrive`.
define internal void @race.arrived(ptr %cta, ptr %ws, i64 %barrier) noinline nounwind {
  %ck.p = getelementptr i8, ptr %cta, i64 ${CHECKS}
  %ck = load ptr, ptr %ck.p
  %t = call i32 @race.tick(ptr %ck)
  %wp = getelementptr i8, ptr %ws, i64 ${WARP_ID}
  %w32 = load i32, ptr %wp
  %row = shl i64 %barrier, 7
  %cs = getelementptr i8, ptr %ck, i64 ${CAME}
  %cr = getelementptr i8, ptr %cs, i64 %row
  %c = getelementptr i32, ptr %cr, i32 %w32
  store i32 %t, ptr %c
  ret void
}

; Whether what a record says comes before the access %me; %wrote: it says of a write.
define internal i1 @race.ordered(ptr %ctx, ptr %ck, i64 %rec, i64 %me, i1 %wrote) noinline nounwind {
entry:
  %none = icmp eq i64 %rec, 0
  br i1 %none, label %yes, label %some
some:
  %t0 = lshr i64 %rec, ${TIME}
  %t1 = and i64 %t0, 262143
  %t = trunc i64 %t1 to i32
  %x = xor i64 %rec, %me
  %xb = lshr i64 %x, 48
  %here = icmp eq i64 %xb, 0
  br i1 %here, label %same.block, label %other.block
other.block:
  %theirs = call ptr @race.times(ptr %ctx, i64 %rec)
  %fenced = load i32, ptr %theirs
  %since = icmp ugt i32 %fenced, %t
  %first.p = getelementptr i8, ptr %theirs, i64 4
  %first = load i32, ptr %first.p
  %mine = call ptr @race.times(ptr %ctx, i64 %me)
  %acq.p = getelementptr i8, ptr %mine, i64 8
  %acq = load i32, ptr %acq.p
  %seen = icmp ule i32 %first, %acq
  %both = and i1 %since, %seen
  ret i1 %both
same.block:
  %v0 = lshr i64 %rec, 5
  %v1 = and i64 %v0, 31
  %w0 = lshr i64 %me, 5
  %w1 = and i64 %w0, 31
  %warp.same = icmp eq i64 %v1, %w1
  %many0 = and i64 %rec, 1024
  %many = icmp ne i64 %many0, 0
  %all0 = and i64 %me, 1024
  %all = icmp ne i64 %all0, 0
  %lane0 = and i64 %x, 31
  %lane.same = icmp eq i64 %lane0, 0
  %group = or i1 %all, %wrote
  %own.many = and i1 %many, %group
  %either = or i1 %many, %all
  %single = xor i1 %either, true
  %own.one = and i1 %single, %lane.same
  %own = or i1 %own.many, %own.one
  %mine.own = and i1 %own, %warp.same
  br i1 %mine.own, label %yes, label %times
times:
  %full.p = getelementptr i8, ptr %ck, i64 ${FULL}
  %full0 = load i64, ptr %full.p
  %full1 = lshr i64 %full0, ${TIME}
  %full2 = and i64 %full1, 262143
  %full = trunc i64 %full2 to i32
  %before = icmp ult i32 %t, %full
  br i1 %before, label %yes, label %pairs
pairs:
  %row = shl i64 %w1, 5
  %cell = add i64 %row, %v1
  %sync = getelementptr i8, ptr %ck, i64 ${SYNC}
  %s.p = getelementptr i32, ptr %sync, i64 %cell
  %s = load i32, ptr %s.p
  %known = icmp ult i32 %t, %s
  br i1 %known, label %yes, label %lanes
lanes:
  br i1 %warp.same, label %met, label %fences
met:
  %have.met = call i1 @race.met(ptr %ck, i64 %w1, i64 %rec, i64 %me, i32 %t)
  br i1 %have.met, label %yes, label %fences
fences:
  %fs = getelementptr i8, ptr %ck, i64 ${FENCED}
  %f.p = getelementptr i32, ptr %fs, i64 %v1
  %f = load i32, ptr %f.p
  %f.since = icmp ugt i32 %f, %t
  %is = getelementptr i8, ptr %ck, i64 ${FIRST_FENCE}
  %i.p = getelementptr i32, ptr %is, i64 %v1
  %i = load i32, ptr %i.p
  %as = getelementptr i8, ptr %ck, i64 ${ACQUIRED}
  %a.p = getelementptr i32, ptr %as, i64 %w1
  %a = load i32, ptr %a.p
  %i.seen = icmp ule i32 %i, %a
  %i.any = icmp ne i32 %i, 0
  %i.ok = and i1 %i.seen, %i.any
  %f.ok = and i1 %f.since, %i.ok
  ret i1 %f.ok
yes:
  ret i1 true
}

; A hazard; the number kept with it is the mask of the lanes that execute the instruction.
define internal void @race.note(ptr %ctx, ptr %cta, i64 %kind, i64 %me, i64 %other, i64 %address) noinline nounwind {
  %g.p = getelementptr i8, ptr %ctx, i64 ${CHECK}
  %g = load ptr, ptr %g.p
  %m.p = getelementptr i8, ptr %g, i64 ${MASK}
  %m = load i64, ptr %m.p
  call void @note(ptr %ctx, ptr %cta, i64 %kind, i64 %me, i64 %other, i64 %address, i64 %m)
  ret void
}

; Whether a record is that of a compare-and-swap, which a plain load before it is a part of.
define internal i1 @race.compares(i64 %record) noinline nounwind {
  %c0 = lshr i64 %record, ${CODE}
  %c = and i64 %c0, 262143
  %p = getelementptr i8, ptr @compares, i64 %c
  %x = load i8, ptr %p
  %r = icmp ne i8 %x, 0
  ret i1 %r
}

; Whether a store leaves a word as it is; what it stores is in the context. Then it does not matter which write is last.
define internal i1 @race.same(ptr %ctx, ptr %cta, i64 %address, i64 %me) noinline nounwind {
entry:
  %data.p = getelementptr i8, ptr %ctx, i64 ${STORED}
  %data = load ptr, ptr %data.p
  %none = icmp eq ptr %data, null
  br i1 %none, label %no, label %where
where:
  %lane = and i64 %me, 31
  %lane32 = trunc i64 %lane to i32
  %start.p = getelementptr i8, ptr %ctx, i64 ${STORE_START}
  %start = load i64, ptr %start.p
  %addrs.p = getelementptr i8, ptr %ctx, i64 ${STORE_ADDRS}
  %addrs = load ptr, ptr %addrs.p
  %how.p = getelementptr i8, ptr %ctx, i64 ${STORE_HOW}
  %how = load i64, ptr %how.p
  switch i64 %how, label %found [i64 1, label %narrow i64 2, label %wide]
narrow:
  %n.p = getelementptr i32, ptr %addrs, i64 %lane
  %n32 = load i32, ptr %n.p
  %n = zext i32 %n32 to i64
  br label %found
wide:
  %w.p = getelementptr i64, ptr %addrs, i64 %lane
  %w = load i64, ptr %w.p
  br label %found
found:
  %base = phi i64 [0, %where], [%n, %narrow], [%w, %wide]
  %first = add i64 %base, %start
  %delta = sub i64 %address, %first
  %step.p = getelementptr i8, ptr %ctx, i64 ${STORE_STEP}
  %step = load i64, ptr %step.p
  %component = udiv i64 %delta, %step
  %within = urem i64 %delta, %step
  %row = shl i64 %component, 5
  %cell = add i64 %row, %lane
  %cell.at = mul i64 %cell, %step
  %new.at = add i64 %cell.at, %within
  %new.p = getelementptr i8, ptr %data, i64 %new.at
  %new = load i${GRANULE_BITS}, ptr %new.p, align 1
  %is.offset = icmp ult i64 %address, ${WINDOW_SIZE}
  %generic = add i64 %address, ${SHARED_WINDOW}
  %at = select i1 %is.offset, i64 %generic, i64 %address
  %p = call ptr @resolve(ptr %ctx, ptr %cta, ptr null, i32 %lane32, i64 %at, i64 ${GRANULE}, i64 ${LOG_GRANULE}, i32 5, i32 0, ptr null)
  %p.no = icmp eq ptr %p, null
  br i1 %p.no, label %no, label %compare
compare:
  %old = load i${GRANULE_BITS}, ptr %p, align 1
  %same = icmp eq i${GRANULE_BITS} %old, %new
  ret i1 %same
no:
  ret i1 false
}

; What one access to one word collides with, noted.
define internal void @race.hazard(ptr %ctx, ptr %cta, ptr %p, i64 %stride, i64 %address, i64 %me, i1 %write) noinline nounwind {
entry:
  %ck.p = getelementptr i8, ptr %cta, i64 ${CHECKS}
  %ck = load ptr, ptr %ck.p
  %w = load i64, ptr %p
  %w.both = and i64 %w, %me
  %w.strong0 = and i64 %w.both, 2048
  %w.strong = icmp ne i64 %w.strong0, 0
  %w.cas0 = call i1 @race.compares(i64 %w)
  %reads = xor i1 %write, true
  %w.cas = and i1 %w.cas0, %reads
  %w.skip = or i1 %w.strong, %w.cas
  br i1 %w.skip, label %readers, label %w.look
w.look:
  %w.ok = call i1 @race.ordered(ptr %ctx, ptr %ck, i64 %w, i64 %me, i1 true)
  br i1 %w.ok, label %readers, label %w.bad
w.bad:
  br i1 %write, label %w.same, label %w.note
w.same:
  %same = call i1 @race.same(ptr %ctx, ptr %cta, i64 %address, i64 %me)
  br i1 %same, label %readers, label %w.note
w.note:
  %kind = select i1 %write, i64 ${WAW}, i64 ${RAW}
  call void @race.note(ptr %ctx, ptr %cta, i64 %kind, i64 %me, i64 %w, i64 %address)
  ret void
readers:
  %m.cas = call i1 @race.compares(i64 %me)
  %m.cas.no = xor i1 %m.cas, true
  %looks = and i1 %write, %m.cas.no
  br i1 %looks, label %r.look, label %done
r.look:
  %rp = getelementptr i8, ptr %p, i64 %stride
  %r = load i64, ptr %rp
  %r.both = and i64 %r, %me
  %r.strong0 = and i64 %r.both, 2048
  %r.strong = icmp ne i64 %r.strong0, 0
  %r.ord = call i1 @race.ordered(ptr %ctx, ptr %ck, i64 %r, i64 %me, i1 false)
  %r.ok = or i1 %r.strong, %r.ord
  br i1 %r.ok, label %q.look, label %r.bad
r.bad:
  call void @race.note(ptr %ctx, ptr %cta, i64 ${WAR}, i64 %me, i64 %r, i64 %address)
  ret void
q.look:
  %qp = getelementptr i8, ptr %rp, i64 %stride
  %q = load i64, ptr %qp
  %q.both = and i64 %q, %me
  %q.strong0 = and i64 %q.both, 2048
  %q.strong = icmp ne i64 %q.strong0, 0
  %q.ord = call i1 @race.ordered(ptr %ctx, ptr %ck, i64 %q, i64 %me, i1 false)
  %q.ok = or i1 %q.strong, %q.ord
  br i1 %q.ok, label %done, label %q.bad
q.bad:
  call void @race.note(ptr %ctx, ptr %cta, i64 ${WAR}, i64 %me, i64 %q, i64 %address)
  ret void
done:
  ret void
}

; One access to one word, remembered.
define internal void @race.keep(ptr %ctx, ptr %cta, ptr %p, i64 %stride, i64 %me, i1 %write) noinline nounwind {
entry:
  %ck.p = getelementptr i8, ptr %cta, i64 ${CHECKS}
  %ck = load ptr, ptr %ck.p
  br i1 %write, label %writer, label %reader
writer:
  store i64 %me, ptr %p
  ret void
reader:
  %rp = getelementptr i8, ptr %p, i64 %stride
  %r = load i64, ptr %rp
  %r.ok = call i1 @race.ordered(ptr %ctx, ptr %ck, i64 %r, i64 %me, i1 false)
  br i1 %r.ok, label %first, label %second
first:
  store i64 %me, ptr %rp
  ret void
second:
  %qp = getelementptr i8, ptr %rp, i64 %stride
  %q = load i64, ptr %qp
  %q.ok = call i1 @race.ordered(ptr %ctx, ptr %ck, i64 %q, i64 %me, i1 false)
  br i1 %q.ok, label %other, label %done
other:
  store i64 %me, ptr %qp
  ret void
done:
  ret void
}

; %count words in a row, word i by lane %me + (i >> %shift) and for the code that is added from a table (a step of 0:
; always its first line).
define internal void @race.range(ptr %ctx, ptr %cta, ptr %p, i64 %stride, i64 %address, i64 %count, ptr %codes, i64 %step, i64 %me, i64 %shift, i1 %write) noinline nounwind {
entry:
  %buffer = alloca <16 x i64>, align 64
  %ck.p = getelementptr i8, ptr %cta, i64 ${CHECKS}
  %ck = load ptr, ptr %ck.p
  %now = load i64, ptr %ck
  %low = and i64 %now, -281474976710656
  %full.p = getelementptr i8, ptr %ck, i64 ${FULL}
  %full = load i64, ptr %full.p
  %span = sub i64 %full, %low
  %simple.p = getelementptr i8, ptr %ck, i64 ${SIMPLE}
  %simple0 = load i64, ptr %simple.p
  %simple = icmp ne i64 %simple0, 0
  ${SPLAT16_lowv_i64_low}
  ${SPLAT16_spanv_i64_span}
  ${SPLAT16_simplev_i1_simple}
  ${SPLAT16_writev_i1_write}
  %reads.only = xor i1 %write, true
  br label %start
${RANGE}
finish:
  ret void
}

; Rows of %lanes words or more: for each of %members (a count, then offset, bytes and code of each) the lanes one after the
; other, from lane %first on; %off is where the first of them is.
define internal void @race.rows(ptr %ctx, ptr %cta, ptr %base, i64 %stride, i64 %off, i64 %start.address, ptr %members, i64 %lanes, i64 %first, i1 %write) noinline nounwind {
entry:
  %buffer = alloca <16 x i64>, align 64
  %ck.p = getelementptr i8, ptr %cta, i64 ${CHECKS}
  %ck = load ptr, ptr %ck.p
  %now = load i64, ptr %ck
  %low = and i64 %now, -281474976710656
  %full.p = getelementptr i8, ptr %ck, i64 ${FULL}
  %full = load i64, ptr %full.p
  %span = sub i64 %full, %low
  %simple.p = getelementptr i8, ptr %ck, i64 ${SIMPLE}
  %simple0 = load i64, ptr %simple.p
  %simple = icmp ne i64 %simple0, 0
  ${SPLAT16_lowv_i64_low}
  ${SPLAT16_spanv_i64_span}
  ${SPLAT16_simplev_i1_simple}
  ${SPLAT16_writev_i1_write}
  %reads.only = xor i1 %write, true
  %codes = getelementptr i8, ptr @race.zeros, i64 0
  %step = add i64 0, 0
  %mn = load i64, ptr %members
  br label %member
member:
  %mk = phi i64 [0, %entry], [%mk1, %finish]
  %mk.more = icmp ult i64 %mk, %mn
  br i1 %mk.more, label %member.go, label %members.done
member.go:
  %mk3 = mul i64 %mk, 24
  %mh = getelementptr i8, ptr %members, i64 %mk3
  %mo.p = getelementptr i8, ptr %mh, i64 8
  %mo = load i64, ptr %mo.p
  %ms.p = getelementptr i8, ptr %mh, i64 16
  %ms = load i64, ptr %ms.p
  %mc.p = getelementptr i8, ptr %mh, i64 24
  %mc = load i64, ptr %mc.p
  %mw = lshr i64 %ms, ${LOG_GRANULE}
  %shift = call i64 @llvm.cttz.i64(i64 %mw, i1 false)
  %count = mul i64 %mw, %lanes
  %me = or i64 %first, %mc
  %ra = add i64 %off, %mo
  %ra.w = lshr i64 %ra, ${LOG_GRANULE}
  %p = getelementptr i64, ptr %base, i64 %ra.w
  %address = add i64 %start.address, %ra
  br label %start
${RANGE}
finish:
  %mk1 = add i64 %mk, 1
  br label %member
members.done:
  ret void
}

; Lanes here and there: %count words each, from the word at byte offset %offs[lane] + %at on. Gives the lanes that have
; stored where another lane has stored as well. Lanes are looked at in falling order, so that the lowest one stays.
define internal i32 @race.lanes(ptr %ctx, ptr %cta, ptr %base, i64 %stride, ptr %offs, i64 %at, i64 %address, i64 %count, ptr %codes, i64 %me, i32 %mask, i1 %write) noinline nounwind {
entry:
  %buffer = alloca <32 x i64>, align 64
  %words = alloca <32 x i64>, align 64
  %ck.p = getelementptr i8, ptr %cta, i64 ${CHECKS}
  %ck = load ptr, ptr %ck.p
  %now = load i64, ptr %ck
  %low = and i64 %now, -281474976710656
  %full.p = getelementptr i8, ptr %ck, i64 ${FULL}
  %full = load i64, ptr %full.p
  %span = sub i64 %full, %low
  %simple.p = getelementptr i8, ptr %ck, i64 ${SIMPLE}
  %simple0 = load i64, ptr %simple.p
  %simple = icmp ne i64 %simple0, 0
  ${SPLAT32_lowv_i64_low}
  ${SPLAT32_spanv_i64_span}
  ${SPLAT32_mev_i64_me}
  ${SPLAT32_atv_i64_at}
  ${SPLAT32_simplev_i1_simple}
  %rbase = getelementptr i8, ptr %base, i64 %stride
  %qbase = getelementptr i8, ptr %rbase, i64 %stride
  %o32 = load <32 x i32>, ptr %offs, align 4
  %o32r = shufflevector <32 x i32> %o32, <32 x i32> poison, <32 x i32> ${FALLING}
  %o64 = zext <32 x i32> %o32r to <32 x i64>
  %o = add <32 x i64> %o64, %atv
  %first = lshr <32 x i64> %o, splat (i64 ${LOG_GRANULE})
  %rev = call i32 @llvm.bitreverse.i32(i32 %mask)
  %m = bitcast i32 %rev to <32 x i1>
  %mel = or <32 x i64> %mev, ${FALLING64}
  br label %loop
loop:
  %k = phi i64 [0, %entry], [%k1, %next]
  %collide = phi i32 [0, %entry], [%collide2, %next]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %body, label %finish
body:
  %code.p = getelementptr i64, ptr %codes, i64 %k
  %code = load i64, ptr %code.p
  ${SPLAT32_codev_i64_code}
  %me32 = or <32 x i64> %mel, %codev
  ${SPLAT32_kv_i64_k}
  %index = add <32 x i64> %first, %kv
  %wps = getelementptr i64, ptr %base, <32 x i64> %index
  %rps = getelementptr i64, ptr %rbase, <32 x i64> %index
  %qps = getelementptr i64, ptr %qbase, <32 x i64> %index
  %w = call <32 x i64> @llvm.masked.gather.v32i64.v32p0(<32 x ptr> align 8 %wps, <32 x i1> %m, <32 x i64> zeroinitializer)
  %r = call <32 x i64> @llvm.masked.gather.v32i64.v32p0(<32 x ptr> align 8 %rps, <32 x i1> %m, <32 x i64> zeroinitializer)
  %q = call <32 x i64> @llvm.masked.gather.v32i64.v32p0(<32 x ptr> align 8 %qps, <32 x i1> %m, <32 x i64> zeroinitializer)
${FINE32}
  %r.or = or <32 x i1> %r.f, %simplev
  %ok.r = and <32 x i1> %w.f, %r.or
  %rq = and <32 x i1> %r.f, %q.f
  %ok.w = and <32 x i1> %w.f, %rq
  %ok0 = select i1 %write, <32 x i1> %ok.w, <32 x i1> %ok.r
  %ok = and <32 x i1> %ok0, %m
  %no = xor <32 x i1> %ok, splat (i1 true)
  %bad.v = and <32 x i1> %no, %m
  %bad = bitcast <32 x i1> %bad.v to i32
  %some = icmp ne i32 %bad, 0
  br i1 %some, label %look, label %quick
look:
  store <32 x i64> %me32, ptr %buffer, align 64
  store <32 x i64> %index, ptr %words, align 64
  br label %each
each:
  %b = phi i32 [%bad, %look], [%b2, %one]
  %b.no = icmp eq i32 %b, 0
  br i1 %b.no, label %quick, label %one
one:
  %z = call i32 @llvm.ctlz.i32(i32 %b, i1 false)
  %e32 = sub i32 31, %z
  %bit = shl i32 1, %e32
  %b2 = xor i32 %b, %bit
  %e = zext i32 %e32 to i64
  %mp = getelementptr i64, ptr %buffer, i64 %e
  %mine = load i64, ptr %mp
  %ip = getelementptr i64, ptr %words, i64 %e
  %i = load i64, ptr %ip
  %pk = getelementptr i64, ptr %base, i64 %i
  %ao = shl i64 %i, ${LOG_GRANULE}
  %a = add i64 %address, %ao
  call void @race.hazard(ptr %ctx, ptr %cta, ptr %pk, i64 %stride, i64 %a, i64 %mine, i1 %write)
  br label %each
quick:
  br i1 %write, label %q.write, label %q.read
q.write:
  call void @llvm.masked.scatter.v32i64.v32p0(<32 x i64> %me32, <32 x ptr> align 8 %wps, <32 x i1> %ok)
  br label %slow
q.read:
  %cr = and <32 x i1> %ok, %r.f
  %r.no = xor <32 x i1> %r.f, splat (i1 true)
  %cq0 = and <32 x i1> %r.no, %q.f
  %cq = and <32 x i1> %ok, %cq0
  %cr.b = bitcast <32 x i1> %cr to i32
  %cr.any = icmp ne i32 %cr.b, 0
  br i1 %cr.any, label %r.store, label %q.any
r.store:
  call void @llvm.masked.scatter.v32i64.v32p0(<32 x i64> %me32, <32 x ptr> align 8 %rps, <32 x i1> %cr)
  %r.back = call <32 x i64> @llvm.masked.gather.v32i64.v32p0(<32 x ptr> align 8 %rps, <32 x i1> %cr, <32 x i64> %me32)
  %r.ne = icmp ne <32 x i64> %r.back, %me32
  %r.again = and <32 x i1> %r.ne, %cr
  %r.many = or <32 x i64> %r.back, splat (i64 1024)
  call void @llvm.masked.scatter.v32i64.v32p0(<32 x i64> %r.many, <32 x ptr> align 8 %rps, <32 x i1> %r.again)
  br label %q.any
q.any:
  %cq.b = bitcast <32 x i1> %cq to i32
  %cq.any = icmp ne i32 %cq.b, 0
  br i1 %cq.any, label %q.store, label %slow
q.store:
  call void @llvm.masked.scatter.v32i64.v32p0(<32 x i64> %me32, <32 x ptr> align 8 %qps, <32 x i1> %cq)
  %q.back = call <32 x i64> @llvm.masked.gather.v32i64.v32p0(<32 x ptr> align 8 %qps, <32 x i1> %cq, <32 x i64> %me32)
  %q.ne = icmp ne <32 x i64> %q.back, %me32
  %q.again = and <32 x i1> %q.ne, %cq
  %q.many = or <32 x i64> %q.back, splat (i64 1024)
  call void @llvm.masked.scatter.v32i64.v32p0(<32 x i64> %q.many, <32 x ptr> align 8 %qps, <32 x i1> %q.again)
  br label %slow
slow:
  br i1 %some, label %keep, label %check
keep:
  %c = phi i32 [%bad, %slow], [%c2, %keep.one]
  %c.no = icmp eq i32 %c, 0
  br i1 %c.no, label %check, label %keep.one
keep.one:
  %f32 = call i32 @llvm.cttz.i32(i32 %c, i1 false)
  %c1 = sub i32 %c, 1
  %c2 = and i32 %c, %c1
  %f = zext i32 %f32 to i64
  %k.mp = getelementptr i64, ptr %buffer, i64 %f
  %k.mine = load i64, ptr %k.mp
  %k.ip = getelementptr i64, ptr %words, i64 %f
  %k.i = load i64, ptr %k.ip
  %k.p = getelementptr i64, ptr %base, i64 %k.i
  call void @race.keep(ptr %ctx, ptr %cta, ptr %k.p, i64 %stride, i64 %k.mine, i1 %write)
  br label %keep
check:
  br i1 %write, label %back, label %next
back:
  %w.back = call <32 x i64> @llvm.masked.gather.v32i64.v32p0(<32 x ptr> align 8 %wps, <32 x i1> %m, <32 x i64> %me32)
  %w.ne = icmp ne <32 x i64> %w.back, %me32
  %w.ne.m = and <32 x i1> %w.ne, %m
  %w.bits = bitcast <32 x i1> %w.ne.m to i32
  br label %next
next:
  %found = phi i32 [0, %check], [%w.bits, %back]
  %collide2 = or i32 %collide, %found
  %k1 = add i64 %k, 1
  br label %loop
finish:
  %lanes = call i32 @llvm.bitreverse.i32(i32 %collide)
  ret i32 %lanes
}

; The pieces of a segment from one address: %pieces is a count, and for each piece its offset, its words, and a code for
; each of them (filled up to a multiple of 16).
define internal void @race.pieces(ptr %ctx, ptr %cta, ptr %base, i64 %stride, i64 %off, i64 %address, ptr %pieces, i64 %me, i1 %write) noinline nounwind {
entry:
  %n = load i64, ptr %pieces
  br label %loop
loop:
  %k = phi i64 [0, %entry], [%k1, %body]
  %at = phi i64 [8, %entry], [%at2, %body]
  %more = icmp ult i64 %k, %n
  br i1 %more, label %body, label %finish
body:
  %h = getelementptr i8, ptr %pieces, i64 %at
  %po = load i64, ptr %h
  %h8 = getelementptr i8, ptr %h, i64 8
  %count = load i64, ptr %h8
  %codes = getelementptr i8, ptr %h, i64 16
  %o = add i64 %off, %po
  %word = lshr i64 %o, ${LOG_GRANULE}
  %p = getelementptr i64, ptr %base, i64 %word
  %a = add i64 %address, %o
  call void @race.range(ptr %ctx, ptr %cta, ptr %p, i64 %stride, i64 %a, i64 %count, ptr %codes, i64 8, i64 %me, i64 63, i1 %write)
  %full0 = add i64 %count, 15
  %full = and i64 %full0, -16
  %bytes = shl i64 %full, 3
  %size = add i64 %bytes, 16
  %at2 = add i64 %at, %size
  %k1 = add i64 %k, 1
  br label %loop
finish:
  ret void
}

; Some lanes of a warp make accesses: keeps which, for each code of %pieces. A record that says "many lanes" names one.
define internal void @race.partial(ptr %ctx, ptr %ws, i32 %mask, ptr %pieces) noinline nounwind {
entry:
  %whole = icmp eq i32 %mask, -1
  br i1 %whole, label %finish, label %begin
begin:
  %g.p = getelementptr i8, ptr %ctx, i64 ${CHECK}
  %g = load ptr, ptr %g.p
  %t.p = getelementptr i8, ptr %g, i64 ${MASKS_AT}
  %t = load ptr, ptr %t.p
  %wp = getelementptr i8, ptr %ws, i64 ${WARP_ID}
  %w32 = load i32, ptr %wp
  %w = zext i32 %w32 to i64
  %runs = load i64, ptr %pieces
  %first = getelementptr i8, ptr %pieces, i64 8
  br label %run
run:
  %k = phi i64 [0, %begin], [%k1, %run.end]
  %p = phi ptr [%first, %begin], [%next, %run.end]
  %more = icmp ult i64 %k, %runs
  br i1 %more, label %run.go, label %finish
run.go:
  %n.p = getelementptr i8, ptr %p, i64 8
  %n = load i64, ptr %n.p
  %codes = getelementptr i8, ptr %p, i64 16
  br label %word
word:
  %j = phi i64 [0, %run.go], [%j1, %word.go]
  %word.more = icmp ult i64 %j, %n
  br i1 %word.more, label %word.go, label %run.end
word.go:
  %c.p = getelementptr i64, ptr %codes, i64 %j
  %c0 = load i64, ptr %c.p
  %c1 = lshr i64 %c0, ${CODE}
  %c = and i64 %c1, 262143
  %row = shl i64 %c, 5
  %cell = add i64 %row, %w
  %m.p = getelementptr i32, ptr %t, i64 %cell
  store i32 %mask, ptr %m.p
  %j1 = add i64 %j, 1
  br label %word
run.end:
  %n15 = add i64 %n, 15
  %padded = and i64 %n15, -16
  %next = getelementptr i64, ptr %codes, i64 %padded
  %k1 = add i64 %k, 1
  br label %run
finish:
  ret void
}

; One address for all lanes.
define internal void @race.one(ptr %ctx, ptr %cta, ptr %ws, i32 %mask, ptr %base, i64 %stride, i64 %off, i64 %address, ptr %pieces, i1 %write) noinline nounwind {
entry:
  %none = icmp eq ptr %base, null
  br i1 %none, label %finish, label %go
go:
  call void @serial(ptr %ctx, i32 %mask)
  call void @race.partial(ptr %ctx, ptr %ws, i32 %mask, ptr %pieces)
  %ck.p = getelementptr i8, ptr %cta, i64 ${CHECKS}
  %ck = load ptr, ptr %ck.p
  %me0 = call i64 @race.me(ptr %ck, ptr %ws, i64 0)
  %lane32 = call i32 @llvm.cttz.i32(i32 %mask, i1 false)
  %lane = zext i32 %lane32 to i64
  %m1 = sub i32 %mask, 1
  %rest = and i32 %mask, %m1
  %many = icmp ne i32 %rest, 0
  %flag = select i1 %many, i64 1024, i64 0
  %me1 = or i64 %me0, %lane
  %me = or i64 %me1, %flag
  call void @race.pieces(ptr %ctx, ptr %cta, ptr %base, i64 %stride, i64 %off, i64 %address, ptr %pieces, i64 %me, i1 %write)
  br label %finish
finish:
  ret void
}

; 32 addresses, %offs bytes from the start of the records' allocation, which lie as %pattern says (see `Seen`). %members:
; a count, and for each access its offset, its bytes, its code. Gives the lanes that have stored on each other.
define internal i32 @race.group(ptr %ctx, ptr %cta, ptr %ws, i32 %mask, ptr %base, i64 %stride, ptr %offs, i32 %pattern, i64 %address, ptr %pieces, ptr %members, i1 %write) noinline nounwind {
entry:
  %none = icmp eq ptr %base, null
  br i1 %none, label %nothing, label %go
nothing:
  ret i32 0
go:
  call void @serial(ptr %ctx, i32 %mask)
  %ck.p = getelementptr i8, ptr %cta, i64 ${CHECKS}
  %ck = load ptr, ptr %ck.p
  call void @race.partial(ptr %ctx, ptr %ws, i32 %mask, ptr %pieces)
  %me = call i64 @race.me(ptr %ck, ptr %ws, i64 0)
  %o0.32 = load i32, ptr %offs
  %o0 = zext i32 %o0.32 to i64
  %h.p = getelementptr i8, ptr %offs, i64 64
  %o16.32 = load i32, ptr %h.p
  %o16 = zext i32 %o16.32 to i64
  %uniform = select i1 %write, i32 2, i32 %pattern
  switch i32 %pattern, label %any [i32 0, label %rows i32 4, label %rows.half i32 1, label %same i32 5, label %same]
; two rows that overlap, stored: lane by lane
rows.half:
  %d0 = sub i64 %o16, %o0
  %d1 = sub i64 %o0, %o16
  %far = icmp sgt i64 %d0, %d1
  %d = select i1 %far, i64 %d0, i64 %d1
  %m0.p = getelementptr i8, ptr %members, i64 16
  %m0 = load i64, ptr %m0.p
  %reach = shl i64 %m0, 4
  %touch0 = icmp ult i64 %d, %reach
  %touch = and i1 %touch0, %write
  br i1 %touch, label %any, label %rows
same:
  switch i32 %uniform, label %any [i32 1, label %one i32 5, label %halves]
one:
  %me.all = or i64 %me, 1024
  call void @race.pieces(ptr %ctx, ptr %cta, ptr %base, i64 %stride, i64 %o0, i64 %address, ptr %pieces, i64 %me.all, i1 %write)
  ret i32 0
halves:
  %me.low = or i64 %me, 1024
  call void @race.pieces(ptr %ctx, ptr %cta, ptr %base, i64 %stride, i64 %o0, i64 %address, ptr %pieces, i64 %me.low, i1 %write)
  %me.high = or i64 %me, 1040
  call void @race.pieces(ptr %ctx, ptr %cta, ptr %base, i64 %stride, i64 %o16, i64 %address, ptr %pieces, i64 %me.high, i1 %write)
  ret i32 0
rows:
  %half = icmp eq i32 %pattern, 4
  %lanes = select i1 %half, i64 16, i64 32
  %two0 = icmp eq i64 %o0, %o16
  %two = and i1 %two0, %half
  %flag = select i1 %two, i64 1024, i64 0
  %me.one = or i64 %me, %flag
  call void @race.rows(ptr %ctx, ptr %cta, ptr %base, i64 %stride, i64 %o0, i64 %address, ptr %members, i64 %lanes, i64 %me.one, i1 %write)
  %two.no = xor i1 %two0, true
  %again = and i1 %half, %two.no
  br i1 %again, label %rows.second, label %rows.done
rows.second:
  %me.h = or i64 %me, 16
  call void @race.rows(ptr %ctx, ptr %cta, ptr %base, i64 %stride, i64 %o16, i64 %address, ptr %members, i64 %lanes, i64 %me.h, i1 %write)
  br label %rows.done
rows.done:
  ret i32 0
any:
  %pn = load i64, ptr %pieces
  br label %piece
piece:
  %j = phi i64 [0, %any], [%j1, %piece.go]
  %at = phi i64 [8, %any], [%at2, %piece.go]
  %collide = phi i32 [0, %any], [%collide2, %piece.go]
  %j.more = icmp ult i64 %j, %pn
  br i1 %j.more, label %piece.go, label %finish
piece.go:
  %h = getelementptr i8, ptr %pieces, i64 %at
  %po = load i64, ptr %h
  %h8 = getelementptr i8, ptr %h, i64 8
  %pc = load i64, ptr %h8
  %codes = getelementptr i8, ptr %h, i64 16
  %found = call i32 @race.lanes(ptr %ctx, ptr %cta, ptr %base, i64 %stride, ptr %offs, i64 %po, i64 %address, i64 %pc, ptr %codes, i64 %me, i32 %mask, i1 %write)
  %collide2 = or i32 %collide, %found
  %pf0 = add i64 %pc, 15
  %pf = and i64 %pf0, -16
  %pb = shl i64 %pf, 3
  %ps = add i64 %pb, 16
  %at2 = add i64 %at, %ps
  %j1 = add i64 %j, 1
  br label %piece
finish:
  ret i32 %collide
}

; Lanes of one store that hit the same place: a hazard where they store different values, else one store of many lanes.
; %data: %k elements of %w bytes a lane, element-major.
define internal void @race.collided(ptr %ctx, ptr %cta, ptr %ws, i32 %mask, i32 %lanes, ptr %base, ptr %offs, i64 %at, i64 %address, ptr %data, i64 %w, i64 %k, i64 %code) noinline nounwind {
entry:
  %ck.p = getelementptr i8, ptr %cta, i64 ${CHECKS}
  %ck = load ptr, ptr %ck.p
  %me = call i64 @race.me(ptr %ck, ptr %ws, i64 %code)
  br label %loop
loop:
  %left = phi i32 [%lanes, %entry], [%rest, %next]
  %done = icmp eq i32 %left, 0
  br i1 %done, label %finish, label %body
body:
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 false)
  %left1 = sub i32 %left, 1
  %rest = and i32 %left, %left1
  %lane64 = zext i32 %lane to i64
  %op = getelementptr i32, ptr %offs, i64 %lane64
  %mine = load i32, ptr %op
  br label %search
search:
  %s = phi i32 [%mask, %body], [%s2, %search.next]
  %other = call i32 @llvm.cttz.i32(i32 %s, i1 false)
  %s1 = sub i32 %s, 1
  %s2 = and i32 %s, %s1
  %self = icmp eq i32 %other, %lane
  br i1 %self, label %next, label %search.look
search.look:
  %other64 = zext i32 %other to i64
  %tp = getelementptr i32, ptr %offs, i64 %other64
  %theirs = load i32, ptr %tp
  %same = icmp eq i32 %mine, %theirs
  br i1 %same, label %values, label %search.more
search.more:
  %s.no = icmp eq i32 %s2, 0
  br i1 %s.no, label %next, label %search.next
search.next:
  br label %search
values:
  %e = phi i64 [0, %search.look], [%e1, %equal]
  %e.more = icmp ult i64 %e, %k
  br i1 %e.more, label %value, label %harmless
value:
  %row = mul i64 %e, 32
  %c0 = add i64 %row, %lane64
  %c1 = add i64 %row, %other64
  %x0 = mul i64 %c0, %w
  %x1 = mul i64 %c1, %w
  %p0 = getelementptr i8, ptr %data, i64 %x0
  %p1 = getelementptr i8, ptr %data, i64 %x1
  br label %byte
byte:
  %i = phi i64 [0, %value], [%i1, %byte.next]
  %i.more = icmp ult i64 %i, %w
  br i1 %i.more, label %byte.look, label %equal
byte.look:
  %b0.p = getelementptr i8, ptr %p0, i64 %i
  %b1.p = getelementptr i8, ptr %p1, i64 %i
  %b0 = load i8, ptr %b0.p
  %b1 = load i8, ptr %b1.p
  %b.same = icmp eq i8 %b0, %b1
  br i1 %b.same, label %byte.next, label %differ
byte.next:
  %i1 = add i64 %i, 1
  br label %byte
equal:
  %e1 = add i64 %e, 1
  br label %values
differ:
  %me.a = or i64 %me, %lane64
  %me.b = or i64 %me, %other64
  %o64 = zext i32 %mine to i64
  %oa = add i64 %o64, %at
  %a = add i64 %oa, %address
  call void @note(ptr %ctx, ptr %cta, i64 ${SAME}, i64 %me.a, i64 %me.b, i64 %a, i64 0)
  br label %next
harmless:
  %h64 = zext i32 %mine to i64
  %ha = add i64 %h64, %at
  %hw = lshr i64 %ha, ${LOG_GRANULE}
  %size = mul i64 %w, %k
  %count = lshr i64 %size, ${LOG_GRANULE}
  br label %flag
flag:
  %n = phi i64 [0, %harmless], [%n1, %flag.go]
  %n.more = icmp ult i64 %n, %count
  br i1 %n.more, label %flag.go, label %next
flag.go:
  %nw = add i64 %hw, %n
  %np = getelementptr i64, ptr %base, i64 %nw
  %nv = load i64, ptr %np
  %nf = or i64 %nv, 1024
  store i64 %nf, ptr %np
  %n1 = add i64 %n, 1
  br label %flag
next:
  br label %loop
finish:
  ret void
}
