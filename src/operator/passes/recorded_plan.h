// Plans one pass, and records what was seen and decided.
#pragma once
#include <exception>

#include "api/describe.h"
#include "base/utf8.h"
#include "operator/passes/flight_recorder.h"

namespace etcdop {

/// Returns plan(seen). If it throws, the observation is recorded beside the error, and the
/// exception goes on to the pass's boundary (operator/pass_boundary.h). A pass that cannot be
/// recorded goes on without. `flight` may be null.
template <class Observation>
auto recorded_plan(FlightRecorder* flight, const char* kind, const api::ObjectKey& key,
                   const Observation& seen) {
  const auto record = [&](const auto& encoded_plan) {
    if (!flight) return;
    try {
      flight->record(kind, key, seen.now, api::encode(seen), encoded_plan());
    } catch (const std::exception&) { flight->forget(kind, key); }
  };
  try {
    auto planned = plan(seen);
    record([&] { return api::encode(planned); });
    return planned;
  } catch (const std::exception& error) {
    record([&] { return json::object{{"error", as_utf8(error.what())}}; });
    throw;
  }
}

}  // namespace etcdop
