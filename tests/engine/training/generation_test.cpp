// Text that a model writes: it is handed on in pieces that nothing takes back.
#include "engine/inference/generation.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/lora.h"
#include "engine/pipeline.h"
#include "support/generated_tokens.h"
#include "support/sections.h"

using namespace exprun;

namespace {

// Writes the bytes of a text, one a token, whatever it is asked.
class Reciter final : public Model {
 public:
  explicit Reciter(std::string text) : text_(std::move(text)) {}

  at::Tensor loss_sum(const at::Tensor&, const at::Tensor&) override { return {}; }
  at::Tensor logits(const at::Tensor&) override { return {}; }
  bool has_cache() const override { return true; }
  at::Tensor next_logits(const at::Tensor& tokens, KeyValueCache& cache) override {
    cache.length += tokens.size(1);
    threads.insert(at::get_num_threads());
    auto logits = at::zeros({1, 256});
    const auto byte = static_cast<unsigned char>(text_.at(written_++));
    logits[0][byte] = written_ == breaks_at ? std::numeric_limits<float>::infinity() : 1.0F;
    return logits;
  }
  int64_t context_length() const override { return 1000; }
  int64_t vocab_size() const override { return 256; }
  double flops_per_token(int64_t) const override { return flops; }
  double activation_bytes(int64_t, int64_t, at::DeviceType) const override { return 0; }

  double flops = 0;
  std::set<int> threads;  // that were used
  size_t breaks_at = 0;   // the token, from 1, whose logits are infinite

 private:
  std::string text_;
  size_t written_ = 0;
};

// A token a byte, of which '$' stands between documents.
class DollarEnds final : public Tokenizer {
 public:
  int64_t vocab_size() const override { return bytes_->vocab_size(); }
  std::unique_ptr<Encoder> make_encoder() const override { return bytes_->make_encoder(); }
  size_t safe_cut(std::string_view text) const override { return bytes_->safe_cut(text); }
  std::string decode(std::span<const int64_t> tokens) const override {
    return bytes_->decode(tokens);
  }
  nlohmann::json to_json() const override { return bytes_->to_json(); }
  std::optional<uint32_t> end_of_text() const override { return '$'; }

 private:
  std::unique_ptr<Tokenizer> bytes_ = make_byte_tokenizer();
};

struct Told {
  GeneratedText generated;
  int64_t asked = 0;  // whether to stop
  std::vector<std::string> pieces;
};

Told recited(const std::string& text, int64_t tokens, std::vector<std::string> stop,
             size_t breaks_at = 0) {
  const at::NoGradGuard no_grad;
  Reciter model(text);
  model.breaks_at = breaks_at;
  Told told;
  GenerationObserver observer;
  observer.written = [&](std::string_view piece) { told.pieces.emplace_back(piece); };
  observer.stop_requested = [&] {
    ++told.asked;
    return false;
  };
  const GenerationSettings settings{tokens, 0, 0, 1, std::move(stop)};
  told.generated =
      generate_text(model, *make_byte_tokenizer(), {'a'}, settings, GenerationSeed{}, observer);
  std::string all;
  for (const std::string& piece : told.pieces) all += piece;
  CHECK(all == told.generated.text);
  return told;
}

using Pieces = std::vector<std::string>;

}  // namespace

TEST_CASE("generation: pieces are whole characters") {
  const auto told = recited("gr\xc3\xb6\xc3\x9f", 6, {});
  CHECK(told.pieces == Pieces{"g", "r", "\xc3\xb6", "\xc3\x9f"});
  CHECK(told.generated.tokens == 6);
  CHECK(recited("gr\xc3\xb6\xc3\x9f", 5, {}).generated.text == "gr\xc3\xb6\xef\xbf\xbd");
}

TEST_CASE("generation: what may begin a stop text waits, and the stop text is never shown") {
  const auto told = recited("one a the end more", 18, {"the end", "and"});
  CHECK(told.generated.text == "one a ");
  CHECK(told.generated.end == GeneratedText::End::stop_text);
  CHECK(told.generated.tokens == 13);
  CHECK(told.pieces == Pieces{
                           "o",
                           "n",
                           "e",
                           " ",
                           "a ",
                       });
  const auto other = recited("one of them", 11, {"then"});
  CHECK(other.generated.text == "one of them");
  CHECK(other.pieces.back() == "them");
  CHECK(other.generated.end == GeneratedText::End::tokens);
  CHECK(recited("xy", 2, {"x", "xy"}).generated.text == "");
  CHECK(recited("axxb", 4, {"xb", "axxb"}).generated.text == "");  // the earlier of two
}

TEST_CASE("generation: infinite logits end a text behind what is certain") {
  const auto told = recited("one two", 7, {}, 5);
  CHECK(told.generated.text == "one ");
  CHECK(told.generated.end == GeneratedText::End::diverged);
}

TEST_CASE("generation: the end-of-text token ends a text and is left out, unless it is to go on") {
  const at::NoGradGuard no_grad;
  for (const bool stops : {true, false}) {
    Reciter model("one$two");
    const GenerationSettings settings{7, 0, 0, 1, {}, stops};
    const auto generated =
        generate_text(model, DollarEnds(), {'a'}, settings, GenerationSeed{}, {});
    CHECK(generated.text == (stops ? "one" : "one$two"));
    CHECK(generated.tokens == (stops ? 4 : 7));
    CHECK(generated.end == (stops ? GeneratedText::End::end_of_text : GeneratedText::End::tokens));
  }
}

TEST_CASE("generation: any token that ends texts of the data ends one, or the text that does") {
  const at::NoGradGuard no_grad;
  DollarEnds tokenizer;
  tokenizer.set_bounds({std::nullopt, {'#', '%'}, "<end>"});
  for (const auto& [written, text, end] :
       {std::tuple("one%two", "one", GeneratedText::End::end_of_text),
        {"$one#two", "$one", GeneratedText::End::end_of_text},
        {"one<end>two", "one", GeneratedText::End::stop_text},
        {"one$two<end", "one$two<end", GeneratedText::End::tokens}})
    for (const bool stops : {true, false}) {
      Reciter model(written);
      const int64_t all = static_cast<int64_t>(std::string(written).size());
      const auto generated =
          generate_text(model, tokenizer, {'a'}, {all, 0, 0, 1, {}, stops}, {}, {});
      CHECK(generated.text == (stops ? text : written));
      CHECK(generated.end == (stops ? end : GeneratedText::End::tokens));
    }
}

// The ranks of a run ask together: one that is done asks on.
TEST_CASE("generation: a text asks for a stop once a token, however it ends") {
  CHECK(recited("one two", 7, {}).asked == 7);
  CHECK(recited("one two", 7, {"e"}).asked == 7);
  CHECK(recited("one two", 7, {}, 5).asked == 7);
}

TEST_CASE("generation: a model whose tokens are little work takes one thread, for the text alone") {
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  for (const auto& [flops, threads] : {std::pair(1e6, 1), std::pair(1e9, 2)}) {
    Reciter model("ab");
    model.flops = flops;
    generate_text(model, *make_byte_tokenizer(), {'a'}, {2, 0, 0, 1, {}}, {}, {});
    CHECK(model.threads == std::set<int>{threads});
    CHECK(at::get_num_threads() == 2);
  }
  at::set_num_threads(before);
}

// Past the context, too, where no cache holds. Adapters are as if trained: B is not zero any more.
TEST_CASE("generation: with and without a cache the same greedy tokens") {
  const at::NoGradGuard no_grad;
  const std::string shared_keys =
      "num_key_value_heads = 1\nnorm = { type = \"rms_norm\" }\nactivation = \"swiglu\"\n"
      "bias = false\nqk_norm = \"per_head\"\nposition = { type = \"rotary\" }\n";
  const std::string adapters = "lora = { rank = 2, alpha = 6.0 }\n";
  for (const std::string& keys : {std::string(), shared_keys, adapters, shared_keys + adapters}) {
    CAPTURE(keys);
    const auto recipe = recipe_with("model", "gpt",
                                    "hidden_size = 32\ncontext_length = 24\nvocab_size = 101\n"
                                    "initialization = { std = 0.3 }\n" +
                                        keys);
    const TrainState state = build_train_state(recipe, at::kCPU);
    for (const Parameter& parameter : state.parameters->items())
      if (parameter.name.ends_with(kLoraB)) parameter.tensor.normal_(0, 0.2);
    state.model->set_training(false);
    REQUIRE(state.model->has_cache());
    const auto cached = greedy_tokens(*state.model, {5, 17, 99}, 40);
    CHECK(cached.size() == 40);
    CHECK(std::set(cached.begin(), cached.end()).size() > 5);
    UncachedModel uncached(*state.model);
    CHECK(greedy_tokens(uncached, {5, 17, 99}, 40) == cached);
  }
}
