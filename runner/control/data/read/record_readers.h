// One reader a format; open_records (records.h) chooses among them.
#pragma once

#include "control/data/read/records.h"

namespace exprun {

// `options` outlives the reader.
std::unique_ptr<RecordReader> open_text(const std::filesystem::path& file,
                                        const RecordOptions& options);
std::unique_ptr<RecordReader> open_json_lines(const std::filesystem::path& file);
std::unique_ptr<RecordReader> open_json_array(const std::filesystem::path& file);

}  // namespace exprun
