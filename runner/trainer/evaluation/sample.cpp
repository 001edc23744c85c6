// Text that the model writes after a prompt, or in response to an instruction.
#include "engine/evaluation.h"
#include "engine/inference/generation.h"

namespace exprun {
namespace {

constexpr const char* kSeparator = "\n---\n";

struct Settings {
  std::string prompt;
  std::optional<std::string> instruction;  // in place of the prompt
  std::string system;                      // before the instruction, or empty
  GenerationSettings generation;
  int64_t samples = 0;
  std::optional<int64_t> seed;  // else the run's
};

class Sample : public Evaluation {
 public:
  Sample(Section section, Settings settings)
      : section_(std::move(section)), settings_(std::move(settings)) {}

  void check(const Dataset& dataset, const Tokenizer* tokenizer) const override {
    if (!tokenizer)
      throw section_.error(key(), "generating text needs a tokenizer, but this dataset has none",
                           "remove this evaluation");
    if (encoded(dataset, *tokenizer).empty())
      throw section_.error(key(), "the prompt is empty", "a line break, \"\\n\", is enough");
  }

  bool before_training() const override { return false; }

  std::optional<EvaluationResult> evaluate(const EvaluationContext& context) override {
    EvaluationResult result;
    for (int64_t index = 0; index < settings_.samples; ++index) {
      const auto written = write(context, index);
      if (!written) return std::nullopt;
      if (!written->problem.empty()) return written;
      result.text += (index > 0 ? kSeparator : "") + written->text;
    }
    return result;
  }

 private:
  const char* key() const { return settings_.instruction ? "instruction" : "prompt"; }

  Tokens encoded(const Dataset& dataset, const Tokenizer& tokenizer) const {
    try {
      return tokenizer.encode_prompt(
          settings_.instruction ? dataset.prompt_for(*settings_.instruction, settings_.system)
                                : settings_.prompt);
    } catch (const UnknownCharacter& error) {
      throw section_.error(key(), error.what(), "leave it out");
    } catch (const Error& error) {
      throw section_.error(key(), error.what());
    }
  }

  // What is shown before the text of the model: of an instruction without its template.
  std::string shown() const {
    return settings_.instruction ? *settings_.instruction + '\n' : settings_.prompt;
  }

  // One text, or why there is none; nothing if a stop was requested.
  std::optional<EvaluationResult> write(const EvaluationContext& context, int64_t index) const {
    const int64_t most = settings_.generation.tokens;
    GenerationObserver observer;
    observer.drawn = [&](int64_t tokens) {
      context.report({index * most + tokens, settings_.samples * most});
    };
    observer.stop_requested = context.stop_requested;
    const GeneratedText generated =
        generate_text(context.model, *context.tokenizer,
                      encoded(context.dataset, *context.tokenizer), settings_.generation,
                      {settings_.seed.value_or(context.seed), context.step, index}, observer);
    switch (generated.end) {
      case GeneratedText::End::interrupted:
        return std::nullopt;
      case GeneratedText::End::diverged:
        return EvaluationResult{{}, "", kDivergedLogits};
      default:
        return EvaluationResult{{}, shown() + generated.text, ""};
    }
  }

  Section section_;
  Settings settings_;
};

std::unique_ptr<Evaluation> build(const Section& section) {
  return std::make_unique<Sample>(
      section,
      Settings{section.get<std::string>("prompt"), section.find<std::string>("instruction"),
               section.find<std::string>("system").value_or(""), GenerationSettings::from(section),
               section.get<int64_t>("samples"), section.find<int64_t>("seed")});
}

const Register<Evaluation> registration{"sample", build};

}  // namespace

}  // namespace exprun
