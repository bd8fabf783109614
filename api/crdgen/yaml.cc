#include "api/crdgen/yaml.h"

#include <algorithm>
#include <string_view>

namespace etcdop::crdgen {
namespace {

constexpr std::size_t kColumns = 100;

std::string margin(std::size_t depth) { return std::string(2 * depth, ' '); }

bool is_one_of(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

/// Whether YAML reads the bare text as exactly this string.
bool is_plain(std::string_view text) {
  constexpr std::string_view kWords[] = {"true", "false", "null", "yes", "no",
                                         "on",   "off",   "y",    "n"};
  if (text.empty() || text.front() == ' ' || text.back() == ' ' || text.back() == ':') return false;
  if (is_one_of(text.front(), "-?:,[]{}#&*!|>'\"%@`=~+0123456789")) return false;
  if (text.front() == '.' && text.size() > 1 && is_one_of(text[1], ".0123456789iInN")) return false;
  if (text.find(": ") != text.npos || text.find(" #") != text.npos) return false;
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return std::ranges::find(kWords, lower) == std::end(kWords);
}

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += '\'';
    out += c;
  }
  return out + "'";
}

/// Whether `>-` preserves the text: no line with spaces at its edges, no newline at either end.
bool can_fold(std::string_view text) {
  if (text.empty() || is_one_of(text.front(), " \t\n") || is_one_of(text.back(), " \t\n"))
    return false;
  for (const char* edge : {"\n ", "\n\t", " \n", "\t\n"})
    if (text.find(edge) != text.npos) return false;
  return true;
}

/// One line of text, broken at single spaces.
void append_wrapped(std::string_view line, std::size_t depth, std::string& out) {
  const std::size_t width = std::max<std::size_t>(kColumns - 2 * depth, 40);
  while (line.size() > width) {
    const auto breakable = [&](std::size_t at) {
      return line[at] == ' ' && line[at - 1] != ' ' && line[at + 1] != ' ';
    };
    std::size_t at = width;
    while (at > 0 && !breakable(at)) --at;
    if (at == 0)
      for (at = width; at + 1 < line.size() && !breakable(at);) ++at;
    if (at + 1 >= line.size()) break;
    out += margin(depth) + std::string(line.substr(0, at)) + "\n";
    line.remove_prefix(at + 1);
  }
  out += margin(depth) + std::string(line) + "\n";
}

/// Text as a folded block: a newline in it becomes an empty line.
std::string folded(std::string_view text, std::size_t depth) {
  std::string out = ">-\n";
  for (;;) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (line.empty()) out += "\n";
    else append_wrapped(line, depth, out);
    if (end == text.npos) return out;
    text.remove_prefix(end + 1);
    if (!line.empty()) out += "\n";
  }
}

/// The value after "key:" for a text, with its newline.
std::string text_value(std::string_view text, std::size_t depth, std::size_t used) {
  const bool lines = text.find('\n') != text.npos;
  const bool odd = std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\n'; });
  if (odd || (lines && !can_fold(text))) return serialize(Json(text)) + "\n";  // JSON is YAML.
  if (lines || (used + text.size() > kColumns && text.find(' ') != text.npos && can_fold(text)))
    return folded(text, depth);
  return (is_plain(text) ? std::string(text) : quoted(text)) + "\n";
}

void append(const Json& value, std::size_t depth, std::size_t used, std::string& out);

void append_entries(const json::object& object, std::size_t depth, bool after_dash,
                    std::string& out) {
  for (const auto& [key, value] : object) {
    const std::string name = is_plain(key) ? std::string(key) : quoted(key);
    if (!after_dash) out += margin(depth);
    after_dash = false;
    out += name + ":";
    append(value, depth, 2 * depth + name.size() + 2, out);
  }
}

/// Appends the value after "key:" or "-". `used`: columns already used in this line.
void append(const Json& value, std::size_t depth, std::size_t used, std::string& out) {
  if (const json::object* object = value.if_object(); object && !object->empty()) {
    out += "\n";
    append_entries(*object, depth + 1, false, out);
  } else if (const json::array* array = value.if_array(); array && !array->empty()) {
    out += "\n";
    for (const Json& element : *array) {
      out += margin(depth + 1) + "-";
      if (const json::object* entry = element.if_object(); entry && !entry->empty()) {
        out += " ";
        append_entries(*entry, depth + 2, true, out);
      } else {
        append(element, depth + 1, 2 * depth + 4, out);
      }
    }
  } else if (value.is_string()) {
    out += " " + text_value(value.as_string(), depth + 1, used);
  } else {
    out += " " + serialize(value) + "\n";
  }
}

}  // namespace

std::string yaml(const Json& value) {
  std::string out;
  if (const json::object* object = value.if_object(); object && !object->empty())
    append_entries(*object, 0, false, out);
  else out = serialize(value) + "\n";
  return out;
}

}  // namespace etcdop::crdgen
