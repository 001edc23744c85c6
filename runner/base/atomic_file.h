// Files that are there whole or not at all: temporary name, fsync, rename, fsync of the folder.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace exprun {

// Replaces `file` with `bytes`. Throws Error; on failure the old file is untouched and no
// temporary file stays.
void write_file_atomically(const std::filesystem::path& file, std::string_view bytes);

// Replaces `file`, but neither at once nor durably: for what fills an AtomicFolder, whose commit
// sees to that. Throws Error.
void write_file(const std::filesystem::path& file, std::string_view bytes);

// The folder that a file lies in: "." for a name alone.
std::filesystem::path folder_of(const std::filesystem::path& file);

// The whole file. Throws Error that names the file and the reason.
std::string read_file(const std::filesystem::path& file);

// Makes a file or folder durable. Throws Error.
void sync_file(const std::filesystem::path& file_or_folder);

}  // namespace exprun
