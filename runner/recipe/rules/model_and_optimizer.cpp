#include <map>
#include <nlohmann/json.hpp>

#include "base/format_units.h"
#include "recipe/key_path.h"
#include "recipe/quantities.h"
#include "recipe/rules/rules.h"

namespace exprun {
namespace {

std::string number(int64_t value) {
  return std::to_string(value);
}

const Table* groups_of(const Table& root) {
  const Value* groups = find_path(root, "optimizer.groups");
  return groups == nullptr ? nullptr : groups->as<Table>();
}

// Of [optimizer] and of each group: the tables that have an optimizer's keys.
std::vector<std::string> optimizer_paths(const Table& root) {
  std::vector<std::string> paths = {"optimizer"};
  if (const Table* groups = groups_of(root))
    for (const std::string& name : groups->keys())
      paths.push_back(join_path("optimizer.groups", name));
  return paths;
}

std::optional<double> number_at(const Table& root, const std::string& path) {
  const Value* value = valid_at(root, path);
  if (value == nullptr) return std::nullopt;
  if (const auto* real = value->as<double>()) return *real;
  if (const auto* integer = value->as<int64_t>()) return static_cast<double>(*integer);
  return std::nullopt;
}

}  // namespace

void heads_divide_width(const RuleInput& input, Diagnostics& diagnostics) {
  const auto heads = positive_at(input.root, "model.num_heads");
  const auto width = positive_at(input.root, "model.hidden_size");
  if (!heads || !width || *width % *heads == 0) return;
  if (positive_at(input.root, "model.head_dim")) return;
  diagnostics.push_back(clash(input.root, {"model.num_heads", "model.hidden_size"},
                              "'num_heads' must divide hidden_size, " + number(*width),
                              near_divisors(*width, *heads)));
}

void heads_fit_the_model(const RuleInput& input, Diagnostics& diagnostics) {
  constexpr int64_t kWidest = 1 << 30;
  const auto heads = positive_at(input.root, "model.num_heads");
  const auto head_dim = positive_at(input.root, "model.head_dim");
  const auto width = positive_at(input.root, "model.hidden_size");
  if (!heads || !head_dim || !width) return;
  int64_t together = 0;
  const bool too_large = __builtin_mul_overflow(*heads, *head_dim, &together) || together > kWidest;
  if (too_large)
    return diagnostics.push_back(clash(input.root, {"model.head_dim", "model.num_heads"},
                                       "num_heads times head_dim must be <= " + number(kWidest)));
  const Value* projects = valid_at(input.root, "model.output_projection");
  const bool* is_on = projects == nullptr ? nullptr : projects->as<bool>();
  if (is_on == nullptr || *is_on || together == *width) return;
  diagnostics.push_back(clash(input.root, {"model.output_projection", "model.head_dim"},
                              "without an output projection, num_heads times head_dim (" +
                                  number(together) + ") must equal hidden_size (" + number(*width) +
                                  ")"));
}

void rope_scaling_has_a_range(const RuleInput& input, Diagnostics& diagnostics) {
  const std::string table = "model.position.rope_scaling.";
  const auto low = number_at(input.root, table + "low_freq_factor");
  const auto high = number_at(input.root, table + "high_freq_factor");
  if (text_at(input.root, table + "type") != "llama3" || !low || !high || *low < *high) return;
  diagnostics.push_back(
      clash(input.root, {table + "high_freq_factor", table + "low_freq_factor"},
            "'high_freq_factor' must be more than low_freq_factor, " + shortest(*low)));
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
  const auto head_dim = positive_at(input.root, "model.head_dim");
  if (text_at(input.root, "model.position.type") != "rotary" || !head_dim) return;
  if (*head_dim % 2 == 0) return;
  const std::string message =
      "rotary positions need heads of an even width, not " + number(*head_dim);
  if (is_written(input.root, "model.head_dim"))
    return diagnostics.push_back(
        clash(input.root, {"model.head_dim", "model.position.type"}, message));
  diagnostics.push_back(clash(input.root,
                              {"model.num_heads", "model.hidden_size", "model.position.type"},
                              message, "the width of a head is hidden_size / num_heads"));
}

void vocabulary_covers_tokenizer(const RuleInput& input, Diagnostics& diagnostics) {
  const auto size = integer_at(input.root, "model.vocab_size");
  const auto known = input.dataset_info.vocab_size;
  const auto needed = known ? known : vocabulary_of_bytes(input.root);
  if (!size || !needed || *size >= *needed) return;
  diagnostics.push_back(
      clash(input.root, {"model.vocab_size", "dataset.tokenizer"},
            "'vocab_size' must be >= " + number(*needed) + ", the size of the dataset's vocabulary",
            "\"auto\" uses that number"));
}

void vocabulary_covers_shards(const RuleInput& input, Diagnostics& diagnostics) {
  const auto size = integer_at(input.root, "model.vocab_size");
  const auto least = input.dataset_info.least_vocab_size;
  if (!size || !least || *size >= *least) return;
  const auto described = input.dataset_info.described_vocab_size;
  diagnostics.push_back(clash(
      input.root, {"model.vocab_size", "dataset.train", "dataset.validation"},
      "'vocab_size' must be >= " + number(*least) + ": the data has the token " +
          number(*least - 1),
      described
          ? "the tokenizer that made the tokens has " + number(*described) +
                ": write that, or dataset.tokenizer = \"prepared\" without vocab_size"
          : "write the size of the vocabulary that made the tokens, such as 50257 for GPT-2's"));
}

void vocabulary_is_known(const RuleInput& input, Diagnostics& diagnostics) {
  const bool prepared = input.dataset_info.train_tokens.has_value();
  if (!prepared || text_at(input.root, "model.vocab_size") != "auto") return;
  const auto described = input.dataset_info.described_vocab_size;
  const auto least = input.dataset_info.least_vocab_size;
  diagnostics.push_back(
      {place_of(input.root, "model.vocab_size"),
       "'vocab_size' is unknown: the dataset has no tokenizer",
       described ? "write tokenizer = \"prepared\" in [dataset], which takes the one that made the "
                   "tokens, or set vocab_size = " +
                       number(*described) + " in [model]"
                 : "set it in [model], for example vocab_size = 50257 for GPT-2 tokens" +
                       (least ? "; the data has the token " + number(*least - 1) +
                                    ", so it must be at least " + number(*least)
                              : "")});
}

void optimizer_takes_something(const RuleInput& input, Diagnostics& diagnostics) {
  if (!has_table(input.root, "optimizer")) return;
  const Table* table = input.root.find("optimizer")->as<Table>();
  if (table->find("type") != nullptr) return;
  if (groups_of(input.root) == nullptr || groups_of(input.root)->entries().empty())
    return diagnostics.push_back(
        {place_of(input.root, "optimizer.type"), "[optimizer] needs 'type'", "which optimizer"});
  const Schema& of_all_groups = input.schemas.find("optimizer")->at("properties");
  for (const Entry& entry : table->entries())
    if (!of_all_groups.contains(entry.key))
      diagnostics.push_back({entry.where, "'" + entry.key + "' has no effect without a 'type'",
                             "set a type in [optimizer], or move the key to its groups"});
}

void groups_share_no_glob(const RuleInput& input, Diagnostics& diagnostics) {
  const Table* groups = groups_of(input.root);
  if (groups == nullptr) return;
  std::map<std::string, std::string> taken;  // glob to group
  for (const std::string& group : groups->keys()) {
    const Value* match =
        valid_at(input.root, join_path(join_path("optimizer.groups", group), "match"));
    const Array* globs = match == nullptr ? nullptr : match->as<Array>();
    if (globs == nullptr) continue;
    for (const Value& glob : *globs) {
      const auto* text = glob.as<std::string>();
      if (text == nullptr) continue;
      const auto [other, is_new] = taken.emplace(*text, group);
      if (!is_new)
        diagnostics.push_back(
            {glob.where,
             "\"" + *text + "\" is already matched by [optimizer.groups." + other->second + "]",
             "a parameter can be in only one group"});
    }
  }
}

void adapter_has_weights(const RuleInput& input, Diagnostics& diagnostics) {
  if (find_path(input.root, "model.lora") == nullptr || is_written(input.root, "model.init_from"))
    return;
  diagnostics.push_back({place_of(input.root, "model.lora"),
                         "the adapter trains beside random weights",
                         "set 'init_from' to the model that it is for, or remove [model.lora]",
                         {},
                         Severity::warning});
}

// Each matrix that an adapter is for has hidden_size as one of its sides, which bounds its rank.
void adapter_rank_is_below_width(const RuleInput& input, Diagnostics& diagnostics) {
  const auto rank = positive_at(input.root, "model.lora.rank");
  const auto width = positive_at(input.root, "model.hidden_size");
  if (!rank || !width || *rank <= *width) return;
  diagnostics.push_back(clash(input.root, {"model.lora.rank", "model.hidden_size"},
                              "'rank' is above hidden_size, " + number(*width) +
                                  ", which is the highest rank that the matrices can have",
                              "rank = " + number(*width) + " is as expressive", Severity::warning));
}

void weight_decay_has_parameters(const RuleInput& input, Diagnostics& diagnostics) {
  for (const std::string& path : optimizer_paths(input.root)) {
    const std::string key = join_path(path, "weight_decay");
    const bool decays = number_at(input.root, key).value_or(0) > 0;
    const bool nothing = text_at(input.root, join_path(path, "decay")) == "none";
    if (decays && nothing && is_written(input.root, key))
      diagnostics.push_back(clash(input.root, {key, join_path(path, "decay")},
                                  "'weight_decay' has no effect with decay = \"none\"",
                                  "remove one of them", Severity::warning));
  }
}

void scaled_rate_has_a_reference(const RuleInput& input, Diagnostics& diagnostics) {
  const std::string key = "optimizer.lr_scaling";
  if (text_at(input.root, key).value_or("none") == "none" ||
      find_path(input.root, "optimizer.lr_reference_tokens") != nullptr)
    return;
  diagnostics.push_back(
      {place_of(input.root, key), "'lr_scaling' needs 'lr_reference_tokens'",
       "set it to the tokens of the global batch that the learning rates are meant for"});
}

// Of SGD, as in PyTorch: Muon's first look ahead is the gradient itself.
void nesterov_has_momentum(const RuleInput& input, Diagnostics& diagnostics) {
  for (const std::string& path : optimizer_paths(input.root)) {
    if (text_at(input.root, join_path(path, "type")) != "sgd") continue;
    const std::string key = join_path(path, "nesterov");
    const Value* nesterov = valid_at(input.root, key);
    const bool is_on = nesterov && nesterov->as<bool>() && *nesterov->as<bool>();
    if (is_on && number_at(input.root, join_path(path, "momentum")) == 0.0)
      diagnostics.push_back(
          {place_of(input.root, key), "'nesterov' needs momentum", "such as momentum = 0.9"});
  }
}

// An update that was computed in bf16 is rounded already.
void stochastic_rounding_has_updates_in_fp32(const RuleInput& input, Diagnostics& diagnostics) {
  const Value* rounds = valid_at(input.root, "precision.stochastic_rounding");
  const bool* is_on = rounds == nullptr ? nullptr : rounds->as<bool>();
  if (is_on == nullptr || !*is_on) return;
  if (text_at(input.root, "precision.optimizer_state") != "bf16") return;
  diagnostics.push_back(clash(input.root,
                              {"precision.optimizer_state", "precision.stochastic_rounding"},
                              "'stochastic_rounding' needs optimizer_state = \"fp32\"",
                              "an update computed in bf16 is already rounded to nearest"));
}

}  // namespace exprun
