// Which fields of a spec ask for something. Pure.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "api/leaves.h"

namespace etcdop {

/// The leaves of `spec` that differ from the schema's default and are, or lie below, one of
/// `subtrees` ("tls", "storage.medium"). An object with nothing set in it asks for nothing.
template <class Spec>
std::vector<std::string> asked_for(const Spec& spec, const std::vector<std::string>& subtrees) {
  static const auto leaves = api::leaves<Spec>();  // Every pass asks.
  std::vector<std::string> out;
  for (const std::string& path : api::differs_from_default(spec)) {
    const auto covers = [&](const std::string& subtree) {
      return path == subtree || path.starts_with(subtree + ".");
    };
    if (std::ranges::find(leaves, path) != leaves.end() && std::ranges::any_of(subtrees, covers))
      out.push_back(path);
  }
  return out;
}

}  // namespace etcdop
