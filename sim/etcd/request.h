// One client request: runs on a fiber of the world, as if in the process that was asked.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "etcd/rpc.pb.h"
#include "http/grpc_channel.h"
#include "sim/etcd/world.h"

namespace etcdop::sim {

/// Shared by all requests. A function that fails has set `error_` and `status_`.
class Request {
 public:
  Request(EtcdWorld& world, const EtcdNet::Address& address, http::GrpcStatus& status,
          std::string token = {}, std::string common_name = {})
      : world_(world),
        address_(address),
        status_(status),
        token_(std::move(token)),
        common_name_(std::move(common_name)) {}
  virtual ~Request() = default;
  Result<std::string> unary(const std::string& path, const std::string& question);

 protected:
  /// Answers a question that reached a serving process.
  virtual bool call(const std::string& path, const std::string& question, std::string& answer) = 0;
  /// Whether a learner answers this call, too.
  virtual bool for_learners(const std::string& path, const std::string& question) const = 0;

  Instant now() const { return world_.executor.now(); }

  // --- ends and waits
  bool fail(int code, const std::string& text) {
    return fail(Refusal{.code = code, .text = "etcdserver: " + text});
  }
  bool fail(const Refusal&);
  Error unavailable() const { return {Code::Unavailable, error_.message}; }
  bool here() const { return asked_->phase != Process::Phase::Ended; }
  bool gone();
  bool given_up();
  bool pause(Duration low, Duration high);
  /// Until `holds` is true; checked whenever something changes at the process.
  bool until(Instant end, const std::function<bool()>& holds);
  /// Any listening process accepts the connection; it answers once it serves.
  bool reach(Instant end);
  bool learns() const { return asked_->dir->applied.learns(asked_->id()); }

  // --- the caller
  const Users& users() const { return asked_->dir->applied.users; }
  /// False: the token is invalid or expired.
  bool identify(Caller&);
  bool must_be(etcd::Answers who);

  // --- consensus
  /// Waits until everything committed before now is applied here.
  bool read_index();
  bool forward();
  /// The outcome becomes known when the change is applied at the process that was asked. Null
  /// leader, or one that no longer leads: the proposal is lost.
  std::shared_ptr<Outcome> propose(Process* leader, Change);

  template <class Answer>
  void fill(Answer& answer) const {
    auto* header = answer.mutable_header();
    header->set_cluster_id(asked_->dir->owner->cluster.value);
    header->set_member_id(asked_->id().value);
    header->set_raft_term(asked_->dir->term);
    header->set_revision(asked_->dir->applied.store.revision());
  }
  template <class Question>
  static Question parse(const std::string& bytes) {
    Question question;
    check(question.ParseFromString(bytes), "a request is the message it should be");
    return question;
  }

  static constexpr Duration kRequestLimit{7'000'000'000};  // ReqTimeout: 5 s, 2 election timeouts.
  EtcdWorld& world_;
  const EtcdNet::Address address_;
  http::GrpcStatus& status_;
  const std::string token_, common_name_;
  std::shared_ptr<Process> asked_;
  Error error_{Code::Unavailable, ""};
};

/// Keys, alarms, users and the database: etcd's KV, Auth and Maintenance.
class DataRequest final : public Request {
 public:
  using Request::Request;
  /// Returns the put's revision.
  Result<std::int64_t> put(const std::string& key, std::uint64_t value);
  struct Got {
    std::uint64_t value = 0;
    std::int64_t revision = 0;  ///< The store's revision at the read.
  };
  Result<Got> get(const std::string& key);
  /// The whole snapshot, as EtcdNet::stream sends it.
  Result<std::string> snapshot();

 private:
  bool call(const std::string& path, const std::string& question, std::string& answer) override;
  bool for_learners(const std::string& path, const std::string& question) const override;
  bool kv_call(std::string_view name, const std::string& question, std::string& answer);
  bool auth_call(std::string_view name, const std::string& question, std::string& answer);
  bool authenticate(const std::string& question, std::string& answer);
  bool status(std::string& answer);
  bool hash_kv(const std::string& question, std::string& answer);
  /// 3.5 does not translate errors of the check before some calls.
  bool must_be_root_of_database();
  /// Waits until nothing locks it.
  bool database();
  bool put(const std::string& question, std::string& answer);
  bool range(const std::string& question, std::string& answer);
  bool erase(const std::string& question, std::string& answer);
  bool compact(const std::string& question, std::string& answer);
  bool alarm(const std::string& question, std::string& answer);
  bool defragment(std::string& answer);
  bool has_room(const std::string& key, const std::string& value);
  /// Proposes the change in the caller's name and waits, within the request limit.
  bool agree(Change, Outcome&);
  bool commit(Change, Outcome&);
  bool agree_and_answer(Change, std::string& answer);
};

}  // namespace etcdop::sim
