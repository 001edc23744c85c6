// What the name of a file says of its content: extensions, in small letters.
#pragma once

#include <filesystem>
#include <string>

namespace exprun {

// Whether it ends as files do that are packed in a way that is read: a.jsonl.GZ.
bool is_named_packed(const std::filesystem::path& file);

// ".jsonl" of a.JSONL.gz: without the one of a packing.
std::string content_extension(const std::filesystem::path& file);

}  // namespace exprun
