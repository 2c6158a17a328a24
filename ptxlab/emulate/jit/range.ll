; The middle of @race.range and @race.rows: %count words from %p on, by %me and the codes of a table; see there.
start:
  ${SPLAT16_mev_i64_me}
  ${SPLAT16_shiftv_i64_shift}
  br label %loop
loop:
  %i = phi i64 [0, %start], [%i16, %next]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %body, label %finish
body:
  %left = sub i64 %count, %i
  ${SPLAT16_leftv_i64_left}
  %m = icmp ugt <16 x i64> %leftv, ${RISING16}
  %o = shl i64 %i, 3
  %wp = getelementptr i8, ptr %p, i64 %o
  %rp = getelementptr i8, ptr %wp, i64 %stride
  %w = load <16 x i64>, ptr %wp, align 8
  %r = load <16 x i64>, ptr %rp, align 8
  %co = mul i64 %i, %step
  %cp = getelementptr i8, ptr %codes, i64 %co
  %cv = load <16 x i64>, ptr %cp, align 8
  ${SPLAT16_iv_i64_i}
  %n = add <16 x i64> %iv, ${RISING16}
  %ln = lshr <16 x i64> %n, %shiftv
  %me0 = or <16 x i64> %mev, %cv
  %me16 = add <16 x i64> %me0, %ln
${FINE16}
; the usual case of a read: no other one is remembered
  %wr = and <16 x i1> %w.f, %r.f
  %m.no = xor <16 x i1> %m, splat (i1 true)
  %wr.m = or <16 x i1> %wr, %m.no
  %wr.b = bitcast <16 x i1> %wr.m to i16
  %wr.all = icmp eq i16 %wr.b, -1
  %easy = and i1 %wr.all, %reads.only
  br i1 %easy, label %quick, label %readers
; reads where others have read as well, as all warps read a tile
readers:
  %w.m = or <16 x i1> %w.f, %m.no
  %w.b = bitcast <16 x i1> %w.m to i16
  %w.all = icmp eq i16 %w.b, -1
  %calm0 = and i1 %w.all, %reads.only
  %calm = and i1 %calm0, %simple
  br i1 %calm, label %second, label %full.look
second:
  %sp = getelementptr i8, ptr %rp, i64 %stride
  %s = load <16 x i64>, ptr %sp, align 8
${FINE16_S}
  %t.r = and <16 x i1> %r.f, %m
  %t.r.no = xor <16 x i1> %r.f, splat (i1 true)
  %t.q0 = and <16 x i1> %t.r.no, %s.f
  %t.q = and <16 x i1> %t.q0, %m
  %t.any = or <16 x i1> %t.r, %t.q
  %t.bits = bitcast <16 x i1> %t.any to i16
  %t.none = icmp eq i16 %t.bits, 0
  br i1 %t.none, label %next, label %second.keep
second.keep:
  %t.r.new = select <16 x i1> %t.r, <16 x i64> %me16, <16 x i64> %r
  %t.q.new = select <16 x i1> %t.q, <16 x i64> %me16, <16 x i64> %s
  store <16 x i64> %t.r.new, ptr %rp, align 8
  store <16 x i64> %t.q.new, ptr %sp, align 8
  br label %next
quick:
  %r.new = select <16 x i1> %m, <16 x i64> %me16, <16 x i64> %r
  store <16 x i64> %r.new, ptr %rp, align 8
  br label %next
full.look:
  %qp = getelementptr i8, ptr %rp, i64 %stride
  %q = load <16 x i64>, ptr %qp, align 8
${FINE16_Q}
  %r.or = or <16 x i1> %r.f, %simplev
  %ok.r = and <16 x i1> %w.f, %r.or
  %rq = and <16 x i1> %r.f, %q.f
  %ok.w = and <16 x i1> %w.f, %rq
  %ok0 = select i1 %write, <16 x i1> %ok.w, <16 x i1> %ok.r
  %ok = and <16 x i1> %ok0, %m
  %no = xor <16 x i1> %ok, splat (i1 true)
  %bad = and <16 x i1> %no, %m
  %reads = xor <16 x i1> %writev, splat (i1 true)
  %ok.reads = and <16 x i1> %ok, %reads
  %cw = and <16 x i1> %ok, %writev
  %cr = and <16 x i1> %ok.reads, %r.f
  %r.no = xor <16 x i1> %r.f, splat (i1 true)
  %cq0 = and <16 x i1> %r.no, %q.f
  %cq = and <16 x i1> %ok.reads, %cq0
  %changes0 = or <16 x i1> %cw, %cr
  %changes = or <16 x i1> %changes0, %cq
  %c.bits = bitcast <16 x i1> %changes to i16
  %bits = bitcast <16 x i1> %bad to i16
  %c.any = icmp ne i16 %c.bits, 0
  br i1 %c.any, label %change, label %judge
change:
  %w1 = select <16 x i1> %cw, <16 x i64> %me16, <16 x i64> %w
  %r1 = select <16 x i1> %cr, <16 x i64> %me16, <16 x i64> %r
  %q1 = select <16 x i1> %cq, <16 x i64> %me16, <16 x i64> %q
  store <16 x i64> %w1, ptr %wp, align 8
  store <16 x i64> %r1, ptr %rp, align 8
  store <16 x i64> %q1, ptr %qp, align 8
  br label %judge
judge:
  %some = icmp ne i16 %bits, 0
  br i1 %some, label %look, label %next
look:
  store <16 x i64> %me16, ptr %buffer, align 64
  br label %each
each:
  %b = phi i16 [%bits, %look], [%b2, %one]
  %b.no = icmp eq i16 %b, 0
  br i1 %b.no, label %next, label %one
one:
  %b32 = zext i16 %b to i32
  %k = call i32 @llvm.cttz.i32(i32 %b32, i1 false)
  %b1 = sub i16 %b, 1
  %b2 = and i16 %b, %b1
  %k64 = zext i32 %k to i64
  %mp = getelementptr i64, ptr %buffer, i64 %k64
  %mine = load i64, ptr %mp
  %pk = getelementptr i64, ptr %wp, i64 %k64
  %at = add i64 %i, %k64
  %ao = shl i64 %at, ${LOG_GRANULE}
  %a = add i64 %address, %ao
  call void @race.hazard(ptr %ctx, ptr %cta, ptr %pk, i64 %stride, i64 %a, i64 %mine, i1 %write)
  call void @race.keep(ptr %ctx, ptr %cta, ptr %pk, i64 %stride, i64 %mine, i1 %write)
  br label %each
next:
  %i16 = add i64 %i, 16
  br label %loop
