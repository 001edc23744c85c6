#include "engine/inference/generation.h"

#include <ATen/Parallel.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "base/random.h"
#include "base/utf8.h"
#include "engine/inference/sampling.h"
#include "engine/precision/precision.h"

namespace exprun {
namespace {

constexpr int64_t kShortestInput = 16;
constexpr double kWorthThreads = 6e6;  // operations of a token, about a tenth of a millisecond

// A small model takes less time for a token than threads that wait for each other, above all where
// other programs use their cores.
class FewThreads {
 public:
  explicit FewThreads(const Model& model) : threads_(at::get_num_threads()) {
    const double forward = model.flops_per_token(1) / 3;
    if (forward < kWorthThreads) at::set_num_threads(1);
  }
  ~FewThreads() { at::set_num_threads(threads_); }
  FewThreads(const FewThreads&) = delete;
  FewThreads& operator=(const FewThreads&) = delete;

 private:
  int threads_;
};

double uniform(uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

at::Tensor tensor_of(const int64_t* first, int64_t count, int64_t length) {
  at::Tensor tokens = at::zeros({1, length}, at::kLong);
  std::copy(first, first + count, tokens.data_ptr<int64_t>());
  return tokens;
}

// Lengths are powers of two: kernels are chosen by shape, and a causal model does not see the
// padding after the last token.
int64_t input_length(int64_t tokens, int64_t context_length) {
  int64_t length = kShortestInput;
  while (length < tokens) length *= 2;
  return std::min(length, context_length);
}

// Gives the logits after the last token of a text that grows.
class NextLogits {
 public:
  NextLogits(Model& model, int64_t most_tokens)
      : model_(model), cache_{std::min(most_tokens, model.context_length()), 0, {}} {}

  at::Tensor operator()(const std::vector<int64_t>& tokens) {  // (V)
    const auto size = static_cast<int64_t>(tokens.size());
    if (!model_.has_cache() || size > cache_.capacity) return without_cache(tokens);
    const int64_t more = size - cache_.length;
    const auto inputs = tensor_of(tokens.data() + cache_.length, more, more);
    return model_.next_logits(inputs.to(model_.device()), cache_).select(0, 0);
  }

 private:
  // Positions move with every token once the context is full: nothing kept would be true.
  at::Tensor without_cache(const std::vector<int64_t>& tokens) {
    const auto size = static_cast<int64_t>(tokens.size());
    const int64_t used = std::min(size, model_.context_length());
    const auto inputs =
        tensor_of(tokens.data() + size - used, used, input_length(used, model_.context_length()));
    return model_.logits(inputs.to(model_.device())).select(0, 0).select(0, used - 1);
  }

  Model& model_;
  KeyValueCache cache_;
};

// Bytes of tokens become text that is certain: whole characters, before any stop text.
class CertainText {
 public:
  CertainText(const std::vector<std::string>& stop, const GenerationObserver& observer)
      : stop_(stop), observer_(observer) {}

  // Whether a stop text is complete; nothing is taken after it.
  bool take(const std::string& bytes) {
    pending_ += bytes;
    size_t end = std::string::npos;
    for (const std::string& text : stop_) end = std::min(end, pending_.find(text));
    if (end != std::string::npos) {
      pending_.resize(end);
      return true;
    }
    pass_on(certain());
    return false;
  }

  std::string finish() {
    pass_on(pending_.size());
    return std::move(text_);
  }

 private:
  // Bytes that are whole characters and begin no stop text.
  size_t certain() const {
    size_t size = pending_.size();
    for (const std::string& text : stop_)
      for (size_t begin = text.size() > pending_.size() ? 0 : pending_.size() - text.size() + 1;
           begin < pending_.size(); ++begin)
        if (text.starts_with(std::string_view(pending_).substr(begin)))
          size = std::min(size, begin);
    return whole_characters(std::string_view(pending_).substr(0, size));
  }

  void pass_on(size_t size) {
    if (size == 0) return;
    const std::string piece = to_valid_utf8(std::string_view(pending_).substr(0, size));
    pending_.erase(0, size);
    text_ += piece;
    observer_.written(piece);
  }

  const std::vector<std::string>& stop_;
  const GenerationObserver& observer_;
  std::string pending_, text_;
};

}  // namespace

GenerationSettings GenerationSettings::from(const Section& section) {
  GenerationSettings settings{section.get<int64_t>("tokens"),
                              section.get<double>("temperature"),
                              section.get<int64_t>("top_k"),
                              section.get<double>("top_p"),
                              section.get<std::vector<std::string>>("stop"),
                              section.get<std::string>("end_of_text") == "stop"};
  for (const std::string& text : settings.stop)
    if (text.empty()) throw section.error("stop", "a stop text is empty", "remove it");
  return settings;
}

GeneratedText generate_text(Model& model, const Tokenizer& tokenizer, const Tokens& prompt,
                            const GenerationSettings& settings, const GenerationSeed& seed,
                            const GenerationObserver& observer) {
  const FewThreads few(model);
  const KeptCasts casts;
  GeneratedText generated;
  const TextBounds bounds = tokenizer.bounds();
  std::vector<std::string> stop = settings.stop;
  if (settings.stops_at_end_of_text && !bounds.end_marker.empty())
    stop.push_back(bounds.end_marker);
  CertainText text(stop, observer);
  std::vector<int64_t> tokens(prompt.begin(), prompt.end());
  NextLogits next_logits(model, static_cast<int64_t>(prompt.size()) + settings.tokens);
  const auto ends_text = [&](int64_t token) {
    return settings.stops_at_end_of_text &&
           std::find(bounds.ends.begin(), bounds.ends.end(), token) != bounds.ends.end();
  };
  int64_t asked = 0;
  const auto stop_requested = [&] {
    ++asked;
    return observer.stop_requested();
  };
  for (int64_t& i = generated.tokens; i < settings.tokens;) {
    observer.drawn(i);
    const at::Tensor logits = next_logits(tokens);
    if (!logits.isfinite().all().item<bool>()) {
      generated.end = GeneratedText::End::diverged;
      break;
    }
    const auto probabilities =
        token_probabilities(logits, settings.temperature, settings.top_k, settings.top_p);
    const uint64_t bits = random_bits(
        {static_cast<uint64_t>(seed.seed), random_word("sample"), static_cast<uint64_t>(seed.step),
         static_cast<uint64_t>(seed.index), static_cast<uint64_t>(i)});
    tokens.push_back(draw_token(probabilities, uniform(bits)));
    ++i;
    if (ends_text(tokens.back())) {
      generated.end = GeneratedText::End::end_of_text;
      break;
    }
    if (text.take(tokenizer.decode({&tokens.back(), 1}))) {
      generated.end = GeneratedText::End::stop_text;
      break;
    }
    if (stop_requested()) {
      generated.end = GeneratedText::End::interrupted;
      break;
    }
  }
  // Ranks agree on a stop, so each asks as often as the others, however short its own text.
  while (asked < settings.tokens && generated.end != GeneratedText::End::interrupted)
    if (stop_requested()) generated.end = GeneratedText::End::interrupted;
  observer.drawn(generated.tokens);
  generated.text = text.finish();
  return generated;
}

}  // namespace exprun
