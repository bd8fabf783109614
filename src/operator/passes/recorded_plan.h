// Plans one pass, and records what was seen and decided.
#pragma once
#include <exception>

#include "api/describe.h"
#include "operator/passes/flight_recorder.h"

namespace etcdop {

/// Returns plan(seen). If it throws, the observation is recorded beside the error, and the
/// exception goes on to the pass's boundary (operator/pass_boundary.h). `flight` may be null.
template <class Observation>
auto recorded_plan(FlightRecorder* flight, const char* kind, const api::ObjectKey& key,
                   const Observation& seen) {
  const auto record = [&](Json planned) {
    if (flight) flight->record(kind, key, seen.now, api::encode(seen), std::move(planned));
  };
  try {
    auto planned = plan(seen);
    record(api::encode(planned));
    return planned;
  } catch (const std::exception& error) {
    record(json::object{{"error", error.what()}});
    throw;
  }
}

}  // namespace etcdop
