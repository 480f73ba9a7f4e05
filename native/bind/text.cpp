#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "arff.hpp"
#include "arrays.hpp"
#include "xmc.hpp"

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

std::string_view view(const nb::bytes& text) { return {static_cast<const char*>(text.data()), text.size()}; }

ArffColumns make_columns(std::vector<std::string> names, const std::vector<std::int64_t>& target,
                         const std::vector<std::int64_t>& domain, const DomainList& domains) {
    require(target.size() == names.size() && domain.size() == names.size(),
            "target and domain need one entry for each of names");
    ArffColumns columns{std::move(names), target, domain, {}, 0, 0};
    for (const auto& [words, numbers] : domains) {
        require(!words.empty() && words.size() == numbers.size(), "a domain needs one number for each of its words");
        columns.domains.push_back({words, numbers});
    }
    for (const auto d : domain)
        require(d >= numeric_column && d < static_cast<std::int64_t>(domains.size()), "domain is out of range");
    for (const auto t : target) (t < 0 ? columns.n_labels : columns.n_features) += 1;
    for (const auto t : target)
        require(t < static_cast<std::int64_t>(columns.n_features) && -1 - t < static_cast<std::int64_t>(columns.n_labels),
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
    ArffRows rows;
    {
        nb::gil_scoped_release release;
        rows = parse_arff_rows(rows_text, line, source, columns);
    }
    return {rows.sparse, rows.n_rows, to_numpy(std::move(rows.sparse ? rows.features.data : rows.dense)),
            to_numpy(std::move(rows.features.columns)), to_numpy(std::move(rows.features.row_starts)),
            to_numpy(std::move(rows.labels))};
}

std::tuple<std::tuple<std::int64_t, std::int64_t, std::int64_t>, Doubles, Columns, Starts, Columns, Starts> xmc_rows(
    const nb::bytes& text, const std::string& source) {
    const auto all = view(text);
    XmcRows rows;
    {
        nb::gil_scoped_release release;
        rows = parse_xmc(all, source);
    }
    return {{rows.n_rows, rows.n_features, rows.n_labels}, to_numpy(std::move(rows.features.data)),
            to_numpy(std::move(rows.features.columns)), to_numpy(std::move(rows.features.row_starts)),
            to_numpy(std::move(rows.labels)), to_numpy(std::move(rows.label_starts))};
}

// A ValueError whose text may quote bytes that are not UTF-8.
void translate(const std::exception_ptr& thrown, void*) {
    try {
        std::rethrow_exception(thrown);
    } catch (const TextError& error) {
        const auto size = static_cast<Py_ssize_t>(std::strlen(error.what()));
        const auto message = nb::steal(PyUnicode_DecodeUTF8(error.what(), size, "replace"));
        if (message.is_valid()) PyErr_SetObject(PyExc_ValueError, message.ptr());
    }
}

}  // namespace

void bind_text(nb::module_& m) {
    nb::register_exception_translator(translate);
    m.def("parse_arff_rows", &arff_rows, nb::arg("text"), nb::arg("offset"), nb::arg("line"), nb::arg("source"),
          nb::arg("names"), nb::arg("target"), nb::arg("domain"), nb::arg("domains"),
          "Parse what follows the @data line: (sparse, n_rows, data, columns, row_starts, labels).");
    m.def("parse_xmc", &xmc_rows, nb::arg("text"), nb::arg("source"),
          "Parse XMC text: ((n, D, L), data, columns, row_starts, labels, label_starts).");
}

}  // namespace labelweave::bind
