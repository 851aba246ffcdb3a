// An array whose elements are all zero bytes at first, large and mostly unused: pages of it that
// nobody touches are never made.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace lockcross {

template <typename Element> class Zeroed {
    static_assert(std::is_trivially_copyable_v<Element>);

  public:
    explicit Zeroed(size_t size)
        : size_(size), elements_(static_cast<Element *>(std::calloc(size, sizeof(Element)))) {
        if (!elements_ && size)
            throw std::bad_alloc();
    }

    size_t size() const { return size_; }
    Element &operator[](size_t index) { return elements_.get()[index]; }
    const Element &operator[](size_t index) const { return elements_.get()[index]; }

  private:
    struct Free {
        void operator()(Element *elements) const { std::free(elements); }
    };
    size_t size_;
    std::unique_ptr<Element, Free> elements_;
};

} // namespace lockcross
