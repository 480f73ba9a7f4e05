#include <algorithm>
#include <vector>

#include "threads/parallel.hpp"
#include "tree/factors.hpp"
#include "tree/tree.hpp"

namespace labelweave::tree {
namespace {

// The table of one row grows by one free label at a time: its lower half is the table without the label.
class TableRow {
  public:
    TableRow(const Tree& tree, const std::int64_t* free, std::size_t n_free)
        : tree_(tree), free_(free), n_free_(n_free), logs_(tree.n_labels), slot_(tree.n_labels, -1),
          children_(tree.n_labels) {
        for (std::size_t t = 0; t < n_free; ++t) slot_[free[t]] = static_cast<std::int64_t>(t);
        for (std::size_t i = 0; i < tree.n_labels; ++i)
            if (tree.parents[i] >= 0) children_[tree.parents[i]].push_back(i);
    }

    void run(std::size_t row, const std::int8_t* known, double* out) {
        logs_.load_logs(tree_, row);
        known_ = known;
        out[0] = fixed_part();
        for (std::size_t t = 0; t < n_free_; ++t) add(t, out);
    }

  private:
    double factor(std::size_t i, int a, int b) const { return (b ? logs_.one : logs_.zero)[2 * i + a]; }
    bool fixed(std::int64_t i) const { return i < 0 || slot_[i] < 0; }
    int value(std::int64_t i) const { return i >= 0 && known_[i] == 1; }

    // The factors in which no label is free.
    double fixed_part() const {
        double total = 0.0;
        for (std::size_t i = 0; i < tree_.n_labels; ++i)
            if (fixed(i) && fixed(tree_.parents[i])) total += factor(i, value(tree_.parents[i]), value(i));
        return total;
    }

    // Labels that come later bring the factors they share with this one themselves.
    void add(std::size_t t, double* out) const {
        const auto i = static_cast<std::size_t>(free_[t]);
        const std::int64_t parent = tree_.parents[i];
        const std::size_t half = std::size_t{1} << t;
        double alone[2] = {0.0, 0.0};
        for (int b = 0; b < 2; ++b) {
            if (fixed(parent)) alone[b] += factor(i, value(parent), b);
            for (const std::size_t child : children_[i])
                if (fixed(child)) alone[b] += factor(child, b, value(child));
        }
        for (std::size_t c = 0; c < half; ++c) {
            out[half + c] = out[c] + alone[1];
            out[c] += alone[0];
        }
        for (int b = 0; b < 2; ++b) {
            double* part = out + b * half;
            if (!fixed(parent) && slot_[parent] < slot_[i])
                add_pair(part, half, slot_[parent], factor(i, 0, b), factor(i, 1, b));
            for (const std::size_t child : children_[i])
                if (!fixed(child) && slot_[child] < slot_[i])
                    add_pair(part, half, slot_[child], factor(child, b, 0), factor(child, b, 1));
        }
    }

    // One number for the columns in which a bit is off, another for those in which it is on.
    static void add_pair(double* part, std::size_t size, std::int64_t bit, double off, double on) {
        const std::size_t run = std::size_t{1} << bit;
        for (std::size_t c = 0; c < size; c += 2 * run) {
            for (std::size_t k = c; k < c + run; ++k) part[k] += off;
            for (std::size_t k = c + run; k < c + 2 * run; ++k) part[k] += on;
        }
    }

    const Tree& tree_;
    const std::int64_t* free_;
    std::size_t n_free_;
    Factors logs_;
    std::vector<std::int64_t> slot_;
    std::vector<std::vector<std::size_t>> children_;
    const std::int8_t* known_ = nullptr;
};

}  // namespace

void table(const Tree& tree, const std::int8_t* known, const std::int64_t* free, std::size_t n_free, double* out,
           int n_threads) {
    threads::parallel_rows(tree.n_rows, 8, n_threads, [&](std::size_t begin, std::size_t end) {
        TableRow table(tree, free, n_free);
        for (std::size_t i = begin; i < end; ++i) table.run(i, known + i * tree.n_labels, out + (i << n_free));
    });
}

}  // namespace labelweave::tree
