// The non-zero couplings of a chain by column and by row, for kernels that keep many rows side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "chain/chain.hpp"

namespace labelweave::chain {

// By cause: column(j) lists the positions k > j that label j affects. By effect: row(k) lists the positions j < k that
// affect label k. Zeros are left out, except in columns with few zeros, which are full.
class SparseCoupling {
  public:
    struct Column {
        const std::uint32_t* position;
        const double *effect, *factor, *inverse;  // V, e^V, e^-V
        std::size_t size;
    };
    struct Row {
        const std::uint32_t* position;
        const double* effect;
        std::size_t size;
    };

    explicit SparseCoupling(const Chain& chain);

    Column column(std::size_t j) const {
        const std::size_t begin = column_begin_[j];
        return {position_.data() + begin, effect_.data() + begin, factor_.data() + begin, inverse_.data() + begin,
                column_begin_[j + 1] - begin};
    }
    Row row(std::size_t k) const {
        const std::size_t begin = row_begin_[k];
        return {row_position_.data() + begin, row_effect_.data() + begin, row_begin_[k + 1] - begin};
    }
    // Whether column(j) lists every later position.
    bool full(std::size_t j) const { return column_begin_[j + 1] - column_begin_[j] == rise_.size() - 1 - j; }
    // The sum of the positive and of the negative effects of label j, as sizes.
    double positive_sum(std::size_t j) const { return positive_sum_[j]; }
    double negative_sum(std::size_t j) const { return negative_sum_[j]; }
    // The largest of them.
    double largest_positive(std::size_t j) const { return largest_positive_[j]; }
    double largest_negative(std::size_t j) const { return largest_negative_[j]; }
    // For any values of the other labels, z_k is within [score - fall(k), score + rise(k)].
    double rise(std::size_t k) const { return rise_[k]; }
    double fall(std::size_t k) const { return fall_[k]; }

  private:
    void list_rows(const Chain& chain, const std::vector<bool>& fill);
    void transpose();

    std::vector<std::size_t> column_begin_, row_begin_;
    std::vector<std::uint32_t> position_, row_position_;
    std::vector<double> effect_, factor_, inverse_, row_effect_, positive_sum_, negative_sum_, largest_positive_,
        largest_negative_, rise_, fall_;
};

}  // namespace labelweave::chain
