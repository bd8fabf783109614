// For tests: "data", stored as an agent stores a snapshot.
#pragma once
#include <string>

#include "agent/destination.h"
#include "agent/manifest.h"

namespace etcdop::agent {

/// For the EtcdSnapshot with this uid, with its manifest.
inline Result<Done> store_data(Destination& to, const std::string& uid) {
  if (auto looked = to.look(); !looked) return looked.error();
  if (auto begun = to.begin(4); !begun) return begun;
  if (auto written = to.write("data"); !written) return written;
  AgentReport report;
  report.uri = to.uri();
  report.size_bytes = 4;
  report.checksum = "sha256:" + std::string(64, '0');
  report.cluster_id = report.member_id = "00000000000000c1";
  return to.finish({.snapshot_name = "nightly",
                    .snapshot_uid = uid,
                    .taken_at = {},
                    .attempt = {},
                    .report = report});
}

}  // namespace etcdop::agent
