#include "operator/passes/trims.h"

#include <gtest/gtest.h>

#include <string>

#include "api/v1alpha2/etcdmember.h"
#include "api/v1alpha2/names.h"
#include "kube/object_text.h"

namespace etcdop {
namespace {

namespace v1 = api::v1alpha2;

v1::EtcdCluster cluster() {
  v1::EtcdCluster out;
  out.metadata.name = "db";
  out.spec.version = "3.6.16";
  out.spec.replicas = 5;
  return out;
}

/// A template of so many bytes or values.
Json of_bytes(std::size_t bytes) { return json::object{{"x", std::string(bytes, 'x')}}; }
Json of_values(std::size_t values) { return json::object{{"x", json::array(values, 1)}}; }

TEST(Trims, N4_ANewSpecThatIsTooLargeIsNotKeptAndWhatWasAdoptedIs) {
  struct Row {
    const char* what;
    Json spec;
    const char* why;
  };
  const Row rows[] = {{"small", of_bytes(10'000), ""},
                      {"bytes", of_bytes(kSpecBytesMax), " bytes together, more than 40960"},
                      {"values", of_values(kSpecValuesMax), " values together, more than 2048"}};
  for (const Row& row : rows) {
    v1::EtcdCluster born = cluster();
    born.spec.pod_template.emplace().spec = row.spec;
    v1::EtcdCluster edited = born, adopted = born;
    EXPECT_EQ(trim(born), "") << row.what;
    const std::string why = why_too_large(*born.spec.pod_template);
    EXPECT_EQ(why.empty(), *row.why == '\0') << why;
    EXPECT_NE(why.find(row.why), std::string::npos) << why;
    EXPECT_LT(serialize(api::encode(born)).size(), kSpecBytesMax);
    EXPECT_EQ(born.spec.replicas, 5);
    EXPECT_EQ(born.spec.version, "3.6.16");

    v1::ObservedSpec& before = edited.status.observed.emplace();
    before.version = "3.5.21";
    EXPECT_EQ(trim(edited), "");
    EXPECT_EQ(why_too_large(*edited.spec.pod_template), why);
    EXPECT_EQ(edited.spec.version, why.empty() ? "3.6.16" : "3.5.21") << "as before the edit";

    static_cast<v1::MemberTemplate&>(adopted.status.observed.emplace()) = adopted.spec;
    const v1::EtcdCluster as_read = adopted;
    EXPECT_EQ(trim(adopted), "");
    EXPECT_EQ(adopted, as_read) << row.what << ": an earlier release adopted it";
    EXPECT_EQ(why_too_large(*adopted.status.observed).empty(), why.empty()) << row.what;
    adopted.spec.version = "3.6.17";
    adopted.spec.options.emplace().quota_backend_bytes = 1 << 30;
    const v1::EtcdCluster with_an_edit = adopted;
    EXPECT_EQ(trim(adopted), "");
    EXPECT_EQ(adopted, with_an_edit) << row.what << ": an edit beside it";
  }
}

TEST(Trims, N4_AnyFieldOfANewSpecCounts) {
  for (const auto& enlarge : std::initializer_list<void (*)(v1::EtcdClusterSpec&)>{
           [](auto& spec) { spec.affinity = of_bytes(kSpecBytesMax); },
           [](auto& spec) { spec.tolerations = json::array(kSpecValuesMax, 1); },
           [](auto& spec) { spec.node_selector["a"] = std::string(kSpecBytesMax, 'x'); },
           [](auto& spec) { spec.extra_args["a"] = std::string(kSpecBytesMax, 'x'); },
           [](auto& spec) { spec.image_pull_secrets.resize(10'000); }}) {
    v1::EtcdCluster c = cluster();
    enlarge(c.spec);
    EXPECT_EQ(trim(c), "");
    EXPECT_NE(why_too_large(*c.spec.pod_template), "");
    EXPECT_LT(serialize(api::encode(c)).size(), 1000U);
  }
  v1::EtcdCluster c = cluster();
  c.metadata.labels["a"] = std::string(kObjectBytesMax, 'x');
  EXPECT_EQ(trim(c), "");
  EXPECT_TRUE(c.metadata.labels.empty());
  c.spec.auth.emplace().root_credentials_secret_ref.emplace().name =
      std::string(kObjectBytesMax, 'x');
  EXPECT_EQ(trim(c), "it has more than 131072 bytes");
  c.status.observed.emplace();
  EXPECT_EQ(trim(c), "") << "its members are repaired";
}

TEST(Trims, N4_WhatIsNeverReadIsNotKept) {
  kube::Pod pod;
  pod.metadata.annotations = {{v1::kClientAuthorityAnnotation, "a"}, {"note", "b"}};
  pod.spec.containers = {{"etcd", {"etcd"}}, {"sidecar", {"sh", "-c", "a script"}}};
  EXPECT_EQ(trim(pod), "");
  EXPECT_EQ(pod.metadata.annotations.size(), 1U);
  EXPECT_EQ(pod.spec.containers[0].command.size(), 1U);
  EXPECT_TRUE(pod.spec.containers[1].command.empty());
  v1::EtcdMember member;
  member.metadata.annotations = {{v1::kDataDirSubpathAnnotation, "a"}, {"note", "b"}};
  EXPECT_EQ(trim(member), "");
  EXPECT_EQ(member.metadata.annotations.size(), 1U);
}

TEST(Trims, WhatATemplateSaysForItselfIsNoReason) {
  v1::PodTemplate added;
  EXPECT_EQ(why_too_large(added), "");
  added.spec = json::object{{"x", "podTemplate: "}};
  EXPECT_EQ(why_too_large(added), "");
}

}  // namespace
}  // namespace etcdop
