#include "sim/world/run.h"

#include "sim/world/world.h"

namespace etcdop::sim {

using namespace std::chrono_literals;

namespace {

constexpr int kClients = 8;
// Covers deadlines of joiners and back-offs of kubelets; a snapshot may wait two hours.
constexpr Duration kHealMax = 150min;
constexpr const char* kVersions[] = {"3.5.35", "3.6.16", "3.6.16", "3.7.3"};

}  // namespace

RunOutcome run(const Run& wanted) {
  Dice dice(wanted.seed * 2654435761U + 1);
  const Faults faults = wanted.faults.value_or(Faults::draw(wanted.seed));
  World world({.seed = dice.next(),
               .faults = faults,
               .keep_trace = wanted.keep_trace,
               .nodes = 3 + static_cast<int>(dice.below(3))});
  world.trace().add("world", "faults: " + faults.text());
  const std::uint64_t clusters = 1 + dice.below(2), operators = 1 + dice.below(2);
  for (std::uint64_t i = 0; i < operators; ++i) (void)world.start_operator();
  for (std::uint64_t i = 0; i < clusters; ++i) {
    constexpr int kDeadlines[] = {30, 120, 600};
    const int deadline = kDeadlines[dice.below(3)];
    const int size = 1 + 2 * static_cast<int>(dice.below(3));
    // One draw a statement: compilers evaluate arguments in different orders.
    const char* version = kVersions[dice.below(std::size(kVersions))];
    const bool in_memory = dice.one_in(6);
    const bool secure = dice.one_in(4);
    const bool peers_too = dice.one_in(2);
    // Certificates made with a date one hour ahead cannot be used yet.
    const bool may = secure && !faults.has(Fault::ClockJump);
    world.create_cluster({"prod", "db-" + std::to_string(i)},
                         {.replicas = size,
                          .version = version,
                          .progress_deadline_s = deadline,
                          .in_memory = in_memory,
                          .client_tls = may,
                          .peer_tls = may && peers_too,
                          .password = may ? "first-pass-word" : "",
                          .apart = faults.has(Fault::AntiAffinity)});
  }
  world.start_clients(kClients);
  world.start_faults();
  world.run_for(wanted.trouble);
  world.heal();
  world.must_converge(kHealMax);
  world.judge_history();
  return {.seed = wanted.seed,
          .faults = faults,
          .violation = world.checker().violation(),
          .hash = world.trace().hash(),
          .events = world.trace().count(),
          .writes = world.writes(),
          .operations = world.history().operations().size(),
          .lasted = world.time().now().time_since_epoch(),
          .trace = world.trace().lines(),
          .states = world.trace().states(),
          .flight = world.flight()};
}

}  // namespace etcdop::sim
