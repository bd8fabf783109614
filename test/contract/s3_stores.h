// An object store under test: a real server or the simulated one. The contract tests cannot tell
// which.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "base/fiber.h"
#include "s3/store.h"
#include "sim/store/object_store.h"

namespace etcdop::contract {

class Stores {
 public:
  virtual ~Stores() = default;
  /// Runs the body on a fiber to its end.
  virtual void run(const std::function<void()>& body) = 0;
  virtual void make_bucket(const std::string& name) = 0;
  /// With all its objects. It must not be in use.
  virtual void remove_bucket(const std::string& name) = 0;
  /// The bucket as that user's program sees it. The store's region is us-east-1.
  virtual std::unique_ptr<s3::Store> as(const sim::StoreUser&, const std::string& bucket) = 0;
  /// The executor of these fibers.
  virtual Executor& executor() = 0;
  /// How the bucket is addressed, from the next as() on.
  virtual void path_style(bool) = 0;
  /// Output for people, after a failure.
  virtual void print_logs() = 0;
};

/// `program`: versitygw, on 127.0.0.1 at a free port, with a folder of its own.
std::unique_ptr<Stores> make_real_stores(const std::string& program);
std::unique_ptr<Stores> make_simulated_stores(std::uint64_t seed);

}  // namespace etcdop::contract
