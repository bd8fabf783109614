#include "main/cluster_domain.h"

#include <sstream>

namespace etcdop {

std::string cluster_domain_of(const std::string& resolv_conf) {
  constexpr const char* kPrefix = "svc.";
  std::istringstream lines(resolv_conf);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    if (!(words >> word) || word != "search") continue;
    while (words >> word)
      if (word.starts_with(kPrefix) && word.size() > 4) return word.substr(4);
  }
  return "cluster.local";
}

}  // namespace etcdop
