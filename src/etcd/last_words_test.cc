#include "etcd/last_words.h"

#include <gtest/gtest.h>

#include <string>

namespace etcdop::etcd {
namespace {

TEST(LastWords, TellWhetherDataIsLostOrCorrupt) {
  using enum DataVerdict;
  const struct {
    const char* said;
    DataVerdict of_old, of_new;
  } rows[] = {
      {R"("error":"error validating peerURLs {...}: member count is unequal","stacktrace")", Lost,
       Unknown},
      {"PeerURLs: no match found for existing member (1, [http://a:2380])", Lost, Unknown},
      {R"(couldn't find local name "a" in the initial cluster configuration)", Lost, Unknown},
      {"cannot fetch cluster info from peer urls: could not retrieve cluster information from the "
       "given URLs",
       Lost, Unknown},
      {"member 8e9e05c52164694d has already been bootstrapped", Lost, Unknown},
      {"panic: tocommit(140) is out of range [lastIndex(0)]. Was the raft log corrupted, "
       "truncated, or lost?\n\ngoroutine 136 [running]:",
       Lost, Lost},
      {"panic: cannot use none as id", Lost, Lost},
      {"walpb: crc mismatch: expected: 19247c72 computed: b4592f23", Corrupt, Corrupt},
      {R"("msg":"discovery failed","error":"proto: cannot parse invalid wire-format data")",
       Corrupt, Corrupt},
      {R"("msg":"failed to open database","error":"invalid database")", Corrupt, Corrupt},
      {"panic: failed to recover v3 backend from snapshot", Corrupt, Corrupt},
      {"panic: freepages: failed to get all reachable pages (key[6]=", Corrupt, Corrupt},
      {"", Unknown, Unknown},
      {"listen tcp 0.0.0.0:2380: bind: address already in use", Unknown, Unknown},
      {"write /var/lib/etcd/member/wal/0.tmp: no space left on device", Unknown, Unknown},
      {"open /var/lib/etcd/member/snap/db: permission denied", Unknown, Unknown},
  };
  for (const auto& [said, of_old, of_new] : rows) {
    EXPECT_EQ(verdict_of(said, true), of_old) << said;
    EXPECT_EQ(verdict_of(said, false), of_new) << said;
  }
}

}  // namespace
}  // namespace etcdop::etcd
