; What compiled code calls where a warp diverges, where it reconverges, and where lanes of a diverged warp meet.
;
; The names in braces are fields of records and numbers, filled in by helpers.py.

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

; Lanes meet at a `.sync` instruction while their warp is apart: those in %mask have just come. When all live lanes that
; one of them names have come to an instruction of the same kind, what each brought is handed over and they may go on.
define internal void @meet(ptr %ws, i32 %mask) noinline nounwind {
entry:
  %kinds = getelementptr i8, ptr %ws, i64 ${Warp.meeting}
  %members.all = getelementptr i8, ptr %ws, i64 ${Warp.members}
  %live.p = getelementptr i8, ptr %ws, i64 ${Warp.live}
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
  %gm.p = getelementptr i8, ptr %ws, i64 ${Warp.given_members}
  %gm = load <32 x i32>, ptr %gm.p, align 64
  %n0 = insertelement <32 x i32> poison, i32 %need, i64 0
  %n1 = shufflevector <32 x i32> %n0, <32 x i32> poison, <32 x i32> zeroinitializer
  %gm2 = select <32 x i1> %need.v, <32 x i32> %n1, <32 x i32> %gm
  store <32 x i32> %gm2, ptr %gm.p, align 64
  br label %copy
copy:
  %k = phi i64 [0, %hand.over], [%k.next, %copy]
  %o = mul i64 %k, 256
  %from.o = add i64 %o, ${Warp.offered}
  %from = getelementptr i8, ptr %ws, i64 %from.o
  %to.o = add i64 %o, ${Warp.given}
  %to = getelementptr i8, ptr %ws, i64 %to.o
  %new = load <32 x i64>, ptr %from, align 64
  %old = load <32 x i64>, ptr %to, align 64
  %mix = select <32 x i1> %need.v, <32 x i64> %new, <32 x i64> %old
  store <32 x i64> %mix, ptr %to, align 64
  %k.next = add i64 %k, 1
  %again = icmp ult i64 %k.next, 3
  br i1 %again, label %copy, label %wake
wake:
  %wait.p = getelementptr i8, ptr %ws, i64 ${Warp.wait}
  %wait = load i32, ptr %wait.p
  %need.not = xor i32 %need, -1
  %wait2 = and i32 %wait, %need.not
  store i32 %wait2, ptr %wait.p
  %but.need = and i32 %left, %need.not
  br label %next
finish:
  ret void
}
