// "did you mean": the candidate nearest to a misspelt name, and words of other tools.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace exprun {

// The candidate with the smallest edit distance (insertion, deletion, substitution and swap of
// neighbours count one; capitals nothing), if it is at most 3 and less than half of the longer
// name; the first wins. Else the only one with the same first letter and number: "fp16" for
// "float16"; or the only one that the name, of three letters or more, begins: "temperature" for
// "temp".
std::optional<std::string> nearest(std::string_view name,
                                   const std::vector<std::string>& candidates);

// The table of this recipe that another tool's word means.
std::optional<std::string> table_synonym(std::string_view word);

// The choice that a word means which is none: another tool's word for it ("cuda" of "gpu"), the
// only one that begins with it ("relu_squared" of "relu"), the nearest, or the longest with which
// it begins ("adamw" of "adamw_torch").
std::optional<std::string> choice_meant(std::string_view word,
                                        const std::vector<std::string>& choices);

// The name that is one edit away: "sequences" of "sequence"; else the only one that begins or ends
// with the word and an underscore: "num_layers" of "layers".
std::optional<std::string> name_meant(std::string_view word, const std::vector<std::string>& names);

// For a "${lr}".
inline constexpr const char* kNoVariables =
    "recipes have no variables: write the value; only paths take ${env:NAME}";

// Whether other languages write this for no value: "None", "null".
bool is_no_value(std::string_view word);

// What to write for a word that is no type of the kind, such as the model "llama"; empty for any
// other.
std::string type_note(std::string_view kind, std::string_view word);

// What to say of a word that is none of the commands: "; did you mean 'ls'?" if they have it; empty
// for a word that no other tool has, as far as is known.
std::string command_synonym(std::string_view word, const std::vector<std::string>& commands);

// "--limit" for "--top", if the command has it.
std::optional<std::string> option_synonym(std::string_view word,
                                          const std::vector<std::string>& options);

// What does the work of another tool's command that we have none like: "; to train, use `exprun
// RECIPE` ..." for "train"; empty for any other.
std::string command_note(std::string_view word);

// What to say of an option of other tools that `command` needs none for: "; `exprun check RECIPE`
// ..." for "--dry-run"; empty for any other.
std::string option_note(std::string_view word, std::string_view command);

// Whether another tool says by the key which model, optimizer or schedule is meant: "name",
// "_target_".
bool has_word_for_type(std::string_view table, std::string_view key);

// Whether other tools turn what a table is about on and off by the key: "enabled".
bool turns_table_off(std::string_view key);

// What "1k", "2.5M" and "10%" mean elsewhere, as TOML writes it.
std::optional<std::string> number_meant(std::string_view text);

// "0..3", "0:3" or, of whole numbers, "0-3": two numbers, but not which between them; "0:3:1" too,
// which other languages read in different ways.
bool is_bare_interval(std::string_view text);

// The function of another tool's sweep that `text` calls: "loguniform" of "loguniform(1e-4,1e-2)"
// or of "loguniform:1e-4..1e-2", "tune.choice" of "tune.choice([1,2])".
std::optional<std::string> foreign_range(std::string_view text);

}  // namespace exprun
