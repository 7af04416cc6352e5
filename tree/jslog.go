package tree

import "math"

// jsLog is the natural logarithm of a positive normal double by the method of
// fdlibm, which JavaScript engines use. math.Log differs from it in the last
// bit for some arguments, and that bit decides the hash of some numbers. The
// explicit conversions keep compilers from fusing multiplications and sums.
func jsLog(x float64) float64 {
	const (
		ln2Hi = 6.93147180369123816490e-01
		ln2Lo = 1.90821492927058770002e-10
		lg1   = 6.666666666666735130e-01
		lg2   = 3.999999999940941908e-01
		lg3   = 2.857142874366239149e-01
		lg4   = 2.222219843214978396e-01
		lg5   = 1.818357216161805012e-01
		lg6   = 1.531383769920937332e-01
		lg7   = 1.479819860511658591e-01
	)
	bits := math.Float64bits(x)
	hx := int32(bits >> 32)
	k := hx>>20 - 1023
	hx &= 0x000fffff
	i := (hx + 0x95f64) & 0x100000
	high := uint64(uint32(hx | (i ^ 0x3ff00000))) // x scaled into [sqrt(2)/2, sqrt(2))
	f := math.Float64frombits(high<<32|bits&0xffffffff) - 1
	dk := float64(k + i>>20)
	if 0x000fffff&(2+hx) < 3 { // |f| < 2^-20
		if f == 0 {
			return float64(dk*ln2Hi) + float64(dk*ln2Lo)
		}
		r := float64(f*f) * (0.5 - float64(0.33333333333333333*f))
		return float64(dk*ln2Hi) - ((r - float64(dk*ln2Lo)) - f)
	}
	s := f / (2 + f)
	z := float64(s * s)
	w := float64(z * z)
	t1 := float64(w * (lg2 + float64(w*(lg4+float64(w*lg6)))))
	t2 := float64(z * (lg1 + float64(w*(lg3+float64(w*(lg5+float64(w*lg7)))))))
	r := t2 + t1
	if (hx-0x6147a)|(0x6b851-hx) > 0 {
		hfsq := float64(0.5 * float64(f*f))
		return float64(dk*ln2Hi) - ((hfsq - (float64(s*(hfsq+r)) + float64(dk*ln2Lo))) - f)
	}
	return float64(dk*ln2Hi) - ((float64(s*(f-r)) - float64(dk*ln2Lo)) - f)
}
