#include "recipe/key_path.h"
#include "recipe/quantities.h"
#include "recipe/rules/divisors.h"
#include "recipe/rules/rules.h"

namespace exprun {
namespace {

std::string number(int64_t value) {
  return std::to_string(value);
}

}  // namespace

void heads_divide_width(const RuleInput& input, Diagnostics& diagnostics) {
  const auto heads = positive_at(input.root, "model.num_heads");
  const auto width = positive_at(input.root, "model.hidden_size");
  if (!heads || !width || *width % *heads == 0) return;
  diagnostics.push_back(clash(input.root, {"model.num_heads", "model.hidden_size"},
                              "'num_heads' must divide hidden_size, " + number(*width),
                              near_divisors(*width, *heads)));
}

void shared_heads_divide_heads(const RuleInput& input, Diagnostics& diagnostics) {
  const auto shared = positive_at(input.root, "model.num_key_value_heads");
  const auto heads = positive_at(input.root, "model.num_heads");
  if (!shared || !heads || *heads % *shared == 0) return;
  diagnostics.push_back(clash(input.root, {"model.num_key_value_heads", "model.num_heads"},
                              "'num_key_value_heads' must divide num_heads, " + number(*heads),
                              near_divisors(*heads, *shared)));
}

void rotary_heads_are_even(const RuleInput& input, Diagnostics& diagnostics) {
  const auto heads = positive_at(input.root, "model.num_heads");
  const auto width = positive_at(input.root, "model.hidden_size");
  if (text_at(input.root, "model.position.type") != "rotary" || !heads || !width) return;
  if (*width % *heads != 0 || *width / *heads % 2 == 0) return;
  diagnostics.push_back(
      clash(input.root, {"model.num_heads", "model.hidden_size", "model.position.type"},
            "rotary positions need heads of an even width, not " + number(*width / *heads),
            "the width of a head is hidden_size / num_heads"));
}

void vocabulary_covers_tokenizer(const RuleInput& input, Diagnostics& diagnostics) {
  const auto size = integer_at(input.root, "model.vocab_size");
  const auto known = input.facts.vocab_size;
  const auto needed = known ? known : vocabulary_of_bytes(input.root);
  if (!size || !needed || *size >= *needed) return;
  diagnostics.push_back(
      clash(input.root, {"model.vocab_size", "dataset.tokenizer"},
            "'vocab_size' must be >= " + number(*needed) + ", the number of the dataset's tokens",
            "\"auto\" takes that number"));
}

void vocabulary_is_known(const RuleInput& input, Diagnostics& diagnostics) {
  const bool prepared = input.facts.train_tokens.has_value();
  if (!prepared || text_at(input.root, "model.vocab_size") != "auto") return;
  diagnostics.push_back({place_of(input.root, "model.vocab_size"),
                         "'vocab_size' cannot be found: the dataset has no tokenizer",
                         "write it in [model], such as vocab_size = 50257 for GPT-2's tokens"});
}

}  // namespace exprun
