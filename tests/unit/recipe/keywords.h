// The keywords of JSON Schema that our schemas may have, and our validator judges by.
#pragma once

#include <set>
#include <string>

namespace exprun {

inline const std::set<std::string> kStandardKeywords = {"type",
                                                        "enum",
                                                        "const",
                                                        "minimum",
                                                        "exclusiveMinimum",
                                                        "maximum",
                                                        "exclusiveMaximum",
                                                        "items",
                                                        "minItems",
                                                        "maxItems",
                                                        "maxLength",
                                                        "pattern",
                                                        "propertyNames",
                                                        "required",
                                                        "additionalProperties",
                                                        "properties",
                                                        "default",
                                                        "oneOf",
                                                        "anyOf"};

}  // namespace exprun
