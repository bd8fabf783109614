// etcd's API as values. Protobuf stays inside etcd_client.cc. One channel is one member.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "http/grpc_channel.h"

namespace etcdop::etcd {

struct Member {
  std::uint64_t id = 0;
  std::string name;
  std::vector<std::string> peer_urls;
  bool learner = false;
};
struct Status {
  std::string version;
  std::uint64_t member = 0, leader = 0, raft_index = 0;
  std::int64_t db_bytes = 0;
};

class Client {
 public:
  explicit Client(http::GrpcChannel& channel) : channel_(channel) {}
  Result<std::vector<Member>> members(bool linearizable);
  Result<Status> status();
  Result<Member> add_learner(const std::string& peer_url);
  Result<Done> promote(std::uint64_t id);
  Result<Done> remove(std::uint64_t id);
  Result<Done> put(std::string key, std::string value);
  /// Bytes of the database file, then its SHA-256, piece by piece. Returns their number.
  Result<std::uint64_t> snapshot(const http::GrpcChannel::Sink&);

 private:
  http::GrpcChannel& channel_;
};

}  // namespace etcdop::etcd
