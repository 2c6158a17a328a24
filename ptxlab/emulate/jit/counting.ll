; What counted code calls out of line: how many sectors or wavefronts 32 addresses need. The model is that of
; `ptxlab.emulate.rules.counting`. Each result is a pair: what is needed, and what would be at best.

; Distinct sectors of 32 bytes among the addresses of the lanes in %mask, which access %size bytes each.
define internal <2 x i64> @count.sectors(<32 x i64> %addr, i64 %extra, i32 %mask, i64 %size) noinline nounwind {
entry:
  %all = alloca <32 x i64>, align 64
  %e0 = insertelement <32 x i64> poison, i64 %extra, i64 0
  %e1 = shufflevector <32 x i64> %e0, <32 x i64> poison, <32 x i32> zeroinitializer
  %at = add <32 x i64> %addr, %e1
  %v = lshr <32 x i64> %at, splat (i64 5)
  store <32 x i64> %v, ptr %all, align 64
  br label %loop
loop:
  %left = phi i32 [%mask, %entry], [%rest, %body]
  %n = phi i64 [0, %entry], [%n1, %body]
  %done = icmp eq i32 %left, 0
  br i1 %done, label %finish, label %body
body:
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 false)
  %lane64 = zext i32 %lane to i64
  %xp = getelementptr i64, ptr %all, i64 %lane64
  %x = load i64, ptr %xp
  %x0 = insertelement <32 x i64> poison, i64 %x, i64 0
  %x1 = shufflevector <32 x i64> %x0, <32 x i64> poison, <32 x i32> zeroinitializer
  %same.v = icmp eq <32 x i64> %v, %x1
  %same = bitcast <32 x i1> %same.v to i32
  %other = xor i32 %same, -1
  %rest = and i32 %left, %other
  %n1 = add i64 %n, 1
  br label %loop
finish:
  %lanes = call i32 @llvm.ctpop.i32(i32 %mask)
  %lanes64 = zext i32 %lanes to i64
  %bytes = mul i64 %lanes64, %size
  %up = add i64 %bytes, 31
  %best0 = lshr i64 %up, 5
  %over = icmp ult i64 %n, %best0
  %best = select i1 %over, i64 %n, i64 %best0
  %r0 = insertelement <2 x i64> poison, i64 %n, i64 0
  %r1 = insertelement <2 x i64> %r0, i64 %best, i64 1
  ret <2 x i64> %r1
}

; How many groups of %per lanes (8, 16 or 32) have a lane in %mask.
define internal i64 @count.groups(i32 %mask, i32 %per) nounwind {
  %a = and i32 %mask, 255
  %b = and i32 %mask, 65280
  %c = and i32 %mask, 16711680
  %d = and i32 %mask, -16777216
  %a1 = icmp ne i32 %a, 0
  %b1 = icmp ne i32 %b, 0
  %c1 = icmp ne i32 %c, 0
  %d1 = icmp ne i32 %d, 0
  %ab = or i1 %a1, %b1
  %cd = or i1 %c1, %d1
  %any = or i1 %ab, %cd
  %a2 = zext i1 %a1 to i64
  %b2 = zext i1 %b1 to i64
  %c2 = zext i1 %c1 to i64
  %d2 = zext i1 %d1 to i64
  %ab2 = zext i1 %ab to i64
  %cd2 = zext i1 %cd to i64
  %one = zext i1 %any to i64
  %two = add i64 %ab2, %cd2
  %s0 = add i64 %a2, %b2
  %s1 = add i64 %c2, %d2
  %four = add i64 %s0, %s1
  %is8 = icmp eq i32 %per, 8
  %is16 = icmp eq i32 %per, 16
  %r0 = select i1 %is16, i64 %two, i64 %one
  %r = select i1 %is8, i64 %four, i64 %r0
  ret i64 %r
}

; Wavefronts of shared memory. In each round every bank serves one of the words that are asked of it: the table holds one
; place for each bank of each group of lanes, and a lane whose word is found there is served. %memo holds the last question
; and its answer: addresses relative to the first, the mask, the result. %pairs: groups may be twice as large.
define internal <2 x i64> @count.banks(ptr %memo, <32 x i32> %off, i32 %mask, i32 %size, i32 %pairs) noinline nounwind {
entry:
  %table = alloca <32 x i32>, align 64
  store <32 x i32> %off, ptr %table, align 64
  %lead = call i32 @llvm.cttz.i32(i32 %mask, i1 false)
  %lead31 = and i32 %lead, 31
  %lead64 = zext i32 %lead31 to i64
  %first.p = getelementptr i32, ptr %table, i64 %lead64
  %first0 = load i32, ptr %first.p
  %first = and i32 %first0, -4
  %f0 = insertelement <32 x i32> poison, i32 %first, i64 0
  %f1 = shufflevector <32 x i32> %f0, <32 x i32> poison, <32 x i32> zeroinitializer
  %rel0 = sub <32 x i32> %off, %f1
  %mask.v = bitcast i32 %mask to <32 x i1>
  %rel = select <32 x i1> %mask.v, <32 x i32> %rel0, <32 x i32> zeroinitializer
  %key = load <32 x i32>, ptr %memo, align 64
  %differ.v = icmp ne <32 x i32> %key, %rel
  %differ = bitcast <32 x i1> %differ.v to i32
  %key.mask.p = getelementptr i8, ptr %memo, i64 128
  %key.mask = load i32, ptr %key.mask.p
  %other = xor i32 %key.mask, %mask
  %new = or i32 %differ, %other
  %memo.r = getelementptr i8, ptr %memo, i64 144
  %known = icmp eq i32 %new, 0
  br i1 %known, label %recall, label %work
recall:
  %old = load <2 x i64>, ptr %memo.r, align 16
  ret <2 x i64> %old
work:
  %small = icmp ult i32 %size, 4
  %size4 = select i1 %small, i32 4, i32 %size
  %shift = call i32 @llvm.cttz.i32(i32 %size4, i1 false)
  %banks = lshr i32 128, %shift
  %banks1 = sub i32 %banks, 1
  %s0 = insertelement <32 x i32> poison, i32 %shift, i64 0
  %s1 = shufflevector <32 x i32> %s0, <32 x i32> poison, <32 x i32> zeroinitializer
  %word = lshr <32 x i32> %rel, %s1
  %swap1 = shufflevector <32 x i32> %word, <32 x i32> poison, <32 x i32> ${SWAP1}
  %swap2 = shufflevector <32 x i32> %word, <32 x i32> poison, <32 x i32> ${SWAP2}
  %there1 = shufflevector <32 x i1> %mask.v, <32 x i1> poison, <32 x i32> ${SWAP1}
  %there2 = shufflevector <32 x i1> %mask.v, <32 x i1> poison, <32 x i32> ${SWAP2}
  %ne1 = icmp ne <32 x i32> %word, %swap1
  %ne2 = icmp ne <32 x i32> %word, %swap2
  %both1 = and <32 x i1> %mask.v, %there1
  %both2 = and <32 x i1> %mask.v, %there2
  %bad1.v = and <32 x i1> %ne1, %both1
  %bad2.v = and <32 x i1> %ne2, %both2
  %bad1 = bitcast <32 x i1> %bad1.v to i32
  %bad2 = bitcast <32 x i1> %bad2.v to i32
  %ok1 = icmp eq i32 %bad1, 0
  %ok2 = icmp eq i32 %bad2, 0
  %agree = or i1 %ok1, %ok2
  %may = icmp ne i32 %pairs, 0
  %wide = icmp ugt i32 %size, 4
  %grow0 = and i1 %may, %wide
  %grow = and i1 %grow0, %agree
  %grow32 = zext i1 %grow to i32
  %per = shl i32 %banks, %grow32
  %per.neg = sub i32 0, %per
  %p0 = insertelement <32 x i32> poison, i32 %per.neg, i64 0
  %p1 = shufflevector <32 x i32> %p0, <32 x i32> poison, <32 x i32> zeroinitializer
  %b0 = insertelement <32 x i32> poison, i32 %banks1, i64 0
  %b1 = shufflevector <32 x i32> %b0, <32 x i32> poison, <32 x i32> zeroinitializer
  %group = and <32 x i32> ${LANES}, %p1
  %bank = and <32 x i32> %word, %b1
  %place = or <32 x i32> %group, %bank
  %place64 = zext <32 x i32> %place to <32 x i64>
  %cell = getelementptr i32, ptr %table, <32 x i64> %place64
  %best = call i64 @count.groups(i32 %mask, i32 %per)
  br label %round
round:
  %left = phi i32 [%mask, %work], [%rest, %round]
  %n = phi i64 [0, %work], [%n1, %round]
  %groups = call i64 @count.groups(i32 %left, i32 %per)
  %n1 = add i64 %n, %groups
  %left.v = bitcast i32 %left to <32 x i1>
  call void @llvm.masked.scatter.v32i32.v32p0(<32 x i32> %word, <32 x ptr> align 4 %cell, <32 x i1> %left.v)
  %in = call <32 x i32> @llvm.masked.gather.v32i32.v32p0(<32 x ptr> align 4 %cell, <32 x i1> %left.v, <32 x i32> zeroinitializer)
  %served.v = icmp eq <32 x i32> %in, %word
  %served = bitcast <32 x i1> %served.v to i32
  %not = xor i32 %served, -1
  %rest = and i32 %left, %not
  %more = icmp ne i32 %rest, 0
  br i1 %more, label %round, label %answer
answer:
  %r0 = insertelement <2 x i64> poison, i64 %n1, i64 0
  %r1 = insertelement <2 x i64> %r0, i64 %best, i64 1
  store <32 x i32> %rel, ptr %memo, align 64
  store i32 %mask, ptr %key.mask.p
  store <2 x i64> %r1, ptr %memo.r, align 16
  ret <2 x i64> %r1
}

; Whether the lanes of %mask have different values: 1 or 0.
define internal i64 @count.differ(<32 x i32> %v, i32 %mask) noinline nounwind {
  %lead = call i32 @llvm.cttz.i32(i32 %mask, i1 false)
  %lead31 = and i32 %lead, 31
  %x = extractelement <32 x i32> %v, i32 %lead31
  %x0 = insertelement <32 x i32> poison, i32 %x, i64 0
  %x1 = shufflevector <32 x i32> %x0, <32 x i32> poison, <32 x i32> zeroinitializer
  %other.v = icmp ne <32 x i32> %v, %x1
  %other = bitcast <32 x i1> %other.v to i32
  %bad = and i32 %other, %mask
  %is = icmp ne i32 %bad, 0
  %r = zext i1 %is to i64
  ret i64 %r
}

; Adds a request of %bytes bytes and what it needs to a record: at %p requests and bytes, at %p + 16 the pair.
define internal void @count.add(ptr %p, i64 %bytes, <2 x i64> %need) nounwind {
  %one0 = insertelement <2 x i64> poison, i64 1, i64 0
  %one = insertelement <2 x i64> %one0, i64 %bytes, i64 1
  %a = load <2 x i64>, ptr %p, align 16
  %a1 = add <2 x i64> %a, %one
  store <2 x i64> %a1, ptr %p, align 16
  %q = getelementptr i8, ptr %p, i64 16
  %b = load <2 x i64>, ptr %q, align 16
  %b1 = add <2 x i64> %b, %need
  store <2 x i64> %b1, ptr %q, align 16
  ret void
}

; The lanes of %mask whose addresses lie in the window that begins at %start.
define internal i32 @count.inside(<32 x i64> %at, i64 %start, i32 %mask) nounwind {
  %w0 = insertelement <32 x i64> poison, i64 %start, i64 0
  %w1 = shufflevector <32 x i64> %w0, <32 x i64> poison, <32 x i32> zeroinitializer
  %o = sub <32 x i64> %at, %w1
  %in.v = icmp ult <32 x i64> %o, splat (i64 ${WINDOW_SIZE})
  %in = bitcast <32 x i1> %in.v to i32
  %r = and i32 %in, %mask
  ret i32 %r
}

; An access to wherever its addresses point (space 5), or to global (0) or shared (1) memory, counted whole in %record.
define internal void @count.anywhere(ptr %record, <32 x i64> %addr, i64 %extra, i32 %mask, i64 %size, i32 %space, i32 %pairs) noinline nounwind {
entry:
  %e0 = insertelement <32 x i64> poison, i64 %extra, i64 0
  %e1 = shufflevector <32 x i64> %e0, <32 x i64> poison, <32 x i32> zeroinitializer
  %at = add <32 x i64> %addr, %e1
  %size32 = trunc i64 %size to i32
  %is.s = icmp eq i32 %space, 1
  %is.g = icmp eq i32 %space, 0
  %g.all = select i1 %is.g, i32 %mask, i32 0
  %s.all = select i1 %is.s, i32 %mask, i32 0
  %known = or i1 %is.s, %is.g
  br i1 %known, label %global, label %windows
windows:
  %in.s = call i32 @count.inside(<32 x i64> %at, i64 ${SHARED_WINDOW}, i32 %mask)
  %in.l = call i32 @count.inside(<32 x i64> %at, i64 ${LOCAL_WINDOW}, i32 %mask)
  %in.p = call i32 @count.inside(<32 x i64> %at, i64 ${PARAM_WINDOW}, i32 %mask)
  %in.sl = or i32 %in.s, %in.l
  %in.slp = or i32 %in.sl, %in.p
  %in.slp.not = xor i32 %in.slp, -1
  %in.g = and i32 %mask, %in.slp.not
  br label %global
global:
  %g = phi i32 [%g.all, %entry], [%in.g, %windows]
  %s = phi i32 [%s.all, %entry], [%in.s, %windows]
  %l = phi i32 [0, %entry], [%in.l, %windows]
  %g.no = icmp eq i32 %g, 0
  br i1 %g.no, label %shared, label %global.go
global.go:
  %g.need = call <2 x i64> @count.sectors(<32 x i64> %at, i64 0, i32 %g, i64 %size)
  %g.n = call i32 @llvm.ctpop.i32(i32 %g)
  %g.n64 = zext i32 %g.n to i64
  %g.bytes = mul i64 %g.n64, %size
  %g.p = getelementptr i8, ptr %record, i64 ${TALLY_GLOBAL}
  call void @count.add(ptr %g.p, i64 %g.bytes, <2 x i64> %g.need)
  br label %shared
shared:
  %s.no = icmp eq i32 %s, 0
  br i1 %s.no, label %local, label %shared.go
shared.go:
  %s.off = trunc <32 x i64> %at to <32 x i32>
  %memo = getelementptr i8, ptr %record, i64 ${TALLY_MEMO}
  %s.need = call <2 x i64> @count.banks(ptr %memo, <32 x i32> %s.off, i32 %s, i32 %size32, i32 %pairs)
  %s.n = call i32 @llvm.ctpop.i32(i32 %s)
  %s.n64 = zext i32 %s.n to i64
  %s.bytes = mul i64 %s.n64, %size
  %s.p = getelementptr i8, ptr %record, i64 ${TALLY_SHARED}
  call void @count.add(ptr %s.p, i64 %s.bytes, <2 x i64> %s.need)
  br label %local
local:
  %l.no = icmp eq i32 %l, 0
  br i1 %l.no, label %done, label %local.go
local.go:
  %l.n = call i32 @llvm.ctpop.i32(i32 %l)
  %l.n64 = zext i32 %l.n to i64
  %l.bytes = mul i64 %l.n64, %size
  %l.p = getelementptr i8, ptr %record, i64 ${TALLY_LOCAL}
  call void @count.add(ptr %l.p, i64 %l.bytes, <2 x i64> zeroinitializer)
  br label %done
done:
  ret void
}
