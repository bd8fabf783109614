#include "sys/coroutine.h"

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <boost/context/detail/fcontext.hpp>
#include <cstring>
#include <utility>
#include <vector>

#include "base/check.h"

#if ETCDOP_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace etcdop::detail {
namespace context = boost::context::detail;
namespace {
constexpr unsigned char kPaintByte = 0xAB;
constexpr std::size_t kKeepWarm = 16;
thread_local std::vector<Stack> spare;
const std::size_t kPage = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}  // namespace

Stack Stack::take() {
  if (!spare.empty() && spare.back().size == wanted && !paint) {
    const Stack stack = spare.back();
    spare.pop_back();
    return stack;
  }
  void* map = mmap(nullptr, wanted + kPage, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  check_or_abort(map != MAP_FAILED, "memory for a stack (two maps each: see vm.max_map_count)");
  check_or_abort(mprotect(map, kPage, PROT_NONE) == 0, "a guard page");
  Stack stack;
  stack.low = static_cast<char*>(map) + kPage;
  stack.size = wanted;
  if (paint) std::memset(stack.low, kPaintByte, stack.size);
  return stack;
}

void Stack::give_back() {
#if ETCDOP_ASAN
  __asan_unpoison_memory_region(
      low, size);  // The last frames never returned, so their redzones are still poisoned.
#endif
  if (spare.size() < kKeepWarm && !paint) spare.push_back(*this);
  else munmap(low - kPage, size + kPage);
}

__attribute__((no_sanitize("address"))) std::size_t Stack::used() const {
  std::size_t clean = paint ? 0 : size;
  while (clean < size && static_cast<unsigned char>(low[clean]) == kPaintByte) ++clean;
  return size - clean;
}

struct Coroutine::Entry {
  /// First frame of every fiber. At its end it never returns, so it must hold nothing that needs a
  /// destructor.
  static void main(context::transfer_t from) {
    auto& self = *static_cast<Coroutine*>(from.data);
    self.context_ = from.fctx;
    self.finish_switch(true);
    self.body_();
    self.over_ = true;
    self.start_switch(false, true);
    context::jump_fcontext(self.context_, nullptr);
    check_or_abort(false, "a finished fiber is not entered again");
  }
};

Coroutine::Coroutine(std::function<void()> body) : stack_(Stack::take()), body_(std::move(body)) {
  context_ = context::make_fcontext(stack_.low + stack_.size, stack_.size, &Entry::main);
}

Coroutine::~Coroutine() { stack_.give_back(); }

void Coroutine::enter() {
  check_or_abort(!over_, "enters a live fiber");
  start_switch(true, false);
  context_ = context::jump_fcontext(context_, this).fctx;
  finish_switch(false);
}

void Coroutine::leave() {
  start_switch(false, false);
  context_ = context::jump_fcontext(context_, nullptr).fctx;
  finish_switch(true);
}

// Both sides keep their own "exceptions being handled". So a fiber that suspends in a catch block,
// or in a destructor run by unwinding (it should not), does not damage another fiber's exceptions.
void Coroutine::start_switch([[maybe_unused]] bool inward, [[maybe_unused]] bool last) {
  auto* globals = reinterpret_cast<decltype(exceptions_)*>(abi::__cxa_get_globals());
  std::swap(*globals, exceptions_);
#if ETCDOP_ASAN
  if (inward) __sanitizer_start_switch_fiber(&fake_outer_, stack_.low, stack_.size);
  else __sanitizer_start_switch_fiber(last ? nullptr : &fake_inner_, outer_low_, outer_size_);
#endif
}

void Coroutine::finish_switch([[maybe_unused]] bool inward) {
#if ETCDOP_ASAN
  if (inward) __sanitizer_finish_switch_fiber(fake_inner_, &outer_low_, &outer_size_);
  else __sanitizer_finish_switch_fiber(fake_outer_, nullptr, nullptr);
#endif
}

}  // namespace etcdop::detail
