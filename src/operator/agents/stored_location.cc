#include "operator/agents/stored_location.h"

#include <algorithm>
#include <string_view>

#include "operator/agents/agent_pod.h"

namespace etcdop {
namespace {

namespace v1 = api::v1alpha2;

constexpr std::string_view kS3Scheme = "s3://", kFileScheme = "file://";

std::string_view without_slashes(std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  return path;
}

}  // namespace

std::string segments_of(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const std::string_view segment = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(segment.size() + 1, path.size()));
    if (segment.empty()) continue;
    if (!out.empty()) out += '/';
    out += segment;
  }
  return out;
}

v1::SnapshotLocation stored_location(const v1::EtcdSnapshot& of) {
  v1::SnapshotLocation out = of.spec.destination;
  if (!of.status.artifact) return out;
  std::string_view uri = of.status.artifact->uri;
  if (out.s3 && uri.starts_with(kS3Scheme)) {
    uri.remove_prefix(kS3Scheme.size());
    const std::size_t slash = std::min(uri.find('/'), uri.size());
    out.s3->bucket = uri.substr(0, slash);
    out.s3->key = uri.substr(std::min(slash + 1, uri.size()));
  } else if (out.pvc && uri.starts_with(kFileScheme)) {
    uri.remove_prefix(kFileScheme.size());
    const std::string folder = std::string(kStoredFolder) + "/";
    if (uri.starts_with(folder)) out.pvc->sub_path = uri.substr(folder.size());
  }
  return out;
}

bool is_source(const v1::SnapshotLocation& source, const std::string& ns,
               const v1::EtcdSnapshot& of) {
  if (!of.status.artifact) return false;
  const v1::SnapshotLocation stored = stored_location(of);
  if (source.s3 && stored.s3)
    return source.s3->bucket == stored.s3->bucket &&
           without_slashes(source.s3->key) == without_slashes(stored.s3->key);
  return source.pvc && stored.pvc && ns == of.metadata.ns &&
         source.pvc->claim_name == stored.pvc->claim_name &&
         segments_of(source.pvc->sub_path) == segments_of(stored.pvc->sub_path);
}

}  // namespace etcdop
