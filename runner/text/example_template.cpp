#include "text/example_template.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "base/utf8.h"

namespace exprun {

struct Message {
  std::string role;  // system, user or assistant
  std::string content;
  std::string input;  // of Alpaca's records: it belongs to the content
};

struct Conversation {
  std::vector<Message> messages;
};

struct TemplateForm {
  const char* name;
  void (*write)(const Conversation& conversation, std::vector<ExamplePart>& parts);
  std::string (*in_jinja)(const std::string& end_of_text);
};

namespace {

using nlohmann::json;
using Parts = std::vector<ExamplePart>;
using Kind = ExamplePart::Kind;

constexpr std::array kRoles = {"system", "user", "assistant"};

// --- from records -------------------------------------------------------------------------------

std::string names_of(const json& record) {
  std::string names;
  for (const auto& [name, value] : record.items())
    names += (names.empty() ? "'" : ", '") + name + "'";
  return names.empty() ? "no fields" : names;
}

std::string text_in(const json& value, const std::string& where) {
  if (value.is_string()) return value.get<std::string>();
  throw Error("has " + std::string(value.type_name()) + " where text is expected, in " + where);
}

std::string field(const json& record, const char* name) {
  const auto found = record.find(name);
  if (found == record.end())
    throw Error("has no field '" + std::string(name) + "'; it has " + names_of(record));
  return text_in(*found, "its field '" + std::string(name) + "'");
}

std::string optional_field(const json& record, const char* name) {
  const auto found = record.find(name);
  return found == record.end() || found->is_null() ? "" : field(record, name);
}

Message message_of(const json& value, size_t place) {
  const std::string where = "its message " + std::to_string(place);
  if (!value.is_object()) throw Error("has something other than an object as " + where);
  for (const char* name : {"role", "content"})
    if (!value.contains(name)) throw Error("has no '" + std::string(name) + "' in " + where);
  Message message{text_in(value["role"], "the role of " + where),
                  text_in(value["content"], "the content of " + where), ""};
  if (std::find(kRoles.begin(), kRoles.end(), message.role) == kRoles.end())
    throw Error("has the role '" + message.role + "' in " + where +
                "; the roles are system, user and assistant");
  return message;
}

Conversation messages_of(const json& list) {
  if (!list.is_array()) throw Error("has a field 'messages' that is not an array");
  Conversation conversation;
  for (const json& value : list)
    conversation.messages.push_back(message_of(value, conversation.messages.size() + 1));
  const auto& messages = conversation.messages;
  if (std::none_of(messages.begin(), messages.end(),
                   [](const Message& message) { return message.role == "assistant"; }))
    throw Error("has no message of the assistant, so there is nothing to learn");
  return conversation;
}

// Names that other data have for the two fields.
constexpr std::string_view kInstructions[] = {"question", "query", "input", "user", "human"};
constexpr std::string_view kOutputs[] = {"answer", "response", "completion", "assistant"};

std::string how_to_rename(const json& record) {
  const auto renamed = [&](const auto& known, const std::string& to) -> std::string {
    if (record.contains(to)) return "";
    for (const std::string_view name : known)
      if (record.contains(name)) return "'" + std::string(name) + "' to '" + to + "'";
    return "";
  };
  const std::string given = renamed(kInstructions, "instruction"),
                    learned = renamed(kOutputs, "output");
  if (given.empty()) return "";
  return "; rename its fields: " + given + (learned.empty() ? "" : ", " + learned);
}

Conversation conversation_of(const json& record) {
  if (record.contains("messages")) return messages_of(record["messages"]);
  if (record.contains("instruction"))
    return {{{"user", field(record, "instruction"), optional_field(record, "input")},
             {"assistant", field(record, "output"), ""}}};
  if (record.contains("prompt"))
    return {{{"user", field(record, "prompt"), ""},
             {"assistant", field(record, record.contains("completion") ? "completion" : "response"),
              ""}}};
  throw Error("has none of the fields 'messages', 'instruction' and 'prompt'; it has " +
              names_of(record) + how_to_rename(record));
}

json parsed(std::string_view record) {
  json value;
  try {
    value = parse_json<json>(record);
  } catch (const json::exception& error) {
    throw Error("is not JSON: " + json_problem_in("record", error));
  }
  if (!value.is_object()) throw Error("is not a JSON object");
  return value;
}

// --- to parts -----------------------------------------------------------------------------------

bool is_response(const Message& message) {
  return message.role == "assistant";
}

// In place of an end-of-text token that a tokenizer does not have: no text contains it.
const std::string kEndOfText(1, '\0');

// A user's content, with the input after it.
std::string whole(const Message& message) {
  return message.input.empty() ? message.content : message.content + "\n\n" + message.input;
}

void add(Parts& parts, Kind kind, std::string text, bool is_learned = false) {
  parts.push_back({kind, std::move(text), is_learned});
}

void plain(const Conversation& conversation, Parts& parts) {
  for (const Message& message : conversation.messages) {
    add(parts, Kind::text, whole(message), is_response(message));
    if (is_response(message)) add(parts, Kind::end_of_text, kEndOfText, true);
  }
}

std::string quoted_for_jinja(const std::string& text) {
  return json_text(json(text));  // a JSON string is one of Jinja's
}

std::string plain_in_jinja(const std::string& end_of_text) {
  return R"({% for message in messages %}{{ message["content"] }})"
         R"({% if message["role"] == "assistant" %}{{ )" +
         quoted_for_jinja(end_of_text) + " }}{% endif %}{% endfor %}";
}

constexpr const char* kOfInstruction =
    "Below is an instruction that describes a task. Write a response that appropriately completes "
    "the request.";
constexpr const char* kOfInput =
    "Below is an instruction that describes a task, paired with an input that provides further "
    "context. Write a response that appropriately completes the request.";

void alpaca(const Conversation& conversation, Parts& parts) {
  const auto& messages = conversation.messages;
  const bool has_input = std::any_of(messages.begin(), messages.end(),
                                     [](const Message& message) { return !message.input.empty(); });
  if (messages.front().role != "system")
    add(parts, Kind::text, std::string(has_input ? kOfInput : kOfInstruction) + "\n\n");
  for (const Message& message : messages) {
    if (message.role == "system") add(parts, Kind::text, message.content + "\n\n");
    if (message.role == "user")
      add(parts, Kind::text,
          "### Instruction:\n" + message.content + "\n\n" +
              (message.input.empty() ? "" : "### Input:\n" + message.input + "\n\n"));
    if (!is_response(message)) continue;
    add(parts, Kind::text, "### Response:");
    add(parts, Kind::text, message.content, true);
    add(parts, Kind::end_of_text, kEndOfText, true);
  }
}

std::string alpaca_in_jinja(const std::string& end_of_text) {
  return R"({% if messages[0]["role"] != "system" %}{{ )" +
         quoted_for_jinja(std::string(kOfInstruction) + "\n\n") +
         R"( }}{% endif %}{% for message in messages %})"
         R"({% if message["role"] == "system" %}{{ message["content"] + "\n\n" }})"
         R"({% elif message["role"] == "user" %})"
         R"({{ "### Instruction:\n" + message["content"] + "\n\n" }})"
         R"({% else %}{{ "### Response:" + message["content"] + )" +
         quoted_for_jinja(end_of_text) +
         R"( }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ "### Response:" }}{% endif %})";
}

void chatml(const Conversation& conversation, Parts& parts) {
  for (const Message& message : conversation.messages) {
    add(parts, Kind::special, "<|im_start|>");
    add(parts, Kind::text, message.role + "\n");
    add(parts, Kind::text, whole(message), is_response(message));
    add(parts, Kind::special, "<|im_end|>", is_response(message));
    add(parts, Kind::text, "\n");
  }
}

std::string chatml_in_jinja(const std::string&) {
  return R"({% for message in messages %}{{ "<|im_start|>" + message["role"] + "\n" + )"
         R"(message["content"] + "<|im_end|>\n" }}{% endfor %})"
         R"({% if add_generation_prompt %}{{ "<|im_start|>assistant\n" }}{% endif %})";
}

void llama3(const Conversation& conversation, Parts& parts) {
  add(parts, Kind::special, "<|begin_of_text|>");
  for (const Message& message : conversation.messages) {
    add(parts, Kind::special, "<|start_header_id|>");
    add(parts, Kind::text, message.role);
    add(parts, Kind::special, "<|end_header_id|>");
    add(parts, Kind::text, "\n\n");
    add(parts, Kind::text, whole(message), is_response(message));
    add(parts, Kind::special, "<|eot_id|>", is_response(message));
  }
}

std::string llama3_in_jinja(const std::string&) {
  return R"({{ "<|begin_of_text|>" }}{% for message in messages %})"
         R"({{ "<|start_header_id|>" + message["role"] + "<|end_header_id|>\n\n" + )"
         R"(message["content"] + "<|eot_id|>" }}{% endfor %}{% if add_generation_prompt %})"
         R"({{ "<|start_header_id|>assistant<|end_header_id|>\n\n" }}{% endif %})";
}

constexpr std::array<TemplateForm, 4> kForms = {{{"plain", plain, plain_in_jinja},
                                                 {"alpaca", alpaca, alpaca_in_jinja},
                                                 {"chatml", chatml, chatml_in_jinja},
                                                 {"llama3", llama3, llama3_in_jinja}}};

}  // namespace

ExampleTemplate::ExampleTemplate(const std::string& name) {
  form_ = std::find_if(kForms.begin(), kForms.end(),
                       [&](const TemplateForm& form) { return form.name == name; });
  if (form_ == kForms.end())
    throw std::logic_error("example template: none is named '" + name + "'");
}

std::string ExampleTemplate::in_jinja(const std::string& end_of_text) const {
  return form_->in_jinja(end_of_text.empty() ? kEndOfText : end_of_text);
}

std::string ExampleTemplate::prompt(const std::string& message, const std::string& system) const {
  Conversation conversation{{{"user", message, ""}, {"assistant", "", ""}}};
  if (!system.empty())
    conversation.messages.insert(conversation.messages.begin(), {"system", system, ""});
  Parts parts;
  form_->write(conversation, parts);
  std::string text;
  for (const ExamplePart& part : parts) {
    if (part.is_learned) break;
    text += part.text;
  }
  return text;
}

std::vector<ExamplePart> ExampleTemplate::empty_exchange() const {
  Parts parts;
  form_->write({{{"user", "", ""}, {"assistant", "", ""}}}, parts);
  return parts;
}

TextBounds ExampleTemplate::bounds(const Tokenizer& tokenizer) const {
  const Parts parts = empty_exchange();
  TextBounds bounds = tokenizer.bounds();
  const ExamplePart& first = parts.front();
  if (first.kind != Kind::special || tokenizer.special_token(first.text) != bounds.begin)
    bounds.begin.reset();
  const auto marker = std::find_if(parts.begin(), parts.end(), [](const ExamplePart& part) {
    return part.is_learned && part.kind == Kind::special;
  });
  if (marker != parts.end()) {
    if (const auto end = tokenizer.special_token(marker->text))
      bounds.ends.push_back(*end);
    else
      bounds.end_marker = marker->text;
  } else if (!tokenizer.end_of_text()) {
    bounds.end_marker = kEndOfText;
  }
  return bounds;
}

std::vector<ExamplePart> ExampleTemplate::fill(std::string_view record) const {
  Parts parts;
  form_->write(conversation_of(parsed(record)), parts);
  return parts;
}

}  // namespace exprun
