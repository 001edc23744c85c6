// What of a folder's files beside the vocabulary is copied, and what is refused.
#include "huggingface/tokenizer_settings.h"

#include <doctest/doctest.h>

#include "base/diagnostic.h"
#include "support/temporary_folder.h"

namespace exprun {
namespace {

// After the folder's name; or empty.
std::string refusal(const TemporaryFolder& folder) try {
  tokenizer_settings(folder.path());
  return "";
} catch (const Error& error) {
  const std::string text = error.what(), name = folder.path().string() + "/";
  return text.substr(text.find(name) + name.size());
}

TEST_CASE("tokenizer settings: the config.json of another program is left alone") {
  const TemporaryFolder folder;
  for (const char* text : {"[1]", "{} // none", R"({"a": 1, "a": 2})", R"({"eos_token_id": 1})"}) {
    CAPTURE(text);
    folder.write("config.json", text);
    CHECK_FALSE(tokenizer_settings(folder.path()));
  }
  folder.write("tokenizer_config.json", "{}");
  CHECK(tokenizer_settings(folder.path())->ids.at("eos_token_id") == 1);
  folder.write("config.json", "[1]");
  CHECK(refusal(folder).starts_with("config.json' is damaged: "));
}

TEST_CASE("tokenizer settings: an id is an id, a list of ids or null") {
  for (const std::string name : {"config.json", "generation_config.json"}) {
    CAPTURE(name);
    const TemporaryFolder folder;
    folder.write("generation_config.json", "{}");
    for (const char* id : {"3", "[3, 4]", "null"}) {
      folder.write(name, std::string(R"({"eos_token_id": )") + id + "}");
      CHECK(refusal(folder) == "");
    }
    for (const char* id : {"-1", "1.5", "\"3\"", "{}", "[]", "[3,null]", "true"}) {
      folder.write(name, std::string(R"({"eos_token_id": )") + id + "}");
      CHECK(refusal(folder) ==
            name + "' is damaged: eos_token_id is " + id + ", not an id, a list of ids or null");
    }
  }
}

TEST_CASE(
    "tokenizer settings: a text ends at every id that a file says, and at a token by its text") {
  const TemporaryFolder folder;
  using Ids = std::vector<uint64_t>;
  folder.write("generation_config.json", R"({"eos_token_id": [3, 4]})");
  CHECK(tokenizer_settings(folder.path())->end_ids() == Ids{3, 4});
  folder.write("config.json", R"({"eos_token_id": 5})");
  CHECK(tokenizer_settings(folder.path())->end_ids() == Ids{3, 4, 5});
  folder.write("generation_config.json", R"({"eos_token_id": null})");
  CHECK(tokenizer_settings(folder.path())->end_ids() == Ids{5});
  CHECK(tokenizer_settings(folder.path())->end_token() == "");
  for (const auto& [value, text] : {std::pair(R"("<e>")", "<e>"),
                                    {R"({"content": "<e>"})", "<e>"},
                                    {"null", ""},
                                    {"3", ""},
                                    {R"({"content": 3})", ""}}) {
    folder.write("tokenizer_config.json", std::string(R"({"eos_token": )") + value + "}");
    CHECK(tokenizer_settings(folder.path())->end_token() == text);
  }
}

TEST_CASE("tokenizer settings: code goes, and the class that may be of it") {
  const TemporaryFolder folder;
  folder.write("tokenizer_config.json", R"({"tokenizer_class": "Mine", "eos_token": "e"})");
  CHECK(tokenizer_settings(folder.path())->tokenizer_config.at("tokenizer_class") == "Mine");
  folder.write("tokenizer_config.json",
               R"({"tokenizer_class": "Mine", "eos_token": "e", "auto_map": {}})");
  CHECK(tokenizer_settings(folder.path())->tokenizer_config == nlohmann::json{{"eos_token", "e"}});
}

TEST_CASE("tokenizer settings: a chat template has at most 1 MB") {
  const TemporaryFolder folder;
  folder.write("chat_template.jinja", std::string(1'000'000, 'a'));
  CHECK(refusal(folder) == "");
  folder.write("chat_template.jinja", std::string(1'000'001, 'a'));
  CHECK(refusal(folder) ==
        "chat_template.jinja' has 1,000,001 bytes; a chat template has at most 1 MB");
}

}  // namespace
}  // namespace exprun
