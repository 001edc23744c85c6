#include "control/data/fetch/catalogue.h"

#include <cstdio>

#include "control/data/sources/sources.h"

namespace exprun {
namespace {

using Files = std::vector<CatalogueFile>;

constexpr int64_t kShardBytes = 1024 + 2 * 100'000'000;

std::string numbered(const std::string& start, int64_t number) {
  char digits[16];
  std::snprintf(digits, sizeof digits, "%06d.bin", static_cast<int>(number));
  return start + digits;
}

// The validation shard 0 and training shards 1, 2, ...; `last_bytes` is the size of number `all`.
Files shard_files(const std::string& address, const std::string& folder, const std::string& name,
                  int64_t count, int64_t all, int64_t last_bytes) {
  Files files;
  const std::string validation = numbered(name + "_val_", 0);
  files.push_back({address + validation, folder + validation, kShardBytes, "", true});
  for (int64_t number = 1; number <= count; ++number) {
    const std::string file = numbered(name + "_train_", number);
    files.push_back(
        {address + file, folder + file, number == all ? last_bytes : kShardBytes, "", true});
  }
  return files;
}

Files tinyshakespeare(int64_t) {
  return {
      {"https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
       "tinyshakespeare.txt", 1'115'394,
       "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed", false}};
}

Files fineweb10b(int64_t shards) {
  return shard_files("https://huggingface.co/datasets/kjj0/fineweb10B-gpt2/resolve/main/",
                     "fineweb10b/", "fineweb", shards, 103, 0);
}

Files fineweb_edu10b(int64_t shards) {
  return shard_files("https://huggingface.co/datasets/kjj0/finewebedu10B-gpt2/resolve/main/",
                     "fineweb_edu10b/", "finewebedu", shards, 99, 1024 + 2 * 53'989'344);
}

Files hellaswag(int64_t) {
  return {{"https://raw.githubusercontent.com/rowanz/hellaswag/master/data/hellaswag_val.jsonl",
           "hellaswag/hellaswag_val.jsonl", 0,
           "0aa3b88843990f3f10a97b9575c94d7b71fb2205240ba04ae4884d9e9c992588", false}};
}

// Its authors mended it several times: no size and no checksum are for good.
Files alpaca(int64_t) {
  return {{"https://raw.githubusercontent.com/tatsu-lab/stanford_alpaca/main/alpaca_data.json",
           "alpaca_data.json", 0, "", false}};
}

// GPT-2's vocabulary, under the names that its reader looks for.
Files gpt2_vocabulary(const std::string& merges, const std::string& tokens) {
  const std::string address = "https://openaipublic.blob.core.windows.net/gpt-2/encodings/main/";
  return {{address + "vocab.bpe", merges, 456'318,
           "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5", false},
          {address + "encoder.json", tokens, 1'042'301,
           "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783", false}};
}

Files gpt2_tokenizer(int64_t) {
  return gpt2_vocabulary("gpt2_tokenizer/vocab.bpe", "gpt2_tokenizer/encoder.json");
}

Files gpt2(int64_t) {
  const std::string address = "https://huggingface.co/openai-community/gpt2/resolve/main/";
  Files files = gpt2_vocabulary("gpt2/merges.txt", "gpt2/vocab.json");
  files.push_back({address + "config.json", "gpt2/config.json", 665,
                   "0daed7749b4f02b8f76240d5444551d7b08712dab4d0adb8239c56ba823bb7b4", false});
  files.push_back({address + "model.safetensors", "gpt2/model.safetensors", 548'105'171,
                   "248dfc3911869ec493c76e65bf2fcf7f615828b0254c12b473182f0f81d3a707", false});
  return files;
}

constexpr CatalogueEntry kCatalogue[] = {
    {"tinyshakespeare", "1.1 MB of Shakespeare's plays: a text", "public domain", 0,
     tinyshakespeare},
    {"fineweb10b", "10 billion GPT-2 tokens of FineWeb: shards of 200 MB", "ODC-By 1.0", 103,
     fineweb10b},
    {"fineweb_edu10b", "10 billion GPT-2 tokens of FineWeb-Edu: shards of 200 MB", "ODC-By 1.0", 99,
     fineweb_edu10b},
    {"hellaswag", "10,042 sentences to complete (validation): JSON Lines", "MIT", 0, hellaswag},
    {"alpaca", "52,000 instructions and answers: JSON", "CC BY-NC 4.0", 0, alpaca},
    {"gpt2_tokenizer", "GPT-2's vocabulary: vocab.bpe and encoder.json", "MIT (modified)", 0,
     gpt2_tokenizer},
    {"gpt2", "GPT-2's 124M weights and vocabulary, 550 MB", "MIT", 0, gpt2},
};

// "*.txt" is anybody's: one of the names must say how it begins.
bool says_names(const std::string& pattern) {
  for (size_t at = 0; at != pattern.npos; at = pattern.find('/', at)) {
    if (pattern[at] == '/') ++at;
    if (at < pattern.size() && !is_glob(pattern.substr(at, 1))) return true;
  }
  return false;
}

std::optional<std::string> command_to_get(const CatalogueEntry& entry, const std::string& pattern) {
  for (const CatalogueFile& known : entry.files(entry.shards)) {
    const auto start = start_before(pattern, known.path);
    if (!start || is_glob(*start) || !says_names(pattern.substr(start->size()))) continue;
    const std::string folder = start->empty() ? "." : *start;
    return std::string("exprun data fetch ") + entry.name +
           (folder == "data/" ? "" : " --to '" + folder + "'");
  }
  return std::nullopt;
}

}  // namespace

std::span<const CatalogueEntry> catalogue() {
  return kCatalogue;
}

const CatalogueEntry* find_in_catalogue(const std::string& name) {
  for (const CatalogueEntry& entry : kCatalogue)
    if (name == entry.name) return &entry;
  return nullptr;
}

std::optional<std::string> command_to_get(const std::string& pattern) {
  for (const CatalogueEntry& entry : catalogue())
    if (auto command = command_to_get(entry, pattern)) return command;
  return std::nullopt;
}

}  // namespace exprun
