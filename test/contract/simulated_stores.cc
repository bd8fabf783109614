// The simulated object store in place of a real one.
#include <gtest/gtest.h>

#include "sim/scheduler.h"
#include "test/contract/s3_stores.h"

namespace etcdop::contract {
namespace {

using namespace std::chrono_literals;

class SimulatedStores final : public Stores {
 public:
  explicit SimulatedStores(std::uint64_t seed) : world_(seed) {
    store_.strike(sim::StoreFault::ClaimsComplete, {.one_in = 1});  // As versitygw does.
  }
  void run(const std::function<void()>& body) override {
    bool done = false;
    (void)world_.spawn([&] {
      const Within limit(world_, 10min);
      body();
      done = true;
    });
    world_.run();
    check(done, "a contract test comes to its end");
  }
  void make_bucket(const std::string& name) override { store_.make_bucket(name); }
  void remove_bucket(const std::string& name) override { store_.remove_bucket(name); }
  std::unique_ptr<s3::Store> as(const sim::StoreUser& user, const std::string& bucket) override {
    return store_.as(user, bucket);
  }
  Executor& executor() override { return world_; }
  void path_style(bool) override {}
  void print_logs() override {}

 private:
  sim::Scheduler world_;
  sim::ObjectStore store_{world_, sim::Dice(1),
                          [](const std::string& how) { ADD_FAILURE() << how; }};
};

}  // namespace

std::unique_ptr<Stores> make_simulated_stores(std::uint64_t seed) {
  return std::make_unique<SimulatedStores>(seed);
}

}  // namespace etcdop::contract
