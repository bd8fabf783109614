// Texts that several objects have in common, kept once.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace etcdop::kube {

/// An EtcdCluster has its template in its spec and in its status, and so has each of its
/// EtcdMembers. For one thread. Texts may outlive this.
class SharedTexts {
 public:
  using Text = std::shared_ptr<const std::string>;

  /// The same Text for equal content, as long as somebody holds one.
  Text share(std::string text) {
    if (const auto known = all_->find(text); known != all_->end()) return known->second.lock();
    text.shrink_to_fit();
    const Text made(new std::string(std::move(text)), [all = all_](const std::string* gone) {
      all->erase(std::string_view(*gone));
      delete gone;
    });
    all_->emplace(*made, made);
    return made;
  }
  std::size_t size() const { return all_->size(); }

 private:
  /// The keys are parts of the values. An entry goes with its last holder.
  using All = std::unordered_map<std::string_view, std::weak_ptr<const std::string>>;
  std::shared_ptr<All> all_ = std::make_shared<All>();
};

}  // namespace etcdop::kube
