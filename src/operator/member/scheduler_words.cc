#include "operator/member/scheduler_words.h"

#include <set>
#include <string_view>
#include <vector>

#include "base/joined.h"

namespace etcdop::member {
namespace {

constexpr std::string_view kDigits = "0123456789";

/// The part after "0/5 nodes are available: "; empty: the message has no such part.
std::string_view after_counts(std::string_view message) {
  constexpr std::string_view kLead = " nodes are available: ";
  const std::size_t lead = message.find(kLead);
  if (lead == std::string_view::npos ||
      message.substr(0, lead).find_first_not_of("0123456789/") != std::string_view::npos)
    return {};
  return message.substr(lead + kLead.size());
}

/// "3 node(s) had untolerated taint {a: 17}" as "node(s) had untolerated taint {a}".
std::string without_numbers(std::string_view reason) {
  while (!reason.empty() && reason.front() == ' ') reason.remove_prefix(1);
  while (!reason.empty() && (reason.back() == ' ' || reason.back() == '.')) reason.remove_suffix(1);
  const std::size_t words = reason.find_first_not_of(kDigits);
  if (words != 0 && words < reason.size() && reason[words] == ' ') reason.remove_prefix(words + 1);
  std::string out(reason);
  for (std::size_t from = out.find('{'); from != std::string::npos;
       from = out.find('{', from + 1)) {
    const std::size_t colon = out.find(':', from), end = out.find('}', from);
    if (colon < end && end != std::string::npos) out.erase(colon, end - colon);
  }
  return out;
}

}  // namespace

std::string reasons_of_scheduler(const std::string& message) {
  std::string_view rest = after_counts(message);
  if (rest.empty()) return message;
  rest = rest.substr(0, rest.find("preemption: "));
  std::set<std::string> reasons;
  while (!rest.empty()) {
    const std::size_t end = rest.find(", ");
    if (std::string one = without_numbers(rest.substr(0, end)); !one.empty())
      reasons.insert(std::move(one));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 2);
  }
  return joined(std::vector<std::string>(reasons.begin(), reasons.end()));
}

}  // namespace etcdop::member
