// A text as nanoGPT's shakespeare_char codes it: sorted characters, the first 90 % for training.
#pragma once

#include <filesystem>
#include <string>

namespace exprun {

// Raw uint16 tokens.
struct CodedText {
  std::string train;
  std::string validation;
};

CodedText code_characters(const std::filesystem::path& file);

}  // namespace exprun
