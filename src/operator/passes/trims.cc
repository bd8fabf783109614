#include "operator/passes/trims.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "api/v1alpha2/names.h"
#include "kube/object_text.h"

namespace etcdop {
namespace {

namespace v1 = api::v1alpha2;

constexpr std::string_view kOurContainers[] = {v1::kEtcdContainer, v1::kAgentContainer,
                                               v1::kInstallToolsContainer, v1::kRestoreContainer};
/// An edit may add so much to a spec that an earlier release adopted and that is too large.
constexpr std::size_t kEditBytes = 4 << 10, kEditValues = 100;
constexpr std::size_t kMetadataBytesMax = 8 << 10;
constexpr const char* kInstead = "; move files and scripts into a ConfigMap";

std::size_t values_in(const Json& value) {
  std::size_t out = 1;
  if (const json::array* list = value.if_array())
    for (const Json& element : *list) out += values_in(element);
  if (const json::object* object = value.if_object())
    for (const auto& [key, child] : *object) out += values_in(child);
  return out;
}

struct Size {
  std::size_t bytes = 0, values = 0;
};

template <class Spec>
Size size_of(const Spec& spec) {
  const Json whole = api::encode(spec);
  return {serialize(whole).size(), values_in(whole)};
}

constexpr Size kMost{kSpecBytesMax, kSpecValuesMax};

/// Why a spec of that size is too large; empty: it is not.
std::string judge(const Size& spec, const Size& most) {
  const auto too_many = [](std::size_t count, const char* what, std::size_t limit) {
    return "podTemplate: it and the other fields of spec have " + std::to_string(count) + what +
           " together, more than " + std::to_string(limit) + kInstead;
  };
  if (spec.bytes > most.bytes) return too_many(spec.bytes, " bytes", most.bytes);
  return spec.values > most.values ? too_many(spec.values, " values", most.values) : "";
}

/// The same of a cluster's. It may be as large as what was adopted, so that small fields can be
/// edited beside the large ones.
std::string judge(const v1::EtcdCluster& cluster) {
  const Size asked = size_of(cluster.spec);
  const std::string why = judge(asked, kMost);
  if (why.empty() || !cluster.status.observed) return why;
  const Size adopted = size_of(*cluster.status.observed);
  return judge(asked, {std::max(kMost.bytes, adopted.bytes + kEditBytes),
                       std::max(kMost.values, adopted.values + kEditValues)});
}

/// `spec` with the fields of what was adopted; of a new cluster, with those that are no lists, maps
/// or JSON.
v1::MemberTemplate without_the_large(const v1::EtcdCluster& cluster) {
  if (cluster.status.observed) return *cluster.status.observed;
  v1::MemberTemplate out;
  out.version = cluster.spec.version;
  out.storage = cluster.spec.storage;
  return out;
}

}  // namespace

void drop_annotations(api::ObjectMeta& metadata) {
  std::erase_if(metadata.annotations, [](const auto& annotation) {
    return !annotation.first.starts_with(v1::kReservedPrefix);
  });
}

std::string trim(v1::EtcdCluster& cluster) {
  drop_annotations(cluster.metadata);
  if (size_of(cluster.metadata).bytes > kMetadataBytesMax) {  // Both are only for others.
    cluster.metadata.labels.clear();
    cluster.metadata.owner_references.clear();
  }
  if (std::string why = judge(cluster); !why.empty()) {
    static_cast<v1::MemberTemplate&>(cluster.spec) = without_the_large(cluster);
    cluster.spec.pod_template = {std::nullopt, Json(why)};
  }
  if (cluster.status.observed) return "";
  const std::size_t bytes = serialize(api::encode(cluster)).size();
  return bytes <= kObjectBytesMax
             ? ""
             : "it has more than " + std::to_string(kObjectBytesMax) + " bytes";
}

std::string trim(kube::Pod& pod) {
  drop_annotations(pod.metadata);
  for (auto* list : {&pod.spec.containers, &pod.spec.init_containers})
    for (kube::Container& container : *list)
      if (std::ranges::find(kOurContainers, container.name) == std::end(kOurContainers))
        container.command.clear();
  return "";
}

std::string why_too_large(const v1::PodTemplate& added) {
  if (!added.spec || !added.spec->is_string()) return "";
  if (kube::is_too_long(*added.spec))
    return "podTemplate.spec has more than " + std::to_string(kube::kFieldBytesMax) + " bytes" +
           kInstead;
  const std::string_view text = added.spec->get_string();
  return text.starts_with("podTemplate: ") ? std::string(text) : "";
}

std::string why_too_large(const v1::ObservedSpec& adopted) {
  return judge(size_of(adopted), kMost);
}

}  // namespace etcdop
