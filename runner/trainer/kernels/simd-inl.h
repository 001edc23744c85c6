// What kernels on Google Highway share: this header is compiled once for each instruction set, into
// exprun::HWY_NAMESPACE. A kernel's source is compiled likewise (hwy/foreach_target.h), and the
// widest set that the processor has is taken at run time (kernels/instruction_set.h).
#if defined(EXPRUN_KERNELS_SIMD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EXPRUN_KERNELS_SIMD_INL_H
#undef EXPRUN_KERNELS_SIMD_INL_H
#else
#define EXPRUN_KERNELS_SIMD_INL_H
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace exprun {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using Floats = hn::Vec<FloatTag>;
using Int32Tag = hn::RebindToSigned<FloatTag>;

inline constexpr FloatTag kFloats;
inline constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(FloatTag()));

HWY_INLINE Floats load(const float* from) {
  return hn::LoadU(kFloats, from);
}

HWY_INLINE void store(float* to, Floats x) {
  hn::StoreU(x, kFloats, to);
}

HWY_INLINE hn::Mask<FloatTag> first_lanes(int64_t count) {
  return hn::FirstN(kFloats, static_cast<size_t>(count));
}

// The first `count` elements; the other lanes are zero, or are not written. Nothing after them is
// touched, and they need no alignment: below AVX2 Highway's masked loads want it.
HWY_INLINE Floats load_first(const float* from, int64_t count) {
#if HWY_TARGET <= HWY_AVX2
  return hn::MaskedLoad(first_lanes(count), kFloats, from);
#else
  HWY_ALIGN float lanes[kLanes] = {};
  for (int64_t i = 0; i < count; ++i) lanes[i] = from[i];
  return hn::Load(kFloats, lanes);
#endif
}

HWY_INLINE void store_first(float* to, Floats x, int64_t count) {
#if HWY_TARGET <= HWY_AVX2
  hn::BlendedStore(x, first_lanes(count), kFloats, to);
#else
  HWY_ALIGN float lanes[kLanes];
  hn::Store(x, kFloats, lanes);
  for (int64_t i = 0; i < count; ++i) to[i] = lanes[i];
#endif
}

HWY_INLINE float sum(Floats x) {
  return hn::GetLane(hn::SumOfLanes(kFloats, x));
}

HWY_INLINE float largest(Floats x) {
  return hn::GetLane(hn::MaxOfLanes(kFloats, x));
}

// e^x to 1e-7 relative: x = n ln 2 + r, Cephes' polynomial in r. Below -87.3 it is 2^-126.
HWY_INLINE Floats exp(Floats argument) {
  const auto set = [](float value) HWY_ATTR { return hn::Set(kFloats, value); };
  // In this order of operands a NaN stays one: x86 gives the second where one of them is none.
  const Floats x = hn::Min(set(88.37626f), hn::Max(set(-87.33654f), argument));
  const Floats n = hn::Round(hn::Mul(x, set(1.44269504f)));
  const Floats r = hn::NegMulAdd(n, set(-2.12194440e-4f), hn::NegMulAdd(n, set(0.693359375f), x));
  Floats p = hn::MulAdd(r, set(1.9875691500e-4f), set(1.3981999507e-3f));
  p = hn::MulAdd(p, r, set(8.3334519073e-3f));
  p = hn::MulAdd(p, r, set(4.1665795894e-2f));
  p = hn::MulAdd(p, r, set(1.6666665459e-1f));
  p = hn::MulAdd(p, r, set(5.0000001201e-1f));
  p = hn::MulAdd(p, hn::Mul(r, r), hn::Add(r, set(1.0f)));
  const auto exponent = hn::Add(hn::ConvertTo(Int32Tag(), n), hn::Set(Int32Tag(), 127));
  return hn::Mul(p, hn::BitCast(kFloats, hn::ShiftLeft<23>(exponent)));
}

// Calls visit(element, count) for the vectors of a row; only the last may have fewer than kLanes.
// The lambda wants HWY_ATTR.
template <class Visit>
HWY_INLINE void for_each_vector(int64_t width, const Visit& visit) {
  int64_t i = 0;
  for (; i + kLanes <= width; i += kLanes) visit(i, kLanes);
  if (i < width) visit(i, width - i);
}

HWY_INLINE Floats load_some(const float* from, int64_t count) {
  return count == kLanes ? load(from) : load_first(from, count);
}

// Of bf16, widened.
HWY_INLINE Floats load_some(const hwy::bfloat16_t* from, int64_t count) {
  constexpr hn::Rebind<hwy::bfloat16_t, FloatTag> kHalves;
  if (count == kLanes) return hn::PromoteTo(kFloats, hn::LoadU(kHalves, from));
  HWY_ALIGN float lanes[kLanes] = {};
  for (int64_t i = 0; i < count; ++i) lanes[i] = hwy::F32FromBF16(from[i]);
  return hn::Load(kFloats, lanes);
}

HWY_INLINE void store_some(float* to, Floats x, int64_t count) {
  if (count == kLanes)
    store(to, x);
  else
    store_first(to, x, count);
}

// As bf16, rounded to the nearest, ties to even.
HWY_INLINE void store_some(hwy::bfloat16_t* to, Floats x, int64_t count) {
  constexpr hn::RebindToUnsigned<FloatTag> kBits;
  constexpr hn::Rebind<uint16_t, FloatTag> kHalves;
  const auto bits = hn::BitCast(kBits, x);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(kBits, 1));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(kBits, 0x7fff)));
  const auto finite = hn::ShiftRight<16>(rounded);
  const auto nan = hn::BitCast(kFloats, hn::Set(kBits, 0x7fc0));
  const auto narrow = hn::IfThenElse(hn::IsNaN(x), nan, hn::BitCast(kFloats, finite));
  const auto halves = hn::DemoteTo(kHalves, hn::BitCast(Int32Tag(), narrow));
  auto* const out = reinterpret_cast<uint16_t*>(to);
  if (count == kLanes) return hn::StoreU(halves, kHalves, out);
  HWY_ALIGN uint16_t lanes[kLanes];
  hn::Store(halves, kHalves, lanes);
  for (int64_t i = 0; i < count; ++i) out[i] = lanes[i];
}

}  // namespace HWY_NAMESPACE
}  // namespace exprun
HWY_AFTER_NAMESPACE();

#endif
