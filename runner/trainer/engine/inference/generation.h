// Text that a model writes after a prompt, token by token.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model.h"
#include "recipe/section.h"
#include "text/tokenizer.h"

namespace exprun {

// The logits of weights that are NaN: for people.
inline constexpr const char* kDivergedLogits =
    "the model has diverged: its logits are NaN or infinite";

struct GenerationSettings {
  int64_t tokens = 0;      // at most
  double temperature = 0;  // and the next two as token_probabilities() takes them
  int64_t top_k = 0;
  double top_p = 1;
  std::vector<std::string> stop;     // a text ends before the first of them
  bool stops_at_end_of_text = true;  // and before what ends one in the tokenizer's bounds()

  // The keys of [evaluation.sample].
  static GenerationSettings from(const Section& section);
};

// What tells a text from others of the same run: equal ones are the same text.
struct GenerationSeed {
  int64_t seed = 0;
  int64_t step = 0;   // of the checkpoint
  int64_t index = 0;  // of the text
};

struct GeneratedText {
  enum class End { tokens, stop_text, end_of_text, diverged, interrupted };
  std::string text;  // without the prompt; valid UTF-8
  int64_t tokens = 0;
  End end = End::tokens;
};

// Who looks on. `written` gets the text in pieces as soon as they are certain: whole characters,
// none that may still belong to a stop text.
struct GenerationObserver {
  std::function<void(std::string_view)> written = [](std::string_view) {};
  std::function<void(int64_t tokens)> drawn = [](int64_t) {};  // before each token, and at the end
  std::function<bool()> stop_requested = [] { return false; };
};

// Gradients are off and the model is not in training. Once the text is longer than its
// context_length() the model sees the last tokens only, from position 0. The prompt has one token
// at least.
GeneratedText generate_text(Model& model, const Tokenizer& tokenizer, const Tokens& prompt,
                            const GenerationSettings& settings, const GenerationSeed& seed,
                            const GenerationObserver& observer = {});

}  // namespace exprun
