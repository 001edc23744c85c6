// Keys of other tools' configurations.
#pragma once

#include <string_view>

namespace exprun {

// Words of other tools (nanoGPT, PyTorch, HuggingFace, Lightning, Hydra) for what has another name
// here. Whoever meets an unknown word looks here before it looks for a misspelt one.
struct KeySynonym {
  const char* word;
  const char* path;       // of the recipe's key: "model.hidden_size"; "" where no key is needed
  const char* note = "";  // what to know of it, after the path and before a '?'; else the reason
};

// Null for a word that no other tool has, as far as is known.
const KeySynonym* key_synonym(std::string_view word);

}  // namespace exprun
