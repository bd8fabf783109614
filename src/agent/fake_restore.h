// A stored snapshot and a data directory in memory, for tests of restores.
#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/manifest.h"
#include "agent/restore_site.h"
#include "agent/source.h"
#include "base/fiber.h"
#include "s3/sigv4.h"
#include "sys/digest.h"

namespace etcdop::testing {

using agent::DatabaseFacts;
using agent::Manifest;
using agent::Rebuild;
using agent::RestoreSide;
using agent::SourceFacts;

inline const std::string kUri = "s3://b/nightly.db";

inline std::string with_sum(const std::string& pages) {
  Digest sum(Digest::Kind::Sha256);
  sum.add(pages);
  return pages + sum.bytes();
}

inline std::string checksum(const std::string& bytes) { return "sha256:" + s3::sha256_hex(bytes); }

inline Manifest manifest_of(const std::string& stored) {
  Manifest out{.snapshot_name = "nightly",
               .snapshot_uid = "uid-1",
               .taken_at = {},
               .attempt = "1",
               .report = {}};
  out.report.uri = kUri;
  out.report.size_bytes = static_cast<std::int64_t>(stored.size());
  out.report.checksum = checksum(stored);
  out.report.etcd_version = "3.6.16";
  out.report.cluster_id = out.report.member_id = "00000000000000c1";
  return out;
}

/// Reads in pieces, slowly if the test asks for it.
class FakeSource final : public agent::SnapshotSource {
 public:
  explicit FakeSource(Executor& executor) : executor_(executor) {}
  Result<SourceFacts> look() override {
    if (error) return *error;
    return SourceFacts{
        .size_bytes = bytes.size(), .uid = uid, .attempt = attempt, .manifest = manifest};
  }
  Result<Done> read(const Take& take) override {
    for (std::size_t at = 0; at < bytes.size(); at += 700) {
      if (auto came = to_result(executor_.sleep(delay), "reading"); !came) return came;
      if (auto taken = take(std::string_view(bytes).substr(at, 700)); !taken) return taken;
    }
    return Done{};
  }
  std::string uri() const override { return kUri; }
  RestoreSide side() const override { return RestoreSide::Store; }

  std::string bytes = with_sum(std::string(4096, 'x')), uid, attempt;
  std::optional<std::string> manifest;
  std::optional<Error> error;
  Duration delay{};

 private:
  Executor& executor_;
};

/// A data directory: files by name. A test can make a call fail by its name.
class FakeSite final : public agent::RestoreSite {
 public:
  Result<bool> has_member() override {
    if (auto bad = call("has_member"); !bad) return bad.error();
    return files.contains("member");
  }
  Result<Done> find_tool() override { return call("find_tool"); }
  Result<Done> sweep() override {
    std::erase_if(files, [](const auto& file) { return file.first != "member"; });
    return call("sweep");
  }
  Result<std::uint64_t> free_bytes() override {
    if (auto bad = call("free_bytes"); !bad) return bad.error();
    return free;
  }
  Result<Done> create() override {
    EXPECT_FALSE(files.contains("temporary"));
    files["temporary"] = "";
    return call("create");
  }
  Result<Done> write(std::string_view bytes) override {
    files["temporary"] += bytes;
    return call("write");
  }
  Result<Done> finish() override { return call("finish"); }
  Result<DatabaseFacts> inspect() override {
    if (auto bad = call("inspect"); !bad) return bad.error();
    return facts;
  }
  Result<Done> rebuild(const Rebuild& how) override {
    asked = how;
    files["rebuilt"] = files["temporary"];
    return call("rebuild");
  }
  Result<Done> commit() override {
    if (auto bad = call("commit"); !bad) return bad;
    files["member"] = files["rebuilt"];
    files.erase("rebuilt");
    return Done{};
  }

  std::map<std::string, std::string> files;
  std::uint64_t free = 1 << 30;
  DatabaseFacts facts{
      .etcd_version = "3.6.0", .auth_enabled = false, .revision = 7, .newest_key = {}};
  std::map<std::string, Error> fails;
  std::vector<std::string> calls;
  std::optional<Rebuild> asked;

 private:
  Result<Done> call(const std::string& name) {
    if (calls.empty() || calls.back() != name) calls.push_back(name);
    const auto it = fails.find(name);
    return it == fails.end() ? Result<Done>(Done{}) : it->second;
  }
};

}  // namespace etcdop::testing
