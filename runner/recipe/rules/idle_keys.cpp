// Keys that are written and change nothing, because of another key.
#include <array>

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

bool has_no_gate(const Table& root) {
  return text_at(root, "model.activation").value_or("swiglu") != "swiglu";
}

bool has_no_blocks(const Table& root) {
  return integer_at(root, "dataset.block_tokens") == 0;
}

bool has_no_separator(const Table& root) {
  return text_at(root, "dataset.separator") == "";
}

bool reads_no_vocabulary(const Table& root) {
  const auto tokenizer = text_at(root, "dataset.tokenizer");
  return tokenizer == "byte" || tokenizer == "char" || tokenizer == "none";
}

bool scales_no_rate(const Table& root) {
  return text_at(root, "optimizer.lr_scaling") == "none";
}

struct IdleKey {
  const char* path;
  const char* other;  // the key that decides it
  Condition is_idle;
  const char* lacking;
};

constexpr const char *kFrom = "model.init_from", *kSource = "'init_from'";
constexpr const char *kPosition = "model.position.type",
                     *kRotary = "type = \"rotary\" in [model.position]";
constexpr std::array kIdleKeys = {
    IdleKey{"model.init_names", kFrom, has_no_source, kSource},
    IdleKey{"model.init_partial", kFrom, has_no_source, kSource},
    IdleKey{"model.init_resize_vocabulary", kFrom, has_no_source, kSource},
    IdleKey{"model.position.rope_theta", kPosition, has_no_rotation, kRotary},
    IdleKey{"model.position.layout", kPosition, has_no_rotation, kRotary},
    IdleKey{"model.position.table_dtype", kPosition, has_no_rotation, kRotary},
    IdleKey{"model.feed_forward_multiple", "model.activation", has_no_gate,
            "activation = \"swiglu\""},
    IdleKey{"dataset.block_documents", "dataset.block_tokens", has_no_blocks, "'block_tokens'"},
    IdleKey{"dataset.keep_separator", "dataset.separator", has_no_separator, "'separator'"},
    IdleKey{"dataset.vocabulary", "dataset.tokenizer", reads_no_vocabulary,
            "tokenizer = \"gpt2\" or \"huggingface\""},
    IdleKey{"optimizer.lr_reference_tokens", "optimizer.lr_scaling", scales_no_rate,
            "'lr_scaling'"},
};

// A recipe keeps keys for what a change of the command line, or a trial of a sweep, replaces.
bool is_changed(const Table& root, const char* path) {
  const Value* value = find_path(root, path);
  return value != nullptr && value->origin == Origin::command_line;
}

}  // namespace

Diagnostic idle_key(const Table& root, const std::string& path, const std::string& lacking) {
  const std::string name = last_part(path);
  return {place_of(root, path),
          "'" + name + "' has no effect without " + lacking,
          "set " + lacking + ", or remove '" + name + "'",
          {},
          Severity::warning};
}

void keys_have_an_effect(const RuleInput& input, Diagnostics& diagnostics) {
  for (const IdleKey& key : kIdleKeys) {
    if (!asks_for_something(input, key.path) || !key.is_idle(input.root)) continue;
    if (is_changed(input.root, key.other)) continue;
    diagnostics.push_back(idle_key(input.root, key.path, key.lacking));
  }
}

}  // namespace exprun
