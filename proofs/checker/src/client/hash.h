// A fast hash of 128 bits, so that two different states meet by chance in no run of this world.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace prove {

struct Hash {
    uint64_t low = 0, high = 0;
    bool operator==(const Hash &) const = default;
};

// The product's two halves, folded.
inline uint64_t fold(uint64_t a, uint64_t b) {
    unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

inline Hash hash_words(const uint64_t *words, size_t count, uint64_t seed = 0) {
    constexpr uint64_t kA = 0x9e3779b97f4a7c15, kB = 0xd1b54a32d192ed03, kC = 0x8bb84b93962eacc9,
                       kD = 0x2d358dccaa6c78a5;
    uint64_t low = kA ^ seed, high = kB + count;
    size_t i = 0;
    for (; i + 1 < count; i += 2) {
        low = fold(words[i] ^ kC ^ low, words[i + 1] ^ kD ^ low >> 32);
        high = fold(words[i + 1] + kA + high, words[i] + kB + (high << 23 | high >> 41));
    }
    if (i < count) {
        low = fold(words[i] ^ kC ^ low, kD);
        high = fold(words[i] + kA + high, kB);
    }
    return {fold(low ^ kC, kA + count) ^ low, fold(high ^ kD, kB + count) ^ high};
}

inline Hash hash_bytes(const void *bytes, size_t count, uint64_t seed) {
    Hash hash = hash_words(nullptr, 0, seed + count);
    const auto *at = static_cast<const uint8_t *>(bytes);
    uint64_t buffer[64];
    while (count > 0) {
        size_t part = count < sizeof buffer ? count : sizeof buffer;
        buffer[(part - 1) / 8] = 0;
        std::memcpy(buffer, at, part);
        Hash next = hash_words(buffer, (part + 7) / 8, hash.low);
        hash = {next.low, fold(next.high ^ hash.high, 0xd1b54a32d192ed03) + next.high};
        at += part;
        count -= part;
    }
    return hash;
}

} // namespace prove
