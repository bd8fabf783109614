#include "operator/defrag/rule.h"

#include "base/quantity.h"

namespace etcdop::defrag {
namespace {

constexpr std::int64_t kFreeSpaceAbove = 200 << 20, kMinReclaim = 32 << 20;

/// "80%"; a value that the schema refuses counts as 100%.
int percent_of(const std::string& text) {
  int out = 0;
  for (const char c : text)
    if (c >= '0' && c <= '9' && out <= 100) out = out * 10 + (c - '0');
  return out > 0 && out <= 100 ? out : 100;
}

}  // namespace

std::string not_worth_it(const std::optional<api::v1alpha2::DefragRule>& rule,
                         const MemberAnswer& answer, std::int64_t quota) {
  const api::v1alpha2::DefragRule of = rule.value_or(api::v1alpha2::DefragRule{});
  if (of.all) return "";
  const std::int64_t free = answer.db_size - answer.db_in_use;
  std::string out = std::to_string(free) + " bytes are free";
  const bool by_quota = !of.quota_usage_above.empty();
  if (!of.free_space_above.empty() || !by_quota) {
    const std::int64_t above = bytes_of(of.free_space_above).value_or(kFreeSpaceAbove);
    if (free > above) return "";
    out += ", not more than " + std::to_string(above);
  }
  if (!by_quota) return out;
  const std::int64_t used_above = quota / 100 * percent_of(of.quota_usage_above);
  const std::int64_t least = bytes_of(of.min_reclaim).value_or(kMinReclaim);
  if (answer.db_size > used_above && free >= least) return "";
  if (answer.db_size <= used_above)
    return out + "; the database has " + std::to_string(answer.db_size) + ", not more than " +
           of.quota_usage_above + " of its quota";
  return out + "; less than " + std::to_string(least) + " can be given back";
}

}  // namespace etcdop::defrag
