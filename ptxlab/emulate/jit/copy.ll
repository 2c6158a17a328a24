; cp.async of ${SIZE} bytes a lane, done at once. %to: 32 i32 addresses in shared memory, to which %to.add is added;
; %from: 32 i64 global addresses, to which %from.add is added; %sizes: null, or how many bytes each lane reads (the rest
; are zeros). 0, or 1 when a fault has been recorded.
define internal i32 @cp.async.${SIZE}(ptr %ctx, ptr %cta, ptr %ws, i32 %mask, ptr %to, i32 %to.add, ptr %from, i64 %from.add, ptr %sizes, ptr %site, i32 %code) noinline nounwind alignstack(64) {
entry:
  %shared.p = getelementptr i8, ptr %cta, i64 ${SHARED}
  %shared = load ptr, ptr %shared.p
  %shared.size.p = getelementptr i8, ptr %cta, i64 ${SHARED_SIZE}
  %shared.size = load i64, ptr %shared.size.p
  %full = icmp eq i32 %mask, -1
  br i1 %full, label %whole, label %apart
whole:
  %some = icmp ne ptr %sizes, null
  br i1 %some, label %sized, label %place
sized:
  %sz = load <32 x i32>, ptr %sizes, align 64
  %sz.all = icmp eq <32 x i32> %sz, splat (i32 ${SIZE})
  %sz.bits = bitcast <32 x i1> %sz.all to i32
  %sz.full = icmp eq i32 %sz.bits, -1
  br i1 %sz.full, label %place, label %apart
place:
  %to.base = sub i32 %to.add, ${SHARED_START}
  %tb0 = insertelement <32 x i32> poison, i32 %to.base, i64 0
  %tb1 = shufflevector <32 x i32> %tb0, <32 x i32> poison, <32 x i32> zeroinitializer
  %tv = load <32 x i32>, ptr %to, align 64
  %toff = add <32 x i32> %tv, %tb1
  %trot = call <32 x i32> @llvm.fshr.v32i32(<32 x i32> %toff, <32 x i32> %toff, <32 x i32> splat (i32 ${LOG2}))
  %tcount64 = lshr i64 %shared.size, ${LOG2}
  %tcount = trunc i64 %tcount64 to i32
  %tc0 = insertelement <32 x i32> poison, i32 %tcount, i64 0
  %tc1 = shufflevector <32 x i32> %tc0, <32 x i32> poison, <32 x i32> zeroinitializer
  %tok = icmp ult <32 x i32> %trot, %tc1
  %tbits0 = bitcast <32 x i1> %tok to i32
  ; with no address of 2 GiB or more, adding in 64 bits below is the same as adding in 32
  %tlow = icmp sge <32 x i32> %tv, zeroinitializer
  %tlow.bits = bitcast <32 x i1> %tlow to i32
  %tbits = and i32 %tbits0, %tlow.bits
  %known = load i64, ptr %site
  %limit.p = getelementptr i8, ptr %site, i64 8
  %limit = load i64, ptr %limit.p
  %host.p = getelementptr i8, ptr %site, i64 16
  %host = load ptr, ptr %host.p
  %from.base = sub i64 %from.add, %known
  %fb0 = insertelement <32 x i64> poison, i64 %from.base, i64 0
  %fb1 = shufflevector <32 x i64> %fb0, <32 x i64> poison, <32 x i32> zeroinitializer
  %fv = load <32 x i64>, ptr %from, align 64
  %foff = add <32 x i64> %fv, %fb1
  %frot = call <32 x i64> @llvm.fshr.v32i64(<32 x i64> %foff, <32 x i64> %foff, <32 x i64> splat (i64 ${LOG2}))
  %fl0 = insertelement <32 x i64> poison, i64 %limit, i64 0
  %fl1 = shufflevector <32 x i64> %fl0, <32 x i64> poison, <32 x i32> zeroinitializer
  %fok = icmp ult <32 x i64> %frot, %fl1
  %fbits = bitcast <32 x i1> %fok to i32
  %bits = and i32 %tbits, %fbits
  %ok = icmp eq i32 %bits, -1
  br i1 %ok, label %fast, label %apart
fast:
  %to.wide = sext i32 %to.base to i64
  %to.host = getelementptr i8, ptr %shared, i64 %to.wide
  %from.host = getelementptr i8, ptr %host, i64 %from.base
${FAST}
  ret i32 0
apart:
  br label %loop
loop:
  %left = phi i32 [%mask, %apart], [%rest, %next]
  %fill = phi ptr [%site, %apart], [null, %next]
  %done = icmp eq i32 %left, 0
  br i1 %done, label %finish, label %body
body:
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 false)
  %left1 = sub i32 %left, 1
  %rest = and i32 %left, %left1
  %lane64 = zext i32 %lane to i64
  %fp = getelementptr i64, ptr %from, i64 %lane64
  %f0 = load i64, ptr %fp
  %f = add i64 %f0, %from.add
  %tp = getelementptr i32, ptr %to, i64 %lane64
  %t0 = load i32, ptr %tp
  %t1 = add i32 %t0, %to.add
  %t = zext i32 %t1 to i64
  %has.sizes = icmp ne ptr %sizes, null
  br i1 %has.sizes, label %given, label %ask
given:
  %np = getelementptr i32, ptr %sizes, i64 %lane64
  %n0 = load i32, ptr %np
  %n1 = call i32 @llvm.umin.i32(i32 %n0, i32 ${SIZE})
  %n2 = zext i32 %n1 to i64
  br label %ask
ask:
  %n = phi i64 [${SIZE}, %body], [%n2, %given]
  %q = call ptr @resolve(ptr %ctx, ptr %cta, ptr %ws, i32 %lane, i64 %t, i64 ${SIZE}, i64 ${LOG2}, i32 1, i32 1, ptr null)
  %q.ok = icmp ne ptr %q, null
  br i1 %q.ok, label %source, label %bad.to
source:
  %none = icmp eq i64 %n, 0
  br i1 %none, label %zero, label %read
read:
  %whole.n = icmp eq i64 %n, ${SIZE}
  %fill.now = select i1 %whole.n, ptr %fill, ptr null
  %p = call ptr @resolve(ptr %ctx, ptr %cta, ptr %ws, i32 %lane, i64 %f, i64 %n, i64 ${LOG2}, i32 0, i32 0, ptr %fill.now)
  %p.ok = icmp ne ptr %p, null
  br i1 %p.ok, label %byte, label %bad.from
byte:
  %k = phi i64 [0, %read], [%k1, %byte]
  %bp = getelementptr i8, ptr %p, i64 %k
  %b = load i8, ptr %bp
  %cp = getelementptr i8, ptr %q, i64 %k
  store i8 %b, ptr %cp
  %k1 = add i64 %k, 1
  %more = icmp ult i64 %k1, %n
  br i1 %more, label %byte, label %zero
zero:
  %z = phi i64 [%n, %source], [%n, %byte], [%z1, %zeros]
  %z.more = icmp ult i64 %z, ${SIZE}
  br i1 %z.more, label %zeros, label %next
zeros:
  %zp = getelementptr i8, ptr %q, i64 %z
  store i8 0, ptr %zp
  %z1 = add i64 %z, 1
  br label %zero
next:
  br label %loop
finish:
  ret i32 0
bad.to:
  call void @record(ptr %ctx, ptr %ws, i32 ${COPY_TO}, i32 %code, i32 %lane, i64 %t)
  ret i32 1
bad.from:
  call void @record(ptr %ctx, ptr %ws, i32 ${COPY_FROM}, i32 %code, i32 %lane, i64 %f)
  ret i32 1
}
