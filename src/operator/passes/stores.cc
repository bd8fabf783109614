#include "operator/passes/stores.h"

namespace etcdop {

// Compiled here only: the stores of thirteen kinds are a lot of code.
Stores::Stores() = default;
Stores::~Stores() = default;

}  // namespace etcdop
