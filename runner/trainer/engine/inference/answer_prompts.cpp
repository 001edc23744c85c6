#include "engine/inference/answer_prompts.h"

#include <ATen/core/grad_mode.h>

#include <map>

#include "base/diagnostic.h"
#include "base/process/signals.h"
#include "engine/inference/generation.h"
#include "engine/record/evaluation_progress.h"

namespace exprun {
namespace {

using nlohmann::json;
using Say = std::function<void(const json&)>;
using Drawn = std::function<void(int64_t tokens)>;

// Nothing, and why is said, for a prompt that there are no tokens for.
std::optional<Tokens> encoded(const LoadedModel& loaded, const std::string& prompt,
                              const Say& say) try {
  Tokens tokens = loaded.pipeline().tokenizer->encode_prompt(prompt);
  if (!tokens.empty()) return tokens;
  say({{"problem", "the prompt is empty"}});
  return std::nullopt;
} catch (const UnknownCharacter& error) {
  say({{"problem", std::string(error.what()) + "; leave it out"}});
  return std::nullopt;
} catch (const Error& error) {
  say({{"problem", error.what()}});
  return std::nullopt;
}

// Of one text. False if a stop was requested.
bool write(const LoadedModel& loaded, const Tokens& prompt, const GenerationSettings& settings,
           const GenerationSeed& seed, const Drawn& drawn, const Say& say) {
  GenerationObserver observer;
  observer.drawn = drawn;
  observer.written = [&](std::string_view piece) { say({{"text", piece}}); };
  observer.stop_requested = [] { return stop_requested() != StopRequest::none; };
  const Pipeline& pipeline = loaded.pipeline();
  const auto generated =
      generate_text(pipeline.model(), *pipeline.tokenizer, prompt, settings, seed, observer);
  switch (generated.end) {
    case GeneratedText::End::interrupted:
      return false;
    case GeneratedText::End::diverged:
      say({{"problem", kDivergedLogits}});
      return true;
    case GeneratedText::End::tokens:
      say({{"end", "tokens"}});
      return true;
    case GeneratedText::End::stop_text:
      say({{"end", "stop_text"}});
      return true;
    case GeneratedText::End::end_of_text:
      say({{"end", "end_of_text"}});
      return true;
  }
  return true;
}

}  // namespace

void answer_prompts(const LoadedModel& loaded, const Answering& answering,
                    const std::function<std::optional<std::string>()>& next_prompt,
                    const Say& say) {
  if (!loaded.pipeline().tokenizer) throw Error("sample: the data has no tokenizer");
  const at::NoGradGuard no_grad;
  const Section section = loaded.recipe().section("evaluation").table("sample");
  const auto settings = GenerationSettings::from(section);
  const auto samples = section.get<int64_t>("samples");
  const int64_t seed =
      section.find<int64_t>("seed").value_or(loaded.recipe().section("run").get<int64_t>("seed"));
  std::map<std::string, int64_t> written;  // texts of each prompt
  const json answered{{"answered", true}};
  say(answered);  // ready
  while (const auto prompt = next_prompt()) {
    if (answering.is_interactive) take_interrupt();  // of the text before, which had ended
    const auto tokens = encoded(loaded, *prompt, say);
    std::optional<EvaluationProgress> progress;
    if (answering.shows_progress) progress.emplace("sample");
    for (int64_t i = 0; tokens && i < samples; ++i) {
      const auto drawn = [&](int64_t count) {
        if (progress) progress->show({i * settings.tokens + count, samples * settings.tokens});
      };
      if (write(loaded, *tokens, settings, {seed, loaded.step(), written[*prompt]++}, drawn, say))
        continue;
      if (!answering.is_interactive || !take_interrupt()) throw Error("sample: stopped");
      say({{"end", "interrupted"}});
      break;
    }
    say(answered);
  }
}

}  // namespace exprun
