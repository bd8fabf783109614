// What sources that use GoogleTest include beside precompiled.h.
#include <gtest/gtest.h>
