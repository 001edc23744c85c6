#include "base/sobol_sequence.h"

#include <array>

#include "base/random.h"

namespace exprun {
namespace {

constexpr size_t kDigits = 32;

// A primitive polynomial over GF(2): its degree, its inner coefficients, and the first odd numbers
// of its recurrence.
struct Polynomial {
  size_t degree;
  uint32_t coefficients;
  std::array<uint32_t, 7> first;
};

// "new-joe-kuo-6", from its second axis on.
constexpr std::array<Polynomial, SobolSequence::kAxes - 1> kPolynomials{{
    {1, 0, {1}},
    {2, 1, {1, 3}},
    {3, 1, {1, 3, 1}},
    {3, 2, {1, 1, 1}},
    {4, 1, {1, 1, 3, 3}},
    {4, 4, {1, 3, 5, 13}},
    {5, 2, {1, 1, 5, 5, 17}},
    {5, 4, {1, 1, 5, 5, 5}},
    {5, 7, {1, 1, 7, 11, 19}},
    {5, 11, {1, 1, 5, 1, 1}},
    {5, 13, {1, 1, 1, 3, 11}},
    {5, 14, {1, 3, 5, 5, 31}},
    {6, 1, {1, 3, 3, 9, 7, 49}},
    {6, 13, {1, 1, 1, 15, 21, 21}},
    {6, 16, {1, 3, 1, 13, 27, 49}},
    {6, 19, {1, 1, 1, 15, 7, 5}},
    {6, 22, {1, 3, 1, 15, 13, 25}},
    {6, 25, {1, 1, 5, 5, 19, 61}},
    {7, 1, {1, 3, 7, 11, 23, 15, 103}},
    {7, 4, {1, 3, 7, 13, 13, 15, 69}},
}};

using Directions = std::array<uint32_t, kDigits>;

// By the recurrence of Bratley and Fox (1988).
Directions directions_of(const Polynomial& polynomial) {
  const size_t degree = polynomial.degree;
  Directions numbers{};
  for (size_t k = 0; k < kDigits; ++k) {
    if (k < degree) {
      numbers[k] = polynomial.first[k];
      continue;
    }
    numbers[k] = numbers[k - degree] ^ (numbers[k - degree] << degree);
    for (size_t i = 1; i < degree; ++i)
      if ((polynomial.coefficients >> (degree - 1 - i)) & 1) numbers[k] ^= numbers[k - i] << i;
  }
  for (size_t k = 0; k < kDigits; ++k) numbers[k] <<= kDigits - 1 - k;
  return numbers;
}

// The first axis counts in base 2, its digits reversed.
std::array<Directions, SobolSequence::kAxes> all_directions() {
  std::array<Directions, SobolSequence::kAxes> directions{};
  for (size_t k = 0; k < kDigits; ++k) directions[0][k] = uint32_t{1} << (kDigits - 1 - k);
  for (size_t axis = 1; axis < directions.size(); ++axis)
    directions[axis] = directions_of(kPolynomials[axis - 1]);
  return directions;
}

}  // namespace

double SobolSequence::coordinate(uint64_t number, size_t axis) const {
  static const uint64_t kWord = random_word("random point");
  if (axis >= kAxes || static_cast<double>(number) >= limit_)
    return static_cast<double>(random_bits({kWord, seed_, number, axis}) >> 11) * 0x1p-53;
  const uint32_t digits = unscrambled(static_cast<uint32_t>(number), axis);
  return static_cast<double>(scrambled(digits, axis)) * 0x1p-32;
}

uint32_t SobolSequence::unscrambled(uint32_t number, size_t axis) {
  static const auto kDirections = all_directions();
  uint32_t digits = 0;
  for (size_t k = 0; number != 0; ++k, number >>= 1)
    if (number & 1) digits ^= kDirections[axis][k];
  return digits;
}

// Whether a digit is inverted depends on those before it.
uint32_t SobolSequence::scrambled(uint32_t digits, size_t axis) const {
  static const uint64_t kWord = random_word("scrambled digit");
  uint32_t result = digits;
  for (size_t k = 0; k < kDigits; ++k) {
    const uint64_t before = k == 0 ? 0 : digits >> (kDigits - k);
    const auto inverts = static_cast<uint32_t>(random_bits({kWord, seed_, axis, k, before}) & 1);
    result ^= inverts << (kDigits - 1 - k);
  }
  return result;
}

}  // namespace exprun
