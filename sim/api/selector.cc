#include "sim/api/selector.h"

#include <algorithm>
#include <string>
#include <utility>

namespace etcdop::sim {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Splits at commas that are not in parentheses.
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> out;
  std::size_t start = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') --depth;
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      out.push_back(trimmed(text.substr(start, i - start)));
      start = i + 1;
    }
  }
  return out;
}

Error unreadable(std::string_view term) {
  return {Code::Invalid, "unable to parse requirement: " + std::string(term)};
}

const Json* field(const Json& object, const char* name) {
  return object.at("metadata").as_object().if_contains(name);
}

}  // namespace

Result<LabelSelector> LabelSelector::parse(std::string_view text) {
  LabelSelector out;
  if (trimmed(text).empty()) return out;
  for (std::string_view part : split(text)) {
    Term term;
    const std::size_t list =
        part.find(" in (") != part.npos ? part.find(" in (") : part.find(" notin (");
    if (list != part.npos) {
      if (part.back() != ')') return unreadable(part);
      term.negated = part[list + 1] == 'n';
      term.key = trimmed(part.substr(0, list));
      const std::size_t open = part.find('(');
      for (auto value : split(part.substr(open + 1, part.size() - open - 2)))
        term.values.emplace_back(value);
    } else if (const std::size_t equals = part.find('='); equals != part.npos) {
      term.negated = equals > 0 && part[equals - 1] == '!';
      term.key = trimmed(part.substr(0, term.negated ? equals - 1 : equals));
      part.remove_prefix(part.substr(equals).starts_with("==") ? equals + 2 : equals + 1);
      term.values.emplace_back(trimmed(part));
    } else {
      term.any_value = true;
      term.negated = part.starts_with('!');
      term.key = trimmed(part.substr(term.negated ? 1 : 0));
    }
    if (term.key.empty() || term.key.find_first_of(" !()") != term.key.npos)
      return unreadable(part);
    out.terms_.push_back(std::move(term));
  }
  return out;
}

bool LabelSelector::matches(const Json& object) const {
  const Json* const labels = field(object, "labels");
  return std::ranges::all_of(terms_, [&](const Term& term) {
    const Json* value = labels ? labels->as_object().if_contains(term.key) : nullptr;
    const bool selected =
        value &&
        (term.any_value ||
         std::ranges::find(term.values, std::string_view(value->as_string())) != term.values.end());
    return selected != term.negated;  // As in Kubernetes, `!=` and `notin` match a missing label.
  });
}

Result<FieldSelector> FieldSelector::parse(std::string_view text) {
  FieldSelector out;
  if (trimmed(text).empty()) return out;
  for (std::string_view part : split(text)) {
    const std::size_t equals = part.find('=');
    const std::string_view key = trimmed(part.substr(0, equals));
    if (equals == part.npos || (key != "metadata.name" && key != "metadata.namespace"))
      return Error{Code::Invalid, "field label not supported: " + std::string(part)};
    out.terms_.emplace_back(key.substr(9), trimmed(part.substr(equals + 1)));
  }
  return out;
}

bool FieldSelector::is_of_one() const {
  return std::ranges::any_of(terms_, [](const auto& term) { return term.first == "name"; });
}

bool FieldSelector::matches(const Json& object) const {
  return std::ranges::all_of(terms_, [&](const auto& term) {
    const Json* value = field(object, term.first.c_str());
    return value && std::string_view(value->as_string()) == term.second;
  });
}

}  // namespace etcdop::sim
