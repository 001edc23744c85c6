// meta.pkl, in which nanoGPT keeps the characters of its data, beside train.bin. exprun reads no
// pickle: it is a program of Python's, and loading it runs that.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace exprun {

// The one that `path`, a file or a folder, stands for; nothing where that is none.
std::optional<std::filesystem::path> pickled_vocabulary(const std::filesystem::path& path);

// What to say of it, with the command that makes a tokenizer.json of it, in the same folder.
std::string how_to_convert_pickle(const std::filesystem::path& pickle);

}  // namespace exprun
