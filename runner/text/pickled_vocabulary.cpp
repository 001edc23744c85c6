#include "text/pickled_vocabulary.h"

#include "base/files/file.h"
#include "base/strings.h"

namespace exprun {

namespace fs = std::filesystem;

namespace {

constexpr const char* kConversion =
    R"(import json, pickle, sys; json.dump({"model": {"type": "WordLevel", )"
    R"("vocab": pickle.load(open(sys.argv[1], "rb"))["stoi"]}}, open(sys.argv[2], "w")))";

}  // namespace

std::optional<fs::path> pickled_vocabulary(const fs::path& path) {
  if (folder_exists(path)) return pickled_vocabulary(path / "meta.pkl");
  if (path.extension() == ".pkl" && file_exists(path)) return path;
  return std::nullopt;
}

std::string how_to_convert_pickle(const fs::path& pickle) {
  return "'" + pickle.string() +
         "' is a Python pickle, the form in which nanoGPT keeps the characters of its data; "
         "exprun reads the tokenizer.json that this makes of it:\n  python3 -c " +
         shell_quoted(kConversion) + ' ' + shell_quoted(pickle.string()) + ' ' +
         shell_quoted((pickle.parent_path() / "tokenizer.json").string());
}

}  // namespace exprun
