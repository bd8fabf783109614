// A user without rights, for tests of files that run as root.
#pragma once
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace etcdop::testing {

/// Root may write anywhere: while this lives, the process runs as another user.
class Nobody {
 public:
  Nobody() {
    if (!was_root_) return;
    EXPECT_EQ(seteuid(65534), 0);
  }
  ~Nobody() {
    if (!was_root_) return;
    EXPECT_EQ(seteuid(0), 0);
    // The change of user cleared it; if root may not trace all processes, the leak check fails
    // without it.
    EXPECT_EQ(prctl(PR_SET_DUMPABLE, 1), 0);
  }
  Nobody(const Nobody&) = delete;
  Nobody& operator=(const Nobody&) = delete;

 private:
  const bool was_root_ = geteuid() == 0;
};

}  // namespace etcdop::testing
