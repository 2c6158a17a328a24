; Conversions of halves by arithmetic on bits, for x86 CPUs without F16C: LLVM calls them by these names there. They do
; what F16C does, to the last bit: rounded to nearest even, subnormal numbers kept, a signalling NaN made quiet.
define float @__extendhfsf2(half %a) noinline nounwind {
  %bits = bitcast half %a to i16
  %b = zext i16 %bits to i32
  %sign0 = and i32 %b, 32768
  %sign = shl i32 %sign0, 16
  %size = and i32 %b, 32767
  %moved = shl i32 %size, 13
  %normal = add i32 %moved, 939524096          ; the exponent's bias is 112 larger
  %whole = uitofp i32 %size to float
  %tiny = fmul float %whole, 0x3E70000000000000 ; 2**-24, the unit of subnormal halves
  %tiny.bits = bitcast float %tiny to i32
  %special = or i32 %moved, 2139095040         ; infinity and NaN
  %quiet = or i32 %special, 4194304
  %is.nan = icmp ugt i32 %size, 31744
  %is.special = icmp uge i32 %size, 31744
  %is.tiny = icmp ult i32 %size, 1024
  %x0 = select i1 %is.tiny, i32 %tiny.bits, i32 %normal
  %x1 = select i1 %is.special, i32 %special, i32 %x0
  %x2 = select i1 %is.nan, i32 %quiet, i32 %x1
  %x3 = or i32 %x2, %sign
  %d = bitcast i32 %x3 to float
  ret float %d
}

define half @__truncsfhf2(float %a) noinline nounwind {
  %b = bitcast float %a to i32
  %sign0 = lshr i32 %b, 16
  %sign = and i32 %sign0, 32768
  %size = and i32 %b, 2147483647
  %last0 = lshr i32 %size, 13
  %last = and i32 %last0, 1
  %up = add i32 %size, 4095
  %tied = add i32 %up, %last                   ; ties to even
  %rebased = sub i32 %tied, 939524096
  %normal = lshr i32 %rebased, 13
  %positive = bitcast i32 %size to float
  %aligned = fadd float %positive, 5.000000e-01 ; a unit of its last place is 2**-24
  %aligned.bits = bitcast float %aligned to i32
  %tiny = sub i32 %aligned.bits, 1056964608
  %payload0 = lshr i32 %size, 13
  %payload = and i32 %payload0, 1023
  %quiet = or i32 %payload, 32256
  %is.nan = icmp ugt i32 %size, 2139095040
  %is.over = icmp uge i32 %size, 1199566848     ; 65520 and more
  %is.tiny = icmp ult i32 %size, 947912704      ; below 2**-14
  %x0 = select i1 %is.tiny, i32 %tiny, i32 %normal
  %x1 = select i1 %is.over, i32 31744, i32 %x0
  %x2 = select i1 %is.nan, i32 %quiet, i32 %x1
  %x3 = or i32 %x2, %sign
  %bits = trunc i32 %x3 to i16
  %d = bitcast i16 %bits to half
  ret half %d
}
