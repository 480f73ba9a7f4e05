// The SIMD layer against plain C++, number by number.
#include <random>

#include "check.hpp"
#include "random/normal_lanes.hpp"
#include "random/philox.hpp"
#include "simd/lane_floats.hpp"
#include "simd/row_sums.hpp"
#include "simd/scalar_math.hpp"
#include "simd/transpose.hpp"

using namespace labelweave;

namespace {

std::mt19937_64 generator(0);

Lanes random_lanes(double low, double high) {
    Lanes x;
    for (int i = 0; i < kLanes; ++i) x[i] = std::uniform_real_distribution<double>(low, high)(generator);
    return x;
}

void test_arithmetic() {
    const Lanes a = random_lanes(-2, 2), b = random_lanes(-2, 2);
    const Lanes sum_ab = a + b, ratio = a / b, chosen = select(a < b, a, b), size = abs(a), twice = 2.0 * a;
    const Lanes root = square_root(size);
    for (int i = 0; i < kLanes; ++i) {
        check(sum_ab[i] == a[i] + b[i], "sum", sum_ab[i], a[i] + b[i]);
        check(ratio[i] == a[i] / b[i], "ratio", ratio[i], a[i] / b[i]);
        check(chosen[i] == std::fmin(a[i], b[i]), "select", chosen[i], std::fmin(a[i], b[i]));
        check(size[i] == std::fabs(a[i]) && twice[i] == 2 * a[i] && root[i] == std::sqrt(size[i]), "abs, sqrt");
    }
    check(any(a > -3.0) && !any(a > 3.0), "any");
    check(!std::signbit(Lanes(0.0)[3]) && std::signbit(Lanes(-0.0)[3]), "broadcasts keep the sign of zero");
    const double expected = ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
    check(sum(a) == expected, "sum of lanes, in its order", sum(a), expected);
}

void test_shuffles() {
    Lanes rows[kLanes], columns[kLanes];
    for (Lanes& row : rows) row = random_lanes(-1, 1);
    transpose(rows, columns);
    const Lanes sums = row_sums(rows);
    for (int i = 0; i < kLanes; ++i) {
        const Lanes& r = rows[i];
        const double expected = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
        check(sums[i] == expected, "row sums, in their order", sums[i], expected);
        for (int j = 0; j < kLanes; ++j) check(columns[j][i] == rows[i][j], "transpose", columns[j][i], rows[i][j]);
    }
}

void test_precisions() {
    const Lanes x = random_lanes(-1e3, 1e3);
    float narrow[2 * kLanes] = {};
    store_narrow(narrow + kLanes, x);
    const Lanes back = widen(LaneFloats::load(narrow + kLanes)), half = widen(WideFloats::load(narrow), 1);
    for (int i = 0; i < kLanes; ++i) {
        check(narrow[kLanes + i] == static_cast<float>(x[i]), "narrow", narrow[kLanes + i], x[i]);
        check(back[i] == narrow[kLanes + i] && half[i] == back[i], "widen", back[i], half[i]);
    }
}

void test_functions() {
    for (int repeat = 0; repeat < 2000; ++repeat) {
        const Lanes x = random_lanes(-700, 0), e = random_lanes(0, 1), z = random_lanes(-50, 50);
        const Lanes a = random_lanes(1e-3, 1e3), b = random_lanes(1e-3, 1e3);
        const Lanes exponentials = exp_nonpositive(x), logs = log1p_unit(e), plus = softplus(z),
                    ratio = log_ratio(a, b);
        for (int i = 0; i < kLanes; ++i) {
            check(std::fabs(exponentials[i] - std::exp(x[i])) <= 5e-16 * std::exp(x[i]), "exp", exponentials[i],
                  std::exp(x[i]));
            check_close("log1p", logs[i], std::log1p(e[i]), 1e-15);
            check_close("softplus", plus[i], log1pexp(z[i]), 1e-15);
            const auto exact = static_cast<double>(std::log(static_cast<long double>(a[i]) / b[i]));
            check(std::fabs(ratio[i] - exact) <= 4e-16 + 1e-15 * std::fabs(exact), "log ratio", ratio[i], exact);
        }
    }
    check(exp_nonpositive(Lanes(0.0))[0] == 1.0, "exp(0)");
    check(exp_nonpositive(Lanes(-1e300))[0] > 0.0, "exp of the far end");
}

void test_random_numbers() {
    LaneBits low, high;
    for (int i = 0; i < kLanes; ++i) low[i] = 7u + i, high[i] = i % 2;
    const std::uint64_t seed = 0x123456789ABCDEFu;
    const Lanes numbers = random::uniform_lanes(seed, low, high, 3, 5);
    for (int i = 0; i < kLanes; ++i) {
        const double expected = random::uniform(seed, low[i] | high[i] << 32, 3, 5);
        check(numbers[i] == expected, "keyed uniform numbers", numbers[i], expected);
    }
    double total = 0.0, squares = 0.0;
    constexpr int n = 4000;
    for (int row = 0; row < n; ++row) {
        const Lanes x = random::normal_lanes(seed, static_cast<std::uint64_t>(row), 0, 0);
        total += sum(x);
        squares += sum(x * x);
    }
    check(std::fabs(total / (n * kLanes)) < 0.03, "mean of normal numbers", total / (n * kLanes), 0.0);
    check(std::fabs(squares / (n * kLanes) - 1.0) < 0.05, "variance of normal numbers", squares / (n * kLanes), 1.0);
}

}  // namespace

int main() {
    for (int repeat = 0; repeat < 100; ++repeat) {
        test_arithmetic();
        test_shuffles();
        test_precisions();
    }
    test_functions();
    test_random_numbers();
    std::printf("%d failures, %d bytes a register\n", n_failures, static_cast<int>(kRegisterBytes));
    return n_failures != 0;
}
