// An etcd member that answers nothing: tests override what they need.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "etcd/client.h"

namespace etcdop::testing {

struct UnscriptedEtcd : etcd::Client {
  inline static const Error kNotScripted{Code::Invalid, "not scripted"};

  Result<etcd::Status> status() override { return kNotScripted; }
  Result<etcd::MemberList> member_list(etcd::Read) override { return kNotScripted; }
  Result<etcd::MemberId> add_learner(const std::string&) override { return kNotScripted; }
  Result<Done> promote(etcd::MemberId) override { return kNotScripted; }
  Result<Done> remove(etcd::MemberId) override { return kNotScripted; }
  Result<Done> move_leader(etcd::MemberId) override { return kNotScripted; }
  Result<std::vector<etcd::Alarm>> alarms() override { return kNotScripted; }
  Result<Done> disarm(const etcd::Alarm&) override { return kNotScripted; }
  Result<Done> defragment() override { return kNotScripted; }
  Result<etcd::KeyHash> hash_kv(std::int64_t) override { return kNotScripted; }
  Result<etcd::KeyPage> keys(const etcd::KeyQuestion&) override { return kNotScripted; }
  Result<etcd::WholeSnapshot> snapshot(const etcd::SnapshotSink&) override { return kNotScripted; }
  Result<Done> user_add(const std::string&, const Secret&) override { return kNotScripted; }
  Result<Done> user_change_password(const std::string&, const Secret&) override {
    return kNotScripted;
  }
  Result<Done> user_grant_role(const std::string&, const std::string&) override {
    return kNotScripted;
  }
  Result<Done> auth_enable() override { return kNotScripted; }
  Result<etcd::AuthStatus> auth_status() override { return kNotScripted; }
  Result<Secret> authenticate(const std::string&, const Secret&) override { return kNotScripted; }
  void use_token(Secret) override {}
};

/// Every member gives the same answer to the question for its status, after refusals.
struct EtcdOfOneAnswer final : etcd::Clients {
  struct Member final : UnscriptedEtcd {
    explicit Member(EtcdOfOneAnswer& all) : all_(all) {}
    Result<etcd::Status> status() override {
      if (all_.refused == 0) return all_.answer;
      --all_.refused;
      return Error{Code::Unavailable, "connection refused"};
    }

   private:
    EtcdOfOneAnswer& all_;
  };
  std::shared_ptr<etcd::Client> at(const etcd::Endpoint&) override {
    return std::make_shared<Member>(*this);
  }
  Result<etcd::Status> answer = etcd::Status{};
  int refused = 1000;
};

}  // namespace etcdop::testing
