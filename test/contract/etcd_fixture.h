// A few etcds and helpers for their tests: the same for real and simulated etcds.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "etcd/last_words.h"
#include "test/contract/etcd_keys.h"
#include "test/contract/etcds.h"

namespace etcdop::contract {

using namespace std::chrono_literals;
using namespace etcd;

// For a machine that compiles beside it.
inline constexpr Duration kStartMax = 2min;   // Until a member answers and knows a leader.
inline constexpr Duration kHealthMax = 1min;  // etcd's HealthInterval is 5 s, one try may take 7 s.
inline constexpr const char* kNobodysUrl = "http://127.0.0.1:1";  // A learner's that never starts.

class EtcdContract : public testing::Test {
 protected:
  void run(const std::function<void()>& body) { etcds_->run(body, 15min); }
  Executor& executor() { return etcds_->executor(); }
  void TearDown() override {
    if (HasFailure()) etcds_->print_logs();
  }

  void plan_nodes(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) nodes_.push_back(etcds_->plan());
  }
  void start(std::size_t node, const std::string& initial_cluster, const std::string& state,
             const std::vector<std::string>& flags = {}) {
    etcds_->start(node, initial_cluster, state, flags);
  }
  std::string list_of(std::size_t count) const {
    std::string list;
    for (std::size_t i = 0; i < count; ++i)
      list += (i == 0 ? "" : ",") + nodes_[i].name + "=" + nodes_[i].peer_url;
    return list;
  }
  /// Founds a cluster of voters, (nearly) all healthy to each other.
  void bootstrap(std::size_t count, const std::vector<std::string>& flags = {}) {
    plan_nodes(count);
    for (std::size_t i = 0; i < count; ++i) start(i, list_of(count), "new", flags);
    for (std::size_t i = 0; i < count; ++i) await_leader(i);
  }
  /// Adds the next node as a learner and starts it.
  MemberId add_and_start() {
    plan_nodes(1);
    const std::size_t last = nodes_.size() - 1;
    MemberId id;
    EXPECT_TRUE(eventually([&] {
      auto added = at(0)->add_learner(nodes_[last].peer_url);
      if (added) id = *added;
      return bool(added);
    }));
    start(last, list_of(nodes_.size()), "existing");
    return id;
  }
  /// The same, and waits until it serves.
  MemberId join() {
    const MemberId id = add_and_start();
    await_leader(nodes_.size() - 1);
    return id;
  }

  /// Overwrites a key until each member has applied more than so many entries.
  void write_up_to(std::uint64_t index) {
    constexpr int kAtOnce = 8;
    const auto applied = [&](std::size_t node) {
      auto status = at(node)->status();
      return status ? status->raft_applied_index : 0;
    };
    while (applied(0) <= index) {
      std::vector<std::shared_ptr<Fiber>> writers;
      for (int i = 0; i < kAtOnce; ++i)
        writers.push_back(executor().spawn([&, i] {
          for (int n = 0; n < 50; ++n) EXPECT_TRUE(keys(0).put("k" + std::to_string(i), "x"));
        }));
      for (const auto& writer : writers) (void)writer->join();
      if (HasFailure()) return;
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      EXPECT_TRUE(eventually([&] { return applied(i) > index; })) << i;
  }
  /// As join(), in a cluster with more than 5,000 entries and without writes. A learner that gets a
  /// snapshot may need one more entry until it serves: a question for alarms is one.
  MemberId join_the_quiet() {
    const MemberId id = add_and_start();
    const auto serves = [&] {
      (void)at(0)->alarms();
      auto status = at(nodes_.size() - 1)->status();
      return status && status->leader.value != 0;
    };
    EXPECT_TRUE(eventually(serves, kStartMax));
    return id;
  }

  /// Plans this many more nodes and adds them as learners; none is started.
  std::vector<MemberId> add_learners(std::size_t count) {
    plan_nodes(count);
    std::vector<MemberId> ids;
    for (std::size_t i = nodes_.size() - count; i < nodes_.size(); ++i) {
      auto added = at(0)->add_learner(nodes_[i].peer_url);
      EXPECT_TRUE(added) << added.error().message;
      if (added) ids.push_back(*added);
    }
    return ids;
  }

  Endpoint endpoint(std::size_t node) { return etcds_->endpoint(node); }
  std::shared_ptr<Client> at(std::size_t node) { return etcds_->clients().at(endpoint(node)); }
  Keys keys(std::size_t node, const Secret& token = {}) { return {*etcds_, node, token}; }
  bool eventually(const std::function<bool()>& holds, Duration max = kHealthMax) {
    const Instant end = executor().now() + max;
    while (!holds()) {
      if (executor().now() >= end) return false;
      (void)executor().sleep(50ms);
    }
    return true;
  }
  void await_leader(std::size_t node) {
    ASSERT_TRUE(eventually(
        [&] {
          auto status = at(node)->status();
          return status && status->leader.value != 0;
        },
        kStartMax))
        << nodes_[node].name << " does not start";
  }
  /// It exits by itself, with that status and these words.
  void expect_end(std::size_t node, int code, const std::string& words, Duration max = kHealthMax) {
    EXPECT_TRUE(eventually([&] { return etcds_->ended(node).has_value(); }, max)) << words;
    EXPECT_EQ(etcds_->ended(node), code) << words;
    EXPECT_NE(etcds_->log(node).find(words), std::string::npos) << words;
  }
  /// The same, and the end of its log (as much as a Pod's status keeps) shows the verdict on its
  /// data.
  void expect_loss(std::size_t node, int code, const std::string& words,
                   DataVerdict verdict = DataVerdict::Lost) {
    expect_end(node, code, words);
    const std::string log = etcds_->log(node);
    EXPECT_EQ(verdict_of(log.substr(log.size() - std::min<std::size_t>(log.size(), 2048)), true),
              verdict)
        << words;
  }
  MemberId id_of(std::size_t node) {
    MemberId id;
    EXPECT_TRUE(eventually([&] {
      auto status = at(node)->status();
      if (status) id = status->header.member;
      return bool(status);
    })) << node;
    return id;
  }
  /// The leading node, as the first that answers sees it.
  std::size_t leader() {
    std::size_t found = 0;
    EXPECT_TRUE(eventually([&] {
      for (found = 0; found < nodes_.size(); ++found) {
        auto status = at(found)->status();
        if (status && status->leader == status->header.member) return true;
      }
      return false;
    })) << "nobody leads";
    return found % nodes_.size();
  }
  /// `code`, and etcd's words, which tell one refusal from another.
  template <class T>
  static testing::AssertionResult refused(const Result<T>& result, Code code,
                                          const std::string& text) {
    if (result) return testing::AssertionFailure() << "accepted";
    if (result.error().code == code && result.error().message.ends_with(text))
      return testing::AssertionSuccess();
    return testing::AssertionFailure()
           << "code " << int(result.error().code) << ": " << result.error().message;
  }

  std::unique_ptr<Etcds> etcds_ = tested.make();
  std::vector<Node> nodes_;
};

}  // namespace etcdop::contract
