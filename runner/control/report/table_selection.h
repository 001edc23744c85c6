// Which rows and columns of a table are shown, and in what order.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "control/report/table.h"

namespace exprun {

// The column with this key or else this title: people write the header that they see.
std::optional<size_t> find_column(const ResultTable& table, const std::string& name);

// What a column may be called: the keys, then the titles.
std::vector<std::string> column_names(const ResultTable& table);

// By the values of the column of this name, the lowest first; cells without a value come last
// either way. Throws Error that names the columns.
void sort_rows(ResultTable& table, const std::string& name, bool reverse);

// These columns, in this order. Throws Error that names the columns.
void choose_columns(ResultTable& table, const std::vector<std::string>& names);

// "a,b,c" as its words.
std::vector<std::string> words_of_list(const std::string& list);

}  // namespace exprun
