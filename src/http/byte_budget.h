// Bounds the memory that many holders have together.
#pragma once
#include <cstddef>

namespace etcdop::http {

/// Must outlive its shares. For one thread.
class ByteBudget {
 public:
  explicit ByteBudget(std::size_t bytes) : left_(bytes) {}
  ByteBudget(const ByteBudget&) = delete;

  /// The part that one holder has; returned at its end.
  class Share {
   public:
    /// Null: nothing bounds it.
    explicit Share(ByteBudget* of) : of_(of) {}
    Share(const Share&) = delete;
    ~Share() {
      if (of_) of_->left_ += held_;
    }
    /// False if less than that is left; the share stays as it was.
    bool resize(std::size_t bytes) {
      if (!of_) return true;
      if (bytes > held_ + of_->left_) return false;
      of_->left_ = of_->left_ + held_ - bytes;
      held_ = bytes;
      return true;
    }

   private:
    ByteBudget* of_;
    std::size_t held_ = 0;
  };

 private:
  std::size_t left_;
};

}  // namespace etcdop::http
