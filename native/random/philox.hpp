// Random numbers keyed by position instead of drawn in turn.
#pragma once

#include <array>
#include <cstdint>

namespace labelweave::random {

// Philox4x32-10 (Salmon et al., 2011): four random words from a counter and a key.
inline std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::uint64_t key) {
    auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * counter[0];
        const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * counter[2];
        counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ k0, static_cast<std::uint32_t>(p1),
                   static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ k1, static_cast<std::uint32_t>(p0)};
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return counter;
}

// A uniform number in (0, 1) that depends on (seed, row, draw, label) only.
inline double uniform(std::uint64_t seed, std::uint64_t row, std::uint32_t draw, std::uint32_t label) {
    const auto words =
        philox({label, draw, static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(row >> 32)}, seed);
    const std::uint64_t bits = (std::uint64_t{words[0]} << 32 | words[1]) >> 12;
    return (static_cast<double>(bits) + 0.5) * 0x1p-52;
}

}  // namespace labelweave::random
