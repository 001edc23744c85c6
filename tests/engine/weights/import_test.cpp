// [model] init_from and `exprun export`: names, shapes and orders of other systems, and back.
#include "engine/weights/import.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/zeros.h>
#include <doctest/doctest.h>

#include <limits>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "engine/weights/export.h"
#include "engine/weights/tensor_plan.h"
#include "support/sections.h"
#include "support/temporary_folder.h"

using namespace exprun;

namespace {

constexpr const char* kLlama =
    "num_key_value_heads = 1\nnorm = { type = \"rms_norm\" }\nactivation = \"swiglu\"\n"
    "bias = false\ntie_embeddings = false\n";

struct Built {
  explicit Built(const std::string& keys, int64_t seed = 1,
                 const TokenMatch& tokens = {std::nullopt, "nobody knows them"})
      : recipe(recipe_with("model", "gpt",
                           keys.starts_with("vocab_size") ? keys : "vocab_size = 11\n" + keys)),
        state(build_train_state(recipe, at::kCPU)) {
    state.parameters->initialize(seed);
    imported = import_weights(recipe, state, tokens);
  }

  at::Tensor of(const std::string& name) const { return state.parameters->find(name)->tensor; }
  at::Tensor logits(const at::Tensor& tokens) const {
    const at::NoGradGuard no_grad;
    return state.model->logits(tokens);
  }
  // Every parameter's, by name.
  std::vector<NamedTensor> tensors() const {
    std::vector<NamedTensor> all;
    for (const Parameter& parameter : state.parameters->items())
      all.push_back({parameter.name, parameter.tensor.detach().contiguous()});
    return all;
  }
  std::vector<std::string> write(const std::filesystem::path& folder, const char* type,
                                 size_t most_bytes = 1 << 20,
                                 at::ScalarType dtype = at::kFloat) const {
    const auto plan =
        type ? foreign_plan(*tensor_names(type), state.parameters->items(), recipe.section("model"))
             : own_plan(state.parameters->items(),
                        recipe.section("model").get<int64_t>("vocab_size"));
    CHECK(plan.unplanned.empty());
    return write_weights(
        plan, [&](const std::string& name) { return of(name).detach(); }, dtype, folder,
        most_bytes);
  }

  ResolvedRecipe recipe;
  TrainState state;
  std::optional<Imported> imported;
};

std::string init_from(const std::filesystem::path& path) {
  return "init_from = \"" + path.string() + "\"\n";
}

std::string refusal(const std::string& keys) try {
  Built built(keys);
  return "none";
} catch (const std::exception& error) {
  return error.what();
}

bool same(const Built& a, const Built& b) {
  for (const Parameter& parameter : a.state.parameters->items())
    if (!at::equal(parameter.tensor, b.of(parameter.name))) return false;
  return true;
}

}  // namespace

TEST_CASE("init_from: a file of our own names, and a folder with one, give every bit") {
  const TemporaryFolder folder;
  const Built source("", 7);
  CHECK_FALSE(source.imported);
  write_safetensors(folder.path() / "model.safetensors", source.tensors());
  for (const auto& path : {folder.path(), folder.path() / "model.safetensors"}) {
    const Built built(init_from(path));
    REQUIRE(built.imported);
    CHECK(built.imported->text == "28 tensors from '" + path.string() + "' (exprun)");
    CHECK(built.imported->warnings.empty());
    CHECK(same(built, source));
  }
}

TEST_CASE("init_from: every difference is told at once, and nothing is changed") {
  const TemporaryFolder folder;
  auto tensors = Built("", 7).tensors();
  std::erase_if(tensors, [](const auto& named) { return named.name == "final_norm.bias"; });
  tensors.push_back({"extra", at::zeros({2})});
  for (NamedTensor& named : tensors) {
    if (named.name == "final_norm.weight") named.tensor = at::ones({3});
    if (named.name == "position_embedding.weight") named.tensor = named.tensor.to(at::kLong);
  }
  const auto file = folder.path() / "w.safetensors";
  write_safetensors(file, tensors);
  CHECK(refusal(init_from(file)) ==
        "weights: '" + file.string() +
            "' and the model of the recipe differ in 4 tensors:\n"
            "  missing: 'final_norm.bias'\n"
            "  'position_embedding.weight' has the dtype I64, not F32, F16, BF16 or F64\n"
            "  'final_norm.weight' has the shape [3], not [16]\n"
            "  not in the model: 'extra'");
  CHECK(refusal(init_from(folder.path() / "none")) ==
        "weights: '" + (folder.path() / "none").string() + "' does not exist");
  folder.write("pickled/pytorch_model.bin", "x");
  CHECK(refusal(init_from(folder.path() / "pickled")) ==
        "weights: '" + (folder.path() / "pickled").string() +
            "' has no model.safetensors, only pytorch_model.bin, which can run code when it is "
            "loaded; "
            "save it as safetensors with transformers: "
            "AutoModelForCausalLM.from_pretrained(...).save_pretrained(...)");
}

TEST_CASE("init_from: what differs alike in several blocks is told once") {
  const TemporaryFolder folder;
  auto tensors = Built("num_layers = 4\n", 7).tensors();
  for (NamedTensor& named : tensors) {
    if (named.name.ends_with(".attention_norm.weight")) named.tensor = at::ones({3});
    if (named.name == "blocks.2.feed_forward_norm.bias") named.tensor = at::ones({3});
  }
  std::erase_if(tensors, [](const auto& named) {
    return named.name.ends_with(".attention_norm.bias") &&
           named.name != "blocks.1.attention_norm.bias";
  });
  const auto file = folder.path() / "w.safetensors";
  write_safetensors(file, tensors);
  CHECK(refusal(init_from(file) + "num_layers = 4\n") ==
        "weights: '" + file.string() +
            "' and the model of the recipe differ in 8 tensors:\n"
            "  missing: 'blocks.{0,2,3}.attention_norm.bias'\n"
            "  'blocks.{0..3}.attention_norm.weight' has the shape [3], not [16]\n"
            "  'blocks.2.feed_forward_norm.bias' has the shape [3], not [16]");
}

TEST_CASE("init_from: blocks are told in order, and only as one where nothing else differs") {
  const TemporaryFolder folder;
  auto tensors = Built("", 7).tensors();
  for (int i = 0; i < 12; ++i)
    tensors.push_back({"bar." + std::to_string(i) + ".w", at::zeros({2})});
  for (const int block : {1, 10, 3})
    for (const int expert : {0, 1})
      tensors.push_back(
          {"foo." + std::to_string(block) + ".experts." + std::to_string(expert) + ".w",
           at::zeros({2})});
  tensors.push_back({"odd.99999999999999999999999.w", at::zeros({2})});
  const auto file = folder.path() / "w.safetensors";
  write_safetensors(file, tensors);
  CHECK(refusal(init_from(file)) == "weights: '" + file.string() +
                                        "' and the model of the recipe differ in 19 tensors:\n"
                                        "  not in the model: 'bar.{0..11}.w'\n"
                                        "  not in the model: 'foo.{1,3,10}.experts.0.w'\n"
                                        "  not in the model: 'foo.{1,3,10}.experts.1.w'\n"
                                        "  not in the model: 'odd.99999999999999999999999.w'\n"
                                        "  model.init_partial = true loads the tensors that both "
                                        "have");
}

TEST_CASE("init_from: a part is taken where that is asked for, and named") {
  const TemporaryFolder folder;
  const Built source("", 7), fresh("");
  auto tensors = source.tensors();
  std::erase_if(tensors, [](const auto& named) { return named.name == "final_norm.bias"; });
  tensors.push_back({"extra", at::zeros({2})});
  const auto file = folder.path() / "w.safetensors";
  write_safetensors(file, tensors);
  const Built built(init_from(file) + "init_partial = true\n");
  CHECK(at::equal(built.of("token_embedding.weight"), source.of("token_embedding.weight")));
  CHECK(at::equal(built.of("final_norm.bias"), fresh.of("final_norm.bias")));
  CHECK(built.imported->warnings ==
        std::vector<std::string>{
            "the weights lack these parameters, which keep their initial values: 'final_norm.bias'",
            "the model lacks these tensors, which were ignored: 'extra'"});
}

TEST_CASE("init_from: a plain file by a table of names") {
  const TemporaryFolder folder;
  const Built source("", 7);
  const auto file = folder.path() / "w.safetensors";
  std::vector<NamedTensor> theirs;
  for (const auto& [name, tensor] : source.tensors()) {
    if (name == "token_embedding.weight") {
      theirs.push_back({"wte", tensor});
    } else if (name.ends_with("up_projection.weight")) {
      theirs.push_back({"h." + name.substr(7, 1) + ".fc", tensor.t().contiguous()});
    } else if (name.ends_with("query_key_value.weight")) {
      const auto parts = tensor.chunk(3);
      for (size_t i = 0; i < 3; ++i)
        theirs.push_back({"h." + name.substr(7, 1) + "." + "qkv"[i], parts[i].contiguous()});
    } else {
      theirs.push_back({name, tensor});
    }
  }
  write_safetensors(file, theirs);
  const std::string begin = init_from(file) + "init_names = [\"token_embedding.weight = wte\", ";
  const std::string fc = "\"blocks.*.feed_forward.up_projection.weight = h.*.fc (transposed)\", ";
  const auto part = [](const std::string& word, const std::string& letter) {
    return "\"blocks.*.attention." + word + ".weight = h.*." + letter + "\", ";
  };
  const std::string query = part("query", "q"), rest = part("key", "k") + part("value", "v");
  const Built built(begin + fc + query + rest + "]\n");
  for (const auto& [name, tensor] : source.tensors()) CHECK(at::equal(built.of(name), tensor));
  CHECK(built.imported->text.find("(model.init_names)") != std::string::npos);
  CHECK(built.imported->warnings.empty());

  const auto refused = [&](const std::string& lines) { return refusal(begin + lines + "]\n"); };
  CHECK(refused(fc + query)
            .find("only a part of 'blocks.0.attention.query_key_value.weight' is "
                  "listed") != std::string::npos);
  CHECK(refused(fc + query + query + rest).find("is listed twice") != std::string::npos);
  CHECK(refused(fc + query + query + part("key", "k")).find("is listed twice") !=
        std::string::npos);
  CHECK(refused("\"final_norm.weight = ln (transposed)\"").find("is not a matrix") !=
        std::string::npos);
  CHECK(refused("\"blocks.*.mlp.weight = h.*.fc\"")
            .find("the model has no parameter that 'blocks.*.mlp.weight = h.*.fc' could mean") !=
        std::string::npos);
  for (const char* line : {"wte", "= wte", "a =", "blocks.* = h", "a.*.* = b.*.*"})
    CHECK(refused("\"" + std::string(line) + "\"").find("'" + std::string(line) + "' ") !=
          std::string::npos);
  CHECK(refused(query + rest).find("missing: 'blocks.{0,1}.feed_forward.up_projection.weight'") !=
        std::string::npos);
}

TEST_CASE("init_from: a larger vocabulary starts with the mean of the old rows, if allowed") {
  const TemporaryFolder folder;
  const Built source("", 7);
  const auto file = folder.path() / "w.safetensors";
  write_safetensors(file, source.tensors());
  const std::string larger = init_from(file) + "vocab_multiple = 16\n";
  CHECK(refusal(larger).find("'token_embedding.weight' has the shape [11,16], not [16,16]") !=
        std::string::npos);
  const std::string hint = "init_resize_vocabulary = true adds the tokens that are missing there";
  CHECK(refusal(larger).find(hint) != std::string::npos);
  CHECK(refusal(larger + "hidden_size = 24\n").find(hint) == std::string::npos);
  const Built built(larger + "init_resize_vocabulary = true\n");
  const auto old = source.of("token_embedding.weight"), now = built.of("token_embedding.weight");
  CHECK(at::equal(now.narrow(0, 0, 11), old));
  for (int64_t row = 11; row < 16; ++row) CHECK(at::allclose(now[row], old.mean(0)));
}

TEST_CASE("init_from: a token keeps its row where new ones have shifted its number") {
  const TemporaryFolder folder;
  const std::string padded = "vocab_multiple = 8\ntie_embeddings = false\n";
  const Built source(padded, 7);
  source.write(folder.path(), nullptr);
  const MatchedTokens tokens{
      {0, MatchedTokens::kNone, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, MatchedTokens::kNone}, 11};
  const Built built(
      "vocab_size = 13\ninit_resize_vocabulary = true\n" + padded + init_from(folder.path()), 1,
      {tokens});
  for (const char* name : {"token_embedding.weight", "head.weight"}) {
    const auto old = source.of(name).narrow(0, 0, 11), now = built.of(name);
    CHECK(at::equal(now[0], old[0]));
    CHECK(at::equal(now.narrow(0, 2, 10), old.narrow(0, 1, 10)));
    for (const int64_t row : {1, 12}) CHECK(at::allclose(now[row], old.mean(0)));
  }
  CHECK(built.imported->text.ends_with("; tokens are matched by their text: 11 of 11 kept, 2 new"));
}

TEST_CASE("init_from: tokens that are new within the padding are no less new") {
  const TemporaryFolder folder;
  const std::string padded = "vocab_multiple = 8\ntie_embeddings = false\n";
  const Built source(padded, 7);
  source.write(folder.path(), nullptr);
  const std::string larger = "vocab_size = 13\n" + padded + init_from(folder.path());
  const auto refused = refusal(larger);
  for (const char* name : {"token_embedding", "head"})
    CHECK(refused.find("'" + std::string(name) + ".weight' is of 11 tokens, not 13") !=
          std::string::npos);
  const TemporaryFolder other;
  Built("vocab_size = 13\n" + padded, 7).write(other.path(), nullptr);
  CHECK(refusal(padded + "init_resize_vocabulary = true\n" + init_from(other.path()))
            .find("is of 13 tokens, not 11") != std::string::npos);
  const Built built(larger + "init_resize_vocabulary = true\n"), fresh(padded);
  for (const char* name : {"token_embedding.weight", "head.weight"}) {
    const auto old = source.of(name).narrow(0, 0, 11), now = built.of(name);
    REQUIRE(now.size(0) == 16);
    CHECK(at::equal(now.narrow(0, 0, 11), old));
    for (int64_t row = 11; row < 13; ++row) CHECK(at::allclose(now[row], old.mean(0)));
    CHECK(at::equal(now.narrow(0, 13, 3), fresh.of(name).narrow(0, 13, 3)));
  }
  CHECK(same(Built(padded + init_from(folder.path())), source));
}

TEST_CASE("init_from: any padding fits, and is no token") {
  const TemporaryFolder folder;
  const std::string untied = "tie_embeddings = false\n", padded = untied + "vocab_multiple = 8\n";
  for (const auto& [from, to] : {std::pair{padded, untied}, {untied, padded}}) {
    const Built source(from, 7);
    source.write(folder.path(), nullptr);
    const Built built(to + init_from(folder.path())), fresh(to);
    for (const char* name : {"token_embedding.weight", "head.weight"}) {
      const auto now = built.of(name);
      CHECK(at::equal(now.narrow(0, 0, 11), source.of(name).narrow(0, 0, 11)));
      const int64_t padding = now.size(0) - 11;
      CHECK(at::equal(now.narrow(0, 11, padding), fresh.of(name).narrow(0, 11, padding)));
    }
  }
}

TEST_CASE("init_from: tokens are left out only where it is known which they are") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "w.safetensors";
  const std::string smaller = "init_resize_vocabulary = true\n" + init_from(file);
  const Built source("vocab_size = 13\n", 7);
  for (const auto& metadata : {SafetensorsMetadata{}, vocabulary_metadata(13)}) {
    write_safetensors(file, source.tensors(), metadata);
    CHECK(refusal(smaller).ends_with(
        "\n  tokens can be left out only if the tokenizer of the weights and that of the data are "
        "known, because tokens are matched by their text (nobody knows them)"));
    const MatchedTokens last{{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 13};
    const Built same_numbers(smaller, 1, {}), matched(smaller, 1, {last});
    const auto old = source.of("token_embedding.weight");
    CHECK(at::equal(same_numbers.of("token_embedding.weight"), old.narrow(0, 0, 11)));
    CHECK(at::equal(matched.of("token_embedding.weight"), old.narrow(0, 2, 11)));
  }
}

TEST_CASE("init_from: no file has fewer tokens than one, or more than rows") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "w.safetensors";
  const Built source("", 7);
  for (const int64_t said : {-1, 0, 12}) {
    write_safetensors(file, source.tensors(), vocabulary_metadata(said));
    for (const char* keys : {"", "vocab_size = 13\ninit_resize_vocabulary = true\n"})
      CHECK(refusal(keys + init_from(file))
                .find("'token_embedding.weight' has the shape [11,16], but its file says that "
                      "vocab_size is " +
                      std::to_string(said)) != std::string::npos);
  }
}

TEST_CASE("init_from: a HuggingFace folder grows by tokens, its embedding and its own head") {
  const TemporaryFolder folder;
  const std::string rest = std::string(kLlama) + "query_key_value = \"separate\"\n" +
                           "position = { type = \"rotary\", direction = \"counter_clockwise\" }\n";
  const Built source(rest + "vocab_multiple = 8\n", 7);
  source.write(folder.path(), "llama");
  const std::string larger =
      "vocab_size = 13\nvocab_multiple = 8\n" + rest + init_from(folder.path());
  const auto refused = refusal(larger);
  for (const char* name : {"model.embed_tokens.weight", "lm_head.weight"})
    CHECK(refused.find("'" + std::string(name) + "' has the shape [11,16], not [13,16]") !=
          std::string::npos);
  const Built built(larger + "init_resize_vocabulary = true\n");
  for (const char* name : {"token_embedding.weight", "head.weight"}) {
    const auto old = source.of(name).narrow(0, 0, 11), now = built.of(name);
    CHECK(at::equal(now.narrow(0, 0, 11), old));
    for (int64_t row = 11; row < 13; ++row) CHECK(at::allclose(now[row], old.mean(0)));
  }
}

TEST_CASE("export: every order of rotary positions becomes HuggingFace's, and comes back bitwise") {
  const auto tokens = at::randint(11, {2, 8}, at::kLong);
  for (const char* layout : {"half_split", "interleaved"})
    for (const char* direction : {"clockwise", "counter_clockwise"})
      for (const char* joined : {"fused", "separate"}) {
        CAPTURE(layout);
        CAPTURE(direction);
        CAPTURE(joined);
        const TemporaryFolder folder;
        const std::string keys = std::string(kLlama) + "initialization = { std = 0.3 }\n" +
                                 "query_key_value = \"" + joined +
                                 "\"\nposition = { type = \"rotary\", layout = \"" + layout +
                                 "\", direction = \"" + direction + "\" }\n";
        const Built source(keys, 7);
        source.write(folder.path(), "llama");
        const auto file = init_from(folder.path() / "model.safetensors");
        const Built theirs(std::string(kLlama) +
                           "query_key_value = \"separate\"\n"
                           "position = { type = \"rotary\", direction = \"counter_clockwise\" }\n" +
                           file);
        CHECK(theirs.imported->text.ends_with("(llama)"));
        CHECK(at::allclose(theirs.logits(tokens), source.logits(tokens), 1e-5, 1e-5));
        CHECK(same(Built(keys + file), source));
      }
}

TEST_CASE("export: norms of queries and keys follow the order of their heads") {
  const auto tokens = at::randint(11, {2, 8}, at::kLong);
  const std::string keys = std::string(kLlama) + "qk_norm = \"per_head\"\n";
  Built source(keys + "position = { type = \"rotary\" }\n", 7);
  {
    const at::NoGradGuard no_grad;
    for (const char* norm : {"query_norm", "key_norm"})
      source.of(std::string("blocks.0.attention.") + norm + ".weight").uniform_(0.2, 2);
  }
  const TemporaryFolder folder;
  source.write(folder.path(), "qwen3");
  const Built theirs(keys +
                     "position = { type = \"rotary\", direction = \"counter_clockwise\" }\n" +
                     init_from(folder.path()));
  CHECK(at::allclose(theirs.logits(tokens), source.logits(tokens), 1e-5, 1e-5));
}

TEST_CASE("export: GPT-2's layout has transposes and biases, and comes back bitwise") {
  const TemporaryFolder folder;
  const Built source("", 7), without("bias = false\n", 7);
  source.write(folder.path(), "gpt2");
  const Safetensors written(folder.path() / "model.safetensors");
  CHECK(at::equal(written.tensor("transformer.h.1.mlp.c_fc.weight"),
                  source.of("blocks.1.feed_forward.up_projection.weight").t()));
  CHECK_FALSE(written.has("lm_head.weight"));
  CHECK(same(Built(init_from(folder.path())), source));
  CHECK(same(Built("query_key_value = \"separate\"\n" + init_from(folder.path())),
             Built("query_key_value = \"separate\"\n" + init_from(folder.path()), 3)));
  without.write(folder.path(), "gpt2");
  const auto tokens = at::randint(11, {2, 8}, at::kLong);
  CHECK(at::allclose(Built(init_from(folder.path())).logits(tokens), without.logits(tokens)));
}

TEST_CASE("export: bf16 that came in goes out to the bit") {
  const TemporaryFolder folder;
  const std::string llama =
      std::string(kLlama) + "position = { type = \"rotary\", layout = \"interleaved\" }\n";
  for (const auto& [type, keys] : {std::pair("gpt2", std::string()), std::pair("llama", llama)}) {
    CAPTURE(std::string(type));
    const auto first = folder.path() / type,
               second = folder.path() / (std::string(type) + "_again");
    std::filesystem::create_directories(first);
    std::filesystem::create_directories(second);
    Built(keys, 7).write(first, type, 1 << 20, at::kBFloat16);
    Built(keys + init_from(first)).write(second, type, 1 << 20, at::kBFloat16);
    CHECK(read_file(second / "model.safetensors") == read_file(first / "model.safetensors"));
  }
}

TEST_CASE("export: what fp16 cannot hold is named, and infinite weights go out as they are") {
  const TemporaryFolder folder;
  const Built source("", 7);
  const at::NoGradGuard no_grad;
  const auto written = [&]() -> std::string {
    try {
      source.write(folder.path(), "gpt2", 1 << 20, at::kHalf);
      return "written";
    } catch (const Error& error) {
      return error.what();
    }
  };
  CHECK(written() == "written");
  source.of("blocks.1.attention_norm.weight")[3].fill_(65504);  // the largest
  CHECK(written() == "written");
  source.of("blocks.1.attention_norm.weight")[3].fill_(65536);
  CHECK(written() ==
        "export: 'transformer.h.1.ln_1.weight' has values beyond the range of fp16; use --dtype "
        "bf16 or fp32");
  source.of("blocks.1.attention_norm.weight")[3].fill_(std::numeric_limits<float>::infinity());
  CHECK(written() == "written");
}

TEST_CASE("export: files of a limited size have an index, by which they come back") {
  const TemporaryFolder folder;
  const Built source("", 7);
  const auto files = source.write(folder.path(), nullptr, 4000);
  CHECK(files.size() > 3);
  CHECK(files.back() == "model.safetensors.index.json");
  CHECK(same(Built(init_from(folder.path())), source));
  std::filesystem::remove(folder.path() / files.front());
  CHECK(refusal(init_from(folder.path())).find("cannot open") != std::string::npos);
}
