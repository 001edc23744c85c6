// Which rows and columns of a table are shown, and in what order.
#pragma once

#include <string>
#include <vector>

#include "control/report/table.h"

namespace exprun {

// By the values of the column with this key, the lowest first; cells without a value come last
// either way. Throws Error that names the columns.
void sort_rows(ResultTable& table, const std::string& key, bool reverse);

// These columns, in this order. Throws Error that names the columns.
void choose_columns(ResultTable& table, const std::vector<std::string>& keys);

// "a,b,c" as its words.
std::vector<std::string> words_of_list(const std::string& list);

}  // namespace exprun
