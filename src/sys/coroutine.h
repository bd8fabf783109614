// A stack with a guard page, and the switch to and from it. The only code that knows Boost.Context
// and the sanitizers.
#pragma once
#include <cstddef>
#include <functional>

#if defined(__has_feature)  // clang; g++ says it with __SANITIZE_ADDRESS__.
#define ETCDOP_ASAN __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define ETCDOP_ASAN 1
#endif

namespace etcdop::detail {

/// Four times the deepest path measured in a build as it ships: 57 KB, for the plan of a cluster
/// with the deepest podTemplate that is read. Pages that are not touched take no memory.
constexpr std::size_t kDefaultBytes = 256 * 1024;

/// Memory for a stack: the lowest page faults on touch. Freed stacks are kept warm for the next
/// fiber.
struct Stack {
  static Stack take();
  void give_back();
  std::size_t used() const;  ///< Deepest use, if the stack was painted.
  char* low = nullptr;       ///< Lowest usable byte, just above the guard page.
  std::size_t size = 0;
  static inline std::size_t wanted = kDefaultBytes;
  static inline bool paint = false;
};

/// Runs `body` on its own stack: enter() from the loop, leave() from within. `body` must not let an
/// exception out.
class Coroutine {
 public:
  explicit Coroutine(std::function<void()> body);
  ~Coroutine();
  Coroutine(const Coroutine&) = delete;
  void enter();  ///< Until it leaves or its body returns.
  void leave();
  std::size_t stack_used() const { return stack_.used(); }

 private:
  struct Entry;
  void start_switch(bool inward, bool last);
  void finish_switch(bool inward);
  Stack stack_;
  std::function<void()> body_;
  void* context_ = nullptr;  // Where the other side is suspended.
  struct {
    void* caught;
    unsigned uncaught;
  } exceptions_{nullptr, 0};  // State that the C++ runtime keeps per thread.
  bool over_ = false;
  [[maybe_unused]] void *fake_inner_ = nullptr, *fake_outer_ = nullptr;  // ASan's fake stacks.
  [[maybe_unused]] const void* outer_low_ = nullptr;
  [[maybe_unused]] std::size_t outer_size_ = 0;
};

}  // namespace etcdop::detail
