#include "control/report/plot/typeface.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"

#define STB_TRUETYPE_IMPLEMENTATION
#define STBTT_STATIC
#include <stb_truetype.h>

namespace exprun {

const std::vector<std::pair<std::string_view, std::string_view>>& embedded_fonts();

namespace {

std::string_view font_file(std::string_view name) {
  for (const auto& [file, bytes] : embedded_fonts())
    if (file == name) return bytes;
  throw std::logic_error("no font " + std::string(name));
}

struct FreeLetter {
  void operator()(unsigned char* image) const { stbtt_FreeBitmap(image, nullptr); }
};

// What shall not be in a picture, as no terminal gets it either, is U+FFFD.
int shown(const CodePoint& c) {
  return static_cast<int>(is_control(c.value) ? kReplacementCharacter : c.value);
}

}  // namespace

struct Typeface::Impl {
  stbtt_fontinfo font{};

  // Where each letter begins, after the first, and where the last ends; 1 is the size of the em.
  template <typename Visit>
  double walk(std::string_view text, const Visit& visit) const {
    const double unit = static_cast<double>(stbtt_ScaleForMappingEmToPixels(&font, 1));
    double x = 0;
    int before = 0;
    for (const CodePoint& c : code_points(text)) {
      const int letter = stbtt_FindGlyphIndex(&font, shown(c));
      int advance = 0, bearing = 0;
      stbtt_GetGlyphHMetrics(&font, letter, &advance, &bearing);
      if (before) x += unit * stbtt_GetGlyphKernAdvance(&font, before, letter);
      visit(letter, x);
      x += unit * advance;
      before = letter;
    }
    return x;
  }
};

Typeface::Typeface(std::string_view font) : impl_(std::make_unique<Impl>()) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(font.data());
  if (!stbtt_InitFont(&impl_->font, bytes, stbtt_GetFontOffsetForIndex(bytes, 0)))
    throw std::logic_error("the embedded font is no TrueType font");
}

Typeface::~Typeface() = default;

bool Typeface::has_all(std::string_view text) const {
  return std::ranges::all_of(code_points(text), [&](const CodePoint& c) {
    return stbtt_FindGlyphIndex(&impl_->font, shown(c)) != 0;
  });
}

double Typeface::width(std::string_view text, double size) const {
  return size * impl_->walk(text, [](int, double) {});
}

void Typeface::each_letter(std::string_view text, Spot at, double size,
                           const std::function<void(const LetterImage&)>& visit) const {
  const float scale = stbtt_ScaleForMappingEmToPixels(&impl_->font, static_cast<float>(size));
  impl_->walk(text, [&](int letter, double begin) {
    const double x = at.x + size * begin, left = std::floor(x);
    LetterImage image;
    int right = 0, below = 0;
    const std::unique_ptr<unsigned char, FreeLetter> covered(
        stbtt_GetGlyphBitmapSubpixel(&impl_->font, scale, scale, static_cast<float>(x - left), 0,
                                     letter, &image.width, &image.height, &right, &below));
    image.covered = covered.get();
    image.left = static_cast<int>(left) + right;
    image.top = static_cast<int>(at.y) + below;
    if (covered) visit(image);
  });
}

const Typeface& typeface(bool strong) {
  static std::optional<Typeface> faces[2];
  std::optional<Typeface>& face = faces[strong];
  if (!face) face.emplace(font_file(strong ? "DejaVuSans-Bold.ttf" : "DejaVuSans.ttf"));
  return *face;
}

}  // namespace exprun
