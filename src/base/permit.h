// A permit of a Semaphore that its holder gives back at the end of a scope.
#pragma once
#include "base/fiber.h"

namespace etcdop {

/// Made after acquire() was Ready.
class Permit {
 public:
  explicit Permit(Semaphore& line) : line_(line) {}
  ~Permit() { line_.release(); }
  Permit(const Permit&) = delete;

 private:
  Semaphore& line_;
};

}  // namespace etcdop
