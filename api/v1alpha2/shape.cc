#include "api/v1alpha2/shape.h"

#include <algorithm>

namespace etcdop::api::v1alpha2 {
namespace {

/// "a|b|c"
std::string alternatives(const auto& words) {
  std::string out;
  for (const std::string_view word : words) out += (out.empty() ? "" : "|") + std::string(word);
  return out;
}

}  // namespace

bool is_own_flag(std::string_view name) {
  const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
  if (std::ranges::find(kUsersFlags, name) != kUsersFlags.end()) return false;
  return std::ranges::find(kOwnFlags, name) != kOwnFlags.end() ||
         std::ranges::any_of(kOwnFlagPrefixes, begins);
}

const std::vector<Rule>& extra_args_rules() {
  static const std::string not_ours =
      "self.all(flag, flag.matches('^(" + alternatives(kUsersFlags) + ")$') || !flag.matches('^(" +
      alternatives(kOwnFlags) + ")$|^(" + alternatives(kOwnFlagPrefixes) + ")'))";
  static const std::vector<Rule> made = {
      {"self.all(flag, flag.matches('^[a-z0-9]+(-[a-z0-9]+)*$'))",
       "extraArgs must have the names of flags without the leading dashes, such as "
       "max-request-bytes"},
      {not_ours.c_str(),
       "extraArgs cannot set flags that the operator sets or relies on: names, URLs, "
       "initial-*, TLS, data and log, nor flags that spec.options has"}};
  return made;
}

}  // namespace etcdop::api::v1alpha2
