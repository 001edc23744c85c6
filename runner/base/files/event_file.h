// TensorBoard's event files: records of [length, crc, payload, crc], each payload an Event in
// protocol buffers. Only what scalars, texts and hyper-parameters need is written; any TensorBoard
// reads it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/files/file.h"

namespace exprun {

using HyperParameter = std::variant<double, bool, std::string>;

// From a value as TOML spells it: "0.1", "true", "\"adamw\"", "[1, 2]" (as text).
HyperParameter hyper_parameter(const std::string& toml);

// Several threads may write to one file. A live run has one only: TensorBoard reads the files of a
// folder in the order of their names and never goes back to an earlier one.
class EventFile {
 public:
  // Makes "events.out.tfevents.<seconds>.<host>.<pid>.<n>" in the folder, and the folder. Throws
  // Error.
  EventFile(const std::filesystem::path& folder, double seconds);

  // With which the names of all files that begin at this time begin.
  static std::string file_head(double seconds);

  // `seconds` is since 1970. Throws Error; a record that could not be written whole is taken back,
  // so that later ones can be read.
  void scalar(double seconds, int64_t step, std::string_view tag, double value);
  void text(double seconds, int64_t step, std::string_view tag, std::string_view text);
  // What the HPARAMS page shows of a run, with the tags of the scalars that measure it; a file of
  // its own folder.
  void hyper_parameters(double seconds,
                        const std::vector<std::pair<std::string, HyperParameter>>& parameters,
                        const std::vector<std::string>& metrics);

 private:
  void record(std::string_view payload);

  std::filesystem::path path_;
  UniqueFd fd_;
  int64_t size_ = 0;  // of the whole records
  std::mutex writing_;
};

// The checksum of a record: CRC-32C (Castagnoli), rotated and shifted so that it can stand in data.
uint32_t masked_crc32c(std::string_view bytes);

}  // namespace exprun
