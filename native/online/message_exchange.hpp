// Where threads that run in step tell each other a few numbers and wait for those of the others.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "threads/spin_wait.hpp"

namespace labelweave::online {

// What is said about a Gaussian in natural parameters.
struct NaturalGaussian {
    double precision, weighted_mean;
};

// In every turn each member tells once, then hears all of them. Numbers travel on the cache line that says they are
// there: between two cores a turn costs the way of one line, where a barrier before reading would cost three.
class Exchange {
  public:
    // Member m has counts[m] numbers to tell, at least one: by telling it also says that it has heard the turn before.
    explicit Exchange(const std::vector<std::size_t>& counts) : counts_(counts) {
        for (const std::size_t count : counts) {
            first_.push_back(n_lines_);
            n_lines_ += (count + kPerLine - 1) / kPerLine;
        }
        lines_ = std::vector<Line>(2 * n_lines_);
    }

    // Call the lines of a turn back from those who read them two turns ago, while there is something else to do.
    void get_ready(std::size_t member, std::uint64_t turn) {
        if (counts_.size() == 1) return;
        Line* line = lines_of(member, turn);
        for (std::size_t k = 0; k < counts_[member]; k += kPerLine) __builtin_prefetch(line++, 1, 3);
    }

    // Turns count from one. The lines of the turn before may still be read, but no older ones.
    void tell(std::size_t member, std::uint64_t turn, const NaturalGaussian* numbers) {
        Line* line = lines_of(member, turn);
        for (std::size_t k = 0; k < counts_[member]; k += kPerLine, ++line) {
            std::copy(numbers + k, numbers + std::min(k + kPerLine, counts_[member]), line->numbers);
            line->turn.store(turn, std::memory_order_release);
        }
    }

    // Call visit(number) for the numbers of all members, in their order.
    template <class Visit>
    void hear(std::uint64_t turn, Visit&& visit) {
        for (std::size_t member = 0; member < counts_.size(); ++member) {
            Line* line = lines_of(member, turn);
            for (std::size_t k = 0; k < counts_[member]; k += kPerLine, ++line) {
                for (threads::SpinWait wait = patience(); line->turn.load(std::memory_order_acquire) != turn;) wait.rest();
                const std::size_t here = std::min(kPerLine, counts_[member] - k);
                for (std::size_t i = 0; i < here; ++i) visit(line->numbers[i]);
            }
        }
    }

  private:
    static constexpr std::size_t kPerLine = 3;
    // Who waits for more than a few microseconds does so because another program has the other's core.
    static constexpr threads::SpinWait patience() { return {50, 50}; }
    struct alignas(64) Line {
        std::atomic<std::uint64_t> turn{0};
        NaturalGaussian numbers[kPerLine];
    };

    Line* lines_of(std::size_t member, std::uint64_t turn) {
        return lines_.data() + (turn % 2) * n_lines_ + first_[member];
    }

    std::vector<std::size_t> counts_, first_;
    std::size_t n_lines_ = 0;
    std::vector<Line> lines_;
};

}  // namespace labelweave::online
