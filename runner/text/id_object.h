// {"token": id, ...}: the JSON object that vocabularies keep their ids in.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace exprun {

// Calls `use` for each name and id, in order. False where it is no JSON, or not of that kind alone.
// A vocabulary is read with every command that needs one: this is several times as fast as a JSON
// library, which looks at each character for itself.
bool read_id_object(std::string json,
                    const std::function<void(std::string_view name, uint64_t id)>& use);

}  // namespace exprun
