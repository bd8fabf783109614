#include "operator/cluster/unreachable.h"

#include <cstdint>

#include "api/v1alpha2/names.h"
#include "base/duration.h"

namespace etcdop::cluster {
namespace {

namespace v1 = api::v1alpha2;

constexpr std::int64_t kLeast = 60;  // A restart of a node takes that long.
constexpr double kMost = 1e9;        // Some thirty years.

}  // namespace

UnreachablePolicy unreachable_policy(const v1::EtcdCluster& cluster) {
  const auto& all = cluster.metadata.annotations;
  const auto found = all.find(v1::kReplaceUnreachableAnnotation);
  if (found == all.end()) return {};
  const auto seconds = to_seconds(found->second);
  if (seconds && *seconds >= kLeast && *seconds <= kMost)
    return {static_cast<std::int64_t>(*seconds), ""};
  return {0, std::string("the annotation ") + v1::kReplaceUnreachableAnnotation +
                 " is not a duration of 1m or more, such as 15m: the operator replaces no "
                 "unreachable member"};
}

}  // namespace etcdop::cluster
