// spec.podTemplate, which a user writes: what is accepted is merged into a Pod without harm.
#include <string>
#include <string_view>

#include "api/describe.h"
#include "base/check.h"
#include "kube/object_text.h"
#include "operator/member/objects.h"
#include "operator/passes/trims.h"
#include "operator/pods/pod_policy.h"
#include "operator/pods/pod_shape.h"

namespace etcdop {
namespace {

namespace v1 = api::v1alpha2;

const Json& plain_pod() {
  static const Json pod = json::parse(R"({
    "metadata": {"name": "db-a", "labels": {"etcd-operator.cozystack.io/cluster": "db"}},
    "spec": {"hostname": "db-a", "subdomain": "db", "securityContext": {"runAsNonRoot": true},
             "containers": [{"name": "etcd", "image": "etcd", "command": ["etcd"],
                             "volumeMounts": [{"name": "data", "mountPath": "/var/lib/etcd"}]}],
             "volumes": [{"name": "data", "emptyDir": {}}]}})");
  return pod;
}

const json::object& etcd_of(const json::object& pod) {
  return pod.at("spec").at("containers").at(0).as_object();
}

void merged(const v1::PodTemplate& added, bool accepted) {
  json::object once = plain_pod().as_object();
  merge_template(once, added);
  if (!accepted) return;  // It must only not throw.
  const json::object& before = plain_pod().as_object();
  const json::object& etcd = etcd_of(once);
  check(etcd.at("name") == "etcd" && etcd.at("command") == etcd_of(before).at("command") &&
            etcd.at("image") == etcd_of(before).at("image"),
        "etcd runs as the operator wants it");
  check(once.at("metadata").at("labels").as_object().contains("etcd-operator.cozystack.io/cluster"),
        "the operator finds its Pod");
  check(once.at("spec").at("hostname") == "db-a" && once.at("spec").at("subdomain") == "db",
        "peers find the Pod");
  check(once.at("spec").at("volumes").at(0) == before.at("spec").at("volumes").at(0),
        "the data stays where it is");
}

/// A stricter policy admits no more.
void judged(const v1::PodTemplate& added) {
  const bool baseline = why_not_by_policy(added, PodPolicy::Baseline).empty();
  const bool restricted = why_not_by_policy(added, PodPolicy::Restricted).empty();
  check(why_not_by_policy(added, PodPolicy::Any).empty(), "any is any");
  check(baseline || !restricted, "restricted is baseline and more");
  const std::string account = account_of(added);
  const json::object* spec = added.spec ? added.spec->if_object() : nullptr;
  const Json* name = spec ? spec->if_contains("serviceAccountName") : nullptr;
  check(!name || !name->is_string() || name->get_string().empty() || *name == Json(account),
        "the account that it names is looked at");
}

/// As the cache keeps an EtcdCluster: bounded where it is new, whole where members have it.
void kept(const v1::PodTemplate& added) {
  v1::EtcdCluster fresh;
  fresh.metadata.name = "db";
  fresh.spec.version = "3.6.16";
  fresh.spec.pod_template = added;
  v1::EtcdCluster adopted = fresh;
  check(trim(fresh).empty(), "a template makes no cluster unreadable");
  check(serialize(api::encode(fresh)).size() <= kObjectBytesMax, "it is bounded");
  if (fresh.spec.pod_template != added)
    check(!why_not_template(*fresh.spec.pod_template).empty(), "it is refused");
  static_cast<v1::MemberTemplate&>(adopted.status.observed.emplace()) = adopted.spec;
  const v1::EtcdCluster before = adopted;
  check(trim(adopted).empty() && adopted == before, "a running cluster keeps it");
}

/// A member of a running cluster gets its Pod, whatever is refused of new templates.
void made(const v1::PodTemplate& added, bool accepted) {
  v1::EtcdMember of;
  of.metadata.name = "db-a";
  of.metadata.ns = "prod";
  of.metadata.uid = "m-1";
  of.spec.cluster_name = "db";
  of.spec.version = "3.6.16";
  of.spec.storage.size = "1Gi";
  of.spec.pod_template = added;
  for (const v1::Medium medium : {v1::Medium::Disk, v1::Medium::Memory}) {
    of.spec.storage.medium = medium;
    auto pod = member::pod(of, {}, {});
    check(bool(pod) == accepted, "it has a Pod where its template is accepted");
    if (!pod) continue;
    check(etcd_of(pod->as_object()).at("name") == "etcd", "etcd is in it");
    check(pod->at("metadata").at("labels").at(v1::kClusterLabel) == "db", "the operator finds it");
  }
}

}  // namespace
}  // namespace etcdop

extern "C" int LLVMFuzzerTestOneInput(const char* data, std::size_t size) {
  using namespace etcdop;
  boost::system::error_code wrong;
  // As deep as it is in an EtcdCluster.
  const Json read =
      kube::parse_objects(R"({"spec":{"podTemplate":)" + std::string(data, size) + "}}", 0, wrong);
  if (wrong || !read.is_object() || !read.as_object().contains("spec")) return 0;
  const Json& spec = read.at("spec");
  if (!spec.is_object() || !spec.as_object().contains("podTemplate")) return 0;
  v1::PodTemplate added;
  if (!api::decode(spec.at("podTemplate"), added, "podTemplate")) return 0;
  const bool accepted = why_not_template(added).empty();
  const bool accepted_anew = why_not_new_template(added).empty();
  check(accepted || !accepted_anew, "a new template obeys all rules");
  merged(added, accepted);
  judged(added);
  kept(added);
  made(added, accepted);
  return 0;
}
