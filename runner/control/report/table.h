// A result as rows and columns, in four forms: for people, spreadsheets, scripts and documents.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/report/cell.h"

namespace exprun {

struct Column {
  std::string key;      // for machines: "val_loss_best"
  std::string title;    // for people: "best val loss"
  bool right = false;   // numbers stand right
  size_t priority = 0;  // on a narrow terminal the lowest have the room first; 0 always stays
  bool extra = false;   // left out without a word
  bool is_cut = false;  // its texts are cut to the room that the others leave, where that is enough
};

struct ResultTable {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
};

struct PlainOptions {
  size_t width = 0;  // characters; 0 is any
  bool colours = false;
};

// Aligned columns under their titles. Where not all fit, each that does not fit beside those of
// lower priority is cut, if it may be, or left out, and named in `left_out`.
std::string to_plain(ResultTable table, const PlainOptions& options,
                     std::vector<std::string>* left_out = nullptr);

std::string to_csv(const ResultTable& table);     // RFC 4180, numbers in full
std::string csv_quoted(const std::string& text);  // a field of it, in quotes where they are needed
std::string to_json(const ResultTable& table);    // an array of objects, one on each line
std::string to_markdown(const ResultTable& table);  // as for people
std::string to_latex(const ResultTable& table);     // the same; a tabular, with booktabs' rules

// Which rows and columns of a table are shown, and in what order.

// The column with this key or else this title: people write the header that they see, or
// best_val_loss for "best val/loss".
std::optional<size_t> find_column(const std::vector<Column>& columns, const std::string& name);

// Whether people write `text` where they mean `name`: val_loss and "val loss" for val/loss.
bool is_written_as(std::string_view name, std::string_view text);

// What a column may be called: the keys, then the titles.
std::vector<std::string> column_names(const ResultTable& table);

// By the values of the column of this name, the lowest first; cells without a value come last
// either way. Throws Error that names the columns.
void sort_rows(ResultTable& table, const std::string& name, bool reverse);

// These columns, in this order. Throws Error that names the columns.
void choose_columns(ResultTable& table, const std::vector<std::string>& names);

}  // namespace exprun
