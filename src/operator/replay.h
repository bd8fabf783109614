// Runs today's plan on the pairs of a flight recorder.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "operator/passes/flight_recorder.h"

namespace etcdop {

struct Replayed {
  std::string step;  ///< Today's step, in the words of the log.
  /// The differences from the recorded plan, one line each; empty: equal.
  std::vector<std::string> differences;
};

/// Invalid: the kind is unknown, or the observation cannot be read; the error names the field.
Result<Replayed> replay(const FlightReader::Pair&);

}  // namespace etcdop
