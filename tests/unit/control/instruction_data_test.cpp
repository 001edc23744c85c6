// Records of instructions into tokens and segments: what each template writes, and what of it is
// learned.
#include <doctest/doctest.h>

#include "base/diagnostic.h"
#include "control/data/shards/shard_set_writer.h"
#include "support/byte_level.h"
#include "support/temporary_folder.h"
#include "support/text_preparation.h"
#include "text/example_template.h"
#include "text/examples.h"

using namespace exprun;
namespace fs = std::filesystem;

namespace {

// The text of an example with what is learned in brackets, and "$" for the end-of-text token.
std::string written(const std::string& name, const std::string& record) {
  std::string text;
  bool is_learned = false;
  for (const ExamplePart& part : ExampleTemplate(name).fill(record)) {
    if (part.is_learned != is_learned) text += part.is_learned ? "[" : "]";
    is_learned = part.is_learned;
    text += part.kind == ExamplePart::Kind::end_of_text ? "$" : part.text;
  }
  return text + (is_learned ? "]" : "");
}

std::string problem(const std::string& record) {
  try {
    ExampleTemplate("plain").fill(record);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

const std::string kPrompt = R"({"prompt": "1+1=", "response": "2"})";
const std::string kInstruction =
    R"({"instruction": "Translate.", "input": "chat", "output": "cat"})";
const std::string kTalk =
    R"({"messages": [{"role": "system", "content": "Be short."}, {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"},
        {"role": "assistant", "content": "d"}]})";

ResolvedRecipe instruction_recipe(const fs::path& path, const std::string& more) {
  const std::string text =
      "run.steps = 1\n[model]\ntype = \"gpt\"\nnum_layers = 1\nnum_heads = 1\nhidden_size = 8\n"
      "context_length = 4\nvocab_size = 50304\n[batch]\nsequences = 2\n[optimizer]\ntype = "
      "\"adamw\"\nlr = 1e-3\n[evaluation]\n[dataset]\ntype = \"instruction\"\npath = '" +
      path.string() + "'\n" + more;
  return resolve({{std::make_shared<SourceFile>(SourceFile{"test.toml", text})}, {}}, {});
}

PreparedData prepared(const fs::path& path, const fs::path& store, const std::string& more,
                      const PrepareOptions& options = {}) {
  const auto recipe = instruction_recipe(path, more);
  return prepare_text(recipe.section("dataset"), *recipe.find("dataset")->as<Table>(), store,
                      options);
}

// As written(), of prepared bytes; examples one a line.
// With "$" for the NUL that ends a response of bytes.
std::string shown(const std::vector<TokenShard>& shards, const std::vector<TokenShard>& segments) {
  const auto tokens = tokens_of(shards);
  std::string text;
  size_t place = 0;
  for (const uint32_t word : read_segment_words(segments)) {
    const Segment segment = segment_of(word);
    if (segment.is_learned) text += "[";
    for (int64_t i = 0; i < segment.tokens; ++i, ++place)
      text += tokens.at(place) == 0 ? '$' : static_cast<char>(tokens.at(place));
    if (segment.is_learned) text += "]";
    if (segment.ends_example) text += "\n";
  }
  CHECK(place == tokens.size());
  return text;
}

}  // namespace

TEST_CASE("instruction: a prompt is what an example has before its response") {
  for (const std::string name : {"plain", "alpaca", "chatml", "llama3"}) {
    const ExampleTemplate form(name);
    const std::string example = written(name, R"({"prompt": "1+1=", "response": "2"})");
    const size_t learned = example.find('[');
    CHECK(form.prompt("1+1=") == example.substr(0, learned));
    const std::string end = name == "chatml" ? "<|im_end|>" : name == "llama3" ? "<|eot_id|>" : "$";
    CHECK(example.substr(learned).starts_with("[2" + end + "]"));
  }
}

TEST_CASE("instruction: a prompt after a system message is what an example with one has") {
  for (const std::string name : {"plain", "alpaca", "chatml", "llama3"}) {
    const std::string example = written(name, R"({"messages": [
        {"role": "system", "content": "Be brief. "}, {"role": "user", "content": "1+1="},
        {"role": "assistant", "content": "2"}]})");
    const std::string prompt = ExampleTemplate(name).prompt("1+1=", "Be brief. ");
    CHECK(prompt == example.substr(0, example.find('[')));
    CHECK(prompt.find("Be brief. ") != std::string::npos);
  }
}

TEST_CASE("instruction: the template in Jinja, with the text that ends a response") {
  const auto in_jinja = [](const std::string& name) {
    return ExampleTemplate(name).in_jinja("<|\"end\"|>");
  };
  CHECK(in_jinja("plain") ==
        R"({% for message in messages %}{{ message["content"] }})"
        R"({% if message["role"] == "assistant" %}{{ "<|\"end\"|>" }}{% endif %}{% endfor %})");
  CHECK(in_jinja("alpaca") ==
        R"({% if messages[0]["role"] != "system" %}{{ "Below is an instruction that describes a )"
        R"(task. Write a response that appropriately completes the request.\n\n" }}{% endif %})"
        R"({% for message in messages %}{% if message["role"] == "system" %})"
        R"({{ message["content"] + "\n\n" }}{% elif message["role"] == "user" %})"
        R"({{ "### Instruction:\n" + message["content"] + "\n\n" }}{% else %})"
        R"({{ "### Response:" + message["content"] + "<|\"end\"|>" }}{% endif %}{% endfor %})"
        R"({% if add_generation_prompt %}{{ "### Response:" }}{% endif %})");
  CHECK(in_jinja("chatml") ==
        R"({% for message in messages %}{{ "<|im_start|>" + message["role"] + "\n" + )"
        R"(message["content"] + "<|im_end|>\n" }}{% endfor %})"
        R"({% if add_generation_prompt %}{{ "<|im_start|>assistant\n" }}{% endif %})");
  CHECK(in_jinja("llama3") ==
        R"({{ "<|begin_of_text|>" }}{% for message in messages %}{{ "<|start_header_id|>" + )"
        R"(message["role"] + "<|end_header_id|>\n\n" + message["content"] + "<|eot_id|>" }})"
        R"({% endfor %}{% if add_generation_prompt %})"
        R"({{ "<|start_header_id|>assistant<|end_header_id|>\n\n" }}{% endif %})");
  CHECK(ExampleTemplate("plain").in_jinja("").find(R"({{ "\u0000" }})") != std::string::npos);
}

TEST_CASE(
    "instruction: prompts begin with what its examples begin with, and texts end as they do") {
  nlohmann::json vocabulary = small_tokenizer(byte_level());
  const std::vector<std::string> special = {"<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"};
  for (size_t i = 0; i < special.size(); ++i)
    vocabulary["added_tokens"].push_back(
        {{"content", special[i]}, {"id", 256 + i}, {"special", true}, {"normalized", false}});
  const std::string begin = special[0];
  vocabulary["post_processor"] = {
      {"type", "TemplateProcessing"},
      {"single",
       {{{"SpecialToken", {{"id", begin}, {"type_id", 0}}}},
        {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
      {"pair", nlohmann::json::array()},
      {"special_tokens", {{begin, {{"id", begin}, {"ids", {256}}, {"tokens", {begin}}}}}}};
  const TemporaryFolder folder;
  const auto chat = load_vocabulary(folder.write("tokenizer.json", vocabulary.dump()));
  const auto bytes = make_byte_tokenizer();
  const auto bounds = [](const std::string& name, const Tokenizer& tokenizer) {
    return ExampleTemplate(name).bounds(tokenizer);
  };
  CHECK(chat->bounds() == TextBounds{256, {257}, ""});
  CHECK(bounds("llama3", *chat) == TextBounds{256, {257, 258}, ""});
  CHECK(bounds("plain", *chat) == TextBounds{std::nullopt, {257}, ""});
  CHECK(bounds("alpaca", *chat) == TextBounds{std::nullopt, {257}, ""});
  CHECK(bounds("chatml", *chat) == TextBounds{std::nullopt, {257}, "<|im_end|>"});
  CHECK(bounds("llama3", *bytes) == TextBounds{std::nullopt, {}, "<|eot_id|>"});
  CHECK(bounds("plain", *bytes) == TextBounds{std::nullopt, {}, std::string(1, '\0')});
  chat->set_bounds(bounds("plain", *chat));
  CHECK(chat->encode_prompt("a") == Tokens{'a'});
  CHECK(chat->encode_prompt("<|begin_of_text|>a") == Tokens{256, 'a'});
}

TEST_CASE("instruction: plain writes the contents and nothing else") {
  CHECK(written("plain", kPrompt) == "1+1=[2$]");
  CHECK(written("plain", R"({"prompt": "1+1=", "completion": "2"})") == "1+1=[2$]");
  CHECK(written("plain", kInstruction) == "Translate.\n\nchat[cat$]");
  CHECK(written("plain", R"({"instruction": "Go.", "input": null, "output": "x"})") == "Go.[x$]");
  CHECK(written("plain", kTalk) == "Be short.a[b$]c[d$]");
}

TEST_CASE("instruction: alpaca writes its headings") {
  CHECK(written("alpaca", kInstruction) ==
        "Below is an instruction that describes a task, paired with an input that provides further "
        "context. Write a response that appropriately completes the request.\n\n"
        "### Instruction:\nTranslate.\n\n### Input:\nchat\n\n### Response:[cat$]");
  CHECK(written("alpaca", R"({"instruction": "Go.", "input": "", "output": "x"})") ==
        "Below is an instruction that describes a task. Write a response that appropriately "
        "completes the request.\n\n### Instruction:\nGo.\n\n### Response:[x$]");
  CHECK(written("alpaca", kTalk) ==
        "Be short.\n\n### Instruction:\na\n\n### Response:[b$]"
        "### Instruction:\nc\n\n### Response:[d$]");
}

TEST_CASE("instruction: chatml and llama3 mark each message, and what ends a response is learned") {
  CHECK(written("chatml", kTalk) ==
        "<|im_start|>system\nBe short.<|im_end|>\n<|im_start|>user\na<|im_end|>\n"
        "<|im_start|>assistant\n[b<|im_end|>]\n<|im_start|>user\nc<|im_end|>\n"
        "<|im_start|>assistant\n[d<|im_end|>]\n");
  CHECK(written("llama3", kPrompt) ==
        "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\n1+1=<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n[2<|eot_id|>]");
}

TEST_CASE("instruction: what is wrong with a record is said") {
  CHECK(problem("[1]") == "is not a JSON object");
  CHECK(problem("{\"prompt\": ").starts_with("is not JSON: "));
  CHECK(problem(R"({"text": "a"})") ==
        "has none of the fields 'messages', 'instruction' and 'prompt'; it has 'text'");
  CHECK(problem(R"({"question": "a", "answer": "b"})") ==
        "has none of the fields 'messages', 'instruction' and 'prompt'; it has 'answer', "
        "'question'; rename its fields: 'question' to 'instruction', 'answer' to 'output'");
  CHECK(problem(R"({"input": "a", "output": "b", "response": "c"})")
            .ends_with("; rename its fields: 'input' to 'instruction'"));
  CHECK(problem(R"({"prompt": "a"})") == "has no field 'response'; it has 'prompt'");
  CHECK(problem(R"({"instruction": "a", "output": 3})") ==
        "has number where text is expected, in its field 'output'");
  CHECK(problem(R"({"messages": {}})") == "has a field 'messages' that is not an array");
  CHECK(problem(R"({"messages": [{"role": "user"}]})") == "has no 'content' in its message 1");
  CHECK(problem(R"({"messages": [{"role": "tool", "content": ""}]})") ==
        "has the role 'tool' in its message 1; the roles are system, user and assistant");
  CHECK(problem(R"({"messages": [{"role": "user", "content": "a"}]})") ==
        "has no message of the assistant, so there is nothing to learn");
}

TEST_CASE("instruction: records become tokens and segments, and a set keeps both") {
  const TemporaryFolder folder;
  const auto file = folder.write("a.jsonl", kPrompt + "\n\n" + kInstruction + "\n" +
                                                R"({"prompt": "3", "response": ""})" + "\n");
  const auto data = prepared(file, folder.path() / "store", "validation_every = 3\n");
  CHECK(shown(data.train, data.train_segments) == "1+1=[2$]\nTranslate.\n\nchat[cat$]\n");
  CHECK(shown(data.validation, data.validation_segments) == "3[$]\n");
  const auto again = prepared(file, folder.path() / "store", "validation_every = 3\n");
  CHECK(again.to_json() == data.to_json());
  CHECK(fs::exists(again.train_segments.at(0).path));
  const auto other =
      prepared(file, folder.path() / "store", "validation_every = 3\ntemplate = \"chatml\"\n");
  CHECK(other.fingerprint != data.fingerprint);
  const DatasetInfo facts = facts_of(data);
  CHECK_FALSE(facts.train_tokens);
  CHECK_FALSE(facts.validation_tokens);
  CHECK(facts.vocab_size == 256);
}

TEST_CASE("instruction: special tokens of the template are tokens, those in contents are text") {
  const auto keys = gpt2_keys();
  if (!keys) return;
  const TemporaryFolder folder;
  const auto file =
      folder.write("a.jsonl", R"({"prompt": "Hi <|endoftext|> there", "response": "yes"})");
  const auto data = prepared(file, folder.path() / "store", *keys + "validation_fraction = 0.0\n");
  const auto tokens = tokens_of(data.train);
  CHECK(std::count(tokens.begin(), tokens.end(), 50256) == 1);
  CHECK(tokens.back() == 50256);
  const auto words = read_segment_words(data.train_segments);
  REQUIRE(words.size() == 2);
  CHECK(segment_of(words[1]) == Segment{2, true, true});  // "yes" and the end
}

TEST_CASE("instruction: the record that is wrong is named, and a file that is no JSON") {
  const TemporaryFolder folder;
  const auto file = folder.write("a.jsonl", kPrompt + "\n\n{\"prompt\": \"a\"}\n");
  const auto problem_of = [&](const fs::path& path) {
    try {
      prepared(path, folder.path() / "store", "");
    } catch (const RecipeError& error) {
      return error.diagnostics().at(0).message;
    }
    return std::string();
  };
  CHECK(problem_of(file) ==
        "record 2 of '" + file.string() + "' (line 3) has no field 'response'; it has 'prompt'");
  const auto text = folder.write("a.txt", "hello");
  CHECK(problem_of(text) == "'" + text.string() + "' does not look like JSON by its name");
}

TEST_CASE("instruction: segments that were begun are gone on with") {
  const TemporaryFolder folder;
  const ShardSetOptions options{2, 4};
  const std::vector<uint32_t> tokens{1, 2, 3}, first{to_word({3, true, true})},
      second{to_word({1, false, false}), to_word({2, true, true})};
  nlohmann::json state;
  {
    ShardSetWriter writer(folder.path(), options);
    writer.append(Split::train, PackedTokens(2, tokens).all(), true);
    writer.append_segments(Split::train, first);
    state = writer.save();
  }
  ShardSetWriter writer(folder.path(), options);
  writer.restore(state);
  writer.append(Split::train, PackedTokens(2, tokens).all(), true);
  writer.append_segments(Split::train, second);
  auto segments = writer.finish_segments(Split::train);
  for (TokenShard& shard : segments) shard.path = (folder.path() / shard.path).string();
  CHECK(read_segment_words(segments) == std::vector<uint32_t>{first[0], second[0], second[1]});
}
