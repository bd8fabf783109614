#include "operator/passes/finalizer.h"

#include <algorithm>

#include "kube/json_patch.h"

namespace etcdop {

using api::v1alpha2::EtcdMember;
using api::v1alpha2::kMemberFinalizer;

bool has_our_finalizer(const api::ObjectMeta& meta) {
  return std::ranges::find(meta.finalizers, kMemberFinalizer) != meta.finalizers.end();
}

Result<Done> release_finalizer(kube::Granted<kReleasesFinalizer> api, Stores& stores,
                               const api::ObjectKey& key, const std::string& uid,
                               const std::string& resource_version) {
  const auto member = stores.members.get(key);
  if (!member || member->metadata.uid != uid || !has_our_finalizer(member->metadata)) return Done{};
  const auto& all = member->metadata.finalizers;
  const auto at = std::ranges::find(all, kMemberFinalizer) - all.begin();
  const std::string path = "/metadata/finalizers/" + std::to_string(at);
  json::array patch{kube::must_be("/metadata/uid", uid), kube::must_be(path, kMemberFinalizer)};
  if (!resource_version.empty())
    patch.push_back(kube::must_be("/metadata/resourceVersion", resource_version));
  patch.push_back(kube::removed(path));
  auto written = api.json_patch<EtcdMember>(key, std::move(patch));
  if (written.failed_with(Code::NotFound)) {
    stores.members.saw_deleted(*member);
    return Done{};
  }
  if (!written) return Error(written.error()).during("release EtcdMember " + to_string(key));
  if (written->metadata.terminating() && written->metadata.finalizers.empty())
    stores.members.saw_deleted(*written);
  else stores.members.wrote(std::move(*written));
  return Done{};
}

}  // namespace etcdop
