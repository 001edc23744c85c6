// What to say of a number as TOML does not write it, "1k" or "10%", by what its key takes.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "base/diagnostic.h"
#include "recipe/schema/schema.h"

namespace exprun {

// Of a `text` with a number_meant(): how to write it, if the key takes that number, else why not.
// `key` is the name that messages show.
Diagnostic unwritable_number(const std::string& key, const Schema& schema, const SourceSpan& where,
                             const std::string& text);

// The same of such a value in a recipe that is no TOML because of it: `size` bytes of the file from
// `begin` on. Nothing for another value, and where no key is known there.
std::optional<Diagnostic> unwritable_number_at(const std::shared_ptr<const SourceFile>& file,
                                               size_t begin, size_t size);

}  // namespace exprun
