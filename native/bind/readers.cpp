#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "bind/arrays.hpp"
#include "bind/gil.hpp"
#include "readers/arff.hpp"
#include "readers/xmc.hpp"

namespace labelweave::bind {

namespace {

template <class T>
using Owned = nb::ndarray<nb::numpy, T, nb::ndim<1>, nb::c_contig>;

// Hand a vector's memory to NumPy without copying it.
template <class T>
Owned<T> to_numpy(std::vector<T>&& values) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* memory) noexcept { delete static_cast<std::vector<T>*>(memory); });
    return Owned<T>(kept->data(), {kept->size()}, owner);
}

using Doubles = Owned<double>;
using Columns = Owned<std::int32_t>;
using Starts = Owned<std::int64_t>;
using DomainList = std::vector<std::pair<std::vector<std::string>, std::vector<double>>>;

std::tuple<Doubles, Columns, Starts, Columns, Starts> to_arrays(readers::LabelledRows&& rows) {
    return {to_numpy(std::move(rows.features.data)), to_numpy(std::move(rows.features.columns)),
            to_numpy(std::move(rows.features.row_starts)), to_numpy(std::move(rows.labels)),
            to_numpy(std::move(rows.label_starts))};
}

std::string_view view(const nb::bytes& text) { return {static_cast<const char*>(text.data()), text.size()}; }

readers::ArffColumns make_columns(std::vector<std::string> names, const std::vector<std::int64_t>& target,
                                  const std::vector<std::int64_t>& domain, const DomainList& domains) {
    require(target.size() == names.size() && domain.size() == names.size(),
            "target and domain need one entry for each of names");
    readers::ArffColumns columns{std::move(names), target, domain, {}, 0, 0};
    for (const auto& [words, numbers] : domains) {
        require(!words.empty() && words.size() == numbers.size(), "a domain needs one number for each of its words");
        columns.domains.push_back({words, numbers});
    }
    for (const auto d : domain)
        require(d >= readers::numeric_column && d < static_cast<std::int64_t>(domains.size()),
                "domain is out of range");
    for (const auto t : target) (t < 0 ? columns.n_labels : columns.n_features) += 1;
    for (const auto t : target)
        require(
            t < static_cast<std::int64_t>(columns.n_features) && -1 - t < static_cast<std::int64_t>(columns.n_labels),
            "target is out of range");
    return columns;
}

std::tuple<bool, std::size_t, Doubles, Columns, Starts, Owned<std::int8_t>> arff_rows(
    const nb::bytes& text, std::size_t offset, std::size_t line, const std::string& source,
    std::vector<std::string> names, const std::vector<std::int64_t>& target, const std::vector<std::int64_t>& domain,
    const DomainList& domains) {
    require(offset <= text.size(), "offset is beyond the end of text");
    const auto columns = make_columns(std::move(names), target, domain, domains);
    const auto rows_text = view(text).substr(offset);
    readers::ArffRows rows;
    {
        const ReleasedGil released;
        rows = readers::parse_arff_rows(rows_text, line, source, columns);
    }
    return {rows.sparse,
            rows.n_rows,
            to_numpy(std::move(rows.sparse ? rows.features.data : rows.dense)),
            to_numpy(std::move(rows.features.columns)),
            to_numpy(std::move(rows.features.row_starts)),
            to_numpy(std::move(rows.labels))};
}

std::tuple<std::tuple<std::int64_t, std::int64_t, std::int64_t>, Doubles, Columns, Starts, Columns, Starts> xmc_rows(
    const nb::bytes& text, const std::string& source) {
    const auto all = view(text);
    readers::XmcRows rows;
    {
        const ReleasedGil released;
        rows = readers::parse_xmc(all, source);
    }
    return std::tuple_cat(std::make_tuple(std::make_tuple(rows.n_rows, rows.n_features, rows.n_labels)),
                          to_arrays(std::move(rows.rows)));
}

std::tuple<Doubles, Columns, Starts, Columns, Starts, std::int64_t, nb::bytes> labelled_lines(
    const nb::bytes& text, std::size_t line, const std::string& source, std::int64_t n_features, std::int64_t n_labels,
    std::int64_t first_feature, bool svmlight, bool skip_bad) {
    require(n_features >= 0 && n_features <= readers::most_columns, "n_features is out of range");
    require(n_labels >= 0 && n_labels <= readers::most_columns, "n_labels is out of range");
    require(first_feature == 0 || first_feature == 1, "first_feature must be 0 or 1");
    const readers::RowFormat format{n_features, n_labels, first_feature, svmlight};
    const auto all = view(text);
    readers::LabelledLines lines;
    {
        const ReleasedGil released;
        lines = readers::parse_labelled_lines(all, line, source, format, skip_bad);
    }
    // It may quote bytes that are not UTF-8.
    const nb::bytes complaint(lines.first_complaint.data(), lines.first_complaint.size());
    return std::tuple_cat(to_arrays(std::move(lines.rows)), std::make_tuple(lines.n_bad, complaint));
}

// A ValueError whose text may quote bytes that are not UTF-8.
void translate(const std::exception_ptr& thrown, void*) {
    try {
        std::rethrow_exception(thrown);
    } catch (const readers::TextError& error) {
        const auto size = static_cast<Py_ssize_t>(std::strlen(error.what()));
        const auto message = nb::steal(PyUnicode_DecodeUTF8(error.what(), size, "replace"));
        if (message.is_valid()) PyErr_SetObject(PyExc_ValueError, message.ptr());
    }
}

}  // namespace

void bind_readers(nb::module_& m) {
    nb::register_exception_translator(translate);
    m.def("parse_arff_rows", &arff_rows, nb::arg("text"), nb::arg("offset"), nb::arg("line"), nb::arg("source"),
          nb::arg("names"), nb::arg("target"), nb::arg("domain"), nb::arg("domains"),
          "Parse what follows the @data line: (sparse, n_rows, data, columns, row_starts, labels).");
    m.def("parse_xmc", &xmc_rows, nb::arg("text"), nb::arg("source"),
          "Parse XMC text: ((n, D, L), data, columns, row_starts, labels, label_starts).");
    m.def("parse_labelled_lines", &labelled_lines, nb::arg("text"), nb::arg("line"), nb::arg("source"),
          nb::arg("n_features"), nb::arg("n_labels"), nb::arg("first_feature"), nb::arg("svmlight"),
          nb::arg("skip_bad"),
          "Parse lines of a stream of rows: (data, columns, row_starts, labels, label_starts, n_bad, complaint).");
}

}  // namespace labelweave::bind
