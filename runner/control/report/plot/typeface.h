// The letters of images: DejaVu Sans, which is embedded when exprun is built. It has Latin, Greek,
// Cyrillic and other letters, and signs; characters that it lacks, as Chinese ones, are boxes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "control/report/plot/drawing.h"

namespace exprun {

// How much of each pixel a letter covers, in parts of 255, line by line; valid during the call.
struct LetterImage {
  int left = 0, top = 0, width = 0, height = 0;  // pixels of the image that it belongs to
  const uint8_t* covered = nullptr;
};

class Typeface {
 public:
  explicit Typeface(std::string_view font);  // a TrueType file, which stays where it is
  ~Typeface();
  Typeface(const Typeface&) = delete;
  Typeface& operator=(const Typeface&) = delete;

  // Whether it has each character, so that none is a box.
  bool has_all(std::string_view text) const;

  // Sizes are those of the em, in pixels.
  double width(std::string_view text, double size) const;
  // From left to right, beginning on the base line at `at`.
  void each_letter(std::string_view text, Spot at, double size,
                   const std::function<void(const LetterImage&)>& visit) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Regular or bold; read when it is first asked for.
const Typeface& typeface(bool strong);

}  // namespace exprun
