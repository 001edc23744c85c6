// Pictures in pixels: lines and letters without steps, and the file that they are written to.
#include "control/report/plot/png.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <cmath>
#include <numbers>

#include "control/report/plot/raster.h"

using namespace exprun;

namespace {

constexpr Rgb kBlack = {0, 0, 0}, kWhite = {255, 255, 255}, kRed = {255, 0, 0};

// How much ink there is, in whole pixels of black on white.
double ink(const Raster& image) {
  double sum = 0;
  for (size_t y = 0; y < image.height(); ++y)
    for (size_t x = 0; x < image.width(); ++x) sum += (255 - image.at(x, y).green) / 255.0;
  return sum;
}

struct Extent {
  size_t left = SIZE_MAX, top = SIZE_MAX, right = 0, bottom = 0;  // after the last
};

Extent extent_of_ink(const Raster& image) {
  Extent extent;
  for (size_t y = 0; y < image.height(); ++y)
    for (size_t x = 0; x < image.width(); ++x) {
      if (image.at(x, y).green == 255) continue;
      extent.left = std::min(extent.left, x);
      extent.right = std::max(extent.right, x + 1);
      extent.top = std::min(extent.top, y);
      extent.bottom = std::max(extent.bottom, y + 1);
    }
  return extent;
}

uint32_t big_endian(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = at; i < at + 4; ++i) value = value << 8 | static_cast<uint8_t>(bytes.at(i));
  return value;
}

struct Chunk {
  std::string type, data;
};

// Of a PNG file, with their checksums checked.
std::vector<Chunk> chunks_of(const std::string& file) {
  REQUIRE(file.starts_with(std::string("\x89PNG\r\n\x1a\n")));
  std::vector<Chunk> chunks;
  for (size_t at = 8; at < file.size();) {
    const size_t size = big_endian(file, at);
    chunks.push_back({file.substr(at + 4, 4), file.substr(at + 8, size)});
    const auto* const bytes = reinterpret_cast<const Bytef*>(file.data() + at + 4);
    CHECK(big_endian(file, at + 8 + size) == crc32(0, bytes, static_cast<uInt>(size + 4)));
    at += size + 12;
  }
  return chunks;
}

std::string inflated(const std::string& bytes, size_t size) {
  std::string out(size, '\0');
  uLongf length = size;
  REQUIRE(uncompress(reinterpret_cast<Bytef*>(out.data()), &length,
                     reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()) == Z_OK);
  REQUIRE(length == size);
  return out;
}

}  // namespace

TEST_CASE("raster: a line covers whole pixels whole, and others in part") {
  Raster image(10, 7, kWhite);
  image.stroke({{2, 3.5}, {8, 3.5}}, kBlack, 1);
  for (size_t x = 3; x < 7; ++x) CHECK(image.at(x, 3).red == 0);
  for (size_t x = 0; x < 10; ++x) {
    CHECK(image.at(x, 2).red == 255);
    CHECK(image.at(x, 4).red == 255);
  }
  Raster between(10, 8, kWhite);
  between.stroke({{0, 4}, {10, 4}}, kBlack, 1);  // half in the line above, half in that below
  CHECK(between.at(5, 3).red == 127);
  CHECK(between.at(5, 4).red == 127);
}

TEST_CASE("raster: in every direction a line has as much ink as it is long and wide") {
  for (int degrees = 0; degrees < 180; degrees += 15) {
    CAPTURE(degrees);
    const double angle = degrees * std::numbers::pi / 180, length = 80, width = 3.2;
    const Spot middle{60.3, 59.8};
    const double x = std::cos(angle) * length / 2, y = std::sin(angle) * length / 2;
    Raster image(120, 120, kWhite);
    image.stroke({{middle.x - x, middle.y - y}, {middle.x + x, middle.y + y}}, kBlack, width);
    const double round_ends = std::numbers::pi * width * width / 4;
    // How near a pixel's middle is stands for its part that is covered. At 45 degrees all pixels of
    // an edge are equally near, and what is wrong with one is wrong with all.
    const double most = degrees % 90 == 45 ? 0.04 : 0.01;
    CHECK(ink(image) == doctest::Approx(length * width + round_ends).epsilon(most));
  }
}

TEST_CASE("raster: a stroke is drawn once where it runs over itself") {
  Raster once(40, 40, kWhite), twice(40, 40, kWhite);
  once.stroke({{3, 4}, {36, 29}}, kRed, 1.6);
  twice.stroke({{3, 4}, {36, 29}, {3, 4}, {20, 16.878787878787879}}, kRed, 1.6);
  for (size_t y = 0; y < 40; ++y)
    for (size_t x = 0; x < 40; ++x) CHECK(once.at(x, y).green == twice.at(x, y).green);
}

TEST_CASE("raster: dashes are as long as they should be, around corners too") {
  Raster image(60, 30, kWhite);
  image.stroke({{2, 10.5}, {50, 10.5}, {50, 28}}, kBlack, 2, 6, 4);
  const double strokes = (48.0 + 17.5) / 10;  // of 6 pixels drawn in 10
  CHECK(ink(image) == doctest::Approx(strokes * 6 * 2).epsilon(0.08));
  Raster straight(60, 5, kWhite);
  straight.stroke({{3, 2.5}, {57, 2.5}}, kBlack, 1, 6, 4);
  for (const size_t drawn : {5, 15, 25, 35}) CHECK(straight.at(drawn, 2).red == 0);
  for (const size_t free : {10, 20, 30, 40}) CHECK(straight.at(free, 2).red == 255);
}

TEST_CASE("raster: one point is a disc, and what lies outside is left out") {
  Raster image(20, 20, kWhite);
  image.stroke({{10, 10}}, kBlack, 8);
  CHECK(ink(image) == doctest::Approx(std::numbers::pi * 16).epsilon(0.01));
  image.stroke({{-50, -50}, {70, 65}}, kRed, 3);
  image.stroke({{-50, 5}, {-10, 5}}, kRed, 3);
  image.stroke({}, kRed, 3);
  image.text({-5, -5}, Anchor::start, "outside", kRed, 12, false);
  image.text({18, 15}, Anchor::start, "cut at the edge", kRed, 12, true);
}

TEST_CASE("raster: texts stand where their anchors say") {
  const auto drawn = [](Anchor anchor, const char* text, bool strong = false) {
    Raster image(200, 40, kWhite);
    image.text({100, 25}, anchor, text, kBlack, 12, strong);
    return extent_of_ink(image);
  };
  const Extent start = drawn(Anchor::start, "loss 1,234"), end = drawn(Anchor::end, "loss 1,234");
  const Extent middle = drawn(Anchor::middle, "loss 1,234");
  CHECK(start.left >= 99);
  CHECK(end.right <= 101);
  CHECK(start.right - start.left == doctest::Approx(end.right - end.left).epsilon(0.03));
  CHECK((middle.left + middle.right) / 2 == doctest::Approx(100).epsilon(0.02));
  CHECK(start.top ==
        doctest::Approx(25 - 0.73 * 12).epsilon(0.1));  // the font's letters are so high
  CHECK(drawn(Anchor::start, "lll").bottom == 25);      // on the base line
  CHECK(drawn(Anchor::start, "ppp").bottom > 25);
  CHECK(drawn(Anchor::start, "loss", true).right > drawn(Anchor::start, "loss").right);
  for (const char* text : {"größe", "Δ ≥ ±1", "日本", "\xff", "a\nb"}) {
    CAPTURE(text);
    const Extent extent = drawn(Anchor::start, text);
    CHECK(extent.right > extent.left + 5);  // a box where the font has no such letter
  }
}

TEST_CASE("png: the file has the image's pixels and its size on paper") {
  Raster image(31, 17, kWhite);
  image.stroke({{1, 2}, {29, 15}}, {1, 2, 3}, 2.5);
  const auto chunks = chunks_of(png_file(image, 7559));
  REQUIRE(chunks.size() == 4);
  CHECK(chunks[0].type == "IHDR");
  CHECK(big_endian(chunks[0].data, 0) == 31);
  CHECK(big_endian(chunks[0].data, 4) == 17);
  CHECK(chunks[0].data.substr(8) == std::string("\x08\x02\0\0\0", 5));
  CHECK(chunks[1].type == "pHYs");
  CHECK(big_endian(chunks[1].data, 0) == 7559);
  CHECK(big_endian(chunks[1].data, 4) == 7559);
  CHECK(chunks[1].data.substr(8) == "\x01");
  CHECK(chunks[3].type == "IEND");
  const std::string lines = inflated(chunks[2].data, 17 * (1 + 3 * 31));
  for (size_t y = 0; y < 17; ++y) {
    CHECK(lines[y * 94] == 0);
    CHECK(lines.compare(y * 94 + 1, 93, reinterpret_cast<const char*>(image.row(y)), 93) == 0);
  }
}

TEST_CASE("png: a picture has its curves in their colors, at any scale") {
  std::vector<PlotCurve> curves = {{"falls", {{0, 2}, {1, 1}}, 0, false},
                                   {"rises", {{0, 1}, {1, 2}}, 1, true},
                                   {"one", {{0.5, 1.2}}, 2, false}};
  const Panel panels[] = {make_panel("loss", std::move(curves), {0, false, false, "step", 1})};
  for (const size_t scale : {1, 2, 3}) {
    CAPTURE(scale);
    const auto chunks = chunks_of(to_png(panels, 300, 240, scale));
    const size_t width = big_endian(chunks[0].data, 0), height = big_endian(chunks[0].data, 4);
    CHECK(width == 300 * scale);
    CHECK(height == 240 * scale);
    CHECK(big_endian(chunks[1].data, 0) == static_cast<uint32_t>(std::lround(scale * 96 / 0.0254)));
    const std::string lines = inflated(chunks[2].data, height * (1 + 3 * width));
    const auto pixels_of = [&](Rgb color) {
      size_t count = 0;
      for (size_t y = 0; y < height; ++y)
        for (size_t x = 0; x < width; ++x) {
          const char* const pixel = lines.data() + y * (1 + 3 * width) + 1 + 3 * x;
          count += static_cast<uint8_t>(pixel[0]) == color.red &&
                   static_cast<uint8_t>(pixel[1]) == color.green &&
                   static_cast<uint8_t>(pixel[2]) == color.blue;
        }
      return static_cast<double>(count);
    };
    CHECK(pixels_of(kPalette[0]) > 60 * scale * scale);  // its sign in the legend alone: 24 x 3
    CHECK(pixels_of(kPalette[1]) > 40 * scale * scale);
    CHECK(pixels_of(kPalette[2]) > 60 * scale * scale);
    CHECK(pixels_of(kInk) > 300 * scale);  // both axes
    CHECK(pixels_of(kPaper) > 0.7 * static_cast<double>(width * height));
  }
}
