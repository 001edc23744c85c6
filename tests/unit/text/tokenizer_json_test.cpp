// What of a tokenizer.json is exact, and what is refused by its name.
#include <doctest/doctest.h>

#include "base/diagnostic.h"
#include "support/byte_level.h"
#include "support/temporary_folder.h"
#include "text/bpe/bpe_tokenizer.h"
#include "text/bpe/bpe_vocabulary.h"
#include "text/pattern_pretokenizer.h"

using namespace exprun;
using nlohmann::json;

namespace {

std::unique_ptr<Tokenizer> load(const json& tokenizer) {
  const TemporaryFolder folder;
  const auto file = folder.write("tokenizer.json", tokenizer.dump());
  load_bpe_tokenizer(file);  // and keeps it for the next one
  return load_bpe_tokenizer(file);
}

// What it is refused for, between the file's name and the general remedy.
std::string refused(const json& tokenizer) {
  const TemporaryFolder folder;
  const auto file = folder.write("tokenizer.json", tokenizer.dump());
  const std::string head = "tokenizer: '" + file.string() + "' ";
  const std::string tail =
      "; exprun supports plain byte-level BPE (ByteLevel, with or without Split and Digits before "
      "it)";
  try {
    load_bpe_tokenizer(file);
  } catch (const Error& error) {
    const std::string text = error.what();
    REQUIRE(text.starts_with(head));
    REQUIRE(text.ends_with(tail));
    return text.substr(head.size(), text.size() - head.size() - tail.size());
  }
  return "";
}

json split_tokenizer(const std::string& pattern) {
  return small_tokenizer(in_sequence({split_at(pattern), byte_level(false)}));
}

json added(const std::string& text, int id, bool special = false, bool normalized = false) {
  return {{"content", text}, {"id", id}, {"special", special}, {"normalized", normalized}};
}

}  // namespace

TEST_CASE("tokenizer.json: whether texts begin with a token is known without the model") {
  const TemporaryFolder folder;
  const auto begins = [&](const std::string& text) {
    return begin_texts({folder.write("tokenizer.json", text)});
  };
  json whole = small_tokenizer(byte_level());
  CHECK_FALSE(begins(whole.dump()));
  const json text{{"Sequence", {{"id", "A"}}}};
  const json first{{"type", "TemplateProcessing"},
                   {"single", {{{"SpecialToken", {{"id", "<s>"}}}}, text}},
                   {"special_tokens", {{"<s>", {{"ids", {1}}}}}}};
  const json last{{"type", "TemplateProcessing"}, {"single", {text}}};
  const json both{{"type", "Sequence"}, {"processors", {byte_level(), first, byte_level()}}};
  for (const auto& [processor, expected] : {std::pair(first, true), std::pair(both, true),
                                            std::pair(last, false), std::pair(json(), false)}) {
    CHECK(begins("{\"post_processor\": " + processor.dump() + ", \"model\": nonsense") == expected);
    whole["post_processor"] = processor;  // after the model
    CHECK(begins(whole.dump()) == expected);
    CHECK(load(whole)->begin_of_text().has_value() == expected);
  }
  CHECK_FALSE(begins("{\"post_processor\": 3}"));
  CHECK_FALSE(begins("[1]"));
  CHECK_FALSE(begin_texts({folder.path() / "vocab.bpe", folder.path() / "encoder.json"}));
}

TEST_CASE("tokenizer.json: the order of its steps and what they drop are refused by name") {
  CHECK(refused(small_tokenizer(in_sequence({byte_level(false), split_at("a|b")}))) ==
        "splits after ByteLevel");
  CHECK(refused(small_tokenizer(split_at("a|b"))) == "has no ByteLevel");
  CHECK(refused(small_tokenizer(in_sequence({byte_level(false), byte_level(false)}))) ==
        "has ByteLevel twice");
  CHECK(refused(
            small_tokenizer(in_sequence({split_at("a|b", "Removed", true), byte_level(false)}))) ==
        "removes what its pattern does not match");
  CHECK(refused(
            small_tokenizer(in_sequence({split_at("a|b", "Isolated", true), byte_level(false)}))) ==
        "splits with behavior Isolated and invert = true");
  const std::string gpt2 =
      R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
  CHECK(refused(small_tokenizer(
            in_sequence({split_at(gpt2, "Removed", true), byte_level(false)}))) == "");
}

TEST_CASE("tokenizer.json: each step splits what those before it leave") {
  const auto digits = [](bool each) {
    return json{{"type", "Digits"}, {"individual_digits", each}};
  };
  const std::vector<std::pair<std::string, std::string>> merges = {
      {"1", "2"}, {" ", "1"}, {"b", "."}, {"a", "b"}};
  const auto tokens = [&](const std::vector<json>& steps, const std::string& text) {
    return load(small_tokenizer(in_sequence(steps), merges))->encode(text);
  };
  CHECK(tokens({byte_level(true)}, "a 121") == Tokens{'a', ' ', 256, '1'});
  CHECK(tokens({digits(true), byte_level(true)}, "a 121") == Tokens{'a', ' ', '1', '2', '1'});
  CHECK(tokens({digits(true), byte_level(true)}, "a1") == Tokens{'a', '1'});
  CHECK(tokens({digits(false), byte_level(false)}, "ab. 12") == Tokens{'a', 258, ' ', 256});
  CHECK(tokens({split_at("\\."), split_at("b"), byte_level(false)}, "ab.ab") ==
        Tokens{'a', 'b', '.', 'a', 'b'});
  CHECK(tokens({split_at("\\."), byte_level(true)}, "ab.ab") == Tokens{259, '.', 259});
  const auto cut = [&](const std::vector<json>& steps) {
    return load(small_tokenizer(in_sequence(steps)))->safe_cut("one two, 333");
  };
  CHECK(cut({digits(true), byte_level(true)}) == 8);
  CHECK(cut({split_at("o t"), byte_level(true)}) == 0);
  json tokenizer = small_tokenizer(byte_level());
  tokenizer["normalizer"] = {{"type", "Sequence"}, {"normalizers", json::array()}};
  CHECK(refused(tokenizer) == "");
  tokenizer["normalizer"]["normalizers"] = {{{"type", "NFC"}}, {{"type", "Lowercase"}}};
  CHECK(refused(tokenizer) == "has the normalizer Lowercase");
}

TEST_CASE("tokenizer.json: steps within one another are read to a depth, and no deeper") {
  struct Steps {
    const char *key, *list;
    json innermost;
  };
  const json level = byte_level();
  for (const auto& [key, list, innermost] :
       {Steps{"normalizer", "normalizers", nullptr}, Steps{"pre_tokenizer", "pretokenizers", level},
        Steps{"post_processor", "processors", level}}) {
    CAPTURE(key);
    const auto nested = [&](int depth) {
      json tokenizer = small_tokenizer(level), step = innermost;
      for (int i = 0; i < depth; ++i) {
        json parts = json::array();
        parts.push_back(std::move(step));
        step = json{{"type", "Sequence"}};
        step[list] = std::move(parts);
      }
      tokenizer[key] = std::move(step);
      return tokenizer;
    };
    CHECK(refused(nested(8)) == "");
    for (const int depth : {9, 1000})
      CHECK(refused(nested(depth)) == "has more than 8 sequences within one another");
  }
}

TEST_CASE("tokenizer.json: a prompt begins with the token that a template has before every text") {
  const json text{{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const json begin{{"SpecialToken", {{"id", "<begin>"}, {"type_id", 0}}}};
  const auto with = [&](const json& single, int id = 256) {
    json tokenizer = small_tokenizer(byte_level());
    tokenizer["added_tokens"] = {added("<begin>", 256, true)};
    const json of_template{
        {"type", "TemplateProcessing"},
        {"single", single},
        {"pair", json::array()},
        {"special_tokens",
         {{"<begin>", {{"id", "<begin>"}, {"ids", {id}}, {"tokens", {"<begin>"}}}}}}};
    tokenizer["post_processor"] = of_template;
    return tokenizer;
  };
  const auto prompt = [](const json& tokenizer, const std::string& words) {
    return load(tokenizer)->encode_prompt(words);
  };
  const json whole = with({begin, text});
  CHECK(prompt(whole, "ab") == Tokens{256, 'a', 'b'});
  CHECK(prompt(whole, "") == Tokens{256});
  CHECK(prompt(whole, "<begin>a") == Tokens{256, 'a'});
  CHECK(load(whole)->encode("ab") == Tokens{'a', 'b'});
  CHECK(prompt(with({text, begin}), "ab") == Tokens{'a', 'b'});
  json sequence = whole;
  const json bytes{{"type", "ByteLevel"}, {"trim_offsets", false}};
  sequence["post_processor"] = {{"type", "Sequence"},
                                {"processors", {bytes, whole["post_processor"]}}};
  CHECK(prompt(sequence, "ab") == Tokens{256, 'a', 'b'});
  sequence["post_processor"] = bytes;
  CHECK(prompt(sequence, "ab") == Tokens{'a', 'b'});
  CHECK_THROWS_WITH_AS(
      load(with({begin, text}, 300)),
      doctest::Contains("' begins every text with token 300, which is not in "
                        "its vocabulary; fetch the file again, or use another vocabulary"),
      Error);
}

TEST_CASE("tokenizer.json: an id is a whole number") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "tokenizer.json";
  const auto expect_refused = [&](const json& tokenizer, const std::string& id) {
    folder.write("tokenizer.json", tokenizer.dump());
    CHECK_THROWS_WITH_AS(
        load_bpe_tokenizer(file),
        ("tokenizer: '" + file.string() + "' has the id " + id +
         ", which is not an integer; fetch the file again, or use another vocabulary")
            .c_str(),
        Error);
  };
  for (const json& id : {json(5e72), json(-1), json(1.5), json("7"), json(nullptr)}) {
    json tokenizer = small_tokenizer(byte_level());
    tokenizer["model"]["vocab"]["a"] = id;
    expect_refused(tokenizer, id.dump());
    tokenizer = small_tokenizer(byte_level());
    tokenizer["added_tokens"] = json::array({added("<x>", 0)});
    tokenizer["added_tokens"][0]["id"] = id;
    expect_refused(tokenizer, id.dump());
  }
  json tokenizer = small_tokenizer(byte_level());
  const uint64_t next = tokenizer["model"]["vocab"].size();
  tokenizer["added_tokens"] = json::array({added("<x>", 0)});
  tokenizer["added_tokens"][0]["id"] = next + (uint64_t{1} << 32);
  CHECK(refused(tokenizer) == "gives the added token \"<x>\" the id " +
                                  std::to_string(next + (uint64_t{1} << 32)) +
                                  ", but the tokenizers library gives it " + std::to_string(next));
}

TEST_CASE("tokenizer.json: what Oniguruma and PCRE2 read differently is refused by name") {
  CHECK(refused(split_tokenizer(R"(\h+|a)")) ==
        R"(splits by a pattern with \h, which PCRE2 interprets differently)");
  for (const auto& [pattern, construct] :
       std::vector<std::pair<std::string, std::string>>{{R"(\w+|\s+)", R"(\w)"},
                                                        {R"([[:space:]]+|a)", "[:space:]"},
                                                        {R"([\S]+|a)", R"(\S)"},
                                                        {R"(a|[b\w])", R"(\w)"},
                                                        {R"(\bx)", R"(\b)"},
                                                        {R"([a-z&&[^b]])", "&&"},
                                                        {R"([a[b]])", "["},
                                                        {R"([]a])", "[]"},
                                                        {R"(\p{Han}+)", R"(\p{Han})"},
                                                        {R"(\p{^L}+)", R"(\p{^L})"},
                                                        {R"(\pL+)", R"(\pL+)"},
                                                        {R"(a$)", "$"},
                                                        {R"((?>a|b))", "(?>"},
                                                        {R"((?i)a)", "(?i"},
                                                        {R"(a{2}+)", "{2}+"},
                                                        {R"(a{,3})", "{,3}"}})
    CHECK(foreign_construct(pattern) == construct);
  for (const char* pattern :
       {R"([^\r\n\p{L}\p{N}]?+\p{Lu}{1,3}|(?i:'s|'d)|\s+(?!\S)|[\]\[]|\d\D\S\P{L}|.|\{\$)",
        R"((?:a|b)(?=c)(?<=d)(?<!e)++*+\t[^\s一-龥])"})
    CHECK(foreign_construct(pattern) == "");
}

TEST_CASE("tokenizer.json: a pattern that may match nothing is an error") {
  CHECK_THROWS_WITH_AS(load(split_tokenizer(R"(\p{L}*)")),
                       "tokenizer: the pattern '\\p{L}*' can match an empty string, which "
                       "tokenizers treat differently; use another tokenizer.json",
                       Error);
}

TEST_CASE("tokenizer.json: added tokens are found in the text, special ones are text") {
  json tokenizer = small_tokenizer(byte_level(), {{" ", " "}, {"  ", "a"}});
  tokenizer["added_tokens"] = {added("<eot>", 258, true), added("  ", 259), added("   ", 260),
                               added("ab", 261, false, true), added("b ", 262)};
  const auto bpe = load(tokenizer);
  CHECK(bpe->vocab_size() == 263);
  CHECK(bpe->encode("x  y") == Tokens{'x', 259, 'y'});
  CHECK(bpe->encode("x    y") == Tokens{'x', 260, ' ', 'y'});  // the longest first
  CHECK(bpe->encode("abc") == Tokens{261, 'c'});
  CHECK(bpe->encode("ab c") == Tokens{'a', 262, 'c'});  // those that are normalized later
  CHECK(bpe->encode("<eot>") == Tokens{'<', 'e', 'o', 't', '>'});
  CHECK(bpe->encode_with_special("<eot>  ") == Tokens{258, 259});
  CHECK(bpe->decode(std::vector<int64_t>{258, 260, 262}) == "<eot>   b ");
  tokenizer["added_tokens"][1]["lstrip"] = true;
  CHECK(refused(tokenizer) == "has the added token \"  \" with lstrip");
  tokenizer["added_tokens"] = {added("", 258)};
  CHECK(refused(tokenizer) == "has an added token without text");
  tokenizer["added_tokens"] = {added("a", 258)};
  CHECK(refused(tokenizer) ==
        "gives the added token \"a\" the id 258, but the tokenizers library gives it 97");
  tokenizer["added_tokens"] = {added("<a>", 258), added("<b>", 260)};
  CHECK(refused(tokenizer) ==
        "gives the added token \"<b>\" the id 260, but the tokenizers library gives it 259");
}

TEST_CASE("tokenizer.json: no cut is where an added token may lie") {
  json tokenizer = small_tokenizer(byte_level());
  const std::string text = "one two, three";
  CHECK(load(tokenizer)->safe_cut(text) == 8);
  tokenizer["added_tokens"] = {added(", t", 256)};
  CHECK(load(tokenizer)->safe_cut(text) == 3);
  tokenizer["added_tokens"] = {added("o, three and four", 256)};
  CHECK(load(tokenizer)->safe_cut(text) == 3);
  CHECK(load(tokenizer)->safe_cut("one two, then you") == 13);
}
