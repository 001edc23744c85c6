// What data are made from: the raw sources and the files of the vocabulary, as they were first
// seen.
#pragma once

#include <filesystem>
#include <future>
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
  InputFiles(const InputFiles&) = delete;
  InputFiles& operator=(const InputFiles&) = delete;

  const std::vector<RawSource>& sources() const { return sources_; }
  const std::vector<std::filesystem::path>& vocabulary() const { return vocabulary_; }
  bool has_standard_input() const;
  uint64_t source_bytes() const;

  // Hashes beside what the caller does next.
  void begin_to_hash();
  // Of the content and the options: 32 hex digits. Of standard input nothing is known before it is
  // read: it is never the same. get() throws RecipeError for a source that cannot be read.
  const std::shared_future<std::string>& fingerprint() const { return fingerprint_; }

  // The first file that holds something else by now.
  std::optional<std::filesystem::path> changed_file() const;

 private:
  std::string hash_of_vocabulary() const;
  std::string hash_of_all() const;
  std::vector<std::optional<FileStamp>> stamps() const;
  bool is_same(const std::vector<std::optional<FileStamp>>& now) const;

  const std::vector<RawSource> sources_;
  const std::vector<std::filesystem::path> vocabulary_;
  const std::string options_;
  const std::vector<std::optional<FileStamp>> stamps_;  // before any file is read
  const std::string vocabulary_hash_;
  std::shared_future<std::string> fingerprint_;  // ends before what it reads
};

}  // namespace exprun
