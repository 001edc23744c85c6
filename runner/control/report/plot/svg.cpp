#include "control/report/plot/svg.h"

#include "base/format_units.h"
#include "base/utf8.h"
#include "control/report/plot/drawing.h"

namespace exprun {
namespace {

// XML has no place for control characters, not even as references.
std::string xml_text(const std::string& text) {
  std::string out;
  for (const CodePoint& c : code_points(text)) {
    if (c.value == '<')
      out += "&lt;";
    else if (c.value == '>')
      out += "&gt;";
    else if (c.value == '&')
      out += "&amp;";
    else
      append_code_point(out, is_control(c.value) ? kReplacementCharacter : c.value);
  }
  return out;
}

std::string hex(const Rgb& color) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "#";
  for (const int part : {color.red, color.green, color.blue}) {
    text += kDigits[part / 16];
    text += kDigits[part % 16];
  }
  return text;
}

// To a tenth of a pixel.
std::string pixels(double value) {
  std::string text = fixed(value, 1);
  if (text.ends_with(".0")) text.erase(text.size() - 2);
  return text;
}

std::string dot(const Stroke& stroke) {
  const Spot& at = stroke.points.front();
  return "<circle cx=\"" + pixels(at.x) + "\" cy=\"" + pixels(at.y) + "\" r=\"" +
         pixels(kDotWidth / 2) + "\" fill=\"" + hex(stroke.color) + "\"/>\n";
}

std::string path(const Stroke& stroke) {
  std::string out = "<polyline fill=\"none\" stroke=\"" + hex(stroke.color) + "\" stroke-width=\"" +
                    pixels(stroke.width) + "\" stroke-linejoin=\"round\"";
  if (stroke.dashed)
    out += " stroke-dasharray=\"" + pixels(kDashLength) + ' ' + pixels(kDashGap) + '"';
  out += " points=\"";
  for (const Spot& point : stroke.points)
    out += (&point == &stroke.points.front() ? "" : " ") + pixels(point.x) + ',' + pixels(point.y);
  return out + "\"/>\n";
}

std::string svg_text(const Text& text) {
  static constexpr const char* kAnchors[] = {"start", "middle", "end"};
  return "<text x=\"" + pixels(text.at.x) + "\" y=\"" + pixels(text.at.y) + "\" text-anchor=\"" +
         kAnchors[static_cast<size_t>(text.anchor)] + '"' +
         (text.strong ? " font-weight=\"bold\"" : "") + '>' + xml_text(text.text) + "</text>\n";
}

}  // namespace

std::string to_svg(std::span<const Panel> panels, size_t width, size_t height) {
  const Drawing drawing = drawing_of(panels, width, height);
  const std::string size = std::to_string(width) + ' ' + std::to_string(height);
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(width) +
                    "\" height=\"" + std::to_string(height) + "\" viewBox=\"0 0 " + size +
                    "\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"" +
                    pixels(kFontSize) + "\" fill=\"" + hex(kInk) +
                    "\">\n<rect width=\"100%\" height=\"100%\" fill=\"" + hex(kPaper) + "\"/>\n";
  for (const Stroke& stroke : drawing.strokes)
    out += stroke.points.size() == 1 ? dot(stroke) : path(stroke);
  for (const Text& text : drawing.texts) out += svg_text(text);
  return out + "</svg>\n";
}

}  // namespace exprun
