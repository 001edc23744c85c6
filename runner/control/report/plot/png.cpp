#include "control/report/plot/png.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "control/report/plot/drawing.h"
#include "control/report/plot/raster.h"
#include "control/report/plot/typeface.h"

namespace exprun {
namespace {

constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n";
constexpr double kNarrowed = 11.0 / 12;  // DejaVu Sans is wider than what SVGs are shown with
constexpr double kSvgPixelsPerMeter = 96 / 0.0254;  // CSS: 96 an inch

void append_big_endian(std::string& bytes, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
}

std::string chunk(std::string_view type, std::string_view data) {
  std::string bytes;
  append_big_endian(bytes, static_cast<uint32_t>(data.size()));
  const size_t begin = bytes.size();
  (bytes += type) += data;
  const auto* const checked = reinterpret_cast<const Bytef*>(bytes.data() + begin);
  append_big_endian(bytes, static_cast<uint32_t>(
                               crc32(0, checked, static_cast<uInt>(type.size() + data.size()))));
  return bytes;
}

std::string header_of(const Raster& image) {
  std::string data;
  append_big_endian(data, static_cast<uint32_t>(image.width()));
  append_big_endian(data, static_cast<uint32_t>(image.height()));
  // 8 bits, RGB; the only compression and filter method; lines in their order
  return data + std::string("\x08\x02\x00\x00\x00", 5);
}

// No filter: lines of a drawing are paper for the most part, which compresses best as it is.
std::string compressed_lines(const Raster& image) {
  std::string lines;
  lines.reserve(image.height() * (3 * image.width() + 1));
  for (size_t y = 0; y < image.height(); ++y) {
    lines += '\0';
    lines.append(reinterpret_cast<const char*>(image.row(y)), 3 * image.width());
  }
  uLongf size = compressBound(lines.size());
  std::string compressed(size, '\0');
  const int code =
      compress2(reinterpret_cast<Bytef*>(compressed.data()), &size,
                reinterpret_cast<const Bytef*>(lines.data()), lines.size(), Z_DEFAULT_COMPRESSION);
  if (code != Z_OK) throw std::bad_alloc();  // the one reason that is left
  compressed.resize(size);
  return compressed;
}

bool has_level_and_upright_lines_only(const Stroke& stroke) {
  for (size_t i = 1; i < stroke.points.size(); ++i)
    if (stroke.points[i].x != stroke.points[i - 1].x &&
        stroke.points[i].y != stroke.points[i - 1].y)
      return false;
  return stroke.points.size() > 1;
}

// Axes and grids fill whole pixels, so that they are sharp.
void fit_to_pixels(Stroke& stroke) {
  stroke.width = std::max(1.0, std::round(stroke.width));
  const double odd = std::fmod(stroke.width, 2) == 1 ? 0.5 : 0;
  for (Spot& point : stroke.points)
    point = {std::round(point.x - odd) + odd, std::round(point.y - odd) + odd};
}

}  // namespace

std::string png_file(const Raster& image, uint32_t per_meter) {
  std::string resolution;
  append_big_endian(resolution, per_meter);
  append_big_endian(resolution, per_meter);
  resolution += '\x01';  // the unit is the meter
  return std::string(kSignature) + chunk("IHDR", header_of(image)) + chunk("pHYs", resolution) +
         chunk("IDAT", compressed_lines(image)) + chunk("IEND", "");
}

bool png_has_all_characters(std::span<const Panel> panels, size_t width, size_t height) {
  return std::ranges::all_of(drawing_of(panels, width, height).texts, [](const Text& text) {
    return typeface(text.strong).has_all(text.text);
  });
}

std::string to_png(std::span<const Panel> panels, size_t width, size_t height, size_t scale) {
  Drawing drawing = drawing_of(panels, width, height);
  const auto times = static_cast<double>(scale);
  Raster image(scale * width, scale * height, kPaper);
  for (Stroke& stroke : drawing.strokes) {
    for (Spot& point : stroke.points) point = {times * point.x, times * point.y};
    stroke.width *= times;
    if (has_level_and_upright_lines_only(stroke)) fit_to_pixels(stroke);
    if (stroke.points.size() == 1)
      image.stroke(stroke.points, stroke.color, times * kDotWidth);
    else
      image.stroke(stroke.points, stroke.color, stroke.width,
                   stroke.dashed ? times * kDashLength : 0, times * kDashGap);
  }
  for (const Text& text : drawing.texts)
    image.text({times * text.at.x, times * text.at.y}, text.anchor, text.text, kInk,
               times * kNarrowed * kFontSize, text.strong);
  return png_file(image, static_cast<uint32_t>(std::lround(times * kSvgPixelsPerMeter)));
}

}  // namespace exprun
