// Keys that are written and change nothing, because of another key.
#include <array>

#include "recipe/paths.h"
#include "recipe/rules/rules.h"

namespace exprun {
namespace {

using Condition = bool (*)(const Table& root);

bool has_no_source(const Table& root) {
  return !is_written(root, "model.init_from");
}

bool has_no_rotation(const Table& root) {
  return text_at(root, "model.position.type").value_or("rotary") != "rotary";
}

bool needs_no_multiple(const Table& root) {
  return text_at(root, "model.activation").value_or("swiglu") != "swiglu" ||
         integer_at(root, "model.feed_forward_size");
}

bool has_no_blocks(const Table& root) {
  return integer_at(root, "dataset.block_tokens") == 0;
}

bool has_no_separator(const Table& root) {
  return text_at(root, "dataset.separator") == "";
}

bool reads_no_vocabulary(const Table& root) {
  const auto tokenizer = text_at(root, "dataset.tokenizer");
  return tokenizer == "byte" || tokenizer == "char";
}

bool scales_no_rate(const Table& root) {
  return text_at(root, "optimizer.lr_scaling") == "none";
}

struct IdleKey {
  const char* path;
  Condition is_idle;
  const char* lacking;
};

constexpr const char* kSource = "'init_from'";
constexpr const char* kRotary = "type = \"rotary\" in [model.position]";
constexpr std::array kIdleKeys = {
    IdleKey{"model.init_names", has_no_source, kSource},
    IdleKey{"model.init_partial", has_no_source, kSource},
    IdleKey{"model.init_resize_vocabulary", has_no_source, kSource},
    IdleKey{"model.position.rope_theta", has_no_rotation, kRotary},
    IdleKey{"model.position.layout", has_no_rotation, kRotary},
    IdleKey{"model.position.direction", has_no_rotation, kRotary},
    IdleKey{"model.position.rope_scaling", has_no_rotation, kRotary},
    IdleKey{"model.position.table_dtype", has_no_rotation, kRotary},
    IdleKey{"model.feed_forward_multiple", needs_no_multiple,
            "activation = \"swiglu\" and feed_forward_size = \"auto\""},
    IdleKey{"dataset.block_documents", has_no_blocks, "'block_tokens'"},
    IdleKey{"dataset.keep_separator", has_no_separator, "'separator'"},
    IdleKey{"dataset.vocabulary", reads_no_vocabulary, "tokenizer = \"gpt2\" or \"huggingface\""},
    IdleKey{"optimizer.lr_reference_tokens", scales_no_rate, "'lr_scaling'"},
};

// "false" and 0 say that nothing is wanted.
bool asks_for_something(const Table& root, const char* path) {
  const Value* value = valid_at(root, path);
  if (value == nullptr || !is_written(root, path)) return false;
  const auto* is_on = value->as<bool>();
  const auto* count = value->as<int64_t>();
  return !(is_on && !*is_on) && !(count && *count == 0);
}

}  // namespace

void keys_have_an_effect(const RuleInput& input, Diagnostics& diagnostics) {
  for (const IdleKey& key : kIdleKeys) {
    if (!asks_for_something(input.root, key.path) || !key.is_idle(input.root)) continue;
    const std::string name = last_part(key.path), lacking = key.lacking;
    diagnostics.push_back({place_of(input.root, key.path),
                           "'" + name + "' has no effect without " + lacking,
                           "set " + lacking + ", or remove '" + name + "'",
                           {},
                           Severity::warning});
  }
}

}  // namespace exprun
