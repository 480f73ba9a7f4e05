// Messages between threads that run in step: each thread sends its messages and waits for those of the others.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "threads/spin_wait.hpp"

namespace labelweave::online {

// A Gaussian in natural parameters: precision, and precision times mean.
struct NaturalGaussian {
    double precision, weighted_mean;
};

// In every round each member sends once, then receives from all members. A message shares its cache line with the flag
// that announces it, so a round between two cores transfers one line; a barrier before reading would transfer three.
class MessageExchange {
  public:
    // Member m sends counts[m] messages, at least one: by sending it also says that it has received the round before.
    explicit MessageExchange(const std::vector<std::size_t>& counts) : counts_(counts) {
        for (const std::size_t count : counts) {
            first_.push_back(n_lines_);
            n_lines_ += (count + kPerLine - 1) / kPerLine;
        }
        lines_ = std::vector<CacheLine>(2 * n_lines_);
    }

    // Fetch the lines of a round back from the cores that read them two rounds ago, while other work goes on.
    void prefetch(std::size_t member, std::uint64_t round) {
        if (counts_.size() == 1) return;
        CacheLine* line = lines_of(member, round);
        for (std::size_t k = 0; k < counts_[member]; k += kPerLine) __builtin_prefetch(line++, 1, 3);
    }

    // Rounds count from one. The lines of the round before may still be read, but no older ones.
    void send(std::size_t member, std::uint64_t round, const NaturalGaussian* messages) {
        CacheLine* line = lines_of(member, round);
        for (std::size_t k = 0; k < counts_[member]; k += kPerLine, ++line) {
            std::copy(messages + k, messages + std::min(k + kPerLine, counts_[member]), line->messages);
            line->round.store(round, std::memory_order_release);
        }
    }

    // Call visit(message) for the messages of all members, in their order.
    template <class Visit>
    void receive(std::uint64_t round, Visit&& visit) {
        for (std::size_t member = 0; member < counts_.size(); ++member) {
            CacheLine* line = lines_of(member, round);
            for (std::size_t k = 0; k < counts_[member]; k += kPerLine, ++line) {
                for (threads::SpinWait wait = patience(); line->round.load(std::memory_order_acquire) != round;)
                    wait.rest();
                const std::size_t here = std::min(kPerLine, counts_[member] - k);
                for (std::size_t i = 0; i < here; ++i) visit(line->messages[i]);
            }
        }
    }

  private:
    static constexpr std::size_t kPerLine = 3;
    // A wait of more than a few microseconds means that another program occupies the other member's core.
    static constexpr threads::SpinWait patience() { return {50, 50}; }
    struct alignas(64) CacheLine {
        std::atomic<std::uint64_t> round{0};
        NaturalGaussian messages[kPerLine];
    };

    CacheLine* lines_of(std::size_t member, std::uint64_t round) {
        return lines_.data() + (round % 2) * n_lines_ + first_[member];
    }

    std::vector<std::size_t> counts_, first_;
    std::size_t n_lines_ = 0;
    std::vector<CacheLine> lines_;
};

}  // namespace labelweave::online
