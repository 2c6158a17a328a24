; Operations on mbarriers, lane by lane; see ptxlab.isa.mbarrier. %action: 0 init, 1 inval, 2 update, 3 wait. %xs: arrivals
; (init: the count; wait: a word whose phase is asked for), %ys: bytes. %flags: 1 drop, 2 must not complete, 4 a wait
; that spins: the lanes for which it fails are noted in the warp's state. %out: the word before, or for a wait whether the phase is over. 0, or 1 when a fault has been recorded. Checked code tells of
; each operation, after it (%before and %after: the words).
define internal i32 @mbarrier(ptr %ctx, ptr %cta, ptr %ws, i32 %mask, ptr %addrs, ptr %xs, ptr %ys, ptr %out, i32 %action, i32 %flags, i32 %space, i32 %code) noinline nounwind {
entry:
  %before = alloca [32 x i64], align 64
  %after = alloca [32 x i64], align 64
  %generic = icmp eq i32 %space, 5
  %drops0 = and i32 %flags, 1
  %drops = icmp ne i32 %drops0, 0
  %incomplete0 = and i32 %flags, 2
  %incomplete = icmp ne i32 %incomplete0, 0
  %spinning0 = and i32 %flags, 4
  %spinning = icmp ne i32 %spinning0, 0
  %spins.p = getelementptr i8, ptr %ws, i64 ${SPINS}
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
  %rel = sub i64 %addr, ${SHARED_WINDOW}
  %in.window = icmp ult i64 %rel, ${WINDOW_SIZE}
  %take = and i1 %generic, %in.window
  %at = select i1 %take, i64 %rel, i64 %addr
  %p = call ptr @resolve(ptr %ctx, ptr %cta, ptr %ws, i32 %lane, i64 %at, i64 8, i64 3, i32 1, i32 1, ptr null)
  %ok = icmp ne ptr %p, null
  br i1 %ok, label %do, label %bad
do:
  %xp = getelementptr i64, ptr %xs, i64 %lane64
  %x = load i64, ptr %xp
  %yp = getelementptr i64, ptr %ys, i64 %lane64
  %y = load i64, ptr %yp
  %op = getelementptr i64, ptr %out, i64 %lane64
  %w = load i64, ptr %p
  store i64 %w, ptr %op
  %before.p = getelementptr i64, ptr %before, i64 %lane64
  store i64 %w, ptr %before.p
  %tag0 = lshr i64 %w, ${TAG_SHIFT}
  %tag = and i64 %tag0, 3
  %valid = icmp eq i64 %tag, ${TAG}
  switch i32 %action, label %wait [i32 0, label %init i32 1, label %inval i32 2, label %update]
init:
  %x1 = sub i64 %x, 1
  %count.ok = icmp ult i64 %x1, ${COUNT}
  br i1 %count.ok, label %init.do, label %bad.count
init.do:
  %x.up = shl i64 %x, ${EXPECTED_SHIFT}
  %fresh0 = or i64 %x, %x.up
  %fresh = or i64 %fresh0, ${FRESH}
  store i64 %fresh, ptr %p
  br label %next
inval:
  br i1 %valid, label %inval.do, label %bad.none
inval.do:
  store i64 0, ptr %p
  br label %next
update:
  br i1 %valid, label %update.do, label %bad.none
update.do:
  %pending = and i64 %w, ${COUNT}
  %e0 = lshr i64 %w, ${EXPECTED_SHIFT}
  %expected = and i64 %e0, ${COUNT}
  %t0 = lshr i64 %w, ${TX_SHIFT}
  %t1 = add i64 %t0, %y
  %tx = and i64 %t1, ${TX}
  %parity = lshr i64 %w, ${PHASE_SHIFT}
  %remain = sub i64 %pending, %x
  %under = icmp slt i64 %remain, 0
  br i1 %under, label %bad.many, label %count.fine
count.fine:
  %dropped = select i1 %drops, i64 %x, i64 0
  %expected1 = sub i64 %expected, %dropped
  %no.more = icmp eq i64 %remain, 0
  %no.bytes = icmp eq i64 %tx, 0
  %over = and i1 %no.more, %no.bytes
  %wrong = and i1 %over, %incomplete
  br i1 %wrong, label %bad.completes, label %write
write:
  %remain1 = select i1 %over, i64 %expected1, i64 %remain
  %flip = zext i1 %over to i64
  %parity1 = xor i64 %parity, %flip
  %n1 = shl i64 %expected1, ${EXPECTED_SHIFT}
  %n2 = shl i64 %tx, ${TX_SHIFT}
  %n3 = shl i64 %parity1, ${PHASE_SHIFT}
  %n4 = or i64 %remain1, %n1
  %n5 = or i64 %n2, %n3
  %n6 = or i64 %n4, %n5
  %n7 = or i64 %n6, ${FRESH}
  store i64 %n7, ptr %p
  br label %next
wait:
  br i1 %valid, label %wait.do, label %bad.none
wait.do:
  %differs = xor i64 %w, %x
  %over.bit = lshr i64 %differs, ${PHASE_SHIFT}
  store i64 %over.bit, ptr %op
  %own = shl i32 1, %lane
  %others = xor i32 %own, -1
  %spins = load i32, ptr %spins.p
  %spins.off = and i32 %spins, %others
  %spins.on = or i32 %spins, %own
  %fails = icmp eq i64 %over.bit, 0
  %again = and i1 %fails, %spinning
  %spins.new = select i1 %again, i32 %spins.on, i32 %spins.off
  store i32 %spins.new, ptr %spins.p
  br i1 %again, label %note, label %next
note:
  %spin.ats = getelementptr i8, ptr %ws, i64 ${SPIN_AT}
  %spin.at = getelementptr ptr, ptr %spin.ats, i64 %lane64
  store ptr %p, ptr %spin.at
  %spin.fors = getelementptr i8, ptr %ws, i64 ${SPIN_FOR}
  %spin.for = getelementptr i64, ptr %spin.fors, i64 %lane64
  store i64 %x, ptr %spin.for
  %spin.codes = getelementptr i8, ptr %ws, i64 ${SPIN_CODE}
  %spin.code = getelementptr i32, ptr %spin.codes, i64 %lane64
  store i32 %code, ptr %spin.code
  br label %next
next:
  %after.w = load i64, ptr %p
  %after.p = getelementptr i64, ptr %after, i64 %lane64
  store i64 %after.w, ptr %after.p
  br label %loop
finish:
${DONE_HERE}
bad:
  call void @record(ptr %ctx, ptr %ws, i32 ${OUT_OF_MEMORY_RANGE}, i32 %code, i32 %lane, i64 %addr)
  ret i32 1
bad.none:
  br label %problem
bad.many:
  br label %problem
bad.completes:
  br label %problem
bad.count:
  br label %problem
problem:
  %which = phi i64 [1, %bad.none], [2, %bad.many], [3, %bad.completes], [4, %bad.count]
${REFUSED}
  call void @record(ptr %ctx, ptr %ws, i32 ${BAD_MBARRIER}, i32 %code, i32 %lane, i64 %which)
  ret i32 1
}
