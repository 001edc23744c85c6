// A table for a document: GitHub's form, numbers to the right.
#include "control/report/table.h"

namespace exprun {
namespace {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|')
      out += "\\|";
    else
      out += c == '\n' ? ' ' : c;
  }
  return out;
}

}  // namespace

std::string to_markdown(const ResultTable& table) {
  std::string titles = "|", rule = "|";
  for (const Column& column : table.columns) {
    titles += ' ' + escaped(column.title) + " |";
    rule += column.right ? " ---: |" : " --- |";
  }
  std::string out = titles + '\n' + rule + '\n';
  for (const auto& row : table.rows) {
    out += '|';
    for (const Cell& cell : row) out += ' ' + escaped(cell.text) + " |";
    out += '\n';
  }
  return out;
}

}  // namespace exprun
