#include "operator/members/silence.h"

#include <string>
#include <utility>

namespace etcdop {
namespace {

constexpr int kDials = 3;

}  // namespace

Result<Heard> last_look(const api::v1alpha2::EtcdCluster& cluster,
                        const api::v1alpha2::EtcdMember& member, const kube::Pod& pod,
                        etcd::Clients& etcd, Credentials& credentials) {
  const std::string& name = member.metadata.name;
  auto at = endpoint_of(cluster, member, pod);
  if (!at) return Heard::Refusal;
  Endpoints one{{name, std::move(*at)}};
  credentials.certificates.equip(cluster, one);
  if (one.empty()) return Error{Code::Conflict, name + " cannot be asked"};
  credentials.sessions.equip(cluster, one);
  for (int i = 0; i < kDials; ++i) {
    const auto status = etcd.at(one.begin()->second)->status();
    if (status || status.failed_with(Code::Denied)) return Heard::Answer;
    if (!status.failed_with(Code::Unavailable)) return Heard::Nothing;
  }
  return Heard::Refusal;
}

}  // namespace etcdop
