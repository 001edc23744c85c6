// What a text is instead of one, where nobody has said that it is one.
#pragma once

#include <filesystem>
#include <string>

#include "control/data/read/byte_stream.h"

namespace exprun {

// Throws Error, with what to do, for a stream that is a tar archive, a token shard, Parquet,
// UTF-16 or UTF-32 or binary, and for one of JSON records, unless its name says that it is text.
// Nothing of it is taken.
void refuse_other_format(StreamBuffer& buffer, const std::filesystem::path& file);

// The same for UTF-16 or UTF-32 alone, which no JSON is, whoever says so.
void refuse_wide_encoding(StreamBuffer& buffer, const std::filesystem::path& file);

// What the name of a file says of its content: extensions, in small letters.

// Whether it ends as files do that are packed in a way that is read: a.jsonl.GZ.
bool is_named_packed(const std::filesystem::path& file);

// ".jsonl" of a.JSONL.gz: without the one of a packing.
std::string content_extension(const std::filesystem::path& file);

}  // namespace exprun
