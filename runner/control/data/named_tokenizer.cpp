#include "control/data/named_tokenizer.h"

#include "base/diagnostic.h"
#include "base/number.h"
#include "text/bpe_tokenizer.h"

namespace exprun {
namespace {

constexpr int64_t kGpt2Tokens = 50257;

}  // namespace

std::string vocabulary_remedy(const std::string& tokenizer) {
  return tokenizer == "gpt2" ? "GPT-2's: exprun data fetch gpt2_tokenizer"
                             : "name the tokenizer.json of a byte-level BPE, or its folder";
}

std::unique_ptr<Tokenizer> load_named_tokenizer(const Section& dataset,
                                                const std::string& tokenizer,
                                                const std::filesystem::path& vocabulary) {
  std::unique_ptr<Tokenizer> loaded;
  try {
    loaded = load_bpe_tokenizer(vocabulary);
  } catch (const Error& error) {
    throw dataset.error("vocabulary", error.what(), vocabulary_remedy(tokenizer));
  }
  if (tokenizer == "gpt2" && loaded->vocab_size() != kGpt2Tokens)
    throw dataset.error("vocabulary",
                        "'" + vocabulary.string() + "' has " +
                            with_thousands(loaded->vocab_size()) + " tokens, GPT-2 has " +
                            with_thousands(kGpt2Tokens),
                        "write tokenizer = \"huggingface\", or get GPT-2's: exprun data fetch "
                        "gpt2_tokenizer");
  return loaded;
}

}  // namespace exprun
