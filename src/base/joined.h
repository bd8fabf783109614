// Joins words into a list for people.
#pragma once
#include <string>
#include <vector>

namespace etcdop {

/// "a, b, c".
inline std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

}  // namespace etcdop
