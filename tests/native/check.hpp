// What the native tests share: a count of failures, and the comparison of two numbers.
#pragma once

#include <cmath>
#include <cstdio>

inline int n_failures = 0;

inline void check(bool holds, const char* what, double found = 0.0, double expected = 0.0) {
    if (holds) return;
    ++n_failures;
    std::printf("FAILED: %s: found %.17g, expected %.17g\n", what, found, expected);
}

// Equal up to a relative error, or to an absolute one of the same size near zero.
inline void check_close(const char* what, double found, double expected, double tolerance) {
    check(std::fabs(found - expected) <= tolerance * std::fmax(1e-3, std::fabs(expected)), what, found, expected);
}
