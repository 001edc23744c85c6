// A named text and places in it: what every diagnostic points at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace exprun {

// A recipe, a parent, or one override ("<override 2>" with the text "optimizer.lr=abc").
struct SourceFile {
  std::string name;
  std::string text;
};

// Lines and columns count from 1, columns and lengths in code points (a tab is one).
// A span without a file means "no place": a default, or a value from a stored run.
struct SourceSpan {
  std::shared_ptr<const SourceFile> file;
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t length = 0;

  explicit operator bool() const { return file != nullptr; }
};

// The place of `size` bytes from the byte `begin` on; one code point long at least.
SourceSpan span_of(const std::shared_ptr<const SourceFile>& file, size_t begin, size_t size);

}  // namespace exprun
