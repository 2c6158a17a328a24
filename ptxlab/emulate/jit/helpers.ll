; What compiled code calls out of line: finding the memory behind an address, slow accesses, splitting and rejoining.
;
; An address is turned into a host pointer only by @resolve, and by the fast path of an access, which repeats the check
; against the last answer. The names in braces are offsets and constants, filled in by helpers.py.

define internal ptr @resolve(ptr %ctx, ptr %cta, ptr %ws, i32 %lane, i64 %addr, i64 %n, i64 %lg, i32 %space, i32 %write, ptr %site) noinline nounwind {
  %am1 = shl i64 -1, %lg
  %am = xor i64 %am1, -1
  %mis = and i64 %addr, %am
  %aligned = icmp eq i64 %mis, 0
  %shadow.p = getelementptr i8, ptr %ctx, i64 ${SHADOW}
  %race.p = getelementptr i8, ptr %ctx, i64 ${RACE}
  %race.stride.p = getelementptr i8, ptr %ctx, i64 ${RACE_STRIDE}
  %race.offset.p = getelementptr i8, ptr %ctx, i64 ${RACE_OFFSET}
  store i64 0, ptr %shadow.p
  store i64 0, ptr %race.p
  br i1 %aligned, label %by.space, label %bad
by.space:
  switch i32 %space, label %global [i32 1, label %shared i32 2, label %local i32 3, label %param i32 5, label %generic]
generic:
  %ds = sub i64 %addr, ${SHARED_WINDOW}
  %is = icmp ult i64 %ds, ${WINDOW_SIZE}
  br i1 %is, label %shared, label %generic.local
generic.local:
  %dl = sub i64 %addr, ${LOCAL_WINDOW}
  %il = icmp ult i64 %dl, ${WINDOW_SIZE}
  br i1 %il, label %local, label %generic.param
generic.param:
  %dp = sub i64 %addr, ${PARAM_WINDOW}
  %ip = icmp ult i64 %dp, ${WINDOW_SIZE}
  br i1 %ip, label %param, label %global
shared:
  %so = phi i64 [%addr, %by.space], [%ds, %generic]
  %s.off = sub i64 %so, ${SHARED_START}
  %s.size.p = getelementptr i8, ptr %cta, i64 ${SHARED_SIZE}
  %s.size = load i64, ptr %s.size.p
  %s.last = sub i64 %s.size, %n
  %s.fits = icmp sge i64 %s.last, 0
  %s.in = icmp ule i64 %s.off, %s.last
  %s.ok = and i1 %s.fits, %s.in
  br i1 %s.ok, label %s.found, label %bad
s.found:
  %s.host.p = getelementptr i8, ptr %cta, i64 ${SHARED}
  %s.host = load ptr, ptr %s.host.p
  %s.r = getelementptr i8, ptr %s.host, i64 %s.off
  %s.init.p = getelementptr i8, ptr %cta, i64 ${INIT_SHARED}
  %s.init = load i64, ptr %s.init.p
  %s.init.is = icmp ne i64 %s.init, 0
  %s.init.at = add i64 %s.init, %s.off
  %s.shadow = select i1 %s.init.is, i64 %s.init.at, i64 0
  store i64 %s.shadow, ptr %shadow.p
  %s.race.p = getelementptr i8, ptr %cta, i64 ${RACE_SHARED}
  %s.race = load i64, ptr %s.race.p
  store i64 %s.race, ptr %race.p
  %s.stride.p = getelementptr i8, ptr %cta, i64 ${RACE_SHARED_STRIDE}
  %s.stride = load i64, ptr %s.stride.p
  store i64 %s.stride, ptr %race.stride.p
  store i64 %s.off, ptr %race.offset.p
  %s.fill = icmp ne ptr %site, null
  br i1 %s.fill, label %s.refill, label %s.done
s.refill:
  store i64 ${SHARED_WINDOW_START}, ptr %site
  %s.lim0 = lshr i64 %s.last, %lg
  %s.lim = add i64 %s.lim0, 1
  %s.site8 = getelementptr i8, ptr %site, i64 8
  store i64 %s.lim, ptr %s.site8
  %s.site16 = getelementptr i8, ptr %site, i64 16
  store ptr %s.host, ptr %s.site16
  %s.site24 = getelementptr i8, ptr %site, i64 24
  store i64 %s.init, ptr %s.site24
  %s.site32 = getelementptr i8, ptr %site, i64 32
  store i64 %s.race, ptr %s.site32
  %s.site40 = getelementptr i8, ptr %site, i64 40
  store i64 %s.stride, ptr %s.site40
  br label %s.done
s.done:
  ret ptr %s.r
local:
  %lo = phi i64 [%addr, %by.space], [%dl, %generic.local]
  %l.last = sub i64 ${LOCAL_SIZE}, %n
  %l.fits = icmp sge i64 %l.last, 0
  %l.in = icmp ule i64 %lo, %l.last
  %l.ok = and i1 %l.fits, %l.in
  br i1 %l.ok, label %l.found, label %bad
l.found:
  %l.host.p = getelementptr i8, ptr %ws, i64 ${LOCAL}
  %l.host = load ptr, ptr %l.host.p
  %l.lane = zext i32 %lane to i64
  %l.at = mul i64 %l.lane, ${LOCAL_STRIDE}
  %l.off = add i64 %l.at, %lo
  %l.r = getelementptr i8, ptr %l.host, i64 %l.off
  ret ptr %l.r
param:
  %po = phi i64 [%addr, %by.space], [%dp, %generic.param]
  %p.size.p = getelementptr i8, ptr %ctx, i64 ${PARAM_SIZE}
  %p.size = load i64, ptr %p.size.p
  %p.last = sub i64 %p.size, %n
  %p.fits = icmp sge i64 %p.last, 0
  %p.in = icmp ule i64 %po, %p.last
  %p.reads = icmp eq i32 %write, 0
  %p.ok1 = and i1 %p.fits, %p.in
  %p.ok = and i1 %p.ok1, %p.reads
  br i1 %p.ok, label %p.found, label %bad
p.found:
  %p.host.p = getelementptr i8, ptr %ctx, i64 ${PARAMS}
  %p.host = load ptr, ptr %p.host.p
  %p.r = getelementptr i8, ptr %p.host, i64 %po
  ret ptr %p.r
global:
  %g.tab.p = getelementptr i8, ptr %ctx, i64 ${ALLOCS}
  %g.tab = load ptr, ptr %g.tab.p
  %g.n.p = getelementptr i8, ptr %ctx, i64 ${ALLOC_COUNT}
  %g.n = load i64, ptr %g.n.p
  br label %search
search:
  %lo.i = phi i64 [0, %global], [%lo.next, %narrow]
  %hi.i = phi i64 [%g.n, %global], [%hi.next, %narrow]
  %more = icmp ult i64 %lo.i, %hi.i
  br i1 %more, label %narrow, label %searched
narrow:
  %sum = add i64 %lo.i, %hi.i
  %mid = lshr i64 %sum, 1
  %mid.o = mul i64 %mid, ${ALLOC_SIZE}
  %mid.p = getelementptr i8, ptr %g.tab, i64 %mid.o
  %mid.b = load i64, ptr %mid.p
  %below = icmp ule i64 %mid.b, %addr
  %mid1 = add i64 %mid, 1
  %lo.next = select i1 %below, i64 %mid1, i64 %lo.i
  %hi.next = select i1 %below, i64 %hi.i, i64 %mid
  br label %search
searched:
  %none = icmp eq i64 %lo.i, 0
  br i1 %none, label %bad, label %candidate
candidate:
  %at = sub i64 %lo.i, 1
  %at.o = mul i64 %at, ${ALLOC_SIZE}
  %e = getelementptr i8, ptr %g.tab, i64 %at.o
  %e.base = load i64, ptr %e
  %e8 = getelementptr i8, ptr %e, i64 8
  %e.size = load i64, ptr %e8
  %e16 = getelementptr i8, ptr %e, i64 16
  %e.host = load ptr, ptr %e16
  %e24 = getelementptr i8, ptr %e, i64 24
  %e.shadow = load i64, ptr %e24
  %e32 = getelementptr i8, ptr %e, i64 32
  %e.writable = load i64, ptr %e32
  %e40 = getelementptr i8, ptr %e, i64 40
  %e.race = load i64, ptr %e40
  %e48 = getelementptr i8, ptr %e, i64 48
  %e.stride = load i64, ptr %e48
  %g.off = sub i64 %addr, %e.base
  %g.last = sub i64 %e.size, %n
  %g.fits = icmp sge i64 %g.last, 0
  %g.in = icmp ule i64 %g.off, %g.last
  %w.no = icmp eq i64 %e.writable, 0
  %w.is = icmp ne i32 %write, 0
  %w.bad = and i1 %w.no, %w.is
  %w.ok = xor i1 %w.bad, true
  %g.ok1 = and i1 %g.fits, %g.in
  %g.ok = and i1 %g.ok1, %w.ok
  br i1 %g.ok, label %g.found, label %bad
g.found:
  %g.r = getelementptr i8, ptr %e.host, i64 %g.off
  %has.shadow = icmp ne i64 %e.shadow, 0
  %sh.at = add i64 %e.shadow, %g.off
  %sh = select i1 %has.shadow, i64 %sh.at, i64 0
  store i64 %sh, ptr %shadow.p
  store i64 %e.race, ptr %race.p
  store i64 %e.stride, ptr %race.stride.p
  store i64 %g.off, ptr %race.offset.p
  %g.fill = icmp ne ptr %site, null
  br i1 %g.fill, label %g.refill, label %g.done
g.refill:
  store i64 %e.base, ptr %site
  %g.lim0 = lshr i64 %g.last, %lg
  %g.lim = add i64 %g.lim0, 1
  %site8 = getelementptr i8, ptr %site, i64 8
  store i64 %g.lim, ptr %site8
  %site16 = getelementptr i8, ptr %site, i64 16
  store ptr %e.host, ptr %site16
  %site24 = getelementptr i8, ptr %site, i64 24
  store i64 %e.shadow, ptr %site24
  %site32 = getelementptr i8, ptr %site, i64 32
  store i64 %e.race, ptr %site32
  %site40 = getelementptr i8, ptr %site, i64 40
  store i64 %e.stride, ptr %site40
  br label %g.done
g.done:
  ret ptr %g.r
bad:
  ret ptr null
}

define internal void @record(ptr %ctx, ptr %ws, i32 %kind, i32 %code, i32 %lane, i64 %addr) noinline nounwind {
  %k = getelementptr i8, ptr %ctx, i64 ${FAULT_KIND}
  store i32 %kind, ptr %k
  %c = getelementptr i8, ptr %ctx, i64 ${FAULT_CODE}
  store i32 %code, ptr %c
  %l = getelementptr i8, ptr %ctx, i64 ${FAULT_LANE}
  store i32 %lane, ptr %l
  %a = getelementptr i8, ptr %ctx, i64 ${FAULT_ADDRESS}
  store i64 %addr, ptr %a
  %wp = getelementptr i8, ptr %ws, i64 ${WARP_ID}
  %w = load i32, ptr %wp
  %wo = getelementptr i8, ptr %ctx, i64 ${FAULT_WARP}
  store i32 %w, ptr %wo
  ret void
}

; A uniform access whose site did not know the address: 0 found and remembered, 1 fault recorded, 2 found but not to be
; remembered (local memory: the pointer is left in %out).
define internal i32 @miss(ptr %ctx, ptr %cta, ptr %ws, i32 %mask, i64 %addr, i64 %n, i64 %lg, i32 %space, i32 %write, ptr %site, i32 %code) noinline nounwind {
  %lane = call i32 @llvm.cttz.i32(i32 %mask, i1 false)
  %p = call ptr @resolve(ptr %ctx, ptr %cta, ptr %ws, i32 %lane, i64 %addr, i64 %n, i64 %lg, i32 %space, i32 %write, ptr %site)
  %ok = icmp ne ptr %p, null
  br i1 %ok, label %good, label %bad
good:
  %base = load i64, ptr %site
  %off = sub i64 %addr, %base
  %rot = call i64 @llvm.fshr.i64(i64 %off, i64 %off, i64 %lg)
  %lim.p = getelementptr i8, ptr %site, i64 8
  %lim = load i64, ptr %lim.p
  %in = icmp ult i64 %rot, %lim
  %r = select i1 %in, i32 0, i32 2
  ret i32 %r
bad:
  call void @record(ptr %ctx, ptr %ws, i32 ${OUT_OF_MEMORY_RANGE}, i32 %code, i32 %lane, i64 %addr)
  ret i32 1
}

; The same for 32 addresses: 0 all in one allocation now remembered, 1 fault recorded, 2 all valid but not all there.
define internal i32 @miss.lanes(ptr %ctx, ptr %cta, ptr %ws, i32 %mask, ptr %addrs, i64 %n, i64 %lg, i32 %space, i32 %write, ptr %site, i32 %code) noinline nounwind {
entry:
  br label %loop
loop:
  %left = phi i32 [%mask, %entry], [%rest, %next]
  %result = phi i32 [0, %entry], [%result2, %next]
  %first = phi i1 [true, %entry], [false, %next]
  %done = icmp eq i32 %left, 0
  br i1 %done, label %finish, label %body
body:
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 false)
  %left1 = sub i32 %left, 1
  %rest = and i32 %left, %left1
  %lane64 = zext i32 %lane to i64
  %ap = getelementptr i64, ptr %addrs, i64 %lane64
  %addr = load i64, ptr %ap
  %fill = select i1 %first, ptr %site, ptr null
  %p = call ptr @resolve(ptr %ctx, ptr %cta, ptr %ws, i32 %lane, i64 %addr, i64 %n, i64 %lg, i32 %space, i32 %write, ptr %fill)
  %ok = icmp ne ptr %p, null
  br i1 %ok, label %good, label %bad
good:
  %base = load i64, ptr %site
  %off = sub i64 %addr, %base
  %rot = call i64 @llvm.fshr.i64(i64 %off, i64 %off, i64 %lg)
  %lim.p = getelementptr i8, ptr %site, i64 8
  %lim = load i64, ptr %lim.p
  %in = icmp ult i64 %rot, %lim
  br label %next
next:
  %result2 = select i1 %in, i32 %result, i32 2
  br label %loop
finish:
  %lim.q = getelementptr i8, ptr %site, i64 8
  %lim2 = load i64, ptr %lim.q
  %bytes = shl i64 %lim2, %lg
  %big = icmp ugt i64 %bytes, 2147483000
  br i1 %big, label %far, label %near
far: ; offsets in it need more than 32 bits: the site must not remember it, or the next access would use them
  store i64 0, ptr %lim.q
  ret i32 2
near:
  ret i32 %result
bad:
  call void @record(ptr %ctx, ptr %ws, i32 ${OUT_OF_MEMORY_RANGE}, i32 %code, i32 %lane, i64 %addr)
  ret i32 1
}

; Lane by lane, when 32 addresses lie here and there. %data holds %k elements of %w bytes a lane, element-major.
define internal i32 @slow.access(ptr %ctx, ptr %cta, ptr %ws, i32 %mask, ptr %addrs, i64 %extra, ptr %data, i64 %w, i64 %k, i64 %lg, i32 %space, i32 %write, i32 %code) noinline nounwind {
entry:
  %n = mul i64 %w, %k
  %shadow.p = getelementptr i8, ptr %ctx, i64 ${SHADOW}
  br label %loop
loop:
  %left = phi i32 [%mask, %entry], [%rest, %lane.done]
  %done = icmp eq i32 %left, 0
  br i1 %done, label %finish, label %body
body:
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 false)
  %left1 = sub i32 %left, 1
  %rest = and i32 %left, %left1
  %lane64 = zext i32 %lane to i64
  %ap = getelementptr i64, ptr %addrs, i64 %lane64
  %addr0 = load i64, ptr %ap
  %addr = add i64 %addr0, %extra
  %p = call ptr @resolve(ptr %ctx, ptr %cta, ptr %ws, i32 %lane, i64 %addr, i64 %n, i64 %lg, i32 %space, i32 %write, ptr null)
  %ok = icmp ne ptr %p, null
  br i1 %ok, label %elements, label %bad
elements:
  %e = phi i64 [0, %body], [%e1, %copied]
  %row = mul i64 %e, 32
  %cell = add i64 %row, %lane64
  %cell.o = mul i64 %cell, %w
  %dp = getelementptr i8, ptr %data, i64 %cell.o
  %mp.o = mul i64 %e, %w
  %mp = getelementptr i8, ptr %p, i64 %mp.o
  %is.write = icmp ne i32 %write, 0
  %from = select i1 %is.write, ptr %dp, ptr %mp
  %to = select i1 %is.write, ptr %mp, ptr %dp
  switch i64 %w, label %copy8 [i64 1, label %copy1 i64 2, label %copy2 i64 4, label %copy4]
copy1:
  %x1 = load i8, ptr %from, align 1
  store i8 %x1, ptr %to, align 1
  br label %copied
copy2:
  %x2 = load i16, ptr %from, align 2
  store i16 %x2, ptr %to, align 2
  br label %copied
copy4:
  %x4 = load i32, ptr %from, align 4
  store i32 %x4, ptr %to, align 4
  br label %copied
copy8:
  %x8 = load i64, ptr %from, align 8
  store i64 %x8, ptr %to, align 8
  br label %copied
copied:
  %e1 = add i64 %e, 1
  %again = icmp ult i64 %e1, %k
  br i1 %again, label %elements, label %mark
mark:
  %sh = load i64, ptr %shadow.p
  %sh.is = icmp ne i64 %sh, 0
  %sh.do = and i1 %sh.is, %is.write
  br i1 %sh.do, label %marking, label %lane.done
marking:
  %shp = inttoptr i64 %sh to ptr
  call void @llvm.memset.p0.i64(ptr %shp, i8 -1, i64 %n, i1 false)
  br label %lane.done
lane.done:
  br label %loop
finish:
  ret i32 0
bad:
  call void @record(ptr %ctx, ptr %ws, i32 ${OUT_OF_MEMORY_RANGE}, i32 %code, i32 %lane, i64 %addr)
  ret i32 1
}

; Notes in the record of writes what the lanes of %mask stored, at 32 offsets.
define internal void @mark.lanes(i64 %shadow, ptr %offs, i64 %extra, i32 %mask, i64 %n) noinline nounwind {
entry:
  %base = add i64 %shadow, %extra
  br label %loop
loop:
  %left = phi i32 [%mask, %entry], [%rest, %body]
  %done = icmp eq i32 %left, 0
  br i1 %done, label %finish, label %body
body:
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 false)
  %left1 = sub i32 %left, 1
  %rest = and i32 %left, %left1
  %lane64 = zext i32 %lane to i64
  %op = getelementptr i32, ptr %offs, i64 %lane64
  %o32 = load i32, ptr %op
  %o = zext i32 %o32 to i64
  %at = add i64 %base, %o
  %p = inttoptr i64 %at to ptr
  call void @llvm.memset.p0.i64(ptr %p, i8 -1, i64 %n, i1 false)
  br label %loop
finish:
  ret void
}

; A warp splits: every uniform register of the table is written out to all its lanes.
define internal void @spread(ptr %ws, ptr %table, i32 %count) noinline nounwind {
entry:
  br label %loop
loop:
  %k = phi i32 [0, %entry], [%k1, %next]
  %more = icmp ult i32 %k, %count
  br i1 %more, label %body, label %finish
body:
  %k.o = mul i32 %k, 3
  %k.64 = zext i32 %k.o to i64
  %tp = getelementptr i32, ptr %table, i64 %k.64
  %vo = load i32, ptr %tp
  %tp1 = getelementptr i32, ptr %tp, i64 1
  %so = load i32, ptr %tp1
  %tp2 = getelementptr i32, ptr %tp, i64 2
  %bytes = load i32, ptr %tp2
  %vo64 = zext i32 %vo to i64
  %so64 = zext i32 %so to i64
  %vp = getelementptr i8, ptr %ws, i64 %vo64
  %sp = getelementptr i8, ptr %ws, i64 %so64
  switch i32 %bytes, label %b8 [i32 0, label %bit i32 1, label %b1 i32 2, label %b2 i32 4, label %b4]
bit:
  %t0 = load i8, ptr %sp
  %t1 = icmp ne i8 %t0, 0
  %t2 = sext i1 %t1 to i32
  store i32 %t2, ptr %vp
  br label %next
b1:
  %x1 = load i8, ptr %sp
  %i1 = insertelement <32 x i8> poison, i8 %x1, i64 0
  %s1 = shufflevector <32 x i8> %i1, <32 x i8> poison, <32 x i32> zeroinitializer
  store <32 x i8> %s1, ptr %vp, align 32
  br label %next
b2:
  %x2 = load i16, ptr %sp
  %i2 = insertelement <32 x i16> poison, i16 %x2, i64 0
  %s2 = shufflevector <32 x i16> %i2, <32 x i16> poison, <32 x i32> zeroinitializer
  store <32 x i16> %s2, ptr %vp, align 64
  br label %next
b4:
  %x4 = load i32, ptr %sp
  %i4 = insertelement <32 x i32> poison, i32 %x4, i64 0
  %s4 = shufflevector <32 x i32> %i4, <32 x i32> poison, <32 x i32> zeroinitializer
  store <32 x i32> %s4, ptr %vp, align 64
  br label %next
b8:
  %x8 = load i64, ptr %sp
  %i8 = insertelement <32 x i64> poison, i64 %x8, i64 0
  %s8 = shufflevector <32 x i64> %i8, <32 x i64> poison, <32 x i32> zeroinitializer
  store <32 x i64> %s8, ptr %vp, align 64
  br label %next
next:
  %k1 = add i32 %k, 1
  br label %loop
finish:
  ret void
}

; A warp is together again: are the table's registers the same in all its lanes? If so they become scalars.
define internal i1 @gather.up(ptr %ws, ptr %table, i32 %count, i32 %mask) noinline nounwind {
entry:
  %lead = call i32 @llvm.cttz.i32(i32 %mask, i1 false)
  %lead64 = zext i32 %lead to i64
  br label %loop
loop:
  %k = phi i32 [0, %entry], [%k1, %next]
  %more = icmp ult i32 %k, %count
  br i1 %more, label %body, label %finish
body:
  %k.o = mul i32 %k, 3
  %k.64 = zext i32 %k.o to i64
  %tp = getelementptr i32, ptr %table, i64 %k.64
  %vo = load i32, ptr %tp
  %tp1 = getelementptr i32, ptr %tp, i64 1
  %so = load i32, ptr %tp1
  %tp2 = getelementptr i32, ptr %tp, i64 2
  %bytes = load i32, ptr %tp2
  %vo64 = zext i32 %vo to i64
  %so64 = zext i32 %so to i64
  %vp = getelementptr i8, ptr %ws, i64 %vo64
  %sp = getelementptr i8, ptr %ws, i64 %so64
  %is.bit = icmp eq i32 %bytes, 0
  br i1 %is.bit, label %bit, label %lanes
bit:
  %t0 = load i32, ptr %vp
  %t1 = and i32 %t0, %mask
  %t.none = icmp eq i32 %t1, 0
  %t.all = icmp eq i32 %t1, %mask
  %t.same = or i1 %t.none, %t.all
  %t8 = zext i1 %t.all to i8
  store i8 %t8, ptr %sp
  br i1 %t.same, label %next, label %differ
lanes:
  %b64 = zext i32 %bytes to i64
  %lead.o = mul i64 %lead64, %b64
  %lead.p = getelementptr i8, ptr %vp, i64 %lead.o
  br label %lane
lane:
  %left = phi i32 [%mask, %lanes], [%rest, %lane.same]
  %done = icmp eq i32 %left, 0
  br i1 %done, label %keep, label %compare
compare:
  %l = call i32 @llvm.cttz.i32(i32 %left, i1 false)
  %left1 = sub i32 %left, 1
  %rest = and i32 %left, %left1
  %l64 = zext i32 %l to i64
  %l.o = mul i64 %l64, %b64
  %l.p = getelementptr i8, ptr %vp, i64 %l.o
  switch i32 %bytes, label %c8 [i32 1, label %c1 i32 2, label %c2 i32 4, label %c4]
c1:
  %p1 = load i8, ptr %lead.p
  %q1 = load i8, ptr %l.p
  %e1 = icmp eq i8 %p1, %q1
  store i8 %p1, ptr %sp
  br label %judge
c2:
  %p2 = load i16, ptr %lead.p
  %q2 = load i16, ptr %l.p
  %e2 = icmp eq i16 %p2, %q2
  store i16 %p2, ptr %sp
  br label %judge
c4:
  %p4 = load i32, ptr %lead.p
  %q4 = load i32, ptr %l.p
  %e4 = icmp eq i32 %p4, %q4
  store i32 %p4, ptr %sp
  br label %judge
c8:
  %p8 = load i64, ptr %lead.p
  %q8 = load i64, ptr %l.p
  %e8 = icmp eq i64 %p8, %q8
  store i64 %p8, ptr %sp
  br label %judge
judge:
  %same = phi i1 [%e1, %c1], [%e2, %c2], [%e4, %c4], [%e8, %c8]
  br i1 %same, label %lane.same, label %differ
lane.same:
  br label %lane
keep:
  br label %next
next:
  %k1 = add i32 %k, 1
  br label %loop
differ:
  ret i1 false
finish:
  ret i1 true
}

; Every site forgets the allocation that it knew: with no place for an access in it, no address is.
define internal void @forget(ptr %ctx) noinline nounwind {
entry:
  %sites.p = getelementptr i8, ptr %ctx, i64 ${SITES}
  %sites = load ptr, ptr %sites.p
  br label %loop
loop:
  %k = phi i64 [0, %entry], [%k1, %body]
  %more = icmp ult i64 %k, ${SITE_COUNT}
  br i1 %more, label %body, label %finish
body:
  %o = mul i64 %k, ${SITE_SIZE}
  %p = getelementptr i8, ptr %sites, i64 %o
  %q = getelementptr i8, ptr %p, i64 8
  store i64 0, ptr %q
  %k1 = add i64 %k, 1
  br label %loop
finish:
  ret void
}

; Lanes meet at a `.sync` instruction while their warp is apart: those in %mask have just come. When all live lanes that
; one of them names have come to an instruction of the same kind, what each brought is handed over and they may go on.
define internal void @meet(ptr %ws, i32 %mask) noinline nounwind {
entry:
  %kinds = getelementptr i8, ptr %ws, i64 ${MEETING}
  %members.all = getelementptr i8, ptr %ws, i64 ${MEMBERS}
  %live.p = getelementptr i8, ptr %ws, i64 ${LIVE}
  %live = load i32, ptr %live.p
  br label %next
next:
  %left = phi i32 [%mask, %entry], [%but.lead, %look], [%but.need, %wake]
  %none = icmp eq i32 %left, 0
  br i1 %none, label %finish, label %look
look:
  %left1 = sub i32 %left, 1
  %but.lead = and i32 %left, %left1
  %lead = call i32 @llvm.cttz.i32(i32 %left, i1 false)
  %lead64 = zext i32 %lead to i64
  %kind.p = getelementptr i32, ptr %kinds, i64 %lead64
  %kind = load i32, ptr %kind.p
  %members.p = getelementptr i32, ptr %members.all, i64 %lead64
  %members = load i32, ptr %members.p
  %own = shl i32 1, %lead
  %named = or i32 %members, %own
  %need = and i32 %named, %live
  %kv = load <32 x i32>, ptr %kinds, align 64
  %k0 = insertelement <32 x i32> poison, i32 %kind, i64 0
  %k1 = shufflevector <32 x i32> %k0, <32 x i32> poison, <32 x i32> zeroinitializer
  %here.v = icmp eq <32 x i32> %kv, %k1
  %here = bitcast <32 x i1> %here.v to i32
  %present = and i32 %here, %need
  %complete = icmp eq i32 %present, %need
  br i1 %complete, label %hand.over, label %next
hand.over:
  %need.v = bitcast i32 %need to <32 x i1>
  %kv2 = select <32 x i1> %need.v, <32 x i32> zeroinitializer, <32 x i32> %kv
  store <32 x i32> %kv2, ptr %kinds, align 64
  %gm.p = getelementptr i8, ptr %ws, i64 ${GIVEN_MEMBERS}
  %gm = load <32 x i32>, ptr %gm.p, align 64
  %n0 = insertelement <32 x i32> poison, i32 %need, i64 0
  %n1 = shufflevector <32 x i32> %n0, <32 x i32> poison, <32 x i32> zeroinitializer
  %gm2 = select <32 x i1> %need.v, <32 x i32> %n1, <32 x i32> %gm
  store <32 x i32> %gm2, ptr %gm.p, align 64
  br label %copy
copy:
  %k = phi i64 [0, %hand.over], [%k.next, %copy]
  %o = mul i64 %k, 256
  %from.o = add i64 %o, ${OFFERED}
  %from = getelementptr i8, ptr %ws, i64 %from.o
  %to.o = add i64 %o, ${GIVEN}
  %to = getelementptr i8, ptr %ws, i64 %to.o
  %new = load <32 x i64>, ptr %from, align 64
  %old = load <32 x i64>, ptr %to, align 64
  %mix = select <32 x i1> %need.v, <32 x i64> %new, <32 x i64> %old
  store <32 x i64> %mix, ptr %to, align 64
  %k.next = add i64 %k, 1
  %again = icmp ult i64 %k.next, 3
  br i1 %again, label %copy, label %wake
wake:
  %wait.p = getelementptr i8, ptr %ws, i64 ${WAIT}
  %wait = load i32, ptr %wait.p
  %need.not = xor i32 %need, -1
  %wait2 = and i32 %wait, %need.not
  store i32 %wait2, ptr %wait.p
  %but.need = and i32 %left, %need.not
  br label %next
finish:
  ret void
}

; Lanes have ended: whoever still waits for them meets those that are there.
define internal void @meet.waiting(ptr %ws) noinline nounwind {
entry:
  %live.p = getelementptr i8, ptr %ws, i64 ${LIVE}
  %live = load i32, ptr %live.p
  %kinds = getelementptr i8, ptr %ws, i64 ${MEETING}
  %kv = load <32 x i32>, ptr %kinds, align 64
  %waits.v = icmp ne <32 x i32> %kv, zeroinitializer
  %waits = bitcast <32 x i1> %waits.v to i32
  %left = and i32 %waits, %live
  call void @meet(ptr %ws, i32 %left)
  ret void
}
