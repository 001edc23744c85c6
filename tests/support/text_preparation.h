// Preparing texts in tests: a recipe around [dataset], and packed bytes.
#pragma once

#include <zlib.h>
#include <zstd.h>

#include <filesystem>
#include <optional>
#include <string>

#include "control/data/prepare_text.h"
#include "recipe/resolved.h"
#include "support/fixtures.h"
#include "support/shard_tokens.h"

namespace exprun {

inline ResolvedRecipe recipe_with(const std::filesystem::path& path, const std::string& more) {
  const std::string text =
      "run.steps = 1\n[model]\ntype = \"gpt\"\nnum_layers = 1\nnum_heads = 1\nhidden_size = 8\n"
      "context_length = 4\nvocab_size = 50304\n[batch]\nsequences = 2\n[optimizer]\ntype = "
      "\"adamw\"\n"
      "lr = 1e-3\n[evaluation]\n[dataset]\ntype = \"text\"\npath = '" +
      path.string() + "'\n" + more;
  return resolve({{std::make_shared<SourceFile>(SourceFile{"test.toml", text})}, {}}, {});
}

inline PreparedData prepare(const std::filesystem::path& path, const std::filesystem::path& store,
                            const std::string& more, PrepareOptions options = {}) {
  const auto recipe = recipe_with(path, more);
  return prepare_text(recipe.section("dataset"), *recipe.find("dataset")->as<Table>(), store,
                      options);
}

inline std::string text_of(const std::vector<TokenShard>& shards) {
  std::string text;
  for (const int64_t token : tokens_of(shards)) text += static_cast<char>(token);
  return text;
}

inline std::string complaint(const std::filesystem::path& path, const std::filesystem::path& store,
                             const std::string& more) {
  try {
    prepare(path, store, more);
  } catch (const RecipeError& error) {
    return error.diagnostics().at(0).message;
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// The tokenizer's lines of a recipe, or nothing without other projects' files.
inline std::optional<std::string> gpt2_keys() {
  const auto vocabulary = fixture("data/vocab.bpe");
  if (!vocabulary) return std::nullopt;
  return "tokenizer = \"gpt2\"\nvocabulary = '" + std::filesystem::absolute(*vocabulary).string() +
         "'\n";
}

inline std::string gzip(const std::string& bytes) {
  std::string packed(bytes.size() + 100, '\0');
  z_stream state{};
  deflateInit2(&state, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
  state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  state.avail_in = static_cast<uInt>(bytes.size());
  state.next_out = reinterpret_cast<Bytef*>(packed.data());
  state.avail_out = static_cast<uInt>(packed.size());
  deflate(&state, Z_FINISH);
  packed.resize(state.total_out);
  deflateEnd(&state);
  return packed;
}

inline std::string zstd(const std::string& bytes) {
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), 3));
  return packed;
}

// As `zstd --long=WINDOW` writes what comes through a pipe: a frame that says no size.
inline std::string zstd_of_window(const std::string& bytes, int window) {
  ZSTD_CCtx* const state = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(state, ZSTD_c_windowLog, window);
  std::string packed(ZSTD_compressBound(bytes.size()) + 100, '\0');
  ZSTD_outBuffer out{packed.data(), packed.size(), 0};
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0}, end{nullptr, 0, 0};
  ZSTD_compressStream2(state, &out, &in, ZSTD_e_continue);
  ZSTD_compressStream2(state, &out, &end, ZSTD_e_end);
  ZSTD_freeCCtx(state);
  packed.resize(out.pos);
  return packed;
}

}  // namespace exprun
