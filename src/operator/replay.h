// Runs today's plan on what a flight recorder kept.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "operator/passes/flight_recorder.h"

namespace etcdop {

struct Replayed {
  std::string step;  ///< Today's, in the words of the log.
  /// What differs from the recorded plan, one line each; empty: it is the same.
  std::vector<std::string> differences;
};

/// Invalid: the kind is not known, or the observation cannot be read; names the field.
Result<Replayed> replay(const FlightReader::Pair&);

}  // namespace etcdop
