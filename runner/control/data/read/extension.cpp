#include "control/data/read/extension.h"

#include <algorithm>

namespace exprun {
namespace {

namespace fs = std::filesystem;

std::string extension_of(const fs::path& file) {
  std::string extension = file.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return extension;
}

}  // namespace

bool is_named_packed(const fs::path& file) {
  const std::string extension = extension_of(file);
  return extension == ".gz" || extension == ".gzip" || extension == ".zst" || extension == ".zstd";
}

std::string content_extension(const fs::path& file) {
  return extension_of(is_named_packed(file) ? file.stem() : file);
}

}  // namespace exprun
