; The compiled loop over CTAs, warps and barriers: one call a worker thread runs until the grid is done.
;
;     for each CTA (taken from a counter that all workers share):
;         give every warp that can run a turn: fast while it is together, slow while it is apart
;         open each barrier that every warp has come to
;         when nothing can run: the CTA has ended, or it waits for ever
;
; All of its state lies in the context, so that it can be called again where it left off: after the slow function has been
; compiled, which is done when a warp splits for the first time, and after a slot for one more CTA has been made. A worker
; has one CTA at work, until that does not end by itself: then more are admitted and take turns, so that a block which
; waits for a later one gets to see it.

; Whether the phase that each spinning lane asks for has still not ended; lanes that wait for something else do not count.
define internal i1 @stuck(ptr %states, i64 %warps) noinline nounwind {
entry:
  br label %warp
warp:
  %w = phi i64 [0, %entry], [%w1, %warp.next]
  %more = icmp ult i64 %w, %warps
  br i1 %more, label %look, label %yes
look:
  %ws.o = mul i64 %w, ${STATE_SIZE}
  %ws = getelementptr i8, ptr %states, i64 %ws.o
  %live.p = getelementptr i8, ptr %ws, i64 ${LIVE}
  %live = load i32, ptr %live.p
  %wait.p = getelementptr i8, ptr %ws, i64 ${WAIT}
  %wait = load i32, ptr %wait.p
  %wait.not = xor i32 %wait, -1
  %spins = and i32 %live, %wait.not
  %ats = getelementptr i8, ptr %ws, i64 ${SPIN_AT}
  %fors = getelementptr i8, ptr %ws, i64 ${SPIN_FOR}
  br label %lane
lane:
  %left = phi i32 [%spins, %look], [%rest, %ask]
  %none = icmp eq i32 %left, 0
  br i1 %none, label %warp.next, label %ask
ask:
  %k = call i32 @llvm.cttz.i32(i32 %left, i1 false)
  %left1 = sub i32 %left, 1
  %rest = and i32 %left, %left1
  %k64 = zext i32 %k to i64
  %at.p = getelementptr ptr, ptr %ats, i64 %k64
  %at = load ptr, ptr %at.p
  %for.p = getelementptr i64, ptr %fors, i64 %k64
  %for = load i64, ptr %for.p
  %word = load i64, ptr %at
  %differ = xor i64 %word, %for
  %over = icmp slt i64 %differ, 0
  br i1 %over, label %no, label %lane
warp.next:
  %w1 = add i64 %w, 1
  br label %warp
yes:
  ret i1 true
no:
  ret i1 false
}

define i32 @grid(ptr %ctx) nounwind {
entry:
  %cta.p = getelementptr i8, ptr %ctx, i64 ${CTA}
  %next.p = getelementptr i8, ptr %ctx, i64 ${NEXT}
  %next = load ptr, ptr %next.p
  %stop.p = getelementptr i8, ptr %ctx, i64 ${STOP}
  %stop = load ptr, ptr %stop.p
  %budget.p = getelementptr i8, ptr %ctx, i64 ${BUDGET}
  %budget = load ptr, ptr %budget.p
  %total.p = getelementptr i8, ptr %ctx, i64 ${TOTAL}
  %total = load i64, ptr %total.p
  %warps.p = getelementptr i8, ptr %ctx, i64 ${WARPS}
  %warps = load i64, ptr %warps.p
  %order.p = getelementptr i8, ptr %ctx, i64 ${ORDER}
  %order = load ptr, ptr %order.p
  %quantum.p = getelementptr i8, ptr %ctx, i64 ${QUANTUM}
  %qsize.p = getelementptr i8, ptr %ctx, i64 ${QUANTUM_SIZE}
  %slow.p = getelementptr i8, ptr %ctx, i64 ${SLOW}
  %slots.p = getelementptr i8, ptr %ctx, i64 ${SLOTS}
  %slots = load ptr, ptr %slots.p
  %slot.count.p = getelementptr i8, ptr %ctx, i64 ${SLOT_COUNT}
  %slot.count = load i64, ptr %slot.count.p
  %slot.p = getelementptr i8, ptr %ctx, i64 ${SLOT}
  %suspensions.p = getelementptr i8, ptr %ctx, i64 ${SUSPENSIONS}
  %slot.limit.p = getelementptr i8, ptr %ctx, i64 ${SLOT_LIMIT}
  %slot.limit = load i64, ptr %slot.limit.p
  %random.p = getelementptr i8, ptr %ctx, i64 ${RANDOM}
  br label %select

; the CTA that this worker looks at now
select:
  %cta = load ptr, ptr %cta.p
  %at.p = getelementptr i8, ptr %cta, i64 ${WARP_AT}
  %active.p = getelementptr i8, ptr %cta, i64 ${ACTIVE}
  %states.p = getelementptr i8, ptr %cta, i64 ${WARP_STATES}
  %states = load ptr, ptr %states.p
  %active = load i32, ptr %active.p
  %resume = icmp ne i32 %active, 0
  br i1 %resume, label %turn, label %take

; another resident CTA's turn; all sites forget what they know, since shared memory is another's now
rotate:
  call void @forget(ptr %ctx)
  %slot.now = load i64, ptr %slot.p
  br label %rotate.look
rotate.look:
  %tried = phi i64 [0, %rotate], [%tried1, %rotate.next]
  %slot.old = phi i64 [%slot.now, %rotate], [%slot.new, %rotate.next]
  %slot.inc = add i64 %slot.old, 1
  %slot.new = urem i64 %slot.inc, %slot.count
  %tried1 = add i64 %tried, 1
  %slot.e = getelementptr ptr, ptr %slots, i64 %slot.new
  %slot.cta = load ptr, ptr %slot.e
  %slot.active = load i32, ptr %slot.cta
  %slot.is = icmp ne i32 %slot.active, 0
  br i1 %slot.is, label %rotated, label %rotate.next
rotate.next:
  %all.tried = icmp uge i64 %tried1, %slot.count
  br i1 %all.tried, label %finished, label %rotate.look
rotated:
  store i64 %slot.new, ptr %slot.p
  store ptr %slot.cta, ptr %cta.p
  br label %select

take:
  %halt = load volatile i32, ptr %stop
  %halted = icmp ne i32 %halt, 0
  br i1 %halted, label %stopped, label %take.go
take.go:
  %ticket = atomicrmw add ptr %next, i64 1 seq_cst
  %more = icmp ult i64 %ticket, %total
  br i1 %more, label %pick, label %rotate
pick:
  %blocks.p = getelementptr i8, ptr %ctx, i64 ${BLOCK_ORDER}
  %blocks = load ptr, ptr %blocks.p
  %in.order = icmp eq ptr %blocks, null
  br i1 %in.order, label %start, label %drawn
drawn:
  %drawn.p = getelementptr i64, ptr %blocks, i64 %ticket
  %drawn.n = load i64, ptr %drawn.p
  br label %start
finished:
  ret i32 ${DONE}
stopped:
  ret i32 ${STOPPED}

start:
  %n = phi i64 [%ticket, %pick], [%drawn.n, %drawn]
  %linear.p = getelementptr i8, ptr %cta, i64 ${LINEAR}
  store i64 %n, ptr %linear.p
  %gx.p = getelementptr i8, ptr %ctx, i64 ${GRID}
  %gx32 = load i32, ptr %gx.p
  %gx = zext i32 %gx32 to i64
  %gy.p = getelementptr i8, ptr %ctx, i64 ${GRID_Y}
  %gy32 = load i32, ptr %gy.p
  %gy = zext i32 %gy32 to i64
  %x = urem i64 %n, %gx
  %rest = udiv i64 %n, %gx
  %y = urem i64 %rest, %gy
  %z = udiv i64 %rest, %gy
  %x32 = trunc i64 %x to i32
  %y32 = trunc i64 %y to i32
  %z32 = trunc i64 %z to i32
  %cx = getelementptr i8, ptr %cta, i64 ${CTAID}
  store i32 %x32, ptr %cx
  %cy = getelementptr i8, ptr %cta, i64 ${CTAID_Y}
  store i32 %y32, ptr %cy
  %cz = getelementptr i8, ptr %cta, i64 ${CTAID_Z}
  store i32 %z32, ptr %cz
  %shared.p = getelementptr i8, ptr %cta, i64 ${SHARED}
  %shared = load ptr, ptr %shared.p
  %shared.size.p = getelementptr i8, ptr %cta, i64 ${SHARED_SIZE}
  %shared.size = load i64, ptr %shared.size.p
  call void @llvm.memset.p0.i64(ptr %shared, i8 ${POISON}, i64 %shared.size, i1 false)
  %counts.p = getelementptr i8, ptr %cta, i64 ${BAR_COUNT}
  call void @llvm.memset.p0.i64(ptr %counts.p, i8 0, i64 256, i1 false)
  %local.p = getelementptr i8, ptr %cta, i64 ${CTA_LOCAL}
  %local = load ptr, ptr %local.p
  %local.size.p = getelementptr i8, ptr %cta, i64 ${CTA_LOCAL_SIZE}
  %local.size = load i64, ptr %local.size.p
  call void @llvm.memset.p0.i64(ptr %local, i8 ${POISON}, i64 %local.size, i1 false)
  store i32 1, ptr %active.p
${STARTED}
  br label %init
init:
  %i = phi i64 [0, %start], [%i1, %init]
  %i.off = mul i64 %i, ${STATE_SIZE}
  %i.ws = getelementptr i8, ptr %states, i64 %i.off
  store <32 x i32> splat (i32 ${ENTRY}), ptr %i.ws, align 64
  %i.first.p = getelementptr i8, ptr %i.ws, i64 ${FIRST_LIVE}
  %i.first = load i32, ptr %i.first.p
  %i.live.p = getelementptr i8, ptr %i.ws, i64 ${LIVE}
  store i32 %i.first, ptr %i.live.p
  %i.rest.p = getelementptr i8, ptr %i.ws, i64 ${WAIT}
  call void @llvm.memset.p0.i64(ptr %i.rest.p, i8 0, i64 16, i1 false)
  %i.fast.p = getelementptr i8, ptr %i.ws, i64 ${FAST_PC}
  store i32 ${ENTRY}, ptr %i.fast.p
  %i.turn.p = getelementptr i8, ptr %i.ws, i64 ${TURN_LEFT}
  call void @llvm.memset.p0.i64(ptr %i.turn.p, i8 0, i64 12, i1 false)
  %i.carry.p = getelementptr i8, ptr %i.ws, i64 ${CARRY}
  store i32 0, ptr %i.carry.p
  %i.spins.p = getelementptr i8, ptr %i.ws, i64 ${SPINS}
  store i32 0, ptr %i.spins.p
  %i.bar.p = getelementptr i8, ptr %i.ws, i64 ${BAR}
  call void @llvm.memset.p0.i64(ptr %i.bar.p, i8 0, i64 128, i1 false)
  %i.meet.p = getelementptr i8, ptr %i.ws, i64 ${MEETING}
  call void @llvm.memset.p0.i64(ptr %i.meet.p, i8 0, i64 128, i1 false)
${ZERO_REGISTERS}
${TRACED}
  %i1 = add i64 %i, 1
  %i.more = icmp ult i64 %i1, %warps
  br i1 %i.more, label %init, label %pass

pass:
  store i64 0, ptr %at.p
  %rnd = load i64, ptr %random.p
  %rnd.on = icmp ne i64 %rnd, 0
  br i1 %rnd.on, label %shuffle, label %turn

; with a seed: the warps in another order for every round
shuffle:
  %sh.i = phi i64 [%warps, %pass], [%sh.i1, %swap]
  %sh.r = phi i64 [%rnd, %pass], [%sh.r3, %swap]
  %sh.more = icmp ugt i64 %sh.i, 1
  br i1 %sh.more, label %swap, label %shuffled
swap:
  %sh.a = shl i64 %sh.r, 13
  %sh.r1 = xor i64 %sh.r, %sh.a
  %sh.b = lshr i64 %sh.r1, 7
  %sh.r2 = xor i64 %sh.r1, %sh.b
  %sh.c = shl i64 %sh.r2, 17
  %sh.r3 = xor i64 %sh.r2, %sh.c
  %sh.j = urem i64 %sh.r3, %sh.i
  %sh.i1 = sub i64 %sh.i, 1
  %sh.p = getelementptr i32, ptr %order, i64 %sh.i1
  %sh.q = getelementptr i32, ptr %order, i64 %sh.j
  %sh.x = load i32, ptr %sh.p
  %sh.y = load i32, ptr %sh.q
  store i32 %sh.y, ptr %sh.p
  store i32 %sh.x, ptr %sh.q
  br label %shuffle
shuffled:
  store i64 %sh.r, ptr %random.p
  br label %turn

; one turn of the warp at position %w of the order
turn:
  %w = load i64, ptr %at.p
  %w.more = icmp ult i64 %w, %warps
  br i1 %w.more, label %turn.go, label %opening
turn.go:
  %wn.p = getelementptr i32, ptr %order, i64 %w
  %wn = load i32, ptr %wn.p
  %wn64 = zext i32 %wn to i64
  %ws.off = mul i64 %wn64, ${STATE_SIZE}
  %ws = getelementptr i8, ptr %states, i64 %ws.off
  %live.p = getelementptr i8, ptr %ws, i64 ${LIVE}
  %live = load i32, ptr %live.p
  %wait.p = getelementptr i8, ptr %ws, i64 ${WAIT}
  %wait = load i32, ptr %wait.p
  %wait.not = xor i32 %wait, -1
  %can = and i32 %live, %wait.not
  %idle = icmp eq i32 %can, 0
  br i1 %idle, label %following, label %run
following:
  %w1 = add i64 %w, 1
  store i64 %w1, ptr %at.p
  br label %turn
run:
  %mode.p = getelementptr i8, ptr %ws, i64 ${MODE}
  %mode = load i32, ptr %mode.p
  %apart = icmp ne i32 %mode, 0
  br i1 %apart, label %run.slow, label %run.fast
run.fast:
  %r.fast = call i32 @fast(ptr %ctx, ptr %cta, ptr %ws)
  br label %ran
run.slow:
  %slow = load ptr, ptr %slow.p
  %has.slow = icmp ne ptr %slow, null
  br i1 %has.slow, label %run.slow.go, label %needs.slow
needs.slow:
  ret i32 ${NEEDS_SLOW}
run.slow.go:
  %r.slow = call i32 %slow(ptr %ctx, ptr %cta, ptr %ws)
  br label %ran
ran:
  %r = phi i32 [%r.fast, %run.fast], [%r.slow, %run.slow.go]
  switch i32 %r, label %fault [i32 ${DONE}, label %following i32 ${SUSPENDED}, label %suspended
    i32 ${DIVERGED}, label %diverged i32 ${CONVERGED}, label %converged]
diverged:
  store i32 1, ptr %mode.p
  br label %run
converged:
  store i32 0, ptr %mode.p
  br label %run
fault:
  store volatile i32 1, ptr %stop
  ret i32 ${FAULT}

; the quantum is spent: is the launch to stop, has it used its budget?
suspended:
  %q.left = load i64, ptr %quantum.p
  %q.size = load i64, ptr %qsize.p
  %q.used = sub i64 %q.size, %q.left
  store i64 %q.size, ptr %quantum.p
  %clock.p = getelementptr i8, ptr %ctx, i64 ${CLOCK}
  %clock = load i64, ptr %clock.p
  %clock1 = add i64 %clock, %q.used
  store i64 %clock1, ptr %clock.p
  %b.old = atomicrmw sub ptr %budget, i64 %q.used seq_cst
  %b.gone = icmp slt i64 %b.old, %q.used
  br i1 %b.gone, label %spent, label %poll
spent:
  %s.live = load i32, ptr %live.p
  %s.lane = call i32 @llvm.cttz.i32(i32 %s.live, i1 false)
  %s.mode = load i32, ptr %mode.p
  %s.slow = icmp ne i32 %s.mode, 0
  %s.fpc.p = getelementptr i8, ptr %ws, i64 ${FAST_PC}
  %s.fpc = load i32, ptr %s.fpc.p
  %s.lane64 = zext i32 %s.lane to i64
  %s.pc.p = getelementptr i32, ptr %ws, i64 %s.lane64
  %s.pc0 = load i32, ptr %s.pc.p
  %s.pc2 = select i1 %s.slow, i32 %s.pc0, i32 %s.fpc
  %s.pc = lshr i32 %s.pc2, 1
  call void @record(ptr %ctx, ptr %ws, i32 ${BUDGET_SPENT}, i32 %s.pc, i32 %s.lane, i64 0)
  br label %fault
poll:
  %p.halt = load volatile i32, ptr %stop
  %p.halted = icmp ne i32 %p.halt, 0
  br i1 %p.halted, label %stopped, label %next.quantum

; with a seed: quanta of random length
next.quantum:
  %n.rnd = load i64, ptr %random.p
  %n.on = icmp ne i64 %n.rnd, 0
  br i1 %n.on, label %draw, label %patience
draw:
  %n.a = shl i64 %n.rnd, 13
  %n.r1 = xor i64 %n.rnd, %n.a
  %n.b = lshr i64 %n.r1, 7
  %n.r2 = xor i64 %n.r1, %n.b
  %n.c = shl i64 %n.r2, 17
  %n.r3 = xor i64 %n.r2, %n.c
  store i64 %n.r3, ptr %random.p
  %n.low = and i64 %n.r3, 255
  store i64 %n.low, ptr %quantum.p
  store i64 %n.low, ptr %qsize.p
  br label %patience
patience:
  %w.on = add i64 %w, 1
  store i64 %w.on, ptr %at.p
  %sus = load i64, ptr %suspensions.p
  %sus1 = add i64 %sus, 1
  store i64 %sus1, ptr %suspensions.p
  %sus.mask = select i1 %n.on, i64 0, i64 15
  %sus.low = and i64 %sus1, %sus.mask
  %sus.long = icmp eq i64 %sus.low, 0
  %taken = load volatile i64, ptr %next
  %left.some = icmp ult i64 %taken, %total
  %slot.room = icmp ult i64 %slot.count, %slot.limit
  %admit0 = and i1 %sus.long, %left.some
  %admit = and i1 %admit0, %slot.room
  br i1 %admit, label %needs.slot, label %share
needs.slot:
  ret i32 ${NEEDS_SLOT}
share:
  %alone = icmp eq i64 %slot.count, 1
  br i1 %alone, label %turn, label %rotate

; after a round: open barriers, and see whether anything is left to run
opening:
  br label %census
census:
  %c = phi i64 [0, %opening], [%c1, %census.next]
  %alive = phi i32 [0, %opening], [%alive2, %census.next]
  %runs = phi i32 [0, %opening], [%runs2, %census.next]
  %waits = phi i32 [0, %opening], [%waits2, %census.next]
  %free = phi i32 [0, %opening], [%free2, %census.next]
  %c.more = icmp ult i64 %c, %warps
  br i1 %c.more, label %census.go, label %judge
census.go:
  %c.off = mul i64 %c, ${STATE_SIZE}
  %c.ws = getelementptr i8, ptr %states, i64 %c.off
  %c.live.p = getelementptr i8, ptr %c.ws, i64 ${LIVE}
  %c.live = load i32, ptr %c.live.p
  %c.wait.p = getelementptr i8, ptr %c.ws, i64 ${WAIT}
  %c.wait = load i32, ptr %c.wait.p
  %c.alive = icmp ne i32 %c.live, 0
  %c.stuck0 = icmp eq i32 %c.live, %c.wait
  %c.stuck = and i1 %c.alive, %c.stuck0
  %c.spins.p = getelementptr i8, ptr %c.ws, i64 ${SPINS}
  %c.spins = load i32, ptr %c.spins.p
  %c.held = or i32 %c.wait, %c.spins
  %c.held.not = xor i32 %c.held, -1
  %c.free = and i32 %c.live, %c.held.not
  %c.move0 = xor i1 %c.stuck0, true
  %c.move = and i1 %c.alive, %c.move0
  br label %census.next
census.next:
  %c.alive1 = zext i1 %c.alive to i32
  %alive2 = add i32 %alive, %c.alive1
  %c.move1 = zext i1 %c.move to i32
  %runs2 = add i32 %runs, %c.move1
  %c.stuck1 = zext i1 %c.stuck to i32
  %waits2 = add i32 %waits, %c.stuck1
  %free2 = or i32 %free, %c.free
  %c1 = add i64 %c, 1
  br label %census
judge:
  %none = icmp eq i32 %alive, 0
  br i1 %none, label %ended, label %judge.waits
ended:
  store i32 0, ptr %active.p
  %finished.p = getelementptr i8, ptr %ctx, i64 ${FINISHED}
  %finished.n = load i64, ptr %finished.p
  %finished.n1 = add i64 %finished.n, 1
  store i64 %finished.n1, ptr %finished.p
  br label %take
judge.waits:
  %no.waits = icmp eq i32 %waits, 0
  br i1 %no.waits, label %quiet, label %barrier

; barrier by barrier: how many warps have come whole to it
barrier:
  %b = phi i64 [0, %judge.waits], [%b1, %barrier.next]
  %opened = phi i32 [0, %judge.waits], [%opened2, %barrier.next]
  %b.more = icmp ult i64 %b, 16
  br i1 %b.more, label %count, label %opened.all
count:
  %k = phi i64 [0, %barrier], [%k1, %count.go]
  %came = phi i32 [0, %barrier], [%came2, %count.go]
  %k.more = icmp ult i64 %k, %warps
  br i1 %k.more, label %count.go, label %counted
count.go:
  %k.off = mul i64 %k, ${STATE_SIZE}
  %k.ws = getelementptr i8, ptr %states, i64 %k.off
  %k.live.p = getelementptr i8, ptr %k.ws, i64 ${LIVE}
  %k.live = load i32, ptr %k.live.p
  %k.bars = getelementptr i8, ptr %k.ws, i64 ${BAR}
  %k.bar.p = getelementptr i32, ptr %k.bars, i64 %b
  %k.bar = load i32, ptr %k.bar.p
  %k.whole0 = icmp eq i32 %k.bar, %k.live
  %k.some = icmp ne i32 %k.live, 0
  %k.whole = and i1 %k.whole0, %k.some
  %k.one = zext i1 %k.whole to i32
  %came2 = add i32 %came, %k.one
  %k1 = add i64 %k, 1
  br label %count
counted:
  %b.count.base = getelementptr i8, ptr %cta, i64 ${BAR_COUNT}
  %b.count.p = getelementptr i32, ptr %b.count.base, i64 %b
  %b.count = load i32, ptr %b.count.p
  %b.given = icmp ne i32 %b.count, 0
  %b.want0 = lshr i32 %b.count, 5
  %b.want = select i1 %b.given, i32 %b.want0, i32 %alive
  %b.arrived.base = getelementptr i8, ptr %cta, i64 ${BAR_ARRIVED}
  %b.arrived.p = getelementptr i32, ptr %b.arrived.base, i64 %b
  %b.arrived = load i32, ptr %b.arrived.p
  %b.total = add i32 %came, %b.arrived
  %b.yes.base = getelementptr i8, ptr %cta, i64 ${BAR_YES}
  %b.yes.p = getelementptr i32, ptr %b.yes.base, i64 %b
  %b.yes = load i32, ptr %b.yes.p
  %b.asked.base = getelementptr i8, ptr %cta, i64 ${BAR_ASKED}
  %b.asked.p = getelementptr i32, ptr %b.asked.base, i64 %b
  %b.asked = load i32, ptr %b.asked.p
  %b.enough = icmp uge i32 %b.total, %b.want
  %b.any = icmp ne i32 %came, 0
  %b.open = and i1 %b.enough, %b.any
  br i1 %b.open, label %opens, label %barrier.next
opens:
  %b.over = icmp ugt i32 %b.total, %b.want
${OPENED}
  br label %release
release:
  %f = phi i64 [0, %opens], [%f1, %release.next]
  %f.more = icmp ult i64 %f, %warps
  br i1 %f.more, label %release.go, label %released
release.go:
  %f.off = mul i64 %f, ${STATE_SIZE}
  %f.ws = getelementptr i8, ptr %states, i64 %f.off
  %f.live.p = getelementptr i8, ptr %f.ws, i64 ${LIVE}
  %f.live = load i32, ptr %f.live.p
  %f.bars = getelementptr i8, ptr %f.ws, i64 ${BAR}
  %f.bar.p = getelementptr i32, ptr %f.bars, i64 %b
  %f.bar = load i32, ptr %f.bar.p
  %f.here0 = icmp eq i32 %f.bar, %f.live
  %f.here1 = icmp ne i32 %f.live, 0
  %f.here = and i1 %f.here0, %f.here1
  br i1 %f.here, label %let.go, label %release.next
let.go:
  store i32 0, ptr %f.bar.p
  %f.wait.p = getelementptr i8, ptr %f.ws, i64 ${WAIT}
  store i32 0, ptr %f.wait.p
  %f.yes.p = getelementptr i8, ptr %f.ws, i64 ${YES}
  store i32 %b.yes, ptr %f.yes.p
  %f.asked.p = getelementptr i8, ptr %f.ws, i64 ${ASKED}
  store i32 %b.asked, ptr %f.asked.p
  br label %release.next
release.next:
  %f1 = add i64 %f, 1
  br label %release
released:
  store i32 0, ptr %b.count.p
  store i32 0, ptr %b.arrived.p
  store i32 0, ptr %b.yes.p
  store i32 0, ptr %b.asked.p
  br label %barrier.next
barrier.next:
  %opened2 = phi i32 [%opened, %counted], [1, %released]
  %b1 = add i64 %b, 1
  br label %barrier
opened.all:
  %some.opened = icmp ne i32 %opened, 0
  br i1 %some.opened, label %pass, label %judge.runs
judge.runs:
  %some.run = icmp ne i32 %runs, 0
  br i1 %some.run, label %quiet, label %deadlock
; no barrier has opened: do all that could run only wait for mbarriers, whose phases have not ended?
quiet:
  %calm = icmp eq i32 %free, 0
  br i1 %calm, label %spinning, label %pass
spinning:
  %endless = call i1 @stuck(ptr %states, i64 %warps)
  br i1 %endless, label %deadlock, label %pass
deadlock:
  call void @record(ptr %ctx, ptr %states, i32 ${DEADLOCK}, i32 0, i32 0, i64 0)
  br label %fault
}
