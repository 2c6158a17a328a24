; Tells the checks of operations on mbarriers; see ptxlab.emulate.rules.mbarrier_phases, which is Python. A loop that polls one in vain
; is told of at first and then once in a while, as long as nobody changes any.

define internal i32 @phases.done(ptr %ctx, ptr %cta, ptr %ws, i32 %mask, i32 %action, i32 %code, ptr %addrs, ptr %xs, ptr %out, ptr %before, ptr %after) noinline nounwind {
entry:
  %none = icmp eq i32 %mask, 0
  br i1 %none, label %fine, label %begin
begin:
  %ck.p = getelementptr i8, ptr %cta, i64 ${CHECKS}
  %ck = load ptr, ptr %ck.p
  %u.p = getelementptr i8, ptr %ck, i64 ${UPDATES}
  %u = load i64, ptr %u.p
  %wp = getelementptr i8, ptr %ws, i64 ${WARP_ID}
  %warp = load i32, ptr %wp
  %waits = icmp eq i32 %action, 3
  br i1 %waits, label %loop, label %update
update:
  %u1 = add i64 %u, 1
  store i64 %u1, ptr %u.p
  br label %tell
loop:
  %left = phi i32 [%mask, %begin], [%rest, %body]
  %done = icmp eq i32 %left, 0
  br i1 %done, label %failed, label %body
body:
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 false)
  %left1 = sub i32 %left, 1
  %rest = and i32 %left, %left1
  %op = getelementptr i64, ptr %out, i32 %lane
  %over = load i64, ptr %op
  %passes = icmp ne i64 %over, 0
  br i1 %passes, label %tell, label %loop
; nobody's wait is over: is it the same wait as before, and has nobody changed an mbarrier since?
failed:
  %k0 = mul i64 %u, -7046029254386353131
  %mask64 = zext i32 %mask to i64
  %code64 = zext i32 %code to i64
  %code.s = shl i64 %code64, 32
  %k1 = or i64 %code.s, %mask64
  %key = xor i64 %k0, %k1
  %ps = getelementptr i8, ptr %ck, i64 ${POLLED}
  %w2 = shl i32 %warp, 1
  %p.p = getelementptr i64, ptr %ps, i32 %w2
  %n.p = getelementptr i8, ptr %p.p, i64 8
  %last = load i64, ptr %p.p
  store i64 %key, ptr %p.p
  %same = icmp eq i64 %last, %key
  %n = load i64, ptr %n.p
  %n.up = add i64 %n, 1
  %n1 = select i1 %same, i64 %n.up, i64 0
  store i64 %n1, ptr %n.p
  %low = and i64 %n1, 255
  %now = icmp eq i64 %low, 0
  br i1 %now, label %tell, label %fine
tell:
  %f.p = getelementptr i8, ptr %ctx, i64 ${PHASES}
  %f = load ptr, ptr %f.p
  %r = call i32 %f(ptr %cta, i32 %warp, i32 %mask, i32 %code, i32 0, i64 0, ptr %addrs, ptr %xs, ptr %before, ptr %after)
  %ok = icmp eq i32 %r, 0
  br i1 %ok, label %fine, label %stuck
stuck:
  %first = call i32 @llvm.cttz.i32(i32 %mask, i1 false)
  call void @record(ptr %ctx, ptr %ws, i32 ${DEADLOCK}, i32 %code, i32 %first, i64 0)
  ret i32 1
fine:
  ret i32 0
}

; An operation that a lane cannot do, and why. The lanes below it have done theirs.
define internal void @phases.refused(ptr %ctx, ptr %cta, ptr %ws, i32 %mask, i32 %lane, i64 %which, i32 %code, ptr %addrs, ptr %xs, ptr %before, ptr %after) noinline nounwind {
  %wp = getelementptr i8, ptr %ws, i64 ${WARP_ID}
  %warp = load i32, ptr %wp
  %f.p = getelementptr i8, ptr %ctx, i64 ${PHASES}
  %f = load ptr, ptr %f.p
  %bit = shl i32 1, %lane
  %below = sub i32 %bit, 1
  %done = and i32 %mask, %below
  %r = call i32 %f(ptr %cta, i32 %warp, i32 %done, i32 %code, i32 %lane, i64 %which, ptr %addrs, ptr %xs, ptr %before, ptr %after)
  ret void
}
