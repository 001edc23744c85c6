// What a text is instead of one, where nobody has said that it is one.
#pragma once

#include <filesystem>

#include "control/data/read/stream_buffer.h"

namespace exprun {

// Throws Error, with what to do, for a stream that is a tar archive, a token shard, Parquet or
// UTF-16 or UTF-32, and for one of JSON records, unless its name says that it is text. Nothing of
// it is taken.
void refuse_unsaid_format(StreamBuffer& buffer, const std::filesystem::path& file);

// The same for UTF-16 or UTF-32 alone, which no JSON is, whoever says so.
void refuse_wide_encoding(StreamBuffer& buffer, const std::filesystem::path& file);

}  // namespace exprun
