// What data are made from: the raw sources and the files of the vocabulary, as they were first
// seen.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "control/data/file_stamp.h"
#include "control/data/read/document_chunks.h"

namespace exprun {

class InputFiles {
 public:
  // `options` is all else that decides what comes out. Throws Error for a vocabulary that cannot be
  // read.
  InputFiles(std::vector<RawSource> sources, std::vector<std::filesystem::path> vocabulary,
             std::string options);

  const std::vector<RawSource>& sources() const { return sources_; }
  const std::vector<std::filesystem::path>& vocabulary() const { return vocabulary_; }
  bool has_standard_input() const;
  int64_t source_bytes(std::optional<Part> part = std::nullopt) const;  // of a part, or of all

  // 32 hex digits of the options and of the files' names, sizes and times: none of them is opened.
  // Standard input is never the same.
  const std::string& key() const { return key_; }
  // Not if a file changed within the last seconds: it could change again with the same times.
  bool are_settled() const { return settled_; }

  // 32 hex digits of the options and the content, as content_of() gives it.
  std::string fingerprint(const std::string& content) const;
  // Reads all sources, which must be files. Throws RecipeError, Error.
  std::string fingerprint() const;

  // The first file that holds something else by now than when it gave this fingerprint.
  std::optional<std::filesystem::path> changed_file(const std::string& fingerprint) const;

 private:
  std::string hash_of_vocabulary() const;
  std::vector<std::optional<FileStamp>> stamps() const;
  std::string key_now() const;
  bool settled_now() const;
  bool is_same(const std::vector<std::optional<FileStamp>>& now,
               const std::string& fingerprint) const;

  const std::vector<RawSource> sources_;
  const std::vector<std::filesystem::path> vocabulary_;
  const std::string options_;
  const std::vector<std::optional<FileStamp>> stamps_;  // before any file is read
  const std::string vocabulary_hash_, key_;
  const bool settled_;
};

}  // namespace exprun
