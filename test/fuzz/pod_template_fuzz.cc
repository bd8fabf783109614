// spec.podTemplate, which a user writes: what is accepted is merged into a Pod without harm.
#include <string>
#include <string_view>

#include "api/describe.h"
#include "base/check.h"
#include "kube/object_text.h"
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

}  // namespace
}  // namespace etcdop

extern "C" int LLVMFuzzerTestOneInput(const char* data, std::size_t size) {
  using namespace etcdop;
  boost::system::error_code wrong;
  // As deep as it is in an EtcdCluster.
  const Json read =
      kube::parse_objects(R"({"spec":{"podTemplate":)" + std::string(data, size) + "}}", 0, wrong);
  if (wrong || !read.as_object().contains("spec")) return 0;
  const Json& spec = read.at("spec");
  if (!spec.is_object() || !spec.as_object().contains("podTemplate")) return 0;
  v1::PodTemplate added;
  if (!api::decode(spec.at("podTemplate"), added, "podTemplate")) return 0;
  const bool accepted = why_not_template(added).empty();
  const bool accepted_anew = why_not_new_template(added).empty();
  check(accepted || !accepted_anew, "a new template obeys all rules");
  merged(added, accepted);
  return 0;
}
