#include "operator/passes/stores.h"

namespace etcdop {

// Compiled here only: thirteen stores are a lot of code.
Stores::Stores() = default;
Stores::~Stores() = default;

}  // namespace etcdop
